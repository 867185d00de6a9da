"""Products and pointwise extremes of piecewise-linear curves, in the arithmetic of their vertices."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tradeoff.curves.piecewise_linear import PiecewiseLinear, capped
from tradeoff.curves.vertices import interpolate
from tradeoff.intervals.polygon import ONE, hull, lower_hull
from tradeoff.intervals.rounding import Array


def product(f: PiecewiseLinear, g: PiecewiseLinear) -> PiecewiseLinear:
    """Tensor product: all products of atoms, by decreasing ratio; exact in fractions."""
    capped((len(f.alpha) - 1) * (len(g.alpha) - 1) + 1)
    (p, q), (r, s) = f.atoms(), g.atoms()
    mass_p, mass_q = np.multiply.outer(p, r).ravel(), np.multiply.outer(q, s).ravel()
    order = sorted(range(len(mass_p)), key=lambda k: mass_q[k] / mass_p[k], reverse=True)
    start = f.beta[0] * g.beta[0]
    alpha = np.append(0 * start, np.cumsum(mass_p[order]))
    beta = start - np.append(0 * start, np.cumsum(mass_q[order]))
    return PiecewiseLinear(alpha.tolist(), beta.tolist()).made_of(f, g)


def exact_product(factors: Sequence[tuple[PiecewiseLinear, int]], work: float) -> PiecewiseLinear | None:
    """Return the product of powers in fractions; None if it takes ``work`` products of 150-bit numbers."""
    result = line = PiecewiseLinear([0, Fraction(1)], [Fraction(1), 0])
    for f in (f for f, n in factors if f != line for _ in range(n)):
        work -= (len(result.alpha) - 1) * (len(f.alpha) - 1) * (1 + result.bits / 150)
        if work < 0:
            return None
        result = product(result, f)
    return result


def pointwise(f: PiecewiseLinear, g: PiecewiseLinear, *, largest: bool) -> PiecewiseLinear:
    """Return max{f, g}, or the convex hull of min{f, g}: corners of both, and crossings in fractions."""
    if not (largest or f.is_rational or g.is_rational):  # far cheaper than fractions
        points = [(int(a * ONE), int(b * ONE)) for a, b in (*f.vertices, *g.vertices)]
        return PiecewiseLinear.of_wholes(*zip(*hull(points), strict=True)).made_of(f, g)
    corners = _maximum(f.rational(), g.rational()) if largest else _hull(f.rational(), g.rational())
    result = PiecewiseLinear(*(v.tolist() for v in corners))
    given = {vertex for curve in (f, g) if not curve.is_rational for vertex in curve.vertices}
    if given.issuperset(result.vertices):  # then floats hold it
        columns = zip(*result.vertices, strict=True)
        result = PiecewiseLinear.of_wholes(*([int(x * ONE) for x in column] for column in columns))
    return result.made_of(f, g)


def _hull(one: PiecewiseLinear, two: PiecewiseLinear) -> tuple[Array, Array]:
    """Return the vertices of the hull of min{f, g}: no crossing is one, as it lies between corners of f."""
    alpha, beta = (np.concatenate(each) for each in ((one.alpha, two.alpha), (one.beta, two.beta)))
    order = np.argsort(alpha, kind="stable")
    return lower_hull(alpha[order], beta[order])


def _maximum(one: PiecewiseLinear, two: PiecewiseLinear) -> tuple[Array, Array]:
    """Return the corners of max{f, g}: of both, and where they cross, in fractions."""
    alpha = np.unique(np.concatenate([one.alpha, two.alpha]))
    first, second = (interpolate(alpha, curve.alpha, curve.beta) for curve in (one, two))
    gap = first - second
    k = np.flatnonzero(gap[:-1] * gap[1:] < 0)
    crossing = alpha[k] + (alpha[k + 1] - alpha[k]) * gap[k] / (gap[k] - gap[k + 1])
    alpha = np.unique(np.concatenate([alpha, crossing]))
    first, second = (interpolate(alpha, curve.alpha, curve.beta) for curve in (one, two))
    return alpha, np.maximum(first, second)
