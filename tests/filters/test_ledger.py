import csv
import hashlib
import io
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tradeoff.errors import BudgetExceeded, KindError, LedgerError
from tradeoff.filters import BrownianMechanism, ExPost, ExPostFilter, GDPFilter, Ledger, RhoFilter, UnifiedFilter, ZCDPFilter
from tradeoff.filters.ledger import store
from tradeoff.filters.ledger.entries import GENESIS, Entry, _hash, chain, rebuilt
from tradeoff.mechanisms import DiscreteGaussian, Gaussian, Laplace, Plan, SubsampledGaussian

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


def raw(path, *statements):
    """Do to the file what the library would not."""
    with sqlite3.connect(path, isolation_level=None) as db:
        for name in ("entries_follow", "entries_stay", "entries_remain"):
            db.execute(f"DROP TRIGGER IF EXISTS {name}")
        for statement in statements:
            db.execute(statement)
    db.close()


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
    assert [(int(row["step"]), row["hash"]) for row in table] == [(entry.step, entry.hash) for entry in entries]
    assert [json.loads(row["mechanism"]) for row in table] == [entry.mechanism for entry in entries]


# Concurrency and crashes.


def test_sixteen_processes_under_kill_9():
    command = [sys.executable, str(FIRE), "--kills", "20", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=FIRE.parents[2], timeout=300)  # noqa: S603 - our own
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


def test_an_interrupted_grant_leaves_nothing(spent, monkeypatch):
    def interrupted(db, row):
        store.append(db, row)
        raise KeyboardInterrupt

    before = Ledger(spent).entries()
    monkeypatch.setattr("tradeoff.filters.ledger.ledger.append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Ledger(spent).spend(STEP)
    assert Ledger(spent).entries() == before


def test_a_lock_held_for_too_long_is_named(spent):
    db = sqlite3.connect(spent, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match=r"locked for 0\.05 seconds; nothing was granted"):
        Ledger(spent, wait=0.05).spend(STEP)
    db.execute("ROLLBACK")
    db.close()
    assert Ledger(spent).spend(STEP).step == 4


# The chain.


def test_the_chain_is_what_its_page_says(spent):
    previous = GENESIS
    for entry in Ledger(spent).entries():
        text = json.dumps([previous, *entry.row()[:-1]], separators=(",", ":"))
        previous = hashlib.sha256(text.encode()).hexdigest()
        assert entry.hash == previous


@pytest.mark.parametrize("change", ["time = '2020-01-01'", "mechanism = '{}'", "totals = '{}'", "state = '{}'", "hash = 'ff'", "step = 9"])
@pytest.mark.parametrize("step", [0, 2, 3])
def test_an_edited_entry_is_found(spent, change, step):
    raw(spent, f"UPDATE entries SET {change} WHERE step = {step}")  # noqa: S608 - our own text
    with pytest.raises(LedgerError, match=r"edited|out of place|guards"):
        Ledger(spent).verify()
    with pytest.raises(LedgerError, match=r"edited|out of place"):
        Ledger(spent).entries()


def test_what_was_edited_at_the_end_is_not_built_upon(spent):
    state = json.dumps(GDPFilter(1).state())
    raw(spent, f"UPDATE entries SET state = '{state}' WHERE step = 3")  # noqa: S608 - our own text
    with pytest.raises(LedgerError, match="edited"):
        Ledger(spent).spend(STEP)


@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_missing_entry_is_found(spent, step):
    raw(spent, f"DELETE FROM entries WHERE step = {step}")  # noqa: S608 - our own text
    with pytest.raises(LedgerError, match=r"edited|out of place"):
        Ledger(spent).entries()


def test_truncation_is_found_with_the_last_known_head(spent):
    known = Ledger(spent).head
    raw(spent, "DELETE FROM entries WHERE step = 3", *(store._TABLE[name] for name in store._TABLE if name != "entries"))
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
        previous, rows = GENESIS, []
        for i, entry in enumerate(entries):
            row = replace(entry, **(changes if i == index else {})).row()
            previous = _hash(previous, row)
            rows.append(row._replace(hash=previous))
        return rows

    assert list(chain(rewritten(99))) == entries
    richer = {**entries[2].state, "parameters": {"mu": 2.0}}
    swapped = {"state": entries[2].state}
    for index, changes in ((2, {"totals": entries[1].totals}), (2, {"state": richer}), (1, swapped), (2, {"state": {}})):
        with pytest.raises(LedgerError, match=r"out of place|no filter"):
            list(chain(rewritten(index, **changes)))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET time = '' WHERE step = 1",
        "DELETE FROM entries",
        "INSERT INTO entries SELECT 7, time, mechanism, totals, state, hash FROM entries WHERE step = 1",
        "INSERT OR REPLACE INTO entries SELECT 1, time, mechanism, totals, state, hash FROM entries WHERE step = 2",
    ],
)
def test_the_table_only_grows(spent, statement):
    db = sqlite3.connect(spent)
    with pytest.raises(sqlite3.IntegrityError, match=r"only grows|in a row"):
        db.execute(statement)
    db.close()
    Ledger(spent).verify()


def test_guards_taken_away_are_missed(spent):
    raw(spent)
    with pytest.raises(LedgerError, match="guards"):
        Ledger(spent).verify()


def test_a_flipped_byte_is_found_or_changes_nothing(spent, tmp_path):
    before, whole = Ledger(spent).entries(), spent.read_bytes()
    rng = random.Random(0)  # noqa: S311 - any bytes will do
    pages = [rng.randrange(len(whole)) for _ in range(120)]
    content = [at for entry in before for at in _span(whole, entry.hash) + _span(whole, entry.time)]
    found = 0
    for at in [*range(0, 100, 3), *pages, *rng.sample(content, 60)]:
        copy = tmp_path / "flipped"
        copy.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1 :])
        try:
            Ledger(copy).verify()
            assert Ledger(copy).entries() == before
        except LedgerError:
            found += 1
        for tail in ("-wal", "-shm"):
            Path(f"{copy}{tail}").unlink(missing_ok=True)
    assert found >= 60  # every byte inside an entry, at least


def _span(whole, text):
    start = whole.index(text.encode())
    return list(range(start, start + len(text)))


def test_a_byte_flipped_inside_an_entry_is_always_found(spent, tmp_path):
    whole = spent.read_bytes()
    for entry in Ledger(spent).entries():
        for text in (entry.hash, entry.time, *entry.row()[2:5]):
            for at in _span(whole, text)[:: max(1, len(text) // 3)]:
                copy = tmp_path / "flipped"
                copy.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
                with pytest.raises(LedgerError):
                    Ledger(copy).verify()


# Trouble with the file.


def test_a_full_disk_grants_nothing(spent, monkeypatch):
    connect = sqlite3.connect

    def full(*args, **kwargs):
        db = connect(*args, **kwargs)
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {pages}")
        return db

    ledger = Ledger(spent)
    monkeypatch.setattr(store.sqlite3, "connect", full)
    granted = []
    with pytest.raises(LedgerError, match="disk is full; nothing was granted"):
        granted.extend(ledger.spend(Gaussian(noise_multiplier=100)) for _ in range(20))  # more than a page holds
    monkeypatch.undo()
    assert ledger.entries()[4:] == granted
    assert ledger.spend(Gaussian(noise_multiplier=100)).step == ledger.steps == len(granted) + 4


def test_a_disk_too_full_for_a_ledger_leaves_nothing(path, monkeypatch):
    connect = sqlite3.connect

    def full(*args, **kwargs):
        db = connect(*args, **kwargs)
        db.execute("PRAGMA max_page_count = 1")
        return db

    monkeypatch.setattr(store.sqlite3, "connect", full)
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
def test_a_read_only_folder_is_named(locked_folder):
    for act in (lambda: Ledger(locked_folder / "budget.ledger"), lambda: Ledger.create(locked_folder / "new", GDPFilter(1))):
        with pytest.raises(LedgerError, match=r"must be writable|cannot be created: Permission denied") as caught:
            act()
        assert str(locked_folder) in str(caught.value)


def test_a_ledger_from_the_future_is_named(spent):
    raw(spent, "PRAGMA user_version = 2")
    with pytest.raises(LedgerError, match=r"has schema 2, and this version reads schema 1; use a newer version"):
        Ledger(spent)


def test_an_unknown_filter_is_named(spent):
    entry = Ledger(spent).last
    later = replace(entry, state={**entry.state, "kind": "of-tomorrow"})
    with pytest.raises(LedgerError, match="no filter this version knows"):
        rebuilt(later)


def test_other_files_are_named(tmp_path, spent):
    other = tmp_path / "other"
    sqlite3.connect(other).execute("CREATE TABLE t (x)").connection.close()
    (tmp_path / "text").write_text("a budget" * 1000, encoding="utf-8")
    (tmp_path / "empty").touch()
    (tmp_path / "half").write_bytes(spent.read_bytes()[:5000])
    cases = {"other": "no ledger", "text": "not an SQLite file", "empty": "empty: its creation was cut short", "half": "corrupt|edited"}
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
