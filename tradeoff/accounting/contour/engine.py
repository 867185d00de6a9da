"""The contour: lines of a saddle-point integral about the losses asked, and Chernoff's bound beyond."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.accounting.cache import Cache, anchors, group_by_key
from tradeoff.accounting.conjugate import Enclosure, Kind
from tradeoff.accounting.contour.line import Chernoff, ContourLine, chernoff_epsilon, log_kappa, try_chernoff
from tradeoff.accounting.contour.place import Placement, brief, least_tau, place_line, smoothed
from tradeoff.accounting.contour.product import evaluate_line
from tradeoff.accounting.engine import APART, Engine, Place
from tradeoff.accounting.options import (
    LINE_TERMS,
    LINE_TERMS_EACH,
    LOOKING,
    NODE_TERMS,
    PATIENT_TERMS,
    SMOOTHING,
    Question,
    query_options,
)
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.roots import bracket_root
from tradeoff.intervals.rounding import TINY, UNIT, Array, Index
from tradeoff.pld.batched import batch_factors, damped, sketches
from tradeoff.pld.cumulant import Cumulant, SaddleTable
from tradeoff.pld.law import PrivacyLossDistribution, Transformed, combine_masses_at_infinity
from tradeoff.pld.transformed import ReversedPLD

# Most nodes of lines kept for later questions, 180 MiB a strip: a long one where atoms last, and the shorter
# one that led to it. Were there room for one alone, each would drive the other out, at every question.
_REMEMBERED = 2 * (2**21 + 2**19)

_PLACES = 1024  # most places remembered where a Gaussian is added
_WIDEST = 1.0  # a Gaussian of a larger mu tells nothing of the product it is added to
_FARTHEST = 1e100  # losses beyond this overflow in the numbers of a line

# Tails rarer than this are answered for c > 1, where they lose nothing to a difference from 1.
_HALF = math.log(0.7)

_POLES = (0.0, 1.0)  # where the integrand of delta has poles

# Chernoff's tilts c: c - 1 of the first one in units of 1/spread, and over that of the one before; how many
# points are kept. Between, a bound at z deviations loses at most e^(z^2/256).
_FIRST_TILT, _NEXT_TILT, _POINTS = 0.25, 2**0.25, 256

_CERTAIN = 0.5  # how far below a level the logarithm of a bound is to be expected

_NEARLY = 1 - 1e-9  # saddles of the middle strip stay away from its end, where they are of losses beyond 1e9
_WIDE = 1.0  # bounds on epsilon farther apart than this are set beside Chernoff's
_FARTHEST_MIDDLE = 1e4  # losses beyond this are not looked for in the middle strip

# What a smoothing adds to the widths of most answers, over its own accuracy; where it is more, a finer one
# follows.
_SHARE = 3.0


# Levels of damping: Q loses less than e^-level, and an answer at most e^-20 of itself. Damping spares long
# periods where a loss is rare, and is tried for few distinct factors.
_LEVELS, _TAKEN, _DISTINCT = [36.0 * 1.13**k for k in range(24)], 20.0, 8


_FALL = 6.0  # nats that psi may fall by from a place to losses that are answered there


_TINIEST = 1e-290  # delta below which a line has lost digits that Chernoff's bound has


class Cost(NamedTuple):
    """Most terms summed for a line.

    Where a Gaussian is added, the width it may leave, and its share of the terms. The width is that of psi,
    relative, or in nats that of the loss where psi takes a value.
    """

    terms: float
    accuracy: float
    share: float = 1.0
    in_nats: bool = False


class EvaluatedContour(NamedTuple):
    """A line, or None where none can be drawn, and where it was placed."""

    place: Placement
    line: ContourLine | None

    def leaves(self, times: float) -> bool:
        """Whether what is beyond the last node may be so many times what may be left out."""
        return self.line is not None and self.line.cut > times * self.place.goal * math.pi * self.line.last


class ContourCache:
    """All lines of one order of the pair, as they are asked.

    In the strip 0 < c < 1 (kind "rest") a line holds 1 - delta, in c > 1 (kind "delta", or "other" where this
    is the other order) delta less the mass at infinity.
    """

    def __init__(
        self,
        laws: Sequence[PrivacyLossDistribution],
        counts: Sequence[int],
        whole: ContourCache | None = None,
    ) -> None:
        self.laws, self.counts, self.whole = laws, counts, self if whole is None else whole
        self.mass_at_plus_infinity = combine_masses_at_infinity(
            [law.mass_at_plus_infinity for law in self.whole.laws], counts
        )
        # What damping takes off may be anywhere, at most at infinity.
        self.most_q_plus = combine_masses_at_infinity([law.mass_at_plus_infinity for law in laws], counts)
        self.drawn: Cache[EvaluatedContour] = Cache(
            _REMEMBERED, lambda drawn: 0 if drawn.line is None else len(drawn.line.log)
        )

        self._damped: Cache[ContourCache] = Cache(len(_LEVELS))
        self.briefly: Cache[Placement] = Cache(_PLACES)
        self.points: Cache[Chernoff] = Cache(_POINTS)
        self.estimates: Cache[float] = Cache(_POINTS)  # of log psi(0) at a tilt

    @property
    def leak(self) -> Bounds:
        """Bound Q(L = inf), which lines leave out of delta, though not of 1 - delta."""
        return Bounds(self.mass_at_plus_infinity * (1 - 16 * UNIT), self.most_q_plus * (1 + 16 * UNIT))

    def damped(self, level: int) -> ContourCache:
        """Return the lines of the laws without what is rarer than that of a level, where damping may help."""
        if level == len(_LEVELS) or len(self.laws) > _DISTINCT:
            return self

        def make() -> ContourCache:
            each = zip(self.laws, self.counts, strict=True)
            laws = [damped(law, n, _LEVELS[level]) for law, n in each]
            same = all(law is other for law, other in zip(laws, self.laws, strict=True))
            return self if same else ContourCache(laws, self.counts, self)

        return self._damped.of(level, make)

    def leading(
        self, kind: Kind, x: Array, log_psi: Array | None = None
    ) -> Iterator[tuple[ContourCache, Index]]:
        """Yield lines that lack at most e^-20 of psi(x), with the losses that they serve."""
        left = np.arange(len(x))
        for level in range(len(_LEVELS) + 1):
            lines = self if kind == "rest" else self.damped(level)
            enough = np.ones(len(left), bool)
            if lines is not self:
                size = lines.saddles(kind).at(x[left]).log if log_psi is None else log_psi[left]
                enough = size > _TAKEN - _LEVELS[level]
            if enough.any():
                yield lines, left[enough]
            if not len(left := left[~enough]):
                break

    @cached_property
    def factors(self) -> tuple[list[Transformed], list[int]]:
        """What is transformed, and how often it is taken: alike laws in one, as rows of arrays."""
        return batch_factors(self.laws, self.counts)

    @cached_property
    def cumulant(self) -> Cumulant:
        return Cumulant(sketches(self.laws, self.counts))

    @cached_property
    def too_far(self) -> bool:
        """Whether losses are so large that the numbers of a line overflow."""
        return bool(np.max(np.abs(self.cumulant.loss)) > _FARTHEST)

    @cached_property
    def tail(self) -> SaddleTable:
        """The saddle points of c > 1, by loss."""
        return SaddleTable(self.cumulant, _POLES, start=1.0)

    @cached_property
    def middle(self) -> SaddleTable:
        """The saddle points of 0 < c < 1, by loss."""
        return SaddleTable(self.cumulant, _POLES, last=_NEARLY)

    def saddles(self, kind: Kind) -> SaddleTable:
        """Return the saddle points of the strip of a kind."""
        return self.middle if kind == "rest" else self.tail

    def anchors(self, kind: Kind, x: Array) -> Array:
        """Return where lines are placed that serve questions at losses x of this order."""
        if self.too_far:
            return x
        saddles = self.saddles(kind)
        spread = saddles.spread(x)
        if kind != "rest":  # psi falls by at most e^-((c - 1) x)
            spread = np.minimum(spread, _FALL / (saddles.at(x).c - 1))
        return anchors(x, spread, APART)

    def rare(self, x: Array) -> NDArray[np.bool_]:
        """Whether delta(x) is so small that it is answered as such and not as what is left of 1."""
        return np.zeros(len(x), bool) if self.too_far else (x >= 0) & (self.damped(0).tail.at(x).log < _HALF)

    def enclose(self, kind: Kind, x: float, cost: Cost, log_psi: float | None = None) -> LineEnclosure | None:
        """Return what the line placed at the loss x of this order bounds, and where psi is about e^log_psi.

        Where the product does not decay a Gaussian is added, for a share of the cost.
        """
        if self.too_far or abs(x) > _FARTHEST:
            return None
        # By how much psi changes a nat about x, relative to itself.
        slope = abs(float(self.saddles(kind).at(np.array([x])).c[0]) - 1) if cost.in_nats else 1.0
        accuracy = slope * cost.accuracy
        middle = kind == "rest"
        key = (middle, x, log_psi, *query_options().choices[1:])  # whichever method asks for it
        place = partial(place_line, self.saddles(kind), x, cost.terms, log_psi, middle=middle)
        result = sharp = self.drawn.of((*key, cost.terms, 0.0), partial(self._line, place))
        if blurry := sharp.leaves(10):
            near = self.briefly.of((x, log_psi, middle), partial(brief, self.cumulant, x, sharp.place))
            allowed = near._replace(most=cost.terms * cost.share)
            where = smoothed(allowed, accuracy, max(NODE_TERMS, len(self.laws)))
            blurred = self.drawn.of((*key, where.most, where.tau), partial(self._line, lambda: where))
            result = sharp if blurred.line is None else blurred
        if (line := result.line) is None:
            return None
        # A narrower Gaussian gains nothing where the nodes end before it takes over.
        finer = 0 < line.tau < 1.01 * least_tau(result.place, accuracy) and not result.leaves(300)
        lost, aim = Bounds(0.0, 0.0) if middle else self.leak, -x if kind == "other" else x
        about = partial(LineEnclosure, kind=kind, aim=aim, scale=line.scale, leak=float(lost.lower))
        return about(line, lost, room=math.inf if finer else 1.0, final=not blurry)

    def ceiling(self, x: Array, level: Array) -> Array:
        """Bound psi from above by Chernoff's bound at the least tilt that shows it to be below ``level``.

        Quadratures are shorter at lesser tilts. Where none is expected to show it, the best tilt is taken.
        """
        result = np.ones(len(x))
        if self.too_far:
            return result
        x = np.minimum(x, _FARTHEST)  # psi falls
        goal = np.log(np.maximum(level, TINY)) - _CERTAIN
        tilts, least = np.ones(len(x)), np.full(len(x), math.inf)
        waiting, c = np.arange(len(x)), 1 + _FIRST_TILT / max(self.cumulant.spread, 1e-300)
        while len(waiting) and c - 1 < self.cumulant.steepest:
            expected = self.estimates.of(c, partial(self._estimate, c)) - (c - 1) * x[waiting]
            falls = expected < least[waiting]  # it is convex in c
            tilts[waiting[falls]], least[waiting] = c, np.fmin(expected, least[waiting])
            waiting, c = waiting[falls & (expected > goal[waiting])], 1 + _NEXT_TILT * (c - 1)
        for c, mine in group_by_key(tilts):
            point = self.points.of((c, *query_options().choices[1:]), partial(try_chernoff, *self.factors, c))
            result[mine] = [point.psi(each) for each in x[mine].tolist()]
        return result

    def _estimate(self, c: float) -> float:
        return self.cumulant.value(c) + log_kappa(c)

    def _line(self, placed: Callable[[], Placement]) -> EvaluatedContour:
        place = placed()
        drawable = place.drawable and place.tau <= _WIDEST
        return EvaluatedContour(place, evaluate_line(*self.factors, place) if drawable else None)


@dataclass(frozen=True, eq=False)
class LineEnclosure(Enclosure):
    """A line as bounds about its aim, which is a loss of the order asked; ``lost`` is what it leaves out."""

    line: ContourLine
    lost: Bounds

    def small(self, x: Array) -> Bounds:
        psi = Bounds(*self.line.psi(-x if self.kind == "other" else x))
        return psi + self.lost if self.lost.upper else psi


class ContourEngine(Engine[Cost]):
    """Bounds from saddle-point contours, for laws whose densities have a closed form.

    A first question costs 5 to 50 ms a distinct factor, of many thinned normal pairs 1 ms each, later ones
    near it about 1 ms; counts cost nothing.
    """

    name = "contour"

    def __init__(
        self, laws: Sequence[PrivacyLossDistribution], counts: Sequence[int], *, symmetric: bool = False
    ) -> None:
        plain = [law.single_rounds(count) for law, count in zip(laws, counts, strict=True)]
        laws, counts = [law for law, _ in plain], [count for _, count in plain]
        self.forward = ContourCache(laws, counts)
        self.backward = (
            self.forward if symmetric else ContourCache([ReversedPLD(law) for law in laws], counts)
        )
        self.patient = True

    @cached_property
    def possible(self) -> bool:
        """Whether all densities are known in closed form."""
        return all(law.has_transform for law in self.forward.laws)

    @property
    def terms(self) -> float:
        """Most terms summed for a line while no tolerance is asked."""
        return max(LINE_TERMS, LINE_TERMS_EACH * len(self.forward.laws))

    def with_term_limit(self) -> ContourEngine:
        """Return the engine with the same lines, which sums no more terms where a tolerance is asked."""
        made = copy(self)
        made.patient = False
        return made

    def first(self, question: Question, tol: float | None) -> Cost:
        usual = Cost(self.terms, SMOOTHING)
        if tol is None:
            return usual
        terms, share = (PATIENT_TERMS, 1.0) if self.patient else (usual.terms, usual.share)
        return Cost(terms, min(SMOOTHING, tol / _SHARE), share, in_nats=question == "epsilon")

    def finer(self, effort: Cost, by: float) -> Cost:
        return effort._replace(accuracy=effort.accuracy / by)

    def rough(self, effort: Cost) -> Cost | None:
        return effort._replace(share=min(self.terms / effort.terms, 1.0) / LOOKING)

    def places(self, x: Array, delta: Array | None = None) -> Iterator[tuple[Place[Cost], Index]]:
        far = self.forward.rare(x)
        other = (x < 0) & self.backward.rare(np.maximum(-x, 0.0))
        with np.errstate(divide="ignore"):
            log_delta = None if delta is None else np.log(delta - self.forward.mass_at_plus_infinity)
        strips: list[tuple[Kind, ContourCache, NDArray[np.bool_]]] = [
            ("delta", self.forward, far),
            ("other", self.backward, other & ~far),
            ("rest", self.forward, ~(far | other)),
        ]
        for kind, lines, mine in strips:
            at = np.flatnonzero(mine)
            loss = -x[at] if kind == "other" else x[at]
            known = log_delta[at] if kind == "delta" and log_delta is not None else None
            for part, some in lines.leading(kind, loss, known):
                if known is not None:
                    for k in some.tolist():
                        yield (
                            partial(part.enclose, kind, float(loss[k]), log_psi=float(known[k])),
                            at[k : k + 1],
                        )
                    continue
                for aim, which in group_by_key(part.anchors(kind, loss[some])):
                    yield partial(part.enclose, kind, aim), at[some[which]]

    def loss_at_delta(self, delta: Array) -> Array:
        lines = self.forward
        if lines.too_far:
            return np.zeros(len(delta))
        left, x = np.log(delta - lines.mass_at_plus_infinity), np.zeros(len(delta))
        for part, which in lines.leading("delta", x, left):
            x[which] = part.tail.x_for(left[which])
            if part is not lines:
                x[which] = np.minimum(x[which], part.cumulant.rare.loss(left[which]))
        x = np.where(left < _HALF, np.maximum(x, 0.0), x)  # from there lines lead to small losses below 0
        near = left >= _HALF
        if near.any():
            goal = -np.log1p(-delta[near])
            result = bracket_root(lambda x: -lines.middle.at(x).log, goal)[1]
            x[near] = np.clip(result, -_FARTHEST_MIDDLE, _FARTHEST_MIDDLE)
        return x

    @property
    def cumulant(self) -> Cumulant:
        return self.forward.cumulant

    def tail_fallback(self, question: Question, at: Array, low: Array, high: Array) -> Array:
        """Lower upper bounds of which a line said next to nothing to Chernoff's, at one real point."""
        lines = self.forward
        if lines.too_far:
            return high
        if question == "delta":
            mine = np.flatnonzero(((high >= 1) | (high < _TINIEST)) & (at > 0))
            least = np.full(len(mine), TINY)
            chernoff = (lines.leak + lines.ceiling(at[mine], least)).upper
            high[mine] = np.minimum(chernoff, np.minimum(high[mine], 1.0))
        elif question == "epsilon":
            for k in np.flatnonzero(~(high - low < _WIDE)):
                left = float((at[k] - lines.leak).lower)
                if left > 0:
                    high[k] = min(high[k], chernoff_epsilon(*lines.factors, lines.cumulant, left))
        return high
