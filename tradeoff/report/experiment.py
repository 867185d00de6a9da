"""Outcomes of the experiment as data and as a figure."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tradeoff.errors import MissingExtraError
from tradeoff.filters.noise_reduction.experiment import Outcome
from tradeoff.report.answers import finite

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
    try:
        made = importlib.import_module("matplotlib.figure").Figure(figsize=(4.6 * len(tables), 3.2), layout="constrained")
    except ImportError as error:
        raise MissingExtraError('plots need matplotlib: pip install "tradeoff[plot]"') from error
    for axes, (name, found) in zip(made.subplots(1, len(tables), squeeze=False)[0], tables.items(), strict=True):
        _draw(axes, name, found)
    made.suptitle(title, fontsize="medium")
    figure: Figure = made
    return figure


def _draw(axes: Axes, name: str, found: Mapping[str, Outcome]) -> None:
    places = range(len(found))
    for attribute, offset, marker, colour in (("released", -0.12, "o", "#0b3c5d"), ("accurate", 0.12, "x", "#b5421b")):
        means, halves = zip(*(outcome.interval(attribute) for outcome in found.values()), strict=True)
        axes.errorbar(means, [place + offset for place in places], xerr=halves, fmt=marker, color=colour, capsize=3, label=attribute)
    axes.set(yticks=list(places), yticklabels=list(found), title=name, xlabel="counts per budget", xlim=(0, None))
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize="small")
