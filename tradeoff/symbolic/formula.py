"""Trade-off functions written as SymPy expressions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from tradeoff.balls import Balls, center, exp, log, maximum, precision, to_balls, to_bounds, to_floats, union
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MAX_LOSS, symbols_of
from tradeoff.errors import CurveError, NoClosedForm, SymbolError, domain
from tradeoff.families._closed_form import enclose
from tradeoff.families.later import sympy
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import clip
from tradeoff.intervals.rounding import Array
from tradeoff.symbolic.evaluate import convert_number, evaluate, require_supported
from tradeoff.symbolic.forms import Form, form
from tradeoff.symbolic.substitution import resolved

_TAILS = np.geomspace(1e-9, 0.04, 16)
_GRID = np.concatenate([[0.0], _TAILS, np.linspace(0.05, 0.95, 46), (1 - _TAILS)[::-1], [1.0]])
_SLACK = 1e-12  # violation of a property on the grid that rounded constants explain
_CHECK_BITS = 512
_NEAR, _NEARER = -33_000, -330_000  # powers of 2 at which a jump at 0 is looked for
_JUMP = 1e-30  # difference that is a jump unless it shrinks by a tenth from one to the other
_FARTHEST, _STEPS = 2.0**15, 96  # log odds of the type I errors searched, and halvings of that range
_LEAST_MASS, _MASS_BITS = 1e-300, 1536  # least probability, and bits that hold 1 minus it


class Symbolic(TradeOff):
    """Trade-off function f(alpha) given by a SymPy expression; numbers are answered once no symbol is left.

    Parameters
    ----------
    expr
        Expression or number; its symbols other than ``alpha`` are parameters. Texts are refused, since SymPy
        runs them as code.
    alpha
        Symbol of the type I error; ``Symbol("alpha")`` by default.

    Raises
    ------
    CurveError
        If a formula without parameters is not a trade-off function (Dong, Roth, Su 2022, Proposition 2.2).
    DomainError
        If the formula has functions that are not supported.

    Notes
    -----
    Numbers are those of the formula, in ball arithmetic. That the formula is a trade-off function is checked
    on a grid, which ``assumptions`` states.

    Examples
    --------
    >>> import sympy
    >>> alpha, k = sympy.symbols("alpha k", positive=True)
    >>> f = Symbolic((1 - alpha) / (1 - alpha + k * alpha), alpha)
    >>> round(f.subs({k: 3})(0.25), 6)
    0.5
    """

    def __init__(self, expr: Any, alpha: Any = None) -> None:
        self.alpha = check_symbol(sympy.Symbol("alpha") if alpha is None else alpha)
        require_supported("expr", convert_number(expr, "expr"))
        self.expr = sympy.sympify(expr, strict=True)
        if not self.free_symbols:
            with precision(_CHECK_BITS):
                self._check()

    # Checks.

    def _check(self) -> None:
        """Raise ``CurveError`` for the first property of a trade-off function that fails on the grid."""
        alpha = to_balls(_GRID)
        values = self._value(alpha)
        values[0] = self._start
        low, high = to_floats(values)
        known = np.isfinite(low) & np.isfinite(high)
        known[-1] = True  # f(1) = 0, which a formula need not give
        values[-1] = values[-1] if np.isfinite(high[-1]) else to_balls(0)
        slopes = np.diff(values) / np.diff(alpha)
        smallest_step = np.minimum(np.diff(_GRID)[1:], np.diff(_GRID)[:-1])
        failures = {
            "is not a real number": ~known,
            "is negative": high < -_SLACK,
            "is above 1 - alpha": to_floats(values - (1 - alpha))[0] > _SLACK,
            "increases": np.append(False, to_floats(np.diff(values))[0] > _SLACK),
            "is not convex": np.concatenate(
                [[False], to_floats(-np.diff(slopes))[0] * smallest_step > _SLACK, [False]]
            ),
        }
        for property_, places in failures.items():
            for place in _GRID[places]:
                raise CurveError(f"{self.expr} {property_} at alpha = {place:.6g}")
        for place, left, right in self._breakpoints():
            if to_floats(abs(self._value(left) - self._value(right)))[0] > _SLACK:
                raise CurveError(f"{self.expr} jumps at alpha = {place:.6g}")
        near, nearer = (self._start - self._value(to_balls(2) ** power) for power in (_NEAR, _NEARER))
        if abs(nearer) > _JUMP and not abs(nearer) < 0.9 * abs(near):
            raise CurveError(f"{self.expr} jumps at alpha = 0: its value there must be its limit")

    def _breakpoints(self) -> Iterator[tuple[float, Balls, Balls]]:
        """Yield the places where a condition changes, each with points on either side."""
        for condition in self.expr.atoms(sympy.core.relational.Relational):
            gap = condition.lts - condition.gts

            def sign(alpha: Balls, gap: Any = gap) -> Any:
                return np.sign(sum(to_floats(evaluate(gap, {self.alpha: alpha}) + 0 * alpha)))

            signs = sign(to_balls(_GRID))
            for k in np.flatnonzero(signs[1:] != signs[:-1]):
                left, right = to_balls(_GRID[k]), to_balls(_GRID[k + 1])
                for _ in range(_CHECK_BITS // 4):
                    middle = (left + right) / 2
                    left, right = (middle, right) if sign(middle) == signs[k] else (left, middle)
                yield float(_GRID[k + 1]), left, right

    @cached_property
    def _start(self) -> Balls:
        """Ball around f(0): the value of the formula, else its limit."""
        start = self._value(to_balls(0.0))
        if not start.is_finite():
            with suppress(ArithmeticError, AttributeError, NotImplementedError, TypeError, ValueError):
                limit = convert_number(sympy.limit(self._of_positive, self._positive, 0, "+"))
                require_supported("limit", limit)  # whose error is a ValueError
                if limit.is_number:
                    return evaluate(limit, {})
            raise CurveError(
                f"{self.expr} has no value at alpha = 0, and no limit that SymPy finds; give one by a Piecewise"
            )
        return start

    @property
    def free_symbols(self) -> frozenset[Any]:
        return frozenset(self.expr.free_symbols - {self.alpha})

    @property
    def assumptions(self) -> tuple[str, ...]:
        if self.free_symbols:
            return ()
        own = ", and its own inverse" if self.symmetric else ""
        checked = f"checked at {len(_GRID)} points, to {_SLACK:g}"
        return (f"{self.expr} is convex, decreasing and continuous at 0{own} ({checked}).",)

    @cached_property
    def symmetric(self) -> bool:
        """Whether f(f(alpha)) = alpha: simplified by SymPy with symbols left, else on the grid."""
        if self.free_symbols:
            x = sympy.Dummy("x", positive=True)
            twice = self.expr.subs(self.alpha, self.expr.subs(self.alpha, x))
            return not self.expr.has(sympy.Piecewise, sympy.Max, sympy.Min) and sympy.simplify(twice - x) == 0
        with precision(_CHECK_BITS):
            alpha = to_balls(_GRID[1:-1])
            once = self._value(alpha)
            positive = to_floats(once)[0] > 0
            low, high = to_floats(self._value(once[positive]) - alpha[positive])
        return bool(np.all((low <= 0) & (high >= 0) & (high - low < _JUMP)))

    # Numbers.

    def _value(self, alpha: Balls) -> Balls:
        return evaluate(self.expr, {self.alpha: alpha}) + 0 * alpha  # of the shape of alpha

    @cached_property
    def _positive(self) -> Any:
        return sympy.Dummy("alpha", positive=True)

    @property
    def _of_positive(self) -> Any:
        return self.expr.subs(self.alpha, self._positive)

    @cached_property
    def _derivative(self) -> Any:
        pieces = self._of_positive.rewrite([sympy.Max, sympy.Min, sympy.Abs], sympy.Piecewise)
        return pieces.diff(self._positive)

    def _slope(self, alpha: Balls) -> Balls:
        return evaluate(self._derivative, {self._positive: alpha}) + 0 * alpha

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        low, high = enclose(self._value, alpha)
        at_zero = alpha == 0
        low[at_zero], high[at_zero] = clip(1 - self.mass_at_infinity, 0.0, 1.0)
        return low, np.minimum(high, (1 - Bounds.of(alpha)).upper)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        low, high = enclose(self._profile, np.clip(epsilon, -MAX_LOSS, MAX_LOSS))
        low[epsilon > MAX_LOSS] = 0.0
        high[epsilon < -MAX_LOSS] = 1.0
        lost = self.mass_at_infinity
        return np.maximum(low, lost.lower), np.where(epsilon >= self.sup_loss, lost.upper, high)

    def _profile(self, loss: Balls) -> Balls:
        """Return delta(x) = sup 1 - f(alpha) - e^x alpha, a gain that is concave, below its tangents.

        The log odds of alpha are halved to find where the gain is largest; the bounds hold wherever that is.
        """
        s = exp(loss)
        left, right = 0 * loss - _FARTHEST, 0 * loss + _FARTHEST
        for _ in range(_STEPS):
            middle = (left + right) / 2
            rise = center(-self._slope(1 / (1 + exp(-middle))) - s)
            rises = to_floats(rise)[0] > 0
            left, right = np.where(rises, middle, left), np.where(rises, right, middle)
        x, y = 1 / (1 + exp(-left)), 1 / (1 + exp(-right))
        gain, end_gain = (1 - self._value(at) - s * at for at in (x, y))
        rise, end_rise = (-self._slope(at) - s for at in (x, y))
        before, after = gain + maximum(-rise, 0) * x, end_gain + maximum(end_rise, 0) / (1 + exp(right))
        between = gain + maximum(rise, 0) * (y - x)
        return union(maximum(gain, end_gain), maximum(maximum(before, after), between))

    @cached_property
    def mass_at_infinity(self) -> Bounds[float]:
        self.require_numbers()
        low, high = clip(to_bounds(1 - self._start), 0.0, 1.0)
        return Bounds(low, high)

    @property
    def q_plus(self) -> float:
        return self.mass_at_infinity.upper

    @cached_property
    def p_minus(self) -> float:
        """Return 1 - inf{alpha : f(alpha) = 0}, at most rounded up."""
        if self.symmetric:
            return self.q_plus
        with precision(_MASS_BITS):
            low, high = _LEAST_MASS, 1.0
            if self._is_positive(low):
                return 0.0
            while low < (middle := math.sqrt(low * high)) < high:
                low, high = (low, middle) if self._is_positive(middle) else (middle, high)
            return high

    def _is_positive(self, rest: float) -> bool:
        return bool(self._value(1 - to_balls(rest)) > 0)

    @property
    def sup_loss(self) -> float:
        return self._sup_loss.upper

    @property
    def least_sup_loss(self) -> float:
        return self._sup_loss.lower

    @cached_property
    def _sup_loss(self) -> Bounds[float]:
        """Bounds on log -f'(0+)."""
        self.require_numbers()
        end, near = (to_bounds(log(-self._slope(at))) for at in (to_balls(0.0), to_balls(2) ** _NEAR))
        low = near.lower if near.lower > -np.inf else -np.inf  # of NaN as well
        return Bounds(low, end.upper if end.upper >= low and end.upper - low < _SLACK else np.inf)

    @cached_property
    def inf_loss(self) -> Bounds:
        """Bounds on log -f'(1-), where f is positive below 1."""
        if self.p_minus > 0:
            return Bounds(-np.inf, np.inf)
        with precision(_MASS_BITS):
            end, near = (to_bounds(log(-self._slope(1 - to_balls(rest)))) for rest in (0.0, _LEAST_MASS))
        high = near.upper if near.upper < np.inf else np.inf
        return Bounds(end.lower if end.lower <= high and high - end.lower < _SLACK else -np.inf, high)

    # Formulas.

    def subs(self, values: Mapping[Any, Any]) -> Symbolic:
        """Replace symbols, all at once; floats are taken as the rational numbers they are."""
        replaced = {symbol: convert_number(value) for symbol, value in resolved(self, values).items()}
        require_apart(self.alpha, *replaced.values())
        return Symbolic(self.expr.subs(replaced, simultaneous=True), self.alpha)

    def symbolic(self, alpha: Any = None) -> Symbolic:
        """Return the same formula, in the symbol ``alpha``."""
        if alpha is None or check_symbol(alpha) == self.alpha:
            return self
        require_apart(alpha, self.expr)
        return Symbolic(self.expr.subs(self.alpha, alpha), alpha)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Symbolic) and (self.expr, self.alpha) == (other.expr, other.alpha)

    def __hash__(self) -> int:
        return hash((self.expr, self.alpha))

    @property
    def notation(self) -> str:
        return f"Symbolic({self.expr}, {self.alpha})"


def _of_curve(name: str) -> Any:
    return property(lambda self: getattr(self.curve, name))


class CurveFormula(Symbolic):
    """Formula of another curve, which answers numbers and enters products: ``curve.symbolic(alpha)``."""

    def __init__(self, curve: TradeOff, expr: Any, alpha: Any) -> None:
        self.curve, self.expr, self.alpha = curve, expr, alpha

    beta_bounds, delta_bounds, epsilon_bounds, renyi_bounds = map(
        _of_curve, ("beta_bounds", "delta_bounds", "epsilon_bounds", "renyi_bounds")
    )
    mass_at_infinity, q_plus, p_minus = map(_of_curve, ("mass_at_infinity", "q_plus", "p_minus"))
    sup_loss, least_sup_loss, inf_loss = map(_of_curve, ("sup_loss", "least_sup_loss", "inf_loss"))
    symmetric, assumptions, composed = map(_of_curve, ("symmetric", "assumptions", "composed"))
    laws, loss_law, power_law, factors = map(_of_curve, ("laws", "loss_law", "power_law", "factors"))
    group, inverse = map(_of_curve, ("group", "inverse"))

    def subs(self, values: Mapping[Any, Any]) -> Symbolic:
        return symbolic(self.curve.subs(values), self.alpha)

    def symbolic(self, alpha: Any = None) -> Symbolic:
        return self if alpha is None else symbolic(self.curve, alpha)


def symbolic(curve: TradeOff, alpha: Any = None) -> Symbolic:
    """Return a curve with a closed form as a formula in the symbol ``alpha``."""
    value = form(curve).value
    if value is None:
        raise NoClosedForm(f"no formula is known for {curve!r}")
    alpha = check_symbol(sympy.Symbol("alpha", positive=True) if alpha is None else alpha)
    require_apart(alpha, *curve.free_symbols)
    return CurveFormula(curve, value(alpha), alpha)


def check_symbol(alpha: Any) -> Any:
    """Return the symbol of the type I error; else raise ``DomainError``."""
    if isinstance(alpha, sympy.Symbol):
        return alpha
    raise domain("alpha", alpha, "a SymPy symbol", "give sympy.Symbol('alpha')")


def require_apart(alpha: Any, *parameters: Any) -> None:
    """Raise ``SymbolError`` if the symbol of the type I error is one of the parameters'."""
    if alpha in symbols_of(*parameters):
        raise SymbolError(
            f"{alpha} is a parameter and cannot be the type I error as well; "
            "write the curve in another symbol first, with .symbolic(Symbol(...))"
        )


@form.register
def _(curve: Symbolic) -> Form:
    return Form(lambda alpha: curve.expr.subs(curve.alpha, alpha), None)


@form.register
def _(curve: CurveFormula) -> Form:
    return form(curve.curve)
