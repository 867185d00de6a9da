"""Draw the figures of the README and of these pages: ``python docs/figures.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

import tradeoff as to

STATIC = Path(__file__).with_name("_static")


def composition() -> Figure:
    """Draw what each part of the mixed example leaves to hide behind, and what is left of all of them."""
    plan = to.spec.load(Path(__file__).parents[1] / "examples" / "mixed.toml").plan
    laplace, sampled, gaussian, pure = (to.Plan({m: n}).guarantee() for m, n in plan.mechanisms.items())
    figure = Figure(figsize=(8.4, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    labels = ["all composed", "50 Laplace", "200 subsampled Gaussian", "10 Gaussian", "5 pure ε"]
    to.plot(plan.guarantee(), laplace, sampled, gaussian, pure, ax=left, labels=labels)
    to.plot(plan.guarantee(), ax=right, kind="profile")
    left.legend(frameon=False, fontsize="small")
    return figure


def main() -> None:
    """Write every figure, with nothing in it that changes from run to run."""
    mpl.rcParams["svg.hashsalt"] = "tradeoff"
    composition().savefig(STATIC / "composition.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
