"""Read and write events and privacy loss distributions of dp_accounting, also those of jax_privacy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from inspect import signature
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from tradeoff import mechanisms
from tradeoff.balls import log_quotient, to_ball, to_balls, to_bounds, upper_float
from tradeoff.conversions import from_zcdp
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import count, number
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError, MissingExtraError, PlanError, domain, needed, shown
from tradeoff.gdp.reduction import least
from tradeoff.intervals.bounds import Bounds, make_bounds
from tradeoff.intervals.functions import clip, exp, expm1, log1p, rational, sqrt, total
from tradeoff.intervals.functions import maximum as maximum_of
from tradeoff.intervals.polygon import ONE, Line, Point, corners, hull, round_points, whole
from tradeoff.intervals.rounding import Array
from tradeoff.mechanisms import Adjacency, ApproximateDP, Mechanism, Plan
from tradeoff.mechanisms.base import ratio
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
    """The neighbouring relation, and the levels of sampling that are left."""

    relation: Relation
    levels: int

    @property
    def per_record(self) -> int:
        """Sensitivity of a sum over the norm of one record."""
        return 2 if self.relation == "REPLACE_ONE" else 1

    @property
    def adjacency(self) -> Adjacency:
        """Neighbours of the plan."""
        return "replace-one" if self.relation == "REPLACE_ONE" else "add-remove"

    def plan(self, event: Any) -> Plan:
        """Return the plan of an event: rho and xi of its concentrated parts are added."""
        if self.levels == 0:
            raise PlanError("event must nest at most 50 samplings")
        parts = _parts(event, self._replace(levels=self.levels - 1))
        plain = {part: n for part, n in parts.items() if isinstance(part, Mechanism)}
        sums = [(part, rational(Fraction(n))) for part, n in parts.items() if isinstance(part, Concentrated)]
        if sums:
            rho, xi = (total(n * part[i] for part, n in sums).upper for i in (0, 1))
            plain[mechanisms.Custom(from_zcdp(float(rho), float(xi)))] = 1
        return Plan(plain, self.adjacency)

    def noise(self, name: str, event: Any) -> float:
        """Return the noise multiplier per record of one Gaussian."""
        match list(self.plan(event).mechanisms.items()):
            case [(mechanisms.Gaussian(noise_multiplier=float(sigma)), 1)]:
                return self.per_record * sigma
        raise PlanError(f"a {name} under {self.relation} must contain one GaussianDpEvent")


Part = Mechanism | Concentrated | None  # an event as a part of a plan; None has no loss
Parts = Counter[Mechanism | Concentrated]
_OPEN = ApproximateDP(0.0, 1.0)  # no privacy at all


class Rule(NamedTuple):
    """Reader of an event, whose parameters name the fields that it needs, and its relations."""

    read: Callable[..., Part]
    relations: tuple[Relation, ...] = RELATIONS


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
    most = Fraction(number("sensitivity", sensitivity, 0, open_high=True))
    if most < 1:
        return None
    square = math.floor(most * most)
    d = square if dimension is None else count("dimension", dimension, 1)
    if d == 1:
        return mechanisms.DiscreteGaussian(sigma, math.floor(most))
    if square <= MOST_SQUARE:
        return mechanisms.DiscreteGaussianVector(sigma=sigma, squared_sensitivity=square, dimension=d)
    # Of each coordinate Canonne, Kamath, Steinke 2020, Proposition 5.
    return Concentrated(float(rational(square / (2 * Fraction(sigma) ** 2)).upper), 0.0)


def _randomized_response(reader: Reader, noise_parameter: Any, num_buckets: Any) -> Part:
    """With probability 1 - p the truth, else one of k at random; a special record answers at random."""
    p, k = number("noise_parameter", noise_parameter, 0, 1), count("num_buckets", num_buckets, 1)
    if k == 1 or p == 1:
        return None
    if reader.relation == "REPLACE_SPECIAL":
        kept = Fraction(p) * Fraction(k - 1, k)  # that the answer is another than the truth
        one_order = PiecewiseLinear([0, Fraction(1, k), 1], [1, kept, 0])
        return mechanisms.Custom(curve=one_order, adjacency="add-remove")
    if p == 0:
        return _OPEN
    odds = rational(k * (1 - Fraction(p)) / Fraction(p))
    return mechanisms.RandomizedResponse(float(log1p(odds).upper), k)


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
        if (name := _kind(each)) not in {f"{each}DpEvent" for each in sums.split()}:
            raise PlanError(
                f"an event in a PoissonSampledDpEvent must be a sum under REPLACE_SPECIAL, got {name}: "
                "its answers may show that a special record is there"
            )
        pending += [*getattr(each, "events", ()), *([each.event] if hasattr(each, "event") else ())]
    if reader.relation == "REPLACE_ONE":
        sigma = reader.noise("PoissonSampledDpEvent", event)
        return mechanisms.SubsampledGaussian(noise_multiplier=sigma, sample_rate=p, adjacency="replace-one")
    match list(inner.mechanisms.items()):
        case [(mechanisms.Gaussian(noise_multiplier=float(sigma)), 1)]:
            return mechanisms.SubsampledGaussian(sigma, p)
        case [(mechanisms.Laplace(scale=scale, sensitivity=sensitivity), 1)]:
            return mechanisms.SubsampledLaplace(scale, p, sensitivity)
    return mechanisms.Custom(curve=subsample(inner.curve(), p), adjacency="add-remove")


def _fixed_size(reader: Reader, source_dataset_size: Any, sample_size: Any, event: Any) -> Part:
    """Return C_p(f) for p = m/n and the guarantee f of the inner event (Dong, Roth, Su 2022, Theorem 4.2)."""
    n = count("source_dataset_size", source_dataset_size, 1)
    p = ratio(count("sample_size", sample_size, 0, n), n)
    curve = subsample(reader.plan(event).guarantee(), p, scheme="without-replacement")
    return mechanisms.Custom(curve=curve, adjacency="replace-one")


def _drawn(reader: Reader, source_dataset_size: Any, sample_size: Any, event: Any) -> Part:
    n, draws = count("source_dataset_size", source_dataset_size, 1), count("sample_size", sample_size, 1)
    sigma = reader.noise("SampledWithReplacementDpEvent", event)
    return mechanisms.SubsampledGaussian(
        noise_multiplier=sigma, sample_rate=ratio(draws, n), scheme="with-replacement", batch_size=draws
    )


def _allocated(reader: Reader, event: Any, num_selected: Any, num_steps: Any) -> Part:
    steps = count("num_steps", num_steps)
    selected = count("num_selected", num_selected, 0, steps)
    if not selected:
        return None
    if reader.plan(event).mechanisms == {_OPEN: 1}:  # a Gaussian without noise
        return _OPEN
    sigma = reader.noise("RandomAllocationDpEvent", event)
    return mechanisms.RandomAllocation(sigma, steps, selected)


def _tree(_reader: Reader, noise_multiplier: Any, step_counts: Any) -> Part:
    """Read one Gaussian for the ceil(log2(n + 1)) nodes above a record's leaf in a tree of n."""
    every = _list("step_counts", step_counts) if np.iterable(step_counts) else [step_counts]
    depth = max((count("step_counts", n) for n in every), default=0).bit_length()
    sigma = noise_multiplier / sqrt(depth)
    return mechanisms.Gaussian(noise_multiplier=float(sigma.lower)) if depth else None


def _repeated(reader: Reader, event: Any, mean: Any, shape: Any) -> Part:
    """Read runs of bounded loss as pure privacy for any number of runs, others by their divergences."""
    run = reader.plan(event).guarantee()
    epsilon = run.epsilon(0.0)
    if epsilon == math.inf or number("shape", shape, 0) == math.inf:  # which checks the mean
        return mechanisms.BestOfRuns(mechanisms.Custom(run), mean=mean, shape=shape)
    number("mean", mean, 1)
    return mechanisms.RepeatAndSelect(epsilon=max(epsilon, 0.0), shape=shape)


RULES = {  # by the name of an event; compositions are separate
    "NoOpDpEvent": Rule(lambda _: None),
    "NonPrivateDpEvent": Rule(lambda _: _OPEN),
    "GaussianDpEvent": Rule(
        lambda reader, noise_multiplier: mechanisms.Gaussian(
            noise_multiplier=float((Bounds.of(noise_multiplier) / reader.per_record).lower)
        )
    ),
    "LaplaceDpEvent": Rule(
        lambda reader, noise_multiplier: mechanisms.Laplace(
            scale=noise_multiplier, sensitivity=float(reader.per_record)
        )
    ),
    "EpsilonDeltaDpEvent": Rule(
        lambda _, epsilon, delta: (
            _OPEN if number("epsilon", epsilon, 0) == math.inf else ApproximateDP(epsilon, delta)
        )
    ),
    "ZCDpEvent": Rule(
        lambda _, rho, xi: Concentrated(
            number("rho", rho, 0, open_high=True), number("xi", xi, 0, open_high=True)
        )
    ),
    "ExponentialMechanismDpEvent": Rule(lambda _, epsilon: mechanisms.ExponentialMechanism(epsilon)),
    "PermuteAndFlipDpEvent": Rule(lambda _, epsilon: mechanisms.PermuteAndFlip(epsilon)),
    "MixtureOfGaussiansDpEvent": Rule(
        lambda _, standard_deviation, sensitivities, sampling_probs: mechanisms.MixtureOfGaussians(
            standard_deviation,
            tuple(_list("sensitivities", sensitivities)),
            tuple(_list("sampling_probs", sampling_probs)),
        ),
        ("ADD_OR_REMOVE_ONE", "REPLACE_SPECIAL"),
    ),
    "TruncatedSubsampledGaussianDpEvent": Rule(
        lambda reader, noise_multiplier, sampling_probability, truncated_batch_size, dataset_size: (
            mechanisms.TruncatedSubsampledGaussian(
                noise_multiplier, sampling_probability, truncated_batch_size, dataset_size, reader.adjacency
            )
        ),
        ("ADD_OR_REMOVE_ONE", "REPLACE_ONE"),
    ),
    "DiscreteLaplaceDpEvent": Rule(_discrete_laplace),
    "DiscreteGaussianDpEvent": Rule(_discrete_gaussian),
    "RandomizedResponseDpEvent": Rule(_randomized_response, ("REPLACE_ONE", "REPLACE_SPECIAL")),
    "PoissonSampledDpEvent": Rule(_poisson),
    "SampledWithoutReplacementDpEvent": Rule(_fixed_size, ("REPLACE_ONE",)),
    "SampledWithReplacementDpEvent": Rule(_drawn, ("REPLACE_ONE",)),
    "RandomAllocationDpEvent": Rule(_allocated, ("ADD_OR_REMOVE_ONE", "REPLACE_SPECIAL")),
    "SingleEpochTreeAggregationDpEvent": Rule(_tree, ("REPLACE_SPECIAL",)),
    "RepeatAndSelectDpEvent": Rule(_repeated),
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
        twice: a sum moves by up to :math:`2 C`.

    Raises
    ------
    PlanError
        If a part cannot be accounted for, or not under this relation; the message names it.

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
        neighboring_relation = getattr(event, "neighboring_relation", None)
    name = "ADD_OR_REMOVE_ONE" if neighboring_relation is None else neighboring_relation
    name = getattr(name, "name", name)
    if not isinstance(name, str) or name not in RELATIONS:
        raise PlanError(
            f"neighboring_relation must be one of {', '.join(RELATIONS)}, got {shown(neighboring_relation)}"
        )
    if hasattr(event, "build"):
        event = event.build()
    return Reader(name, 50).plan(getattr(event, "ledger", event))


def _parts(event: Any, reader: Reader) -> Parts:
    """Count the parts of an event, without recursion over compositions, which may be deep."""
    result: Parts = Counter()
    pending = [(event, 1)]
    while pending:
        each, n = pending.pop()
        name = _kind(each)
        if name == "SelfComposedDpEvent":
            inner, times = _fields(each, "event", "count")
            pending.append((inner, n * count("count", times)))
        elif name == "ComposedDpEvent":
            (parts,) = _fields(each, "events")
            pending.extend((part, n) for part in reversed(_list("events", parts)))
        elif (part := _read(each, name, reader)) is not None and n:
            result[part] += n
    return result


def _read(event: Any, name: str, reader: Reader) -> Part:
    if not name.endswith("DpEvent") or isinstance(event, type):
        way = "use builder.build(), accountant.ledger or from_pld(distribution)"
        raise PlanError(f"event must be a DpEvent, got a {name}; {way}")
    if name not in RULES:
        known = f"ComposedDpEvent, SelfComposedDpEvent, {', '.join(RULES)}"
        raise PlanError(f"event must be one of {known}, got {shown(event)}")
    read, relations = RULES[name]
    if reader.relation not in relations:
        raise PlanError(
            f"neighboring_relation must be {' or '.join(relations)} for a {name}, got {reader.relation}"
        )
    names = list(signature(read).parameters)[1:]
    values = dict(zip(names, _fields(event, *names), strict=True))
    for each in values.keys() & {"noise_multiplier", "standard_deviation"}:
        values[each] = number(each, values[each], 0)
        if values[each] == 0:
            return _OPEN
    return read(reader, **values)


def _kind(event: Any) -> str:
    """Return the name of an event's class, also of its named tuple."""
    name = getattr(event, "class_name", type(event).__name__)
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


def _list(name: str, values: Any) -> list[Any]:
    """Return the entries of a field that is a list."""
    if isinstance(values, str | bytes | Mapping) or not np.iterable(values):
        raise PlanError(f"{name} must be a list, got {shown(values)}")
    return list(values)


def _fields(event: Any, *names: str) -> list[Any]:
    try:
        return [getattr(event, name) for name in names]
    except AttributeError as error:
        fields = ", ".join(names)
        raise PlanError(f"a {_kind(event)} must have the fields {fields}, got {shown(event)}") from error


def to_event(curve: TradeOff, *, failure: float) -> Any:
    r"""Return an event at or below a curve that every accountant can compose: a Gaussian and a failure.

    Parameters
    ----------
    curve
        A curve of either order.
    failure
        Probability in [0, 1] that the Gaussian leaves out; 0 gives the Gaussian alone.

    Returns
    -------
    DpEvent
        ``GaussianDpEvent(1/mu)``, :math:`\mu =` ``curve.gdp(failure).mu``, with the noise rounded down;
        composed with ``EpsilonDeltaDpEvent(0, failure)`` where failure > 0. ``NonPrivateDpEvent`` where
        :math:`\mu` is infinite. Read it under ADD_OR_REMOVE_ONE: accountants that double Gaussians under
        REPLACE_ONE only lose. ``MissingExtraError`` if dp_accounting has no ``EpsilonDeltaDpEvent``, as 0.6.

    Notes
    -----
    :math:`f \ge G_\mu \otimes f_{0,\text{failure}}` at every :math:`\alpha`; both factors are symmetric, so
    the event covers both orders.

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
            "dp_accounting must have an EpsilonDeltaDpEvent for a failure; use failure=0, or one above 0.6"
        )
    mu = least(f, left_out).mu.upper
    if mu == float("inf"):
        return events.NonPrivateDpEvent()
    gaussian = events.GaussianDpEvent(float((1 / Bounds.of(mu)).lower)) if mu else events.NoOpDpEvent()
    if not left_out:
        return gaussian
    return events.ComposedDpEvent([gaussian, events.EpsilonDeltaDpEvent(0.0, left_out)])


class Orders(NamedTuple):
    """The two orders of a privacy loss distribution, each read separately.

    A pessimistic distribution is discretised in each order, so that the curve of one is not quite the
    inverse of the other's, and both are at or below the truth.

    Parameters
    ----------
    remove
        :math:`T(P, Q)` with the record absent under :math:`P`, at or below the truth.
    add
        The same with the record present under :math:`P`.

    Examples
    --------
    >>> Orders(PiecewiseLinear([0, 1], [0.5, 0]), PiecewiseLinear([0, 1], [1, 0])).guarantee().delta(
    ...     0.0
    ... ) < 1e-15
    True
    """

    remove: PiecewiseLinear
    add: PiecewiseLinear

    def curve(self) -> PiecewiseLinear:
        """Return the curve of the order "remove" from both: max of ``remove`` and ``~add``, rounded down."""
        lines = [*_edges(self.remove), *((b, a, c) for a, b, c in _edges(self.add))]
        return _through(corners(lines, up=False))

    def guarantee(self) -> PiecewiseLinear:
        """Return the curve for every ordered pair: the either-order envelope of ``curve()``."""
        points = _points(self.curve())
        return _through([*points, *((y, x) for x, y in points)])


def _through(points: Iterable[Point]) -> PiecewiseLinear:
    return limited(PiecewiseLinear.of_wholes(*zip(*hull(points), strict=True)), BOUND)


def _points(f: PiecewiseLinear) -> list[Point]:
    return [(int(alpha * ONE), int(beta * ONE)) for alpha, beta in f.vertices]


def _edges(f: PiecewiseLinear) -> list[Line]:
    """Return the half-planes above the segments of a polygon, whose intersection it bounds."""
    steps = [(y - v, u - x, x, y) for (x, y), (u, v) in pairwise(_points(f))]
    return [(fall * ONE, run * ONE, fall * x + run * y) for fall, run, x, y in steps]


def from_pld(pld: Any) -> Orders:
    r"""Read a ``PrivacyLossDistribution`` of dp_accounting, as exactly as floats hold it.

    Each order has a profile at or above that of its probability mass function at every
    :math:`\varepsilon \ge 0`: the masses are unchanged, :math:`e^{-\text{loss}}` is rounded down, and the
    mass missing to 1 is one more atom. If masses add to more than 1, the last ones are cut, which matters
    only at the most negative epsilons. ``.curve()`` joins both orders, ``.guarantee()`` is valid for every
    pair.

    Parameters
    ----------
    pld
        A pessimistic distribution; an optimistic one is refused, as it is not a bound.

    Examples
    --------
    >>> from dp_accounting.pld import privacy_loss_distribution as pld
    >>> round(from_pld(pld.from_laplace_mechanism(1.0)).guarantee().epsilon(0.1), 2)
    0.79
    """
    try:
        state = getattr(pld, "__dict__", {})
        remove, add = state["_pmf_remove"], state["_pmf_add"]
        return Orders(_curve(remove), _curve(add))
    except KeyError as error:
        known = "a PrivacyLossDistribution of dp_accounting 0.4 to 0.6"
        remedy = f"it has no {error}; read events, builders and accountants with from_event"
        raise domain("pld", pld, known, remedy) from error


def _curve(pmf: Any) -> PiecewiseLinear:
    """Return the curve of Q-masses q at losses l and P-masses q e^-l: vertices from the largest loss on."""
    state = vars(pmf)
    if not state["_pessimistic_estimate"]:
        raise DomainError("pld must be a pessimistic estimate, got an optimistic one, below the truth")
    if "_loss_probs" in state:
        sparse = state["_loss_probs"]
        places, masses = (np.array(list(side), dtype=float) for side in (sparse.keys(), sparse.values()))
    else:
        masses = np.asarray(state["_probs"], dtype=float)
        places = state["_lower_loss"] + np.arange(len(masses), dtype=float)
    if not (np.isfinite(masses).all() and 0 <= state["_infinity_mass"] <= 1):
        raise DomainError("masses of pld must be probabilities; compose it anew")
    order = np.argsort(-places)
    order = order[masses[order] > 0]  # convolutions may leave negative ones
    q = masses[order]
    p = (q * exp(-(places[order] * Bounds.of(float(state["_discretization"]))))).lower
    alpha, beta = 0, ONE - whole(float(state["_infinity_mass"]))
    points = [(alpha, max(beta, 0))]
    for each_p, each_q in zip(np.minimum(p, 2.0).tolist(), q.tolist(), strict=True):
        run, fall = whole(each_p), whole(each_q)
        if fall > beta:  # more than 1 in all: the segment ends where it crosses 0
            run, fall = run * max(beta, 0) // fall, max(beta, 0)
        if alpha + run > ONE or fall == 0:
            break
        alpha, beta = alpha + run, beta - fall
        points.append((alpha, beta))
    convex = hull([*points, (0, ONE), (ONE, 0)])
    return _through(round_points(convex, up=False))


def to_pld(curve: TradeOff, discretization: float = 1e-3) -> Any:
    """Write a ``PrivacyLossDistribution`` of dp_accounting with a profile at or above the curve's.

    It is pessimistic, with one mass function for each order, or one for both if the curve is symmetric.

    Parameters
    ----------
    curve
        :math:`T(P, Q)` with the record absent under :math:`P`; for a plan ``plan.curve()``. Its inverse is
        written as "add".
    discretization
        Step of the grid of losses, in nats; ``DomainError`` if it is too fine for the losses of the curve.

    Notes
    -----
    ``curve.lower`` is a pair with finitely many losses. Each atom :math:`(p, q)` between two points of the
    grid is split into one at either point that keeps both masses: its :math:`q - s p` at every :math:`s` on
    the grid stays, and between them becomes the chord, above the convex truth; this is connect-the-dots of
    Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022, Algorithm 1, without differences of the profile. Masses
    are rounded up, and may add to :math:`1 + 10^{-12}`. Compose here before exporting: dp_accounting adds its
    own rounding errors.

    Examples
    --------
    >>> from tradeoff import PureDP
    >>> bool(to_pld(PureDP(1.0)).get_delta_for_epsilon(0.5) >= PureDP(1.0).delta(0.5))
    True
    """
    f, step = operand(curve), number("discretization", discretization, 0, 100, open_low=True)
    remedy = "dp_accounting must be installed for its distributions: pip install dp-accounting"
    names = ("pld_pmf", "privacy_loss_distribution")
    pmf, pld = (needed(f"dp_accounting.pld.{name}", remedy) for name in names)
    result = [_masses(g.lower, step) for g in ([f] if f.symmetric else [f, f.inverse()])]
    return pld.PrivacyLossDistribution(*(pmf.create_pmf(masses, step, lost, True) for masses, lost in result))


def _masses(g: PiecewiseLinear, step: float) -> tuple[dict[int, float], float]:
    """Return Q-masses by place on the grid, and that at infinity, all rounded up."""
    most, far_loss = 2**22, 690.0  # points of 32 MB, and a loss with e^l among the floats
    # The P- and Q-masses of the segments with Q-mass, and their losses.
    pairs = [(c - a, b - d) for (a, b), (c, d) in pairwise(g.vertices) if b > d]
    rows = [(rational(p), rational(q), to_bounds(log_quotient(q, p))) for p, q in pairs]
    sides = np.array([[tuple(each) for each in row] for row in rows]).reshape(-1, 3, 2)
    p, q, loss = (Bounds(*sides[:, k].T) for k in range(3))
    far = loss.upper > far_loss
    lost = upper_float(sum(to_balls(q.upper[far])) + to_ball(g.mass_at_infinity.upper))
    p, q, loss = (make_bounds(side.lower[~far], side.upper[~far]) for side in (p, q, loss))
    places = clip(loss, -far_loss, far_loss) / step
    high = np.ceil(places.upper)
    low = np.where(loss.lower < -far_loss, high, np.floor(places.lower))
    points = np.max(high, initial=0.0) - np.min(low, initial=0.0) + 1
    if points > most:
        least = f"at least {step * points / most:.2g}"
        raise domain("discretization", step, least, f"the grid would have {points:.3g} points")
    shares: dict[int, list[float]] = {}
    for place, share in zip((*low, *high), np.concatenate(_shares(p, q, low, high, step)), strict=True):
        if share:
            shares.setdefault(int(place), []).append(share)
    # The factor is for sums of floats in dp_accounting.
    masses = {place: math.fsum(each) * (1 + 1e-12) for place, each in sorted(shares.items())}
    return masses or {0: 0.0}, min(lost, 1.0)


def _shares(p: Bounds, q: Bounds, low: Array, high: Array, step: float) -> tuple[Array, Array]:
    """Bound the shares of an atom at two points l < m of the grid: a + b = q and a e^-l + b e^-m = p.

    If both are one point, at or above the loss, it gets everything.
    """
    left, right = low * Bounds.of(step), high * Bounds.of(step)
    width = maximum_of(right - left, step / 2)
    below, above = (p * exp(right) - q) / expm1(width), (q - p * exp(left)) / -expm1(-width)
    a, b = (np.clip(share.upper, 0.0, q.upper) for share in (below, above))
    return np.where(low < high, a, 0.0), np.where(low < high, b, q.upper)


def __getattr__(name: str) -> Any:
    """Import ``Accountant`` when it is first used, as its base class is dp_accounting's."""
    if name != "Accountant":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    needed("dp_accounting", "an Accountant is a dp_accounting.PrivacyAccountant: pip install dp-accounting")
    from tradeoff.interop.dp_accounting.accountant import Accountant

    return Accountant
