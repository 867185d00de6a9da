"""Trade-off functions as SymPy expressions, with parameters that may stay symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from tradeoff.curves.asking import How
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.derived import delta_from_beta, sides
from tradeoff.curves.hooks import rounded_down
from tradeoff.curves.parameters import count, is_symbol, real
from tradeoff.curves.tensor import Factors, rule
from tradeoff.errors import DomainError, NoClosedForm, shown
from tradeoff.families import symbolic_forms as forms
from tradeoff.families.substitution import resolved, substitute
from tradeoff.families.symbolic_numbers import (
    Evaluator,
    check,
    compiled,
    digits_for,
    flattest,
    lost,
    mass_of_zeros,
    steepest,
)
from tradeoff.families.symbolic_solve import inverse_expression, own_inverse, profile_expression
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.rounding import Array
from tradeoff.loss.law import LossLaw

Profile = Callable[[Any], Any]


class Symbolic(TradeOff):
    """Trade-off function given by an expression f(alpha): algebra on formulas, numbers once none is left.

    Parameters
    ----------
    expr
        SymPy expression, or what ``sympify`` takes; its other symbols are parameters, declared positive.
    alpha
        Symbol of the type I error; ``Symbol("alpha")`` by default.
    known, profile
        Closed forms that came with the formula; ``curve.symbolic`` hands them over.

    Raises
    ------
    CurveError
        Where a number is known to be no trade-off function (Dong, Roth, Su 2022, Proposition 2.2).

    Notes
    -----
    SymPy's solutions are compared with numbers at random parameters, and ``NoClosedForm`` is raised rather
    than a doubtful one. Numbers are evaluated with two precisions that agree to twenty digits, and rounded
    outward. Formulas without parameters are looked at on a grid of 125 points.

    Examples
    --------
    >>> import sympy
    >>> alpha, k, eps = sympy.symbols("alpha k epsilon", positive=True)
    >>> f = Symbolic((1 - alpha) / (1 - alpha + k * alpha), alpha)
    >>> round(f.subs({k: 3})(0.25), 6)
    0.5
    >>> import tradeoff
    >>> tradeoff.PureDP(eps).symbolic(alpha).subsample(sympy.Rational(1, 2)).expr
    -alpha/2 + Max((1 - alpha)*exp(-epsilon), -alpha*exp(epsilon) + 1)/2 + 1/2
    """

    def __init__(
        self, expr: Any, alpha: Any = None, *, known: TradeOff | None = None, profile: Profile | None = None
    ) -> None:
        import sympy

        self.alpha = sympy.Symbol("alpha") if alpha is None else alpha
        if not isinstance(self.alpha, sympy.Symbol):
            raise DomainError(f"alpha = {shown(alpha)} is not a SymPy symbol")
        self.expr = forms.parsed(expr)
        self.known, self._profile = known, profile
        if known is None and not self.free_symbols:
            check(self._evaluator, shown(self.expr))

    @property
    def free_symbols(self) -> frozenset[Any]:
        return frozenset(self.expr.free_symbols - {self.alpha})

    # Formulas.

    def __call__(self, alpha: Any, *, tol: float | None = None, **how: Unpack[How]) -> Any:
        """Least type II error: a formula for a symbolic ``alpha``, else a lower bound on the number."""
        if is_symbol(alpha):
            return self.expr.subs(self.alpha, alpha)
        return super().__call__(alpha, tol=tol, **how)

    def delta(self, epsilon: Any, *, tol: float | None = None, **how: Unpack[How]) -> Any:
        """Privacy profile: a formula for a symbolic ``epsilon``, else an upper bound on the number."""
        return self.symbolic_delta(epsilon) if is_symbol(epsilon) else super().delta(epsilon, tol=tol, **how)

    def symbolic_delta(self, epsilon: Any) -> Any:
        """Privacy profile sup_alpha 1 - f(alpha) - e^eps alpha as an expression, for every real epsilon.

        Raises
        ------
        NoClosedForm
            If SymPy finds no closed form, or none that agrees with numbers at random parameters.
        """
        import sympy

        if self.known is not None:
            return forms.profile(self.known, sympy.sympify(epsilon))
        if self._profile is not None:
            return self._profile(sympy.sympify(epsilon))
        variable, found = self._solved_profile
        return found.subs(variable, sympy.sympify(epsilon))

    @cached_property
    def _solved_profile(self) -> tuple[Any, Any]:
        import sympy

        variable = sympy.Dummy("epsilon", real=True)
        return variable, profile_expression(self.expr, self.alpha, variable)

    def conjugate(self, y: Any) -> Any:
        """Convex conjugate f*(y) = sup over alpha in [0, 1] of y alpha - f(alpha) as an expression.

        It is delta(log(-y)) - 1 for y < 0 (Dong, Roth, Su 2022, Proposition 2.12), else y, as f(1) = 0.
        """
        import sympy

        y = sympy.sympify(y)
        if y.is_nonnegative:
            return y
        below = self.symbolic_delta(sympy.log(-y)) - 1
        return below if y.is_negative else sympy.Piecewise((below, y < 0), (y, True))

    def inverse(self) -> TradeOff:
        """Inverse f^-1(alpha) = inf{t : f(t) <= alpha} = T(Q, P), solved for and verified.

        Raises
        ------
        NoClosedForm
            If the curve has parameters and no solution is found or verified; a curve of numbers falls back on
            bounds.
        """
        if self.known is not None or self.symmetric:
            return self
        try:
            found = inverse_expression(self.expr, self.alpha)
        except NoClosedForm:
            if self.free_symbols:
                raise
            return super().inverse()  # bounds turn it round
        return Symbolic(found, self.alpha, profile=None if self._profile is None else self._turned)

    def _turned(self, epsilon: Any) -> Any:
        import sympy

        return 1 - sympy.exp(epsilon) + sympy.exp(epsilon) * self.symbolic_delta(-epsilon)

    def group(self, k: int) -> TradeOff:
        """Guarantee for groups of k, 1 - (1 - f)^(o k), for symmetric f."""
        k = count("k", k, 1)
        if self.known is not None:
            expression, known = forms.group(self.known, self.alpha, k)
            return Symbolic(expression, self.alpha, known=known)
        if not self.symmetric:
            raise NoClosedForm(
                "group needs f = f^-1, which SymPy does not confirm here; "
                "for one order it covers changes in one direction only"
            )
        step, result = 1 - self.expr, self.alpha
        for _ in range(k):
            result = step.subs(self.alpha, result)
        return Symbolic(1 - result, self.alpha)

    def subsample(self, p: Any) -> Symbolic:
        """Subsampled curve f_p = p f + (1 - p)(1 - alpha), one order (record absent under P)."""
        real("p", p, 0, 1)
        p = forms.exact(p)  # kept as it is given: 1/3 stays 1/3

        def thinned(epsilon: Any) -> Any:
            # delta_(f_p)(eps) = p delta_f(eps'), e^eps' = (e^eps - 1 + p)/p; 1 - e^eps where there is none.
            import sympy

            ratio = (sympy.exp(epsilon) - 1 + p) / p
            return sympy.Piecewise(
                (1 - sympy.exp(epsilon), ratio <= 0), (p * self.symbolic_delta(sympy.log(ratio)), True)
            )

        if p == 0:
            return Symbolic(1 - self.alpha, self.alpha)
        return Symbolic(p * self.expr + (1 - p) * (1 - self.alpha), self.alpha, profile=thinned)

    def __matmul__(self, other: TradeOff) -> TradeOff:
        product = product_of(self, operand(other))
        if product is not None or not self.free_symbols | other.free_symbols:
            return super().__matmul__(other) if product is None else product
        raise NoClosedForm(
            f"no closed form of the product of {self!r} and {other!r} is known; "
            "substitute numbers, and the engine composes"
        )

    def __pow__(self, n: int) -> TradeOff:
        n = count("n", n)
        if n == 1:
            return self
        power = _formula(self.known**n, self.alpha) if self.known is not None else None
        if power is None and self.free_symbols:
            raise NoClosedForm(
                f"no closed form of the {n}-fold product of {self!r} is known; "
                "substitute numbers, and the engine composes"
            )
        return super().__pow__(n) if power is None else power

    def subs(self, values: Mapping[Any, Any]) -> Symbolic:
        """Replace symbols; floats are taken as the rational numbers they are."""
        replaced = {key: forms.exact(value) for key, value in resolved(self, values).items()}
        known = substitute(self.known, values, strict=False) if self.known is not None else None
        profile = self._profile

        def substituted(epsilon: Any) -> Any:
            import sympy

            if profile is None:
                raise NoClosedForm("no profile is known")
            inner = sympy.Dummy("epsilon", real=True)  # the question's own symbols must not be replaced
            return profile(inner).subs(replaced).subs(inner, epsilon)

        new = None if profile is None else substituted
        return Symbolic(self.expr.subs(replaced), self.alpha, known=known, profile=new)

    def lambdify(self) -> Callable[..., Any]:
        """Return f as a NumPy function of alpha, then of the parameters by name; floats, without bounds."""
        return compiled(self.expr, [self.alpha, *sorted(self.free_symbols, key=str)])

    # Numbers.

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(forms.exact(self.expr), self.alpha)

    @cached_property
    def _profile_evaluator(self) -> Evaluator | None:
        import sympy

        if self.known is None and self._profile is None:
            return None
        variable = sympy.Dummy("epsilon", real=True)
        return Evaluator(forms.exact(self.symbolic_delta(variable)), variable)

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        low, high = self._evaluator.bounds(alpha, digits_for(alpha))
        at_zero = alpha == 0
        low[at_zero], high[at_zero] = 1 - Bounds(*self._lost)
        return np.where(np.isnan(low), 0.0, low), np.where(np.isnan(high), 1.0, high)

    @cached_property
    def _lost(self) -> tuple[float, float]:
        return lost(forms.exact(self.expr), self.alpha, self._evaluator)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        if self._profile_evaluator is None:
            return delta_from_beta(self, epsilon, tol)
        return self._profile_evaluator.bounds(epsilon, np.ceil(np.abs(epsilon)))

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        if self._profile_evaluator is not None:
            return super().epsilon_bounds(delta, tol)
        # Each question to the formula is dear: start from piecewise-linear curves on both sides, then halve.
        below, above = sides(self)
        low, high = above.bounds.epsilon(delta).lower, below.bounds.epsilon(delta).upper
        for _ in range(30):
            middle = np.where(np.isfinite(low) & np.isfinite(high), (low + high) / 2, 0.0)
            least, most = self.delta_bounds(middle, None)
            inside = np.isfinite(low) & np.isfinite(high)
            low = np.where(inside & (least > delta), middle, low)
            high = np.where(inside & (most <= delta), middle, high)
        return low, high

    @cached_property
    def symmetric(self) -> bool:
        return self.known.symmetric if self.known is not None else own_inverse(self.expr, self.alpha)

    @property
    def q_plus(self) -> float:
        low, high = self._lost
        return (low + high) / 2 if low > 0 else 0.0

    @cached_property
    def p_minus(self) -> float:
        return self.q_plus if self.symmetric else mass_of_zeros(self._evaluator)

    @cached_property
    def sup_loss(self) -> float:
        if self.known is None:
            return float(self._steepest.upper)
        return float(np.nextafter(self.known.sup_loss, np.inf))

    @property
    def least_sup_loss(self) -> float:
        return rounded_down(self.known.sup_loss) if self.known is not None else self._steepest.lower

    @cached_property
    def _steepest(self) -> Bounds:
        return steepest(self._evaluator)

    @cached_property
    def inf_loss(self) -> Bounds:
        """Bounds on inf L over the finite losses, in nats: log -f'(1-) where f is positive below 1."""
        return flattest(self._evaluator) if self.p_minus == 0 else Bounds(-np.inf, np.inf)

    def loss_law(self) -> LossLaw:
        return self.laws()[0]

    def laws(self) -> tuple[LossLaw, LossLaw]:
        if self.known is not None:
            return self.known.laws()
        lower, upper = sides(self)
        return lower.loss_law(), upper.loss_law()

    def symbolic(self, alpha: Any = None) -> Symbolic:
        """Return the same formula, in the symbol ``alpha``."""
        if alpha is None or alpha == self.alpha:
            return self
        return Symbolic(self.expr.subs(self.alpha, alpha), alpha, known=self.known, profile=self._profile)

    def __getstate__(self) -> dict[str, Any]:
        # Compiled formulas cannot be pickled, and are made again from the expression.
        return {name: vars(self)[name] for name in ("expr", "alpha", "known", "_profile")}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Symbolic) and (self.expr, self.alpha) == (other.expr, other.alpha)

    def __hash__(self) -> int:
        return hash((self.expr, self.alpha))

    def __repr__(self) -> str:
        return f"Symbolic({self.expr}, {self.alpha})"


def symbolic(curve: TradeOff, alpha: Any = None) -> Symbolic:
    """Return a curve with closed forms as a formula in the symbol ``alpha``."""
    found = curve.symbolic(alpha) if isinstance(curve, Symbolic) else _formula(curve, alpha)
    if found is None:
        raise NoClosedForm(f"no formula is known for {curve!r}")
    return found


def _formula(curve: TradeOff, alpha: Any) -> Symbolic | None:
    import sympy

    if not forms.has_form(curve):
        return None
    alpha = sympy.Symbol("alpha", positive=True) if alpha is None else alpha
    return Symbolic(forms.value(curve, alpha), alpha, known=curve)


def product_of(f: Symbolic, other: TradeOff) -> TradeOff | None:
    """Return the tensor product where a closed form is known: inside the families, and with f_{0,delta}."""
    known = other.known if isinstance(other, Symbolic) else other
    if f.known is not None and known is not None:
        both = _formula(f.known @ known, f.alpha)
        if both is not None:
            return both
    for one, two in ((f, known), (other, f.known)):
        lines = None if two is None else forms.two_lines(two)
        if isinstance(one, Symbolic) and lines is not None and lines[0] == 0:
            return _leaking(one.symbolic(f.alpha), lines[1])
    return None


def _leaking(f: Symbolic, delta: Any) -> Symbolic:
    """Return f (x) f_{0,delta}: both axes of f scaled by 1 - delta."""
    if delta == 0:
        return f
    kept = 1 - delta
    expression = forms.scaled(f.expr, f.alpha, kept)
    return Symbolic(expression, f.alpha, profile=lambda epsilon: delta + kept * f.symbolic_delta(epsilon))


@rule
def formulas(factors: Factors, new: Factors) -> Factors | None:
    """Multiply formulas by f_{0,delta}, and by each other inside the families."""
    del new
    written = [factor for factor, n in factors.items() if isinstance(factor, Symbolic) and n == 1]
    for f in written:
        for other, n in factors.items():
            if other is not f and n == 1:
                product = product_of(f, other)
                if product is not None:
                    return {**{g: m for g, m in factors.items() if g not in (f, other)}, product: 1}
    return None
