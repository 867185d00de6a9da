"""Numbers for symbols, in any curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tradeoff.balls import exact_fraction, precision, to_balls, upper_float
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.parameters import is_symbol, written
from tradeoff.curves.tensor import Tensor, tensor
from tradeoff.errors import DomainError, SymbolError
from tradeoff.families._closed_form import ClosedForm
from tradeoff.families.gaussian import Gaussian
from tradeoff.symbolic.evaluate import convert_number, evaluate, require_supported

_BITS = 1024  # in which squares and sums of floats of the working range are exact


def substitute(curve: TradeOff, values: Mapping[Any, Any]) -> TradeOff:
    """Return ``curve`` with symbols replaced, all at once, keys being symbols or their names.

    A parameter that comes to no float is rounded up, to less privacy.

    Raises
    ------
    SymbolError
        If a key is not one free symbol of the curve, or the curve takes no numbers for its symbols.
    """
    return _replace(curve, resolved(curve, values))


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
            lambda part: _replace(part, values) if isinstance(part, TradeOff) else replaced_in(part, values)
        )
    if not (isinstance(curve, ClosedForm) and curve.parameter):
        raise SymbolError(f"{curve!r} cannot substitute its symbols; substitute in the curves it is made of")
    parameter = getattr(curve, curve.parameter)
    number: Any = replaced_in(parameter, values)
    if isinstance(curve, Gaussian) and number != values.get(parameter) and not is_symbol(number):
        square = _exact(parameter**2, values)
        return Gaussian(number) if square is None else Gaussian.from_weight(square)
    return type(curve)(number)  # type: ignore[call-arg]  # of one parameter


def replaced_in(parameter: Any, values: Mapping[Any, Any]) -> Any:
    """Return a parameter with symbols replaced: a formula while one is left, else the float above."""
    if not is_symbol(parameter):
        return parameter
    if parameter in values:  # the number itself, as the constructor takes it
        return values[parameter]
    numbers = {symbol: convert_number(value, str(symbol)) for symbol, value in values.items()}
    if not parameter.free_symbols <= {symbol for symbol, value in numbers.items() if value.is_Rational}:
        formula = convert_number(parameter).subs(numbers, simultaneous=True)
        if is_symbol(formula):
            return formula
        parameter, numbers = formula, {}
    value = _evaluate(parameter, numbers)
    if not value.is_finite():
        given = ", ".join(f"{symbol} = {written(number)}" for symbol, number in values.items())
        raise DomainError(f"{written(parameter)} is not a real number at {given}; give other numbers")
    return upper_float(value)


def _evaluate(formula: Any, numbers: Mapping[Any, Any]) -> Any:
    require_supported("a parameter", formula)
    return evaluate(formula, {symbol: evaluate(number, {}) for symbol, number in numbers.items()})


def _exact(formula: Any, values: Mapping[Any, Any]) -> Any:
    """Return the value of a formula as a fraction, None if it is not known exactly."""
    with precision(_BITS):
        return exact_fraction(_evaluate(formula, {s: convert_number(value) for s, value in values.items()}))


def resolved(curve: TradeOff, values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return values by free symbols of the curve; a key is a symbol, or a name that only one of them has."""
    found = {key: value for key, value in values.items() if key in curve.free_symbols}
    for key in values.keys() - found.keys():
        named = [symbol for symbol in curve.free_symbols if str(symbol) == str(key)]
        if not named:
            known = ", ".join(sorted(map(str, curve.free_symbols))) or "none"
            raise SymbolError(f"{key} is not among the free symbols of {curve!r}: {known}")
        if len(named) > 1:
            raise SymbolError(f"{len(named)} free symbols of {curve!r} are named {key}; give the symbol itself")
        if named[0] in found:
            raise SymbolError(f"{key} is given twice for {curve!r}; give it once")
        found[named[0]] = values[key]
    return found
