"""The Laplace family T(Lap(0,1), Lap(epsilon,1))."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tradeoff.balls import Balls, choose, exp, expm1, log, maximum, to_balls, to_bounds, upper_float
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MAX_LOSS, Parameter, Value, count, is_symbol, real, written
from tradeoff.families._closed_form import ClosedForm, suggest_mechanism
from tradeoff.families.identity import Identity
from tradeoff.intervals.bounds import Bounds
from tradeoff.pld.shifts import LaplaceLaw


def laplace_beta(alpha: Balls, shift: Balls) -> Balls:
    """Return 1 - e^shift alpha, then e^-shift/(4 alpha), then e^-shift (1 - alpha)."""
    ratio = exp(shift) * alpha
    return choose(
        alpha - 0.5, choose(ratio - 0.5, 1 - ratio, 0.25 / maximum(ratio, 0.25)), exp(-shift) * (1 - alpha)
    )


def laplace_profile(x: Balls, shift: Balls) -> Balls:
    """Return 1 - e^((x - shift)/2) for |x| <= shift."""
    return maximum(maximum(-expm1((x - shift) / 2), 0), -expm1(x))


@dataclass(frozen=True, repr=False)
class Laplace(ClosedForm):
    r"""Curve of a test of Lap(0, 1) against Lap(epsilon, 1): Laplace noise, epsilon = sensitivity/scale.

    :math:`f(\alpha)` is :math:`1 - e^\varepsilon \alpha` below :math:`e^{-\varepsilon}/2`,
    :math:`e^{-\varepsilon}/(4 \alpha)` up to 1/2, and :math:`e^{-\varepsilon} (1 - \alpha)` above.

    Parameters
    ----------
    epsilon
        Shift over scale, in nats, in [0, 1e4], or a SymPy expression.

    Notes
    -----
    The limit of k-fold groups of :math:`f_{\varepsilon/k,0}` (Dong, Roth, Su 2022, Proposition 2.15).

    Examples
    --------
    >>> from tradeoff import Laplace
    >>> Laplace(1.0).epsilon(0)
    1.0
    """

    epsilon_0: Value
    parameter = "epsilon_0"
    shift: Fraction | None = field(default=None, init=False)
    """Exact epsilon of a group where it is not a float; ``epsilon_0`` is rounded up."""

    @suggest_mechanism("Laplace(scale=...)")
    def __init__(self, epsilon: Parameter) -> None:
        object.__setattr__(self, "epsilon_0", real("epsilon", epsilon, 0, MAX_LOSS))

    @classmethod
    def from_shift(cls, shift: Fraction) -> Laplace:
        """Return the curve of an exact epsilon >= 0."""
        curve = cls(upper_float(to_balls(shift)))
        if Fraction(curve.epsilon_0) != shift:
            object.__setattr__(curve, "shift", shift)
        return curve

    @property
    def theta(self) -> Fraction:
        """Exact epsilon."""
        return Fraction(self.epsilon_0) if self.shift is None else self.shift

    elementary = True

    def beta_balls(self, alpha: Balls) -> Balls:
        return laplace_beta(alpha, to_balls(self.theta))

    def profile(self, x: Balls) -> Balls:
        return laplace_profile(x, to_balls(self.theta))

    def loss(self, delta: Balls) -> Balls:
        return maximum(log(1 - delta), to_balls(self.theta) + 2 * log(1 - delta))

    def largest_loss(self) -> Balls:
        return to_balls(self.theta)

    def loss_distribution(self) -> LaplaceLaw:
        return LaplaceLaw(self.epsilon_0)

    def group(self, k: Any) -> TradeOff:
        # The limit of f_{eps/m,0}^(o km) is closed under groups.
        if is_symbol(k) or self.free_symbols:
            return Laplace(k * self.epsilon_0)
        k = count("k", k)
        return self.from_shift(k * self.theta) if k else Identity()

    def renyi_bounds(self, order: float) -> Bounds:
        r"""Bound the Rényi divergence of order a >= 1, in nats (Mironov 2017, Proposition 6).

        With :math:`k = a - 1` it is :math:`\log[(a e^{k \varepsilon} + k e^{-a \varepsilon})/(2a - 1)]/k`,
        and :math:`\varepsilon + e^{-\varepsilon} - 1` at :math:`a = 1`.
        """
        if order < 1:
            return super().renyi_bounds(order)
        a, e = to_balls(order), to_balls(self.theta)
        k = a - 1
        if order == 1:
            return to_bounds(e + expm1(-e))
        return to_bounds(log((a * exp(k * e) + k * exp(-a * e)) / (2 * a - 1)) / k)

    @property
    def notation(self) -> str:
        return f"Lap_{{{written(self.epsilon_0)}}}"
