"""Places of a plan file as people count: tables and entries from 1, lines as an editor shows them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tradeoff.errors import TradeOffError

_HEAD = re.compile(r"^[ \t]*\[\[[ \t]*mechanism[ \t]*\]\].*(?:\n|\Z)", flags=re.MULTILINE)
_PLACE = re.compile(r"mechanism\[([1-9][0-9]{0,5})\](?:\.([a-z0-9_]+))?")
_ENTRY = re.compile(r"mechanism\[[0-9]+\](?:\.[a-z0-9_]+)?|[A-Za-z0-9_-]+")
_LONGEST = 200  # lines of a table: finding one reads the table once a line


def table_name(index: int) -> str:
    """Return the name that errors and ``--vary`` have for a table, given its index from 0."""
    return f"mechanism[{index + 1}]"


def from_one(message: str) -> str:
    """Return the message of an error about an entry of an array that Python counts from 0, counted from 1."""
    return re.sub(r"^(\w+\[)([0-9]+)", lambda found: f"{found[1]}{int(found[2]) + 1}", message)


def parsed(place: str) -> tuple[int, str] | None:
    """Return index from 0 and key of ``mechanism[k].key``; None if it is written otherwise."""
    found = _PLACE.fullmatch(place)
    return (int(found[1]) - 1, found[2] or "") if found else None


def span(content: str, index: int) -> tuple[int, int] | None:
    """Return where the text of a [[mechanism]] table stands, its head included.

    None where the text cannot be told apart, as in an array of inline tables.
    """
    tables = tomllib.loads(content).get("mechanism")
    heads = [head.start() for head in _HEAD.finditer(content)]
    if not isinstance(tables, list) or not index < len(heads) == len(tables):
        return None
    start, end = [*heads, len(content)][index : index + 2]
    try:
        alone = tomllib.loads(content[start:end])
    except tomllib.TOMLDecodeError:
        return None
    return (start, end) if alone == {"mechanism": [tables[index]]} else None  # a head in a text is no head


def located(name: str, content: str, error: TradeOffError) -> str:
    r"""Return an error with the file, and the line of the entry that it begins with where there is one.

    >>> located("plan", "[[mechanism]]\nscale = -1", TradeOffError("mechanism[1].scale = -1 is too small"))
    'plan: line 2: mechanism[1].scale = -1 is too small'
    """
    place = _ENTRY.match(str(error))
    line = _line(content, place[0]) if place else None
    return f"{name}: line {line}: {error}" if line else f"{name}: {error}"


def _line(content: str, place: str) -> int | None:
    found = parsed(place)
    if found is None:
        return _first(_HEAD.split(content, 1)[0], lambda table: place.partition("[")[0] in table)
    index, key = found
    where = span(content, index)
    if where is None:
        return None
    inside = _first(content[slice(*where)], lambda table: key in table["mechanism"][0])
    return content.count("\n", 0, where[0]) + (inside or 1)


def _first(text: str, has: Callable[[dict[str, Any]], bool]) -> int | None:
    """Return the line of the statement that makes ``has`` true: it begins after the last text that parses."""
    lines, before = text.split("\n"), 0
    for n in range(1, min(len(lines), _LONGEST) + 1):
        with suppress(tomllib.TOMLDecodeError):
            if has(tomllib.loads("\n".join([*lines[:n], ""]))):
                return before + 1
            before = n
    return None
