"""Identities of the tensor product, which take factors, {curve: power}, to simpler ones of equal product."""

from __future__ import annotations

from collections.abc import Sequence

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


def simplified(factors: Factors, new: Factors) -> Factors:
    """Apply every identity once: no product is 1 - alpha, or 0, unless a factor is.

    Only the ``new`` factors may be open to simplification; the others have been simplified together.
    """
    if any(not f.free_symbols and f.mass_at_infinity.lower == 1 for f in new):
        return {TotalVariation(1): 1}  # f (x) 0 = 0
    result = dict(factors)
    for f in new:
        if f in _UNITS:  # f (x) Id = f
            del result[f]
    # Members of each family closed under products, exactly, so that no order matters.
    for family in dict.fromkeys(type(f) for f in new):
        members = [(f, n) for f, n in result.items() if type(f) is family]
        curve = family.product(members) if sum(n for _, n in members) > 1 else None
        if curve is not None:
            _replace(members, curve, result)
    # Curves in fractions, up to half a second of work; in floats the order would matter.
    if any(isinstance(f, PiecewiseLinear) for f in new):
        exact = [(f, n) for f, n in result.items() if isinstance(f, PiecewiseLinear) and f.is_rational]
        if sum(n for _, n in exact) > 1 and (polygon := exact_product(exact, 2e4)) is not None:
            _replace(exact, polygon, result)
    return result or {Identity(): 1}


def _replace(members: Sequence[tuple[TradeOff, int]], product: TradeOff, factors: Factors) -> None:
    for f, _ in members:
        del factors[f]
    if product not in _UNITS:
        factors[product] = factors.get(product, 0) + 1
