"""Hypothesis profiles: the default is quick and repeatable, ``--hypothesis-profile=thorough`` searches."""

from collections.abc import Iterator

import pytest
from flint import ctx
from hypothesis import HealthCheck, settings

BALLS = 400
"""Bits of balls of every test that asks for no other number."""

settings.register_profile(
    "default", max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "thorough",
    max_examples=1000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("default")


@pytest.fixture(autouse=True)
def _precision_of_balls() -> Iterator[None]:
    """Balls of each test have the same precision, whatever ran before it."""
    with ctx.workprec(BALLS):
        yield
