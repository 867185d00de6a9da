"""The contract of a trade-off function: questions, bounds and the algebra's operators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.core.bounds import Bounds, Pair
from tradeoff.core.dispatch import operator
from tradeoff.core.parameters import count
from tradeoff.engines.allowance import MEMORY, METHODS, Allowance, Method, Progress, allowance, allowing
from tradeoff.engines.law import LossLaw
from tradeoff.errors import DomainError, KindError, NoClosedForm, PrecisionError, SymbolError
from tradeoff.numerics.roots import straddle
from tradeoff.numerics.rounding import UNIT, Array

Hypothesis = Literal["either-order", "both-orders", "profile"]


class TradeOff(ABC):
    """Trade-off function f = T(P, Q): the least type II error at each type I error.

    Subclasses give ``_beta`` and ``_delta`` on arrays, both sides at once; everything else has a default.
    """

    # What a subclass answers. Arrays are one-dimensional, inside the domain, and finite.

    @abstractmethod
    def _beta(self, alpha: Array, tol: float | None) -> Pair:
        """Bound f(alpha) for alpha in [0, 1]."""

    @abstractmethod
    def _delta(self, epsilon: Array, tol: float | None) -> Pair:
        """Bound delta(epsilon) for finite epsilon."""

    def _epsilon(self, delta: Array, tol: float | None) -> Pair:
        """Bound the least epsilon with delta(epsilon) <= delta, for delta in (Q(L = inf), 1)."""
        lower, _ = straddle(lambda e: self._delta(e, None)[0], delta)
        _, upper = straddle(lambda e: self._delta(e, None)[1], delta)
        return lower, upper

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether f = f^-1, so that one curve speaks for both orders of the pair."""

    @property
    def q_plus(self) -> float:
        """Return Q(L = +inf) = 1 - f(0): the delta that no epsilon removes."""
        return 0.0

    @property
    def p_minus(self) -> float:
        """Return P(L = -inf) = 1 - inf{alpha : f(alpha) = 0}."""
        return self.q_plus if self.symmetric else 0.0

    @property
    def sup_loss(self) -> float:
        """Return sup L over the finite losses, in nats: epsilon(Q(L = inf))."""
        return np.inf

    @property
    def leak(self) -> float | None:
        """Return delta if the curve is f_{0,delta}, which only scales the axes of what it multiplies."""
        return None

    def loss_law(self) -> LossLaw:
        """Return the law of L in the form the engines take."""
        raise NoClosedForm(f"{self!r} hands out no law of L; ask its bounds, or take f.lower / f.upper")

    def laws(self) -> tuple[LossLaw, LossLaw]:
        """Return laws of a curve below and of a curve above; the same law twice where it is exact."""
        law = self.loss_law()
        return law, law

    def inverse(self) -> TradeOff:
        """Inverse f^-1(alpha) = inf{t : f(t) <= alpha} = T(Q, P)."""
        return self if self.symmetric else _made("inverse", self)

    @property
    def free_symbols(self) -> frozenset[Any]:
        """Symbols that must be substituted before a number can be asked."""
        return frozenset()

    def __getstate__(self) -> dict[str, Any]:
        """Return the curve without what it remembers of answers: tables weigh megabytes, and can be made again."""
        return {name: value for name, value in vars(self).items() if name not in self._remembered()}

    @classmethod
    def _remembered(cls) -> set[str]:
        return {name for kind in cls.__mro__ for name, value in vars(kind).items() if isinstance(value, cached_property)}

    composed: bool = False
    """Whether the curve's numbers come from engines or from other curves, not from a closed form."""

    # Questions: the safe side.

    def __call__(self, alpha: ArrayLike, *, tol: float | None = None, **how: Unpack[How]) -> Any:
        """Least type II error at type I error ``alpha``: a lower bound on f.

        Parameters
        ----------
        alpha
            Type I errors in [0, 1]; any shape.
        tol
            Width the bounds must reach, relative to min(beta, 1 - alpha - beta); default: as good as a second or so allows.
        **how
            ``method``, ``memory``, ``progress``, ``n_jobs``: see ``bounds``.

        Returns
        -------
        float or ndarray
            A lower bound on f(alpha), shaped like ``alpha``.

        Raises
        ------
        DomainError
            If an alpha is NaN or outside [0, 1].
        PrecisionError
            If ``tol`` cannot be reached.
        """
        return self.bounds(alpha, tol=tol, **how).lower

    def delta(self, epsilon: ArrayLike, *, tol: float | None = None, **how: Unpack[How]) -> Any:
        """Privacy profile delta(eps) = sup_alpha 1 - f(alpha) - e^eps alpha: an upper bound.

        Parameters
        ----------
        epsilon
            Losses in nats, any real number or infinity; any shape.
        tol
            Relative width the bounds must reach.
        **how
            ``method``, ``memory``, ``progress``, ``n_jobs``: see ``bounds``.

        Returns
        -------
        float or ndarray
            An upper bound on delta, shaped like ``epsilon`` (Dong, Roth, Su 2022, Proposition 2.12).
        """
        return self.bounds.delta(epsilon, tol=tol, **how).upper

    def epsilon(self, delta: ArrayLike, *, tol: float | None = None, **how: Unpack[How]) -> Any:
        """Least epsilon with delta(epsilon) <= delta, in nats: an upper bound.

        Parameters
        ----------
        delta
            Probabilities in [0, 1]; any shape. Negative epsilon answers delta > delta(0); 0 asks for sup L.
        tol
            Absolute width the bounds must reach.
        **how
            ``method``, ``memory``, ``progress``, ``n_jobs``: see ``bounds``.

        Returns
        -------
        float or ndarray
            An upper bound on epsilon; +inf only if delta < Q(L = inf) truly, or no bound is known.
        """
        return self.bounds.epsilon(delta, tol=tol, **how).upper

    @property
    def bounds(self) -> Certified:
        """Ask the same questions for both sides."""
        return Certified(self)

    # Algebra.

    def __matmul__(self, other: object) -> TradeOff:
        """Tensor product f (x) g = T(P x P', Q x Q'): the guarantee of running both (Dong, Roth, Su 2022, Theorem 3.2)."""
        return _made("tensor", [(self, 1), (_curve(other), 1)])

    def __pow__(self, n: int) -> TradeOff:
        """n-fold tensor power; ``f ** 0`` is the identity."""
        return _made("tensor", [(self, count("n", n))])

    def __invert__(self) -> TradeOff:
        """Inverse T(Q, P)."""
        return self.inverse()

    def symmetrise(self, *, assume: Hypothesis) -> TradeOff:
        """Guarantee for unordered neighbours, under the stated hypothesis.

        ``"either-order"``: one order of the pair has curve f, the other f^-1: the hull of min{f, f^-1}.
        ``"both-orders"``: every ordered pair has at least f: max{f, f^-1}.
        ``"profile"``: delta(eps) known for eps >= 0 in both orders: Symm(f).
        """
        return _made("symmetrise", self, assume=assume)

    def group(self, k: int) -> TradeOff:
        """Guarantee for groups of ``k`` records, 1 - (1 - f)^(o k), for symmetric f (Dong, Roth, Su 2022, Theorem 2.14)."""
        return _made("group", self, k)

    def dual(self) -> Any:
        """Privacy profile as an object of its own, with conjugation back."""
        return operator("dual")(self)

    def __ge__(self, other: object) -> bool:
        """Blackwell order: whether f is at least as private everywhere; raises ``Undecided`` rather than guess."""
        return bool(operator("at_least")(self, _curve(other)))

    def __le__(self, other: object) -> bool:
        """Whether ``other`` is at least as private everywhere."""
        return bool(operator("at_least")(_curve(other), self))

    def dominates(self, other: TradeOff, *, failure: float) -> bool:
        """Whether f >= g (x) f_{0,failure}, decided from certified bounds."""
        return bool(operator("dominates")(self, _curve(other), failure=failure))

    def distance(self, other: TradeOff, *, metric: Literal["uniform", "levy"] = "uniform") -> Bounds:
        """Distance between two curves, held from both sides."""
        bounds: Bounds = operator("distance")(self, _curve(other), metric=metric)
        return bounds

    def gdp(self, failure: float = 1e-10) -> Any:
        """Least mu with f >= G_mu (x) f_{0,failure} at every alpha, with what reporting it gives up: a ``Reduction``."""
        return operator("gdp")(self, failure=failure)

    def subs(self, values: Mapping[Any, Any]) -> TradeOff:
        """Curve with symbols replaced, for example ``f.subs({mu: 1})``; keys are symbols or their names."""
        return substituted(self, values)

    def symbolic(self, alpha: Any = None) -> Any:
        """Write f(alpha) as a ``Symbolic`` curve, in the given SymPy symbol; for families with closed forms."""
        return operator("symbolic")(self, alpha)

    @property
    def law(self) -> Any:
        """Law of the privacy loss L = log dQ/dP under P and under Q."""
        return operator("law")(self)

    # Whole curves.

    def tabulate(self, alphas: ArrayLike | None = None) -> Any:
        """Piecewise-linear curves ``lower`` and ``upper`` with lower <= f <= upper at every alpha; ``alphas``: the nodes to use."""
        return self._whole if alphas is None else operator("tabulate")(self, alphas)

    @cached_property
    def _whole(self) -> Any:
        return operator("tabulate")(self, None)

    @property
    def lower(self) -> Any:
        """Piecewise-linear curve at or below f for every alpha: safe to report, and a factor like any other."""
        return self._whole.lower

    @property
    def upper(self) -> Any:
        """Piecewise-linear curve at or above f for every alpha."""
        return self._whole.upper


def _made(name: str, *operands: Any, **parameters: Any) -> TradeOff:
    curve: TradeOff = operator(name)(*operands, **parameters)
    return curve


def _curve(other: object) -> TradeOff:
    if isinstance(other, TradeOff):
        return other
    if hasattr(other, "curve"):
        raise KindError(f"{other!r} is a mechanism, and the algebra is of curves: write {type(other).__name__}(...).curve()")
    raise KindError(f"{other!r} is not a trade-off function")


MEGABYTE = 2**20


class How(TypedDict, total=False):
    """How a question is to be answered.

    ``method`` forces one engine ("closed-form", "exact", "lattice", "contour" or "saddle-point"); ``memory`` is the most
    working memory in bytes, 1 GiB unless said; ``progress`` is called with (entries settled, entries asked); ``n_jobs``
    shares the factors of a product with very many distinct ones through joblib (None: as joblib is configured).
    """

    method: Method
    memory: int
    progress: Progress
    n_jobs: int | None


class Certified:
    """Questions to a curve with both sides of the answer.

    Each takes ``tol``, the width its bounds must reach (absolute for epsilon, relative for delta, and for beta relative to
    min(beta, 1 - alpha - beta)), and the keywords of ``How``. Without ``tol`` the answer is as good as a second or so allows.

    Examples
    --------
    >>> import tradeoff as to
    >>> f = to.Laplace(0.1) ** 100
    >>> f.bounds.epsilon(1e-5, tol=1e-7).width < 1e-7
    True
    >>> both = [to.Gaussian(1).bounds.delta(1.0, method=method) for method in ("lattice", "contour")]
    >>> all(to.Gaussian(1).delta(1.0) in bounds for bounds in both)
    True
    """

    __slots__ = ("_curve",)

    def __init__(self, curve: TradeOff) -> None:
        self._curve = curve

    def __call__(self, alpha: ArrayLike, *, tol: float | None = None, **how: Unpack[How]) -> Bounds:
        """Bound f(alpha)."""
        return self._ask("alpha", alpha, (0.0, 1.0), tol, how, "_beta")

    def delta(self, epsilon: ArrayLike, *, tol: float | None = None, **how: Unpack[How]) -> Bounds:
        """Bound delta(epsilon)."""
        return self._ask("epsilon", epsilon, (-np.inf, np.inf), tol, how, "_delta")

    def epsilon(self, delta: ArrayLike, *, tol: float | None = None, **how: Unpack[How]) -> Bounds:
        """Bound epsilon(delta)."""
        return self._ask("delta", delta, (0.0, 1.0), tol, how, "_epsilon")

    @staticmethod
    def _limits(how: How) -> Allowance:
        """Return the limits asked for; a question inside a question inherits those it does not state."""
        asked: dict[str, Any] = {"jobs" if name == "n_jobs" else name: value for name, value in how.items()}
        return replace(allowance(), **asked)

    def _by_engine(self, method: str) -> Certified:
        """Return the questions to the same curve as an engine sees it, where it would answer by a closed form."""
        if method == "closed-form":
            if self._curve.composed:
                raise NoClosedForm(f"{self._curve!r} has no closed form; leave method out, or force one of the engines")
            return self
        return self if self._curve.composed else Certified(operator("by_engine")(self._curve))

    def _ask(self, name: str, value: ArrayLike, span: tuple[float, float], tol: float | None, how: How, hook: str) -> Bounds:
        method, memory = how.get("method"), how.get("memory")
        if method is not None and method not in METHODS:
            raise DomainError(f"method = {method!r} is none of {', '.join(METHODS)}")
        if memory is not None and not memory >= MEGABYTE:
            raise DomainError(f"memory = {memory!r} is below one MiB ({MEGABYTE} bytes); the usual is {MEMORY}")
        if self._curve.free_symbols:
            names = ", ".join(sorted(map(str, self._curve.free_symbols)))
            raise SymbolError(f"{self._curve!r} has free symbols {names}; substitute numbers first, with .subs({{...}})")
        if tol is not None and not tol > 0:
            raise DomainError(f"tol = {tol!r} is outside (0, inf); leave it out for the best answer")
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError) as error:
            raise DomainError(f"{name} = {value!r} is not an array of real numbers") from error
        flat = array.ravel()
        wrong = np.flatnonzero(~((flat >= span[0]) & (flat <= span[1])))
        if len(wrong):
            listed = ", ".join(f"{name}[{i}] = {flat[i]}" if array.ndim else f"{name} = {flat[i]}" for i in wrong[:5])
            more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
            raise DomainError(f"{listed}{more} outside [{span[0]:g}, {span[1]:g}]")
        asked = self if method is None else self._by_engine(method)
        with allowing(self._limits(how)):
            lower, upper = getattr(asked, hook)(flat, tol)
        if array.ndim == 0:
            return Bounds(float(lower[0]), float(upper[0]))
        return Bounds(lower.reshape(array.shape), upper.reshape(array.shape))

    def _beta(self, alpha: Array, tol: float | None) -> Pair:
        lower, upper = self._curve._beta(alpha, tol)  # noqa: SLF001 - the two classes are one contract
        upper = np.minimum(upper, 1 - alpha)  # 1 - alpha is exact or rounded to nearest, and f <= 1 - alpha
        upper = np.where(alpha > 0, np.nextafter(upper, 1.0), upper)
        lower, upper = np.clip(lower, 0.0, upper), np.clip(upper, 0.0, 1.0)
        lower, upper = np.where(alpha == 1, 0.0, lower), np.where(alpha == 1, 0.0, upper)
        scale = np.minimum(upper, np.maximum(1 - alpha - lower, 0.0))
        return _reached("alpha", alpha, lower, upper, tol, scale)

    def _delta(self, epsilon: Array, tol: float | None) -> Pair:
        q = self._curve.q_plus
        lower, upper = np.ones(len(epsilon)), np.ones(len(epsilon))
        top = epsilon == np.inf
        lower[top], upper[top] = q * (1 - 4 * UNIT), min(q * (1 + 4 * UNIT), 1.0)
        finite = np.isfinite(epsilon)
        if finite.any():
            low, high = self._curve._delta(epsilon[finite], tol)  # noqa: SLF001 - as above
            lower[finite], upper[finite] = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
        return _reached("epsilon", epsilon, lower, upper, tol, upper)

    def _epsilon(self, delta: Array, tol: float | None) -> Pair:
        q, top = self._curve.q_plus, self._curve.sup_loss
        lower, upper = np.full(len(delta), -np.inf), np.full(len(delta), -np.inf)
        at_top = (delta <= q * (1 + 4 * UNIT)) & (delta < 1)
        # At delta = Q(L = inf) the answer is sup L; where q is rounded, both answers must fit.
        upper[at_top] = np.where(delta[at_top] >= q * (1 + 4 * UNIT) if q else True, top, np.inf)
        lower[at_top] = np.where(delta[at_top] < q * (1 - 4 * UNIT), np.inf, top if q == 0 else -np.inf)
        inner = ~at_top & (delta < 1)
        if inner.any():
            lower[inner], upper[inner] = self._curve._epsilon(delta[inner], tol)  # noqa: SLF001 - as above
            upper[inner] = np.minimum(upper[inner], top)
            unknown = np.flatnonzero(inner & np.isposinf(upper))
            if len(unknown):
                listed = ", ".join(f"{delta[i]:.3g}" for i in unknown[:5])
                raise PrecisionError(f"no finite epsilon can be certified at delta = {listed}; ask a larger delta", np.inf)
        return _reached("delta", delta, lower, upper, tol, np.ones(len(delta)))


def _reached(name: str, at: Array, lower: Array, upper: Array, tol: float | None, scale: Array) -> Pair:
    """Return the bounds, or raise if some entry is wider than ``tol``."""
    if tol is not None:
        with np.errstate(invalid="ignore", divide="ignore"):
            width = np.where(lower == upper, 0.0, (upper - lower) / np.where(scale > 0, scale, 1.0))
        wide = np.flatnonzero(width > tol)
        if len(wide):
            worst = float(np.max(width))
            raise PrecisionError(f"tol = {tol:g} not reached at {name} = {at[wide[:5]].tolist()}; reachable here: {worst:.3g}", worst)
    return lower, upper


def substituted(curve: TradeOff, values: Mapping[Any, Any]) -> TradeOff:
    """Return ``curve`` with symbols replaced, if it knows how."""
    return _made("subs", curve, values)
