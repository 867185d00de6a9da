"""How many counts can be released within a relative error under one budget, and by which mechanism.

python examples/relative_error.py --runs 100 --plot relative-error.svg
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from tradeoff.display import plain
from tradeoff.errors import BudgetExceeded, DomainError
from tradeoff.filters.base import Filter
from tradeoff.filters.budgets import ExPost, ExPostFilter, rho_within
from tradeoff.filters.noise_reduction import (
    BrownianMechanism,
    Doubling,
    LaplaceNoiseReduction,
    NoiseReduction,
    Release,
    UnifiedFilter,
    UnifiedZCDPFilter,
    geometric,
)
from tradeoff.mechanisms import ExponentialMechanism
from tradeoff.report.answers import finite
from tradeoff.report.plot import paper, shared_legend
from tradeoff.report.series import number
from tradeoff.report.styles import COLOURS, COLUMN, check_target, save

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
    choice
        From the epsilon of an exponential mechanism to what its choice spends of the filter.
    """

    filter: Callable[[float, float], Filter]
    session: Callable[[float, Iterable[float], Filter, np.random.Generator], NoiseReduction]
    levels: Callable[[float], Iterable[float]]
    half_width: Callable[[float], float]
    variance: Callable[[float], float]
    choice: Callable[[float], Any]


@dataclass(frozen=True)
class Outcome:
    """What one method did, run by run.

    Parameters
    ----------
    released
        How many counts each run released.
    accurate
        How many of them were within the relative error in truth.
    top
        How many of the m released are among the m largest in truth.
    """

    released: tuple[int, ...]
    accurate: tuple[int, ...]
    top: tuple[int, ...] = ()

    def interval(self, name: str = "released", *, share: bool = False) -> tuple[float, float]:
        """Return mean and half-width of the 95% Student interval of a number, or of its share of releases."""
        values = np.asarray(getattr(self, name), dtype=float) / (np.maximum(self.released, 1) if share else 1)
        if values.size < 2:
            return float(values.mean()), math.inf
        return float(values.mean()), float(
            student.ppf((1 + CONFIDENCE) / 2, values.size - 1) * values.std(ddof=1) / math.sqrt(values.size)
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
    order: Literal["public", "gumbel"] = "public",
    step: Callable[[str], Any] = lambda _: None,
) -> dict[str, Outcome]:
    """Release counts, each refined until it looks accurate, until the budget refuses; by every method.

    ``counts`` are positive, each of sensitivity 1, and which elements there are is public. In the order
    "public" they come as given; in the order "gumbel" each is the largest of those left after Gumbel noise of
    scale 1/eps: an exponential mechanism of bounded range eps, as a record only raises counts, paid before it
    is drawn. The first eps is ``epsilon``/500; then 1/eps is half of ``error`` times the last value released.
    The rule sees released values only: stop
    at the value z with noise half-width w once w <= error (z - w). Where the noise is within w, as it is in
    95% of draws, the true count is at least z - w and the relative error at most ``error``. A run ends at the
    first refusal; the count it happened at is not released. Every next count starts at 16 times the variance
    at which the last one stopped: a choice made in view of released values, which all of the filters allow.
    ``step`` is called with the name of each method before it runs.
    """
    table = _counts(counts)
    goal = (
        real("epsilon", epsilon, 0, open_low=True, open_high=True),
        real("delta", delta, 0, 1, open_low=True, open_high=True),
        real("error", error, 0, 1, open_low=True, open_high=True),
    )
    repeats, origin = count("runs", runs, 1), count("seed", seed)
    results = {}
    for place, (name, method) in enumerate((METHODS if methods is None else methods).items()):
        step(name)
        each = [
            _run(table, method, goal, np.random.default_rng([origin, run, place]), order)
            for run in range(repeats)
        ]
        results[name] = Outcome(*zip(*each, strict=True))
    return results


def _counts(counts: ArrayLike) -> list[float]:
    values = np.asarray(counts, dtype=float)
    if values.ndim != 1 or not values.size or not np.all((values > 0) & (values < 1e15)):
        raise DomainError("counts are a list of positive numbers below 1e15, and these are not")
    return [float(each) for each in values]


def _run(
    table: list[float], method: Method, goal: tuple[float, float, float], rng: np.random.Generator, order: str
) -> tuple[int, int, int]:
    """Return how many counts one budget released, how many are accurate, and how many among the largest."""
    *budget, error = goal
    filter_, start, epsilon, left = method.filter(*budget), COARSEST, budget[0] / 500, np.array(table)
    released = []
    while left.size:
        levels, place = list(islice(method.levels(start), MOST_LEVELS)), 0
        try:
            if order == "gumbel":
                filter_.spend(method.choice(epsilon))
                place = int(np.argmax(left + rng.gumbel(scale=1 / epsilon, size=left.size)))
            session = method.session(left[place], levels, filter_, rng)
            release = session.run(lambda seen: looks_accurate(seen[-1], method, error), levels)
        except BudgetExceeded:
            break
        if release is None:
            break
        released.append((left[place], release.value))
        left, start = np.delete(left, place), HEAD_START * method.variance(release.level)
        epsilon = 2 / (error * release.value)
    true, noisy = np.reshape(released, (-1, 2)).T
    largest = np.sort(table)[::-1][: len(released)].min(initial=math.inf)
    return len(released), int(np.sum(abs(noisy - true) <= error * true)), int(np.sum(true >= largest))


def looks_accurate(release: Release, method: Method, error: float) -> bool:
    """Whether the noise's half-width w and the value z satisfy w <= error (z - w)."""
    width = method.half_width(release.level)
    return bool(width <= error * (release.value - width))


def mu_within(epsilon: float, delta: float) -> float:
    """Return almost the largest mu for which G_mu is (epsilon, delta)-DP."""
    return float(calibrate(Gaussian, {"epsilon": epsilon, "delta": delta}))


def _gdp(epsilon: float, delta: float) -> Filter:
    return UnifiedFilter(mu_within(epsilon, delta))


def _zcdp(epsilon: float, delta: float) -> Filter:
    return UnifiedZCDPFilter(rho_within(epsilon, delta))


def choice_in_zcdp(epsilon: float) -> Gaussian:
    """Return a step of rho = epsilon^2/8, which bounded range implies (Cesar, Rogers 2021)."""
    return Gaussian(epsilon / 2)


def _normal(
    budget: Callable[[float, float], Filter],
    session: type[BrownianMechanism | Doubling],
    factor: float,
    choice: Callable[[float], Any] = ExponentialMechanism,
) -> Method:
    return Method(
        filter=budget,
        session=lambda true, _, budget, rng: session(true, filter=budget, rng=rng),
        levels=lambda start: geometric(start, factor),
        half_width=lambda time: 1.959964 * math.sqrt(time),
        variance=float,
        choice=choice,
    )


METHODS = {
    "Brownian, GDP filter": _normal(_gdp, BrownianMechanism, FINE),
    "Brownian, zCDP filter": _normal(_zcdp, BrownianMechanism, FINE, choice_in_zcdp),
    "Laplace": Method(
        filter=lambda epsilon, _: ExPostFilter(epsilon),
        session=lambda true, levels, budget, rng: LaplaceNoiseReduction(true, levels, filter=budget, rng=rng),
        levels=lambda start: (math.sqrt(2 / time) for time in geometric(start, FINE)),
        half_width=lambda epsilon: math.log(20) / epsilon,
        variance=lambda epsilon: 2 / epsilon**2,
        choice=lambda epsilon: ExPost(epsilon, 0.0),
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
by definition, so their order contains no information.
"""


def zipf(largest: int = 100_000, size: int = 1000) -> Any:
    """Return the counts largest/1, largest/2, largest/3, ..., rounded to whole numbers."""
    return np.rint(largest / np.arange(1, size + 1)).astype(np.int64)


TABLES = {"zipf": zipf(), "doctor-visits": DOCTOR_VISITS}
"""Count tables by name, each in a public order from the largest down."""


def rows(results: Mapping[str, Outcome]) -> list[dict[str, Any]]:
    """Return mean and half-width of the 95% interval of counts released, and of those accurate, by method."""
    return [{"method": name, **_means(outcome)} for name, outcome in results.items()]


def _means(outcome: Outcome) -> dict[str, float | str]:
    intervals = {name: outcome.interval(name) for name in ("released", "accurate")}
    means: dict[str, float | str] = {name: mean for name, (mean, _) in intervals.items()}
    return means | {f"{name}_half_width": finite(half) for name, (_, half) in intervals.items()}


def experiment_figure(tables: Mapping[str, Mapping[str, Outcome]], *, title: str = "") -> Figure:
    """Draw, for each count table, how many counts every method released, with the 95% interval over runs."""
    with paper(COLUMN * len(tables), 2.6, ncols=len(tables), squeeze=False) as (figure, (panels,)):
        for axes, (name, results) in zip(panels, tables.items(), strict=True):
            series = ("released", "accurate")
            draw(
                axes,
                list(results),
                {each: [one.interval(each) for one in results.values()] for each in series},
            )
            axes.set(title=name, xlabel="counts per budget", xlim=(0, None))
        shared_legend(figure, *panels)
        figure.suptitle(title, fontsize=8)
    return figure


def draw(axes: Axes, methods: Sequence[str], series: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """Draw two series of means with half-widths, a line for each method."""
    looks = ({"fmt": "o", "color": "black"}, {"fmt": "x", "color": COLOURS[1]})
    for (label, pairs), look, offset in zip(series.items(), looks, (-0.14, 0.14), strict=True):
        means, halves = zip(*pairs, strict=True)
        places = np.arange(len(methods)) + offset
        axes.errorbar(means, places, xerr=halves, capsize=2, markersize=4, label=label, **look)
    axes.set(yticks=range(len(methods)), yticklabels=methods)
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
        results = {
            name: relative_error(counts, **settings, step=step)
            for name, counts in TABLES.items()
            if table in (name, "both")
        }
        if target is not None:
            title = f"ε = {number(epsilon)}, δ = {number(delta)}, relative error {number(error)}"
            save(experiment_figure(results, title=title), target)
    shown = {name: rows(outcomes) for name, outcomes in results.items()}
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
