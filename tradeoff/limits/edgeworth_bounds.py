"""Edgeworth bounds: the normal law corrected by skewness, with a proved error, on both sides of a composition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.hull import lower_hull
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.limits.band import Band, Hypothesis
from tradeoff.limits.berry_esseen import BerryEsseen, berry_esseen
from tradeoff.limits.smoothing import Expansion, expansion
from tradeoff.limits.sums import LossSum, deviation, per_order

_NODES = 4001
_BULK = 9.0
"""Standard deviations to both sides of both means where thresholds stand."""

_SMALL_CELL = 0.05
_STEEPEST = 600.0
_VOID = 1 / 2

Points = tuple[Array, Array]


class _Pair(NamedTuple):
    """Both laws of a loss sum, with what lies between their thresholds: y = ratio x - distance, known up to corners."""

    found: LossSum
    null: Expansion
    other: Expansion
    ratio: Bounds
    distance: Bounds

    @classmethod
    def of(cls, found: LossSum) -> _Pair:
        sd_p, sd_q = deviation(found.null), deviation(found.other)
        ratio = [p / q for p, q in product(sd_p, sd_q)]
        distance = [gap / q for gap, q in product(found.gap, sd_q)]
        return cls(found, expansion(found.null), expansion(found.other), _hull_of(ratio), _hull_of(distance))

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

    def errors(self, x: Array, sign: int) -> tuple[Array, Array]:
        """Return alpha = P(S > t) and beta = Q(S <= t) at thresholds, both from below (sign -1) or both from above (+1)."""
        found = np.stack([r * x - d for r, d in product(self.ratio, self.distance)])
        low, high = np.min(found, axis=0), np.max(found, axis=0)
        y, doubt = (low + high) / 2, (high - low) / 2
        rounding = UNIT * (64 + 8 * np.abs(x) + 8 * np.abs(y) + 8 * self.distance.upper)
        alpha = 1 - self.null.cdf(x) + sign * (self.null.width(x) + rounding)
        # ``other`` tells of -L under Q: Q(L <= t) is the probability that -L is at least -t.
        beta = (
            1
            - self.other.cdf(-y)
            + sign * (self.other.width(-y) + self.other.steepness * (doubt + rounding) + rounding)
        )
        return alpha, beta

    def below(self) -> Points:
        """Return points whose lower hull, with all that is above and right of it, holds every point of the curve.

        In a small cell of thresholds alpha and beta are above their chords less bend dx^2/8; in any cell they are at least
        alpha's bound at its end and beta's at its start.
        """
        x = self.thresholds()
        alpha, beta = self.errors(x, -1)
        cell = np.diff(x)
        small = np.where(cell <= _SMALL_CELL, cell, 0.0)
        square = np.maximum(np.append(small, 0.0), np.append(0.0, small)) ** 2 / 8
        wide = cell > _SMALL_CELL
        alphas = [alpha - self.null.bend * square, alpha[1:][wide], alpha[:1], [0.0]]
        betas = [beta - self.other.bend * self.ratio.upper**2 * square, beta[:-1][wide], [0.0], beta[-1:]]
        return self._massive(np.concatenate(alphas), np.concatenate(betas), -1)

    def above(self) -> Points:
        """Return points above the curve: every test between them is as good as the curve allows, or worse."""
        alpha, beta = (np.clip(v, 0.0, 1.0) for v in self.errors(self.thresholds(), +1))
        return self._massive(np.concatenate([alpha, [0.0, 1.0]]), np.concatenate([beta, [1.0, 0.0]]), +1)

    def _massive(self, alpha: Array, beta: Array, sign: int) -> Points:
        """Attach masses at infinity: f(alpha) = (1 - q) f_finite(alpha/(1 - p))."""
        scaled = ((1 - self.found.p_minus) * alpha, (1 - self.found.q_plus) * beta)
        a, b = (v + sign * 4 * UNIT * np.abs(v) for v in scaled)
        return a, b


@dataclass(frozen=True, eq=False)
class EdgeworthBounds(Band):
    """Enclosure of a composition by first Edgeworth expansions with a proved error; every answer has two sides.

    Parameters
    ----------
    of
        The composition.
    pairs
        For each order of the pair that counts, what is known of a curve below and of a curve above it.
    berry_esseen
        The band of Berry and Esseen, which holds the curve too: this one lies inside it.
    hypotheses
        The theorem's conditions, checked.

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
    source = "Derumigny, Girard, Guyonvarch 2024, Theorem 2.1, its integrals added up for the sum at hand; smoothing of Prawitz 1972"

    @cached_property
    def gamma(self) -> float:
        """Return the largest half-width, that of thresholds near a law's mean: alpha(t) and beta(t) are this near their expansions."""
        return max(pair.gamma for sides in self.pairs for pair in sides)

    @cached_property
    def rest(self) -> float:
        """Return the half-width far from a law's mean, of order 1/n."""
        return max(pair.rest for sides in self.pairs for pair in sides)

    def _bounds(self, alpha: Array) -> tuple[Array, Array]:
        x, y = self._ceiling
        high = np.minimum(np.interp(alpha, x, y) + 8 * UNIT, self.berry_esseen.bounds(alpha).upper)
        return np.minimum(self.guarantee.bounds(alpha).lower, high), high

    def _delta(self, epsilon: Array) -> tuple[Array, Array]:
        """Return from below the best test known, from above what the guarantee's own delta is."""
        x, y = self._ceiling
        steep = np.diff(y) / np.diff(x)
        best = np.searchsorted(steep, -np.exp(epsilon))
        low = 1 - y[best] - np.exp(epsilon) * x[best] * (1 + (8 + 4 * np.abs(epsilon)) * UNIT) - 8 * UNIT
        high = self.guarantee.bounds.delta(epsilon).upper
        return np.minimum(np.maximum(low, self.berry_esseen.delta(epsilon).lower), high), high

    @cached_property
    def _ceiling(self) -> Points:
        """Return the lower hull of all points known to be above the curve."""
        if not self.gamma < _VOID:
            return np.array([0.0, 1.0]), np.array([1.0, 0.0])
        found = [above.above() for _, above in self.pairs]
        return _hull(*(np.concatenate(v) for v in zip(*found, strict=True)))

    def lines(self) -> tuple[Array, Array]:
        """Return lines below the curve: those of the hull of all points below, and those of Berry and Esseen."""
        slope, height = self._own_lines() if self.gamma < _VOID else (np.empty(0), np.empty(0))
        others, floor = self.berry_esseen.lines()
        return np.concatenate([slope, others]), np.concatenate([height, floor])

    def _own_lines(self) -> tuple[Array, Array]:
        found = [below.below() for below, _ in self.pairs]
        x, y = _hull(*(np.concatenate(v) for v in zip(*found, strict=True)))
        with np.errstate(divide="ignore"):
            loss = np.log(np.maximum(-np.diff(y), 0.0)) - np.log(np.diff(x))
        kept = np.flatnonzero(np.abs(loss) < _STEEPEST)
        slope, start, end = np.exp(loss[kept]), kept, kept + 1
        # Rounding may turn the slope a little: the lower end counts, and neighbours are on one side up to their own rounding.
        height = np.minimum(y[start] + slope * x[start], y[end] + slope * x[end])
        return slope, height - 64 * UNIT * (1 + slope * np.maximum(np.abs(x[start]), np.abs(x[end])))

    def __repr__(self) -> str:
        return f"Edgeworth bounds of {self.of!r}: gamma = {self.gamma:.6g}, rest = {self.rest:.3g}"


def edgeworth_bounds(curve: TradeOff) -> EdgeworthBounds:
    """Enclose a composition by alpha(t) = P(L > t) and beta(t) = Q(L <= t), each near its first Edgeworth expansion: a theorem.

    Parameters
    ----------
    curve
        A product of curves, symmetric or not, or the either-order envelope of one. Masses at infinity are split off and
        attached again; a factor whose law is known between two others gives its lower bound by the one and its upper by
        the other.

    Returns
    -------
    EdgeworthBounds
        ``lower(alpha)`` and ``upper(alpha)`` hold f on all of [0, 1], for every number of factors; ``delta`` and ``epsilon``
        likewise have two sides. Where the error is 1/2 or more the band is that of Berry and Esseen.

    Raises
    ------
    PrecisionError
        If the losses are too small, or too large, for floats to hold their third moments.

    Notes
    -----
    The distribution function of the standardised sum of independent losses, of skewness s, is within

        (K/2) phi(x) + O(1/n)   of   Phi(x) + s/6 (1 - x^2) phi(x),   K = sum (E|X|^3 + E|X| E X^2)/B^3,

    with every constant of O(1/n) computed from moments of order four (Derumigny, Girard, Guyonvarch 2024, Theorem 2.1). On a
    lattice K/2 cannot be less; the error falls with the density, so that small alpha and beta are known up to O(1/n).

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


def _hull_of(values: list[float]) -> Bounds:
    return Bounds(min(values) * (1 - 2 * UNIT), max(values) * (1 + 2 * UNIT))


def _hull(x: Array, y: Array) -> Points:
    order = np.lexsort((y, x))
    a, b = lower_hull(x[order], y[order])
    return np.asarray(a), np.asarray(b)
