"""A table of certified points of the profile delta(epsilon), from which every question is answered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tradeoff.accounting.conjugate import Enclosure
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.rounding import UNIT, Array, Index


@dataclass(frozen=True, eq=False)
class ProfileTable(Enclosure):
    """Bounds on delta at increasing losses, of one order.

    ``upper`` at ``above``, ``lower`` at ``below``, convex in e^epsilon between; ``leak`` bounds delta from
    below at every loss.
    """

    above: Array
    upper: Array
    below: Array
    lower: Array

    @property
    def reverse(self) -> bool:
        """Whether it is of the other order, and answers at -x."""
        return self.kind == "other"

    def bound(self, x: Array) -> Bounds:
        return Bounds(*self.delta(-x if self.reverse else x))

    def delta(self, epsilon: Array) -> Pair:
        """Bound delta(epsilon): chords of upper bounds are above it, the polygon of lower ones below."""
        upper = _chord(self.above, self.upper, epsilon, right=float(self.upper[-1]), left=1.0)
        lower = _chord(self.below, self.lower, epsilon, right=0.0, left=0.0)
        before, after = self._left_of(epsilon)
        lower, upper = np.maximum(lower, before), np.minimum(np.minimum(upper, after) * (1 + 16 * UNIT), 1.0)
        least = np.maximum(-np.expm1(np.minimum(epsilon, 0.0)) * (1 - 4 * UNIT), self.leak)
        return np.minimum(np.maximum(lower * (1 - 16 * UNIT), least), upper), upper

    def _left_of(self, epsilon: Array) -> Pair:
        """Bound delta left of the table: in s = e^epsilon it is convex, and 1 at 0.

        So it is above the chord of a lower bound and an upper one further right, prolonged, and below the
        chord from 1 to an upper bound.
        """
        a, lower, slope = self._chord_on_left
        b, upper = self._chord_from_1
        before = lower - slope * np.expm1(np.minimum(epsilon - a, 0.0))
        after = upper - (1 - upper) * np.expm1(np.minimum(epsilon - b, 0.0))
        return np.where(epsilon < a, before, 0.0), np.where(epsilon < b, after, 1.0)

    @cached_property
    def _chord_on_left(self) -> tuple[float, float, float]:
        """Return the node of the greatest lower bound, and the steepest chord from there, in units of its s.

        Each slope is known to 8 units and those of a width, which expm1 takes 1 + width times.
        """
        k = int(np.argmax(self.lower))
        a, lower = float(self.below[k]), float(self.lower[k])
        width = self.above - a
        widest = 30.0  # chord, in nats, that is prolonged to the left
        near = (width > 0) & (width < widest)
        with np.errstate(over="ignore"):  # of nothing known, far below 0
            slopes = (lower - self.upper[near]) / np.expm1(width[near]) * (1 - (16 + 4 * widest) * UNIT)
        return a, lower, float(np.max(slopes, initial=0.0))

    @cached_property
    def _chord_from_1(self) -> tuple[float, float]:
        """Return the end of the steepest chord that begins at 1 where s = 0."""
        k = int(np.argmax((1 - self.upper) * np.exp(-np.maximum(self.above, -700.0))))
        return float(self.above[k]), float(self.upper[k])

    @cached_property
    def _monotone(self) -> Pair:
        return np.minimum.accumulate(self.upper), np.maximum.accumulate(self.lower[::-1])[::-1]

    def crossing(self, delta: Array, guess: Array) -> Array:
        """Return where the upper bounds cross a level, or the lower ones if those never fall so low."""
        if self.reverse:
            return guess
        falling, least = self._monotone  # the greatest lower bound at a node or right of it
        k = np.searchsorted(-falling, -delta, side="left")
        last = np.searchsorted(-least, -delta, side="left") - 1
        right = np.clip(k, 0, len(falling) - 1)
        crossed = np.where(
            k == 0, self.above[0], _cross(self.above, falling, np.maximum(right - 1, 0), delta)
        )
        return np.where(k < len(falling), crossed, self.below[np.maximum(last, 0)])

    def peak(self, alpha: Array, guess: Array) -> Array:
        """Return the nodes where 1 - delta - s alpha is largest."""
        del guess
        place = self.above[np.searchsorted(-self._switches, -alpha if not self.reverse else alpha - 1)]
        return -place if self.reverse else place

    @cached_property
    def _switches(self) -> Array:
        """Return the falling alphas at which the largest node changes.

        Of a chord from s to t they are minus its slope in s; in the other order 1 - alpha is where the chord
        meets s = 0.
        """
        at = np.clip(self.above, -700.0, 700.0)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            slope = -np.diff(self.upper) / np.expm1(np.diff(at))
            switches = self.upper[:-1] + slope if self.reverse else slope * np.exp(-at[:-1])
        switches = np.nan_to_num(switches, nan=0.0)
        return np.maximum.accumulate(switches[::-1])[::-1]  # they are 0 where the bounds are trivial


def _chord(at: Array, value: Array, epsilon: Array, *, left: float, right: float) -> Array:
    """Interpolate linearly in e^epsilon, without forming it; constants to both sides of the table."""
    inside = np.clip(epsilon, at[0], at[-1])
    k = np.clip(np.searchsorted(at, inside, side="right") - 1, 0, len(at) - 2)
    part, whole, rest = inside - at[k], at[k + 1] - at[k], at[k + 1] - inside
    # (e^part - 1)/(e^whole - 1) to a few units of 1 + rest.
    small = np.expm1(np.minimum(part, 30.0)) / np.expm1(np.clip(whole, 5e-324, 30.0))
    large = np.exp(-rest) * np.expm1(-part) / np.expm1(-np.maximum(whole, 1.0))
    weight = np.where(whole > 30.0, large, small)
    inner = value[k] + np.clip(weight, 0.0, 1.0) * (value[k + 1] - value[k])
    return np.where(epsilon < at[0], left, np.where(epsilon >= at[-1], right, inner))


def _cross(at: Array, value: Array, k: Index, level: Array) -> Array:
    """Return where the chord of cell k meets ``level``."""
    following = np.minimum(k + 1, len(at) - 1)
    drop = value[k] - value[following]
    weight = np.clip((value[k] - level) / np.where(drop > 0, drop, 1.0), 0.0, 1.0)
    width = at[following] - at[k]
    with np.errstate(divide="ignore"):  # in a wide cell e^x = e^b w, counted from its right end
        far = np.maximum(at[following] + np.log(weight), at[k])
    return np.asarray(
        np.where(width > 30.0, far, at[k] + np.log1p(weight * np.expm1(np.minimum(width, 30.0))))
    )
