"""Numbers for symbols, in any curve."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tradeoff.balls import exact_fraction, precision, upper_float
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.parameters import is_symbol, symbols_of
from tradeoff.curves.product import Tensor, tensor
from tradeoff.errors import SymbolError
from tradeoff.families._closed_form import ClosedForm
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.total_variation import TotalVariation
from tradeoff.symbolic.evaluate import convert_number, evaluate

_BITS = 1024  # in which squares and sums of floats of the working range are exact


def substitute(curve: TradeOff, values: Mapping[Any, Any]) -> TradeOff:
    """Return ``curve`` with symbols replaced, all at once, keys being symbols or their names.

    A parameter that is not a float is rounded up, to less privacy. ``SymbolError`` if a key is not one free
    symbol of the curve, or the curve takes no numbers for its symbols.
    """
    return _replace(curve, match_symbols(curve, values))


def _replace(curve: TradeOff, values: Mapping[Any, Any]) -> TradeOff:
    values = {symbol: value for symbol, value in values.items() if symbol in curve.free_symbols}
    if not values:
        return curve
    if isinstance(curve, Tensor):
        return tensor((_replace(factor, values), n) for factor, n in curve.factors.items())
    if type(curve).subs is not TradeOff.subs:  # a formula
        return curve.subs(values)
    if isinstance(curve, Derived):
        return curve.replaced(
            lambda part: _replace(part, values) if isinstance(part, TradeOff) else _number(part, values)
        )
    if not (isinstance(curve, ClosedForm) and curve.parameter):
        raise SymbolError(f"{curve!r} cannot substitute its symbols; substitute in the curves it is made of")
    parameter = getattr(curve, curve.parameter)
    number = _number(parameter, values)
    if isinstance(curve, Gaussian) and parameter not in values and not is_symbol(number):
        with precision(_BITS):
            square = exact_fraction(_evaluate(parameter**2, values))
        return Gaussian(number) if square is None else Gaussian.from_weight(square)
    if isinstance(curve, TotalVariation) and number == math.nextafter(1, 2):  # a ball around 1
        number = 1.0
    return type(curve)(number)  # type: ignore[call-arg]  # of one parameter


def _number(parameter: Any, values: Mapping[Any, Any]) -> Any:
    """Return a parameter with symbols replaced: a formula while one is left, else the float above."""
    if not is_symbol(parameter):
        return parameter
    if parameter in values:  # as the constructor takes it
        return values[parameter]
    if symbols_of(*values.values()) or not parameter.free_symbols <= values.keys():
        numbers = {symbol: convert_number(value) for symbol, value in values.items()}
        return convert_number(parameter).subs(numbers, simultaneous=True)
    return upper_float(_evaluate(parameter, values))


def _evaluate(formula: Any, values: Mapping[Any, Any]) -> Any:
    return evaluate(
        formula, {symbol: evaluate(convert_number(value), {}) for symbol, value in values.items()}
    )


def match_symbols(curve: TradeOff, values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return values by free symbols of the curve; a key is a symbol, or a name that only one of them has."""
    matched = {key: value for key, value in values.items() if key in curve.free_symbols}
    for key in [key for key in values if key not in matched]:
        named = [symbol for symbol in curve.free_symbols if str(symbol) == str(key)]
        if not named:
            known = ", ".join(sorted(map(str, curve.free_symbols))) or "none"
            raise SymbolError(f"{key} is not among the free symbols of {curve!r}: {known}")
        if len(named) > 1:
            raise SymbolError(f"{len(named)} free symbols of {curve!r} are named {key}; give the one meant")
        if named[0] in matched:
            raise SymbolError(f"{key} is given twice for {curve!r}; give it once")
        matched[named[0]] = values[key]
    return matched
