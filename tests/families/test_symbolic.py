import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.stats as st
import sympy as sp
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as some

import tradeoff as to
from tradeoff import Symbolic
from tradeoff.errors import CurveError, DomainError, NoClosedForm, SymbolError
from tradeoff.families import symbolic_numbers, symbolic_solve
from tradeoff.operators.inverse import Inverse

ALPHA, MU, NU, EPS, DELTA, P, K = sp.symbols("alpha mu nu epsilon delta p k", positive=True)
LOSS = sp.Symbol("x", real=True)
ALPHAS = np.array([0.0, 1e-12, 0.04, 0.2, 0.31, 0.5, 0.77, 0.999, 1.0])
LOSSES = np.array([-3.0, -0.6, -0.1, 0.0, 0.2, 0.71, 2.0])
AGREE, RIGHT = "Two precisions agree to twenty digits on", "only where both are right."
LOGISTIC = (1 - ALPHA) / (1 - ALPHA + K * ALPHA)

FAMILIES = [
    (to.Gaussian(MU), {MU: 1.5}),
    (to.Laplace(EPS), {EPS: 0.7}),
    (to.PureDP(EPS), {EPS: 0.7}),
    (to.TotalVariation(DELTA), {DELTA: 0.1}),
    (to.approximate_dp(EPS, DELTA), {EPS: 0.7, DELTA: 0.1}),
]
by_family = pytest.mark.parametrize(("curve", "values"), FAMILIES, ids=[repr(curve) for curve, _ in FAMILIES])


def agree(one, two, rtol=1e-11):
    """Two enclosures of the same number overlap and are narrow."""
    assert np.all(one.lower <= two.upper)
    assert np.all(two.lower <= one.upper)
    assert np.allclose(one.lower, two.upper, rtol=rtol, atol=1e-14)


@by_family
def test_value_profile_and_inverse_of_the_families(curve, values):
    formula, numbers = curve.symbolic(ALPHA), curve.subs(values)
    alone = Symbolic(formula.subs(values).expr, ALPHA)  # which has forgotten the family
    agree(alone.bounds(ALPHAS), numbers.bounds(ALPHAS))
    agree(alone.bounds.delta(LOSSES), numbers.bounds.delta(LOSSES))
    assert alone.assumptions == (() if curve != to.Gaussian(MU) else (f"{AGREE} {alone.expr} {RIGHT}",))
    agree(formula.inverse().subs(values).bounds(ALPHAS), numbers.inverse().bounds(ALPHAS))
    agree(formula.subs(values).bounds.epsilon([0.15, 0.4]), numbers.bounds.epsilon([0.15, 0.4]))
    assert formula.free_symbols == curve.free_symbols == set(values)


@by_family
def test_profile_is_the_supremum(curve, values):
    f = np.vectorize(sp.lambdify(ALPHA, curve.symbolic(ALPHA).subs(values).expr, ["scipy", "numpy"]))
    with np.errstate(divide="ignore"):
        grid = np.linspace(0, 1, 20001)
        value = f(grid)
    for loss in LOSSES:
        truth = float(curve.symbolic(ALPHA).symbolic_delta(LOSS).subs({**values, LOSS: loss}))
        best = np.max(1 - value - np.exp(loss) * grid)
        assert best - 1e-12 <= truth <= best + 1e-4


@by_family
@pytest.mark.parametrize("k", [1, 2, 3])
def test_groups_of_the_families(curve, values, k):
    formula = curve.symbolic(ALPHA)
    group, alphas = formula.group(k), ALPHAS[2:-1]  # next to 0 a rounded value would be mapped far away
    numbers = alphas
    for _ in range(k):
        numbers = 1 - formula.subs(values)(numbers)
    assert group.free_symbols == set(values)
    assert np.allclose(group.subs(values)(alphas), 1 - numbers, rtol=1e-12, atol=1e-14)


@by_family
def test_subsampling_of_the_families(curve, values):
    formula = curve.symbolic(ALPHA).subsample(P)
    assert formula.free_symbols == {P, *values}
    formula, numbers = formula.subs({**values, P: 0.25}), to.subsample(curve.subs(values), 0.25)
    agree(formula.bounds(ALPHAS), numbers.bounds(ALPHAS))
    agree(formula.bounds.delta(LOSSES), numbers.bounds.delta(LOSSES))
    assert not formula.symmetric


def test_subsampling_keeps_rationals_and_reaches_formulas_from_curves():
    third = to.PureDP(EPS).symbolic(ALPHA).subsample(sp.Rational(1, 3))
    assert third.expr.has(sp.Rational(1, 3))
    assert to.subsample(to.Gaussian(MU), P).free_symbols == {MU, P}
    assert to.Gaussian(MU).symbolic(ALPHA).subsample(0).expr == 1 - ALPHA
    with pytest.raises(DomainError, match=r"p = 1\.5"):
        third.subsample(1.5)


@by_family
def test_lambdify_is_the_curve_in_floats(curve, values):
    formula = curve.symbolic(ALPHA)
    in_order = [values[symbol] for symbol in sorted(values, key=str)]
    assert np.allclose(
        formula.lambdify()(ALPHAS, *in_order), curve.subs(values)(ALPHAS), rtol=1e-12, atol=1e-14
    )


def test_conjugate_is_the_profile_read_backwards():
    y = sp.Symbol("y", real=True)
    formula = to.Laplace(EPS).symbolic(ALPHA)
    for slope in (-2.5, -1.0, -0.1):
        expected = float(formula.symbolic_delta(LOSS).subs({EPS: 0.7, LOSS: np.log(-slope)})) - 1
        assert float(formula.conjugate(y).subs({EPS: 0.7, y: slope})) == pytest.approx(expected)
        assert float(formula.conjugate(slope).subs({EPS: 0.7})) == pytest.approx(expected)
    assert formula.conjugate(3) == 3


def test_products_of_symbolic_families():
    assert repr(to.Gaussian(MU) @ to.Gaussian(NU)) == "G_{sqrt(mu^2+nu^2)}"
    both = to.Gaussian(MU).symbolic(ALPHA) @ to.Gaussian(NU).symbolic(ALPHA)
    assert both.subs({MU: 3, NU: 4}) == to.Gaussian(5).symbolic(ALPHA)
    agree(both.subs({MU: 3, NU: 4}).bounds(ALPHAS), to.Gaussian(5).bounds(ALPHAS))
    leaks = to.TotalVariation(DELTA).symbolic(ALPHA) @ to.TotalVariation(P)
    assert sp.expand(1 - leaks.subs({DELTA: 0.5, P: 0.5}).expr.subs(ALPHA, 0)) == sp.Rational(3, 4)
    assert (to.Gaussian(MU).symbolic(ALPHA) ** 4).expr == to.Gaussian(2 * MU).symbolic(ALPHA).expr
    assert to.PureDP(EPS).symbolic(ALPHA) @ to.TotalVariation(DELTA) == to.approximate_dp(
        EPS, DELTA
    ).symbolic(ALPHA)


@pytest.mark.parametrize("left", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_products_with_total_variation_scale_both_axes(left):
    f, leak = Symbolic(LOGISTIC, ALPHA), to.TotalVariation(DELTA)
    product = (leak @ f if left else f @ leak).subs({K: sp.E, DELTA: 0.25})
    known = to.LocationShift(st.logistic(), 1) @ to.TotalVariation(0.25)
    alphas = ALPHAS[(ALPHAS < 0.7) | (ALPHAS > 0.8)]
    agree(product.bounds(alphas), known.bounds(alphas))
    agree(product.bounds.delta(LOSSES), known.bounds.delta(LOSSES), rtol=1e-8)
    assert (to.Identity() @ f if left else f @ to.Identity()) == f


@pytest.mark.slow
def test_a_product_that_is_a_factor_already_is_counted_twice():
    """L = log 3 - 2 log x, x uniform on [1, 3]: delta of two is E(9/(x y)^2 - e^eps)^+, a double integral."""
    f = Symbolic((1 - ALPHA) / (1 + 2 * ALPHA), ALPHA)
    leaking = f @ to.TotalVariation(0.5)
    twice = (f @ leaking) @ to.TotalVariation(0.5)
    assert twice == leaking @ leaking
    c = 3 * np.exp(-0.25)
    inner = 9 / 4 * (1 - 1 / c**2 - 2 * np.log(c) / c)
    assert 3 / 4 + inner / 4 in twice.bounds.delta(0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "delta", [Fraction(2, 3), Fraction(1, 10**400), 1 - Fraction(1, 10**30), Fraction(0.1)], ids=float
)
def test_leaks_are_kept_to_their_last_digit(delta):
    f, leak = Symbolic((1 - ALPHA) / (1 + 2 * ALPHA), ALPHA), to.TotalVariation(delta)
    kept, at = 1 - delta, (1 - delta) / 5
    for product in (f @ leak, leak @ f):
        low, high = product.bounds(0.0)
        assert Fraction(low) <= kept <= Fraction(high)
        assert product(at) == kept * Fraction(4, 7)
        low, high = product.bounds.delta(np.log(3.5))  # beyond every loss of f
        assert Fraction(low) <= delta <= Fraction(high)
    assert leak.symbolic(ALPHA)(at) == kept - at
    assert (to.PureDP(EPS) @ leak).symbolic(ALPHA).expr.subs({ALPHA: 0, EPS: 1}) == sp.Rational(kept)
    assert (to.Gaussian(MU) @ leak).symbolic(ALPHA).expr.has(sp.Rational(kept))


def test_leaks_that_were_rounded_are_left_to_the_engine():
    """Of 0.9^2000 with all digits of the float there are 110000 bits, of which 400 are carried."""
    f, leak = Symbolic((1 - ALPHA) / (1 + 2 * ALPHA), ALPHA), to.TotalVariation(0.1) ** 2000
    kept = (1 - Fraction(0.1)) ** 2000
    low, high = (f @ leak).bounds(0.0)
    assert Fraction(low) <= kept <= Fraction(high)
    assert high - low <= 1e-12 * high
    formula = leak.symbolic(ALPHA)
    assert isinstance(formula(Fraction(0)), float)
    assert abs(Fraction(str(sp.N(formula.expr.subs(ALPHA, 0), 120))) / kept - 1) < Fraction(1, 10**100)
    with pytest.raises(NoClosedForm, match="substitute numbers"):
        Symbolic(LOGISTIC, ALPHA) @ leak


def test_products_without_a_closed_form_say_so():
    f = Symbolic(LOGISTIC, ALPHA)
    for make in (lambda: f @ to.Gaussian(MU), lambda: f**2, lambda: to.Laplace(EPS).symbolic(ALPHA) ** 2):
        with pytest.raises(NoClosedForm, match="substitute numbers"):
            make()


@pytest.mark.slow
def test_numeric_formulas_compose_in_the_engine():
    ten = Symbolic(LOGISTIC, ALPHA).subs({K: sp.E}) ** 10
    known = (to.LocationShift(st.logistic(), 1) ** 10).bounds.epsilon(1e-5)
    low, high = ten.bounds.epsilon(1e-5)
    assert low <= known.upper
    assert high >= known.lower
    mixed = Symbolic((1 - ALPHA) ** 2, ALPHA) @ to.Gaussian(1)
    known = (to.LocationShift(st.gumbel_r(), float(np.log(2))) @ to.Gaussian(1)).bounds.delta(0.5)
    assert mixed.bounds.delta(0.5).lower <= known.upper
    assert mixed.bounds.delta(0.5).upper >= known.lower


@pytest.mark.slow
def test_inverses_and_profiles_sympy_finds():
    lehmann = Symbolic((1 - ALPHA) ** K, ALPHA)
    assert sp.simplify((~lehmann).expr - (1 - ALPHA ** (1 / K))) == 0
    profile = lehmann.symbolic_delta(LOSS)
    known = to.LocationShift(st.gumbel_r(), float(np.log(2)))
    for loss in (-1.5, 0.0, 0.5, 1.0):
        low, high = known.bounds.delta(loss)
        assert low - 1e-12 <= float(profile.subs({K: 2, LOSS: loss})) <= high + 1e-12
    lines = Symbolic(sp.Max(0, 1 - 3 * ALPHA, (1 - 2 * ALPHA) / 2), ALPHA)
    inverse = lines.inverse()
    assert np.allclose(inverse([0.0, 0.1, 0.4, 0.7, 1.0]), [0.5, 0.4, 0.2, 0.1, 0.0], atol=1e-12)
    assert sp.simplify(Symbolic(LOGISTIC, ALPHA).inverse().expr - LOGISTIC) == 0


def test_formulas_that_are_their_own_inverse_have_groups():
    f = Symbolic(LOGISTIC, ALPHA)
    assert f.symmetric
    assert sp.simplify(f.group(2).expr - LOGISTIC.subs(K, K**2)) == 0
    with pytest.raises(NoClosedForm, match="one order"):
        Symbolic((1 - ALPHA) ** K, ALPHA).group(2)


@pytest.mark.slow
def test_no_closed_form_is_an_error_with_symbols_and_bounds_with_numbers():
    hard = (1 - ALPHA) ** K * sp.exp(-K * ALPHA) * (1 - ALPHA / 3)
    with pytest.raises(NoClosedForm, match="inverse"):
        Symbolic(hard, ALPHA).inverse()
    with pytest.raises(NoClosedForm, match="profile"):
        Symbolic(hard, ALPHA).symbolic_delta(LOSS)
    numbers = Symbolic(hard, ALPHA).subs({K: 2})
    alphas = np.array([0.1, 0.4, 0.8])
    low, high = numbers.inverse().bounds(numbers(alphas))
    assert np.all(low <= alphas + 1e-12)
    assert np.all(high >= alphas - 1e-12)
    low, high = numbers.bounds.epsilon(0.1)
    assert numbers.bounds.delta(low - 1e-6).lower > 0.1 > numbers.bounds.delta(high + 1e-6).upper


@pytest.mark.slow
def test_a_wrong_solution_is_never_returned(monkeypatch):
    monkeypatch.setattr(
        symbolic_solve,
        "_solutions",
        lambda equation, _: [sp.Rational(1, 2) * (1 - x) for x in equation.free_symbols],
    )
    f = Symbolic((1 - ALPHA) ** K, ALPHA)
    with pytest.raises(NoClosedForm):
        f.inverse()
    with pytest.raises(NoClosedForm):
        f.symbolic_delta(LOSS)


def test_numbers_of_symbols_are_refused():
    for curve in (
        to.Gaussian(MU),
        to.Laplace(EPS),
        to.PureDP(EPS),
        to.TotalVariation(DELTA),
        to.Gaussian(MU) @ to.Laplace(EPS),
    ):
        for ask in (lambda c: c(0.5), lambda c: c.delta(1.0), lambda c: c.epsilon(1e-5)):
            with pytest.raises(SymbolError, match=r"\.subs"):
                ask(curve)
    with pytest.raises(SymbolError, match=r"\.subs"):
        Symbolic(LOGISTIC, ALPHA)(0.5)


def test_substitution_in_every_curve():
    product = to.Gaussian(MU) @ to.Laplace(EPS) ** 3 @ to.PureDP(0.5)
    assert product.subs({MU: 1}).free_symbols == {EPS}
    assert product.subs({MU: 1, "epsilon": 0.25}) == to.Gaussian(1) @ to.Laplace(0.25) ** 3 @ to.PureDP(0.5)
    assert to.TotalVariation(DELTA).subs({DELTA: 0.5}) == to.TotalVariation(0.5)
    assert to.Gaussian(MU * NU).subs({MU: 2}).subs({NU: 3}) == to.Gaussian(6)
    assert (to.Gaussian(MU) @ to.Gaussian(NU)).subs({MU: 0.3, NU: 0.4}) == to.Gaussian(0.3) @ to.Gaussian(0.4)
    with pytest.raises(SymbolError, match="q is not among"):
        to.Gaussian(MU).subs({"q": 1})
    with pytest.raises(DomainError, match="mu"):
        to.Gaussian(MU).subs({MU: -1})


def rounded_up(mu):
    """Return the least float at or above a positive number of mpmath."""
    near = float(mu)
    return near if mpmath.mpf(near) >= mu else float(np.nextafter(near, np.inf))


@pytest.mark.parametrize(
    ("symbolic", "square"),
    [
        (to.Gaussian(0.1) ** K, 100 * Fraction(0.1) ** 2),
        (to.Gaussian(0.1 * MU), 10**4 * Fraction(0.1) ** 2),
        (to.Gaussian(NU).group(K), 10**4 * Fraction(0.1) ** 2),
        (to.Gaussian(MU / 3), Fraction(10**4, 9)),
        (to.Gaussian(MU) @ to.Gaussian(NU), 10**4 + Fraction(0.1) ** 2),
    ],
    ids=repr,
)
def test_gaussians_keep_their_squares_exactly(symbolic, square):
    found = symbolic.subs({s: {K: 100, MU: 100, NU: 0.1}[s] for s in symbolic.free_symbols})
    assert found == to.Gaussian.of_square(square)
    assert found.weight == square
    with mpmath.workdps(60):
        assert found.mu == rounded_up(mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator))


@pytest.mark.parametrize("value", [0.1, 0.5, 1, 2.5, 17])
def test_what_has_no_exact_square_is_rounded_up(value):
    with mpmath.workdps(60):
        truth = rounded_up(mpmath.exp(mpmath.mpf(value)))
    assert to.Gaussian(sp.exp(MU)).subs({MU: value}) == to.Gaussian(truth)


def test_the_number_itself_is_that_of_the_constructor():
    third = Fraction(1, 3)
    assert to.Gaussian(MU).subs({MU: third}) == to.Gaussian(third)
    assert to.TotalVariation(DELTA).subs({DELTA: third}) == to.TotalVariation(third)
    for wrong in (-1, sp.I, sp.nan):
        with pytest.raises(DomainError, match="mu = "):
            to.Gaussian(2 * MU).subs({MU: wrong})


def test_formulas_answer_symbols():
    f = to.Gaussian(1).symbolic(ALPHA)
    assert f(P) == f.expr.subs(ALPHA, P)
    assert f.delta(LOSS) == f.symbolic_delta(LOSS)
    assert to.Gaussian(MU).symbolic().alpha.name == "alpha"
    assert f.symbolic(P).alpha == P
    assert "\\alpha" in f._repr_latex_()
    assert f.q_plus == 0
    with pytest.raises(NoClosedForm, match="formula"):
        (to.Gaussian(MU) @ to.Laplace(EPS)).symbolic(ALPHA)


@pytest.mark.parametrize(
    "make",
    [
        lambda _: to.TotalVariation(ALPHA).symbolic(),
        lambda _: to.Laplace(2 * ALPHA).symbolic(ALPHA),
        lambda _: to.subsample(to.TotalVariation(ALPHA), 0.5),
        lambda _: to.subsample(to.Gaussian(1), ALPHA),
        lambda f: f.symbolic(K),
        lambda f: f.subs({K: ALPHA}),
        lambda f: f.subsample(ALPHA / 2),
        lambda f: f @ to.TotalVariation(ALPHA),
        lambda f: to.TotalVariation(ALPHA) @ f,
        lambda f: f @ to.TotalVariation(ALPHA).symbolic(K),
        lambda _: to.Gaussian(MU).symbolic(ALPHA) @ to.Gaussian(ALPHA),
        lambda _: to.Gaussian(MU).symbolic(ALPHA).group(ALPHA),
        lambda _: to.Gaussian(MU).symbolic(ALPHA) ** ALPHA,
    ],
)
def test_a_parameter_is_not_the_type_one_error(make):
    f = Symbolic(LOGISTIC, ALPHA)
    with pytest.raises(SymbolError, match=r"is a parameter and cannot be the type I error.*\.symbolic\("):
        make(f)


def test_a_parameter_named_alpha_is_kept_in_another_symbol():
    x = sp.Symbol("x", positive=True)
    formula = to.TotalVariation(ALPHA).symbolic(x).subsample(0.5)
    assert formula.free_symbols == {ALPHA}
    assert formula.subs({ALPHA: 0.25})(0.25) == 0.5 * 0.5 + 0.5 * 0.75


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (1 - ALPHA / 2, "1 - alpha fails"),
        (ALPHA / 2, "increases|1 - alpha fails"),
        ((1 - ALPHA) * (sp.Rational(1, 2) + ALPHA / 4), "not convex"),
        (sp.Max(0, sp.Rational(1, 2) - 2 * (ALPHA - sp.Rational(1, 2)) ** 2) * (1 - ALPHA), "increases"),
        (-1 + 0 * ALPHA, r"outside \[0, 1\]"),
        (1.5 - 2 * ALPHA, r"outside \[0, 1\]"),
        (sp.sqrt(ALPHA - sp.Rational(1, 2)), "not a real number"),
    ],
)
def test_what_is_no_trade_off_function(expression, reason):
    with pytest.raises(CurveError, match=reason):
        Symbolic(expression, ALPHA)


def test_parameters_are_checked_when_they_become_numbers():
    with pytest.raises(CurveError):
        Symbolic(LOGISTIC, ALPHA).subs({K: 0.5})
    with pytest.raises(DomainError, match="symbol"):
        Symbolic(LOGISTIC, 2 * ALPHA)


@pytest.mark.slow
@settings(max_examples=8)
@given(mu=some.floats(0.01, 40), alpha=some.floats(1e-300, 1 - 1e-12), epsilon=some.floats(-30, 30))
def test_numeric_formulas_and_float_families_hold_each_other(mu, alpha, epsilon):
    family = to.Gaussian(mu)
    formula = Symbolic(family.symbolic(ALPHA).expr, ALPHA)
    one, two = formula.bounds(alpha), family.bounds(alpha)
    assert one.lower <= two.upper
    assert one.upper >= two.lower
    assert one.width <= 1e-14 * one.upper + 1e-300
    one, two = formula.bounds.delta(epsilon), family.bounds.delta(epsilon)
    assert one.lower <= two.upper
    assert one.upper >= two.lower


def test_masses_at_infinity_and_suprema():
    leaking = Symbolic(sp.Max(0, sp.Rational(3, 4) - 2 * ALPHA), ALPHA)
    assert leaking.q_plus == pytest.approx(0.25)
    assert leaking.p_minus == pytest.approx(0.625)
    bounded = Symbolic(LOGISTIC, ALPHA).subs({K: sp.E})
    assert bounded.sup_loss == pytest.approx(1)
    assert bounded.epsilon(0) == pytest.approx(1)


@pytest.mark.parametrize(
    ("expr", "steepest", "flattest"),
    [
        ((1 - ALPHA) * (2 - ALPHA) / 2, sp.Rational(3, 2), sp.Rational(1, 2)),
        ((1 - ALPHA) * sp.exp(-ALPHA), 2, sp.exp(-1)),
        pytest.param(
            (1 - ALPHA) * (1 + sp.exp(-3 * ALPHA)) / 2,
            sp.Rational(5, 2),
            (1 + sp.exp(-3)) / 2,
            marks=pytest.mark.slow,
        ),  # the inverse has no formula
    ],
    ids=str,
)
def test_largest_losses_of_a_formula_and_its_inverse(expr, steepest, flattest):
    """Sup L = log -f'(0+), and of the inverse -log -f'(1-)."""
    f = Symbolic(expr, ALPHA)
    for curve, truth in ((f, sp.log(steepest)), (~f, -sp.log(flattest)), (Inverse(f), -sp.log(flattest))):
        found = curve.bounds.epsilon(0.0)
        assert found.lower <= truth <= found.upper
        assert found.width <= 1e-15
        assert found.upper == curve.sup_loss


def test_a_supremum_is_a_limit_of_slopes_or_unknown():
    """Slopes of 1 - 2 a + a/(1 - log a) approach -2 as slowly as 1/log; balls with infinite ends see it."""
    found = Symbolic(1 - 2 * ALPHA + ALPHA / (1 - sp.log(ALPHA)), ALPHA).bounds.epsilon(0.0)
    assert found.lower <= sp.log(2) <= found.upper <= 0.7
    turned = Symbolic(1 - 2 * ALPHA + ALPHA**2 * (1 - sp.log(ALPHA) / 2), ALPHA).bounds.epsilon(
        0.0
    )  # 0 times infinity
    assert turned.lower <= sp.log(2)
    assert turned.upper == np.inf


FAR = np.array([-300.0, -30.0, -1.0, -1e-9, 0.0, 0.3, 2.0, 30.0, 300.0])


@pytest.mark.parametrize(
    ("expr", "truth"),
    [
        ((1 - sp.sqrt(ALPHA)) ** 2, lambda s: 1 / (1 + s)),
        ((1 - ALPHA) ** 2, lambda s: (1 - s / 2) ** 2 if s < 2 else arb(0)),
        ((1 - ALPHA) / 2, lambda s: max(arb("0.5"), 1 - s)),  # all finite losses are negative
        pytest.param(
            sp.Max(0, 1 - 3 * ALPHA, (1 - 2 * ALPHA) / 2),
            lambda s: max(arb(0), (3 - s) / 4, 1 - s / 2),
            marks=pytest.mark.slow,
        ),
        (
            sp.Piecewise((1 - 2 * ALPHA, 3 * ALPHA < 1), ((1 - ALPHA) / 2, True)),
            lambda s: max(arb(0), (2 - s) / 3, 1 - s),
        ),
    ],
    ids=lambda each: "" if callable(each) and not hasattr(each, "free_symbols") else str(each),
)
def test_profiles_of_formulas_hold_the_truth_to_the_last_digits(expr, truth):
    f = Symbolic(expr, ALPHA)
    assert f.assumptions == ()
    for loss, low, high in zip(FAR, *f.bounds.delta(FAR), strict=True):
        wanted = truth(arb(float(loss)).exp())
        assert arb(low) <= wanted or wanted.contains(arb(low))
        assert wanted <= arb(high) or wanted.contains(arb(high))
        assert high - low <= 3e-15 * high


def test_functions_without_balls_are_two_precisions_that_agree():
    shifted = Symbolic(sp.erfc(sp.Rational(1, 2) - sp.erfcinv(2 * ALPHA)) / 2, ALPHA)
    assert len(shifted.assumptions) == len((shifted @ to.Laplace(1)).assumptions) == 1
    assert repr(shifted).endswith("(assumes 1 thing: see .assumptions)")
    agree(shifted.bounds.delta(LOSSES), to.Gaussian(np.sqrt(0.5)).bounds.delta(LOSSES))


def test_precision_is_the_thread_s_own(monkeypatch):
    """What any thread may do to mpmath's own precision happens inside of a formula here."""
    inverse = symbolic_numbers._erfcinv

    def disturbed(y):
        mpmath.mp.prec = 20
        return inverse(y)

    monkeypatch.setattr(symbolic_numbers, "_erfcinv", disturbed)
    with mpmath.workdps(50), ThreadPoolExecutor(2) as others:
        shifted = Symbolic(sp.erfc(sp.Rational(1, 2) - sp.erfcinv(2 * ALPHA)) / 2, ALPHA)
        answers = [shifted.bounds(ALPHAS), *others.map(shifted.bounds, [ALPHAS + 0.0] * 2)]
    truth = to.Gaussian(np.sqrt(0.5)).bounds(ALPHAS)
    for found in answers:
        agree(found, truth)


@pytest.mark.parametrize(
    "expr", [(1 - sp.sqrt(ALPHA)) ** 2, (1 - ALPHA ** sp.Rational(1, 8)) ** 8, (1 - ALPHA) ** 2], ids=str
)
def test_curves_that_only_touch_zero_have_no_mass_there(expr):
    assert Symbolic(expr, ALPHA).p_minus == 0


@pytest.mark.parametrize("lost", ["1e-30", "1e-10", "0.375"])
def test_small_masses_at_infinity_keep_their_digits(lost):
    """P(L = -inf) and Q(L = inf) of (1 - p - alpha)(1 - q)/(1 - p), whose zero and start floats near 1 cannot
    tell from 1."""
    p, q = sp.Rational(lost), sp.Rational(lost) / 3
    leaking = Symbolic(sp.Max(0, (1 - p - ALPHA) * (1 - q) / (1 - p)), ALPHA)
    assert leaking.p_minus == pytest.approx(float(p), rel=2e-16)
    assert leaking.q_plus == pytest.approx(float(q), rel=2e-16)
    assert float(q) in leaking.bounds.delta(np.inf)
    assert leaking.bounds(0.0).lower <= 1 - q <= leaking.bounds(0.0).upper


def test_importing_the_library_does_not_import_sympy():
    code = "import sys, tradeoff; sys.exit('sympy' in sys.modules or 'mpmath' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_leaks_is_not_denied_where_no_limit_is_known():
    """A formula without value or known limit at 0 may leak whatever it is short of 1 beside it."""
    x = sp.Symbol("alpha", real=True)
    beside = sp.erfcinv(x) / (sp.erfcinv(x) ** 2 + 1)
    curve = to.Symbolic((1 - x) / 2 - beside / 20, x)
    assert 0.5 in curve.mass_at_infinity
    assert curve.delta(math.inf) >= 0.5


@pytest.mark.parametrize("leak", [Fraction(1, 3), Fraction(2, 7), Fraction(1, 5)])
def test_limits_at_0_are_held_from_both_sides(leak):
    low, high = Symbolic(
        sp.Rational(*leak.as_integer_ratio()) * (1 + ALPHA * sp.log(ALPHA) - ALPHA), ALPHA
    ).bounds(0)
    assert Fraction(low) <= leak <= Fraction(high)
    assert high - low < 1e-15


@pytest.mark.parametrize(
    "expr",
    [1 - ALPHA - ALPHA * (sp.expint(1, ALPHA) - sp.expint(1, 1)) / 10, (1 - ALPHA) * (1 - sp.floor(ALPHA))],
)
def test_formulas_whose_slope_has_no_floats_are_asked_without_it(expr):
    f = Symbolic(expr, ALPHA)
    delta, value = f.bounds.delta(0.1), f.bounds(0.1)
    assert 0 <= delta.lower <= delta.upper <= 1
    assert delta.upper >= 1 - value.upper - math.exp(0.1) * 0.1
    assert f.bounds.epsilon(0.1).lower <= f.bounds.epsilon(0.1).upper


@pytest.mark.slow
@pytest.mark.parametrize(
    "expr",
    [
        sp.Max(0, sp.Rational(9, 10) - ALPHA),
        sp.Rational(9, 10) * (1 - ALPHA) ** 2,
        sp.Piecewise(
            (1 - 10 * ALPHA, sp.Rational(99, 1000) >= ALPHA), ((1 - ALPHA) * sp.Rational(10, 901), True)
        ),
    ],
    ids=str,
)
def test_inverses_that_hold_only_in_part_are_bounded(expr):
    f = Symbolic(expr, ALPHA)
    for alpha in (0.05, 0.3, 0.95):
        low, high = f.inverse().bounds(alpha)
        assert f.bounds(max(low - 1e-9, 0.0)).upper >= alpha - 1e-9 or low == 0
        assert f.bounds(min(high + 1e-9, 1.0)).lower <= alpha + 1e-9
    assert f.gdp(failure=0.2).mu >= 0


@pytest.mark.parametrize(
    "expr",
    [
        sp.Piecewise((1, LOSS <= 0), ((1 - LOSS) / 2, True)),
        sp.Piecewise((1, LOSS <= 0), ((1 - LOSS) * (1 - sp.Rational(1, 10**20)), True)),
        (1 - LOSS) * (1 - sp.sign(LOSS) / 2),
        (1 - LOSS + sp.KroneckerDelta(LOSS, 0)) / 2,
        (1 - LOSS + sp.Pow(0, LOSS, evaluate=False)) / 2,
    ],
    ids=str,
)
def test_formulas_that_jump_at_0_are_refused(expr):
    with pytest.raises(CurveError, match="jumps at alpha = 0"):
        Symbolic(expr, LOSS)


def test_tails_of_a_formula_are_above_its_mass_at_infinity():
    f = Symbolic(sp.Rational(9, 10) * (1 - ALPHA ** sp.Rational(1, 7)), ALPHA)
    for epsilon in (300.0, 710.0, 800.0):
        assert f.bounds.delta(epsilon).lower >= 0.09999
