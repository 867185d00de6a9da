r"""Bounds on delta(epsilon), from both sides, of one step of t chosen at random, with normal noise.

Without the record x ~ N(0, I_t), and dQ/dP = Y = (R_1 + ... + R_t)/t with independent R_i = e^(mu x_i -
mu^2/2). With M(z) = E e^(-z R/t) and K > 0, *put* and *call* are

    E (K - Y)_+ = (1/2 pi i) int e^(z K) M(z)^t z^-2 dz   on Re z = c > 0,
    E (Y - K)_+ = E (K - Y)_+ + 1 - K                     (the delta of e^epsilon = K),

as u_+ = (1/2 pi i) int e^(z u) z^-2 dz. R has no exponential moments, so a call that is small against its put
is cut in two, by the weights chi(x_i) = exp(-e^(k (x_i - b))) in (0, 1), k >= 2 mu: the *bulk* E (Y - K)_+
prod chi, whose transform E chi e^(-z R/t) is entire, on a line c < 0; and the *jump*, E (Y - K)_+ (1 - prod
chi) = E (K - Y)_+ (1 - prod chi) + E (Y - K) (1 - prod chi), a put on a line c > 0 and a closed form. The sum
is exact for every b: b and k only set how much cancels. Below, f(K) is the put, the call of the bulk or the
put of the jump, and F(z) the transform that belongs to it. A *tilt* is a real z = rho, a *line* the nodes z
of one c. In code ``strike`` is K, ``above`` K - 1 to full accuracy, and all logs are natural.

**Aliases.** Nodes are z_j = c + i h j; P = 2 pi/h. As e^(-c u) f(u) has the transform F(c + iy) z^-2,
by Poisson's formula the sum over all j is sum_j e^(-c j P) f(K + j P): never below f(K), as f >= 0.
*Near side*, jc > 0: a put is at most (K + jP) mass <= j (K + P) mass, a call of the bulk at K - jP at most
1 + jP <= j (1 + P); and sum j q^j = q/(1 - q)^2, q = e^(-|c| P). *Far side*: a put is 0 where K <= P.
Otherwise by Chernoff, as u_+ <= e^(s u)/(e s), with any tilt c' farther from 0 on the same side f(K - jP)
<= e^(c' (K - jP)) F(c')/(e |c'|), jc' > 0, so that these aliases add to at most e^(c' K) F(c')/(e
|c'|)/(e^(|c' - c| P) - 1).

**Nodes not summed.** With x moved to x - i eta, mu eta <= pi/2 and k eta <= pi/3, |chi| is at most chi' =
exp(-e^(k (x - b))/2), and for y = Im z >= 0: |E chi e^(-z R/t)| <= e^(eta^2/2) E chi' e^(-rho R/t), where
rho = Re z e^(-i mu eta) = c cos mu eta + y sin mu eta: this falls as y grows. The sum of h/(jh)^2 over j >=
1 + Y/h is at most 1/Y. For the jump |a^t - b^t| <= t |a - b| max(|a|, |b|)^(t-1), and |a - b| <= 3 p
e^(eta^2/2), p = E (1 - chi), because |1 - e^(-w)| <= 3 (1 - e^-|w|) for |arg w| <= pi/3. Where the terms
fall slowly they are summed by parts m times: with q = e^(i K h), u_j the terms without q^j, and D their
forward difference,

    sum u_j q^j = q^J sum_(i < m) q^i D^i u_J/(1 - q)^(i + 1) + (q/(1 - q))^m sum D^m u_j q^j,   j >= J,

and |D^m u_j| <= m! (h/r)^m sup |u| within r of [jh, (j + m) h] by Cauchy. With r = y sin(mu eta)/2, rho is
there at least c cos mu eta + y sin(mu eta)/2, and |z| at least y/2; sum_(j >= J) j^(-m-2) <= J^(-m-2) (1 +
J/(m + 1)).

**Transforms.** M is a trapezoid sum along x - i a, 2 mu a <= pi/2 and 2 k a <= pi/3. The integrand is
analytic and decays in the strip -2a <= Im x <= 0, so the sum over all nodes misses the integral by at most
that of its modulus along both edges, over e^(2 pi a/h) - 1 (Trefethen, Weideman 2014, Theorem 5.1). With w
= z (R - 1)/t,

    int |e^-w phi| <= e^(2 a^2) e^(c/t) M(c cos 2 mu a)    for c > 0, on both edges,
    int |chi e^-w phi| <= e^(2 a^2) sup |chi' e^(|c| (R - 1)/t)|    for the bulk, c < 0,

and with 1 - chi for chi at most 3 p times the first, as 1 - chi grows with x where e^(-rho R) falls
(Chebyshev's inequality for two monotone functions). On the nodes log of the modulus is at most g(x) = (a^2
- x^2)/2 - c (R cos(mu a) - 1)/t, less e^(k (x - b))/2 for the bulk; left of where g' >= 1, and right of
where g' <= -1, the nodes left out add to at most e^g at the last one. *Real tilts* (tables of log M) are
sums along the real line in the strip |Im x| <= a: their edges are at most e^(a^2/2) M(rho cos mu a), and a
tilt is kept only where that bound and the ends are below 1e-5/t of the sum; logarithms of M^t get 1e-3 for
it.

**Rounding.** The sums are those of expm1(-w), with errors of units of |w|: so a power t costs sqrt(t) units
and not t. |a^t - b^t| as above bounds the error of a term by that of a mean; the other units are those of
exponents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tradeoff.intervals.bounds import Array, Complex
from tradeoff.pld.law import complex_log1p
from tradeoff.pld.units import TINY, UNIT

STEEPEST = 20.0  # largest mu: above it, one step among many hides little


class Cut(NamedTuple):
    """chi(x) = exp(-e^(k (x - b))), b = ``at``, k = ``steep``, of the bulk or the ``jump``; k = 0: no cut."""

    at: float = 0.0
    steep: float = 0.0
    jump: bool = False

    @property
    def is_bulk(self) -> bool:
        return self.steep > 0 and not self.jump

    def narrow(self, width: float, part: int) -> float:
        """Return the lesser of a width and pi/(part k), up to which chi is bounded next to the line."""
        return min(width, math.pi / part / self.steep) if self.steep else width

    def exponent(self, x: Any) -> Any:
        """Return -log chi = e^(k (x - b)), cut at e^600, where chi is 0 all the same; 0 without a cut."""
        if self.steep == 0:
            return np.zeros(len(x))
        return np.exp(np.where(np.real(x) < self.at + 600 / self.steep, self.steep * (x - self.at), 600.0))


@dataclass(frozen=True, eq=False)
class Line:
    """Terms h/pi e^(z (K - 1)) F(z) e^z z^-2 of one K, whose real parts add up to f(K); serves K nearby."""

    z: Complex  # nodes c + i h j, j >= 0
    terms: Complex
    error: Array  # of each term
    inner: int  # terms that are summed one by one; the others are summed by parts
    strike: tuple[float, float]  # K - 1 and K
    log_rest: float  # log of a bound on terms not summed, but for |1 - q|^-m
    parts: int  # m
    mass: float  # of the measure: 1, or E (1 - prod chi) for the jump
    other: tuple[float, float]  # c' of the far side, and log of e^(c' K) F(c')/(e |c'|), a bound on f(K)

    def at(self, above: float, strike: float) -> tuple[float, float]:
        """Return bounds on f(K), K = ``strike``: aliases only add to the sum, so the upper one has none."""
        c, h, moved = float(self.z[0].real), float(self.z[1].imag), above - self.strike[0]
        factor = np.exp(moved * self.z)  # of the terms of this K over those of the line's
        terms, size = self.terms * factor, self.error * abs(factor[0])
        n = self.inner
        total, error = float(np.sum(terms.real[:n])), float(np.sum(size[:n]))
        log_rest = self.log_rest + c * moved
        if self.parts:
            q, phase = np.exp(1j * strike * h), np.exp(-1j * strike * self.z.imag[n:])
            gap = max(abs(1 - q), TINY)
            log_rest -= self.parts * math.log(gap)
            change, share, rest = terms[n:] * phase, 1 / (1 - q), 0.0  # D^i u, q^i/(1 - q)^(i + 1)
            units = 64 * (1 + 1 / gap) * (1 + strike * self.z.imag[n:])
            off = float(np.max(size[n:] + UNIT * units * np.abs(terms[n:])))
            for _ in range(self.parts):
                rest += share * change[0]
                error += abs(share) * off * (1 + 1e-9)
                change, share, off = np.diff(change), share * q / (1 - q), 2 * off
            total += float((rest / phase[0]).real)
        # Terms moved cost a product and an exponential; 64 units a term, and 32 for their sum by pairs.
        units = 96 + 8 * abs(moved) * np.abs(self.z[:n])
        error += float(np.sum(np.abs(terms[:n]) * units)) * UNIT
        period = 2 * math.pi / h
        fall = -abs(c) * period
        alias = self.mass * (max(strike, 1.0) + period) * math.exp(fall) / math.expm1(fall) ** 2
        if c < 0 or strike >= period:
            tilt, log_other = self.other
            apart = abs(tilt - c) * period
            log_alias = log_other + tilt * moved - apart - math.log(max(-math.expm1(-apart), TINY))
            alias += math.exp(log_alias) if log_alias < 700 else math.inf
        rest_size = math.exp(min(log_rest, 700.0))
        return total - (error + rest_size + alias) * (1 + 1e-6), total + (error + rest_size) * (1 + 1e-6)


@dataclass(frozen=True)
class Allocation:
    """Bounds (lower, upper) on puts and calls of the module, for mu and t = ``steps``."""

    mu: float
    steps: int

    def put(self, epsilon: float, above: float, strike: float) -> tuple[float, float]:
        """Bound E (K - Y)_+ at K = ``strike`` = e^epsilon, |epsilon| at most 700."""
        line = self._line(Cut(), self._line_loss(epsilon), -math.inf)
        return _clipped(line.at(above, strike), max(above, 0.0), strike)

    def call(self, epsilon: float) -> tuple[float, float]:
        """Bound E (Y - K)_+ by the put + 1 - K, or in two parts where that is wider than 1e-9, relative."""
        above, strike = math.expm1(epsilon), math.exp(epsilon)
        put = self.put(epsilon, above, strike)
        # K - 1 and each sum cost a few units of the larger one.
        units = 8 * UNIT * (abs(above) + put[1])
        call = _clipped((put[0] - above - units, put[1] - above + units), max(-above, 0.0), 1.0)
        if above > 0 and call[1] - call[0] > 1e-9 * call[1]:
            low, high = self._cut_call(self._line_loss(epsilon), above, strike)
            call = max(call[0], low), min(call[1], high)
        return call

    def _line_loss(self, epsilon: float) -> float:
        """Return the loss of a grid whose line serves this one: a third of a deviation of Y apart."""
        spacing = min(0.1, 0.3 * math.sqrt(math.log1p(math.expm1(min(self.mu**2, 700.0)) / self.steps)))
        return round(epsilon / spacing) * spacing

    def _cut_call(self, place: float, above: float, strike: float) -> tuple[float, float]:
        """Bound a call as bulk and jump, cut about where one step alone reaches K or past all that counts."""
        mu, t = self.mu, self.steps
        reach = math.log1p(math.expm1(place) * t) / mu + mu / 2
        tilts, size = self._sizes(Cut(min(max(reach, 3.0), 9.0 + mu), max(9.0, 2 * mu), jump=False), place)
        if not len(tilts):
            return 0.0, 1.0
        far = mu + min(math.sqrt(2 * max(30 + math.log(t) - float(np.min(size + np.log(-tilts))), 0.0)), 36.0)
        low, high = 0.0, 1.0
        # A cut farther out takes a longer line of the bulk, and cancels less of the jump.
        for shift in (0.0, -0.5, -1.0) if mu < 1.2 else (-0.5 if mu < 1.7 else -0.75, -0.25, 0.0):
            at = min(max(reach + shift / mu, 3.0), far)
            inner, outer = (Cut(round(at, 2), max(round(at, 2), 2 * mu), jump) for jump in (False, True))
            p, q, off = self._masses(outer)
            # (Y - K)_+ is at most Y, and 1 - prod chi the sum of 1 - chi.
            most = (q + (t - 1) * p) * (1 + off)
            jump = (0.0, most)
            if most > 1e-12 * high and most > 1e-300:
                # E Y (1 - prod chi) and K E (1 - prod chi).
                log = math.log1p(-p)
                gained = -math.expm1((t - 1) * log + math.log1p(-min(q, 1 - UNIT)))
                paid = -strike * math.expm1(t * log)
                units = (off + 32 * UNIT) * (gained + paid)
                put = self._line(outer, place, -math.inf).at(above, strike)
                jump = _clipped((put[0] + gained - paid - units, put[1] + gained - paid + units), 0.0, most)
            # Errors of the bulk below a hundredth of the width of the jump are negligible.
            floor = math.log(min(max(jump[0], 1e12 * (jump[1] - jump[0]), 1e-300), 1.0))
            bulk = _clipped(self._line(inner, place, float(round(floor))).at(above, strike), 0.0, 1.0)
            low, high = max(low, bulk[0] + jump[0]), min(high, bulk[1] + jump[1])
            if at == far or high - low <= 4e-8 * high:
                break
        return low * (1 - 4 * UNIT), high * (1 + 4 * UNIT)

    def _sizes(self, cut: Cut, epsilon: float) -> tuple[Array, Array]:
        """Return the tilts rho of a part, and about log |integrand| of a line through each.

        That is (e^epsilon - 1) rho + log E e^(-rho (Y - 1)) - 2 log |rho|; rho < 0 for a bulk, else rho > 0.
        """
        rho, _, log = self._table(cut)
        side = rho < 0 if cut.is_bulk else rho > 0
        return rho[side], (math.expm1(epsilon) * rho + log - 2 * np.log(np.abs(rho)))[side]

    def _grid(
        self, c: float, aim: float, digits: float, cut: Cut
    ) -> tuple[Array, Array, float, float, float]:
        """Return nodes x for M on lines of real part c, whose ends miss e^-aim, right of a jump p e^-aim.

        With their weights h phi(x), the error of the step relative to the integrals along the edges of the
        strip, and the logs of bounds on the integrals left and right of the nodes.
        """
        mu, t = self.mu, self.steps
        a = self._shift(cut)
        h = 2 * math.pi * a / (digits + 2 * a * a)
        x = np.arange(-80.0, 80.25, 0.25)
        ratio = np.exp(np.minimum(mu * x - mu * mu / 2, 700.0)) * math.cos(mu * a)
        plain = (a * a - x * x) / 2  # of the 1 in expm1(-w)
        exponent = cut.is_bulk * cut.exponent(x) / 2
        g = np.maximum(plain - c / t * (ratio - 1) - exponent, plain)
        pull = -c / t * mu * ratio - cut.steep * exponent  # slope of g, plus x
        # Not as far as a low bump next to the cut, left of which g rises, too.
        left = np.flatnonzero(np.logical_and.accumulate((g <= -aim) & (pull - x >= 1)))
        share = math.log(self._masses(cut)[0]) if cut.jump else 0.0
        right = np.flatnonzero((g <= share - aim) & (pull <= 0) & (x >= 1))
        if not (len(left) and len(right) and digits < 700):  # e^digits is no float
            return np.zeros(1), np.ones(1), math.inf, math.inf, math.inf
        nodes = h * np.arange(math.floor(x[left[-1]] / h), math.ceil(x[right[0]] / h) + 1)
        weight = h / math.sqrt(2 * math.pi) * np.exp(-nodes * nodes / 2)
        strip = (1 + math.exp(2 * a * a)) / math.expm1(2 * math.pi * a / h)
        return nodes, weight, strip, float(g[left[-1]]) + 0.7, float(g[right[0]]) + 0.7

    def _shift(self, cut: Cut) -> float:
        """Return a, by which nodes x are moved down in the strip -2a <= Im x <= 0."""
        return cut.narrow(min(1.2, math.pi / 4 / self.mu), 6)

    def _real_nodes(self, digits: float, low: float, high: float, cut: Cut) -> tuple[Array, Array, float]:
        """Return nodes, weights and cos(mu a) for real tilts: e^-digits is missed of sums on |Im x| = a."""
        a = cut.narrow(min(1.2, math.pi / 6 / self.mu), 6)
        h = 2 * math.pi * a / (digits + 1 + a * a / 2)
        x: Array = h * np.arange(math.floor(low / h), math.ceil(high / h) + 1, dtype=float)
        weight: Array = np.exp(-x * x / 2) * (h / math.sqrt(2 * math.pi))
        return x, weight, math.cos(self.mu * a)

    @lru_cache(maxsize=64)  # noqa: B019 - few allocations are kept, by value
    def _masses(self, cut: Cut) -> tuple[float, float, float]:
        """Return p = E (1 - chi), q = E R (1 - chi), which is p for x ~ N(mu, 1), and their relative error.

        That is of rounding: 2^-53 times 64 and the sizes of exponents. Strip and ends miss 4 e^-80 of each.
        """
        mu = self.mu
        x, weight, _ = self._real_nodes(80.0, -16.0, mu + math.sqrt(160 + cut.at**2), cut)
        exponent = cut.exponent(x)
        each = np.stack([weight, weight * np.exp(mu * x - mu * mu / 2)]) * -np.expm1(-exponent)
        # Of the relative error of an exponent e the share e e^-e/(1 - e^-e) <= 1 reaches 1 - e^-e.
        share = np.minimum(exponent, 700) / np.expm1(np.clip(exponent, TINY, 700))
        units = 64 + 2 * x * x + 8 * mu * (np.abs(x) + mu)
        units += share * (8 + 4 * cut.steep * (np.abs(x) + cut.at))
        sums = np.sum(each, axis=1)
        return float(sums[0]), float(sums[1]), UNIT * float(np.max(np.sum(each * units, axis=1) / sums))

    @lru_cache(maxsize=64)  # noqa: B019 - few allocations are kept, by value
    def _table(self, cut: Cut) -> tuple[Array, Array, Array]:
        """Return increasing tilts rho where sums over real nodes are good, and estimates, good to 1e-3.

        The first, from above, is t log E chi' e^(-rho R/t), without a cut log E e^(-rho Y); the second is log
        E e^(-rho (Y - 1)), all of it or that of the bulk (with chi' for chi) or of the jump.
        """
        mu, t = self.mu, self.steps
        spread = math.sqrt(math.expm1(min(mu * mu, 700.0)) / t)
        if cut.steep == 0:
            top = max(1e3 * t * math.exp(min(9 * mu + mu * mu / 2, 500.0)), 300 / spread)
            least = max(0.01 * min(math.exp(-8 * mu - mu * mu / 2), 1 / spread), 1e-250)
            rho = np.geomspace(least, top, min(8 * math.ceil(math.log(top) - math.log(least)), 600))
            x, weight, cosine = self._real_nodes(50.0, -min(36.0, 15 + 14 / mu), 16.0, Cut())
            less = np.expm1(mu * x - mu * mu / 2)
            # t log E e^(-rho (R - 1)/t) by expm1, else by logarithms of R: a large rho has no digits left.
            near = rho * -less[0] < 50 * t
            centred = t * np.log1p(np.expm1(np.multiply.outer(-rho[near] / t, less)) @ weight)
            exponent = np.multiply.outer(-rho[~near] / t, np.exp(mu * x - mu * mu / 2)) + np.log(weight)
            most = np.max(exponent, axis=1, keepdims=True)
            far = t * (most[:, 0] + np.log(np.sum(np.exp(exponent - most), axis=1)))
            power, log = np.append(centred - rho[near], far), np.append(centred, far + rho[~near])
            good = self._fits(rho, power / t, (0.0, 0.0), x, cosine)
            return rho[good], power[good], log[good]
        plain = self._table(Cut())
        if cut.jump:  # M^t (1 - (1 - part/M)^t), part = E (1 - chi) e^(-rho R/t)
            rho, power, log = (column[::2] for column in plain)
            x, weight, cosine = self._real_nodes(50.0, -16.0, math.sqrt(100 + cut.at**2), cut)
            outside = -np.expm1(-cut.exponent(x)) * weight
            part = np.log(np.exp(np.multiply.outer(-rho / t, np.exp(mu * x - mu * mu / 2))) @ outside)
            ends = math.log(3 * self._masses(cut)[0]), cut.steep * (x[0] - cut.at)
            good = self._fits(rho, part, ends, x, cosine)
            share = np.minimum(np.exp(part - power / t), 1 - UNIT)
            return rho[good], power[good], (log + np.log(-np.expm1(t * np.log1p(-share))))[good]
        most = min(300 * t * math.exp(mu * mu / 2 - mu * cut.at), 300 / spread)  # of -rho for the bulk
        rho = -np.geomspace(most, most * 1e-5, 140)
        digits = 80 + cut.at**2 / 2
        x, weight, _ = self._real_nodes(digits, -16.0, math.sqrt(160 + cut.at**2), cut)
        less, exponent = np.expm1(mu * x - mu * mu / 2), cut.exponent(x) / 2  # R - 1 and -log chi'
        w = np.multiply.outer(-rho / t, less) - exponent
        log = np.where(np.max(w, axis=1) < 700, t * np.log1p(np.expm1(w) @ weight), np.inf)
        # Along the edges chi' is at most exp(-0.433 e^(k (x - b))); chi' ends it on the right.
        steep = _largest_exponent(-rho / t * math.exp(mu * cut.at - mu * mu / 2), mu, cut.steep, 0.433)
        good = np.isfinite(log) & (steep - digits + 2 <= (log - rho) / t - 12 - math.log(t))
        good &= -rho / t * np.exp(mu * x[-1]) <= exponent[-1] / 2
        columns = zip((rho, log - rho, log), plain, strict=True)  # for rho > 0, chi' <= 1
        rho, power, log = (np.append(some[good], rest) for some, rest in columns)
        return rho, power, log

    def _fits(self, rho: Array, log: Array, ends: tuple[float, float], x: Array, cosine: float) -> Array:
        """Return a mask of the tilts before the first whose sum over nodes x misses more than 1e-5/t of it.

        ``log`` is that of each sum; ``cosine`` is cos(mu a). ``ends`` are the logs of the sum at rho = 0, and
        of the factor of phi e^(-rho R/t) at the left end.
        """
        mu, t = self.mu, self.steps
        first, last = np.exp(mu * x[[0, -1]] - mu * mu / 2)
        # Both edges are at most e^2 times the sum at rho cos(mu a), from chords of its convex logarithm, and
        # the rule misses e^-50 of them. Sums that err by r bound themselves: r <= b (1 + r), b that bound.
        edge = np.interp(rho * cosine, np.append(0.0, rho), np.append(ends[0], log)) + 2
        left = -(x[0] ** 2) / 2 - rho / t * first + ends[1]
        lost = np.maximum(np.maximum(edge - 50, left), -(x[-1] ** 2) / 2 - rho / t * last)
        # e^-12 is below 1e-5; and the integrand grows by e a unit at the left end.
        good = (lost <= log - 12 - math.log(t)) & (-x[0] - rho / t * mu * first >= 1)
        return np.asarray(np.logical_and.accumulate(good & np.isfinite(log)))

    @lru_cache(maxsize=256)  # noqa: B019 - few allocations are kept, by value
    def _line(self, cut: Cut, epsilon: float, floor: float) -> Line:
        """Return the line through the least integrand of a part, or right of it, where the period is shorter.

        ``floor`` is the log of an answer next to which that of the line may be negligible.
        """
        t, bulk = self.steps, cut.is_bulk
        above, strike = math.expm1(epsilon), math.exp(epsilon)
        rho, power, _ = self._table(cut)
        tilts, size = self._sizes(cut, epsilon)
        k = int(np.argmin(size))
        p = self._masses(cut)[0] if cut.steep else 1.0
        mass = -math.expm1(t * math.log1p(-p)) if cut.jump else 1.0
        most = math.log(mass) + (0.0 if bulk else max(epsilon, 0.0))
        answer = max(min(size[k] + math.log(abs(tilts[k])) - 1, most), floor, -700.0)  # about log f(K)
        if not bulk:
            k = int(np.flatnonzero(size <= size[k] + 3)[-1])
        # Log of the part left to aliases and to the nodes that are not summed: aliases of the near side, or
        # the far side where there are any, then give the period.
        c, goal = float(tilts[k]), answer + math.log(1e-14)
        period = (2 - goal) / -c if bulk else (math.log(mass * (strike + 30 / c)) - goal + 2) / c
        other = 2 * c, math.inf
        farther = slice(None, k) if bulk else slice(k + 1, None)
        if len(tilts[farther]) and (bulk or period < 1.5 * strike):
            bound = (size + np.log(np.abs(tilts)) - 1)[farther]
            periods = (bound - goal) / np.abs(tilts[farther] - c)
            j = int(np.argmin(periods))
            other, period = (float(tilts[farther][j]), float(bound[j]) + 1e-3), max(period, float(periods[j]))
        h = 2 * math.pi / period
        y, log_rest, parts = self._place_end(cut, c, h, strike, goal, size[k] + 2 * math.log(abs(c)), p)
        inner = math.ceil(y / h) + 1
        z = c + 1j * h * np.arange(inner + parts)
        terms, error = self._terms(z, cut, above, strike, (float(np.interp(c, rho, power)) + c) / t)
        weight = np.full(len(z), h / math.pi)
        weight[0] /= 2
        return Line(z, terms * weight, error * weight, inner, (above, strike), log_rest, parts, mass, other)

    def _place_end(
        self, cut: Cut, c: float, h: float, strike: float, goal: float, start: float, p: float
    ) -> tuple[float, float, int]:
        """Return the last frequency y summed, the log of a bound on the rest without |1 - q|^-m, and m.

        They are the module's (*Nodes not summed*) for the best eta of a grid: ``direct`` for m = 0, and for m
        > 0 the supremum of |u| ``around`` [jh, (j + m) h]. ``start`` is log |integrand| at y = 0.
        """
        mu, t = self.mu, self.steps
        rho, power, _ = self._table(cut)
        cap = cut.narrow(math.pi / 2 / mu, 3)
        eta = np.geomspace(min(1e-3 * cap, 0.1 / math.sqrt(t)), cap, 50)[:, None]
        # Frequencies tried, up to the most nodes of a line.
        y = np.geomspace(h, h * (2**13) / (4 if cut.steep else 1), 300)
        share, extra = ((t - 1) / t, math.log(3 * t * p)) if cut.jump else (1.0, 0.0)

        def sup(at: Array) -> Array:
            """Bound log of F from ``at`` on, by chords, which are above a convex function."""
            inside = np.clip(at, rho[0], rho[-1])
            log = t * eta**2 / 2 + np.interp(inside, rho, power) + 1e-3
            return np.where(at < rho[0], np.inf, share * log + extra + eta**2 / 2)

        base, sine = c * np.cos(mu * eta), np.sin(mu * eta)
        direct = np.min(sup(base + y * sine), axis=0) + strike * c - np.log(np.pi * y)
        around, chord = sup(base + y * sine / 2), abs(2 * math.sin(strike * h / 2))
        # Rounding of the last terms grows with every part: about as much as the first ones have, to 1/t.
        last = (direct * (t - 1) + start) / t + np.log(64 * h / y * UNIT * t)
        ways = [(0, direct, direct)]
        # Times a sum is done by parts.
        for m in (4, 6, 8, 10, 12, 16) if chord > 0 else ():
            log = np.min(around + m * np.log(2 * h / sine), axis=0) + math.lgamma(m + 1) + strike * c
            log = log + math.log(4 * h / math.pi) - (m + 2) * np.log(y) + np.log1p(y / h / (m + 1))
            ways.append((m, log, np.maximum(log - m * math.log(chord), last + m * math.log(2 / chord))))

        def place(way: tuple[int, Array, Array]) -> tuple[int, float]:
            """Return the index of the first y whose bound is at most the goal, or the last, and its bound."""
            fits = np.flatnonzero(way[2] <= goal)
            return (int(fits[0]), goal) if len(fits) else (len(y) - 1, float(way[2][-1]))

        parts, rest, _ = best = min(ways, key=place)
        end = place(best)[0]
        return float(y[end]), float(rest[end]), parts

    def _bound_edges(self, c: float, cut: Cut) -> float:
        """Bound log of the integral of |e^-w phi| along both edges of the strip from above, less 2 a^2."""
        mu, t, (rho, power, _) = self.mu, self.steps, self._table(cut)
        if cut.is_bulk:
            rise = np.array([-c / t * math.exp(mu * cut.at - mu * mu / 2)])
            return float(_largest_exponent(rise, mu, cut.steep, 0.5)[0]) + c / t
        lean = c * math.cos(2 * mu * self._shift(cut))
        # M falls: below the least tilt it is at most 1.
        return c / t + (float(np.interp(lean, rho, power)) / t + 1e-3 if lean > rho[0] else 0.0)

    def _terms(self, z: Complex, cut: Cut, above: float, strike: float, log: float) -> tuple[Complex, Array]:
        """Return e^(z (K - 1)) e^z F(z) z^-2 at the nodes of a line, and bounds on its errors.

        F is M^t, for the jump less that of the bulk; ``log`` is about log E e^-w at z = c. M is 1 + the
        ``mean`` of expm1(-w) over nodes where that is good (``centred``), or that of e^(-z R/t).
        """
        mu, t, c, bulk = self.mu, self.steps, float(z[0].real), cut.is_bulk
        a, top = self._shift(cut), self._bound_edges(c, cut)
        centred = bulk or (top < 20 and log > -3)
        aim = 38 + math.log(t) - log
        nodes, weight, step, *ends = self._grid(c, aim, aim + (max(top, 0.0) if centred else top), cut)
        lift = 0.0 if centred else c / t  # of expm1(-w) and e^-w, or of e^(-z R/t)
        # Missed by the step of the rule, and by its ends.
        strip, (left, right) = (float(np.exp(top - lift)) + centred) * step, np.exp(np.array(ends) - lift)
        x, weight = nodes - 1j * a, weight * np.exp(1j * a * nodes + a * a / 2)
        ratio = np.expm1(mu * x - mu * mu / 2) + (0 if centred else 1)  # w t/z
        exponent = cut.exponent(x)
        units_of = self._rounding(c, cut, x, np.abs(weight), ratio, exponent, centred=centred)
        if cut.jump:
            p, outside = self._masses(cut)[0], -np.expm1(-exponent) * weight
            lost_out = 3 * p * strip + left * math.exp(cut.steep * (nodes[0] - cut.at)) + 3 * right
            late = np.count_nonzero(ratio.real < 0)  # e^-w < 1 from there on: expm1 errs by units of 1
        inner = exponent if bulk else np.zeros(len(x))
        terms, error = np.empty(len(z), complex), np.empty(len(z))
        block = max((2**17) // len(x), 1)  # terms computed at once
        for k in range(0, len(z), block):
            here = z[k : k + block]
            minus_w = np.multiply.outer(-here / t, ratio) - inner
            values = (np.expm1 if centred else np.exp)(minus_w)
            mean = np.sum(values * weight, axis=1)
            far, shift = np.abs(here) / t, above if centred else strike
            slip = strip + left + right + UNIT * (units_of[0] + far * units_of[1])  # error of the mean
            modulus = np.abs(mean + centred)
            log_mean = complex_log1p(mean, slip).log if centred else np.log(mean)
            # A mean that is not distinguished from 0 has the logarithm -inf: its power is left out.
            known = np.isfinite(log_mean)
            log_mean = np.where(known, t * log_mean, 0)
            value = known * np.exp(log_mean + here * shift)
            units = 64 + 40 * np.abs(log_mean) + 8 * np.abs(here * shift)
            largest = np.exp((t - 1) * np.log(modulus + slip) + c * shift)
            off = np.where(known, t * slip, modulus + slip) * largest
            if cut.jump:  # a^t - b^t, a that mean and a - b the ``part`` outside of chi
                values[:, :late] += centred
                values[:, late:] = np.exp(minus_w[:, late:])
                part = np.sum(values * outside, axis=1)
                slip_out = lost_out + UNIT * (units_of[2] + far * units_of[3])
                log_rest = t * complex_log1p(-part / (mean + centred), slip * 0).log
                value, units = value * -np.expm1(log_rest), units + 40 * np.abs(log_rest)
                most = np.log(np.maximum(modulus, np.abs(mean + centred - part)) + slip + slip_out)
                # |a^t - b^t| <= t |a - b| max(|a|, |b|)^(t-1): of its own error, and where it is left out.
                off = t * (slip_out + ~known * np.abs(part)) * np.exp((t - 1) * most + c * shift)
                off += t * (t - 1) * (np.abs(part) + slip_out) * slip * np.exp((t - 2) * most + c * shift)
            terms[k : k + block] = value / here**2
            error[k : k + block] = (off + UNIT * units * np.abs(value)) / np.abs(here) ** 2
        return terms, error

    def _rounding(
        self, c: float, cut: Cut, x: Any, size: Array, ratio: Any, exponent: Any, *, centred: bool
    ) -> tuple[float, float, float, float]:
        """Return a, b for the rounding a + b |z|/t units of the mean of ``_terms``, and those of its part."""
        mu, bulk = self.mu, cut.is_bulk
        units = 64 + 2 * np.abs(x) ** 2  # of weights
        slope = 16 * np.abs(ratio) + 8 * (mu * np.abs(x) + mu * mu) * (np.abs(ratio) + 1)  # of w t/z
        bent = np.minimum(np.abs(exponent), 1e3)  # of -log chi, where chi is not 0
        bent = bent * (8 + 8 * cut.steep * (np.abs(x - cut.at) + np.abs(x)))
        inner = exponent if bulk else np.zeros(len(x))
        damp = np.exp(-c / self.steps * ratio.real - inner.real)  # largest |e^-w chi|: y = 0
        each = bulk * (bent * damp + np.minimum(np.abs(inner), 1) * units * (damp + 1))
        each = each + (not centred) * units * damp
        fixed, per_w = np.sum(size * each), np.sum(size * (damp + centred) * (slope + np.abs(ratio) * units))
        outside = np.abs(-np.expm1(-exponent))
        each = outside * units + bent * np.exp(-exponent.real)
        return fixed, per_w, np.sum(size * damp * each), np.sum(size * damp * outside * slope)


def _largest_exponent(rise: Array, mu: float, steep: float, share: float) -> Array:
    """Return the supremum over u of rise e^(mu u) - share e^(steep u), where the derivative is 0."""
    best = np.log(rise * mu / (share * steep)) / (steep - mu)
    return np.asarray(rise * np.exp(mu * best) * (1 - mu / steep))


def hockey_stick(mu: float, steps: int, epsilon: float, *, reverse: bool) -> tuple[float, float]:
    """Bound delta(epsilon) = E (Y - e^epsilon)_+, or E (1 - e^epsilon Y)_+ in the other order."""
    farthest = 600.0  # largest loss whose line is made
    x = min(max(epsilon, -farthest), farthest)
    # Knowing the step helps an attacker: Q(L > epsilon) = Phi(-u) <= e^(-u^2/2)/2, or 2 Phi(mu/2) - 1 at 0.
    u = epsilon / mu - mu / 2
    most = min(math.exp(-min(u * u / 2, 750.0)) / 2 + TINY, 1.0) if u > 0 else 1.0
    most = min(most, 0.4 * mu) if epsilon >= 0 else 1.0
    least = -math.expm1(epsilon) * (1 - 8 * UNIT) if epsilon < 0 else 0.0
    if most < 1e-300:
        return 0.0, 1e-300
    # More noise is more private: a mu next to 0 is bounded by a larger one, and from below by 0. Deviations
    # of Y below 1e-11 are not resolved.
    resolved = max(mu, 1e-11 * math.sqrt(steps))
    allocation = Allocation(resolved, steps)
    with np.errstate(all="ignore"):  # overflow is NaN or infinite, and claims nothing
        try:
            low, high = allocation.put(-x, math.expm1(-x), math.exp(-x)) if reverse else allocation.call(x)
        except (ArithmeticError, ValueError):  # far out there are lines that no float places
            low, high = 0.0, math.inf
    lift = math.exp(x) if reverse else 1.0
    low, high = low * lift * (1 - 16 * UNIT), high * lift * (1 + 16 * UNIT) + TINY
    low = low if x >= epsilon and resolved == mu else least
    high = min(high, most * (1 + 1e-9)) if x <= epsilon else 1.0
    return max(low, least), max(min(high, 1.0), least)


def _clipped(bounds: tuple[float, float], low: float, high: float) -> tuple[float, float]:
    """Return (lower, upper) cut to [low, high], which is certain and replaces NaN."""
    lower, upper = float(np.fmax(bounds[0], low)), float(np.fmin(bounds[1], high))
    return min(lower, high), max(upper, low)


def estimate_epsilon(mu: float, steps: int, delta: float) -> tuple[float, float]:
    """Estimate the loss at which delta(epsilon) = ``delta``, and the slope of log delta there.

    t Y = R_1 + others under Q, the others replaced by a lognormal variable of their mean and variance.
    """
    z = np.linspace(-9.0, 9.0, 721)
    s = math.sqrt(math.log1p(math.expm1(mu * mu) / (steps - 1)))
    others = (steps - 1) * np.exp(s * z[::8] - s * s / 2)
    loss = np.log(np.add.outer(np.exp(mu * z + mu * mu / 2), others) / steps).ravel()
    weight = np.multiply.outer(np.exp(-z * z / 2), np.exp(-(z[::8] ** 2) / 2)).ravel()
    order = np.argsort(-loss)
    loss, weight = loss[order], weight[order] / np.sum(weight)
    lifted = np.exp(loss) * np.cumsum(weight * np.exp(-loss))
    profile = np.cumsum(weight) - lifted
    k = min(int(np.searchsorted(profile, delta)), len(loss) - 1)
    return float(loss[k]), -float(lifted[k]) / max(float(profile[k]), TINY)


def bound_epsilon(mu: float, steps: int, delta: float) -> tuple[float, float] | None:
    """Bound the least epsilon with delta(epsilon) <= delta by secants, or return None where they fail."""
    (x, slope), old = estimate_epsilon(mu, steps, delta), None
    for _ in range(12):
        low, high = hockey_stick(mu, steps, x, reverse=False)
        gap = math.log(max((low + high) / 2, TINY) / delta)
        if old is not None and x != old[0]:
            slope = (gap - old[1]) / (x - old[0])
        if not -math.inf < slope < 0:
            return None
        old, x = (x, gap), x - gap / slope
        if abs(gap) <= 1e-10:
            break
    # At x, the root of the middle of both bounds, both are half their distance off; 2 % for the slope.
    width = max(0.51 * (high - low) / delta, 1e-12) / -slope + 4 * UNIT * abs(x)
    ends = []
    for sign in (-1, 1):
        for y in (x + sign * width * 2.0 ** np.arange(12)).tolist():
            low, high = hockey_stick(mu, steps, y, reverse=False)
            if (low > delta) if sign < 0 else (high <= delta):
                ends.append(y)
                break
    return (ends[0], ends[1]) if len(ends) == 2 else None
