"""Total variation f_{0,delta}: with probability delta everything is revealed, else nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import Parameter, Value, count, is_symbol, ratio_of, real, written
from tradeoff.families._symmetric import SymmetricFamily
from tradeoff.families.identity import Identity
from tradeoff.families.later import sympy
from tradeoff.intervals.bounds import Bounds, Pair, held
from tradeoff.intervals.digits import precise
from tradeoff.intervals.functions import clip, log, log1p, meet, rational
from tradeoff.intervals.rounding import Array, around
from tradeoff.loss.discrete import AtomicLaw


@dataclass(frozen=True, repr=False)
class TotalVariation(SymmetricFamily):
    """Catastrophic failure with probability delta: f_{0,delta}(alpha) = max{0, 1 - delta - alpha}.

    Parameters
    ----------
    delta
        Probability in [0, 1], or a SymPy expression; 1 is the zero curve, no privacy at all.

    Notes
    -----
    f_{0,a} (x) f_{0,b} = f_{0,1-(1-a)(1-b)}, and f (x) f_{0,delta} scales both axes of f by 1 - delta
    (Dong, Roth, Su 2022, section 3).

    Examples
    --------
    >>> from tradeoff import TotalVariation
    >>> TotalVariation(0.5) @ TotalVariation(0.5)
    f_{0,0.75}
    """

    delta_0: Value
    parameter = "delta_0"
    kept_0: Fraction | None = None
    is_rational: bool = True

    sup_loss = 0.0

    def __init__(self, delta: Parameter) -> None:
        object.__setattr__(self, "delta_0", real("delta", delta, 0, 1))
        known = ratio_of(delta)
        given = real("delta", delta, 0, 1, up=True) if known is None else known
        object.__setattr__(self, "kept_0", None if is_symbol(delta) else 1 - Fraction(given))

    @classmethod
    def keeping(cls, kept: Fraction, *, is_rational: bool) -> TradeOff:
        """Return the curve with 1 - delta = kept, to all its digits where delta itself is 1 in floats."""
        if kept == 1:
            return Identity()
        curve = cls(float(1 - kept))
        object.__setattr__(curve, "kept_0", kept)
        object.__setattr__(curve, "is_rational", is_rational)
        return curve

    @property
    def weight(self) -> Value:
        """Return -log(1 - delta), which adds under products."""
        if self.kept_0 is not None:
            return float(-_log(self.kept_0))
        return -sympy.log(1 - self.delta_0)

    @classmethod
    def product(cls, members: Sequence[tuple[Self, int]]) -> TradeOff:
        """Return the product of powers: what each keeps multiplies, in fractions while they are short."""
        if any(f.kept_0 is None for f, _ in members):
            return cls(sympy.simplify(1 - sympy.exp(-sum(n * f.weight for f, n in members))))
        powers = [_power(f.kept_0, n) for f, n in members if f.kept_0 is not None]
        kept = _short(math.prod(powers, start=Fraction(1)))
        bits = sum(n * _bits(f.kept_0) for f, n in members if f.kept_0 is not None)
        return cls.keeping(kept, is_rational=bits <= _LONGEST and all(f.is_rational for f, _ in members))

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return tuple(clip(self.kept - alpha, 0.0, 1.0))

    def _tail(self, epsilon: Array) -> Pair:
        low, high = self.mass_at_infinity
        return np.full_like(epsilon, low), np.full_like(epsilon, high)

    def exact_beta(self, alpha: Fraction) -> Fraction | None:
        return max(Fraction(0), self.kept_0 - alpha) if self.is_rational and self.kept_0 is not None else None

    def exact_delta(self, epsilon: Fraction) -> Fraction | None:
        return 1 - self.kept_0 if self.is_rational and self.kept_0 is not None and epsilon >= 0 else None

    @property
    def q_plus(self) -> float:
        return float(self.delta_0)

    leak = q_plus

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        return self._bounds(Fraction(1) - (self.kept_0 or 0))

    @property
    def kept(self) -> Bounds:
        """Bound 1 - delta, also where delta is 1 to all digits of a float."""
        return self._bounds(self.kept_0 or Fraction(0))

    def _bounds(self, share: Fraction) -> Bounds:
        # What is no longer exact is right to more than 300 digits, and rounded once.
        return rational(share) if self.is_rational else clip(held(*around(float(share), 2)), 0.0, 1.0)

    @property
    def least_sup_loss(self) -> float:
        return -np.inf if self.kept_0 == 0 else 0.0  # without privacy no loss is finite

    def loss_law(self) -> AtomicLaw:
        log_p = np.array([-self.weight])
        keep = log_p > -np.inf
        ends = self.delta_0, self.delta_0
        return AtomicLaw(np.zeros(1)[keep], log_p[keep], *ends, fractions=self._masses)

    def _masses(self) -> tuple[tuple[Fraction, ...], ...] | None:
        """Masses under P and under Q at the losses 0, -inf and inf, where they are exact."""
        if not (self.is_rational and self.kept_0):
            return None
        kept, lost, none = self.kept_0, 1 - self.kept_0, Fraction(0)
        return (kept, lost, none), (kept, none, lost)

    def group(self, k: int) -> TradeOff:
        if self.kept_0 is None or is_symbol(k):
            return super().group(k)
        if (k := count("k", k)) < 2:
            return self if k else Identity()
        kept = max(Fraction(0), 1 - k * (1 - self.kept_0))
        return limited(TotalVariation.keeping(kept, is_rational=self.is_rational), BOUND)

    def renyi_bounds(self, order: float) -> Bounds:
        """Bound the Renyi divergence: log(1 - delta)/(a - 1) for a < 1, else infinite unless delta = 0."""
        if order < 1:
            return meet(log(self.kept), log1p(-self.mass_at_infinity)) / (Bounds.of(order) - 1)
        most = np.inf if self.mass_at_infinity.upper > 0 else 0.0
        return Bounds(most, most)

    @property
    def notation(self) -> str:
        return f"f_{{0,{written(self.delta_0)}}}"


_LONGEST = 4096  # bits up to which products stay exact fractions: 77 factors with all digits of a float
_DIGITS = 400  # bits of what is too long for fractions: 10^21 factors leave more than 300 of them right


def _real(x: Fraction) -> Any:
    return precise(_DIGITS).mpf(x.numerator) / x.denominator


def _log(x: Fraction) -> Any:
    """Return log x, by its distance to 1 if small: 1 - 1e-300 has more digits than are carried."""
    return precise(_DIGITS).log1p(-_real(1 - x)) if 2 * x > 1 else precise(_DIGITS).log(_real(x))


def _bits(x: Fraction) -> int:
    return max((x.denominator - 1).bit_length(), 1)  # at least its logarithm, so that products add


def _power(x: Fraction, n: int) -> Fraction:
    """Return x^n, to 400 digits of it and of 1 - x^n where it is long; 0 where it is below all floats."""
    if x == 0 or n * _bits(x) <= _LONGEST:
        return x**n
    exponent, by = n * _log(x), precise(_DIGITS)
    return 1 - _fraction(-by.expm1(exponent)) if exponent > -0.5 else _rounded(by.exp(exponent))


def _short(x: Fraction) -> Fraction:
    """Round a fraction too long to be carried on, by its distance to 1 where that is the smaller."""
    if _bits(x) <= _LONGEST:
        return x
    return 1 - _fraction(_real(1 - x)) if 2 * x > 1 else _rounded(_real(x))


def _rounded(kept: Any) -> Fraction:
    """Return the fraction; what is kept of less than any float as 0, whose bounds still hold it."""
    return _fraction(kept) if kept >= precise(_DIGITS).ldexp(1, -1200) else Fraction(0)


def _fraction(value: Any) -> Fraction:
    mantissa, exponent = value.man_exp
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
