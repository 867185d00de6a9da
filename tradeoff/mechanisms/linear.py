"""Normal noise on sums over time: one sensitivity, one Gaussian."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MOST, count
from tradeoff.errors import DomainError, domain
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, expm1, log, sqrt, whole
from tradeoff.mechanisms.base import (
    Mechanism,
    integer_range,
    loss,
    mechanism,
    parameter,
    real_range,
    root,
)

# Most participations in a tree: finding the worst steps takes up to a few seconds.
_MOST_PARTICIPATIONS = 128


def _restart_steps(name: str, value: Any) -> tuple[int, ...]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise domain(name, value, "a list of integers")
    steps = tuple(count(f"{name}[{i}]", each, 1, MOST) for i, each in enumerate(value))
    if any(first >= second for first, second in pairwise(steps)):
        raise domain(name, value, "increasing")
    return steps


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise domain(name, value, "True or False")
    return value


@mechanism
class TreeAggregation(Mechanism):
    """All running sums of a stream by a binary tree of noisy sums: DP-FTRL.

    Exact: G_mu with mu^2 = S^2/noise_multiplier^2, where S^2 is the largest sum, over the complete nodes of
    all trees, of the squared number of the record's steps in the node. One participation gives floor(log2
    steps) + 1 (Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011); several are Kairouz et al. 2021,
    Appendix D, here maximised over all steps that the separation allows, in integers. It holds also where
    steps are chosen in view of earlier sums. Steps keep their place: neighbours change what a record adds in
    its steps, to 0 or to something else.

    Participations are not runs: ``Plan({tree: 6})`` is six trees with one participation each.

    >>> TreeAggregation(noise_multiplier=3, steps=500).guarantee()
    G_{1}
    >>> keyboard = TreeAggregation(noise_multiplier=7, steps=2000, participations=6, separation=313)
    >>> keyboard.squared_sensitivity, round(keyboard.guarantee().epsilon(1e-10), 3)
    (79, 8.526)
    """

    noise_multiplier: float = real_range(
        "Standard deviation of the noise of a node over the l2-norm of the change of one step.", "(0, inf]"
    )
    steps: int = integer_range("Length of the stream.", high=math.inf)
    participations: int = integer_range(
        "Most steps in which one record takes part; for more use ``MatrixMechanism``.",
        high=_MOST_PARTICIPATIONS,
        default=1,
    )
    separation: int = integer_range(
        "Least distance of two steps in which one record takes part: 1 allows consecutive steps; the number "
        "of batches of an epoch is for records that keep their place in every epoch. If a library counts the "
        "steps *between* two participations, add 1.",
        high=math.inf,
        default=1,
    )
    restarts: tuple[int, ...] = parameter(
        "Numbers of steps after which a new tree begins, below ``steps``: ``[2000, 4000]``.",
        "increasing list of int",
        _restart_steps,
        default=(),
    )
    completion: bool = parameter(
        "Whether a tree that is followed by another is completed by steps without data, so that its last sum "
        "has less noise (Honaker 2015). More nodes are released then, so more privacy is lost.",
        "bool",
        _flag,
        default=False,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.participations > 1:
            count("steps", self.steps, 1, MOST)
        if self.restarts and self.restarts[-1] >= self.steps:
            raise DomainError(
                f"restarts must be below steps = {self.steps}, got {self.restarts[-1]}; leave it out"
            )

    @property
    def squared_sensitivity(self) -> int:
        """Squared l2-norm of the change of all nodes, for changes of norm 1 in every step of a record."""
        apart = self.separation if self.participations > 1 else self.steps
        nodes: list[tuple[int, int]] = []
        for start, end in pairwise((0, *self.restarts, self.steps)):
            data = end - start
            if self.completion and end < self.steps:
                nodes.append(((data - 1).bit_length(), data))
            else:
                levels = reversed(range(data.bit_length()))
                nodes += [(level, 1 << level) for level in levels if data >> level & 1]
        return _largest_sum(tuple(nodes), self.participations, apart)

    def curve(self) -> TradeOff:
        return Gaussian(loss(root(Fraction(self.squared_sensitivity)), self.noise_multiplier))


Sums = dict[tuple[int, int], int]  # largest sum by participations and number of later steps not allowed


@lru_cache(maxsize=64)
def _largest_sum(nodes: tuple[tuple[int, int], ...], most: int, apart: int) -> int:
    """Return the largest sum over nodes of the squared number of steps in which a record takes part.

    ``nodes`` are the roots in order, each with its level and the number of its leaves that hold data. A node
    of at most ``apart`` leaves holds at most one of the steps, and which one does not matter, so that
    the first allowed is the best. Larger nodes join the sums of both halves.

    >>> _largest_sum(((2, 4),), 2, 3)  # 4 leaves, participations 0 and 3: 2 + 2 + 4
    8
    """

    @cache
    def within(level: int, data: int, early: int) -> Sums:
        """Return the sums in a node whose first ``early`` steps are not allowed."""
        half = 1 << level >> 1
        if 2 * half <= apart or level == 0 or early >= data:
            once = {(1, max(early + apart - data, 0)): level + 1} if early < data else {}
            return {(0, max(early - data, 0)): 0, **once}
        halves = ((level - 1, min(data, half)), (level - 1, data - half))
        return {(n, late): total + n * n for (n, late), total in along(halves, early).items()}

    def along(row: tuple[tuple[int, int], ...], early: int) -> Sums:
        """Return the sums in a row of nodes."""
        best: Sums = {(0, early): 0}
        for level, data in row:
            if data <= 0:
                continue
            joined: Sums = {}
            for (n, between), total in best.items():
                for (more, late), rest in within(level, data, between).items():
                    key = n + more, late
                    if n + more <= most:
                        joined[key] = max(joined.get(key, 0), total + rest)
            best = _undominated(joined)
        return best

    return max(along(nodes, 0).values())


def _undominated(sums: Sums) -> Sums:
    """Drop sums to which another one with as many participations is at least equal, and ends earlier."""
    best: dict[int, int] = {}
    result: Sums = {}
    for (n, late), total in sorted(sums.items()):
        if total > best.get(n, -1):
            best[n] = result[n, late] = total
    return result


@mechanism
class MatrixMechanism(Mechanism):
    """Linear queries A x = B C x released as B (C x + z), z normal: matrix factorisation, DP-FTRL, BandMF.

    Exact: B is post-processing, and C x + z is one Gaussian mechanism, mu = sensitivity/noise_multiplier (Li
    et al. 2015; for C lower triangular also where x is chosen in view of earlier sums: Denisov et al. 2022,
    Theorem 2.1). What sampling adds is in ``docs/sampled-mechanisms.md``.

    >>> MatrixMechanism(noise_multiplier=4, sensitivity=2).curve()
    G_{0.5}
    """

    noise_multiplier: float = real_range(
        "Standard deviation of z over the l2-norm of the change of one step.", "(0, inf]"
    )
    sensitivity: float = real_range(
        "Largest norm of C u over all changes u of neighbours, with changes of norm 1 in single steps: with "
        "one participation the largest column norm of C.",
        "[0, inf)",
    )

    def curve(self) -> TradeOff:
        return Gaussian(loss(self.sensitivity, self.noise_multiplier))


@mechanism
class LastIterate(Mechanism):
    """Noisy gradient descent over all data whose last iterate alone is released.

    Dominating, by shifted interpolation (Bok, Su, Altschuler 2024, their results on NoisyGD). A process that
    starts at one run m steps before the end and ends at the other has to make up c^m diameter + s (1 + c +
    ... + c^(m-1)) by shifts a_j, weighted by c^j; the last step costs G_{a/sigma} each. By Cauchy and Schwarz
    the least sum of squares is the square of this number over 1 + c^2 + ... + c^(2(m-1)). At m = ``steps``
    both runs start alike, and the diameter does not enter: mu^2 = (1 - c^t)(1 + c)/((1 + c^t)(1 - c)) over
    the square of the noise multiplier, exact for unconstrained strongly convex losses. Any m gives a bound;
    the least of some hundred is taken.

    >>> LastIterate(noise_multiplier=10, steps=100).curve()
    G_{1} (not exact)
    >>> LastIterate(noise_multiplier=10, steps=10**9, contraction=0.5).curve()
    G_{0.173205} (not exact)
    >>> LastIterate(noise_multiplier=10, steps=10**9, diameter=25).curve()
    G_{1} (not exact)
    """

    exact = False

    noise_multiplier: float = real_range(
        "Standard deviation of the noise of a step over the distance s by which neighbours move a step: n "
        "sigma/L for noise sigma on the mean gradient of n records, of which one moves it by L/n.",
        "(0, inf]",
    )
    steps: int = integer_range("Number of steps.", high=math.inf)
    contraction: float = real_range(
        "Factor c by which a step shrinks distances: max(|1 - eta m|, |1 - eta M|) for losses that are "
        "m-strongly convex and M-smooth, 1 for convex ones with eta <= 2/M.",
        "[0, 1]",
        default=1.0,
    )
    diameter: float = real_range(
        "Diameter of the set to which iterates are projected, in units of s; infinite without projection.",
        "[0, inf]",
        default=math.inf,
    )

    def curve(self) -> TradeOff:
        every, most = self._shift(whole(self.steps), 0.0), float(min(self.steps, MOST))
        # Each number of last steps gives a bound.
        best = min(max(self.diameter, 1.0), most)  # of convex losses: (diameter + m)^2/m is least there
        places = np.append(np.geomspace(1.0, most, 400), [np.floor(best), np.ceil(best)])
        later = self._shift(Bounds.of(np.minimum(np.floor(places), most)), self.diameter)
        return Gaussian(loss(min(every.upper, float(np.min(later.upper))), self.noise_multiplier))

    def _shift(self, m: Bounds, diameter: float) -> Bounds:
        """Bound (c^m diameter + sum of c^j)/sqrt(sum of c^2j), j < m: mu times the noise multiplier."""
        if self.contraction == 1:
            return (diameter + m) / sqrt(m)
        rate = log(self.contraction)
        one_minus = 1 - Bounds.of(self.contraction)
        squares = -expm1(2 * rate * m) / (one_minus * (1 + Bounds.of(self.contraction)))
        return (exp(rate * m) * diameter - expm1(rate * m) / one_minus) / sqrt(squares)
