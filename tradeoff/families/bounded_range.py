"""Bounded range: the curve of every pair whose losses lie in an interval of length epsilon."""

from __future__ import annotations

from dataclasses import dataclass

from tradeoff.balls import Balls, choose, expm1, log1p, maximum, sqrt, to_balls
from tradeoff.curves.parameters import MAX_LOSS, Number, number, written
from tradeoff.families._closed_form import ClosedForm
from tradeoff.pld.shifts import BoundedRangeLaw


def logistic_beta(alpha: Balls, shift: Balls) -> Balls:
    """Return (1 - alpha)/(1 + (e^shift - 1) alpha)."""
    return (1 - alpha) / (1 + expm1(shift) * alpha)


def logistic_profile(x: Balls, shift: Balls) -> Balls:
    """Return (1 - e^((x - shift)/2))^2/(1 - e^-shift) for |x| <= shift."""
    inside = expm1((x - shift) / 2) ** 2 / -expm1(-shift)
    return choose(x - shift, maximum(choose(x + shift, 0 * x, inside), -expm1(x)), 0 * x)


def logistic_loss(delta: Balls, shift: Balls) -> Balls:
    """Return the inverse of ``logistic_profile`` for probabilities in (0, 1)."""
    most = -expm1(-shift)  # delta(-shift)
    return choose(delta - most, shift + 2 * log1p(-sqrt(delta * most)), log1p(-delta))


@dataclass(frozen=True, repr=False)
class BoundedRange(ClosedForm):
    """Curve (1 - alpha)/(1 + (e^eps - 1) alpha), that of the logistic law and its shift by eps > 0, in nats.

    Losses in [t - eps, t], 0 <= t <= eps, leave at least the generalised randomised response f_t with the
    losses t and t - eps alone, as its two lines are the tangents of slopes -e^t and -e^(t - eps) at either
    end (Dong, Durfee, Rogers 2020). Its corner is alpha = (u - r)/(1 - r), beta = (r/u - r)/(1 - r),
    u = e^-t, r = e^-eps. Over all t the corners make up the curve above, which is convex, and so the hull of
    the minimum.

    >>> f = BoundedRange(1.0)
    >>> f, round(f(0.25), 6), round(f.delta(0.5), 6), f.epsilon(0)
    (BR_{1}, 0.524633, 0.077405, 1.0)
    """

    epsilon_0: float

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon_0", number("epsilon", epsilon, 0, MAX_LOSS, open_low=True))

    elementary = True

    def beta_balls(self, alpha: Balls) -> Balls:
        return logistic_beta(alpha, to_balls(self.epsilon_0))

    def profile(self, x: Balls) -> Balls:
        return logistic_profile(x, to_balls(self.epsilon_0))

    def loss(self, delta: Balls) -> Balls:
        return logistic_loss(delta, to_balls(self.epsilon_0))

    def largest_loss(self) -> Balls:
        return to_balls(self.epsilon_0)

    def loss_distribution(self) -> BoundedRangeLaw:
        return BoundedRangeLaw(self.epsilon_0)

    @property
    def notation(self) -> str:
        return f"BR_{{{written(self.epsilon_0)}}}"
