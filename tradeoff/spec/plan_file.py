"""Plan files: from TOML to a plan and its questions, and back.

A *place* is the path of an entry, such as ``mechanism[2].scale``: key ``scale`` of the second table, from 1.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from tradeoff.atomic_write import atomic_write, read_text
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import MAX_COUNT, choice, count, number
from tradeoff.display import Displayed, TextTable
from tradeoff.errors import DomainError, PlanError, TradeOffError, domain, file_name, shown
from tradeoff.mechanisms import KINDS, Adjacency, Mechanism, Plan
from tradeoff.spec.codec import CURVES, Form, check_known, parse_float, pop_form

# Questions and their ranges.
QUESTIONS = {"delta": (0.0, 1.0), "epsilon": (-float("inf"), float("inf")), "alpha": (0.0, 1.0)}
MAX_CHARACTERS = 2**20  # of a plan file: some 20,000 mechanisms, in two seconds
# The head of a table of a mechanism; the number and the key of a place.
_HEAD = re.compile(r"^[ \t]*\[\[[ \t]*mechanism[ \t]*\]\]", flags=re.MULTILINE)
_PLACE = re.compile(r"(?:mechanism\[([1-9][0-9]{0,5})\]\.?)?([A-Za-z0-9_-]*)")
MECHANISMS = {kind: Form(each) for kind, each in sorted(KINDS.items())}


@dataclass(frozen=True, repr=False)
class PlanFile(Displayed):
    """Contents of a plan file: a title, a plan, and the questions to answer.

    Parameters
    ----------
    title : any text
    plan : mechanisms with their counts, and the neighbours they are stated for
    delta, epsilon, alpha : questions: probabilities in [0, 1], losses in nats, type I errors in [0, 1]
    """

    title: str
    plan: Plan
    delta: tuple[float, ...] = ()
    epsilon: tuple[float, ...] = ()
    alpha: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.title, str):
            raise PlanError(f"title must be a string, got {shown(self.title)}")
        if not isinstance(self.plan, Plan):
            raise PlanError(f"plan must be Plan({{mechanism: count}}), got {shown(self.plan)}")
        for name, values in self.questions.items():
            each_of = values if isinstance(values, list | tuple) else (values,)
            checked = tuple(number(name, each, *QUESTIONS[name]) for each in each_of)
            object.__setattr__(self, name, checked)

    @property
    def questions(self) -> dict[str, tuple[float, ...]]:
        """The values of delta, epsilon and alpha."""
        return {name: getattr(self, name) for name in QUESTIONS}

    def grid(self) -> TextTable:
        """Return the table that is printed."""
        notes = [f"{name}: {', '.join(f'{x:g}' for x in at)}" for name, at in self.questions.items() if at]
        head = ", ".join(filter(None, [self.title, f"{self.plan.adjacency} neighbours"]))
        return self.plan.grid()._replace(head=head, notes=notes)


def load(path: str | PathLike[str]) -> PlanFile:
    r"""Read a plan file; equal mechanisms are merged and their counts added.

    Parameters
    ----------
    path
        A TOML file: ``title``, ``adjacency``, ``delta``, ``epsilon``, ``alpha``, all optional, and at least
        one ``[[mechanism]]`` with a ``kind``, the parameters of that kind, and a ``count`` (default 1).
        ``PlanError`` names file, line, entry, value and range; entries are counted from 1, as in
        ``mechanism[1].scale``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "plan.toml")
    ...     _ = path.write_text("[[mechanism]]\nkind = 'laplace'\nscale = 10\n")
    ...     load(path).plan.guarantee()
    Lap_{0.1}
    """
    try:
        content = read_text(file_name(path), MAX_CHARACTERS)
    except DomainError as error:
        raise PlanError(str(error)) from error
    return loads(content, name=str(path), folder=Path(path).parent)


def loads(content: str, *, name: str = "plan", folder: str | PathLike[str] = ".") -> PlanFile:
    r"""Read a plan and its questions from TOML text, with the errors of ``load``.

    Parameters
    ----------
    content : TOML text
    name, folder : name of the text in errors, and folder of the files that the plan names

    Examples
    --------
    >>> loads('[[mechanism]]\nkind = "laplace"\nscale = 10\ncount = 5').plan
    Plan({Laplace(scale=10.0, sensitivity=1.0): 5})
    """
    tables = None
    try:
        if not isinstance(content, str) or len(content) > MAX_CHARACTERS:
            given = f"{len(content):,}" if isinstance(content, str) else shown(content)
            raise PlanError(f"must be a text of at most {MAX_CHARACTERS:,} characters, got {given}")
        tables = tomllib.loads(content, parse_float=parse_float)
        return _read(tables, file_name(folder))
    except TradeOffError as error:
        line = find_line(content, str(error)) if tables else None
        remedy = "convert the text to a number first, with float(...)"
        text = str(error).replace(remedy, "write the number without quotes")
        raise PlanError(f"{name}: line {line}: {text}" if line else f"{name}: {text}") from error
    except RecursionError:
        raise PlanError(f"{name}: must not nest arrays or tables so deeply") from None
    except ValueError as error:
        examples = 'put texts in quotes, as in kind = "gaussian", and write 0.1, not .1'
        remedy = f"; {examples}" if "Invalid value" in str(error) else ""
        raise PlanError(f"{name}: is not valid TOML: {error}{remedy}") from error


def _read(content: Mapping[str, Any], folder: Path) -> PlanFile:
    """Return the plan file of parsed TOML; curves may be in files of the folder."""
    for name in content:
        check_known(name, name, ("title", "adjacency", *QUESTIONS, "mechanism"))
    adjacency = choice("adjacency", content.get("adjacency", "add-remove"), get_args(Adjacency))
    tables = content.get("mechanism")
    if not tables or not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise PlanError("mechanism must be at least one table [[mechanism]], with double brackets")
    counts: dict[Mechanism, int] = {}
    for k, table in enumerate(tables, 1):
        place = f"mechanism[{k}]"
        if form := MECHANISMS.get(str(table.get("kind"))):
            for key in {"title", *QUESTIONS} & table.keys() - form.parameters.keys():
                if key != "epsilon" or "scale" not in form.parameters:  # of which check_known names the scale
                    raise PlanError(f"{place}.{key} must be above the first [[mechanism]], got it in a table")
            for key in [key for key in table if key != "kind"]:
                check_known(f"{place}.{key}", key, (*form.parameters, "count"))
        n = count(f"{place}.count", table.pop("count", 1), 0, MAX_COUNT)
        mechanism = read_mechanism(place, table, folder)
        if mechanism.adjacency not in (None, adjacency):
            remedy = f'set the plan\'s adjacency = "{mechanism.adjacency}"'
            with suppress(TradeOffError):  # of a kind, or a scheme, that is stated for these neighbours, too
                read_mechanism(place, {**table, "adjacency": adjacency}, folder)
                remedy = f'write adjacency = "{adjacency}" in its table, too, or {remedy}'
            raise domain(f"{place}.kind", mechanism.kind, f"stated for {adjacency} neighbours", remedy)
        counts[mechanism] = counts.get(mechanism, 0) + n
    questions = {name: content[name] for name in QUESTIONS if name in content}
    return PlanFile(content.get("title", ""), Plan(counts, adjacency), **questions)  # type: ignore[arg-type]  # a checked word


def read_mechanism(place: str, table: Mapping[str, Any], folder: Path = Path()) -> Mechanism:
    """Return the mechanism that a table with a ``kind`` describes; ``DomainError`` names the place."""
    values = dict(table)
    form = pop_form(MECHANISMS, place, values)
    for name, value in values.items():
        if isinstance(value, dict):
            values[name] = read_mechanism(f"{place}.{name}", value, folder)
        elif name in ("curve", "other_order"):  # JSON, or the name of a file
            if not isinstance(value, str):
                raise domain(f"{place}.{name}", value, "a curve as JSON, or the name of a file")
            try:
                is_json = value.lstrip().startswith("{")
                content = value if is_json else read_text(folder / value, MAX_CHARACTERS)
                values[name] = operand(CURVES.loads(content))
            except (TradeOffError, ValueError) as error:
                raise PlanError(f"{place}.{name}: {error}") from error
    mechanism: Mechanism = form.build(place, values)
    return mechanism


def dumps(content: PlanFile) -> str:
    """Write a plan file as TOML text, which ``loads`` reads back to an equal plan within its limits.

    Parameters
    ----------
    content
        Plan, title and questions. ``PlanError`` for a plan without mechanisms, or with a class of
        your own; ``DomainError`` if its curve has no form in a file.

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
        raise PlanError(f"content must be PlanFile(title, plan), got {shown(content)}")
    if not content.plan.mechanisms:
        raise PlanError("plan must have at least one mechanism to be written")
    questions = {name: values for name, values in content.questions.items() if values}
    head = {"title": content.title, "adjacency": content.plan.adjacency} | questions
    tables = [_entries(each) | {"count": n} for each, n in content.plan.mechanisms.items()]
    lines = ["".join(f"{name} = {_toml(x)}\n" for name, x in table.items()) for table in (head, *tables)]
    return "\n[[mechanism]]\n".join(lines)


def dump(content: PlanFile, path: str | PathLike[str]) -> None:
    """Write a plan file, completely or not at all.

    Parameters
    ----------
    content, path
        Plan, title and questions, and the file to write: an existing file is replaced, and a link stays and
        leads to the plan. ``DomainError`` if the file is read-only, not regular or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from tradeoff.mechanisms import Laplace, Plan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dump(PlanFile("five counts", Plan({Laplace(scale=10): 5})), Path(folder, "plan.toml"))
    ...     load(Path(folder, "plan.toml")).title
    'five counts'
    """
    atomic_write(path, dumps(content))


def _entries(mechanism: Mechanism) -> dict[str, Any]:
    """Return the table of a mechanism: its kind and parameters."""
    if KINDS.get(mechanism.kind) is not type(mechanism):
        raise PlanError(f"mechanism must be of a kind of plan files, got {shown(mechanism)}")
    return {"kind": mechanism.kind, **mechanism.parameters()}


def _toml(value: Any) -> str:
    """Return a value of an entry in TOML: a curve as JSON in a text, a mechanism as an inline table."""
    match value:
        case TradeOff():
            return _toml(CURVES.dumps(value))
        case Mechanism():
            return f"{{{', '.join(f'{name} = {_toml(each)}' for name, each in _entries(value).items())}}}"
        case list() | tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case str():  # a basic string escapes as JSON does, and DEL besides
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value).lower()


def find_table(content: str, index: int) -> tuple[int, int] | None:
    """Return start and end, in the text, of [[mechanism]] number ``index``; None for inline tables."""
    heads = [head.start() for head in _HEAD.finditer(content)]
    tables = tomllib.loads(content).get("mechanism")
    if not isinstance(tables, list) or not index <= len(heads) == len(tables):
        return None
    return heads[index - 1], [*heads, len(content)][index]


def find_line(content: str, error: str) -> int | None:
    """Return the line of a place at the start of an error, or of its table; None if it is not certain."""
    index, key = _PLACE.match(error).groups()  # type: ignore[union-attr]  # it matches the empty text
    head = _HEAD.search(content)
    span = find_table(content, int(index)) if index else (0, head.start() if head else len(content))
    if span is None or '"""' in content or "'''" in content:  # lines of a text may look like entries
        return None
    text = content[slice(*span)]
    before_subtables = re.split(r"^[ \t]*\[mechanism\.", text, maxsplit=1, flags=re.MULTILINE)[0]
    entry = re.search(rf"^[ \t]*{key}[ \t]*=", before_subtables, flags=re.MULTILINE) or re.search(
        rf"^[ \t]*\[mechanism\.{key}\]", text, flags=re.MULTILINE
    )
    if entry is None and not index:
        return None
    return content.count("\n", 0, span[0] + (entry.start() if entry else 0)) + 1


def replace_number(content: str, place: str, value: float) -> str:
    """Return a plan's text with a number, on a line of its own, replaced or added at ``mechanism[k].key``."""
    index, key, _ = find_number(content, place)
    wanted = tomllib.loads(content)  # the edited text must mean this, as the edit is by patterns
    wanted["mechanism"][index - 1][key] = value
    if span := find_table(content, index):
        start, end = content.index("\n", span[0]) + 1, span[1]
        line = re.compile(rf"^([ \t]*{key}[ \t]*=[ \t]*)[^\s#]+", flags=re.MULTILINE)
        text, n = line.subn(lambda match: f"{match[1]}{value!r}", content[start:end], count=1)
        line_end = "\r\n" if content[start - 2 : start] == "\r\n" else "\n"
        edited = content[:start] + (text if n else f"{key} = {value!r}{line_end}{text}") + content[end:]
        with suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(edited) == wanted:
                return edited
    raise domain("--vary", place, "on a line of its own below [[mechanism]]")


def find_number(content: str, place: str) -> tuple[int, str, bool]:
    """Return the table, from 1, and the key of a number in a plan, and whether it is an integer."""
    tables: list[dict[str, Any]] = tomllib.loads(content)["mechanism"]
    match = _PLACE.fullmatch(place)
    index = int(match[1] or 0) if match else 0  # 0 without a table
    if match is None or not 1 <= index <= len(tables):
        places = f"mechanism[K].KEY with K from 1 to {len(tables)}"
        raise domain("--vary", place, places, "write, for example, mechanism[1].noise_multiplier")
    parameters = MECHANISMS[tables[index - 1]["kind"]].parameters
    types = {"count": "int"} | {name: str(each.annotation) for name, each in parameters.items()}
    numbers = [name for name, annotation in types.items() if re.search(r"\b(int|float)\b", annotation)]
    if match[2] not in numbers or not isinstance(tables[index - 1].get(match[2], 1), int | float):
        raise domain("--vary", place, f"mechanism[{index}].KEY with KEY one of {', '.join(numbers)}")
    return index, match[2], "float" not in types[match[2]]
