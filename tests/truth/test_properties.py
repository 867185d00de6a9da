"""Curves of any description against balls, and the range of every curve against its law."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.run import Slow, limited
from tests.strategies import curves, edge_alphas, edge_deltas, edge_epsilons, specs
from tests.truth.atoms import TooMany
from tests.truth.built import built, written
from tests.truth.claims import answers, check_range, refuted
from tradeoff.errors import NoClosedForm, TradeOffError

many = settings(max_examples=2 * settings.default.max_examples)
"""Closed forms and sums of atoms, cheap to ask."""

PATIENCE = 0.3
"""Seconds of CPU after which an answer, or the oracle's, is given up."""


def in_time(question):
    """Return what is wrong; None as well where curve or oracle refuse, or take too long."""
    try:
        with limited(PATIENCE):
            return question()
    except (TradeOffError, TooMany, Slow, ArithmeticError, IndexError):
        return None


def check_answer(spec, question, at):
    wrong = in_time(lambda: answers(spec, built(spec), question, at))
    assert wrong is None, wrong


@pytest.mark.slow
@many
@given(specs, edge_alphas)
def test_beta(spec, alpha):
    check_answer(spec, "beta", alpha)


@pytest.mark.slow
@many
@given(specs, edge_epsilons)
def test_delta(spec, epsilon):
    check_answer(spec, "delta", epsilon)


@pytest.mark.slow
@many
@given(specs, edge_deltas)
def test_epsilon(spec, delta):
    check_answer(spec, "epsilon", delta)


@pytest.mark.slow
@many
@given(specs)
def test_masses_at_infinity(spec):
    """Q(L = inf) lies in its bounds, which are the eight units apart that the ends of the curve are charged.

    Of densities nothing is known where both are below 1e-300, which may be a long way: bounds of integrated
    pairs may be 1e-289 apart, those of formulas 1e-298, others 1e-300.
    """
    text = written(spec)
    most = 1e-298 if "symbolic" in text else 1e-300
    most = 1e-289 if "from_" in text or "LocationShift" in text else most

    def wrong():
        curve = built(spec)
        claims = (
            (curve.mass_at_infinity, spec.mass_at_plus_infinity()),
            ((~curve).mass_at_infinity, spec.mass_at_minus_infinity()),
        )
        far = next((m for m, _ in claims if m.upper - m.lower > 8 * 2.0**-53 * m.upper + most), None)
        return f"{far} is wide" if far else next(filter(None, (refuted(*claim) for claim in claims)), None)

    assert in_time(wrong) is None


@pytest.mark.slow
@many
@given(specs)
def test_the_supremum_of_the_loss(spec):
    in_time(lambda: check_range(built(spec), spec))


@given(curves, st.booleans())
def test_the_range_of_every_curve(curve, turn):
    try:
        check_range(~curve if turn else curve)
    except NoClosedForm:
        return
