import math

import mpmath
import numpy as np
import pytest

import tradeoff as to
from tests.mechanisms.test_exactness import EVERY
from tests.truth.balls import ball
from tests.truth.continuous import Gaussian as Truth
from tradeoff import mechanisms as m
from tradeoff.design.calibration import Search, read_target
from tradeoff.intervals.bounds import Bounds
from tradeoff.mechanisms import Gaussian, Laplace, SubsampledGaussian

mpmath.mp.dps = 50


def noise(sigma):
    return Gaussian(noise_multiplier=sigma)


def rebuilt(mechanism):
    """Return the function from the noise of a mechanism to the mechanism."""
    parameters = mechanism.parameters()
    (name,) = NOISES & parameters.keys()
    return lambda x: type(mechanism)(**{**parameters, name: x})


NOISES = {"noise_multiplier", "scale", "sigma", "variance"}
SHORT = m.TruncatedGaussian(1, 3), m.TruncatedLaplace(1, 3), m.ThresholdedKeys(2, 5)  # fail too often
SLOW = (
    *(m.BallsInBins, m.RandomAllocation, m.MatrixMechanism, m.TruncatedSubsampledGaussian),
    m.DiscreteGaussianVector,
)
TIGHT, LOOSE = (2, 1e-5), (4, 0.05)
BUILDS = [
    pytest.param(
        rebuilt(each),
        LOOSE if each in SHORT else TIGHT,
        id=each.kind,
        marks=[pytest.mark.slow] if isinstance(each, SLOW) else [],
    )
    for each in EVERY
    if NOISES & each.parameters().keys()
]
BUILDS += [
    (lambda s: m.Subsampled(m.Laplace(scale=s), 0.1), TIGHT),
    (lambda s: m.Subsampled(m.Gaussian(noise_multiplier=s), 0.1, "without-replacement"), TIGHT),
]


@pytest.mark.parametrize(("build", "target"), BUILDS)
def test_calibrate_noise_of_every_mechanism_without_between(build, target):
    epsilon, delta = target
    result = to.calibrate(lambda s: build(s).guarantee(), {"epsilon": epsilon, "delta": delta})
    assert build(result.value).guarantee().epsilon(delta) <= epsilon
    other = next(end for end in result.bounds if end != result.value)
    assert build(other).guarantee().bounds.epsilon(delta).lower > epsilon
    jumps = isinstance(build(result.value), m.ThresholdedKeys | m.TruncatedLaplace)  # to no epsilon at all
    assert jumps or 0.995 * epsilon < result.achieved.upper <= epsilon


def risk(mu, prior):
    p = ball(prior)
    return (1 - p) * (1 - Truth(mu).stick(p / (1 - p)))


PAIRS = ((1, 1e-6), (40, 1e-12), (0, 1e-6))
TARGETS = [
    *(({"epsilon": e, "delta": d}, lambda mu, e=e, d=d: Truth(mu).delta(e) <= d) for e, d in PAIRS),
    ({"mu": 0.7}, lambda mu: mu <= ball(0.7)),
    ({"beta": 0.8, "alpha": 0.1}, lambda mu: Truth(mu).beta(0.1) >= ball(0.8)),
    ({"advantage": 0.1}, lambda mu: Truth(mu).delta(0) <= ball(0.1)),
    ({"bayes_risk": 0.4, "prior": 0.5}, lambda mu: risk(mu, 0.5) >= ball(0.4)),
    ({"bayes_risk": 0.09, "prior": 0.1}, lambda mu: risk(mu, 0.1) >= ball(0.09)),
]


@pytest.mark.parametrize(("target", "meets"), TARGETS)
@pytest.mark.parametrize("falls", [True, False])
def test_calibrate_gaussian_encloses_crossing(target, meets, falls):
    result = to.calibrate(noise if falls else to.Gaussian, target)
    of = [1 / ball(x) if falls else ball(x) for x in (result.value, *result.bounds)]
    assert [bool(meets(mu)) for mu in of] == [True, not falls, falls]
    assert result.value == (result.bounds.upper if falls else result.bounds.lower) == float(result)
    assert result.bounds.width <= 1e-9 * result.bounds.upper
    assert result.evaluations <= 14


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 7.0, 1e-3])
def test_calibrate_pure_loss_encloses_fraction(epsilon):
    scale = to.calibrate(lambda b: Laplace(scale=b), {"epsilon": epsilon, "delta": 0})
    assert scale.bounds.lower < 1 / mpmath.mpf(epsilon) <= scale.value
    assert scale.bounds.width <= 1e-9 * scale.value
    size = to.calibrate(lambda s: Laplace(scale=8, sensitivity=s), {"epsilon": epsilon, "delta": 0})
    assert size.value <= 8 * mpmath.mpf(epsilon) < size.bounds.upper


@pytest.mark.slow
def test_calibrate_integer_returns_last_that_fits():
    def last(mu, n):
        return to.calibrate(lambda k: to.Gaussian(mu) ** k, {"mu": mu * math.sqrt(n + 0.5)}, integer=True)

    assert [last(0.25, n).value for n in (1, 10, 1000, 999_999_999)] == [1, 10, 1000, 999_999_999]
    many = last(2.0**-10, 10**9)
    assert many.evaluations <= 14
    assert tuple(many.bounds) == (10**9, 10**9 + 1)
    pure = to.calibrate(lambda k: to.PureDP(0.125) ** k, {"epsilon": 1, "delta": 0}, integer=True)
    assert (pure.value, type(pure.value)) == (8, int)
    assert to.calibrate(lambda k: to.PureDP(0.2) ** k, {"epsilon": 0.1, "delta": 0}, integer=True).value == 0
    undecided = to.calibrate(lambda k: to.PureDP(0.1) ** k, {"epsilon": 1, "delta": 0}, integer=True)
    assert undecided.value == undecided.bounds.lower == 9  # ten times the float 0.1 is 1 + 2^-54
    few = to.calibrate(
        lambda k: to.PureDP(1 / k), {"epsilon": 0.01, "delta": 0}, integer=True, between=(1, 10**6)
    )
    assert few.value == 100


@pytest.mark.slow
def test_calibrate_subsampled_gaussian_equals_known_noise_in_both_orders():
    """Another accountant's calibration of 1000 steps gives sigma = 1.5626656."""

    def training(sigma, rate=0.01, steps=1000):
        return to.Plan({SubsampledGaussian(noise_multiplier=sigma, sample_rate=rate): steps})

    target = {"epsilon": 1, "delta": 1e-6}
    sigma = to.calibrate(training, target)
    assert sigma.value == pytest.approx(1.5626656, abs=1e-7)
    assert training(sigma.value).guarantee().epsilon(1e-6) == sigma.achieved.upper <= 1
    assert training(sigma.bounds.lower).guarantee().bounds.epsilon(1e-6).lower > 1
    rate = to.calibrate(lambda q: training(sigma.value, rate=q), target)
    assert rate.bounds.lower <= 0.01 * (1 + 1e-9)
    assert rate.bounds.upper == pytest.approx(0.01, rel=3e-9)
    steps = to.calibrate(lambda n: training(sigma.value, steps=n), target, integer=True)
    assert steps.value == 1000
    assert max(each.evaluations for each in (sigma, rate, steps)) <= 14

    def one_order(sigma):
        return to.subsample(to.Gaussian(1 / sigma), 0.01) ** 100

    sigma = to.calibrate(one_order, {"epsilon": 1, "delta": 1e-6}).value
    orders = [f.epsilon(1e-6) for f in (one_order(sigma), ~one_order(sigma))]
    assert min(orders) < 0.999
    assert 1 - 1e-8 < max(orders) <= 1
    assert to.calibrate(lambda mu: to.Gaussian(mu).gdp(0), {"mu": 0.5}).value == 0.5
    assert repr(to.calibrate(noise, {"mu": 0.5}, between=(1, 4))).startswith("2.0: mu at failure = 1e-10 (0 ")
    result = to.calibrate(to.PureDP, {"mu": 0, "failure": 0.999999}, tol=1e-4)
    assert result.bounds.lower <= float(2 * mpmath.atanh(0.999999)) <= result.bounds.upper


@pytest.mark.slow
def test_calibrate_steps_to_curve():
    goal = to.Gaussian(0.8) @ to.TotalVariation(1e-6)
    step = to.subsample(to.Gaussian(1.0), 0.01)
    result = to.calibrate(lambda n: step**n, {"curve": goal}, integer=True)
    assert (step**result.value).symmetrise(assume="either-order") >= goal
    assert not (step ** (result.value + 1)).symmetrise(assume="either-order") >= goal
    assert result.achieved == to.Bounds(1.0, 1.0)
    assert result.evaluations <= 40


BELOW = to.PiecewiseLinear([0, 0.3, 0.99], [0.99, 0.3, 0])
LAPLACES, COINS = (lambda s: to.Laplace(1 / s) ** 2), (lambda x: to.PureDP(x) ** 10)


@pytest.mark.parametrize(
    ("build", "goal", "root"),
    [
        (lambda s: to.Gaussian(1 / s), to.approximate_dp(1.0, 1e-5), 3.7306316341),
        pytest.param(LAPLACES, to.PureDP(1.0), 2, marks=pytest.mark.slow),
        (COINS, to.PureDP(1.0), 0.1),
        (COINS, to.Laplace(1.0), 0.1),
        (COINS, to.approximate_dp(1.0, 1e-5), 0.1006289945),
        (to.TotalVariation, to.approximate_dp(0.5, 1e-3), 1e-3),
        (to.PureDP, to.Gaussian(1), None),
        (lambda s: to.subsample(to.Gaussian(1 / s), 0.1), BELOW, None),
    ],
)
def test_calibrate_to_curve_touching_in_corner(build, goal, root):
    result = to.calibrate(build, {"curve": goal})
    worse = next(end for end in result.bounds if end != result.value)
    holds = [build(x).symmetrise(assume="either-order") >= goal for x in (result.value, worse)]
    assert holds == [True, False]
    assert result.evaluations <= 42  # bisection of a verdict
    assert root is None or result.value == pytest.approx(root, rel=2e-9)


def test_calibrate_with_jump_wall_missing_answers_or_gaussian_curve():
    leak = to.calibrate(lambda d: to.approximate_dp(1, d), {"epsilon": 2, "delta": 1e-5}, tol=1e-3)
    assert leak.value <= 1e-5 <= leak.bounds.upper
    assert leak.bounds.width <= 1e-3 * leak.bounds.upper
    near = to.calibrate(lambda q: to.subsample(to.PureDP(1), q), {"advantage": 0.45})  # raises above q = 1
    assert near.value == pytest.approx(0.45 / math.tanh(0.5), rel=2e-9)

    def build(mu):
        return to.Gaussian(mu) if abs(mu - 0.5) > 0.005 else 1 / 0

    result = to.calibrate(build, {"mu": 0.5})
    assert result.bounds.lower <= 0.495
    assert 0.505 <= result.bounds.upper < 0.55
    result = to.calibrate(noise, {"curve": to.Gaussian(0.5)})
    assert result.bounds.lower < 2 <= result.value
    assert result.achieved == to.Bounds(1.0, 1.0)
    assert result.bounds.width <= 1e-9 * result.value
    assert result.evaluations <= 12  # the margin of a Gaussian goal is a number
    # Sampled Gaussian steps have the tails of their base: 1000 of mu/1000^(1/2) are above G_mu, no more.

    def steps(sigma):
        return to.subsample(to.Gaussian(1 / sigma), 0.01) ** 1000

    result = to.calibrate(steps, {"curve": to.Gaussian(1.0)})
    assert float(result) == pytest.approx(math.sqrt(1000), rel=1e-8)
    assert result.bounds == to.calibrate(steps, {"mu": 1.0, "failure": 0}).bounds
    for tol in (1e-2, 1e-6, 1e-12, 1e-15, 1e-300):
        result = to.calibrate(noise, {"advantage": 0.1}, tol=tol)
        of = [bool(Truth(1 / ball(x)).delta(0) <= ball(0.1)) for x in result.bounds]
        assert of == [False, True]
        assert result.bounds.width <= max(tol, 1e-13) * result.value


@pytest.mark.parametrize("blur", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("root", [1.0, 37.0, 1e-4, 40, 230, 1540])
def test_search_very_wide_answers_meets_the_target_at_the_safe_side(blur, root):
    """Bounds root/x -+ blur cross 1 at root/(1 + blur) and root/(1 - blur), those of counts elsewhere."""
    tried, integer = [], isinstance(root, int)

    def bound_answer(x):
        tried.append(x)
        middle = x / root if integer else root / x
        return Bounds(max(middle - blur, 1e-9), middle + blur)

    search = Search(read_target({"mu": 1.0}), bound_answer, 1e-9, integer=integer)
    met, unmet = search.run(None)
    if integer:
        assert -1e-9 <= root * (1 - blur) - met.x <= 2 + 2e-3 * met.x
        assert unmet.x > root * (1 + blur)
    else:
        assert 1 <= met.x / root * (1 - blur) <= 1.002
        assert unmet.x / root * (1 + blur) < 1
    assert len(tried) == len(search.points) <= 40


@pytest.mark.parametrize(
    ("target", "rates"),
    [  # the best test has these false-positive and true-positive rates
        ({"tpr": 0.05, "fpr": 0.01}, (0.01, 0.05)),
        ({"success": 0.6, "baseline": 0.25}, (0.25, 0.6)),
        ({"precision": 0.75, "recall": 0.5, "prior": 0.25}, (1 / 18, 0.5)),
    ],
)
def test_calibrate_to_a_risk_encloses_crossing(target, rates):
    with mpmath.workdps(30):
        low, high = (mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(x) - 1) for x in rates)
        result = to.calibrate(noise, target)
        assert result.bounds.lower * (1 - 1e-12) <= 1 / (high - low) <= result.value * (1 + 1e-12)
    assert result.bounds.width < 2e-9 * result.value


def test_calibrate_mu_0_bayes_risk_posterior_and_integers():
    result = to.calibrate(noise, {"mu": 0.0, "failure": 1e-3})
    assert result.bounds == to.calibrate(noise, {"advantage": 1e-3}).bounds
    assert result.evaluations < 13
    between, steps = np.array([1, 500]), lambda n: to.Gaussian(0.1) ** n
    assert to.calibrate(steps, {"mu": 1.05}, between=between, integer=np.True_).value == 110
    targets = {"bayes_risk": 0.1, "prior": 0.5}, {"advantage": 0.8}
    build = lambda s: to.Laplace(1 / s) @ to.Gaussian(1 / s)  # noqa: E731 - one expression
    risk, advantage = (to.calibrate(build, target).bounds for target in targets)
    assert max(risk.lower, advantage.lower) <= min(risk.upper, advantage.upper)
    assert risk.width < 2e-9 * risk.upper
    result = to.calibrate(noise, {"posterior": 0.8, "outcome": 1e-3, "prior": 0.3})
    posteriors = []
    for sigma in result.bounds:  # the loss of members is N(mu^2/2, mu^2)
        loss = 1 / (2 * sigma**2) + 3.090232306167813 / sigma
        posteriors.append(1 / (1 + 0.7 / 0.3 * math.exp(-loss)))
    assert posteriors[1] <= 0.8 <= posteriors[0]
    coins = to.calibrate(m.BinomialNoise, {"epsilon": 2, "delta": 1e-5}, integer=True)
    assert m.BinomialNoise(coins.value).guarantee().epsilon(1e-5) <= 2
