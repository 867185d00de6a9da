"""How wide an answer is, and with what width and cost a question that states no tolerance is content.

One table for planner and engines. Bounds hold whatever stands here; only how wide they are, and how long they
take, depends on it.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

import numpy as np

from tradeoff.intervals.rounding import UNIT, Array

Question = Literal["delta", "epsilon", "beta"]


class Width(NamedTuple):
    """Widths of one engine's answers to a question while no tolerance is asked, as ``measure`` gives them."""

    goal: float
    """What they are refined to."""

    enough: float
    """With which no further engine is asked."""


# The lattice gains little after a contour and takes longer; a contour gains ten digits after a lattice, if it
# closes. Sums are as fine as they get.
WIDTHS: dict[str, dict[Question, Width]] = {
    "contour": {question: Width(1e-4, 1e-3) for question in get_args(Question)},
    "lattice": {"delta": Width(1e-2, 1e-6), "epsilon": Width(3e-4, 1e-6), "beta": Width(1e-2, 1e-4)},
    "exact": {question: Width(math.inf, math.inf) for question in get_args(Question)},
}

# Rounds of continuous laws up to which the lattice is the narrower engine, if none damps the transform: sums
# that are nearly atomic have slow contours.
FEW_ROUNDS = 4

# Rounds of atoms on one lattice up to which an FFT loses nothing to speak of: its rounding is multiplied by
# their number.
MOST_ATOMIC_ROUNDS = 2**20

# Terms summed for one line, in all or a distinct factor if that is more: about 0.3 s.
LINE_TERMS, LINE_TERMS_EACH = 2e7, 2e5

PATIENT_TERMS = 1e9  # the same when a tolerance is asked

# Relative width left by a Gaussian added where the product does not decay; ten times less takes three times
# the terms.
SMOOTHING = 2e-6

NODE_TERMS = 16  # terms a node costs at least: an answer sums all nodes again, some twenty times
SMOOTHED = 4  # how much cheaper lines with an added Gaussian are: their nodes are many
LOOKING = 64  # how much cheaper lines with an added Gaussian are while the place of an answer is looked for
LATTICE_WORK = 2**20  # lattice points times distinct factors: well below a second
LATTICE_LEAST = 2**16  # lattice points that even very many distinct factors get
LATTICE_WIDTH = 1e-4  # width in epsilon that a first lattice aims at
_NORMAL = 2.0**-1022  # the least float with all its digits: a delta below is as narrow as bounds get
_FINEST = 16 * UNIT  # no beta is told apart more finely: 1 - alpha is rounded already


def measure(question: Question, at: Array, low: Array, high: Array) -> Array:
    """Return how wide answers are, infinite where a side of epsilon is unknown.

    Delta's is relative to the upper bound, epsilon's in nats, f's relative to min(beta, 1 - alpha - beta).
    """
    if question == "delta":
        return np.where(high < _NORMAL, 0.0, (high - low) / np.maximum(high, _NORMAL))
    if question == "epsilon":
        known = np.isfinite(low) & np.isfinite(high)
        return np.where(low == high, 0.0, np.where(known, high - np.where(known, low, 0.0), np.inf))
    scale, gap = np.minimum(high, np.maximum(1 - at - low, 0.0)), high - low
    return np.where(gap <= _FINEST, 0.0, gap / np.where(scale > 0, scale, 1.0))
