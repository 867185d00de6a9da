"""Lines in one strip of one order of the pair.

Where they are aimed, how they are drawn, and what they bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.composition.budget import NODE_TERMS
from tradeoff.composition.cache import Cache, anchors
from tradeoff.composition.conjugate import Kind
from tradeoff.composition.contour.draw import Placement, draw
from tradeoff.composition.contour.line import ContourLine
from tradeoff.composition.contour.place import aim, brief, least_tau, smoothed
from tradeoff.composition.engine import APART
from tradeoff.composition.options import query_options
from tradeoff.errors import SizeError
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.cumulant import Cumulant
from tradeoff.loss.law import LossLaw
from tradeoff.loss.saddle_table import SaddleTable
from tradeoff.loss.together import sketches, together
from tradeoff.loss.transform import Transformed

_REMEMBERED = 2**21 + 2**19
"""Most nodes of lines kept for later questions, 180 MiB: a long one where atoms last, and the shorter one
that led to it. Were there room for one alone, each would drive the other out, at every question."""

_PLACES = 1024
"""Most places remembered where a Gaussian is added."""

_WIDEST = 1.0
"""A Gaussian of a larger mu tells nothing of the product it is added to."""

_FARTHEST = 1e100
"""Losses beyond this overflow in the numbers of a line."""

HALF = math.log(0.7)
"""Tails rarer than this are answered for c > 1, where they lose nothing to a difference from 1."""

_POLES = (0.0, 1.0)
"""Where the integrand of delta has poles."""

_NEARLY = 1 - 1e-9
"""Saddles of the middle strip stay away from its end, where they are of losses beyond 1e9."""


class _Aimed(NamedTuple):
    """A line, or None where none can be drawn, as it was aimed."""

    aim: Placement
    line: ContourLine | None

    def leaves(self, times: float) -> bool:
        """Whether what is beyond the last node may be so many times what may be left out."""
        return self.line is not None and self.line.cut > times * self.aim.goal * math.pi * self.line.last


class Strip:
    """Lines of one strip.

    In 0 < c < 1 (kind "rest") a line holds 1 - delta, in c > 1 (kind "delta", or "other" for the other order)
    delta less the mass at infinity.
    """

    def __init__(self, laws: Sequence[LossLaw], counts: Sequence[int], q_plus: float, kind: Kind) -> None:
        self.laws, self.counts, self.kind = laws, counts, kind
        self.middle = kind == "rest"
        self.q_plus = q_plus
        self.drawn: Cache[_Aimed] = Cache(
            _REMEMBERED, lambda drawn: 0 if drawn.line is None else len(drawn.line.log)
        )
        self.briefly: Cache[Placement] = Cache(_PLACES, lambda _: 1)

    @property
    def leak(self) -> Bounds:
        """Return what a line leaves out of delta, Q(L = inf), known to 16 units of itself.

        Of 1 - delta it leaves out nothing.
        """
        q = 0.0 if self.middle else self.q_plus
        return Bounds(q * (1 - 16 * UNIT), q * (1 + 16 * UNIT))

    def turned(self) -> Strip:
        """Return the same lines as those of the other order, of a symmetric pair."""
        other = copy(self)
        other.kind = "other"
        return other

    @cached_property
    def factors(self) -> tuple[list[Transformed], list[int]]:
        """What is transformed, and how often it is taken: alike laws in one, as rows of arrays."""
        return together(self.laws, self.counts)

    @cached_property
    def cumulant(self) -> Cumulant:
        return Cumulant(sketches(self.laws, self.counts))

    @cached_property
    def too_far(self) -> bool:
        """Whether losses are so large that the numbers of a line overflow."""
        return bool(np.max(np.abs(self.cumulant.loss)) > _FARTHEST)

    @cached_property
    def saddles(self) -> SaddleTable:
        """The saddle points of the strip, by loss."""
        return (
            SaddleTable(self.cumulant, _POLES, last=_NEARLY)
            if self.middle
            else SaddleTable(self.cumulant, _POLES, start=1.0)
        )

    def anchors(self, x: Array) -> Array:
        """Return where lines are aimed that serve questions at losses x."""
        return x if self.too_far else anchors(x, self.saddles.spread(x), APART)

    def rare(self, x: Array) -> NDArray[np.bool_]:
        """Whether delta(x) is so small that it is answered as such and not as what is left of 1."""
        return np.zeros(len(x), bool) if self.too_far else (x >= 0) & (self.saddles.at(x).log < HALF)

    def slope(self, x: float) -> float:
        """Estimate by how much psi changes a nat about x, relative to itself."""
        return abs(float(self.saddles.at(np.array([x])).c[0]) - 1)

    def near(self, x: float, terms: float, accuracy: float) -> ContourLine | None:
        """Return the line that serves the loss x of this order."""
        found = self.at(float(self.anchors(np.array([x]))[0]), terms, accuracy)
        return None if found is None else found.line

    def enclose(self, x: float, terms: float, accuracy: float, *, share: float = 1.0) -> Drawn | None:
        """Return what the line aimed at the loss x of this order bounds."""
        found = self.at(x, terms, accuracy, share=share)
        if found is None or (line := found.line) is None:
            return None
        # A narrower Gaussian gains nothing where the nodes end before it takes over.
        finer = 0 < line.tau < 1.01 * least_tau(found.aim, accuracy) and not found.leaves(300)
        return Drawn(self, line, -x if self.kind == "other" else x, capped=not finer)

    def small(self, line: ContourLine, x: Array) -> Bounds:
        """Bound 1 - delta(x) in the middle strip, else delta(x), at losses x of this order."""
        return self.leak + Bounds(*line.psi(x))

    def at(self, x: float, terms: float, accuracy: float, *, share: float = 1.0) -> _Aimed | None:
        """Return the line aimed at the loss x.

        Where the product does not decay a Gaussian is added, for a ``share`` of the cost.
        """
        if self.too_far or abs(x) > _FARTHEST:
            return None
        choices = query_options().choices[1:]  # whichever method asks for it
        sharp = self.drawn.of(
            (x, terms, 0.0, *choices), lambda: self._drawn(aim(self.cumulant, x, terms, middle=self.middle))
        )
        if sharp.line is None or not sharp.leaves(10):
            return sharp
        each = max(NODE_TERMS, len(self.laws))
        near = self.briefly.of((x, terms), lambda: brief(self.cumulant, x, sharp.aim))
        where = smoothed(near._replace(most=terms * share), accuracy, each)
        blurred = self.drawn.of((x, where.most, where.tau, *choices), lambda: self._drawn(where))
        return sharp if blurred.line is None else blurred

    def _drawn(self, where: Placement) -> _Aimed:
        try:
            drawable = where.drawable and where.tau <= _WIDEST
            return _Aimed(where, draw(*self.factors, where) if drawable else None)
        except SizeError:
            return _Aimed(where, None)

    def chernoff(
        self, question: Callable[[Sequence[Transformed], Sequence[int], Cumulant, float], float], x: float
    ) -> float:
        """Answer a question by Chernoff's bound alone, from above."""
        return math.inf if self.too_far else question(*self.factors, self.cumulant, float(x))


@dataclass(frozen=True, eq=False)
class Drawn:
    """A line of a strip as bounds about its aim, which is a loss of the order asked."""

    strip: Strip
    line: ContourLine
    aim: float
    capped: bool

    @property
    def kind(self) -> Kind:
        return self.strip.kind

    @property
    def scale(self) -> float:
        return self.line.scale

    @property
    def leak(self) -> float:
        return float(self.strip.leak.lower)

    def small(self, x: Array) -> Bounds:
        return self.strip.small(self.line, -x if self.kind == "other" else x)

    def crossing(self, delta: Array, guess: Array) -> Array:
        del delta
        return guess

    def peak(self, alpha: float, guess: float) -> float:
        del alpha
        return guess
