"""The table of identities of the tensor product; each rule takes factors to simpler factors, or declines."""

from __future__ import annotations

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.polygons import exact_product
from tradeoff.curves.tensor import RULES, Factors, rule
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.laplace import Laplace
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation

_WORK = 2e4
"""Products of short fractions beyond which a power stays symbolic: half a second."""
_UNITS = (Identity(), PureDP(0.0), Gaussian(0.0), Laplace(0.0), TotalVariation(0.0))
"""Whatever loses nothing."""


@rule
def unit(factors: Factors) -> Factors | None:
    """Drop the unit: f (x) Id = f; whatever loses nothing is the unit."""
    return {f: n for f, n in factors.items() if f not in _UNITS}


@rule
def absorbing(factors: Factors) -> Factors | None:
    """Absorbing end: f (x) 0 = 0, without privacy there is none to lose."""
    return (
        {TotalVariation(1): 1}
        if any(not f.free_symbols and f.mass_at_infinity.lower == 1 for f in factors)
        else None
    )


@rule
def semigroups(factors: Factors) -> Factors | None:
    """Families closed under the product: each multiplies its own, exactly, so that no order matters."""
    families: dict[type[TradeOff], list[tuple[TradeOff, int]]] = {}
    for f, n in factors.items():
        families.setdefault(type(f), []).append((f, n))
    found: Factors = {}
    for family, members in families.items():
        several = sum(n for _, n in members) > 1
        curve = family.product(members) if several else None
        for f, n in members if curve is None else [(curve, 1)]:
            found[f] = found.get(f, 0) + n
    return unit(found)


@rule
def fractions(factors: Factors) -> Factors | None:
    """Curves in fractions multiply exactly, up to half a second of work; in floats the order would matter."""
    exact = [(f, n) for f, n in factors.items() if isinstance(f, PiecewiseLinear) and f.exact]
    if sum(n for _, n in exact) < 2:
        return None
    result = exact_product(exact, _WORK)
    return (
        None if result is None else {**{f: n for f, n in factors.items() if (f, n) not in exact}, result: 1}
    )


@rule
def empty(factors: Factors) -> Factors | None:
    """Take the empty product to the identity."""
    return None if factors else {Identity(): 1}


def simplified(factors: Factors) -> Factors:
    """Apply every identity in turn."""
    for identity in RULES:
        simpler = identity(factors)
        factors = factors if simpler is None else simpler
    return factors
