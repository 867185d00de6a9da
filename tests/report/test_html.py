import base64
import html
import json
import re

import pytest

import tradeoff as to
from tradeoff.__main__ import main
from tradeoff.display import rounded
from tradeoff.proofs.certificate import parse_certificates
from tradeoff.report.compare import compare
from tradeoff.report.html import assumptions, report, risks

PLAN = """
title = "a <kind> of noise"
delta = [1e-5]
alpha = [0.05]
[[mechanism]]
kind = "subsampled-gaussian"
noise_multiplier = 2
sample_rate = 0.01
count = 1000
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Return the report of a plan, written by the command."""
    plan = tmp_path_factory.mktemp("report") / "plan.toml"
    plan.write_text(PLAN, encoding="utf-8")
    assert main(["report", str(plan), "-o", str(plan.with_suffix(".html"))]) == 0
    return plan.with_suffix(".html").read_text(encoding="utf-8")


def visible(text):
    return html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<style.*?</style>", " ", text, flags=re.DOTALL)))


@pytest.mark.slow
def test_report_states_assumptions_numbers_curves_and_certificates_and_loads_nothing(page):
    text = visible(page)
    assert "a &lt;kind&gt; of noise" in page
    for words in (
        *("a <kind> of noise", "one of them has a single record more than the other", "Poisson sample"),
        *("noise_multiplier=2.0", "under-report", "zcdp does not apply: no rho is known"),
    ):
        assert words in text
    assert re.search(r"<tr class=under><td[^>]*>clt</td>", page)
    checklist = visible(page.partition("NIST SP 800-226")[2].partition("</table>")[0])
    answer = re.search(r"epsilon at delta = 1e-05: at most ([0-9.]+)", checklist)
    assert answer[1] in page.partition("<h2>Answers</h2>")[2].partition("</table>")[0]
    assert checklist.count("?") == 7
    assert len(page.encode()) < 400_000
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", page)
    images = re.findall(r"src='data:image/svg\+xml;base64,([^']+)'", page)
    figures = [base64.b64decode(each).decode() for each in images]
    assert len(figures) == 4
    assert all(each.startswith("<?xml") for each in figures)
    for label in ("exact", "clt", "renyi", "type I error α", "power 1 − β", "privacy loss ε (nats)"):
        assert f"<!-- {label}" in "".join(figures)
    text = visible(page)
    step = to.mechanisms.SubsampledGaussian(noise_multiplier=2, sample_rate=0.01)
    curve = to.Plan({step: 1000}).guarantee()
    mu = float(re.search(r"μ = ([0-9.]+)", text)[1])
    lower, upper = curve.gdp().bounds
    assert lower <= mu <= upper * (1 + 1e-5)
    result = re.search(r"epsilon at delta = 1e-05\s+([0-9.]+)\s+([0-9.]+)", text)
    bounds = curve.bounds.epsilon(1e-5)
    assert float(result[1]) <= bounds.upper
    assert float(result[2]) >= bounds.lower
    assert float(result[2]) == pytest.approx(bounds.upper, rel=2e-4)  # certificates are wider than answers
    data = re.search(r"download=certificates.json href='data:application/json;base64,([^']+)'", page)[1]
    result = parse_certificates(base64.b64decode(data).decode())
    assert [each.question for each in result] == ["epsilon", "beta"]
    assert all(to.verify(each).checks for each in result)
    answers = page.partition("<h2>Answers</h2>")[2].partition("</table>")[0]
    upper = max(each.upper for each in result if each.question == "epsilon")
    assert rounded(upper, "upper") in answers
    assert rounded(min(each.lower for each in result if each.question == "beta"), "lower") in answers


@pytest.mark.slow
def test_report_same_plan_gives_the_same_bytes():
    plan = to.Plan({to.mechanisms.Gaussian(noise_multiplier=2): 3})
    curve = plan.guarantee()
    one, two = (
        report("twice", plan, curve.gdp(), compare(curve, ["zcdp", "basic"], delta=[1e-5])) for _ in "ab"
    )
    assert one == two


def test_risks_are_rounded_up_assumptions_included_and_infinite_mu_explained():
    private = to.Plan({to.mechanisms.Gaussian(noise_multiplier=1e9): 1}).guarantee()
    assert [each.split()[-1] for each in risks(private)] == ["0.001001.", "0.01001.", "0.1001.", "0.5001."]
    assert [each.split()[-1] for each in risks(to.TotalVariation(1.0))] == ["1."] * 4
    assert risks(to.Identity())[-1].endswith("at most 0.5.")
    step = to.mechanisms.SubsampledGaussian(1, 0.01)
    alone, inside = (assumptions(to.Plan({each: 1})) for each in (step, to.mechanisms.BestOfRuns(step, 3)))
    assert alone == inside
    assert any("Poisson" in text for text in inside)
    plan = to.Plan({to.mechanisms.ApproximateDP(epsilon=1.0, delta=1e-5): 1}, adjacency="replace-one")
    curve = plan.guarantee()
    text = visible(report("", plan, curve.gdp(), compare(curve, ["basic"], delta=[1e-3])))
    for words in ("No finite μ holds", "f(0) = 1 - 1e-05", "differ in a single record"):
        assert words in text
    assert "of the bound used, not of the mechanism" in text
    plan = to.Plan({to.mechanisms.DiscreteGaussian(sigma=sigma): 2 for sigma in (4.5, 5.5, 6.5)})
    curve = plan.guarantee()
    page = report("", plan, curve.gdp(1e-10), compare(curve, ["basic"], delta=[1e-6]))
    assert "No certificates, as they take minutes" in page
    assert rounded(curve.bounds.epsilon(1e-6).upper, "upper") in page


def test_report_registry_entry_of_the_census_and_wrong_targets_are_refused(tmp_path, capsys, monkeypatch):
    target = tmp_path / "census.json"
    assert main(["report", "examples/census2020.toml", "--registry", "-o", str(target)]) == 0
    loss = json.loads(target.read_text(encoding="utf-8"))["deployment"]["privacy_loss"]
    exact = to.spec.load("examples/census2020.toml").plan.guarantee().bounds.epsilon(1e-10)
    assert loss["privacy_parameters"] == {"epsilon": exact.upper, "delta": 1e-10}
    assert "differ in a single record" in loss["privacy_unit_description"]
    assert main(["report", "examples/mixed.toml", "--registry", "--epsilon", "1", "-o", str(target)]) == 2
    assert "--registry needs an epsilon: give --delta" in capsys.readouterr().err
    monkeypatch.setattr(to.Plan, "guarantee", lambda _: pytest.fail("computed"))
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN, encoding="utf-8")
    wrong = {"report.txt": "--output must end in one of .html, .htm", "no/report.html": "cannot be written"}
    for name, words in wrong.items():
        assert main(["report", str(plan), "-o", str(tmp_path / name)]) == 2
        assert words in capsys.readouterr().err
        assert set(tmp_path.iterdir()) == {plan, target}
