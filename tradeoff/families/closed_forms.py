"""Identities of the tensor product: each takes factors, {curve: power}, to simpler factors of equal product.

Of the factors only the ``new`` ones may be open to simplification; the others have been simplified together.
"""

from __future__ import annotations

from collections.abc import Iterable

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.piecewise_linear import PiecewiseLinear, exact_product
from tradeoff.curves.product import Factors
from tradeoff.families.approximate_dp import Identity, PureDP, TotalVariation
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace

# Curves equal to 1 - alpha.
_UNITS = (
    *(Identity(), PureDP(0.0), Gaussian(0.0), Laplace(0.0), TotalVariation(0.0)),
    PiecewiseLinear([0.0, 1.0], [1.0, 0.0]),
)


def unit(factors: Factors, new: Factors) -> Factors:
    """Drop factors equal to the identity: f (x) Id = f."""
    units = [f for f in new if f in _UNITS]
    return _without(units, factors) if units else factors


def absorbing(factors: Factors, new: Factors) -> Factors:
    """Absorb all factors into the zero curve: f (x) 0 = 0."""
    lost = any(not f.free_symbols and f.mass_at_infinity.lower == 1 for f in new)
    return {TotalVariation(1): 1} if lost else factors


def semigroups(factors: Factors, new: Factors) -> Factors:
    """Multiply the members of each family closed under products, exactly, so that no order matters."""
    result = factors
    for family in dict.fromkeys(type(f) for f in new):
        members = [(f, n) for f, n in result.items() if type(f) is family]
        curve = family.product(members) if sum(n for _, n in members) > 1 else None
        if curve is not None:
            result = _without([f for f, _ in members], result)
            result[curve] = result.get(curve, 0) + 1
            result = unit(result, {curve: 1})
    return result


def _without(dropped: Iterable[TradeOff], factors: Factors) -> Factors:
    excluded = set(dropped)
    return {f: n for f, n in factors.items() if f not in excluded}


def fractions(factors: Factors, new: Factors) -> Factors:
    """Multiply curves in fractions, up to half a second of work; in floats the order would matter."""
    if not any(isinstance(f, PiecewiseLinear) for f in new):
        return factors
    exact = [(f, n) for f, n in factors.items() if isinstance(f, PiecewiseLinear) and f.is_rational]
    if sum(n for _, n in exact) < 2:
        return factors
    result = exact_product(exact, 2e4)  # half a second of products; larger powers stay symbolic
    return factors if result is None else {**_without([f for f, _ in exact], factors), result: 1}


def simplified(factors: Factors, new: Factors) -> Factors:
    """Apply every identity once, in order: no product is 1 - alpha, or 0, unless a factor is."""
    for identity in (unit, absorbing, semigroups, fractions):
        factors = identity(factors, new)
    return factors or {Identity(): 1}
