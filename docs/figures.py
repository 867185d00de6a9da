"""Draw every committed figure of the README, the pages and the gallery: ``python docs/figures.py``."""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[1]))

import tradeoff as to
from docs import gallery
from tradeoff.report.plot import paper
from tradeoff.report.styles import PAGE, save

STATIC = Path(__file__).with_name("_static")


def composition() -> Figure:
    """Draw what each part of the mixed example leaves to hide behind, and what is left of all of them."""
    plan = to.spec.load(Path(__file__).parents[1] / "examples" / "mixed.toml").plan
    laplace, sampled, gaussian, pure = (to.Plan({m: n}).guarantee() for m, n in plan.mechanisms.items())
    labels = ["all composed", "50 Laplace", "200 subsampled Gaussian", "10 Gaussian", "5 pure ε"]
    with paper(PAGE, 3.5, ncols=2) as (figure, (left, right)):
        to.plot(plan.guarantee(), laplace, sampled, gaussian, pure, ax=left, labels=labels)
        to.plot(plan.guarantee(), ax=right, kind="profile")
    return figure


def main() -> None:
    """Write every figure, with nothing in it that changes from run to run."""
    save(composition(), STATIC / "composition.svg")
    gallery.main()


if __name__ == "__main__":
    main()
