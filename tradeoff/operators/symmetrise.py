"""One guarantee for unordered neighbours: three operators, one for each assumption.

"either-order" is the hull of min{f, f^-1}, "both-orders" max{f, f^-1}, "profile" Symm(f). ``Subsampled`` is
f_p = p f + (1 - p) Id, or with ``flipped`` its inverse, and C_p(f) the hull of min{f_p, f_p^-1}. A ``Form``
has SymPy's formulas of f(alpha), delta(eps), eps(delta), or None; ``thinned(form, p)`` is that of f_p.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from tradeoff.curves.contract import Hypothesis, TradeOff
from tradeoff.curves.hooks import BOUND, ENVELOPE, limited, pure
from tradeoff.curves.parameters import choice, sympy
from tradeoff.curves.piecewise_linear import PiecewiseLinear, largest_of, pointwise, segments
from tradeoff.curves.query import cached_by_options
from tradeoff.intervals.bounds import Array, Bounds, Pair, sides_of
from tradeoff.intervals.functions import maximum as maximum_of
from tradeoff.intervals.polygon import Line
from tradeoff.operators.pointwise import HullOfMinimum, maximum
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.tabulate import BetaOperator, CloseLines, largest
from tradeoff.operators.unary import Inverse
from tradeoff.pld.law import PrivacyLossDistribution
from tradeoff.pld.transformed import folded
from tradeoff.symbolic.forms import Form, Formula, convert_number, form, thinned, two_lines


def symmetrise(f: TradeOff, *, assume: Hypothesis) -> TradeOff:
    """Return the symmetric guarantee of a hypothesis (Dong, Roth, Su 2022, Proposition 2.4, Appendix F)."""
    choice("assume", assume, get_args(Hypothesis))
    if f.symmetric:
        return f
    level = min(f.tightness, ENVELOPE if assume == "either-order" else BOUND)
    f = pure(f)
    result: TradeOff
    if isinstance(f, PiecewiseLinear):
        if assume == "profile":
            lines = _steep_lines(f)
            result = (largest_of(lines) if f.is_rational else largest(lines, up=False)).made_of(f)
        else:
            result = pointwise(f, f.inverse(), largest=assume == "both-orders")
    elif assume == "profile":
        result = ProfileSymmetrised(f)
    else:  # the inverse of a formula is solved only where a question needs it
        inverse = Inverse(f) if f.free_symbols else f.inverse()
        result = Envelope(f, inverse) if assume == "either-order" else maximum(f, inverse)
    return limited(result, level)


class Envelope(HullOfMinimum):
    """Hull of min{f, f^-1}: its profile is the larger of the two orders' (either order of add/remove).

    Where f is one order of a sampled symmetric curve, the hull has a law of its own (``pld.transformed``).
    """

    name = "either-order"
    symmetric = True
    rebuild = staticmethod(lambda f: symmetrise(f, assume="either-order"))

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        """Bound epsilon; where it is >= 0 and f is symmetric, f_p has the same profile as C_p(f)."""
        f = self.operands[0]
        if not isinstance(f, Subsampled) or f.flipped or not f.operands[0].symmetric:
            return super().epsilon_bounds(delta, tol)
        low, high = f.bounds.epsilon(delta, tol=tol)
        negative = low < 0
        if negative.any():
            low[negative], high[negative] = super().epsilon_bounds(delta[negative], tol)
        return low, high

    @property
    def has_law(self) -> bool:
        return self._own_laws is not None and all(f.has_law for f in self.operands)

    @cached_by_options
    def _own_laws(self) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution] | None:
        """Laws below and above the hull of both orders of a sampled symmetric curve with one law, else None.

        None also where losses are so large that whole curves are narrower and faster.
        """
        f = self.operands[0]
        if not isinstance(f, Subsampled) or not f.operands[0].symmetric:
            return None
        f.require_numbers()
        low, high = f.operands[0].laws()
        if high is not low or low.ends.high > 1e4:  # as of a Gaussian of mu = 107
            return None
        advantage = f.operands[0].bounds.delta(0.0)
        one = Subsampled(f.operands[0], f.p)
        return one.laws(lambda law, rate: folded(law, rate, advantage))

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.operands[:1]

    @property
    def notation(self) -> str:
        return f"either-order envelope of [{self.operands[0].notation}]"


@form.register
def _(curve: Envelope) -> Form:
    """Return the formulas of C_p(f), f symmetric: its profile is f_p's for eps >= 0, else the mirror image.

    ``profile`` and ``inverse`` change the formulas ``of`` f_p; beta has one for f = f_{top,delta} alone.
    """
    one = curve.operands[0]
    if not isinstance(one, Subsampled) or one.flipped or not one.operands[0].symmetric:
        return Form()
    p, base = convert_number(one.p), one.operands[0]

    def profile(of: Formula, epsilon: Any) -> Any:
        size = sympy.Abs(epsilon)
        mirrored = 1 - sympy.exp(-size) + sympy.exp(-size) * of(size)
        return sympy.Piecewise((of(size), epsilon >= 0), (mirrored, True))

    def inverse(of: Formula, delta: Any) -> Any:
        """Return epsilon(delta) where that is not negative, else NaN."""
        return sympy.Piecewise((of(delta), of(delta) >= 0), (sympy.nan, True))

    def value(alpha: Any) -> Any:
        """Return the largest of 0 and lines of slopes -steep, -1/steep and -1: 1 - delta_{f_p}(0) - alpha."""
        lost, steep = p * delta, 1 - p + p * sympy.exp(top)
        flat = 1 - alpha - p * (delta + (1 - delta) * sympy.tanh(top / 2))
        return sympy.Max(0, 1 - lost - steep * alpha, (1 - lost - alpha) / steep, flat)

    lines = two_lines(base)  # (top, delta) of f_{top,delta}, else None
    top, delta = lines or (0, 0)
    f = thinned(form(base), p).changed(lambda of, x: of(x), profile, inverse)
    return Form(value if lines else None, f.profile, f.epsilon)


class ProfileSymmetrised(BetaOperator):
    """Symm(f) = max{h, h^-1} with h(alpha) = sup over eps >= 0 of (1 - delta(eps) - e^eps alpha)_+."""

    name = "profile-symmetrised"
    symmetric = True
    rebuild = staticmethod(lambda f: symmetrise(f, assume="profile"))
    direct = False  # beta is a supremum itself

    def of_polygons(self, curves: Sequence[PiecewiseLinear], *, up: bool) -> PiecewiseLinear:
        return largest(_steep_lines(curves[0]), up=up)

    def reached(self, at: tuple[float, float], curves: Sequence[PiecewiseLinear]) -> list[list[float]]:
        return [list(at)]

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        f, level = self.operands[0], 1 - self.operands[0].bounds.delta(0.0)
        place, height = self._slope_one
        h = _bound_to_slope_one(f, alpha, place, level, tol)
        mirrored = _bound_to_slope_one(f.inverse(), alpha, height, level, tol, right=True)
        return sides_of(maximum_of(h, mirrored))

    @cached_by_options
    def _slope_one(self) -> tuple[float, float]:
        return CloseLines(self.operands[0], 0.0).slope_one_point()

    # h is f at alpha = 0 and steep there, and h^-1(0) = 1 - delta(0) is not above f(0).

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        return self.operands[0].mass_at_infinity

    @property
    def loss_bounds(self) -> Bounds[float]:
        f = self.operands[0]
        return maximum_of(f.loss_bounds, 0.0)


def _bound_to_slope_one(
    f: TradeOff, alpha: Array, place: float, level: Bounds, tol: float | None, *, right: bool = False
) -> Bounds:
    """Bound f left (or ``right``) of where its slope is -1, near ``place``, and its tangent elsewhere.

    f(alpha) + alpha is convex, with minimum ``level``: where it is more than at ``place``, the side of alpha
    is certain. Elsewhere the answer lies between the tangent and f, which nearly meet.
    """
    value, tangent = f.bounds(alpha, tol=tol), maximum_of(level - alpha, 0.0)
    is_certain = (value + alpha).lower > (f.bounds(place) + place).upper
    on_side = alpha > place if right else alpha < place
    low = np.where(is_certain & on_side, value.lower, tangent.lower)
    return Bounds(low, np.where(is_certain & ~on_side, tangent.upper, value.upper))


def _steep_lines(f: PiecewiseLinear) -> list[Line]:
    """Return the lines of a polygon f with eps >= 0, 0 among them, and their mirror images."""
    least = min(alpha + beta for alpha, beta in f.vertices)  # 1 - delta(0): the line of slope -1
    level = least.denominator, least.denominator, least.numerator
    lines = [level, *(line for line in segments(f) if line[0] >= line[1])]
    return [*lines, *((a, b, c) for b, a, c in lines)]
