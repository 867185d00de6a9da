"""Interval functions hold what balls of many more digits say."""

from __future__ import annotations

from typing import Any

import pytest
from flint import arb, ctx
from hypothesis import example, given
from hypothesis import strategies as st

from tradeoff.enclosing import enclosing

OWN = enclosing()
OWN.dps = 60


def held(interval: Any, truth: arb) -> bool:
    """Whether a ball lies between the ends of an interval, which are taken to the last bit."""
    raw = [(sign, int(man), power) for sign, man, power, _ in interval._mpi_]
    low, high = (arb(-man if sign else man) * arb(2) ** power for sign, man, power in raw)
    return bool(low <= truth <= high)


sizes = st.builds(
    lambda x, k, sign: sign * x * 2.0**k, st.floats(1, 2), st.integers(-400, 9), st.sampled_from([1, -1])
)


@given(x=sizes)
@example(x=2.7033100119832075e-66)
@example(x=-2.7033100119832075e-66)
@example(x=3.585e-40)
@example(x=1e-30)
@example(x=-700.0)
def test_exponentials_and_logarithms(x: float) -> None:
    with ctx.workprec(2000):
        assert held(OWN.exp(x), arb(x).exp())
        assert held(OWN.exp(OWN.mpf(x)), arb(x).exp())
        assert held(OWN.log(OWN.exp(x)), arb(x))
        assert held(OWN.log(abs(x)), arb(abs(x)).log())
        assert held(OWN.log(1 + OWN.mpf(abs(x))), (1 + arb(abs(x))).log())


@given(x=sizes, y=st.one_of(sizes, st.integers(-20, 20)))
def test_powers(x: float, y: float) -> None:
    with ctx.workprec(2000):
        assert held(OWN.mpf(abs(x)) ** y, arb(abs(x)) ** y)
        assert held(OWN.mpf(abs(x)) ** OWN.mpf(y), arb(abs(x)) ** y)
        assert held(abs(x) ** OWN.mpf(y), arb(abs(x)) ** y)
        assert held(OWN.pi ** OWN.mpf(y), arb.pi() ** y)
        assert held(3 ** OWN.mpf(y), arb(3) ** y)


def test_what_is_exact_stays_exact() -> None:
    assert OWN.exp(0.0) == 1
    assert OWN.log(OWN.mpf(1)) == 0
    assert OWN.mpf(3) ** 2 == 9
    assert OWN.mpf(1) ** OWN.sqrt(2) == 1
    assert OWN.mpf(0) ** OWN.sqrt(2) == 0


@pytest.mark.parametrize("end", ["a", "b"])
def test_ends_beyond_numbers(end: str) -> None:
    assert getattr(OWN.log(OWN.mpf([0, OWN.inf])), end) == (OWN.inf if end == "b" else -OWN.inf)
    assert getattr(OWN.exp(OWN.mpf([-OWN.inf, OWN.inf])), end) == (OWN.inf if end == "b" else 0)
