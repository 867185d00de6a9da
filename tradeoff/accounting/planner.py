"""The planner: bounds on a product of privacy loss distributions, from the engines that suit it.

It runs engines one by one, the narrowest for its cost first, and intersects their bounds, until these are as
narrow as wanted. The leak is Q(L = inf) of the product; a question is delta, epsilon or beta, "at" losses,
deltas or alphas. Losses are in nats, bounds pairs of arrays (low, high).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tradeoff.accounting.contour.engine import ContourEngine
from tradeoff.accounting.engine import Engine
from tradeoff.accounting.options import TRACE, WIDTHS, Method, Question, Step, measure, query_options
from tradeoff.accounting.saddles import Cumulant, epsilon_for_alpha
from tradeoff.intervals.bounds import Array, Bounds, Pair
from tradeoff.intervals.functions import clip, exp, expm1, log, log1p, minimum
from tradeoff.pld.batched import sketches
from tradeoff.pld.law import PrivacyLossDistribution, bound_mass, combine_masses_at_infinity
from tradeoff.pld.units import TINY, UNIT

if TYPE_CHECKING:
    from tradeoff.accounting.lattice.engine import LatticeEngine


Choice = tuple[Engine[Any], str]  # an engine, and the reason to use it


class Composition:
    """Bounds on every question about the product of ``laws`` with multiplicities ``counts``."""

    def __init__(
        self,
        laws: Sequence[PrivacyLossDistribution],
        counts: Sequence[int],
        *,
        symmetric: bool = False,
        once: bool = False,
    ) -> None:
        self.laws, self.counts, self.symmetric, self.once = list(laws), list(counts), symmetric, once
        below = [law.mass_at_minus_infinity for law in laws]
        above = [law.mass_at_plus_infinity for law in laws]
        self.mass_at_minus_infinity = combine_masses_at_infinity(below, counts)
        self.mass_at_plus_infinity = combine_masses_at_infinity(above, counts)
        # Bound on the error of masses at infinity of few digits, as subnormal floats have, over all rounds:
        # each is off by TINY for every law inside another, 16 at most, and their union by the sum of all.
        # 1e12 rounds of 1e-311 are 1e-299, but known to 1e-13 of it only.
        ends = zip(below, above, counts, strict=True)
        few = sum(n for low, high, n in ends if 0 < low < 2.0**-960 or 0 < high < 2.0**-960)
        self._leak_error = 64 * TINY * float(few + 4) if few else 0.0
        self._leak = Bounds(0.0, 0.0)  # on Q(L = inf), known to 16 units of itself besides
        if not self.mass_at_plus_infinity == 0 == self._leak_error:
            error = Bounds(-self._leak_error, self._leak_error)
            self._leak = clip(bound_mass(self.mass_at_plus_infinity) + error, 0.0, 1.0)
        # Rounds with a continuous law; and whether a factor has no finite mass in floats: nothing to compose.
        self.rounds = sum(n for law, n in zip(laws, counts, strict=True) if law.continuous)
        self.spent = any(not law.continuous and len(law.atoms.loss) == 0 for law in laws)

    @cached_property
    def supremum(self) -> float:
        """Return an upper bound on the finite losses.

        Every round's is rounded up, their sum by 4 units of its terms.
        """
        ends = [count * law.ends.most for law, count in zip(self.laws, self.counts, strict=True)]
        return math.fsum(ends) + 4 * UNIT * math.fsum(map(abs, ends))

    @cached_property
    def _last_atom(self) -> tuple[float, float] | None:
        """Bound the loss of the product's last atom and the log of its mass under Q, from below.

        Each term errs by 3 units of its summands, its count and product by two more, and a sum by one.
        """
        losses, logs = [], []
        for law, n in zip(self.laws, self.counts, strict=True):
            if not len(law.atoms.loss) or law.atoms.slack[-1] >= 1:
                return None
            at, log_p, slack, error = (float(each[-1]) for each in law.atoms)
            low = at - error
            losses.append(n * (low - 8 * UNIT * abs(at)))
            logs.append(n * (low + log_p + math.log1p(-slack) - 8 * UNIT * (abs(at) + abs(log_p) + 1)))
        loss, log_q = (math.fsum(each) - 4 * UNIT * math.fsum(map(abs, each)) for each in (losses, logs))
        return loss, log_q

    @cached_property
    def lattice(self) -> LatticeEngine:
        """The lattice, loaded with its first use."""
        from tradeoff.accounting.lattice.engine import LatticeEngine

        engine = LatticeEngine(self.laws, self.counts, symmetric=self.symmetric)
        engine.single_pass = self.once
        return engine

    @cached_property
    def contour(self) -> ContourEngine:
        """Contours of the transform."""
        return ContourEngine(self.laws, self.counts, symmetric=self.symmetric)

    @cached_property
    def exact(self) -> Engine[Any] | None:
        """The engine of exact sums, where the atoms of the product, or of all factors but one, are few.

        That one must be symmetric, with a formula for its profile, as sums ask it for losses of both signs.
        """
        if self.rounds > 1:
            return None
        from tradeoff.accounting.exact import ExactEngine, ProfileSumEngine, product

        pairs = list(zip(self.laws, self.counts, strict=True))
        others = [(law, n) for law, n in pairs if not law.continuous]
        if not others or (rest := product(*zip(*others, strict=True))) is None:
            return None
        if not self.rounds:
            return ExactEngine(rest, self.mass_at_plus_infinity)
        (law,) = (law for law in self.laws if law.continuous)
        if not law.symmetric or law.profile(Bounds.of(np.zeros(1))) is None:
            return None
        # Else contours are faster: a transform has the atoms of one round each, of which powers have many.
        if len(rest.loss) > min(max(2 * sum(len(law.atoms.loss) for law, _ in others), 128), 4096):
            return None
        masses, counts = zip(*((law.mass_at_plus_infinity, n) for law, n in others), strict=True)
        above = combine_masses_at_infinity(masses, counts)
        return ProfileSumEngine(law, rest, above, Cumulant(sketches(self.laws, self.counts)))

    @cached_property
    def law(self) -> PrivacyLossDistribution | None:
        """The law of the sum of all losses, or None where lines of its transform do not give it."""
        if self.spent or not self.rounds or any(law.lost for law in self.laws) or not self.contour.possible:
            return None
        from tradeoff.accounting.composed_law import ComposedLaw

        law = ComposedLaw(self.laws, self.counts, symmetric=self.symmetric)
        return law if law.usable else None

    def choices(
        self, method: Method | None, tol: float | None = None, question: Question = "epsilon"
    ) -> Iterator[Choice]:
        """Yield the engines to use, in order, each with the reason; a method forces one."""
        if self.spent or method == "closed-form":
            return
        coarse = tol is None or tol >= 2e-7  # a second of the lattice reaches it; below, contours are first
        if method is not None:
            forced = self.exact if method == "exact" else getattr(self, method)
            yield from [(forced, "requested")] if forced is not None else []
        elif self.exact is not None:
            many = "all factors but one" if self.rounds else "the product"
            yield self.exact, f"the atoms of {many} are few: they are added up"
        elif not self.contour.possible:
            yield self.lattice, "a density has no closed form: only the lattice holds it"
        elif not self.rounds and self._on_one_lattice:
            yield self.lattice, "all losses are multiples of one spacing: the lattice is exact"
            yield self.contour, "the lattice was wide"
        elif (coarse or (question == "delta" and self.contour.forward.splittable)) and self._few_or_rare:
            yield from self._choices_of_few(tol, question, coarse=coarse)
        elif tol is not None and any(law.continuous and len(law.atoms.loss) for law in self.laws):
            yield self.contour.varied(extended_budget=False), "all densities have closed forms"
            yield self.lattice, "the contour was wide"
            yield self.contour, "the lattice was wide: where atoms last, contours are slow"
        else:
            yield self.contour, "all densities have closed forms"
            yield self.lattice, "the contour was wide"

    def _choices_of_few(self, tol: float | None, question: Question, *, coarse: bool) -> Iterator[Choice]:
        """Yield the engines for few rounds, or rare large losses."""
        splits = self.contour.forward.splittable
        if splits and question != "epsilon" and tol is None:  # of many losses most are small: short lines
            yield self.contour, "lines and splits by the largest loss serve many losses"
            yield self.lattice, "the contour was wide"
            return
        if splits:
            own_centers = tol is not None and question == "delta"
            by_splits = self.contour.varied(splits_only=True, own_centers=own_centers)
            yield by_splits, "few rounds lose much: the largest loss is most of the sum"
        if coarse:
            yield self.lattice, "few rounds lose much: contours are slow there"
            yield self.contour, "the lattice was wide"
        else:
            yield self.contour, "the split was wide"
            yield self.lattice, "the contour was wide"

    @property
    def _on_one_lattice(self) -> bool:
        """Whether an FFT is exact but for rounding, which is multiplied by the number of rounds."""
        if sum(self.counts) > 2**20:
            return False
        from tradeoff.accounting.lattice.place import on_one_lattice

        return on_one_lattice(self.laws)

    @property
    def _few_or_rare(self) -> bool:
        """Whether the lattice is the narrower engine, as the sum of losses is nearly that of one.

        By the rounds, or where the excess of the kurtosis of the sum, halfway between both laws, is large.
        The lattice takes a tenth of a second for each distinct law, and of many is wide.
        """
        if not self.rounds or len(self.laws) > 6 or any(law.damping for law in self.laws):
            return False
        # Sums that are nearly atomic have slow contours.
        if self.rounds <= 4 and any(len(law.atoms.loss) for law in self.laws):
            return True
        if self.rounds > 1024:
            return False
        cumulant, total, fourth = self.contour.forward.cumulant, 0.0, 0.0
        points = np.split(cumulant.loss, cumulant.starts[1:])
        for loss, weight, n in zip(points, cumulant.weights(0.5)[0], cumulant.counts, strict=True):
            off = loss - weight @ loss
            variance = float(weight @ off**2)
            total, fourth = total + n * variance, fourth + n * (float(weight @ off**4) - 3 * variance**2)
        return bool(fourth > (2.0 if self.rounds <= 24 else 40.0) * total**2)

    def answer(self, question: Question, at: Array, tol: float | None, engines: int | None = None) -> Pair:
        """Bound delta at losses, epsilon at deltas, or f at alphas in (0, 1).

        ``tol`` is a width as in ``measure``; without it, engines run while each gains enough for its time, or
        only so many ``engines``.
        """
        (low, high), waiting = self._bound_without_engine(question, at)
        if not waiting.any():
            return low, high
        reached = np.full(len(at), np.inf)
        for engine, why in islice(self.choices(query_options().method, tol, question), engines):
            started = perf_counter()
            answer = partial(self._answer_charged, engine) if self._leak_error else engine.answer
            below, above = answer(question, at[waiting], tol, reached[waiting])
            # Overflow gives NaN, which fmax and fmin ignore.
            low[waiting], high[waiting] = np.fmax(low[waiting], below), np.fmin(high[waiting], above)
            with np.errstate(invalid="ignore"):
                reached = measure(question, at, low, high, tol)
            if (steps := TRACE.get()) is not None:
                widest, seconds = float(np.max(reached[waiting])), perf_counter() - started
                steps.append(Step(engine.name, why, question, widest, seconds))
            enough = np.full(len(at), WIDTHS[engine.name][question].enough if tol is None else tol)
            if tol is None and question == "epsilon":  # relative to a large epsilon, and less for a tiny one
                enough *= np.where(np.isfinite(high), np.where(high < 0.01, 0.05, np.maximum(high, 1.0)), 1.0)
                enough *= len(self.laws) if len(self.laws) > 6 else 1  # the lattice of many laws is wide
            waiting = waiting & ~(reached <= enough)
            if not waiting.any():
                break
        if question == "delta" and (wide := (at > 0) & (high > np.maximum(2 * low, 1e-9))).any():
            high[wide] = np.minimum(high[wide], self._variation)
        if question == "epsilon" and len(left := np.flatnonzero(waiting & ~(reached <= 1e-3))):
            high[left] = np.minimum(high[left], self._epsilon_below_losses(at[left], least=0.0))
            left = left[~(high[left] - low[left] <= 2e-3 * np.maximum(high[left], 1.0))]
            if tol is None and engines is None and not self.once and len(left):
                # Engines that seek a width take seconds where few rounds are not alike, but reach it.
                below, above = self.answer(question, at[left], 1e-3)
                low[left], high[left] = np.fmax(low[left], below), np.fmin(high[left], above)
        return low, high

    def _bound_without_engine(self, question: Question, at: Array) -> tuple[Pair, NDArray[np.bool_]]:
        """Bound the answers without an engine, and mark the entries that need one."""
        if question == "beta":
            return (np.zeros(len(at)), self._chord(at)), np.ones(len(at), bool)
        leak = self._leak
        if question == "delta":
            over = at >= self.supremum + 1e-12 * abs(self.supremum)  # larger than all finite losses
            least = -expm1(minimum(at, 0.0)).upper + 0.0  # delta >= 1 - e^eps
            known = np.maximum(leak.lower, least), np.where(over, leak.upper, 1.0)
            return known, ~over & (at > -745.0)  # below, e^epsilon underflows, and delta is 1 to rounding
        low = np.where(at < leak.lower, np.inf, log1p(-at).lower)  # as e^eps >= 1 - delta
        high = np.where((self.mass_at_plus_infinity == 0) & (at >= 0), self.supremum, np.inf)
        high = np.minimum(high, self._epsilon_below_losses(at))
        if self._last_atom is not None:
            # An atom of Q-mass q at a loss l leaves delta(x) >= q (1 - e^(x - l)).
            loss, log_q = self._last_atom
            share = clip(exp(log(Bounds.of(np.maximum(at, TINY))) - log_q), 0.0, 1.0)
            low = np.maximum(low, (loss + log1p(-share)).lower)
        with np.errstate(invalid="ignore"):  # both sides of epsilon may be infinite
            # At 64 units of itself no engine brings the bounds closer.
            settled = np.isfinite(high) & (high - low <= 64 * UNIT * (1 + np.abs(high)))
        return (low, high), (at > leak.upper) & ~settled

    def _epsilon_below_losses(self, delta: Array, least: float | None = None) -> Array:
        """Bound epsilon where it is below nearly all losses, and infinite elsewhere.

        Only deltas above ``least`` are tried, or above the deviation of the sum: at others it rarely is.
        There delta'(-x) of the other order is next to nothing in delta(x) = 1 - e^x (1 - delta'(-x)). With c
        >= delta'(y - 1e-9), y = -log1p(-delta), and -log1p(-c) <= 1e-9, x = -y - log1p(-c) has delta'(-x) <=
        c, and so delta(x) <= 1 - e^x (1 - c) = delta. So it is with any c <= delta that bounds delta(0) =
        delta'(0), the total variation.
        """
        result = np.full(len(delta), np.inf)
        if self.spent or self.exact or not self.contour.possible or self.mass_at_minus_infinity:
            return result
        least = self.contour.forward.cumulant.spread if least is None else least
        mine = np.flatnonzero((delta > least) & (delta < 1))
        if len(mine):
            x, lines = log1p(-Bounds.of(delta)), self.contour.backward.damped(2)  # no losses below e^-46
            c = (lines.leak + lines.chernoff_bound(-x.upper[mine] - 1e-9)).upper
            near = c < 5e-10
            if not near.all():
                c = np.where(near, c, self._variation)
                near |= c <= delta[mine]
            result[mine[near]] = (Bounds(x.lower[mine], x.upper[mine]) - log1p(-Bounds.of(c))).upper[near]
        return result

    def estimate_losses(self, alpha: Array) -> list[tuple[Array, float]]:
        """Return the losses, by the first engine's estimate, whose tests have size alpha, and their spread.

        That is one pair in a list, which is empty where no engine answers.
        """
        for engine, _ in self.choices(query_options().method):
            return [(epsilon_for_alpha(engine.cumulant, alpha), engine.cumulant.spread)]
        return []

    def ceiling(self, epsilon: Array, level: Array) -> Array:
        """Bound delta(epsilon) from above: by the supremum of losses, Chernoff's bound, or a coarse line.

        The next of these is computed only where the last is above ``level``, the delta to compare with. A
        line costs half as much at a known loss as a search for the loss.
        """
        (_, high), waiting = self._bound_without_engine("delta", epsilon)
        if waiting.any() and not self.spent and self.contour.possible:
            enough = level[waiting] - self._leak.upper
            chernoff = self.contour.forward.chernoff_bound(epsilon[waiting], enough)
            high[waiting] = np.minimum((self._leak + chernoff).upper, 1.0)
            waiting &= high > level
            first, _ = next(self.choices(query_options().method), (None, ""))
            if waiting.any() and first is self.contour:
                lines = (Bounds.of(self.contour.ceiling(epsilon[waiting])) + self._leak_error).upper
                high[waiting] = np.minimum(high[waiting], lines)
        return high

    @property
    def _variation(self) -> float:
        """Bound the total variation delta(0), which is above all delta(x), x > 0."""
        return float(self.answer("delta", np.zeros(1), None)[1][0])

    def _answer_charged(
        self, engine: Engine[Any], question: Question, at: Array, tol: float | None, known: Array
    ) -> Pair:
        """Bound answers by an engine and ``_leak_error``, which moves delta and beta by itself at most."""
        off = Bounds.of(self._leak_error)
        if question != "epsilon":
            low, high = engine.answer(question, at, tol, known)
            return (low - off).lower, (high + off).upper
        above = (at + off).upper
        low = engine.answer(question, np.minimum(above, 1 - UNIT), tol, known)[0]
        high = engine.answer(question, np.maximum((at - off).lower, TINY), tol, known)[1]
        return np.where(above < 1, low, -np.inf), np.where(at > off.upper, high, np.inf)

    def _chord(self, alpha: Array) -> Array:
        """Bound f from above: by the chord from f(0) = Q(L < inf) to f(P(L > -inf)) = 0, and by 1 - alpha."""
        left = (1 - self._leak).upper
        right = (1 - bound_mass(self.mass_at_minus_infinity)).upper
        if right <= 0:
            return np.zeros(len(alpha))
        rest: Array = (1 - Bounds.of(alpha)).upper
        if left == right == 1:
            return rest
        chord = (left * (1 - Bounds.of(alpha) / right)).upper
        return np.where(alpha < right, np.minimum(chord, rest), 0.0)
