"""What a curve costs in the currency of a filter: certified upper bounds, or infinity where there is none."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

from scipy.special import erfinv

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import Derived
from tradeoff.curves.tensor import Tensor
from tradeoff.errors import PrecisionError, SizeError
from tradeoff.families.discrete import DiscreteGaussianCurve
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.pure_dp import PureDP
from tradeoff.gdp.reduction import least
from tradeoff.gdp.structure import cap
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, log1p, total, whole
from tradeoff.intervals.normal import quantile_above
from tradeoff.intervals.rounding import TINY, UNIT
from tradeoff.loss.discrete import MAX_ATOMS
from tradeoff.operators.assumed import Assumed, bare
from tradeoff.operators.corners import both_orders
from tradeoff.operators.subsample import Subsampled

# Costs kept by each function: a question and its grant ask the same, and a key holds a curve's tables.
REMEMBERED = 256


def square(x: float, times: float = 1.0) -> float:
    """Return x^2, or some times it, rounded up: positive when x is, infinite beyond the floats.

    Examples
    --------
    >>> square(1e-200, 0.5) > 0, square(1e200)
    (True, inf)
    """
    return float((Bounds.of(x) * x * times).upper)


@lru_cache(maxsize=REMEMBERED)
def gdp_mu(curve: TradeOff) -> float:
    """Return a mu with f >= G_mu and f^-1 >= G_mu at every alpha, or inf where no finite one is proved."""
    match bare(curve):
        case Gaussian(mu=mu):
            return float(mu)
        case PureDP(epsilon_0=epsilon):
            return _pure_mu(epsilon)
        case Tensor(factors=powers) if any(_unlisted(f, n) for f, n in powers.items()):
            return max(cap(curve), cap(curve.inverse()))
    try:
        return float(least(curve, 0.0).mu.upper)
    except (PrecisionError, SizeError):  # the profile is not known far enough
        return max(cap(curve), cap(curve.inverse()))


def _unlisted(f: TradeOff, n: int) -> bool:
    """Whether no engine knows the profile of a power of pure DP to its end, where alone it decides.

    To find that out takes a minute, and what the rounds add up to is what would be charged.
    """
    return isinstance(f, PureDP) and n >= MAX_ATOMS and f.power_law(n) is None


def _pure_mu(epsilon: float) -> float:
    """Return -2 Phi^-1(1/(1 + e^eps)), attained at the corner of f_{eps,0}, rounded up."""
    if epsilon >= 1:
        return 2 * quantile_above((epsilon + log1p(exp(-epsilon))).upper)
    if epsilon == 0:
        return 0.0
    # Five functions and products, good to a few units each, and to a least float below the normal ones.
    return math.sqrt(8) * float(erfinv(math.tanh(epsilon / 2))) * (1 + 64 * UNIT) + 4 * TINY


def pure_loss(curve: TradeOff) -> tuple[float, float]:
    """Return (epsilon, delta) with f, f^-1 >= f_{eps,delta}: the largest finite loss and the mass beyond."""
    orders = both_orders(curve)
    epsilon = max(0.0, *(order.sup_loss for order in orders))
    return epsilon, max(float(order.mass_at_infinity.upper) for order in orders)


@lru_cache(maxsize=REMEMBERED)
def zcdp(curve: TradeOff) -> tuple[float, float]:
    """Return (rho, delta) with both orders delta-approximately rho-zCDP; rho is inf where none is proved."""
    if isinstance(curve, Assumed):
        return zcdp(bare(curve))
    if isinstance(curve, DiscreteGaussianCurve):
        # As for the normal law of the same sigma (Canonne, Kamath, Steinke 2020, Proposition 5).
        return square((Bounds.of(curve.shift) / curve.sigma).upper, 0.5), 0.0
    if isinstance(curve, Tensor):
        parts = [(n, zcdp(factor)) for factor, n in curve.factors.items()]
        return _counted((n, rho) for n, (rho, _) in parts), _counted((n, delta) for n, (_, delta) in parts)
    epsilon, delta = pure_loss(curve)
    # mu-GDP is mu^2/2-zCDP, and (eps, delta)-DP delta-approximately eps^2/2-zCDP (Bun, Steinke 2016).
    return square(epsilon if delta > 0 else min(epsilon, gdp_mu(curve)), 0.5), delta


def sampled(curve: TradeOff) -> bool:
    """Whether part of a curve is sampled with unbounded losses: sup D_a/a is then that of the whole step.

    D_a = a mu^2/2 + log p + o(1) for a sampled Gaussian, as the order a grows.
    """
    if isinstance(curve, Tensor):
        return any(map(sampled, curve.factors))
    if isinstance(curve, Subsampled) and math.isinf(pure_loss(curve)[0]):
        return True
    return isinstance(curve, Derived) and any(map(sampled, curve.operands))


def _counted(costs: Iterable[tuple[int, float]]) -> float:
    """Return the sum of costs with their counts, rounded up."""
    return float(total(whole(n) * cost for n, cost in costs).upper)


@lru_cache(maxsize=REMEMBERED)
def renyi(curve: TradeOff, order: float) -> float:
    """Bound the Renyi divergence of the order, for both orders of the pair; inf where no bound is proved."""
    match bare(curve):
        case Gaussian(mu=mu):
            return square(mu, order / 2)
        case Tensor(factors=factors):
            return _counted((n, renyi(factor, order)) for factor, n in factors.items())
    orders = both_orders(curve)
    found = max(f.renyi(order) for f in orders)
    epsilon, delta = pure_loss(curve)
    # Losses within [-eps, eps] bound D by that of f_{eps,0}, where no law is known any closer.
    return found if delta > 0 or math.isinf(epsilon) else min(found, PureDP(epsilon).renyi(order))
