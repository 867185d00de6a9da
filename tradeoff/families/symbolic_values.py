"""The floats beside what a formula comes to, at numbers for its symbols: in balls, function by function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

from mpmath import libmp

from tradeoff.families.later import sympy
from tradeoff.families.symbolic_forms import fractions_of
from tradeoff.families.symbolic_numbers import (
    ball_functions,
    balls,
    ends,
    mp,
    number_functions,
    outward,
    printer,
)

_FIRST, _LAST = 30, 4000  # digits of the first balls, and those after which what is known is reported

_SPARE = 10  # more digits in which a function without balls is evaluated than its ball has; two are charged
_NARROW = 400  # digits after which a sum that may be a float is taken for what holds it: functions are dear

_ERROR = ("erf", "erfc", "erfi", "erfinv", "erfcinv")
_CIRCULAR = ("sin", "cos", "tan", "asin", "acos", "atan")
_HYPERBOLIC = ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh")
_GAMMA = ("gamma", "loggamma", "factorial", "binomial", "beta")
_OTHER = ("besselj", "besseli", "lambertw", "LambertW")
# Functions that mpmath gives to all digits, wherever they are real, and that change over lengths of about 1.
# Others cancel inside (incomplete beta functions, harmonic numbers), or are asymptotic (zeta), or take hours.
_LEAVES = (*_ERROR, *_CIRCULAR, *_HYPERBOLIC, *_GAMMA, *_OTHER)

_RANGES = {**dict.fromkeys(("erf", "tanh", "sin", "cos"), (-1, 1)), "erfc": (0, 2)}  # what they do not leave

# Binary digits before the point of their arguments, beyond which some take hours, and the widest balls.
_LARGEST, _WIDEST = 10_000, 1e-3

# What is raised where a function has no value, or none that mpmath finds.
UNKNOWN = (
    *(ArithmeticError, AttributeError, NameError, TypeError, ValueError),
    *(NotImplementedError, MemoryError, RecursionError),
)

_HIGHEST = 1e15  # powers beyond take longer than anybody waits

Ball = Any
Formula = Callable[..., Any]


def floats_beside(formula: Any, values: Mapping[Any, Any] | None = None) -> tuple[float, float]:
    """Return the floats at or below what a formula comes to, and at or above; NaN where it is no real number.

    ``values`` are numbers of SymPy for all of its symbols.

    Arithmetic, exp, log, Max, Min and pieces have balls that are proved. Any other function is evaluated at
    the ends and middles of its arguments' balls, once these are narrow, where it is right but for the last
    digits. It is charged how far its values lie apart, once more, and from those with twice the digits:
    believed of functions that mpmath computes. Digits are doubled until both ends have the same floats beside
    them, or some are spent: a sum that is a float is never known to be.
    """
    values, formula = values or {}, _plain(formula)
    if not all(map(_has_balls, sympy.preorder_traversal(formula))):
        return math.nan, math.nan
    for part in sympy.postorder_traversal(formula):
        power = part.exp if part.is_Pow or isinstance(part, sympy.exp) else sympy.Integer(1)
        low, high = (0.0, 0.0) if power.is_Number else _enclosed(power, values)
        if high > _HIGHEST or low == -math.inf or (part.is_Pow and low < -_HIGHEST):
            return math.nan, math.nan
    return _enclosed(formula, values)


def _enclosed(formula: Any, values: Mapping[Any, Any]) -> tuple[float, float]:
    try:
        evaluate = _compiled(formula, values)
    except (*UNKNOWN, SyntaxError):  # an integer that Python does not print, a formula it does not read
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
    names = {name: sympy.Dummy() for name in values}  # one of the user's may be e or pi, or stand twice
    compile_with = {"modules": [_functions()], "printer": printer()}
    function = sympy.lambdify(list(names.values()), formula.xreplace(names), **compile_with)
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
        except (*UNKNOWN, mp().NoConvergence):
            return None
        return found if mp().isfinite(low) and mp().isfinite(high) else None

    return evaluate


def _argument(value: Any) -> Callable[[int], Ball | None] | None:
    """Return a number of SymPy as a function of digits."""
    if not value.is_Rational:
        value = _plain(value)
        return _compiled(value, {}) if all(map(_has_balls, sympy.preorder_traversal(value))) else None

    def quotient(digits: int) -> Ball:
        own = balls()
        own.dps = digits
        return own.mpf(int(value.p)) / own.mpf(int(value.q))

    return quotient


def _plain(formula: Any) -> Any:
    """Return a formula with floats as fractions, and with other functions for those without balls."""
    golden = {sympy.GoldenRatio: (1 + sympy.sqrt(5)) / 2}
    plain = formula.xreplace(fractions_of(formula) | golden)
    return plain.replace(sympy.Mod, lambda a, b: a - b * sympy.floor(a / b))


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
    known = number_functions()
    others = dict.fromkeys(known, _unknown)  # which SymPy would take from mpmath itself
    leaves = {name: _leaf(known[name], *_RANGES.get(name, ())) for name in _LEAVES}
    steps = {"floor": _rounded("f"), "ceil": _rounded("c"), "sign": lambda x: (x > 0) - (x < 0)}
    return others | leaves | {name: _step(of) for name, of in steps.items()} | own


def _unknown(*_: Any) -> Ball:
    raise NameError("no balls")


def _leaf(function: Formula, least: float = -math.inf, most: float = math.inf) -> Formula:
    """Return a function of balls: of values at ends and middles, and as far again as those lie apart."""

    def of(*arguments: Any) -> Ball:
        own, plain = balls(), mp()
        with plain.workdps(own.dps + _SPARE):
            sides = [_looked_at(each) for each in arguments]
            if any(each[-1] - each[0] > _WIDEST for each in sides):
                raise ValueError("too wide")
            coarse = [plain.convert(function(*each)) for each in product(*sides)]
        with plain.workdps(2 * (own.dps + _SPARE)):
            fine = [plain.convert(function(*each)) for each in product(*sides)]
            if not all(plain.isfinite(each) and plain.im(each) == 0 for each in (*coarse, *fine)):
                raise ValueError("no real number")
            low, high = min(fine), max(fine)
            missed = max(abs(a - b) for a, b in zip(coarse, fine, strict=True))
            off = high - low + missed + max(abs(low), abs(high)) * plain.mpf(10) ** (2 - own.dps)
            return own.mpf([max(low - off, least), min(high + off, most)])

    return of


def _looked_at(argument: Any) -> tuple[Any, ...]:
    """Return the numbers at which a function is looked at for what it does in a ball."""
    if isinstance(argument, int):
        return (argument,)
    low, high = ends(balls().convert(argument))
    if max(map(mp().mag, (low, high))) > _LARGEST:
        raise ValueError("too large")
    return (low,) if low == high else (low, (low + high) / 2, high)


def _step(function: Callable[[Any], int]) -> Callable[[Any], Ball]:
    """Return a function of balls that takes steps upward, to whole numbers: what it is at both ends."""

    def of(argument: Any) -> Ball:
        at = _looked_at(argument)
        return balls().mpf([function(at[0]), function(at[-1])])

    return of


def _rounded(way: str) -> Callable[[Any], int]:
    """Return what rounds a number of mpmath to a whole one, exactly."""
    return lambda x: x if isinstance(x, int) else libmp.to_int(x._mpf_, way)
