"""Elementary functions of bounds, each with the error of NumPy's charged outward."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.intervals.bounds import Bounds, held
from tradeoff.intervals.rounding import Array, down, up

_UNITS = 8
"""Units of 2^-53, relative, by which a function of NumPy may miss.

Its vectorised kernels promise less than 4 ulps, and 1.1 units is the worst that ball arithmetic has shown."""


def exp(x: Bounds | ArrayLike) -> Bounds:
    """Bound e^x; e^0 is 1 to the last bit."""
    return _increasing(np.exp, x, fixed=(0.0, 1.0), least=0.0)


def expm1(x: Bounds | ArrayLike) -> Bounds:
    """Bound e^x - 1."""
    return _increasing(np.expm1, x, fixed=(0.0, 0.0), least=-1.0)


def log(x: Bounds | ArrayLike) -> Bounds:
    """Bound log x for x >= 0; log 0 is -inf, and what rounding carried below 0 counts as 0."""
    x = Bounds.of(x)
    return _increasing(np.log, Bounds(np.maximum(x.lower, 0.0), np.maximum(x.upper, 0.0)), fixed=(1.0, 0.0))


def log1p(x: Bounds | ArrayLike) -> Bounds:
    """Bound log(1 + x) for x >= -1; what rounding carried below -1 counts as -1."""
    x = Bounds.of(x)
    return _increasing(
        np.log1p, Bounds(np.maximum(x.lower, -1.0), np.maximum(x.upper, -1.0)), fixed=(0.0, 0.0)
    )


def sqrt(x: Bounds | ArrayLike) -> Bounds:
    """Bound the square root, which floats round correctly; what rounding carried below 0 counts as 0."""
    low, high = (np.maximum(side, 0.0) for side in Bounds.of(x))
    return held(_root(low, -math.inf), _root(high, math.inf))


def _root(x: ArrayLike, toward: float) -> Array:
    """Round a correctly rounded root to one side; those of 0, 1 and infinity are exact."""
    root = np.sqrt(x)
    return np.where(root == x, root, np.nextafter(root, toward))


def minimum(*each: Bounds | ArrayLike) -> Bounds:
    """Bound the least of several numbers."""
    return _reduced(np.minimum, each)


def maximum(*each: Bounds | ArrayLike) -> Bounds:
    """Bound the greatest of several numbers."""
    return _reduced(np.maximum, each)


def clip(x: Bounds | ArrayLike, low: float, high: float) -> Bounds:
    """Bound what is known to lie in [low, high]."""
    x = Bounds.of(x)
    return held(np.clip(x.lower, low, high), np.clip(x.upper, low, high))


def where(condition: ArrayLike, x: Bounds | ArrayLike, y: Bounds | ArrayLike) -> Bounds:
    """Choose entry by entry."""
    x, y = Bounds.of(x), Bounds.of(y)
    return held(np.where(condition, x.lower, y.lower), np.where(condition, x.upper, y.upper))


def meet(*each: Bounds) -> Bounds:
    """Bound one number that several formulas bound: all are right, and the narrowest side is taken."""
    return held(np.maximum.reduce([x.lower for x in each]), np.minimum.reduce([x.upper for x in each]))


def whole(n: int) -> Bounds:
    """Bound an integer of any size by floats."""
    return rational(Fraction(n))


def rational(x: Fraction) -> Bounds:
    """Bound a fraction by the floats next to it, which are one where it is a float."""
    try:
        near = float(x)
    except OverflowError:
        return (
            Bounds(float(np.finfo(float).max), math.inf)
            if x > 0
            else Bounds(-math.inf, float(np.finfo(float).min))
        )
    exact = Fraction(near)
    return Bounds(
        near if exact <= x else math.nextafter(near, -math.inf),
        near if exact >= x else math.nextafter(near, math.inf),
    )


def log_quotient(q: Fraction, p: Fraction) -> Bounds:
    """Bound log(q/p) of two positive fractions, however near to 1 or far from it their ratio is."""
    if abs(q - p) < p / 2:
        return log1p(rational((q - p) / p))
    ratio = q / p
    power = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    return log(rational(ratio / Fraction(2) ** power)) + power * log(2.0)


def total(each: Iterable[Bounds | float]) -> Bounds:
    """Bound the sum of scalars, in any order: one rounding in all (Shewchuk's exact sum)."""
    terms = [Bounds.of(term) for term in each]
    low, high = (
        _exact_sum([float(getattr(term, side)) for term in terms], side) for side in ("lower", "upper")
    )
    return held(low, high)


def _exact_sum(terms: list[float], side: str) -> float:
    if not all(map(math.isfinite, terms)):
        found = sum(terms)
        return found if not math.isnan(found) else (-math.inf if side == "lower" else math.inf)
    try:
        found = math.fsum(terms)
    except OverflowError:
        return float(getattr(rational(sum(map(Fraction, terms), Fraction(0))), side))
    error = math.fsum([*terms, -found])  # its sign is that of the rounding
    if side == "lower":
        return found if error >= 0 else math.nextafter(found, -math.inf)
    return found if error <= 0 else math.nextafter(found, math.inf)


def _reduced(operation: np.ufunc, each: Iterable[Bounds | ArrayLike]) -> Bounds:
    lower, upper = zip(*map(Bounds.of, each), strict=True)
    low, high = lower[0], upper[0]
    for one, two in zip(lower[1:], upper[1:], strict=True):
        low, high = operation(low, one), operation(high, two)
    return held(low, high)


def _increasing(
    function: Callable[[Array], Array],
    x: Bounds | ArrayLike,
    *,
    fixed: tuple[float, float],
    least: float = -math.inf,
) -> Bounds:
    """Bound an increasing function >= ``least``; at ``fixed`` and at the ends of its domain it is exact."""
    x = Bounds.of(x)
    low, high = (np.asarray(side, dtype=float) for side in x)
    place, value = fixed
    with np.errstate(all="ignore"):
        below = function(low)
        above = below if high is low else function(high)
        lower = np.where(np.isinf(below) | np.isinf(low), below, np.maximum(down(below, _UNITS), least))
        upper = np.where(np.isinf(above) | np.isinf(high), above, up(above, _UNITS))
        lower = np.where(
            (lower == np.inf) & (low < np.inf), _MOST, lower
        )  # infinity is reached at infinity alone
    return held(np.where(low == place, value, lower), np.where(high == place, value, upper))


_MOST = float(np.finfo(float).max)
"""The greatest float: what is beyond all floats is at least this."""
