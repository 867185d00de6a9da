"""The four functionals of the central limit theorem for trade-off functions."""

from __future__ import annotations

import math
from collections.abc import Callable

from tradeoff.core.bounds import Bounds
from tradeoff.core.curve import TradeOff
from tradeoff.errors import NoClosedForm
from tradeoff.limits.moments import Moments, factors, moments
from tradeoff.numerics.rounding import UNIT

_INFINITE = Bounds(math.inf, math.inf)


def kl(curve: TradeOff) -> Bounds:
    """Functional kl(f) = -int log|f'| = KL(P || Q), in nats; of a product, the sum over its factors.

    Parameters
    ----------
    curve
        A curve, or a product.

    Returns
    -------
    Bounds
        The truth lies between; equal floats up to rounding for families with a closed form. +inf where f' = 0 on an interval.

    Notes
    -----
    Dong, Roth, Su 2022, Section 3.2. Curves known only between two others are answered too: kl decreases in f.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kl(to.Gaussian(1) @ to.PureDP(1)).upper, 6)
    0.962117
    """
    terms = []
    for factor, n in factors(curve).items():
        below, above = moments(factor)
        terms.append((n, _INFINITE if factor.p_minus > 0 else Bounds(above.kl.lower + above.shift, below.kl.upper + below.shift)))
    return _total(terms)


def kappa2(curve: TradeOff) -> Bounds:
    """Functional kappa_2(f) = int log^2|f'| = E_P L^2; of a product, the sum over its factors.

    Parameters
    ----------
    curve
        A curve with an exact law of its loss, or a product of such.

    Returns
    -------
    Bounds
        The truth lies between; +inf where f' = 0 on an interval.

    Raises
    ------
    NoClosedForm
        If a factor is known only between two other curves: unlike kl this functional does not follow their order.

    Notes
    -----
    Dong, Roth, Su 2022, Section 3.2. The sum is what limit theorems ask for: of the product's own curve only kl is the sum
    of its factors'.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kappa2(to.PureDP(0.5) ** 8).upper, 12)
    2.0
    """
    return _summed(curve, _second)


def kappa3(curve: TradeOff) -> Bounds:
    """Functional kappa_3(f) = int |log|f'||^3 = E_P|L|^3; of a product, the sum over its factors.

    Parameters
    ----------
    curve
        A curve with an exact law of its loss, or a product of such.

    Returns
    -------
    Bounds
        The truth lies between; +inf where f' = 0 on an interval.

    Raises
    ------
    NoClosedForm
        If a factor is known only between two other curves: unlike kl this functional does not follow their order.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kappa3(to.PureDP(0.5) ** 8).upper, 12)
    1.0
    """
    return _summed(curve, lambda m: m.kappa3)


def kappa3bar(curve: TradeOff) -> Bounds:
    """Functional kappa-bar_3(f) = int |log|f'| + kl(f)|^3 = E_P|L - E_P L|^3; of a product, the sum over its factors.

    Parameters
    ----------
    curve
        A curve with an exact law of its loss, or a product of such.

    Returns
    -------
    Bounds
        The truth lies between; +inf where f' = 0 on an interval.

    Raises
    ------
    NoClosedForm
        If a factor is known only between two other curves: unlike kl this functional does not follow their order.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kappa3bar(to.Gaussian(1.0)).upper, 6)
    1.595769
    """
    return _summed(curve, lambda m: m.third)


def _second(m: Moments) -> Bounds:
    low, high = m.kl.lower + m.shift, m.kl.upper + m.shift
    square = max(low, -high, 0.0) ** 2, max(-low, high) ** 2
    return Bounds((m.variance.lower + square[0]) * (1 - 8 * UNIT), (m.variance.upper + square[1]) * (1 + 8 * UNIT))


def _summed(curve: TradeOff, functional: Callable[[Moments], Bounds]) -> Bounds:
    terms = []
    for factor, n in factors(curve).items():
        below, above = moments(factor)
        if below is not above and factor.p_minus == 0:
            raise NoClosedForm(f"{factor!r} is known between two curves, and this functional does not follow their order; kl does")
        terms.append((n, _INFINITE if factor.p_minus > 0 else functional(below)))
    return _total(terms)


def _total(terms: list[tuple[int, Bounds]]) -> Bounds:
    low, high = (math.fsum(n * getattr(term, side) for n, term in terms) for side in ("lower", "upper"))
    return Bounds(low * (1 - 8 * UNIT), high * (1 + 8 * UNIT))
