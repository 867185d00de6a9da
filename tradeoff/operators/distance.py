"""Bound distances between curves, from polygons below and above both."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import choice
from tradeoff.curves.piecewise_linear import PiecewiseLinear, interpolate
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import rational
from tradeoff.operators.order import approximate, vertices_of
from tradeoff.operators.tabulate import tabulate

Metric = Literal["uniform", "levy"]
Point = tuple[Fraction, Fraction]


def distance(f: TradeOff, g: TradeOff, *, metric: Metric = "uniform") -> Bounds[float]:
    r"""Bound the distance between two curves.

    Parameters
    ----------
    f, g
        Curves.
    metric
        ``"uniform"``: :math:`\sup_\alpha \lvert f(\alpha) - g(\alpha) \rvert`. ``"levy"``: the least
        :math:`\kappa` with :math:`f(\alpha + \kappa) - \kappa \le g(\alpha)` for all :math:`\alpha` and the
        same with f and g exchanged, which is
        :math:`\max_\varepsilon \lvert \delta_f - \delta_g \rvert/(1 + e^\varepsilon)`: the largest gap in
        Bayes error over priors (Gomez et al. 2026).

    Returns
    -------
    Bounds
        Lower and upper bound in [0, 1]: of polygons and (eps, delta)-DP the distance at their vertices, up to
        rounding; of other curves about 1e-4 apart.

    Examples
    --------
    >>> from tradeoff import Gaussian, Identity
    >>> round(distance(Gaussian(1), Identity(), metric="levy").upper, 3)  # half of the total variation
    0.191
    >>> from tradeoff import PureDP
    >>> distance(PureDP(1), Identity()).width < 1e-14
    True
    """
    choice("metric", metric, get_args(Metric))
    if operand(f) == operand(g):
        return Bounds(0.0, 0.0)
    (below_f, above_f), (below_g, above_g) = (_polygons(curve, metric) for curve in (f, g))
    most = max(_excess(above_f, below_g), _excess(above_g, below_f))
    least = max(_excess(below_f, above_g), _excess(below_g, above_f), Fraction(0))
    return Bounds(rational(least).lower, min(rational(most).upper, 1.0))


def _polygons(f: TradeOff, metric: Metric) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return coordinates, x increasing, of a polygon below the curve and of one above it.

    Those of Levy's metric are alpha - beta and (alpha + beta)/2: it moves along the diagonal.
    """
    sides: list[Sequence[Point]]
    if approximate(f) is not None:
        sides = [[(a[side], b[side]) for a, b in vertices_of(f) or ()] for side in (0, 1)]
    else:
        tails = np.geomspace(1e-9, 0.5, 128)
        nodes = np.concatenate([np.linspace(0, 1, 513), tails, 1 - tails])  # about 1e-4 from chord to curve
        both = (f, f) if isinstance(f, PiecewiseLinear) else tabulate(f, nodes)
        sides = [side.vertices for side in both]
    result = []
    for vertices in sides:
        points = set(vertices)
        if metric == "levy":
            corners = (Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))
            points = {(a - b, (a + b) / 2) for a, b in (*vertices, *corners)}
        x, y = (np.array(v, dtype=object) for v in zip(*sorted(points), strict=True))
        result.append((x, y))
    return result


def _excess(one: tuple[np.ndarray, np.ndarray], two: tuple[np.ndarray, np.ndarray]) -> Fraction:
    """Return the largest difference of two polygons, which is linear between vertices."""
    at = np.concatenate([one[0], two[0]])
    return Fraction(max(interpolate(at, *one) - interpolate(at, *two)))
