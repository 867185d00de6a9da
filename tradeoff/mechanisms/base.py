"""Base class of mechanisms, their table, any curve as a mechanism, and losses rounded up.

A mechanism is a frozen class declared by its ``fields``; ``mechanism`` registers it under its ``kind``, its
name in plan files.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, dataclass_transform, get_args

import numpy as np

from tradeoff.balls import sqrt, to_balls, upper_float
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.hooks import BOUND, PAIR, limited
from tradeoff.curves.parameters import MAX_COUNT, MAX_LOSS, count
from tradeoff.errors import DomainError, KindError, domain, shown
from tradeoff.mechanisms import fields
from tradeoff.operators.pointwise import maximum

Adjacency = Literal["add-remove", "replace-one"]
Order = Literal["symmetric", "tied", "free"]

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


class Mechanism(fields.Declared, ABC):
    """Description of one release: noise, sensitivity, sampling, and the neighbours it is stated for.

    A mechanism is not a curve. Its privacy guarantee is ``guarantee()``; a ``Plan`` composes several
    mechanisms.
    """

    kind: ClassVar[str]
    """Name of the mechanism in a plan file; by default the name of its class, as in ``pure-dp``."""

    def __init_subclass__(cls) -> None:
        """Name the kind of a subclass, and mark the curves of one that states that it is not exact."""
        if "kind" not in vars(cls):
            cls.kind = kind_name(cls)
        curve: Callable[[Mechanism], TradeOff] | None = vars(cls).get("curve")
        if curve is not None:

            @wraps(curve)
            def limited_curve(self: Mechanism) -> TradeOff:
                is_stated = type(self).exact is not Mechanism.exact  # else the curve decides
                return limited(curve(self), BOUND if is_stated and not self.exact else PAIR)

            cls.curve = limited_curve  # type: ignore[method-assign]  # the same method, marked

    @property
    def adjacency(self) -> Adjacency | None:
        """Neighbours the description is stated for; None fits any."""
        return None

    @property
    def exact(self) -> bool:
        """Whether some pair of neighbours has the curve; False where it only bounds those of all pairs."""
        return self.curve().exact

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
        n : number of runs, an integer from 0 to :math:`10^{12}`; each draws its noise, and its sample, anew

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


adjacency_field = partial(fields.one_of, "Neighbours that the mechanism is stated for.", *get_args(Adjacency))


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


mechanism_field = partial(fields.parameter, values="Mechanism", check=_check_mechanism)


@dataclass_transform(
    frozen_default=True,
    field_specifiers=(
        fields.parameter,
        fields.real,
        fields.integer,
        fields.one_of,
        fields.noise_field,
        fields.rate_field,
        mechanism_field,
    ),
)
def mechanism(cls: type[fields.T]) -> type[fields.T]:
    """Declare a class of values by its fields, and register the kind of a mechanism."""
    declared = fields.declare(cls, frozen=True)
    if issubclass(declared, Mechanism):
        KINDS[declared.kind] = declared
    return declared


def check_curve(curve: TradeOff) -> TradeOff:
    """Return a curve without symbols; raise an error of the library for anything else."""
    operand(curve).require_numbers()
    return curve


@mechanism
class Custom(Mechanism):
    r"""Mechanism with a known trade-off curve: from a paper, another accountant, or a proof of your own.

    Parameters
    ----------
    curve
        Curve of one order of the pair: :math:`T(M(D), M(D')) \ge` ``curve`` for every pair of neighbours in
        that order. With ``adjacency="add-remove"`` :math:`D'` has the record that :math:`D` lacks.
    other_order
        Curve of the other order, :math:`T(M(D'), M(D)) \ge` ``other_order``; by default ``~curve``, which
        always holds. In a plan file both are JSON, in place or the name of a file that contains it.
    adjacency
        ``"add-remove"`` or ``"replace-one"`` if the curves hold for such neighbours only; None for any.

    Notes
    -----
    As exact as the given curves. :math:`T(Q, P) = T(P, Q)^{-1}` (Dong, Roth, Su 2022, Lemma A.2), and
    inversion keeps the order, so that a bound on the other order is one on this order, too:
    :math:`T(M(D), M(D'))` is at least the maximum of ``curve`` and ``~other_order``. Under add/remove one
    order means the same for every such mechanism of a plan, and all share it; else each release may have
    either order, and enters a plan as its own envelope.

    Examples
    --------
    >>> from tradeoff import Gaussian, Plan
    >>> from tradeoff.mechanisms import Custom
    >>> Plan({Custom(Gaussian(0.5)): 4}).guarantee()
    G_{1}
    """

    one_order: TradeOff
    other_order: TradeOff | None = None
    adjacency: Adjacency | None = adjacency_field(default=None)

    def __init__(
        self, curve: TradeOff, other_order: TradeOff | None = None, adjacency: Adjacency | None = None
    ) -> None:
        other = None if other_order is None else check_curve(other_order)
        vars(self).update(one_order=check_curve(curve), other_order=other, adjacency=adjacency)
        super().__post_init__()

    @property
    def order(self) -> Order:
        if self.curve().symmetric:
            return "symmetric"
        return "tied" if self.adjacency == "add-remove" else "free"

    @property
    def exact(self) -> bool:
        return self.one_order.exact and self.other_order in (None, self.one_order.inverse())

    def curve(self) -> TradeOff:
        if self.other_order is None:
            return self.one_order
        return maximum(self.one_order, self.other_order.inverse())

    def parameters(self) -> dict[str, Any]:
        named = {**super().parameters(), "curve": self.one_order}
        return {name: named[name] for name in ("curve", "other_order", "adjacency") if name in named}


def by_number(build: Any) -> Any:
    """Return a function of one number: of a class of mechanisms, with the number as first parameter."""
    if isinstance(build, type) and issubclass(build, Mechanism):
        name = next(iter(inspect.signature(build).parameters))
        return lambda x: build(**{name: x})
    return build


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
