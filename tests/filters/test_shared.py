"""Filters, odometers, tables, simulators and sessions in many hands: threads, copies and forks."""

import copy
import os
import pickle
import signal
import sys
import threading
import warnings
from fractions import Fraction

import numpy as np
import pytest

import tradeoff as to
from tradeoff.errors import BudgetExceeded, DomainError, KindError
from tradeoff.filters import BrownianMechanism, Doubling, ExPost, LaplaceNoiseReduction
from tradeoff.filters.costs import REMEMBERED, gdp_mu, renyi, zcdp
from tradeoff.filters.domination import charge

THREADS = 8


@pytest.fixture
def impatient():
    """Let threads change places as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work):
    """Run ``work`` in eight threads that start at once; return what each returned."""
    start, found = threading.Barrier(THREADS), []

    def one():
        start.wait()
        found.append(work())

    threads = [threading.Thread(target=one) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == THREADS
    return found


def until_refused(spend):
    granted = 0
    while True:
        try:
            spend()
        except BudgetExceeded:
            return granted
        granted += 1


BUDGETS = [
    (to.filters.GDPFilter(1), to.Gaussian(0.01), 10_000),
    (to.filters.UnifiedFilter(1), to.Gaussian(0.02), 2500),
    (to.filters.ResidueFilter(1), to.Gaussian(0.04), 625),
    (to.filters.RhoFilter(0.5), to.Gaussian(0.02), 2500),
    (to.filters.UnifiedZCDPFilter(0.5), to.Gaussian(0.02), 2500),
    (to.filters.RenyiFilter(4, 2), to.Gaussian(0.02), 2500),
    (to.filters.PureDPFilter(1), to.PureDP(0.001), 1000),
    (to.filters.ExPostFilter(1), ExPost(0.001), 1000),
    (
        to.filters.ZCDPFilter(1, 1e-6),
        to.Gaussian(0.01),
        int(Fraction(to.filters.ZCDPFilter(1, 1e-6).budget.rho) * 20_000),
    ),
    (
        to.filters.ApproximateDPFilter(1, 1e-6),
        to.PureDP(0.01),
        int(to.filters.ApproximateDPFilter(1, 1e-6).budget.epsilon_squared * 10_000),
    ),
]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("budget", "step", "most"), BUDGETS, ids=[budget.kind for budget, _, _ in BUDGETS])
def test_threads_are_granted_what_fits_and_no_more(budget, step, most):
    assert sum(together(lambda: until_refused(lambda: budget.spend(step)))) == budget.steps == most
    assert budget.would_exceed(step)


@pytest.mark.usefixtures("impatient")
def test_threads_lose_no_time_of_an_odometer():
    odometer = to.filters.MixtureOdometer(1e-6, r=0.1)
    together(lambda: [odometer.spend(to.Gaussian(0.1)) for _ in range(400)])
    assert odometer.steps == 400 * THREADS
    assert (
        400 * THREADS * Fraction(0.1) ** 2
        <= Fraction(odometer.clock)
        <= 400 * THREADS * Fraction(0.1) ** 2 * (1 + Fraction(1, 10**14))
    )


@pytest.mark.usefixtures("impatient")
def test_threads_let_a_record_in_as_often_as_it_fits():
    influences = np.repeat([0.1, 0.0, 2.0], 50_000)  # long enough that NumPy lets other threads in
    table = to.filters.IndividualGDPFilter(1, influences.size)
    masks = together(lambda: sum(table.spend(influences).astype(int) for _ in range(20)))
    assert np.array_equal(sum(masks), np.repeat([100, 20 * THREADS, 0], 50_000))
    assert table.steps == 20 * THREADS


@pytest.mark.usefixtures("impatient")
def test_threads_are_answered_from_one_draw():
    simulator = to.filters.GaussianSimulator(0.0, np.random.default_rng(1))
    assert sum(together(lambda: until_refused(lambda: simulator.answer(0.1)))) == 100


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("make", "levels"),
    [
        (lambda paid: BrownianMechanism(5.0, filter=paid, rng=1), [100.0 / k for k in range(1, 200)]),
        (lambda paid: Doubling(5.0, filter=paid, rng=1), [1e6 / k for k in range(1, 200)]),
        (
            lambda paid: LaplaceNoiseReduction(5.0, [k / 1000 for k in range(1, 200)], filter=paid, rng=1),
            [k / 1000 for k in range(1, 200)],
        ),
    ],
)
def test_threads_refine_one_after_the_other(make, levels):
    class Till:
        paid = ()

        def spend(self, step):
            self.paid = (*self.paid, step)

    till = Till()
    session = make(till)

    def refine():
        for level in levels:
            try:
                session.refine(level)
            except DomainError:  # another thread has refined further
                continue

    together(refine)
    seen = [release.level for release in session.releases]
    assert seen == sorted(set(seen), reverse=levels[0] > levels[-1])
    assert seen[-1] == levels[-1]
    assert len(till.paid) == len(seen)


COPIES = [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))]


@pytest.mark.parametrize("copied", COPIES, ids=["copy", "deepcopy", "pickle"])
@pytest.mark.parametrize(
    ("budget", "step"), [row[:2] for row in BUDGETS], ids=[budget.kind for budget, _, _ in BUDGETS]
)
def test_a_copy_is_a_second_budget_that_shares_nothing(budget, step, copied):
    first = type(budget)(**budget.parameters)
    first.spend(step)
    second = copied(first)
    assert second.state() == first.state()
    second.spend(step)
    second.spend(step)
    assert (first.steps, second.steps) == (1, 3)
    assert first.spent < second.spent
    first.spend(step)
    first.spend(step)
    assert first.state() == second.state()


@pytest.mark.parametrize("copied", COPIES, ids=["copy", "deepcopy", "pickle"])
def test_copies_of_all_that_counts_share_nothing(copied):
    odometer, table = to.filters.FilterOdometer(1e-6, at=1), to.filters.IndividualGDPFilter(1, 2)
    simulator = to.filters.GaussianSimulator(0.0, np.random.default_rng(1))
    odometer.spend(to.Gaussian(0.5))
    table.spend([0.5, 1.0])
    simulator.answer(0.5)
    clock, steps, table_, simulator_ = copied(odometer), odometer.clock, copied(table), copied(simulator)
    clock.spend(to.Gaussian(0.5))
    assert table_.spend([0.8, 0.1]).tolist() == [True, False]
    assert simulator_.answer(0.8) == pytest.approx(copy.copy(simulator).answer(0.8), abs=0)
    assert (odometer.clock, table.spent.round(9).tolist(), simulator.remaining) == (steps, [0.5, 1.0], 0.75)
    assert clock.clock > steps


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


def in_a_child(work):
    """Return what ``work`` says in a forked child, which is ended after a minute."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # newer versions warn of threads, which are here for the test
        child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            told = str(work())
        except BaseException as error:  # noqa: BLE001 - the child ends here, and tells
            told = f"{type(error).__name__}: {error}"
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return told


@forks
@pytest.mark.parametrize(
    "kind",
    [
        BrownianMechanism,
        Doubling,
        lambda value, **options: LaplaceNoiseReduction(value, [1.0, 2.0], **options),
    ],
)
def test_a_forked_session_draws_nothing_and_pays_nothing(kind):
    budget = to.filters.ExPostFilter(5.0) if not isinstance(kind, type) else to.filters.UnifiedFilter(5.0)
    session = kind(5.0, filter=budget, rng=1)
    refused = in_a_child(lambda: session.refine(1.0))
    assert refused.startswith("KindError")
    assert "a fork of it" in refused
    assert "5.0" not in refused
    assert in_a_child(lambda: len(session.releases) + budget.steps) == "0"
    assert session.refine(1.0).level == 1.0  # the parent goes on


@forks
def test_a_fork_does_not_inherit_a_lock_that_another_thread_holds():
    budget, held, done = to.filters.GDPFilter(1), threading.Event(), threading.Event()

    def hold():
        with budget._lock.once():
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    told = in_a_child(lambda: (budget.spend(to.Gaussian(0.5)), budget.steps))
    done.set()
    thread.join()
    assert told == "(None, 1)"
    assert budget.steps == 0


def test_sessions_refuse_copies_in_one_sentence():
    for copied in COPIES:
        with pytest.raises(KindError, match="neither copied nor pickled"):
            copied(BrownianMechanism(5.0, rng=1))


@pytest.mark.slow
def test_costs_of_many_different_steps_are_not_all_kept():
    budget, concentrated, order, residue = (
        to.filters.GDPFilter(10),
        to.filters.RhoFilter(10),
        to.filters.RenyiFilter(2, 10),
        to.filters.ResidueFilter(10),
    )
    for k in range(2 * REMEMBERED):
        for each in (budget, concentrated, order, residue):
            each.spend(to.PureDP(1e-4 + k * 1e-9))
    for cached in (gdp_mu, zcdp, renyi, charge):
        assert cached.cache_info().maxsize == REMEMBERED <= 256
        assert cached.cache_info().currsize <= REMEMBERED
    assert budget.steps == 2 * REMEMBERED
