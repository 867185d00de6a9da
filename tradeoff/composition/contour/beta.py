"""f(alpha) = sup_s 1 - delta(log s) - s alpha, concave in s, from certified samples around its maximum."""

from __future__ import annotations

import numpy as np

from tradeoff.intervals.rounding import UNIT, Array


def greatest(at: Array, low: Array, high: Array) -> tuple[float, float] | None:
    """Bound the maximum over s = e^at of a concave function between ``low`` and ``high`` at the samples; None if it may lie outside.

    If the function provably rises from the second sample to the third and falls between the corresponding two at the right,
    it is below the second, or below the last but one, outside of them. Between two samples it is below the chords of both
    neighbouring pairs, extended.
    """
    if not (high[1] <= low[2] and high[-2] <= low[-3]):
        return None
    gap = np.expm1(np.diff(at)) * np.exp(at[:-1] - at[0])
    if not np.all(np.diff(at) > 1e-6 * 2.0**-20):
        return None
    rise = np.maximum(high[1:-2] - low[:-3], 0.0) * (gap[1:-1] / gap[:-2])
    fall = np.maximum(high[2:-1] - low[3:], 0.0) * (gap[1:-1] / gap[2:])
    inner = np.minimum(high[1:-2] + rise, high[2:-1] + fall)
    return float(np.max(low)), float(np.max(inner)) + 1e-9 * float(
        np.max(rise) + np.max(fall)
    ) + 8 * UNIT * float(np.max(np.abs(high)))
