"""Pairs of laws of SciPy, continuous or discrete; those whose densities are steps are exact."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError, SizeError
from tradeoff.families.densities import RealLinePair, ScipyLaw, check_breaks, describe_pieces, describe_totals
from tradeoff.families.from_masses import from_masses
from tradeoff.families.identity import Identity
from tradeoff.families.location_shift import KNOWN, LocationShift
from tradeoff.pld.real_line import find_pieces

_TAIL = 1e-300  # mass of the outcomes of a discrete law that are left out, and counted as infinite losses
_MAX_OUTCOMES = 100_000  # of a discrete law


def from_scipy(p: Any, q: Any, breaks: Sequence[float] | None = None) -> TradeOff:
    """Trade-off function T(P, Q) of two frozen distributions of ``scipy.stats``.

    Parameters
    ----------
    p, q
        Frozen distributions, both continuous or both discrete.
    breaks
        Points between which log(q/p) is monotone, for continuous laws; default: located by scanning.

    Returns
    -------
    TradeOff
        A closed form where the pair has one, and a curve in fractions of two laws whose densities are steps,
        ``uniform`` and ``rv_histogram``; else a curve with ``assumptions``: that SciPy's log-densities are
        right to 1e-12, and that log(q/p) has no turning points other than those found. Discrete laws on
        finitely many outcomes are curves in fractions, of SciPy's masses; of infinitely many, outcomes of
        mass 1e-300 are left out, and counted as infinite losses.

    Raises
    ------
    DomainError
        If p or q is not a frozen distribution, only one is discrete, or log(q/p) turns between given breaks.
    SizeError
        If discrete laws have more than 100 000 outcomes, or the bins of two histograms cut each other into
        fractions without a common denominator of reasonable length.

    Notes
    -----
    The optimal test rejects where log(q/p) is large (Neyman, Pearson 1933): a union of intervals.

    Examples
    --------
    >>> from scipy.stats import binom, norm
    >>> from_scipy(norm(0, 2), norm(1, 2))
    G_{0.5}
    >>> f = from_scipy(norm(), norm(scale=2))
    >>> f
    T(norm, norm(scale=2)) (one order) (assumes 3 things: see .assumptions)
    >>> round(from_scipy(binom(10, 0.5), binom(10, 0.6)).delta(0.5), 6)
    0.098907
    """
    discrete = [hasattr(law, "pmf") and hasattr(law, "dist") for law in (p, q)]
    if all(discrete):
        return _discrete(p, q)
    if any(discrete):
        raise DomainError(
            f"p and q must both be discrete or both continuous, got only {'pq'[discrete[1]]} with a pmf; "
            "one outcome tells such laws apart, and their curve is TotalVariation(1)"
        )
    first, second = ScipyLaw(p, "p"), ScipyLaw(q, "q")
    places = None if breaks is None else check_breaks(breaks)
    loc = 0.0
    if breaks is None:
        for exact in (_closed_form(first, second), _histogram_pair(first, second)):
            if exact is not None:
                return exact
        start, stop = first.values["loc"], second.values["loc"]
        if Fraction(stop - start) == Fraction(stop) - Fraction(start):  # floats are closest near 0
            loc, first, second = start, first.at(0.0), second.at(stop - start)
    laws = first.density, second.density
    result = find_pieces(*laws, places)
    assumptions = dict.fromkeys(
        (first.trust, second.trust, *describe_totals(laws), describe_pieces(result, breaks, loc))
    )
    key = first.key, second.key, tuple(places or ())
    return RealLinePair(result.law, f"T({ScipyLaw(p)}, {ScipyLaw(q)})", key, tuple(assumptions))


def _closed_form(p: ScipyLaw, q: ScipyLaw) -> TradeOff | None:
    """Return the curve of equal laws, or of a shift that is known to be monotone or in closed form."""
    if p.arguments == q.arguments and p.name == q.name and (p.origin is q.origin or p.name in KNOWN):
        return Identity()
    shift = q.values["loc"] - p.values["loc"]
    is_exact = Fraction(shift) == Fraction(q.values["loc"]) - Fraction(p.values["loc"])
    is_shift = (p.name, p.values) == (q.name, {**q.values, "loc": p.values["loc"]})
    return LocationShift(p.distribution, shift) if is_exact and is_shift and p.name in KNOWN else None


def _histogram_pair(p: ScipyLaw, q: ScipyLaw) -> PiecewiseLinear | None:
    """Return T(P, Q) in fractions if both densities are steps."""
    (edges, first), (others, second) = _bins(p), _bins(q)
    if not (first and second):
        return None
    cuts = sorted({*edges, *others})
    return from_masses(_split(edges, first, cuts), _split(others, second, cuts))


def _bins(law: ScipyLaw) -> tuple[list[Fraction], list[Fraction]]:
    """Return edges and the masses between them, which add to 1; empty lists unless the density is steps."""
    if law.name != "uniform" and law.bins is None:
        return [], []
    unit_edges, heights, is_density = law.bins or ([0.0, 1.0], [1.0], False)
    loc, scale = Fraction(law.values["loc"]), Fraction(law.values["scale"])
    edges = [loc + scale * Fraction(edge) for edge in unit_edges]
    widths = (high - low for low, high in pairwise(edges))
    masses = [Fraction(h) * (width if is_density else 1) for h, width in zip(heights, widths, strict=True)]
    total = sum(masses)
    return edges, [mass / total for mass in masses]


def _split(edges: list[Fraction], masses: list[Fraction], cuts: list[Fraction]) -> list[Fraction]:
    """Return the masses between consecutive cuts, the edges among them."""
    result = []
    for low, high in pairwise(cuts):
        k = bisect_right(edges, low) - 1
        inside = 0 <= k < len(masses)
        result.append(masses[k] * (high - low) / (edges[k + 1] - edges[k]) if inside else Fraction(0))
    return result


def _discrete(p: Any, q: Any) -> TradeOff:
    """Return the curve of two laws on the integers, of SciPy's masses."""
    with np.errstate(all="ignore"):
        spans = [_span(law) for law in (p, q)]
        low, high = min(low for low, _ in spans), max(high for _, high in spans)
        if not high - low < _MAX_OUTCOMES:
            raise SizeError(
                f"p and q must have at most {_MAX_OUTCOMES} outcomes, got those from {low} to {high}; "
                "merge those in the tails, and give masses to from_masses"
            )
        outcomes = np.arange(low, high + 1)
        first, second = (_masses(law, outcomes) for law in (p, q))
    return from_masses(first, second).assuming("SciPy's pmf, divided by its sum, is that of the laws.")


def _span(law: Any) -> tuple[int, int]:
    """Return integers outside which a law has at most ``_TAIL`` of mass, or more than can be listed."""
    median, (low, high) = law.median(), law.support()
    if np.ndim(median) or not np.isfinite(median):  # SciPy returns NaN for parameters out of range
        given = ", ".join([*map(repr, law.args), *(f"{name}={value!r}" for name, value in law.kwds.items())])
        raise DomainError(
            f"{law.dist.name}({given}) must be a law on the integers, got the median "
            f"{np.asarray(median).tolist()}; give one number in its range for each parameter"
        )
    middle, steps = int(median), [2**k for k in range(_MAX_OUTCOMES.bit_length())]

    def first(is_past: Callable[[int], bool]) -> int:
        return next((step for step in steps if is_past(step)), 2 * _MAX_OUTCOMES)

    last = first(lambda k: middle + k >= high or max(law.sf(middle + k), law.pmf(middle + k)) <= _TAIL)
    start = first(lambda k: middle - k <= low or max(law.cdf(middle - k), law.pmf(middle - k)) <= _TAIL)
    return int(max(middle - start, low)), int(min(middle + last, high))


def _masses(law: Any, outcomes: Any) -> dict[Any, float]:
    """Return the masses of the outcomes, and of all others as one outcome of this law alone."""
    masses = dict(zip(outcomes.tolist(), law.pmf(outcomes).tolist(), strict=True))
    return {**masses, ("outside", id(law)): float(law.cdf(outcomes[0] - 1) + law.sf(outcomes[-1]))}
