"""Losses of families with closed forms, against balls of many bits and against their own profiles."""

import math

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gumbel_l

import tradeoff as to
from tradeoff.families.laplace import BoundedRange

DELTAS = st.floats(1e-300, 1 - 2.0**-53) | st.floats(-300, -1e-9).map(lambda e: 10.0**e)
LOSSES = {
    "PureDP": (to.PureDP, lambda e, d: max(1 - d, (1 - d) * e.exp() - d).log()),
    "Laplace": (to.Laplace, lambda e, d: max((1 - d).log(), e + 2 * (1 - d).log())),
    "BoundedRange": (
        BoundedRange,
        lambda e, d: (
            e + 2 * (1 - (d * (1 - (-e).exp())).sqrt()).log() if d < 1 - (-e).exp() else (1 - d).log()
        ),
    ),
}


@pytest.mark.parametrize("name", LOSSES)
@given(epsilon=st.floats(1e-6, 1e4), delta=DELTAS)
def test_epsilon_of_bounded_losses_contains_truth(name, epsilon, delta):
    make, formula = LOSSES[name]
    low, high = make(epsilon).bounds.epsilon(delta)
    with ctx.workprec(30_000):
        truth = formula(arb(epsilon), arb(delta))
        assert arb(low) <= truth <= arb(high)
    assert high <= math.nextafter(low, math.inf)


@given(mu=st.floats(-6, 4).map(lambda e: 10.0**e), delta=DELTAS, power=st.sampled_from([1, 3, 7]))
def test_gaussian_epsilon_brackets_delta(mu, delta, power):
    """delta(x) = Phi(-a) - e^x Phi(-a - mu) falls through the given delta between two floats."""
    low, high = (to.Gaussian(mu) ** power).bounds.epsilon(delta)
    with ctx.workprec(2000):
        m = arb(power).sqrt() * arb(mu)
        profiles = []
        for x in map(arb, (low, high)):
            a = x / m - m / 2
            tails = [(z / arb(2).sqrt()).erfc() / 2 for z in (a, a + m)]
            profiles.append(tails[0] - x.exp() * tails[1])
        assert profiles[0] >= arb(delta) >= profiles[1]
    assert high <= math.nextafter(low, math.inf)


@pytest.mark.parametrize("shift", [1e-6, 0.3, 5.0])
@given(delta=DELTAS)
def test_mirrored_gumbel_epsilon_contains_truth(shift, delta):
    """delta(x) is (1 - e^-shift) e^(-(x + shift)/(e^shift - 1)) for x >= -shift, else 1 - e^x."""
    low, high = to.LocationShift(gumbel_l(), shift).bounds.epsilon(delta)
    with ctx.workprec(2000):
        theta, level = arb(shift), arb(delta)
        most = 1 - (-theta).exp()
        truth = -theta - (theta.exp() - 1) * (level / most).log() if level < most else (1 - level).log()
        assert arb(low) <= truth <= arb(high)
    assert high <= math.nextafter(low, math.inf)


@pytest.mark.parametrize(
    "f", [to.Gaussian(1.0), to.Laplace(1.0), to.PureDP(1.0), BoundedRange(1.0)], ids=repr
)
def test_epsilon_of_arrays_matches_scalars(f):
    delta = np.append(np.geomspace(1e-300, 0.5, 20), [0.9, 1 - 1e-9])
    low, high = f.bounds.epsilon(delta)
    assert [tuple(f.bounds.epsilon(d)) for d in delta.tolist()] == list(zip(low, high, strict=True))


def test_epsilon_of_total_variation_contains_truth():
    for f, mass in (
        (to.TotalVariation(0.25), arb(0.25)),
        (to.TotalVariation(0.1) ** 3, 1 - (1 - arb(0.1)) ** 3),
    ):
        low, high = f.bounds.epsilon(0.5)
        assert arb(low) <= (arb(0.5) / (1 - mass)).log() <= arb(high)
        assert high <= math.nextafter(low, 0.0)


LONG = np.concatenate([np.geomspace(1e-300, 0.5, 200), 1 - np.geomspace(1e-15, 0.5, 200), [0.0, 1.0]])


def cubed(mu):
    return to.Gaussian(mu) ** 3


@pytest.mark.parametrize("size", [1e-9, 0.3, 40.0, 800.0])
@pytest.mark.parametrize("family", [to.Laplace, to.PureDP, BoundedRange, to.Gaussian, cubed])
def test_long_arrays_contain_answers_to_single_points(family, size):
    """Long arrays are answered in floats, single points in balls."""
    f = family(size)
    losses = np.concatenate([size * (2 * LONG - 1), 3 * size * LONG, -700 * LONG])
    most = 1e-13 if family not in (to.Gaussian, cubed) else 3e-10 if size < 100 else 1e-8
    questions = (f.bounds, LONG), (f.bounds.delta, losses), (f.bounds.epsilon, LONG[LONG > 0])
    for question, at in questions:
        many, some = question(at), slice(None, None, 13)
        assert np.all(
            many.width <= most * np.maximum(np.maximum(np.abs(many.lower), np.abs(many.upper)), 1e-290)
        )
        single = [question(x) for x in at[some].tolist()]
        assert np.all(many.lower[some] <= [each.upper for each in single])
        assert np.all(many.upper[some] >= [each.lower for each in single])
        assert np.all(many.lower[some] <= [each.lower for each in single])
        assert np.all(many.upper[some] >= [each.upper for each in single])
