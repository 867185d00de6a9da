"""How small prod |rho_i|^n_i stays beyond a frequency: a walk that ends where tails take over."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tradeoff.errors import SizeError
from tradeoff.intervals.rounding import Array
from tradeoff.loss.transform import Transform

_ROUNDS = 400
"""Steps of a walk; they double where they succeed, so that four hundred lead past any frequency that
matters."""

_CHEAP = 6
"""Steps before the best bound is asked beyond them: by then most walks have ended."""

_AHEAD = 8
"""Discs cleared at once: NumPy's overhead is that of so many."""

_FINEST = 1e-4
"""Steps, over the start, below which the walk has met a place where the product stands up again."""


def stays_below(
    transforms: Sequence[Transform],
    counts: Sequence[int],
    level: float,
    start: float,
    stop: float,
    max_terms: float,
) -> float:
    """Return the frequency up to which sum n_i log|rho_i(y)| < -level from ``start`` on; inf where for good.

    One evaluation at y bounds every |rho_i| on [y - s, y + s], and clears it where the bounds' sum n_i log is
    below -level. Any subset of the factors gives a bound, since no term is positive. Beyond ``stop`` nothing
    need be shown; after ``max_terms`` terms the walk gives up where it is.
    """
    try:
        return _walk(transforms, counts, level, start, stop, max_terms)
    except SizeError:  # a quadrature grew too large before the walk ended
        return start


def _walk(
    transforms: Sequence[Transform],
    counts: Sequence[int],
    level: float,
    start: float,
    stop: float,
    max_terms: float,
) -> float:
    chosen = _strongest(transforms, counts, start, 3 * level)
    few, powers = [transforms[i] for i in chosen], np.array([counts[i] for i in chosen], dtype=float)
    at, step, spent, failed = start, start / 16, 0.0, False
    for k in range(_ROUNDS):
        if at >= stop or far(few, powers, at, level, cheap=k < _CHEAP) < -level:
            return np.inf
        # Each point is the middle of an interval, which it clears to both sides.
        middle: Array = at + step * np.arange(1, 2 * _AHEAD, 2, dtype=float)
        cleared = powers @ np.array([t.around(middle, step * (1 + 1e-9)) for t in few]) < -level
        run = _AHEAD if cleared.all() else int(np.argmin(cleared))
        at += 2 * step * run
        grown, failed = run == _AHEAD and not failed, run <= _AHEAD // 2  # just halved, it would fail again
        step *= 2.0 if grown else 0.5 if failed else 1.0
        spent += _AHEAD * sum(t.cost(at) for t in few)
        if step < _FINEST * start or spent > max_terms:
            return at
    return at


def far(
    transforms: Sequence[Transform],
    powers: Iterable[float],
    y: float,
    enough: float = math.inf,
    *,
    cheap: bool = False,
) -> float:
    """Bound sum n_i log|rho_i| at y and beyond by as many factors as bring it below -enough."""
    left = 0.0
    for t, n in zip(transforms, powers, strict=True):
        left += float(n * (t.beyond(y) if cheap else t.far(y)))
        if left < -enough:
            break
    return left


def _strongest(transforms: Sequence[Transform], counts: Sequence[int], y: float, enough: float) -> list[int]:
    """Return the factors that do most at y, as many as are needed to do ``enough``."""
    at = np.array([y])
    strength = [-n * float(t.ratio(at).ceiling[0]) for t, n in zip(transforms, counts, strict=True)]
    order = np.argsort(strength)[::-1]
    reached = np.cumsum(np.array(strength)[order])
    return [int(i) for i in order[: int(np.searchsorted(reached, enough)) + 1]]
