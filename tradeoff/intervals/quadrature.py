"""Gauss-Legendre quadrature of positive functions over many narrow cells at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from tradeoff.errors import SizeError
from tradeoff.intervals.rounding import Array, Index

# Widths times rates up to which few nodes do, and of the longest panel; see the notes of ``integrate``.
_NARROW, _WIDE = 1 / 16, 1.0

_NODES_NARROW, _NODES_WIDE = 5, 12  # nodes with which such panels err by less than 1e-15

# Most panels at once: 200 MiB of points.
_MOST_PANELS = 2**21

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


@cache
def _rule(nodes: int) -> tuple[Array, Array]:
    x, w = gauss_legendre(nodes)
    return (x + 1) / 2, w / 2


def applied(values: Array, weight: Array) -> Array:
    """Return sums of each row of values by weights, or by each row of them: no row depends on others.

    With BLAS, behind ``@``, the order of a sum depends on how many rows there are; here on their layout only.
    """
    return np.asarray(np.einsum("ij,...j->i...", values, weight))


class _Cells(NamedTuple):
    """Cells [start, stop], and the part [low, high] of each that is integrated over."""

    start: Array
    stop: Array
    low: Array
    high: Array

    def of(self, cells: Index) -> _Cells:
        return _Cells(*(part[cells] for part in self))


def _panels(integrand: Integrand, cells: _Cells, pieces: Index, nodes: int) -> tuple[Array, Array]:
    """Integrate parts cut into ``pieces`` equal panels; distances are kept apart so that nothing cancels."""
    start, stop, low, high = cells
    at, weight = _rule(nodes)
    owner = np.repeat(np.arange(len(start)), pieces)
    index = (np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces))[:, None]
    panel = ((high - low) / pieces)[owner][:, None]
    rise = panel * (index + at)
    fall = panel * ((pieces[owner][:, None] - index - 1) + (1 - at))
    left, right = (part[owner][:, None] for part in (low - start, stop - high))
    values = integrand(low[owner][:, None] + rise, left + rise, right + fall)
    first, second = (applied(value, weight) * panel[:, 0] for value in values)
    if len(owner) == len(start):
        return first, second
    heads = np.cumsum(pieces) - pieces
    return np.add.reduceat(first, heads), np.add.reduceat(second, heads)


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
    first, second = np.zeros(len(start)), np.zeros(len(start))
    parts = _Cells(start, stop, np.clip(start, *within), np.clip(stop, *within))
    span = (parts.high - parts.low) * rate
    narrow = span <= _NARROW
    for chosen, nodes, longest in (
        (narrow & (span > 0), _NODES_NARROW, _NARROW),
        (~narrow, _NODES_WIDE, _WIDE),
    ):
        cells = np.flatnonzero(chosen)
        if len(cells):
            panels = np.maximum(1.0, np.ceil(span[cells] / longest))
            if not np.sum(panels) <= _MOST_PANELS:
                raise SizeError(f"cells of a law take {np.sum(panels):.3g} panels to integrate, too many")
            pieces = panels.astype(np.int64)
            first[cells], second[cells] = _panels(integrand, parts.of(cells), pieces, nodes)
    return first, second
