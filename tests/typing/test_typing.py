import inspect
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tradeoff as to
from tests.typing import right

HERE = Path(__file__).parent
RIGHT, WRONG = HERE / "right.py", HERE / "wrong.py"
LINES = {k for k, line in enumerate(WRONG.read_text().splitlines(), 1) if "lambda" in line and k > 2}


def run(*command):
    run = subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True, check=False)
    return run.stdout


@pytest.mark.slow
def test_mypy_takes_what_is_right_and_refuses_what_is_wrong():
    lines = run(sys.executable, "-m", "mypy", RIGHT, WRONG).splitlines()
    errors = [line.split(":", 2) for line in lines if ": error:" in line]
    assert [line for line in lines if line.startswith(str(RIGHT.relative_to(HERE.parents[1])))] == []
    assert {int(line) for _, line, _ in errors} == LINES, "\n".join(lines)


@pytest.mark.skipif(
    shutil.which("pyright") is None, reason="pyright is no dependency: its wheel fetches node on first use"
)
def test_pyright_agrees():
    result = json.loads(run("pyright", "--outputjson", "--pythonpath", sys.executable, RIGHT, WRONG))
    errors = [each for each in result["generalDiagnostics"] if each["severity"] == "error"]
    assert [each for each in errors if each["file"] == str(RIGHT)] == []
    assert {each["range"]["start"]["line"] + 1 for each in errors} == LINES, errors


@pytest.mark.parametrize(
    "f", [to.Gaussian(1), pytest.param(to.PureDP(1) @ to.Laplace(0.5), marks=pytest.mark.slow)], ids=repr
)
def test_what_is_right_runs(f):
    for _, use in inspect.getmembers(right, inspect.isfunction):
        if use.__module__ == right.__name__:
            use(f) if inspect.signature(use).parameters else use()
