"""Running sums without drift: every float ever added is held exactly, in a few partial sums."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import total


class ExactSum:
    """Exact sum of floats as non-overlapping partial sums; one number more costs O(1).

    Notes
    -----
    The partials never overlap, so there are at most about 40 of them, and two or three in practice (Shewchuk
    1997, Theorem 10; the algorithm of ``math.fsum``).

    Examples
    --------
    >>> total = ExactSum()
    >>> for x in (1e16, 1.0, 1.0):
    ...     total = total.plus(x)
    >>> total.value(), total.value(2.0)
    (1.0000000000000002e+16, 1.0000000000000004e+16)
    """

    __slots__ = ("partials",)

    def __init__(self, partials: Iterable[float] = ()) -> None:
        self.partials = list(partials)

    def __reduce__(self) -> tuple[type[ExactSum], tuple[list[float]]]:
        """Make copies by its partial sums, in every protocol of pickles."""
        return ExactSum, (self.partials,)

    def plus(self, x: float) -> ExactSum:
        """Return the sum with ``x`` added, exactly; who reads this one meanwhile reads one sum."""
        partials = []
        for partial in self.partials:
            larger, smaller = (x, partial) if abs(x) >= abs(partial) else (partial, x)
            x = larger + smaller
            error = smaller - (x - larger)
            if error:
                partials.append(error)
        return ExactSum([*partials, x])

    def value(self, *more: float) -> float:
        """Return the sum plus ``more``, rounded once, to nearest; inf beyond the floats."""
        try:
            return math.fsum((*self.partials, *more))
        except OverflowError:
            return math.inf

    def bounds(self, *more: float) -> Bounds:
        """Bound the sum plus ``more`` by one rounding to either side: the signs are exact."""
        return total((*self.partials, *more))

    def left(self, limit: float) -> float:
        """Return what the sum leaves of ``limit``, rounded down."""
        return max(0.0, -float(self.bounds(-limit).upper))
