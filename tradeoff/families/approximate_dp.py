"""Approximate differential privacy f_{epsilon,delta} = f_{epsilon,0} (x) f_{0,delta}."""

from __future__ import annotations

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import Parameter
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation


def approximate_dp(epsilon: Parameter, delta: Parameter) -> TradeOff:
    r"""Least private curve of (epsilon, delta)-DP.

    .. math::

       f_{\varepsilon,\delta}(\alpha) =
       \max\{0, 1 - \delta - e^\varepsilon \alpha, e^{-\varepsilon} (1 - \delta - \alpha)\}

    Parameters
    ----------
    epsilon
        Loss in nats, in [0, 1e4], or a SymPy expression.
    delta
        Probability in [0, 1], or a SymPy expression.

    Returns
    -------
    TradeOff
        The product :math:`f_{\varepsilon,0} \otimes f_{0,\delta}` (Dong, Roth, Su 2022, Proposition 2.5 and
        Section 3).

    Examples
    --------
    >>> from tradeoff import approximate_dp
    >>> approximate_dp(1.0, 0.25)
    f_{1,0.25}
    """
    return PureDP(epsilon) @ TotalVariation(delta)
