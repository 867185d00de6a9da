"""Bounded range: what holds of every pair whose losses lie in an interval of length epsilon."""

from __future__ import annotations

from dataclasses import dataclass

from tradeoff.curves.parameters import Number, number, written
from tradeoff.families._symmetric import SymmetricFamily
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import clip, exp, expm1, minimum
from tradeoff.intervals.rounding import Array
from tradeoff.loss.laplace import BoundedRangeLaw


@dataclass(frozen=True, repr=False)
class BoundedRange(SymmetricFamily):
    """Curve (1 - alpha)/(1 + (e^eps - 1) alpha), that of the logistic law and its shift by eps > 0, in nats.

    Losses in [t - eps, t], 0 <= t <= eps, leave at least the generalised randomised response f_t with the
    losses t and t - eps alone, as its two lines are the tangents of slopes -e^t and -e^(t - eps) at either
    end (Dong, Durfee, Rogers 2020). Its corner is alpha = (u - r)/(1 - r), beta = (r/u - r)/(1 - r),
    u = e^-t, r = e^-eps. Over all t the corners make up the curve above, which is convex, and so the hull of
    the minimum. delta(x) = (1 - e^((x - eps)/2))^2/(1 - e^-eps) up to eps.

    >>> f = BoundedRange(1.0)
    >>> f, round(f(0.25), 6), round(f.delta(0.5), 6), f.epsilon(0)
    (BR_{1}, 0.524633, 0.077405, 1.0)
    """

    epsilon_0: float

    def __init__(self, epsilon: Number) -> None:
        checked = number("epsilon", epsilon, 0, open_low=True, open_high=True, up=True)
        object.__setattr__(self, "epsilon_0", checked)

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        kept = 1 - Bounds.of(alpha)
        return tuple(clip(kept / (kept + exp(self.epsilon_0) * alpha), 0.0, 1.0))

    def _tail(self, epsilon: Array) -> Pair:
        gap = -expm1(minimum((Bounds.of(epsilon) - self.epsilon_0) / 2, 0.0))
        return tuple(clip(gap**2 / -expm1(-self.epsilon_0), 0.0, 1.0))

    @property
    def sup_loss(self) -> float:
        return self.epsilon_0

    def loss_law(self) -> BoundedRangeLaw:
        return BoundedRangeLaw(self.epsilon_0)

    @property
    def notation(self) -> str:
        return f"BR_{{{written(self.epsilon_0)}}}"
