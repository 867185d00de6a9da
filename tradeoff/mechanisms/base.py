"""Base class of mechanisms, the table of their parameters, and losses rounded up.

A mechanism is a frozen dataclass; each field is made by ``parameter``, with its meaning, its values in words,
and the check that converts it. ``mechanism`` registers the class under its ``kind``, its name in plan files.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from fractions import Fraction
from functools import partial, wraps
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    NoReturn,
    ParamSpec,
    TypeVar,
    dataclass_transform,
    get_args,
)

import numpy as np

from tradeoff.balls import sqrt, to_balls, upper_float
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, PAIR, limited
from tradeoff.curves.parameters import (
    MAX_COUNT,
    MAX_LOSS,
    MOST,
    choice,
    count,
    is_masked,
    number,
    probability,
)
from tradeoff.errors import DomainError, KindError, domain, shown

Adjacency = Literal["add-remove", "replace-one"]
Order = Literal["symmetric", "tied", "free"]
P = ParamSpec("P")
T = TypeVar("T")

LOSS = f"[0, {MAX_LOSS:g}]"  # the interval of a loss

KINDS: dict[str, type[Mechanism]] = {}  # mechanisms by the name they have in a plan file


def kind_name(cls: type) -> str:
    """Return the name of a class in files: that of PureDP is ``pure-dp``."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()


def refuse_attribute(owner: object, name: str) -> NoReturn:
    """Raise the error of a missing attribute, with a remedy where a curve has it."""
    text = f"{type(owner).__name__!r} object has no attribute {name!r}"
    on_curves = not name.startswith("_") and hasattr(TradeOff, name)
    raise AttributeError(f"{text}; use .guarantee().{name}" if on_curves else text)


class Declared:
    """Object of declared fields, which are checked and converted when it is made."""

    unshown: ClassVar[Mapping[str, Any]] = {}  # defaults that ``parameters()`` leaves out

    def __post_init__(self) -> None:
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


class Mechanism(Declared, ABC):
    """Description of one release: noise, sensitivity, sampling, and the neighbours it is stated for.

    A mechanism is not a curve. Its privacy guarantee is ``guarantee()``; a ``Plan`` composes several
    mechanisms.
    """

    kind: ClassVar[str]
    """Name of the mechanism in a plan file; by default the name of its class, as in ``pure-dp``."""

    def __init_subclass__(cls) -> None:
        """Name the kind of a subclass, and mark the results of ``curve()`` that are not exact."""
        if "kind" not in vars(cls):
            cls.kind = kind_name(cls)
        curve: Callable[[Mechanism], TradeOff] | None = vars(cls).get("curve")
        if curve is not None:

            @wraps(curve)
            def limited_curve(self: Mechanism) -> TradeOff:
                return limited(curve(self), PAIR if self.exact else BOUND)

            cls.curve = limited_curve  # type: ignore[method-assign]  # the same method, marked

    @property
    def adjacency(self) -> Adjacency | None:
        """Neighbours the description is stated for; None fits any."""
        return None

    @property
    def exact(self) -> bool:
        """Whether some pair of neighbours has the curve; False where it only bounds those of all pairs."""
        return True

    @property
    def sized(self) -> bool:
        """Whether it is stated for one number of records, which a Poisson sample does not keep."""
        return False

    @property
    def order(self) -> Order:
        """How the two orders of a pair of neighbours are combined in a plan.

        ``"symmetric"``: both have the same curve. ``"tied"``: they may differ, and all tied mechanisms of a
        plan share one order. ``"free"``: they differ, and each release may have either order.
        """
        return "tied" if self.adjacency == "add-remove" else "symmetric"

    @abstractmethod
    def curve(self) -> TradeOff:
        """Return the trade-off function of one run, for one order of the neighbouring pair.

        It is not a guarantee where the two orders differ: use ``guarantee()``.
        """

    def guarantee(self, n: int = 1) -> TradeOff:
        """Return the curve of ``n`` runs that is valid for both orders of every neighbouring pair.

        It is symmetric, and equal to ``Plan({self: n}).guarantee()`` for the neighbours that the mechanism is
        stated for (Dong, Roth, Su 2022, Theorem 3.2, and the hull of the minimum of both orders).

        Parameters
        ----------
        n
            Number of runs, an integer from 0 to :math:`10^{12}`; each draws its noise, and its sample, anew.

        Examples
        --------
        >>> from tradeoff.mechanisms import SubsampledGaussian
        >>> step = SubsampledGaussian(noise_multiplier=0.5, sample_rate=0.5)
        >>> round(step.guarantee()(0.5), 5), round(step.guarantee(100).epsilon(1e-5), 2)
        (0.15866, 137.16)
        """
        from tradeoff.mechanisms.plan import Plan

        return Plan({self: count("n", n, 0, MAX_COUNT)}, self.adjacency or "add-remove").guarantee()

    if not TYPE_CHECKING:  # type checkers report missing attributes themselves
        __getattr__ = refuse_attribute

    def _refuse_operator(self, *_: object) -> NoReturn:
        raise KindError(
            f"{self!r} is a mechanism, not a curve; use {self!r}.guarantee(), or compose mechanisms in "
            "Plan({mechanism: count})"
        )

    __matmul__ = __rmatmul__ = __pow__ = __invert__ = __ge__ = __le__ = __call__ = _refuse_operator
    __add__ = __radd__ = __mul__ = __rmul__ = _refuse_operator


def parameter(
    doc: str, values: str, check: Callable[[str, Any], Any], *, default: Any = MISSING, kw_only: bool = False
) -> Any:
    """Return the field of a parameter: its meaning, its values in words, and the check that converts it."""
    values += {MISSING: "", None: ", optional"}.get(default, f", default {default!r}")
    return field(default=default, metadata={"check": check, "doc": doc, "values": values}, kw_only=kw_only)


def real_range(doc: str, interval: str, *, default: Any = MISSING, kw_only: bool = False) -> Any:
    """Return the field of a float in an interval such as ``(0, inf]``."""
    return parameter(doc, f"float in {interval}", in_interval(interval), default=default, kw_only=kw_only)


def integer_range(doc: str, low: int = 1, high: float = MOST, *, default: Any = MISSING) -> Any:
    """Return the field of an integer from ``low`` to ``high``."""
    values = f"int from {low}" + (f" to {high}" if high < MOST else "")
    return parameter(doc, values, partial(count, low=low, high=high), default=default)


def one_of(doc: str, *words: str, default: Any = MISSING) -> Any:
    """Return the field of one of the words."""
    return parameter(
        doc, f"one of {', '.join(map(repr, words))}", partial(choice, allowed=words), default=default
    )


adjacency_field = partial(one_of, "Neighbours that the mechanism is stated for.", *get_args(Adjacency))
noise_field = partial(
    real_range, "Standard deviation over the largest l2-norm that one record adds to the sum.", "(0, inf]"
)
rate_field = partial(real_range, "Probability that a record enters the batch.", "[0, 1]")


def mechanism_field(doc: str) -> Any:
    """Return the field of a mechanism that another one runs."""
    return parameter(doc, "Mechanism", _check_mechanism)


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


@dataclass_transform(
    frozen_default=True,
    field_specifiers=(parameter, real_range, integer_range, one_of, noise_field, rate_field, mechanism_field),
)
def mechanism(cls: type[T]) -> type[T]:
    """Declare a class of values by its fields, and register the kind of a mechanism."""
    declared = declare(cls, frozen=True)
    if issubclass(declared, Mechanism):
        KINDS[declared.kind] = declared
    return declared


@dataclass_transform(eq_default=False, field_specifiers=(parameter, real_range, integer_range))
def stateful(cls: type[T]) -> type[T]:
    """Declare a class of objects that change by the fields of its constructor."""
    return declare(cls, frozen=False)


SYNONYMS = {  # names of parameters in other libraries
    **dict.fromkeys(("sigma", "std"), "noise_multiplier"),
    **dict.fromkeys(("q", "sampling_rate", "sampling_probability"), "sample_rate"),
    **dict.fromkeys(("num_steps", "iterations"), "steps"),
    "num_epochs": "epochs",
    "number_of_examples": "dataset_size",
    "eps": "epsilon",
}


def by_number(build: Any) -> Any:
    """Return a function of one number: of a class of mechanisms, with the number as first parameter."""
    if isinstance(build, type) and issubclass(build, Mechanism):
        name = next(iter(inspect.signature(build).parameters))
        return lambda x: build(**{name: x})
    return build


def suggest(word: str, allowed: Collection[str]) -> str:
    """Return advice for an unknown name: the allowed one that is probably meant, if any."""
    meant = SYNONYMS.get(word)
    if meant in allowed:
        return f"did you mean {meant}?"
    if word in {"epsilon", "eps"} and "scale" in allowed:
        return "scale is the sensitivity over epsilon"
    return "".join(f"did you mean {each}?" for each in get_close_matches(word, allowed, 1))


def suggest_names(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function, or a constructor, whose error for unknown keywords names the parameters meant."""
    names = [name for name in inspect.signature(function).parameters if name != "self"]

    def advise(kind: str, name: str) -> str:
        if name in {"steps", "count", "n", "rounds", "num_steps"} and SYNONYMS.get(name) not in names:
            return f"the number of runs is that of a Plan, or of {kind}(...).guarantee(n)"
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


def number_list(
    name: str, values: Any, check: Callable[[str, Any], T], kind: str = "numbers"
) -> tuple[T, ...]:
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
    return number_list(name, value, check)


def _check_mechanism(name: str, value: Any) -> Mechanism:
    """Return a mechanism that nests at most 16, itself included; raise an error for anything else."""
    if not isinstance(value, Mechanism):
        remedy = "; write Custom(plan.guarantee())" if hasattr(value, "guarantee") else ""
        raise KindError(f"{name} must be one of tradeoff.mechanisms, got {shown(value)}{remedy}")
    part: Any = value
    depth = 1
    while isinstance(part := getattr(part, "mechanism", None), Mechanism):
        depth += 1
    if depth > 16:
        raise DomainError(f"{name} must nest at most 16 mechanisms, got {depth}")
    return value


def loss(sensitivity: Any, noise: Any, name: str = "noise_multiplier") -> float:
    """Return sensitivity/noise, rounded up; of lists the root of the sum of squares of the quotients."""
    quotients = np.atleast_1d(to_balls(sensitivity) / to_balls(noise))
    return check_loss(upper_float(sqrt(sum(quotients**2))), sensitivity, noise, name)


def check_loss(value: float, sensitivity: Any, noise: Any, name: str = "noise_multiplier") -> float:
    """Return a loss that is in the working range; ``DomainError`` names the noise that is too small."""
    if value > MAX_LOSS:
        least = "larger" if np.ndim(noise) or np.ndim(sensitivity) else f"at least {sensitivity / MAX_LOSS:g}"
        raise domain(name, noise, least, f"the loss must be at most {MAX_LOSS:g}")
    return value


def ratio(above: float | Fraction, below: float | Fraction) -> float:
    """Return above/below, rounded up."""
    return upper_float(to_balls(above) / to_balls(below))


def root(square: Fraction) -> float:
    """Return the square root of a positive fraction, rounded up."""
    return upper_float(sqrt(to_balls(square)))
