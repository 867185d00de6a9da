"""Additive noise on a Poisson sample: every record enters with the same probability, independently."""

from __future__ import annotations

from dataclasses import dataclass

from tradeoff.curves.contract import TradeOff
from tradeoff.mechanisms.base import Mechanism, number
from tradeoff.mechanisms.noise import Gaussian, Laplace, check_scale
from tradeoff.operators.subsample import subsample


@dataclass(frozen=True)
class SubsampledGaussian(Mechanism):
    """Normal noise on a Poisson sample, one step of DP-SGD: f_p = p G_mu + (1 - p) Id, or f_p^-1.

    Parameters
    ----------
    noise_multiplier
        Standard deviation over the l2-sensitivity under adding or removing one record, in (0, inf].
    sample_rate
        Probability p that a record enters the sample, in [0, 1].

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    ``curve()`` is the order in which the record is absent under the null hypothesis and present under the
    alternative. For neighbours that add or remove one record.

    Examples
    --------
    >>> step = SubsampledGaussian(noise_multiplier=1.1, sample_rate=256 / 60000)
    >>> step.curve().symmetric
    False
    """

    kind = "subsampled-gaussian"
    adjacency = "add-remove"
    order = "tied"

    noise_multiplier: float
    sample_rate: float

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "noise_multiplier", number("noise_multiplier", self.noise_multiplier, 0, open_low=True)
        )
        object.__setattr__(self, "sample_rate", number("sample_rate", self.sample_rate, 0, 1))

    def curve(self) -> TradeOff:
        return subsample(Gaussian(self.noise_multiplier).curve(), self.sample_rate)


@dataclass(frozen=True)
class SubsampledLaplace(Mechanism):
    """Laplace noise on a Poisson sample: f_p = p f + (1 - p) Id in one order, f_p^-1 in the other.

    Parameters
    ----------
    scale
        Scale of the noise, in (0, inf], in the units of the query.
    sample_rate
        Probability p that a record enters the sample, in [0, 1].
    sensitivity
        l1-sensitivity under adding or removing one record, in (0, inf), in the units of the query.

    Raises
    ------
    DomainError
        If a parameter is out of range, or sensitivity/scale overflows.

    Notes
    -----
    ``curve()`` is the order in which the record is absent under the null hypothesis and present under the
    alternative.

    Examples
    --------
    >>> SubsampledLaplace(scale=2, sample_rate=0.1).order
    'tied'
    """

    kind = "subsampled-laplace"
    adjacency = "add-remove"
    order = "tied"

    scale: float
    sample_rate: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sample_rate", number("sample_rate", self.sample_rate, 0, 1))
        check_scale(self)

    def curve(self) -> TradeOff:
        return subsample(Laplace(self.scale, self.sensitivity).curve(), self.sample_rate)
