"""From pointwise claims to bounds on the answer, in rational arithmetic: the only step that joins claims.

beta:    f(alpha) = sup over s = e^x of g = 1 - delta(x) - s alpha, concave in s; one s gives a lower bound,
         and between neighbouring samples g lies below the chords of the pairs beside them, extended;
epsilon: delta falls, so delta(upper) <= value <= delta(lower) encloses the least epsilon with
         delta(epsilon) <= value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tradeoff.certificates.certificate import Certificate, Claim
from tradeoff.certificates.verify.report import Log, require

DIGITS = 60
"""Of claims about the same number up to forty agree, and doubles hold sixteen more."""

Sample = tuple[Any, Any, Any]
"""A slope s, and bounds on g there."""


def follows(certificate: Certificate, log: Log) -> None:
    """Require the bounds to be what the claims imply, rounded outwards."""
    low, high = concluded(certificate.question, certificate.value, certificate.claims)
    log.below("lower bound", certificate.lower, low)
    log.above("upper bound", certificate.upper, high)
    for name, bound, found in (("lower", certificate.lower, low), ("upper", certificate.upper, high)):
        require(f"{name} bound", bound == found, f"recorded {bound!r}, the claims imply {found!r}")


def concluded(question: str, value: float, claims: Sequence[Claim]) -> tuple[float, float]:
    """Return the bounds that the claims imply, rounded outwards."""
    import mpmath

    with mpmath.workdps(DIGITS):
        low, high = implied(question, value, claims)
        return _outwards(low, -math.inf), _outwards(high, math.inf)


def _outwards(bound: Any, end: float) -> float:
    number = float(bound)
    return number if number == bound else math.nextafter(number, end)


def implied(question: str, value: float, claims: Sequence[Claim]) -> tuple[Any, Any]:
    """Return the bounds that the claims imply, in the precision of mpmath's context."""
    if question == "delta":
        return _delta(value, claims)
    if question == "epsilon":
        return _epsilon(value, claims)
    direct = [
        claim for claim in claims if claim.quantity == "beta" and claim.at == value and not claim.reverse
    ]
    return (direct[0].lower, direct[0].upper) if direct else _beta(value, claims)


def _profile(claim: Claim) -> tuple[Any, Any]:
    """Return the bounds on delta(at) of the claim's own order."""
    from mpmath import mpf

    low, high = mpf(claim.lower), mpf(claim.upper)
    return (low, high) if claim.quantity == "delta" else (1 - high, 1 - low)


def _known(claims: Sequence[Claim]) -> list[tuple[float, Any, Any]]:
    """Return losses with bounds on delta_f there; delta_f(x) = 1 - e^x + e^x delta_{f^-1}(-x)."""
    from mpmath import exp, expm1

    found = []
    for claim in claims:
        if claim.quantity != "beta":
            low, high = _profile(claim)
            x = -claim.at if claim.reverse else claim.at
            found.append(
                (x, exp(x) * low - expm1(x), exp(x) * high - expm1(x)) if claim.reverse else (x, low, high)
            )
    return found


def _delta(value: float, claims: Sequence[Claim]) -> tuple[Any, Any]:
    here = [(low, high) for at, low, high in _known(claims) if at == value]
    return max((low for low, _ in here), default=0), min((high for _, high in here), default=1)


def _epsilon(value: float, claims: Sequence[Claim]) -> tuple[Any, Any]:
    known = _known(claims)
    above = [at for at, low, _ in known if low >= value]
    below = [at for at, _, high in known if high <= value]
    return max(above, default=float("-inf")), min(below, default=float("inf"))


def gain(claim: Claim, alpha: float) -> Sample:
    """Return s, and bounds on g(s) = 1 - delta(log s) - s alpha.

    The other order answers by delta_{f^-1}(-x) = 1 - e^-x + e^-x delta_f(x), so that
    g = s (1 - alpha - delta_{f^-1}(-log s)).
    """
    from mpmath import exp, mpf

    low, high = _profile(claim)
    s = exp(-mpf(claim.at)) if claim.reverse else exp(mpf(claim.at))
    if claim.reverse:
        return s, s * (1 - mpf(alpha) - high), s * (1 - mpf(alpha) - low)
    return s, 1 - high - s * mpf(alpha), 1 - low - s * mpf(alpha)


def _beta(alpha: float, claims: Sequence[Claim]) -> tuple[Any, Any]:
    from mpmath import mpf

    samples = _joined(sorted(gain(claim, alpha) for claim in claims if claim.quantity != "beta"))
    low = max((least for _, least, _ in samples), default=mpf(0))
    return max(low, mpf(0)), min(_greatest(samples), 1 - mpf(alpha))


def _joined(samples: Sequence[Sample]) -> list[Sample]:
    """Join what is known at the same s."""
    found: dict[Any, Sample] = {}
    for s, low, high in samples:
        _, least, most = found.get(s, (s, low, high))
        found[s] = s, max(low, least), min(high, most)
    return list(found.values())


def _greatest(samples: Sequence[Sample]) -> Any:
    """Bound the maximum of a concave function between bounds at samples."""
    if len(samples) < 4 or samples[1][2] > samples[2][1] or samples[-2][2] > samples[-3][1]:
        return float("inf")  # the maximum may lie outside
    found = []
    for k in range(1, len(samples) - 2):
        (s0, l0, _), (s1, _, h1), (s2, _, h2), (s3, l3, _) = samples[k - 1 : k + 3]
        rise, fall = max(h1 - l0, 0) * (s2 - s1) / (s1 - s0), max(h2 - l3, 0) * (s2 - s1) / (s3 - s2)
        found.append(min(h1 + rise, h2 + fall))
    return max(found)
