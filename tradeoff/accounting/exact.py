"""Products of finitely many atoms, and of one continuous law with them, added up without a lattice.

Atoms have losses, log-masses under P, and slacks, relative errors of the masses; "off" is an absolute error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln

from tradeoff.accounting.conjugation import conjugate
from tradeoff.accounting.engine import Enclosure, Engine, Place, bound_delta
from tradeoff.accounting.lattice.convolve import ProfileTable
from tradeoff.accounting.options import WIDTHS, Question
from tradeoff.accounting.saddles import Cumulant, SaddleTable, epsilon_for_alpha
from tradeoff.intervals.bounds import Array, Bounds, Index, Pair
from tradeoff.intervals.functions import clip
from tradeoff.pld.discrete import AtomicLaw, merged
from tradeoff.pld.law import Atoms, PrivacyLossDistribution, bound_mass, combine_masses_at_infinity
from tradeoff.pld.special import applied
from tradeoff.pld.units import SUBNORMAL, TINY, UNIT, down, up

MAX_PRODUCT = 2**20  # most atoms of a product taken exactly; of more, the lattice answers
# Most slack: 2^330 is that of 330 masses of slack 1 multiplied, each below 1e-14, and no float holds these.
_UNKNOWN = 1e100


class ExactEngine(Engine[None]):
    """Bounds from the atoms of the product, whose finite part is ``law``."""

    name = "exact"
    forward: Enclosure
    backward: Enclosure

    def __init__(self, law: AtomicLaw, mass_at_plus_infinity: float) -> None:
        self.law, self.mass_at_plus_infinity = law, mass_at_plus_infinity
        self.forward = self.backward = tabulate(law, mass_at_plus_infinity)

    def initial_effort(self, question: Question, tol: float | None) -> None:
        """Return None: there is one table, as fine as it gets."""

    def evaluation_points(self, x: Array, delta: Array | None = None) -> list[tuple[Place[None], Index]]:
        forward, backward = np.flatnonzero(x >= 0), np.flatnonzero(x < 0)
        return [(lambda _: self.forward, forward), (lambda _: self.backward, backward)]

    def loss_at_delta(self, delta: Array) -> Array:
        return self.forward.crossing(delta, delta)

    @cached_property
    def cumulant(self) -> Cumulant:
        return Cumulant([(self.law.sketch(), 1)])

    def answer(self, question: Question, at: Array, tol: float | None, known: Array | None = None) -> Pair:
        """Bound f from the vertices of the curve itself, and delta and epsilon from a table."""
        if question == "beta":
            return beta(self.law, self.mass_at_plus_infinity, at)
        return super().answer(question, at, tol, known)


@dataclass(frozen=True, eq=False, kw_only=True)
class ProfileSum(Enclosure):
    """Profile of f (x) g by that of g, f with Q-masses q_j at losses l_j and Q(L_f = inf) = r, all bounds.

    delta(x) = E_Q (1 - e^(x - L_f - L_g))_+, where L_f = l_j leaves delta_g(x - l_j), and L_f = inf leaves 1:

        delta(x) = sum_j q_j delta_g(x - l_j) + r.

    In the other order losses are -L and Q is P: the atoms are p_j at -l_j, and r is P(L_f = -inf).
    """

    law: PrivacyLossDistribution
    """That of g, which is symmetric."""

    loss: Bounds[Array]
    mass: Bounds[Array]
    rest: Bounds[float]

    def bound(self, x: Array) -> Bounds[Array]:
        """Bound delta(x), or of kind "other" the other order's delta(-x)."""
        x = -x if self.kind == "other" else x
        n, low, high = len(self.loss.lower), np.empty(len(x)), np.empty(len(x))
        each = max(2**16 // n, 1)  # numbers at once stay in a cache
        for first in range(0, len(x), each):
            some = slice(first, first + each)
            at = Bounds.of(x[some, None]) - self.loss
            profile = self.law.profile(Bounds(at.lower.ravel(), at.upper.ravel()))
            assert profile is not None  # noqa: S101 - laws without one are not added up
            for result, side, mass in zip((low, high), profile, self.mass, strict=True):
                result[some] = applied(side.reshape(-1, n), mass)
        # A sum of n products of positive numbers errs by n units of itself, each by underflow.
        return Bounds(down(low, n + 2) - n * TINY, up(high, n + 2) + n * TINY) + self.rest

    def crossing(self, delta: Array, guess: Array) -> Array:
        """Search the range of losses: between atoms delta may be flat, where no slope leads to a level."""
        far = max(float(np.max(self.loss.upper)) + self.law.ends.most, 0.0)  # the largest loss
        low = np.full(len(delta), 0.0 if self.kind == "delta" else -far)
        parts, width = np.arange(1, 8), far / 8
        for _ in range(17):  # eighths, to a unit in the last place
            x = low[:, None] + width * parts
            before = bound_delta(self, x.ravel()).lower.reshape(x.shape) > delta[:, None]
            low, width = low + width * np.sum(before, axis=1), width / 8
        return low


class ProfileSumEngine(ExactEngine):
    """Bounds from the profile of the one factor with a continuous law, added up over the atoms of the others.

    ``others`` is the law of their product, without ``mass_at_plus_infinity``.
    """

    forward: ProfileSum

    def __init__(
        self,
        law: PrivacyLossDistribution,
        others: AtomicLaw,
        mass_at_plus_infinity: float,
        cumulant: Cumulant,
    ) -> None:
        self.cumulant = cumulant
        loss = Bounds.of(others.loss) + Bounds(-others.atoms.error, others.atoms.error)  # l_j
        logs, lost = (others.log_p, others.log_p + others.loss), Bounds(0.0, others.lost)
        p, q = (
            Bounds.of(_masses(log).astype(float)) * Bounds(np.maximum(1 - slack, 0.0), 1 + slack)
            for log, slack in zip(logs, _slacks(others), strict=True)
        )
        below = bound_mass(others.mass_at_minus_infinity) + lost
        above = bound_mass(mass_at_plus_infinity) + lost
        scale, leak = cumulant.spread, float(above.lower)
        self.forward = ProfileSum(scale=scale, leak=leak, final=True, law=law, loss=loss, mass=q, rest=above)
        self.backward = replace(self.forward, kind="other", loss=-loss, mass=p, rest=below)

    def answer(self, question: Question, at: Array, tol: float | None, known: Array | None = None) -> Pair:
        """Bound delta and epsilon as every engine does, and f by ``conjugate``: few atoms leave kinks."""
        if question != "beta":
            return super().answer(question, at, tol, known)
        about = self.cumulant.spread * np.array([-0.06, -0.02, 0.02, 0.06])
        s = np.exp(np.clip(epsilon_for_alpha(self.cumulant, at)[:, None] + about, -600.0, 600.0))
        points = [np.unique(np.append(0.0, row)) for row in s]
        wide = WIDTHS["contour"]["beta"].goal if tol is None else tol
        low, high = conjugate(self._gain, at, points, wide, limit=max(self.forward.rest.lower, 0.0))
        return np.maximum(low, 0.0), high

    def _gain(self, s: Array) -> Pair:
        """Bound delta(log s) - (1 - s)_+, which is s delta'(-log s) of the other order where s < 1."""
        low, high = np.zeros(len(s)), np.zeros(len(s))
        for some, side in ((s >= 1, self.forward), ((s > 0) & (s < 1), self.backward)):
            if some.any():  # the supremum is bounded with the rounding of the logarithm
                low[some], high[some] = clip(side.bound(np.log(s[some])), 0.0, 1.0) * np.minimum(s[some], 1.0)
        return low, high

    def loss_at_delta(self, delta: Array) -> Array:
        leak, at_zero = self.forward.rest.upper, self.forward.bound(np.zeros(1)).upper
        saddles = SaddleTable(self.cumulant, (0.0, 1.0), start=1.0)
        x = saddles.x_for(np.log(np.maximum(delta - leak, TINY)))
        return np.where(delta > at_zero, np.log1p(-delta), x)


def product(laws: Sequence[PrivacyLossDistribution], counts: Sequence[int]) -> AtomicLaw | None:
    """Return the law of the product if it has few atoms and no continuous part; else None."""
    if any(law.continuous or len(law.atoms.loss) == 0 for law in laws):
        return None
    farthest = [n * float(np.max(np.abs(law.atoms.loss))) for law, n in zip(laws, counts, strict=True)]
    # Losses up to this size have powers that extended precision holds.
    if sum(farthest) > 5000.0:
        return None
    powers: list[tuple[Array, Array, Array] | None] = []  # losses, log-masses, slacks; None for too many
    for law, n in zip(laws, counts, strict=True):
        # Two to four rounds of many atoms have too many ways to share them, but are sums of as many factors;
        # of a law with a transform of its own contours are faster.
        few = type(law) is AtomicLaw and n <= 4 and len(law.loss) ** n <= MAX_PRODUCT
        power = _power(law.atoms, n)
        powers += [law.atoms[:3]] * n if power is None and few else [power]
    loss, log_p, slack = np.zeros((3, 1))
    for power in powers:
        if power is None or len(loss) * len(power[0]) > MAX_PRODUCT:
            return None
        more = np.multiply.outer(slack, power[2])  # (1 + s) (1 + t) - 1 = s + t + s t
        loss, log_p, slack = map(np.add.outer, (loss, log_p, slack), power)
        loss, log_p, slack = merged(loss.ravel(), log_p.ravel(), np.minimum(slack + more, _UNKNOWN).ravel())
    lost = float(sum(count * law.lost for law, count in zip(laws, counts, strict=True)))
    below = [min(law.mass_at_minus_infinity, 1 - UNIT) for law in laws]
    # A loss brings its own error n times; a power adds up to min(k, n) terms and rounds n, the product adds
    # one a power, or one a round of a law of many atoms, to a sum as large as all of them.
    position = 0.0
    for law, n, size in zip(laws, counts, farthest, strict=True):
        rounds = min(len(law.atoms.loss), n) + 1 if n > 1 else 0
        position += n * float(np.max(law.atoms.error)) + UNIT * (rounds + len(powers)) * size
    mass_at_minus_infinity = combine_masses_at_infinity(below, counts)
    return AtomicLaw(loss, log_p, mass_at_minus_infinity, slack=slack, lost=lost, position=position)


def _power(atoms: Atoms, n: int) -> tuple[Array, Array, Array] | None:
    """Return the losses, the log-masses and the slacks of n rounds, or None if there are too many.

    One for every way to share n rounds among k losses, C(n + k - 1, k - 1) of them.
    """
    k = len(atoms.loss)
    if n == 1:
        return atoms[:3]
    if k > 1 and n >= MAX_PRODUCT / k:  # there are more than n ways, and logarithms of factorials may cancel
        return None
    if math.lgamma(n + k) - math.lgamma(k) - math.lgamma(n + 1) > math.log(MAX_PRODUCT / k):
        return None
    shares = _shares(n, k)
    log_ways = gammaln(n + 1.0) - np.sum(gammaln(shares + 1.0), axis=1)
    terms = min(k, n) + 8  # a row has no more entries that are not 0, and log 0! = log 1! = 0 are exact
    known = np.log1p(atoms.slack) + UNIT * terms * np.abs(atoms.log_p)
    rounded = UNIT * 2 * terms * (1 + math.lgamma(n + 1))
    slack = np.expm1(np.minimum(shares @ known + rounded, math.log(_UNKNOWN)))
    return merged(shares @ atoms.loss, shares @ atoms.log_p + log_ways, np.minimum(slack, _UNKNOWN))


def _shares(n: int, k: int) -> Array:
    """Return all vectors of k non-negative integers that add up to n, one a row."""
    rows, left = np.zeros((1, 0)), np.array([float(n)])
    for _ in range(k - 1):
        sizes = left.astype(np.int64) + 1
        owner = np.repeat(np.arange(len(left)), sizes)
        taken = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows, left = np.column_stack([rows[owner], taken]), left[owner] - taken
    return np.column_stack([rows, left])


def _masses(logs: Array) -> Any:
    """Return exponentials in extended precision: sums of a million of them are exact to a float."""
    return np.exp(logs.astype(np.longdouble))


def _tail(masses: Any) -> Any:
    """Return the sums from every entry to the last."""
    return np.cumsum(masses[::-1])[::-1]


def _sums(masses: Any, slack: Array) -> list[Array]:
    """Return sums of masses before each atom and of all, and their errors; sums from each on, and theirs."""
    both = masses, masses * slack
    before = [np.append(0.0, np.cumsum(each)).astype(float) for each in both]
    return before + [np.append(_tail(each), 0.0).astype(float) for each in both]


def beta(law: AtomicLaw, mass_at_plus_infinity: float, alpha: Array) -> Pair:
    """Bound f(alpha) between the vertices (P(L > l_k), Q(L <= l_k)).

    By sums of positive terms, whatever their size. A test rejects all atoms after k and a share of k.
    """
    steepest = 650.0  # such slopes lie left of every alpha above e^-650
    p, q = _masses(law.log_p), _masses(law.log_p + law.loss)
    slack_p, slack_q = _slacks(law)
    p_before, p_before_off, p_after, p_after_off = _sums(p, slack_p)
    q_before, q_before_off, q_after, q_after_off = _sums(q, slack_q)
    left = p_before + law.mass_at_minus_infinity
    # Near 1 the rest is exact, its sums ``left`` are the accurate ones and find the vertex. Of atom k the
    # ``share`` is accepted, and ``taken`` rejected.
    near_one, rest = alpha > 0.5, 1 - alpha
    by_rest = np.searchsorted(left, rest, side="right")
    by_alpha = np.searchsorted(-p_after, -alpha, side="right")
    last = len(law.loss) - 1
    k = np.clip(np.where(near_one, by_rest, by_alpha) - 1, 0, last)
    width = np.maximum(np.exp(law.log_p[k]), TINY)
    with np.errstate(over="ignore"):  # above 1 by however much; right of all vertices it is 0, and beta too
        share = np.clip(np.where(near_one, rest - left[k], p_after[k] - alpha) / width, 0.0, 1.0)
        taken = np.where(near_one, 1 - share, np.clip((alpha - p_after[k + 1]) / width, 0.0, 1.0))
    accepted = q_before[k] + share * (q_before[k + 1] - q_before[k])
    rejected = q_after[k + 1] + taken * (q_after[k] - q_after[k + 1])
    # The error of every mass, as far as it counts.
    accepted_off = q_before_off[k] + share * (q_before_off[k + 1] - q_before_off[k]) + 16 * UNIT * accepted
    rejected_off = q_after_off[k] + 16 * UNIT * (rejected + mass_at_plus_infinity) + 4 * UNIT
    inside = np.where(near_one, rest > left[0], alpha < p_after[0])
    # There beta is near 1, and 1 - beta is the accurate sum.
    small = (rejected + mass_at_plus_infinity < 0.5) & inside
    value = np.where(small, (1 - mass_at_plus_infinity) - rejected, accepted)
    # P(L = -inf) is known to 16 units of itself, which is at most the rest; sums round.
    # Abscissas are known to ``moved``; f moves by that times its steepest slope so near, e^l of the
    # ``farthest`` atom.
    moved_left = p_after_off[k + 1] + taken * (p_after_off[k] - p_after_off[k + 1]) + 4 * UNIT * alpha
    moved_right = p_before_off[k] + share * (p_before_off[k + 1] - p_before_off[k])
    moved_right += 12 * UNIT * (rest + law.mass_at_minus_infinity)
    moved = np.where(near_one, moved_right, moved_left)
    nearest = np.minimum.accumulate((left - p_before_off - 20 * UNIT * left)[::-1])[::-1]
    far_by_rest = np.searchsorted(nearest, rest + moved, side="right")
    far_by_alpha = np.searchsorted(-p_after, 2 * moved - alpha, side="right")
    farthest = np.clip(np.where(near_one, far_by_rest, far_by_alpha) - 1, k, last)
    steep = law.loss[farthest] + np.max(law.atoms.error)
    along = np.where(steep > steepest, 1.0, np.exp(np.minimum(steep, steepest)) * moved)
    error = np.where(small, rejected_off, accepted_off) + along + law.lost + SUBNORMAL
    return np.maximum(value - error, 0.0), value + error


def _slacks(law: AtomicLaw) -> tuple[Array, Array]:
    """Return the relative errors of masses under P and under Q, with the rounding of their long sums."""
    fine = 4 * len(law.loss) * float(np.finfo(np.longdouble).eps) + 8 * UNIT
    slack = law.atoms.slack + fine * (1 + law.atoms.slack)
    relative = np.expm1(law.atoms.error + UNIT * (np.abs(law.log_p) + np.abs(law.loss)))
    return slack, slack + (1 + slack) * relative


def tabulate(law: AtomicLaw, mass_at_plus_infinity: float) -> ProfileTable:
    """Return the table of delta at every atom by sums of positive terms in extended precision.

    It is exact between atoms. delta_k = delta_(k+1) + (e^l_(k+1) - e^l_k) P(L > l_k); to the left of all
    atoms it is a line in e^epsilon to 1.
    """
    far = 800.0  # nodes outside of all atoms, where e^loss is 0 or infinity in floats
    loss, p, slack_p = law.loss, _masses(law.log_p), _slacks(law)[0]
    wide = loss.astype(np.longdouble)
    gaps = np.expm1(np.diff(wide)) * np.exp(wide[:-1])
    above, off = (np.append(_tail(gaps * _tail(each)[1:]), 0.0).astype(float) for each in (p, p * slack_p))
    delta = np.minimum(above, 1.0)
    off += delta * UNIT * (32 + 4 * np.abs(loss))
    # Losses known to ``shift`` move the nodes and, through the gaps, the values.
    shift = float(np.max(law.atoms.error)) + 8 * UNIT * (1 + float(np.max(np.abs(loss))))
    grow = math.exp(2 * shift) - 1
    least, most = mass_at_plus_infinity * (1 - 16 * UNIT), mass_at_plus_infinity * (1 + 16 * UNIT)
    upper = np.minimum((delta + off) * (1 + grow) + most + law.lost + SUBNORMAL, 1.0)
    lower = np.maximum(np.maximum(delta - off, 0.0) * (1 - grow) + least - SUBNORMAL, 0.0)
    above, below = (np.concatenate([[loss[0] - far], loss + s, [loss[-1] + far]]) for s in (shift, -shift))
    upper = np.concatenate([[1.0], upper, upper[-1:]])
    lower = np.concatenate([[1 - 8 * UNIT], lower, lower[-1:]])
    return ProfileTable(above, upper, below, lower, leak=least)
