import csv
import io
import json
from functools import partial

import pytest

from tests.cli.outcomes import refused
from tradeoff.curves.hooks import PAIR, limited
from tradeoff.filters import GDPFilter, Ledger, PureDPFilter, RhoFilter, ZCDPFilter
from tradeoff.mechanisms import Gaussian, Plan


@pytest.fixture
def run(run):
    return partial(run, "ledger")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "budget.ledger"


FLAGS = {"--mu 1": GDPFilter(1), "--rho 0.5": RhoFilter(0.5), "--epsilon 1": PureDPFilter(1)}


@pytest.mark.parametrize("flags", [*FLAGS, "--epsilon 1 --delta 1e-6"])
def test_init_creates_the_filter_of_the_flags_and_refuses_several(run, file, flags):
    for wrong in ("", "--mu 1 --rho 1", "--delta 1e-6", "--mu 1 --delta 1e-6"):
        assert "the budget must be one of --mu" in refused(run("init", file, *wrong.split()))
        assert not file.exists()
    code, out, err = run("init", file, *flags.split())
    assert (code, err) == (0, "")
    assert Ledger(file).filter.state() == FLAGS.get(flags, ZCDPFilter(1, 1e-6)).state()
    assert out.splitlines()[-1] == f"head {Ledger(file).head}"


def test_spend_takes_the_keys_of_plan_files(run, file):
    run("init", file, "--mu", 1)
    for flags in (
        ["--kind", "gaussian", "--noise-multiplier", "10"],
        ["--kind", "subsampled-gaussian", "--noise-multiplier=8", "--sample-rate=0.5"],
        ["--kind", "gaussian", "--noise-multiplier", "10", "--count", "3"],
    ):
        code, out, err = run("spend", file, *flags)
        assert (code, err) == (0, "")
        assert ("the gain of sampling is not counted here" in out) == ("subsampled-gaussian" in flags)
    assert out.splitlines()[1].startswith("step 3: spent ")
    expected, once, half = GDPFilter(1), Gaussian(noise_multiplier=10), Gaussian(noise_multiplier=8)
    for step in (once, half, Plan({once: 3})):  # half a sample of a Gaussian is charged as all of it
        expected.spend(step)
    assert Ledger(file).spent == expected.spent
    kinds = [entry.mechanism.get("kind") for entry in Ledger(file).entries()[1:]]
    assert kinds == ["gaussian", "subsampled-gaussian", None]


def test_status_and_steps_show_the_promise_and_each_step(run, file):
    run("init", file, "--epsilon", 1, "--delta", "1e-6")
    run("spend", file, "--kind", "gaussian", "--noise-multiplier", 10)
    run("spend", file, "--kind", "gaussian", "--noise-multiplier", 20, "--count", 3)
    first, _, promise, _ = run("status", file)[1].splitlines()
    assert "zcdp filter of epsilon = 1, delta = 1e-06" in first
    assert promise.endswith(", 50.1 % of its rho spent: (1, 1e-06)-DP")
    code, (names, *lines), err = map(str.splitlines, map(str, run("steps", file)))
    assert (code, err) == (["0"], [])
    assert names.split()[:3] == ["step", "time", "mechanism"]
    assert "  gaussian(noise_multiplier=10.0)      rho = 0.005 (to 1e-13), delta = 0" in lines[0]
    assert "  3 x gaussian(noise_multiplier=20.0)  rho = 0.00875 (to 1e-13), delta = 0" in lines[1]
    file = file.with_name("rho")
    run("init", file, "--rho", 1)
    Ledger(file).spend(limited(Gaussian(noise_multiplier=3).curve(), PAIR, ["one"]))
    code, out, err = run("status", file)
    assert (code, err) == (0, "")
    spent, left = "spent rho = 0.05555555556, delta = 0", "remaining rho = 0.9444444444, delta = 0"
    assert f"\nstep 1: {spent}, {left}\n" in out
    assert " included: 1-zCDP, within a factor of 1 + 1e-12; assumes: one\n" in out
    result = json.loads(run("status", file, "--json")[1])
    assert list(result) == ["file", "filter", "steps", "budget", "spent", "remaining", "time", "head"]
    assert result["spent"]["rho"] >= 1 / 18
    assert result["head"] == Ledger(file).head


def test_verify_and_spend_take_a_head(run, file):
    run("init", file, "--mu", 1)
    first = Ledger(file).head
    spend = ("spend", file, "--kind", "gaussian", "--noise-multiplier", 3, "--head", first)
    assert run(*spend)[0] == 0
    assert "head must be" in refused(run(*spend))
    assert Ledger(file).steps == 1
    written = f"{file}: every entry is as it was written\nhead {Ledger(file).head}\n"
    assert run("verify", file)[:2] == (0, written)
    assert run("verify", file, "--head", first)[0] == 0
    assert "no entry has the head" in refused(run("verify", file, "--head", "0" * 64))


def test_backup_and_export_hold_every_entry_and_other_files_are_refused(run, file, tmp_path):
    run("init", file, "--mu", 1)
    run("spend", file, "--kind", "gaussian", "--noise-multiplier", 3)
    copy = tmp_path / "copy"
    assert run("backup", file, copy)[:2] == (0, f"{copy}: a copy of {file}\nhead {Ledger(file).head}\n")
    assert Ledger(copy).entries() == Ledger(file).entries()
    assert "exists already" in refused(run("backup", file, copy))
    run("spend", file, "--kind", "laplace", "--scale", 20)
    entries = json.loads(run("export", file)[1])
    table = list(csv.DictReader(io.StringIO(run("export", file, "--format", "csv")[1])))
    hashes = [entry.hash for entry in Ledger(file).entries()]
    assert [entry["hash"] for entry in entries] == [row["hash"] for row in table] == hashes
    assert entries[2]["mechanism"] == {"kind": "laplace", "scale": 20.0, "sensitivity": 1.0}
    assert list(table[0]) == ["step", "time", "mechanism", "budget", "spent", "remaining", "hash"]
    assert table[2]["mechanism"] == "laplace(scale=20.0, sensitivity=1.0)"
    (tmp_path / "text").write_text("budget " * 500, encoding="utf-8")
    for command in ("status", "verify", "export"):
        remedy = "no such file; create a ledger with tradeoff ledger init"
        assert remedy in refused(run(command, tmp_path / "missing"))
        assert "file is not a database" in refused(run(command, tmp_path / "text"))
    assert "no such file or folder" in refused(run("init", tmp_path / "missing" / "file", "--mu", 1))
    assert "exists already" in refused(run("init", tmp_path, "--mu", 1))
