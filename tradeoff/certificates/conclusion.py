"""From pointwise claims to bounds on the answer, in intervals of 60 digits.

delta:   falls, so that a claim at a lesser loss bounds it above, one at a greater loss below;
beta:    f(alpha) = sup over s = e^x of g = 1 - delta(x) - s alpha, concave in s; one s gives a lower bound,
         and between neighbouring samples g lies below the chords of the pairs beside them, extended;
epsilon: delta falls, so delta(upper) <= value < delta(lower) encloses the least epsilon with
         delta(epsilon) <= value; where delta is flat, a claim that equals the value says nothing of it;
mu:      ``gaussian``, in balls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from tradeoff.certificates.certificate import Claim
from tradeoff.certificates.gaussian import Known, balls, least_mu
from tradeoff.enclosing import enclosing
from tradeoff.errors import VerificationError

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
        return _epsilon(value, claims)
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


def _epsilon(value: float, claims: Sequence[Claim]) -> tuple[float, float]:
    known = _known(claims)
    above = [at for at, delta in known if delta.a > value]
    below = [at for at, delta in known if delta.b <= value]
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
