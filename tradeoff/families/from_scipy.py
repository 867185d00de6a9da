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
from tradeoff.errors import DomainError, SizeError, shown
from tradeoff.families.densities import RealLinePair, ScipyLaw, check_breaks, describe_pieces, describe_totals
from tradeoff.families.from_masses import from_masses
from tradeoff.families.identity import Identity
from tradeoff.families.location_shift import KNOWN, LocationShift
from tradeoff.pld.monotone_pieces import find_pieces

_TAIL = 1e-300  # mass of the outcomes of a discrete law that are left out, as if they gave the other law away
_MOST = 100_000  # outcomes of a discrete law that are listed


def from_scipy(p: Any, q: Any, breaks: Sequence[float] | None = None) -> TradeOff:
    """Trade-off function T(P, Q) of two frozen distributions of ``scipy.stats``.

    Parameters
    ----------
    p, q
        Frozen distributions, both continuous or both discrete.
    breaks
        Points between which log(q/p) is monotone, for continuous laws; default: found.

    Returns
    -------
    TradeOff
        A closed form where the pair is a known one, and a curve in fractions of two laws whose densities are
        steps, ``uniform`` and ``rv_histogram``; else a curve with ``assumptions``: that SciPy's log-densities
        are right to 1e-12, and that log(q/p) turns only where it was found to. Discrete laws on finitely many
        outcomes are curves in fractions, of SciPy's masses; of infinitely many, all but 1e-300 of each law is
        listed, and what is left out counts as telling the laws apart.

    Raises
    ------
    DomainError
        If p or q is no frozen distribution, they are not of one kind, or log(q/p) turns between given breaks.
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
    if any(discrete):
        if not all(discrete):
            raise DomainError(
                f"p = {shown(p)} and q = {shown(q)} are not both discrete: one outcome tells them apart, "
                "and their curve is TotalVariation(1)"
            )
        return _discrete(p, q)
    first, second = ScipyLaw(p, "p"), ScipyLaw(q, "q")
    places = None if breaks is None else check_breaks(breaks)
    loc = 0.0
    if breaks is None:
        for exact in (_known(first, second), _stepwise(first, second)):
            if exact is not None:
                return exact
        start, stop = first.values["loc"], second.values["loc"]
        if Fraction(stop - start) == Fraction(stop) - Fraction(start):  # near 0 floats are finest
            loc, first, second = start, first.at(0.0), second.at(stop - start)
    laws = first.density, second.density
    result = find_pieces(*laws, places)
    words = dict.fromkeys(
        (first.trust, second.trust, *describe_totals(laws), describe_pieces(result, breaks, loc))
    )
    key = first.key, second.key, tuple(places or ())
    return RealLinePair(result.law, f"T({ScipyLaw(p)}, {ScipyLaw(q)})", key, tuple(words))


def _known(p: ScipyLaw, q: ScipyLaw) -> TradeOff | None:
    """Return the curve of equal laws, or of a shift that is known in closed form or in analysis."""
    if p.arguments == q.arguments and p.name == q.name and (p.origin is q.origin or p.name in KNOWN):
        return Identity()
    shift = q.values["loc"] - p.values["loc"]
    exact = Fraction(shift) == Fraction(q.values["loc"]) - Fraction(p.values["loc"])
    if (
        (p.name, p.values) != (q.name, {**q.values, "loc": p.values["loc"]})
        or not exact
        or p.name not in KNOWN
    ):
        return None
    return LocationShift(p.distribution, shift)


def _stepwise(p: ScipyLaw, q: ScipyLaw) -> PiecewiseLinear | None:
    """Return T(P, Q) in fractions if both densities are steps."""
    (edges, first), (others, second) = _steps(p), _steps(q)
    if not (first and second):
        return None
    cuts = sorted({*edges, *others})
    return from_masses(_between(edges, first, cuts), _between(others, second, cuts))


def _steps(law: ScipyLaw) -> tuple[list[Fraction], list[Fraction]]:
    """Return edges and the masses between them, which add to 1; none of a law with another density."""
    if law.name != "uniform" and law.bins is None:
        return [], []
    plain, heights, spread = law.bins or ([0.0, 1.0], [1.0], False)
    loc, scale = Fraction(law.values["loc"]), Fraction(law.values["scale"])
    edges = [loc + scale * Fraction(edge) for edge in plain]
    widths = (high - low for low, high in pairwise(edges))
    masses = [Fraction(h) * (width if spread else 1) for h, width in zip(heights, widths, strict=True)]
    total = sum(masses)
    return edges, [mass / total for mass in masses]


def _between(
    edges: Sequence[Fraction], masses: Sequence[Fraction], cuts: Sequence[Fraction]
) -> list[Fraction]:
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
        if not high - low < _MOST:
            raise SizeError(
                f"p and q have outcomes from {low} to {high}, more than the {_MOST} that are listed; "
                "merge those in the tails, and give masses to from_masses"
            )
        outcomes = np.arange(low, high + 1)
        first, second = (_listed(law, outcomes) for law in (p, q))
    return from_masses(first, second).assuming("SciPy's pmf, divided by its sum, is that of the laws.")


def _span(law: Any) -> tuple[int, int]:
    """Return integers outside which a law has next to no mass, as far as they are looked for."""
    median, (low, high) = law.median(), law.support()
    if np.ndim(median) or not np.isfinite(median):  # SciPy refuses no parameter: its answers are NaN
        given = ", ".join([*map(repr, law.args), *(f"{name}={value!r}" for name, value in law.kwds.items())])
        raise DomainError(
            f"{law.dist.name}({given}) is no law on the integers: its median is "
            f"{np.asarray(median).tolist()}; give one number in its range for each parameter"
        )
    middle = int(median)
    last = _least(lambda k: middle + k >= high or max(law.sf(middle + k), law.pmf(middle + k)) <= _TAIL)
    first = _least(lambda k: middle - k <= low or max(law.cdf(middle - k), law.pmf(middle - k)) <= _TAIL)
    return int(max(middle - first, low)), int(min(middle + last, high))


def _least(holds: Callable[[int], bool]) -> int:
    """Return a power of two at which a statement holds, or one that is too large."""
    return next((2**k for k in range(_MOST.bit_length()) if holds(2**k)), 2 * _MOST)


def _listed(law: Any, outcomes: Any) -> dict[Any, float]:
    """Return the masses of the outcomes, and of what lies outside as an outcome of this law alone."""
    masses = dict(zip(outcomes.tolist(), law.pmf(outcomes).tolist(), strict=True))
    return {**masses, ("outside", id(law)): float(law.cdf(outcomes[0] - 1) + law.sf(outcomes[-1]))}
