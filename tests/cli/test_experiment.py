import json
from functools import partial
from importlib import import_module

import pytest

from examples.relative_error import METHODS
from tests.cli.outcomes import refused


@pytest.fixture
def run(run):
    flags = ("--table", "doctor-visits", "--runs", "2", "--error", "0.3")
    return partial(run, "experiment", "relative-error", *flags)


@pytest.mark.slow
def test_relative_error_prints_a_table_and_draws(run, tmp_path):
    figure = tmp_path / "figure.svg"
    code, out, err = run("--plot", figure)
    assert (code, err) == (0, "")
    for method in METHODS:
        assert method in out
    assert "mean of 2 runs with 95% intervals" in out
    drawn = figure.read_text(encoding="utf-8")
    assert drawn.startswith("<?xml")
    assert "ε = 1, δ = $10^{-6}$, relative error 0.3" in drawn


@pytest.mark.slow
def test_relative_error_json_repeats_with_its_seed(run):
    first, again = (json.loads(run("--json", "--seed", 3)[1]) for _ in range(2))
    assert first == again
    assert first["settings"] == {"epsilon": 1.0, "delta": 1e-6, "error": 0.3, "runs": 2, "seed": 3}
    rows = first["tables"]["doctor-visits"]
    assert [row["method"] for row in rows] == list(METHODS)
    assert all(
        set(row) == {"method", "released", "released_half_width", "accurate", "accurate_half_width"}
        for row in rows
    )


@pytest.mark.parametrize(
    "flags",
    [
        ["--epsilon", "0"],
        ["--delta", "1"],
        ["--error", "nan"],
        ["--runs", "0"],
        ["--seed", "-1"],
        ["--plot", "a.txt"],
    ],
)
def test_relative_error_out_of_range_is_refused(run, flags):
    refused(run(*flags))


def test_relative_error_without_examples_names_their_place(run, monkeypatch, tmp_path):
    monkeypatch.setattr(import_module("tradeoff.cli.experiment"), "EXAMPLES", tmp_path)
    assert "examples/relative_error.py" in refused(run())
