"""Every public call with absurd arguments: an answer without NaN, or one error of one line; no warning."""

import datetime as dt
import itertools
import math
import re
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
import sympy

import tradeoff as to
from tradeoff.curves.parameters import MOST
from tradeoff.errors import PrecisionError, TradeOffError

B, L, M = to.baselines, to.limits, to.mechanisms

ABSURD = (
    # Numbers at and beyond the ends of floats.
    *(10**400, -(10**400), 10**5000, Fraction(10**400), Fraction(1, 10**400)),
    *(2**63, 2**64 + 1, 10**18, MOST, MOST + 1, -(2**63)),
    *(math.nan, math.inf, -math.inf, 0, -0.0, -1, -0.5, 5e-324, 1e-300, 1e16, 1e154, 1e300),
    *(1.7e308, 1.7976931348623157e308, -1.7e308),
    *(Decimal("NaN"), Decimal("1e400"), np.longdouble("1e400"), np.float16("inf"), np.uint64(2**64 - 1)),
    *(sympy.oo, sympy.nan, sympy.pi),
    # Ordinary numbers of every type.
    *(0.5, 1, 2, Fraction(1, 3), Decimal("0.5"), np.float32(0.5), np.int8(1), np.array(0.5)),
    sympy.Rational(1, 2),
    # Other objects.
    *(True, np.True_, None, "0.5", b"1", bytearray(b"1"), "", 1j, np.complex128(0.5)),
    *(np.datetime64("2020-01-01"), np.timedelta64(5, "D"), dt.date(2020, 1, 1), object, {}, {0.5: 0.1}),
    *(set(), range(3), lambda x: x, to.Gaussian(1), sympy.Symbol("s"), sympy.I),
    # Arrays.
    *([], [0.5], [[0.5, 0.25], [0.1, 1]], [0.5, math.nan], [[1], [1, 2]], ["a"], [None], [10**400], [1j]),
    *((True, False), np.array([0.5]), np.zeros((2, 0)), np.ma.masked_array([0.5, 0.2], [False, True])),
    *(np.ma.masked, np.array([True]), np.array(["2020-01-01"], dtype="datetime64[D]")),
    *(np.array([0.5 + 1j]), np.array([Fraction(1, 3)]), np.array([sympy.Symbol("s")])),
)

f, composed = to.Gaussian(1.0), to.Laplace(0.5) ** 4
exact = to.PiecewiseLinear([0, Fraction(1, 3), 1], [1, Fraction(1, 3), 0])
CURVES = {
    "Gaussian": f,
    "Laplace": to.Laplace(1.0),
    "PureDP": to.PureDP(1.0),
    "TotalVariation": to.TotalVariation(0.1),
    "Identity": to.Identity(),
    "PiecewiseLinear": exact,
    "LocationShift": to.LocationShift(scipy.stats.logistic(), 1.0),
    "product": composed,
    "leaking": composed @ to.TotalVariation(0.1),
    "subsampled": to.subsample(f, 0.1),
    "envelope": to.subsample(f, 0.1).symmetrise(assume="either-order"),
    "mixture": to.mixture({f: 0.5, to.Laplace(1.0): 0.5}),
    "maximum": to.maximum(f, to.PureDP(1.0)),
    "discrete": M.DiscreteLaplace(scale=2.0, sensitivity=2).curve(),
}

CALLS = """
f(0.3, tol=x)  f(0.3, memory=x)  f(0.3, method=x)  f(0.3, n_jobs=x)  f(0.3, progress=x)
f.delta(0.5, tol=x)  f.delta(0.5, memory=x)  f.delta(0.5, method=x)  f.delta(0.5, n_jobs=x)
f.epsilon(0.1, tol=x)  f.epsilon(0.1, memory=x)  f.epsilon(0.1, method=x)  f.epsilon(0.1, n_jobs=x)
to.Gaussian(1)**x  to.PureDP(1)**x  composed**x
to.subsample(f, 0.5, scheme=x)  to.subsample(x, 0.5)  to.mixture(x)  to.mixture({f: x, to.Laplace(1): 0.5})
to.maximum(f, x)  to.minimum(x)  f.dual().conjugate(x)  exact.hockey_stick(x)  f >= x
f.dominates(to.Gaussian(2), failure=x)  f.distance(to.Gaussian(2), metric=x)  f.distance(x)
f.gdp(x).mu  f.tabulate(x)
to.Gaussian(x)  to.Laplace(x)  to.PureDP(x)  to.TotalVariation(x)  to.Symbolic(x)
to.approximate_dp(x, 0.1)  to.approximate_dp(1.0, x)  to.LocationShift(x, 1.0)
to.LocationShift(stats.norm(), x)  to.LocationShift(stats.laplace(), x)
to.LocationShift(stats.logistic(), x)  to.LocationShift(stats.gumbel_r(), x)
to.PiecewiseLinear(x, x)  to.PiecewiseLinear([0, x, 1], [1, 0.25, 0])
to.PiecewiseLinear([0, 0.5, 1], [1, x, 0])
to.Profile.from_epsilon_delta(x)  to.Profile.from_epsilon_delta({0.5: x})
to.Profile.from_epsilon_delta({x: 0.1} if is_hashable(x) else x)
M.Gaussian(noise_multiplier=x).curve()  M.Laplace(scale=x).curve()
M.Laplace(scale=2.0, sensitivity=x).curve()
M.SubsampledGaussian(x, 0.1).curve()  M.SubsampledGaussian(1.0, x).curve()
M.SubsampledLaplace(x, 0.1).curve()  M.SubsampledLaplace(2.0, x).curve()
M.SubsampledLaplace(2.0, 0.1, x).curve()
M.RandomizedResponse(x, 3).curve()  M.RandomizedResponse(1.0, x).curve()  M.PureDP(x).curve()
M.ApproximateDP(x, 0.1).curve()  M.ApproximateDP(1.0, x).curve()
M.DiscreteGaussian(x, 1).curve()  M.DiscreteGaussian(2.0, x).curve()
M.DiscreteLaplace(x, 2).curve()  M.DiscreteLaplace(2.0, x).curve()
to.Plan(x).guarantee()  to.Plan({M.PureDP(2): x}).guarantee()  to.Plan({}, adjacency=x).guarantee()
B.basic_composition(x, 1e-6, n=3)  B.basic_composition(0.5, x, n=3)  B.basic_composition(0.5, 1e-6, n=x)
B.advanced_composition(x, n=3, slack=1e-6)  B.advanced_composition(0.5, x, n=3, slack=1e-6)
B.advanced_composition(0.5, n=x, slack=1e-6)  B.advanced_composition(0.5, n=3, slack=x)
B.advanced_composition(0.5, n=3, slack=1e-6, form=x)
B.optimal_composition(0.5, 1e-7, n=x, at_delta=1e-5)  B.optimal_composition(0.5, 1e-7, n=3, at_delta=x)
B.zcdp_route(x, 1e-5)  B.zcdp_route(0.5, x)  B.zcdp_route(0.5, 1e-5, conversion=x)
B.renyi_route(x, 1e-5)  B.renyi_route(f, x)  B.renyi_route(f, 1e-5, orders=x)
B.classical_gaussian(x, 1e-5)  B.classical_gaussian(0.5, x)  B.classical_gaussian(0.5, 1e-5, sensitivity=x)
B.exact_gaussian(x, 1e-5)  B.exact_gaussian(0.5, x)  B.exact_gaussian(0.5, 1e-5, sensitivity=x)
B.laplace_basic(x, n=3)  B.laplace_basic(0.5, n=x)  B.laplace_basic(0.5, n=3, sensitivity=x)
B.laplace_advanced(x, 1e-5, n=3)  B.laplace_advanced(0.5, x, n=3)  B.laplace_advanced(0.5, 1e-5, n=x)
L.epsilon_delta_clt(x, 1e-6, n=100)  L.epsilon_delta_clt(0.1, x, n=100)  L.epsilon_delta_clt(0.1, 1e-6, n=x)
L.dp_sgd_clt(x, 1.0, 100)  L.dp_sgd_clt(0.01, x, 100)  L.dp_sgd_clt(0.01, 1.0, x)
L.dp_sgd_clt(0.01, 1.0, 100, scheme=x)
L.clt(x)  L.edgeworth(x)  L.berry_esseen(x)  L.kl(x)  L.kappa2(x)  L.kappa3(x)  L.kappa3bar(x)
CLT(x)  CLT.delta(x)  CLT.epsilon(x)  EDGEWORTH(x)  EDGEWORTH.delta(x)  EDGEWORTH.epsilon(x)
BAND.bounds(x)  BAND.delta(x)  BAND.epsilon(x)
""".strip()
OF_CURVES = """
curve(x)  curve.delta(x)  curve.epsilon(x)  curve @ x  curve.group(x)  curve.symmetrise(assume=x)
to.subsample(curve, x)  curve.renyi(x)
""".strip()
NAMES = {"to": to, "B": B, "L": L, "M": M, "stats": scipy.stats, "f": f, "composed": composed, "exact": exact}
NAMES |= {"CLT": L.clt(composed), "EDGEWORTH": L.edgeworth(composed), "BAND": L.berry_esseen(composed)}


def is_hashable(value):
    try:
        hash(value)
    except (TypeError, ValueError):  # NumPy's intervals of time raise the latter
        return False
    return True


def numbers(result):
    """Yield the numbers of an answer; a curve of numbers is evaluated, and answers or raises."""
    if isinstance(result, to.TradeOff):
        if not (result.free_symbols or result.composed):
            for ask, at in (
                (result.bounds, [0.0, 1e-300, 0.3, 1.0]),
                (result.bounds.delta, [-1.0, 0.0, 1.0, 1.7e308]),
                (result.bounds.epsilon, 1e-5),
            ):
                yield from numbers(ask(at))
    elif isinstance(result, tuple):  # bounds, and records
        for each in result:
            yield from numbers(each)
    elif isinstance(result, B.Baseline | B.Calibration):
        yield from (result.epsilon, result.delta)
        yield from numbers(result.guarantee())
    elif isinstance(result, float | np.floating | np.ndarray):
        yield result


def wrong(call, value, **names):
    """Return what is wrong with the answer to an absurd argument; nothing where all is well."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = [
                np.isnan(np.asarray(each, dtype=float)).any()
                for each in numbers(eval(call, {**NAMES, **names, "x": value, "is_hashable": is_hashable}))
            ]
    except TradeOffError as error:
        return "" if len(str(error)) > 10 and "\n" not in str(error) else f"raises {str(error)!r}"
    except Exception as error:  # noqa: BLE001 - whatever else is raised is what is looked for
        return f"raises {type(error).__name__}: {error}"
    return "answers NaN" if any(result) else ""


def calls(text):
    return re.split(r"  |\n", text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "name"), [*((call, None) for call in calls(CALLS)), *itertools.product(calls(OF_CURVES), CURVES)]
)
def test_absurd_arguments_are_answered_or_refused(call, name):
    result = [wrong(call, value, curve=CURVES.get(name)) for value in ABSURD]
    assert not any(result), "\n".join(
        f"argument {k}, a {type(value).__name__}, {problem}"
        for k, (value, problem) in enumerate(zip(ABSURD, result, strict=True))
        if problem
    )


def test_subsampled_mass_is_at_least_zero():
    assert (to.subsample(to.Gaussian(1), 1e-30) ** 1000).delta(0) < 3.83e-28  # 1000 of one step's
    for delta in (0.5, 1e-5, 1e-300):
        truth = Fraction(delta) * Fraction(1e-300)
        assert to.subsample(to.TotalVariation(delta), 1e-300).mass_at_infinity.lower <= truth


def test_subsampled_gaussian_at_largest_mu_answers_or_refuses():
    f = to.subsample(to.Gaussian(1e4), 0.1) ** 7
    assert 1 - 0.9**7 <= f.delta(1.0) <= 1.0
    assert f.bounds(0.1).upper <= 0.9
    with pytest.raises(PrecisionError, match="use a larger delta"):
        f.epsilon(1e-6)


def test_steps_of_little_noise_are_nearly_leaks():
    """A sampled record is seen, and e^(k mu) of a window is no float; losses are two atoms but for e^-30."""
    for sigma, n in ((0.03, 10), (0.048, 10), (0.125, 2), (0.05, 50)):
        f = to.subsample(to.Gaussian(1 / sigma), 0.01) ** n
        low, high = f.bounds([0.3, 0.97])
        assert np.all((low <= 0.99**n * np.array([0.7, 0.03]) * (1 + 1e-6)) & (high - low < 1e-6))
        low, high = f.bounds.delta(3.0)
        assert low <= 1 - 0.99**n <= high + 1e-3 * (sigma > 0.1) + 1e-12
        assert high - low < 1e-7


@pytest.mark.slow
def test_epsilon_of_few_runs_of_four_kinds_is_narrow_by_default():
    m = to.mechanisms
    four = {m.RandomizedResponse(epsilon=0.29): 1, m.SubsampledGaussian(0.84, 0.00084): 1}
    four |= {m.DiscreteGaussian(sigma=10): 2, m.Laplace(scale=17): 5}
    low, high = to.Plan(four).guarantee().bounds.epsilon(1e-11)
    assert 1.3703 < low <= high < 1.37043  # which is dp_accounting's bound, of intervals of 1e-4


def test_crowded_and_empty_losses_are_answered():
    """Sampling leaves two atoms with one float; of the positive losses of a mixture none is in the plan."""
    crowded = to.subsample(to.mechanisms.DiscreteGaussian(1.2860795692487201 / 3).curve(), 0.7339781453918625)
    assert 0 < to.Plan({to.mechanisms.Custom(crowded**2): 1}).guarantee().bounds(2.6e-8).lower < 1
    mixed = to.mixture({to.Gaussian(1200.0): 4.909e-91, to.TotalVariation(2.304e-9): 1.0}) ** 3
    assert -5e-7 < mixed.bounds.epsilon(4.1e-7).lower <= mixed.bounds.epsilon(4.1e-7).upper <= 0
    tiny = to.certify(to.subsample(to.PureDP(1.0), 0.1), "beta", 5e-324)
    assert 1 - 1e-12 < tiny.lower <= tiny.upper <= 1
    shifted = to.LocationShift(scipy.stats.logistic(), 3e-16) @ to.PureDP(1.0) ** 1249  # a line at c = 1/2
    assert 0.999 < shifted.bounds.delta(0.1).lower <= 1.0
    assert 4.67e-6 < (to.subsample(to.Gaussian(656.33), 9.36e-7) ** 5).delta(27.2) < 4.69e-6
