"""Gauss-Legendre quadrature of positive functions over many narrow cells at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.polynomial import legendre

from tradeoff.errors import SizeError
from tradeoff.intervals.rounding import Array

# ``(point, distance from the cell's start, distance to its stop) -> two integrands``.
Integrand = Callable[[Array, Array, Array], tuple[Array, Array]]


@cache
def gauss_legendre(nodes: int) -> tuple[Array, Array]:
    """Return the Gauss-Legendre rule on [-1, 1] of up to 32 nodes, its weights to 64 units.

    The weight of a root x of P_n is 1/sum_(k < n) (k + 1/2) P_k(x)^2. Next to the ends of 32 nodes a float
    half a unit off x moves its logarithm by 2 x/(1 - x^2) = 714 times that, and NumPy's weight by 525 units.
    The distance of the float from the root, P_n(x)/P_n'(x), (1 - x^2) P_n' = n P_(n-1), errs by 1/40 unit
    there, P_n by 5 and P_n' by 228: 18 units of a weight.
    """
    x = legendre.leggauss(nodes)[0]
    p = legendre.legvander(x, nodes)
    offset = 2 * x * p[:, nodes] / (nodes * p[:, nodes - 1])
    return x, (1 + offset) / (p[:, :nodes] ** 2 @ (np.arange(nodes) + 0.5))


def applied(values: Array, weight: Array) -> Array:
    """Return sums of each row of values by weights, or by each row of them: no row depends on others.

    With BLAS, behind ``@``, the order of a sum depends on how many rows there are; here on their layout only.
    """
    return np.asarray(np.einsum("ij,...j->i...", values, weight))


def integrate(
    integrand: Integrand,
    start: Array,
    stop: Array,
    rate: Array,
    within: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[Array, Array]:
    """Integrate two positive functions over every cell ``[start, stop]``; 5 to 12 evaluations a cell.

    Parameters
    ----------
    integrand
        The functions, in terms of the point and its distances to both ends of the cell.
    start, stop
        Finite ends of the cells.
    rate
        Bound, over each cell, on the logarithmic derivative of the analytic factors.
    within
        Between which points to integrate; distances are those to the ends of cells all the same.

    Notes
    -----
    Relative error below 1e-15. Panels have width * rate <= 1, so on the Bernstein ellipse rho = 8 (semi-axis
    about two widths) an integrand exp(-x^2/2 + c x) grows by at most e^6; twelve nodes err by
    (64/15) e^6 8^-24 of its maximum. For width * rate <= 1/16 the same ellipse has rho = 128 and five
    nodes do (Trefethen, Approximation Theory and Approximation Practice, Theorem 19.3).
    """
    result = np.zeros((2, len(start)))
    low, high = np.clip(start, *within), np.clip(stop, *within)
    span = (high - low) * rate
    for chosen, nodes, longest in (
        ((span > 0) & (span <= 1 / 16), 5, 1 / 16),
        (~(span <= 1 / 16), 12, 1.0),
    ):
        cells = np.flatnonzero(chosen)
        panels = np.maximum(1.0, np.ceil(span[cells] / longest))
        if not np.sum(panels) <= 2**21:  # 200 MiB of points
            raise SizeError(f"cells of a law take {np.sum(panels):.3g} panels to integrate, too many")
        if not len(cells):
            continue
        # Panels of equal length; distances are kept apart so that nothing cancels.
        pieces, (x, w) = panels.astype(np.int64), gauss_legendre(nodes)
        owner, heads = np.repeat(cells, pieces), np.cumsum(pieces) - pieces
        panel = ((high[cells] - low[cells]) / pieces).repeat(pieces)
        index = (np.arange(len(owner)) - heads.repeat(pieces))[:, None]
        rise = panel[:, None] * (index + (x + 1) / 2)
        fall = panel[:, None] * ((pieces.repeat(pieces)[:, None] - index - 1) + (1 - (x + 1) / 2))
        at, left, right = (part[owner][:, None] for part in (low, low - start, stop - high))
        values = integrand(at + rise, left + rise, right + fall)
        each = np.array([applied(value, w / 2) * panel for value in values])
        result[:, cells] = np.add.reduceat(each, heads, axis=1)
    return result[0], result[1]
