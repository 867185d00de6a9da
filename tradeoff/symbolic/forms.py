"""Tables of closed forms as SymPy expressions, answers at symbols, and values of expressions in balls."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache, partial, reduce, singledispatch
from numbers import Rational, Real
from operator import add, mul
from typing import Any, NamedTuple

import numpy as np

from tradeoff.balls import Balls, absolute, choose, exp, function, maximum, minimum, pi, power, to_balls
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import is_symbol, number, sympy
from tradeoff.curves.product import Tensor
from tradeoff.errors import DomainError, NoClosedForm, domain, shown
from tradeoff.families._closed_form import ClosedForm
from tradeoff.families.approximate_dp import Identity, PureDP, TotalVariation
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace

_OPERATIONS = {"Add": add, "Mul": mul, "Pow": power, "Max": maximum, "Min": minimum}
_FUNCTIONS = (
    *("exp", "log", "erf", "erfc", "erfinv", "erfcinv"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sin", "cos", "tan", "asin", "acos", "atan"),
)


def evaluate(expression: Any, values: Mapping[Any, Balls]) -> Balls:
    """Return balls that contain an expression, given balls for its symbols; NaN where it is not real.

    Symbols may have arrays of balls, of one shape. ``DomainError`` names a function that is not supported.
    """

    @cache
    def ball(part: Any) -> Balls:
        if part in values:
            return values[part]
        if part.is_Rational or part.is_Float:
            number = sympy.Rational(part)
            return to_balls(Fraction(int(number.p), int(number.q)))
        if part in {sympy.pi, sympy.E}:
            return pi() if part == sympy.pi else exp(to_balls(1))
        if isinstance(part, sympy.Piecewise):
            value = to_balls(float("nan"))
            for formula, condition in reversed(part.args):
                value = _select(condition, ball(formula), value, ball)
            return value
        if (name := part.func.__name__) in _OPERATIONS:
            return reduce(_OPERATIONS[name], map(ball, part.args))
        if name not in (*_FUNCTIONS, "Abs"):
            raise _unsupported(part)
        return (absolute if name == "Abs" else function(name))(ball(part.args[0]))

    return ball(expression)


def convert_number(value: Any, name: str = "formula") -> Any:
    """Return a number or an expression of SymPy, every float in it replaced by its binary value.

    SymPy runs texts as code, also inside lists, so that nothing else is converted.
    """
    if isinstance(value, sympy.Expr):
        return value.xreplace({number: sympy.Rational(number) for number in value.atoms(sympy.Float)})
    wide = isinstance(value, int | Fraction) and not -(2**1024) < value < 2**1024  # isfinite would overflow
    # Time spans of NumPy are registered as real numbers.
    is_real = isinstance(value, Real) and not isinstance(value, np.timedelta64)
    if wide or not (is_real and math.isfinite(value)):
        allowed = "a finite number or a SymPy expression"
        raise domain(name, value, allowed, "build it from symbols and numbers")
    number = value if isinstance(value, Rational) else Fraction(float(value))
    return sympy.Rational(int(number.numerator), int(number.denominator))


def _select(condition: Any, value: Balls, otherwise: Balls, ball: Callable[[Any], Balls]) -> Balls:
    """Return ``value`` where the condition holds, else ``otherwise``; both where balls do not decide."""
    if isinstance(condition, sympy.And):
        return reduce(lambda chosen, each: _select(each, chosen, otherwise, ball), condition.args, value)
    if isinstance(condition, sympy.Or):
        return reduce(lambda chosen, each: _select(each, value, chosen, ball), condition.args, otherwise)
    if condition in {sympy.true, sympy.false}:
        return value if condition == sympy.true else otherwise
    if condition.rel_op not in {"<", "<=", ">", ">="}:
        raise _unsupported(condition)
    gap = ball(condition.lts) - ball(condition.gts)  # the lesser side minus the greater
    return choose(gap, value, otherwise) if condition.rel_op in {"<", ">"} else choose(-gap, otherwise, value)


def _unsupported(part: Any) -> DomainError:
    allowed = "+, -, *, /, powers, pi, Abs, Max, Min, Piecewise with <, <=, > and >=, "
    return DomainError(f"formulas must be made of {allowed + ', '.join(_FUNCTIONS)}, got {shown(part)}")


Formula = Callable[[Any], Any]  # an expression of one argument
_FIELDS = {"alpha": "value", "epsilon": "profile", "delta": "epsilon"}  # closed form by argument


class Form(NamedTuple):
    """f(alpha), delta at every real epsilon, and epsilon(delta) of one curve; None where none is known."""

    value: Formula | None = None
    profile: Formula | None = None
    epsilon: Formula | None = None

    def changed(self, *changes: Callable[[Formula, Any], Any]) -> Form:
        """Replace each closed form ``of`` by x -> change(of, x); leave out those without a change."""
        return Form(*(of and partial(change, of) for change, of in zip(changes, self, strict=False)))


@singledispatch
def form(curve: TradeOff) -> Form:
    """Return the closed forms of a curve; operators add their own rules where they are defined."""
    del curve
    return Form()


def two_lines(curve: TradeOff) -> tuple[Any, Any] | None:
    """Return (epsilon, delta) if the curve is f_{epsilon,delta}, else None."""
    if isinstance(curve, Identity | PureDP | TotalVariation):
        return convert_number(getattr(curve, "epsilon_0", 0)), convert_number(getattr(curve, "delta_0", 0))
    kinds = sorted((type(f).__name__, str(n)) for f, n in curve.factors.items())
    if isinstance(curve, Tensor) and kinds == [("PureDP", "1"), ("TotalVariation", "1")]:
        (e, delta), (other, lost) = (two_lines(f) or (0, 0) for f in curve.factors)
        return e + other, delta + lost
    return None


@form.register
def _(curve: Gaussian) -> Form:
    square, root = curve.square, sympy.sqrt(2)
    mu = convert_number(curve.mu) if square is None else sympy.sqrt(sympy.Rational(square))

    def profile(epsilon: Any) -> Any:
        first, second = (sympy.erfc((epsilon / mu + sign * mu / 2) / root) / 2 for sign in (-1, 1))
        return first - sympy.exp(epsilon) * second

    return Form(lambda alpha: sympy.erfc(mu / root - sympy.erfcinv(2 * alpha)) / 2, profile)


@form.register
def _(curve: Laplace) -> Form:
    e, half = convert_number(curve.epsilon_0), sympy.Rational(1, 2)

    def value(alpha: Any) -> Any:
        middle, last = sympy.exp(-e) / (4 * alpha), sympy.exp(-e) * (1 - alpha)
        first = (1 - sympy.exp(e) * alpha, alpha < sympy.exp(-e) / 2)
        return sympy.Piecewise(first, (middle, alpha <= half), (last, True))

    return Form(
        value,
        lambda epsilon: sympy.Max(0, 1 - sympy.exp(epsilon), 1 - sympy.exp((epsilon - e) / 2)),
        lambda delta: sympy.log(sympy.Max(1 - delta, sympy.exp(e) * (1 - delta) ** 2)),
    )


@form.register(Identity)
@form.register(PureDP)
@form.register(TotalVariation)
def _(curve: TradeOff) -> Form:
    return lines(*(two_lines(curve) or (0, 0)))


def lines(top: Any, delta: Any) -> Form:
    """Return the forms of f_{top,delta}: delta(eps) is the largest of three lines in e^eps."""

    def profile(epsilon: Any) -> Any:
        middle = delta + (1 - delta) * (sympy.exp(top) - sympy.exp(epsilon)) / (1 + sympy.exp(top))
        return sympy.Max(delta, 1 - (1 - delta) * sympy.exp(epsilon), middle if top != 0 else delta)

    def epsilon(d: Any) -> Any:
        share = (d - delta) / (1 - delta)
        ratio = sympy.Max(1 - share, sympy.exp(top) - share * (1 + sympy.exp(top)))
        loss = sympy.log(ratio)
        return loss if delta == 0 else sympy.Piecewise((sympy.oo, d < delta), (loss, True))

    return Form(lambda alpha: lines_group(top, delta, alpha, 1), profile, epsilon)


@form.register
def _(curve: Tensor) -> Form:
    both = two_lines(curve)
    if both is not None:
        return lines(*both)
    leaks = [factor for factor in curve.factors if isinstance(factor, TotalVariation)]
    rest = [(factor, n) for factor, n in curve.factors.items() if factor not in leaks]
    if len(rest) != 1:
        return Form()
    ((factor, n),) = rest
    inner = form(factor) if n == 1 else form_of_power(factor, n)
    return leaking(inner, convert_number(leaks[0].delta_0)) if leaks else inner


def leaking(f: Form, delta: Any) -> Form:
    """Return f (x) f_{0,delta}: both axes are scaled by 1 - delta."""
    kept = 1 - delta
    return f.changed(
        lambda of, alpha: sympy.Piecewise((kept * of(alpha / kept), alpha < kept), (0, True)),
        lambda of, e: delta + kept * of(e),
        lambda of, d: sympy.Piecewise((sympy.oo, d < delta), (of((d - delta) / kept), True)),
    )


def thinned(f: Form, p: Any) -> Form:
    """Return f_p = p f + (1 - p) Id of sampling with rate p, one order of the pair.

    delta_(f_p)(eps) = p delta_f(eps'), e^eps' = (e^eps - 1 + p)/p, or 1 - e^eps where that is not positive.
    """

    def profile(of: Formula, e: Any) -> Any:
        ratio = (sympy.exp(e) - 1 + p) / p
        return sympy.Piecewise((1 - sympy.exp(e), ratio <= 0), (p * of(sympy.log(ratio)), True))

    def epsilon(of: Formula, d: Any) -> Any:
        inside = sympy.log(1 - p + p * sympy.exp(of(d / p)))
        return sympy.Piecewise((inside, d < p), (sympy.log(1 - d), True))

    return f.changed(lambda of, alpha: p * of(alpha) + (1 - p) * (1 - alpha), profile, epsilon)


@cache
def _indices() -> Any:
    """Return the indices of sums: always the same, so that formulas compare, and not symbols of a user."""
    return sympy.symbols("k j", cls=sympy.Dummy, integer=True, nonnegative=True)


def form_of_power(f: TradeOff, n: Any) -> Form:
    """Return the forms of f_{epsilon,0}^n: losses (2k - n) epsilon, k ~ Bin(n, 1/(1 + e^epsilon)) under P.

    A test rejects the largest losses first; n may be a symbol (Kairouz, Oh, Viswanath 2015, Theorem 3.3).
    """
    if not isinstance(f, PureDP):
        return Form()
    e, (k, j) = convert_number(f.epsilon_0), _indices()

    def mass(index: Any, power: Any) -> Any:
        return sympy.binomial(n, index) * sympy.exp(power * e) / (1 + sympy.exp(e)) ** n

    def value(alpha: Any) -> Any:
        # From 0, not from k + 1: SymPy expands such sums and does not look for their closed forms.
        above = sympy.Sum(mass(j, n - j) * sympy.Heaviside(j - k - sympy.Rational(1, 2)), (j, 0, n))
        accepted = 1 - sympy.Min(1, sympy.Max(0, (alpha - above) / mass(k, n - k)))
        return sympy.Sum(mass(k, k) * accepted, (k, 0, n))

    def profile(x: Any) -> Any:
        return sympy.Sum(sympy.Max(0, mass(k, k) - sympy.exp(x) * mass(k, n - k)), (k, 0, n))

    return Form(value, profile)


def lines_group(epsilon: Any, delta: Any, alpha: Any, k: int) -> Any:
    """Return 1 - (1 - f)^(o k), composed k times, for f = f_{epsilon,delta}: the curve of k neighbours.

    1 - f is the least of 1 and of two increasing lines, A(x) = delta + e^eps x and B(x) = 1 - e^-eps (1 -
    delta - x), its power the least of all words in the two. As B(A(x)) <= A(B(x)), a word is least if its A
    act first, so that one word is left for each number a of them.
    """
    words = []
    for a in range(k, -1, -1):
        # 1 - A^a(alpha), and what is lost by k - a times B, which takes 1 - x to e^-eps (1 - x - delta).
        rest = 1 - sympy.exp(a * epsilon) * alpha - delta * sum(sympy.exp(i * epsilon) for i in range(a))
        lost = delta * sum(sympy.exp(-i * epsilon) for i in range(1, k - a + 1))
        words.append(sympy.exp((a - k) * epsilon) * rest - lost)
    # Without delta the word of B alone is at least 0.
    return sympy.Max(*words) if delta == 0 else sympy.Max(0, *words)


def answer(curve: TradeOff, name: str, at: Any) -> Any:
    """Return f(alpha), delta(epsilon) or epsilon(delta) as an expression, ``name`` being the argument's."""
    formula = getattr(form(curve), _FIELDS[name])
    if formula is None:
        raise _unknown(f"{_FIELDS[name]} at {name} = {at}", curve)
    return formula(convert_number(at))


def _unknown(name: str, curve: TradeOff) -> NoClosedForm:
    remedy = "substitute numbers first, with .subs({...})"
    return NoClosedForm(f"no formula of the {name} is known for {curve!r}; {remedy}")


def bayes_risk(curve: TradeOff, prior: Any) -> Any:
    """Return min over alpha of prior alpha + (1 - prior) f(alpha): the profile at log(prior/(1 - prior))."""
    return (1 - prior) * (1 - answer(curve, "epsilon", sympy.log(prior / (1 - prior))))


# Functions of the parameter of a family (Dong, Roth, Su 2022, Section 3.2): the least mu with f >= G_mu and
# E_P[L^2], and E_P[-L] and D_order in nats where the family has no formula of D. Where f(alpha) = alpha
# decides the first, it is mu = 2 Phi^-1(1 - alpha).
_TABLE: Mapping[type, Mapping[str, Callable[..., Any]]] = {
    Gaussian: {"mu": lambda m: m, "kappa2": lambda m: m**2 + m**4 / 4},
    PureDP: {
        "mu": lambda e: 2 * sympy.sqrt(2) * sympy.erfinv(1 - 2 / (1 + sympy.exp(e))),
        "kappa2": lambda e: e**2,
    },
    Laplace: {
        "mu": lambda e: 2 * sympy.sqrt(2) * sympy.erfinv(1 - sympy.exp(-e / 2)),
        "kappa2": lambda e: e**2 - 2 * e + 4 - (2 * e + 4) * sympy.exp(-e),
    },
    Identity: dict.fromkeys(("mu", "kl", "kappa2", "renyi"), lambda *_: sympy.Integer(0)),
    TotalVariation: {
        **dict.fromkeys(("mu", "kl", "kappa2"), lambda _: sympy.oo),
        "renyi": lambda d, a: sympy.Piecewise((sympy.log(1 - d) / (a - 1), a < 1), (sympy.oo, True)),
    },
}


def _powers(curve: TradeOff) -> list[tuple[TradeOff, Any]]:
    """Return factors and their powers; one of a symbol n is a curve with ``each`` = (factor, n)."""
    factors = curve.factors.items()
    return [(f.each[0], n * f.each[1]) if hasattr(f, "each") else (f, n) for f, n in factors]


def _closed(curve: TradeOff, field: str, *at: Any) -> Any:
    """Return a field of `_TABLE` of one family, or kl or the divergence of order ``at`` by its formula."""
    formula = _TABLE.get(type(curve), {}).get(field)
    if field in {"kl", "renyi"} and isinstance(curve, ClosedForm) and curve.formulas.renyi:
        formula, at = partial(curve.formulas.renyi, sympy), at or (1,)
    if formula is None:
        raise _unknown(field, curve)
    return formula(convert_number(getattr(curve, getattr(curve, "parameter", ""), 0)), *at)


def summed(curve: TradeOff, field: str, *at: Any) -> Any:
    """Return the sum of a field of the table over the factors."""
    return sum(n * _closed(f, field, *at) for f, n in _powers(curve))


def renyi(curve: TradeOff, order: Any) -> Any:
    """Return the divergence of an order in (0, inf), in nats: KL(P || Q) at 1."""
    if not is_symbol(order):
        number("order", order, 0, open_low=True, open_high=True)
    order = convert_number(order)
    return summed(curve, "kl") if order == 1 else summed(curve, "renyi", order)


def least_mu(curve: TradeOff) -> Any:
    """Return the least mu with f >= G_mu, of one family: products have no closed one."""
    ((f, n), *more) = _powers(curve)
    if more or n != 1:
        raise _unknown("least mu", curve)
    return _closed(f, "mu")


def clt_mu(curve: TradeOff) -> Any:
    """Return 2 sum kl/sqrt(sum kappa2 - sum kl^2) of symmetric factors but f_{0,delta} (Theorem 3.5)."""
    powers = [(f, n) for f, n in _powers(curve) if not isinstance(f, TotalVariation)]
    gap = 2 * sum(n * _closed(f, "kl") for f, n in powers)
    variance = sum(n * (_closed(f, "kappa2") - _closed(f, "kl") ** 2) for f, n in powers)
    return gap / sympy.sqrt(variance) if gap != 0 else sympy.Integer(0)
