"""Costs of a curve in the units of a filter: certified upper bounds, or infinity where none is proved."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.product import Tensor
from tradeoff.errors import PrecisionError, SizeError
from tradeoff.families.discrete import DiscreteGaussianCurve
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.pure_dp import PureDP
from tradeoff.gdp.reduction import least
from tradeoff.gdp.structure import cap
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import total, whole
from tradeoff.operators.assumed import bare
from tradeoff.operators.order import both_orders
from tradeoff.operators.subsample import Subsampled
from tradeoff.pld.discrete import MAX_ATOMS

# Costs cached by each function: ``would_exceed`` and ``spend`` share one, and a key keeps a curve alive.
CACHE_SIZE = 256


def square(x: float, times: float = 1.0) -> float:
    """Return x^2 times a factor, rounded up: positive if x is."""
    return float((Bounds.of(x) * x * times).upper)


@lru_cache(maxsize=CACHE_SIZE)
def gdp_mu(curve: TradeOff) -> float:
    """Return a mu with f >= G_mu and f^-1 >= G_mu at every alpha, or inf where no finite one is proved."""
    curve = bare(curve)
    if isinstance(curve, Gaussian):
        return float(curve.mu)
    # Powers of pure DP too large for a lattice: searching their profile takes a minute, and fails.
    large = any(
        isinstance(f, PureDP) and n >= MAX_ATOMS and f.power_pld(n) is None for f, n in curve.factors.items()
    )
    if not (large or isinstance(curve, PureDP)):
        with suppress(PrecisionError, SizeError):  # the profile is not bounded far enough
            return float(least(curve, 0.0).mu.upper)
    return max(cap(curve), cap(curve.inverse()))


def pure_loss(curve: TradeOff) -> tuple[float, float]:
    """Return (epsilon, delta) with f, f^-1 >= f_{eps,delta}: largest finite loss, mass at infinity."""
    orders = both_orders(curve)
    epsilon = max(0.0, *(order.sup_loss for order in orders))
    return epsilon, max(float(order.mass_at_infinity.upper) for order in orders)


@lru_cache(maxsize=CACHE_SIZE)
def zcdp(curve: TradeOff) -> tuple[float, float]:
    """Return (rho, delta) with both orders delta-approximately rho-zCDP; rho is inf where none is proved."""
    curve = bare(curve)
    if isinstance(curve, DiscreteGaussianCurve):
        # As for the normal law of the same sigma (Canonne, Kamath, Steinke 2020, Proposition 5).
        return square((Bounds.of(curve.shift) / curve.sigma).upper, 0.5), 0.0
    if isinstance(curve, Tensor):
        rhos, deltas = zip(*(zcdp(factor) for factor in curve.factors), strict=True)
        return _sum_costs(curve.factors.values(), rhos), _sum_costs(curve.factors.values(), deltas)
    epsilon, delta = pure_loss(curve)
    # mu-GDP is mu^2/2-zCDP, and (eps, delta)-DP delta-approximately eps^2/2-zCDP (Bun, Steinke 2016).
    return square(epsilon if delta > 0 else min(epsilon, gdp_mu(curve)), 0.5), delta


def is_sampled(curve: object) -> bool:
    """Return whether part of a curve is sampled with unbounded losses: sup D_a/a is then that of no sampling.

    D_a = a mu^2/2 + log p + o(1) for a sampled Gaussian, as the order a grows.
    """
    if isinstance(curve, Subsampled) and math.isinf(pure_loss(curve)[0]):
        return True
    parts = curve.factors if isinstance(curve, Tensor) else getattr(curve, "operands", ())
    return any(map(is_sampled, parts))


def _sum_costs(counts: Iterable[int], costs: Iterable[float]) -> float:
    """Return the sum of costs with their counts, rounded up."""
    return float(total(whole(n) * cost for n, cost in zip(counts, costs, strict=True)).upper)


@lru_cache(maxsize=CACHE_SIZE)
def renyi(curve: TradeOff, order: float) -> float:
    """Bound the Renyi divergence of the order, for both orders of the pair; inf where no bound is proved."""
    match bare(curve):
        case Gaussian(mu=mu):
            return square(mu, order / 2)
        case Tensor(factors=factors):
            return _sum_costs(factors.values(), (renyi(factor, order) for factor in factors))
    orders = both_orders(curve)
    divergence = max(f.renyi(order) for f in orders)
    epsilon, delta = pure_loss(curve)
    # Losses within [-eps, eps] bound D by that of f_{eps,0}.
    return divergence if delta > 0 or math.isinf(epsilon) else min(divergence, PureDP(epsilon).renyi(order))
