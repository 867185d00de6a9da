"""The table of identities of the tensor product; each rule takes factors to simpler factors, or declines."""

from __future__ import annotations

import math
from typing import Any

from tradeoff.core.parameters import is_symbol
from tradeoff.core.piecewise_linear import PiecewiseLinear, exact_product
from tradeoff.core.tensor import Factors, rule
from tradeoff.errors import DomainError, shown
from tradeoff.families.identity import Identity
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation

_WORK = 2e4
"""Products of short fractions beyond which a power stays symbolic: half a second."""


@rule
def unit(factors: Factors) -> Factors | None:
    """Drop the unit: f (x) Id = f; whatever loses nothing is the unit."""
    return {f: n for f, n in factors.items() if not (isinstance(f, Identity) or f == PureDP(0.0))}


@rule
def absorbing(factors: Factors) -> Factors | None:
    """Absorbing end: f (x) 0 = 0, without privacy there is none to lose."""
    return {TotalVariation(1): 1} if any(not f.free_symbols and f.q_plus == 1 for f in factors) else None


@rule
def semigroups(factors: Factors) -> Factors | None:
    """Families closed under the product: what each calls its weight adds, in an order-free sum."""
    found: Factors = {}
    weights: dict[type, list[Any]] = {}
    for f, n in factors.items():
        if hasattr(f, "weight") and not is_symbol(f.weight) and f.weight == 0:
            continue
        if hasattr(f, "weight"):
            weights.setdefault(type(f), []).append((f, n))
        else:
            found[f] = n
    for family, members in weights.items():
        if len(members) == 1 and members[0][1] == 1:
            found[members[0][0]] = 1
        else:
            total = _sum([n * f.weight for f, n in members])
            if not is_symbol(total) and math.isinf(total) and not any(f.q_plus == 1 for f, _ in members):
                raise DomainError(f"the parameters of {shown(members)} add to more than a float holds; compose fewer, or smaller ones")
            curve = family.from_weight(total)  # type: ignore[attr-defined]  # has a weight
            found[curve] = found.get(curve, 0) + 1
    return unit(found)


def _sum(weights: list[Any]) -> Any:
    if any(is_symbol(weight) for weight in weights):
        return sum(weights)
    try:
        return math.fsum(weights)
    except OverflowError:
        return math.inf


@rule
def fractions(factors: Factors) -> Factors | None:
    """Piecewise-linear curves in exact fractions multiply exactly, up to half a second of work; in floats the order would matter."""
    exact = [(f, n) for f, n in factors.items() if isinstance(f, PiecewiseLinear) and f.exact]
    if sum(n for _, n in exact) < 2:
        return None
    result = exact_product(exact, _WORK)
    return None if result is None else {**{f: n for f, n in factors.items() if (f, n) not in exact}, result: 1}


@rule
def empty(factors: Factors) -> Factors | None:
    """Take the empty product to the identity."""
    return None if factors else {Identity(): 1}
