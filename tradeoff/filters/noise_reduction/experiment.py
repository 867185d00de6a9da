"""The experiment: how many counts can be released within a relative error under one budget, and by which mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import t as student

from tradeoff.curves.parameters import count, real
from tradeoff.errors import BudgetExceeded, DomainError
from tradeoff.families.gaussian import Gaussian
from tradeoff.filters.base import Filter
from tradeoff.filters.expost import ExPostFilter
from tradeoff.filters.noise_reduction.base import NoiseReduction, Release, geometric
from tradeoff.filters.noise_reduction.brownian import BrownianMechanism
from tradeoff.filters.noise_reduction.doubling import Doubling
from tradeoff.filters.noise_reduction.laplace import LaplaceNoiseReduction
from tradeoff.filters.unified import UnifiedFilter, UnifiedZCDPFilter
from tradeoff.filters.zcdp import rho_within

CONFIDENCE = 0.95
"""Of the interval over runs, and of the half-width a rule takes for the noise."""

_COARSEST = 1e10  # variance at which the first count starts
_HEAD_START = 16.0  # each next count starts this many times noisier, in variance, than the last one stopped
_FINE = 2**0.25  # ratio of neighbouring variances where refining is free
_MOST_LEVELS = 120


@dataclass(frozen=True)
class Method:
    """A way to answer: the filter it spends from, its sessions, and their levels from a variance down.

    Parameters
    ----------
    filter
        From (epsilon, delta) to the filter that guarantees them.
    session
        From (count, levels, filter, generator) to a session.
    levels
        From a variance to the levels that start there.
    half_width
        From a level to the half-width that holds the noise with probability 0.95.
    variance
        From a level to the variance on the scale of ``levels``.
    """

    filter: Callable[[float, float], Filter]
    session: Callable[[float, Iterable[float], Filter, np.random.Generator], NoiseReduction]
    levels: Callable[[float], Iterable[float]]
    half_width: Callable[[float], float]
    variance: Callable[[float], float]


@dataclass(frozen=True)
class Outcome:
    """What one method did, run by run.

    Parameters
    ----------
    released
        How many counts each run released.
    accurate
        How many of them were within the relative error in truth.
    """

    released: tuple[int, ...]
    accurate: tuple[int, ...]

    def interval(self, name: str = "released") -> tuple[float, float]:
        """Return mean and half-width of the 95% Student interval over the runs, of ``released`` or ``accurate``."""
        found = np.asarray(getattr(self, name), dtype=float)
        if found.size < 2:
            return float(found.mean()), math.inf
        return float(found.mean()), float(
            student.ppf((1 + CONFIDENCE) / 2, found.size - 1) * found.std(ddof=1) / math.sqrt(found.size)
        )


def relative_error(
    counts: ArrayLike,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    error: float = 0.1,
    runs: int = 20,
    seed: int = 0,
    methods: Mapping[str, Method] | None = None,
    step: Callable[[str], Any] = lambda _: None,
) -> dict[str, Outcome]:
    """Release counts from the first on, each refined until it looks accurate, until the budget refuses; for every method.

    Parameters
    ----------
    counts
        Positive counts of sensitivity 1, in a public order.
    epsilon, delta
        Budget of one run: epsilon in (0, inf) in nats, delta in (0, 1).
    error
        Relative error aimed at, in (0, 1).
    runs
        How often to repeat, from 1.
    seed
        Whole number from 0; the same seed gives the same outcome.
    methods
        Default: ``METHODS``.
    step
        Called with the name of each method before it runs.

    Returns
    -------
    dict
        An ``Outcome`` for each method.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    The rule sees released values only: stop at the value z with noise half-width w once w <= error (z - w). Where the noise is
    within w, as it is in 95% of draws, the true count is at least z - w and the relative error at most ``error``. A run ends at
    the first refusal; the count it happened at is not released. Every next count starts at 16 times the variance at which
    the last one stopped: a choice made in view of released values, which all of the filters allow.

    Examples
    --------
    >>> found = relative_error([4000, 2000, 1000], runs=2, methods={"Laplace": METHODS["Laplace"]})
    >>> len(found["Laplace"].released)
    2
    """
    table = _counts(counts)
    budget = (
        real("epsilon", epsilon, 0, open_low=True, open_high=True),
        real("delta", delta, 0, 1, open_low=True, open_high=True),
    )
    aim, repeats, origin = (
        real("error", error, 0, 1, open_low=True, open_high=True),
        count("runs", runs, 1),
        count("seed", seed),
    )
    found = {}
    for number, (name, method) in enumerate((METHODS if methods is None else methods).items()):
        step(name)
        each = [
            _run(table, method, budget, aim, np.random.default_rng([origin, run, number]))
            for run in range(repeats)
        ]
        found[name] = Outcome(*zip(*each, strict=True))
    return found


def _counts(counts: ArrayLike) -> list[float]:
    found = np.asarray(counts, dtype=float)
    if found.ndim != 1 or not found.size or not np.all((found > 0) & (found < 1e15)):
        raise DomainError("counts are a list of positive numbers below 1e15, and these are not")
    return [float(each) for each in found]


def _run(
    table: list[float], method: Method, budget: tuple[float, float], error: float, rng: np.random.Generator
) -> tuple[int, int]:
    """Return how many counts were released under one budget, and how many of them are accurate in truth."""
    filter_, start, released, accurate = method.filter(*budget), _COARSEST, 0, 0
    for true in table:
        levels = list(islice(method.levels(start), _MOST_LEVELS))
        session = method.session(true, levels, filter_, rng)
        try:
            release = session.run(lambda seen: _looks_accurate(seen[-1], method, error), levels)
        except BudgetExceeded:
            break
        if release is None:
            break
        released, accurate = released + 1, accurate + (abs(release.value - true) <= error * true)
        start = _HEAD_START * method.variance(release.level)
    return released, accurate


def _looks_accurate(release: Release, method: Method, error: float) -> bool:
    width = method.half_width(release.level)
    return bool(width <= error * (release.value - width))


def _mu_within(epsilon: float, delta: float) -> float:
    """Return a mu, close to the largest, for which G_mu is (epsilon, delta)-DP with room for the slack of the filter."""
    gap = lambda log_mu: math.log(max(Gaussian(math.exp(log_mu)).delta(epsilon), 1e-300)) - math.log(delta)  # noqa: E731 - a formula
    low, high = math.log(rho_within(epsilon, delta)) / 2, math.log(epsilon + 40.0)
    return float(math.exp(brentq(gap, low, high))) * (1 - 1e-9)


def _gdp(epsilon: float, delta: float) -> Filter:
    return UnifiedFilter(_mu_within(epsilon, delta))


def _zcdp(epsilon: float, delta: float) -> Filter:
    return UnifiedZCDPFilter(rho_within(epsilon, delta))


def _pure(epsilon: float, _delta: float) -> Filter:
    return ExPostFilter(epsilon)


def _normal(
    budget: Callable[[float, float], Filter], session: type[BrownianMechanism | Doubling], factor: float
) -> Method:
    return Method(
        filter=budget,
        session=lambda true, _, budget, rng: session(true, filter=budget, rng=rng),
        levels=lambda start: geometric(start, factor),
        half_width=lambda time: 1.959964 * math.sqrt(time),
        variance=float,
    )


METHODS = {
    "Brownian, GDP filter": _normal(_gdp, BrownianMechanism, _FINE),
    "Brownian, zCDP filter": _normal(_zcdp, BrownianMechanism, _FINE),
    "Laplace": Method(
        filter=_pure,
        session=lambda true, levels, budget, rng: LaplaceNoiseReduction(true, levels, filter=budget, rng=rng),
        levels=lambda start: (math.sqrt(2 / time) for time in geometric(start, _FINE)),
        half_width=lambda epsilon: math.log(20) / epsilon,
        variance=lambda epsilon: 2 / epsilon**2,
    ),
    "doubling, factor √2": _normal(_gdp, Doubling, math.sqrt(2)),
    "doubling, factor 2": _normal(_gdp, Doubling, 2.0),
    "doubling, factor 4": _normal(_gdp, Doubling, 4.0),
}
"""The methods compared. Doubling spends from the GDP filter, which is the best there is for it."""
