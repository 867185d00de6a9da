"""Formulas in balls contain the numbers that mpmath computes with 60 digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy as sp
from flint import arb

from tradeoff.balls import to_balls, to_floats
from tradeoff.errors import DomainError
from tradeoff.symbolic.evaluate import convert_number, evaluate

X = sp.Symbol("x", real=True)
FUNCTIONS = {
    sp.exp(X) - 1 / X: lambda x: mpmath.exp(x) - 1 / x,
    sp.log(X) * sp.sqrt(X): lambda x: mpmath.log(x) * mpmath.sqrt(x),
    X ** sp.Rational(5, 3) + X**-7: lambda x: mpmath.cbrt(x) ** 5 + x**-7,
    sp.erf(X) + 3 * sp.erfc(X) + sp.pi: lambda x: mpmath.erf(x) + 3 * mpmath.erfc(x) + mpmath.pi,
    sp.erfinv(X / 4): lambda x: mpmath.erfinv(x / 4),
    sp.erfcinv(X / 4) * sp.E: lambda x: mpmath.erfinv(1 - x / 4) * mpmath.e,
    sp.Max(X, 1 / X, sp.Rational(3, 2)): lambda x: max(x, 1 / x, mpmath.mpf("1.5")),
    sp.Min(X, 1 / X) - sp.Abs(1 - X): lambda x: min(x, 1 / x) - abs(1 - x),
    sp.sinh(X) + sp.cosh(X) * sp.tanh(X): lambda x: 2 * mpmath.sinh(x),
    sp.sin(X) ** 2 + sp.cos(X) + sp.tan(X): lambda x: mpmath.sin(x) ** 2 + mpmath.cos(x) + mpmath.tan(x),
    sp.asin(X / 4) + sp.acos(X / 4) + sp.atan(X): lambda x: mpmath.pi / 2 + mpmath.atan(x),
    sp.asinh(X) + sp.acosh(4 + X) + sp.atanh(X / 4): lambda x: (
        mpmath.asinh(x) + mpmath.acosh(4 + x) + mpmath.atanh(x / 4)
    ),
    sp.Piecewise((X, X < 1), (X**2, (X >= 1) & (X <= 2)), (5, True)): lambda x: (
        x if x < 1 else x * x if x <= 2 else mpmath.mpf(5)
    ),
    sp.Piecewise((X, (sp.Rational(1, 3) > X) | (X > 2)), (0, True)): lambda x: (
        x if x < mpmath.mpf(1) / 3 or x > 2 else mpmath.mpf(0)
    ),
}


@pytest.mark.parametrize("formula", FUNCTIONS, ids=str)
def test_evaluate_contains_values_of_mpmath(formula):
    places = np.array([0.0625, 0.5, 1.0, 1.75, 2.0, 3.5])
    low, high = to_floats(evaluate(formula, {X: to_balls(places)}))
    with mpmath.workdps(60):
        for place, below, above in zip(places, low, high, strict=True):
            truth = FUNCTIONS[formula](mpmath.mpf(float(place)))
            assert below <= truth <= above
            assert above - below <= 1e-15 * abs(truth)


def test_evaluate_at_an_undecided_condition_contains_both_pieces():
    value = evaluate(sp.Piecewise((0, X < 1), (1, True)), {X: arb(1, 0.125)})
    assert 0 in value
    assert 1 in value


def test_evaluate_at_poles_returns_the_limits():
    normal = sp.erfc(1 - sp.erfcinv(2 * X)) / 2
    assert [evaluate(normal, {X: arb(x)}) for x in (0, 1)] == [1, 0]
    assert evaluate(sp.exp(sp.log(X)), {X: arb(0)}) == 0


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
