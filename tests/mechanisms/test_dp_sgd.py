"""A training run in one call."""

from fractions import Fraction

import tradeoff as to


def test_dp_sgd_sizes_and_epochs_give_rate_and_steps():
    plan = to.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60)
    [(step, steps)] = plan.mechanisms.items()
    assert (step.noise_multiplier, steps) == (1.1, 14_063)  # 14062.5 rounded up
    exact = Fraction(256, 60_000)
    assert exact <= Fraction(step.sample_rate) < exact * (1 + Fraction(1, 2**52))


def test_dp_sgd_rate_and_steps_give_the_same_plan():
    plan = to.dp_sgd(2, sample_rate=0.01, steps=1000)
    assert plan == to.Plan({to.mechanisms.SubsampledGaussian(noise_multiplier=2, sample_rate=0.01): 1000})
    assert to.dp_sgd(2, sample_rate=0.25, epochs=3) == to.dp_sgd(2, sample_rate=0.25, steps=12)
