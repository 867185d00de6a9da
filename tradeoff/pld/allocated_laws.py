"""Laws of the loss L = log dQ/dP of one step chosen at random, of finitely many losses, to compose.

A law is *above* the true one if its hockey-sticks E_Q (1 - e^(x - L))_+ are at least the true ones for all x,
and *below* (``merged``) if at most. dQ/dP is the mean *ratio* Y of all steps. They may be correlated: without
the record (under P) X is normal with the Gram matrix G of the means of steps, and Y = mean over i of Y_i =
e^(X_i - G_ii/2). Let G' >= G in each entry, both Gram matrices, and phi convex. Along G + s (G' - G) the
derivative of E phi(Y) is half the sum of (G'_ij - G_ij) E phi''(Y) Y_i Y_j over all i and j, divided by their
number squared: never negative (Kahane 1986; terms of first order cancel, as each Y_i has mean 1, so that i =
j is like the others). Hockey-sticks of both orders are such expectations. So ``Groups`` at or above G in each
entry, and those at or below, bound them.

**Sharper laws of independent steps.** The *put* E (K - Y)_+ and the *call* E (Y - K)_+ = put + 1 - K are
convex in the strike K, with the slopes P(Y < K) and -P(Y > K); ``pld.allocation`` bounds them at any K. A law
is known by its puts up to K = 1 and its calls from there on: its ratios are the corners of these functions,
its masses the changes of slope there, for which 1 is added to the slopes of calls.

*Above*: the lower hull of points above such a function is above it, as it is the largest convex function
below the points. Points are upper bounds at nodes, and the corners of the law above that blocks make.

*Below*: a maximum of lines below such a function f. Let a < b < c be strikes. By convexity f is above the
chord of a and b right of b, and above that of b and c left of b. So the line of the slope m through (b, v) is
below f if m is between the slopes of the two chords, and v at most f(b) less (m - left slope)(c - b), and
less (right slope - m)(b - a): outside of (a, c) it is below the chords, extended. Of each slope the end is
taken that is safe. Lines v + m (K - b) are points (m, m b - v): the lower hull of these has the lines that
are the largest somewhere, and its slopes are where they cross. The lines of the law below that blocks make
are among them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tradeoff.intervals.bounds import Array
from tradeoff.intervals.polygon import lower_hull
from tradeoff.pld.allocation import Allocation
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.law import masses
from tradeoff.pld.units import UNIT

_LEAST = 1e-12  # least mu of a law above: pairs of smaller mu are that one with noise added, more private
_RATIOS = 1024  # ratios of a block: dense where most of its mass is, so that they add 1e-4 to its variance
_LEFT = 1e-60  # mass under P, or under Q, that is moved from the ends of a block to the ratios 0 and infinity


class Block(NamedTuple):
    """The law under P of the mean ratio of a block of steps: increasing ratios, maybe 0, and their masses."""

    ratio: Array
    mass: Array
    infinite: float  # mass of Q at the ratio infinity
    slack: float  # relative error of masses
    off: float  # relative error of ratios
    merged: bool = False  # whether the law is below the true one, else above it


@lru_cache(maxsize=16)
def allocated_laws(mu: float, steps: int) -> tuple[AtomicLaw, AtomicLaw]:
    """Return laws of finitely many losses above, and below, that of one of ``steps`` independent steps.

    Two blocks of steps make a third, with ratios on few nodes. For a law above, mass between two nodes goes
    to both, its mean kept: the true pair is made of that one by post-processing, and so is then every pair
    made of such blocks. Below it goes to its mean: that pair is made of the true one. Where most ratios are
    near 1, bounds on puts and calls make the laws sharper (see the module).
    """
    above = _mean(_single(max(mu, _LEAST), merged=False), steps)
    if mu < _LEAST:
        return _law(above), AtomicLaw(np.zeros(1), np.zeros(1))
    below, laws = _mean(_single(mu, merged=True), steps), None
    spread = math.sqrt(math.log1p(math.expm1(mu * mu) / steps))  # of a lognormal ratio of this variance
    if 1e-6 < spread < 0.5 and mu < 3:  # puts of a larger mu take seconds
        laws = _sharper_laws(Allocation(mu, steps), spread, above, below)
    return laws or (_law(above), _law(below))


def _sharper_laws(
    allocation: Allocation, spread: float, above: Block, below: Block
) -> tuple[AtomicLaw, AtomicLaw] | None:
    """Return laws above and below by puts and calls, or None where these are not known well enough.

    Strikes K are given as K - 1. Rows of ``strikes`` are a, b and c of the module, b a node.
    """
    # About 1 nodes are a hundredth of a deviation apart.
    node = np.expm1(_spaced(-7 * spread, 8 * spread, 2 * spread, 900))
    node[np.argmin(np.abs(node))] = 0.0
    gap = np.diff(node)
    near = np.minimum(np.append(gap[0], gap), np.append(gap, gap[-1])) / 8
    strikes = np.stack([node - near, node, node + near])
    try:
        with np.errstate(all="ignore"):  # overflow is NaN or infinite, and claims nothing
            puts = np.array([allocation.put(math.log1p(x), x, 1 + x) for x in strikes.ravel().tolist()])
    except (ArithmeticError, ValueError):
        return None
    corners, lines = [], []
    for calls in (False, True):
        side = node >= 0 if calls else node <= 0
        at, (low, high) = strikes[:, side], puts.T.reshape(2, *strikes.shape)[:, :, side]
        if calls:
            units = 4 * UNIT * (np.abs(at) + high) * (at != 0)
            low, high = low - at - units, high - at + units
        x, value, error, _ = _profile(above, calls=calls)
        start = np.zeros(0 if calls else 1)  # the put at K = 0
        corners.append(_hull([start - 1, x, at[1]], [start, value + error, high[1]]))
        x, value, error, slope = _profile(below, calls=calls)
        offset = slope * x - value + 2 * error + 4 * UNIT * (np.abs(slope * x) + value)
        lines.append(np.hstack([[slope, offset], _lines(at, low, high)]))
    (x, _, slope), (x_calls, calls_at, slope_calls) = corners
    at_1 = lines[0][:, -1:]  # the line at the last put, at K = 1: the first of the calls, with a slope less 1
    change, steepest = 1 + slope_calls[0] - slope[-1], at_1[0, 0]
    mass = np.concatenate([slope[:1], np.diff(slope), [change], np.diff(slope_calls), -slope_calls[-1:]])
    if not (change > 1e-4 and 0.5 <= steepest < 1 and np.all(mass >= 0)):  # so that steepest - 1 is exact
        return None
    ratio = 1 + np.concatenate([x, x_calls[1:]])
    zero = np.zeros((2, 1))  # the line 0
    (m, y), (m_calls, y_calls) = np.hstack([zero, lines[0]]), np.hstack([at_1 - [[1], [0]], lines[1], zero])
    kept, kept_calls = (m >= 0) & (m <= steepest), (m_calls >= steepest - 1) & (m_calls <= 0)
    m, _, cross = _hull([m[kept]], [y[kept]])
    m_calls, _, cross_calls = _hull([m_calls[kept_calls]], [y_calls[kept_calls]])
    crossing = 1 + np.append(cross, cross_calls)
    if not (crossing[0] > 0 and np.all(np.diff(crossing) > 0)):
        return None
    # Slopes are quotients of differences, and ``_hull`` keeps those that change by 1e-4 of themselves.
    slack, off = 2.0**-37, 4 * UNIT * (1 + 1 / crossing[0])
    return (
        _law(Block(ratio, mass, float(calls_at[-1]), slack, 4 * UNIT)),
        _law(Block(crossing, np.append(np.diff(m), np.diff(m_calls)), 0.0, slack, off)),
    )


def _profile(block: Block, *, calls: bool) -> tuple[Array, Array, Array, Array]:
    """Return K - 1 at ratios below 1, or for calls above it, with puts or calls there, errors, and slopes.

    A slope is that of the line between the ratio and the next one towards K = 1, which is below elsewhere.
    """
    way = slice(None, None, -1 if calls else 1)
    under_p, under_q = (np.cumsum(each[way])[way] for each in (block.mass, block.mass * block.ratio))
    under_q = under_q + block.infinite * calls
    value = block.ratio * under_p - under_q
    unit = block.slack + 2 * block.off + (4 * len(value) + 16) * UNIT
    error = unit * ((1 + block.ratio) * under_p + under_q)
    side = block.ratio > 1 if calls else (block.ratio > 0) & (block.ratio < 1)
    sign = -1 if calls else 1
    return block.ratio[side] - 1, sign * value[side], error[side], sign * under_p[side]


def _lines(at: Array, low: Array, high: Array) -> Array:
    """Return rows m and m b - v of lines below through b by bounds at a, b and c; NaN where there is none."""
    before, after = at[1] - at[0], at[2] - at[1]
    left = (low[1] - high[0]) / before, (high[1] - low[0]) / before  # slopes of the chords, from both sides
    right = (low[2] - high[1]) / after, (high[2] - low[1]) / after
    units = 8 * UNIT * np.sum(np.abs([*left, *right]), axis=0)
    slope = (left[1] + right[0]) / 2
    slope[left[1] + units > right[0] - units] = np.nan
    less = np.maximum((slope - left[0] + units) * after, (right[1] - slope + units) * before)
    return np.stack([slope, slope * at[1] - low[1] + less + 8 * UNIT * (np.abs(slope * at[1]) + high[1])])


def _hull(x: Sequence[Array], y: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Return vertices of a lower hull and the slopes between them, each 1e-4 of both above the one before."""
    at, to = map(np.concatenate, (x, y))
    order = np.argsort(at)
    at, to = lower_hull(at[order], to[order])
    while True:
        slope = np.diff(to) / np.diff(at)
        kept = np.diff(slope) > 1e-4 * (np.abs(slope[1:]) + np.abs(slope[:-1]))
        if kept.all():
            return at, to, slope
        kept = np.pad(kept, 1, constant_values=True)
        at, to = at[kept], to[kept]


class Groups(NamedTuple):
    """A Gram matrix G_ij = ``common``, + ``group`` for i and j in one group, + ``single`` for i = j."""

    steps: int
    size: int  # of a group; the last one may be smaller
    common: float
    group: float
    single: float


@lru_cache(maxsize=16)
def bound_gram(strategy: Any, bins: int, epochs: int) -> tuple[Array, Array]:
    """Return Gram matrices of bins, from above for |C|, from below for C, the lower triangular ``strategy``.

    Step t is in bin t mod bins, and a bin's vector is the sum of the columns of its steps; C is given whole,
    or by its first column where it is Toeplitz. Sums have a term for each epoch, products one for each step.
    """
    steps, entries = bins * epochs, np.array(strategy)

    def gram(values: Array) -> Array:
        if values.ndim == 2:
            columns = values.reshape(steps, epochs, bins).sum(axis=1)
        else:
            columns = np.zeros((steps, bins))
            for t in range(steps):
                columns[t : t + len(values), t % bins] += values[: steps - t]
        return np.asarray(columns.T @ columns)

    is_exact = np.all(entries == np.rint(entries)) and steps * np.sum(np.abs(entries)) ** 2 < 2**53
    size = gram(np.abs(entries))
    off = 0.0 if is_exact else (steps + 4 * epochs + 16) * UNIT * size
    return size + off, (gram(entries) if np.min(entries) < 0 else size) - off


def group_bins(gram: Array, *, above: bool) -> Groups:
    """Return groups of neighbouring bins whose Gram matrix is above, or below, ``gram`` in every entry.

    Below, negative entries count as 0. Of the sizes tried it is that with the least, or the largest, variance
    of the mean ratio, the mean of e^(G_ij) - 1.
    """
    bins, off_diagonal, sign = len(gram), ~np.eye(len(gram), dtype=bool), 1 if above else -1
    best = math.inf, Groups(1, 1, 0.0, 0.0, 0.0)
    for size in np.unique(np.geomspace(1, max(bins // 2, 1), 24).astype(int)).tolist():
        group = np.arange(bins) // size
        same = np.equal.outer(group, group)
        inside = same & off_diagonal
        # Entries of two groups, of two bins in one, and of one bin: the extreme of each, made to increase.
        kinds = [~same, inside if size > 1 else ~same, ~off_diagonal]
        levels = np.array([max(sign * float(np.max(sign * gram[kind])), 0.0) for kind in kinds])
        levels = np.maximum.accumulate(levels) if above else np.minimum.accumulate(levels[::-1])[::-1]
        levels *= [1, 1, 1 + 1e-6] if above else [1 - 1e-6, 1 - 1e-6, 1]  # so that ``single`` is positive
        parts = np.diff(levels, prepend=0.0) * (1 + sign * 8 * UNIT)
        entries = [np.sum(~same), np.sum(inside), bins]
        variance = float(np.dot(entries, np.expm1(np.minimum(levels, 700))))
        best = min(best, (sign * variance, Groups(bins, size, *parts.tolist())))
    return best[1]


@lru_cache(maxsize=16)
def grouped_law(groups: Groups, *, merged: bool) -> AtomicLaw:
    """Return the law above that of correlated steps, or below it (``merged``).

    X_i = Z + Z_group + Z_i has this Gram matrix, with independent normal variables: given Z_group ratios in a
    group are independent, and e^(Z_group - group/2) multiplies their mean.
    """
    (steps, size), least = groups[:2], 0.0 if merged else _LEAST**2
    common, group, single = (x if x >= _LEAST**2 else least * (x > 0) for x in groups[2:])
    single = max(single, least)
    if single == 0:  # the law without any loss is below all
        return AtomicLaw(np.zeros(1), np.zeros(1))
    count, rest = divmod(steps, size)

    def with_factor(block: Block, variance: float) -> Block:
        """Return the block of Y e^(Z - variance/2), Z independent and normal of that variance."""
        factor = _single(math.sqrt(variance), merged=merged) if variance else None
        return _combined(block, factor, np.multiply) if factor else block

    def mean_of_group(n: int) -> Block:
        return with_factor(_mean(_single(math.sqrt(single), merged=merged), n), group)

    mean = _mean(mean_of_group(size), count)
    if rest:
        mean = _combined(_scaled(mean, 1 - rest / steps), _scaled(mean_of_group(rest), rest / steps), np.add)
    return _law(with_factor(mean, common))


def _law(block: Block) -> AtomicLaw:
    """Return the law of the loss log ratio of a block."""
    kept = (block.mass > 0) & (block.ratio > 0)
    loss, log_p = np.log(block.ratio[kept]), np.log(block.mass[kept])
    slack = block.slack + UNIT * (8 + 2 * np.abs(log_p))
    position = block.off + UNIT * (32 + 8 * float(np.max(np.abs(loss))))
    # More mass at infinity is never more private; _LEFT is more than all products below floats.
    zero = float(np.sum(block.mass[block.ratio == 0])) * (1 + 4 * block.slack)
    infinite = block.infinite * (1 + 4 * block.slack)
    if zero or infinite:
        zero, infinite = zero + _LEFT, infinite + _LEFT
    return AtomicLaw(loss, log_p, zero, infinite, slack, position=position)


def _mean(block: Block, n: int) -> Block:
    """Return the block of the mean of n independent ratios of a block, by halves."""
    if n == 1:
        return block
    half = _scaled(_mean(block, n // 2), 0.5)
    even = _combined(half, half, np.add)
    return even if n % 2 == 0 else _combined(_scaled(even, (n - 1) / n), _scaled(block, 1 / n), np.add)


@lru_cache(maxsize=16)
def _single(mu: float, *, merged: bool) -> Block:
    """Return the block of one step, of L between N(0, 1) and N(mu, 1), by cells [a, b] of losses.

    Above, a cell's P-mass is split to keep its Q-mass: (Q - e^a P)/(e^b - e^a), its ``excess`` over that,
    goes to e^b, and (P - e^-b Q)/(1 - e^(a-b)), of the ``deficit``, to e^a. Below it is at its mean ratio
    Q/P.
    """
    reach = mu * 17.0 + mu * mu / 2  # 17 deviations: e^-144 lies outside
    inner = _spaced(-reach, reach, mu)
    edges = np.concatenate([[-np.inf], inner, [np.inf]])
    cells = GaussianLaw(mu).cells(edges)
    # An edge is exact; its ratio, and the ratio of a width, are good to a few units.
    slack = float(np.max(cells.slack)) + 64 * UNIT
    if merged:
        p, q = masses(cells, edges)
        some = (p > 0) & (q > 0)
        return Block(q[some] / p[some], p[some], 0.0, slack, 2 * slack, merged=True)
    fall = -np.expm1(-np.diff(edges))
    mass = cells.deficit / fall
    mass[1:] += cells.excess[:-1] / np.exp(inner) / fall[:-1]
    return Block(np.append(0.0, np.exp(inner)), mass, float(cells.excess[-1]), slack, 4 * UNIT)


def _spaced(low: float, high: float, scale: float, count: int = _RATIOS) -> Array:
    """Return log-ratios as nodes between two, even within about their deviation ``scale``, then sparser."""
    flat = scale * (1 + scale / 3)  # means are +-scale^2/2 under Q and P
    return np.asarray(flat * np.sinh(np.linspace(math.asinh(low / flat), math.asinh(high / flat), count)))


def _ends(ratio: Array, mass: Array) -> tuple[float, float]:
    """Return log-ratios below which P has less than _LEFT, and above which Q has, on a coarse grid."""
    coarse = np.geomspace(np.min(ratio[ratio > 0]), np.max(ratio), 400)
    at = np.searchsorted(coarse, ratio)
    under_p, under_q = (np.bincount(at, m, len(coarse) + 1) for m in (mass, mass * ratio))
    low = int(np.searchsorted(np.cumsum(under_p), _LEFT)) - 1
    high = len(coarse) - int(np.searchsorted(np.cumsum(under_q[::-1]), _LEFT))
    return float(np.log(coarse[max(low, 0)])), float(np.log(coarse[min(high, len(coarse) - 1)]))


def _scaled(block: Block, share: float) -> Block:
    return block._replace(ratio=share * block.ratio, infinite=share * block.infinite)


def _combined(one: Block, two: Block, combine: np.ufunc) -> Block:
    """Return the block of sums (np.add) or products of the independent ratios of two, on nodes of its own."""
    infinite = one.infinite + two.infinite
    off = (one.off + two.off if combine is np.multiply else max(one.off, two.off)) + 8 * UNIT
    # Nodes are placed by a sixteenth of all pairs: their ends, and the ``scale`` of a lognormal ratio of
    # their variance, of ratios whose squares are floats.
    few, share = combine.outer(one.ratio[::4], two.ratio[::4]), np.outer(one.mass[::4], two.mass[::4])
    few, share = few.ravel(), share.ravel() / np.sum(share)
    scale = float(np.sqrt(np.log1p(np.sum(share * (np.minimum(few, 1e150) - 1) ** 2))))
    nodes = np.append(0.0, np.exp(_spaced(*_ends(few, share), scale)))
    if one is two:  # of the two orders of different ratios one is enough, with twice the mass
        i, j = np.tril_indices(len(one.ratio))
        ratio, mass = combine(one.ratio[i], one.ratio[j]), one.mass[i] * one.mass[j] * (2.0 - (i == j))
    else:
        ratio, mass = combine.outer(one.ratio, two.ratio).ravel(), np.outer(one.mass, two.mass).ravel()
    cell = np.searchsorted(nodes, ratio, side="right") - 1
    if one.merged:  # the mass of a cell at its mean
        nearest = nodes[np.maximum(cell, 1)]  # from which ratios are measured: their means keep their digits
        sums = np.asarray(np.bincount(cell, mass, _RATIOS + 1), dtype=float)
        moved = np.bincount(cell, mass * (ratio - nearest), _RATIOS + 1)
        some = sums > 0
        moved, sums, nodes = moved[some] / sums[some], sums[some], np.append(nodes[1], nodes[1:])[some]
        slack = one.slack + two.slack + UNIT * (int(np.max(np.bincount(cell))) + 16)
        # Of a mean of distances to a node, weighted by masses with this error.
        off += 4 * slack * float(np.max(np.abs(moved) / (nodes + moved)))
        return Block(nodes + moved, sums, 0.0, slack, off, merged=True)
    cell = np.minimum(cell, _RATIOS - 1)  # mass at both nodes of its cell, or above all partly at infinity
    left, right = nodes[cell], nodes[cell + 1]
    inside = np.minimum(ratio, nodes[-1])
    below, above = mass * ((right - inside) / (right - left)), mass * ((inside - left) / (right - left))
    added = np.bincount(cell, below, _RATIOS + 1) + np.bincount(cell + 1, above, _RATIOS + 1)
    # Each share is a quotient of differences of floats, 3 units; sums have as many terms as a node has pairs.
    slack = one.slack + two.slack + UNIT * (2 * int(np.max(np.bincount(cell))) + 16)
    infinite = (infinite + float(np.sum(mass * (ratio - inside)))) * (1 + 1e-9)
    return Block(nodes, np.asarray(added, dtype=float), infinite, slack, off)
