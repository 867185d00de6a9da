"""The command and its surroundings.

Whatever they do, it ends in one line on stderr and the right exit code.
"""

import os
import subprocess
import sys
from pathlib import Path
from xml.parsers import expat

import pytest

import tradeoff as to
from tests.cli.outcomes import refused
from tradeoff.__main__ import main
from tradeoff.display import folded, plain

PLAN = '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 2\ncount = 4\n'
STEERING = "a\x1b]0;owned\x07\x9b31m\u202eb"
HARMLESS = r"a\x1b]0;owned\x07\x9b31m\u202eb"
posix = pytest.mark.skipif(os.name != "posix", reason="signals and devices of POSIX")


class TestText:
    """No text of a file or of a name steers the terminal."""

    def test_escapes(self):
        assert plain(STEERING) == HARMLESS
        assert plain("two\nlines, \r, \u2028, \udc80") == r"two\nlines, \r, \u2028, \udc80"
        assert folded("two\nlines  and\ta tab\r\u2028\x00") == r"two lines and a tab \x00"
        assert plain("ε ≤ δ, naïve\xa0中文") == "ε ≤ δ, naïve\xa0中文"

    @pytest.mark.parametrize(
        "command", [["compose"], pytest.param(["compare", "--method", "clt"], marks=pytest.mark.slow)]
    )
    def test_title_and_names(self, run, tmp_path, command):
        plan = tmp_path / "plan.toml"
        plan.write_text(
            f'title = "a\\u001b]0;owned\\u0007\\u009b31m\\u202eb [b]x\\\\"\n{PLAN}', encoding="utf-8"
        )
        code, out, _ = run(*command, plan, "--plot", tmp_path / f"{STEERING}.svg")
        assert code == 0
        assert f"{HARMLESS} [b]x\\" in out
        assert f"{HARMLESS}.svg" in out
        assert expat.ParserCreate().Parse((tmp_path / f"{STEERING}.svg").read_bytes(), True) == 1
        assert not set(STEERING[1:-1]) & set(out) & set("\x1b\x07\x9b\u202e")

    def test_keys_and_names_in_complaints(self, run, plan, tmp_path):
        plan.write_text(f'"a\\u001b]0;owned\\u0007\\u009b31m\\u202eb" = 1\n{PLAN}', encoding="utf-8")
        assert f"{HARMLESS} is not known" in run("compose", plan)[2]
        assert f"{HARMLESS}: cannot be read" in run("compose", tmp_path / STEERING)[2]
        assert f"{HARMLESS}" in run("compose", plan, f"--{STEERING}")[2]

    def test_ledgers(self, run, tmp_path):
        code, out, _ = run("ledger", "init", tmp_path / STEERING, "--mu", "1")
        assert code == 0
        assert HARMLESS in out.splitlines()[0]

    def test_complaints_are_short(self, run, plan):
        plan.write_text(f"{'x' * 10**5} = 1\n{'x' * 10**5} = 1", encoding="utf-8")
        assert len(refused(run("compose", plan))) < 2100


class TestLimits:
    """What would take hours is refused."""

    @pytest.mark.slow
    def test_different_mechanisms(self, run, plan):
        entries = [f'[[mechanism]]\nkind = "laplace"\nscale = {10 + i}\n' for i in range(1001)]
        plan.write_text("".join(entries), encoding="utf-8")
        for command in (
            ["compose", plan],
            ["compare", plan],
            ["report", plan, "-o", plan.with_suffix(".html")],
        ):
            said = refused(run(*command))
            assert "a plan must have at most 1,000 different mechanisms, got 1,001" in said

    @pytest.mark.slow
    def test_mechanisms_that_a_closed_form_adds_up_are_one(self, run, plan):
        entry = '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = {}\n'
        plan.write_text("".join(entry.format(100 + i) for i in range(5000)), encoding="utf-8")
        assert run("compose", plan, "--json")[0] == 0

    def test_words(self, run, plan):
        said = refused(run("compose", plan, "--delta", *["0.1"] * 1000))
        assert "a command must have at most 1,000 words, got 1,003" in said


class TestTargets:
    """A figure is refused before anything is computed, or written whole."""

    @pytest.fixture(autouse=True)
    def nothing_is_computed(self, request, monkeypatch):
        if "refused" in request.node.name:
            monkeypatch.setattr(to.Plan, "guarantee", lambda _: pytest.fail("computed"))

    def test_long_names_are_refused(self, run, plan):
        target = plan.with_name("a" * 300 + ".png")
        assert "File name too long" in refused(run("compose", plan, "--plot", target))

    def test_read_only_files_are_refused(self, run, plan):
        target = plan.with_name("old.svg")
        target.write_text("old", encoding="utf-8")
        target.chmod(0o444)
        assert "must not be read-only" in refused(run("compose", plan, "--plot", target))
        assert target.read_text(encoding="utf-8") == "old"

    @posix
    def test_pipes_are_refused(self, run, plan):
        os.mkfifo(target := plan.with_name("pipe.svg"))
        assert "must be a regular file" in refused(run("compose", plan, "--plot", target))

    @posix
    def test_a_link_stays_and_leads_to_the_figure(self, run, plan, tmp_path, tmp_path_factory):
        shared = Path("/dev/shm")
        folder = tmp_path_factory.mktemp("elsewhere") if not os.access(shared, os.W_OK) else shared
        place, link = folder / f"tradeoff-{os.getpid()}.svg", tmp_path / "link.svg"
        link.symlink_to(place)
        try:
            assert run("compose", plan, "--plot", link)[0] == 0
            assert link.is_symlink()
            assert place.read_text(encoding="utf-8").startswith("<?xml")
        finally:
            place.unlink(missing_ok=True)

    def test_letters_that_the_font_lacks_are_no_warning(self, run, plan):
        plan.write_text(f'title = "中文"\n{PLAN}', encoding="utf-8")
        assert run("compose", plan, "--plot", plan.with_suffix(".svg"))[0] == 0


class TestMistakesOfOurs:
    """What nobody foresaw is one line too."""

    @pytest.fixture(autouse=True)
    def broken(self, monkeypatch):
        def guarantee(_):
            raise ZeroDivisionError("division\nby zero")

        monkeypatch.setattr(to.Plan, "guarantee", guarantee)

    def test_the_line(self, run, plan):
        code, out, err = run("compose", plan)
        assert (code, out) == (70, "")
        assert "internal error: ZeroDivisionError: division by zero; please report it" in err

    def test_the_traceback(self, plan, monkeypatch):
        monkeypatch.setenv("TRADEOFF_DEBUG", "1")
        with pytest.raises(ZeroDivisionError):
            main(["compose", str(plan)])


@posix
class TestProcess:
    """Streams and signals."""

    @staticmethod
    def call(redirection, *arguments, program=("-m", "tradeoff"), **environment):
        words = [sys.executable, *program, *map(str, arguments)]
        return subprocess.run(
            ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", *words],
            capture_output=True,
            env={**os.environ, **environment},
            check=False,
        )

    @pytest.mark.parametrize(
        "arguments", [pytest.param(["compose", "PLAN"], marks=pytest.mark.slow), ["compose", "--help"]]
    )
    def test_a_full_disk(self, plan, arguments):
        result = self.call("> /dev/full", *(plan if each == "PLAN" else each for each in arguments))
        assert result.returncode == 74
        assert result.stderr == b"tradeoff: the answer could not be printed: No space left on device\n"

    @pytest.mark.slow
    def test_a_step_is_granted_though_nobody_can_be_told(self, tmp_path):
        file = tmp_path / "budget.ledger"
        assert main(["ledger", "init", str(file), "--mu", "1"]) == 0
        result = self.call(
            "> /dev/full", "ledger", "spend", file, "--kind", "gaussian", "--noise-multiplier", "10"
        )
        assert result.returncode == 74
        assert result.stderr.count(b"\n") == 1
        assert to.filters.Ledger(file).last.step == 1

    def test_a_closed_stdout_is_said_before_anything_is_done(self, plan):
        result = self.call(">&-", "compose", plan, "--plot", target := plan.with_suffix(".svg"))
        assert result.returncode == 74
        assert result.stderr == b"tradeoff: stdout is closed, so no answer could be printed\n"
        assert not target.exists()

    @pytest.mark.slow
    def test_a_closed_stderr_is_no_error(self, plan):
        result = self.call("2>&-", "compose", plan, "--json")
        assert result.returncode == 0
        assert result.stdout.startswith(b"{")

    @pytest.mark.slow
    def test_a_full_stderr_changes_no_code(self, plan):
        assert self.call("2> /dev/full", "compose", plan.with_name("missing.toml")).returncode == 2

    @pytest.mark.slow
    def test_letters_that_the_terminal_has_not(self, plan):
        plan.write_text(f'title = "ε and 中"\n{PLAN}', encoding="utf-8")
        result = self.call("", "compose", plan, PYTHONIOENCODING="ascii")
        assert (result.returncode, result.stderr) == (0, b"")
        assert rb"\u03b5 and \u4e2d" in result.stdout

    @pytest.mark.slow
    def test_a_reader_that_leaves_a_table(self, plan):
        process = subprocess.Popen(
            [sys.executable, "-m", "tradeoff", "compose", str(plan)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        process.stdout.close()
        with process.stderr as err:
            assert err.read() == b""
        assert process.wait() == 141

    # A signal that comes when a certain module is looked for, or when half of a figure is written.
    IMPORTING = """
import os, signal, sys
from tradeoff.__main__ import main
class Finder:
    def find_spec(self, name, *_):
        if name == "scipy":
            os.kill(os.getpid(), signal.{0})
sys.meta_path.insert(0, Finder())
sys.exit(main())
"""
    DRAWING = """
import os, signal, sys
from matplotlib.figure import Figure
from tradeoff.__main__ import main
def savefig(self, file, **_):
    file.write(b"half")
    os.kill(os.getpid(), signal.{0})
    os.kill(os.getpid(), signal.{0})
Figure.savefig = savefig
sys.exit(main())
"""

    # One that comes when a class is made, which wraps it in an error of its own.
    NAMING = """
import os, signal, sys
from tradeoff import Plan
from tradeoff.__main__ import main
class Name:
    def __set_name__(self, *_):
        os.kill(os.getpid(), signal.{0})
Plan.guarantee = lambda self: type("Class", (), dict(name=Name()))
sys.exit(main())
"""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("program", "signal", "code"),
        [
            (IMPORTING, "SIGINT", 130),
            (NAMING, "SIGINT", 130),
            (DRAWING, "SIGINT", 130),
            (DRAWING, "SIGTERM", 143),
        ],
    )
    def test_signals_end_in_silence_and_leave_nothing(self, plan, program, signal, code):
        result = self.call(
            "", "compose", plan, "--plot", plan.with_suffix(".svg"), program=("-c", program.format(signal))
        )
        assert (result.returncode, result.stdout, result.stderr) == (code, b"", b"")
        assert [each.name for each in plan.parent.iterdir()] == ["plan.toml"]

    @pytest.mark.slow
    def test_what_nohup_ignores_stays_ignored(self, plan):
        result = self.call(
            "",
            "compose",
            plan,
            "--json",
            program=(
                "-c",
                "import signal; signal.signal(1, signal.SIG_IGN)" + self.IMPORTING.format("SIGHUP"),
            ),
        )
        assert result.returncode == 0
