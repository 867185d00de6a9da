"""The symbolic tensor product: factors with multiplicities, in normal form."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tradeoff.accounting.options import Question, cache_by_options, measure
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import PAIR, forward_hooks, gathered, joint, limited, pure
from tradeoff.curves.query import certified_beta, certified_delta, certified_epsilon
from tradeoff.intervals.bounds import Array, Bounds, Pair
from tradeoff.intervals.functions import clip, expm1, log1p, total, whole
from tradeoff.pld.discrete import AtomicLaw, leaking, to_atomic
from tradeoff.pld.law import PrivacyLossDistribution, combine_masses_at_infinity

if TYPE_CHECKING:
    from tradeoff.accounting.planner import Composition

Factors = dict[TradeOff, int]
# Laws of curves below and above a factor, None for one that holds on lattices alone, and their power.
Laws = tuple[PrivacyLossDistribution, PrivacyLossDistribution | None, int]


def tensor(factors: Iterable[tuple[TradeOff, int]]) -> TradeOff:
    """Multiply curves with multiplicities, and simplify by every closed form."""
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
    if all(f.tightness == PAIR for f, _ in curves):
        return product
    # f_{0,delta} scales the greatest curve below several others; any other factor leaves a lower one.
    return limited(
        product, joint(f for f, n in curves for _ in range(min(n, 2)) if f.leak is None or not f.exact)
    )


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

    @cached_property
    def depth(self) -> int:
        return max(factor.depth for factor in self.unordered)

    @cached_property
    def factors(self) -> Mapping[TradeOff, int]:
        """Factors by name, in which order they are printed and summed."""
        if len(self.unordered) == 1:
            return self.unordered
        alike = Counter(factor.notation for factor in self.unordered)

        def place(item: tuple[TradeOff, int]) -> tuple[str, int, str]:
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

    @cached_property
    def free_symbols(self) -> frozenset[Any]:
        return frozenset().union(*(factor.free_symbols for factor in self.unordered))

    @property
    def assumptions(self) -> tuple[str, ...]:
        return gathered(self.factors)

    @property
    def _engines(self) -> Composition | _ProductBounds:
        """Engines for the product under the options of this question."""
        return cache_by_options(self, "product", self._compose)

    def _compose(self) -> Composition | _ProductBounds:
        laws: list[Laws] = []
        for factor, n in self.factors.items():
            law = factor.lattice_pld()
            laws.append(law_pair(factor, n) if law is None else (law, None, n))
        powers = [(low, n) for low, _, n in laws]
        if all(low is high for low, high, _ in laws):
            return _compose(powers, symmetric=self.symmetric)
        exact = all(high is None or low is high for low, high, _ in laws)
        nested = _compose(powers, symmetric=self.symmetric, once=True) if exact else None
        return _ProductBounds(self.factors, laws, nested, symmetric=self.symmetric)

    @cached_property
    def _scaled(self) -> _ScaledProduct | None:
        """Bounds from those of the other factors, where one is f_{0,delta}."""
        leaks = [(factor, n) for factor, n in self.factors.items() if factor.leak is not None]
        if not leaks:
            return None
        rest = tensor((factor, n) for factor, n in self.factors.items() if factor.leak is None)
        return _ScaledProduct(tensor(leaks), rest)

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        engines = self._scaled or self._engines
        inside = (alpha > 0) & (alpha < 1)
        if inside.all():
            return engines.answer("beta", alpha, tol)
        low, high = np.zeros(len(alpha)), np.zeros(len(alpha))
        low[alpha == 0], high[alpha == 0] = clip(1 - self.mass_at_infinity, 0.0, 1.0)
        if inside.any():
            low[inside], high[inside] = engines.answer("beta", alpha[inside], tol)
        return low, high

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        return (self._scaled or self._engines).answer("delta", epsilon, tol)

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        return (self._scaled or self._engines).answer("epsilon", delta, tol)

    def expected(self, alpha: Array) -> list[tuple[Array, float]]:
        return (self._scaled or self._engines).expected(alpha)

    def ceiling(self, epsilon: Array, level: Array) -> Array:
        return (self._scaled or self._engines).ceiling(epsilon, level)

    @cached_property
    def mass_at_infinity(self) -> Bounds[float]:
        r"""Bounds on the mass at infinity; of a single factor they are its own.

        .. math::

           1 - \prod_i (1 - q_i)^{n_i}
        """
        masses = [(f.mass_at_infinity, n) for f, n in self.factors.items() if f.mass_at_infinity.upper > 0]
        if not masses:
            return Bounds(0.0, 0.0)
        if len(masses) == 1 and masses[0][1] == 1:
            return masses[0][0]
        return clip(-expm1(total(whole(n) * log1p(-mass) for mass, n in masses)), 0.0, 1.0)

    @property
    def mass_at_minus_infinity(self) -> float:
        return combine_masses_at_infinity(
            [factor.mass_at_minus_infinity for factor in self.factors], list(self.factors.values())
        )

    @cached_property
    def loss_bounds(self) -> Bounds[float]:
        each = [(factor.loss_bounds, n) for factor, n in self.factors.items()]
        if all(top.lower == math.inf for top, _ in each):
            return Bounds(math.inf, math.inf)
        return total(whole(n) * top for top, n in each)

    def inverse(self) -> TradeOff:
        return self if self.symmetric else self._inverse

    @cached_property
    def _inverse(self) -> TradeOff:
        """The other order, cached: a root search needs it a hundred times."""
        return limited(tensor((factor.inverse(), n) for factor, n in self.factors.items()), self.tightness)

    @property
    def has_law(self) -> bool:
        return all(factor.has_law for factor in self.factors) and super().has_law

    def lattice_pld(self) -> PrivacyLossDistribution | None:
        if self.has_law or isinstance(self._engines, _ProductBounds):
            return None
        return self._engines.law

    def loss_distribution(self) -> PrivacyLossDistribution:
        if len(self.factors) == 1:
            ((factor, n),) = self.factors.items()
            law, _, left = law_pair(factor, n)
            if left == 1:
                return law
        if self._scaled is not None and isinstance(rest := self._scaled.rest.loss_distribution(), AtomicLaw):
            leak = self._scaled.leak
            delta = leak.mass_at_infinity.upper
            # The lesser of delta and 1 - delta has the narrower bounds.
            log_kept = math.log1p(-delta) if delta < 0.5 else math.log(leak.kept.upper or math.ulp(0.0))
            return leaking(rest, leak.mass_at_plus_infinity, log_kept)
        return super().loss_distribution()

    @property
    def notation(self) -> str:
        powers = ((factor.notation, n) for factor, n in self.factors.items())
        product = " ⊗ ".join(f"{factor}^{n}" if n > 1 else factor for factor, n in powers)
        # Dong, Roth, Su 2022 write (epsilon, delta)-DP as one curve.
        return re.sub(r"^f_\{0,([^{}]*)\} ⊗ f_\{([^{}]*),0\}$", r"f_{\2,\1}", product)


class _ScaledProduct:
    """Bounds on a product with f_{0,delta}, which scales the axes of the ``rest``."""

    def __init__(self, leak: Any, rest: TradeOff) -> None:
        self.leak, self.rest = leak, rest

    def expected(self, alpha: Array) -> list[tuple[Array, float]]:
        return []

    def ceiling(self, epsilon: Array, level: Array) -> Array:
        return np.ones(len(epsilon))

    def answer(self, question: Question, at: Array, tol: float | None) -> Pair:
        """Bound (1 - delta) f(alpha/(1 - delta)), delta + (1 - delta) delta_f, or epsilon_f at delta'."""
        leak, kept = self.leak.mass_at_infinity, self.leak.kept
        if question == "delta":
            low, high = leak + kept * Bounds(*certified_delta(self.rest, at, tol))
            return low, high
        # The others decrease, so each side takes the other end.
        if question == "epsilon":
            least, most = clip((at - leak) / kept, 0.0, 1.0)
            return certified_epsilon(self.rest, most, tol)[0], certified_epsilon(self.rest, least, tol)[1]
        least, most = clip(at / kept if kept.upper > 0 else at, 0.0, 1.0)
        low = certified_beta(self.rest, most, tol)[0]
        high = np.where(least < 1, certified_beta(self.rest, least, tol)[1], 0.0)
        low, high = clip(kept * Bounds(low, high), 0.0, 1.0)
        return low, high


class _ProductBounds:
    """Bounds on a product some of whose factors have no exact law.

    ``nested``, if there is one, composes laws that hold for lattices alone, of factors that are made of
    products: those that have no second law in ``laws``.
    """

    def __init__(
        self,
        factors: Mapping[TradeOff, int],
        laws: list[Laws],
        nested: Composition | None,
        *,
        symmetric: bool,
    ) -> None:
        self.factors, self.laws, self.nested, self.symmetric = factors, laws, nested, symmetric

    @cached_property
    def sides(self) -> tuple[Composition, Composition]:
        """Compositions of laws below and above each factor."""
        pairs = [
            law_pair(factor, n) if high is None else (low, high, left)
            for (factor, n), (low, high, left) in zip(self.factors.items(), self.laws, strict=True)
        ]
        below = _compose([(low, n) for low, _, n in pairs], symmetric=self.symmetric)
        if all(low is high for low, high, _ in pairs):
            return below, below
        return below, _compose([(high, n) for _, high, n in pairs], symmetric=self.symmetric)

    def expected(self, alpha: Array) -> list[tuple[Array, float]]:
        return self.sides[0].expected(alpha)

    def ceiling(self, epsilon: Array, level: Array) -> Array:
        return self.sides[0].ceiling(epsilon, level)

    def answer(self, question: Question, at: Array, tol: float | None) -> Pair:
        """Bound the answer by ``nested``; where that is too wide, also by ``sides``."""
        if self.nested is None:
            return self.answer_between(question, at, tol)
        low, high = self.nested.answer(question, at, tol)
        with np.errstate(invalid="ignore"):
            # Whole curves are about 5e-3 wide.
            wide = ~(measure(question, at, low, high) <= (5e-3 if tol is None else tol))
        if wide.any():
            below, above = self.answer_between(question, at[wide], tol)
            low[wide], high[wide] = np.fmax(low[wide], below), np.fmin(high[wide], above)
        return low, high

    def answer_between(self, question: Question, at: Array, tol: float | None) -> Pair:
        """Bound by the compositions below and above, whose gap no tolerance closes.

        A curve below f has the lesser beta, and a profile above delta. Widths only grow with the upper and
        shrink with the lower bound, so none is less than that from the greatest answer of the lower law to
        the least of the upper. Where the first engines are a hundred times as narrow, no others are asked.
        """
        least, most = self.sides if question == "beta" else self.sides[::-1]
        if least is most:
            return least.answer(question, at, tol)
        first = (side.answer(question, at, None, engines=1) for side in (least, most))
        (lower, upper), (inner, outer) = first
        with np.errstate(invalid="ignore"):
            wide = ~(np.maximum(upper - lower, outer - inner) <= 0.01 * (inner - upper))
        if wide.any():
            (lower[wide], upper[wide]), (inner[wide], outer[wide]) = (
                side.answer(question, at[wide], None) for side in (least, most)
            )
        if tol is not None:
            with np.errstate(invalid="ignore"):
                near = ~((inner > upper) & (measure(question, at, upper, inner) > tol))
            if near.any():
                lower[near] = least.answer(question, at[near], tol)[0]
                outer[near] = most.answer(question, at[near], tol)[1]
        return lower, outer


def _compose(
    powers: list[tuple[PrivacyLossDistribution, int]], *, symmetric: bool, once: bool = False
) -> Composition:
    from tradeoff.accounting.planner import Composition  # engines are loaded with the first question

    return Composition(*zip(*powers, strict=True), symmetric=symmetric, once=once)


@forward_hooks("_alone", "beta_bounds", "delta_bounds", "epsilon_bounds")
class CurveFromPLD(TradeOff):
    """Curve that the engines answer for, from ``loss_distribution()``."""

    composed = True

    @cached_property
    def _alone(self) -> Tensor:
        return Tensor({self: 1})


def law_pair(factor: TradeOff, n: int) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution, int]:
    """Return distributions of curves below and above ``factor``, and the number of copies to compose."""
    law = factor.power_pld(n) if n > 1 else None
    if law is not None:
        return law, law, 1
    low, high = factor.laws()
    below = to_atomic(low)
    return below, below if high is low else to_atomic(high), n
