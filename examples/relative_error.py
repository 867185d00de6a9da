"""How many counts can be released within a relative error under one budget, and by which mechanism.

python examples/relative_error.py --runs 100 --plot relative-error.svg
tradeoff experiment relative-error --runs 100           # the same, from a checkout
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import App, Parameter
from numpy.typing import ArrayLike
from rich.table import Table
from scipy.stats import t as student

from tradeoff import Gaussian, calibrate
from tradeoff.cli.terminal import Screen, progress
from tradeoff.curves.parameters import count, real
from tradeoff.errors import BudgetExceeded, DomainError
from tradeoff.filters.base import Filter
from tradeoff.filters.expost import ExPostFilter
from tradeoff.filters.noise_reduction import (
    BrownianMechanism,
    Doubling,
    LaplaceNoiseReduction,
    NoiseReduction,
    Release,
    geometric,
)
from tradeoff.filters.unified import UnifiedFilter, UnifiedZCDPFilter
from tradeoff.filters.zcdp import rho_within
from tradeoff.report.answers import finite
from tradeoff.report.figures import paper, shared_legend
from tradeoff.report.plain import plain
from tradeoff.report.saving import check_target, save
from tradeoff.report.styles import COLOURS, COLUMN, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

app = App(name="relative-error", console=Screen())

CONFIDENCE = 0.95
"""Of the interval over runs, and of the half-width a rule takes for the noise."""

COARSEST = 1e10
"""Variance at which the first count starts."""

HEAD_START = 16.0
"""Each next count starts this many times noisier, in variance, than the last one stopped."""

FINE = 2**0.25
"""Ratio of neighbouring variances where refining is free."""

MOST_LEVELS = 120
"""Levels of a session: from 1e10 down to 10, where every count is long accurate."""


@dataclass(frozen=True)
class Method:
    """A way to answer: the filter it spends from, its sessions, and their levels from a variance down.

    Parameters
    ----------
    filter
        From (epsilon, delta) to the filter that guarantees them.
    session
        From (count, levels, filter, generator) to a session.
    levels
        From a variance to the levels that start there.
    half_width
        From a level to the half-width that holds the noise with probability 0.95.
    variance
        From a level to the variance on the scale of ``levels``.
    """

    filter: Callable[[float, float], Filter]
    session: Callable[[float, Iterable[float], Filter, np.random.Generator], NoiseReduction]
    levels: Callable[[float], Iterable[float]]
    half_width: Callable[[float], float]
    variance: Callable[[float], float]


@dataclass(frozen=True)
class Outcome:
    """What one method did, run by run.

    Parameters
    ----------
    released
        How many counts each run released.
    accurate
        How many of them were within the relative error in truth.
    """

    released: tuple[int, ...]
    accurate: tuple[int, ...]

    def interval(self, name: str = "released") -> tuple[float, float]:
        """Return mean and half-width of the 95% Student interval of ``released`` or ``accurate``."""
        found = np.asarray(getattr(self, name), dtype=float)
        if found.size < 2:
            return float(found.mean()), math.inf
        return float(found.mean()), float(
            student.ppf((1 + CONFIDENCE) / 2, found.size - 1) * found.std(ddof=1) / math.sqrt(found.size)
        )


def relative_error(
    counts: ArrayLike,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    error: float = 0.1,
    runs: int = 20,
    seed: int = 0,
    methods: Mapping[str, Method] | None = None,
    step: Callable[[str], Any] = lambda _: None,
) -> dict[str, Outcome]:
    """Release counts, each refined until it looks accurate, until the budget refuses; by every method.

    ``counts`` are positive, of sensitivity 1 and in a public order. The rule sees released values only: stop
    at the value z with noise half-width w once w <= error (z - w). Where the noise is within w, as it is in
    95% of draws, the true count is at least z - w and the relative error at most ``error``. A run ends at the
    first refusal; the count it happened at is not released. Every next count starts at 16 times the variance
    at which the last one stopped: a choice made in view of released values, which all of the filters allow.
    ``step`` is called with the name of each method before it runs.
    """
    table = _counts(counts)
    budget = (
        real("epsilon", epsilon, 0, open_low=True, open_high=True),
        real("delta", delta, 0, 1, open_low=True, open_high=True),
    )
    aim, repeats, origin = (
        real("error", error, 0, 1, open_low=True, open_high=True),
        count("runs", runs, 1),
        count("seed", seed),
    )
    found = {}
    for place, (name, method) in enumerate((METHODS if methods is None else methods).items()):
        step(name)
        each = [
            _run(table, method, budget, aim, np.random.default_rng([origin, run, place]))
            for run in range(repeats)
        ]
        found[name] = Outcome(*zip(*each, strict=True))
    return found


def _counts(counts: ArrayLike) -> list[float]:
    found = np.asarray(counts, dtype=float)
    if found.ndim != 1 or not found.size or not np.all((found > 0) & (found < 1e15)):
        raise DomainError("counts are a list of positive numbers below 1e15, and these are not")
    return [float(each) for each in found]


def _run(
    table: list[float], method: Method, budget: tuple[float, float], error: float, rng: np.random.Generator
) -> tuple[int, int]:
    """Return how many counts were released under one budget, and how many of them are accurate in truth."""
    filter_, start, released, accurate = method.filter(*budget), COARSEST, 0, 0
    for true in table:
        levels = list(islice(method.levels(start), MOST_LEVELS))
        session = method.session(true, levels, filter_, rng)
        try:
            release = session.run(lambda seen: _looks_accurate(seen[-1], method, error), levels)
        except BudgetExceeded:
            break
        if release is None:
            break
        released, accurate = released + 1, accurate + (abs(release.value - true) <= error * true)
        start = HEAD_START * method.variance(release.level)
    return released, accurate


def _looks_accurate(release: Release, method: Method, error: float) -> bool:
    width = method.half_width(release.level)
    return bool(width <= error * (release.value - width))


def mu_within(epsilon: float, delta: float) -> float:
    """Return almost the largest mu for which G_mu is (epsilon, delta)-DP."""
    return float(calibrate(Gaussian, {"epsilon": epsilon, "delta": delta}))


def _gdp(epsilon: float, delta: float) -> Filter:
    return UnifiedFilter(mu_within(epsilon, delta))


def _zcdp(epsilon: float, delta: float) -> Filter:
    return UnifiedZCDPFilter(rho_within(epsilon, delta))


def _pure(epsilon: float, _delta: float) -> Filter:
    return ExPostFilter(epsilon)


def _normal(
    budget: Callable[[float, float], Filter], session: type[BrownianMechanism | Doubling], factor: float
) -> Method:
    return Method(
        filter=budget,
        session=lambda true, _, budget, rng: session(true, filter=budget, rng=rng),
        levels=lambda start: geometric(start, factor),
        half_width=lambda time: 1.959964 * math.sqrt(time),
        variance=float,
    )


METHODS = {
    "Brownian, GDP filter": _normal(_gdp, BrownianMechanism, FINE),
    "Brownian, zCDP filter": _normal(_zcdp, BrownianMechanism, FINE),
    "Laplace": Method(
        filter=_pure,
        session=lambda true, levels, budget, rng: LaplaceNoiseReduction(true, levels, filter=budget, rng=rng),
        levels=lambda start: (math.sqrt(2 / time) for time in geometric(start, FINE)),
        half_width=lambda epsilon: math.log(20) / epsilon,
        variance=lambda epsilon: 2 / epsilon**2,
    ),
    "doubling, factor √2": _normal(_gdp, Doubling, math.sqrt(2)),
    "doubling, factor 2": _normal(_gdp, Doubling, 2.0),
    "doubling, factor 4": _normal(_gdp, Doubling, 4.0),
}
"""The methods compared. Doubling spends from the GDP filter, which is the best there is for it."""


# fmt: off
DOCTOR_VISITS = np.array([
    20190, 13882, 10065, 7268, 5384, 4039, 3071, 2382, 1851, 1443, 1156, 950, 760, 642, 533, 451,
    392, 336, 303, 266, 231, 205, 183, 164, 145, 132, 124, 114, 108, 96, 90, 82, 74, 70, 65, 56, 51,
    51, 46, 37, 36, 33, 28, 28, 28, 22, 20, 18, 18, 16, 16, 16, 15, 12, 12, 12, 11, 10, 9, 8, 8, 8,
    8, 7, 6, 6, 5, 5, 5, 5, 4, 4, 4, 3, 3, 2, 2, 1,
])
# fmt: on
"""How many of 20,190 person-years had at least k visits to a doctor, k = 0, 1, ..., 77.

Column ``mdvis`` of ``statsmodels.datasets.randhie``: the RAND Health Insurance Experiment, as used by Cameron
and Trivedi, *Microeconometrics*, 2005; in the public domain, as statsmodels states. Adding a record changes
every count up to its number of visits by one, so each has sensitivity 1 and the counts compose; and they fall
by definition, so their order tells nothing.
"""


def zipf(largest: int = 100_000, size: int = 1000) -> Any:
    """Return the counts largest/1, largest/2, largest/3, ..., rounded to whole numbers."""
    return np.rint(largest / np.arange(1, size + 1)).astype(np.int64)


TABLES = {"zipf": zipf(), "doctor-visits": DOCTOR_VISITS}
"""Count tables by name, each in a public order from the largest down."""


def rows(found: Mapping[str, Outcome]) -> list[dict[str, Any]]:
    """Return mean and half-width of the 95% interval of counts released, and of those accurate, by method."""
    return [{"method": name, **_means(outcome)} for name, outcome in found.items()]


def _means(outcome: Outcome) -> dict[str, float | str]:
    intervals = {name: outcome.interval(name) for name in ("released", "accurate")}
    means: dict[str, float | str] = {name: mean for name, (mean, _) in intervals.items()}
    return means | {f"{name}_half_width": finite(half) for name, (_, half) in intervals.items()}


def experiment_figure(tables: Mapping[str, Mapping[str, Outcome]], *, title: str = "") -> Figure:
    """Draw, for each count table, how many counts every method released, with the 95% interval over runs."""
    with paper(COLUMN * len(tables), 2.6) as (figure, whole):
        whole.remove()
        panels = figure.subplots(1, len(tables), squeeze=False)[0]
        for axes, (name, found) in zip(panels, tables.items(), strict=True):
            _draw(axes, name, found)
        shared_legend(figure, *panels)
        figure.suptitle(title, fontsize=8)
    return figure


def _draw(axes: Axes, name: str, found: Mapping[str, Outcome]) -> None:
    places = range(len(found))
    for attribute, offset, marker, colour in (
        ("released", -0.14, "o", "black"),
        ("accurate", 0.14, "x", COLOURS[1]),
    ):
        means, halves = zip(*(outcome.interval(attribute) for outcome in found.values()), strict=True)
        axes.errorbar(
            means,
            [place + offset for place in places],
            xerr=halves,
            fmt=marker,
            color=colour,
            capsize=2,
            markersize=4,
            label=attribute,
        )
    axes.set(
        yticks=list(places), yticklabels=list(found), title=name, xlabel="counts per budget", xlim=(0, None)
    )
    axes.invert_yaxis()


Flag = Annotated[bool, Parameter(negative="")]


@app.default
def main(
    *,
    table: Literal["zipf", "doctor-visits", "both"] = "both",
    epsilon: float = 1.0,
    delta: float = 1e-6,
    error: float = 0.1,
    runs: int = 20,
    seed: int = 0,
    plot: Path | None = None,
    as_json: Annotated[Flag, Parameter(name="--json")] = False,
) -> None:
    """Release as many counts as possible within a relative error under one budget.

    Parameters
    ----------
    table
        Counts 100000/k; or how many of 20,190 person-years had at least k visits to a doctor; or both.
    epsilon
        Loss of each run in nats.
    delta
        Failure probability of each run.
    error
        Relative error aimed at.
    runs
        How often to repeat each method.
    seed
        Whole number; the same seed gives the same table.
    plot
        Draw the table into this file: .png, .svg or .pdf.
    as_json
        Print the table as JSON.
    """
    target = check_target(plot) if plot is not None else None
    settings = {"epsilon": epsilon, "delta": delta, "error": error, "runs": runs, "seed": seed}
    with progress() as step:
        found = {
            name: relative_error(counts, **settings, step=step)
            for name, counts in TABLES.items()
            if table in (name, "both")
        }
        if target is not None:
            title = f"ε = {number(epsilon)}, δ = {number(delta)}, relative error {number(error)}"
            save(experiment_figure(found, title=title), target)
    shown = {name: rows(outcomes) for name, outcomes in found.items()}
    if as_json:
        print(json.dumps({"settings": settings, "tables": shown}, allow_nan=False), flush=True)
    else:
        _show(shown, settings, target)


def _show(
    shown: Mapping[str, list[dict[str, Any]]], settings: Mapping[str, float], target: Path | None
) -> None:
    console = Screen(highlight=False)
    for name, lines in shown.items():
        table = Table("method", title=name, title_justify="left", title_style="bold")
        for head in ("counts released", "accurate in truth"):
            table.add_column(head, justify="right", no_wrap=True)
        for line in lines:
            pairs = [(line[each], line[f"{each}_half_width"]) for each in ("released", "accurate")]
            table.add_row(
                line["method"],
                *(f"{mean:.1f} ± {half:.1f}" if half != "inf" else f"{mean:.1f}" for mean, half in pairs),
            )
        console.print(table)
    console.print(
        f"Relative error {settings['error']:g} under ε = {settings['epsilon']:g}, δ = {settings['delta']:g}; "
        f"mean of {settings['runs']} runs with 95% intervals.",
        style="dim",
    )
    if target is not None:
        console.print(f"Plot written to {plain(target)}", style="dim", soft_wrap=True, markup=False)


if __name__ == "__main__":
    app()
