"""A plan: which mechanisms run, how often, and for which neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, get_args

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import count
from tradeoff.curves.tensor import tensor
from tradeoff.display import Displayed, Grid
from tradeoff.errors import KindError, PlanError, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace
from tradeoff.families.pure_dp import PureDP
from tradeoff.mechanisms.base import Adjacency, Mechanism


@dataclass(frozen=True, repr=False)
class Plan(Displayed):
    """Mechanisms with how often each runs: the product of their curves, valid for every pair of neighbours.

    Parameters
    ----------
    mechanisms
        How often each mechanism runs, whole numbers from 0. Parameters are fixed in advance; outputs may be
        seen in between.
    adjacency
        ``"add-remove"`` (one record more or less) or ``"replace-one"`` (one record changed).

    Raises
    ------
    KindError
        If a curve stands where a mechanism is wanted.
    DomainError
        If a count is not a whole number from 0.
    PlanError
        If a mechanism is stated for other neighbours than the plan.

    Notes
    -----
    Dong, Roth, Su 2022, Theorem 3.2, in one order of the pair; the envelope of both is taken once, at the
    end.

    Examples
    --------
    >>> from tradeoff.mechanisms import Gaussian, Plan
    >>> Plan({Gaussian(noise_multiplier=4): 16}).guarantee()
    G_{1}
    >>> Plan({}).guarantee()
    Id
    """

    mechanisms: Mapping[Mechanism, int]
    adjacency: Adjacency = "add-remove"

    def __post_init__(self) -> None:
        if not isinstance(self.mechanisms, Mapping):
            raise KindError(
                f"a Plan takes a mapping {{mechanism: count}}, and {shown(self.mechanisms)} is none"
            )
        if not isinstance(self.adjacency, str) or self.adjacency not in get_args(Adjacency):
            raise PlanError(
                f"adjacency = {shown(self.adjacency)} is none of {', '.join(map(repr, get_args(Adjacency)))}"
            )
        counts = {_mechanism(key): count(f"the count of {key!r}", n) for key, n in self.mechanisms.items()}
        for mechanism in counts:
            _fits(mechanism, self.adjacency)
        object.__setattr__(self, "mechanisms", MappingProxyType(counts))

    def __hash__(self) -> int:
        return hash((self.adjacency, frozenset(self.mechanisms.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (
            dict(self.mechanisms),
            self.adjacency,
        )  # the read-only view of the counts cannot be pickled

    def __repr__(self) -> str:
        tail = "" if self.adjacency == "add-remove" else f", adjacency={self.adjacency!r}"
        counts = ",\n      ".join(f"{mechanism!r}: {n}" for mechanism, n in self.mechanisms.items())
        return f"Plan({{{counts}}}{tail})"

    def grid(self) -> Grid:
        rows = [(str(n), repr(mechanism)) for mechanism, n in self.mechanisms.items()]
        return Grid(rows, ("count", "mechanism"), f"{self.adjacency} neighbours", sides="><")

    def curve(self) -> TradeOff:
        """Product of all curves in one order of the pair; what may turn freely enters as its own envelope.

        Returns
        -------
        TradeOff
            T(P, Q) with the record absent under P, for tied mechanisms. It speaks for one order only.
        """
        return tensor((_factor(mechanism), n) for mechanism, n in self.mechanisms.items() if n)

    def guarantee(self) -> TradeOff:
        """Curve valid for every ordered pair of neighbours: the envelope of ``curve()``, taken at the end.

        Returns
        -------
        TradeOff
            A symmetric curve: ``curve()`` where it is symmetric, else the hull of the minimum of both orders.
        """
        curve = self.curve()
        return curve if curve.symmetric else curve.symmetrise(assume="either-order")


def _factor(mechanism: Mechanism) -> TradeOff:
    curve = mechanism.curve()
    return (
        curve.symmetrise(assume="either-order")
        if mechanism.order == "free" and not curve.symmetric
        else curve
    )


def _mechanism(key: Any) -> Mechanism:
    if isinstance(key, Mechanism):
        return key
    if isinstance(key, TradeOff):
        raise KindError(
            f"{key!r} is a curve, and a Plan holds mechanisms: {_written(key)}, "
            "or compose curves with @ and **"
        )
    raise KindError(f"{shown(key)} is no mechanism: a Plan holds those of tradeoff.mechanisms")


def _written(curve: TradeOff) -> str:
    """Say which mechanism has this curve."""
    match curve:
        case Gaussian(mu=mu) if not curve.free_symbols and mu:
            return f"write tradeoff.mechanisms.Gaussian(noise_multiplier={1 / mu:g})"
        case Laplace(epsilon_0=epsilon) if not curve.free_symbols and epsilon:
            return f"write tradeoff.mechanisms.Laplace(scale={1 / epsilon:g})"
        case PureDP(epsilon_0=epsilon) if not curve.free_symbols:
            return f"write tradeoff.mechanisms.PureDP(epsilon={epsilon:g})"
    return "write one of tradeoff.mechanisms"


def _fits(mechanism: Mechanism, adjacency: Adjacency) -> None:
    if mechanism.adjacency in (None, adjacency):
        return
    raise PlanError(
        f"{mechanism!r} is stated for {mechanism.adjacency} neighbours, and the plan for {adjacency}: "
        f"set the plan's adjacency to {mechanism.adjacency!r}, or state the mechanism for the plan's"
    )
