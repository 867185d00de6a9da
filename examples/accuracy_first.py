"""Figures of counts chosen by Gumbel noise and released by noise reduction, after Rogers et al. 2023."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from examples.relative_error import (
    METHODS,
    Outcome,
    choice_in_zcdp,
    draw,
    looks_accurate,
    relative_error,
    zipf,
)
from tradeoff.errors import BudgetExceeded
from tradeoff.filters.noise_reduction import UnifiedZCDPFilter, geometric
from tradeoff.report.plot import paper, shared_legend
from tradeoff.report.styles import COLOURS, PAGE, dashed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ZCDP = METHODS["Brownian, zCDP filter"]
"""The Brownian mechanism and choices of eps^2/8, both from one zCDP filter."""

GUMBEL = {
    "Brownian": ZCDP,
    "doubling, factor 2": replace(METHODS["doubling, factor 2"], filter=ZCDP.filter, choice=ZCDP.choice),
    "Laplace": METHODS["Laplace"],
}
"""The methods compared; doubling spends from the zCDP filter too, Laplace from an ex-post one."""

ERROR = 0.1
"""Relative error aimed at."""

EPSILONS = (0.25, 0.5, 1.0, 2.0)
"""Budgets of the sweep, in nats."""


def rounds(
    counts: Sequence[float] = (1500.0, 1100.0, 800.0, 600.0), rho: float = 1.6e-3, seed: int = 0
) -> list[tuple[str, float]]:
    """Return what one filter did, round by round, each with the rho consumed by then.

    A round is a "choice", a "refinement", or a refinement at which the rule stops, an "accurate" one; the
    last may be "refused", with the rho of the round before it. Every count and its order are given; choices
    are charged and not drawn, with an epsilon and first levels from the last value released, at first 2000.
    """
    budget, rng, results, last = UnifiedZCDPFilter(rho), np.random.default_rng(seed), [], 2000.0
    try:
        for true in counts:
            budget.spend(choice_in_zcdp(2 / (ERROR * last)))
            results.append(("choice", budget.spent.rho))
            session = budget.brownian(true, rng=rng)
            for level in geometric(16 * (ERROR * last) ** 2, 2):
                release = session.refine(level)
                stop = looks_accurate(release, ZCDP, ERROR)
                results.append(("accurate" if stop else "refinement", budget.spent.rho))
                if stop:
                    last = release.value
                    break
    except BudgetExceeded:
        results.append(("refused", results[-1][1]))
    return results


def sketch(rho: float = 1.6e-3) -> Figure:
    """Draw the rho that choices and sessions consume of one filter, round by round, until it refuses."""
    results = rounds(rho=rho)
    looks: dict[str, tuple[str, dict[str, Any]]] = {
        "choice": ("next count chosen", {"marker": "s", "color": COLOURS[0]}),
        "refinement": ("noise reduced", {"marker": ".", "color": "0.45"}),
        "accurate": ("stopping rule: accurate, released", {"marker": "o", "color": "black"}),
        "refused": ("refused, nothing drawn", {"marker": "x", "color": COLOURS[1]}),
    }
    with paper(height=3.0) as (figure, axes):
        axes.step(range(len(results) + 1), [0, *(1e3 * spent for _, spent in results)], "0.7", where="post")
        for kind, (label, look) in looks.items():
            places = [i for i, (each, _) in enumerate(results, 1) if each == kind]
            heights = [1e3 * results[i - 1][1] for i in places]
            axes.plot(places, heights, linestyle="", markersize=4, label=label, **look)
        axes.axhline(1e3 * rho, label="budget of the filter", **dashed(1))
        axes.set(xlabel="round", ylabel="consumed ρ (in thousandths)", xlim=(0, None), ylim=(0, 1.1e3 * rho))
        shared_legend(figure, axes)
    return figure


def counts_released(runs: int = 20, seed: int = 0) -> Figure:
    """Draw how many counts 100000/k are released in either order, and shares of them in that of the noise."""
    public, gumbel = (
        relative_error(zipf(), error=ERROR, runs=runs, seed=seed, methods=GUMBEL, order=order)
        for order in ("public", "gumbel")
    )
    with paper(PAGE, 2.6, ncols=2) as (figure, (left, right)):
        orders = {"in public order": public, "chosen by Gumbel noise": gumbel}
        draw(left, list(GUMBEL), {n: [one.interval() for one in each.values()] for n, each in orders.items()})
        shares = {"top": "precision: among the largest", "accurate": "within 10 % in truth"}
        draw(
            right,
            list(GUMBEL),
            {n: [one.interval(k, share=True) for one in gumbel.values()] for k, n in shares.items()},
        )
        left.set(xlabel="counts released", ylabel="method", xlim=(0, None))
        right.set(xlabel="share of those chosen by Gumbel noise", ylabel="method", xlim=(None, 1.0))
        for axes in (left, right):
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28))
    return figure


def sweep(runs: int = 5, seed: int = 0, epsilons: Sequence[float] = EPSILONS) -> Figure:
    """Draw counts released and their precision against epsilon, in the order of Gumbel noise."""
    results: Mapping[float, Mapping[str, Outcome]] = {
        epsilon: relative_error(
            zipf(), epsilon=epsilon, error=ERROR, runs=runs, seed=seed, methods=GUMBEL, order="gumbel"
        )
        for epsilon in epsilons
    }
    with paper(PAGE, 2.8, ncols=2) as (figure, panels):
        for axes, (name, share) in zip(panels, (("released", False), ("top", True)), strict=True):
            for i, method in enumerate(GUMBEL):
                means, halves = zip(
                    *(each[method].interval(name, share=share) for each in results.values()), strict=True
                )
                look = dashed(i) | {"marker": "osD"[i], "markersize": 3, "capsize": 2}
                axes.errorbar(epsilons, means, yerr=halves, label=method, **look)
            axes.set(
                xscale="log", xlabel="ε (nats)", xticks=epsilons, xticklabels=[f"{e:g}" for e in epsilons]
            )
            axes.minorticks_off()
        panels[0].set(ylabel="counts released", ylim=(0, None))
        panels[1].set(ylabel="precision", ylim=(None, 1.0))
        shared_legend(figure, *panels)
    return figure
