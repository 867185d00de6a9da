"""Classes declared by fields, each with its meaning, its values in words, and a check that converts it."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar, dataclass_transform

import numpy as np

from tradeoff.curves.parameters import MOST, choice, count, is_masked, number, probability
from tradeoff.errors import domain

P = ParamSpec("P")
T = TypeVar("T")


class Declared:
    """Object of declared fields, which are checked and converted when it is made."""

    @property
    def unshown(self) -> Mapping[str, Any]:
        """Defaults that ``parameters()`` leaves out, by name."""
        return {}

    def __post_init__(self) -> None:
        """Replace fields by checked values, but None where it means an absent one; check them together."""
        for each in fields(self):  # type: ignore[arg-type]  # a dataclass
            value = getattr(self, each.name)
            if "check" in each.metadata and not (value is None and each.default is None):
                object.__setattr__(self, each.name, each.metadata["check"](each.name, value))
        self._check()

    def _check(self) -> None:
        """Raise where the fields do not fit each other."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name, without those that are None."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # a dataclass
        return {name: value for name, value in values.items() if value not in (None, self.unshown.get(name))}

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({arguments})"


def parameter(
    doc: str, values: str, check: Callable[[str, Any], Any], *, default: Any = MISSING, kw_only: bool = False
) -> Any:
    """Return the field of a parameter: its meaning, its values in words, and the check that converts it."""
    values += {MISSING: "", None: ", optional"}.get(default, f", default {default!r}")
    return field(default=default, metadata={"check": check, "doc": doc, "values": values}, kw_only=kw_only)


def real(doc: str, interval: str, *, default: Any = MISSING, kw_only: bool = False) -> Any:
    """Return the field of a float in an interval such as ``(0, inf]``."""
    return parameter(doc, f"float in {interval}", in_interval(interval), default=default, kw_only=kw_only)


def integer(doc: str, low: int = 1, high: float = MOST, *, default: Any = MISSING) -> Any:
    """Return the field of an integer from ``low`` to ``high``."""
    values = f"int from {low}" + (f" to {high}" if high < MOST else "")
    return parameter(doc, values, partial(count, low=low, high=high), default=default)


def one_of(doc: str, *words: str, default: Any = MISSING) -> Any:
    """Return the field of one of the words."""
    return parameter(
        doc, f"one of {', '.join(map(repr, words))}", partial(choice, allowed=words), default=default
    )


noise_field = partial(
    real, "Standard deviation over the largest l2-norm that one record adds to the sum.", "(0, inf]"
)
rate_field = partial(real, "Probability that a record enters the batch.", "[0, 1]")
optional_delta = partial(real, interval="[0, 1)", default=0.0, kw_only=True)


def declare(cls: type[T], *, frozen: bool) -> type[T]:
    """Make a class a dataclass; its summary, fields, notes and examples become the sections of numpydoc."""
    summary, _, rest = inspect.cleandoc(cls.__doc__ or "").partition("\n\n")
    cls = dataclass(frozen=frozen, eq=frozen, repr=False)(cls)
    if rest and not rest.startswith("Parameters"):
        notes, _, examples = rest.partition("\n\n>>> ")
        fill = partial(textwrap.fill, width=100, initial_indent="    ", subsequent_indent="    ")
        rows = [
            f"{each.name} : {each.metadata['values']}\n{fill(each.metadata['doc'])}\n"
            for each in fields(cls)  # type: ignore[arg-type]  # a dataclass
        ]
        sections = {"Parameters": "".join(rows), "Notes": f"{notes}\n", "Examples": f">>> {examples}\n"}
        text = (f"{name}\n{'-' * len(name)}\n{section}" for name, section in sections.items())
        cls.__doc__ = "\n".join([f"{summary}\n", *text])
    cls.__init__ = suggest_names(cls.__init__)  # type: ignore[method-assign]  # the constructor of a dataclass
    return cls


@dataclass_transform(eq_default=False, field_specifiers=(parameter, real, integer))
def stateful(cls: type[T]) -> type[T]:
    """Declare a class of objects that change by the fields of its constructor."""
    return declare(cls, frozen=False)


SYNONYMS = {  # names of parameters and kinds in other libraries
    **dict.fromkeys(("sigma", "std", "noise", "noise_std"), "noise_multiplier"),
    **dict.fromkeys(("q", "rate", "sampling_rate", "sampling_probability"), "sample_rate"),
    **dict.fromkeys(("num_steps", "iterations"), "steps"),
    "num_epochs": "epochs",
    "number_of_examples": "dataset_size",
    "eps": "epsilon",
    **dict.fromkeys(("dp-sgd", "dpsgd", "dp_sgd", "sampled-gaussian"), "subsampled-gaussian"),
}
COUNTS = ("count", "rounds", "steps", "num_steps", "iterations", "n")  # names of a number of runs


def closest(word: str, allowed: Collection[str]) -> str:
    """Return the allowed name that is probably meant by an unknown one, or none."""
    counts = COUNTS if word in COUNTS else ()
    names = (SYNONYMS.get(word, ""), *counts, *get_close_matches(word, allowed, 1))
    return next((each for each in names if each in allowed), "")


def suggest(word: str, allowed: Collection[str]) -> str:
    """Return advice for an unknown name, if there is any."""
    if word in {"epsilon", "eps"} and "scale" in allowed and "epsilon" not in allowed:
        return "scale is the sensitivity over epsilon"
    meant = closest(word, allowed)
    return f"did you mean {meant}?" if meant else ""


def suggest_names(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function, or a constructor, whose error for unknown keywords names the parameters meant."""
    names = [name for name in inspect.signature(function).parameters if name != "self"]

    def advise(kind: str, name: str) -> str:
        if name in {*COUNTS, "epochs", "num_epochs"} and SYNONYMS.get(name) not in names:
            rounds = ", epochs over sample_rate," if "epochs" in name and "sample_rate" in names else ""
            return f"the number of runs{rounds} is that of a Plan, or of {kind}(...).guarantee(n)"
        return suggest(name, names) or f"its parameters are {', '.join(names)}"

    @wraps(function)
    def checked(*args: P.args, **given: P.kwargs) -> T:
        kind = type(args[0]).__name__ if function.__name__ == "__init__" else function.__name__
        # A number without a name may be meant for the curve of the same name, whose parameter is the inverse.
        inverses = {"Gaussian": "mu", "Laplace": "epsilon"}
        if kind in inverses and len(args) > 1:
            raise TypeError(
                f"mechanisms.{kind} takes its parameters by name, as in {kind}({names[0]}={args[1]!r}); "
                f"the curve tradeoff.{kind}({inverses[kind]}) takes the inverse"
            )
        unknown = [
            f"{kind} has no parameter {name!r}; {advise(kind, name)}" for name in given if name not in names
        ]
        if unknown:
            raise TypeError(". ".join(unknown).replace("?.", "?"))
        return function(*args, **given)

    return checked


def in_interval(interval: str) -> Callable[[str, Any], float]:
    """Return the check of a float in an interval such as ``(0, inf]``."""
    if interval == "[0, 1]":
        return lambda name, value: float(probability(name, number(name, value, 0, 1)))
    low, high = map(float, interval[1:-1].split(","))
    return partial(number, low=low, high=high, open_low=interval[0] == "(", open_high=interval[-1] == ")")


def tuple_of(name: str, values: Any, check: Callable[[str, Any], T], kind: str = "numbers") -> tuple[T, ...]:
    """Return a list of numbers as a tuple, each checked."""
    if isinstance(values, str | bytes | AbstractSet | Mapping) or not np.iterable(values):
        raise domain(name, values, f"a list of {kind}")
    return tuple(check(f"{name}[{k}]", each) for k, each in enumerate(values))


def numbers(name: str, value: Any, check: Callable[[str, Any], float]) -> float | tuple[float, ...]:
    """Return one number, or a list of at least one, each checked."""
    if not isinstance(value, list | tuple | np.ndarray) or getattr(value, "ndim", 1) == 0 or is_masked(value):
        return check(name, value)
    if len(value) == 0:
        raise domain(name, value, "a list of at least one real number")
    return tuple_of(name, value, check)
