import functools
from bisect import bisect_left
from collections import Counter
from fractions import Fraction
from itertools import accumulate, combinations, combinations_with_replacement, product
from math import comb, exp, factorial, log, prod

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import linprog

import tradeoff as to
from tradeoff.audits import one_run
from tradeoff.audits.one_run import _demand_of


@pytest.mark.parametrize(
    ("canaries", "guesses", "correct", "delta", "published"),
    # "Privacy auditing with one (1) training run", Steinke, Nasr, Jagielski 2023, Appendix D, section 7.
    [
        *((100, 100, 75, 0, 0.702), (100, 100, 75, 1e-4, 0.699), (1000, 100, 75, 1e-4, 0.673)),
        (100_000, 1510, 1439, 1e-5, 2.675),
    ],
)
def test_epsilon_equals_the_paper(canaries, guesses, correct, delta, published):
    assert abs(one_run(correct, guesses, canaries, delta=delta).epsilon - published) < 1e-3
    assert one_run(75, 100, 100).p_value(log(3)) == pytest.approx(0.553, abs=1e-3)


@pytest.mark.parametrize(
    ("guesses", "correct", "limits", "by_curve", "epsilon"),
    [
        # jax_privacy, tests/auditing_test.py, test_epsilon_one_run_close (20,000 canaries, level 0.05
        # over the vertices of the ROC's hull): the guesses at the threshold that it chooses.
        (3376, 2807, 386, False, 1.13346),
        (406, 379, 386, True, 2.164749),
        (938, 934, 374, True, 4.7218075),
        (8233, 8223, 140, False, 4.395568),
        (5436, 5436, 140, True, 9.133752),
    ],
)
def test_epsilon_equals_jax_privacy(guesses, correct, limits, by_curve, epsilon):
    audit = one_run(correct, guesses, 20_000, delta=1e-6, confidence=1 - 0.05 / limits)
    result = to.Gaussian(audit.mu).epsilon(1e-6) if by_curve else audit.epsilon
    assert result == pytest.approx(epsilon, rel=2e-6)


def check_p_value(guesses, correct, canaries, epsilon, delta):
    """Compare with sums of balls: the tail, and the largest mean over all i, of which two may tie."""
    with ctx.workprec(200):
        q, odds = 1 / (1 + (-arb(epsilon)).exp()), arb(epsilon).exp()
        mass = q**correct * (1 - q) ** (guesses - correct) * arb(comb(guesses, correct))
        means, below, tail, upward = [], arb(0), arb(0), mass
        for k in range(correct, guesses + 1):
            tail += upward
            upward *= arb(guesses - k) / (k + 1) * odds
        for i in range(1, correct + 1):
            k = correct - i + 1
            mass *= arb(k) / (guesses - k + 1) / odds
            below += mass
            means.append(below / i)
        exact = tail + 2 * canaries * arb(delta) * max(means, key=lambda mean: float(mean.mid()))
        result = one_run(correct, guesses, canaries, delta=delta).p_value(epsilon)
        sure = delta == 0 or exact < 0.87
        low, high = (exact.lower(), exact.upper() * (1 + 1.01e-10)) if sure else (1, 1)
        assert low <= result <= high


@given(st.integers(1, 25), st.data(), st.sampled_from([0.0, 1e-3, 0.2, 1.0]))
@settings(max_examples=40)
def test_p_value_of_few_guesses_equals_sum_of_masses(guesses, data, delta):
    correct, canaries = data.draw(st.integers(1, guesses)), guesses + data.draw(st.integers(0, 50))
    check_p_value(guesses, correct, canaries, data.draw(st.floats(0, 4)), delta)


@pytest.mark.parametrize(
    ("guesses", "correct", "epsilon"),
    [(3, 3, 0.0), (7, 5, 0.0), (3000, 1600, 0.05), (3000, 2999, 6.0), (100_000, 60_000, 0.39)],
)
@pytest.mark.parametrize("delta", [1e-12, 1e-8])
def test_p_value_of_many_guesses_equals_sum_of_masses(guesses, correct, epsilon, delta):
    check_p_value(guesses, correct, guesses, epsilon, delta)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 8, 12])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 1e-6), (0.0, 1e-3), (0.0, 0.05), (0.0, 0.1), (0.7, 0.05), (2.0, 0.02)]
)
def test_p_value_is_above_the_best_symmetric_guesser(m, epsilon, delta):
    """Maximise P(C >= correct) over all (epsilon, delta)-DP guessers, by linear programming.

    A guess at distance k from the coins has mass w_k/comb(m, k); a neighbour moves k of them one step nearer
    and m - k one step away. Slacks hold the positive parts, whose sum is at most delta.
    """
    moves = [(k, k - 1, comb(m - 1, k - 1)) for k in range(1, m + 1)]
    moves += [(k, k + 1, comb(m - 1, k)) for k in range(m)]
    rows = np.zeros((len(moves) + 1, m + 1 + len(moves)))
    for row, (i, (k, other, n)) in zip(rows, enumerate(moves), strict=False):
        row[k], row[other], row[m + 1 + i] = n / comb(m, k), -exp(epsilon) * n / comb(m, other), -1
    rows[-1, m + 1 :] = 1
    ends, mass = [0.0] * len(moves) + [delta], [[1.0] * (m + 1) + [0.0] * len(moves)]
    for correct in range(1, m + 1):
        gain = [-1.0 * (m - k >= correct) for k in range(m + 1)] + [0.0] * len(moves)
        best = linprog(gain, A_ub=rows, b_ub=ends, A_eq=mass, b_eq=[1.0])
        assert best.status == 0
        assert one_run(correct, m, m).p_value(epsilon, delta) >= -best.fun - 1e-7
        if correct == 1:
            assert one_run(1, m, m).refutes(to.approximate_dp(epsilon, delta)).p_value >= -best.fun - 1e-7
            # The counter-example of ``p_value`` is among them: the guess that is wrong everywhere is rare.
            rare = max(1 - (2**m - 1) * delta, 0) / 2**m
            assert -best.fun >= 1 - rare - 1e-7


@given(st.integers(1, 60), st.data())
@settings(max_examples=25)
def test_epsilon_is_where_the_p_value_reaches_the_error(guesses, data):
    correct = data.draw(st.integers(0, guesses))
    audit = one_run(correct, guesses, 100, delta=1e-4, confidence=0.9)
    assert audit.epsilon == 0 or audit.p_value(audit.epsilon) <= 0.1
    assert audit.p_value(audit.epsilon + 1e-6) > 0.1 or correct == 0


@pytest.mark.parametrize("claim", [to.PureDP(0.8), to.Gaussian(0.7), to.approximate_dp(0.3, 0.1)])
@pytest.mark.parametrize(("correct", "guesses", "canaries"), [(6, 7, 9), (9, 12, 12), (5, 5, 30)])
def test_no_law_of_right_guesses_beats_the_bound(claim, correct, guesses, canaries):
    """The largest P(C >= correct) under every inequality, by linear programming over tangents of f."""
    k, size = np.arange(guesses + 1.0), guesses + 1
    rows, ends = [], []
    for slope in np.exp(np.linspace(-4, 4, 161)):  # f(1 - x) >= 1 - delta(log s) - s (1 - x)
        height = 1 - claim.delta(log(slope))
        for j in range(1, size):
            rows.append((slope * np.where(k >= j, k, 0) - np.where(k >= j - 1, guesses - k, 0)) / canaries)
            ends.append(slope - height)
    best = linprog(-1.0 * (k >= correct), A_ub=rows, b_ub=ends, A_eq=[np.ones(size)], b_eq=[1.0])
    assert best.status == 0
    audit, demand = one_run(correct, guesses, canaries), _demand_of(claim.lower)
    assert not audit._is_impossible(demand, -best.fun * 0.97)
    assert audit._is_impossible(demand, -best.fun * 1.01) or -best.fun > 0.99
    assert audit.refutes(claim).p_value <= -best.fun * 1.01


@pytest.mark.slow
def test_refutes_uses_both_orders():
    step = to.subsample(to.Gaussian(1.0), 0.2)
    audit = one_run(80, 100, 100)
    assert audit.refutes(step).claim == step.symmetrise(assume="either-order")
    assert audit.refutes(step).p_value == audit.refutes(~step).p_value
    assert audit.refutes(to.Plan({to.mechanisms.Gaussian(noise_multiplier=10): 1}))


def test_extremes_have_answers_and_repr_rounds_down_and_states_assumptions():
    for audit in (one_run(0, 0, 5), one_run(0, 5, 5), one_run(2, 4, 5, delta=1.0), one_run(10, 20, 30)):
        assert (audit.epsilon, audit.mu) == (0.0, 0.0)
        assert audit.refutes(to.Identity()).p_value > 0.4
    assert 3.4 < one_run(100, 100, 100).epsilon < 3.5
    assert one_run(10**5, 10**5, 10**5).epsilon == pytest.approx(-log(0.05 ** (-1e-5) - 1), rel=1e-8)
    assert one_run(100, 100, 100).p_value(1e300) == 1
    assert one_run(100, 100, 100).refutes(to.TotalVariation(1.0)).p_value == 1
    assert one_run(100, 100, 100).refutes(to.Identity()).p_value < 1e-20
    audit = one_run(75, 100, 1000, delta=1e-4)
    head, epsilon, mu = repr(audit).splitlines()
    assert head == "OneRun: 75 of 100 guesses right at 1000 canaries, confidence 0.95"
    for line, name, least in ((epsilon, "ε(0.0001)", audit.epsilon), (mu, "μ", audit.mu)):
        assert line.startswith(f"  {name} ≥ ")
        assert least * 0.999 < float(line.split("≥")[1]) <= least
    assert audit._repr_html_().count("<tr>") == 2
    assert "ε(0.0001) ≥ 0.6729" in audit._repr_html_()
    audit = one_run(90, 100, 100, assumptions="product")
    assert "assuming that given the coins" in repr(audit)
    refutation = audit.refutes(to.Gaussian(1.0))
    assert refutation.assumptions
    assert "assuming that" in repr(refutation)
    assert one_run(90, 100, 100).refutes(to.Gaussian(1.0)).assumptions == ()
    assert repr(one_run(50, 100, 1000)).endswith("any mechanism has these bounds")
    assert "exchanged they show μ ≥ 0.3" in repr(one_run(20, 100, 1000))


def test_product_bounds_are_sharper_than_published_and_claims_tested_by_the_sharper():
    """Xiang et al. 2025 print 1.143 and 2.321 for 250 and 100 wrong of 1000, with Chernoff's bound."""
    for wrong, published in ((250, 1.143), (100, 2.321)):
        mu = one_run(1000 - wrong, 1000, 1000, assumptions="product").mu
        assert published < mu
        with ctx.workprec(200):  # of all canaries, each wrong with probability Phi(-mu/2)
            rate = (arb(mu) / arb(8).sqrt()).erfc() / 2
            tail = (1 - rate).beta_lower(1000 - wrong, wrong + 1, regularized=True)
        assert 0.05 * (1 - 1e-6) < tail < 0.05
    audit = one_run(75, 100, 100)
    assert audit.refutes(to.PureDP(0.7)).p_value == pytest.approx(audit.p_value(0.7), rel=1e-6)
    curve = audit.refutes(to.Gaussian(0.3))
    assert curve.p_value < min(audit.p_value(e, to.Gaussian(0.3).delta(e)) for e in np.linspace(0, 2, 21))
    assert audit.refutes(to.Gaussian(audit.mu * (1 - 1e-3)))
    assert not audit.refutes(to.Gaussian(audit.mu * 1.01))
    # Two guesses at two canaries with e = 0 or 1/2: both are right with 9/16, not with 35/64.
    leak = to.approximate_dp(0.0, 0.5)
    assert 9 / 16 <= one_run(2, 2, 2, assumptions="product").refutes(leak).p_value < 9 / 16 + 1e-9


def by_cells(edges):
    """Return the errors e of cells of |x| for N(-1/2, 1) and N(1/2, 1), and their probabilities."""
    p, q = (np.diff(stats.norm.cdf(edges, mean)) for mean in (-0.5, 0.5))
    return list(zip((p / (p + q)).tolist(), (p + q).tolist(), strict=True))


LAWS = {  # of the smaller posterior of a coin, the chance that a guess is wrong
    to.from_masses(*([Fraction(k, 10) for k in law] for law in ((1, 2, 3, 4), (4, 3, 2, 1)))): [
        (Fraction(1, 5), Fraction(1, 2)),
        (Fraction(2, 5), Fraction(1, 2)),
    ],
    to.from_masses([Fraction(1, 5), Fraction(4, 5), 0], [0, Fraction(4, 5), Fraction(1, 5)]): [
        (Fraction(0), Fraction(1, 5)),
        (Fraction(1, 2), Fraction(4, 5)),
    ],
    to.PureDP(1.5): [(1 / (1 + exp(1.5)), 1)],
    to.Gaussian(1.0): by_cells(np.append(np.linspace(0, 3, 12), np.inf)),
}


def wrong_guesses(errors):
    """Return P(at most w of the guesses are wrong), w = 0, 1, ..."""
    law = [Fraction(1)]
    for e in errors:
        law = [a * (1 - e) + b * e for a, b in zip([*law, 0], [0, *law], strict=True)]
    return list(accumulate(law))


@pytest.mark.parametrize("claim", LAWS, ids=["two losses", "leak", "response", "gaussian"])
@pytest.mark.parametrize(("guesses", "canaries"), [(1, 3), (2, 3), (2, 4), (3, 5)])
def test_product_p_value_equals_enumeration(claim, guesses, canaries):
    """Enumerate the errors e of all canaries, and the choices of canaries and of guesses, for each the best.

    Given what is observed the coins are independent, so that guesses drawn at random are no better.
    """
    law = LAWS[claim]
    if isinstance(claim, to.Gaussian) and canaries > 3:
        law = by_cells(np.array([0, 0.3, 0.6, 1, 1.5, 2, np.inf]))
    exact = [0.0] * guesses  # by the number of wrong guesses
    for each in combinations_with_replacement(range(len(law)), canaries):
        errors = [law[k][0] for k in each]
        chance = factorial(canaries) * prod(law[k][1] ** n / factorial(n) for k, n in Counter(each).items())
        choices = [
            wrong_guesses(choice)
            for few in set(combinations(errors, guesses))
            for choice in product(*((e, 1 - e) for e in few))
        ]
        exact = [
            a + chance * max(column) for a, column in zip(exact, zip(*choices, strict=True), strict=False)
        ]
    for wrong, truth in enumerate(exact):
        result = one_run(guesses - wrong, guesses, canaries, assumptions="product").refutes(claim).p_value
        assert truth * (1 - 1e-12) <= result <= truth * (1.1 if isinstance(claim, to.Gaussian) else 1.03)


def is_refuted(correct, guesses, canaries, claim, level, assumptions=None, delta=0.0):
    audit = one_run(correct, guesses, canaries, delta=delta, assumptions=assumptions, sequential=True)
    return audit.refutes(claim).p_value <= level


def refuting_counts(most, claim, level, assumptions=None):
    """Return the least number of right guesses that refutes the claim, by the number of guesses."""
    return [
        bisect_left(range(n + 1), True, key=lambda c, n=n: is_refuted(c, n, n, claim, level, assumptions))
        for n in range(1, most + 1)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("level", [0.5, 0.05])
def test_sequential_guesses_refute_a_pure_claim_rarely_at_any_time(epsilon, level):
    """Exact P(ever refuted) in 100 guesses, each right with the largest probability: sums over all paths."""
    right = 1 / (1 + exp(-epsilon))
    alive, refuted = np.array([1.0]), 0.0  # by the number of right guesses
    for least in refuting_counts(100, to.PureDP(epsilon), level):
        alive = np.append(alive * (1 - right), 0) + np.append(0, alive * right)
        refuted += float(np.sum(alive[least:]))
        alive[least:] = 0
    assert level / 20 < refuted <= level


PURE, LEAKING, NORMAL = to.PureDP(1.0), to.approximate_dp(0.3, 0.1), to.Gaussian(1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("claim", "delta"), [(NORMAL, 0.0), (NORMAL, 0.05), (LEAKING, 0.1), (PURE, 0.0)])
def test_sequential_product_claims_resist_the_best_adaptive_guesser(claim, delta):
    """Exact P(ever refuted) in 15 canaries for the best guesser, by dynamic programming.

    In view of all counts so far it chooses among 21 tests of the claim how often it guesses, and it stops
    where the claim is refuted.
    """
    most, level = 15, 0.2
    wrong = np.append(0, np.geomspace(1e-3, 0.5 * (1 - claim.delta(0.0)), 20))
    right = 1 - claim(wrong)

    @functools.cache
    def chance(r, w, s):
        if r and is_refuted(r, r + w, r + w + s, claim, level, "product", delta):
            return 1.0
        if r + w + s == most:
            return 0.0
        each = [chance(r + 1, w, s), chance(r, w + 1, s), chance(r, w, s + 1)]
        return float(np.max(right * each[0] + wrong * each[1] + (1 - right - wrong) * each[2]))

    assert level / 20 < chance(0, 0, 0) <= level


def test_sequential_p_value_is_one_over_the_mean_wealth_and_bounds_need_finite_losses():
    stakes = [1 / (1 + exp(-x)) for x in np.linspace(-5, 7, 25)]
    for epsilon in (0.0, 1.0, 4.0):
        truth = 1 / np.mean([1 + k * exp(-epsilon) for k in stakes])
        assert truth <= one_run(1, 1, 1, sequential=True).p_value(epsilon) <= truth * (1 + 1e-8)
    two = 1 / np.mean([(1 + k * exp(-1.0)) ** 30 * (1 - k) ** 2 for k in stakes])
    assert two < 1
    assert two <= one_run(30, 32, 50, sequential=True).p_value(1.0) <= two * (1 + 1e-8)
    skipped = [one_run(47, 50, n, assumptions="product", sequential=True).mu for n in (50, 100, 1000)]
    assert skipped[0] > skipped[1] > skipped[2] > 0
    audit = one_run(100, 100, 100, sequential=True)
    assert audit.refutes(to.Gaussian(1.0)).p_value == audit.p_value(1.0, 1e-9) == 1
    assert (audit.mu, one_run(0, 5, 5, sequential=True).refutes(to.PureDP(1.0)).p_value) == (0, 1)
    assert audit.refutes(to.PureDP(1.0)).p_value == audit.p_value(1.0) < 1e-10
    assert audit.refutes(to.PureDP(1.0)).assumptions == ()
    assert repr(audit).endswith("valid whenever guessing stops")
    ordered = one_run(90, 100, 100, assumptions="product", sequential=True)
    assert len(ordered.refutes(to.Gaussian(1.0)).assumptions) == 2
    assert "assuming that canaries are taken in an order" in repr(ordered)


@pytest.mark.parametrize("counts", [(300, 340, 340), (60, 61, 400)])
def test_sequential_product_p_value_equals_one_over_the_mean_fair_wealth(counts):
    """Of G_1, by its formulas; the bets on one canary are fair for every test of the claim."""
    correct, guesses, canaries = counts
    k = 1 / (1 + np.exp(-np.linspace(-5, 7, 25)))
    wrong = np.linspace(0, stats.norm.cdf(-0.5), 200)[:, None]
    right = stats.norm.sf(stats.norm.isf(wrong) - 1)  # 1 - G_1(wrong)
    losses = np.arange(0, 8, 0.5)
    wealth = []
    for e in losses:
        delta = stats.norm.cdf(0.5 - e) - exp(e) * stats.norm.cdf(-0.5 - e)
        bets = [1 + k * payoff / (exp(e) + delta) for payoff in (1 - delta, -exp(e) - delta, -delta)]
        assert np.max(right * bets[0] + wrong * bets[1] + (1 - right - wrong) * bets[2]) <= 1 + 1e-12
        wealth.append(bets[0] ** correct * bets[1] ** (guesses - correct) * bets[2] ** (canaries - guesses))
    # Half of the stake is on the largest loss of G_1, which is infinite: right guesses win nothing there.
    half = np.mean((1 - k) ** (guesses - correct))
    shares = np.exp(-losses / 2) / np.sum(np.exp(-losses / 2))
    truth = 2 / (shares @ np.mean(wealth, axis=1) + half)
    assert truth < 0.9
    audit = one_run(*counts, assumptions="product", sequential=True)
    assert truth * (1 - 1e-9) <= audit.refutes(to.Gaussian(1.0)).p_value <= truth * (1 + 1e-6)
