"""Pure differential privacy f_{epsilon,0}: the curve of binary randomised response."""

from __future__ import annotations

from dataclasses import dataclass

from tradeoff.balls import Balls, exp, expm1, log, maximum, to_balls, to_bounds
from tradeoff.curves.parameters import MAX_LOSS, Parameter, Value, real, written
from tradeoff.errors import SizeError
from tradeoff.families._closed_form import ClosedForm
from tradeoff.intervals.bounds import Bounds
from tradeoff.pld.discrete import AtomicLaw, binomial_law


@dataclass(frozen=True, repr=False)
class PureDP(ClosedForm):
    r"""Least private curve of epsilon-DP.

    Parameters
    ----------
    epsilon
        Loss in nats, in [0, 1e4], or a SymPy expression.

    Notes
    -----
    Powers are exact: losses :math:`(2k - n) \varepsilon` with binomial masses (Kairouz, Oh, Viswanath 2015,
    Theorem 3.3).

    Examples
    --------
    >>> from tradeoff import PureDP
    >>> round((PureDP(0.1) ** 1000).epsilon(1e-5), 6)
    17.787128
    """

    epsilon_0: Value
    parameter = "epsilon_0"

    def __init__(self, epsilon: Parameter) -> None:
        object.__setattr__(self, "epsilon_0", real("epsilon", epsilon, 0, MAX_LOSS))

    elementary = True

    def beta_balls(self, alpha: Balls) -> Balls:
        top = exp(to_balls(self.epsilon_0))
        return maximum(1 - top * alpha, (1 - alpha) / top)

    def profile(self, x: Balls) -> Balls:
        r"""Return delta(x) for finite losses of either sign.

        For :math:`\lvert x \rvert \le \varepsilon` it is :math:`(e^\varepsilon - e^x)/(1 + e^\varepsilon)`,
        from the corner at :math:`\alpha = 1/(1 + e^\varepsilon)`.
        """
        e = to_balls(self.epsilon_0)
        corner = -expm1(x - e) / (1 + exp(-e))
        return maximum(maximum(corner, -expm1(x)), 0)

    def loss(self, delta: Balls) -> Balls:
        top = exp(to_balls(self.epsilon_0))
        return log(maximum(1 - delta, (1 - delta) * top - delta))

    def largest_loss(self) -> Balls:
        return to_balls(self.epsilon_0)

    def loss_distribution(self) -> AtomicLaw:
        return binomial_law(self.epsilon_0, 1)

    def power_pld(self, n: int) -> AtomicLaw | None:
        """Return the law of L of the n-fold product, exactly, unless it has too many atoms to be listed."""
        try:
            return binomial_law(self.epsilon_0, n)
        except SizeError:
            return None

    def renyi_bounds(self, order: float) -> Bounds:
        r"""Bound the Rényi divergence of order a, in nats.

        .. math::

           \log[p^a q^{1 - a} + q^a p^{1 - a}]/(a - 1), \quad p/q = e^\varepsilon
        """
        a, e = to_balls(order), to_balls(self.epsilon_0)
        p, q = 1 / (1 + exp(-e)), 1 / (1 + exp(e))
        if order == 1:
            return to_bounds(e * (p - q))
        return to_bounds(log(p * exp((a - 1) * e) + q * exp((1 - a) * e)) / (a - 1))

    @property
    def notation(self) -> str:
        return f"f_{{{written(self.epsilon_0)},0}}"
