"""Formulas of users: numbers contain the truth in balls, and other functions are refused."""

import math
import pickle

import numpy as np
import pytest
import scipy.stats as st
import sympy as sp
from flint import arb

import tradeoff as to
from tests.truth.claims import check, overlap
from tradeoff import Symbolic
from tradeoff.errors import CurveError, DomainError, NoClosedForm, SymbolError, TradeOffError
from tradeoff.symbolic import formula

ALPHA, MU, NU, EPS, DELTA, P, K = sp.symbols("alpha mu nu epsilon delta p k", positive=True)
LOSS = sp.Symbol("x", real=True)
ALPHAS = np.array([0.0, 1e-12, 0.04, 0.2, 0.31, 0.5, 0.77, 0.999, 1.0])
LOSSES = np.array([-3.0, -0.6, -0.1, 0.0, 0.2, 0.71, 2.0])
LOGISTIC = (1 - ALPHA) / (1 - ALPHA + K * ALPHA)
FAMILIES = [
    (to.Gaussian(MU), {MU: 1.5}),
    (to.Gaussian(MU), {MU: 40}),
    (to.Laplace(EPS), {EPS: 0.7}),
    (to.PureDP(EPS), {EPS: 0.7}),
    (to.PureDP(EPS), {EPS: 32768 - 32858 * 4084 / 4096}),  # the search meets the kink
    (to.TotalVariation(DELTA), {DELTA: 0.1}),
    (to.approximate_dp(EPS, DELTA), {EPS: 0.7, DELTA: 0.1}),
    (to.Gaussian(MU) @ to.TotalVariation(DELTA), {MU: 0.8, DELTA: 0.1}),
    (to.subsample(to.Laplace(EPS), P), {EPS: 1.5, P: 0.25}),
    pytest.param(to.subsample(to.Gaussian(MU), P), {MU: 1.5, P: 0.25}, marks=pytest.mark.slow),
    (to.PureDP(EPS).group(3), {EPS: 0.3}),
]


def agree(one, two, rtol=1e-11):
    """Check that two enclosures of the same number overlap and are narrow."""
    assert overlap(one, two)
    assert np.allclose(one.lower, two.upper, rtol=rtol, atol=1e-13)


@pytest.mark.parametrize(("curve", "values"), FAMILIES, ids=repr)
def test_formula_of_a_family_has_its_numbers(curve, values):
    written, numbers = curve.symbolic(ALPHA).subs(values), curve.subs(values)
    assert curve.symbolic(ALPHA).free_symbols == set(values)
    assert (curve.symbolic(ALPHA).symmetric, written.symmetric) == (numbers.symmetric, numbers.symmetric)
    agree(written.bounds(ALPHAS), numbers.bounds(ALPHAS))
    agree(written.bounds.delta(LOSSES), numbers.bounds.delta(LOSSES), rtol=1e-9)
    levels = [0.05, 0.15] if {P, MU} <= set(values) else [0.15, 0.4]  # at .4 the other sample is at its kink
    agree(written.bounds.epsilon(levels), numbers.bounds.epsilon(levels))
    agree((~written).bounds(ALPHAS), (~numbers).bounds(ALPHAS), rtol=1e-9)
    assert "checked at 80 points" in written.assumptions[0]
    assert ("its own inverse" in written.assumptions[0]) == numbers.symmetric


FAR = np.array([-300.0, -30.0, -1.0, -1e-9, 0.0, 0.3, 2.0, 30.0, 300.0])
PROFILES = {
    (1 - sp.sqrt(ALPHA)) ** 2: lambda s: 1 / (1 + s),
    (1 - ALPHA) ** 2: lambda s: (1 - s / 2) ** 2 if s < 2 else arb(0),
    (1 - ALPHA) / 2: lambda s: max(arb("0.5"), 1 - s),  # all finite losses are negative
    sp.Max(0, 1 - 3 * ALPHA, (1 - 2 * ALPHA) / 2): lambda s: max(arb(0), (3 - s) / 4, 1 - s / 2),
    sp.Piecewise((1 - 2 * ALPHA, 3 * ALPHA < 1), ((1 - ALPHA) / 2, True)): lambda s: max(
        arb(0), (2 - s) / 3, 1 - s
    ),
}


@pytest.mark.parametrize("expr", PROFILES, ids=str)
def test_delta_of_formula_contains_truth_wherever_the_search_ends(expr, monkeypatch):
    f, truths = Symbolic(expr, ALPHA), [PROFILES[expr](arb(float(loss)).exp()) for loss in FAR]
    check(f.bounds.delta(FAR), truths, 3e-15)
    off = arb(2) ** -100
    for steps in (0, 5, 12, 16, 20):
        monkeypatch.setattr(formula, "_STEPS", steps)
        for truth, low, high in zip(truths, *f.delta_bounds(FAR, None), strict=True):
            assert arb(low) <= truth * (1 + off)
            assert arb(high) >= truth * (1 - off)


@pytest.mark.parametrize(
    ("expr", "steepest"),
    [
        ((1 - ALPHA) * (2 - ALPHA) / 2, sp.Rational(3, 2)),
        ((1 - ALPHA) * sp.exp(-ALPHA), 2),
        (sp.Max(0, 1 - 3 * ALPHA, (1 - 2 * ALPHA) / 2), 3),
    ],
    ids=str,
)
def test_sup_loss_is_the_logarithm_of_the_slope_at_0(expr, steepest):
    f = Symbolic(expr, ALPHA)
    low, high = f.bounds.epsilon(0.0)
    assert low <= sp.log(steepest) <= high == f.sup_loss
    assert high - low <= 1e-15


def test_sup_loss_is_unbounded_where_the_slope_at_0_is_not_a_number():
    """Slopes of 1 - 2 a + a/(1 - log a) approach -2 as slowly as 1/log."""
    low, high = Symbolic(1 - 2 * ALPHA + ALPHA / (1 - sp.log(ALPHA)), ALPHA).bounds.epsilon(0.0)
    assert low <= sp.log(2)
    assert high == np.inf


@pytest.mark.parametrize("lost", ["1e-30", "1e-10", "0.375"])
def test_small_masses_at_infinity_keep_their_digits(lost):
    """P(L = -inf) and Q(L = inf) of (1 - p - alpha)(1 - q)/(1 - p) are p and q."""
    p, q = sp.Rational(lost), sp.Rational(lost) / 3
    leaking = Symbolic(sp.Max(0, (1 - p - ALPHA) * (1 - q) / (1 - p)), ALPHA)
    for result, truth in (
        (leaking.mass_at_infinity, q),
        ((~leaking).mass_at_infinity, p),
        (leaking.bounds(0.0), 1 - q),
    ):
        assert result.lower <= truth <= result.upper
    assert leaking.mass_at_minus_infinity == pytest.approx(float(p), rel=4e-16)
    low, high = Symbolic(sp.Rational(2, 7) * (1 + ALPHA * sp.log(ALPHA) - ALPHA), ALPHA).bounds(0)
    assert low <= sp.Rational(2, 7) <= high  # the limit of a log a
    assert high - low < 1e-15


REFUSED = [
    (1 - ALPHA / 2, "is above 1 - alpha"),
    (ALPHA / 2, "increases|is above 1 - alpha"),
    ((1 - ALPHA) * (sp.Rational(1, 2) + ALPHA / 4), "is not convex"),
    (-1 + 0 * ALPHA, "is negative"),
    (1.5 - 2 * ALPHA, "is negative|is above"),
    (sp.sqrt(ALPHA - sp.Rational(1, 2)), "is not a real number|no limit"),
    ((1 - ALPHA) * (1 + sp.sin(40 * ALPHA) / 9) / 2, "is not convex|increases"),
    ((1 - ALPHA) * (2 + sp.sin(1 / ALPHA)) / 3, "no value at alpha = 0, and no limit"),
    (sp.Piecewise((1, LOSS <= 0), ((1 - LOSS) / 2, True)), "jumps at alpha = 0"),
    (sp.Piecewise((1, LOSS <= 0), ((1 - LOSS) * (1 - sp.Rational(1, 10**20)), True)), "jumps at alpha = 0"),
    ((1 - LOSS + sp.Pow(0, LOSS, evaluate=False)) / 2, "jumps at alpha = 0"),
    (
        sp.Piecewise(((1 - ALPHA) ** 2, 3 * ALPHA < 2), ((1 - ALPHA) ** 2 * 0.9999, True)),
        "jumps at alpha = 0.6666",
    ),
    ((1 - ALPHA) * (1 - sp.floor(ALPHA)), "must be made of"),
    ((1 - LOSS) * (1 - sp.sign(LOSS) / 2), "must be made of"),
]


@pytest.mark.parametrize(("expr", "reason"), REFUSED, ids=[str(expr) for expr, _ in REFUSED])
def test_symbolic_other_formulas_are_refused_in_one_sentence(expr, reason):
    with pytest.raises((CurveError, DomainError), match=reason) as caught:
        Symbolic(expr, LOSS if expr.has(LOSS) else ALPHA)
    assert "\n" not in str(caught.value)


def test_subs_checks_the_formula_once_it_has_numbers():
    with pytest.raises(CurveError):
        Symbolic(LOGISTIC, ALPHA).subs({K: 0.5})
    with pytest.raises(SymbolError, match=r"\.subs"):
        Symbolic(LOGISTIC, ALPHA)(0.5)
    with pytest.raises(DomainError, match="alpha must be a SymPy symbol"):
        Symbolic(LOGISTIC, 2 * ALPHA)


@pytest.mark.slow
def test_composition_overlaps_the_pairs_known_otherwise():
    leaking = Symbolic(LOGISTIC, ALPHA) @ to.TotalVariation(DELTA)
    numbers = {K: sp.E, DELTA: 0.25}
    known = to.LocationShift(st.logistic(), 1) @ to.TotalVariation(0.25)
    agree(leaking.subs(numbers).bounds(ALPHAS[:-3]), known.bounds(ALPHAS[:-3]))
    agree(leaking.subs(numbers).bounds.delta(LOSSES), known.bounds.delta(LOSSES), rtol=1e-8)
    agree(leaking.symbolic(ALPHA).subs(numbers).bounds(ALPHAS), leaking.subs(numbers).bounds(ALPHAS))
    ten = Symbolic(LOGISTIC, ALPHA).subs({K: sp.E}) ** 10
    assert overlap(ten.bounds.epsilon(1e-5), (to.LocationShift(st.logistic(), 1) ** 10).bounds.epsilon(1e-5))


def test_formulas_answer_symbols():
    f = to.Gaussian(1).symbolic(ALPHA)
    assert f(P) == f.expr.subs(ALPHA, P)
    assert (f.symbolic(P).alpha, f.symbolic(), to.Gaussian(MU).symbolic().alpha.name) == (P, f, "alpha")
    assert r"\alpha" in f._repr_latex_()
    assert f.notation == f"Symbolic({f.expr}, alpha)"
    assert pickle.loads(pickle.dumps(f)) == f
    for question in (lambda: f.delta(LOSS), (to.Gaussian(MU) @ to.Laplace(EPS)).symbolic):
        with pytest.raises(NoClosedForm, match="formula"):
            question()


@pytest.mark.parametrize(
    "make",
    [
        lambda _: to.TotalVariation(ALPHA).symbolic(ALPHA),
        *(lambda _: to.Laplace(2 * ALPHA).symbolic(ALPHA), lambda f: f.symbolic(K)),
        *(lambda f: f.subs({K: ALPHA}), lambda f: (f @ to.TotalVariation(ALPHA)).symbolic(ALPHA)),
    ],
)
def test_symbol_of_the_type_one_error_is_not_a_parameter(make):
    with pytest.raises(SymbolError, match=r"is a parameter and cannot be the type I error.*\.symbolic\("):
        make(Symbolic(LOGISTIC, ALPHA))


@pytest.mark.parametrize(
    "pass_text",
    [
        *(Symbolic, lambda code: Symbolic(code.encode()), lambda code: Symbolic([code])),
        *(lambda code: Symbolic(1 - ALPHA, code), lambda code: Symbolic(1 - ALPHA, ALPHA).symbolic(code)),
        lambda code: Symbolic(LOGISTIC, ALPHA).subs({K: code}),
        *(lambda code: Symbolic(LOGISTIC, ALPHA).subs({code: 1}), Symbolic(LOGISTIC, ALPHA), to.Gaussian),
        *(lambda code: to.Gaussian(MU).epsilon([code]), lambda code: to.Gaussian(MU).subs({MU: code})),
        *(lambda code: to.Gaussian(MU * 2).subs({MU: code}), lambda code: to.Gaussian(MU).bayes_risk(code)),
        lambda code: to.subsample(to.Gaussian(MU), code),
    ],
)
def test_text_raises_and_is_not_run(pass_text, tmp_path):
    place = tmp_path / "ran"
    code = f"__import__('pathlib').Path({str(place)!r}).write_text('ran')"
    sp.sympify(code)  # SymPy runs it
    place.unlink()
    with pytest.raises(TradeOffError) as caught:
        pass_text(code)
    assert not place.exists()
    assert "\n" not in str(caught.value)


def test_delta_of_large_losses_contains_the_truth():
    """The supremum of 2/(2 - log a) - e^x a is at an a < e^-x, and at least the value at e^-x/x^2."""
    f = Symbolic(1 - 2 / (2 - sp.log(ALPHA)), ALPHA)
    for loss in (50.0, 5e3, 1e4):
        low, high = f.bounds.delta(loss)
        assert low <= 2 / (2 + loss)
        assert high >= 2 / (2 + loss + 2 * math.log(loss)) - loss**-2


def test_group_of_a_formula_is_its_iterate():
    group = Symbolic(LOGISTIC, ALPHA, symmetric=True).group(2)
    assert sp.simplify(group(ALPHA) - LOGISTIC.subs(K, K**2)) == 0
    assert group.subs({K: 3})(0.25) == pytest.approx(0.25, rel=1e-9)  # 0.75/(0.75 + 9/4)


def test_inverse_of_formula_has_its_losses():
    f = ~to.Symbolic((1 - ALPHA) ** 2, ALPHA)  # delta is e^-epsilon/4
    for delta in (1e-3, 1e-9, 1e-100):
        low, high = f.bounds.epsilon(delta)
        assert low <= -math.log(4 * delta) * (1 + 1e-15)
        assert high >= -math.log(4 * delta) * (1 - 1e-15)
        assert high - low < 1e-12
    assert 0 < (f @ to.Gaussian(1)).bounds.epsilon(1e-5).width < 0.02
