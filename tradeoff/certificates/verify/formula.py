"""Claims of closed forms, computed again in 50 digits by recursion over the description of the law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tradeoff.certificates.certificate import Claim, ulps
from tradeoff.certificates.description import Description
from tradeoff.certificates.evidence import Formula
from tradeoff.certificates.verify.laws import Need, law
from tradeoff.certificates.verify.report import Log

_DIGITS = 50
_WRITTEN = 1e-13
"""Relative accuracy of masses that a description writes out."""


class CheckedFormula:
    """The closed form of one law."""

    def __init__(self, _formula: Formula, factors: Sequence[Description], log: Log) -> None:
        log.holds("factors", len(factors) == 1 and factors[0]["count"] == 1, "a product has no closed form")
        self.log, self.what, self.slack = log, factors[0]["law"], _WRITTEN if "atoms" in str(factors) else 0.0
        if self.slack:
            log.trust(f"masses written out in the description, to {_WRITTEN:g} of themselves")

    def claim(self, claim: Claim) -> None:
        """Verify the bounds of one claim."""
        import mpmath

        self.log.close("ulps", claim.terms["ulps"], ulps(claim.lower, claim.upper), 0.0)
        with mpmath.workdps(_DIGITS):
            x = mpmath.mpf(claim.at)
            ask = _beta if claim.quantity == "beta" else _delta
            # Masses in extended precision add up to 1 but for its last digits, and leave as much open next to alpha = 1.
            near_one = claim.quantity == "beta" and claim.at > 0.5
            least, most = (
                max(ask(self.what, min(x + off, 1) if near_one else x), 0) for off in (_OPEN, -_OPEN)
            )
            self.log.below(f"{claim.quantity} lower", claim.lower, most * (1 + self.slack))
            self.log.above(f"{claim.quantity} upper", claim.upper, least * (1 - self.slack))


def _delta(what: Description, x: Any) -> Any:
    """Return delta(x) of a law."""
    return tails(what, x)[0]


def tails(what: Description, x: Any) -> tuple[Any, Any]:
    """Return delta(x) and P(L > x)."""
    import mpmath as mp

    kind = what["kind"]
    if kind in _LEAVES:
        return _LEAVES[kind](mp.mpf(what[_PARAMETER[kind]]), x)
    if kind == "thinned":
        return _thinned(what, x)
    if kind == "reversed":
        delta, above = tails(what["base"], -x)
        # delta_{f^-1}(x) = 1 - e^x + e^x delta_f(-x); Q(L < -x) = 1 - delta(-x) - e^-x P(L > -x), without atoms at -x.
        return -mp.expm1(x) + mp.exp(x) * delta, 1 - delta - mp.exp(-x) * above
    if kind == "mixed":
        parts = [(mp.mpf(w), tails(part, x)) for w, part in what["parts"]]
        return mp.fsum(w * pair[0] for w, pair in parts), mp.fsum(w * pair[1] for w, pair in parts)
    return _of_atoms(what, x)


def _thinned(what: Description, x: Any) -> tuple[Any, Any]:
    import mpmath as mp

    p = mp.mpf(what["p"])
    inner = (mp.expm1(x) + p) / p
    if inner <= 0:
        return -mp.expm1(x), mp.mpf(1)
    delta, above = tails(what["base"], mp.log(inner))
    return p * delta, above


def _gaussian(mu: Any, x: Any) -> tuple[Any, Any]:
    import mpmath as mp

    a = x / mu + mu / 2
    above = mp.erfc(a / mp.sqrt(2)) / 2
    return mp.erfc((a - mu) / mp.sqrt(2)) / 2 - mp.exp(x) * above, above


def _laplace(epsilon: Any, x: Any) -> tuple[Any, Any]:
    import mpmath as mp

    if x >= epsilon:
        return mp.mpf(0), mp.mpf(0)
    if x < -epsilon:
        return -mp.expm1(x), mp.mpf(1)
    return -mp.expm1((x - epsilon) / 2), mp.exp(-(x + epsilon) / 2) / 2


def _of_atoms(what: Description, x: Any) -> tuple[Any, Any]:
    import mpmath as mp

    if what["kind"] == "response":
        e = mp.mpf(what["epsilon"])
        atoms, q_plus = [(-e, 1 / (1 + mp.exp(-e))), (e, 1 / (1 + mp.exp(e)))], mp.mpf(0)
    else:
        built = law(what, Need(1.0, 0.0))
        q_plus = mp.mpf(str(built.q_plus))
        atoms = [
            (mp.mpf(str(at)), mp.exp(mp.mpf(str(log_p))))
            for part in built.parts
            for log_p, at in zip(*part[:2], strict=True)
        ]
    delta = q_plus + mp.fsum(p * (mp.exp(at) - mp.exp(x)) for at, p in atoms if at > x)
    return delta, mp.fsum(p for at, p in atoms if at > x)


def _beta(what: Description, alpha: Any) -> Any:
    """Return f(alpha) = sup over s of 1 - delta(log s) - s alpha, at the loss where P(L > x) crosses alpha."""
    import mpmath as mp

    low, high = mp.mpf(-1), mp.mpf(1)
    while tails(what, low)[1] <= alpha and low > -(10**6):
        low *= 2
    while tails(what, high)[1] > alpha and high < 10**6:
        high *= 2
    for _ in range(170):
        middle = (low + high) / 2
        low, high = (middle, high) if tails(what, middle)[1] > alpha else (low, middle)
    return 1 - _delta(what, high) - mp.exp(high) * alpha


_LEAVES = {"gaussian": _gaussian, "laplace": _laplace}
_OPEN = 2.0**-60
"""Sixteen units of extended precision."""

_PARAMETER = {"gaussian": "mu", "laplace": "epsilon"}
