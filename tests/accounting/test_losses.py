import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tests.truth.atoms import PureDP
from tests.truth.balls import ball
from tests.truth.claims import check
from tests.truth.operators import Product
from tradeoff.pld.discrete import leaking
from tradeoff.pld.law import log_finite_mass
from tradeoff.pld.transformed import MixturePLD, ReversedPLD, SubsampledPLD
from tradeoff.pld.units import UNIT, log_ratio

BITS = 1400
"""Rates of 1e-250 leave 500 of them."""


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_log_ratio_of_differences_errs_within_bounds(a, b, c, d):
    (low, high), (below, above) = sorted((a, b)), sorted((c, d))
    p, q = Fraction(high) - Fraction(low), Fraction(above) - Fraction(below)
    if min(p, q) < Fraction(1, 10**300):
        return
    result = log_ratio((np.array([high]), np.array([low])), (np.array([above]), np.array([below])))[0]
    truth = ball(q / p).log()
    assert abs(result.item() - truth) <= UNIT * (8 * abs(truth) + 16 * UNIT)


POLYGON = to.PiecewiseLinear([0.0, 0.5, 1.0], [1.0, 0.5 - 1e-8, 0.0])


def true_losses(law, base):
    """Carry losses of the innermost law outwards."""
    if isinstance(law, SubsampledPLD):
        inner = true_losses(law.base, base)
        carried = [(law.p * loss.expm1()).log1p() for loss in inner]
        lost = law.base.mass_at_minus_infinity > 0 and law.p < 1
        return [(-arb(law.p)).log1p(), *carried] if lost else carried
    if isinstance(law, ReversedPLD):
        return [-loss for loss in reversed(true_losses(law.base, base))]
    if isinstance(law, MixturePLD):
        return sorted((loss for _, part in law.parts for loss in true_losses(part, base)), key=float)
    return base


def chains():
    with ctx.workprec(BITS):
        near, far = (
            [ball(2 * Fraction(0.5 - 1e-8)).log(), (2 - 2 * arb(0.5 - 1e-8)).log()],
            [arb(-650), arb(650)],
        )
    polygon, pure = POLYGON.loss_distribution(), to.PureDP(650.0).loss_distribution()
    deep = polygon
    for _ in range(40):
        deep = ReversedPLD(SubsampledPLD(deep, 0.97))
    return {
        "polygon": (polygon, near),
        "thinned 1e-250": (SubsampledPLD(pure, 1e-250), far),
        "flipped": (ReversedPLD(SubsampledPLD(ReversedPLD(SubsampledPLD(pure, 1e-250)), 0.3)), far),
        "forty times": (deep, near),
        "mixed": (MixturePLD([(0.5, SubsampledPLD(pure, 0.1)), (0.5, SubsampledPLD(pure, 1e-260))]), far),
    }


@pytest.mark.parametrize("name", chains())
def test_losses_are_known_to_their_error_and_suprema_are_above(name):
    law, base = chains()[name]
    with ctx.workprec(BITS):
        truth = true_losses(law, base)
        for result, error, loss in zip(law.atoms.loss.tolist(), law.atoms.error.tolist(), truth, strict=True):
            assert abs(result - loss) <= error
        low, _, _, high = law.ends
        assert low <= truth[0]
        assert high >= truth[-1]
    assert high - low <= (law.support[1] - law.support[0]) * (1 + 1e-10)


@pytest.mark.parametrize(("epsilon", "n"), [(0.01, 100), (0.3, 1000), (2.0, 7)])
@pytest.mark.parametrize("rest", [2.0**-53, 2.0**-40, 1e-9, 1e-3, 0.3, 0.49])
def test_exact_beta_near_one_holds_truth(epsilon, n, rest):
    result, truth = (
        (to.PureDP(epsilon) ** n).bounds(1 - rest),
        Product(((PureDP(epsilon), n),)).beta(1 - rest),
    )
    check(result, truth)
    assert result.width <= 1e-8 * truth + 1e-19  # masses are known to units of themselves


@pytest.mark.parametrize("known", [True, False])
def test_leaking_masses_hold_truth(*, known):
    n = 300
    kept = log_finite_mass([0.1], [n])
    law = leaking(to.PureDP(1.0).loss_distribution(), -float(np.expm1(kept)), kept if known else None)
    for log_p, slack, e in zip(law.atoms.log_p.tolist(), law.atoms.slack.tolist(), (-1, 1), strict=True):
        truth = (1 - arb(0.1)) ** n / (1 + arb(e).exp())
        assert abs(arb(log_p).exp() - truth) <= truth * slack
    assert (float(np.max(law.atoms.slack)) < 1e-12) == known


def delta(e0, n, epsilon):
    """Return Q(L > epsilon) - e^epsilon P(L > epsilon) of the losses (2k - n) e0."""
    first = math.floor((Fraction(epsilon) / Fraction(e0) + n) / 2) + 1
    q, p = (1 / (1 + arb(side).exp()) for side in (-e0, e0))
    above_q, above_p = (each.beta_lower(arb(first), arb(n - first + 1), True) for each in (q, p))
    return above_q - arb(epsilon).exp() * above_p


@pytest.mark.parametrize(("n", "e0"), [(10**10, 1e-5), pytest.param(10**12, 1e-6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_answers_of_many_responses_hold_truth(n, e0, epsilon):
    curve = to.PureDP(e0) ** n
    low, high = curve.bounds.delta(epsilon)
    assert low <= delta(e0, n, epsilon) <= high < low * (1 + 1e-4)
    below, above = curve.bounds.epsilon(high).lower, curve.bounds.epsilon(low).upper
    assert below <= epsilon <= above < below + 1e-3


@pytest.mark.parametrize("rate", [1e-10 / 3, 7e-12])
@pytest.mark.parametrize("base", [to.TotalVariation(1e-300), to.approximate_dp(0.5, 1e-300)])
def test_masses_at_infinity_of_few_digits_add_up(base, rate):
    """A round has less than the normal floats at infinity, 10^12 rounds more than 1e-300: 1 - (1 - q)^n."""
    curve, n = to.subsample(base, rate) ** 10**12, 10**12
    low, high = curve.bounds.delta(np.array([5.0, 700.0, 9000.0]))
    with ctx.workprec(1500):
        truth = -(n * (-arb(1e-300) * arb(rate)).log1p()).expm1()
        assert all(truth <= arb(x) for x in high.tolist())
        assert all(arb(x) <= truth for x in low[1:].tolist())
        assert float(high[-1]) <= truth * (1 + arb(1e-9))
    assert np.all(low <= high)
