"""Mechanisms that do not sample, each against sums, integrals or fractions computed apart from its curve."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import tradeoff as to
from tests.mechanisms.test_selection import dominated, hockey_stick
from tradeoff import mechanisms as m
from tradeoff.errors import DomainError, KindError, SizeError
from tradeoff.mechanisms.base import loss, root

LOSSES = (-2.0, -0.3, 0.0, 0.1, 0.45, 0.9, 1.0, 1.7, 3.3)


def exact(curve, p, q, losses=LOSSES):
    """Whether the curve has the profile of the pair in both orders, but for vertices rounded to below."""
    for e in losses:
        for f, one, two in ((curve, p, q), (~curve, q, p)):
            bounds, truth = f.bounds.delta(e), hockey_stick(one, two, e)
            if not (truth - mp.mpf("1e-30") <= bounds.upper <= truth * (1 + 1e-9) + 1e-14):
                return False
            if not (bounds.lower <= truth * (1 + 1e-14) + 1e-15):
                return False
    return True


# Normal noise: one sensitivity, one mu.


def test_gaussian_noise_on_vectors():
    assert m.Gaussian(10, sensitivity=5).curve() == to.Gaussian(0.5)
    assert m.Gaussian(2, sensitivity=[6, 8]).curve() == to.Gaussian(5)
    assert m.Gaussian([2, 1], sensitivity=[6, 4]).curve() == to.Gaussian(5)
    assert m.Gaussian([0.5, math.inf]).curve() == to.Gaussian(2)
    assert m.Gaussian(3, sensitivity=0).curve() == to.Gaussian(0)
    assert m.Gaussian(np.array([2.0, 1.0]), sensitivity=(6, 4)) == m.Gaussian([2, 1], sensitivity=[6, 4])


def test_loss_and_root_are_rounded_up():
    for moves in ([0.1, 0.2, 0.3], [1e-200, 1e-180], [9e3, 4e3, 1.0], [3.0, 4.0], [1e-320, 1e-320]):
        assert Fraction(loss(moves, 1.0)) ** 2 >= sum(Fraction(v) ** 2 for v in moves)
        assert loss(moves, 1.0) <= math.hypot(*moves) * (1 + 1e-15) + 5e-324
    assert root(Fraction(2)) == math.nextafter(math.sqrt(2), 0) or Fraction(root(Fraction(2))) ** 2 >= 2


@pytest.mark.parametrize("steps", range(1, 70))
def test_a_step_of_a_tree_is_in_so_many_nodes(steps):
    # Complete nodes are the dyadic blocks that end by the last step.
    nodes = [0] * steps
    for level in range(8):
        for start in range(0, steps - 2**level + 1, 2**level):
            for leaf in range(start, start + 2**level):
                nodes[leaf] += 1
    assert m.TreeAggregation(1, steps).curve() == to.Gaussian(root(Fraction(max(nodes))))


def test_a_tree_is_a_matrix():
    C = np.array(
        [[start <= j < start + w for j in range(8)] for w in (1, 2, 4, 8) for start in range(0, 8, w)]
    )
    sensitivity = float(np.linalg.norm(C.astype(float), axis=0).max())
    assert m.MatrixMechanism(5, sensitivity).curve() == m.TreeAggregation(5, 8).curve()


@pytest.mark.parametrize("c", [0.0, 0.3, 0.9, 0.999999])
@pytest.mark.parametrize("steps", [1, 2, 7, 1000])
def test_the_last_iterate_of_quadratic_losses(c, steps):
    # x -> c x + s + z: the means are s (1 + ... + c^(t-1)) apart, the variance is 1 + ... + c^(2(t-1)).
    with mp.workdps(40):
        each = mp.mpf(c)
        apart, variance = (sum(b**j for j in range(steps)) for b in (each, each**2))
        mu = apart / mp.sqrt(variance) / 3
    result = m.LastIterate(3, steps, contraction=c).curve().mu
    assert mu <= result <= mu * (1 + mp.mpf("1e-12"))


@pytest.mark.parametrize("diameter", [0.5, 3.0, 40.0, 1000.0])
def test_the_last_iterate_in_a_bounded_set(diameter):
    # For convex losses: mu^2 = 3 diameter + ceil(diameter) at most, and no less than 4 diameter allows.
    result = m.LastIterate(1, 10**6, diameter=diameter).curve().mu
    assert result**2 <= (3 * diameter + math.ceil(diameter)) * (1 + 1e-12)
    assert result**2 >= 4 * diameter
    assert m.LastIterate(1, 10, diameter=1000).curve().mu == pytest.approx(math.sqrt(10))
    both = m.LastIterate(1, 10**6, contraction=0.9, diameter=diameter).curve().mu
    assert both <= min(result, m.LastIterate(1, 10**6, contraction=0.9).curve().mu) * (1 + 1e-12)


@pytest.mark.parametrize("diameter", [0.3, 2.0, 9.0])
@pytest.mark.parametrize("c", [0.5, 0.95])
def test_every_number_of_last_steps_gives_a_bound(c, diameter):
    # The least shifts by projection: a_j is a multiple of c^j, made up for as in the notes.
    with mp.workdps(30):
        each = mp.mpf(c)
        values = []
        for n in range(1, 60):
            shift = each**n * diameter + sum(each**j for j in range(n))
            weights = [each**j for j in range(n)]
            scale = shift / sum(w**2 for w in weights)
            assert abs(sum(w * scale * w for w in weights) - shift) < 1e-20
            values.append(mp.sqrt(sum((scale * w) ** 2 for w in weights)))
        free = mp.sqrt((1 - each**60) * (1 + each) / ((1 + each**60) * (1 - each)))
    result = m.LastIterate(1, 60, contraction=c, diameter=diameter).curve().mu
    assert min([*values, free]) <= result <= min([*values, free]) * (1 + mp.mpf("1e-12"))


def test_extremes_of_normal_noise():
    steps = 10**12
    assert m.TreeAggregation(1, steps).curve() == to.Gaussian(root(Fraction(40)))
    assert (
        m.TreeAggregation(math.inf, steps).curve() == m.LastIterate(math.inf, steps).curve() == to.Gaussian(0)
    )
    assert m.LastIterate(1e6, steps).curve().mu == pytest.approx(1.0)
    assert m.LastIterate(1, steps, contraction=0.5).curve().mu == pytest.approx(math.sqrt(3))


# Noise of bounded support.


def distribution(normal, scale):
    return (
        (lambda x: mp.ncdf(x / scale))
        if normal
        else (lambda x: mp.exp(x / scale) / 2 if x < 0 else 1 - mp.exp(-x / scale) / 2)
    )


def truncated_delta(normal, scale, shift, cut, epsilon):
    """Return delta of noise on [-cut, cut], in 220 digits."""
    with mp.workdps(220):
        scale, shift, cut, epsilon = map(mp.mpf, (scale, shift, cut, epsilon))
        cdf = distribution(normal, scale)
        kept = cdf(cut) - cdf(-cut)

        # Where the loss is epsilon; Laplace losses are constant outside [0, shift].
        if normal:
            place = scale**2 * epsilon / shift + shift / 2
        else:
            place = (shift + scale * epsilon) / 2 if abs(epsilon) < shift / scale else cut * mp.sign(epsilon)
        threshold = min(max(place, shift - cut), cut)
        q = (cdf(cut) - cdf(threshold - shift)) / kept
        return q - mp.exp(epsilon) * (cdf(cut) - cdf(threshold)) / kept


@pytest.mark.parametrize("kind", [m.TruncatedLaplace, m.TruncatedGaussian], ids=lambda each: each.kind)
@pytest.mark.parametrize(("scale", "shift", "cut"), [(1, 1, 5), (0.3, 1, 0.6), (2, 1e-3, 40), (1, 0.25, 30)])
def test_truncated_noise(kind, scale, shift, cut):
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


@pytest.mark.slow
def test_truncation_takes_nothing_far_out_and_everything_at_once():
    far = m.TruncatedGaussian(1, bound=30).curve()
    assert far.bounds(0.1).width < 1e-12
    assert abs(far(0.1) - to.Gaussian(1)(0.1)) < 1e-12
    assert m.TruncatedLaplace(1, bound=0.5).curve() == to.TotalVariation(1.0)
    assert 0.999 < m.TruncatedLaplace(1e-3, bound=0.5001).curve().delta(0) <= 1
    for kind in (m.TruncatedLaplace, m.TruncatedGaussian):
        assert kind(1, bound=1e9).curve().mass_at_infinity.upper <= 1e-300
        assert kind(1e-6, bound=1).curve().delta(1.0) == 1
        assert 0.5 <= kind(100, bound=1).curve().delta(0.5) <= 0.51
    assert m.ThresholdedKeys(1, 1e9, noise="gaussian").curve().mass_at_infinity.upper <= 1e-300
    twice = m.TruncatedGaussian(2, bound=30).curve() ** 2
    assert twice.epsilon(1e-3) >= to.Gaussian(math.sqrt(0.5)).bounds.epsilon(1e-3).lower


@pytest.mark.parametrize(("scale", "width", "shift"), [(1, 10, 1), (2, 3, 3), (0.5, 1, 0.25)])
def test_bounded_laplace_noise_has_that_largest_loss(scale, width, shift):
    def within(q):
        return 1 - (math.exp(-q / scale) + math.exp(-(width - q) / scale)) / 2

    starts = np.linspace(0, width - shift, 101)
    turned = [math.log(within(a) / within(b)) for q in starts for a, b in ((q, q + shift), (q + shift, q))]
    epsilon = m.BoundedLaplace(scale, width=width, sensitivity=shift).curve().epsilon(0)
    assert epsilon == pytest.approx(shift / scale + max(turned), rel=1e-12)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-0.5, 3), (-40, 40), (2, 2.5)])
def test_conditioned_normal_noise_is_no_easier_to_tell_apart(low, high):
    sigma, shift = 2.0, 1.0
    curve = m.BoundedGaussian(sigma / shift).curve()
    with mp.workdps(30):

        def tails(mean, x):
            cdf = [mp.ncdf((mp.mpf(each) - mean) / sigma) for each in (low, x, high)]
            return (cdf[2] - cdf[1]) / (cdf[2] - cdf[0]), (cdf[1] - cdf[0]) / (cdf[2] - cdf[0])

        for mean in (-1.0, 0.0, 0.3, 2.0):
            for x in np.linspace(low, high, 9):
                alpha, beta = tails(mean, x)[0], tails(mean + shift, x)[1]
                assert beta >= curve.bounds(float(alpha)).lower - 1e-14


# Keys that are not known in advance.


def test_thresholded_counts_of_a_peer():
    # OpenDP's tests have (0.5, 6.854795431920434e-07) for scale 2 and threshold 28.
    curve = m.ThresholdedKeys(scale=2, threshold=28).curve()
    assert curve == to.Laplace(0.5) @ to.TotalVariation(curve.delta(0.5 + 1e-9))
    assert pytest.approx(curve.mass_at_infinity.upper, rel=1e-12) == 6.854795431920434e-07
    assert curve.epsilon(6.8548e-07) <= 0.5


@pytest.mark.parametrize("threshold", [2, 3.5, 6])
def test_thresholded_counts_of_a_shared_and_a_new_key(threshold):
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
def test_a_replaced_record_leaves_a_key_and_enters_another(epsilon):
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


# Randomised answers.


@pytest.mark.parametrize(("k", "d"), [(2, 1), (5, 1), (5, 2), (6, 4), (7, 3)])
def test_subsets_by_counting(k, d):
    with mp.workdps(40):
        e = mp.exp(1)
        subsets = list(itertools.combinations(range(k), d))
        p, q = ([e if answer in s else mp.mpf(1) for s in subsets] for answer in (0, 1))
        p, q = [x / sum(p) for x in p], [x / sum(q) for x in q]
    assert exact(m.SubsetSelection(1, k, d).curve(), p, q)


@pytest.mark.parametrize("hashes", [1, 2])
def test_bit_vectors_by_counting(hashes):
    with mp.workdps(40):
        kept = mp.exp(mp.mpf(1) / (2 * hashes))
        one, two = [1] * hashes + [0] * hashes, [0] * hashes + [1] * hashes

        def law(record):
            answers = itertools.product((0, 1), repeat=2 * hashes)
            return [
                mp.fprod(kept if a == b else 1 for a, b in zip(record, s, strict=True))
                / (1 + kept) ** (2 * hashes)
                for s in answers
            ]

        p, q = law(one), law(two)
    assert exact(m.Rappor(1, hashes=hashes).curve(), p, q)


def staircase(epsilon, gamma, shift):
    """Masses of a staircase of unit steps and of its shift, on quarters of steps."""
    with mp.workdps(40):
        r, g = mp.exp(-mp.mpf(epsilon)), mp.mpf(gamma)

        def density(x):
            k = int(mp.floor(abs(x)))
            return r ** (k + (abs(x) - k >= g))

        steps, reach = 4, 60
        middles = [(mp.mpf(i) + 0.5) / steps for i in range(-reach * steps, reach * steps)]
        p, q = [density(x) for x in middles], [density(x - shift) for x in middles]
        total = 2 * sum(density((mp.mpf(i) + 0.5) / steps) for i in range(100 * steps))
        return [x / total for x in p], [x / total for x in q]


@pytest.mark.parametrize("gamma", [0.0, 0.25, 0.5, 0.75, pytest.param(1.0, marks=pytest.mark.slow)])
def test_staircase_noise_by_its_steps(gamma):
    p, q = staircase(1.0, gamma, 1)
    curve = m.Staircase(1, gamma=gamma).curve()
    for e in LOSSES:
        assert abs(hockey_stick(p, q, e) - curve.bounds.delta(e).upper) < 1e-13
    assert dominated(curve, *staircase(1.0, gamma, 0.5))
    best = m.Staircase(1).curve()
    assert best == m.Staircase(1, gamma=1 / (1 + math.exp(0.5))).curve() or best.delta(0) < to.PureDP(
        1
    ).delta(0)


@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 1e-12, 1e-6, 50.0, 700.0])
@pytest.mark.parametrize(
    "make", [m.Staircase, lambda e: m.Staircase(e, 0.9), lambda e: m.SubsetSelection(e, 9, 3), m.Rappor]
)
def test_extreme_losses_of_answers(make, epsilon):
    curve = make(epsilon).curve()
    assert curve.symmetric
    assert epsilon <= curve.epsilon(0) <= epsilon * (1 + 1e-13) + 1e-13
    assert curve.delta(0) <= to.PureDP(epsilon).delta(0) + 1e-14


# Integer noise.


@pytest.mark.parametrize(("variance", "shift"), [(0.01, 1), (1, 1), (30, 4)])
def test_skellam_noise(variance, shift):
    with mp.workdps(60):
        v = mp.mpf(variance)
        pmf = {k: mp.exp(-v) * mp.besseli(k, v) for k in range(161)}
        p, q = ([pmf[abs(x - s)] for x in range(-150, 151)] for s in (0, shift))
    assert exact(m.Skellam(variance, shift).curve(), p, q)
    assert m.Skellam(variance, shift).curve().epsilon(0) == math.inf


@pytest.mark.parametrize(("coins", "shift"), [(1, 1), (10, 1), (10, 10), (300, 3)])
def test_binomial_noise(coins, shift):
    pmf = [mp.mpf(math.comb(coins, k)) / mp.mpf(2) ** coins for k in range(coins + 1)]
    nothing = [mp.mpf(0)] * shift
    curve = m.BinomialNoise(coins, shift).curve()
    assert exact(curve, pmf + nothing, nothing + pmf, losses=(-1.0, -0.05, 0.0, 0.1, 0.5, 2.0))
    least = mp.mpf(sum(math.comb(coins, k) for k in range(shift))) / mp.mpf(2) ** coins
    assert least in curve.mass_at_infinity
    assert mp.log(math.comb(coins, shift)) <= curve.sup_loss <= mp.log(math.comb(coins, shift)) + 1e-11


@pytest.mark.parametrize(("coins", "shift"), [(2**16, 3), (999, 400)])
def test_losses_of_binomial_noise_are_where_they_are_said_to_be(coins, shift):
    law = m.BinomialNoise(coins, shift).curve().loss_distribution()
    for x in (0, 1, 7, 100, len(law.loss) // 2, -50, -2, -1):
        k = range(shift, coins + 1)[x]
        with mp.workdps(40):
            truth = mp.log(mp.mpf(math.comb(coins, k - shift)) / math.comb(coins, k))
            mass = mp.log(math.comb(coins, k)) - coins * mp.log(2)
            assert abs(law.loss[x] - truth) <= law.loss_error[x]
            assert abs(law.atoms.log_p[x] - mass) <= law.atoms.slack[x]


def test_integer_noise_near_the_normal_law_and_at_its_ends():
    for curve in (m.Skellam(1e4).curve(), m.BinomialNoise(4 * 10**4).curve()):
        assert curve.epsilon(1e-6) == pytest.approx(to.Gaussian(0.01).epsilon(1e-6), rel=1e-3)
    assert m.BinomialNoise(3, 4).curve() == to.TotalVariation(1.0)
    assert m.Skellam(1e-300).curve().delta(0) == pytest.approx(1)
    with pytest.raises(SizeError, match="above the cap"):
        m.Skellam(1e12).curve().delta(0)
    with pytest.raises(SizeError, match="above the cap"):
        m.BinomialNoise(2**40).curve().delta(0)


@pytest.mark.parametrize(("square", "dimension"), [(2, 2), (4, 2), (5, 2), (3, 1)])
def test_vectors_of_discrete_noise_over_all_shifts(square, dimension):
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


def test_an_l1_sensitivity_is_worst_on_one_coordinate():
    for one, each in (
        (m.DiscreteLaplace(2, 3).curve(), m.DiscreteLaplace(2, 1).curve() @ m.DiscreteLaplace(2, 2).curve()),
        (m.Skellam(9, 3).curve(), m.Skellam(9, 1).curve() ** 3),
    ):
        for alpha in (0.01, 0.2, 0.5):
            assert one.bounds(alpha).lower <= each.bounds(alpha).upper


# Noise made for a curve.


@pytest.mark.parametrize(
    "curve",
    [to.PureDP(1), to.Gaussian(0.5), to.Laplace(2), to.approximate_dp(1, 0.1), to.TotalVariation(0.3)],
)
def test_canonical_noise_shifts_by_the_curve(curve):
    # F(x - 1) = f(1 - F(x)), asked at the quantile of 1 - alpha.
    noise, alpha = m.CanonicalNoise(curve, sensitivity=3), np.array([1e-6, 1e-3, 0.05, 0.3, 0.45])
    assert np.allclose(noise.quantile(curve(alpha)), noise.quantile(1 - alpha) - 3, rtol=0, atol=1e-7)
    assert np.allclose(noise.quantile(alpha), -noise.quantile(1 - alpha), rtol=0, atol=1e-7)
    assert noise.curve() == curve


def test_canonical_noise_of_pure_dp_is_the_tulap_law():
    # Its cdf, Awan and Slavkovic 2018: b^-[x]/(1 + b) (b + (x - [x] + 1/2)(1 - b)) for x <= 0, b = e^-eps.
    b, x = math.exp(-1), np.array([-7.3, -2.5001, -1.2, -0.4, 0.0])
    near = np.round(x)
    cdf = b**-near / (1 + b) * (b + (x - near + 0.5) * (1 - b))
    assert np.allclose(m.CanonicalNoise(to.PureDP(1)).quantile(cdf), x, rtol=0, atol=1e-9)


@pytest.mark.parametrize("curve", [to.Gaussian(1), to.Gaussian(0.6) @ to.Laplace(0.5)])
def test_drawn_canonical_noise_keeps_its_curve(curve):
    # The empirical cdf of 2000 draws is within 0.07 of the true one but for a chance of 7e-9 (Massart 1990).
    drawn, band = np.sort(m.CanonicalNoise(curve).sample(2000, np.random.default_rng(7))), 0.07
    cdf = np.searchsorted(drawn, np.linspace(-1, 2, 13)) / 2000
    shifted = np.searchsorted(drawn, np.linspace(-1, 2, 13) - 1) / 2000
    alpha = np.clip(1 - cdf, 0, 1)
    low, high = curve(np.minimum(alpha + band, 1)), curve(np.maximum(alpha - band, 0))
    assert np.all((low - band <= shifted) & (shifted <= high + band))


BAD = [
    (
        lambda: m.Gaussian([1, 2], sensitivity=3),
        "sensitivity must be a list of 2 numbers, one for each coordinate, got 3.0",
    ),
    (lambda: m.Gaussian([]), "noise_multiplier must be a list of at least one real number, got []"),
    (lambda: m.Gaussian(1, sensitivity=[1, -1]), "sensitivity[1] must be in [0, inf), got -1"),
    (lambda: m.Gaussian(1, sensitivity="1"), "sensitivity must be one real number, got '1'"),
    (lambda: m.TreeAggregation(1, 0), "steps must be an integer from 1, got 0"),
    (lambda: m.TreeAggregation(0, 1), "noise_multiplier must be in (0, inf], got 0"),
    (lambda: m.MatrixMechanism(1, math.inf), "sensitivity must be in [0, inf), got inf"),
    (lambda: m.LastIterate(1, 2.5), "steps must be an integer from 1, got 2.5"),
    (lambda: m.LastIterate(1, 2, contraction=1.1), "contraction must be in [0, 1], got 1.1"),
    (lambda: m.LastIterate(1, 2, diameter=-1), "diameter must be in [0, inf], got -1"),
    (lambda: m.TruncatedLaplace(1, bound=0), "bound must be in (0, inf), got 0"),
    (lambda: m.TruncatedLaplace(math.inf, bound=1), "scale must be in (0, inf), got inf"),
    (lambda: m.TruncatedGaussian(0, bound=1), "scale must be in (0, inf), got 0"),
    (
        lambda: m.BoundedLaplace(1, width=0.5),
        "width must be in [1, inf), got 0.5; answers of neighbours differ by the sensitivity",
    ),
    (lambda: m.BoundedGaussian(math.nan), "noise_multiplier must be in (0, inf], got nan"),
    (lambda: m.ThresholdedKeys(1, 1), "threshold must be in (1, inf], got 1"),
    (
        lambda: m.ThresholdedKeys(1, 5, noise="cauchy"),
        "noise must be one of 'laplace', 'gaussian', 'geometric', got 'cauchy'",
    ),
    (lambda: m.ThresholdedKeys(1, 5, keys=0), "keys must be an integer from 1 to 9007199254740992, got 0"),
    (
        lambda: m.ThresholdedKeys(1, 5, noise="geometric", contribution=1.5),
        "contribution must be an integer from 1 to 9007199254740992, got 1.5",
    ),
    (lambda: m.Rappor(701), "epsilon must be in [0, 700], got 701"),
    (lambda: m.Rappor(1, hashes=0), "hashes must be an integer from 1 to 9007199254740992, got 0"),
    (lambda: m.SubsetSelection(1, 5, 5), "size must be an integer from 1 to 4, got 5"),
    (lambda: m.SubsetSelection(1, 1, 1), "categories must be an integer from 2 to 9007199254740992, got 1"),
    (lambda: m.Staircase(1, gamma=2), "gamma must be in [0, 1], got 2"),
    (lambda: m.Staircase(math.inf), "epsilon must be in [0, 700], got inf"),
    (lambda: m.Skellam(0), "variance must be in (0, inf), got 0"),
    (lambda: m.BinomialNoise(0), "coins must be an integer from 1 to 9007199254740992, got 0"),
    (
        lambda: m.DiscreteGaussianVector(1, 33, 2),
        "squared_sensitivity must be an integer from 1 to 32, got 33",
    ),
    (
        lambda: m.DiscreteGaussianVector(1, 3, 0),
        "dimension must be an integer from 1 to 9007199254740992, got 0",
    ),
    (
        lambda: m.CanonicalNoise(to.Identity()),
        "curve must be below the identity, got Id",
    ),
    (
        lambda: m.CanonicalNoise(to.subsample(to.Gaussian(1), 0.1)),
        "curve must be symmetric, got subsample(G_{1}, 0.1) (one order)",
    ),
    (
        lambda: m.CanonicalNoise(to.PureDP(1e-5)).sample(1, np.random.default_rng(1)),
        "CanonicalNoise(curve=f_{1e-05,0}",
    ),
    (
        lambda: m.CanonicalNoise(to.PureDP(1)).quantile([0.5, 1]),
        "probability must be in (0, 1), got [0.5, 1]",
    ),
    (
        lambda: m.CanonicalNoise(to.PureDP(1)).sample(-3, np.random.default_rng(1)),
        "size must be the shape of an array, got -3; negative dimensions are not allowed",
    ),
    (
        lambda: m.BestOfRuns(m.Gaussian(10), mean=1e12, shape=-0.99).curve(),
        "mean = 1000000000000.0 with shape = -0.99 is out of range; give a smaller mean, or a larger sha",
    ),
    (lambda: to.Plan({m.Laplace(2): 10**5000}), "the count of Laplace(scale=2.0"),
]


def test_noise_takes_a_generator():
    with pytest.raises(KindError, match=r"rng must be a numpy\.random\.Generator, got None"):
        m.CanonicalNoise(to.PureDP(1)).sample(3, None)


@pytest.mark.parametrize("shift", [10**7, 2**53])
def test_discrete_laplace_noise_of_too_many_atoms_is_told(shift):
    curve = m.DiscreteLaplace(1e6, shift).curve()
    assert curve.epsilon(0) == pytest.approx(shift / 1e6)
    with pytest.raises(SizeError, match="discrete Laplace noise shifted by"):
        curve.epsilon(1e-5)


@pytest.mark.parametrize(
    ("build", "said"), BAD, ids=lambda value: value[:40] if isinstance(value, str) else ""
)
def test_bad_parameters_are_named_with_their_value(build, said):
    with pytest.raises(DomainError) as error:
        build()
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("third", [1 / 3, 0.3])
def test_a_domain_as_wide_as_the_sensitivity(third):
    assert m.BoundedLaplace(scale=1, width=third, sensitivity=third).width >= third


def test_subsets_of_great_losses_leak_no_more_than_they_do():
    curve = m.SubsetSelection(700, 1000, 100).curve()
    with mp.workdps(60):
        k, d, e = 1000, 100, mp.exp(700)
        true = mp.mpf(d) * (k - d) / (k - 1) * (e - 1) / (d * e + k - d)
        assert true <= curve.bounds.delta(0.0).upper <= true * (1 + mp.mpf("1e-12"))


def test_replacing_a_record_does_not_overflow():
    result = m.SubsampledLaplace(1e308, 0.1, 1e308, adjacency="replace-one").curve()
    assert result == m.SubsampledLaplace(1, 0.1, 1, adjacency="replace-one").curve()


@pytest.mark.parametrize("values", [{0, 5}, {0: 1, 5: 2}, frozenset({1})])
def test_what_has_no_order_is_no_list(values):
    with pytest.raises(DomainError, match="must be a list of numbers"):
        m.MixtureOfGaussians(1.0, values, (0.9, 0.1))
