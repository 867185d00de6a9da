"""Berry-Esseen: a Gaussian curve with a proved error, on both sides of a composition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import choice
from tradeoff.intervals.rounding import Array
from tradeoff.limits.band import Band, Hypothesis, profile, supporting
from tradeoff.limits.normal_pair import NormalPair
from tradeoff.limits.sums import LossSum, deviation, normal_distance, per_order, rough, variance

Constants = Literal["sharp", "theorem"]


@dataclass(frozen=True, eq=False)
class BerryEsseen(Band):
    """Enclosure of a composition by Gaussian curves with a proved error; every answer has two sides.

    Parameters
    ----------
    of
        The composition.
    pairs
        For each order of the pair that counts, what is known of a curve below and of a curve above it.
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
        """Where the theorem and its constant stand."""
        theorem = "Dong, Roth, Su 2022, Theorem 3.4"
        if not (self.of.symmetric and len(self.pairs) == 1):
            theorem = f"the proof of {theorem}, law by law"
        if self.constants == "theorem":
            return theorem
        return f"{theorem}; constants of Shevtsova 2013 for identical factors, else 2010"

    @cached_property
    def gamma(self) -> float:
        """Return the error of the distribution functions: the band's half-width in alpha and in beta."""
        return _gamma(self.pairs)

    @property
    def mu(self) -> float:
        """Return the mean gap over the null's standard deviation, the larger of two orders."""
        return max(float(below.gap.upper / below.sd_p.lower) for below, _ in self.pairs)

    def _lower(self, alpha: Array) -> Array:
        """Bound f(alpha) by G_mu(alpha + gamma) - gamma or 0."""
        # Of two orders only the hull of the lower bounds is below the envelope: the polygon of their lines.
        [(below, _), *others] = self.pairs
        return self.guarantee.bounds(alpha).lower if others else below.bounds(alpha)[0]

    def _upper(self, alpha: Array) -> Array:
        """Bound f(alpha) by G_mu(alpha - gamma) + gamma or 1 - alpha."""
        return np.asarray(np.min([above.bounds(alpha)[1] for _, above in self.pairs], axis=0))

    def _delta(self, epsilon: Array) -> tuple[Array, Array]:
        return profile(self.pairs, epsilon)

    def lines(self) -> tuple[Array, Array]:
        """Return the lines that delta's upper bound gives, dense where curves bend and where orders meet."""
        slopes = [below.slopes() for below, _ in self.pairs]
        return supporting(np.unique(np.concatenate([[0.0], *slopes])), self._delta)

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
        ``lower(alpha)`` and ``upper(alpha)`` hold f on all of [0, 1]; ``delta`` and ``epsilon`` likewise have
        two sides. Where gamma >= 1/2, or at delta below gamma, they are true and say nothing.

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
    pairs = per_order(curve, lambda found: _pair(found, constants))
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


def _pair(found: LossSum, constants: Constants) -> NormalPair:
    sharp, sides = constants == "sharp", (found.null, found.other)
    gamma_p, gamma_q = (float(normal_distance(rough(law), variance(law), sharp=sharp)) for law in sides)
    sd_p, sd_q = map(deviation, sides)
    return NormalPair(found.gap, sd_p, sd_q, gamma_p, gamma_q, found.p_minus, found.q_plus)
