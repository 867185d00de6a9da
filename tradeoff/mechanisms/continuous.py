"""Additive continuous noise, also of bounded support or conditioned on a bounded range of answers."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import domain
from tradeoff.families.gaussian import Gaussian as GaussianCurve
from tradeoff.families.laplace import Laplace as LaplaceCurve
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation
from tradeoff.families.truncated import Truncated
from tradeoff.intervals.functions import expm1, log1p, rational
from tradeoff.mechanisms.base import (
    Mechanism,
    check_loss,
    in_interval,
    loss,
    mechanism,
    numbers,
    parameter,
    real_range,
)


@mechanism
class Gaussian(Mechanism):
    """Normal noise on a query: G_mu with mu = sensitivity/noise, for every ordered pair of neighbours.

    Exact: the worst pair of neighbours differs by the sensitivity (Dong, Roth, Su 2022, Theorem 2.7), and of
    coordinates with standard deviations s_i that move by at most D_i the worst moves each by D_i: mu^2 is the
    sum of (D_i/s_i)^2 (the same, Corollary 3.3).

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

    def __post_init__(self) -> None:
        super().__post_init__()
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

    scale: float = real_range(
        "Scale b of the density e^(-|x|/b)/(2b), in the units of the query.", "(0, inf]"
    )
    sensitivity: float = real_range("l1-sensitivity of the query, in the same units.", "(0, inf)", 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.curve()

    def curve(self) -> TradeOff:
        return LaplaceCurve(loss(self.sensitivity, self.scale, "scale"))


@mechanism
class TruncatedLaplace(Mechanism):
    """Laplace noise conditioned on [-bound, bound]: it is drawn again until it lies there.

    Exact: the law is log-concave, so the largest shift is the worst (Geng, Ding, Guo, Kumar 2020 have the
    (eps, delta) point of this curve at eps = sensitivity/scale). Answers that are clipped to a range are not
    of this kind but post-processing: their guarantee is that of ``Laplace``. Between scales, neither is
    more private throughout: with more noise losses are smaller, and masses at the ends larger.

    >>> f = TruncatedLaplace(scale=1, bound=10).curve()
    >>> round(f.delta(1.0), 10), f.epsilon(1e-3) < 1
    (3.90067e-05, True)
    """

    normal: ClassVar[bool] = False

    scale: float = real_range("Scale of the noise before truncation, in the units of the query.", "(0, inf)")
    bound: float = real_range("Largest size of the noise, in the same units.", "(0, inf)")
    sensitivity: float = real_range(
        "Sensitivity of the query, which is one number, in the same units.", "(0, inf)", 1.0
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

    scale: float = real_range("Standard deviation before truncation, in the units of the query.", "(0, inf)")


@mechanism
class BoundedLaplace(Mechanism):
    """Laplace noise drawn again until the answer lies in an interval that also contains the true answer.

    Dominating: f_{eps,0} with eps the largest loss, sensitivity/scale + log(C(s)/C(0)), where C(q) is the
    probability that noise about q leaves the answer inside, q measured from an end (Holohan, Antonatos,
    Braghin, Mac Aonghusa 2020). It is above sensitivity/scale: a bounded domain costs privacy.

    >>> BoundedLaplace(scale=1, width=10).curve()
    f_{1.48985,0} (not exact)
    """

    exact = False

    scale: float = real_range("Scale of the noise, in the units of the query.", "(0, inf)")
    width: float = real_range(
        "Length of the interval, at least the sensitivity, in the same units.", "(0, inf)"
    )
    sensitivity: float = real_range("Sensitivity of the query, in the same units.", "(0, inf)", 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
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
    """Normal noise drawn again until the answer lies in a convex set that was fixed in advance.

    Dominating: G_mu with mu = 1/noise_multiplier, as without conditioning. The densities are e^-F on the set,
    F strongly convex with constant 1/sigma^2, with differences of F that are Lipschitz with constant
    sensitivity/sigma^2, and these are at least as hard to distinguish as normal laws (Gopi, Lee, Liu 2022;
    again in Bok, Su, Altschuler 2024).

    >>> BoundedGaussian(noise_multiplier=4).curve()
    G_{0.25} (not exact)
    """

    exact = False

    noise_multiplier: float = real_range(
        "Standard deviation before conditioning over the l2-sensitivity.", "(0, inf]"
    )

    def curve(self) -> TradeOff:
        return GaussianCurve(loss(1.0, self.noise_multiplier))
