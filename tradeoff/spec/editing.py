"""One number of a plan file changed in its text: everything else, comments included, stays as written."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from inspect import signature
from typing import Any

from tradeoff.errors import PlanError
from tradeoff.mechanisms import KINDS
from tradeoff.spec.entries import shortened
from tradeoff.spec.places import parsed, span, table_name

_NUMBER = re.compile(r"\b(int|float)\b")


def replaced(content: str, place: str, value: float) -> str:
    r"""Return the text of a plan with another number in one place, ``mechanism[k].key``, k from 1.

    A key left out in the text is added. Raises ``PlanError`` if there is no such place, or its value is no
    number on a line of its own.

    Examples
    --------
    >>> print(
    ...     replaced('[[mechanism]]\nkind = "laplace"\nscale = 10  # of a count', "mechanism[1].scale", 12.5)
    ... )
    [[mechanism]]
    kind = "laplace"
    scale = 12.5  # of a count
    """
    table, key = _entry(content, place)
    wanted = tomllib.loads(content)
    wanted["mechanism"][table][key] = value
    where = span(content, table)
    if where is not None:
        start, end = content.index("\n", where[0]) + 1, where[1]
        line = re.compile(rf"^([ \t]*{key}[ \t]*=[ \t]*)[^\s#]+", flags=re.MULTILINE)
        text, n = line.subn(lambda found: f"{found[1]}{value!r}", content[start:end], count=1)
        end_of_line = "\r\n" if content[start - 2 : start] == "\r\n" else "\n"
        text = text if n else f"{key} = {value!r}{end_of_line}{text}"
        found = content[:start] + text + content[end:]
        with suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(found) == wanted:
                return found
    raise PlanError(f"{place} does not stand on a line of its own below [[mechanism]]; write it there")


def is_whole(content: str, place: str) -> bool:
    """Whether a place of a plan takes whole numbers only, as a count or a number of steps does."""
    table, key = _entry(content, place)
    kind = KINDS[tomllib.loads(content)["mechanism"][table]["kind"]]
    return key == "count" or "float" not in str(signature(kind).parameters[key].annotation)


def _entry(content: str, place: str) -> tuple[int, str]:
    """Return index and key of a place that may hold a number."""
    tables: list[dict[str, Any]] = tomllib.loads(content)["mechanism"]
    table, key = parsed(place) or (len(tables), "")
    if table >= len(tables):
        first, last = table_name(0), table_name(len(tables) - 1)
        raise PlanError(f"{shortened(place)} is no place in this plan; allowed: {first}.KEY to {last}.KEY")
    parameters = signature(KINDS[tables[table]["kind"]]).parameters.items()
    numbers = ["count", *(name for name, each in parameters if _NUMBER.search(str(each.annotation)))]
    if key not in numbers or not isinstance(tables[table].get(key, 1), int | float):
        raise PlanError(f"{shortened(place)} is no number that can vary; allowed there: {', '.join(numbers)}")
    return table, key
