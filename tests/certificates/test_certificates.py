"""Certificates hold, survive JSON and other processes, and no recorded term can be changed without notice."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tradeoff.certificates import Certificate
from tradeoff.certificates.evidence import packed, unpacked
from tradeoff.errors import DomainError, KindError, NoClosedForm, PrecisionError, VerificationError
from tradeoff.families.discrete import DiscreteGaussianCurve, DiscreteLaplaceCurve

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


@pytest.mark.parametrize("name", CURVES)
def test_certificates_hold_and_contain_independent_truth(name: str) -> None:
    for epsilon, value, error in GOLDEN[name]["f"]["delta"]:
        certificate = to.certify(CURVES[name], "delta", epsilon)
        to.verify(certificate)
        assert certificate.lower <= float(value) * (1 + error + 1e-15)
        assert certificate.upper >= float(value) * (1 - error - 1e-15)
        assert certificate.upper - certificate.lower <= 2e-4 * certificate.upper


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


@pytest.mark.parametrize("delta", [0.4, 1e-5, 1e-100])
def test_epsilon_is_enclosed_by_two_claims(delta: float) -> None:
    certificate = to.certify(CURVES["sgm p=.01 s=1 n=1000"], "epsilon", delta)
    to.verify(certificate)
    assert {claim.at for claim in certificate.claims} == {certificate.lower, certificate.upper}
    assert certificate.upper - certificate.lower <= 1e-8


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
    if certificate.evidence[0].tau == 0:  # type: ignore[attr-defined]  # a line; blurred ones take seconds, and have tests of their own
        to.verify(certificate)


@pytest.mark.parametrize("method", ["closed-form", "exact", "contour", "lattice"])
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


def test_a_certificate_survives_json_and_verifies_in_another_process(tmp_path: Path) -> None:
    certificate = to.certify(CURVES["sgm p=.3 s=2 n=2"], "epsilon", 1e-5)
    assert Certificate.from_json(certificate.to_json()) == certificate
    path = tmp_path / "certificate.json"
    path.write_text(certificate.to_json(), encoding="utf-8")
    code = "import sys, pathlib, tradeoff as to; from tradeoff.certificates import Certificate as C; "
    code += "print(len(to.verify(C.from_json(pathlib.Path(sys.argv[1]).read_text())).checks))"
    found = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert int(found.stdout) == len(to.verify(certificate).checks)


def test_the_table_names_every_term() -> None:
    text = repr(to.certify(CURVES["sgm p=.01 s=1 n=1000"], "epsilon", 1e-5))
    for word in (
        "curve",
        "bounds",
        "method",
        "tilt c",
        "nodes",
        "truncation",
        "aliasing",
        "rounding",
        "left",
        "right",
        "blur",
        "slack",
        "claim",
    ):
        assert word in text
    report = to.verify(to.certify(to.Gaussian(1), "delta", 1.0))
    assert "recomputed" in repr(report)
    assert "trusted" in repr(report)


# Tampering.

LINE = to.certify(CURVES["sgm p=.01 s=1 n=1000"], "delta", 1.0)
BLURRED = to.certify(CURVES["laplace .1 n=100"], "delta", 3.1, method="contour")
MIDDLE = to.certify(CURVES["sgm p=.01 s=1 n=1000"], "delta", -0.05)
BETA = to.certify(CURVES["sgm p=.01 s=1 n=1000"], "beta", 0.01)
EXACT = to.certify(to.PureDP(0.1) ** 100, "beta", 0.1)
FORMULA = to.certify(thinned(0.01, 1.0), "beta", 0.1)
LATTICE = to.certify(CURVES["sgm p=.3 s=2 n=2"], "delta", 0.3, method="lattice")

Change = Callable[[Any], Any]


def by(factor: float) -> Change:
    return lambda value: value * factor


def on_evidence(certificate: Certificate, **changes: Change) -> Certificate:
    one = certificate.evidence[0]
    return replace(
        certificate,
        evidence=(
            replace(one, **{k: f(getattr(one, k)) for k, f in changes.items()}),
            *certificate.evidence[1:],
        ),
    )


def on_claim(certificate: Certificate, **changes: Change) -> Certificate:
    one = certificate.claims[0]
    return replace(
        certificate,
        claims=(replace(one, **{k: f(getattr(one, k)) for k, f in changes.items()}), *certificate.claims[1:]),
    )


def on_term(certificate: Certificate, name: str, change: Change) -> Certificate:
    return on_claim(certificate, terms=lambda terms: {**terms, name: change(terms[name])})


def refused(certificate: Certificate) -> str:
    with pytest.raises(VerificationError) as caught:
        to.verify(certificate)
    assert caught.value.term in str(caught.value)
    return caught.value.term


@pytest.mark.parametrize("certificate", [LINE, BLURRED, MIDDLE], ids=["tail", "blurred", "middle"])
@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("c", by(1 + 1e-6)),
        ("c", by(-1)),
        ("step", by(1 - 1e-6)),
        ("step", by(4)),
        ("step", lambda _: 0.0),
        ("nodes", lambda n: n - 1),
        ("nodes", lambda n: n + 1),
        ("nodes", lambda n: n // 2),
        ("log_m", lambda k: k + 1e-9),
        ("log_m", lambda k: k - 1e-9),
        ("log_m_error", lambda e: e + 1e-6),
        ("cut", by(0.5)),
        ("cut", by(2)),
        ("tau", lambda tau: tau + 1e-3),
        ("left", lambda p: (p[0], p[1] - 1e-3)),
        ("right", lambda p: (p[0], p[1] - 1e-3)),
        ("right", lambda p: (p[0] + 0.125, p[1])),
        ("left", lambda p: (p[0] - 1e-3, p[1])),
    ],
)
def test_no_number_of_a_line_can_be_changed(certificate: Certificate, field: str, change: Change) -> None:
    refused(on_evidence(certificate, **{field: change}))


@pytest.mark.parametrize("certificate", [LINE, BLURRED, MIDDLE], ids=["tail", "blurred", "middle"])
@pytest.mark.parametrize("name", ["sum", "nodes", "rounding", "truncation", "left", "right", "blur", "slack"])
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_no_term_of_a_claim_can_be_changed(certificate: Certificate, name: str, factor: float) -> None:
    value = certificate.claims[0].terms[name]
    refused(on_term(certificate, name, (lambda _: 1e-10) if value == 0 else by(factor)))


def test_a_cut_that_does_not_hold_is_refused_even_if_all_terms_agree() -> None:
    """The recorded bounds would follow from it."""
    faint = on_term(on_evidence(LINE, cut=lambda _: 1e-200), "truncation", by(1e-200 / LINE.evidence[0].cut))
    assert refused(faint) == "cut"


@pytest.mark.parametrize(
    "certificate",
    [LINE, BLURRED, MIDDLE, BETA, EXACT, FORMULA, LATTICE],
    ids=lambda c: f"{c.method} {c.question}",
)
def test_no_bound_can_be_narrowed(certificate: Certificate) -> None:
    width = certificate.upper - certificate.lower
    assert refused(replace(certificate, lower=certificate.lower + width / 2)) == "lower bound"
    assert refused(replace(certificate, upper=certificate.upper - width / 2)) == "upper bound"
    claim = certificate.claims[0]
    gap = claim.upper - claim.lower
    refused(on_claim(certificate, lower=lambda low: low + 1.01 * gap))
    refused(on_claim(certificate, upper=lambda high: high - 1.01 * gap))
    refused(replace(certificate, claims=()))


@pytest.mark.parametrize(
    "certificate", [LINE, BETA, EXACT, FORMULA, LATTICE], ids=lambda c: f"{c.method} {c.question}"
)
def test_another_question_or_law_is_refused(certificate: Certificate) -> None:
    refused(replace(certificate, value=certificate.value + 0.01))
    (factor,) = certificate.factors
    refused(replace(certificate, factors=({**factor, "count": factor["count"] + 1},)))
    refused(replace(certificate, factors=({**factor, "law": {"kind": "unheard of"}},)))
    refused(on_claim(certificate, evidence=lambda _: 7))


@pytest.mark.parametrize(
    ("field", "change"), [("atoms", by(2)), ("atoms", lambda n: n // 2), ("slack", by(-1))]
)
def test_no_number_of_a_sum_can_be_changed(field: str, change: Change) -> None:
    assert refused(on_evidence(EXACT, **{field: change})) == field


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("theta", by(1 + 1e-3)),
        ("h", by(1 + 1e-3)),
        ("window", lambda w: (w[0], 4)),
        ("rounding", lambda r: (r[0] / 1e3, r[1])),
        ("rounding", lambda r: (r[0], 0.0)),
        ("low_tail", lambda _: -1.0),
        ("high_tail", lambda _: 2.0),
        ("over_tail", lambda _: -1.0),
    ],
)
def test_no_number_of_a_lattice_can_be_changed(field: str, change: Change) -> None:
    refused(on_evidence(LATTICE, **{field: change}))


@pytest.mark.parametrize("side", ["over", "under"])
def test_discretised_laws_must_be_on_their_side(side: str) -> None:
    """Less above, or more below, is refused; so is another place or another number of rounds."""

    def scaled(factors: Any) -> Any:
        vector = unpacked(getattr(factors[0], side), "<f8") * (1 - 1e-6 if side == "over" else 1 + 1e-2)
        return (replace(factors[0], **{side: packed(vector, "<f8")}),)

    assert side in refused(on_evidence(LATTICE, factors=scaled))
    refused(
        on_evidence(
            LATTICE,
            factors=lambda f: (replace(f[0], offset=f[0].offset + (-0.01 if side == "over" else 0.01)),),
        )
    )
    assert refused(on_evidence(LATTICE, factors=lambda f: (replace(f[0], count=3),))) == "count"


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


@pytest.mark.parametrize("certificate", [LINE, BLURRED, MIDDLE], ids=["tail", "blurred", "middle"])
@pytest.mark.parametrize("name", ["left", "right", "rounding", "slack", "truncation"])
@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_terms_are_found_again_to_a_hundredth(certificate: Certificate, name: str, factor: float) -> None:
    if certificate.claims[0].terms[name] > 1e-320:
        refused(on_term(certificate, name, by(factor)))


@pytest.mark.parametrize(("certificate", "name"), [(LATTICE, "width"), (EXACT, "ulps"), (FORMULA, "ulps")])
def test_widths_are_those_of_the_bounds(certificate: Certificate, name: str) -> None:
    assert refused(on_term(certificate, name, by(1.01))) == name


def test_evidence_is_not_counted_from_the_end() -> None:
    assert refused(on_claim(LINE, evidence=lambda _: -1)) == "evidence"


@pytest.mark.parametrize("name", ["high_tail", "over_tail"])
def test_no_tail_is_below_the_least_of_chernoff(name: str) -> None:
    assert name in refused(on_evidence(LATTICE, **{name: by(0.5)}))


@pytest.mark.parametrize("method", ["exact", "contour"])
def test_losses_written_out_must_balance(method: str) -> None:
    """Differences of logarithms of masses are not known to units of themselves."""
    low = 0.5 - 1e-8
    certificate = to.certify(
        to.PiecewiseLinear([0.0, 0.5, 1.0], [1.0, low, 0.0]) ** 30, "delta", 0.0, method=method
    )
    to.verify(certificate)
    (factor,) = certificate.factors
    rough = [math.log(low) - math.log(0.5), math.log(1 - low) - math.log(0.5)]
    assert (
        refused(replace(certificate, factors=({**factor, "law": {**factor["law"], "loss": rough}},)))
        == "loss"
    )


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
    "hardly any loss": (to.Gaussian(1e-300) ** 181 @ to.PureDP(1.0), "delta", 0.3),
    "losses beyond all numbers": (to.PureDP(1e8) ** 3 @ to.PureDP(1), "delta", 0.1),
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
        refused(on_claim(certificate, upper=lambda high: high - gap, lower=lambda low: low - gap))


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.glob("*.json")), ids=lambda path: path.stem)
def test_certificates_of_earlier_versions_verify(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    certificate = Certificate.from_json(text)
    to.verify(certificate)
    assert json.loads(certificate.to_json()) == json.loads(text)


def test_a_process_that_verifies_loads_nothing_that_answers() -> None:
    rooms = ("composition", "curves", "families", "intervals", "loss", "operators")
    code = "import sys; from tradeoff.certificates import verify; import tradeoff.certificates.verify; "
    code += f"print([name for name in {rooms!r} if f'tradeoff.{{name}}' in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert found.stdout.strip() == "[]"
