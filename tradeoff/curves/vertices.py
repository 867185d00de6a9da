"""Read and check vertices: an error names the property that fails and its place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from numbers import Rational
from typing import Any

import numpy as np

from tradeoff.curves.parameters import is_masked, reals
from tradeoff.errors import CurveError, DomainError, shown
from tradeoff.intervals.polygon import lower_hull

_FORGIVEN = 1e-12  # violation of convexity or of f <= 1 - alpha that rounding explains: repaired downwards


def listed(name: str, values: Any) -> list[Any]:
    """Return a list of values."""
    if is_masked(values) or not np.iterable(values):
        raise CurveError(f"{name} = {shown(values)} is not a list of vertices, one number each")
    return list(values)


def entries(values: list[Any], name: str, *, exact: bool) -> Any:
    """Return coordinates as an array: of fractions, or of floats."""
    if exact:
        return np.array([Fraction(v) for v in values], dtype=object)
    try:
        array = reals(name, values)
    except DomainError as error:
        raise CurveError(f"{name} holds something that is not a number: {shown(values)}") from error
    if array.ndim != 1:
        raise CurveError(f"{name} = {shown(values)} is not one list of numbers")
    if np.isnan(array).any():
        raise CurveError(f"{name}[{int(np.argmax(np.isnan(array)))}] is NaN")
    return array


def read(alpha: Any, beta: Any) -> tuple[Any, Any, bool, bool]:
    """Return the coordinates as arrays, whether they are fractions, and whether floats are among them.

    With fractions among them, floats are converted to fractions exactly.
    """
    given = {"alpha": listed("alpha", alpha), "beta": listed("beta", beta)}
    every = [v for values in given.values() for v in values]
    rounded = not all(isinstance(v, Rational) for v in every)
    exact = any(type(v) is Fraction for v in every) and all(
        isinstance(v, Rational) or math.isfinite(v) for v in every
    )
    x, y = (entries(v, name, exact=exact) for name, v in given.items())
    return x, y, exact, rounded or not exact


def scattered(alpha: Any, beta: Any) -> tuple[Any, Any, bool]:
    """Return the coordinates of points in any order, checked one by one."""
    x, y, exact, _ = read(alpha, beta)
    if len(x) != len(y):
        raise CurveError(f"alpha and beta need the same length, not {len(x)} and {len(y)}")
    for name, values in (("alpha", x), ("beta", y)):
        wrong = np.flatnonzero((values < 0) | (values > 1))
        if len(wrong):
            raise CurveError(f"{name}[{wrong[0]}] = {values[wrong[0]]} is outside [0, 1]")
    return x, y, exact


def checked(alpha: Any, beta: Any, *, rounded: bool) -> tuple[Any, Any]:
    """Check every property of a trade-off function, up to rounding."""

    def at(k: int) -> str:
        return f"({alpha[k]}, {beta[k]})"

    if len(alpha) != len(beta) or len(alpha) == 0:
        raise CurveError(f"alpha and beta need the same positive length, not {len(alpha)} and {len(beta)}")
    slack: Any = _FORGIVEN if rounded else 0
    _refuse((alpha < 0) | (alpha > 1), lambda k: f"alpha[{k}] = {alpha[k]} is outside [0, 1]")
    _refuse((beta < 0) | (beta > 1), lambda k: f"beta[{k}] = {beta[k]} is outside [0, 1]")
    _refuse(alpha[:1] != 0, lambda _: f"alpha[0] = {alpha[0]} must be 0: give f(0) as the first vertex")
    _refuse(
        beta[-1:] != 0,
        lambda _: f"the last vertex {at(-1)} must have beta = 0, as f(1) = 0 for every trade-off function",
    )
    _refuse(
        np.diff(alpha) < 0,
        lambda k: f"alpha is not sorted: alpha[{k + 1}] = {alpha[k + 1]} < alpha[{k}] = {alpha[k]}",
    )
    _refuse(
        np.diff(beta) > slack,
        lambda k: f"beta increases from vertex {k} to {k + 1}: {beta[k]} to {beta[k + 1]}",
    )
    _refuse(beta > 1 - alpha + slack, lambda k: f"f(alpha) <= 1 - alpha fails at vertex {k}: {at(k)}")
    hull = lower_hull(alpha, np.minimum(beta, 1 - alpha))
    # The upper end of a vertical start is not a vertex of the curve; elsewhere a fall is not convex.
    repeated = (alpha == 0) & np.append(np.diff(alpha) == 0, False)
    above = (beta - interpolate(alpha, *hull) > slack) & ~repeated
    remedy = "PiecewiseLinear.hull(alpha, beta) is the greatest convex curve below the vertices"
    _refuse(
        above,
        lambda k: f"not convex at vertex {k}: {at(k)} lies above the chord of its neighbours; {remedy}",
    )
    return hull


def _refuse(wrong: Any, message: Callable[[int], str]) -> None:
    """Raise at the first place where ``wrong`` holds."""
    places = np.flatnonzero(wrong)
    if len(places):
        raise CurveError(message(int(places[0])))


def interpolate(at: Any, x: Any, y: Any) -> Any:
    """Interpolate linearly in the arithmetic of the arguments; constant outside."""
    if len(x) == 1:
        return y[0] + 0 * at
    k = np.clip(np.searchsorted(x, at, side="right"), 1, len(x) - 1)
    value = y[k - 1] + (y[k] - y[k - 1]) * (at - x[k - 1]) / (x[k] - x[k - 1])
    return np.where(at > x[-1], y[-1], value)


def chained(g: tuple[Any, Any], f: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the vertices, in fractions, of h with 1 - h = (1 - g) o (1 - f).

    Corners of f, and preimages of the corners of g.
    """
    middle = 1 - g[0]
    reached = middle[(middle >= f[1][-1]) & (middle <= f[1][0])]
    alpha = np.unique(np.append(f[0], interpolate(reached, f[1][::-1], f[0][::-1])))
    beta = interpolate(1 - interpolate(alpha, *f), *g)
    return canonical(*lower_hull(alpha, beta))


def lowest(alpha: Any, beta: Any) -> tuple[Any, Any]:
    """Return the vertices of the greatest convex curve below points in fractions and 1 - alpha."""
    ends = [(Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))]
    points = sorted([*zip(alpha, np.minimum(beta, 1 - alpha), strict=True), *ends])
    x, y = (np.array(side, dtype=object) for side in zip(*points, strict=True))
    return canonical(*lower_hull(x, y))


def canonical(alpha: Any, beta: Any) -> tuple[Any, Any]:
    """Drop vertices after the first zero."""
    stop = int(np.argmax(beta == 0)) + 1
    return alpha[:stop], beta[:stop]


def masses(vertices: Sequence[tuple[Fraction, Fraction]]) -> tuple[tuple[Fraction, ...], ...]:
    """Return the masses of all segments under P and under Q, from Q(L = inf) to P(L = -inf)."""
    ends = (Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))
    steps = [(c - a, b - d) for (a, b), (c, d) in pairwise([ends[0], *vertices, ends[1]])]
    return tuple(zip(*(step for step in steps if any(step)), strict=True))
