"""Trade-off functions written as SymPy expressions, and numbers for symbols in any curve.

Formulas are evaluated in balls: ``enclose`` returns the floats around the balls of a formula at an array.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from tradeoff import balls
from tradeoff.balls import Balls, exact_fraction, precision, to_balls, to_bounds, to_floats, upper_float
from tradeoff.curves.contract import Derived, TradeOff
from tradeoff.curves.parameters import MAX_LOSS, is_symbol, symbols_of, sympy
from tradeoff.curves.product import Tensor, tensor
from tradeoff.errors import CurveError, NoClosedForm, SymbolError, domain
from tradeoff.families._closed_form import ClosedForm, enclose
from tradeoff.families.approximate_dp import TotalVariation
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Array, Bounds, Pair
from tradeoff.intervals.functions import clip
from tradeoff.symbolic.forms import Form, convert_number, evaluate, form

_TAILS = np.geomspace(1e-9, 0.04, 16)
_GRID = np.concatenate([[0.0], _TAILS, np.linspace(0.05, 0.95, 46), (1 - _TAILS)[::-1], [1.0]])
_GRID_TOLERANCE = 1e-12  # violation of a property on the grid that rounded constants explain
_CHECK_BITS = 512  # bits of a check: differences of nearby values keep their digits
_NEAR = -33_000  # power of 2 that is near 0: a formula is evaluated at 2^_NEAR and 2^(10 _NEAR)
_JUMP = 1e-30  # difference from f(0) that is a jump unless it shrinks by a tenth between these
_STEPS = 96  # halvings of the range of log odds that is searched, to 2^-80
_MASS_BITS = 1536  # which hold 1 minus the least probability, 1e-300


class Symbolic(TradeOff):
    """Trade-off function f(alpha) given by a SymPy expression; numbers are answered once no symbol is left.

    Parameters
    ----------
    expr
        Expression; its symbols other than ``alpha`` are parameters. Texts, which SymPy runs, are refused.
    alpha
        Symbol of the type I error; ``Symbol("alpha")`` by default.
    symmetric
        Whether f = f^-1, while parameters are left; without parameters it is checked.

    Notes
    -----
    Numbers are computed from the formula in ball arithmetic. That it is a trade-off function (Dong, Roth, Su
    2022, Proposition 2.2) is checked on a grid, as ``assumptions`` states; ``CurveError`` if it is not.

    Examples
    --------
    >>> import sympy
    >>> alpha, k = sympy.symbols("alpha k", positive=True)
    >>> f = Symbolic((1 - alpha) / (1 - alpha + k * alpha), alpha)
    >>> round(f.subs({k: 3})(0.25), 6)
    0.5
    """

    def __init__(self, expr: Any, alpha: Any = None, *, symmetric: bool = False) -> None:
        convert_number(expr, "expr")  # which refuses texts
        self.alpha = sympy.Symbol("alpha") if alpha is None else alpha
        _check_symbol(self.alpha)
        self.expr, self._claimed = sympy.sympify(expr, strict=True), symmetric
        if not self.free_symbols:
            with balls.precision(_CHECK_BITS):
                self._check()
            properties = "convex, decreasing and continuous at 0" + ", and its own inverse" * self.symmetric
            checked = f"(checked at {len(_GRID)} points, to {_GRID_TOLERANCE:g})"
            self.assumptions = (f"{self.expr} is {properties} {checked}.",)

    def _check(self) -> None:
        """Raise ``CurveError`` for the first property of a trade-off function that fails."""
        alpha = to_balls(_GRID)
        values = self._value(alpha)
        values[0] = self._start
        if not values[-1].is_finite():  # f(1) = 0, which a formula need not give
            values[-1] = to_balls(0)
        slopes = np.diff(values) / np.diff(alpha)
        steps = np.minimum(np.diff(_GRID)[1:], np.diff(_GRID)[:-1])
        failures = {
            "is not a real number": [not value.is_finite() for value in values],
            "is negative": _exceeds(-values),
            "is above 1 - alpha": _exceeds(values - (1 - alpha)),
            "increases": [False, *_exceeds(np.diff(values))],
            "is not convex": [False, *_exceeds(-np.diff(slopes) * steps), False],
        }
        for property_, places in failures.items():
            for place in _GRID[places]:
                raise CurveError(f"{self.expr} {property_} at alpha = {place:.6g}")
        near, nearer = (abs(self._start - self._value(to_balls(2) ** power)) for power in (_NEAR, 10 * _NEAR))
        if nearer > _JUMP and not nearer < 0.9 * near:
            raise CurveError(f"{self.expr} jumps at alpha = 0: its value there must be its limit")
        for left, right in self._breakpoints():
            if _exceeds(abs(self._value(left) - self._value(right))):
                raise CurveError(f"{self.expr} jumps at alpha = {float(right):.6g}")

    def _breakpoints(self) -> Iterator[tuple[Balls, Balls]]:
        """Yield points left and right of every place, between two of the grid, where a condition changes."""
        for condition in self.expr.atoms(sympy.core.relational.Relational):

            def sign(alpha: Balls, gap: Any = condition.lts - condition.gts) -> Any:
                return np.sign(sum(to_floats(evaluate(gap, {self.alpha: alpha}) + 0 * alpha)))

            signs = sign(to_balls(_GRID))
            for k in np.flatnonzero(signs[1:] != signs[:-1]):
                left, right = to_balls(_GRID[k : k + 2])
                for _ in range(_CHECK_BITS // 4):
                    middle = (left + right) / 2
                    left, right = (middle, right) if sign(middle) == signs[k] else (left, middle)
                yield left, right

    @cached_property
    def _start(self) -> Balls:
        """Ball around f(0): the value of the formula, else its limit."""
        with balls.precision(_MASS_BITS):
            start = self._value(to_balls(0.0))
            if start.is_finite():
                return start
            with suppress(ArithmeticError, AttributeError, NotImplementedError, TypeError, ValueError):
                alpha = sympy.Dummy("alpha", positive=True)
                return evaluate(sympy.limit(self.expr.subs(self.alpha, alpha), alpha, 0, "+"), {})
        raise CurveError(f"{self.expr} has no value at alpha = 0, and no limit there that SymPy finds")

    @property
    def free_symbols(self) -> frozenset[Any]:
        return frozenset(self.expr.free_symbols - {self.alpha})

    @cached_property
    def symmetric(self) -> bool:
        """Whether f(f(alpha)) = alpha on the grid; as claimed while parameters are left."""
        if self.free_symbols:
            return self._claimed
        with balls.precision(_CHECK_BITS):
            alpha = to_balls(_GRID[1:-1])
            once = self._value(alpha)
            positive = to_floats(once)[0] > 0
            low, high = to_floats(self._value(once[positive]) - alpha[positive])
        return bool(np.all((low <= 0) & (high >= 0) & (high - low < _JUMP)))

    def _value(self, alpha: Balls) -> Balls:
        return evaluate(self.expr, {self.alpha: alpha}) + 0 * alpha  # of the shape of alpha

    def _slope(self, alpha: Balls) -> Balls:
        derivative, symbol = self._derivative
        return evaluate(derivative, {symbol: alpha}) + 0 * alpha

    @cached_property
    def _derivative(self) -> tuple[Any, Any]:
        """Derivative and its symbol, positive so that SymPy simplifies roots and logarithms.

        Kinks become branches of a Piecewise first: of Max, SymPy's derivative is a Heaviside function.
        """
        alpha = sympy.Dummy("alpha", positive=True)
        formula = self.expr.subs(self.alpha, alpha)
        return formula.rewrite([sympy.Max, sympy.Min, sympy.Abs], sympy.Piecewise).diff(alpha), alpha

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        low, high = enclose(self._value, alpha, 0.0, 1.0)
        return low, np.minimum(high, (1 - Bounds.of(alpha)).upper)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        low, high = enclose(self._profile, np.clip(epsilon, -MAX_LOSS, MAX_LOSS), 0.0, 1.0)
        low[epsilon > MAX_LOSS] = 0.0
        high[epsilon < -MAX_LOSS] = 1.0
        lost = self.mass_at_infinity
        return np.maximum(low, lost.lower), np.where(epsilon >= self.sup_loss, lost.upper, high)

    def inverse_delta(self, epsilon: Array) -> Pair:
        return enclose(lambda x: 1 - balls.exp(x) * (1 - self._profile(-x)), epsilon, 0.0, 1.0)

    def _profile(self, loss: Balls) -> Balls:
        """Return balls of delta(x) = sup over alpha of the gain 1 - f(alpha) - e^x alpha, which is concave.

        The range of log odds of alpha is halved to locate its supremum; the gain is below its tangents, so
        that the bounds hold wherever that is.
        """
        s = balls.exp(loss)
        left, right = 0 * loss - 2.0**15, 0 * loss + 2.0**10
        for _ in range(_STEPS):
            middle = (left + right) / 2
            rise = balls.center(-self._slope(1 / (1 + balls.exp(-middle))) - s)
            rises = to_floats(rise)[0] > 0
            left, right = np.where(rises, middle, left), np.where(rises, right, middle)
        left, right = left - 2.0**-80, right + 2.0**-80  # away from a kink at the place of the root
        x, y, rest = (1 / (1 + balls.exp(odds)) for odds in (-left, -right, right))
        gain, end_gain = (1 - self._value(at) - s * at for at in (x, y))
        rise, end_rise = (-self._slope(at) - s for at in (x, y))
        below = balls.maximum(gain, end_gain)
        # Tangents at x bound the gain before x and between, that at y bounds it after y.
        before, after = gain + balls.maximum(-rise, 0) * x, end_gain + balls.maximum(end_rise, 0) * rest
        between = gain + balls.maximum(rise, 0) * (y - x)
        return balls.union(below, balls.maximum(balls.maximum(before, after), between))

    @cached_property
    def mass_at_infinity(self) -> Bounds[float]:
        self.require_numbers()
        with balls.precision(_MASS_BITS):
            return clip(to_bounds(1 - self._start), 0.0, 1.0)

    @cached_property
    def mass_at_minus_infinity(self) -> float:
        r"""Return :math:`1 - \inf\{\alpha \,\mid\, f(\alpha) = 0\}`, at most rounded up."""
        if self.symmetric:
            return float(self.mass_at_plus_infinity)

        def is_positive(rest: float) -> bool:
            return bool(self._value(1 - to_balls(rest)) > 0)

        with balls.precision(_MASS_BITS):
            low, high = 1e-300, 1.0
            if is_positive(low):
                return 0.0
            while low < (middle := math.sqrt(low * high)) < high:
                low, high = (low, middle) if is_positive(middle) else (middle, high)
            return high

    @cached_property
    def loss_bounds(self) -> Bounds[float]:
        """Bounds on log -f'(0+); the slope near 0 is less, and that at 0 is its limit if it is close."""
        at, near = (to_bounds(balls.log(-self._slope(x))) for x in (to_balls(0), to_balls(2) ** _NEAR))
        is_limit = 0 <= at.upper - near.lower < _GRID_TOLERANCE
        return Bounds(float(np.fmax(near.lower, -np.inf)), at.upper if is_limit else np.inf)

    def subs(self, values: Mapping[Any, Any]) -> Symbolic:
        """Replace symbols, all at once; floats are converted to exact rational numbers."""
        numbers = {symbol: convert_number(value) for symbol, value in match_symbols(self, values).items()}
        _check_symbol(self.alpha, *numbers.values())
        return Symbolic(self.expr.subs(numbers, simultaneous=True), self.alpha, symmetric=self._claimed)

    def symbolic(self, alpha: Any = None) -> Symbolic:
        return self if alpha in {None, self.alpha} else symbolic(self, alpha)

    def _key(self) -> tuple[Any, Any]:
        return self.expr, self.alpha

    @property
    def notation(self) -> str:
        return f"Symbolic({self.expr}, {self.alpha})"


@form.register
def _(curve: Symbolic) -> Form:
    return Form(lambda alpha: curve.expr.subs(curve.alpha, alpha))


def symbolic(curve: TradeOff, alpha: Any = None) -> Symbolic:
    """Return a curve with a closed form as a formula in the symbol ``alpha``."""
    value = form(curve).value
    if value is None:
        raise NoClosedForm(f"no formula is known for {curve!r}")
    alpha = sympy.Symbol("alpha", positive=True) if alpha is None else alpha
    _check_symbol(alpha, *curve.free_symbols)
    return Symbolic(value(alpha), alpha, symmetric=curve.symmetric)


def _exceeds(values: Balls) -> Any:
    """Whether balls are certainly above the slack."""
    return to_floats(values)[0] > _GRID_TOLERANCE


def _check_symbol(alpha: Any, *parameters: Any) -> None:
    """Check that the type I error is a symbol, and not one of the parameters'."""
    if not isinstance(alpha, sympy.Symbol):
        raise domain("alpha", alpha, "a SymPy symbol", "give sympy.Symbol('alpha')")
    if alpha in symbols_of(*parameters):
        raise SymbolError(
            f"{alpha} is a parameter and cannot be the type I error as well; "
            "write the curve in another symbol first, with .symbolic(Symbol(...))"
        )


def substitute(curve: TradeOff, values: Mapping[Any, Any]) -> TradeOff:
    """Return ``curve`` with symbols replaced, all at once; parameters are rounded up, to less privacy."""
    values = match_symbols(curve, values)
    if not values:
        return curve

    def change(part: Any) -> Any:
        if isinstance(part, TradeOff):
            return substitute(part, {key: value for key, value in values.items() if key in part.free_symbols})
        return _number(part, values)

    if isinstance(curve, Tensor):
        return tensor((change(factor), n) for factor, n in curve.factors.items())
    if type(curve).subs is not TradeOff.subs:  # a formula
        return curve.subs(values)
    if isinstance(curve, Derived):
        return curve.replaced(change)
    if not (isinstance(curve, ClosedForm) and curve.parameter):
        raise SymbolError(f"{curve!r} cannot substitute its symbols; substitute in the curves it is made of")
    parameter = getattr(curve, curve.parameter)
    number = _number(parameter, values)
    if isinstance(curve, Gaussian) and parameter not in values and not is_symbol(number):
        with precision(1024):  # in which squares and sums of floats of the working range are exact
            square = exact_fraction(_evaluate(parameter**2, values))
        return Gaussian(number) if square is None else Gaussian.from_weight(square)
    if isinstance(curve, TotalVariation) and number == math.nextafter(1, 2):  # a ball around 1
        number = 1.0
    return type(curve)(number)  # type: ignore[call-arg]  # of one parameter


def _number(parameter: Any, values: Mapping[Any, Any]) -> Any:
    """Return a parameter with symbols replaced: a formula while one is left, else the float above."""
    if not is_symbol(parameter):
        return parameter
    if parameter in values:  # as the constructor takes it
        return values[parameter]
    if symbols_of(*values.values()) or not parameter.free_symbols <= values.keys():
        numbers = {symbol: convert_number(value) for symbol, value in values.items()}
        return convert_number(parameter).subs(numbers, simultaneous=True)
    return upper_float(_evaluate(parameter, values))


def _evaluate(formula: Any, values: Mapping[Any, Any]) -> Any:
    """Return a ball of a formula, all of whose symbols have values."""
    numbers = {symbol: evaluate(convert_number(value), {}) for symbol, value in values.items()}
    return evaluate(formula, numbers)


def match_symbols(curve: TradeOff, values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return values by free symbols of the curve; a key is a symbol, or a name that only one of them has."""
    matched = {key: value for key, value in values.items() if key in curve.free_symbols}
    for key in [key for key in values if key not in matched]:
        named = [symbol for symbol in curve.free_symbols if str(symbol) == str(key)]
        if not named:
            known = ", ".join(sorted(map(str, curve.free_symbols))) or "none"
            raise SymbolError(f"{key} is not among the free symbols of {curve!r}: {known}")
        if len(named) > 1:
            raise SymbolError(f"{len(named)} free symbols of {curve!r} are named {key}; give the one meant")
        if named[0] in matched:
            raise SymbolError(f"{key} is given twice for {curve!r}; give it once")
        matched[named[0]] = values[key]
    return matched
