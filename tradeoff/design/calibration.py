"""Calibration: the number of a mechanism for which a target is just met, proved from both sides.

Estimates choose which number to try next; certified answers alone decide where the target is crossed. A point
is a number tried; its verdict ``met`` is True, False, or None if its bounds do not decide. A wall is a point
without an answer. Two neighbours with verdicts that differ are the bracket, of which one is met, one unmet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfinv, logit, ndtri

from tradeoff.audits.refutation import claimed
from tradeoff.audits.risks import risks
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import MOST, count, number
from tradeoff.display import Displayed, TextTable, exactly
from tradeoff.errors import (
    DomainError,
    KindError,
    PrecisionError,
    Undecided,
    advise_keywords,
    called,
    domain,
    shown,
)
from tradeoff.families.gaussian import Gaussian
from tradeoff.gdp.reduction import DEFAULT_FAILURE, least
from tradeoff.intervals.bounds import Bounds, decimal
from tradeoff.mechanisms.base import by_number
from tradeoff.mechanisms.fields import in_interval

# The search is fast with these; no answer depends on them.
_LONGEST = math.log(1000.0)  # of a step outward: a power law need not hold farther

_NO_ANSWER = Bounds(-math.inf, math.inf)


@dataclass(frozen=True, repr=False)
class Calibration(Displayed):
    """A number whose guarantee meets a target, and bounds on the number where the target is crossed.

    Parameters
    ----------
    value : the number: its guarantee is proved to meet the target
    bounds
        From ``value`` to the nearest number tried whose guarantee is proved not to meet the target, in order:
        the target is crossed between.
    achieved
        Bounds on the answer at ``value``; 1 for a target that is a curve, as the order holds. Narrower than
        usual where the usual bounds are too wide to decide.
    evaluations : number of values tried
    target : the target, as text
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
        return f"{self.value!r}: {self.target}, which is crossed between {low!r} and {high!r}"

    def grid(self) -> TextTable:
        both = {"crossing lies in": self.bounds, "answer at value": self.achieved}
        bounds = [(name, f"[{low!r}, {high!r}]") for name, (low, high) in both.items()]
        return TextTable(
            [("value", repr(self.value)), *bounds, ("numbers tried", str(self.evaluations))], head=self.target
        )


def advise_target(call: str, given: Mapping[str, Any], loss: Collection[str] = ()) -> str:
    """Return the remedy for keys of a target, of one of the losses named, ``given`` as keywords; else ""."""
    for names in KINDS:
        if set(given) <= set(names) and (not loss or names[0] in loss):
            values = (f"{name!r}: {shown(given[name]) if name in given else '...'}" for name in names)
            return f"write {call}, {{{', '.join(values)}}})"
    return ""


@advise_keywords(partial(advise_target, "calibrate(build"))
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
        ``{"epsilon", "delta"}`` (a loss in nats, a probability), ``{"mu", "failure"}`` (failure left out:
        1e-10, and 0 for a Gaussian curve, as ``gdp``, or a mu of 0), ``{"beta", "alpha"}`` (at least that
        type II error), ``{"advantage"}`` (of the best attack: the total variation distance),
        ``{"bayes_risk", "prior"}`` (at least that risk), ``{"curve"}`` (at least that curve), or at most that
        ``{"tpr", "fpr"}``, ``{"success", "baseline"}``, ``{"precision", "recall", "prior"}`` or
        ``{"posterior", "outcome", "prior"}`` of ``risks``.
    between
        Two positive numbers (integers from 0 if ``integer``) of which one meets the target; default: searched
        between :math:`10^{-12}` and :math:`10^{12}`.
    integer
        Whether the number is a count: ``bounds`` then holds two neighbours, or more where rounding leaves
        some undecided, and ``value`` is the largest, or smallest, proved to meet the target.
    tol
        Width of ``bounds`` relative to their upper end, in (0, 1); more where the answers are wider,
        or floats lie farther apart. Of intervals as wide as those of ``MatrixMechanism`` in bins the safe
        side decides: ``value`` is within some :math:`10^{-3}` of the number at which it meets the target.

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
    tol = max(number("tol", tol, 0, 1, open_low=True, open_high=True), 1e-15)
    ends = None if between is None else _read_range(between, integer=integer)
    width = [tol / 4]  # that of narrow answers: half a step of the proof, if loss is a power of the number

    def bound_answer(x: float) -> Bounds[float]:
        """Bound the answer at a number as usual, and more narrowly where that decides nothing."""
        built = called("build", by_number(build), x := int(x) if integer else x)
        if isinstance(built, type):
            raise KindError(f"build must return an instance, got the class {built.__name__} at {x!r}")
        try:
            curve = claimed(built).symmetrise(assume="either-order")
        except KindError as error:
            raise KindError(f"{error}; build({x!r}) must return a curve, a mechanism or a plan") from error
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
    achieved, tried = goal.verdict_or(met.answer), len(search.points)
    return Calibration(value, Bounds(*sorted((value, other))), achieved, tried, str(goal))


def _read_range(between: Any, *, integer: bool) -> tuple[float, float]:
    if not isinstance(between, Sequence | np.ndarray) or np.shape(between) != (2,):
        raise domain("between", between, "a pair of numbers (low, high)")
    check: Callable[..., float] = partial(count, low=0, high=MOST) if integer else in_interval("(0, inf]")
    low, high = (float(check("between", end)) for end in between)
    if not low < high:
        raise domain("between", between, "(low, high) with low < high")
    return low, high


class Point(NamedTuple):
    """A number tried; one with a ``problem``, the reason for a useless answer, is a wall of the search."""

    x: float
    answer: Bounds[float]
    met: bool | None
    gap: float  # ``Target.gap`` of the middle: 0 at the crossing, positive if too much is lost
    blur: float  # width of the bounds on the gap
    problem: str


@dataclass
class Search:
    """The numbers tried so far, with places log x up to ``farthest``, or log(1 + n) for integers."""

    target: Target
    bound_answer: Callable[[float], Bounds[float]]
    tol: float
    integer: bool = False
    farthest: float = math.log(1e12)
    points: list[Point] = field(default_factory=list)

    def run(self, between: tuple[float, float] | None) -> tuple[Point, Point]:
        """Return neighbours of which the first is proved to meet the target, the second not to; or raise."""
        for x in between or ():
            if (point := self._tried(x)).answer == _NO_ANSWER:
                problem = f"between must be two numbers with answers, got none at {x:g}"
                raise DomainError(f"{problem}; move it: {point.problem}")
        if not between:
            self._search_outward()
        if self._bracket is None:
            raise self._no_bracket(", or give another range, between=(low, high)" if between else "")
        self._narrow()
        return self._ends()[:2]

    @property
    def _decided(self) -> list[Point]:
        """Points with a verdict, those with the smallest gaps first."""
        decided = [p for p in self.points if p.met is not None]
        return sorted(decided, key=lambda p: abs(p.gap) if math.isfinite(p.gap) else math.inf)

    @property
    def _bracket(self) -> tuple[Point, Point] | None:
        """Two neighbours, the first met and the second not, or None."""
        for a, b in pairwise(sorted(self._decided)):
            if a.met != b.met:
                return (a, b) if a.met else (b, a)
        return None

    def _ends(self) -> tuple[Point, Point, bool]:
        """Return the bracket, and whether it is as narrow as wanted."""
        met, unmet = cast(tuple[Point, Point], self._bracket)
        width = 1.0 if self.integer else self.tol * max(met.x, unmet.x)
        return met, unmet, abs(met.x - unmet.x) <= width

    def _place(self, x: float) -> float:
        return math.log1p(x) if self.integer else math.log(x)

    def _number(self, t: float) -> float:
        return float(round(math.expm1(t))) if self.integer else math.exp(t)

    def _tried(self, x: float) -> Point:
        """Return the point at a number, new or known; without an answer it is undecided."""
        if known := [p for p in self.points if p.x == x]:
            return known[0]
        answer, problem = _NO_ANSWER, ""
        try:
            answer = self.bound_answer(x)
        except (DomainError, PrecisionError) as error:
            problem = str(error)
        low, high = (self.target.gap(end) for end in answer)
        met, blur = self.target.is_met(answer), abs(high - low)
        if met is None and not math.isfinite(blur):
            problem = problem or f"only {answer} is known at {x:g}"
        self.points.append(Point(x, answer, met, (low + high) / 2, blur, problem))
        return self.points[-1]

    def _root(self, gap: Callable[[Point], float], low: float, high: float, tol: float) -> float:
        """Return about the number where ``gap`` is 0, which has two signs at the points low and high."""
        start, end = self._place(low), self._place(high)
        known = {start: low, end: high}

        def value(t: float) -> float:
            return gap(self._tried(known.get(t, self._number(t))))

        return self._number(brentq(value, start, end, xtol=tol, disp=False)) if start != end else high

    def _narrow(self) -> None:
        """Add a point next to the root of the gap, and verdicts just outside the undecided ones about it."""

        def middle(p: Point) -> float:
            """Return the gap of the middle of the answer, with the sign of the verdict if it is infinite."""
            if p.met is None or self._ends()[2]:
                return 0.0  # ends the search for the root
            return p.gap if math.isfinite(p.gap) else -1.0 if p.met else 1.0

        def decisive(p: Point, end: Point) -> float:
            """Return the size of the gap of the bound that decides for end's verdict, with + if p has it."""
            gap = abs(self.target.gap(tuple(p.answer)[end.met is not self.target.least]))
            return (1.0 if p.met == end.met else -1.0) * (gap if 0 < gap < math.inf else 1.0)

        met, unmet, _ = self._ends()
        fine = max(1.2 / max(met.x, unmet.x) if self.integer else self.tol / 4, 4e-16)  # in log x
        root = self._root(middle, met.x, unmet.x, fine)
        met, unmet, is_narrow = self._ends()
        one, two = self._decided[:2]
        slope = (self._place(one.x) - self._place(two.x)) / (one.gap - two.gap or math.nan)
        undecided = 0.55 * abs(slope) * self._tried(root).blur  # half its length in log x, and a bit more
        undecided = min(undecided, 0.5) if math.isfinite(undecided) else 0.0
        step = max(1.0 if self.integer else 0.4 * self.tol * root, undecided * root)
        for end in () if is_narrow else (met, unmet):
            last, x = root, root + math.copysign(step, end.x - root)
            while abs(x - root) < abs(end.x - root) and self._tried(x).met != end.met:
                last, x = x, root + 2 * (x - root)
            # If answers are wide, the end is moved to where the bound that decides crosses the target.
            accuracy = max(fine, 1e-3, 0.0 if end.met else undecided / 4)
            x = x if abs(x - root) < abs(end.x - root) else end.x
            if abs(x - last) > max(1.0 if self.integer else 0.0, accuracy * root):
                self._root(partial(decisive, end=end), last, x, accuracy)

    def _search_outward(self) -> None:
        """Try numbers until two verdicts differ: past a secant's root, else on both sides in longer steps."""
        usual = (1.0, 0.5, 2.0, 0.1, 10.0, 0.01, 100.0)  # sizes of parameters
        start = next((x for x in usual if (x >= 1 or not self.integer) and not self._tried(x).problem), None)
        if start is None:
            return
        steps = (sign * 4**k * math.log(2.0) for k in range(4) for sign in (1, -1))
        farther = (self._new_place(self._place(start) + step) for step in steps)
        for _ in range(150):  # halving to a jump takes some 50
            two, t = list({p.gap: p for p in self._decided if math.isfinite(p.gap)}.values())[:2], None
            if len(two) == 2:
                nearest, other = (self._place(p.x) for p in two)
                step = two[0].gap * (nearest - other) / (two[1].gap - two[0].gap)
                step += math.copysign(max(0.1 * abs(step), 1e-3), step)
                t = nearest + math.copysign(min(abs(step), _LONGEST), step)
                if self.integer and self._number(t) == two[0].x:
                    t = self._place(max(two[0].x + math.copysign(1.0, step), 0.0))
                t = self._new_place(t)
            t = next((t for t in farther if t is not None), None) if t is None else t
            if t is None or self._bracket:
                return
            self._tried(self._number(t))

    def _new_place(self, t: float) -> float | None:
        """Return the place t, within the ends, or halfway to a wall if at or past it; None if not new."""
        places, walls = (
            sorted(self._place(p.x) for p in self.points if bool(p.problem) is wall) for wall in (False, True)
        )
        ends = (0.0, self._place(MOST)) if self.integer else (-self.farthest, self.farthest)
        t = min(max(t, ends[0]), ends[1])
        for last, side in ((places[-1], 1.0), (places[0], -1.0)):
            room = min((abs(wall - last) for wall in walls if (wall - last) * side > 0), default=math.inf)
            if (t - last) * side >= room:
                t = last + side * room / 2 if room > 1e-6 else last
        return None if self._number(t) in {p.x for p in self.points} else t

    def _no_bracket(self, change: str) -> DomainError:
        """Explain why no two verdicts differ; a change of the range completes the remedy."""
        wall = next((f"; {p.problem}" for p in self.points if p.problem), "")
        points = sorted(p for p in self.points if not p.problem)
        if not points:
            return DomainError(f"build must have an answer at a number tried{wall}; give between=(low, high)")
        first, last = points[0], points[-1]
        given = (f"{self.target.verdict_or(p.answer):.6g} at {p.x:.12g}" for p in (first, last))
        answers = f"{self.target.question} is {', '.join(given)}"
        if is_same := first.answer == last.answer:
            is_infinite = math.isinf(first.answer.lower)
            answers += ": infinite" if is_infinite else ": the same, so does build use its number?"
        got = f"target must be met at some numbers and missed at others, got {self.target}, which"
        if any(p.met is None for p in points):
            return DomainError(f"{got} is undecided: {answers}{wall}; give another between=(low, high)")
        # The loss that remains at 0, or at numbers a factor of 1000 apart, is that of the other mechanisms.
        best, *others = sorted(self._decided, key=lambda p: p.gap)
        far = [p.gap for p in others if abs(self._place(p.x) - self._place(best.x)) >= _LONGEST]
        is_level = best.x == 0 or min(far, default=math.inf) < best.gap + 1e-6
        if is_level and not (is_same or first.met or self.target.verdict):
            name, _, at = self.target.question.partition(" at ")
            least, sign = self.target.least, "<=" if self.target.least else ">="
            value = decimal(best.answer.upper if least else best.answer.lower, ".4g", up=least)
            rest = f"the other mechanisms alone cost {name} {sign} {value}" + (f" at {at}" if at else "")
            return DomainError(f"{got} is out of reach: {rest}; allow more loss")
        which, remedy = ("every", "less") if first.met else ("no", "more")
        problem = f"{got} holds at {which} number tried: {answers}{wall}"
        if "must be an integer" in wall:
            return DomainError(f"{problem}; pass integer=True")
        return DomainError(f"{problem}; allow {remedy} loss{change}")


@dataclass(frozen=True)
class Target:
    """A question, and the most that its answer may be, or the ``least``: ``wanted``.

    ``answer(curve, tol)`` bounds the answer, to the relative width ``tol`` if ``takes_width``, with None as
    narrowly as usual; ``size(answer)`` is positive and increases with the loss: only which number to try next
    depends on it. For a ``verdict`` only whether the answer is at least 1 or below 1 is proved.
    """

    question: str
    wanted: float
    answer: Callable[[TradeOff, float | None], Bounds[float]]
    size: Callable[[float], Any]
    least: bool = False
    verdict: bool = False
    takes_width: bool = True

    def is_met(self, answer: Bounds[float]) -> bool | None:
        """Return whether every truth within the bounds meets the target; None if some do and some do not."""
        if self.least:
            return True if answer.lower >= self.wanted else False if answer.upper < self.wanted else None
        return True if answer.upper <= self.wanted else False if answer.lower > self.wanted else None

    def verdict_or(self, answer: Bounds[float]) -> Bounds[float]:
        """Return the answer; for a verdict 1 where it holds, else 0."""
        return Bounds(*(float(end >= 1) for end in answer)) if self.verdict else answer

    def gap(self, answer: float) -> float:
        """Return log size(answer)/size(wanted): 0 at the root, positive where too much is lost; maybe NaN."""
        size, wanted = float(self.size(answer)), float(self.size(self.wanted))
        return math.log(size / wanted) if 0 < size < math.inf and 0 < wanted < math.inf else math.nan

    def __str__(self) -> str:
        relation = f" {'>=' if self.least else '<='} {exactly(self.wanted)}"
        return self.question + ("" if self.verdict else relation)


def read_target(given: Mapping[str, Any]) -> Target:
    """Read a target from its keys; ``DomainError`` if no kind of target has them, or a value is outside."""
    keys = frozenset(given) if isinstance(given, Mapping) else frozenset()
    for names, read in KINDS.items():
        if keys == set(names):
            return read(*(given[name] for name in names))
    near = [names for names in KINDS if keys and keys < set(names)]  # those that lack a key
    allowed = ", ".join(f"{{{', '.join(names)}}}" for names in near or KINDS)
    raise DomainError(f"target must be a mapping with keys {allowed}, got {shown(given)}")


def _distance(most: float, question: str = "delta at epsilon = 0") -> Target:
    """Return a target for the total variation; its size is mu/sqrt(8) of the G_mu at that distance."""
    return Target(question, most, lambda f, tol: f.bounds.delta(0.0, tol=tol), erfinv)


def _epsilon(epsilon: Any, delta: Any) -> Target:
    e = number("epsilon", epsilon, 0, math.inf, open_high=True)
    d = number("delta", delta, 0, 1, open_high=True)
    if e == 0:  # epsilon(delta) <= 0 iff delta(0) <= delta, and that has a logarithm
        return _distance(d)
    question = f"epsilon at delta = {exactly(d)}"
    return Target(question, e, lambda f, tol: f.bounds.epsilon(d, tol=tol and tol * e), float)


def _mu(mu: Any, failure: Any = None) -> Target:
    m = number("mu", mu, 0, math.inf, open_high=True)
    q = number("failure", 0.0 if failure is None else failure, 0, 1, open_high=True)
    if m == 0:  # f >= f_{0,q}: the total variation is at most q
        return _distance(q)
    stated = f"{DEFAULT_FAILURE:g} (0 if Gaussian)" if failure is None else exactly(q)
    return Target(f"mu at failure = {stated}", m, lambda f, _: least(f, failure).mu, float, takes_width=False)


def _beta(beta: Any, alpha: Any) -> Target:
    a = number("alpha", alpha, 0, 1, open_low=True, open_high=True)
    b = number("beta", beta, 0, 1)
    if b > (1 - Bounds.of(a)).upper:
        raise domain("beta", b, f"[0, {1 - a:g}]", f"no curve is above 1 - alpha at alpha = {exactly(a)}")
    question = f"beta at alpha = {exactly(a)}"
    return Target(question, b, lambda f, tol: f.bounds(a, tol=tol), lambda x: -ndtri(a) - ndtri(x), True)


def _curve(curve: Any) -> Target:
    """Answer with the certified order: at least 1 if it holds, less if not, on both sides of 1 if undecided.

    Of a Gaussian goal G_m the answer is m over the mu of f; of others it is infinite or 0, which bisects.
    """
    goal = operand(curve)

    def order(f: TradeOff, _: float | None) -> Bounds[float]:
        if isinstance(goal, Gaussian) and goal.mu > 0:
            low, high = least(f, 0.0).mu
            most = (goal.mu / Bounds.of(low)).upper if low else math.inf
            return Bounds((goal.mu / Bounds.of(high)).lower, most)
        try:
            margin = math.inf if f >= goal else 0.0
        except Undecided:
            return Bounds(0.0, math.inf)
        return Bounds(margin, margin)

    question = f"curve >= {shown(goal)}"
    return Target(
        question, 1.0, order, lambda margin: 1 / (margin or math.nan), True, True, takes_width=False
    )


def _bayes_risk(bayes_risk: Any, prior: Any) -> Target:
    p = number("prior", prior, 0, 1, open_low=True, open_high=True)
    blind = min(p, (1 - Bounds.of(p)).upper)
    r = number("bayes_risk", bayes_risk, 0, blind)
    question = f"Bayes risk at prior = {exactly(p)}"
    return Target(
        question, r, lambda f, tol: f.bounds.bayes_risk(prior, tol=tol), lambda x: erfinv(1 - x / blind), True
    )


def _success(name: str, blind: str, success: Any, baseline: Any) -> Target:
    """Return a target for 1 - f(p), where p, the value of ``blind``, is the success without a release."""
    p = number(blind, baseline, 0, 1, open_low=True, open_high=True)
    s = number(name, success, p, 1, open_low=True)  # as many as without a release: no loss at all
    question = f"{name} at {blind} = {exactly(p)}"
    return Target(question, s, lambda f, tol: 1 - f.bounds(p, tol=tol), lambda x: ndtri(x) - ndtri(p))


def _risk(name: str, where: str, size: Callable[..., float], value: Any, given: Any, prior: Any) -> Target:
    """Return a target for the row of ``risks`` at one recall or outcome; ``size`` grows with the loss."""
    p, x = (number(n, v, 0, 1, open_low=True, open_high=True) for n, v in (("prior", prior), (where, given)))
    wanted = number(name, value, p, 1, open_high=True)

    def answer(f: TradeOff, _: float | None) -> Bounds[float]:
        rows = risks(f, prior=p, **(dict.fromkeys(("fpr", "baseline", "recall", "outcome"), ()) | {where: x}))
        return Bounds(*rows.rows[1][2:])  # the first is the advantage

    question = f"{name} at {where} = {exactly(x)}, prior = {exactly(p)}"
    return Target(question, wanted, answer, lambda v: size(v, x, p), takes_width=False)


KINDS: dict[tuple[str, ...], Callable[..., Target]] = {
    ("epsilon", "delta"): _epsilon,
    ("mu",): _mu,
    ("mu", "failure"): _mu,
    ("beta", "alpha"): _beta,
    ("advantage",): lambda advantage: _distance(number("advantage", advantage, 0, 1), "advantage"),
    ("curve",): _curve,
    ("bayes_risk", "prior"): _bayes_risk,
    ("tpr", "fpr"): partial(_success, "tpr", "fpr"),
    ("success", "baseline"): partial(_success, "success", "baseline"),
    ("precision", "recall", "prior"): partial(
        _risk, "precision", "recall", lambda v, r, p: ndtri(r) - ndtri(p * r * (1 - v) / ((1 - p) * v))
    ),
    ("posterior", "outcome", "prior"): partial(
        _risk, "posterior", "outcome", lambda v, _, p: logit(v) - logit(p)
    ),
}
