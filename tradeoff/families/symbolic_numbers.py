"""Numbers out of expressions: evaluated in balls, or with two precisions that agree, and rounded outward."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterator
from functools import partial, reduce
from itertools import product
from typing import Any

import mpmath
import numpy as np
from scipy.special import erfcinv

from tradeoff.enclosing import enclosing
from tradeoff.errors import CurveError, NoClosedForm
from tradeoff.families.later import sympy
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.rounding import Array

_DIGITS = 30  # digits of a value besides those that its argument costs: twenty are compared
_SPARE = 5  # digits by which terms of order one may be off at the end
_MOST_DIGITS = 4000  # digits after which what agrees is reported: what needs more cancels to nothing
_LEAST = 1e-323  # below this a bound is the least float or 0, whatever the value
_AGREE = 1e-20  # relative difference of two precisions that agree: far below the rounding of a float
_FIRST_BITS, _LOST_BITS = 80, 24  # of a step from a float, and what roundings may cost of twice the bits
_FAR_DIGITS = 200  # digits in which 1 - 10^-60 still has a hundred below its first nines
# Where a jump at 0 is looked for, twice, and the share of it that is left: of 1/log log(1/alpha) 0.81 are.
_BESIDE, _NEARER, _STAYS = "1e-10000", "1e-100000", 0.9
_JUMPING = ("Piecewise", "sign", "Heaviside", "KroneckerDelta", "floor", "ceiling", "frac")

_SLACK = 1e-12  # violation of a property of trade-off functions that rounding explains
_TRIALS = 60  # random parameters tried before a formula counts as none of a trade-off function
_WANTED = 4  # random parameters at which a solution must agree with numbers


def _erfcinv(y: Any) -> Any:
    """Inverse complementary error function, by Newton's method on log erfc, in digits that double.

    A step leaves less than its square: half of f''/f' of f = log erfc, which falls from 2/sqrt(pi) at x = 0.
    """
    if not 0 < y < 2:
        return mp().inf if y == 0 else -mp().inf if y == 2 else mp().nan
    if y > 1:
        return -_erfcinv(2 - y)
    x = mp().mpf(float(erfcinv(float(y)))) if y > 1e-300 else mp().sqrt(-mp().log(y))
    wanted = mp().prec
    bits = min(_FIRST_BITS, wanted)
    for _ in range(200):
        with mp().workprec(bits):
            tail = mp().erfc(x)
            step = mp().log(tail / y) * tail * mp().sqrt(mp().pi) * mp().exp(x * x) / 2
            x += step
            near = step * step <= max(abs(x), mp().eps) * mp().eps
        if near and bits == wanted:
            break
        bits = min(2 * bits - _LOST_BITS, wanted) if near else bits
    return x


def _decided(compare: Callable[[Any, Any], bool | None]) -> Callable[[Any, Any], bool]:
    def compared(x: Any, y: Any) -> bool:
        found = compare(x, y)
        if found is None:
            raise ValueError("balls overlap")
        return found

    return compared


class _Own(threading.local):
    """Arithmetic of this thread: all share the precision of mpmath itself, which any of them may change."""

    def __init__(self) -> None:
        self.mp = mpmath.MPContext()
        self.balls = enclosing()
        kinds = (self.balls.mpf, type(self.balls.pi))  # constants are of a class of their own
        for name, kind in product(("__lt__", "__le__", "__gt__", "__ge__"), kinds):
            setattr(kind, name, _decided(getattr(kind, name)))


_OWN = _Own()


def mp() -> Any:
    """Return mpmath with a precision that is the thread's own."""
    return _OWN.mp


def balls() -> Any:
    """Return its interval arithmetic, in which a comparison that is undecided is an error, not False."""
    return _OWN.balls


def ends(ball: Any) -> tuple[Any, Any]:
    """Return the ends of a ball as plain numbers, exactly; ``TypeError`` where they are complex."""
    if isinstance(ball, balls().mpc):
        raise TypeError("complex")
    return mp().convert(ball.a), mp().convert(ball.b)


def ball_functions() -> dict[str, Any]:
    """Return what formulas are compiled to where every function has a proved ball."""
    own = balls()

    def extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
        def of(*each: Any) -> Any:
            lower, upper = zip(*(ends(own.convert(x)) for x in each), strict=True)
            return own.mpf([choose(lower), choose(upper)])

        return of

    names = ("mpf", "exp", "log", "sqrt", "pi", "e")
    return {"max": extreme(max), "min": extreme(min)} | {name: getattr(own, name) for name in names}


def proved(expression: Any) -> bool:
    """Whether all that the expression is made of has balls: arithmetic, exp, log, Max, Min, pieces."""
    kinds = (sympy.Function, sympy.Max, sympy.Min, sympy.NumberSymbol)
    known = (sympy.exp, sympy.log, sympy.Max, sympy.Min, sympy.Piecewise, sympy.Heaviside)
    return all(isinstance(part, known) or part in {sympy.pi, sympy.E} for part in expression.atoms(*kinds))


class _Compiled(threading.local):
    """An expression as a function of numbers, and of balls where all it is made of has them, in a thread."""

    def __init__(self, variable: Any, expression: Any) -> None:
        compile_with = partial(sympy.lambdify, variable, expression, printer=printer())
        self.of_number: Callable[[Any], Any] = compile_with(modules=[number_functions()])
        self.of_ball: Callable[[Any], Any] | None = None
        if proved(expression):
            self.of_ball = compile_with(modules=[ball_functions()])


def printer() -> Any:
    """Return what prints formulas for mpmath: their fractions are no quotients of floats."""
    from sympy.printing.pycode import MpmathPrinter

    return MpmathPrinter({"fully_qualified_modules": False, "inline": True, "allow_unknown_functions": True})


def number_functions() -> dict[str, Any]:
    """Return what formulas are compiled to elsewhere: mpmath's functions, by SymPy's names too."""
    from sympy.utilities.lambdify import MPMATH_TRANSLATIONS

    own = mp()
    names = {name: name for name in dir(own) if not name.startswith("_")} | MPMATH_TRANSLATIONS
    known = {name: getattr(own, its) for name, its in names.items() if hasattr(own, its)}
    return known | {"erfcinv": _erfcinv, "betainc_regularized": partial(own.betainc, regularized=True)}


class Evaluator:
    """Bounds on a one-variable expression: by balls, else by two precisions that agree to twenty digits."""

    def __init__(self, expression: Any, variable: Any) -> None:
        self.proved = proved(expression)
        self._compiled = _Compiled(variable, expression)
        self._known: dict[float, tuple[float, float]] = {}

    def at(self, x: Any, digits: int) -> Any:
        """Return the value with so many digits, or NaN where it is not a real number."""
        with mp().workdps(digits):
            try:
                value = mp().convert(self._compiled.of_number(mp().mpf(x)))
            # The last: unknown to mpmath.
            except (ZeroDivisionError, ValueError, TypeError, OverflowError, NameError):
                return mp().nan
            is_real = abs(mp().im(value)) <= abs(value) * mp().mpf(10) ** (5 - digits)
            return mp().re(value) if is_real else mp().nan

    def bounds(self, x: Array, digits: Array) -> Pair:
        """Bound the expression at every x, starting from so many digits."""
        pairs = [self._one(float(v), int(d)) for v, d in zip(x, digits, strict=True)]
        return np.array([low for low, _ in pairs]), np.array([high for _, high in pairs])

    def ball(self, x: Any, digits: int) -> Any | None:
        """Enclose the value at a number that so many digits hold; None where it is not a finite real."""
        own = balls()
        own.dps = digits
        if self._compiled.of_ball is not None:
            try:
                found = own.convert(self._compiled.of_ball(own.mpf(x)))
                low, high = ends(found)
            except (ArithmeticError, AttributeError, NameError, TypeError, ValueError):
                return None
            return found if mp().isfinite(low) and mp().isfinite(high) else None
        coarse, fine = self.at(x, digits), self.at(x, 2 * digits)
        with mp().workdps(2 * digits):
            # Terms of order one may cancel to the same rounded number twice, so an absolute error remains.
            error = abs(fine - coarse) + mp().mpf(10) ** (_SPARE - 2 * digits)
            return own.mpf([fine - error, fine + error]) if mp().isfinite(error) else None

    def _one(self, x: float, digits: int) -> tuple[float, float]:
        if x not in self._known:
            digits += _DIGITS
            while True:
                found = self.ball(x, digits)
                low, high = (np.nan, np.nan) if found is None else ends(found)
                if found is None or narrow(low, high) or digits > _MOST_DIGITS:
                    break
                digits *= 2
            self._known[x] = outward(low, high)
        return self._known[x]


def narrow(low: Any, high: Any) -> bool:
    """Whether twenty digits are known, or that the number is below all floats."""
    size = max(abs(low), abs(high))
    return bool(high - low <= _AGREE * size or size < _LEAST)


def outward(low: Any, high: Any) -> tuple[float, float]:
    """Return floats at or below, and at or above."""
    below, above = float(low), float(high)
    below = math.nextafter(below, -math.inf) if below > low else below
    return below, math.nextafter(above, math.inf) if above < high else above


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
        at = f"{shown} at alpha = {alpha[k]:.6g}: {values[k]:.6g}"
        raise CurveError(f"f(alpha) <= 1 - alpha fails for {at}")
    for k in np.flatnonzero(np.diff(values) > _SLACK):
        between, to = f"{alpha[k]:.6g} and {alpha[k + 1]:.6g}", f"{values[k]:.6g} to {values[k + 1]:.6g}"
        raise CurveError(f"{shown} increases between alpha = {between}: {to}")
    slopes = np.diff(values) / np.diff(alpha)
    for k in np.flatnonzero(np.diff(slopes) < -_SLACK * (1 + np.abs(slopes[1:]))):
        if (slopes[k] - slopes[k + 1]) * min(alpha[k + 1] - alpha[k], alpha[k + 2] - alpha[k + 1]) > _SLACK:
            raise CurveError(f"{shown} is not convex at alpha = {alpha[k + 1]:.6g}")


def check_start(expression: Any, value: Evaluator) -> None:
    """Raise ``CurveError`` if a formula of pieces jumps at alpha = 0: trade-off functions are continuous."""
    zero_to_a_power = any(power.base == 0 for power in expression.atoms(sympy.Pow))
    if not (zero_to_a_power or expression.has(*(getattr(sympy, name) for name in _JUMPING))):
        return
    # Limits of SymPy miss it.
    start, beside, nearer = (value.at(x, _DIGITS) for x in (0.0, mp().mpf(_BESIDE), mp().mpf(_NEARER)))
    if abs(start - nearer) > max(_STAYS * abs(start - beside), mp().mpf(10) ** -(_DIGITS - _SPARE)):
        told = f"{float(start):.6g} there, {float(beside):.6g} beside"
        raise CurveError(f"{expression} jumps at alpha = 0: {told}; give it the value beside")


def trials(expression: Any, alpha: Any) -> Iterator[tuple[dict[Any, Any], Evaluator]]:
    """Yield random parameters with which the expression is a trade-off function, and its evaluator."""
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
        none = f"no random parameters make {expression} a trade-off function"
        raise NoClosedForm(f"{none}, so no closed form can be verified")


def least_preimage(evaluator: Evaluator, level: float) -> Any:
    """Return inf{t : f(t) <= level} by bisection, the number an inverse is checked against."""
    with mp().workdps(_DIGITS):
        low, high = mp().mpf(0), mp().mpf(1)
        if evaluator.at(1e-30, _DIGITS) <= level:
            return low
        for _ in range(70):
            middle = (low + high) / 2
            low, high = (low, middle) if evaluator.at(middle, _DIGITS) <= level else (middle, high)
        return high


def mass_of_zeros(evaluator: Evaluator) -> float:
    """Return 1 - inf{alpha : f(alpha) = 0} to the last digit; 0 where f is positive up to 1 - 10^-60."""
    digits = 5 * _FAR_DIGITS
    with mp().workdps(digits):
        least, noise = mp().mpf(10) ** -60, mp().mpf(10) ** (_FAR_DIGITS - digits)
        low, high = least, mp().mpf(1)
        last = evaluator.ball(1 - least, _FAR_DIGITS)
        if last is not None and ends(last)[0] > 0:
            return 0.0
        while high > low * (1 + mp().mpf(_AGREE)):
            middle = mp().sqrt(low * high)
            low, high = (low, middle) if evaluator.at(1 - middle, digits) > noise else (middle, high)
        return float(high) if low > least else 0.0


def lost(expression: Any, alpha: Any, value: Evaluator) -> tuple[float, float]:
    """Bound 1 - f(0): the formula's value or, where it has none, its limit; else at least 0."""
    rest = 1 - expression
    low, high = (float(side[0]) for side in Evaluator(rest, alpha).bounds(np.zeros(1), np.zeros(1)))
    if np.isnan(low):
        low, high = _limit(rest, alpha)
    if np.isnan(low):
        beside = Bounds.of(float(value.bounds(np.array([1e-300]), np.array([300.0]))[0][0]))
        low, high = 0.0, float(np.nan_to_num((1 - beside).upper, nan=1.0))
    return max(low, 0.0), high


def _limit(expression: Any, alpha: Any) -> tuple[float, float]:
    """Return the floats beside the limit at 0, NaN where SymPy knows none or its digits are not known."""
    from tradeoff.families.symbolic_values import UNKNOWN, floats_beside

    try:
        limit = sympy.limit(expression, alpha, 0, "+")
    except (*UNKNOWN, sympy.PoleError):
        return np.nan, np.nan
    return floats_beside(limit) if limit.is_number and limit.is_real else (np.nan, np.nan)


def compiled(expression: Any, arguments: list[Any]) -> Callable[..., Any]:
    """Return a NumPy function of an expression; pieces are evaluated everywhere, then chosen."""
    # SymPy 1.13 prints Max and Min so that a number and an array do not broadcast.
    least, most = sympy.Function("minimum"), sympy.Function("maximum")
    expression = expression.replace(sympy.Min, lambda *each: reduce(least, each))
    expression = expression.replace(sympy.Max, lambda *each: reduce(most, each))
    function = sympy.lambdify(arguments, expression, modules=["scipy", "numpy"])

    def evaluate(*values: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return function(*values)

    return evaluate
