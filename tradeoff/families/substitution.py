"""Numbers for symbols, in any curve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import sympy

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.parameters import is_symbol
from tradeoff.curves.tensor import Tensor, tensor
from tradeoff.errors import SymbolError
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.symbolic_forms import PARAMETERS, exact
from tradeoff.families.symbolic_numbers import outward

_LONGEST = 1000  # powers up to which formulas are put in as fractions
_DIGITS = 40
"""Digits of an irrational number that decide which float is next above it: more than twice a float's."""

_UNIT = 1e-38
"""What forty digits leave open, and ten times it in reserve."""


def substitute(curve: TradeOff, values: Mapping[Any, Any]) -> TradeOff:
    """Return ``curve`` with symbols replaced, all at once, keys being symbols or their names.

    Raises
    ------
    SymbolError
        If a key is not one free symbol of the curve, or the curve cannot take numbers for its symbols.
    """
    return put_in(curve, resolved(curve, values))


def put_in(curve: TradeOff, values: Mapping[Any, Any]) -> TradeOff:
    """Return ``curve`` with those of the symbols replaced that it has."""
    values = {symbol: value for symbol, value in values.items() if symbol in curve.free_symbols}
    if not values:
        return curve
    if isinstance(curve, Tensor):
        return tensor((put_in(factor, values), n) for factor, n in curve.factors.items())
    if type(curve).subs is not TradeOff.subs:  # a formula
        return curve.subs(values)
    if isinstance(curve, Derived):
        return curve.replaced(lambda part: _inside(part, values))
    where = PARAMETERS.get(type(curve))
    if where is None:
        raise SymbolError(f"{curve!r} cannot substitute its symbols; substitute in the curves it is made of")
    return _family(type(curve), getattr(curve, where), values)


def _family(make: Callable[[Any], TradeOff], formula: Any, values: Mapping[Any, Any]) -> TradeOff:
    """Return the curve of a family of one parameter with its symbols replaced."""
    if formula in values:  # the number itself, as the constructor takes it
        return make(values[formula])
    found = _put(formula, values)
    square = found**2 if make is Gaussian and getattr(found, "is_positive", False) else None
    if square is not None and square.is_Rational:
        return Gaussian.of_square(Fraction(int(square.p), int(square.q)))
    return make(_number(found))


def _put(formula: Any, values: Mapping[Any, Any]) -> Any:
    """Return a formula with its symbols replaced, every float the fraction it is."""
    replaced = {symbol: exact(value) for symbol, value in values.items()}
    powers = [power.exp.subs(replaced) for power in formula.atoms(sympy.Pow)]
    if any(each.is_comparable and abs(each) > _LONGEST for each in powers):
        replaced = {symbol: _shortened(value) for symbol, value in replaced.items()}
    return exact(formula).subs(replaced, simultaneous=True)


def _shortened(value: Any) -> Any:
    """Return a fraction to 4000 digits: its long powers have millions."""
    return sympy.Float(value, 100 * _DIGITS) if value.is_comparable and not value.is_Integer else value


def _number(found: Any) -> Any:
    """Return a formula without symbols as a number: a fraction, or the float above it."""
    if is_symbol(found) or not found.is_real or not found.is_finite:
        return found
    if found.is_Rational:
        return int(found) if found.is_Integer else Fraction(int(found.p), int(found.q))
    near = found.evalf(_DIGITS)
    return outward(near, near + abs(near) * _UNIT)[1]


def _inside(part: Any, values: Mapping[Any, Any]) -> Any:
    """Replace symbols in an operand or a parameter of an operator."""
    if isinstance(part, TradeOff):
        return put_in(part, values)
    return _number(_put(part, values)) if is_symbol(part) else part


def resolved(curve: TradeOff, values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Match keys to the free symbols of the curve: by identity, else by a name that only one has."""
    free = curve.free_symbols
    found = {key: value for key, value in values.items() if key in free}
    names = [key for key in values if key not in free]
    unknown = [str(name) for name in names if str(name) not in map(str, free)]
    if unknown:
        known = ", ".join(sorted(map(str, free))) or "none"
        raise SymbolError(f"{', '.join(unknown)} is not among the free symbols of {curve!r}: {known}")
    for name in names:
        symbol, *more = (each for each in free if str(each) == str(name))
        if more:
            raise SymbolError(
                f"{1 + len(more)} free symbols of {curve!r} are named {name}; give the one meant"
            )
        if symbol in found:
            raise SymbolError(f"{name} is given twice for {curve!r}; give it once")
        found[symbol] = values[name]
    return found
