"""Approximate differential privacy f_{epsilon,delta} = f_{epsilon,0} (x) f_{0,delta}."""

from __future__ import annotations

from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import Parameter, is_symbol
from tradeoff.errors import domain
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation


def approximate_dp(epsilon: Parameter, delta: Parameter) -> TradeOff:
    """Least private curve of (eps, delta)-DP: max{0, 1 - delta - e^eps alpha, e^-eps (1 - delta - alpha)}.

    Parameters
    ----------
    epsilon
        Loss in nats, in [0, 1e4], or a SymPy expression.
    delta
        Probability in [0, 1], at most 0.1 where 0 < epsilon <= 1e-3, or a SymPy expression.

    Returns
    -------
    TradeOff
        The product f_{eps,0} (x) f_{0,delta} (Dong, Roth, Su 2022, Proposition 2.5 and Section 3).

    Examples
    --------
    >>> from tradeoff import approximate_dp
    >>> approximate_dp(1.0, 0.25)
    f_{0,0.25} ⊗ f_{1,0}
    """
    refuse_swapped(epsilon, delta)
    return epsilon_delta_curve(epsilon, delta)


def epsilon_delta_curve(epsilon: Parameter, delta: Parameter) -> TradeOff:
    """Return f_{eps,0} (x) f_{0,delta} for any pair."""
    return PureDP(epsilon) @ TotalVariation(delta)


def refuse_swapped(epsilon: Any, delta: Any) -> None:
    """Raise ``DomainError`` for a pair that is likely to be (delta, epsilon)."""
    if is_symbol(epsilon) or is_symbol(delta):
        return
    if 0 < PureDP(epsilon).epsilon_0 <= 1e-3 and TotalVariation(delta).delta_0 > 0.1:
        remedy = "are epsilon and delta swapped? If not, write PureDP(epsilon) @ TotalVariation(delta)"
        raise domain("delta", delta, "at most 0.1 for 0 < epsilon <= 1e-3", remedy)
