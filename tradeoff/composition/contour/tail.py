"""Bounds on what the nodes of a line leave out, and the last resort where there is no line.

Chernoff's bound at one real point bounds what aliases; beyond the last node a walk shows how small prod
|rho_i|^n_i stays, and ends where tails take over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tradeoff.errors import SizeError
from tradeoff.intervals.rounding import TINY, UNIT, Array
from tradeoff.loss.cumulant import Cumulant, epsilon_for_delta, tilt_for_epsilon
from tradeoff.loss.transform import Transform, Transformed

DIGITS = 42.0
"""Quadratures err by e^-DIGITS, over all rounds together."""

_ROUNDS = 400
"""Steps of a walk; they double where they succeed, so that four hundred lead past any frequency that
matters."""

_CHEAP = 6
"""Steps before the best bound is asked beyond them: by then most walks have ended."""

_AHEAD = 8
"""Discs cleared at once: NumPy's overhead is that of so many."""

_FINEST = 1e-4
"""Steps, over the start, below which the walk has met a place where the product stands up again."""


class Chernoff(NamedTuple):
    """A real point c of the strip: K(c) from above. It bounds psi(x) by e^(K(c) - (c - 1) x) kappa(c)."""

    c: float
    log_m: float

    @property
    def log_kappa(self) -> float:
        """Return log sup_L (1 - e^(x-L))_+ e^((1-c)(L-x)): 1 in the middle strip."""
        return (self.c - 1) * math.log1p(-1 / self.c) - math.log(self.c) if self.c > 1 else 0.0

    def psi(self, x: float) -> float:
        """Bound psi(x) = delta(x) - Q(L = inf) from above."""
        return math.exp(min(_rounded_up(self.log_m, self.log_kappa, -(self.c - 1) * x), 0.0)) + TINY

    def smoothed(self, tau: float) -> Chernoff:
        """Return the point of the product with a Gaussian of mu = tau added."""
        return self._replace(log_m=self.log_m + tau**2 * max(self.c**2 - self.c, 0.0) * (0.5 + 1e-9))


def chernoff(laws: Sequence[Transformed], counts: Sequence[int], c: float) -> Chernoff:
    """Return K(c) from above; where the truth is K(0) or K(1), at most 0, use that."""
    if c in {0.0, 1.0}:
        return Chernoff(c, 0.0)
    each = [(n, law.transform(c, DIGITS + math.log(n))) for law, n in zip(laws, counts, strict=True)]
    terms = [n * (t.log_m + t.log_m_error) if t is not None else math.inf for n, t in each]
    # A count, a sum, a product and the sum of all: four roundings.
    return Chernoff(c, math.fsum(terms) + 4 * UNIT * math.fsum(map(abs, terms)))


def chernoff_near(
    laws: Sequence[Transformed], counts: Sequence[int], cumulant: Cumulant, x: float
) -> Chernoff:
    """Return the point whose bound on psi is least about x."""
    return _known(laws, counts, tilt_for_epsilon(cumulant, x))


def chernoff_epsilon(
    laws: Sequence[Transformed], counts: Sequence[int], cumulant: Cumulant, psi: float
) -> float:
    """Bound the loss x with psi(x) = ``psi`` from above."""
    point = _known(laws, counts, tilt_for_epsilon(cumulant, epsilon_for_delta(cumulant, psi)))
    return _rounded_up(point.log_m, point.log_kappa, -math.log(psi)) / (point.c - 1)


def _known(laws: Sequence[Transformed], counts: Sequence[int], c: float) -> Chernoff:
    try:
        return chernoff(laws, counts, c)
    except SizeError:  # a quadrature too large
        return Chernoff(c, math.inf)


def _rounded_up(*terms: float) -> float:
    """Sum exponents, each known to 8 units of itself and 1, so that e^sum and a quotient stay above."""
    return math.fsum(terms) + 16 * UNIT * (1 + math.fsum(map(abs, terms)))


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
            grown, failed = (
                run == _AHEAD and not failed,
                run <= _AHEAD // 2,
            )  # just halved, it would fail again
            step *= 2.0 if grown else 0.5 if failed else 1.0
            spent += _AHEAD * sum(t.cost(at) for t in few)
            if step < _FINEST * start or spent > max_terms:
                break
    except SizeError:  # a quadrature grew too large before the walk ended
        return start
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
    if len(transforms) == 1:
        return [0]
    at = np.array([y])
    strength = [-n * float(t.ratio(at).ceiling[0]) for t, n in zip(transforms, counts, strict=True)]
    order = np.argsort(strength)[::-1]
    reached = np.cumsum(np.array(strength)[order])
    return [int(i) for i in order[: int(np.searchsorted(reached, enough)) + 1]]
