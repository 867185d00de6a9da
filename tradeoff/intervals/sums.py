"""Sums along an axis, rounded outward."""

from __future__ import annotations

import numpy as np

from tradeoff.intervals.bounds import Bounds, make_bounds


def sum_rows(x: Bounds) -> Bounds:
    """Bound the sum of each row, by halves of it, so that few roundings add up.

    >>> sum_rows(Bounds.of(np.array([[0.5, 0.25, 1.0]])))
    Bounds(lower=array([1.75]), upper=array([1.75]))
    """
    low, high = x
    while low.shape[-1] > 1:
        padding = [(0, 0)] * (low.ndim - 1) + [(0, low.shape[-1] % 2)]
        low, high = np.pad(low, padding), np.pad(high, padding)
        low, high = Bounds(low[..., ::2], high[..., ::2]) + Bounds(low[..., 1::2], high[..., 1::2])
    return make_bounds(low[..., 0], high[..., 0])
