"""The symbolic tensor product: factors with powers, in normal form, and the engines that compose them.

A law is a ``PrivacyLossDistribution``, L = log dQ/dP under P; a ``Composition`` answers questions about a
product of laws, by the engine that fits. A factor that no law gives exactly has two, of curves below and
above it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any

import numpy as np

from tradeoff.accounting.options import Question, measure
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import beta_from_delta, forward_hooks, gathered, joint, limited, pure
from tradeoff.curves.query import cached_by_options, certified_beta, certified_delta, certified_epsilon
from tradeoff.intervals.bounds import Array, Bounds, Pair, sides_of
from tradeoff.intervals.functions import clip, exp, expm1, log1p, rational, total
from tradeoff.pld.discrete import AtomicLaw, leaking
from tradeoff.pld.law import PrivacyLossDistribution, combine_masses_at_infinity
from tradeoff.pld.transformed import to_atomic

if TYPE_CHECKING:
    from tradeoff.accounting.planner import Composition

Factors = dict[TradeOff, int]


def tensor(factors: Iterable[tuple[TradeOff, int]]) -> TradeOff:
    """Multiply curves (f, n), f to the n-th power, and simplify by every closed form."""
    curves = sorted(factors, key=lambda power: len(_normal_factors(*power)), reverse=True)
    # The largest product is in normal form already: a chain of products costs only the factors added.
    result = dict(_normal_factors(*curves[0])) if curves else {}
    new: list[TradeOff] = []
    for curve, n in curves[bool(result) :]:
        for each, power in curve.factors.items():
            if n * power:
                factor = pure(each)
                result[factor] = result.get(factor, 0) + n * power
                new.append(factor)
    result = TradeOff.simplify_product(result, {factor: result[factor] for factor in new})
    product = next(iter(result)) if [*result.values()] == [1] else Tensor(result)
    # f_{0,delta} scales the greatest curve below several others; any other factor leaves a lower one.
    level = joint(f for f, n in curves for _ in range(min(n, 2)) if f.leak is None or not f.exact)
    return limited(product, level, gathered(f for f, n in curves if n))


def _normal_factors(curve: TradeOff, n: int) -> Factors:
    """Return the factors of a product, which are in normal form; of a power or another curve, nothing."""
    return curve.unordered if isinstance(curve, Tensor) and n == 1 else {}


class Tensor(TradeOff):
    """Product of curves: holds ``{factor: power}``, and computes numbers only for a question.

    Two products with the same factors are equal, in whatever order. The first question in a region of epsilon
    costs one FFT for each distinct factor, whatever the powers; later ones nearby use its table.

    Parameters
    ----------
    factors
        Curves with their powers, integers from 1; ``f @ g`` and ``f ** n`` make them.

    Notes
    -----
    Dong, Roth, Su 2022, Definition 3.1.

    Examples
    --------
    >>> from tradeoff import Gaussian, Laplace
    >>> Laplace(0.1) ** 2 @ Gaussian(1)
    G_{1} ⊗ Lap_{0.1}^2
    """

    composed = True

    def __init__(self, factors: Mapping[TradeOff, int]) -> None:
        self.unordered = dict(factors)
        if len(self.unordered) == 1:  # a power: nothing to sort or to join
            (factor,) = self.factors = self.unordered
            self.free_symbols, self.is_scaled = factor.free_symbols, factor.leak is not None

    @cached_property
    def free_symbols(self) -> frozenset[Any]:
        return frozenset().union(*map(attrgetter("free_symbols"), self.unordered))

    @cached_property
    def depth(self) -> int:  # type: ignore[override]  # an attribute all the same
        return max(factor.depth for factor in self.unordered)

    @cached_property
    def is_scaled(self) -> bool:
        """Whether a factor is f_{0,delta}, which only scales the axes of the others."""
        return any(factor.leak is not None for factor in self.unordered)

    @cached_property
    def factors(self) -> Mapping[TradeOff, int]:
        """Factors by name, in which order they are printed and summed."""
        alike = Counter(factor.notation for factor in self.unordered)

        def place(item: tuple[TradeOff, int]) -> tuple[str, int, str]:
            # Factors that print alike, as numbers cut to six digits, differ in their state, without caches.
            shown = item[0].notation
            state = sorted(item[0].__getstate__().items()) if alike[shown] > 1 else ""
            return shown, item[1], str(state)

        return dict(sorted(self.unordered.items(), key=place))

    def _key(self) -> frozenset[tuple[TradeOff, int]]:
        return frozenset(self.unordered.items())

    @property
    def symmetric(self) -> bool:
        powers = self.unordered
        if len(powers) == 1:
            return next(iter(powers)).symmetric
        return all(f.symmetric or powers.get(f.inverse()) == n for f, n in powers.items())

    @cached_by_options
    def _engines(self) -> Composition | _Between:
        """Compose the laws of all factors; if some have none of their own, laws of curves below and above.

        A law is a privacy loss distribution. A factor made of a product, such as a subsampled one, has one
        for lattices at best (``lattice_pld``).
        """
        from tradeoff.accounting.planner import Composition  # engines are loaded with the first question

        pairs, is_nested = [], False
        for factor, n in self.factors.items():
            law = factor.lattice_pld()
            pairs.append(law_pair(factor, n) if law is None else (law, law, n))
            is_nested |= law is not None
        below, above, counts = zip(*pairs, strict=True)
        if not all(map(is_, below, above)):
            return _Between(self.factors, self.symmetric, None)
        product = Composition(below, counts, symmetric=self.symmetric, once=is_nested)
        return _Between(self.factors, self.symmetric, product) if is_nested else product

    @cached_property
    def _scaled(self) -> tuple[Any, TradeOff]:
        """The product of the factors f_{0,delta}, and that of the others, whose axes it scales."""
        leaks = ((factor, n) for factor, n in self.factors.items() if factor.leak is not None)
        rest = ((factor, n) for factor, n in self.factors.items() if factor.leak is None)
        return tensor(leaks), tensor(rest)

    def _answer_scaled(self, question: Question, at: Array, tol: float | None) -> Pair:
        """Answer by f, the product of all factors but f_{0,d}.

        Beta is (1 - d) f(alpha/(1 - d)), delta d + (1 - d) delta_f, epsilon that of f at (delta - d)/(1 - d).
        """
        scale, rest = self._scaled
        leak, kept = scale.mass_at_infinity, scale.kept
        if question == "delta":
            return sides_of(leak + kept * Bounds(*certified_delta(rest, at, tol)))
        if question == "epsilon":  # the others decrease, so each side takes the other end
            least, most = clip((at - leak) / kept, 0.0, 1.0)
            return certified_epsilon(rest, most, tol)[0], certified_epsilon(rest, least, tol)[1]
        least, most = clip(at / kept if kept.upper > 0 else at, 0.0, 1.0)
        high = np.where(least < 1, certified_beta(rest, least, tol)[1], 0.0)
        return sides_of(clip(kept * Bounds(certified_beta(rest, most, tol)[0], high), 0.0, 1.0))

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        low, high = (np.where(alpha == 0, side, 0.0) for side in clip(1 - self.mass_at_infinity, 0.0, 1.0))
        inside = (alpha > 0) & (alpha < 1)
        if inside.any():
            answer = self._answer_scaled if self.is_scaled else self._engines.answer
            low[inside], high[inside] = answer("beta", alpha[inside], tol)
        # Next to a kink, where nearly all losses are one, enclosures about single losses do not meet.
        # Past e^700 there are no slopes to search.
        wide = inside & (high - low > max(1e-3, tol or 0.0))
        if wide.any() and not 700 < self.sup_loss < np.inf:
            below, above = beta_from_delta(self, alpha[wide], tol)
            low[wide], high[wide] = np.fmax(low[wide], below), np.fmin(high[wide], above)
        return low, high

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        answer = self._answer_scaled if self.is_scaled else self._engines.answer
        low, high = answer("delta", epsilon, tol)
        # Next to the least loss lattices are wide; of a symmetric f it is 1 - e^eps (1 - delta(-eps)), too.
        wide = (epsilon < 0) & (high - low > 1e-3) if self.symmetric else np.zeros(len(epsilon), bool)
        if wide.any():
            x = epsilon[wide]
            mirrored = exp(x) * Bounds(*answer("delta", -x, tol)) - expm1(x)
            low[wide], high[wide] = np.fmax(low[wide], mirrored.lower), np.fmin(high[wide], mirrored.upper)
        # Engines lose rates below rounding; total variation is at most the sum of the factors'. Of
        # one factor alone there is no gain, and it may itself ask for this product.
        rare = (epsilon >= 0) & (high > np.maximum(2 * low, 1e-100))
        if rare.any() and sum(self.unordered.values()) > 1:
            variation = total(rational(n) * f.bounds.delta(0.0) for f, n in self.factors.items())
            high[rare] = np.minimum(high[rare], variation.upper)
        return low, high

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        answer = self._answer_scaled if self.is_scaled else self._engines.answer
        return answer("epsilon", delta, tol)

    def estimate_losses(self, alpha: Array) -> list[tuple[Array, float]]:
        return [] if self.is_scaled else self._engines.estimate_losses(alpha)

    def ceiling(self, epsilon: Array, level: Array) -> Array:
        return np.ones(len(epsilon)) if self.is_scaled else self._engines.ceiling(epsilon, level)

    @cached_property
    def mass_at_infinity(self) -> Bounds[float]:
        r"""Bounds on the mass at infinity; of a single factor they are its own.

        .. math::

           1 - \prod_i (1 - q_i)^{n_i}
        """
        masses = [(mass, n) for f, n in self.factors.items() if (mass := f.mass_at_infinity).upper > 0]
        return combine_masses(masses) if masses else Bounds(0.0, 0.0)

    @property
    def mass_at_minus_infinity(self) -> float:
        return combine_masses_at_infinity(
            [factor.mass_at_minus_infinity for factor in self.factors], list(self.factors.values())
        )

    @cached_property
    def loss_bounds(self) -> Bounds[float]:
        """Bounds on sup L over the finite losses, in nats: suprema of the factors add."""
        each = [(factor.loss_bounds, n) for factor, n in self.factors.items()]
        if all(top.lower == math.inf for top, _ in each):
            return Bounds(math.inf, math.inf)
        return total(rational(n) * top for top, n in each)

    def inverse(self) -> TradeOff:
        return self if self.symmetric else self._inverse

    @cached_property
    def _inverse(self) -> TradeOff:
        """The other order, cached: a root search needs it a hundred times."""
        inverse = tensor((factor.inverse(), n) for factor, n in self.factors.items())
        return limited(inverse, self.tightness, self.assumptions)

    @property
    def has_law(self) -> bool:
        return all(factor.has_law for factor in self.factors) and super().has_law

    def lattice_pld(self) -> PrivacyLossDistribution | None:
        return None if self.has_law else self._engines.law

    def loss_distribution(self) -> PrivacyLossDistribution:
        if len(self.factors) == 1:
            ((factor, n),) = self.factors.items()
            if n == 1:
                return law_pair(factor, 1)[0]  # exact if ``has_law``
            if factor.power_pld and (law := factor.power_pld(n)) is not None:
                return law
        if self.is_scaled and isinstance(rest := self._scaled[1].loss_distribution(), AtomicLaw):
            leak = self._scaled[0]
            delta = leak.mass_at_infinity.upper
            # The lesser of delta and 1 - delta has the narrower bounds.
            log_kept = math.log1p(-delta) if delta < 0.5 else math.log(leak.kept.upper or math.ulp(0.0))
            return leaking(rest, leak.mass_at_plus_infinity, log_kept)
        return super().loss_distribution()  # raises: the engines compose the factors

    @property
    def notation(self) -> str:
        powers = ((factor.notation, n) for factor, n in self.factors.items())
        product = " ⊗ ".join(f"{factor}^{n}" if n > 1 else factor for factor, n in powers)
        # Dong, Roth, Su 2022 write (epsilon, delta)-DP as one curve.
        return re.sub(r"^f_\{0,([^{}]*)\} ⊗ f_\{([^{}]*),0\}$", r"f_{\2,\1}", product)


@dataclass(frozen=True, eq=False)
class _Between:
    """Bounds on a product with factors that have no law of their own.

    Such factors lie between two piecewise-linear curves, whose laws take seconds. ``nested``, if there is
    one, composes other laws of them, which the lattice engine alone can use: where its bounds are narrow
    enough, those two are not made.
    """

    factors: Mapping[TradeOff, int]
    symmetric: bool
    nested: Composition | None
    law = None

    @cached_property
    def sides(self) -> tuple[Composition, Composition]:
        """Compositions of the laws of curves below each factor, and of those above: one, if all are equal."""
        from tradeoff.accounting.planner import Composition

        pairs = [law_pair(factor, n) for factor, n in self.factors.items()]
        below, above, counts = zip(*pairs, strict=True)
        least = Composition(below, counts, symmetric=self.symmetric)
        if all(map(is_, below, above)):
            return least, least
        return least, Composition(above, counts, symmetric=self.symmetric)

    def estimate_losses(self, alpha: Array) -> list[tuple[Array, float]]:
        return self.sides[0].estimate_losses(alpha)

    def ceiling(self, epsilon: Array, level: Array) -> Array:
        return self.sides[0].ceiling(epsilon, level)

    def answer(self, question: Question, at: Array, tol: float | None) -> Pair:
        """Bound beta at alphas, delta at losses, or epsilon at deltas: by ``nested``, then by ``sides``."""
        if self.nested is None:
            return self.answer_between(question, at, tol)
        low, high = self.nested.answer(question, at, tol)
        # Whole curves are about 5e-3 wide; where the lattice is that wide for delta, they are as wide.
        enough = tol if tol is not None else 0.99 if question == "delta" else 5e-3
        with np.errstate(invalid="ignore"):
            wide = ~(measure(question, at, low, high, tol) <= enough)
        if wide.any():
            below, above = self.answer_between(question, at[wide], tol)
            low[wide], high[wide] = np.fmax(low[wide], below), np.fmin(high[wide], above)
        return low, high

    def answer_between(self, question: Question, at: Array, tol: float | None) -> Pair:
        """Bound by the compositions below and above, whose gap no tolerance closes.

        A curve below f has the lesser beta, and a profile above delta. Widths only grow with the upper and
        shrink with the lower bound, so none is less than that from the greatest answer of the lower law to
        the least of the upper. Where the first engines are twenty times as narrow, no others answer.
        """
        least, most = self.sides if question == "beta" else self.sides[::-1]
        if least is most:
            return least.answer(question, at, tol)
        first = (side.answer(question, at, None, engines=1) for side in (least, most))
        (lower, upper), (inner, outer) = first
        with np.errstate(invalid="ignore"):
            wide = ~(np.maximum(upper - lower, outer - inner) <= 0.05 * (inner - upper))
        if wide.any():
            (lower[wide], upper[wide]), (inner[wide], outer[wide]) = (
                side.answer(question, at[wide], None) for side in (least, most)
            )
        if tol is not None:
            with np.errstate(invalid="ignore"):
                near = ~((inner > upper) & (measure(question, at, upper, inner, tol) > tol))
            if near.any():
                lower[near] = least.answer(question, at[near], tol)[0]
                outer[near] = most.answer(question, at[near], tol)[1]
        return lower, outer


@forward_hooks("_alone", "beta_bounds", "delta_bounds", "epsilon_bounds")
class CurveFromPLD(TradeOff):
    """Curve that the engines answer for, from ``loss_distribution()``."""

    composed = True

    @cached_property
    def _alone(self) -> Tensor:
        """Product of this curve alone, which the engines answer for."""
        return Tensor({self: 1})


def combine_masses(masses: Iterable[tuple[Bounds, int]]) -> Bounds[float]:
    """Bound 1 - prod (1 - mass)^n; a single mass once is that mass."""
    positive = [(mass, n) for mass, n in masses if mass.upper > 0]
    if not positive:
        return Bounds(0.0, 0.0)
    if len(positive) == 1 and positive[0][1] == 1:
        return positive[0][0]
    return clip(-expm1(total(rational(n) * log1p(-mass) for mass, n in positive)), 0.0, 1.0)


def law_pair(factor: TradeOff, n: int) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution, int]:
    """Return laws below and above ``factor``, one if it has its own, and their number in ``factor ** n``."""
    law = factor.power_pld(n) if n > 1 and factor.power_pld else None
    if law is not None:
        return law, law, 1
    low, high = factor.laws()
    below = to_atomic(low)
    return below, below if high is low else to_atomic(high), n
