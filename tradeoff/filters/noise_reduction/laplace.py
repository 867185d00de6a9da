"""Laplace noise reduction: a chain of values, each refining the one before, worth the last epsilon."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.parameters import number
from tradeoff.errors import DomainError, domain, shown
from tradeoff.filters.expost import ExPost
from tradeoff.filters.noise_reduction.base import (
    NOTHING,
    Charged,
    NoiseReduction,
    Noisy,
    Seed,
    generator,
    no_less,
    query,
)
from tradeoff.filters.noise_reduction.boundaries import check_sensitivity
from tradeoff.intervals.rounding import Array
from tradeoff.mechanisms.base import ratio


class LaplaceNoiseReduction(NoiseReduction):
    """Release f(x) + Z_j with Z_j ~ Lap(Delta/epsilon_j) at growing epsilon_j.

    All of them together are worth the last.

    Parameters
    ----------
    value
        The true answer f(x), a number or an array; it is not handed out again.
    epsilons
        Levels epsilon_1 < ... < epsilon_k in (0, inf), fixed before the first release. Some may be skipped
        later.
    sensitivity
        l1-sensitivity Delta of the query, in (0, inf).
    filter
        What pays: an ``ExPostFilter`` or a ledger of one. Without it the session only keeps count.
    rng
        ``numpy.random.Generator`` or a seed.

    Raises
    ------
    DomainError
        If a parameter is out of range or the levels do not rise.

    Notes
    -----
    Each noisier value is made from the finer one alone: it repeats it with probability
    (epsilon_j/epsilon_{j+1})^2, else it adds fresh Lap(Delta/epsilon_j). So the finest release determines the
    loss, at most epsilon in every case: pure ex-post privacy (Koufogiannis, Han, Pappas 2017; Ligett, Neel,
    Roth, Waggoner, Wu 2017). Noise is drawn in floating point: for research and simulation.

    Examples
    --------
    >>> session = LaplaceNoiseReduction(100.0, [0.1, 0.2, 0.4], rng=1)
    >>> session.refine(0.1).spent, session.refine(0.4).spent
    (ExPost(epsilon=0.1, delta=0.0), ExPost(epsilon=0.4, delta=0.0))
    """

    __slots__ = ("_epsilons",)

    def __init__(
        self,
        value: ArrayLike,
        epsilons: Iterable[float],
        sensitivity: float = 1.0,
        *,
        filter: Charged | None = None,  # noqa: A002 - the name of the thing
        rng: Seed = None,
    ) -> None:
        true, distance = query(value), check_sensitivity(sensitivity)
        self._epsilons = _rising(epsilons)
        scales = [
            number("sensitivity/epsilon", ratio(distance, epsilon), 1e-300, 1e300)
            for epsilon in self._epsilons
        ]
        chain = dict(zip(self._epsilons, _chain(scales, true.shape, generator(rng)), strict=True))
        super().__init__(_refined(true, chain), filter, scalar=true.ndim == 0)

    def _price(self, level: float) -> tuple[ExPost, ExPost]:
        epsilon = number("epsilon", level, 0.0, open_low=True, open_high=True)
        last = self.releases[-1].level if self.releases else 0.0
        if epsilon not in self._epsilons or epsilon <= last:
            allowed = [each for each in self._epsilons if each > last]
            raise DomainError(f"epsilon = {epsilon!r} is none of the levels still to come, {allowed}")
        return ExPost(no_less(Fraction(epsilon) - Fraction(last)), 0.0), ExPost(epsilon, 0.0)


def _rising(epsilons: Iterable[float]) -> tuple[float, ...]:
    try:
        levels = list(epsilons)
    except TypeError as error:
        remedy = f"give a list of them, such as [{shown(epsilons)}]"
        raise domain("epsilons", epsilons, "the rising levels in (0, inf)", remedy) from error
    found = tuple(
        number(f"epsilons[{i}]", each, 0.0, open_low=True, open_high=True) for i, each in enumerate(levels)
    )
    if not found or any(a >= b for a, b in pairwise(found)):
        raise DomainError(
            f"epsilons = {found} do not rise; give at least one level, each above the one before"
        )
    return found


def _chain(scales: list[float], shape: tuple[int, ...], rng: np.random.Generator) -> list[Array]:
    """Draw the finest noise, then each noisier one from it."""
    noise = [rng.laplace(scale=scales[-1], size=shape)]
    for coarse, fine in zip(scales[-2::-1], scales[:0:-1], strict=True):
        kept = rng.random(shape) < (fine / coarse) ** 2
        noise.append(noise[-1] + np.where(kept, 0.0, rng.laplace(scale=coarse, size=shape)))
    return noise[::-1]


def _refined(true: Array, chain: dict[float, Array]) -> Noisy:
    epsilon = yield NOTHING
    while True:
        epsilon = yield true + chain[epsilon]
