"""What interrupts a change in its own thread, handles that outlive a directory, classes of a user's own."""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy

from tradeoff import Gaussian, PureDP, filters, mechanisms, subsample
from tradeoff.errors import DomainError, KindError, TradeOffError
from tradeoff.filters.ledger import store


def interrupted(name: str, asked):
    """Call a function when another one of that name is called, as a signal handler would."""
    found: list[BaseException] = []

    def trace(frame, event, _):
        if event == "call" and frame.f_code.co_name == name and not found:
            try:
                found.append(AssertionError("granted"))
                asked()
            except TradeOffError as error:
                found[:] = [error]

    return trace, found


@pytest.mark.parametrize(
    ("made", "step", "inside"),
    [
        (lambda: filters.PureDPFilter(1), PureDP(1.0), "_record"),
        (lambda: filters.GDPFilter(1), Gaussian(1), "_fits"),
        (lambda: filters.IndividualGDPFilter(1, records=4), [1.0] * 4, "_grant"),
        (lambda: filters.FilterOdometer(1e-6, at=1.0), Gaussian(1), "plus"),
    ],
)
def test_a_handler_is_granted_nothing_in_the_middle_of_a_change(made, step, inside):
    budget = made()
    trace, found = interrupted(inside, lambda: budget.spend(step))
    sys.settrace(trace)
    try:
        budget.spend(step)
    finally:
        sys.settrace(None)
    assert isinstance(found[0], KindError)
    assert budget.steps == 1
    if not hasattr(budget, "clock"):
        with_more = budget.would_exceed(step)
        assert np.all(with_more)


def test_a_ledger_stays_with_its_file_wherever_the_process_goes(tmp_path: Path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "b")
    filters.Ledger.create("budget.ledger", filters.GDPFilter(1))
    monkeypatch.chdir(tmp_path / "a")
    ledger = filters.Ledger.create("budget.ledger", filters.GDPFilter(1))
    ledger.spend(Gaussian(1))
    os.chdir(tmp_path / "b")
    assert ledger.steps == 1
    with pytest.raises(TradeOffError):
        ledger.spend(Gaussian(1))


def test_a_class_without_a_kind_of_its_own_is_not_stored(tmp_path: Path):
    class Half(filters.GDPFilter):
        def _fits(self, asked):
            return self.totals[0].bounds(*asked).upper <= 0.5

    class Taken(filters.GDPFilter):
        kind = "gdp"

    for strict in (Half(1), Taken(1)):
        with pytest.raises(KindError, match="kind of its own"):
            filters.Ledger.create(tmp_path / "budget.ledger", strict)
        with pytest.raises(KindError):
            strict.state()
    assert not (tmp_path / "budget.ledger").exists()
    assert type(filters.Filter.from_state(filters.GDPFilter(1).state())) is filters.GDPFilter


@pytest.mark.parametrize(
    "made",
    [
        filters.GDPFilter,
        filters.PureDPFilter,
        lambda x: filters.ApproximateDPFilter(x, 1e-6),
        lambda x: filters.ZCDPFilter(1, x),
        lambda x: filters.RenyiFilter(x, 1),
        filters.ResidueFilter,
        lambda x: filters.FilterOdometer(x, at=1.0),
        lambda x: filters.IndividualGDPFilter(x, 3),
    ],
)
def test_a_symbol_is_no_budget(made):
    with pytest.raises(DomainError, match="substitute"):
        made(sympy.Symbol("x"))


def test_a_state_that_is_an_array_is_told():
    with pytest.raises(DomainError):
        filters.Filter.from_state(np.array([1.0, 2.0]))


def test_a_step_that_may_turn_on_its_own_is_no_round():
    budget = filters.SampledFilter(0.5, 0.05, rounds=20)
    step = mechanisms.Custom(subsample(Gaussian(2), 0.05), adjacency="replace-one")
    with pytest.raises(KindError, match="turn"):
        budget.spend(step)
    budget.spend(mechanisms.Custom(subsample(Gaussian(2), 0.05), adjacency="add-remove"))
    assert budget.steps == 1


def test_a_ledger_is_not_asked_while_its_thread_writes(tmp_path: Path) -> None:
    ledger = filters.Ledger.create(tmp_path / "a.ledger", filters.GDPFilter(1.0))
    asked = filters.Ledger(tmp_path / "a.ledger")
    trace, found = interrupted("_put", lambda: asked.spend(Gaussian(0.1)))
    sys.settrace(trace)
    try:
        ledger.spend(Gaussian(0.1))
    finally:
        sys.settrace(None)
    assert "by this very thread" in str(found[0])
    ledger.spend(Gaussian(0.1))
    assert ledger.steps == 2


def test_a_ledger_is_not_asked_to_write_while_its_thread_reads(tmp_path: Path) -> None:
    """The handler would wait for its own thread, and then blame other processes."""
    path = tmp_path / "a.ledger"
    ledger, asked = filters.Ledger.create(path, filters.GDPFilter(1.0)), filters.Ledger(path, wait=1000)
    trace, found = interrupted("_read", lambda: asked.spend(Gaussian(0.1)))
    sys.settrace(trace)
    try:
        assert ledger.steps == 0
    finally:
        sys.settrace(None)
    assert "by this very thread" in str(found[0])


@pytest.mark.parametrize("place", ["_named", "_asked_by_this_thread"])
def test_an_interrupt_around_the_lock_leaves_the_ledger_open(tmp_path: Path, place: str) -> None:
    path = tmp_path / "a.ledger"
    ledger = filters.Ledger.create(path, filters.GDPFilter(1.0))
    for moment in range(8):
        calls = itertools.count()

        def trace(frame, event, _, calls=calls, moment=moment) -> None:
            if event == "call" and frame.f_code.co_name == place and next(calls) == moment:
                raise KeyboardInterrupt

        sys.settrace(trace)
        try:
            ledger.spend(Gaussian(0.1))
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        ledger.spend(Gaussian(0.1))
    ledger.verify()


def test_an_entry_left_by_an_interrupt_heals_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    ledger = filters.Ledger.create(path, filters.GDPFilter(1.0))
    with path.open("rb") as file:
        store._asked_by_this_thread()[file.fileno()] = store._named(file.fileno())
    ledger.spend(Gaussian(0.1))
    assert not store._asked_by_this_thread()
