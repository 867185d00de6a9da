"""Base class of mechanisms: frozen descriptions of a release, its curve and its guarantee."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields
from fractions import Fraction
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, get_args

import numpy as np

from tradeoff.balls import sqrt, to_balls, upper_float
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, PAIR, limited
from tradeoff.curves.parameters import MAX_COUNT, MOST, choice, count, is_masked, number
from tradeoff.errors import DomainError, KindError, domain, shown

Adjacency = Literal["add-remove", "replace-one"]
Order = Literal["symmetric", "tied", "free"]


class Mechanism(ABC):
    """Description of one release: noise, sensitivity, sampling, and the neighbours it is stated for.

    A mechanism is not a curve. Its privacy guarantee is ``guarantee()``; a ``Plan`` composes several
    mechanisms.
    """

    kind: ClassVar[str]
    """Name of the mechanism in a plan file."""

    def __init_subclass__(cls, **given: Any) -> None:
        """Let the curve of a mechanism that is not exact say so."""
        super().__init_subclass__(**given)
        if "curve" in vars(cls):
            cls.curve = _stating(vars(cls)["curve"])  # type: ignore[method-assign,assignment]

    def __post_init__(self) -> None:
        """Check the fields that have a range as metadata, and keep each as the number it stands for."""
        for each in fields(self):  # type: ignore[arg-type]  # a dataclass
            value = getattr(self, each.name)
            if "checked" in each.metadata and not (value is None and each.default is None):
                object.__setattr__(self, each.name, each.metadata["checked"](each.name, value))

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
        """How the two orders of a pair of neighbours turn in a plan.

        ``"symmetric"``: both have the same curve. ``"tied"``: they differ, and turn together with those of
        every other tied mechanism. ``"free"``: they differ, and each release may turn on its own.
        """
        return "symmetric"

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
            Number of runs, an integer from 0; each draws its noise, and its sample, anew.

        Raises
        ------
        DomainError
            If ``n`` is not an integer from 0 to 10^12.

        Examples
        --------
        >>> from tradeoff.mechanisms import SubsampledGaussian
        >>> step = SubsampledGaussian(noise_multiplier=0.5, sample_rate=0.5)
        >>> round(step.guarantee()(0.5), 5), round(step.guarantee(100).epsilon(1e-5), 2)
        (0.15866, 137.16)
        """
        from tradeoff.mechanisms.plan import Plan

        return Plan({self: count("n", n, 0, MAX_COUNT)}, self.adjacency or "add-remove").guarantee()

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name, but those that were left out."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # a dataclass
        return {name: value for name, value in given.items() if value is not None}

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({said})"

    def _no_algebra(self, *_: object) -> NoReturn:
        raise KindError(
            f"{self!r} is a mechanism, not a curve; use {self!r}.guarantee(), or compose mechanisms in a Plan"
        )

    if not TYPE_CHECKING:  # where a checker reads, a mechanism has what it has

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_attribute(self, name)

    __matmul__ = __rmatmul__ = __pow__ = __invert__ = __ge__ = __le__ = __call__ = _no_algebra


def _stating(curve: Callable[[Any], TradeOff]) -> Callable[[Any], TradeOff]:
    """Return the method whose curve is as exact as the mechanism."""

    @wraps(curve)
    def stating(self: Mechanism) -> TradeOff:
        return limited(curve(self), PAIR if self.exact else BOUND)

    return stating


def factor_of(mechanism: Mechanism) -> TradeOff:
    """Return the curve that enters a product: of orders that are free, their envelope."""
    curve = mechanism.curve()
    return curve.symmetrise(assume="either-order") if mechanism.order == "free" else curve


def missing_attribute(described: object, name: str) -> AttributeError:
    """Return the error of an attribute that is missing, with a remedy where a curve has it."""
    text = f"{type(described).__name__!r} object has no attribute {name!r}"
    on_curves = not name.startswith("_") and hasattr(TradeOff, name)
    return AttributeError(f"{text}; use .guarantee().{name}" if on_curves else text)


def within(
    low: float, high: float = np.inf, *, open_low: bool = False, open_high: bool = False
) -> dict[str, Any]:
    """Return the metadata of a field that holds a number of the range."""
    return {"checked": partial(number, low=low, high=high, open_low=open_low, open_high=open_high)}


def wholes(low: int, high: float = MOST) -> dict[str, Any]:
    """Return the metadata of a field that holds a whole number of the range."""
    return {"checked": partial(count, low=low, high=high)}


def words(*allowed: str) -> dict[str, Any]:
    """Return the metadata of a field that holds one of the words."""
    return {"checked": partial(choice, allowed=allowed)}


# Ranges of most fields: (0, inf], (0, inf), (0, inf), [0, inf) and [0, 1].
NOISE, SCALE = within(0, open_low=True), within(0, open_low=True, open_high=True)
SIZE = within(0, open_low=True, open_high=True)
LOSS, SHARE = within(0, open_high=True), within(0, 1)
NEIGHBOURS = words(*get_args(Adjacency))
MAX_NESTING = 16  # mechanisms inside one another


def inner(name: str, value: Any) -> Mechanism:
    """Validate a mechanism that another one runs."""
    if not isinstance(value, Mechanism):
        raise KindError(f"{name} must be one of tradeoff.mechanisms, got {shown(value)}")
    part: Any = value
    depth = 1
    while isinstance(part := getattr(part, "mechanism", None), Mechanism):
        depth += 1
    if depth > MAX_NESTING:
        raise DomainError(f"{name} must nest at most {MAX_NESTING} mechanisms, got {depth}")
    return value


def numbers(name: str, value: Any, checked: Callable[[str, Any], float]) -> float | tuple[float, ...]:
    """Return one number, or a list of them as a tuple, each checked."""
    if not isinstance(value, list | tuple | np.ndarray) or getattr(value, "ndim", 1) == 0 or is_masked(value):
        return checked(name, value)
    if len(value) == 0:
        raise domain(name, value, "a list of at least one real number")
    return tuple(checked(f"{name}[{k}]", each) for k, each in enumerate(value))


def ratio(above: float, below: float) -> float:
    """Return above/below, rounded up: the loss of a mechanism is never understated by the division.

    >>> ratio(1, 8), ratio(1, 3) > 1 / 3
    (0.125, True)
    """
    return upper_float(to_balls(above) / to_balls(below))


def root(square: Fraction) -> float:
    """Return the square root of a positive fraction, rounded up.

    >>> root(Fraction(9)), root(Fraction(2)) ** 2 > 2
    (3.0, True)
    """
    return upper_float(sqrt(to_balls(square)))


def norm(values: Sequence[float]) -> float:
    """Return the root of the sum of squares, rounded up; of one number, that number.

    >>> norm([3.0, 4.0]), norm([1e200, 1e200]) > 1e200
    (5.0, True)
    """
    return upper_float(sqrt(sum(to_balls(values) ** 2)))
