"""delta and beta of many rounds by Berry and Esseen's theorem, from moments of their losses in balls.

Given that it is finite, the loss S of the product is under P within gamma_P of a normal law at every t, as

    |P(S <= t) - Phi((t - E S)/sd S)| <= 0.56 sum E|L_j - E L_j|^3/(sd S)^3

(Shevtsova 2010), and for n identical rounds with rho = E|L - E L|^3/sd^3 also within a (rho + b)/sqrt(n) for
the pairs of ``IDENTICAL`` (Shevtsova 2013); so under Q. Rounds that are normal cost nothing: they are sums of
ever narrower ones, and move no two distributions apart. The test S > t is the best at its level, which gives
beta, and S > x the best for slope -e^x, which gives delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from flint import acb, arb

from tradeoff.certificates.description import Description
from tradeoff.certificates.verify.balls import above
from tradeoff.certificates.verify.laws import Law, at_infinity, law, real
from tradeoff.certificates.verify.parts import MOST, Atoms, Bell, Comb, Density, Part, Slab
from tradeoff.certificates.verify.report import require
from tradeoff.certificates.verify.shifts import Shift

INDEPENDENT, IDENTICAL = "0.56", (("0.4690", "0"), ("0.3322", "0.429"), ("0.3031", "0.646"))
SOURCE = "Berry and Esseen's theorem, with the constants of Shevtsova 2010 and 2013"

_CLOSE = arb(2) ** -80
"""Absolute error of an integral that ends its refinement; it is part of the ball."""

_REACH = 13
"""Deviations after which e^-84 of a normal law is left: integrals along the line end there, and twice a mean
away."""

Function = Callable[[acb, bool], acb]


class Sum(NamedTuple):
    """Of the finite loss under one law: what its mass is, mean and deviation, and how far from normal."""

    kept: arb
    mean: arb
    sd: arb
    gamma: arb

    def over(self, t: arb) -> arb:
        """Return what a normal law has above t."""
        return above((t - self.mean) / self.sd)

    def where(self, tail: arb) -> arb:
        """Return the t that such a law exceeds with this probability in (0, 1)."""
        return self.mean - self.sd * arb(2).sqrt() * (2 * tail - 1).erfinv()


class Normal:
    """A product by its two sums."""

    def __init__(self, factors: Sequence[Description]) -> None:
        self.p, self.q = (_summed(factors, side) for side in (0, 1))

    def delta(self, x: float) -> tuple[arb, arb]:
        """Bound delta(x) = Q(S > x) - e^x P(S > x): from below by any threshold, from above by that one."""
        slope = arb(x).exp()
        low = (1 - slope).max(1 - self.q.kept)
        for t in (arb(x), self._crossing(x)):
            low = low.max(self._gain(t, slope, -1))
        return low, self._gain(arb(x), slope, 1)

    def _gain(self, t: arb, slope: arb, side: int) -> arb:
        """Bound Q(S > t) - slope P(S > t), from above (1) or below (-1)."""
        p, q = self.p, self.q
        detected, false = (
            (each.over(t) + sign * each.gamma).max(arb(0)).min(arb(1))
            for each, sign in ((q, side), (p, -side))
        )
        return 1 - q.kept + q.kept * detected - slope * p.kept * false

    def beta(self, alpha: float) -> tuple[arb, arb]:
        """Bound f(alpha), by tests whose levels are surely at least alpha, and surely at most."""
        p, q, level = self.p, self.q, alpha / self.p.kept
        low, high = arb(0), arb(0) if level >= 1 else 1 - arb(alpha)
        if 0 < level + p.gamma < 1:
            accepted = 1 - q.over(p.where(level + p.gamma)) - q.gamma
            low = low.max(q.kept * accepted)
        if 0 < level - p.gamma < 1:
            accepted = 1 - q.over(p.where(level - p.gamma)) + q.gamma
            high = high.min(q.kept * accepted)
        return low, high

    def _crossing(self, x: float) -> arb:
        """Return a t where the normal densities have the ratio e^x, about, or x."""
        (a, s), (b, r) = ((float(each.mean), float(each.sd)) for each in (self.p, self.q))
        goal = x + float((self.p.kept / self.q.kept).log()) + math.log(r / s)
        # ((t - a)/s)^2 - ((t - b)/r)^2 = 2 goal: with u = t - a, bend u^2 + 2 (b - a)/r^2 u = level
        bend, half, level = 1 / s**2 - 1 / r**2, (b - a) / r**2, 2 * goal + ((b - a) / r) ** 2
        inside = half**2 + bend * level
        return arb(a + level / (half + math.sqrt(inside))) if inside >= 0 < half else arb(x)


def _summed(factors: Sequence[Description], side: int) -> Sum:
    """Add the moments of all rounds up."""
    kept, mean, variance, third, rough = arb(1), arb(0), arb(0), arb(0), []
    for factor in factors:
        what, n = factor["law"], factor["count"]
        same = what["base"] if what["kind"] == "reversed" else what
        if same["kind"] == "gaussian":
            square = real(same["mu"], "mu", 0.0) ** 2
            mean, variance = mean + (n * square / 2 if side else -n * square / 2), variance + n * square
            continue
        parts = law(what)
        finite = 1 - at_infinity(parts, side)
        one, two, three = _moments(parts, side, finite)
        kept, mean, variance, third = kept * finite**n, mean + n * one, variance + n * two, third + n * three
        if not three.is_zero():
            rough.append((n, three / (two * two.sqrt())))
    require("factors", variance > 0, "losses that do not vary have no central limit")
    gamma = arb(INDEPENDENT) * third / (variance * variance.sqrt())
    if len(rough) == 1:
        [(n, rho)] = rough
        for a, b in IDENTICAL:
            gamma = gamma.min(arb(a) * (rho + arb(b)) / arb(n).sqrt())
    return Sum(kept, mean, variance.sqrt(), gamma)


def _moments(parts: Law, side: int, mass: arb) -> tuple[arb, arb, arb]:
    """Return E L, E (L - E L)^2 and E|L - E L|^3 of the finite losses.

    About m near the mean, off by d: |(x + d)^2 - x^2| and |x + d|^3 - |x|^3 are at most 6 |d| (x^2 + 1) in
    size for |d| < 1/6.
    """

    def expected(value: Function, centre: arb) -> arb:
        return sum((_expected(part, side, value, centre) for part in parts), arb(0)) / mass

    mean = expected(lambda loss, _: loss, arb(0))
    listed = [part.finite()[1] for part in parts if isinstance(part, Atoms)]
    if len(listed) == len(parts) and sum(map(len, listed)) < 2:
        return mean, arb(0), arb(0)
    m = mean.mid()
    square = expected(lambda loss, _: (loss - m) ** 2, m)
    cube = expected(lambda loss, analytic: (loss - m).real_abs(analytic=analytic) ** 3, m)
    d = abs(mean - m).upper()
    require("laws", d < 0.1, "a mean is not known")
    unsure = (6 * d * (square + 1)).upper() * arb(0, 1)
    return mean, square + unsure, cube + unsure


def _expected(part: Part, side: int, value: Function, centre: arb) -> arb:
    """Return the integral over a part of a function of L, at most 1 + |L - centre|^3 in size."""
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
    times that of mean 0. Of (A + B x)^3 e^(M x - x^2/2) the logarithm falls from R on at least at the rate
    r = R - M - 3 B/(A + B R).
    """
    m = abs(part.means[0]).max(abs(part.means[-1]))
    weights = [w for each in (part.p, part.q) for w in each if not w.is_zero()]
    a, b = 1 + m * m + abs(centre) - sum((w.log() for w in weights), arb(0)), 2 * m
    reach = _REACH + 2 * m
    fall = reach - m - 3 * b / (a + b * reach)
    height = (a + b * reach) ** 3 * (m * reach + part.logs(reach)[1]).exp()
    width = -(-fall * part.step).expm1() if isinstance(part, Comb) else fall
    require("laws", width > 0, "an integral ends too early")
    return reach, (2 * height / width).upper() * arb(0, 1)
