"""E e^(zL) and delta of laws in balls, by the quadratures of the verifier, which are not the engines'."""

import math

import numpy as np
from flint import acb, arb, ctx

from tests.truth.atoms import PureDP
from tests.truth.operators import Product as Of
from tradeoff.pld.discrete import AtomicLaw, BinomialLaw, DiscreteGaussianLaw
from tradeoff.pld.transformed import MixturePLD, ReversedPLD, SubsampledPLD
from tradeoff.proofs.certify import describe_law
from tradeoff.proofs.verify.contour import Contour, Product, gather_nodes
from tradeoff.proofs.verify.laws import Atoms, read_law

BITS = 200
ACCURACY = 120
"""Bits of a moment: the quadratures err by 2^-120 of it."""

FAR = 1800
"""Bits that make the verifier list integer noise as far as fifty deviations, where tilts lead."""


def parts_of(law):
    """Return the parts of the law that the verifier integrates; atoms by what they stand for."""
    match law:
        case SubsampledPLD(base=base, p=p):
            return tuple(part.mapped(arb(1), 1 - arb(p), arb(p)) for part in parts_of(base))
        case ReversedPLD(base=base):
            return tuple(part.swapped() for part in parts_of(base))
        case MixturePLD(parts=pairs):
            return tuple(part.mapped(arb(w), arb(0), arb(w)) for w, one in pairs for part in parts_of(one))
        case BinomialLaw():
            pairs = Of(((PureDP(law.epsilon), law.n),)).law.pairs
            return (Atoms(*map(tuple, zip(*pairs, strict=True))),)
        case AtomicLaw() if not isinstance(law, DiscreteGaussianLaw):
            p = [arb(v).exp() for v in law.log_p.tolist()]
            q = [mass * arb(x).exp() for mass, x in zip(p, law.loss.tolist(), strict=True)]
            ends = [max(1 - sum(side), arb(0), key=lambda end: end > 1e-12) for side in (p, q)]
            return (Atoms((*p, ends[0], arb(0)), (*q, arb(0), ends[1])),)
    return read_law(describe_law(law))


class Moment:
    """rho(y) = E e^((c + iy) L)/E e^(cL) for 0 <= y <= ``highest``."""

    def __init__(self, law, c, highest):
        with ctx.workprec(FAR):
            parts = parts_of(law)
        with ctx.workprec(BITS):
            nodes = gather_nodes(parts, arb(c), highest, ACCURACY)
            self.terms, error = list(zip(nodes.weight, nodes.loss, strict=True)), arb(0, nodes.error)
            self.total, self.off = sum(nodes.weight, acb(0)).real + error, acb(error, error)

    def log_m(self):
        with ctx.workprec(BITS):
            return self.total.log()

    def log_rho(self, y, mean):
        """Return log(rho e^(-iy mean))."""
        with ctx.workprec(BITS):
            turned = ((acb(0, arb(y)) * (x - arb(mean))).exp() * w for w, x in self.terms)
            return (sum(turned, self.off) / self.total).log()

    def variance(self, mean):
        """Return E_c (L - mean)^2."""
        with ctx.workprec(BITS):
            return (sum((w * (x - arb(mean)) ** 2 for w, x in self.terms), acb(0)) / self.total).real


def nearest(number, other):
    """Return |number - other| with imaginary parts compared modulo 2 pi."""
    turn = number.imag - float(np.imag(other))
    turn -= 2 * arb.pi() * round(float(turn) / (2 * math.pi))
    return abs(acb(number.real - float(np.real(other)), turn))


def verified(law, count, x, bits):
    """Return the bounds of the verifier on delta next to x; it has its own contour."""
    with ctx.workprec(bits):
        product = Product([{"law": describe_law(law), "count": count}])
        return Contour(product, x, middle=False, count=2**13).bound
