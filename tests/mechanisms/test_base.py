import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tests.mechanisms.reference import dominated, truncated_delta
from tradeoff import mechanisms as m
from tradeoff.errors import SizeError, Undecided
from tradeoff.mechanisms.base import loss, ratio, root


@given(st.floats(1e-100, 1e100), st.floats(1e-100, 1e100))
def test_ratio_is_rounded_up_by_at_most_one_step(above, below):
    result = ratio(above, below)
    assert Fraction(result) * Fraction(below) >= Fraction(above)
    assert result <= math.nextafter(above / below, math.inf)


@pytest.mark.parametrize(
    ("noise", "moves", "mu"),
    [(10, 5, 0.5), (2, [6, 8], 5), ([2, 1], [6, 4], 5), ([0.5, math.inf], None, 2), (3, 0, 0)],
)
def test_gaussian_of_vectors_has_the_norm_of_its_quotients(noise, moves, mu):
    keys = {} if moves is None else {"sensitivity": moves}
    mechanism = m.Gaussian(noise_multiplier=noise, **keys)
    assert mechanism.curve() == to.Gaussian(mu)
    arrays = {name: np.array(value, float) if np.ndim(value) else value for name, value in keys.items()}
    noise = np.array(noise, float) if np.ndim(noise) else noise
    assert m.Gaussian(noise_multiplier=noise, **arrays) == mechanism


@pytest.mark.parametrize("kind", [m.TruncatedLaplace, m.TruncatedGaussian], ids=lambda each: each.kind)
@pytest.mark.parametrize(("scale", "shift", "cut"), [(1, 1, 5), (0.3, 1, 0.6), (2, 1e-3, 40), (1, 0.25, 30)])
def test_truncated_noise_bounds_contain_the_exact_profile(kind, scale, shift, cut):
    curve = kind(scale, bound=cut, sensitivity=shift).curve()
    assert curve.symmetric
    for epsilon in (-1.0, 0.0, 1e-3, 0.9, 3.3333):
        truth = truncated_delta(kind.normal, scale, shift, cut, epsilon)
        bounds = curve.bounds.delta(epsilon)
        assert truth in bounds
        assert bounds.width <= 1e-9 * truth
    for alpha in (0.0, 1e-7, 0.1, 0.6, 1.0):
        # f is the greatest of all lines 1 - delta(x) - e^x alpha; any of them bounds it from below.
        lines = [1 - curve.bounds.delta(x).upper - math.exp(x) * alpha for x in np.linspace(-4, 4, 33)]
        assert curve.bounds(alpha).upper >= max(lines) - 1e-15
        assert curve.bounds(alpha).lower <= 1 - alpha


@pytest.mark.parametrize(("scale", "width", "shift"), [(1, 10, 1), (2, 3, 3), (0.5, 1, 0.25)])
def test_bounded_laplace_loss_is_the_largest_log_ratio(scale, width, shift):
    def within(q):
        return 1 - (math.exp(-q / scale) + math.exp(-(width - q) / scale)) / 2

    starts = np.linspace(0, width - shift, 101)
    flipped = [math.log(within(a) / within(b)) for q in starts for a, b in ((q, q + shift), (q + shift, q))]
    epsilon = m.BoundedLaplace(scale, width=width, sensitivity=shift).curve().epsilon(0)
    assert epsilon == pytest.approx(shift / scale + max(flipped), rel=1e-12)
    for third in (1 / 3, 0.3):  # a width equal to the sensitivity
        assert m.BoundedLaplace(scale=1, width=third, sensitivity=third).width >= third


@pytest.mark.parametrize(("coins", "shift"), [(2**16, 3), (999, 400)])
def test_binomial_losses_and_masses_are_within_their_errors(coins, shift):
    law = m.BinomialNoise(coins, shift).curve().loss_distribution()
    for x in (0, 1, 7, 100, len(law.loss) // 2, -50, -2, -1):
        k = range(shift, coins + 1)[x]
        with mp.workdps(40):
            truth = mp.log(mp.mpf(math.comb(coins, k - shift)) / math.comb(coins, k))
            mass = mp.log(math.comb(coins, k)) - coins * mp.log(2)
            assert abs(law.loss[x] - truth) <= law.atoms.error[x]
            assert abs(law.atoms.log_p[x] - mass) <= law.atoms.slack[x]


def test_losses_are_rounded_up_and_integer_noise_is_near_the_normal_law():
    for curve in (m.Skellam(1e4).curve(), m.BinomialNoise(4 * 10**4).curve()):
        assert curve.epsilon(1e-6) == pytest.approx(to.Gaussian(0.01).epsilon(1e-6), rel=1e-3)
    assert m.BinomialNoise(3, 4).curve() == to.TotalVariation(1.0)
    for shift in (10**7, 10**10):  # too many atoms
        curve = m.DiscreteLaplace(1e6, shift).curve()
        assert curve.epsilon(0) == pytest.approx(shift / 1e6)
        with pytest.raises(SizeError, match="discrete Laplace noise shifted by"):
            curve.epsilon(1e-5)
    curve = m.BinomialNoise(1100).curve()  # P(0 heads) = 2^-1100
    assert curve.mass_at_infinity.upper > 0
    assert curve.epsilon(0.0) == float("inf")
    with pytest.raises(Undecided):
        _ = curve >= to.PureDP(7.01)
    for one, each in (
        (m.DiscreteLaplace(2, 3).curve(), m.DiscreteLaplace(2, 1).curve() @ m.DiscreteLaplace(2, 2).curve()),
        (m.Skellam(9, 3).curve(), m.Skellam(9, 1).curve() ** 3),
    ):
        for alpha in (0.01, 0.2, 0.5):
            assert one.bounds(alpha).lower <= each.bounds(alpha).upper
    for moves in ([0.1, 0.2, 0.3], [1e-200, 1e-180], [9e3, 4e3, 1.0], [3.0, 4.0], [1e-320, 1e-320]):
        assert Fraction(loss(moves, 1.0)) ** 2 >= sum(Fraction(v) ** 2 for v in moves)
        assert loss(moves, 1.0) <= math.hypot(*moves) * (1 + 1e-15) + 5e-324
    for square in (2, 3, 4, 40):
        assert square <= Fraction(root(Fraction(square))) ** 2 <= square * (1 + Fraction(1, 2**51))
    for coins, shift in ((1, 1), (10, 1), (10, 10), (300, 3)):
        curve = m.BinomialNoise(coins, shift).curve()
        least = mp.mpf(sum(math.comb(coins, k) for k in range(shift))) / mp.mpf(2) ** coins
        assert least in curve.mass_at_infinity
        assert mp.log(math.comb(coins, shift)) <= curve.sup_loss <= mp.log(math.comb(coins, shift)) + 1e-11


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


def test_thresholded_keys_of_each_noise_agree_with_opendp():
    three = m.ThresholdedKeys(2, 10, noise="gaussian", keys=3, contribution=2).curve()
    with mp.workdps(40):
        shown = 1 - (1 - mp.ncdf(-4)) ** 3
        assert shown <= three.mass_at_infinity.upper <= shown * (1 + mp.mpf("1e-10"))
    # Each of four keys moves by 1: less is lost than where one moves by 4.
    assert m.ThresholdedKeys(2, math.inf, keys=4).curve() == to.Laplace(0.5) ** 4
    whole = m.ThresholdedKeys(2, math.inf, noise="geometric", keys=4).curve()
    assert whole == m.DiscreteLaplace(2, 1).curve() ** 4
    assert whole.delta(1.0) < m.DiscreteLaplace(2, 4).curve().delta(1.0)
    # OpenDP's tests have (0.5, 6.854795431920434e-07) for scale 2 and threshold 28.
    curve = m.ThresholdedKeys(scale=2, threshold=28).curve()
    assert curve == to.Laplace(0.5) @ to.TotalVariation(curve.delta(0.5 + 1e-9))
    assert pytest.approx(curve.mass_at_infinity.upper, rel=1e-12) == 6.854795431920434e-07
    assert curve.epsilon(6.8548e-07) <= 0.5


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
