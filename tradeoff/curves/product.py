"""The symbolic tensor product: factors with multiplicities, in normal form."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property, reduce
from numbers import Number
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np

from tradeoff.accounting.cache import Cache, cache_for
from tradeoff.accounting.options import Question, measure, query_options
from tradeoff.curves.contract import CHOICES, TradeOff
from tradeoff.curves.hooks import PAIR, gathered, joint, limited, pure
from tradeoff.curves.parameters import is_symbol
from tradeoff.curves.query import certified_beta, certified_delta, certified_epsilon
from tradeoff.errors import counted
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import clip, exp, expm1, log, log1p, total, whole
from tradeoff.intervals.rounding import TINY, Array
from tradeoff.pld.discrete import AtomicLaw, leaking, to_atomic
from tradeoff.pld.law import PrivacyLossDistribution, combine_masses_at_infinity

if TYPE_CHECKING:
    from tradeoff.accounting.planner import Composition

Factors = dict[TradeOff, int]
Rule = Callable[[Factors, Factors], Factors | None]
# Identities across families; a rule is given all factors and those that are new among them, whose powers
# changed, and may decline with None. Filled by ``families.closed_forms``.
RULES: list[Rule] = []


def rule(function: Rule) -> Rule:
    """Add an identity to the table."""
    RULES.append(function)
    return function


def tensor(factors: Iterable[tuple[TradeOff, int]]) -> TradeOff:
    """Tensor product of curves with multiplicities, simplified by every closed form known."""
    curves = sorted(factors, key=lambda power: len(_settled(power)), reverse=True)
    # The largest product is in normal form already: a chain of them costs what each adds.
    result = dict(_settled(curves[0])) if curves else {}
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


def _settled(power: tuple[TradeOff, int]) -> Factors:
    """Return the factors that are in normal form as they are: those of a product, once."""
    curve, n = power
    return curve.unordered if isinstance(curve, Tensor) and n == 1 else {}


_USUAL = 5e-3  # width up to which whole curves are not asked without a tolerance: they leave about as much


class Tensor(TradeOff):
    """Product of curves; holds ``{factor: power}`` and computes only when a number is asked.

    Two products with the same factors are equal, whatever the order they were written in. The first question
    in a region of epsilon costs one FFT a distinct factor, whatever the powers; later ones nearby come from
    its table.

    Parameters
    ----------
    factors
        Curves with their powers, whole numbers from 1; ``f @ g`` and ``f ** n`` make them.

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
    def factors(self) -> Mapping[TradeOff, int]:
        """Factors by name: the order in which they are printed and summed, whatever they were written in."""
        alike = Counter(factor.notation for factor in self.unordered)

        def place(item: tuple[TradeOff, int]) -> tuple[str, int, str]:
            shown = item[0].notation
            return shown, item[1], _spelled(item[0]) if alike[shown] > 1 else ""

        return dict(sorted(self.unordered.items(), key=place))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensor) and self.unordered == other.unordered

    def __hash__(self) -> int:
        return hash(frozenset(self.unordered.items()))

    @property
    def symmetric(self) -> bool:
        powers = self.unordered
        return all(f.symmetric or powers.get(f.inverse()) == n for f, n in powers.items())

    @property
    def free_symbols(self) -> frozenset[Any]:
        return frozenset().union(*(factor.free_symbols for factor in self.factors))

    @property
    def assumptions(self) -> tuple[str, ...]:
        return gathered(self.factors)

    @property
    def _sides(self) -> tuple[Composition, Composition]:
        """Return compositions of laws below and above the truth; one if every factor has an exact law."""
        return self._composed.of(query_options().choices, self._compositions)

    @cached_property
    def _composed(self) -> Cache[tuple[Composition, Composition]]:
        return cache_for(("product", self), CHOICES)

    def _compositions(self) -> tuple[Composition, Composition]:
        # The engines are loaded when a number is asked.
        from tradeoff.accounting.planner import Composition

        below, above, counts = zip(*(law_pair(factor, n) for factor, n in self.factors.items()), strict=True)
        lower = Composition(below, counts, symmetric=self.symmetric)
        exact = all(low is high for low, high in zip(below, above, strict=True))
        return lower, lower if exact else Composition(above, counts, symmetric=self.symmetric)

    @property
    def _inner(self) -> Composition | None:
        """The composition in which factors made of products have laws for lattices; None if none is."""
        return self._within.of(query_options().choices, self._of_cells)

    @cached_property
    def _within(self) -> Cache[Composition | None]:
        return cache_for(("inner", self), CHOICES)

    def _of_cells(self) -> Composition | None:
        inner = {factor: law for factor in self.factors if (law := factor.lattice_pld()) is not None}
        if not inner:
            return None
        rest = [(factor, *law_pair(factor, n)) for factor, n in self.factors.items() if factor not in inner]
        if any(low is not high for _, low, high, _ in rest):
            return None
        from tradeoff.accounting.planner import Composition

        powers = [(law, self.factors[factor]) for factor, law in inner.items()]
        laws, counts = zip(*powers, *((low, n) for _, low, _, n in rest), strict=True)
        return Composition(laws, counts, symmetric=self.symmetric, once=True)

    @cached_property
    def _leak(self) -> tuple[Bounds, Bounds, TradeOff] | None:
        """Return delta, 1 - delta and the rest of f_{0,delta} (x) rest."""
        leaking = [(factor, n) for factor, n in self.factors.items() if factor.leak is not None]
        if not leaking:
            return None
        kept = _product((factor.kept, n) for factor, n in leaking)
        rest = tensor((factor, n) for factor, n in self.factors.items() if factor.leak is None)
        return self._lost(leaking), kept, rest

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        if self._leak is not None:
            # f (x) f_{0,delta} (alpha) = (1 - delta) f(alpha/(1 - delta)); f decreases, so each side takes
            # the other end of alpha.
            _, kept, rest = self._leak
            least, most = clip(alpha / kept, 0.0, 1.0) if kept.upper > 0 else (alpha, alpha)
            low = certified_beta(rest, most, tol)[0]
            high = np.where(least < 1, certified_beta(rest, least, tol)[1], 0.0)
            low, high = clip(kept * Bounds(low, high), 0.0, 1.0)
            return low, high
        inside = (alpha > 0) & (alpha < 1)
        low, high = np.zeros(len(alpha)), np.zeros(len(alpha))
        low[alpha == 0], high[alpha == 0] = clip(1 - self.mass_at_infinity, 0.0, 1.0)
        if inside.any():
            low[inside], high[inside] = self._answer("beta", alpha[inside], tol)
        return low, high

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        if self._leak is not None:
            delta, kept, rest = self._leak
            low, high = delta + kept * Bounds(*certified_delta(rest, epsilon, tol))
            return low, high
        return self._answer("delta", epsilon, tol)

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        if self._leak is not None:
            leak, kept, rest = self._leak
            least, most = clip((delta - leak) / kept, 0.0, 1.0)
            return certified_epsilon(rest, most, tol)[0], certified_epsilon(rest, least, tol)[1]
        return self._answer("epsilon", delta, tol)

    def _answer(self, question: Question, at: Array, tol: float | None) -> Pair:
        """Ask the laws of inner products, and whole curves where those leave more than is wanted."""
        if self._inner is None:
            return self._of_sides(question, at, tol)
        low, high = self._inner.answer(question, at, tol)
        with np.errstate(invalid="ignore"):
            wide = ~(measure(question, at, low, high) <= (_USUAL if tol is None else tol))
        if wide.any():
            below, above = self._of_sides(question, at[wide], tol)
            low[wide], high[wide] = np.fmax(low[wide], below), np.fmin(high[wide], above)
        return low, high

    def _of_sides(self, question: Question, at: Array, tol: float | None) -> Pair:
        """Bound from both sides: by two laws where none is exact, whose answers no tolerance brings closer.

        A curve below f has the lesser beta, and a profile above delta. Widths only grow with the upper and
        shrink with the lower bound, so none is less than that from the greatest answer of the lower law to
        the least of the upper.
        """
        least, most = self._sides if question == "beta" else self._sides[::-1]
        if least is most:
            return least.answer(question, at, tol)
        (lower, upper), (inner, outer) = (side.answer(question, at, None) for side in (least, most))
        if tol is not None:
            with np.errstate(invalid="ignore"):
                near = ~((inner > upper) & (measure(question, at, upper, inner) > tol))
            if near.any():
                lower[near] = least.answer(question, at[near], tol)[0]
                outer[near] = most.answer(question, at[near], tol)[1]
        return lower, outer

    def expected(self, alpha: float) -> list[tuple[float, float]]:
        return [] if self._leak is not None else self._sides[0].expected(alpha)

    def ceiling(self, epsilon: Array, level: Array) -> Array:
        if self._leak is not None:
            return super().ceiling(epsilon, level)
        return self._sides[0].ceiling(epsilon, level)

    def exact_beta(self, alpha: Fraction) -> Fraction | None:
        """Return kept g(alpha/kept) for g (x) f_{0,1-kept}, where g and kept are exact."""
        if self._leak is None or (kept := self._exactly_kept()) is None:
            return None
        inner = self._leak[2].exact_beta(min(alpha / kept, Fraction(1))) if kept else Fraction(0)
        return None if inner is None else kept * inner

    def exact_delta(self, epsilon: Fraction) -> Fraction | None:
        if self._leak is None or (kept := self._exactly_kept()) is None:
            return None
        inner = self._leak[2].exact_delta(epsilon)
        return None if inner is None else 1 - kept + kept * inner

    def _exactly_kept(self) -> Fraction | None:
        """Return what the factor f_{0,delta} keeps, if it is exact."""
        kept = [f.exact_beta(Fraction(0)) for f, n in self.factors.items() if f.leak is not None and n == 1]
        return kept[0] if kept else None

    @staticmethod
    def _lost(factors: Iterable[tuple[TradeOff, int]]) -> Bounds:
        """Bound 1 - prod (1 - q)^n; the mass of a single factor as it is."""
        leaking = [(factor.mass_at_infinity, n) for factor, n in factors if factor.mass_at_infinity.upper > 0]
        if not leaking:
            return Bounds(0.0, 0.0)
        if len(leaking) == 1 and leaking[0][1] == 1:
            return leaking[0][0]
        kept = total(whole(n) * log1p(-mass) for mass, n in leaking)
        return clip(-expm1(kept), 0.0, 1.0)

    @cached_property
    def mass_at_infinity(self) -> Bounds[float]:
        return self._lost(self.factors.items())

    @property
    def mass_at_plus_infinity(self) -> float:
        return combine_masses_at_infinity(
            [factor.mass_at_plus_infinity for factor in self.factors], list(self.factors.values())
        )

    @property
    def mass_at_minus_infinity(self) -> float:
        return combine_masses_at_infinity(
            [factor.mass_at_minus_infinity for factor in self.factors], list(self.factors.values())
        )

    @cached_property
    def sup_loss(self) -> float:
        if any(factor.sup_loss == math.inf for factor in self.factors):
            return math.inf
        return float(total(whole(n) * factor.sup_loss for factor, n in self.factors.items()).upper)

    @cached_property
    def sup_loss_lower(self) -> float:
        return float(total(whole(n) * factor.sup_loss_lower for factor, n in self.factors.items()).lower)

    def inverse(self) -> TradeOff:
        return self if self.symmetric else self._inverse

    @cached_property
    def _inverse(self) -> TradeOff:
        """The other order, multiplied out once: a root search asks it a hundred times."""
        return limited(tensor((factor.inverse(), n) for factor, n in self.factors.items()), self.tightness)

    @property
    def has_law(self) -> bool:
        return all(factor.has_law for factor in self.factors) and super().has_law

    def lattice_pld(self) -> PrivacyLossDistribution | None:
        if self.has_law or self._inner is not None:  # or factors have no laws of their own
            return None
        least, most = self._sides
        return least.law if least is most else None

    def loss_distribution(self) -> PrivacyLossDistribution:
        if len(self.factors) == 1:
            ((factor, n),) = self.factors.items()
            law, _, left = law_pair(factor, n)
            if left == 1:
                return law
        if self._leak is not None and isinstance(rest := self._leak[2].loss_distribution(), AtomicLaw):
            delta, kept, _ = self._leak
            lesser = delta.upper < 0.5  # of it and what is kept, and known better
            log_finite_mass = math.log1p(-delta.upper) if lesser else math.log(max(kept.upper, TINY))
            return leaking(rest, self.mass_at_plus_infinity, log_finite_mass)
        return super().loss_distribution()

    @property
    def notation(self) -> str:
        powers = ((factor.notation, n) for factor, n in self.factors.items())
        return " ⊗ ".join(f"{factor}^{counted(n)}" if n > 1 else factor for factor, n in powers)


class CurveFromPLD(TradeOff):
    """Curve whose questions are answered by the engines, from ``loss_distribution()``."""

    composed = True

    @cached_property
    def _alone(self) -> Tensor:
        return Tensor({self: 1})

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return self._alone.beta_bounds(alpha, tol)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        return self._alone.delta_bounds(epsilon, tol)

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        return self._alone.epsilon_bounds(delta, tol)


def _product(powers: Iterable[tuple[Bounds, int]]) -> Bounds:
    """Bound prod x^n for x in [0, 1]."""
    each = [kept if n == 1 else exp(whole(n) * log(kept)) for kept, n in powers]
    return clip(reduce(mul, each), 0.0, 1.0)


def _spelled(value: object) -> str:
    """Return what a curve is made of, with all digits: curves that are printed alike are told apart."""
    if isinstance(value, TradeOff):
        parts = ", ".join(f"{name}={_spelled(part)}" for name, part in sorted(value.__getstate__().items()))
        return f"{type(value).__name__}({parts})"
    if isinstance(value, tuple | list | np.ndarray):
        return f"({', '.join(map(_spelled, list(value)))})"
    if isinstance(value, Fraction):  # hexadecimal: Python prints no decimal of more than 4300 digits
        return f"{value.numerator:x}/{value.denominator:x}"
    plain = isinstance(value, str | Number) or is_symbol(value)
    return repr(value) if plain else type(value).__name__


def law_pair(factor: TradeOff, n: int) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution, int]:
    """Return laws of a curve below and a curve above ``factor``, and how many copies are left to compose."""
    law = factor.power_pld(n) if n > 1 else None
    if law is not None:
        return law, law, 1
    low, high = factor.laws()
    below = to_atomic(low)
    return below, below if high is low else to_atomic(high), n
