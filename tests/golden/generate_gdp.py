"""Write gdp.json: the least mu with f >= G_mu (x) f_{0,d}, where it is decided, and the regret of reporting
it.

Run ``python -m tests.golden.generate_gdp [case ...]`` from the root of the repository; without names every
case is computed (about ten minutes). Regenerate only to add cases or to correct an oracle, never because a
test fails: the numbers come from mpmath alone, and a changed digit in the diff of an old case must be
explained by a mistake in an oracle.

gdp_oracle.py has the search for suprema: all vertices of lattice laws; else a dense grid of thresholds, every
local maximum on it polished, then evaluated a second time with other contours or more digits. Cases are those
in gdp.json, their factors as in deep.json; "one_sided" has the outcomes P = (alpha, 1 - alpha - lost, lost),
Q = (1 - beta, beta, 0). A row holds failure, mu, alpha and beta =
f(alpha) where mu is decided, and the regret of G_mu (x) f_{0,failure}. ``limit`` is failure = 0 of
thinned Gaussians: G_mu, mu^2 = sum n/s^2, is below them all, and as alpha tends to 0 it is needed, for 1 - f
>= prod p^n (1 - G_mu).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mpmath as mp

from tests.golden import gdp_oracle as gdp
from tests.golden import sums_oracle as sums
from tests.golden.generate_deep import group, moment, note, rewrite, survival

TARGET = Path(__file__).parent / "gdp.json"

Case = dict[str, Any]


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


def answer(case: Case) -> Case:
    factors, failures = case["factors"], [each["failure"] for each in case["rows"]]
    points = law(case["method"], factors)
    return {**case, "rows": [row(points, d, limit(factors) if d == 0 else None) for d in failures]}


if __name__ == "__main__":
    rewrite(TARGET, answer)
