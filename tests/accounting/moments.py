"""E_P e^(zL) of any law in mpmath: atoms, and trapezoid and Gauss-Legendre rules in 40 digits."""

import functools
import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import mpmath as mp
import numpy as np

from tradeoff.pld.discrete import AtomicLaw, BinomialLaw, DiscreteGaussianLaw
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.shifts import LaplaceLaw
from tradeoff.pld.transformed import MixturePLD, ReversedPLD, SubsampledPLD

DIGITS = 40
_NATS = 85.0
"""The trapezoid rule errs by e^-85 of the largest integral in its strip."""

Point = tuple[mp.mpf, mp.mpf]
"""A loss, and the logarithm of its P-mass."""


@functools.cache
def gauss_legendre(size):
    """Nodes and weights on (-1, 1), Newton from the double-precision ones."""
    result = []
    with mp.workdps(DIGITS + 15):
        for start in np.polynomial.legendre.leggauss(size)[0]:
            x = mp.mpf(float(start))
            for _ in range(3):
                low, high = mp.mpf(1), x
                for k in range(2, size + 1):
                    low, high = high, ((2 * k - 1) * x * high - (k - 1) * low) / k
                slope = size * (x * high - low) / (x * x - 1)
                x -= high / slope
            result.append((x, 2 / ((1 - x * x) * slope**2)))
    return result


class Part(NamedTuple):
    """A smooth part: losses and log P-density over the base's, as functions of the base loss."""

    kind: Literal["gaussian", "laplace"]
    size: float
    loss: Callable[[mp.mpf], mp.mpf]
    log_p: Callable[[mp.mpf], mp.mpf]


class Whole(NamedTuple):
    """All of a law under P: atoms, smooth parts, and the masses at minus and plus infinity (under Q)."""

    atoms: list[Point]
    parts: list[Part]
    mass_at_minus_infinity: mp.mpf
    mass_at_plus_infinity: mp.mpf


def whole(law):  # noqa: PLR0911 - one return a law
    """Take a law apart, in the working precision."""
    zero = mp.mpf(0)
    match law:
        case GaussianLaw(mu):
            return Whole([], [Part("gaussian", mu, lambda x: x, lambda _: zero)], zero, zero)
        case LaplaceLaw(epsilon):
            e = mp.mpf(epsilon)
            ends = [(-e, -mp.log(2)), (e, -mp.log(2) - e)]
            return Whole(ends, [Part("laplace", epsilon, lambda x: x, lambda _: zero)], zero, zero)
        case SubsampledPLD(base=base, p=rate):
            return _thinned(whole(base), mp.mpf(rate))
        case ReversedPLD(base=base):
            return _reversed(whole(base))
        case MixturePLD(parts=pairs):
            return _mixed([(mp.mpf(weight), whole(part)) for weight, part in pairs])
        case BinomialLaw():
            e, n = mp.mpf(law.epsilon), law.n
            above, below = mp.log1p(mp.exp(e)), mp.log1p(mp.exp(-e))
            masses = (mp.log(mp.binomial(n, k)) - k * above - (n - k) * below for k in range(n + 1))
            return Whole([((2 * k - n) * e, v) for k, v in enumerate(masses)], [], zero, zero)
        case DiscreteGaussianLaw():
            return Whole(_discrete(mp.mpf(law.sigma), law.shift), [], zero, zero)
        case AtomicLaw():
            atoms = [(mp.mpf(float(x)), mp.mpf(float(v))) for x, v in zip(law.loss, law.log_p, strict=True)]
            return Whole(atoms, [], _rest(atoms, 0), _rest(atoms, 1))
    raise NotImplementedError(repr(law))


def _rest(atoms, tilt):
    with mp.workdps(DIGITS + 40):
        rest = 1 - mp.fsum(mp.exp(v + tilt * x) for x, v in atoms)
        return rest if rest > mp.mpf(10) ** -DIGITS else mp.mpf(0)


def _discrete(sigma, shift):
    reach = int(50 * sigma) + 25 * shift
    log_p = {x: -(mp.mpf(x) ** 2) / (2 * sigma**2) for x in range(-reach, reach + 1)}
    log_total = mp.log(mp.fsum(map(mp.exp, log_p.values())))
    return [(shift * (x - mp.mpf(shift) / 2) / sigma**2, v - log_total) for x, v in log_p.items()]


def _thinned(base, rate):
    def thin(x):
        return mp.log1p(rate * mp.expm1(x))

    rest = base.mass_at_minus_infinity
    lost = [(mp.log1p(-rate), mp.log(rest))] if rest > 0 and rate < 1 else []
    parts = [part._replace(loss=lambda x, of=part.loss: thin(of(x))) for part in base.parts]
    ends = rest if rate == 1 else mp.mpf(0), rate * base.mass_at_plus_infinity
    return Whole([(thin(x), v) for x, v in base.atoms] + lost, parts, *ends)


def _reversed(base):
    parts = [
        Part(part.kind, part.size, lambda x, p=part: -p.loss(x), lambda x, p=part: p.log_p(x) + p.loss(x))
        for part in base.parts
    ]
    ends = base.mass_at_plus_infinity, base.mass_at_minus_infinity
    return Whole([(-x, v + x) for x, v in base.atoms], parts, *ends)


def _mixed(pairs):
    atoms = [(x, v + mp.log(w)) for w, one in pairs for x, v in one.atoms]
    parts = [
        part._replace(log_p=lambda x, part=part, w=w: part.log_p(x) + mp.log(w))
        for w, one in pairs
        for part in one.parts
    ]
    ends = [mp.fsum(w * getattr(one, end) for w, one in pairs) for end in Whole._fields[2:]]
    return Whole(atoms, parts, *ends)


class Moment:
    """rho(y) = E e^((c + iy) L)/E e^(cL) for |y| up to ``highest``."""

    def __init__(self, law, c, highest):
        with mp.workdps(DIGITS):
            taken = whole(law)
            self.c = mp.mpf(c)
            points = [*taken.atoms]
            for part in taken.parts:
                points += (_trapezoid if part.kind == "gaussian" else _legendre)(part, c, highest)
            self.terms = [(x, mp.exp(v + self.c * x)) for x, v in points]
            self.total = mp.fsum(w for _, w in self.terms)

    def log_m(self):
        with mp.workdps(DIGITS):
            return mp.log(self.total)

    def log_rho(self, y, mean):
        """Return log(rho e^(-iy mean))."""
        with mp.workdps(DIGITS):
            turned = (w * mp.expj(mp.mpf(y) * (x - mp.mpf(mean))) for x, w in self.terms)
            return mp.log(mp.fsum(turned) / self.total)

    def variance(self, mean):
        """Return E_c (L - mean)^2."""
        with mp.workdps(DIGITS):
            return mp.fsum(w * (x - mp.mpf(mean)) ** 2 for x, w in self.terms) / self.total


def _trapezoid(part, c, highest):
    mu, nats = part.size, _NATS
    a = min(math.sqrt(2 * nats), 2.0 / mu)
    strip = math.cos(mu * a / 2) if mu * a < math.pi else 0.5
    h = mp.mpf(2 * math.pi * a / (nats + a * a / 2 + highest * mu * a - (2 * abs(c) + 2) * math.log(strip)))
    reach = mu * (abs(c) + 1) + math.sqrt(2 * nats) + 2
    m, last, density = mp.mpf(mu), int(reach / h), mp.log(h / mp.sqrt(2 * mp.pi))
    result = []
    for x in (j * h for j in range(-last, last + 1)):
        base = m * x - m * m / 2
        result.append((part.loss(base), part.log_p(base) - x**2 / 2 + density))
    top, most = max(v + c * x for x, v in result), max(v for _, v in result)
    return [(x, v) for x, v in result if v + c * x > top - 1.2 * nats or v > most - 1.2 * nats]


def _legendre(part, c, highest):
    e = mp.mpf(part.size)
    panels = math.ceil(part.size * max((highest + 4 + 6 * abs(c)) / 5, 2.0))
    r = e / panels
    result = []
    for k in range(panels):
        for node, weight in gauss_legendre(40):
            base = -e + r * (2 * k + 1 + node)
            result.append((part.loss(base), part.log_p(base) - (base + e) / 2 + mp.log(weight * r / 4)))
    return result


def nearest(number, other):
    """Return |number - other| with imaginary parts compared modulo 2 pi."""
    with mp.workdps(DIGITS):
        turn = number.imag - mp.mpf(float(np.imag(other)))
        turn -= 2 * mp.pi * mp.nint(turn / (2 * mp.pi))
        return float(abs(mp.mpc(number.real - mp.mpf(float(np.real(other))), turn)))
