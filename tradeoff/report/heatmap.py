"""Heat maps of sweeps over two parameters, with labelled contour lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tradeoff.errors import DomainError, KindError, shown
from tradeoff.intervals.rounding import Array
from tradeoff.report.plot import matplotlib_errors, module, new_axes
from tradeoff.report.styles import readable
from tradeoff.sweeps import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVELS = 7  # contour lines unless said otherwise: as many as labels have room for on one column
_REMEDY = "give increasing levels, keywords of pcolormesh, and values within some hundred powers of ten"
_DECADE = 30.0  # ratio of the largest to the least value from which colours and levels are logarithmic
_PLAIN = 1e3  # ratio of the ends of a log axis from which powers of ten are ticks enough, else 1, 2 and 5


def heatmap(
    table: Table,
    column: str | None = None,
    *,
    levels: Sequence[float] | None = None,
    label: str | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw what a sweep over two parameters found: a cell for each point, and labelled contour lines.

    Parameters
    ----------
    table
        What ``tradeoff.sweep`` returns over a grid of two parameters; the first goes across. A parameter or
        a value spaced by ratios gets a log axis or logarithmic colours.
    column
        What to draw; default: the one column of answers, and of bounds ``upper``, as its label says.
    levels
        Values of the contour lines, which run straight between the points and are no bounds there.
    label
        Name of the values, such as "ε at δ = 1e-5"; default: the column's.
    ax
        Matplotlib axes to draw on; default: those of a new figure.
    **style
        Keywords of ``matplotlib.axes.Axes.pcolormesh``.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on. Values that are not finite are left white.

    Raises
    ------
    DomainError
        If the rows are no grid of two numeric parameters, or there is no such column of numbers, or none of
        them is finite.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import tradeoff as to
    >>> grid = {"mu": [0.5, 1.0, 2.0], "delta": [1e-7, 1e-5, 1e-3]}
    >>> table = to.sweep(lambda mu, delta: to.Gaussian(mu).epsilon(delta), grid)
    >>> axes = heatmap(table, ax=Figure().subplots(), label="ε")
    >>> axes.get_xscale(), axes.get_ylabel()
    ('log', 'delta')
    """
    if not isinstance(table, Table):
        raise KindError(f"{shown(table)} is no table; give what tradeoff.sweep returns")
    x, y, named, values = _grid(table, column)
    axes = ax if ax is not None else new_axes()
    mpl = module("matplotlib")
    with (
        mpl.rc_context(getattr(axes.figure, "style", {})),
        np.errstate(all="ignore"),
        matplotlib_errors(_REMEDY),
    ):
        log = values.min() > 0 and values.max() > _DECADE * values.min()
        norm = module("matplotlib.colors").LogNorm() if log else None
        look = {"cmap": "Blues", "norm": norm, "shading": "nearest", "rasterized": True, **style}
        cells = axes.pcolormesh(x, y, values, **look)
        ticker = module("matplotlib.ticker")
        locator = ticker.LogLocator(subs=(1, 2, 5)) if log else ticker.MaxNLocator(_LEVELS)
        chosen = levels if levels is not None else locator.tick_values(values.min(), values.max())
        lines = axes.contour(x, y, values, levels=chosen, colors="black", linewidths=0.8)
        effects = module("matplotlib.patheffects")
        for text in axes.clabel(lines, fmt=lambda level: f"{level:g}", fontsize="small"):
            text.set_path_effects([effects.withStroke(linewidth=2, foreground="white")])
        axes.set(xlabel=table.columns[0], ylabel=table.columns[1])
        axes.set(xscale=_scale(x), yscale=_scale(y))
        for axis, along in ((axes.xaxis, x), (axes.yaxis, y)):
            if _scale(along) == "log" and along[-1] < _PLAIN * along[0]:
                axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
                axis.set_major_formatter(lambda value, _: f"{value:g}")
                axis.set_minor_formatter(ticker.NullFormatter())
        axes.figure.colorbar(cells, ax=axes, label=readable(label or named))
    return axes


def _grid(table: Table, column: str | None) -> tuple[Array, Array, str, Any]:
    """Return both axes, the name of the values, and the values with what is not finite masked."""
    if len(table.columns) < 3:
        raise DomainError(f"columns = {table.columns} are not two parameters and an answer; sweep over two")
    first, second, *answers = table.columns
    if column is None and len(answers) > 1 and "upper" not in answers:
        raise DomainError(f"column = 'upper' is none of {table.columns}; give column=, the one to draw")
    named = column or (answers[0] if len(answers) == 1 else "upper")
    try:
        x, across = np.unique(np.array(table[first], dtype=float), return_inverse=True)
        y, up = np.unique(np.array(table[second], dtype=float), return_inverse=True)
        result = np.array(table[named], dtype=float)
    except (TypeError, ValueError) as error:
        raise DomainError(f"{first!r}, {second!r} and {named!r} are not all numbers: {error}") from error
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise DomainError(f"{first!r} or {second!r} is not finite everywhere; sweep over finite parameters")
    if min(len(x), len(y)) < 2 or len(table) != len(x) * len(y):
        grid = f"{len(x)} values of {first!r} and {len(y)} of {second!r}, two or more of each"
        raise DomainError(f"{len(table)} rows are no grid of {grid}; sweep over two parameters")
    values = np.full((len(y), len(x)), np.nan)
    values[up, across] = result
    if not np.isfinite(values).any():
        raise DomainError(f"{named!r} has no finite value; sweep where there are answers")
    said = {"upper": "upper bound", "lower": "lower bound"}.get(named, named)
    return x, y, said, np.ma.masked_invalid(values)


def _scale(values: Array) -> str:
    """Return "log" for values spaced by ratios."""
    if values[0] <= 0:
        return "linear"
    even, ratios = np.diff(values), np.diff(np.log(values))
    return "log" if np.std(ratios) / np.mean(ratios) < np.std(even) / np.mean(even) else "linear"
