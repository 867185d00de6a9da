"""Operators of one curve: inverse, groups, symbolic powers, the profile as an object.

Each is a ``Derived`` curve: ``operands`` are its curves, ``parameters`` its numbers, and ``rebuild`` makes it
of both. ``pure(f)`` is f without the mark that it only bounds a mechanism, which ``limited`` sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, overload

import numpy as np

from tradeoff.curves.contract import Derived, TradeOff, operand
from tradeoff.curves.hooks import BOUND, PAIR, limited, pure
from tradeoff.curves.parameters import MAX_COUNT, Number, Numbers, count, is_symbol, reals, sympy
from tradeoff.curves.piecewise_linear import PiecewiseLinear, largest_of, segments
from tradeoff.curves.product import tensor
from tradeoff.errors import DomainError, shown
from tradeoff.families.approximate_dp import Identity, TotalVariation
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Array, Bounds, Pair, sides_of
from tradeoff.intervals.functions import clip, log
from tradeoff.intervals.polygon import Line
from tradeoff.intervals.roots import bound_inverse
from tradeoff.operators.tabulate import BetaOperator, largest, thinned
from tradeoff.pld.law import PrivacyLossDistribution, bound_mass
from tradeoff.pld.transformed import ReversedPLD
from tradeoff.symbolic.forms import Form, convert_number, form, form_of_power, lines_group, two_lines


class Inverse(Derived):
    """T(Q, P): f^-1(alpha) = inf{t : f(t) <= alpha}."""

    name = "inverse"
    rebuild = staticmethod(lambda f: f.inverse())

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return bound_inverse(self.operands[0].bounds, alpha)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        within = np.minimum(epsilon, 700.0)  # above, delta is at most its value at 700 nats
        low, high = self.operands[0].inverse_delta(within)
        return np.where(epsilon > within, self.mass_at_infinity.lower, low), high

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        q = self.operands[0].mass_at_minus_infinity
        return Bounds(q, q) if q in {0.0, 1.0} else bound_mass(q)

    def inverse(self) -> TradeOff:
        return self.operands[0]

    def laws(self) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution]:
        low, high = self.operands[0].laws()
        below = ReversedPLD(low)
        return below, below if high is low else ReversedPLD(high)


def power(f: TradeOff, n: Any) -> TradeOff:
    """Return the n-fold tensor power; with a symbol n, of families closed under products a member."""
    if not is_symbol(n):
        return tensor([(f, count("n", n, 0, MAX_COUNT))])

    def raise_factor(f: TradeOff, n: Any) -> TradeOff:
        match f:
            case Identity():
                return f
            case Gaussian():
                return Gaussian(sympy.sqrt(n) * f.mu)
            case TotalVariation():
                return TotalVariation(1 - (1 - convert_number(f.delta_0)) ** n)
            case Power(each=(base, times)):
                return Power(base, times * n)
        return Power(f, n)

    product = tensor((raise_factor(pure(factor), times * n), 1) for factor, times in f.factors.items())
    return limited(product, f.tightness if f.tightness == PAIR else BOUND, f.assumptions)


class Power(Derived):
    """f^n for a symbol n: numbers need a value of n, closed forms of the table do not."""

    name = "power"
    rebuild = staticmethod(power)

    def __init__(self, f: TradeOff, n: Any) -> None:
        super().__init__(f, parameters=(n,))
        self.each = f, n

    @property
    def notation(self) -> str:
        return f"({self.operands[0].notation})^{self.parameters[0]}"


@form.register
def _(curve: Power) -> Form:
    return form_of_power(*curve.each)


@dataclass(frozen=True)
class Dual:
    """Profile delta(epsilon) of a curve: an upper bound at every loss; ``dual()`` leads back.

    >>> from tradeoff import Gaussian
    >>> d = Gaussian(1).dual()
    >>> round(d(1.0), 6), d.dual()
    (0.126937, G_{1})
    """

    curve: TradeOff

    @overload
    def __call__(self, epsilon: Number) -> float: ...
    @overload
    def __call__(self, epsilon: Numbers) -> Array: ...
    def __call__(self, epsilon: Number | Numbers) -> float | Array:
        """Return delta(epsilon), an upper bound."""
        return self.curve.delta(epsilon)

    @overload
    def bounds(self, epsilon: Number, *, tol: float | None = None) -> Bounds[float]: ...
    @overload
    def bounds(self, epsilon: Numbers, *, tol: float | None = None) -> Bounds[Array]: ...
    def bounds(self, epsilon: Number | Numbers, *, tol: float | None = None) -> Bounds:
        """Bound delta(epsilon) from both sides, epsilon in nats, any shape."""
        return self.curve.bounds.delta(epsilon, tol=tol)

    @overload
    def conjugate(self, y: Number) -> float: ...
    @overload
    def conjugate(self, y: Numbers) -> Array: ...
    def conjugate(self, y: Number | Numbers) -> float | Array:
        r"""Conjugate of the curve, from above.

        .. math::

           f^*(y) = \sup_x \; x y - f(x)

        It is :math:`\delta(\log(-y)) - 1` for :math:`y < 0`, else y.
        """
        at = reals("y", y)
        if np.isnan(at).any():
            raise DomainError(f"y must hold real slopes without NaN, got {shown(y)}")
        flat = at.ravel()
        value, below = np.maximum(flat, 0.0), flat < 0  # f >= 0 with f(1) = 0: the supremum sits at x = 1
        # delta(log s) - 1 rounded up, at a float below log s, as delta decreases.
        delta = self.curve.bounds.delta(log(-flat[below]).lower).upper
        value[below] = (Bounds.of(delta) - 1).upper
        return value.reshape(at.shape) if at.ndim else float(value[0])

    def dual(self) -> TradeOff:
        r"""Return the curve of the profile.

        .. math::

           f(\alpha) = \sup_\varepsilon \; 1 - \delta(\varepsilon) - e^\varepsilon \alpha
        """
        return self.curve


_MAX_VERTICES = 10_000  # of a group of a polygon, computed within a second; a polygon of more is thinned


class Group(BetaOperator):
    """1 - (1 - f)^(o k): type I error travels through k neighbours; cost grows linearly in k."""

    name = "group"
    rebuild = staticmethod(lambda f, k: f.group(k))

    def __init__(self, f: TradeOff, k: Any) -> None:
        super().__init__(f, parameters=(k,))
        self.k = k

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        # power = (1 - f)^(o j)(alpha) grows with alpha and falls as f grows.
        f, power, beta = self.operands[0].bounds, Bounds.of(alpha), Bounds(alpha, alpha)
        for _ in range(self.k):
            beta = Bounds(f(power.upper).lower, f(power.lower).upper)
            power = clip(1 - beta, 0.0, 1.0)
        return sides_of(beta)

    def of_polygons(self, curves: Sequence[PiecewiseLinear], *, up: bool) -> PiecewiseLinear:
        f = thinned(curves[0], -(-self.k * len(curves[0].alpha) // _MAX_VERTICES), up=up)
        return _chain_power(f, self.k, partial(largest, up=up))

    def reached(self, at: tuple[float, float], curves: Sequence[PiecewiseLinear]) -> list[list[float]]:
        places = [at[0]]
        for _ in range(self.k - 1):
            places.append(1 - curves[0](places[-1]))
        return [places]

    def inverse(self) -> TradeOff:
        return self if self.symmetric else Group(self.operands[0].inverse(), self.k)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        if self.operands[0].mass_at_infinity.upper == 0:
            return Bounds(0.0, 0.0)
        low, high = 1 - Bounds(*self.beta_bounds(np.zeros(1), None))
        return clip(Bounds(float(low[0]), float(high[0])), 0.0, 1.0)

    @property
    def loss_bounds(self) -> Bounds[float]:
        # If f(0) = 1, the slope at 0 is the k-th power of f's; else less steep slopes elsewhere enter.
        f = self.operands[0]
        least = f.loss_bounds.lower if f.mass_at_infinity.upper == 0 else -np.inf
        result: Bounds[float] = self.k * Bounds(least, f.sup_loss)
        return result


def _lines_of_chain(g: PiecewiseLinear, f: PiecewiseLinear) -> Iterator[Line]:
    """Yield lines (a, b, c), a alpha + b beta = c, the largest of which is h, 1 - h = (1 - g) o (1 - f).

    As g(1 - f) grows with f it is the largest that lines of both make, a pair at a time, and at each alpha
    the segment of f there and that of g at 1 - f(alpha) make it.
    """
    # b y = c - a alpha of f, and e z = h - d (1 - y) of g at 1 - y: b e z = b (h - d) + d c - a d alpha.
    firsts = zip(segments(f), (1 - y for _, y in f.vertices[1:]), strict=True)
    seconds = zip(segments(g), (x for x, _ in g.vertices[1:]), strict=True)
    first, second = next(firsts, None), next(seconds, None)
    while first and second:
        ((a, b, c), end), ((d, e, h), stop) = first, second
        yield a * d, b * e, b * (h - d) + d * c
        if end <= stop:
            first = next(firsts, None)
        else:
            second = next(seconds, None)


def _chain_power(
    f: PiecewiseLinear, k: int, polygon: Callable[[Iterable[Line]], PiecewiseLinear]
) -> PiecewiseLinear:
    """Return 1 - (1 - f)^(o k), by squares; ``polygon`` makes the largest of lines."""
    result = f
    for bit in bin(k)[3:]:
        result = polygon(_lines_of_chain(result, result))
        if bit == "1":
            result = polygon(_lines_of_chain(result, f))
    return result


@form.register
def _(curve: Group) -> Form:
    f, k = curve.operands[0], curve.k
    if is_symbol(k):
        return Form()
    if lines := two_lines(f):
        return Form(lambda alpha: lines_group(*lines, alpha, k))
    return form(f).changed(lambda of, alpha: 1 - reduce(lambda power, _: 1 - of(power), range(k), alpha))


def group(f: TradeOff, k: Any) -> TradeOff:
    """Guarantee for ``k`` <= 10 000 steps of the same order: 1 - (1 - f)^(o k).

    If T(P, Q) >= f and T(Q, R) >= g, a test with E_P <= alpha has E_Q <= 1 - f(alpha), so T(P, R) >=
    g(1 - f(alpha)): f need not be symmetric (Dong, Roth, Su 2022, proof of Theorem 2.14).
    """
    k = k if is_symbol(k) and not isinstance(f, PiecewiseLinear) else count("k", k)
    if k == 0:
        return Identity()
    if k == 1 or isinstance(f, Identity):
        return f
    # In fractions a composition may double the vertices, and binary digits add up.
    if isinstance(f, PiecewiseLinear) and f.is_rational and k <= min(32, 4096 // f.bits):
        return limited(_chain_power(f, k, lambda lines: largest_of(lines, f)), BOUND)
    base, steps = (f.operands[0], f.k * k) if isinstance(f, Group) else (pure(operand(f)), k)
    if not is_symbol(steps) and steps > 10_000:  # each is an evaluation, all take seconds
        raise DomainError(f"k must be at most 10000 for a curve without a closed form, got {shown(steps)}")
    return limited(Group(base, steps), BOUND, f.assumptions)
