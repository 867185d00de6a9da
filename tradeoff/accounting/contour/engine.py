"""The contour engine: lines of a saddle-point integral, and Chernoff's bound past their nodes.

A line (`line`) Re z = c bounds psi about the loss x, its center: in the strip c > 1 delta(x) less the leak,
the mass at L = inf (kind "delta", or "other" where it is delta(-x) of the other order), and in 0 < c < 1
1 - delta(x) (kind "rest"). A sharp line has no Gaussian added; a smoothed one has, as its product does not
decay. Damped laws lack their rarest losses, by levels from the rarest kept; whole ones have all. A split
(`split`) takes the place of a line of one sampled law where few rounds lose much: it treats the case that the
largest loss of a round is large apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from operator import is_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.accounting.contour.line import ContourLine, Factors, log_truncation
from tradeoff.accounting.contour.split import SplitEnclosure, may_split, split
from tradeoff.accounting.engine import (
    APART,
    NODE_TERMS,
    Enclosure,
    Engine,
    Kind,
    Place,
    group_by_key,
    snap_to_grid,
)
from tradeoff.accounting.options import Question
from tradeoff.accounting.saddles import (
    GOAL,
    Cumulant,
    Placement,
    SaddleTable,
    coarse_placement,
    log_kappas,
    place_line,
    smoothed,
)
from tradeoff.intervals.bounds import Array, Bounds, Index
from tradeoff.intervals.roots import bracket_root
from tradeoff.pld.batched import batch_factors, damped_law, rarely_sampled, sketches
from tradeoff.pld.gaussian import REACH
from tradeoff.pld.law import PrivacyLossDistribution, combine_masses_at_infinity
from tradeoff.pld.transformed import ReversedPLD
from tradeoff.pld.units import TINY, UNIT


@dataclass(frozen=True)
class _Tuning:
    """Choices of the engine: they set widths and times, never whether bounds hold."""

    # Terms summed for one line, in all or for each distinct factor if that is more: at most about 0.3 s, or
    # 10 ms a factor, a third of the time that a lattice takes; and in all with a tolerance.
    terms: float = 8e7
    terms_each: float = 3e6
    extended_terms: float = 1e9
    # Relative width left by a smoothed line's Gaussian, or nats of epsilon; ten times less takes three times
    # the terms. A smoothed line that only locates an answer has ``coarser`` times the width, and fewer terms.
    smoothing: float = 2e-7
    nats: float = 4e-9
    coarser: int = 64
    # Levels of damping: Q loses less than e^-level, and an answer at most e^-taken of itself. Damping avoids
    # long periods where a loss is rare, and is tried for at most so many distinct factors.
    levels: tuple[float, ...] = tuple(36.0 * 1.13**k for k in range(24))
    taken: float = 20.0
    distinct: int = 8
    # Centers are close enough for splits with so ``few`` rounds, as lines are wide. Whether a line ends too
    # early is estimated with up to ``some`` rounds, or rare losses, and if psi is known only below e^tiny.
    few: int = 4
    some: int = 64
    tiny: float = -60.0
    negligible: float = -230.0  # no line is worth a smaller log delta, which ``measure`` does not count
    log_half: float = math.log(0.7)  # smaller deltas are bounded for c > 1, without a difference from 1
    farthest: float = 1e100  # larger losses overflow in the numbers of a line


_TUNING = _Tuning()


class Cost(NamedTuple):
    """Most ``terms`` summed for a line, of which smoothed lines take a ``share``; 0 terms: splits alone.

    ``accuracy`` is the width that smoothing may add to psi, relative, or ``nats`` that of the loss where psi
    takes a value, if that is more. Where rounding leaves more than ``fine`` nats, a split is tried; 0 is for
    the usual width of epsilon. ``tolerant`` ones have no tolerance: ``nats`` are relative to a loss above 1,
    and splits serve near losses as well.
    """

    terms: float
    accuracy: float
    share: float = 1.0
    nats: float = 0.0
    fine: float = math.inf
    tolerant: bool = True


class ContourCache:
    """All lines of one order of the pair: laws L_i with counts n_i, which may be damped from ``whole``."""

    def __init__(
        self,
        laws: Sequence[PrivacyLossDistribution],
        counts: Sequence[int],
        whole: ContourCache | None = None,
    ) -> None:
        self.laws, self.counts, self.whole = laws, counts, self if whole is None else whole
        # Most terms, nodes of a line times those of its quadratures, summed without a tolerance.
        self.usual_terms = max(_TUNING.terms, _TUNING.terms_each * len(laws))
        masses = [law.mass_at_plus_infinity for law in self.whole.laws]
        self.mass_at_plus_infinity = combine_masses_at_infinity(masses, counts)
        self.place, self.damped = lru_cache(1024)(self._place), cache(self._damped)

    @cached_property
    def leak(self) -> Bounds:
        """Bounds on Q(L = inf), which lines leave out of delta, though not of 1 - delta.

        Mass that damping takes off may be anywhere, at most at infinity.
        """
        most = combine_masses_at_infinity([law.mass_at_plus_infinity for law in self.laws], self.counts)
        return Bounds(self.mass_at_plus_infinity * (1 - 16 * UNIT), most * (1 + 16 * UNIT))

    def _damped(self, level: int) -> ContourCache:
        """Return the cache of laws without losses rarer than e^-levels[level]; self if no law has any."""
        if level == len(_TUNING.levels) or len(self.laws) > _TUNING.distinct:
            return self
        factors = zip(self.laws, self.counts, strict=True)
        laws = [damped_law(law, n, _TUNING.levels[level]) for law, n in factors]
        return self if all(map(is_, laws, self.laws)) else ContourCache(laws, self.counts, whole=self)

    def caches_for(
        self, kind: Kind, x: Array, log_psi: Array | None = None
    ) -> Iterator[tuple[ContourCache, Index]]:
        """Yield caches, the most damped first, with the indices of the losses x for which to use each.

        It lacks at most e^-20 of psi(x), about e^log_psi, there; for losses of a short period it is ``self``.
        """
        left = np.arange(len(x))
        if kind != "rest" and (short := self._has_short_period(x)).any():
            yield self, np.flatnonzero(short)
            left = np.flatnonzero(~short)
        for level in range(len(_TUNING.levels) + 1):
            if not len(left):
                break
            lines = self if kind == "rest" else self.damped(level)
            enough = np.ones(len(left), bool)
            if lines is not self:
                size = lines.saddles(kind).at(x[left]).log if log_psi is None else log_psi[left]
                enough = size > _TUNING.taken - _TUNING.levels[level]
            if enough.any():
                yield lines, left[enough]
            left = left[~enough]

    @np.errstate(over="ignore", invalid="ignore")  # no period is short far past all losses
    def _has_short_period(self, x: Array) -> NDArray[np.bool_]:
        """Whether the period of a line at each loss is of the size of losses, so that damping gains nothing.

        Rare large losses make it longer. Lines of damped laws have more complicated nodes.
        """
        if self.damped(0) is self:
            return np.ones(len(x), bool)
        longest, (c, _, sd, log, _, _) = 24.0 * (np.abs(x) + 8.0 * self.cumulant.spread), self.tail.at(x)
        # Whether planning points reach the losses of Chernoff points, most of which are 9 deviations from c:
        # estimates at tilts outside the points of a normal law miss its rare losses.
        scale = max((part.base.scale for law in self.laws for part in law.components() or ()), default=0.0)
        known = (c + 10.0 / np.maximum(sd, 1e-300)) * scale < REACH - 4.0
        # Distances of Chernoff points to the right, in deviations: at one of them the bound is nearly best,
        # and shows a period of ``longest`` to be enough for aliases of e^-32.
        gap = np.array([[1.0], [2.0], [4.0], [8.0]]) / np.maximum(sd, 1e-300)
        value = self.cumulant.values((c + gap).ravel()).reshape(gap.shape)
        result: NDArray[np.bool_] = np.any(value - (c + gap - 1) * x - log + 32.0 < gap * longest, axis=0)
        result &= known
        left = np.flatnonzero(~result)  # for which a line is placed
        for center, mine in group_by_key(self.snap_to_grid("delta", x[left])):
            place, some = self.place("delta", center, None), left[mine]
            # Of a normal sum a period is 9 spreads of the integrand: one below 24 has no rare large losses.
            near = place.step * place.scale > 2 * math.pi / 24 and place.right * scale < REACH - 4.0
            result[some] = (place.step * longest[some] > 2 * math.pi) & (known[some] | near)
        return result

    @cached_property
    def factors(self) -> Factors:
        """Factors to transform: alike laws in one, as rows of arrays."""
        return Factors(*batch_factors(self.laws, self.counts))

    @cached_property
    def reverse(self) -> ContourCache:
        """The cache of the other order."""
        return ContourCache([*map(ReversedPLD, self.laws)], self.counts)

    @cached_property
    def cumulant(self) -> Cumulant:
        return Cumulant(sketches(self.laws, self.counts))

    @cached_property
    def tail(self) -> SaddleTable:
        """The saddle points of c > 1, by loss."""
        return SaddleTable(self.cumulant, (0.0, 1.0), start=1.0)

    @cached_property
    def middle(self) -> SaddleTable:
        """The saddle points of 0 < c < 1, by loss."""
        return SaddleTable(self.cumulant, (0.0, 1.0), last=1 - 1e-9)  # there they are of losses above 1e9

    def saddles(self, kind: Kind) -> SaddleTable:
        """Return the saddle points of the strip of a kind."""
        return self.middle if kind == "rest" else self.tail

    def snap_to_grid(self, kind: Kind, x: Array) -> Array:
        """Return the center of the line that serves each loss x of this order: near ones share it.

        Of few rounds lines are wide, and centers are close enough for splits, too: within a third of a loss.
        """
        saddles = self.saddles(kind).at(x)
        spread = saddles.spread((0.0, 1.0))
        if kind != "rest":  # psi falls by at most e^-((c - 1) x), 6 nats from the center to a loss served
            spread = np.minimum(spread, 6.0 / (saddles.c - 1))
        if kind == "delta" and sum(self.counts) <= _TUNING.few and self.splittable:
            spread = np.where(
                may_split(self.whole.laws[0], np.minimum(x, _TUNING.farthest)),
                np.minimum(spread, x / 3),
                spread,
            )
        return snap_to_grid(x, spread, APART)

    def rare(self, x: Array) -> NDArray[np.bool_]:
        """Whether delta(x) is so small that it is bounded itself, and not 1 - delta(x)."""
        return (x >= 0) & (self.tail.at(x).log < _TUNING.log_half)

    def _log_rare(self, x: float) -> float:
        """Estimate log delta(x) where one rare large loss, or the sum of the others, exceeds x."""
        return float(np.interp(x, *self.whole.cumulant.rare))

    @property
    def splittable(self) -> bool:
        """Whether ``split`` may bound the product."""
        whole = self.whole
        alone = len(whole.laws) == 1 and whole.mass_at_plus_infinity == 0
        return alone and rarely_sampled(whole.laws[0], whole.counts[0]) is not None

    @cached_property
    def split_at(self) -> Callable[[float, float], SplitEnclosure | None]:
        """The function that returns the split about a loss, where delta is about e^log_psi."""
        return lru_cache(64)(partial(split, self.laws[0], self.counts[0], self.cumulant))

    def split(self, kind: Kind, x: float, log_psi: float | None, *, shared: bool) -> SplitEnclosure | None:
        """Return the split about x, where delta is about e^log_psi if known; None where it has none."""
        if kind != "delta" or not 0 < x < _TUNING.farthest or not self.splittable:
            return None
        if shared and log_psi is None:  # one center serves all losses within a sixth of them
            x = float(snap_to_grid(np.array([x]), np.array([x]) / 6, APART)[0])
        return self.whole.split_at(x, self._log_rare(x) if log_psi is None else log_psi)

    def enclose(self, kind: Kind, x: float, cost: Cost, log_psi: float | None = None) -> Enclosure | None:
        """Return bounds about the loss x of this order, where psi is about e^log_psi if known, or None.

        They are those of the sharp line, or where it ends too early of a split, the sharp line of the whole
        laws, or a smoothed line, for a share of the cost.
        """
        needs_line, enclosure = self._enclose_without_line(kind, x, cost, log_psi)
        if not needs_line:
            return enclosure
        sharp = self.sharp_line(kind, x, cost.terms, log_psi)
        if sharp is None:
            return None
        # By how much psi changes a nat about x, relative to itself: c - 1.
        slope = abs(float(self.saddles(kind).at(np.array([x])).c[0]) - 1) if cost.nats else 0.0
        nats = cost.nats * max(abs(x), 1.0) if cost.tolerant else cost.nats
        accuracy = max(cost.accuracy, slope * nats)
        finest = accuracy if cost.share == 1.0 else accuracy / _TUNING.coarser  # of the full effort
        # A Gaussian leaves as much of psi as a truncation by ``accuracy`` does.
        needs_smoothing = sharp.truncation_exceeds(max(10.0, accuracy / GOAL))
        divided = self.split(kind, x, log_psi, shared=cost.tolerant) if needs_smoothing else None
        if divided is not None or (cost.share < 1 and sharp.truncation_exceeds(1e14)):
            return divided  # without a split ten times psi would be left out, which locates nothing
        line = sharp
        if needs_smoothing:
            cost = cost._replace(terms=sharp.place.most)
            if self._whole_closes(kind, x, cost.terms, log_psi):
                return self.whole.enclose(kind, x, cost, log_psi)
            coarse = self.place(kind, x, log_psi, coarse=True)
            allowed = coarse._replace(most=cost.terms * cost.share)
            place = smoothed(allowed, accuracy, max(NODE_TERMS, len(self.laws), sharp.lasting_terms))
            if place.smoothing_width <= 1.0:  # it would be lost in a wider Gaussian
                line = self.factors.line(place) or sharp
        noisy = False
        if kind == "delta" and not needs_smoothing and (cost.fine < math.inf or self.splittable):
            fine, noise = cost.fine or max(1e-8, min(1e-6 * x, 1e-7 * max(x, 1.0))), line.noise(x)
            noisy = noise > 0.4 * (line.place.c - 1) * fine  # either way, and psi falls by c - 1 a nat
            # A line of more noise than 1 % does not lead to the answer; less matters for the final one alone.
            worth = noise > 0.01 or (noisy and cost.share == 1.0)
            if worth and (divided := self.split(kind, x, log_psi, shared=cost.tolerant)) is not None:
                return divided
        # A narrower Gaussian gains nothing where the nodes end before it takes over.
        finer = sharp.truncation_exceeds(10) and not needs_smoothing
        finer |= 0 < line.place.smoothing_width < 1.01 * math.sqrt(accuracy / line.place.blur)
        lost = Bounds(0.0, 0.0) if kind == "rest" else self.leak
        return LineEnclosure(
            line,
            lost,
            many=not cost.nats,
            kind=kind,
            center=-x if kind == "other" else x,
            scale=line.place.scale,
            leak=float(lost.lower),
            refinement_factor=math.inf if finer and not line.truncation_exceeds(300) else 1.0,
            final=not sharp.truncation_exceeds(max(10.0, finest / GOAL)),
            noisy=noisy,
        )

    def _enclose_without_line(
        self, kind: Kind, x: float, cost: Cost, log_psi: float | None
    ) -> tuple[bool, Enclosure | None]:
        """Return whether a line is needed, and else bounds of a split or of the whole laws, or None.

        A line is not where it is estimated to end too early.
        """
        if abs(x) > _TUNING.farthest or cost.terms == 0:
            return False, self.split(kind, x, log_psi, shared=cost.tolerant)
        is_rare = self.whole is not self or sum(self.counts) <= _TUNING.some
        is_tiny = log_psi is None or log_psi < _TUNING.tiny
        if not (kind == "delta" and is_rare and is_tiny and self.splittable):
            return True, None
        # Of damped laws the saddle's estimate of psi is too large where rare losses make it.
        size = self._log_rare(x) if log_psi is None and self.whole is not self else log_psi
        place = self.place(kind, x, size)._replace(most=min(self.usual_terms, cost.terms))
        known = self.factors.transforms(place.c) if place.drawable else None
        truncation = math.inf if known is None else log_truncation(known[0], self.factors.counts, place)
        left = math.exp(min(truncation, 700.0))  # over its goal
        if left <= max(10.0, cost.accuracy / GOAL):  # as of a line that is drawn
            return True, None
        divided = self.split(kind, x, log_psi, shared=cost.tolerant)
        is_negligible = cost.tolerant and log_psi is None and self._log_rare(x) < _TUNING.negligible
        usual = cost.terms <= self.usual_terms  # with more the line may close
        # Ten times psi would be left out, which locates nothing.
        is_void = usual and cost.share < 1 and left > 1e14
        if divided is not None or is_negligible or is_void:
            return False, divided
        if usual and self._whole_closes(kind, x, cost.terms, log_psi):
            return False, self.whole.enclose(kind, x, cost, log_psi)
        return True, None

    def _whole_closes(self, kind: Kind, x: float, terms: float, log_psi: float | None) -> bool:
        """Whether a sharp line of other, whole laws meets its goal: on a path it may have fewer nodes."""
        whole = self.whole
        sharp = None if whole is self else whole.sharp_line(kind, x, terms, log_psi)
        return sharp is not None and not sharp.truncation_exceeds(10)

    def sharp_line(self, kind: Kind, x: float, terms: float, log_psi: float | None) -> ContourLine | None:
        """Return the line without smoothing about the loss x, or None where its numbers overflow.

        It sums all ``terms``, unless the usual ones leave a truncation above 0.05: ten times the terms would
        not bring it to its goal.
        """
        place, usual = self.place(kind, x, log_psi), min(self.usual_terms, terms)
        sharp = self.factors.line(place._replace(most=usual))
        if terms > usual and (sharp is None or sharp.tail_bound <= 0.05):
            sharp = self.factors.line(place._replace(most=terms))
        return sharp

    def chernoff_bound(self, x: Array, level: Array | None = None) -> Array:
        """Bound psi from above by Chernoff's bound at the best tilt, or at one that shows it below ``level``.

        That is the least such tilt, as quadratures are shorter at lesser ones; where none is estimated to
        show it, by e^(1/2), the bound is 1. Tilts are those of the saddle table, 0.6 deviations apart:
        between two of them a bound loses at most e^(0.3^2/2).
        """
        result, x = np.ones(len(x)), np.minimum(x, _TUNING.farthest)  # psi falls
        c, _, _, _, value, _ = self.tail.up_to(float(np.max(x, initial=-math.inf)))
        estimate = value + log_kappas(c) - np.multiply.outer(x, c - 1)
        best = np.argmin(estimate, axis=1)
        if level is not None:
            enough = estimate <= np.log(np.maximum(level, TINY))[:, None] - 0.5
            best = np.where(enough.any(axis=1), np.argmax(enough, axis=1), -1)
        for tilt, mine in group_by_key(np.where(best < 0, 0.0, c[best])):
            if tilt:
                result[mine] = self.factors.chernoff(tilt).psi(x[mine])[1]
        return result

    def _place(self, kind: Kind, x: float, log_psi: float | None, *, coarse: bool = False) -> Placement:
        """Place a line at the loss x, one of a shorter period if ``coarse``."""
        if coarse:
            return coarse_placement(self.cumulant, x, self.place(kind, x, log_psi))
        return place_line(self.saddles(kind), x, log_psi, middle=kind == "rest")


@dataclass(frozen=True, eq=False)
class LineEnclosure(Enclosure):
    """A line as bounds about its center, a loss of the question's order: psi + ``lost``, the leak or 0.

    Epsilon takes some 20 sums of its nodes, curves ``many``.
    """

    line: ContourLine
    lost: Bounds
    many: bool

    def bound(self, x: Array) -> Bounds:
        psi = Bounds(*self.line.psi(-x if self.kind == "other" else x, many=self.many))
        return psi + self.lost if self.lost.upper else psi


class ContourEngine(Engine[Cost]):
    """Bounds from saddle-point contours, for laws whose transforms have a closed form.

    A first question costs 5 to 50 ms a distinct factor, of many sampled normal pairs 1 ms each, later ones
    near it about 1 ms; counts cost nothing.
    """

    name = "contour"
    forward: ContourCache

    def __init__(
        self, laws: Sequence[PrivacyLossDistribution], counts: Sequence[int], *, symmetric: bool = False
    ) -> None:
        plain = [law.single_rounds(count) for law, count in zip(laws, counts, strict=True)]
        laws, counts = [law for law, _ in plain], [count for _, count in plain]
        self.forward, self.symmetric = ContourCache(laws, counts), symmetric
        self.possible = all(law.components() is not None for law in laws)  # in closed form
        self.extended_budget = True  # whether more terms than usual are summed for a tolerance
        # Whether it answers by splits alone, a tenth of a second each; and whether each loss then has its own
        # center, which is narrower, or shares that of all within a third of it.
        self.splits_only, self.own_centers = False, False

    @property
    def backward(self) -> ContourCache:
        """What makes the enclosures of the other order of the pair."""
        return self.forward if self.symmetric else self.forward.reverse

    def varied(self, **flags: bool) -> ContourEngine:
        """Return the engine with other flags; it shares caches."""
        made = copy(self)
        vars(made).update(flags)
        return made

    def initial_effort(self, question: Question, tol: float | None) -> Cost:
        """Return the usual cost, or for a tolerance that of smoothing to it, with the extended budget."""
        if self.splits_only:
            return Cost(0.0, 0.0, tolerant=not self.own_centers)
        fine = (tol or 0.0) if question == "epsilon" else math.inf
        if tol is None:
            if question == "epsilon":
                return Cost(self.forward.usual_terms, 5 * _TUNING.smoothing, nats=_TUNING.nats, fine=fine)
            return Cost(self.forward.usual_terms, _TUNING.smoothing)
        terms = _TUNING.extended_terms if self.extended_budget else self.forward.usual_terms
        if question == "epsilon":  # bounds are 0.9 of ``nats`` apart
            nats = min(_TUNING.smoothing, tol / 1.25)
            return Cost(terms, 0.0, nats=nats, fine=fine, tolerant=False)
        return Cost(terms, min(_TUNING.smoothing, tol / 3.0), tolerant=False)

    def refine(self, effort: Cost, by: float) -> Cost:
        return effort._replace(accuracy=effort.accuracy / by, nats=effort.nats / by)

    def coarse(self, effort: Cost) -> Cost:
        if self.splits_only:
            return effort
        coarser = _TUNING.coarser
        share = min(self.forward.usual_terms / effort.terms, 1.0) / coarser
        accuracy, nats = coarser * effort.accuracy, coarser * effort.nats
        return effort._replace(accuracy=accuracy, nats=nats, share=share)

    def evaluation_points(self, x: Array, delta: Array | None = None) -> Iterator[tuple[Place[Cost], Index]]:
        """Yield for each kind, cache and center a function of the cost, and the indices of its losses."""
        far = self.forward.rare(x)
        other = x < 0
        if other.any():
            other[other] = self.backward.rare(-x[other])
        with np.errstate(divide="ignore"):
            log_delta = None if delta is None else np.log(delta - self.forward.mass_at_plus_infinity)
        strips: list[tuple[Kind, ContourCache, NDArray[np.bool_]]] = [("delta", self.forward, far)]
        if other.any():
            strips.append(("other", self.backward, other & ~far))
        strips.append(("rest", self.forward, ~(far | other)))
        for kind, lines, mine in strips:
            if not len(at := np.flatnonzero(mine)):
                continue
            loss = -x[at] if kind == "other" else x[at]
            known = log_delta[at] if kind == "delta" and log_delta is not None else None
            for part, some in lines.caches_for(kind, loss, known):
                if known is not None:  # a line for each loss, at its own log psi
                    for k in some.tolist():
                        enclose = partial(part.enclose, kind, float(loss[k]), log_psi=float(known[k]))
                        yield enclose, at[k : k + 1]
                    continue
                near = loss[some]
                if not self.own_centers:
                    wide = self.splits_only
                    near = snap_to_grid(near, near / 3, APART) if wide else part.snap_to_grid(kind, near)
                for center, which in group_by_key(near):
                    yield partial(part.enclose, kind, center), at[some[which]]

    def loss_at_delta(self, delta: Array) -> Array:
        """Estimate epsilon(delta) by the saddles of psi, or of 1 - delta where delta is large."""
        lines = self.forward
        log_psi = np.log(delta - lines.mass_at_plus_infinity)
        x = lines.tail.x_for(log_psi)
        # Where rare rounds lose much no tilt is about the others, and estimates are too large.
        rarely = self.splits_only or lines.damped(0) is not lines
        least = np.minimum(x, lines.cumulant.rare_loss(log_psi)) if rarely else x
        if self.splits_only:
            return least
        for part, which in lines.caches_for("delta", least, log_psi):
            if part is not lines:
                log = log_psi[which]
                x[which] = np.minimum(part.tail.x_for(log), part.cumulant.rare_loss(log))
        near = log_psi >= _TUNING.log_half  # where 1 - delta is bounded
        x = np.where(near, x, np.maximum(x, 0.0))  # from there lines lead to small losses below 0
        if near.any():
            result = bracket_root(lambda x: -lines.middle.at(x).log, -np.log1p(-delta[near]))[1]
            x[near] = np.clip(result, -1e4, 1e4)
        return x

    def ceiling(self, x: Array) -> Array:
        """Bound delta(x) from above by a coarse line, or infinity."""
        effort = self.coarse(self.initial_effort("delta", None))
        return self._at(x, effort).high

    def tail_fallback(self, question: Question, at: Array, low: Array, high: Array) -> Array:
        """Lower upper bounds that are nearly trivial to Chernoff's, at one real tilt."""
        lines = self.forward
        if question == "delta":
            # Where rare losses are large the bound is trivial: without those rarer than e^-598 it is not.
            for part in dict.fromkeys((lines, lines.damped(len(_TUNING.levels) - 1))):
                mine = np.flatnonzero(((high >= 1) | (high < 1e-290)) & (at > 0))
                chernoff = (part.leak + part.chernoff_bound(at[mine])).upper
                high[mine] = np.minimum(chernoff, np.minimum(high[mine], 1.0))
        elif question == "epsilon":
            for k in np.flatnonzero(~(high - low < 1.0)):
                psi = float((at[k] - lines.leak).lower)
                if psi > 0:
                    high[k] = min(high[k], lines.factors.epsilon_ceiling(lines.cumulant, psi))
        return high
