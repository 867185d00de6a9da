"""Views of the gallery alone: lines that support a curve, its Gaussian bound, families in greys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.display import exactly, rounded
from tradeoff.gdp import Reduction
from tradeoff.report.plot import claims_of, mu_name, paint, plot
from tradeoff.report.series import Kind, Scale, make_series, outline, view_of
from tradeoff.report.styles import EXACT, dashed, number, place_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The reported Gaussian: broken, so that the exact curve is seen under it.
REPORTED: dict[str, Any] = {"color": "0.35", "linestyle": (0, (7, 1.5, 1.5, 1.5)), "zorder": 3.1}


def supporting_lines(axes: Axes, curve: TradeOff, epsilons: Sequence[float], *, label: str = "exact") -> Axes:
    """Draw a curve with the lines 1 - delta(eps) - e^eps alpha that support it, mirrored if it is symmetric.

    Each pair of lines is what one pair (eps, delta) says; the curve is what all of them say together.
    """
    plot(curve, ax=axes, labels=[label])
    for i, epsilon in enumerate(epsilons):
        delta = float(curve.delta(epsilon))
        style = {**dashed(i), "linewidth": 0.9}
        with np.errstate(over="ignore"):
            scale = float(np.exp(epsilon))
        name = f"ε = {exactly(epsilon)}, δ = {number(float(rounded(delta, 'upper', 2)))}"
        axes.plot([0, (1 - delta) / scale], [1 - delta, 0], label=name, **style)
        if curve.symmetric:
            axes.plot([0, 1 - delta], [(1 - delta) / scale, 0], **style)
    place_legend(axes, "upper right")
    return axes


def gdp_bound(axes: Axes, found: Reduction, *, kind: Kind = "tradeoff", scale: Scale = "linear") -> Axes:
    """Draw a curve with the Gaussian curve certified below it, and a dot where mu is decided."""
    exact, reported = claims_of([found.of, found], ["exact", mu_name(found)])
    view = view_of(kind, scale, [exact])
    paint(axes, view, list(make_series(view, [exact, outline(reported)])), looks=[EXACT, REPORTED])
    if view.square and found.tight_at >= view.xlim[0]:
        touch = float(found.of(found.tight_at))
        axes.plot([found.tight_at], [1 - touch if view.power else touch], "ko", markersize=3)
    return axes


def families(axes: Axes, curves: Mapping[str, TradeOff]) -> Axes:
    """Draw several curves of one family, told apart by grey and dashes."""
    claims = claims_of(list(curves.values()), list(curves))
    view = view_of("tradeoff", "linear", claims)
    looks = [family(i, len(claims)) for i in range(len(claims))]
    return paint(axes, view, list(make_series(view, claims)), looks=looks)


def family(i: int, n: int) -> dict[str, Any]:
    """Return the style of the i-th of n curves of one family: greys from black up, dashes from solid down."""
    dashes = ("-", (0, (6, 1.5)), (0, (5, 1.5, 1.4, 1.5)), (0, (2.6, 1.6)), (0, (1.4, 1.4)))
    return {
        "color": str(round(0.55 * i / max(n - 1, 1), 3)),
        "linestyle": dashes[i % len(dashes)],
        "zorder": 3,
    }
