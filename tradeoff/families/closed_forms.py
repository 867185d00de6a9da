"""The table of identities of the tensor product; each rule takes factors to simpler factors, or declines."""

from __future__ import annotations

from collections.abc import Iterable

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.piecewise_linear import PiecewiseLinear, exact_product
from tradeoff.curves.product import RULES, Factors, rule
from tradeoff.families.approximate_dp import Identity, PureDP, TotalVariation
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace

# Curves equal to the identity.
_UNITS = (
    Identity(),
    PureDP(0.0),
    Gaussian(0.0),
    Laplace(0.0),
    TotalVariation(0.0),
    PiecewiseLinear([0.0, 1.0], [1.0, 0.0]),
)


@rule
def unit(factors: Factors, new: Factors) -> Factors | None:
    """Drop units: f (x) Id = f."""
    units = [f for f in new if f in _UNITS]
    return _without(units, factors) if units else None


@rule
def absorbing(factors: Factors, new: Factors) -> Factors | None:
    """Absorb all factors into the zero curve: f (x) 0 = 0."""
    del factors
    lost = any(not f.free_symbols and f.mass_at_infinity.lower == 1 for f in new)
    return {TotalVariation(1): 1} if lost else None


@rule
def semigroups(factors: Factors, new: Factors) -> Factors | None:
    """Families closed under the product: each multiplies its own, exactly, so that no order matters."""
    result = factors
    for family in dict.fromkeys(type(f) for f in new):
        if family.product.__func__ is TradeOff.product.__func__:  # type: ignore[attr-defined]  # of methods
            continue
        members = [(f, n) for f, n in result.items() if type(f) is family]
        curve = family.product(members) if sum(n for _, n in members) > 1 else None
        if curve is not None:
            result = _without([f for f, _ in members], result)
            result[curve] = result.get(curve, 0) + 1
            result = unit(result, {curve: 1}) or result
    return result


def _without(gone: Iterable[TradeOff], factors: Factors) -> Factors:
    left = set(gone)
    return {f: n for f, n in factors.items() if f not in left}


@rule
def fractions(factors: Factors, new: Factors) -> Factors | None:
    """Curves in fractions multiply exactly, up to half a second of work; in floats the order would matter."""
    if not any(isinstance(f, PiecewiseLinear) for f in new):
        return None
    exact = [(f, n) for f, n in factors.items() if isinstance(f, PiecewiseLinear) and f.is_rational]
    if sum(n for _, n in exact) < 2:
        return None
    # Most products of short fractions in a power, half a second; larger powers stay symbolic.
    result = exact_product(exact, 2e4)
    return None if result is None else {**_without([f for f, _ in exact], factors), result: 1}


@rule
def empty(factors: Factors, new: Factors) -> Factors | None:
    """Take the empty product to the identity."""
    del new
    return None if factors else {Identity(): 1}


def simplified(factors: Factors, new: Factors) -> Factors:
    """Apply every identity in turn; all but the ``new`` factors are in normal form already."""
    for identity in RULES:
        simpler = identity(factors, new)
        factors = factors if simpler is None else simpler
    return factors
