"""The least mu with f >= g = G_mu (x) f_{0,d}, from bounds on delta at x >= 0 of both orders, in balls.

Of g it is known that g(alpha) = (1 - d) G_mu(alpha/(1 - d)) and delta_g = d + (1 - d) delta_{G_mu}. As g is
symmetric, f >= g iff delta_f <= delta_g at every x >= 0, in both orders.

above:  delta_f(log s) is convex, so below the chords of upper bounds, and nothing is asked from where on it
        is at most d. A chord A - alpha s is below delta_g wherever 1 - A >= g(alpha), which is
        mu >= Phi^-1(1 - a) - Phi^-1(b), a = alpha/(1 - d), b = (1 - A)/(1 - d);
below:  delta_g reaches each lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

from tradeoff.errors import needed

FLINT = "curves are compared by python-flint: pip install 'tradeoff[verify]'"
_BITS = 256  # of the balls: levels of 1e-40 beside 1 keep a float's digits

# Largest mu that a lower bound on delta is held against, and halvings of what is below it, to 2^-64.
_LARGEST, _HALVINGS = 2.0**20, 84


class Known(NamedTuple):
    """Bounds on delta at a loss, exact balls."""

    x: float
    lower: Any
    upper: Any


class Cell(NamedTuple):
    """Two losses, and the mu that the chord between them asks for."""

    first: float
    last: float
    mu: Any


def least_mu(failure: float, sides: Sequence[Sequence[Known]]) -> tuple[float, float]:
    """Return bounds on mu, rounded outwards."""
    with balls():
        cells = [list(chords(failure, side)) for side in sides]
        ended = all(side and _ended(failure, side) for side in sides)
        most = max([0.0, *(_up(cell.mu) for each in cells for cell in each)]) if ended else math.inf
        least = 0.0
        for known in (each for side in sides for each in side):
            least = max(least, _needed(failure, known)) if _short(failure, known, least) else least
    return least, most


@contextmanager
def balls(bits: int = _BITS) -> Iterator[Any]:
    """Give balls of the same bits to issuer and verifier, so that they find the same floats."""
    flint = needed("flint", FLINT)
    with flint.ctx.workprec(bits):
        yield flint.arb


def _ended(failure: float, side: Sequence[Known]) -> bool:
    """Whether bounds begin at x = 0, and end where nothing is asked."""
    return min(known.x for known in side) == 0 and any(known.upper <= failure for known in side)


def chords(failure: float, side: Sequence[Known]) -> Iterator[Cell]:
    """Yield the cells of the hull of upper bounds between which delta may be above ``failure``.

    Of points on a line the chords of neighbours, prolonged, miss 1 by what the bounds are off; those of the
    hull lie below it.
    """
    from flint import arb

    rest = 1 - arb(failure)
    for (one, s), (two, t) in pairwise(_hull(failure, side)):
        alpha = _fall((one, s), (two, t))
        a, b = alpha / rest, (1 - one.upper - alpha * s) / rest
        inside = 0 < a < 1 and 0 < b < 1
        yield Cell(one.x, two.x, _deviations(a) + _deviations(b) if inside else arb.pos_inf())


Point = tuple[Known, Any]  # what is known of delta at a loss, and its slope e^x


def _hull(failure: float, side: Sequence[Known]) -> list[Point]:
    """Return points from x = 0 to where nothing is asked, whose chords are convex; any are above delta."""
    from flint import arb

    found: list[Point] = []
    for known in sorted(side):
        point = known, arb(known.x).exp()
        while len(found) > 1 and _fall(found[-2], found[-1]) < _fall(found[-1], point):
            found.pop()
        if not found or known.upper < found[-1][0].upper:
            found.append(point)
        if known.upper <= failure:
            break
    return found


def _fall(one: Point, two: Point) -> Any:
    """Return how steeply upper bounds fall."""
    return (one[0].upper - two[0].upper) / (two[1] - one[1])


def _deviations(level: Any) -> Any:
    """Return Phi^-1(1 - level)."""
    from flint import arb

    return arb(2).sqrt() * (2 * level).erfcinv()


def _needed(failure: float, known: Known) -> float:
    """Return the largest mu found that is too small: the same float whatever else is known."""
    low, high = 0.0, _LARGEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _short(failure, known, middle) else (low, middle)
    return low


def _short(failure: float, known: Known, mu: float) -> bool:
    """Whether delta_g is below the lower bound."""
    from flint import arb

    if mu == 0:
        return bool(known.lower > failure)
    half, x = arb(mu) / 2, arb(known.x)
    profile = _above(x / mu - half) - x.exp() * _above(x / mu + half)
    return bool(failure + (1 - arb(failure)) * profile < known.lower)


def _above(z: Any) -> Any:
    """Return P(Z > z) of a normal law."""
    from flint import arb

    return (z / arb(2).sqrt()).erfc() / 2


def _up(bound: Any) -> float:
    """Return a float above a ball."""
    found = float(bound.upper())
    return math.nextafter(found, math.inf) if found < math.inf else math.inf  # NaN is no bound either
