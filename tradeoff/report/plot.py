"""Plots of trade-off curves, estimates and audits, heat maps of sweeps, figures for papers and Plotly's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from html import escape
from itertools import chain, cycle
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import reals
from tradeoff.display import folded, rounded
from tradeoff.errors import DomainError, KindError, TradeOffError, domain, needed, shown
from tradeoff.intervals.bounds import Array
from tradeoff.limits import ApproximateCurve
from tradeoff.mechanisms import Mechanism, Plan
from tradeoff.operators.symmetrise import Envelope
from tradeoff.report import styles
from tradeoff.report.methods import Claim, claim_of
from tradeoff.report.series import Kind, Scale, Series, View, limits, make_series, name_items, view_of
from tradeoff.sweeps import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tradeoff.report.canvas import PaperFigure


Look = dict[str, Any]  # keywords of a matplotlib line


def plot(
    *items: Any,
    kind: Kind = "tradeoff",
    scale: Scale = "linear",
    labels: Sequence[str] | None = None,
    legend: bool = True,
    inset: tuple[float, float] | None = None,
    ax: Axes | None = None,
    style: Literal["paper"] | None = None,
    columns: Literal[1, 2] = 1,
    interactive: bool = False,
    **line: Any,
) -> Any:
    """Draw guarantees, estimates and audits with the band between their bounds, or the table of a sweep.

    The first item is black and solid unless it is an estimate; the others are thin dashes over it, up to
    eleven distinct in grey too, so that lines that coincide are both seen. Each line is the conservative
    bound: a lower bound on beta, an upper bound on delta. The beta of a curve holds at every alpha on linear
    axes; elsewhere, and of bands, at the points of the line. Estimates have no band.

    Parameters
    ----------
    *items
        Curves; plans and mechanisms, whose guarantee for both orders is drawn; reductions to one mu; results
        of ``tradeoff.limits``, estimates and bands; scores (``tradeoff.empirical``: the estimate is the
        line, its simultaneous confidence band is filled); pairs (lower, upper) of curves with
        the truth between. Or one table of ``tradeoff.sweep`` over two parameters: a heat map
        (``tradeoff.report.plot.heatmap``).
    kind
        ``"tradeoff"``: type II error beta against type I error alpha. ``"roc"``: the power 1 - beta against
        alpha. ``"profile"``: delta on a log axis against epsilon in nats. ``"error"``: a lower bound on the
        distance of each beta from the first item's bounds, on a log axis, highlighted where it claims too
        much privacy; the width of those bounds is grey.
    scale : ``"linear"``, or ``"loglog"``: small type I errors, and 1 - beta as beta is next to 1 there
    labels
        A name for each item, used as it is; default: mechanisms with the parameters that differ,
        normal forms of other curves, of estimates the method and the word "estimate", and none for one item
        that is not an estimate. Many or long names go below, in lines that fit.
    legend : whether to name the lines in a legend
    inset : ends (low, high) of an interval of type I errors that a window shows enlarged
    ax
        Matplotlib axes to draw on, in the user's style; default: those of a new figure, styled where the
        user's matplotlib settings are defaults, with text as Type 42 fonts in PDFs.
    style : ``"paper"``: the settings of the style ``tradeoff.report.paper``, also where the user has others
    columns : width of a new figure in columns of a two-column paper: 1 is 3.3 inches, 2 is 7
    interactive : return a Plotly figure with values under the pointer instead
    **line : keywords of every line: of ``Line2D`` (heat map: ``pcolormesh``), or of Plotly's ``line``

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import tradeoff as to
    >>> f = to.Laplace(0.5)
    >>> axes = plot(f, to.limits.clt(f), ax=Figure().subplots())
    >>> axes.get_xlabel(), axes.get_legend().get_texts()[1].get_text()
    ('type I error α', 'CLT (estimate)')
    """
    if style not in (None, "paper"):
        raise domain("style", style, "None or 'paper'")
    if columns not in (1, 2):
        raise domain("columns", columns, "1 or 2")
    if len(items) == 1 and isinstance(items[0], Table):
        if (kind, scale, labels, interactive) != ("tradeoff", "linear", None, False):
            raise DomainError("a heat map takes no kind, scale, labels or interactive; leave them out")
        return heatmap(items[0], ax=ax if ax is not None else new_axes(style, columns), **line)
    claims = claims_of(items, labels, named=interactive)
    view = view_of(kind, scale, claims)
    if interactive:
        if ax is not None:
            raise domain("ax", ax, "None if interactive")
        return plotly_figure(view, claims, line)
    axes = ax if ax is not None else new_axes(style, columns)
    with drawing(axes, "give axes of matplotlib, and keywords of matplotlib.lines.Line2D", style):
        paint(axes, view, list(make_series(view, claims)), legend=legend, **line)
        if inset is not None:
            add_inset(axes, claims, inset)
    return axes


def claims_of(items: Sequence[Any], labels: Any = None, *, named: bool = False) -> list[Claim]:
    """Return the claim of each item, under its label or a name; a lone curve has none unless ``named``."""
    if not items:
        raise DomainError("plot() takes at least one curve, got none")
    if labels is not None:
        fits = hasattr(labels, "__len__") and not isinstance(labels, str) and len(labels) == len(items)
        if not (fits and all(isinstance(each, str) for each in labels)):
            raise domain("labels", labels, f"a list of texts, one for each item ({len(items)})")
        return list(map(claim_of, labels, items))
    named = named or len(items) > 1 or isinstance(items[0], ApproximateCurve)
    claims = list(map(claim_of, name_items(items) if named else [""] * len(items), items))
    if any(each.name.endswith("(one order)") for each in claims):  # guarantees name both orders, too
        for i, item in enumerate(items):
            if isinstance(item, Plan | Mechanism | Envelope):
                claims[i] = replace(claims[i], name=f"{claims[i].name} (both orders)")
    return claims


@contextmanager
def drawing(axes: Axes, remedy: str, style: str | None = None) -> Iterator[None]:
    """Draw in a style, or in that of the figure, and translate errors of matplotlib into ``DomainError``."""
    settings = styles.paper_settings() if style else getattr(getattr(axes, "figure", None), "style", {})
    try:
        with module("matplotlib").rc_context(settings):
            yield
    except TradeOffError:
        raise
    except (ValueError, OverflowError, AttributeError) as error:
        raise DomainError(f"matplotlib cannot draw it: {error}; {remedy}") from error


def paint(axes: Axes, view: View, series: Sequence[Series], *, legend: bool = True, **style: Any) -> Axes:
    """Draw lines, with the keywords ``style`` for all, and bands; name the axes, and place the legend."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    given = normalize_kwargs(style, Line2D)
    for name in given:
        if name in {"label", "clip_on", "data", "xdata", "ydata"} or not hasattr(Line2D, f"set_{name}"):
            raise DomainError(
                f"{name} must not be given, got {shown(given[name])}; give keywords of "
                "matplotlib.lines.Line2D, such as color or linewidth, and names as labels=[...]"
            )
    if view.chance is not None:
        axes.plot(view.grid, view.chance, **styles.CHANCE)
    axes.set(xscale=view.xscale, yscale=view.yscale, xlim=view.xlim, ylim=limits(view, series))
    axes.set(xlabel=view.xlabel, ylabel=view.ylabel)
    if view.square and view.yscale == "linear":
        axes.set_aspect("equal")
        if not axes.spines["top"].get_visible():  # open axes are moved, so that a curve along them is visible
            axes.spines[["left", "bottom"]].set_position(("outward", 3))
    elif view.square:
        axes.set_box_aspect(1)
    solid = not series[0].is_estimate  # black for the first item unless it is an estimate, dashes for others
    exact = {**styles.EXACT, "linewidth": 2.2} if len(series) > 1 else styles.EXACT
    for i, each in enumerate(series):
        look = exact if solid and not i else styles.dashed(i - solid)
        _paint_series(axes, view, each, {**look, **given})
    if legend and axes.get_legend_handles_labels()[1]:
        empty: Literal["lower right", "upper right"] = "lower right" if view.power else "upper right"
        styles.place_legend(axes, None if view.kind == "error" else empty)
    return axes


def _paint_series(axes: Axes, view: View, series: Series, look: Look) -> None:
    """Draw the band, the line, and where it claims too much privacy a broad highlight, of one series."""
    from matplotlib.patheffects import withStroke

    name, y = styles.readable(series.name), series.y
    if series.band is not None:
        # The first series of errors has a band alone.
        is_named = y is None and np.max(series.band.upper) > axes.get_ylim()[0]
        label = f"{name}: width of its bounds" if is_named else None
        axes.fill_between(series.x, *series.band, color=look["color"], label=label, **styles.BAND)
    if y is not None:  # a line along the edge of the axes is not clipped
        at_edge = view.square and view.whole and view.yscale == "linear"
        y = np.where(y > 0, y, np.nan) if axes.get_yscale() == "log" else y
        (line,) = axes.plot(series.x, y, label=name or None, clip_on=not at_edge, **look)
        if line.is_dashed():  # white edges, so that dashes are seen over another line
            line.set_path_effects([withStroke(linewidth=line.get_linewidth() + 1.0, foreground="white")])
    if series.unsafe is not None:
        highlight: Look = {"linewidth": 4, "alpha": 0.35, "solid_capstyle": "butt", "zorder": 1.6}
        axes.plot(series.x, series.unsafe, color=look["color"], **highlight)


def figure(curve: TradeOff, *, title: str = "") -> Figure:
    """Draw one curve on a figure of its own, without pyplot."""
    result: PaperFigure = module("tradeoff.report.canvas").PaperFigure()
    plot(curve, ax=result.subplots())
    with module("matplotlib").rc_context(result.style):
        styles.add_title(result, folded(title))
    return result


def module(name: str) -> Any:
    """Import a module that needs matplotlib; raise ``MissingExtraError`` if that is not installed."""
    return needed(name, 'plots need matplotlib: pip install "tradeoff[plot]"')


def new_axes(style: str | None = None, columns: int = 1) -> Any:
    """Return the axes of a new pyplot figure, ``columns`` columns wide."""
    size = (styles.PAGE, styles.COLUMN) if columns == 2 else None
    kind, pyplot = module("tradeoff.report.canvas").PaperFigure, module("matplotlib.pyplot")
    return pyplot.figure(FigureClass=kind, paper=style == "paper", figsize=size).subplots()


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
        geometric grid gets a log axis, and values over several decades logarithmic colours; those that are
        not finite are left white.
    column : column to draw; default: the only column of answers, and of bounds ``upper``
    levels : values of the contour lines, which interpolate between the points and are not bounds there
    label : name of the values, such as "ε at δ = 1e-5"; default: the column's
    ax : Matplotlib axes to draw on; default: those of a new figure
    **style : keywords of ``matplotlib.axes.Axes.pcolormesh``

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
    ticker, effects = module("matplotlib.ticker"), module("matplotlib.patheffects")
    remedy = "give increasing levels, keywords of pcolormesh, and values within some hundred powers of ten"
    with drawing(axes, remedy), np.errstate(all="ignore"):
        # colours and levels are logarithmic above a ratio of 30
        log = values.min() > 0 and values.max() > 30.0 * values.min()
        look = {"cmap": "Blues", "norm": "log" if log else None, "shading": "nearest", "rasterized": True}
        cells = axes.pcolormesh(x, y, values, **{**look, **style})
        # labels of more than seven lines overlap on one column
        locator = ticker.LogLocator(subs=(1, 2, 5)) if log else ticker.MaxNLocator(7)
        chosen = levels if levels is not None else locator.tick_values(values.min(), values.max())
        lines = axes.contour(x, y, values, levels=chosen, colors="black", linewidths=0.8)
        for text in axes.clabel(lines, fmt=lambda level: f"{level:g}", fontsize="small"):
            text.set_path_effects([effects.withStroke(linewidth=2, foreground="white")])
        axes.set(xlabel=table.columns[0], ylabel=table.columns[1])
        axes.set(xscale=_axis_scale(x), yscale=_axis_scale(y))
        for axis, values_along in ((axes.xaxis, x), (axes.yaxis, y)):
            # powers of ten are enough ticks on three decades
            if _axis_scale(values_along) == "log" and values_along[-1] < 1e3 * values_along[0]:
                axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
                axis.set_major_formatter(lambda value, _: f"{value:g}")
                axis.set_minor_formatter(ticker.NullFormatter())
        axes.figure.colorbar(cells, ax=axes, label=styles.readable(label or name))
    return axes


def _grid(table: Table, column: str | None) -> tuple[Array, Array, str, Any]:
    """Return x, y, the label of the values, and the values of shape (y, x), masked where not finite."""
    if len(table.columns) < 3:
        raise DomainError(f"table must have two parameters and an answer, got columns {table.columns}")
    first, second, *answers = table.columns
    name = column or (answers[0] if len(answers) == 1 else "upper")
    if name not in table.columns:
        raise domain("column", name, f"one of {table.columns}")
    x, across = np.unique(reals(first, table[first]), return_inverse=True)
    y, up = np.unique(reals(second, table[second]), return_inverse=True)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise DomainError(f"{first!r} and {second!r} must be finite")
    if min(len(x), len(y)) < 2 or len(table) != len(x) * len(y):
        grid = f"{len(x)} values of {first!r} and {len(y)} of {second!r}"
        raise DomainError(f"table must be a grid of two or more values each, got {len(table)} rows of {grid}")
    values = np.full((len(y), len(x)), np.nan)
    values[up, across] = reals(name, [np.nan if each is None else each for each in table[name]])
    if not np.isfinite(values).any():
        raise DomainError(f"{name!r} must have a finite value")
    label = {"upper": "upper bound", "lower": "lower bound"}.get(name, name)
    return x, y, label, np.ma.masked_invalid(values)


def _axis_scale(values: Array) -> str:
    """Return "log" if the ratios of neighbours differ less than their distances do, relative to the mean."""
    if values[0] <= 0:
        return "linear"
    even, ratios = np.diff(values), np.diff(np.log(values))
    return "log" if np.std(ratios) / np.mean(ratios) < np.std(even) / np.mean(even) else "linear"


@contextmanager
def paper(
    width: float = styles.COLUMN, height: float = 2.7, *, layout: Literal["none"] | None = None, **grid: Any
) -> Iterator[tuple[Figure, Any]]:
    """Yield a figure in the style of papers, its size in inches, and axes by keywords of ``Figure.subplots``.

    With ``layout`` "none" its margins are fixed: measuring them takes matplotlib as long as drawing.
    """
    figure = module("tradeoff.report.canvas").PaperFigure(figsize=(width, height), layout=layout)
    with module("matplotlib").rc_context(figure.style):
        yield figure, figure.subplots(**grid)


def add_inset(axes: Axes, claims: Sequence[Claim], inset: tuple[float, float]) -> Axes:
    """Add a window on the type I errors of an interval in the empty upper right of a plot.

    Its text is how much it enlarges either axis, of which the window takes 0.4.
    """
    ends = reals("inset", inset).tolist()
    if np.shape(ends) != (2,) or not 0 <= ends[0] < ends[1] <= 1:
        raise domain("inset", inset, "two type I errors in increasing order")
    low, high = ends
    window = axes.inset_axes((0.58, 0.58, 0.4, 0.4))
    view = view_of("tradeoff", "linear", claims[:1]).pointwise(np.linspace(low, high, 25))
    series = list(make_series(view, [claims[0], *map(Claim.outline, claims[1:])]))
    heights = np.asarray(series[0].y)
    bottom, top = float(np.min(heights)), float(np.max(heights))
    paint(window, replace(view, xlim=(low, high), ylim=(bottom, top)), series, legend=False)
    window.set(xticks=[], yticks=[], xlabel="", ylabel="", aspect="auto")
    spans = {"α": high - low, "β": top - bottom}
    factors = [f"{name} ×{float(f'{0.4 / span:.2g}'):,.0f}" for name, span in spans.items() if span > 0]
    look: Look = {"ha": "right", "va": "top", "fontsize": "small", "color": "0.3"}
    window.text(0.95, 0.94, "\n".join(factors), transform=window.transAxes, **look)
    for spine in window.spines.values():
        spine.set(visible=True, color="0.5", linewidth=0.6, position=("outward", 0))
    axes.indicate_inset_zoom(window, edgecolor="0.5", linewidth=0.6)
    return window


def shared_legend(figure: Figure, *panels: Axes) -> None:
    """Replace the legends of all panels by one below them; of equal labels the first line is shown."""
    handles: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
        if legend := axes.get_legend():
            legend.remove()
    inches = 0.6 + 0.065 * max(map(len, handles), default=0)  # of a line and its label
    columns = max(min(len(handles), int(figure.get_figwidth() / inches), 5), 1)
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=columns)


def draw_methods(curve: TradeOff, rows: Sequence[Any], kind: Kind = "profile", *, across: int = 4) -> Figure:
    """Draw each method that applies in a panel over the exact curve; its verdict is in the title."""
    rows = [row for row in rows if row.claim is not None]
    down = max(-(-len(rows) // across), 1)
    exact = claim_of("certified bound", curve)
    view = view_of(kind, "linear", [exact])
    # Enough for a panel of 1.6 inches; lines of delta at these points need no search for each method's reach.
    view = replace(view, grid=view.grid[::4], whole=kind != "profile")
    line = next(make_series(view, [exact]))
    w, h = styles.PAGE * across / 4, 0.9 + 1.55 * down
    with paper(w, h, layout="none", nrows=down, ncols=across, sharex=True, sharey=True) as (figure, grid):
        # Below are the labels of the axis, and a legend of up to two lines.
        figure.subplots_adjust(0.55 / w, 0.8 / h, 1 - 0.1 / w, 1 - 0.2 / h, wspace=0.1, hspace=0.2)
        panels = np.ravel(grid)
        for i, (axes, row) in enumerate(zip(panels, rows, strict=False)):
            method: list[Series] = []
            with suppress(TradeOffError):  # one without an answer has the exact line alone
                name = "unsafe method" if row.unsafe else "method"
                method = list(make_series(view, [replace(row.claim.outline(), name=name)]))
            paint(axes, view, [line, *method], legend=False)
            if row.unsafe and method:  # red if the method claims too much privacy
                axes.get_lines()[-1].set_color("#b3261e")
            axes.set_title(f"{row.name}: {row.verdict}", fontsize="small", y=1.0)
            is_lowest = i + across >= len(rows)
            axes.tick_params(labelbottom=is_lowest, labelleft=i % across == 0)
            axes.set(xlabel=view.xlabel if is_lowest else "", ylabel="" if i % across else view.ylabel)
        shared_legend(figure, *panels[: len(rows)])
        for axes in panels[len(rows) :]:
            axes.remove()
    return figure


def plotly_figure(view: View, claims: Sequence[Claim], style: Mapping[str, Any]) -> Any:
    """Draw claims in a view at the points of its grid; ``style`` applies to every line."""
    remedy = 'interactive plots need plotly: pip install "tradeoff[report]"'
    objects = needed("plotly.graph_objects", remedy)
    try:
        objects.scatter.Line(style)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise DomainError(f"style must be keywords of Plotly's line, got {shown(style)}: {reason}") from None
    view = view.pointwise(view.grid)
    series = list(make_series(view, claims))

    def axis(scale: str, ends: tuple[float, float], title: str) -> dict[str, Any]:
        ends = np.log10(ends).tolist() if scale == "log" else ends
        return {"type": scale, "range": ends, "title": {"text": title}, "exponentformat": "power"}

    layout = {
        "xaxis": axis(view.xscale, view.xlim, view.xlabel),
        "yaxis": axis(view.yscale, limits(view, series), view.ylabel),
        "hovermode": "x unified",
        "legend": {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
        "template": "simple_white",
        "height": 600,
        "margin": {"t": 60, "r": 20, "l": 70},
    }
    return objects.Figure({"data": [*_traces(view, series, style)], "layout": layout})


def _traces(view: View, series: Sequence[Series], style: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield Plotly's bands and lines: the first solid unless it is an estimate, the others dashed."""
    width = 1.8  # of a line, in pixels
    dashes = [",".join(f"{width * length:.3g}px" for length in dash) for dash in styles.DASHES]  # as in print
    if view.chance is not None:
        chance = Series("perfect privacy", "", view.grid, view.chance)
        yield _trace(chance, view.symbol, {"color": "#999999", "dash": "1px,3px", "width": width})
    first = [] if series[0].is_estimate else [("#000000", "solid")]
    looks = chain(first, cycle(zip(styles.COLOURS, dashes, strict=True)))
    for each, (colour, dash) in zip(series, looks, strict=False):
        pale = f"rgba({','.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))},0.3)"
        if each.band is not None:  # two invisible lines, and the area between them
            edge = {"type": "scatter", "mode": "lines", "showlegend": False, "hoverinfo": "skip"}
            edge |= {"x": each.x, "line": {"width": 0}}
            yield {**edge, "y": each.band.lower}
            yield {**edge, "y": each.band.upper, "fill": "tonexty", "fillcolor": pale}
        if each.y is not None:
            yield _trace(each, view.symbol, {"color": colour, "dash": dash, "width": width, **style})
        if each.unsafe is not None:
            unsafe = Series(f"{each.name}: claims too much", "", each.x, each.unsafe)
            yield _trace(unsafe, view.symbol, {"color": pale, "width": 8})


def _trace(each: Series, symbol: str, line: dict[str, Any]) -> dict[str, Any]:
    """Return a line of Plotly whose values under the pointer are rounded to the side of the bound."""
    values, sign = np.asarray(each.y), {"lower": "≥ ", "upper": "≤ ", "": ""}[each.side]
    digits = partial(rounded, side=each.side, digits=6) if each.side else "{:.6g}".format
    text = [f"{symbol} {'unknown' if np.isnan(y) else sign + digits(y)}" for y in values.tolist()]
    # The name is HTML: its formulas, as $\mathrm{G}_{0.5}^{2}$ of matplotlib, have <sub> and <sup>.
    parts = re.split(r"\$([^$]*[\\_^][^$]*)\$", escape(each.name, quote=False))
    for i in range(1, len(parts), 2):
        formula = re.sub(r"\\mathrm\{(.*?)\}", r"\1", parts[i].replace(r"\times", "×"))
        formula = re.sub(r"_\{(.*?)\}", r"<sub>\1</sub>", formula)
        parts[i] = re.sub(r"\^\{(.*?)\}", r"<sup>\1</sup>", formula)
    look = {"type": "scatter", "mode": "lines", "name": "".join(parts), "hovertemplate": "%{text}"}
    return {**look, "x": each.x, "y": values, "text": text, "line": line}
