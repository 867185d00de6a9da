"""Berry-Esseen: a Gaussian curve with a proved error, on both sides of a composition.

S is the sum of the finite losses of all factors, m_P and s_P its mean and deviation under P, m_Q and s_Q
under Q; gamma is the error of the normal approximation to its distribution function. A "side" is 0 for bounds
from below and 1 for those from above, or for the curve below and the one above the composition.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from tradeoff import balls
from tradeoff.balls import Balls, lower_float, normal_isf, normal_sf, to_ball, union, upper_float
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import choice, flattened, shaped
from tradeoff.curves.product import combine_masses
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Array, Bounds
from tradeoff.intervals.functions import log, minimum, rational, sqrt, total
from tradeoff.intervals.roots import bracket_root
from tradeoff.limits.moments import NOTHING, check_variance, factors, moments
from tradeoff.operators.symmetrise import Envelope, symmetrise
from tradeoff.operators.tabulate import largest, to_lines
from tradeoff.pld.law import bound_mass

_BITS = balls.PRECISION // 2
"""Bits carried: 1 - r^2 of a float r is exact in 106 bits, and else cancels little."""


@dataclass(frozen=True)
class NormalPair:
    """Normal laws near those of S: |P(S <= t) - Phi((t - m_P)/s_P)| <= gamma_p at every t, likewise under Q.

    A test at threshold t = m_P + s_P z has alpha = P(S > t) within gamma_p of Phi(-z) and beta = Q(S <= t)
    within gamma_q of Phi(r z - d), r = s_P/s_Q the ``ratio`` and d = (m_Q - m_P)/s_Q the ``distance``. With
    ``mass_at_minus_infinity`` p under P and ``mass_at_plus_infinity`` q under Q, f(alpha) is
    (1 - q) f_finite(alpha/(1 - p)).
    """

    ratio: Bounds
    distance: Bounds
    gamma_p: float
    gamma_q: float
    mass_at_minus_infinity: Bounds = NOTHING
    mass_at_plus_infinity: Bounds = NOTHING

    @cached_property
    def is_trivial(self) -> bool:
        """Whether all of P or of Q may be at infinity."""
        return bool(max(self.mass_at_minus_infinity.upper, self.mass_at_plus_infinity.upper) >= 1)

    def beta(self, alpha: Array, side: int) -> Array:
        """Bound f(alpha) on a side: Phi(r z - d) up to gamma_q, where Phi(-z) = alpha up to gamma_p."""
        most, sign = (1 - Bounds.of(alpha)).upper, 1 if side else -1
        if self.is_trivial:
            return np.asarray(side * most)
        with balls.precision(_BITS):
            inner = balls.to_balls(alpha) / (1 - union(*self.mass_at_minus_infinity))
            finite = self._beta(inner - sign * self.gamma_p) + sign * self.gamma_q
            finite = balls.minimum(finite, 1 - inner) if side else finite
            low, high = balls.to_floats((1 - union(*self.mass_at_plus_infinity)) * finite)
        high = np.where(alpha >= (1 - self.mass_at_minus_infinity).upper, 0.0, high)
        return np.minimum(high, most) if side else np.maximum(low, 0.0)

    def _beta(self, alpha: Balls) -> Balls:
        """Return balls of Phi(r z - d) where Phi(-z) = alpha: 1 for alpha <= 0, and 0 for alpha >= 1."""
        r, d = union(*self.ratio), union(*self.distance)

        def value(a: Balls) -> Balls:
            if a <= 0 or a >= 1:
                return to_ball(float(a <= 0))
            # A ball that contains 0 or 1 is on neither side of it for certain.
            result = normal_sf(d - r * normal_isf(a)) if a > 0 and a < 1 else None
            return result if result is not None and result.is_finite() else union(0.0, 1.0)

        return np.frompyfunc(value, 1, 1)(alpha)

    def delta(self, epsilon: Array, side: int) -> Array:
        """Bound delta(eps) = sup_t Q(S > t) - e^eps P(S > t), for finite eps, below (side 0) or above (1).

        Of the finite parts any threshold z proves 1 - (Phi(r z - d) + gamma_q) - e^eps (Phi(-z) + gamma_p)
        from below, whatever r and d are. From above delta is at most the largest value of
        1 - (Phi(r z - d) - gamma_q)_+ - e^eps (Phi(-z) - gamma_p)_+. At each z that is largest at an end of r
        and at the upper end of d; and for each such pair it is largest where a clipped term reaches 0, or
        where the derivative of both terms together is 0.
        """
        if self.is_trivial:
            return np.full_like(epsilon, side)
        # The ends to take of a ball: of a loss, in which delta falls, and of a result.
        far, near = (lower_float, upper_float) if side else (upper_float, lower_float)
        with balls.precision(_BITS):
            p, q = union(*self.mass_at_minus_infinity), union(*self.mass_at_plus_infinity)
            r, d, sign = union(*self.ratio), union(*self.distance), -1 if side else 1
            # Bounds from below on the alpha from which on the lower bound on the finite f is 0, and its f(0).
            ends = [to_ball(1), to_ball(1)]
            if self.gamma_q > 0:
                ends[0] = normal_sf((d - normal_isf(to_ball(self.gamma_q))) / r)
            if self.gamma_p > 0:
                ends[1] = normal_sf(d - r * normal_isf(to_ball(self.gamma_p)))
            alpha = max(0.0, lower_float(ends[0] - self.gamma_p))
            beta = max(0.0, lower_float(ends[1] - self.gamma_q))
            zero, distance = to_ball(0), to_ball(self.distance.upper if side else self.distance.mid)
            ratios = [*map(to_ball, {*self.ratio} if side else {self.ratio.mid})]

            def largest_gain(x: float) -> float:
                """Bound the largest 1 - beta - e^x alpha of the finite parts over thresholds z."""
                slope = to_ball(x).exp()
                gains = [to_ball(1) - beta, 1 - slope * alpha] if side else [zero]
                for ratio in ratios:
                    pair = (ratio, distance) if side else (r, d)
                    for z in self._stationary_points(x, ratio, distance):
                        at = z if side else z.mid()
                        under_q = normal_sf(pair[1] - pair[0] * at) + sign * self.gamma_q
                        under_p = normal_sf(at) + sign * self.gamma_p
                        gains.append(1 - under_q.max(zero) - slope * under_p.max(zero))
                known = [gain for gain in map(near, gains) if not math.isnan(gain)]
                return 1.0 if side and len(known) < len(gains) else max(known)

            # Losses of the finite parts, conditioned on being finite.
            shift = balls.log1p(-p) - balls.log1p(-q)
            inner = [x + shift for x in epsilon.tolist()]
            deltas = [q + (1 - q) * (-x.expm1()).max(to_ball(largest_gain(far(x)))) for x in inner]
            return np.clip([near(each) for each in deltas], 0.0, 1.0)

    @staticmethod
    def _stationary_points(epsilon: float, r: Balls, d: Balls) -> Iterator[Balls]:
        """Yield every z with r phi(r z - d) = e^eps phi(z).

        These are the roots of (1 - r^2) z^2 + 2 r d z = d^2 + 2 (eps - log r).
        """
        level, bend = d * d + 2 * (epsilon - r.log()), 1 - r * r
        square = r * d * r * d + bend * level
        if square < 0:
            return
        root = square.sqrt() if square > 0 else union(0.0, to_ball(max(upper_float(square), 0.0)).sqrt())
        if r * d + root > 0:
            yield level / (r * d + root)
        elif bend != 0:
            yield (root - r * d) / bend
        if bend != 0:
            yield -(r * d + root) / bend


Constants = Literal["sharp", "theorem"]


class Hypothesis(NamedTuple):
    """A condition of a theorem, and whether it holds here."""

    statement: str
    holds: bool


@dataclass(frozen=True)
class BerryEsseen:
    """Enclosure of a composition by Gaussian curves with a proved error; every answer has two sides.

    Parameters
    ----------
    of : the composition
    pairs : for each order of the pair that counts, the normal laws of a curve below and of a curve above it
    constants : constants of the theorem, as in ``berry_esseen``

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
    name = "Berry-Esseen"

    @property
    def source(self) -> str:
        """The theorem and its constant, with their papers."""
        theorem = "Dong, Roth, Su 2022, Theorem 3.4"
        if not self._is_symmetric:
            theorem = f"the proof of {theorem}, law by law"
        sharp = "; constants of Shevtsova 2013 for identical factors, else 2010"
        return theorem if self.constants == "theorem" else theorem + sharp

    @cached_property
    def gamma(self) -> float:
        """The largest error of a distribution function, the band's half-width in alpha and in beta."""
        return max(max(pair.gamma_p, pair.gamma_q) for sides in self.pairs for pair in sides)

    @property
    def _is_symmetric(self) -> bool:
        """Whether every factor is symmetric: a product with all inverses is, too."""
        return len(self.pairs) == 1 and all(factor.symmetric for factor in self.of.factors)

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """The conditions of Theorem 3.4, each with whether this composition meets it.

        A product is of independent losses by definition. Without symmetry P and Q have a bound each.
        """
        return (
            Hypothesis("the losses of the factors are independent", True),
            Hypothesis("every factor is symmetric (else each law has its own bound)", self._is_symmetric),
            Hypothesis("E|L - E L|^3 of the finite losses L is finite", math.isfinite(self.gamma)),
            Hypothesis("gamma < 1/2 (else the bounds are trivial)", self.gamma < 1 / 2),
        )

    @property
    def mu(self) -> float:
        """The mean gap over the null's standard deviation, the larger of both orders."""
        return max(float((below.distance / below.ratio).upper) for below, _ in self.pairs)

    def guarantee(self) -> TradeOff:
        r"""Return a certified curve below the composition, a polygon of lines that may enter products.

        It is symmetric if the composition f is: with :math:`g \le f` also :math:`g^{-1} \le f^{-1} = f`
        (Dong, Roth, Su 2022, Proposition 2.4).
        """
        return self._polygon

    @cached_property
    def _polygon(self) -> TradeOff:
        """The largest of lines below f; of the slope -s at the z with log s = log(r phi(r z - d)/phi(z))."""
        # Dense where probabilities are neither 0 nor 1.
        places, slopes = np.concatenate([np.linspace(-8.5, 8.5, 601), np.linspace(-40.0, 40.0, 161)]), [[1.0]]
        for below in (below for below, _ in self.pairs if not below.is_trivial):
            r, d = below.ratio.lower, below.distance.upper
            z = np.concatenate([places, (places + d) / r])
            with np.errstate(over="ignore"):
                loss = np.log(r) + (z - (r * z - d)) * (z + (r * z - d)) / 2
            loss += np.log1p(-below.mass_at_plus_infinity.upper)
            loss -= np.log1p(-below.mass_at_minus_infinity.upper)
            # Floats hold the product of e^600 with any probability.
            slopes.append(np.exp(np.clip(loss, -600.0, 600.0)))
        slope = np.unique(np.concatenate(slopes))
        if self.of.symmetric:  # the inverse of a line of the slope s has the slope 1/s
            slope = slope[slope >= 1.0]
        # f(alpha) >= 1 - delta(log s) - s alpha for every s, and delta falls.
        lines = to_lines(slope, self._delta(log(slope).lower, 1))
        curve = largest(lines, up=False).assuming(*self.of.assumptions)
        return symmetrise(curve, assume="both-orders") if self.of.symmetric else curve

    def lower(self, alpha: ArrayLike) -> Any:
        r"""Bound f(alpha) from below, for alpha in [0, 1]: :math:`G_\mu(\alpha + \gamma) - \gamma` or 0."""
        return self.bounds(alpha).lower

    def upper(self, alpha: ArrayLike) -> Any:
        r"""Bound f(alpha) from above: :math:`G_\mu(\alpha - \gamma) + \gamma` or :math:`1 - \alpha`."""
        return self.bounds(alpha).upper

    def bounds(self, alpha: ArrayLike) -> Bounds:
        """Bound f(alpha) for alpha in [0, 1]."""
        flat, shape = flattened("alpha", alpha, 0.0, 1.0)
        high = np.min([above.beta(flat, 1) for _, above in self.pairs], axis=0)
        # The envelope of two orders is the convex hull of their minimum: the polygon is below it.
        [(below, _), *others] = self.pairs
        low = self._polygon.bounds(flat).lower if others else below.beta(flat, 0)
        return Bounds(shaped(low, shape), shaped(high, shape))

    def delta(self, epsilon: ArrayLike) -> Bounds:
        r"""Bound delta(epsilon), epsilon in nats.

        The upper bound is :math:`\sup_\alpha 1 - \mathrm{lower}(\alpha) - e^\varepsilon \alpha`.
        """
        x, shape = flattened("epsilon", epsilon, -np.inf, np.inf)
        finite = np.where(np.isfinite(x), x, 0.0)
        # delta(-inf) = 1, and delta(inf) is the mass at infinity, which the curve bounds.
        least, most = self.of.mass_at_infinity
        low = np.where(x == np.inf, least, np.where(x == -np.inf, 1.0, self._delta(finite, 0)))
        high = np.where(x == np.inf, min(most, 1.0), np.where(x == -np.inf, 1.0, self._delta(finite, 1)))
        return Bounds(shaped(low, shape), shaped(high, shape))

    def epsilon(self, delta: ArrayLike) -> Bounds:
        """Bound the smallest epsilon, in nats, with delta(epsilon) <= delta; +inf if the band has none."""
        level, shape = flattened("delta", delta, 0.0, 1.0)
        sides = (bracket_root(partial(self._delta, side=side), level)[side] for side in (0, 1))
        return Bounds(*(shaped(np.where(level < 1, each, -np.inf), shape) for each in sides))

    def _delta(self, epsilon: Array, side: int) -> Array:
        """Bound delta, the larger of all orders, from below (0) or above (1)."""
        return np.asarray(np.max([pair[1 - side].delta(epsilon, side) for pair in self.pairs], axis=0))

    def __repr__(self) -> str:
        return f"Berry-Esseen band of {self.of!r}: mu = {self.mu:.6g}, gamma = {self.gamma:.6g}"


def berry_esseen(curve: TradeOff, *, constants: Constants = "sharp") -> BerryEsseen:
    r"""Enclose a composition between two shifted Gaussian curves.

    .. math::

       G_\mu(\alpha + \gamma) - \gamma \;\le\; f(\alpha) \;\le\; G_\mu(\alpha - \gamma) + \gamma

    Parameters
    ----------
    curve
        A product of curves, symmetric or not, or the either-order envelope of one. Masses at infinity are
        split off and attached again; a factor whose law is enclosed by two others contributes one to each
        side.
    constants
        ``"theorem"``: 0.56 for all, as in Dong, Roth, Su 2022, Theorem 3.4 (the constant of Shevtsova 2010
        for independent summands). ``"sharp"``: for identical factors
        :math:`\min\{0.4690 \rho, 0.3322 (\rho + 0.429), 0.3031 (\rho + 0.646)\}/\sqrt{n}` (Shevtsova 2013).

    Returns
    -------
    BerryEsseen
        ``lower(alpha)`` and ``upper(alpha)`` enclose f on all of [0, 1]; ``delta`` and ``epsilon`` likewise
        have two sides. Where :math:`\gamma \ge 1/2`, or at delta below gamma, they are true and trivial.

    Raises
    ------
    PrecisionError
        If the losses are too small, or too large, for floats to hold their third moments.

    Notes
    -----
    For asymmetric curves each law has its own mean, variance and gamma: :math:`\alpha(t) = P(\sum L > t)` and
    :math:`\beta(t) = Q(\sum L \le t)` are each within gamma of their normal law.

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
    pairs = []
    for powers in map(factors, orders):
        below = above = _normal_pair(powers, 0, sharp=constants == "sharp")
        if not all(moments(factor)[0] is moments(factor)[1] for factor in powers):
            above = _normal_pair(powers, 1, sharp=constants == "sharp")
        pairs.append((below, above))
    return BerryEsseen(curve, tuple(pairs), constants)


def _normal_pair(powers: dict[TradeOff, int], side: int, *, sharp: bool) -> NormalPair:
    """Return the normal laws of S under P and Q of a curve below (side 0) or above (1) a product.

    ``sds`` and ``gammas`` are of P and then of Q, which is P of the reversed pair; ``masses`` are those of Q
    at L = inf and then of P at L = -inf. Moments are of finite losses, given that all are finite, so that
    ``gap`` = m_Q - m_P is the sum of both Kullback-Leibler divergences.
    """
    gap, sds, gammas, masses = NOTHING, [], [], []
    for reverse in (False, True):
        law = [(f, moments(f, reverse=reverse and not f.symmetric)[side], n) for f, n in powers.items()]
        variance = check_variance(total(rational(n) * m.variance for _, m, n in law))
        # G_mu is made of m factors G_{mu/sqrt(m)}, whose third moments add up to 0 as m grows.
        rough = [(m, n) for f, m, n in law if m.third.upper > 0 and not isinstance(f, Gaussian)]
        gammas.append(float(normal_distance(rough, variance, sharp=sharp)))
        # A constant loss is 0, as P and Q both have total 1: it counts as normal with a deviation of 1.
        sds.append(Bounds(1.0, 1.0) if variance.upper == 0 else sqrt(variance))
        gap = gap + total(rational(n) * m.kl for _, m, n in law)
        # 1 - prod (1 - mass)^n of masses of Q at +inf, or (``reverse``) of P at -inf. Of a factor between two
        # laws it is that of the one on this side, which may have more.
        mass_of = []
        for f, n in powers.items():
            mass, laws = (f.inverse() if reverse else f).mass_at_infinity, f.laws()
            if laws[0] is not laws[1]:
                pld = laws[side]
                mass = bound_mass(pld.mass_at_minus_infinity if reverse else pld.mass_at_plus_infinity)
            mass_of.append((mass, n))
        masses.append(combine_masses(mass_of))
    (sd_p, sd_q), (gamma_p, gamma_q), (plus, minus) = sds, gammas, masses
    return NormalPair(sd_p / sd_q, gap / sd_q, gamma_p, gamma_q, minus, plus)


def normal_distance(rough: Sequence[tuple[Any, int]], variance: Bounds, *, sharp: bool = True) -> Any:
    """Bound sup |F - Phi| of a standardised sum from above; ``variance`` includes that of normal summands.

    ``rough`` has the moments of those that are not normal (``third`` and ``variance``), and their numbers. A
    normal summand costs nothing: it is a sum of m narrower ones, whose third moments add up to less as m
    grows. Nor does it move two distribution functions apart, so that identical summands may also be measured
    on their own.
    """
    if not rough:
        return 0.0
    third = sum((rational(n) * m.third for m, n in rough), NOTHING)
    # sup |F - Phi| <= 0.56 sum E|X_j - E X_j|^3/V^(3/2) for independent summands, V in all (Shevtsova 2010).
    gamma = rational(Fraction("0.56")) * third / (variance * sqrt(variance))
    if sharp and len(rough) == 1:
        [(m, n)] = rough
        rho = m.third / (m.variance * sqrt(m.variance))
        # a (rho + b)/sqrt(n) with rho = E|X - E X|^3/sd^3, for n identical summands (Shevtsova 2013).
        for numbers in (("0.4690", "0"), ("0.3322", "0.429"), ("0.3031", "0.646")):
            a, b = map(rational, map(Fraction, numbers))
            gamma = minimum(gamma, a * (rho + b) / sqrt(rational(n)))
    return gamma.upper
