"""Write closed_forms.json: true values to 30 digits, by the formulas of oracle.py.

Run ``python -m tests.golden.generate`` from the root of the repository (about a minute). Regenerate only to
add cases or to correct the oracle, never because a test fails: the numbers come from mpmath alone, and a
changed digit in the diff of an old case must be explained by a mistake found in oracle.py.

Each row is one question to one curve: ``curve`` names it with its parameters, ``question`` is delta, beta or
epsilon, ``at`` is the argument, ``value`` the truth as a decimal string. Floats mean their exact binary
value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mpmath as mp

from tests.golden import oracle

TARGET = Path(__file__).parent / "closed_forms.json"

Row = dict[str, Any]

MUS = (1e-3, 0.1, 1.0, 10.0)
ALPHAS = (1e-300, 1e-100, 1e-30, 1e-10, 1e-3, 0.1, 0.5, 0.9, 0.999, 1 - 1e-10)
EPSILONS = (-20.0, -3.0, -0.5, -1e-3, 0.0, 1e-3, 0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 20.0, 40.0, 60.0)
DELTAS = (1e-100, 1e-50, 1e-20, 1e-10, 1e-5, 1e-2, 0.3, 0.9)


def row(curve: list[Any], question: str, at: float, value: mp.mpf) -> Row:
    return {"curve": curve, "question": question, "at": at, "value": mp.nstr(value, 30, strip_zeros=False)}


def gaussian() -> Iterator[Row]:
    for mu in MUS:
        for epsilon in EPSILONS:
            yield row(["Gaussian", mu], "delta", epsilon, oracle.gaussian_delta(epsilon, mu))
        for alpha in ALPHAS:
            yield row(["Gaussian", mu], "beta", alpha, oracle.gaussian_beta(alpha, mu))
        for delta in DELTAS:
            span = mp.mpf(40) * mu + mp.mpf(mu) ** 2 + 10
            value = oracle.root(lambda e, m=mu: oracle.gaussian_delta(e, m), mp.mpf(delta), -span, span)
            yield row(["Gaussian", mu], "epsilon", delta, value)


def laplace() -> Iterator[Row]:
    for e0 in (1e-3, 0.1, 1.0, 5.0, 30.0):
        for share in (-1.5, -1.0, -0.7, 0.0, 0.3, 0.999, 1.0, 1.2):
            yield row(["Laplace", e0], "delta", share * e0, oracle.laplace_delta(share * e0, e0))
        for alpha in (1e-300, 1e-20, 1e-3, 0.1, 0.3, 0.5, 0.7, 0.999):
            yield row(["Laplace", e0], "beta", alpha, oracle.laplace_beta(alpha, e0))
    for e0, n in ((0.1, 100), (1.0, 2), (0.5, 10), (2.0, 5)):
        for share in (0.0, 0.05, 0.2, 0.5, 0.9):
            epsilon = share * e0 * n
            yield row(["LaplacePower", e0, n], "delta", epsilon, oracle.laplace_power_delta(epsilon, e0, n))


def pure_dp() -> Iterator[Row]:
    for e0, n in ((1e-3, 1), (1.0, 1), (30.0, 1), (0.1, 2), (1.0, 7), (0.5, 40), (0.1, 1000), (3.0, 50)):
        atoms = oracle.pure_dp_power(e0, n)
        for share in (-0.5, -0.01, 0.0, 0.01, 0.1, 0.37, 0.8, 0.999):
            yield row(
                ["PureDPPower", e0, n], "delta", share * e0 * n, oracle.delta_of_atoms(atoms, share * e0 * n)
            )
        for alpha in (1e-100, 1e-10, 1e-3, 0.2, 0.5, 0.9, 0.9999):
            yield row(["PureDPPower", e0, n], "beta", alpha, oracle.beta_of_atoms(atoms, alpha))


def approximate_dp() -> Iterator[Row]:
    for e0, d in ((1.0, 1e-5), (0.1, 0.2), (5.0, 1e-12)):
        with mp.workdps(60):
            for alpha in (1e-12, 1e-3, 0.1, 0.5, 0.7, 0.95):
                a, e, left = mp.mpf(alpha), mp.mpf(e0), 1 - mp.mpf(d)
                value = max(mp.mpf(0), left - mp.exp(e) * a, mp.exp(-e) * (left - a))
                yield row(["approximate_dp", e0, d], "beta", alpha, value)
            for epsilon in (-2.0, -0.05, 0.0, 0.05, 0.9, 6.0):
                atoms = oracle.pure_dp_power(e0, 1)
                value = mp.mpf(d) + (1 - mp.mpf(d)) * oracle.delta_of_atoms(atoms, epsilon)
                yield row(["approximate_dp", e0, d], "delta", epsilon, value)


def discrete_gaussian() -> Iterator[Row]:
    for sigma, shift, n in ((2.0, 1, 1), (0.7, 1, 1), (5.0, 3, 1), (0.5, 1, 2)):
        one = oracle.discrete_gaussian(sigma, shift)
        atoms = oracle.product_of_atoms([one] * n)
        for epsilon in (-1.0, 0.0, 0.123, 1.0, 3.0, 8.0):
            yield row(
                ["DiscreteGaussianPower", sigma, shift, n],
                "delta",
                epsilon,
                oracle.delta_of_atoms(atoms, epsilon),
            )
        for alpha in (1e-12, 1e-3, 0.2, 0.8):
            yield row(
                ["DiscreteGaussianPower", sigma, shift, n], "beta", alpha, oracle.beta_of_atoms(atoms, alpha)
            )


def subsampled_gaussian() -> Iterator[Row]:
    for mu, p in ((1.0, 0.01), (2.0, 1e-6), (0.2, 0.5), (1 / 0.3, 1e-3), (0.01, 0.1)):
        for order in ("remove", "add"):
            for share in (-2.0, -0.9, -0.3, 0.0, 0.3, 0.9, 2.0, 20.0):
                epsilon = share * p * mu
                value = oracle.subsampled_gaussian_delta(epsilon, mu, p, order=order)
                yield row(["SubsampledGaussian", mu, p, order], "delta", epsilon, value)
    for epsilon in (0.5, 2.0, 6.0, 20.0):
        yield row(
            ["SubsampledGaussian", 1.0, 0.01, "remove"],
            "delta",
            epsilon,
            oracle.subsampled_gaussian_delta(epsilon, 1.0, 0.01, order="remove"),
        )


def main() -> None:
    mp.mp.dps = 60
    rows = [
        *gaussian(),
        *laplace(),
        *pure_dp(),
        *approximate_dp(),
        *discrete_gaussian(),
        *subsampled_gaussian(),
    ]
    lines = ",\n".join(" " + json.dumps(r) for r in rows)
    TARGET.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
