"""The command in this process."""

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
