"""Curves with symbols become the curves built with numbers, or an error names the remedy."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
import sympy

import tradeoff as to
from tradeoff.errors import DomainError, NoClosedForm, SymbolError

s, p = sympy.symbols("s p", positive=True)
ALPHA = np.array([0.0, 0.01, 0.1, 0.3, 0.7, 1.0])
FAMILIES = {
    "Gaussian": (to.Gaussian, 1.5),
    "Laplace": (to.Laplace, 1.5),
    "PureDP": (to.PureDP, 1.5),
    "TotalVariation": (to.TotalVariation, 0.125),
}
G = to.Gaussian(1.0)
OPERATORS = {
    "inverse": lambda f: ~f,
    "group": lambda f: f.group(2),
    "power": lambda f: f**3,
    "product": lambda f: f @ to.Laplace(0.5),
    "formula": lambda f: f.symbolic(),
    "mixture": lambda f: to.mixture({f: 0.5, G: 0.5}),
    "maximum": lambda f: to.maximum(f, G),
    "minimum": lambda f: to.minimum(f, G, to.PureDP(2.0)),
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
    (low, high), (other_low, other_high) = curve.bounds(ALPHA), build(make(value)).bounds(ALPHA)
    assert np.all((low <= other_high) & (other_low <= high))
    np.testing.assert_allclose(low, other_low, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("scheme", ["poisson", "without-replacement"])
@pytest.mark.parametrize("f", [G, to.Laplace(1.0), to.PureDP(1.0), to.TotalVariation(0.25)], ids=repr)
def test_subs_of_a_rate_gives_the_sample_built_with_numbers(f, scheme):
    symbolic = to.subsample(f, p, scheme=scheme)
    for rate in (0, 0.25, Fraction(1, 4), 1):
        bounds = symbolic.subs({p: rate}).bounds(ALPHA)
        wanted = to.subsample(f, rate, scheme=scheme).bounds(ALPHA)
        np.testing.assert_allclose(bounds.lower, wanted.lower, rtol=1e-6, atol=1e-9)
        assert np.all((bounds.lower <= wanted.upper) & (wanted.lower <= bounds.upper))
    for rate in (2, -1):
        with pytest.raises(DomainError, match="p must be in"):
            to.subsample(f, p, scheme="without-replacement").subs({p: rate})


def test_subs_keeps_the_scheme():
    both = to.subsample(to.Gaussian(s), p, scheme="without-replacement")
    assert both.symmetric
    assert both.free_symbols == {s, p}
    wanted = to.subsample(to.Gaussian(1.5), 0.25, scheme="without-replacement")
    assert both.subs({s: 1.5}).subs({p: 0.25}) == both.subs({p: 0.25}).subs({s: 1.5}) == wanted
    assert to.subsample(to.Gaussian(s), p) != both


@pytest.mark.parametrize("make", [to.Gaussian, to.Laplace, to.PureDP, to.TotalVariation], ids=repr)
def test_subs_replaces_all_symbols_at_once(make):
    a = sympy.Symbol("a", positive=True)
    for join in (
        lambda f: f,
        lambda f: f @ to.LocationShift(scipy.stats.logistic(), 1),
        lambda f: f.symmetrise(assume="profile"),
        lambda f: to.subsample(f, 0.5, scheme="without-replacement"),
    ):
        assert join(make(s + 2 * p)).subs({s: p, p: s}) == join(make(p + 2 * s))
    assert to.subsample(G, s / p, scheme="without-replacement").subs({s: p, p: s}) == to.subsample(
        G, p / s, scheme="without-replacement"
    )
    sampled = to.subsample(make(s + 2 * p), 0.5)
    assert sampled.subs({"s": p, "p": s}) == to.subsample(make(p + 2 * s), 0.5)
    assert to.Symbolic((1 - a) ** (1 + s + 2 * p), a).subs({s: p, p: s}).expr == (1 - a) ** (1 + p + 2 * s)


LIKE = sympy.Symbol("s"), sympy.Symbol("s", positive=True)
"""Two symbols of one name, which SymPy distinguishes."""


@pytest.mark.parametrize(
    "join",
    [
        lambda f, g: f @ g,
        lambda f, g: to.mixture({f: 0.5, g: 0.5}),
        lambda f, g: (f @ g).group(2),
        to.maximum,
    ],
)
def test_subs_distinguishes_symbols_of_one_name(join):
    one, other = LIKE
    curve = join(to.Gaussian(one), to.Laplace(other))
    wanted = join(to.Gaussian(3.0), to.Laplace(0.125))
    assert curve.subs({one: 3, other: 0.125}) == curve.subs({one: 3}).subs({"s": 0.125}) == wanted
    assert curve.subs({other: 0.125}).subs({other.name: 3}) == wanted
    for name in ("s", sympy.Symbol("s", real=True)):
        with pytest.raises(SymbolError, match=r"2 free symbols of .* are named s; give the one meant"):
            curve.subs({name: 3})


def test_subs_with_a_symbol_given_twice_is_refused():
    one, other = LIKE
    for values in ({one: 3, other: 0.125}, {one: 3, "s": 0.125}, {other: 3, "s": 0.125}):
        with pytest.raises(SymbolError, match=r"s is given twice for .*; give it once"):
            to.Gaussian(one).subs(values)
    assert to.Gaussian(one).subs({other: 3}) == to.Gaussian(3)  # the only one of its name


def test_subs_that_makes_parts_equal_adds_their_weights():
    curve = to.mixture({to.Gaussian(s): 0.25, G: 0.25, to.Laplace(1.0): 0.5}).subs({s: 1})
    assert curve == to.mixture({G: 0.5, to.Laplace(1.0): 0.5})
    assert to.mixture({to.Gaussian(s): 0.5, G: 0.5}).subs({s: 1}) == G


def test_sample_without_a_formula_waits_for_numbers():
    for base in (to.Laplace(1.0) ** 3, to.subsample(G, 0.5)):
        assert to.subsample(base, p).subs({p: 0.25}) == to.subsample(base, 0.25)
        with pytest.raises(NoClosedForm, match="no formula"):
            to.subsample(to.Laplace(1.0) ** 3, p).symbolic()


def test_subs_in_products_composes_the_families():
    product = to.Gaussian(s) @ to.Laplace(p) ** 3 @ to.PureDP(0.5)
    assert product.subs({s: 1}).free_symbols == {p}
    assert product.subs({s: 1, "p": 0.25}) == to.Gaussian(1) @ to.Laplace(0.25) ** 3 @ to.PureDP(0.5)
    both = to.Gaussian(s) @ to.Gaussian(p)
    assert both.notation == "G_{sqrt(p^2+s^2)}"
    assert both.subs({s: 0.3, p: 0.4}) == to.Gaussian(0.3) @ to.Gaussian(0.4)
    assert to.Gaussian(s * p).subs({s: 2}).subs({p: 3}) == to.Gaussian(6)
    assert to.PureDP(s) @ to.TotalVariation(p) == to.approximate_dp(s, p)
    for build in (to.Gaussian, to.Laplace, to.TotalVariation):
        with pytest.raises(DomainError, match="must be in"):
            build(sympy.log(s)).subs({s: 0.5})


def test_subs_rounds_parameters_up():
    curve = to.Laplace(s / 3).subs({s: 1})
    assert Fraction(1, 3) <= Fraction(curve.epsilon_0) <= Fraction(1, 3) * (1 + Fraction(1, 2**52))
    mass = to.TotalVariation(1 - (1 - s) ** p).subs({s: 1e-9, p: 10**12}).mass_at_plus_infinity
    assert mass == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("operator", OPERATORS)
def test_curve_with_symbols_left_refuses_every_number(operator):
    curve = OPERATORS[operator](to.Gaussian(s))
    questions = (
        lambda: curve(0.3),
        lambda: curve.delta(1.0),
        lambda: curve.epsilon(1e-5),
        lambda: curve.tabulate([0.5]),
        lambda: curve >= to.Laplace(0.1),
        lambda: curve.dominates(G, failure=0.1),
        lambda: curve.law.cdf(0.1),
        lambda: curve.lower,
        lambda: to.compare(curve),
    )
    for question in questions:
        with pytest.raises((SymbolError, NoClosedForm), match="substitut"):
            question()
    with pytest.raises(SymbolError, match="not among the free symbols"):
        curve.subs({"t": 1})
    assert curve >= curve  # noqa: PLR0124 - decided by structure, whatever the symbol is


def test_order_of_formulas_needs_numbers():
    assert to.Gaussian(s) >= to.Gaussian(s) @ to.Laplace(s)
    with pytest.raises(SymbolError, match="free symbols"):
        _ = to.Laplace(s) >= to.Laplace(1.0)
