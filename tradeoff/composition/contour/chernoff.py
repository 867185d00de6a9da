"""Chernoff's bound at one real point: what aliases of a line add, and the last resort without a line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tradeoff.errors import SizeError
from tradeoff.intervals.rounding import TINY, UNIT
from tradeoff.loss.cumulant import Cumulant, epsilon_for_delta, tilt_for_epsilon
from tradeoff.loss.transform import Transformed

DIGITS = 42.0
"""Quadratures err by e^-DIGITS, over all rounds together."""


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


def at(laws: Sequence[Transformed], counts: Sequence[int], c: float) -> Chernoff:
    """Return K(c) from above; where the truth is K(0) or K(1), at most 0, use that."""
    if c in {0.0, 1.0}:
        return Chernoff(c, 0.0)
    each = [(n, law.transform(c, DIGITS + math.log(n))) for law, n in zip(laws, counts, strict=True)]
    terms = [n * (t.log_m + t.log_m_error) if t is not None else math.inf for n, t in each]
    # A count, a sum, a product and the sum of all: four roundings.
    return Chernoff(c, math.fsum(terms) + 4 * UNIT * math.fsum(map(abs, terms)))


def delta(laws: Sequence[Transformed], counts: Sequence[int], cumulant: Cumulant, x: float) -> float:
    """Bound psi(x) from above."""
    return near(laws, counts, cumulant, x).psi(x)


def near(laws: Sequence[Transformed], counts: Sequence[int], cumulant: Cumulant, x: float) -> Chernoff:
    """Return the point whose bound is least about x."""
    return _known(laws, counts, tilt_for_epsilon(cumulant, x))


def epsilon(laws: Sequence[Transformed], counts: Sequence[int], cumulant: Cumulant, psi: float) -> float:
    """Bound the loss x with psi(x) = ``psi`` from above."""
    point = _known(laws, counts, tilt_for_epsilon(cumulant, epsilon_for_delta(cumulant, psi)))
    return _rounded_up(point.log_m, point.log_kappa, -math.log(psi)) / (point.c - 1)


def _known(laws: Sequence[Transformed], counts: Sequence[int], c: float) -> Chernoff:
    try:
        return at(laws, counts, c)
    except SizeError:  # a quadrature too large
        return Chernoff(c, math.inf)


def _rounded_up(*terms: float) -> float:
    """Sum exponents, each known to 8 units of itself and 1, so that e^sum and a quotient stay above."""
    return math.fsum(terms) + 16 * UNIT * (1 + math.fsum(map(abs, terms)))
