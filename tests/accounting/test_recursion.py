"""The recursion by blocks against a loop in many digits."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import log_uniform
from tradeoff.accounting.lattice.convolve import discounted
from tradeoff.pld.units import UNIT

masses = st.one_of(st.just(0.0), log_uniform(1e-200, 1.0))


@given(st.lists(masses, max_size=300), st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)))
def test_discounted_holds_truth(x, a):
    y = mp.mpf(0)
    for term, got in zip(x, discounted(np.array(x), a), strict=True):
        y = mp.mpf(term) + mp.mpf(a) * y
        assert abs(got - y) <= 200 * UNIT * y + mp.mpf("1e-300")


@pytest.mark.parametrize("size", [1, 63, 64, 65, 4096, 4097, pytest.param(300_000, marks=pytest.mark.slow)])
def test_discounted_constant_is_geometric_series(size):
    result = discounted(np.ones(size), 1 - 2.0**-12)
    assert result == pytest.approx(
        -np.expm1(np.arange(1.0, size + 1) * np.log1p(-(2.0**-12))) * 2**12, rel=1e-13
    )
