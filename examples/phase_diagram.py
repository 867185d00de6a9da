"""Phase diagram of DP-SGD: epsilon over noise, sample rate and steps, a heat map for a few numbers of steps.

pip install tradeoff[parallel,plot]
python examples/phase_diagram.py                            # 48 plans, seconds
python examples/phase_diagram.py 25 20 20 --jobs -1         # 10,000 plans on every core
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from matplotlib.figure import Figure

import tradeoff as to
from tradeoff.sweeps import Table


def epsilon(noise_multiplier: float, sample_rate: float, steps: int) -> to.Bounds:
    """Both bounds on epsilon at delta = 1e-5, whichever of two neighbouring data sets has one record more."""
    step = to.subsample(to.Gaussian(1 / noise_multiplier), sample_rate)
    return (step**steps).symmetrise(assume="either-order").bounds.epsilon(1e-5)


def at(table: Table, steps: int) -> Table:
    """Return the rows of one number of steps."""
    columns = ("noise_multiplier", "sample_rate", "upper")
    return Table(columns, tuple(tuple(row[c] for c in columns) for row in table if row["steps"] == steps))


def main() -> None:
    """Sweep, print the seconds of a plan, and draw the first, the middle and the last number of steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[4, 4, 3], help="noises, rates, steps")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", default="phase-diagram")
    given = parser.parse_args()
    noises, rates, counts = given.sizes
    grid = {
        "noise_multiplier": np.geomspace(0.6, 4, noises).round(4).tolist(),
        "sample_rate": np.geomspace(1e-3, 3e-2, rates).round(6).tolist(),
        "steps": np.geomspace(100, 10_000, counts).astype(int).tolist(),
    }
    start = time.perf_counter()
    table = to.sweep(epsilon, grid, n_jobs=given.jobs)
    print(f"{len(table)} plans in {time.perf_counter() - start:.1f} s")
    print(f"widest bounds: {max(b - a for a, b in zip(table['lower'], table['upper'], strict=True)):.1e}")
    table.to_csv(f"{given.out}.csv")
    few = sorted({grid["steps"][k] for k in (0, counts // 2, -1)})
    figure = Figure(figsize=(5 * len(few), 4), layout="constrained")
    for axes, steps in zip(figure.subplots(1, len(few), squeeze=False)[0], few, strict=True):
        to.plot(at(table, steps), ax=axes, label="ε at δ = 1e-5").set_title(f"{steps} steps")
    figure.savefig(f"{given.out}.svg")


if __name__ == "__main__":  # workers import this file again
    main()
