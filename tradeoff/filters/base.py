"""The protocol of a filter: certified costs of steps, which add up, each sum within its limit.

A step is one release, chosen in view of earlier answers. Its cost is a tuple of numbers, one for each
*resource* of the filter, such as (rho, delta); ``totals`` are their sums over the granted steps, ``limits``
the largest sums. A filter reports amounts in its own units, such as mu where the resource is mu^2.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from operator import add
from threading import Lock
from typing import Any, ClassVar, NoReturn, Self

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import MAX_LOSS, count, number
from tradeoff.curves.product import Tensor
from tradeoff.display import TextTable
from tradeoff.errors import (
    BudgetExceeded,
    DomainError,
    KindError,
    PlanError,
    PrecisionError,
    SizeError,
    SymbolError,
    shown,
)
from tradeoff.families.approximate_dp import PureDP
from tradeoff.families.discrete import DiscreteGaussianCurve
from tradeoff.families.gaussian import Gaussian
from tradeoff.gdp.reduction import bound_by_parts, least
from tradeoff.intervals.bounds import Bounds, decimal
from tradeoff.intervals.functions import rational, sqrt, total
from tradeoff.mechanisms.base import Mechanism
from tradeoff.mechanisms.fields import Declared
from tradeoff.mechanisms.plan import Plan
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.tabulate import both_orders
from tradeoff.pld.discrete import MAX_ATOMS

# One adaptive step. Its guarantee is taken over both orders of a pair of neighbours.
Step = TradeOff | Mechanism | Plan

# Relative excess of a total over its limit that is granted, as costs are rounded up by some 1e-15 of
# themselves and equal parts of a limit should fit whatever their number; ``guarantee()`` includes it.
SLACK = 1e-12

KINDS: dict[str, type[Filter]] = {}  # filters by the name they have in a stored state


def widen(limit: float) -> Bounds:
    """Bound limit (1 + SLACK), the largest total that is granted."""
    return Bounds.of(limit) * (1 + SLACK)


def widen_mu(mu: float) -> float:
    """Return mu sqrt(1 + SLACK), rounded up, where totals are of mu^2."""
    return float((mu * sqrt(1 + SLACK)).upper)


def loss_budget(name: str, value: float, low: float = 0.0) -> float:
    """Return a checked budget of loss; the largest is lowered, so that with its slack it is in the range."""
    return min(number(name, value, low, MAX_LOSS), float((Bounds.of(MAX_LOSS) / (1 + 2 * SLACK)).lower))


class ThreadSafe:
    """Object that threads may share: one lock serialises its changes. It is neither copied nor pickled."""

    def __init__(self) -> None:
        self._lock = Lock()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise KindError(
            f"a {type(self).__name__} can be neither copied nor pickled: a copy would spend the same budget "
            "or reuse the same noise; share the object between threads, or a Ledger between processes"
        )


class StepRecord(ThreadSafe, Declared, ABC):
    """Base of filters and odometers: records the adjacency, assumptions and total costs of adaptive steps."""

    cost_name: ClassVar[str]  # of the resource, in the error of a step without a finite cost
    remedy: ClassVar[str]  # in that error
    takes: ClassVar[tuple[type, ...]] = ()  # types of steps that state their cost, and are not curves
    counts_sampling: ClassVar[bool] = True  # whether a step costs less if it is sampled

    def __post_init__(self) -> None:
        ThreadSafe.__init__(self)
        super().__post_init__()
        self.steps = 0
        self.adjacency: str | None = None
        self.assumptions: tuple[str, ...] = ()
        self._note = ""  # on sampling that is not counted, in the representation
        self.totals: tuple[Fraction, ...] = (Fraction(0),)  # exact sums of the rounded costs

    @abstractmethod
    def _cost(self, step: Any) -> tuple[float, ...]:
        """Return the cost of a step, as ``_read`` returns it, rounded up; inf where none is proved."""

    def _read(self, step: Any) -> Any:
        """Return the curve of a step, or the step itself if it is of a type in ``takes``."""
        if isinstance(step, self.takes):
            return step
        curve = step.curve() if isinstance(step, Mechanism | Plan) else step
        if hasattr(curve, "trusted"):
            raise KindError(
                f"a step must be certified, got the approximation {shown(curve)}, which can under-report; "
                "spend the curve it approximates, or .trusted() to insist"
            )
        if not isinstance(curve, TradeOff):
            raise KindError(
                "a step must be a curve, such as Gaussian(0.1), or a mechanism, such as "
                f"mechanisms.Gaussian(noise_multiplier=1), got {shown(curve)}"
            )
        if curve.free_symbols:
            names = ", ".join(sorted(map(str, curve.free_symbols)))
            raise SymbolError(f"a step must have no free symbols, got {names}; use .subs()")
        return curve

    def note_sampling(self, curve: object) -> str:
        """Return the end of a sentence about a sampled step, if this class ignores sampling."""
        if self.counts_sampling or not is_sampled(curve):
            return ""
        text = "; the gain of sampling is not counted here: a SampledFilter or a RenyiFilter counts it"
        return f"{text} (in the command: ledger init with --noise-multiplier or --order)"

    def _charge(self, step: Any) -> tuple[Any, tuple[float, ...]]:
        """Return the result of ``_read`` for a step, and its finite cost; raise if it has none."""
        adjacency = getattr(step, "adjacency", None)
        if adjacency is not None and self.adjacency not in (None, adjacency):
            rule = f"adjacency must be {self.adjacency}, as for earlier steps"
            raise PlanError(f"{rule}, got {adjacency} for {shown(step)}")
        curve = self._read(step)
        cost = self._cost(curve)
        if math.inf in cost:
            hint = self.note_sampling(curve)
            raise KindError(f"no finite {self.cost_name} is proved for {shown(curve)}; {self.remedy}{hint}")
        return curve, cost

    def _record(self, step: object, curve: object, cost: tuple[float, ...]) -> None:
        """Count a granted step, with its adjacency, assumptions and cost; ``curve`` is that of ``_read``."""
        self._note = self.note_sampling(curve) or self._note  # before all else, as it evaluates the curve
        self.adjacency = getattr(step, "adjacency", None) or self.adjacency
        self.steps += 1
        self.assumptions = tuple(dict.fromkeys((*self.assumptions, *getattr(curve, "assumptions", ()))))
        self.totals = tuple(map(add, self.totals, map(Fraction, cost)))


class Filter(StepRecord):
    """Budget for steps chosen in view of earlier answers: it grants a step, or refuses and records nothing.

    Each resource, summed over the steps, stays within its limit. Whatever rule chooses the steps, the whole
    interaction satisfies ``guarantee()``. Threads may share a filter. A forked child holds a second budget;
    processes share one budget through a ``Ledger``.

    Examples
    --------
    >>> from tradeoff import Gaussian, filters
    >>> budget = filters.GDPFilter(1)
    >>> budget.spend(Gaussian(0.6))
    >>> again = Filter.from_state(budget.state())  # plain data, as a Ledger stores it
    >>> round(again.spent, 6), again.would_exceed(Gaussian(0.9))
    (0.6, True)
    """

    kind: ClassVar[str]  # name of the filter in a stored state
    amounts: ClassVar[type] = float  # type of ``spent``, ``remaining`` and ``budget``: or a named tuple

    def __init_subclass__(cls) -> None:
        if "kind" in cls.__dict__:
            KINDS[cls.kind] = cls

    def __post_init__(self) -> None:
        super().__post_init__()
        self.limits: tuple[float, ...] = self._limits()
        self._largest = [Fraction(max(limit, widen(limit).lower)) for limit in self.limits]  # with slack
        self.totals = (Fraction(0),) * len(self.limits)

    def _limits(self) -> tuple[float, ...]:
        """Return the limits of the totals: by default the parameters."""
        return tuple(self.parameters().values())

    @abstractmethod
    def _curve(self) -> TradeOff:
        """Return the curve of ``guarantee()`` without its assumptions."""

    def _in_units(self, *amounts: Bounds) -> tuple[Bounds, ...]:
        """Convert an amount of each resource into the units of the filter."""
        return amounts

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction, for every pair of neighbours in both orders: a lower bound.

        It does not depend on the amount spent: a rule may have stopped because of an answer.
        """
        return limited(self._curve(), BOUND, self.assumptions)

    def _report(self, amounts: Iterable[Bounds], side: str) -> Any:
        """Return an amount of each resource in the units of the filter, ``lower`` or ``upper`` bounds."""
        bounds = self._in_units(*amounts)
        return self.amounts(*(float(getattr(each, side)) + 0.0 for each in bounds))  # -0.0 becomes 0.0

    @property
    def budget(self) -> Any:
        """Budget in the units of the filter."""
        return self._report(map(Bounds.of, self.limits), "lower")

    @property
    def spent(self) -> Any:
        """Sum over the granted steps, rounded up."""
        return self._report(map(rational, self.totals), "upper")

    @property
    def remaining(self) -> Any:
        """Largest amount that one more step may cost, rounded down."""
        pairs = zip(map(Fraction, self.limits), self.totals, strict=True)
        left = (max(limit - total, Fraction(0)) for limit, total in pairs)
        return self._report(map(rational, left), "lower")

    def _fits(self, cost: tuple[float, ...]) -> bool:
        """Return whether every total, with the cost, is within its limit and the slack."""
        each = zip(self.totals, cost, self._largest, strict=True)
        return all(total + Fraction(more) <= largest for total, more, largest in each)

    def would_exceed(self, step: Step) -> bool:
        """Return whether ``spend(step)`` would raise ``BudgetExceeded`` now; another thread may spend first.

        Steps, and other errors, are those of ``spend``.
        """
        return not self._fits(self._charge(step)[1])

    def spend(self, step: Step) -> None:
        """Grant a step, or refuse it.

        A step is a curve (``TradeOff``), mechanism or plan; a plan is one step.

        Raises
        ------
        BudgetExceeded : If the step does not fit; nothing is recorded.
        KindError, SymbolError, PlanError
            If the step may not enter a filter of this kind, has free symbols, or is stated for other
            neighbours.
        """
        with self._lock:
            curve, cost = self._charge(step)
            if not self._fits(cost):
                amounts = self.spent, self._report(map(Bounds.of, cost), "upper"), self.remaining, self.budget
                spent, requested = (format_amount(each, up=True) for each in amounts[:2])
                remaining, budget = (format_amount(each, up=False) for each in amounts[2:])
                rest = f"{remaining} of {budget} remains ({spent} spent in {self.steps} steps)"
                note = self.note_sampling(curve)
                raise BudgetExceeded(f"the step costs {requested}, but {rest}{note}", *amounts)
            self._record(step, curve, cost)

    def state(self) -> dict[str, Any]:
        """Return the filter as plain data that JSON holds without loss.

        ``KindError`` if the class has no ``kind`` of its own, as it would be restored as another class.
        """
        if KINDS.get(self.kind) is not type(self):
            name = type(self).__name__
            raise KindError(f"{name}.kind must be a name of its own, got {self.kind!r}; set it on the class")
        with self._lock:
            return {
                "kind": self.kind,
                "parameters": self.parameters(),
                "sums": list(map(str, self.totals)),
                "steps": self.steps,
                "adjacency": self.adjacency,
                "assumptions": list(self.assumptions),
            }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the filter of a ``state``; call it on ``Filter`` for any kind."""
        try:
            filter_ = KINDS[state["kind"]](**state["parameters"])
            filter_.totals = tuple(Fraction(*map(int, text.split("/"))) for text in state["sums"])
            filter_.steps = count("steps", state["steps"])
            filter_.adjacency, filter_.assumptions = state["adjacency"], tuple(state["assumptions"])
            texts = *filter_.assumptions, filter_.adjacency or ""
            if not (
                isinstance(state["sums"], list)
                and len(filter_.totals) == len(filter_.limits)
                and min(filter_.totals) >= 0
                and all(isinstance(each, str) for each in texts)
            ):
                raise DomainError("sums must be fractions from 0, adjacency and assumptions text")
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise DomainError(f"state must be that of a filter ({error!r}), got {shown(state)}") from error
        if not isinstance(filter_, cls):
            raise DomainError(
                f"state must be that of a {cls.__name__}, got one of a {type(filter_).__name__}"
            )
        return filter_

    def __repr__(self) -> str:
        spent, budget = format_amount(self.spent, up=True), format_amount(self.budget, up=False)
        return f"{super().__repr__()}: {spent} of {budget} spent in {self.steps} steps{self._note}"

    def _repr_html_(self) -> str:
        names = ("budget", "spent", "remaining")
        rows = [(name, format_amount(getattr(self, name), up=name == "spent")) for name in names]
        return TextTable([*rows, ("steps", f"{self.steps}{self._note}")], head=super().__repr__()).html()


def format_amount(amount: Any, *, up: bool) -> str:
    """Format an amount with ten digits, rounded to the safe side, and the names of its parts.

    Where the ten digits nearest to it err by 1e-13 of it at most, it is they, with this error, that are
    shown: 0.3 (to 1e-13), not 0.3000000001. A refused step, past the slack of 1e-12, still shows as more than
    remains.

    >>> format_amount(0.30000000000000004, up=True), format_amount(1 / 3, up=True)
    ('0.3 (to 1e-13)', '0.3333333334')
    """
    if not hasattr(amount, "_asdict"):
        text = format(amount, ".10g")
        if abs(excess := float(text) - amount) > 1e-13 * amount:
            return decimal(amount, ".10g", up=up)
        return text if (excess >= 0 if up else excess <= 0) else f"{text} (to 1e-13)"
    return ", ".join(f"{name} = {format_amount(each, up=up)}" for name, each in amount._asdict().items())


def square(x: float, unit: float = 1.0, times: float = 1.0) -> float:
    """Return (x/unit)^2 times a factor, rounded up: positive if x is."""
    return float(((Bounds.of(x) / unit) ** 2 * times).upper)


@lru_cache(maxsize=256)  # ``would_exceed`` and ``spend`` share a cost, and a key keeps a curve alive
def gdp_mu(curve: TradeOff) -> float:
    """Return a mu with f >= G_mu and f^-1 >= G_mu at every alpha, or inf where no finite one is proved."""
    if isinstance(curve, Gaussian):
        return float(curve.mu)
    # Powers of pure DP too large for a lattice: searching their profile takes a minute, and fails.
    large = any(
        isinstance(f, PureDP) and n >= MAX_ATOMS and f.power_pld(n) is None for f, n in curve.factors.items()
    )
    if not (large or isinstance(curve, PureDP)):
        with suppress(PrecisionError, SizeError):  # the profile is not bounded far enough
            return float(least(curve, 0.0).mu.upper)
    return max(bound_by_parts(order).upper for order in (curve, curve.inverse()))


@lru_cache(maxsize=256)
def pure_loss(curve: TradeOff) -> tuple[float, float]:
    """Return (epsilon, delta) with f, f^-1 >= f_{eps,delta}: largest finite loss, mass at infinity."""
    orders = both_orders(curve)
    epsilon = max(0.0, *(order.sup_loss for order in orders))
    return epsilon, max(float(order.mass_at_infinity.upper) for order in orders)


@lru_cache(maxsize=256)
def zcdp(curve: TradeOff) -> tuple[float, float]:
    """Return (rho, delta) with both orders delta-approximately rho-zCDP; rho is inf where none is proved."""
    if isinstance(curve, DiscreteGaussianCurve):
        # As for the normal law of the same sigma (Canonne, Kamath, Steinke 2020, Proposition 5).
        return square(curve.shift, curve.sigma, 0.5), 0.0
    if isinstance(curve, Tensor):
        parts = [(rational(n), zcdp(factor)) for factor, n in curve.factors.items()]
        rho, delta = (float(total(n * cost[k] for n, cost in parts).upper) for k in (0, 1))
        return rho, delta
    epsilon, delta = pure_loss(curve)
    # mu-GDP is mu^2/2-zCDP, and (eps, delta)-DP delta-approximately eps^2/2-zCDP (Bun, Steinke 2016).
    return square(epsilon if delta > 0 else min(epsilon, gdp_mu(curve)), times=0.5), delta


@lru_cache(maxsize=256)
def is_sampled(curve: object) -> bool:
    """Return whether part of a curve is sampled with unbounded losses.

    Then sup D_a/a, and so rho, is that without sampling: for a sampled Gaussian the Renyi divergence D_a of
    order a is a mu^2/2 + log p + o(1) as a grows.
    """
    if isinstance(curve, Subsampled) and math.isinf(pure_loss(curve)[0]):
        return True
    parts = curve.factors if isinstance(curve, Tensor) else getattr(curve, "operands", ())
    return any(map(is_sampled, parts))


@lru_cache(maxsize=256)
def renyi(curve: TradeOff, order: float) -> float:
    """Bound the Renyi divergence of the order, for both orders of the pair; inf where no bound is proved."""
    divergence = max(f.renyi(order) for f in both_orders(curve))
    epsilon, delta = pure_loss(curve)
    # Losses within [-eps, eps] bound D by that of f_{eps,0}.
    return divergence if delta > 0 or math.isinf(epsilon) else min(divergence, PureDP(epsilon).renyi(order))
