"""What is false is refused, whatever is written for it: laws that are none, other types, far ends."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx

import tradeoff as to
from tradeoff.certificates import Certificate, Claim
from tradeoff.certificates.conclusion import concluded
from tradeoff.certificates.verify.balls import above
from tradeoff.certificates.verify.product import sums
from tradeoff.errors import VerificationError


def made(method: str, n: int, law: Any, at: float, lower: float, upper: float, **changed: Any) -> Certificate:
    """Return a certificate as a forger writes it, with the bounds that follow and a digest of them."""
    claim = Claim("delta", changed.pop("reverse", False), at, lower, upper)
    question, value = changed.get("question", "delta"), changed.get("value", at)
    bounds = (
        concluded(question, value, [claim]) if question in {"delta", "epsilon", "beta"} else (lower, upper)
    )
    return Certificate("", question, value, *bounds, method, ({"law": law, "count": n},), (claim,)).sealed()


def gaussian(mu: Any) -> dict[str, Any]:
    return {"kind": "gaussian", "mu": mu}


def atoms(log_p: float, loss: float, minus: float = 0.0, plus: float = 0.0) -> dict[str, Any]:
    return {"kind": "atoms", "loss": [loss], "log_p": [log_p], "p_minus": minus, "q_plus": plus}


def leaking(plus: float) -> dict[str, Any]:
    """Return a law that leaks 9e-7, beside an atom of next to nothing whose loss is a large number."""
    return {
        "kind": "atoms",
        "loss": [math.log1p(-9e-7), -1e300],
        "log_p": [math.log1p(-math.exp(-70.0)), -70.0],
        "p_minus": 0.0,
        "q_plus": plus,
    }


def integers(sigma: float) -> dict[str, Any]:
    return {"kind": "discrete gaussian", "sigma": sigma, "shift": 1}


WEIGHED = {"kind": "mixed", "parts": [[1e-3, gaussian(5.0)]]}
HIDDEN = {"kind": "mixed", "base": gaussian(5.0), "parts": [[1.0, atoms(-9.0, 0.5)]]}
THINNED = {"kind": "thinned", "p": 0.3, "base": gaussian(0.5)}
THIRDS = {"kind": "mixed", "parts": [[1 / 3, {"kind": "response", "epsilon": k * 1e-10}] for k in (1, 2, 3)]}
"""Weights of 1 - 2^-54 in all, a power of which would be faint: delta(0) of 2^60 rounds is 0.0923295."""

LAPLACE = {"kind": "laplace", "epsilon": 1.0}
SHORT = {
    "kind": "atoms",
    "loss": [1e-9, -1e-9],
    "log_p": [-math.log1p(math.exp(loss)) - 1.5e-15 for loss in (1e-9, -1e-9)],
    "p_minus": 0.0,
    "q_plus": 0.0,
}
STEEP = SHORT | {"loss": [0.0, 1e16 + 1000], "log_p": [0.0, -1e16]}
BETWEEN = 13755.742176870746
"""A loss at which delta of 30000 rounds of noise on integers is 0.1795563."""

FORGED: dict[str, Certificate] = {
    "of no order, so that none proves it": made("exact", 1, gaussian(5.0), 0.5, 0.0, 1e-9, reverse=0),
    "a mu below 0, which counted as faint": made("exact", 1, gaussian(-5.0), 0.5, 0.0, 0.0),
    "faint laws, together not faint": made("exact", 10**40, gaussian(1e-31), 0.0, 0.9, 1.0),
    "a faint law may add nothing": made("exact", 1, gaussian(1e-31), 2.0, 1e-31, 1.0),
    "text, of which a ball is made": made("closed-form", 1, gaussian("5 +/- 1"), 0.5, 0.0, 1.0),
    "weights of no mixture": made("closed-form", 1, WEIGHED, 0.5, 0.0, 1e-3),
    "masses that do not add to 1": made("exact", 1, atoms(-9.0, 0.0), -1.0, 0.0, 1e-3),
    "atoms behind another base": made("exact", 1, HIDDEN, 0.5, 0.0, 1e-3),
    "an infinite loss": made("exact", 1, atoms(0.0, math.inf), 0.0, 0.9, 1.0),
    "an alpha above 1": made("exact", 1, integers(1.0), 0.0, 0.0, 1.0, question="beta", value=2.0),
    "no question": made("exact", 1, integers(1.0), 0.0, 0.0, 1.0, question="risk", value=0.5),
    "noise on integers does not decay": made("contour", 30000, integers(1.05), BETWEEN, 0.17951, 0.17953),
    "a power of weights that are short of 1": made("contour", 2**60, THIRDS, 0.0, 0.0, 1e-6),
    "the same from below": made("contour", 2**60, THIRDS, 0.0, 0.999999, 1.0),
    "a power of masses that are short of 1": made("contour", 2**50, SHORT, 0.0, 0.4, 1.0),
    "a faint atom that Q has all of": made("exact", 1, STEEP, 0.0, 0.9, 1.0),
    "a leak left out, beside a faint atom": made("exact", 10**5, leaking(0.0), 0.0, 0.0, 1e-20),
    "a law with more than it says": made("exact", 1, gaussian(0.1) | {"rounds": 1000}, 0.0, 0.0, 0.04),
    "hours of integers": made("exact", 1, integers(1e15), 0.0, 0.0, 1.0),
    "hours of nodes": made("contour", 2, THINNED, 0.3, 0.01537438, 0.01537439),
}


def test_no_delta_passes_for_a_beta() -> None:
    """Lattices know delta alone: 0.0154 at 0.3, where beta is 0.68."""
    claim = Claim("beta", False, 0.3, 0.015, 0.016)
    factors = ({"law": THINNED, "count": 2},)
    forged = Certificate("", "beta", 0.3, 0.015, 0.016, "lattice", factors, (claim,)).sealed()
    with pytest.raises(VerificationError, match="beta"):
        to.verify(forged)


@pytest.mark.parametrize("name", FORGED)
def test_what_is_forged_is_refused(name: str) -> None:
    with pytest.raises(VerificationError):
        to.verify(FORGED[name])


@pytest.mark.slow
def test_a_leak_is_found_beside_a_faint_atom() -> None:
    found = made("exact", 10**5, leaking(9e-7), 0.0, 0.08606, 0.08607)
    assert found.lower <= -math.expm1(1e5 * math.log1p(-9e-7)) <= found.upper
    to.verify(found)


def test_no_line_is_narrow_enough_for_nothing() -> None:
    with pytest.raises(VerificationError, match="narrow enough"):
        to.verify(made("contour", 9, {"kind": "thinned", "p": 0.5, "base": LAPLACE}, 0.3, 0.0, 0.0))


@pytest.mark.parametrize(("x", "upper", "truth"), [(1e-100, 1e-100, 5e-201), (200.0, 1.0, 1.0)])
def test_claims_of_the_other_order_are_joined_without_rounding(x: float, upper: float, truth: float) -> None:
    """1 - delta(x) = e^x (1 - delta_{f^-1}(-x)), where nearly all digits cancel."""
    assert concluded("delta", x, [Claim("delta", True, -x, 0.0, upper)])[1] >= truth


def test_where_delta_is_flat_a_claim_bounds_epsilon_from_above_only() -> None:
    law = {"kind": "masses", "p": ["1/2", "1/2", "0"], "q": ["0", "1/2", "1/2"]}
    certificate = made("exact", 1, law, 1000.0, 0.5, 0.5, question="epsilon", value=0.5)
    assert to.verify(certificate).checks
    assert (certificate.lower, certificate.upper) == (-math.inf, 1000.0)


def test_a_power_of_weights_that_are_short_of_one_is_of_their_shares() -> None:
    """1/3 thrice: log M of a round is e^2 c (c - 1)/2 of the mean square e^2 of the losses, all small."""
    e = mpmath.sqrt(mpmath.mpf(14) / 3) * mpmath.mpf(1e-10)
    truth = mpmath.erf(e * 2**30 / 2 / mpmath.sqrt(2))
    right = made("contour", 2**60, THIRDS, 0.0, 0.09230, 0.09236)
    assert right.lower <= truth <= right.upper
    to.verify(right)


def test_turns_of_a_row_are_not_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctx, "prec", 128)
    found = sums([[arb(1)]], [arb(1e6)], 0.1, 128)[0]
    assert all(value.overlaps(acb(0, arb(0.1) * k * 10**6).exp()) for k, value in enumerate(found))


def test_the_noise_on_integers_is_as_it_says() -> None:
    """By the periodic transform of the sum of the rounds."""
    k, t = np.arange(-14, 15), 2 * np.pi * np.arange(2**15) / 2**15
    mass = np.exp(-(k**2) / (2 * 1.05**2))
    above, pmf = np.arange(2**12), np.fft.ifft((np.cos(np.outer(t, k)) @ (mass / mass.sum())) ** 30000).real
    gain = -np.expm1(np.minimum(BETWEEN - (above + 15000) / 1.05**2, 0.0))
    assert float(np.sum(pmf[above] * gain)) == pytest.approx(0.1795563, abs=1e-7)


@pytest.mark.parametrize("x", [2.0**24, 1.7e7, 1e8, 3e9])
def test_normal_tails_far_out_hold_those_of_60_digits(x: float) -> None:
    with mpmath.workdps(60):
        z = mpmath.mpf(x) + mpmath.mpf("0.3")
        # the continued fraction of Mills' ratio, whose tenth convergent errs by less than z^-20
        ratio = z
        for k in range(10, 0, -1):
            ratio = z + k / ratio
        true = -z * z / 2 - mpmath.log(2 * mpmath.pi) / 2 - mpmath.log(ratio)
        ctx.prec = 256
        found = above(arb(x) + arb("0.3")).log()
        assert found.contains(arb(mpmath.nstr(true, 50)))
        assert float(found.rad()) < 1e-14 + 1e-30 * x * x
