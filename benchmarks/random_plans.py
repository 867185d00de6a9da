"""Widths and seconds of epsilon for plans drawn at random.

    python benchmarks/random_plans.py [--seed 1] [--number 300] [--kind dp-sgd] [--limit 1] [--list 20]

A list of chosen plans is soon answered well, and similar plans are not; so plans are drawn, and the seed
is printed. A row misses if its bounds are farther apart than 1e-8 and than 1e-6 of epsilon, or if it takes
longer than the limit in seconds of CPU time. Every plan is a new one: nothing is cached between two rows.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import tradeoff as to

ABSOLUTE, RELATIVE = 1e-8, 1e-6
"""Widths of epsilon aimed at: the larger of both."""


class Drawn(NamedTuple):
    """A plan, the delta at which epsilon is computed, and a description that makes it again."""

    plan: to.Plan
    delta: float
    description: str


class Row(NamedTuple):
    """Bounds on epsilon of a drawn plan, and the seconds of CPU time that they took."""

    drawn: Drawn
    lower: float
    upper: float
    seconds: float

    @property
    def excess(self) -> float:
        """Width over the width aimed at."""
        return (self.upper - self.lower) / max(ABSOLUTE, RELATIVE * self.upper)


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform, rounded to three digits as people write it."""
    return float(f"{np.exp(rng.uniform(np.log(low), np.log(high))):.3g}")


def draw_dp_sgd(rng: np.random.Generator) -> Drawn:
    """Draw a run of DP-SGD: one sampled Gaussian, of one rate and noise for all steps."""
    rate, sigma = log_uniform(rng, 1e-5, 0.5), log_uniform(rng, 0.4, 20)
    steps, delta = int(log_uniform(rng, 1, 1e6)), log_uniform(rng, 1e-12, 1e-3)
    plan = to.Plan({to.mechanisms.SubsampledGaussian(sigma, rate): steps})
    return Drawn(plan, delta, f"SubsampledGaussian({sigma}, {rate}) x {steps} at {delta}")


KINDS: dict[str, Callable[[np.random.Generator], Drawn]] = {"dp-sgd": draw_dp_sgd}


def measure(drawn: Drawn) -> Row:
    """Bound epsilon of a plan's guarantee."""
    start = time.process_time()
    lower, upper = drawn.plan.guarantee().bounds.epsilon(drawn.delta)
    return Row(drawn, lower, upper, time.process_time() - start)


def report(kind: str, rows: list[Row], limit: float, most: int) -> None:
    """Print shares, quantiles and the rows that miss, the worst first."""
    excess, seconds = (np.array([getattr(row, name) for row in rows]) for name in ("excess", "seconds"))
    widest = max(rows, key=lambda row: row.upper - row.lower)
    print(f"{kind}: {len(rows)} plans")
    print(f"  within {ABSOLUTE:g} or {RELATIVE:g} of epsilon: {100 * np.mean(excess <= 1):.2f} %")
    print(f"  widest: {widest.upper - widest.lower:.1e} ({widest.drawn.description})")
    quantiles = ", ".join(f"{name} {np.quantile(seconds, q):.3f}" for name, q in QUANTILES.items())
    print(f"  seconds of CPU: {quantiles}; above {limit:g}: {np.sum(seconds > limit)}")
    misses = sorted(
        (row for row in rows if row.excess > 1 or row.seconds > limit), key=lambda row: -row.excess
    )
    for row in misses[:most]:
        print(f"  [{row.lower:.10g}, {row.upper:.10g}] {row.seconds:6.2f} s  {row.drawn.description}")


QUANTILES = {"median": 0.5, "90 %": 0.9, "99 %": 0.99, "most": 1.0}


def main() -> None:
    """Draw, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=300, help="plans of each kind")
    parser.add_argument("--kind", choices=[*KINDS], action="append", help="every kind unless given")
    parser.add_argument("--limit", type=float, default=1.0, help="seconds of CPU time a row may take")
    parser.add_argument("--list", type=int, default=20, help="rows that miss printed for each kind")
    options = parser.parse_args()
    print(f"seed {options.seed}, tradeoff {to.__version__}, Python {sys.version.split()[0]}")
    to.Gaussian(1.0).bounds.epsilon(1e-5)
    for kind in options.kind or KINDS:
        rng = np.random.default_rng([options.seed, *kind.encode()])  # each kind draws its own
        measure(KINDS[kind](rng))  # the first question loads the engines
        report(kind, [measure(KINDS[kind](rng)) for _ in range(options.number)], options.limit, options.list)


if __name__ == "__main__":
    main()
