"""A contour and the claims it proves, verified from the descriptions of the laws alone.

    psi(x) = delta(x) - Q(L = inf) for c > 1,    psi(x) = 1 - delta(x) for 0 < c < 1,

is e^(K(c) - (c - 1) x) times the trapezoid sum over the recorded nodes, less its aliases, plus or minus what
is cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tradeoff.certificates.certificate import Claim
from tradeoff.certificates.description import Description
from tradeoff.certificates.evidence import Line
from tradeoff.certificates.verify.arithmetic import EPS, LARGEST, PI, REAL, UNIT, ComplexLong, Long
from tradeoff.certificates.verify.beyond import Product
from tradeoff.certificates.verify.moments import log_moment, lost, moments
from tradeoff.certificates.verify.report import Log

_SECOND = 1.4
"""How much finer the second quadrature is, with which the first is compared."""

_AGREED = 1e-12
"""Most by which two quadratures of a product may differ, relative to its modulus at 0."""

_PROBES = np.array([0.11, 0.5, 1.0], REAL)
"""Where they are compared, in parts of the last frequency."""

_UNDERFLOW = 1e-322
"""What doubles lose below their normal range."""

_STEEPEST = 60.0
"""Exponent at which recorded aliases end: e^60 is far above a sum, and nothing is known from below."""

_DEEP = 9.5
"""Frequencies, in units of 1/tau, up to which a recorded blur counts the product as ``cut``."""


class CheckedLine:
    """The recorded contour, recomputed."""

    def __init__(self, line: Line, factors: Sequence[Description], log: Log) -> None:
        self.line, self.factors, self.log = line, factors, log
        self.middle = line.c < 1
        self._shape()
        self.c, self.tau, self.step = REAL(line.c), REAL(line.tau), REAL(line.step)
        self.y = self.step * np.arange(line.nodes).astype(REAL)
        self.kernel = np.where(self.y > 0, REAL(1), REAL(1) / 2) * (self.step / PI)
        self._product()
        self._moments()
        self._cut()
        self.q_plus = lost(factors, "q_plus")

    def _shape(self) -> None:
        self.log.trust(
            "two quadratures of a transform that agree to 1e-12; "
            "variations of tilted densities summed over nodes and 2 %"
        )
        line, holds = self.line, self.log.holds
        low, high = (0.0, 1.0) if self.middle else (1.0, np.inf)
        holds("c", low < line.c < high, f"{line.c!r} is on the edge of its strip")
        holds("left", low <= line.left[0] < line.c, f"{line.left[0]!r} is not between {low!r} and c")
        holds("right", line.c < line.right[0] <= high, f"{line.right[0]!r} is not between c and {high!r}")
        holds("step", line.step > 0 and np.isfinite(line.step), f"{line.step!r} is not positive")
        holds("nodes", 2 <= line.nodes <= 2**22, f"{line.nodes!r} is outside [2, 2^22]")
        holds("tau", line.tau >= 0, f"{line.tau!r} is negative")
        holds("cut", line.cut > 0, f"{line.cut!r} is not positive")

    def _product(self) -> None:
        """Compute log of the product at all nodes, its centre and K(c), with a second quadrature beside."""
        top = float(self.y[-1])
        value: ComplexLong = (-((self.tau * self.y) ** 2) / 2).astype(np.clongdouble)
        self.slip: Long = np.zeros(len(self.y), REAL)
        self.mean = self.tau**2 * (self.c - REAL(1) / 2)
        self.log_m = self._added(self.c)
        self.size = REAL(0)  # of the terms that the mean adds up
        probes, moved = top * _PROBES, np.zeros(len(_PROBES), REAL)
        for factor in self.factors:
            n, each = REAL(factor["count"]), moments(factor["law"], self.line.c, top)
            log = each.log_ratio(self.y)
            value, self.slip = value + n * log, self.slip + n * each.slip(self.y, log)
            self.size = self.size + n * abs(each.mean)
            self.mean, self.log_m = self.mean + n * each.mean, self.log_m + n * each.log_m
            finer, known = moments(factor["law"], self.line.c, top, _SECOND), each.log_ratio(probes)
            turn = 1j * probes * (finer.mean - each.mean)
            apart = n * (finer.log_ratio(probes) + turn - known)
            moved = moved + np.exp(np.minimum(n * known.real, 0)) * np.abs(np.expm1(apart))
        self.value, self.moved = value, float(np.max(moved))
        self.log.close("quadrature", 0.0, self.moved, _AGREED)

    def _added(self, c: Any) -> Any:
        """Return log M of the added Gaussian."""
        return self.tau**2 * (c**2 - c) / 2

    def _moments(self) -> None:
        line, finer = self.line, log_moment(self.factors, self.line.c, _SECOND) + self._added(self.c)
        allowed = line.log_m_error + 4e-16 * abs(line.log_m)
        self.log.close("log_m", line.log_m, finer, allowed)
        self.log.close("log_m, second quadrature", self.log_m, finer, 0.1 * allowed + 1e-17)
        for name, (c, log_m) in (("left", line.left), ("right", line.right)):
            found = REAL(0) if c in {0.0, 1.0} else log_moment(self.factors, c)
            found = found + self._added(REAL(c))
            raised = 1e-2 if c in {0.0, 1.0} or line.tau else 0.0
            self.log.above(f"{name} log_m", log_m, found)
            rounded = 256 * UNIT * sum(REAL(factor["count"]) for factor in self.factors)
            self.log.close(f"{name} log_m", log_m, found, 4e-9 * (1 + abs(found)) + rounded + raised)

    def _cut(self) -> None:
        """Prove what the product stays below beyond the last node; it is nowhere above 1."""
        line = self.line
        product = Product(self.factors, line.c, line.tau)
        level = float(np.log(line.cut)) + 1e-9
        shown = level >= 0 or product.stays_below(level, float(self.y[-1]))
        beyond = f"{line.cut:.3g} beyond {float(self.y[-1]):.6g}"
        self.log.holds("cut", shown, f"the product could not be shown to stay below {beyond}")

    def claim(self, claim: Claim) -> None:
        """Verify the terms of one claim, and that its bounds follow."""
        x, t = REAL(claim.at), claim.terms
        z = self.c + 1j * self.y
        poles = z * (z - 1) * (-1 if self.middle else 1)
        total, own = self._sum(x, self.kernel / poles)
        self.log.close("sum", t["sum"], total, REAL(t["nodes"]) + t["rounding"] + own)
        cut_off = REAL(self.line.cut) / (PI * self.y[-1])
        self.log.close("truncation", t["truncation"], cut_off, 1e-9 * cut_off)
        alias = self._aliases(x)
        for name, each in alias.items():
            found = np.minimum(each, np.exp(_STEEPEST))
            known = np.expm1(np.minimum(2 * self.line.log_m_error, LARGEST))  # it divides by e^log_m
            allowed = (1e-8 + known) * found + _UNDERFLOW
            self.log.close(f"alias {name}", t[name], found, allowed)
        self._rounding(x, t["rounding"], np.abs(self.kernel / poles))
        blur = self._blurred(x, t, np.max(np.abs(poles))) if self.tau else REAL(0)
        size = 16 + 8 * abs(self.line.log_m) + 16 * abs((self.line.c - 1) * claim.at)
        slack = self.line.log_m_error + UNIT * size
        self.log.close("slack", t["slack"], slack, 1e-12 * slack)
        self._as_written(claim)
        scale = np.exp(np.minimum(self.log_m - (self.c - 1) * x, LARGEST))
        least = total - own - cut_off - alias["left"] - alias["right"] - (0 if self.middle else blur)
        most = total + own + cut_off + (blur if self.middle else 0)
        self._conclude(claim, scale * np.maximum(least, 0), scale * most)

    def _rounding(self, x: Any, recorded: float, weight: Long) -> None:
        """Require what a sum in double errs: N + 32 units of its moduli, and what turns its phases."""
        size = weight * np.exp(np.minimum(self.value.real, 0))
        # A count beyond 2^53 is no float, and rounded once more.
        rounded = 2 if max(factor["count"] for factor in self.factors) <= 2**53 else 4
        turned = rounded * self.size + 4 * (self.tau**2 * self.c + abs(x) + abs(self.mean))
        found = UNIT * ((len(size) + 32) * np.sum(size) + turned * np.sum(size * self.y))
        self.log.close("rounding", recorded, found, 1e-3 * found)

    def _as_written(self, claim: Claim) -> None:
        """Require the bounds that the recorded terms give in double, to the last bits."""
        t, unit = claim.terms, float(UNIT)
        off, blur = t["nodes"] + t["rounding"] + t["truncation"], t["blur"]
        least = max(t["sum"] - off - t["left"] - t["right"] - (0.0 if self.middle else blur), 0.0)
        most = min(t["sum"] + off + (blur if self.middle else 0.0), 1e40)
        scale = float(np.exp(min(self.line.log_m - (self.line.c - 1) * claim.at, 500.0)))
        low, high = least * scale * (1 - t["slack"]), most * scale * float(np.exp(min(t["slack"], 100.0)))
        add = 0.0 if self.middle else float(self.q_plus)
        if not self.middle:
            low, high = add * (1 - 16 * unit) + low * (1 - unit), add * (1 + 16 * unit) + high
        for side, recorded, found in (("lower", claim.lower, low), ("upper", claim.upper, min(high, 1.0))):
            allowed = unit * (16 * add + 4 * found) + _UNDERFLOW
            self.log.close(f"{side}, from its terms", recorded, found, allowed)

    def _conclude(self, claim: Claim, low: Any, high: Any) -> None:
        held = "1 - delta" if self.middle else "delta"
        said = f"{claim.quantity!r} is not what a line at c = {self.line.c!r} holds"
        self.log.holds("quantity", claim.quantity == held, said)
        add = REAL(0) if self.middle else self.q_plus
        self.log.below(f"{claim.quantity} lower", claim.lower, add + low)
        self.log.above(f"{claim.quantity} upper", claim.upper, np.minimum(add + high, 1))

    def _sum(self, x: Any, weight: ComplexLong) -> tuple[Any, Any]:
        """Return Re sum of weight product e^(i (mean - x) y), and a bound on its rounding."""
        phase = (self.mean - x) * self.y
        size = np.abs(weight) * np.exp(np.minimum(self.value.real, 0))
        terms = (weight * np.exp(self.value + 1j * phase)).real
        rounded = EPS * (64 + len(terms) + 8 * np.abs(phase) + 8 * np.abs(self.value.imag))
        own = np.sum(size * (np.minimum(self.slip, 2) + rounded))
        return np.sum(terms), own + self.moved * np.sum(np.abs(weight))

    def _aliases(self, x: Any) -> dict[str, Any]:
        """Bound the other periods with the recorded Chernoff points."""
        period, found = 2 * PI / self.step, {}
        for name, (c, log_m) in (("left", self.line.left), ("right", self.line.right)):
            other = REAL(c)
            kappa = (other - 1) * np.log1p(-1 / other) - np.log(other) if c > 1 else REAL(0)
            gap = abs(other - self.c)
            exponent = log_m - self.log_m - (other - self.c) * x + kappa - gap * period
            bounded = np.exp(np.minimum(exponent, _STEEPEST)) / -np.expm1(-gap * period)
            found[name] = bounded if exponent < _STEEPEST else REAL(np.inf)
        return found

    def _blurred(self, x: Any, t: dict[str, float], poles: Any) -> Any:
        """Bound what the added Gaussian does, tau^2 times the tilted density at x: a sum over the same nodes.

        Beyond them the product is at most ``cut``, and at most e^(-tau^2 y^2/2), whose integral from y on is
        at most itself over tau^2 y: the first counts up to where they are equal, or not at all. The recorded
        one counts ``cut`` up to _DEEP/tau, and holds the error of its sum in double: that of the first sum,
        node by node times the ratio of the kernels.
        """
        bump = self.tau**2 * np.exp(self.tau**2 / 8)
        total, own = self._sum(x, (self.kernel * bump).astype(np.clongdouble))
        cut, last = REAL(self.line.cut), self.y[-1]
        equal = np.maximum(last, np.sqrt(np.maximum(-2 * np.log(cut), 0)) / self.tau)
        at_once = np.exp(-((self.tau * last) ** 2) / 2) / (self.tau**2 * last)
        beyond = bump / PI * np.minimum(cut * (equal - last + 1 / (self.tau**2 * equal)), at_once)
        found = np.maximum(total + own, 0) + beyond
        recorded = np.maximum(total, 0) + cut * np.maximum(1 / last, _DEEP * self.tau) / PI
        noise = bump * poles * (REAL(t["rounding"]) + t["nodes"]) + own
        self.log.close("blur", t["blur"], recorded, REAL(t["blur"]) * 1e-3 + noise)
        self.log.above("blur", t["blur"] * (1 + 1e-9), found)
        return found
