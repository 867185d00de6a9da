"""Count tables for the experiment: one made, one real."""

from __future__ import annotations

import numpy as np

from tradeoff.intervals.rounding import Index

# fmt: off
DOCTOR_VISITS: Index = np.array([
    20190, 13882, 10065, 7268, 5384, 4039, 3071, 2382, 1851, 1443, 1156, 950, 760, 642, 533, 451, 392, 336, 303, 266, 231, 205, 183,
    164, 145, 132, 124, 114, 108, 96, 90, 82, 74, 70, 65, 56, 51, 51, 46, 37, 36, 33, 28, 28, 28, 22, 20, 18, 18, 16, 16, 16, 15, 12,
    12, 12, 11, 10, 9, 8, 8, 8, 8, 7, 6, 6, 5, 5, 5, 5, 4, 4, 4, 3, 3, 2, 2, 1,
])
# fmt: on
"""How many of 20,190 person-years had at least k visits to a doctor, k = 0, 1, ..., 77.

Column ``mdvis`` of ``statsmodels.datasets.randhie``: the RAND Health Insurance Experiment, as used by Cameron and Trivedi,
*Microeconometrics*, 2005; in the public domain, as statsmodels states. Adding a record changes every count up to its number of
visits by one, so each has sensitivity 1 and the counts compose; and they fall by definition, so their order tells nothing.
"""


def zipf(largest: int = 100_000, size: int = 1000) -> Index:
    """Return the counts largest/1, largest/2, largest/3, ..., rounded to whole numbers.

    Examples
    --------
    >>> zipf(100, 4)
    array([100,  50,  33,  25])
    """
    return np.rint(largest / np.arange(1, size + 1)).astype(np.int64)


TABLES = {"zipf": zipf(), "doctor-visits": DOCTOR_VISITS}
"""Count tables by name, each in a public order from the largest down."""
