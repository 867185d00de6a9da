"""Discrete laws, measured points and profiles as curves: against fractions and binomials."""

import json
import math
from fractions import Fraction
from itertools import combinations, pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import tradeoff as to
from tests.strategies import exact_curves
from tradeoff import filters
from tradeoff.errors import CurveError, NoClosedForm, SizeError

F = Fraction
LAWS = some.lists(some.integers(0, 9), min_size=4, max_size=4).filter(any)


def _fractions(weights):
    return [F(w, sum(weights)) for w in weights]


def _delta(p, q, ratio):
    """Return max over sets S of Q(S) - ratio P(S)."""
    return sum((max(b - ratio * a, 0) for a, b in zip(p, q, strict=True)), F(0))


def _least(p, q, alpha):
    """Return the least type II error of tests that reject sets and mix two of them."""
    subsets = [s for n in range(len(p) + 1) for s in combinations(range(len(p)), n)]
    errors = [(sum(p[k] for k in s), 1 - sum(q[k] for k in s)) for s in subsets]
    best = min(b for a, b in errors if a <= alpha)
    for (a, b), (c, d) in combinations(errors, 2):
        if min(a, c) <= alpha < max(a, c):
            best = min(best, b + (d - b) * (alpha - a) / (c - a))
    return best


@given(
    p=LAWS,
    q=LAWS,
    ratio=some.fractions(0, 5, max_denominator=20),
    alpha=some.fractions(0, 1, max_denominator=30),
)
def test_from_masses_is_the_best_test(p, q, ratio, alpha):
    p, q = _fractions(p), _fractions(q)
    f = to.from_masses(p, q)
    assert f.is_rational
    assert f.hockey_stick(ratio) == _delta(p, q, ratio)
    assert f.at(alpha) == _least(p, q, alpha)
    assert ~f == to.from_masses(q, p)


@given(p=LAWS, q=LAWS)
def test_from_masses_floats_mean_binary_values(p, q):
    p, q = np.array(p) / sum(p), np.array(q) / sum(q)
    f = to.from_masses(p, q)
    exact = [[F(x) / sum(map(F, law.tolist())) for x in law.tolist()] for law in (p, q)]
    assert f == to.from_masses(*exact)
    assert (f.mass_at_plus_infinity == 0) == (not np.any((p == 0) & (q > 0)))


def test_from_masses_rounded_masses_are_normalised():
    p, q = [0.1] * 10, [0.3, 0.3, 0.1, 0.1, 0.1, 0.02, 0.02, 0.02, 0.02, 0.02]
    assert sum(map(F, p)) != 1 != sum(map(F, q))
    f = to.from_masses(p, q)
    assert f.mass_at_plus_infinity == f.mass_at_minus_infinity == 0
    assert f.sup_loss == pytest.approx(np.log(3), rel=1e-15)
    assert len(f.alpha) == 4  # 0.1/0.1 is 1 of both up to the sums: equal ratios are one
    assert (f**3).epsilon(0) == pytest.approx(3 * np.log(3), rel=1e-14)


def test_from_masses_accepts_mappings():
    f = to.from_masses({"a": F(1, 2), "b": F(1, 2), "c": 0}, {"b": F(1, 4), "d": F(3, 4)})
    assert f == to.from_masses([F(1, 2), F(1, 2), 0], [0, F(1, 4), F(3, 4)])
    assert f.vertices == [(0, F(1, 4)), (F(1, 2), 0)]
    assert f.mass_at_infinity == to.Bounds(0.75, 0.75)
    assert to.from_masses([F(1, 4)] * 4, [F(1, 2), F(1, 6), F(1, 6), F(1, 6)]).vertices[1] == (
        F(1, 4),
        F(1, 2),
    )


def test_from_masses_of_extreme_masses():
    assert to.from_masses([1], [1]).vertices == [(0, 1), (1, 0)]
    assert to.from_masses([1, 0], [0, 1]).vertices == [(0, 0)]
    assert to.from_masses([0.5, 0.5], [0.5, 0.5]).sup_loss == 0
    tiny = to.from_masses([5e-324, 1.0], [1.0, 5e-324])
    assert tiny.sup_loss == pytest.approx(744.44, rel=1e-4)
    assert 0 < tiny(0.0) == 1


def test_from_masses_without_common_denominator_raises():
    primes = [k for k in range(2, 13_000) if all(k % d for d in range(2, int(k**0.5) + 1))]
    p = [F(1, k * 2000) for k in primes]
    p.append(1 - sum(p[:5]) - sum(map(float, p[5:])))
    with pytest.raises(SizeError, match="common denominator"):
        to.from_masses(p, p)


@pytest.mark.slow
@given(
    points=some.lists(
        some.tuples(some.fractions(0, 1, max_denominator=12), some.fractions(0, 1, max_denominator=12)),
        max_size=8,
    )
)
def test_hull_is_greatest_convex_curve(points):
    f = to.PiecewiseLinear.hull(*zip(*points, strict=True)) if points else to.PiecewiseLinear.hull([], [])
    every = [*points, (F(0), F(1)), (F(1), F(0))]
    exact = [(F(a), min(F(b), 1 - F(a))) for a, b in every]
    for alpha in (F(0), F(1, 7), F(1, 2), F(9, 10), F(1)):
        best = min([b for a, b in exact if a <= alpha])
        for (a, b), (c, d) in combinations(exact, 2):
            if a != c and min(a, c) <= alpha <= max(a, c):
                best = min(best, b + (d - b) * (alpha - a) / (c - a))
        assert (
            float(f.bounds(float(alpha)).lower) - 1e-15
            <= float(best)
            <= float(f.bounds(float(alpha)).upper) + 1e-15
        )
    g = to.PiecewiseLinear.hull([float(a) for a, _ in points], [float(b) for _, b in points])
    assert np.allclose(g(np.linspace(0, 1, 9)), f(np.linspace(0, 1, 9)), atol=1e-14)


def test_hull_of_vertices_returns_curve():
    f = to.PiecewiseLinear([0, F(1, 4), F(1, 2), 1], [F(9, 10), F(1, 2), F(1, 4), 0])
    assert to.PiecewiseLinear.hull(f.alpha, f.beta).vertices == [(0, F(9, 10)), *f.vertices[1:]]
    assert to.PiecewiseLinear.hull([F(1, 2)], [F(3, 4)]).vertices == [(0, 1), (1, 0)]


@pytest.mark.slow
def test_assumptions_are_inherited():
    f = to.from_masses([F(1, 4), F(3, 4)], [F(3, 4), F(1, 4)]).assuming("the moon is round.")
    stated = ("the moon is round.",)
    made = (
        *(
            f,
            ~f,
            f**3,
            f @ to.Gaussian(1),
            f.group(2),
            f.floats(),
            f.floats().rational(),
            f.lower,
            (f @ to.Gaussian(1)).upper,
        ),
        *(to.subsample(f, F(1, 3)), to.subsample(f, 0.1), to.mixture({f: 0.5, to.Gaussian(1): 0.5})),
        *(
            to.minimum(f, to.PureDP(0.1)),
            to.maximum(f, to.Gaussian(9)),
            to.subsample(f, 0.3).symmetrise(assume="either-order"),
        ),
        (f @ to.Gaussian(1)).tabulate([0.1, 0.5]).lower,
    )
    for curve in made:
        assert curve.assumptions == stated, curve
        assert "(assumes 1 thing: see .assumptions)" in repr(curve)
        with pytest.raises(NoClosedForm, match="moon"):
            to.certify(curve, "delta", 0.5)
    budget = filters.GDPFilter(9.0)
    budget.spend(f)
    budget.spend(to.Gaussian(1))
    again = filters.Filter.from_state(json.loads(json.dumps(budget.state())))
    result = [f.gdp().curve, budget.guarantee(), again.guarantee(), to.limits.clt(f**40).trusted()]
    for curve in (*result, to.limits.berry_esseen(f**40).guarantee(), ~result[0], result[0] @ to.Laplace(1)):
        assert curve.assumptions == stated, curve
    plain = to.Gaussian(f.gdp().mu) @ to.TotalVariation(f.gdp().failure)
    for one, two in ((result[0](0.1), plain(0.1)), (result[0].epsilon(1e-3), plain.epsilon(1e-3))):
        assert one == two
    three, again = result[0] @ to.Laplace(1), plain @ to.Laplace(1)
    assert three.delta(0.5) == pytest.approx(again.delta(0.5), abs=1e-9)
    assert to.Gaussian(1).assumptions == () == (to.Laplace(1) ** 3).assumptions
    twice = f.assuming("the earth is too.") @ f
    assert twice.assumptions == (*stated, "the earth is too.")
    assert "assumes: the moon" in str(to.compare(f, {}))


@pytest.mark.parametrize("half", [0.5, F(1, 2)])
def test_polygon_with_vertical_fall_raises(half):
    with pytest.raises(CurveError, match="not convex at vertex 1"):
        to.PiecewiseLinear([0, half, half, 1], [1, half, half / 2, 0])
    # at 0 it is the certain probability, and a vertex given twice is no fall
    start = to.PiecewiseLinear([0, 0, 1], [1, half, 0])
    assert start == to.PiecewiseLinear([0, 1], [half, 0])
    assert to.PiecewiseLinear([0, half, half, 1], [1, half / 2, half / 2, 0]).beta[1] == half / 2


@pytest.mark.parametrize("exact", [True, False])
@settings(max_examples=40, deadline=None)
@given(curve=exact_curves, deltas=some.lists(some.floats(1e-9, 1 - 1e-9), min_size=1))
def test_arrays_of_answers_contain_exact_ones(exact, curve, deltas):
    """Also next to the losses of segments, where the vertex that decides changes."""
    f = curve if exact else curve.floats()
    corners = f.vertices
    slopes = [(b - d) / (c - a) for (a, b), (c, d) in pairwise(corners)]
    near = [math.log(s) for s in slopes if s > 0]
    losses = np.array([*near, *np.nextafter(near, 9.0), *np.nextafter(near, -9.0), -3.0, 0.0, 0.7])
    deltas += [d for d in (float(1 - b - s * a) for s, (a, b) in zip(slopes, corners, strict=False)) if d < 1]
    levels = np.array([d for d in deltas if d > f.mass_at_infinity.upper])
    with mpmath.workdps(60):
        of = lambda x: mpmath.mpf(x.numerator) / x.denominator  # noqa: E731 - as short as a formula
        for x, low, high in zip(losses, *f.bounds.delta(losses), strict=True):
            assert low <= max(1 - of(b) - mpmath.exp(x) * of(a) for a, b in corners) <= high
        for level, low, high in zip(levels, *f.bounds.epsilon(levels), strict=True):
            rest = [(1 - of(b) - mpmath.mpf(level), of(a)) for a, b in corners if a > 0]
            assert low <= max(mpmath.log(d / a) if d > 0 else -mpmath.inf for d, a in rest) <= high
            assert high - low <= 1e-9 or 1 - level < 1e-6


def test_from_masses_of_many_outcomes_is_exact():
    n = 10_000
    p = np.arange(1, n + 1) / (n * (n + 1) / 2)
    f = to.from_masses(p, p[::-1])
    x = np.arange(1, n + 1)
    assert f.is_rational
    assert float(f.hockey_stick(1)) == pytest.approx(
        np.sum(np.maximum(n + 1 - 2 * x, 0)) / (n * (n + 1) / 2), rel=1e-12
    )


def test_from_epsilon_delta_accepts_all_forms():
    table = {0.5: 0.01, 1.0: 1e-5}
    f = to.Profile.from_epsilon_delta(table)
    assert (
        f
        == to.Profile.from_epsilon_delta(list(table.items()))
        == to.Profile.from_epsilon_delta(iter(table.items()))
    )
    assert f == to.Profile.from_epsilon_delta(table.get, epsilons=[1.0, 0.5])


def test_from_epsilon_delta_of_function_is_safe():
    g = to.Gaussian(0.8)
    f = to.Profile.from_epsilon_delta(g.delta, epsilons=np.linspace(0, 3, 121))
    losses, alphas = np.array([0.0, 0.1, 1.0, 2.0, 2.9]), np.array([1e-9, 1e-3, 0.1, 0.5, 0.9])
    assert np.all(f.delta(losses) >= g.bounds.delta(losses).lower)
    assert np.all(f.delta(losses) <= 1.002 * g.delta(losses))
    assert np.all(f(alphas) <= g.bounds(alphas).upper)
    assert to.Profile.from_epsilon_delta(lambda _: 0.0) == to.Identity()
