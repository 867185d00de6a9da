"""From pointwise claims to bounds on the answer, in intervals of 60 digits: the only step that joins claims.

beta:    f(alpha) = sup over s = e^x of g = 1 - delta(x) - s alpha, concave in s; one s gives a lower bound,
         and between neighbouring samples g lies below the chords of the pairs beside them, extended;
either:  the hull of min{f, f^-1} has the larger profile, so the larger epsilon and the lesser g at every s;
epsilon: delta falls, so delta(upper) <= value < delta(lower) encloses the least epsilon with
         delta(epsilon) <= value; where delta is flat, a claim that equals the value says nothing of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from tradeoff.certificates.certificate import Certificate, Claim, Orders
from tradeoff.certificates.verify.report import Log, require

DIGITS = 60
"""Of claims about the same number up to forty agree, and doubles hold sixteen more; fewer only widen."""

_APART = 1e-10
"""Losses nearer to each other than this have chords of rounding alone: others bound a supremum closer."""

Sample = tuple[float, Any, Any, Any]
"""A loss x, the slope e^x, and the ends of bounds on g there."""


def follows(certificate: Certificate, log: Log) -> None:
    """Require the bounds to be what the claims imply, rounded outwards."""
    low, high = concluded(certificate.question, certificate.value, certificate.claims, certificate.orders)
    log.below("lower bound", certificate.lower, low)
    log.above("upper bound", certificate.upper, high)
    for name, bound, found in (("lower", certificate.lower, low), ("upper", certificate.upper, high)):
        require(f"{name} bound", bound == found, f"recorded {bound!r}, the claims imply {found!r}")


def concluded(
    question: str, value: float, claims: Sequence[Claim], orders: Orders = "first"
) -> tuple[float, float]:
    """Return the bounds that the claims imply, rounded outwards."""
    low, high = implied(question, value, claims) if orders == "first" else _worse(question, value, claims)
    return _outwards(low, -math.inf), _outwards(high, math.inf)


def _outwards(bound: Any, end: float) -> float:
    number = float(bound)
    return number if number == bound else math.nextafter(number, end)


def implied(question: str, value: float, claims: Sequence[Claim]) -> tuple[Any, Any]:
    """Return the bounds that the claims imply: floats, or ends of intervals."""
    if question == "delta":
        return _delta(value, claims)
    if question == "epsilon":
        return _epsilon(value, claims)
    direct = [
        claim for claim in claims if claim.quantity == "beta" and claim.at == value and not claim.reverse
    ]
    return (direct[0].lower, direct[0].upper) if direct else _beta(value, claims)


def _worse(question: str, value: float, claims: Sequence[Claim]) -> tuple[Any, Any]:
    """Return the bounds that the claims imply for the worse of both orders."""
    each = [claims, [claim.turned for claim in claims]]
    if question != "beta":
        lows, highs = zip(*(implied(question, value, mine) for mine in each), strict=True)
        return max(lows), max(highs)
    mine, theirs = ({sample[0]: sample for sample in _samples(value, these)} for these in each)
    both = [(mine[x], theirs[x]) for x in sorted(mine.keys() & theirs.keys())]
    samples = [(x, s, min(a, c), min(b, d)) for (x, s, a, b), (_, _, c, d) in both]
    spread = [sample for k, sample in enumerate(samples) if k == 0 or sample[0] - samples[k - 1][0] > _APART]
    found = (_supremum(value, those) for those in (samples, spread))
    lows, highs = zip(*found, strict=True)
    return max(lows), min(highs)


@cache
def _intervals() -> Any:
    """Return intervals of their own precision."""
    from mpmath import MPIntervalContext

    context = MPIntervalContext()
    context.dps = DIGITS
    return context


def _profile(claim: Claim) -> tuple[Any, Any]:
    """Enclose delta(at) of the claim's own order, and 1 - delta."""
    known = _intervals().mpf([claim.lower, claim.upper])
    return (known, 1 - known) if claim.quantity == "delta" else (1 - known, known)


def _known(claims: Sequence[Claim]) -> list[tuple[float, Any]]:
    """Return losses with delta_f there, enclosed; 1 - delta_f(x) = e^x (1 - delta_{f^-1}(-x))."""
    found = []
    for claim in claims:
        if claim.quantity != "beta":
            delta, rest = _profile(claim)
            x = -claim.at if claim.reverse else claim.at
            found.append((x, 1 - _intervals().exp(x) * rest if claim.reverse else delta))
    return found


def _delta(value: float, claims: Sequence[Claim]) -> tuple[Any, Any]:
    here = [delta for at, delta in _known(claims) if at == value]
    return max((delta.a for delta in here), default=0.0), min((delta.b for delta in here), default=1.0)


def _epsilon(value: float, claims: Sequence[Claim]) -> tuple[float, float]:
    known = _known(claims)
    above = [at for at, delta in known if delta.a > value]
    below = [at for at, delta in known if delta.b <= value]
    return max(above, default=-math.inf), min(below, default=math.inf)


def gain(claim: Claim, alpha: float) -> Sample:
    """Return x, s = e^x, and bounds on g(s) = 1 - delta(x) - s alpha = s (1 - delta_{f^-1}(-x) - alpha)."""
    _, rest = _profile(claim)
    x = -claim.at if claim.reverse else claim.at
    s = _intervals().exp(x)
    value = s * (rest - alpha) if claim.reverse else rest - s * alpha
    return x, s, value.a, value.b


def _beta(alpha: float, claims: Sequence[Claim]) -> tuple[Any, Any]:
    return _supremum(alpha, _samples(alpha, claims))


def _samples(alpha: float, claims: Sequence[Claim]) -> list[Sample]:
    return _joined([gain(claim, alpha) for claim in claims if claim.quantity != "beta"])


def _supremum(alpha: float, samples: Sequence[Sample]) -> tuple[Any, Any]:
    low = max((least for _, _, least, _ in samples), default=0.0)
    return max(low, 0.0), min(_greatest(samples), (1 - _intervals().mpf(alpha)).b)


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
