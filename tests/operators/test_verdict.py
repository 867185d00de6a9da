"""The order of two curves with a witness."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given

import tradeoff as to
from tests.strategies import symmetric_families
from tradeoff.errors import KindError, Undecided


@given(symmetric_families, symmetric_families)
def test_order_agrees_with_the_operators_and_witnesses_hold(f: to.TradeOff, g: to.TradeOff) -> None:
    verdict = to.order(f, g)
    for claimed, witness, one, two in (
        (verdict.at_least, verdict.below, f, g),
        (verdict.at_most, verdict.above, g, f),
    ):
        try:
            assert claimed is (one >= two)
        except Undecided:
            assert claimed is None
        if witness is not None:
            assert claimed is False
            assert one.bounds(witness.alpha).upper + witness.gap <= two.bounds(witness.alpha).lower
    assert bool(verdict) is (verdict.at_least is True)


def test_order_of_equal_curves_holds_both_ways() -> None:
    verdict = to.order(to.Gaussian(5), to.Gaussian(3) @ to.Gaussian(4))
    assert verdict.below is verdict.above is None
    assert repr(to.order(to.PureDP(1), to.PureDP(1))) == "f is at least g\nf is at most g"


def test_order_undecided_is_none() -> None:
    verdict = to.order(
        to.PureDP(math.log(3)), to.PiecewiseLinear([0, Fraction(1, 4), 1], [1, Fraction(1, 4), 0])
    )
    assert None in (verdict.at_least, verdict.at_most)
    assert "is undecided" in repr(verdict)


def test_order_of_a_mechanism_is_refused() -> None:
    with pytest.raises(KindError, match="is a mechanism"):
        to.order(to.Gaussian(1), to.mechanisms.Gaussian(noise_multiplier=1))  # type: ignore[arg-type]  # wrong on purpose
