"""Ball arithmetic for the oracle.

Numbers enter as exactly what they are, and precision grows until a ball is small.

A ball is an interval that holds the number (Johansson 2017, *Arb*). A claim is refuted only where the whole
ball lies outside it, so no rounding of the oracle can accuse the library.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from math import isinf

import mpmath as mp
from flint import arb, ctx, fmpq

PRECISIONS = (320, 1300, 4600)
"""Bits tried in turn; 1 - p of a subnormal p needs 1075, and its square twice as many."""

ENOUGH = 75
"""Bits to which an answer is wanted.

A float has 53, and what it is compared with must not be the coarser one.
"""

Number = int | float | Fraction | arb


def ball(x: Number) -> arb:
    """Return ``x`` as it is: floats and integers exactly, fractions to the working precision."""
    if isinstance(x, arb):
        return x
    if isinstance(x, Fraction):
        return arb(fmpq(x.numerator, x.denominator))
    if isinstance(x, float) and isinf(x):
        return arb.pos_inf() if x > 0 else arb.neg_inf()
    return arb(x)


def refined(question: Callable[..., arb]) -> Callable[..., arb]:
    """Ask at growing precision until the ball is small next to its middle, or exact."""

    @wraps(question)
    def wrapper(*arguments: object) -> arb:
        for bits in PRECISIONS:
            if bits < ctx.prec:  # a question inside a question keeps the precision of the outer one
                continue
            with ctx.workprec(bits):
                result = question(*arguments)
            if result.is_exact() or (result.is_finite() and result.rel_accuracy_bits() >= ENOUGH):
                break
        return result

    return wrapper


def hull(*balls: arb) -> arb:
    """Return a ball that holds all of them."""
    result = balls[0]
    for one in balls[1:]:
        result = result.union(one)
    return result


def cumulative(x: arb) -> arb:
    """Return the standard normal cdf Phi(x) = erfc(-x/sqrt 2)/2."""
    return (-x / arb(2).sqrt()).erfc() / 2


def quantile(u: arb) -> arb:
    """Return Phi^-1(u) = -sqrt 2 erfcinv(2 u), from whichever end is nearer."""
    return -arb(2).sqrt() * (2 * u).erfcinv() if u < arb(0.5) else arb(2).sqrt() * (2 * (1 - u)).erfcinv()


def digits(x: arb) -> mp.mpf:
    """Return the middle of a ball, to sixty digits of it."""
    with mp.workdps(60):
        return mp.mpf(x.str(60, radius=False))


def positive(x: arb) -> arb:
    """Return max{x, 0}."""
    return x.max(arb(0))
