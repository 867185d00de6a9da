"""Numbers for symbols, in any curve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import sympy

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.parameters import is_symbol, written
from tradeoff.curves.tensor import Tensor, tensor
from tradeoff.errors import SymbolError
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.symbolic_forms import PARAMETERS, exact
from tradeoff.families.symbolic_numbers import floats_beside

_LONGEST = 100_000
"""Binary digits up to which formulas come to fractions, in a tenth of a second: others are evaluated."""

_HIGHEST = 10**9
"""Powers from here on are alike: no number but 0 and 1 has short ones."""


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
    """Return a formula with its symbols replaced, floats as fractions; of a long one the float above."""
    formula, replaced = exact(formula), {symbol: exact(value) for symbol, value in values.items()}
    with sympy.evaluate(False):
        unevaluated = formula.xreplace(replaced)
    if _length(unevaluated) <= _LONGEST:
        return formula.subs(replaced, simultaneous=True)
    if is_symbol(unevaluated):
        raise SymbolError(f"{written(formula)} would hold numbers of many digits; put all symbols in at once")
    return floats_beside(unevaluated)[1]


def _length(formula: Any) -> int:
    """Bound the binary digits of the fractions that a formula comes to: powers multiply them."""
    if formula.is_Rational:
        return int(formula.p).bit_length() + int(formula.q).bit_length()
    length = sum(map(_length, formula.args))
    if not formula.is_Pow or is_symbol(formula) or length > _LONGEST:
        return length
    power = formula.exp.doit()
    most = min(abs(power), _HIGHEST) if power.is_comparable else 1
    return length + int(_length(formula.base) * most)


def _number(found: Any) -> Any:
    """Return a formula without symbols as a number: a fraction, or the float above it."""
    if isinstance(found, float) or is_symbol(found) or not found.is_real or not found.is_finite:
        return found
    if found.is_Rational:
        return int(found) if found.is_Integer else Fraction(int(found.p), int(found.q))
    return floats_beside(found)[1]


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
