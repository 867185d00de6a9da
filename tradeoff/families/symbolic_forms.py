"""Closed forms of the families as SymPy expressions: value, profile and groups, with symbolic parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.tensor import Tensor
from tradeoff.errors import DomainError, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.laplace import Laplace
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation


def exact(value: Any) -> Any:
    """Return a SymPy expression with every float in it replaced by the rational number it is."""
    import sympy

    expression = sympy.sympify(value)
    return expression.xreplace(
        {number: sympy.Rational(number) for number in expression.atoms(sympy.Float) if number.is_finite}
    )


def parsed(value: Any) -> Any:
    """Return ``value`` as a SymPy expression; raise ``DomainError`` if it is none."""
    import sympy

    try:
        expression = sympy.sympify(value)
        str(
            expression
        )  # formulas are compiled from their text, and Python prints no integer of more than 4300 digits
    except (sympy.SympifyError, ArithmeticError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise DomainError(f"expr = {shown(value)} is not a SymPy expression") from error
    if not isinstance(expression, sympy.Expr):
        raise DomainError(f"expr = {shown(value)} is not a SymPy expression")
    return expression


def two_lines(curve: TradeOff) -> tuple[Any, Any] | None:
    """Return (epsilon, delta) if the curve is f_{epsilon,delta}, else None."""
    if isinstance(curve, Identity):
        return 0, 0
    if isinstance(curve, PureDP):
        return exact(curve.epsilon_0), 0
    if isinstance(curve, TotalVariation):
        return 0, exact(curve.delta_0)
    if isinstance(curve, Tensor) and sorted(map(str, map(type, curve.factors))) == sorted(
        map(str, (PureDP, TotalVariation))
    ):
        if set(curve.factors.values()) != {1}:
            return None
        parts = [two_lines(factor) or (0, 0) for factor in curve.factors]
        return parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]
    return None


def has_form(curve: TradeOff) -> bool:
    """Whether value, profile and groups of the curve are in this table."""
    return isinstance(curve, Gaussian | Laplace) or two_lines(curve) is not None


def value(curve: TradeOff, alpha: Any) -> Any:
    """Return f(alpha) as an expression."""
    import sympy

    if isinstance(curve, Gaussian):
        return sympy.erfc(exact(curve.mu) / sympy.sqrt(2) - sympy.erfcinv(2 * alpha)) / 2
    if isinstance(curve, Laplace):
        grow, shrink = sympy.exp(exact(curve.epsilon_0)), sympy.exp(-exact(curve.epsilon_0))
        return sympy.Piecewise(
            (1 - grow * alpha, alpha < shrink / 2),
            (shrink / (4 * alpha), alpha <= sympy.Rational(1, 2)),
            (shrink * (1 - alpha), True),
        )
    return lines_group(curve, alpha, 1)


def lines_group(curve: TradeOff, alpha: Any, k: int) -> Any:
    """Return 1 - (1 - f)^(o k) for f = f_{eps,delta}.

    1 - f is the least of two increasing lines and 1, so its powers are the least of all words in the two;
    exchanging neighbours so that the steep line acts first never increases a word, which leaves one word for
    each a of k.
    """
    import sympy

    epsilon, delta = two_lines(curve) or (0, 0)
    words = []
    for a in range(k, -1, -1):
        b = k - a
        rest = 1 - sympy.exp(a * epsilon) * alpha - delta * sum(sympy.exp(i * epsilon) for i in range(a))
        words.append(
            sympy.exp(-b * epsilon) * rest - delta * sum(sympy.exp(-i * epsilon) for i in range(1, b + 1))
        )
    distinct = list(dict.fromkeys(words))
    return sympy.Max(*distinct) if delta == 0 else sympy.Max(0, *distinct)


def group(curve: TradeOff, alpha: Any, k: int) -> tuple[Any, TradeOff | None]:
    """Return the group curve's value, and the family it belongs to if it stays in one."""
    family = (
        curve.group(k)
        if isinstance(curve, Gaussian)
        else Laplace(k * curve.epsilon_0)
        if isinstance(curve, Laplace)
        else None
    )
    if family is not None:
        return value(family, alpha), family
    return lines_group(curve, alpha, k), None


def profile(curve: TradeOff, epsilon: Any) -> Any:
    """Return delta(epsilon) for every real epsilon as an expression."""
    import sympy

    if isinstance(curve, Gaussian):
        mu = exact(curve.mu)
        first, second = (sympy.erfc((epsilon / mu + sign * mu / 2) / sympy.sqrt(2)) / 2 for sign in (-1, 1))
        return first - sympy.exp(epsilon) * second
    if isinstance(curve, Laplace):
        return sympy.Max(0, 1 - sympy.exp(epsilon), 1 - sympy.exp((epsilon - exact(curve.epsilon_0)) / 2))
    # Three pieces, linear in e^epsilon, of a convex function: the largest is the right one.
    top, delta = two_lines(curve) or (0, 0)
    middle = delta + (1 - delta) * (sympy.exp(top) - sympy.exp(epsilon)) / (1 + sympy.exp(top))
    return sympy.Max(delta, 1 - (1 - delta) * sympy.exp(epsilon), middle if top != 0 else delta)


PARAMETERS: Mapping[type, str] = {
    Gaussian: "mu",
    Laplace: "epsilon_0",
    PureDP: "epsilon_0",
    TotalVariation: "delta_0",
}
"""Where a family keeps the parameter that may be a symbol."""


def scaled(expression: Any, alpha: Any, kept: Any) -> Any:
    """Return the curve with both axes scaled by ``kept``."""
    import sympy

    return sympy.Piecewise((kept * expression.subs(alpha, alpha / kept), alpha < kept), (0, True))
