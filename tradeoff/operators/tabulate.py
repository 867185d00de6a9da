"""Whole curves: piecewise-linear curves below and above f, valid at every alpha."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from tradeoff.core.curve import TradeOff
from tradeoff.core.derived import sides
from tradeoff.core.dispatch import announces
from tradeoff.core.piecewise_linear import PiecewiseLinear


class Tabulated(NamedTuple):
    """Two curves with lower <= f <= upper at every alpha; unpacks as ``lower, upper``."""

    lower: PiecewiseLinear
    upper: PiecewiseLinear


@announces("tabulate")
def tabulate(f: TradeOff, alphas: ArrayLike | None = None) -> Any:
    """Piecewise-linear curves below and above f, valid at every alpha."""
    del alphas
    return Tabulated(*sides(f))
