"""What a curve costs in the currency of a filter: certified upper bounds, or infinity where there is none."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import erfinv, log_expit, ndtri, ndtri_exp

from tradeoff.core.curve import TradeOff
from tradeoff.core.tensor import Tensor
from tradeoff.families.discrete import DiscreteGaussianCurve
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace
from tradeoff.families.pure_dp import PureDP
from tradeoff.numerics.rounding import UNIT, Array
from tradeoff.operators.pointwise import HullOfMinimum
from tradeoff.operators.subsample import Subsampled

_LINES = 2001


def square(x: float) -> float:
    """Return x^2, rounded up: positive when x is, infinite beyond the floats; half of it is rounded up as well.

    Examples
    --------
    >>> square(1e-200) / 2 > 0, square(1e200)
    (True, inf)
    """
    return max(above(above(x * x)), 1e-323) if x > 0 else 0.0


def above(x: float) -> float:
    """Return the next float above a positive ``x``: one rounding to nearest is undone."""
    return math.nextafter(x, math.inf) if x > 0 else x


def below(x: float) -> float:
    """Return the next float below a positive ``x``."""
    return math.nextafter(x, 0.0)


@lru_cache(maxsize=4096)
def gdp_mu(curve: TradeOff) -> float:
    """Return a mu with f >= G_mu and f^-1 >= G_mu, or inf where no finite one is proved."""
    match curve:
        case Gaussian(mu=mu):
            return float(mu)
        case PureDP(epsilon_0=epsilon):
            return _pure_mu(epsilon)
        case Tensor(factors=factors):
            # f >= G_a and g >= G_b give f (x) g >= G_sqrt(a^2 + b^2) (Dong, Roth, Su 2022, Corollary 3.3).
            return math.sqrt(math.fsum(n * square(gdp_mu(factor)) for factor, n in factors.items())) * (1 + 8 * UNIT)
        case Subsampled(operands=(base,)):
            return gdp_mu(base)  # f_p = p f + (1-p) Id >= f, and so for the inverses
        case HullOfMinimum(operands=operands):
            return max(map(gdp_mu, operands))  # G_mu is convex: below both, it is below the hull of their minimum
    return _polygon_mu(curve)


def _pure_mu(epsilon: float) -> float:
    """Return -2 Phi^-1(1/(1 + e^eps)), attained at the corner of f_{eps,0}, rounded up."""
    half = math.sqrt(2) * erfinv(math.tanh(epsilon / 2)) if epsilon < 1 else -ndtri_exp(log_expit(-epsilon))
    return float(2 * half) * (1 + 64 * UNIT)


def _polygon_mu(curve: TradeOff) -> float:
    """Return the largest Phi^-1(1 - alpha) - Phi^-1(beta) over the corners of a polygon below f and below f^-1.

    G_mu is convex and symmetric, so it lies below both when it lies below the corners with slopes steeper than -1.
    """
    epsilon, delta = pure_loss(curve)
    if delta > 0:
        return math.inf
    if epsilon == 0 or epsilon > 700:
        return _pure_mu(epsilon)
    orders = (curve,) if curve.symmetric else (curve, curve.inverse())
    gaps = np.concatenate([_corner_gaps(order, epsilon) for order in orders])
    return min(float(np.max(gaps, initial=0.0)) + 1e-13, _pure_mu(epsilon))


def _corner_gaps(order: TradeOff, epsilon: float) -> Array:
    """Return the gaps at the corners between neighbouring lines 1 - delta_k - s_k alpha, e^0 <= s_k <= e^eps."""
    losses = np.linspace(0.0, epsilon, _LINES)
    s = np.exp(losses) * (1 + 4 * UNIT)  # steeper than e^loss: the line stays below f
    delta = np.append(np.minimum.accumulate(order.bounds.delta(losses[:-1]).upper), 0.0)
    # delta and s are taken as they stand, so both differences are exact to one rounding.
    alpha = -np.diff(delta) / np.diff(s) * (1 - 8 * UNIT)
    beta = 1 - delta[:-1] - s[:-1] * alpha * (1 + 16 * UNIT) - 4 * UNIT
    gaps = -ndtri(alpha) - ndtri(np.maximum(beta, 0.0))
    return np.where(delta[:-1] == 0, 0.0, gaps) * (1 + 64 * UNIT)


def pure_loss(curve: TradeOff) -> tuple[float, float]:
    """Return (epsilon, delta) with f >= f_{eps,delta} and f^-1 too: the largest finite loss, and the mass beyond it."""
    orders = (curve,) if curve.symmetric else (curve, curve.inverse())
    return max(0.0, *(order.sup_loss for order in orders)), max(order.q_plus for order in orders)


@lru_cache(maxsize=4096)
def zcdp(curve: TradeOff) -> tuple[float, float]:
    """Return (rho, delta) such that both orders are delta-approximately rho-zCDP; rho is inf where none is proved."""
    if isinstance(curve, DiscreteGaussianCurve):
        # As for the normal law of the same sigma (Canonne, Kamath, Steinke 2020, Proposition 5).
        return square(curve.shift / curve.sigma * (1 + 2 * UNIT)) / 2, 0.0
    if isinstance(curve, Tensor):
        parts = [(n, zcdp(factor)) for factor, n in curve.factors.items()]
        sums = (math.fsum(n * cost[side] for n, cost in parts) for side in (0, 1))
        return tuple(x * (1 + 8 * UNIT) for x in sums)  # type: ignore[return-value]  # two of them
    epsilon, delta = pure_loss(curve)
    # (eps, delta)-DP is delta-approximately eps^2/2-zCDP (Bun, Steinke 2016, Proposition 1.4), and mu-GDP is mu^2/2-zCDP.
    return square(epsilon if delta > 0 else min(epsilon, gdp_mu(curve))) / 2, delta


@lru_cache(maxsize=4096)
def renyi(curve: TradeOff, order: float) -> float:
    """Return a bound on the Renyi divergence of the order, for both orders of the pair; inf where none is proved."""
    match curve:
        case Gaussian(mu=mu):
            return float(order * square(mu) / 2 * (1 + 8 * UNIT))
        case Tensor(factors=factors):
            return math.fsum(n * renyi(factor, order) for factor, n in factors.items()) * (1 + 8 * UNIT)
    epsilon, _ = pure_loss(curve)
    rho, delta = zcdp(curve)
    # rho-zCDP bounds D by order rho; losses within [-eps, eps] bound it by eps, and by the D of f_{eps,0}.
    return math.inf if delta > 0 else min(order * rho * (1 + 4 * UNIT), epsilon, _renyi_bounded(curve, epsilon, order))


def _renyi_bounded(curve: TradeOff, epsilon: float, order: float) -> float:
    """Return the closed form of a family, or that of f_{eps,0}; logarithms of sums near 1 lose absolute units."""
    family = curve if isinstance(curve, Laplace) else PureDP(epsilon) if math.isfinite(epsilon) else None
    if family is None:
        return math.inf
    return float(family.renyi(order)) + 32 * UNIT * (1 + order * epsilon) / (order - 1)
