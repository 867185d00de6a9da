"""A law on the line given by its density alone: tails by quadrature on panels that halve until they agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
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

_ROUNDS = 1100
"""Halvings of a panel: from 1 to neighbouring floats, or to ``_LEAST`` next to a pole at 0, with room."""

_MOST = 200_000
"""Panels beyond which a density is noise."""

_WATCHED = 16
"""Points, about, at which a function is compared with what it was."""

_NEAR = 1e-3
"""Share of an end within which what rounding moves a node by is more than ``TRUST`` of the way to the end.

An integral errs by that times the change of the density.
"""

_LEAST = 2.0**-1000
"""Panels this close to 0 are halved no further: their nodes still have all digits."""

_STEEP = 8.0
"""By how much more than is integrated may lie next to a pole: of x^-a less than 4.5, or it is refused."""

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
        self.beyond = 0.0  # what was integrated of panels next to 0 that are halved no further
        self.edges, mass = self._panels(_first(support, breaks))
        if self.beyond > AGREED:
            raise DomainError(
                f"{name} has {self.beyond:.3g} of its mass within {_LEAST:.3g} of 0, where floats end; "
                "give the laws of a power or the logarithm of x, which lose the same"
            )
        total = float(np.sum(mass))
        if not abs(total - 1) <= NORMALISED:
            raise DomainError(
                f"{name} integrates to {total:.10g} over [{support[0]:g}, {support[1]:g}], not to 1; "
                "give its support, or breaks beside its peaks, or divide by its integral"
            )
        self.total = total
        self.left = np.append(0.0, np.cumsum(mass))
        self.right = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
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
        found = self.left[k] + self._integral(self.edges[k], at)
        return np.asarray(np.minimum(found / self.total, 1.0))

    def sf(self, x: Array) -> Array:
        """P(X > x)."""
        k, at = self._panel(x)
        found = self.right[k + 1] + self._integral(at, self.edges[k + 1])
        return np.asarray(np.minimum(found / self.total, 1.0))

    @property
    def points(self) -> Array:
        """Ends and middles of the panels between which the law has its mass."""
        keep = (self.left[1:] > _LEAST_TAIL) & (self.right[:-1] > _LEAST_TAIL)
        start, stop = self.edges[:-1][keep], self.edges[1:][keep]
        found = np.unique(np.concatenate([start, (start + stop) / 2, stop]))
        return found[(found > self.support[0]) & (found < self.support[1])]

    @cached_property
    def slack(self) -> tuple[float, float]:
        """What cdf and sf may err by next to an end that is not 0, where nodes are rounded: see ``_NEAR``."""
        low, high = self.support
        beyond = _STEEP * self.beyond
        return self._moved(low, 1) + beyond, self._moved(high, -1) + beyond

    def _moved(self, end: float, inward: int) -> float:
        if end == 0 or np.isinf(end):
            return 0.0
        x = end + inward * abs(end) * np.geomspace(UNIT, _NEAR, _NODES)
        value = self._at(np.clip(x, *self.support)) / self.total
        return float(4 * UNIT * abs(end) * np.ptp(value))  # two roundings, up and down again

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

    def _integral(self, start: Array, stop: Array) -> Array:
        node, weight = gauss_legendre(_NODES)
        half = (stop - start) / 2
        x = (start + half)[:, None] + half[:, None] * node
        return np.asarray(applied(self._at(x.ravel()).reshape(x.shape), weight) * half)

    def _panels(self, edges: Array) -> tuple[Array, Array]:
        """Return panels and their masses: each is halved until both halves agree with it."""
        start, stop = edges[:-1], edges[1:]
        mass = self._integral(start, stop)
        kept: list[tuple[Array, Array]] = []
        for _ in range(_ROUNDS):
            middle = (start + stop) / 2
            left, right = self._integral(start, middle), self._integral(middle, stop)
            far = np.maximum(np.abs(start), np.abs(stop))
            last = far <= _LEAST  # where nodes next to a pole at 0 have no digits left
            self.beyond += float(np.sum((left + right)[last]))
            narrow = last | (stop - start <= 8 * UNIT * far)
            done = narrow | (np.abs(left + right - mass) <= AGREED * (left + right))
            kept += [(start[done], left[done]), (middle[done], right[done])]
            start, stop = np.append(start[~done], middle[~done]), np.append(middle[~done], stop[~done])
            mass = np.append(left[~done], right[~done])
            if len(start) == 0:
                break
            if len(start) > _MOST:
                raise DomainError(
                    f"{self.name} is too rough to be integrated; give a smooth density with its breaks, "
                    "placed near 0, where floats are finest"
                )
        else:
            kept.append((start, mass))  # about a point where the density has no bound
        at, found = (np.concatenate(part) for part in zip(*kept, strict=True))
        # A panel between neighbouring floats has no middle: one half is empty, and begins where another does.
        begins, k = np.unique(at, return_inverse=True)
        return np.append(begins, edges[-1]), np.bincount(k, weights=found).astype(float)


def _first(support: tuple[float, float], breaks: Sequence[float]) -> Array:
    """Return the ends of the panels to begin with: powers of two, the support and the breaks."""
    low, high = max(support[0], -REACH), min(support[1], REACH)
    powers = 2.0 ** np.arange(-4, 499)
    inner = [*-powers, 0.0, *powers, *breaks, *(np.linspace(low, high, 33) if high - low < REACH else ())]
    return np.unique([low, *(x for x in inner if low < x < high), high])
