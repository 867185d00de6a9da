"""Where to draw a line for a question: saddle point, step and cost. Choices only.

Validity does not rest on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from tradeoff.accounting.contour.line import LEFT, log_kappa
from tradeoff.accounting.options import query_options
from tradeoff.pld.cumulant import Cumulant, SaddleTable

BYTES = 256  # working memory a node of a line takes while it is drawn and asked

# Share of an answer that the neighbouring periods of a step may add: rounding of the sum is as large.
ALIAS = 1e-14

GOAL = 1e-13  # share of an answer that may lie beyond the last node; more nodes gain less than rounding takes

# Where a Gaussian is added, more than rounding is left: tilts so many deviations of the tilted loss beyond
# the saddle may lose a factor of e^6 against it, for a period of a half or a third.
_ASIDE, _SPENT = (2.0, 1.0), 6.0

_APART = 1.5  # deviations from its mean up to which a tilted loss is about normal

# Share of what a Gaussian leaves in doubt that may lie beyond the last node, but for factors of hundreds.
_BESIDE = 1 / 512

_DEPTH = 5.5  # frequencies, in units of 1/tau, at which lines with a Gaussian end for the most part

# Periods asked for on the right of a saddle, over that on the left, from which on lower tilts are tried: at
# these shares of the saddle, less 1. One is taken if its period is so many times shorter.
_UNEVEN, _SHORTER = 1.5, 1.2
_CANCELS = 3.0  # nats of the sum that may cancel for a period shorter by e
_SHARES = np.append(np.linspace(0.0, 1.2, 37), np.geomspace(1.3, 8.0, 8))

# Distances of Chernoff points tried, in tilted deviations, and the one that is usually best: it reaches
# sqrt(2 log 1e14) = 8.
_REACH, _USUAL = np.geomspace(0.05, 60, 16), 11


# Above tau z at the first nodes of a line whose fourth powers, what a Gaussian adds, are floats.
_LARGEST = 1e60


class Placement(NamedTuple):
    """A line: c, two Chernoff points beside it, step, what may be left out beyond, and the cost allowed.

    ``scale`` is the spread of the integrand about the saddle: so far from the aim e^(1/2) of the accuracy is
    lost. ``blur`` tau^2 is about what a Gaussian of mu = tau leaves in doubt of psi, relative.
    ``log_psi`` is what psi is taken for; ``uneven`` is whether a lower tilt may have a much shorter period.
    """

    c: float
    left: float
    right: float
    step: float
    goal: float
    most: float
    tau: float
    scale: float
    blur: float = 1.0
    log_psi: float = 0.0
    uneven: bool = False

    @property
    def drawable(self) -> bool:
        """Whether floats hold the aim: beyond, tilts meet, and periods, goals and powers overflow."""
        return (
            0 < self.goal < math.inf
            and 0 < self.step < math.inf
            and self.left < self.c < self.right
            and self.scale < math.inf
            and self.tau * max(self.c, self.step) < _LARGEST
        )


def smoothed(sharp: Placement, accuracy: float, each: int) -> Placement:
    """Return the place with a Gaussian added that leaves ``accuracy`` of psi in doubt, if the cost allows."""
    nodes = min(query_options().most(BYTES), sharp.most / each) / 2
    tau = float(max(least_tau(sharp, accuracy), _DEPTH / (sharp.step * nodes)))
    return sharp._replace(tau=tau, goal=_BESIDE * min(sharp.blur * tau * tau, 1.0) * sharp.goal / GOAL)


def least_tau(place: Placement, accuracy: float) -> float:
    """Return the mu of the Gaussian that leaves about ``accuracy`` of psi in doubt, relative."""
    return math.sqrt(accuracy / place.blur)


def place_line(
    saddles: SaddleTable, x: float, most: float, log_psi: float | None, *, middle: bool
) -> Placement:
    """Place a line at the loss x, in the strip of the saddles, 0 < c < 1 or c > 1.

    ``log_psi`` is log psi(x), estimated where it is None. Where rare rounds lose much, K is nearly 0 up to c
    and soars beyond: the saddle asks for a long period on its right. A tilt below it has a shorter one, and
    the shortest is where both sides ask for the same.
    """
    cumulant, c = saddles.cumulant, saddles.tilt(x)
    value, _, variance = cumulant(c)
    spread = math.sqrt(2 * math.pi * (variance + c**-2 + (c - 1) ** -2))
    size = value - (c - 1) * x - math.log(abs(c * (c - 1)) * spread) if log_psi is None else log_psi
    reach = _REACH / math.sqrt(max(variance, 1e-300))
    floor, ceiling = (0.0, 1.0) if middle else (1.0, math.inf)
    above, below = [min(c + t, ceiling) for t in reach], [max(c - t, floor) for t in reach]
    there = _between(cumulant, x, most, (c, value, variance), below, above, size)
    if middle or not there.uneven:
        return there
    points = 1 + (c - 1) * _SHARES
    room = np.array([cumulant.value(t) - (t - 1) * x + log_kappa(t) for t in points.tolist()])
    room = np.maximum(room - size - math.log(ALIAS), 1.0)
    gap = points - points[:, None]
    with np.errstate(divide="ignore"):
        periods = room / np.abs(gap)  # of a line at the row, for a Chernoff point at the column
    left, right = (np.min(periods, axis=1, where=side, initial=math.inf) for side in (gap < 0, gap > 0))
    # Room beyond that for aliases is what cancels in the sum.
    k = int(np.argmin(np.log(np.maximum(left, right)) + room / _CANCELS))
    lower = float(points[k])
    value, _, variance = cumulant(lower)
    tilt, sides = (lower, value, variance), (points[:k][::-1].tolist(), points[k + 1 :].tolist())
    result = _between(cumulant, x, most, tilt, *sides, size)
    return result if result.step > _SHORTER * there.step else there


def brief(cumulant: Cumulant, x: float, sharp: Placement) -> Placement:
    """Return a placement of a shorter period beyond the saddle, if there is one.

    Aliases from the left fall as e^-((c - 1) period), slowly near c = 1.
    """
    value, _, variance = cumulant(sharp.c)
    for ahead in _ASIDE if sharp.c > 1 and sharp.drawable else ():
        c = sharp.c + ahead / math.sqrt(max(variance, 1e-300))
        there, _, width = cumulant(c)
        lost = there - value - (c - sharp.c) * x
        if abs(lost) < _SPENT:
            reach = _REACH / math.sqrt(max(width, 1e-300))
            below = [*np.maximum(c - reach, 1.0).tolist(), 1.0]
            result = _between(
                cumulant, x, sharp.most, (c, there, width), below, (c + reach).tolist(), sharp.log_psi
            )
            if result.drawable and result.step > sharp.step:
                return result._replace(scale=sharp.scale, blur=sharp.blur)
    return sharp


def _between(
    cumulant: Cumulant,
    x: float,
    most: float,
    tilt: tuple[float, float, float],
    below: Sequence[float],
    above: Sequence[float],
    log_psi: float,
) -> Placement:
    """Place a line at the tilt c, of K(c) and K''(c), with the best Chernoff points of those given."""
    c, value, variance = tilt
    spread = math.sqrt(variance + c**-2 + (c - 1) ** -2)
    log_size = log_psi - value + (c - 1) * x

    @cache
    def period(other: float) -> float:
        gap = other - c
        if gap == 0:  # c is so large that no float is near it
            return math.inf
        excess = cumulant.value(other) - value - gap * x + log_kappa(other) - log_size - math.log(ALIAS)
        return excess / abs(gap) + spread  # it serves questions within so much of its aim

    left, right = _least(period, below), _least(period, above)
    sides = period(left), period(right)
    goal = GOAL * math.exp(min(log_size, 700.0))
    # The density at x of the tilted loss, whose mean is 1/c + 1/(c - 1) above x, over psi.
    deviation = math.sqrt(max(variance, 1e-300))
    apart = min(abs(1 / c + 1 / (c - 1)) / deviation, _APART)
    blur = LEFT * abs(c * (c - 1)) * spread / deviation * math.exp(-apart * apart / 2)
    uneven = bool(sides[1] > _UNEVEN * sides[0])
    return Placement(
        c, left, right, 2 * math.pi / max(sides), goal, most, 0.0, spread, float(blur), log_psi, uneven
    )


def _least(function: Callable[[float], float], points: Sequence[float]) -> float:
    """Return the first point where a function that falls and then rises is least, from one usually near.

    A period falls and rises: over the distance it is what is convex, K + log kappa and a constant.
    """
    points = list(dict.fromkeys(points))
    k = min(_USUAL, len(points) - 1)
    while k and function(points[k - 1]) <= function(points[k]):
        k -= 1
    while k + 1 < len(points) and function(points[k + 1]) < function(points[k]):
        k += 1
    return points[k]
