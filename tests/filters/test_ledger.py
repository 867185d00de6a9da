import contextlib
import csv
import hashlib
import io
import json
import multiprocessing
import os
import signal
import sqlite3
import stat
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.filters import ledger_under_fire
from tradeoff.errors import BudgetExceeded, DomainError, KindError, LedgerError
from tradeoff.filters import BrownianMechanism, ExPost, ExPostFilter, GDPFilter, Ledger, ZCDPFilter
from tradeoff.filters.ledger import Entry
from tradeoff.mechanisms import Gaussian, Plan, SubsampledGaussian

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


def edit(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


@settings(max_examples=8)
@given(multipliers=st.lists(st.floats(1.0, 20.0), max_size=8))
def test_ledger_answers_as_its_filter(multipliers):
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
        again = Ledger(Path(folder) / "a")
        for name in ("spent", "remaining", "budget", "steps"):
            assert getattr(again, name) == getattr(filter_, name)
        assert again.guarantee() == filter_.guarantee()
        assert again.verify() == again.head


def test_entries_describe_the_granted_steps(path):
    ledger = Ledger.create(path, GDPFilter(2))
    steps = (STEP, to.Gaussian(0.5), Plan({STEP: 2}), SubsampledGaussian(noise_multiplier=9, sample_rate=0.5))
    assert [ledger.spend(step).mechanism for step in steps] == [
        {"kind": "gaussian", "noise_multiplier": 4.0},
        {"curve": "G_{0.5}"},
        {"adjacency": "add-remove", "mechanism": [{"kind": "gaussian", "noise_multiplier": 4.0, "count": 2}]},
        {"kind": "subsampled-gaussian", "noise_multiplier": 9.0, "sample_rate": 0.5},
    ]
    entries = ledger.entries()
    assert [entry.step for entry in entries] == [0, 1, 2, 3, 4]
    assert [entry.totals["budget"] for entry in entries] == [2.0] * 5
    assert all(a.time <= b.time and a.totals["spent"] < b.totals["spent"] for a, b in pairwise(entries))
    assert Ledger(path).filter.adjacency == "add-remove"
    ledger = Ledger.create(path.with_name("other"), ExPostFilter(1, 1e-6))
    assert ledger.spend(ExPost(0.5, 1e-7)).mechanism == {"ex-post": {"epsilon": 0.5, "delta": 1e-7}}


def test_sessions_pay_into_a_ledger_before_they_draw(path):
    session = BrownianMechanism(10.0, filter=Ledger.create(path, GDPFilter(1)), rng=1)
    session.run(lambda _: False, [16.0, 4.0, 1.0])
    with pytest.raises(BudgetExceeded):
        session.refine(0.5)
    assert Ledger(path).steps == len(session.releases) == 3


def test_create_refuses_a_spent_filter_and_an_existing_file(path, monkeypatch):
    used = GDPFilter(1)
    used.spend(STEP)
    for wrong in (used, STEP, 1.0, None):
        with pytest.raises(KindError, match="unspent"):
            Ledger.create(path, wrong)
    with monkeypatch.context() as patch:
        patch.setattr("tradeoff.filters.ledger._MARKS", {"max_page_count": 1})
        with pytest.raises(LedgerError, match="disk is full"):
            Ledger.create(path, GDPFilter(1))
    assert not path.exists()
    path.write_text("mine")
    places = {path: "exists already", path.parent / "folder" / "file": "no such file or folder"}
    for target, message in places.items():
        with pytest.raises(LedgerError, match=message):
            Ledger.create(target, GDPFilter(1))
    assert path.read_text() == "mine"


def test_export_and_backup_have_every_entry_and_hard_links_are_refused(spent, tmp_path):
    ledger = Ledger(spent)
    entries = ledger.entries()
    assert [Entry(**each) for each in json.loads(ledger.to_json())] == entries
    table = list(csv.DictReader(io.StringIO(ledger.to_csv())))
    assert [(int(row["step"]), row["hash"]) for row in table] == [(each.step, each.hash) for each in entries]
    assert [row["mechanism"] for row in table] == [each.name for each in entries]
    for name in ("budget", "spent", "remaining"):
        assert [float(row[name]) for row in table] == [each.totals[name] for each in entries]
    ledger = Ledger.create(tmp_path / "zcdp.ledger", ZCDPFilter(1, 1e-6))
    ledger.spend(Gaussian(noise_multiplier=10))
    _, row = csv.DictReader(io.StringIO(ledger.to_csv()))
    amounts = [float(row[name]) for name in ("spent_rho", "budget_rho", "remaining_delta")]
    assert amounts == [ledger.spent.rho, ledger.budget.rho, 0]
    previous = "0" * 64  # and each hash is of the one before and the text
    for entry in Ledger(spent).entries():
        parts = [entry.step, entry.time, entry.mechanism, entry.totals, entry.state]
        text = json.dumps(parts, separators=(",", ":"))
        assert entry.hash == hashlib.sha256((previous + text).encode()).hexdigest()
        previous = entry.hash
    assert stat.S_IMODE(spent.stat().st_mode) == 0o600
    ledger, copy = Ledger(spent), tmp_path / "copy"
    assert ledger.backup(copy) == ledger.head
    assert Ledger(copy).entries() == ledger.entries()
    assert Ledger(copy).identity == ledger.identity
    assert Ledger.create(tmp_path / "other", GDPFilter(1)).identity != ledger.identity
    with pytest.raises(LedgerError, match="exists already"):
        ledger.backup(copy)
    link = spent.with_name("link")
    link.hardlink_to(spent)
    for name in (spent, link):
        with pytest.raises(LedgerError, match="one hard link"):
            Ledger(name)
    link.unlink()
    link.symlink_to(spent)
    assert Ledger(link).spend(STEP).step == Ledger(spent).steps == 4


@pytest.mark.slow
def test_sixteen_processes_under_kill_9_lose_no_acknowledged_grant(tmp_path):
    counts = ledger_under_fire.run(tmp_path, kills=12)
    assert counts["killed"] > 0
    assert counts["grants"] >= counts["noted"] > 0


class Killed(sqlite3.Connection):
    """Connection that kills its process at a statement: just before, or just after it ran."""

    statement, after = "", False

    def execute(self, sql, *parameters):
        strike = sql.startswith(self.statement)
        if strike and not self.after:
            os.kill(os.getpid(), signal.SIGKILL)
        cursor = super().execute(sql, *parameters)
        if strike:
            os.kill(os.getpid(), signal.SIGKILL)
        return cursor


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", "INSERT", "COMMIT"])
def test_grant_killed_at_a_statement_is_whole_or_absent(spent, monkeypatch, statement, after):
    monkeypatch.setattr(Killed, "statement", statement)
    monkeypatch.setattr(Killed, "after", after)

    def child():
        connect = sqlite3.connect
        ledger = Ledger(spent)
        ledger.would_exceed = lambda _: False  # which reads, in a transaction of its own
        sqlite3.connect = lambda *args, **options: connect(*args, factory=Killed, **options)
        ledger.spend(STEP)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    granted = statement == "COMMIT" and after
    assert Ledger(spent).steps == (4 if granted else 3)
    Ledger(spent).verify()
    assert Ledger(spent).spend(STEP).step == (5 if granted else 4)
    assert [each.name for each in spent.parent.iterdir()] == [spent.name]  # no journal is left


def test_threads_that_share_a_ledger_never_overspend(path):
    ledger, granted = Ledger.create(path, GDPFilter(1)), []

    def spend(_):
        with contextlib.suppress(BudgetExceeded):
            granted.extend(ledger.spend(to.Gaussian(0.45)).step for _ in range(3))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(spend, range(4)))
    assert sorted(granted) == [1, 2, 3, 4]


def test_spend_is_refused_at_another_head_and_where_the_ledger_is_locked(spent):
    ledger = Ledger(spent)
    head = ledger.head
    entry = ledger.spend(STEP, head=f" {head.upper()} ")
    with pytest.raises(LedgerError, match="nothing was granted"):
        ledger.spend(STEP, head=head)
    assert ledger.head == entry.hash
    with closing(sqlite3.connect(spent, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"locked; nothing was granted"):
            Ledger(spent, wait=0).spend(STEP)
        assert Ledger(spent).steps == 4  # readers do not wait for a writer
    with pytest.raises(DomainError, match="wait"):
        Ledger(spent, wait=-1)


def test_ledger_unknown_filter_or_other_files_raise_one_line(spent, tmp_path):
    edit(spent, "DELETE FROM entries WHERE step > 0")
    with closing(sqlite3.connect(spent)) as db:
        (text,) = db.execute("SELECT entry FROM entries").fetchone()
    text = text.replace('"gdp"', '"later"')
    digest = hashlib.sha256(("0" * 64 + text).encode()).hexdigest()
    edit(spent, f"UPDATE entries SET entry = '{text}', hash = '{digest}'")
    with pytest.raises(LedgerError, match="cannot be read by this version"):
        Ledger(spent)
    text, empty, other, pipe = (tmp_path / name for name in ("text", "empty", "other", "pipe"))
    text.write_text("budget " * 500)
    empty.touch()
    edit(other, "CREATE TABLE entries (step, entry, hash)")
    os.mkfifo(pipe)
    cases = {text: "not a database", empty: "not a ledger", other: "not a ledger", pipe: "regular file"}
    for file, message in (cases | {tmp_path: "regular file", tmp_path / "missing": "no such file"}).items():
        with pytest.raises(LedgerError, match=message) as caught:
            Ledger(file)
        assert str(file) in str(caught.value)
        assert "\n" not in str(caught.value)
    edit(spent, "PRAGMA user_version = 3")
    with pytest.raises(LedgerError, match="another version"):
        Ledger(spent)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET entry = replace(entry, ':5.0', ':50.0') WHERE step = 2",
        "UPDATE entries SET entry = '[]' WHERE step = 2",
        "UPDATE entries SET hash = (SELECT hash FROM entries WHERE step = 1) WHERE step = 2",
        *(f"DELETE FROM entries WHERE step = {k}" for k in (0, 1, 2)),
        "UPDATE entries SET step = 9 WHERE step = 3",
        "DELETE FROM entries",
    ],
)
def test_verify_edited_or_missing_entry_raises(spent, statement):
    ledger = Ledger(spent)
    edit(spent, statement)
    with pytest.raises(LedgerError, match=r"edited|cannot be read|no entries"):
        ledger.verify()
    edit(spent, "UPDATE entries SET entry = replace(entry, ':6.0', ':60.0') WHERE step >= 3")
    with pytest.raises(LedgerError, match=r"edited|no entries"):
        ledger.spend(STEP)


def test_verify_truncated_or_damaged_ledger_raises(spent):
    ledger = Ledger(spent)
    first, head = ledger.entries()[1].hash, ledger.head
    assert ledger.verify(head=first) == head
    edit(spent, "DELETE FROM entries WHERE step = 3")
    assert ledger.verify() != head
    with pytest.raises(LedgerError, match="no entry has the head"):
        ledger.verify(head=head)
    data = bytearray(spent.read_bytes())
    data[4096:8192] = bytes(4096)
    spent.write_bytes(data)
    with pytest.raises(LedgerError, match=r"malformed|damaged"):
        Ledger(spent).verify()
