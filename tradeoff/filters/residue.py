"""The residue filter: the part of a budget G_mu that each step leaves, for curves of any shape."""

from __future__ import annotations

import math
from typing import NamedTuple

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number
from tradeoff.curves.product import tensor
from tradeoff.errors import KindError, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.total_variation import TotalVariation
from tradeoff.filters.base import SLACK, Filter, widen
from tradeoff.filters.gdp import share, widen_mu
from tradeoff.filters.response_bounds import bounded, charge
from tradeoff.filters.step_cost import gdp_mu, square
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import expm1, log1p, sqrt, total, whole

# Factors charged one after the other, some seconds' work; more, or unbounded ones, count as one curve.
_MAX_FACTORS = 200


class Residue(NamedTuple):
    """Gaussian part and failure probability of a guarantee G_mu (x) f_{0,delta}."""

    mu: float
    delta: float


class ResidueFilter(Filter):
    """Grant a step f while some r' >= 0 has f (x) G_r' >= G_r; the largest such r' is the budget left.

    By induction over the steps left, whatever is chosen next keeps the rest at or above G_r', so the step and
    the rest are at or above f (x) G_r' >= G_r; the product is monotone also when the rest depends on the
    answer. The same holds for G_r (x) f_{0,delta}. The computed r' is within 1e-6 of the largest, on the safe
    side. The guarantee includes the slack of both sums. ``spent``, ``remaining`` and ``budget`` are pairs
    (mu, delta).

    Parameters
    ----------
    mu : Budget, in [1e-9, 1e4].
    delta : Failure probability of the whole interaction, in [0, 1): the guarantee is G_mu (x) f_{0,delta}.
    step_delta
        Mass that a step with unbounded losses may give up, in [0, delta], to be charged less than the least
        mu with f >= G_mu.

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
    amounts = Residue

    def __init__(self, mu: float, *, delta: float = 0.0, step_delta: float = 0.0) -> None:
        self.mu = number("mu", mu, 1e-9, 1e4)
        self.delta = number("delta", delta, 0, 1, open_high=True)
        self.step_delta = number("step_delta", step_delta, 0, self.delta)
        super().__init__(1.0, float((-log1p(-self.delta)).lower))  # of mu^2, and -log(1 - delta), which add

    @property
    def residual(self) -> float:
        """Return r, rounded down; it includes the slack of the sum."""
        return float((self.mu * sqrt(1 + SLACK - total(self.totals[0]))).lower)

    def _cost(self, curve: TradeOff) -> tuple[float, float]:
        factors = curve.factors.items()
        shares = [whole(n) * share(float(f.mu), self.mu) for f, n in factors if isinstance(f, Gaussian)]
        leaks = [(f.mass_at_infinity, n) for f, n in factors if isinstance(f, TotalVariation)]
        lost = [whole(n) * -log1p(-mass) for mass, n in leaks]
        rest = [(f, n) for f, n in factors if not isinstance(f, Gaussian | TotalVariation | Identity)]
        few = sum(n for _, n in rest) <= _MAX_FACTORS and all(math.isfinite(f.sup_loss) for f, _ in rest)
        r = self.residual
        for piece in [f for f, n in rest for _ in range(n)] if few else [tensor(rest)]:
            taken, given_up = self._piece_cost(piece, r)
            if math.isinf(given_up):
                raise KindError(
                    f"{shown(piece)} has unbounded losses, and no finite mu with f >= G_mu is proved for it: "
                    "give the filter a delta and a step_delta, the mass that such a step may give up"
                )
            shares.append(Bounds.of(taken) / self.mu / self.mu)
            lost.append(Bounds.of(given_up))
            r = sqrt(Bounds.of(r) * r - taken).lower
        return float(total(shares).upper), float(total(lost).upper)

    def _piece_cost(self, piece: TradeOff, r: float) -> tuple[float, float]:
        """Return r^2 - r'^2 and -log(1 - delta) of a piece without Gaussian factors; inf if none is known."""
        taken = lost = math.inf
        f = bounded(piece, self.step_delta)
        if f is not None and f.leak < 1:
            taken, lost = charge(f, r) if r > 0 else math.inf, float((-log1p(-Bounds.of(f.leak))).upper)
            if f.leak == 0 and taken < math.inf:
                return taken, lost  # at most the naive charge
        naive = square(gdp_mu(piece))
        return (naive, 0.0) if naive < taken else (taken, lost)

    def _in_units(self, *amounts: Bounds) -> tuple[Bounds, ...]:
        return self.mu * sqrt(amounts[0]), -expm1(-amounts[1])

    @property
    def budget(self) -> Residue:
        return Residue(self.mu, self.delta)

    def _curve(self) -> TradeOff:
        # 1 - (1 - delta)^(1 + s) <= (1 + s) delta.
        return Gaussian(widen_mu(self.mu)) @ TotalVariation(min(widen(self.delta).upper, 1.0))
