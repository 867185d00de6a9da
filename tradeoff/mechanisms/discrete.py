"""Additive noise on the integers, for integer queries."""

from __future__ import annotations

from dataclasses import dataclass

from tradeoff.curves.contract import TradeOff
from tradeoff.families.discrete import DiscreteGaussianCurve, DiscreteLaplaceCurve
from tradeoff.families.pure_dp import PureDP
from tradeoff.mechanisms.base import Mechanism, number, ratio, whole


@dataclass(frozen=True)
class DiscreteGaussian(Mechanism):
    """Discrete normal noise, pmf proportional to e^(-x^2/(2 sigma^2)): T at a shift of the sensitivity.

    Parameters
    ----------
    sigma
        Parameter sigma (close to the standard deviation), in (0, inf), in counts.
    sensitivity
        Largest change of the query under neighbours, a whole number from 1, in counts.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    The same curve for every ordered pair of neighbours, and the law is log-concave, so the largest shift is
    the worst (Canonne, Kamath, Steinke 2020).

    Examples
    --------
    >>> DiscreteGaussian(sigma=2).curve().symmetric
    True
    """

    kind = "discrete-gaussian"

    sigma: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", number("sigma", self.sigma, 0, open_low=True, open_high=True))
        object.__setattr__(self, "sensitivity", whole("sensitivity", self.sensitivity, 1))

    def curve(self) -> TradeOff:
        return DiscreteGaussianCurve(self.sigma, self.sensitivity)


@dataclass(frozen=True)
class DiscreteLaplace(Mechanism):
    """Two-sided geometric noise, pmf proportional to e^(-|x|/scale): T at a shift of the sensitivity.

    Parameters
    ----------
    scale
        Scale of the decay, in (0, inf), in counts.
    sensitivity
        Largest change of the query under neighbours, a whole number from 1, in counts.

    Raises
    ------
    DomainError
        If a parameter is out of range, or 1/scale overflows.

    Notes
    -----
    At sensitivity 1 the curve is exactly f_{1/scale,0} (Ghosh, Roughgarden, Sundararajan 2012).

    Examples
    --------
    >>> DiscreteLaplace(scale=2).curve()
    f_{0.5,0}
    """

    kind = "discrete-laplace"

    scale: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", number("scale", self.scale, 1e-300, open_high=True))
        object.__setattr__(self, "sensitivity", whole("sensitivity", self.sensitivity, 1))

    def curve(self) -> TradeOff:
        if self.sensitivity == 1:
            return PureDP(ratio(1.0, self.scale))
        return DiscreteLaplaceCurve(self.scale, self.sensitivity)
