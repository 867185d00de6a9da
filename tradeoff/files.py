"""Curves, plans and answers in JSON files, every number exact."""

from __future__ import annotations

from dataclasses import replace
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import numpy as np

from tradeoff.audits import OneRun, Refutation
from tradeoff.baselines import Baseline
from tradeoff.curves.parameters import count, reals
from tradeoff.design.allocate import Allocation
from tradeoff.design.calibration import Calibration
from tradeoff.design.sensitivities import Sensitivities
from tradeoff.errors import DomainError, file_name, shown
from tradeoff.exchange import CURVES, Codec, Form, attributes, record
from tradeoff.gdp.reduction import Reduction
from tradeoff.intervals.bounds import Bounds
from tradeoff.mechanisms import KINDS, Mechanism, Plan
from tradeoff.report.answers import Answer, Answers
from tradeoff.spec import QUESTIONS, PlanFile
from tradeoff.sweeps import Table
from tradeoff.whole_files import read_text, write_whole

_LARGEST = 2**28  # most letters that are read, so that an endless file is refused


# Results of questions, kept by their fields.
RESULTS = (
    Answer,
    Answers,
    Reduction,
    Calibration,
    Allocation,
    Table,
    Sensitivities,
    Baseline,
    OneRun,
    Refutation,
)


def _plan(mechanisms: Any, counts: Any, adjacency: Any) -> Plan:
    read: dict[Any, Any] = {}
    for mechanism, given in zip(mechanisms, counts, strict=True):
        n = count("count", given)
        read[mechanism] = read[mechanism] + n if mechanism in read else n  # a joined file may name one twice
    return Plan(read, adjacency)


def _bounds(lower: Any, upper: Any) -> Bounds:
    low, high = reals("lower", lower), reals("upper", upper)
    if low.shape != high.shape:
        raise DomainError(f"lower has the shape {low.shape}, and upper {high.shape}")
    if not np.all(low <= high):
        raise DomainError(f"lower = {shown(lower)} is not at or below upper = {shown(upper)}")
    if not low.ndim:
        return Bounds(lower, upper)
    return Bounds(low, high)


def _mechanism(kind: type[Mechanism]) -> Form:
    """Return the form of a mechanism: its parameters by name, those left out left out."""
    known = signature(kind).parameters
    optional = tuple(name for name, each in known.items() if each.default is not Parameter.empty)
    return Form(kind, kind.parameters, kind, tuple(known), optional)


# Everything that a file holds, by the name it has there.
CODEC = Codec(
    {
        **CURVES.forms,
        **{f"mechanism/{name}": _mechanism(kind) for name, kind in KINDS.items()},
        "bounds": replace(attributes(Bounds, lower="lower", upper="upper"), make=_bounds),
        "plan": Form(
            Plan,
            lambda plan: {
                "mechanisms": list(plan.mechanisms),
                "counts": list(plan.mechanisms.values()),
                "adjacency": plan.adjacency,
            },
            _plan,
            ("mechanisms", "counts", "adjacency"),
        ),
        "plan-file": attributes(PlanFile, **{name: name for name in ("title", "plan", *QUESTIONS)}),
        **{kind.__name__.lower(): record(kind) for kind in RESULTS},
    }
)


def save(thing: Any, path: str | Path) -> None:
    """Write a curve, a plan, a plan file, bounds or a result as JSON: whole, or not at all.

    Parameters
    ----------
    thing
        What to write; lists of them, too. Results are answers, reductions, calibrations, allocations, tables
        of sweeps and sensitivities, baselines, audits in one run and refutations.
    path
        Where to; an existing file is replaced.

    Raises
    ------
    DomainError
        If it has no form in a file, or the file cannot be written. None have formulas, densities and laws of
        SciPy that are no closed form (save their ``.lower``), estimates, bands, scores and filters;
        comparisons have ``to_csv``, certificates ``to_json``, filters a ledger.

    Notes
    -----
    Every float reads back to its last bit, fractions are texts such as "1/3", infinities "inf" and "-inf".
    A table is one object, with its "kind" and its entries; the outermost holds the "schema" number, 1.

    Examples
    --------
    >>> import tempfile, pathlib, tradeoff as to
    >>> steps = to.subsample(to.Gaussian(1 / 1.1), 0.004) ** 14062
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to.save(steps, pathlib.Path(folder) / "steps.json")
    ...     to.load(pathlib.Path(folder) / "steps.json") == steps
    True
    """
    write_whole(path, CODEC.dumps(thing, indent=1) + "\n")


def load(path: str | Path) -> Any:
    """Read what ``save`` wrote.

    Parameters
    ----------
    path
        A JSON file.

    Returns
    -------
    TradeOff, Plan, PlanFile, Bounds, a result or tuple
        An object equal to the one that was saved; a list comes back as a tuple.

    Raises
    ------
    DomainError
        If the file cannot be read, has another schema, or an entry is not allowed: its place, value, and
        what is.

    Examples
    --------
    >>> import tempfile, pathlib, tradeoff as to
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to.save(to.Gaussian(1), pathlib.Path(folder) / "curve.json")
    ...     to.load(pathlib.Path(folder) / "curve.json")
    G_{1}
    """
    place = file_name(path)
    try:
        content = read_text(place, _LARGEST)
        if len(content) > _LARGEST:
            raise DomainError(f"holds more than {_LARGEST} letters, which is no curve")
        return CODEC.loads(content)
    except OSError as error:
        raise DomainError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # errors of JSON and of text, and our own
        raise DomainError(f"{path}: {error}") from error
