"""Few rounds that rarely lose much, against quadrature in fifty digits, and against other lattices."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from mpmath import mp

from tradeoff.accounting.lattice.convolve import ProfileTable, TiltedFactor
from tradeoff.accounting.lattice.engine import Direction, TruncatedPLD, add_far_losses, choose_edge
from tradeoff.accounting.lattice.place import Effort
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.law import Cells, masses
from tradeoff.pld.transformed import ReversedPLD, SubsampledPLD


def delta_of_two_steps(sigma, rate, x, *, reverse):
    """Integrate the delta of one step over the outcomes z of the other, between kinks of the integrand."""
    sigma, rate, x = mp.mpf(sigma), mp.mpf(rate), mp.mpf(x)
    sign = -1 if reverse else 1

    def loss(z):
        return sign * mp.log1p(rate * mp.expm1((2 * z - 1) / (2 * sigma**2)))

    def outcome(level):
        """Return the z of a loss."""
        ratio = 1 + mp.expm1(sign * level) / rate
        return mp.mpf(1) / 2 + sigma**2 * mp.log(ratio) if ratio > 0 else None

    def tail(mean, z):
        return mp.ncdf((mean - z) / sigma * (1 if not reverse else -1))

    def one(y):
        z = outcome(y)
        if z is None:  # all losses are on one side of y
            return mp.mpf(0) if reverse else -mp.expm1(y)
        without, sampled = tail(0, z), tail(1, z)
        mixed = (1 - rate) * without + rate * sampled
        return without - mp.exp(y) * mixed if reverse else mixed - mp.exp(y) * without

    def density(z):
        return (
            mp.npdf(z, 0, sigma)
            if reverse
            else (1 - rate) * mp.npdf(z, 0, sigma) + rate * mp.npdf(z, 1, sigma)
        )

    ends = [sigma * end for end in mp.linspace(-14, 24, 39)]
    kink = outcome(x - sign * mp.log1p(-rate))
    points = sorted([*ends, *([] if kink is None else [kink])])
    return mp.quad(lambda z: density(z) * one(x - loss(z)), points)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("sigma", "rate", "x"),
    [(1.0, 1e-5, 3e-4), (1.3, 2.6e-4, 9e-3), pytest.param(0.6, 1e-3, 0.5, marks=pytest.mark.slow)],
)
def test_delta_of_two_rare_steps_is_enclosed(sigma, rate, x, *, reverse):
    if reverse:  # losses end at -log(1 - rate), twice
        x = -1.5 * math.log1p(-rate)
    with mp.workdps(50):
        truth = delta_of_two_steps(sigma, rate, x, reverse=reverse)
    law = SubsampledPLD(GaussianLaw(1 / sigma), rate)
    table = Direction([law], [2], reverse=reverse).at(x, Effort(1e-6, 2**16))
    low, high = table.delta(np.array([x]))
    assert low[0] <= truth <= high[0]
    assert reverse or high[0] - low[0] < 1e-5 * truth


@pytest.mark.parametrize("n", [3, 33, 200])
def test_cut_losses_agree_with_the_whole_lattice(n, monkeypatch):
    law, x = SubsampledPLD(GaussianLaw(1.4), 3e-4), np.array([0.09, 0.1, 0.11])
    cut = Direction([law], [n], reverse=False).at(0.1, Effort(1e-5, 2**18))
    assert choose_edge([law], [n], Direction([law], [n], reverse=False).cumulant, 0.1) is not None
    monkeypatch.setattr("tradeoff.accounting.lattice.engine.choose_edge", lambda *_: None)
    whole = Direction([law], [n], reverse=False).at(0.1, Effort(1e-5, 2**18))
    (low, high), (least, most) = cut.delta(x), whole.delta(x)
    assert np.all(low <= most)
    assert np.all(least <= high)
    assert np.all(high - low < 1e-4 * high)


@pytest.mark.parametrize("law", [SubsampledPLD(GaussianLaw(1.0), 0.1), ReversedPLD(GaussianLaw(0.5))])
def test_cells_of_a_truncated_law_are_those_inside(law):
    edges = np.linspace(-0.3, 0.6, 10)
    cut = TruncatedPLD(law, -0.2, 0.45)
    cells = cut.cells(edges)
    expected = masses(law.cells(np.array([-0.2, 0.45])), np.array([-0.2, 0.45]))
    for mine, whole in zip(masses(cells, edges), expected, strict=True):
        assert mine.sum() == pytest.approx(whole[0], rel=1e-10)
    np.testing.assert_array_equal(cells.excess[1:7], law.cells(edges[1:8]).excess)


class _Losses:
    """Atoms as a law that its cells alone describe."""

    def __init__(self, loss, p):
        self.loss, self.p, self.q, self.enclosure = loss, p, p * np.exp(loss), (loss[0], loss[-1])

    def cells(self, edges):
        inside = (self.loss > edges[0]) & (self.loss < edges[1])
        p, q = self.p[inside].sum(), self.q[inside].sum()
        return Cells(*(np.array([x]) for x in (q - np.exp(edges[0]) * p, p - np.exp(-edges[1]) * q, 1e-15)))


@pytest.mark.parametrize("h", [0.25, 3.0])
def test_far_losses_count_those_below_the_first_node(h):
    """Half the mass is at -3.9, below the first node -1: with a loss of 4.1 it adds up to less than x."""
    x, edge, rare = 1.0, 4.0, (1 - math.exp(-3.9)) / 2 / math.expm1(4.1)
    law = _Losses(np.array([-3.9, 0.0, 4.1]), np.array([0.5, 0.5 - rare, rare]))
    assert law.q.sum() == pytest.approx(1, abs=1e-15)
    at = np.linspace(0.2, 3.0, 15)
    p, q = np.outer(law.p, law.p).ravel(), np.outer(law.q, law.q).ravel()
    gains = np.maximum(q - np.exp(at)[:, None] * p, 0)
    near = np.isin(np.arange(9), [0, 1, 3, 4])
    # What is left of the mass at -3.9, and the mass at 0 by its two nodes, as cells are spread.
    upwards = (0.5 - rare) * math.expm1(1.0) / math.expm1(h) if h == 3.0 else 0.5 - rare
    over = np.array([0.5 * math.exp(-2.9) + 0.5 - rare - upwards, upwards])
    factor = TiltedFactor(np.array([0, 1 if h == 3.0 else 4]), -1.0, over, over, 2, 0.0, 0.0, 0.0)
    table = ProfileTable(at, gains[:, near].sum(axis=1), at, gains[:, near].sum(axis=1))
    result = add_far_losses(table, [law], [factor], SimpleNamespace(h=h, theta=0.0), edge, x)
    truth = np.interp(result.above, at, gains.sum(axis=1))
    assert np.all(result.lower <= truth + 1e-12)
    assert np.all(truth <= result.upper + 1e-12)
