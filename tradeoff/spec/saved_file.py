"""Curves, plans and results in JSON files, every number exact."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from tradeoff.atomic_write import atomic_write, read_text
from tradeoff.audits import OneRun, Refutation
from tradeoff.baselines import Baseline
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import reals
from tradeoff.design.allocate import Allocation
from tradeoff.design.calibration import Calibration
from tradeoff.design.sensitivities import Sensitivities
from tradeoff.errors import DomainError, domain, shown
from tradeoff.gdp.reduction import Reduction
from tradeoff.intervals.bounds import Bounds
from tradeoff.mechanisms import Mechanism, Plan
from tradeoff.report.answers import Answer, Answers
from tradeoff.spec.codec import CURVES, Codec, Form
from tradeoff.spec.plan_file import MECHANISMS, PlanFile
from tradeoff.sweeps import Table

RESULTS = (
    *(Answer, Answers, Reduction, Calibration, Allocation),
    *(Table, Sensitivities, Baseline, OneRun, Refutation),
)


def _plan(runs: Any, adjacency: Any) -> Plan:
    """Return the plan of pairs (mechanism, count)."""
    plan = Plan(dict(runs), adjacency)
    if len(plan.mechanisms) < len(runs):
        raise DomainError("runs must not repeat a mechanism; add the counts")
    return plan


def _bounds(lower: Any, upper: Any) -> Bounds:
    """Return bounds, of numbers or of arrays."""
    low, high = reals("lower", lower), reals("upper", upper)
    if low.shape != high.shape or not np.all(low <= high):
        raise DomainError(f"lower must be at or below upper, got {shown(lower)} and {shown(upper)}")
    return Bounds(low, high) if low.ndim else Bounds(lower, upper)


# Everything that a saved file can hold.
FILES = Codec(
    {
        **CURVES.forms,
        **{f"mechanism/{kind}": form for kind, form in MECHANISMS.items()},
        "bounds": Form(Bounds, _bounds),
        "plan": Form(Plan, _plan, runs=lambda plan: list(plan.mechanisms.items())),
        "plan-file": Form(PlanFile),
        **{kind.__name__.lower(): Form(kind) for kind in RESULTS},
    }
)


def save(thing: Any, path: str | PathLike[str]) -> None:
    """Write a curve, a mechanism, a plan, a plan file, bounds or a result as JSON, completely or not at all.

    Parameters
    ----------
    thing
        Object to write, or a list of objects. Results are answers, reductions, calibrations, allocations,
        tables of sweeps and sensitivities, baselines, audits in one run and refutations. ``DomainError`` for
        formulas, densities, laws of SciPy without a closed form (save their ``.lower``), estimates, bands,
        scores, comparisons and filters.
    path : file to write; an existing file is replaced

    Examples
    --------
    >>> import tempfile, pathlib, tradeoff as to
    >>> steps = to.subsample(to.Gaussian(1 / 1.1), 0.004) ** 14062
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to.save(steps, pathlib.Path(folder) / "steps.json")
    ...     to.load(pathlib.Path(folder) / "steps.json") == steps
    True
    """
    _check_ending(path, "spec.dump(spec.PlanFile(title, plan), path)")
    for each in thing if isinstance(thing, list | tuple) else (thing,):
        if not isinstance(each, (TradeOff, Mechanism, *FILES.kinds)):
            own = "; write the text of its to_json()" if hasattr(each, "to_json") else ""
            allowed = "a curve, a mechanism, a plan, bounds or a result, or a list of them"
            raise DomainError(f"thing must be {allowed}, got {type(each).__name__}{own}")
    atomic_write(path, FILES.dumps(thing, indent=1) + "\n")


def _check_ending(path: str | PathLike[str], remedy: str) -> None:
    """Refuse the ending of plan files, which are TOML."""
    if str(path).lower().endswith(".toml"):
        raise domain("path", str(path), "of a JSON file", f"for a plan file use {remedy}")


def load(path: str | PathLike[str]) -> Any:
    """Read a file that ``save`` wrote.

    Parameters
    ----------
    path : a JSON file; a list in it is read as a tuple. ``DomainError`` names the place of a wrong entry.

    Examples
    --------
    >>> import tempfile, pathlib, tradeoff as to
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to.save(to.Gaussian(1), pathlib.Path(folder) / "curve.json")
    ...     to.load(pathlib.Path(folder) / "curve.json")
    G_{1}
    """
    _check_ending(path, "spec.load(path)")
    content = read_text(path, 2**28)  # some three million vertices
    try:
        return FILES.loads(content)
    except ValueError as error:
        raise DomainError(f"{path}: {error}") from error
