"""Whole curves: piecewise-linear curves below and above f, valid at every alpha."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.core.curve import TradeOff
from tradeoff.core.dispatch import announces
from tradeoff.core.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError
from tradeoff.numerics.polygon import ONE, Line, Point, corners, hull, kink, whole
from tradeoff.numerics.rounding import TINY, UNIT, Array, down, up

_WIDTH = 1e-3
_REACH = 1e-21
_STEEPEST, _CLOSEST = 700.0, 1e-14
_ROUNDS, _MOST = 16, 2500
_ENDS: list[Point] = [(0, ONE), (ONE, 0)]


class Tabulated(NamedTuple):
    """Two curves with lower <= f <= upper at every alpha; unpacks as ``lower, upper``."""

    lower: PiecewiseLinear
    upper: PiecewiseLinear


@announces("tabulate")
def tabulate(f: TradeOff, alphas: ArrayLike | None = None) -> Tabulated:
    """Piecewise-linear curves below and above f, valid at every alpha, rounding included.

    Below: the largest of certified lines, 1 - delta(eps) - e^eps alpha for eps >= 0 and the same of f^-1. Above: the hull of
    points certified to lie above f.

    Parameters
    ----------
    f
        A curve without free symbols; only its bounds on delta (and on beta at given ``alphas``) are asked.
    alphas
        Type I errors in [0, 1] to use as nodes, one-dimensional. Default: chosen so that lower and upper differ by about
        1e-3 of min(beta, 1 - alpha - beta) for alpha from 1e-20 to 1 - 1e-20, wherever f's own bounds on delta are that
        narrow (they resolve 1 - delta to 1e-16, so not where 1 - delta(0) is as small as that: no privacy to speak of).

    Returns
    -------
    Tabulated
        ``(lower, upper)``. A piecewise-linear f is both itself.

    Raises
    ------
    DomainError
        If ``alphas`` is empty, not one-dimensional, or holds NaN or a value outside [0, 1].

    Notes
    -----
    The lines are Dong, Roth, Su 2022, Proposition 2.12; in terms of 1 - beta near alpha = 0, and of 1 - alpha near alpha = 1,
    they keep their relative accuracy. Vertices hold 1 - alpha and 1 - beta beside alpha and beta for the same reason.

    Examples
    --------
    >>> from tradeoff import Gaussian
    >>> f = Gaussian(1)
    >>> lower, upper = f.tabulate()
    >>> lower(0.05) <= f(0.05) <= upper(0.05) <= 1.001 * lower(0.05)
    True
    """
    if alphas is not None:
        return _at(f, alphas)
    if isinstance(f, PiecewiseLinear):
        return Tabulated(f, f)
    return of_orders(f) if f.symmetric else of_orders(f, f.inverse())


def of_orders(*curves: TradeOff) -> Tabulated:
    """Return the sides of the maximum of all lines of slope -1 and steeper of f, and of the mirror images of those of the last curve."""
    orders = [_Profile.of(f) for f in curves]
    below, above = ([side(order) for order in orders] for side in (_Profile.supporting, _Profile.covering))
    return Tabulated(_curve(corners(_both(below), up=False)), _curve([*corners(_both(above), up=True), *_ENDS]))


def _both(orders: list[list[Line]]) -> list[Line]:
    """Add the lines of f^-1, which are those of f with the errors exchanged."""
    return orders[0] + [(a, b, c) for b, a, c in orders[-1]]


def _line(slope: float, delta: float) -> Line:
    """Return the line slope alpha + beta = 1 - delta."""
    return whole(slope), ONE, ONE - whole(delta)


def _at(f: TradeOff, alphas: ArrayLike) -> Tabulated:
    """Chords between the given nodes, and the certified lines parallel to them."""
    try:
        nodes = np.asarray(alphas, dtype=float)
    except (TypeError, ValueError) as error:
        raise DomainError(f"alphas = {alphas!r} is not a list of type I errors") from error
    if nodes.ndim != 1 or len(nodes) == 0:
        raise DomainError(f"alphas = {alphas!r} is not a non-empty one-dimensional list of type I errors")
    nodes = np.unique(np.concatenate([[0.0], nodes, [1.0]]))
    points = [(whole(a), whole(b)) for a, b in zip(nodes.tolist(), f.bounds(nodes).upper.tolist(), strict=True)]
    upper = hull([*points, *_ENDS])
    epsilon = np.array([_log_ratio(b - d, c - a) for (a, b), (c, d) in pairwise(upper)] + [0.0])
    steep = _supporting(f, np.unique(epsilon[epsilon >= 0]))
    flat = _supporting(f.inverse(), np.unique(-epsilon[epsilon <= 0]))
    return Tabulated(_curve(corners(_both([steep, flat]), up=False)), _curve(upper))


def _curve(points: list[Point]) -> PiecewiseLinear:
    return PiecewiseLinear.of_wholes(*zip(*hull(points), strict=True))


def _log_ratio(rise: int, run: int) -> float:
    """Return the epsilon of a chord; where it is too steep or too flat, that of a line near enough."""
    return float(np.clip(np.log(rise / ONE) - np.log(run / ONE), -_STEEPEST, _STEEPEST)) if rise > 0 else -_STEEPEST


def _supporting(f: TradeOff, epsilon: Array) -> list[Line]:
    delta = f.bounds.delta(epsilon).upper
    return [_line(s, d) for s, d in zip(_ratio(epsilon, above=True), delta.tolist(), strict=True)]


def _ratio(epsilon: Array, *, above: bool) -> list[float]:
    """Return e^eps from one side: a steeper line is lower, so that a bound on delta at eps still holds for it."""
    s = np.exp(epsilon)
    found: list[float] = np.where(epsilon == 0, 1.0, up(s, 4) if above else down(s, 4)).tolist()
    return found


@dataclass
class _Profile:
    """delta of one order at chosen epsilon: the first a little below 0, then 0, then increasing to where the tail ends."""

    f: TradeOff
    epsilon: Array
    low: Array
    high: Array
    last: tuple[float, float]

    @classmethod
    def of(cls, f: TradeOff) -> _Profile:
        """Choose nodes: to where the tail ends, closer where the bounds stay apart."""
        top = _top(f)
        scale = np.concatenate([np.geomspace(2.0**-20, 1.0, 41), np.linspace(0.0, 1.0, 33)[1:]]) * top
        positive = np.unique(scale[scale >= _CLOSEST])
        nodes = np.concatenate([[-positive[0], 0.0], positive]) if len(positive) else np.array([-_CLOSEST, 0.0])
        nodes = nodes[np.append(True, np.diff(nodes) >= _CLOSEST / 2)]
        empty = np.empty(0)
        profile = cls(f, empty, empty, empty, tuple(f.bounds.delta(np.inf)))
        profile.ask(nodes)
        for _ in range(_ROUNDS):
            fresh = profile.wanted()
            if len(fresh) == 0:
                break
            profile.ask(fresh[: _MOST - len(profile.epsilon)])
        return profile

    def ask(self, fresh: Array) -> None:
        """Add nodes; delta falls, so that a bound holds on one side of its node too."""
        low, high = self.f.bounds.delta(fresh)
        high = np.where(fresh >= self.f.sup_loss, np.minimum(high, self.last[1]), high)
        order = np.argsort(np.append(self.epsilon, fresh))
        self.epsilon = np.append(self.epsilon, fresh)[order]
        self.low = np.maximum.accumulate(np.append(self.low, low)[order][::-1])[::-1]
        self.high = np.minimum.accumulate(np.append(self.high, high)[order])

    def wanted(self) -> Array:
        """Return the middles of cells where the two sides are too far apart, unless the bounds at the nodes are the reason."""
        e, low, high = self.epsilon, self.low, self.high
        if len(e) < 3:
            return np.empty(0)
        step = np.exp(e[:-1]) * np.expm1(np.diff(e))
        width = step[1:]
        rise = (low[1:-1] - high[:-2]) / step[:-1]
        fall = np.append((high[3:] - low[2:-1]) / step[2:], 0.0)
        a, b = low[1:-1], low[2:]
        with np.errstate(invalid="ignore", divide="ignore"):
            t = np.clip(np.nan_to_num((b - fall * width - a) / (rise - fall)), 0.0, width)
        chord = high[1:-1] + (high[2:] - high[1:-1]) * (t / width)
        gap = chord - np.maximum(a + rise * t, b - fall * (width - t))
        alpha = (high[1:-1] - high[2:]) / width
        excess = high[1:-1] + np.expm1(e[1:-1]) * alpha
        # min(beta, 1 - alpha - beta) for f; for f^-1 this gap is one in alpha, s times as wide as that in beta
        own, other = np.minimum(np.maximum(1 - alpha - excess, UNIT), excess), np.exp(e[1:-1]) * alpha
        unit = np.maximum(np.minimum(own, other), TINY)
        noise = np.maximum((high - low)[1:-1], (high - low)[2:]) + 4 * UNIT * excess
        goal = _WIDTH * unit
        worth = (gap > 6 * noise) & (alpha + excess > self.last[0] + _REACH) & (np.diff(e)[1:] > 2 * _CLOSEST)
        open_ = np.flatnonzero(worth & (gap > goal))
        worst = open_[np.argsort(-gap[open_] / goal[open_])]
        return np.asarray((e[1:-1] + e[2:])[worst] / 2)

    def supporting(self) -> list[Line]:
        """Return lines below f: 1 - delta(eps) - e^eps alpha."""
        slopes = _ratio(self.epsilon[1:], above=True)
        return [_line(s, d) for s, d in zip(slopes, self.high[1:].tolist(), strict=True)]

    def covering(self) -> list[Line]:
        """Return lines whose maximum is above f: those of the vertices of a convex curve below delta(log s).

        On a cell of s, delta lies above the chord of the cell to the left, prolonged, and above that of the cell to the
        right; sup_s 1 - delta - s alpha over the cell is then at an end or where the two meet.
        """
        below = list(zip(_ratio(self.epsilon, above=False), self.low.tolist(), strict=True))
        above = list(zip(_ratio(self.epsilon, above=True), self.high.tolist(), strict=True))
        found = [*below[1:], (below[-1][0], self.last[0])]
        for k in range(1, len(below) - 1):
            meet = _meet(above[k - 1], below[k], below[k + 1], above[k + 2] if k + 2 < len(above) else None)
            if meet is not None:
                found.append(meet)
        return [_line(s, d) for s, d in found]


def _meet(
    before: tuple[float, float], left: tuple[float, float], right: tuple[float, float], after: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Return where the prolonged chords before-left and right-after meet over the cell from left to right."""
    if after is None or after[1] >= right[1]:
        after = (2 * right[0], right[1])  # delta falls: to the left of ``right`` it is at least as large
    p, q, r, s = ((whole(x), whole(y)) for x, y in (before, left, right, after))
    found = kink((p, q), (r, s))
    inside = found is not None and left[0] * (1 - 8 * UNIT) <= found[0] <= right[0] * (1 + 8 * UNIT)
    return found if inside else None


def _top(f: TradeOff) -> float:
    """Return an epsilon beyond which P(L > eps) and delta - Q(L = inf) are negligible, or where the losses end."""
    limit = min(max(f.sup_loss, 0.0) * (1 + 8 * UNIT), _STEEPEST)
    epsilon: Array = np.exp2(np.arange(-44.0, 1.0))
    while (top := _end(f, epsilon := _until(epsilon, limit))) is None:
        epsilon = np.append(epsilon, 2 * epsilon[-1])
    return _end(f, _until(top * np.arange(1.0, 33.0) / 32, limit)) or top


def _until(epsilon: Array, limit: float) -> Array:
    return np.append(epsilon[epsilon < limit], limit) if epsilon[-1] >= limit else epsilon


def _end(f: TradeOff, epsilon: Array) -> float | None:
    """Return the first node after which there is next to nothing; None if that may go on beyond the last."""
    delta, last = f.bounds.delta(epsilon).upper, f.bounds.delta(np.inf).upper
    # P(L > b) (e^b - e^a) <= delta(a) - delta(b), whose rounding counts as mass
    fall = np.maximum(delta[:-1] - delta[1:], 0.0) + 4 * UNIT * delta[:-1]
    with np.errstate(divide="ignore", over="ignore"):
        alpha = np.exp(np.log(fall) - epsilon[:-1] - np.log(np.expm1(np.diff(epsilon))))
    heavy = np.flatnonzero((alpha > _REACH / 10) | (delta[:-1] > last * (1 + 64 * UNIT) + _REACH / 10))
    after = int(heavy[-1]) + 1 if len(heavy) else 0
    return float(epsilon[after]) if after < len(epsilon) - 1 or f.sup_loss <= epsilon[-1] or epsilon[-1] >= _STEEPEST else None
