"""A training run by its flags, a first plan file, the list of mechanisms."""

import json

import pytest

import tradeoff as to
from tradeoff.mechanisms import KINDS


def test_dp_sgd_prints_the_bounds_of_the_plan(run):
    flags = "--batch-size", 256, "--dataset-size", 60_000, "--epochs", 60, "--delta", 1e-5, "--json"
    code, out, _ = run("dp-sgd", "--noise-multiplier", 1.1, *flags)
    f = to.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60).guarantee()
    low, high = f.bounds.epsilon(1e-5)
    assert code == 0
    assert json.loads(out)["epsilon"] == [{"delta": 1e-5, "lower": low, "upper": high}]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ("--batch-size", 8, "--epochs", 1),
            "--batch-size and --dataset-size, or --sample-rate, got --batch-size",
        ),
        (("--sample-rate", 0.1), "either --epochs or --steps, got neither"),
        (("--sample-rate", 2, "--steps", 1), "--sample-rate must be in (0, 1], got 2.0"),
        (("--sample-rate", "x", "--steps", 1), "--sample-rate must be a number, got 'x'"),
        (("--sample-rate", "1%", "--steps", 1), "--sample-rate must be a number, got '1%'; write 0.01"),
        (("--sample-rate", 0.1, "--steps", "10.5"), "--steps must be an integer, got '10.5'"),
        (("--sample-rate", 0.1, "--steps", "1e99999"), "--steps must be an integer, got '1e99999'"),
        (("--q", 0.1, "--steps", 10), "unknown flag --q; did you mean --sample-rate?"),
        (("--sample-rate", 0.1, "--rounds", 10), "unknown flag --rounds; did you mean --steps?"),
        (("--sample-rate", 0.1, "--steps", 10, "--delta", 2), "--delta must be in [0, 1], got 2.0"),
    ],
)
def test_dp_sgd_bad_flags_are_refused(run, flags, message):
    code, _, err = run("dp-sgd", "--noise-multiplier", 1, *flags)
    assert code == 2
    assert message in err


def test_dp_sgd_unknown_flag_is_named_before_a_missing_one(run):
    code, _, err = run("dp-sgd", "--sigma", 1, "--sample-rate", 0.1, "--steps", 10)
    assert code == 2
    assert "unknown flag --sigma; did you mean --noise-multiplier?" in err


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
