"""Law of L = log q - log p of two laws on the line, from their tails, where L is monotone piece by piece.

{L >= t} is an interval at one end of every piece, so its masses are differences of cdf or sf, whichever are
smaller; errors are absolute where they cancel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip
from tradeoff.intervals.rounding import TINY, UNIT, Array, Index

# Relative accuracy taken for granted of a cdf and an sf, and absolute accuracy of a log-density.
TRUST = 1e-12

LOSS_ERROR = 4 * TRUST  # error of a computed loss: two log-densities, and 8 units of each, below 1500 in size

# Farthest point at which densities are asked, some 1e150: squares of what is far larger are no floats.
REACH = 2.0**498

_UNDERFLOW = 1e-305  # absolute error of a mass: what SciPy returns below it may have lost all digits
_FARTHEST = 690.0  # loss up to which e^loss times a mass is known: beyond, one mass alone bounds delta
_SURE = 40.0  # losses by which q is more than 2^53 times e^eps p
_STEPS = 160  # steps of a search, half of them bisections of the floats, of which 64 separate any two


class Side(Protocol):
    """One of the two laws: its density, and its tails."""

    @property
    def support(self) -> tuple[float, float]:
        """Ends outside which there is no density."""

    fine: float
    """The least distance from an end at 0 at which the density has all its digits."""

    @property
    def slack(self) -> tuple[float, float]:
        """What cdf and sf may err by beside their share, as an sf that is 1 - cdf does."""

    def logpdf(self, x: Array) -> Array:
        """Log-density, -inf where there is none."""

    def cdf(self, x: Array) -> Array:
        """P(X <= x)."""

    def sf(self, x: Array) -> Array:
        """P(X > x)."""


class Piece(NamedTuple):
    """An interval, perhaps infinite, inside which L rises, or else falls from its lower end.

    ``first`` and ``last`` are the outermost points that are looked at; ``known_low`` and ``known_high`` say
    whether L is there, but for its error, what it is up to the end.
    """

    low: float
    high: float
    rising: bool
    first: float
    last: float
    known_low: bool
    known_high: bool

    @property
    def inside(self) -> tuple[float, float]:
        """Return the outermost points, first the one where L is least."""
        return (self.first, self.last) if self.rising else (self.last, self.first)

    @property
    def ends(self) -> tuple[float, float]:
        """Return the ends, first the one where L is least."""
        return (self.low, self.high) if self.rising else (self.high, self.low)

    @property
    def known(self) -> tuple[bool, bool]:
        """Return of which ends L is known, first the one where it is least."""
        return (self.known_low, self.known_high) if self.rising else (self.known_high, self.known_low)


@dataclass(frozen=True, eq=False)
class LineLaw:
    """Law of L on its pieces; ``p_minus`` and ``q_plus`` are the masses where one density is zero.

    ``bounded`` says that beyond the points looked at L is no larger and no smaller than at some of them;
    ``off`` is what masses, those among them that are not 0, may err by beside their share; ``apart`` is what
    ``p_minus`` and ``q_plus`` may err by, as differences of tails; ``doubt`` are the masses of P and Q of
    which no float tells the loss, and which may lie at any.
    """

    first: Side
    second: Side
    pieces: tuple[Piece, ...]
    p_minus: float = 0.0
    q_plus: float = 0.0
    bounded: bool = False
    off: float = 0.0
    apart: tuple[float, float] = (0.0, 0.0)
    doubt: tuple[float, float] = (0.0, 0.0)

    def reversed(self) -> LineLaw:
        """Return the law of the other order of the pair."""
        pieces = tuple(piece._replace(rising=not piece.rising) for piece in self.pieces)
        ends, apart, doubt = (self.q_plus, self.p_minus), self.apart[::-1], self.doubt[::-1]
        return LineLaw(self.second, self.first, pieces, *ends, self.bounded, self.off, apart, doubt)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        """Bound Q(L = inf)."""
        off = (self.off if self.q_plus > 0 else 0.0) + self.apart[1] + self.doubt[1]
        return clip(self.q_plus + Bounds(-off, off), 0.0, 1.0)

    def log_ratio(self, x: Array) -> Array:
        """Return L(x)."""
        with np.errstate(all="ignore"):
            return np.asarray(self.second.logpdf(x) - self.first.logpdf(x), dtype=float)

    @cached_property
    def extremes(self) -> list[tuple[float, float]]:
        """Least and greatest loss seen on each piece."""
        found = (self.log_ratio(np.array(piece.inside)) for piece in self.pieces)
        return [(float(low), float(high)) for low, high in found]

    def _threshold(self, k: int, loss: Array) -> tuple[Array, Array]:
        """Return points with L < loss up to the first, seen from the low end, and L >= loss from the second.

        They are one point where L meets the loss to a quarter of its error, and neighbouring floats where it
        jumps over it; beyond the floats looked at, nothing is claimed.
        """
        piece, (least, most) = self.pieces[k], self.extremes[k]
        (start, stop), (low, high), settled = piece.inside, piece.ends, piece.known
        outer, inner = np.full(loss.shape, start), np.full(loss.shape, stop)
        below, above = least - loss, most - loss
        every, none = below >= 0, ~(above >= 0)
        going = np.flatnonzero(~every & ~none)
        for step in range(_STEPS):
            if len(going) == 0:
                break
            a, b = outer[going], inner[going]
            x = middle(a, b)
            if step % 2:
                with np.errstate(all="ignore"):
                    line = a - below[going] * ((b - a) / (above[going] - below[going]))
                x = np.where((line > np.minimum(a, b)) & (line < np.maximum(a, b)), line, x)
            value = self.log_ratio(x) - loss[going]
            last, met = (x == a) | (x == b), np.abs(value) <= LOSS_ERROR / 4
            risen = value >= 0
            outer[going] = np.where(~risen | met, x, a)
            inner[going] = np.where(risen | met, x, b)
            below[going] = np.where(risen, below[going], value)
            above[going] = np.where(risen, value, above[going])
            going = going[~(last | met)]
        # Of an end where L is not known what lies beyond the floats looked at is in doubt.
        known, sure = (
            end if seen or self.bounded else near
            for near, end, seen in ((start, low, settled[0]), (stop, high, settled[1]))
        )
        outer, inner = np.where(every, low, outer), np.where(every, known, inner)
        return np.where(none, sure, outer), np.where(none, high, inner)

    def _mass(self, start: Array, stop: Array) -> Array:
        """Return P- and Q-masses between points, from whichever tails are smaller, and their errors."""
        x, y = np.minimum(start, stop), np.maximum(start, stop)
        (p, p_error), (q, q_error) = (between(side, x, y) for side in (self.first, self.second))
        off = self.off * (x < y)
        return np.array([p, q, p_error + off, q_error + off])

    def beyond(self, loss: Array) -> tuple[Array, Array]:
        """Return the masses of L >= loss, and those where no float tells whether it is, with their errors."""
        inside, gap = np.zeros((2, 4, len(loss)))
        for k, piece in enumerate(self.pieces):
            outer, inner = self._threshold(k, loss)
            end = np.full(loss.shape, piece.ends[1])
            both = self._mass(np.append(inner, outer), np.append(end, inner))
            inside, gap = inside + both[:, : len(loss)], gap + both[:, len(loss) :]
        return inside, gap

    def tail(self, epsilon: Array) -> tuple[Array, Array]:
        """Bound delta(eps) for eps >= 0.

        Whatever is rejected bounds delta from below. From above: let e be the error of a loss, and 2e the
        turn a piece may hide. What is rejected at eps + 4e has L > eps, what is not at eps - 4e has L < eps,
        and in between L > eps - 8e: there q - e^eps p and its positive part differ by at most
        (1 - e^(-8e)) e^eps p. Where L jumps between two floats, q is taken whole.
        """
        error, far = LOSS_ERROR * (1 + epsilon / 1000), epsilon >= _FARTHEST
        asked = np.append(epsilon + np.where(far, _SURE, 4 * error), epsilon - 4 * error)
        (inside, outside), (gap, wide) = (np.hsplit(masses, 2) for masses in self.beyond(asked))
        (p, q, p_error, q_error), (p_out, q_out, p_off, q_off) = inside, outside
        scale = np.exp(np.minimum(epsilon, _FARTHEST))
        value = q - scale * p
        noise = q_error + scale * p_error + 4 * UNIT * (q + scale * p)
        hidden = gap[1] + gap[3] + wide[1] + wide[3]  # masses of Q, and their errors
        with np.errstate(over="ignore", invalid="ignore"):  # far out, where it is not asked
            near = np.expm1(8 * error) * scale * (p_out + p_off)
        most = q_out + q_off + wide[1] + wide[3]
        # Where e^eps p is no float, q alone bounds, from below where e^eps p is less than a unit of it.
        low = np.where(far, (q - q_error) * (1 - 4 * UNIT), value - noise)
        high = np.maximum(np.where(far, most, np.minimum(value + noise + hidden + near, most)), 0.0)
        lost = self.mass_at_infinity
        return np.maximum(low, 0.0) + lost.lower, high * (1 + 4 * UNIT) + lost.upper + TINY


def between(side: Side, x: Array, y: Array) -> tuple[Array, Array]:
    """Return the masses between points, from whichever tails are smaller, and what these may err by."""
    with np.errstate(all="ignore"):
        before, after = (np.asarray(side.cdf(at), dtype=float) for at in (x, y))
        beyond, rest = (np.asarray(side.sf(at), dtype=float) for at in (x, y))
    right = beyond < after
    mass = np.where(right, beyond - rest, after - before)
    off = np.where(right, side.slack[1], side.slack[0])
    error = TRUST * np.where(right, beyond + rest, before + after) + _UNDERFLOW + 2 * off
    some = x < y
    return np.where(some, np.maximum(mass, 0.0), 0.0), np.where(some, error, 0.0)


def ordered(x: Array) -> Index:
    """Map floats to integers in their order, neighbours to neighbours; its own inverse, up to the type."""
    bits = np.asarray(x, dtype=np.float64).view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))


def middle(x: Array, y: Array) -> Array:
    """Return the float half-way between two in the order of the floats."""
    a, b = ordered(x), ordered(y)
    return floats((a & b) + ((a ^ b) >> 1))


def floats(order: Index) -> Array:
    """Return the floats of their places in the order, as ``ordered`` maps them."""
    bits = np.asarray(order, dtype=np.int64)
    return np.asarray((bits ^ ((bits >> 63) & np.int64(2**63 - 1))).view(np.float64))
