"""Outcomes of the experiment as data and as a figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tradeoff.filters.noise_reduction.experiment import Outcome
from tradeoff.report.answers import finite
from tradeoff.report.figures import paper, shared_legend
from tradeoff.report.styles import COLOURS, COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def rows(found: Mapping[str, Outcome]) -> list[dict[str, Any]]:
    """Return one row per method: mean and half-width of the 95% interval of counts released, and of those accurate in truth.

    Parameters
    ----------
    found
        Outcome by method.

    Returns
    -------
    list of dict
        Text and numbers; an infinite half-width (one run) is the string ``"inf"``.

    Examples
    --------
    >>> rows({"Laplace": Outcome(released=(3, 5), accurate=(3, 4))})[0]["released"]
    4.0
    """
    return [{"method": name, **_means(outcome)} for name, outcome in found.items()]


def _means(outcome: Outcome) -> dict[str, float | str]:
    intervals = {name: outcome.interval(name) for name in ("released", "accurate")}
    means: dict[str, float | str] = {name: mean for name, (mean, _) in intervals.items()}
    return means | {f"{name}_half_width": finite(half) for name, (_, half) in intervals.items()}


def experiment_figure(tables: Mapping[str, Mapping[str, Outcome]], *, title: str = "") -> Figure:
    """Draw, for each count table, how many counts every method released, with the 95% interval over runs.

    Parameters
    ----------
    tables
        Outcomes by method, by the name of the table.
    title
        Text above.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
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
