"""Eight compositions whose truth is known without any lattice, against the public functions.

composition.json was computed by closed forms and exact lattice sums in 60 digits, residue sums for Laplace,
and the saddle-point contour integral for subsampled and mixed cases, confirmed by separate 40-digit code;
``relative_error_of_delta`` is what remains. Entries below 1e-30 are missing.
"""

import functools
import json
from pathlib import Path

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
    return overlap(bounds, to.Bounds(truth - abs(truth) * error, truth + abs(truth) * error))


def tables(question):
    """Yield (case, view, {argument: truth}): of the symmetric curve, or of each order and their envelope."""
    for name, case in CASES.items():
        views = {"remove" if case["symmetric"] else "envelope": case[question]}
        for at, orders in case.get(f"{question}_by_order", {}).items():
            for order, truth in orders.items():
                views.setdefault(order, {})[at] = truth
        for view, table in views.items():
            truths = {float(at): truth for at, truth in table.items()}
            yield pytest.param(name, view, truths, id=f"{name}-{view}")


@pytest.mark.parametrize(("name", "view", "truths"), list(tables("epsilon_at_delta")))
def test_epsilon_is_inside_its_bounds(name, view, truths):
    curve, error = composed(name, view), CASES[name]["relative_error_of_delta"] + 1e-15
    for delta, truth in truths.items():
        bounds = curve.bounds.epsilon(delta)
        # An error r of delta is one of about r in epsilon, as d log delta / d epsilon is below -1 here.
        assert holds(bounds, truth, error / min(truth, 1.0)), delta
        assert bounds.width < (WIDTH.get(name, 2e-4) if delta >= 1e-5 else 1e-3), delta


@pytest.mark.parametrize(("name", "view", "truths"), list(tables("delta_at_epsilon")))
def test_delta_is_inside_its_bounds(name, view, truths):
    for epsilon, truth in truths.items():
        bounds = composed(name, view).bounds.delta(epsilon)
        assert holds(bounds, truth, CASES[name]["relative_error_of_delta"] + 4e-16), epsilon
        assert bounds.width < 0.01 * truth or truth <= 1e-40, epsilon


@pytest.mark.parametrize("name", CASES)
def test_beta_is_inside_its_bounds(name):
    case = CASES[name]
    curve = composed(name, "remove" if case["symmetric"] else "envelope")
    for alpha, truth in case["beta_at_alpha_of_the_envelope"].items():
        bounds = curve.bounds(float(alpha))
        # beta inherits the error of 1 - beta - e^eps alpha, at most that of delta's two terms
        assert holds(bounds, truth, 1e-9 if not case["symmetric"] else 4e-15), alpha
        assert bounds.width < 1e-4, alpha
