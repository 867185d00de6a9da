"""A law on the line given by its density alone: tails by quadrature on panels that halve until they agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tradeoff.errors import DomainError, shown
from tradeoff.intervals.quadrature import applied, gauss_legendre
from tradeoff.intervals.rounding import TINY, UNIT, Array
from tradeoff.loss.line import REACH, TRUST

# Share by which a panel and its parts may differ: jumps and kinks err by at most 5.7 times that, 1e-12.
AGREED = 1.75e-13

NORMALISED = 1e-9  # by how much an integral may miss 1, and is divided by: constants given to ten digits
_NODES = 20  # nodes of a panel, and of each of its parts

# Share of a panel from an end at which it is looked at too: a jump nearer, of less than thrice the mean
# density, is less than ``AGREED`` of it.
_END = 2.0**-44

# Where a panel is cut: at no simple share, about which what is odd, or has a period, cancels unseen.
_CUT = 0.382

_MOST = 200_000  # panels beyond which a density is noise
_WATCHED = 16  # points, about, at which a function is compared with what it was

# Share of an end within which what rounding moves a node by is more than ``TRUST`` of the way to the end. An
# integral errs by that times the change of the density.
_NEAR = 1e-3

# By what share of a node, times the change of the density, an integral errs: two roundings, up and down.
_MOVED = 4 * UNIT

# By how much less than that parts of a panel disagree where nothing but rounding is left, of either sign.
_LUCK = 16

# Ends of panels on either side of 0, from where nodes still have all digits to ``REACH``. Tails are asked as
# shares of what lies beyond, of which a pole may be all, and of the rest next to nothing.
_POWERS = 2.0 ** np.arange(-1000.0, 499.0)

_OCTAVES = 8  # outermost octaves, of which the one that falls least says how those beyond go on

# By how much more may lie beyond than if shares fell so: laws of 1/x and a power >= 2 of its logarithm, which
# end the slowest, have less.
_SLOWER = 2.0

_BLOCK = 256  # masses added one after another: each running sum is of this many roundings, and some
_SEEN = TINY / TRUST  # densities below this have too few digits for a logarithm, and count as 0 in floats
_LEAST_TAIL = 1e-290  # tails are followed down to here, where densities begin to underflow


# Share by which a function may miss what it was: rounding, which may depend on the length of an array.
_CHANGED = 1e-9


class Density:
    """A law with the density ``function`` on an interval; integrals are sums of positive terms.

    What the function returned when the law was made is kept, and compared whenever it is asked: a function
    may read what changes.
    """

    fine = float(_POWERS[0])
    _places, _values = np.zeros(0), np.zeros(0)

    def __init__(
        self,
        function: Callable[[Array], Any],
        name: str,
        support: tuple[float, float],
        breaks: Sequence[float],
    ) -> None:
        self.function, self.name, self.support = function, name, support
        self.breaks = breaks
        first = _first(support, breaks)
        parts = self._parts(first[:-1], first[1:])
        self.rough = float(np.sum(parts.rough))
        # A panel between neighbouring floats has no inner point: one part is empty, and begins with another.
        begins, k = np.unique(parts.begins, return_inverse=True)
        self.edges, mass = np.append(begins, first[-1]), np.bincount(k, weights=parts.masses).astype(float)
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
        value = self._at(np.clip(x, *self.support)) / self.total
        with np.errstate(divide="ignore"):
            return np.where(inside & (value >= _SEEN), np.log(value), -np.inf)

    def cdf(self, x: Array) -> Array:
        """P(X <= x)."""
        k, at = self._panel(x)
        found = self.left[k] + self._parts(self.edges[k], at).mass(len(at))
        return np.asarray(np.minimum(found / self.total, 1.0))

    def sf(self, x: Array) -> Array:
        """P(X > x)."""
        k, at = self._panel(x)
        found = self.right[k + 1] + self._parts(at, self.edges[k + 1]).mass(len(at))
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

    def _integral(self, start: Array, stop: Array) -> tuple[Array, Array, Array]:
        """Return integrals over panels, what a jump next to an end hides, and what rounded nodes move."""
        x, half = _nodes(start, stop)
        value, (weight, unlike) = self._at(x.ravel()).reshape(x.shape), _rule()
        hidden = np.sum(np.abs(applied(value, unlike)), axis=1) * half * (1 - gauss_legendre(_NODES)[0][-1])
        far = np.maximum(np.abs(start), np.abs(stop))
        rough = (_MOVED * far + 4 * TINY) * np.ptp(value[:, 1:-1], axis=1)
        rough += len(weight) * TINY * (stop - start)
        rough *= np.where(far <= _POWERS[0], _LUCK, 1)  # nodes there are but a few floats apart
        return applied(value, weight) * half, hidden, rough

    def _parts(self, start: Array, stop: Array) -> _Parts:
        """Integrate over panels, each cut until both of its parts agree with it, or only rounding is left."""
        of, kept = np.arange(len(start)), [_Parts.none()]
        mass, hidden, moved = self._integral(start, stop)
        while len(start):
            middle = start + _CUT * (stop - start)
            (left, *of_left), (right, *of_right) = self._integral(start, middle), self._integral(middle, stop)
            hidden, moved = hidden + of_left[0] + of_right[0], moved + of_left[1] + of_right[1]
            with np.errstate(invalid="ignore"):  # of what overflows
                off = np.abs(left + right - mass) + hidden
            last = ((start == 0) | (stop == 0)) & (np.maximum(np.abs(start), np.abs(stop)) <= _POWERS[0])
            agreed = last | (off <= AGREED * (left + right))
            done, more = agreed | (off <= moved / _LUCK), np.where(agreed, 0.0, moved)
            kept.append(_Parts(of[done], start[done], left[done], more[done]))
            kept.append(_Parts(of[done], middle[done], right[done], 0 * more[done]))
            of, start = np.append(of[~done], of[~done]), np.append(start[~done], middle[~done])
            stop = np.append(middle[~done], stop[~done])
            mass = np.append(left[~done], right[~done])
            hidden, moved = (np.append(a[~done], b[~done]) for a, b in zip(of_left, of_right, strict=True))
            if len(start) > _MOST:
                raise DomainError(
                    f"{self.name} is too rough to be integrated; give a smooth density with its breaks, "
                    "placed near 0, where floats are finest"
                )
        return _Parts(*map(np.concatenate, zip(*kept, strict=True)))

    def _beyond(self, mass: Array) -> float:
        """Bound what lies within the least power of 0, and beyond the largest, by the octaves before."""
        low, high = self.support
        found = 0.0
        for way, end in ((-1, low), (1, high)):
            if low <= 0 <= high:
                within, *near = self._shares(mass, way, [0.0, *_POWERS[: _OCTAVES + 1]])
                found += max(within, _continued(near))
            if abs(end) > REACH:
                found += _continued(self._shares(mass, way, _POWERS[-_OCTAVES - 1 :])[::-1])
        return found

    def _shares(self, mass: Array, way: int, ends: Sequence[float] | Array) -> list[float]:
        """Return the masses between ends of panels."""
        pairs = (np.searchsorted(self.edges, np.sort(way * np.array(pair))) for pair in pairwise(ends))
        return [float(np.sum(mass[start:stop])) for start, stop in pairs]


class _Parts(NamedTuple):
    """Parts of intervals: which each is of, where it begins, its mass, and what roundings move that by."""

    of: Array
    begins: Array
    masses: Array
    rough: Array

    @classmethod
    def none(cls) -> _Parts:
        """Return no parts."""
        return cls(np.zeros(0, dtype=np.int64), *np.zeros((3, 0)))

    def mass(self, count: int) -> Array:
        """Return the masses of the intervals."""
        return np.bincount(self.of, weights=self.masses, minlength=count).astype(float)


def _continued(shares: Sequence[float]) -> float:
    """Bound what follows octaves, the outermost first, if shares fall on as they fall least there."""
    if shares[0] == 0:
        return 0.0
    rate = max(share / before if before else np.inf for share, before in pairwise(shares))
    return _SLOWER * shares[0] * (rate / (1 - rate)) if rate < 1 else np.inf


def _nodes(start: Array, stop: Array) -> tuple[Array, Array]:
    """Return the nodes of panels between points next to their ends, and the halves of the panels.

    Next to an end at 0, where a density may be no float, it is the outermost node again. None is an end.
    """
    node, _ = gauss_legendre(_NODES)
    half = (stop - start) / 2
    first, last = (np.where(end == 0, node[-1], 1 - 2 * _END) for end in (start, stop))
    share = np.column_stack([-first, np.tile(node, (len(half), 1)), last])
    inner = np.minimum(np.nextafter(start, np.inf), stop), np.maximum(np.nextafter(stop, -np.inf), start)
    low, high = (each[:, None] for each in inner)
    return np.clip((start + half)[:, None] + half[:, None] * share, low, high), half


@cache
def _rule() -> tuple[Array, Array]:
    """Return weights of all points, and those of what values next to the ends differ by from a polynomial.

    That through the nodes is sum_k (2k + 1)/2 (sum_i w_i f_i P_k(x_i)) P_k, with P_k(+-1) = (+-1)^k.
    """
    node, weight = gauss_legendre(_NODES)
    k = np.arange(_NODES)
    moments = (k + 0.5)[:, None] * np.polynomial.legendre.legvander(node, _NODES - 1).T * weight
    at_ends = np.array([(-1.0) ** k, np.ones(_NODES)]) @ moments
    return np.pad(weight, 1), np.column_stack([[-1.0, 0.0], at_ends, [0.0, -1.0]])


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
