"""Calibration: the number of a mechanism for which a target is just met, proved from both sides.

Estimates choose which number to try next; certified answers alone decide where the target is crossed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import krogh_interpolate
from scipy.special import erfinv, ndtri

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import MOST, count, number
from tradeoff.display import Displayed, TextTable, exactly
from tradeoff.errors import DomainError, KindError, PrecisionError, Undecided, called, domain, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.gdp.reduction import least
from tradeoff.intervals.bounds import Bounds, decimal
from tradeoff.mechanisms.base import by_number


@dataclass(frozen=True)
class _Tuning:
    """Numbers of the search, which only decide which numbers are tried.

    Distances and steps are on a scale of logarithms. Steps of the proof to both sides of an estimate make
    twice ``share`` of the tolerance, which ends at ``finest``, as floats are 2.2e-16 apart.
    """

    finest: float = 1e-15
    max_evaluations: int = 150  # halving to a jump takes some 50
    starts: tuple[float, ...] = (1.0, 0.5, 2.0, 0.1, 10.0, 0.01, 100.0)  # usual sizes of parameters
    farthest: float = math.log(1e12)  # without ``between``
    longest: float = math.log(1000.0)  # of a step to an estimate: a power law need not hold farther
    overshoot: float = 0.1  # share of a step by which it passes the estimate
    least_overshoot: float = 1e-3
    at_wall: float = 1e-6  # distance to numbers without an answer, within which no root is looked for
    against: float = 1e-6  # distance of verdicts that refute an estimate, each of which doubles the step
    wide: float = 0.3  # width of an undecided answer that leaves the root open
    share: float = 0.4
    enough: float = 4.0  # width of the bracket over that of undecided answers in it, where to stop
    patience: int = 4  # estimates in a row that may fail to halve the bracket


_TUNING = _Tuning()
_BLIND_STEPS = [sign * 4**k * math.log(2.0) for k in range(4) for sign in (1, -1)]  # without an estimate


@dataclass(frozen=True, repr=False)
class Calibration(Displayed):
    """A number whose guarantee meets a target, and bounds on the number where the target is crossed.

    Parameters
    ----------
    value
        The number: its guarantee is proved to meet the target.
    bounds
        From ``value`` to the nearest number found whose guarantee is proved not to meet the target, in order:
        the target is crossed between.
    achieved
        Bounds on the answer at ``value``; 1 for a target that is a curve, as the order holds. Narrower than
        usual where the usual bounds are too wide to decide.
    evaluations
        Number of values tried.
    target
        The target, as text.
    """

    value: float
    bounds: Bounds[float]
    achieved: Bounds[float]
    evaluations: int
    target: str

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        low, high = self.bounds
        return f"{self.value!r}: {self.target}, crossed in [{low!r}, {high!r}]"

    def grid(self) -> TextTable:
        both = {"crossing lies in": self.bounds, "answer at value": self.achieved}
        bounds = [(name, f"[{low!r}, {high!r}]") for name, (low, high) in both.items()]
        return TextTable(
            [("value", repr(self.value)), *bounds, ("numbers tried", str(self.evaluations))], head=self.target
        )


def calibrate(
    build: Callable[[Any], object],
    target: Mapping[str, Any],
    *,
    between: tuple[float, float] | None = None,
    integer: bool = False,
    tol: float = 1e-9,
) -> Calibration:
    """Find the number for which a guarantee just meets a target: noise, a sample rate, a count of steps.

    ``value`` is on the safe side, within ``bounds``. That the loss is monotone is not checked: without it,
    ``value`` still meets the target, and the target is still crossed within ``bounds``.

    Parameters
    ----------
    build
        From a number to a curve, a mechanism or a plan, whose loss rises, or falls, with the number. Both
        orders of a curve that is not symmetric count.
    target
        ``{"epsilon", "delta"}`` (a loss in nats, a probability), ``{"mu", "failure"}`` (failure: 0 if left
        out), ``{"beta", "alpha"}`` (at least that type II error), ``{"advantage"}`` (of the best attack: the
        total variation distance), ``{"bayes_risk", "prior"}`` (at least that risk), or ``{"curve"}`` (at
        least that curve).
    between
        Two positive numbers (integers from 0 if ``integer``) of which one meets the target; default: found
        between 1e-12 and 1e12.
    integer
        Whether the number is a count: ``bounds`` then holds two neighbours, or more where rounding leaves
        some undecided, and ``value`` is the largest, or smallest, proved to meet the target.
    tol
        Width of ``bounds`` relative to their upper end, in (0, 1); more where the answers are wider,
        or floats lie farther apart.

    Raises
    ------
    DomainError
        If the target is malformed, or no two numbers are found of which one meets it and one does not.
    KindError
        If ``build`` returns something without a guarantee, or ``integer`` is not a bool.

    Examples
    --------
    >>> import tradeoff as to
    >>> def training(sigma):
    ...     step = to.mechanisms.SubsampledGaussian(noise_multiplier=sigma, sample_rate=0.01)
    ...     return to.Plan({step: 1000})
    >>> noise = to.calibrate(training, {"epsilon": 1, "delta": 1e-6})
    >>> round(noise.value, 6), noise.achieved.upper <= 1, noise.bounds.width < 2e-9
    (1.562666, True, True)
    """
    if not callable(build) or isinstance(build, TradeOff):
        raise KindError(f"build must be a function from a number to a curve, got {shown(build)}")
    if not isinstance(integer, bool | np.bool_):
        raise KindError(f"integer must be True or False, got {shown(integer)}")
    goal = read_target(target)
    tol = max(number("tol", tol, 0, 1, open_low=True, open_high=True), _TUNING.finest)
    ends = None if between is None else _ends(between, integer=integer)
    width = [tol / 4]  # half a step of the proof, for a loss that is a power of the number

    def bound_answer(x: float) -> Bounds[float]:
        """Bound the answer at a number as usual, and more narrowly where that decides nothing."""
        curve = _guarantee(build, int(x) if integer else x)
        result = goal.answer(curve, None)
        if goal.takes_width and goal.is_met(result) is None:
            try:
                return goal.answer(curve, width[0])
            except PrecisionError:
                width[0] *= 8  # the next number is farther from the crossing
        return result

    search = Search(goal, bound_answer, tol, integer)
    met, unmet = search.run(ends)
    value, other = (int(p.x) if integer else p.x for p in (met, unmet))
    tried = len(search.points) + len(search.walls)
    return Calibration(value, Bounds(*sorted((value, other))), goal.verdict_or(met.answer), tried, str(goal))


def _ends(between: Any, *, integer: bool) -> tuple[float, float]:
    flat = isinstance(between, Sequence) or (isinstance(between, np.ndarray) and between.ndim == 1)
    if not flat or len(between) != 2:
        raise DomainError(f"between must be a pair of numbers (low, high), got {shown(between)}")
    if integer:
        low, high = (float(count("between", end, 0, MOST)) for end in between)
    else:
        low, high = (number("between", end, 0, math.inf, open_low=True, open_high=True) for end in between)
    if not low < high:
        raise DomainError(f"between must be (low, high) with low < high, got {shown(between)}")
    return low, high


def _guarantee(build: Callable[[Any], object], x: float) -> TradeOff:
    """Return the guarantee that ``build`` makes of a number, valid for both orders of a pair."""
    built = called("build", by_number(build), x)
    if isinstance(built, type):
        raise KindError(f"build({x!r}) is the class {built.__name__}; return an instance made of the number")
    for name in ("guarantee", "curve"):  # of plans and reports, of mechanisms, reductions and marginals
        result = getattr(built, name, None)
        built = result if isinstance(result, TradeOff) else result() if callable(result) else built
    try:
        return operand(built).symmetrise(assume="either-order")
    except KindError as error:
        raise KindError(f"{error}; build({x!r}) must return a curve, a mechanism or a plan") from error


class Point(NamedTuple):
    """A number tried, its answer and verdict, and the gap of the answer to the target with its width."""

    x: float
    answer: Bounds[float]
    met: bool | None
    gap: float
    blur: float


@dataclass
class Search:
    """The numbers tried so far, and the next one, on a scale of log x, or log(1 + n) for integers.

    ``bound_answer`` bounds the answer at a number, or raises ``DomainError`` or ``PrecisionError``; ``tol``
    is the relative distance wanted; ``walls`` are places without a useful answer, and the reason.
    """

    target: Target
    bound_answer: Callable[[float], Bounds[float]]
    tol: float
    integer: bool = False
    points: list[Point] = field(default_factory=list)
    walls: dict[float, str] = field(default_factory=dict)

    def run(self, between: tuple[float, float] | None) -> tuple[Point, Point]:
        """Return neighbours of which the first is proved to meet the target, the second not to; or raise."""
        if between:
            self.points += [self._end(x) for x in between]
        else:
            self._search_outward()
        widths: list[float] = []
        while (pair := self._bracket) and len(widths) < _TUNING.max_evaluations:
            x = self._next_inside(*pair, widths)
            if x is None:
                break
            try:
                self.points.append(self._point(x))
            except (DomainError, PrecisionError):  # undecided: the crossing is nearby
                self.points.append(Point(x, Bounds(-math.inf, math.inf), None, math.nan, math.inf))
        if pair is None:
            raise self._no_bracket()
        return pair

    @property
    def _decided(self) -> list[Point]:
        """Points with a verdict, those nearest to the target first."""
        decided = [p for p in self.points if p.met is not None]
        return sorted(decided, key=lambda p: abs(p.gap) if math.isfinite(p.gap) else math.inf)

    @property
    def _bracket(self) -> tuple[Point, Point] | None:
        for a, b in pairwise(sorted(self._decided)):
            if a.met != b.met:
                return (a, b) if a.met else (b, a)
        return None

    def _point(self, x: float) -> Point:
        answer = self.bound_answer(x)
        low, high = (self.target.gap(end) for end in answer)
        return Point(x, answer, self.target.is_met(answer), (low + high) / 2, abs(high - low))

    def _end(self, x: float) -> Point:
        try:
            return self._point(x)
        except (DomainError, PrecisionError) as error:
            raise DomainError(f"no answer at {x:g}, an end of between; move it: {error}") from error

    def _place(self, x: float) -> float:
        return math.log1p(x) if self.integer else math.log(x)

    def _number(self, t: float) -> float:
        return float(round(math.expm1(t))) if self.integer else math.exp(t)

    def _estimate(self) -> tuple[float, float, float] | None:
        """Estimate the root's place by a polynomial through places as a function of gaps, at gap 0.

        With it go its error, about the product of distances to nodes, and the width that answers leave open.
        """
        nodes = list({p.gap: p for p in self._decided if math.isfinite(p.gap)}.values())
        nodes = nodes[:4] if self._bracket else nodes[:2]  # a line is the safer extrapolation
        if len(nodes) < 2:
            return None
        gaps, places = [p.gap for p in nodes], [self._place(p.x) for p in nodes]
        with np.errstate(all="ignore"):
            root = places[0] + float(krogh_interpolate(gaps, [t - places[0] for t in places], 0.0))
        slope = abs((places[1] - places[0]) / (gaps[1] - gaps[0]))
        return root, math.prod(abs(t - root) for t in places), slope * nodes[0].blur

    def _search_outward(self) -> None:
        """Try numbers until two verdicts differ: estimates, else both sides in ever longer steps."""
        start = next((x for x in _TUNING.starts if (x >= 1 or not self.integer) and self._try(x)), None)
        if start is None:
            return
        blind = (self._new_place(self._place(start) + step) for step in _BLIND_STEPS)
        for _ in range(_TUNING.max_evaluations):
            t = self._extrapolated_place()
            t = next((t for t in blind if t is not None), None) if t is None else t
            if t is None or self._bracket:
                return
            self._try(self._number(t))

    def _try(self, x: float) -> bool:
        """Add the point at a number, or a wall where there is no answer or a useless one."""
        try:
            point = self._point(x)
        except (DomainError, PrecisionError) as error:
            self.walls[self._place(x)] = str(error)
            return False
        if point.met is None and not point.blur <= _TUNING.wide:
            self.walls[self._place(x)] = f"only {point.answer} is known at {x:g}"
            return False
        self.points.append(point)
        return True

    def _extrapolated_place(self) -> float | None:
        """Return a place a little beyond the estimate; None if there is none that is new."""
        result = self._estimate()
        if result is None:
            return None
        nearest = self._decided[0].x
        step = result[0] - self._place(nearest)
        step += math.copysign(max(_TUNING.overshoot * abs(step), _TUNING.least_overshoot), step)
        t = self._place(nearest) + math.copysign(min(abs(step), _TUNING.longest), step)
        if self.integer and self._number(t) == nearest:
            t = self._place(max(nearest + math.copysign(1.0, step), 0.0))
        return self._new_place(t)

    def _new_place(self, t: float) -> float | None:
        """Return a place within the ends, or halfway to a wall in between; None if not new."""
        places = sorted(self._place(p.x) for p in self.points)
        ends = (0.0, self._place(MOST)) if self.integer else (-_TUNING.farthest, _TUNING.farthest)
        t = min(max(t, ends[0]), ends[1])
        for last, side in ((places[-1], 1.0), (places[0], -1.0)):
            room = min(
                (abs(wall - last) for wall in self.walls if (wall - last) * side > 0), default=math.inf
            )
            if (t - last) * side >= room:
                t = last + side * room / 2 if room > _TUNING.at_wall else last
        tried = {p.x for p in self.points} | {self._number(wall) for wall in self.walls}
        return None if self._number(t) in tried else t

    def _next_inside(self, met: Point, unmet: Point, widths: list[float]) -> float | None:
        """Return a number between the ends of the bracket; None where they are close enough."""
        low, high = sorted((met.x, unmet.x))
        doubts = [p.x for p in self.points if low < p.x < high]
        least = 1.0 if self.integer else self.tol * high
        if high - low <= max(least, _TUNING.enough * (max(doubts) - min(doubts)) if doubts else 0.0):
            return None
        widths.append(high - low)
        patience, share = _TUNING.patience, _TUNING.share
        stuck = len(widths) > patience and widths[-1] > widths[-1 - patience] / 2
        start, end = self._place(low), self._place(high)
        t, error, blur = self._estimate() or (math.nan, math.inf, 0.0)
        x = middle = self._number((start + end) / 2)
        if doubts:
            step = max(share * least * 2 ** len(doubts), high * blur / 2)
            x = _aside(low, high, min(doubts), max(doubts), step)
        elif not stuck and error < share * least / high:
            root = self._number(min(max(t, start), end))
            wrong = sum(math.isnan(p.gap) and abs(p.x / root - 1) < _TUNING.against for p in self._decided)
            x = _aside(low, high, root, root, max(share * least * 2**wrong, high * blur))
        elif not stuck and start < t < end:
            x = self._number(t)
        x = min(max(round(x), low + 1), high - 1) if self.integer else x
        return next((each for each in (x, middle) if low < each < high and each not in doubts), None)

    def _no_bracket(self) -> DomainError:
        """Explain why no two verdicts differ: value, limit, remedy."""
        walls = "".join(f"; {reason}" for reason in list(self.walls.values())[:1])
        if not self.points:
            return DomainError(f"no number tried has an answer{walls}; give between=(low, high)")
        first, *_, last = sorted(self.points * 2)
        given = (f"{self.target.verdict_or(p.answer)} at {p.x:.12g}" for p in (first, last))
        answers = f"{self.target.question} is {', '.join(given)}"
        if first.answer == last.answer:
            endless = math.isinf(first.answer.lower)
            answers += ": infinite" if endless else ": the same, so does build use its number?"
        if any(p.met is None for p in self.points):
            return DomainError(f"whether {self.target} is undecided: {answers}{walls}; give another between")
        if not first.met and first.answer != last.answer and (rest := self._rest()):
            return DomainError(f"{self.target} is out of reach: {rest}; allow more loss")
        which, remedy = ("every", "less") if first.met else ("no", "more")
        problem = f"{self.target} holds at {which} number tried: {answers}{walls}"
        return DomainError(f"{problem}; allow {remedy} loss, or give another between")

    def _rest(self) -> str:
        """Describe the loss that remains at numbers a factor of 1000 apart; empty if it still changes."""
        best, *others = sorted(self._decided, key=lambda p: p.gap)
        far = [p for p in others if abs(self._place(p.x) - self._place(best.x)) >= _TUNING.longest]
        if self.target.verdict or not far or not min(p.gap for p in far) < best.gap + 1e-6:
            return ""
        name, _, at = self.target.question.partition(" at ")
        least = self.target.least
        value = decimal(best.answer.upper if least else best.answer.lower, ".4g", up=least)
        cost = f"{name} {'<=' if least else '>='} {value}"
        return f"the other mechanisms alone cost {cost}" + (f" at {at}" if at else "")


def _aside(low: float, high: float, first: float, last: float, step: float) -> float:
    """Return a number a step outside [first, last], on the side with more room, at most halfway there."""
    below, above = first - low, high - last
    return last + min(step, above / 2) if above > below else first - min(step, below / 2)


@dataclass(frozen=True)
class Target:
    """A question and the most its answer may be, or the least: ``wanted``.

    ``answer`` bounds the answer of a curve, to a width relative to it if ``takes_width``, or the usual one;
    ``size`` is a positive number that increases with the loss: only which number to try next depends on it.
    Of a ``verdict`` answers are proved to be from 1 on, or below, and nothing else of them.
    """

    question: str
    wanted: float
    answer: Callable[[TradeOff, float | None], Bounds[float]]
    size: Callable[[float], float]
    least: bool = False
    verdict: bool = False
    takes_width: bool = True

    def is_met(self, answer: Bounds[float]) -> bool | None:
        """Whether every truth within the bounds meets the target; None where some do and some do not."""
        if self.least:
            return True if answer.lower >= self.wanted else False if answer.upper < self.wanted else None
        return True if answer.upper <= self.wanted else False if answer.lower > self.wanted else None

    def verdict_or(self, answer: Bounds[float]) -> Bounds[float]:
        """Return the answer; of a verdict 1 where it holds, 0 where it does not."""
        return Bounds(*(float(end >= 1) for end in answer)) if self.verdict else answer

    def gap(self, answer: float) -> float:
        """Return log size(answer)/size(wanted): 0 at the root, positive where too much is lost; maybe NaN."""
        size, wanted = self.size(answer), self.size(self.wanted)
        return math.log(size / wanted) if 0 < size < math.inf and 0 < wanted < math.inf else math.nan

    def __str__(self) -> str:
        return f"{self.question} {'>=' if self.least else '<='} {exactly(self.wanted)}"


def read_target(given: Mapping[str, Any]) -> Target:
    """Read a target from its keys; ``DomainError`` if no kind of target has them, or a value is outside."""
    keys = frozenset(given) if isinstance(given, Mapping) else frozenset()
    for names, read in _KINDS.items():
        if keys == set(names):
            return read(**given)
    allowed = ", ".join(f"{{{', '.join(names)}}}" for names in _KINDS)
    raise DomainError(f"target must be a mapping with keys {allowed}, got {shown(given)}")


def _epsilon(epsilon: Any, delta: Any) -> Target:
    e = number("epsilon", epsilon, 0, math.inf, open_high=True)
    d = number("delta", delta, 0, 1, open_high=True)
    if e == 0:  # epsilon(delta) <= 0 iff delta(0) <= delta, and that has a logarithm
        return Target("delta at epsilon = 0", d, lambda f, tol: f.bounds.delta(0.0, tol=tol), _mu_of_distance)
    question = f"epsilon at delta = {exactly(d)}"
    return Target(question, e, lambda f, tol: f.bounds.epsilon(d, tol=tol and tol * e), float)


def _mu(mu: Any, failure: Any = 0.0) -> Target:
    m = number("mu", mu, 0, math.inf, open_high=True)
    q = number("failure", failure, 0, 1, open_high=True)
    if m == 0:  # f >= f_{0,q}: the total variation is at most q
        return Target("delta at epsilon = 0", q, lambda f, tol: f.bounds.delta(0.0, tol=tol), _mu_of_distance)

    def answer(f: TradeOff, _: float | None) -> Bounds[float]:
        """Return 0 at once where f >= f_{0,q}."""
        f.require_numbers()
        return Bounds(0.0, 0.0) if q > 0 and f.bounds.delta(0.0).upper <= q else least(f, q).mu

    return Target(f"mu at failure = {exactly(q)}", m, answer, float, takes_width=False)


def _beta(beta: Any, alpha: Any) -> Target:
    a = number("alpha", alpha, 0, 1, open_low=True, open_high=True)
    b = number("beta", beta, 0, 1)
    if b > (1 - Bounds.of(a)).upper:
        raise domain("beta", b, f"[0, {1 - a:g}]", f"no curve is above 1 - alpha at alpha = {exactly(a)}")
    start, question = float(ndtri(a)), f"beta at alpha = {exactly(a)}"
    return Target(question, b, lambda f, tol: f.bounds(a, tol=tol), lambda x: -start - float(ndtri(x)), True)


def _advantage(advantage: Any) -> Target:
    v = number("advantage", advantage, 0, 1)
    return Target("advantage", v, lambda f, tol: f.bounds.delta(0.0, tol=tol), _mu_of_distance)


def _curve(curve: Any) -> Target:
    """Answer with the certified order: from 1 on where it holds, below where not, about 1 if undecided.

    The numbers of a Gaussian goal say by how much; those of others are 1 and 0, which bisects.
    """
    goal = operand(curve)

    def order(f: TradeOff, _: float | None) -> Bounds[float]:
        if isinstance(goal, Gaussian) and goal.mu > 0:
            f.require_numbers()
            low, high = least(f, 0.0).mu
            most = (goal.mu / Bounds.of(low)).upper if low else math.inf
            return Bounds((goal.mu / Bounds.of(high)).lower, most)
        try:
            verdict = float(f >= goal)
        except Undecided:
            return Bounds(0.0, 1.0)
        return Bounds(verdict, verdict)

    def size(margin: float) -> float:
        return 1 / margin if margin > 0 else math.inf

    return Target(f"[curve >= {shown(goal)}]", 1.0, order, size, least=True, verdict=True, takes_width=False)


def _bayes_risk(bayes_risk: Any, prior: Any) -> Target:
    p = number("prior", prior, 0, 1, open_low=True, open_high=True)
    blind = min(p, (1 - Bounds.of(p)).upper)
    r = number("bayes_risk", bayes_risk, 0, blind)

    def size(risk: float) -> float:
        return _mu_of_distance(1 - risk / blind)

    question = f"Bayes risk at prior = {exactly(p)}"
    return Target(question, r, lambda f, tol: f.bounds.bayes_risk(prior, tol=tol), size, least=True)


def _mu_of_distance(v: float) -> float:
    """Return mu/sqrt(8), where v is the total variation distance of G_mu: 2 Phi(mu/2) - 1."""
    return float(erfinv(v))


_KINDS: dict[tuple[str, ...], Callable[..., Target]] = {
    ("epsilon", "delta"): _epsilon,
    ("mu",): _mu,
    ("mu", "failure"): _mu,
    ("beta", "alpha"): _beta,
    ("advantage",): _advantage,
    ("curve",): _curve,
    ("bayes_risk", "prior"): _bayes_risk,
}
