"""Pairs of one law of L for the library and the same law in mpmath, with strategies that draw them.

The oracle describes a law by its masses of half-lines, P(L > t) and Q(L > t), to 50 digits.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import mpmath as mp
import numpy as np
from hypothesis import strategies as st

from tests.golden.oracle import normal_cdf
from tests.strategies import log_uniform
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.shifts import BoundedRangeLaw, LaplaceLaw
from tradeoff.pld.transformed import MixturePLD, ReversedPLD, SubsampledPLD

Number = mp.mpf
DIGITS = 150


def once(function):
    """Return the function, evaluated once at each point and precision: both orders ask the same points."""
    known = {}

    def kept(t):
        key = mp.mp.prec, t
        if key not in known:
            known[key] = function(t)
        return known[key]

    return kept


@dataclass(frozen=True)
class Truth:
    """P(L > t), Q(L > t), P(L = -inf), and the finite losses that carry atoms."""

    p_above: Callable[[Number], Number]
    q_above: Callable[[Number], Number]
    atoms: tuple[Number, ...] = ()
    mass_at_minus_infinity: Number = field(default_factory=mp.mpf)

    def __post_init__(self):
        object.__setattr__(self, "p_above", once(self.p_above))
        object.__setattr__(self, "q_above", once(self.q_above))

    def delta(self, epsilon):
        with mp.workdps(DIGITS + 30):
            return self.q_above(epsilon) - mp.exp(epsilon) * self.p_above(epsilon)

    def delta_reversed(self, epsilon):
        """Hockey-stick of T(Q, P): P(L < -eps) - e^eps Q(L < -eps); atoms at -eps cancel."""
        with mp.workdps(DIGITS + 30):
            return 1 - self.p_above(-epsilon) - mp.exp(epsilon) * (1 - self.q_above(-epsilon))


def gaussian(mu):
    m = mp.mpf(mu)
    above = (lambda t, side=side: normal_cdf(side * m / 2 - t / m) for side in (-1, 1))
    return GaussianLaw(mu), Truth(*above)


def laplace(e0):
    e = mp.mpf(e0)

    def p_above(t):
        if t >= e:
            return mp.mpf(0)
        return mp.exp(-(t + e) / 2) / 2 if t >= -e else mp.mpf(1)

    def q_above(t):
        if t >= e:
            return mp.mpf(0)
        return 1 - mp.exp((t - e) / 2) / 2 if t >= -e else mp.mpf(1)

    return LaplaceLaw(e0), Truth(p_above, q_above, (-e, e))


def bounded_range(e0):
    e = mp.mpf(e0)

    def above(t, sign):
        t = min(max(t, -e), e)
        return sign * (mp.exp(sign * e / 2) - mp.exp(sign * t / 2)) / (2 * mp.sinh(e / 2))

    return BoundedRangeLaw(e0), Truth(lambda t: above(t, -1), lambda t: above(t, 1))


def atomic(losses, weights, mass_at_minus_infinity):
    """Atoms whose masses are the exact exponentials of the floats passed to the library."""
    log_p = np.log(np.array(weights) / np.sum(weights)) + np.log1p(-mass_at_minus_infinity) - 1e-12
    with mp.workdps(DIGITS):
        points = [(mp.mpf(float(x)), mp.exp(mp.mpf(float(v)))) for x, v in zip(losses, log_p, strict=True)]
        mass_at_plus_infinity = 1 - mp.fsum(p * mp.exp(x) for x, p in points)
        rest = 1 - mp.fsum(p for _, p in points)
    law = AtomicLaw(np.array(losses, dtype=float), log_p, float(rest), float(mass_at_plus_infinity))

    def p_above(t):
        return mp.fsum(p for x, p in points if x > t)

    def q_above(t):
        return mp.fsum(p * mp.exp(x) for x, p in points if x > t) + mass_at_plus_infinity

    return law, Truth(p_above, q_above, tuple(x for x, _ in points), rest)


def thinned(pair, rate):
    (law, true), r = pair, mp.mpf(rate)
    least = mp.log1p(-r)

    @once
    def back(t):
        ratio = 1 + mp.expm1(t) / r
        return mp.log(ratio) if ratio > 0 else None

    def p_above(t):
        if back(t) is None:
            return mp.mpf(1) if t < least else 1 - true.mass_at_minus_infinity
        return true.p_above(back(t))

    def q_above(t):
        if back(t) is None:
            return mp.mpf(1) if t < least else 1 - (1 - r) * true.mass_at_minus_infinity
        return (1 - r) * true.p_above(back(t)) + r * true.q_above(back(t))

    atoms = [mp.log1p(r * mp.expm1(x)) for x in true.atoms]
    atoms += [least] if true.mass_at_minus_infinity else []
    return SubsampledPLD(law, rate), Truth(p_above, q_above, tuple(atoms))


def mixed(first, second, w):
    (law, true), (other, also), share = first, second, mp.mpf(w)

    def mix(one, two):
        return lambda t: share * one(t) + (1 - share) * two(t)

    rest = share * true.mass_at_minus_infinity + (1 - share) * also.mass_at_minus_infinity
    above = mix(true.p_above, also.p_above), mix(true.q_above, also.q_above)
    law = MixturePLD([(w, law), (1 - w, other)])  # exact in floats for the weights drawn
    return law, Truth(*above, true.atoms + also.atoms, rest)


def reverse(pair):
    """Only for laws without atoms, where P(L >= t) = P(L > t), and losses that do not cancel in 60 digits."""
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
