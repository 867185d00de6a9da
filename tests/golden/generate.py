"""Write closed_forms.json: true values to 30 digits, by the formulas of oracle.py.

Run ``python -m tests.golden.generate`` from the root (about a minute): each row asks one question, delta,
beta or epsilon at ``at``, of one ``curve`` with its parameters, and ``value``, the truth as a
decimal string, is computed anew. Regenerate only to add cases or to correct the oracle, never because a test
fails: the numbers come from mpmath alone, and a changed digit in the diff of an old case must be explained by
a mistake found in oracle.py. Floats mean their exact binary value.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import mpmath as mp

from tests.golden import oracle

TARGET = Path(__file__).parent / "closed_forms.json"


def gaussian(question: str, at: float, mu: float) -> mp.mpf:
    if question == "epsilon":
        span = mp.mpf(40) * mu + mp.mpf(mu) ** 2 + 10
        return oracle.root(lambda e: oracle.gaussian_delta(e, mu), mp.mpf(at), -span, span)
    return oracle.gaussian_beta(at, mu) if question == "beta" else oracle.gaussian_delta(at, mu)


def laplace(question: str, at: float, e0: float) -> mp.mpf:
    return oracle.laplace_beta(at, e0) if question == "beta" else oracle.laplace_delta(at, e0)


def approximate_dp(question: str, at: float, e0: float, d: float) -> mp.mpf:
    a, e, left = mp.mpf(at), mp.mpf(e0), 1 - mp.mpf(d)
    if question == "beta":
        return max(mp.mpf(0), left - mp.exp(e) * a, mp.exp(-e) * (left - a))
    return 1 - left + left * oracle.delta_of_atoms(oracle.pure_dp_power(e0, 1), at)


def of_atoms(atoms: oracle.Atoms, question: str, at: float) -> mp.mpf:
    return oracle.beta_of_atoms(atoms, at) if question == "beta" else oracle.delta_of_atoms(atoms, at)


@functools.cache
def discrete_gaussians(sigma: float, shift: int, n: int) -> oracle.Atoms:
    return oracle.product_of_atoms([oracle.discrete_gaussian(sigma, shift)] * n)


TRUTH = {
    "Gaussian": gaussian,
    "Laplace": laplace,
    "LaplacePower": lambda _, at, e0, n: oracle.laplace_power_delta(at, e0, n),
    "PureDPPower": lambda question, at, e0, n: of_atoms(oracle.pure_dp_power(e0, n), question, at),
    "approximate_dp": approximate_dp,
    "DiscreteGaussianPower": lambda question, at, *curve: of_atoms(discrete_gaussians(*curve), question, at),
    "SubsampledGaussian": lambda _, at, mu, p, order: oracle.subsampled_gaussian_delta(
        at, mu, p, order=order
    ),
}


def main() -> None:
    mp.mp.dps = 60
    rows: list[dict[str, Any]] = json.loads(TARGET.read_text(encoding="utf-8"))
    for row in rows:
        name, *parameters = row["curve"]
        value = TRUTH[name](row["question"], row["at"], *parameters)
        row["value"] = mp.nstr(value, 30, strip_zeros=False)
    lines = ",\n".join(" " + json.dumps(row) for row in rows)
    TARGET.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
