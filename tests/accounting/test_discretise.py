import math
from bisect import bisect_right
from itertools import accumulate

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from tests.accounting.laws import atomic, gaussian, pairs, thinned
from tests.strategies import log_uniform
from tradeoff.accounting.lattice.discretise import discretise
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.transformed import ReversedPLD
from tradeoff.pld.units import UNIT

BITS = 600
TINY = arb(10) ** -120
"""More than is lost in so many bits."""


@st.composite
def any_grid(draw):
    """Uniform, graded or random nodes around the origin; sometimes far too short or to one side."""
    kind = draw(st.sampled_from(["uniform", "uniform", "graded", "random"]))
    count = draw(st.integers(2, 60))
    h = draw(log_uniform(1e-5, 1.0))
    start = draw(st.floats(-1.2, 0.2)) * count
    if kind == "uniform":
        return (start + np.arange(count)) * h
    if kind == "graded":
        steps = 2 ** np.abs(np.arange(count) - count // 2 + draw(st.integers(-5, 5))).clip(0, 8)
        return h * (np.cumsum(steps) - steps[: count // 2].sum() + draw(st.floats(-1, 1)))
    steps = np.array(draw(st.lists(log_uniform(1e-3, 1.0), min_size=count, max_size=count)))
    return h * (np.cumsum(steps) + start / 4)


grids = any_grid().filter(lambda nodes: float(np.max(np.abs(nodes))) < 300)


class Measure:
    """P-masses on nodes, and its hockey-stick."""

    def __init__(self, nodes, mass):
        self.at = list(map(arb, nodes.tolist()))
        p = list(map(arb, mass.tolist()))
        q = [m * x.exp() for m, x in zip(p, self.at, strict=True)]
        self.p_above, self.q_above = ([*accumulate(side[::-1], initial=arb(0))][::-1] for side in (p, q))

    def delta(self, epsilon):
        k = bisect_right(self.at, epsilon)
        return self.q_above[k] - epsilon.exp() * self.p_above[k]


def check(law, true, nodes):
    """Rounding may have moved losses by ``shift``.

    Profiles are compared at ratios that far apart, scaled by e^shift, in both orders of the pair.
    """
    for order, at, delta in ((law, nodes, true.delta), (ReversedPLD(law), -nodes[::-1], true.delta_reversed)):
        result = discretise(order, at)
        for part in (result.over, result.under):
            assert np.all(np.isfinite(part))
            assert np.all(part >= 0)
        between = np.concatenate([at[:-1] + share * np.diff(at) for share in (0.25, 0.5, 0.75)])
        step, atoms = at[1] - at[0], [float(x) if order is law else -float(x) for x in true.atoms]
        some = [*at[:: max(1, len(at) // 20)], *between[:: max(1, len(between) // 20)]]
        with ctx.workprec(BITS):
            over, under = Measure(at, result.over), Measure(at, result.under)
            shift, leak = arb(result.shift), arb(order.mass_at_plus_infinity) * (1 - 16 * UNIT)
            grow = shift.exp()
            for e in map(arb, [*some, at[0] - step, at[-1] + step, *atoms]):
                assert (over.delta(e) + result.top) * grow + TINY >= delta(e + shift), ("over", e)
                assert under.delta(e) + leak <= delta(e - shift) * grow + TINY, ("under", e)


@pytest.mark.slow
@given(pairs, grids)
def test_discretise_holds_truth_on_both_sides(pair, nodes):
    check(*pair, nodes)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.45])
@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0])
def test_discretise_neighbouring_atoms_holds_truth(share, ratio):
    """Every atom draws from the one below, which gives no more than it keeps of itself."""
    h, n = 0.25, 6
    for side in (share, 1 - share):
        losses = h * (np.arange(n) + side) - 2.0
        check(*atomic(losses.tolist(), (ratio ** np.arange(n)).tolist(), 0.1), h * np.arange(-12, 4))


@pytest.mark.parametrize("rate", [1e-8, 1e-4, 0.01, 0.5])
@pytest.mark.parametrize("sigma", [0.3, 1.0, 100.0])
@pytest.mark.parametrize("h", [1e-6, 1e-3, 0.3])
def test_discretise_sliver_of_subsampled_gaussian_holds_truth(rate, sigma, h):
    pair = thinned(gaussian(1 / sigma), rate)
    for offset in (0.0, 0.3, float(np.log1p(-rate)) / h):
        check(*pair, h * (np.arange(-20, 60) + offset))


@pytest.mark.parametrize("mu", [8.0, 10.0, 14.0])
@pytest.mark.parametrize("h", [1e-3, 0.02, 0.3])
def test_discretise_crowded_cell_keeps_tail(mu, h):
    """Nearly all of P lies in one cell where no tangents meet, above a node; a hundredth of Q far off."""
    law, true = thinned(gaussian(mu), 0.01)
    nodes = float(np.log(0.99)) - 1e-9 + h * np.concatenate([np.arange(-5, 40), 40 * 1.02 ** np.arange(460)])
    nodes = nodes[nodes < 300]
    check(law, true, nodes)
    assert true.delta(arb(1)) - Measure(nodes, discretise(law, nodes).under).delta(arb(1)) < 1e-4


@pytest.mark.parametrize(("mu", "rate", "h"), [(1.7, 0.05, 2e-3), (1.2, 0.01, 1e-3)])
def test_discretise_steep_beginning_keeps_mass(mu, rate, h):
    """Losses between the first two nodes have none below them to draw from."""
    pair = thinned(gaussian(mu), rate)
    nodes = float(np.log1p(-rate)) + h * np.arange(-1, 4000)
    check(*pair, nodes)
    law = discretise(pair[0], nodes)
    over, under = (Measure(nodes, part).delta(arb(-1)) for part in (law.over, law.under))
    assert float(over + law.top - under) < 1e-6


def test_discretise_lowers_losses_by_the_errors_of_cuts():
    """Cuts are edges of cells, as nodes are: losses next to one may count on its wrong side."""
    nodes = np.linspace(-3.0, 3.0, 40)

    class Law(GaussianLaw):
        def edge_error(self, edges):
            return np.where(np.isin(edges, nodes), 0.0, 1e-3)

    plain, moved = (
        np.sum(discretise(law, nodes).under * np.exp(nodes)) for law in (GaussianLaw(1.0), Law(1.0))
    )
    assert moved < plain * math.exp(-0.5e-3)


def test_discretise_keeps_mass_beyond_nodes():
    """Losses of 70 nats and more have the excess of one at 1/2: 1 - 1/e of it half a nat to the left of 0."""
    law, true = gaussian(14.0)
    nodes = np.linspace(-0.5, 0.5, 11)
    check(law, true, nodes)
    far = arb(-0.5)
    for order in (law, ReversedPLD(law)):
        under = Measure(nodes, discretise(order, nodes).under)
        assert under.delta(far) > 0.999 * (1 - arb(-1).exp()) * true.delta(far)
