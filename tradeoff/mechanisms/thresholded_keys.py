"""Noisy values of keys that are not known in advance: a key is shown only where its value is large."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tradeoff.balls import exp, normal_sf, to_balls, to_bounds
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MOST, count, number
from tradeoff.families.total_variation import TotalVariation
from tradeoff.intervals.bounds import Bounds
from tradeoff.mechanisms.base import NEIGHBOURS, SCALE, SIZE, Adjacency, Mechanism, wholes, words
from tradeoff.mechanisms.continuous import Gaussian, Laplace
from tradeoff.mechanisms.discrete import DiscreteLaplace


@dataclass(frozen=True, repr=False)
class ThresholdedKeys(Mechanism):
    """Histogram over unknown keys: noise on every value present, shown from a threshold on.

    Parameters
    ----------
    scale
        Scale of Laplace or geometric noise (pmf proportional to e^(-|x|/scale)), or standard deviation of
        normal noise, in (0, inf): a float or a fraction, as neither side of another number is safe.
    threshold
        Least noisy value that is shown, above ``contribution``.
    noise
        ``"laplace"``, ``"gaussian"``, or ``"geometric"`` for whole values.
    keys
        Most keys to which one record contributes, a whole number from 1.
    contribution
        Most that one record contributes to one key, from 0 on; in (0, inf), whole for geometric noise.
    adjacency
        ``"add-remove"``, or ``"replace-one"``, where a record leaves its keys and enters as many others.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Dominating: for each key that changes, the curve of its noise times total variation p = P(contribution +
    noise >= threshold) (Korolova, Kenthapadi, Mishra, Ntoulas 2009; Desfontaines, Voss, Gipson, Mandayam
    2022). A key that one neighbour lacks is shown with probability at most p, and nothing against that has a
    curve, in either order, at or above f_{0,p}; keys are independent, those of both neighbours see a shift,
    and one record more changes at most ``keys`` of either sort, another one twice as many.

    Examples
    --------
    >>> counts = ThresholdedKeys(scale=2, threshold=28)
    >>> counts.curve()
    Lap_{0.5} ⊗ f_{0,6.8548e-07} (not exact)
    """

    kind = "thresholded-keys"
    exact = False

    # With more noise losses are less, and keys of one record alone are shown more often.
    scale: float = field(metadata=SCALE)
    threshold: float
    noise: str = field(default="laplace", metadata=words("laplace", "gaussian", "geometric"))
    keys: int = field(default=1, metadata=wholes(1))
    contribution: float = field(default=1.0, metadata=SIZE)
    adjacency: Adjacency = field(default="add-remove", metadata=NEIGHBOURS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise == "geometric":
            count("contribution", self.contribution, 1, MOST)
        threshold = number("threshold", self.threshold, self.contribution, open_low=True)
        object.__setattr__(self, "threshold", threshold)
        self._noisy()

    def _noisy(self) -> Mechanism:
        """Return the mechanism on the value of one key."""
        if self.noise == "geometric":
            return DiscreteLaplace(self.scale, int(self.contribution))
        return (Gaussian if self.noise == "gaussian" else Laplace)(self.scale, self.contribution)

    def parameters(self) -> dict[str, Any]:
        given = super().parameters()
        return {name: value for name, value in given.items() if (name, value) != ("adjacency", "add-remove")}

    def curve(self) -> TradeOff:
        each = self._noisy().curve() @ TotalVariation(float(self._shown().upper))
        return each ** (self.keys * (2 if self.adjacency == "replace-one" else 1))

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
