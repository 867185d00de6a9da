"""Curves of any description against balls, and the range of every curve against its law."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import curves, edge_alphas, edge_deltas, edge_epsilons, specs
from tests.truth.atoms import TooMany
from tests.truth.built import built
from tests.truth.claims import answers, check, check_range
from tests.truth.spec import Spec
from tradeoff.errors import NoClosedForm, TradeOffError

many = settings(max_examples=2 * settings.default.max_examples)
"""Closed forms and sums of atoms, cheap to ask."""


def check_answer(spec: Spec, question: str, at: float) -> None:
    try:
        wrong = answers(spec, built(spec), question, at)
    except TooMany:
        assume(False)
    except TradeOffError:
        return
    assert wrong is None, wrong


@many
@given(specs, edge_alphas)
def test_beta(spec: Spec, alpha: float) -> None:
    check_answer(spec, "beta", alpha)


@many
@given(specs, edge_epsilons)
def test_delta(spec: Spec, epsilon: float) -> None:
    check_answer(spec, "delta", epsilon)


@many
@given(specs, edge_deltas)
def test_epsilon(spec: Spec, delta: float) -> None:
    check_answer(spec, "epsilon", delta)


@many
@given(specs)
def test_masses_at_infinity(spec: Spec) -> None:
    """Q(L = inf) is known to the four units that the ends of the curve are charged."""
    try:
        curve, unit = built(spec), 4 * 2.0**-53
    except TradeOffError:
        return
    for curve_mass, truth in ((curve.q_plus, spec.q_plus()), (curve.p_minus, spec.p_minus())):
        check(to.Bounds(curve_mass * (1 - unit) - 5e-324, curve_mass * (1 + unit) + 5e-324), truth)


@many
@given(specs)
def test_the_supremum_of_the_loss(spec: Spec) -> None:
    try:
        curve = built(spec)
    except TradeOffError:  # two names of one curve have no mixture
        return
    check_range(curve, spec)


@given(curves, st.booleans())
def test_the_range_of_every_curve(curve: to.TradeOff, turn: bool) -> None:  # noqa: FBT001 - drawn
    try:
        check_range(~curve if turn else curve)
    except NoClosedForm:
        return
