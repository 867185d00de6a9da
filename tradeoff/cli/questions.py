"""What a command asks, and of which curve."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from tradeoff.curves.contract import TradeOff
from tradeoff.mechanisms import Plan
from tradeoff.report.textbook import factors
from tradeoff.spec import QUESTIONS, PlanFile
from tradeoff.spec.entries import numbers
from tradeoff.spec.limits import within

DEFAULT = {"delta": (1e-5,)}
"""What is asked where neither command nor plan asks anything: the delta that most papers report at."""

Numbers = Annotated[tuple[float, ...], Parameter(negative="", show_default=False)]


def asked(content: PlanFile, **flags: tuple[float, ...]) -> dict[str, tuple[float, ...]]:
    """Return the questions of the command line if it has any, else those of the file, else the default."""
    if any(flags.values()):
        for name, values in flags.items():
            numbers(f"--{name}", values, *QUESTIONS[name])
        return flags
    written = {name: getattr(content, name) for name in QUESTIONS}
    return written if any(written.values()) else {name: DEFAULT.get(name, ()) for name in QUESTIONS}


def composed(plan: Plan) -> TradeOff:
    """Return the guarantee of a plan, if it has few enough factors to be asked."""
    curve = plan.guarantee()
    within("mechanisms", len(factors(curve)), "different mechanisms")
    return curve
