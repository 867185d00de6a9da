"""Additive noise, T(noise, noise + sensitivity): of a law, in histograms of keys, and of a given curve."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from tradeoff.balls import exp, normal_sf, to_balls, upper_float
from tradeoff.conversions import from_zcdp
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MOST, count, number, reals
from tradeoff.curves.product import tensor
from tradeoff.errors import DomainError, KindError, domain, shown
from tradeoff.families.approximate_dp import PureDP, TotalVariation
from tradeoff.families.discrete import (
    BinomialCurve,
    DiscreteGaussianCurve,
    DiscreteLaplaceCurve,
    SkellamCurve,
)
from tradeoff.families.gaussian import Gaussian as GaussianCurve
from tradeoff.families.laplace import Laplace as LaplaceCurve
from tradeoff.families.laplace import Truncated
from tradeoff.intervals.bounds import Array
from tradeoff.intervals.functions import expm1, log1p, rational
from tradeoff.intervals.roots import largest
from tradeoff.mechanisms.base import (
    Adjacency,
    Mechanism,
    adjacency_field,
    check_curve,
    check_loss,
    loss,
    mechanism,
)
from tradeoff.mechanisms.fields import in_interval, integer, numbers, one_of, parameter, real
from tradeoff.mechanisms.subsampled import leaking
from tradeoff.operators.pointwise import minimum


@mechanism
class Gaussian(Mechanism):
    r"""Normal noise on a query: G_mu with mu = sensitivity/noise, for every ordered pair of neighbours.

    Exact: the worst pair of neighbours differs by the sensitivity (Dong, Roth, Su 2022, Theorem 2.7), and of
    coordinates with standard deviations :math:`s_i` that move by at most :math:`D_i` the worst moves each by
    :math:`D_i`: :math:`\mu^2 = \sum_i (D_i/s_i)^2` (the same, Corollary 3.3).

    >>> Gaussian(noise_multiplier=8).curve(), Gaussian(noise_multiplier=10, sensitivity=5).curve()
    (G_{0.125}, G_{0.5})
    >>> Gaussian(noise_multiplier=[2, 1], sensitivity=[6, 4]).curve()
    G_{5}
    """

    noise_multiplier: float | tuple[float, ...] = parameter(
        "Standard deviation over the l2-sensitivity; of a list, that of every coordinate.",
        "float in (0, inf], or a list of such numbers",
        partial(numbers, check=in_interval("(0, inf]")),
    )
    sensitivity: float | tuple[float, ...] | None = parameter(
        "l2-sensitivity of the query, also of a vector; or a list, the largest change of each coordinate, "
        "whatever the others. If it is given, standard deviations are in the units of the query.",
        "float in [0, inf), or a list of such numbers",
        partial(numbers, check=in_interval("[0, inf)")),
        default=None,
    )

    def _check(self) -> None:
        noise, moves = self.noise_multiplier, self.sensitivity
        if isinstance(noise, tuple) and moves is not None and len(noise) != np.size(moves):
            raise domain("sensitivity", moves, f"a list of {len(noise)} numbers, one for each coordinate")
        self.curve()

    def curve(self) -> TradeOff:
        return GaussianCurve(
            loss(1.0 if self.sensitivity is None else self.sensitivity, self.noise_multiplier)
        )


@mechanism
class Laplace(Mechanism):
    """Laplace noise on a query: T(Lap(0,1), Lap(eps,1)) with eps = sensitivity/scale, for every pair.

    Exact: the worst pair of neighbours differs by the sensitivity, and of vectors it is one whose difference
    lies on one axis (Dong, Roth, Su 2022, Proposition 2.15 and Theorem 2.14).

    >>> Laplace(scale=10).curve()
    Lap_{0.1}
    """

    scale: float = real(
        r"Scale :math:`b` of the density :math:`e^{-\lvert x\rvert/b}/(2b)`, in the units of the query.",
        "(0, inf]",
    )
    sensitivity: float = real("l1-sensitivity of the query, in the same units.", "(0, inf)", default=1.0)

    def _check(self) -> None:
        self.curve()

    def curve(self) -> TradeOff:
        return LaplaceCurve(loss(self.sensitivity, self.scale, "scale"))


@mechanism
class TruncatedLaplace(Mechanism):
    r"""Laplace noise conditioned on [-bound, bound]: it is drawn again until it lies there.

    Exact: the law is log-concave, so the largest shift is the worst (Geng, Ding, Guo, Kumar 2020 have the
    :math:`(\varepsilon, \delta)` point of this curve at :math:`\varepsilon` the sensitivity over the scale).
    Answers that are clipped to a range are not of this kind but post-processing: their guarantee is that of
    ``Laplace``. Between scales, neither is more private throughout: with more noise losses are smaller, and
    masses at the ends larger.

    >>> f = TruncatedLaplace(scale=1, bound=10).curve()
    >>> round(f.delta(1.0), 10), f.epsilon(1e-3) < 1
    (3.90067e-05, True)
    """

    normal: ClassVar[bool] = False
    scale: float = real("Scale of the noise before truncation, in the units of the query.", "(0, inf)")
    bound: float = real("Largest size of the noise, in the same units.", "(0, inf)")
    sensitivity: float = real(
        "Sensitivity of the query, which is one number, in the same units.", "(0, inf)", default=1.0
    )

    def curve(self) -> TradeOff:
        if 2 * Fraction(self.bound) <= Fraction(self.sensitivity):
            return TotalVariation(1.0)  # disjoint supports
        return Truncated(self.scale, self.sensitivity, self.bound, normal=self.normal)


@mechanism
class TruncatedGaussian(TruncatedLaplace):
    """Normal noise conditioned on [-bound, bound]: it is drawn again until it lies there.

    Exact, as for ``TruncatedLaplace``.

    >>> TruncatedGaussian(scale=1, bound=6).curve().mass_at_infinity.upper < 3e-7
    True
    """

    normal = True
    scale: float = real("Standard deviation before truncation, in the units of the query.", "(0, inf)")


@mechanism
class BoundedLaplace(Mechanism):
    r"""Laplace noise drawn again until the answer lies in an interval that also contains the true answer.

    Dominating: :math:`f_{\varepsilon,0}` with :math:`\varepsilon` the largest loss,
    :math:`s/b + \log(C(s)/C(0))`, :math:`s` the sensitivity and :math:`b` the scale, where :math:`C(q)` is
    the probability that noise about :math:`q` leaves the answer inside, :math:`q` measured from an end
    (Holohan, Antonatos, Braghin, Mac Aonghusa 2020). It is above :math:`s/b`: a bounded domain costs privacy.

    >>> BoundedLaplace(scale=1, width=10).curve()
    f_{1.48985,0} (not exact)
    """

    exact = False
    scale: float = real("Scale of the noise, in the units of the query.", "(0, inf)")
    width: float = real("Length of the interval, at least the sensitivity, in the same units.", "(0, inf)")
    sensitivity: float = real("Sensitivity of the query, in the same units.", "(0, inf)", default=1.0)

    def _check(self) -> None:
        if self.width < self.sensitivity:
            interval = f"[{self.sensitivity:g}, inf)"
            raise domain("width", self.width, interval, "answers of neighbours differ by the sensitivity")
        self.curve()

    def curve(self) -> TradeOff:
        shift, width, scale = map(Fraction, (self.sensitivity, self.width, self.scale))
        # 2 C(q) is 1 - e^-q + 1 - e^-(w - q): at 0 one term, at the shift both.
        start, near, far = (-expm1(-rational(x / scale)) for x in (width, shift, width - shift))
        eps = rational(shift / scale) + log1p((near + far - start) / start)
        return PureDP(check_loss(float(eps.upper), self.sensitivity, self.scale, "scale"))


@mechanism
class BoundedGaussian(Mechanism):
    r"""Normal noise drawn again until the answer lies in a convex set that was fixed in advance.

    Dominating: :math:`G_\mu` with :math:`\mu` the inverse of the noise multiplier, as without conditioning.
    The densities are :math:`e^{-F}` on the set, :math:`F` strongly convex with constant :math:`1/\sigma^2`,
    with differences of :math:`F` that are Lipschitz with constant :math:`s/\sigma^2`, :math:`s` the
    sensitivity, and these are at least as hard to distinguish as normal laws (Gopi, Lee, Liu 2022; again in
    Bok, Su, Altschuler 2024).

    >>> BoundedGaussian(noise_multiplier=4).curve()
    G_{0.25} (not exact)
    """

    exact = False
    noise_multiplier: float = real(
        "Standard deviation before conditioning over the l2-sensitivity.", "(0, inf]"
    )

    def curve(self) -> TradeOff:
        return GaussianCurve(loss(1.0, self.noise_multiplier))


MOST_SQUARE = 32  # largest squared sensitivity of a vector whose shifts are compared

shift_field = partial(integer, "Largest change of the query; of a vector, the l1-sensitivity.", default=1)


@mechanism
class DiscreteGaussian(Mechanism):
    """Discrete normal noise, pmf proportional to e^(-x^2/(2 sigma^2)): T at a shift of the sensitivity.

    Exact: the law is log-concave, so the largest shift is the worst (the noise: Canonne, Kamath, Steinke
    2020).

    >>> DiscreteGaussian(sigma=2).curve().symmetric
    True
    """

    sigma: float = real(r"Parameter :math:`\sigma`, close to the standard deviation.", "(0, inf)")
    sensitivity: int = integer("Largest change of the query under neighbours.", default=1)

    def curve(self) -> TradeOff:
        return DiscreteGaussianCurve(self.sigma, self.sensitivity)


@mechanism
class DiscreteLaplace(Mechanism):
    r"""Two-sided geometric noise, pmf proportional to e^(-|x|/scale): T at a shift of the sensitivity.

    Exact, also for vectors, by their l1-sensitivity; at sensitivity 1 it is :math:`f_{1/\text{scale},0}`
    (Ghosh, Roughgarden, Sundararajan 2012).

    >>> DiscreteLaplace(scale=2).curve()
    f_{0.5,0}
    """

    scale: float = real("Scale of the decay.", "[1e-300, inf)")
    sensitivity: int = shift_field()

    def curve(self) -> TradeOff:
        if self.sensitivity == 1:
            return PureDP(loss(1.0, self.scale, "scale"))
        return DiscreteLaplaceCurve(self.scale, self.sensitivity)


@mechanism
class DiscreteGaussianVector(Mechanism):
    r"""Independent discrete normal noise on every coordinate of an integer vector.

    Exact for one release: the hull of the minimum over all integer shifts of that norm, each the product of
    its coordinates (Canonne, Kamath, Steinke 2020 have its concentrated DP). Products of hulls of several
    shifts dominate. Larger shifts of a coordinate have lower curves, so only those that no coordinate can
    extend are taken. With an l1-sensitivity, of ``DiscreteLaplace`` and all noise that is log-concave, one
    coordinate carrying all of it is the worst: moving one coordinate after the other is a group, whose curve
    along one coordinate is that of the sum.

    Above a squared sensitivity of 32 the shifts are too many: the curve is then that of concentrated DP with
    :math:`\rho` the squared sensitivity over :math:`2 \sigma^2` (Proposition 5 there), and is not exact.

    >>> DiscreteGaussianVector(sigma=4, squared_sensitivity=4, dimension=9).curve()
    minimum(N_Z(4, shift 2), N_Z(4)^4)
    >>> DiscreteGaussianVector(sigma=4, squared_sensitivity=2, dimension=9).curve()
    N_Z(4)^2
    """

    sigma: float = real(r"Parameter :math:`\sigma` of every coordinate.", "(0, inf)")
    squared_sensitivity: int = integer("Square of the l2-sensitivity: the largest sum of squared changes.")
    dimension: int = integer("Number of coordinates.")

    def curve(self) -> TradeOff:
        if self.squared_sensitivity > MOST_SQUARE:
            rho = rational(self.squared_sensitivity / (2 * Fraction(self.sigma) ** 2)).upper
            return from_zcdp(float(rho))
        return minimum(
            *(
                tensor((DiscreteGaussianCurve(self.sigma, shift), n) for shift, n in Counter(shifts).items())
                for shifts in _shifts(self.squared_sensitivity, self.dimension, self.squared_sensitivity)
            )
        )


def _shifts(square: int, dimension: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield the falling lists of shifts, none above ``most``, that no further or longer shift extends."""
    top = min(math.isqrt(square), most) if dimension else 0
    if top == 0:
        yield ()
    for first in range(top, 0, -1):
        for rest in _shifts(square - first**2, dimension - 1, first):
            shifts = (first, *rest)
            spare = square - sum(shift**2 for shift in shifts)
            if all((shift + 1) ** 2 - shift**2 > spare for shift in shifts):
                yield shifts


@mechanism
class Skellam(Mechanism):
    """Difference of two Poisson counts with equal means as noise on an integer query.

    Exact. For vector queries, ``sensitivity`` is the l1-sensitivity: the noise is log-concave, so the largest
    shift along one coordinate is the worst case (see ``DiscreteGaussianVector``). Suitable for secure
    aggregation (the mechanism: Agarwal, Kairouz, Liu 2021).

    >>> Skellam(variance=100).curve()
    Skellam(100)
    """

    variance: float = real(
        "Variance of the noise, twice the mean of each count; curves are computed up to about 1e6.",
        "(0, inf)",
    )
    sensitivity: int = shift_field()

    def curve(self) -> TradeOff:
        return SkellamCurve(self.variance, self.sensitivity)


@mechanism
class BinomialNoise(Mechanism):
    """Number of heads of fair coins as noise on an integer query.

    Exact, including the mass at infinity. For vector queries, ``sensitivity`` is the l1-sensitivity, as for
    ``Skellam`` (the mechanism: Dwork et al. 2006; Agarwal et al. 2018).

    >>> BinomialNoise(coins=1000).guarantee().epsilon(1e-6) < 0.31
    True
    """

    coins: int = integer(
        "Number of coins; curves are computed for coins times sensitivity up to :math:`2^{20}`."
    )
    sensitivity: int = shift_field()

    def curve(self) -> TradeOff:
        if self.sensitivity > self.coins:
            return TotalVariation(1.0)  # disjoint supports
        return BinomialCurve(self.coins, self.sensitivity)


@mechanism
class ThresholdedKeys(Mechanism):
    r"""Histogram over unknown keys: noise on every value present, shown from a threshold on.

    Dominating: for each key that changes, the curve of its noise times total variation
    :math:`p = P(\text{contribution} + \text{noise} \ge \text{threshold})` (Korolova, Kenthapadi, Mishra,
    Ntoulas 2009; Desfontaines, Voss, Gipson, Mandayam 2022). A key that one neighbour lacks is shown with
    probability at most :math:`p`, and its curve, in either order, is at or above :math:`f_{0,p}`; keys are
    independent, those of both neighbours see a shift, and adding a record changes at most ``keys`` of either
    sort, replacing one twice as many.

    >>> counts = ThresholdedKeys(scale=2, threshold=28)
    >>> counts.curve()
    Lap_{0.5} ⊗ f_{0,6.8548e-07} (not exact)
    """

    exact = False
    order = "symmetric"
    unshown = MappingProxyType({"adjacency": "add-remove"})
    # More noise lowers losses, but shows keys of one record more often: no side is safe to round to.
    scale: float = real(
        r"Scale :math:`b` of Laplace or geometric noise (pmf proportional to :math:`e^{-\lvert x\rvert/b}`), "
        "or standard deviation of normal noise.",
        "(0, inf)",
    )
    threshold: float = real("Least noisy value that is shown, above ``contribution``.", "(0, inf]")
    noise: str = one_of(
        "Law of the noise; geometric noise is for integer values.",
        "laplace",
        "gaussian",
        "geometric",
        default="laplace",
    )
    keys: int = integer("Most keys to which one record contributes.", default=1)
    contribution: float = real(
        "Largest contribution of one record to one key, which is at least 0; an integer for geometric noise.",
        "(0, inf)",
        default=1.0,
    )
    adjacency: Adjacency = adjacency_field(default="add-remove")

    def _check(self) -> None:
        if self.noise == "geometric":
            count("contribution", self.contribution, 1, MOST)
        number("threshold", self.threshold, self.contribution, open_low=True)
        self.curve()

    def curve(self) -> TradeOff:
        limit = min(self.threshold, 1e300)
        gap, scale = to_balls(limit) - self.contribution, to_balls(self.scale)
        # The noise of one key, and the probability that a key of one record alone is shown.
        if self.noise == "geometric":
            noise = DiscreteLaplace(self.scale, int(self.contribution)).curve()
            steps = math.ceil(Fraction(limit) - Fraction(self.contribution))
            leak = exp(-steps / scale) / (1 + exp(-1 / scale))
        else:
            mu = loss(self.contribution, self.scale, "scale")
            normal = self.noise == "gaussian"
            noise = GaussianCurve(mu) if normal else LaplaceCurve(mu)
            leak = normal_sf(gap / scale) if normal else exp(-gap / scale) / 2
        single_key = leaking(noise, 0.0 if math.isinf(self.threshold) else upper_float(leak))
        return single_key ** (self.keys * (2 if self.adjacency == "replace-one" else 1))


@mechanism
class CanonicalNoise(Mechanism):
    r"""Canonical noise of a symmetric curve f on one real query: its shift by the sensitivity has curve f.

    Parameters
    ----------
    curve
        Symmetric curve below the identity. In a plan file it is JSON, in place or the name of a file.
    sensitivity : sensitivity of the query, in (0, inf), in its units

    Notes
    -----
    Exact (Awan, Vadhan 2023, Definition 3.7, and Proposition F.6 for the quantile): uniform on the middle
    :math:`[c, 1 - c]` of probabilities, :math:`c = f(c)`, and carried on to either side by
    :math:`F(x - 1) = f(1 - F(x))`. For :math:`f_{\varepsilon,0}` it is the Tulap law, discrete Laplace noise
    plus a uniform one.

    Examples
    --------
    >>> from tradeoff import Gaussian
    >>> noise = CanonicalNoise(Gaussian(1))
    >>> noise.curve(), noise.sample(3, np.random.default_rng(1)).shape
    (G_{1}, (3,))
    """

    target: TradeOff
    sensitivity: float = real("Sensitivity of the query.", "(0, inf)")

    def __init__(self, curve: TradeOff, sensitivity: float = 1.0) -> None:
        vars(self).update(target=check_curve(curve), sensitivity=sensitivity)
        super().__post_init__()
        if not curve.symmetric:
            raise domain("curve", curve, "symmetric", "use .symmetrise(...)")
        if curve.delta(0.0) == 0:
            raise domain("curve", curve, "below the identity", "no noise gives perfect privacy")

    def curve(self) -> TradeOff:
        return self.target

    def parameters(self) -> dict[str, Any]:
        return {"curve": self.target, "sensitivity": self.sensitivity}

    def _above(self, alpha: Array) -> Array:
        """Bound f from above, so that rounding makes the noise more private, not less."""
        curve = self.target.upper if self.target.composed else self.target
        return np.asarray(curve.bounds(alpha).upper)

    def quantile(self, probability: Any) -> Array:
        """Return the quantiles of the noise, in the units of the query, to the accuracy of f.

        Parameters
        ----------
        probability
            Numbers in (0, 1); the result has their shape. ``DomainError`` if the noise is wider than a
            thousand sensitivities.

        Examples
        --------
        >>> from tradeoff import PureDP
        >>> CanonicalNoise(PureDP(np.log(3)), sensitivity=2).quantile([0.25, 0.5]).round(9).tolist()
        [-1.0, 0.0]
        """
        p = reals("probability", probability)
        if not np.all((p > 0) & (p < 1)):
            raise domain("probability", probability, "(0, 1)")
        return np.where(p < 0.5, 1, -1) * self._lower(np.minimum(p, 1 - p)) + 0.0

    def sample(self, size: int | tuple[int, ...], rng: np.random.Generator) -> Array:
        """Return independent noise, in the units of the query.

        Parameters
        ----------
        size : shape of the result
        rng
            Source of randomness. Floats are rounded, so that an attacker with all their bits may learn
            more than the curve allows: round released values to a grid, or use them in simulations only.
        """
        if not isinstance(rng, np.random.Generator):
            raise KindError(
                f"rng must be a numpy.random.Generator, got {shown(rng)}; use numpy.random.default_rng()"
            )
        try:
            np.broadcast_shapes(size)
        except (TypeError, ValueError) as error:
            raise domain("size", size, "the shape of an array", str(error)) from error
        sign = rng.choice([-1.0, 1.0], size)
        return sign * self._lower(np.exp(-rng.exponential(size=size)) / 2)

    def _lower(self, p: Array) -> Array:
        """Return F^-1(p), p <= 1/2: F^-1(1 - f(p)) - 1 below c = f(c), and (p - 1/2)/(1 - 2 c) from c on."""
        c = largest(lambda c: bool(self._above(np.array([c]))[0] > c), 0.0, 0.5, halvings=60)
        if 1 - 2 * c < 1e-3:  # the inverse of the width, and each unit costs one f
            width = "1000 sensitivities"
            raise DomainError(f"{self!r} has noise of more than {width}; use normal or Laplace noise")
        u, steps = p.ravel().copy(), np.zeros(p.size)
        while (low := u < c).any():
            u[low] = np.maximum(1 - self._above(u[low]), np.nextafter(u[low], 1))
            steps[low] += 1
        return np.reshape(self.sensitivity * ((u - 0.5) / (1 - 2 * c) - steps), p.shape)
