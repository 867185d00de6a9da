"""The Laplace family T(Lap(0,1), Lap(epsilon,1))."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import Parameter, Value, count, is_symbol, real, written
from tradeoff.errors import domain
from tradeoff.families._symmetric import SymmetricFamily, grown, numeric
from tradeoff.families.identity import Identity
from tradeoff.intervals.bounds import Bounds, Pair, held
from tradeoff.intervals.functions import clip, exp, expm1, log, log1p, meet, minimum, rational, where
from tradeoff.intervals.remainder import raised
from tradeoff.intervals.rounding import Array, around
from tradeoff.loss.laplace import LaplaceLaw


@dataclass(frozen=True, repr=False)
class Laplace(SymmetricFamily):
    """Testing Lap(0,1) against Lap(epsilon,1): the Laplace mechanism with sensitivity/scale = epsilon.

    f(alpha) is 1 - e^eps alpha below e^-eps/2, e^-eps/(4 alpha) up to 1/2, and e^-eps (1 - alpha) above.

    Parameters
    ----------
    epsilon
        Shift over scale, in nats, in [0, inf), or a SymPy expression.

    Notes
    -----
    The limit of k-fold groups of f_{eps/k,0} (Dong, Roth, Su 2022, Proposition 2.15).

    Examples
    --------
    >>> from tradeoff import Laplace
    >>> Laplace(1.0).epsilon(0)
    1.0
    """

    epsilon_0: Value
    parameter = "epsilon_0"
    shift: Fraction | None = field(default=None, init=False)
    """Exact epsilon of a group where it is no float; ``epsilon_0`` is the float above."""

    def __init__(self, epsilon: Parameter) -> None:
        object.__setattr__(self, "epsilon_0", real("epsilon", epsilon, 0, open_high=True, up=True))

    @classmethod
    def of_shift(cls, shift: Fraction) -> Laplace:
        """Return the curve of an exact epsilon >= 0."""
        if shift < 0:
            raise domain("shift", shift, "[0, inf)")
        found = cls(float(rational(shift).upper))
        if Fraction(found.epsilon_0) > shift:
            object.__setattr__(found, "shift", shift)
        return found

    @property
    def theta(self) -> Fraction:
        """Shift over scale of a curve in numbers, exactly."""
        return Fraction(self.sup_loss) if self.shift is None else self.shift

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        high, low, exponent = grown(self.epsilon_0)
        with np.errstate(over="ignore"):
            scaled = np.ldexp(alpha, exponent)
        # ``low`` is the rounding of ``high``, at most one unit.
        mantissa = held(*around(high, 1)) if low else Bounds.of(high)
        share = mantissa * held(np.minimum(scaled, np.finfo(float).max), scaled)  # e^eps alpha
        # The same hyperbola beyond all floats.
        far = exp(-self.epsilon_0 - log(4 * Bounds.of(np.where(alpha > 0, alpha, 1.0))))
        steep, middle = 1 - share, meet(0.25 / share, far)
        flat = exp(-self.epsilon_0) * (1 - Bounds.of(alpha))
        kink = held(steep.lower, middle.upper)  # 1 - x <= 1/(4x): both are held where floats do not tell them
        inner = where(share.upper <= 0.5, steep, where(share.lower < 0.5, kink, middle))
        low, high = clip(where(alpha > 0.5, flat, inner), 0.0, 1.0)
        return low, (high if self.shift is None else Laplace(self.least_sup_loss).beta_bounds(alpha, tol)[1])

    def _tail(self, epsilon: Array) -> Pair:
        # delta(eps') = 1 - e^((eps' - eps)/2) for eps' <= eps.
        gap = minimum(Bounds.of(epsilon) - held(self.least_sup_loss, self.epsilon_0), 0.0)
        return tuple(clip(-expm1(gap / 2), 0.0, 1.0))

    @property
    def sup_loss(self) -> float:
        return numeric(self, self.epsilon_0)

    @property
    def least_sup_loss(self) -> float:
        return self.sup_loss if self.shift is None else math.nextafter(self.sup_loss, 0.0)

    def loss_law(self) -> LaplaceLaw:
        return LaplaceLaw(self.epsilon_0)

    def group(self, k: int) -> TradeOff:
        # The limit of f_{eps/m,0}^(o km) is closed under groups.
        if not is_symbol(k) and count("k", k) == 0:
            return Identity()
        if is_symbol(k) or self.free_symbols:
            return Laplace(k * self.epsilon_0)
        return self.of_shift(k * self.theta)

    def renyi_bounds(self, order: float) -> Bounds:
        """Bound the Renyi divergence of order a >= 1, in nats (Mironov 2017, Proposition 6).

        With k = a - 1 it is log[a e^(k eps) + k e^(-a eps)]/(2a-1))/k; the bracket is 1 + [a A(k eps) + k
        A(-a eps)]/(2a-1), A(x) = e^x - 1 - x, and e^(k eps) [1 + k (e^(-(2a-1) eps) - 1)/(2a-1)].
        """
        if order < 1:
            return super().renyi_bounds(order)
        a, e, nothing = Bounds.of(order), Bounds(self.least_sup_loss, self.sup_loss), Bounds(0.0, 0.0)
        k = a - 1
        if order == 1:
            return raised(nothing, -e)
        near = log1p((a * raised(nothing, k * e) + k * raised(nothing, -a * e)) / (2 * a - 1)) / k
        far = e + log1p(k / (2 * a - 1) * expm1(-(2 * a - 1) * e)) / k
        return meet(near, far)

    @property
    def notation(self) -> str:
        return f"Lap_{{{written(self.epsilon_0)}}}"
