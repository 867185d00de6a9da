"""Routes through concentrated and Renyi differential privacy: add divergences, convert once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal, get_args

import numpy as np

from tradeoff.baselines.result import Baseline, number, probability
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import choice
from tradeoff.errors import DomainError, KindError, shown
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import log, log1p, sqrt
from tradeoff.operators.symmetrise import Envelope

Conversion = Literal["bun-steinke", "optimal"]

# Orders tried by default: every one gives a valid epsilon, the least of them is reported.
ORDERS = (1.25, 1.5, 1.75, 2.0, 2.5, *map(float, (3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 128, 256)))

_CKS = "Canonne, Kamath, Steinke 2020, Proposition 12"


def zcdp_route(rho: Any, delta: Any, *, conversion: Conversion = "optimal") -> Baseline:
    """Convert rho-zCDP into (epsilon, delta)-DP.

    Parameters
    ----------
    rho
        Parameter, at least 0; sums compose. mu-GDP is mu^2/2-zCDP, eps-DP is eps^2/2-zCDP.
    delta
        Probability in (0, 1).
    conversion
        ``"bun-steinke"``: eps = rho + 2 sqrt(rho log(1/delta)). ``"optimal"``: the least, over orders a > 1,
        of a rho + log(1 - 1/a) + (log(1/delta) - log a)/(a - 1).

    Notes
    -----
    Bun, Steinke 2016, Proposition 1.3; Canonne, Kamath, Steinke 2020, Proposition 12. Any order gives a valid
    epsilon, so the search need not be exact.

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.zcdp_route(0.5, 1e-5, conversion="bun-steinke")
    (5.29853, 1e-05)-DP by zCDP
    >>> to.baselines.zcdp_route(0.5, 1e-5)
    (4.72839, 1e-05)-DP by zCDP, optimal conversion
    """
    rho, target = number("rho", rho, 0), probability("delta", delta)
    choice("conversion", conversion, get_args(Conversion))
    simple = (rho + 2 * sqrt(-rho * log(target))).upper
    if conversion == "bun-steinke" or rho == 0:
        return Baseline(simple, target, "zCDP", "Bun, Steinke 2016, Proposition 1.3", ("rho-zCDP",))
    from scipy.optimize import minimize_scalar

    # At a - 1 = sqrt(log(1/delta)/rho) the simple bound is met; the optimum is not far from it.
    start = 0.5 * (math.log(-math.log(target)) - math.log(rho))
    best = minimize_scalar(
        lambda u: converted(rho * (1 + Bounds.of(math.exp(u))), math.exp(u), target),
        bounds=(start - 6, start + 6),
        method="bounded",
    )
    least = min(simple, max(float(best.fun), 0.0))
    return Baseline(least, target, "zCDP, optimal conversion", _CKS, ("rho-zCDP",))


def renyi_route(curve: TradeOff, delta: Any, *, orders: Iterable[float] = ORDERS) -> Baseline:
    """Convert the Renyi divergences of a composition, added order by order, into (epsilon, delta)-DP.

    Parameters
    ----------
    curve
        A curve or product of either order, or the either-order envelope, whose larger divergence is taken.
        Divergences are upper bounds by quadrature of the loss, for subsampled factors too (the moments
        accountant without its lemma). The bound is on delta of T(P, Q): for a curve that is not symmetric
        ``guarantee`` holds in that order alone.
    delta
        Probability in (0, 1).
    orders
        Orders a > 1.

    Notes
    -----
    Canonne, Kamath, Steinke 2020, Proposition 12: eps = D_a + log(1 - 1/a) + (log(1/delta) - log a)/(a - 1).

    Examples
    --------
    >>> import tradeoff as to
    >>> step = to.subsample(to.Gaussian(1 / 0.8), 0.005)
    >>> to.baselines.renyi_route(step**1000, 1e-6)
    (2.64401, 1e-06)-DP by Renyi route
    """
    target = probability("delta", delta)
    if not np.iterable(orders):
        raise DomainError(f"orders = {shown(orders)} is not a list of orders above 1")
    checked = [number("order", a, 1, math.inf, open_low=True) for a in orders]
    if not checked:
        raise DomainError("orders is empty; give at least one order above 1")
    result = min(converted(renyi_divergence(curve, a), a - 1, target) for a in checked)
    hypotheses = ("divergences of fixed mechanisms add",)
    return Baseline(max(result, 0.0), target, "Renyi route", _CKS, hypotheses, one_order=not curve.symmetric)


def converted(divergence: Any, k: Any, delta: float) -> Any:
    """Return epsilon from D_a, k = a - 1, rounded up; one for each entry of an array."""
    higher = log1p(k)
    return (divergence + log(k) - higher - (log(delta) + higher) / k).upper


def renyi_divergence(curve: TradeOff, order: float) -> float:
    """Bound D_a(Q || P), a > 1, from above in nats: the direction that delta of T(P, Q) follows.

    It is +inf where Q has mass that P has not; of an envelope the larger of both orders is taken.
    """
    if isinstance(curve, Envelope):
        return max(renyi_divergence(order_of, order) for order_of in curve.operands)
    if not isinstance(curve, TradeOff):
        raise KindError(
            f"{shown(curve)} is not a trade-off function; use the .guarantee() of a mechanism or a plan"
        )
    curve.require_numbers()
    return curve.inverse().bounds.renyi(order).upper
