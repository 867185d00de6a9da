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


def heatmap(
    table: Table,
    column: str | None = None,
    *,
    levels: Sequence[float] | None = None,
    label: str | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw a sweep over two parameters: a coloured cell for each point, and labelled contour lines.

    Parameters
    ----------
    table
        Result of ``tradeoff.sweep`` over a grid of two parameters, the first of them on the x axis. A
        geometric grid gets a log axis, and values over several decades logarithmic colours.
    column
        Column to draw; default: the only column of answers, and of bounds ``upper``.
    levels
        Values of the contour lines, which interpolate between the points and are not bounds there.
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
        If the rows are not a grid of two numeric parameters, or the column has no finite number.
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
        raise KindError(f"table must be a result of tradeoff.sweep, got {shown(table)}")
    x, y, name, values = _grid(table, column)
    axes = ax if ax is not None else new_axes()
    mpl = module("matplotlib")
    remedy = "give increasing levels, keywords of pcolormesh, and values within some hundred powers of ten"
    with (
        mpl.rc_context(getattr(axes.figure, "style", {})),
        np.errstate(all="ignore"),
        matplotlib_errors(remedy),
    ):
        # colours and levels are logarithmic above a ratio of 30
        log = values.min() > 0 and values.max() > 30.0 * values.min()
        norm = module("matplotlib.colors").LogNorm() if log else None
        look = {"cmap": "Blues", "norm": norm, "shading": "nearest", "rasterized": True, **style}
        cells = axes.pcolormesh(x, y, values, **look)
        ticker = module("matplotlib.ticker")
        # labels of more than seven lines overlap on one column
        locator = ticker.LogLocator(subs=(1, 2, 5)) if log else ticker.MaxNLocator(7)
        chosen = levels if levels is not None else locator.tick_values(values.min(), values.max())
        lines = axes.contour(x, y, values, levels=chosen, colors="black", linewidths=0.8)
        effects = module("matplotlib.patheffects")
        for text in axes.clabel(lines, fmt=lambda level: f"{level:g}", fontsize="small"):
            text.set_path_effects([effects.withStroke(linewidth=2, foreground="white")])
        axes.set(xlabel=table.columns[0], ylabel=table.columns[1])
        axes.set(xscale=_scale(x), yscale=_scale(y))
        for axis, along in ((axes.xaxis, x), (axes.yaxis, y)):
            # powers of ten are enough ticks on three decades
            if _scale(along) == "log" and along[-1] < 1e3 * along[0]:
                axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
                axis.set_major_formatter(lambda value, _: f"{value:g}")
                axis.set_minor_formatter(ticker.NullFormatter())
        axes.figure.colorbar(cells, ax=axes, label=readable(label or name))
    return axes


def _grid(table: Table, column: str | None) -> tuple[Array, Array, str, Any]:
    """Return both axes, the label of the values, and the values, those that are not finite masked."""
    first, second, *answers = (*table.columns, "", "")[: max(len(table.columns), 2)]
    if not answers:
        raise DomainError(f"table must have two parameters and an answer, got columns {table.columns}")
    name = column or (answers[0] if len(answers) == 1 else "upper")
    if name not in table.columns:
        raise DomainError(f"column must be one of {table.columns}, got {name!r}")
    try:
        x, across = np.unique(np.array(table[first], dtype=float), return_inverse=True)
        y, up = np.unique(np.array(table[second], dtype=float), return_inverse=True)
        numbers = np.array(table[name], dtype=float)
    except (TypeError, ValueError) as error:
        raise DomainError(f"{first!r}, {second!r} and {name!r} must be numbers: {error}") from error
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise DomainError(f"{first!r} and {second!r} must be finite")
    if min(len(x), len(y)) < 2 or len(table) != len(x) * len(y):
        grid = f"{len(x)} values of {first!r} and {len(y)} of {second!r}"
        raise DomainError(f"table must be a grid of two or more values each, got {len(table)} rows of {grid}")
    values = np.full((len(y), len(x)), np.nan)
    values[up, across] = numbers
    if not np.isfinite(values).any():
        raise DomainError(f"{name!r} must have a finite value")
    label = {"upper": "upper bound", "lower": "lower bound"}.get(name, name)
    return x, y, label, np.ma.masked_invalid(values)


def _scale(values: Array) -> str:
    """Return "log" for a geometric grid."""
    if values[0] <= 0:
        return "linear"
    even, ratios = np.diff(values), np.diff(np.log(values))
    return "log" if np.std(ratios) / np.mean(ratios) < np.std(even) / np.mean(even) else "linear"
