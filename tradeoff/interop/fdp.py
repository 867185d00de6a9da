"""The R package fdp: a curve as the rows of a data frame."""

from __future__ import annotations

import numpy as np

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.intervals.bounds import Array
from tradeoff.intervals.functions import rational


def to_frame(curve: TradeOff) -> dict[str, Array]:
    """Return rows (alpha, beta) of a polygon at or below a curve, for ``fdp::fdp(frame)`` in R.

    They are the vertices of ``curve.lower``, both coordinates rounded down, and points of it at equal steps,
    at least 100: ``"alpha"`` increases from 0 to 1, ``"beta"`` falls to 0, convex to a few units of
    :math:`2^{-53}`. Two neighbours lie at or below one edge, and so does the chord that R draws between them.
    R's ``read.csv`` reads the file of ``pandas.DataFrame(...).to_csv``.

    Parameters
    ----------
    curve : any curve; ``guarantee()`` of a plan

    Examples
    --------
    >>> import tradeoff as to
    >>> frame = to_frame(to.Gaussian(1))
    >>> len(frame["alpha"]) > 100, round(float(frame["beta"][0]), 12), float(frame["beta"][-1])
    (True, 1.0, 0.0)
    """
    lower = operand(curve).lower
    corners = [(rational(a).lower, rational(b).lower) for a, b in lower.vertices]
    grid = np.linspace(0.0, 1.0, 101)  # fdp draws 100 rows or more as a line, and checks its convexity
    inner = zip(grid.tolist(), lower.bounds(grid).lower.tolist(), strict=True)
    rows: dict[float, float] = {}
    for alpha, beta in sorted([*corners, *inner]):
        rows[alpha] = min(beta, rows.get(alpha, beta))
    return {"alpha": np.array(list(rows)), "beta": np.array(list(rows.values()))}
