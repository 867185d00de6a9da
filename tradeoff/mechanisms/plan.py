"""A plan: which mechanisms run, how often, and for which neighbours; and mechanisms as plain data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from tradeoff.conversions import from_zcdp
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MAX_COUNT, count, number
from tradeoff.curves.product import tensor
from tradeoff.display import Displayed, TextTable
from tradeoff.errors import DomainError, KindError, PlanError, shown
from tradeoff.families.approximate_dp import PureDP
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import rational, total
from tradeoff.mechanisms.base import Adjacency, Mechanism, ratio, refuse_attribute
from tradeoff.mechanisms.fields import suggest_names
from tradeoff.mechanisms.selection import ExponentialMechanism, ReportNoisyMax
from tradeoff.mechanisms.subsampled import SubsampledGaussian
from tradeoff.operators.pointwise import maximum
from tradeoff.operators.tabulate import both_orders


@dataclass(frozen=True, repr=False)
class Plan(Displayed):
    """Mechanisms with how often each runs: the product of their curves, valid for every pair of neighbours.

    Every run draws its noise, and its sample, independently of all others. A count is a number of runs, not
    of participations of a record: a mechanism of many steps, such as ``TreeAggregation`` or ``BallsInBins``,
    has parameters for those.

    Parameters
    ----------
    mechanisms
        Number of runs of each mechanism, an integer from 0 to :math:`10^{12}`. Parameters are fixed in
        advance; outputs may be seen in between.
    adjacency
        ``"add-remove"`` (one record more or less) or ``"replace-one"`` (one record changed). ``PlanError`` if
        a mechanism is stated for other neighbours.

    Notes
    -----
    Dong, Roth, Su 2022, Theorem 3.2, in one order of the pair; the envelope of both is taken once, at the
    end. Plans are joined by ``@``, which adds their counts.

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
            rule = f"mechanisms must be a mapping {{mechanism: count}}, got {shown(self.mechanisms)}"
            raise KindError(f"{rule}; collections.Counter makes one of a list, and counts equal mechanisms")
        if not isinstance(self.adjacency, str) or self.adjacency not in get_args(Adjacency):
            words = ", ".join(map(repr, get_args(Adjacency)))
            raise PlanError(f"adjacency must be one of {words}, got {shown(self.adjacency)}")
        counts: dict[Mechanism, int] = {}
        for each, n in self.mechanisms.items():
            if not isinstance(each, Mechanism):
                raise KindError(f"each key of a Plan must be one of tradeoff.mechanisms, got {_advice(each)}")
            counts[each] = count(f"the count of {each!r}", n, 0, MAX_COUNT)
            if each.adjacency not in (None, self.adjacency):
                raise PlanError(
                    f"{each!r} is stated for {each.adjacency} neighbours, and the plan for {self.adjacency}: "
                    f"set the plan's adjacency to {each.adjacency!r}, or state the mechanism for the plan's"
                )
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

    if not TYPE_CHECKING:  # type checkers report missing attributes themselves
        __getattr__ = refuse_attribute

    def __matmul__(self, other: Plan) -> Plan:
        """Plan of both, one after the other, for the same neighbours."""
        if not isinstance(other, Plan):
            raise KindError(f"the operand of @ must be a Plan, got {shown(other)}; or join .guarantee()s")
        if self.adjacency != other.adjacency:
            raise PlanError(
                f"joined plans must have one adjacency, got {self.adjacency!r} and {other.adjacency!r}"
            )
        counts = Counter(self.mechanisms)
        counts.update(other.mechanisms)
        return Plan(dict(counts), self.adjacency)

    def grid(self) -> TextTable:
        rows = [(str(n), repr(mechanism)) for mechanism, n in self.mechanisms.items()]
        return TextTable(rows, ("runs", "mechanism"), f"{self.adjacency} neighbours", sides="><")

    def curve(self) -> TradeOff:
        """Return the composition of all curves for one order of the pair.

        Under "add-remove" it is :math:`T(P, Q)` with the record absent under :math:`P`. A mechanism whose
        worse order may differ from that of others, ``order = "free"``, enters as its envelope. It is not a
        guarantee where the two orders differ: use ``guarantee()``.

        >>> from tradeoff.mechanisms import SubsampledGaussian
        >>> Plan({SubsampledGaussian(noise_multiplier=1, sample_rate=0.01): 100}).curve()
        subsample(G_{1}, 0.01)^100 (one order)
        """
        runs = ((each.curve(), each.order, n) for each, n in self.mechanisms.items() if n)
        return tensor(
            (f.symmetrise(assume="either-order") if order == "free" else f, n) for f, order, n in runs
        )

    @property
    def exact(self) -> bool:
        """Whether the guarantee is the greatest curve below those of all pairs of neighbours.

        >>> from tradeoff.mechanisms import Laplace
        >>> Plan({Laplace(scale=10): 50}).exact
        True
        """
        return self.guarantee().exact

    def guarantee(self) -> TradeOff:
        r"""Return the curve that is valid for every ordered pair of neighbours: the envelope of ``curve()``.

        It is symmetric: ``curve()`` where that is symmetric, else the hull of the minimum of both orders.

        Exponential mechanisms are :math:`\varepsilon^2/8`-zCDP each, whatever was answered before (Cesar,
        Rogers 2021). If there are several, and everything else in the plan is zCDP too, the guarantee is the
        greater of ``curve()`` and the curve of the sum of :math:`\rho` (``conversions.from_zcdp``).

        >>> from tradeoff.mechanisms import SubsampledGaussian
        >>> f = Plan({SubsampledGaussian(noise_multiplier=1, sample_rate=0.01): 100}).guarantee()
        >>> round(f.epsilon(1e-5), 6)
        0.718036
        """
        product = self.curve().symmetrise(assume="either-order")
        choice_rhos: dict[Mechanism, Bounds] = {
            each: Bounds.of(each.epsilon) ** 2 / 8
            for each in self.mechanisms
            if isinstance(each, ExponentialMechanism | ReportNoisyMax)
            and getattr(each, "noise", "gumbel") == "gumbel"
        }
        if sum(self.mechanisms[each] for each in choice_rhos) < 2:
            return product
        rhos = []
        for each, n in self.mechanisms.items():
            orders = both_orders(each.curve())
            unbounded = any(f.mass_at_infinity.upper > 0 for f in orders)
            # mu-GDP is mu^2/2-zCDP, and epsilon-DP epsilon^2/2-zCDP.
            size = math.inf if unbounded else max(0.0, *(f.sup_loss for f in orders))
            size = float(orders[0].mu) if isinstance(orders[0], Gaussian) else size
            rhos += [rational(n) * choice_rhos.get(each, Bounds.of(size) ** 2 / 2)] if n else []
        rho = total(rhos).upper
        return maximum(product, from_zcdp(rho)) if rho <= 1e6 else product  # a larger rho has no useful bound


def _advice(key: Any) -> str:
    """Show a key that is not a mechanism; a curve with the mechanism that is meant."""
    replacement = "one of tradeoff.mechanisms"
    match key:
        case Gaussian(mu=mu) if not key.free_symbols and mu:
            replacement = f"tradeoff.mechanisms.Gaussian(noise_multiplier={1 / mu:g})"
        case Laplace(epsilon_0=epsilon) if not key.free_symbols and epsilon:
            replacement = f"tradeoff.mechanisms.Laplace(scale={1 / epsilon:g})"
        case PureDP(epsilon_0=epsilon) if not key.free_symbols:
            replacement = f"tradeoff.mechanisms.PureDP(epsilon={epsilon:g})"
    advice = f"; write {replacement}, or compose curves with @ and **" if isinstance(key, TradeOff) else ""
    return f"{shown(key)}{advice}"


def plain(value: Any) -> Any:
    """Return JSON data: named tuples as tables, and numbers that JSON lacks as text."""
    match value._asdict() if hasattr(value, "_asdict") else value:
        case Plan(mechanisms=counts, adjacency=adjacency):
            runs = [{**plain(each), "count": n} for each, n in counts.items()]
            return {"adjacency": adjacency, "mechanism": runs}
        case Mechanism():
            known = is_dataclass(value)  # a user's own class need not be
            return plain({"kind": value.kind, **value.parameters()}) if known else {"curve": repr(value)}
        case Mapping() as table:
            return {str(name): plain(each) for name, each in table.items()}
        case tuple() | list():
            return [plain(each) for each in value]
        case int() | str() | None:
            return value
    return value if isinstance(value, float) and math.isfinite(value) else str(value)


@suggest_names
def dp_sgd(
    noise_multiplier: float,
    *,
    batch_size: int | None = None,
    dataset_size: int | None = None,
    epochs: float | None = None,
    sample_rate: float | None = None,
    steps: int | None = None,
) -> Plan:
    """Return the plan of a DP-SGD training run with Poisson batches, for add/remove neighbours.

    Parameters
    ----------
    noise_multiplier : standard deviation of the noise divided by the clipping norm
    batch_size, dataset_size
        Expected number of records in a batch, and number of records. The sampling rate is their quotient,
        rounded up to a float.
    sample_rate : probability with which each record is in a batch, instead of both sizes
    epochs : number of passes: epochs / sampling rate steps, rounded up
    steps : number of steps, instead of ``epochs``

    Returns
    -------
    Plan
        ``.guarantee()`` is the curve of the whole training, valid for both orders of the neighbours.

    Examples
    --------
    >>> import tradeoff as to
    >>> plan = to.dp_sgd(noise_multiplier=1.1, batch_size=256, dataset_size=60_000, epochs=60)
    >>> round(plan.guarantee().epsilon(1e-5), 3)
    2.382
    >>> plan == to.dp_sgd(1.1, sample_rate=256 / 60_000, steps=14_063)
    True
    """
    sizes = {"batch_size": batch_size, "dataset_size": dataset_size, "sample_rate": sample_rate}
    given = [name for name, value in sizes.items() if value is not None]
    if given not in (["batch_size", "dataset_size"], ["sample_rate"]):
        allowed, got = "either batch_size and dataset_size, or sample_rate", " and ".join(given)
        raise DomainError(f"the rate must be given by {allowed}, got {got or 'none of them'}")
    if (epochs is None) is (steps is None):
        got = "neither" if steps is None else "both"
        raise DomainError(f"the length must be given by either epochs or steps, got {got}")
    if batch_size is not None and dataset_size is not None:
        records = count("dataset_size", dataset_size, 1)
        exact = Fraction(count("batch_size", batch_size, 1, records), records)
        rate = ratio(exact.numerator, exact.denominator)
    else:
        rate = number("sample_rate", sample_rate, 0, 1, open_low=True)
        exact = Fraction(rate)
    if epochs is not None:
        steps = math.ceil(Fraction(number("epochs", epochs, 0, open_low=True, open_high=True)) / exact)
    step = SubsampledGaussian(noise_multiplier=noise_multiplier, sample_rate=rate)
    return Plan({step: count("steps", steps)})
