"""A number held from both sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tradeoff.numerics.rounding import Array


@dataclass(frozen=True)
class Bounds:
    """Interval that holds the truth: ``lower <= truth <= upper``, entry by entry.

    Floats for a scalar question, arrays for an array; unpacks as ``lower, upper``.

    Examples
    --------
    >>> lower, upper = Bounds(0.25, 0.5)
    >>> Bounds(0.25, 0.5).width
    0.25
    """

    lower: Any
    upper: Any

    def __iter__(self) -> Iterator[Any]:
        return iter((self.lower, self.upper))

    @property
    def width(self) -> Any:
        """Return upper - lower; 0 where both are the same infinity."""
        lower, upper = np.asarray(self.lower, dtype=float), np.asarray(self.upper, dtype=float)
        with np.errstate(invalid="ignore"):
            width = np.where(lower == upper, 0.0, upper - lower)
        return width if width.ndim else float(width)

    def __contains__(self, value: Any) -> bool:
        return bool(np.all((np.asarray(self.lower) <= value) & (np.asarray(self.upper) >= value)))


Pair = tuple[Array, Array]
"""Lower and upper arrays of the same shape: what the hooks of a curve return."""
