"""Trade-off curves and privacy profiles on matplotlib axes."""

from __future__ import annotations

import importlib
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tradeoff.audits.empirical import Empirical
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.errors import DomainError, MissingExtraError
from tradeoff.intervals.rounding import Array
from tradeoff.operators.tabulate import Tabulated
from tradeoff.report.plain import folded
from tradeoff.report.styles import COLUMN, PAPER, dashed, place_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_POINTS = 200  # a curve looks smooth in print
_MOST_VERTICES = 400  # corners of more are not seen
_SMALLEST = 1e-6  # the left end of the log-log plot
_PERFECT: dict[str, Any] = {
    "color": "0.6",
    "linestyle": (0, (4, 3)),
    "linewidth": 0.9,
    "zorder": 1,
}  # below all


def plot(
    curve: TradeOff | Empirical,
    *more: TradeOff | Empirical,
    ax: Axes | None = None,
    scale: Literal["linear", "loglog"] = "linear",
    kind: Literal["tradeoff", "profile"] = "tradeoff",
    labels: Sequence[str] | None = None,
) -> Axes:
    """Draw curves with the band between their bounds: beta against alpha, or delta against epsilon.

    The first curve is black and solid, the others are dashed, up to eleven unlike each other in grey too. A
    trade-off curve is drawn from ``curve.tabulate()``, so line and band hold at every alpha, between the
    points too.

    Parameters
    ----------
    curve, *more
        Curves to draw. Of scores (``tradeoff.empirical``) the estimate is the line, and its simultaneous band
        is filled.
    ax
        Matplotlib axes to draw on; default: those of a new figure.
    scale
        ``"linear"``: the unit square with the line 1 - alpha of perfect privacy. ``"loglog"``: small type I
        errors, at which beta is next to 1 and the power 1 - beta is drawn; its line is the upper bound.
    kind
        ``"tradeoff"``: type II error beta against type I error alpha. ``"profile"``: delta on a log axis
        against epsilon
        in nats.
    labels
        A name for each curve; default: none for one curve, else normal forms. Many or long ones go below.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    KindError
        If a mechanism or a plan stands where a curve is wanted.
    DomainError
        If ``scale``, ``kind`` or the number of labels is none of the above, or a profile of scores is asked.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tradeoff import Gaussian
    >>> axes = plot(Gaussian(1), ax=Figure().subplots())
    >>> axes.get_xlabel()
    'type I error α'
    """
    curves = [each if isinstance(each, Empirical) else operand(each) for each in (curve, *more)]
    if scale not in ("linear", "loglog"):
        raise DomainError(f"scale = {scale!r} is none of 'linear', 'loglog'")
    if kind not in ("tradeoff", "profile"):
        raise DomainError(f"kind = {kind!r} is none of 'tradeoff', 'profile'")
    if kind == "profile" and any(isinstance(each, Empirical) for each in curves):
        raise DomainError("scores are drawn with kind='tradeoff'; for a profile plot their .upper")
    if labels is not None and len(labels) != len(curves):
        raise DomainError(f"labels = {labels!r} name {len(labels)} curves, and there are {len(curves)}")
    names = (
        labels
        if labels is not None
        else [_typeset(repr(each).split("\n")[0]) for each in curves]
        if len(curves) > 1
        else [""]
    )
    axes = ax if ax is not None else _new_axes()
    draw = _draw_profiles if kind == "profile" else _draw_tradeoffs if scale == "linear" else _draw_power
    draw(axes, curves, names, scale)
    if any(names):
        place_legend(axes, "lower right" if draw is _draw_power else "upper right")
    return axes


def figure(curve: TradeOff, *, title: str = "") -> Figure:
    """Draw one trade-off curve on a figure of its own, for writing to a file: no window and no pyplot state.

    Parameters
    ----------
    curve
        The curve.
    title
        Text above it.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    with module("matplotlib").rc_context(PAPER):
        made: Figure = module("matplotlib.figure").Figure(
            figsize=(COLUMN, COLUMN + 0.2), layout="constrained"
        )
        axes = plot(curve, ax=made.subplots())
        axes.set_title(textwrap.fill(folded(title), 54))
    return made


def module(name: str) -> Any:
    """Import a part of matplotlib, or say how to have it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError('plots need matplotlib: pip install "tradeoff[plot]"') from error


def _new_axes() -> Any:
    return module("matplotlib.pyplot").subplots(figsize=(4.8, 4.8), layout="constrained")[1]


def _draw_tradeoffs(axes: Axes, curves: Sequence[Any], names: Sequence[str], scale: str) -> None:
    grid = _alphas(scale)
    axes.plot(grid, 1 - grid, **_PERFECT)
    for i, (curve, name) in enumerate(zip(curves, names, strict=True)):
        alpha, lower, upper = tabulated(curve, grid)
        _band(
            axes, i, (alpha, lower, upper), _line(curve, alpha, lower), name, clip_on=False
        )  # curves at the edge stay in sight
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="type I error α", ylabel="type II error β")


def _draw_power(axes: Axes, curves: Sequence[Any], names: Sequence[str], scale: str) -> None:
    grid = _alphas(scale)
    axes.plot(grid, grid, **_PERFECT)
    for i, (curve, name) in enumerate(zip(curves, names, strict=True)):
        alpha, lower, upper = tabulated(curve, grid)
        line = positive(1 - _line(curve, alpha, lower))
        _band(axes, i, (alpha, positive(1 - upper), positive(1 - lower)), line, name)
    axes.set(
        xscale="log",
        yscale="log",
        xlim=(_SMALLEST, 1),
        ylim=(_SMALLEST, 1.3),
        xlabel="type I error α",
        ylabel="power 1 − β",
    )


def _line(curve: TradeOff | Empirical, alpha: Array, lower: Array) -> Array:
    """Return what is drawn as a line: the side that may be relied on, and of scores the estimate."""
    return np.asarray(curve.estimate(alpha)) if isinstance(curve, Empirical) else lower


def _sides(curve: TradeOff | Empirical) -> Tabulated:
    return curve.band if isinstance(curve, Empirical) else curve.tabulate()


def tabulated(curve: TradeOff | Empirical, grid: Array) -> tuple[Array, Array, Array]:
    """Return alpha, and bounds on beta that hold between the alphas too."""
    below, above = _sides(curve)
    corners = vertices(curve)
    alpha = np.union1d(grid, corners[corners >= grid[0]])
    return alpha, below.bounds(alpha).lower, above.bounds(alpha).upper


def _draw_profiles(axes: Axes, curves: Sequence[Any], names: Sequence[str], scale: str) -> None:
    ends = [last_epsilon(curve) for curve in curves]
    left = 1e-3 * min(ends) if scale == "loglog" else 0.0
    for i, (curve, name, end) in enumerate(zip(curves, names, ends, strict=True)):
        epsilon = np.geomspace(left, end, _POINTS) if left else np.linspace(0.0, end, _POINTS)
        epsilon = np.union1d(epsilon, np.linspace(end, max(ends), 9))
        lower, upper = curve.bounds.delta(epsilon)
        _band(axes, i, (epsilon, positive(lower), positive(upper)), positive(upper), name)
    axes.set(
        xlabel="privacy loss ε (nats)", ylabel="δ(ε)", yscale="log", xlim=(left, max(ends)), ylim=(1e-12, 1.5)
    )
    if left:
        axes.set(xscale="log")


def _band(
    axes: Axes, i: int, points: tuple[Array, Array, Array], safe: Array, name: str, *, clip_on: bool = True
) -> None:
    """Fill between the bounds, and draw as a line the one that may be relied on."""
    at, lower, upper = points
    style = dashed(i - 1) if i else {"color": "black", "linestyle": "-", "zorder": 3}
    axes.fill_between(at, lower, upper, color=style["color"], alpha=0.25, linewidth=0, zorder=2)
    axes.plot(at, safe, linewidth=1.6, label=name or None, clip_on=clip_on, **style)


def _typeset(name: str) -> str:
    """Set G_{0.5} and Lap_{0.1}^50 as formulas."""
    return re.sub(r"([A-Za-z]+)_\{([^{}$\s]*)\}(?:\^(\d+))?", _formula, name)


def _formula(found: re.Match[str]) -> str:
    letters, index, power = found.groups()
    return rf"$\mathrm{{{letters}}}_{{{index}}}" + (f"^{{{power}}}$" if power else "$")


def _alphas(scale: str) -> Array:
    if scale == "loglog":
        return np.union1d(
            np.geomspace(_SMALLEST, 0.5, _POINTS * 3 // 4), 1 - np.geomspace(0.5, _SMALLEST, _POINTS // 4)
        )
    # Closer together towards the ends, where curves turn.
    return (1 - np.cos(np.linspace(0.0, np.pi, _POINTS))) / 2


def vertices(curve: TradeOff | Empirical) -> Array:
    """Return the alphas of the corners of both sides; many look like a smooth curve."""
    found = np.concatenate([side.alpha.astype(float) for side in _sides(curve)])
    return np.unique(found) if len(found) <= _MOST_VERTICES else np.empty(0)


def positive(values: Array) -> Array:
    """Leave out what a log axis cannot show."""
    return np.where(values > 0, values, np.nan)


def last_epsilon(curve: TradeOff) -> float:
    """Return where delta has fallen to 1e-12, or where the losses end."""
    for delta in (1e-12, min(max(curve.q_plus * 1.001, 1e-12), 1.0)):
        upper = float(curve.bounds.epsilon(delta).upper)
        if 0 < upper < np.inf:
            return 1.05 * upper
    return 1.0
