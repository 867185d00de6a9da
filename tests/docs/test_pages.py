import doctest
import inspect
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from scipy.stats import norm

import tradeoff as to
from examples.relative_error import METHODS, app
from tradeoff.errors import DomainError
from tradeoff.mechanisms import KINDS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PIPELINE = (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


SLOW = {"adaptive", "audit", "mechanisms", "not-covered", "reduction", "sampled-mechanisms", "your-own-pair"}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.name, marks=[pytest.mark.slow] * (page.stem in SLOW)) for page in PAGES],
)
def test_pages_run_as_written(page):
    test = doctest.DocTestParser().get_doctest(page.read_text(encoding="utf-8"), {}, page.name, str(page), 0)
    result = doctest.DocTestRunner(verbose=False).run(test)
    assert result.failed == 0
    assert result.attempted > 0 or not blocks(page.read_text(encoding="utf-8"), "python")


def test_code_in_the_tables_of_the_cheat_sheet_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    m, f, g = to.mechanisms, to.Gaussian(1), to.Laplace(1)
    numbers = {"alpha": 0.1, "fpr": 0.1, "epsilon": 1.0, "delta": 1e-5, "mu": 1.0, "prior": 0.5, "order": 2.0}
    words = numbers | {"to": to, "m": m, "f": f, "g": g, "n": 3, "k": 2, "p": 0.1}
    words |= {"plan": to.Plan({m.Laplace(scale=1): 1}), "function": lambda sigma, steps: sigma * steps}
    words["axes"] = Figure().subplots()
    pairs = {"from_masses": {"p": [0.5, 0.5], "q": [0.2, 0.8]}, "from_scipy": {"p": norm(), "q": norm(1)}}
    pairs |= {"PiecewiseLinear": {"alpha": [0, 0.5, 1], "beta": [1, 0.3, 0]}}
    page = (ROOT / "docs" / "cheat-sheet.md").read_text(encoding="utf-8")
    cells = re.findall(r"`([^`]+)`", "".join(re.findall(r"^\|.*\n", page, flags=re.MULTILINE)))
    assert len(cells) > 40
    for code in cells:
        if not re.match(r"\w+=", code):  # a keyword of the call next to it
            eval(code, words | pairs.get(code.removeprefix("to.").partition("(")[0], {}))


def test_the_readme_opens_with_code_a_figure_and_two_commands_and_has_the_version():
    assert len(blocks(README, "python")[0].splitlines()) <= 12
    first, second = blocks(README, "sh")
    figure = re.search(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert (ROOT / figure[1]).read_text(encoding="utf-8").startswith("<?xml")
    assert to.spec.load(ROOT / re.search(r"tradeoff compose (\S+) --plot (\S+)", first)[1]).plan.mechanisms
    assert to.spec.loads(blocks(README, "toml")[0]).plan.mechanisms
    assert second.strip().endswith("-m pytest -q")
    assert second.strip() in PIPELINE.splitlines()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version = {{{version}}}," in README
    assert len((ROOT / "VISION.md").read_text(encoding="utf-8").splitlines()) == 3


def test_nox_runs_the_pipeline_kinds_are_complete_and_imports_are_light():
    nox = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    tools = re.findall(r"^\.venv/bin/(?!pip)(.+)$", PIPELINE, flags=re.MULTILINE)
    assert tools
    for tool in tools:
        words = ", ".join(f'"{word}"' for word in tool.split())
        assert f"session.run({words})" in nox
    page = (ROOT / "docs" / "plan-files.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", page, flags=re.MULTILINE))
    assert set(rows) == set(KINDS)
    for kind, row in rows.items():
        keys = {key.split(" = ")[0] for key in re.findall(r"`([^`]+)`", row)}
        assert keys == set(inspect.signature(KINDS[kind]).parameters)
    heavy = ("matplotlib", "sympy", "rich", "cyclopts")
    command = [sys.executable, "-c", f"import sys, tradeoff; print([m for m in {heavy} if m in sys.modules])"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"


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
