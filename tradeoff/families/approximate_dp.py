"""Curves f_{epsilon,delta} of (epsilon, delta)-DP, and their parts: identity, total variation and pure DP."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np

from tradeoff import balls
from tradeoff.balls import Balls, exp, expm1, log, log1p, maximum, to_balls
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import MAX_LOSS, Parameter, Value, count, is_symbol, probability, real, sympy
from tradeoff.errors import SizeError
from tradeoff.families._closed_form import ClosedForm, Formulas
from tradeoff.intervals.bounds import Bounds
from tradeoff.pld.discrete import AtomicLaw, binomial_law


class Identity(ClosedForm):
    """Perfect privacy: the unit of the product and the greatest curve of the order.

    Notes
    -----
    Dong, Roth, Su 2022, section 3; no trade-off function lies above it (Proposition 2.2).

    Examples
    --------
    >>> from tradeoff import Identity
    >>> Identity()(0.25)
    0.75
    """

    elementary = True
    formulas = Formulas(
        lambda alpha, _: 1 - alpha, lambda x, _: maximum(-expm1(x), 0), lambda delta, _: log1p(-delta)
    )

    def theta_ball(self) -> Balls:
        return to_balls(0.0)

    def loss_distribution(self) -> AtomicLaw:
        return AtomicLaw(np.zeros(1), np.zeros(1), slack=np.zeros(1))

    def _key(self) -> tuple[()]:
        return ()

    notation = "Id"


@dataclass(frozen=True, repr=False, eq=False)
class TotalVariation(ClosedForm):
    r"""Curve of a failure that reveals everything with probability delta.

    Parameters
    ----------
    delta
        Probability, 0 or in [1e-300, 1], or a SymPy expression; 1 is the zero curve, no privacy at all.

    Notes
    -----
    :math:`f_{0,a} \otimes f_{0,b} = f_{0,1-(1-a)(1-b)}`, and :math:`f \otimes f_{0,\delta}` scales both axes
    of f by :math:`1 - \delta` (Dong, Roth, Su 2022, section 3).

    Examples
    --------
    >>> from tradeoff import TotalVariation
    >>> TotalVariation(0.5) @ TotalVariation(0.5)
    f_{0,0.75}
    """

    delta_0: Value
    parameter = "delta_0"
    pattern = "f_{0,%s}"
    product_weight: Fraction | None = field(default=None, init=False)
    """-log(1 - delta) of a product, rounded; ``delta_0`` is rounded up, and so that of unequal curves."""

    def __init__(self, delta: Parameter) -> None:
        object.__setattr__(self, "delta_0", probability("delta", delta))
        # f_{0,0} is Id: no factor is left to scale.
        object.__setattr__(self, "leak", None if is_symbol(delta) else self.delta_0 or None)

    @property
    def weight(self) -> Fraction:
        """-log(1 - delta), which adds under products, to 150 bits; exact sums, so that no order matters."""
        if self.product_weight is not None:
            return self.product_weight
        return balls.rounded_fraction(-log1p(-to_balls(self.delta_0)))

    @classmethod
    def product(cls, members: Sequence[tuple[Self, int]]) -> TradeOff:
        """Return the product of powers: -log(1 - delta) adds."""
        if any(f.free_symbols for f, _ in members):
            return cls(sympy.simplify(1 - math.prod((1 - f.delta_0) ** n for f, n in members)))
        if any(f.reveals_all for f, _ in members):
            return cls(1.0)
        shares = [(1 - Fraction(f.delta_0), n) for f, n in members if f.product_weight is None]
        # Numerators are odd, so no digit cancels: with 1075 or more the product is not a float.
        digits = sum(n * (share.denominator.bit_length() - 1) for share, n in shares)
        known = len(shares) == len(members) and digits < 1075
        delta = 1 - math.prod((share**n for share, n in shares), start=Fraction(1)) if known else None
        return cls.from_weight(sum((n * f.weight for f, n in members), Fraction(0)), delta)

    @classmethod
    def from_weight(cls, weight: Fraction, delta: Fraction | None = None) -> TradeOff:
        """Return the curve of a -log(1 - delta), as ``weight`` gives it, or ``delta`` where it is a float."""
        if not weight:
            return Identity()
        if delta is not None and delta == float(delta) and (near := cls(float(delta))).weight == weight:
            return near  # the product of two halves is f_{0,3/4}, equal to one given so
        curve = cls(min(balls.upper_float(-expm1(-balls.widened(weight))), 1.0))
        object.__setattr__(curve, "product_weight", weight)
        return curve

    @property
    def reveals_all(self) -> bool:
        return self.delta_0 == 1 and self.product_weight is None

    elementary = True
    formulas = Formulas(  # masses = delta, 1 - delta
        lambda alpha, masses: maximum(masses[1] - alpha, 0),
        lambda x, masses: masses[0] - masses[1] * expm1(balls.minimum(x, 0)),
        lambda delta, masses: log((1 - delta) / masses[1]),
        infinite_mass=lambda masses: masses[0],
    )

    def theta_ball(self) -> tuple[Balls, Balls]:
        if self.product_weight is None:
            return to_balls(self.delta_0), 1 - to_balls(self.delta_0)
        return -expm1(-balls.widened(self.weight)), exp(-balls.widened(self.weight))

    @property
    def kept(self) -> Bounds:
        """Bounds on 1 - delta."""
        return balls.to_bounds(self.theta_ball()[1])

    @property
    def loss_bounds(self) -> Bounds[float]:
        return Bounds(-np.inf if self.reveals_all else 0.0, 0.0)  # no loss is finite if all is revealed

    def loss_distribution(self) -> AtomicLaw:
        if self.reveals_all:
            return AtomicLaw(np.zeros(0), np.zeros(0), 1.0, 1.0)
        return AtomicLaw(np.zeros(1), np.array([-float(self.weight)]), self.delta_0, self.delta_0)

    def group(self, k: Any) -> TradeOff:
        if is_symbol(k) or self.free_symbols:
            return super().group(k)
        k = count("k", k)
        if k < 2:
            return self if k else Identity()
        lost = self.theta_ball()[0] * k  # 1 - f adds delta to alpha, k times
        delta = k * Fraction(self.delta_0) if self.product_weight is None else None
        if not lost < 1:
            return limited(TotalVariation(1.0), BOUND)
        return limited(self.from_weight(balls.rounded_fraction(-log1p(-lost)), delta), BOUND)


@dataclass(frozen=True, repr=False, eq=False)
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
    pattern = "f_{%s,0}"

    def __init__(self, epsilon: Parameter) -> None:
        object.__setattr__(self, "epsilon_0", real("epsilon", epsilon, 0, MAX_LOSS))

    elementary = True
    formulas = Formulas(
        lambda alpha, e: maximum(1 - exp(e) * alpha, (1 - alpha) / exp(e)),
        # (e^eps - e^x)/(1 + e^eps) for |x| <= eps, from the corner at alpha = 1/(1 + e^eps)
        lambda x, e: maximum(maximum(-expm1(x - e) / (1 + exp(-e)), -expm1(x)), 0),
        lambda delta, e: log(maximum(1 - delta, (1 - delta) * exp(e) - delta)),
        renyi=lambda of, e, a: (
            e * of.tanh(e / 2)
            if a == 1
            else of.log((of.exp(a * e) + of.exp((1 - a) * e)) / (1 + of.exp(e))) / (a - 1)
        ),
    )

    def loss_distribution(self) -> AtomicLaw:
        return binomial_law(self.epsilon_0, 1)

    def power_pld(self, n: int) -> AtomicLaw | None:
        """Return the law of L of the n-fold product, exactly, unless it has too many atoms to be listed."""
        try:
            return binomial_law(self.epsilon_0, n)
        except SizeError:
            return None


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
