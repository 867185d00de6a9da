"""Trade-off functions as SymPy expressions, with parameters that may stay symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import count, is_symbol, real, symbols_of
from tradeoff.curves.tensor import Factors, rule
from tradeoff.errors import CurveError, DomainError, NoClosedForm, SymbolError, shown
from tradeoff.families import symbolic_forms as forms
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace
from tradeoff.families.later import sympy
from tradeoff.families.substitution import put_in, resolved
from tradeoff.families.symbolic_forms import Form, Formula
from tradeoff.families.symbolic_hooks import FormulaHooks
from tradeoff.families.symbolic_numbers import check, check_start, compiled
from tradeoff.families.symbolic_solve import inverse_expression, profile_expression


class Symbolic(FormulaHooks):
    """Trade-off function given by an expression f(alpha): algebra on formulas, numbers once none is left.

    Parameters
    ----------
    expr
        SymPy expression or number; its other symbols are parameters, declared positive. Texts are refused,
        since SymPy runs them as code.
    alpha
        Symbol of the type I error; ``Symbol("alpha")`` by default.
    known, form
        Closed forms that came with the formula; ``curve.symbolic`` hands them over.

    Raises
    ------
    CurveError
        Where a number is known to be no trade-off function (Dong, Roth, Su 2022, Proposition 2.2).

    Notes
    -----
    SymPy's solutions are compared with numbers at random parameters, and ``NoClosedForm`` is raised rather
    than a doubtful one. Numbers come from interval arithmetic; formulas with other functions than exp, log,
    powers, Max, Min and pieces are evaluated with two precisions that agree to twenty digits, which
    ``assumptions`` says. Formulas without parameters are looked at on a grid of 80 points. A ``Fraction`` is
    answered by one where f is rational.

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
        self, expr: Any, alpha: Any = None, *, known: TradeOff | None = None, form: Form | None = None
    ) -> None:
        self.alpha = sympy.Symbol("alpha") if alpha is None else _check_symbol(alpha)
        self.expr = forms.parsed(expr)
        self.known, self._given = known, form
        if known is None and not self.free_symbols:
            check(self.evaluator, shown(self.expr))
            check_start(self.expr, self.evaluator)

    def diff(self, *symbols: Any) -> Any:
        """Return the derivative of f(alpha) as an expression, by alpha unless symbols are given."""
        return self.expr.diff(*map(forms.convert_number, symbols or (self.alpha,)))

    # Formulas.

    def symbolic_delta(self, epsilon: Any) -> Any:
        """Privacy profile sup_alpha 1 - f(alpha) - e^eps alpha as an expression, for every real epsilon.

        Raises
        ------
        NoClosedForm
            If SymPy finds no closed form, or none that agrees with numbers at random parameters.
        """
        if self.form.profile is not None:
            return self.form.profile(forms.convert_number(epsilon))
        variable, found = self._solved_profile
        return found.subs(variable, forms.convert_number(epsilon))

    @cached_property
    def _solved_profile(self) -> tuple[Any, Any]:
        variable = sympy.Dummy("epsilon", real=True)
        return variable, profile_expression(self.expr, self.alpha, variable)

    def conjugate(self, y: Any) -> Any:
        """Convex conjugate f*(y) = sup over alpha in [0, 1] of y alpha - f(alpha) as an expression.

        It is delta(log(-y)) - 1 for y < 0 (Dong, Roth, Su 2022, Proposition 2.12), else y, as f(1) = 0.
        """
        y = forms.convert_number(y)
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
            return Symbolic(found, self.alpha, form=self.form.profile and Form(None, self._turned))
        except (NoClosedForm, CurveError, DomainError):  # none, or one that holds only in part
            if self.free_symbols:
                raise
            return super().inverse()  # bounds turn it round

    def _turned(self, epsilon: Any) -> Any:
        return 1 - sympy.exp(epsilon) + sympy.exp(epsilon) * self.symbolic_delta(-epsilon)

    def group(self, k: int) -> TradeOff:
        """Guarantee for groups of k, 1 - (1 - f)^(o k), for symmetric f."""
        if isinstance(self.known, Gaussian | Laplace):
            return symbolic(self.known.group(k), self.alpha)
        k = count("k", k, 1)
        if self.known is not None and (both := forms.two_lines(self.known)) is not None:
            return limited(Symbolic(forms.lines_group(*both, self.alpha, k), self.alpha), BOUND)
        if not self.symmetric:
            raise NoClosedForm(
                "group needs f = f^-1, which SymPy does not confirm here; "
                "for one order it covers changes in one direction only"
            )
        step, result = 1 - self.expr, self.alpha
        for _ in range(k):
            result = step.subs(self.alpha, result)
        return limited(Symbolic(1 - result, self.alpha), BOUND)

    def subsample(self, p: Any) -> Symbolic:
        """Subsampled curve f_p = p f + (1 - p)(1 - alpha), one order (record absent under P)."""
        real("p", p, 0, 1)
        _apart(self.alpha, p)
        p = forms.exact(p)  # kept as it is given: 1/3 stays 1/3
        if p == 0:
            return Symbolic(1 - self.alpha, self.alpha)
        thinned = forms.thinned(forms.form(self), p)
        return Symbolic(p * self.expr + (1 - p) * (1 - self.alpha), self.alpha, form=thinned)

    def __matmul__(self, other: TradeOff) -> TradeOff:
        product = product_of(self, operand(other))
        if product is not None or not self.free_symbols | other.free_symbols:
            return super().__matmul__(other) if product is None else product
        raise _unknown(f"product of {self!r} and {other!r}")

    def __pow__(self, n: int) -> TradeOff:
        n = n if is_symbol(n) else count("n", n)
        if n == 1:
            return self
        power = _formula(self.known**n, self.alpha) if self.known is not None else None
        if power is None and self.free_symbols:
            raise _unknown(f"{n}-fold product of {self!r}")
        return super().__pow__(n) if power is None else power

    def subs(self, values: Mapping[Any, Any]) -> Symbolic:
        """Replace symbols; floats are taken as the rational numbers they are."""
        values = resolved(self, values)
        replaced = {symbol: forms.exact(value) for symbol, value in values.items()}
        _apart(self.alpha, *replaced.values())
        known = put_in(self.known, values) if self.known is not None else None

        def substituted(of: Formula, x: Any) -> Any:
            inner = sympy.Dummy(real=True)  # the question's own symbols must not be replaced
            return of(inner).subs(replaced, simultaneous=True).subs(inner, x)

        form = self._given and self._given.changed(substituted, substituted, substituted)
        expr = self.expr.subs(replaced, simultaneous=True)
        return Symbolic(expr, self.alpha, known=known, form=form)

    def lambdify(self) -> Callable[..., Any]:
        """Return f as a NumPy function of alpha, then of the parameters by name; floats, without bounds."""
        return compiled(self.expr, [self.alpha, *sorted(self.free_symbols, key=str)])

    def symbolic(self, alpha: Any = None) -> Symbolic:
        """Return the same formula, in the symbol ``alpha``."""
        if alpha is None or _check_symbol(alpha) == self.alpha:
            return self
        _apart(alpha, self)
        return Symbolic(self.expr.subs(self.alpha, alpha), alpha, known=self.known, form=self._given)

    def __getstate__(self) -> dict[str, Any]:
        # Compiled formulas cannot be pickled, and are made again from the expression.
        return {name: vars(self)[name] for name in ("expr", "alpha", "known", "_given")}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Symbolic) and (self.expr, self.alpha) == (other.expr, other.alpha)

    def __hash__(self) -> int:
        return hash((self.expr, self.alpha))

    @property
    def notation(self) -> str:
        return f"Symbolic({self.expr}, {self.alpha})"


def symbolic(curve: TradeOff, alpha: Any = None) -> Symbolic:
    """Return a curve with closed forms as a formula in the symbol ``alpha``."""
    found = curve.symbolic(alpha) if isinstance(curve, Symbolic) else _formula(curve, alpha)
    if found is None:
        raise NoClosedForm(f"no formula is known for {curve!r}")
    return found


def _check_symbol(alpha: Any) -> Any:
    if isinstance(alpha, sympy.Symbol):
        return alpha
    raise DomainError(f"alpha must be a SymPy symbol, got {shown(alpha)}; give sympy.Symbol('alpha')")


def _unknown(what: str) -> NoClosedForm:
    """Return the error of a product that only the engine knows."""
    return NoClosedForm(f"no closed form of the {what} is known; substitute numbers, and the engine composes")


def _apart(alpha: Any, *parameters: Any) -> None:
    """Refuse a symbol of the type I error that is among the parameters, or among those of curves."""
    if alpha in symbols_of(*parameters):
        raise SymbolError(
            f"{alpha} is a parameter and cannot be the type I error too; "
            "write the curve in another symbol first, with .symbolic(Symbol(...))"
        )


def _formula(curve: TradeOff, alpha: Any) -> Symbolic | None:
    value = forms.form(curve).value
    if value is None:
        return None
    alpha = sympy.Symbol("alpha", positive=True) if alpha is None else _check_symbol(alpha)
    _apart(alpha, curve)
    return Symbolic(value(alpha), alpha, known=curve)


@forms.form.register
def _(curve: Symbolic) -> Form:
    return Form(lambda alpha: curve.expr.subs(curve.alpha, alpha), curve.symbolic_delta, curve.form.epsilon)


def product_of(f: Symbolic, other: TradeOff) -> TradeOff | None:
    """Return the tensor product where a closed form is known: inside the families, and with f_{0,delta}."""
    known = other.known if isinstance(other, Symbolic) else other
    if f.known is not None and known is not None:
        both = _formula(f.known @ known, f.alpha)
        if both is not None:
            return both
    for one, two in ((f, known), (other, f.known)):
        if forms.is_rounded(two):  # the engine allows for what was rounded, and a formula does not
            continue
        lines = None if two is None else forms.two_lines(two)
        if isinstance(one, Symbolic) and lines is not None and lines[0] == 0:
            return _leaking(one.symbolic(f.alpha), lines[1])
    return None


def _leaking(f: Symbolic, delta: Any) -> Symbolic:
    """Return f (x) f_{0,delta}: both axes of f scaled by 1 - delta."""
    if delta == 0:
        return f
    _apart(f.alpha, delta)
    form = forms.leaking(forms.form(f), delta)
    return Symbolic(form.value and form.value(f.alpha), f.alpha, form=form)


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
                    left = {g: m for g, m in factors.items() if g not in (f, other)}
                    return {**left, product: left.get(product, 0) + 1}  # which may be a factor already
    return None
