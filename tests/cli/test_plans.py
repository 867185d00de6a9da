"""A training run by its flags, a first plan file, the list of mechanisms."""

import json

import tradeoff as to
from tradeoff.mechanisms import KINDS


def test_dp_sgd_prints_the_bounds_of_the_plan(run):
    flags = "--batch-size", 256, "--dataset-size", 60_000, "--epochs", 60, "--delta", 1e-5, "--json"
    code, out, _ = run("dp-sgd", "--noise-multiplier", 1.1, *flags)
    f = to.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60).guarantee()
    low, high = f.bounds.epsilon(1e-5)
    assert code == 0
    assert json.loads(out)["epsilon"] == [{"delta": 1e-5, "lower": low, "upper": high}]


def test_dp_sgd_steps_may_have_an_exponent(run):
    flags = "dp-sgd", "--noise-multiplier", 1, "--sample-rate", 0.1, "--csv", "--steps"
    assert run(*flags, "1e3") == run(*flags, 1000)


def test_init_writes_a_plan_that_compose_reads(run, tmp_path):
    path = tmp_path / "new.toml"
    assert run("init", path)[0] == 0
    code, out, _ = run("compose", path)
    assert code == 0
    assert "epsilon at delta = 1e-05" in out
    code, _, err = run("init", path)
    assert code == 2
    assert "PLAN must be a new file" in err


def test_kinds_lists_every_mechanism_with_its_keys(run):
    code, out, _ = run("kinds")
    assert code == 0
    assert all(kind in out for kind in KINDS)
    assert "noise_multiplier, sample_rate, scheme = 'poisson'" in out
