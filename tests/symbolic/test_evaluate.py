"""Formulas in balls contain the numbers that mpmath computes with 60 digits, through SymPy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from flint import arb

from tradeoff.balls import to_balls, to_floats
from tradeoff.errors import DomainError
from tradeoff.symbolic.forms import convert_number, evaluate

X = sp.Symbol("x", real=True)
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


def test_evaluate_at_an_undecided_condition_contains_both_pieces():
    value = evaluate(sp.Piecewise((0, X < 1), (1, True)), {X: arb(1, 0.125)})
    assert 0 in value
    assert 1 in value


def test_evaluate_at_poles_returns_the_limits():
    normal = sp.erfc(1 - sp.erfcinv(2 * X)) / 2
    assert [evaluate(normal, {X: arb(x)}) for x in (0, 1)] == [1, 0]
    assert evaluate(sp.exp(sp.log(X)), {X: arb(0)}) == 0
    assert [evaluate(sp.exp(x * sp.erfinv(X)), {X: arb(x)}) for x in (-1, 1)] == [arb.pos_inf()] * 2


def test_evaluate_without_a_real_value_is_nan():
    for formula in (sp.sqrt(X), sp.log(X), sp.Piecewise((X, X > 0))):
        assert np.isnan(to_floats(evaluate(formula, {X: arb(-1)}))).all()


@pytest.mark.parametrize(
    "part",
    [sp.floor(X), sp.expint(1, X), sp.Heaviside(X), sp.Piecewise((1, sp.Eq(X, 0)), (X, True)), sp.I, sp.oo],
)
def test_evaluate_unsupported_function_lists_the_supported_ones(part):
    with pytest.raises(
        DomainError, match=r"formulas must be made of \+, -, \*, /, powers, .* erfcinv, .*, got "
    ):
        evaluate(1 + part, {X: arb(1)})


def test_convert_number_keeps_binary_values_and_fractions():
    assert convert_number(0.1) == sp.Rational(*(0.1).as_integer_ratio())
    assert convert_number(np.float64(0.1) * X) == convert_number(0.1) * X
    assert convert_number(Fraction(1, 3)) == sp.Rational(1, 3)
    for value in ("1", [1], None, 1j, float("inf"), float("nan")):
        with pytest.raises(DomainError, match="must be a finite number or a SymPy expression"):
            convert_number(value)
