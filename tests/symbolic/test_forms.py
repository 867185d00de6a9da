"""Answers at symbols agree with certified numbers, and a missing closed form is named."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.stats
import sympy as sp
from flint import arb

import tradeoff as to
from tests.truth.claims import overlap
from tradeoff.balls import to_balls, to_floats
from tradeoff.errors import DomainError, NoClosedForm, SymbolError
from tradeoff.symbolic.forms import convert_number, evaluate

A, MU, EPS, DELTA, P, S, T, D = sp.symbols("alpha mu epsilon delta p sigma T d", positive=True)
N, K = sp.symbols("n k", integer=True, positive=True)
X = sp.Symbol("x", real=True)
NUMBERS = {MU: 1.5, EPS: 0.75, DELTA: 0.125, P: 0.25, N: 5, K: 3}
G, LAP, PURE, TV = to.Gaussian(MU), to.Laplace(EPS), to.PureDP(EPS), to.TotalVariation(DELTA)
BOTH = to.approximate_dp(EPS, DELTA)
CURVES = {
    "Gaussian": G,
    "Laplace": LAP,
    "pure": PURE,
    "total variation": TV,
    "approximate": BOTH,
    "Gaussian that leaks": G @ TV,
    "Gaussian, n": G**N,
    "Laplace, group of k": LAP.group(K),
    "Gaussian, group of k": G.group(K),
    "responses, 3": PURE**3,
    "responses, n": PURE**N,
    "approximate, n": BOTH**N,
    "total variation, n": TV**N,
    "pure, group": PURE.group(2),
    "approximate, group": BOTH.group(3),
    "one order": to.subsample(PURE, P),
    "C_p of approximate": to.subsample(BOTH, P, scheme="without-replacement"),
    "C_p of pure": to.subsample(PURE, P, scheme="without-replacement"),
    "C_p of Gaussian": to.subsample(G, P, scheme="without-replacement"),
    "Laplace, n": LAP**N,
}
QUESTIONS = {
    "value": (lambda f, x: f(x), lambda f, x: f.bounds(x), (0.04, 0.3, 0.77)),
    "profile": (lambda f, x: f.delta(x), lambda f, x: f.bounds.delta(x), (-0.4, 0.0, 0.05, 0.7)),
    "epsilon": (lambda f, x: f.epsilon(x), lambda f, x: f.bounds.epsilon(x), (0.03, 0.13, 0.2)),
    "Bayes risk": (lambda f, x: f.bayes_risk(x), lambda f, x: f.bounds.bayes_risk(x), (0.3, 0.6)),
}
_NO_PROFILE = {"pure, group", "approximate, group", "Laplace, n"}
UNKNOWN = {
    "value": {"C_p of Gaussian", "Laplace, n"},
    "profile": _NO_PROFILE,
    "epsilon": _NO_PROFILE
    | {"Gaussian", "Gaussian that leaks", "Gaussian, n", "Gaussian, group of k", "C_p of Gaussian"}
    | {"responses, 3", "responses, n", "approximate, n"},
    "Bayes risk": _NO_PROFILE,
}


def number(formula, values):
    """Evaluate in thirty digits, erfcinv by the inverse of erf."""
    functions = [{"erfcinv": lambda y: mpmath.erfinv(1 - y)}, "mpmath"]
    with mpmath.workdps(30):
        given = [int(x) if isinstance(x, int) else mpmath.mpf(x) for x in values.values()]
        return float(sp.lambdify(list(values), formula, functions)(*given))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", CURVES)
def test_formula_at_a_symbol_has_the_certified_numbers(name, question):
    query, bound, places = QUESTIONS[question]
    curve, x = CURVES[name], D if question == "epsilon" else X if question == "profile" else A
    if name in UNKNOWN[question]:
        with pytest.raises(NoClosedForm, match=r"\.subs"):
            query(curve, x)
        return
    formula, numbers = query(curve, x), curve.subs({s: NUMBERS[s] for s in curve.free_symbols})
    for place in places:
        value, truth = number(formula, NUMBERS | {x: place}), bound(numbers, place)
        if not np.isnan(value):  # below epsilon = 0 a C_p has none
            slack = 1e-12 if not numbers.composed else max(1e-9, 2 * truth.width if value < np.inf else 0)
            assert value == truth.upper or truth.lower - slack <= value <= truth.upper + slack


FUNCTIONALS = {
    "kl": to.limits.kl,
    "kappa2": to.limits.kappa2,
    "Renyi 3": lambda f: f.bounds.renyi(3),
    "Renyi 1/4": lambda f: f.bounds.renyi(0.25),
    "Renyi 1/2": lambda f: f.bounds.renyi(0.5),  # a removable singularity of Laplace
}


@pytest.mark.parametrize("question", FUNCTIONALS)
@pytest.mark.parametrize("curve", [G, LAP, PURE, PURE**3 @ LAP, PURE**N @ G], ids=repr)
def test_functionals_at_symbols_have_the_certified_numbers(curve, question):
    formula = FUNCTIONALS[question](curve).upper
    truth = FUNCTIONALS[question](curve.subs({s: NUMBERS[s] for s in curve.free_symbols}))
    assert truth.lower - 1e-12 <= number(formula, NUMBERS) <= truth.upper + 1e-12


@pytest.mark.parametrize("curve", [G, G**N, PURE, LAP, LAP.group(K)], ids=repr)
def test_gdp_at_symbols_has_the_certified_numbers(curve):
    reduction = curve.gdp(failure=0)
    truth = curve.subs({s: NUMBERS[s] for s in curve.free_symbols}).gdp(failure=0).bounds
    assert truth.lower - 1e-9 <= number(sp.sympify(reduction.mu), NUMBERS) <= truth.upper + 1e-9
    assert reduction.curve.free_symbols == curve.free_symbols
    assert (reduction.regret, reduction.mu_minus) == ((0, reduction.mu) if curve in (G, G**N) else (1, 0))
    with pytest.raises(NoClosedForm, match=r"least mu .*\.subs"):
        (PURE @ LAP).gdp()


def test_clt_at_symbols_has_the_certified_numbers():
    for curve in (PURE**N, PURE**4 @ LAP, G**N @ PURE, BOTH**N):
        numbers = curve.subs({s: NUMBERS[s] for s in curve.free_symbols})
        assert number(to.limits.clt(curve).mu, NUMBERS) == pytest.approx(to.limits.clt(numbers).mu, rel=1e-12)
    values = {P: 0.01, S: 0.8, T: 1000}
    for scheme in ("poisson", "without-replacement"):
        formula = to.limits.dp_sgd_clt(P, S, T, scheme=scheme)
        wanted = to.limits.dp_sgd_clt(0.01, 0.8, 1000, scheme=scheme).mu
        assert number(formula.mu, values) == pytest.approx(wanted, rel=1e-12)
        assert formula.shape(A).free_symbols == {A, P, S, T}
    estimate = to.limits.epsilon_delta_clt(EPS, DELTA, n=N)
    wanted = to.limits.epsilon_delta_clt(0.75, 0.125, n=5)
    assert number(estimate.delta(X), NUMBERS | {X: 0.5}) == pytest.approx(wanted.delta(0.5), rel=1e-9)


@pytest.mark.parametrize("name", ["k", "j"])
def test_index_of_a_sum_is_not_a_symbol_of_the_user(name):
    n = sp.Symbol(name, integer=True, nonnegative=True)
    curve = to.PureDP(1) ** n
    assert curve(A).free_symbols == {A, n}
    assert curve(A) == (to.PureDP(1) ** n)(A)


FORMULAS = [
    sp.exp(X) - 1 / X + sp.log(X) * sp.sqrt(X) + sp.E * sp.pi,
    X ** sp.Rational(5, 3) + X**-7 + 0.1 * X,
    sp.erf(X) + 3 * sp.erfc(X) + sp.erfinv(X / 4) * sp.erfcinv(X / 4),
    sp.Max(X, 1 / X, sp.Rational(3, 2)) * sp.Min(X, 1 / X) - sp.Abs(1 - X),
    sp.sinh(X) + sp.cosh(X) * sp.tanh(X) + sp.sin(X) ** 2 + sp.cos(X) + sp.tan(X),
    sp.asin(X / 4) + sp.acos(X / 5) + sp.atan(X) + sp.asinh(X) + sp.acosh(4 + X) + sp.atanh(X / 4),
    sp.Piecewise((X, X < 1), (X**2, (X >= 1) & (X <= 2)), (5, True)),
    sp.Piecewise((X, (sp.Rational(1, 3) > X) | (X > 2)), (0, True)),
]


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_evaluate_contains_values_of_mpmath(formula):
    places = np.array([0.0625, 0.5, 1.0, 1.75, 2.0, 3.5])
    low, high = to_floats(evaluate(formula, {X: to_balls(places)}))
    for place, below, above in zip(places, low, high, strict=True):
        exact = convert_number(formula).replace(sp.erfcinv, lambda y: sp.erfinv(1 - y))
        truth = exact.subs(X, sp.Rational(place)).evalf(60)
        assert sp.Rational(below) <= truth <= sp.Rational(above)
        assert above - below <= 1e-15 * abs(truth)


def test_evaluate_at_poles_and_undecided_conditions():
    normal = sp.erfc(1 - sp.erfcinv(2 * X)) / 2
    assert [evaluate(normal, {X: arb(x)}) for x in (0, 1)] == [1, 0]
    assert evaluate(sp.exp(sp.log(X)), {X: arb(0)}) == 0
    assert [evaluate(sp.exp(x * sp.erfinv(X)), {X: arb(x)}) for x in (-1, 1)] == [arb.pos_inf()] * 2
    value = evaluate(sp.Piecewise((0, X < 1), (1, True)), {X: arb(1, 0.125)})
    assert 0 in value
    assert 1 in value
    for formula in (sp.sqrt(X), sp.log(X), sp.Piecewise((X, X > 0))):  # without a real value
        assert np.isnan(to_floats(evaluate(formula, {X: arb(-1)}))).all()


def test_convert_number_keeps_binary_values_and_fractions():
    assert convert_number(0.1) == sp.Rational(*(0.1).as_integer_ratio())
    assert convert_number(np.float64(0.1) * X) == convert_number(0.1) * X
    assert convert_number(Fraction(1, 3)) == sp.Rational(1, 3)
    for value in ("1", [1], None, 1j, float("inf"), float("nan")):
        with pytest.raises(DomainError, match="must be a finite number or a SymPy expression"):
            convert_number(value)


s, p = sp.symbols("s p", positive=True)
ALPHA = np.array([0.0, 0.01, 0.1, 0.3, 0.7, 1.0])
FAMILIES = {
    "Gaussian": (to.Gaussian, 1.5),
    "Laplace": (to.Laplace, 1.5),
    "PureDP": (to.PureDP, 1.5),
    "TotalVariation": (to.TotalVariation, 0.125),
}
GAUSS = to.Gaussian(1.0)
OPERATORS = {
    "inverse": lambda f: ~f,
    "group": lambda f: f.group(2),
    "power": lambda f: f**3,
    "product": lambda f: f @ to.Laplace(0.5),
    "formula": lambda f: f.symbolic(),
    "mixture": lambda f: to.mixture({f: 0.5, GAUSS: 0.5}),
    "maximum": lambda f: to.maximum(f, GAUSS),
    "minimum": lambda f: to.minimum(f, GAUSS, to.PureDP(2.0)),
    "Poisson": lambda f: to.subsample(f, Fraction(1, 4)),
    "without replacement": lambda f: to.subsample(f, 0.25, scheme="without-replacement"),
    "either-order": lambda f: f.symmetrise(assume="either-order"),
    "profile": lambda f: f.symmetrise(assume="profile"),
}


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "family", [pytest.param(each, marks=pytest.mark.slow if each == "Laplace" else ()) for each in FAMILIES]
)
def test_subs_matches_curve_of_numbers(family, operator):
    make, value = FAMILIES[family]
    build = OPERATORS[operator]
    symbolic = build(make(s))
    curve = symbolic.subs({s: value})
    assert (symbolic.free_symbols, curve.free_symbols) == ({s}, set())
    assert symbolic.subs({"s": value}) == curve
    bounds, wanted = curve.bounds(ALPHA), build(make(value)).bounds(ALPHA)
    assert overlap(bounds, wanted)
    np.testing.assert_allclose(bounds.lower, wanted.lower, rtol=1e-6, atol=1e-9)


FIXED = to.subsample(to.Gaussian(s), p, scheme="without-replacement")
MIXED = to.mixture({to.Gaussian(s): 0.25, GAUSS: 0.25, to.Laplace(1.0): 0.5})
STRUCTURES = [
    ((PURE @ LAP) ** N @ G, {N: 2, EPS: 0.5}, (to.PureDP(0.5) @ to.Laplace(0.5)) ** 2 @ G),
    ((LAP**N) ** K, {N: 2, K: 3}, LAP**6),
    (PURE.group(K), {K: 2, EPS: 0.5}, to.PureDP(0.5).group(2)),
    (FIXED.subs({s: 1.5}), {p: 0.25}, to.subsample(to.Gaussian(1.5), 0.25, scheme="without-replacement")),
    (FIXED.subs({p: 0.25}), {s: 1.5}, to.subsample(to.Gaussian(1.5), 0.25, scheme="without-replacement")),
    *(
        (to.subsample(base, p), {p: 0.25}, to.subsample(base, 0.25))  # which waits for numbers
        for base in (to.Laplace(1.0) ** 3, to.subsample(GAUSS, 0.5))
    ),
    (MIXED, {s: 1}, to.mixture({GAUSS: 0.5, to.Laplace(1.0): 0.5})),
    (to.mixture({to.Gaussian(s): 0.5, GAUSS: 0.5}), {s: 1}, GAUSS),
    (to.Gaussian(s) @ to.Laplace(p) ** 3, {s: 1, "p": 0.25}, GAUSS @ to.Laplace(0.25) ** 3),
    (to.Gaussian(s) @ to.Gaussian(p), {s: 0.3, p: 0.4}, to.Gaussian(0.3) @ to.Gaussian(0.4)),
    (to.Gaussian(s * p).subs({s: 2}), {p: 3}, to.Gaussian(6)),
    (to.PureDP(s) @ to.TotalVariation(p), {}, to.approximate_dp(s, p)),
]


@pytest.mark.parametrize(("curve", "values", "wanted"), STRUCTURES)
def test_subs_makes_the_curve_built_with_numbers(curve, values, wanted):
    assert curve.subs(values) == wanted


def test_subs_keeps_symmetry_notation_and_ranges():
    assert (FIXED.symmetric, FIXED.free_symbols) == (True, {s, p})
    assert to.subsample(to.Gaussian(s), p) != FIXED
    with pytest.raises(NoClosedForm, match="no formula"):
        to.subsample(to.Laplace(1.0) ** 3, p).symbolic()
    assert (to.Gaussian(s) @ to.Gaussian(p)).notation == "G_{sqrt(p^2+s^2)}"
    for build in (to.Gaussian, to.Laplace, to.TotalVariation):
        with pytest.raises(DomainError, match="must be in"):
            build(sp.log(s)).subs({s: 0.5})
    with pytest.raises(SymbolError, match=r"k must be an integer, got the symbol k.*\.subs"):
        to.from_masses([0.5, 0.5], [0.25, 0.75]).group(K)


@pytest.mark.parametrize("make", [to.Gaussian, to.Laplace, to.PureDP, to.TotalVariation], ids=repr)
def test_subs_replaces_all_symbols_at_once(make):
    a = sp.Symbol("a", positive=True)
    for join in (
        lambda f: f,
        lambda f: f @ to.LocationShift(scipy.stats.logistic(), 1),
        lambda f: f.symmetrise(assume="profile"),
        lambda f: to.subsample(f, 0.5, scheme="without-replacement"),
    ):
        assert join(make(s + 2 * p)).subs({s: p, p: s}) == join(make(p + 2 * s))
    assert to.subsample(GAUSS, s / p, scheme="without-replacement").subs({s: p, p: s}) == to.subsample(
        GAUSS, p / s, scheme="without-replacement"
    )
    assert to.subsample(make(s + 2 * p), 0.5).subs({"s": p, "p": s}) == to.subsample(make(p + 2 * s), 0.5)
    assert to.Symbolic((1 - a) ** (1 + s + 2 * p), a).subs({s: p, p: s}).expr == (1 - a) ** (1 + p + 2 * s)


LIKE = sp.Symbol("s"), sp.Symbol("s", positive=True)
"""Two symbols of one name, which SymPy distinguishes."""


@pytest.mark.parametrize(
    "join",
    [
        *(lambda f, g: f @ g, lambda f, g: to.mixture({f: 0.5, g: 0.5}), lambda f, g: (f @ g).group(2)),
        to.maximum,
    ],
)
def test_subs_distinguishes_symbols_of_one_name(join):
    one, other = LIKE
    curve = join(to.Gaussian(one), to.Laplace(other))
    wanted = join(to.Gaussian(3.0), to.Laplace(0.125))
    assert curve.subs({one: 3, other: 0.125}) == curve.subs({one: 3}).subs({"s": 0.125}) == wanted
    assert curve.subs({other: 0.125}).subs({other.name: 3}) == wanted
    for name in ("s", sp.Symbol("s", real=True)):
        with pytest.raises(SymbolError, match=r"2 free symbols of .* are named s; give the one meant"):
            curve.subs({name: 3})
    for values in ({one: 3, other: 0.125}, {one: 3, "s": 0.125}, {other: 3, "s": 0.125}):
        with pytest.raises(SymbolError, match=r"s is given twice for .*; give it once"):
            to.Gaussian(one).subs(values)
    assert to.Gaussian(one).subs({other: 3}) == to.Gaussian(3)  # the only one of its name


def test_subs_rounds_parameters_up():
    curve = to.Laplace(s / 3).subs({s: 1})
    assert Fraction(1, 3) <= Fraction(curve.epsilon_0) <= Fraction(1, 3) * (1 + Fraction(1, 2**52))
    mass = to.TotalVariation(1 - (1 - s) ** p).subs({s: 1e-9, p: 10**12}).mass_at_plus_infinity
    assert mass == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("operator", OPERATORS)
def test_curve_with_symbols_left_refuses_every_number(operator):
    curve = OPERATORS[operator](to.Gaussian(s))
    questions = (
        *(lambda: curve(0.3), lambda: curve.delta(1.0), lambda: curve.epsilon(1e-5)),
        *(lambda: curve.tabulate([0.5]), lambda: curve >= to.Laplace(0.1)),
        *(lambda: curve.dominates(GAUSS, failure=0.1), lambda: curve.law.cdf(0.1), lambda: curve.lower),
        lambda: to.compare(curve),
    )
    for question in questions:
        with pytest.raises((SymbolError, NoClosedForm), match="substitut"):
            question()
    with pytest.raises(SymbolError, match="not among the free symbols"):
        curve.subs({"t": 1})
    assert curve >= curve  # noqa: PLR0124 - decided by structure, whatever the symbol is
