"""Epsilon of DP-SGD over noise and sample rate, on the workers of a Dask cluster.

pip install tradeoff[parallel] "dask[distributed]"
python examples/sweep_dask.py                          # two workers on this machine
python examples/sweep_dask.py tcp://scheduler:8786     # the workers of a cluster
"""

from __future__ import annotations

import sys

import joblib
from dask.distributed import Client, LocalCluster

import tradeoff as to


def epsilon(noise_multiplier: float, sample_rate: float) -> to.Bounds:
    """Both bounds on epsilon at delta = 1e-5 after three epochs."""
    step = to.mechanisms.SubsampledGaussian(noise_multiplier=noise_multiplier, sample_rate=sample_rate)
    return to.Plan({step: round(3 / sample_rate)}).guarantee().bounds.epsilon(1e-5)


def main() -> None:
    """Run the sweep on the given scheduler, or on two local workers."""
    where = (
        sys.argv[1]
        if len(sys.argv) > 1
        else LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    )
    with Client(where) as client, joblib.parallel_config("dask"):
        print(f"workers: {len(client.scheduler_info()['workers'])}")
        table = to.sweep(
            epsilon, {"noise_multiplier": [0.8, 1.0, 1.2], "sample_rate": [0.004, 0.01]}, n_jobs=None
        )
    print(table)


if __name__ == "__main__":  # local workers import this file again
    main()
