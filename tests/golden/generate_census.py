"""Write census.json: exact epsilon and delta of compositions of discrete Gaussians as the 2020 US Census uses
them.

Run ``python -m tests.golden.generate_census`` from the root of the repository (about a minute). mpmath and
integers only.

* ``persons``: the published production budget of the redistricting persons file, 65 queries, two noisy cells
  each (a changed record moves two counts), by the contour integral with M from Jacobi theta sums.
* ``levels``: ten equal queries per level with one discrete Gaussian each, sigma^2 = 10/(2 rho), rho = 3.65
  times the level's share, delta = 1e-11 (arXiv 2410.09296): exact lattice sums. ``zcdp`` is rho + 2 sqrt(rho
  log(1/delta)), ``saved`` is 1 - epsilon/zcdp, and ``variance_reduction`` is 1 - s^2/sigma^2 for the s at
  which the exact epsilon is zcdp.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath as mp

from examples.write_census2020 import variances
from tests.golden import contour_oracle as contour
from tests.golden import sums_oracle as sums

TARGET = Path(__file__).parent / "census.json"
DELTA = "1e-11"
SHARES = {
    "US": "2",
    "State": "27.4",
    "County": "8.5",
    "Tract group": "13.1",
    "Tract subset": "23.8",
    "Block group": "11.8",
    "Block": "0.3",
}


@dataclass
class DiscreteGaussian:
    """E_P e^(zL) of N_Z(0, 1/v) against its shift by 1.

    E^(v (z^2 - z)/2) theta(z)/theta(0), by Poisson summation.
    """

    v: mp.mpf
    bend: float = 0.0

    def atoms(self, c: mp.mpf) -> mp.mpf:
        return mp.mpf(0)  # 65 lattices without a common period short enough to matter

    def theta(self, z: Any) -> Any:
        # |e^(-2 pi^2 k^2/v + 2 pi i k z)| is largest at k = -v Im z/(2 pi)
        centre, reach = -self.v * mp.im(z) / (2 * mp.pi), mp.sqrt(self.v) * 12 / (2 * mp.pi) + 1
        span = range(int(mp.floor(centre - reach)), int(mp.ceil(centre + reach)) + 1)
        return mp.fsum(mp.exp(-2 * mp.pi**2 * k * k / self.v + 2j * mp.pi * k * z) for k in span)

    def __call__(self, z: Any, refine: float) -> Any:
        return mp.exp(self.v * z * (z - 1) / 2) * self.theta(z) / self.theta(mp.mpf(0))


def persons() -> dict[str, Any]:
    factors = [(DiscreteGaussian(mp.mpf(v.denominator) / v.numerator), 2) for v in variances().values()]
    result: dict[str, Any] = {}
    for epsilon in ("16", "17.14"):
        t = mp.mpf(epsilon)
        paths = contour.both_ways(factors, contour.abscissa(factors, float(t), reverse=False), [float(t)])
        value, error = contour.agreed(*(contour.delta(path, t, reverse=False) for path in paths))
        result[f"delta({epsilon})"] = agreed_digits(value, error)
    first, second = contour.both_ways(factors, contour.abscissa(factors, 16.4, reverse=False), [16.4])
    roots = [
        contour.solve(lambda t, p=path: contour.delta(p, t, reverse=False), mp.mpf("1e-10"), 16.0, 17.0)
        for path in (first, second)
    ]
    return {**result, "epsilon(1e-10)": agreed_digits(*contour.agreed(*roots))}


def agreed_digits(value: mp.mpf, error: float) -> str:
    if error > 1e-20:
        raise ValueError(f"two contours agree on {value} only to {error:.1e}")
    return mp.nstr(value, 20)


def exact_epsilon(variance: mp.mpf, n: int, delta: mp.mpf) -> mp.mpf:
    """Epsilon at delta of n discrete Gaussians of one variance: L = (S - n/2)/variance, S on the integers."""
    reach = (
        int(mp.sqrt(variance) * 15) + 3
    )  # e^(-112) of the mass is beyond: 1e-37 of what decides at delta = 1e-11
    weights = [mp.exp(-(mp.mpf(x) ** 2) / (2 * variance)) for x in range(-reach, reach + 1)]
    total = mp.fsum(weights)
    masses = sums.power([w / total for w in weights], n, 220)
    losses = [(mp.mpf(k - n * reach) - mp.mpf(n) / 2) / variance for k in range(len(masses))]
    return contour.solve(sums.Group(losses, masses).delta, delta, 0.0, 30.0)


def secant(function: Callable[[mp.mpf], mp.mpf], a: mp.mpf, b: mp.mpf) -> mp.mpf:
    fa, fb = function(a), function(b)
    while abs(b - a) > mp.mpf("1e-16") * b:
        a, b, fa = b, b - fb * (b - a) / (fb - fa), fb
        fb = function(b)
    return b


def level(share: str) -> dict[str, Any]:
    rho, delta = mp.mpf("3.65") * mp.mpf(share) / 100, mp.mpf(DELTA)
    variance = 10 / (2 * rho)
    epsilon, zcdp = exact_epsilon(variance, 10, delta), rho + 2 * mp.sqrt(-rho * mp.log(delta))
    less = secant(
        lambda v: exact_epsilon(v, 10, delta) - zcdp, variance * mp.mpf("0.8"), variance * mp.mpf("0.85")
    )
    values = {
        "epsilon": epsilon,
        "zcdp": zcdp,
        "saved": 1 - epsilon / zcdp,
        "variance_reduction": 1 - less / variance,
    }
    return {"share": share, **{name: mp.nstr(value, 14) for name, value in values.items()}}


def main() -> None:
    mp.mp.dps = contour.DIGITS
    result: dict[str, Any] = {"persons": persons(), "levels": {}}
    for name, share in SHARES.items():
        result["levels"][name] = level(share)
    TARGET.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
