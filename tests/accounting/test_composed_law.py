import math

import numpy as np
import pytest
from flint import arb
from scipy.stats import binom

import tradeoff as to
from tradeoff.accounting.composed_law import ComposedLaw
from tradeoff.accounting.planner import Composition
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.law import masses
from tradeoff.pld.transformed import ReversedPLD, SubsampledPLD

EDGES = np.concatenate([[-np.inf], np.linspace(-6.0, 6.0, 401), [9.0, np.inf]])


def agree(law, truth, edges):
    """Check that cells hold the true ones, both known to their slack; return the slack."""
    result, true = law.cells(edges), truth.cells(edges)
    for mine, theirs in zip(result[:2], true[:2], strict=True):
        assert np.all(mine * (1 - result.slack) <= theirs * (1 + true.slack) * (1 + 1e-10))
        assert np.all(mine * (1 + result.slack) >= theirs * (1 - true.slack) * (1 - 1e-10))
    return result.slack


def power(mu):
    """Return G_mu^4, and G_2mu."""
    return ComposedLaw([GaussianLaw(mu)], [4], symmetric=True), to.Gaussian(2 * mu).loss_distribution()


@pytest.mark.parametrize("mu", [0.02, 0.3, 1.0, 2.5])
def test_composed_cells_of_gaussians_hold_truth(mu):
    law, truth = power(mu)  # moving edges by 1e-13 deviations changes less than 1e-10 of a cell
    assert law.usable
    assert np.median(agree(law, truth, 2 * mu * EDGES)) < 1e-6
    agree(ReversedPLD(law), truth, 2 * mu * EDGES)


WIDE = [-np.inf, 0.3, np.inf], [-2.0, 2.0], [-30.0, -4.0, 4.0, 30.0], [1.0, 1.0, 1.5]
# Far from lines e^(K(c) - ca) overflows, though what it multiplies is as large as it is small.
FAR = [-600.0, 0.0], [-2000.0, -600.0], [0.0, 600.0]


@pytest.mark.parametrize(
    ("mu", "cells"),
    [(0.5, WIDE), *((mu, FAR) for mu in (20.0, 30.0, 60.0)), *((mu, ()) for mu in (0.1, 1, 10))],
)
def test_composed_cells_that_are_wide_or_far_hold_truth(mu, cells):
    law, truth = power(mu)
    for edges in cells:
        agree(law, truth, np.array(edges))
        agree(ReversedPLD(law), truth, np.array(edges))
    # Parts of a cell are summed up to its end, whether or not one of no length follows.
    end, middle = law.ends.high, 2 * mu * mu
    for edges in ([-middle, end, np.inf], [middle, end, 2 * end], [-np.inf, -end, middle, middle]):
        agree(law, truth, np.array(edges))


@pytest.mark.parametrize(
    ("x", "most", "truth"),
    [  # in balls: over the first loss by quadrature, over the second in closed form
        *((-1.36, 1e-3, 1.134591274490675078e-6), (-1.3, 1e-4, 0.0002049140252853492862)),
        (-1.0, 1e-5, 0.026479563266084634551),
    ],
)
def test_first_cell_next_to_the_least_loss_holds_truth(x, most, truth):
    # Two losses log((1 + e^(sZ - s^2/2))/2), s^2 = 2: below x - L_1 the second has Z < t, a closed form.
    law = (to.subsample(to.Gaussian(math.sqrt(2)), 0.5) ** 2).lattice_pld()
    _, (deficit,), (slack,) = map(np.ndarray.tolist, law.cells(np.array([-np.inf, x])))
    assert slack < most
    assert abs(deficit - truth) <= slack * deficit + 1e-10 * truth


@pytest.mark.slow
def test_composed_cells_hold_all_mass():
    f = to.subsample(to.Gaussian(1), 0.01) ** 50 @ to.Laplace(0.1) ** 5
    law = f.lattice_pld()
    assert isinstance(law, ComposedLaw)
    edges = np.concatenate([[-np.inf], np.linspace(-1.5, 3.0, 1000), [np.inf]])
    p, q = masses(law.cells(edges), edges)
    assert sum(p) == pytest.approx(1, abs=1e-9)
    assert sum(q) == pytest.approx(1, abs=1e-9)
    # Q - e^a P beyond a is delta(a), which the contour computes by another kernel.
    for a in (-0.2, 0.1, 0.5, 1.0):
        cell, delta = law.cells(np.array([a, np.inf])), f.bounds.delta(a, tol=1e-9)
        assert cell.excess[0] * (1 - cell.slack[0]) <= delta.upper
        assert cell.excess[0] * (1 + cell.slack[0]) >= delta.lower


@pytest.mark.slow
def test_epsilon_of_sampled_normal_product_agrees_with_closed_form():
    # As the product is one normal pair, its sampled power is known in closed form of another kind.
    law = ComposedLaw([GaussianLaw(0.5)], [4], symmetric=True)
    curve = to.subsample(to.Gaussian(1), 0.1) ** 3
    low, high = Composition([SubsampledPLD(law, 0.1)], [3]).answer("epsilon", np.array([1e-4]), 1e-5)
    truth = curve.bounds.epsilon(1e-4, tol=1e-8)
    assert low[0] <= truth.upper
    assert high[0] >= truth.lower
    assert high[0] - low[0] <= 1e-5


@pytest.mark.parametrize(("delta", "p", "n"), [(0.8, 0.9, 2), (0.3, 0.9999, 1)])
def test_composed_cells_with_atoms_outside_spans_hold_truth(delta, p, n):
    # Sampled mass at -infinity is an atom at log(1 - p), far below the normal part: the sum holds all of it.
    rare = SubsampledPLD(to.TotalVariation(delta).loss_distribution(), p)
    law = ComposedLaw([GaussianLaw(0.05), rare], [1, n])
    assert law.usable
    edges = np.concatenate([[-np.inf], (np.arange(n, 0, -1) - 0.5) * np.log1p(-p), [np.inf]])
    result, k = law.cells(edges), np.arange(n, -1, -1)
    mass, truth = masses(result, edges)[0], binom.pmf(k, n, delta)
    assert np.all(np.abs(mass - truth) <= mass * result.slack + 1e-13)


@pytest.mark.parametrize(("q", "n"), [(0.3, 5), (1e-300, 3), (1e-20, 10**30), (0.999, 10**200)])
def test_masses_at_infinity_are_correctly_rounded(q, n):
    law = ComposedLaw([GaussianLaw(0.5), to.TotalVariation(q).loss_distribution()], [4, n])
    truth = float(-(n * (-arb(law.parts[1][0].mass_at_plus_infinity)).log1p()).expm1())
    assert law.mass_at_plus_infinity == law.mass_at_minus_infinity == truth
