"""Additive noise on the integers, for integer queries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

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
from tradeoff.mechanisms.base import Mechanism, integer_range, loss, mechanism, real_range
from tradeoff.operators.pointwise import minimum

MOST_SQUARE = 32
"""Largest squared sensitivity of a vector: the shifts that add up to a larger one are too many to compare."""


def shift_field() -> Any:
    """Return the field of the sensitivity of an integer query."""
    return integer_range("Largest change of the query; of a vector, the l1-sensitivity.", default=1)


@mechanism
class DiscreteGaussian(Mechanism):
    """Discrete normal noise, pmf proportional to e^(-x^2/(2 sigma^2)): T at a shift of the sensitivity.

    Exact: the law is log-concave, so the largest shift is the worst (the noise: Canonne, Kamath, Steinke
    2020).

    >>> DiscreteGaussian(sigma=2).curve().symmetric
    True
    """

    sigma: float = real_range("Parameter sigma, close to the standard deviation.", "(0, inf)")
    sensitivity: int = integer_range("Largest change of the query under neighbours.", default=1)

    def curve(self) -> TradeOff:
        return DiscreteGaussianCurve(self.sigma, self.sensitivity)


@mechanism
class DiscreteLaplace(Mechanism):
    """Two-sided geometric noise, pmf proportional to e^(-|x|/scale): T at a shift of the sensitivity.

    Exact, also for vectors, by their l1-sensitivity; at sensitivity 1 it is f_{1/scale,0} (Ghosh,
    Roughgarden, Sundararajan 2012).

    >>> DiscreteLaplace(scale=2).curve()
    f_{0.5,0}
    """

    scale: float = real_range("Scale of the decay.", "[1e-300, inf)")
    sensitivity: int = shift_field()

    def curve(self) -> TradeOff:
        if self.sensitivity == 1:
            return PureDP(loss(1.0, self.scale, "scale"))
        return DiscreteLaplaceCurve(self.scale, self.sensitivity)


@mechanism
class DiscreteGaussianVector(Mechanism):
    """Independent discrete normal noise on every coordinate of an integer vector.

    Exact for one release: the hull of the minimum over all integer shifts of that norm, each the product of
    its coordinates (Canonne, Kamath, Steinke 2020 have its concentrated DP). Products of hulls of several
    shifts dominate. Larger shifts of a coordinate have lower curves, so only those that no coordinate can
    extend are taken. With an l1-sensitivity, of ``DiscreteLaplace`` and all noise that is log-concave, one
    coordinate carrying all of it is the worst: moving one coordinate after the other is a group, whose curve
    along one coordinate is that of the sum.

    >>> DiscreteGaussianVector(sigma=4, squared_sensitivity=4, dimension=9).curve()
    minimum(N_Z(4, shift 2), N_Z(4)^4)
    >>> DiscreteGaussianVector(sigma=4, squared_sensitivity=2, dimension=9).curve()
    N_Z(4)^2
    """

    sigma: float = real_range("Parameter sigma of every coordinate.", "(0, inf)")
    squared_sensitivity: int = integer_range(
        "Square of the l2-sensitivity: the largest sum of squared changes.", 1, MOST_SQUARE
    )
    dimension: int = integer_range("Number of coordinates.")

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
            shifts = (first, *rest)
            spare = square - sum(shift**2 for shift in shifts)
            if all((shift + 1) ** 2 - shift**2 > spare for shift in shifts):
                yield shifts


@mechanism
class Skellam(Mechanism):
    """Difference of two Poisson counts of one mean as noise on an integer query, for secure aggregation too.

    Exact, also for vectors, by their l1-sensitivity (see ``DiscreteGaussianVector``): the law is log-concave,
    so the largest shift, along one coordinate, is the worst (the mechanism: Agarwal, Kairouz, Liu 2021).

    >>> Skellam(variance=100).curve()
    Skellam(100)
    """

    variance: float = real_range(
        "Variance of the noise, twice the mean of each count; curves are computed up to about 1e6.",
        "(0, inf)",
    )
    sensitivity: int = shift_field()

    def curve(self) -> TradeOff:
        return SkellamCurve(self.variance, self.sensitivity)


@mechanism
class BinomialNoise(Mechanism):
    """Number of heads among fair coins as noise on an integer query.

    Exact, mass at infinity included, also for vectors, as for ``Skellam`` (the mechanism: Dwork et al. 2006;
    Agarwal et al. 2018).

    >>> BinomialNoise(coins=1000).guarantee().epsilon(1e-6) < 0.31
    True
    """

    coins: int = integer_range("Number of coins; curves are computed for coins times sensitivity up to 2^20.")
    sensitivity: int = shift_field()

    def curve(self) -> TradeOff:
        if self.sensitivity > self.coins:
            return TotalVariation(1.0)  # disjoint supports
        return BinomialCurve(self.coins, self.sensitivity)
