from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from tests.accounting.laws import Truth, bounded_range, gaussian, laplace, mixed, pairs, reverse, thinned
from tests.strategies import log_uniform
from tests.truth.balls import cumulative
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.gaussian_mixtures import MixtureLaw
from tradeoff.pld.law import masses
from tradeoff.pld.normal_mixtures import MixturePair
from tradeoff.pld.transformed import MixturePLD, SubsampledPLD


def parts(true, low, high):
    """Return excess and deficit of the cell between two losses, of which the second may be the lesser one."""
    high = high.max(low)
    q, p = (above(low) - above(high) for above in (true.q_above, true.p_above))
    return q - low.exp() * p, p - (-high).exp() * q


def check_cells(law, true, edges):
    cells = law.cells(edges)
    moved = arb(float(np.max(law.edge_error(edges))))
    assert moved <= 1e-11 * (1 + np.max(np.abs(edges)))
    assert all(np.all(np.isfinite(part)) and np.all(part >= 0) for part in cells)
    with ctx.workprec(1400):  # masses down to 1e-300 as differences of half-lines near 1
        rows = zip(pairwise(edges.tolist()), *(part.tolist() for part in cells), strict=True)
        for (a, b), excess, deficit, slack in rows:
            inside = any(a < x <= b for x in true.atoms)
            if inside or any(abs(float(x) - e) < 1e-9 for x in true.atoms for e in (a, b)):
                continue  # cells are of the part without atoms
            least, most = (parts(true, arb(a) - m, arb(b) + m) for m in (-moved, moved))
            for computed, lower, upper in zip((excess, deficit), least, most, strict=True):
                assert lower * (1 - arb(slack)) - 1e-305 <= computed, (a, b, slack)
                assert computed <= upper * (1 + arb(slack)) + 1e-305, (a, b, slack)
    atoms = law.atoms
    assert len(atoms.loss) == len(atoms.log_p) == len(atoms.slack)


@st.composite
def edges_around(draw):
    width = draw(log_uniform(1e-7, 1.0))
    centre = draw(st.floats(-3, 3)) * draw(st.sampled_from([1.0, 0.01]))
    steps = draw(st.lists(log_uniform(0.01, 1.0), min_size=2, max_size=12))
    return centre + width * np.cumsum(steps)


@pytest.mark.slow
@given(pairs, edges_around())
def test_cells_hold_truth_within_slack(pair, edges):
    check_cells(*pair, edges)


@pytest.mark.parametrize("m", [2.0, 0.01, 12.0])
@pytest.mark.parametrize("width", [0.7, 1e-3, 1e-7])
def test_cells_of_gaussian_mixtures_hold_truth(m, width):
    """N(0, 1) against N(-m, 1) and N(m, 1) in equal parts: L = log cosh(m x) - m^2/2, least at 0."""
    mean, half, one = Fraction(m), Fraction(1, 2), Fraction(1)
    law = MixtureLaw(MixturePair.of({Fraction(0): one}, {-mean: half, mean: half}, one))

    def place(t):
        rise = (t + arb(m) ** 2 / 2).exp()
        return rise.acosh() / m if rise > 1 else arb(0)

    true = Truth(
        lambda t: 2 * cumulative(-place(t)), lambda t: cumulative(m - place(t)) + cumulative(-m - place(t))
    )
    for x in (1e-3, 0.3, 1.0, 4.0, 11.0, 25.0):
        least = float((m * arb(x)).cosh().log() - arb(m) ** 2 / 2)
        slope = m * np.tanh(m * x)
        check_cells(law, true, least + width * slope * np.array([0.0, 0.1, 0.4, 0.5, 1.0, 1.1]))


LISTED = {
    "gaussian tiny": gaussian(1e-4),
    "gaussian huge": gaussian(20.0),
    "laplace tiny": laplace(1e-5),
    "laplace huge": laplace(40.0),
    "bounded range tiny": bounded_range(1e-5),
    "bounded range huge": bounded_range(40.0),
    "subsampled": thinned(gaussian(1.0), 0.01),
    "subsampled rarely": thinned(gaussian(2.0), 1e-8),
    "subsampled often": thinned(gaussian(0.05), 0.999),
    "subsampled with little noise": thinned(gaussian(1 / 0.3), 1e-4),
    "added": reverse(thinned(gaussian(1.0), 0.01)),
    "mixed": mixed(gaussian(1.0), thinned(gaussian(0.5), 0.1), 0.25),
}


@pytest.mark.parametrize("name", LISTED)
@pytest.mark.parametrize("cells", [7, 100, 2000])
def test_cells_over_support_hold_truth(name, cells):
    law, true = LISTED[name]
    points = law.sketch()
    mass = np.cumsum(np.exp(points.log_p))
    low, high = points.loss[np.searchsorted(mass, [1e-12, mass[-1] * (1 - 1e-12)]).clip(0, len(mass) - 1)]
    fine = np.linspace(low, high, cells + 1)
    for k in range(0, cells, max(1, cells // 25)):
        check_cells(law, true, fine[k : k + 2])
    edges = fine[:: max(1, cells // 40)] if cells > 40 else fine
    assert np.sum(masses(law.cells(edges), edges)[0]) <= 1 + 1e-9


@pytest.mark.parametrize("name", LISTED)
def test_cells_with_infinite_edges_hold_all_mass(name):
    law, _ = LISTED[name]
    low, high = law.support
    edges, atoms = np.array([-np.inf, low - 1, (low + high) / 2, high + 1, np.inf]), law.atoms
    for tilt, mass in enumerate(masses(law.cells(edges), np.clip(edges, low - 2, high + 2))):
        assert np.sum(mass) + np.sum(np.exp(atoms.log_p + tilt * atoms.loss)) == pytest.approx(1, abs=1e-9)


def test_cells_of_subsampled_leaking_law_hold_all_mass():
    """The mass at -infinity becomes an atom below the continuous part, whose cells must not start there."""
    leaking = AtomicLaw(np.array([-1.76, 1.27]), np.log([0.7563, 0.2437]), 1e-12, 1e-12)
    law = SubsampledPLD(MixturePLD([(2.0**-20, leaking), (1 - 2.0**-20, GaussianLaw(0.004))]), 5.9e-6)
    edges = np.array([-np.inf, -1.5e-5, 1.6e-7, 1.5e-5, np.inf])
    for mass in masses(law.cells(edges), np.clip(edges, -1.0, 1.0)):
        assert mass.sum() == pytest.approx(1 - 2.0**-20, rel=1e-12)
