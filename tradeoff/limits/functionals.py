"""The four functionals of the central limit theorem for trade-off functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip, exp, maximum, total, where, whole
from tradeoff.intervals.rounding import around
from tradeoff.limits.closed_forms import NOTHING, Moments
from tradeoff.limits.moments import KNOWN, factors, moments, powered, recentred, size
from tradeoff.loss.law import LossLaw
from tradeoff.loss.moments import FiniteLaw
from tradeoff.operators.mixture import Mixture
from tradeoff.operators.pointwise import HullOfMinimum, Maximum
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.symmetrise import ProfileSymmetrised

# c of the tail beyond the curve's last loss: the larger, the nearer that starts, and the more it weighs.
_STEEP = 16.0


def kl(curve: TradeOff) -> Bounds:
    """Functional kl(f) = -int log|f'| = KL(P || Q), in nats; of a product, the sum over its factors.

    Parameters
    ----------
    curve
        A curve, or a product.

    Returns
    -------
    Bounds
        The truth lies between; equal up to rounding in closed form. +inf where f' = 0 on an interval.

    Notes
    -----
    Dong, Roth, Su 2022, Section 3.2. Of curves known only between two others the bounds are about 1e-3 apart.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kl(to.Gaussian(1) @ to.PureDP(1)).upper, 6)
    0.962117
    """
    return _summed(curve, "kl", lambda m: m.kl + m.shift, lambda f: f.moment(Power(1)))


def kappa2(curve: TradeOff) -> Bounds:
    """Functional kappa_2(f) = int log^2|f'| = E_P L^2; of a product, the sum over its factors.

    Bounds as of ``kl``. Limit theorems ask for the sum: of the product's own curve only kl is one.

    Parameters
    ----------
    curve
        A curve, or a product.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kappa2(to.PureDP(0.5) ** 8).upper, 12)
    2.0
    """
    return _summed(
        curve, "kappa2", lambda m: m.variance + (m.kl + m.shift) ** 2, lambda f: f.moment(Power(2))
    )


def kappa3(curve: TradeOff) -> Bounds:
    """Functional kappa_3(f) = int |log|f'||^3 = E_P|L|^3; of a product, the sum. Bounds as of ``kl``.

    Parameters
    ----------
    curve
        A curve, or a product.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kappa3(to.PureDP(0.5) ** 8).upper, 12)
    1.0
    """
    return _summed(curve, "kappa3", lambda m: m.kappa3, lambda f: f.moment(Power(3)))


def kappa3bar(curve: TradeOff) -> Bounds:
    """Functional kappa-bar_3(f) = int |log|f'| + kl(f)|^3 = E_P|L - E_P L|^3; of a product, the sum.

    Bounds as those of ``kl``.

    Parameters
    ----------
    curve
        A curve, or a product.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kappa3bar(to.Gaussian(1.0)).upper, 6)
    1.595769
    """
    return _summed(curve, "kappa3bar", lambda m: m.third, _central)


def _central(f: Between) -> Bounds:
    mean = f.moment(Power(1))
    if math.isinf(mean.upper):
        return Bounds(0.0, math.inf)
    centre = (mean.lower + mean.upper) / 2
    return recentred(f.moment(Power(3, centre)), size(mean - centre), 3)


def _summed(
    curve: TradeOff, field: str, exact: Callable[[Moments], Bounds], between: Callable[[Between], Bounds]
) -> Bounds:
    """Add a functional over the factors: of the exact law of each, or of what is known between two."""
    if isinstance(curve, TradeOff) and curve.free_symbols:
        from tradeoff.families.symbolic_answers import summed

        formula = summed(curve, field)
        return Bounds(formula, formula)

    def of_one(factor: TradeOff) -> Bounds:
        apart = factor.inverse().mass_at_infinity
        if apart.lower > 0:  # P has mass at L = -inf, however little: f' = 0 on an interval
            return Bounds(math.inf, math.inf)
        below, above = moments(factor)
        found = exact(below) if below is above else between(Between(factor))
        return Bounds(found.lower, math.inf) if apart.upper > 0 else found

    return total(whole(n) * of_one(factor) for factor, n in factors(curve).items())


@dataclass(frozen=True)
class Power:
    """Function of the loss: |L + centre|^order, or -L for order 1; convex in e^L up to ``turn``."""

    order: int
    centre: float = 0.0

    @property
    def turn(self) -> float:
        """Return the loss where first and second derivatives in L agree: at L + centre = order - 1."""
        return np.inf if self.order == 1 else self.order - 1 - self.centre

    def value(self, loss: Bounds) -> Bounds:
        size = loss + self.centre
        return -loss if self.order == 1 else maximum(size, -size) ** self.order

    def slope(self, loss: Bounds) -> Bounds:
        """Return -1, or r |u|^(r-1) sgn u = r u |u|^(r-2) at u = L + centre."""
        u = loss + self.centre
        if self.order == 1:
            return Bounds.of(-np.ones_like(u.lower))
        return self.order * u * maximum(u, -u) ** (self.order - 2)


@dataclass(frozen=True)
class Between:
    """A curve without P-mass at L = -inf, between the finite laws of a curve below it and of one above it.

    Its functionals do not follow the order of curves. E_P phi(L) with phi convex in r = e^L is a divergence:
    it falls as the curve rises. Powers of L are convex up to some loss and concave beyond, so that each is a
    convex function, its own tangent from there on, less another, the rest:

        D_1(upper) - D_2(lower) <= E_P phi(L) <= D_1(lower) - D_2(upper).
    """

    curve: TradeOff

    @cached_property
    def laws(self) -> tuple[LossLaw, LossLaw]:
        """Return the laws of the curve below and of the curve above, with finitely many losses."""
        low, high = self.curve.laws()
        if low.continuous or high.continuous:
            return self.curve.lower.loss_law(), self.curve.upper.loss_law()
        return low, high

    @cached_property
    def reach(self) -> float:
        """Return -L where tangents replace powers: infinite if the curve below has no mass at -inf."""
        below = self.laws[0]
        return -float(np.min(below.atoms.loss, initial=0.0)) if below.p_minus > 0 else np.inf

    def moment(self, power: Power) -> Bounds:
        """Enclose E_P of a power of the loss."""
        (convex_below, rest_below), (convex_above, rest_above) = (
            _divergences(law, power, self.reach) for law in self.laws
        )
        least = (convex_above - rest_below).lower
        most = convex_below - rest_above + self._tail(power.order)
        return Bounds(max(least, 0.0), most.upper)

    def _tail(self, order: int) -> float:
        """Bound E|L|^r below -reach, where the tangent stood for it: |L| <= c (|L| - reach (1 - 1/c))."""
        if np.isinf(self.reach):
            return 0.0
        laws = _heavier(self.curve)
        if laws is None or self.reach == 0:
            return np.inf
        start = self.reach * (1 - 1 / _STEEP)
        scale = Bounds.of(self.reach) ** order * _STEEP**3 / Bounds.of(self.reach) ** 3
        return float((scale * total(_far(law, start) for law in laws)).upper)


def _divergences(law: LossLaw, power: Power, reach: float) -> tuple[Bounds, Bounds]:
    """Bound two divergences of finitely many losses: of the convex part, and of its excess over the power."""
    at, log_p, slack = law.atoms
    loss = Bounds(at, at) + Bounds(-law.loss_error, law.loss_error)
    inner = clip(loss, -reach, power.turn)
    p = exp(log_p) * (1 + Bounds(-slack, slack))
    moved = p * exp(loss - inner)  # P-mass times r over the r of the tangent's point
    convex = p * power.value(inner) + power.slope(inner) * (moved - p)
    rest = where(at > power.turn, convex - p * power.value(loss), 0.0)
    turn, end = Bounds.of(power.turn), Bounds.of(-reach)
    at_infinity = at_zero = NOTHING
    if law.q_plus > 0 and not np.isinf(power.turn):  # by the last slope in r
        at_infinity = power.slope(turn) * exp(-turn) * Bounds(*around(law.q_plus, KNOWN))
    if law.p_minus > 0:  # at r = 0, on the tangent
        at_zero = (power.value(end) - power.slope(end)) * Bounds(*around(law.p_minus, KNOWN))
    return _added(convex) + at_infinity + at_zero, _added(rest) + at_infinity


def _added(each: Bounds) -> Bounds:
    return total(map(Bounds, each.lower.tolist(), each.upper.tolist()))


def _heavier(curve: TradeOff) -> list[LossLaw] | None:
    """Return laws whose tails at -inf, added, are at least the curve's; None if none are known."""
    # The profile is the largest, or a mean, and so at most the sum.
    if isinstance(curve, HullOfMinimum | Mixture):
        each = [_heavier(f) for f in curve.operands]
        return None if None in each else [law for laws in each for law in laws or ()]
    # |log(1 - p + p r)| <= |log r|, and where r > 1 the thinned law is below Q.
    if isinstance(curve, Subsampled):
        return _heavier(curve.operands[0].inverse() if curve.flipped else curve.operands[0])
    if isinstance(curve, Maximum):
        return next((laws for laws in map(_heavier, curve.operands) if laws is not None), None)
    # Its profile at eps >= 0 is the operand's, and tails at -inf are the inverse's.
    if isinstance(curve, ProfileSymmetrised):
        return _heavier(curve.operands[0].inverse())
    low, high = curve.laws()
    return [low] if low is high else None


def _far(law: LossLaw, start: float) -> float:
    """Bound E (-L - start)_+^3 from above."""
    finite = FiniteLaw(law)
    return finite.expectation(*powered(lambda x: np.maximum(finite.shift - x - start, 0.0), 3))[1]
