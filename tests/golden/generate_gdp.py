"""Write gdp.json: the least mu with f >= G_mu (x) f_{0,d}, where it is decided, and the regret of reporting
it.

Run ``python -m tests.golden.generate_gdp [case ...]`` from the root of the repository; without names every
case is computed (about ten minutes). Regenerate only to add cases or to correct an oracle, never because a
test fails: the numbers come from mpmath alone, and a changed digit in the diff of an old case must be
explained by a mistake found in an oracle.

gdp_oracle.py says how suprema are found: all vertices of lattice laws; else a dense grid of thresholds, every
local maximum on it polished, then evaluated a second time with other contours or more digits. Factors are
those of deep_cases.py (floats mean their exact binary value). A row holds failure, mu, alpha and beta =
f(alpha) where mu is decided, and the regret of G_mu (x) f_{0,failure}. ``limit`` stands for failure = 0 of
thinned Gaussians: G_mu, mu^2 = sum n/s^2, is below them all, and as alpha tends to 0 it is needed, for 1 - f
>= prod p^n (1 - G_mu).
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import mpmath as mp

from tests.golden import contour_oracle as contour
from tests.golden import gdp_oracle as gdp
from tests.golden import sums_oracle as sums
from tests.golden.deep_cases import (
    Case,
    approximate,
    gaussian,
    integer_gaussian,
    laplace,
    pure,
    sgm,
    thinned_pure,
)
from tests.golden.generate_deep import group, moment, note, survival

TARGET = Path(__file__).parent / "gdp.json"
FAILURES = (1e-10, 1e-6, 1e-3)
ONE_SIDED = {"kind": "one_sided", "alpha": "1/10", "beta": "17/20", "lost": "1/100000", "count": 20}
"""Three outcomes: P = (1/10, 9/10 - lost, lost), Q = (3/20, 17/20, 0)."""

CASES: dict[str, tuple[str, list[Case], tuple[float, ...]]] = {
    "G1": ("one Gaussian", [gaussian(1.0)], FAILURES),
    "L100": ("laplace", [laplace(0.1, 100)], (0.0, *FAILURES)),
    "RR1000": ("lattice", [pure(0.1, 1000)], (0.0, *FAILURES)),
    "DG20": ("lattice", [integer_gaussian(2.0, 1, 20)], (0.0, *FAILURES)),
    "SG1": ("contour", [sgm(0.01, 1.0, 1000)], (0.0, *FAILURES)),
    "SG3": ("contour", [sgm(0.001, 0.8, 10**6)], (0.0, *FAILURES)),
    "SG5": ("contour", [sgm(1e-4, 0.5, 10**5)], (0.0, *FAILURES)),
    "MIX4": ("contour", [laplace(0.1, 50), sgm(0.02, 2.0, 200), gaussian(8.0, 10), pure(0.3, 5)], FAILURES),
    "sgm p=1e-3 s=1 n=1e5": ("contour", [sgm(1e-3, 1.0, 10**5)], (0.0, *FAILURES)),
    "laplace .1 n=400": ("laplace", [laplace(0.1, 400)], FAILURES),
    "Gaussian, Laplace, pure": ("contour", [gaussian(2.0, 3), laplace(0.5, 4), pure(0.3, 5)], FAILURES),
    "approximate .5, 1e-6 n=10": ("lattice", [approximate(0.5, 1e-6, 10)], (1e-6, 1e-5, 1e-3)),
    "sgm p=1e-6 s=.1": ("one Gaussian", [sgm(1e-6, 0.1)], (0.0, 1e-10, 1e-8)),
    "thinned pure 1 p=.05 n=200": ("lattice", [thinned_pure(0.05, 1.0, 200)], (0.0, *FAILURES)),
    "one-sided n=20": ("lattice", [ONE_SIDED], (1e-6, 1e-3, 1e-2)),
}


def one_sided(f: Case) -> gdp.Lattice:
    with mp.workprec(sums.BITS):
        a, b, lost = (
            mp.fraction(*map(int, f[name].split("/"))) + mp.mpf(0) for name in ("alpha", "beta", "lost")
        )
        high, low = mp.log((1 - b) / a), mp.log(b / (1 - a - lost))
        finite = sums.lattice(low, high - low, [1 - a - lost, a], f["count"])
        return gdp.Lattice(finite.losses, finite.p, 1 - (1 - lost) ** f["count"])


def law(method: str, factors: list[Case]) -> gdp.Law:
    f = factors[0]
    if method == "contour":
        return gdp.ByContour([(moment(f), f["count"]) for f in factors], 1e-14)
    if method == "laplace":
        return gdp.LaplacePower(
            mp.mpf(f["epsilon"]), f["count"], 10.0 if f["count"] == 100 else 16.0, 800 // f["count"] + 2
        )
    if method == "one Gaussian":
        mu = mp.mpf(1 / f["noise_multiplier"])
        return gdp.OneGaussian(mu, mp.mpf(f.get("sample_rate", 1.0)), -9.0, float(mu) + 9.0)
    if f["kind"] == "one_sided":
        return one_sided(f)
    whole = gdp.with_leak(group(f), 1 - survival(factors))
    # The sum of cut discrete Gaussians has lost its digits at 2^-1600.
    whole.floor = mp.mpf("1e-400") if f["kind"] == "discrete_gaussian" else mp.mpf(0)
    return whole


def row(points: gdp.Law, failure: float, limit: mp.mpf | None) -> dict[str, Any]:
    d = mp.mpf(failure)
    if limit is not None:
        return {
            "failure": failure,
            "limit": True,
            "mu": mp.nstr(limit, 20),
            "regret": mp.nstr(gdp.regret(points, limit, d)[0], 15),
        }
    mu, point, apart = gdp.supremum(points, d)
    if mu == mp.inf:
        return {"failure": failure, "mu": "inf"}
    if apart > mp.mpf("1e-17") * mu:
        raise ValueError(f"two evaluations of mu are {mp.nstr(apart, 3)} apart")
    kappa, at = gdp.regret(points, mu, d)
    values = {"mu": mp.nstr(mu, 20), "alpha": mp.nstr(point.alpha, 15), "beta": mp.nstr(point.beta, 15)}
    note(
        f"   {failure:g}: mu {values['mu']} at t = {mp.nstr(point.t, 6)}, "
        f"regret {mp.nstr(kappa, 6)} at t = {mp.nstr(at, 6)}"
    )
    return {"failure": failure, **values, "regret": mp.nstr(kappa, 15)}


def limit(factors: list[Case]) -> mp.mpf | None:
    """Return the mu of failure = 0 where every factor is a thinned Gaussian."""
    if any(f["kind"] != "subsampled_gaussian" for f in factors):
        return None
    return mp.sqrt(mp.fsum(f["count"] * mp.mpf(1 / f["noise_multiplier"]) ** 2 for f in factors))


def answer(name: str) -> dict[str, Any]:
    method, factors, failures = CASES[name]
    points = law(method, factors)
    rows = [row(points, d, limit(factors) if d == 0 else None) for d in failures]
    return {"id": name, "method": method, "factors": factors, "rows": rows}


def main() -> None:
    mp.mp.dps = contour.DIGITS
    names = sys.argv[1:] or list(CASES)
    known = {c["id"]: c for c in json.loads(TARGET.read_text(encoding="utf-8"))} if TARGET.exists() else {}
    for name in names:
        start = time.process_time()
        known[name] = answer(name)
        note(f"{name}: {time.process_time() - start:.1f} s")
        lines = ",\n".join(json.dumps(known[name]) for name in CASES if name in known)
        TARGET.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
