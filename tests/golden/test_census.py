"""The 2020 US Census: the production budget, and the table of ten equal queries, against census.json.

``persons`` is the published production budget of the redistricting persons file, 65 queries, two noisy cells
each (a changed record moves two counts). ``levels`` has ten equal queries per level with one discrete
Gaussian each, sigma^2 = 10/(2 rho), rho = 3.65 times the level's share, delta = 1e-11 (arXiv 2410.09296):
``zcdp`` is rho + 2 sqrt(rho log(1/delta)), ``saved`` 1 - epsilon/zcdp, and ``variance_reduction`` 1 -
s^2/sigma^2 for the s at which the exact epsilon is zcdp. ``levels`` has the digits of balls, ``persons``
those of a contour in 45.
"""

import functools
import json
import math
import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import tradeoff as to
from tests.truth.claims import overlap
from tradeoff.families.discrete import DiscreteGaussianCurve
from tradeoff.spec import load

EXAMPLES = Path(__file__).parents[2] / "examples"
TRUTH = json.loads((Path(__file__).parent / "census.json").read_text(encoding="utf-8"))
LEVELS = TRUTH["levels"]
PUBLISHED = {
    "State": {"epsilon": "10.1254", "zcdp": "11.0661", "saved": "8.50", "variance_reduction": "15.08"},
    "Block": {"epsilon": "0.9178", "zcdp": "1.0642", "saved": "13.76", "variance_reduction": "24.82"},
}
"""As printed in arXiv 2410.09296; the last two in per cent."""

PRINTED = {"epsilon": (1, 4), "zcdp": (1, 4), "saved": (100, 2), "variance_reduction": (100, 2)}


@functools.cache
def persons():
    return load(EXAMPLES / "census2020.toml").plan.curve()


@pytest.mark.parametrize("name", LEVELS)
def test_ten_equal_queries_and_their_saving(name):
    """Saved: 1 - epsilon/zcdp. Variance reduction: 1 - s^2/sigma^2 where s has epsilon = zcdp."""
    for column, printed in PUBLISHED.get(name, {}).items():
        factor, digits = PRINTED[column]
        assert f"{factor * float(LEVELS[name][column]):.{digits}f}" == printed
    level, delta, r = LEVELS[name], 1e-11, 3.65 * float(LEVELS[name]["share"]) / 100
    truth, sigma = float(level["epsilon"]), math.sqrt(10 / (2 * r))
    zcdp = r + 2 * math.sqrt(r * math.log(1 / delta))
    bounds = (DiscreteGaussianCurve(sigma) ** 10).bounds.epsilon(delta)
    assert overlap(bounds, to.Bounds(truth * (1 - 1e-13), truth * (1 + 1e-13)))
    assert bounds.width < 1e-8
    assert f"{bounds.upper:.4f}" == f"{truth:.4f}"
    assert 1 - bounds.upper / zcdp == pytest.approx(float(level["saved"]), abs=1e-9)
    over = lambda s: (DiscreteGaussianCurve(s) ** 10).epsilon(delta) - zcdp  # noqa: E731 - one expression
    less = brentq(over, 0.8 * sigma, sigma, xtol=1e-9)
    assert 1 - (less / sigma) ** 2 == pytest.approx(float(level["variance_reduction"]), abs=1e-8)


def test_persons_delta_and_published_rho_and_the_script_that_writes_the_budget(tmp_path):
    truth = np.array([float(TRUTH["persons"][name]) for name in ("delta(16)", "delta(17.14)")])
    result = persons().bounds.delta([16.0, 17.14])
    assert overlap(result, to.Bounds(truth * (1 - 1e-12), truth * (1 + 1e-12)))
    assert np.all(result.width <= 1e-3 * truth)
    content = load(EXAMPLES / "census2020.toml")
    mechanisms = content.plan.mechanisms
    assert sum(mechanisms.values()) == 2 * 65
    assert (content.plan.adjacency, content.delta) == ("replace-one", (1e-10,))
    total = math.fsum(n / (2 * each.sigma**2) for each, n in mechanisms.items())
    assert total == pytest.approx(293764 / 114921, rel=1e-14)
    variances = [each.sigma**2 for each in mechanisms]
    assert min(variances) == pytest.approx(1.2092, abs=5e-5)
    assert max(variances) == pytest.approx(7963.3, abs=0.05)
    script = tmp_path / "write_census2020.py"
    script.write_text((EXAMPLES / "write_census2020.py").read_text(encoding="utf-8"), encoding="utf-8")
    runpy.run_path(str(script), run_name="__main__")
    assert (tmp_path / "census2020.toml").read_bytes() == (EXAMPLES / "census2020.toml").read_bytes()


@pytest.mark.slow
def test_persons_epsilon():
    truth, bounds = float(TRUTH["persons"]["epsilon(1e-10)"]), persons().bounds.epsilon(1e-10, tol=1e-8)
    assert overlap(bounds, to.Bounds(truth, truth), 1e-12)
    assert bounds.width <= 1e-8
