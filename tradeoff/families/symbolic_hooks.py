"""Numbers of a formula: from the family it comes from, from its own profile, or from its tangents."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import delta_from_beta
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.families import symbolic_forms as forms
from tradeoff.families.later import sympy
from tradeoff.families.symbolic_forms import Form
from tradeoff.families.symbolic_numbers import Evaluator, digits_for, lost, mass_of_zeros, proved
from tradeoff.families.symbolic_solve import own_inverse
from tradeoff.families.symbolic_tangents import STEEPEST, Tangents
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import expm1, where
from tradeoff.intervals.rounding import Array
from tradeoff.loss.law import LossLaw


class FormulaHooks(TradeOff):
    """Hooks of a curve given by ``expr`` in the symbol ``alpha``; ``known`` is the family's curve, if any."""

    expr: Any
    alpha: Any
    known: TradeOff | None
    _given: Form | None

    @property
    def free_symbols(self) -> frozenset[Any]:
        return frozenset(self.expr.free_symbols - {self.alpha})

    @cached_property
    def assumptions(self) -> tuple[str, ...]:
        if self.free_symbols or (self.known is not None and not self.known.assumptions) or proved(self.expr):
            return ()
        return (f"Two precisions agree to twenty digits on {self.expr} only where both are right.",)

    @cached_property
    def form(self) -> Form:
        """Closed forms that came with the expression; its own profile may be solved for."""
        return self._given or (Form(None, None) if self.known is None else forms.form(self.known))

    @cached_property
    def evaluator(self) -> Evaluator:
        return Evaluator(forms.exact(self.expr), self.alpha)

    @cached_property
    def _profile_evaluator(self) -> Evaluator | None:
        if self.form.profile is None:
            return None
        variable = sympy.Dummy("epsilon", real=True)
        return Evaluator(forms.exact(self.form.profile(variable)), variable)

    def exact_beta(self, alpha: Fraction) -> Fraction | None:
        """Return f(alpha) where SymPy finds a rational: (1 - sqrt(alpha))^2 at 1/25 is 16/25."""
        if self.known is not None and any(map(forms.is_rounded, self.known.factors)):
            return None
        found = forms.exact(self.expr).subs(self.alpha, sympy.Rational(alpha.numerator, alpha.denominator))
        return Fraction(int(found.p), int(found.q)) if found.is_Rational else None

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        if self.known is not None:
            return self.known.beta_bounds(alpha, tol)
        low, high = self.evaluator.bounds(alpha, digits_for(alpha))
        at_zero = alpha == 0
        low[at_zero], high[at_zero] = 1 - Bounds(*self._lost)
        return np.where(np.isnan(low), 0.0, low), np.where(np.isnan(high), 1.0, high)

    @cached_property
    def _lost(self) -> tuple[float, float]:
        return lost(forms.exact(self.expr), self.alpha, self.evaluator)

    @cached_property
    def _tangents(self) -> Tangents:
        return Tangents(forms.exact(self.expr), self.alpha, self.evaluator)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        if self.known is not None:
            return self.known.delta_bounds(epsilon, tol)
        if self._profile_evaluator is not None:
            return self._profile_evaluator.bounds(epsilon, np.ceil(np.abs(epsilon)))
        if not self._tangents.known:
            return delta_from_beta(self, epsilon, tol)
        # Outside [inf L, sup L] the best test is at an end.
        low, high = where(epsilon >= self.sup_loss, self.mass_at_infinity, -expm1(np.minimum(epsilon, 0.0)))
        inside = (epsilon > self._tangents.flattest.lower) & (epsilon < self.sup_loss)
        found = self._tangents.profile(np.clip(epsilon[inside], -STEEPEST, STEEPEST))
        low[inside] = np.where(epsilon[inside] > STEEPEST, low[inside], found[0])
        high[inside] = np.where(epsilon[inside] < -STEEPEST, 1.0, found[1])
        return np.maximum(low, self.mass_at_infinity.lower), high

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        bounds = super().epsilon_bounds if self.known is None else self.known.epsilon_bounds
        return bounds(delta, tol)

    @cached_property
    def symmetric(self) -> bool:
        return self.known.symmetric if self.known is not None else own_inverse(self.expr, self.alpha)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        if self.known is not None:
            return self.known.mass_at_infinity
        found, (low, high) = super().mass_at_infinity, self._lost
        if not self.evaluator.proved and high <= np.nextafter(low, 1.0):
            return found
        # Also where floats call it 0 or 1.
        return Bounds(min(low, found.lower), max(high, found.upper))

    @property
    def q_plus(self) -> float:
        low, high = self._lost
        return (low + high) / 2 if low > 0 else 0.0

    @cached_property
    def p_minus(self) -> float:
        return self.q_plus if self.symmetric else mass_of_zeros(self.evaluator)

    @property
    def sup_loss(self) -> float:
        return float(self._tangents.steepest.upper) if self.known is None else self.known.sup_loss

    @property
    def least_sup_loss(self) -> float:
        return self._tangents.steepest.lower if self.known is None else self.known.least_sup_loss

    @property
    def inf_loss(self) -> Bounds:
        """Bounds on inf L over the finite losses, in nats: log -f'(1-) where f is positive below 1."""
        return self._tangents.flattest if self.p_minus == 0 else Bounds(-np.inf, np.inf)

    def loss_law(self) -> LossLaw:
        return self.laws()[0]

    def laws(self) -> tuple[LossLaw, LossLaw]:
        if self.known is not None:
            return self.known.laws()
        sides = (zip(*side, strict=True) for side in self._tangents.polygons())
        below, above = (PiecewiseLinear.of_wholes(*side) for side in sides)
        return below.loss_law(), above.loss_law()
