"""The list of dear tests names tests that there are, and leaves a case of each test of many."""

import re
from pathlib import Path

from tests.dear import LIST, dear

ROOT = Path(__file__).parents[2]


def test_the_listed_tests_are_there():
    for name in LIST.read_text(encoding="utf-8").splitlines():
        file, *_, test = name.partition("[")[0].split("::")
        source = (ROOT / file).read_text(encoding="utf-8")
        assert file.startswith("tradeoff/") or re.search(rf"^\s*(async )?def {test}\(", source, re.MULTILINE)


def test_the_cheapest_case_of_a_test_is_not_listed():
    said = ["2.0s call     a.py::f[x y]", "1.6s setup    a.py::f[z]", "9.0s call a.py::g", "9054 passed"]
    assert dear(said) == ["a.py::f[x y]", "a.py::g"]
