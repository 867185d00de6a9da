"""Certificates of mu: the least with f >= G_mu (x) f_{0,failure}."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import replace
from typing import Any

import mpmath
import pytest

import tradeoff as to
from tradeoff.certificates import Certificate
from tradeoff.errors import DomainError, NoClosedForm, VerificationError

STEPS = to.subsample(to.Gaussian(1.0), 0.01) ** 1000

CURVES: dict[str, to.TradeOff] = {
    "a Gaussian": to.Gaussian(0.5),
    "steps": STEPS,
    "their other order": STEPS.inverse(),
    "a few atoms": to.PureDP(0.3) ** 10,
    "densities": to.Gaussian(1.0) @ to.Laplace(0.1) ** 50,
    "the worse of two": to.minimum(STEPS, to.PureDP(0.1) ** 4),
    "nothing": to.PureDP(1e-12),
}


@functools.cache
def certified(name: str, failure: float) -> Certificate:
    return to.certify(CURVES[name], "mu", failure)


@pytest.mark.slow
@pytest.mark.parametrize("failure", [1e-3, 1e-10])
@pytest.mark.parametrize("name", CURVES)
def test_mu_verifies_from_its_text(name: str, failure: float) -> None:
    certificate = certified(name, failure)
    read = Certificate.from_json(certificate.to_json())
    assert read.to_json() == certificate.to_json()
    assert to.verify(read).checks[-1].name == "upper bound"
    found = CURVES[name].gdp(failure=failure).bounds
    assert certificate.lower <= found.upper
    assert found.lower <= certificate.upper
    assert certificate.upper - certificate.lower <= 1e-3 * certificate.upper


@pytest.mark.parametrize("failure", [1e-12, 1e-6, 0.01, 0.3])
@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 3.0, 20.0])
def test_mu_of_a_polygon_is_that_of_its_corner(epsilon: float, failure: float) -> None:
    """(1 - d) G_mu(a/(1 - d)) = a at the corner a = 1/(1 + e^eps) of f_{eps,0}."""
    certificate = to.certify(to.PureDP(epsilon), "mu", failure)
    to.verify(certificate)
    with mpmath.workdps(50):
        level = 1 / (1 + mpmath.exp(epsilon)) / (1 - mpmath.mpf(failure))
        true = 2 * mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * level) if level < 0.5 else mpmath.mpf(0)
        assert certificate.lower <= true <= certificate.upper < math.inf
    assert certificate.upper - certificate.lower <= 1e-3 * certificate.upper


def _numbers(claim: dict[str, Any]) -> list[tuple[str, float]]:
    """Return numbers of a claim, and one that says more than is true, or less than is needed."""
    width = claim["upper"] - claim["lower"]
    return [("lower", claim["upper"] + width), ("upper", claim["lower"] - width), ("at", claim["at"] + 0.25)]


@pytest.mark.parametrize("name", ["a few atoms", pytest.param("steps", marks=pytest.mark.slow)])
def test_every_number_of_a_certificate_of_mu_counts(name: str) -> None:
    certificate = certified(name, 1e-5)
    content = json.loads(certificate.to_json())
    for k in range(0, len(content["claims"]), 7):
        for field, other in _numbers(content["claims"][k]):
            forged = json.loads(certificate.to_json())
            forged["claims"][k][field] = other
            with pytest.raises(VerificationError):
                to.verify(Certificate.from_json(json.dumps(forged)).sealed())


@pytest.mark.parametrize(
    ("field", "shares"), [("lower", (0.99, 1.01)), ("upper", (0.99, 1.01)), ("value", (0.5,))]
)
def test_bounds_that_do_not_follow_are_refused(field: str, shares: tuple[float, ...]) -> None:
    certificate = certified("a few atoms", 1e-5)
    for share in shares:
        forged = replace(certificate, **{field: getattr(certificate, field) * share})
        with pytest.raises(VerificationError):
            to.verify(forged.sealed())


@pytest.mark.slow
def test_claims_left_out_leave_no_bound() -> None:
    """Without x = 0, without an end, or with one order alone, nothing bounds mu from above."""
    certificate = certified("steps", 1e-5)
    claims = certificate.claims
    least, most = (choose(claim.at for claim in claims) for choose in (min, max))
    for kept in (
        [claim for claim in claims if claim.at > least],
        [claim for claim in claims if claim.at < most],
        [claim for claim in claims if not claim.reverse],
    ):
        forged = replace(certificate, claims=tuple(kept))
        with pytest.raises(VerificationError, match="upper bound"):
            to.verify(forged.sealed())
        assert to.verify(replace(forged, upper=math.inf).sealed()).checks


@pytest.mark.slow
def test_a_claim_beyond_all_losses_is_proved_as_such() -> None:
    certificate = to.certify(to.Laplace(0.5) ** 20, "mu", 1e-10)
    last = max(claim.at for claim in certificate.claims)
    assert 10 < last < 10 + 1e-6
    assert "no finite loss is above 10" in to.verify(certificate).proofs
    # All rounds are at their end with 2^-20 under Q: delta(10 - 1e-3) is 2^-20 1e-3 and more, not 1e-10.
    claims = tuple(
        replace(claim, at=10 - 1e-3) if claim.at == last else claim for claim in certificate.claims
    )
    with pytest.raises(VerificationError, match="delta upper"):
        to.verify(replace(certificate, claims=claims).sealed())


@pytest.mark.parametrize("failure", [1e-3, 1e-5])
def test_what_only_a_lattice_claims_is_wide_enough_for_that_of_the_verifier(failure: float) -> None:
    curve = to.PureDP(0.021) ** 2 @ to.Laplace(0.0076) ** 4
    assert to.verify(to.certify(curve, "mu", failure)).checks


@pytest.mark.parametrize("curve", [to.Laplace(1e100), to.PureDP(1e40)])
def test_ratios_that_no_ball_holds_are_refused_in_a_sentence(curve: to.TradeOff) -> None:
    to.verify(to.certify(curve, "delta", 1.0))
    with pytest.raises(NoClosedForm, match="ask its bounds"):
        to.certify(curve, "epsilon", 1e-9)


def test_what_has_no_certificate_of_mu_says_so() -> None:
    with pytest.raises(DomainError, match="mass at infinity"):
        to.certify(to.approximate_dp(1.0, 1e-3), "mu", 1e-3)
    with pytest.raises(NoClosedForm, match="gdp"):
        to.certify(STEPS.symmetrise(assume="either-order").group(2), "mu", 1e-3)
    with pytest.raises(DomainError, match="value"):
        to.certify(STEPS, "mu", 0.0)
