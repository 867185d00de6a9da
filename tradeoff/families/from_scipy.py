"""Pairs of laws of SciPy, continuous or discrete; those whose densities are steps are exact."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import DomainError, SizeError
from tradeoff.families.densities import (
    NewScipyLaw,
    RealLinePair,
    ScipyLaw,
    check_breaks,
    describe_pieces,
    describe_totals,
)
from tradeoff.families.from_masses import from_masses
from tradeoff.families.identity import Identity
from tradeoff.families.location_shift import KNOWN, LocationShift
from tradeoff.pld.real_line import find_pieces

_TAIL = 1e-300  # mass of the outcomes of a discrete law that are left out, and counted as infinite losses
_MAX_OUTCOMES = 100_000  # of a discrete law


def from_scipy(p: Any, q: Any, breaks: Sequence[float] | None = None) -> TradeOff:
    r"""Trade-off function T(P, Q) of two distributions of ``scipy.stats``.

    Parameters
    ----------
    p, q
        Frozen distributions such as ``norm(1, 2)``, or distributions of SciPy's second kind: ``Normal``,
        ``Mixture``, ``truncate(X, a, b)`` and others. Both are continuous or both discrete.
    breaks
        Points between which :math:`\log(q/p)` is monotone, for continuous laws; default: located by scanning.

    Returns
    -------
    TradeOff
        A closed form where the pair has one, and a curve in fractions of two laws whose densities are steps,
        ``uniform`` and ``rv_histogram``; else a curve with ``assumptions``: that SciPy's log-densities are
        right to 1e-12, and that :math:`\log(q/p)` has no other extrema than those located. Discrete laws on
        finitely many outcomes are curves in fractions, of SciPy's masses; of infinitely many, outcomes of
        mass 1e-300 are left out, and counted as infinite losses.

    Raises
    ------
    DomainError
        If p or q is not such a distribution, only one is discrete, or :math:`\log(q/p)` has other extrema
        than breaks.
    SizeError
        If discrete laws have more than 100 000 outcomes, or the bins of two histograms cut each other into
        fractions without a common denominator of reasonable length.

    Notes
    -----
    The optimal test rejects where :math:`\log(q/p)` is large (Neyman, Pearson 1933): a union of intervals.

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
    p, q = _plain(p), _plain(q)
    discrete = [hasattr(law, "pmf") and hasattr(law, "dist") for law in (p, q)]
    if all(discrete):
        return _discrete(p, q)
    if any(discrete):
        raise DomainError(
            f"p and q must both be discrete or both continuous, got only {'pq'[discrete[1]]} with a pmf; "
            "one outcome distinguishes such laws, and their curve is TotalVariation(1)"
        )
    first, second = (
        (NewScipyLaw if hasattr(law, "iccdf") else ScipyLaw)(law, role) for law, role in ((p, "p"), (q, "q"))
    )
    places = None if breaks is None else check_breaks(breaks)
    names, loc = f"T({first}, {second})", 0.0
    if breaks is None and first.values and second.values:
        if first.key == second.key:
            return Identity()
        start, stop = first.values["loc"], second.values["loc"]
        is_exact = Fraction(stop - start) == Fraction(stop) - Fraction(start)
        is_shift = (first.name, first.values) == (second.name, {**second.values, "loc": start})
        if is_exact and is_shift and first.name in KNOWN:
            return LocationShift(first.distribution, stop - start)
        (edges, inner), (others, outer) = _bins(first), _bins(second)
        if inner and outer:  # both densities are steps
            cuts = sorted({*edges, *others})
            return from_masses(_split(edges, inner, cuts), _split(others, outer, cuts))
        if is_exact:  # floats are closest near 0
            loc, first, second = start, first.at(0.0), second.at(stop - start)
    laws = first.density, second.density
    law = find_pieces(*laws, places)
    assumptions = dict.fromkeys(
        (first.trust, second.trust, *describe_totals(laws), describe_pieces(law, breaks, loc))
    )
    key = first.key, second.key, tuple(places or ())
    return RealLinePair(law, names, key, tuple(assumptions))


def _plain(law: Any) -> Any:
    """Return a distribution of SciPy's second kind as a frozen one, where it is normal or discrete."""
    import scipy.stats

    if not hasattr(law, "iccdf"):
        return law
    if isinstance(law, scipy.stats.Normal) and not np.ndim(law.support()[0]):
        return scipy.stats.norm(float(law.mu), float(law.sigma))
    if all(each.__name__ != "DiscreteDistribution" for each in type(law).__mro__):
        return law
    methods = {name: getattr(law, name) for name in ("median", "support", "pmf", "cdf")}
    dist = SimpleNamespace(name=type(law).__name__)
    return SimpleNamespace(**methods, sf=law.ccdf, dist=dist, args=(law,), kwds={})


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
        masses = []
        for law in (p, q):  # all others are one outcome of this law alone
            listed: dict[Any, float] = dict(zip(outcomes.tolist(), law.pmf(outcomes).tolist(), strict=True))
            rest = float(law.cdf(outcomes[0] - 1) + law.sf(outcomes[-1]))
            masses.append({**listed, ("outside", id(law)): rest})
    return from_masses(*masses).assuming("SciPy's pmf, divided by its sum, is that of the laws.")


def _span(law: Any) -> tuple[int, int]:
    """Return integers outside which a law has at most ``_TAIL`` of mass, or more than can be listed."""
    median, (low, high) = law.median(), law.support()
    if np.ndim(median) or not np.isfinite(median):  # SciPy returns NaN for parameters out of range
        given = ", ".join([*map(repr, law.args), *(f"{name}={value!r}" for name, value in law.kwds.items())])
        raise DomainError(
            f"{law.dist.name}({given}) must be a law on the integers, got the median "
            f"{np.asarray(median).tolist()}; give one number in its range for each parameter"
        )
    ends = []
    for sign, end, tail in ((-1, low, law.cdf), (1, high, law.sf)):
        place = int(median)
        for k in range(_MAX_OUTCOMES.bit_length() + 1):
            place = int(median) + sign * 2**k
            if sign * (place - end) >= 0 or max(tail(place), law.pmf(place)) <= _TAIL:
                break
        ends.append(sign * min(sign * place, sign * end))
    return int(ends[0]), int(ends[1])
