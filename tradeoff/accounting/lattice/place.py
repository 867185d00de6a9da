"""From laws and a question to a lattice: choices only, on which validity does not rest.

A lattice has the losses offset + h index: the spacing h is one for all factors and their sum, which has the
window, a range of indices, while each factor has its own offset and range. theta > 1 is the tilt: factor i
has masses P e^(theta L - log_scale_i), log_scale_i = log E_P e^(theta L_i). Sketches are the planning points.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tradeoff.accounting.lattice.convolve import Window
from tradeoff.accounting.saddles import Cumulant, saddles, tilt_for_epsilon
from tradeoff.intervals.bounds import Array, Index
from tradeoff.pld.law import PlanningPoints, PrivacyLossDistribution
from tradeoff.pld.units import UNIT


class Effort(NamedTuple):
    """The width in epsilon that an answer should have, and the most lattice points to spend on it."""

    width: float
    most: int


class LatticePlan(NamedTuple):
    """A lattice: tilt ``theta``, spacing ``h``, window of the sum, and an entry for each factor."""

    theta: float
    h: float
    window: Window
    factors: list[tuple[Index, float, float]]
    """Per factor: indices of nodes, offset, log_scale."""
    refinement_factor: float
    """About how many times narrower the bounds of the finest lattice are, 1 where none is finer."""


def common_spacing(values: Array, finest: float) -> float | None:
    """Return the largest g of which all values are multiples, up to rounding; None if below ``finest``."""
    g = 0.0  # by Euclid's algorithm
    for value in np.unique(np.abs(values)):
        a, b = float(value), g
        while b > 1e-9 * float(value):
            a, b = b, a - b * round(a / b)
            a, b = abs(a), abs(b)
        g = a
        if 0 < g < finest:
            return None
    return g or None


def on_one_lattice(laws: list[PrivacyLossDistribution]) -> bool:
    """Whether all atoms are multiples of one spacing that is not too fine: then the lattice is exact."""
    gaps = [np.diff(law.atoms.loss) for law in laws if len(law.atoms.loss) > 1]
    widest = max((float(np.ptp(law.atoms.loss)) for law in laws if len(law.atoms.loss)), default=0.0)
    finest = widest / 2**14  # nodes up to which a common spacing of all atoms is worth having
    if any(np.any((gap > 0) & (gap < finest)) for gap in gaps):
        return False
    return not gaps or common_spacing(np.concatenate([_distinct(gap) for gap in gaps]), finest) is not None


def _distinct(values: Array) -> Array:
    """Return the values that differ by more than rounding."""
    values = np.sort(values)
    return values[np.append(True, np.diff(values) > 1e-9 * values[1:])] if len(values) else values


def _spacing(
    laws: list[PrivacyLossDistribution],
    counts: list[int],
    theta: float,
    width: float,
    wanted: float,
    finest: float,
) -> float:
    """Return the largest h <= wanted, and at least ``finest``, with all atoms on their lattices.

    If they share no lattice, a finer h for which bounds meet to about ``width`` all the same.
    """
    distances = [np.diff(law.atoms.loss) for law in laws]
    gaps = [(n, gap[gap > 0]) for n, gap in zip(counts, distances, strict=True)]
    least = [(n, float(gap.min())) for n, gap in gaps if len(gap)]  # count and smallest gap of atoms
    if not least:
        return max(wanted, finest)
    common = common_spacing(np.concatenate([_distinct(gap) for _, gap in gaps]), finest)
    if common is not None:
        exact = all(not law.continuous for law in laws) and common > finest
        return common if exact else common / float(np.ceil(common / max(wanted, finest)))
    # An atom alone between nodes costs h/2 on the lower side of delta, less where neighbours are near.
    cost = max(1e-3, sum(n * min(1.0, theta * gap / 2) for n, gap in least))
    rounds = sum(n for n, _ in least)
    wanted = min(wanted, width / cost, float(np.sqrt(8 * width / (theta * rounds))))
    widest = max(gap for _, gap in least)
    wanted = max(wanted, finest, 1e-12 * widest)
    return max(widest / float(np.ceil(widest / wanted)), finest)


def _offset(law: PrivacyLossDistribution, sketch: PlanningPoints, h: float) -> float:
    """Return the offset of a factor: an atom, or the barycentre of a bin with most of the mass, else 0."""
    if len(law.atoms.loss):
        return float(law.atoms.loss[0])
    mass = np.exp(sketch.log_p)
    centre = float(sketch.loss[np.searchsorted(np.cumsum(mass), mass.sum() / 2)])
    if np.sum(mass[np.abs(sketch.loss - centre) < h / 2]) < 0.2:
        # Where much mass begins abruptly, there is a node: the first losses have none below to take mass
        # from.
        ends = (end for end in law.support if np.sum(mass[np.abs(sketch.loss - end) < 16 * h]) > 0.2)
        return next(ends, 0.0)
    for _ in range(8):
        a, b = centre - h / 2, centre + h / 2
        cells = law.cells(np.array([a, b]))
        p = (cells.deficit[0] + np.exp(min(-b, 600.0)) * cells.excess[0]) / -np.expm1(-h)
        if not p * np.exp(a) > 0 or abs(a) > 600:
            return 0.0
        centre = a + float(np.log1p(cells.excess[0] / (np.exp(a) * p)))
    # A node below the barycentre by more than its error, 16 spacings times the slack: moved down to it, the
    # bin loses next to nothing.
    return centre - h * float(max(1e-13, 16 * cells.slack[0]))


def _reach(
    sketch: PlanningPoints,
    theta: float,
    log_scale: float,
    count: int,
    log_delta: float,
    *,
    end: float,
    continuous: bool,
) -> tuple[float, float]:
    """Return the losses of a factor, low and high, outside which the mass of ``count`` copies is negligible.

    Below, P-mass counts as if it all moved to the first node, tilted; above, tilted mass must be small, and
    Q-mass, which moves to infinity, small against delta.
    """
    steepest = 690.0  # largest log of a tilt, still a float: above it, mass moves to infinity all the same
    log_below = np.logaddexp.accumulate(sketch.log_p) + theta * sketch.loss - log_scale
    log_above = np.logaddexp.accumulate((sketch.log_p + theta * sketch.loss)[::-1])[::-1] - log_scale
    log_q_above = np.logaddexp.accumulate((sketch.log_p + sketch.loss)[::-1])[::-1]
    # Tilted mass that may be left out: a few dozen times the rounding of transforms.
    log_n, log_eta = math.log(count), np.log(1e-14)
    low = int(np.searchsorted(np.maximum.accumulate(log_below) + log_n, log_eta)) - 1
    silent = (log_above + log_n < log_eta) & (log_q_above + log_n < log_delta - 16)
    silent |= theta * sketch.loss - log_scale > steepest
    first, last = float(sketch.loss[max(low, 0)]), float(sketch.loss[int(np.argmax(silent))])
    if not silent.any():  # losses may end a little above the planning points; far above is next to nothing
        last = float(sketch.loss[-1])
        last = end if last < end < last + (last - first) / 16 else last
    # Atoms are tilted as logarithms; masses of cells are multiplied by the tilt, which must be a float.
    last = min(last, (steepest + log_scale) / theta) if continuous else last
    return first, max(first, last)


def plan(
    laws: list[PrivacyLossDistribution],
    counts: list[int],
    sketches: list[PlanningPoints],
    cumulant: Cumulant,
    epsilon: float,
    effort: Effort,
) -> LatticePlan | None:
    """Choose the lattice for delta near ``epsilon`` with bounds about ``effort.width`` apart in epsilon.

    There is none where losses are too far apart for its spacing.
    """
    theta = tilt_for_epsilon(cumulant, epsilon)
    log_delta = saddles(cumulant, [theta], (0, 1)).log.item()
    log_eta = np.log(1e-16)  # a hundredth of the mass left out of each factor
    high, up = cumulant.edge(theta, +1, log_eta)  # a loss of the sum, and its Chernoff exponent
    # Where it takes a few large losses the saddle has many of them: a lower tilt has fewer, in a narrower
    # window, and loses up to e^1.5 of the accuracy.
    least = cumulant(theta)[0] - theta * epsilon
    for c in (1 + (theta - 1) * np.arange(0.98, 0.5, -0.02)).tolist() if high > 8 * epsilon > 0 else ():
        if cumulant(c)[0] - c * epsilon > least + 1.5:
            break
        last, t = cumulant.edge(c, +1, log_eta)
        theta, high, up = (c, last, t) if last < 0.9 * high else (theta, high, up)
    weights, scales = cumulant.weights(theta)
    low, down = cumulant.edge(theta, -1, log_eta)
    if not high > low:  # all of the sum lies closer together than floats
        # Width of a window about 0 that would be empty: its nodes are floats still.
        high = max(low + max(UNIT * abs(low), 1e-290), math.nextafter(low, math.inf))
    rounds = 0.0  # of a continuous law, of which each adds theta h^2/8 to the width
    for law, count, weight, sketch in zip(laws, counts, weights, sketches, strict=True):
        atoms = np.isin(sketch.loss, law.atoms.loss)
        rounds += count * (float(np.sum(weight[~atoms])) if law.continuous else 0.0)
    # A sum narrower than 1 is resolved on its own scale.
    width = effort.width * min(1.0, float(np.sqrt(cumulant(theta)[2])))
    wanted = float(np.sqrt(8 * width / (theta * rounds))) if rounds > 0 else np.inf
    wanted = min(wanted, (high - low) / 16 if high > low else 1.0)
    finest = 2 * (high - low) / effort.most
    h = _spacing(laws, counts, theta, width, wanted, finest)
    refinement_factor = 1.0
    if h > 2 * finest:  # bounds meet as h^2, or at once on a spacing that atoms share
        refinement_factor = math.inf if any(len(law.atoms.loss) for law in laws) else (h / finest) ** 2
    # At 2^45 spacings a cell, whose edges err by 8 units of the loss each, has a relative slack of 1/8.
    if max(float(np.max(np.abs(sketch.loss), initial=0.0)) for sketch in sketches) > 2**45 * h:
        return None
    factors = []
    for law, sketch, scale, count, weight in zip(laws, sketches, scales, counts, weights, strict=True):
        end, continuous = law.support[1], law.continuous
        reach = _reach(sketch, theta, scale, count, log_delta, end=end, continuous=continuous)
        offset = _offset(law, sketch, h)
        factors.append((_indices(law, sketch.loss, weight, reach, offset, h, theta), offset, scale))
    offset = sum(count * each for count, (_, each, _) in zip(counts, factors, strict=True))
    first = int(np.floor((low - offset) / h)) - 1
    # For the FFT; half of the rest is below. Of few rounds each may end a node past either end of the sum.
    size = max(64, 1 << int(np.ceil(np.log2((high - low) / h + 4 + 2 * min(sum(counts), 64)))))
    spare = size - int(np.ceil((high - low) / h)) - 2
    window = Window(first - spare // 2, size, (down, up))
    return LatticePlan(theta, h, window, factors, refinement_factor)


def _indices(
    law: PrivacyLossDistribution,
    loss: Array,
    weight: Array,
    reach: tuple[float, float],
    offset: float,
    h: float,
    theta: float,
) -> Index:
    """Return node indices of one factor: around every atom, or all of the bulk and fewer in the tails.

    There they are 2^j apart where the tilted tail is below 5e-4 4^-j: so light a tail adds as little to the
    width of bounds as the bulk. ``weight`` are tilted masses of planning points.
    """
    first, last = int(np.floor((reach[0] - offset) / h)) - 1, int(np.ceil((reach[1] - offset) / h)) + 1
    if not law.continuous:
        place = np.floor((law.atoms.loss - offset) / h + 1e-6).astype(np.int64)
        around = np.concatenate([[first, last], place, place + 1])
        return np.unique(around[(around >= first) & (around <= last)])
    if last - first < 256:
        return np.arange(first, last + 1)
    left, right = np.cumsum(weight), np.cumsum(weight[::-1])
    # Levels of coarser cells: from the twelfth on they are too few to matter.
    levels = int(np.clip(np.floor(np.log2(0.25 / (h * theta))), 0, 12))
    tails = 5e-4 * 4.0 ** -np.arange(1, levels + 1)
    below = loss[np.searchsorted(left, tails).clip(0, len(loss) - 1)]
    above = loss[(len(loss) - 1 - np.searchsorted(right, tails)).clip(0, len(loss) - 1)]
    lows = np.clip(np.floor((below - offset) / h), first, last).astype(np.int64)
    highs = np.append(np.clip(np.ceil((above - offset) / h), first, last).astype(np.int64), last)
    # Never more than about a million cells, whatever the choice costs.
    steps = [*(1 << j for j in range(levels)), max(1 << levels, (last - first) >> 20)]
    # Towards the bulk a coarse cell must not reach into it.
    ends = [(steps[j], lows[j - 1] - steps[j] + 1) for j in range(levels, 0, -1)]
    pieces, at = [], first
    for step, end in (*ends, *zip(steps, highs, strict=True)):
        if len(piece := np.arange(at, end, step)):
            pieces.append(piece)
            at = int(piece[-1]) + step
    return np.append(np.concatenate(pieces), last) if pieces else np.array([first, last])
