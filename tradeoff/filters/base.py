"""The protocol of a filter: resources that add up over the steps, each within its limit."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache, wraps
from inspect import signature
from typing import Any, ClassVar, Self

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import count
from tradeoff.errors import BudgetExceeded, DomainError, KindError, PlanError, SymbolError, shown
from tradeoff.filters.costs import REMEMBERED
from tradeoff.filters.shared import Shared
from tradeoff.intervals.bounds import Bounds, decimal
from tradeoff.intervals.functions import total
from tradeoff.mechanisms.base import Mechanism
from tradeoff.mechanisms.plan import Plan
from tradeoff.operators.assumed import assumed

# One adaptive step. Its guarantee is taken over both orders of a pair of neighbours.
Step = TradeOff | Mechanism | Plan

# Relative excess of a sum over its limit that is put down to rounding; ``guarantee()`` carries it. Costs are
# rounded up by some 1e-15 of themselves, so that equal parts of a limit fit whatever their number.
SLACK = 1e-12

KINDS: dict[str, type[Filter]] = {}  # filters by the name they have in a stored state


class Filter(Shared, ABC):
    """Budget for steps chosen in view of earlier answers: it grants a step, or refuses and records nothing.

    Each resource, summed over the steps, stays within its limit. Whatever rule chooses the steps, the whole
    interaction satisfies ``guarantee()``. Threads may share a filter: check and record are one step. A copy,
    a pickle and what a fork leaves in the child are second budgets, which know what was spent before and not
    what the first one grants from then on; processes share one budget through a ``Ledger``.
    """

    kind: ClassVar[str]
    """Name of the filter in a stored state."""

    amounts: ClassVar[type] = float
    """What its amounts are shown as: a number, or a pair with names."""

    steps: int = 0
    """How many steps were granted."""

    adjacency: str | None = None
    """Neighbours the granted steps are stated for; None while they fit any."""

    assumptions: tuple[str, ...] = ()
    """What the curves of granted steps rest on without proof, and so the guarantee; empty if on nothing."""

    def __init_subclass__(cls) -> None:
        if "kind" in cls.__dict__:
            known = KINDS.setdefault(cls.kind, cls)
            if (known.__module__, known.__qualname__) == (cls.__module__, cls.__qualname__):
                KINDS[cls.kind] = cls  # the same class, made anew
        if "guarantee" in cls.__dict__:
            cls.guarantee = _assuming(cls.guarantee)  # type: ignore[method-assign,assignment]  # of every kind

    def __init__(self, *limits: float) -> None:
        self.limits = limits
        self.totals = tuple(ExactSum() for _ in limits)

    @property
    def parameters(self) -> dict[str, Any]:
        """Arguments that build the same filter, unspent; each is kept under its own name."""
        return {name: getattr(self, name) for name in _arguments(type(self))}

    # What a subclass answers; it may show its amounts in units of its own.

    @abstractmethod
    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction, for every pair of neighbours in both orders: a lower bound.

        It does not depend on what was spent: a rule may have stopped because of what it saw.
        """

    @abstractmethod
    def _asked(self, curve: TradeOff) -> Any:
        """Return what a step asks for of each resource, rounded up; raise if it may not enter."""

    def _read(self, step: Any) -> Any:
        """Return what ``_asked`` is given of a step: its curve."""
        return curve_of(step)

    def _shown(self, asked: tuple[float, ...]) -> Any:
        """Return amounts in the units of the filter."""
        return self.amounts(*asked)

    @property
    def budget(self) -> Any:
        """What there was to spend, in the units of the filter."""
        return self._shown(self.limits)

    @property
    def spent(self) -> Any:
        """What the granted steps used, rounded up."""
        return self._shown(tuple(held.bounds().upper for held in self.totals))

    @property
    def remaining(self) -> Any:
        """What one more step may use, rounded down."""
        return self._shown(tuple(map(ExactSum.left, self.totals, self.limits)))

    def _fits(self, asked: tuple[float, ...]) -> bool:
        """Whether there is room for it."""
        each = zip(self.totals, asked, self.limits, strict=True)
        return all(held.bounds(more).upper <= _allowed(limit) for held, more, limit in each)

    def _record(self, asked: tuple[float, ...]) -> None:
        # All sums change at once, so that who reads without the lock never reads half a step.
        self.totals = tuple(held.plus(more) for held, more in zip(self.totals, asked, strict=True))

    # The protocol.

    def would_exceed(self, step: Step) -> bool:
        """Whether ``spend(step)`` would be refused now for its size; another thread may be faster.

        Steps, and other errors, are those of ``spend``.
        """
        adjacency_of(step, self.adjacency)
        return not self._fits(self._asked(self._read(step)))

    def spend(self, step: Step) -> None:
        """Grant a step, or refuse it.

        Parameters
        ----------
        step
            Curve (``TradeOff``), mechanism or plan; a plan is one step.

        Raises
        ------
        BudgetExceeded
            If the step does not fit; nothing is recorded.
        KindError
            If the step may not enter a filter of this kind at all.
        SymbolError
            If the step has free symbols.
        PlanError
            If the step is stated for other neighbours than those before.
        """
        read = self._read(step)
        with self._lock.once():
            adjacency = adjacency_of(step, self.adjacency)
            asked = self._asked(read)
            if not self._fits(asked):
                amounts = self.spent, self._shown(asked), self.remaining, self.budget
                spent, requested = (_written(each, up=True) for each in amounts[:2])
                remaining, budget = (_written(each, up=False) for each in amounts[2:])
                there = f"{remaining} of {budget} remains ({spent} spent in {self.steps} steps)"
                raise BudgetExceeded(f"the step asks for {requested}, and {there}", *amounts)
            self._record(asked)
            self.steps, self.adjacency = self.steps + 1, adjacency
            self.assumptions = assumptions_of(read, self.assumptions)

    def known(self) -> None:
        """Raise ``KindError`` unless the name of the kind leads back to this class, and to no other."""
        if KINDS.get(self.kind) is not type(self):
            raise KindError(
                f"{type(self).__name__} is stored as {self.kind!r}, which is another filter's name; "
                "give the class a kind of its own"
            )

    def state(self) -> dict[str, Any]:
        """Return all that the filter knows as plain data that JSON holds without loss.

        ``KindError`` if the class has no kind of its own, as it would be read back as another.
        """
        self.known()
        with self._lock.once():
            return {
                "kind": self.kind,
                "parameters": self.parameters,
                "sums": [list(held.partials) for held in self.totals],
                "steps": self.steps,
                "adjacency": self.adjacency,
            } | ({"assumptions": list(self.assumptions)} if self.assumptions else {})

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the filter that ``state`` came from; call it on ``Filter`` for any kind."""
        try:
            family = KINDS[state["kind"]]
            found = family(**state["parameters"])
            found.restore(state["sums"])
            found.steps = count("steps", state["steps"])
            found.adjacency = _neighbours(state["adjacency"])
            found.assumptions = _sentences(state.get("assumptions", []))
        except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
            raise DomainError(
                f"{shown(state)} is no state of a filter ({type(error).__name__}: {error})"
            ) from error
        if not isinstance(found, cls):
            raise DomainError(f"the state is that of a {family.__name__}, and a {cls.__name__} was asked for")
        return found

    def restore(self, sums: Any) -> None:
        """Take over the sums of a stored state, as ``from_state`` does."""
        if len(sums) != len(self.limits) or not all(math.isfinite(x) for partials in sums for x in partials):
            raise DomainError(f"{sums!r} are not {len(self.limits)} finite sums")
        totals = tuple(ExactSum(map(float, partials)) for partials in sums)
        if any(held.value() < 0 for held in totals):
            raise DomainError(f"{sums!r} holds a negative sum; nothing is ever given back")
        self.totals = totals

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        spent, budget = _written(self.spent, up=True), _written(self.budget, up=False)
        told = f"{spent} of {budget} spent in {self.steps} steps"
        return f"{type(self).__name__}({inside}): {told}"


class ExactSum:
    """Exact sum of floats as non-overlapping partial sums; one number more costs O(1).

    Notes
    -----
    The partials never overlap, so there are at most about 40 of them, and two or three in practice (Shewchuk
    1997, Theorem 10; the algorithm of ``math.fsum``).

    Examples
    --------
    >>> total = ExactSum()
    >>> for x in (1e16, 1.0, 1.0):
    ...     total = total.plus(x)
    >>> total.value(), total.value(2.0)
    (1.0000000000000002e+16, 1.0000000000000004e+16)
    """

    __slots__ = ("partials",)

    def __init__(self, partials: Iterable[float] = ()) -> None:
        self.partials = list(partials)

    def __reduce__(self) -> tuple[type[ExactSum], tuple[list[float]]]:
        """Make copies by its partial sums, in every protocol of pickles."""
        return ExactSum, (self.partials,)

    def plus(self, x: float) -> ExactSum:
        """Return the sum with ``x`` added, exactly; who reads this one meanwhile reads one sum."""
        partials = []
        for partial in self.partials:
            larger, smaller = (x, partial) if abs(x) >= abs(partial) else (partial, x)
            x = larger + smaller
            error = smaller - (x - larger)
            if error:
                partials.append(error)
        return ExactSum([*partials, x])

    def value(self, *more: float) -> float:
        """Return the sum plus ``more``, rounded once, to nearest; inf beyond the floats."""
        try:
            return math.fsum((*self.partials, *more))
        except OverflowError:
            return math.inf

    def bounds(self, *more: float) -> Bounds:
        """Bound the sum plus ``more`` by one rounding to either side: the signs are exact."""
        return total((*self.partials, *more))

    def left(self, limit: float) -> float:
        """Return what the sum leaves of ``limit``, rounded down."""
        return max(0.0, -float(self.bounds(-limit).upper))


@lru_cache(maxsize=REMEMBERED)
def _allowed(limit: float) -> float:
    """Return the most that a sum within ``limit`` may come to, its slack included, rounded down."""
    return max(limit, float((Bounds.of(limit) * (1 + SLACK)).lower))


def widened(limit: float) -> float:
    """Return that most, rounded up."""
    return float((Bounds.of(limit) * (1 + SLACK)).upper)


@cache
def _arguments(family: type[Filter]) -> tuple[str, ...]:
    return tuple(signature(family).parameters)


def _assuming(guarantee: Callable[[Any], TradeOff]) -> Callable[[Any], TradeOff]:
    """Return the method whose curve is a bound, with the assumptions of the steps of the filter."""

    @wraps(guarantee)
    def carried(self: Filter) -> TradeOff:
        return limited(assumed(guarantee(self), self.assumptions), BOUND)

    return carried


def _neighbours(adjacency: Any) -> str | None:
    if not isinstance(adjacency, str | None):
        raise TypeError(f"adjacency = {adjacency!r} is neither text nor None")
    return adjacency


def _sentences(assumptions: Any) -> tuple[str, ...]:
    if not isinstance(assumptions, list) or not all(isinstance(each, str) for each in assumptions):
        raise TypeError(f"assumptions = {shown(assumptions)} are no list of sentences")
    return tuple(assumptions)


def _written(amount: Any, *, up: bool) -> str:
    """Return an amount as it is printed: ten digits, to the safe side if it has more, and names of parts."""
    if not hasattr(amount, "_asdict"):
        text = format(amount, ".10g")
        return text if float(text) == amount else decimal(amount, ".10g", up=up)
    return ", ".join(f"{name} = {_written(each, up=up)}" for name, each in amount._asdict().items())


def curve_of(step: object) -> TradeOff:
    """Return the curve of a step; approximations, free symbols and everything else are refused."""
    if isinstance(step, Mechanism | Plan):
        step = step.curve()
    if hasattr(step, "trusted"):
        raise KindError(
            f"{shown(step)} is an approximation: it can under-report the loss, and a filter built on it "
            "would prove nothing; spend the curve it approximates, or .trusted() to insist"
        )
    if not isinstance(step, TradeOff):
        raise KindError(
            f"{shown(step)} is no step: a filter takes a curve, such as Gaussian(0.1), "
            "or a mechanism, such as mechanisms.Gaussian(10)"
        )
    if step.free_symbols:
        names = ", ".join(sorted(map(str, step.free_symbols)))
        remedy = "a step takes numbers: substitute them first, with .subs({...})"
        raise SymbolError(f"{shown(step)} has free symbols {names}; {remedy}")
    return step


def adjacency_of(step: object, seen: str | None) -> str | None:
    """Return the neighbours that the steps so far and this one are stated for; None while they fit any."""
    mine = getattr(step, "adjacency", None)
    if mine is not None and seen is not None and mine != seen:
        found = f"{shown(step)} is stated for {mine} neighbours, and earlier steps for {seen}"
        raise PlanError(f"{found}: one filter serves one kind")
    return mine or seen


def assumptions_of(curve: object, seen: tuple[str, ...]) -> tuple[str, ...]:
    """Return what the steps so far and this one rest on without proof, each sentence once."""
    return tuple(dict.fromkeys((*seen, *getattr(curve, "assumptions", ()))))
