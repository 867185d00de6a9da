"""From pointwise claims to bounds on the answer, in intervals of 60 digits, or balls.

delta:   falls, so that a claim at a lesser loss bounds it above, one at a greater loss below;
beta:    f(alpha) = sup over s = e^x of g = 1 - delta(x) - s alpha, concave in s; one s gives a lower bound,
         and between neighbouring samples g lies below the chords of the pairs beside them, extended;
epsilon: delta falls, so delta(upper) <= value < delta(lower) encloses the least epsilon with
         delta(epsilon) <= value; where delta is flat, a claim that equals the value says nothing of it;
mu:      the least with f >= g = G_mu (x) f_{0,d}, from bounds on delta at x >= 0 of both orders, in balls.

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
from contextlib import contextmanager, suppress
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from tradeoff.certificates.certificate import Claim
from tradeoff.enclosing import enclosing
from tradeoff.errors import VerificationError, needed

with suppress(ImportError):  # ``balls`` says that it is missing
    from flint import arb

# Of claims about the same number up to forty agree, and doubles hold sixteen more; fewer only widen.
DIGITS = 60

Sample = tuple[float, Any, Any, Any]  # a loss x, the slope e^x, and the ends of bounds on g there


def concluded(question: str, value: float, claims: Sequence[Claim]) -> tuple[float, float]:
    """Return the bounds that the claims imply, rounded outwards."""
    low, high = implied(question, value, claims)
    return outwards(low, -math.inf), outwards(high, math.inf)


def outwards(bound: Any, end: float) -> float:
    """Return a number as a float, towards an end where it is none."""
    number = float(bound)
    return number if number == bound else math.nextafter(number, end)


def implied(question: str, value: float, claims: Sequence[Claim]) -> tuple[Any, Any]:
    """Return the bounds that the claims imply: floats, or ends of intervals."""
    if question == "delta":
        return _delta(value, claims)
    if question == "epsilon":
        return crossed(value, [(at, delta.a, delta.b) for at, delta in _known(claims)])
    if question == "mu":
        return least_mu(value, [known_of(claims, reverse=order) for order in (False, True)])
    if question != "beta":
        raise VerificationError(f"question: no claims answer {question!r}", "question")
    direct = [
        claim for claim in claims if claim.quantity == "beta" and claim.at == value and not claim.reverse
    ]
    return (direct[0].lower, direct[0].upper) if direct else _beta(value, claims)


@cache
def intervals() -> Any:
    """Return intervals of their own precision."""
    context = enclosing()
    context.dps = DIGITS
    return context


def known_of(claims: Sequence[Claim], *, reverse: bool) -> list[Known]:
    """Return what claims about one order say of its delta at losses from 0."""
    found = []
    with balls() as ball:
        for claim in claims:
            if claim.reverse is reverse and claim.quantity != "beta" and claim.at >= 0:
                low, high = ball(claim.lower), ball(claim.upper)
                ends = (low, high) if claim.quantity == "delta" else (1 - high, 1 - low)
                found.append(Known(claim.at, *ends))
    return found


def _profile(claim: Claim) -> tuple[Any, Any]:
    """Enclose delta(at) of the claim's own order, and 1 - delta."""
    known = intervals().mpf([claim.lower, claim.upper])
    return (known, 1 - known) if claim.quantity == "delta" else (1 - known, known)


def _known(claims: Sequence[Claim]) -> list[tuple[float, Any]]:
    """Return losses with delta_f there, enclosed; 1 - delta_f(x) = e^x (1 - delta_{f^-1}(-x))."""
    found = []
    for claim in claims:
        if claim.quantity != "beta":
            delta, rest = _profile(claim)
            x = -claim.at if claim.reverse else claim.at
            found.append((x, 1 - intervals().exp(x) * rest if claim.reverse else delta))
    return found


def _delta(value: float, claims: Sequence[Claim]) -> tuple[Any, Any]:
    known = _known(claims)
    low = max([0.0, *(delta.a for at, delta in known if at >= value)])
    return low, min([1.0, *(delta.b for at, delta in known if at <= value)])


def crossed(value: Any, known: Sequence[tuple[float, Any, Any]]) -> tuple[float, float]:
    """Return between which losses delta falls to a value, from bounds on it; equality says nothing below."""
    above = [x for x, low, _ in known if low > value]
    below = [x for x, _, high in known if high <= value]
    return max(above, default=-math.inf), min(below, default=math.inf)


def gain(claim: Claim, alpha: float) -> Sample:
    """Return x, s = e^x, and bounds on g(s) = 1 - delta(x) - s alpha = s (1 - delta_{f^-1}(-x) - alpha)."""
    _, rest = _profile(claim)
    x = -claim.at if claim.reverse else claim.at
    s = intervals().exp(x)
    value = s * (rest - alpha) if claim.reverse else rest - s * alpha
    return x, s, value.a, value.b


def _beta(alpha: float, claims: Sequence[Claim]) -> tuple[Any, Any]:
    samples = _joined([gain(claim, alpha) for claim in claims if claim.quantity != "beta"])
    low = max((least for _, _, least, _ in samples), default=0.0)
    return max(low, 0.0), min(_greatest(samples), (1 - intervals().mpf(alpha)).b)


def _joined(samples: Sequence[Sample]) -> list[Sample]:
    """Join what is known at the same loss, in their order."""
    found: dict[float, Sample] = {}
    for x, s, low, high in samples:
        _, _, least, most = found.get(x, (x, s, low, high))
        found[x] = x, s, max(low, least), min(high, most)
    return [found[x] for x in sorted(found)]


def _greatest(samples: Sequence[Sample]) -> Any:
    """Bound the maximum of a concave function between bounds at samples."""
    if len(samples) < 4 or samples[1][3] > samples[2][2] or samples[-2][3] > samples[-3][2]:
        return math.inf  # the maximum may lie outside
    found = []
    for k in range(1, len(samples) - 2):
        (_, s0, l0, _), (_, s1, _, h1), (_, s2, _, h2), (_, s3, l3, _) = samples[k - 1 : k + 3]
        rise, fall = (h1 - l0) * (s2 - s1) / (s1 - s0), (h2 - l3) * (s2 - s1) / (s3 - s2)
        found.append(min(max(h1, (h1 + rise).b), max(h2, (h2 + fall).b)))
    return max(found)


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
    rest = 1 - arb(failure)
    for (one, s), (two, t) in pairwise(_hull(failure, side)):
        alpha = _fall((one, s), (two, t))
        a, b = alpha / rest, (1 - one.upper - alpha * s) / rest
        inside = 0 < a < 1 and 0 < b < 1
        yield Cell(one.x, two.x, _deviations(a) + _deviations(b) if inside else arb.pos_inf())


Point = tuple[Known, Any]  # what is known of delta at a loss, and its slope e^x


def _hull(failure: float, side: Sequence[Known]) -> list[Point]:
    """Return points from x = 0 to where nothing is asked, whose chords are convex; any are above delta."""
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
    if mu == 0:
        return bool(known.lower > failure)
    half, x = arb(mu) / 2, arb(known.x)
    profile = _above(x / mu - half) - x.exp() * _above(x / mu + half)
    return bool(failure + (1 - arb(failure)) * profile < known.lower)


def _above(z: Any) -> Any:
    """Return P(Z > z) of a normal law."""
    return (z / arb(2).sqrt()).erfc() / 2


def _up(bound: Any) -> float:
    """Return a float above a ball."""
    found = float(bound.upper())
    return math.nextafter(found, math.inf) if found < math.inf else math.inf  # NaN is no bound either
