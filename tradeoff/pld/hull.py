"""Products of laws on one lattice, and the law of the greatest profile of several: vectors of integer noise.

All sums are of positive terms, in extended precision; where floats have none, there are no such laws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tradeoff.intervals.rounding import UNIT, Array, Index
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.integer_noise import CutLaw
from tradeoff.pld.law import PrivacyLossDistribution

_MOST, _MOST_FACTORS = 2**15, 64  # points of a lattice, and factors on it: a second
_SAME = 1e-6  # shares of a gap by which atoms of one point of a lattice may differ, and crossings lie apart
_CLOSE = 1e-9  # share of itself by which the law may miss the greatest profile
_FARTHEST = 1000.0  # losses up to which masses are floats
_EXTENDED = np.finfo(np.longdouble)
_WIDE = _EXTENDED.minexp < -16000 and float(_EXTENDED.eps) < UNIT / 256


def product_on_lattice(laws: Sequence[PrivacyLossDistribution], counts: Sequence[int]) -> AtomicLaw | None:
    """Return the law of a product of laws whose atoms lie on one lattice, if they are few, or None.

    Masses p e^(L/2) are multiplied: none is below all floats. Mass below e^-750 is left out.
    """
    gaps = [np.min(np.diff(law.atoms.loss), initial=np.inf) for law in laws]
    infinite = any(law.mass_at_minus_infinity or law.mass_at_plus_infinity for law in laws)
    if not _WIDE or infinite or any(law.continuous for law in laws) or not np.isfinite(gaps).all():
        return None
    finest = laws[int(np.argmin(gaps))].atoms.loss
    gap = np.ptp(finest) / np.rint(np.ptp(finest) / min(gaps))
    size = sum(n * float(np.ptp(law.atoms.loss)) for law, n in zip(laws, counts, strict=True)) / gap
    if not (size < _MOST and sum(counts) <= _MOST_FACTORS):
        return None
    deepest = np.longdouble(780 + size * gap / 4)
    start, position, mass, upper = 0.0, 0.0, np.ones(1, np.longdouble), np.ones(1, np.longdouble)
    for law, n in zip(laws, counts, strict=True):
        loss, log_p, slack = law.atoms
        at = np.rint((loss - loss[0]) / gap).astype(np.int64)
        off = float(np.max(np.abs(loss - (loss[0] + gap * at))))
        if off > _SAME * gap:
            return None
        largest = float(np.max(np.abs(loss)))
        start, position = (
            start + n * loss[0],
            position + n * (off + np.max(law.loss_error) + 8 * UNIT * largest),
        )
        each = np.zeros((2, at[-1] + 1), np.longdouble)
        each[0, at] = np.exp(log_p.astype(np.longdouble) + loss.astype(np.longdouble) / 2)
        each[1] = each[0]
        each[1, at] *= 1 + slack
        for _ in range(n):
            mass, upper = np.convolve(mass, each[0]), np.convolve(upper, each[1])
            seen = np.flatnonzero(mass > np.exp(-deepest))  # the rest is below e^-750 under P and Q
            inside = slice(seen[0], seen[-1] + 1)
            start, mass, upper = start + gap * seen[0], mass[inside], upper[inside]
    seen = np.flatnonzero(mass)
    loss = start + gap * seen
    log_p = (np.log(mass[seen]) - loss / 2).astype(float)
    rounding = float(4 * len(mass) * sum(counts) * _EXTENDED.eps) + UNIT * (
        8 + 2 * np.abs(log_p) + np.abs(loss)
    )
    slack = (upper[seen] / mass[seen] - 1).astype(float) + rounding
    position += 8 * UNIT * float(np.max(np.abs(loss)))
    return AtomicLaw(loss, log_p, slack=slack, position=position)


class _Profiles(NamedTuple):
    """Masses of laws at common losses, their profiles D at s = e^loss, and D - (1 - s), a row for each."""

    loss: Array
    mass: Any
    above: Any
    below: Any

    @classmethod
    def of(cls, loss: Array, mass: Any) -> _Profiles:
        """Sum positive terms: D_k = D_(k+1) + (s_(k+1) - s_k) P(L > s_k), and D - (1 - s) from the left."""
        gaps = np.diff(np.exp(loss.astype(np.longdouble)))
        rising, falling = np.cumsum(mass, axis=1), np.cumsum(mass[:, ::-1], axis=1)[:, ::-1]
        zero = np.zeros((len(mass), 1), np.longdouble)
        above = np.cumsum((gaps * falling[:, 1:])[:, ::-1], axis=1)[:, ::-1]
        return cls(
            loss, mass, np.hstack([above, zero]), np.hstack([zero, np.cumsum(gaps * rising[:, :-1], axis=1)])
        )

    def greatest(self, tolerance: float) -> Index:
        """Return the law of the greatest profile at each loss: up to the tolerance the one before."""
        value = np.where(self.loss >= 0, self.above, self.below)
        best, top = np.argmax(value, axis=0), np.max(value, axis=0)
        result = best.copy()
        for k in range(1, len(result)):
            last = result[k - 1]
            result[k] = last if top[k] <= value[last, k] * (1 + tolerance) else best[k]
        for k in range(len(result) - 2, -1, -1):  # the profile that takes over was not greater before
            if value[result[k + 1], k] > value[result[k], k]:
                result[k] = result[k + 1]
        return np.asarray(result)

    def changes(self, best: Index) -> tuple[Index, Any, Any, Any, Any]:
        """Return the cells where another profile becomes the greatest.

        With them, over the width, by how much the old one is above the new one at the start, and the new one
        at the stop; by how much the chord is above both where they cross, of them; the greatest value over
        the width.
        """
        k, width = np.flatnonzero(best[1:] != best[:-1]), np.diff(np.exp(self.loss.astype(np.longdouble)))
        right, old, new = self.loss[k + 1] >= 0, best[k], best[k + 1]
        first, under, over, last = (
            np.where(right, self.above[law, at], self.below[law, at])
            for at in (k, k + 1)
            for law in (old, new)
        )
        ahead, behind = np.maximum(first - under, 0.0), np.maximum(last - over, 0.0)
        share = ahead / np.maximum(ahead + behind, _EXTENDED.tiny)
        crossing = np.maximum(first + share * (over - first), _EXTENDED.tiny)
        size = np.maximum(first, last) / width[k]
        return k, ahead / width[k], behind / width[k], share * behind / crossing, size


def law_of_greatest_profile(laws: Sequence[AtomicLaw]) -> AtomicLaw | None:
    """Return the law of the greatest profile of laws, if it is almost one of theirs everywhere; or None.

    Between the losses of all atoms profiles are lines in s = e^eps. R is at each loss one of them, up to r of
    itself below the greatest; D - (1 - s) takes the place of D for s < 1. In a cell where that changes the
    chord, up to r above both, needs more mass at both ends.

    With k = 1 - r and the masses of R, those of Q become k q + (1 - k) p where q > p, and those of P become
    k p + (1 - k) q where q < p: that has the profile k D at (s - 1 + k)/k >= s, and likewise below 1. Both
    lose the same mass, at most r, and are divided by the rest. So laws below and, with k = 1 + r, above the
    greatest profile have masses and losses within 3 r of those of R. The mass that laws lack, below e^-750
    each, is less than the rounding of any delta.
    """
    least = min(float(np.min(np.diff(law.loss), initial=np.inf)) for law in laws)
    every = np.unique(np.concatenate([law.loss for law in laws]))
    if not _WIDE or len(every) > _MOST or not least > 0 or np.max(np.abs(every)) > _FARTHEST:
        return None
    first = np.append(True, np.diff(every) > _SAME * least)
    loss, owner = every[first], np.cumsum(first) - 1
    mass = np.zeros((len(laws), len(loss)), np.longdouble)
    for row, law in zip(mass, laws, strict=True):
        np.add.at(row, owner[np.searchsorted(every, law.loss)], np.exp(law.log_p.astype(np.longdouble)))
    slack = max(float(np.max(law.atoms.slack)) for law in laws) + float(8 * len(loss) * _EXTENDED.eps)
    profiles = _Profiles.of(loss, mass)
    best = profiles.greatest(4 * slack)
    k, ahead, behind, above, size = profiles.changes(best)
    r = 6 * slack + float(np.max(above, initial=0.0))
    if r > _CLOSE:
        return None
    p, off = mass[best, np.arange(len(loss))], np.zeros(len(loss), np.longdouble)
    for at, more in ((k, behind), (k + 1, ahead)):
        np.add.at(p, at, more)
        np.add.at(off, at, 2 * slack * size)
    seen = p > 0  # lattices of other laws
    log_p = np.log(p[seen]).astype(float)
    errors = (
        np.minimum(off[seen] / p[seen], 1.0).astype(float) + slack + 3 * r + UNIT * (8 + 2 * np.abs(log_p))
    )
    position = max(float(np.max(law.loss_error)) for law in laws) + float(np.max(every - loss[owner])) + 3 * r
    return CutLaw(loss[seen], log_p, slack=errors, position=position + 8 * UNIT * float(np.max(np.abs(loss))))
