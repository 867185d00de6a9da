"""Sums over time: sensitivities by enumeration, last iterates by projection."""

import itertools
import math
import random
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import tradeoff as to
from tradeoff import mechanisms as m
from tradeoff.mechanisms.base import root


@pytest.mark.parametrize("steps", range(1, 70))
def test_tree_of_one_participation_counts_the_nodes_of_a_step(steps):
    # Complete nodes are the dyadic blocks that end by the last step.
    nodes = [0] * steps
    for level in range(8):
        for start in range(0, steps - 2**level + 1, 2**level):
            for leaf in range(start, start + 2**level):
                nodes[leaf] += 1
    assert m.TreeAggregation(1, steps).curve() == to.Gaussian(root(Fraction(max(nodes))))


def test_tree_has_the_curve_of_its_matrix():
    C = np.array(
        [[start <= j < start + w for j in range(8)] for w in (1, 2, 4, 8) for start in range(0, 8, w)]
    )
    sensitivity = float(np.linalg.norm(C.astype(float), axis=0).max())
    assert m.MatrixMechanism(5, sensitivity).curve() == m.TreeAggregation(5, 8).curve()


@pytest.mark.parametrize("c", [0.0, 0.3, 0.9, 0.999999])
@pytest.mark.parametrize("steps", [1, 2, 7, 1000])
def test_last_iterate_of_quadratic_losses_is_exact(c, steps):
    # x -> c x + s + z: the means are s (1 + ... + c^(t-1)) apart, the variance is 1 + ... + c^(2(t-1)).
    with mp.workdps(40):
        each = mp.mpf(c)
        apart, variance = (sum(b**j for j in range(steps)) for b in (each, each**2))
        mu = apart / mp.sqrt(variance) / 3
    result = m.LastIterate(3, steps, contraction=c).curve().mu
    assert mu <= result <= mu * (1 + mp.mpf("1e-12"))


@pytest.mark.parametrize("diameter", [0.5, 3.0, 40.0, 1000.0])
def test_last_iterate_in_a_bounded_set_is_within_its_bounds(diameter):
    # For convex losses: mu^2 = 3 diameter + ceil(diameter) at most, and no less than 4 diameter allows.
    result = m.LastIterate(1, 10**6, diameter=diameter).curve().mu
    assert result**2 <= (3 * diameter + math.ceil(diameter)) * (1 + 1e-12)
    assert result**2 >= 4 * diameter
    assert m.LastIterate(1, 10, diameter=1000).curve().mu == pytest.approx(math.sqrt(10))
    both = m.LastIterate(1, 10**6, contraction=0.9, diameter=diameter).curve().mu
    assert both <= min(result, m.LastIterate(1, 10**6, contraction=0.9).curve().mu) * (1 + 1e-12)


@pytest.mark.parametrize("diameter", [0.3, 2.0, 9.0])
@pytest.mark.parametrize("c", [0.5, 0.95])
def test_last_iterate_takes_the_best_number_of_steps(c, diameter):
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


def test_sums_over_time_at_extremes():
    steps = 10**12
    assert m.TreeAggregation(1, steps).curve() == to.Gaussian(root(Fraction(40)))
    assert (
        m.TreeAggregation(math.inf, steps).curve() == m.LastIterate(math.inf, steps).curve() == to.Gaussian(0)
    )
    assert m.LastIterate(1e6, steps).curve().mu == pytest.approx(1.0)
    assert m.LastIterate(1, steps, contraction=0.5).curve().mu == pytest.approx(math.sqrt(3))


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


def test_squared_sensitivity_is_that_of_the_worst_steps():
    rng = random.Random(1)
    for _ in range(120):
        steps = rng.randint(1, 12)
        restarts = sorted(rng.sample(range(1, steps), min(steps - 1, rng.randint(0, 2))))
        case = steps, rng.randint(1, 4), rng.randint(1, 5), restarts, rng.random() < 0.5
        assert m.TreeAggregation(1.0, *case).squared_sensitivity == brute_force(*case), case


@pytest.mark.parametrize(
    ("tree", "square", "delta", "epsilon"),
    [
        (m.TreeAggregation(7, 2000, participations=6, separation=313), 79, 1e-10, 8.526),
        (
            m.TreeAggregation(46.3, 10_000, 100, 100, restarts=range(2000, 10_000, 2000), completion=True),
            4129,
            1e-5,
            6.428,
        ),
    ],
    ids=["keyboard", "CIFAR-10"],
)
def test_tree_of_a_published_training(tree, square, delta, epsilon):
    assert tree.squared_sensitivity == square
    assert tree.guarantee().epsilon(delta) == pytest.approx(epsilon, abs=5e-4)
    with mp.workdps(40):  # delta of G_mu at the reported epsilon is at most delta
        mu, e = mp.sqrt(square) / mp.mpf(tree.noise_multiplier), mp.mpf(tree.guarantee().epsilon(delta))
        assert mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu) <= delta


def test_squared_sensitivity_with_restarts_and_completion():
    sixteen = m.TreeAggregation(1, 16)
    assert sixteen.squared_sensitivity == 5
    assert m.TreeAggregation(1, 16, restarts=[8]).squared_sensitivity == 4
    assert m.TreeAggregation(1, 11, restarts=[5]).squared_sensitivity == 3
    assert m.TreeAggregation(1, 11, restarts=[5], completion=True).squared_sensitivity == 4
    assert m.TreeAggregation(1, 8, participations=8).squared_sensitivity == 8 + 4 * 4 + 2 * 16 + 64
    assert m.TreeAggregation(1, 8, participations=8, restarts=range(1, 8)).squared_sensitivity == 8


def test_plan_file_keeps_all_parameters_of_a_tree():
    tree = m.TreeAggregation(7, 2000, participations=6, separation=313, restarts=[1000], completion=True)
    plan = to.Plan({tree: 2, m.BallsInBins(1, bins=100, epochs=5): 1})
    written = to.spec.dumps(to.spec.PlanFile("both", plan))
    assert to.spec.loads(written).plan == plan
    with pytest.raises(to.errors.PlanError, match=r"completion must be True or False, got 1"):
        to.spec.loads(written.replace("true", "1"))
