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
    at, to = x.tolist(), y.tolist()  # entries of lists cost a tenth of those of arrays
    for k, (a, b) in enumerate(zip(at, to, strict=True)):
        if kept and a == at[kept[-1]]:
            if b >= to[kept[-1]]:
                continue
            kept.pop()
        while len(kept) > 1:
            i, j = kept[-2], kept[-1]
            if (to[j] - to[i]) * (a - at[j]) < (b - to[j]) * (at[j] - at[i]):
                break
            kept.pop()
        kept.append(k)
    index = np.array(kept)
    return x[index], y[index]
