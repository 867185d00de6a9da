"""Certificates of operators, by those of their operands."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flint import arb, ctx
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tradeoff as to
from tradeoff.certificates import Certificate, Claim
from tradeoff.certificates.issue.parts import parts_of
from tradeoff.certificates.rules import ruled
from tradeoff.certificates.verify.laws import law
from tradeoff.certificates.verify.parts import Bell
from tradeoff.errors import DomainError, NoClosedForm, PrecisionError, VerificationError
from tradeoff.families.discrete import DiscreteGaussianCurve
from tradeoff.operators.group import Group
from tradeoff.operators.mixture import Mixture
from tradeoff.operators.pointwise import HullOfMinimum, Maximum
from tradeoff.operators.subsample import Subsampled

STEPS = to.subsample(to.Gaussian(1.0), 0.01) ** 1000
PRODUCT = to.Gaussian(1.0) @ to.Laplace(0.3) ** 5

CURVES: dict[str, to.TradeOff] = {
    "either order": STEPS.symmetrise(assume="either-order"),
    "both orders": STEPS.symmetrise(assume="both-orders"),
    "the better of two": to.maximum(STEPS, to.Gaussian(0.6)),
    "the worse of three": to.minimum(to.Gaussian(1.2), PRODUCT, to.PureDP(2.0)),
    "one of two, named": to.mixture({STEPS: 0.25, PRODUCT: 0.75}),
    "two neighbours": STEPS.symmetrise(assume="either-order").group(2),
    "three neighbours": PRODUCT.group(3),
    "a sampled product": to.subsample(PRODUCT, 0.1),
    "its other order": to.subsample(PRODUCT, 0.1).inverse(),
    "a sampled maximum": to.subsample(to.maximum(to.Gaussian(1.0), to.Laplace(1.0)), 0.1),
}
ASKED: list[tuple[Any, float]] = [
    ("delta", 0.7),
    ("delta", -0.3),
    ("epsilon", 1e-4),
    ("beta", 0.01),
    ("beta", 0.5),
]


@functools.cache
def certified(name: str, question: Any, value: float) -> Certificate:
    """Certify when a test first needs it, not when the tests are collected."""
    return to.certify(CURVES[name], question, value)


def asked(curve: to.TradeOff, question: Any, value: float) -> to.Bounds[float]:
    return curve.bounds(value) if question == "beta" else getattr(curve.bounds, question)(value)


@pytest.mark.slow
@pytest.mark.parametrize(("question", "value"), ASKED)
@pytest.mark.parametrize("name", CURVES)
def test_answers_of_operators_verify_from_their_text(name: str, question: Any, value: float) -> None:
    certificate = certified(name, question, value)
    read = Certificate.from_json(certificate.to_json())
    assert read.to_json() == certificate.to_json()
    assert to.verify(read).checks
    found = asked(CURVES[name], question, value)
    assert certificate.lower <= found.upper
    assert found.lower <= certificate.upper
    # Far out, a lower bound on delta is what beta, which is near 1, says of it.
    assert certificate.upper - certificate.lower <= (0.05 if name == "three neighbours" else 1e-3)


def polygon(masses: list[tuple[int, int]]) -> to.PiecewiseLinear:
    """Return the curve of two laws on few outcomes."""
    pairs = sorted(masses, key=lambda pair: Fraction(pair[1], pair[0]) if pair[0] else 10**9, reverse=True)
    alpha, beta = [Fraction(0)], [Fraction(1)]
    p, q = (sum(side) for side in zip(*pairs, strict=True))
    for a, b in pairs:
        alpha.append(alpha[-1] + Fraction(a, p))
        beta.append(beta[-1] - Fraction(b, q))
    points = dict(sorted(zip(alpha, beta, strict=True), key=lambda point: (point[0], -point[1])))
    return to.PiecewiseLinear(list(points), list(points.values()))


POLYGONS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=2, max_size=5).filter(
    lambda pairs: sum(a for a, _ in pairs) > 0
)


def made_and_true(name: str, f: Any, g: Any) -> tuple[to.TradeOff, to.TradeOff]:
    """Return an operator as a node, and the polygon that it makes in fractions."""
    even = f.symmetrise(assume="both-orders")
    return {
        "maximum": lambda: (Maximum(f, g), to.maximum(f, g)),
        "minimum": lambda: (HullOfMinimum(f, g), to.minimum(f, g)),
        "group": lambda: (Group(even, 3), even.group(3)),
        "thinned": lambda: (Subsampled(f @ to.Identity(), 0.25), to.subsample(f, Fraction(1, 4))),
        "turned": lambda: (Subsampled(f, 0.25, flipped=True), to.subsample(f, Fraction(1, 4)).inverse()),
    }[name]()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["maximum", "minimum", "group", "thinned", "turned"])
@settings(max_examples=12, deadline=None)
@given(one=POLYGONS, two=POLYGONS, at=st.sampled_from([0.0, 0.125, 0.3, 0.5, 0.875, 0.999, -0.5, 1.25]))
def test_truth_in_fractions_is_held(
    name: str, one: list[tuple[int, int]], two: list[tuple[int, int]], at: float
) -> None:
    node, true = made_and_true(name, polygon(one), polygon(two))
    assume(not isinstance(node, to.PiecewiseLinear) and isinstance(true, to.PiecewiseLinear))
    for question in ("delta", "beta") if 0 < at < 1 else ("delta",):
        certificate = to.certify(node, question, at)  # type: ignore[arg-type]  # one of three
        to.verify(certificate)
        with mpmath.workdps(60):
            assert certificate.lower <= exactly(true, question, at) <= certificate.upper
        assert certificate.upper - certificate.lower <= 1e-3


def exactly(curve: Any, question: str, at: float) -> Any:
    """Return an answer of a polygon with fractions, to the digits of the context."""

    def real(number: Any) -> Any:
        return mpmath.mpf(number.numerator) / number.denominator

    if question == "beta":
        return real(curve.exact_beta(Fraction(at)))
    return max(1 - real(beta) - mpmath.exp(at) * real(alpha) for alpha, beta in curve.vertices)


def test_a_mixture_is_the_sum_of_profiles() -> None:
    f, g = polygon([(3, 1), (1, 3)]), polygon([(9, 1), (1, 9)])
    noise = to.Gaussian(0.3)
    certificate = to.certify(Mixture({f @ noise: 0.25, g @ noise: 0.75}), "delta", 0.5)
    to.verify(certificate)
    parts = [to.certify(h @ noise, "delta", 0.5) for h in (f, g)]
    assert certificate.upper >= 0.25 * parts[0].lower + 0.75 * parts[1].lower
    assert certificate.lower <= 0.25 * parts[0].upper + 0.75 * parts[1].upper


BETTER = ("the better of two", "delta", 0.7)
NAMED = ("one of two, named", "beta", 0.5)
NEIGHBOURS = ("two neighbours", "delta", 0.7)
SAMPLED = ("a sampled maximum", "epsilon", 1e-4)
EITHER = ("either order", "beta", 0.5)
ALL = [BETTER, NAMED, NEIGHBOURS, SAMPLED, EITHER]


def refused(certificate: Certificate) -> str:
    """Return the term that is named, which the digest is not: whoever changes a number renews it."""
    with pytest.raises(VerificationError) as caught:
        to.verify(certificate.sealed())
    return caught.value.term


@pytest.mark.parametrize("of", ALL, ids=str)
def test_no_part_can_be_left_out_moved_or_exchanged(of: tuple[str, Any, float]) -> None:
    certificate = certified(*of)
    parts = certificate.parts
    for k, part in enumerate(parts):
        others = parts[:k] + parts[k + 1 :]
        assert refused(replace(certificate, parts=others)) in {"lower bound", "upper bound"}
        width = max(part.upper - part.lower, 1e-9)
        moved = replace(part, lower=part.lower + 2 * width, upper=part.upper + 2 * width)
        assert refused(replace(certificate, parts=(*others, moved))) in {"lower bound", "upper bound"}
        if part.factors:
            better = to.certify(to.Gaussian(0.01), part.question, part.value)
            refused(replace(certificate, parts=(*others, better)))
            named = replace(better, factors=part.factors).sealed()
            refused(replace(certificate, parts=(*others, named)))


@pytest.mark.parametrize("of", ALL, ids=str)
def test_no_rule_can_be_changed(of: tuple[str, Any, float]) -> None:
    certificate = certified(*of)
    rule = certificate.rule
    assert refused(replace(certificate, rule=rule | {"kind": "product"})) == "rule"
    assert refused(replace(certificate, rule=rule | {"kind": "unheard of"})) == "rule"
    assert refused(replace(certificate, rule={})) == "rule"
    assert (
        refused(replace(certificate, factors=({"law": {"kind": "gaussian", "mu": 1.0}, "count": 1},)))
        == "rule"
    )
    assert refused(replace(certificate, rule=rule | {"of": []})) == "rule"
    assert refused(replace(certificate, rule=rule | {"more": 1})) == "rule"
    bound = {"lower bound", "upper bound"}
    width = certificate.upper - certificate.lower
    assert refused(replace(certificate, upper=certificate.upper - width / 2)) in bound
    assert refused(replace(certificate, lower=certificate.lower + width / 2)) in bound


@pytest.mark.slow
def test_parameters_of_rules_are_checked() -> None:
    neighbours, named, sampled = certified(*NEIGHBOURS), certified(*NAMED), certified(*SAMPLED)
    for k in (0, -1, 1.5, "2", True, 10**18):
        assert refused(replace(neighbours, rule=neighbours.rule | {"k": k})) == "k"
    for weights in ([0.5, 0.6], [1.0], [-0.5, 1.5], [0.25, 0.25]):
        assert refused(replace(named, rule=named.rule | {"weights": weights})) == "weights"
    thinned = sampled.rule | {"p": 0.05}
    refused(
        replace(sampled, rule=thinned, parts=tuple(replace(part, rule=thinned) for part in sampled.parts))
    )
    for p in (0, 2.0, "0.1", "[0.1, 0.2]", None, True):
        wrong = sampled.rule | {"p": p}
        assert refused(replace(sampled.parts[0], rule=wrong)) in {"p", "form"}
    twice = sampled.rule | {"of": sampled.rule["of"] * 2}
    assert refused(replace(sampled, rule=twice)) == "rule"


def plain(question: Any, at: float, lower: float, upper: float, rule: Any, parts: Any) -> Certificate:
    return Certificate("", question, at, lower, upper, "parts", (), (), rule, tuple(parts)).sealed()


def test_weights_short_of_one_hide_nothing() -> None:
    """Of many weights each may be rounded: beside 1 they are all as they are divided by their sum."""
    leak = to.certify(to.TotalVariation(0.125), "delta", 0.0)
    for weights in ([1 - 5 * 2.0**-52, 0.0, 0.0], [1 / 3 - 2.0**-52] * 3):
        rule = {"kind": "mixture", "of": [leak.about] * 3, "weights": weights}
        assert refused(plain("delta", 0.0, 0.0, math.nextafter(0.125, 0), rule, [leak])) == "weights"
    weights = [1 / 3, 1 / 3, math.nextafter(1 / 3, 0)]
    rule = {"kind": "mixture", "of": [leak.about] * 3, "weights": weights}
    assert ruled("delta", 0.0, rule, [leak])[1] >= 0.125


def test_nothing_falls_short_but_two_curves() -> None:
    apart = {"kind": "masses", "p": ["1", "0"], "q": ["0", "1"]}
    factors, claim = ({"law": apart, "count": 1},), Claim("beta", False, 0.0, 0.0, 0.0)
    forged = Certificate("G_{5} against G_{.1}", "shortfall", 0.0, 0.0, 0.0, "exact", factors, (claim,))
    assert refused(forged) == "rule"
    gaussian = {"kind": "product", "of": [{"law": {"kind": "gaussian", "mu": 5.0}, "count": 1}]}
    for of in (
        [{"kind": "minimum", "of": []}, gaussian],
        [gaussian, {"kind": "maximum", "of": []}],
        [],
        [gaussian],
    ):
        rule = {"kind": "order", "of": of}
        assert refused(plain("shortfall", 0.0, 0.0, 0.0, rule, [])) == "rule"
    rule = {"kind": "order", "of": [gaussian, {"kind": "unheard of", "of": [gaussian]}]}
    assert refused(plain("shortfall", 0.0, 0.0, 0.0, rule, [])) == "rule"
    assert refused(plain("delta", 0.0, 0.0, 1.0, rule, [])) == "rule"


def test_operands_of_an_order_say_nothing_that_is_not_read() -> None:
    order = to.certify(to.Gaussian(0.3), "shortfall", to.TotalVariation(0.2))
    one, two = (curve["of"][0] for curve in order.rule["of"])
    for curve in (
        {"kind": "product", "of": [two | {"power": 50}]},
        {"kind": "product", "of": [two | {"law": two["law"] | {"rounds": 50}}]},
        {"kind": "product", "of": [two], "k": 2},
        {"kind": "product", "of": [two | {"count": 0}]},
        {"kind": "maximum", "of": [{"kind": "product", "of": [two]}], "k": 2},
        {"kind": "maximum", "of": "ab"},
    ):
        rule = order.rule | {"of": [{"kind": "product", "of": [one]}, curve]}
        assert refused(replace(order, rule=rule)) in {"rule", "factor", "law", "count"}


def test_a_thinned_curve_next_to_zero_losses() -> None:
    x, p = 2.7033100119832075e-66, 1e-100
    one = to.certify(to.Gaussian(1.0), "delta", 0.0)
    low, high = ruled("delta", x, {"kind": "thinned", "of": [one.about], "p": p}, [one])
    assert low <= 1e-1000
    assert high >= 0.0


def test_parts_in_parts_without_end_are_refused_in_a_sentence() -> None:
    deep = '{"format": 4, "claims": [], "factors": [], "parts": [' * 900 + "]}" * 900
    with pytest.raises(DomainError, match="no certificate"):
        Certificate.from_json(deep)


@pytest.mark.slow
def test_tails_keep_the_safe_side() -> None:
    curve = CURVES["the better of two"]
    certificate = to.certify(curve, "delta", 4.0)
    to.verify(certificate)
    upper = curve.bounds.delta(4.0).upper
    assert certificate.upper <= upper * (1 + 1e-3)


@pytest.mark.slow
def test_a_width_that_is_not_reached_is_said() -> None:
    certificate = to.certify(CURVES["the better of two"], "epsilon", 1e-4, tol=1e-3)
    assert certificate.upper - certificate.lower <= 1e-3
    with pytest.raises(PrecisionError, match="reachable here"):
        to.certify(CURVES["the better of two"], "beta", 0.3, tol=1e-12)


@pytest.mark.slow
def test_what_has_no_rule_is_refused_in_a_sentence() -> None:
    with pytest.raises(NoClosedForm, match="certify"):
        to.certify(to.maximum(to.Gaussian(1), to.Laplace(1)) ** 3, "delta", 0.5)
    with pytest.raises(NoClosedForm, match="certify"):
        to.certify(STEPS.symmetrise(assume="profile"), "delta", 0.5)

    with pytest.raises(NoClosedForm, match="certify"):
        to.certify(STEPS.symmetrise(assume="either-order").group(40), "delta", 0.5)


@pytest.mark.parametrize("epsilon", [pytest.param(1e300, marks=pytest.mark.slow), -1e300, 650.0, -650.0])
def test_far_ends_are_certified_in_silence(epsilon: float) -> None:
    curve = to.maximum(to.Gaussian(1.0), to.PureDP(1.0) ** 3)
    certificate = to.certify(curve, "delta", epsilon)
    to.verify(certificate)
    found = curve.bounds.delta(epsilon)
    assert certificate.lower <= found.upper
    assert found.lower <= certificate.upper


@pytest.mark.parametrize(
    "delta",
    [
        pytest.param(1e-300, marks=pytest.mark.slow),
        pytest.param(1e-5, marks=pytest.mark.slow),
        pytest.param(0.5, marks=pytest.mark.slow),
        pytest.param(0.999, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "curve",
    [
        to.PureDP(700.0).group(2),
        to.maximum(to.PureDP(700.0), to.Gaussian(40.0)),
        to.mixture({to.PureDP(720.0): 0.5, to.Gaussian(1.0): 0.5}),
    ],
)
def test_losses_beyond_all_floats_are_certified_in_silence(curve: to.TradeOff, delta: float) -> None:
    certificate = to.certify(curve, "epsilon", delta)
    to.verify(certificate)
    found = curve.bounds.epsilon(delta)
    assert certificate.lower <= found.upper
    assert found.lower <= certificate.upper


def test_tables_show_the_rule_and_its_parts() -> None:
    better = certified(*BETTER)
    shown = repr(better)
    for word in ("rule", "maximum of 2", "part", "method", "parts"):
        assert word in shown
    assert json.loads(better.to_json())["parts"][0]["factors"]


def test_a_level_that_the_other_order_reaches_at_nothing_is_not_asked() -> None:
    """The base's alpha of which a sampled one is 1e-300 is none that floats hold."""
    f = to.subsample(to.Gaussian(7.4) @ to.PureDP(0.0045), 0.0176).inverse()
    parts, asked = parts_of(f), []

    def ask(_curve: to.TradeOff, question: Any, at: float) -> Certificate:
        asked.append(at)
        return Certificate("", question, at, 0.5, 0.5, "parts", (), ())

    assert parts is not None
    parts.ask = ask
    parts.asked("beta", 1e-300)
    assert all(at > 0 for at in asked)


_MEANS = [-40.0, -3.0, -1e-3, 0.0, 2e-3, 0.7, 5.0, 31.0]


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(_MEANS), min_size=3, max_size=6, unique=True).map(sorted),
    st.lists(st.floats(-60, 60), min_size=6, max_size=6),
    st.integers(1, 5),
    st.sampled_from([64, 128, 256, 4096]),
    st.sampled_from([1, -1]),
)
def test_thresholds_of_mixtures(
    means: list[float], logs: list[float], turn: int, bits: int, sign: int
) -> None:
    """Terms that change their sign once have a sum that does, within the ball, which is narrow."""
    assume(turn < len(means))
    signs = [sign if k < turn else -sign for k in range(len(means))]
    terms = [(s * arb(math.exp(log)), arb(m)) for s, log, m in zip(signs, logs, means, strict=False)]
    gain, places = zip(*terms, strict=True)
    with ctx.workprec(bits):
        t = Bell(p=gain, q=gain, rising=True, means=places).root(list(gain))
        assert t.rad() <= (1 + abs(t.mid())) * arb(2) ** (24 - bits)
    with ctx.workprec(8192):
        left, right = (
            sum((g * (m * at - m * m / 2).exp() for g, m in terms), arb(0)) * sign
            for at in (t.lower(), t.upper())
        )
        assert left > 0 > right


def test_a_claim_that_needs_thousands_of_bits_is_decided() -> None:
    """One round of noise so large that delta(0) is 1e-171: bits are added until a lower end is proved."""
    f = to.GaussianMixtures({0: 0.5, 1: 0.3125, 3: 0.1875}, {0: 0.25, 1: 0.375, 3: 0.375}, sigma=1e170)
    made = to.certify(f, "delta", 0.0)
    claim = replace(made.claims[0], lower=1e-300)
    to.verify(replace(made, claims=(claim, *made.claims[1:]), lower=1e-300).sealed())


def test_tails_of_integer_noise_are_those_of_its_atoms() -> None:
    """Above .2 of one step lie the same atoms, whether asked alone or with what is below."""
    (comb,) = law(to.certify(DiscreteGaussianCurve(1.0, 1), "delta", 0.2).factors[0]["law"])
    assert all(a.overlaps(b) for a, b in zip(comb.above(arb(0.2)), comb.masses(arb(0.2))[0], strict=True))


def test_samples_at_a_rate_that_is_no_float_are_certified():
    f, g = to.Gaussian(1.0), to.maximum(to.Gaussian(1.0), to.Laplace(0.5))
    for _ in range(6):
        f, g = to.subsample(f, 0.1), to.subsample(g, 1e-300)
    made = to.certify(f, "epsilon", 1e-7)
    assert made.rule is not None
    assert "/" in made.rule["p"]
    assert made.lower <= f.bounds.epsilon(1e-7).upper
    assert f.bounds.epsilon(1e-7).lower <= made.upper <= made.lower + 1e-9
    to.verify(made)
    for curve, question, value in ((g, "delta", 0.001), (~g, "delta", 0.001), (g, "beta", 0.1)):
        to.verify(to.certify(curve, question, value))


@pytest.mark.parametrize(
    "rate", ["3/1", "0/1", "1/0", "1/3\n", "nan", True, [1, 3], 10**400, "1" * 5000 + "/1"]
)
def test_forged_rates_are_refused(rate):
    made = to.certify(to.subsample(to.maximum(to.Gaussian(1.0), to.Laplace(0.5)), 0.5), "beta", 0.1)
    with pytest.raises(to.errors.VerificationError):
        to.verify(replace(made, rule={**made.rule, "p": rate}))
