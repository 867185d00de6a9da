"""Pairs of Gaussian mixtures: random answers of a query under both laws, with normal noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import beta_from_delta
from tradeoff.curves.parameters import MAX_LOSS, Number, exact_number, number, weights, written
from tradeoff.curves.product import CurveFromPLD
from tradeoff.errors import domain
from tradeoff.families.approximate_dp import Identity
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Array, Bounds, Pair
from tradeoff.pld.gaussian_mixtures import MixtureLaw
from tradeoff.pld.law import FULL
from tradeoff.pld.normal_mixtures import MixturePair

Weights = Mapping[Any, Number]


class GaussianMixtures(CurveFromPLD):
    r"""Testing a mixture of normal laws against another, on the line.

    .. math::

       f = T\left(\sum_i p_i N(a_i, \sigma^2),\; \sum_i q_i N(b_i, \sigma^2)\right)

    Parameters
    ----------
    null, alternative
        Probability of every mean under P and under Q, ``{mean: weight}``: numbers, or fractions. Weights must
        add to 1 within 1e-12, and are divided by their sum exactly; means of weight 0 are left out.
    sigma
        Common standard deviation, in (0, inf], in the unit of the means, and at least 1e-4 of their range.

    Returns
    -------
    TradeOff
        The curve T(P, Q) of one order; the inverse is the pair exchanged. One mean on each side is a
        ``Gaussian``, equal mixtures are the ``Identity``.

    Notes
    -----
    Where :math:`q_i/p_i` is monotone in the mean, so is the likelihood ratio (Karlin, Total Positivity,
    1968), and a single curve is a difference of normal tails; else it is integrated along a contour.

    Examples
    --------
    >>> from tradeoff import GaussianMixtures
    >>> step = GaussianMixtures(null={0: 0.99, -1: 0.01}, alternative={0: 0.99, 1: 0.01}, sigma=2)
    >>> step.symmetric, round((step**100_000).epsilon(1e-6), 8)
    (True, 19.51387046)
    """

    def __new__(cls, null: Weights, alternative: Weights, sigma: Number = 1.0) -> TradeOff:  # type: ignore[misc]  # the simplest curve of the pair, which may be of another family
        """Return the simplest curve."""
        scale = number("sigma", sigma, 0, open_low=True)
        p, q = (
            weights(
                f"weights of {name}",
                given,
                "mean: weight",
                lambda mean: exact_number("mean", mean, -math.inf, math.inf, open_low=True, open_high=True),
            )
            for name, given in (("null", null), ("alternative", alternative))
        )
        if p == q or scale == math.inf:
            return Identity()
        exact = Fraction(scale)
        means = {*p, *q}
        if max(means) - min(means) > MAX_LOSS * exact:  # the largest mu of ``Gaussian``, too
            low, high = float(min(means)), float(max(means))
            allowed = f"at least 1e-4 of the range of the means, {low:g} to {high:g}"
            raise domain("sigma", sigma, allowed)
        if len(p) == len(q) == 1:
            return Gaussian.from_weight(((max(means) - min(means)) / exact) ** 2)
        curve = super().__new__(cls)
        curve.null, curve.alternative, curve.sigma = p, q, exact
        return curve

    null: dict[Fraction, Fraction]
    alternative: dict[Fraction, Fraction]
    sigma: Fraction

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.null, self.alternative, self.sigma

    @cached_property
    def _law(self) -> MixtureLaw:
        return MixtureLaw(MixturePair.of(self.null, self.alternative, self.sigma))

    def loss_distribution(self) -> MixtureLaw:
        return self._law

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return self._law.beta(alpha) if self._law.pair.monotone else beta_from_delta(self, alpha, tol)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        low, high = self._law.tail(epsilon)
        return low, np.where(epsilon >= self.sup_loss, 0.0, high)

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        if not self._law.pair.monotone:
            return TradeOff.epsilon_bounds(self, delta, tol)
        low, high = self._law.epsilon(delta)
        far = (high > FULL) & (delta > 0)  # where densities underflow at the threshold of the test
        if far.any():
            low[far], high[far] = super().epsilon_bounds(delta[far], tol)
        return low, high

    @cached_property
    def symmetric(self) -> bool:
        """Whether some reflection of the line exchanges the mixtures."""
        ends = min(self.null) + max(self.alternative)  # a goes to ends - a
        return self.alternative == {ends - a: p for a, p in self.null.items()}

    @property
    def loss_bounds(self) -> Bounds[float]:
        first, *_, last = self._law.pair.log_ratios
        return Bounds(max(first.lower, last.lower), self._law.pair.limits[1])

    def inverse(self) -> TradeOff:
        """Inverse T(Q, P): the pair exchanged."""
        return self if self.symmetric else self._reversed

    @cached_property
    def _reversed(self) -> TradeOff:
        return GaussianMixtures(self.alternative, self.null, self.sigma)

    def _key(self) -> tuple[Any, ...]:
        return frozenset(self.null.items()), frozenset(self.alternative.items()), self.sigma

    @property
    def notation(self) -> str:
        p, q = (
            ", ".join(f"{written(a)}: {written(w)}" for a, w in sorted(side.items()))
            for side in (self.null, self.alternative)
        )
        return f"GaussianMixtures({{{p}}}, {{{q}}}, sigma={written(self.sigma)})"
