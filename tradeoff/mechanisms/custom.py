"""Any curve as a mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import choice
from tradeoff.mechanisms.base import Adjacency, Mechanism, Order
from tradeoff.operators.pointwise import maximum


@dataclass(frozen=True, init=False, repr=False)
class Custom(Mechanism):
    """Mechanism of which a trade-off curve is known: from a paper, another accountant, a proof of one's own.

    Parameters
    ----------
    curve
        Curve of one order of the pair: T(M(D), M(D')) >= ``curve`` for every pair of neighbours in that
        order. With ``adjacency="add-remove"`` D' has the record that D lacks.
    other_order
        Curve of the other order, T(M(D'), M(D)) >= ``other_order``; left out, it is ``~curve``, which always
        holds. In a plan file both are JSON, in place or the name of a file that holds it.
    adjacency
        ``"add-remove"`` or ``"replace-one"`` where the curves hold for such neighbours only; left out, for
        any.

    Raises
    ------
    KindError
        If a mechanism or anything else stands where a curve is wanted.
    DomainError
        If ``adjacency`` is none of these.

    Notes
    -----
    As exact as what is given. T(Q, P) = T(P, Q)^-1 (Dong, Roth, Su 2022, Lemma A.2), and inversion keeps the
    order, so that what is known of the other order says something of this one: T(M(D), M(D')) >= max{curve,
    ~other_order}. Under add/remove one order means the same for every such mechanism of a plan, and all turn
    together; else each release may turn on its own, and enters a plan as its own envelope.

    Examples
    --------
    >>> from tradeoff import Gaussian, Plan
    >>> from tradeoff.mechanisms import Custom
    >>> Plan({Custom(Gaussian(0.5)): 4}).guarantee()
    G_{1}
    """

    kind = "custom"

    one_order: TradeOff
    other_order: TradeOff | None = None
    adjacency: Adjacency | None = None

    def __init__(
        self, curve: TradeOff, other_order: TradeOff | None = None, adjacency: Adjacency | None = None
    ) -> None:
        if adjacency is not None:
            choice("adjacency", adjacency, get_args(Adjacency))
        object.__setattr__(self, "one_order", stated(curve))
        object.__setattr__(self, "other_order", other_order if other_order is None else stated(other_order))
        object.__setattr__(self, "adjacency", adjacency)

    @property
    def order(self) -> Order:
        if self.curve().symmetric:
            return "symmetric"
        return "tied" if self.adjacency == "add-remove" else "free"

    def curve(self) -> TradeOff:
        if self.other_order is None:
            return self.one_order
        return maximum(self.one_order, self.other_order.inverse())

    def parameters(self) -> dict[str, Any]:
        named = {**super().parameters(), "curve": self.one_order}
        return {name: named[name] for name in ("curve", "other_order", "adjacency") if name in named}


def stated(curve: TradeOff) -> TradeOff:
    """Return a curve that has numbers in all its places."""
    operand(curve).require_numbers()
    return curve
