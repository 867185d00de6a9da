"""Doubling: fresh Gaussian noise at every level, paying for all of them. The baseline of noise reduction."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.errors import DomainError
from tradeoff.families.gaussian import Gaussian
from tradeoff.filters.noise_reduction.base import (
    NOTHING,
    Charged,
    NoiseReduction,
    Noisy,
    Seed,
    gaussian,
    generator,
    query,
)
from tradeoff.filters.noise_reduction.boundaries import check_sensitivity, check_time
from tradeoff.intervals.rounding import Array


class Doubling(NoiseReduction):
    """Ask again with less, independent noise: n releases f(x) + N(0, t_i) cost mu^2 = sum of Delta^2/t_i.

    Parameters
    ----------
    value
        The true answer f(x), a number or an array; it is not handed out again.
    sensitivity
        l2-sensitivity Delta of the query, in (0, inf).
    filter
        What pays: a filter or a ledger with a ``spend``. Without one the session only keeps count.
    rng
        ``numpy.random.Generator`` or a seed.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    With levels ``geometric(start, factor)`` the sum is up to 1/(1 - 1/factor) times the last term, which is
    all that noise reduction pays: 3.41 for factor sqrt(2), 2 for 2, 1.33 for 4; but a larger factor
    overshoots the level that was needed. Noise is drawn in floating point: for research and simulation.

    Examples
    --------
    >>> session = Doubling(100.0, rng=1)
    >>> session.refine(4.0).spent, session.refine(1.0).spent
    (G_{0.5}, G_{1.11803})
    """

    __slots__ = ("_sensitivity",)

    def __init__(
        self,
        value: ArrayLike,
        sensitivity: float = 1.0,
        *,
        filter: Charged | None = None,  # noqa: A002 - the name of the thing
        rng: Seed = None,
    ) -> None:
        true = query(value)
        self._sensitivity = check_sensitivity(sensitivity)
        super().__init__(_afresh(true, generator(rng)), filter, scalar=true.ndim == 0)

    def _price(self, level: float) -> tuple[Gaussian, Gaussian]:
        time = check_time(level)
        if self.releases and time >= self.releases[-1].level:
            raise DomainError(
                f"time = {time!r} is not below the last time {self.releases[-1].level!r}: noise only falls"
            )
        weight = Fraction(self._sensitivity) ** 2 / Fraction(time)
        paid = Fraction(self.releases[-1].spent.mu) ** 2 if self.releases else Fraction(0)
        return gaussian(weight), gaussian(paid + weight)


def _afresh(true: Array, rng: np.random.Generator) -> Noisy:
    time = yield NOTHING
    while True:
        time = yield true + math.sqrt(time) * rng.standard_normal(true.shape)
