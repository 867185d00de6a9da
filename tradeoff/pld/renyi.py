"""Renyi divergences of a law of L: sums of positive terms, so that tiny ones keep their digits."""

from __future__ import annotations

import math

import numpy as np

from tradeoff.errors import PrecisionError, SizeError
from tradeoff.intervals.bounds import Bounds, make_bounds
from tradeoff.intervals.functions import clip, log1p, meet, raised, summed, total
from tradeoff.intervals.rounding import around
from tradeoff.pld.components import MARGIN
from tradeoff.pld.law import PrivacyLossDistribution
from tradeoff.pld.moments import FiniteLaw
from tradeoff.pld.quadrature import of_atoms
from tradeoff.pld.transformed import ReversedPLD

_DIGITS = 100.0  # quadratures err by e^-100 of a moment, 1e-43: nothing to a divergence of 1e-30
_KNOWN = 16  # units to which a law knows its masses at infinity
_STEP = 2.0**-36  # distance of orders around 1 whose divergences enclose that of order 1: to 1e-11 of it
_COARSER, _MODEST = 8.0, 64.0  # divisor of an order whose quadrature is too large, and its largest result
_STEEPEST = (
    1e6  # slope of the loss from which no quadrature is tried: a normal law that far off has no privacy
)
_CELLS = 2**14  # cells of a law without densities: about 1e-5 of the divergence, in some 0.1 s

# Largest exponent taken, of laws with and without bounds, and a bound on the rest: mass outside a law's
# support weighs under e^-740 there and falls faster than the exponential rises.
_BOUNDED, _TAILED, _BEYOND = 690.0, 500.0, 1e-100

NOTHING_KNOWN = Bounds(0.0, math.inf)  # of a divergence


def divergence(law: PrivacyLossDistribution, order: float) -> Bounds:
    """Bound D_a(P || Q) = log E_P e^((1-a) L)/(a - 1), 0 < a < inf, in nats; D_1 is Kullback and Leibler's.

    With k = a - 1, A(x) = e^x - 1 - x >= 0 and the masses q at L = inf and p at -inf, E e^-kL - 1 over the
    finite losses is E[A(-k L) + k A(L)] + k q - a p, as E e^L = 1 - q and E 1 = 1 - p. For a < 1/2,
    D_a(P || Q) = a/(1 - a) D_{1-a}(Q || P) (van Erven, Harremoes 2014, Proposition 2). Divergences grow with
    the order (Theorem 3 there).
    """
    disjoint = not law.continuous and len(law.atoms.loss) == 0
    if disjoint or (order >= 1 and law.mass_at_minus_infinity > 0):
        return Bounds(math.inf, math.inf)
    if order < 0.5:
        return _mirrored(law, order)
    if order == 1:
        return Bounds(divergence(law, 1 - _STEP).lower, divergence(law, 1 + _STEP).upper)
    try:
        known = _by_cells(law, order) if law.components() is None else _by_points(law, order)
    except PrecisionError:
        known = NOTHING_KNOWN
    except SizeError:
        less = min(order / _COARSER, _MODEST)
        known = Bounds(divergence(law, less).lower if less > 1 else 0.0, math.inf)
    return clip(known, 0.0, math.inf)


def _mirrored(law: PrivacyLossDistribution, order: float) -> Bounds:
    """Do it for a < 1/2, in the other order; 1 - a lies between two floats."""
    rest, other = 1 - Bounds.of(order), ReversedPLD(law)
    result = Bounds(divergence(other, rest.lower).lower, divergence(other, rest.upper).upper)
    result = Bounds.of(order) / rest * result
    if order >= _STEP:
        return result
    # Where 1 - a is 1 to all digits the divergence of order 1 may be infinite.
    return Bounds(result.lower, min(result.upper, divergence(law, _STEP).upper))


@np.errstate(over="ignore")  # of error bounds that are not taken, and of moments too large for floats
def _by_points(law: PrivacyLossDistribution, order: float) -> Bounds:
    """Add over atoms and nodes of quadratures, x = -L under Q, which has mass e^x under P.

    Integrals of r^0, r^1 and r^a, r = e^x, each err by the quadrature relative to itself: nodes are laid out
    for exponents within 1/4 of c, and for 0; the error at an exponent between two of those is below the
    larger of both (Hoelder). Log-concave atoms may have been left out.
    """
    k, other = Bounds.of(order) - 1, ReversedPLD(law)
    c, smooth = max(order, 1 - MARGIN), other.components() or []
    if any(part.base.scale > _STEEPEST for part in smooth):
        raise SizeError("losses rise too steeply for a quadrature")
    each = [of_atoms(other.atoms, other.loss_error, z, cut=other.lost > 0) for z in (0.0, 1.0, order)]
    exact = each[0]._replace(quadrature=max(nodes.quadrature for nodes in each))
    points = [exact, *(part.base.nodes(part, c, 0.0, _DIGITS) for part in smooth)]
    sums, quadrature = [], 0.0
    for nodes in (each for each in points if len(each.loss)):
        x = nodes.loss + Bounds(-nodes.error, nodes.error)
        log_mass = x + nodes.log_p
        terms = raised(log_mass, k * x) + k * raised(log_mass, -x)
        sums.append(summed(terms * (1 + Bounds(-nodes.slack, nodes.slack))))
        quadrature = max(quadrature, nodes.quadrature)
    q, p = _mass(law.mass_at_plus_infinity), _mass(law.mass_at_minus_infinity)
    finite = total(sums)
    # Of M + a M^(1/a) + |k|, M = 1 + the sum: the error at r^1 is by Hoelder at most M^(1/a) of it.
    off = 2.02 * quadrature * (order + 1 + abs(finite.upper))
    excess = finite + Bounds(-off, off) + k * q - order * p
    result = log1p(excess) / k
    if excess.lower > -0.5 and excess.upper < 1:
        return result
    transform = other.transform(order, _DIGITS)
    if transform is None:
        return result
    moment = Bounds.of(transform.log_m) + Bounds(-transform.log_m_error, transform.log_m_error)
    return meet(result, moment / k)


def _mass(mass: float) -> Bounds:
    return clip(make_bounds(*around(mass, _KNOWN)), 0.0, 1.0) if mass else Bounds(0.0, 0.0)


def _by_cells(law: PrivacyLossDistribution, order: float) -> Bounds:
    """Do it by chords over cells, of the law given that L is finite and shifted so that E e^L = 1."""
    k = order - 1
    reach = max(-k * law.support[0], k * law.support[1])
    if reach > (_BOUNDED if law.range == law.support else _TAILED):
        raise SizeError(f"e^{reach:.3g} is larger than any float")
    finite = FiniteLaw(law, tilt=-k, size=_CELLS)
    finite.check()
    q, p, tail = _mass(law.mass_at_plus_infinity), _mass(law.mass_at_minus_infinity), Bounds(0.0, _BEYOND)
    excess = finite.remainder(-k) + tail + k * (finite.remainder(1.0) + tail)
    return (log1p(excess) + log1p(-p)) / k + log1p(-p) - log1p(-q)
