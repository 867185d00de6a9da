"""delta by the inversion integral along a vertical line, every error of its sum a ball.

    psi(x) = delta(x) - Q(L = inf) for c > 1,    psi(x) = 1 - delta(x) for 0 < c < 1,

is (1/2 pi) int M(c + iy) e^(-(c - 1 + iy) x) kernel(c + iy) dy, with the kernel 1/(z (z - 1)), negated
for c < 1 (Zhu, Dong, Wang 2022). The trapezoid sum of distance ``step`` is sum_m e^((c-1) m A) psi(x + m A)
with A = 2 pi/step, never below psi, and its other terms are at most geometric series by Chernoff's bound

    psi(x) <= M(c') e^(-(c' - 1) x) kappa(c'),   kappa = (1 - 1/c')^(c' - 1)/c' for c' > 1, and 1 for c' <= 1.

Beyond the last frequency |M| is bounded on a shifted line of integration (``parts.Bell``). If that is not
small enough, as atoms or few rounds keep M from falling, a Gaussian of mu tau is added. It adds to delta
at most e^x tau e^(d/2) phi(d/tau) for each d = L - x (the time value of an option, whose vega this bounds),
which is a sum over the same nodes with tau^2 e^(tau^2/8) for the kernel.
"""

from __future__ import annotations

import math
from functools import cached_property

from flint import acb, acb_mat, arb

from tradeoff.errors import VerificationError
from tradeoff.proofs.verify.product import Product
from tradeoff.proofs.verify.report import require

GOAL = -36.0  # log of the errors that are allowed to each sum, relative to the integrand at its saddle point
# Nodes of a contour without an added Gaussian: doubled until the rest is negligible.
_FEWEST, _MOST = 64, 2**13
_WIDER = 1.15  # factor by which a period is lengthened that is too short
_LONGER = 200  # times that a period is lengthened, at most
# Tilts c - 1, or c/(1 - c) in the middle strip, are powers of two with so many a doubling, up to the last.
_PER_DOUBLING, _LAST = 8, 350
_APART = (1, 2, 3, 4, 6, 8, 12, 16, 22, 32, 46, 64)  # how many of them Chernoff points are away
_MAX_LOSS = 50.0  # log of the cancellation that a lower tilt may cost, which takes 72 bits


class Contour:
    """A contour for psi near x; ``count`` is its number of nodes if a Gaussian is added."""

    def __init__(self, product: Product, x: float, *, middle: bool, count: int) -> None:
        self.product, self.x, self.middle, self.tau = product, x, middle, 0.0
        self._choose_tilt(self._saddle())
        self.step = float((2 * arb.pi() / self.period).mid())
        self._evaluate(count)

    def _saddle(self) -> int:
        """Return about the index of the tilt where K(c) - (c - 1) x - log |c (c - 1)| is least."""

        def rises(k: int) -> bool:
            try:
                return self._slope(self._tilt_at(k))[0] > 0
            except VerificationError:  # a tilt too large for a quadrature
                return True

        low, high = (-_LAST, _LAST) if self.middle else (-_LAST, 0)
        while not self.middle and high < 2 * _LAST and not rises(high):
            low, high = high, high + _PER_DOUBLING
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if rises(middle) else (middle, high)
        return low

    def _tilt_at(self, k: int) -> float:
        """Return a tilt of the strip: a few hundred serve all losses, so that each is computed once."""
        t = k * math.log(2) / _PER_DOUBLING
        return 1 / (1 + math.exp(-t)) if self.middle else 1 + math.exp(t)

    def _slope(self, c: float) -> tuple[float, float]:
        tilt = self.product.tilt(c)
        return tilt.mean - self.x - 1 / c - 1 / (c - 1), tilt.variance + 1 / c**2 + 1 / (c - 1) ** 2

    def _log_m(self, c: float) -> arb:
        """Return log M(c); at the ends of the strips an upper bound, 0."""
        if c in {0.0, 1.0}:
            return arb(0)
        return self.product.tilt(c).log_m + arb(self.tau) ** 2 * (arb(c) ** 2 - c) / 2

    def _choose_tilt(self, saddle: int) -> None:
        """Choose the tilt, from the saddle point down, whose contour needs the fewest nodes.

        K may rise steeply beyond the saddle, and the period with it. A lower tilt has a larger integrand,
        relative to which the sum is smaller by e^loss: so must all errors be.
        """
        least, best = arb.pos_inf(), math.inf
        for k in range(saddle, saddle - (1 if self.middle else 2 * _PER_DOUBLING + 1), -_PER_DOUBLING // 4):
            self.c = self._tilt_at(k)
            self.spread = math.sqrt(self._slope(self.c)[1])
            size = self._size()
            least = size if k == saddle else least
            loss = max(float(size - least), 0.0)
            if loss > _MAX_LOSS:
                break
            period, left, right = self._period(k, least)
            cost = period * math.sqrt(loss - GOAL) / self.spread
            if cost > 1.3 * best:
                break
            if cost < best:
                best, chosen = cost, (self.c, self.spread, period, left, right, GOAL - loss)
        self.c, self.spread, self.period, self.left, self.right, self.goal = chosen

    def _size(self) -> arb:
        """Return the logarithm of the integral of a bell as high and wide as the integrand."""
        size = self._log_m(self.c) - (self.c - 1) * arb(self.x)
        return size - arb(self.c * abs(self.c - 1) * self.spread * 2.6).log()

    def _period(self, k: int, size: arb) -> tuple[float, float, float]:
        """Return a period, and two Chernoff points, for which the aliases are negligible against e^size."""
        below, above = ([self._tilt_at(k + way * step) for step in _APART] for way in (-1, 1))
        points = [*below, 0.0 if self.middle else 1.0], [*above, 1.0] if self.middle else above
        period = 8 * self.spread
        for _ in range(_LONGER):
            best = [self._best_alias(each, period) for each in points]
            if all(alias <= size + GOAL for alias, _ in best):
                break
            period *= _WIDER
        return period, best[0][1], best[1][1]

    def _best_alias(self, points: list[float], period: float) -> tuple[arb, float]:
        """Return the least logarithm of an alias, and its point; they fall and then rise along the points."""
        result: list[tuple[arb, float]] = []
        for c in points:
            try:
                log = self._chernoff(c, arb(self.x)) - abs(c - self.c) * period
            except VerificationError:  # as above
                break
            if result and float(log) > float(result[-1][0]):
                break
            result.append((log, c))
        require("claim", result, "no tilt bounds the aliases")
        return result[-1]

    def _chernoff(self, c: float, x: arb) -> arb:
        """Return the logarithm of Chernoff's bound at x."""
        return self._log_m(c) - (arb(c) - 1) * x + _log_kappa(c)

    def _evaluate(self, count: int) -> None:
        """Evaluate M at as many nodes as are needed; ``tail_ratio`` bounds |M/M(c)| beyond the last."""
        product, frequencies = self.product, _FEWEST
        goal = self.goal - max(0.0, math.log(self.c * abs(self.c - 1) * self.spread**2))
        while frequencies <= max(_MOST, 2 * count):
            log = product.tail(self.c, self.step * (frequencies - 1))
            if log < goal:
                break
            frequencies *= 2
        else:
            frequencies = count
            self.tau = math.sqrt(-2 * self.goal) / self.step / (count - 1)
            log = -((arb(self.tau) * self.step * (count - 1)) ** 2) / 2
        self.tail_ratio = log.exp()
        self.values = product.values(self.c, self.step, frequencies, arb(self.tau), self.goal)

    def bound(self, x: float) -> arb:
        """Enclose psi(x)."""
        loss, step, size = arb(x), arb(self.step), (-(arb(self.c) - 1) * arb(x)).exp()
        total, bump = self._sums(acb(0, -loss * step).exp())
        scale, last = size * step / arb.pi(), step * (len(self.values) - 1)
        # |z (z - 1)| >= y^2, and the sum over k > K of 1/(k step)^2 is less than 1/(K step^2).
        rest = size * self.values[0].real * self.tail_ratio / (arb.pi() * last)
        aliases = self._alias(self.left, loss) + self._alias(self.right, loss)
        low, high = scale * total.real - rest - aliases, scale * total.real + rest
        if self.tau:  # beyond the nodes the integral of e^(-tau^2 y^2/2) is less than itself over tau^2 y
            square = arb(self.tau) ** 2
            blur = square * (square / 8).exp() * (scale * bump.real + rest / square)
            low, high = (low, high + blur) if self.middle else (low - blur, high)
        chernoff = self._chernoff(self.c, loss).exp() if not self.middle else arb(1)
        low, high = low.lower().max(arb(0)), high.upper().min(chernoff.upper())
        return low.union(high)

    @cached_property
    def _terms(self) -> list[acb_mat]:
        """Two matrices, filled row by row: values times the kernel, and the values."""
        sign, values = -1 if self.middle else 1, [self.values[0] / 2, *self.values[1:]]
        z = [acb(arb(self.c), arb(self.step) * k) for k in range(len(values))]
        weighed = [value / (at * (at - 1)) * sign for value, at in zip(values, z, strict=True)]
        row = math.isqrt(len(values)) + 1
        padding = [acb(0)] * (row * row - len(values))
        return [acb_mat(row, row, [*each, *padding]) for each in (weighed, values)]

    def _sums(self, turn: acb) -> list[acb]:
        """Return the sums of both times turn^k, by few multiplications, since each rotation widens a ball."""
        row = self._terms[0].nrows()
        left, right = (acb_mat(1, row, [turn ** (k * pace) for k in range(row)]) for pace in (row, 1))
        return [(left * each * right.transpose())[0, 0] for each in self._terms]

    def _alias(self, c: float, x: arb) -> arb:
        """Bound the sum of the aliases on one side, each at most e^-gap times the one before it."""
        gap = abs(arb(c) - arb(self.c)) * 2 * arb.pi() / arb(self.step)
        return (self._chernoff(c, x) - gap).exp() / -(-gap).expm1()


def _log_kappa(c: float) -> arb:
    return (arb(c) - 1) * (1 - 1 / arb(c)).log() - arb(c).log() if c > 1 else arb(0)


def chernoff(product: Product, x: float) -> arb:
    """Bound delta(x) - Q(L = inf) by Chernoff's bound, up to the largest tilt that has a quadrature."""
    best = arb(1)
    for k in range(-8, 20):
        c = 1 + 2.0**k
        try:
            log = product.tilt(c).log_m - (arb(c) - 1) * x + _log_kappa(c)
        except VerificationError:
            break
        best = best.min(log.exp().upper())
    return best
