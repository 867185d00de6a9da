"""The contract of a curve: how deeply operators may nest."""

import pytest

import tradeoff as to
from tradeoff.errors import SizeError


@pytest.mark.parametrize(
    "nest",
    [lambda f: to.subsample(f @ to.PureDP(0.1), 0.5), lambda f: (f @ to.Laplace(0.1)).group(2)],
    ids=["subsample", "group"],
)
def test_operators_nested_too_deeply_are_refused_in_a_sentence(nest):
    curve = to.subsample(to.Gaussian(1), 0.1)
    while curve.depth <= 64:
        curve = nest(curve)
    with pytest.raises(SizeError, match="at most 64 operators"):
        nest(curve)
