"""The oracle against itself, and products of fractions against it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

import tradeoff as to
from tests.golden import oracle


def test_the_oracle_agrees_with_itself() -> None:
    """Different formulas of the oracle for the same number."""
    with mp.workdps(50):
        near = mp.mpf("1e-40")
        assert abs(oracle.laplace_power_delta(0.3, 0.7, 1) - oracle.laplace_delta(0.3, 0.7)) < near
        atoms = oracle.pure_dp_power(0.5, 3)
        folded = oracle.product_of_atoms([oracle.pure_dp_power(0.5, 1)] * 3)
        assert abs(oracle.delta_of_atoms(atoms, 0.2) - oracle.delta_of_atoms(folded, 0.2)) < near
        for epsilon in (-0.004, 0.004):
            remove = oracle.subsampled_gaussian_delta(epsilon, 1.0, 0.01, order="remove")
            add = oracle.subsampled_gaussian_delta(-epsilon, 1.0, 0.01, order="add")
            assert abs(remove - (1 - mp.exp(mp.mpf(epsilon)) + mp.exp(mp.mpf(epsilon)) * add)) < near
        # duality: beta is the supremum over supporting lines
        alpha = 0.2
        lines = [
            1 - oracle.gaussian_delta(float(e), 1.0) - mp.exp(mp.mpf(float(e))) * mp.mpf(alpha)
            for e in np.linspace(-1, 2, 301)
        ]
        assert 0 <= oracle.gaussian_beta(alpha, 1.0) - max(lines) < mp.mpf("1e-4")


FIRST = [(Fraction(1, 2), Fraction(1, 8)), (Fraction(3, 8), Fraction(3, 8)), (Fraction(1, 8), Fraction(1, 2))]
SECOND = [(Fraction(2, 3), Fraction(1, 4)), (Fraction(1, 3), Fraction(3, 4))]


def curve_of(atoms: list[tuple[Fraction, Fraction]]) -> to.PiecewiseLinear:
    """Vertices of T(P, Q) from atoms (p, q) in increasing ratio."""
    alpha, beta = [Fraction(0)], [Fraction(1)]
    for p, q in sorted(atoms, key=lambda atom: atom[1] / atom[0], reverse=True):
        alpha.append(alpha[-1] + p)
        beta.append(beta[-1] - q)
    return to.PiecewiseLinear(alpha, beta)


def test_products_of_fractions_are_exact() -> None:
    product = oracle.product_of_fractions(oracle.product_of_fractions(FIRST, SECOND), FIRST)
    f = curve_of(FIRST) @ curve_of(SECOND) @ curve_of(FIRST)
    for ratio in (Fraction(1, 5), Fraction(1), Fraction(3, 2), Fraction(7), Fraction(100)):
        truth = oracle.hockey_stick_of_fractions(product, ratio)
        assert f.hockey_stick(ratio) == truth
        assert isinstance(f.hockey_stick(ratio), Fraction)
        lower, upper = f.bounds.delta(float(np.log(float(ratio))))
        with mp.workdps(40):
            assert lower * (1 - 1e-12) <= oracle.exact(truth) <= upper * (1 + 1e-12) + 1e-15


def test_vertices_of_a_product_of_fractions() -> None:
    f = curve_of(FIRST) @ curve_of(SECOND)
    atoms = sorted(
        oracle.product_of_fractions(FIRST, SECOND), key=lambda atom: atom[1] / atom[0], reverse=True
    )
    alpha, beta = Fraction(0), Fraction(1)
    for p, q in atoms:
        alpha, beta = alpha + p, beta - q
        assert f.bounds(float(alpha)).lower == pytest.approx(float(beta), abs=1e-14)
    assert all(a < b for a, b in pairwise(f.alpha))
