"""Certificates that rest on the central limit theorem: moments in balls, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
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


@pytest.mark.slow
@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize(
    ("method", "source", "question", "value"),
    [("berry-esseen", "Shevtsova", *asked) for asked in [("delta", 0.1), ("epsilon", 0.3), ("beta", 0.2)]],
)
def test_a_band_is_certified_and_holds_the_curve(
    name: str, method: str, source: str, question: Any, value: float
) -> None:
    curve = CURVES[name]
    certificate = to.certify(curve, question, value, method=method)
    report = to.verify(Certificate.from_json(certificate.to_json()))
    assert any(source in trusted for trusted in report.trusted)
    low, high = curve.bounds(value) if question == "beta" else getattr(curve.bounds, question)(value)
    assert certificate.lower <= high
    assert low <= certificate.upper


def thinned(side: int) -> list[Any]:
    """Return mean, absolute central moments and the third one of L of a thinned Gaussian by quadrature."""
    r, mu = MP.mpf(0.125), MP.mpf(0.75)

    def loss(x: Any) -> Any:
        return MP.log(1 - r + r * MP.exp(mu * x - mu * mu / 2))

    def expected(value: Callable[[Any], Any], *at: Any) -> Any:
        def density(x: Any) -> Any:
            return MP.npdf(x) * (MP.exp(loss(x)) if side else 1) * value(loss(x))

        return MP.quad(density, [-14, -7, *at, 8, 16])

    mean = expected(lambda x: x, 0)
    corner = (MP.log((MP.exp(mean) - 1 + r) / r) + mu * mu / 2) / mu
    sizes = [expected(lambda x, k=k: abs(x - mean) ** k, corner) for k in (2, 3, 4)]  # type: ignore[misc]  # a default of a lambda has no type
    return [mean, *sizes, expected(lambda x: (x - mean) ** 3, corner)]


@pytest.mark.parametrize("side", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_moments_hold_those_of_50_digits(side: int) -> None:
    mean, variance, third, fourth, cube = thinned(side)
    law = {"kind": "thinned", "p": 0.125, "base": {"kind": "gaussian", "mu": 0.75}}
    with ctx.workprec(128):
        both = Normal([{"law": law, "count": 10**6}], expanded=True)
    found = (both.p, both.q)[side]
    assert found.expansion is not None
    moments, mild = found.expansion, variance**1.5
    rho, root = third / variance**1.5, MP.sqrt(10**6)
    gamma = min(
        MP.mpf(a) * (rho + MP.mpf(b)) / root
        for a, b in (("0.56", "0"), ("0.469", "0"), ("0.3322", "0.429"), ("0.3031", "0.646"))
    )
    for ball, truth in (
        (found.mean, 10**6 * mean),
        (found.sd**2, 10**6 * variance),
        (found.gamma, gamma),
        (moments.skewness, cube / mild / root),
        (moments.fourth, fourth / variance**2 / 10**6),
        (moments.squares, MP.mpf("1e-6")),
        (moments.largest, MP.mpf("1e-6")),
        (moments.rugged, (third + mild) / mild / root),
    ):
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
            # of thresholds that are equally good to a float one is taken
            assert abs(found - (1 + 7 * inner) / 8) < 1e-15


@pytest.mark.slow
@pytest.mark.parametrize(("q", "n"), [("1/2", 10), ("1/2", 300), ("1/10", 40), ("1/10", 500)])
@pytest.mark.parametrize("others", [0, 3])
def test_expansions_hold_binomial_sums(q: str, n: int, others: int) -> None:
    """P and Q give two atoms masses 1 - q and q, and Q the same as P in the other order: L is two-valued.

    Beside a Gaussian the sum's law is a mixture of normal ones.
    """
    mass = MP.mpf(Fraction(q).numerator) / Fraction(q).denominator
    law = {"kind": "masses", "p": [str(1 - Fraction(q)), q], "q": ["1/3", "2/3"]}
    factors = [{"law": law, "count": n}]
    mu = MP.mpf(others) * MP.sqrt(n) / 8
    if others:
        factors.append({"law": {"kind": "gaussian", "mu": float(mu)}, "count": 1})
        mu = MP.mpf(float(mu))
    with ctx.workprec(128):
        found = Normal(factors, expanded=True).p
        low, high = MP.log(MP.mpf(1) / 3 / (1 - mass)), MP.log(MP.mpf(2) / 3 / mass)
        ways = [MP.binomial(n, k) * mass**k * (1 - mass) ** (n - k) for k in range(n + 1)]
        mean, sd = (
            n * (low + mass * (high - low)) - mu**2 / 2,
            MP.sqrt(n * mass * (1 - mass) * (high - low) ** 2 + mu**2),
        )
        for x in (-6, -3, -1.5, -0.3, 0, 0.4, 1, 2.5, 4, 9):
            t = arb(float(mean + x * sd))
            at = MP.mpf(float(t))

            def over(k: int, at: Any = at) -> Any:
                rest = at - (n - k) * low - k * high + mu**2 / 2
                return MP.ncdf(-rest / mu) if others else MP.mpf(int(rest < 0))

            truth = MP.fsum(way * over(k) for k, way in enumerate(ways))
            least, most = found.over(t)
            assert float(least) <= truth + MP.mpf("1e-15")
            assert truth <= float(most) + MP.mpf("1e-15")


BANDS = {"berry-esseen": to.certify(CURVES["atoms"], "delta", 0.1, method="berry-esseen")}


def refused(certificate: Certificate) -> str:
    with pytest.raises(VerificationError) as caught:
        to.verify(certificate.sealed())
    return caught.value.term


@pytest.mark.slow
@pytest.mark.parametrize("method", BANDS)
def test_what_is_changed_is_refused(method: str) -> None:
    band = BANDS[method]
    (claim,), (factor,) = band.claims, band.factors
    inside = 0.01 * (claim.upper - claim.lower)
    for moved, term in (
        (replace(claim, lower=claim.lower + inside), "delta lower"),
        (replace(claim, upper=claim.upper - inside), "delta upper"),
    ):
        assert refused(replace(band, claims=(moved,), lower=moved.lower, upper=moved.upper)) == term
    assert refused(replace(band, factors=({**factor, "count": 9000},))) != "digest"
    assert (
        refused(replace(band, factors=({**factor, "law": {"kind": "response", "epsilon": 0.011}},)))
        != "digest"
    )
    for density, power in (("gumbel", None), ("gennorm", 3.0)):
        law = {"kind": "shift", "density": density, "theta": "1/2"} | ({"power": power} if power else {})
        assert refused(replace(band, factors=({"law": law, "count": 10},))) == "laws"
    # a constant loss has no central limit
    law = {"kind": "masses", "p": ["1/2", "1/2", "0"], "q": ["0", "1/2", "1/2"]}
    assert refused(replace(band, factors=({"law": law, "count": 10},))) == "factors"


def test_what_has_no_proved_moments_is_not_certified_so() -> None:
    with pytest.raises(NoClosedForm, match="leave method out"):
        to.certify(to.LocationShift(st.gumbel_r(), 0.1) ** 100, "delta", 0.1, method="berry-esseen")


@pytest.mark.parametrize("method", ["berry-esseen"])
def test_bands_of_what_is_normal_are_certified(method: Any) -> None:
    """Their width is nothing, and thresholds that prove them are found to 1e-12."""
    for question, value in (("beta", 0.2), ("delta", 0.5), ("epsilon", 1e-3)):
        to.verify(to.certify(to.Gaussian(1), question, value, method=method))
