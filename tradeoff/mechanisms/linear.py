"""Normal noise on sums over time: one sensitivity, one Gaussian."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MOST
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, expm1, log, sqrt, whole
from tradeoff.intervals.rounding import Array
from tradeoff.mechanisms.base import NOISE, SHARE, Mechanism, ratio, root, wholes, within

# Numbers of last steps tried, even in logarithm: each gives a bound, and all near the best alike.
_PLACES = 400


@dataclass(frozen=True)
class TreeAggregation(Mechanism):
    """All running sums of a stream by a binary tree of noisy sums, each record in one step (DP-FTRL).

    Parameters
    ----------
    noise_multiplier
        Standard deviation of the noise of a node over the l2-norm of what neighbours change in one step, in
        (0, inf].
    steps
        Length of the stream, a whole number from 1.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Exact: one step is in at most floor(log2 steps) + 1 complete nodes, the first in as many, hence G_mu with
    mu^2 that number over the square of the noise multiplier (Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi,
    Song 2011; Kairouz et al. 2021), also where steps are chosen in view of earlier sums. Steps keep their
    place: neighbours change what one step adds, to 0 or to something else.

    Examples
    --------
    >>> TreeAggregation(noise_multiplier=3, steps=500).curve()
    G_{1}
    """

    kind = "tree-aggregation"

    noise_multiplier: float = field(metadata=NOISE)
    steps: int = field(metadata=wholes(1, math.inf))

    def curve(self) -> TradeOff:
        return Gaussian(ratio(root(Fraction(self.steps.bit_length())), self.noise_multiplier))


@dataclass(frozen=True)
class MatrixMechanism(Mechanism):
    """Linear queries A x = B C x released as B (C x + z), z normal: matrix factorisation, DP-FTRL, BandMF.

    Parameters
    ----------
    noise_multiplier
        Standard deviation of z over the l2-norm of what neighbours change in one step, in (0, inf].
    sensitivity
        Largest norm of C u over what neighbours may change, the changes of single steps of norm 1, in [0,
        inf): with one participation the largest column norm of C.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Exact: B is post-processing, and C x + z is one Gaussian mechanism, mu = sensitivity/noise_multiplier (Li
    et al. 2015; for C lower triangular also where x is chosen in view of earlier sums: Denisov et al. 2022,
    Theorem 2.1). What sampling adds is in ``docs/sampled-mechanisms.md``.

    Examples
    --------
    >>> MatrixMechanism(noise_multiplier=4, sensitivity=2).curve()
    G_{0.5}
    """

    kind = "matrix-mechanism"

    noise_multiplier: float = field(metadata=NOISE)
    sensitivity: float = field(metadata=within(0, open_high=True))

    def curve(self) -> TradeOff:
        return Gaussian(ratio(self.sensitivity, self.noise_multiplier))


@dataclass(frozen=True)
class LastIterate(Mechanism):
    """Noisy gradient descent over all data whose last iterate alone is released.

    Parameters
    ----------
    noise_multiplier
        Standard deviation of the noise of a step over the distance s by which neighbours move a step, in (0,
        inf]: n sigma/L for noise sigma on the mean gradient of n records, of which one moves it by L/n.
    steps
        Number of steps, a whole number from 1.
    contraction
        Number c in [0, 1] by which a step shrinks distances: max(|1 - eta m|, |1 - eta M|) for losses that
        are m-strongly convex and M-smooth, 1 for convex ones with eta <= 2/M.
    diameter
        Diameter of the set to which every iterate is projected, in units of s; infinite without projection.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Dominating, by shifted interpolation (Bok, Su, Altschuler 2024, their results on NoisyGD). A process that
    starts at one run m steps before the end and ends at the other has to make up c^m diameter + s (1 + c +
    ... + c^(m-1)) by shifts a_j, weighted by c^j; the last step costs G_{a/sigma} each. By Cauchy and Schwarz
    the least sum of squares is the square of this number over 1 + c^2 + ... + c^(2(m-1)). At m = ``steps``
    both runs start alike, and the diameter does not enter: mu^2 = (1 - c^t)(1 + c)/((1 + c^t)(1 - c)) over
    the square of the noise multiplier, exact for unconstrained strongly convex losses. Any m gives a bound;
    the least of some hundred is taken.

    Examples
    --------
    >>> LastIterate(noise_multiplier=10, steps=100).curve()
    G_{1} (not exact)
    >>> LastIterate(noise_multiplier=10, steps=10**9, contraction=0.5).curve()
    G_{0.173205} (not exact)
    >>> LastIterate(noise_multiplier=10, steps=10**9, diameter=25).curve()
    G_{1} (not exact)
    """

    kind = "last-iterate"
    exact = False

    noise_multiplier: float = field(metadata=NOISE)
    steps: int = field(metadata=wholes(1, math.inf))
    contraction: float = field(default=1.0, metadata=SHARE)
    diameter: float = field(default=math.inf, metadata=within(0))

    def curve(self) -> TradeOff:
        every = self._shift(whole(self.steps), 0.0)
        later = self._shift(Bounds.of(self._last_steps()), self.diameter)
        return Gaussian(ratio(min(every.upper, float(np.min(later.upper))), self.noise_multiplier))

    def _last_steps(self) -> Array:
        most = float(min(self.steps, MOST))
        best = min(max(self.diameter, 1.0), most)  # of convex losses: (diameter + m)^2/m is least there
        places = np.append(np.geomspace(1.0, most, _PLACES), [np.floor(best), np.ceil(best)])
        return np.asarray(np.minimum(np.floor(places), most))

    def _shift(self, m: Bounds, diameter: float) -> Bounds:
        """Bound (c^m diameter + sum of c^j)/sqrt(sum of c^2j), j < m: mu times the noise multiplier."""
        if self.contraction == 1:
            return (diameter + m) / sqrt(m)
        rate = log(self.contraction)
        kept, gone = exp(rate * m), -expm1(rate * m)
        one_less = 1 - Bounds.of(self.contraction)
        squares = -expm1(2 * rate * m) / (one_less * (1 + Bounds.of(self.contraction)))
        return (kept * diameter + gone / one_less) / sqrt(squares)
