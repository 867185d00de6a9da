"""What a curve costs in the currency of a filter: certified upper bounds, or infinity where there is none."""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.special import erfinv, log_expit, ndtri_exp

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.tensor import Tensor
from tradeoff.errors import PrecisionError
from tradeoff.families.discrete import DiscreteGaussianCurve
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace
from tradeoff.families.pure_dp import PureDP
from tradeoff.intervals.rounding import UNIT

REMEMBERED = 256
"""Costs kept by each function below: a question and the grant that follows ask the same, and each key holds a curve with its tables."""


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


@lru_cache(maxsize=REMEMBERED)
def gdp_mu(curve: TradeOff) -> float:
    """Return a mu with f >= G_mu and f^-1 >= G_mu at every alpha, or inf where no finite one is proved."""
    match curve:
        case Gaussian(mu=mu):
            return float(mu)
        case PureDP(epsilon_0=epsilon):
            return _pure_mu(epsilon)
    try:
        return float(curve.gdp(failure=0.0).mu)
    except PrecisionError:  # the profile is not known far enough
        return math.inf


def _pure_mu(epsilon: float) -> float:
    """Return -2 Phi^-1(1/(1 + e^eps)), attained at the corner of f_{eps,0}, rounded up."""
    half = math.sqrt(2) * erfinv(math.tanh(epsilon / 2)) if epsilon < 1 else -ndtri_exp(log_expit(-epsilon))
    return float(2 * half) * (1 + 64 * UNIT)


def pure_loss(curve: TradeOff) -> tuple[float, float]:
    """Return (epsilon, delta) with f >= f_{eps,delta} and f^-1 too: the largest finite loss, and the mass beyond it."""
    orders = (curve,) if curve.symmetric else (curve, curve.inverse())
    return max(0.0, *(order.sup_loss for order in orders)), max(
        float(order.mass_at_infinity.upper) for order in orders
    )


@lru_cache(maxsize=REMEMBERED)
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


@lru_cache(maxsize=REMEMBERED)
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
    return (
        math.inf
        if delta > 0
        else min(order * rho * (1 + 4 * UNIT), epsilon, _renyi_bounded(curve, epsilon, order))
    )


def _renyi_bounded(curve: TradeOff, epsilon: float, order: float) -> float:
    """Return the closed form of a family, or that of f_{eps,0}; logarithms of sums near 1 lose absolute units."""
    family = curve if isinstance(curve, Laplace) else PureDP(epsilon) if math.isfinite(epsilon) else None
    if family is None:
        return math.inf
    return float(family.renyi(order)) + 32 * UNIT * (1 + order * epsilon) / (order - 1)
