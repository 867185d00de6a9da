import re
from fractions import Fraction
from itertools import product
from math import comb

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import beta

import tradeoff as to
from tests.strategies import vertices
from tradeoff.audits import from_losses
from tradeoff.audits.refutation import bound_tail, joint_level, joint_p_value, largest_rate
from tradeoff.errors import DomainError

scores = st.lists(st.one_of(st.integers(-3, 3), st.floats(allow_nan=False)), min_size=1, max_size=30)


def below(k, n, rate):
    """P(Bin(n, rate) <= k), exactly."""
    return sum(comb(n, j) * rate**j * (1 - rate) ** (n - j) for j in range(k + 1))


def quantiles(mu, n):
    """Scores at equal steps of the normal law: the sharpest sample there is."""
    return ndtri((np.arange(n) + 0.5) / n) + mu


@given(st.integers(1, 40), st.integers(0, 40), st.fractions(0, 1, max_denominator=1000))
def test_bound_tail_is_above_exact_fractions(n, k, rate):
    exact, result = below(min(k, n), n, Fraction(float(rate))), Fraction(float(bound_tail(k, n, float(rate))))
    assert exact <= result <= exact * (1 + Fraction(1, 10**9)) + Fraction(1, 10**300)


@pytest.mark.parametrize(("k", "n"), [(3, 10**7), (5_000_000, 10**7), (9_999_000, 10**7), (40, 1000), (0, 7)])
@pytest.mark.parametrize("level", [0.9, 1e-3, 1e-30])
def test_largest_rate_many_trials_is_valid_and_tight(k, n, level):
    rate = float(largest_rate(k, n, level))
    with ctx.workprec(600):
        reached = (1 - arb(rate)).beta_lower(n - k, k + 1, regularized=True)
        assert reached <= level
        assert rate == 1 or reached >= level * (1 - 1e-4)


@given(st.integers(1, 30), st.data(), st.floats(1e-6, 0.9))
def test_largest_rate_equals_clopper_pearson(n, data, level):
    k = data.draw(st.integers(0, n))
    rate = Fraction(float(largest_rate(k, n, level)))
    assert k == n or below(k, n, rate) <= Fraction(level)
    assert rate == 1 or below(k, n, rate * (1 - Fraction(1, 10**3))) >= Fraction(level) * (
        1 - Fraction(1, 10**5)
    )


@given(st.floats(1e-12, 1.0))
def test_joint_p_value_inverts_joint_level(chance):
    assert largest_rate(5, 5, chance) == bound_tail(5, 5, 1.0) == 1
    t = joint_level(chance)
    assert joint_p_value(t) <= chance
    assert joint_p_value(t * 1.001) >= chance * 0.999


@given(scores, scores)
@settings(max_examples=60)
def test_the_estimate_is_the_hull_of_all_thresholds(null, alternative):
    result = to.empirical(null, alternative).estimate.shape
    n, m = len(null), len(alternative)
    points = [
        (Fraction(sum(x > t for x in null), n), Fraction(sum(y <= t for y in alternative), m))
        for t in {*null, *alternative}
    ]
    points += [(Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))]
    assert all(result.at(a) <= b for a, b in points)
    for a, b in zip(result.alpha.tolist(), result.beta.tolist(), strict=True):
        assert (a, b) in points


def atoms(curve, sizes, draws):
    """Scores from the pair of a piecewise-linear curve: atoms with ties, infinite losses too."""
    (p, q), rest = curve.atoms(), (curve.mass_at_minus_infinity, curve.mass_at_plus_infinity)
    loss = np.arange(len(p), 0, -1.0)
    laws = [np.append(mass, more).astype(float) for mass, more in zip((p, q), rest, strict=True)]
    return [
        draws.choice(np.append(loss, end), size, p=law / law.sum())
        for law, end, size in zip(laws, (-np.inf, np.inf), sizes, strict=True)
    ]


def drawn(claim, sizes, draws):
    if isinstance(claim, to.PiecewiseLinear):
        return atoms(claim, sizes, draws)
    return draws.normal(0, 1, sizes[0]), draws.normal(claim.mu, 1, sizes[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "claim",
    [
        to.Gaussian(1.0),
        to.PiecewiseLinear([0, Fraction(1, 5), 1], [Fraction(4, 5), Fraction(1, 5), 0]),
        to.PiecewiseLinear([0, Fraction(1, 4), Fraction(1, 2)], [1, Fraction(1, 4), 0]),
    ],
)
def test_true_claims_are_refuted_rarely(claim):
    # 24 draws at a stated error of 1/2: more than 19 failures have probability below 1e-3.
    draws, failed, alpha, eps = np.random.default_rng(3), np.zeros(4), np.linspace(0, 1, 21), [0.0, 0.5]
    for _ in range(24):
        audit = to.empirical(*drawn(claim, (60, 40), draws), 0.5)
        failed += [
            bool(audit.refutes(claim)),
            audit.epsilon(0.05) > claim.bounds.epsilon(0.05).upper,
            np.any(audit.delta(eps) > claim.bounds.delta(eps).upper),
            np.any(audit.upper.bounds(alpha).upper < claim.bounds(alpha).lower),
        ]
    assert np.all(failed <= 19)


@pytest.mark.parametrize("sizes", [pytest.param((2, 3), marks=pytest.mark.slow), (4, 1)])
def test_p_values_are_valid_exactly(sizes):
    """Every outcome of a pair of three atoms: P(p-value <= x) <= x at every x, with exact probabilities."""
    p, q = ([Fraction(k, 10) for k in law] for law in ((5, 3, 2), (1, 3, 6)))
    claim = to.from_masses(p, q)
    outcomes = {}
    for null in product(range(3), repeat=sizes[0]):
        for alternative in product(range(3), repeat=sizes[1]):
            key = tuple(sorted(null)), tuple(sorted(alternative))
            chance = np.prod([p[x] for x in null]) * np.prod([q[y] for y in alternative])
            outcomes[key] = outcomes.get(key, 0) + chance
    total = Fraction(0)
    for value, chance in sorted(
        (to.empirical(*key).refutes(claim).p_value, c) for key, c in outcomes.items()
    ):
        total += chance
        assert total <= Fraction(value)


def test_the_p_value_of_one_threshold_is_that_by_hand_and_has_a_place():
    """Of 20 null scores none is rejected, of 10 others 9: the largest product of tails, by fractions."""
    result = to.empirical([0.0] * 20, [1.0] * 9 + [0.0], thresholds=[1.0]).refutes(to.Gaussian(0.5))
    grid = np.linspace(1e-4, 0.5, 4000)
    b = to.Gaussian(0.5).bounds(grid).lower
    t = max((1 - a) ** 20 * float(below(1, 10, b_)) for a, b_ in zip(grid, b, strict=True))
    exact = t * (1 - np.log(t))
    assert exact / (1 + 1e-6) <= result.p_value <= 1.5 * exact
    assert (bool(result), result.threshold) == (True, 1.0)
    result = to.empirical(quantiles(0, 2000), quantiles(1, 2000)).refutes(to.Gaussian(0.5))
    assert (result.confidence, result.p_value < 1e-20) == (0.95, True)
    assert 0 < result.at < 1
    assert -2 < result.threshold < 3


@given(vertices(), st.integers(1, 40), st.integers(1, 40), st.integers(0, 10**6))
@settings(max_examples=25)
def test_answers_agree_with_each_other(points, n, m, seed):
    audit = to.empirical(*atoms(to.PiecewiseLinear(*points), (n, m), np.random.default_rng(seed)), 0.9)
    eps = np.array([-1.0, 0.0, 0.7, 3.0])
    assert np.all(audit.band.lower.bounds.delta(eps).upper >= audit.band.upper.bounds.delta(eps).lower)
    some = audit.epsilon(0.01)
    assert audit.delta(some + 1e-9) <= 0.01 + 1e-9  # the bound on epsilon is where that on delta crosses
    if some > np.log(0.99) + 1e-6:
        assert audit.delta(some - 1e-6) >= 0.01 - 1e-9
    assert [audit.epsilon(d) for d in (0.0, 0.01, 1.0)] == audit.epsilon([0.0, 0.01, 1.0]).tolist()
    assert [audit.delta(e) for e in eps] == audit.delta(eps).tolist()


def test_bounds_are_sharper_than_uniform_bands_and_than_those_of_all_thresholds():
    """At 10,000 scores each: DKW with Massart's constant on both error rates leaves less."""
    n, error = 10_000, 0.05
    audit = to.empirical(quantiles(0, n), quantiles(1, n))
    slack = np.sqrt(np.log(2 / error) / (2 * n))
    alpha = np.linspace(1e-3, 1 - 1e-3, 999)
    a, b = alpha + slack, to.Gaussian(1)(alpha) + slack
    inside = (a < 1) & (b < 1)
    assert max(0.93, np.max(-ndtri(a[inside]) - ndtri(b[inside]))) < audit.mu() < 1 < 1 / audit.mu(1e-3)
    assert audit.epsilon(1e-5) > np.log(np.max((1 - 1e-5 - b) / a)) + 0.3
    assert audit.epsilon(0.1) > 0.8 * to.Gaussian(1).epsilon(0.1)
    null, alternative = quantiles(0, 1000), quantiles(1, 1000)
    every, one = to.empirical(null, alternative), to.empirical(null, alternative, thresholds=[2.0])
    # Clopper-Pearson at that threshold, half of the error on each rate.
    k, j = np.sum(null >= 2), np.sum(alternative < 2)
    u, v = (beta.ppf(0.975, n + 1, 1000 - n) for n in (k, j))
    assert (one.upper.alpha[1], one.upper.beta[1]) == pytest.approx((u, v), rel=1e-6)
    assert one.band.lower(0.5) == 0  # lower thresholds may miss nothing at any alpha above that of this one
    least = max(np.log((1 - v - 1e-5) / u), every.epsilon(1e-5))
    assert least < one.epsilon(1e-5) < to.Gaussian(1).epsilon(1e-5)
    draws = np.random.default_rng(5)
    audit = to.empirical(draws.normal(0, 1, 10_000), draws.normal(1, 1, 10_000), thresholds=[0.5, 2.0])
    (lower, upper), alphas, truth = audit.band, np.array([0.01, 0.05, 0.3, 0.6, 0.95]), to.Gaussian(1.0)
    assert np.all(lower(alphas) <= truth(alphas))
    assert upper(0.05) >= truth(0.05)


@pytest.mark.slow
def test_claims_of_every_kind_are_tested():
    audit = to.empirical(quantiles(0, 2000), quantiles(1, 2000))
    plan, step = to.Plan({to.mechanisms.Gaussian(noise_multiplier=4): 4}), to.subsample(to.Gaussian(2.0), 0.1)
    assert audit.refutes(plan).p_value == audit.refutes(to.Gaussian(0.5)).p_value
    assert audit.refutes(step).claim == step
    assert all(audit.refutes(claim) for claim in (plan, to.mechanisms.Laplace(scale=10.0)))
    assert not any(audit.refutes(claim) for claim in (to.Gaussian(1.0), to.TotalVariation(1.0)))


EXTREME_SCORES = [
    *(([0.0], [1.0]), ([1.0], [0.0]), ([0.0], [0.0]), ([0.0] * 50, [0.0] * 70)),
    *(([np.inf] * 3, [-np.inf]), ([-np.inf], [np.inf] * 9)),
]


@pytest.mark.parametrize(("null", "alternative"), EXTREME_SCORES)
def test_extreme_scores_have_answers(null, alternative):
    audit = to.empirical(null, alternative)
    assert (audit.epsilon(1.0), audit.delta(-np.inf), audit.delta(np.inf)) == (-np.inf, 1, 0)
    assert audit.mu() >= 0
    assert 0 < audit.refutes(to.Identity()).p_value <= 1
    assert audit.band.lower.bounds(0.5).lower <= audit.band.upper.bounds(0.5).upper
    if null == alternative:
        assert (audit.mu(), audit.epsilon(0.0), audit.refutes(to.Identity()).p_value) == (0, 0, 1)
        assert audit.epsilon(0.5) <= np.log(0.5)
    assert str(audit).startswith(f"Empirical: {len(null)} null")
    assert to.empirical(null, alternative, 1 - 2**-53).mu() == 0
    assert to.empirical(null, alternative, 1e-300).epsilon(0.1) < np.inf


def test_repr_rounds_bounds_down_and_names_the_exchange():
    nothing = [f"  {name}: nothing shown" for name in ("ε(1e-05)", "ε(0.001)", "ε(0.1)", "μ")]
    lines = repr(to.audits.empirical([0.0] * 5, [0.0] * 5)).splitlines()[1:]
    assert lines == [*nothing, "no privacy loss is shown: any mechanism has these bounds"]
    lines = repr(to.empirical(quantiles(1, 300), quantiles(0, 300))).splitlines()[1:]
    assert lines[:4] == nothing
    assert re.fullmatch(r"exchanged they show μ ≥ 0\.6\d+: exchange null and alternative .*", lines[-1])
    audit = to.audits.from_counts(null=(40, 10_000_000), alternative=(900_000, 10_700_000))
    assert 9 < audit.epsilon(1e-5) < 10
    counts = "Counts: 40 of 10000000 null and 900000 of 10700000 alternative, confidence"
    assert repr(audit).startswith(counts)
    assert "exchanged they show" in repr(to.audits.from_counts((900, 1000), (100, 1000)))
    for mu in (0.5, 1.0, 1.5):
        audit = to.empirical(quantiles(0.0, 300), quantiles(mu, 300))
        lines = repr(audit).splitlines()[1:]
        for line, least in zip(lines, [*audit.epsilon([1e-5, 1e-3, 0.1]), audit.mu()], strict=True):
            if least < 0:
                assert line.endswith(": nothing shown")
                continue
            printed = line.split("≥")[1].strip()
            assert Fraction(printed) <= Fraction(least)
            assert float(printed) == pytest.approx(least, rel=1e-3)


@given(st.integers(1, 60), st.integers(1, 60), st.data())
@settings(max_examples=25)
def test_counts_equal_scores_at_a_fixed_threshold(n, m, data):
    hits, more = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    counts = to.audits.from_counts((hits, n), (more, m), 0.9)
    null, alternative = ([1.0] * k + [0.0] * (size - k) for k, size in ((hits, n), (more, m)))
    scores = to.empirical(null, alternative, 0.9, thresholds=[1.0])
    assert counts.epsilon([0.0, 0.1]).tolist() == scores.epsilon([0.0, 0.1]).tolist()
    assert (counts.mu(), counts.delta(0.5)) == (scores.mu(), scores.delta(0.5))
    assert counts.refutes(to.PureDP(1)).p_value == scores.refutes(to.PureDP(1)).p_value
    assert counts.refutes(to.PureDP(1)).threshold is None
    assert counts.estimate.shape.at(Fraction(hits, n)) <= Fraction(m - more, m)
    assert counts.band.upper(0.5) == scores.band.upper(0.5)


def test_hull_of_a_long_roc_equals_that_of_its_vertices_and_areas_jax_privacy():
    rng, at = np.random.default_rng(2), np.arange(501)
    null, alternative = rng.integers(0, 400, 20_000), rng.integers(100, 500, 20_000)
    rates = [np.sum(null[:, None] >= at, axis=0) / 20_000, np.sum(alternative[:, None] < at, axis=0) / 20_000]
    order = rng.permutation(np.repeat(at, 40))
    whole = to.PiecewiseLinear.hull(rates[0][order], rates[1][order])
    points = sorted({(Fraction(x), Fraction(y)) for x, y in zip(*map(np.ndarray.tolist, rates), strict=True)})
    exact = to.PiecewiseLinear.hull(*zip(*points, strict=True))
    assert whole.bounds(0.25) == exact.floats().bounds(0.25)
    assert [Fraction(x) for x in whole.alpha.tolist()] == exact.alpha.tolist()
    assert [Fraction(y) for y in whole.beta.tolist()] == exact.beta.tolist()
    # jax_privacy, tests/auditing_test.py, test_attack_auroc_simple: 13/16.
    result = to.empirical([1, 2, 3, 5], [0, 4, 6, 7]).estimate.shape
    steps = zip(np.diff(result.alpha), result.beta[:-1] + result.beta[1:], strict=True)
    assert 1 - sum(width * height for width, height in steps) / 2 == Fraction(13, 16)


EPSILONS = np.array([-2.0, -0.5, 0.0, 0.7, 3.0])


def gaussian(mu, n, draws):
    x = draws.normal(size=n)
    return mu * x - mu * mu / 2, mu * x + mu * mu / 2


def test_delta_of_losses_covers_has_ends_and_refuses_exchanged_arrays():
    sample = from_losses(*gaussian(1.0, 10**5, np.random.default_rng(4)))
    result = sample.delta(EPSILONS)
    assert np.all(result.width < 0.012)
    assert result.width[-1] < 1e-3  # relative to a small delta
    assert sample.estimate(0.3) == pytest.approx(to.Gaussian(1)(0.3), abs=0.05)
    assert "by sampled losses" in repr(sample.estimate)
    # 10 losses of which one is infinite and nine are 0, at epsilon = inf: kl(1/10, limit) = log(40)/10.
    low, high = from_losses([0.0], [0.0] * 9 + [np.inf]).delta(np.inf)
    assert low < 0.1 < high
    for side in (low, high):
        cost = 0.1 * np.log(0.1 / side) + 0.9 * np.log(0.9 / (1 - side))
        assert cost == pytest.approx(np.log(40) / 10, rel=1e-9)
    sample = from_losses([-np.inf, 0.0], [np.inf, 0.0])
    assert sample.delta(-np.inf).lower == sample.delta(-np.inf).upper == 1
    assert 0 <= sample.delta(np.inf).lower <= 0.5 <= sample.delta(np.inf).upper <= 1
    assert 0.5 in sample.delta(0.0)
    assert [side.shape for side in sample.delta([])] == [(0,), (0,)]
    assert [tuple(sample.delta(e)) for e in EPSILONS] == list(zip(*sample.delta(EPSILONS), strict=True))
    draws, missed = np.random.default_rng(2), np.zeros(len(EPSILONS))
    truth = to.Gaussian(1).bounds.delta(EPSILONS)
    for _ in range(25):
        result = from_losses(*gaussian(1.0, 200, draws), 0.8).delta(EPSILONS)
        missed += (result.lower > truth.upper) | (result.upper < truth.lower)
    assert np.all(missed <= 12)  # of 25 at a fifth: more has probability 4e-4
    # Randomized response at its own loss, where E_P[e^L] = 1 exactly, and a law with infinite losses.
    draws = np.random.default_rng(10)
    for n in np.repeat((1, 3, 10, 100, 1000), 100):
        e = 4 * draws.random()
        share = 1 / (1 + np.exp(e))
        from_losses(*(np.where(draws.random(n) < p, e, -e) for p in (share, 1 - share)))
        from_losses(*(np.where(draws.random(n) < 0.5, s * np.inf, -s * np.log(2)) for s in (-1, 1)))
    for mu, n in ((1.0, 100), (0.3, 2000), (0.1, 20_000), (3.0, 20)):
        under_p, under_q = gaussian(mu, n, np.random.default_rng(9))
        from_losses(under_p, under_q)
        for losses, message in (
            ((under_q, under_p), "swap losses_under_p and losses_under_q"),
            ((-under_p, -under_q), "not log dP/dQ"),
            ((under_p, under_p), r"losses_under_q must have a mean of e\^-L of at most 1"),
        ):
            with pytest.raises(DomainError, match=message):
                from_losses(*losses)


def truths(mu, prior):
    """Risks of G_mu in closed form, in the order of the table."""
    mu, prior = mpmath.mpf(mu), mpmath.mpf(prior)

    def quantile(p):
        return mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(p) - 1)

    power, other = (mpmath.ncdf(quantile(alpha) + mu) for alpha in (0.01, 0.125))
    least = mpmath.ncdf(quantile(0.25) - mu)  # false-positive rate that a recall of 1/4 needs
    loss = mu * (mu / 2 - quantile(1e-3))
    threshold = mu / 2 - mpmath.log(prior / (1 - prior)) / mu
    return [
        *(power, power / mpmath.mpf(0.01), 2 * mpmath.ncdf(mu / 2) - 1, other),
        prior / 4 / (prior / 4 + (1 - prior) * least),
        1 / (1 + (1 - prior) / prior * mpmath.exp(-loss)),
        (1 - prior) * mpmath.ncdf(-threshold) + prior * mpmath.ncdf(threshold - mu),
    ]


@pytest.mark.parametrize("mu", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("prior", [0.1, 0.5])
def test_risks_of_a_gaussian_enclose_closed_forms(mu, prior):
    table = to.Gaussian(mu).risks(fpr=0.01, baseline=0.125, prior=prior, recall=0.25, outcome=1e-3)
    with mpmath.workdps(40):
        exact = truths(mu, prior)
    for row, truth in zip(table, exact, strict=True):
        assert row["lower"] <= truth <= row["upper"], row
        assert row["risk"] == "posterior" or row["upper"] - row["lower"] <= 1e-9 * max(truth, 1)


def test_risks_of_bounded_losses_leaks_and_one_order_print_and_export():
    most = 1 / (1 + 4 * np.exp(-1.5))
    table = to.PureDP(1.5).risks(prior=0.2)
    assert all(row["upper"] <= most + 1e-9 for row in table if row["risk"] in {"posterior", "precision"})
    table = to.TotalVariation(0.1).risks(outcome=[0.01, 0.2], recall=[0.1, 0.5])
    assert [row["upper"] for row in table if row["risk"] == "posterior"] == [1.0, 0.5]
    assert next(row for row in table if row["risk"] == "precision")["upper"] == 1
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])  # the prior is that of the alternative
    row = list(to.from_masses(p.tolist(), q.tolist()).risks(prior=0.2))[-1]
    assert row["lower"] - 1e-12 <= np.minimum(0.8 * p, 0.2 * q).sum() <= row["upper"] + 1e-12
    assert row["upper"] - row["lower"] < 1e-9
    table = to.subsample(to.Gaussian(1), 0.5).risks(fpr=[0.01, 0.1], baseline=0.5)
    assert repr(table).splitlines()[0].split() == ["risk", "at", "lower", "upper"]
    assert re.match(r"% one order of the pair, (.|\n)*\\toprule", table.to_latex())
    assert table.to_csv().count("\n") == len(table) + 1
    assert re.search("<table>(.|\n)*<div>one order of the pair, ", table._repr_html_())
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: the extra [pandas] has it")
    assert list(pandas.DataFrame(table.to_dict()).columns) == ["risk", "at", "lower", "upper"]


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_success_bounds_reconstruction_of_a_uniform_secret(k, epsilon):
    """Randomised response on k values is the channel of a guess that is right with e^eps/(e^eps + k - 1)."""
    right = np.exp(epsilon) / (np.exp(epsilon) + k - 1)
    table = to.mechanisms.RandomizedResponse(epsilon, k).curve().risks(baseline=1 / k)
    (row,) = (row for row in table if row["risk"].startswith("re-identification"))
    assert right <= row["upper"] * (1 + 1e-12)
