import json
import pickle
import sys

import mpmath
import numpy as np
import pytest

import tradeoff as to
from tradeoff.curves.hooks import PAIR, limited
from tradeoff.display import exactly, rounded
from tradeoff.errors import MissingExtraError
from tradeoff.report.answers import Answer, Answers
from tradeoff.report.compare import ALPHAS, Row, compare, compare_claim
from tradeoff.report.methods import METHODS, Claim, claim_of_pairs, delta_by_orders


@pytest.fixture(scope="module")
def laplace():
    result = compare(to.Laplace(0.1) ** 400, delta=[1e-5], epsilon=[1.0], alpha=[0.01, 0.1])
    return pickle.loads(pickle.dumps(result))


@pytest.fixture(scope="module")
def dp_sgd():
    step = to.mechanisms.SubsampledGaussian(noise_multiplier=0.8, sample_rate=0.005)
    return compare(to.Plan({step: 1000}).guarantee(), ["clt", "dp-sgd-clt", "zcdp"], delta=[1e-6])


@pytest.mark.slow
def test_compare_under_reports_of_dp_sgd_and_between_questions_are_reported(dp_sgd):
    entry = dp_sgd["dp-sgd-clt"].entries["epsilon"][0]
    assert entry.value == pytest.approx(1.324, abs=1e-3)
    assert dp_sgd.exact.epsilon[0].lower == pytest.approx(2.004, abs=1e-3)
    assert entry.error == pytest.approx(1.3245 - 2.0041, abs=1e-3)
    assert entry.under_reports
    assert dp_sgd.table()[-1][:2] == ["dp-sgd-clt", "unsafe"]
    row = dp_sgd["zcdp"]
    assert (row.claim, row.under_reports, row.verdict) == (None, False, "declined")
    assert "no rho is known" in row.declined
    assert dp_sgd.declined == {"zcdp": row.declined}
    assert f"zcdp does not apply: {row.declined}" in str(dp_sgd)
    curve = to.Laplace(0.1) ** 400
    result = compare(curve, ["edgeworth"], delta=[], epsilon=[], alpha=[0.05])  # safe at this alpha
    row = result["edgeworth"]
    assert not row.entries["beta"][0].under_reports
    assert row.verdict == "unsafe*"
    (worst,) = row.unsafe
    assert worst.answered == "beta"
    truth, claimed = curve.bounds(worst.argument, tol=1e-6), float(row.claim.beta(worst.argument))
    assert 0.5 * (claimed - truth.upper) <= worst.error <= claimed - truth.lower
    least, place = rounded(worst.error, "lower", 2), exactly(worst.argument)
    assert f"edgeworth, unsafe by at least: beta +{least} at alpha = {place}." in result.notes()
    assert result.table()[-1][1] == "unsafe*"
    assert "!" not in result.table()[-1][2]


def test_compare_estimates_have_signed_errors_and_proved_methods_are_safe(laplace):
    clt, edgeworth = laplace["clt"], laplace["edgeworth"]
    assert clt.sup_error == pytest.approx(-6.0e-4, abs=5e-5)
    assert not clt.under_reports
    assert edgeworth.under_reports
    assert edgeworth.entries["epsilon"][0].error < 0
    for name in ("berry-esseen", "zcdp", "renyi", "advanced", "basic"):
        row = laplace[name]
        assert (row.claim.kind, row.verdict, row.under_reports) == ("bound", "safe", False)
        assert row.sup_error < 0
    at = np.array([1e-9, 1e-5, 1e-2])  # profiles of orders invert epsilon
    for claim in (laplace[method].claim for method in ("zcdp", "renyi")):
        np.testing.assert_allclose(claim.delta(claim.epsilon(at)), at, rtol=2e-3)


EITHER = to.subsample(to.Gaussian(1.0), 0.1).symmetrise(assume="either-order")
ONE_ORDER = ~to.subsample(to.Gaussian(1.0), 0.1)  # f_{epsilon,delta} claims both orders
ENDS = {"delta": [1e-4, 0.1], "epsilon": [0.0, 0.5, 3.0], "alpha": [0.0, 0.01, 0.5, 1.0]}
ORDERED = {"delta": [1e-3], "epsilon": [-0.5, 0.0, 0.5], "alpha": [0.01, 0.8]}
NEGATIVE = {"epsilon": [-np.inf, -800.0, -5.0, -1.0]}
MASSES = to.PureDP(0.3) ** 20 @ to.TotalVariation(1e-7)
MIXED = to.Gaussian(0.5) @ to.Laplace(0.2) ** 3


@pytest.mark.parametrize(
    ("curve", "methods", "queries"),
    [
        pytest.param(MASSES, ("berry-esseen", "advanced", "basic"), ENDS, id="masses"),
        pytest.param(MIXED, ("zcdp", "advanced", "basic"), ENDS, id="mixed", marks=pytest.mark.slow),
        pytest.param(EITHER, ("basic",), ENDS, id="envelope"),
        pytest.param(ONE_ORDER, ("renyi",), ORDERED, id="one order"),
        pytest.param(to.PureDP(0.3) ** 10, ("basic", "advanced", "zcdp", "renyi"), NEGATIVE, id="negative"),
        pytest.param(to.Identity(), ("basic",), {"alpha": [0.1]}, id="perfect privacy"),
        pytest.param(to.TotalVariation(1), ("basic",), {"alpha": [0.1]}, id="no privacy"),
    ],
)
def test_compare_proved_methods_on_other_curves_never_under_report(curve, methods, queries):
    result = compare(curve, methods, **queries)
    assert not any(row.declined or row.under_reports for row in result)
    if -np.inf in queries.get("epsilon", ()):
        assert result["basic"].entries["delta"][0].value == 1


@pytest.mark.parametrize(
    "curve",
    [pytest.param(to.PureDP(0.3), marks=pytest.mark.slow), to.TotalVariation(0.1), to.TotalVariation(1.0)],
    ids=repr,
)
def test_as_json_of_extreme_questions_is_strict(curve):
    ends = [0.0, 1e-300, 1.0]
    result = compare(curve, delta=ends, epsilon=[-np.inf, 0.0, 800.0, np.inf], alpha=ends)
    assert '"epsilon": "inf"' in json.dumps(result.as_json(), allow_nan=False)
    entries = [e for row in result for each in row.entries.values() for e in each]
    assert not any(np.isnan(e.error) and not np.isnan(e.value) for e in entries)
    assert not any(row.under_reports for row in result if row.claim is not None and row.claim.kind == "bound")


def row_of(kind, value, *bounds, exact=True):
    """The comparison of one delta with its exact bounds; beta has no answer."""
    claim = Claim("", kind, delta=lambda _: np.array([value]))
    answers = Answers(delta=(Answer(1.0, *bounds),), exact=exact)
    return compare_claim("", claim, answers, to.Gaussian(1).bounds(ALPHAS))


@pytest.mark.parametrize(("kind", "undecided"), [("bound", False), ("estimate", True), ("curve", True)])
def test_compare_answer_between_the_bounds_is_undecided(kind, undecided):
    row = row_of(kind, 0.3, 0.2, 0.4)
    (entry,) = row.entries["delta"]
    assert (entry.under_reports, entry.undecided, row.unsafe) == (False, undecided, ())
    assert row.proved != undecided
    below = row_of(kind, 0.1, 0.2, 0.4)
    assert below.entries["delta"][0].under_reports
    assert below.unsafe[0].error == -0.1
    inexact = row_of(kind, 0.1, 0.2, 0.4, exact=False)
    (entry,) = inexact.entries["delta"]
    assert (entry.under_reports, entry.undecided, inexact.unsafe) == (False, True, ())


def test_verdict_is_certain_or_undecided_and_formulas_are_above_the_exact_value():
    curve, other = to.Gaussian(1.0), to.Gaussian(0.99)
    mine = {"below": to.Gaussian(1.01), "above": (other, to.Gaussian(0.98)), "itself": to.Gaussian(1.0)}
    result = pickle.loads(pickle.dumps(compare(curve, mine, delta=[1e-5], epsilon=[1.0], alpha=[0.01])))
    verdicts = [(row.verdict, row.claim.kind) for row in result]
    assert verdicts == [(verdict, "curve") for verdict in ("safe", "unsafe", "safe")]
    assert abs(result["itself"].sup_error) < 1e-12
    assert Row("between", Claim("", "estimate")).verdict == "open"
    assert [len(row.unsafe) for row in result] == [0, 3, 0]
    exact = curve.bounds.epsilon(1e-5)
    epsilon, delta, beta = result["above"].unsafe
    assert (epsilon.answered, delta.answered, beta.answered) == ("epsilon", "delta", "beta")
    assert epsilon.error == pytest.approx(other.epsilon(1e-5) - exact.lower)
    assert max(epsilon.error, delta.error) < 0
    assert beta.error == pytest.approx(max(other(a) - curve(a) for a in np.linspace(0, 1, 101)), rel=1e-2)
    plans = {"plan": to.Plan({}), "mechanism": to.mechanisms.Gaussian(noise_multiplier=1)}
    answers = [row.entries["epsilon"][0].value for row in compare(curve, plans, delta=[1e-5])]
    assert answers == [0.0, exact.upper]
    orders, divergences = [1.001, 1.5, 4.0, 1e6], [0.3, 0.5, 1.25, np.inf]
    with mpmath.workdps(50):
        for epsilon in (-2.0, 0.0, 0.1, 3.0, 40.0):
            pairs = zip(map(mpmath.mpf, orders[:3]), divergences, strict=False)
            gains = [(a, d - mpmath.mpf(epsilon) + mpmath.log(1 - 1 / a)) for a, d in pairs]
            exact = mpmath.exp(min(0, *((a - 1) * gain - mpmath.log(a) for a, gain in gains)))
            (delta,) = delta_by_orders(np.array(orders), np.array(divergences), np.array([epsilon]))
            assert exact <= delta <= exact * (1 + mpmath.mpf("1e-13"))
    claim = claim_of_pairs("", lambda deltas: [1.0 if delta >= 1e-3 else float("inf") for delta in deltas])
    best = to.approximate_dp(1.0, min(d for d in np.geomspace(1e-12, 0.3, 81) if d >= 1e-3))
    alpha, epsilon = np.linspace(0, 1, 11), np.linspace(0, 2, 9)
    beta, delta = claim.beta(alpha), claim.delta(epsilon)
    assert np.all((best(alpha) - 1e-12 <= beta) & (beta <= best.bounds(alpha).upper))
    assert claim.delta(np.array([1.0]))[0] == pytest.approx(best.delta(1.0), rel=1e-9)
    assert np.all((best.bounds.delta(epsilon).lower <= delta) & (delta <= best.delta(epsilon) + 1e-12))


def test_table_and_as_json_agree_and_numbers_print_every_digit(laplace):
    table, data = laplace.table(), json.loads(json.dumps(laplace.as_json(), allow_nan=False))
    methods = {each["method"]: each for each in data["methods"]}
    assert [*methods] == list(METHODS)
    applied = [name for name, each in methods.items() if "declined" not in each]
    assert [line[0] for line in table] == ["lower bound", "upper bound", *applied]
    assert methods["clt"]["epsilon"][0]["value"] == laplace["clt"].entries["epsilon"][0].value
    assert (methods["clt"]["under_reports"], methods["basic"]["unsafe"]) == (False, [])
    assert methods["edgeworth"]["unsafe"][0]["error"] == laplace["edgeworth"].unsafe[0].error
    assert data["exact"]["epsilon"][0]["lower"] == laplace.exact.epsilon[0].lower
    for row in laplace:
        assert row.under_reports == bool(row.unsafe) == (row.verdict in ("unsafe", "unsafe*"))
    row, line = laplace["renyi"], next(line for line in table if line[0] == "renyi")
    assert float(line[2].split()[0]) >= row.entries["epsilon"][0].value
    assert float(line[-1].split()[0]) <= row.entries["beta"][-1].value
    curve = limited(to.Gaussian(1), PAIR, ["the noise is as stated"])
    result = compare(curve, [], delta=[1e-6], epsilon=[], alpha=[0.1])
    assert result.to_dict()["assumes"] == ["the noise is as stated"] * 2
    assert "% assumes: the noise is as stated" in result.to_latex().splitlines()
    for side in to.Gaussian(1).bounds.epsilon(1e-6):
        assert repr(side) in repr(result.numbers())


@pytest.mark.slow
def test_numbers_leave_for_pandas_csv_and_latex(laplace, tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas", reason="pandas, an extra, is not installed")
    result, frame = laplace.to_dict(), laplace.to_pandas()
    assert list(frame.columns) == list(result)
    clt = laplace["clt"]
    row = frame[frame["method"] == clt.claim.name].iloc[0]
    assert row["epsilon at delta = 1e-05"] == clt.entries["epsilon"][0].value
    assert row["error of epsilon at delta = 1e-05"] == clt.entries["epsilon"][0].error
    assert frame["beta at alpha = 0.1"][0] == laplace.exact.beta[1].lower
    assert laplace.to_csv(tmp_path / "table.csv")
    written = pandas.read_csv(tmp_path / "table.csv", dtype=str)  # pandas 2 reads floats to a unit
    pandas.testing.assert_frame_equal(written.astype(frame.dtypes), frame, check_exact=True)
    latex = laplace.to_latex()
    assert r"$\varepsilon$ at $\delta=10^{-5}$" in latex
    assert latex.count(r"\\") == len(laplace.table()) + 1
    pivoted = laplace.to_latex(pivot=True, digits=3, caption="Every method", label="tab:methods")
    assert pivoted.count(r"\\") == len(laplace.header())
    assert r"\caption{Every method}" in pivoted
    assert pivoted.endswith(r"\end{table}")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"tradeoff\[pandas\]"):
        laplace.to_pandas()
