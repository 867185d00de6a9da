"""Integrals of a density on the line, by one adaptive Clenshaw-Curtis quadrature with its error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from tradeoff.errors import DomainError
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.quadrature import applied
from tradeoff.intervals.rounding import TINY, UNIT, Array, Index

TRUST = 1e-12  # assumed accuracy of a density, relative, at the argument that it computes
REACH = 2.0**498  # farthest point at which a density is evaluated, about 1e150: squares are floats
CLOSEST = 2.0**-1000  # closest point to 0 at which a density is evaluated

_NORMALISED = 1e-9  # most by which an integral may miss 1 before it is refused
_MAX_ERROR = 1e-6  # most that the error of an integral may be
_AGREED = 2e-13  # relative difference of a panel and its halves at which it is accepted
_DEPTH = 8  # halvings after which that doubles each time: noise is charged instead of resolved
_DEGREE = 32  # of the polynomials that a panel integrates exactly
_CUT = 0.382  # where a panel is cut: a simple share would hide waves of that period
_MOVED = 8 * UNIT  # relative rounding of a node, in the quadrature and in (x - loc)/scale
_OVERFLOW = 709.0  # log-density above which it is not a float
_ROUNDED = 16 * UNIT  # relative error of an exponential, in units of its argument
LEAST_LOG = -700.0  # log-density below which a density may have lost digits, and is not resolved further
_LEAST = 1e-300  # least mass of a tail in which a law is looked at
_MAX_PANELS = 100_000  # a density that needs more is noise
PROBES = 4.0 ** np.arange(-500.0, 250.0)  # first edges of panels around 0
_FEW_STEPS = 4.0 ** np.arange(-30.0, 31.0)  # and around other places, in scales


class Density:
    """A law on the line that is given by its logarithmic density.

    Parameters
    ----------
    log_density
        Vectorised; ``-inf`` where the density is zero.
    name
        Name in messages.
    support
        Interval outside which the density is zero.
    centres
        Points (location, scale) around which panels begin at powers of 4 of the scale.
    cuts
        Points at which the density may jump, besides the ends of the support.
    rounded
        Those of the points and ends that are not exactly where the density jumps.
    least_log
        Log-density below which its digits are not known.

    Notes
    -----
    A panel is accepted where 33 nodes agree with 33 in each part; the difference, the rounding of nodes and
    ``TRUST`` of the mass are its error. Mass within ``CLOSEST`` of 0 and beyond ``REACH`` lies between 0 and
    twice the sum that the last two powers of 4 extrapolate to.
    """

    def __init__(
        self,
        log_density: Callable[[Array], Array],
        name: str,
        support: tuple[float, float],
        centres: Sequence[tuple[float, float]] = (),
        cuts: Sequence[float] = (),
        *,
        rounded: Sequence[float] = (),
        least_log: float = -np.inf,
    ) -> None:
        self._log_density, self.name, self.support, self._least_log = log_density, name, support, least_log
        self.cuts = sorted({*(x for x in support if np.isfinite(x)), *cuts})
        self.rounded = frozenset(rounded)
        self._log_total = 0.0
        start, stop, mass, error = self._adapt(self._first_edges(centres))
        places = [(-np.inf, -REACH), (-CLOSEST, 0.0), (0.0, CLOSEST), (REACH, np.inf)]
        for low, high in places:
            if support[0] < high and low < support[1]:
                most = _extrapolate(start, mass, low, high)
                start, stop = np.append(start, max(low, support[0])), np.append(stop, min(high, support[1]))
                mass, error = np.append(mass, most / 2), np.append(error, most / 2)
        order = np.argsort(start)
        mass, error = mass[order], error[order]
        self.total, off = float(np.sum(mass)), float(np.sum(error))
        if not (abs(self.total - 1) <= _NORMALISED + off and off <= _MAX_ERROR):
            raise DomainError(
                f"the density of {name} must integrate to 1 within {_NORMALISED:g}, got {self.total:.10g} "
                f"with error {off:.2g}; divide it by its integral, give its support or breaks next to its "
                "peaks, or place poles and narrow peaks at 0"
            )
        self.total = self.total if abs(self.total - 1) > off else 1.0
        self._log_total = float(np.log(self.total))
        self.edges = np.append(start[order], stop[order][-1])
        self.mass, self.error = mass / self.total, error / self.total + (TRUST + 64 * UNIT) * mass
        self._left = np.array([np.append(0.0, np.cumsum(x)) for x in (self.mass, self.error)])
        self._right = np.array([np.append(np.cumsum(x[::-1])[::-1], 0.0) for x in (self.mass, self.error)])

    def log_density(self, x: Array) -> Array:
        """Return the logarithm of the density, divided by its integral; ``-inf`` outside the support."""
        inside = (x >= self.support[0]) & (x <= self.support[1])
        with np.errstate(all="ignore"):
            value = np.asarray(self._log_density(np.clip(x, *self.support)), dtype=float) - self._log_total
        return np.where(inside & (value >= self._least_log), value, -np.inf)

    def bound_mass(self, x: Array, y: Array) -> Bounds:
        """Bound P(x < X < y), x <= y, with an error relative to it but for rounding of the smaller tail."""
        most = len(self.mass) - 1
        first = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, most)
        last = np.clip(np.searchsorted(self.edges, y, side="left") - 1, 0, most)
        low, high = np.clip(x, self.edges[0], self.edges[-1]), np.clip(y, self.edges[0], self.edges[-1])
        apart = last > first
        middle = np.where(apart, self.edges[first + 1], high), np.where(apart, self.edges[last], high)
        parts = np.sum(
            self._part(np.array([first, last]), np.array([low, middle[1]]), np.array([middle[0], high])), 1
        )
        from_left, from_right = self._left[0, last], self._right[0, first + 1]
        between = np.where(
            from_left < from_right,
            self._left[:, last] - self._left[:, first + 1],
            self._right[:, first + 1] - self._right[:, last],
        )
        mass, error = parts + np.where(last > first + 1, between, 0.0)
        error += np.where(
            last > first + 1, 2 * len(self.mass) * UNIT * np.minimum(from_left, from_right), 0.0
        )
        error = np.where(high > low, error * (1 + 8 * UNIT) + TINY, 0.0)
        return Bounds(np.maximum(mass - error, 0.0), np.where(high > low, mass + error, 0.0))

    def bound_scaled_mass(self, low: float, high: float, log_scale: float) -> Bounds[float]:
        """Bound e^log_scale P(low < X < high) by a quadrature of its own, where P may be below all floats."""
        if high <= low:
            return Bounds(0.0, 0.0)
        if self._least_log > -np.inf or (low < CLOSEST and high > -CLOSEST):
            return Bounds(0.0, np.inf)
        inner = self.edges[(self.edges > low) & (self.edges < high)]
        try:
            _, _, mass, error = self._adapt(np.concatenate([[low], inner, [high]]), log_scale)
        except DomainError:  # more panels than are allowed
            return Bounds(0.0, np.inf)
        total = float(np.sum(mass))
        off = float(np.sum(error)) * (1 + 1e-9) + (TRUST + (64 + len(mass)) * UNIT) * total
        return Bounds(max(total - off, 0.0), total + off)

    @property
    def points(self) -> Array:
        """Return the nodes of all panels between which the law has mass."""
        keep = (self._left[0, 1:] > _LEAST) & (self._right[0, :-1] > _LEAST)
        keep &= (np.abs(self.edges[1:]) >= CLOSEST) & (np.abs(self.edges[:-1]) >= CLOSEST)
        keep &= np.maximum(np.abs(self.edges[1:]), np.abs(self.edges[:-1])) <= REACH
        return np.unique(_nodes(self.edges[:-1][keep], self.edges[1:][keep]))

    def _first_edges(self, centres: Sequence[tuple[float, float]]) -> Array:
        low, high = max(self.support[0], -REACH), min(self.support[1], REACH)
        around = [centre + scale * sign * _FEW_STEPS for centre, scale in centres for sign in (-1.0, 1.0)]
        even = np.linspace(low, high, 33) if high - low < REACH else np.zeros(0)
        places = np.concatenate([-PROBES, PROBES, self.cuts, [low, high], even, *around])
        return np.unique(places[(places >= low) & (places <= high)])

    def _adapt(self, edges: Array, log_scale: float = 0.0) -> tuple[Array, Array, Array, Array]:
        """Return panels with their masses and errors, times e^log_scale, cut until they agree with parts."""
        start, stop = edges[:-1], edges[1:]
        keep = ~((start < CLOSEST) & (stop > -CLOSEST))
        start, stop = start[keep], stop[keep]
        mass, rounding = self._integrate(start, stop, log_scale)
        accepted = []
        for depth in range(2000):
            middle = start + _CUT * (stop - start)
            left, left_off = self._integrate(start, middle, log_scale)
            right, right_off = self._integrate(middle, stop, log_scale)
            difference = np.abs(left + right - mass)
            tolerance = _AGREED * 2.0 ** max(depth - _DEPTH, 0)
            done = difference <= np.maximum(tolerance * (left + right), rounding)
            done |= (middle <= start) | (middle >= stop)
            accepted.append(np.array([start, stop, left + right, difference + rounding + TINY])[:, done])
            more = ~done
            if not more.any():
                break
            if np.count_nonzero(more) + sum(panels.shape[1] for panels in accepted) > _MAX_PANELS:
                raise DomainError(
                    f"the density of {self.name} must be smooth between its breaks, but needs more than "
                    f"{_MAX_PANELS} panels; give the breaks, or place its narrow parts near 0"
                )
            start, stop = np.append(start[more], middle[more]), np.append(middle[more], stop[more])
            mass, rounding = np.append(left[more], right[more]), np.append(left_off[more], right_off[more])
        begins, ends, masses, errors = np.concatenate(accepted, axis=1)
        return begins, ends, masses, errors

    def _integrate(self, start: Array, stop: Array, log_scale: float = 0.0) -> tuple[Array, Array]:
        """Return integrals over panels, and the rounding of nodes and of exponentials."""
        x, half = _nodes(start, stop), (stop - start) / 2
        known = np.asarray(self._log_density(x.ravel())).reshape(x.shape) - self._log_total
        log = known + log_scale
        if not (log < _OVERFLOW).all():
            at = x[~(log < _OVERFLOW)][0]
            raise DomainError(
                f"the density of {self.name} must be finite, but is not at {at:.6g}; place poles at 0"
            )
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            value = np.exp(log)
            rounding = _ROUNDED * np.nan_to_num((np.abs(known) + abs(log_scale)) * value)
        moved = _MOVED * np.maximum(np.abs(start), np.abs(stop)) * np.ptp(value, axis=1)
        # A density that may have lost digits is bounded by its greatest value alone.
        greatest = np.max(log, axis=1)
        with np.errstate(divide="ignore", under="ignore", over="ignore"):
            lost = np.where(greatest < LEAST_LOG, np.exp(greatest + np.log(stop - start)), 0.0)
        rounding = moved + applied(rounding, _weights()) * half + lost
        return applied(value, _weights()) * half, rounding

    def _part(self, panel: Index, start: Array, stop: Array) -> Array:
        """Return masses and errors of parts of panels; of extrapolated ones all or nothing."""
        low, high = self.edges[panel], self.edges[panel + 1]
        outer = np.maximum(np.abs(low), np.abs(high))
        inside = (stop > start) & ((start > low) | (stop < high)) & (outer <= REACH) & (outer > CLOSEST)
        result = np.array([self.mass[panel], self.error[panel]]) * (stop > start)
        if inside.any():
            mass, rounding = self._integrate(start[inside], stop[inside])
            share = np.minimum(mass / np.maximum(result[0, inside], TINY), 1.0)
            result[:, inside] = mass, share * result[1, inside] + rounding
        return result


def _extrapolate(start: Array, mass: Array, low: float, high: float) -> float:
    """Bound the mass between 0 and CLOSEST, or beyond REACH, by that of the two steps by 4 next to it."""
    side = 1.0 if high > 0 else -1.0
    ends = CLOSEST * np.array([1.0, 4.0, 16.0]) if 0.0 in (low, high) else REACH / np.array([1.0, 4.0, 16.0])
    at, sizes = np.where(np.sign(start) == side, np.abs(start), np.inf), []
    for a, b in (np.sort(ends[:2]), np.sort(ends[1:])):
        inside = (at >= a) & (at < b) if side > 0 else (at > a) & (at <= b)
        sizes.append(float(np.sum(mass[inside])))
    if sizes[0] == 0:
        return 0.0
    ratio = sizes[0] / sizes[1] if sizes[1] else np.inf
    return 2 * sizes[0] * ratio / (1 - ratio) if ratio < 1 else np.inf


def _nodes(start: Array, stop: Array) -> Array:
    """Return the nodes of panels, the outermost next to the ends: a density may jump there."""
    x = (start + stop)[:, None] / 2 + (stop - start)[:, None] / 2 * np.cos(
        np.pi * np.arange(_DEGREE + 1) / _DEGREE
    )
    low, high = np.nextafter(start, np.inf), np.nextafter(stop, -np.inf)
    return np.where((low <= high)[:, None], np.clip(x, low[:, None], np.maximum(low, high)[:, None]), x)


@cache
def _weights() -> Array:
    """Return the Clenshaw-Curtis weights, which integrate polynomials up to the degree on [-1, 1]."""
    k = np.arange(_DEGREE + 1)
    moments = np.where(k % 2, 0.0, 2 / (1.0 - np.where(k % 2, 0, k) ** 2))
    nodes = np.cos(np.pi * k / _DEGREE)
    return np.asarray(
        np.linalg.solve(np.polynomial.chebyshev.chebvander(nodes, _DEGREE).T, moments), dtype=float
    )
