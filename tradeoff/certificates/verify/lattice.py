"""A lattice and the claims it proves: its laws against the truth, and their sum by another transform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import fft, optimize

from tradeoff.certificates.certificate import Claim
from tradeoff.certificates.description import Description
from tradeoff.certificates.evidence import Lattice, OnNodes, unpacked
from tradeoff.certificates.verify.arithmetic import EPS, LARGEST, REAL, TINY, UNIT, Long, log_of, log_sum
from tradeoff.certificates.verify.formula import truth
from tradeoff.certificates.verify.laws import law
from tradeoff.certificates.verify.moments import lost
from tradeoff.certificates.verify.report import Log

_SAMPLES = 24
"""Losses of each discretised law where it is compared with the truth."""

_INSIDE = REAL(0.37)
"""Where in a cell the lower law is compared, besides its ends."""

_NOTHING = REAL(1e-110)
"""Deltas below which nothing is compared: nothing of a tilted mass is left there."""

_EXACT = np.maximum(REAL(1e-16), 64 * EPS)
"""Relative accuracy of comparisons: the vectors are doubles."""

_UNDERFLOW = REAL(1e-320)
"""What doubles lose below their normal range."""

_STEEPER = 1.001
"""The second tilt, theta - 1 times this: another, and near enough to serve deltas as small."""

_LEAST = REAL(1e-6)
"""Least variance, in nodes, that a sum is taken to have: rates stay finite where all mass is on one node."""

_RATES = np.linspace(-24.0, 12.0, 73)
"""Logarithms of Chernoff rates a node among which the best is looked for, before it is refined."""


class _Side(NamedTuple):
    """One discretised law where it has mass: node numbers, losses, logarithms of masses under P and Q."""

    index: Any
    loss: Long
    log_p: Long
    log_q: Long
    tilted: Long


class _Factor(NamedTuple):
    """A factor with its law above and below."""

    record: OnNodes
    rounds: Any
    loss: Long
    over: _Side
    under: _Side


class _Sum(NamedTuple):
    """Sum of a side at the second tilt: losses, masses, the 2-norm of their error, what lies outside."""

    loss: Long
    mass: Long
    error: Any
    outside: Any
    scale: Any


class CheckedLattice:
    """The recorded lattice, recomputed."""

    def __init__(self, lattice: Lattice, factors: Sequence[Description], log: Log) -> None:
        self.lattice, self.log = lattice, log
        self.h = REAL(lattice.h)
        theta, size = lattice.theta, lattice.window[1]
        log.holds("theta", theta > 1 and np.isfinite(theta), f"{theta!r} is not above 1")
        log.holds("h", 0 < lattice.h < np.inf, f"{lattice.h!r} is not positive")
        log.holds("window", 2 <= size <= 2**23, f"{size!r} nodes are outside [2, 2^23]")
        log.holds("factors", len(factors) == len(lattice.factors), "not one discretised law for every factor")
        log.trust(
            f"discretised laws between the {_SAMPLES} losses of each where they are compared with the truth"
        )
        self.parts = [self._unpacked(record) for record in lattice.factors]
        for part, factor in zip(self.parts, factors, strict=True):
            what, count = _one(part.record.count, factor)
            said = f"{part.record.count!r} rounds where the factor has {factor['count']!r}"
            log.holds("count", part.record.count == count, said)
            self._sides(part, what)
        self.q_plus = lost(factors, "q_plus")
        self.top = -np.expm1(sum(part.rounds * np.log1p(-REAL(part.record.top)) for part in self.parts))
        self.theta = 1 + (REAL(theta) - 1) * REAL(_STEEPER)
        self.sums = {"over": self._sum("over"), "under": self._sum("under")}
        self._window()

    def _unpacked(self, record: OnNodes) -> _Factor:
        index = unpacked(record.index, "<i8")
        over, under = unpacked(record.over, "<f8"), unpacked(record.under, "<f8")
        same = len(index) == len(over) == len(under) == record.nodes
        ordered = same and bool(np.all(np.diff(index) > 0))
        self.log.holds("nodes", ordered, "vectors of unequal length, or nodes out of order")
        loss = REAL(record.offset) + self.h * index.astype(REAL)
        sides = [
            self._side(name, each, index, loss, record) for name, each in (("over", over), ("under", under))
        ]
        return _Factor(record, REAL(record.count), loss, *sides)

    def _side(self, name: str, tilted: Any, index: Any, loss: Long, record: OnNodes) -> _Side:
        fine = bool(np.all(tilted >= 0) and np.all(np.isfinite(tilted)))
        self.log.holds(name, fine, "a mass is negative or not finite")
        kept = tilted > 0
        log, at = np.log(tilted[kept].astype(REAL)), loss[kept]
        theta, scale = REAL(self.lattice.theta), REAL(record.log_scale)
        # A double was tilted by an exponent that was rounded: above it may be less by that, below more.
        rounded = UNIT * (np.abs(theta * at) + abs(scale)) * (1 if name == "over" else -1)
        log_p = log + scale - theta * at + rounded
        return _Side(index[kept], at, log_p, log_p + at, log)

    def _sides(self, part: _Factor, what: Description) -> None:
        """Compare hockey-sticks: above the truth at nodes is above between; below, compare in cells too."""
        q_plus, shift, top = law(what).q_plus, REAL(part.record.shift), part.record.top
        whole = np.sum(_mass(part.over.log_q)) + top
        self.log.above("over, mass", whole * (1 + 1e-15), REAL(1))
        last = len(part.loss) - 1
        for k in np.unique(np.linspace(0, last, _SAMPLES).astype(int)):
            x = part.loss[k]
            least = truth(what, x + shift)[0]
            self.log.above("over", _stick(part.over, x) + top, least * (1 - _EXACT) - _NOTHING)
            inside = x if k == last else x + _INSIDE * (part.loss[k + 1] - x)
            for at in (x, inside):
                most = truth(what, at - shift)[1] - q_plus
                self.log.below("under", _stick(part.under, at), most * (1 + _EXACT) + _NOTHING)

    def _sum(self, name: str) -> _Sum:
        """Add up all rounds on a window of twice the length, at the second tilt."""
        low, size = self.lattice.window
        first, length = low - size // 2, 2 * size
        product = np.ones(length // 2 + 1, np.clongdouble)
        scale, centre, slip = REAL(0), 0, REAL(0)
        tilted = []
        for part in self.parts:
            n, side = part.rounds, getattr(part, name)
            if not len(side.index):
                return _Sum(np.zeros(1, REAL), np.zeros(1, REAL), REAL(0), REAL(0), REAL(0))
            log_w = side.log_p + self.theta * side.loss
            peak = log_sum(log_w)
            w = np.exp(log_w - peak)
            middle = int(np.round(float(np.sum(w * side.index))))
            wrapped = np.zeros(length, REAL)
            np.add.at(wrapped, (side.index - middle) % length, w)
            spectrum = fft.rfft(wrapped)
            log = np.log(np.maximum(np.abs(spectrum), TINY)) + 1j * np.angle(spectrum)
            product = product * np.exp(n * log)
            slip += n * EPS * (16 * np.log2(length) + 64)
            scale, centre = scale + n * peak, centre + part.record.count * middle
            tilted.append((n, w, side.index))
        mass = np.roll(np.maximum(fft.irfft(product, length), 0), (centre - first) % length)
        offset = sum(part.rounds * REAL(part.record.offset) for part in self.parts)
        loss = offset + self.h * (first + np.arange(length)).astype(REAL)
        outside = self._outside(tilted, first + length, +1)
        if name == "under":  # above, what lies below the window and is added inside is no harm
            outside += self._outside(tilted, first, -1)
        return _Sum(loss, mass, np.expm1(slip) + 8 * EPS * np.log2(length), outside, scale)

    def _outside(self, tilted: list[tuple[Any, Long, Any]], edge: int, sign: int) -> Any:
        """Bound the tilted mass beyond an edge by the best of a few Chernoff exponents."""
        variance = sum(n * np.sum(w * (index - np.sum(w * index)) ** 2) for n, w, index in tilted)
        logs = [(n, log_of(w), index) for n, w, index in tilted]
        rates = np.geomspace(1e-3, 60, 32) / float(np.sqrt(np.maximum(variance, _LEAST)))
        return np.exp(np.minimum(min(_chernoff(logs, edge, sign * REAL(rate)) for rate in rates), 0))

    def _least_tail(self, name: str, sign: int) -> Any:
        """Return the least Chernoff bound on the mass beyond one end of the window, at the recorded tilt."""
        low, size = self.lattice.window
        edge = low if sign < 0 else low + size
        sides = [(part.rounds, getattr(part, name)) for part in self.parts]
        if not all(len(side.index) for _, side in sides):
            return REAL(0)
        logs = [(n, side.tilted, side.index) for n, side in sides]

        def exponent(log_rate: float) -> float:  # of the rate a node, convex in it
            return float(_chernoff(logs, edge, sign * REAL(np.exp(log_rate))))

        start = int(np.argmin([exponent(step) for step in _RATES]))
        ends = _RATES[max(start - 1, 0)], _RATES[min(start + 1, len(_RATES) - 1)]
        best = optimize.minimize_scalar(exponent, bounds=ends, method="bounded", options={"xatol": 1e-7})
        return np.exp(REAL(min(best.fun, exponent(_RATES[start]))))

    def _window(self) -> None:
        """Compare with the mass outside the recorded window and the least that a transform in double errs."""
        lattice, size = self.lattice, self.lattice.window[1]
        for name in ("low_tail", "high_tail", "over_tail"):
            tail = getattr(lattice, name)
            self.log.holds(name, 0 <= tail < 1, f"{tail!r} is outside [0, 1)")
            side, sign = ("over" if name == "over_tail" else "under"), (-1 if name == "low_tail" else 1)
            found = self._least_tail(side, sign)
            self.log.above(f"{name}, Chernoff", tail * (1 + 1e-5) + _UNDERFLOW, found)
        least = 16 * np.log2(size) * UNIT
        for side, rounding in zip(("over", "under"), lattice.rounding, strict=True):
            mass = self._recorded_tilt(self.sums[side])
            inside = np.sqrt(np.sum(mass[size // 2 : size // 2 + size] ** 2))
            self.log.above(f"rounding {side}", rounding, least * inside * (1 - 1e-6))
            after, before = np.sum(mass[size // 2 + size :]), np.sum(mass[: size // 2])
            if side == "over":
                self.log.above("over_tail", lattice.over_tail + _UNDERFLOW, after)
            else:
                self.log.above("high_tail", lattice.high_tail + _UNDERFLOW, after)
                self.log.above("low_tail", lattice.low_tail + _UNDERFLOW, before)

    def _recorded_tilt(self, known: _Sum) -> Long:
        """Return the masses of a sum, from below, under the tilt and the scale of the certificate."""
        recorded = sum(part.rounds * REAL(part.record.log_scale) for part in self.parts)
        lean = known.scale - recorded + (REAL(self.lattice.theta) - self.theta) * known.loss
        return np.asarray(np.exp(log_of(known.mass - known.error) + lean))

    def claim(self, claim: Claim) -> None:
        """Verify the bounds of one claim."""
        x, shift = REAL(claim.at), sum(part.rounds * REAL(part.record.shift) for part in self.parts)
        said = f"{claim.quantity!r} is not what a lattice holds"
        self.log.holds("quantity", claim.quantity == "delta", said)
        self.log.close("width", claim.terms["width"], claim.upper - claim.lower, 0.0)
        low = self._bound("under", x + shift)[0] + self.q_plus
        high = self._bound("over", x - shift)[1] + self.top
        self.log.below("delta lower", claim.lower, np.maximum(low, -np.expm1(np.minimum(x, 0))))
        self.log.above("delta upper", claim.upper, np.minimum(high, 1))

    def _bound(self, side: str, x: Any) -> tuple[Any, Any]:
        loss, mass, error, outside, scale = self.sums[side]
        t, over = self.theta, loss > x
        part = np.sum(mass[over] * np.exp(-(t - 1) * (loss[over] - x)) * -np.expm1(x - loss[over]))
        kappa = np.exp((t - 1) * np.log(t - 1) - t * np.log(t))
        norm = np.sqrt(2 / ((2 * t - 2) * (2 * t - 1) * (2 * t)) / self.h + kappa**2)
        size = np.exp(np.minimum(scale - (t - 1) * x, LARGEST))
        off = error * norm + kappa * outside
        return size * (part - off), size * (part + off)


def _one(recorded: int, factor: Description) -> tuple[Description, int]:
    """Return what one copy of a factor is: rounds of randomised response may be written out as one law."""
    what, count = factor["law"], factor["count"]
    inner = what["base"] if what["kind"] == "reversed" else what
    if recorded == count or inner["kind"] != "response":
        return what, count
    return {"kind": "rounds", "epsilon": inner["epsilon"], "rounds": count}, 1  # a symmetric law


def _stick(side: _Side, x: Any) -> Any:
    """Return E_P (e^L - e^x)_+."""
    above = side.loss > x
    return np.sum(_mass(side.log_q[above]) * -np.expm1(x - side.loss[above]))


def _mass(log: Long) -> Long:
    """Return exponentials; least doubles may stand for masses beyond all numbers, which bound nothing."""
    return np.asarray(np.exp(np.minimum(log, LARGEST)))


def _chernoff(logs: list[tuple[Any, Long, Any]], edge: int, rate: Any) -> Any:
    """Return log of Chernoff's bound on what lies beyond a node, at a rate a node."""
    return sum(n * log_sum(log + rate * index) for n, log, index in logs) - rate * edge
