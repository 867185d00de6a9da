import csv
import errno
import fcntl
import hashlib
import io
import itertools
import json
import math
import os
import random
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
import warnings
from contextlib import closing
from dataclasses import asdict, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tradeoff.errors import BudgetExceeded, DomainError, KindError, LedgerError
from tradeoff.filters import (
    BrownianMechanism,
    ExPost,
    ExPostFilter,
    Filter,
    GDPFilter,
    Ledger,
    ResidueFilter,
    RhoFilter,
    UnifiedFilter,
    ZCDPFilter,
)
from tradeoff.filters.ledger import store
from tradeoff.filters.ledger.entries import GENESIS, Entry, chain, rebuilt, totals
from tradeoff.filters.ledger.store import WIDTH, Seal
from tradeoff.mechanisms import DiscreteGaussian, Gaussian, Laplace, Mechanism, Plan, SubsampledGaussian

FIRE = Path(__file__).with_name("ledger_under_fire.py")
STEP = Gaussian(noise_multiplier=4)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.fixture
def spent(path):
    """Return the path of a ledger with three grants."""
    ledger = Ledger.create(path, GDPFilter(1))
    for multiplier in (4, 5, 6):
        ledger.spend(Gaussian(noise_multiplier=multiplier))
    return path


def lines(path):
    """Return the entries as they are stored, one line each."""
    return path.read_bytes()[WIDTH:].splitlines(keepends=True)


def put(path, rows, *, head=None):
    """Do to the file what the library would not: other lines, under a seal that fits them."""
    end = WIDTH + sum(map(len, rows))
    seal = Seal(end - len(rows[-1]), end, head or json.loads(rows[-1])[5])
    path.write_bytes(seal.line() + b"".join(rows))


def first_format(path, entries, *statements):
    """Write a ledger as it was before: an SQLite database."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(
            "CREATE TABLE entries (step INTEGER PRIMARY KEY, time TEXT, mechanism TEXT, "
            "totals TEXT, state TEXT, hash TEXT)"
        )
        db.execute(f"PRAGMA application_id = {0x74724F66}")
        db.execute("PRAGMA user_version = 1")
        db.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", [entry.row() for entry in entries])
        for statement in statements:
            db.execute(statement)


def chained(entries):
    """Return the entries with their chain of hashes written anew."""
    previous, found = GENESIS, []
    for entry in entries:
        previous = entry.digest(previous)
        found.append(replace(entry, hash=previous))
    return found


# The protocol of a filter.


@settings(max_examples=8)
@given(multipliers=st.lists(st.floats(1.0, 20.0), max_size=8))
def test_a_ledger_answers_as_its_filter_does(multipliers):
    with tempfile.TemporaryDirectory() as folder:
        filter_, ledger = GDPFilter(1), Ledger.create(Path(folder) / "a", GDPFilter(1))
        for multiplier in multipliers:
            step = Gaussian(noise_multiplier=multiplier)
            refused = filter_.would_exceed(step)
            assert ledger.would_exceed(step) is refused
            if refused:
                before = ledger.head
                with pytest.raises(BudgetExceeded) as caught:
                    ledger.spend(step)
                assert (caught.value.spent, caught.value.remaining) == (filter_.spent, filter_.remaining)
                assert ledger.head == before
            else:
                filter_.spend(step)
                ledger.spend(step)
            assert ledger.filter.state() == filter_.state()
        found = Ledger(Path(folder) / "a")
        assert (found.spent, found.remaining, found.budget, found.steps) == (
            filter_.spent,
            filter_.remaining,
            filter_.budget,
            filter_.steps,
        )
        assert found.guarantee() == filter_.guarantee()
        assert found.verify() == found.head


@pytest.mark.parametrize(
    ("filter_", "step"),
    [
        (GDPFilter(1), to.Gaussian(0.5)),
        (UnifiedFilter(1), STEP),
        (RhoFilter(0.5), DiscreteGaussian(sigma=2)),
        (ZCDPFilter(1, 1e-6, step_delta=1e-7), to.approximate_dp(0.1, 1e-8)),
        (ExPostFilter(1, 1e-6), ExPost(0.5, 1e-7)),
        (ExPostFilter(1), Plan({Laplace(scale=10): 3})),
    ],
)
def test_every_kind_of_filter_persists(path, filter_, step):
    entry = Ledger.create(path, filter_).spend(step)
    assert json.loads(json.dumps(entry.totals)) == entry.totals
    filter_.spend(step)
    assert Ledger(path).filter.state() == filter_.state()
    assert Ledger(path).verify(head=entry.hash) == entry.hash


def test_entries_say_what_was_granted(path):
    ledger = Ledger.create(path, GDPFilter(2))
    steps = (STEP, to.Gaussian(0.5), Plan({STEP: 2}), SubsampledGaussian(noise_multiplier=9, sample_rate=0.5))
    told = [ledger.spend(step).mechanism for step in steps]
    assert told == [
        {"kind": "gaussian", "noise_multiplier": 4.0},
        {"curve": "G_{0.5}"},
        {"adjacency": "add-remove", "mechanism": [{"kind": "gaussian", "noise_multiplier": 4.0, "count": 2}]},
        {"kind": "subsampled-gaussian", "noise_multiplier": 9.0, "sample_rate": 0.5},
    ]
    entries = ledger.entries()
    assert [entry.step for entry in entries] == [0, 1, 2, 3, 4]
    assert [entry.totals["budget"] for entry in entries] == [2.0] * 5
    assert all(a.time <= b.time and a.totals["spent"] < b.totals["spent"] for a, b in pairwise(entries))


def test_neighbours_are_remembered(path):
    ledger = Ledger.create(path, GDPFilter(2))
    ledger.spend(SubsampledGaussian(noise_multiplier=9, sample_rate=0.5))
    assert Ledger(path).filter.adjacency == "add-remove"


def test_sessions_pay_into_a_ledger_before_they_draw(path):
    session = BrownianMechanism(10.0, filter=Ledger.create(path, GDPFilter(1)), rng=1)
    session.run(lambda _: False, [16.0, 4.0, 1.0])
    with pytest.raises(BudgetExceeded):
        session.refine(0.5)
    assert Ledger(path).steps == len(session.releases) == 3


def test_only_an_unspent_filter_becomes_a_ledger(path):
    used = GDPFilter(1)
    used.spend(STEP)
    for wrong in (used, STEP, 1.0, None):
        with pytest.raises(KindError, match="unspent"):
            Ledger.create(path, wrong)
    assert not path.exists()


def test_export_holds_every_entry(spent):
    ledger = Ledger(spent)
    entries = ledger.entries()
    assert [Entry(**each) for each in json.loads(ledger.to_json())] == entries
    table = list(csv.DictReader(io.StringIO(ledger.to_csv())))
    assert [(int(row["step"]), row["hash"]) for row in table] == [
        (entry.step, entry.hash) for entry in entries
    ]
    assert [json.loads(row["mechanism"]) for row in table] == [entry.mechanism for entry in entries]
    for write in (ledger.to_json, ledger.to_csv):
        assert write(file := io.StringIO()) == ""
        assert file.getvalue() == write()
    assert ledger.to_json() == json.dumps([asdict(entry) for entry in entries], indent=2)


@pytest.mark.slow
def test_export_holds_a_few_entries_at_a_time(path):
    filter_ = GDPFilter(1)
    entries = [Entry.following(None, None, filter_)]
    for _ in range(1000):
        filter_.spend(Gaussian(noise_multiplier=1000))
        entries.append(Entry.following(entries[-1], STEP, filter_))
    put(path, [entry.line() for entry in entries])
    for write in (Ledger(path).to_json, Ledger(path).to_csv):
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
            tracemalloc.start()
            write(nowhere)
            # All entries at once take ten times as much as the file; some wait for the collector.
            assert tracemalloc.get_traced_memory()[1] < 2 * path.stat().st_size
            tracemalloc.stop()


# Concurrency and crashes.


@pytest.mark.parametrize("links", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_sixteen_processes_under_kill_9(links):
    command = [sys.executable, str(FIRE), "--kills", "20", "--seed", "1", "--links", str(links)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=FIRE.parents[2], timeout=300
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["killed"] >= 10  # a starved machine may run out of budget before all 20
    assert 20 <= seen["noted"] <= seen["grants"] <= seen["noted"] + seen["killed"]
    assert seen["spent"] <= 1 + 1e-12


def test_threads_that_share_an_object_never_overspend(path):
    ledger, granted = Ledger.create(path, GDPFilter(1)), []

    def hammer():
        try:
            while True:
                granted.append(ledger.spend(STEP).step)
        except BudgetExceeded:
            pass

    threads = [threading.Thread(target=hammer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(granted) == list(range(1, 17))
    assert Ledger(path).steps == 16


def struck(act, calls, moment, *, torn=False):
    """Run ``act`` in a child killed at a call to the system; say whether it got so far, and the calls."""
    count = itertools.count()

    def deadly(name):
        real = getattr(os, name)

        def call(*arguments):
            if next(count) == moment:
                if (
                    torn and name == "pwrite" and arguments[2] >= WIDTH
                ):  # the seal lies within one sector, and is never torn
                    file, data, place = arguments
                    real(file, data[: len(data) // 2], place)
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments)

        return call

    with warnings.catch_warnings(
        action="ignore", category=DeprecationWarning
    ):  # threads of a linear algebra library may sleep here
        child = os.fork()
    if child == 0:
        for name in calls:
            setattr(os, name, deadly(name))
        act()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


CALLS = ("open", "pread", "ftruncate", "pwrite", "fsync", "close", "link", "unlink")


@pytest.mark.parametrize("torn", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_grant_that_is_killed_at_any_moment_is_there_or_not(spent, torn):
    whole, before, told = spent.read_bytes(), Ledger(spent).entries(), set()
    for moment in itertools.count():
        spent.write_bytes(whole)
        killed = struck(lambda: Ledger(spent).spend(STEP), CALLS, moment, torn=torn)
        found = Ledger(spent).entries()
        assert found[:4] == before
        told.add(len(found))
        assert list(spent.parent.iterdir()) == [spent]  # no other file belongs to the ledger
        last = Ledger(spent).spend(STEP)
        assert Ledger(spent).verify() == last.hash
        assert last.step == len(found)
        assert spent.stat().st_size == WIDTH + sum(map(len, lines(spent)))
        if not killed:
            break
    assert told == {4, 5}
    assert moment > 10


def test_whatever_a_killed_process_left_behind_the_seal_is_nothing(spent):
    whole, before = spent.read_bytes(), Ledger(spent).entries()
    left = Entry.following(before[-1], STEP, GDPFilter(1)).line()
    rng = random.Random(0)
    flipped = [
        left[:at] + bytes([left[at] ^ 1 << rng.randrange(8)]) + left[at + 1 :]
        for at in range(0, len(left), 17)
    ]
    for tail in (b"", left, *(left[:n] for n in range(1, len(left), 17)), *flipped, bytes(5000), b"\n" * 9):
        spent.write_bytes(whole + tail)
        assert Ledger(spent).verify() == before[-1].hash
        assert Ledger(spent).spend(STEP).step == 4
        assert Ledger(spent).entries()[:4] == before
        assert len(lines(spent)) == 5


@pytest.mark.slow
def test_creation_that_is_killed_leaves_a_whole_ledger_or_none(tmp_path):
    made = set()
    for moment in itertools.count():
        folder = tmp_path / str(moment)
        folder.mkdir()
        killed = struck(lambda at=folder / "a": Ledger.create(at, GDPFilter(1)), CALLS, moment)
        if (folder / "a").exists():
            assert Ledger(folder / "a").verify()
        else:
            Ledger.create(folder / "a", GDPFilter(1))
        made.add(killed)
        assert Ledger(folder / "a").spend(STEP).step == 1
        if not killed:
            break
    assert made == {True, False}


def test_who_looks_while_a_ledger_is_made_sees_all_of_it_or_none(path):
    seen = []

    def look():
        while len(seen) < 5 or not seen[-1].startswith("0 of"):
            try:
                seen.append(f"{Ledger(path).steps} of 0")
            except LedgerError as error:
                seen.append(str(error))

    watcher = threading.Thread(target=look)
    watcher.start()
    for _ in range(40):
        Ledger.create(path, GDPFilter(1))
        path.unlink()
    Ledger.create(path, GDPFilter(1))
    watcher.join()
    assert {each for each in seen if "No such file" not in each} == {"0 of 0"}


@pytest.mark.parametrize(
    "name", ["pwrite", "fsync", pytest.param("ftruncate", marks=pytest.mark.slow), "pread", "open"]
)
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_disk_that_fails_grants_nothing_and_is_not_called_corrupt(spent, monkeypatch, name, code):
    real, before, failures = getattr(os, name), Ledger(spent).entries(), 0
    for moment in range(30):
        calls = itertools.count()

        def failing(*arguments, calls=calls, moment=moment):
            if next(calls) == moment:
                raise OSError(code, os.strerror(code))
            return real(*arguments)

        monkeypatch.setattr(os, name, failing)
        try:
            Ledger(spent).spend(Gaussian(noise_multiplier=100))
        except LedgerError as error:
            failures += 1
            told, granted = str(error), False
        else:
            told, granted = "", True
        monkeypatch.undo()
        assert granted or re.search(
            "(the disk failed to read or write|disk is full); nothing was granted", told
        )
        assert not re.search("corrupt|restore", told)
        assert len(Ledger(spent).entries()) == len(before) + granted
        assert Ledger(spent).verify()
        before = Ledger(spent).entries()
    assert failures


def test_nothing_is_sealed_or_named_before_it_is_on_the_disk(path, monkeypatch):
    seen = []
    for name in ("pwrite", "fsync", "link"):
        real = getattr(os, name)

        def noted(*arguments, name=name, real=real):
            seen.append("seal" if name == "pwrite" and arguments[2] == 0 else name)
            return real(*arguments)

        monkeypatch.setattr(os, name, noted)
    ledger = Ledger.create(path, GDPFilter(1))
    assert seen == ["pwrite", "seal", "fsync", "link", "fsync"]
    seen.clear()
    ledger.spend(STEP)
    assert seen == ["pwrite", "fsync", "seal", "fsync"]


def test_writes_that_come_in_pieces_arrive_whole(spent, monkeypatch):
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, place: real(file, data[:7], place))
    assert Ledger(spent).spend(STEP).hash == Ledger(spent).verify()


def test_an_entry_that_reads_otherwise_is_not_granted(spent, monkeypatch):
    before, real = Ledger(spent).entries(), os.pwrite
    monkeypatch.setattr(
        os,
        "pwrite",
        lambda file, data, place: real(file, data.replace(b"4", b"5") if place >= WIDTH else data, place),
    )
    with pytest.raises(LedgerError, match="reads otherwise; nothing was granted"):
        Ledger(spent).spend(STEP)
    monkeypatch.undo()
    assert Ledger(spent).entries() == before


def test_an_interrupted_grant_leaves_nothing(spent, monkeypatch):
    before, whole = Ledger(spent).entries(), spent.read_bytes()
    real, calls = os.fsync, itertools.count()

    def interrupted(file):
        if next(calls) == 1:  # of the seal: the last moment
            raise KeyboardInterrupt
        real(file)

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Ledger(spent).spend(STEP)
    assert Ledger(spent).entries() == before
    assert spent.read_bytes() == whole


def test_a_lock_held_for_too_long_is_named(spent):
    with spent.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(LedgerError, match=r"locked for 0\.05 seconds; nothing was granted"):
            Ledger(spent, wait=0.05)
        fcntl.flock(file, fcntl.LOCK_SH)  # readers do not keep readers out
        with pytest.raises(LedgerError, match=r"locked for 0\.05 seconds; nothing was granted"):
            Ledger(spent, wait=0.05).spend(STEP)
    assert Ledger(spent).spend(STEP).step == 4


class Slow(GDPFilter):
    """A filter in whose arithmetic somebody else is faster."""

    kind = "slow"
    others: ClassVar[list] = []

    def spend(self, step):
        if self.others:
            path, seconds = self.others.pop()
            Ledger(path, wait=0).spend(STEP)  # nobody keeps it locked
            time.sleep(seconds)
        super().spend(step)


@pytest.mark.parametrize("seconds", [0, 0.1])
def test_the_cost_of_a_step_is_computed_while_nobody_waits(path, seconds):
    ledger = Ledger.create(path, Slow(1))
    Slow.others[:] = [(path, seconds), (path, seconds), (path, seconds)] if seconds else [(path, seconds)]
    with pytest.raises(BudgetExceeded):
        ledger.spend(Gaussian(noise_multiplier=1.02))  # fits before, and not after
    assert not Slow.others or seconds
    Slow.others.clear()
    steps = ledger.steps
    assert ledger.spend(STEP).step == steps + 1
    assert ledger.verify() == ledger.head


# Names of one file.


def test_two_links_are_one_budget(spent, tmp_path):
    (tmp_path / "hard").hardlink_to(spent)
    (tmp_path / "soft").symlink_to(spent)
    names = itertools.cycle([spent, tmp_path / "hard", tmp_path / "soft"])
    granted = 0
    while not Ledger(next(names)).would_exceed(STEP):
        Ledger(next(names)).spend(STEP)
        granted += 1
    assert granted == 13  # 1/16 + 1/25 + 1/36 + 13/16 <= 1
    assert {Ledger(next(names)).verify() for _ in range(3)} == {Ledger(spent).head}


@pytest.mark.slow
def test_a_file_that_was_killed_under_one_name_goes_on_under_another(spent, tmp_path):
    whole, other = spent.read_bytes(), tmp_path / "other"
    for moment in itertools.count():
        spent.write_bytes(whole)
        killed = struck(lambda: Ledger(spent).spend(STEP), CALLS, moment, torn=moment % 2 == 1)
        spent.rename(other)
        step = Ledger(other).spend(STEP).step
        other.rename(spent)  # and back
        assert Ledger(spent).spend(STEP).step == step + 1
        assert Ledger(spent).verify()
        if not killed:
            break


def test_a_file_replaced_while_a_process_waits_is_not_spent_from(spent, tmp_path, monkeypatch):
    copy, real = tmp_path / "copy", store.Store._lock
    Ledger(spent).backup(copy)

    def replaced(self, file, *, exclusive):
        if exclusive:
            copy.replace(spent)
        real(self, file, exclusive=exclusive)

    monkeypatch.setattr(store.Store, "_lock", replaced)
    with pytest.raises(LedgerError, match="was replaced"):
        Ledger(spent).spend(STEP)
    monkeypatch.undo()
    assert Ledger(spent).steps == 3


# Heads, copies and the first format.


def test_a_spend_may_insist_on_the_head_it_knows(spent):
    ledger = Ledger(spent)
    known, whole = ledger.head, spent.read_bytes()
    entry = ledger.spend(STEP, head=f" {known.upper()}\n")
    for wrong in (known, "", "0" * 64):
        with pytest.raises(LedgerError, match="nothing was granted"):
            ledger.spend(STEP, head=wrong)
    assert ledger.head == entry.hash
    spent.write_bytes(whole)  # put back to an earlier state
    with pytest.raises(LedgerError, match="put back"):
        ledger.spend(STEP, head=entry.hash)
    assert spent.read_bytes() == whole


def test_of_those_who_know_one_head_one_is_granted(path):
    ledger = Ledger.create(path, GDPFilter(1))
    head, granted, refused = ledger.head, [], []

    def claim():
        try:
            granted.append(ledger.spend(STEP, head=head))
        except LedgerError:
            refused.append(1)

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(granted), len(refused), ledger.steps) == (1, 7, 1)


def test_ledgers_know_themselves_from_others(spent, tmp_path):
    Ledger(spent).backup(tmp_path / "copy")
    other = Ledger.create(tmp_path / "other", GDPFilter(1))
    assert Ledger(tmp_path / "copy").identity == Ledger(spent).identity == Ledger(spent).entries()[0].hash
    assert other.identity != Ledger(spent).identity
    assert len(other.last.mechanism["ledger"]) == 32
    assert other.last.mechanism != Ledger(spent).entries()[0].mechanism


def test_a_backup_is_the_ledger_as_it_was(spent, tmp_path):
    copy = tmp_path / "copy"
    spent.write_bytes(spent.read_bytes() + b"[4,")  # a grant that was killed is no part of it
    assert Ledger(spent).backup(copy) == Ledger(spent).head == Ledger(copy).verify()
    assert copy.read_bytes() == spent.read_bytes()[:-3]
    with pytest.raises(LedgerError, match=r"copy: exists already"):
        Ledger(spent).backup(copy)
    last = Ledger(spent).spend(STEP)
    with pytest.raises(LedgerError, match="no entry carries"):
        Ledger(copy).verify(head=last.hash)
    rows = lines(spent)
    put(spent, [rows[0], *rows[2:]])
    with pytest.raises(LedgerError, match=re.escape(f"{spent}: ")):
        Ledger(spent).backup(tmp_path / "broken")
    assert sorted(tmp_path.iterdir()) == [spent, copy]


def test_a_ledger_is_read_by_its_owner_alone(spent, tmp_path):
    Ledger(spent).backup(tmp_path / "copy")
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o600}


def test_a_ledger_of_the_first_format_is_named_and_written_anew(path, tmp_path):
    filter_, first = GDPFilter(1), replace(Entry.following(None, None, GDPFilter(1)), mechanism=None)
    entries = [first]
    for _ in range(3):
        filter_.spend(STEP)
        entries.append(Entry.following(entries[-1], STEP, filter_))
    entries, old = chained(entries), tmp_path / "old"
    first_format(
        old, entries, "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries WHERE step > 0; END"
    )
    for act in (lambda: Ledger(old), lambda: Ledger(old).spend(STEP)):
        with pytest.raises(LedgerError, match=r"first format.*Ledger\.convert"):
            act()
    found = Ledger.convert(old, path)
    assert found.entries() == entries
    assert found.verify(head=entries[2].hash) == entries[-1].hash
    assert found.spend(STEP).step == 4
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.convert(old, path)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM entries WHERE step = 1",
        "UPDATE entries SET time = '' WHERE step = 0",
        "DELETE FROM entries",
    ],
)
def test_a_ledger_of_the_first_format_that_was_edited_is_not_converted(path, tmp_path, change):
    filter_ = GDPFilter(1)
    first = Entry.following(None, None, GDPFilter(1))
    filter_.spend(STEP)
    second = Entry.following(first, STEP, filter_)
    filter_.spend(STEP)
    first_format(tmp_path / "old", chained([first, second, Entry.following(second, STEP, filter_)]), change)
    with pytest.raises(LedgerError, match=r"edited|out of place|no entries"):
        Ledger.convert(tmp_path / "old", path)
    assert not path.exists()


# The chain.


def test_the_chain_is_what_its_page_says(spent):
    previous = GENESIS
    for entry in Ledger(spent).entries():
        text = json.dumps([previous, *entry.row()[:-1]], separators=(",", ":"))
        previous = hashlib.sha256(text.encode()).hexdigest()
        assert entry.hash == previous


CHANGES = {0: 9, 1: "2020-01-01", 2: {}, 3: {}, 4: {}, 5: "ff"}


@pytest.mark.parametrize(("place", "value"), CHANGES.items())
@pytest.mark.parametrize("step", [0, 2, 3])
def test_an_edited_entry_is_found(spent, place, value, step):
    rows = lines(spent)
    row = json.loads(rows[step])
    row[place] = value
    rows[step] = json.dumps(row, separators=(",", ":")).encode() + b"\n"
    put(spent, rows)
    with pytest.raises(LedgerError, match=r"edited|out of place"):
        Ledger(spent).verify()
    with pytest.raises(LedgerError, match=r"edited|out of place"):
        Ledger(spent).entries()


def test_what_was_edited_at_the_end_is_not_built_upon(spent):
    rows = lines(spent)
    state = Ledger(spent).entries()[2].row()[4]
    rows[3] = rows[3].replace(Ledger(spent).last.row()[4].encode(), state.encode())
    put(spent, rows)
    with pytest.raises(LedgerError, match="edited"):
        Ledger(spent).spend(STEP)


def test_a_seal_that_speaks_of_another_entry_is_not_built_upon(spent):
    put(spent, lines(spent), head=Ledger(spent).entries()[2].hash)
    for act in (lambda: Ledger(spent), lambda: Ledger(spent).verify()):
        with pytest.raises(LedgerError, match="not the one its first line speaks of"):
            act()


@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_missing_entry_is_found(spent, step):
    rows = lines(spent)
    put(spent, rows[:step] + rows[step + 1 :])
    with pytest.raises(LedgerError, match=r"edited|out of place"):
        Ledger(spent).entries()


def test_truncation_is_found_with_the_last_known_head(spent):
    known = Ledger(spent).head
    put(spent, lines(spent)[:-1])
    assert Ledger(spent).verify() != known
    with pytest.raises(LedgerError, match=f"no entry carries the head {known}"):
        Ledger(spent).verify(head=known)


def test_an_older_head_stays_known_and_an_unknown_one_is_refused(spent):
    ledger = Ledger(spent)
    for entry in ledger.entries():
        assert ledger.verify(head=f" {entry.hash.upper()}\n") == ledger.head
    for unknown in ("", "0" * 64, "not a hash"):
        with pytest.raises(LedgerError, match="no entry carries"):
            ledger.verify(head=unknown)


def test_a_chain_written_anew_with_another_budget_or_false_totals_is_found(spent):
    entries = Ledger(spent).entries()

    def rewritten(index, **changes):
        return chained([replace(entry, **(changes if i == index else {})) for i, entry in enumerate(entries)])

    assert list(chain(rewritten(99))) == entries
    richer = {**entries[2].state, "parameters": {"mu": 2.0}}
    less = {**entries[2].state, "sums": [[math.nextafter(entries[1].state["sums"][0][0], 0)]]}
    swapped = {"state": entries[2].state}
    shown = {**entries[2].totals, "spent": entries[2].totals["spent"] * (1 + 1e-9)}
    for index, changes in (
        (2, {"totals": entries[1].totals}),
        (2, {"totals": shown}),
        (2, {"totals": {"spent": 0.0}}),
        (2, {"totals": {**entries[2].totals, "more": 1.0}}),
        (2, {"totals": {**entries[2].totals, "spent": [0.5, 0.5]}}),
        (2, {"totals": {**entries[2].totals, "spent": "much"}}),
        (2, {"state": richer}),
        (2, {"state": less, "totals": {**entries[2].totals, "spent": entries[1].totals["spent"]}}),
        (1, swapped),
        (2, {"state": {}}),
        (2, {"state": {**entries[2].state, "sums": [[1.7e308, 1.7e308]]}}),
    ):
        with pytest.raises(LedgerError, match=r"out of place|no filter"):
            list(chain(rewritten(index, **changes)))


def test_sums_never_fall_by_the_smallest_float():
    filter_ = GDPFilter(1)
    entries = [Entry.following(None, None, filter_)]
    for _ in range(2):
        filter_.spend(STEP)
        entries.append(Entry.following(entries[-1], STEP, filter_))
    (sum_,) = entries[1].state["sums"]
    state = {**entries[2].state, "sums": [[-5e-324, *sum_]]}
    entries[2] = replace(entries[2], state=state, totals=totals(Filter.from_state(state)))
    with pytest.raises(LedgerError, match="out of place"):
        list(chain(chained(entries)))


def test_another_libm_verifies_the_same_ledger(path, monkeypatch):
    ledger = Ledger.create(path, ResidueFilter(1, delta=0.1))
    for _ in range(3):
        ledger.spend(to.TotalVariation(0.01) @ to.Gaussian(0.1))
    ledger.spend(to.Gaussian(0.2))
    for name in ("log1p", "expm1"):
        real = getattr(np, name)
        monkeypatch.setattr(np, name, lambda x, real=real: np.nextafter(real(x), math.inf))
    assert totals(rebuilt(ledger.last)) != ledger.last.totals
    assert ledger.verify() == ledger.head


@pytest.mark.slow
def test_every_flipped_bit_is_found(spent):
    whole = spent.read_bytes()
    rng = random.Random(0)
    for at in range(len(whole)):
        spent.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
        with pytest.raises(LedgerError):
            Ledger(spent).verify()


@pytest.mark.slow
def test_every_cut_is_found(spent):
    whole = spent.read_bytes()
    for size in (*range(0, len(whole), 3), *range(len(whole) - 80, len(whole))):
        spent.write_bytes(whole[:size])
        for act in (lambda: Ledger(spent), lambda: Ledger(spent).spend(STEP)):
            with pytest.raises(LedgerError, match=r"cut off|first line|empty"):
                act()


@pytest.mark.slow
def test_what_a_spend_builds_upon_is_free_of_flips(spent):
    whole, last = spent.read_bytes(), lines(spent)[-1]
    for at in (*range(WIDTH), *range(len(whole) - len(last) - 68, len(whole))):
        spent.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        if at == len(whole) - len(last) - 68 or len(whole) - len(last) - 3 <= at < len(whole) - len(last):
            continue  # the quotes and the bracket around the hash before: verify finds those
        with pytest.raises(LedgerError):
            Ledger(spent).spend(STEP)


# Trouble with the file.


@pytest.mark.slow
def test_a_full_disk_grants_nothing(spent):
    script = f"""
import resource, sys
from tradeoff.errors import LedgerError
from tradeoff.filters import Ledger
from tradeoff.mechanisms import Gaussian
resource.setrlimit(resource.RLIMIT_FSIZE, ({spent.stat().st_size + 1000}, resource.RLIM_INFINITY))
ledger = Ledger({str(spent)!r})
try:
    while True:
        print(ledger.spend(Gaussian(noise_multiplier=100)).hash)
except LedgerError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    *granted, told = done.stdout.splitlines()
    assert "disk is full; nothing was granted" in told
    assert len(granted) >= 2
    assert [entry.hash for entry in Ledger(spent).entries()[4:]] == granted
    assert Ledger(spent).spend(Gaussian(noise_multiplier=100)).step == len(granted) + 4


def test_a_disk_too_full_for_a_ledger_leaves_nothing(path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(LedgerError, match="disk is full"):
        Ledger.create(path, GDPFilter(1))
    assert list(path.parent.iterdir()) == []


@pytest.fixture
def locked_folder():
    """Return a folder that this process may read and not write, with a ledger in it."""
    folder = Path(tempfile.mkdtemp())
    Ledger.create(folder / "budget.ledger", GDPFilter(1)).spend(STEP)
    folder.chmod(0o555)
    (folder / "budget.ledger").chmod(0o444)
    if os.geteuid() == 0:
        os.seteuid(65534)  # the superuser may write anywhere
        try:
            yield folder
        finally:
            os.seteuid(0)
    else:
        yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of this kind are POSIX")
def test_reading_needs_no_permission_to_write(locked_folder):
    ledger = Ledger(locked_folder / "budget.ledger")
    assert (ledger.steps, ledger.verify(), len(ledger.entries())) == (1, ledger.head, 2)
    for act in (lambda: ledger.spend(STEP), lambda: Ledger.create(locked_folder / "new", GDPFilter(1))):
        with pytest.raises(LedgerError, match=r"Permission denied") as caught:
            act()
        assert str(locked_folder) in str(caught.value)


def test_a_ledger_from_the_future_is_named(spent):
    whole = spent.read_bytes()
    for seal in (
        whole[:WIDTH].replace(b'ledger": 2', b'ledger": 3'),
        b'{"tradeoff ledger": 3, "anything": 5}'.ljust(WIDTH),
    ):
        spent.write_bytes(seal + whole[WIDTH:])
        with pytest.raises(
            LedgerError, match=r"has format 3, and this version reads format 2; use a newer version"
        ):
            Ledger(spent)


@pytest.mark.parametrize(
    "changes",
    [
        {"start": 0},
        {"start": "x"},
        {"start": 300.0},
        {"end": 10**60},
        {"end": 256},
        {"head": None},
        {"more": 1},
    ],
)
def test_a_seal_that_is_none_is_named(spent, changes):
    whole = spent.read_bytes()
    told = {**json.loads(whole[:WIDTH]), **changes}
    spent.write_bytes(json.dumps(told).ljust(WIDTH - 1).encode() + b"\n" + whole[WIDTH:])
    with pytest.raises(LedgerError, match=r"first line|cut off"):
        Ledger(spent)


@pytest.mark.parametrize("n", [10**400, 10**5000], ids=["400", "5000"])
def test_counts_beyond_the_floats_are_a_domain_error(spent, n):
    for act in (Ledger(spent).spend, Ledger(spent).would_exceed):
        try:
            assert act(Plan({STEP: n})) is True  # a great step that floats hold does not fit
        except (DomainError, BudgetExceeded) as refusal:
            assert "\n" not in str(refusal)  # noqa: PT017 - either is right
    assert Ledger(spent).steps == 3


def test_an_unknown_filter_is_named(spent):
    entry = Ledger(spent).last
    later = replace(entry, state={**entry.state, "kind": "of-tomorrow"})
    with pytest.raises(LedgerError, match="no filter this version knows"):
        rebuilt(later)


def test_other_files_are_named(tmp_path, spent):
    other = tmp_path / "other"
    sqlite3.connect(other).execute("CREATE TABLE t (x)").connection.close()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("a budget" * 1000, encoding="utf-8")
    (tmp_path / "empty").touch()
    (tmp_path / "half").write_bytes(spent.read_bytes()[:1000])
    cases = {
        "other": "no ledger",
        "text": "no ledger",
        "empty": "is empty",
        "half": "cut off",
        "pipe": "no regular file",
    }
    for name, told in {**cases, "missing": "No such file", ".": "a folder"}.items():
        with pytest.raises(LedgerError, match=told) as caught:
            Ledger(tmp_path / name)
        assert str(tmp_path) in str(caught.value)
    assert not (tmp_path / "missing").exists()


def test_a_ledger_is_never_overwritten(spent):
    before = Ledger(spent).entries()
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.create(spent, GDPFilter(5))
    assert Ledger(spent).entries() == before


def test_odd_names_are_files_all_the_same(tmp_path):
    path = tmp_path / "50% of #budget?mode=memory & more.ledger"
    Ledger.create(path, GDPFilter(1)).spend(STEP)
    assert Ledger(str(path)).steps == 1
    assert path.exists()


def test_grants_add_up_exactly(path):
    ledger = Ledger.create(path, GDPFilter(1))
    for _ in range(25):
        ledger.spend(Gaussian(noise_multiplier=5))
    assert ledger.would_exceed(Gaussian(noise_multiplier=1e4))
    assert sum(1 / Fraction(entry.mechanism["noise_multiplier"]) ** 2 for entry in ledger.entries()[1:]) == 1


class Unread(Mechanism):
    """Step that looks for a file of its own."""

    kind = "unread"

    def curve(self):
        raise FileNotFoundError(2, "No such file or directory", "/my/data")


def test_a_file_that_a_step_misses_is_not_the_ledger(spent):
    for ask in (Ledger(spent).spend, Ledger(spent).would_exceed):
        with pytest.raises(DomainError, match=r"/my/data.*nothing was granted"):
            ask(Unread())
    assert Ledger(spent).steps == 3


def test_a_seal_is_back_on_the_disk_before_its_line_is_cut(spent, monkeypatch):
    """Else a power cut between the two leaves a seal that speaks of a line that is gone."""
    seen, calls = [], itertools.count()
    for name in ("pwrite", "fsync", "ftruncate"):
        real = getattr(os, name)

        def noted(*arguments, name=name, real=real):
            seen.append("seal" if name == "pwrite" and arguments[2] == 0 else name)
            if name == "fsync" and next(calls) == 1:
                raise KeyboardInterrupt
            return real(*arguments)

        monkeypatch.setattr(os, name, noted)
    with pytest.raises(KeyboardInterrupt):
        Ledger(spent).spend(STEP)
    assert seen[-4:] == ["seal", "fsync", "ftruncate", "fsync"]
