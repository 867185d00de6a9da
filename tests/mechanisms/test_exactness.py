"""Oracles: profiles of the outputs on one pair of data sets, or the largest of several."""

import functools
from dataclasses import FrozenInstanceError
from functools import partial
from itertools import combinations, pairwise, product

import pytest
from flint import arb
from mpmath import mp

import tradeoff as to
from tests.mechanisms.reference import truncated_delta
from tests.truth.continuous import Gaussian, Laplace
from tests.truth.mixtures import NormalMixtures
from tests.truth.operators import ReversedPLD, Subsampled
from tradeoff import mechanisms as m
from tradeoff.conversions import ZeroConcentrated
from tradeoff.curves.hooks import NOT_EXACT
from tradeoff.report.answers import answer_query, csv, latex
from tradeoff.report.compare import compare

LOSSES = (-0.3, 0.1, 0.8)
LONG = mp.clone()
LONG.dps = 40
exp, log, sqrt, cdf = LONG.exp, LONG.log, LONG.sqrt, LONG.ncdf
mpf = LONG.mpf


def atoms(p, q):
    """Return the larger profile of both orders of two lists of masses."""

    def delta(loss):
        slope, orders = exp(mpf(loss)), (zip(p, q, strict=True), zip(q, p, strict=True))
        return max(sum((max(b - slope * a, 0) for a, b in order), mpf(0)) for order in orders)

    return delta


def worst(*profiles):
    return lambda loss: max(each(loss) for each in profiles)


def described(spec):
    """Return the larger profile of both orders, in balls."""

    def delta(loss):
        result = spec.delta(loss).max(ReversedPLD(spec).delta(loss))
        assert result.rad() < 1e-30
        return result

    return delta


def normal(null, alternative, sigma=1):
    """Return the profile of two mixtures {mean: weight} of normal laws."""
    return described(NormalMixtures(tuple(null.items()), tuple(alternative.items()), sigma))


def laplace(shift, rate=1):
    """Return the profile of a Laplace law of scale 1, and of its mixture with its shift."""
    return described(Subsampled(Laplace(shift), rate))


def conditioned(low, high):
    """Return the profile of N(0, 1) and N(1, 1), conditioned on an interval."""

    def delta(loss):
        whole, moved = cdf(high) - cdf(low), cdf(high - 1) - cdf(low - 1)
        places = (sign * mpf(loss) + mpf(1) / 2 + log(moved / whole) for sign in (1, -1))
        above, below = (min(max(x, mpf(low)), mpf(high)) for x in places)  # where L is loss, -loss
        one = (cdf(high - 1) - cdf(above - 1)) / moved - exp(mpf(loss)) * (cdf(high) - cdf(above)) / whole
        other = (cdf(below) - cdf(low)) / whole - exp(mpf(loss)) * (cdf(below - 1) - cdf(low - 1)) / moved
        return max(one, other)

    return delta


def truncated(normal_noise, bound, shift):
    """Return the profile of noise of scale 1 on [-bound, bound], and its shift."""
    return lambda loss: truncated_delta(normal_noise, 1, shift, bound, loss)


def responses(weights):
    """Return the profile of answers by lists of weights, one a data set, each divided by its sum."""
    sums = [LONG.fsum(each) for each in weights]
    laws = [[mpf(w) / total for w in each] for each, total in zip(weights, sums, strict=True)]
    return worst(*(atoms(p, q) for p, q in combinations(laws, 2)))


def noisy_counts(pmf, shift, reach=range(-120, 121)):
    """Return the profile of integer noise, with masses up to a factor, and its shift."""
    masses = [pmf(x) for x in reach]
    none = [mpf(0)] * shift
    return responses([masses + none, none + masses])


def staircase(epsilon, gamma=None):
    """Return the profile of the noise of Geng and Viswanath, of the least mean size, and its shift by 1."""
    e = mpf(epsilon)
    gamma = 1 / (1 + exp(e / 2)) if gamma is None else mpf(gamma)

    def height(x):
        return exp(-e * LONG.floor(abs(x) + 1 - gamma))

    cuts = sorted(k + sign * gamma for k in range(-120, 121) for sign in (-1, 1))
    pieces = [(b - a, (a + b) / 2) for a, b in pairwise(cuts)]
    return responses([[w * height(x) for w, x in pieces], [w * height(x - 1) for w, x in pieces]])


def one_of_two(mu):
    """Return the profile of N(0, I) in the plane, and the mean of N(mu e_1, I) and N(mu e_2, I)."""
    mu = mpf(mu)

    @functools.cache
    def delta(loss):
        slope = exp(mpf(loss))

        def inner(x):
            """Return E (e^(mu y - mu^2/2)/2 - rest)_+ over a normal y."""
            rest = slope - exp(mu * x - mu**2 / 2) / 2
            density = LONG.npdf(x)
            if rest <= 0:
                return density * (mpf(1) / 2 - rest)
            root = log(2 * rest) / mu + mu / 2
            return density * (cdf(mu - root) / 2 - rest * cdf(-root))

        kink = log(2 * slope) / mu + mu / 2
        return LONG.quad(inner, [-14, -6, -2, kink, kink + 2, kink + 6, 16])

    # In the other order delta(eps) is 1 - e^eps + e^eps delta(-eps).
    return worst(delta, lambda loss: 1 - exp(mpf(loss)) * (1 - delta(-loss)))


KEPT = 1 / (1 + LONG.e)  # of randomised response at epsilon = 1


def best_of_geometric(stop):
    """Return the profile of the best of N runs of randomised response, P(N = n) = stop (1 - stop)^(n - 1)."""
    low = [stop * p / (1 - (1 - stop) * p) for p in (KEPT, 1 - KEPT)]
    return responses([[p, 1 - p] for p in low])


def shuffled(others):
    """Return the profile of the number of ones among randomised responses, of which one changes."""
    counts = [LONG.binomial(others, k) * KEPT**k * (1 - KEPT) ** (others - k) for k in range(others + 1)]
    pairs = [*zip([0, *counts], [*counts, 0], strict=True)]
    return responses([[a * one + b * (1 - one) for a, b in pairs] for one in (KEPT, 1 - KEPT)])


def above_threshold():
    """Return the profile of one query, 0 or 1 below the threshold: whether it is reported, at epsilon = 1."""
    # P(noise of scale 4 of the query < gap + noise of scale 2 of the threshold)
    below = [1 - (16 * exp(-gap / 4) - 4 * exp(-gap / 2)) / 24 for gap in (mpf(0), mpf(1))]
    return responses([[p, 1 - p] for p in below])


def choices():
    """Return the profile of two candidates chosen by the exponential mechanism, of several utilities."""
    moves = [*product((-1, 0, 1), repeat=2)]
    pairs = [((u, v), (u + du, v + dv)) for u, v in ((0, 0), (1, 0), (3, 0)) for du, dv in moves]
    return worst(*(responses([[exp(mpf(u) / 2) for u in each] for each in pair]) for pair in pairs))


def subsets(categories, size):
    """Return the profile of subsets, e times as likely if they contain the answer, 0 or 1."""
    every = [set(each) for each in combinations(range(categories), size)]
    return responses([[exp(mpf(x in each)) for each in every] for x in (0, 1)])


def bits(hashes):
    """Return the profile of two vectors of bits that differ everywhere, each kept with odds e^(1/2h) to 1."""
    records = [1] * hashes + [0] * hashes, [0] * hashes + [1] * hashes
    seen = list(product((0, 1), repeat=2 * hashes))
    same = ([sum(map(int.__eq__, record, each)) for each in seen] for record in records)
    return responses([[exp(mpf(n) / (2 * hashes)) for n in each] for each in same])


def shifted(square):
    """Return the largest profile of discrete normal noise, sigma 1.5, in the plane over integer shifts."""
    pmf = [exp(-(mpf(x) ** 2) / mpf("4.5")) for x in range(-16, 17)]

    def joint(*moved):
        sides = [[mpf(0)] * k + pmf + [mpf(0)] * (2 - k) for k in moved]
        return [LONG.fprod(each) for each in product(*sides)]

    shifts = ((a, b) for a, b in ((1, 0), (1, 1), (2, 0), (2, 1)) if a * a + b * b <= square)
    return worst(*(responses([joint(0, 0), joint(*shift)]) for shift in shifts))


DRAWN = {-2: 9 / 16, 0: 6 / 16, 2: 1 / 16}
STEP, FIXED = {0: 0.75, 1: 0.25}, normal({-1: 1}, {-1: 0.75, 1: 0.25})
CUT = normal({0: 0.5, -1: 0.5}, {0: 0.25, -1: 0.375, 1: 0.375})  # one of two records, each by a coin, is kept

TWO, COINS = one_of_two(1), ((1, 1), (20, 1), (10, 10))
EXACT = [
    (m.Gaussian(noise_multiplier=2, sensitivity=3), normal({0: 1}, {1.5: 1})),
    (m.Laplace(scale=2), laplace(0.5)),
    (m.SubsampledGaussian(1, 0.25), normal({0: 1}, STEP)),
    (m.SubsampledGaussian(1, 0.25, adjacency="replace-one"), normal({0: 0.75, -1: 0.25}, STEP)),
    (m.SubsampledGaussian(1, 0.25, group_size=2), normal({0: 1}, {0: 9 / 16, 1: 6 / 16, 2: 1 / 16})),
    (m.SubsampledLaplace(2, 0.25), laplace(0.5, 0.25)),
    (m.RandomizedResponse(1, 3), responses([[LONG.e, 1, 1], [1, LONG.e, 1]])),
    (m.DiscreteGaussian(2), noisy_counts(lambda x: exp(-(mpf(x) ** 2) / 8), 1)),
    (m.DiscreteLaplace(2, 2), noisy_counts(lambda x: exp(-mpf(abs(x)) / 2), 2, range(-400, 401))),
    (m.Custom(to.Gaussian(1)), normal({0: 1}, {1: 1})),
    (m.CanonicalNoise(to.Gaussian(1)), normal({0: 1}, {1: 1})),
    (m.TreeAggregation(2, 8), normal({0: 1}, {1: 1})),  # the first of 8 steps is in 4 nodes
    (m.MatrixMechanism(4, 2), normal({0: 1}, {0.5: 1})),
    (m.TruncatedGaussian(1, 3), truncated(True, 3, 1)),
    (m.TruncatedLaplace(1, 3), truncated(False, 3, 1)),
    *((m.Rappor(1, hashes=h), bits(h)) for h in (1, 2)),
    (m.Staircase(1), staircase(1)),
    *((m.Staircase(1, gamma=gamma), staircase(1, gamma)) for gamma in (0, 0.25, 0.75, 1)),
    *((m.SubsetSelection(1, k, d), subsets(k, d)) for k, d in ((4, 2), (5, 1), (6, 4))),
    *((m.DiscreteGaussianVector(1.5, square, 2), shifted(square)) for square in (2, 4, 5)),
    (m.Skellam(4), noisy_counts(lambda x: LONG.besseli(abs(x), 4), 1)),
    (m.Skellam(30, 4), noisy_counts(lambda x: LONG.besseli(abs(x), 30), 4)),
    *((m.BinomialNoise(n, k), noisy_counts(partial(LONG.binomial, n), k, range(n + 1))) for n, k in COINS),
    (m.BandedFactorization(1, 0.25, steps=8, bands=8), normal({0: 1}, STEP)),
    (m.RandomAllocation(1, 4, 4), normal({0: 1}, {2: 1})),
    *((mechanism, TWO) for mechanism in (m.RandomAllocation(1, 2), m.BallsInBins(2, 2, 4))),
    (m.MixtureOfGaussians(1, [0, 1, 2], [0.5, 0.25, 0.25]), normal({0: 1}, {0: 0.5, 1: 0.25, 2: 0.25})),
]
LESSER = exp(-mpf(1) / 2) / 2
DOMINATING = [
    (m.Subsampled(m.Gaussian(noise_multiplier=1), 0.25), normal({0: 1}, STEP)),
    (m.SubsampledGaussian(1, 0.25, "without-replacement"), FIXED),
    (m.SubsampledGaussian(1, 0.5, "with-replacement", batch_size=2), normal({-2: 1}, DRAWN)),
    (m.SubsampledLaplace(2, 0.25, adjacency="replace-one"), laplace(1, 0.25)),
    (m.PureDP(1), laplace(1)),
    (m.ApproximateDP(1, 0.01), laplace(1)),
    (m.ExponentialMechanism(1), choices()),
    (m.ReportNoisyMax(1), choices()),
    # Two candidates that trade places: the one that is Delta below the other is drawn first, and accepted.
    (m.PermuteAndFlip(1), responses([[LESSER, 1 - LESSER], [1 - LESSER, LESSER]])),
    (m.AboveThreshold(1), above_threshold()),
    (m.RepeatAndSelect(1, shape=1), best_of_geometric(mpf(1) / 4)),
    (m.BestOfRuns(m.RandomizedResponse(1), mean=2), best_of_geometric(mpf(1) / 2)),
    (m.LastIterate(1, 2, contraction=0.5), lambda loss: Gaussian((9 / arb(5)).sqrt()).delta(loss)),
    *((m.BoundedGaussian(1), conditioned(*ends)) for ends in ((-1.0, 2.0), (-30.0, 30.0))),
    (m.BoundedLaplace(1, 2), truncated(False, 1, 0)),
    (m.DiscreteGaussianVector(4, 36, 9), noisy_counts(lambda x: exp(-(mpf(x) ** 2) / 32), 6)),
    (m.ThresholdedKeys(2, 5), responses([[1, 0], [1 - exp(mpf(-2)) / 2, exp(mpf(-2)) / 2]])),
    (m.ShuffledRandomizers(1, 3), shuffled(2)),
    (m.ShuffledRandomizers(1, 1, 6, 4), subsets(6, 4)),
    (m.ShuffledRandomizers(1, 1, randomizer="rappor"), bits(1)),
    (m.ShuffledRandomizers(1, 1, randomizer="laplace"), laplace(1)),
    (m.TruncatedSubsampledGaussian(1, 0.5, batch_size=1, dataset_size=2), CUT),
    (m.Custom(to.maximum(to.PureDP(1), to.Gaussian(1))), laplace(0.5)),
]


def named(cases):
    return [pytest.param(*case, id=f"{k}-{case[0].kind}") for k, case in enumerate(cases)]


@pytest.mark.parametrize(("mechanism", "oracle"), named(EXACT))
def test_bounds_of_an_exact_mechanism_enclose_its_profile(mechanism, oracle):
    curve = mechanism.guarantee()
    assert mechanism.exact
    assert curve.exact
    for loss in LOSSES:
        (lower, upper), truth = curve.bounds.delta(loss), oracle(loss)
        assert not truth < lower
        assert not truth > upper


FLIPS = (0.25, 2), (0.01, 2), (0.5, 2), (0.4, 3), (0.9, 10), (1e-9, 7)


@pytest.mark.parametrize(("flip", "categories"), FLIPS)
def test_randomized_response_by_its_flip_probability_has_that_of_its_answers(flip, categories):
    curve = m.RandomizedResponse(flip=flip, categories=categories).guarantee()
    other = mpf(flip) / (categories - 1)
    kept = [[1 - mpf(flip) if x == y else other for y in range(categories)] for x in (0, 1)]
    for loss in (-2.0, -0.3, 0.0, 0.1, 0.45, 0.9, 1.0, 1.7, 3.3):
        (lower, upper), truth = curve.bounds.delta(loss), responses(kept)(loss)
        assert lower * (1 - 1e-14) - 1e-15 <= truth <= upper + 1e-30  # a loss is rounded up
        assert upper <= truth * (1 + 1e-9) + 1e-14


@pytest.mark.parametrize(("mechanism", "oracle"), named(DOMINATING))
def test_a_dominating_mechanism_is_safe_and_not_exact(mechanism, oracle):
    curve = mechanism.guarantee()
    assert not mechanism.exact
    assert not curve.exact
    assert "(not exact)" in repr(curve)
    for loss in LOSSES:
        assert not oracle(loss) > curve.bounds.delta(loss).upper


EVERY = [each for each, _ in EXACT + DOMINATING] + [
    m.Custom(to.PiecewiseLinear([0, 0.3, 1], [0.9, 0.35, 0])),
    m.LastIterate(noise_multiplier=2, steps=5, contraction=0.9, diameter=3),
    m.ThresholdedKeys(scale=2, threshold=28, noise="gaussian", keys=3),
    m.ReportNoisyMax(epsilon=1, noise="laplace"),
    m.CanonicalNoise(to.PureDP(1).lower),
    m.Subsampled(m.RandomizedResponse(epsilon=1, categories=4), sample_rate=0.1),
    m.RandomAllocation(noise_multiplier=2, steps=3, participations=2),
    m.TreeAggregation(7, 2000, participations=6, separation=313, restarts=[1000], completion=True),
    *(
        m.MatrixMechanism(2.0, strategy=strategy, scheme="balls-in-bins", bins=2, epochs=2)
        for strategy in ([1, 0.5], [[1, 0, 0, 0], [0.5, 1, 0, 0], [0, 0, 2, 0], [1, 0, 0, 1]])
    ),
]


@pytest.mark.parametrize("mechanism", EVERY, ids=lambda each: each.kind)
def test_mechanism_of_each_kind_is_a_frozen_value_with_a_curve(mechanism):
    assert m.KINDS[mechanism.kind] is type(mechanism)
    again = type(mechanism)(**mechanism.parameters())
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    whole = mechanism == m.RandomAllocation(1, 4, 4)  # in every step
    assert mechanism.curve().symmetric == (mechanism.order == "symmetric" or whole)
    with pytest.raises(FrozenInstanceError):
        mechanism.kind = "other"
    content = to.spec.PlanFile("", to.Plan({mechanism: 2}, mechanism.adjacency or "add-remove"))
    assert to.spec.loads(to.spec.dumps(content)) == content


STATED = [each for each in EVERY if each.adjacency or each.order == "free"]


@pytest.mark.parametrize("mechanism", STATED, ids=lambda each: f"{each.kind}-{each.adjacency}-{each.order}")
@pytest.mark.parametrize("n", [1, 2])
def test_guarantee_is_symmetric_and_below_both_orders(mechanism, n):
    result = mechanism.guarantee(n)
    assert result == to.Plan({mechanism: n}, mechanism.adjacency or "add-remove").guarantee()
    assert result.symmetric
    assert "one order" not in repr(result)
    for order in (mechanism.curve(), ~mechanism.curve()) if n == 1 else ():
        for loss in LOSSES:
            assert result.bounds.delta(loss).upper >= order.bounds.delta(loss).lower


def test_order_and_exactness_are_those_of_the_proofs_and_labelled():
    assert {type(each) for each, _ in EXACT + DOMINATING} == set(m.KINDS.values())
    added = {each.kind for each in EVERY if each.adjacency == "add-remove"}
    assert added >= {"subsampled-gaussian", "subsampled-laplace", "random-allocation"}
    symmetric = {each.kind for each in EVERY if each.order == "symmetric" and each.adjacency == "add-remove"}
    assert symmetric == {"thresholded-keys"}
    assert not any(each.order == "tied" and each.adjacency is None for each in EVERY)
    tied = to.Plan({COIN: 100, m.Gaussian(noise_multiplier=4): 3})
    assert tied.exact
    assert tied.guarantee().exact
    assert not to.Plan({COIN: 100, m.RandomAllocation(1, 4, 2): 1}).exact
    one_way = m.Custom(to.subsample(to.PureDP(1), 0.5))
    assert to.Plan({one_way: 1}).exact
    assert not to.Plan({one_way: 2}).exact
    assert not (tied.guarantee() @ tied.guarantee()).exact
    polygon = to.PiecewiseLinear([0, 0.25, 1], [1, 0.25, 0])
    assert polygon.lower.exact
    for curve in (to.Gaussian(1).group(2), to.Laplace(1).group(2), to.Gaussian(1).gdp(failure=0).curve):
        assert curve.exact
    assert (polygon.symmetrise(assume="either-order") @ to.TotalVariation(0.1)).exact
    bound = m.Subsampled(m.Gaussian(noise_multiplier=1), 0.5).curve()
    for curve, exact in ((bound, False), (to.Gaussian(1), True)):
        answers = answer_query(curve, delta=[1e-5])
        assert answers.as_json()["exact"] is exact
        assert csv(answers, answers).splitlines()[1].endswith(f",{exact}")
        for text in (repr(answers), latex(answers, answers)):
            assert (NOT_EXACT in text) == (not exact)
        result = compare(curve, {"half": to.Gaussian(0.1)})
        assert (NOT_EXACT in repr(result)) == (not exact)
        assert result["half"].under_reports == exact  # a bound accuses no method
    assert NOT_EXACT in repr(to.Plan({m.ExponentialMechanism(0.1): 1}).guarantee().gdp())


COIN = m.SubsampledGaussian(1, 0.25)
BOUND, PAIR = m.PureDP(1).curve(), to.PureDP(1)
TIGHT = [
    lambda f: f @ to.Gaussian(1),
    lambda f: to.Gaussian(1) @ f @ to.Gaussian(1),
    lambda f: f**3,
    lambda f: ~f,
    lambda f: ~~to.subsample(f, 0.1),
    lambda f: to.subsample(f, 0.1).symmetrise(assume="either-order"),
    lambda f: to.mixture({f: 0.5, to.Identity(): 0.5}),
    lambda f: to.minimum(f, to.Gaussian(1)),
    lambda f: f.dual().dual(),
    lambda f: to.subsample(f.symbolic(), 0.5),
    lambda f: m.Custom(f).curve(),
    lambda f: m.CanonicalNoise(f).curve(),
]


LOOSE = [
    lambda f: f.lower,
    lambda f: f.upper,
    lambda f: f.tabulate([0.1, 0.5]).lower,
    lambda f: to.maximum(f, to.Gaussian(1)),
    lambda f: f.group(2),
    lambda f: to.subsample(f, 0.1, scheme="without-replacement"),
    lambda f: to.subsample(f, 0.1).symmetrise(assume="both-orders"),
    lambda f: to.subsample(f, 0.1).symmetrise(assume="either-order") ** 2,
    lambda f: to.minimum(f, to.Gaussian(1)) @ f,
    lambda f: f.gdp(failure=0).curve,
    lambda f: to.conversions.from_renyi({2: f.renyi(2)}),
    lambda f: to.Profile.from_epsilon_delta({1.0: f.delta(1.0)}),
]


@pytest.mark.parametrize(("operator", "tight"), [*((f, True) for f in TIGHT), *((f, False) for f in LOOSE)])
def test_a_curve_made_of_a_bound_or_by_a_loose_operator_is_not_exact(operator, tight):
    assert operator(PAIR).exact == tight
    assert not operator(BOUND).exact
    assert not tight or operator(PAIR).delta(0.3) == operator(BOUND).delta(0.3)


def test_the_curve_of_every_order_is_a_closed_form():
    f = ZeroConcentrated(0.5, 0.25)
    for alpha in (1e-200, 1e-9, 0.1, 0.4, 0.6):
        root = max(sqrt(max(log(1 / mpf(alpha)) - mpf(1) / 4, 0)) - sqrt(mpf(1) / 2), 0)
        inverse = exp(-mpf(1) / 4 - (sqrt(mpf(1) / 2) + sqrt(-log(1 - mpf(alpha)))) ** 2)
        assert 1 - exp(-(root**2)) in f.bounds(alpha)
        assert inverse in (~f).bounds(alpha)
    for loss in (-2.0, -0.1, 0.3, 2.0, 20.0):
        # sup over x of x - e^loss y(x), and of the inverse 1 - y - e^loss (1 - x)
        slope = mpf(3) / 4 - mpf(loss)
        root = LONG.findroot(lambda k, slope=slope: k + slope + log(k / (k + 1)), max(loss, 0.05))
        x, y = exp(-(root**2) / 2), exp(-mpf(1) / 4 - (root + 1) ** 2 / 2)
        lower, upper = f.bounds.delta(loss)
        assert lower <= x - exp(mpf(loss)) * y <= upper
        assert upper - lower < 1e-12 * upper
        lower, upper = (~f).bounds.delta(-loss)
        assert lower <= 1 - y - exp(-mpf(loss)) * (1 - x) <= upper
        assert upper - lower < 1e-12


@pytest.mark.slow
def test_exponential_mechanisms_have_the_guarantee_of_their_concentrated_privacy():
    plan = to.Plan({m.ExponentialMechanism(0.15): 3000})
    epsilon = plan.guarantee().epsilon(7e-9)
    assert epsilon < 32.483
    assert plan.curve().epsilon(7e-9) > 37.4
    assert epsilon <= to.baselines.zcdp_route(3000 * 0.15**2 / 8, 7e-9).epsilon
    assert not plan.exact
    few = to.Plan({m.ExponentialMechanism(0.1): 10})
    assert few.guarantee().epsilon(1e-6) == few.curve().epsilon(1e-6)
    row = compare(plan.guarantee(), ["zcdp"], delta=[7e-9], epsilon=[], alpha=[])["zcdp"]
    assert row.entries["epsilon"][0].value == pytest.approx(32.479, abs=1e-3)
    # Two choices of two candidates, the utilities of the second by the answer of the first.
    upper = to.Plan({m.ExponentialMechanism(1): 2}).guarantee().bounds.delta(0.5).upper
    # Probabilities of the first candidate on both data sets, of utilities that change by at most 1.
    changes = [(0, 2), (0, -2), (1, -1)]
    steps = [tuple(1 / (1 + exp(mpf(gap) / 2)) for gap in (before, before + by)) for before, by in changes]
    for first, then, other in product(steps, repeat=3):
        both_sets = zip(first, then, other, strict=True)
        masses = [[p * q, p * (1 - q), (1 - p) * r, (1 - p) * (1 - r)] for p, q, r in both_sets]
        assert atoms(*masses)(0.5) <= upper
