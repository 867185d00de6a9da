"""One budget for each record: the same answers as one filter for each."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import tradeoff as to
from tests.strategies import log_uniform
from tradeoff.errors import DomainError, KindError, MissingExtraError, PlanError

NO_ARROW = "pyarrow, the extra [arrow], is not installed"


def rounds(records, count, seed=1):
    rng = np.random.default_rng(seed)
    return [
        rng.choice([0.0, 0.1, 0.25, 0.6], size=records) * rng.uniform(0.5, 1.5, size=records)
        for _ in range(count)
    ]


def test_every_record_has_the_filter_it_would_have_alone():
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
def test_no_record_passes_its_budget(mu, shares):
    table, exact = to.filters.IndividualGDPFilter(mu, 1), Fraction(0)
    for share in shares:
        more = exact + Fraction(mu * share) ** 2
        if table.spend([mu * share])[0]:
            exact = more
        else:
            assert more > Fraction(mu) ** 2
    assert exact <= Fraction(float(table.spent[0])) ** 2
    assert exact <= Fraction(table.guarantee().mu) ** 2 <= Fraction(mu) ** 2 * (1 + Fraction(2, 10**12))


def test_a_thousand_equal_parts_fill_the_budget():
    table = to.filters.IndividualGDPFilter(1, 1)
    for _ in range(1000):
        assert table.spend([math.sqrt(1e-3)])[0]
    assert not table.spend([1e-5])[0]


def test_one_curve_for_all():
    table = to.filters.IndividualGDPFilter(1, 3)
    table.spend([0.0, 0.8, 1.0])
    assert table.spend(to.mechanisms.Gaussian(noise_multiplier=2)).tolist() == [True, True, False]
    with pytest.raises(KindError, match="each record"):
        table.spend(to.TotalVariation(0.1))


def test_steps_for_other_neighbours_are_refused():
    table, step = to.filters.IndividualGDPFilter(1, 2), to.mechanisms.ShuffledRandomizers(1.0, 100)
    for ask in (table.spend, table.would_exceed):
        with pytest.raises(PlanError, match="replace-one"):
            ask(step)
    assert (table.steps, table.spent.tolist()) == (0, [0.0, 0.0])
    table.spend(to.mechanisms.Subsampled(to.mechanisms.Laplace(scale=2), 0.1, adjacency="add-remove"))
    assert table.steps == 1


@pytest.mark.slow
def test_the_guarantee_rests_on_what_its_steps_do():
    table, step = to.filters.IndividualGDPFilter(1, 2), to.from_scipy(stats.t(5), stats.t(5, loc=0.1))
    assert step.assumptions
    table.would_exceed(step)
    assert table.guarantee().assumptions == ()
    for _ in range(2):
        table.spend(step)
    table.spend([0.1, 0.2])
    assert table.assumptions == table.guarantee().assumptions == step.assumptions


@pytest.mark.parametrize(
    "mu",
    [
        [0.1, 0.2],
        [[0.1, 0.1, 0.1]],
        [0.1, -0.1, 0.1],
        [0.1, math.nan, 0.1],
        0.1,
        np.ma.array([0.1, 0.1, 0.1], mask=[False, True, False]),
        ["0.1"] * 3,
    ],
)
def test_steps_of_another_shape_or_kind_are_refused_whole(mu):
    table = to.filters.IndividualGDPFilter(1, 3)
    with pytest.raises(DomainError):
        table.spend(mu)
    assert (table.steps, table.spent.tolist()) == (0, [0.0, 0.0, 0.0])


def test_infinite_and_tiny_mu_and_bad_parameters():
    table = to.filters.IndividualGDPFilter(1e-9, 4)
    assert table.spend([math.inf, 1e-9, 1e-300, 0.0]).tolist() == [False, True, True, True]
    assert np.all(np.isfinite(table.spent) & np.isfinite(table.remaining))
    assert to.filters.IndividualGDPFilter(1, 0).spend([]).tolist() == []
    for bad in ({"mu": 0, "records": 1}, {"mu": math.nan, "records": 1}, {"mu": 1, "records": -1}):
        with pytest.raises(DomainError):
            to.filters.IndividualGDPFilter(**bad)


def test_parquet_in_arrow_out(tmp_path):
    arrow, parquet = (pytest.importorskip(name, reason=NO_ARROW) for name in ("pyarrow", "pyarrow.parquet"))
    one, two, three = (to.filters.IndividualGDPFilter(1, 1000) for _ in range(3))
    for mu in rounds(1000, 6):
        parquet.write_table(
            arrow.table({"mu": mu, "name": [str(m) for m in mu]}),
            tmp_path / "round.parquet",
            row_group_size=300,
        )
        granted = one.spend(mu)
        assert np.array_equal(granted, two.spend_parquet(tmp_path / "round.parquet"))
        assert np.array_equal(granted, three.spend(arrow.array(mu)))
    assert one.spent.tolist() == two.spent.tolist() == three.spent.tolist()


def test_parquet_that_does_not_fit_is_refused(tmp_path):
    arrow, parquet = (pytest.importorskip(name, reason=NO_ARROW) for name in ("pyarrow", "pyarrow.parquet"))
    table, path = to.filters.IndividualGDPFilter(1, 3), tmp_path / "round.parquet"
    for columns, column in (
        ({"mu": [0.1] * 4}, "mu"),
        ({"mu": [0.1] * 3}, "nu"),
        ({"mu": [0.1, None, 0.1]}, "mu"),
        ({"mu": ["a"] * 3}, "mu"),
    ):
        parquet.write_table(arrow.table(columns), path)
        with pytest.raises(DomainError):
            table.spend_parquet(path, column)
    path.write_bytes(b"PAR1 but not really")
    for wrong in (path, tmp_path / "missing.parquet"):
        with pytest.raises(DomainError, match="must be a Parquet file"):
            table.spend_parquet(wrong)
    assert table.steps == 0


def test_missing_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"tradeoff\[arrow\]"):
        to.filters.IndividualGDPFilter(1, 1).spend_parquet(tmp_path / "round.parquet")
