"""Operators of one curve: inverse, powers with symbols, added assumptions, and the profile as an object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.hooks import BOUND, PAIR, limited, pure
from tradeoff.curves.parameters import MAX_COUNT, Number, Numbers, count, is_symbol, reals, symbols_of
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.product import Tensor, tensor
from tradeoff.errors import DomainError, shown
from tradeoff.families._lazy import sympy
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.total_variation import TotalVariation
from tradeoff.intervals.bounds import Bounds, Pair, make_bounds
from tradeoff.intervals.functions import exp, expm1, log
from tradeoff.intervals.roots import bound_inverse
from tradeoff.intervals.rounding import Array, around
from tradeoff.pld.law import PrivacyLossDistribution
from tradeoff.pld.transformed import ReversedPLD
from tradeoff.symbolic.evaluate import convert_number
from tradeoff.symbolic.forms import Form, form, form_of_power


class Inverse(Derived):
    """T(Q, P): f^-1(alpha) = inf{t : f(t) <= alpha}."""

    name = "inverse"

    def __init__(self, base: TradeOff) -> None:
        self.operands = (base,)

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return bound_inverse(self.operands[0].bounds, alpha)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        # 1 - e^eps (1 - delta_f(-eps)); above 700 delta_{f^-1} is at most its value there.
        within = np.minimum(epsilon, 700.0)
        result = exp(within) * self.operands[0].bounds.delta(-within) - expm1(within)
        low = np.where(epsilon > within, self.mass_at_infinity.lower, result.lower)
        return low, np.asarray(result.upper)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        q = self.operands[0].mass_at_minus_infinity  # rounded twice
        return Bounds(q, q) if q in {0.0, 1.0} else make_bounds(*around(q, 4))

    @property
    def mass_at_minus_infinity(self) -> float:
        return self.operands[0].mass_at_plus_infinity

    def inverse(self) -> TradeOff:
        return self.operands[0]

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        base: TradeOff = change(self.operands[0])
        return base.inverse()

    def laws(self) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution]:
        low, high = self.operands[0].laws()
        below = ReversedPLD(low)
        return below, below if high is low else ReversedPLD(high)


class Power(Derived):
    """f^n for a symbol n: waits for a number, and has the closed forms of the table until then."""

    name = "power"

    def __init__(self, f: TradeOff, n: Any) -> None:
        self.operands, self.parameters, self.each = (f,), (n,), (f, n)

    @property
    def free_symbols(self) -> frozenset[Any]:
        return super().free_symbols | symbols_of(*self.parameters)

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        base: TradeOff = change(self.operands[0])
        return power(base, change(self.parameters[0]))

    @property
    def notation(self) -> str:
        return f"({self.operands[0].notation})^{self.parameters[0]}"


@form.register
def _(curve: Power) -> Form:
    return form_of_power(*curve.each)


def power(f: TradeOff, n: Any) -> TradeOff:
    """n-fold tensor power; with a symbol n it is a family where that is closed under products."""
    if not is_symbol(n):
        return tensor([(f, count("n", n, 0, MAX_COUNT))])
    product = tensor((_one(pure(factor), times * n), 1) for factor, times in f.factors.items())
    return limited(product, f.tightness if f.tightness == PAIR else BOUND)


def _one(f: TradeOff, n: Any) -> TradeOff:
    if isinstance(f, Identity):
        return f
    if isinstance(f, Gaussian):
        return Gaussian(sympy.sqrt(n) * f.mu)
    if isinstance(f, TotalVariation):
        return TotalVariation(1 - (1 - convert_number(f.delta_0)) ** n)
    return Power(f.each[0], f.each[1] * n) if isinstance(f, Power) else Power(f, n)


class Assumed(Derived):
    """The operand, with more assumptions."""

    name = "assumed"

    def __init__(self, f: TradeOff, sentences: Sequence[str]) -> None:
        self.operands, self.parameters = (f,), (tuple(sentences),)
        self._f, self.composed = f, f.composed

    @property
    def assumptions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._f.assumptions, *self.parameters[0])))

    def inverse(self) -> TradeOff:
        return assumed(self._f.inverse(), self.parameters[0])

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        return assumed(change(self._f), self.parameters[0])

    @property
    def notation(self) -> str:
        return self._f.notation


def _of_operand(name: str) -> property:
    return property(lambda self: getattr(self.operands[0], name))


for _name in (  # every number is that of the operand
    *("beta_bounds", "delta_bounds", "epsilon_bounds", "renyi_bounds", "laws"),
    *("mass_at_infinity", "mass_at_minus_infinity", "loss_bounds"),
):
    setattr(Assumed, _name, _of_operand(_name))


def bare(f: TradeOff) -> TradeOff:
    """Return the curve without added assumptions."""
    while isinstance(f, Assumed):
        f = f.operands[0]
    return f


def assumed(f: TradeOff, sentences: Sequence[str]) -> TradeOff:
    """Return the curve with more assumptions, in sentences.

    >>> from tradeoff import Gaussian
    >>> f = assumed(Gaussian(1), ["the sampler is fair."])
    >>> f, f.delta(1.0) == Gaussian(1).delta(1.0)
    (G_{1} (assumes 1 thing: see .assumptions), True)
    """
    if set(sentences) <= set(f.assumptions):
        return f
    base = pure(f)
    # Of a product one factor holds the assumptions.
    holder = next((g for g in base.factors if g.leak is None), None) if isinstance(base, Tensor) else None
    if holder is not None:
        result = tensor((assumed(g, sentences) if g is holder else g, n) for g, n in base.factors.items())
    else:
        result = base.assuming(*sentences) if isinstance(base, PiecewiseLinear) else Assumed(base, sentences)
    return limited(result, f.tightness)


@dataclass(frozen=True)
class Dual:
    """Profile eps -> delta(eps) of a curve: an upper bound at every loss; ``dual()`` leads back.

    Examples
    --------
    >>> from tradeoff import Gaussian
    >>> d = Gaussian(1).dual()
    >>> round(d(1.0), 6), d.dual()
    (0.126937, G_{1})
    """

    curve: TradeOff

    @overload
    def __call__(self, epsilon: Number) -> float: ...
    @overload
    def __call__(self, epsilon: Numbers) -> Array: ...
    def __call__(self, epsilon: Number | Numbers) -> float | Array:
        """Return delta(epsilon), an upper bound."""
        return self.curve.delta(epsilon)

    @overload
    def bounds(self, epsilon: Number, *, tol: float | None = None) -> Bounds[float]: ...
    @overload
    def bounds(self, epsilon: Numbers, *, tol: float | None = None) -> Bounds[Array]: ...
    def bounds(self, epsilon: Number | Numbers, *, tol: float | None = None) -> Bounds:
        """Bound delta(epsilon) from both sides, epsilon in nats, any shape."""
        return self.curve.bounds.delta(epsilon, tol=tol)

    @overload
    def conjugate(self, y: Number) -> float: ...
    @overload
    def conjugate(self, y: Numbers) -> Array: ...
    def conjugate(self, y: Number | Numbers) -> float | Array:
        """Conjugate f*(y) = sup_x x y - f(x), from above: delta(log(-y)) - 1 for y < 0, else y."""
        at = reals("y", y)
        if np.isnan(at).any():
            raise DomainError(f"y must hold real slopes without NaN, got {shown(y)}")
        flat = at.ravel()
        value, below = np.maximum(flat, 0.0), flat < 0  # f >= 0 with f(1) = 0: the supremum sits at x = 1
        # delta(log s) - 1 rounded up, at a float below log s, as delta decreases.
        delta = self.curve.bounds.delta(log(-flat[below]).lower).upper
        value[below] = (Bounds.of(delta) - 1).upper
        return value.reshape(at.shape) if at.ndim else float(value[0])

    def dual(self) -> TradeOff:
        """Return the curve f(alpha) = sup_eps 1 - delta(eps) - e^eps alpha."""
        return self.curve
