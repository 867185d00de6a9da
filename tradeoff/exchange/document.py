"""The outermost form of a file: what it holds, and the number of the schema."""

from __future__ import annotations

import json
from typing import Any

from tradeoff.errors import DomainError, shown
from tradeoff.exchange.codec import Codec

SCHEMA = 1  # version of the form; it grows where an older reader would misread a file


def written(codec: Codec, thing: Any, *, indent: int | None = None) -> str:
    """Return the text of a document that holds ``thing``; ``DomainError`` if a part of it has no form."""
    try:
        content = {"schema": SCHEMA, "tradeoff": codec.encode(thing)}
        text = json.dumps(content, indent=indent, ensure_ascii=False)
        text.encode()
    except RecursionError:
        what = f"the {type(thing).__name__} is nested too deeply for a file, or in itself"
        raise DomainError(f"{what}; save its parts") from None
    except ValueError as error:  # half of a letter, or an integer of thousands of digits
        if isinstance(error, DomainError):
            raise
        raise DomainError(f"{shown(thing)} has no form in a file: {error}") from error
    return text


def read(codec: Codec, content: str) -> Any:
    """Return what a document holds; ``ValueError`` if it is no JSON, else ``DomainError`` says why not."""
    try:
        return codec.decode(_body(json.loads(content, object_pairs_hook=_table, parse_constant=_refuse)))
    except RecursionError:
        raise DomainError("is nested too deeply") from None


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
