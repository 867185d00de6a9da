"""First-order recursions of positive terms, by blocks: no loop over entries, no signal package to import."""

from __future__ import annotations

import numpy as np

from tradeoff.intervals.rounding import Array

_BLOCK = 64
"""Entries of a block, so that a level is one small matrix product and a million entries take four levels."""


def discounted(x: Array, a: float) -> Array:
    """Return y_k = x_k + a y_(k-1) for x >= 0 and 0 <= a <= 1; cost grows with len(x).

    Each entry is a sum of positive terms: at most 64 roundings for the sum and 18 for two powers a level, of
    which there are log_64 len(x). A power that stands for 64 steps on the next level errs by 8 units, so a
    term d steps back by d/63 * 8 more. Terms below the least float vanish.
    """
    if len(x) == 0:
        return np.zeros(0)
    padded = np.zeros(-(-len(x) // _BLOCK) * _BLOCK)
    padded[: len(x)] = x
    powers = a ** np.arange(_BLOCK + 1.0)
    lag = np.subtract.outer(np.arange(_BLOCK), np.arange(_BLOCK))
    within = padded.reshape(-1, _BLOCK) @ np.where(lag <= 0, powers[-lag], 0.0)
    if len(within) > 1:
        carried = discounted(within[:, -1], float(powers[-1]))
        within[1:] += np.multiply.outer(carried[:-1], powers[1:])
    found: Array = within.ravel()[: len(x)]
    return found
