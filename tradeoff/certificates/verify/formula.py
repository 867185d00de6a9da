"""Claims of closed forms, computed again by recursion over the description of the law.

Laws of atoms alone are added up (``atoms``); for the others a ``Point`` holds, in as many digits as the
answer needs, all that a law says at a loss x. Thinning turns e^L into 1 - p + p e^L, so that

    call' = p call,    put' = p e^(x - x') put    at x' = log(1 - p + p e^x),

reversal swaps both, and a mixture averages them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np

from tradeoff.certificates.certificate import Claim, ulps
from tradeoff.certificates.description import Description
from tradeoff.certificates.evidence import Formula
from tradeoff.certificates.verify import mixtures
from tradeoff.certificates.verify.arithmetic import DIGITS, EPS, digits, to_mpf, to_real
from tradeoff.certificates.verify.atoms import Listed
from tradeoff.certificates.verify.laws import law
from tradeoff.certificates.verify.report import Log

_HALVES = 170
"""Bisections that find a loss to 50 digits."""

_MILLION = 10**6
"""Beyond so many standard deviations a tail is e^(-5e11): 0 or 1 in any number of digits used."""

_FARTHEST = mp.mpf(2) ** 400
"""No loss is larger."""


class Point(NamedTuple):
    """A law at x: E_P (e^L - e^x)_+, E_P (1 - e^(L - x))_+, and masses on both sides.

    The first two include what lies at infinity, the masses do not. An atom at x itself counts as below.
    """

    call: Any
    put: Any
    p_above: Any
    p_below: Any
    q_above: Any
    q_below: Any


class CheckedFormula:
    """The closed form of one law."""

    def __init__(self, _formula: Formula, factors: Sequence[Description], log: Log) -> None:
        single = len(factors) == 1 and factors[0]["count"] == 1
        log.holds("factors", single, "a product has no closed form")
        self.log, self.what = log, factors[0]["law"]
        if "'atoms'" in str(self.what):
            log.trust("masses and losses written out in the description, to a few units of their digits")

    def claim(self, claim: Claim) -> None:
        """Verify the bounds of one claim."""
        self.log.close("ulps", claim.terms["ulps"], ulps(claim.lower, claim.upper), 0.0)
        with mp.workdps(digits(claim.upper)):
            ask = beta if claim.quantity == "beta" else delta
            self.log.encloses(claim, *ask(self.what, mp.mpf(claim.at)))


def delta(what: Description, x: Any) -> tuple[Any, Any]:
    """Bound delta(x) of a law, in the digits of mpmath's context."""
    built = law(what)
    if not built.nodes:
        return Listed(built.atoms, built.p_minus, built.q_plus).delta(to_real(x))
    if not len(built.atoms.loss):
        return (point(what, x).call,) * 2
    return point(what, x, -1, -1).call, point(what, x, 1, 1).call


def beta(what: Description, alpha: Any) -> tuple[Any, Any]:
    """Bound f(alpha) of a law."""
    built = law(what)
    if not built.nodes:
        return Listed(built.atoms, built.p_minus, built.q_plus).beta(to_real(alpha))
    return _beta(what, alpha, -1), _beta(what, alpha, 1)


def _beta(what: Description, alpha: Any, side: int) -> Any:
    """Return what is left under Q once alpha is spent, where P(L > x) crosses alpha: two positive terms."""
    low, high = mp.mpf(-1), mp.mpf(1)
    while point(what, low, side).p_above <= alpha and low > -_FARTHEST:
        low *= 2
    while point(what, high, side).p_above > alpha and high < _FARTHEST:
        high *= 2
    for _ in range(_HALVES):
        middle = (low + high) / 2
        low, high = (middle, high) if point(what, middle, side).p_above > alpha else (low, middle)
    there = point(what, low, side)
    return there.q_below + mp.exp(low) * max(there.p_above - alpha, 0)


def point(what: Description, x: Any, side: int = 0, lean: int = 0) -> Point:
    """Return a law at x, masses of atoms raised by their errors times ``side``, losses times ``lean``."""
    kind = what["kind"]
    if kind == "gaussian":
        return _gaussian(mp.mpf(what["mu"]), x)
    if kind == "gaussian mixtures":
        return _divided(x, *mixtures.masses(what, x))
    if kind == "laplace":
        return _laplace(mp.mpf(what["epsilon"]), x)
    return _made(what, x, side, lean)


def _made(what: Description, x: Any, side: int, lean: int) -> Point:
    """Return what other laws, or atoms, make."""
    kind = what["kind"]
    if kind == "thinned":
        return _thinned(what, x, side, lean)
    if kind == "reversed":
        call, put, *masses = point(what["base"], -x, side, -lean)
        p_above, p_below, q_above, q_below = masses
        return Point(put, call, q_below, q_above, p_below, p_above)
    if kind == "mixed":
        parts = [(mp.mpf(w), point(part, x, side, lean)) for w, part in what["parts"]]
        return Point(*(mp.fsum(w * part[k] for w, part in parts) for k in range(6)))
    return _listed(what, x, side, lean)


def _gaussian(mu: Any, x: Any) -> Point:
    a = x / mu + mu / 2
    return _divided(x, *(_normal_tail(at) for at in (a, -a, a - mu, mu - a)))


def _divided(x: Any, p_above: Any, p_below: Any, q_above: Any, q_below: Any) -> Point:
    """Return a law without atoms at x from its masses on both sides."""
    call, put = q_above - mp.exp(x) * p_above, p_below - mp.exp(-x) * q_below
    return Point(call, put, p_above, p_below, q_above, q_below)


def _normal_tail(a: Any) -> Any:
    """Return P(Z > a) of a normal Z; beyond a million it is 0 or 1 to more digits than any are asked."""
    return mp.erfc(a / mp.sqrt(2)) / 2 if abs(a) < _MILLION else mp.mpf(int(a < 0))


def _laplace(epsilon: Any, x: Any) -> Point:
    if x < -epsilon:
        return Point(-mp.expm1(x), mp.mpf(0), mp.mpf(1), mp.mpf(0), mp.mpf(1), mp.mpf(0))
    if x >= epsilon:
        return Point(mp.mpf(0), -mp.expm1(-x), mp.mpf(0), mp.mpf(1), mp.mpf(0), mp.mpf(1))
    above, below = mp.exp(-(x + epsilon) / 2) / 2, mp.exp((x - epsilon) / 2) / 2
    call, put = -mp.expm1((x - epsilon) / 2), -mp.expm1(-(x + epsilon) / 2)
    return Point(call, put, above, 1 - above, 1 - below, below)


def _thinned(what: Description, x: Any, side: int, lean: int) -> Point:
    p, base = mp.mpf(what["p"]), what["base"]
    if p == 1:
        return point(base, x, side, lean)
    ratio = (mp.expm1(x) + p) / p  # e^L of the base
    ends = law(base)
    lost, last = to_mpf(ends.p_minus), 1 - p * to_mpf(ends.q_plus)
    if ratio <= 0:
        return Point(-mp.expm1(x), mp.mpf(0), mp.mpf(1), mp.mpf(0), last, mp.mpf(0))
    there = point(base, mp.log(ratio), side, lean)
    p_below = there.p_below + lost
    q_above = (1 - p) * there.p_above + p * there.q_above
    q_below = (1 - p) * p_below + p * there.q_below
    put = p * ratio * mp.exp(-x) * there.put
    return Point(p * there.call, put, there.p_above, p_below, q_above, q_below)


def _listed(what: Description, x: Any, side: int, lean: int) -> Point:
    """Add up atoms, in extended precision."""
    built, at = law(what), to_real(x)
    listed = Listed(built.atoms, built.p_minus, built.q_plus)
    p, q = listed.p(side), listed.q(side)
    loss = listed.atoms.loss + lean * (listed.atoms.shift + EPS * abs(at))
    above = loss > at
    call = listed.q_plus + np.sum(q[above] * -np.expm1(at - loss[above]))
    put = listed.p_minus + np.sum(p[~above] * -np.expm1(loss[~above] - at))
    masses = (np.sum(p[above]), np.sum(p[~above]), np.sum(q[above]), np.sum(q[~above]))
    return Point(*(to_mpf(number) for number in (call, put, *masses)))


def truth(what: Description, x: Any) -> tuple[Any, Any]:
    """Bound delta(x) in extended precision."""
    with mp.workdps(_MANY):
        low, high = delta(what, to_mpf(x))
        return to_real(low), to_real(high)


_MANY = DIGITS + 70
"""Digits for truths down to 1e-110, below which lattices are not compared."""
