"""Claims that contours prove, drawn from the engine with all the terms of their bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tradeoff.certificates.certificate import Claim, Question
from tradeoff.certificates.evidence import Line as Record
from tradeoff.certificates.issue.source import Source
from tradeoff.composition.contour.line import ContourLine
from tradeoff.composition.contour.strip import Strip
from tradeoff.composition.planner import Composition
from tradeoff.errors import PrecisionError
from tradeoff.loss.cumulant import epsilon_for_alpha, log_delta_for_epsilon

_HALF = math.log(0.3)
"""Deltas below 0.3 come from the tail strip, whose relative accuracy they need."""


class Lines(Source):
    """Claims about one composition from its contours."""

    method = "contour"

    def __init__(self, composition: Composition, tol: float | None) -> None:
        self.contour, self.tol = composition.contour, tol
        self.cumulant = self.contour.tail.cumulant
        self._lines: list[ContourLine] = []

    def guess(self, question: Question, value: float) -> tuple[float, float]:
        low, high = getattr(self.contour, question)(np.array([value]), self.tol)
        return float(low[0]), float(high[0])

    def start(self, alpha: float) -> tuple[float, float]:
        x = epsilon_for_alpha(self.cumulant, alpha)
        return x, 1e-2 * min(1.0, math.sqrt(self.cumulant(0.5)[2]))

    def points(self, at: Sequence[float], *, steep: bool = False) -> list[Claim]:
        contour, x = self.contour, float(at[len(at) // 2])
        far = x >= 0 and log_delta_for_epsilon(self.cumulant, x) < _HALF
        other = steep and x < 0 and log_delta_for_epsilon(contour.other.cumulant, -x) < _HALF
        strip, sign = (contour.tail, 1) if far else (contour.other, -1) if other else (contour.middle, 1)
        line = strip.near(sign * x, *contour.first(self.tol)[:2])
        if line is None:
            raise PrecisionError(f"no contour could be drawn at epsilon = {x!r}; leave method out", math.inf)
        return [self._claim(strip, line, sign * float(each), reverse=sign < 0) for each in at]

    def _claim(self, strip: Strip, line: ContourLine, x: float, *, reverse: bool) -> Claim:
        at = np.array([x])
        low, high = strip.small(line, at)
        terms = line.terms(at)
        said: dict[str, Any] = {
            "sum": terms.total,
            "nodes": terms.nodes,
            "rounding": terms.rounding,
            "truncation": terms.truncation,
        }
        said |= {"left": terms.left, "right": terms.right, "blur": terms.smoothing, "slack": terms.slack}
        listed = {name: float(np.max(value)) for name, value in said.items()}
        quantity, upper = "1 - delta" if strip.middle else "delta", min(float(high[0]), 1.0)
        return Claim(quantity, reverse, x, float(low[0]), upper, self._place(line), listed)  # type: ignore[arg-type]  # one of two literals

    def _place(self, line: ContourLine) -> int:
        """Return the number of the line among the evidence."""
        for place, known in enumerate(self._lines):
            if known is line:
                return place
        left, right = ((float(side.c), float(side.log_m)) for side in (line.left, line.right))
        numbers = float(line.log_m), float(line.log_m_error), float(line.cut), float(line.tau)
        record = Record(float(line.c), float(line.step), len(line.log), *numbers, left, right)
        self._lines.append(line)
        self.evidence = (*self.evidence, record)
        return len(self.evidence) - 1
