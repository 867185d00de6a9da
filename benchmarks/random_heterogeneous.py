"""Random plans of distinct mechanisms of all kinds: widths and CPU times of epsilon(delta).

``python -m benchmarks.random_heterogeneous --plans 200 --seed 1`` prints every plan above the limits, and quantiles.
``--only 17`` runs plan 17 of the seed alone.
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
from numpy.random import Generator

import tradeoff as to
from tradeoff import mechanisms as m

LIMIT = 2.0  # CPU seconds
WIDTH = 1e-6  # nats, or a share of epsilon

# Kinds by name: a mechanism whose privacy loss has a deviation of about s.
DRAWS: dict[str, Callable[[Generator, float], m.Mechanism]] = {
    "Gaussian": lambda rng, s: m.Gaussian(1 / s),
    "Laplace": lambda rng, s: m.Laplace(1 / s),
    "DiscreteGaussian": lambda rng, s: m.DiscreteGaussian(1 / s),
    "DiscreteGaussianVector": lambda rng, s: m.DiscreteGaussianVector(math.sqrt(k := int(rng.integers(1, 9))) / s, k, k),
    "DiscreteLaplace": lambda rng, s: m.DiscreteLaplace((k := int(rng.integers(1, 6))) / s, k),
    "Skellam": lambda rng, s: m.Skellam(1 / s**2),
    "PureDP": lambda rng, s: m.PureDP(s),
    "ApproximateDP": lambda rng, s: m.ApproximateDP(s, 1e-30),
    "RandomizedResponse": lambda rng, s: m.RandomizedResponse(s, int(rng.integers(2, 9))),
    "ExponentialMechanism": lambda rng, s: m.ExponentialMechanism(s),
    "ReportNoisyMax": lambda rng, s: m.ReportNoisyMax(s),
    "Staircase": lambda rng, s: m.Staircase(s),
}


def rate(rng: Generator) -> float:
    """Draw a sampling rate."""
    return float(np.exp(rng.uniform(math.log(1e-4), math.log(0.3))))


def sampled(rng: Generator, s: float) -> m.Mechanism:
    """Draw a sampled Gaussian of deviation about s = q sqrt(e^(1/sigma^2) - 1), if sigma is at least 0.5."""
    q = rate(rng)
    return m.SubsampledGaussian(max(0.5, 1 / math.sqrt(math.log1p((s / q) ** 2))), q)


DRAWS |= {
    "SubsampledGaussian": sampled,
    "SubsampledLaplace": lambda rng, s: m.SubsampledLaplace(1 / math.asinh(s / (q := rate(rng))), q),
    "Subsampled exponential": lambda rng, s: m.Subsampled(m.ExponentialMechanism(math.asinh(s / (q := rate(rng)))), q),
    "Subsampled response": lambda rng, s: m.Subsampled(m.RandomizedResponse(math.asinh(s / (q := rate(rng)))), q),
    "MixtureOfGaussians": lambda rng, s: m.MixtureOfGaussians(2 / s, (0.0, 1.0, 2.0), tuple((w := rng.dirichlet([9, 3, 1])) / w.sum())),
}


def draw(seed: int, number: int) -> tuple[Counter[m.Mechanism], float, str]:
    """Return the mechanisms with their counts, delta, and the kinds drawn from."""
    rng = np.random.default_rng([seed, number])
    size = int(np.exp(rng.uniform(math.log(2), math.log(1000))))
    kinds = rng.choice(sorted(DRAWS), int(rng.choice([1, 2, 4, len(DRAWS)])), replace=False).tolist()
    counts = np.exp(rng.uniform(0, rng.choice([0, 3, 8]), size)).astype(int)
    whole = math.exp(rng.uniform(math.log(0.1), math.log(8)))  # about the mu of the plan
    spread = rng.choice([0.01, 0.3, 1.0])
    each = whole / math.sqrt(counts.sum()) * np.exp(spread * rng.normal(size=size))
    plan: Counter[m.Mechanism] = Counter()
    for s, n in zip(each.tolist(), counts.tolist(), strict=True):
        plan[DRAWS[str(rng.choice(kinds))](rng, float(np.clip(s, 1e-4, 8)))] += n
    return plan, math.exp(rng.uniform(math.log(1e-20), math.log(1e-3))), ", ".join(kinds)


def run(seed: int, number: int) -> tuple[float, float]:
    """Answer one plan; return the relative width and the CPU time, and print it if it is above a limit."""
    plan, delta, kinds = draw(seed, number)
    started = time.process_time()
    try:
        low, high = to.Plan(plan).guarantee().bounds.epsilon(delta)
        width, answer = (high - low) / max(abs(high), 1.0), f"[{low:.9g}, {high:.9g}]"
    except (Exception, TimeoutError) as error:
        width, answer = math.inf, f"{type(error).__name__}: {error}"
    seconds = time.process_time() - started
    if width > WIDTH or seconds > LIMIT:
        print(f"{number}: {len(plan)} factors, {plan.total()} rounds of {kinds}; delta {delta:.2g}: {answer}, width {width:.1e}, {seconds:.2f} s", flush=True)
    return width, seconds


def stop(*_: Any) -> None:
    """End a plan that takes too long."""
    raise TimeoutError("more than a minute")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    signal.signal(signal.SIGALRM, stop)
    found = []
    for k in range(given.plans) if given.only is None else [given.only]:
        signal.alarm(60)
        found.append(run(given.seed, k))
    signal.alarm(0)
    widths, seconds = np.array(found).T
    print(f"seed {given.seed}, {len(found)} plans: {np.mean(widths > WIDTH):.2%} wider than {WIDTH:g}, "
          f"{np.mean(seconds > LIMIT):.2%} above {LIMIT:g} s; quantiles .5, .9, .99, 1")
    for name, values in (("width", widths), ("seconds", seconds)):
        print(name, *(f"{np.quantile(values, q):.2g}" for q in (0.5, 0.9, 0.99, 1.0)))
