"""Additive continuous noise on the whole data set."""

from __future__ import annotations

from dataclasses import dataclass

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import domain
from tradeoff.families.gaussian import Gaussian as GaussianCurve
from tradeoff.families.laplace import Laplace as LaplaceCurve
from tradeoff.mechanisms.base import Mechanism, number, ratio


@dataclass(frozen=True)
class Gaussian(Mechanism):
    """Normal noise on a query: G_mu with mu = 1/noise_multiplier, for every ordered pair of neighbours.

    Parameters
    ----------
    noise_multiplier
        Standard deviation over the l2-sensitivity, in (0, inf].

    Raises
    ------
    DomainError
        If ``noise_multiplier`` is not such a number.

    Notes
    -----
    Exact: the worst pair of neighbours differs by the sensitivity (Dong, Roth, Su 2022, Theorem 2.7).

    Examples
    --------
    >>> Gaussian(noise_multiplier=8).curve()
    G_{0.125}
    """

    kind = "gaussian"

    noise_multiplier: float

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "noise_multiplier", number("noise_multiplier", self.noise_multiplier, 0, open_low=True)
        )

    def curve(self) -> TradeOff:
        return GaussianCurve(ratio(1.0, self.noise_multiplier))


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

    Examples
    --------
    >>> Laplace(scale=10).curve()
    Lap_{0.1}
    """

    kind = "laplace"

    scale: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        check_scale(self)

    def curve(self) -> TradeOff:
        return LaplaceCurve(ratio(self.sensitivity, self.scale))


def check_scale(mechanism: Mechanism) -> None:
    """Check the scale and the sensitivity of a mechanism with Laplace noise, and their ratio."""
    for name, open_high in (("scale", False), ("sensitivity", True)):
        object.__setattr__(
            mechanism, name, number(name, getattr(mechanism, name), 0, open_low=True, open_high=open_high)
        )
    scale, sensitivity = mechanism.scale, mechanism.sensitivity  # type: ignore[attr-defined]  # the callers are those that have them
    if ratio(sensitivity, scale) > 1e300:
        raise domain(
            "scale", scale, f"the scales with sensitivity/scale at most 1e300 (sensitivity = {sensitivity!r})"
        )
