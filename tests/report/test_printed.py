"""Printed numbers hold as they are printed: rounded to the safe side, what was asked as it was."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import pytest
from matplotlib.figure import Figure

import tradeoff as to
from docs.drawing import supporting_lines
from tradeoff.errors import DomainError
from tradeoff.report.compare import compare
from tradeoff.report.heatmap import heatmap

LEAST = re.compile(r"scale (\S+) for \((\S+), (\S+)\)-DP")


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (1.0000049, 1e-5), (0.9, 1.0000049e-7)])
def test_a_calibration_meets_what_it_prints(epsilon, delta):
    for noise in (
        to.baselines.exact_gaussian(epsilon, delta),
        to.baselines.exact_gaussian(3 * epsilon, delta),
    ):
        scale, e, d = map(float, LEAST.match(repr(noise)).groups())
        assert (e, d) == (noise.epsilon, noise.delta)
        assert to.Gaussian(1 / scale).bounds.delta(e).upper <= d


def test_a_guarantee_of_a_theorem_holds_as_printed():
    for result in (
        to.baselines.basic_composition(0.1234564999, 1.0000049e-6),
        to.baselines.advanced_composition(0.1, n=100, slack=1e-6),
    ):
        e, d = map(float, re.match(r"\((\S+), (\S+)\)-DP", repr(result)).groups())
        assert e >= result.epsilon
        assert d >= result.delta


def test_a_target_and_a_failure_are_printed_as_asked():
    result = to.calibrate(to.Gaussian, {"epsilon": 1, "delta": 1.0000049e-5})
    assert "delta = 1.0000049e-05 <= 1" in repr(result)
    assert "f_{0,0.1000004}" in repr(to.PureDP(1.0).gdp(failure=0.1000004))


def test_bounds_in_a_sweep_are_rounded_outward_and_points_stay_apart():
    def asked(mu, delta):
        return to.Gaussian(mu).bounds.epsilon(delta)

    table = to.sweep(asked, {"mu": [0.5, 1.0], "delta": [1e-5, 1.0000049e-5]})
    rows = [line.split() for line in repr(table).splitlines()[1:]]
    for (mu, delta, lower, upper), row in zip(rows, table, strict=True):
        assert (float(mu), float(delta)) == (row["mu"], row["delta"])
        assert float(lower) <= row["lower"] <= row["upper"] <= float(upper)


@pytest.mark.parametrize("curve", [to.PureDP(1e-170), to.Gaussian(1e-170), to.Gaussian(1e-170) ** 1000])
def test_concentrated_losses_below_all_floats_are_no_zero(curve):
    result = compare(curve, ["zcdp"], delta=[1e-300], epsilon=[], alpha=[])
    assert result["zcdp"].entries["epsilon"][0].value >= 1e-170


@pytest.mark.slow
def test_basic_composition_answers_at_both_ends():
    result = compare(to.Laplace(0.1) ** 50, ["basic", "zcdp"], delta=[0.0, 1.0], epsilon=[5.5], alpha=[])
    pure, whole = result["basic"].entries["epsilon"]
    assert 5.0 <= pure.value < 5.0 + 1e-9
    assert whole.value == 0.0
    assert result["basic"].entries["delta"][0].value == 0.0
    assert result["zcdp"].entries["epsilon"][0].value == math.inf


@pytest.mark.parametrize("mu", [11.9, 12.0, 12.06, 12.12, 14.0])
def test_one_order_of_a_loss_whose_exponential_is_subnormal(mu):
    result = to.baselines.renyi_route(to.subsample(to.Gaussian(mu), 0.5) ** 5, 1e-6, orders=[2.0])
    assert result.guarantee.bounds.delta(result.epsilon).upper >= 1e-6
    assert result.guarantee(0.0) == pytest.approx(1 - 1e-6)


def test_figures_of_what_cannot_be_drawn_say_so():
    rows = tuple((x, y, 10.0 ** (300 * x)) for x in (-1.0, 0.0, 1.0) for y in (1.0, 2.0))
    table = to.sweeps.Table(("a", "b", "value"), rows)
    with pytest.raises(DomainError, match="increasing levels"):
        heatmap(table, levels=[2.0, 1.0], ax=Figure().subplots())
    endless = to.sweeps.Table(
        ("a", "b", "value"), tuple((x, y, 1.0) for x in (1.0, np.inf) for y in (1.0, 2.0))
    )
    with pytest.raises(DomainError, match="finite"):
        heatmap(endless, ax=Figure().subplots())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        supporting_lines(Figure().subplots(), to.Gaussian(1), [1000.0])


def test_a_table_prints_what_is_safe_by_its_name_to_six_digits_and_all_else_to_the_last():
    mu = 0.8
    said = to.sweep(lambda mu: to.Gaussian(mu)(0.1), {"mu": [mu]})
    assert repr(to.Gaussian(mu)(0.1)) in repr(said)
    assert repr(to.Gaussian(mu)(0.1)) in said.to_latex()
    named = to.sweep(
        lambda mu: {"epsilon": to.Gaussian(mu).epsilon(1e-6), "beta": to.Gaussian(mu)(0.1)}, {"mu": [mu]}
    )
    epsilon, beta = map(float, repr(named).splitlines()[-1].split()[1:])
    assert epsilon >= to.Gaussian(mu).epsilon(1e-6) > epsilon - 1e-5
    assert beta <= to.Gaussian(mu)(0.1) < beta + 1e-6


def test_numbers_of_a_comparison_print_outward():
    result = compare(to.Gaussian(0.9), [], delta=[1e-6], epsilon=[], alpha=[0.1])
    (low, high) = (line.split()[-4:] for line in repr(result.numbers()).splitlines()[1:3])
    truth = to.Gaussian(0.9).bounds.epsilon(1e-6)
    texts = repr(result.numbers())
    assert repr(truth.upper) in texts
    assert repr(truth.lower) in texts
    assert low
    assert high


def test_an_allocation_prints_no_less_than_its_epsilon():
    parts = [(to.mechanisms.Gaussian, 1, 16.0), (to.mechanisms.Gaussian, 1, 1.0)]
    result = to.allocate(parts, {"epsilon": 1.2345641, "delta": 1e-6})
    printed = [float(line.split()[-1]) for line in repr(result.table).splitlines()[1:]]
    assert min(printed) >= result.achieved.upper


def test_confidence_is_not_rounded_to_certainty():
    a, b = np.arange(100.0), np.arange(100.0) + 30
    assert "confidence 0.9999999" in repr(to.empirical(a, b, confidence=0.9999999))


def test_cells_of_latex_are_no_options_of_the_row_before():
    said = to.sweep(lambda v: float(len(v)), {"v": ["[1pt]", "*x"]}).to_latex()
    assert not any(line.startswith(("[", "*")) for line in said.splitlines())


@pytest.mark.slow
def test_a_width_said_to_be_reachable_is():
    for curve, delta in ((to.Gaussian(1.0), 1e-5), (to.Laplace(1.0) ** 20, 1e-5), (to.Gaussian(3.0), 1e-9)):
        with pytest.raises(to.errors.PrecisionError, match="reachable here") as refused:
            curve.epsilon(delta, tol=1e-300)
        given = float(re.search(r"reachable here: (\S+)", str(refused.value))[1])
        low, high = curve.bounds.epsilon(delta, tol=given)
        assert high - low <= given
