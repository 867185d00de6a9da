import json
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import tradeoff as to
from tradeoff.errors import DomainError, PrecisionError, TradeOffError
from tradeoff.filters.ledger import describe_step as described
from tradeoff.mechanisms import Gaussian, Mechanism, MixtureOfGaussians, TruncatedLaplace
from tradeoff.mechanisms.plan import plain
from tradeoff.report.answers import Answer, answer_query, row


@dataclass(frozen=True)
class Broken(to.TradeOff):
    """A curve whose engine fails silently."""

    symmetric = True

    def beta_bounds(self, alpha, tol):
        return alpha * math.nan, alpha * math.nan

    def delta_bounds(self, epsilon, tol):
        return epsilon * math.nan, epsilon * math.nan

    def epsilon_bounds(self, delta, tol):
        return delta * math.nan, delta * math.nan


def test_answer_query_matches_bounds_of_the_curve():
    curve = to.Gaussian(1)
    answers = answer_query(curve, delta=[1e-5], epsilon=[1.0, 2.0], alpha=[0.05])
    for name, question, answer in answers:
        bounds = {"epsilon": curve.bounds.epsilon, "delta": curve.bounds.delta, "beta": curve.bounds}[name](
            answer.argument
        )
        assert (answer.lower, answer.upper) == tuple(bounds)
        assert question in ("delta", "epsilon", "alpha")
    assert (len(answers.epsilon), len(answers.delta), len(answers.beta)) == (1, 2, 1)


def test_answer_query_clamps_epsilon_at_0():
    assert answer_query(to.Gaussian(0.1), delta=[0.9]).epsilon == (Answer(0.9, 0.0, 0.0),)


@pytest.mark.parametrize(
    ("argument", "printed"),
    [(1.0, "1"), (1e-5, "1e-05"), (0.9999999999999, "0.9999999999999"), (math.inf, "inf")],
)
def test_row_prints_the_parameter_with_every_digit(argument, printed):
    assert row("beta", "alpha", Answer(argument, 0.0, 1e-13))[0] == f"beta at alpha = {printed}"


def test_as_json_is_strict():
    answers = answer_query(to.approximate_dp(1, 0.1), delta=[0.01], epsilon=[math.inf, -math.inf])
    result = json.loads(json.dumps(answers.as_json(), allow_nan=False))
    assert result["epsilon"] == [{"delta": 0.01, "lower": "inf", "upper": "inf"}]
    assert [each["epsilon"] for each in result["delta"]] == ["inf", "-inf"]


@pytest.mark.parametrize("question", ["delta", "epsilon", "alpha"])
def test_answer_query_nan_raises(question):
    with np.errstate(invalid="ignore"), pytest.raises(TradeOffError, match="no bounds at"):
        answer_query(Broken(), **{question: [0.5]})


def test_answer_query_wrong_arguments_raise():
    with pytest.raises(DomainError):
        answer_query(to.Gaussian(1), delta=[2])
    with pytest.raises(PrecisionError):
        answer_query(to.Gaussian(1), delta=[1e-5], tol=1e-300)


def test_answer_query_calls_step():
    steps = []
    answer_query(to.Gaussian(1), delta=[1e-5, 1e-6], alpha=[0.1], step=steps.append)
    assert steps == ["epsilon at 2 deltas", "beta at 1 alpha"]


def test_plain_data_of_fractions_is_json():
    third, free = Fraction(1, 3), Gaussian(noise_multiplier=math.inf)
    plan = to.Plan(
        {MixtureOfGaussians(1.0, [0, 1], [third, 1 - third]): 2, TruncatedLaplace(third, 2): 1, free: 1}
    )
    mixed, cut, none = json.loads(json.dumps(plain(plan), allow_nan=False))["mechanism"]
    assert mixed["probabilities"] == [1 / 3, 2 / 3]
    assert (cut["scale"], none["noise_multiplier"]) == (1 / 3, "inf")
    assert described(free) == {"kind": "gaussian", "noise_multiplier": "inf"}


def test_describe_step_of_unknown_mechanism_is_its_repr():
    class Own(Mechanism):
        kind = "own"

        def __repr__(self):
            return "Own()"

        def curve(self):
            return to.Gaussian(1)

    assert described(to.Plan({Own(): 2}))["mechanism"] == [{"curve": "Own()", "count": 2}]
