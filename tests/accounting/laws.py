"""Laws of L for the library, and by P(L > t) and Q(L > t) in balls, with strategies that draw them."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from flint import arb, ctx
from hypothesis import strategies as st

from tests.strategies import log_uniform
from tests.truth.balls import cumulative
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.shifts import BoundedRangeLaw, LaplaceLaw
from tradeoff.pld.transformed import MixturePLD, ReversedPLD, SubsampledPLD

BITS = 1400
"""Bits of numbers that are computed once."""


@dataclass(frozen=True)
class Truth:
    """P(L > t), Q(L > t), P(L = -inf), and the finite losses that carry atoms."""

    p_above: Callable[[arb], arb]
    q_above: Callable[[arb], arb]
    atoms: tuple[arb, ...] = ()
    mass_at_minus_infinity: arb = field(default_factory=arb)

    def delta(self, epsilon):
        return self.q_above(epsilon) - epsilon.exp() * self.p_above(epsilon)

    def delta_reversed(self, epsilon):
        """Hockey-stick of T(Q, P): P(L < -eps) - e^eps Q(L < -eps); atoms at -eps cancel."""
        return 1 - self.p_above(-epsilon) - epsilon.exp() * (1 - self.q_above(-epsilon))


def gaussian(mu):
    m = arb(mu)
    above = (lambda t, side=side: cumulative(side * m / 2 - t / m) for side in (-1, 1))
    return GaussianLaw(mu), Truth(*above)


def laplace(e0):
    e = arb(e0)

    def p_above(t):
        if t >= e:
            return arb(0)
        return (-(t + e) / 2).exp() / 2 if t >= -e else arb(1)

    def q_above(t):
        if t >= e:
            return arb(0)
        return 1 - ((t - e) / 2).exp() / 2 if t >= -e else arb(1)

    return LaplaceLaw(e0), Truth(p_above, q_above, (-e, e))


def bounded_range(e0):
    e = arb(e0)

    def above(t, sign):
        t = t.max(-e).min(e)
        return sign * ((sign * e / 2).exp() - (sign * t / 2).exp()) / (2 * (e / 2).sinh())

    return BoundedRangeLaw(e0), Truth(lambda t: above(t, -1), lambda t: above(t, 1))


def atomic(losses, weights, mass_at_minus_infinity):
    """Atoms whose masses are the exact exponentials of the floats passed to the library."""
    log_p = np.log(np.array(weights) / np.sum(weights)) + np.log1p(-mass_at_minus_infinity) - 1e-12
    with ctx.workprec(BITS):
        points = [(arb(float(x)), arb(v).exp()) for x, v in zip(losses, log_p.tolist(), strict=True)]
        mass_at_plus_infinity = 1 - sum(p * x.exp() for x, p in points)
        rest = 1 - sum(p for _, p in points)
    law = AtomicLaw(np.array(losses, dtype=float), log_p, float(rest), float(mass_at_plus_infinity))

    def p_above(t):
        return sum((p for x, p in points if x > t), arb(0))

    def q_above(t):
        return sum((p * x.exp() for x, p in points if x > t), mass_at_plus_infinity)

    return law, Truth(p_above, q_above, tuple(x for x, _ in points), rest)


def thinned(pair, rate):
    (law, true), r = pair, arb(rate)

    def above(t, back, rest):
        """Return the mass of what is thinned to more than t, by the loss that is thinned to t."""
        ratio = 1 + t.expm1() / r
        return back(ratio.log()) if ratio > 0 else arb(1) if t < (-r).log1p() else 1 - rest

    def mixed_above(x):
        return (1 - r) * true.p_above(x) + r * true.q_above(x)

    rest = true.mass_at_minus_infinity
    with ctx.workprec(BITS):
        atoms = [(r * x.expm1()).log1p() for x in true.atoms]
        atoms += [(-r).log1p()] if rest > 0 else []
    return SubsampledPLD(law, rate), Truth(
        lambda t: above(t, true.p_above, rest), lambda t: above(t, mixed_above, (1 - r) * rest), tuple(atoms)
    )


def mixed(first, second, w):
    (law, true), (other, also), share = first, second, arb(w)

    def mix(one, two):
        return lambda t: share * one(t) + (1 - share) * two(t)

    rest = share * true.mass_at_minus_infinity + (1 - share) * also.mass_at_minus_infinity
    above = mix(true.p_above, also.p_above), mix(true.q_above, also.q_above)
    law = MixturePLD([(w, law), (1 - w, other)])  # exact in floats for the weights drawn
    return law, Truth(*above, true.atoms + also.atoms, rest)


def reverse(pair):
    """Only for laws without atoms, where P(L >= t) = P(L > t)."""
    law, true = pair
    return ReversedPLD(law), Truth(lambda t: 1 - true.q_above(-t), lambda t: 1 - true.p_above(-t))


gaussians = log_uniform(1e-3, 5.0).map(gaussian)
laplaces = log_uniform(1e-3, 10.0).map(laplace)
rates = log_uniform(1e-8, 0.999)


@st.composite
def atomics(draw):
    losses = sorted(draw(st.lists(st.floats(-3, 3), min_size=1, max_size=5, unique_by=lambda x: round(x, 6))))
    weights = draw(st.lists(log_uniform(1e-9, 1.0), min_size=len(losses), max_size=len(losses)))
    mass_at_minus_infinity = draw(st.sampled_from([0.0, 0.0, 1e-9, 0.1]))
    total = float(np.sum(np.exp(losses) * np.array(weights)) / np.sum(weights))
    down = max(np.log(total), 0.0) + draw(st.sampled_from([0.0, 1e-6, 0.3]))
    return atomic([x - down for x in losses], weights, mass_at_minus_infinity)


smooth = st.one_of(
    gaussians,
    st.tuples(gaussians, rates).map(lambda a: thinned(*a)),
    st.tuples(gaussians, rates).map(lambda a: reverse(thinned(*a))),
)
simple = st.one_of(
    smooth, laplaces, atomics(), st.tuples(st.one_of(laplaces, atomics()), rates).map(lambda a: thinned(*a))
)
pairs = st.one_of(
    simple, st.tuples(simple, simple, st.sampled_from([0.25, 0.5, 2.0**-20])).map(lambda a: mixed(*a))
)
