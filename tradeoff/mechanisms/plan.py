"""A plan: which mechanisms run, how often, and for which neighbours; and both as plain data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, get_args

from tradeoff.conversions import from_zcdp
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MAX_COUNT, count
from tradeoff.curves.product import tensor
from tradeoff.display import Displayed, TextTable
from tradeoff.errors import KindError, PlanError, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace
from tradeoff.families.pure_dp import PureDP
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import total, whole
from tradeoff.mechanisms.base import Adjacency, Mechanism, factor_of, missing_attribute
from tradeoff.mechanisms.selection import ExponentialMechanism, ReportNoisyMax, Selection
from tradeoff.operators.order import both_orders
from tradeoff.operators.pointwise import maximum

_LARGEST_RHO = 1e6  # largest rho that is converted: a larger one proves nothing


@dataclass(frozen=True, repr=False)
class Plan(Displayed):
    """Mechanisms with how often each runs: the product of their curves, valid for every pair of neighbours.

    Every run draws its noise, and its sample, independently of all others. A count is a number of runs, not
    of participations of a record: a mechanism of many steps, such as ``TreeAggregation`` or ``BallsInBins``,
    has parameters for those.

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

    Plans are joined by ``@``, which adds their counts.

    Examples
    --------
    >>> from tradeoff.mechanisms import Gaussian, Plan
    >>> half = Plan({Gaussian(noise_multiplier=4): 8})
    >>> (half @ half).guarantee()
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
        given = self.mechanisms.items()
        counts = {_mechanism(key): count(f"the count of {key!r}", n, 0, MAX_COUNT) for key, n in given}
        for mechanism in counts:
            _fits(mechanism, self.adjacency)
        object.__setattr__(self, "mechanisms", MappingProxyType(counts))

    def __hash__(self) -> int:
        return hash((self.adjacency, frozenset(self.mechanisms.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        # The read-only view of the counts cannot be pickled.
        return type(self), (dict(self.mechanisms), self.adjacency)

    def __repr__(self) -> str:
        tail = "" if self.adjacency == "add-remove" else f", adjacency={self.adjacency!r}"
        counts = ",\n      ".join(f"{mechanism!r}: {n}" for mechanism, n in self.mechanisms.items())
        return f"Plan({{{counts}}}{tail})"

    if not TYPE_CHECKING:  # where a checker reads, a plan has what it has

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_attribute(self, name)

    def __matmul__(self, other: Plan) -> Plan:
        """Plan of both, one after the other, for the same neighbours."""
        if not isinstance(other, Plan):
            raise KindError(
                f"{shown(other)} is no Plan: join plans with @, or curves, as .guarantee() returns"
            )
        if self.adjacency != other.adjacency:
            raise PlanError(
                f"a plan for {self.adjacency} and one for {other.adjacency} neighbours are no one plan"
            )
        counts = Counter(self.mechanisms)
        counts.update(other.mechanisms)
        return Plan(dict(counts), self.adjacency)

    def grid(self) -> TextTable:
        rows = [(str(n), repr(mechanism)) for mechanism, n in self.mechanisms.items()]
        return TextTable(rows, ("runs", "mechanism"), f"{self.adjacency} neighbours", sides="><")

    def curve(self) -> TradeOff:
        """Return the composition of all curves for one order of the pair; free mechanisms as their envelope.

        For tied mechanisms it is T(P, Q) with the record absent under P. It is not a guarantee where the two
        orders differ: use ``guarantee()``.
        """
        return tensor((factor_of(mechanism), n) for mechanism, n in self.mechanisms.items() if n)

    @property
    def exact(self) -> bool:
        """Whether the guarantee is the greatest curve below those of all pairs of neighbours."""
        return self.guarantee().exact

    def guarantee(self) -> TradeOff:
        """Return the curve that is valid for every ordered pair of neighbours: the envelope of ``curve()``.

        It is symmetric: ``curve()`` where that is symmetric, else the hull of the minimum of both orders.

        Exponential mechanisms are eps^2/8-zCDP each, whatever was answered before (Cesar, Rogers 2021). If
        there are several, and all else in the plan is zCDP too, the guarantee is the greater of ``curve()``
        and what the sum of rho leaves (``conversions.from_zcdp``).
        """
        product = self.curve().symmetrise(assume="either-order")
        if sum(n for mechanism, n in self.mechanisms.items() if _has_bounded_range(mechanism)) < 2:
            return product
        rho = total(whole(n) * _rho(mechanism) for mechanism, n in self.mechanisms.items() if n).upper
        return maximum(product, from_zcdp(rho)) if rho <= _LARGEST_RHO else product


def _has_bounded_range(mechanism: Mechanism) -> bool:
    return isinstance(mechanism, ExponentialMechanism) or (
        isinstance(mechanism, ReportNoisyMax) and mechanism.noise == "gumbel"
    )


def _rho(mechanism: Mechanism) -> Bounds:
    """Bound the rho of which a mechanism is rho-zCDP; inf where none is known."""
    if isinstance(mechanism, Selection) and _has_bounded_range(mechanism):
        return Bounds.of(mechanism.epsilon) ** 2 / 8
    curve = mechanism.curve()
    if isinstance(curve, Gaussian):
        return Bounds.of(float(curve.mu)) ** 2 / 2
    orders = both_orders(curve)
    if any(f.mass_at_infinity.upper > 0 for f in orders):
        return Bounds.of(math.inf)
    return Bounds.of(max(0.0, *(f.sup_loss for f in orders))) ** 2 / 2


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


def plain(value: Any, fraction: Callable[[Fraction], str] = str) -> Any:
    """Return JSON data: named tuples as tables, and as text what JSON has no number for.

    >>> from tradeoff.mechanisms import TruncatedLaplace
    >>> plain(TruncatedLaplace(Fraction(1, 2), bound=2))
    {'kind': 'truncated-laplace', 'scale': 0.5, 'bound': 2.0, 'sensitivity': 1.0}
    """
    if isinstance(value, Plan):
        counted = [{**plain(each, fraction), "count": n} for each, n in value.mechanisms.items()]
        return {"adjacency": value.adjacency, "mechanism": counted}
    if isinstance(value, Mechanism) and is_dataclass(value):
        return {"kind": value.kind, **plain(value.parameters(), fraction)}
    if isinstance(value, Mechanism):
        return {"curve": repr(value)}  # nobody knows its parameters
    table = value._asdict() if hasattr(value, "_asdict") else value
    if isinstance(table, Mapping):
        return {str(name): plain(each, fraction) for name, each in table.items()}
    if isinstance(value, tuple | list):
        return [plain(each, fraction) for each in value]
    return _entry(value, fraction)


def _entry(value: Any, fraction: Callable[[Fraction], str]) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Fraction):
        return fraction(value)
    return value if isinstance(value, int | str | None) else repr(value)
