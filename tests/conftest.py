"""Hypothesis profiles: the default is quick and repeatable, ``--hypothesis-profile=thorough`` searches."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from flint import ctx
from hypothesis import HealthCheck, settings

BALLS = 400
"""Bits of balls of every test that asks for no other number."""

# Workers inherit it before they load NumPy: threads of BLAS that wait for the cores of other workers spin.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

SHARING = (
    "golden/test_composition.py",
    "golden/test_deep.py",
    "golden/test_gdp.py",
    "gdp/test_reduction.py",
    "laws/test_memory.py",
    "operators/test_tabulate.py",
    "report/test_compare.py",
    "report/test_html.py",
)
"""Files whose tests ask the same dear curves."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let one worker answer for a whole file of those, so that each curve is made once; they go first."""
    from xdist.scheduler import LoadScopeScheduling

    class Sharing(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return file if file.endswith(SHARING) else nodeid

    return Sharing(config, log)


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
