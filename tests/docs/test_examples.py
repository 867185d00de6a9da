"""The command of an example: its table as JSON, its figure, its refusals."""

import json

import pytest

from examples.relative_error import METHODS, app
from tradeoff.errors import DomainError


def run(*words):
    function, given, _ = app.parse_args([*words], exit_on_error=False, print_error=False)
    function(*given.args, **given.kwargs)


@pytest.mark.slow
def test_relative_error_repeats_with_its_seed_and_draws(capsys, tmp_path):
    flags = "--table", "doctor-visits", "--runs", "2", "--error", "0.3", "--seed", "3"
    run(*flags, "--json")
    first = json.loads(capsys.readouterr().out)
    assert first["settings"] == {"epsilon": 1.0, "delta": 1e-6, "error": 0.3, "runs": 2, "seed": 3}
    rows = first["tables"]["doctor-visits"]
    assert [row["method"] for row in rows] == list(METHODS)
    run(*flags, "--plot", str(tmp_path / "figure.svg"))
    out = capsys.readouterr().out
    assert all(f"{row['method']}" in out and f"{row['released']:.1f}" in out for row in rows)
    assert "relative error 0.3" in (tmp_path / "figure.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("flag", ["--epsilon=0", "--delta=1", "--error=nan", "--runs=0", "--seed=-1"])
def test_relative_error_out_of_range_is_refused(flag):
    with pytest.raises(DomainError):
        run(flag)
