"""A law on the line given by its density alone: tails by quadrature on panels that halve until they agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from tradeoff.errors import DomainError, shown
from tradeoff.intervals.quadrature import applied, gauss_legendre
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.line import REACH

AGREED = 2.5e-13
"""Share by which a panel and its halves may differ: a quarter of what tails are taken to err by."""

NORMALISED = 1e-9
"""By how much an integral may miss 1, and is divided by: constants given to ten digits."""

_NODES = 20
"""Nodes of a panel, and of each of its halves."""

_CUT = 0.382
"""Where a panel is cut: at no simple share, about which what is odd, or has a period, cancels unseen."""

_MOST = 200_000
"""Panels beyond which a density is noise."""

_WATCHED = 16
"""Points, about, at which a function is compared with what it was."""

_NEAR = 1e-3
"""Share of an end within which what rounding moves a node by is more than ``TRUST`` of the way to the end.

An integral errs by that times the change of the density.
"""

_MOVED = 4 * UNIT
"""By what share of a node, times the change of the density, an integral errs: two roundings, up and down."""

_LUCK = 16
"""By how much less than that parts of a panel disagree where nothing but rounding is left, of either sign."""

_POWERS = 2.0 ** np.arange(-1000.0, 499.0)
"""Ends of panels on either side of 0, from where nodes still have all digits to ``REACH``.

Tails are asked as shares of what lies beyond, of which a pole may be all, and of the rest next to nothing.
"""

_SLOWER = 2.0
"""By how much more may lie beyond the last octaves than if each had that share of the one before: laws of
1/x and a power >= 2 of its logarithm, which end the slowest, have less."""

_BLOCK = 256
"""Masses added one after another: each running sum is of this many roundings, and some."""

_LEAST_TAIL = 1e-290
"""Tails are followed down to here, where densities begin to underflow."""


_CHANGED = 1e-9
"""Share by which a function may miss what it was: rounding, which may depend on the length of an array."""


class Density:
    """A law with the density ``function`` on an interval; integrals are sums of positive terms.

    What the function returned when the law was made is kept, and compared whenever it is asked: a function
    may read what changes.
    """

    _places, _values = np.zeros(0), np.zeros(0)

    def __init__(
        self,
        function: Callable[[Array], Any],
        name: str,
        support: tuple[float, float],
        breaks: Sequence[float],
    ) -> None:
        self.function, self.name, self.support = function, name, support
        self.breaks, self.rough = breaks, 0.0  # what panels that are cut no further disagree by
        self.edges, mass = self._panels(_first(support, breaks))
        self.beyond = self._beyond(mass)
        if not self.beyond <= AGREED:
            raise DomainError(
                f"{name} has about {self.beyond:.3g} of its mass within {_POWERS[0]:.3g} of 0 or beyond "
                f"{REACH:.3g}, where floats end; give the laws of a power or the logarithm of x, "
                "which lose the same"
            )
        total = float(np.sum(mass))
        if not abs(total - 1) <= NORMALISED:
            raise DomainError(
                f"{name} integrates to {total:.10g} over [{support[0]:g}, {support[1]:g}], not to 1; "
                "give its support, or breaks beside its peaks, or divide by its integral, or place it near 0"
            )
        self.total = total
        self.left, self.right = _running(mass), _running(mass[::-1])[::-1]
        places = self.points[:: max(len(self.points) // _WATCHED, 1)]
        self._places, self._values = places, self._at(places)

    @property
    def key(self) -> tuple[Any, bytes, bytes]:
        """What tells laws apart: the function, where it bends and its masses there."""
        return self.function, self.edges.tobytes(), self.left.tobytes()

    def logpdf(self, x: Array) -> Array:
        """Log-density."""
        inside = (x >= self.support[0]) & (x <= self.support[1])
        with np.errstate(divide="ignore"):
            log = np.log(self._at(np.clip(x, *self.support)) / self.total)
        return np.where(inside, log, -np.inf)

    def cdf(self, x: Array) -> Array:
        """P(X <= x)."""
        k, at = self._panel(x)
        found = self.left[k] + self._integral(self.edges[k], at)[0]
        return np.asarray(np.minimum(found / self.total, 1.0))

    def sf(self, x: Array) -> Array:
        """P(X > x)."""
        k, at = self._panel(x)
        found = self.right[k + 1] + self._integral(at, self.edges[k + 1])[0]
        return np.asarray(np.minimum(found / self.total, 1.0))

    @property
    def points(self) -> Array:
        """Ends, middles and nodes of the panels between which the law has its mass: where it was asked."""
        keep = (self.left[1:] > _LEAST_TAIL) & (self.right[:-1] > _LEAST_TAIL)
        start, stop = self.edges[:-1][keep], self.edges[1:][keep]
        found = np.unique(np.concatenate([start, (start + stop) / 2, stop, _nodes(start, stop)[0].ravel()]))
        return found[(found > self.support[0]) & (found < self.support[1])]

    @cached_property
    def slack(self) -> tuple[float, float]:
        """What cdf and sf may err by next to ends and breaks that are not 0, where nodes are rounded.

        And where panels are cut no further.
        """
        low, high = self.support
        off = self.beyond + self.rough + sum(self._moved(x) for x in self.breaks if low < x < high)
        return self._moved(low) + off, self._moved(high) + off

    def _moved(self, end: float) -> float:
        if end == 0 or np.isinf(end):
            return 0.0
        near = np.geomspace(UNIT, _NEAR, _NODES)
        value = self._at(np.clip(end + abs(end) * np.append(-near, near), *self.support)) / self.total
        return float(_MOVED * abs(end) * np.ptp(value))

    def _panel(self, x: Array) -> tuple[Any, Array]:
        at = np.clip(x, self.edges[0], self.edges[-1])
        return np.clip(np.searchsorted(self.edges, at, side="right") - 1, 0, len(self.edges) - 2), at

    def _at(self, x: Array) -> Array:
        """Return the density at points, checked."""
        asked = np.append(x, self._places)
        with np.errstate(all="ignore"):
            found = self.function(asked)
        try:
            value = np.asarray(found, dtype=float)
        except (TypeError, ValueError, OverflowError) as error:
            raise DomainError(f"{self.name} returned {shown(found)}, which are no real numbers") from error
        if value.shape != asked.shape:
            raise DomainError(
                f"{self.name} returned {shown(value)} for {len(asked)} points; "
                "give a function that takes an array and returns one value for each of its entries"
            )
        wrong = np.flatnonzero(~((value >= 0) & (value < np.inf)))
        if len(wrong):
            k = wrong[0]
            raise DomainError(
                f"{self.name}({asked[k]:.6g}) = {value[k]} is no density; "
                "give a function >= 0 that is finite, or a support without the point"
            )
        value, now = np.split(value, [np.size(x)])
        if np.any(np.abs(now - self._values) > _CHANGED * self._values):
            raise DomainError(
                f"{self.name} is not the function it was when the curve was made; "
                "let it read nothing that changes: give what it reads as defaults, or by functools.partial"
            )
        return value.reshape(np.shape(x))

    def _integral(self, start: Array, stop: Array) -> tuple[Array, Array]:
        """Return the integrals over panels, and what they err by as nodes are rounded."""
        x, weight, half = _nodes(start, stop)
        value = self._at(x.ravel()).reshape(x.shape)
        far = np.maximum(np.abs(start), np.abs(stop))
        return applied(value, weight) * half, _MOVED * far * np.ptp(value, axis=1)

    def _panels(self, edges: Array) -> tuple[Array, Array]:
        """Return panels and their masses: each is cut until both parts agree with it."""
        start, stop = edges[:-1], edges[1:]
        mass, moved = self._integral(start, stop)
        kept: list[tuple[Array, Array]] = []
        while len(start):
            middle = start + _CUT * (stop - start)
            (left, to_left), (right, to_right) = self._integral(start, middle), self._integral(middle, stop)
            off, rough = np.abs(left + right - mass), moved + to_left + to_right
            last = np.maximum(np.abs(start), np.abs(stop)) <= _POWERS[0]
            agreed = off <= AGREED * (left + right)
            done = last | agreed | (off <= rough / _LUCK)
            self.rough += float(np.sum(rough[done & ~agreed & ~last]))
            kept += [(start[done], left[done]), (middle[done], right[done])]
            start, stop = np.append(start[~done], middle[~done]), np.append(middle[~done], stop[~done])
            mass, moved = np.append(left[~done], right[~done]), np.append(to_left[~done], to_right[~done])
            if len(start) > _MOST:
                raise DomainError(
                    f"{self.name} is too rough to be integrated; give a smooth density with its breaks, "
                    "placed near 0, where floats are finest"
                )
        at, found = (np.concatenate(part) for part in zip(*kept, strict=True))
        # A panel between neighbouring floats has no middle: one half is empty, and begins where another does.
        begins, k = np.unique(at, return_inverse=True)
        return np.append(begins, edges[-1]), np.bincount(k, weights=found).astype(float)

    def _beyond(self, mass: Array) -> float:
        """Bound what lies within the least power of 0, and beyond the largest, by the octaves before."""
        low, high = self.support
        found = 0.0
        for way, end in ((-1, low), (1, high)):
            if low <= 0 <= high:
                near = pairwise([0.0, *_POWERS[:3]])
                within, last, before = (self._share(mass, way * np.array(ends)) for ends in near)
                found += max(within, _continued(last, before))
            if abs(end) > REACH:
                before, last = (self._share(mass, way * np.array(ends)) for ends in pairwise(_POWERS[-3:]))
                found += _continued(last, before)
        return found

    def _share(self, mass: Array, ends: Array) -> float:
        """Return the mass between two ends of panels."""
        start, stop = np.searchsorted(self.edges, np.sort(ends))
        return float(np.sum(mass[start:stop]))


def _continued(last: float, before: float) -> float:
    """Bound what follows two octaves, ``last`` the farther, if shares fall as from ``before`` to there."""
    if last == 0:
        return 0.0
    return _SLOWER * last * (last / (before - last)) if last < before else np.inf


def _nodes(start: Array, stop: Array) -> tuple[Array, Array, Array]:
    """Return the nodes of panels, their weights and the halves of the panels."""
    node, weight = gauss_legendre(_NODES)
    half = (stop - start) / 2
    return (start + half)[:, None] + half[:, None] * node, weight, half


def _running(mass: Array) -> Array:
    """Return the running sums of masses, from 0."""
    blocks = np.pad(mass, (0, -len(mass) % _BLOCK)).reshape(-1, _BLOCK)
    before = np.append(0.0, np.cumsum(np.sum(blocks, axis=1)))[:-1, None]
    return np.append(0.0, (before + np.cumsum(blocks, axis=1)).ravel()[: len(mass)])


def _first(support: tuple[float, float], breaks: Sequence[float]) -> Array:
    """Return the ends of the panels to begin with: powers of two, the support and the breaks."""
    low, high = max(support[0], -REACH), min(support[1], REACH)
    inner = [*-_POWERS, 0.0, *_POWERS, *breaks, *(np.linspace(low, high, 33) if high - low < REACH else ())]
    return np.unique([low, *(x for x in inner if low < x < high), high])
