"""Additive noise on the integers, for integer queries, and histograms over unknown keys."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from tradeoff.balls import exp, normal_sf, to_balls, to_bounds
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MOST, count, number
from tradeoff.curves.product import tensor
from tradeoff.families.discrete import (
    BinomialCurve,
    DiscreteGaussianCurve,
    DiscreteLaplaceCurve,
    SkellamCurve,
)
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation
from tradeoff.intervals.bounds import Bounds
from tradeoff.mechanisms.base import (
    Adjacency,
    Mechanism,
    adjacency_field,
    integer_range,
    loss,
    mechanism,
    one_of,
    real_range,
)
from tradeoff.mechanisms.subsampled import leaking
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


@mechanism
class ThresholdedKeys(Mechanism):
    """Histogram over unknown keys: noise on every value present, shown from a threshold on.

    Dominating: for each key that changes, the curve of its noise times total variation p = P(contribution +
    noise >= threshold) (Korolova, Kenthapadi, Mishra, Ntoulas 2009; Desfontaines, Voss, Gipson, Mandayam
    2022). A key that one neighbour lacks is shown with probability at most p, and its curve, in either order,
    is at or above f_{0,p}; keys are independent, those of both neighbours see a shift,
    and adding a record changes at most ``keys`` of either sort, replacing one twice as many.

    >>> counts = ThresholdedKeys(scale=2, threshold=28)
    >>> counts.curve()
    Lap_{0.5} ⊗ f_{0,6.8548e-07} (not exact)
    """

    exact = False

    # More noise lowers losses, but shows keys of one record more often: no side is safe to round to.
    scale: float = real_range(
        "Scale of Laplace or geometric noise (pmf proportional to e^(-|x|/scale)), or standard deviation of "
        "normal noise.",
        "(0, inf)",
    )
    threshold: float = real_range("Least noisy value that is shown, above ``contribution``.", "(0, inf]")
    noise: str = one_of(
        "Law of the noise; geometric noise is for integer values.",
        "laplace",
        "gaussian",
        "geometric",
        default="laplace",
    )
    keys: int = integer_range("Most keys to which one record contributes.", default=1)
    contribution: float = real_range(
        "Largest contribution of one record to one key, which is at least 0; an integer for geometric noise.",
        "(0, inf)",
        default=1.0,
    )
    adjacency: Adjacency = adjacency_field("add-remove")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise == "geometric":
            count("contribution", self.contribution, 1, MOST)
        number("threshold", self.threshold, self.contribution, open_low=True)
        self._noise_curve()

    def _noise_curve(self) -> TradeOff:
        """Return the curve of the value of one key."""
        if self.noise == "geometric":
            return DiscreteLaplace(self.scale, int(self.contribution)).curve()
        return (Gaussian if self.noise == "gaussian" else Laplace)(
            loss(self.contribution, self.scale, "scale")
        )

    def parameters(self) -> dict[str, Any]:
        values = super().parameters().items()
        return {name: value for name, value in values if (name, value) != ("adjacency", "add-remove")}

    def curve(self) -> TradeOff:
        single_key = leaking(self._noise_curve(), float(self._shown().upper))
        return single_key ** (self.keys * (2 if self.adjacency == "replace-one" else 1))

    def _shown(self) -> Bounds:
        """Bound the probability that a key of one record alone is shown."""
        if math.isinf(self.threshold):
            return Bounds(0.0, 0.0)
        gap, scale = to_balls(self.threshold) - self.contribution, to_balls(self.scale)
        if self.noise == "gaussian":
            shown = normal_sf(gap / scale)
        elif self.noise == "geometric":
            steps = math.ceil(Fraction(self.threshold) - Fraction(self.contribution))
            shown = exp(-steps / scale) / (1 + exp(-1 / scale))
        else:
            shown = exp(-gap / scale) / 2
        return to_bounds(shown)
