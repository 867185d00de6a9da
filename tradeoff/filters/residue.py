"""The residue filter: what a budget G_mu has left after each step, for curves of any shape."""

from __future__ import annotations

import math
from typing import NamedTuple

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number
from tradeoff.curves.tensor import tensor
from tradeoff.errors import KindError, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.total_variation import TotalVariation
from tradeoff.filters.base import SLACK, ExactSum, Filter
from tradeoff.filters.costs import gdp_mu, square
from tradeoff.filters.domination import charge
from tradeoff.filters.gdp import share, widened_mu
from tradeoff.filters.responses import bounded
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import expm1, log1p, sqrt, total, whole

# Factors charged one after the other, some seconds' work; more, or unbounded ones, count as one law.
_SHORT = 200

# Share of what is left that is shown: its weight, rounded up by 20 units of 2^-53 at most, still fits.
_FITTING = 1 - 2.0**-48


class Residue(NamedTuple):
    """Gaussian part and failure probability of a guarantee G_mu (x) f_{0,delta}."""

    mu: float
    delta: float


class ResidueFilter(Filter):
    """Grant a step f while some r' >= 0 has f (x) G_r' >= G_r; the largest such r' is the budget left.

    Parameters
    ----------
    mu
        Budget, in [1e-100, 1e100].
    delta
        Failure probability of the whole interaction, in [0, 1): the guarantee is G_mu (x) f_{0,delta}.
    step_delta
        Mass that a step with unbounded losses may give up, in [0, delta], to be charged less than the least
        mu with f >= G_mu.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    By induction over the steps left, whatever is chosen next keeps the rest at or above G_r', so the step and
    the rest are at or above f (x) G_r' >= G_r; the product is monotone also when the rest depends on the
    answer. The same with f_{0,delta} beside each Gaussian. The r' found is within 1e-6 of the largest, on the
    safe side. The guarantee has the slack of the sum in its mu; its delta is the one given, to the last bit.
    ``spent``, ``remaining`` and ``budget`` are pairs (mu, delta).

    Examples
    --------
    >>> from tradeoff import filters, mechanisms
    >>> budget, answers = filters.ResidueFilter(1), mechanisms.RandomizedResponse(epsilon=0.2)
    >>> while not budget.would_exceed(answers):
    ...     budget.spend(answers)
    >>> budget.steps
    23
    """

    kind = "residue"

    def __init__(self, mu: float, *, delta: float = 0.0, step_delta: float = 0.0) -> None:
        self.mu = number("mu", mu, 1e-100, 1e100)
        self.delta = number("delta", delta, 0, 1, open_high=True)
        most = number("delta", delta, 0, 1)
        self.step_delta = min(number("step_delta", step_delta, 0, most), self.delta)
        # In shares of mu^2, and in -log(1 - delta), which add; the second is no less than delta.
        super().__init__(1.0, max(self.delta, (-log1p(-self.delta)).lower))

    @property
    def residual(self) -> float:
        """Return r, rounded down; the slack of the sum is in it."""
        return float((self.mu * sqrt(1 + SLACK - self.totals[0].bounds())).lower)

    def _weight(self, delta: float) -> float:
        """Return -log(1 - delta), rounded up, but of the whole budget its limit, which is rounded down."""
        return self.limits[1] if delta == self.delta else float((-log1p(-delta)).upper)

    def _fits(self, asked: tuple[float, ...]) -> bool:
        return super()._fits(asked) and self.totals[1].bounds(asked[1], -self.limits[1]).upper <= 0

    def _asked(self, curve: TradeOff) -> tuple[float, float]:
        gaussians, leaks, pieces = _parts(curve)
        shares = [whole(n) * share(mu, self.mu) for mu, n in gaussians]
        lost = [whole(n) * self._weight(delta) for delta, n in leaks]
        r = self.residual
        for piece in pieces:
            taken, given_up = self._taken(piece, r)
            if math.isinf(given_up):
                raise KindError(
                    f"{shown(piece)} has unbounded losses, and no finite mu with f >= G_mu is proved for it: "
                    "give the filter a delta and a step_delta, the mass that such a step may give up"
                )
            shares.append(Bounds.of(taken) / self.mu / self.mu)
            lost.append(Bounds.of(given_up))
            r = sqrt(Bounds.of(r) * r - taken).lower
        return float(total(shares).upper), float(total(lost).upper)

    def _taken(self, piece: TradeOff, r: float) -> tuple[float, float]:
        """Return r^2 - r'^2 and -log(1 - delta) of a piece without Gaussian factors; inf if none is known."""
        taken = lost = math.inf
        f = bounded(piece, self.step_delta)
        if f is not None and f.leak < 1:
            taken, lost = charge(f, r) if r > 0 else math.inf, self._weight(f.leak)
            if f.leak == 0 and taken < math.inf:
                return taken, lost  # at most the naive charge
        naive = square(gdp_mu(piece))
        return (naive, 0.0) if naive < taken else (taken, lost)

    def _bounds(self, sums: tuple[Bounds, ...]) -> tuple[Bounds, Bounds]:
        """Bound the mu and the delta of two sums."""
        return self.mu * sqrt(sums[0]), -expm1(-sums[1])

    def _shown(self, asked: tuple[float, ...]) -> Residue:
        mu, delta = self._bounds(tuple(map(Bounds.of, asked)))
        whole_limit = asked[1] >= self.limits[1]  # it is rounded down
        return Residue(mu.upper, max(delta.upper, self.delta) if whole_limit else delta.upper)

    @property
    def budget(self) -> Residue:
        return Residue(self.mu, self.delta)

    @property
    def remaining(self) -> Residue:
        left, rest = map(ExactSum.left, self.totals, self.limits)
        mu, delta = self._bounds((Bounds.of(left), Bounds.of(rest) * _FITTING))
        return Residue(mu.lower, self.delta if rest == self.limits[1] else delta.lower)

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction: G_mu (x) f_{0,delta}, mu widened by the slack of the sum."""
        return Gaussian(widened_mu(self.mu)) @ TotalVariation(self.delta)


Counted = list[tuple[float, int]]  # numbers, and how often each is there


def _parts(curve: TradeOff) -> tuple[Counted, Counted, list[TradeOff]]:
    """Split a product into Gaussian factors, leaks, and the rest, piece by piece where it is short."""
    factors = curve.factors.items()
    gaussians = [(float(f.mu), n) for f, n in factors if isinstance(f, Gaussian)]
    leaks = [(float(f.mass_at_infinity.upper), n) for f, n in factors if isinstance(f, TotalVariation)]
    rest = [(f, n) for f, n in factors if not isinstance(f, Gaussian | TotalVariation | Identity)]
    if sum(n for _, n in rest) <= _SHORT and all(math.isfinite(f.sup_loss) for f, _ in rest):
        return gaussians, leaks, [f for f, n in rest for _ in range(n)]
    return gaussians, leaks, [tensor(rest)]
