"""Sums of balls, those of atoms on either side of a loss, and tails of a normal law."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import starmap
from operator import mul

from flint import arb

Pair = tuple[arb, arb]  # numbers of P and of Q
_FAR = 2.0**24  # deviations from which Arb's erfc is held from above alone, and 1/x^2 below 2^-48


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
    return sum(starmap(mul, zip(a, b, strict=True)), arb(0))


def greatest(losses: Sequence[arb]) -> arb:
    """Return a bound on losses, 0 where there is none."""
    found = losses[0] if losses else arb(0)
    for loss in losses[1:]:
        found = found.max(loss)
    return found


def gained(atoms: Iterable[Pair], slope: arb) -> arb:
    """Return the sum of (q - slope p)_+."""
    return sum(((b - slope * a).max(arb(0)) for a, b in atoms), arb(0))


def divided(atoms: Iterable[Pair], x: arb) -> tuple[Pair, Pair]:
    """Return the masses of atoms where L > x, and of the others; where it is not known, of both from 0 on."""
    slope, sums = x.exp(), [arb(0)] * 4
    for a, b in atoms:
        gain = b - slope * a
        for k, mass, sure, never in ((0, a, gain > 0, gain <= 0), (1, b, gain > 0, gain <= 0)):
            if not never:
                sums[k] += mass if sure else mass.union(arb(0))
            if not sure:
                sums[k + 2] += mass if never else mass.union(arb(0))
    return (sums[0], sums[1]), (sums[2], sums[3])
