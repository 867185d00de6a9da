"""Saddle-point bounds: a central limit theorem under the tilt, with its error proved (Alghamdi et al. 2023).

For any c other than 0 and 1, X = L - x and E_c the law tilted by e^(cL),

    e^(K(c) - (c - 1) x) E_c h(X)
        = delta(x) - Q(L = inf)                 with h(X) = (e^X - 1)+ e^(-cX)   for c > 1,
        = 1 - delta(x)                          with h(X) = min(e^X, 1) e^(-cX)  for 0 < c < 1,
        = delta(x) - 1 + e^x (1 - P(L = -inf))  with h(X) = (1 - e^X)+ e^(-cX)   for c < 0.

Put a normal law N in place of the tilted one, within gamma of its distribution function: as E_c h - E_N h =
-int (F_c - F_N) dh and h rises to its maximum and falls again, the error is at most 2 gamma max h, with max h
= |c - 1|^(c - 1)/|c|^c, and 1 for 0 < c < 1. Nothing asks c to be the saddle point; near it the error is
least. With 0.56 for the constant of Berry and Esseen 2 gamma is their Theorem's 1.12 sum P3/K''^(3/2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.tensor import law_pair
from tradeoff.errors import NoClosedForm, shown
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.roots import bracket_root
from tradeoff.intervals.rounding import Array
from tradeoff.limits.band import STEEPEST, Band, Hypothesis, profile, supporting
from tradeoff.limits.moments import factors
from tradeoff.limits.sums import lost
from tradeoff.limits.tilts import TiltedSum
from tradeoff.operators.symmetrise import Envelope

# A concave function is followed to its top by nine points a round, each round a quarter as wide: to 1e-8 of a
# deviation.
_ROUNDS, _OFFSETS = 14, np.arange(-4, 5) / 4

_REACH = 2.0  # standard deviations from the estimate to both sides where the top is looked for

# First step of a search for epsilon, in standard deviations, and the least deviation.
_SHARE, _LEAST_STEP = 0.25, 1e-9

# Where lines touch the guarantee, in standard deviations from the middle of both laws.
_SLOPES = np.linspace(-10.0, 10.0, 241)


@dataclass(frozen=True, eq=False)
class SaddlePoint(Band):
    """Enclosure of a composition by normal laws under the tilt: digits are kept where an answer is small.

    Useful where a round's tilted third moment is small against n^(1/2) times its variance to 3/2. For rarely
    sampled Gaussians (DP-SGD) it is not: the bounds hold and say little, Chernoff's at best.

    Parameters
    ----------
    of, hypotheses
        As of ``BerryEsseen``.
    sums
        For each order of the pair that counts, the laws of a curve below and of a curve above it, under every
        tilt.

    Examples
    --------
    >>> import tradeoff as to
    >>> f = to.Laplace(0.1) ** 400
    >>> band = to.limits.saddle_point(f)
    >>> band
    saddle-point bounds of Lap_{0.1}^400
    >>> f.delta(10.0) in band.delta(10.0), band.delta(10.0).upper < 2 * f.delta(10.0)
    (True, True)
    """

    of: TradeOff
    sums: tuple[tuple[TiltedSum, TiltedSum], ...]
    hypotheses: tuple[Hypothesis, ...]
    name = "saddle-point"
    source = "Alghamdi et al. 2023, the saddle-point central limit theorem, at any tilt"

    def _lower(self, alpha: Array) -> Array:
        # Of two orders only the hull of the lower bounds is below the envelope: the polygon of their lines.
        [(below, _), *others] = self.sums
        with np.errstate(all="ignore"):  # what overflows is no bound, and others hold
            return self.guarantee.bounds(alpha).lower if others else _best_line(below, alpha)

    def _upper(self, alpha: Array) -> Array:
        with np.errstate(all="ignore"):  # as above
            return np.asarray(np.min([_test(above, alpha) for _, above in self.sums], axis=0))

    def _delta(self, epsilon: Array) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):  # as above
            return profile(self.sums, epsilon)

    def _near(self, delta: Array) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):  # a choice
            x, sd = np.max([below.x_for_delta(delta) for below, _ in self.sums], axis=0)
        return np.nan_to_num(x), _SHARE * np.clip(np.nan_to_num(sd), _LEAST_STEP, 1 / _LEAST_STEP)

    def lines(self) -> tuple[Array, Array]:
        """Return lines 1 - delta(x) - e^x alpha where the curves bend."""
        middles = [below.cumulant(0.5)[1:] for below, _ in self.sums]
        x = np.concatenate([[0.0], *(mean + np.sqrt(variance) * _SLOPES for mean, variance in middles)])
        return supporting(np.unique(np.clip(np.nan_to_num(x), -STEEPEST, STEEPEST)), self._delta)

    def __repr__(self) -> str:
        return f"saddle-point bounds of {self.of!r}"


def saddle_point(curve: TradeOff) -> SaddlePoint:
    """Enclose a composition by normal laws in place of its tilted ones: any number of rounds costs the same.

    Parameters
    ----------
    curve
        A product of curves whose losses have densities in closed form, or the either-order envelope of one.

    Returns
    -------
    SaddlePoint
        Two sides as of ``berry_esseen``.

    Raises
    ------
    NoClosedForm
        If a factor's loss has no density in closed form, or no finite values.

    Notes
    -----
    Alghamdi et al. 2023 prove the saddle-point central limit theorem for delta(epsilon) at the saddle; the
    same proof holds for any tilt, for 1 - delta, for the other order and for the tails under P and Q.

    Examples
    --------
    >>> import tradeoff as to
    >>> f = to.Gaussian(0.1) ** 100
    >>> to.limits.saddle_point(f).epsilon(1e-5).width < 1e-9
    True
    """
    orders = curve.operands if isinstance(curve, Envelope) else (curve,)
    hypotheses = (
        Hypothesis("the losses of the factors are independent", True),
        Hypothesis("every loss has a density in closed form", True),
    )
    sums = [_sums(orders[0])]
    for order in orders[1:]:  # the other one of exact laws is the same, turned
        below, above = sums[0]
        sums.append((turned := below.turned(), turned) if above is below else _sums(order))
    return SaddlePoint(curve, tuple(sums), hypotheses)


def _sums(order: TradeOff) -> tuple[TiltedSum, TiltedSum]:
    """Return a curve below and one above a product; the same twice where every factor's law is exact."""
    powers = factors(order)
    pairs = [law_pair(factor, 1)[:2] for factor in powers]
    for factor, laws in zip(powers, pairs, strict=True):
        if any(not law.continuous and len(law.atoms.loss) == 0 for law in laws):
            known = f"{shown(factor)} has no finite losses to tilt"
            raise NoClosedForm(f"{known}: there is no privacy to bound; ask the curve itself")
        if not all(law.has_transform for law in laws):
            known = f"{shown(factor)} has none"
            raise NoClosedForm(f"saddle-point bounds need densities in closed form, and {known}")
    sides = [
        TiltedSum(laws, list(powers.values()), lost(powers, side, "q_plus"), lost(powers, side, "p_minus"))
        for side, laws in enumerate(zip(*pairs, strict=True))
    ]
    exact = all(low is high for low, high in pairs)
    return sides[0], sides[0] if exact else sides[1]


def _test(found: TiltedSum, alpha: Array) -> Array:
    """Bound f(alpha) <= f(P(L > t)) = Q(L <= t) from above, t the least found with P(L > t) <= alpha."""
    t = bracket_root(found.above, alpha)[1]
    known = np.where(np.isfinite(t), found.below(np.nan_to_num(t)), 1.0)
    most = np.minimum((1 - found.q_plus).upper, (1 - Bounds.of(alpha)).upper)
    return np.asarray(np.fmin(known, most))


def _best_line(found: TiltedSum, alpha: Array) -> Array:
    """Return the greatest of all lines tried, or 0; a concave function of e^x is followed to its top."""
    best, x = np.zeros(len(alpha)), np.nan_to_num(found.x_for_alpha(alpha))
    reach = _REACH * np.nan_to_num(found.sd(x), nan=1.0, posinf=1.0)
    for k in range(_ROUNDS):
        at = np.clip(x + np.multiply.outer(_OFFSETS, reach / 4**k), -STEEPEST, STEEPEST)
        value = found.line(at, alpha)
        top = np.argmax(value, axis=0), np.arange(len(x))
        best, x = np.maximum(best, value[top]), at[top]
    return best
