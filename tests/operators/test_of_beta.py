"""Operators that know beta (maxima, groups, Symm) of composed curves: against 40 digits."""

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
        for k in range(n, -1, -1):  # k answers that speak for membership, the most telling first
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
def test_delta_of_a_maximum_is_as_close_as_asked(name, epsilon, tol):
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
def test_epsilon_of_a_maximum_leads_back(name, epsilon):
    f = to.maximum(*PAIRS[name][:2])
    least, most = delta_truth(name, epsilon)
    # epsilon(delta) falls: at a delta not below delta(eps) it is at most eps, and the other way round.
    assert f.bounds.epsilon(float(most) * (1 + 2**-50), tol=1e-7).lower <= epsilon
    assert f.bounds.epsilon(float(least) * (1 - 2**-50), tol=1e-7).upper >= epsilon


@pytest.mark.slow
def test_whole_curves_of_a_maximum_hold_it():
    for one, two, f, g in PAIRS.values():
        lower, upper = to.maximum(one, two).tabulate()
        for alpha in np.concatenate([np.geomspace(1e-12, 0.5, 30), 1 - np.geomspace(1e-9, 0.5, 20)]):
            with mp.workdps(45):
                truth = max(f(mpf(float(alpha))), g(mpf(float(alpha))))
            assert lower(alpha) <= truth
            assert truth <= upper.bounds(float(alpha)).upper
            assert upper.bounds(float(alpha)).upper - lower(alpha) <= 2e-3 * lower(alpha)


@pytest.mark.slow
def test_a_maximum_of_products_takes_a_tolerance():
    """It took a minute to refuse 1e-6; two of the three were 1e-3 wide whatever was asked."""
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
@pytest.mark.parametrize("epsilon", [-745.0, -699.9, -1e-300, 0.0, 699.9, 745.0, 1e300])
def test_extremes_of_a_maximum_are_answered(epsilon):
    f = to.maximum(to.subsample(to.Gaussian(1), 0.01) ** 1000, to.PureDP(0.3) ** 2)
    for tol in (None, 1e-3):
        try:
            low, high = f.bounds.delta(epsilon, tol=tol)
        except to.PrecisionError:
            continue
        assert 0 <= low <= high <= 1


@pytest.mark.slow
def test_groups_of_a_composition_take_a_tolerance():
    """The group of a Gaussian is one; beside randomised response of 1e-13 it is composed, and the same."""
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
def test_a_group_of_randomised_response_is_its_composition(k):
    f, beta = to.PureDP(0.4) ** 3, responses(0.4, 3)
    for epsilon in (0.1, 0.8, 2.0):
        with mp.workdps(45):
            s, start, end = mp.exp(mpf(epsilon)), mpf(0), mpf(1)

            def gain(a):
                power = a
                for _ in range(k):
                    power = 1 - beta(power)
                return power - s * a  # noqa: B023 - called before the loop goes on

            for _ in range(100):  # a concave function: of two points, its top is not beyond the lower one
                a, b = (2 * start + end) / 3, (start + 2 * end) / 3
                start, end = (a, end) if gain(a) < gain(b) else (start, b)
            top = gain(start)
        low, high = f.group(k).bounds.delta(epsilon, tol=1e-6)
        assert top <= high
        assert low <= top + mpf("1e-15")


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(to.subsample(to.Gaussian(2), 0.3), marks=pytest.mark.slow),
        to.subsample(to.Gaussian(1), 0.01) ** 100,
    ],
)
def test_symm_has_the_profile_it_was_made_of(f):
    g = f.symmetrise(assume="profile")
    for epsilon in (0.0, 0.1, 0.4):
        low, high = g.bounds.delta(epsilon, tol=1e-7)
        truth = f.bounds.delta(epsilon)
        assert low <= truth.upper
        assert truth.lower <= high
    low, high = g.bounds.epsilon(1e-3, tol=1e-8)
    assert low <= f.bounds.epsilon(1e-3).upper
    assert f.bounds.epsilon(1e-3).lower <= high
    assert high - low <= 1e-8


@pytest.mark.slow
def test_beta_of_symm_is_f_the_line_and_f_mirrored():
    """Its beta was a root of suprema, and took minutes where losses are in the hundreds."""
    f, beta = to.subsample(to.Gaussian(2), 0.3), thinned(gaussian(2), 0.3)
    g = f.symmetrise(assume="profile")
    with mp.workdps(40):
        # f' = -1 where .3 phi-ratio + .7 = 1, at a likelihood ratio of 1: z = mu/2
        turn = mp.ncdf(-1)
        level = turn + beta(turn)
        mirrored = level - turn
        for alpha in (1e-9, 0.05, float(turn), 0.3, float(mirrored), 0.7, 0.99, 1 - 1e-9):
            a = mpf(alpha)
            if a <= turn:
                truth = beta(a)
            elif a <= mirrored:
                truth = level - a
            else:
                truth = mp.findroot(
                    lambda t, a=a: beta(t) - a, (mpf(10) ** -60, turn), solver="anderson", tol=1e-60
                )
            low, high = g.bounds(alpha)
            assert low <= truth * (1 + mpf("1e-30"))
            assert truth <= high * (1 + mpf("1e-30"))
            assert high - low <= 1e-8 * min(high, 1 - alpha - low) + 1e-18
    far = (to.subsample(to.Gaussian(1), 0.01) ** 1000 @ to.Gaussian(40) @ to.Laplace(30)).symmetrise(
        assume="profile"
    )
    assert far(0.1) <= far.bounds(0.1).upper <= 1e-290


def test_epsilon_of_a_mixture_of_products_takes_a_tolerance():
    f, g = to.subsample(to.Gaussian(1), 0.01) ** 1000, to.subsample(to.Gaussian(0.8), 0.02) ** 500
    both = to.mixture({f: 0.25, g: 0.75})
    low, high = both.bounds.epsilon(1e-5, tol=1e-8)
    assert high - low <= 1e-8
    assert 0.25 * f.bounds.delta(high).lower + 0.75 * g.bounds.delta(high).lower <= 1e-5
    assert 0.25 * f.bounds.delta(low).upper + 0.75 * g.bounds.delta(low).upper >= 1e-5 * (1 - 1e-15)


def test_a_group_of_more_vertices_than_are_computed_is_held_by_lines(monkeypatch):
    """It called itself until Python gave up."""
    f = to.Gaussian(0.2).tabulate(np.linspace(0.02, 0.98, 30)).lower.symmetrise(assume="both-orders")
    monkeypatch.setattr("tradeoff.operators.group._VERTICES", len(f.alpha))
    g = f.group(3)
    lower, upper = g.tabulate()
    for alpha in (1e-6, 0.05, 0.5):
        known = g.bounds(alpha)
        assert lower(alpha) <= known.upper
        assert known.lower <= upper.bounds(alpha).upper <= (1 + 1e-3) * lower(alpha)
        assert lower(alpha) <= to.Gaussian(0.6).bounds(alpha).upper


@pytest.mark.parametrize("turn", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_beta_of_a_sampled_product_takes_a_tolerance(turn):
    """It was refused at 4e-5, where the product itself answers to 1e-9."""
    f = to.subsample(to.subsample(to.Gaussian(1), 0.01) ** 100 @ to.Laplace(0.1) ** 10, 0.1)
    g = ~f if turn else f
    close = g.bounds(0.05, tol=1e-9)
    result = g.bounds([0.05, 0.5], tol=1e-6)
    assert result.lower[0] <= close.lower <= close.upper <= result.upper[0]
    assert tuple(g.bounds(0.05, tol=1e-6)) == (result.lower[0], result.upper[0])
    back = (~g).bounds(close.upper, tol=1e-6)
    assert back.lower <= 0.05
