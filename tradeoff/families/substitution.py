"""Numbers for symbols, in any curve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.parameters import is_symbol
from tradeoff.curves.tensor import Tensor, tensor
from tradeoff.errors import SymbolError
from tradeoff.families.symbolic_forms import PARAMETERS


def substitute(curve: TradeOff, values: Mapping[Any, Any], *, strict: bool = True) -> TradeOff:
    """Return ``curve`` with symbols replaced, keys being symbols or their names.

    Raises
    ------
    SymbolError
        If a key is not a free symbol of the curve, or the curve cannot take numbers for its symbols.
    """
    values = resolved(curve, values, strict=strict)
    if not curve.free_symbols & values.keys():
        return curve
    if isinstance(curve, Tensor):
        return tensor((substitute(factor, values, strict=False), n) for factor, n in curve.factors.items())
    if type(curve).subs is not TradeOff.subs:  # a formula
        return curve.subs(values)
    if isinstance(curve, Derived):
        return curve.replaced(lambda part: _inside(part, values))
    where = PARAMETERS.get(type(curve))
    if where is None:
        raise SymbolError(f"{curve!r} cannot substitute its symbols; substitute in the curves it is made of")
    fresh = getattr(curve, where).subs(values)
    return replace(curve, mu=fresh) if where == "mu" else type(curve)(fresh)  # type: ignore[call-arg,type-var]  # a one-parameter family


def _inside(part: Any, values: Mapping[Any, Any]) -> Any:
    """Replace symbols in an operand or a parameter of an operator."""
    if isinstance(part, TradeOff):
        return substitute(part, values, strict=False)
    return part.subs(values) if is_symbol(part) else part


def resolved(curve: TradeOff, values: Mapping[Any, Any], *, strict: bool = True) -> dict[Any, Any]:
    """Match keys to the free symbols of the curve, by identity or by name."""
    by_name = {str(symbol): symbol for symbol in curve.free_symbols}
    unknown = [str(key) for key in values if str(key) not in by_name]
    if unknown and strict:
        names = ", ".join(sorted(by_name)) or "none"
        raise SymbolError(f"{', '.join(unknown)} is not among the free symbols of {curve!r}: {names}")
    return {by_name[str(key)]: value for key, value in values.items() if str(key) in by_name}
