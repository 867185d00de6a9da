"""``tradeoff dp-sgd``, ``init``, ``kinds``: a run of DP-SGD, a first plan file, the list of mechanisms."""

from __future__ import annotations

from inspect import Parameter, signature
from pathlib import Path

from tradeoff.atomic_write import atomic_write
from tradeoff.cli.compose import print_answers
from tradeoff.cli.questions import NO_QUESTIONS, Flag, Json, Questions
from tradeoff.cli.terminal import show
from tradeoff.display import TextTable
from tradeoff.errors import DomainError

_TEMPLATE = """\
title = "My plan"
adjacency = "add-remove"   # neighbours: one record more or less; or "replace-one"
delta = [1e-5]             # compute epsilon at these; also: epsilon = [1.0], alpha = [0.01]

[[mechanism]]              # one table for each mechanism; `tradeoff kinds` lists them
kind = "subsampled-gaussian"
noise_multiplier = 1.1     # standard deviation of the noise over the clipping norm
sample_rate = 0.01         # probability that a record is in a batch
count = 1000               # number of steps

[[mechanism]]
kind = "laplace"
scale = 10.0               # with sensitivity 1, each run is 1/10-DP
count = 5
"""


def dp_sgd(
    *,
    noise_multiplier: float,
    batch_size: int | None = None,
    dataset_size: int | None = None,
    epochs: float | None = None,
    sample_rate: float | None = None,
    steps: int | None = None,
    questions: Questions = NO_QUESTIONS,
    mu: Flag = False,
    tol: float | None = None,
    plot: Path | None = None,
    as_json: Json = False,
) -> None:
    """Print bounds for a DP-SGD training run with Poisson batches, for add/remove neighbours.

    Give --batch-size and --dataset-size, or --sample-rate; and --epochs or --steps. The default question is
    epsilon at delta = 1e-5.

    Parameters
    ----------
    noise_multiplier
        Standard deviation of the noise over the clipping norm.
    batch_size
        Expected number of records in a batch.
    dataset_size
        Number of records.
    epochs
        Number of passes over the records.
    sample_rate
        Probability with which each record is in a batch.
    steps
        Number of steps.
    questions
        The questions.
    mu
        Also print the least mu of a Gaussian bound on the whole curve, except with probability 1e-10.
    tol
        Width the bounds must reach: absolute for epsilon, relative for delta and beta.
    plot
        Draw the trade-off curve into this file: .png, .svg or .pdf.
    as_json
        Print the answers as JSON.
    """
    from tradeoff.mechanisms.dp_sgd import dp_sgd as training
    from tradeoff.spec import PlanFile

    plan = training(
        noise_multiplier,
        batch_size=batch_size,
        dataset_size=dataset_size,
        epochs=epochs,
        sample_rate=sample_rate,
        steps=steps,
    )
    content = PlanFile("DP-SGD", plan)
    print_answers(Path("dp-sgd"), content, questions=questions, mu=mu, tol=tol, plot=plot, as_json=as_json)


def init(plan: Path = Path("plan.toml")) -> None:
    """Write a plan file with comments, to be edited.

    Parameters
    ----------
    plan
        File to write; it must not exist.
    """
    if plan.exists():
        raise DomainError(f"PLAN must be a new file, got {str(plan)!r}")
    atomic_write(plan, _TEMPLATE)
    print(f"Plan written to {plan}; answer its questions with: tradeoff compose {plan}")


def kinds() -> None:
    """List the kinds of mechanisms of plan files, with their keys and default values."""
    from tradeoff.mechanisms import KINDS

    rows = []
    for kind in sorted(KINDS):
        defaults = {name: each.default for name, each in signature(KINDS[kind]).parameters.items()}
        texts = {None: "{}?", Parameter.empty: "{}"}  # optional, and without a default
        keys = (texts.get(each, f"{{}} = {each!r}").format(name) for name, each in defaults.items())
        rows.append((kind, ", ".join(keys)))
    notes = ["A key followed by ? is optional. Every mechanism also takes count, its number of runs."]
    show(TextTable(rows, ("kind", "keys"), "Mechanisms of plan files", notes, sides="<<"))
