"""The command in this process, and the plans it reads."""

import pytest

from tradeoff.__main__ import main


@pytest.fixture
def run(capsys):
    def runner(*arguments):
        code = main([str(each) for each in arguments])
        out, err = capsys.readouterr()
        assert err == "" if code == 0 else err.startswith("tradeoff: ") and err.count("\n") == 1
        return code, out, err

    return runner


@pytest.fixture
def write(tmp_path):
    def writer(text):
        path = tmp_path / "plan.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return writer


@pytest.fixture
def plan(write, request):
    return write(request.module.PLAN)
