"""Prawitz's smoothing inequality: how far a distribution function F can be from its expansion G.

For every T > 0 and every x (Prawitz 1972; for a point mass it is Beurling's majorant of a step)

    F(x) <= 1/2 + v.p. int_{-T}^{T} e^{-iux} K(u/T) f(u) du/T,
    K(w) = (1 - |w|)/2 + i/2 ((1 - |w|) cot(pi w) + sgn(w)/pi),

and F(x) is at least the same with the real part's sign turned. G has an inversion formula of its own, so |F -
G| is at most

    2 int_0^1 |K(w)| |f - g|(wT) dw + 2 int_0^1 |1/(2 pi w) - Im K(w)| |g(wT)| dw + int_T^inf |g(u)|/(pi u) du

and the integral of Re K against g, nearly pi/T times G's density: half a step of a lattice of span 2 pi/T.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import dawsn, exp1, ndtr

from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import sqrt, whole
from tradeoff.intervals.functions import total as summed
from tradeoff.intervals.rounding import UNIT, Array, down, up
from tradeoff.limits.moments import size
from tradeoff.limits.sums import Law, added, rough, variance

# cos x <= 1 - x^2/2 + 0.09916192 |x|^3 everywhere: the two sides touch at x = 3.99589... (Prawitz 1975).
_CORNER, _CUBIC = 3.9959, 0.09916192

_LONGEST = 1e9  # T at most: what is left of the error, of order 1/T, is then the rounding of the rest

_CELLS, _BETWEEN, _BULK = 4000, 400, 14.0  # cells where e^(-u^2/2) is not 0, beyond, and where that ends

# Of 1 - v u^2/2 and of r in ``_near``: nearer to 0 digits are lost, and farther on |f| is the better bound.
_ROOM, _GROWN = 1e-3, 600.0
_ROUNDED = 1 + 1e-9  # above the rounding of positive integrands known to 1e-10, as r < 600 is to 1e-13
_FAR = 1e100  # a point from which on nothing changes by 1e-199, and whose powers are floats
_SIXTH_PHI = 0.07  # above phi(0)/6


@dataclass(frozen=True)
class Expansion:
    """G(x) = Phi(x) + skewness/6 (1 - x^2) phi(x) of a standardised sum, with |F - G| <= ``width``.

    ``reach`` is T of the smoothing inequality, ``rest`` what of the error does not depend on x, of order 1/n.
    """

    skewness: float
    reach: float
    rest: float

    def cdf(self, x: Array) -> Array:
        """Return G(x)."""
        x = np.clip(x, -_FAR, _FAR)
        return np.asarray(ndtr(x) + self.skewness / 6 * (1 - x * x) * _density(x))

    def width(self, x: Array) -> Array:
        """Return int_0^inf (1 - u/T) cos(ux) e^(-u^2/2) du/T with its skewness, and the rest."""
        x = np.clip(x, -_FAR, _FAR)
        slope = _density(x) * (1 + self.skewness / 6 * (x**3 - 3 * x))
        cut = (1 - math.sqrt(2) * x * dawsn(x / math.sqrt(2))) / self.reach**2
        return np.asarray(math.pi / self.reach * slope - cut + self.rest)

    def probability(self, x: Bounds) -> Bounds:
        """Bound F, and G with its width to both sides, at a point that is known to lie between two."""
        middle = (x.lower + x.upper) / 2
        doubt = size(x - middle)
        # The terms of G and of its width are at most 4 + |skewness|, each known to 16 units.
        slack = self.steepness * doubt + 64 * UNIT * (1 + abs(self.skewness))
        value, width = self.cdf(middle), self.width(middle) + slack
        return Bounds(down(value - width), up(value + width))

    @property
    def steepness(self) -> float:
        """Return a bound on |(G + width)'| and |(G - width)'|: |He_3 phi| <= 0.56, |(u e^{-u^2/2})^| <= 1."""
        s = abs(self.skewness)
        return 0.4 + 0.1 * s + (1.0 + 0.7 * s) / self.reach + 1.3 / self.reach**2

    @property
    def bend(self) -> float:
        """Bound the second derivatives of G + width and G - width: |He_1 phi| <= 0.25, |He_4 phi| <= 1.2."""
        s = abs(self.skewness)
        return 0.25 + 0.2 * s + (1.3 + 1.4 * s) / self.reach + 2 / self.reach**2


def expansion(law: Law) -> Expansion:
    """Bound the distance of a sum from its first Edgeworth expansion by moments of order four.

    Derumigny, Girard, Guyonvarch 2024, Theorem 2.1, with its integrals added up for the sum at hand instead
    of bounded in closed form, and with E|X| <= sd in its third moment K = sum (E|X|^3 + E|X| E X^2)/B^3.
    """
    moving = rough(law)
    if not moving:
        return Expansion(0.0, math.inf, 0.0)
    total = variance(law)
    cube = total * sqrt(total)
    skewness = added(moving, "cumulant3") / cube
    mild = summed(whole(n) * (m.variance * sqrt(m.variance)) for m, n in moving)
    sizes = [(m.variance / total, n) for m, n in moving]
    middle = (skewness.lower + skewness.upper) / 2
    doubt = size(skewness - middle)
    rest = _Rest(
        size(skewness),
        (added(moving, "fourth") / total**2).upper,
        summed(whole(n) * v**2 for v, n in sizes).upper,
        max(v.upper for v, _ in sizes),
        ((added(moving, "third") + mild) / cube).upper,
    )
    # A skewness off by d moves G by at most d/6 phi(0), and half a lattice step by less than d/T.
    return Expansion(middle, rest.reach, rest() + doubt * (_SIXTH_PHI + 1 / rest.reach))


@dataclass(frozen=True)
class _Rest:
    """The error's part without x, from |skewness|, sum E Y^4, sum v^2, max v of the summands Y, and K."""

    skewness: float
    fourth: float
    squares: float
    largest: float
    rugged: float

    @property
    def reach(self) -> float:
        """Return T: to 2 pi/K the third moments bound the characteristic function away from 1."""
        return min(2 * math.pi / self.rugged, _LONGEST)

    def __call__(self) -> float:
        """Add the integrals up: on a cell each factor is monotone, so at most its value at one end."""
        left, right = self._cells()
        w, step = left / self.reach, (right - left) / self.reach
        normal = np.exp(-left * left / 2) * np.hypot(1.0, self.skewness * right**3 / 6)
        # log|f| falls to one point of (0, 2 pi/K) and rises after it.
        far = np.maximum(self._modulus(left), self._modulus(right))
        apart = np.minimum(self._near(left, right), far + normal)
        # On the first cell |K| <= 1/2 + 1/(2 pi w), and the bound for small u grows faster than u.
        first = self._near(np.zeros(1), right[:1])[0] * (1 / math.pi + step[0])
        smooth = 2 * np.sum(_kernel(w[1:]) * apart[1:] * step[1:])
        # 1/(2 pi w) - Im K = (1 - w)/2 (1/x - cot x) with x = pi w, and 1/x - cot x <= (x/3)/(1 - w^2).
        high = right / self.reach
        bent = 2 * np.sum(math.pi * high / (6 * (1 + high)) * normal * step)
        return float((first + smooth + bent + self._tails()) * _ROUNDED) + 64 * UNIT

    def _cells(self) -> tuple[Array, Array]:
        bulk = min(self.reach / 2, _BULK)
        fine = np.linspace(0.0, bulk, _CELLS)
        between = np.geomspace(bulk, max(self.reach - bulk, bulk), _BETWEEN)
        u = np.clip(np.unique(np.concatenate([fine, between, self.reach - fine])), 0.0, self.reach)
        return u[:-1], u[1:]

    def _near(self, left: Array, right: Array) -> Array:
        """Bound |f - g| for small u: log f = -u^2/2 - i s u^3/6 + r.

        By Taylor, |f_j - 1| <= v u^2/2 and |log(1 + z) - z| <= |z|^2/(2 - 2 |z|), so that |f - g| e^(u^2/2)
        <= (e^|r| - 1) + (s u^3)^2/72 with |r| <= u^4 (sum E Y^4/24 + sum v^2/(8 (1 - v u^2/2))).
        """
        room = 1 - self.largest * right**2 / 2
        with np.errstate(over="ignore", invalid="ignore"):  # moments that no float holds tell nothing
            r = right**4 * (self.fourth / 24 + self.squares / (8 * np.maximum(room, _ROOM)))
            told = (room > _ROOM) & (r < _GROWN)
            grown = np.expm1(np.where(told, r, 0.0)) + (self.skewness * right**3) ** 2 / 72
            apart = np.exp(-left * left / 2) * grown
        return np.where(told & (apart < np.inf), apart, np.inf)

    def _modulus(self, u: Array) -> Array:
        """Bound |f(u)| up to 2 pi/K (Prawitz 1975; Derumigny, Girard, Guyonvarch 2024, Lemma on |f|).

        1 - |f_j|^2 = E[1 - cos(u W)] with W = Y - Y', E W^2 = 2 v, E|W|^3 <= 2 (E|Y|^3 + E|Y| v). A cubic
        A x^2 - C|x|^3 below 1 - cos x gives the sum: it touches at x = u K, or at 3.99... before that.
        """
        x = u * self.rugged
        early = u * u / 2 - _CUBIC * self.rugged * u**3
        late = (1 - np.cos(np.minimum(x, 2 * math.pi))) / self.rugged**2
        return np.asarray(np.exp(-np.maximum(np.where(x < _CORNER, early, late), 0.0)))

    def _tails(self) -> float:
        """Return what lies beyond T, of g's inversion formula and of the integrals in ``width``."""
        t, s = self.reach, self.skewness
        gauss, beyond = math.exp(-t * t / 2), math.sqrt(2 * math.pi) * float(ndtr(-t))
        inversion = (float(exp1(t * t / 2)) / 2 + s / 6 * (t * gauss + beyond)) / math.pi
        cut = (gauss + s / 6 * ((t**3 + 3 * t) * gauss + 3 * beyond)) / t**2
        return inversion + cut + s * math.sqrt(math.pi / 2) / (2 * t**2)


def _kernel(w: Array) -> Array:
    """Return |K(w)|, decreasing on (0, 1) as both of its parts are: x >= sin x cos x at x = pi (1 - w)."""
    s = 1 - w
    with np.errstate(divide="ignore", invalid="ignore"):
        cotangent = np.where(w < 1 / 2, s / np.tan(math.pi * w), -s / np.tan(math.pi * s))
    return np.asarray(np.hypot(s, cotangent + 1 / math.pi) / 2)


def _density(x: Array) -> Array:
    return np.asarray(np.exp(-x * x / 2) / math.sqrt(2 * math.pi))
