"""delta and beta of many rounds by Berry and Esseen's theorem, from moments of their losses in balls.

Given that it is finite, the loss S of the product is under P within gamma_P of a normal law at every t, as

    |P(S <= t) - Phi((t - E S)/sd S)| <= 0.56 sum E|L_j - E L_j|^3/(sd S)^3

(Shevtsova 2010), and for n identical rounds with rho = E|L - E L|^3/sd^3 also within a (rho + b)/sqrt(n) for
the pairs of ``IDENTICAL`` (Shevtsova 2013); so under Q. Rounds that are normal cost nothing: they are sums of
ever narrower ones, and move no two distributions apart. The test S > t is the best at its level, which gives
beta, and S > x the best for slope -e^x, which gives delta.

For every T > 0 and every x a distribution function F of mean 0 and variance 1 is within

    (1/T) int_0^inf (1 - u/T) Re e^(-iux) g(u) du + rest    of    G(x) = Phi(x) + s/6 (1 - x^2) phi(x),

g(u) = e^(-u^2/2) (1 - i s u^3/6), s the skewness (Prawitz 1972). With f the characteristic function the rest
is

    2 int_0^1 |K(w)| |f - g|(wT) dw + 2 int_0^1 (1 - w)/2 (1/(pi w) - cot pi w) |g(wT)| dw,
    K(w) = (1 - w)/2 + i/2 ((1 - w) cot pi w + 1/pi),

what g has beyond T in its own inversion, and what of the first integral is not counted below. On a cell every
factor is monotone, so that an integral is at most a sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from flint import acb, arb

from tradeoff.certificates.certificate import Description
from tradeoff.certificates.verify.balls import Pair, above, greatest
from tradeoff.certificates.verify.laws import Law, at_infinity, law, square_of
from tradeoff.certificates.verify.parts import MOST, Atoms, Bell, Comb, Density, Part
from tradeoff.certificates.verify.report import require
from tradeoff.certificates.verify.shifts import Shift, Slab

INDEPENDENT, IDENTICAL = "0.56", (("0.4690", "0"), ("0.3322", "0.429"), ("0.3031", "0.646"))
SOURCE = "Berry and Esseen's theorem, with the constants of Shevtsova 2010 and 2013"
EXPANSION = "the smoothing of Prawitz 1972 and 1975, with the moments of Derumigny, Girard, Guyonvarch 2024"

_CLOSE = arb(2) ** -80  # absolute error of an integral that ends its refinement; it is part of the ball

# Deviations after which e^-84 of a normal law is left: integrals along the line end there, and twice a mean
# away.
_REACH = 13

# Deviations between which a threshold is looked for: a normal law has e^-800 beyond; steps to a float.
_FAR, _HALVINGS = 40.0, 60

# Deviations between which the best threshold is looked for, steps of a look, and looks.
_BULK, _GRID, _ROUNDS = 9, 180, 7

# cos x <= 1 - x^2/2 + 0.09916192 |x|^3 everywhere; a cubic that touches later is below as well.
_CORNER, _CUBIC = "3.9959", "0.09916192"

_LONGEST = 1e9  # T at most: what is left of the error, of order 1/T, is then nothing

# Standard deviations that are cut finely, at either end, and cells of these and between them.
_ENDS, _FINE, _BETWEEN = 14.0, 5000, 500

Function = Callable[[acb, bool], acb]


class Sum(NamedTuple):
    """Of the finite loss under one law: what its mass is, mean and deviation, and how far from normal."""

    kept: arb
    mean: arb
    sd: arb
    gamma: arb
    expansion: Expansion | None

    def over(self, t: arb) -> Pair:
        """Bound what is above t, by a normal law and by its expansion."""
        x = (t - self.mean) / self.sd
        low, high = above(x) - self.gamma, above(x) + self.gamma
        if self.expansion is not None:
            least, most = self.expansion.over(x)
            low, high = low.max(least), high.min(most)
        return low.max(arb(0)), high.min(arb(1))

    def exceeded(self, level: arb) -> arb | None:
        """Return a t that is surely exceeded with at least this probability."""
        low, high = -_FAR, _FAR
        for _ in range(_HALVINGS):
            x = (low + high) / 2
            low, high = (x, high) if self.over(self._at(x))[0] >= level else (low, x)
        return None if low == -_FAR else self._at(low)

    def _at(self, x: float) -> arb:
        return (self.mean + self.sd * x).mid()


class Normal:
    """A product by its two sums."""

    def __init__(self, factors: Sequence[Description], *, expanded: bool = False) -> None:
        self.p, self.q = (_summed(factors, side, expanded=expanded) for side in (0, 1))

    def delta(self, x: float) -> tuple[arb, arb]:
        """Bound delta(x) = Q(S > x) - e^x P(S > x): from below by any threshold, from above by that one."""
        slope = arb(x).exp()
        low = (1 - slope).max(1 - self.q.kept)
        for t in (arb(x), self._best(lambda t: self._gain(t, slope, 0))):
            low = low.max(self._gain(t, slope, 0))
        return low, self._gain(arb(x), slope, 1)

    def _gain(self, t: arb, slope: arb, side: int) -> arb:
        """Bound Q(S > t) - slope P(S > t), from below (0) or above (1)."""
        p, q = self.p, self.q
        return 1 - q.kept + q.kept * q.over(t)[side] - slope * p.kept * p.over(t)[1 - side]

    def beta(self, alpha: float) -> tuple[arb, arb]:
        """Bound f(alpha): from below by a test whose level is surely at least alpha, from above by any."""
        p, q = self.p, self.q
        if alpha >= p.kept:
            return arb(0), arb(0)
        t = p.exceeded(alpha / p.kept)
        low = arb(0) if t is None else q.kept * (1 - q.over(t)[1])
        return low.max(arb(0)), self._chord(self._best(lambda t: -self._chord(t, alpha)), alpha)

    def _chord(self, t: arb, alpha: float) -> arb:
        """Bound f(alpha) from above by the chord of the test S > t with (0, f(0)), or with (P(finite), 0)."""
        p, q = self.p, self.q
        level, missed = p.kept * p.over(t)[1], q.kept * (1 - q.over(t)[0])
        found = q.kept.min(1 - arb(alpha))
        if level > alpha:
            return found.min(q.kept - (q.kept - missed) * alpha / level)
        return found.min(missed * (p.kept - alpha) / (p.kept - level)) if level < alpha else found

    def _best(self, gain: Callable[[arb], arb]) -> arb:
        """Return the threshold of about the largest gain."""
        about = [
            float(each.mean) + far * float(each.sd) for each in (self.p, self.q) for far in (-_BULK, _BULK)
        ]
        low, high = min(about), max(about)
        for _ in range(_ROUNDS):
            step = (high - low) / _GRID
            best = max((low + k * step for k in range(_GRID + 1)), key=lambda t: float(gain(arb(t))))
            low, high = best - step, best + step
        return arb(best)


class Central(NamedTuple):
    """Of one loss: its mean, and E Y^2, E|Y|^3, E Y^3 and E Y^4 of Y = L - E L."""

    mean: arb
    square: arb
    size: arb
    cube: arb
    fourth: arb


def _summed(factors: Sequence[Description], side: int, *, expanded: bool) -> Sum:
    """Add the moments of all rounds up."""
    kept, mean, variance, rough = arb(1), arb(0), arb(0), []
    for factor in factors:
        square, n = square_of(factor["law"]), factor["count"]
        if square is not None:
            mean, variance = mean + (n * square / 2 if side else -n * square / 2), variance + n * square
            continue
        parts = law(factor["law"])
        finite = 1 - at_infinity(parts, side)
        each = _moments(parts, side, finite)
        kept, mean, variance = kept * finite**n, mean + n * each.mean, variance + n * each.square
        rough.extend([] if each.size.is_zero() else [(n, each)])
    require("factors", variance > 0, "losses that do not vary have no central limit")
    sd = variance.sqrt()
    gamma = arb(INDEPENDENT) * _total((n, each.size) for n, each in rough) / sd**3
    if len(rough) == 1:
        [(n, each)] = rough
        for a, b in IDENTICAL:
            gamma = gamma.min(arb(a) * (each.size / each.square.sqrt() ** 3 + arb(b)) / arb(n).sqrt())
    return Sum(kept, mean, sd, gamma, Expansion(rough, sd) if expanded and rough else None)


def _total(each: Iterable[tuple[int, arb]]) -> arb:
    return sum((n * x for n, x in each), arb(0))


def _moments(parts: Law, side: int, mass: arb) -> Central:
    """Return the moments of the finite losses.

    About m near the mean, off by d: powers of x and of x + d up to the third, and third ones of sizes, are
    apart by at most 6 |d| (x^2 + 1) for |d| < 1/6, and fourth ones by 6 |d| (x^2 + |x|^3 + 1).
    """

    def expected(value: Function, centre: arb) -> arb:
        return sum((_expected(part, side, value, centre) for part in parts), arb(0)) / mass

    mean = expected(lambda loss, _: loss, arb(0))
    listed = [part.finite()[1] for part in parts if isinstance(part, Atoms)]
    if len(listed) == len(parts) and sum(map(len, listed)) < 2:
        return Central(mean, *[arb(0)] * 4)
    m = mean.mid()
    square, cube, fourth = (expected(_power(m, k), m) for k in (2, 3, 4))
    size = expected(lambda loss, analytic: (loss - m).real_abs(analytic=analytic) ** 3, m)
    d = abs(mean - m).upper()
    require("laws", d < 0.1, "a mean is not known")
    some = (6 * d * (square + 1)).upper() * arb(0, 1)
    more = (6 * d * (square + size + 1)).upper() * arb(0, 1)
    return Central(mean, square + some, size + some, cube + some, fourth + more)


def _power(m: arb, k: int) -> Function:
    return lambda loss, _: (loss - m) ** k


def _expected(part: Part, side: int, value: Function, centre: arb) -> arb:
    """Return the integral over a part of a function of L, at most (1 + |L - centre|)^4 in size."""
    if isinstance(part, Atoms):
        finite, loss = part.finite()
        held = zip(finite, loss, strict=True)
        return sum((pair[side] * value(acb(x), False).real for pair, x in held), arb(0))
    f = _integrand(part, side, value)
    if isinstance(part, Bell):
        reach, left = _left(part, centre)
        if not isinstance(part, Comb):
            return _integral(f, -reach, reach) + left
        last = math.ceil(float(reach / part.step))
        require("laws", last < MOST // 8, f"integer noise of {2 * last} atoms is too much")
        return sum((f(acb(k * part.step), False).real for k in range(-last, last + 1)), left)
    if isinstance(part, Slab):
        return _integral(f, arb(0), part.epsilon)
    return _integral(f, arb(0), arb(1))  # along P(X > x)


def _integral(f: Function, low: arb, high: arb) -> arb:
    return acb.integral(f, low, high, rel_tol=_CLOSE, abs_tol=_CLOSE).real


def _integrand(part: Part, side: int, value: Function) -> Function:
    """Return the density of P or of Q times a function of L."""

    def terms(x: acb) -> tuple[list[acb], acb]:
        if isinstance(part, Shift):
            return [acb(1), part.noise.ratio(x)], acb(1)
        require("laws", isinstance(part, Density), "of this law no moments are proved")
        logs, base = part.logs(x)  # type: ignore[attr-defined]  # of a density
        return [log.exp() for log in logs], base.exp()

    def f(x: acb, analytic: bool) -> acb:  # noqa: FBT001 - as Arb calls it
        each, density = terms(x)
        p, q = (sum((w * e for w, e in zip(held, each, strict=True)), acb(0)) for held in (part.p, part.q))
        return (q if side else p) * density * value((q / p).log(analytic=analytic), analytic)

    return f


def _left(part: Bell, centre: arb) -> tuple[arb, arb]:
    """Return R, and a ball around 0 that holds what lies outside of (-R, R).

    With M the size of means |L| <= 2 M |x| + M^2 - sum of log weights, and densities are at most e^(M |x|)
    times that of mean 0. Of (A + B x)^4 e^(M x - x^2/2) the logarithm falls from R on at least at the rate
    r = R - M - 4 B/(A + B R).
    """
    m = abs(part.means[0]).max(abs(part.means[-1]))
    weights = [w for each in (part.p, part.q) for w in each if not w.is_zero()]
    a, b = 1 + m * m + abs(centre) - sum((w.log() for w in weights), arb(0)), 2 * m
    reach = _REACH + 2 * m
    fall = reach - m - 4 * b / (a + b * reach)
    height = (a + b * reach) ** 4 * (m * reach + part.logs(reach)[1]).exp()
    width = -(-fall * part.step).expm1() if isinstance(part, Comb) else fall
    require("laws", width > 0, "an integral ends too early")
    return reach, (2 * height / width).upper() * arb(0, 1)


class Expansion:
    """G and its error, from summands that are not normal.

    Y are losses over the sum's deviation ``sd``, v their variances: of these the sum's skewness, sum E Y^4,
    sum v^2, the largest v, and K = sum E|Y|^3 + sd(Y) v, which is ``rugged``.
    """

    def __init__(self, rough: Sequence[tuple[int, Central]], sd: arb) -> None:
        shares = [(n, each.square / sd**2) for n, each in rough]
        self.skewness = _total((n, each.cube) for n, each in rough) / sd**3
        self.fourth = _total((n, each.fourth) for n, each in rough) / sd**4
        self.squares = _total((n, share**2) for n, share in shares)
        self.largest = greatest([share for _, share in shares])
        self.rugged = _total((n, each.size + each.square.sqrt() ** 3) for n, each in rough) / sd**3
        self.size = abs(self.skewness).upper()
        # Any T serves that is at most 2 pi/K.
        self.reach = arb(min(0.999999 * 2 * 3.14159265 / float(self.rugged.upper()), _LONGEST))
        self.rest = self._smoothed() + self._cut()

    def over(self, x: arb) -> Pair:
        """Bound what the sum has above x standard deviations, from below and from above."""
        s, density = self.skewness, (-x * x / 2).exp() / (2 * arb.pi()).sqrt()
        middle = above(x) - s / 6 * (1 - x * x) * density
        slope = density * (1 + s / 6 * x * (x * x - 3))
        # int_0^inf u cos(ux) e^(-u^2/2) du = 1 - x sqrt(2) D(x/sqrt(2)), D Dawson's integral.
        dawson = (arb.pi() / 2).sqrt() * (-x * x / 2).exp() * (x / arb(2).sqrt()).erfi()
        width = arb.pi() / self.reach * slope - (1 - x * dawson) / self.reach**2 + self.rest
        return middle - width, middle + width

    def _smoothed(self) -> arb:
        """Return both integrals over (0, 1), from above on each cell.

        On the first |f - g|/u is largest at its end, and |K| <= 1/2 + 1/(2 pi w). Of the other integrand the
        factor of |g| is at most pi w/(6 (1 + w)), as 1/x - cot x <= (x/3)/(1 - w^2) for x = pi w.
        """
        t, pi = self.reach, arb.pi()
        ends = [arb(u) for u in self._ends()]
        far = [self._modulus(u) for u in ends]
        total = self._near(arb(0), ends[1]) * (1 / pi + ends[1] / t)
        for k, (left, right) in enumerate(pairwise(ends)):
            w, step = right / t, (right - left) / t
            normal = (-left * left / 2).exp() * (1 + (self.size * right**3 / 6) ** 2).sqrt()
            total += pi * w / (3 * (1 + w)) * normal * step
            if k > 0:
                apart = self._near(left, right).min(far[k].max(far[k + 1]) + normal)
                total += 2 * _kernel(left / t) * apart * step
        return total.upper()

    def _ends(self) -> list[float]:
        t = float(self.reach)
        bulk = min(t / 2, _ENDS)
        fine = [bulk * k / _FINE for k in range(_FINE + 1)]
        ratio = max((t - bulk) / bulk, 1.0) ** (1 / _BETWEEN)
        between = [bulk * ratio**k for k in range(1, _BETWEEN)] if ratio > 1 else []
        return sorted({u for u in (*fine, *between, *(t - v for v in fine)) if 0 <= u <= t})

    def _near(self, left: arb, right: arb) -> arb:
        """Bound |f - g| on a cell: log f = -u^2/2 - i s u^3/6 + r.

        |r| <= u^4 (sum E Y^4/24 + sum v^2/(8 (1 - v u^2/2))), of Taylor's remainders and |log(1 + z) - z| <=
        |z|^2/(2 - 2 |z|) with |z| <= v u^2/2; then |f - g| e^(u^2/2) <= e^|r| - 1 + (s u^3/6)^2/2.
        """
        room = 1 - self.largest * right**2 / 2
        if not room > 0:
            return arb.pos_inf()
        r = right**4 * (self.fourth / 24 + self.squares / (8 * room))
        return (-left * left / 2).exp() * (r.expm1() + (self.size * right**3 / 6) ** 2 / 2)

    def _modulus(self, u: arb) -> arb:
        """Bound |f(u)|, which falls up to one point and rises after it: log |f| <= -(1/2) sum (1 - |f_j|^2).

        1 - |f_j|^2 = E(1 - cos u W), W = Y - Y', E W^2 = 2 v, E|W|^3 <= 2 (E|Y|^3 + E|Y| v): with a cubic
        a x^2 - c |x|^3 below 1 - cos x half the sum is at least (a x^2 - c x^3)/K^2 at x = u K. Of 1/2 and
        ``_CUBIC`` that is one, and from ``_CORNER`` to 2 pi one touches at x (Prawitz 1975).
        """
        x = u * self.rugged
        fallen = u * u / 2 - arb(_CUBIC) * x * u * u
        if x >= arb(_CORNER):
            fallen = (1 - x.cos()) / self.rugged**2
        return (-fallen.max(arb(0))).exp()

    def _cut(self) -> arb:
        """Return what lies beyond T, and the integral of u^4/T^2 that ``over`` leaves out."""
        t, s = self.reach, self.size
        gauss, beyond = (-t * t / 2).exp(), (2 * arb.pi()).sqrt() * above(t)
        inversion = ((t * t / 2).expint(arb(1)) / 2 + s / 6 * (t * gauss + beyond)) / arb.pi()
        smoothing = (gauss + s / 6 * ((t**3 + 3 * t) * gauss + 3 * beyond)) / t**2
        return (inversion + smoothing + s * (arb.pi() / 2).sqrt() / (2 * t**2)).upper()


def _kernel(w: arb) -> arb:
    """Return |K(w)|, which falls on (0, 1)."""
    s = 1 - w
    return (s * s + (s * w.cot_pi() + 1 / arb.pi()) ** 2).sqrt() / 2
