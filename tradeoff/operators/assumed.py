"""A curve that rests on what others were found with: the same numbers, said to be unproved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.hooks import limited, pure
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.product import Tensor, tensor


def _of_operand(name: str) -> Any:
    """Return what answers as the operand does: its number, or its method."""
    return property(lambda self: getattr(self.operands[0], name))


class Assumed(Derived):
    """The operand, with more assumptions."""

    name = "assumed"

    def __init__(self, f: TradeOff, sentences: Sequence[str]) -> None:
        self.operands, self.parameters = (f,), (tuple(sentences),)
        self._f, self.composed = f, f.composed

    @property
    def assumptions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._f.assumptions, *self.parameters[0])))

    # All that is a number is the operand's.
    beta_bounds = _of_operand("beta_bounds")
    delta_bounds = _of_operand("delta_bounds")
    epsilon_bounds = _of_operand("epsilon_bounds")
    renyi_bounds = _of_operand("renyi_bounds")
    mass_at_plus_infinity = _of_operand("mass_at_plus_infinity")
    mass_at_minus_infinity = _of_operand("mass_at_minus_infinity")
    mass_at_infinity = _of_operand("mass_at_infinity")
    sup_loss = _of_operand("sup_loss")
    sup_loss_lower = _of_operand("sup_loss_lower")
    laws = _of_operand("laws")

    def inverse(self) -> TradeOff:
        return assumed(self._f.inverse(), self.parameters[0])

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        return assumed(change(self._f), self.parameters[0])

    @property
    def notation(self) -> str:
        return self._f.notation


def bare(f: TradeOff) -> TradeOff:
    """Return the curve as it is without what it was said to rest on."""
    while isinstance(f, Assumed):
        f = f.operands[0]
    return f


def assumed(f: TradeOff, sentences: Sequence[str]) -> TradeOff:
    """Return the curve, said to rest on these sentences too.

    >>> from tradeoff import Gaussian
    >>> f = assumed(Gaussian(1), ["the sampler is fair."])
    >>> f, f.delta(1.0) == Gaussian(1).delta(1.0)
    (G_{1} (assumes 1 thing: see .assumptions), True)
    """
    if set(sentences) <= set(f.assumptions):
        return f
    return limited(_assumed(pure(f), sentences), f.tightness)


def _assumed(f: TradeOff, sentences: Sequence[str]) -> TradeOff:
    if isinstance(f, Tensor):  # one factor says so
        said = next((g for g in f.factors if g.leak is None), None)
        if said is not None:
            return tensor((assumed(g, sentences) if g is said else g, n) for g, n in f.factors.items())
    return f.assuming(*sentences) if isinstance(f, PiecewiseLinear) else Assumed(f, sentences)
