"""What enters a filter: fractions, curves with assumptions, huge counts, tables of other kinds."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats as ss
import sympy
from mpmath import mp, mpf

import tradeoff as to
from tradeoff.errors import BudgetExceeded, DomainError, KindError, LedgerError
from tradeoff.filters import (
    BrownianMechanism,
    ExPost,
    ExPostFilter,
    FDPFilter,
    FilterOdometer,
    GDPFilter,
    IndividualGDPFilter,
    Ledger,
    LinearBoundary,
    MixtureBoundary,
    MixtureOdometer,
    PureDPFilter,
    RenyiFilter,
    ResidueFilter,
    RhoFilter,
    SampledFilter,
    UnifiedFilter,
)
from tradeoff.filters.individual import _grant
from tradeoff.gdp.structure import cap
from tradeoff.operators.assumed import assumed

LITTLE = Fraction(1, 10**30)


@pytest.fixture(scope="module")
def resting() -> to.TradeOff:
    """Return a curve that rests on a sentence."""
    return to.from_scipy(ss.binom(10, 0.5), ss.binom(10, 0.52))


@pytest.mark.parametrize("filtered", [IndividualGDPFilter(1.0, 3), GDPFilter, Ledger], ids=str)
def test_a_session_is_paid_by_what_refuses(filtered):
    """A table leaves records out and refuses nothing; a class is no filter."""
    with pytest.raises(KindError, match="grants no steps"):
        BrownianMechanism(100.0, filter=filtered, rng=1)


@pytest.mark.parametrize("family", [PureDPFilter, ExPostFilter])
def test_assumptions_of_a_step_are_those_of_the_guarantee(family, resting):
    budget = family(5)
    budget.spend(resting)
    assert budget.guarantee().assumptions == resting.assumptions != ()


@pytest.mark.parametrize(
    ("budget", "step"),
    [
        (ExPostFilter(1.0, 1e-300), ExPost(1 + LITTLE)),
        (ExPostFilter(1.0, 0.1), ExPost(0.5, Fraction(0.1) + LITTLE)),
    ],
)
def test_losses_in_fractions_are_rounded_up(budget, step):
    with pytest.raises(BudgetExceeded):
        budget.spend(step)


def test_sensitivities_in_fractions_are_rounded_up():
    for given in (2**53 + 1, 1 + LITTLE):
        paid = BrownianMechanism(0.0, given, rng=1).refine(1.0).spent.mu
        assert Fraction(paid) >= given


@pytest.mark.parametrize("clock", [2**60 + 127, Fraction(18014415689351169, 17179869184)])
def test_odometers_take_no_less_than_the_clock(clock):
    """The bound at the float below a clock is not that at the clock."""
    odometer, root = MixtureOdometer(0.5, r=1.0), mp.sqrt
    with mp.workdps(60):
        v = mpf(clock.numerator) / clock.denominator if isinstance(clock, Fraction) else mpf(clock)
        rho = mpf(1)
        known = odometer.bound(float(clock))
        above = odometer.bound(clock)
        assert above >= known
        # (V + rho)(log(1 + V/rho) - 2 log delta), under the root
        margin = root((v + rho) * (mp.log1p(v / rho) - 2 * mp.log(mpf("0.5"))))
        assert mpf(float(above)) >= v / 2 + margin * (1 - mpf(2) ** -45)


def test_what_assumes_is_charged_as_what_it_says(resting):
    """The Gaussian that bounds it, and the guarantee of a filter, enter the next one."""
    gaussian = resting.gdp(failure=0.0).curve
    assert gaussian.gdp(failure=0.0).mu == gaussian.operands[0].mu
    budgets = [
        GDPFilter(10),
        RhoFilter(5),
        RenyiFilter(4, 10),
        ResidueFilter(5, delta=1e-6),
        UnifiedFilter(5),
    ]
    for budget in budgets:
        budget.spend(gaussian)
        assert budget.guarantee().assumptions == resting.assumptions
    first = GDPFilter(3)
    first.spend(resting)
    second = GDPFilter(10)
    second.spend(first.guarantee())
    assert second.spent >= 3
    assert second.assumptions == resting.assumptions
    sampled = SampledFilter(1.0, 0.01, 10)
    sampled.spend(assumed(to.subsample(to.Gaussian(1.0), 0.01) ** 3, ["x."]))
    assert (sampled.spent, sampled.assumptions) == (3, ("x.",))


def test_counts_beyond_floats_are_answered_or_refused():
    with pytest.raises(KindError, match="no finite mu"):
        GDPFilter(1).spend(to.PureDP(0.1) ** 10**400)
    with pytest.raises(BudgetExceeded):
        SampledFilter(1.0, 0.01, 10).spend(to.subsample(to.Gaussian(1.0), 0.01) ** 10**309)


def test_what_has_too_many_atoms_is_charged_by_its_parts():
    budget = GDPFilter(1)
    budget.spend(to.PureDP(1e-23) ** 10**21)  # mu^2 = 10^21 (sqrt(pi/2) 1e-23)^2
    assert math.sqrt(math.pi / 2) * 1e-23 * math.sqrt(1e21) <= budget.spent < 1e-3


@pytest.mark.parametrize(("epsilon", "n"), [(3.0, 10**7), (0.5, 3 * 10**7)])
def test_too_many_atoms_in_fewer_rounds_are_refused_at_once_too(epsilon, n):
    with pytest.raises(BudgetExceeded):
        GDPFilter(100).spend(to.PureDP(epsilon) ** n)


def test_a_refused_target_may_be_a_symbol():
    with pytest.raises(KindError, match=r"GDPFilter\(m\)"):
        FDPFilter(to.Gaussian(sympy.Symbol("m")))


@pytest.mark.parametrize("jobs", [10**400, 0, True, 2.5, "2", np.array([1, 2])], ids=lambda _: "")
def test_jobs_are_numbers_of_processes(jobs):
    with pytest.raises(DomainError, match="jobs"):
        IndividualGDPFilter(1, 3, jobs=jobs)


def test_jobs_may_be_of_numpy():
    assert IndividualGDPFilter(1, 3, jobs=np.int64(1)).jobs == 1


def test_a_table_of_nan_grants_nothing():
    """What a caller writes into an array after it was checked is more than all."""
    table = IndividualGDPFilter(1, 2)
    array = np.array([0.5, 0.5])
    checked, _ = table._checked(array)
    checked[0] = math.nan
    with np.errstate(invalid="ignore"):
        assert _grant(table._used, checked, 1.0).tolist() == [False, True]


def test_parquet_of_dates_of_two_columns_or_damaged_is_refused(tmp_path):
    arrow, parquet = (pytest.importorskip(name, reason="no Arrow") for name in ("pyarrow", "pyarrow.parquet"))
    table, path = IndividualGDPFilter(1, 3), tmp_path / "round.parquet"
    for columns, names in (
        ([arrow.array([0, 1, 2], arrow.timestamp("s"))], ["mu"]),
        ([arrow.array([0, 1, 2], arrow.duration("s"))], ["mu"]),
        ([arrow.array([0.0, 1.0, 2.0])] * 2, ["mu", "mu"]),
    ):
        parquet.write_table(arrow.table(columns, names=names), path)
        with pytest.raises(DomainError, match=r"round\.parquet"):
            table.spend_parquet(path)
    parquet.write_table(arrow.table({"mu": [0.0, 1.0, 2.0]}), path)
    damaged = bytearray(path.read_bytes())
    damaged[4:44] = b"\xff" * 40
    path.write_bytes(damaged)
    with pytest.raises(DomainError, match="no Parquet file"):
        table.spend_parquet(path)
    for odd in (None, 5, b"x"):
        with pytest.raises(DomainError, match="names no file"):
            table.spend_parquet(odd)
    assert table.steps == 0


def test_a_ledger_in_no_folder_says_so(tmp_path):
    with pytest.raises(LedgerError, match="its folder does not exist"):
        Ledger.create(tmp_path / "none" / "ledger", GDPFilter(1))


def test_a_sampled_budget_in_fractions_takes_steps_of_the_same():
    noise = Fraction(11, 10)
    budget = SampledFilter(noise, 0.01, 10)
    budget.spend(to.mechanisms.SubsampledGaussian(noise, 0.01))
    assert budget.noise_multiplier < noise
    assert budget.spent == 1


def test_clocks_beyond_floats_cost_infinitely_much_in_silence():
    largest = int(np.finfo(float).max)
    assert MixtureOdometer(0.1, r=1.0).bound([largest + Fraction(1, 2), Fraction(1, 3)])[0] == math.inf


def test_what_tells_nothing_costs_nothing_however_often():
    nothing = assumed(to.Identity(), ["x."]) ** 10**400
    assert cap(nothing) == 0
    least = to.subsample(to.Gaussian(5e-324), 0.5)
    assert cap(least**2) >= 1e-323


def test_failures_in_fractions_are_rounded_down():
    tenth = Fraction(1, 10)
    assert Fraction(FilterOdometer(tenth, at=1).delta) <= tenth
    assert Fraction(MixtureBoundary(tenth, 1.0).delta) <= tenth
    assert Fraction(LinearBoundary(tenth, 1.0).delta) <= tenth
