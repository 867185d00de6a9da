"""log(1 - s + s e^L), the loss after sampling at rate s, and its inverse. Nothing cancels.

Functions of NumPy are trusted to 8 units of 2^-53 (less than 4 ulps), sums, products and quotients to one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, expm1, log, log1p, meet
from tradeoff.intervals.rounding import TINY, UNIT, Array

LARGE = 600.0  # losses up to this one have an e^L that a float holds, and log1p(s expm1(L)) loses nothing
_FLOOR = -0.75  # log1p of this is below -1, where another form takes over


class SamplingRate(NamedTuple):
    """A number of [0, 1] and its complement, each to full relative accuracy.

    Columns of them are for as many rows of losses: all 0, all 1 or all between.
    """

    part: float
    rest: float

    @classmethod
    def of(cls, p: float) -> SamplingRate:
        """Return a rate with its complement."""
        return cls(p, 1 - p)

    @property
    def slopes(self) -> tuple[float, float]:
        """Bounds on the slope of log(1 - s + s e^loss), over all losses."""
        return float(self.rest == 0), float(self.part > 0)

    def complement(self) -> SamplingRate:
        """Return the complement as the rate."""
        return SamplingRate(self.rest, self.part)


def subsampled_loss(rate: SamplingRate, loss: Array) -> Array:
    """Return log(1 - s + s e^loss)."""
    part, rest = rate
    if np.all(rest == 0):
        return loss
    if np.all(part == 0):
        return np.zeros_like(loss)
    near = np.log1p(np.maximum(part * np.expm1(np.minimum(loss, LARGE)), _FLOOR))
    below = np.log(rest + part * np.exp(np.minimum(loss, 0.0)))
    large = np.maximum(loss, LARGE)
    above = large + np.log(part + rest * np.exp(-large))
    return np.where(loss > LARGE, above, np.where(near < -1.0, below, near))


def subsampled_loss_error(loss: Array, subsampled: Array) -> Array:
    """Bound the rounding of ``subsampled_loss``.

    log1p(x), x > -0.64 known to 9 units, errs by 9 x/((1 + x) log1p x) + 8 <= 24 units of itself, and TINY
    where x is subnormal; a logarithm below -1 of a sum known to 10 units by 18; L + log(s + (1 - s) e^-L),
    the sum known to 11 units and its logarithm at most L, by 11 + 8 L and one of the result.
    """
    return 24 * UNIT * np.abs(subsampled) + np.where(loss > LARGE, UNIT * (11 + 8 * loss), 0.0) + TINY


def inverse_subsampled_loss(rate: SamplingRate, subsampled: Array) -> Array:
    """Return L with log(1 - s + s e^L) = ``subsampled``, or -inf."""
    part, rest = rate
    if rest == 0:
        return subsampled
    with np.errstate(divide="ignore", over="ignore"):
        near = np.log1p(np.maximum(np.expm1(np.clip(subsampled, -1.0, LARGE)) / part, -1.0))
        below = np.log(np.maximum(np.exp(np.minimum(subsampled, 0.0)) - rest, 0.0) / part)
    large = np.maximum(subsampled, 1.0)
    above = large + np.log1p(-rest * np.exp(-large)) - np.log(part)
    return np.where((subsampled > LARGE) | (near == np.inf), above, np.where(subsampled < -1.0, below, near))


def inverse_loss_error(rate: SamplingRate, subsampled: Array, loss: Array) -> Array:
    """Bound how far the result of ``inverse_subsampled_loss``, sampled again, lies from its goal.

    In e^L' = 1 - s + s e^L: expm1(L')/s known to 9 units moves L' by 9 |1 - e^-L'| <= 16 |L'| of them for L'
    >= -1, and e^L' - (1 - s) known to 12 units of e^L' moves it by 12 <= 12 |L'|. The last logarithm errs by
    8 units of L, sums by 4 more, and L' moves by the slope 1 - (1 - s) e^-L' <= s + |L'| of that; TINY where
    all of it is subnormal.
    """
    size = np.abs(subsampled)
    return UNIT * (16 * size + 12 * np.abs(loss) * (size + rate.part)) + TINY


def subsampled_slope(rate: SamplingRate, loss: Array, subsampled: Array) -> Array:
    """Return s e^loss/(1 - s + s e^loss), the derivative of ``subsampled_loss``."""
    most = -np.log(rate.part) if np.all(rate.part > 0) else 0.0
    return rate.part * np.exp(np.minimum(loss - subsampled, most))


def bound_subsampled_loss(p: Bounds, loss: Bounds) -> Bounds:
    """Bound log(1 - p + p e^loss), by all three forms: which of them cancels depends on the loss."""
    rest = 1 - p
    near = log1p(p * expm1(loss))
    return meet(near, log(rest + p * exp(loss)), loss + log(p + rest * exp(-loss)))


def bound_inverse_subsampled_loss(p: Bounds, subsampled: Bounds) -> Bounds:
    """Bound log((e^subsampled - 1 + p)/p), or -inf; by all three forms."""
    rest = 1 - p
    near, middle = log1p(expm1(subsampled) / p), log((exp(subsampled) - rest) / p)
    return meet(near, middle, subsampled + log1p(-rest * exp(-subsampled)) - log(p))
