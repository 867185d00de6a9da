"""Plots of trade-off curves, estimates and audits on matplotlib axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tradeoff.baselines import Baseline
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import assuming
from tradeoff.display import folded, rounded
from tradeoff.errors import DomainError, TradeOffError, needed, shown
from tradeoff.gdp import Reduction
from tradeoff.intervals.bounds import Bounds
from tradeoff.limits import ApproximateCurve, BerryEsseen
from tradeoff.mechanisms import Plan
from tradeoff.report.methods import Claim, claim_of
from tradeoff.report.series import Kind, Scale, Series, View, error_limits, make_series, positive, view_of
from tradeoff.report.styles import (
    BAND,
    CHANCE,
    EXACT,
    add_title,
    dashed,
    number,
    place_legend,
    readable,
    typeset,
    unset,
)
from tradeoff.sweeps import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tradeoff.report.canvas import PaperFigure

Look = dict[str, Any]  # keywords of a matplotlib line

_UNSAFE: Look = {"linewidth": 4, "alpha": 0.35, "solid_capstyle": "butt"}  # highlights part of a line
_RESERVED = {"label", "clip_on", "data", "xdata", "ydata"}  # keywords of a line that are set here


def plot(
    *items: Any,
    kind: Kind = "tradeoff",
    scale: Scale = "linear",
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
    interactive: bool = False,
    **style: Any,
) -> Any:
    """Draw guarantees, estimates and audits with the band between their bounds, or the table of a sweep.

    The first item is black and solid unless it is an estimate; the others are dashed, up to eleven distinct
    in grey too. Each line is the conservative bound: a lower bound on beta, an upper bound on delta. The beta
    of a curve holds at every alpha on linear axes; elsewhere, and of bands, at the points of the line.
    Estimates are dashed lines without a band.

    Parameters
    ----------
    *items
        Curves; plans and mechanisms, whose guarantee for both orders is drawn; reductions to one mu; results
        of ``tradeoff.limits``, estimates and bands; scores (``tradeoff.empirical``: the estimate is the
        line, its simultaneous confidence band is filled); pairs (lower, upper) of curves with
        the truth between. Or one table of ``tradeoff.sweep`` over two parameters: a heat map
        (``tradeoff.report.heatmap``).
    kind
        ``"tradeoff"``: type II error beta against type I error alpha. ``"roc"``: the power 1 - beta against
        alpha. ``"profile"``: delta on a log axis against epsilon in nats. ``"error"``: a lower bound on the
        distance of each beta from the first item's bounds, on a log axis, highlighted where it claims too
        much privacy; the width of those bounds is grey.
    scale
        ``"linear"``, or ``"loglog"``: small type I errors, at which beta is next to 1 and 1 - beta is drawn.
    labels
        A name for each item, used as it is; default: normal forms, of estimates the method and the word
        "estimate", and none for one item that is not an estimate. Many or long ones go below.
    ax
        Matplotlib axes to draw on, in the user's style; default: those of a new figure as wide as a column,
        styled where the user's matplotlib settings are defaults, with text as Type 42 fonts in PDFs.
    interactive
        Return a Plotly figure with values under the pointer instead.
    **style
        Keywords of ``matplotlib.lines.Line2D`` (of the heat map: of ``pcolormesh``) for every line drawn, of
        Plotly's ``line`` if interactive.

    Returns
    -------
    matplotlib.axes.Axes or plotly.graph_objects.Figure
        The axes drawn on.

    Raises
    ------
    KindError
        If an item is none of the above.
    DomainError
        If there is no item, an argument is out of range, or ``ax`` is given to an interactive figure.
    MissingExtraError
        If matplotlib, or for interactive figures plotly, is not installed.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import tradeoff as to
    >>> f = to.Laplace(0.5)
    >>> axes = plot(f, to.limits.clt(f), ax=Figure().subplots())
    >>> axes.get_xlabel(), axes.get_legend().get_texts()[1].get_text()
    ('type I error α', 'CLT (estimate)')
    """
    if len(items) == 1 and isinstance(items[0], Table):
        from tradeoff.report.heatmap import heatmap

        if (kind, scale, labels, interactive) != ("tradeoff", "linear", None, False):
            raise DomainError("a heat map takes no kind, scale, labels or interactive; leave them out")
        return heatmap(items[0], ax=ax, **style)
    claims = claims_of(items, labels)
    view = view_of(kind, scale, claims)
    if interactive:
        from tradeoff.report.interactive import plotly_figure

        if ax is not None:
            raise DomainError(f"ax must be None if interactive, got {shown(ax)}")
        return plotly_figure(view, claims, style)
    axes = ax if ax is not None else new_axes()
    series = list(make_series(view, claims))
    remedy = "give axes of matplotlib, and keywords of matplotlib.lines.Line2D"
    with matplotlib_errors(remedy), module("matplotlib").rc_context(getattr(axes.figure, "style", {})):
        return paint(axes, view, series, style=style)


def claims_of(items: Sequence[Any], labels: Sequence[str] | None = None) -> list[Claim]:
    """Return the claim of each item, under its label or a name for the legend."""
    if not items:
        raise DomainError("plot() takes at least one curve, got none")
    if labels is None:
        named = len(items) > 1 or isinstance(items[0], ApproximateCurve)
        return [claim_of(_name(each) if named else "", each) for each in items]
    several = np.iterable(labels) and not isinstance(labels, str)
    if not (several and all(isinstance(each, str) for each in labels) and len(labels) == len(items)):
        raise DomainError(f"labels must be {len(items)} texts, one for each item, got {shown(labels)}")
    return [claim_of(label, each) for label, each in zip(labels, items, strict=True)]


@contextmanager
def matplotlib_errors(remedy: str) -> Iterator[None]:
    """Translate errors of matplotlib into a ``DomainError``."""
    try:
        yield
    except TradeOffError:
        raise
    except (ValueError, OverflowError, AttributeError) as error:
        raise DomainError(f"matplotlib cannot draw it: {error}; {remedy}") from error


def _name(item: Any) -> str:
    match item:
        case ApproximateCurve():
            return f"{item.name} (estimate)"
        case BerryEsseen() | Baseline() | Claim():
            return item.name
        case Reduction():
            return mu_name(item)
        case Plan():
            return typeset(", ".join(f"{n} {each.kind}" for each, n in item.mechanisms.items()))
        case tuple() | Bounds():
            return "between two curves"
    # ``claim_of`` appends the order to this name, which is cut to a line.
    text = item.notation + assuming(item.assumptions) if isinstance(item, TradeOff) else repr(item)
    return typeset(text.split("\n")[0])


def mu_name(reduction: Reduction) -> str:
    """Return the name of the Gaussian curve of a reduction."""
    return f"μ = {number(float(rounded(reduction.mu, 'upper', 4)))}, failure {number(reduction.failure)}"


def paint(
    axes: Axes,
    view: View,
    series: Sequence[Series | None],
    *,
    looks: Sequence[Look] | None = None,
    style: Look | None = None,
) -> Axes:
    """Draw lines and bands, name the axes, and put the legend where they are empty."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    given = normalize_kwargs(style or {}, Line2D)
    for name in given:
        if name in _RESERVED or not hasattr(Line2D, f"set_{name}"):
            raise DomainError(
                f"{name} must not be given, got {shown(given[name])}; give keywords of "
                "matplotlib.lines.Line2D, such as color or linewidth, and names as labels=[...]"
            )
    if view.chance is not None:
        axes.plot(view.grid, view.chance, **CHANCE)
    _set_axes(axes, view, error_limits(series) if view.kind == "error" else view.ylim)
    at_edge = view.square and view.whole and view.yscale == "linear"
    for each, look in zip(series, looks or _looks(series), strict=True):
        if each is None:
            continue
        look = {**look, **given}  # noqa: PLW2901 - the user's keywords
        name = readable(each.name)
        if each.band is not None:
            visible = each.y is None and np.max(each.band[1]) > axes.get_ylim()[0]
            label = f"{name}: width of its bounds" if visible else None
            axes.fill_between(each.x, *each.band, color=look["color"], label=label, **BAND)
        if each.y is not None:  # a line along the edge of the axes is not clipped
            y = positive(each.y) if axes.get_yscale() == "log" else each.y
            axes.plot(each.x, y, label=name or None, clip_on=not at_edge, **look)
        if each.unsafe is not None and np.isfinite(each.unsafe).any():
            axes.plot(each.x, each.unsafe, color=look["color"], zorder=1.6, **_UNSAFE)
    if axes.get_legend_handles_labels()[1]:
        place_legend(axes, None if view.kind == "error" else "lower right" if view.power else "upper right")
    return axes


def _looks(series: Sequence[Series | None]) -> list[Look]:
    """Return black and solid for the first item unless it is an estimate, distinct dashes for the others."""
    solid = series[0] is not None and not series[0].is_estimate
    looks = [EXACT if solid and not i else dashed(i - solid) for i in range(len(series))]
    if unset({"axes.prop_cycle": None}):
        return looks
    cycle = module("matplotlib").rcParams["axes.prop_cycle"].by_key()  # the user's own
    return [
        {**look, **{key: values[i % len(values)] for key, values in cycle.items()}}
        for i, look in enumerate(looks)
    ]


def _set_axes(axes: Axes, view: View, ylim: tuple[float, float]) -> None:
    axes.set(xscale=view.xscale, yscale=view.yscale, xlim=view.xlim, ylim=ylim)
    axes.set(xlabel=view.xlabel, ylabel=view.ylabel)
    if view.square and view.yscale == "linear":
        axes.set_aspect("equal")
        if not axes.spines["top"].get_visible():  # open axes are moved, so that a curve along them is visible
            axes.spines[["left", "bottom"]].set_position(("outward", 3))
    elif view.square:
        axes.set_box_aspect(1)


def figure(curve: TradeOff, *, title: str = "") -> Figure:
    """Draw one curve on a figure of its own, without pyplot."""
    result: PaperFigure = canvas()()
    plot(curve, ax=result.subplots())
    with module("matplotlib").rc_context(result.style):
        add_title(result, folded(title))
    return result


def module(name: str) -> Any:
    """Import a module of matplotlib."""
    return needed(name, 'plots need matplotlib: pip install "tradeoff[plot]"')


def canvas() -> Any:
    """Return the class of figures in the style of papers."""
    module("matplotlib.figure")
    from tradeoff.report.canvas import PaperFigure

    return PaperFigure


def new_axes() -> Any:
    """Return the axes of a new figure of pyplot."""
    return module("matplotlib.pyplot").figure(FigureClass=canvas()).subplots()
