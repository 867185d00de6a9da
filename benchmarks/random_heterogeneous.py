"""Random plans of distinct mechanisms of all kinds: widths and CPU times of epsilon(delta).

``python -m benchmarks.random_heterogeneous --plans 200 --seed 1`` prints every plan above the limits, and
quantiles; ``--only 17`` runs plan 17 of the seed alone.
"""

from __future__ import annotations

import argparse
import math
import signal
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import tradeoff as to
from tradeoff import mechanisms as m
from tradeoff.errors import TradeOffError

LIMIT, EACH = 2.0, 0.03  # CPU seconds of a plan, or of each of its factors if that is more
WIDTH = 1e-6  # nats, or a share of epsilon
CUT = 60.0  # CPU seconds after which a plan is given up

# Mechanisms whose privacy loss has a deviation of about s, of a sampling rate q and a small integer k.
Draw = Callable[[float, float, int], m.Mechanism]
DRAWS: dict[str, Draw] = {
    "Gaussian": lambda s, _q, _k: m.Gaussian(noise_multiplier=1 / s),
    "Laplace": lambda s, _q, _k: m.Laplace(scale=1 / s),
    "DiscreteGaussian": lambda s, _q, _k: m.DiscreteGaussian(1 / s),
    "DiscreteGaussianVector": lambda s, _q, k: m.DiscreteGaussianVector(math.sqrt(k) / s, k, k),
    "DiscreteLaplace": lambda s, _q, k: m.DiscreteLaplace(k / s, k),
    "Skellam": lambda s, _q, _k: m.Skellam(max(s, 1e-3) ** -2),
    "PureDP": lambda s, _q, _k: m.PureDP(s),
    "ApproximateDP": lambda s, _q, _k: m.ApproximateDP(s, 1e-30),
    "RandomizedResponse": lambda s, _q, k: m.RandomizedResponse(s, k + 1),
    "ExponentialMechanism": lambda s, _q, _k: m.ExponentialMechanism(s),
    "ReportNoisyMax": lambda s, _q, _k: m.ReportNoisyMax(s),
    "Staircase": lambda s, _q, _k: m.Staircase(s),
    "SubsampledGaussian": lambda s, q, _k: m.SubsampledGaussian(
        max(0.5, math.log1p((s / q) ** 2) ** -0.5), q
    ),
    "SubsampledLaplace": lambda s, q, _k: m.SubsampledLaplace(1 / math.asinh(s / q), q),
    "Subsampled(Exponential)": lambda s, q, _k: m.Subsampled(m.ExponentialMechanism(math.asinh(s / q)), q),
    "Subsampled(Response)": lambda s, q, _k: m.Subsampled(m.RandomizedResponse(math.asinh(s / q)), q),
    "MixtureOfGaussians": lambda s, q, _k: m.MixtureOfGaussians(1 / s, (0.0, 1.0, 2.0), (0.3, 0.7 - q, q)),
}


def draw(seed: int, number: int) -> tuple[Counter[m.Mechanism], float, str]:
    """Return the mechanisms with their counts, delta, and the kinds drawn from."""
    rng = np.random.default_rng([seed, number])
    size = int(np.exp(rng.uniform(math.log(2), math.log(1000))))
    kinds = rng.choice(sorted(DRAWS), int(rng.choice([1, 2, 4, len(DRAWS)])), replace=False).tolist()
    counts = np.exp(rng.uniform(0, rng.choice([0, 3, 8]), size)).astype(int)
    mu = math.exp(rng.uniform(math.log(0.1), math.log(8)))  # about that of the plan
    each = mu / math.sqrt(counts.sum()) * np.exp(rng.choice([0.01, 0.3, 1.0]) * rng.normal(size=size))
    rates, integers = np.exp(rng.uniform(math.log(1e-4), math.log(0.3), size)), rng.integers(1, 9, size)
    plan: Counter[m.Mechanism] = Counter()
    rows = zip(rng.choice(kinds, size), np.clip(each, 1e-4, 8.0), rates, integers, counts, strict=True)
    for kind, s, q, k, n in rows:
        plan[DRAWS[str(kind)](float(s), float(q), int(k))] += int(n)
    return plan, math.exp(rng.uniform(math.log(1e-20), math.log(1e-3))), ", ".join(kinds)


def run(seed: int, number: int) -> tuple[float, float]:
    """Answer one plan; return the relative width and the CPU time, and print it if it is above a limit."""
    plan, delta, kinds = draw(seed, number)
    signal.setitimer(signal.ITIMER_PROF, CUT)
    started = time.process_time()
    try:
        low, high = to.Plan(plan).guarantee().bounds.epsilon(delta)
        width, answer = (high - low) / max(abs(high), 1.0), f"[{low:.9g}, {high:.9g}]"
    except (TradeOffError, TimeoutError) as error:
        width, answer = math.inf, f"{type(error).__name__}: {error}"
    seconds = time.process_time() - started
    signal.setitimer(signal.ITIMER_PROF, 0)
    if width > WIDTH or seconds > max(LIMIT, EACH * len(plan)):
        rounds = f"{len(plan)} factors, {plan.total()} rounds of {kinds}"
        print(f"{number}: {rounds}; delta {delta:.2g}: {answer}, width {width:.1e}, {seconds:.2f} s")
    return width, seconds


def stop(*_: Any) -> None:
    """Give up a plan."""
    raise TimeoutError(f"more than {CUT:g} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    signal.signal(signal.SIGPROF, stop)
    numbers = range(given.plans) if given.only is None else [given.only]
    widths, seconds = zip(*(run(given.seed, number) for number in numbers), strict=True)
    print(f"seed {given.seed}, {len(widths)} plans; quantiles .5, .9, .99, 1")
    for name, values in (("width", widths), ("seconds", seconds)):
        print(name, *(f"{np.sort(values)[int(q * (len(values) - 1))]:.2g}" for q in (0.5, 0.9, 0.99, 1.0)))
