import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tradeoff.display import exactly, rounded
from tradeoff.errors import TradeOffError
from tradeoff.mechanisms import Gaussian, Mechanism, MixtureOfGaussians, TruncatedLaplace
from tradeoff.mechanisms.plan import plain
from tradeoff.report.answers import Answer, answer_query, row


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 17))
def test_rounded_bounds_enclose_the_value_and_exactly_reads_back(value, digits):
    low, high = (Fraction(rounded(value, side, digits)) for side in ("lower", "upper"))
    assert low <= Fraction(value) <= high
    assert high - low <= abs(Fraction(value)) * Fraction(10) ** (1 - digits) * 10
    for each in (value, math.inf, -math.inf):
        assert float(exactly(each)) == each


def test_answers_match_bounds_and_tables_round_safe_columns_and_typeset():
    curve, steps = to.Gaussian(1), []
    answers = answer_query(curve, delta=[1e-5], epsilon=[1.0, 2.0], alpha=[0.05], step=steps.append)
    for name, question, answer in answers:
        ask = curve.bounds if name == "beta" else getattr(curve.bounds, name)
        assert (answer.lower, answer.upper) == tuple(ask(answer.argument))
        assert question in ("delta", "epsilon", "alpha")
    assert (len(answers.epsilon), len(answers.delta), len(answers.beta)) == (1, 2, 1)
    assert steps == ["epsilon at 1 delta", "delta at 2 epsilons", "beta at 1 alpha"]
    assert answer_query(to.Gaussian(0.1), delta=[0.9]).epsilon == (Answer(0.9, 0.0, 0.0),)  # at least 0
    answers = answer_query(to.approximate_dp(1, 0.1), delta=[0.01], epsilon=[math.inf, -math.inf])
    result = json.loads(json.dumps(answers.as_json(), allow_nan=False))
    assert result["epsilon"] == [{"delta": 0.01, "lower": "inf", "upper": "inf"}]
    assert [each["epsilon"] for each in result["delta"]] == ["inf", "-inf"]
    f = to.Gaussian(0.8)
    text = to.sweep(lambda mu: to.Gaussian(mu)(0.1), {"mu": [0.8]})
    assert repr(f(0.1)) in repr(text)
    assert repr(f(0.1)) in text.to_latex()
    named = to.sweep(lambda mu: {"epsilon": to.Gaussian(mu).epsilon(1e-6), "beta": f(0.1)}, {"mu": [0.8]})
    epsilon, beta = map(float, repr(named).splitlines()[-1].split()[1:])
    assert epsilon >= f.epsilon(1e-6) > epsilon - 1e-5
    assert beta <= f(0.1) < beta + 1e-6
    parts = [(Gaussian, 1, 16.0), (Gaussian, 1, 1.0)]
    result = to.allocate(parts, {"epsilon": 1.2345641, "delta": 1e-6})
    printed = [float(line.split()[-1]) for line in repr(result.table).splitlines()[1:]]
    assert min(printed) >= result.achieved.upper

    def argument(mu, delta):
        return to.Gaussian(mu).bounds.epsilon(delta)

    table = to.sweep(argument, {"mu": [0.5, 1.0], "delta": [1e-5, 1.0000049e-5]})
    rows = [line.split() for line in repr(table).splitlines()[1:]]
    for (mu, delta, lower, upper), each in zip(rows, table, strict=True):
        assert (float(mu), float(delta)) == (each["mu"], each["delta"])
        assert float(lower) <= each["lower"] <= each["upper"] <= float(upper)

    def epsilon(sigma, delta):
        return to.Gaussian(1 / sigma).bounds.epsilon(delta)

    table = to.sweep(epsilon, {"sigma": [1, 2.5], "delta": [0.1, 1e-3, 1e-4, 2e-6]})
    text = table.to_latex(pivot="delta", digits=3, caption="ε of σ", label="tab:one").splitlines()
    heads = [rf"$\delta = {each}$" for each in ("0.1", "10^{-3}", "10^{-4}", r"2 \cdot 10^{-6}")]
    assert " & ".join([r"$\sigma$", *heads]) + r" \\" in text
    assert r"\caption{$\varepsilon$ of $\sigma$}" in text
    (line,) = (each for each in text if each.startswith("2.5 &"))
    upper = [row["upper"] for row in table if row["sigma"] == 2.5]
    for cell, value in zip(line.removesuffix(r" \\").split(" & ")[1:], upper, strict=True):
        assert value <= float(cell) <= value + 0.01
    text = to.sweep(lambda v: float(len(v)), {"v": ["[1pt]", "*x"]}).to_latex()
    assert not any(line.startswith(("[", "*")) for line in text.splitlines())  # options of the row before


@pytest.mark.parametrize("question", ["delta", "epsilon", "alpha"])
def test_answer_query_nan_raises_and_rows_print_every_digit(question, monkeypatch):
    for name in ("beta_bounds", "delta_bounds", "epsilon_bounds"):  # an engine fails silently
        monkeypatch.setattr(to.Laplace, name, lambda *given: (given[1] * math.nan, given[1] * math.nan))
    with np.errstate(invalid="ignore"), pytest.raises(TradeOffError, match="no bounds at"):
        answer_query(to.Laplace(0.4711), **{question: [0.5]})
    for at, printed in ((1.0, "1"), (1e-5, "1e-05"), (0.9999999999999, "0.9999999999999"), (math.inf, "inf")):
        assert row("beta", "alpha", Answer(at, 0.0, 1e-13))[0] == f"beta at alpha = {printed}"


def test_statements_baselines_and_targets_are_safe_and_plain_data_are_json():
    plan = to.Plan({Gaussian(noise_multiplier=2): 3, to.mechanisms.Laplace(scale=5): 1})
    text, f = to.statement(plan, delta=1e-6), plan.guarantee()
    epsilon = float(text.split("it is (")[1].split(",")[0])
    advantage = float(text.split("is at most ")[1].split(". ")[0])
    assert f.epsilon(1e-6) <= epsilon < 1.001 * f.epsilon(1e-6)
    assert f.delta(0) <= advantage < 1.001 * f.delta(0)
    assert "3 runs of Gaussian (noise_multiplier = 2) and 1 run of Laplace (scale = 5" in text
    assert "Poisson" not in text
    dominating = to.statement(to.mechanisms.ExponentialMechanism(epsilon=0.5), delta=1e-6)
    assert ["at least" in dominating, "1 run of ExponentialMechanism" in dominating] == [False, True]
    replaced = to.statement(to.Plan({Gaussian(noise_multiplier=2): 10}, "replace-one"), delta=1e-6)
    assert re.search(r"differ in the value of one record, .* and 1\.582-GDP\. A ", replaced)
    assert "Poisson" not in replaced
    assert "it is (1, 0)-DP" in to.statement(to.mechanisms.RandomizedResponse(epsilon=1), delta=0)
    best = to.mechanisms.BestOfRuns(Gaussian(noise_multiplier=2), 3)
    mixed = to.statement(to.Plan({best: 1, to.mechanisms.BallsInBins(1.0, 9, 2): 1}), delta=1e-6)
    assert [each in mixed for each in ("stays there", "hyperparameters", "but the best")] == [True] * 3
    grouped = to.mechanisms.SubsampledGaussian(1.1, 0.01, group_size=3)
    text = to.statement(to.mechanisms.BestOfRuns(grouped, 3), delta=1e-4)
    assert text.endswith("It covers 3 records of one person, not more.")
    third, free = Fraction(1, 3), Gaussian(noise_multiplier=math.inf)
    plan = to.Plan(
        {MixtureOfGaussians(1.0, [0, 1], [third, 1 - third]): 2, TruncatedLaplace(third, 2): 1, free: 1}
    )
    mixed, cut, none = json.loads(json.dumps(plain(plan), allow_nan=False))["mechanism"]
    assert mixed["probabilities"] == [1 / 3, 2 / 3]
    assert (cut["scale"], none["noise_multiplier"]) == (1 / 3, "inf")
    assert plain(free) == {"kind": "gaussian", "noise_multiplier": "inf"}

    class Own(Mechanism):
        kind = "own"

        def __repr__(self):
            return "Own()"

        def curve(self):
            return to.Gaussian(1)

    assert plain(to.Plan({Own(): 2}))["mechanism"] == [{"curve": "Own()", "count": 2}]
    for result in (
        to.baselines.basic_composition(0.1234564999, 1.0000049e-6),
        to.baselines.advanced_composition(0.1, n=100, slack=1e-6),
    ):
        e, d = map(float, re.match(r"\((\S+), (\S+)\)-DP", repr(result)).groups())
        assert e >= result.epsilon
        assert d >= result.delta
    result = to.calibrate(to.Gaussian, {"epsilon": 1, "delta": 1.0000049e-5})
    assert "delta = 1.0000049e-05 <= 1" in repr(result)
    assert "f_{0,0.1000004}" in repr(to.PureDP(1.0).gdp(failure=0.1000004))
    for epsilon, delta in ((1.0, 1e-5), (1.0000049, 1e-5), (0.9, 1.0000049e-7)):
        for noise in (to.baselines.exact_gaussian(k * epsilon, delta) for k in (1, 3)):
            scale, e, d = map(float, re.match(r"scale (\S+) for \((\S+), (\S+)\)-DP", repr(noise)).groups())
            assert (e, d) == (noise.epsilon, noise.delta)
            assert to.Gaussian(1 / scale).bounds.delta(e).upper <= d
    for mu in (11.9, 12.0, 12.06, 12.12, 14.0):
        result = to.baselines.renyi_route(to.subsample(to.Gaussian(mu), 0.5) ** 5, 1e-6, orders=[2.0])
        assert result.guarantee().bounds.delta(result.epsilon).upper >= 1e-6
        assert result.guarantee()(0.0) == pytest.approx(1 - 1e-6)
