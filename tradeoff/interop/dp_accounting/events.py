"""Events of dp_accounting: each becomes mechanisms of a plan; a curve becomes a Gaussian and a failure."""

from __future__ import annotations

from collections import Counter
from inspect import signature
from typing import Any

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import count, number
from tradeoff.errors import MissingExtraError, PlanError, needed, shown
from tradeoff.gdp.reduction import least
from tradeoff.interop.dp_accounting.rules import RULES, Parts, Reader, joined, kind_of, listed, relation_of
from tradeoff.intervals.bounds import Bounds
from tradeoff.mechanisms import Adjacency, Plan

# Samplings inside one another that are read: each is a level of recursion, and none was seen beyond two.
_DEEPEST = 50


def from_event(event: Any, neighboring_relation: Any = None) -> Plan:
    """Plan that an event of dp_accounting describes; its ``.guarantee()`` is the curve.

    Parameters
    ----------
    event
        A ``DpEvent``, or what its ``to_named_tuple`` returns; compositions may be nested. dp_accounting need
        not be installed; events of jax_privacy and tensorflow_privacy are the same classes.
    neighboring_relation
        A ``NeighboringRelation`` or its name; default ADD_OR_REMOVE_ONE. REPLACE_SPECIAL (a record becomes
        zero) has the pairs of add/remove for every event that is a sum. Under REPLACE_ONE the noise of
        Gaussian and Laplace events, which is stated per record, counts twice: a sum moves by up to 2 C.

    Raises
    ------
    PlanError
        If a part cannot be accounted for, or not under this relation; its name is in the sentence.
    DomainError
        If a parameter is out of range.

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
    return _plan(event, relation_of(neighboring_relation), _DEEPEST)


def _plan(event: Any, relation: Any, levels: int) -> Plan:
    if levels == 0:
        raise PlanError(f"the event nests more than {_DEEPEST} samplings, deeper than any that is read")
    reader = Reader(relation, lambda inner: _plan(inner, relation, levels - 1))
    adjacency: Adjacency = "replace-one" if relation == "REPLACE_ONE" else "add-remove"
    return Plan(joined(_parts(event, reader)), adjacency)


def _parts(event: Any, reader: Reader) -> Parts:
    """Count what an event is made of; compositions are walked without recursion, however deep."""
    result: Parts = Counter()
    pending = [(event, 1)]
    while pending:
        each, n = pending.pop()
        name = kind_of(each)
        if name == "SelfComposedDpEvent":
            inner, times = _fields(each, "event", "count")
            pending.append((inner, n * count("count", times)))
        elif name == "ComposedDpEvent":
            (parts,) = _fields(each, "events")
            pending.extend((part, n) for part in reversed(listed("events", parts)))
        else:
            if name not in RULES:
                for method, kind in ((".ledger", "accountant"), (".build()", "builder of events")):
                    if hasattr(each, method.strip(".()")):
                        raise PlanError(f"event must be a DpEvent, got a {name}; give {method} of the {kind}")
                raise PlanError(
                    f"{shown(each)} is no event that can be accounted for; known are ComposedDpEvent, "
                    f"SelfComposedDpEvent, {', '.join(RULES)}"
                )
            _, *names = signature(RULES[name]).parameters
            part = RULES[name](reader, *_fields(each, *names))
            if part is not None and n:
                result[part] += n
    return result


def _fields(event: Any, *names: str) -> list[Any]:
    try:
        return [getattr(event, name) for name in names]
    except AttributeError as error:
        raise PlanError(
            f"{shown(event)} lacks fields of a {kind_of(event)}, which has {', '.join(names)}"
        ) from error


def to_event(curve: TradeOff, *, failure: float) -> Any:
    """Event at or below a curve that every accountant of dp_accounting can compose: a Gaussian and a failure.

    Parameters
    ----------
    curve
        A curve of either order.
    failure
        Probability in [0, 1] that the Gaussian leaves out; 0 gives the Gaussian alone.

    Returns
    -------
    DpEvent
        ``GaussianDpEvent(1/mu)``, mu = ``curve.gdp(failure).mu``, with the noise rounded down; composed with
        ``EpsilonDeltaDpEvent(0, failure)`` where failure > 0. ``NonPrivateDpEvent`` where mu is infinite.
        Read it under ADD_OR_REMOVE_ONE: accountants that double Gaussians under REPLACE_ONE only lose.

    Raises
    ------
    MissingExtraError
        If dp_accounting is not installed, or has no ``EpsilonDeltaDpEvent`` (0.6 has none).

    Notes
    -----
    f >= G_mu (x) f_{0,failure} at every alpha; both factors are symmetric, so the event covers both orders.
    """
    f, left_out = operand(curve), number("failure", failure, 0, 1)
    remedy = "an event is an object of dp_accounting, which is not installed: pip install dp-accounting"
    events = needed("dp_accounting.dp_event", remedy)
    if left_out and not hasattr(events, "EpsilonDeltaDpEvent"):
        raise MissingExtraError(
            "this dp_accounting has no EpsilonDeltaDpEvent to hold a failure; "
            "take failure=0, or a release above 0.6"
        )
    mu = least(f, left_out).mu.upper
    if mu == float("inf"):
        return events.NonPrivateDpEvent()
    gaussian = events.GaussianDpEvent(float((1 / Bounds.of(mu)).lower)) if mu else events.NoOpDpEvent()
    if not left_out:
        return gaussian
    return events.ComposedDpEvent([gaussian, events.EpsilonDeltaDpEvent(0.0, left_out)])
