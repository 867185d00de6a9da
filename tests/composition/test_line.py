"""Sums over the nodes of a line, plain and in rows, against the sum of the same terms in balls."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from flint import acb, arb

from tradeoff.composition.contour.engine import ContourEngine
from tradeoff.composition.contour.line import Chernoff, ContourLine
from tradeoff.loss.laplace import LaplaceLaw

STEP, MEAN, TAU = 0.037, 5.3, 0.02
AT = np.array([0.3, -7.25, 41.0])


def drawn(size: int, c: float) -> ContourLine:
    """Return a line of any values at all: bounds on the rounding of a sum rest on no shape."""
    rng = np.random.default_rng(size)
    log = rng.uniform(-30, 0, size) + 1j * rng.uniform(-9, 9, size)
    log[0], log.real[-7::-97] = 0, -np.inf
    sides = Chernoff(c / 2, 0.0), Chernoff(2 * c, 0.0)
    return ContourLine(c, 0.0, 0.0, MEAN, 0.0, STEP, log, np.zeros(size), 0.0, *sides, TAU, 1.0)


def summed(line: ContourLine, kernel: Callable[[acb], acb], x: float) -> arb:
    """Return the sum, term by term, of the floats that the line holds."""
    total = arb(0)
    for k, log in enumerate(line.log.tolist()):
        if log.real > -math.inf:
            y = arb(line.step) * k
            turn = acb(0, (arb(line.mean) - x) * y)
            total += (kernel(acb(line.c, y)) * (acb(log) + turn).exp()).real / (1 if k else 2)
    return total * line.step / arb.pi()


@pytest.mark.parametrize("c", [1.5, 0.4])
@pytest.mark.parametrize("size", [2048, 2049, 2112, 5000], ids=["plain", "rows", "full rows", "many rows"])
def test_the_sum_errs_by_no_more_than_is_charged(size: int, c: float) -> None:
    line = drawn(size, c)
    sign = 1 if c > 1 else -1
    bump = arb(TAU) ** 2 * (arb(TAU) ** 2 / 8).exp()
    sums = [(line._psi_sum, lambda z: sign / (z * (z - 1))), (line._smoothing_sum, lambda _: acb(bump))]
    for known, kernel in sums:
        assert known.values.ndim == (1 if size == 2048 else 2)
        charged = known.rounding + line._turned(AT) * known.moment
        for x, found, most in zip(AT.tolist(), line._at(known, AT).tolist(), charged.tolist(), strict=True):
            assert abs(summed(line, kernel, x) - found) <= most
            assert most <= 1e-9 * float(np.sum(np.abs(known.values)))


def test_a_loss_is_summed_alone_whatever_is_asked_with_it() -> None:
    line = drawn(5000, 1.5)
    assert line.terms(AT).total.tolist() == [line.terms(AT[k : k + 1]).total[0] for k in range(len(AT))]


@pytest.mark.parametrize("last", [4.0, 6.0])
@pytest.mark.parametrize("share", [1.0, 0.5, 1e-3, 1e-7, 1e-290, 0.0])
def test_what_the_bump_lacks_beyond_the_last_node(share: float, last: float) -> None:
    """The product is as large as both bounds on it allow: its integral is known."""
    cut = share * math.exp(-(last**2) / 2)
    line = drawn(64, 1.5)
    line = replace(line, cut=cut, step=last / TAU / 63)
    with mp.workdps(30):
        tau, start = mp.mpf(TAU), mp.mpf(line.last)
        turn = max(mp.sqrt(-2 * mp.log(cut)) / tau, start) if cut else mp.inf
        flat = max(cut * (turn - start), 0) if cut else 0
        true = flat + mp.sqrt(mp.pi / 2) / tau * mp.erfc(tau * turn / mp.sqrt(2))
        true *= tau**2 * mp.exp(tau**2 / 8) / mp.pi
    assert true <= line._bump_beyond() <= 1.1 * float(true) + 1e-300


def test_a_gaussian_takes_few_nodes() -> None:
    """Atoms never let the product decay; nodes end where what is left is little beside what it moves."""
    engine = ContourEngine([LaplaceLaw(0.1)], [100], symmetric=True)
    low, high = engine.answer("delta", np.array([0.1]), 1e-8)
    assert high[0] - low[0] <= 1e-8 * high[0]
    lines = engine.forward
    aim = float(lines.anchors("delta", np.array([0.1]))[0])
    drawn = lines.enclose("delta", aim, engine.first("delta", 1e-8))
    assert drawn is not None
    assert len(drawn.line.log) <= 300_000


@pytest.mark.parametrize("x", [1.0, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("seed", range(5))
def test_aliases_of_large_exponents_are_not_rounded_down(x: float, seed: int) -> None:
    draw = np.random.default_rng(seed)
    side = Chernoff(1.5 + draw.uniform(0.01, 0.5), 0.0)
    side = side._replace(log_m=(side.c - 1.5) * x + draw.uniform(-9, 9))
    line = replace(drawn(64, 1.5), right=side, step=draw.uniform(0.01, 0.5))
    c = arb(side.c)
    fall = (-(c - line.c) * 2 * arb.pi() / line.step).exp()
    kappa = ((c - 1) / c) ** (c - 1) / c
    alias = kappa * (side.log_m - (c - line.c) * x).exp() * fall / (1 - fall)
    assert alias <= line._alias(side, np.array([x]))[0]


@pytest.mark.parametrize("c", [1.5, 0.4])
@pytest.mark.parametrize(("step", "size"), [(0.05, 20), (1.5, 20), (2.5, 4), (0.05, 400)])
@pytest.mark.parametrize("x", [-1.0, 0.5, 2.0])
def test_nodes_too_few_or_too_far_apart_bound_the_profile_of_a_gaussian(
    c: float, step: float, size: int, x: float
) -> None:
    """Of mu = 1, whose K(z) = (z^2 - z)/2."""
    y = step * np.arange(size)
    sides = (Chernoff(at, max((at * at - at) / 2, 0.0)) for at in ((1.0, 3.0) if c > 1 else (0.0, 1.0)))
    line = ContourLine(
        *(c, (c * c - c) / 2, 1e-15, c - 0.5, 1e-15, step, -(y * y) / 2 + 0j, 1e-15 * np.ones(size)),
        *(math.exp(-(y[-1] ** 2) / 2), *sides, 0.0, 1.0),
    )
    (low,), (high,) = line.psi(np.array([x]))
    delta = mp.ncdf(0.5 - x) - mp.exp(x) * mp.ncdf(-0.5 - x)
    psi = delta if c > 1 else 1 - delta
    assert low <= psi <= high
    assert (high - low <= 1e-12) == (size == 400)
