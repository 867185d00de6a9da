"""Additive continuous noise on the whole data set."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import domain
from tradeoff.families.gaussian import Gaussian as GaussianCurve
from tradeoff.families.laplace import Laplace as LaplaceCurve
from tradeoff.mechanisms.base import LOSS, NOISE, SIZE, Mechanism, norm, numbers, ratio


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
                "sensitivity", self.sensitivity, f"the lists of {len(noise)} numbers, one for each coordinate"
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
        raise domain(
            "scale", scale, f"the scales with sensitivity/scale at most 1e300 (sensitivity = {sensitivity!r})"
        )
