"""Certificates hold, survive JSON and other processes, and no recorded term can be changed without notice."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tradeoff.certificates import Certificate, Claim
from tradeoff.certificates.conclusion import concluded
from tradeoff.errors import DomainError, KindError, NoClosedForm, PrecisionError, VerificationError
from tradeoff.families.discrete import DiscreteGaussianCurve, DiscreteLaplaceCurve
from tradeoff.families.gaussian_mixtures import GaussianMixtures

GOLDEN = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[1] / "golden" / "deep.json").read_text(encoding="utf-8"))
}


def thinned(p: float, sigma: float) -> to.TradeOff:
    return to.subsample(to.Gaussian(1 / sigma), p)


CURVES: dict[str, to.TradeOff] = {
    "sgm p=.01 s=1 n=1000": thinned(0.01, 1.0) ** 1000,
    "sgm p=1e-4 s=5 n=1e9": thinned(1e-4, 5.0) ** 10**9,
    "laplace .1 n=100": to.Laplace(0.1) ** 100,
    "laplace 1 n=1000": to.Laplace(1.0) ** 1000,
    "pure .1 n=1e4": to.PureDP(0.1) ** 10**4,
    "discrete Gaussian n=50": DiscreteGaussianCurve(4.0, 1) ** 50,
    "discrete Laplace, shifts 3 and 5": DiscreteLaplaceCurve(3.0, 3) ** 25
    @ DiscreteLaplaceCurve(1.7, 5) ** 10,
    "mixture of sgm and Gaussian n=40": to.mixture({thinned(0.1, 1.0): 0.5, to.Gaussian(0.2): 0.5}) ** 40,
    "sgm and approximate DP": thinned(0.02, 2.0) ** 500
    @ to.approximate_dp(0.1, 1e-10) ** 3
    @ to.Gaussian(0.25),
    "sgm p=.3 s=2 n=2": thinned(0.3, 2.0) ** 2,
    "sgm p=.01 s=1 n=1": thinned(0.01, 1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CURVES)
def test_certificates_hold_and_contain_independent_truth(name: str) -> None:
    known = GOLDEN[name]["f"]["delta"]
    # Far out neither lattices nor lines of a size that is waited for decide the claims of few rounds.
    for epsilon, value, error in known[:3] if name.endswith("n=2") else known:
        certificate = to.certify(CURVES[name], "delta", epsilon)
        to.verify(certificate)
        assert certificate.lower <= float(value) * (1 + error + 1e-15)
        assert certificate.upper >= float(value) * (1 - error - 1e-15)
        assert certificate.upper - certificate.lower <= 2e-4 * certificate.upper


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["sgm p=.01 s=1 n=1000", "laplace .1 n=100", "discrete Gaussian n=50", "sgm p=.3 s=2 n=2"]
)
@pytest.mark.parametrize("alpha", [1e-6, 0.3, 0.99])
def test_beta_is_certified_within_the_bounds_of_the_curve(name: str, alpha: float) -> None:
    certificate = to.certify(CURVES[name], "beta", alpha)
    to.verify(certificate)
    lower, upper = CURVES[name].bounds(alpha)
    assert certificate.lower <= upper
    assert lower <= certificate.upper
    assert certificate.upper - certificate.lower <= 1e-3 * min(
        certificate.upper, 1 - alpha - certificate.lower
    )


THOUSAND, ONE_STEP = thinned(0.01, 1.0) ** 1000, thinned(0.01, 1.0)
TWO_KINDS = thinned(0.02, 0.8) ** 200 @ to.Laplace(0.05) ** 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "question", "value"),
    [
        (THOUSAND, "delta", 0.7),
        (THOUSAND, "delta", -0.3),
        (THOUSAND, "epsilon", 1e-4),
        (THOUSAND, "beta", 1e-3),
        (THOUSAND, "beta", 0.6),
        (ONE_STEP, "epsilon", 1e-4),
        (ONE_STEP, "beta", 0.2),
        (TWO_KINDS, "beta", 0.2),
        (to.subsample(to.TotalVariation(0.1), 0.5), "beta", 0.1),
    ],
)
def test_the_worse_of_both_orders_is_certified(f: to.TradeOff, question: Any, value: float) -> None:
    curve = f.symmetrise(assume="either-order")
    certificate = to.certify(curve, question, value)
    to.verify(Certificate.from_json(certificate.to_json()))
    asked = curve.bounds if question == "beta" else getattr(curve.bounds, question)
    lower, upper = asked(value)
    assert certificate.lower <= upper
    assert lower <= certificate.upper
    assert certificate.upper - certificate.lower <= 1e-4
    # Neither order alone says as much.
    with pytest.raises(VerificationError, match=r"bound"):
        to.verify(replace(certificate, parts=certificate.parts[:1]).sealed())


@pytest.mark.parametrize(
    ("f", "at"),
    [
        (to.Gaussian(1.0), 1e300),
        (to.Gaussian(1e8), 1e17),
        (to.subsample(to.TotalVariation(0.1), 0.5), 1e31),
        (GaussianMixtures({0: 1}, {0: 0.25, 0.6: 0.75}, 0.3), 1e300),
    ],
)
def test_losses_beyond_all_floats_are_verified(f: to.TradeOff, at: float) -> None:
    certificate = to.certify(f, "delta", at)
    to.verify(certificate)
    assert certificate.lower <= f.q_plus <= certificate.upper


@pytest.mark.parametrize(
    ("f", "question", "value"),
    [
        (to.subsample(to.Gaussian(1e8), 0.305, scheme="without-replacement"), "epsilon", 0.00236),
        (to.subsample(to.Gaussian(1e6), 0.1), "delta", 5.000003e11),
        # delta is the rate to all digits, which no ball proves
        (to.subsample(GaussianMixtures({0.3: 1}, {-0.3: 0.25, 0: 0.75}, 0.001), 1e-9), "delta", 0.2),
    ],
)
def test_pairs_hardly_any_float_tells_apart_are_verified(f: to.TradeOff, question: Any, value: float) -> None:
    to.verify(to.certify(f, question, value))


def test_laws_whose_masses_are_written_rounded_are_summed_as_they_are_written() -> None:
    # The curve knows its corners exactly, and so closer than the masses a verifier reads.
    f = to.subsample(to.PureDP(0.077328) @ to.TotalVariation(0.44949334366996463), 0.00049926114734346)
    for curve, method in ((f, "parts"), (f**2, "exact")):
        certificate = to.certify(curve, "beta", 0.9443059732697008)
        assert certificate.method == method
        to.verify(certificate)
    # one round of noise on all integers is listed, but for tails
    h = to.mixture({to.PureDP(1.0): 1e-6, DiscreteGaussianCurve(1.0, 1): 1 - 1e-6}) @ to.PureDP(1.0)
    to.verify(to.certify(h, "delta", -3.743325714109676))
    # beside noise on all integers nothing can be summed
    g = to.mixture({DiscreteGaussianCurve(0.55, 2): 0.25, to.Identity(): 0.75})
    to.verify(to.certify(g, "epsilon", 1e-4))


def test_what_delta_lacks_of_one_is_proved_where_it_is_faint() -> None:
    # The masses of an atom add up to 1 but for a rounding: 1 - delta is a sum that needs no such 1.
    f = (to.PureDP(0.5068786468945591) @ to.TotalVariation(5.9595887830375786e-08)) ** 10000
    certificate = to.certify(f @ to.TotalVariation(0.0035483725227764924) ** 4, "delta", 2.835024600790213)
    assert [claim.quantity for claim in certificate.claims] == ["1 - delta"]
    to.verify(certificate)


@pytest.mark.slow
def test_a_claim_of_one_side_is_proved_however_near_the_truth_it_is() -> None:
    certificate = to.certify(to.Gaussian(5.0) @ to.PureDP(1.0), "epsilon", 1.4296886250768923e-231)
    assert [claim.lower for claim in certificate.claims] == [0.0]
    to.verify(certificate)


@pytest.mark.parametrize("delta", [0.4, 1e-5, 1e-100])
def test_epsilon_is_enclosed_by_two_claims(delta: float) -> None:
    certificate = to.certify(CURVES["sgm p=.01 s=1 n=1000"], "epsilon", delta)
    to.verify(certificate)
    assert {claim.at for claim in certificate.claims} == {certificate.lower, certificate.upper}
    assert certificate.upper - certificate.lower <= 1e-8


@pytest.mark.slow
@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    p=st.floats(1e-4, 0.9),
    sigma=st.floats(0.4, 20.0),
    n=st.integers(1000, 10**7),
    log_delta=st.floats(-100.0, -1.0),
)
def test_every_thinned_gaussian_verifies(p: float, sigma: float, n: int, log_delta: float) -> None:
    try:
        certificate = to.certify(thinned(p, sigma) ** n, "epsilon", math.exp(log_delta), method="contour")
    except PrecisionError:
        return
    assert certificate.lower <= certificate.upper
    if certificate.upper - certificate.lower <= 1e-8:  # those with an added Gaussian have tests of their own
        to.verify(certificate)


@pytest.mark.parametrize(
    "method", ["closed-form", "exact", pytest.param("contour", marks=pytest.mark.slow), "lattice"]
)
def test_methods_agree(method: str) -> None:
    curve = (
        to.Gaussian(0.8)
        if method == "closed-form"
        else to.PureDP(0.3) ** 3 @ (to.PureDP(0.5) if method == "exact" else to.Laplace(0.5) ** 2)
    )
    certificate = to.certify(curve, "delta", 0.5, method=method, tol=0.1)
    assert certificate.method == method
    to.verify(certificate)
    lower, upper = curve.bounds.delta(0.5)
    assert max(lower, certificate.lower) <= min(upper, certificate.upper)


def test_epsilon_is_at_most_the_largest_loss_where_no_line_reaches() -> None:
    curve = to.PureDP(0.3) ** 5 @ to.Laplace(0.2)
    certificate = to.certify(curve, "epsilon", 1e-300)
    assert to.verify(certificate)
    assert certificate.lower <= 1.7 <= certificate.upper <= 1.7 + 1e-6


@pytest.mark.parametrize("text", ["null", "3", '"x"', "[1]", "NaN"])
def test_what_is_no_object_is_no_certificate(text: str) -> None:
    with pytest.raises(DomainError, match="is no JSON object"):
        Certificate.from_json(text)


@pytest.mark.slow
def test_a_certificate_survives_json_and_verifies_in_another_process(tmp_path: Path) -> None:
    certificate = to.certify(CURVES["sgm p=.3 s=2 n=2"], "epsilon", 1e-5)
    assert Certificate.from_json(certificate.to_json()) == certificate
    path = tmp_path / "certificate.json"
    path.write_text(certificate.to_json(), encoding="utf-8")
    code = "import sys, pathlib, tradeoff as to; from tradeoff.certificates import Certificate as C; "
    code += "print(len(to.verify(C.from_json(pathlib.Path(sys.argv[1]).read_text())).checks))"
    found = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert int(found.stdout) == len(to.verify(certificate).checks)


@pytest.mark.slow
def test_tables_say_what_is_claimed_how_it_was_proved_and_what_is_trusted() -> None:
    certificate = to.certify(CURVES["sgm p=.01 s=1 n=1000"], "epsilon", 1e-5)
    for word in ("curve", "bounds", "method", "factor", "claim", "delta of f"):
        assert word in repr(certificate)
    for word in ("recomputed", "proof: contour at c", "nodes", "trusted", "Arb"):
        assert word in repr(to.verify(certificate))


@pytest.mark.parametrize(
    "name",
    ["sgm p=.01 s=1 n=1000", "laplace .1 n=100", pytest.param("sgm p=.3 s=2 n=2", marks=pytest.mark.slow)],
)
def test_what_is_proved_is_narrower_than_what_is_claimed(name: str) -> None:
    """A claim holds the balls found, which hold the truth."""
    certificate = to.certify(CURVES[name], "delta", 0.5)
    low, high = to.verify(certificate).checks[:2]
    assert low.recorded <= low.recomputed <= high.recomputed <= high.recorded
    assert high.recomputed - low.recomputed <= high.recorded - low.recorded


# Tampering.

LINE = to.certify(CURVES["sgm p=.01 s=1 n=1000"], "delta", 1.0)
BLURRED = to.certify(CURVES["laplace .1 n=100"], "delta", 3.1, method="contour")
MIDDLE = to.certify(CURVES["sgm p=.01 s=1 n=1000"], "delta", -0.05)
EPSILON = to.certify(CURVES["sgm p=.01 s=1 n=1000"], "epsilon", 1e-5)
BETA = to.certify(CURVES["sgm p=.01 s=1 n=1000"], "beta", 0.01)
EXACT = to.certify(to.PureDP(0.1) ** 100, "beta", 0.1)
FORMULA = to.certify(thinned(0.01, 1.0), "beta", 0.1)
LATTICE = to.certify(CURVES["sgm p=.3 s=2 n=2"], "delta", 0.3, method="lattice")
ALL = [LINE, BLURRED, MIDDLE, EPSILON, BETA, EXACT, FORMULA, LATTICE]

Change = Callable[[Any], Any]


def on_claim(certificate: Certificate, **changes: Change) -> Certificate:
    """Return a certificate with its first claim changed, and the bounds that follow where any do."""
    one, c = certificate.claims[0], certificate
    claims = (replace(one, **{k: f(getattr(one, k)) for k, f in changes.items()}), *c.claims[1:])
    good = claims[0].lower <= claims[0].upper
    lower, upper = concluded(c.question, c.value, claims) if good else (c.lower, c.upper)
    return replace(c, claims=claims, lower=lower, upper=upper)


def refused(certificate: Certificate) -> str:
    """Return the term that is named, which the digest is not: whoever changes a number renews it."""
    with pytest.raises(VerificationError) as caught:
        to.verify(certificate.sealed())
    assert caught.value.term in str(caught.value)
    return caught.value.term


@pytest.mark.parametrize("certificate", ALL, ids=lambda c: f"{c.method} {c.question}")
def test_no_bound_can_be_moved(certificate: Certificate) -> None:
    width = certificate.upper - certificate.lower
    for share in (0.5, -0.5):
        assert refused(replace(certificate, lower=certificate.lower + share * width)) == "lower bound"
        assert refused(replace(certificate, upper=certificate.upper - share * width)) == "upper bound"
    claim = certificate.claims[0]
    gap = claim.upper - claim.lower
    named = {"claim", f"{claim.quantity} lower", f"{claim.quantity} upper"}
    assert refused(on_claim(certificate, lower=lambda low: low + 1.01 * gap)) in named
    assert refused(on_claim(certificate, upper=lambda high: high - 1.01 * gap)) in named
    refused(replace(certificate, claims=()))


@pytest.mark.parametrize("certificate", ALL, ids=lambda c: f"{c.method} {c.question}")
def test_no_number_is_changed_unseen(certificate: Certificate) -> None:
    """What is still true, and proved, is not what was issued."""

    def changed(content: Any) -> Any:
        """Yield copies with one number of a JSON value changed in its last places."""
        for key, value in list(content.items() if isinstance(content, dict) else enumerate(content)):
            inner = [math.nextafter(value, 9.0)] if type(value) is float else []
            inner = [value + 1] if type(value) is int else inner
            inner = [not value] if type(value) is bool else inner
            for each in changed(value) if isinstance(value, dict | list) else inner:
                copy = content.copy()
                copy[key] = each
                yield copy

    content = json.loads(certificate.to_json())
    content.pop("format")
    copies = [json.dumps({"format": 4, **copy}) for copy in changed(content)]
    assert len(copies) >= 6
    for text in copies:
        other = Certificate.from_json(text)
        assert other.digest != other.sealed().digest
    with pytest.raises(VerificationError):
        to.verify(Certificate.from_json(copies[-1]))


@pytest.mark.parametrize("certificate", ALL, ids=lambda c: f"{c.method} {c.question}")
def test_another_question_or_law_is_refused(certificate: Certificate) -> None:
    refused(replace(certificate, value=certificate.value + 0.01))
    (factor,) = certificate.factors
    refused(replace(certificate, factors=({**factor, "count": factor["count"] + 1},)))
    assert refused(replace(certificate, factors=({**factor, "count": -1},))) == "count"
    assert refused(replace(certificate, factors=({**factor, "law": {"kind": "unheard of"}},))) == "law"
    assert refused(replace(certificate, method="faith")) == "method"
    refused(on_claim(certificate, quantity=lambda _: "beta" if certificate.question != "beta" else "mu"))


def test_the_digest_is_of_the_content() -> None:
    with pytest.raises(VerificationError, match="digest"):
        to.verify(replace(LINE, curve="another name"))
    assert to.verify(replace(LINE, curve="another name").sealed()).checks


def test_earlier_formats_are_refused_in_a_sentence() -> None:
    for text in ('{"claims": []}', '{"format": 1}', '{"format": 2}', '{"format": 3}'):
        with pytest.raises(DomainError, match="certify again"):
            Certificate.from_json(text)


def test_weights_and_means_of_mixtures_are_checked() -> None:
    certificate = to.certify(GaussianMixtures({0: 1}, {0: 0.9, 1: 0.07, 2: 0.03}, 0.02), "delta", 1.0)
    to.verify(certificate)
    (factor,) = certificate.factors
    turned = {"p": ["0", "1", "0"], "q": ["1/2", "0", "1/2"]}
    for term, wrong in (("q", {"q": ["1/2"] * 3}), ("means", {"means": ["0", "9", "8"]}), ("means", turned)):
        law = {**factor["law"], **wrong}
        assert refused(replace(certificate, factors=({**factor, "law": law},))) == term


def test_what_understates_delta_is_refused() -> None:
    """Whoever claims that two rounds leak only where both do: of 0.19 the hundredth part."""
    law = {"kind": "gaussian mixtures", "means": ["0", "20"], "p": ["1", "0"], "q": ["9/10", "1/10"]}
    for low, high, holds in ((0.0099, 0.0101, False), (0.1899, 0.1901, True)):
        claim = Claim("delta", False, 1.0, low, high)
        made = Certificate(
            "", "delta", 1.0, low, high, "lattice", ({"law": law, "count": 2},), (claim,)
        ).sealed()
        if holds:
            assert to.verify(made).checks
        else:
            assert refused(made) == "delta upper"


def test_what_is_no_question() -> None:
    curve = to.Gaussian(1.0)
    for question, value in (
        ("mu", 1.0),
        ("delta", math.inf),
        ("delta", math.nan),
        ("beta", 0.0),
        ("epsilon", 1.0),
        ("beta", "x"),
    ):
        with pytest.raises(DomainError):
            to.certify(curve, question, value)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(DomainError):
        to.certify(to.TotalVariation(0.1), "epsilon", 0.05)
    with pytest.raises(KindError):
        to.certify(3, "delta", 1.0)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(NoClosedForm):
        to.certify(thinned(0.1, 1.0) ** 3, "delta", 1.0, method="closed-form")
    with pytest.raises(DomainError):
        Certificate.from_json("{}")
    with pytest.raises(DomainError):
        to.verify(np.zeros(3))  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(PrecisionError):
        to.certify(CURVES["sgm p=.01 s=1 n=1000"], "delta", 1.0, tol=1e-30, method="contour")


def test_factors_of_every_kind_together() -> None:
    curve = to.Laplace(0.1) ** 50 @ thinned(0.01, 1.0) ** 200 @ to.Gaussian(0.1) ** 10 @ to.PureDP(0.3) ** 5
    certificate = to.certify(curve, "epsilon", 1e-5)
    to.verify(certificate)
    assert certificate.upper - certificate.lower <= 1e-8
    assert len({factor["law"]["kind"] for factor in certificate.factors}) == len(certificate.factors)


@pytest.mark.parametrize("method", ["exact", "contour"])
def test_losses_written_out_must_balance(method: str) -> None:
    """Differences of logarithms of masses are not known to units of themselves."""
    low = 0.5 - 1e-8
    certificate = to.certify(
        to.PiecewiseLinear([0.0, 0.5, 1.0], [1.0, low, 0.0]) ** 30, "delta", 0.0, method=method
    )
    to.verify(certificate)
    assert certificate.factors[0]["law"] == {
        "kind": "masses",
        "p": ["1/2"] * 2,
        "q": [str(1 - Fraction(low)), str(Fraction(low))],
    }
    rough = [math.log(low) - math.log(0.5), math.log(1 - low) - math.log(0.5)]
    written = {"kind": "atoms", "loss": rough, "log_p": [math.log(0.5)] * 2, "p_minus": 0.0, "q_plus": 0.0}
    assert refused(replace(certificate, factors=({"law": written, "count": 30},))) == "loss"


def test_losses_that_agree_are_joined_at_their_own_distance() -> None:
    """Losses of 1e-300 and -1e-300 are as good as one."""
    certificate = to.certify(to.PureDP(1e-300) @ to.TotalVariation(1.2914347615284268e-05), "beta", 1e-3)
    to.verify(certificate)
    assert certificate.upper - certificate.lower < 1e-12


@pytest.mark.parametrize("masses", [["1/2", "1/3"], ["3/2", "-1/2"]])
@pytest.mark.parametrize("side", ["p", "q"])
def test_masses_that_are_no_law(masses: list[str], side: str) -> None:
    certificate = to.certify(to.PiecewiseLinear([0, Fraction(1, 2), 1], [1, Fraction(1, 3), 0]), "delta", 0.1)
    (factor,) = certificate.factors
    assert refused(replace(certificate, factors=({**factor, "law": factor["law"] | {side: masses}},))) == side


DELICATE: dict[str, tuple[to.TradeOff, str, float]] = {
    "steep atoms": (DiscreteGaussianCurve(0.3096940755443474, 3), "beta", 2.98e-5),
    "atoms far apart": (DiscreteGaussianCurve(0.357, 3), "beta", 0.3),
    "masses written out": (DiscreteLaplaceCurve(0.38134, 5), "beta", 5.7e-4),
    "far beyond the bulk": (~DiscreteGaussianCurve(37.0, 1), "delta", 0.82538183822943),
    "hardly any mass on the last edge": (
        to.PiecewiseLinear([0, 0.3, 0.9, 1], [0.8, 0.2, 1e-18, 0]),
        "beta",
        0.95,
    ),
    "beyond the zero": (to.TotalVariation(2.017004938397666e-06), "beta", 0.9999999957661393),
    "a beta of 1e-84": (to.Gaussian(20.0), "beta", 0.3),
    "many rounds": (to.PureDP(0.1) ** 10**4, "beta", 1e-6),
    "the largest mu": (~to.Gaussian(1e100), "epsilon", 6.6e-4),
    "hardly any loss": (to.Gaussian(1e-300) ** 181 @ to.PureDP(1.0), "delta", 0.3),
    "losses beyond all numbers": (to.PureDP(1e8) ** 3 @ to.PureDP(1), "delta", 0.1),
    "masses that miss 1 by a unit, in 325 rounds": (
        to.subsample(to.PureDP(0.0022165378) @ to.TotalVariation(0.0133859387), 0.00038126380338) ** 325,
        "beta",
        5.321082132506698e-13,
    ),
    "masses that miss 1 by a unit, where beta is 1e-8": (
        to.subsample(to.PureDP(0.0015288) @ to.TotalVariation(5.1e-7), 3.4967e-5),
        "beta",
        0.9999999897826574,
    ),
    "a level at a corner": (to.PiecewiseLinear([0, 0.1, 0.5, 1], [1, 0.8, 0.2, 0]), "beta", 0.5),
    "a mixture with such losses": (to.mixture({to.PureDP(1e100): 0.5, to.Gaussian(1): 0.5}), "beta", 0.1),
}


@pytest.mark.parametrize("name", DELICATE)
def test_what_is_right_verifies_however_delicate(name: str) -> None:
    curve, question, at = DELICATE[name]
    certificate = to.certify(curve, question, at)  # type: ignore[arg-type]  # one of three
    to.verify(certificate)
    if certificate.upper - certificate.lower < 1e-2 * certificate.upper and certificate.upper > 1e-300:
        gap = 1e-3 * certificate.upper
        assert refused(replace(certificate, upper=certificate.lower - gap)) == "upper bound"
        if certificate.claims:
            refused(on_claim(certificate, upper=lambda high: high - gap, lower=lambda low: low - gap))


def test_no_contour_is_certified_over_losses_that_balls_do_not_hold() -> None:
    curve = to.PureDP(1e100) @ to.Laplace(1e-16) ** 325
    with pytest.raises(NoClosedForm, match="ask its bounds instead"):
        to.certify(curve, "delta", -40.0)


MANY = to.Laplace(0.00574) ** 2**60


@pytest.mark.parametrize(
    ("f", "question", "value"),
    [
        (MANY, "epsilon", 4e-4),  # the saddle point is next to 1
        (MANY, "delta", 2e13),
        (MANY @ to.TotalVariation(3e-8), "delta", 1e13),  # what is lost is all that is claimed
        pytest.param(
            MANY @ to.TotalVariation(3e-8) @ to.Gaussian(50.0), "delta", 1e16, marks=pytest.mark.slow
        ),  # Chernoff's bound is enough
        pytest.param(thinned(1.4e-4, 0.54) ** 2**60, "delta", 1e7, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_more_rounds_than_a_float_counts_are_verified(f: to.TradeOff, question: Any, value: float) -> None:
    made = to.certify(f, question, value, method="contour")
    assert made.claims
    to.verify(made)
    claim = made.claims[0]
    moved = replace(claim, upper=math.nextafter(claim.lower, 1))
    with pytest.raises(VerificationError):
        to.verify(replace(made, claims=(moved, *made.claims[1:])))


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.glob("*.json")), ids=lambda path: path.stem)
def test_certificates_of_other_platforms_verify(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    certificate = Certificate.from_json(text)
    to.verify(certificate)
    assert json.loads(certificate.to_json()) == json.loads(text)


@pytest.mark.slow
def test_a_file_is_verified_by_a_process_that_loads_nothing_that_answers(tmp_path: Path) -> None:
    rooms = ("composition", "curves", "families", "intervals", "loss", "operators")
    path = tmp_path / "certificate.json"
    code = "import sys; from tradeoff.certificates.verify.__main__ import main; code = main(sys.argv[1:]); "
    code += f"print([name for name in {rooms!r} if f'tradeoff.{{name}}' in sys.modules], code)"
    for made, said in ((LINE, "[] 0"), (replace(LINE, upper=0.0), "[] 1")):
        path.write_text(made.to_json(), encoding="utf-8")
        run = [sys.executable, "-c", code, str(path)]
        found = subprocess.run(run, capture_output=True, text=True, check=True)
        assert found.stdout.strip().endswith(said)
        assert ("refused" in found.stderr) == said.endswith("1")


@pytest.mark.parametrize("value", [10**400, -(10**400), None, "x", {}, [1], math.nan, 1j, b"1"])
@pytest.mark.parametrize("question", ["delta", "epsilon", "beta"])
def test_what_is_no_number_is_one_sentence(question: Any, value: Any) -> None:
    with pytest.raises(DomainError, match=r"^value must be in \("):
        to.certify(to.Gaussian(1), question, value)
    with pytest.raises(DomainError, match=r"^tol must be in \(0, inf\), got .*"):
        to.certify(to.Gaussian(1), question, 0.1, tol=math.nan if value is None else value)
    with pytest.raises(DomainError, match="is not a certificate"):
        to.verify(value)


def test_the_verifier_alone_reads_lists_of_certificates(tmp_path):
    made = [to.certify(to.Gaussian(1), "delta", x) for x in (0.5, 1.0)]
    (path := tmp_path / "both.json").write_text(
        f"[{made[0].to_json()}, {made[1].to_json()}]", encoding="utf-8"
    )
    command = [sys.executable, "-m", "tradeoff.certificates.verify", str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    path.write_text("[]", encoding="utf-8")
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1
