"""Law of L where a record takes part in one of n steps with normal noise, chosen at random: balls in bins.

Under P all steps are without the record, and dQ/dP = (r_1 + ... + r_n)/n, the mean of independent ratios, one
a step. So a block of steps is given by the law of its mean ratio under P, and two blocks make a third. A law
is replaced by one on nodes: mass between two nodes goes to both, its mean kept. That is a pair of which the
true one is made by post-processing, and so is then every pair made of such blocks: the result dominates.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.gaussian import GaussianLaw

STEEPEST = 20.0  # largest mu: beyond, ratios overflow floats, and one step among many hides little
_SMALLEST = 1e-12  # least mu: a smaller one is a greater one with noise added, and no less private
_NODES = 1024  # ratios of a block: dense where most of its mass is, so that they add 1e-4 to its variance
_COARSE = 400  # ratios among which the ends of a block are chosen
_HUGE = 1e150  # ratios whose squares are floats: beyond, they do not change a spread
_FAR = 17.0  # standard deviations of a step that are resolved: e^-144 lies beyond
_LEFT = 1e-60  # mass under P, or under Q, that is moved from the ends of a block to the ratios 0 and infinity


class Block(NamedTuple):
    """Ratios, increasing from 0, with their mass under P; Q at infinity; and the relative error of masses."""

    ratio: Array
    mass: Array
    infinite: float
    slack: float


@lru_cache(maxsize=16)
def allocated_law(mu: float, steps: int) -> AtomicLaw:
    """Return the law for one of ``steps`` steps, each of which is G_mu."""
    block = _block(max(mu, _SMALLEST), steps)
    kept = (block.mass > 0) & (block.ratio > 0)
    loss, log_p = np.log(block.ratio[kept]), np.log(block.mass[kept])
    slack = block.slack + UNIT * (8 + 2 * np.abs(log_p))
    # Ratios are sums of positive terms, three roundings a halving of the steps; logarithms cost units too.
    position = UNIT * (32 + 8 * steps.bit_length() + 8 * float(np.max(np.abs(loss))))
    return AtomicLaw(loss, log_p, float(block.mass[0]), block.infinite, slack, position=position)


def _block(mu: float, steps: int) -> Block:
    if steps == 1:
        return _single(mu)
    half = _block(mu, steps // 2)
    even = _joined(half, 0.5, half, 0.5)
    return _joined(even, (steps - 1) / steps, _single(mu), 1 / steps) if steps % 2 else even


@lru_cache(maxsize=16)
def _single(mu: float) -> Block:
    """Place a step on nodes: excess/(e^b - e^a) at the right of a cell, deficit/(1 - e^(a-b)) at its left."""
    reach = mu * _FAR + mu * mu / 2
    edges = _spaced(-reach, reach, mu)
    cells = GaussianLaw(mu).cells(np.concatenate([[-np.inf], edges, [np.inf]]))
    fall = -np.expm1(-np.concatenate([[np.inf], np.diff(edges), [np.inf]]))
    mass = cells.deficit / fall
    mass[1:] += cells.excess[:-1] / np.exp(edges) / fall[:-1]
    # An edge is exact; its ratio, and the ratio of a width, are good to a few units.
    slack = float(np.max(cells.slack)) + 64 * UNIT
    return Block(np.append(0.0, np.exp(edges)), mass, float(cells.excess[-1]), slack)


def _spaced(low: float, high: float, scale: float) -> Array:
    """Return nodes between two logarithms of ratios, even up to the scale, in their logarithm beyond."""
    start, end = (math.asinh(side / (2 * scale)) for side in (low, high))
    return np.asarray(2 * scale * np.sinh(np.linspace(start, end, _NODES)))


def _ends(ratio: Array, mass: Array) -> tuple[float, float]:
    """Return logarithms of ratios beyond which there is hardly any mass, under P below and under Q above."""
    coarse = np.geomspace(np.min(ratio[ratio > 0]), np.max(ratio), _COARSE)
    at = np.searchsorted(coarse, ratio)
    under_p, under_q = (np.bincount(at, m, _COARSE + 1) for m in (mass, mass * ratio))
    low = int(np.searchsorted(np.cumsum(under_p), _LEFT)) - 1
    high = _COARSE - int(np.searchsorted(np.cumsum(under_q[::-1]), _LEFT))
    return float(np.log(coarse[max(low, 0)])), float(np.log(coarse[min(high, _COARSE - 1)]))


def _joined(one: Block, first: float, two: Block, second: float) -> Block:
    """Return the block of both, with their shares of the steps."""
    ratio = np.add.outer(first * one.ratio, second * two.ratio).ravel()
    mass = np.multiply.outer(one.mass, two.mass).ravel()
    # The spread of a lognormal ratio of this variance; rows are sorted, which makes them quick to place.
    scale = float(np.sqrt(np.log1p(np.sum(mass * (np.minimum(ratio, _HUGE) - 1) ** 2))))
    nodes = np.append(0.0, np.exp(_spaced(*_ends(ratio, mass), scale)))
    cell = np.minimum(np.searchsorted(nodes, ratio, side="right") - 1, _NODES - 1)
    left, right = nodes[cell], nodes[cell + 1]
    inside = np.minimum(ratio, nodes[-1])
    below, above = mass * ((right - inside) / (right - left)), mass * ((inside - left) / (right - left))
    added = np.bincount(cell, below, _NODES + 1) + np.bincount(cell + 1, above, _NODES + 1)
    result = np.asarray(added, dtype=float)
    # Each share is a quotient of differences of floats, 3 units; sums have as many terms as a node has pairs.
    terms = 2 * int(np.max(np.bincount(cell)))
    overflow = float(np.sum(mass * (ratio - inside)))
    # More than the rounding of any sum here: more at infinity is never more private.
    infinite = (first * one.infinite + second * two.infinite + overflow) * (1 + 1e-9)
    return Block(nodes, result, infinite, one.slack + two.slack + UNIT * (terms + 16))
