"""Edgeworth bounds: the normal law corrected by skewness, with a proved error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.families.identity import Identity
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.polygon import lower_hull
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.limits.band import STEEPEST, Band, Hypothesis
from tradeoff.limits.berry_esseen import BerryEsseen, berry_esseen
from tradeoff.limits.smoothing import Expansion, expansion
from tradeoff.limits.sums import LossSum, deviation, per_order

# Thresholds, and standard deviations to both sides of both means where they stand: Phi(-9) is 1e-19.
_NODES, _BULK = 4001, 9.0
_SMALL_CELL = 0.05  # of thresholds, where the chord is the better bound: the bend takes off 1e-4 at most
_VOID = 1 / 2  # an error of a half says nothing

Points = tuple[Array, Array]


class _Pair(NamedTuple):
    """Both laws of a loss sum, and how their thresholds relate: y = ratio x - distance."""

    found: LossSum
    null: Expansion
    other: Expansion
    ratio: Bounds
    distance: Bounds

    @classmethod
    def of(cls, found: LossSum) -> _Pair:
        sd_p, sd_q = deviation(found.null), deviation(found.other)
        return cls(found, expansion(found.null), expansion(found.other), sd_p / sd_q, found.gap / sd_q)

    @property
    def gamma(self) -> float:
        x = np.linspace(-_BULK, _BULK, 401)
        return float(max(np.max(law.width(x)) for law in (self.null, self.other)))

    @property
    def rest(self) -> float:
        return max(self.null.rest, self.other.rest)

    def thresholds(self) -> Array:
        """Return thresholds in standard deviations from the null's mean."""
        bulk = np.linspace(-_BULK, _BULK, _NODES)
        return np.unique(np.concatenate([bulk, (bulk + self.distance.upper) / self.ratio.upper]))

    def errors(self, x: Array) -> tuple[Bounds, Bounds]:
        """Bound alpha = P(S > t) and beta = Q(S <= t) = Q(-S >= -t) at thresholds x; ``other`` is of -S."""
        y = self.ratio * x - self.distance
        return 1 - self.null.probability(Bounds.of(x)), 1 - self.other.probability(-y)

    def below(self) -> Points:
        """Return points whose lower hull, with all above and right of it, holds every point of the curve.

        In a small cell of thresholds alpha and beta are above their chords less bend dx^2/8; in any cell they
        are at least alpha's bound at its end and beta's at its start.
        """
        x = self.thresholds()
        alpha, beta = (side.lower for side in self.errors(x))
        cell = np.diff(x)
        small = np.where(cell <= _SMALL_CELL, cell, 0.0)
        square = np.maximum(np.append(small, 0.0), np.append(0.0, small)) ** 2 / 8
        wide = cell > _SMALL_CELL
        alphas = [alpha - self.null.bend * square, alpha[1:][wide], alpha[:1], [0.0]]
        betas = [beta - self.other.bend * self.ratio.upper**2 * square, beta[:-1][wide], [0.0], beta[-1:]]
        a, b = self._massive(np.concatenate(alphas), np.concatenate(betas))
        return a.lower, b.lower

    def above(self) -> Points:
        """Return points above the curve: every test between them is as good as the curve allows, or worse."""
        alpha, beta = (np.clip(side.upper, 0.0, 1.0) for side in self.errors(self.thresholds()))
        a, b = self._massive(np.append(alpha, [0.0, 1.0]), np.append(beta, [1.0, 0.0]))
        return a.upper, b.upper

    def _massive(self, alpha: Array, beta: Array) -> tuple[Bounds, Bounds]:
        """Attach masses at infinity: f(alpha) = (1 - q) f_finite(alpha/(1 - p))."""
        return (1 - self.found.p_minus) * alpha, (1 - self.found.q_plus) * beta


@dataclass(frozen=True, eq=False)
class EdgeworthBounds(Band):
    """Enclosure of a composition by first Edgeworth expansions with a proved error.

    Parameters
    ----------
    of, pairs, hypotheses
        As of ``BerryEsseen``.
    berry_esseen
        The band of Berry and Esseen, which holds the curve too: this one lies inside it.

    Examples
    --------
    >>> import tradeoff as to
    >>> f = to.Laplace(0.1) ** 400
    >>> band = to.limits.edgeworth_bounds(f)
    >>> band
    Edgeworth bounds of Lap_{0.1}^400: gamma = 0.0206446, rest = 0.000799
    >>> band.lower(0.1) <= f(0.1) <= band.upper(0.1)
    True
    """

    of: TradeOff
    pairs: tuple[tuple[_Pair, _Pair], ...]
    berry_esseen: BerryEsseen
    hypotheses: tuple[Hypothesis, ...]
    name = "Edgeworth bounds"
    source = (
        "Derumigny, Girard, Guyonvarch 2024, Theorem 2.1, its integrals added up for the sum at hand; "
        "smoothing of Prawitz 1972"
    )

    @cached_property
    def gamma(self) -> float:
        """Return the largest half-width, near a law's mean, of alpha(t) and beta(t) about expansions."""
        return max(pair.gamma for sides in self.pairs for pair in sides)

    @cached_property
    def rest(self) -> float:
        """Return the half-width far from a law's mean, of order 1/n."""
        return max(pair.rest for sides in self.pairs for pair in sides)

    def _lower(self, alpha: Array) -> Array:
        # The guarantee has chords where that of Berry and Esseen is curved.
        return np.asarray(np.maximum(self.guarantee.bounds(alpha).lower, self.berry_esseen.lower(alpha)))

    def _upper(self, alpha: Array) -> Array:
        return np.asarray(np.minimum(self._ceiling.bounds(alpha).upper, self.berry_esseen.upper(alpha)))

    def _delta(self, epsilon: Array) -> tuple[Array, Array]:
        low = np.maximum(self._ceiling.bounds.delta(epsilon).lower, self.berry_esseen.delta(epsilon).lower)
        return low, self.guarantee.bounds.delta(epsilon).upper

    def _crossing(self, level: Array, side: int) -> Array:
        """Return a polygon's own from above, and of two bounds from below the larger."""
        if side:
            return self.guarantee.bounds.epsilon(level).upper
        both = self._ceiling.bounds.epsilon(level), self.berry_esseen.epsilon(level)
        return np.asarray(np.maximum(*(each.lower for each in both)))

    @cached_property
    def _ceiling(self) -> TradeOff:
        """Return the lower hull of all points known to be above the curve."""
        if not self.gamma < _VOID:
            return Identity()
        x, y = _hull([above.above() for _, above in self.pairs])
        return PiecewiseLinear(x.tolist(), y.tolist())

    def lines(self) -> tuple[Array, Array]:
        """Return lines below the curve: those of the hull of points below, and those of Berry and Esseen."""
        others, floor = self.berry_esseen.lines()
        if not self.gamma < _VOID:
            return others, floor
        x, y = _hull([below.below() for below, _ in self.pairs])
        with np.errstate(divide="ignore"):
            loss = np.log(np.maximum(-np.diff(y), 0.0)) - np.log(np.diff(x))
        kept = np.flatnonzero(np.abs(loss) < STEEPEST)
        slope, start, end = np.exp(loss[kept]), kept, kept + 1
        # Rounding may turn a slope a little: its lower end counts, and neighbours are above up to rounding.
        height = np.minimum(y[start] + slope * x[start], y[end] + slope * x[end])
        height = height - 64 * UNIT * (1 + slope * np.maximum(np.abs(x[start]), np.abs(x[end])))
        return np.concatenate([slope, others]), np.concatenate([height, floor])

    def __repr__(self) -> str:
        return f"Edgeworth bounds of {self.of!r}: gamma = {self.gamma:.6g}, rest = {self.rest:.3g}"


def edgeworth_bounds(curve: TradeOff) -> EdgeworthBounds:
    """Enclose a composition by alpha(t) and beta(t), each near its first Edgeworth expansion: a theorem.

    Parameters
    ----------
    curve
        As in ``berry_esseen``.

    Returns
    -------
    EdgeworthBounds
        Two sides as of ``berry_esseen``, and that band itself where the error is 1/2 or more.

    Raises
    ------
    PrecisionError
        If the losses are too small, or too large, for floats to hold their third moments.

    Notes
    -----
    The distribution function of the standardised sum of independent losses, of skewness s, is within

        (K/2) phi(x) + O(1/n)   of   Phi(x) + s/6 (1 - x^2) phi(x),   K = sum (E|X|^3 + E|X| E X^2)/B^3,

    with every constant of O(1/n) computed from moments of order four (Derumigny, Girard, Guyonvarch 2024,
    Theorem 2.1). On a lattice K/2 cannot be less; the error falls with the density, so that small alpha and
    beta are known up to O(1/n).

    Examples
    --------
    >>> import tradeoff as to
    >>> f = to.PureDP(0.01) ** 10_000
    >>> band = to.limits.edgeworth_bounds(f)
    >>> round(band.lower(0.1), 4), round(f(0.1), 4), round(band.upper(0.1), 4)
    (0.6031, 0.6109, 0.6186)
    """
    pairs = per_order(curve, _Pair.of)
    gamma = max(pair.gamma for sides in pairs for pair in sides)
    hypotheses = (
        Hypothesis("the losses of the factors are independent", True),
        Hypothesis("the fourth moments of the finite losses are finite", math.isfinite(gamma)),
        Hypothesis("gamma < 1/2 (else the band is that of Berry and Esseen)", gamma < _VOID),
    )
    return EdgeworthBounds(curve, pairs, berry_esseen(curve), hypotheses)


def _hull(points: Sequence[Points]) -> Points:
    x, y = (np.concatenate(side) for side in zip(*points, strict=True))
    order = np.lexsort((y, x))
    return lower_hull(x[order], y[order])
