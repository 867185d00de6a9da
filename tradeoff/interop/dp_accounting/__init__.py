"""Read and write events and privacy loss distributions of dp_accounting, also those of jax_privacy.

An *event* of dp_accounting describes a release, or contains other events that are sampled or composed. A
*part* is a release of a plan that one event becomes; the *relation* is that of neighbours, by its name there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from tradeoff import mechanisms
from tradeoff.conversions import from_zcdp
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import count, number
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import MissingExtraError, PlanError, needed, shown
from tradeoff.gdp.reduction import least
from tradeoff.interop.dp_accounting.pld import Orders, from_pld, to_pld
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import log1p, rational, sqrt, total
from tradeoff.mechanisms import Adjacency, ApproximateDP, Mechanism, Plan
from tradeoff.mechanisms.base import ratio
from tradeoff.mechanisms.fields import tuple_of
from tradeoff.mechanisms.noise import MOST_SQUARE
from tradeoff.operators.subsample import subsample

if TYPE_CHECKING:
    from tradeoff.interop.dp_accounting.accountant import Accountant

__all__ = ["Accountant", "Orders", "from_event", "from_pld", "to_event", "to_pld"]

Relation = Literal["ADD_OR_REMOVE_ONE", "REPLACE_ONE", "REPLACE_SPECIAL"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)


class Concentrated(NamedTuple):
    """Renyi bound D_a <= xi + rho a for all orders a > 1; composition adds rho and xi."""

    rho: float
    xi: float


class Reader(NamedTuple):
    """Reader of events for one relation; ``levels`` more of them may be inside each other's samplings.

    A neighbour may move a sum by ``per_record`` sensitivities, which are those of a record added or removed.
    """

    relation: Relation
    adjacency: Adjacency
    per_record: int
    levels: int = 50

    def plan(self, event: Any) -> Plan:
        """Return the plan of an event: rho and xi of its concentrated parts are added."""
        if self.levels == 0:
            raise PlanError("event must nest at most 50 samplings")
        inner_reader = self._replace(levels=self.levels - 1)
        parts: Counter[Mechanism | Concentrated] = Counter()
        pending = [(event, 1)]
        while pending:  # without recursion over compositions, which may be deep
            each, n = pending.pop()
            name = _class_name(each)
            if name == "SelfComposedDpEvent":
                inner, times = _fields(each, "event", "count")
                pending.append((inner, n * count("count", times)))
            elif name == "ComposedDpEvent":
                (members,) = _fields(each, "events")
                members = tuple_of("events", members, lambda _, member: member, "events")
                pending.extend((member, n) for member in reversed(members))
            elif (part := _read(each, name, inner_reader)) is not None and n:
                parts[part] += n
        counts = {part: n for part, n in parts.items() if isinstance(part, Mechanism)}
        sums = [(part, rational(Fraction(n))) for part, n in parts.items() if isinstance(part, Concentrated)]
        if sums:
            rho, xi = (total(n * part[i] for part, n in sums).upper for i in (0, 1))
            counts[mechanisms.Custom(from_zcdp(float(rho), float(xi)))] = 1
        return Plan(counts, self.adjacency)

    def noise(self, name: str, event: Any) -> float:
        """Return the noise multiplier that a Gaussian event states, inside an event called ``name``."""
        match list(self.plan(event).mechanisms.items()):
            case [(mechanisms.Gaussian(noise_multiplier=float(sigma)), 1)]:
                return self.per_record * sigma  # by which it has been divided
        raise PlanError(f"a {name} under {self.relation} must contain one GaussianDpEvent")


Part = Mechanism | Concentrated | None  # an event as a part of a plan; None has no loss
_OPEN = ApproximateDP(0.0, 1.0)  # no privacy at all


def _discrete_laplace(reader: Reader, noise_parameter: Any, sensitivity: Any) -> Part:
    """Read e^(-a |x|); a = 0, which is not a law, has no privacy in dp_accounting."""
    a = number("noise_parameter", noise_parameter, 0, open_high=True)
    shift = count("sensitivity", sensitivity) * reader.per_record
    if not shift:
        return None
    return mechanisms.DiscreteLaplace(float((1 / Bounds.of(a)).lower), shift) if a else _OPEN


def _discrete_gaussian(_reader: Reader, sigma: Any, sensitivity: Any, dimension: Any) -> Part:
    """Read integer shifts: the worst dimension is the squared norm, with a unit in each coordinate."""
    # The sensitivity is that of the function, whatever the relation; of discrete Laplace it is per record.
    sigma = number("sigma", sigma, 0, open_low=True)
    norm = Fraction(number("sensitivity", sensitivity, 0, open_high=True))
    if norm < 1:
        return None
    square = math.floor(norm * norm)
    d = square if dimension is None else count("dimension", dimension, 1)
    if d == 1:
        return mechanisms.DiscreteGaussian(sigma, math.floor(norm))
    if square <= MOST_SQUARE:
        return mechanisms.DiscreteGaussianVector(sigma=sigma, squared_sensitivity=square, dimension=d)
    # Of each coordinate Canonne, Kamath, Steinke 2020, Proposition 5.
    return Concentrated(float(rational(square / (2 * Fraction(sigma) ** 2)).upper), 0.0)


def _randomized_response(reader: Reader, noise_parameter: Any, num_buckets: Any) -> Part:
    """Read: with probability 1 - p the truth, else one of k at random; a special record answers at random."""
    p, k = number("noise_parameter", noise_parameter, 0, 1), count("num_buckets", num_buckets, 1)
    if k == 1 or p == 1:
        return None
    if reader.relation == "REPLACE_SPECIAL":
        missed = Fraction(p) * Fraction(k - 1, k)  # probability of an answer other than the truth
        one_order = PiecewiseLinear([0, Fraction(1, k), 1], [1, missed, 0])
        return mechanisms.Custom(curve=one_order, adjacency="add-remove")
    if p == 0:
        return _OPEN
    # e^epsilon - 1, e^epsilon being the ratio of the probabilities 1 - p + p/k and p/k.
    excess = rational(k * (1 - Fraction(p)) / Fraction(p))
    return mechanisms.RandomizedResponse(float(log1p(excess).upper), k)


def _poisson(reader: Reader, sampling_probability: Any, event: Any) -> Part:
    """Sample once for all that is inside: subsample(f @ g), not subsample(f) @ subsample(g)."""
    p, inner = number("sampling_probability", sampling_probability, 0, 1), reader.plan(event)
    if any(mechanism.sized for mechanism in inner.mechanisms):
        raise PlanError(
            "an event in a PoissonSampledDpEvent must be valid for any number of records, but a batch of "
            "limited size fixes that number"
        )
    # Events in which a special record adds 0 to a sum, as one that is not sampled does.
    sums = "NoOp NonPrivate Gaussian Laplace DiscreteLaplace DiscreteGaussian SingleEpochTreeAggregation "
    sums += "MixtureOfGaussians PoissonSampled RandomAllocation SelfComposed Composed"
    pending = [event] if reader.relation == "REPLACE_SPECIAL" else []
    while pending:
        each = pending.pop()
        if (name := _class_name(each)).removesuffix("DpEvent") not in sums.split():
            raise PlanError(
                f"an event in a PoissonSampledDpEvent must be a sum under REPLACE_SPECIAL, got {name}: "
                "its answers may show that a special record is there"
            )
        pending += [*getattr(each, "events", ()), *([each.event] if hasattr(each, "event") else ())]
    if reader.relation == "REPLACE_ONE":
        sigma = reader.noise("PoissonSampledDpEvent", event)
        return mechanisms.SubsampledGaussian(sigma, p, adjacency="replace-one")
    match list(inner.mechanisms.items()):
        case [(mechanisms.Gaussian(noise_multiplier=float(sigma)), 1)]:
            return mechanisms.SubsampledGaussian(sigma, p)
        case [(mechanisms.Laplace(scale=scale, sensitivity=sensitivity), 1)]:
            return mechanisms.SubsampledLaplace(scale, p, sensitivity)
    return mechanisms.Custom(curve=subsample(inner.curve(), p), adjacency="add-remove")


def _fixed_size(reader: Reader, source_dataset_size: Any, sample_size: Any, event: Any) -> Part:
    """Return C_p(f) of the guarantee f of an event on m of n records (Dong, Roth, Su 2022, Theorem 4.2).

    The record that is replaced is among them with probability p = m/n: C_p(f) is the hull of the least of p f
    + (1 - p) Id and its inverse.
    """
    n = count("source_dataset_size", source_dataset_size, 1)
    p = ratio(count("sample_size", sample_size, 0, n), n)
    curve = subsample(reader.plan(event).guarantee(), p, scheme="without-replacement")
    return mechanisms.Custom(curve=curve, adjacency="replace-one")


def _drawn(reader: Reader, source_dataset_size: Any, sample_size: Any, event: Any) -> Part:
    """Read a Gaussian on a batch drawn with replacement; the rate of the mechanism is draws over records."""
    n, draws = count("source_dataset_size", source_dataset_size, 1), count("sample_size", sample_size, 1)
    sigma = reader.noise("SampledWithReplacementDpEvent", event)
    return mechanisms.SubsampledGaussian(sigma, ratio(draws, n), "with-replacement", batch_size=draws)


def _allocated(reader: Reader, event: Any, num_selected: Any, num_steps: Any) -> Part:
    """Read a Gaussian in steps, of which each record takes part in ``num_selected`` random ones."""
    steps = count("num_steps", num_steps)
    selected = count("num_selected", num_selected, 0, steps)
    if not selected:
        return None
    if reader.plan(event).mechanisms == {_OPEN: 1}:  # no noise, or NonPrivate
        return _OPEN
    sigma = reader.noise("RandomAllocationDpEvent", event)
    return mechanisms.RandomAllocation(sigma, steps, selected)


def _tree(_reader: Reader, noise_multiplier: Any, step_counts: Any) -> Part:
    """Read one Gaussian for the ceil(log2(n + 1)) nodes above a record's leaf in a tree of n."""
    trees = step_counts if np.iterable(step_counts) else [step_counts]
    nodes = max(tuple_of("step_counts", trees, count, "integers"), default=0).bit_length()
    sigma = noise_multiplier / sqrt(nodes)
    return mechanisms.Gaussian(noise_multiplier=float(sigma.lower)) if nodes else None


def _repeated(reader: Reader, event: Any, mean: Any, shape: Any) -> Part:
    """Read runs of bounded loss as pure privacy for any number of runs, others by their divergences."""
    run = reader.plan(event).guarantee()
    epsilon = run.epsilon(0.0)
    if epsilon == math.inf or number("shape", shape, 0) == math.inf:  # which checks the mean
        return mechanisms.BestOfRuns(mechanisms.Custom(run), mean=mean, shape=shape)
    number("mean", mean, 1)
    return mechanisms.RepeatAndSelect(epsilon=max(epsilon, 0.0), shape=shape)


# By the name of an event without "DpEvent": a function of a ``Reader`` and of the fields that its other
# parameters name. Compositions are separate.
RULES: dict[str, Callable[..., Part]] = {
    "NoOp": lambda _: None,
    "NonPrivate": lambda _: _OPEN,
    "Gaussian": lambda reader, noise_multiplier: mechanisms.Gaussian(
        noise_multiplier=float((Bounds.of(noise_multiplier) / reader.per_record).lower)
    ),
    "Laplace": lambda reader, noise_multiplier: mechanisms.Laplace(
        scale=noise_multiplier, sensitivity=float(reader.per_record)
    ),
    "EpsilonDelta": lambda _, epsilon, delta: (
        _OPEN if number("epsilon", epsilon, 0) == math.inf else ApproximateDP(epsilon, delta)
    ),
    "ZC": lambda _, rho, xi: Concentrated(
        number("rho", rho, 0, open_high=True), number("xi", xi, 0, open_high=True)
    ),
    "ExponentialMechanism": lambda _, epsilon: mechanisms.ExponentialMechanism(epsilon),
    "PermuteAndFlip": lambda _, epsilon: mechanisms.PermuteAndFlip(epsilon),
    "MixtureOfGaussians": lambda _, standard_deviation, sensitivities, sampling_probs: (
        mechanisms.MixtureOfGaussians(standard_deviation, sensitivities, sampling_probs)
    ),
    "TruncatedSubsampledGaussian": (
        lambda reader, noise_multiplier, sampling_probability, truncated_batch_size, dataset_size: (
            mechanisms.TruncatedSubsampledGaussian(
                noise_multiplier, sampling_probability, truncated_batch_size, dataset_size, reader.adjacency
            )
        )
    ),
    "DiscreteLaplace": _discrete_laplace,
    "DiscreteGaussian": _discrete_gaussian,
    "RandomizedResponse": _randomized_response,
    "PoissonSampled": _poisson,
    "SampledWithoutReplacement": _fixed_size,
    "SampledWithReplacement": _drawn,
    "RandomAllocation": _allocated,
    "SingleEpochTreeAggregation": _tree,
    "RepeatAndSelect": _repeated,
}

_RELATIONS_OF: dict[str, tuple[Relation, ...]] = {  # of rules that are not for all of them
    "MixtureOfGaussians": ("ADD_OR_REMOVE_ONE", "REPLACE_SPECIAL"),
    "TruncatedSubsampledGaussian": ("ADD_OR_REMOVE_ONE", "REPLACE_ONE"),
    "RandomizedResponse": ("REPLACE_ONE", "REPLACE_SPECIAL"),
    "SampledWithoutReplacement": ("REPLACE_ONE",),
    "SampledWithReplacement": ("REPLACE_ONE",),
    "RandomAllocation": ("ADD_OR_REMOVE_ONE", "REPLACE_SPECIAL"),
    "SingleEpochTreeAggregation": ("REPLACE_SPECIAL",),
}


def from_event(event: Any, neighboring_relation: Any = None) -> Plan:
    """Read the plan of an event of dp_accounting; its ``.guarantee()`` is the curve.

    Parameters
    ----------
    event
        A ``DpEvent``, or the result of its ``to_named_tuple``; compositions may be nested. Or a builder of
        events (its ``build()`` is read), or an accountant (its ``ledger``). dp_accounting need not be
        installed; events of jax_privacy and tensorflow_privacy are the same classes.
    neighboring_relation
        A ``NeighboringRelation`` or its name; default: that of an accountant, or ADD_OR_REMOVE_ONE.
        REPLACE_SPECIAL (a record becomes zero) has the pairs of add/remove for every event that is a sum.
        Under REPLACE_ONE the sensitivity of Gaussian and Laplace events, which is stated per record, counts
        twice: a sum moves by up to :math:`2 C`. ``PlanError`` names a part without a rule for the relation.

    Examples
    --------
    >>> from collections import namedtuple
    >>> Gaussian = namedtuple("GaussianDpEvent", "noise_multiplier")
    >>> Repeated = namedtuple("SelfComposedDpEvent", "event count")
    >>> from_event(Repeated(Gaussian(4.0), 16)).guarantee()
    G_{1}
    >>> from_event(Repeated(Gaussian(4.0), 16), "REPLACE_ONE").guarantee()
    G_{2}
    """
    if neighboring_relation is None:
        neighboring_relation = getattr(event, "neighboring_relation", RELATIONS[0])
    name = getattr(neighboring_relation, "name", neighboring_relation)
    if not isinstance(name, str) or name not in RELATIONS:
        rule = f"neighboring_relation must be one of {', '.join(RELATIONS)}"
        raise PlanError(f"{rule}, got {shown(neighboring_relation)}")
    if hasattr(event, "build"):
        event = event.build()
    reader = Reader(name, "replace-one", 2) if name == "REPLACE_ONE" else Reader(name, "add-remove", 1)
    return reader.plan(getattr(event, "ledger", event))


def _read(event: Any, name: str, reader: Reader) -> Part:
    """Return the part of an event, of the class ``name``, by its rule in ``RULES``."""
    if not name.endswith("DpEvent") or isinstance(event, type):
        way = "use builder.build(), accountant.ledger or from_pld(distribution)"
        raise PlanError(f"event must be a DpEvent, got a {name}; {way}")
    kind = name.removesuffix("DpEvent")
    if kind not in RULES:
        known = ", ".join(f"{each}DpEvent" for each in ("Composed", "SelfComposed", *RULES))
        raise PlanError(f"event must be one of {known}, got {shown(event)}")
    relations = _RELATIONS_OF.get(kind, RELATIONS)
    if reader.relation not in relations:
        rule = f"neighboring_relation must be {' or '.join(relations)} for a {name}"
        raise PlanError(f"{rule}, got {reader.relation}")
    read = RULES[kind]
    names = list(signature(read).parameters)[1:]
    values = dict(zip(names, _fields(event, *names), strict=True))
    for each in values.keys() & {"noise_multiplier", "standard_deviation"}:
        values[each] = number(each, values[each], 0)
        if values[each] == 0:
            return _OPEN
    return read(reader, **values)


def _class_name(event: Any) -> str:
    """Return the name of an event's class, also of its named tuple."""
    return str(getattr(event, "class_name", type(event).__name__))


def _fields(event: Any, *names: str) -> list[Any]:
    """Return the values of fields of an event; ``PlanError`` if one is missing."""
    try:
        return [getattr(event, name) for name in names]
    except AttributeError as error:
        rule = f"a {_class_name(event)} must have the fields {', '.join(names)}"
        raise PlanError(f"{rule}, got {shown(event)}") from error


def to_event(curve: TradeOff, *, failure: float) -> Any:
    r"""Return an event at or below a curve that every accountant can compose: a Gaussian and a failure.

    It is ``GaussianDpEvent(1/mu)``, :math:`\mu =` ``curve.gdp(failure).mu``, with the noise rounded down;
    composed with ``EpsilonDeltaDpEvent(0, failure)`` where failure > 0; or ``NonPrivateDpEvent`` where
    :math:`\mu` is infinite. :math:`f \ge G_\mu \otimes f_{0,\text{failure}}` at every :math:`\alpha`, and
    both factors are symmetric, so the event covers both orders. Read it under ADD_OR_REMOVE_ONE: accountants
    that double Gaussians under REPLACE_ONE only lose. ``MissingExtraError`` if dp_accounting has no
    ``EpsilonDeltaDpEvent``, as 0.6.

    Parameters
    ----------
    curve : a curve of either order
    failure : probability in [0, 1] that the Gaussian leaves out; 0 gives the Gaussian alone

    Examples
    --------
    >>> from tradeoff import Gaussian
    >>> to_event(Gaussian(0.5), failure=0)
    GaussianDpEvent(noise_multiplier=2.0)
    """
    f, left_out = operand(curve), number("failure", failure, 0, 1)
    remedy = "dp_accounting must be installed for its events: pip install dp-accounting"
    events = needed("dp_accounting.dp_event", remedy)
    if left_out and not hasattr(events, "EpsilonDeltaDpEvent"):
        raise MissingExtraError(
            "dp_accounting must have an EpsilonDeltaDpEvent for a failure; use failure=0, or a release of "
            "dp_accounting after 0.6"
        )
    mu = least(f, left_out).mu.upper
    if mu == float("inf"):
        return events.NonPrivateDpEvent()
    gaussian = events.GaussianDpEvent(float((1 / Bounds.of(mu)).lower)) if mu else events.NoOpDpEvent()
    if not left_out:
        return gaussian
    return events.ComposedDpEvent([gaussian, events.EpsilonDeltaDpEvent(0.0, left_out)])


def __getattr__(name: str) -> Any:
    """Import ``Accountant`` when it is first used, as its base class is dp_accounting's."""
    if name != "Accountant":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    remedy = "an Accountant is a dp_accounting.PrivacyAccountant: pip install dp-accounting"
    return needed(f"{__name__}.accountant", remedy).Accountant
