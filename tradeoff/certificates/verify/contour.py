"""A contour and the claims it proves, verified from the descriptions of the laws alone.

    psi(x) = delta(x) - Q(L = inf) for c > 1,    psi(x) = 1 - delta(x) for 0 < c < 1,

is e^(K(c) - (c - 1) x) times the trapezoid sum over the recorded nodes, less its aliases, plus or minus what is cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tradeoff.certificates.certificate import Claim
from tradeoff.certificates.description import Description
from tradeoff.certificates.evidence import Line
from tradeoff.certificates.verify.beyond import Product
from tradeoff.certificates.verify.laws import EPS, PI, REAL, Long
from tradeoff.certificates.verify.moments import ComplexLong, log_moment, lost, moments
from tradeoff.certificates.verify.report import Log

_SECOND = 1.4
"""How much finer the second quadrature is, with which the first is compared."""

_PROBES = np.array([0.11, 0.5, 1.0])

_UNDERFLOW = 1e-322
"""What doubles lose below their normal range."""


class CheckedLine:
    """The recorded contour, recomputed."""

    def __init__(self, line: Line, factors: Sequence[Description], log: Log) -> None:
        self.line, self.factors, self.log = line, factors, log
        self.middle = line.c < 1
        self._shape()
        self.c, self.tau, self.step = REAL(line.c), REAL(line.tau), REAL(line.step)
        self.y = self.step * np.arange(line.nodes).astype(REAL)
        self._product()
        self._moments()
        self._cut()
        self.q_plus = lost(factors, "q_plus")

    def _shape(self) -> None:
        self.log.trust(
            "two quadratures of a transform that agree to 1e-12; variations of tilted densities summed over nodes and 2 %"
        )
        line, low, high = self.line, 0.0 if self.middle else 1.0, 1.0 if self.middle else np.inf
        self.log.holds("c", low < line.c < high, f"{line.c!r} is on the edge of its strip")
        self.log.holds("left", low <= line.left[0] < line.c, f"{line.left[0]!r} is not between {low!r} and c")
        self.log.holds(
            "right", line.c < line.right[0] <= high, f"{line.right[0]!r} is not between c and {high!r}"
        )
        self.log.holds("step", line.step > 0 and np.isfinite(line.step), f"{line.step!r} is not positive")
        self.log.holds("nodes", 2 <= line.nodes <= 2**22, f"{line.nodes!r} is outside [2, 2^22]")
        self.log.holds("tau", line.tau >= 0, f"{line.tau!r} is negative")
        self.log.holds("cut", 0 < line.cut <= 1, f"{line.cut!r} is outside (0, 1]")

    def _product(self) -> None:
        """Compute log of the product at all nodes, its centre, K(c) and the rounding of all that, with a second quadrature beside."""
        top = float(self.y[-1])
        value: ComplexLong = (-((self.tau * self.y) ** 2) / 2).astype(np.clongdouble)
        self.slip: Long = np.zeros(len(self.y), REAL)
        self.mean = self.tau**2 * (self.c - REAL(1) / 2)
        self.log_m = self.tau**2 * (self.c**2 - self.c) / 2
        self.size = REAL(0)  # of the terms that the mean adds up
        probes, moved = top * _PROBES.astype(REAL), np.zeros(len(_PROBES), REAL)
        for factor in self.factors:
            n, each = factor["count"], moments(factor["law"], self.line.c, top)
            value = value + n * each.log_ratio(self.y)
            self.slip = self.slip + n * each.slip(self.y)
            self.size = self.size + n * abs(each.mean)
            self.mean, self.log_m = self.mean + n * each.mean, self.log_m + n * each.log_m
            finer = moments(factor["law"], self.line.c, top, _SECOND)
            turn = 1j * probes * (finer.mean - each.mean)
            size = np.exp(np.minimum(n * each.log_ratio(probes).real, 0))
            moved = moved + size * np.abs(
                np.expm1(n * (finer.log_ratio(probes) + turn - each.log_ratio(probes)))
            )
        self.value, self.moved = value, float(np.max(moved))
        self.log.close("quadrature", 0.0, self.moved, 1e-12)

    def _moments(self) -> None:
        line, finer = (
            self.line,
            log_moment(self.factors, self.line.c, _SECOND) + self.tau**2 * (self.c**2 - self.c) / 2,
        )
        allowed = line.log_m_error + 4e-16 * abs(line.log_m)
        self.log.close("log_m", line.log_m, finer, allowed)
        self.log.close("log_m, second quadrature", self.log_m, finer, 0.1 * allowed + 1e-17)
        for name, (c, log_m) in (("left", line.left), ("right", line.right)):
            found = REAL(0) if c in {0.0, 1.0} else log_moment(self.factors, c)
            found = found + self.tau**2 * (REAL(c) ** 2 - c) / 2
            slack = 1e-9 * (1 + abs(found))
            self.log.above(f"{name} log_m", log_m, found)
            self.log.close(
                f"{name} log_m", log_m, found, slack + (1e-2 if c in {0.0, 1.0} or line.tau else 0.0)
            )

    def _cut(self) -> None:
        line = self.line
        product = Product(self.factors, line.c, line.tau)
        shown = product.stays_below(float(np.log(line.cut)) + 1e-9, float(self.y[-1]))
        self.log.holds(
            "cut",
            shown,
            f"the product could not be shown to stay below {line.cut:.3g} beyond {float(self.y[-1]):.6g}",
        )

    def claim(self, claim: Claim) -> None:
        """Verify the terms of one claim, and that its bounds follow."""
        x, t = REAL(claim.at), claim.terms
        kernel = np.where(self.y > 0, REAL(1), REAL(1) / 2) * (self.step / PI)
        z = self.c + 1j * self.y
        total, own = self._sum(x, kernel / (z * (z - 1) * (-1 if self.middle else 1)))
        self.log.close("sum", t["sum"], total, REAL(t["nodes"]) + t["rounding"] + own)
        cut_off = REAL(self.line.cut) / (PI * self.y[-1])
        self.log.close("truncation", t["truncation"], cut_off, 1e-9 * cut_off)
        alias = self._aliases(x)
        for name in ("left", "right"):
            self.log.close(
                f"alias {name}",
                t[name],
                alias[name],
                (1e-8 + 2 * self.line.log_m_error) * alias[name] + _UNDERFLOW,
            )
        self._rounding(x, t["rounding"], np.abs(kernel / (z * (z - 1))))
        blur = self._blurred(x, kernel) + cut_off if self.tau else REAL(0)
        # Recorded with it is the error of its sum in double: that of the first sum, node by node times tau^2 e^(tau^2/8) |z (z - 1)|.
        noise = (
            self.tau**2
            * np.exp(self.tau**2 / 8)
            * np.max(np.abs(z * (z - 1)))
            * REAL(t["rounding"] + t["nodes"])
        )
        self.log.close("blur", t["blur"], blur, REAL(t["blur"]) * 1e-3 + cut_off + noise)
        self.log.above("blur", t["blur"] * (1 + 1e-9), blur)
        slack = self.line.log_m_error + 2.0**-53 * (
            16 + 8 * abs(self.line.log_m) + 16 * abs((self.line.c - 1) * claim.at)
        )
        self.log.close("slack", t["slack"], slack, 1e-12 * slack)
        self._as_written(claim)
        scale = np.exp(self.log_m - (self.c - 1) * x)
        low = scale * np.maximum(
            total - own - cut_off - alias["left"] - alias["right"] - (0 if self.middle else blur), 0
        )
        high = scale * (total + own + cut_off + (blur if self.middle else 0))
        self._conclude(claim, low, high)

    def _rounding(self, x: Any, recorded: float, weight: Long) -> None:
        """Require what a sum in double errs: (N + 32) units of the moduli, and of every phase what mean - x turns it by."""
        size = weight * np.exp(np.minimum(self.value.real, 0))
        rounded = (
            2 if max(factor["count"] for factor in self.factors) <= 2**53 else 4
        )  # a count beyond is no float
        turned = rounded * self.size + 4 * (self.tau**2 * self.c + abs(x) + abs(self.mean))
        found = REAL(2.0**-53) * ((len(size) + 32) * np.sum(size) + turned * np.sum(size * self.y))
        self.log.close("rounding", recorded, found, 1e-3 * found)

    def _as_written(self, claim: Claim) -> None:
        """Require the bounds that the recorded terms give in double: to the last bits, but for those of Q(L = inf)."""
        t, unit = claim.terms, 2.0**-53
        off, left, right, blur = (
            t["nodes"] + t["rounding"] + t["truncation"],
            t["left"],
            t["right"],
            t["blur"],
        )
        least = max(t["sum"] - off - left - right - (0.0 if self.middle else blur), 0.0)
        most = min(t["sum"] + off + (blur if self.middle else 0.0), 1e40)
        scale = float(np.exp(min(self.line.log_m - (self.line.c - 1) * claim.at, 500.0)))
        low, high = least * scale * (1 - t["slack"]), most * scale * float(np.exp(min(t["slack"], 100.0)))
        add = 0.0 if self.middle else float(self.q_plus)
        if not self.middle:
            low, high = add * (1 - 16 * unit) + low * (1 - unit), add * (1 + 16 * unit) + high
        for side, recorded, found in (("lower", claim.lower, low), ("upper", claim.upper, min(high, 1.0))):
            self.log.close(
                f"{side}, from its terms", recorded, found, unit * (16 * add + 4 * found) + _UNDERFLOW
            )

    def _conclude(self, claim: Claim, low: Any, high: Any) -> None:
        if claim.quantity == "1 - delta" and self.middle:
            add = REAL(0)
        elif claim.quantity == "delta" and not self.middle:
            add = self.q_plus
        else:
            self.log.holds(
                "quantity", False, f"{claim.quantity!r} is not what a line at c = {self.line.c!r} holds"
            )
            return
        self.log.below(f"{claim.quantity} lower", claim.lower, add + low)
        self.log.above(f"{claim.quantity} upper", claim.upper, np.minimum(add + high, 1))

    def _sum(self, x: Any, weight: ComplexLong) -> tuple[Any, Any]:
        """Return Re sum of weight product e^(i (mean - x) y), and a bound on its rounding."""
        phase = (self.mean - x) * self.y
        size = np.abs(weight) * np.exp(np.minimum(self.value.real, 0))
        terms = (weight * np.exp(self.value + 1j * phase)).real
        own = np.sum(
            size
            * (
                np.minimum(self.slip, 2)
                + EPS * (64 + len(terms) + 8 * np.abs(phase) + 8 * np.abs(self.value.imag))
            )
        )
        return np.sum(terms), own + self.moved * np.sum(np.abs(weight))

    def _aliases(self, x: Any) -> dict[str, Any]:
        """Bound the other periods with the recorded Chernoff points."""
        period, found = 2 * PI / self.step, {}
        for name, (c, log_m) in (("left", self.line.left), ("right", self.line.right)):
            other = REAL(c)
            kappa = (other - 1) * np.log1p(-1 / other) - np.log(other) if c > 1 else REAL(0)
            gap = abs(other - self.c)
            found[name] = np.exp(
                log_m - self.log_m - (other - self.c) * x + kappa - gap * period
            ) / -np.expm1(-gap * period)
        return found

    def _blurred(self, x: Any, kernel: Long) -> Any:
        """Bound what the added Gaussian does: tau^2 times the density of the tilted sum at x, as a sum over the same nodes."""
        weight = kernel * self.tau**2 * np.exp(self.tau**2 / 8)
        total, own = self._sum(x, weight.astype(np.clongdouble))
        return np.maximum(total + own, 0)
