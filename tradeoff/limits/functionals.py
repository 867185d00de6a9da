"""The four functionals of the central limit theorem for trade-off functions."""

from __future__ import annotations

import math
from collections.abc import Callable

from tradeoff.curves.contract import TradeOff
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import total, whole
from tradeoff.limits.between import Between, Power
from tradeoff.limits.closed_forms import Moments
from tradeoff.limits.moments import factors, moments, recentred

_INFINITE = Bounds(math.inf, math.inf)
"""Where f' = 0 on an interval."""


def kl(curve: TradeOff) -> Bounds:
    """Functional kl(f) = -int log|f'| = KL(P || Q), in nats; of a product, the sum over its factors.

    Parameters
    ----------
    curve
        A curve, or a product.

    Returns
    -------
    Bounds
        The truth lies between; equal floats up to rounding for families with a closed form. +inf where f' = 0
        on an interval.

    Notes
    -----
    Dong, Roth, Su 2022, Section 3.2. Of curves known only between two others the bounds are about 1e-3 apart.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kl(to.Gaussian(1) @ to.PureDP(1)).upper, 6)
    0.962117
    """
    return _summed(curve, "kl", lambda m: m.kl + m.shift, lambda f: f.moment(Power(1)))


def kappa2(curve: TradeOff) -> Bounds:
    """Functional kappa_2(f) = int log^2|f'| = E_P L^2; of a product, the sum over its factors.

    Parameters
    ----------
    curve
        A curve, or a product.

    Returns
    -------
    Bounds
        The truth lies between, for curves known only between two others about 1e-3 wide; +inf where f' = 0 on
        an interval.

    Notes
    -----
    Dong, Roth, Su 2022, Section 3.2. The sum is what limit theorems ask for: of the product's own curve only
    kl is the sum of its factors'.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kappa2(to.PureDP(0.5) ** 8).upper, 12)
    2.0
    """
    return _summed(
        curve, "kappa2", lambda m: m.variance + (m.kl + m.shift) ** 2, lambda f: f.moment(Power(2))
    )


def kappa3(curve: TradeOff) -> Bounds:
    """Functional kappa_3(f) = int |log|f'||^3 = E_P|L|^3; of a product, the sum over its factors.

    Dong, Roth, Su 2022, section 3.

    Parameters
    ----------
    curve
        A curve, or a product.

    Returns
    -------
    Bounds
        The truth lies between, for curves known only between two others about 1e-3 wide; +inf where f' = 0 on
        an interval.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kappa3(to.PureDP(0.5) ** 8).upper, 12)
    1.0
    """
    return _summed(curve, "kappa3", lambda m: m.kappa3, lambda f: f.moment(Power(3)))


def kappa3bar(curve: TradeOff) -> Bounds:
    """Functional kappa-bar_3(f) = int |log|f'| + kl(f)|^3 = E_P|L - E_P L|^3; of a product, the sum.

    Dong, Roth, Su 2022, section 3.

    Parameters
    ----------
    curve
        A curve, or a product.

    Returns
    -------
    Bounds
        The truth lies between, for curves known only between two others about 1e-3 wide; +inf where f' = 0 on
        an interval.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kappa3bar(to.Gaussian(1.0)).upper, 6)
    1.595769
    """
    return _summed(curve, "kappa3bar", lambda m: m.third, _central)


def _central(f: Between) -> Bounds:
    mean = f.moment(Power(1))
    if math.isinf(mean.upper):
        return Bounds(0.0, math.inf)
    centre = (mean.lower + mean.upper) / 2
    doubt = mean - centre
    return recentred(f.moment(Power(3, centre)), max(-doubt.lower, doubt.upper), 3)


def _summed(
    curve: TradeOff, field: str, exact: Callable[[Moments], Bounds], between: Callable[[Between], Bounds]
) -> Bounds:
    """Add a functional over the factors: of the exact law of each, or of what is known between two."""
    if isinstance(curve, TradeOff) and curve.free_symbols:
        from tradeoff.families.symbolic_answers import summed

        formula = summed(curve, field)
        return Bounds(formula, formula)
    return total(whole(n) * _of_factor(factor, exact, between) for factor, n in factors(curve).items())


def _of_factor(
    factor: TradeOff, exact: Callable[[Moments], Bounds], between: Callable[[Between], Bounds]
) -> Bounds:
    """Bound a functional of one factor: infinite where P has mass at L = -inf, however little that is."""
    apart = factor.inverse().mass_at_infinity
    if apart.lower > 0:
        return _INFINITE
    below, above = moments(factor)
    found = exact(below) if below is above else between(Between(factor))
    return Bounds(found.lower, math.inf) if apart.upper > 0 else found
