"""Guarantees of mechanisms, marks of one order, and secrets and participations over several rounds."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp

import tradeoff as to
from tradeoff import mechanisms as m
from tradeoff.errors import DomainError, KindError
from tradeoff.report.answers import answer_query
from tradeoff.report.methods import claim_of
from tradeoff.report.plot import claims_of

HALF = m.SubsampledGaussian(noise_multiplier=0.5, sample_rate=0.5)
FREE = m.Custom(to.PiecewiseLinear([0, 0.3, 1], [0.9, 0.35, 0]))
SAMPLED = (
    HALF,
    m.SubsampledGaussian(2, 0.1, adjacency="replace-one"),
    m.SubsampledGaussian(2, 0.1, scheme="without-replacement"),
    m.SubsampledGaussian(2, 0.1, group_size=2),
    m.SubsampledLaplace(2, 0.1),
    m.SubsampledLaplace(2, 0.1, adjacency="replace-one"),
    m.Subsampled(m.PureDP(1.0), 0.1),
    m.Subsampled(m.PureDP(1.0), 0.1, scheme="with-replacement", batch_size=2),
    m.TruncatedSubsampledGaussian(1, sample_rate=0.1, batch_size=3, dataset_size=9),
    m.MixtureOfGaussians(1.0, [0, 1, 2], [0.5, 0.25, 0.25]),
    m.BandedFactorization(2, 0.1, steps=10, bands=3),
    m.RandomAllocation(2, steps=3),
    m.BallsInBins(2, bins=3, epochs=2),
    m.ShuffledRandomizers(epsilon=1, records=10),
    FREE,
)
LOSSES = np.array([-0.5, 0.0, 0.5])


def weaker_order(alpha, mu, rate):
    """Return the envelope of p G_mu + (1 - p) Id and its inverse beyond its middle line, by mpmath."""
    with mp.workdps(50):

        def missed(t):
            return (1 - rate) * mp.ncdf(t) + rate * mp.ncdf(t - mu)

        steepest = mp.mpf(mu) / 2  # the likelihood ratio is 1 here, so that the curve has slope -1
        assert alpha >= missed(steepest) * (1 - mp.mpf(2) ** -50)
        t = mp.findroot(lambda t: missed(t) - alpha, 1.0)
        return mp.ncdf(-t)


@pytest.mark.parametrize(("alpha", "rounded", "of_one_order"), [(0.5, 0.15866, 0.26138), (0.7, 0.033, 0.153)])
def test_guarantee_of_a_sampled_step_is_the_envelope_of_both_orders(alpha, rounded, of_one_order):
    truth = weaker_order(alpha, 2, mp.mpf(0.5))
    low, high = HALF.guarantee().bounds(alpha)
    assert low <= truth * (1 + mp.mpf(2) ** -45)
    assert high >= truth * (1 - mp.mpf(2) ** -45)
    assert HALF.guarantee()(alpha) == pytest.approx(float(truth), rel=1e-9)
    assert HALF.guarantee()(alpha) == pytest.approx(rounded, abs=5e-4)
    assert HALF.curve()(alpha) == pytest.approx(of_one_order, abs=5e-4)


@pytest.mark.parametrize("mechanism", SAMPLED, ids=lambda each: f"{each.kind}-{each.adjacency}-{each.order}")
@pytest.mark.parametrize("n", [1, 2])
def test_guarantee_is_symmetric_and_below_both_orders(mechanism, n):
    result = mechanism.guarantee(n)
    plan = to.Plan({mechanism: n}, mechanism.adjacency or "add-remove")
    assert result == plan.guarantee()
    assert result.symmetric
    assert "one order" not in repr(result)
    for order in (mechanism.curve(), ~mechanism.curve()) if n == 1 else ():
        assert (result.bounds.delta(LOSSES).upper >= order.bounds.delta(LOSSES).lower).all()


def test_every_sampled_kind_has_its_guarantee_tested():
    sampled = {
        kind.kind for kind in m.KINDS.values() if issubclass(kind, m.Sampled) or hasattr(kind, "scheme")
    }
    assert sampled <= {each.kind for each in SAMPLED}
    assert {each.order for each in SAMPLED} == {"symmetric", "tied", "free"}


def test_guarantee_of_no_run_is_perfect_privacy():
    assert HALF.guarantee(0) == to.Identity()
    for n in (-1, 1.5, "2", True):
        with pytest.raises(DomainError):
            HALF.guarantee(n)


def test_operand_names_the_guarantee_of_a_mechanism():
    for use in (lambda: to.Gaussian(1) @ HALF, lambda: HALF @ HALF, lambda: to.Gaussian(1).distance(HALF)):
        with pytest.raises(KindError, match=r"\.guarantee\(\)"):
            use()


# Marks of curves of one order.

STEPS = HALF.curve() ** 3
ONE_ORDER = (
    HALF.curve(),
    ~HALF.curve(),
    STEPS,
    STEPS @ to.Laplace(0.5),
    m.MixtureOfGaussians(1.0, [0, 1], [0.5, 0.5]).curve(),
    to.mixture({HALF.curve(): 0.5, to.Gaussian(1): 0.5}),
    m.BallsInBins(1, bins=2, epochs=2).curve(),
    FREE.curve(),
)
BOTH_ORDERS = (
    to.Gaussian(1),
    HALF.guarantee(),
    STEPS @ ~STEPS,
    FREE.guarantee(2),
)


@pytest.mark.parametrize("curve", [*ONE_ORDER, *BOTH_ORDERS], ids=repr)
def test_one_order_is_stated_with_every_number_of_a_curve_that_is_not_symmetric(curve):
    one = curve in ONE_ORDER
    assert curve.symmetric != one
    shown = [
        repr(curve),
        repr(curve.explain(epsilon=0.5)),
        repr(answer_query(curve, epsilon=[0.5])),
        claim_of("f", curve).name,
        claim_of("", curve).name,
        curve._repr_latex_(),
    ]
    assert [("one order" in text) for text in shown] == [one] * len(shown)
    assert answer_query(curve, epsilon=[0.5]).as_json().get("one_order", False) == one
    assert repr(curve).count("one order") == one


def test_comparison_states_one_order():
    for curve in (HALF.curve(), HALF.guarantee()):
        result = to.compare(curve, {"G": HALF.curve()}, delta=[], epsilon=[0.5], alpha=[])
        assert ("one order of the pair" in repr(result)) == (not curve.symmetric)
        assert ("order" in result.numbers().columns) == (not curve.symmetric)
        assert result["G"].claim.name == "G (one order)"


def test_legend_states_one_order_behind_a_name_that_is_cut():
    long = (
        to.subsample(to.Gaussian(1) @ to.Laplace(0.1) @ to.PureDP(0.3) @ to.Laplace(0.7) ** 9, 0.01) ** 1000
    )
    items = long, HALF, HALF.curve(), to.limits.edgeworth(STEPS)
    names = [claim.name for claim in claims_of(items)]
    assert ["one order" in name for name in names] == [True, False, True, True]
    assert "…" in names[0]
    assert [claim.name for claim in claims_of([STEPS], ["training"])] == ["training (one order)"]
    assert [claim.name for claim in claims_of([STEPS])] == ["one order"]


def test_plan_states_runs():
    assert to.Plan({HALF: 3}).grid().columns == ("runs", "mechanism")


# Secrets kept for several epochs.


def test_balls_in_bins_is_the_loss_of_one_bin_for_all_epochs():
    """delta = E_Q(1 - e^eps/Y)+, Y the mean ratio, with the other bins simulated: five standard errors."""
    mu, bins, rng = np.sqrt(5.0), 100, np.random.default_rng(1)
    others = np.exp(mu * rng.standard_normal((1000, bins - 1)) - mu**2 / 2).sum(axis=1)

    def delta(epsilon):
        start = (np.log(bins * np.exp(epsilon) - others) - mu**2 / 2) / mu
        x = start[:, None] + np.linspace(0.0, 6.0, 301)
        ratio = (np.exp(mu * x + mu**2 / 2) + others[:, None]) / bins
        gained = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * (1 - np.exp(epsilon) / ratio)
        each = np.trapezoid(gained, dx=0.02, axis=1)
        return each.mean(), 5 * each.std() / np.sqrt(len(each))

    result = m.BallsInBins(noise_multiplier=1, bins=bins, epochs=5).guarantee().epsilon(1e-5)
    assert result == pytest.approx(6.881, abs=5e-4)
    at_most, error = delta(result)
    assert at_most - error <= 1e-5
    above, error = delta(result * 0.998)
    assert above - error > 1e-5
    assert m.RandomAllocation(1, steps=bins).guarantee(5).epsilon(1e-5) == pytest.approx(1.206, abs=5e-4)


@pytest.mark.parametrize("epochs", [1, 2, 3, 7, 10**6])
@pytest.mark.parametrize("sigma", [0.7, 1 / 3, 5.0])
def test_balls_in_bins_rounds_the_noise_of_all_epochs_down(epochs, sigma):
    alone = m.BallsInBins(sigma, bins=1, epochs=epochs).curve()
    assert Fraction(alone.mu) ** 2 * Fraction(sigma) ** 2 >= epochs
    assert alone.mu == pytest.approx(np.sqrt(epochs) / sigma, rel=1e-15)


def test_balls_in_bins_of_one_epoch_is_one_allocation():
    assert m.BallsInBins(2, bins=7, epochs=1).guarantee(3) == m.RandomAllocation(2, steps=7).guarantee(3)
    for bad in ({"bins": 0}, {"epochs": 0}, {"noise_multiplier": 0}):
        with pytest.raises(DomainError, match=next(iter(bad))):
            m.BallsInBins(**{"noise_multiplier": 1, "bins": 2, "epochs": 2, **bad})


# Participations in a tree.


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


def test_squared_sensitivity_of_a_tree_is_that_of_the_worst_steps():
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


def test_tree_counts_what_restarts_and_completion_change():
    sixteen = m.TreeAggregation(1, 16)
    assert sixteen.squared_sensitivity == 5
    assert m.TreeAggregation(1, 16, restarts=[8]).squared_sensitivity == 4
    assert m.TreeAggregation(1, 11, restarts=[5]).squared_sensitivity == 3
    assert m.TreeAggregation(1, 11, restarts=[5], completion=True).squared_sensitivity == 4
    assert m.TreeAggregation(1, 8, participations=8).squared_sensitivity == 8 + 4 * 4 + 2 * 16 + 64
    assert m.TreeAggregation(1, 8, participations=8, restarts=range(1, 8)).squared_sensitivity == 8


@pytest.mark.parametrize(
    "bad",
    [
        {"participations": 0},
        {"participations": 129},
        {"separation": 0},
        {"restarts": [2, 2]},
        {"restarts": [3, 2]},
        {"restarts": [10]},
        {"restarts": [0]},
        {"restarts": 3},
        {"restarts": "35"},
        {"completion": 1},
        {"steps": 10**20, "participations": 2},
    ],
    ids=str,
)
def test_tree_refuses_what_is_out_of_range(bad):
    with pytest.raises(DomainError, match=next(iter(bad))):
        m.TreeAggregation(**{"noise_multiplier": 1, "steps": 10, **bad})


def test_plan_file_holds_all_parameters_of_a_tree():
    tree = m.TreeAggregation(7, 2000, participations=6, separation=313, restarts=[1000], completion=True)
    plan = to.Plan({tree: 2, m.BallsInBins(1, bins=100, epochs=5): 1})
    written = to.spec.dumps(to.spec.PlanFile("both", plan))
    assert to.spec.loads(written).plan == plan
    with pytest.raises(to.errors.PlanError, match=r"completion must be True or False, got 1"):
        to.spec.loads(written.replace("true", "1"))
