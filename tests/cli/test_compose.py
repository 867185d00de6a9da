import csv
import io
import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import tradeoff as to
from tests.cli.outcomes import refused
from tradeoff.mechanisms import KINDS

EXAMPLES = Path(__file__).parents[2] / "examples"
PLAN = """
title = "one [small] plan"
delta = [1e-5, 1e-6]
alpha = 0.1
[[mechanism]]
kind = "gaussian"
noise_multiplier = 2
count = 4
"""


def test_compose_json_has_its_documented_shape_and_csv_agrees(run, plan):
    code, out, err = run("compose", plan, "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert list(result) == ["tradeoff", "plan", "tol", "epsilon", "delta", "beta", "exact", "mu"]
    assert (result["tradeoff"], result["tol"]) == (version("tradeoff"), None)
    assert result["mu"] == {"failure": 0.0, "lower": 1.0, "upper": 1.0}  # Gaussian noise: exact, and unasked
    assert result["plan"] == {
        "file": str(plan),
        "title": "one [small] plan",
        "adjacency": "add-remove",
        "mechanism": [{"kind": "gaussian", "noise_multiplier": 2.0, "count": 4}],
    }
    lower, upper = to.Gaussian(1).bounds.epsilon(1e-5)
    assert result["epsilon"][0] == {"delta": 1e-5, "lower": lower, "upper": upper}
    assert [list(each) for each in result["epsilon"]] == [["delta", "lower", "upper"]] * 2
    assert [each["delta"] for each in result["epsilon"]] == [1e-5, 1e-6]
    assert result["delta"] == []
    assert [list(each) for each in result["beta"]] == [["alpha", "lower", "upper"]]
    rows = list(csv.DictReader(io.StringIO(run("compose", plan, "--csv")[1])))
    assert [row["answered"] for row in rows] == ["epsilon", "epsilon", "beta", "mu"]
    answers = [*result["epsilon"], *result["beta"], result["mu"]]
    for row, answer in zip(rows, answers, strict=True):
        assert [float(row[key]) for key in ("at", "lower", "upper")] == list(answer.values())


def test_compose_flags_replace_questions_and_inexact_plans_are_labelled(run, plan, write):
    answers = json.loads(run("compose", plan, "--epsilon", "-1", "inf", "-inf", "--json")[1])
    assert answers["epsilon"] == answers["beta"] == []
    one, *ends = ((each["epsilon"], each["lower"], each["upper"]) for each in answers["delta"])
    assert one[0] == -1.0
    assert one[1] > 1 - 2.718281828**-1
    assert ends == [("inf", 0.0, 0.0), ("-inf", 1.0, 1.0)]
    path = write('[[mechanism]]\nkind = "approximate-dp"\nepsilon = 1\ndelta = 0.01\n')
    result = json.loads(run("compose", path, "--delta", "1e-3", "0.9", "--json")[1])["epsilon"]
    assert result[0] == {"delta": 1e-3, "lower": "inf", "upper": "inf"}
    assert result[1] == {"delta": 0.9, "lower": 0.0, "upper": 0.0}  # epsilon is at least 0
    plan = write('[[mechanism]]\nkind = "pure-dp"\nepsilon = 1\ncount = 1\n')
    assert json.loads(run("compose", plan, "--json")[1])["exact"] is False
    assert next(csv.DictReader(io.StringIO(run("compose", plan, "--csv")[1])))["exact"] == "False"
    for command in (["compose"], ["compose", "--latex"], ["compare"]):
        assert "of the bound used, not of the mechanism" in " ".join(run(*command, plan)[1].split())


MIXED = """
delta = [1e-5]
[[mechanism]]
kind = "laplace"
scale = 2
[[mechanism]]
kind = "gaussian"
noise_multiplier = 2
"""


@pytest.mark.slow
def test_compose_mu_needs_its_flag(run, write):
    path = write(MIXED)
    assert json.loads(run("compose", path, "--json")[1])["mu"] is None
    assert "For mu, one number for the whole curve: --mu" in run("compose", path)[1]
    result = json.loads(run("compose", path, "--json", "--mu", "--failure", "1e-6", "--tol", "1e-3")[1])
    expected = to.spec.load(path).plan.guarantee().gdp(1e-6).bounds
    assert result["mu"] == {"failure": 1e-6, "lower": expected.lower, "upper": expected.upper}
    assert result["tol"] == 1e-3
    assert "mu at failure = 1e-10" in run("compose", path, "--mu")[1]


@pytest.mark.parametrize(
    ("command", "flags"), [("compose", ["--delta", 1e-5, 1e-6]), ("compare", ["--method", "clt"])]
)
def test_commands_read_a_plan_from_stdin(run, monkeypatch, command, flags):
    monkeypatch.setattr(sys, "stdin", io.StringIO(PLAN))
    result = json.loads(run(command, "--json", *flags, "-")[1])
    assert (result["tradeoff"], result["plan"]["file"]) == (version("tradeoff"), "-")
    assert result["plan"]["mechanism"] == [{"kind": "gaussian", "noise_multiplier": 2.0, "count": 4}]
    negative = io.StringIO(PLAN.replace("= 2", "= -2"))
    for text, message in (
        (negative, "stdin: line 7: mechanism[1].noise_multiplier must be in (0, inf], got -2"),
        (io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="utf-8"), "stdin cannot be read"),
    ):
        monkeypatch.setattr(sys, "stdin", text)
        assert message in refused(run(command, "-"))


def test_compose_prints_mechanisms_and_bounds_rounded_outward(run, plan):
    code, out, err = run("compose", plan)
    assert (code, err) == (0, "")
    assert "one [small] plan" in out
    assert "noise_multiplier=2.0" in out
    row = next(line for line in out.splitlines() if "epsilon at delta = 1e-05" in line)
    out = run("compose", plan, "--latex")[1]
    assert out.startswith("\\begin{tabular}")
    cells = re.search(r"\\delta = 10\^\{-5\}\$ & ([0-9.]+) & ([0-9.]+)", out).groups()
    lower, upper = to.Gaussian(1).bounds.epsilon(1e-5)
    for words, off in ((row.replace("│", " ").replace("|", " ").split()[-2:], 4e-9), (cells, 1e-5)):
        low, high = map(float, words)
        assert lower - off <= low <= lower <= upper <= high <= upper + off


@pytest.mark.parametrize("suffix", ["png", "svg", pytest.param("pdf", marks=pytest.mark.slow), "PNG"])
def test_compose_plot_is_written(run, plan, tmp_path, suffix):
    target = tmp_path / f"plot.{suffix}"
    target.write_text("old", encoding="utf-8")
    code, out, _ = run("compose", plan, "--plot", target)
    assert code == 0
    assert "plot." in out
    assert target.read_bytes()[:4] in (b"\x89PNG", b"<?xm", b"%PDF")
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(["plan.toml", target.name])


def test_compose_wrong_plot_is_refused_before_computing(run, plan, monkeypatch):
    monkeypatch.setattr(to.Plan, "guarantee", lambda _: pytest.fail("computed"))
    folder = plan.parent
    (folder / "folder.png").mkdir()
    before = sorted(folder.rglob("*"))
    wrong = dict.fromkeys(("plot.jpg", "plot"), "--plot must end in one of .png, .svg, .pdf")
    wrong |= {"missing/plot.png": "No such file or directory", "plan.toml/plot.png": "Not a directory"}
    for name, message in (wrong | {"folder.png": "must be a regular file"}).items():
        assert message in refused(run("compose", plan, "--plot", folder / name))
        assert sorted(folder.rglob("*")) == before


class TestProcess:
    """The command as a process."""

    @staticmethod
    def call(*arguments, module=False):
        script = Path(sys.executable).with_name("tradeoff")
        words = map(str, (sys.executable, "-m", "tradeoff", *arguments) if module else (script, *arguments))
        return subprocess.run([*words], capture_output=True, text=True, encoding="utf-8", check=False)

    @pytest.mark.parametrize("module", [True, pytest.param(False, marks=pytest.mark.slow)])
    def test_compose_mixed_example_encloses_the_truth(self, tmp_path, module):
        if not module and not Path(sys.executable).with_name("tradeoff").exists():
            pytest.skip("the script is not installed with this interpreter")
        target = tmp_path / "mixed.svg"
        result = self.call("compose", EXAMPLES / "mixed.toml", "--plot", target, "--json", module=module)
        assert (result.returncode, result.stderr) == (0, "")
        truth = {1e-3: 3.24008059546093, 1e-5: 4.383197038805472, 1e-8: 5.583889774391438}
        for each in json.loads(result.stdout)["epsilon"]:
            assert each["lower"] <= truth[each["delta"]] <= each["upper"]
        assert target.stat().st_size > 1000

    def test_import_loads_no_numerical_package(self):
        heavy = ("numpy", "scipy", "mpmath", "sympy", "matplotlib")
        code = f"import sys, tradeoff.cli.app; print([m for m in {heavy} if m in sys.modules])"
        command = [sys.executable, "-c", code]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"

    @pytest.mark.skipif(shutil.which("bash") is None, reason="completes in bash")
    def test_install_completion_writes_a_script_for_bash(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        result = self.call("--install-completion", "--shell", "bash", module=True)
        assert (result.returncode, result.stderr) == (0, "")
        script = Path(re.search("installed to (.*)", result.stdout)[1])
        assert script.is_relative_to(tmp_path)
        words = re.findall(r"[\w-]+", script.read_text(encoding="utf-8"))
        assert {"compose", "calibrate", "--latex"} <= set(words)


FOUR = """
title = "four [counts]"
delta = [1e-3]
[[mechanism]]
kind = "laplace"
scale = 2
count = 4
"""


@pytest.mark.slow
def test_compare_prints_methods_and_draws(run, write):
    plan = write(FOUR)
    picture = plan.with_suffix(".svg")
    code, out, _ = run("compare", plan, "--method", "clt", "--method", "basic", "--plot", picture)
    assert code == 0
    for words in ("four [counts]", "δ=0.001", "basic "):
        assert words in out
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    result = json.loads(run("compare", plan, "--method", "basic", "--delta", "1e-4", "--json")[1])
    assert result["plan"]["title"] == "four [counts]"
    (entry,) = result["methods"][0]["epsilon"]
    assert (entry["delta"], entry["value"], entry["under_reports"]) == (1e-4, pytest.approx(2.0), False)
    assert result["exact"]["epsilon"][0]["upper"] < 2.0
    assert "'ctl'" in refused(run("compare", plan, "--method", "ctl"))
    table = [*csv.DictReader(io.StringIO(run("compare", plan, "--method", "basic", "--csv")[1]))]
    assert [row["method"] for row in table] == ["lower bound", "upper bound", "basic"]
    assert "\nbasic & safe & 2" in run("compare", plan, "--method", "basic", "--latex")[1]
    assert "--json, --csv and --latex" in refused(run("compare", plan, "--csv", "--latex"))


TWO = """# our training
[[mechanism]]  # one count
kind = "laplace"
scale = 100.0
[[mechanism]]
kind = "gaussian"
noise_multiplier = 1  # to be calibrated
"""


FLAGS = ("--epsilon", "1", "--delta", "1e-6")
NOISE = ("--vary", "mechanism[2].noise_multiplier", *FLAGS)


def calibrated(out):
    """Return the noise multiplier of a printed plan, which just meets the target."""
    plan = to.spec.loads(out).plan
    assert plan.guarantee().epsilon(1e-6) <= 1 < plan.guarantee().epsilon(1e-6) + 1e-6
    (sigma,) = {each.noise_multiplier for each in plan.mechanisms if each.kind == "gaussian"}
    return sigma


def test_calibrate_prints_or_writes_the_parameter(run, write, monkeypatch):
    path = write(TWO)
    code, out, err = run("calibrate", path, *NOISE)
    assert (code, err) == (0, "")
    sigma = calibrated(out)
    assert f"# mechanism[2].noise_multiplier = {sigma!r}: epsilon at delta = 1e-06 <= 1" in out
    assert path.read_text(encoding="utf-8") == TWO
    assert "the title is unchanged" not in out
    assert "# the title is unchanged and" in run("calibrate", write(f'title = "noise 1"\n{TWO}'), *NOISE)[1]
    path = write(TWO)
    assert run("calibrate", path, *NOISE, "--write")[0] == 0
    assert path.read_text(encoding="utf-8") == TWO.replace("multiplier = 1", f"multiplier = {sigma!r}")
    monkeypatch.setattr(sys, "stdin", io.StringIO(TWO))
    assert calibrated(run("calibrate", "-", *NOISE)[1]) == sigma
    assert "--write needs a plan file" in refused(run("calibrate", "-", *NOISE, "--write"))


def test_calibrate_keeps_line_ends_and_mode_and_takes_two_places_or_a_count(run, write):
    path = write("")
    path.write_text(TWO.replace("\n", "\r\n") + "\r\n", encoding="utf-8", newline="")
    path.chmod(0o600)
    assert run("calibrate", path, *NOISE, "--write")[0] == 0
    text = path.read_bytes().decode()
    assert text.count("\n") == text.count("\r\n") == TWO.count("\n") + 1
    assert path.stat().st_mode & 0o777 == 0o600
    places = "mechanism[2].noise_multiplier, mechanism[3].noise_multiplier"
    path = write(TWO + '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 7\ncount = 3\n')
    out = run("calibrate", path, "--vary", places, *FLAGS)[1]
    assert f"# {places} = {calibrated(out)!r}" in out
    path = write('[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 4')
    code, out, _ = run("calibrate", path, "--vary", "mechanism[1].count", "--mu", "1.1")
    assert (code, out.splitlines()[1]) == (0, "count = 19")


@pytest.mark.parametrize(
    ("content", "place", "message"),
    [
        (TWO, "mechanism[3].scale", "must be mechanism[K].KEY with K from 1 to 2, got 'mechanism[3].scale'"),
        (TWO, "mechanism[0].scale", "--vary must be mechanism[K].KEY with K from 1"),
        (TWO, "mechanism[1].sigma", "must be mechanism[1].KEY with KEY one of count, scale, sensitivity"),
        (TWO, "mechanism[1].kind", "with KEY one of count, scale"),
        ('mechanism = [{kind = "laplace", scale = 1}]', "mechanism[1].scale", "on a line of its own"),
        ('title = """\n[[mechanism]]"""\n' + TWO, "mechanism[1].scale", "on a line of its own"),
    ],
)
def test_calibrate_wrong_place_is_refused(run, write, content, place, message):
    path = write(content)
    assert message in refused(run("calibrate", path, "--vary", place, "--mu", "1", "--write"))
    assert path.read_text(encoding="utf-8") == content


def test_dp_sgd_init_help_and_kinds_print_and_a_missing_extra_is_named(run, tmp_path, monkeypatch):
    flags = "--batch-size", 256, "--dataset-size", 60_000, "--epochs", 60, "--delta", 1e-5, "--json"
    code, out, _ = run("dp-sgd", "--noise-multiplier", 1.1, *flags)
    low, high = (
        to.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60).guarantee().bounds.epsilon(1e-5)
    )
    assert (code, json.loads(out)["epsilon"]) == (0, [{"delta": 1e-5, "lower": low, "upper": high}])
    flags = "dp-sgd", "--noise-multiplier", 1, "--sample-rate", 0.1, "--csv", "--steps"
    assert run(*flags, "1e3") == run(*flags, 1000)
    path = tmp_path / "new.toml"
    assert run("init", path)[0] == 0
    code, out, _ = run("compose", path)
    assert code == 0
    assert "epsilon at delta = 1e-05" in out
    assert "PLAN must be a new file" in refused(run("init", path))
    code, out, _ = run("compose", "--help")
    assert code == 0
    for flag in ("--delta", "--epsilon", "--alpha", "--tol", "--plot", "--json", "reported as 0"):
        assert flag in " ".join(out.split())
    assert "()" not in out
    assert run("--version")[1].strip() == version("tradeoff") == to.__version__
    code, out, _ = run("kinds")
    assert code == 0
    assert all(kind in out for kind in KINDS)
    assert "noise_multiplier, sample_rate, scheme = 'poisson'" in out
    for name in [each for each in sys.modules if each.startswith("tradeoff.cli")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cyclopts", None)
    assert 'pip install "tradeoff[cli]"' in refused(run("compose", "plan.toml"))
