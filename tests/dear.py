"""Which tests are dear: ``pytest --durations=0 -vv -m "" | python -m tests.dear`` lists them anew.

The suite leaves them out, so that it is run often; ``pytest -m dear`` runs them, and so does ``.ci/run``. Of
a test of many cases the cheapest one stays.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

LIST = Path(__file__).with_suffix(".txt")
"""The tests that are, one a line."""

SECONDS = 0.6
"""From here on a test is dear: some 650 of 9,000 take two thirds of all the time, the rest
five minutes of two cores."""

LINE = re.compile(r"([0-9.]+)s (?:call|setup)\s+(\S.*)")


def dear(lines: Iterable[str]) -> list[str]:
    """Return the dear tests among the durations that pytest printed."""
    spent: defaultdict[str, float] = defaultdict(float)
    for line in lines:
        if found := LINE.match(line):
            spent[found[2].rstrip()] += float(found[1])
    cases = defaultdict(list)
    for name, seconds in spent.items():
        cases[name.partition("[")[0]].append((seconds, name))
    kept = {min(each)[1] for each in cases.values() if len(each) > 1}
    return sorted(name for name, seconds in spent.items() if seconds >= SECONDS and name not in kept)


if __name__ == "__main__":
    LIST.write_text("".join(f"{name}\n" for name in dear(sys.stdin)), encoding="utf-8")
