"""A curve tells who answers, why, and how narrowly."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tradeoff as to
from tradeoff.errors import DomainError

STEPS = to.subsample(to.Gaussian(1), 0.01) ** 1000
ATOMS = to.PureDP(1) @ to.PureDP(0.5) ** 3
FEW = to.Laplace(0.3) ** 2 @ to.subsample(to.Gaussian(1), 0.1)
DAMPED = to.Laplace(0.3) ** 2 @ to.Gaussian(1)


@pytest.mark.parametrize(
    ("curve", "engine"),
    [(STEPS, "contour"), (ATOMS, "exact"), (FEW, "lattice"), (DAMPED, "contour")],
    ids=["many", "atoms", "few", "few with a Gaussian"],
)
@pytest.mark.parametrize("asked", [{"epsilon": 1.0}, {"delta": 1e-5}, {"alpha": 0.1}], ids=str)
def test_the_answer_is_the_curves_own(curve: to.TradeOff, engine: str, asked: dict[str, float]) -> None:
    given = curve.explain(**asked)
    ((name, value),) = asked.items()
    question = {"epsilon": curve.bounds.delta, "delta": curve.bounds.epsilon, "alpha": curve.bounds}[name]
    assert given.bounds == question(value)
    assert given.steps[0].engine == engine
    assert all(step.why and step.seconds >= 0 for step in given.steps)
    assert len(repr(given).splitlines()) == 2 + len(given.steps) + (not curve.symmetric)
    assert ("one order" in repr(given)) == (not curve.symmetric)


@pytest.mark.slow
@pytest.mark.xfail(reason="mpmath sums the mass that rare losses leave at infinity", strict=True)
def test_an_engine_that_is_not_asked_is_not_loaded() -> None:
    code = "import sys, tradeoff as to; (to.subsample(to.Gaussian(1), 0.01) ** 9).epsilon(1e-5); "
    code += "sys.exit(any('composition.lattice.' in name or name == 'mpmath' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_both_orders_of_an_envelope_are_told() -> None:
    """The other one where its Chernoff bound is not below the first."""
    mild = to.subsample(to.Gaussian(0.5), 0.01) ** 1000
    given = [f.symmetrise(assume="either-order").explain(delta=1e-5) for f in (STEPS, mild)]
    assert [len(each.steps) for each in given] == [1, 2]


def test_a_forced_engine_was_asked_for() -> None:
    (step,) = STEPS.explain(delta=1e-5, method="lattice").steps
    assert (step.engine, step.why) == ("lattice", "asked for")


def test_a_closed_form_asks_nobody() -> None:
    assert to.Gaussian(1).explain(epsilon=1.0).steps == ()
    assert "closed form" in repr(to.Gaussian(1).explain(epsilon=1.0))


@pytest.mark.parametrize("given", [{}, {"epsilon": 1.0, "delta": 1e-5}])
def test_one_question_at_a_time(given: dict[str, float]) -> None:
    with pytest.raises(DomainError, match=r"explain\(\) takes exactly one of epsilon, delta, alpha, got "):
        STEPS.explain(**given)
