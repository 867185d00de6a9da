"""Edges of cells within units of an end, or a turn, of the loss: truth in 60 digits of mpmath."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import tradeoff as to
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.law import masses
from tradeoff.pld.transformed import MixturePLD, ReversedPLD, SubsampledPLD

UNITS = [-(10**9), -5000, -300, -64, -20, *range(-9, 1)]


def below(t: mp.mpf, under: str) -> mp.mpf:
    """Mass of L = 1/8 - log cosh(u/2) <= t, u = x - 1/2, of P = (N(0) + N(1))/2 against Q = N(1/2)."""
    reach = 2 * mp.acosh(mp.exp(max(mp.mpf(1) / 8 - t, 0)))
    ends = [reach] * 2 if under == "Q" else [reach + mp.mpf(1) / 2, reach - mp.mpf(1) / 2]
    return sum(mp.erfc(end / mp.sqrt(2)) / 2 for end in ends)


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(60):
        yield


@pytest.mark.parametrize("units", UNITS)
def test_cells_are_those_of_losses_moved_by_what_is_said(units: int) -> None:
    law = to.GaussianMixtures({0: 0.5, 1: 0.5}, {0.5: 1}).loss_distribution()
    t = 0.125 + units * np.spacing(0.0625)
    edges = np.array([-60.0, t, 60.0])
    cells, moved = law.cells(edges), float(law.edge_error(edges)[1])
    assert (moved > 1e-13) == (units > -20_000)
    for under, result in zip("PQ", masses(cells, edges), strict=True):
        least, most = (below(mp.mpf(t) + side * moved, under) for side in (-1, 1))
        slack = 2 * float(np.max(cells.slack))
        assert least * (1 - slack) <= result[0] <= most * (1 + slack)
        assert (1 - most) * (1 - slack) <= result[1] <= (1 - least) * (1 + slack)


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("under", ["P", "Q"])
def test_distribution_functions_hold_the_truth(units: int, under: str) -> None:
    t = 0.125 + units * np.spacing(0.0625)
    result = to.GaussianMixtures({0: 0.5, 1: 0.5}, {0.5: 1}).law.cdf(t, under=under)
    assert result.lower <= below(mp.mpf(t), under) <= result.upper


def test_laws_made_of_a_law_say_what_it_says() -> None:
    law = to.GaussianMixtures({0: 0.5, 1: 0.5}, {0.5: 1}).loss_distribution()
    turn = np.array([0.125])
    assert law.edge_error(turn) > 1e-13
    assert np.max(law.edge_error(np.array([-1.0, 0.1, 0.2]))) < 1e-13
    assert ReversedPLD(law).edge_error(-turn) == law.edge_error(turn)
    assert SubsampledPLD(law, 0.25).edge_error(np.log1p(0.25 * np.expm1(turn))) >= 0.25 * law.edge_error(turn)
    assert MixturePLD([(0.5, law), (0.5, GaussianLaw(1.0))]).edge_error(turn) >= law.edge_error(turn)
