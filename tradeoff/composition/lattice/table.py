"""A table of certified points of the profile delta(epsilon), from which every question is answered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradeoff.intervals.rounding import UNIT, Array, Index


@dataclass(frozen=True, eq=False)
class ProfileTable:
    """Bounds on delta at increasing losses: ``upper`` at ``above``, ``lower`` at ``below``, convex in e^epsilon between.

    ``top`` bounds delta from above, ``floor`` from below, at every loss.
    """

    above: Array
    upper: Array
    below: Array
    lower: Array
    floor: float

    def delta(self, epsilon: Array) -> tuple[Array, Array]:
        """Bound delta(epsilon); a chord of upper bounds is above the convex profile, the polygon of lower ones below."""
        upper = _chord(self.above, self.upper, epsilon, right=float(self.upper[-1]), left=1.0)
        lower = _chord(self.below, self.lower, epsilon, right=0.0, left=0.0)
        upper = np.minimum(upper * (1 + 16 * UNIT), 1.0)
        lower = np.maximum(
            np.maximum(lower * (1 - 16 * UNIT), self.floor),
            -np.expm1(np.minimum(epsilon, 0.0)) * (1 - 4 * UNIT),
        )
        return np.minimum(lower, upper), upper

    def epsilon(self, delta: Array) -> tuple[Array, Array]:
        """Bound the least epsilon with delta(epsilon) <= delta; +-inf where the table does not reach."""
        return self._last_above(delta), self._first_below(delta)

    def _first_below(self, delta: Array) -> Array:
        falling = np.minimum.accumulate(self.upper)
        k = np.searchsorted(-falling, -delta, side="left")
        inside = k < len(falling)
        k = np.minimum(k, len(falling) - 1)
        crossing = _cross(self.above, falling, np.maximum(k - 1, 0), delta * (1 - 8 * UNIT))
        crossing = np.where(
            k == 0,
            self.above[0],
            np.minimum(crossing * (1 + 4 * UNIT * np.sign(crossing)) + 4 * UNIT, self.above[k]),
        )
        return np.where(inside, crossing, np.inf)

    def _last_above(self, delta: Array) -> Array:
        rising = np.maximum.accumulate(np.maximum(self.lower, self.floor)[::-1])[::-1]
        k = np.searchsorted(-rising, -delta, side="left") - 1  # the last node with lower > delta
        inside = k >= 0
        k = np.maximum(k, 0)
        everywhere = self.floor > delta
        crossing = np.where(
            k + 1 < len(rising),
            _cross(self.below, np.append(self.lower, 0.0), k, delta * (1 + 8 * UNIT)),
            self.below[k],
        )
        crossing = np.maximum(crossing * (1 - 4 * UNIT * np.sign(crossing)) - 4 * UNIT, self.below[k])
        return np.where(everywhere, np.inf, np.where(inside, crossing, -np.inf))


def _chord(at: Array, value: Array, epsilon: Array, *, left: float, right: float) -> Array:
    """Interpolate linearly in e^epsilon, without forming it; constants to both sides of the table."""
    inside = np.clip(epsilon, at[0], at[-1])
    k = np.clip(np.searchsorted(at, inside, side="right") - 1, 0, len(at) - 2)
    weight = _share(inside - at[k], at[k + 1] - at[k], at[k + 1] - inside)
    inner = value[k] + np.clip(weight, 0.0, 1.0) * (value[k + 1] - value[k])
    return np.where(epsilon < at[0], left, np.where(epsilon >= at[-1], right, inner))


def _share(part: Array, whole: Array, rest: Array) -> Array:
    """Return (e^part - 1)/(e^whole - 1) for part + rest = whole, to a few units of 1 + rest however wide the cell is."""
    wide = whole > 30.0
    small = np.expm1(np.minimum(part, 30.0)) / np.expm1(np.clip(whole, 5e-324, 30.0))
    return np.asarray(
        np.where(wide, np.exp(-rest) * np.expm1(-part) / np.expm1(-np.maximum(whole, 1.0)), small)
    )


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
