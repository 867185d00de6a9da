"""Routes through concentrated and Renyi differential privacy: add divergences, convert once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
from scipy.optimize import minimize_scalar

from tradeoff.baselines.result import Baseline, number, probability
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import choice
from tradeoff.curves.tensor import Tensor
from tradeoff.errors import DomainError, KindError, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import log, log1p, sqrt, total, whole
from tradeoff.loss.changed import Reversed
from tradeoff.loss.law import LossLaw
from tradeoff.loss.moments import FiniteLaw, above_line
from tradeoff.operators.symmetrise import Envelope

Conversion = Literal["bun-steinke", "optimal"]

ORDERS = (
    1.25,
    1.5,
    1.75,
    2.0,
    2.5,
    3.0,
    4.0,
    5.0,
    6.0,
    8.0,
    10.0,
    *(4.0 * i for i in (3, 4, 5, 6, 8, 12, 16, 32, 64)),
)
"""Orders tried by default: every one gives a valid epsilon, the least of them is reported."""

_CELLS = 2**13
"""Cells of the quadrature: 5e-5 of the divergence at most, measured, in some 40 ms."""

_BOUNDED, _TAILED, _BEYOND = 690.0, 500.0, 1e-100
"""Largest k L taken, of laws with and without bounds, and what is added for the rest.

What lies outside a law's support weighs under e^-740 there and falls faster than e^(k L) rises.
"""

_CKS = "Canonne, Kamath, Steinke 2020, Proposition 12"


def zcdp_route(rho: Any, delta: Any, *, conversion: Conversion = "optimal") -> Baseline:
    """Convert rho-zCDP into (epsilon, delta)-DP.

    Parameters
    ----------
    rho
        Concentrated-privacy parameter, at least 0; sums of rho compose. mu-GDP is mu^2/2-zCDP, eps-DP is
        eps^2/2-zCDP.
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
    # At a - 1 = sqrt(log(1/delta)/rho) the simple bound is met; the optimum is not far from it.
    start = 0.5 * (math.log(-math.log(target)) - math.log(rho))
    best = minimize_scalar(
        lambda u: _converted(rho * (1 + Bounds.of(math.exp(u))), math.exp(u), target),
        bounds=(start - 6, start + 6),
        method="bounded",
    )
    return Baseline(
        min(simple, max(float(best.fun), 0.0)), target, "zCDP, optimal conversion", _CKS, ("rho-zCDP",)
    )


def renyi_route(curve: TradeOff, delta: Any, *, orders: Iterable[float] = ORDERS) -> Baseline:
    """Convert the Renyi divergences of a composition, added order by order, into (epsilon, delta)-DP.

    Parameters
    ----------
    curve
        A curve or product of either order, or the either-order envelope, whose larger divergence is taken.
        Divergences are upper bounds by quadrature of the loss, for subsampled factors too (the moments
        accountant without its lemma). What is bounded is delta of T(P, Q): of a curve that is not symmetric
        ``guarantee`` speaks for that order alone.
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
    (2.64427, 1e-06)-DP by Renyi route
    """
    target = probability("delta", delta)
    if not np.iterable(orders):
        raise DomainError(f"orders = {shown(orders)} is not a list of orders above 1")
    checked = [number("order", a, 1, math.inf, open_low=True) for a in orders]
    if not checked:
        raise DomainError("orders is empty; give at least one order above 1")
    found = min(_converted(renyi_divergence(curve, a), a - 1, target) for a in checked)
    return Baseline(
        max(found, 0.0),
        target,
        "Renyi route",
        _CKS,
        ("divergences of fixed mechanisms add",),
        one_order=not curve.symmetric,
    )


def _converted(divergence: Bounds | float, k: float, delta: float) -> float:
    """Return epsilon from D_a, k = a - 1, rounded up."""
    higher = log1p(k)
    return float((divergence + log(k) - higher - (log(delta) + higher) / k).upper)


def renyi_divergence(curve: TradeOff, order: float) -> float:
    """Bound the Renyi divergence D_a(Q || P) from above, the direction that delta of T(P, Q) follows.

    Parameters
    ----------
    curve
        T(P, Q), a product, or an either-order envelope.
    order
        a > 1.

    Returns
    -------
    float
        An upper bound in nats; +inf where Q has mass that P has not.
    """
    if isinstance(curve, Envelope):
        return max(renyi_divergence(order_of, order) for order_of in curve.operands)
    if not isinstance(curve, TradeOff):
        raise KindError(
            f"{shown(curve)} is not a trade-off function; ask a mechanism for its .curve(), "
            "a plan for its .guarantee()"
        )
    curve.require_numbers()
    if curve.mass_at_infinity.upper > 0:
        return math.inf
    powers = curve.factors if isinstance(curve, Tensor) else {curve: 1}
    return float(total(whole(n) * _of_factor(factor, order) for factor, n in powers.items()).upper)


def _of_factor(factor: TradeOff, order: float) -> float:
    if isinstance(factor, Gaussian):
        return float((Bounds.of(order) * factor.mu * factor.mu / 2).upper)
    law = _law(factor)
    return math.inf if law.q_plus > 0 else _of_law(law, order)


@lru_cache(maxsize=64)
def _law(factor: TradeOff) -> LossLaw:
    """Return the law of a factor, or of a curve below it, which some curves make anew at each asking."""
    return factor.laws()[0]


def _of_law(law: LossLaw, order: float) -> float:
    """Bound log E_Q e^(k L)/k, k = a - 1.

    Under Q, x = -L has E e^x = 1, so that E e^(-k x) - 1 = E[(e^(-k x) - 1 + k x) + k (e^x - 1 - x)]:
    positive terms, and a small divergence keeps its digits.
    """
    k = order - 1
    if k * law.support[1] > (_BOUNDED if law.range == law.support else _TAILED):
        return math.inf
    finite = FiniteLaw(Reversed(law), tilt=-k, size=_CELLS)
    finite.check()
    _, high = finite.expectation(
        lambda x: above_line(-k * x) + k * above_line(x),
        lambda x: k * (k * np.exp(-k * x) + np.abs(np.expm1(-k * x)) + 1),
        lambda x: k * (np.abs(np.expm1(-k * x)) + np.abs(np.expm1(np.minimum(x, 700.0)))),
    )
    # -x is L without its part from P-mass at -inf.
    return float((log1p(Bounds.of(high) + _BEYOND) / k + finite.shift).upper)
