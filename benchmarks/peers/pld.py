"""Composition with dp-accounting's privacy loss distributions, for it and for the libraries built on it."""

from __future__ import annotations

import functools
import math
from typing import Any

from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters


def one(factor: dict[str, Any], interval: float) -> pld.PrivacyLossDistribution:
    """Return a factor with its count; Gaussians are composed in closed form, as its accountant does."""
    count, kind = factor["count"], factor["mechanism"]
    step = {"value_discretization_interval": interval}
    if kind == "gaussian":
        return pld.from_gaussian_mechanism(factor["sigma"] / math.sqrt(count), **step)
    if kind == "poisson_subsampled_gaussian":
        made = pld.from_gaussian_mechanism(factor["sigma"], sampling_prob=factor["sample_rate"], **step)
    elif kind == "laplace":
        made = pld.from_laplace_mechanism(1 / factor["epsilon"], **step)
    elif kind == "discrete_gaussian":
        made = pld.from_discrete_gaussian_mechanism(factor["sigma"], factor["sensitivity"], **step)
    else:
        made = pld.from_privacy_parameters(DifferentialPrivacyParameters(factor["epsilon"], 0), **step)
    return made.self_compose(count) if count > 1 else made


def composed(factors: list[dict[str, Any]], interval: float = 1e-4) -> pld.PrivacyLossDistribution:
    """Return the pessimistic distribution of a composition; 1e-4 is the default interval."""
    return functools.reduce(
        lambda first, second: first.compose(second), (one(factor, interval) for factor in factors)
    )
