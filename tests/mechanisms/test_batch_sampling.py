import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, laplace, multinomial, norm

import tradeoff as to
from tests.mechanisms.reference import SIGMA, Q, added, at_most, cut, replaced, worst
from tradeoff import mechanisms as m
from tradeoff.balls import to_bounds
from tradeoff.mechanisms.batch_sampling import full_batch
from tradeoff.pld.shuffled import Randomizer, shuffled_pair_law

CAPPED = m.TruncatedSubsampledGaussian(SIGMA, 0.25, batch_size=1, dataset_size=4).curve()
REPLACED = m.TruncatedSubsampledGaussian(SIGMA, 0.25, 1, 3, adjacency="replace-one").curve()
CHANGES = [(CAPPED, added(4)), (~CAPPED, ((b, a) for a, b in added(4))), (REPLACED, replaced(3))]


@pytest.mark.parametrize(("curve", "changes"), CHANGES, ids=["added", "removed", "replaced"])
def test_capped_batches_dominate_every_data_set(curve, changes):
    at_most(worst(lambda n: cut(n, Q, 1), changes), curve, exact=False)
    assert REPLACED.symmetric


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


def test_full_batch_of_many_records_is_tight_and_one_never_full_a_plain_sample():
    free = m.SubsampledGaussian(1, 0.1).curve()
    assert m.TruncatedSubsampledGaussian(1, 0.1, 1000, 1000).curve() == free
    assert m.TruncatedSubsampledGaussian(1, 0.1, 3, 3).curve() == free
    assert m.TruncatedSubsampledGaussian(1, 0, 3, 9).curve() == to.Identity()
    rare = m.TruncatedSubsampledGaussian(1, 1e-6, 100, 10_000).curve().bounds.delta(0.1).upper
    assert rare == pytest.approx(m.SubsampledGaussian(1, 1e-6).curve().delta(0.1), rel=1e-9)
    always = m.TruncatedSubsampledGaussian(2, 1, 100, 1000).curve().bounds.delta(0.1).upper
    assert always == pytest.approx(to.subsample(to.Gaussian(1), 0.1).delta(0.1), rel=1e-12)  # one is replaced
    trained = m.BandedFactorization(1.5, 0.1, steps=100, bands=8).curve()
    assert trained == m.SubsampledGaussian(1.5, 0.1).curve() ** 13


def two_of_three(mu, epsilon):
    """Return delta of both orders for two steps of three, Y = (a b + (a + b) c)/3, to about 1e-4 of itself.

    Given the ratios a and b the integral over c is that of a call on a lognormal variable; a sum over a fine
    grid of two normal variables does the rest.
    """
    x = np.arange(-9, 9 + mu, 0.1)
    weight, ratio = 0.1 * norm.pdf(x), np.exp(mu * x - mu * mu / 2)
    both, either = np.multiply.outer(ratio, ratio), np.add.outer(ratio, ratio)

    def call(strike):
        rest = (3 * strike - both) / either
        d = -np.log(np.maximum(rest, 1e-300)) / mu
        value = np.where(rest > 0, norm.cdf(d + mu / 2) - rest * norm.cdf(d - mu / 2), 1 - rest)
        return float(weight @ (either / 3 * value) @ weight)

    strike = math.exp(epsilon)
    return call(strike), strike * (call(1 / strike) - 1) + 1  # E (1 - K Y)_+ by parity, as E Y = 1


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
def test_two_of_three_steps_are_dominated_by_blocks(mu):
    mechanism = m.RandomAllocation(1 / mu, steps=3, participations=2)
    curve = mechanism.curve()
    assert not mechanism.exact
    assert not curve.exact
    for epsilon in (0.0, 0.5, 1.0, 2.0, 4.0):
        truth = two_of_three(mu, epsilon)
        orders = [each.bounds.delta(epsilon).upper for each in (curve, ~curve)]
        assert all(1.01 * least <= most for least, most in zip(truth, orders, strict=True))
        assert mechanism.guarantee().delta(epsilon) >= 1.01 * max(truth)
        assert max(orders) <= to.Gaussian(mu * 2**0.5).bounds.delta(epsilon).upper  # of two public steps


@pytest.mark.slow
def test_allocation_is_better_than_poisson_steps():
    one_of_four = m.RandomAllocation(1, 4).curve()
    assert one_of_four.epsilon(1e-5) < (to.subsample(to.Gaussian(1), 0.25) ** 4).bounds.epsilon(1e-5).lower
    assert m.RandomAllocation(1, 1).curve() == to.Gaussian(1)
    assert m.RandomAllocation(1, 7, 7).curve() == to.Gaussian(1) ** 7
    assert m.RandomAllocation(0.01, 7).curve() == to.Gaussian(100)
    assert [m.RandomAllocation(s, 7, k).exact for s, k in ((1, 1), (1, 3), (1, 7), (0.01, 1))] == [1, 0, 1, 0]
    assert [m.BallsInBins(1, bins=4, epochs=e).exact for e in (1, 400, 401)] == [True, True, False]


def clones(epsilon, records, ratio):
    """Return the hockey-stick divergence of the pair of clones at e^eps = ratio, written out."""
    truth, terms = math.exp(epsilon) / (math.exp(epsilon) + 1), []
    for c in range(records):
        heads = binom.pmf(np.arange(c + 2), c, 0.5)
        shown = np.concatenate([[0.0], heads[:-1]])
        p, q = truth * shown + (1 - truth) * heads, (1 - truth) * shown + truth * heads
        weight = binom.pmf(c, records - 1, math.exp(-epsilon))
        terms.append(weight * float(np.sum(np.maximum(q - ratio * p, 0))))
    return math.fsum(terms)


@pytest.mark.parametrize("records", [1, 2, 7, 40])
@pytest.mark.parametrize("epsilon", [1e-4, 0.05, 1.0, 6.0])
def test_shuffled_answers_contain_the_pair_of_clones(records, epsilon):
    for loss in (-0.5, 0.0, 0.03, epsilon / 2, epsilon * 0.999):
        bounds = m.ShuffledRandomizers(epsilon, records).curve().bounds.delta(loss)
        assert bounds.lower - 1e-13 <= clones(epsilon, records, math.exp(loss)) <= bounds.upper + 1e-13
        assert bounds.width <= 1e-11


def histograms(answers, channel):
    """Return the law of the histogram of randomised answers."""
    law = {(0,) * len(channel[0]): 1}
    for answer in answers:
        result = {}
        for counts, weight in law.items():
            for shown, chance in enumerate(channel[answer]):
                key = tuple(n + (i == shown) for i, n in enumerate(counts))
                result[key] = result.get(key, 0) + weight * chance
        law = result
    return law


def blanket(epsilon, records, both, neither, losses):
    """Yield delta of the blanket, and its error: over all counts of few records, or five errors of samples.

    Next to an outcome that is likely of one of both records alone, those likely of both, and of neither, have
    these shares.
    """
    odds = math.exp(epsilon)
    masses = np.array([1, 1, both, neither]) / (odds + 1 + both * odds + neither)
    chances = [*masses, 1 - masses.sum()]
    if records <= 25:
        counts = np.indices((records,) * 4).reshape(4, -1).T
        counts = counts[counts.sum(axis=1) < records]
        rest = records - 1 - counts.sum(axis=1, keepdims=True)
        weight, errors = multinomial.pmf(np.append(counts, rest, axis=1), records - 1, chances), 0
    else:
        counts = np.random.default_rng(7).multinomial(records - 1, chances, 100_000)[:, :4]
        weight, errors = 1 / len(counts), 5
    for loss in losses:
        each = np.zeros(len(counts))
        for own, mass in enumerate(masses * [1, odds, odds, 1]):
            a, b, x, y = (counts + (np.arange(4) == own)).T
            ratio = (a * odds + b + x * odds + y) / (a + b * odds + x * odds + y)
            each += mass * np.maximum(1 - math.exp(loss) * ratio, 0)
        yield np.sum(weight * each), errors * each.std() / math.sqrt(len(each))


FINE, COARSE = ((0.0, 0.1, 0.4, 0.9), 1e-9), ((0.0, 0.05, 0.1), 0.02)
BLANKETS = [
    *((e, 25, {"categories": k}, 0.0, k - 2.0, *FINE) for e, k in ((1.0, 2), (1.0, 3), (3.0, 20))),
    *((1.0, n, {"categories": 10, "size": 3}, 2 / 7, 2.0, *COARSE) for n in (25, 200)),
    *((1.0, n, {"categories": 4, "size": 3}, 2.0, 0.0, *COARSE) for n in (25, 200)),
    *((1.0, n, {"randomizer": "rappor"}, math.exp(-0.5), math.exp(0.5), *COARSE) for n in (25, 200)),
]


@pytest.mark.parametrize(("epsilon", "records", "keys", "both", "neither", "losses", "close"), BLANKETS)
def test_shuffled_randomizers_have_the_profile_of_the_blanket(
    epsilon, records, keys, both, neither, losses, close
):
    bounds = m.ShuffledRandomizers(epsilon, records, **keys).curve().bounds
    for loss, (truth, error) in zip(losses, blanket(epsilon, records, both, neither, losses), strict=True):
        assert truth * (1 - 1e-9) - error <= bounds.delta(loss).upper <= (truth + error) * (1 + close)


def subset_channel(categories, size):
    """Return the channel of subset selection at e^eps = 3, a row for each answer."""
    subsets = list(itertools.combinations(range(categories), size))
    rows = [[3 if x in each else 1 for each in subsets] for x in range(categories)]
    return [[Fraction(w, sum(row)) for w in row] for row in rows]


def bit_channel(sets, size, odds):
    """Return the channel of bits, each kept with these odds, of records that have the bits of a set."""
    every = list(itertools.product((0, 1), repeat=size))
    kept = [[sum(bit == (i in bits) for i, bit in enumerate(seen)) for seen in every] for bits in sets]
    return [[odds**k / (1 + odds) ** size for k in row] for row in kept]


def laplace_channel(epsilon):
    """Return the masses of cells of Laplace noise at 0, 1/3, 1/2 and 1: cells are post-processing."""
    edges = np.array([-np.inf, 0, 0.2, 0.4, 0.5, 0.6, 0.8, 1, np.inf])
    return [np.diff(laplace.cdf(edges, x, 1 / epsilon)).tolist() for x in (0, 1 / 3, 1 / 2, 1)]


LOSSES = (0.0, 0.1, 0.5, 1.0)
THREE, FOUR = math.log(3), math.log(4)
SIZES = {(2, 1): (1, 4), (3, 1): (1, 4), (4, 1): (3,), (5, 1): (2,), (4, 2): (1, 3), (3, 2): (2, 4)}
RAPPOR, CELLS = {"randomizer": "rappor"}, {"randomizer": "laplace"}
HASHED = bit_channel([{0, 1}, {2, 3}, {0, 2}, {1}], 4, math.exp(0.5))
NAMED = [
    *((m.ShuffledRandomizers(THREE, n, *k), subset_channel(*k), True) for k in SIZES for n in SIZES[k]),
    (m.ShuffledRandomizers(FOUR, 4, **RAPPOR), bit_channel([{0}, {1}], 2, 2), True),
    *((m.ShuffledRandomizers(FOUR, n, **RAPPOR), bit_channel([{0}, {1}, {2}], 3, 2), True) for n in (1, 3)),
    *((m.ShuffledRandomizers(e, n, **CELLS), laplace_channel(e), True) for e, n in ((0.5, 3), (2.0, 4))),
    # Two hashes may agree, and are no less private than one.
    (m.ShuffledRandomizers(2.0, 3, **RAPPOR), HASHED, False),
]


@pytest.mark.parametrize(("mechanism", "channel", "has_pair"), NAMED)
def test_shuffled_randomizers_are_between_all_data_sets_and_a_pair(mechanism, channel, has_pair):
    upper, lower, worst_of = mechanism.guarantee().bounds, mechanism.pair().bounds, {}
    for rest in itertools.combinations_with_replacement(range(len(channel)), mechanism.records - 1):
        laws = [np.array([*histograms((x, *rest), channel).values()], float) for x in range(len(channel))]
        for (p, q), loss in itertools.product(itertools.permutations(laws, 2), LOSSES):
            worst_of[loss] = max(worst_of.get(loss, 0), np.sum(np.maximum(q - math.exp(loss) * p, 0)))
    for loss, truth in worst_of.items():
        assert truth <= upper.delta(loss).upper + 1e-15
        assert not has_pair or lower.delta(loss).lower - 1e-13 <= truth


@pytest.mark.parametrize(
    ("epsilon", "records", "losses"),
    [
        (1.0, 1000, (0.0, 0.06, 0.13, 0.17)),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in ((4.0, 3000, (0.1, 0.6)), (1.0, 10**6, (0.001, 0.004)), (1.0, 10**9, (1e-5, 5e-5)))
        ),
    ],
)
def test_shuffled_laplace_noise_has_the_profile_of_a_line_integral(epsilon, records, losses):
    """E S_+ is the integral of E e^(z S)/(2 pi i z^2) on a line Re z = c > 0, here through its saddle."""
    node, weight = np.polynomial.legendre.leggauss(100)
    q = 1 + math.expm1(epsilon / 2) * (1 + node) / 2  # of X = q^2, with density q^-2, and an atom at the end
    x = np.append(q * q, math.exp(epsilon))
    mass = math.exp(-epsilon / 2) * np.append(
        math.expm1(epsilon / 2) * weight / 2 / q**2, math.exp(-epsilon / 2)
    )
    bounds = m.ShuffledRandomizers(epsilon, records, randomizer="laplace").curve().bounds
    for loss in losses:
        values = np.concatenate([x - math.exp(loss), 1 - math.exp(loss) * x])

        def log_phi(z, values=values):
            each = np.tile(mass / 2, 2) @ np.expm1(np.multiply.outer(values, np.atleast_1d(z)))
            return records * np.log1p(each)

        deviation = math.sqrt(records * (np.tile(mass / 2, 2) @ values**2))
        c = np.geomspace(0.01, 20, 400) / deviation
        c = c[np.argmin(log_phi(c).real - 2 * np.log(c))]
        z = c + 1j * np.arange(4000) * 2 * math.pi / max(40 / c, 30 * deviation)
        terms = np.exp(log_phi(z)) / z**2
        truth = (np.sum(terms.real) - terms[0].real / 2) * (z[1] - z[0]).imag / math.pi / records
        assert abs(terms[-1]) < 1e-9 * abs(terms[0])
        assert truth * (1 - 1e-9) <= bounds.delta(loss).upper <= truth * 1.05


@pytest.mark.parametrize(
    ("randomizer", "records", "total"),
    [
        (Randomizer(1.0), 1, math.e + 1),
        (Randomizer(1.0, 3), 40, math.e + 2),
        (Randomizer(1.0, 10, 3), 60, (9 * math.e + 21) / 7),
        (Randomizer(1.0, kind="rappor"), 30, (math.exp(0.5) + 1) ** 2),
        (Randomizer(1.0, kind="laplace"), 30, 2 * math.e),
    ],
)
def test_pair_of_data_sets_has_the_profile_of_all_counts(randomizer, records, total):
    """Summed over counts of outcomes e times, and 1/e times as likely from the other record."""
    law = shuffled_pair_law(randomizer, records, reverse=False)
    flipped = shuffled_pair_law(randomizer, records, reverse=True)
    a, b = (each.ravel() for each in np.meshgrid(*[np.arange(records + 1)] * 2))
    a, b = a[a + b <= records], b[a + b <= records]
    chances = [1 / total, math.e / total, max(1 - (1 + math.e) / total, 0.0)]
    mass = multinomial.pmf(np.stack([a, b, records - a - b], axis=1), records, chances)
    ratio = (a * math.e + b / math.e + (records - a - b)) / records
    for loss in (-0.2, 0.0, 0.1, 0.5):
        for each, p, q in ((law, mass, mass * ratio), (flipped, mass * ratio, mass)):
            result = np.exp(each.log_p) * np.maximum(np.exp(each.loss) - math.exp(loss), 0)
            assert np.sum(result) == pytest.approx(np.sum(np.maximum(q - math.exp(loss) * p, 0)), rel=1e-10)


def test_many_shuffled_answers_are_rounded_up_and_extremes_have_answers():
    assert m.ShuffledRandomizers(0, 10).curve() == to.Identity()
    assert m.ShuffledRandomizers(700, 10).curve().epsilon(0) == pytest.approx(700)
    assert 0 <= m.ShuffledRandomizers(1e-300, 10).curve().delta(0) <= 1e-300
    assert 0 < m.Subsampled(m.Laplace(scale=1000), 0.1, group_size=1000).curve().delta(0.0) < 1
    # The ratio is a mean of n of variance (e - 1)^2 (1 + 1/e)/(e + 1).
    for n, times in ((1, 1), (4, 2)):
        deviation = math.sqrt((math.e - 1) ** 2 * (1 + 1 / math.e) / (math.e + 1) / 10**6)
        delta = m.ShuffledRandomizers(1, 10**6, 2).pair(n).bounds.delta(0)
        assert delta.lower == pytest.approx(times * deviation / math.sqrt(2 * math.pi), rel=1e-2)


def test_balls_in_bins_is_one_allocation_of_less_noise_rounded_down():
    result = m.BallsInBins(noise_multiplier=1, bins=100, epochs=5).guarantee().epsilon(1e-5)
    assert result == pytest.approx(6.8758775704, abs=1e-9)
    assert m.RandomAllocation(1, steps=100).guarantee(5).epsilon(1e-5) == pytest.approx(1.206, abs=5e-4)
    for epochs, sigma in itertools.product((1, 2, 3, 7, 10**6), (0.7, 1 / 3, 5.0)):
        alone = m.BallsInBins(sigma, bins=1, epochs=epochs).curve()
        assert Fraction(alone.mu) ** 2 * Fraction(sigma) ** 2 >= epochs
        assert alone.mu == pytest.approx(np.sqrt(epochs) / sigma, rel=1e-15)
    assert m.BallsInBins(2, bins=7, epochs=1).guarantee(3) == m.RandomAllocation(2, steps=7).guarantee(3)
