"""Numbers out of expressions: evaluated with enough digits, compared with twice as many, rounded outward."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tradeoff.errors import CurveError, NoClosedForm
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.rounding import Array

_DIGITS = 30
"""Digits of a value besides those that its argument costs: twenty are compared."""

_SPARE = 5
"""Digits by which terms of order one may be off at the end."""

_MOST_DIGITS = 4000
"""Digits after which what agrees so far is reported: a formula that needs more cancels to nothing."""

_LEAST = 1e-323
"""Below this a bound is the least float or 0, whatever the value."""

_AGREE = 1e-20
"""Relative difference of two precisions that agree: far below the rounding of a float."""

_FAR_DIGITS = 200
"""Digits with which difference quotients over 1e-60 and 1e-90 still have a hundred."""

_SLACK = 1e-12
"""Violation of a property of trade-off functions that rounding explains."""

_TRIALS = 60
"""Random parameters tried before a formula counts as none of a trade-off function."""

_WANTED = 4
"""Random parameters at which a solution must agree with numbers."""


def _erfcinv(y: Any) -> Any:
    """Inverse complementary error function, by Newton's method on log erfc, or on erf near 1."""
    import mpmath
    from scipy.special import erfcinv

    if not 0 < y < 2:
        return mpmath.inf if y == 0 else -mpmath.inf if y == 2 else mpmath.nan
    if y > 1:
        return -_erfcinv(2 - y)
    x = mpmath.mpf(float(erfcinv(float(y)))) if y > 1e-300 else mpmath.sqrt(-mpmath.log(y))
    for _ in range(200):
        tail = mpmath.erfc(x)
        step = mpmath.log(tail / y) * tail * mpmath.sqrt(mpmath.pi) * mpmath.exp(x * x) / 2
        x += step
        if abs(step) <= abs(x) * mpmath.eps * 100 or abs(step) <= mpmath.eps:
            break
    return x


class Evaluator:
    """Bounds on a one-variable expression, by two precisions that must agree to twenty digits."""

    def __init__(self, expression: Any, variable: Any) -> None:
        import sympy

        self.function: Callable[[Any], Any] = sympy.lambdify(
            variable, expression, modules=[{"erfcinv": _erfcinv}, "mpmath"]
        )
        self._known: dict[float, tuple[float, float]] = {}

    def at(self, x: float, digits: int) -> Any:
        """Return the value with so many digits, or NaN where it is not a real number."""
        import mpmath

        with mpmath.workdps(digits):
            try:
                value = mpmath.mpmathify(self.function(mpmath.mpf(x)))
            # The last: unknown to mpmath.
            except (
                ZeroDivisionError,
                ValueError,
                TypeError,
                OverflowError,
                NameError,
            ):
                return mpmath.nan
            return (
                mpmath.re(value)
                if abs(mpmath.im(value)) <= abs(value) * mpmath.mpf(10) ** (5 - digits)
                else mpmath.nan
            )

    def bounds(self, x: Array, digits: Array) -> Pair:
        """Bound the expression at every x, starting from so many digits."""
        pairs = [self._one(float(v), int(d)) for v, d in zip(x, digits, strict=True)]
        return np.array([low for low, _ in pairs]), np.array([high for _, high in pairs])

    def _one(self, x: float, digits: int) -> tuple[float, float]:
        if x not in self._known:
            import mpmath

            digits += _DIGITS
            fine = self.at(x, digits)
            while True:
                coarse, digits = fine, 2 * digits
                fine = self.at(x, digits)
                # Terms of order one may have cancelled to the same rounded number twice, so an absolute error
                # remains.
                error = abs(fine - coarse) + mpmath.mpf(10) ** (_SPARE - digits)
                if (
                    mpmath.isnan(error)
                    or error <= _AGREE * abs(fine)
                    or abs(fine) + error < _LEAST
                    or digits > _MOST_DIGITS
                ):
                    break
            self._known[x] = outward(fine, error)
        return self._known[x]


def outward(value: Any, error: Any) -> tuple[float, float]:
    """Return floats below value - error and above value + error."""
    import mpmath

    if mpmath.isnan(value):
        return np.nan, np.nan
    least, most = (
        mpmath.fsub(value, error, exact=True),
        mpmath.fadd(value, error, exact=True),
    )  # no digit of 1 - 1e-70 is lost
    low, high = float(least), float(most)
    return low if low <= least else float(np.nextafter(low, -np.inf)), high if high >= most else float(
        np.nextafter(high, np.inf)
    )


def digits_for(alpha: Array) -> Array:
    """Return the digits that alpha and 1 - alpha cost when both appear."""
    near = np.minimum(np.where(alpha > 0, alpha, 1.0), np.where(alpha < 1, 1 - alpha, 1.0))
    return np.ceil(-np.log10(near))


def check(evaluator: Evaluator, shown: str) -> None:
    """Raise ``CurveError`` naming the property of a trade-off function that fails, and where."""
    tails = np.geomspace(1e-9, 0.04, 16)
    alpha = np.concatenate([[0.0], tails, np.linspace(0.05, 0.95, 46), (1 - tails)[::-1], [1.0]])
    values = np.array([float(evaluator.at(float(a), _DIGITS + 10)) for a in alpha])
    for k in np.flatnonzero(~np.isfinite(values)):
        if 0 < k < len(alpha) - 1:
            raise CurveError(f"{shown} is not a real number at alpha = {alpha[k]:.6g}")
    inner = np.isfinite(values)
    alpha, values = alpha[inner], values[inner]
    for k in np.flatnonzero((values < -_SLACK) | (values > 1 + _SLACK)):
        raise CurveError(f"{shown} is outside [0, 1] at alpha = {alpha[k]:.6g}: {values[k]:.6g}")
    for k in np.flatnonzero(values > 1 - alpha + _SLACK):
        raise CurveError(
            f"f(alpha) <= 1 - alpha fails for {shown} at alpha = {alpha[k]:.6g}: {values[k]:.6g}"
        )
    for k in np.flatnonzero(np.diff(values) > _SLACK):
        raise CurveError(
            f"{shown} increases between alpha = {alpha[k]:.6g} and {alpha[k + 1]:.6g}: "
            f"{values[k]:.6g} to {values[k + 1]:.6g}"
        )
    slopes = np.diff(values) / np.diff(alpha)
    for k in np.flatnonzero(np.diff(slopes) < -_SLACK * (1 + np.abs(slopes[1:]))):
        if (slopes[k] - slopes[k + 1]) * min(alpha[k + 1] - alpha[k], alpha[k + 2] - alpha[k + 1]) > _SLACK:
            raise CurveError(f"{shown} is not convex at alpha = {alpha[k + 1]:.6g}")


def trials(expression: Any, alpha: Any) -> Iterator[tuple[dict[Any, Any], Evaluator]]:
    """Yield random parameters with which the expression is a trade-off function, and its evaluator."""
    import sympy

    source = random.Random(20220101)  # noqa: S311 - points of a check that must repeat
    parameters = sorted(expression.free_symbols - {alpha}, key=str)
    found = 0
    for trial in range(_TRIALS):
        top = (0.5, 1.0, 3.0)[trial % 3]
        values = {symbol: sympy.Rational(round(source.uniform(0.05, 1.0) * top, 6)) for symbol in parameters}
        evaluator = Evaluator(expression.xreplace(values), alpha)
        try:
            check(evaluator, "trial")
        except CurveError:
            continue
        found += 1
        yield values, evaluator
        if found >= _WANTED or not parameters:
            return
    if not found:
        raise NoClosedForm(
            f"no random parameters make {expression} a trade-off function, so no closed form can be verified"
        )


def least_preimage(evaluator: Evaluator, level: float) -> Any:
    """Return inf{t : f(t) <= level} by bisection, the number an inverse is checked against."""
    import mpmath

    with mpmath.workdps(_DIGITS):
        low, high = mpmath.mpf(0), mpmath.mpf(1)
        if evaluator.at(1e-30, _DIGITS) <= level:
            return low
        for _ in range(70):
            middle = (low + high) / 2
            low, high = (low, middle) if evaluator.at(middle, _DIGITS) <= level else (middle, high)
        return high


def supremum(evaluator: Evaluator, slope: Any) -> Any:
    """Return sup_alpha 1 - f(alpha) - slope alpha by ternary search, against which a profile is checked."""
    import mpmath

    def gain(x: Any) -> Any:
        return 1 - evaluator.at(x, _DIGITS) - slope * x

    with mpmath.workdps(_DIGITS):
        low, high = mpmath.mpf(10) ** -25, mpmath.mpf(1) - mpmath.mpf(10) ** -25
        for _ in range(110):
            first, second = (2 * low + high) / 3, (low + 2 * high) / 3
            low, high = (first, high) if gain(first) < gain(second) else (low, second)
        return gain((low + high) / 2)


def steepest(evaluator: Evaluator) -> Bounds:
    """Bound log -f'(0+), sup L: at least any difference quotient's, and what two far out agree on."""
    import mpmath

    with mpmath.workdps(_FAR_DIGITS):
        start = evaluator.at(0.0, _FAR_DIGITS)
        low, high, agree = _log_slopes(lambda h: start - evaluator.at(h, _FAR_DIGITS))
        return Bounds(low, high if agree else np.inf)


def flattest(evaluator: Evaluator) -> Bounds:
    """Bound log -f'(1-), inf L, for f positive below 1: from the other end, with quotients above."""
    low, high, agree = _log_slopes(lambda h: evaluator.at(1 - h, _FAR_DIGITS))
    return Bounds(low if agree else -np.inf, high)


def _log_slopes(rise: Callable[[Any], Any]) -> tuple[float, float, bool]:
    """Bound the log of the farther of two difference quotients; say whether both agree to twenty digits."""
    import mpmath

    with mpmath.workdps(_FAR_DIGITS):
        far, farther = (rise(h) / h for h in (mpmath.mpf(10) ** -60, mpmath.mpf(10) ** -90))
        if not (mpmath.isfinite(far) and mpmath.isfinite(farther) and farther > 0):
            return -np.inf, np.inf, False
        slope = float(mpmath.log(farther))
        agree = bool(abs(farther - far) <= _AGREE * farther)
        return float(np.nextafter(slope, -np.inf)), float(np.nextafter(slope, np.inf)), agree


def mass_of_zeros(evaluator: Evaluator) -> float:
    """Return 1 - inf{alpha : f(alpha) = 0} to the last digit; 0 where f is positive up to 1 - 10^-60."""
    import mpmath

    digits = 5 * _FAR_DIGITS
    with mpmath.workdps(digits):
        least, noise = mpmath.mpf(10) ** -60, mpmath.mpf(10) ** (_FAR_DIGITS - digits)
        low, high = least, mpmath.mpf(1)
        while high > low * (1 + mpmath.mpf(_AGREE)):
            middle = mpmath.sqrt(low * high)
            low, high = (low, middle) if evaluator.at(1 - middle, digits) > noise else (middle, high)
        return float(high) if low > least else 0.0


def lost(expression: Any, alpha: Any, value: Evaluator) -> tuple[float, float]:
    """Bound 1 - f(0): the formula's value or, where it has none, its limit; else at least 0."""
    import sympy

    rest = 1 - expression
    low, high = (float(side[0]) for side in Evaluator(rest, alpha).bounds(np.zeros(1), np.zeros(1)))
    if np.isnan(low):
        limit = sympy.limit(rest, alpha, 0, "+")
        low = high = float(limit) if limit.is_number and limit.is_real else np.nan
    if np.isnan(low):
        low, high = 0.0, 1 - float(value.bounds(np.array([1e-300]), np.array([300.0]))[0][0])
    return max(low, 0.0), high


def compiled(expression: Any, arguments: list[Any]) -> Callable[..., Any]:
    """Return a NumPy function of an expression; pieces are evaluated everywhere, then chosen."""
    import sympy

    function = sympy.lambdify(arguments, expression, modules=["scipy", "numpy"])

    def evaluate(*values: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return function(*values)

    return evaluate
