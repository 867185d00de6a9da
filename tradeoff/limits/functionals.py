"""The four functionals of the central limit theorem for trade-off functions."""

from __future__ import annotations

import math
from collections.abc import Callable

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import NoClosedForm, shown
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import total, whole
from tradeoff.limits.moments import Moments, factors, moments


def kl(curve: TradeOff) -> Bounds:
    """Bound kl(f) = -int log|f'| = KL(P || Q), in nats; of a product, the sum over its factors.

    Parameters
    ----------
    curve
        A curve, or a product.

    Returns
    -------
    Bounds
        Both sides, equal up to rounding in closed form; +inf where f' = 0 on an interval. Of a curve without
        an exact law, such as a maximum, the Renyi divergence of order 1.

    Notes
    -----
    Dong, Roth, Su 2022, Section 3.2.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kl(to.Gaussian(1) @ to.PureDP(1)).upper, 6)
    0.962117
    """
    return _summed(curve, "kl", lambda m: m.kl + m.shift)


def kappa2(curve: TradeOff) -> Bounds:
    """Bound kappa_2(f) = int log^2|f'| = E_P L^2; of a product, the sum over its factors.

    Limit theorems need the sum: of the product's own curve only kl is one. ``NoClosedForm`` if a factor has
    no exact law.

    Parameters
    ----------
    curve
        A curve, or a product.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kappa2(to.PureDP(0.5) ** 8).upper, 12)
    2.0
    """
    return _summed(curve, "kappa2", lambda m: m.variance + (m.kl + m.shift) ** 2)


def kappa3(curve: TradeOff) -> Bounds:
    """Bound kappa_3(f) = int |log|f'||^3 = E_P|L|^3; of a product, the sum, as ``kappa2``.

    Parameters
    ----------
    curve
        A curve, or a product.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kappa3(to.PureDP(0.5) ** 8).upper, 12)
    1.0
    """
    return _summed(curve, "kappa3", lambda m: m.kappa3)


def kappa3bar(curve: TradeOff) -> Bounds:
    """Bound kappa-bar_3(f) = int |log|f'| + kl(f)|^3 = E_P|L - E_P L|^3; of a product, as ``kappa2``.

    Parameters
    ----------
    curve
        A curve, or a product.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kappa3bar(to.Gaussian(1.0)).upper, 6)
    1.595769
    """
    return _summed(curve, "kappa3bar", lambda m: m.third)


def _summed(curve: TradeOff, field: str, exact: Callable[[Moments], Bounds]) -> Bounds:
    if isinstance(curve, TradeOff) and curve.free_symbols:
        from tradeoff.symbolic.forms import summed

        formula = summed(curve, field)
        return Bounds(formula, formula)

    def of_one(factor: TradeOff) -> Bounds:
        apart = factor.inverse().mass_at_infinity
        if apart.lower > 0:  # P has mass at L = -inf, however little: f' = 0 on an interval
            return Bounds(math.inf, math.inf)
        below, above = moments(factor)
        if below is above:
            result = exact(below)
        elif field == "kl":
            result = factor.bounds.renyi(1.0)
        else:
            raise NoClosedForm(f"{field} needs the exact law of {shown(factor)}; take kl, or its operands")
        return Bounds(result.lower, math.inf) if apart.upper > 0 else result

    return total(whole(n) * of_one(factor) for factor, n in factors(curve).items())
