"""Chords lie above a profile and polygons below it, everywhere in every cell: against 50 digits."""

import itertools

import mpmath as mp
import numpy as np
import pytest

import tradeoff as to
from tradeoff.intervals.roots import largest
from tradeoff.operators.tabulate import Nodes, chords, under


def gaussian(mu):
    return lambda e: mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)


def laplace(epsilon):
    return lambda e: max(-mp.expm1((e - epsilon) / 2), mp.mpf(0))


@pytest.mark.parametrize(
    ("curve", "truth"),
    [(to.Gaussian(1), gaussian(1)), (to.Gaussian(0.01), gaussian(mp.mpf(0.01))), (to.Laplace(3), laplace(3))],
    ids=["normal", "near", "laplace"],
)
@pytest.mark.parametrize("step", [1e-12, 1e-6, 0.1, 2.0])
def test_under_and_chords_enclose_profile(curve, truth, step):
    grid = np.unique(np.concatenate([[0.0], step * np.random.default_rng(1).random(12)]))
    nodes = Nodes.of(curve, grid)
    t, low = under(nodes)
    high = chords(nodes, nodes.upper, t)
    with mp.workdps(50):
        for k, (start, stop) in enumerate(itertools.pairwise(grid)):
            width = mp.expm1(mp.mpf(stop) - mp.mpf(start))
            ends = [mp.mpf(0), mp.mpf(float(t.lower[1, k])), width]
            for (a, b), j in zip(itertools.pairwise(ends), (0, 1), strict=True):
                for share in (0, mp.mpf(1) / 3, 1):
                    value = truth(mp.mpf(start) + mp.log1p(a + share * (b - a)))
                    below, above = (y[j, k] + share * (mp.mpf(y[j + 1, k]) - y[j, k]) for y in (low, high))
                    assert below <= value <= above


@pytest.mark.slow
def test_under_at_corner_stays_below_profile():
    """A profile of two lines, known to the last bit, whose kink is where the chords of a cell meet."""
    rng = np.random.default_rng(2)
    for _ in range(400):
        epsilon = np.append(0.0, np.cumsum(10.0 ** rng.uniform(-8, 0, 3)))
        s, steep = np.exp(epsilon), rng.uniform(0.01, 1)
        kink = s[1] + 10.0 ** rng.uniform(-14, 0) * (s[2] - s[1])
        less = steep * 10.0 ** rng.uniform(-15, 0)
        delta = 0.9 - steep * (s - 1) + less * np.maximum(s - kink, 0.0)
        with mp.workdps(60):
            d, at = [mp.mpf(x) for x in delta], [mp.exp(mp.mpf(x)) for x in epsilon]
            first, last = ((d[k + 1] - d[k]) / (at[k + 1] - at[k]) for k in (0, 2))
            if delta[-1] <= 0 or not first < last <= 0:
                continue
            meet = (d[2] - d[1] + first * at[1] - last * at[2]) / (first - last)
            if not at[1] < meet < at[2]:
                continue
            t, low = under(Nodes(to.Identity(), epsilon, delta.copy(), delta.copy()))
            x, y = [0, mp.mpf(t.upper[1, 1]), at[2] / at[1] - 1], [mp.mpf(each) for each in low[:, 1]]
            a = meet / at[1] - 1
            k = int(a > x[1] and x[1] < x[2])
            below = (
                y[k] + (y[k + 1] - y[k]) * (a - x[k]) / (x[k + 1] - x[k]) if x[k + 1] > x[k] else min(y[:2])
            )
            assert below <= d[1] + first * (meet - at[1])


def test_largest_finds_threshold():
    assert largest(lambda x: x * x <= 2, 0.0, 2.0) == pytest.approx(2**0.5, abs=1e-14)
    assert largest(lambda x: x * x <= 2, 0.0, 2.0) ** 2 <= 2
