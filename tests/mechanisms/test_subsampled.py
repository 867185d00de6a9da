import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.mechanisms import reference
from tests.mechanisms.reference import SIGMA, Q, added, at_most, drawn, fixed, poisson, replaced, worst
from tradeoff import mechanisms as m
from tradeoff.mechanisms.subsampled import hits


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("group", [1, 2])
def test_poisson_samples_of_added_records_contain_the_worst_data_set(flipped, group):
    pairs = [(b, a) if flipped else (a, b) for a, b in added(4, group=group)]
    result = worst(lambda n: poisson(n, Q), pairs)
    sharp = m.SubsampledGaussian(SIGMA, 0.25, group_size=group).curve()
    loose = m.Subsampled(m.Gaussian(noise_multiplier=SIGMA), 0.25, group_size=group).curve()
    for curve, exact in ((sharp, True), (loose, False)):
        at_most(result, ~curve if flipped else curve, exact=exact)


@pytest.mark.slow
def test_samples_of_fixed_size_dominate_every_data_set_and_draws_are_narrow():
    curve = m.SubsampledGaussian(SIGMA, 0.5, "without-replacement").curve()
    at_most(worst(lambda n: fixed(n, 2), replaced(4)), curve, exact=False)
    # One order is attained, where all others are on the side of the record.
    least = reference.profile({0.0: 1}, {0.0: 0.5, 2.0: 0.5}, SIGMA)[2:]
    assert (least >= curve.bounds.delta(reference.EPSILON[2:]).lower - reference.ROUNDING).all()
    step = m.SubsampledGaussian(0.8, 0.001, "with-replacement", batch_size=10)
    guarantee = to.Plan({step: 1000}, adjacency="replace-one").guarantee()
    low, high = guarantee.bounds.epsilon(1e-5)
    below, above = guarantee.bounds.epsilon(1e-5, method="lattice")
    assert 0 <= high - low < 1e-7
    assert below <= high
    assert low <= above


def test_samples_of_replaced_records_dominate_every_data_set():
    step = m.SubsampledGaussian(SIGMA, Fraction(2, 3), "with-replacement", batch_size=2)
    assert step.adjacency == "replace-one"
    at_most(worst(lambda n: drawn(n, 2), replaced(3)), step.curve(), exact=False)
    result = worst(lambda n: poisson(n, Q), replaced(3))
    sharp = m.SubsampledGaussian(SIGMA, 0.25, adjacency="replace-one").curve()
    at_most(result, sharp, exact=True)
    loose = m.Subsampled(m.Gaussian(noise_multiplier=SIGMA / 2), 0.25, adjacency="replace-one").curve()
    at_most(result, loose, exact=False)


@settings(max_examples=30)
@given(st.integers(1, 30), st.floats(1e-6, 1, exclude_min=True))
def test_hits_are_rounded_towards_more(draws, chance):
    (weights, excess), p = hits(draws, chance), Fraction(chance)
    true = [math.comb(draws, j) * p**j * (1 - p) ** (draws - j) for j in range(draws + 1)]
    total, leak = sum(weights.values()), Fraction(excess)
    for j in range(draws + 1):
        tail = sum(w for k, w in weights.items() if k >= j) / total
        assert sum(true[j:]) <= leak + (1 - leak) * tail
        assert tail <= sum(true[j:]) * (1 + Fraction(1, 10**12)) + Fraction(1, 10**29)
    # Certain, impossible and single draws:
    assert hits(1000, 1.0) == ({1000: 1}, 0.0)
    assert hits(1000, 0.0)[0] == {0: 1}
    assert hits(1, 0.1) == ({0: 1 - Fraction(0.1), 1: Fraction(0.1)}, 0.0)


def test_subsampled_of_any_mechanism_is_the_sample_of_its_curve():
    lopsided = m.Custom(to.PiecewiseLinear([0, 0.3, 1], [0.9, 0.35, 0]))
    envelope = lopsided.curve().symmetrise(assume="either-order")
    for mechanism, curve in (
        (m.PureDP(1), to.subsample(to.PureDP(1), 0.5)),
        (m.Laplace(scale=2), m.SubsampledLaplace(2, 0.5).curve()),
        (lopsided, to.subsample(envelope, 0.5)),
    ):
        assert m.Subsampled(mechanism, 0.5).curve() == curve
    fixed_size = m.Subsampled(m.Laplace(scale=1), 0.5, "without-replacement").curve()
    assert fixed_size == m.SubsampledLaplace(2, 0.5, scheme="without-replacement").curve()
    drawn_once = m.SubsampledGaussian(1, 0.125, "with-replacement", batch_size=1).curve()
    assert drawn_once == m.SubsampledGaussian(1, 0.125, "without-replacement").curve()
    assert m.Subsampled(m.ShuffledRandomizers(1.0, 100), 0.1, "without-replacement").curve().epsilon(0) < 1
    # The order with the record absent under P; the other is bounded by -log(1 - p) from above.
    curve = m.SubsampledGaussian(noise_multiplier=1, sample_rate=0.1).curve()
    assert curve.epsilon(1e-6) > (~curve).epsilon(1e-6)


def test_groups_of_equal_curves_and_of_perfect_or_no_privacy():
    bases = m.Gaussian(noise_multiplier=math.inf), m.Custom(to.Identity()), m.ApproximateDP(0.0, 1.0)
    private, identity, leaking = (m.Subsampled(base, 0.5, group_size=3) for base in bases)
    cut = m.TruncatedSubsampledGaussian(math.inf, 0.5, 2, 4)
    for mechanism in (private, identity, cut, m.SubsampledLaplace(math.inf, 0.5, group_size=3)):
        assert mechanism.curve().delta(0.0) == pytest.approx(0.0, abs=1e-12)
    assert leaking.curve().delta(0.0) == pytest.approx(0.875, abs=1e-12)
    for delta, rate, k in ((0.6, 0.5, 3), (0.4, 0.5, 4), (0.6, 5e-13, 3), (1.0, 0.5, 2)):
        curve = m.Subsampled(m.ApproximateDP(0.0, delta), rate, group_size=k).curve()
        r, d = Fraction(rate), Fraction(delta)  # of j records min(1, j delta) is lost
        truth = sum(math.comb(k, j) * r**j * (1 - r) ** (k - j) * min(1, j * d) for j in range(k + 1))
        assert truth <= curve.bounds.delta(0.0).upper <= float(truth) * (1 + 1e-12)
