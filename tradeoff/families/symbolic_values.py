"""The floats beside what a formula comes to, at numbers for its symbols: in balls, function by function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

from tradeoff.families.later import sympy
from tradeoff.families.symbolic_numbers import (
    ball_functions,
    balls,
    ends,
    mp,
    number_functions,
    outward,
    printer,
)

_FIRST, _LAST = 30, 4000
"""Digits of the first balls, and those after which what is known is reported."""

_SPARE = 10
"""Digits beyond those of a ball in which a function without balls is evaluated, of which two are charged."""

_NARROW = 400
"""Digits after which a sum that may be a float is taken for what encloses it: functions cost too much."""

_HIGHEST = 1e15
"""Powers beyond take longer than anybody waits."""

Ball = Any


def floats_beside(formula: Any, values: Mapping[Any, Any] | None = None) -> tuple[float, float]:
    """Return the floats at or below what a formula comes to, and at or above; NaN where it is no real number.

    Parameters
    ----------
    formula, values
        A formula, and numbers of SymPy for all of its symbols.

    Notes
    -----
    Arithmetic, exp, log, Max, Min and pieces have balls that are proved. Any other function is evaluated at
    the ends of its arguments' balls, where it is right but for the last digits, and charged the distance of
    its values once more: believed of functions that mpmath computes. Digits are doubled until both ends have
    the same floats beside them, or some are spent: a sum that is a float is never known to be.
    """
    values = values or {}
    for part in sympy.postorder_traversal(formula):
        power = part.exp if part.is_Pow or isinstance(part, sympy.exp) else sympy.Integer(1)
        if not power.is_Number and max(map(abs, _enclosed(power, values))) > _HIGHEST:
            return math.nan, math.nan
    return _enclosed(formula, values)


def _enclosed(formula: Any, values: Mapping[Any, Any]) -> tuple[float, float]:
    try:
        evaluate = _compiled(formula, values)
    except ValueError:  # an integer that Python does not print
        return math.nan, math.nan
    digits, known = _FIRST, (math.nan, math.nan)
    while evaluate and digits <= _LAST:
        found = evaluate(digits)
        if found is not None:
            first, last = (outward(end, end) for end in ends(found))
            known = first[0], last[1]
            if first == last or (digits > _NARROW and _is_close(*known)):
                break
        digits *= 2
    return known


def _is_close(low: float, high: float) -> bool:
    return math.nextafter(math.nextafter(low, math.inf), math.inf) >= high


def _compiled(formula: Any, values: Mapping[Any, Any]) -> Callable[[int], Ball | None] | None:
    """Return the formula as a function of digits, whose balls hold it; None where a part of it has none."""
    exact = {x: sympy.Rational(x) for x in formula.atoms(sympy.Float) if x.is_finite}
    formula = formula.xreplace(exact | {sympy.GoldenRatio: (1 + sympy.sqrt(5)) / 2})
    if not all(map(_has_balls, sympy.preorder_traversal(formula))):
        return None
    names = list(values)
    function = sympy.lambdify(names, formula, modules=[_functions()], printer=printer())
    arguments = [_argument(values[name]) for name in names]
    if not all(arguments):
        return None

    def evaluate(digits: int) -> Ball | None:
        own = balls()
        given = [argument(digits) for argument in arguments if argument]
        own.dps = digits
        if any(each is None for each in given):
            return None
        try:
            found = own.convert(function(*given))
            low, high = ends(found)
        except (ArithmeticError, AttributeError, NameError, TypeError, ValueError):
            return None
        return found if mp().isfinite(low) and mp().isfinite(high) else None

    return evaluate


def _argument(value: Any) -> Callable[[int], Ball | None] | None:
    """Return a number of SymPy as a function of digits."""
    if not value.is_Rational:
        return _compiled(value, {})

    def quotient(digits: int) -> Ball:
        own = balls()
        own.dps = digits
        return own.mpf(int(value.p)) / own.mpf(int(value.q))

    return quotient


def _has_balls(part: Any) -> bool:
    """Whether a part of a formula is a number, arithmetic, a function, a choice, or an order of two."""
    known = (sympy.Symbol, sympy.Rational, sympy.Add, sympy.Mul, sympy.Pow, sympy.Max, sympy.Min)
    chosen = (sympy.functions.elementary.piecewise.ExprCondPair, sympy.logic.boolalg.Boolean)
    if isinstance(part, sympy.Eq | sympy.Ne | sympy.core.function.AppliedUndef):
        return False
    return isinstance(part, (*known, *chosen, sympy.Function)) or part in {sympy.pi, sympy.E}


def _functions() -> dict[str, Any]:
    """Return what formulas are compiled to."""
    own = ball_functions()
    others = number_functions().items()
    plain = {name: of for name, of in others if callable(of) and type(of).__name__ != "constant"}
    return {name: _leaf(of) for name, of in plain.items()} | own


def _leaf(function: Callable[..., Any]) -> Callable[..., Ball]:
    """Return a function of balls: at their ends, and as far again as those values lie apart."""

    def of(*arguments: Any) -> Ball:
        own, plain = balls(), mp()
        sides = [(x,) if isinstance(x, int) else ends(own.convert(x)) for x in arguments]
        with plain.workdps(own.dps + _SPARE):
            found = [plain.convert(function(*each)) for each in product(*sides)]
            if any(plain.im(each) for each in found):
                raise ValueError("complex")
            low, high = min(found), max(found)
            off = high - low + max(abs(low), abs(high)) * plain.mpf(10) ** (2 - own.dps)
            return own.mpf([low - off, high + off])

    return of
