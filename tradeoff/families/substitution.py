"""Numbers for symbols, in any curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

import sympy

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.parameters import is_symbol, written
from tradeoff.curves.tensor import Tensor, tensor
from tradeoff.errors import DomainError, SymbolError, shown
from tradeoff.families._closed_form import ClosedForm
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.symbolic_forms import exact
from tradeoff.families.symbolic_values import floats_beside
from tradeoff.families.total_variation import TotalVariation

_LONGEST = 10_000  # binary digits up to which formulas are put in as fractions, in ms; Python prints 14,000
_ROOTED = 2000  # binary digits of what a root is taken of: SymPy looks for its factors
_INSIDE = 400  # binary digits of numbers inside functions that become one: those of all but very small floats

# Functions that may be left with numbers in them: SymPy makes no longer ones of them.
_SHORT = ("exp", "log", "erf", "erfc", "tanh", "atan", "floor", "ceiling", "sign", "Abs", "Piecewise")


def substitute(curve: TradeOff, values: Mapping[Any, Any]) -> TradeOff:
    """Return ``curve`` with symbols replaced, all at once, keys being symbols or their names.

    ``SymbolError`` if a key is not one free symbol of the curve, or it cannot take numbers for its symbols.
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
    where = curve.parameter if isinstance(curve, ClosedForm) else ""
    if not where:
        raise SymbolError(f"{curve!r} cannot substitute its symbols; substitute in the curves it is made of")
    return _family(type(curve), getattr(curve, where), values)


def _family(make: Callable[[Any], TradeOff], formula: Any, values: Mapping[Any, Any]) -> TradeOff:
    """Return the curve of a family of one parameter with its symbols replaced."""
    if formula in values:  # the number itself, as the constructor takes it
        return make(values[formula])
    found = _put(formula, values)
    square = found**2 if make is Gaussian and getattr(found, "is_positive", False) else None
    if square is not None and square.is_Rational:
        return Gaussian.from_weight(Fraction(int(square.p), int(square.q)))
    value = _number(found)
    # No leak is larger than 1, which a ball may pass.
    return make(1.0 if make is TotalVariation and value == math.nextafter(1.0, 2.0) else value)


def _put(formula: Any, values: Mapping[Any, Any]) -> Any:
    """Return a formula with symbols replaced, floats as fractions, or the float above what it comes to."""
    formula, known = exact(formula), {symbol: exact(value) for symbol, value in values.items()}
    if all(value.is_Rational for value in known.values()):
        formula = _chosen(formula, known)
    length = _length(formula, known)
    finite = all(value.is_number and value.is_finite is not False for value in known.values())
    if finite and formula.free_symbols <= known.keys() and (length > _LONGEST or _functions(formula)):
        return _above(formula, known)
    left = formula.free_symbols - known.keys() or any(map(is_symbol, known.values()))
    if length > _LONGEST and left:
        raise SymbolError(f"{written(formula)} would hold no short fractions; put all symbols in at once")
    try:
        return formula.subs(known, simultaneous=True)
    except TypeError as error:  # a comparison of what is not real
        raise DomainError(f"{written(formula)} has no value there: {error}; give other numbers") from error


def _chosen(formula: Any, values: Mapping[Any, Any]) -> Any:
    """Return a formula with comparisons of fractions decided, and pieces that are not taken left out."""
    compared = formula.atoms(sympy.core.relational.Relational)
    known = {}
    for each in compared:
        if not _functions(each) and _length(each, values) <= _LONGEST:
            with suppress(TypeError):  # of what is not real, in a piece that is not taken
                known[each] = each.subs(values, simultaneous=True)
    return formula.xreplace(known)


def _functions(formula: Any) -> list[Any]:
    """Return the functions in a formula that make no fraction of one."""
    found = formula.atoms(sympy.Function)
    return [each for each in found if not isinstance(each, sympy.Piecewise | sympy.Abs)]


def _length(formula: Any, values: Mapping[Any, Any]) -> float:
    """Bound the binary digits of fractions in what SymPy makes of a formula; infinite where it may go on."""
    if formula in values:
        return _length(values[formula], {})
    if formula.is_Rational:
        return int(formula.p).bit_length() + int(formula.q).bit_length()
    if formula.is_Pow:
        return _length_of_power(formula, values)
    length = sum(_length(part, values) for part in formula.args)
    if isinstance(formula, sympy.Function) and not formula.free_symbols - _numbers(values):
        power = isinstance(formula, sympy.exp) and formula.has(sympy.log)  # e^(n log x)
        kept = tuple(getattr(sympy, name) for name in _SHORT)
        return length if isinstance(formula, kept) and not power and length <= _INSIDE else math.inf
    return length


def _length_of_power(formula: Any, values: Mapping[Any, Any]) -> float:
    base, power = (_length(part, values) for part in formula.args)
    if power > _INSIDE or _functions(formula.exp):
        return math.inf
    if formula.free_symbols - _numbers(values):
        return base + power
    exponent = formula.exp.subs(values, simultaneous=True)
    if not exponent.is_Rational:
        return base + power
    rooted = exponent.is_Integer or base <= _ROOTED
    return base * math.ceil(abs(exponent)) + power if rooted else math.inf


def _numbers(values: Mapping[Any, Any]) -> set[Any]:
    """Return the symbols that become numbers."""
    return {symbol for symbol, value in values.items() if not is_symbol(value)}


def _above(formula: Any, values: Mapping[Any, Any]) -> float:
    """Return the float above what a formula comes to."""
    found = floats_beside(formula, values)[1]
    if math.isnan(found):
        given = ", ".join(f"{symbol} = {value.n(6)}" for symbol, value in values.items())
        told = f"{written(formula)} at {given}" if given else shown(formula)
        raise DomainError(f"of {told} no digits are known; give the number it comes to")
    return found


def _number(found: Any) -> Any:
    """Return a formula without symbols as a number: a fraction, or the float above it."""
    if isinstance(found, float) or is_symbol(found) or not found.is_real or not found.is_finite:
        return found
    if found.is_Rational:
        return int(found) if found.is_Integer else Fraction(int(found.p), int(found.q))
    return _above(found, {})


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
            many = f"{1 + len(more)} free symbols of {curve!r} are named {name}"
            raise SymbolError(f"{many}; give the one meant")
        if symbol in found:
            raise SymbolError(f"{name} is given twice for {curve!r}; give it once")
        found[symbol] = values[name]
    return found
