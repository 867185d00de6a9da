"""One operation of the algebra per file; importing the package announces them to the methods of a curve."""

from tradeoff.operators import (
    distance,
    dual,
    group,
    inverse,
    law,
    mixture,
    order,
    pointwise,
    subsample,
    symmetrise,
    tabulate,
)

__all__ = [
    "distance",
    "dual",
    "group",
    "inverse",
    "law",
    "mixture",
    "order",
    "pointwise",
    "subsample",
    "symmetrise",
    "tabulate",
]
