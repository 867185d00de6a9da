"""Numbers that are no floats: kept as they are, or rounded to where more is lost, whatever their type."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.stats as st
import sympy

import tradeoff as to
from tradeoff.conversions import from_renyi
from tradeoff.curves.parameters import ratio_of, real
from tradeoff.errors import DomainError, PlanError, SymbolError, TradeOffError
from tradeoff.families.discrete import AllocatedCurve, DiscreteGaussianCurve, DiscreteLaplaceCurve
from tradeoff.families.symbolic_values import floats_beside
from tradeoff.families.truncated import Truncated
from tradeoff.interop import opacus, opendp

TINY = Decimal("1e-400")
LITTLE = Fraction(1, 2**60)

KINDS: dict[str, Callable[[Fraction], Any]] = {
    "fraction": lambda x: x,
    "decimal": lambda x: Decimal(x.numerator) / Decimal(x.denominator),
    "longdouble": lambda x: np.longdouble(x.numerator) / np.longdouble(x.denominator),
    "mpf": lambda x: mpmath.MPContext().mpf(x.numerator) / x.denominator,
    "sympy": lambda x: sympy.Rational(x.numerator, x.denominator),
    "array": np.array,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", [-1, 1])
def test_a_number_beside_a_float_is_rounded_to_the_side_asked(kind: str, side: int) -> None:
    given = KINDS[kind](Fraction(3, 8) * (1 + side * LITTLE))
    exact = ratio_of(given)
    assert exact is not None
    low, high = real("x", given, down=True), real("x", given, up=True)
    assert Fraction(low) <= exact <= Fraction(high)
    assert high == low or high == math.nextafter(low, 1)


@pytest.mark.parametrize(
    "value", [sympy.sqrt(3), sympy.log(5), sympy.pi, np.int64(2**53 + 1), np.uint64(2**63 + 1)]
)
def test_irrational_and_large_numbers_have_sides_too(value: Any) -> None:
    low, high = real("x", value, down=True), real("x", value, up=True)
    exact = int(value) if isinstance(value, np.integer) else value
    assert low < exact < high


@pytest.mark.parametrize(
    ("value", "low", "high", "ends", "inside"),
    [
        (1 + LITTLE, 0, 1, {}, False),
        (1 - LITTLE, 0, 1, {"open_high": True}, False),  # its float is 1
        (-LITTLE / 10**20, 0, 1, {}, False),
        (Fraction(1, 10**400), 0, 1, {}, True),
        (Fraction(1, 10**400), 0, 1, {"open_low": True}, False),
        (Fraction(1, 10**400), 0, 1, {"open_low": True, "up": True}, True),
        (Decimal("NaN"), 0, 1, {}, False),
        (Decimal("inf"), 0, math.inf, {}, True),
        (mpmath.mpf("nan"), 0, 1, {}, False),
        (np.array([0.5]), 0, 1, {}, False),
    ],
)
def test_ranges_are_those_of_the_number_itself(
    value: Any, low: float, high: float, ends: dict[str, bool], inside: bool
) -> None:
    if inside:
        real("x", value, low, high, **ends)
    else:
        with pytest.raises(DomainError, match="x = "):
            real("x", value, low, high, **ends)


@pytest.mark.parametrize(
    "value",
    [True, np.True_, "1", None, math.nan, math.inf, Decimal("inf"), np.longdouble("nan"), 1j, sympy.oo],
)
def test_what_is_no_ratio(value: Any) -> None:
    assert ratio_of(value) is None


LOST = {
    "leak": lambda: to.TotalVariation(TINY),
    "leak in long doubles": lambda: to.TotalVariation(np.longdouble("1e-4000")),
    "power": lambda: to.TotalVariation(Fraction(1, 10**400)) ** 4,
    "product": lambda: to.approximate_dp(1e-300, Fraction(1, 10**400)) ** 4,
    "weight": lambda: to.mixture({to.TotalVariation(1): TINY, to.Identity(): 1 - Fraction(TINY)}),
    "weight of a mean": lambda: to.GaussianMixtures({0: 1}, {0: 1, 1: TINY}, 1),
    "shift": lambda: to.LocationShift(st.norm(), TINY),
    "mass": lambda: to.from_masses([1, 0], [1 - Fraction(TINY), TINY]),
    "formula": lambda: to.TotalVariation(sympy.Symbol("d") ** 2).subs({"d": 1e-200}),
    "rate": lambda: opacus_of(TINY),
}


def opacus_of(rate: Any) -> to.TradeOff:
    accountant = opacus.Accountant()
    accountant.step(noise_multiplier=Decimal(1), sample_rate=rate)
    return accountant.plan.guarantee()


@pytest.mark.parametrize("name", LOST)
def test_what_is_below_all_floats_is_not_nothing(name: str) -> None:
    """No epsilon is small enough where anything at all is given away, and none is 0 where a loss is."""
    curve = LOST[name]()
    assert curve != to.Identity()
    assert curve.bounds.delta(0.0).upper > 0
    assert curve.bounds.epsilon(0.0).upper > 0


def test_leaks_below_all_floats_multiply_in_any_order() -> None:
    leak = to.TotalVariation(Fraction(1, 10**400))
    assert ((leak**4) ** 10**400).delta(0) == pytest.approx(-math.expm1(-4))
    assert (leak ** (4 * 10**400)).delta(0) == pytest.approx(-math.expm1(-4))
    third = to.TotalVariation(Fraction(1, 3 * 10**1300))
    assert ((third @ third) ** 10**1300).delta(0) == pytest.approx(-math.expm1(-2 / 3))


def test_epsilon_is_infinite_up_to_the_leak_itself() -> None:
    below = Decimal("0.29999999999999999")
    assert to.approximate_dp(1, Decimal("0.3")).epsilon(below) == math.inf
    assert to.Profile.from_epsilon_delta(lambda _: Fraction(3, 10)).epsilon(below) == math.inf
    line = to.PiecewiseLinear([0, Decimal("0.9")], [Decimal("0.9"), 0])
    assert line.is_rational
    assert line.epsilon(Decimal("0.09999999999999999")) == math.inf
    assert not to.TotalVariation(0.3).dominates(to.Identity(), failure=Decimal("0.29999999999999998"))


def test_formulas_are_put_in_exactly_and_rounded_up() -> None:
    x, p = sympy.symbols("x p")
    for value in np.random.default_rng(1).uniform(0.1, 0.9, 20).tolist():
        exact = Fraction(value) / 3
        assert Fraction(to.PureDP(x / 3).subs({x: value}).epsilon_0) >= exact
        assert Fraction(to.Laplace(x / 3).subs({x: value}).epsilon_0) >= exact
        assert 1 - to.TotalVariation(x / 3).subs({x: value}).kept_0 == exact
        sampled = to.subsample(to.Gaussian(x), p / 3, scheme="without-replacement").subs({x: 1.0, p: value})
        assert Fraction(sampled.operands[0].p) >= exact
    assert (to.TotalVariation(x) ** 2).subs({x: Fraction(1, 3)}).kept_0 == Fraction(4, 9)
    low, high = to.subsample(to.TotalVariation(x), p).subs({p: Decimal("0.3"), x: 1.0}).bounds.delta(1.0)
    assert low <= Fraction(3, 10) <= high


@pytest.mark.parametrize("make", [to.PureDP, to.Gaussian, to.Laplace, to.TotalVariation])
def test_formulas_are_put_in_exactly_in_any_number_of_steps(make: Callable[[Any], to.TradeOff]) -> None:
    x, y = sympy.symbols("x y")
    curve = make(0.1 * x * y)
    steps = curve.subs({x: 0.3}).subs({y: 1})
    assert steps == curve.subs({x: 0.3, y: 1}) == curve.subs({y: 1}).subs({x: 0.3})
    assert "0.03*y" in repr(curve.subs({x: 0.3}))
    if make is to.PureDP:
        assert Fraction(steps.epsilon_0) >= Fraction(0.1) * Fraction(0.3)


THIRD = sympy.Rational(1, 3)
X, Y, N = sympy.symbols("x y n", positive=True)
FORMULAS: list[tuple[Any, dict[Any, Any]]] = [
    (X * sympy.sqrt(1 + sympy.exp(-200)), {X: 1}),  # above 1 by less than forty digits hold
    (sympy.log(1 + X), {X: 1e-50}),
    (sympy.log(1 + X), {X: Fraction(1, 10**300)}),
    (sympy.log(1 + X) / X, {X: 1e-60}),
    (sympy.log(1 + X) + X, {X: 1e-60}),
    (sympy.log(1 + sympy.exp(-X)), {X: 110}),
    (sympy.log(1 + X * (sympy.exp(Y) - 1)), {X: 1e-30, Y: 1e-30}),
    (1 - sympy.exp(-X), {X: 100}),
    (sympy.erf(X), {X: 30}),
    (sympy.tanh(X), {X: 60}),
    (sympy.Mod(X, 1) * sympy.exp(Y), {X: Fraction(7, 3), Y: 1}),
    (1 - (1 - X) ** N, {X: 0.01, N: 10**6}),
    ((1 + 1 / N) ** N, {N: 20_000}),
    ((1 + 1 / N) ** N, {N: 10**6}),
    (sympy.Rational(999, 1000) ** N, {N: 20_000}),
    ((1 + X) ** 100 * (1 + (1 + X) ** 100) ** 100 / 20, {X: 1e-9}),
    (X**2000, {X: sympy.sqrt(2) * sympy.Rational(2, 3)}),
    (10 ** (-N), {N: 3_000_000}),
    (X, {X: sympy.pi}),
    (1 - sympy.exp(-X / Y) + N**2000, {X: 4.5, Y: Fraction(5, 3), N: 0.3}),
    (X / Y + N**2000, {X: 0.5, Y: 1 / sympy.sqrt(sympy.pi), N: 0.3}),
    (1 - 1 / X + N**2000, {X: 4.5, N: 0.3}),
    (sympy.Rational(1, 3) + sympy.exp(X**2) * (1 - sympy.erf(X)), {X: 12}),
    (sympy.ceiling(Y + X**1000) / 3, {X: 0.3, Y: 1}),
    (sympy.log(1 + X**300), {X: 0.3}),
    (X**1000 / Y**1000, {X: 10**600 + 1, Y: 10**600}),
    (sympy.exp(Y * sympy.log(X)), {X: 0.3, Y: 10**6}),
    (sympy.log(sympy.factorial(X)), {X: 10**6}),
    (sympy.sqrt(1 + X**300), {X: 0.3}),
    (1 / (X * (1 - sympy.exp(-1 / X))), {X: 10**40}),
    (sympy.erfc(X), {X: 1000}),
    (-sympy.sqrt(2) * sympy.erfcinv(2 * (1 - X) ** (1 / N)), {X: Fraction(1, 10**27), N: 3}),
    (-sympy.erfcinv(2 * sympy.exp(-X)), {X: Fraction(1, 10**40)}),
    (sympy.exp(sympy.erf(X) / Y - 1), {X: 9, Y: 2}),
    (sympy.besseli(X, Y) + 1, {X: 2, Y: Fraction(1, 3)}),
    (sympy.erfcinv(X), {X: 1 - Fraction(3, 2**60)}),
    (sympy.floor(sympy.log(X) / sympy.log(3)) + sympy.exp(-Y), {X: 8, Y: 1}),
    (sympy.Piecewise(((sympy.exp(X) - 1) / X, sympy.Ne(X, 0)), (1, True)), {X: 0.5}),
    (sympy.Piecewise((sympy.oo, X < 0), (sympy.exp(X), True)), {X: 1}),
    (sympy.GoldenRatio * sympy.exp(X), {X: 1}),
]


@pytest.mark.parametrize(("formula", "values"), FORMULAS)
def test_formulas_come_to_the_float_above_them(formula: Any, values: dict[Any, Any]) -> None:
    with mpmath.workdps(700):
        known = {"erfcinv": lambda y: mpmath.erfinv(1 - y)}
        truth = sympy.lambdify([X, Y, N], formula, modules=[known, "mpmath"])(
            *(mpmath.mpmathify(sympy.sympify(values.get(name, 0)).evalf(700)) for name in (X, Y, N))
        )
        found = to.PureDP(formula).subs(values).epsilon_0
        assert math.nextafter(found, 0) < truth <= found
    assert to.Gaussian(formula).subs(values).mu == found


@pytest.mark.parametrize("seed", range(20))
def test_formulas_evaluated_in_balls_hold_fractions(seed: int) -> None:
    """What is compiled is what is meant: signs, quotients and powers nested at random."""
    rng, names = np.random.default_rng(seed), sympy.symbols("a0:4")
    values = {name: sympy.Rational(*rng.integers(1, 10, 2).tolist()) for name in names}
    pool = [*names, sympy.Rational(-2, 9), sympy.Integer(-3)]
    for _ in range(12):
        one, two = (pool[i] for i in rng.integers(0, len(pool), 2))
        pool.append(
            [one + two, one - two, one * two, -one / (two + 7), (one - 9) ** int(rng.integers(-3, 4))][
                rng.integers(5)
            ]
        )
    for formula in pool:
        truth = formula.subs(values, simultaneous=True)
        if truth.is_finite:
            low, high = floats_beside(formula, values)
            assert low <= truth <= high
            assert high <= np.nextafter(np.nextafter(low, np.inf), np.inf) or math.isnan(low)


def test_values_of_formulas_do_not_hang_on_threads() -> None:
    curve, values = to.Gaussian(X * Y + X / Y), {X: Fraction(3, 10), Y: Fraction(5, 7)}
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda _: curve.subs(values).square, range(100)))
    assert found == [Fraction(12321, 30625)] * 100


@pytest.mark.parametrize(
    ("formula", "values"),
    [
        (X ** sympy.factorial(Y), {X: 0.3, Y: 10**7}),
        (X ** (Y**N), {X: 0.3, Y: 10, N: 20}),
        (sympy.cbrt(X) * sympy.exp(Y), {X: -2, Y: 0}),
        (1 + sympy.exp(-X) * (X - 3) ** (1 / N), {X: 1, N: 2}),
        (1 + sympy.erf((X - 3) ** THIRD), {X: 1}),
        (sympy.Max(0.1, X**THIRD * sympy.exp(Y)), {X: -2, Y: 0}),
        pytest.param(1 / sympy.besseli(2, sympy.erf(X) - sympy.erf(Y)), {X: 1, Y: 1}, marks=pytest.mark.slow),
        (sympy.gamma(sympy.exp(X)), {X: 10**5}),
        (sympy.polylog(3 * THIRD / 2, -sympy.exp(X)), {X: 50}),
        (sympy.EulerGamma * sympy.exp(X), {X: 1}),
        (sympy.betainc_regularized(20, 30, X, 1), {X: 0.99}),
        (sympy.zeta(X, Y) * 10**179, {X: 60, Y: 1000}),
        (sympy.harmonic(X) * 10**28, {X: Fraction(1, 10**28)}),
        (sympy.besselk(X, Y), {X: 1 + Fraction(1, 2**100), Y: 100}),
        (sympy.Piecewise((0.5, sympy.Eq(X + sympy.log(3), sympy.log(6))), (0.3, True)), {X: sympy.log(2)}),
        (X * sympy.log(Y), {X: 1, Y: 0}),
        (sympy.Sum(1 / Y, (Y, 1, N)) * sympy.log(X), {X: 3, N: 10}),
    ],
)
def test_what_has_no_digits_is_one_sentence(formula: Any, values: dict[Any, Any]) -> None:
    with pytest.raises(DomainError, match="no digits are known; give the number it comes to"):
        to.Gaussian(formula).subs(values)


def test_symbols_are_named_as_they_like() -> None:
    e, pi = sympy.symbols("e pi")
    for formula, values in (
        (sympy.E * e * sympy.erf(5), {e: 0.1}),
        (sympy.pi * pi + sympy.exp(-9), {pi: 0.1}),
        (sympy.exp(X) + sympy.Symbol("x"), {X: 0.1, sympy.Symbol("x"): 0.2}),
    ):
        low, high = floats_beside(formula, {name: sympy.Rational(value) for name, value in values.items()})
        assert low <= formula.evalf(40, subs=values) <= high
        assert to.Gaussian(formula).subs(values).mu == high


def test_leaks_of_all_are_1() -> None:
    z = sympy.Symbol("z")
    assert to.TotalVariation(sympy.sign(z)).subs({z: 3}).delta_0 == 1
    for formula, value in ((sympy.erf(X), 100), (sympy.tanh(X), 5000)):
        assert to.TotalVariation(formula).subs({X: value}) == to.TotalVariation(1)
    nearly = (sympy.exp(X) - 1) / (sympy.exp(X) + 1)
    assert to.TotalVariation(nearly).subs({X: 10_000}).delta_0 == 1
    assert to.Gaussian(sympy.floor(sympy.log(X) / sympy.log(2))).subs({X: 8}).mu == 3


def test_even_functions_are_looked_at_in_the_middle() -> None:
    low, high = floats_beside(
        sympy.cos(sympy.exp(X) - sympy.exp(Y)), {X: sympy.Integer(80), Y: sympy.Integer(80)}
    )
    assert low <= 1 <= high <= 1
    z = sympy.Symbol("z")
    for argument, values in (
        (sympy.exp(X + Y) - sympy.exp(X) * sympy.exp(Y), {X: 100, Y: 120}),
        (sympy.exp(X) * Y - sympy.exp(X) * z * (1 + z), {X: 220, Y: Fraction(4, 9), z: THIRD}),
    ):
        found = to.Gaussian(sympy.Rational(3, 10) + sympy.besselj(0, argument)).subs(values).mu
        assert 1.3 <= found < 1.3000000000000006


def test_comparisons_of_what_is_not_real() -> None:
    z = sympy.Symbol("z")
    for first, last, value in ((z <= 0, 1 / z < 1, 0), (z < 0, sympy.sqrt(z) < 1, -1)):
        curve = to.Gaussian(sympy.Piecewise((2, first), (1, last), (3, True)))
        assert curve.subs({z: value}) == to.Gaussian(2)
        with pytest.raises(DomainError):
            to.Gaussian(sympy.Piecewise((1, last), (2, True))).subs({z: value})
    assert to.Gaussian(sympy.gamma(X)).subs({X: sympy.oo}) == to.Gaussian(math.inf)


def test_short_numbers_stay_in_functions() -> None:
    assert repr(to.Gaussian(sympy.tanh(X) * Y).subs({X: 0.5})) == "G_{y*tanh(1/2)}"
    assert to.PureDP(sympy.exp(X) * Y).subs({X: 1}).subs({Y: 2}).epsilon_0 == pytest.approx(2 * math.e)
    for value in (Decimal("1e-100000000"), mpmath.mpf("1e-100000000")):
        with pytest.raises(DomainError, match="more digits than are kept"):
            to.Gaussian(sympy.exp(X)).subs({X: value})
        assert to.Gaussian(value).mu == 5e-324


@pytest.mark.parametrize(
    "number",
    [
        sympy.Rational(8, 7) + sympy.besselj(0, 1),
        sympy.Rational(9, 7) + sympy.erfinv(THIRD),
        pytest.param(
            sympy.gamma(THIRD) * sympy.gamma(2 * THIRD) * sympy.sqrt(3) / (2 * sympy.pi),
            marks=pytest.mark.slow,
        ),
        1 / (10**40 * (1 - sympy.exp(-sympy.Rational(1, 10**40)))),
        sympy.GoldenRatio,
        -sympy.besselj(sympy.Rational(1, 2), sympy.Rational(int(mpmath.floor(mpmath.pi * 2**97)), 2**97)),
        sympy.erfinv(1 - sympy.Rational(3, 2**97)),
    ],
)
def test_numbers_of_functions_are_between_their_floats(number: Any) -> None:
    low, high = real("x", number, down=True), real("x", number, up=True)
    with mpmath.workdps(100):
        known = {"erfcinv": lambda y: mpmath.erfinv(1 - y)}
        truth = sympy.lambdify([], number, modules=[known, "mpmath"])()
        assert low <= truth <= high <= math.nextafter(math.nextafter(low, math.inf), math.inf)


def test_numbers_of_sympy_are_between_their_floats() -> None:
    little = sympy.log(1 + sympy.Rational(1, 10**60))
    assert to.PureDP(little).epsilon_0 == to.Gaussian(little).mu > 1e-60
    assert to.TotalVariation(little).bounds.delta(0.0).upper > 1e-60
    assert to.Gaussian(mpmath.pi).mu == to.Gaussian(sympy.pi).mu > math.pi
    assert to.Gaussian(sympy.oo).mu == math.inf
    for odd in (sympy.I, sympy.zoo, sympy.nan):
        with pytest.raises(DomainError, match="mu = "):
            to.Gaussian(odd)
    for rule in (2 * X, X):
        with pytest.raises(DomainError):
            to.Gaussian(rule).subs({X: "0.3"})


def test_symbols_left_beside_long_numbers() -> None:
    """What would be kept exactly has too many digits; evaluated at once it has none."""
    long = to.Gaussian(Y * (1 + X) ** 20_000)
    with pytest.raises(SymbolError, match="put all symbols in at once"):
        long.subs({X: 0.1})
    assert long.subs({X: 1e-9, Y: 1}).mu == pytest.approx(math.exp(2e-5), rel=1e-9)
    assert to.Gaussian(Y * (1 + X) ** 500).subs({X: Fraction(1, 3)}).mu == Y * sympy.Rational(4, 3) ** 500
    assert len(repr(to.Gaussian(Y * (1 + X) ** 50).subs({X: 0.1}))) < 40


@pytest.mark.parametrize("root", [2, 3, 6])
def test_weights_means_and_masses_without_a_ratio_are_refused(root: int) -> None:
    """They have no side: rounded, two of them may lie nearer to each other, and one may come short."""
    share = sympy.sqrt(root) - int(math.sqrt(root))
    for made in (
        lambda: to.GaussianMixtures({0: 1}, {sympy.sqrt(root): 1}),
        lambda: to.GaussianMixtures({0: 1}, {0: 1 - share, 1: share}),
        lambda: to.from_masses([share, 1 - share], [1 - share, share]),
        lambda: to.mixture({to.Gaussian(1): share, to.Identity(): 1 - share}),
    ):
        with pytest.raises(DomainError, match="is outside the floats and fractions"):
            made()


def test_orders_noise_and_budgets_in_fractions() -> None:
    assert AllocatedCurve(Fraction(1, 3), 2).mu > Fraction(1, 3)
    assert DiscreteGaussianCurve(Fraction(1, 3)).sigma < Fraction(1, 3)
    assert DiscreteLaplaceCurve(Fraction(1, 3)).scale < Fraction(1, 3)
    assert to.GaussianMixtures({0: 1}, {0: 0.5, 1: 0.5}, Decimal("0.3")).sigma == Fraction(3, 10)
    # D_a rises with the order a: a bound at one is one at any lower, and at no higher.
    assert from_renyi({2 - LITTLE: 0.1}) == from_renyi({math.nextafter(2, 0): 0.1})
    line = to.PiecewiseLinear([0, Fraction(1, 3), 1], [1, Fraction(1, 3), 0])
    assert line.hockey_stick(Decimal("1.1")) >= Fraction(2, 3) - Fraction(11, 30)


@pytest.mark.parametrize("scale", [Fraction(3, 10), "2", True, 2**53 + 1, sympy.sqrt(2)])
def test_laws_of_scipy_take_floats(scale: Any) -> None:
    with pytest.raises(DomainError, match="is no float"):
        to.LocationShift(st.norm(scale=scale), 1)


def test_samples_of_samples_are_one() -> None:
    curve = to.Gaussian(1.0)
    for _ in range(50):
        curve = to.subsample(curve, 0.999)
    once = to.subsample(to.Gaussian(1.0), Fraction(0.999) ** 50)
    assert (
        curve.bounds.delta(0.5).lower
        <= once.bounds.delta(0.5).upper
        <= curve.bounds.delta(0.5).upper * (1 + 1e-12)
    )
    assert curve.depth == 4
    assert to.subsample(to.subsample(to.Gaussian(1.0), 0.5), 0.5) == to.subsample(to.Gaussian(1.0), 0.25)


def test_counts_of_thousands_of_digits_are_printed() -> None:
    assert repr(to.PureDP(1.0) ** 10**5000) == "f_{1,0}^(about 2^16610)"
    with pytest.raises(to.errors.DomainError, match=r"about 10\^5000 times is beyond 2\^1000"):
        (to.PureDP(1.0) ** 10**5000).epsilon(0.1)


@pytest.mark.parametrize(
    "wrong", [(0.0, 1.0, 5.0), (1.0, 1.0, -5.0), (math.nan, 1.0, 5.0), ("1", 1.0, 5.0), (1, 11, 5)]
)
def test_truncated_noise_is_checked(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(DomainError):
        Truncated(*wrong, normal=True)


def test_baselines_round_what_is_composed_up_and_targets_down() -> None:
    third, b = Fraction(1, 3), to.baselines
    composed = b.basic_composition(third, third)
    assert composed.epsilon >= third <= composed.delta
    assert b.basic_composition(TINY, TINY, n=3).delta > 0
    assert b.zcdp_route(TINY, 1e-6).epsilon > 0
    optimal = b.optimal_composition(1 + LITTLE, n=1, at_delta=1e-300)
    assert optimal.epsilon > 1
    for noise in (b.exact_gaussian(third, third), b.laplace_basic(third, sensitivity=third)):
        assert noise.epsilon <= third
    assert b.laplace_basic(Fraction(1, 10), sensitivity=Decimal("0.3")).scale > 3


def test_audits_and_adapters_round_to_the_safe_side() -> None:
    audit = to.audits.one_run(60, 60, 60, delta=TINY, confidence=Fraction(19, 20))
    assert audit.delta > 0
    assert Fraction(audit.confidence) >= Fraction(19, 20)
    scores = np.arange(10.0)
    assert Fraction(to.empirical(scores, scores, confidence=Fraction(2, 3)).confidence) >= Fraction(2, 3)
    with pytest.raises(DomainError, match=r"losses_under_p\[0\] is NaN"):
        to.audits.from_losses([math.nan], [0.0])
    assert opendp.privacy_profile(to.PureDP(1.0))(Fraction(10**17 - 1, 10**17)) > 0
    accountant = opacus.Accountant()
    accountant.step(noise_multiplier=Decimal("1.1"), sample_rate=Fraction(1, 3))
    ((noise, rate, _),) = accountant.history
    assert Fraction(noise) < Fraction(11, 10)
    assert Fraction(rate) > Fraction(1, 3)


def test_shares_of_sensitivities_are_kept() -> None:
    mixed = to.mechanisms.MixtureOfGaussians(1.0, [0.0, 1.0], [Fraction(1, 3), Fraction(2, 3)])
    assert mixed.probabilities == (Fraction(1, 3), Fraction(2, 3))
    assert mixed.curve().alternative == {Fraction(0): Fraction(1, 3), Fraction(1): Fraction(2, 3)}
    with pytest.raises(PlanError, match="no number of TOML"):
        to.spec.dumps(to.spec.PlanFile("a", to.Plan({mixed: 1})))


@pytest.mark.parametrize(
    "value", [mpmath.mpf("inf"), mpmath.mpf("nan"), sympy.Float("inf"), Decimal("1e-30000000")]
)
def test_numbers_without_a_ratio_or_of_hours_of_digits(value: Any) -> None:
    assert ratio_of(value) is None


def test_numbers_of_mpmath_keep_their_sign() -> None:
    assert ratio_of(mpmath.mpf(-1.5)) == Fraction(-3, 2)
    assert ratio_of(sympy.Float(-1.5, 40)) == Fraction(-3, 2)
    x = sympy.Symbol("x")
    assert to.Gaussian(x + 2).subs({x: mpmath.mpf(-1)}) == to.Gaussian(1)
    assert to.Gaussian(x + 2).subs({x: mpmath.mpf("inf")}) == to.Gaussian(math.inf)
    assert to.LocationShift(st.gumbel_r(), mpmath.mpf(-1)) == to.LocationShift(st.gumbel_r(), -1)
    with pytest.raises(DomainError):
        to.from_masses([mpmath.mpf(-0.5), 1.5], [0.25, 0.75])


def test_what_is_too_long_to_be_kept_is_not_nothing() -> None:
    faint = Decimal("1e-30000000")
    assert to.TotalVariation(faint).epsilon(0) == math.inf
    with pytest.raises(DomainError, match="is outside the floats and fractions"):
        to.mixture({to.Gaussian(1): 1, to.TotalVariation(1): faint})


@pytest.mark.parametrize(
    ("leak", "n"), [(Fraction(1, 3), 3000), (Fraction(2, 3), 4000), (Fraction(1, 7), 2048)]
)
def test_what_leaks_keep_is_exact_only_where_it_is(leak: Fraction, n: int) -> None:
    curve = to.TotalVariation(leak) ** n
    kept = (1 - leak) ** n
    low, high = curve.bounds(0.0)
    assert Fraction(low) <= kept <= Fraction(high)
    assert curve != to.TotalVariation(1)
    assert not curve.is_rational
    assert to.TotalVariation(Fraction(1, 10**400)).kl() == math.inf


@pytest.mark.parametrize("kind", [np.longdouble, mpmath.mpf, lambda x: Decimal(int(x))])
def test_vertices_that_were_rounded_are_forgiven(kind: Callable[[Any], Any]) -> None:
    tenths = [kind(i) / kind(10) for i in range(11)]
    assert to.PiecewiseLinear(tenths, [kind(1) - each for each in tenths]).delta(0.0) < 1e-15
    to.PiecewiseLinear([kind(i) / kind(7) for i in (0, 2, 7)], [kind(i) / kind(7) for i in (7, 3, 0)])


def test_symbols_left_and_odd_values_and_long_powers() -> None:
    d, e, n = sympy.symbols("d e n")
    half = to.TotalVariation(d * e).subs({d: Decimal("0.3")})
    assert 1 - half.subs({e: 1}).kept_0 == Fraction(3, 10)
    for odd in (True, None, [1.0], np.array([1.0, 2.0])):
        with pytest.raises(DomainError, match="is no number, and no formula"):
            to.Gaussian(d + 2).subs({d: odd})
    many = to.TotalVariation(1 - (1 - d) ** n).subs({d: 1e-6, n: 10**5})
    assert many.delta(0) == pytest.approx(-math.expm1(1e5 * math.log1p(-1e-6)))


def test_truncated_noise_keeps_fractions() -> None:
    """The mass at infinity grows with the scale, which has no safe side."""
    scale = Fraction(127305368229302939479, 10**20)
    with mpmath.workdps(50):
        law, s = mpmath.exp, mpmath.mpf(scale.numerator) / scale.denominator
        truth = (law(-20 / s) - law(-40 / s)) / (1 - law(-40 / s)) / 2
        low, high = Truncated(scale, 20, 40, normal=False).mass_at_infinity
        assert low <= truth <= high


def test_what_knows_its_float_alone_is_that() -> None:
    class Half:
        def __float__(self) -> float:
            return 0.5

    assert to.Gaussian(Half()).mu == 0.5


def test_long_powers_in_formulas_keep_what_cancels() -> None:
    d, e, n = sympy.symbols("d e n")
    many = to.TotalVariation(1 - (1 - d) ** n)
    assert many.subs({d: 1e-100, n: 2000}).delta(0) == pytest.approx(2e-97, rel=1e-12, abs=0)
    assert many.subs({d: 1e-300, n: 10**9}).delta(0) == pytest.approx(1e-291, rel=1e-12, abs=0)
    assert repr(many.subs({n: 2000, d: e})) == "f_{0,1-(1-e)^2000}"
    with pytest.raises(DomainError):
        to.Gaussian(d**n).subs({d: 2, n: math.nan})
    for odd in (object(), "a("):
        with pytest.raises(DomainError, match="is no number, and no formula"):
            to.Gaussian(2 * d).subs({d: odd})


@pytest.mark.parametrize("shift", [Decimal("1e-50000"), mpmath.mpf("1e-20000"), sympy.exp(-1000)])
def test_shifts_below_all_floats_are_not_nothing(shift: Any) -> None:
    assert to.LocationShift(st.norm(), shift).mu > 0
    assert to.LocationShift(st.norm(), -shift).mu > 0


def test_truncated_noise_in_fractions_prints_and_composes() -> None:
    noise = Truncated(Fraction(1, 3), Fraction(1, 7), Fraction(10, 3), normal=True)
    assert repr(noise @ to.Gaussian(1)) == "G_{1} \u2297 N(0.333333) on [-3.33333, 3.33333] + 0.142857"
    assert Fraction(Truncated(1.0, sympy.sqrt(3), 5.0, normal=False).shift) ** 2 > 3
    kept = to.mechanisms.TruncatedLaplace(scale=Fraction(1, 1000), bound=0.5, sensitivity=0.004)
    assert kept.scale == Fraction(1, 1000)
    assert kept.curve().bounds.delta(30.0).upper >= 1.9093205758555956e-216


def test_baselines_refuse_nan() -> None:
    with pytest.raises(DomainError, match="epsilon = "):
        to.baselines.basic_composition([Decimal("NaN")], [0.1])


def test_symbols_that_vanish_leave_fractions() -> None:
    x, y, z = sympy.symbols("x y z")
    exact = Fraction(0.1) * Fraction(0.3)
    for formula, values in ((0.1 * z + x * y, {x: 0, z: 0.3}), (0.1 * z + x - y, {x: y, z: 0.3})):
        assert Fraction(to.PureDP(formula).subs(values).epsilon_0) >= exact


def test_long_powers_inside_functions_and_of_nothing() -> None:
    d, n = sympy.symbols("d n")
    lost = 1 - (1 - d) ** n
    found = to.TotalVariation(sympy.Piecewise((lost, d < 1), (1, True))).subs({d: 1e-6, n: 100_000})
    assert found.delta(0) == pytest.approx(-math.expm1(1e5 * math.log1p(-1e-6)))
    assert to.PureDP(sympy.erf(lost)).subs({d: 1e-30, n: 10**9}).epsilon_0 > 1.128e-21
    assert to.TotalVariation(lost).subs({d: 0, n: 2000}).delta(0) == 0
    for odd in ("x.foo", "1()", "x[0]", float):
        with pytest.raises(DomainError, match="is no number, and no formula"):
            to.Gaussian(2 * d).subs({d: odd})


def test_scales_without_a_side() -> None:
    with pytest.raises(DomainError, match="is outside the floats and fractions"):
        to.mechanisms.TruncatedLaplace(scale=sympy.sqrt(2), bound=0.5)
    with pytest.raises(DomainError, match="is outside the floats and fractions"):
        Truncated(sympy.sqrt(2), 1.0, 5.0, normal=True)


def test_constants_of_mpmath_are_put_in_with_all_digits() -> None:
    x = sympy.Symbol("x", positive=True)
    for constant in (mpmath.pi, mpmath.e, mpmath.phi, mpmath.degree, mpmath.ln2, mpmath.ln10):
        with mpmath.workdps(50):
            truth = 2 * +constant
        assert math.nextafter(found := to.Gaussian(2 * x).subs({x: constant}).mu, 0) < truth <= found


def test_powers_far_below_0_end_in_a_sentence() -> None:
    x = sympy.Symbol("x", positive=True)
    for formula in (sympy.exp(-sympy.exp(x)), sympy.exp(-sympy.cosh(x))):
        with pytest.raises(DomainError, match="no digits are known"):
            to.Gaussian(formula).subs({x: 10**6})
    with pytest.raises(DomainError, match="no digits are known"):
        to.Gaussian(sympy.Piecewise((sympy.zeta(sympy.Rational(3, 2)), x < 1), (x, True))).subs({x: 0.5})


def test_noise_on_the_integers_waits_for_no_symbol() -> None:
    for family in (DiscreteGaussianCurve, DiscreteLaplaceCurve):
        with pytest.raises(TradeOffError):
            family(sympy.Symbol("x", positive=True))


@pytest.mark.parametrize("text", ["1e-6", b"1e-6", np.str_("1e-6")])
def test_texts_are_refused_as_texts(text):
    for ask in (
        lambda: to.Gaussian(text),
        lambda: to.Gaussian(1).epsilon(text),
        lambda: to.Gaussian(1).bounds.delta([0.5, text]),
        lambda: to.PiecewiseLinear([0, text], [1, 0]),
    ):
        with pytest.raises(
            DomainError, match=r"convert the text to a number first, with float|is not a number"
        ):
            ask()


def test_fractions_above_all_floats_are_printed():
    curve = to.GaussianMixtures({0: 1}, {0: 0.5, 1: 0.5}, sigma=Decimal("1.25e400"))
    assert repr(curve) == "GaussianMixtures({0: 1}, {0: 0.5, 1: 0.5}, sigma=1.25e+400)"
    assert r"1.25 \cdot 10^{400}" in curve._repr_latex_()
