"""Hypothesis strategies: curves of families, of polygons from random pairs, and products of them.

Descriptions for the oracle.
"""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

import tradeoff as to
from tests.truth.atoms import DiscreteLaplace, PureDP, TotalVariation
from tests.truth.continuous import Gaussian, Laplace
from tests.truth.operators import Mixture, Product, Reversed, Subsampled
from tests.truth.polygons import Polygon
from tests.truth.spec import Spec


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    """Floats spread evenly over orders of magnitude."""
    from math import log10

    return st.floats(log10(low), log10(high)).map(lambda x: float(10.0**x))


alphas = st.one_of(st.floats(0.0, 1.0), log_uniform(1e-12, 1.0), log_uniform(1e-12, 1.0).map(lambda a: 1 - a))
epsilons = st.one_of(st.floats(-5, 5), st.sampled_from([0.0, -0.0, 1e-9, -1e-9, 30.0, -30.0]))

gaussians = log_uniform(0.02, 4.0).map(to.Gaussian)
laplaces = log_uniform(0.01, 4.0).map(to.Laplace)
pure_dps = log_uniform(0.01, 4.0).map(to.PureDP)
total_variations = st.one_of(st.floats(0.0, 0.5), log_uniform(1e-12, 0.5)).map(to.TotalVariation)


@st.composite
def vertices(draw: st.DrawFn, *, most: int = 5) -> tuple[list[Fraction], list[Fraction]]:
    """Vertices of T(P, Q) of a random pair of integer weights, with masses at plus and minus infinity now and
    then."""
    size = draw(st.integers(1, most))
    weight = st.integers(1, 30)
    atoms = [(draw(weight), draw(weight)) for _ in range(size)]
    at_plus, at_minus = draw(st.sampled_from([0, 0, 0, 1])), draw(st.sampled_from([0, 0, 0, 1]))
    p_total = sum(p for p, _ in atoms) + at_minus
    q_total = sum(q for _, q in atoms) + at_plus
    alpha, beta = [Fraction(0)], [1 - Fraction(at_plus, q_total)]
    for p, q in sorted(atoms, key=lambda atom: Fraction(atom[1], atom[0]), reverse=True):
        alpha.append(alpha[-1] + Fraction(p, p_total))
        beta.append(beta[-1] - Fraction(q, q_total))
    if at_minus:
        alpha.append(Fraction(1))
        beta.append(Fraction(0))
    return alpha, beta


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
curves = st.one_of(factors, factors, products)
"""Curves of any kind, composed ones among them."""

# Descriptions, for which balls answer; their parameters and points lean to the ends of the floats.

NEAREST_ONE = 1 - 2.0**-53

edge_alphas = st.one_of(alphas, st.sampled_from([0.0, 5e-324, 1e-300, 1e-17, NEAREST_ONE, 1.0]))
edge_epsilons = st.one_of(
    epsilons, st.floats(-50, 50), st.sampled_from([-745.0, 5e-324, 37.0, 700.0, 745.0, float("inf")])
)
edge_deltas = st.one_of(
    log_uniform(1e-300, 1.0), st.floats(0, 1), st.sampled_from([0.0, 5e-324, 1e-300, NEAREST_ONE])
)
edge_losses = st.one_of(
    log_uniform(1e-3, 8.0), st.sampled_from([1e-300, 1e-170, 1e-16, 20.0, 37.0, 50.0, 300.0, 700.0])
)
edge_rates = st.one_of(
    log_uniform(1e-8, 1.0),
    log_uniform(1e-9, 0.5).map(lambda p: 1 - p),
    st.sampled_from([1e-300, 1e-16, NEAREST_ONE]),
)
edge_masses = st.one_of(log_uniform(1e-17, 0.9), st.sampled_from([0.0, 5e-324, 1e-300, 0.5, NEAREST_ONE]))
edge_counts = st.one_of(st.integers(1, 5), st.sampled_from([30, 200]))

polygon_specs = vertices(most=4).flatmap(
    lambda v: st.sampled_from(
        [Polygon(*map(tuple, v)), Polygon(*(tuple(float(x) for x in side) for side in v))]
    )
)
flat_specs = log_uniform(1e-12, 1e-3).map(lambda gap: Polygon((0.0, 0.5, 1.0), (1.0, 0.5 - gap, 0.0)))
"""Polygons that hug the identity: their losses are logarithms of ratios near 1."""

atomic_specs = st.one_of(
    edge_losses.map(PureDP),
    edge_masses.map(TotalVariation),
    st.builds(DiscreteLaplace, edge_losses.map(lambda x: 1 / x), st.integers(1, 4)),
    polygon_specs,
    flat_specs,
)
family_specs = st.one_of(atomic_specs, atomic_specs, edge_losses.map(Gaussian), edge_losses.map(Laplace))
leaky_specs = st.tuples(atomic_specs, edge_masses).map(
    lambda a: Product(((a[0], 1), (TotalVariation(a[1]), 1)))
)


def operated(inner: st.SearchStrategy[Spec]) -> st.SearchStrategy[Spec]:
    """Put one more operator on descriptions."""
    return st.one_of(
        st.builds(Subsampled, inner, edge_rates),
        st.builds(Subsampled, inner, edge_rates).map(Reversed),
        inner.map(Reversed),
        st.tuples(inner, atomic_specs)
        .filter(lambda a: a[0] != a[1])
        .map(lambda a: Mixture(((0.25, a[0]), (0.75, a[1])))),
        st.tuples(inner, edge_counts).map(lambda a: Product((a,))),
    )


specs = st.one_of(
    family_specs, leaky_specs, operated(family_specs), operated(leaky_specs), operated(operated(leaky_specs))
)
few_atoms = st.one_of(atomic_specs, leaky_specs, operated(atomic_specs), operated(leaky_specs))
"""Descriptions of curves of few atoms, which the exact engine can compose."""
