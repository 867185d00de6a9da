"""E_P e^(zL) of any law in balls: atoms, and trapezoid and Gauss-Legendre rules that err by some e^-85."""

import functools
import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from flint import acb, arb, ctx

from tests.truth.balls import ball
from tradeoff.pld.discrete import AtomicLaw, BinomialLaw, DiscreteGaussianLaw
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.shifts import LaplaceLaw
from tradeoff.pld.transformed import MixturePLD, ReversedPLD, SubsampledPLD

BITS = 200
_NATS = 85.0
"""The trapezoid rule errs by e^-85 of the largest integral in its strip."""

NEGLIGIBLE = arb(10) ** -40
"""Mass at infinity that is taken for a rounding of the others."""

Point = tuple[arb, arb]
"""A loss, and the logarithm of its P-mass."""


@functools.cache
def gauss_legendre(size):
    """Return rising nodes on (-1, 1), each with its weight."""
    with ctx.workprec(BITS):
        return [arb.legendre_p_root(size, size - k, weight=True) for k in range(1, size + 1)]


class Part(NamedTuple):
    """A smooth part: losses and log P-density over the base's, as functions of the base loss."""

    kind: Literal["gaussian", "laplace"]
    size: float
    loss: Callable[[arb], arb]
    log_p: Callable[[arb], arb]


class Whole(NamedTuple):
    """All of a law under P: atoms, smooth parts, and the masses at minus and plus infinity (under Q)."""

    atoms: list[Point]
    parts: list[Part]
    mass_at_minus_infinity: arb
    mass_at_plus_infinity: arb


def whole(law):  # noqa: PLR0911 - one return a law
    """Take a law apart, in the working precision."""
    match law:
        case GaussianLaw(mu):
            return Whole([], [Part("gaussian", mu, lambda x: x, lambda _: 0)], arb(0), arb(0))
        case LaplaceLaw(epsilon):
            e, half = arb(epsilon), -arb(2).log()
            part = Part("laplace", epsilon, lambda x: x, lambda _: 0)
            return Whole([(-e, half), (e, half - e)], [part], arb(0), arb(0))
        case SubsampledPLD(base=base, p=rate):
            return _thinned(whole(base), arb(rate))
        case ReversedPLD(base=base):
            return _reversed(whole(base))
        case MixturePLD(parts=pairs):
            return _mixed([(arb(weight), whole(part)) for weight, part in pairs])
        case BinomialLaw():
            e, n = arb(law.epsilon), law.n
            above, below = e.exp().log1p(), (-e).exp().log1p()
            ways = (arb(math.comb(n, k)).log() - k * above - (n - k) * below for k in range(n + 1))
            return Whole([((2 * k - n) * e, v) for k, v in enumerate(ways)], [], arb(0), arb(0))
        case DiscreteGaussianLaw():
            return Whole(_discrete(ball(law.sigma), law.shift), [], arb(0), arb(0))
        case AtomicLaw():
            atoms = [(arb(x), arb(v)) for x, v in zip(law.loss.tolist(), law.log_p.tolist(), strict=True)]
            return Whole(atoms, [], _rest(atoms, 0), _rest(atoms, 1))
    raise NotImplementedError(repr(law))


def _rest(atoms, tilt):
    with ctx.workprec(2 * BITS):
        rest = 1 - sum((v + tilt * x).exp() for x, v in atoms)
        return rest if rest > NEGLIGIBLE else arb(0)


def _discrete(sigma, shift):
    reach = int(50 * float(sigma)) + 25 * shift
    log_p = {x: -(arb(x) ** 2) / (2 * sigma**2) for x in range(-reach, reach + 1)}
    log_total = sum(v.exp() for v in log_p.values()).log()
    return [(shift * (x - arb(shift) / 2) / sigma**2, v - log_total) for x, v in log_p.items()]


def _thinned(base, rate):
    def thin(x):
        return (rate * x.expm1()).log1p()

    rest = base.mass_at_minus_infinity
    lost = [((-rate).log1p(), rest.log())] if rest > 0 and rate < 1 else []
    parts = [part._replace(loss=lambda x, of=part.loss: thin(of(x))) for part in base.parts]
    ends = rest if rate == 1 else arb(0), rate * base.mass_at_plus_infinity
    return Whole([(thin(x), v) for x, v in base.atoms] + lost, parts, *ends)


def _reversed(base):
    parts = [
        Part(part.kind, part.size, lambda x, p=part: -p.loss(x), lambda x, p=part: p.log_p(x) + p.loss(x))
        for part in base.parts
    ]
    ends = base.mass_at_plus_infinity, base.mass_at_minus_infinity
    return Whole([(-x, v + x) for x, v in base.atoms], parts, *ends)


def _mixed(pairs):
    atoms = [(x, v + w.log()) for w, one in pairs for x, v in one.atoms]
    parts = [
        part._replace(log_p=lambda x, part=part, w=w: part.log_p(x) + w.log())
        for w, one in pairs
        for part in one.parts
    ]
    ends = [sum(w * getattr(one, end) for w, one in pairs) for end in Whole._fields[2:]]
    return Whole(atoms, parts, *ends)


class Moment:
    """rho(y) = E e^((c + iy) L)/E e^(cL) for |y| up to ``highest``."""

    def __init__(self, law, c, highest):
        with ctx.workprec(BITS):
            taken = whole(law)
            points = [*taken.atoms]
            for part in taken.parts:
                points += (_trapezoid if part.kind == "gaussian" else _legendre)(part, c, highest)
            self.terms = [(x, (v + c * x).exp()) for x, v in points]
            self.total = sum(w for _, w in self.terms)

    def log_m(self):
        with ctx.workprec(BITS):
            return self.total.log()

    def log_rho(self, y, mean):
        """Return log(rho e^(-iy mean))."""
        with ctx.workprec(BITS):
            turned = (acb(0, arb(y) * (x - mean)).exp() * w for x, w in self.terms)
            return (sum(turned) / self.total).log()

    def variance(self, mean):
        """Return E_c (L - mean)^2."""
        with ctx.workprec(BITS):
            return sum(w * (x - mean) ** 2 for x, w in self.terms) / self.total


def _trapezoid(part, c, highest):
    mu, nats = part.size, _NATS
    a = min(math.sqrt(2 * nats), 2.0 / mu)
    strip = math.cos(mu * a / 2) if mu * a < math.pi else 0.5
    h = arb(2 * math.pi * a / (nats + a * a / 2 + highest * mu * a - (2 * abs(c) + 2) * math.log(strip)))
    reach = mu * (abs(c) + 1) + math.sqrt(2 * nats) + 2
    m, last, density = arb(mu), int(reach / float(h)), (h / (2 * arb.pi()).sqrt()).log()
    result = []
    for x in (j * h for j in range(-last, last + 1)):
        base = m * x - m * m / 2
        result.append((part.loss(base), part.log_p(base) - x * x / 2 + density))
    size = [(float(v), float(v + c * x)) for x, v in result]
    most, top = (max(each) - 1.2 * nats for each in zip(*size, strict=True))
    return [point for point, (v, tilted) in zip(result, size, strict=True) if v > most or tilted > top]


def _legendre(part, c, highest):
    e = arb(part.size)
    panels = math.ceil(part.size * max((highest + 4 + 6 * abs(c)) / 5, 2.0))
    r = e / panels
    result = []
    for k in range(panels):
        for node, weight in gauss_legendre(40):
            base = -e + r * (2 * k + 1 + node)
            result.append((part.loss(base), part.log_p(base) - (base + e) / 2 + (weight * r / 4).log()))
    return result


def nearest(number, other):
    """Return |number - other| with imaginary parts compared modulo 2 pi."""
    turn = number.imag - float(np.imag(other))
    turn -= 2 * arb.pi() * round(float(turn) / (2 * math.pi))
    return abs(acb(number.real - float(np.real(other)), turn))
