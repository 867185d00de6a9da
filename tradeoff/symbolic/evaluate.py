"""Values of SymPy expressions in balls: the one way from a formula to a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from numbers import Rational, Real
from operator import add, mul
from typing import Any

from tradeoff.balls import Balls, absolute, choose, exp, function, maximum, minimum, pi, power, to_balls
from tradeoff.errors import DomainError, domain, shown
from tradeoff.families._lazy import sympy

_FUNCTIONS = (
    *("exp", "log", "erf", "erfc", "erfinv", "erfcinv"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sin", "cos", "tan", "asin", "acos", "atan"),
)
_SUPPORTED = "+, -, *, /, powers, pi, Abs, Max, Min, Piecewise with <, <=, > and >=, " + ", ".join(_FUNCTIONS)


def evaluate(expression: Any, values: Mapping[Any, Balls]) -> Balls:
    """Return balls that contain an expression, given balls for its symbols; NaN where it is not real.

    Symbols may have arrays of balls, of one shape. ``DomainError`` names a function that is not supported.
    """
    results = dict(values)

    def ball(part: Any) -> Balls:
        if part not in results:
            results[part] = _ball(part, ball)
        return results[part]

    return ball(expression)


def convert_number(value: Any, name: str = "formula") -> Any:
    """Return a number or an expression of SymPy, every float in it replaced by its binary value.

    SymPy runs texts as code, also inside lists, so that nothing else is converted.
    """
    if isinstance(value, sympy.Expr):
        return value.xreplace({number: sympy.Rational(number) for number in value.atoms(sympy.Float)})
    wide = isinstance(value, int | Fraction) and not -(2**1024) < value < 2**1024  # isfinite would overflow
    if wide or not (isinstance(value, Real) and math.isfinite(value)):
        allowed = "a finite number or a SymPy expression"
        raise domain(name, value, allowed, "build it from symbols and numbers")
    number = value if isinstance(value, Rational) else Fraction(float(value))
    return sympy.Rational(int(number.numerator), int(number.denominator))


def _ball(part: Any, ball: Callable[[Any], Balls]) -> Balls:
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
    operations = {sympy.Add: add, sympy.Mul: mul, sympy.Pow: power, sympy.Max: maximum, sympy.Min: minimum}
    if (operation := operations.get(part.func)) is not None:
        return reduce(operation, map(ball, part.args))
    if isinstance(part, sympy.Abs):
        return absolute(ball(part.args[0]))
    if (name := part.func.__name__) in _FUNCTIONS:
        return function(name)(ball(part.args[0]))
    raise _unsupported(part)


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
    return DomainError(f"formulas must be made of {_SUPPORTED}, got {shown(part)}")
