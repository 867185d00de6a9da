"""What a question that states no tolerance may cost, and with what it is content.

One table for planner and engines.

Bounds hold whatever stands here; only how wide they are, and how long they take, depends on it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Question = Literal["delta", "epsilon", "beta"]


class Usual(NamedTuple):
    """Widths of one question, in its own unit (``widths``), while no tolerance is asked."""

    line: float
    """What samples along contour lines are refined to."""

    after_lines: float
    """From which width on the lattice is asked after the contour."""

    table: float
    """What lattice tables are refined to."""

    after_tables: float
    """From which width on the contour is asked after the lattice."""


USUAL: dict[Question, Usual] = {
    "delta": Usual(1e-4, 1e-3, 1e-2, 1e-6),
    "epsilon": Usual(1e-4, 1e-3, 3e-4, 1e-6),
    "beta": Usual(1e-4, 1e-3, 1e-2, 1e-4),
}
"""The lattice gains little after a contour and takes longer; a contour gains ten digits after a lattice, if
it closes."""

FEW_ROUNDS = 4
"""Rounds of continuous laws up to which the lattice is the narrower engine: nearly atomic sums have slow
contours."""

MOST_ATOMIC_ROUNDS = 2**20
"""Rounds of atoms on one lattice up to which an FFT loses nothing to speak of: its rounding is multiplied by
their number."""

LINE_TERMS, LINE_TERMS_EACH = 2e7, 2e5
"""Terms summed for one line, in all or a distinct factor if that is more: about 0.3 s."""

PATIENT_TERMS = 1e9
"""The same when a tolerance is asked."""

SMOOTHING = 2e-6
"""Relative width left by a Gaussian added where the product does not decay; ten times less takes three times
the terms."""

NODE_TERMS = 16
"""Terms a node costs at least: an answer sums all nodes again, some twenty times."""

SMOOTHED = 4
"""How much cheaper lines with an added Gaussian are: their nodes are many."""

LOOKING = 64
"""How much cheaper lines with an added Gaussian are while the place of an answer is looked for."""

LATTICE_WORK = 2**20
"""Lattice points times distinct factors: well below a second."""

LATTICE_LEAST = 2**16
"""Lattice points that even very many distinct factors get."""

LATTICE_WIDTH = 1e-4
"""Width in epsilon that a first lattice aims at."""
