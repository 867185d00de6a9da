"""Sums over the nodes of a line, plain and in rows, against the sum of the same terms in balls."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from flint import acb, arb

from tradeoff.composition.contour.line import ContourLine
from tradeoff.composition.contour.tail import Chernoff

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
