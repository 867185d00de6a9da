"""Claims that contours prove, drawn from the engine."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tradeoff.certificates.certificate import Claim, Quantity
from tradeoff.certificates.issue.source import LARGEST, Source
from tradeoff.composition.conjugate import Kind
from tradeoff.composition.planner import Composition
from tradeoff.errors import PrecisionError
from tradeoff.loss.cumulant import log_delta_for_epsilon

_HALF = math.log(0.3)  # deltas below 0.3 come from the tail strip, whose relative accuracy they need


class Lines(Source):
    """Claims about one composition from its contours."""

    method = "contour"

    def __init__(self, composition: Composition, tol: float | None) -> None:
        self.engine = self.contour = composition.contour
        self.tol = tol
        self.largest = max(abs(end) for law in composition.laws for end in law.support)

    def points(self, at: Sequence[float], *, steep: bool = False) -> list[Claim]:
        if self.largest > LARGEST:
            raise PrecisionError(
                f"losses of {self.largest:g} are above {LARGEST:g}, beyond which no contour is verified; "
                "leave method out",
                math.inf,
            )
        contour, x = self.contour, float(at[len(at) // 2])
        far = x >= 0 and log_delta_for_epsilon(self.cumulant, x) < _HALF
        other = steep and x < 0 and log_delta_for_epsilon(contour.backward.cumulant, -x) < _HALF
        kind: Kind = "delta" if far else "other" if other else "rest"
        lines, sign = (contour.backward, -1) if other else (contour.forward, 1)
        cost = contour.first("delta", self.tol)._replace(share=1.0)
        line = lines.enclose(kind, float(lines.anchors(kind, np.array([sign * x]))[0]), cost)
        if line is None:
            raise PrecisionError(f"no contour could be drawn at epsilon = {x!r}; leave method out", math.inf)
        quantity: Quantity = "1 - delta" if kind == "rest" else "delta"
        low, high = line.small(np.array(at, dtype=float))
        moved = [sign * float(each) for each in at]
        bounds = zip(moved, low.tolist(), np.minimum(high, 1.0).tolist(), strict=True)
        return [Claim(quantity, sign < 0, *each) for each in bounds]
