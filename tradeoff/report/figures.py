"""Views of curves for papers: the exact one black with its band, approximations dashed.

Every function draws on axes it is given and returns them, so that views can be put side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import DomainError, TradeOffError
from tradeoff.gdp import Reduction
from tradeoff.intervals.rounding import Array
from tradeoff.report.methods import Claim, claim_of
from tradeoff.report.plot import last_epsilon, module, positive, tabulated, vertices
from tradeoff.report.styles import (
    BAND,
    CHANCE,
    COLUMN,
    EXACT,
    PAGE,
    PAPER,
    REPORTED,
    dashed,
    family,
    number,
    place_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

View = Literal["tradeoff", "loglog", "profile", "roc"]
_LEAST = 1e-6  # the left end of logarithmic axes
_LEAST_DELTA = 1e-12  # the lower end of profiles, past every delta in use
_GRID = (1 - np.cos(np.linspace(0, np.pi, 257))) / 2  # closer together towards the ends, where curves turn


@contextmanager
def paper(
    width: float = COLUMN, height: float = 2.7, columns: int = 1, rows: int = 1
) -> Iterator[tuple[Figure, Any]]:
    """Give a figure of the stated size in inches, with its axes, in the style of papers."""
    with module("matplotlib").rc_context(PAPER):
        figure = module("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots(rows, columns)


def draw(
    axes: Axes,
    exact: TradeOff | None,
    others: Mapping[str, Any] | None = None,
    *,
    view: View = "tradeoff",
    label: str = "exact",
) -> Axes:
    """Draw one view: the exact curve with its band, other curves and approximations dashed.

    Parameters
    ----------
    axes
        Where to draw.
    exact
        The curve drawn black; its line is the safe bound. None draws the others only.
    others
        Curves, approximate curves or claims by their names in the legend.
    view
        ``"tradeoff"``: beta against alpha. ``"loglog"``: the same for small alpha. ``"profile"``: delta on a
        log axis against epsilon. ``"roc"``: true against false positive rate, 1 - beta against alpha.
    label
        Name of the exact curve in the legend.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.
    """
    if view not in _VIEWS:
        raise DomainError(f"view = {view!r} is none of {', '.join(map(repr, _VIEWS))}")
    claims = {
        name: thing if isinstance(thing, Claim) else claim_of(name, thing)
        for name, thing in (others or {}).items()
    }
    _VIEWS[view](axes, exact, claims, label)
    if label or claims:
        place_legend(axes, "upper right" if view in ("tradeoff", "profile") else "lower right")
    return axes


def _tradeoff(
    axes: Axes, exact: TradeOff | None, claims: Mapping[str, Claim], label: str, *, roc: bool = False
) -> None:
    axes.plot([0, 1], [0, 1] if roc else [1, 0], **CHANCE)

    def shown(beta: Array) -> Array:
        return 1 - beta if roc else beta

    if exact is not None:
        at, lower, upper = tabulated(exact, _GRID)
        axes.fill_between(at, shown(lower), shown(upper), **BAND)
        axes.plot(at, shown(lower), label=label or None, clip_on=False, **EXACT)
    for i, (name, claim) in enumerate(claims.items()):
        beta = _asked(claim.beta, _GRID)
        if beta is not None:
            axes.plot(_GRID, shown(beta), label=name, **dashed(i))
    _unit_square(axes)
    axes.set(
        xlabel="false positive rate α" if roc else "type I error α",
        ylabel="true positive rate 1 − β" if roc else "type II error β",
    )


def _unit_square(axes: Axes) -> None:
    """Move the axes a little away, so that a curve that runs along an edge is seen."""
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.spines[["left", "bottom"]].set_position(("outward", 3))


def _roc(axes: Axes, exact: TradeOff | None, claims: Mapping[str, Claim], label: str) -> None:
    _tradeoff(axes, exact, claims, label, roc=True)


def _loglog(axes: Axes, exact: TradeOff | None, claims: Mapping[str, Claim], label: str) -> None:
    """Draw the true positive rate: on log axes beta itself is flat at 1 wherever alpha is small."""
    grid = np.geomspace(_LEAST, 1.0, 193)
    axes.plot(grid, grid, **CHANCE)
    if exact is not None:
        at, lower, upper = tabulated(exact, grid)
        axes.fill_between(at, 1 - upper, 1 - lower, **BAND)
        axes.plot(at, 1 - lower, label=label or None, **EXACT)
    for i, (name, claim) in enumerate(claims.items()):
        beta = _asked(claim.beta, grid)
        if beta is not None:
            axes.plot(grid, 1 - beta, label=name, **dashed(i))
    axes.set(
        xscale="log",
        yscale="log",
        xlim=(_LEAST, 1),
        ylim=(_LEAST, 1.3),
        xlabel="type I error α",
        ylabel="power 1 − β",
        box_aspect=1,
    )


def _profile(axes: Axes, exact: TradeOff | None, claims: Mapping[str, Claim], label: str) -> None:
    top = max(
        [last_epsilon(exact)] if exact is not None else [_reach(claim) for claim in claims.values()],
        default=1.0,
    )
    epsilon = np.linspace(0.0, top, 193)
    if exact is not None:
        lower, upper = exact.bounds.delta(epsilon)
        axes.fill_between(epsilon, positive(lower), positive(upper), **BAND)
        axes.plot(epsilon, positive(upper), label=label or None, **EXACT)
    for i, (name, claim) in enumerate(claims.items()):
        delta = _asked(claim.delta, epsilon)
        if delta is not None:
            axes.plot(epsilon, positive(delta), label=name, **dashed(i))
    axes.set(
        yscale="log", xlim=(0, top), ylim=(_LEAST_DELTA, 1.5), xlabel="privacy loss ε (nats)", ylabel="δ(ε)"
    )


_VIEWS = {"tradeoff": _tradeoff, "loglog": _loglog, "profile": _profile, "roc": _roc}
"""What draws each view."""


def _asked(answer: Any, at: Array) -> Array | None:
    if answer is None:
        return None
    try:
        return np.asarray(answer(at), dtype=float)
    except TradeOffError:
        return None


def _reach(claim: Claim) -> float:
    epsilon = None if claim.epsilon is None else _asked(claim.epsilon, np.array([1e-10]))
    return 1.0 if epsilon is None or not np.isfinite(epsilon[0]) or epsilon[0] <= 0 else float(epsilon[0])


def inset(
    axes: Axes, exact: TradeOff, others: Mapping[str, Any], *, centre: float, width: float = 0.04
) -> Axes:
    """Add a view zoomed about one type I error in the empty upper right of a plot, with its factors."""
    window = axes.inset_axes((0.58, 0.58, 0.4, 0.4))
    low, high = max(centre - width / 2, 0.0), min(centre + width / 2, 1.0)
    grid = np.linspace(low, high, 65)
    lower, upper = exact.bounds(grid)
    window.fill_between(grid, lower, upper, **BAND)
    window.plot(grid, lower, **EXACT)
    for i, (name, thing) in enumerate(others.items()):
        beta = _asked((thing if isinstance(thing, Claim) else claim_of(name, thing)).beta, grid)
        if beta is not None:
            window.plot(grid, beta, **dashed(i))
    window.set(xlim=(low, high), ylim=(lower[-1], upper[0]), xticks=[], yticks=[])
    spans = {"α": high - low, "β": float(upper[0] - lower[-1])}
    factors = "\n".join(
        f"{name} ×{float(f'{0.4 / span:.2g}'):,.0f}" for name, span in spans.items() if span > 0
    )
    window.text(
        0.95, 0.94, factors, transform=window.transAxes, ha="right", va="top", fontsize="small", color="0.3"
    )
    for spine in window.spines.values():
        spine.set(visible=True, color="0.5", linewidth=0.6)
    axes.indicate_inset_zoom(window, edgecolor="0.5", linewidth=0.6)
    return window


def shared_legend(figure: Figure, *panels: Axes) -> None:
    """Put one legend for all panels below them."""
    known: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
        legend = axes.get_legend()
        if legend is not None:
            legend.remove()
    columns = int(
        figure.get_figwidth() / (0.6 + 0.065 * max(map(len, known), default=0))
    )  # inches of a sample and of a letter
    figure.legend(
        list(known.values()),
        list(known),
        loc="outside lower center",
        ncols=max(min(len(known), columns, 5), 1),
    )


def supporting_lines(axes: Axes, curve: TradeOff, epsilons: Sequence[float], *, label: str = "exact") -> Axes:
    """Draw a curve with the lines 1 - delta(eps) - e^eps alpha that support it, mirrored if it is symmetric.

    Each pair of lines is what one pair (eps, delta) says; the curve is what all of them say together.
    """
    draw(axes, curve, label=label)
    for i, epsilon in enumerate(epsilons):
        delta = float(curve.delta(epsilon))
        style = dashed(i)
        scale = float(np.exp(epsilon))
        axes.plot(
            [0, (1 - delta) / scale],
            [1 - delta, 0],
            label=f"ε = {epsilon:g}, δ = {number(float(f'{delta:.2g}'))}",
            linewidth=0.9,
            **style,
        )
        if curve.symmetric:
            axes.plot([0, 1 - delta], [(1 - delta) / scale, 0], linewidth=0.9, **style)
    place_legend(axes, "upper right")
    return axes


def gdp_bound(axes: Axes, found: Reduction, *, view: View = "tradeoff") -> Axes:
    """Draw a curve with the Gaussian curve certified below it, and a dot where mu is decided."""
    name = f"μ = {found.mu:.4g}, failure {number(found.failure)}"
    draw(axes, found.of, view=view)
    grid = np.geomspace(_LEAST, 1, 193) if view == "loglog" else _GRID
    if view == "profile":
        at = np.linspace(*axes.get_xlim(), 193)
        axes.plot(at, found.curve.delta(at), label=name, **REPORTED)
    else:
        beta = found.curve(grid)
        axes.plot(grid, beta if view == "tradeoff" else 1 - beta, label=name, **REPORTED)
        if found.tight_at >= axes.get_xlim()[0]:
            touch = float(found.of(found.tight_at))
            axes.plot(
                [found.tight_at],
                [touch if view == "tradeoff" else 1 - touch],
                "ko",
                markersize=3,
                clip_on=True,
            )
    place_legend(axes, "upper right" if view in ("tradeoff", "profile") else "lower right")
    return axes


def families(axes: Axes, curves: Mapping[str, TradeOff]) -> Axes:
    """Draw several curves of one family, told apart by grey and dashes."""
    axes.plot([0, 1], [1, 0], **CHANCE)
    for i, (name, curve) in enumerate(curves.items()):
        at = np.union1d(_GRID, vertices(curve))
        axes.plot(at, curve(at), label=name, clip_on=False, **family(i, len(curves)))
    _unit_square(axes)
    axes.set(xlabel="type I error α", ylabel="type II error β")
    place_legend(axes, "upper right")
    return axes


def comparison_figure(
    curve: TradeOff, claims: Mapping[str, Claim], worst: tuple[float, float] | None = None
) -> Figure:
    """Draw errors and profiles side by side with one legend, zoomed at the worst (alpha, error of beta)."""
    with paper(PAGE, 3.8, columns=2) as (figure, (left, right)):
        draw(left, curve, claims)
        draw(right, curve, claims, view="profile")
        if worst is not None:
            inset(left, curve, claims, centre=worst[0], width=_zoom(curve, *worst))
        shared_legend(figure, left, right)
    return figure


def _zoom(curve: TradeOff, alpha: float, error: float) -> float:
    """Return a width over which the curve falls about ten times the error to be seen."""
    step = 1e-3
    fall = float(curve(max(alpha - step, 0.0))) - float(curve(min(alpha + step, 1.0)))
    return float(np.clip(10 * abs(error) * 2 * step / max(fall, 1e-6), 1e-4, 0.1))
