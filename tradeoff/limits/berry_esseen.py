"""Berry-Esseen: a Gaussian curve with a proved error, on both sides of a composition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import choice, flattened, shaped
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.roots import bracket_root
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.limits.normal_pair import NormalPair
from tradeoff.limits.sums import LossSum, deviation, normal_distance, per_order, rough, variance
from tradeoff.operators.symmetrise import symmetrise

Constants = Literal["sharp", "theorem"]
_FARTHEST = 700.0  # nats up to which e^epsilon is a float; beyond, delta is between that there and its limit


class Hypothesis(NamedTuple):
    """A condition of a theorem, and whether it holds here."""

    statement: str
    holds: bool


@dataclass(frozen=True, eq=False)
class BerryEsseen:
    """Enclosure of a composition by Gaussian curves with a proved error; every answer has two sides.

    Parameters
    ----------
    of
        The composition.
    pairs
        For each order of the pair that counts, the normal laws of a curve below and of a curve above it.
    constants
        Which constants were taken.
    hypotheses
        The theorem's conditions, checked.

    Examples
    --------
    >>> import tradeoff as to
    >>> f = to.Laplace(0.1) ** 400
    >>> band = to.limits.berry_esseen(f)
    >>> band
    Berry-Esseen band of Lap_{0.1}^400: mu = 1.96878, gamma = 0.0238161
    >>> band.lower(0.1) <= f(0.1) <= band.upper(0.1)
    True
    """

    of: TradeOff
    pairs: tuple[tuple[NormalPair, NormalPair], ...]
    constants: Constants
    hypotheses: tuple[Hypothesis, ...]
    name = "Berry-Esseen"

    @property
    def source(self) -> str:
        """The theorem and its constant, with their papers."""
        theorem = "Dong, Roth, Su 2022, Theorem 3.4"
        if not (self.of.symmetric and len(self.pairs) == 1):
            theorem = f"the proof of {theorem}, law by law"
        if self.constants == "theorem":
            return theorem
        return f"{theorem}; constants of Shevtsova 2013 for identical factors, else 2010"

    @cached_property
    def gamma(self) -> float:
        """The error of the distribution functions: the band's half-width in alpha and in beta."""
        return _gamma(self.pairs)

    @property
    def mu(self) -> float:
        """The mean gap over the null's standard deviation, the larger of two orders."""
        return max(float(below.gap.upper / below.sd_p.lower) for below, _ in self.pairs)

    @cached_property
    def guarantee(self) -> TradeOff:
        """Return a certified curve below the composition, a polygon of lines that may enter products.

        It is symmetric if the composition f is: with g <= f also g^-1 <= f^-1 = f (Dong, Roth, Su 2022,
        Proposition 2.4).
        """
        x = np.unique(np.concatenate([[0.0], *(below.slopes() for below, _ in self.pairs)]))
        # Where the line 1 - delta(x) - e^x alpha is positive e^x alpha <= 1: so many units hold the rounding.
        height = 1 - self._delta(x, 1) - 16 * UNIT * (2 + np.abs(x))
        below = PiecewiseLinear.from_lines(np.exp(x), height).assuming(*self.of.assumptions)
        return symmetrise(below, assume="both-orders") if self.of.symmetric else below

    def lower(self, alpha: ArrayLike) -> Any:
        """Bound f(alpha) from below by G_mu(alpha + gamma) - gamma or 0, for alpha in [0, 1]."""
        flat, shape = flattened("alpha", alpha, 0.0, 1.0)
        # Of two orders only the hull of the lower bounds is below the envelope: the polygon of their lines.
        [(below, _), *others] = self.pairs
        return shaped(self.guarantee.bounds(flat).lower if others else below.bounds(flat)[0], shape)

    def upper(self, alpha: ArrayLike) -> Any:
        """Bound f(alpha) from above by G_mu(alpha - gamma) + gamma or 1 - alpha, for alpha in [0, 1]."""
        flat, shape = flattened("alpha", alpha, 0.0, 1.0)
        return shaped(np.min([above.bounds(flat)[1] for _, above in self.pairs], axis=0), shape)

    def bounds(self, alpha: ArrayLike) -> Bounds:
        """Bound f(alpha) for alpha in [0, 1]."""
        return Bounds(self.lower(alpha), self.upper(alpha))

    def delta(self, epsilon: ArrayLike) -> Bounds:
        """Bound delta(epsilon), epsilon in nats: above by sup_alpha 1 - lower(alpha) - e^epsilon alpha."""
        x, shape = flattened("epsilon", epsilon, -np.inf, np.inf)
        low, high = (self._delta(np.clip(x, -_FARTHEST, _FARTHEST), side) for side in (0, 1))
        # Beyond what e^epsilon holds delta falls from 1 to Q(L = inf), which the curve bounds.
        least, most = self.of.mass_at_infinity
        low = np.where(x > _FARTHEST, least, np.where(x == -np.inf, 1.0, low))
        high = np.where(x == np.inf, min(most, 1.0), np.where(x < -_FARTHEST, 1.0, high))
        return Bounds(shaped(low, shape), shaped(high, shape))

    def epsilon(self, delta: ArrayLike) -> Bounds:
        """Bound the least epsilon with delta(epsilon) <= delta, in nats; +inf where the band leaves more."""
        return Bounds(self._epsilon(delta, 0), self.most_epsilon(delta))

    def most_epsilon(self, delta: ArrayLike) -> Any:
        """Return the upper side of ``epsilon`` alone, at half its cost."""
        return self._epsilon(delta, 1)

    def _epsilon(self, delta: ArrayLike, side: int) -> Any:
        """Return where one side of delta is still above a level (the lower one), or no longer above it."""
        level, shape = flattened("delta", delta, 0.0, 1.0)
        result = bracket_root(
            lambda x: self._delta(np.clip(x, -_FARTHEST, _FARTHEST), side), level, farthest=2 * _FARTHEST
        )[side]
        result = np.where(np.isfinite(result), np.clip(result, -_FARTHEST, _FARTHEST), result)
        return shaped(np.where(level < 1, result, -np.inf), shape)

    def _delta(self, epsilon: Array, side: int) -> Array:
        """Bound delta, the larger of all orders, from below (0) or above (1)."""
        return np.asarray(np.max([pair[1 - side].delta(epsilon)[side] for pair in self.pairs], axis=0))

    def __repr__(self) -> str:
        return f"Berry-Esseen band of {self.of!r}: mu = {self.mu:.6g}, gamma = {self.gamma:.6g}"


def berry_esseen(curve: TradeOff, *, constants: Constants = "sharp") -> BerryEsseen:
    """Enclose a composition between G_mu(alpha + gamma) - gamma and G_mu(alpha - gamma) + gamma.

    Parameters
    ----------
    curve
        A product of curves, symmetric or not, or the either-order envelope of one. Masses at infinity are
        split off and attached again; a factor whose law is known between two others gives its lower bound by
        the one and its upper by the other.
    constants
        ``"theorem"``: 0.56 for all, as in Dong, Roth, Su 2022, Theorem 3.4 (the constant of Shevtsova 2010
        for independent summands). ``"sharp"``: for identical factors min{0.4690 rho, 0.3322 (rho + 0.429),
        0.3031 (rho + 0.646)}/sqrt(n) (Shevtsova 2013).

    Returns
    -------
    BerryEsseen
        ``lower(alpha)`` and ``upper(alpha)`` enclose f on all of [0, 1]; ``delta`` and ``epsilon`` likewise
        have two sides. Where gamma >= 1/2, or at delta below gamma, they are true and trivial.

    Raises
    ------
    PrecisionError
        If the losses are too small, or too large, for floats to hold their third moments.

    Notes
    -----
    For asymmetric curves each law has its own mean, variance and gamma: alpha(t) = P(sum L > t) and
    beta(t) = Q(sum L <= t) are each within gamma of their normal law.

    Examples
    --------
    >>> import tradeoff as to
    >>> f = to.PureDP(0.01) ** 10_000
    >>> band = to.limits.berry_esseen(f)
    >>> round(band.lower(0.1), 4), round(f(0.1), 4), round(band.upper(0.1), 4)
    (0.5961, 0.6109, 0.6259)
    """
    choice("constants", constants, get_args(Constants))

    def normal(found: LossSum) -> NormalPair:
        sides, sharp = (found.null, found.other), constants == "sharp"
        gammas = [float(normal_distance(rough(law), variance(law), sharp=sharp)) for law in sides]
        sd_p, sd_q = map(deviation, sides)
        return NormalPair(
            found.gap,
            sd_p,
            sd_q,
            gammas[0],
            gammas[1],
            found.mass_at_minus_infinity,
            found.mass_at_plus_infinity,
        )

    pairs = per_order(curve, normal)
    gamma, symmetric = _gamma(pairs), curve.symmetric and len(pairs) == 1
    hypotheses = (
        Hypothesis("the losses of the factors are independent", True),
        Hypothesis("every factor is symmetric (else each law has its own bound)", symmetric),
        Hypothesis("kappa3bar of the finite losses is finite", math.isfinite(gamma)),
        Hypothesis("gamma < 1/2 (else the bounds are trivial)", gamma < 1 / 2),
    )
    return BerryEsseen(curve, pairs, constants, hypotheses)


def _gamma(pairs: tuple[tuple[NormalPair, NormalPair], ...]) -> float:
    return max(max(pair.gamma_p, pair.gamma_q) for sides in pairs for pair in sides)
