"""Lower convex hulls of finitely many points, in floats or in exact fractions."""

from __future__ import annotations

from typing import Any

import numpy as np


def lower_hull(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the vertices of the greatest convex function below the points.

    ``x`` non-decreasing, cost linear.

    Works entry by entry on object arrays of fractions, where the result is exact.
    """
    kept: list[int] = []
    for k in range(len(x)):
        if kept and x[k] == x[kept[-1]]:
            if y[k] >= y[kept[-1]]:
                continue
            kept.pop()
        while len(kept) > 1:
            i, j = kept[-2], kept[-1]
            if (y[j] - y[i]) * (x[k] - x[j]) < (y[k] - y[j]) * (x[j] - x[i]):
                break
            kept.pop()
        kept.append(k)
    index = np.array(kept)
    return x[index], y[index]
