"""Where to draw a line for a question: saddle point, step and cost. Choices only: no bound rests on them.

The tilt c of a line Re z = c for the loss x is the saddle of e^(K(z) - (z - 1) x)/(z (z - 1)) on the real
axis; the "size" there is psi over e^(K(c) - (c - 1) x). Chernoff's bound at a point c' right or left of c
holds the aliases at a share _ALIAS of psi if the period 2 pi/step is at least

    [K(c') - K(c) - (c' - c) x + log kappa(c') - log size - log _ALIAS]/|c' - c|,

whose numerator is the "excess" and c' - c the "gap". The longer one of both sides is needed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tradeoff.accounting.options import query_options
from tradeoff.intervals.bounds import Array
from tradeoff.pld.cumulant import Cumulant, SaddleTable

NODE_BYTES = 256  # working memory of a node while a line is evaluated
_ALIAS = 1e-14  # share of an answer that the neighbouring periods may add: rounding is as large
GOAL = 1e-13  # share of an answer that may lie past the last node: more nodes gain nothing
_SHARES = np.append(
    np.linspace(0.0, 1.2, 37), np.geomspace(1.3, 8.0, 8)
)  # tilts tried: c - 1 over the saddle's
_REACH = np.geomspace(0.05, 60, 16)  # distances of Chernoff points tried, in tilted deviations

# int phi(u) (upper - lower polynomial)(u) du of a smoothed hockey-stick (`line`), and a fifth for truncation.
LEFT = 0.48


def log_kappa(c: float) -> float:
    """Return log sup_L (1 - e^(x-L))_+ e^((1-c)(L-x)) for c > 1, and for 0 <= c <= 1 a bound, 0."""
    return (c - 1) * math.log1p(-1 / c) - math.log(c) if c > 1 else 0.0


def log_kappas(c: Array) -> Array:
    """Return ``log_kappa`` of each c, where no bound rests on it."""
    u = np.maximum(c - 1, 1e-300)
    return np.where(c > 1, -u * np.log1p(1 / u) - np.log(np.maximum(c, 1.0)), 0.0)


class Placement(NamedTuple):
    """A line: tilt c, Chernoff points ``left`` and ``right`` of it, and ``step`` of frequencies.

    Its truncation should be below ``goal`` times e^(K(c) - (c - 1) x), and it may sum ``most`` terms.
    ``scale`` is the spread of the integrand about the saddle: so far from the center e^(1/2) of the accuracy
    is lost. ``blur`` tau^2 estimates the relative error of psi after smoothing by a Gaussian of mu = tau, the
    ``smoothing_width``. ``log_psi`` estimates log psi; ``uneven`` is whether a lower tilt may have a much
    shorter period.
    """

    c: float
    left: float
    right: float
    step: float
    goal: float
    most: float
    smoothing_width: float
    scale: float
    blur: float = 1.0
    log_psi: float = 0.0
    uneven: bool = False

    @property
    def drawable(self) -> bool:
        """Whether no number of the line overflows, as periods and fourth powers do for tilts far out."""
        return (
            0 < self.goal < math.inf
            and 0 < self.step < math.inf
            and self.left < self.c < self.right
            and self.scale < math.inf
            and self.smoothing_width * max(self.c, self.step) < 1e60
        )


def smoothed(sharp: Placement, accuracy: float, each: int) -> Placement:
    """Return the placement smoothed for a relative error ``accuracy`` of psi, if its terms allow, else more.

    Such lines end at depth/tau, tau e^(-depth^2/2) = ``goal``, with 1/512 of the smoothing's error after
    that. ``each`` is the number of terms summed for a node.
    """
    nodes = min(query_options().most(NODE_BYTES), sharp.most / (1.02 * each))
    least = math.sqrt(accuracy / sharp.blur)  # mu of the Gaussian that moves psi by so much
    tau = max(least, 5.5 / (sharp.step * nodes))  # nearly: of it the depth is good to 1 %
    depth = math.sqrt(2 * max(math.log(512 * GOAL / sharp.goal / min(sharp.blur * tau, 1 / tau)), 2.0))
    tau = float(max(least, 1.01 * min(depth, 8.5) / (sharp.step * nodes)))
    goal = 1 / 512 * min(sharp.blur * tau * tau, 1.0) * sharp.goal / GOAL
    return sharp._replace(smoothing_width=tau, goal=goal)


def place_line(saddles: SaddleTable, x: float, log_psi: float | None, *, middle: bool) -> Placement:
    """Place a line at the loss x, in the strip of the saddles: 0 < c < 1 (``middle``), or c > 1.

    ``log_psi`` is log psi(x), estimated where it is None. Where rare rounds lose much, K is nearly 0 up to c
    and very large above it: the saddle needs a long period on its right. A lower tilt has a shorter one, and
    the shortest is where both sides need the same.
    """
    cumulant, c = saddles.cumulant, saddles.tilt(x)
    value, _, variance = cumulant(c)
    spread = math.sqrt(2 * math.pi * (variance + c**-2 + (c - 1) ** -2))
    if log_psi is None:  # the saddle-point estimate
        log_psi = value - (c - 1) * x - math.log(abs(c * (c - 1)) * spread)
    reach = _REACH / math.sqrt(max(variance, 1e-300))
    floor, ceiling = (0.0, 1.0) if middle else (1.0, math.inf)
    above, below = np.minimum(c + reach, ceiling), np.maximum(c - reach, floor)
    result = _place_at(cumulant, x, (c, value, variance), below, above, log_psi)
    if middle or not result.uneven:
        return result
    points = 1 + (c - 1) * _SHARES  # tilts tried, each with the others as Chernoff points
    excess = cumulant.values(points) - (points - 1) * x + log_kappas(points)
    excess = np.maximum(excess - log_psi - math.log(_ALIAS), 1.0)
    gap = points - points[:, None]
    with np.errstate(divide="ignore"):
        periods = excess / np.abs(gap)  # of a line at the row, for a Chernoff point at the column
    left, right = (np.min(periods, axis=1, where=side, initial=math.inf) for side in (gap < 0, gap > 0))
    # At other tilts than the saddle digits cancel in the sum, as many as the excess grows.
    k = int(np.argmin(np.log(np.maximum(left, right)) + excess / 3.0))
    lower = float(points[k])
    value, _, variance = cumulant(lower)
    other = _place_at(cumulant, x, (lower, value, variance), points[:k], points[k + 1 :], log_psi)
    return other if other.step > 1.2 * result.step else result


def coarse_placement(cumulant: Cumulant, x: float, sharp: Placement) -> Placement:
    """Return a placement of a shorter period at a tilt past the saddle, or ``sharp`` if there is none.

    Aliases from the left fall as e^-((c - 1) period), slowly near c = 1. Tilts two deviations or one past
    the saddle have a half or a third of the period. Smoothing errs by more than rounding, so that they may
    lose a factor of e^6 against the saddle.
    """
    value, _, variance = cumulant(sharp.c)
    for ahead in (2.0, 1.0) if sharp.c > 1 and sharp.drawable else ():
        c = sharp.c + ahead / math.sqrt(max(variance, 1e-300))
        moved, _, width = cumulant(c)
        if abs(moved - value - (c - sharp.c) * x) < 6.0:
            reach = _REACH / math.sqrt(max(width, 1e-300))
            below, tilt = np.append(np.maximum(c - reach, 1.0), 1.0), (c, moved, width)
            result = _place_at(cumulant, x, tilt, below, c + reach, sharp.log_psi)
            if result.drawable and result.step > sharp.step:
                return result._replace(scale=sharp.scale, blur=sharp.blur)
    return sharp


Tilt = tuple[float, float, float]  # c, K(c) and K''(c)


def _place_at(
    cumulant: Cumulant, x: float, tilt: Tilt, below: Array, above: Array, log_psi: float
) -> Placement:
    """Place a line at the tilt, with the best of the Chernoff points ``below`` it, and of those above it."""
    c, value, variance = tilt
    spread = math.sqrt(variance + c**-2 + (c - 1) ** -2)
    log_size = log_psi - value + (c - 1) * x
    points = np.concatenate([below, above])
    gap = points - c
    excess = cumulant.values(points) - value - gap * x + log_kappas(points) - log_size - math.log(_ALIAS)
    # A spread more, as it serves losses so far from x. A gap of 0 is that of a c too large to have one.
    periods = np.where(gap == 0, math.inf, excess / np.where(gap == 0, 1.0, np.abs(gap)) + spread)
    best = int(np.argmin(periods[: len(below)])), len(below) + int(np.argmin(periods[len(below) :]))
    (left, right), sides = points[[*best]].tolist(), periods[[*best]].tolist()
    goal = GOAL * math.exp(min(log_size, 700.0))
    # The density at x of the tilted loss, whose mean is 1/c + 1/(c - 1) above x, over psi.
    deviation = math.sqrt(max(variance, 1e-300))
    apart = min(abs(1 / c + 1 / (c - 1)) / deviation, 1.5)
    blur = LEFT * abs(c * (c - 1)) * spread / deviation * math.exp(-apart * apart / 2)
    uneven = bool(sides[1] > 1.5 * sides[0])
    step = 2 * math.pi / max(sides)
    return Placement(c, left, right, step, goal, math.inf, 0.0, spread, float(blur), log_psi, uneven)
