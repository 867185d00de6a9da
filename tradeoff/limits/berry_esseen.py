"""Berry-Esseen: a Gaussian curve with a proved error, on both sides of a composition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import choice, flattened, shaped
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip, expm1, log, log1p, minimum, rational, sqrt, total, whole
from tradeoff.intervals.roots import bracket_root
from tradeoff.intervals.rounding import Array
from tradeoff.limits.moments import NOTHING, Moments, bound_mass, check_variance, factors, moments
from tradeoff.limits.normal_pair import NormalPair
from tradeoff.operators.symmetrise import Envelope, symmetrise

Constants = Literal["sharp", "theorem"]
Summands = list[tuple[Moments, int]]  # each with the number of times it is drawn
Powers = dict[TradeOff, int]

# sup |F - Phi| <= 0.56 sum E|X_j - E X_j|^3/V^(3/2) for independent summands, V in all (Shevtsova 2010).
_INDEPENDENT = rational(Fraction("0.56"))

# (a, b) with sup |F - Phi| <= a (rho + b)/sqrt(n), rho = E|X - E X|^3/sd^3, for n identical summands
# (Shevtsova 2013).
_IDENTICAL = tuple(
    (rational(Fraction(a)), rational(Fraction(b)))
    for a, b in (("0.4690", "0"), ("0.3322", "0.429"), ("0.3031", "0.646"))
)


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
        Constants of the theorem, as in ``berry_esseen``.
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
        slope = np.unique(np.concatenate([[1.0], *(below.slopes() for below, _ in self.pairs)]))
        # f(alpha) >= 1 - delta(log s) - s alpha for every s, and delta falls.
        height = (1 - Bounds.of(self._delta(log(slope).lower, 1))).lower
        below = PiecewiseLinear.from_lines(slope, height).assuming(*self.of.assumptions)
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
        finite = np.where(np.isfinite(x), x, 0.0)
        # delta(-inf) = 1, and delta(inf) is the mass at infinity, which the curve bounds.
        least, most = self.of.mass_at_infinity
        low = np.where(x == np.inf, least, np.where(x == -np.inf, 1.0, self._delta(finite, 0)))
        high = np.where(x == np.inf, min(most, 1.0), np.where(x == -np.inf, 1.0, self._delta(finite, 1)))
        return Bounds(shaped(low, shape), shaped(high, shape))

    def epsilon(self, delta: ArrayLike) -> Bounds:
        """Bound the least epsilon with delta(epsilon) <= delta, in nats; +inf where the band leaves more."""
        return Bounds(self._epsilon(delta, 0), self.most_epsilon(delta))

    def most_epsilon(self, delta: ArrayLike) -> Any:
        """Return the upper side of ``epsilon`` alone, at half its cost."""
        return self._epsilon(delta, 1)

    def _epsilon(self, delta: ArrayLike, side: int) -> Any:
        """Return where one side of delta is still above a level (0), or no longer above it (1)."""
        level, shape = flattened("delta", delta, 0.0, 1.0)
        result = bracket_root(lambda x: self._delta(x, side), level)[side]
        return shaped(np.where(level < 1, result, -np.inf), shape)

    def _delta(self, epsilon: Array, side: int) -> Array:
        """Bound delta, the larger of all orders, from below (0) or above (1)."""
        return np.asarray(np.max([pair[1 - side].delta(epsilon, side) for pair in self.pairs], axis=0))

    def __repr__(self) -> str:
        return f"Berry-Esseen band of {self.of!r}: mu = {self.mu:.6g}, gamma = {self.gamma:.6g}"


def berry_esseen(curve: TradeOff, *, constants: Constants = "sharp") -> BerryEsseen:
    """Enclose a composition between G_mu(alpha + gamma) - gamma and G_mu(alpha - gamma) + gamma.

    Parameters
    ----------
    curve
        A product of curves, symmetric or not, or the either-order envelope of one. Masses at infinity are
        split off and attached again; a factor whose law is enclosed by two others contributes one to each
        side.
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
    orders = curve.operands if isinstance(curve, Envelope) else (curve,)
    pairs = tuple(_both_sides(factors(order), sharp=constants == "sharp") for order in orders)
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


def _both_sides(powers: Powers, *, sharp: bool) -> tuple[NormalPair, NormalPair]:
    """Return the normal laws of a curve below the product and of one above it: of exact laws the same."""
    below = _normal_pair(powers, 0, sharp=sharp)
    exact = all(moments(factor)[0] is moments(factor)[1] for factor in powers)
    return below, below if exact else _normal_pair(powers, 1, sharp=sharp)


def _normal_pair(powers: Powers, side: int, *, sharp: bool) -> NormalPair:
    """Return the normal laws of L under P and Q of a curve below (side 0) or above (1) a product."""
    null, other = (
        [
            (_smoothed(factor, side, reverse=reverse and not factor.symmetric), n)
            for factor, n in powers.items()
        ]
        for reverse in (False, True)
    )
    variances = [check_variance(_added(law, "variance")) for law in (null, other)]
    gamma_p, gamma_q = (
        float(normal_distance([(m, n) for m, n in law if m.third.upper > 0], variance, sharp=sharp))
        for law, variance in zip((null, other), variances, strict=True)
    )
    # A constant 0 counts as normal with a deviation of 1 and a gap of 0.
    sd_p, sd_q = (Bounds(1.0, 1.0) if v.upper == 0 else sqrt(v) for v in variances)
    gap = _added(null, "kl") + _added(other, "kl")
    masses = (_added_mass(powers, side, reverse=reverse) for reverse in (True, False))
    return NormalPair(gap, sd_p, sd_q, gamma_p, gamma_q, *masses)


def _added_mass(powers: Powers, side: int, *, reverse: bool) -> Bounds:
    """Bound 1 - prod (1 - mass)^n of masses at +inf, or at -inf under P (``reverse``)."""
    masses = [(_mass(factor, side, reverse=reverse), n) for factor, n in powers.items()]
    positive = [(mass, n) for mass, n in masses if mass.upper > 0]
    if len(positive) == 1 and positive[0][1] == 1:
        return positive[0][0]
    return clip(-expm1(total(whole(n) * log1p(-mass) for mass, n in positive)), 0.0, 1.0)


def _mass(factor: TradeOff, side: int, *, reverse: bool) -> Bounds:
    """Bound the mass at infinity of the law that replaces a factor: a law below it may have more."""
    laws = factor.laws()
    if laws[0] is laws[1]:
        return (factor.inverse() if reverse else factor).mass_at_infinity
    return bound_mass(laws[side].mass_at_minus_infinity if reverse else laws[side].mass_at_plus_infinity)


def _smoothed(factor: TradeOff, side: int, *, reverse: bool = False) -> Moments:
    """Return a factor's moments; G_mu is made of m factors G_{mu/sqrt(m)}, whose higher moments vanish."""
    result = moments(factor, reverse=reverse)[side]
    return result._replace(third=NOTHING) if isinstance(factor, Gaussian) else result


def _added(law: Summands, moment: str) -> Bounds:
    return total(whole(n) * getattr(m, moment) for m, n in law)


def normal_distance(rough: Sequence[tuple[Any, int]], variance: Bounds, *, sharp: bool = True) -> Any:
    """Bound sup |F - Phi| of a standardised sum of this variance in all, the normal summands' included.

    ``rough`` has the moments ``third`` and ``variance`` of those that are not normal, and their numbers. A
    normal summand costs nothing: it is a sum of m narrower ones, whose third moments add up to less as m
    grows. Nor does it move two distribution functions apart, so that identical summands may also be measured
    on their own.
    """
    if not rough:
        return 0.0
    third = sum((whole(n) * m.third for m, n in rough), NOTHING)
    gamma = _INDEPENDENT * third / (variance * sqrt(variance))
    if sharp and len(rough) == 1:
        [(m, n)] = rough
        rho = m.third / (m.variance * sqrt(m.variance))
        gamma = minimum(gamma, *(a * (rho + b) / sqrt(whole(n)) for a, b in _IDENTICAL))
    return gamma.upper
