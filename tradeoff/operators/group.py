"""Group privacy: from one record to k."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited, pure
from tradeoff.curves.parameters import count, is_symbol, symbols_of
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError, shown
from tradeoff.families.identity import Identity
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import clip
from tradeoff.intervals.polygon import Line
from tradeoff.intervals.rounding import Array
from tradeoff.operators.tabulate import BetaOperator, largest, segments, tabulate
from tradeoff.symbolic.forms import Form, form, lines_group, two_lines

_MAX_STEPS = 10_000  # of a curve without a closed form: each is an evaluation, all take seconds
_MAX_VERTICES = 10_000  # of a group of a polygon, in seconds; a larger one is tabulated


class Group(BetaOperator):
    """1 - (1 - f)^(o k): type I error travels through k neighbours; cost grows linearly in k."""

    name = "group"

    def __init__(self, f: TradeOff, k: Any) -> None:
        self.operands, self.parameters, self.k = (f,), (k,), k

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        # power = (1 - f)^(o j)(alpha) grows with alpha and falls with f: each side follows from itself.
        power = Bounds.of(alpha)
        for _ in range(self.k - 1):
            power = clip(1 - self._of_base(power), 0.0, 1.0)
        low, high = self._of_base(power)
        return low, high

    def _of_base(self, power: Bounds) -> Bounds:
        f = self.operands[0].bounds
        return Bounds(f(power.upper).lower, f(power.lower).upper)

    def of_polygons(self, curves: Sequence[PiecewiseLinear], *, up: bool) -> PiecewiseLinear:
        (f,) = curves
        if self.k * len(f.alpha) > _MAX_VERTICES:
            return tabulate(Group(f, self.k))[up]
        result = f
        for _ in range(self.k - 1):
            result = largest(_chained(result, f), up=up)
        return result

    def reached(self, at: tuple[float, float], curves: Sequence[PiecewiseLinear]) -> list[list[float]]:
        places = [at[0]]
        for _ in range(self.k - 1):
            places.append(1 - curves[0](places[-1]))
        return [places]

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        base: TradeOff = change(self.operands[0])
        return base.group(change(self.k))

    def inverse(self) -> TradeOff:
        return self if self.symmetric else Group(self.operands[0].inverse(), self.k)

    @property
    def free_symbols(self) -> frozenset[Any]:
        return super().free_symbols | symbols_of(self.k)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        if self.operands[0].mass_at_infinity.upper == 0:
            return Bounds(0.0, 0.0)
        low, high = 1 - Bounds(*self.beta_bounds(np.zeros(1), None))
        return clip(Bounds(float(low[0]), float(high[0])), 0.0, 1.0)

    @property
    def loss_bounds(self) -> Bounds[float]:
        # The slope at 0 is that of f to the k-th power where f starts at 1; else it is taken elsewhere.
        f = self.operands[0]
        least = f.sup_loss_lower if f.mass_at_infinity.upper == 0 else -np.inf
        result: Bounds[float] = self.k * Bounds(least, f.sup_loss)
        return result


def _chained(g: PiecewiseLinear, f: PiecewiseLinear) -> Iterator[Line]:
    """Yield lines the largest of which is h, 1 - h = (1 - g) o (1 - f): of segments one after the other.

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


@form.register
def _(curve: Group) -> Form:
    f, k = curve.operands[0], curve.k
    if is_symbol(k):
        return Form(None, None)
    if lines := two_lines(f):
        return Form(lambda alpha: lines_group(*lines, alpha, k), None)
    value = form(f).value
    return Form(
        value and (lambda alpha: 1 - reduce(lambda power, _: 1 - value(power), range(k), alpha)), None
    )


def group(f: TradeOff, k: Any) -> TradeOff:
    """Guarantee for ``k`` <= 10 000 steps of the same order: 1 - (1 - f)^(o k).

    If T(P, Q) >= f and T(Q, R) >= g, a test with E_P <= alpha has E_Q <= 1 - f(alpha), so T(P, R) >=
    g(1 - f(alpha)): f need not be symmetric (Dong, Roth, Su 2022, proof of Theorem 2.14).
    """
    k = k if is_symbol(k) else count("k", k)
    if k == 0:
        return Identity()
    base, steps = (f.operands[0], f.k * k) if isinstance(f, Group) else (pure(f), k)
    if not is_symbol(steps) and steps > _MAX_STEPS:
        raise DomainError(
            f"k must be at most {_MAX_STEPS} for a curve without a closed form, got {shown(steps)}"
        )
    return f if k == 1 else limited(Group(base, steps), BOUND)
