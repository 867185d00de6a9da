"""DP-SGD as one call: the plan of a training run with Poisson batches."""

from __future__ import annotations

import math
from fractions import Fraction

from tradeoff.curves.parameters import count, number
from tradeoff.errors import DomainError
from tradeoff.mechanisms.base import ratio, suggest_names
from tradeoff.mechanisms.plan import Plan
from tradeoff.mechanisms.subsampled import SubsampledGaussian


@suggest_names
def dp_sgd(
    noise_multiplier: float,
    *,
    batch_size: int | None = None,
    dataset_size: int | None = None,
    epochs: float | None = None,
    sample_rate: float | None = None,
    steps: int | None = None,
) -> Plan:
    """Return the plan of a DP-SGD training run with Poisson batches, for add/remove neighbours.

    Parameters
    ----------
    noise_multiplier
        Standard deviation of the noise divided by the clipping norm.
    batch_size, dataset_size
        Expected number of records in a batch, and number of records. The sampling rate is their quotient,
        rounded up to a float.
    sample_rate
        Probability with which each record is in a batch, instead of both sizes.
    epochs
        Number of passes: epochs / sampling rate steps, rounded up.
    steps
        Number of steps, instead of ``epochs``.

    Returns
    -------
    Plan
        ``.guarantee()`` is the curve of the whole training, valid for both orders of the neighbours.

    Raises
    ------
    DomainError
        If a number is out of range, or not exactly one way to give the rate, and one for the steps, is used.

    Examples
    --------
    >>> import tradeoff as to
    >>> plan = to.dp_sgd(noise_multiplier=1.1, batch_size=256, dataset_size=60_000, epochs=60)
    >>> round(plan.guarantee().epsilon(1e-5), 3)
    2.382
    >>> plan == to.dp_sgd(1.1, sample_rate=256 / 60_000, steps=14_063)
    True
    """
    sizes = batch_size is not None and dataset_size is not None
    if (sample_rate is None) is not sizes or (batch_size is None) is not (dataset_size is None):
        raise DomainError("give either batch_size and dataset_size, or sample_rate")
    if (epochs is None) is (steps is None):
        raise DomainError("give either epochs or steps")
    if batch_size is not None and dataset_size is not None:
        records = count("dataset_size", dataset_size, 1)
        exact = Fraction(count("batch_size", batch_size, 1, records), records)
        rate = ratio(exact.numerator, exact.denominator)
    else:
        rate = number("sample_rate", sample_rate, 0, 1, open_low=True)
        exact = Fraction(rate)
    if epochs is not None:
        steps = math.ceil(Fraction(number("epochs", epochs, 0, open_low=True, open_high=True)) / exact)
    step = SubsampledGaussian(noise_multiplier=noise_multiplier, sample_rate=rate)
    return Plan({step: count("steps", steps)})
