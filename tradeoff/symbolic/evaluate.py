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
from tradeoff.families.later import sympy

_FUNCTIONS = (
    *("exp", "log", "erf", "erfc", "erfinv", "erfcinv"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sin", "cos", "tan", "asin", "acos", "atan"),
)
_SUPPORTED = "+, -, *, /, powers, pi, Abs, Max, Min, Piecewise with <, <=, > and >=, " + ", ".join(_FUNCTIONS)


def evaluate(expression: Any, values: Mapping[Any, Balls]) -> Balls:
    """Return balls that contain an expression, given balls for its symbols; NaN where it is not real.

    Parameters
    ----------
    expression
        SymPy expression of supported functions (``require_supported``).
    values
        A ball, or an array of balls, for every symbol; arrays have one shape, which is that of the answer.
    """
    known = dict(values)

    def ball(part: Any) -> Balls:
        if part not in known:
            known[part] = _ball(part, ball)
        return known[part]

    return ball(expression)


def require_supported(name: str, expression: Any) -> None:
    """Raise ``DomainError`` for the first part of an expression that has no balls."""
    for part in sympy.preorder_traversal(expression):
        if not _is_supported(part):
            raise DomainError(f"{name} must be made of {_SUPPORTED}, got {shown(part)}")


def _is_supported(part: Any) -> bool:
    kinds = (sympy.Symbol, sympy.Rational, sympy.Float, sympy.Add, sympy.Mul, sympy.Pow, sympy.Max, sympy.Min)
    conditions = (sympy.StrictLessThan, sympy.LessThan, sympy.StrictGreaterThan, sympy.GreaterThan)
    logic = (sympy.And, sympy.Or, sympy.logic.boolalg.BooleanAtom)
    pieces = (sympy.Abs, sympy.Piecewise, sympy.functions.elementary.piecewise.ExprCondPair)
    named = part.func.__name__ in _FUNCTIONS and len(part.args) == 1
    return named or part in {sympy.pi, sympy.E} or isinstance(part, (*kinds, *conditions, *logic, *pieces))


def convert_number(value: Any, name: str = "formula") -> Any:
    """Return a number or an expression of SymPy, every float in it replaced by its binary value.

    SymPy runs texts as code, also inside lists, so that nothing else is converted.
    """
    if isinstance(value, sympy.Expr):
        return value.xreplace({number: sympy.Rational(number) for number in value.atoms(sympy.Float)})
    if not (isinstance(value, Real) and math.isfinite(value)):
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
    arguments = [ball(argument) for argument in part.args]
    for kind, operation in ((sympy.Add, add), (sympy.Mul, mul), (sympy.Max, maximum), (sympy.Min, minimum)):
        if isinstance(part, kind):
            return reduce(operation, arguments)
    if isinstance(part, sympy.Pow):
        return power(*arguments)
    return absolute(*arguments) if isinstance(part, sympy.Abs) else function(part.func.__name__)(*arguments)


def _select(condition: Any, value: Balls, otherwise: Balls, ball: Callable[[Any], Balls]) -> Balls:
    """Return ``value`` where the condition holds, else ``otherwise``; both where balls do not decide."""
    if isinstance(condition, sympy.And):
        return reduce(lambda chosen, each: _select(each, chosen, otherwise, ball), condition.args, value)
    if isinstance(condition, sympy.Or):
        return reduce(lambda chosen, each: _select(each, value, chosen, ball), condition.args, otherwise)
    if condition in {sympy.true, sympy.false}:
        return value if condition == sympy.true else otherwise
    gap = ball(condition.lts) - ball(condition.gts)  # the lesser side minus the greater
    return choose(gap, value, otherwise) if condition.rel_op in {"<", ">"} else choose(-gap, otherwise, value)
