"""How wide an answer is, each question in its own unit.

What engines and the planner go by when they decide to go on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tradeoff.composition.budget import Question
from tradeoff.intervals.rounding import UNIT, Array

_NORMAL = 2.0**-1022
"""The least float with all its digits."""

Measure = Callable[[Array, Array], Array]

_FINEST = 16 * UNIT
"""No beta is told apart more finely: 1 - alpha is rounded already."""


def of(question: Question, at: Array) -> Measure:
    """Return the measure of answers to a question asked ``at`` so many points."""
    if question == "beta":
        return lambda low, high: _beta(at, low, high)
    return _delta if question == "delta" else _epsilon


def _delta(low: Array, high: Array) -> Array:
    """Width relative to the upper bound; below the normal floats one is as narrow as bounds get."""
    return np.where(high < _NORMAL, 0.0, (high - low) / np.maximum(high, _NORMAL))


def _epsilon(low: Array, high: Array) -> Array:
    """Width in nats; infinite where a side is unknown."""
    known = np.isfinite(low) & np.isfinite(high)
    return np.where(low == high, 0.0, np.where(known, high - np.where(known, low, 0.0), np.inf))


def _beta(alpha: Array, low: Array, high: Array) -> Array:
    """Width relative to min(beta, 1 - alpha - beta)."""
    scale, gap = np.minimum(high, np.maximum(1 - alpha - low, 0.0)), high - low
    return np.where(gap <= _FINEST, 0.0, gap / np.where(scale > 0, scale, 1.0))
