"""More rounds of randomised response than are listed, against the incomplete beta function."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

import tradeoff as to


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
    with ctx.workprec(400):
        truth = delta(e0, n, epsilon)
    assert low <= truth <= high < low * (1 + 1e-4)
    below, above = curve.bounds.epsilon(high).lower, curve.bounds.epsilon(low).upper
    assert below <= epsilon <= above < below + 1e-3


def test_epsilon_of_many_responses_is_near_mean_loss():
    """At delta = 1e-5 the loss is the mean and some 4.3 deviations, 8e-6 of the mean."""
    n = 10**12
    low, high = (to.PureDP(1.0) ** n).bounds.epsilon(1e-5)
    assert low <= n * math.tanh(0.5) < high < n * math.tanh(0.5) * (1 + 1e-5)


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
