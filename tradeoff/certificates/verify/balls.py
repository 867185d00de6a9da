"""Sums of balls, and tails of a normal law in them."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

_FAR = 2.0**24
"""Deviations from which Arb's erfc is held from above alone, and 1/x^2 below 2^-48."""


def above(x: arb) -> arb:
    """Return P(X > x) of a normal law.

    Far out phi(x)/x (1 - 1/x^2) <= P(X > x) <= phi(x)/x (Gordon 1941).
    """
    if not x > _FAR:
        return (x / arb(2).sqrt()).erfc() / 2
    most = (-x * x / 2).exp() / ((2 * arb.pi()).sqrt() * x)
    return most.union(most * (1 - 1 / (x * x)))


def dot(a: Sequence[arb], b: Sequence[arb]) -> arb:
    """Return the sum of products."""
    return sum((x * y for x, y in zip(a, b, strict=True)), arb(0))
