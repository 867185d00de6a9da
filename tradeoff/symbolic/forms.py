"""The table of closed forms as SymPy expressions, with symbolic parameters: one rule a kind of curve."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial, singledispatch
from itertools import permutations
from typing import Any, NamedTuple

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.tensor import Tensor
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.laplace import Laplace
from tradeoff.families.later import sympy
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation
from tradeoff.symbolic.evaluate import convert_number

Formula = Callable[[Any], Any]  # an expression of one argument
_PAIRS = list(permutations([(PureDP, 1), (TotalVariation, 1)]))  # factors of f_{epsilon,delta}


class Form(NamedTuple):
    """f(alpha), delta at every real epsilon, and epsilon(delta) of one curve; None where none is known."""

    value: Formula | None
    profile: Formula | None
    epsilon: Formula | None = None

    def changed(self, *changes: Callable[[Formula, Any], Any]) -> Form:
        """Return what each change makes of the closed forms there are."""
        return Form(*(of and partial(change, of) for change, of in zip(changes, self, strict=True)))


@singledispatch
def form(curve: TradeOff) -> Form:
    """Return the closed forms of a curve; operators add their own rules where they are defined."""
    del curve
    return Form(None, None)


def two_lines(curve: TradeOff) -> tuple[Any, Any] | None:
    """Return (epsilon, delta) if the curve is f_{epsilon,delta}, else None."""
    if isinstance(curve, Identity):
        return 0, 0
    if isinstance(curve, PureDP):
        return convert_number(curve.epsilon_0), 0
    if isinstance(curve, TotalVariation):
        return 0, convert_number(curve.delta_0)
    if isinstance(curve, Tensor) and tuple((type(f), n) for f, n in curve.factors.items()) in _PAIRS:
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
    """Return the forms of f_{top,delta}: delta(eps) is the largest of three pieces, linear in e^eps."""

    def profile(epsilon: Any) -> Any:
        middle = delta + (1 - delta) * (sympy.exp(top) - sympy.exp(epsilon)) / (1 + sympy.exp(top))
        return sympy.Max(delta, 1 - (1 - delta) * sympy.exp(epsilon), middle if top != 0 else delta)

    def epsilon(d: Any) -> Any:
        share = (d - delta) / (1 - delta)  # of what does not leak
        ratio = sympy.Max(1 - share, sympy.exp(top) - share * (1 + sympy.exp(top)))
        found = sympy.log(ratio)
        return found if delta == 0 else sympy.Piecewise((sympy.oo, d < delta), (found, True))

    return Form(lambda alpha: lines_group(top, delta, alpha, 1), profile, epsilon)


@form.register
def _(curve: Tensor) -> Form:
    both = two_lines(curve)
    if both is not None:
        return lines(*both)
    leaks = [factor for factor in curve.factors if isinstance(factor, TotalVariation)]
    rest = [(factor, n) for factor, n in curve.factors.items() if factor not in leaks]
    if len(rest) != 1:
        return Form(None, None)
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
    """Return one order of sampling: delta_(f_p)(eps) = p delta_f(eps'), e^eps' = (e^eps - 1 + p)/p."""

    def profile(of: Formula, e: Any) -> Any:
        ratio = (sympy.exp(e) - 1 + p) / p
        return sympy.Piecewise((1 - sympy.exp(e), ratio <= 0), (p * of(sympy.log(ratio)), True))

    def epsilon(of: Formula, d: Any) -> Any:
        inside = sympy.log(1 - p + p * sympy.exp(of(d / p)))
        return sympy.Piecewise((inside, d < p), (sympy.log(1 - d), True))

    return f.changed(lambda of, alpha: p * of(alpha) + (1 - p) * (1 - alpha), profile, epsilon)


@lru_cache(maxsize=1)
def _indices() -> Any:
    """Return the indices of sums: always the same, so that formulas compare, and not symbols of a user."""
    return sympy.symbols("k j", cls=sympy.Dummy, integer=True, nonnegative=True)


def form_of_power(f: TradeOff, n: Any) -> Form:
    """Return the forms of f_{epsilon,0}^n: losses (2k - n) epsilon, k ~ Bin(n, 1/(1 + e^epsilon)) under P.

    A test rejects the largest losses first; n may be a symbol (Kairouz, Oh, Viswanath 2015, Theorem 3.3).
    """
    if not isinstance(f, PureDP):
        return Form(None, None)
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
    """Return 1 - (1 - f)^(o k) for f = f_{epsilon,delta}.

    1 - f is the least of two increasing lines and 1, so its powers are the least of all words in the two.
    Exchanging neighbours so that the steep line acts first never increases a word: one is left for each
    number a of steep lines.
    """
    words = []
    for a in range(k, -1, -1):
        rest = 1 - sympy.exp(a * epsilon) * alpha - delta * sum(sympy.exp(i * epsilon) for i in range(a))
        lost = delta * sum(sympy.exp(-i * epsilon) for i in range(1, k - a + 1))
        words.append(sympy.exp((a - k) * epsilon) * rest - lost)
    return sympy.Max(*words) if delta == 0 else sympy.Max(0, *words)
