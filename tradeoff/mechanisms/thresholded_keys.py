"""Noisy values of keys that are not known in advance: a key is shown only if its noisy value is large."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tradeoff.balls import exp, normal_sf, to_balls, to_bounds
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MOST, count, number
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace
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
from tradeoff.mechanisms.discrete import DiscreteLaplace


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
        single_key = self._noise_curve() @ TotalVariation(float(self._shown().upper))
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
