"""Functionals of a curve known only between two others, though they do not follow the order of curves.

E_P phi(L) with phi convex in r = e^L is a divergence: it falls as the curve rises. Powers of L are convex up to some loss
and concave beyond, so that each is a convex function, its own tangent from there on, less another, the rest:

    D_1(upper) - D_2(lower) <= E_P phi(L) <= D_1(lower) - D_2(upper).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.law import LossLaw
from tradeoff.loss.moments import FiniteLaw
from tradeoff.operators.mixture import Mixture
from tradeoff.operators.pointwise import HullOfMinimum, Maximum
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.symmetrise import ProfileSymmetrised

_STEEP = 16.0


@dataclass(frozen=True)
class Power:
    """Function of the loss: |L + centre|^order, or -L for order 1; convex in e^L up to ``turn``."""

    order: int
    centre: float = 0.0

    @property
    def turn(self) -> float:
        """Return the loss where the second derivatives in L and the first agree: at L + centre = order - 1."""
        return np.inf if self.order == 1 else self.order - 1 - self.centre

    def value(self, loss: Array) -> Array:
        return -loss if self.order == 1 else np.abs(loss + self.centre) ** self.order

    def slope(self, loss: Array) -> Array:
        u = loss + self.centre
        return (
            -np.ones_like(u) if self.order == 1 else self.order * np.sign(u) * np.abs(u) ** (self.order - 1)
        )


@dataclass(frozen=True)
class Between:
    """A curve without P-mass at L = -inf, between the finite laws of a curve below it and of one above it."""

    curve: TradeOff

    @cached_property
    def laws(self) -> tuple[LossLaw, LossLaw]:
        """Return the laws of the curve below and of the curve above, with finitely many losses."""
        low, high = self.curve.laws()
        return (
            (self.curve.lower.loss_law(), self.curve.upper.loss_law())
            if low.continuous or high.continuous
            else (low, high)
        )

    @cached_property
    def reach(self) -> float:
        """Return the loss -reach from which on a power is replaced by its tangent: -inf if the curve below has no mass at -inf."""
        below = self.laws[0]
        return -float(np.min(below.atoms.loss, initial=0.0)) if below.p_minus > 0 else np.inf

    def moment(self, power: Power) -> Bounds:
        """Enclose E_P of a power of the loss."""
        below, above = (_divergences(law, power, self.reach) for law in self.laws)
        least, most = above[0][0] - below[1][1], below[0][1] - above[1][0] + self._tail(power.order)
        return Bounds(max(float(least), 0.0) * (1 - 4 * UNIT), float(most) * (1 + 4 * UNIT))

    def _tail(self, order: int) -> float:
        """Bound E|L|^r over losses below -reach, where the tangent stood for the power: |L| <= c (|L| - reach (1 - 1/c)) there."""
        if np.isinf(self.reach):
            return 0.0
        laws = _heavier(self.curve)
        if laws is None or self.reach == 0:
            return np.inf
        start = self.reach * (1 - 1 / _STEEP)
        return self.reach ** (order - 3) * _STEEP**3 * sum(_far(law, start) for law in laws) * (1 + 64 * UNIT)


def _divergences(law: LossLaw, power: Power, reach: float) -> tuple[Pair, Pair]:
    """Bound the two divergences of a law with finitely many losses: of the convex part, and of what it exceeds the power by."""
    loss, log_p, slack = law.atoms
    inner = np.clip(loss, -reach, power.turn)
    beyond = loss > power.turn
    p, moved = (
        np.exp(log_p),
        np.exp(log_p + loss - inner),
    )  # P-mass, and P-mass times r over the r of the tangent's point
    value, slope = power.value(inner), power.slope(inner)
    convex = p * value + slope * (moved - p)
    rest = np.where(beyond, convex - p * power.value(loss), 0.0)
    size = (slack + 64 * UNIT * (1 + np.abs(loss))) * (
        p * np.abs([value, power.value(np.abs(loss))]).sum(axis=0) + np.abs(slope) * (moved + p)
    )
    # Q-mass at +inf counts by the last slope in r; P-mass at -inf sits where r = 0.
    at_infinity = (
        0.0
        if np.isinf(power.turn)
        else float(power.slope(np.array(power.turn)) * np.exp(-power.turn)) * law.q_plus
    )
    at_zero = (
        law.p_minus * float(power.value(np.array(-reach)) - power.slope(np.array(-reach)))
        if law.p_minus > 0
        else 0.0
    )
    first, second = float(np.sum(convex)) + at_infinity + at_zero, float(np.sum(rest)) + at_infinity
    error = float(np.sum(size)) + 64 * UNIT * (at_infinity + at_zero)
    return (_array(first - error), _array(first + error)), (_array(second - error), _array(second + error))


def _array(value: float) -> Array:
    return np.asarray(value)


def _heavier(curve: TradeOff) -> list[LossLaw] | None:
    """Return laws whose tails at -inf, added, are at least the curve's; None if none are known."""
    if isinstance(
        curve, HullOfMinimum | Mixture
    ):  # the profile is the largest, or a mean, and so at most the sum
        each = [_heavier(f) for f in curve.operands]
        return None if None in each else [law for laws in each for law in laws or ()]
    if isinstance(
        curve, Subsampled
    ):  # |log(1 - p + p r)| <= |log r|, and where r > 1 the thinned law is below Q
        return _heavier(curve.operands[0].inverse() if curve.flipped else curve.operands[0])
    if isinstance(curve, Maximum):
        return next((laws for laws in map(_heavier, curve.operands) if laws is not None), None)
    if isinstance(
        curve, ProfileSymmetrised
    ):  # its profile at eps >= 0 is the operand's, and tails at -inf are the inverse's
        return _heavier(curve.operands[0].inverse())
    low, high = curve.laws()
    return [low] if low is high else None


def _far(law: LossLaw, start: float) -> float:
    """Bound E (-L - start)_+^3 from above."""
    finite = FiniteLaw(law)

    def over(x: Array) -> Array:
        return np.maximum(finite.shift - x - start, 0.0)

    return finite.expectation(
        lambda x: over(x) ** 3, lambda x: 6 * over(x) + 3 * over(x) ** 2, lambda x: 3 * over(x) ** 2
    )[1]
