"""mu and regret of compositions against suprema computed by mpmath alone (gdp.json).

A test "reject where L > t" is one point (alpha, beta) of f and needs

    mu >= Phi^-1(1 - alpha/(1-d)) - Phi^-1(beta/(1-d)).

Rows hold failure d, mu to 20 digits, alpha and beta = f(alpha) where it is decided, and the regret of
G_mu (x) f_{0,d}. They were found by a walk over all vertices, or over a dense grid of thresholds with every
local maximum polished and evaluated a second time; ``limit`` is d = 0 of thinned Gaussians: G_mu, mu^2 =
sum n/s^2, is below them all, and as alpha tends to 0 it is needed, for 1 - f >= prod p^n (1 - G_mu).

A row's point proves that mu is no less than stated (below), and the library's certificate that it is no
more: the truth must lie inside every bound. How wide these are is stated case by case, relative to the truth.
"""

import functools
import json
import math
from pathlib import Path

import pytest
from flint import arb

import tradeoff as to
from tests.golden.test_deep import described, interval, outwards
from tests.truth.balls import ball, quantile
from tests.truth.built import built

CASES = {
    case["id"]: case for case in json.loads((Path(__file__).parent / "gdp.json").read_text(encoding="utf-8"))
}
DIGITS = 1e-17
"""Difference of two computations of mu."""


@functools.cache
def composed(name):
    return built(described(CASES[name]))


@functools.cache
def reduced(name, failure):
    return composed(name).gdp(failure=failure)


CLOSE = 1.1e-9
"""Cells are refined until they need 1e-9 more than the nodes."""

WIDTH = {
    ("G1", 1e-6): 1e-6,  # almost a Gaussian everywhere: every cell needs the same, and the nodes run out
    **{("L100", d): 1e-8 for d in (1e-10, 1e-6, 1e-3)},  # the tolerance of delta is 1e-8
    **{("laplace .1 n=400", d): 1e-8 for d in (1e-6, 1e-3)},
    ("L100", 0.0): 3e-5,  # delta of 165 nodes down to 1e-46 is known to 6e-5, and few are refined
    ("laplace .1 n=400", 1e-10): 3e-5,  # as above
    ("DG20", 0.0): math.inf,  # unbounded losses: nothing certifies the tail
}
"""How far mu may be above the truth, relatively, where not ``CLOSE``."""

BELOW = {(name, d): 5e-9 for name in ("L100", "laplace .1 n=400") for d in (0.0, 1e-10, 1e-6, 1e-3)} | {
    ("DG20", 0.0): 2e-5
}
"""How far the lower bound may be below the truth, relatively, where not ``CLOSE``."""

REFERENCE = ("G1", "L100", "RR1000", "DG20", "SG1", "SG3", "SG5", "MIX4")

DEAR = {("SG5", 1e-6), ("SG5", 1e-3)}
"""A hundred thousand steps at three failures take as long as all else.

Once with failure and once without will do.
"""


def marks(name, failure):
    """Mark all but one failure probability of a case slow: a second or more each."""
    return [pytest.mark.slow] if failure in {1e-10, 1e-3} and name not in {"G1", "one-sided n=20"} else []


ROWS = [
    pytest.param(name, row, id=f"{name} {row['failure']:g}", marks=marks(name, row["failure"]))
    for name, case in CASES.items()
    for row in case["rows"]
    if (name, row["failure"]) not in DEAR
]


def is_known(name, row):
    """Return whether alpha is known: not in the limit 0, where all ask for the same or bounds are wide."""
    return bool(row.get("alpha")) and name != "G1" and WIDTH.get((name, row["failure"]), 0) <= 1e-8


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_mu_and_regret(name, row):
    """The bounds on the regret are for the mu reported, at or above the true one.

    delta_{G_mu} increases in mu, at a rate phi(mu/2 - eps/mu) <= 1/sqrt(2 pi) for eps >= 0; so the regret
    increases too, and over 1 + e^eps >= 2 by at most (result.mu - mu)/(2 sqrt(2 pi)).
    """
    result, where = reduced(name, row["failure"]), (name, row["failure"])
    if row["mu"] == "inf":
        assert result.bounds.lower == math.inf
        assert "for every finite mu" in str(result.reason)
        return
    least, most = interval(row["mu"], DIGITS)
    assert result.bounds.lower <= most
    assert result.mu >= least
    truth = float(row["mu"])
    assert result.mu <= truth * (1 + WIDTH.get(where, CLOSE))
    assert result.bounds.lower >= truth * (1 - BELOW.get(where, CLOSE))
    low, high = outwards(*interval(row["regret"], 1e-14))
    assert result.regret >= low
    assert result.regret_bounds.lower <= high + max(result.mu - truth, 0) / (2 * math.sqrt(2 * math.pi))
    assert result.regret_bounds.width <= 1e-6 + 1e-3 * result.regret
    if is_known(name, row):  # to the root of the error of mu: the maximum is flat
        ends = [float(row["alpha"])] + [float(row["beta"])] * composed(name).symmetric
        assert min(abs(math.log(result.tight_at / at)) for at in ends) < 7e-3


@pytest.mark.parametrize(("name", "row"), [p for p in ROWS if p.values[1].get("beta", "1.0") != "1.0"])
def test_the_point_of_a_row_asks_for_its_mu(name, row):
    """Alpha and beta have 15 digits; balls know beta of laws of atoms and of one Gaussian."""
    case, left = CASES[name], 1 - ball(row["failure"])
    alpha, beta = (arb(row[key]) * (1 + arb(0, 6e-15)) for key in ("alpha", "beta"))
    need = -quantile(alpha / left) - quantile(beta / left)
    assert need.overlaps(arb(row["mu"]))
    assert need.rel_accuracy_bits() > 10  # a beta near 1 has few digits left
    if case["method"] in {"lattice", "one Gaussian"}:
        assert described(case).curve(alpha).overlaps(beta)


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        pytest.param(name, failure, marks=marks(name, failure))
        for name in REFERENCE
        for failure in (1e-10, 1e-6, 1e-3)
        if (name, failure) not in DEAR
    ],
)
def test_the_order_proves_the_report_and_refutes_less(name, failure):
    f, result = composed(name), reduced(name, failure)
    assert f.dominates(to.Gaussian(result.mu), failure=failure)
    assert not f.dominates(to.Gaussian(0.999 * result.bounds.lower), failure=failure)
