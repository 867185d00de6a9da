"""Operators with a formula for beta alone (maxima, groups, Symm) of composed curves: against 40 digits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise, product
from math import comb

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

import tradeoff as to

Beta = Callable[[mpf], mpf]


def gaussian(mu: float) -> Beta:
    return lambda a: mp.ncdf(-mp.sqrt(2) * mp.erfinv(2 * a - 1) - mpf(mu)) if 0 < a < 1 else mpf(a <= 0)


def thinned(f: Beta, p: float) -> Beta:
    return lambda a: mpf(p) * f(a) + (1 - mpf(p)) * (1 - a)


def responses(epsilon: float, n: int) -> Beta:
    """Return the largest of the lines of n rounds of randomised response."""
    with mp.workdps(60):
        e = mpf(epsilon)
        share = 1 / (1 + mp.exp(e))
        corners = [(mpf(0), mpf(1))]
        for k in range(n, -1, -1):  # k answers for membership, the largest losses first
            p = comb(n, k) * share**k * (1 - share) ** (n - k)
            q = comb(n, k) * (1 - share) ** k * share ** (n - k)
            corners.append((corners[-1][0] + p, corners[-1][1] - q))

    def beta(a: mpf) -> mpf:
        for (x, y), (u, v) in pairwise(corners):
            if a <= u:
                return y + (v - y) * (a - x) / (u - x)
        return mpf(0)

    return beta


PAIRS = {
    "smooth and polygon": (
        to.subsample(to.Gaussian(2), 0.3),
        to.PureDP(0.4) ** 3,
        thinned(gaussian(2), 0.3),
        responses(0.4, 3),
    ),
    "two smooth": (
        to.subsample(to.Gaussian(3), 0.1),
        to.subsample(to.Gaussian(1), 0.8) @ to.Identity(),
        thinned(gaussian(3), 0.1),
        thinned(gaussian(1), 0.8),
    ),
}


@cache
def delta_truth(name: str, epsilon: float) -> tuple[mpf, mpf]:
    """Return sup 1 - max{f, g}(alpha) - e^eps alpha, and 1e-25 more, by golden sections."""
    *_, f, g = PAIRS[name]
    with mp.workdps(45):
        s, share = mp.exp(mpf(epsilon)), (mp.sqrt(5) - 1) / 2

        def gain(x: mpf) -> mpf:  # in log alpha, where it has one top too
            a = mp.exp(x)
            return 1 - max(f(a), g(a)) - s * a

        low, high = mpf(-120), mpf(0)
        for _ in range(330):
            one, two = high - share * (high - low), low + share * (high - low)
            low, high = (low, two) if gain(one) > gain(two) else (one, high)
        top = gain((low + high) / 2)
    return top, top + mpf("1e-25")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "epsilon", "tol"), [*product(PAIRS, (0.01, 0.25, 0.5, 0.6), (1e-6, 1e-9))])
def test_delta_of_maximum_reaches_tolerance(name, epsilon, tol):
    f = to.maximum(*PAIRS[name][:2])
    low, high = f.bounds.delta(epsilon, tol=tol)
    least, most = delta_truth(name, epsilon)
    assert low <= most
    assert least <= high
    assert high - low <= tol * high
    wide = f.bounds.delta(epsilon)
    assert wide.lower <= most
    assert least <= wide.upper


@pytest.mark.slow
@pytest.mark.parametrize(("name", "epsilon"), [*product(PAIRS, (0.01, 0.25, 0.5))])
def test_epsilon_of_maximum_inverts_delta(name, epsilon):
    f = to.maximum(*PAIRS[name][:2])
    least, most = delta_truth(name, epsilon)
    # epsilon(delta) falls: at a delta not below delta(eps) it is at most eps, and the other way round.
    assert f.bounds.epsilon(float(most) * (1 + 2**-50), tol=1e-7).lower <= epsilon
    assert f.bounds.epsilon(float(least) * (1 - 2**-50), tol=1e-7).upper >= epsilon


@pytest.mark.slow
def test_tabulate_of_maximum_holds_truth():
    for one, two, f, g in PAIRS.values():
        lower, upper = to.maximum(one, two).tabulate()
        for alpha in np.concatenate([np.geomspace(1e-12, 0.5, 30), 1 - np.geomspace(1e-9, 0.5, 20)]):
            with mp.workdps(45):
                truth = max(f(mpf(float(alpha))), g(mpf(float(alpha))))
            assert lower(alpha) <= truth
            assert truth <= upper.bounds(float(alpha)).upper
            assert upper.bounds(float(alpha)).upper - lower(alpha) <= 2e-3 * lower(alpha)


@pytest.mark.slow
def test_maximum_of_products_reaches_tolerance():
    """It took a minute to refuse 1e-6; two of the three were 1e-3 wide at every tolerance."""
    f = to.maximum(to.subsample(to.Gaussian(1), 0.01) ** 1000, to.Laplace(0.05) ** 100)
    g = f.operands[0]
    assert f.bounds.delta(1.0, tol=1e-6).upper <= g.delta(1.0)
    assert f.bounds.epsilon(1e-5, tol=1e-6).width <= 1e-6
    # where it is one of its operands it is that
    few = to.maximum(to.subsample(to.Gaussian(1), 0.01) ** 1000, to.Laplace(0.1) ** 100)
    low, high = few.bounds.epsilon(1e-5, tol=1e-7)
    assert low <= g.bounds.epsilon(1e-5).upper
    assert g.bounds.epsilon(1e-5).lower <= high
    assert mpmath.almosteq(high, g.epsilon(1e-5), 1e-7)


@pytest.mark.slow
def test_group_of_product_reaches_tolerance():
    """The group of a Gaussian is one; with randomised response of 1e-13 it is composed, and the same."""
    f, g = (to.Gaussian(0.7) @ to.PureDP(1e-13)).group(2), to.Gaussian(1.4)
    for epsilon in (-2.0, 0.5):
        low, high = f.bounds.delta(epsilon, tol=1e-7)
        assert high - low <= 1e-7 * high
        assert low <= g.bounds.delta(epsilon).upper + 1e-12
        assert g.bounds.delta(epsilon).lower <= high
    low, high = f.bounds.epsilon(1e-6, tol=1e-7)
    assert high - low <= 1e-7
    assert low <= g.epsilon(1e-6) + 1e-10
    assert g.bounds.epsilon(1e-6).lower <= high


@pytest.mark.parametrize("k", [2, 3])
def test_group_of_randomised_response_matches_chain(k):
    f, beta = to.PureDP(0.4) ** 3, responses(0.4, 3)
    for epsilon in (0.1, 0.8, 2.0):
        with mp.workdps(45):
            s, start, end = mp.exp(mpf(epsilon)), mpf(0), mpf(1)

            def gain(a):
                power = a
                for _ in range(k):
                    power = 1 - beta(power)
                return power - s * a  # noqa: B023 - called before the loop goes on

            for _ in range(100):  # a concave function: of two points, its top is not behind the lower one
                a, b = (2 * start + end) / 3, (start + 2 * end) / 3
                start, end = (a, end) if gain(a) < gain(b) else (start, b)
            top = gain(start)
        low, high = f.group(k).bounds.delta(epsilon, tol=1e-6)
        assert top <= high
        assert low <= top + mpf("1e-15")


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [-745.0, -699.9, -1e-300, 0.0, 699.9, 745.0, 1e4])
def test_delta_of_maximum_at_extremes_is_probability(epsilon):
    f = to.maximum(to.subsample(to.Gaussian(1), 0.01) ** 1000, to.PureDP(0.3) ** 2)
    for tol in (None, 1e-3):
        try:
            low, high = f.bounds.delta(epsilon, tol=tol)
        except to.PrecisionError:
            continue
        assert 0 <= low <= high <= 1
