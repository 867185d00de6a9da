"""What many leaks leave: products of 1 - q to full accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def log_kept(each: Sequence[float], counts: Sequence[int]) -> float:
    """Return log prod (1 - q_i)^n_i, all q_i < 1, to 5 units of itself.

    What is left may be far below the float 1 - q tells apart.

    Each term is known to 4 (two of log1p, a count beyond 2^53, their product), and none is positive.
    """
    return math.fsum(_times(n, math.log1p(-q)) for q, n in zip(each, counts, strict=True) if q > 0)


def _times(n: int, x: float) -> float:
    """Return n x for x <= 0, whether or not a float holds the count."""
    try:
        return n * x
    except OverflowError:
        product = n * Fraction(x)
        return float(product) if product > -(2**1000) else -math.inf
