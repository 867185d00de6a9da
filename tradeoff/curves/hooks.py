"""The hooks of a curve: bounds behind every question, ends, privacy loss distribution, symbols.

For a curve f = T(P, Q), L = log dQ/dP is the privacy loss in nats, and delta(eps) its profile. The ends are
sup L over the finite losses, and Q(L = inf) = 1 - f(0). f_{eps,delta} is the least curve of (eps, delta)-DP.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from fractions import Fraction
from functools import cache, cached_property, wraps
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from tradeoff._attached import CurveMethods
from tradeoff.accounting.conjugation import conjugate
from tradeoff.accounting.options import Question
from tradeoff.errors import NoClosedForm, SymbolError, shown
from tradeoff.intervals.bounds import Array, Bounds, Pair, sides_of
from tradeoff.intervals.functions import clip, exp, expm1
from tradeoff.intervals.roots import bracket_sides
from tradeoff.pld.law import PrivacyLossDistribution

# Tightness, how closely a curve describes a mechanism: one pair of neighbours has it; it is the greatest
# curve below those of several pairs; it is only below them. A product is a bound unless all factors are PAIR.
PAIR, ENVELOPE, BOUND = 2, 1, 0

# Shown next to the numbers of every curve that is not symmetric.
ONE_ORDER = 'one order of the pair, not a guarantee: .symmetrise(assume="either-order") covers both orders'

NOT_EXACT = (
    "Not exact: the lower bounds on epsilon, delta and mu, and the upper bounds on beta, are those of the "
    "bound used, not of the mechanism."
)
"""Note next to both bounds of a curve that is not ``exact``."""

_STEEPEST = 700.0  # loss whose e^eps is still a float


class CurveHooks(ABC):
    """Hooks that a subclass implements: one of the first two, and ``symmetric``, answer all questions.

    Notes
    -----
    ``beta_bounds``, ``delta_bounds`` and ``epsilon_bounds`` get a one-dimensional array of checked numbers
    and return a lower and an upper bound for each entry, functions of their own entry alone. ``tol`` is the
    width wanted, None for one as good as a second or so allows; wider bounds are allowed, and refused by the
    caller. The bounds must hold with rounding included, as the arithmetic of ``tradeoff.Bounds`` does.
    """

    tightness: int = PAIR

    assumptions: tuple[str, ...] = ()
    """Sentences on which the numbers rest without proof; empty where everything is proved."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Let methods that change a curve keep its tightness and assumptions, so that no family has to."""
        super().__init_subclass__(**keywords)

        def keeping(method: Callable[..., Any]) -> Callable[..., Any]:
            @wraps(method)
            def changed(self: Any, *arguments: Any, **keywords: Any) -> Any:
                return limited(method(self, *arguments, **keywords), self.tightness, self.assumptions)

            return changed

        # A changed curve is at most as tight as the curve itself, and rests on the same assumptions.
        for name in ("inverse", "group", "rational", "floats", "subs", "symbolic"):
            if name in vars(cls):
                setattr(cls, name, keeping(vars(cls)[name]))

    composed: bool = False
    """Whether the numbers of the curve come from engines or from other curves, not from a closed form."""

    depth: int = 0
    """Number of operators nested in each other."""

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        """Bound f(alpha), alpha in [0, 1]: the hook behind ``f(alpha)`` and ``f.bounds(alpha)``.

        ``tol`` is relative to min(beta, 1 - alpha - beta). The default conjugates ``delta_bounds``.
        """
        return beta_from_delta(self, alpha, tol)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        """Bound delta(epsilon) = sup_alpha 1 - f(alpha) - e^eps alpha: the hook behind ``f.delta``.

        Losses are finite, in nats, of either sign; ``tol`` is relative to delta. The default conjugates
        ``beta_bounds``.
        """
        return delta_from_beta(self, epsilon, tol)

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        """Bound the least epsilon with delta(epsilon) <= delta: the hook behind ``f.epsilon``.

        Each delta is in (Q(L = inf), 1); ``tol`` is absolute. The default ignores it: it bisects
        ``delta_bounds``, all entries at once.
        """
        return bracket_sides(lambda epsilon: self.delta_bounds(epsilon, None), delta)

    def inverse_delta(self, epsilon: Array) -> Pair:
        """Bound delta of the inverse, 1 - e^eps (1 - delta_f(-eps)), at losses up to 700 nats."""
        delta = clip(Bounds(*self.delta_bounds(-epsilon, None)), 0.0, 1.0)
        return sides_of(exp(epsilon) * delta - expm1(epsilon))

    def estimate_losses(self, alpha: Array) -> list[tuple[Array, float]]:
        """Estimate losses about which suprema f(alpha) are reached, or NaN, for each alpha; and a spread."""
        return []

    def ceiling(self, epsilon: Array, level: Array) -> Array:
        """Bound delta(epsilon) from above, cheaply, to compare it with ``level``; by default by 1."""
        return np.ones(len(epsilon))

    def exact_answer(self, question: Question, at: Fraction) -> Any:
        """Return the answer if it is a known fraction, as that to ``f(Fraction(1, 3))`` may be, or None."""
        return None

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether f = f^-1, so that one curve holds for both orders of the pair.

        >>> import tradeoff as to
        >>> to.Gaussian(1).symmetric, to.subsample(to.Gaussian(1), 0.1).symmetric
        (True, False)
        """

    @property
    def notation(self) -> str:
        """Formula of the curve, without the remarks on its order and assumptions that ``repr`` adds."""
        changed = type(self).__repr__ is not CurveHooks.__repr__
        return repr(self) if changed else object.__repr__(self)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Sentences that belong next to every number of the curve."""
        order = () if self.symmetric else (ONE_ORDER,)
        bound = () if self.exact else (NOT_EXACT,)
        return *order, *bound, *(f"assumes: {each}" for each in self.assumptions)

    def __repr__(self) -> str:
        order = "" if self.symmetric else " (one order)"
        bound = "" if self.exact else " (not exact)"
        return f"{self.notation}{order}{bound}{assuming(self.assumptions)}"

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        """Bounds on Q(L = +inf) = 1 - f(0), the delta that remains for every epsilon.

        >>> import tradeoff as to
        >>> to.TotalVariation(0.25).mass_at_infinity
        Bounds(lower=0.25, upper=0.25)
        """
        return Bounds(0.0, 0.0)

    @property
    def mass_at_plus_infinity(self) -> float:
        """Upper bound on Q(L = +inf)."""
        return float(self.mass_at_infinity.upper)

    @property
    def mass_at_minus_infinity(self) -> float:
        r"""Probability under P of the loss -inf, :math:`1 - \inf\{\alpha \,\mid\, f(\alpha) = 0\}`.

        It is that of +inf in the other order; 0 for a class without an inverse of its own.
        """
        curve: Any = self
        if not self.symmetric and type(curve).inverse is CurveMethods.inverse:
            return 0.0
        return float((self if self.symmetric else curve.inverse()).mass_at_plus_infinity)

    @property
    def loss_bounds(self) -> Bounds[float]:
        """Bounds on sup L over the finite losses, in nats; by default nothing is known."""
        return Bounds(-np.inf, np.inf)

    @property
    def sup_loss(self) -> float:
        """Upper bound on sup L over the finite losses, in nats.

        >>> import tradeoff as to
        >>> to.PureDP(1).sup_loss, to.Gaussian(1).sup_loss
        (1.0, inf)
        """
        return float(self.loss_bounds.upper)

    leak: float | None = None
    """Delta if the curve is f_{0,delta}, which only scales the axes of another factor."""

    def renyi_bounds(self, order: float) -> Bounds:
        """Bound the Renyi divergence D_a(P || Q), a in (0, inf), in nats, where there is a closed form."""
        raise NoClosedForm(f"{self!r} has no closed form of its divergence of order {shown(order)}")

    def loss_distribution(self) -> PrivacyLossDistribution:
        """Return the privacy loss distribution for the engines."""
        raise NoClosedForm(f"{self!r} has no privacy loss distribution; use its bounds, or f.lower / f.upper")

    @property
    def has_law(self) -> bool:
        """Whether ``laws`` are known without whole curves."""
        try:
            self.loss_distribution()
        except NoClosedForm:
            return False
        return True

    def lattice_pld(self) -> PrivacyLossDistribution | None:
        """Return an exact law for lattices alone where ``laws`` are of polygons; by default None."""
        return None

    power_pld: Callable[[int], PrivacyLossDistribution | None] | None = None
    """The exact law of the n-fold product, or None; by default engines compose n copies."""

    @property
    def exact(self) -> bool:
        """Whether ``bounds`` enclose the curve of the mechanism; else they enclose a bound on it.

        A curve of two distributions, such as ``Gaussian(1)``, is exact. Curves of dominating mechanisms are
        not, nor is anything made of them: the safe side holds for the mechanism, the other side for the
        bound alone.

        >>> import tradeoff as to
        >>> to.mechanisms.Gaussian(noise_multiplier=1).curve().exact, to.mechanisms.PureDP(1).curve().exact
        (True, False)
        """
        return self.tightness > BOUND

    @property
    def free_symbols(self) -> frozenset[Any]:
        """Symbols that must be substituted before a question has a number for an answer.

        >>> import sympy, tradeoff as to
        >>> to.Gaussian(sympy.Symbol("mu")).free_symbols
        frozenset({mu})
        """
        return frozenset()

    def require_numbers(self) -> None:
        """Raise ``SymbolError`` if the curve has free symbols."""
        if self.free_symbols:
            names = ", ".join(sorted(map(str, self.free_symbols)))
            raise SymbolError(
                f"{self!r} has free symbols {names}; substitute numbers first, with .subs({{...}}), "
                "or get a formula, with .symbolic() or a symbol for the argument"
            )

    def _key(self) -> Hashable:
        """Return what, with assumptions, makes curves of a class equal: by default the fields, or itself."""
        return self._read_fields()(self)

    @classmethod
    @cache
    def _read_fields(cls) -> Callable[[Any], Hashable]:
        names = getattr(cls, "__dataclass_fields__", ())
        return attrgetter(*names) if names else id

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or self._key() != other._key():
            return False
        return self.assumptions == other.assumptions or set(self.assumptions) == set(other.assumptions)

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __dir__(self) -> Iterable[str]:
        # Questions to a user: hooks are left out, except for these, and some of ``TradeOff``.
        listed = {"symmetric", "exact", "assumptions", "free_symbols", "mass_at_infinity", "sup_loss"}
        hooks = {name for name in vars(CurveHooks) if not name.startswith("_")} - listed
        return set(super().__dir__()) - hooks - {"laws", "product", "formula_at", "simplify_product"}

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes but cached ones: tables weigh megabytes, and can be made again."""
        return {name: value for name, value in vars(self).items() if name not in self._cached_names()}

    @classmethod
    @cache  # a filter copies the curve of each step
    def _cached_names(cls) -> set[str]:
        """Return the names of attributes that copies and pickles leave out: they can be made again."""
        own = (item for kind in cls.__mro__ for item in vars(kind).items())
        return {name for name, value in own if isinstance(value, cached_property)} | {"_caches"}


C = TypeVar("C", bound=CurveHooks)


def forward_hooks(attribute: str, *names: str) -> Callable[[type[C]], type[C]]:
    """Return a decorator of a class whose hooks of these names are those of an attribute."""

    def decorate(cls: type[C]) -> type[C]:
        for name in names:
            setattr(cls, name, property(attrgetter(f"{attribute}.{name}")))
        return cls

    return decorate


def gathered(parts: Iterable[CurveHooks]) -> tuple[str, ...]:
    """Return the assumptions of all parts, each once, in their order."""
    return tuple(dict.fromkeys(sentence for part in parts for sentence in part.assumptions))


def assuming(assumptions: Sequence[str]) -> str:
    """Return the remark printed behind a curve that rests on assumptions."""
    count = len(assumptions)
    return f" (assumes {count} thing{'s' if count > 1 else ''}: see .assumptions)" if count else ""


def limited(curve: C, tightness: int, assumptions: Iterable[str] = ()) -> C:
    """Return the same curve with at most this tightness, and with more assumptions."""
    if curve.tightness <= tightness and set(assumptions) <= set(curve.assumptions):
        return curve
    return _marked(curve, min(curve.tightness, tightness), (*curve.assumptions, *assumptions))


def pure(curve: C) -> C:
    """Return the same curve with the tightness of one pair, independent of a mechanism."""
    return curve if curve.tightness == PAIR else _marked(curve, PAIR, curve.assumptions)


def _marked(curve: C, tightness: int, assumptions: Iterable[str]) -> C:
    result = copy(curve)
    for name, value in (("tightness", tightness), ("assumptions", tuple(dict.fromkeys(assumptions)))):
        if getattr(curve, name) != value:  # a class may compute its own
            object.__setattr__(result, name, value)  # of frozen dataclasses, too
    return result


def joint(parts: Iterable[CurveHooks]) -> int:
    """Return the tightness of a product or a mixture of parts: a bound unless each is of one pair."""
    each = [part.tightness for part in parts]
    return min(each, default=PAIR) if len(each) <= 1 or min(each) == PAIR else BOUND


def beta_from_delta(curve: Any, alpha: Array, tol: float | None) -> Pair:
    """Bound f(alpha) = sup_s 1 - delta(log s) - s alpha (Dong, Roth, Su 2022, 2.12).

    First points s are about where the supremum is expected, or from e^-4 up to 1/alpha, at most e^40; between
    suprema expected on both sides of 1 there may be a corner at 1 of both orders' profiles.
    """

    def value(s: Array) -> Pair:  # delta(log s) - (1 - s)_+, which is s delta_{f^-1}(-log s) where s < 1
        low, high = np.zeros(len(s)), np.zeros(len(s))
        for some, f in ((s >= 1, curve), ((s > 0) & (s < 1), curve.inverse())):
            if some.any():
                # ``conjugate`` allows for the rounding of the logarithm.
                result = clip(Bounds(*f.delta_bounds(np.abs(np.log(s[some])), None)), 0.0, 1.0)
                low[some], high[some] = result * np.minimum(s[some], 1.0)
        return low, high

    leak = curve.mass_at_infinity
    low, high = (np.where(alpha == 0, side, 0.0) for side in 1 - leak)  # f(0), and f(1) = 0
    inside = (alpha > 0) & (alpha < 1)
    at = alpha[inside, None]
    every = np.arange(-4.0, 5 + min(max(curve.sup_loss, 0.0), 40.0), 4.0)
    about = np.array([-0.06, -0.02, 0.02, 0.06])
    places = [loss[:, None] + spread * about for loss, spread in curve.estimate_losses(at[:, 0])]
    losses = np.hstack([np.full_like(at, np.nan), *places])
    losses[~np.isfinite(losses)] = np.nan
    corner = (losses < 0).any(axis=1, keepdims=True) & (losses > 0).any(axis=1, keepdims=True)
    unknown = np.isnan(losses).all(axis=1, keepdims=True)
    more = np.where(unknown & (every <= 4 - np.log(at)), every, np.nan)
    losses = np.hstack([losses, np.where(corner, 0.0, np.nan), more])
    s = np.hstack([np.zeros_like(at), np.exp(np.sort(np.clip(losses, -_STEEPEST, _STEEPEST)))])
    distinct = np.diff(s, prepend=-1.0) > 1e-11 * s  # NaN is not a point
    points = [each[some] for each, some in zip(s, distinct, strict=True)]
    low[inside], high[inside] = conjugate(value, alpha[inside], points, tol, limit=leak.lower)
    return np.maximum(low, 0.0), np.maximum(high, 0.0)


def delta_from_beta(curve: CurveHooks, epsilon: Array, tol: float | None) -> Pair:
    """Bound delta(eps) = sup_alpha 1 - f(alpha) - e^eps alpha (Dong, Roth, Su 2022, 2.12)."""

    def value(alpha: Array) -> Pair:
        return sides_of(clip(Bounds(*curve.beta_bounds(np.minimum(alpha, 1.0), None)), 0.0, 1.0))

    tiny = np.geomspace(1e-20, 0.5, 100)
    points = np.unique(np.concatenate([[0.0], tiny, 1 - tiny[tiny > 1e-14], [1.0]]))
    slope = exp(np.minimum(epsilon, _STEEPEST))
    low, high = conjugate(value, slope.lower, points, tol)
    # The supremum falls with the slope s, by no more than its relative change: s alpha <= 1 where it is
    # reached, as it is not below 0. Beyond the last slope it is bounded above, and by the mass at infinity.
    change = (slope.upper - Bounds.of(slope.lower)) / slope.lower
    low = np.where(epsilon > _STEEPEST, 0.0, (Bounds.of(low) - change).lower)
    return np.maximum(low, curve.mass_at_infinity.lower), np.minimum(high, 1.0)
