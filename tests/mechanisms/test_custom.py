import json
from fractions import Fraction

import pytest
import sympy
from hypothesis import given

import tradeoff as to
from tests.strategies import exact_curves, float_curves
from tradeoff import mechanisms as m
from tradeoff.errors import DomainError, KindError, PlanError, SymbolError

LOPSIDED = to.PiecewiseLinear([0, 0.3, 1], [0.9, 0.35, 0])
STEP = to.subsample(to.Gaussian(1), 0.1)
PLAN = '[[mechanism]]\nkind = "custom"\ncurve = {}\n'


def plan(mechanism, n=1, adjacency="add-remove"):
    return to.Plan({mechanism: n}, adjacency=adjacency)


def test_a_symmetric_curve_is_its_own_guarantee():
    mechanism = m.Custom(to.Gaussian(0.5))
    assert mechanism.order == "symmetric"
    assert mechanism.adjacency is None
    assert plan(mechanism, 4, "replace-one").guarantee() == to.Gaussian(1)


def test_under_add_remove_all_turn_together():
    mechanism = m.Custom(STEP, adjacency="add-remove")
    assert mechanism.order == "tied"
    both = to.Plan({mechanism: 3, m.SubsampledGaussian(noise_multiplier=1, sample_rate=0.1): 2})
    assert both.curve() == STEP**5


def test_without_neighbours_each_release_may_turn():
    mechanism = m.Custom(LOPSIDED)
    assert mechanism.order == "free"
    assert plan(mechanism, 2).guarantee() == LOPSIDED.symmetrise(assume="either-order") ** 2


def test_what_is_known_of_the_other_order_is_used():
    known = m.Custom(to.PureDP(2), other_order=STEP, adjacency="add-remove")
    assert known.curve() == to.maximum(to.PureDP(2), ~STEP)
    assert m.Custom(STEP, other_order=~STEP).curve() == STEP
    # The tighter side of both orders: removing loses at most 2, adding what the step loses.
    assert known.curve().epsilon(0) <= 2
    assert (~known.curve()).epsilon(1e-6) <= STEP.epsilon(1e-6) + 1e-9


def test_other_neighbours_are_refused():
    with pytest.raises(PlanError, match="stated for replace-one neighbours"):
        plan(m.Custom(to.Gaussian(1), adjacency="replace-one"))


@pytest.mark.parametrize(
    ("build", "error", "said"),
    [
        (lambda: m.Custom(m.Laplace(1)), KindError, r"write Laplace\(...\).guarantee\(\)"),
        (lambda: m.Custom(3), KindError, "3 is not a trade-off function"),
        (lambda: m.Custom(to.Gaussian(1), other_order="f"), KindError, "is not a trade-off function"),
        (lambda: m.Custom(to.Gaussian(1), adjacency="zero-out"), DomainError, "adjacency must be"),
        (lambda: m.Custom(to.Gaussian(sympy.Symbol("mu"))), SymbolError, "free symbols mu"),
    ],
)
def test_anything_else_is_refused(build, error, said):
    with pytest.raises(error, match=said):
        build()


@given(exact_curves)
def test_exact_curves_survive_a_plan_file(curve):
    content = to.spec.PlanFile("t", plan(m.Custom(curve, adjacency="add-remove")))
    assert to.spec.loads(to.spec.dumps(content)) == content


@given(float_curves)
def test_float_curves_survive_a_plan_file_to_the_last_bit(curve):
    content = to.spec.PlanFile("t", plan(m.Custom(curve, other_order=~curve)))
    assert to.spec.loads(to.spec.dumps(content)) == content


def test_masses_near_1_keep_their_digits():
    curve = to.PiecewiseLinear.of_wholes(*([0, 2**1074 - 3, 2**1074], [2**1074, 1, 0]))
    result = to.spec.loads(to.spec.dumps(to.spec.PlanFile("t", plan(m.Custom(curve)))))
    assert result.plan == plan(m.Custom(curve))


def test_a_curve_is_read_from_a_file_beside_the_plan(tmp_path):
    curve = to.PiecewiseLinear([0, Fraction(1, 3), 1], [1, Fraction(1, 3), 0])
    to.save(curve, tmp_path / "curve.json")
    (tmp_path / "plan.toml").write_text(PLAN.format('"curve.json"'))
    (mechanism,) = to.spec.load(tmp_path / "plan.toml").plan.mechanisms
    assert mechanism.curve() == curve


def test_any_curve_with_a_form_is_one():
    mixed = to.subsample(to.Gaussian(1.0), 0.01) ** 3
    result = to.spec.loads(to.spec.dumps(to.spec.PlanFile("t", plan(m.Custom(mixed)))))
    assert result.plan == plan(m.Custom(mixed))


LINE = {"kind": "piecewise-linear", "alpha": [0.0, 1.0], "beta": [1.0, 0.0]}
GOOD = {"schema": 1, "tradeoff": LINE}
BAD = [
    ("none.json", "mechanism[1].curve: none.json: cannot be read"),
    ("{", "mechanism[1].curve: "),
    ('{"schema": 1, "tradeoff": ' + "[" * 100000, "mechanism[1].curve: "),
    (GOOD | {"schema": 2}, "mechanism[1].curve: schema must be 1, got 2"),
    (GOOD | {"schema": True}, "schema must be 1, got True"),
    (GOOD | {"other": 1}, "a saved file must hold"),
    (GOOD | {"tradeoff": 0.5}, "0.5 is not a trade-off function"),
    (GOOD | {"tradeoff": LINE | {"kind": "triangle"}}, "kind = 'triangle'"),
    (GOOD | {"tradeoff": LINE | {"alfa": []}}, "alfa is not known"),
    (GOOD | {"tradeoff": LINE | {"alpha": ["zero", 1]}}, "something that is not a number"),
    (GOOD | {"tradeoff": LINE | {"alpha": ["1e999999999", 1]}}, "something that is not a number"),
    (GOOD | {"tradeoff": LINE | {"alpha": ["1/0", 1]}}, "something that is not a number"),
    (GOOD | {"tradeoff": LINE | {"beta": [0.5, 0.6]}}, "mechanism[1].curve: "),
    (GOOD | {"tradeoff": LINE | {"beta": [1]}}, "need the same positive length"),
]


@pytest.mark.parametrize(("given", "said"), BAD, ids=lambda value: str(value)[:40])
def test_bad_curves_of_a_file_are_named(given, said):
    content = given if isinstance(given, str) else json.dumps(given)
    with pytest.raises(PlanError) as error:
        to.spec.loads(PLAN.format(json.dumps(content)))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_good_one_is_read():
    (mechanism,) = to.spec.loads(PLAN.format(json.dumps(json.dumps(GOOD)))).plan.mechanisms
    assert mechanism.curve().vertices == [(0, 1), (1, 0)]


def test_formulas_have_no_form_in_a_file():
    alpha = sympy.Symbol("alpha")
    formula = to.Symbolic((1 - sympy.sqrt(alpha)) ** 2, alpha)
    with pytest.raises(DomainError, match="has no form in a file"):
        to.spec.dumps(to.spec.PlanFile("t", plan(m.Custom(formula))))


def test_left_out_parameters_are_not_written():
    assert m.Custom(to.Gaussian(1)).parameters() == {"curve": to.Gaussian(1)}
    assert m.Gaussian(2).parameters() == {"noise_multiplier": 2.0}
    assert repr(m.Gaussian(2)) == "Gaussian(noise_multiplier=2.0)"
