"""The comparison: its marks against the known cases, its bounds against the exact curve, its data and its
refusals."""

import json
import sys

import numpy as np
import pytest

import tradeoff as to
from tradeoff.cli.compare import blocks
from tradeoff.display import exactly, rounded
from tradeoff.errors import DomainError, KindError, MissingExtraError
from tradeoff.operators.assumed import assumed
from tradeoff.report.answers import Answer
from tradeoff.report.compare import compare
from tradeoff.report.methods import METHODS, Claim, Remembered
from tradeoff.report.rows import ELSEWHERE, UNDER, Row, _beyond, _entry, _unsafe
from tradeoff.report.textbook import by_pairs

PROVED = ("berry-esseen", "zcdp", "renyi", "advanced", "basic")


@pytest.fixture(scope="module")
def laplace():
    return compare(to.Laplace(0.1) ** 400, delta=[1e-5], epsilon=[1.0], alpha=[0.01, 0.1])


@pytest.fixture(scope="module")
def dp_sgd():
    step = to.mechanisms.SubsampledGaussian(noise_multiplier=0.8, sample_rate=0.005)
    return compare(to.Plan({step: 1000}).guarantee(), ["clt", "dp-sgd-clt", "zcdp"], delta=[1e-6])


@pytest.mark.slow
def test_the_clt_of_dp_sgd_is_marked(dp_sgd):
    row = dp_sgd["dp-sgd-clt"]
    entry = row.entries["epsilon"][0]
    assert entry.value == pytest.approx(1.324, abs=1e-3)
    assert dp_sgd.exact.epsilon[0].lower == pytest.approx(2.004, abs=1e-3)
    assert entry.error == pytest.approx(1.3245 - 2.0041, abs=1e-3)
    assert entry.under_reports
    assert dp_sgd.table()[-2][1] == UNDER


@pytest.mark.slow
def test_a_method_declines_in_words(dp_sgd):
    row = dp_sgd["zcdp"]
    assert row.claim is None
    assert "no rho is known" in row.declined
    assert dp_sgd.declined == {"zcdp": row.declined}
    assert f"zcdp declined: {row.declined}" in str(dp_sgd)
    assert not row.under_reports
    assert row.verdict == "declined"


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
        pytest.param(
            to.Gaussian(0.5) @ to.Laplace(0.2) ** 3, ("zcdp", "advanced", "basic"), marks=pytest.mark.slow
        ),
        (to.subsample(to.Gaussian(1.0), 0.1).symmetrise(assume="either-order"), ("basic",)),
    ],
    ids=["masses", "mixed", "envelope"],
)
def test_proved_methods_on_other_curves(curve, methods):
    result = compare(curve, methods, delta=[1e-4, 0.1], epsilon=[0.0, 0.5, 3.0], alpha=[0.0, 0.01, 0.5, 1.0])
    assert not any(row.declined or row.under_reports for row in result)


def test_pairs_make_the_curve_and_the_profile_of_one_pair():
    claim = by_pairs("one", "", lambda deltas: [1.0 if delta >= 1e-3 else float("inf") for delta in deltas])
    best = to.approximate_dp(1.0, min(d for d in np.geomspace(1e-12, 0.3, 81) if d >= 1e-3))
    alpha, epsilon = np.linspace(0, 1, 11), np.linspace(0, 2, 9)
    assert np.all(claim.beta(alpha) >= best(alpha) - 1e-12)
    assert claim.delta(np.array([1.0]))[0] == pytest.approx(best.delta(1.0), rel=1e-9)
    assert np.all(claim.delta(epsilon) <= best.delta(epsilon) + 1e-12)


@pytest.mark.slow
def test_curves_of_the_caller():
    result = compare(
        to.Laplace(0.5) ** 4, {"too private": to.Gaussian(0.5), "enough": to.Gaussian(2.0)}, delta=[1e-3]
    )
    assert result["too private"].under_reports
    assert not result["enough"].under_reports
    assert result["enough"].entries["epsilon"][0].error > 0


def test_the_same_curve_has_no_error():
    result = compare(to.Gaussian(1.0), {"itself": to.Gaussian(1.0)})
    assert abs(result["itself"].sup_error) < 1e-12
    assert not result["itself"].under_reports


def test_one_order_is_not_charged_to_both():
    # The Renyi divergences of one order say nothing of the other, and f_{epsilon,delta} speaks for both.
    result = compare(
        ~to.subsample(to.Gaussian(1.0), 0.1),
        ["renyi"],
        delta=[1e-3],
        epsilon=[-0.5, 0.0, 0.5],
        alpha=[0.01, 0.8],
    )
    assert not result["renyi"].under_reports


def test_pairs_far_below_zero():
    result = compare(
        to.PureDP(0.3) ** 10, ["basic", "advanced", "zcdp", "renyi"], epsilon=[-np.inf, -800.0, -5.0, -1.0]
    )
    assert not any(row.under_reports for row in result)
    assert result["basic"].entries["delta"][0].value == 1


def test_a_million_releases_are_counted_not_listed():
    result = compare(to.PureDP(1e-3) ** 10**6, ["basic", "advanced"])
    assert result["basic"].entries["epsilon"][0].value == pytest.approx(1000)
    assert result["advanced"].entries["epsilon"][0].value == pytest.approx(
        0.5 + np.sqrt(2 * np.log(1e5)), rel=1e-6
    )


@pytest.mark.parametrize(
    "curve",
    [pytest.param(to.PureDP(0.3), marks=pytest.mark.slow), to.TotalVariation(0.1), to.TotalVariation(1.0)],
    ids=repr,
)
def test_questions_at_the_ends_make_json_and_no_nan(curve):
    result = compare(
        curve, delta=[0.0, 1e-300, 1.0], epsilon=[-np.inf, 0.0, 800.0, np.inf], alpha=[0.0, 1e-300, 1.0]
    )
    text = json.dumps(result.as_json(), allow_nan=False)
    assert '"epsilon": "inf"' in text
    entries = [e for row in result for each in row.entries.values() for e in each]
    assert not any(np.isnan(e.error) and not np.isnan(e.value) for e in entries)
    assert not any(row.under_reports for row in result if row.claim is not None and row.claim.kind == "bound")


def test_answers_inside_the_exact_bounds_are_undecided():
    exact = Answer(1.0, 0.2, 0.4)
    claims = {kind: Claim("", kind) for kind in ("bound", "estimate", "curve")}
    assert [_entry(claim, "delta", 0.3, exact).undecided for claim in claims.values()] == [False, True, True]
    assert not any(_entry(claim, "delta", 0.3, exact).under_reports for claim in claims.values())
    assert _entry(claims["estimate"], "delta", 0.3, Answer(1.0, 0.35, 0.4)).under_reports


@pytest.mark.parametrize(
    ("value", "lower", "upper", "error"),
    [
        (2.0, 1.0, np.inf, 1.0),
        (2.0, np.inf, np.inf, -np.inf),
        (np.inf, np.inf, np.inf, 0.0),
        (np.inf, 1.0, 1.0, np.inf),
    ],
)
def test_errors_beside_infinite_bounds(value, lower, upper, error):
    assert _entry(Claim("", "estimate"), "epsilon", value, Answer(0.0, lower, upper)).error == error


@pytest.mark.slow
def test_what_a_mapping_may_hold():
    curve = to.Laplace(0.5) ** 4
    band, theorem = to.limits.berry_esseen(curve), to.baselines.basic_composition(0.5, n=4)
    result = compare(curve, {"band": band, "theorem": theorem, "own": to.Gaussian(2.0)}, delta=[0.1])
    assert [row.claim.kind for row in result] == ["bound", "curve", "curve"]
    assert not any(row.under_reports for row in result)
    plans = compare(curve, {"one": to.mechanisms.Laplace(scale=1.0), "none": to.Plan({})}, delta=[0.1])
    assert [row.entries["epsilon"][0].value for row in plans] == [to.Laplace(1.0).epsilon(0.1), 0.0]
    for wrong in (None, 3):
        with pytest.raises(KindError, match="not a trade-off function"):
            compare(curve, {"wrong": wrong})
    with pytest.raises(DomainError, match="neither names nor a mapping"):
        compare(curve, 3)


@pytest.mark.slow
def test_what_under_reports_between_the_questions_says_where_and_how_much():
    curve = to.Laplace(0.1) ** 400
    result = compare(curve, ["edgeworth"], delta=[], epsilon=[], alpha=[0.05])  # safe where it is asked
    row = result["edgeworth"]
    assert not row.entries["beta"][0].under_reports
    assert row.verdict == ELSEWHERE
    (worst,) = row.unsafe
    assert worst.answered == "beta"
    truth, claimed = curve.bounds(worst.asked, tol=1e-6), float(row.claim.beta(worst.asked))
    assert (
        0.5 * (claimed - truth.upper) <= worst.error <= claimed - truth.lower
    )  # the error is at least what is said
    least, place = rounded(worst.error, "lower", 2), exactly(worst.asked)
    assert result.table()[-1][-1] == f"beta +{least} at alpha = {place}"
    assert "!" not in result.table()[-1][2]


def test_verdicts_are_certain_or_say_that_they_are_not():
    curve = to.Gaussian(1.0)
    mine = {"below": to.Gaussian(1.01), "above": to.Gaussian(0.99), "itself": to.Gaussian(1.0)}
    result = compare(curve, mine, delta=[1e-5], epsilon=[1.0], alpha=[0.01])
    assert [row.verdict for row in result] == ["safe (curve)", UNDER, "safe (curve)"]
    assert Row("between", Claim("", "estimate")).verdict == "within the bounds (estimate)"
    inside = {"delta": [(0.3, Answer(1.0, 0.2, 0.4))]}
    assert not _beyond(inside)
    assert not _unsafe(inside)
    assert [len(row.unsafe) for row in result] == [0, 3, 0]
    exact = curve.bounds.epsilon(1e-5)
    epsilon, delta, beta = result["above"].unsafe
    assert (epsilon.answered, delta.answered, beta.answered) == ("epsilon", "delta", "beta")
    assert epsilon.error == pytest.approx(to.Gaussian(0.99).epsilon(1e-5) - exact.lower)
    assert epsilon.error < 0
    assert delta.error < 0
    peak = max(to.Gaussian(0.99)(a) - curve(a) for a in np.linspace(0, 1, 101))
    assert beta.error == pytest.approx(peak, rel=1e-2)


def test_a_bound_is_safe_wherever_it_lies(laplace):
    assert {laplace[name].verdict for name in PROVED} == {"safe (bound)"}
    assert all(
        row.under_reports == bool(row.unsafe) == (row.verdict in (UNDER, ELSEWHERE)) for row in laplace
    )
    data = {each["method"]: each for each in laplace.as_json()["methods"]}
    assert data["basic"]["unsafe"] == []
    assert data["edgeworth"]["unsafe"][0]["error"] == laplace["edgeworth"].unsafe[0].error


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
    with pytest.raises(KindError, match=r"compare the \.guarantee\(\)"):
        compare(to.Plan({}))
    with pytest.raises(DomainError, match="'clt'"):
        compare(to.Gaussian(1), ["ctl"])
    with pytest.raises(DomainError, match="'nothing' is none of"):
        laplace["nothing"]
    with pytest.raises(DomainError, match="delta"):
        compare(to.Gaussian(1), [], delta=["small"])


def test_perfect_privacy_and_none():
    for curve in (to.Identity(), to.TotalVariation(1)):
        result = compare(curve, ["basic"], delta=[1e-5], epsilon=[1.0], alpha=[0.1])
        assert not any(row.under_reports for row in result)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_column_is_cut_and_each_block_is_led_by_method_and_verdict(laplace, width):
    columns = [list(column) for column in zip(laplace.header(), *laplace.table(), strict=True)]
    result = list(blocks(columns, width))
    assert [column for block in result for column in block[2:]] == columns[2:]
    assert all(block[:2] == columns[:2] for block in result)
    wide = [1 + sum(3 + max(map(len, column)) for column in block) for block in result]
    assert all(each <= width or len(block) == 3 for each, block in zip(wide, result, strict=True))


def test_printed_bounds_are_rounded_towards_safety(laplace):
    row, line = laplace["renyi"], laplace.table()[2 + list(METHODS).index("renyi")]
    assert float(line[2].split()[0]) >= row.entries["epsilon"][0].value
    assert float(line[-3].split()[0]) <= row.entries["beta"][-1].value


@pytest.mark.slow
def test_the_renyi_route_is_that_of_the_baselines(laplace):
    direct = to.baselines.renyi_route(to.Laplace(0.1) ** 400, 1e-5).epsilon
    assert laplace["renyi"].entries["epsilon"][0].value == pytest.approx(direct, rel=1e-9)


@pytest.mark.parametrize(
    ("curve", "method"),
    [
        pytest.param(to.Laplace(0.1) ** 40, "zcdp", marks=pytest.mark.slow),
        (to.subsample(to.Gaussian(1), 0.1) ** 20, "renyi"),
    ],
)
def test_profiles_of_routes_are_smooth_and_above_the_truth(curve, method):
    claim, epsilon = compare(curve, [method])[method].claim, np.linspace(0.0, 4.0, 161)
    delta = claim.delta(epsilon)
    assert np.all(delta >= curve.bounds.delta(epsilon).upper)
    # The least of log-linear functions is concave in its logarithm, where stairs are level and drop, level
    # and drop.
    slopes = np.diff(np.log(delta[delta < 0.01]))
    assert len(slopes) > 30
    assert np.all(slopes < 0)
    assert np.all(np.diff(slopes) <= 0.02 * np.abs(slopes[1:]))


def test_questions_are_named_as_they_were_asked():
    result = compare(to.Gaussian(1), ["clt"], delta=[1e-5], epsilon=[1.0, 1.000004], alpha=[])
    assert result.header()[2:-2] == [
        "epsilon at delta = 1e-05",
        "delta at epsilon = 1",
        "delta at epsilon = 1.000004",
    ]


@pytest.mark.parametrize("method", ["zcdp", "renyi"])
def test_a_route_answers_delta_where_it_answers_epsilon(laplace, method):
    claim = laplace[method].claim
    at = np.array([1e-9, 1e-5, 1e-2])
    np.testing.assert_allclose(claim.delta(claim.epsilon(at)), at, rtol=2e-3)


@pytest.mark.slow
def test_the_table_leaves_in_numbers_and_for_papers(laplace, tmp_path, monkeypatch):
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
    again = written.astype(frame.dtypes)
    pandas.testing.assert_frame_equal(again, frame, check_exact=True)
    latex = laplace.to_latex()
    assert r"$\varepsilon$ at $\delta$ = $10^{-5}$" in latex
    assert latex.count(r"\\") == len(laplace.table()) + 1
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"tradeoff\[pandas\]"):
        laplace.to_pandas()


def test_a_comparison_prints_as_its_table(laplace):
    assert repr(laplace) == str(laplace)
    assert "Claim(" not in repr(laplace)


def test_what_is_assumed_leaves_with_the_numbers():
    result = compare(
        assumed(to.Gaussian(1), ["the noise is as stated"]), [], delta=[], epsilon=[], alpha=[0.1]
    )
    assert result.to_dict()["assumes"] == ["the noise is as stated"] * 2
    assert "% assumes: the noise is as stated" in result.to_latex().splitlines()


def test_each_alpha_is_asked_once():
    curve, asked = to.Laplace(0.5), []
    beta = Remembered(lambda alpha: (asked.extend(alpha), curve.bounds(alpha))[1])
    for alpha in (np.array([0.2, 0.1, 0.2]), np.array([0.3, 0.1]), np.array([])):
        assert np.array_equal(beta(alpha).lower, curve.bounds(alpha).lower)
        assert np.array_equal(beta(alpha).upper, curve.bounds(alpha).upper)
    assert asked == [0.1, 0.2, 0.3]
