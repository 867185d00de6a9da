"""A lattice and the claims it proves: both discretised laws against the truth, and their sum by another transform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import mpmath
import numpy as np
from scipy import fft, optimize

from tradeoff.certificates.certificate import Claim
from tradeoff.certificates.description import Description
from tradeoff.certificates.evidence import Lattice, OnNodes, unpacked
from tradeoff.certificates.verify.formula import tails
from tradeoff.certificates.verify.laws import EPS, REAL, Long, Need, law
from tradeoff.certificates.verify.moments import lost
from tradeoff.certificates.verify.report import Log

_SAMPLES = 24
_DIGITS = 120
_NOTHING = REAL(1e-110)
_EXACT, _UNDERFLOW = REAL(1e-16), REAL(1e-320)
_STEEPER = 1.03
"""The second tilt, theta - 1 times this."""


class _Factor(NamedTuple):
    """Vectors of one factor; ``over`` and ``under`` are P-masses, no longer tilted."""

    record: OnNodes
    index: Any
    loss: Long
    over: Long
    under: Long


class CheckedLattice:
    """The recorded lattice, recomputed."""

    def __init__(self, lattice: Lattice, factors: Sequence[Description], log: Log) -> None:
        self.lattice, self.log = lattice, log
        log.holds(
            "theta", lattice.theta > 1 and np.isfinite(lattice.theta), f"{lattice.theta!r} is not above 1"
        )
        log.holds("h", 0 < lattice.h < np.inf, f"{lattice.h!r} is not positive")
        log.holds(
            "window", 2 <= lattice.window[1] <= 2**23, f"{lattice.window[1]!r} nodes are outside [2, 2^23]"
        )
        log.holds("factors", len(factors) == len(lattice.factors), "not one discretised law for every factor")
        log.trust(
            f"discretised laws between the {_SAMPLES} losses of each where they are compared with the truth"
        )
        self.parts = [self._unpacked(record) for record in lattice.factors]
        for part, factor in zip(self.parts, factors, strict=True):
            what, count = _one(part.record.count, factor)
            log.holds(
                "count",
                part.record.count == count,
                f"{part.record.count!r} rounds where the factor has {factor['count']!r}",
            )
            self._sides(part, what)
        self.q_plus = lost(factors, "q_plus")
        self.top = -np.expm1(sum(part.record.count * np.log1p(-REAL(part.record.top)) for part in self.parts))
        self.theta = 1 + (REAL(lattice.theta) - 1) * REAL(_STEEPER)
        self.sums = {"over": self._sum("over"), "under": self._sum("under")}
        self._window()

    def _unpacked(self, record: OnNodes) -> _Factor:
        index, over, under = (
            unpacked(record.index, "<i8"),
            unpacked(record.over, "<f8"),
            unpacked(record.under, "<f8"),
        )
        same = len(index) == len(over) == len(under) == record.nodes
        self.log.holds(
            "nodes", same and np.all(np.diff(index) > 0), "vectors of unequal length, or nodes out of order"
        )
        self.log.holds(
            "over", np.all(over >= 0) and np.all(np.isfinite(over)), "a mass is negative or not finite"
        )
        self.log.holds(
            "under", np.all(under >= 0) and np.all(np.isfinite(under)), "a mass is negative or not finite"
        )
        loss = REAL(record.offset) + REAL(self.lattice.h) * index.astype(REAL)
        lean = np.exp(REAL(record.log_scale) - REAL(self.lattice.theta) * loss)
        return _Factor(record, index, loss, over.astype(REAL) * lean, under.astype(REAL) * lean)

    def _sides(self, part: _Factor, what: Description) -> None:
        """Compare hockey-sticks: above the truth at its nodes it is above between them; below, compare inside the cells too."""
        q_plus, shift = law(what, Need(1.0, 0.0)).q_plus, REAL(part.record.shift)
        whole = np.sum(part.over * np.exp(part.loss)) + part.record.top
        self.log.above("over, mass", whole * (1 + 1e-15), REAL(1))
        for k in np.unique(np.linspace(0, len(part.loss) - 1, _SAMPLES).astype(int)):
            x = part.loss[k]
            self.log.above(
                "over",
                _stick(part.over, part.loss, x) + part.record.top,
                _truth(what, x + shift) * (1 - _EXACT) - _NOTHING,
            )
            inside = x if k + 1 == len(part.loss) else x + REAL(0.37) * (part.loss[k + 1] - x)
            for at in (x, inside):
                self.log.below(
                    "under",
                    _stick(part.under, part.loss, at),
                    (_truth(what, at - shift) - q_plus) * (1 + _EXACT) + _NOTHING,
                )

    def _sum(self, side: str) -> tuple[Long, Long, Any, Any, Any]:
        """Return losses and masses tilted by the second theta, their 2-norm error and the mass outside the window, of twice the length."""
        h, (low, size) = REAL(self.lattice.h), self.lattice.window
        first, length = low - size // 2, 2 * size
        product, scale, centre, slip = np.ones(length // 2 + 1, np.clongdouble), REAL(0), 0, REAL(0)
        tilted = []
        for part in self.parts:
            n, log_w = (
                part.record.count,
                np.log(np.maximum(getattr(part, side), REAL("1e-4900"))) + self.theta * part.loss,
            )
            top = np.max(log_w) + np.log(np.sum(np.exp(log_w - np.max(log_w))))
            w = np.where(getattr(part, side) > 0, np.exp(log_w - top), 0)
            middle = int(np.round(float(np.sum(w * part.index))))
            wrapped = np.zeros(length, REAL)
            np.add.at(wrapped, (part.index - middle) % length, w)
            spectrum = fft.rfft(wrapped)
            log = np.log(np.maximum(np.abs(spectrum), REAL("1e-4900"))) + 1j * np.angle(spectrum)
            product = product * np.exp(n * log)
            slip += n * EPS * (16 * np.log2(length) + 64)
            scale, centre = scale + n * top, centre + n * middle
            tilted.append((part, w))
        mass = np.roll(np.maximum(fft.irfft(product, length), 0), (centre - first) % length)
        loss = sum(part.record.count * REAL(part.record.offset) for part in self.parts) + h * (
            first + np.arange(length)
        ).astype(REAL)
        below, above = self._outside(tilted, first, -1), self._outside(tilted, first + length, +1)
        return loss, mass, np.expm1(slip) + 8 * EPS * np.log2(length), below + above, scale

    def _outside(self, tilted: list[tuple[_Factor, Long]], edge: int, sign: int) -> Any:
        """Bound the tilted mass beyond an edge by the best of a few Chernoff exponents."""
        h = REAL(self.lattice.h)
        spread = (
            np.sqrt(
                sum(
                    part.record.count * np.sum(w * (part.index - np.sum(w * part.index)) ** 2)
                    for part, w in tilted
                )
            )
            * h
        )
        found = REAL(1)
        for t in np.geomspace(1e-3, 60, 32) / float(spread):
            rate = sign * REAL(t) * h
            exponent = sum(
                part.record.count * _log_sum(np.log(w[w > 0]) + rate * part.index[w > 0])
                for part, w in tilted
            )
            found = np.minimum(found, np.exp(np.minimum(exponent - rate * edge, 0)))
        return found

    def _least_tail(self, side: str, sign: int) -> Any:
        """Return the least of Chernoff's bounds on the mass beyond one end of the window, at the recorded tilt."""
        low, size = self.lattice.window
        edge = low if sign < 0 else low + size
        logs = []
        for part in self.parts:
            mass = getattr(part, side)
            kept = mass > 0
            if not kept.any():
                return REAL(0)
            log_w = (
                np.log(mass[kept]) + REAL(self.lattice.theta) * part.loss[kept] - REAL(part.record.log_scale)
            )
            logs.append((part.record.count, log_w, part.index[kept]))

        def exponent(log_rate: float) -> float:  # of the rate a node, convex in it
            rate = sign * REAL(np.exp(log_rate))
            return float(sum(n * _log_sum(log_w + rate * index) for n, log_w, index in logs) - rate * edge)

        steps = np.linspace(-12.0, 3.0, 31)
        start = int(np.argmin([exponent(step) for step in steps]))
        ends = steps[max(start - 1, 0)], steps[min(start + 1, len(steps) - 1)]
        return np.exp(
            REAL(
                optimize.minimize_scalar(exponent, bounds=ends, method="bounded", options={"xatol": 1e-7}).fun
            )
        )

    def _window(self) -> None:
        """Compare with the mass outside the recorded window and the least that a transform in double errs, at the recorded tilt."""
        lattice, size = self.lattice, self.lattice.window[1]
        for name in ("low_tail", "high_tail", "over_tail"):
            self.log.holds(
                name, 0 <= getattr(lattice, name) < 1, f"{getattr(lattice, name)!r} is outside [0, 1)"
            )
            side, sign = ("over" if name == "over_tail" else "under"), (-1 if name == "low_tail" else 1)
            self.log.above(
                f"{name}, Chernoff",
                getattr(lattice, name) * (1 + 1e-5) + _UNDERFLOW,
                self._least_tail(side, sign),
            )
        least = 16 * np.log2(size) * 2.0**-53
        for side, rounding in zip(("over", "under"), lattice.rounding, strict=True):
            loss, mass, error, _, scale = self.sums[side]
            recorded = sum(part.record.count * REAL(part.record.log_scale) for part in self.parts)
            lean = scale - recorded + (REAL(lattice.theta) - self.theta) * loss
            tilted = np.exp(np.log(np.maximum(mass - error, REAL("1e-4900"))) + lean)
            start = size // 2
            above, below = np.sum(tilted[start + size :]), np.sum(tilted[:start])
            self.log.above(
                f"rounding {side}",
                rounding,
                least * np.sqrt(np.sum(tilted[start : start + size] ** 2)) * (1 - 1e-6),
            )
            if side == "over":
                self.log.above("over_tail", lattice.over_tail + _UNDERFLOW, above)
            else:
                self.log.above("high_tail", lattice.high_tail + _UNDERFLOW, above)
                self.log.above("low_tail", lattice.low_tail + _UNDERFLOW, below)

    def claim(self, claim: Claim) -> None:
        """Verify the bounds of one claim."""
        x, shift = REAL(claim.at), sum(part.record.count * REAL(part.record.shift) for part in self.parts)
        self.log.holds(
            "quantity", claim.quantity == "delta", f"{claim.quantity!r} is not what a lattice holds"
        )
        self.log.close("width", claim.terms["width"], claim.upper - claim.lower, 0.0)
        low, high = (
            self._bound("under", x + shift)[0] + self.q_plus,
            self._bound("over", x - shift)[1] + self.top,
        )
        self.log.below("delta lower", claim.lower, np.maximum(low, -np.expm1(np.minimum(x, 0))))
        self.log.above("delta upper", claim.upper, np.minimum(high, 1))

    def _bound(self, side: str, x: Any) -> tuple[Any, Any]:
        loss, mass, error, outside, scale = self.sums[side]
        t, h, over = self.theta, REAL(self.lattice.h), loss > x
        part = np.sum(mass[over] * np.exp(-(t - 1) * (loss[over] - x)) * -np.expm1(x - loss[over]))
        kappa = np.exp((t - 1) * np.log(t - 1) - t * np.log(t))
        norm = np.sqrt(2 / ((2 * t - 2) * (2 * t - 1) * (2 * t)) / h + kappa**2)
        size = np.exp(scale - (t - 1) * x)
        return size * (part - error * norm - kappa * outside), size * (part + error * norm + kappa * outside)


def _one(recorded: int, factor: Description) -> tuple[Description, int]:
    """Return what one copy of a factor is: rounds of randomised response may be written out as one law."""
    what, count = factor["law"], factor["count"]
    inner = what["base"] if what["kind"] == "reversed" else what
    if recorded == count or inner["kind"] != "response":
        return what, count
    return {"kind": "rounds", "epsilon": inner["epsilon"], "rounds": count}, 1  # a symmetric law


def _log_sum(exponents: Long) -> Any:
    return np.max(exponents) + np.log(np.sum(np.exp(exponents - np.max(exponents))))


def _stick(mass: Long, loss: Long, x: Any) -> Any:
    """Return sum of mass (e^loss - e^x)_+."""
    above = loss > x
    return np.sum(mass[above] * np.exp(loss[above]) * -np.expm1(x - loss[above]))


def _truth(what: Description, x: Any) -> Any:
    """Return delta(x) of one factor: a sum over atoms, or closed forms in many digits."""
    built = law(what, Need(1.0, 0.0))
    if all(part.log_density is None for part in built.parts):
        return built.q_plus + sum((_stick(np.exp(part.log_p), part.loss, x) for part in built.parts), REAL(0))
    with mpmath.workdps(_DIGITS):
        return REAL(mpmath.nstr(tails(what, mpmath.mpf(str(x)))[0], 25))
