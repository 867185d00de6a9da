"""The comparison: its marks against the known cases, its bounds against the exact curve, its data and its refusals."""

import json

import numpy as np
import pytest

import tradeoff as to
from tradeoff.__main__ import main
from tradeoff.errors import DomainError, KindError
from tradeoff.report.compare import UNDER, compare
from tradeoff.report.methods import METHODS
from tradeoff.report.textbook import by_pairs

PROVED = ("berry-esseen", "zcdp", "renyi", "advanced", "basic")


@pytest.fixture(scope="module")
def laplace():
    return compare(to.Laplace(0.1) ** 400, delta=[1e-5], epsilon=[1.0], alpha=[0.01, 0.1])


@pytest.fixture(scope="module")
def dp_sgd():
    step = to.mechanisms.SubsampledGaussian(noise_multiplier=0.8, sample_rate=0.005)
    return compare(to.Plan({step: 1000}).guarantee(), ["clt", "dp-sgd-clt", "zcdp"], delta=[1e-6])


def test_the_clt_of_dp_sgd_is_marked(dp_sgd):
    row = dp_sgd["dp-sgd-clt"]
    entry = row.entries["epsilon"][0]
    assert entry.value == pytest.approx(1.324, abs=1e-3)
    assert dp_sgd.exact.epsilon[0].lower == pytest.approx(2.004, abs=1e-3)
    assert entry.error == pytest.approx(1.3245 - 2.0041, abs=1e-3)
    assert entry.under_reports
    assert dp_sgd.table()[-2][-1] == UNDER


def test_a_method_declines_in_words(dp_sgd):
    row = dp_sgd["zcdp"]
    assert row.claim is None
    assert "no rho is known" in row.declined
    assert not row.under_reports


def test_signed_errors(laplace):
    clt, edgeworth = laplace["clt"], laplace["edgeworth"]
    assert clt.sup_error == pytest.approx(-6.0e-4, abs=5e-5)
    assert not clt.under_reports
    assert edgeworth.under_reports
    assert edgeworth.entries["epsilon"][0].error < 0


@pytest.mark.parametrize("name", PROVED)
def test_what_is_proved_never_under_reports(laplace, name):
    row = laplace[name]
    assert row.claim.kind == "bound"
    assert not row.under_reports
    assert row.sup_error < 0


@pytest.mark.parametrize(
    ("curve", "methods"),
    [
        (to.PureDP(0.3) ** 20 @ to.TotalVariation(1e-7), ("berry-esseen", "advanced", "basic")),
        (to.Gaussian(0.5) @ to.Laplace(0.2) ** 3, ("zcdp", "advanced", "basic")),
        (to.subsample(to.Gaussian(1.0), 0.1).symmetrise(assume="either-order"), ("basic",)),
    ],
    ids=["masses", "mixed", "envelope"],
)
def test_proved_methods_on_other_curves(curve, methods):
    found = compare(curve, methods, delta=[1e-4, 0.1], epsilon=[0.0, 0.5, 3.0], alpha=[0.0, 0.01, 0.5, 1.0])
    assert not any(row.declined or row.under_reports for row in found)


def test_pairs_make_the_curve_and_the_profile_of_one_pair():
    claim = by_pairs("one", "", lambda delta: 1.0 if delta >= 1e-3 else float("inf"))
    best = to.approximate_dp(1.0, min(d for d in np.geomspace(1e-12, 0.3, 81) if d >= 1e-3))
    alpha, epsilon = np.linspace(0, 1, 11), np.linspace(0, 2, 9)
    assert np.all(claim.beta(alpha) >= best(alpha) - 1e-12)
    assert claim.delta(np.array([1.0]))[0] == pytest.approx(best.delta(1.0), rel=1e-9)
    assert np.all(claim.delta(epsilon) <= best.delta(epsilon) + 1e-12)


def test_curves_of_the_caller():
    found = compare(to.Laplace(0.5) ** 4, {"too private": to.Gaussian(0.5), "enough": to.Gaussian(2.0)}, delta=[1e-3])
    assert found["too private"].under_reports
    assert not found["enough"].under_reports
    assert found["enough"].entries["epsilon"][0].error > 0


def test_the_same_curve_has_no_error():
    found = compare(to.Gaussian(1.0), {"itself": to.Gaussian(1.0)})
    assert abs(found["itself"].sup_error) < 1e-12
    assert not found["itself"].under_reports


def test_table_and_json_say_the_same(laplace):
    table, data = laplace.table(), json.loads(json.dumps(laplace.as_json(), allow_nan=False))
    assert [len(line) for line in table] == [len(laplace.header())] * (2 + len(METHODS))
    assert [each["method"] for each in data["methods"]] == list(METHODS)
    clt = next(each for each in data["methods"] if each["method"] == "clt")
    assert clt["epsilon"][0]["value"] == laplace["clt"].entries["epsilon"][0].value
    assert clt["under_reports"] is False
    assert data["exact"]["epsilon"][0]["lower"] == laplace.exact.epsilon[0].lower
    assert "CLT" in str(laplace)
    assert UNDER in str(laplace)


def test_refusals(laplace):
    with pytest.raises(KindError, match=r"plan\.guarantee"):
        compare(to.Plan({}))
    with pytest.raises(DomainError, match="'clt'"):
        compare(to.Gaussian(1), ["ctl"])
    with pytest.raises(DomainError, match="'nothing' is none of"):
        laplace["nothing"]
    with pytest.raises(DomainError, match="delta"):
        compare(to.Gaussian(1), [], delta=["small"])


def test_perfect_privacy_and_none():
    for curve in (to.Identity(), to.TotalVariation(1)):
        found = compare(curve, ["basic"], delta=[1e-5], epsilon=[1.0], alpha=[0.1])
        assert not any(row.under_reports for row in found)


PLAN = """
title = "four [counts]"
delta = [1e-3]
[[mechanism]]
kind = "laplace"
scale = 2
count = 4
"""


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(PLAN, encoding="utf-8")
    return path


def test_the_command_prints_the_table(plan, capsys):
    assert main(["compare", str(plan), "--method", "clt", "--method", "basic", "--plot", str(plan.with_suffix(".svg"))]) == 0
    out = capsys.readouterr().out
    assert "four [counts]" in out
    assert "epsilon(delta = 0.001)" in out
    assert "basic composition" in out
    assert plan.with_suffix(".svg").read_text(encoding="utf-8").startswith("<?xml")


def test_the_command_prints_json(plan, capsys):
    assert main(["compare", str(plan), "--method", "basic", "--delta", "1e-4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["plan"]["title"] == "four [counts]"
    (entry,) = found["methods"][0]["epsilon"]
    assert (entry["delta"], entry["value"], entry["under_reports"]) == (1e-4, pytest.approx(2.0), False)
    assert found["exact"]["epsilon"][0]["upper"] < 2.0


def test_the_command_refuses_in_one_line(plan, capsys):
    assert main(["compare", str(plan), "--method", "ctl"]) == 2
    assert "'ctl'" in capsys.readouterr().err


def test_the_renyi_route_is_that_of_the_baselines(laplace):
    direct = to.baselines.renyi_route(to.Laplace(0.1) ** 400, 1e-5).epsilon
    assert laplace["renyi"].entries["epsilon"][0].value == pytest.approx(direct, rel=1e-9)
