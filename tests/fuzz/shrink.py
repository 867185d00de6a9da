"""From a finding to a small one, as a test: descriptions and points made simpler while the same is wrong."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

from tests.fuzz import relations
from tests.fuzz.draw import Drawer
from tests.truth.atoms import PureDP
from tests.truth.built import built
from tests.truth.claims import answers
from tests.truth.spec import Spec
from tradeoff.errors import TradeOffError

SECONDS = 30.0
"""CPU time after which the smallest one so far is printed."""

SIMPLE = PureDP(1.0)
"""Takes the place of any part of a description."""

NAMES = {**vars(relations), "answers": answers, "built": built, "Drawer": Drawer, "Random": Random}
"""Names that a check may use, besides the description ``spec`` and the point ``at``."""


def outcome(spec: Spec, at: Any, check: str) -> str | None:
    """Return what is wrong, in a word; None if the check holds, or the question is refused."""
    try:
        return None if eval(check, {**NAMES, "spec": spec, "at": at}) else "wrong"
    except TradeOffError:
        return None
    except Exception as error:  # noqa: BLE001 - any exception is the finding
        return type(error).__name__


def shrunk(spec: Spec, at: Any, check: str, seconds: float = SECONDS) -> tuple[Spec, Any]:
    """Return the simplest description and point of which the same is wrong."""
    result, expected, stop = (spec, at), outcome(spec, at, check), time.process_time() + seconds
    trials = smaller(result)
    while expected and time.process_time() < stop and (trial := next(trials, None)):
        if outcome(*trial, check) == expected:
            result, trials = trial, smaller(trial)
    return result


def smaller(x: Any) -> Iterator[Any]:
    """Yield what is simpler than a description, a tuple or a number; the simplest first."""
    match x:
        case Spec():
            yield from (SIMPLE, *parts(x)) if x != SIMPLE else ()
            values = {field.name: getattr(x, field.name) for field in fields(x)} if is_dataclass(x) else {}
            for k in range(max((len(v) for v in values.values() if isinstance(v, tuple)), default=0)):
                yield replace(x, **{n: v[:k] + v[k + 1 :] for n, v in values.items() if isinstance(v, tuple)})
            for name, value in values.items():
                yield from (replace(x, **{name: less}) for less in smaller(value))
        case tuple():
            for k in range(len(x)):
                yield from (x[:k] + x[k + 1 :],) if len({*map(type, x)}) == 1 < len(x) else ()
                yield from ((*x[:k], less, *x[k + 1 :]) for less in smaller(x[k]))
        case Fraction():
            near = (x.limit_denominator(most) for most in (2, 10, 100))
            yield from (less for less in near if less.denominator < x.denominator)
        case int():
            yield from (less for less in (1, x // 2, x - 1) if 0 < less < x)
        case float():
            near = (0.5, 1.0, *(float(f"{x:.{digits}g}") for digits in (1, 2, 3, 6, 10)))
            yield from (less for less in near if plain(less) < plain(x))


def parts(x: Any) -> Iterator[Spec]:
    """Yield the descriptions inside of a description."""
    inside = itertools.chain.from_iterable(v if isinstance(v, tuple) else (v,) for v in vars(x).values())
    for part in inside:
        yield from (each for each in (part if isinstance(part, tuple) else (part,)) if isinstance(each, Spec))


def plain(x: float) -> tuple[int, float]:
    """Order floats: fewer digits are simpler, then 1, then 0.5."""
    return len(repr(x)), abs(x - 1)


def as_test(spec: Spec, at: Any, check: str) -> str:
    """Return the smallest test that fails as this one does."""
    spec, at = shrunk(spec, at, check)
    return f"def test_found() -> None:\n    spec, at = {spec!r}, {at!r}\n    assert {check}\n"
