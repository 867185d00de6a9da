"""Pure differential privacy f_{epsilon,0}: the curve of binary randomised response."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradeoff.curves.parameters import Parameter, Value, real, written
from tradeoff.errors import SizeError
from tradeoff.families._symmetric import SymmetricFamily, grown, numeric
from tradeoff.intervals.bounds import Bounds, Pair, held
from tradeoff.intervals.functions import clip, exp, expm1, log1p, maximum, meet, minimum
from tradeoff.intervals.rounding import Array, around, exact_product
from tradeoff.loss.discrete import AtomicLaw, binomial_law


@dataclass(frozen=True, repr=False)
class PureDP(SymmetricFamily):
    """Least private curve of epsilon-DP: f_{eps,0}(alpha) = max{1 - e^eps alpha, e^-eps (1 - alpha)}.

    Parameters
    ----------
    epsilon
        Loss in nats, in [0, inf), or a SymPy expression.

    Notes
    -----
    Powers are exact: losses (2k - n) eps with binomial masses (Kairouz, Oh, Viswanath 2015, Theorem 3.3).

    Examples
    --------
    >>> from tradeoff import PureDP
    >>> round((PureDP(0.1) ** 1000).epsilon(1e-5), 6)
    17.787128
    """

    epsilon_0: Value
    parameter = "epsilon_0"

    def __init__(self, epsilon: Parameter) -> None:
        object.__setattr__(self, "epsilon_0", real("epsilon", epsilon, 0, open_high=True, up=True))

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        flat = exp(-self.epsilon_0) * (1 - Bounds.of(alpha))
        return tuple(clip(maximum(self._steep(alpha), flat), 0.0, 1.0))

    def _steep(self, alpha: Array) -> Bounds:
        """Bound 1 - e^eps alpha above -7, from twice the digits of a float: next to the kink it is small."""
        high, low, exponent = grown(self.epsilon_0)
        with np.errstate(over="ignore"):
            share = np.minimum(np.ldexp(alpha, exponent), 8.0)
        product, rest = exact_product(high, share)
        # ``low``, what 160 digits leave beside ``high``, is rounded once.
        return 1 - Bounds.of(product) - rest - held(*around(low, 2)) * share

    def _tail(self, epsilon: Array) -> Pair:
        # delta(eps') = (1 - e^(eps' - eps))/(1 + e^-eps) for eps' <= eps.
        gap = minimum(Bounds.of(epsilon) - self.epsilon_0, 0.0)
        return tuple(clip(-expm1(gap) / (1 + exp(-self.epsilon_0)), 0.0, 1.0))

    @property
    def sup_loss(self) -> float:
        return numeric(self, self.epsilon_0)

    def loss_law(self) -> AtomicLaw:
        return binomial_law(self.epsilon_0, 1)

    def power_law(self, n: int) -> AtomicLaw | None:
        """Return the law of L of the n-fold product, exactly, unless it has too many atoms to be listed."""
        try:
            return binomial_law(self.epsilon_0, n)
        except SizeError:
            return None

    def renyi_bounds(self, order: float) -> Bounds:
        """Bound the Renyi divergence log[p^a q^(1-a) + q^a p^(1-a)]/(a-1) with p/q = e^eps, in nats.

        The sum is 1 + 2 sinh(k eps/2) sinh(a eps/2)/cosh(eps/2), k = a - 1, where it is near 1; elsewhere
        (e^(k eps) + e^(-a eps))/(1 + e^-eps).
        """
        a, e = Bounds.of(order), Bounds.of(self.epsilon_0)
        k, cosh = a - 1, exp(e / 2) + exp(-e / 2)
        if order == 1:
            return e * (-expm1(-e) / (1 + exp(-e)))
        near = log1p((expm1(k * e / 2) - expm1(-k * e / 2)) * (expm1(a * e / 2) - expm1(-a * e / 2)) / cosh)
        far = maximum(k, -a) * e + log1p(exp(-maximum(2 * a - 1, 1 - 2 * a) * e)) - log1p(exp(-e))
        return meet(near, far) / k

    @property
    def notation(self) -> str:
        return f"f_{{{written(self.epsilon_0)},0}}"
