"""The law of the privacy loss L = log dQ/dP, for study and sampling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.core.bounds import Bounds
from tradeoff.core.curve import TradeOff
from tradeoff.core.dispatch import announces
from tradeoff.core.parameters import count
from tradeoff.core.tensor import Tensor, law_pair
from tradeoff.engines.law import LossLaw, Reversed, masses
from tradeoff.engines.saddle import Cumulant
from tradeoff.errors import DomainError
from tradeoff.numerics.rounding import Array

Under = Literal["P", "Q"]


@dataclass(frozen=True)
class Law:
    """Law of L under P and under Q: distribution function, atoms, masses at infinity, cumulants, samples.

    Distribution functions come from bounds on the profile and hold the truth; cumulants and samples are estimates
    for study, good to about 1e-6.

    Examples
    --------
    >>> from tradeoff import PureDP
    >>> law = PureDP(1.0).law
    >>> round(law.mean("Q"), 6), law.mass_at_infinity
    (0.462117, 0.0)
    """

    curve: TradeOff

    @cached_property
    def _factors(self) -> list[tuple[LossLaw, int]]:
        factors = self.curve.factors if isinstance(self.curve, Tensor) else {self.curve: 1}
        return [(low, n) for low, _, n in (law_pair(f, n) for f, n in factors.items())]

    def _parts(self, under: Under) -> list[tuple[LossLaw, int]]:
        if under not in {"P", "Q"}:
            raise DomainError(f"under = {under!r} is neither 'P' nor 'Q'")
        return [(Reversed(law), n) for law, n in self._factors] if under == "Q" else self._factors

    @property
    def mass_at_infinity(self) -> float:
        """Return Q(L = +inf)."""
        return self.curve.q_plus

    @property
    def mass_at_minus_infinity(self) -> float:
        """Return P(L = -inf)."""
        return self.curve.p_minus

    @property
    def atoms(self) -> tuple[Array, Array, Array]:
        """Return losses, P-masses and Q-masses of the point masses; of a product, only if it is a single law."""
        if len(self._factors) != 1 or self._factors[0][1] != 1:
            raise DomainError("the atoms of a product are not listed; ask those of its factors")
        loss, log_p, _ = self._factors[0][0].atoms
        return loss, np.exp(log_p), np.exp(log_p + loss)

    def cdf(self, loss: ArrayLike, *, under: Under = "P") -> Any:
        """Return P(L <= loss) or Q(L <= loss), bounded from both sides.

        The slope of the convex profile in s = e^eps is -P(L > eps), so it lies between the slopes of chords on both sides.
        """
        at = np.atleast_1d(np.asarray(loss, dtype=float))
        single = self._factors[0] if len(self._factors) == 1 else None
        if single is not None and single[1] == 1:
            low, high = _single_cdf(single[0], at, under)
        else:
            low, high = self._from_profile(at, under)
        shape = np.shape(loss)
        return Bounds(low.reshape(shape), high.reshape(shape)) if shape else Bounds(float(low[0]), float(high[0]))

    def _from_profile(self, at: Array, under: Under) -> tuple[Array, Array]:
        step = 1e-3
        d = [self.curve.bounds.delta(at + k * step) for k in (-1, 0, 1)]
        s = [np.exp(at + k * step) for k in (-1, 0, 1)]
        above_low = np.clip((d[1].lower - d[2].upper) / (s[2] - s[1]), 0.0, 1.0)
        above_high = np.clip((d[0].upper - d[1].lower) / (s[1] - s[0]), 0.0, 1.0)
        if under == "P":
            return 1 - above_high, 1 - above_low
        # Q(L > t) = delta(t) + e^t P(L > t)
        return np.clip(1 - d[1].upper - s[1] * above_high, 0, 1), np.clip(1 - d[1].lower - s[1] * above_low, 0, 1)

    def cumulants(self, *, under: Under = "P") -> tuple[float, float]:
        """Return mean and variance of the finite part of L, in nats: sums over the factors."""
        _, mean, variance = Cumulant([(law.sketch(), n) for law, n in self._parts(under)])(0.0)
        return (-mean if under == "Q" else mean), variance

    def mean(self, under: Under = "P") -> float:
        """Return the mean of the finite part of L, in nats."""
        return self.cumulants(under=under)[0]

    def variance(self, under: Under = "P") -> float:
        """Return the variance of the finite part of L."""
        return self.cumulants(under=under)[1]

    def quantile(self, level: float, *, under: Under = "P") -> float:
        """Return the loss where the distribution function crosses ``level``, by bisection on its bounds."""
        if not 0 < level < 1:
            raise DomainError(f"level = {level!r} is outside (0, 1)")
        mean, variance = self.cumulants(under=under)
        reach = 12 * np.sqrt(variance) + 1e-9
        low, high = mean - reach, mean + reach
        for _ in range(50):
            middle = (low + high) / 2
            bounds = self.cdf(middle, under=under)
            low, high = (middle, high) if bounds.lower + bounds.upper < 2 * level else (low, middle)
        return float((low + high) / 2)

    def sample(self, size: int, rng: np.random.Generator, *, under: Under = "P") -> Array:
        """Draw losses; those at infinity included. Cost grows with size times the number of rounds."""
        size = count("size", size)
        total = np.zeros(size)
        sign = -1.0 if under == "Q" else 1.0
        for law, n in self._parts(under):
            sketch = law.sketch()
            weight = np.exp(sketch.log_p)
            finite = 1 - law.p_minus
            cumulative = np.cumsum(weight) / np.sum(weight)
            for _ in range(n):
                draw = sketch.loss[np.searchsorted(cumulative, rng.random(size)).clip(0, len(weight) - 1)]
                total += sign * np.where(rng.random(size) < finite, draw, -np.inf)
        return total


def _single_cdf(law: LossLaw, at: Array, under: Under) -> tuple[Array, Array]:
    low, high = np.empty(len(at)), np.empty(len(at))
    loss, log_p, _ = law.atoms
    for k, t in enumerate(at):
        cells = law.cells(np.array([-np.inf, t, np.inf])) if law.continuous else None
        p, q = masses(cells, np.array([-np.inf, t, np.inf])) if cells is not None else (np.zeros(2), np.zeros(2))
        weight = np.exp(log_p + (loss if under == "Q" else 0.0))
        lowest = law.p_minus if under == "P" else 0.0
        below = (q if under == "Q" else p)[0] + np.sum(weight[loss <= t]) + lowest
        low[k], high[k] = below * (1 - 1e-12), min(below * (1 + 1e-12), 1.0)
    return low, high


@announces("law")
def law_of(curve: TradeOff) -> Law:
    """Law of the privacy loss of a curve."""
    return Law(curve)
