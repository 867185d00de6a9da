"""Sampled mechanisms against enumerations: every batch and draw, exact weights, one quadrature at the end."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import tradeoff as to
from tradeoff import mechanisms as m
from tradeoff.balls import to_bounds
from tradeoff.errors import DomainError, KindError
from tradeoff.families.discrete import AllocatedCurve
from tradeoff.mechanisms.batch_sampling import full_batch
from tradeoff.mechanisms.subsampled import hits

EPSILON = np.array([-1.0, -0.1, 0.0, 0.05, 0.3, 1.0, 2.0])
X = np.linspace(-14, 14, 40_001)
ROUNDING = 2e-7
"""More than the error of the sums below: the square of a step, at the kinks where an integrand becomes 0."""


def profile(null, alternative, sigma):
    """Return delta at EPSILON of two mixtures of normal laws {mean: weight}, by the trapezoid rule."""
    p, q = (
        sum(float(w) * np.exp(-(((X - a) / sigma) ** 2) / 2) for a, w in law.items())
        / (sigma * math.sqrt(2 * math.pi))
        for law in (null, alternative)
    )
    return np.array([np.sum(np.maximum(q - math.exp(e) * p, 0)) * (X[1] - X[0]) for e in EPSILON])


def law_of(batches, values):
    """Return {sum: weight} of a list of (weight, indices)."""
    result = {}
    for weight, chosen in batches:
        total = sum(values[i] for i in chosen)
        result[total] = result.get(total, 0) + weight
    return result


def poisson(n, q):
    for chosen in product((0, 1), repeat=n):
        yield q ** sum(chosen) * (1 - q) ** (n - sum(chosen)), [i for i in range(n) if chosen[i]]


def fixed(n, size):
    every = list(combinations(range(n), size))
    yield from ((Fraction(1, len(every)), chosen) for chosen in every)


def drawn(n, draws):
    yield from ((Fraction(1, n**draws), chosen) for chosen in product(range(n), repeat=draws))


def cut(n, q, most):
    for weight, chosen in poisson(n, q):
        kept = list(combinations(chosen, min(most, len(chosen))))
        yield from ((weight / len(kept), each) for each in kept)


SIGMA, Q = 0.8, Fraction(1, 4)
VALUES = (-1.0, 0.0, 1.0)


def worst(batches, changed, sigma=SIGMA):
    """Return the largest profile over all data sets, of the batches without and with the change."""
    result = np.zeros(len(EPSILON))
    for before, after in changed:
        null, alternative = (law_of(batches(len(values)), values) for values in (before, after))
        result = np.maximum(result, profile(null, alternative, sigma))
    return result


def replaced(n):
    for rest in product(VALUES, repeat=n - 1):
        for one, two in product(VALUES, repeat=2):
            yield (one, *rest), (two, *rest)


def added(n, group=1):
    for rest in product(VALUES, repeat=n - group):
        for more in product(VALUES, repeat=group):
            yield rest, (*rest, *more)


def at_most(found, curve, exact):
    upper = curve.bounds.delta(EPSILON).upper
    assert (found <= upper + ROUNDING).all()
    if exact:
        assert (found >= curve.bounds.delta(EPSILON).lower - ROUNDING).all()


@pytest.mark.parametrize("turned", [False, True])
def test_no_data_set_is_worse_than_poisson_samples_of_added_records(turned):
    pairs = [(b, a) if turned else (a, b) for a, b in added(4)]
    curve = m.SubsampledGaussian(SIGMA, 0.25).curve()
    at_most(worst(lambda n: poisson(n, Q), pairs), ~curve if turned else curve, exact=True)


@pytest.mark.parametrize("turned", [False, True])
def test_no_data_set_is_worse_than_groups_of_added_records(turned):
    pairs = [(b, a) if turned else (a, b) for a, b in added(4, group=2)]
    curve = m.SubsampledGaussian(SIGMA, 0.25, group_size=2).curve()
    result = worst(lambda n: poisson(n, Q), pairs)
    at_most(result, ~curve if turned else curve, exact=True)
    loose = m.Subsampled(m.Gaussian(SIGMA), 0.25, group_size=2).curve()
    at_most(result, ~loose if turned else loose, exact=False)


def test_no_data_set_is_worse_than_poisson_samples_of_replaced_records():
    result = worst(lambda n: poisson(n, Q), replaced(3))
    at_most(result, m.SubsampledGaussian(SIGMA, 0.25, adjacency="replace-one").curve(), exact=True)
    at_most(result, m.Subsampled(m.Gaussian(SIGMA / 2), 0.25, adjacency="replace-one").curve(), exact=False)


@pytest.mark.slow
def test_no_data_set_is_worse_than_samples_of_fixed_size():
    curve = m.SubsampledGaussian(SIGMA, 0.5, "without-replacement").curve()
    at_most(worst(lambda n: fixed(n, 2), replaced(4)), curve, exact=False)
    # One order is attained, where all others are on the side of the record.
    least = profile({0.0: 1}, {0.0: 0.5, 2.0: 0.5}, SIGMA)[2:]
    assert (least >= curve.bounds.delta(EPSILON[2:]).lower - ROUNDING).all()


def test_no_data_set_is_worse_than_draws_with_replacement():
    step = m.SubsampledGaussian(SIGMA, Fraction(2, 3), "with-replacement", batch_size=2)
    assert step.adjacency == "replace-one"
    at_most(worst(lambda n: drawn(n, 2), replaced(3)), step.curve(), exact=False)


def test_one_draw_is_a_sample_of_size_one():
    drawn_once = m.SubsampledGaussian(1, 0.125, "with-replacement", batch_size=1).curve()
    assert drawn_once == m.SubsampledGaussian(1, 0.125, "without-replacement").curve()


@pytest.mark.parametrize("turned", [False, True])
def test_no_data_set_is_worse_than_capped_batches(turned):
    pairs = [(b, a) if turned else (a, b) for a, b in added(4)]
    curve = m.TruncatedSubsampledGaussian(SIGMA, 0.25, batch_size=1, dataset_size=4).curve()
    result = worst(lambda n: cut(n, Q, 1), pairs)
    at_most(result, ~curve if turned else curve, exact=False)


def test_no_data_set_is_worse_than_capped_batches_of_replaced_records():
    curve = m.TruncatedSubsampledGaussian(SIGMA, 0.25, 1, 3, adjacency="replace-one").curve()
    assert curve.symmetric
    at_most(worst(lambda n: cut(n, Q, 1), replaced(3)), curve, exact=False)


@pytest.mark.slow
@settings(max_examples=12)
@given(
    st.lists(st.tuples(st.floats(0, 6.3), st.floats(0, 1)), min_size=4, max_size=4),
    st.floats(0.05, 0.95),
    st.floats(0.6, 3),
)
def test_vectors_on_a_line_are_the_worst(ends, q, sigma):
    # Mixtures in the plane whose means have at most the norms of those on the line.
    norms = np.array([0.3, 1.0, 0.5, 1.0])
    x, y = np.meshgrid(np.linspace(-12, 12, 401) * sigma, np.linspace(-12, 12, 401) * sigma)
    area = (x[0, 1] - x[0, 0]) ** 2 / (2 * math.pi * sigma**2)
    means = [(r * s * math.cos(a), r * s * math.sin(a)) for (a, s), r in zip(ends, norms, strict=True)]
    parts = [np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * sigma**2)) * area for a, b in means]
    p, d = q * parts[0] + (1 - q) * parts[1], q * parts[2] + (1 - q) * parts[3]
    line = to.GaussianMixtures(
        null={-norms[0]: q, -norms[1]: 1 - q}, alternative={norms[2]: q, norms[3]: 1 - q}, sigma=sigma
    )
    for e in (-0.5, 0.0, 0.2, 1.0):
        assert np.sum(np.maximum(d - math.exp(e) * p, 0)) <= line.delta(e) + 1e-5


@settings(max_examples=30)
@given(st.integers(1, 30), st.floats(1e-6, 1, exclude_min=True))
def test_hits_are_rounded_towards_more(draws, chance):
    result, p = hits(draws, chance), Fraction(chance)
    true = [math.comb(draws, j) * p**j * (1 - p) ** (draws - j) for j in range(draws + 1)]
    total = sum(map(Fraction, result.weights.values()))
    for j in range(draws + 1):
        tail = sum(Fraction(w) for k, w in result.weights.items() if k >= j) / total
        assert sum(true[j:]) <= tail + Fraction(result.beyond)
        assert tail <= sum(true[j:]) * (1 + Fraction(1, 10**12)) + Fraction(1, 10**29)


@settings(max_examples=40)
@given(st.integers(1, 30), st.floats(1e-9, 1, exclude_max=True), st.integers(1, 30))
def test_full_batch_contains_exact_fractions(records, chance, most):
    p, n = Fraction(chance), records - 1
    chances = [math.comb(n, r) * p**r * (1 - p) ** (n - r) for r in range(n + 1)]
    full = sum(chances[most:])
    if not full:
        return
    *tails, rate = full_batch(records, chance, most)
    for tail, truth in zip(tails, (full, 1 - full), strict=True):
        low, high = to_bounds(tail)
        assert low <= truth <= high <= max(low * (1 + 1e-15), 5e-324)
    mean = sum(c * p * most / (r + 1) for r, c in enumerate(chances) if r >= most) / full
    assert mean <= rate <= mean * (1 + Fraction(1, 10**15))


@pytest.mark.parametrize("sizes", [(10**9, 10**5, 10**5 + 2500), (10**10, 10**8, 10**8 - 30000)])
def test_full_batch_of_many_records_is_quick_and_tight(sizes):
    records, mean, most = sizes
    full, not_full, rate = full_batch(records, mean / records, most)
    for tail in (full, not_full):
        low, high = to_bounds(tail)
        assert 0 < low <= high <= low * (1 + 1e-15)
    assert float(to_bounds(full + not_full).width) < 1e-15
    assert 0 < rate <= mean / records


def test_what_never_happens_changes_nothing():
    free = m.SubsampledGaussian(1, 0.1).curve()
    assert m.TruncatedSubsampledGaussian(1, 0.1, 1000, 1000).curve() == free
    assert m.TruncatedSubsampledGaussian(1, 0.1, 3, 3).curve() == free
    assert m.TruncatedSubsampledGaussian(1, 0, 3, 9).curve() == to.Identity()
    rare = m.TruncatedSubsampledGaussian(1, 1e-6, 100, 10_000).curve()
    common = m.SubsampledGaussian(1, 1e-6).curve()
    assert rare.bounds.delta(0.1).upper == pytest.approx(common.delta(0.1), rel=1e-9)


def test_what_always_happens():
    always = m.TruncatedSubsampledGaussian(2, 1, 100, 1000).curve()
    moved = to.subsample(to.Gaussian(1), 0.1)
    assert always.bounds.delta(0.1).upper == pytest.approx(moved.delta(0.1), rel=1e-12)


def test_sampling_of_any_mechanism():
    assert m.Subsampled(m.PureDP(1), 0.5).curve() == to.subsample(to.PureDP(1), 0.5)
    assert m.Subsampled(m.Laplace(2), 0.5).curve() == m.SubsampledLaplace(2, 0.5).curve()
    fixed_size = m.Subsampled(m.Laplace(1), 0.5, "without-replacement").curve()
    assert fixed_size == m.SubsampledLaplace(2, 0.5, scheme="without-replacement").curve()
    lopsided = m.Custom(to.PiecewiseLinear([0, 0.3, 1], [0.9, 0.35, 0]))
    envelope = lopsided.curve().symmetrise(assume="either-order")
    assert m.Subsampled(lopsided, 0.5).curve() == to.subsample(envelope, 0.5)


def test_rates_at_the_ends():
    for scheme in ("poisson", "without-replacement"):
        for neighbours in ("add-remove", "replace-one")[scheme != "poisson" :]:
            never, always = (m.SubsampledGaussian(2, p, scheme, neighbours).curve() for p in (0, 1))
            assert never == to.Identity()
            assert always == to.Gaussian(0.5 if neighbours == "add-remove" else 1)
    assert m.SubsampledGaussian(math.inf, 0.5, adjacency="replace-one").curve() == to.Identity()


def test_banded_noise_is_fewer_steps():
    trained = m.BandedFactorization(1.5, 0.1, steps=100, bands=8).curve()
    assert trained == m.SubsampledGaussian(1.5, 0.1).curve() ** 13


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (
            lambda: m.SubsampledGaussian(1, 0.1, "without-replacement", "add-remove"),
            "adjacency must be 'replace-one' for scheme = 'without-replacement'",
        ),
        (
            lambda: m.SubsampledGaussian(1, 0.1, "with-replacement"),
            "batch_size must be the number of draws for scheme = 'with-replacement', got None",
        ),
        (
            lambda: m.SubsampledGaussian(1, 0.1, batch_size=3),
            "batch_size must be left out for scheme = 'poisson', got 3",
        ),
        (lambda: m.SubsampledGaussian(1, 0.1, "shuffle"), "scheme must be one of 'poisson'"),
        (
            lambda: m.SubsampledGaussian(1, 0.1, adjacency="zero-out"),
            "adjacency must be one of 'add-remove', 'replace-one', got 'zero-out'",
        ),
        (
            lambda: m.SubsampledGaussian(1, 0.1, group_size=0),
            "group_size must be an integer from 1 to 9007199254740992, got 0",
        ),
        (
            lambda: m.SubsampledLaplace(1, 0.1, 1, "without-replacement", group_size=2),
            "group_size must be 1 for scheme = 'without-replacement', got 2",
        ),
        (
            lambda: m.SubsampledGaussian(1, 0.5, group_size=5000).curve(),
            "5000 draws of chance 0.5 have more than 512 likely numbers of hits",
        ),
        (
            lambda: m.SubsampledGaussian(1, 0.1, "with-replacement", batch_size=1.5),
            "batch_size must be an integer from 1 to 9007199254740992, got 1.5",
        ),
        (
            lambda: m.Subsampled(m.SubsampledGaussian(1, 0.1), 0.1, "without-replacement"),
            "mechanism must be for replace-one neighbours, as its sample, got SubsampledGaussian(noise_",
        ),
        (
            lambda: m.TruncatedSubsampledGaussian(1, 0.1, 0, 5),
            "batch_size must be an integer from 1 to 10000000000, got 0",
        ),
        (
            lambda: m.TruncatedSubsampledGaussian(1, 0.1, 3, 10**11),
            "dataset_size must be an integer from 1 to 10000000000, got 100000000000",
        ),
        (
            lambda: m.MixtureOfGaussians(1, [0, 1], [1]),
            "sensitivities and probabilities must have one length, got 2 and 1",
        ),
        (
            lambda: m.MixtureOfGaussians(1, [0, 1], [0.5, 0.4]),
            "probabilities must add to 1, got (0.5, 0.4), sum 0.9",
        ),
        (
            lambda: m.MixtureOfGaussians(1, [0, -1], [0.5, 0.5]),
            "sensitivities[1] must be in [0, inf), got -1",
        ),
        (lambda: m.MixtureOfGaussians(1, 3, [0.5, 0.5]), "sensitivities must be a list of numbers, got 3"),
        (
            lambda: m.BandedFactorization(1, 0.1, 10, 0),
            "bands must be an integer from 1 to 9007199254740992, got 0",
        ),
        (
            lambda: m.RandomAllocation(1, 10, 11),
            "participations must be at most steps = 10, got 11",
        ),
        (lambda: m.RandomAllocation(1, 0), "steps must be an integer from 1 to 1000000, got 0"),
        (lambda: m.ShuffledRandomizers(-1, 10), "epsilon must be in [0, 700], got -1"),
        (lambda: m.ShuffledRandomizers(1, 0), "records must be an integer from 1 to 1000000000, got 0"),
    ],
)
def test_refusals(build, said):
    with pytest.raises(DomainError) as error:
        build()
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


def test_a_curve_is_no_mechanism_to_sample():
    with pytest.raises(KindError, match=r"mechanism must be one of tradeoff.mechanisms, got G_\{1\}"):
        m.Subsampled(to.Gaussian(1), 0.5)


FILE = """
adjacency = "replace-one"

[[mechanism]]
kind = "subsampled-gaussian"
noise_multiplier = 2
sample_rate = 0.01
adjacency = "replace-one"
group_size = 2

[[mechanism]]
kind = "subsampled"
mechanism = {kind = "laplace", scale = 3}
sample_rate = 0.01
scheme = "without-replacement"
count = 10

[[mechanism]]
kind = "shuffled-randomizers"
epsilon = 1
records = 1000
"""


def test_plan_files_hold_words_and_mechanisms():
    result = to.spec.loads(FILE)
    assert result.plan == to.Plan(
        {
            m.SubsampledGaussian(2, 0.01, adjacency="replace-one", group_size=2): 1,
            m.Subsampled(m.Laplace(3), 0.01, "without-replacement"): 10,
            m.ShuffledRandomizers(1, 1000): 1,
        },
        adjacency="replace-one",
    )
    assert to.spec.loads(to.spec.dumps(result)) == result


@pytest.mark.parametrize(
    "mechanism",
    [
        m.MixtureOfGaussians(1.0, [0, 1, 2], [0.5, 0.25, 0.25]),
        m.SubsampledGaussian(1, 0.1),
        m.TruncatedSubsampledGaussian(1, 0.1, 3, 9),
        m.RandomAllocation(1, 10, 2),
        m.BandedFactorization(1, 0.1, 10, 3),
    ],
    ids=lambda each: each.kind,
)
def test_what_is_written_reads_back(mechanism):
    content = to.spec.PlanFile("", to.Plan({mechanism: 2}))
    assert to.spec.loads(to.spec.dumps(content)) == content


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('scheme = "shuffle"', "scheme must be one of"),
        ("scheme = 3", "mechanism[1].scheme must be one of"),
        ('group_size = "2"', "mechanism[1].group_size must be an integer from 1"),
    ],
)
def test_words_of_plan_files_are_checked(line, said):
    text = f'[[mechanism]]\nkind = "subsampled-gaussian"\nnoise_multiplier = 1\nsample_rate = 0.5\n{line}\n'
    with pytest.raises(to.errors.PlanError) as error:
        to.spec.loads(text)
    assert said in str(error.value)


def two_steps(mu, epsilon):
    """Return delta of one of two steps, (r + s)/2 against e^eps: over s in closed form, over r by a sum."""
    z = np.linspace(-10, 10 + mu, 8001)
    weight = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    r = np.exp(mu * z - mu * mu / 2)
    rest = 2 * math.exp(epsilon) - r
    start = np.where(rest > 0, (np.log(np.maximum(rest, 1e-300)) + mu * mu / 2) / mu, -np.inf)
    return float(np.sum(weight * ((r / 2 - math.exp(epsilon)) * ndtr(-start) + ndtr(mu - start) / 2)))


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_one_of_two_steps(mu):
    curve = m.RandomAllocation(1 / mu, 2).curve()
    for epsilon in (-0.5, 0.0, 0.5, 2.0):
        truth, result = two_steps(mu, epsilon), curve.delta(epsilon)
        assert truth <= result * (1 + 1e-9)
        assert result <= truth * (1 + 2e-2)  # 3e-5 at the body, less far in the tail


def test_allocation_by_chance():
    # 200 000 draws of the pair itself, in both orders, within five standard deviations.
    steps, mu, draws = 4, 1.0, 200_000
    rng = np.random.default_rng(7)
    z = rng.standard_normal((draws, steps))
    under_p = np.mean(np.exp(mu * z - mu * mu / 2), axis=1)
    z[:, 0] += mu
    under_q = np.mean(np.exp(mu * z - mu * mu / 2), axis=1)
    curve = m.RandomAllocation(1 / mu, steps).curve()
    for epsilon in (0.0, 0.5, 1.0):
        for order, gain in (
            (curve, 1 - math.exp(epsilon) / under_q),
            (~curve, 1 - math.exp(epsilon) * under_p),
        ):
            gains = np.maximum(gain, 0)
            off = 5 * float(np.std(gains)) / math.sqrt(draws)
            assert abs(order.delta(epsilon) - float(np.mean(gains))) <= off + 1e-4


@pytest.mark.slow
def test_allocation_beats_a_coin_for_each_step():
    one_of_four = m.RandomAllocation(1, 4).curve()
    assert one_of_four.epsilon(1e-5) < (to.subsample(to.Gaussian(1), 0.25) ** 4).bounds.epsilon(1e-5).lower
    assert m.RandomAllocation(1, 1).curve() == to.Gaussian(1)
    assert m.RandomAllocation(1, 7, 7).curve() == to.Gaussian(1) ** 7
    assert m.RandomAllocation(0.01, 7).curve() == to.Gaussian(100)
    assert m.RandomAllocation(1, 7, 3).curve().factors == {
        to.families.discrete.AllocatedCurve(1.0, 2): 2,
        to.families.discrete.AllocatedCurve(1.0, 3): 1,
    }


def clones(epsilon, records, ratio):
    """Return the hockey-stick divergence of the pair of clones at e^eps = ratio, written out."""
    kept, truth = math.exp(-epsilon), math.exp(epsilon) / (math.exp(epsilon) + 1)
    terms = []
    for c in range(records):
        a = np.arange(c + 2)
        log_w = math.lgamma(records) - math.lgamma(c + 1) - math.lgamma(records - c)
        log_w += c * math.log(kept) + (records - 1 - c) * math.log1p(-kept)
        heads = np.array([math.comb(c, int(k)) / 2**c for k in a])
        shown = np.concatenate([[0.0], heads[:-1]])
        p, q = truth * shown + (1 - truth) * heads, (1 - truth) * shown + truth * heads
        terms.append(math.exp(log_w) * float(np.sum(np.maximum(q - ratio * p, 0))))
    return math.fsum(terms)


@pytest.mark.parametrize("records", [1, 2, 7, 40])
@pytest.mark.parametrize("epsilon", [1e-4, 0.05, 1.0, 6.0])
def test_few_shuffled_answers(records, epsilon):
    bounds = m.ShuffledRandomizers(epsilon, records).curve().bounds
    for loss in (-0.5, 0.0, 0.03, epsilon / 2, epsilon * 0.999):
        truth = clones(epsilon, records, math.exp(loss))
        assert bounds.delta(loss).lower <= truth + 1e-13
        assert bounds.delta(loss).upper >= truth - 1e-13
        assert bounds.delta(loss).width <= 1e-11


def test_many_shuffled_answers_are_gathered_on_the_safe_side():
    bounds = m.ShuffledRandomizers(1, 200).curve().bounds
    for loss in (0.0, 0.1, 0.3):
        truth = clones(1.0, 200, math.exp(loss))
        assert truth * (1 - 1e-10) <= bounds.delta(loss).upper <= truth * (1 + 1e-4)


@pytest.mark.slow
def test_a_million_shuffled_answers():
    curve = m.ShuffledRandomizers(1, 10**6).curve()
    assert 0.0043 < curve.epsilon(1e-6) < 0.00434
    assert curve.epsilon(0) == pytest.approx(1, rel=1e-12)
    assert curve.symmetric


def test_shuffling_at_the_ends():
    assert m.ShuffledRandomizers(0, 10).curve() == to.Identity()
    alone = m.ShuffledRandomizers(2, 1).curve()
    assert alone.bounds.delta(0.5).upper == pytest.approx(to.PureDP(2).delta(0.5), rel=1e-12)
    assert m.ShuffledRandomizers(700, 10).curve().epsilon(0) == pytest.approx(700)
    assert 0 <= m.ShuffledRandomizers(1e-300, 10).curve().delta(0) <= 1e-300


@pytest.mark.parametrize("sigma", [1e13, 2.0**63, 1e300])
def test_a_step_that_hides_all_but_nothing(sigma):
    curve = m.RandomAllocation(sigma, 8).curve()
    # Of one step alone delta(0) is 2 Phi(mu/2) - 1 <= mu/2, and chance hides more.
    assert 0 < curve.delta(0.0) < 1e-12
    assert curve.epsilon(1e-6) <= 0


@pytest.mark.parametrize("epsilon", [1e-300, 5e-324])
def test_hardly_any_answer_to_shuffle(epsilon):
    curve = m.ShuffledRandomizers(epsilon, 100).curve()
    assert epsilon / 8 <= curve.delta(0.0) <= 1e-300
    assert epsilon <= curve.epsilon(0.0) <= 2e-300


def test_poisson_samples_of_what_holds_for_one_number_of_records_are_refused():
    batch = m.TruncatedSubsampledGaussian(1.0, 1.0, batch_size=1, dataset_size=10)
    for mechanism, adjacency in (
        (batch, None),
        (m.BestOfRuns(batch, mean=3.0), None),
        (m.ShuffledRandomizers(1.0, 100), "replace-one"),
    ):
        with pytest.raises(DomainError, match="any number of records"):
            m.Subsampled(mechanism, 0.1, adjacency=adjacency)
    assert m.Subsampled(m.ShuffledRandomizers(1.0, 100), 0.1, "without-replacement").curve().epsilon(0) < 1


@pytest.mark.slow
def test_an_allocation_to_as_many_steps_as_are_known():
    assert to.mechanisms.RandomAllocation(1.0, 10**6).curve().factors == {AllocatedCurve(1.0, 10**6): 1}
