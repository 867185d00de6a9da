r"""Hockey-sticks of one step of t chosen at random with normal noise, from both sides; laws for products.

Without the record x ~ N(0, I_t), and dQ/dP = Y = (R_1 + ... + R_t)/t with independent R_i = e^(mu x_i -
mu^2/2). With phi(z) = E e^(-z R/t) and K > 0, put and call are

    E (K - Y)_+ = (1/2 pi i) int e^(z K) phi(z)^t z^-2 dz   on Re z = c > 0,
    E (Y - K)_+ = E (K - Y)_+ + 1 - K                       (the delta of e^epsilon = K).

As R has no exponential moments, a call small against its put is cut in two, by the weights chi(x_i) =
exp(-e^(k (x_i - b))) in (0, 1): *bulk* E (Y - K)_+ prod chi(x_i), whose transform E chi e^(-z R/t) is entire,
on a line c < 0; and *jump*, the rest: E (K - Y)_+ (1 - prod chi) on a line c > 0, and E (Y - K)(1 - prod chi)
in closed form. The sum is exact wherever b is; b only sets how much cancels.

*Sum.* Nodes are c + i h j. With the period P = 2 pi/h, Poisson's formula gives the sum over all j as
sum_j e^(-c j P) f(K + j P), f the put or call itself: never below the truth. A put is 0 at K < 0 and at most
K times its mass, so its aliases are at most mass e^(-cP) (K + P)/(1 - e^(-cP))^2. A call of the bulk is at
most 1 - K; and, by Chernoff at c' < c, e^(c'(K - 1)) G(c')/(e |c'|), since (y - K)_+ <= e^(s (y - K))/(e s).

*Beyond the last node.* With x moved to x - i eta, mu eta <= pi/2, k eta <= pi/3, |chi| is at most chi' =
exp(-e^(k (x - b))/2), and |E chi e^(-z R/t)| <= e^(eta^2/2) E chi' e^(-rho R/t), rho = Re z e^(-i mu eta),
which falls as rho grows. As sum h/y^2 beyond Y is at most 1/Y, that bounds the rest. Where it falls slowly
the rest is summed by parts m times: with q = e^(i K h), u_j the terms without q^j and D their difference,

    sum_(j >= J) u_j q^j = q^J sum_(i < m) q^i D^i u_J/(1 - q)^(i + 1) + (q/(1 - q))^m sum D^m u_j q^j

and |D^m u_j| <= m! (h/r)^m sup |u| within r, Cauchy. With r = y sin(mu eta)/2, rho there is at least c cos mu
eta + y sin(mu eta)/2 and |z| at least y/2, so the rest is at most m! (2 h/(sin |1 - q|))^m 4 sup (J h)^(-m-2)
(1 + J/(m + 1)) times h/pi.

*Transforms.* Trapezoid rule in x along x - i a, good to the integrals along x and x - 2 i a over e^(2 pi a/h)
- 1: each at most (1 + e^(2 a^2)) sup |e^(-w)| chi', w = z (R - 1)/t. The sums are those of expm1(-w), whose
size is |w|: so a power t costs sqrt(t) units and not t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tradeoff.intervals.rounding import TINY, UNIT, Array, Complex
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.law import logarithm

STEEPEST = 20.0  # largest mu: beyond, one step among many hides little
_GOAL = 1e-14  # share of an answer left to aliases and to the nodes that are not summed
_NARROW = 1e-9  # relative width from which a call is cut in two
_MOST = 2**13  # nodes of a line
_BLOCK = 2**17  # terms computed at once
_PARTS = (4, 6, 8, 10, 12, 16)  # times a sum is done by parts
_SMALLEST = 1e-11  # least standard deviation of Y that is resolved
_NODES = 60.0  # nodes of a law in an e-fold of their distance from 0
_LEAST = 1e-25  # hockey-sticks below are mass at infinity of a law
_FARTHEST = 600.0  # largest loss of a law


class Cut(NamedTuple):
    """chi(x) = exp(-e^(steep (x - at))); ``jump`` for the part of the measure outside of it."""

    at: float
    steep: float
    jump: bool

    def exponent(self, x: Any) -> Any:
        """Return -log chi; beyond e^600 chi is 0 all the same."""
        return np.exp(np.where(np.real(x) < self.at + 600 / self.steep, self.steep * (x - self.at), 600.0))


class Table(NamedTuple):
    """Estimates at real tilts: t log E chi' e^(-rho R/t), and log of the part of the measure e^(-rho (Y-1))."""

    rho: Array
    power: Array
    log: Array


@dataclass(frozen=True, eq=False)
class Line:
    """Terms h/pi e^(z (K - 1)) phi^t e^z z^-2 of one K, and how they end; serves losses nearby."""

    z: Complex
    terms: Complex
    error: Array
    inner: int
    strike: tuple[float, float]  # K - 1 and K
    log_rest: float
    parts: int
    mass: float
    other: tuple[float, float]

    def at(self, above: float, strike: float) -> tuple[float, float]:
        """Bound the put or call of K = ``strike``, K - 1 = ``above``."""
        c, h, moved = float(self.z[0].real), float(self.z[1].imag), above - self.strike[0]
        factor = np.exp(moved * self.z)
        terms, size = self.terms * factor, self.error * abs(factor[0])
        n = self.inner
        total, slip = float(np.sum(terms.real[:n])), float(np.sum(size[:n]))
        log_rest = self.log_rest + c * moved
        if self.parts:
            q, phase = np.exp(1j * strike * h), np.exp(-1j * strike * self.z.imag[n:])
            log_rest -= self.parts * math.log(abs(1 - q))
            change, share, rest = terms[n:] * phase, 1 / (1 - q), 0.0
            off = float(np.max(size[n:] + 64 * UNIT * (1 + strike * self.z.imag[n:]) * np.abs(terms[n:])))
            for _ in range(self.parts):
                rest += share * change[0]
                slip += abs(share) * off * (1 + 1e-9)
                change, share, off = np.diff(change), share * q / (1 - q), 2 * off
            total += float((rest / phase[0]).real)
        # Terms moved cost a product and an exponential; 64 units a term, and 32 for their sum by pairs.
        units = 96 + 8 * abs(moved) * np.abs(self.z[:n])
        slip += float(np.sum(np.abs(terms[:n]) * units)) * UNIT
        period = 2 * math.pi / h
        fall = -abs(c) * period
        alias = self.mass * (strike * (c > 0) + 1 * (c < 0) + period) * math.exp(fall) / math.expm1(fall) ** 2
        if c < 0:
            tilt, log_other = self.other
            alias += math.exp(min(log_other + tilt * moved, 700.0)) / math.expm1(min((c - tilt) * period, 700.0))
        rest_size = math.exp(min(log_rest, 700.0))
        return total - (slip + rest_size + alias) * (1 + 1e-6), total + (slip + rest_size) * (1 + 1e-6)


@dataclass(frozen=True)
class Allocation:
    """Puts and calls on the mean ratio of ``steps`` steps of G_mu."""

    mu: float
    steps: int

    def sticks(self, epsilon: float, narrow: float = _NARROW) -> tuple[float, float, float, float]:
        """Return bounds on E (K - Y)_+, and on E (Y - K)_+, of K = e^epsilon, |epsilon| at most 700.

        A call is cut where it is wider than ``narrow``, relative.
        """
        above, strike = math.expm1(epsilon), math.exp(epsilon)
        place = round(epsilon / self._spacing) * self._spacing
        put = _clipped(self._line(None, place, -math.inf).at(above, strike), max(above, 0.0), strike)
        # K - 1 and each sum cost a few units of the larger one.
        units = 8 * UNIT * (abs(above) + put[1])
        call = _clipped((put[0] - above - units, put[1] - above + units), max(-above, 0.0), 1.0)
        if above > 0 and call[1] - call[0] > narrow * call[1]:
            low, high = self._call(place, above, strike, narrow)
            call = max(call[0], low), min(call[1], high)
        return *put, *call

    @property
    def _spacing(self) -> float:
        """Losses so close share a line."""
        return min(0.1, 0.3 * math.sqrt(math.log1p(math.expm1(min(self.mu**2, 700.0)) / self.steps)))

    def _call(self, place: float, above: float, strike: float, narrow: float) -> tuple[float, float]:
        """Bound a call in two parts, cut about where one step alone reaches K, or beyond all that counts."""
        mu, t = self.mu, self.steps
        reach = math.log1p(above * t) / mu + mu / 2
        tilts, size = self._sizes(Cut(min(max(reach, 3.0), 9.0 + mu), max(9.0, 2 * mu), jump=False), place)
        far = mu + math.sqrt(2 * max(30 + math.log(t) - float(np.min(size + np.log(-tilts))), 0.0))
        low, high = 0.0, 1.0
        for shift in (-0.5, 0.0, -1.0):
            at = min(max(reach + shift / mu, 3.0), far)
            inner, outer = (Cut(round(at, 2), max(round(at, 2), 2 * mu), jump) for jump in (False, True))
            p, q, off = self._masses(outer)
            most = (q + (t - 1) * p) * (1 + off)  # (Y - K)_+ is at most Y, and 1 - prod chi the sum of 1 - chi
            jump = (0.0, most)
            if most > 1e-12 * high and most > 1e-300:
                log = math.log1p(-p)
                gained, paid = -math.expm1((t - 1) * log + math.log1p(-q)), -strike * math.expm1(t * log)
                units = (off + 32 * UNIT) * (gained + paid)
                put = self._line(outer, place, -math.inf).at(above, strike)
                jump = _clipped((put[0] + gained - paid - units, put[1] + gained - paid + units), 0.0, most)
            floor = math.log(max(jump[0], 1e-300))
            bulk = _clipped(self._line(inner, place, float(round(floor))).at(above, strike), 0.0, 1.0)
            low, high = max(low, bulk[0] + jump[0]), min(high, bulk[1] + jump[1])
            if at == far or high - low <= narrow * high:
                break
        return low * (1 - 4 * UNIT), high * (1 + 4 * UNIT)

    def _sizes(self, cut: Cut | None, epsilon: float) -> tuple[Array, Array]:
        """Return tilts of the side of a line, and about the log of its integrand at them."""
        rho, _, log = self._table(cut)
        side = rho < 0 if cut and not cut.jump else rho > 0
        return rho[side], (math.expm1(epsilon) * rho + log - 2 * np.log(np.abs(rho)))[side]

    def _grid(self, digits: float, cut: Cut | None) -> tuple[Array, Array, float, float]:
        """Return x, weights h phi(x), half the width of the strip, and the error over sup |integrand|/phi."""
        a = min(1.2, math.pi / 4 / self.mu, math.pi / 6 / cut.steep if cut else math.inf)
        h = 2 * math.pi * a / (digits + 2 * a * a)
        end = math.sqrt(2 * digits + 4 * a * a + (cut.at**2 if cut else 0.0))
        x = h * np.arange(-math.ceil(end / h), math.ceil(end / h) + 1)
        error = (1 + math.exp(2 * a * a)) / math.expm1(2 * math.pi * a / h) + math.exp(a * a / 2 - end * end / 2)
        return x, h / math.sqrt(2 * math.pi) * np.exp(-x * x / 2), a, error

    @lru_cache(maxsize=64)  # noqa: B019
    def _masses(self, cut: Cut) -> tuple[float, float, float]:
        """Return E (1 - chi), E R (1 - chi) and their relative error: 2^-53 times the sizes of exponents."""
        x, weight, _, _ = self._grid(80.0, cut)
        outside = -np.expm1(-cut.exponent(x)) * weight
        units = 256 + 16 * (cut.steep + self.mu + 40.0) * (self.mu + 40.0)
        lifted = outside * np.exp(self.mu * x - self.mu**2 / 2)
        return float(np.sum(outside)), float(np.sum(lifted)), units * UNIT

    @lru_cache(maxsize=64)  # noqa: B019
    def _table(self, cut: Cut | None) -> Table:
        mu, t = self.mu, self.steps
        x, weight, _, _ = self._grid(80.0, cut)
        spread = math.sqrt(math.expm1(min(mu * mu, 700.0)) / t)
        top = max(1e3 * t * math.exp(min(9 * mu + mu * mu / 2, 500.0)), 300 / spread)
        least = max(0.01 * min(math.exp(-8 * mu - mu * mu / 2), 1 / spread), 1e-250)
        rho = np.geomspace(least, top, min(8 * math.ceil(math.log(top) - math.log(least)), 600))
        missing = 0.0
        if cut and not cut.jump:
            most = min(300 * t * math.exp(mu * mu / 2 - mu * cut.at), 300 / spread)
            rho = np.append(-np.geomspace(most, most * 1e-5, 140), rho)
            missing = float(np.sum(weight * -np.expm1(-cut.exponent(x) / 2)))
            weight = weight * np.exp(-cut.exponent(x) / 2)
        some = weight > 0
        x, weight = x[some], weight[some]
        less = np.expm1(mu * x - mu * mu / 2)
        near = rho * -less[0] < 50 * t
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            centred = np.expm1(np.multiply.outer(-rho[near] / t, less))
            plain = np.exp(np.multiply.outer(-rho[~near] / t, less + 1))
            sums = t * np.log1p(centred @ weight - missing), t * np.log(plain @ weight)
            power = np.append(sums[0] - rho[near], sums[1])
            log = np.append(sums[0], sums[1] + rho[~near])
            if cut and cut.jump:
                outside = weight * -np.expm1(-cut.exponent(x))
                share = np.append((centred + 1) @ outside / (1 + centred @ weight), plain @ outside / (plain @ weight))
                log += np.log(-np.expm1(t * np.log1p(-np.minimum(share, 1 - UNIT))))
        good = np.isfinite(power) & np.isfinite(log)
        return Table(rho[good], power[good], log[good])

    @lru_cache(maxsize=256)  # noqa: B019
    def _line(self, cut: Cut | None, epsilon: float, floor: float) -> Line:
        """Place a line at its saddle, or a little to the right: the period is shorter there.

        ``floor`` is the log of an answer next to which that of the line may be negligible.
        """
        mu, t, bulk = self.mu, self.steps, cut is not None and not cut.jump
        above, strike = math.expm1(epsilon), math.exp(epsilon)
        rho, _, log = self._table(cut)
        tilts, size = self._sizes(cut, epsilon)
        k = int(np.argmin(size))
        answer = max(size[k] + math.log(abs(tilts[k])) - 1, floor)  # log of the answer, about
        if not bulk:
            k = int(np.flatnonzero(size <= size[k] + 3)[-1])
        c, goal = float(tilts[k]), answer + math.log(_GOAL)
        p = self._masses(cut)[0] if cut else 1.0
        mass = 1.0 if cut is None or bulk else -math.expm1(t * math.log1p(-p))
        other = (0.0, 0.0)
        if bulk:
            bound = (size + np.log(np.abs(tilts)) - 1)[:k]
            periods = (bound - goal) / (c - tilts[:k])
            j = int(np.argmin(periods)) if k else 0
            other = (float(tilts[j]), float(bound[j]) + 1e-3) if k else (2 * c, math.inf)
            period = max(float(periods[j]) if k else 1.0, (2 - goal) / -c)
        else:
            period = (math.log(mass * (strike + 30 / c)) - goal + 2) / c
        h = 2 * math.pi / period
        y, log_rest, parts = self._end(cut, c, h, strike, goal, size[k] + 2 * math.log(abs(c)), p)
        inner = int(min(y / h, _MOST)) + 1
        z = c + 1j * h * np.arange(inner + parts)
        terms, error = self._terms(z, cut, above, strike, float(np.interp(c, rho, log)) / t)
        weight = np.full(len(z), h / math.pi)
        weight[0] /= 2
        return Line(z, terms * weight, error * weight, inner, (above, strike), log_rest, parts, mass, other)

    def _end(
        self, cut: Cut | None, c: float, h: float, strike: float, goal: float, start: float, p: float
    ) -> tuple[float, float, int]:
        """Return the last frequency, the log of a bound on the rest, less that of |1 - q|^-m, and m."""
        mu, t = self.mu, self.steps
        rho, power, _ = self._table(cut)
        cap = min(math.pi / 2 / mu, math.pi / 3 / cut.steep if cut else math.inf)
        eta = np.geomspace(min(1e-3 * cap, 0.1 / math.sqrt(t)), cap, 50)[:, None]
        y = np.append(np.geomspace(h, h * _MOST, 300)[:-1], h * _MOST)
        # |a^t - b^t| <= t |a - b| max(|a|, |b|)^(t-1); outside of a cut |1 - chi| moved is below 3 (1 - chi).
        share, first = ((t - 1) / t, math.log(3 * t * p)) if cut and cut.jump else (1.0, 0.0)

        def sup(at: Array) -> Array:
            inside = np.clip(at, rho[0], rho[-1])
            log = t * eta**2 / 2 + np.interp(inside, rho, power)  # chords of a convex function are above it
            return np.where(at < rho[0], np.inf, share * log + first + 1e-3 + eta**2)

        base, sine = c * np.cos(mu * eta), np.sin(mu * eta)
        direct = np.min(sup(base + y * sine), axis=0) + strike * c - np.log(np.pi * y)
        best, parts, rest = _first(direct, goal, y), 0, direct
        around, turn = sup(base + y * sine / 2), abs(2 * math.sin(strike * h / 2))
        # Rounding of the last terms grows with every part: about as much as the first ones have, to 1/t.
        last = (direct * (t - 1) + start) / t + np.log(64 * h / y * UNIT * t) if t > 1 else direct
        for m in _PARTS if turn > 0 else ():
            log = np.min(around + m * np.log(2 * h / sine), axis=0) + math.lgamma(m + 1) + strike * c
            log = log + math.log(4 * h / math.pi) - (m + 2) * np.log(y) + np.log1p(y / h / (m + 1))
            fits = np.maximum(log - m * math.log(turn), last + m * math.log(2 / turn))
            if (at := _first(fits, goal, y)) < best:
                best, parts, rest = at, m, log
        best = min(best, y[-1] if cut is None else y[-1] / 4)
        return best, float(rest[np.searchsorted(y, best)]), parts

    def _terms(self, z: Complex, cut: Cut | None, above: float, strike: float, log: float) -> tuple[Complex, Array]:
        """Return e^(z (K - 1)) (phi^t e^z, less the bulk's where it is the jump) z^-2, and its error."""
        mu, t, c, bulk = self.mu, self.steps, float(z[0].real), cut is not None and not cut.jump
        # Along a strip to the right |e^-w| is e^(-c (R cos - 1)/t) at most.
        rho, power, _ = self._table(cut)
        lean = c * math.cos(2 * mu * self._grid(38.0, cut)[2])
        top = c / t if lean < rho[0] else (c + float(np.interp(min(lean, rho[-1]), rho, power))) / t + 1e-3
        centred = bulk or (top < 20 and log > -3)
        if cut is not None and bulk:
            some = np.linspace(cut.at - 20, cut.at + 10, 4000)
            # Between the points the exponent rises by less than a hundredth, times its own slopes.
            top = float(np.max(-c / t * np.expm1(mu * some - mu * mu / 2) - cut.exponent(some) / 2)) + 1
        elif not centred:
            top -= c / t
        digits = 38 + math.log(t) + max(top, 0.0) - (log if centred else log - c / t)
        x, weight, a, strip = self._grid(digits, cut)
        moved = x - 1j * a
        weight = weight * np.exp(1j * a * x + a * a / 2)
        # Errors of weights in units: of exponents and exponentials.
        units = 64 + 2 * np.abs(moved) ** 2
        chi, missing, off = 1.0, 0.0, 0.0
        if cut is not None:
            exponent = cut.exponent(moved)
            units = units + 8 * np.minimum(np.abs(exponent), 1e3) * (1 + cut.steep * np.abs(moved - cut.at))
            chi = np.exp(-exponent)
            p, _, off = self._masses(cut)
        inner = weight * chi if bulk else weight
        if bulk:
            missing = p
        ratio = np.expm1(mu * moved - mu * mu / 2) + (0 if centred else 1)
        slope = 16 * np.abs(ratio) + 8 * (mu * np.abs(moved) + mu * mu) * (np.abs(ratio) + 1)
        sup = math.exp(min(top, 300.0)) + 1
        if bulk:
            # Where e^-w has no float chi leaves e^(2 top - 700) at most, as e^-w is below e^top chi^(-1/2).
            some, strip = -c / t * ratio.real < 700, strip + math.exp(min(top - 700, 0.0))
            ratio, slope, inner, units = ratio[some], slope[some], inner[some], units[some]
        damp = np.exp(-c / t * ratio.real)  # largest |e^-w|, as Re w grows with y
        size, outside = np.abs(inner), None
        flat = 0.0 if centred else float(np.sum(size * damp * units))
        tilted = float(np.sum(size * (damp + centred) * (slope + np.abs(ratio) * units)))
        if cut is not None and cut.jump:
            outside = weight * -np.expm1(-exponent)
            flat_out = float(np.sum(np.abs(outside) * damp * units))
            tilted_out = float(np.sum(np.abs(outside) * damp * slope))
        terms, error = np.empty(len(z), complex), np.empty(len(z))
        each = max(_BLOCK // len(x), 1)
        for k in range(0, len(z), each):
            here = z[k : k + each]
            values = (np.expm1 if centred else np.exp)(np.multiply.outer(-here / t, ratio))
            mean = np.sum(values * inner, axis=1) - missing
            far = np.abs(here) / t
            slip = sup * strip + UNIT * (flat + far * tilted) + missing * off
            modulus = np.abs(mean + 1 if centred else mean)
            log_mean = logarithm(mean, slip).log if centred else np.log(mean)
            exponent_k = t * log_mean + here * (above if centred else strike)
            shift = c * (above if centred else strike)
            value = np.exp(exponent_k)
            if outside is None:
                wrong = t * slip * np.exp((t - 1) * np.log(modulus + slip) + shift)
            else:
                part = np.sum((values + 1 if centred else values) * outside, axis=1)
                slip_out = 3 * sup * strip * p + UNIT * (flat_out + far * tilted_out)
                share = part / (mean + 1 if centred else mean)
                value = value * -np.expm1(t * logarithm(-share, slip * 0).log)
                most = np.log(np.maximum(modulus, np.abs((mean + 1 if centred else mean) - part)) + slip + slip_out)
                wrong = t * slip_out * np.exp((t - 1) * most + shift)
                wrong += t * (t - 1) * np.abs(part) * slip * np.exp((t - 2) * most + shift)
            units_k = 64 + 8 * (np.abs(t * log_mean) + np.abs(here * (above if centred else strike)))
            terms[k : k + each] = value / here**2
            error[k : k + each] = (wrong + UNIT * units_k * np.abs(value)) / np.abs(here) ** 2
        return terms, error


@lru_cache(maxsize=16)
def _allocation(mu: float, steps: int) -> Allocation:
    return Allocation(mu, steps)


def hockey_stick(mu: float, steps: int, epsilon: float, *, reverse: bool) -> tuple[float, float]:
    """Bound delta(epsilon) = E (Y - e^epsilon)_+, or E (1 - e^epsilon Y)_+ in the other order."""
    x = min(max(epsilon, -_FARTHEST), _FARTHEST)
    # More noise is more private: a shift next to 0 is bounded by a larger one, and from below by 0.
    resolved = max(mu, _SMALLEST * math.sqrt(steps))
    with np.errstate(all="ignore"):  # what overflows is NaN or infinite, and claims nothing
        put_low, put_high, call_low, call_high = _allocation(resolved, steps).sticks(-x if reverse else x)
    lift = math.exp(x)
    low, high = (lift * put_low, lift * put_high) if reverse else (call_low, call_high)
    least = max(-math.expm1(epsilon) * (1 - 8 * UNIT), 0.0)
    low, high = low * (1 - 16 * UNIT), high * (1 + 16 * UNIT) + TINY
    low = low if x >= epsilon and resolved == mu else least
    return max(low, least), min(high, 1.0) if x <= epsilon else 1.0


@lru_cache(maxsize=16)
def allocated_laws(mu: float, steps: int) -> tuple[AtomicLaw, AtomicLaw]:
    """Return laws of finitely many losses whose hockey-sticks are above and below those of one of ``steps``.

    Chords of a convex function are above it, and so is the lower hull of upper bounds at nodes. On a cell of
    width w it is above the chords of both neighbours, produced, of slopes a and b: so the cell's own chord, of
    slope s, is above it by (s - a)(b - s) w/(b - a) at most. Nodes lowered by the larger of both their cells
    have chords below, and so has their lower hull, up to where they meet the lines 1 - K and 0.
    """
    allocation = _allocation(max(mu, _SMALLEST * math.sqrt(steps)), steps)
    spread = math.sqrt(math.log1p(math.expm1(min(mu * mu, 700.0)) / steps))
    zero = allocation.sticks(0.0)
    sides = []
    for sign in (-1, 1):
        nodes, k = [(0.0, zero[0], zero[1])], 0
        while nodes[-1][2] > _LEAST and abs(nodes[-1][0]) < _FARTHEST:
            k += 1
            x = sign * 2 * spread * math.sinh(k / _NODES)
            bounds = allocation.sticks(x, 1e-5)
            nodes.append((x, *(bounds[2:] if sign > 0 else bounds[:2])))
        x, low, high = np.array(nodes).T
        sides.append((x, low, high, np.abs(np.diff(np.exp(x)))))
    next_to = [-1 - (high[1] - low[0]) / width[0] for _, low, high, width in sides]
    laws = []
    for below in (False, True):
        ends = []
        for (x, low, high, width), slope in zip(sides, next_to[::-1], strict=True):
            ends.append(_polygon(x, _lowered(low, high, width, slope) if below else high, below=below))
        laws.append(_law(*ends))
    return laws[0], laws[1]


def _lowered(low: Array, high: Array, width: Array, first: float) -> Array:
    """Return lower bounds less the distance of chords; ``first`` is at most the slope at the first node."""
    slope = np.diff(low) / width
    steep = np.concatenate([[first], (low[1:] - high[:-1])[:-1] / width[:-1]])
    flat = np.concatenate([(high[1:] - low[:-1])[1:] / width[1:], [0.0]])
    gap = np.maximum((slope - steep) * (flat - slope), 0.0) * width / np.maximum(flat - steep, 1e-300)
    lowered = low - np.maximum(np.append(gap[:1], gap), np.append(gap, gap[-1:])) * (1 + 1e-6)
    lowered[-1] = min(lowered[-1], 0.0)
    return lowered


def _polygon(x: Array, value: Array, *, below: bool) -> tuple[Array, Array, float]:
    """Return losses of the lower hull of nodes outwards of K = 1, its slopes by |K - 1|, and its last value."""
    strike = np.exp(x)
    if below:  # it ends where it meets 0
        last = int(np.argmax(value <= 0))
        share = value[last - 1] / (value[last - 1] - value[last])
        end = strike[last - 1] + (strike[last] - strike[last - 1]) * share
        x, strike, value = np.append(x[:last], math.log(end)), np.append(strike[:last], end), np.append(value[:last], 0.0)
    kept, slopes = [0], list[float]()
    for j in range(1, len(x)):
        while True:
            slope = (value[j] - value[kept[-1]]) / abs(strike[j] - strike[kept[-1]])
            if not slopes or slope > slopes[-1]:
                break
            kept.pop()
            slopes.pop()
        kept.append(j)
        slopes.append(float(slope))
    return x[kept], np.array(slopes), float(value[-1])


def _law(left: tuple[Array, Array, float], right: tuple[Array, Array, float]) -> AtomicLaw:
    """Return the law of the polygons on both sides of K = 1: masses are changes of slope.

    Each slope is known to 4 units; a mass to 8 of both its slopes, and a few of its own.
    """
    (x, slopes, rest), (y, rises, top) = left, right
    last = -rest / math.exp(x[-1]) if rest > 0 else 0.0
    slopes, rises = np.append(slopes, last), np.append(rises, 0.0)
    middle = 1 + slopes[0] + rises[0]
    mass = np.concatenate([np.diff(slopes)[::-1], [middle], np.diff(rises)])
    error = np.concatenate([np.abs(slopes[:-1])[::-1], [2.0], np.abs(rises[:-1])]) * 16 * UNIT
    loss = np.concatenate([x[:0:-1], [0.0], y[1:]])
    some = mass > 0
    loss, mass, error = loss[some], mass[some], error[some]
    position = UNIT * (16 + 16 * float(np.max(np.abs(loss))))
    log = np.log(mass)
    slack = np.minimum(error / mass + UNIT * (8 + 2 * np.abs(log)), 1.0)
    return AtomicLaw(loss, log, -last, top, slack, position=position)


def _first(log: Array, goal: float, y: Array) -> float:
    small = np.flatnonzero(log <= goal)
    return float(y[small[0]]) if len(small) else math.inf


def _clipped(bounds: tuple[float, float], low: float, high: float) -> tuple[float, float]:
    """Return bounds cut to what is sure; NaN and inverted ones claim nothing more."""
    lower, upper = (bounds[0] if bounds[0] >= low else low), (bounds[1] if bounds[1] <= high else high)
    return min(lower, high), max(upper, low)
