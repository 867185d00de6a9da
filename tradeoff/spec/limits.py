"""How much a plan may hold, so that no file keeps its reader busy for hours."""

from __future__ import annotations

import os
import re

from tradeoff.errors import PlanError

# Greatest sizes; the environment variable ``TRADEOFF_MAX_LETTERS`` changes the first, and so on.
LIMITS = {
    "letters": 2**20,  # of the file: some 20,000 mechanisms, read in two seconds
    "title": 1_000,  # letters: 19 lines above a figure
    "questions": 10_000,  # answered together, so they cost little; nobody reads a longer table
    "mechanisms": 1_000,  # different ones that no closed form adds up: 6 to 60 seconds, by their kind
    "words": 1_000,  # of the command line: parsing takes time quadratic in them, 0.5 seconds for 1000
}

_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+"""
# 32 parts of a dotted key: reading takes time quadratic in them, and no key of a plan has even two.
_LONG_KEY = re.compile(rf"(?<![\w-])(?:{_PART}\.[ \t]*+){{32}}")


def limit(name: str) -> int:
    """Return a limit: that of the environment if it sets one.

    >>> limit("title")
    1000
    """
    given = os.environ.get(_variable(name)) or str(LIMITS[name])
    if not (given.isdecimal() and len(given) < 19):
        raise PlanError(f"{_variable(name)} = {given[:60]!r} is no limit; give a whole number below 10^18")
    return int(given)


def within(name: str, size: int, what: str) -> None:
    """Refuse what is larger than the limit of this name."""
    if size > limit(name):
        raise PlanError(f"more than {limit(name):,} {what} are refused; set {_variable(name)} to allow more")


def readable(content: str) -> str:
    """Return the text of a plan if it can be parsed in reasonable time."""
    within("letters", len(content), "letters")
    if found := _LONG_KEY.search(content):
        raise PlanError(f"a key of 32 parts is refused, from {found[0][:20]!r} on; a plan needs one")
    return content


def _variable(name: str) -> str:
    return f"TRADEOFF_MAX_{name.upper()}"
