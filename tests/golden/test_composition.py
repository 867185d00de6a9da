"""Eight compositions whose truth is known without any lattice, against the public functions.

composition.json was computed by closed forms and exact lattice sums in 60 digits, residue sums for Laplace,
and the saddle-point contour integral for subsampled and mixed cases, confirmed by separate 40-digit code;
``relative_error_of_delta`` is what remains. Entries below 1e-30 are missing.
"""

import functools
import json
from pathlib import Path

import numpy as np
import pytest

import tradeoff as to
from tests.truth.claims import overlap
from tradeoff.families.discrete import DiscreteGaussianCurve

CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parent / "composition.json").read_text(encoding="utf-8"))
}
WIDTH = {"G1": 1e-9, "RR1000": 1e-9, "DG20": 1e-9}
"""Width in epsilon asserted at delta = 1e-5; 2e-4 where a lattice answers."""

MAKE = {
    "gaussian": lambda m: to.Gaussian(1 / m["sigma"]),
    "laplace": lambda m: to.Laplace(m["epsilon"]),
    "pure_dp": lambda m: to.PureDP(m["epsilon"]),
    "discrete_gaussian": lambda m: DiscreteGaussianCurve(m["sigma"], m["sensitivity"]),
    "poisson_subsampled_gaussian": lambda m: to.subsample(to.Gaussian(1 / m["sigma"]), m["sample_rate"]),
}


@functools.cache
def composed(name, view="remove"):
    """Return the composed curve; ``view`` is remove (as built), add (its inverse) or envelope."""
    curve = to.Identity()
    for factor in CASES[name]["factors"]:
        curve = curve @ MAKE[factor["mechanism"]](factor) ** factor["count"]
    if view == "envelope":
        return curve.symmetrise(assume="either-order")
    return ~curve if view == "add" else curve


def holds(bounds, truth, error):
    lower, upper = bounds
    return bool(lower <= truth + abs(truth) * error and truth - abs(truth) * error <= upper)


def removed(case):
    """Return epsilon by delta, of one order where there are two."""
    return (
        case["epsilon_at_delta"]
        if case["symmetric"]
        else {d: v["remove"] for d, v in case["epsilon_at_delta_by_order"].items()}
    )


def rows(question):
    """List (case, view, argument, truth): the symmetric curve, or each order and their envelope."""
    result = []
    for name, case in CASES.items():
        whole = [
            (name, "remove" if case["symmetric"] else "envelope", float(at), truth)
            for at, truth in case[question].items()
        ]
        parts = [
            (name, order, float(at), truth)
            for at, orders in case.get(f"{question}_by_order", {}).items()
            for order, truth in orders.items()
        ]
        result += whole + parts
    return [pytest.param(*entry, id="-".join(map(str, entry[:3]))) for entry in result]


@pytest.mark.parametrize(("name", "view", "delta", "truth"), rows("epsilon_at_delta"))
def test_epsilon_is_inside_its_bounds(name, view, delta, truth):
    bounds = composed(name, view).bounds.epsilon(delta)
    # An error r of delta is an error of about r in epsilon, as d log delta / d epsilon is below -1 at these
    # delta.
    error = (CASES[name]["relative_error_of_delta"] + 1e-15) / min(truth, 1.0)
    assert holds(bounds, truth, error)
    assert bounds.width < 1e-3
    if delta >= 1e-5:
        assert bounds.width < WIDTH.get(name, 2e-4)


@pytest.mark.parametrize(("name", "view", "epsilon", "truth"), rows("delta_at_epsilon"))
def test_delta_is_inside_its_bounds(name, view, epsilon, truth):
    bounds = composed(name, view).bounds.delta(epsilon)
    assert holds(bounds, truth, CASES[name]["relative_error_of_delta"] + 4e-16)
    if truth > 1e-40:
        assert bounds.width < 0.01 * truth


@pytest.mark.parametrize("name", CASES)
def test_beta_is_inside_its_bounds(name):
    case = CASES[name]
    table = case["beta_at_alpha_of_the_envelope"]
    curve = composed(name, "remove" if case["symmetric"] else "envelope")
    for alpha, truth in table.items():
        bounds = curve.bounds(float(alpha))
        # beta inherits the error of 1 - beta - e^eps alpha, at most that of delta's two terms
        assert holds(bounds, truth, 1e-9 if not case["symmetric"] else 4e-15), alpha
        assert bounds.width < 1e-4, alpha


@pytest.mark.parametrize("name", CASES)
def test_arrays_and_scalars_agree(name):
    case = CASES[name]
    curve = composed(name, "remove")
    table = {float(d): truth for d, truth in removed(case).items() if float(d) >= 1e-12}
    result, truth = curve.bounds.epsilon(np.array([[*table]])), np.array([[*table.values()]])
    error = (case["relative_error_of_delta"] + 1e-15) * np.maximum(truth, 1)
    assert result.lower.shape == result.upper.shape == truth.shape
    assert overlap(result, to.Bounds(truth - error, truth + error))
    assert np.all(result.width < 1e-3)


@pytest.mark.parametrize("name", ["L100", "SG1", "MIX4"])
def test_a_tolerance_is_reached_and_the_bounds_are_nested(name):
    curve = composed(name, "remove")
    case = CASES[name]
    bounds = curve.bounds.epsilon(1e-5, tol=2e-6)
    assert bounds.width <= 2e-6
    assert holds(bounds, removed(case)["1e-05"], case["relative_error_of_delta"] + 1e-15)
