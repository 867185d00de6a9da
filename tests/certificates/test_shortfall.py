"""Certificates of an order, of a regret and of whole curves: how far one curve falls short of another."""

from __future__ import annotations

import functools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tradeoff.certificates import Certificate, Claim
from tradeoff.certificates.conclusion import concluded
from tradeoff.certificates.verify import audit
from tradeoff.errors import KindError, NoClosedForm, PrecisionError, VerificationError

STEPS = to.subsample(to.Gaussian(1.0), 0.01) ** 1000
FEW = to.PureDP(0.3) ** 10
LEVELS = [0.01, 0.1, 0.3, 0.7]


def certified(f: to.TradeOff, g: to.TradeOff) -> Certificate:
    """Certify, and prove again from the text."""
    made = Certificate.from_json(to.certify(f, "shortfall", g).to_json())
    assert to.verify(made).checks[-1].name == "upper bound"
    return made


def bounds(f: to.TradeOff, g: to.TradeOff) -> tuple[float, float]:
    made = certified(f, g)
    return made.lower, made.upper


@pytest.mark.parametrize(
    ("f", "g"),
    [
        (to.Gaussian(1.0), to.approximate_dp(1.0, 0.2)),
        (to.Laplace(0.5), to.Gaussian(0.6)),
        (to.minimum(FEW, to.Gaussian(0.6)), to.Gaussian(1.1) @ to.TotalVariation(1e-3)),
        (
            FEW,
            to.maximum(to.PureDP(3.0) @ to.TotalVariation(1e-3), to.Gaussian(1.0) @ to.TotalVariation(1e-3)),
        ),
    ],
    ids=str,
)
def test_an_order_is_proved(f: to.TradeOff, g: to.TradeOff) -> None:
    assert f >= g
    assert bounds(f, g) == (0.0, 0.0)


def test_an_order_is_refuted_at_the_corner_that_refutes_it() -> None:
    low, high = bounds(to.Gaussian(1.0), to.approximate_dp(1.0, 0.1))
    with mpmath.workdps(50):  # where delta of the second has its kink
        delta = mpmath.ncdf(-0.5) - mpmath.e * mpmath.ncdf(-1.5)
        true = (delta - mpmath.mpf(0.1)) / (1 + mpmath.e)
    assert 0 < low <= high <= 1.001 * low
    assert true <= high <= 1.001 * true


def test_what_leaks_is_short_of_what_does_not_where_that_ends() -> None:
    """delta of the first is 0.01 for good, of the second 0 from 2 on: 0.01/(1 + e^2) at least."""
    low, high = bounds(to.PureDP(0.2) @ to.TotalVariation(0.01), to.PureDP(2.0))
    assert 0.99 * 0.01 / (1 + 2.7182818**2) <= low <= 1.01 * 0.01 / (1 + 2.7182818**2)
    assert high <= 1.001 * low


@pytest.mark.slow
def test_the_regret_of_a_reduction_and_its_order_are_proved() -> None:
    """The curve reported touches to a part in 1e11, and is below nevertheless."""
    f = to.Laplace(1.0)
    found = f.gdp(failure=1e-3)
    low, high = bounds(found.curve, f)
    assert low <= found.regret_bounds.upper
    assert found.regret_bounds.lower <= high <= low * 1.002
    assert bounds(f, found.curve) == (0.0, 0.0)


@pytest.mark.parametrize("f", [FEW, to.subsample(to.PureDP(1.0), 0.1)], ids=str)
def test_whole_curves_are_proved_to_lie_on_either_side(f: to.TradeOff) -> None:
    assert bounds(f, f.lower) == bounds(f.upper, f) == (0.0, 0.0)


@pytest.mark.slow
def test_polygons_of_few_corners_are_proved_and_their_gap_is_seen() -> None:
    f = to.Gaussian(1.0)
    lower, upper = f.tabulate(LEVELS)
    assert bounds(f, lower) == bounds(upper, f) == (0.0, 0.0)
    low, high = bounds(f, upper)
    assert 0 < low <= high < 0.1
    assert bounds(lower, upper)[0] > 0


@pytest.mark.slow
def test_a_polygon_below_many_rounds_is_proved_by_integrals() -> None:
    made = certified(STEPS, STEPS.tabulate(LEVELS).lower)
    assert (made.upper, made.parts[0].method) == (0.0, "contour")


@pytest.mark.slow
def test_an_end_of_the_other_order_of_thinned_noise_is_proved() -> None:
    """No loss is above -log(1 - p): delta is nothing there, which no integral need tell."""
    f = to.subsample(to.Gaussian(1.0), 0.1).inverse()
    assert bounds(f, to.PureDP(0.2) @ to.TotalVariation(0.1)) == (0.0, 0.0)
    assert "no finite loss is above 0.105361" in str(to.verify(to.certify(f, "shortfall", to.PureDP(2.5))))


def polygon(masses: list[tuple[int, int]]) -> to.PiecewiseLinear:
    """Return the curve of two laws on few outcomes."""
    pairs = sorted(masses, key=lambda pair: Fraction(pair[1], pair[0]), reverse=True)
    total = [sum(side) for side in zip(*pairs, strict=True)]
    points, (alpha, beta) = [(Fraction(0), Fraction(1))], (Fraction(0), Fraction(1))
    for a, b in pairs:
        alpha, beta = alpha + Fraction(a, total[0]), beta - Fraction(b, total[1])
        points.append((alpha, beta))
    return to.PiecewiseLinear(*zip(*points, strict=True))


def exact_shortfall(f: to.PiecewiseLinear, g: to.PiecewiseLinear) -> Fraction:
    """Return the largest (delta_f - delta_g)/(1 + s): between corners of either both are linear in s."""

    def delta(curve: to.PiecewiseLinear, s: Fraction) -> Fraction:
        return max(1 - beta - s * alpha for alpha, beta in curve.vertices)

    slopes = [
        (b - d) / (c - a)
        for curve in (f, g)
        for (a, b), (c, d) in zip(curve.vertices, curve.vertices[1:], strict=False)
    ]
    return max([Fraction(0), *((delta(f, s) - delta(g, s)) / (1 + s) for s in slopes)])


POLYGONS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=4).map(polygon)


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(f=POLYGONS, g=POLYGONS)
def test_truth_in_fractions_is_held(f: to.PiecewiseLinear, g: to.PiecewiseLinear) -> None:
    true = exact_shortfall(f, g)
    # Against the second with next to no noise the same is proved cell by cell.
    for goal, off in ((g, Fraction(0)), (g @ to.PureDP(1e-9), Fraction(1e-9))):
        low, high = bounds(f, goal)
        assert Fraction(low) - off <= true <= Fraction(high) + off
        assert high - low <= 1e-3 * high + 1e-6


def refused(certificate: Certificate) -> str:
    """Return the term that is named, which the digest is not: whoever changes a number renews it."""
    with pytest.raises(VerificationError) as caught:
        to.verify(certificate.sealed())
    return caught.value.term


CERTIFICATES = functools.cache(
    lambda: [
        to.certify(to.Gaussian(1.0), "shortfall", to.approximate_dp(1.0, 0.2)),
        to.certify(FEW, "shortfall", FEW.tabulate(LEVELS).lower),
        to.certify(FEW.tabulate(LEVELS).upper, "shortfall", FEW),
    ]
)


NAMED = {"claim", "delta lower", "delta upper", "lower bound", "upper bound"}


@pytest.mark.parametrize("which", [pytest.param(0, marks=pytest.mark.slow), 1, 2])
def test_no_number_can_be_changed(which: int) -> None:
    certificate = CERTIFICATES()[which]
    assert refused(replace(certificate, lower=1e-9)) == "lower bound"
    assert refused(replace(certificate, upper=1e-9)) == "upper bound"
    assert refused(replace(certificate, value=1.0)) == "value"
    for part in certificate.parts:
        others = [each for each in certificate.parts if each is not part]
        for k in range(0, len(part.claims), 23):
            claim = part.claims[k]
            width = max(claim.upper - claim.lower, 1e-9)
            for low, high, at in ((1, 1, 0.0), (-1, -1, 0.0), (0, 0, 0.25), (1, -1, 0.0)):
                ends = claim.lower + 2 * low * width, claim.upper + 2 * high * width
                changed = replace(claim, at=claim.at + at, lower=ends[0], upper=ends[1])
                forged = claimed(part, (*part.claims[:k], changed, *part.claims[k + 1 :]))
                assert refused(replace(certificate, parts=(*others, forged))) in NAMED


def claimed(part: Certificate, claims: tuple[Claim, ...]) -> Certificate:
    """Return a part with other claims, and the bounds that follow from them where any do."""
    good = all(claim.lower <= claim.upper for claim in claims)
    low, high = concluded("delta", 0.0, claims) if good else (part.lower, part.upper)
    return replace(part, claims=claims, lower=low, upper=high)


@pytest.mark.slow
def test_claims_left_out_leave_no_bound() -> None:
    certificate = CERTIFICATES()[0]
    f, g = certificate.parts
    for kept in (
        [claim for claim in f.claims if claim.at > 0],
        [claim for claim in f.claims if not claim.reverse],
        [claim for claim in f.claims if claim.at < 0.6],
    ):
        assert refused(replace(certificate, parts=(claimed(f, tuple(kept)), g))) == "upper bound"


def test_another_curve_is_refused() -> None:
    """What is claimed of one curve says nothing of another, nor of a polygon that is higher."""
    order, below, _ = CERTIFICATES()
    one, two = order.rule["of"]
    assert refused(replace(order, rule={"kind": "order", "of": [two, one]})) in {"lower bound", "upper bound"}
    for kind in ("group", "mixture", "product"):
        assert (
            refused(replace(order, rule={"kind": "order", "of": [one | {"kind": kind + "s"}, two]})) == "rule"
        )
    higher = FEW.tabulate(LEVELS).upper
    goal = to.certify(higher, "delta", 0.0).factors
    rule = {"kind": "order", "of": [below.rule["of"][0], {"kind": "product", "of": list(goal)}]}
    assert refused(replace(below, rule=rule)) in {"lower bound", "upper bound"}
    law = below.rule["of"][1]["of"][0]["law"]
    wrong = {"kind": "product", "of": [{"law": law | {"p": ["1/2", "2/3"], "q": ["1/2", "1/2"]}, "count": 1}]}
    assert refused(replace(below, rule={"kind": "order", "of": [rule["of"][0], wrong]})) == "p"


def test_what_does_not_follow_is_refused_before_anything_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    def proves(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(audit, "_claims", proves)
    assert refused(replace(CERTIFICATES()[0], upper=1e-9)) == "upper bound"


def test_what_is_not_compared_says_so() -> None:
    with pytest.raises(KindError):
        to.certify(STEPS, "shortfall", 0.5)
    with pytest.raises(NoClosedForm, match="piecewise-linear"):
        to.certify(STEPS.symmetrise(assume="either-order").group(2), "shortfall", to.Gaussian(3.0))
    with pytest.raises(PrecisionError, match="reachable"):
        to.certify(to.Gaussian(1.0), "shortfall", to.approximate_dp(1.0, 0.1), tol=1e-12)
    assert bounds(to.Gaussian(1.0), to.TotalVariation(1.0)) == (0.0, 0.0)
