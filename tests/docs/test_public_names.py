"""What the library calls public, one name a line: a name comes or goes in sight of whoever reads the change.

``python -m tests.docs.test_public_names`` writes the list anew.
"""

import inspect
from pathlib import Path

import tradeoff as to
from tradeoff.design.calibration import Calibration
from tradeoff.filters import Ledger
from tradeoff.gdp import Reduction
from tradeoff.report.compare import Comparison

PINNED = Path(__file__).parents[1] / "golden" / "public_names.txt"
MODULES = (
    *(to.audits, to.baselines, to.conversions, to.errors, to.filters, to.interop, to.limits, to.mechanisms),
    to.spec,
)
CLASSES = (
    *(to.TradeOff, to.Bounds, to.Plan, to.Symbolic, to.PiecewiseLinear),
    *(Calibration, Comparison, Reduction, Ledger),
)


def names():
    """Return the names of the package, of its public modules, and in the main classes."""
    result = [f"tradeoff.{name}" for name in dir(to)]
    for module in MODULES:
        exported = getattr(module, "__all__", None) or [
            name
            for name, each in vars(module).items()
            if inspect.isclass(each) and each.__module__ == module.__name__
        ]
        result += [f"{module.__name__}.{name}" for name in exported]
    for each in CLASSES:
        mine = {name for kind in each.__mro__ if "tradeoff" in kind.__module__ for name in vars(kind)}
        mine.update(getattr(each, "__dataclass_fields__", ()))
        result += [f"{each.__name__}.{name}" for name in mine if not name.startswith("_")]
    return sorted(result)


def test_public_names_are_those_that_were_reviewed():
    assert names() == PINNED.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    PINNED.write_text("\n".join([*names(), ""]), encoding="utf-8")
