import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import log_uniform
from tradeoff.errors import BudgetExceeded, DomainError, MissingExtraError, PlanError

RUNS = 200_000
SURE = 1e-5  # probability that a confidence bound of a correct claim fails; seeds are fixed too


class Basis:
    """Source of 'noise' with innovation 1 for run j in round j, else 0: answers become columns of L."""

    def __init__(self):
        self.round = -1

    def normal(self, size):
        self.round += 1
        return np.eye(size[0])[self.round]


def answers(m, draw=0.0, mu=1.0):
    simulator = to.filters.GaussianSimulator(np.full(len(m), draw), Basis(), mu=mu)
    return np.array([simulator.answer(x) for x in m])


@pytest.mark.parametrize(
    "m", [[0.6, 0.8], [0.3, -0.5, 0.2, 0.7], [1.0], [0.1] * 20, [0.9, 0.0, 0.4, 1e-8, 0.1]]
)
def test_simulator_recursion_equals_cholesky_factor(m):
    """W is linear in (W_0, innovations): m W_0 + L z with L L^T = I - m m^T, so Cov(W) = I.

    A row depends on the m up to it alone, so that this is the law whatever rule chooses them.
    """
    m, factor = np.array(m), answers(m)
    assert np.allclose(factor, np.tril(factor))
    np.testing.assert_allclose(factor @ factor.T, np.eye(len(m)) - np.outer(m, m), atol=1e-13)
    s = np.concatenate([[0.0], np.cumsum(m**2)])
    np.testing.assert_allclose(np.diag(factor) ** 2, np.maximum(1 - s[1:], 0) / (1 - s[:-1]), atol=1e-12)
    np.testing.assert_allclose(answers(3 * m, draw=2.0, mu=3.0), 2 * m[:, None] + factor, atol=1e-12)


def test_simulator_stops_at_sum_of_squares_one():
    simulator = to.filters.GaussianSimulator(0.3, np.random.default_rng(1))
    first = [simulator.answer(0.1) for _ in range(100)]
    assert simulator.remaining == pytest.approx(0, abs=1e-12)
    for m in (1e-3, 1e200):
        with pytest.raises(BudgetExceeded):
            simulator.answer(m)
    assert math.isfinite(simulator.answer(0.0))
    # All of the draw is in the answers: sum m_i W_i = W_0 when the budget is exhausted.
    assert 0.1 * sum(first) == pytest.approx(0.3, abs=1e-6)
    fresh = to.filters.GaussianSimulator([0.1, 0.2], np.random.default_rng(1))
    for m in ([0.1, 0.1j], "a", [0.1, 0.2, 0.3], math.nan, math.inf, 1e200):
        with pytest.raises(BudgetExceeded if m == 1e200 else DomainError):
            fresh.answer(m)
    assert fresh.remaining.tolist() == [1.0, 1.0]
    with pytest.raises(BudgetExceeded, match=r"m\^2 = 9 is more than the 4 left"):
        to.filters.GaussianSimulator(0.1, np.random.default_rng(1), mu=2).answer(3)
    # Roundings of the squares leave some 1e-16 of 1, by which the mean was divided.
    for share in (0.1, 1 / 3):
        rng = np.random.default_rng(3)
        simulator = to.filters.GaussianSimulator(rng.normal(size=20_000), rng)
        for _ in range(round(1 / share)):
            simulator.answer(math.sqrt(share))
        assert np.std(simulator.answer(9e-7)) == pytest.approx(1.0, abs=0.03)


def gaussian_runs(rule, mu, seed):
    """Losses of many runs at once, under Q, of an analyst who ends by spending all that is left."""
    rng = np.random.default_rng(seed)
    budget, loss, last = to.filters.IndividualGDPFilter(mu, RUNS), np.zeros(RUNS), np.zeros(RUNS)
    for k in range(12):
        step = budget.remaining if k == 11 else rule(budget.remaining, loss, last)
        step = np.where(budget.spend(step), step, 0.0)
        last = step**2 / 2 + step * rng.normal(size=RUNS)
        loss += last
    return loss


def hunter(remaining, loss, last):
    """Look closely where little was lost so far, and stay away after a large loss."""
    return np.where(np.minimum(loss, last) < 0, 0.5 * remaining, 0.1)


def gambler(remaining, loss, last):
    """Raise the stakes after every gain of evidence, unless too much is known already."""
    return np.where((last > 0) & (loss < 2), 0.7, 0.05 * np.sqrt(remaining))


def mean_and_width(gains):
    """Return the mean, and its distance from the truth but for SURE (Maurer, Pontil 2009, Bernstein)."""
    log = math.log(2 / SURE)
    return gains.mean(), math.sqrt(2 * gains.var(ddof=1) * log / RUNS) + 7 * log / (3 * (RUNS - 1))


rules = pytest.mark.parametrize("rule", [hunter, gambler])


@rules
def test_adaptive_analysts_never_beat_the_gdp_filter(rule):
    loss = gaussian_runs(rule, 1.0, 7)
    for epsilon in (0.0, 1.0, 2.0):
        mean, width = mean_and_width(np.maximum(-np.expm1(epsilon - loss), 0.0))
        claim = to.filters.GDPFilter(1).guarantee().delta(epsilon)
        assert mean - width <= claim
        assert mean + width >= to.Gaussian(1).bounds.delta(epsilon).lower  # all is spent
        assert width < 0.1 * claim
    # The same estimate for 10 % more than the budget lies above the claim: the test can fail.
    mean, width = mean_and_width(np.maximum(-np.expm1(1.0 - gaussian_runs(rule, 1.1, 7)), 0.0))
    assert mean - width > to.Gaussian(1).delta(1.0)


@rules
def test_adaptive_analysts_never_beat_the_zcdp_filter(rule):
    budget = to.filters.ZCDPFilter(1.0, 0.02)
    loss = gaussian_runs(rule, math.sqrt(2 * budget.budget.rho), 5)
    mean, width = mean_and_width(np.maximum(-np.expm1(1.0 - loss), 0.0))
    assert 0 < mean - width <= budget.guarantee().delta(1.0)


def response(odds):
    """Randomised response with e^eps = odds, exactly."""
    return to.from_masses([odds / (1 + odds), 1 / (1 + odds)], [1 / (1 + odds), odds / (1 + odds)])


def test_composition_along_paths_is_not_private():
    """delta(1) = 0.01 along both paths, and 0.01495 for the whole, in fractions; e is 2.71828."""
    first, strong, e = Fraction("1.0202"), Fraction("2.7489"), Fraction("2.71828")  # e^0.02, e^1.0112
    leak = to.PiecewiseLinear([Fraction(0), Fraction(99, 100)], [Fraction(99, 100), Fraction(0)])
    low, high = 1 / (1 + strong), strong / (1 + strong)

    def diluted(weight):
        """With the stated probability a randomised response, else nothing."""
        return to.from_masses(*([weight * a, 1 - weight, weight * b] for a, b in ((low, high), (high, low))))

    # Along the second path delta(1) = w Q(+) (1 - e/(e^0.02 e^1.0112)) e^1.0112/(1 + e^1.0112), linear in w.
    weight = Fraction(1, 100) / (response(first) @ diluted(Fraction(1))).hockey_stick(e)
    assert float(weight) == pytest.approx(0.8797, abs=2e-3)
    assert (response(first) @ leak).hockey_stick(e) == Fraction(1, 100)
    assert (response(first) @ diluted(weight)).hockey_stick(e) == Fraction(1, 100)
    # The whole: after + the response, after - the leak. Each answer shifts the loss of what follows.
    up, down = first / (1 + first), 1 / (1 + first)
    adaptive = up * diluted(weight).hockey_stick(e / first) + down * leak.hockey_stick(e * first)
    assert float(adaptive) == pytest.approx(0.01495, abs=1e-6)
    assert adaptive == Fraction(1, 100) * (1 + down)


def rounds(records, count):
    rng = np.random.default_rng(1)
    for _ in range(count):
        yield rng.choice([0.0, 0.1, 0.25, 0.6], size=records) * rng.uniform(0.5, 1.5, size=records)


def test_individual_filter_equals_one_filter_per_record():
    table, alone = to.filters.IndividualGDPFilter(1, 40), [to.filters.GDPFilter(1) for _ in range(40)]
    for mu in rounds(40, 30):
        refused = [budget.would_exceed(to.Gaussian(m)) for budget, m in zip(alone, mu, strict=True)]
        assert table.would_exceed(mu).tolist() == refused
        assert (~table.spend(mu)).tolist() == refused
        for budget, m, no in zip(alone, mu, refused, strict=True):
            if not no:
                budget.spend(to.Gaussian(m))
    np.testing.assert_allclose(table.spent, [budget.spent for budget in alone], rtol=1e-12)
    np.testing.assert_allclose(table.remaining, [budget.remaining for budget in alone], rtol=1e-9)


@given(log_uniform(1e-6, 1e3), st.lists(st.floats(0.0, 1.5), min_size=1, max_size=40))
def test_individual_filter_no_record_exceeds_its_budget(mu, shares):
    table, exact = to.filters.IndividualGDPFilter(mu, 1), Fraction(0)
    for share in shares:
        more = exact + Fraction(mu * share) ** 2
        if table.spend([mu * share])[0]:
            exact = more
        else:
            assert more > Fraction(mu) ** 2
    assert exact <= Fraction(float(table.spent[0])) ** 2
    assert exact <= Fraction(table.guarantee().mu) ** 2 <= Fraction(mu) ** 2 * (1 + Fraction(2, 10**12))


def test_individual_filter_charges_one_curve_to_all_records_and_no_bad_mu():
    table = to.filters.IndividualGDPFilter(1, 3)
    table.spend([0.0, 0.8, 1.0])
    assert table.spend(to.mechanisms.Gaussian(noise_multiplier=2)).tolist() == [True, True, False]
    table, step = to.filters.IndividualGDPFilter(1, 2), to.mechanisms.ShuffledRandomizers(1.0, 100)
    for ask in (table.spend, table.would_exceed):
        with pytest.raises(PlanError, match="replace-one"):
            ask(step)
    assert (table.steps, table.spent.tolist()) == (0, [0.0, 0.0])
    table.spend(to.mechanisms.Subsampled(to.mechanisms.Laplace(scale=2), 0.1, adjacency="add-remove"))
    assert table.steps == 1
    table, masked = to.filters.IndividualGDPFilter(1, 3), np.ma.array([0.1] * 3, mask=[False, True, False])
    wrong = [0.1, 0.2], [[0.1, 0.1, 0.1]], [0.1, -0.1, 0.1], [0.1, math.nan, 0.1], 0.1, ["0.1"] * 3, masked
    for mu in wrong:
        with pytest.raises(DomainError):
            table.spend(mu)
        assert (table.steps, table.spent.tolist()) == (0, [0.0, 0.0, 0.0])


@pytest.fixture
def arrow():
    pytest.importorskip("pyarrow.parquet", reason="pyarrow, the extra [arrow], is not installed")
    return pytest.importorskip("pyarrow")


def test_spend_parquet_equals_spend_and_bad_files_raise(tmp_path, arrow, monkeypatch):
    one, two, three = (to.filters.IndividualGDPFilter(1, 1000) for _ in range(3))
    for mu in rounds(1000, 6):
        table = arrow.table({"mu": mu, "name": [str(m) for m in mu]})
        arrow.parquet.write_table(table, tmp_path / "round.parquet", row_group_size=300)
        granted = one.spend(mu)
        assert np.array_equal(granted, two.spend_parquet(tmp_path / "round.parquet"))
        assert np.array_equal(granted, three.spend(arrow.array(mu)))
    assert one.spent.tolist() == two.spent.tolist() == three.spent.tolist()
    table, path = to.filters.IndividualGDPFilter(1, 3), tmp_path / "round.parquet"
    wrong = (([0.1] * 4, "mu"), ([0.1] * 3, "nu"), ([0.1, None, 0.1], "mu"), (["a"] * 3, "mu"))
    for mu, column in wrong:
        arrow.parquet.write_table(arrow.table({"mu": mu}), path)
        with pytest.raises(DomainError):
            table.spend_parquet(path, column)
    path.write_bytes(b"PAR1 but not really")
    for file in (path, tmp_path / "missing.parquet"):
        with pytest.raises(DomainError, match="must be a Parquet file"):
            table.spend_parquet(file)
    assert table.steps == 0
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"tradeoff\[arrow\]"):
        to.filters.IndividualGDPFilter(1, 1).spend_parquet(tmp_path / "round.parquet")
