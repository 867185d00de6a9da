"""Subsampling: the record takes part with probability p."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from tradeoff.curves import parameters
from tradeoff.curves.contract import Derived, TradeOff, operand
from tradeoff.curves.hooks import BOUND, PAIR, limited, pure
from tradeoff.curves.parameters import MIN_PROBABILITY, Parameter, is_symbol, probability, symbols_of
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.query import certified_beta, certified_delta, certified_epsilon
from tradeoff.errors import DomainError
from tradeoff.families.approximate_dp import Identity
from tradeoff.intervals.bounds import Array, Bounds, Pair, sides_of
from tradeoff.intervals.float_balls import FloatBalls
from tradeoff.intervals.functions import clip, exp, expm1, log1p, maximum, meet, rational
from tradeoff.intervals.roots import bound_inverse
from tradeoff.operators.tabulate import BetaOperator
from tradeoff.operators.unary import Inverse
from tradeoff.pld.components import bound_inverse_subsampled_loss, bound_subsampled_loss
from tradeoff.pld.law import PrivacyLossDistribution
from tradeoff.pld.transformed import ReversedPLD, SubsampledPLD
from tradeoff.symbolic.forms import Form, convert_number, form, thinned

Scheme = Literal["poisson", "without-replacement"]


def subsample(f: TradeOff, p: Parameter, *, scheme: Scheme = "poisson") -> TradeOff:
    r"""Subsampled curve of a base curve T(P, Q), the record absent under P.

    .. math::

       f_p = p f + (1 - p) \mathrm{Id} = T(P, (1 - p) P + p Q)

    Parameters
    ----------
    f
        Base curve T(P, Q).
    p
        Sampling rate, 0 or in [1e-300, 1], a float unless ``f`` is a curve in fractions; or a SymPy
        expression.
    scheme
        ``"poisson"``: one order of add/remove neighbours; its inverse is the other. ``subsample(~f, p)`` is
        not ``~subsample(f, p)``. ``"without-replacement"``: :math:`C_p(f)`, the envelope of :math:`f_p` and
        its inverse, for fixed-size samples, replace-one neighbours and a symmetric f (Dong, Roth, Su 2022,
        Theorem 4.2). Several releases from one sample are one ``subsample(f @ g, p)``.

    Returns
    -------
    TradeOff
        ``repr`` has "one order" where the curve is not symmetric.

    Examples
    --------
    >>> from tradeoff import PureDP, subsample
    >>> round(subsample(PureDP(1.0), 0.5).epsilon(0), 6)
    0.620115
    """
    parameters.choice("scheme", scheme, get_args(Scheme))
    rate = _rate(operand(f), p)
    result = one_order(f, rate)
    if scheme == "poisson" or isinstance(result, Identity):
        return result
    if not f.symmetric:
        need = "subsampling without replacement needs a symmetric curve"
        raise DomainError(f"{need}; take f.symmetrise(assume=...) first")
    return limited(result.symmetrise(assume="either-order"), BOUND)


def _rate(f: TradeOff, p: Any) -> Any:
    """Check a rate: return a fraction for curves in fractions, else a float."""
    rate = probability("p", p)
    return p if isinstance(f, PiecewiseLinear) and f.is_rational and isinstance(p, Fraction) else rate


def one_order(f: TradeOff, rate: Any) -> TradeOff:
    """Return the Poisson-subsampled curve in one order of the pair; rates of nested samples multiply."""
    base = pure(f)
    symbolic = bool(base.free_symbols) or is_symbol(rate)
    result: TradeOff = Subsampled(base, rate)
    # P = Q, where no loss is positive
    if rate == 0 or (not symbolic and rate < 1 and base.sup_loss == 0 and base.mass_at_infinity.upper == 0):
        result = limited(Identity(), PAIR, base.assumptions if rate else ())
    elif isinstance(base, PiecewiseLinear) and base.is_rational and isinstance(rate, Fraction):
        points = base.vertices if base.alpha[-1] == 1 else [*base.vertices, (Fraction(1), Fraction(0))]
        beta = [rate * b + (1 - rate) * (1 - a) for a, b in points]
        result = PiecewiseLinear([a for a, _ in points], beta).made_of(base)
    elif rate == 1:
        result = base @ Identity()
    elif isinstance(base, Subsampled) and not base.flipped and not symbols_of(rate, base.p):
        rates = Fraction(base.p) * Fraction(rate)
        result = limited(Subsampled(base.operands[0], rates), PAIR, base.assumptions)
    # The worst pair of several may be another one once both are sampled.
    return limited(result, f.tightness if f.tightness == PAIR or rate == 1 else BOUND)


class Subsampled(Derived):
    """One order of Poisson subsampling, f_p, or its inverse."""

    name = "subsample"
    symmetric = False

    def __init__(self, base: TradeOff, p: float | Fraction, *, flipped: bool = False) -> None:
        super().__init__(base, parameters=(p, flipped))
        self.p, self.flipped = p, flipped
        # The floats next to p, which are equal unless p is a fraction.
        self.rate = rational(p) if isinstance(p, Fraction) else Bounds(p, p)

    def rebuild(self, base: TradeOff, p: Any, flipped: bool) -> TradeOff:  # noqa: FBT001 - an argument
        result = one_order(base, p if p is self.p else _rate(base, p))
        return result.inverse() if flipped else result

    # The answer is at least p times that of the base, and so is its width: the same ``tol`` suffices, and may
    # be reached where the base does not reach it.

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        base = self.operands[0]
        is_direct = base.depth == 0 or (isinstance(base, BetaOperator) and base.direct)
        if self.flipped and not (is_direct and type(base).beta_bounds is not TradeOff.beta_bounds):
            # A root of conjugated values, or of roots, takes many of them; conjugating this delta takes one.
            return super().beta_bounds(alpha, tol)
        if self.flipped:
            other = Subsampled(base, self.p)
            return bound_inverse(lambda t: certified_beta(other, t, tol), alpha)
        beta, rate = map(FloatBalls.of, (Bounds(*certified_beta(base, alpha, tol)), self.rate))
        return (beta * rate + (1 - FloatBalls.of(alpha)) * (1 - rate)).ends()

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        """Bound p delta_f(eps'), e^eps' = (e^eps - 1 + p)/p; 1 - e^eps where e^eps <= 1 - p, nowhere less."""
        if self.flipped:  # (1 - (1-p) e^eps) delta_{f^-1}(-eps'), e^eps' = (e^-eps - 1 + p)/p; else 0
            inner = bound_inverse_subsampled_loss(self.rate, -Bounds.of(epsilon))
            e = exp(within := np.minimum(epsilon, 700.0))
            share = maximum(meet(1 - (1 - self.rate) * e, self.rate * e - expm1(within)), 0.0)
            return sides_of(share * _falling(certified_delta, self.operands[0].inverse(), -inner, tol))
        inner, least = bound_inverse_subsampled_loss(self.rate, Bounds.of(epsilon)), -expm1(epsilon)
        return sides_of(maximum(self.rate * _falling(certified_delta, self.operands[0], inner, tol), least))

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        if self.flipped:
            return super().epsilon_bounds(delta, tol)
        # delta = p delta_f(eps') where delta < p, else 1 - e^eps.
        low, high = log1p(-Bounds.of(delta))
        inside = delta < self.rate.upper
        if inside.any():
            share = clip(Bounds.of(delta[inside]) / self.rate, 0.0, 1.0)
            after, before = _falling(certified_epsilon, self.operands[0], share, tol)
            low[inside] = bound_subsampled_loss(self.rate, Bounds.of(after)).lower
            high[inside] = bound_subsampled_loss(self.rate, Bounds.of(before)).upper
        return low, high

    @cached_property
    def mass_at_infinity(self) -> Bounds[float]:
        mass = self.operands[0].mass_at_infinity
        if self.flipped or mass.upper == 0:
            return Bounds(0.0, 0.0)
        self.require_numbers()
        return self.rate * mass

    @cached_property
    def loss_bounds(self) -> Bounds[float]:
        base = self.operands[0]
        if not self.flipped and base.loss_bounds.lower == math.inf:
            return Bounds(math.inf, math.inf)
        self.require_numbers()
        if not self.flipped:
            return bound_subsampled_loss(self.rate, base.loss_bounds)
        other = base.inverse()
        # P-mass at -inf becomes an atom at log(1 - p).
        mass, atom = other.mass_at_infinity, -log1p(-self.rate)
        if mass.lower > 0 or other.loss_bounds.lower == math.inf:
            return atom
        finite = -bound_subsampled_loss(self.rate, Bounds(-other.sup_loss, -other.loss_bounds.lower))
        return finite if mass.upper == 0 else Bounds(finite.lower, atom.upper)

    def inverse(self) -> TradeOff:
        return Subsampled(self.operands[0], self.p, flipped=not self.flipped)

    def laws(
        self, sample: Callable[[PrivacyLossDistribution, float], PrivacyLossDistribution] = SubsampledPLD
    ) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution]:
        if self.free_symbols:
            self.require_numbers()
        if self.flipped:
            return Inverse(self.inverse()).laws()
        low, high = self.operands[0].laws()
        least, most = self.rate.lower, self.rate.upper
        # Products of rates may lie below the working range, where cells divide by floats without digits: the
        # law of its least rate is below the curve, and that without losses above it, as f_p falls with p.
        below = sample(low, max(most, MIN_PROBABILITY))
        if least < MIN_PROBABILITY:
            return below, Identity().loss_distribution()
        return below, below if high is low and least == most else sample(high, least)

    def lattice_pld(self) -> PrivacyLossDistribution | None:
        base = self.operands[0]
        law = base.lattice_pld() if base.composed else None  # closed forms have laws of their own
        if law is None or not MIN_PROBABILITY <= self.rate.lower == self.rate.upper:
            return None
        sampled = SubsampledPLD(law, self.rate.upper)
        return ReversedPLD(sampled) if self.flipped else sampled

    @property
    def notation(self) -> str:
        mark, rate = "~" if self.flipped else "", parameters.written(self.p)
        return f"{mark}subsample({self.operands[0].notation}, {rate})"


@form.register
def _(curve: Subsampled) -> Form:
    return Form() if curve.flipped else thinned(form(curve.operands[0]), convert_number(curve.p))


def _falling(answer: Callable[..., Pair], curve: TradeOff, at: Bounds, tol: float | None) -> Bounds:
    """Bound answers that fall as arguments rise, at arguments known by bounds, in one call."""
    one, n = np.array_equal(at.lower, at.upper), len(at.upper)
    low, high = answer(curve, at.upper if one else np.concatenate([at.upper, at.lower]), tol)
    return Bounds(low[:n], high[-n:])
