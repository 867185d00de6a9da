"""Questions: kinds of arguments and answers, facts of every curve, traces of engines, Bayes risk."""

import math
import subprocess
import sys
import traceback
from fractions import Fraction
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import curves, exact_curves, log_uniform
from tests.truth.balls import ball, cumulative, quantile
from tests.truth.claims import check, overlap
from tradeoff.accounting.planner import Composition
from tradeoff.errors import SizeError, Undecided

F = Fraction  # short in formulas

STEPS = to.subsample(to.Gaussian(1), 0.01) ** 1000
ENVELOPE = STEPS.symmetrise(assume="either-order")
LEAKING = to.Laplace(0.5) @ to.TotalVariation(0.01)
RESPONSE = to.from_masses([F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)])

QUESTIONS = {"epsilon": 1e-5, "delta": 1.0, "__call__": 0.1}


@pytest.mark.parametrize("question", QUESTIONS)
def test_question_reaches_the_planner_in_five_frames(question, monkeypatch):
    frames = []
    answer = Composition.answer

    def record(*given):
        stack = [frame.name for frame in traceback.extract_stack()[:-1]]
        frames.append(stack[len(stack) - 1 - stack[::-1].index(question) :])
        return answer(*given)

    monkeypatch.setattr(Composition, "answer", record)
    getattr(STEPS, question)(QUESTIONS[question])
    assert [len(each) for each in frames] == [4]  # and Composition.answer


def test_series_and_frames_keep_index_and_columns():
    pandas = pytest.importorskip("pandas", reason="pandas, an extra, is not installed")
    series = pandas.Series([0.1, 0.2], index=["first", "second"], name="series")
    for name, ask in (
        *(("beta", LEAKING), ("delta", LEAKING.delta), ("epsilon", LEAKING.epsilon)),
        ("beta", lambda x: LEAKING.bounds(x).upper),
    ):
        expected = pandas.Series(ask(series.to_numpy()), series.index, name=name)
        pandas.testing.assert_series_equal(ask(series), expected, check_exact=True)
    frame = pandas.DataFrame({"x": [0.1, 0.2], "y": [0.3, 0.4]}, index=[5, 7])
    expected = pandas.DataFrame(LEAKING(frame.to_numpy()), frame.index, frame.columns)
    pandas.testing.assert_frame_equal(LEAKING(frame), expected, check_exact=True)


@pytest.mark.parametrize(
    ("question", "unloaded"),
    [
        ("to.Gaussian(1)([0.1, 0.2])", ("pandas",)),
        pytest.param(
            "(to.subsample(to.Gaussian(1), 0.01) ** 1000).epsilon(1e-5)",
            ("tradeoff.accounting.lattice.", "mpmath", "scipy.optimize"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_question_loads_no_more_than_it_needs(question, unloaded):
    loaded = f"any(name.startswith({unloaded}) for name in sys.modules)"
    code = f"import sys, tradeoff as to; {question}; sys.exit({loaded})"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_arrays_and_numbers_are_answered_in_kind():
    assert type(LEAKING(0.1)) is float
    assert type(LEAKING([0.1])) is np.ndarray
    assert type(LEAKING(np.float64(0.1))) is float
    assert STEPS.epsilon(1e-5, memory=None) == STEPS.epsilon(1e-5)


@pytest.mark.parametrize(
    ("f", "at", "value"),
    [
        *((RESPONSE, F(1, 7), F(4, 7)), (RESPONSE, F(1, 2), F(1, 6))),
        *((RESPONSE @ RESPONSE, F(1, 32), F(23, 32)), (~RESPONSE, 1 - F(1, 10**30), F(1, 3 * 10**30))),
        (to.subsample(RESPONSE, F(1, 2)), F(1, 7), F(5, 7)),
    ],
    ids=repr,
)
def test_beta_of_polygon_at_fraction_is_fraction(f, at, value):
    assert f(at) == value
    assert type(f(at)) is F
    assert (f.bounds(at).lower, f.bounds(at).upper) == (value, value)
    assert f.bounds(at).width == 0
    assert type(f(float(at))) is float
    assert f([at]).dtype == float
    assert (type(f.delta(F(0))), type(f.delta(0))) == (F, float)
    assert f.delta(F(0)) == F(1, 2) or f not in (RESPONSE, RESPONSE @ RESPONSE)


def test_arithmetic_on_exact_answers_rounds_outward():
    third = RESPONSE.bounds(F(1, 9))
    assert (third.lower, third.upper) == (F(2, 3), F(2, 3))
    for result, truth in (
        *((third + 0.0, F(2, 3)), (third * 3, F(2)), (1 - third, F(1, 3)), (third / third, F(1))),
    ):
        assert F(result.lower) <= truth <= F(result.upper)
        assert np.nextafter(np.nextafter(result.lower, 9), 9) >= result.upper - 1e-15


# Facts of every curve.

OPERATORS = {
    "envelope": lambda f: f.symmetrise(assume="either-order"),
    "subsampled": lambda f: to.subsample(f, 0.1),
    "mixture": lambda f: to.mixture({f: 0.5, to.Gaussian(5.5): 0.5}),
    "inverse": lambda f: ~f,
    "product": lambda f: f @ to.Laplace(0.1) ** 40,
}


@settings(max_examples=30, deadline=None)
@given(curves, st.sampled_from(sorted(OPERATORS)))
def test_beta_at_ends_reaches_any_tolerance(f, name):
    """f(0) = 1 - Q(L = inf) and f(1) = 0, so that an array with 0 or 1 can have any tol."""
    for curve in (f, OPERATORS[name](f)):
        result = curve.bounds([0.0, 1.0], tol=1e-300)
        assert result.lower[1] == result.upper[1] == 0
        least, most = (1 - F(side) for side in reversed(tuple(curve.mass_at_infinity)))
        assert result.lower[0] <= most
        assert least <= result.upper[0]
        assert result.upper[0] - result.lower[0] <= (1e-15 if curve.mass_at_plus_infinity else 0)


@pytest.mark.parametrize("f", [to.Laplace(0.1) ** 40, to.approximate_dp(0.1, 1e-9) ** 40], ids=repr)
def test_beta_between_ends_reaches_tolerance_next_to_ends(f):
    alpha = np.array([0.0, 0.1, 1.0])
    result = f.bounds(alpha, tol=1e-4)
    assert np.all(result.lower <= f.bounds(alpha).upper)
    assert result.upper[1] - result.lower[1] <= 1e-4 * result.upper[1]


@pytest.mark.parametrize(
    ("f", "truth"),
    [
        (to.PureDP(0.1) ** 3, 3 * mp.mpf(0.1)),
        (to.Laplace(0.7) @ to.PureDP(1e-9), mp.mpf(0.7) + mp.mpf(1e-9)),
        (to.subsample(to.PureDP(1.0), 0.1), mp.log(1 + mp.mpf(0.1) * mp.expm1(1))),
        (~to.subsample(to.PureDP(1.0), 0.1), -mp.log(1 + mp.mpf(0.1) * mp.expm1(-1))),
        (to.subsample(to.PureDP(650.0), 1e-3), 650 + mp.log(mp.mpf(1e-3))),
        (to.PureDP(0.3).group(2) @ to.PureDP(0.1), 2 * mp.mpf(0.3) + mp.mpf(0.1)),
        (to.PureDP(0.25), mp.mpf(0.25)),
    ],
    ids=repr,
)
def test_epsilon_at_zero_holds_largest_loss(f, truth):
    check(f.bounds.epsilon(0.0), truth, 0.0, (1e-14 if truth < 600 else 0.02) * float(1 + truth))


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1, 1.0, np.int64(1), 1 + 1e-9, 3.5])
def test_hockey_stick_in_floats_is_at_least_the_truth(ratio):
    """Next to f(0) = 1 floats hold the difference of a height from 1; the height itself would be 1."""
    f = to.subsample(to.Gaussian(1), 1e-20).lower
    truth = max(1 - y - F(float(ratio)) * x for x, y in f.vertices)
    result = f.hockey_stick(ratio)
    assert type(result) is float
    assert truth <= F(result) <= truth * (1 + F(1, 2**52))
    assert to.PiecewiseLinear([0, 0.3, 1], [1, 0.2, 0]).hockey_stick(1) >= 1 - F(0.3) - F(0.2)


@pytest.mark.parametrize(
    ("curve", "engine"),
    [
        (STEPS, "contour"),
        (to.PureDP(1) @ to.PureDP(0.5) ** 3, "exact"),
        (to.PureDP(1) @ to.Laplace(0.3), "exact"),
        (to.Laplace(0.3) ** 2 @ to.subsample(to.Gaussian(1), 0.1), "lattice"),
        (to.Laplace(0.3) ** 2 @ to.Gaussian(1), "contour"),
    ],
    ids=["many", "atoms", "atoms and noise", "few", "few with a Gaussian"],
)
@pytest.mark.parametrize("argument", [{"epsilon": 1.0}, {"delta": 1e-5}, {"alpha": 0.1}], ids=str)
def test_explain_returns_the_answer_and_its_engines(curve, engine, argument):
    explanation = curve.explain(**argument)
    ((name, value),) = argument.items()
    question = {"epsilon": curve.bounds.delta, "delta": curve.bounds.epsilon, "alpha": curve.bounds}[name]
    assert explanation.bounds == question(value)
    assert explanation.steps[0].engine == engine
    assert all(step.why and step.seconds >= 0 for step in explanation.steps)
    assert len(repr(explanation).splitlines()) == 2 + len(explanation.steps) + (not curve.symmetric)
    assert ("one order" in repr(explanation)) == (not curve.symmetric)


def test_explain_gives_reasons_and_a_step_for_each_order_that_counts():
    """The other order counts where neither Chernoff's bound nor one coarse line is below the first."""
    nearly = to.subsample(to.Gaussian(0.5), 1 - 1e-9) ** 3
    results = [f.symmetrise(assume="either-order").explain(delta=1e-5) for f in (STEPS, nearly)]
    assert [len(each.steps) for each in results] == [1, 2]
    (step,) = STEPS.explain(delta=1e-5, method="lattice").steps
    assert (step.engine, step.why) == ("lattice", "requested")
    many = {to.mechanisms.SubsampledGaussian(s, 5e-5): 100 for s in np.linspace(0.8, 2, 20)}
    (only,) = to.Plan(many).guarantee().explain(delta=1e-9).steps  # the lattice of many laws is wide
    assert only.engine == "contour"
    assert to.Gaussian(1).explain(epsilon=1.0).steps == ()
    assert "closed form" in repr(to.Gaussian(1).explain(epsilon=1.0))
    assert "mass at infinity, at most 0.001" in repr(to.approximate_dp(1.0, 1e-3).explain(delta=1e-5))
    assert "has no upper bound" in repr(to.Gaussian(1).explain(delta=0.0))


@pytest.mark.parametrize("mu", [0.01, 1.0, 5.0])
def test_loss_quantile_of_a_gaussian_contains_the_truth(mu):
    deltas = [0.5, 0.05, 1e-5, 1e-12]
    for delta, low, high in zip(deltas, *to.Gaussian(mu).bounds.loss_quantile(deltas), strict=True):
        truth = arb(mu) ** 2 / 2 - mu * quantile(arb(delta))
        assert low <= truth <= high <= truth + 1e-4 * min(mu, 1)


@settings(max_examples=15, deadline=None)
@given(exact_curves, st.floats(0.001, 0.999))
def test_loss_quantile_of_a_polygon_contains_the_truth(f, delta):
    steps = [(c - a, b - d) for (a, b), (c, d) in pairwise(f.vertices)]
    above, ratio = 1 - f.vertices[0][1], None  # P(L > log ratio), from the largest ratio downwards
    for p, q in steps if above <= delta else []:
        above, ratio = above + q, q / p
        if above > delta:
            break
    low, high = f.bounds.loss_quantile(delta)
    check(to.Bounds(low, high), arb.pos_inf() if ratio is None else ball(ratio).log())


@pytest.mark.parametrize("delta", [0.2, 1e-2, 1e-6])
def test_loss_quantile_of_a_bound_holds_for_pairs_above_it(delta):
    for order in (STEPS, ~STEPS):
        assert order.bounds.loss_quantile(delta).lower <= ENVELOPE.loss_quantile(delta)
    bound = to.mechanisms.ApproximateDP(epsilon=1.0, delta=1e-3).curve()
    for pair in (to.Laplace(1.0), to.PureDP(1.0), to.Gaussian(0.35)):
        assert pair >= bound
        assert pair.bounds.loss_quantile(delta).lower <= bound.loss_quantile(delta)


# Bayes risk.

priors = st.one_of(
    st.floats(0, 1).filter(lambda p: p == 0 or p >= 1e-300),
    log_uniform(1e-300, 1),
    log_uniform(1e-16, 0.5).map(lambda p: 1 - p),
    st.sampled_from([0.0, 1e-300, 0.5, 1 - 2.0**-53, 1.0]),
)


@given(exact_curves, priors)
def test_bayes_risk_of_polygon_is_the_least_over_vertices(curve, prior):
    p = F(prior)
    truth = min(p * alpha + (1 - p) * beta for alpha, beta in [*curve.vertices, (F(1), F(0))])
    check(curve.bounds.bayes_risk(prior), truth, 0.0, 1e-14 * min(prior, 1 - prior) + 5e-324)


@pytest.mark.parametrize("mu", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("prior", [1e-9, 0.1, 0.5, 0.9])
def test_bayes_risk_of_gaussian_holds_the_truth(mu, prior):
    """Reject where x > t: t = mu/2 + log(prior/(1 - prior))/mu."""
    p = arb(prior)
    t = arb(mu) / 2 + (p / (1 - p)).log() / mu
    truth = p * cumulative(-t) + (1 - p) * cumulative(t - mu)
    check(to.Gaussian(mu).bounds.bayes_risk(prior), truth, 1e-9)


@given(curves, priors)
def test_bayes_risk_of_inverse_exchanges_the_priors(curve, prior):
    other = 1 - prior
    if F(prior) + F(other) == 1:
        here, there = curve.bounds.bayes_risk(prior), (~curve).bounds.bayes_risk(other)
        assert overlap(here, there)


@given(curves, st.lists(priors, min_size=1, max_size=4))
def test_bayes_risk_of_array_is_that_of_its_entries(curve, each):
    assert curve.bayes_risk(np.array(each)).tolist() == [curve.bayes_risk(prior) for prior in each]


def test_bayes_risk_at_ends():
    assert to.Identity().bayes_risk([0.0, 0.3, 0.5, 1.0]).tolist() == pytest.approx([0.0, 0.3, 0.5, 0.0])
    assert to.TotalVariation(1.0).bayes_risk(0.5) == to.Gaussian(math.inf).bayes_risk(0.5) == 0.0


@pytest.mark.parametrize("curve", [to.Gaussian(1), to.Laplace(0.3), to.PureDP(0.1) @ to.Laplace(0.3)])
@pytest.mark.parametrize("share", [Fraction(1, 3), Fraction(2, 3), Fraction(1, 10)])
def test_bounds_at_a_fraction_hold_both_float_neighbours(curve, share):
    below, above = np.nextafter(float(share), 0), np.nextafter(float(share), 1)
    near = float(share)
    ends = (near, above) if Fraction(near) < share else (below, near)
    for question in (curve.bounds, curve.bounds.delta, curve.bounds.epsilon):
        bounds = question(share)
        at_above, at_below = question(ends[1]), question(ends[0])
        assert bounds.lower <= at_above.lower + 1e-12 * abs(at_above.lower)
        assert bounds.upper >= at_below.upper - 1e-12 * abs(at_below.upper)


@pytest.mark.parametrize(
    "nest",
    [lambda f: to.subsample(f @ to.PureDP(0.1), 0.5), lambda f: (f @ to.Laplace(0.1)).group(2)],
    ids=["subsample", "group"],
)
def test_operators_nested_too_deeply_are_refused_in_a_sentence(nest):
    curve = to.subsample(to.Gaussian(1), 0.1)
    while curve.depth <= 64:
        curve = nest(curve)
    with pytest.raises(SizeError, match="at most 64 operators"):
        nest(curve)


class Profile(to.TradeOff):
    """PureDP(1) by two hooks alone."""

    symmetric = True

    def delta_bounds(self, epsilon, tol):
        return to.PureDP(1).delta_bounds(epsilon, tol)


def test_curve_without_a_supremum_claims_no_loss():
    f = Profile()
    for answer, truth in (
        *((f.bounds.epsilon(0), 1), (f.bounds.renyi(np.inf), 1), ((f @ to.PureDP(1)).bounds.epsilon(0), 2)),
        (to.subsample(f, 0.1).bounds.epsilon(0), math.log(1 + 0.1 * math.expm1(1))),
    ):
        assert truth in answer
    with pytest.raises(Undecided):
        _ = f >= to.PureDP(2)
