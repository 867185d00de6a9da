import os
import shlex
import subprocess
import sys
from xml.parsers import expat

import pytest

import tradeoff as to
from tests.cli.outcomes import refused
from tradeoff.__main__ import main
from tradeoff.display import folded, plain

PLAN = '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 2\ncount = 4\n'
STEERING = "a\x1b]0;owned\x07\x9b31m\u202eb"
HARMLESS = r"a\x1b]0;owned\x07\x9b31m\u202eb"
posix = pytest.mark.skipif(os.name != "posix", reason="devices of POSIX")


@pytest.mark.parametrize(
    "command", [["compose"], pytest.param(["compare", "--method", "clt"], marks=pytest.mark.slow)]
)
def test_commands_escape_titles_and_file_names(run, tmp_path, command):
    plan = tmp_path / "plan.toml"
    plan.write_text(f'title = "a\\u001b]0;owned\\u0007\\u009b31m\\u202eb [b]x\\\\"\n{PLAN}', encoding="utf-8")
    code, out, _ = run(*command, plan, "--plot", tmp_path / f"{STEERING}.svg")
    assert code == 0
    assert f"{HARMLESS} [b]x\\" in out
    assert f"{HARMLESS}.svg" in out
    assert expat.ParserCreate().Parse((tmp_path / f"{STEERING}.svg").read_bytes(), True) == 1
    assert not set(STEERING[1:-1]) & set(out) & set("\x1b\x07\x9b\u202e")


@pytest.mark.slow
def test_too_many_mechanisms_are_refused_and_gaussian_ones_count_as_one(run, plan):
    entries = [f'[[mechanism]]\nkind = "laplace"\nscale = {10 + i}\n' for i in range(1001)]
    plan.write_text("".join(entries), encoding="utf-8")
    for command in (["compose", plan], ["compare", plan], ["report", plan, "-o", plan.with_suffix(".html")]):
        message = "a plan must have at most 1,000 different mechanisms, got 1,001"
        assert message in refused(run(*command))
    entry = '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = {}\n'
    plan.write_text("".join(entry.format(100 + i) for i in range(5000)), encoding="utf-8")
    assert run("compose", plan, "--json")[0] == 0


def test_errors_are_one_line_and_escape_characters_keys_and_names(run, plan, tmp_path, monkeypatch):
    plan.write_text(f'title = "中文"\n{PLAN}', encoding="utf-8")
    assert run("compose", plan, "--plot", plan.with_suffix(".svg"))[0] == 0
    plan.write_text(f'"a\\u001b]0;owned\\u0007\\u009b31m\\u202eb" = 1\n{PLAN}', encoding="utf-8")
    assert f"{HARMLESS} is not known" in run("compose", plan)[2]
    assert f"{HARMLESS}: cannot be read" in run("compose", tmp_path / STEERING)[2]
    assert f"{HARMLESS}" in run("compose", plan, f"--{STEERING}")[2]
    code, out, _ = run("ledger", "init", tmp_path / STEERING, "--mu", "1")
    assert code == 0
    assert HARMLESS in out.splitlines()[0]
    assert plain(STEERING) == HARMLESS
    assert plain("two\nlines, \r, \u2028, \udc80") == r"two\nlines, \r, \u2028, \udc80"
    assert folded("two\nlines  and\ta tab\r\u2028\x00") == r"two lines and a tab \x00"
    assert plain("ε ≤ δ, naïve\xa0中文") == "ε ≤ δ, naïve\xa0中文"

    plan.write_text(PLAN, encoding="utf-8")

    def guarantee(_):
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr(to.Plan, "guarantee", guarantee)
    code, out, err = run("compose", plan)
    assert (code, out) == (70, "")
    assert "internal error: ZeroDivisionError: division by zero; please report it" in err
    monkeypatch.setenv("TRADEOFF_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["compose", str(plan)])


@posix
class TestProcess:
    """Streams of the process."""

    @staticmethod
    def call(redirection, *arguments, program=("-m", "tradeoff"), **environment):
        shell, environment = ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh"], os.environ | environment
        words = [*shell, sys.executable, *program, *map(str, arguments)]
        return subprocess.run(words, capture_output=True, env=environment, check=False)

    @pytest.mark.parametrize(
        "arguments", [pytest.param(["compose", "PLAN"], marks=pytest.mark.slow), ["compose", "--help"]]
    )
    def test_full_disk_exits_with_74(self, plan, arguments):
        result = self.call("> /dev/full", *(plan if each == "PLAN" else each for each in arguments))
        assert result.returncode == 74
        assert result.stderr == b"tradeoff: the answer could not be printed: No space left on device\n"

    @pytest.mark.slow
    def test_ledger_step_is_recorded_on_a_full_disk(self, tmp_path):
        file = tmp_path / "budget.ledger"
        assert main(["ledger", "init", str(file), "--mu", "1"]) == 0
        words = "ledger", "spend", file, "--kind", "gaussian", "--noise-multiplier", "10"
        result = self.call("> /dev/full", *words)
        assert result.returncode == 74
        assert result.stderr.count(b"\n") == 1
        assert to.filters.Ledger(file).last.step == 1

    def test_closed_stdout_is_refused_at_once(self, plan):
        result = self.call(">&-", "compose", plan, "--plot", target := plan.with_suffix(".svg"))
        assert result.returncode == 74
        assert result.stderr == b"tradeoff: stdout is closed, so no answer could be printed\n"
        assert not target.exists()

    @pytest.mark.slow
    def test_closed_stderr_is_ignored(self, plan):
        result = self.call("2>&-", "compose", plan, "--json")
        assert result.returncode == 0
        assert result.stdout.startswith(b"{")
        assert self.call("2> /dev/full", "compose", plan.with_name("missing.toml")).returncode == 2

    @pytest.mark.slow
    def test_characters_that_the_encoding_lacks_are_escaped(self, plan):
        plan.write_text(f'title = "ε and 中"\n{PLAN}', encoding="utf-8")
        result = self.call("", "compose", plan, PYTHONIOENCODING="ascii")
        assert (result.returncode, result.stderr) == (0, b"")
        assert rb"\u03b5 and \u4e2d" in result.stdout

    @pytest.mark.slow
    def test_closed_pipe_exits_with_141(self, plan):
        process = subprocess.Popen(
            [sys.executable, "-m", "tradeoff", "compose", str(plan)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        process.stdout.close()
        with process.stderr as err:
            assert err.read() == b""
        assert process.wait() == 141

    @pytest.mark.slow
    def test_interrupt_while_drawing_exits_with_130_and_leaves_nothing(self, plan):
        program = """
import sys
from matplotlib.figure import Figure
from tradeoff.__main__ import main
def savefig(self, file, **_):
    file.write(b"half")
    raise KeyboardInterrupt
Figure.savefig = savefig
sys.exit(main())
"""
        result = self.call("", "compose", plan, "--plot", plan.with_suffix(".svg"), program=("-c", program))
        assert (result.returncode, result.stdout, result.stderr) == (130, b"", b"")
        assert [each.name for each in plan.parent.iterdir()] == ["plan.toml"]


# PLAN is a plan file, FILE an unspent ledger.
MISTAKES = """
compose => PLAN must be given; see tradeoff compose --help
compose PLAN x.toml => unknown argument 'x.toml'; see tradeoff compose --help
compose PLAN --gamma 1 => unknown flag --gamma; see tradeoff compose --help
compose PLAN --delta 2 => --delta must be in [0, 1], got 2.0
compose PLAN --delta 0.1 -0.1 => --delta must be in [0, 1], got -0.1
compose PLAN --epsilon nan => --epsilon must be in [-inf, inf], got nan
compose PLAN --delta small => --delta must be a number, got 'small'
compose PLAN --delta 1e-5,1e-6 => separated by spaces
compose --delta 1e-5 a,b.toml => a,b.toml: cannot be read
compose PLAN --delta => --delta
compose PLAN --tol 0 => --tol must be in (0, inf], got 0.0
compose PLAN --tol 1e-300 => tol = 1e-300 not reached
compose PLAN --failure 0.1 => --failure must be given with --mu
compose PLAN --json --csv => one of --json, --csv and --latex
compare PLAN --method ctl => --method must be one of 'clt'
calibrate PLAN --vary mechanism[1].noise_multiplier => the target must be one of --epsilon with --delta
calibrate PLAN --vary mechanism[1].noise_multiplier --epsilon 1 => got --epsilon
calibrate PLAN --vary mechanism[1].noise_multiplier --alpha 0.1 --mu 1 => got --mu, --alpha
calibrate PLAN --vary mechanism[1].noise_multiplier --epsilon -1 --delta 0.1 =>
    --epsilon must be in [0, inf), got -1.0
calibrate PLAN --mu 1 => --vary must be given
report PLAN => --output must be given
report PLAN --out x.html => unknown flag --out; did you mean --output?
ledger show PLAN => unknown command 'show'; see tradeoff ledger --help
ledger export PLAN --format xml => --format must be one of json, csv, got 'xml'
report PLAN -o x.pdf => --output must end in one of .html, .htm, got x.pdf
certify PLAN -o x.txt => --output must end in .json, got x.txt
certify PLAN -o missing/x.json => No such file or directory; create its folder first
verify => CERTIFICATE must be given; see tradeoff verify --help
ledger status => FILE must be given; see tradeoff ledger status --help
decompose => unknown command 'decompose'; did you mean compose?
dp-sgd --noise-multiplier 1 --batch-size 8 --epochs 1 =>
    --batch-size and --dataset-size, or --sample-rate, got --batch-size
dp-sgd --noise-multiplier 1 --sample-rate 0.1 => either --epochs or --steps, got neither
dp-sgd --noise-multiplier 1 --sample-rate 2 --steps 1 => --sample-rate must be in (0, 1], got 2.0
dp-sgd --noise-multiplier 1 --sample-rate 1% --steps 1 => --sample-rate must be a number, got '1%'; write 0.01
dp-sgd --noise-multiplier 1 --sample-rate 0.1 --steps 10.5 => --steps must be an integer, got '10.5'
dp-sgd --noise-multiplier 1 --sample-rate 0.1 --steps 1e99999 => --steps must be an integer, got '1e99999'
dp-sgd --noise-multiplier 1 --q 0.1 --steps 10 => unknown flag --q; did you mean --sample-rate?
dp-sgd --sigma 1 --sample-rate 0.1 --steps 10 => unknown flag --sigma; did you mean --noise-multiplier?
ledger spend FILE --kind gausian --noise-multiplier 1 => did you mean gaussian
ledger spend FILE --kind gaussian --noise-multiplier 10 --count 1.5 => --count must be an integer, got
ledger spend FILE --kind gaussian --noise-multipler 1 => did you mean --noise-multiplier?
ledger spend FILE --kind gaussian => --noise-multiplier is missing
ledger spend FILE --kind laplace --epsilon 1 => is not known; allowed: --scale, --sensitivity; scale is the
ledger spend FILE --kind gaussian --noise-multiplier 0 => --noise-multiplier must be in (0, inf], got 0.0
ledger spend FILE --kind gaussian --noise-multiplier 1 --count 0 => --count must be at least 1, got 0
ledger spend FILE --kind gaussian --noise-multiplier 1 --adjacency cousins => --adjacency
ledger spend FILE --kind gaussian --noise-multiplier 10 --head HEAD => nothing was granted
ledger spend FILE --noise-multiplier 1 => --kind must be given
"""


def mistakes():
    return [row.split(" => ") for row in MISTAKES.replace(" =>\n    ", " => ").strip().splitlines()]


@pytest.mark.parametrize(
    ("words", "message"), [*mistakes(), ("ledger spend FILE --kind 'a\"\nb' --noise-multiplier 1", "--kind")]
)
def test_typical_mistake_names_the_flag(run, plan, tmp_path, words, message):
    file = tmp_path / "budget.ledger"
    run("ledger", "init", file, "--mu", 1)
    paths = {"PLAN": plan, "FILE": file, "HEAD": "0" * 64}
    assert message in refused(run(*(paths.get(each, each) for each in shlex.split(words))))
    assert to.filters.Ledger(file).steps == 0
