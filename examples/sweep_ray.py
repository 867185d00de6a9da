"""Epsilon of DP-SGD over noise, steps and delta, on the workers of a Ray cluster, and as a file.

pip install tradeoff[parallel] ray
python examples/sweep_ray.py                           # two workers on this machine
RAY_ADDRESS=ray://head:10001 python examples/sweep_ray.py sweep.csv
"""

from __future__ import annotations

import os
import sys

import joblib
import ray
from ray.util.joblib import register_ray

import tradeoff as to


def epsilon(noise_multiplier: float, steps: int, delta: float) -> to.Bounds:
    """Both bounds on epsilon at sample rate 0.01: all deltas of one training share its lines."""
    step = to.mechanisms.SubsampledGaussian(noise_multiplier=noise_multiplier, sample_rate=0.01)
    return to.Plan({step: steps}).guarantee().bounds.epsilon(delta)


def main() -> None:
    """Run the sweep on the cluster that RAY_ADDRESS names, or on two local workers."""
    ray.init(**({} if "RAY_ADDRESS" in os.environ else {"num_cpus": 2, "include_dashboard": False}))
    register_ray()
    grid = {"noise_multiplier": [0.8, 1.0], "steps": [100, 300], "delta": [1e-6, 1e-5, 1e-4]}
    with joblib.parallel_config("ray"):
        table = to.sweep(epsilon, grid, n_jobs=-1)
    print(table)
    if len(sys.argv) > 1:
        table.to_csv(sys.argv[1])


if __name__ == "__main__":
    main()
