"""Questions of the benchmark: compositions as plain lists of factors, and the truth where it is known.

A factor is a dictionary in the manner of ``tests/golden/composition.json``: ``mechanism``, its parameters,
``count``. Truth comes from that file and from ``truth.json`` (written by ``truth.py``); the answer
is always the one for unordered neighbours, the larger of the orders remove and add.
"""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "tests" / "golden" / "composition.json"
CENSUS = HERE.parent / "examples" / "census2020.toml"
TRUTH = HERE / "truth.json"

DELTAS = (1e-5, 1e-12, 1e-20)
ALPHAS = (1e-6, 1e-3, 0.1)
FAR_DELTAS = (1e-3, 1e-5, 1e-10, 1e-15, 1e-20, 1e-30, 1e-50, 1e-75, 1e-100)

Factor = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A composition: ``group`` is its table, ``at`` the arguments its ``kind`` of question is computed at."""

    id: str
    description: str
    factors: tuple[Factor, ...]
    group: str
    at: tuple[float, ...] = DELTAS
    kind: str = "epsilon"

    @property
    def symmetric(self) -> bool:
        """Whether the two orders of the pair have one curve."""
        return all(factor["mechanism"] != "poisson_subsampled_gaussian" for factor in self.factors)


@dataclass(frozen=True)
class Truth:
    """A value, and how far it may be from the truth."""

    value: float
    error: float


def subsampled(sigma: float, sample_rate: float, count: int) -> Factor:
    """Return Poisson-subsampled Gaussian steps."""
    return {
        "mechanism": "poisson_subsampled_gaussian",
        "sigma": sigma,
        "sample_rate": sample_rate,
        "count": count,
    }


def allocated(steps: int, epochs: int = 1) -> Factor:
    """Return epochs in each of which a record is in one random step, of noise 1."""
    return {"mechanism": "random_allocation", "sigma": 1.0, "steps": steps, "count": epochs}


def schedule(distinct: int) -> tuple[Factor, ...]:
    """Return ``distinct`` settings, 2000 steps in all.

    Noise from 1 to 3 while the sample rate goes from 0.02 to 0.005.
    """
    shares = [i / max(distinct - 1, 1) for i in range(distinct)]
    return tuple(subsampled(3**s, 0.02 * 0.25**s, 2000 // distinct) for s in shares)


def census() -> tuple[Factor, ...]:
    """Return the discrete Gaussians of the 2020 Census persons file, equal ones counted together."""
    counts: dict[float, int] = {}
    for query in tomllib.loads(CENSUS.read_text(encoding="utf-8"))["mechanism"]:
        counts[query["sigma"]] = counts.get(query["sigma"], 0) + query["count"]
    return tuple(
        {"mechanism": "discrete_gaussian", "sigma": s, "sensitivity": 1, "count": n}
        for s, n in counts.items()
    )


def reference() -> list[Case]:
    """Return the eight reference compositions."""
    cases = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return [Case(case["id"], case["description"], tuple(case["factors"]), "reference") for case in cases]


@cache
def cases() -> tuple[Case, ...]:
    """Return every case, in the order of the tables."""
    eight = reference()
    thousand = next(case for case in eight if case.id == "SG1")
    return (
        *eight,
        Case(
            "MNIST",
            "DP-SGD on MNIST: sample rate 256/60000, noise 1.1, 14062 steps",
            (subsampled(1.1, 256 / 60000, 14062),),
            "workload",
        ),
        Case("DIST200", "200 distinct subsampled Gaussians, 10 steps each", schedule(200), "workload"),
        Case(
            "CENSUS",
            "2020 Census, persons: 130 discrete Gaussians",
            census(),
            "workload",
            (1e-5, 1e-10, 1e-12, 1e-20),
        ),
        *(Case(f"{c.id}-beta", c.description, c.factors, "beta", ALPHAS, "beta") for c in eight),
        *(
            Case(f"N1e{k}", f"n = 1e{k}", (subsampled(1.0, 10 ** (-k / 2), 10**k),), "steps", (1e-5,))
            for k in range(2, 10)
        ),
        Case("FAR", thousand.description, thousand.factors, "delta", FAR_DELTAS),
        *(
            Case(f"K{k}", f"{k} distinct", schedule(k), "distinct", (1e-5,))
            for k in (10, 30, 100, 200, 500, 1000)
        ),
        *(
            Case(f"A1e{k}", f"1 of {10**k}", (allocated(10**k),), "allocation", (1e-5,), "allocation")
            for k in (2, 3, 4)
        ),
    )


@cache
def _computed() -> dict[str, dict[str, list[float]]]:
    return json.loads(TRUTH.read_text(encoding="utf-8")) if TRUTH.exists() else {}


@cache
def _golden() -> dict[str, Any]:
    return {case["id"]: case for case in json.loads(GOLDEN.read_text(encoding="utf-8"))}


def truth(case: Case, at: float) -> Truth | None:
    """Return the truth of one question, or None where no independent method has given it."""
    golden = _golden().get(case.id.removesuffix("-beta"))
    if golden and case.kind == "beta":
        value = golden["beta_at_alpha_of_the_envelope"][str(at)]
        return Truth(value, 10 * (golden["relative_error_of_delta"] + 1e-15))
    if golden and (value := golden["epsilon_at_delta"].get(str(at))) is not None:
        # An error r of delta is one of at most r in epsilon, as d log delta / d epsilon < -1 at these delta.
        return Truth(value, golden["relative_error_of_delta"] + 4 * math.ulp(value))
    result = _computed().get(case.id, {}).get(str(at))
    return Truth(*result) if result else None
