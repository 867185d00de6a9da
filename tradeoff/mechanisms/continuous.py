"""Additive continuous noise, also of bounded support or conditioned on a bounded range of answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import domain
from tradeoff.families.gaussian import Gaussian as GaussianCurve
from tradeoff.families.laplace import Laplace as LaplaceCurve
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation
from tradeoff.families.truncated import Truncated
from tradeoff.intervals.functions import expm1, log1p, rational
from tradeoff.mechanisms.base import LOSS, NOISE, SCALE, SIZE, Mechanism, norm, numbers, ratio


@dataclass(frozen=True, repr=False)
class Gaussian(Mechanism):
    """Normal noise on a query: G_mu with mu = sensitivity/noise, for every ordered pair of neighbours.

    Parameters
    ----------
    noise_multiplier
        Standard deviation over the l2-sensitivity, in (0, inf]; of a list, that of every coordinate.
    sensitivity
        Where it is given, standard deviations are in the units of the query: its l2-sensitivity, in [0,
        inf), also of a vector; or a list, how far each coordinate may move, whatever the others do.

    Raises
    ------
    DomainError
        If a parameter is not such a number, or lists differ in length.

    Notes
    -----
    Exact: the worst pair of neighbours differs by the sensitivity (Dong, Roth, Su 2022, Theorem 2.7), and of
    coordinates with standard deviations s_i that move by at most D_i the worst moves each by D_i: mu^2 is the
    sum of (D_i/s_i)^2 (the same, Corollary 3.3).

    Examples
    --------
    >>> Gaussian(noise_multiplier=8).curve(), Gaussian(noise_multiplier=10, sensitivity=5).curve()
    (G_{0.125}, G_{0.5})
    >>> Gaussian(noise_multiplier=[2, 1], sensitivity=[6, 4]).curve()
    G_{5}
    """

    kind = "gaussian"

    noise_multiplier: float | tuple[float, ...]
    sensitivity: float | tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        noise = numbers("noise_multiplier", self.noise_multiplier, NOISE["checked"])
        object.__setattr__(self, "noise_multiplier", noise)
        if self.sensitivity is not None:
            moves = numbers("sensitivity", self.sensitivity, LOSS["checked"])
            object.__setattr__(self, "sensitivity", moves)
        if isinstance(noise, tuple) and len(noise) != len(self._moves):
            raise domain(
                "sensitivity", self.sensitivity, f"a list of {len(noise)} numbers, one for each coordinate"
            )

    @property
    def _moves(self) -> tuple[float, ...]:
        """Return how far each coordinate moves."""
        if self.sensitivity is None:
            return (1.0,) * (len(self.noise_multiplier) if isinstance(self.noise_multiplier, tuple) else 1)
        return self.sensitivity if isinstance(self.sensitivity, tuple) else (self.sensitivity,)

    def curve(self) -> TradeOff:
        moves, noise = self._moves, self.noise_multiplier
        each = noise if isinstance(noise, tuple) else (noise,) * len(moves)
        shares = [ratio(move, deviation) for move, deviation in zip(moves, each, strict=True)]
        return GaussianCurve(norm(shares))


@dataclass(frozen=True)
class Laplace(Mechanism):
    """Laplace noise on a query: T(Lap(0,1), Lap(eps,1)) with eps = sensitivity/scale, for every pair.

    Parameters
    ----------
    scale
        Scale b of the density e^(-|x|/b)/(2b), in (0, inf], in the units of the query.
    sensitivity
        l1-sensitivity of the query, in (0, inf), in the same units.

    Raises
    ------
    DomainError
        If a parameter is out of range, or their ratio overflows.

    Notes
    -----
    Exact: the worst pair of neighbours differs by the sensitivity, and of vectors it is one whose difference
    lies on one axis (Dong, Roth, Su 2022, Proposition 2.15 and Theorem 2.14).

    Examples
    --------
    >>> Laplace(scale=10).curve()
    Lap_{0.1}
    """

    kind = "laplace"

    scale: float = field(metadata=NOISE)
    sensitivity: float = field(default=1.0, metadata=SIZE)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale(self.scale, self.sensitivity)

    def curve(self) -> TradeOff:
        return LaplaceCurve(ratio(self.sensitivity, self.scale))


def check_scale(scale: float, sensitivity: float) -> None:
    """Check the ratio of the sensitivity and the scale of a mechanism with Laplace noise."""
    if ratio(sensitivity, scale) > 1e300:
        raise domain("scale", scale, f"at least sensitivity/1e300 (sensitivity = {sensitivity!r})")


@dataclass(frozen=True)
class TruncatedLaplace(Mechanism):
    """Laplace noise conditioned on [-bound, bound], drawn again until it lies there.

    Parameters
    ----------
    scale
        Scale of the noise, in (0, inf), in the units of the query.
    bound
        Greatest noise in size, in (0, inf), in the same units.
    sensitivity
        Sensitivity of the query, one number, in (0, inf), in the same units.

    Raises
    ------
    DomainError
        If a parameter is out of range, or sensitivity/scale overflows.

    Notes
    -----
    Exact: the law is log-concave, so the largest shift is the worst (Geng, Ding, Guo, Kumar 2020 have the
    (eps, delta) point of this curve at eps = sensitivity/scale). Answers that are cut off at the ends of a
    range, or folded into it, are no such noise but post-processing: their guarantee is that of ``Laplace``.

    Examples
    --------
    >>> f = TruncatedLaplace(scale=1, bound=10).curve()
    >>> round(f.delta(1.0), 10), f.epsilon(1e-3) < 1
    (3.90067e-05, True)
    """

    kind = "truncated-laplace"
    normal: ClassVar[bool] = False

    # With more noise losses are less, and masses at the ends more.
    scale: float = field(metadata=SCALE)
    bound: float = field(metadata=SCALE)
    sensitivity: float = field(default=1.0, metadata=SIZE)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale(self.scale, self.sensitivity)

    def curve(self) -> TradeOff:
        if 2 * Fraction(self.bound) <= Fraction(self.sensitivity):
            return TotalVariation(1.0)  # the supports are apart
        return Truncated(self.scale, self.sensitivity, self.bound, normal=self.normal)


@dataclass(frozen=True)
class TruncatedGaussian(TruncatedLaplace):
    """Normal noise conditioned on [-bound, bound], drawn again until it lies there.

    Parameters
    ----------
    scale
        Standard deviation before truncation, in (0, inf), in the units of the query.
    bound, sensitivity
        As for ``TruncatedLaplace``.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Exact, as for ``TruncatedLaplace``.

    Examples
    --------
    >>> TruncatedGaussian(scale=1, bound=6).curve().mass_at_infinity.upper < 3e-7
    True
    """

    kind = "truncated-gaussian"
    normal = True


@dataclass(frozen=True)
class BoundedLaplace(Mechanism):
    """Laplace noise drawn again until the answer lies in an interval that also holds the truth.

    Parameters
    ----------
    scale
        Scale of the noise, in (0, inf), in the units of the query.
    width
        Length of the interval, in (0, inf), in the same units.
    sensitivity
        Sensitivity of the query, in (0, width], in the same units.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Dominating: f_{eps,0} with eps the largest loss, sensitivity/scale + log(C(s)/C(0)), where C(q) is the
    probability that noise about q leaves the answer inside, q measured from an end (Holohan, Antonatos,
    Braghin, Mac Aonghusa 2020). It is above sensitivity/scale: a bounded domain costs privacy.

    Examples
    --------
    >>> BoundedLaplace(scale=1, width=10).curve()
    f_{1.48985,0} (not exact)
    """

    kind = "bounded-laplace"
    exact = False

    scale: float = field(metadata=SCALE)
    width: float = field(metadata=SIZE)
    sensitivity: float = field(default=1.0, metadata=SIZE)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale(self.scale, self.sensitivity)
        if self.width < self.sensitivity:
            given = f"[{self.sensitivity:g}, inf)"
            raise domain("width", self.width, given, "no two answers of the query lie farther apart than it")

    def curve(self) -> TradeOff:
        shift, width, scale = map(Fraction, (self.sensitivity, self.width, self.scale))
        # 2 C(q) is 1 - e^-q + 1 - e^-(w - q): at 0 one term, at the shift both.
        start, near, far = (-expm1(-rational(x / scale)) for x in (width, shift, width - shift))
        eps = rational(shift / scale) + log1p((near + far - start) / start)
        return PureDP(float(eps.upper))


@dataclass(frozen=True)
class BoundedGaussian(Mechanism):
    """Normal noise drawn again until the answer lies in a convex set fixed in advance.

    Parameters
    ----------
    noise_multiplier
        Standard deviation before conditioning over the l2-sensitivity, in (0, inf].

    Raises
    ------
    DomainError
        If ``noise_multiplier`` is not such a number.

    Notes
    -----
    Dominating: G_mu with mu = 1/noise_multiplier, as without conditioning. The densities are e^-F on the set,
    F strongly convex with constant 1/sigma^2, with differences of F that are Lipschitz with constant
    sensitivity/sigma^2, and these are no easier to tell apart than normal laws (Gopi, Lee, Liu 2022;
    again in Bok, Su, Altschuler 2024).

    Examples
    --------
    >>> BoundedGaussian(noise_multiplier=4).curve()
    G_{0.25} (not exact)
    """

    kind = "bounded-gaussian"
    exact = False

    noise_multiplier: float = field(metadata=NOISE)

    def curve(self) -> TradeOff:
        return GaussianCurve(ratio(1.0, self.noise_multiplier))
