"""Powers whose exponent is a symbol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.hooks import BOUND, PAIR, limited, pure
from tradeoff.curves.parameters import MAX_COUNT, count, is_symbol, symbols_of
from tradeoff.curves.product import tensor
from tradeoff.families._lazy import sympy
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.total_variation import TotalVariation
from tradeoff.symbolic.evaluate import convert_number
from tradeoff.symbolic.forms import Form, form, form_of_power


class Power(Derived):
    """f^n for a symbol n: waits for a number, and has the closed forms of the table until then."""

    name = "power"

    def __init__(self, f: TradeOff, n: Any) -> None:
        self.operands, self.parameters, self.each = (f,), (n,), (f, n)

    @property
    def free_symbols(self) -> frozenset[Any]:
        return super().free_symbols | symbols_of(*self.parameters)

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        base: TradeOff = change(self.operands[0])
        return power(base, change(self.parameters[0]))

    @property
    def notation(self) -> str:
        return f"({self.operands[0].notation})^{self.parameters[0]}"


@form.register
def _(curve: Power) -> Form:
    return form_of_power(*curve.each)


def power(f: TradeOff, n: Any) -> TradeOff:
    """n-fold tensor power; with a symbol n it is a family where that is closed under products."""
    if not is_symbol(n):
        return tensor([(f, count("n", n, 0, MAX_COUNT))])
    product = tensor((_one(pure(factor), times * n), 1) for factor, times in f.factors.items())
    return limited(product, f.tightness if f.tightness == PAIR else BOUND)


def _one(f: TradeOff, n: Any) -> TradeOff:
    if isinstance(f, Identity):
        return f
    if isinstance(f, Gaussian):
        return Gaussian(sympy.sqrt(n) * f.mu)
    if isinstance(f, TotalVariation):
        return TotalVariation(1 - (1 - convert_number(f.delta_0)) ** n)
    return Power(f.each[0], f.each[1] * n) if isinstance(f, Power) else Power(f, n)
