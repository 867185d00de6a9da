"""The result of a textbook theorem, and checks of its arguments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tradeoff.balls import exact_fraction, exp, precision, to_ball
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import MAX_LOSS, MOST, count, is_symbol, real
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.display import rounded
from tradeoff.errors import SymbolError
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.families.total_variation import TotalVariation
from tradeoff.intervals.bounds import Bounds


@dataclass(frozen=True)
class Baseline:
    """An (epsilon, delta) guarantee with the theorem it comes from; ``epsilon`` is an upper bound, in nats.

    Parameters
    ----------
    epsilon, delta
        The guarantee: a loss in nats, and a probability.
    name, source, hypotheses
        Name of the theorem, its paper, and its conditions.
    one_order
        Whether delta(epsilon) is bounded in one order of the pair only.

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.basic_composition(0.1, n=10)
    (1.00001, 0.0)-DP by basic composition
    """

    epsilon: float
    delta: float
    name: str
    source: str
    hypotheses: tuple[str, ...] = ()
    one_order: bool = False

    @property
    def guarantee(self) -> TradeOff:
        """Return f_{epsilon,delta}, a certified curve; of one order 1 - delta - e^eps alpha alone."""
        if self.epsilon > MAX_LOSS:
            return TotalVariation(1.0)  # no privacy
        both = limited(approximate_dp(self.epsilon, self.delta), BOUND)
        if not self.one_order or self.delta >= 1:
            return both
        height = (1 - Bounds.of(self.delta)).lower
        with precision(53):  # a fraction: e^-eps may be too small for a float
            foot = exact_fraction((exp(-to_ball(self.epsilon)) * height).lower()) or 0
        return limited(PiecewiseLinear([0, foot], [Fraction(height), 0]), BOUND)

    def __repr__(self) -> str:
        short = (float(f"{x:.6g}") for x in (self.epsilon, self.delta))
        epsilon, delta = (
            near if near == x else float(rounded(x, "upper", 6))
            for near, x in zip(short, (self.epsilon, self.delta), strict=True)
        )
        return f"({epsilon}, {delta})-DP by {self.name}"


def raised(value: float) -> float:
    """Round up past the error of a few operations on positive numbers."""
    return (Bounds.of(value) * (1 + 1e-14)).upper if 0 < value < math.inf else value


def number(
    name: str, value: Any, low: float, high: float = math.inf, *, open_high: bool = True, **sides: bool
) -> float:
    """Return a checked float, as ``real`` does; a textbook formula takes no symbols."""
    checked = real(name, value, low, high, open_high=open_high, **sides)
    if is_symbol(checked):
        raise SymbolError(f"{name} = {value!r} is symbolic, and this formula answers with a number; give one")
    return float(checked)


def rounds(n: Any, low: int = 0) -> int:
    """Return a checked number of mechanisms."""
    return count("n", n, low, MOST)


def probability(name: str, value: Any) -> float:
    """Return a probability strictly between 0 and 1, where its logarithm is wanted; rounded down."""
    return number(name, value, 0, 1, open_low=True)
