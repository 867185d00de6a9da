"""Hypothesis strategies: descriptions of families, polygons of random pairs, and products of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import log10
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

import tradeoff as to
from tests.fuzz.draw import Drawer
from tests.fuzz.run import PATIENCE, Slow, limited
from tests.truth.atoms import TooMany
from tests.truth.built import built
from tests.truth.polygons import of_weights
from tests.truth.spec import Spec
from tradeoff.errors import TradeOffError


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    """Floats spread evenly over orders of magnitude."""
    return st.floats(log10(low), log10(high)).map(lambda x: float(10.0**x))


alphas = st.one_of(st.floats(0.0, 1.0), log_uniform(1e-12, 1.0), log_uniform(1e-12, 1.0).map(lambda a: 1 - a))
epsilons = st.one_of(st.floats(-5, 5), st.sampled_from([0.0, -0.0, 1e-9, -1e-9, 30.0, -30.0]))

gaussians = log_uniform(0.02, 4.0).map(to.Gaussian)
laplaces = log_uniform(0.01, 4.0).map(to.Laplace)
pure_dps = log_uniform(0.01, 4.0).map(to.PureDP)
total_variations = st.one_of(st.just(0.0), log_uniform(1e-12, 0.5)).map(to.TotalVariation)


@st.composite
def vertices(draw: st.DrawFn, *, most: int = 5) -> tuple[list[Fraction], list[Fraction]]:
    """Vertices of T(P, Q) of a random pair of integer weights, with masses at plus and minus infinity now and
    then."""
    size = draw(st.integers(1, most))
    weight = st.integers(1, 30)
    atoms = [(draw(weight), draw(weight)) for _ in range(size)]
    at_plus, at_minus = draw(st.sampled_from([0, 0, 0, 1])), draw(st.sampled_from([0, 0, 0, 1]))
    points = of_weights(atoms, at_plus, at_minus) + [(Fraction(1), Fraction(0))] * at_minus
    return [a for a, _ in points], [b for _, b in points]


exact_curves = vertices().map(lambda v: to.PiecewiseLinear(*v))
small_exact_curves = vertices(most=3).map(lambda v: to.PiecewiseLinear(*v))
float_curves = vertices().map(lambda v: to.PiecewiseLinear(*v).floats())

symmetric_families = st.one_of(gaussians, laplaces, pure_dps, total_variations, st.just(to.Identity()))
subsampled = st.tuples(st.one_of(gaussians, laplaces, pure_dps), log_uniform(1e-4, 0.9)).map(
    lambda a: to.subsample(*a)
)
factors = st.one_of(symmetric_families, subsampled, subsampled.map(lambda f: ~f), float_curves, exact_curves)
"""Single curves, cheap to ask."""

products = st.tuples(factors, st.integers(1, 3), factors, st.integers(0, 2)).map(
    lambda a: a[0] ** a[1] @ a[2] ** a[3]
)

drawers = st.randoms(use_true_random=False).map(Drawer)
"""The generator of ``tests.fuzz``, which Hypothesis draws for and shrinks."""


def made(spec: Spec) -> to.TradeOff:
    """Return the curve of a description, unless it is refused."""
    try:
        return built(spec)
    except TradeOffError:
        assume(False)
        raise


drawn = st.one_of(
    st.one_of(*map(drawers.map, (Drawer.pair, Drawer.hull, Drawer.shift))).map(made),
    st.tuples(st.one_of(gaussians, laplaces, pure_dps), log_uniform(1e-4, 0.9)).map(
        lambda a: to.subsample(*a, scheme="without-replacement")
    ),
)
"""Masses, hulls, shifts, samples of fixed size; mixtures of normal laws, slow ones, ``specs`` alone draw."""

curves = st.one_of(factors, factors, factors, drawn, products)
"""Curves of any kind, composed ones among them."""

# Descriptions, for which balls answer; their parameters and points lean to the ends of the floats.

specs = drawers.map(lambda draw: draw.spec(draw.random.choice([0, 1, 1, 2])))
edge_alphas = drawers.map(lambda draw: draw.alpha([]))
edge_epsilons = drawers.map(lambda draw: draw.epsilon([]))
edge_deltas = drawers.map(lambda draw: draw.delta(0.0))
edge_rates = drawers.map(Drawer.rate)


def in_time(question: Callable[[], Any]) -> Any:
    """Return the answer; None as well where curve or oracle refuse, or take too long."""
    try:
        with limited(PATIENCE):
            return question()
    except (TradeOffError, TooMany, Slow, ArithmeticError, IndexError):
        return None
