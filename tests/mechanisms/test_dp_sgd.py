"""A training run in one call."""

from __future__ import annotations

from fractions import Fraction

import pytest

import tradeoff as to
from tradeoff.errors import DomainError


def test_dp_sgd_sizes_and_epochs_give_rate_and_steps() -> None:
    plan = to.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60)
    [(step, steps)] = plan.mechanisms.items()
    assert (step.noise_multiplier, steps) == (1.1, 14_063)  # 14062.5 rounded up
    exact = Fraction(256, 60_000)
    assert exact <= Fraction(step.sample_rate) < exact * (1 + Fraction(1, 2**52))


def test_dp_sgd_rate_and_steps_give_the_same_plan() -> None:
    plan = to.dp_sgd(2, sample_rate=0.01, steps=1000)
    assert plan == to.Plan({to.mechanisms.SubsampledGaussian(noise_multiplier=2, sample_rate=0.01): 1000})
    assert to.dp_sgd(2, sample_rate=0.25, epochs=3) == to.dp_sgd(2, sample_rate=0.25, steps=12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epochs": 1}, "either batch_size and dataset_size, or sample_rate, got"),
        ({"batch_size": 8, "epochs": 1}, "either batch_size and dataset_size, or sample_rate, got"),
        ({"batch_size": 8, "dataset_size": 80, "sample_rate": 0.1, "epochs": 1}, "either batch_size"),
        ({"batch_size": 8, "sample_rate": 0.1, "epochs": 1}, "either batch_size"),
        ({"sample_rate": 0.1}, "either epochs or steps, got"),
        ({"sample_rate": 0.1, "epochs": 1, "steps": 10}, "either epochs or steps, got"),
        ({"batch_size": 90, "dataset_size": 80, "epochs": 1}, "batch_size must be an integer from 1 to 80"),
        ({"sample_rate": 1.5, "steps": 10}, r"sample_rate must be in \(0, 1\], got 1.5"),
        ({"sample_rate": 0.1, "epochs": 0}, "epochs must be in"),
    ],
)
def test_dp_sgd_bad_arguments_raise_domain_error(given: dict[str, float], message: str) -> None:
    with pytest.raises(DomainError, match=message):
        to.dp_sgd(1.1, **given)  # type: ignore[arg-type]  # wrong on purpose
