"""From a plan and its questions to TOML."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import DomainError, PlanError, file_name, shown
from tradeoff.mechanisms import KINDS, Mechanism
from tradeoff.spec.curves import written
from tradeoff.spec.entries import wrong
from tradeoff.spec.reading import MOST, QUESTIONS, PlanFile
from tradeoff.whole_files import write_whole


def dumps(content: PlanFile) -> str:
    """Write a plan file as TOML text, which ``loads`` reads back to an equal plan within its limits.

    Parameters
    ----------
    content
        The plan, its title and its questions.

    Returns
    -------
    str
        TOML text.

    Raises
    ------
    PlanError
        If there is no mechanism, or one that no file can hold.

    Examples
    --------
    >>> from tradeoff.mechanisms import Laplace, Plan
    >>> print(dumps(PlanFile("five counts", Plan({Laplace(scale=10): 5}), delta=(1e-5,))))
    title = "five counts"
    adjacency = "add-remove"
    delta = [1e-05]
    <BLANKLINE>
    [[mechanism]]
    kind = "laplace"
    scale = 10.0
    sensitivity = 1.0
    count = 5
    <BLANKLINE>
    """
    if not isinstance(content, PlanFile):
        raise PlanError(f"{shown(content)} is no PlanFile; give PlanFile(title, plan)")
    if not content.plan.mechanisms:
        raise PlanError("the plan has no mechanism, and a plan file holds at least one")
    head = [("title", content.title), ("adjacency", content.plan.adjacency)]
    asked = [(name, list(getattr(content, name))) for name in QUESTIONS if getattr(content, name)]
    tables = ["[[mechanism]]\n" + _lines(_entries(*each)) for each in content.plan.mechanisms.items()]
    return "\n".join([_lines([*head, *asked]), *tables])


def dump(content: PlanFile, path: str | Path) -> None:
    """Write a plan file: whole, or not at all.

    Parameters
    ----------
    content
        The plan, its title and its questions.
    path
        Where to write; an existing file is replaced, and a link stays and leads to the plan.

    Raises
    ------
    PlanError
        If the plan cannot be held by a file, or the file cannot be written, is read-only or no plain file.
    DomainError
        If ``path`` names no file at all.

    Examples
    --------
    >>> import tempfile
    >>> from tradeoff.mechanisms import Laplace, Plan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "plan.toml"
    ...     dump(PlanFile("five counts", Plan({Laplace(scale=10): 5})), path)
    ...     path.read_text(encoding="utf-8").splitlines()[0]
    'title = "five counts"'
    """
    text, target = dumps(content), file_name(path)
    try:
        write_whole(target, text)
    except DomainError as error:
        raise PlanError(str(error)) from error


def _entries(mechanism: Mechanism, n: int) -> list[tuple[str, Any]]:
    if KINDS.get(mechanism.kind) is not type(mechanism):
        raise PlanError(f"{mechanism!r} is of no kind that a plan file can hold: {', '.join(KINDS)}")
    if n > MOST:
        raise wrong(f"the count of {mechanism!r}", n, "a whole number below 2^63, as TOML has it")
    return [("kind", mechanism.kind), *mechanism.parameters().items(), ("count", n)]


def _lines(entries: list[tuple[str, Any]]) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in entries)


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, TradeOff):
        return _value(written(value))
    if isinstance(value, Mechanism):
        *inner, _ = _entries(value, 1)  # the mechanism around it is counted
        return f"{{{', '.join(f'{name} = {_value(each)}' for name, each in inner)}}}"
    if isinstance(value, Fraction):
        raise PlanError(f"{shown(value)} is no number of TOML; give a float, or save the plan as JSON")
    if isinstance(value, str):
        # A TOML basic string escapes as JSON does, and DEL besides.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value).lower() if isinstance(value, bool) else repr(value)
