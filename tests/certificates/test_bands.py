"""Certificates that rest on Berry and Esseen's theorem: moments in balls, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mpmath
import pytest
import scipy.stats as st
from flint import arb, ctx

import tradeoff as to
from tradeoff.certificates import Certificate
from tradeoff.certificates.verify.normal import Normal
from tradeoff.errors import NoClosedForm, VerificationError
from tradeoff.families.discrete import DiscreteGaussianCurve

MP = mpmath.MPContext()
MP.dps = 50

CURVES: dict[str, to.TradeOff] = {
    "atoms": to.PureDP(0.01) ** 10_000,
    "an overlap": to.Laplace(0.1) ** 400,
    "normal mixtures, one order": to.subsample(to.Gaussian(1.0), 0.01) ** 10_000,
    "shifted noise": to.LocationShift(st.logistic(), 0.05) ** 1000,
    "a mixture with shifts": to.mixture({to.LocationShift(st.hypsecant(), 0.5): 0.1, to.Gaussian(0.1): 0.9})
    ** 1000,
    "integers": DiscreteGaussianCurve(4.0, 1) ** 20 @ to.Gaussian(0.3),
    "atoms at infinity": to.approximate_dp(0.1, 1e-6) ** 300,
}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize(
    ("question", "value"), [("delta", 0.1), ("delta", -0.5), ("epsilon", 0.3), ("beta", 0.2)]
)
def test_a_band_is_certified_and_holds_the_curve(name: str, question: Any, value: float) -> None:
    curve = CURVES[name]
    certificate = to.certify(curve, question, value, method="berry-esseen")
    report = to.verify(Certificate.from_json(certificate.to_json()))
    assert any("Shevtsova" in trusted for trusted in report.trusted)
    low, high = curve.bounds(value) if question == "beta" else getattr(curve.bounds, question)(value)
    assert certificate.lower <= high
    assert low <= certificate.upper


def thinned(side: int) -> list[Any]:
    """Return mean, variance and third absolute central moment of L of a thinned Gaussian by quadrature."""
    r, mu = MP.mpf(0.125), MP.mpf(0.75)

    def loss(x: Any) -> Any:
        return MP.log(1 - r + r * MP.exp(mu * x - mu * mu / 2))

    def expected(value: Callable[[Any], Any], *at: Any) -> Any:
        def density(x: Any) -> Any:
            return MP.npdf(x) * (MP.exp(loss(x)) if side else 1) * value(loss(x))

        return MP.quad(density, [-14, -7, *at, 8, 16])

    mean = expected(lambda x: x, 0)
    corner = (MP.log((MP.exp(mean) - 1 + r) / r) + mu * mu / 2) / mu
    return [mean, *(expected(lambda x, k=k: abs(x - mean) ** k, corner) for k in (2, 3))]  # type: ignore[misc]  # a default of a lambda has no type


@pytest.mark.parametrize("side", [0, 1])
def test_moments_hold_those_of_50_digits(side: int) -> None:
    mean, variance, third = thinned(side)
    law = {"kind": "thinned", "p": 0.125, "base": {"kind": "gaussian", "mu": 0.75}}
    with ctx.workprec(128):
        found = Normal([{"law": law, "count": 10**6}])
    found = (found.p, found.q)[side]
    rho, root = third / variance**1.5, MP.sqrt(10**6)
    gamma = min(
        MP.mpf(a) * (rho + MP.mpf(b)) / root
        for a, b in (("0.56", "0"), ("0.469", "0"), ("0.3322", "0.429"), ("0.3031", "0.646"))
    )
    for ball, truth in ((found.mean, 10**6 * mean), (found.sd**2, 10**6 * variance), (found.gamma, gamma)):
        assert ball.overlaps(arb(MP.nstr(truth, 30)) + arb(0, 1e-13))
        assert float(ball.rad()) < 1e-12 * float(abs(ball))


def test_a_constant_loss_is_no_summand() -> None:
    """Masses at infinity of another factor leave identical rounds identical."""
    round_ = {"law": {"kind": "response", "epsilon": 0.1}, "count": 100}
    lost = {"law": {"kind": "masses", "p": ["1/8", "7/8", "0"], "q": ["0", "7/8", "1/8"]}, "count": 1}
    with ctx.workprec(128):
        alone, both = Normal([round_]), Normal([round_, lost])
    assert both.p.gamma.overlaps(alone.p.gamma)
    assert both.p.kept.overlaps(arb(7) / 8)
    for x in (-0.5, 0.3):
        for found, inner in zip(both.delta(x), alone.delta(x), strict=True):
            assert found.overlaps((1 + 7 * inner) / 8)


BAND = to.certify(CURVES["atoms"], "delta", 0.1, method="berry-esseen")


def refused(certificate: Certificate) -> str:
    with pytest.raises(VerificationError) as caught:
        to.verify(certificate.sealed())
    return caught.value.term


def test_what_is_changed_is_refused() -> None:
    (claim,), (factor,) = BAND.claims, BAND.factors
    inside = 0.01 * (claim.upper - claim.lower)
    for moved, term in (
        (replace(claim, lower=claim.lower + inside), "delta lower"),
        (replace(claim, upper=claim.upper - inside), "delta upper"),
    ):
        assert refused(replace(BAND, claims=(moved,), lower=moved.lower, upper=moved.upper)) == term
    assert refused(replace(BAND, factors=({**factor, "count": 9000},))) != "digest"
    assert (
        refused(replace(BAND, factors=({**factor, "law": {"kind": "response", "epsilon": 0.011}},)))
        != "digest"
    )
    for density, power in (("gumbel", None), ("gennorm", 3.0)):
        law = {"kind": "shift", "density": density, "theta": "1/2", "power": power}
        assert refused(replace(BAND, factors=({"law": law, "count": 10},))) == "laws"
    # a constant loss has no central limit
    law = {"kind": "masses", "p": ["1/2", "1/2", "0"], "q": ["0", "1/2", "1/2"]}
    assert refused(replace(BAND, factors=({"law": law, "count": 10},))) == "factors"


def test_what_has_no_proved_moments_is_not_certified_so() -> None:
    with pytest.raises(NoClosedForm, match="leave method out"):
        to.certify(to.LocationShift(st.gumbel_r(), 0.1) ** 100, "delta", 0.1, method="berry-esseen")
