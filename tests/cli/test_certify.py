import io
import json
import os
import sys

import pytest

import tradeoff as to
from tests.cli.outcomes import refused
from tradeoff.cli import terminal
from tradeoff.proofs import Certificate
from tradeoff.proofs.certificate import read_certificates

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
    plan.write_text(PLAN.replace("alpha = [0.01]\n", ""), encoding="utf-8")
    target = plan.with_name("certificates.json")
    assert run("certify", plan, "-o", target)[0] == 0
    return target


def test_certify_writes_one_certificate_for_both_orders_that_verify_reads(run, certified, monkeypatch):
    (certificate,) = read_certificates(certified)
    lower, upper = to.spec.loads(PLAN).plan.guarantee().bounds.epsilon(1e-5)
    assert certificate.orders == "both"
    assert (certificate.lower, certificate.upper) == (lower, upper)
    code, out, _ = run("verify", certified)
    assert (code, out.splitlines()[0]) == (0, f"VERIFIED: {certified}: epsilon at delta = 1e-05")
    assert "trusted: the laws listed are those of the curve" in " ".join(out.split())
    text = certified.read_text(encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert run("verify", "-")[0] == 0
    assert to.verify(Certificate.from_json(text)).checks
    content = json.loads(certified.read_text("utf-8"))
    content["upper"] *= 1 - 1e-6
    content["lower"] *= 1 - 1e-5
    certified.write_text(json.dumps(content), encoding="utf-8")
    code, out, err = run("verify", certified)
    assert (code, out.split("\n")[0]) == (1, f"NOT VERIFIED: {certified}: epsilon at delta = 1e-05")
    assert "is refuted" in err


def test_certify_two_questions_writes_a_list_and_too_many_mechanisms_are_refused(run, write, monkeypatch):
    plan = write('epsilon = [1]\ndelta = [1e-5]\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 2\n')
    target = plan.with_suffix(".json")
    assert "delta at epsilon = 1" in run("certify", plan, "-o", target)[1]
    assert [each.question for each in read_certificates(target)] == ["epsilon", "delta"]
    plan = write(PLAN + '[[mechanism]]\nkind = "laplace"\nscale = 1\n')
    monkeypatch.setattr(terminal, "_MAX_FACTORS", 1)
    assert "at most 1 different mechanisms" in refused(run("certify", plan, "-o", plan.with_name("c.json")))


def test_verify_malformed_and_unreadable_files_are_refused_in_a_sentence(run, tmp_path):
    path, other = tmp_path / "certificate.json", json.dumps({"format": 4, "question": "beta"})
    malformed = {"": "is not a cert", "[]": "is not a cert", "[" * 10_000: "is not a cert", "{}": ""}
    malformed |= {"[1]": "certificate must be a JSON object", other: "format must be 5, got 4"}
    for text, message in malformed.items():
        path.write_text(text, encoding="utf-8")
        error = refused(run("verify", path))
        assert str(path) in error
        assert message in error
    assert "cannot be read: No such file or directory" in refused(run("verify", tmp_path / "missing.json"))
    os.mkfifo(tmp_path / "pipe")
    assert "it is a named pipe" in refused(run("verify", tmp_path / "pipe"))
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(2**26 + 1)
    assert "must have at most" in refused(run("verify", tmp_path / "large.json"))
