"""A curve whose numbers rest on more assumptions than those of its operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.hooks import limited, pure
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.product import Tensor, tensor


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
    return limited(_assumed(pure(f), sentences), f.tightness)


def _assumed(f: TradeOff, sentences: Sequence[str]) -> TradeOff:
    if isinstance(f, Tensor):  # one factor holds the assumptions
        holder = next((g for g in f.factors if g.leak is None), None)
        if holder is not None:
            return tensor((assumed(g, sentences) if g is holder else g, n) for g, n in f.factors.items())
    return f.assuming(*sentences) if isinstance(f, PiecewiseLinear) else Assumed(f, sentences)
