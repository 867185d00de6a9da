"""Integer noise and thresholded keys against sums of their masses."""

import itertools
import math

import mpmath as mp
import pytest

import tradeoff as to
from tests.mechanisms.reference import (
    dominated,
    has_profile,
    hockey_stick,
)
from tradeoff import mechanisms as m
from tradeoff.errors import SizeError, Undecided


@pytest.mark.parametrize(("variance", "shift"), [(0.01, 1), (1, 1), (30, 4)])
def test_skellam_has_the_profile_of_its_masses(variance, shift):
    with mp.workdps(60):
        v = mp.mpf(variance)
        pmf = {k: mp.exp(-v) * mp.besseli(k, v) for k in range(161)}
        p, q = ([pmf[abs(x - s)] for x in range(-150, 151)] for s in (0, shift))
    assert has_profile(m.Skellam(variance, shift).curve(), p, q)
    assert m.Skellam(variance, shift).curve().epsilon(0) == math.inf


@pytest.mark.parametrize(("coins", "shift"), [(1, 1), (10, 1), (10, 10), (300, 3)])
def test_binomial_noise_has_the_profile_of_its_masses(coins, shift):
    pmf = [mp.mpf(math.comb(coins, k)) / mp.mpf(2) ** coins for k in range(coins + 1)]
    nothing = [mp.mpf(0)] * shift
    curve = m.BinomialNoise(coins, shift).curve()
    assert has_profile(curve, pmf + nothing, nothing + pmf, losses=(-1.0, -0.05, 0.0, 0.1, 0.5, 2.0))
    least = mp.mpf(sum(math.comb(coins, k) for k in range(shift))) / mp.mpf(2) ** coins
    assert least in curve.mass_at_infinity
    assert mp.log(math.comb(coins, shift)) <= curve.sup_loss <= mp.log(math.comb(coins, shift)) + 1e-11


@pytest.mark.parametrize(("coins", "shift"), [(2**16, 3), (999, 400)])
def test_binomial_losses_and_masses_are_within_their_errors(coins, shift):
    law = m.BinomialNoise(coins, shift).curve().loss_distribution()
    for x in (0, 1, 7, 100, len(law.loss) // 2, -50, -2, -1):
        k = range(shift, coins + 1)[x]
        with mp.workdps(40):
            truth = mp.log(mp.mpf(math.comb(coins, k - shift)) / math.comb(coins, k))
            mass = mp.log(math.comb(coins, k)) - coins * mp.log(2)
            assert abs(law.loss[x] - truth) <= law.loss_error[x]
            assert abs(law.atoms.log_p[x] - mass) <= law.atoms.slack[x]


def test_integer_noise_near_the_normal_law_and_at_extremes():
    for curve in (m.Skellam(1e4).curve(), m.BinomialNoise(4 * 10**4).curve()):
        assert curve.epsilon(1e-6) == pytest.approx(to.Gaussian(0.01).epsilon(1e-6), rel=1e-3)
    assert m.BinomialNoise(3, 4).curve() == to.TotalVariation(1.0)
    with pytest.raises(SizeError, match="above the cap"):
        m.Skellam(1e12).curve().delta(0)
    with pytest.raises(SizeError, match="above the cap"):
        m.BinomialNoise(2**40).curve().delta(0)


@pytest.mark.parametrize(("square", "dimension"), [(2, 2), (4, 2), (5, 2), (3, 1)])
def test_discrete_gaussian_vector_contains_the_worst_of_all_shifts(square, dimension):
    with mp.workdps(30):
        line = [mp.exp(-(mp.mpf(k) ** 2) / 2 / mp.mpf(1.5) ** 2) for k in range(-15, 18)]
        mass = sum(line)

        def law(shift):
            return [mp.exp(-(mp.mpf(k - shift) ** 2) / 2 / mp.mpf(1.5) ** 2) / mass for k in range(-15, 18)]

        near = [
            s for s in itertools.product(range(3), repeat=dimension) if 0 < sum(x * x for x in s) <= square
        ]
        pairs = []
        for shifts in {tuple(sorted(s)) for s in near}:
            p, q = (
                [math.prod(each) for each in itertools.product(*laws)]
                for laws in ([law(0)] * dimension, [law(s) for s in shifts])
            )
            pairs.append((p, q))
        curve = m.DiscreteGaussianVector(1.5, square, dimension).curve()
        for e in (0.0, 0.5, 1.5):
            truth = max(hockey_stick(p, q, e) for p, q in pairs)
            assert truth <= curve.bounds.delta(e).upper
            assert truth >= curve.bounds.delta(e).lower * (1 - 1e-9)


def test_one_coordinate_is_the_worst_for_an_l1_sensitivity():
    for one, each in (
        (m.DiscreteLaplace(2, 3).curve(), m.DiscreteLaplace(2, 1).curve() @ m.DiscreteLaplace(2, 2).curve()),
        (m.Skellam(9, 3).curve(), m.Skellam(9, 1).curve() ** 3),
    ):
        for alpha in (0.01, 0.2, 0.5):
            assert one.bounds(alpha).lower <= each.bounds(alpha).upper


@pytest.mark.parametrize("shift", [10**7, 10**10])
def test_discrete_laplace_of_too_many_atoms_raises_size_error(shift):
    curve = m.DiscreteLaplace(1e6, shift).curve()
    assert curve.epsilon(0) == pytest.approx(shift / 1e6)
    with pytest.raises(SizeError, match="discrete Laplace noise shifted by"):
        curve.epsilon(1e-5)


def test_discrete_laplace_with_a_wider_shift_is_below_pure_dp():
    curve = m.DiscreteLaplace(scale=2, sensitivity=3).curve()
    assert curve.epsilon(0) == pytest.approx(1.5, rel=1e-12)
    assert curve.delta(0) < to.PureDP(1.5).delta(0)


def test_thresholded_keys_agree_with_opendp():
    # OpenDP's tests have (0.5, 6.854795431920434e-07) for scale 2 and threshold 28.
    curve = m.ThresholdedKeys(scale=2, threshold=28).curve()
    assert curve == to.Laplace(0.5) @ to.TotalVariation(curve.delta(0.5 + 1e-9))
    assert pytest.approx(curve.mass_at_infinity.upper, rel=1e-12) == 6.854795431920434e-07
    assert curve.epsilon(6.8548e-07) <= 0.5


@pytest.mark.parametrize("threshold", [2, 3.5, 6])
def test_thresholded_keys_dominate_a_shared_and_a_new_key(threshold):
    # One record adds 1 to a key both have (3 or 4, shown from the threshold on) and 1 to a new one.
    with mp.workdps(40):
        rate = mp.exp(-1 / mp.mpf(1.5))

        def seen(value):
            shown = {
                k: (1 - rate) / (1 + rate) * rate ** abs(k - value) for k in range(math.ceil(threshold), 24)
            }
            return {None: 1 - sum(shown.values()), **shown}

        p = {(a, None): x for a, x in seen(3).items()}
        q = {(a, b): x * y for (a, x), (b, y) in itertools.product(seen(4).items(), seen(1).items())}
        keys = p.keys() | q.keys()
        laws = ([law.get(key, mp.mpf(0)) for key in keys] for law in (p, q))
        curve = m.ThresholdedKeys(1.5, threshold, noise="geometric", keys=2).curve()
        assert dominated(curve, *laws, losses=(0.0, 0.5, 1.0, 1.4))


def test_thresholded_keys_of_each_noise():
    three = m.ThresholdedKeys(2, 10, noise="gaussian", keys=3, contribution=2)
    with mp.workdps(40):
        p = mp.ncdf(-4)
        assert three.curve().mass_at_infinity.upper >= 1 - (1 - p) ** 3
        assert three.curve().mass_at_infinity.upper <= (1 - (1 - p) ** 3) * (1 + mp.mpf("1e-10"))
    # Each of four keys moves by 1: less is lost than where one moves by 4.
    assert m.ThresholdedKeys(2, math.inf, keys=4).curve() == to.Laplace(0.5) ** 4
    whole = m.ThresholdedKeys(2, math.inf, noise="geometric", keys=4).curve()
    assert whole == m.DiscreteLaplace(2, 1).curve() ** 4
    assert whole.delta(1.0) < m.DiscreteLaplace(2, 4).curve().delta(1.0)


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 0.6])
def test_thresholded_keys_of_a_replaced_record_change_two_keys(epsilon):
    """Noise of scale 2, and a shift of 1 of each value: masses 1/2 and e^-1/2/2 at losses 1/2 and -1/2."""
    keys = m.ThresholdedKeys(scale=2, threshold=200, adjacency="replace-one")
    bounds = to.Plan({keys: 1}, adjacency="replace-one").guarantee().bounds.delta(epsilon)
    with mp.workdps(30):
        half = mp.mpf(1) / 2

        def one(e):
            return max(0, 1 - mp.exp((e - half) / 2)) if e > -half else 1 - mp.exp(e)

        inside = mp.quad(
            lambda x: mp.exp(x / 2 - half / 2) / 4 * one(epsilon - x),
            sorted({-half, *(p for p in (epsilon - half, half - epsilon) if abs(p) < half), half}),
        )
        truth = one(epsilon - half) / 2 + mp.exp(-half) / 2 * one(epsilon + half) + inside
        assert bounds.lower <= truth <= bounds.upper
    with pytest.raises(to.errors.PlanError, match="is stated for add-remove"):
        to.Plan({m.ThresholdedKeys(scale=2, threshold=200): 1}, adjacency="replace-one")


def test_mass_of_many_coins_below_all_floats_is_not_zero():
    curve = m.BinomialNoise(1100).curve()  # P(0 heads) = 2^-1100
    assert curve.mass_at_infinity.upper > 0
    assert curve.epsilon(0.0) == float("inf")
    with pytest.raises(Undecided):
        _ = curve >= to.PureDP(7.01)
