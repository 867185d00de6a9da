"""Certificates of plans: for every question and order, proved again; one that was changed is refused."""

import io
import json
import sys
from dataclasses import replace

import pytest

import tradeoff as to
from tests.cli.outcomes import refused
from tradeoff.certificates import Certificate
from tradeoff.cli import questions

PLAN = """
delta = [1e-5]
alpha = [0.01]
[[mechanism]]
kind = "subsampled-gaussian"
noise_multiplier = 1
sample_rate = 0.01
count = 1000
"""


@pytest.fixture
def certified(run, plan):
    target = plan.with_name("certificates.json")
    assert run("certify", plan, "-o", target)[0] == 0
    return target


def test_each_question_and_order_has_a_certificate_that_proves_the_guarantee(run, certified):
    found = [Certificate.from_json(json.dumps(each)) for each in json.loads(certified.read_text("utf-8"))]
    assert [each.question for each in found] == ["epsilon"] * 2 + ["beta"] * 2
    guarantee = to.spec.loads(PLAN).plan.guarantee()
    lower, upper = guarantee.bounds.epsilon(1e-5)
    assert lower <= max(each.upper for each in found[:2])
    assert max(each.lower for each in found[:2]) <= upper
    assert guarantee.bounds(0.01).lower <= min(each.upper for each in found[2:])
    code, out, _ = run("verify", certified)
    assert code == 0
    assert out.count("recomputed") == 4
    assert out.splitlines()[-1].startswith("Verified. Trusted: the laws listed are those of the curve")


def test_one_question_of_a_symmetric_plan_is_one_certificate(run, write, monkeypatch):
    plan = write('[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 2\n')
    target = plan.with_suffix(".json")
    out = run("certify", plan, "--epsilon", "1", "-o", target)[1]
    assert "delta at epsilon = 1" in out
    text = target.read_text(encoding="utf-8")
    assert Certificate.from_json(text).upper == to.certify(to.Gaussian(0.5), "delta", 1.0).upper
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert run("verify", "-")[0] == 0


def test_mu_of_both_orders_is_one_certificate(run, plan):
    target = plan.with_name("mu.json")
    out = run("certify", plan, "--delta", "1e-5", "--mu", "--failure", "1e-5", "-o", target)[1]
    found = [Certificate.from_json(json.dumps(each)) for each in json.loads(target.read_text("utf-8"))]
    assert [each.question for each in found] == ["epsilon", "epsilon", "mu"]
    known = to.spec.loads(PLAN).plan.guarantee().gdp(failure=1e-5).bounds
    assert found[2].lower <= known.upper
    assert known.lower <= found[2].upper
    assert "mu at failure = 1e-05" in out
    assert run("verify", target)[0] == 0


def test_mu_without_a_failure_is_refused_in_a_sentence(run, plan):
    target = plan.with_name("mu.json")
    assert "failure must be in (0, 1)" in refused(
        run("certify", plan, "--mu", "--failure", "0", "-o", target)
    )


@pytest.mark.parametrize("place", [0, 1])
def test_what_is_not_proved_is_refused_with_code_1(run, certified, place):
    found = json.loads(certified.read_text("utf-8"))
    found[place]["upper"] *= 1 - 1e-6
    certified.write_text(json.dumps(found), encoding="utf-8")
    code, out, err = run("verify", certified)
    assert code == 1
    assert "Verified" not in out
    assert err.startswith("tradeoff: upper bound: recorded")


def test_an_answer_to_one_question_does_not_pass_for_that_to_another(run, certified):
    beta = Certificate.from_json(json.dumps(json.loads(certified.read_text("utf-8"))[2]))
    certified.write_text(replace(beta, question="epsilon ").sealed().to_json(), encoding="utf-8")
    assert "question = 'epsilon ' is none of" in refused(run("verify", certified))


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", "[" * 10_000])
def test_what_is_no_certificate_is_bad_input(run, tmp_path, text):
    path = tmp_path / "certificate.json"
    path.write_text(text, encoding="utf-8")
    assert "is no certificate" in refused(run("verify", path)) or text == "{}"
    assert "cannot be read" in refused(run("verify", tmp_path / "missing.json"))


def test_a_failure_is_that_of_mu(run, plan):
    target = plan.with_name("mu.json")
    assert "--failure" in refused(run("certify", plan, "--failure", "0.1", "-o", target))
    assert "--failure" in refused(run("compose", plan, "--failure", "0.1"))
    for value in ("7", "nan"):
        assert "failure must be in" in refused(run("compose", plan, "--mu", "--failure", value))
        assert "failure must be in" in refused(run("certify", plan, "--mu", "--failure", value, "-o", target))


def test_a_plan_too_large_to_be_composed_is_not_certified(run, plan, monkeypatch):
    plan.write_text(PLAN + '[[mechanism]]\nkind = "laplace"\nscale = 1\n', encoding="utf-8")
    monkeypatch.setattr(questions, "_MAX_FACTORS", 1)
    assert "at most 1 different mechanisms" in refused(run("certify", plan, "-o", plan.with_name("c.json")))
