import itertools
import math
import random
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import norm

import tradeoff as to
from tradeoff import mechanisms as m
from tradeoff.families.discrete import CorrelatedCurve
from tradeoff.mechanisms.base import root
from tradeoff.pld.allocation import hockey_stick


def test_squared_sensitivity_is_that_of_the_worst_steps():
    rng = random.Random(1)
    for _ in range(120):
        steps = rng.randint(1, 12)
        restarts = sorted(rng.sample(range(1, steps), min(steps - 1, rng.randint(0, 2))))
        case = steps, rng.randint(1, 4), rng.randint(1, 5), restarts, rng.random() < 0.5
        assert m.TreeAggregation(1.0, *case).squared_sensitivity == brute_force(*case), case


@pytest.mark.parametrize("diameter", [0.3, 2.0, 9.0, math.inf])
@pytest.mark.parametrize("c", [0.0, 0.3, 0.5, 0.95, 0.999999, 1.0])
def test_last_iterate_takes_the_best_number_of_steps(c, diameter):
    """Of quadratic losses x -> c x + s + z, means over deviations are those of the curve."""
    with mp.workdps(40):
        each, apart, variance, least = mp.mpf(c), mp.mpf(0), mp.mpf(0), mp.inf
        for steps in range(1, 61):
            apart, variance = apart + each ** (steps - 1), variance + each ** (2 * (steps - 1))
            whole = apart / mp.sqrt(variance)  # both runs start alike
            mu = m.LastIterate(3, steps, contraction=c, diameter=diameter).curve().mu * mp.mpf(3)
            least = min(least, whole + each**steps * diameter / mp.sqrt(variance))
            assert min(least, whole) <= mu <= min(least, whole) * (1 + mp.mpf("1e-12"))


def test_sums_over_time_and_bins_at_extremes():
    n = 10**12
    assert m.TreeAggregation(1, n).curve() == to.Gaussian(root(Fraction(40)))
    for noiseless in (m.TreeAggregation(math.inf, n), m.LastIterate(math.inf, n)):
        assert noiseless.curve() == to.Gaussian(0)
    assert m.LastIterate(1e6, n).curve().mu == pytest.approx(1.0)
    assert m.LastIterate(1, n, contraction=0.5).curve().mu == pytest.approx(math.sqrt(3))
    assert binned(math.inf, [1, 0.5], 3, 2).curve() == to.Gaussian(0.0)
    sampled = binned(1.0, [[0, 0], [0, 1]], 2, 1).guarantee().bounds.epsilon(1e-5)  # a step at rate 1/2
    assert sampled.lower <= to.subsample(to.Gaussian(1), 0.5).epsilon(1e-5) <= sampled.upper
    tiny = CorrelatedCurve((3, 1, 1e-40, 0.0, 0.0), (3, 1, 1e-40, 0.0, 0.0)).bounds.delta(0.0)
    assert tiny.lower == 0 < tiny.upper < 1e-11
    known = binned(1.0, [1, 0.5], 1, 3)  # (1, 1.5, 1.5) of every record
    assert known.exact
    assert known.curve().mu == pytest.approx(math.sqrt(5.5))
    loud = binned(1e-2, [1, 0.5], 2, 1)
    assert not loud.exact
    assert loud.curve().mu == pytest.approx(math.sqrt(1.25) * 100)
    assert binned(30.0, m.blt_strategy([0.9], [0.2], 1000), 100, 10).guarantee().epsilon(1e-6) < 2
    for diameter in (0.5, 3.0, 40.0, 1000.0):
        # For convex losses: mu^2 = 3 diameter + ceil(diameter) at most, and no less than 4 diameter allows.
        result = m.LastIterate(1, 10**6, diameter=diameter).curve().mu
        assert result**2 <= (3 * diameter + math.ceil(diameter)) * (1 + 1e-12)
        assert result**2 >= 4 * diameter
        both = m.LastIterate(1, 10**6, contraction=0.9, diameter=diameter).curve().mu
        assert both <= min(result, m.LastIterate(1, 10**6, contraction=0.9).curve().mu) * (1 + 1e-12)


def brute_force(steps, participations, separation, restarts, completion):
    """Return the largest sum of squared counts over complete nodes, trying every set of steps."""
    nodes = []
    for start, end in itertools.pairwise((0, *restarts, steps)):
        leaves = end - start
        if completion and end < steps:
            leaves = 1 << (leaves - 1).bit_length()
        for level in range(leaves.bit_length()):
            size = 1 << level
            nodes += [
                range(start + k * size, min(start + (k + 1) * size, end)) for k in range(leaves // size)
            ]

    def largest(chosen):
        following = range(chosen[-1] + separation if chosen else 0, steps)
        more = following if len(chosen) < participations else ()
        here = sum(sum(step in node for step in chosen) ** 2 for node in nodes)
        return max([here, *(largest((*chosen, step)) for step in more)])

    return largest(())


CIFAR = m.TreeAggregation(46.3, 10_000, 100, 100, restarts=range(2000, 10_000, 2000), completion=True)


@pytest.mark.parametrize(
    ("tree", "square", "delta", "epsilon"),
    [
        (m.TreeAggregation(7, 2000, participations=6, separation=313), 79, 1e-10, 8.526),
        (CIFAR, 4129, 1e-5, 6.428),
    ],
    ids=["keyboard", "CIFAR-10"],
)
def test_tree_of_a_published_training(tree, square, delta, epsilon):
    assert tree.squared_sensitivity == square
    assert tree.guarantee().epsilon(delta) == pytest.approx(epsilon, abs=5e-4)
    with mp.workdps(40):  # delta of G_mu at the reported epsilon is at most delta
        mu, e = mp.sqrt(square) / mp.mpf(tree.noise_multiplier), mp.mpf(tree.guarantee().epsilon(delta))
        assert mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu) <= delta


def binned(sigma, strategy, bins, epochs):
    return m.MatrixMechanism(sigma, strategy=strategy, scheme="balls-in-bins", bins=bins, epochs=epochs)


def toeplitz(column, steps):
    rows = np.zeros((steps, steps))
    for t in range(steps):
        rows[t : t + len(column), t] = column[: steps - t]
    return rows


@pytest.mark.parametrize(("sigma", "bins", "epochs"), [(2, 2, 4), (1, 10, 5), (0.7, 3, 1), (1 / 3, 100, 7)])
def test_identity_is_balls_in_bins(sigma, bins, epochs):
    same = m.BallsInBins(sigma, bins, epochs)
    for strategy in ([1], np.eye(bins * epochs)):
        mechanism = binned(sigma, strategy, bins, epochs)
        assert mechanism.exact == same.exact
        assert mechanism.curve() == same.curve()
        assert mechanism.guarantee(2) == same.guarantee(2)


def simulated(without, present, mechanism, epsilons):
    """Yield bounds of both orders, and deltas with five deviations from ratios under either data set."""
    for epsilon in epsilons:
        for curve, each in (
            (mechanism.curve(), np.maximum(1 - np.exp(epsilon) / present, 0)),
            (~mechanism.curve(), np.maximum(1 - np.exp(epsilon) * without, 0)),
        ):
            yield curve.bounds.delta(epsilon), each.mean(), 5 * each.std() / math.sqrt(len(each))


@pytest.mark.parametrize("seed", range(6))
def test_groups_of_bins_are_above_and_below_the_gram_matrix(seed):
    rng = np.random.default_rng(seed)
    bins, epochs, sigma = int(rng.integers(2, 9)), int(rng.integers(1, 4)), float(rng.uniform(0.5, 3))
    steps = bins * epochs
    rows = np.tril(rng.uniform(size=(steps, steps)) ** 3)
    curve = binned(sigma, rows, bins, epochs).curve()
    exact = [[Fraction(x) for x in row] for row in rows.tolist()]
    means = [[sum(row[i::bins], Fraction(0)) / Fraction(sigma) for row in exact] for i in range(bins)]
    for i, j in itertools.product(range(bins), repeat=2):
        truth = sum((a * b for a, b in zip(means[i], means[j], strict=True)), Fraction(0))
        above, below = (
            Fraction(groups.common)
            + Fraction(groups.group) * (i // groups.size == j // groups.size)
            + Fraction(groups.single) * (i == j)
            for groups in (curve.above, curve.below)
        )
        assert below <= truth <= above


def delta_of_two(gram, epsilon, *, reverse):
    """Integrate E (Y - K)_+, or E (1 - K Y)_+, for Y the mean of two correlated lognormal ratios, to 1e-13.

    Given the first normal variable x the first ratio is known, and there is an option on the other. The sum
    over a fine grid has no error: the value of the option is analytic in x, and the normal weight ends it.
    """
    (a, b), (_, d) = gram
    x, rest, strike = np.linspace(-12, 12, 2401), math.sqrt(d - b * b / a), math.exp(epsilon)
    first, scale = np.exp(x * math.sqrt(a) - a / 2), np.exp(b / math.sqrt(a) * x - b * b / a / 2)
    level = 2 * (1 / strike if reverse else strike) - first
    z = np.log(np.maximum(level, 1e-300) / scale) / rest + rest / 2
    option = np.where(level > 0, scale * norm.cdf(rest - z) - level * norm.cdf(-z), scale - level) / 2
    value = float(norm.pdf(x) @ option) / 100
    return strike * (value - 1 + 1 / strike) if reverse else value


@pytest.mark.parametrize(
    ("rows", "exact"), [([[0.8, 0], [0.6, 1]], True), ([[1, 0], [0.5, 1]], False), ([[2, 0], [2, 1]], False)]
)
@pytest.mark.parametrize("epsilon", [-0.3, 0.0, 0.8])
@pytest.mark.parametrize("reverse", [False, True])
def test_bounds_of_two_bins_hold_the_integral(rows, exact, epsilon, reverse):
    mechanism = binned(1.25, rows, 2, 1)
    truth = delta_of_two(np.transpose(rows) @ rows / 1.25**2, epsilon, reverse=reverse)
    curve = ~mechanism.curve() if reverse else mechanism.curve()
    bounds = curve.bounds.delta(epsilon)
    assert bounds.lower <= truth <= bounds.upper
    assert mechanism.exact == exact
    if exact:
        assert bounds.width <= 1e-3 * bounds.upper


def test_negative_entries_are_bounded_by_contributions_that_cancel_and_add():
    """Of contributions 1 and -1, opposite ones have the larger Gram matrix; upper bounds hold for both."""
    mechanism = binned(1.0, [[1, 0], [-0.5, 1]], 2, 1)
    for reverse in (False, True):
        bounds = (~mechanism.curve() if reverse else mechanism.curve()).bounds.delta(0.3)
        opposite, equal, orthogonal = (
            delta_of_two([[1.25, b], [b, 1.0]], 0.3, reverse=reverse) for b in (0.5, -0.5, 0.0)
        )
        assert equal < orthogonal < opposite <= bounds.upper
        assert bounds.lower <= orthogonal
    assert not mechanism.exact


def test_contributions_chosen_by_outputs_stay_within_bounds():
    """A record adds the sign of the last output in 2 bins and 2 epochs: 2 x 10^5 outputs."""
    rows, sigma, rng = toeplitz([1.0, 0.6, 0.3], 4), 1.5, np.random.default_rng(5)
    mechanism, size = binned(sigma, [1.0, 0.6, 0.3], 2, 2), 2 * 10**5

    def ratio(bins):
        """Return the mean ratio of the bins along outputs, of a record in these bins, or absent."""
        x, loss, last = np.zeros((size, 2, 4)), np.zeros((size, 2)), np.ones(size)
        for t in range(4):
            x[:, t % 2, t] = np.where(last >= 0, 1.0, -1.0)
            means = x @ rows[t] / sigma
            last = rng.standard_normal(size) + np.where(bins < 0, 0.0, means[np.arange(size), bins])
            loss += means * last[:, None] - means**2 / 2
        return np.exp(loss).mean(axis=1)

    without, present = ratio(np.full(size, -1)), ratio(rng.integers(2, size=size))
    assert abs(without.mean() - 1) < 5 * without.std() / math.sqrt(size)
    for bounds, mean, error in simulated(without, present, mechanism, (0.0, 0.5, 1.5)):
        assert mean <= bounds.upper + error


@pytest.mark.parametrize(("bins", "common", "single"), [(3, 0.4, 0.5), (30, 0.1, 1.3)])
@pytest.mark.parametrize("reverse", [False, True])
def test_bounds_of_exchangeable_bins_hold_average_of_allocations(bins, common, single, reverse):
    """Given the shared normal variable z, steps are one allocation; Gauss-Hermite nodes average it."""
    z, weight = np.polynomial.hermite_e.hermegauss(16)
    groups, epsilon = (bins, 1, common, 0.0, single), 0.5
    curve = CorrelatedCurve(groups, groups, reverse)
    # An excess over K is shared w times one over K/w, and w e^-z^2/2 is e^-(z - c)^2/2, c^2 = common.
    shared = math.sqrt(common) * (z if reverse else z + math.sqrt(common)) - common / 2
    losses = epsilon + shared if reverse else epsilon - shared
    each = [hockey_stick(math.sqrt(single), bins, x, reverse=reverse) for x in losses.tolist()]
    truth = float(np.dot(weight, np.mean(each, axis=1)) / np.sum(weight))
    bounds = curve.bounds.delta(epsilon)
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.width <= 2e-3 * truth


def norms(rows, separation, participations):
    """Yield the norm of each sum of columns, signs chosen at will, that a record may add."""
    n = len(rows)
    for size in range(1, participations + 1):
        for steps in itertools.combinations(range(n), size):
            if all(b - a >= separation for a, b in itertools.pairwise(steps)):
                for signs in itertools.product((1, -1), repeat=size - 1):
                    yield np.linalg.norm(rows[:, list(steps)] @ np.array([1, *signs]))


@pytest.mark.parametrize("separation", [1, 2, 3])
@pytest.mark.parametrize("participations", [1, 2, 4])
def test_sensitivity_is_the_largest_norm(separation, participations):
    rng = np.random.default_rng(separation)
    decreasing = np.array([1.0, 0.7, 0.7, 0.2, 0.1])
    banded = np.tril(np.triu(rng.normal(size=(7, 7)), 1 - separation))
    buffered, general = m.blt_strategy([0.9, 0.3], [0.2, 0.5], 7), np.tril(rng.normal(size=(7, 7)))
    for rows, strategy, exact in (
        (toeplitz(decreasing, 7), decreasing, True),
        (toeplitz(buffered, 7), buffered, True),
        (banded, banded, True),
        (general, general, False),
    ):
        keys = {"steps": 7, "separation": separation, "participations": participations}
        largest = max(norms(rows, separation, participations))
        assert largest <= m.strategy_sensitivity(strategy, **keys) <= largest * (1 + 1e-12 if exact else 3)
    # Of many steps it is that of all participations.
    assert m.strategy_sensitivity([1, 0.5], steps=100, separation=10) == pytest.approx(math.sqrt(12.5))
    assert m.strategy_sensitivity([1, 0.5], steps=100, separation=10, participations=3) ** 2 >= 3.75
