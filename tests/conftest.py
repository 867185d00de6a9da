"""Hypothesis profiles: the default is quick, ``--hypothesis-profile=thorough`` searches.

Where ``CI`` is set the quick one repeats itself; elsewhere every run draws anew and prints its seed, from
which ``--hypothesis-seed`` draws it again.
"""

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest
from flint import ctx
from hypothesis import HealthCheck, settings

BALLS = 400
"""Bits of balls of every test without another precision."""

# Workers inherit it before they load NumPy: threads of BLAS that wait for the cores of other workers spin.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Workers and some forty commands load the package: compiled once, it is read in half a second less.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

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
"""Files whose tests share curves that are slow to compute."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let one worker answer for a whole file of those, so that each curve is made once; they go first.

    Of other files it answers for all cases of a test: at every end of a test, all scopes are counted.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Sharing(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return file if file.endswith(SHARING) else nodeid.partition("[")[0]

    return Sharing(config, log)


REPEATED = bool(os.environ.get("CI"))
"""Whether every run draws the same examples, as in CI, where a merge must not depend on luck."""

for name, examples, repeated in (("default", 25, REPEATED), ("thorough", 1000, False)):
    settings.register_profile(
        name,
        max_examples=examples,
        derandomize=repeated,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
settings.load_profile("default")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose a seed where none is given, so that it can be printed."""
    if not REPEATED and config.getoption("--hypothesis-seed", None) is None:
        config.option.hypothesis_seed = str(random.getrandbits(32))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the seed."""
    terminalreporter.write_line(f"Drawn with --hypothesis-seed={config.getoption('--hypothesis-seed', None)}")


@pytest.fixture(autouse=True)
def _precision_of_balls() -> Iterator[None]:
    """Balls of each test have the same precision, whatever ran before it."""
    with ctx.workprec(BALLS):
        yield
