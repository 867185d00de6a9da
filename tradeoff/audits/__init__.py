"""Audits: lower bounds on privacy loss from scores, guesses and draws of the loss, at a confidence."""

from tradeoff.audits.empirical import Counts, Empirical, LossSample, empirical, from_counts, from_losses
from tradeoff.audits.one_run import OneRun, one_run
from tradeoff.audits.refutation import Refutation

__all__ = [
    "Counts",
    "Empirical",
    "LossSample",
    "OneRun",
    "Refutation",
    "empirical",
    "from_counts",
    "from_losses",
    "one_run",
]
