"""Certificates hold independent truth, and the verifier proves every one that certify returns."""

import math
import random
from fractions import Fraction
from itertools import product

import mpmath
import pytest
import scipy.stats as st

import tradeoff as to
from tests.truth.claims import check
from tests.truth.continuous import Gaussian
from tradeoff.errors import NoClosedForm, PrecisionError
from tradeoff.proofs import Certificate


def dp_sgd(sigma, rate, steps):
    return to.subsample(to.Gaussian(1 / sigma), rate) ** steps


def certified(curve, question, at, **options):
    """Return a certificate that was verified from its text."""
    made = Certificate.from_json(to.certify(curve, question, at, **options).to_json())
    assert all(check.proved for check in to.verify(made).checks)
    return made


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "delta", "truth"),
    [
        (0.01, 1, 1000, 1e-5, 1.8282366665),
        (0.001, 0.8, 10**6, 1e-5, 9.6927071864),
        (1e-4, 0.5, 10**5, 1e-5, 2.0577496498),
        (0.001, 3, 1000, 10**-6.6, 0.0413693716),
    ],
)
def test_certify_dp_sgd_encloses_reference_epsilon(rate, sigma, steps, delta, truth):
    """The values are those on which a contour and extrapolated lattices agree, to nine digits."""
    made = certified(dp_sgd(sigma, rate, steps), "epsilon", delta, tol=1e-8 if sigma < 3 else None)
    assert made.lower - 3e-9 <= truth <= made.upper + 3e-9


@pytest.mark.parametrize(
    ("curve", "delta", "goal"),
    [
        (dp_sgd(1, 1e-3, 1000), 1e-5, 1e-8),
        (dp_sgd(0.63, 0.002, 100), 2.5e-5, 1e-8),
        (to.Laplace(0.1) ** 50, 1e-5, 1e-5),
    ],
)
def test_certify_few_or_rare_rounds_is_proved(curve, delta, goal):
    made = certified(curve, "epsilon", delta)
    assert made.upper - made.lower <= goal


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("question", ["delta", "beta", "epsilon"])
def test_certify_finite_laws_encloses_exact_fractions(question, reverse):
    p, q = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], [Fraction(1, 5), Fraction(1, 5), Fraction(3, 5)]
    base = to.from_masses(p, q)
    curve = (~base if reverse else base) ** 6
    pairs = list(zip(q, p, strict=True) if reverse else zip(p, q, strict=True))
    atoms = [tuple(map(math.prod, zip(*each, strict=True))) for each in product(pairs, repeat=6)]

    def delta(slope):
        return sum((max(b - slope * a, Fraction(0)) for a, b in atoms), Fraction(0))

    if question == "delta":
        made = certified(curve, "delta", 0.5)
        with mpmath.workdps(40):
            slope = Fraction(int(mpmath.exp(0.5) * 10**35), 10**35)
        assert made.lower <= delta(slope) + Fraction(1, 10**30)
        assert delta(slope) - Fraction(1, 10**30) <= made.upper
    elif question == "beta":
        made = certified(curve, "beta", 0.125)
        truth = max(1 - delta(b / a) - b / a / 8 for a, b in atoms)
        assert made.lower <= truth <= made.upper
        assert made.upper - made.lower < 1e-12
    else:
        made = certified(curve, "epsilon", 1e-3)
        assert delta(Fraction(math.exp(made.upper)) + Fraction(1, 10**12)) <= Fraction(1, 1000)
        assert delta(Fraction(math.exp(made.lower)) - Fraction(1, 10**12)) >= Fraction(1, 1000)


@pytest.mark.parametrize(("question", "at"), [("delta", 2.0), ("beta", 0.1)])
def test_certify_gaussian_encloses_closed_form(question, at):
    made = certified(to.Gaussian(1.5), question, at)
    check(to.Bounds(made.lower, made.upper), getattr(Gaussian(1.5), question)(at))


def test_certify_guarantee_takes_the_worse_order():
    curve = dp_sgd(0.6, 0.01, 2000)
    worse = certified(curve.symmetrise(assume="either-order"), "epsilon", 1e-5)
    one, other = (certified(each, "epsilon", 1e-5) for each in (curve, ~curve))
    assert worse.orders == "both"
    assert max(one.lower, other.lower) <= worse.upper
    assert worse.lower <= max(one.upper, other.upper)
    assert abs(one.upper - 9.95) < 0.01
    assert abs(other.upper - 5.11) < 0.01


def _factor(draw):
    """Return a random law and a count."""
    scale, count = math.exp(draw.uniform(-4, 0.5)), int(math.exp(draw.uniform(0, 5)))
    kinds = [
        lambda: (to.subsample(to.Gaussian(scale), math.exp(draw.uniform(-8, -1))), count**2),
        lambda: (to.Gaussian(scale), count),
        lambda: (to.Laplace(scale), count),
        lambda: (to.PureDP(scale), count),
        lambda: (to.approximate_dp(scale, 1e-9), count),
        lambda: (~to.subsample(to.PureDP(scale), 0.2), count),
        lambda: (to.from_masses([0.5, 0.25, 0.25], [0.25, 0.25, 0.5]), min(count, 20)),
    ]
    return draw.choice(kinds)()


@pytest.mark.parametrize(
    "seed", [pytest.param(k, marks=pytest.mark.slow) if k in {0, 1, 2, 6, 7} else k for k in range(10)]
)
def test_certify_random_plans_verify(seed):
    draw = random.Random(seed)
    for _ in range(3):
        curve = to.Identity()
        for factor, count in (_factor(draw) for _ in range(draw.choice([1, 1, 2]))):
            curve = curve @ factor**count
        question = draw.choice(["epsilon", "delta"])
        at = 10 ** draw.uniform(-9, -3) if question == "epsilon" else draw.uniform(0, 3)
        try:
            certified(curve, question, at)
        except NoClosedForm as error:
            assert "certify curve.lower" in str(error)  # noqa: PT017 - few plans are beyond the verifier


def test_certify_polygon_below_fixed_size_sampling_is_proved():
    curve = to.subsample(to.Gaussian(1), 0.01, scheme="without-replacement") ** 500
    with pytest.raises(NoClosedForm, match=r"certify curve\.lower"):
        to.certify(curve, "epsilon", 1e-5)
    polygon = curve.tabulate([0.01, 0.1, 0.5]).lower
    made = certified(polygon, "beta", 0.1)
    assert made.lower <= polygon(0.1) <= made.upper


def test_certify_unsupported_curves_name_the_remedy():
    refused = [
        to.LocationShift(st.logistic(), 0.2) ** 60,
        to.maximum(to.Gaussian(1), to.Laplace(1)),
        to.Gaussian(1).symmetrise(assume="either-order") @ to.LocationShift(st.logistic(), 1),
    ]
    for curve in refused:
        with pytest.raises(NoClosedForm, match=r"curve\.lower"):
            to.certify(curve, "delta", 1.0)


def test_certify_unreachable_tolerance_names_the_width():
    curve = to.Laplace(0.1) ** 50
    with pytest.raises(PrecisionError, match="reachable here") as caught:
        to.certify(curve, "delta", 0.5, tol=1e-9)
    assert caught.value.reachable > 1e-9


def test_certify_engine_error_is_reported(monkeypatch):
    """A bound that the verifier refutes is an error, and is not widened in silence."""
    curve = to.PureDP(0.1) ** 20
    wrong = to.Bounds(0.5, 0.6)
    monkeypatch.setattr(type(curve.bounds), "delta", lambda *_args, **_options: wrong)
    with pytest.raises(to.errors.VerificationError, match="the engines and the verifier disagree"):
        to.certify(curve, "delta", 0.5)
