"""Balls: real numbers with their error, in NumPy arrays; the only file that imports python-flint.

A ball is a midpoint and a radius, and every operation returns a ball that contains the exact result, rounding
included (Johansson 2017). An array of balls is an object array, so that a formula over it reads like a
formula over floats: ``normal_sf(x / mu) - exp(x)``. Floats only choose where to evaluate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from operator import methodcaller
from typing import Any, TypeAlias

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from tradeoff.intervals import float_balls
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.float_balls import FloatBalls

Floats: TypeAlias = NDArray[np.float64]
Balls: TypeAlias = Any
"""A ball, or an object array of balls: python-flint has no types."""

PRECISION = 192
"""Bits carried: 53 of the answer, and those that cancellation within the working range may take."""

ctx.prec = PRECISION

_ROOT2 = arb(2).sqrt()


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Set the precision in bits inside the block; balls contain the truth at any precision."""
    before, ctx.prec = ctx.prec, bits
    try:
        yield
    finally:
        ctx.prec = before


def to_balls(values: Any) -> Balls:
    """Return exact balls of floats, integers or fractions, an array of their shape."""
    return _to_ball(np.asarray(values, dtype=object))


def to_ball(value: Any) -> Balls:
    """Return a ball of one number; a fraction is rounded outward."""
    if isinstance(value, arb):
        return value
    if hasattr(value, "numerator") and not isinstance(value, float | np.floating):
        return arb(int(value.numerator)) / int(value.denominator)
    return arb(float(value))


def to_floats(balls: Balls) -> tuple[Floats, Floats]:
    """Return the largest floats at or below each ball, and the least at or above; NaN of a NaN."""
    return np.asarray(_lower(balls), dtype=float), np.asarray(_upper(balls), dtype=float)


def to_bounds(ball: Balls) -> Bounds[float]:
    """Return the floats around one ball."""
    return Bounds(lower_float(ball), upper_float(ball))


def lower_float(ball: Balls) -> float:
    """Return the largest float at or below every number of the ball."""
    end = ball.lower()
    near = float(end)
    return near if not end < near else float(np.nextafter(near, -np.inf))


def upper_float(ball: Balls) -> float:
    """Return the least float at or above every number of the ball."""
    end = ball.upper()
    near = float(end)
    return near if not end > near else float(np.nextafter(near, np.inf))


def union(lower: Any, upper: Any) -> Balls:
    """Return balls that contain both ends, and so everything between."""
    return _union(to_balls(lower), to_balls(upper))


def rounded_fraction(ball: Balls) -> Fraction:
    """Return the middle of a ball to 2^-150, relative: sums of such fractions are exact (``widened``)."""
    with precision(160):
        mantissa, exponent = (+ball.mid()).mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def widened(value: Fraction) -> Balls:
    """Return a ball around a sum of positive rounded fractions that contains the sum of the exact numbers."""
    return to_ball(value) * arb(1, 2.0**-150)


def _elementwise(function: Callable[..., Balls], arguments: int = 1) -> Callable[..., Balls]:
    vectorised: Callable[..., Balls] = np.frompyfunc(function, arguments, 1)
    return vectorised


_to_ball = _elementwise(to_ball)
_lower, _upper = _elementwise(lower_float), _elementwise(upper_float)
_union = _elementwise(arb.union, 2)


def _dispatch(name: str, balls: Callable[..., Balls]) -> Callable[..., Balls]:
    """Return a function that calls ``float_balls.name`` if an argument is a FloatBalls, else ``balls``."""
    of_floats = getattr(float_balls, name)

    def value(*x: Balls) -> Balls:
        return of_floats(*x) if any(isinstance(each, FloatBalls) for each in x) else balls(*x)

    return value


_names = "exp", "expm1", "log", "log1p", "sqrt"
exp, expm1, log, log1p, sqrt = (_dispatch(name, _elementwise(methodcaller(name))) for name in _names)
maximum = _dispatch("maximum", _elementwise(lambda x, y: arb(x).max(y), 2))
minimum = _dispatch("minimum", _elementwise(lambda x, y: arb(x).min(y), 2))
middle = _elementwise(lambda x: float(x.mid()))


@_elementwise
def normal_sf(x: Balls) -> Balls:
    """Upper tail 1 - Phi(x) of the standard normal law."""
    return (x / _ROOT2).erfc() / 2


@_elementwise
def normal_isf(p: Balls) -> Balls:
    """Inverse of ``normal_sf``, from the nearer end."""
    return _ROOT2 * (2 * p).erfcinv() if p < 0.5 else -_ROOT2 * (2 * (1 - p)).erfcinv()


def binomial_tail(n: int, p: Balls, k: int) -> Balls:
    """Return P(Bin(n, p) >= k), the regularized incomplete beta function I_p(k, n - k + 1)."""
    return arb(1) if k <= 0 else p.beta_lower(k, n - k + 1, 1) if k <= n else arb(0)


def log_quotient(q: Fraction, p: Fraction) -> Balls:
    """Return log(q/p) of two positive fractions, however near to 1 or far from it their ratio is."""
    near = abs(q - p) < p / 2
    return arb.log1p(to_ball((q - p) / p)) if near else arb.log(to_ball(q / p))


@partial(_dispatch, "choose")
@partial(_elementwise, arguments=3)
def choose(gap: Balls, first: Balls, second: Balls) -> Balls:
    """Return ``first`` where ``gap`` < 0, ``second`` where ``gap`` >= 0, else the union of both."""
    return arb(first) if gap < 0 else arb(second) if gap >= 0 else arb(first).union(second)


def function(name: str) -> Callable[[Balls], Balls]:
    """Return the function of balls with this name in Arb and in formulas; limits where Arb has NaN."""
    all_limits: dict[str, dict[float, float]] = {
        "erf": {math.inf: 1, -math.inf: -1},
        "erfc": {math.inf: 0, -math.inf: 2},
        "erfinv": {1: math.inf, -1: -math.inf},
        "erfcinv": {0: math.inf, 2: -math.inf},
        "log": {0: -math.inf},
    }
    limits = all_limits.get(name, {})

    def value(x: Balls) -> Balls:
        at_limit = next((limit for place, limit in limits.items() if x == arb(place)), None)
        return getattr(arb(x), name)() if at_limit is None else arb(at_limit)

    return _elementwise(value)


power = _elementwise(lambda x, y: arb(x) ** arb(y), 2)
absolute = _elementwise(abs)
center = _elementwise(lambda x: arb(x).mid())
tanh = _elementwise(lambda x: arb(x).tanh())
pi = arb.pi  # a ball in the precision of the call


def exact_fraction(ball: Balls) -> Fraction | None:
    """Return the number of a ball without radius, None if it has one."""
    if not (ball.is_exact() and ball.is_finite()):
        return None
    mantissa, exponent = ball.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
