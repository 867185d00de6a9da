"""Objects as plain data that JSON holds: one row of a table a kind of object, and every number exact."""

from __future__ import annotations

import json
import math
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from numbers import Real
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import is_masked
from tradeoff.errors import DomainError, TradeOffError, counted, shown

SCHEMA = 1  # version of the outermost form; it grows where an older reader would misread a file

_FRACTION = re.compile(r"-?\d{1,4000}/\d{1,4000}")  # Python reads and prints no more than 4300 digits

# What can be done where an object that is no curve has no form.
_REMEDY = "save the curves, plans and numbers that it holds"

_INFINITE = {"inf": math.inf, "-inf": -math.inf}

_LONGEST_PLACE = 100  # characters of the place of an entry, so that an error stays a sentence

_QUOTE = "'"  # before a text that looks like a number, or begins so itself


@dataclass(frozen=True)
class Form:
    """How objects of one class, and of no subclass, are written and read.

    ``fields`` writes by name what ``make`` checks and makes equal again; ``optional`` names may be left out.
    """

    type: type
    fields: Callable[[Any], Mapping[str, Any]]
    make: Callable[..., Any]
    names: tuple[str, ...]
    optional: tuple[str, ...] = ()


def attributes(kind: type, **names: str) -> Form:
    """Return the form of a class that is made from some of its attributes, ``name="attribute"``."""
    return Form(
        kind,
        lambda found: {name: getattr(found, attribute) for name, attribute in names.items()},
        kind,
        tuple(names),
    )


def record(kind: type) -> Form:
    """Return the form of a dataclass by its fields, of their types; a number that is NaN is left out."""
    optional = tuple(each.name for each in fields(kind) if each.default is not MISSING)

    def checked(values: dict[str, Any]) -> dict[str, Any]:
        hints = get_type_hints(kind)
        for name, value in values.items():
            if not _is_a(value, hints[name]):
                wanted = getattr(hints[name], "__name__", hints[name])
                raise DomainError(f"{name} = {shown(value)} is not of the type {wanted}")
        return values

    def given(found: Any) -> dict[str, Any]:
        values = {each.name: getattr(found, each.name) for each in fields(kind)}
        unknown = [name for name in optional if isinstance(values[name], float) and math.isnan(values[name])]
        return checked({name: value for name, value in values.items() if name not in unknown})

    def made(**values: Any) -> Any:
        found = kind(**values)
        checked(values)
        return found

    return Form(kind, given, made, tuple(each.name for each in fields(kind)), optional)


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type: a class, a union, or tuples of such."""
    inner = get_args(hint)
    match get_origin(hint):
        case None if hint in (int, float):
            return isinstance(value, Real if hint is float else int) and not isinstance(value, bool)
        case types.UnionType:
            return any(_is_a(value, each) for each in inner)
        case kind if kind is tuple:
            return isinstance(value, tuple) and all(_is_a(each, inner[0]) for each in value)
        case kind:
            return hint is Any or isinstance(value, kind or hint)


@dataclass(frozen=True)
class Codec:
    """A table of forms by the name that stands in the data; it writes and reads whatever is made of them.

    Floats are JSON numbers, written so that they read back to the last bit; infinities are the texts "inf"
    and "-inf", fractions texts such as "1/3", other texts themselves; tables are what a form writes, with
    its name as "kind". A curve that is not exact has ``"exact": false`` next to its entries.
    """

    forms: Mapping[str, Form]

    def encode(self, value: Any) -> Any:
        """Return plain data; ``DomainError`` if a part of it has no form."""
        match value := _unwrapped(value):
            case None | bool() | int():
                return value
            case str():
                return _quoted(value)
            case Fraction():
                return _written(value)
            case float():
                return _number(value)
            case tuple() | list() | np.ndarray() if not is_masked(value):
                return [self.encode(each) for each in value]
        for kind, form in self.forms.items():
            if type(value) is form.type:
                entries = {name: self.encode(each) for name, each in form.fields(value).items()}
                bound = isinstance(value, TradeOff) and not value.exact
                return {"kind": kind} | entries | ({"exact": False} if bound else {})
        remedy = _REMEDY
        if isinstance(value, TradeOff):
            below = "of a curve save .lower, which is below it and does"
            assumed = "what a curve assumes is in no file: keep it where it was made"
            remedy = assumed if value.assumptions else below
        raise DomainError(f"{shown(value)} has no form in a file; {remedy}")

    def decode(self, data: Any, where: str = "it") -> Any:
        """Return what plain data stand for; ``DomainError`` names the first place that is not allowed."""
        match data:
            case None | bool() | int():
                return data
            case float() if math.isfinite(data):
                return data
            case str():
                return _text(data, where)
            case list():
                return tuple(self.decode(each, f"{where}[{i}]") for i, each in enumerate(data))
            case dict():
                return self._made(data, where)
        raise DomainError(f"{where} = {shown(data)} is no number, text, array or table that a file may hold")

    def _made(self, data: dict[str, Any], where: str) -> Any:
        kind = data.get("kind")
        form = self.forms.get(kind) if isinstance(kind, str) else None
        if form is None:
            raise DomainError(f"{where}.kind = {shown(kind)} is none of {', '.join(self.forms)}")
        inside = f"{where}." if len(where) < _LONGEST_PLACE else f"{where[:_LONGEST_PLACE]}..."
        found = {name: self.decode(each, inside + name) for name, each in data.items() if name != "kind"}
        names = set(form.names)
        bound = None if "exact" in names else found.pop("exact", None)
        if bound is not None and bound is not False:
            raise DomainError(f"{where}.exact must be false or left out, got {shown(bound)}")
        missing = names - found.keys() - set(form.optional)
        for wrong, why in ((found.keys() - names, "unknown"), (missing, "missing")):
            if wrong:
                has = ", ".join(form.names) or "no entries"
                raise DomainError(f"{where}.{min(wrong)} is {why}; a {kind} has {has}")
        try:
            made = form.make(**found)
            return limited(made, BOUND) if bound is False and isinstance(made, TradeOff) else made
        except (TradeOffError, TypeError, ValueError, AttributeError, ArithmeticError, LookupError) as error:
            raise DomainError(f"{where}: is no {kind}: {error}") from error

    def dumps(self, thing: Any, *, indent: int | None = None) -> str:
        """Return the text of a document that holds ``thing``; ``DomainError`` if a part of it has no form."""
        try:
            content = {"schema": SCHEMA, "tradeoff": self.encode(thing)}
            text = json.dumps(content, indent=indent, ensure_ascii=False)
            text.encode()
        except RecursionError:
            what = f"the {type(thing).__name__} is nested too deeply for a file, or in itself"
            raise DomainError(f"{what}; save its parts") from None
        except DomainError:
            raise
        except ValueError as error:  # half of a letter, or an integer of thousands of digits
            raise DomainError(f"{shown(thing)} has no form in a file: {error}") from error
        return text

    def loads(self, content: str) -> Any:
        """Return what a document holds; ``ValueError`` if it is no JSON, else ``DomainError`` says why."""
        try:
            return self.decode(_body(json.loads(content, object_pairs_hook=_table, parse_constant=_refuse)))
        except RecursionError:
            raise DomainError("is nested too deeply") from None


def _unwrapped(value: Any) -> Any:
    """Return the number that a scalar of NumPy is: a fraction where no float is."""
    if isinstance(value, np.ndarray) and value.ndim == 0 and not is_masked(value):
        value = value[()]
    if isinstance(value, float):  # of NumPy, too
        return float(value)
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    if not isinstance(value, np.floating):
        return value
    return float(value)


def _written(value: Fraction) -> str:
    text = f"{counted(value.numerator)}/{counted(value.denominator)}"
    if not _FRACTION.fullmatch(text):
        raise DomainError("a fraction of thousands of digits has no form in a file; round it first")
    return text


def _number(value: float) -> float | str:
    if math.isnan(value):
        raise DomainError("NaN has no form in a file, as it is no answer")
    return value if math.isfinite(value) else f"{value:g}"


def _quoted(text: str) -> str:
    """Return a text that is read back as one, though it looks like a number or a quoted one."""
    return _QUOTE + text if text in _INFINITE or _FRACTION.fullmatch(text) or text[:1] == _QUOTE else text


def _text(data: str, where: str) -> Any:
    if data[:1] == _QUOTE:
        return data[1:]
    if data in _INFINITE:
        return _INFINITE[data]
    if not _FRACTION.fullmatch(data):
        return data
    try:
        return Fraction(data)
    except ZeroDivisionError:
        raise DomainError(f"{where} = {shown(data)} divides by 0") from None


def _body(data: Any) -> Any:
    if not (isinstance(data, dict) and data.keys() == {"schema", "tradeoff"}):
        raise DomainError('is no file of tradeoff: it must hold {"schema": ..., "tradeoff": ...}')
    if data["schema"] != SCHEMA or isinstance(data["schema"], bool):
        raise DomainError(
            f"schema = {shown(data['schema'])} is not {SCHEMA}, the one this version reads; "
            "use the version that wrote it"
        )
    return data["tradeoff"]


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise DomainError(f"an entry stands twice among {', '.join(name for name, _ in pairs)}")
    return found


def _refuse(name: str) -> None:
    raise DomainError(f'{name} is no number of JSON; infinities are written "inf" and "-inf"')
