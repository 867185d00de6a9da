"""From a TOML file to a plan and the questions asked of it."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, cast, get_args

from tradeoff.curves.parameters import count
from tradeoff.display import Displayed, Grid
from tradeoff.errors import DomainError, PlanError, file_name, shown
from tradeoff.mechanisms import KINDS, Adjacency, Mechanism, Plan
from tradeoff.mechanisms.base import MAX_NESTING
from tradeoff.spec import curves
from tradeoff.spec.entries import known, number, numbers, shortened, table, text, wrong
from tradeoff.spec.limits import limit, readable, within
from tradeoff.spec.places import from_one, located, table_name
from tradeoff.whole_files import read_text

# What can be asked, and the range it is asked in.
QUESTIONS: dict[str, tuple[float, float]] = {
    "delta": (0.0, 1.0),
    "epsilon": (-float("inf"), float("inf")),
    "alpha": (0.0, 1.0),
}

MOST = 2**63 - 1  # greatest count of a mechanism: the greatest integer that TOML holds


@dataclass(frozen=True, repr=False)
class PlanFile(Displayed):
    """What a plan file holds: a title, a plan, and the questions asked of it.

    Parameters
    ----------
    title
        Any text.
    plan
        Mechanisms with their counts, and the neighbours they are stated for.
    delta, epsilon, alpha
        Questions: probabilities in [0, 1], losses in nats, type I errors in [0, 1].
    """

    title: str
    plan: Plan
    delta: tuple[float, ...] = ()
    epsilon: tuple[float, ...] = ()
    alpha: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        text("title", self.title)
        if not isinstance(self.plan, Plan):
            raise PlanError(f"plan = {shown(self.plan)} is no Plan; give Plan({{mechanism: count}})")
        for name, span in QUESTIONS.items():
            object.__setattr__(self, name, numbers(name, getattr(self, name), *span))

    def grid(self) -> Grid:
        asked = {name: getattr(self, name) for name in QUESTIONS}
        notes = [f"{name}: {', '.join(f'{x:g}' for x in at)}" for name, at in asked.items() if at]
        head = ", ".join(filter(None, [self.title, f"{self.plan.adjacency} neighbours"]))
        return self.plan.grid()._replace(head=head, notes=notes)


def load(path: str | Path) -> PlanFile:
    r"""Read a plan file; equal mechanisms are merged and their counts added.

    Parameters
    ----------
    path
        A TOML file: ``title``, ``adjacency``, ``delta``, ``epsilon``, ``alpha``, all optional, and at least
        one ``[[mechanism]]`` with a ``kind``, the parameters of that kind, and a ``count`` (default 1).

    Raises
    ------
    PlanError
        If the file cannot be read or an entry is not allowed: one line with file, line, entry, value and what
        is allowed. Entries are counted from 1, as in ``mechanism[1].scale``.
    DomainError
        If ``path`` names no file at all.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "plan.toml"
    ...     _ = path.write_text("[[mechanism]]\nkind = 'laplace'\nscale = 10\n")
    ...     load(path).plan.guarantee()
    Lap_{0.1}
    """
    place = file_name(path)
    return loads(read_plan(place), name=str(path), folder=place.parent)


def read_plan(path: Path, *, keep_line_ends: bool = False) -> str:
    """Read the text of a plan file, or its beginning if it is too long; else ``PlanError``."""
    try:
        return read_text(path, limit("letters"), keep_line_ends=keep_line_ends)
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeError as error:
        raise PlanError(f"{path}: is not UTF-8 text, so it is no TOML file") from error


def loads(content: str, *, name: str = "plan", folder: str | Path = ".") -> PlanFile:
    r"""Read a plan and its questions from TOML text, with the errors of ``load``.

    Parameters
    ----------
    content
        TOML text, as ``load`` takes it from a file.
    name
        What errors call the text.
    folder
        Where files that the plan names are looked for.

    Examples
    --------
    >>> loads('[[mechanism]]\nkind = "laplace"\nscale = 10\ncount = 5').plan
    Plan({Laplace(scale=10.0, sensitivity=1.0): 5})
    """
    try:
        found = _parsed(readable(text("content", content)))
    except PlanError as error:
        raise PlanError(f"{name}: {error}") from error
    try:
        return _plan_file(found, file_name(folder))
    except (PlanError, DomainError) as error:
        raise PlanError(located(name, content, error)) from error


def _parsed(content: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(content, parse_float=_float)
    except PlanError:
        raise
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"is not valid TOML: {error}") from error
    except RecursionError:
        raise PlanError("is nested too deeply; a plan holds tables and numbers in arrays") from None
    except ValueError as error:  # int() refuses thousands of digits, which it would read in quadratic time
        raise PlanError("holds an integer of thousands of digits; a count has at most 19") from error


def _float(text: str) -> float:
    """Read a float; 1e400 is not infinite noise, nor 1e-400 a rate of 0, unless the file says inf or 0."""
    value = float(text)
    mantissa = text.lower().partition("e")[0]
    if (math.isinf(value) and "inf" not in text) or (value == 0 and any(c in "123456789" for c in mantissa)):
        raise PlanError(f"{shortened(text)} is outside the range of floats; write inf or 0 if that is meant")
    return value


def _plan_file(content: Mapping[str, Any], folder: Path) -> PlanFile:
    known("", content, ("title", "adjacency", *QUESTIONS, "mechanism"))
    adjacency = text("adjacency", content.get("adjacency", "add-remove"), get_args(Adjacency))
    lists = [content[name] for name in QUESTIONS if isinstance(content.get(name), list)]
    within("questions", sum(map(len, lists)), "questions")
    asked = {name: numbers(name, content.get(name, []), *span) for name, span in QUESTIONS.items()}
    counts: dict[Mechanism, int] = {}
    for where, entry in _entries(content.get("mechanism")):
        mechanism, n = _mechanism(where, entry, folder)
        _fits(where, mechanism, adjacency)
        counts[mechanism] = counts.get(mechanism, 0) + n
    plan = Plan(counts, adjacency)  # type: ignore[arg-type]  # checked against the literal above
    title = text("title", content.get("title", ""))
    within("title", len(title), "letters of title")
    return PlanFile(title, plan, **asked)


def _entries(found: Any) -> list[tuple[str, Mapping[str, Any]]]:
    if found is None or found == []:
        raise PlanError("mechanism is missing; allowed: at least one [[mechanism]] table")
    if not isinstance(found, list):
        raise PlanError("mechanism is not an array of tables; write [[mechanism]], with double brackets")
    named = [(table_name(i), entry) for i, entry in enumerate(found)]
    return [(where, table(where, entry, "a [[mechanism]] table")) for where, entry in named]


def step(where: str, entry: Mapping[str, Any], neighbours: str) -> tuple[Mechanism, int, Adjacency]:
    """Return what a table with a ``kind`` describes, how often it runs, and for which neighbours."""
    adjacency = cast("Adjacency", text("adjacency", neighbours, get_args(Adjacency)))
    mechanism, n = _mechanism(where, entry, Path())
    _fits(where, mechanism, adjacency)
    return mechanism, n, adjacency


def _mechanism(where: str, entry: Mapping[str, Any], folder: Path) -> tuple[Mechanism, int]:
    first, _, parts = where.partition(".")
    if parts.count("mechanism") > MAX_NESTING:
        raise PlanError(f"{first} must nest at most {MAX_NESTING} mechanisms")
    if "kind" not in entry:
        raise PlanError(f"{where}.kind is missing; allowed: {', '.join(KINDS)}")
    kind = KINDS[text(f"{where}.kind", entry["kind"], KINDS)]
    parameters = dict(signature(kind).parameters)
    known(f"{where}.", entry, ("kind", *parameters, "count"))
    for name, parameter in parameters.items():
        if name not in entry and parameter.default is Parameter.empty:
            raise PlanError(f"{where}.{name} is missing; a {kind.kind} mechanism needs it")
    given = {
        name: _parameter(f"{where}.{name}", entry[name], str(parameters[name].annotation), folder)
        for name in parameters.keys() & entry.keys()
    }
    number(f"{where}.count", written := entry.get("count", 1))
    try:
        found = kind(**given)
        n = count("count", written)
    except DomainError as error:
        raise PlanError(f"{where}.{from_one(str(error))}") from error
    if n > MOST:
        raise wrong(f"{where}.count", written, "a whole number below 2^63, as TOML has it")
    return found, n


def _parameter(where: str, value: Any, annotation: str, folder: Path) -> Any:
    """Check the type only: the mechanism knows its own range."""
    if "TradeOff" in annotation:
        return curves.read(where, value, folder)
    if "tuple" in annotation and isinstance(value, list):
        numbers(where, value)
        return tuple(value)
    if "Mechanism" in annotation:
        inner, n = _mechanism(where, table(where, value, "a table with a kind, as [[mechanism]] is"), folder)
        if n != 1:
            raise wrong(f"{where}.count", n, "1; the [[mechanism]] around it is counted")
        return inner
    if any(word in annotation for word in ("str", "Adjacency", "Scheme")):
        return text(where, value)
    if annotation == "bool":
        if not isinstance(value, bool):
            raise wrong(where, value, "true or false")
        return value
    number(where, value)
    return value


def _fits(where: str, mechanism: Mechanism, adjacency: str) -> None:
    if mechanism.adjacency not in (None, adjacency):
        raise PlanError(
            f'{where}.kind = "{mechanism.kind}" is stated for "{mechanism.adjacency}" neighbours, '
            f'and adjacency = "{adjacency}"; '
            f'allowed with it: adjacency = "{mechanism.adjacency}", or mechanisms that do not sample'
        )
