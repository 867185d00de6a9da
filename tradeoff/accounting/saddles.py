"""Where to tilt, and where to draw a line: saddle points of K(t) = sum_i n_i log E_P e^(t L_i) of a product.

All of it is estimated from *sketches*: a few points with losses L and log P-masses for each law
(`law.PlanningPoints`), of which n_i rounds are composed. Bounds rest on ``log_kappa`` alone. A *tilt* t (also
theta, c) weighs P by e^(tL). The integral of e^(K(z) - z x)/prod (z - p), with *poles* p, along Re z = c,
over 2 pi i, has its saddle where K'(c) - sum 1/(c - p) = x. With the poles 0 and 1 its size is e^-x psi(x),
psi the delta(x) for c > 1 and 1 - delta(x) for 0 < c < 1; with 0 alone it is P(L > x) for c > 0 and P(L <= x)
for c < 0.

The tilt c of a line Re z = c for the loss x is such a saddle; the "size" there is psi over e^(K(c) - (c - 1)
x). Chernoff's bound at a point c' right or left of c holds the aliases at a share _ALIAS of psi if the period
2 pi/step is at least

    [K(c') - K(c) - (c' - c) x + log kappa(c') - log size - log _ALIAS]/|c' - c|,

whose numerator is the "excess" and c' - c the "gap". The longer one of both sides is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.accounting.options import query_options
from tradeoff.intervals.bounds import Array
from tradeoff.intervals.roots import find_root, largest
from tradeoff.pld.law import PlanningPoints

NODE_BYTES = 256  # working memory of a node while a line is evaluated
_ALIAS = 1e-14  # share of an answer that the neighbouring periods may add: rounding is as large
GOAL = 1e-13  # share of an answer that may lie past the last node: more nodes gain nothing
_SHARES = np.append(
    np.linspace(0.0, 1.2, 37), np.geomspace(1.3, 8.0, 8)
)  # tilts tried: c - 1 over the saddle's
_REACH = np.geomspace(0.05, 60, 16)  # distances of Chernoff points tried, in tilted deviations

# int phi(u) (upper - lower polynomial)(u) du of a smoothed hockey-stick (`line`), and a fifth for truncation.
LEFT = 0.48


class Cumulant:
    """K(t) and two derivatives, by one array of the points of all sketches, ``sizes`` from ``starts`` on."""

    def __init__(self, parts: Sequence[tuple[PlanningPoints, int]]) -> None:
        self.loss = np.concatenate([sketch.loss for sketch, _ in parts])
        self.log_p = np.concatenate([sketch.log_p for sketch, _ in parts])
        self.sizes = np.array([len(sketch.loss) for sketch, _ in parts])
        self.starts = np.cumsum(self.sizes) - self.sizes
        # How often a number of each sketch repeats for its points: a single count for all is quicker.
        self.repeats = self.sizes if np.any(self.sizes != self.sizes[0]) else int(self.sizes[0])
        self.counts = np.array([count for _, count in parts], dtype=float)
        self.p = np.exp(self.log_p)
        missing = 1 - np.add.reduceat(self.p, self.starts)  # of each sketch; its masses err by about 1e-13
        self.missing: Array = np.where(np.abs(missing) < 1e-10, 0.0, missing)
        self.farthest = np.maximum.reduceat(np.abs(self.loss), self.starts)  # largest |L| of each sketch
        # A tilt at which only the largest losses have weight, so that larger ones change nothing.
        self.limit = max(2000 / max(float(np.max(self.loss)), 1e-12), 2e-3)

    @cached_property
    def steepest(self) -> float:
        """Largest tilt worth trying: ``limit``, or that which makes rounds rarer than e^-600 typical."""

        def is_float(theta: float) -> bool:
            return float(self.derivatives(np.array([theta]))[3][0]) <= 600.0

        if is_float(self.limit):
            return self.limit
        ends = math.log(1e-3), math.log(self.limit)
        return math.exp(largest(lambda log: is_float(math.exp(log)), *ends, 12))

    def _tilted(self, t: Any) -> tuple[Array, Array, Array, Array]:
        """Return p e^(t L) over its maximum in a sketch, its sum, log E e^(t L_i), and K; for each t a row.

        Where |t L| stays below 0.1 K is of log1p(E (e^(t L_i) - 1)): the logarithm of E e^(t L_i) loses a
        digit and more there, which counts for many rounds.
        """
        exponent = self.log_p + t * self.loss
        peak = np.maximum.reduceat(exponent, self.starts, axis=-1)
        weight = np.exp(exponent - peak.repeat(self.repeats, axis=-1))
        total = np.add.reduceat(weight, self.starts, axis=-1)
        exact = logs = peak + np.log(total)
        near = (np.abs(t) * self.farthest < 0.1) & (self.missing < 0.1)
        if near.any():
            gain = self.p * np.expm1(np.clip(t * self.loss, -1.0, 1.0))
            change = np.add.reduceat(gain, self.starts, axis=-1) - self.missing
            exact = np.where(near, np.log1p(np.where(near, change, 0.0)), logs)
        return weight, total, logs, exact @ self.counts

    def weights(self, t: float) -> tuple[list[Array], list[float]]:
        """Return p e^(t L)/E e^(t L_i) at the points of every sketch i, and the logarithms of these means."""
        weight, total, logs, _ = self._tilted(t)
        return np.split(weight / np.repeat(total, self.repeats), self.starts[1:]), logs.tolist()

    def values(self, t: Array) -> Array:
        """Return K at each t."""
        each = max(1, 2**16 // len(self.loss))  # numbers at once stay in a cache
        return np.concatenate([self._tilted(t[k : k + each, None])[3] for k in range(0, len(t), each)])

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Return K, K' and K'' at t."""
        value, first, second, _ = self.derivatives(np.array([t]))
        return float(value[0]), float(first[0]), float(second[0])

    def derivatives(self, t: Array) -> tuple[Array, Array, Array, Array]:
        """Return K, K' and K'' at each t, and the rarity max_i (t K_i'(t) - K_i(t)) of single rounds.

        By Chernoff, in one of them losses as large as the tilted mean have at most the probability e^-rarity.
        """
        t = t[:, None]
        weight, total, log, value = self._tilted(t)
        first = np.add.reduceat(weight * self.loss, self.starts, axis=-1) / total
        square = weight * (self.loss - first.repeat(self.repeats, axis=-1)) ** 2
        second = np.add.reduceat(square, self.starts, axis=-1) / total
        rarest = np.maximum.reduce(t * first - log, axis=-1)
        return value, first @ self.counts, second @ self.counts, rarest

    @cached_property
    def spread(self) -> float:
        """Standard deviation of the composed loss at the tilt 1/2, halfway between P and Q."""
        return math.sqrt(self(0.5)[2])

    @cached_property
    def tails(self) -> tuple[SaddleTable, SaddleTable]:
        """The saddles of P(L > x) and of P(L <= x)."""
        return SaddleTable(self, (0.0,)), SaddleTable(self, (0.0,), sign=-1)

    @cached_property
    def rare(self) -> tuple[Array, Array]:
        """Losses x of all sketches, and log delta(x) if the composed loss is one rare large loss, or normal.

        delta(x) = sum over rounds of E_Q (1 - e^(x - L))_+, and s e^(-z^2/2)/(1 + z^2) more for the sum of
        all losses up to x, of mean m and deviation s, z = (x - m)/s.
        """
        order = np.argsort(self.loss)
        loss, mass = self.loss[order], (self.p * self.counts.repeat(self.repeats))[order]
        # P- and Q-mass above each loss, times n_i; mean and deviation under Q of the sum of losses up to it.
        s = np.exp(np.minimum(loss, 300.0))
        p, q = (np.cumsum(each[::-1])[::-1] for each in (mass, mass * s))
        mean, deviation = np.cumsum(mass * s * loss), np.sqrt(np.cumsum(mass * s * loss * loss)) + 1e-300
        z = np.clip((loss - mean) / deviation, -1e100, 1e100)
        normal = np.log(deviation) - np.log1p(z * z) - np.maximum(z, 0.0) ** 2 / 2
        log = np.logaddexp(np.log(np.maximum(q - s * p, 1e-320)), normal)
        return loss, np.minimum(np.nan_to_num(log, nan=0.0), 0.0)

    def rare_loss(self, log_delta: Array) -> Array:
        """Return the largest positive loss with at least that delta by ``rare``, or 0; infinite past all."""
        x, log = self.rare
        inside = x > 0
        if not inside.any():
            return np.zeros_like(log_delta)
        log = np.maximum.accumulate(log[inside][::-1])[::-1]
        return np.interp(-log_delta, -log, x[inside], left=0.0, right=math.inf)

    @cached_property
    def middle(self) -> tuple[float, float]:
        """The mean and the standard deviation of the composed loss under P."""
        _, mean, variance = self(0.0)
        return mean, math.sqrt(max(variance, 0.0))

    def edge(self, theta: float, sign: int, log_eta: float) -> tuple[float, float]:
        """Return (x, t): under the tilt theta at most e^log_eta lies above x, or below it for ``sign`` -1.

        By Chernoff, K(theta + sign t) - K(theta) - sign t x = log_eta, at the t of a grid with the nearest x.
        """
        base, _, variance = self(theta)
        steps = np.geomspace(0.05, 6e4, 48) / np.sqrt(max(variance, 1e-300))
        reaches = (self.values(theta + sign * steps) - base - log_eta) / steps
        best = int(np.argmin(reaches))
        return sign * float(reaches[best]), float(steps[best])


def _find_root(function: Callable[[float], float], high: float) -> float:
    """Return where an increasing function is 0, from 1e-6 to ``high``, on a logarithmic scale."""
    return math.exp(find_root(lambda log: function(math.exp(log)), math.log(1e-6), math.log(high)))


def tilt_for_epsilon(cumulant: Cumulant, epsilon: float) -> float:
    """Return the tilt theta > 1 at the saddle of delta(eps) = int e^(K - (theta-1) eps)/(theta (theta-1))."""
    return 1 + _find_root(lambda u: cumulant(1 + u)[1] - 1 / (1 + u) - 1 / u - epsilon, cumulant.steepest)


def epsilon_for_delta(cumulant: Cumulant, delta: float) -> float:
    """Estimate epsilon(delta), negative for delta > delta(0): x of the saddle 1 + u with this delta."""
    goal = math.log(delta)
    u = _find_root(lambda u: goal - saddles(cumulant, [1 + u], (0, 1)).log.item(), cumulant.steepest)
    return saddles(cumulant, [1 + u], (0, 1)).x.item()


def epsilon_for_alpha(cumulant: Cumulant, alpha: Array) -> Array:
    """Estimate the losses epsilon with P(L > epsilon) = alpha by the saddle, of the rarer side of 1/2.

    Where rare rounds lose much, tilts weigh nothing else: results are cut to the quantiles of Cantelli's
    inequality, mean - sd sqrt(alpha/(1 - alpha)) to mean + sd sqrt((1 - alpha)/alpha).
    """
    rest = np.maximum(1 - alpha, 1e-300)
    mean, sd = cumulant.middle
    odds = np.sqrt(rest) / np.sqrt(alpha)
    x = np.empty(len(alpha))
    for table, here, log in zip(
        cumulant.tails, (alpha <= 0.5, alpha > 0.5), np.log([alpha, rest]), strict=True
    ):
        x[here] = table.losses(log[here])
    return np.clip(np.where(np.isnan(x), mean, x), mean - sd / odds, mean + sd * odds)


class Saddles(NamedTuple):
    """Saddles, in arrays: c, x, sqrt(K''(c)), log of the integral, K(c) and the rarity of ``derivatives``.

    By Laplace's method the integral is about e^(K(c) - c x)/(sqrt(2 pi) ``spread`` prod |c - p|). With the
    poles 0 and 1 ``log`` is that of e^x times the integral, which is delta(x) or 1 - delta(x).
    """

    c: Array
    x: Array
    sd: Array
    log: Array
    value: Array
    rarest: Array

    def spread(self, poles: Sequence[float]) -> Array:
        """Return the root of the second derivative sd^2 + sum (c - p)^-2 of K(c) - sum log |c - p|.

        A tilt 1/spread away costs a factor e^(1/2) in bounds.
        """
        return np.asarray(np.sqrt(self.sd * self.sd + sum([(self.c - p) ** -2 for p in poles])))


def saddles(cumulant: Cumulant, tilts: ArrayLike, poles: Sequence[float]) -> Saddles:
    """Return for each tilt c the loss x whose saddle it is, and the integral; poles are (0, 1) or (0,)."""
    c = np.asarray(tilts)
    value, mean, variance, rarest = cumulant.derivatives(c)
    inverses = [1 / (c - p) for p in poles]
    x = mean - sum(inverses)
    # With the poles 0 and 1 the logarithm of e^x times the integral.
    log = value - (c - (len(poles) - 1)) * x + sum([np.log(np.abs(each)) for each in inverses])
    log -= 0.5 * np.log(2 * np.pi * (variance + sum([each * each for each in inverses])))
    return Saddles(c, x, np.sqrt(np.maximum(variance, 0.0)), log, value, rarest)


class SaddleTable:
    """Saddles c = start + sign u of growing u <= ``last``."""

    def __init__(
        self,
        cumulant: Cumulant,
        poles: Sequence[float],
        start: float = 0.0,
        sign: int = 1,
        last: float = math.inf,
    ) -> None:
        self.cumulant, self.poles, self.start, self.sign = cumulant, poles, start, sign
        self.last = min(last, cumulant.limit)
        u = min(max(0.01 / math.sqrt(1 + cumulant(start)[2]), 1e-9), self.last / 2)  # 1 + u is above 1
        # The last u, and the table so far. Replaced as a whole, and each follows from those below: threads
        # that extend the table at once write the same.
        self._computed = u, saddles(cumulant, [start + sign * u], poles)

    def up_to(self, x: float, log: float = -math.inf) -> Saddles:
        """Add saddles until the last loss is above x or the last log-integral below ``log``; return all."""
        u, table = self._computed
        while not (table.x[-1] > x or table.log[-1] < log) and u < self.last and len(table.c) < 4000:
            # The integral is no float and falls (near 0 it may rise first), or a round is too rare for one.
            if (table.log[-1] < -745.0 and table.log[-1] < table.log[-2:][0]) or table.rarest[-1] > 600.0:
                break
            # Up to 16 at once, 0.6 spreads apart by the last deviation, until the spread has grown by a
            # fourth.
            sd, ahead, widths = float(table.sd[-1]), [u], list[float]()
            for _ in range(min(max(2**15 // len(self.cumulant.loss), 1), 16)):
                c = self.start + self.sign * ahead[-1]
                widths.append(math.hypot(sd, *[1 / (c - p) for p in self.poles]))
                ahead.append(ahead[-1] + 0.6 / widths[-1])
                if ahead[-1] >= self.last:
                    ahead[-1] = self.last
                    break
            new = saddles(self.cumulant, self.start + self.sign * np.array(ahead[1:]), self.poles)
            stops = new.spread(self.poles)[:-1] > 1.25 * np.array(widths[1:])
            stops |= (new.log[:-1] < -745.0) | (new.rarest[:-1] > 600.0)
            kept = int(np.argmax(stops)) + 1 if stops.any() else len(widths)
            u = ahead[kept]
            table = Saddles(*(np.append(old, more[:kept]) for old, more in zip(table, new, strict=True)))
            self._computed = u, table
        return table

    def at(self, x: Array) -> Saddles:
        """Return the saddle of each loss x, interpolated in the table."""
        table = self.up_to(float(np.max(x, initial=-math.inf)))
        loss = np.maximum.accumulate(table.x)
        return Saddles(*(np.interp(x, loss, each) for each in table))

    def tilt(self, x: float) -> float:
        """Return the c of the saddle of one x, of a table of sign 1, by Newton's method between two saddles.

        Below the first one the nearest pole, ``start``, dominates: x + 1/u is constant there.
        """
        table = self.up_to(x)
        if x < table.x[0]:
            return self.start + max(float(1 / (1 / (table.c[0] - self.start) + table.x[0] - x)), 1e-9)
        loss = np.maximum.accumulate(table.x)
        above = min(int(np.searchsorted(loss, x, side="right")), len(loss) - 1)
        low, high, tilt = float(table.c[above - 1]), float(table.c[above]), float(np.interp(x, loss, table.c))
        for _ in range(12):  # one is enough where K'' is smooth
            here = saddles(self.cumulant, [tilt], self.poles)
            width = here.spread(self.poles).item()
            last, tilt = tilt, min(max(tilt + (x - here.x.item()) / width**2, low), high)
            if not abs(tilt - last) * width > 0.1:  # a tenth of a spread off changes no estimate much
                break
        return tilt

    def loss(self, log: float) -> float:
        """Return the x whose estimated log-integral is ``log``, by a root u between two saddles."""
        table = self.up_to(math.inf, log)
        above = int(np.argmax(table.log < log))
        if not above:  # all integrals are smaller, or none is
            return float(table.x[0 if table.log[0] < log else -1])
        low, high = (float(abs(c - self.start)) for c in table.c[above - 1 : above + 1])

        def saddle(u: float) -> Saddles:
            return saddles(self.cumulant, [self.start + self.sign * u], self.poles)

        return saddle(find_root(lambda u: log - saddle(u).log.item(), low, high, 1e-9 * low)).x.item()

    def losses(self, log: Array) -> Array:
        """Return the x of log-integrals ``log``: by ``x_for``, or ``loss`` where saddles are far apart."""
        if not len(log):
            return log
        table = self.up_to(math.inf, float(np.min(log)))
        above = np.argmax(table.log < log[:, None], axis=1)
        far = np.abs(table.x[above] - table.x[above - 1]) > 2 * table.sd[above - 1]
        x = self.x_for(log)
        x[far] = [self.loss(each) for each in log[far].tolist()]
        return x

    def x_for(self, log: Array) -> Array:
        """Return the x whose estimated log-integrals are ``log``, interpolated in the table."""
        table = self.up_to(math.inf, float(np.min(log, initial=math.inf)))
        # Interpolation needs an order, which estimates may miss.
        return np.asarray(np.interp(-log, np.maximum.accumulate(-table.log), table.x))


def log_kappa(c: float) -> float:
    """Return log sup_L (1 - e^(x-L))_+ e^((1-c)(L-x)) for c > 1, and for 0 <= c <= 1 a bound, 0."""
    return (c - 1) * math.log1p(-1 / c) - math.log(c) if c > 1 else 0.0


def log_kappas(c: Array) -> Array:
    """Return ``log_kappa`` of each c, where no bound rests on it."""
    u = np.maximum(c - 1, 1e-300)
    return np.where(c > 1, -u * np.log1p(1 / u) - np.log(np.maximum(c, 1.0)), 0.0)


class Placement(NamedTuple):
    """A line: tilt c, Chernoff points ``left`` and ``right`` of it, and ``step`` of frequencies.

    Its truncation should be below ``goal`` times e^(K(c) - (c - 1) x), and it may sum ``most`` terms.
    ``scale`` is the spread of the integrand about the saddle: so far from the center e^(1/2) of the accuracy
    is lost. ``blur`` tau^2 estimates the relative error of psi after smoothing by a Gaussian of mu = tau, the
    ``smoothing_width``. ``log_psi`` estimates log psi; ``uneven`` is whether a lower tilt may have a much
    shorter period.
    """

    c: float
    left: float
    right: float
    step: float
    goal: float
    most: float
    smoothing_width: float
    scale: float
    blur: float = 1.0
    log_psi: float = 0.0
    uneven: bool = False

    @property
    def drawable(self) -> bool:
        """Whether no number of the line overflows, as periods and fourth powers do for tilts far out."""
        return (
            0 < self.goal < math.inf
            and 0 < self.step < math.inf
            and self.left < self.c < self.right
            and self.scale < math.inf
            and self.smoothing_width * max(self.c, self.step) < 1e60
        )


def smoothed(sharp: Placement, accuracy: float, each: int) -> Placement:
    """Return the placement smoothed for a relative error ``accuracy`` of psi, if its terms allow, else more.

    Such lines end at depth/tau, tau e^(-depth^2/2) = ``goal``, with 1/512 of the smoothing's error after
    that. ``each`` is the number of terms summed for a node.
    """
    nodes = min(query_options().most(NODE_BYTES), sharp.most / (1.02 * each))
    least = math.sqrt(accuracy / sharp.blur)  # mu of the Gaussian that moves psi by so much
    tau = max(least, 5.5 / (sharp.step * nodes))  # nearly: of it the depth is good to 1 %
    depth = math.sqrt(2 * max(math.log(512 * GOAL / sharp.goal / min(sharp.blur * tau, 1 / tau)), 2.0))
    tau = float(max(least, 1.01 * min(depth, 8.5) / (sharp.step * nodes)))
    goal = 1 / 512 * min(sharp.blur * tau * tau, 1.0) * sharp.goal / GOAL
    return sharp._replace(smoothing_width=tau, goal=goal)


def place_line(saddles: SaddleTable, x: float, log_psi: float | None, *, middle: bool) -> Placement:
    """Place a line at the loss x, in the strip of the saddles: 0 < c < 1 (``middle``), or c > 1.

    ``log_psi`` is log psi(x), estimated where it is None. Where rare rounds lose much, K is nearly 0 up to c
    and very large above it: the saddle needs a long period on its right. A lower tilt has a shorter one, and
    the shortest is where both sides need the same.
    """
    cumulant, c = saddles.cumulant, saddles.tilt(x)
    value, _, variance = cumulant(c)
    spread = math.sqrt(2 * math.pi * (variance + c**-2 + (c - 1) ** -2))
    if log_psi is None:  # the saddle-point estimate
        log_psi = value - (c - 1) * x - math.log(abs(c * (c - 1)) * spread)
    reach = _REACH / math.sqrt(max(variance, 1e-300))
    floor, ceiling = (0.0, 1.0) if middle else (1.0, math.inf)
    above, below = np.minimum(c + reach, ceiling), np.maximum(c - reach, floor)
    result = _place_at(cumulant, x, (c, value, variance), below, above, log_psi)
    if middle or not result.uneven:
        return result
    points = 1 + (c - 1) * _SHARES  # tilts tried, each with the others as Chernoff points
    excess = cumulant.values(points) - (points - 1) * x + log_kappas(points)
    excess = np.maximum(excess - log_psi - math.log(_ALIAS), 1.0)
    gap = points - points[:, None]
    with np.errstate(divide="ignore"):
        periods = excess / np.abs(gap)  # of a line at the row, for a Chernoff point at the column
    left, right = (np.min(periods, axis=1, where=side, initial=math.inf) for side in (gap < 0, gap > 0))
    # At other tilts than the saddle digits cancel in the sum, as many as the excess grows.
    k = int(np.argmin(np.log(np.maximum(left, right)) + excess / 3.0))
    lower = float(points[k])
    value, _, variance = cumulant(lower)
    other = _place_at(cumulant, x, (lower, value, variance), points[:k], points[k + 1 :], log_psi)
    return other if other.step > 1.2 * result.step else result


def coarse_placement(cumulant: Cumulant, x: float, sharp: Placement) -> Placement:
    """Return a placement of a shorter period at a tilt past the saddle, or ``sharp`` if there is none.

    Aliases from the left fall as e^-((c - 1) period), slowly near c = 1. Tilts two deviations or one past
    the saddle have a half or a third of the period. Smoothing errs by more than rounding, so that they may
    lose a factor of e^6 against the saddle.
    """
    value, _, variance = cumulant(sharp.c)
    for ahead in (2.0, 1.0) if sharp.c > 1 and sharp.drawable else ():
        c = sharp.c + ahead / math.sqrt(max(variance, 1e-300))
        moved, _, width = cumulant(c)
        if abs(moved - value - (c - sharp.c) * x) < 6.0:
            reach = _REACH / math.sqrt(max(width, 1e-300))
            below, tilt = np.append(np.maximum(c - reach, 1.0), 1.0), (c, moved, width)
            result = _place_at(cumulant, x, tilt, below, c + reach, sharp.log_psi)
            if result.drawable and result.step > sharp.step:
                return result._replace(scale=sharp.scale, blur=sharp.blur)
    return sharp


Tilt = tuple[float, float, float]  # c, K(c) and K''(c)


def _place_at(
    cumulant: Cumulant, x: float, tilt: Tilt, below: Array, above: Array, log_psi: float
) -> Placement:
    """Place a line at the tilt, with the best of the Chernoff points ``below`` it, and of those above it."""
    c, value, variance = tilt
    spread = math.sqrt(variance + c**-2 + (c - 1) ** -2)
    log_size = log_psi - value + (c - 1) * x
    points = np.concatenate([below, above])
    gap = points - c
    excess = cumulant.values(points) - value - gap * x + log_kappas(points) - log_size - math.log(_ALIAS)
    # A spread more, as it serves losses so far from x. A gap of 0 is that of a c too large to have one.
    periods = np.where(gap == 0, math.inf, excess / np.where(gap == 0, 1.0, np.abs(gap)) + spread)
    best = int(np.argmin(periods[: len(below)])), len(below) + int(np.argmin(periods[len(below) :]))
    (left, right), sides = points[[*best]].tolist(), periods[[*best]].tolist()
    goal = GOAL * math.exp(min(log_size, 700.0))
    # The density at x of the tilted loss, whose mean is 1/c + 1/(c - 1) above x, over psi.
    deviation = math.sqrt(max(variance, 1e-300))
    apart = min(abs(1 / c + 1 / (c - 1)) / deviation, 1.5)
    blur = LEFT * abs(c * (c - 1)) * spread / deviation * math.exp(-apart * apart / 2)
    uneven = bool(sides[1] > 1.5 * sides[0])
    step = 2 * math.pi / max(sides)
    return Placement(c, left, right, step, goal, math.inf, 0.0, spread, float(blur), log_psi, uneven)
