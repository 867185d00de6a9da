"""Moments of one factor's loss: closed forms of the families, quadrature elsewhere."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import KindError, PrecisionError, shown
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip, exp, log, log1p, maximum
from tradeoff.intervals.rounding import around
from tradeoff.limits.closed_forms import CONSTANT, NOTHING, Moments, closed_form
from tradeoff.pld.law import PrivacyLossDistribution
from tradeoff.pld.moments import FiniteLaw, Function
from tradeoff.pld.transformed import ReversedPLD

KNOWN = 16  # units to which a law knows its masses at infinity: products and sums of a few parameters
_LEAST_VARIANCE, _MOST_VARIANCE = 1e-190, 1e190  # whose powers to 3/2 are floats with all their digits


def factors(curve: TradeOff) -> dict[TradeOff, int]:
    """Return the factors of a product with their powers, or the curve itself once."""
    if not isinstance(curve, TradeOff):
        remedy = "use the .guarantee() of a mechanism or a plan"
        raise KindError(f"{shown(curve)} is not a trade-off function; {remedy}")
    curve.require_numbers()
    return dict(curve.factors)


def measurable(variance: Bounds) -> Bounds:
    """Return the variance of a sum, unless its third moments are below, or above, what floats hold."""
    if variance.upper > 0 and variance.lower < _LEAST_VARIANCE:
        small = f"between {variance.lower:.3g} and {variance.upper:.3g}, too small for floats"
        raise PrecisionError(f"the losses have a variance {small}; ask the curve itself", np.inf)
    if not variance.upper <= _MOST_VARIANCE:
        large = f"of {variance.upper:.3g}, too large for floats to hold their moments"
        raise PrecisionError(f"the losses have a variance {large}; there is no privacy to speak of", np.inf)
    return variance


@lru_cache(maxsize=1024)
def moments(factor: TradeOff, *, reverse: bool = False) -> tuple[Moments, Moments]:
    """Return moments of a curve below and of one above ``factor``; the same twice where its law is exact."""
    # Where one alone rounds to 1, the finite losses tell the laws apart.
    if min(factor.mass_at_plus_infinity, factor.mass_at_minus_infinity) >= 1:
        return CONSTANT, CONSTANT
    known = closed_form(factor)
    if known is not None:
        return known, known
    low, high = factor.laws()
    if reverse and low is high and len({*map(id, factor.inverse().laws())}) == 1:
        return moments(factor.inverse())  # which the other order asks for, too
    below = of_law(ReversedPLD(low) if reverse else low)
    return below, below if high is low else of_law(ReversedPLD(high) if reverse else high)


def of_law(law: PrivacyLossDistribution) -> Moments:
    """Enclose the moments of a law by quadrature."""
    finite = FiniteLaw(law)
    # What conditioning adds to every loss: log((1 - mass_at_minus_infinity)/(1 - mass_at_plus_infinity)).
    shift = log1p(-known_mass(law.mass_at_minus_infinity)) - log1p(-known_mass(law.mass_at_plus_infinity))
    # A constant: no deviations, not the rounding of a logarithm.
    if not law.continuous and len(law.atoms.loss) == 1:
        return CONSTANT._replace(shift=shift, kappa3=maximum(shift, -shift) ** 3)
    finite.check()
    # As E e^L = 1, -E L = E[e^L - 1 - L]: positive terms, so that a small divergence keeps its digits.
    kl = finite.remainder(1.0)
    centre = -(kl.lower + kl.upper) / 2
    off = -kl - centre  # E L - c, where E (L - c)^r are measured
    doubt = max(off.upper, -off.lower)

    def expected(distance: Function, r: int) -> Bounds:
        return Bounds(*finite.expectation(*powered(distance, r)))

    square, cube = (expected(lambda x: np.abs(x - centre), r) for r in (2, 3))
    below = expected(lambda x: np.maximum(centre - x, 0.0), 3)
    variance = square - off**2
    return Moments(
        kl=kl,
        variance=Bounds(max(variance.lower, 0.0), variance.upper),
        # A centre off by d moves the cube root of E|L - c|^3 by at most d (Minkowski).
        third=maximum(exp(log(cube) / 3) + within(doubt), 0.0) ** 3,
        kappa3=expected(lambda x: np.abs(x - finite.shift), 3),
        shift=shift,
        # E(L - c)^3 = E|L - c|^3 - 2 E(c - L)_+^3; about c + d = E L it is less 3 d E(L - c)^2 - 2 d^3.
        cumulant3=cube - 2 * below - 3 * off * square + 2 * off**3,
        cumulant4=finite.estimate(lambda x: (x - centre) ** 4) - 3 * square.upper**2,
    )


def known_mass(mass: float) -> Bounds:
    """Bound the mass at infinity of a law."""
    return clip(Bounds(*around(mass, KNOWN)), 0.0, 1.0) if mass else NOTHING


def within(error: float) -> Bounds:
    """Bound what is at most so far from 0."""
    return Bounds(-error, error)


def powered(distance: Function, r: int) -> tuple[Function, Function, Function]:
    """Return |x - c|^r or (c - x)_+^r, r >= 2, with a bound on |phi'' - phi'| and with |phi'|."""
    return (
        lambda x: distance(x) ** r,
        lambda x: r * (r - 1) * distance(x) ** (r - 2) + r * distance(x) ** (r - 1),
        lambda x: r * distance(x) ** (r - 1),
    )
