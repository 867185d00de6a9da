"""A curve that rests on what others were found with: the same numbers, said to be unproved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.hooks import assuming
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.tensor import Tensor, tensor
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.rounding import Array
from tradeoff.loss.law import LossLaw


class Assumed(Derived):
    """The operand, with more assumptions."""

    name = "assumed"

    def __init__(self, f: TradeOff, sentences: Sequence[str]) -> None:
        self.operands, self.parameters = (f,), (tuple(sentences),)
        self._f, self.composed = f, f.composed

    @property
    def assumptions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._f.assumptions, *self.parameters[0])))

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return self._f.beta_bounds(alpha, tol)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        return self._f.delta_bounds(epsilon, tol)

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        return self._f.epsilon_bounds(delta, tol)

    @property
    def q_plus(self) -> float:
        return self._f.q_plus

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        return self._f.mass_at_infinity

    @property
    def p_minus(self) -> float:
        return self._f.p_minus

    @property
    def sup_loss(self) -> float:
        return self._f.sup_loss

    @property
    def least_sup_loss(self) -> float:
        return self._f.least_sup_loss

    def renyi_bounds(self, order: float) -> Bounds:
        return self._f.renyi_bounds(order)

    def inverse(self) -> TradeOff:
        return assumed(self._f.inverse(), self.parameters[0])

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        return assumed(change(self._f), self.parameters[0])

    def laws(self) -> tuple[LossLaw, LossLaw]:
        return self._f.laws()

    def __repr__(self) -> str:
        return f"{self._f!r}{assuming(self.assumptions)}"


def bare(f: TradeOff) -> TradeOff:
    """Return the curve as it is without what it was said to rest on."""
    return f.operands[0] if isinstance(f, Assumed) else f


def assumed(f: TradeOff, sentences: Sequence[str]) -> TradeOff:
    """Return the curve, said to rest on these sentences too.

    Examples
    --------
    >>> from tradeoff import Gaussian
    >>> f = assumed(Gaussian(1), ["the sampler is fair."])
    >>> f, f.delta(1.0) == Gaussian(1).delta(1.0)
    (G_{1} (assumes 1 thing: see .assumptions), True)
    """
    if set(sentences) <= set(f.assumptions):
        return f
    if isinstance(f, Tensor):  # one factor says so
        said = next((g for g in f.factors if g.leak is None), None)
        if said is not None:
            return tensor((assumed(g, sentences) if g is said else g, n) for g, n in f.factors.items())
    return f.assuming(*sentences) if isinstance(f, PiecewiseLinear) else Assumed(f, sentences)
