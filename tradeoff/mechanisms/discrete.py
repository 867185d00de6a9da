"""Additive noise on the integers, for integer queries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.product import tensor
from tradeoff.families.discrete import (
    BinomialCurve,
    DiscreteGaussianCurve,
    DiscreteLaplaceCurve,
    SkellamCurve,
)
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation
from tradeoff.mechanisms.base import SCALE, Mechanism, ratio, wholes, within
from tradeoff.operators.pointwise import minimum

# Greatest squared sensitivity of a vector: beyond, the shifts that add up to it are too many to compare.
MOST_SQUARE = 32


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
    Exact: the law is log-concave, so the largest shift is the worst (the noise: Canonne, Kamath, Steinke
    2020).

    Examples
    --------
    >>> DiscreteGaussian(sigma=2).curve().symmetric
    True
    """

    kind = "discrete-gaussian"

    sigma: float = field(metadata=SCALE)
    sensitivity: int = field(default=1, metadata=wholes(1))

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
    Exact, also for vectors, by their l1-sensitivity; at sensitivity 1 it is f_{1/scale,0} (Ghosh,
    Roughgarden, Sundararajan 2012).

    Examples
    --------
    >>> DiscreteLaplace(scale=2).curve()
    f_{0.5,0}
    """

    kind = "discrete-laplace"

    scale: float = field(metadata=within(1e-300, open_high=True))
    sensitivity: int = field(default=1, metadata=wholes(1))

    def curve(self) -> TradeOff:
        if self.sensitivity == 1:
            return PureDP(ratio(1.0, self.scale))
        return DiscreteLaplaceCurve(self.scale, self.sensitivity)


@dataclass(frozen=True)
class DiscreteGaussianVector(Mechanism):
    """Independent discrete normal noise on every coordinate of an integer vector.

    Parameters
    ----------
    sigma
        Parameter sigma of every coordinate, in (0, inf), in counts.
    squared_sensitivity
        Square of the l2-sensitivity, a whole number from 1 to 32: the most that the squares of the changes
        add up to.
    dimension
        Number of coordinates, a whole number from 1.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Exact for one release: the hull of the minimum over all integer shifts of that norm, each the product of
    its coordinates (Canonne, Kamath, Steinke 2020 have its concentrated DP). Products of hulls of several
    shifts dominate. Larger shifts of a coordinate have lower curves, so only those that no coordinate can
    extend are taken. With an l1-sensitivity, of ``DiscreteLaplace`` and all noise that is log-concave, one
    coordinate carrying all of it is the worst: moving one coordinate after the other is a group, whose curve
    along one coordinate is that of the sum.

    Examples
    --------
    >>> DiscreteGaussianVector(sigma=4, squared_sensitivity=4, dimension=9).curve()
    minimum(N_Z(4, shift 2), N_Z(4)^4)
    >>> DiscreteGaussianVector(sigma=4, squared_sensitivity=2, dimension=9).curve()
    N_Z(4)^2
    """

    kind = "discrete-gaussian-vector"

    sigma: float = field(metadata=SCALE)
    squared_sensitivity: int = field(metadata=wholes(1, MOST_SQUARE))
    dimension: int = field(metadata=wholes(1))

    def curve(self) -> TradeOff:
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
            each = (first, *rest)
            spare = square - sum(shift**2 for shift in each)
            if all((shift + 1) ** 2 - shift**2 > spare for shift in each):
                yield each


@dataclass(frozen=True)
class Skellam(Mechanism):
    """Difference of two Poisson counts of one mean as noise on an integer query, also summed up securely.

    Parameters
    ----------
    variance
        Variance of the noise, twice the mean that both counts have, in (0, inf); up to about 1e6 a curve is
        computed.
    sensitivity
        Largest change of the query under neighbours, a whole number from 1; of a vector, the l1-sensitivity.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Exact, also for vectors, by their l1-sensitivity (see ``DiscreteGaussianVector``): the law is log-concave,
    so the largest shift, along one coordinate, is the worst (the mechanism: Agarwal, Kairouz, Liu 2021).

    Examples
    --------
    >>> Skellam(variance=100).curve()
    Skellam(100)
    """

    kind = "skellam"

    variance: float = field(metadata=SCALE)
    sensitivity: int = field(default=1, metadata=wholes(1))

    def curve(self) -> TradeOff:
        return SkellamCurve(self.variance, self.sensitivity)


@dataclass(frozen=True)
class BinomialNoise(Mechanism):
    """Number of heads among fair coins as noise on an integer query.

    Parameters
    ----------
    coins
        Number of coins, a whole number from 1; coins times sensitivity up to 2^20.
    sensitivity
        Largest change of the query under neighbours, a whole number from 1; of a vector, the l1-sensitivity.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Exact, mass at infinity included, also for vectors, as for ``Skellam`` (the mechanism: Dwork et al. 2006;
    Agarwal et al. 2018).

    Examples
    --------
    >>> BinomialNoise(coins=1000).guarantee().epsilon(1e-6) < 0.31
    True
    """

    kind = "binomial-noise"

    coins: int = field(metadata=wholes(1))
    sensitivity: int = field(default=1, metadata=wholes(1))

    def curve(self) -> TradeOff:
        if self.sensitivity > self.coins:
            return TotalVariation(1.0)  # the supports are apart
        return BinomialCurve(self.coins, self.sensitivity)
