"""Arithmetic of bounds against Arb balls: the truth lies inside, and little else does."""

import math
import operator
import re
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from tradeoff.errors import Undecided
from tradeoff.intervals import functions
from tradeoff.intervals.bounds import Bounds

EDGES = [0.0, 5e-324, 1e-310, 2.0**-1022, 1e-170, 1e-20, 2.0**-53, 0.5, 1 - 2.0**-53, 1.0, 1 + 2.0**-52, 3.0]
EDGES += [709.0, 1e16, 1e300, 1.7e308]
NUMBERS = st.sampled_from([*EDGES, *(-x for x in EDGES)]) | st.floats(allow_nan=False, allow_infinity=False)
BOUNDS = st.tuples(NUMBERS, NUMBERS).map(lambda pair: Bounds(min(pair), max(pair))) | NUMBERS.map(
    lambda x: Bounds(x, x)
)


def holds(result, truth):
    """Whether no part of the truth's ball is known to lie outside."""
    below = not math.isfinite(result.lower) or not bool(truth < arb(result.lower))
    return below and (not math.isfinite(result.upper) or not bool(truth > arb(result.upper)))


@pytest.mark.parametrize(
    "operation", [lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y]
)
@given(x=BOUNDS, y=BOUNDS)
def test_operations_contain_all_corners(operation, x, y):
    result = operation(x, y)
    assert result.lower <= result.upper
    for a in x:
        for b in y:
            truth = operation(arb(a), arb(b))
            if truth.is_finite():
                assert holds(result, truth)


@given(x=NUMBERS, y=NUMBERS)
def test_exact_operations_have_no_width(x, y):
    total = Bounds(x, x) + y
    exact = (arb(x) + arb(y)) == arb(x + y) if math.isfinite(x + y) else False
    assert (total.lower == total.upper) == exact or not math.isfinite(x + y)
    assert (Bounds(x, x) * 0.0, Bounds(x, x) * 1.0) == (Bounds(0.0, 0.0), Bounds(x, x))


FUNCTIONS = {
    "exp": (lambda x: x.exp(), lambda x: x < 709),
    "expm1": (lambda x: x.expm1(), lambda x: x < 709),
    "log": (lambda x: x.log(), lambda x: x > 0),
    "log1p": (lambda x: x.log1p(), lambda x: x > -1),
    "sqrt": (lambda x: x.sqrt(), lambda x: x >= 0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_arrays_and_scalars_contain_truth(name):
    # Vectorised kernels answer arrays by other code than scalars.
    truth_of, inside = FUNCTIONS[name]
    draw = np.random.default_rng(1)
    x = np.concatenate(
        [
            EDGES,
            np.exp(draw.uniform(-745, 6.5, 2000)),
            -np.exp(draw.uniform(-745, 6.5, 2000)),
            draw.uniform(-40, 700, 2000),
        ]
    )
    x = x[[inside(value) for value in x]]
    result = getattr(functions, name)(x)
    for value, low, high in zip(x.tolist(), result.lower.tolist(), result.upper.tolist(), strict=True):
        alone, truth = getattr(functions, name)(value), truth_of(arb(value))
        assert holds(Bounds(low, high), truth)
        assert holds(alone, truth)
        assert alone.width <= 32 * 2.0**-53 * abs(float(truth.mid())) + 1e-323


@given(x=st.lists(NUMBERS.filter(lambda v: abs(v) < 1e300), max_size=8))
def test_total_is_rounded_once(x):
    result, truth = functions.total(x), sum((arb(v) for v in x), arb(0))
    assert holds(result, truth)
    assert result.upper in {result.lower, math.nextafter(result.lower, math.inf)}


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 1000])
@given(x=st.floats(-1.01, 1.01))
def test_powers_contain_truth(n, x):
    assert holds(Bounds(x, x) ** n, arb(x) ** n)


def test_operations_with_infinities_and_zeros():
    whole, zero = Bounds(-np.inf, np.inf), Bounds(0.0, 0.0)
    assert whole + 1 == whole
    assert whole * 0 == zero
    assert 1 / Bounds(0.0, 2.0) == Bounds(0.5, np.inf)
    assert 1 / Bounds(-2.0, 0.0) == Bounds(-np.inf, -0.5)
    assert 1 / Bounds(-1.0, 1.0) == whole
    assert zero / zero == whole
    assert Bounds(1e308, 1e308) * 10 == Bounds(np.finfo(float).max, np.inf)
    assert functions.exp(1e4) == Bounds(np.finfo(float).max, np.inf)
    assert functions.exp(-np.inf) == zero
    assert functions.log(0.0) == Bounds(-np.inf, -np.inf)
    assert functions.exp(np.inf) == Bounds(np.inf, np.inf)
    assert not any(map(np.signbit, Bounds(-0.0, -0.0) * 1))
    top, some = Bounds(np.inf, np.inf), Bounds(1.0, 3.0)
    assert top * some == some * top == top * top == top
    assert zero / some == zero * top == zero
    assert some / 1 == some


def test_contains_and_width():
    inside = Bounds(0.25, 0.5)
    assert [x in inside for x in (0.2, 0.25, 0.3, 0.5, 0.6)] == [False, True, True, True, False]
    assert Bounds(np.array([1.0, -np.inf]), np.array([3.0, -np.inf])).width.tolist() == [2.0, 0.0]


def test_arrays_combine_with_bounds():
    result = np.array([1.0, 2.0]) * Bounds(0.5, 1.0) - np.array([0.0, 1.0])
    assert result.lower.tolist() == [0.5, 0.0]
    assert result.upper.tolist() == [1.0, 1.0]


@given(x=BOUNDS, spec=st.sampled_from([".3f", ".5g", ".0e", "g", "+.2%"]))
def test_format_rounds_outward(x, spec):
    written = f"{x:{spec}}"
    assert written[0] == "[" and written[-1] == "]"  # noqa: PT018 - one bracket is as bad as none
    low, high = (Fraction(side.rstrip("%")) for side in written[1:-1].split(", "))
    scale = 100 if spec.endswith("%") else 1
    assert low <= scale * Fraction(x.lower)
    assert scale * Fraction(x.upper) <= high
    if x.lower == x.upper == 0.5:
        assert low == high
    assert f"{Bounds(-math.inf, 1 / 3):.2f}" == "[-inf, 0.34]"
    pair = Bounds(np.array([0.25, 1 / 3]), np.array([0.25, 2 / 3]))
    assert f"{pair:.2f}" == "[[0.25, 0.25], [0.33, 0.67]]"
    assert f"{Bounds(0.25, 0.5)}" == "Bounds(lower=0.25, upper=0.5)"


@given(x=BOUNDS, y=BOUNDS | NUMBERS)
def test_comparison_is_certain_or_undecided(x, y):
    other = Bounds.of(y)
    corners = [(a, b) for a in x for b in other]
    for relation in (operator.lt, operator.le, operator.gt, operator.ge):
        truths = {relation(a, b) for a, b in corners}
        if len(truths) == 1:
            assert relation(x, y) is truths.pop()
        else:
            with pytest.raises(Undecided, match="smaller tol"):
                relation(x, y)


@pytest.mark.parametrize(
    ("x", "more"),
    [
        *((2.0**53, 2**53 + 1), (0.1, Fraction(0.1) + Fraction(1, 10**30)), (0.1, Fraction(1, 10))),
        *(
            (np.float64(2.0**53), 2**53 + 1),
            (2.0**62, np.int64(2**62 + 1)),
            (-(2.0**62), np.int64(2 - 2**62)),
        ),
    ],
)
def test_comparison_with_numbers_that_are_no_floats_is_exact(x, more):
    is_less = Fraction(float(x)) < Fraction(int(more) if isinstance(more, np.int64) else more)
    x, other = Bounds(x, x), Bounds(more, more)
    assert (x < other, x >= more, other <= more) == (is_less, not is_less, True)
    assert isinstance(more, np.int64) or isinstance(x.lower, np.float64) or more not in x
    assert other - x.lower != Bounds(0.0, 0.0)


def test_comparison_of_arrays_names_first_undecided_entry():
    x = Bounds(np.array([0.0, 1.0]), np.array([0.5, 2.0]))
    assert (x < 3).tolist() == [True, True]
    assert (np.array([0.5, 2.0]) >= x).tolist() == [True, True]
    with pytest.raises(Undecided) as error:
        operator.lt(x, np.array([0.75, 1.5]))
    assert error.value.at == 1.5


@given(x=BOUNDS)
def test_mid_lies_inside(x):
    assert x.lower <= x.mid <= x.upper
    exact = (Fraction(x.lower) + Fraction(x.upper)) / 2
    least = Fraction(5e-324)  # no number is between neighbouring subnormal ones
    assert abs(Fraction(x.mid) - exact) <= max(abs(exact) * Fraction(2) ** -51, least)


def test_mid_of_infinities_and_arrays():
    assert Bounds(math.inf, math.inf).mid == Bounds(0.0, math.inf).mid == math.inf
    assert math.isnan(Bounds(-math.inf, math.inf).mid)
    assert Bounds(np.array([0.0, 1.0]), np.array([1.0, 1.0])).mid.tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("low", "high", "cells"),
    [
        (2.3816897261306256, 2.381689726156747, ["2.381689726130", "2.381689726157"]),
        *((1.23456e-7, 1.3e-7, ["1.234e-07", "1.300e-07"]), (0.1, 0.1, ["0.1", "0.1"])),
        *((0.0, np.inf, ["0.0", "inf"]), (-1.0, 1e-320, ["-1", "1.00e-320"])),
        (1.0, np.nextafter(1.0, 2), ["1", "1.0000000000000003"]),
    ],
)
def test_repr_html_rounds_outward_to_two_digits_more_than_differ(low, high, cells):
    shown = re.findall(r"<td[^>]*>([^<]*)</td>", Bounds(low, high)._repr_html_())
    assert shown == cells
    assert float(shown[0]) <= low <= high <= float(shown[1])


def test_repr_html_of_fractions_encloses_them():
    low, high = Fraction(1, 3) - Fraction(1, 10**30), Fraction(2, 3) + Fraction(1, 10**30)
    for pair in ((low, high), (low, low), (high, high)):
        shown = re.findall(r"<td[^>]*>([^<]*)</td>", Bounds(*pair)._repr_html_())
        assert Fraction(shown[0]) <= pair[0] <= pair[1] <= Fraction(shown[1])
    assert Bounds(0.1, 0.2)._repr_html_().count("<td") == 2
    many = Bounds(np.zeros(60), np.ones(60))._repr_html_()
    assert many.count("<td") == 100
    assert "and 10 more" in many


ENDS = st.tuples(*[NUMBERS | st.sampled_from([-math.inf, math.inf])] * 2).map(sorted)


OPERATIONS = [operator.add, operator.sub, operator.mul, operator.truediv, functions.minimum, functions.meet]


@pytest.mark.parametrize("operation", OPERATIONS)
@settings(max_examples=200)
@given(each=st.tuples(ENDS, ENDS))
def test_scalars_match_arrays(operation, each):
    scalar = operation(*(Bounds(*ends) for ends in each))
    array = operation(*(Bounds(*map(np.atleast_1d, ends)) for ends in each))
    assert [type(side) for side in scalar] == [float, float]
    assert np.array(list(scalar)).tobytes() == np.concatenate(list(array)).tobytes()
