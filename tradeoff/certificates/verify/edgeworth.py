"""How far a sum of losses is from its first Edgeworth expansion, in balls.

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

from itertools import pairwise
from typing import NamedTuple

from flint import arb

from tradeoff.certificates.verify.balls import Pair, above

SOURCE = "the smoothing of Prawitz 1972 and 1975, with the moments of Derumigny, Girard, Guyonvarch 2024"

# cos x <= 1 - x^2/2 + 0.09916192 |x|^3 everywhere; a cubic that touches later is below as well.
_CORNER, _CUBIC = "3.9959", "0.09916192"

_LONGEST = 1e9  # T at most: what is left of the error, of order 1/T, is then nothing

# Standard deviations that are cut finely, at either end, and cells of these and between them.
_BULK, _FINE, _BETWEEN = 14.0, 5000, 500


class Moments(NamedTuple):
    """Of the summands that are not normal: the sum's skewness, sum E Y^4, sum v^2, the largest v, and K.

    Y are losses over the sum's deviation, v their variances, K = sum E|Y|^3 + sd(Y) v.
    """

    skewness: arb
    fourth: arb
    squares: arb
    largest: arb
    rugged: arb


class Expansion:
    """G and its error."""

    def __init__(self, moments: Moments) -> None:
        self.moments, self.size = moments, abs(moments.skewness).upper()
        # Any T serves that is at most 2 pi/K.
        self.reach = arb(min(0.999999 * 2 * 3.14159265 / float(moments.rugged.upper()), _LONGEST))
        self.rest = self._smoothed() + self._cut()

    def over(self, x: arb) -> Pair:
        """Bound what the sum has above x standard deviations, from below and from above."""
        s, density = self.moments.skewness, (-x * x / 2).exp() / (2 * arb.pi()).sqrt()
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
        bulk = min(t / 2, _BULK)
        fine = [bulk * k / _FINE for k in range(_FINE + 1)]
        ratio = max((t - bulk) / bulk, 1.0) ** (1 / _BETWEEN)
        between = [bulk * ratio**k for k in range(1, _BETWEEN)] if ratio > 1 else []
        return sorted({u for u in (*fine, *between, *(t - v for v in fine)) if 0 <= u <= t})

    def _near(self, left: arb, right: arb) -> arb:
        """Bound |f - g| on a cell: log f = -u^2/2 - i s u^3/6 + r.

        |r| <= u^4 (sum E Y^4/24 + sum v^2/(8 (1 - v u^2/2))), of Taylor's remainders and |log(1 + z) - z| <=
        |z|^2/(2 - 2 |z|) with |z| <= v u^2/2; then |f - g| e^(u^2/2) <= e^|r| - 1 + (s u^3/6)^2/2.
        """
        room = 1 - self.moments.largest * right**2 / 2
        if not room > 0:
            return arb.pos_inf()
        r = right**4 * (self.moments.fourth / 24 + self.moments.squares / (8 * room))
        return (-left * left / 2).exp() * (r.expm1() + (self.size * right**3 / 6) ** 2 / 2)

    def _modulus(self, u: arb) -> arb:
        """Bound |f(u)|, which falls up to one point and rises after it: log |f| <= -(1/2) sum (1 - |f_j|^2).

        1 - |f_j|^2 = E(1 - cos u W), W = Y - Y', E W^2 = 2 v, E|W|^3 <= 2 (E|Y|^3 + E|Y| v): with a cubic
        a x^2 - c |x|^3 below 1 - cos x half the sum is at least (a x^2 - c x^3)/K^2 at x = u K. Of 1/2 and
        ``_CUBIC`` that is one, and from ``_CORNER`` to 2 pi one touches at x (Prawitz 1975).
        """
        x = u * self.moments.rugged
        fallen = u * u / 2 - arb(_CUBIC) * x * u * u
        if x >= arb(_CORNER):
            fallen = (1 - x.cos()) / self.moments.rugged**2
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
