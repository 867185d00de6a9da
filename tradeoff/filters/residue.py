"""The residue filter: what a budget G_mu has left after each step, for curves of any shape."""

from __future__ import annotations

import math
from typing import NamedTuple

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import real
from tradeoff.curves.tensor import Tensor, tensor
from tradeoff.errors import KindError
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.total_variation import TotalVariation
from tradeoff.filters.base import SLACK, AdditiveFilter
from tradeoff.filters.costs import above, below, gdp_mu, square
from tradeoff.filters.domination import charge
from tradeoff.filters.gdp import share
from tradeoff.filters.responses import bounded
from tradeoff.intervals.rounding import UNIT

_SHORT = 200
"""Factors that are charged one after the other; more of them, or unbounded ones, are charged as one law."""


class Residue(NamedTuple):
    """Gaussian part and failure probability of a guarantee G_mu (x) f_{0,delta}."""

    mu: float
    delta: float


class ResidueFilter(AdditiveFilter):
    """Grant a step f while some r' >= 0 has f (x) G_r' >= G_r; the largest such r' is the budget left.

    Parameters
    ----------
    mu
        Budget, in [1e-100, 1e100].
    delta
        Failure probability of the whole interaction, in [0, 1): the guarantee is G_mu (x) f_{0,delta}.
    step_delta
        Mass that a step with unbounded losses may give up, in [0, delta], to be charged less than the least mu with f >= G_mu.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    By induction over the steps left, whatever is chosen next keeps the rest at or above G_r', so the step and the rest are at or above
    f (x) G_r' >= G_r; the product is monotone also when the rest depends on the answer. The same with f_{0,delta} beside each
    Gaussian. The r' found is within 1e-6 of the largest, on the safe side. The guarantee has the slack of the sum in its mu; its
    delta is the one given, to the last bit. ``spent``, ``remaining`` and ``budget`` are pairs (mu, delta).

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
        self.mu = float(real("mu", mu, 1e-100, 1e100))
        self.delta = float(real("delta", delta, 0, 1, open_high=True))
        self.step_delta = float(real("step_delta", step_delta, 0, self.delta))
        super().__init__(
            1.0, self._weight(self.delta)
        )  # in shares of mu^2, and in -log(1 - delta), which add

    @property
    def parameters(self) -> dict[str, float]:
        return {"mu": self.mu, "delta": self.delta, "step_delta": self.step_delta}

    @property
    def residual(self) -> float:
        """Return r, rounded down; the slack of the sum is in it."""
        left = below(max(1 + SLACK * (1 - 1e-3) - self.totals[0].value(), 0.0))
        return below(self.mu * below(math.sqrt(left)))

    def _weight(self, delta: float) -> float:
        """Return -log(1 - delta), rounded up; that of the whole budget is its limit, and other weights keep two units clear of it."""
        weight = -math.log1p(-delta) if delta < 1 else math.inf
        return weight if delta in (0, self.delta) else weight * (1 + 8 * UNIT)

    def _fits(self, asked: tuple[float, ...]) -> bool:
        return super()._fits(asked) and self.totals[1].value(asked[1], -self.limits[1]) <= 0

    def _asked(self, curve: TradeOff) -> tuple[float, float]:
        gaussian, leaks, pieces = _parts(curve)
        lost = [n * self._weight(delta) for delta, n in leaks]
        shares, r = share(gaussian, self.mu), self.residual
        for piece in pieces:
            taken, given_up = self._taken(piece, r)
            if math.isinf(given_up):
                raise KindError(_unbounded(piece))
            shares, lost = (
                shares + (math.nextafter(taken / self.mu / self.mu, math.inf) if taken > 0 else 0.0),
                [*lost, given_up],
            )
            r = math.sqrt(max(r * r * (1 - 4 * UNIT) - taken, 0.0)) * (1 - 4 * UNIT)
        leak = lost[0] if len(lost) == 1 else math.fsum(lost) * (1 + 8 * UNIT)
        return shares * (1 + 2 * len(pieces) * UNIT + 4 * UNIT), leak

    def _taken(self, piece: TradeOff, r: float) -> tuple[float, float]:
        """Return r^2 - r'^2 and -log(1 - delta) of a curve without Gaussian factors; infinite where there is none."""
        f = bounded(piece, self.step_delta)
        plain = f is not None and f.leak == 0
        taken, lost = (
            (charge(f, r) if r > 0 else math.inf, self._weight(f.leak))
            if f is not None and f.leak < 1
            else (math.inf, math.inf)
        )
        naive = (
            math.inf if plain and taken < math.inf else square(gdp_mu(piece))
        )  # a plain charge has it in it
        return (naive, 0.0) if naive < taken else (taken, lost)

    def _shown(self, asked: tuple[float, ...]) -> Residue:
        return Residue(self.mu * math.sqrt(asked[0]), -math.expm1(-asked[1]))

    @property
    def spent(self) -> Residue:
        mu, delta = self._shown(tuple(above(total.value()) for total in self.totals))
        return Residue(above(above(mu)), above(above(delta)))

    @property
    def remaining(self) -> Residue:
        mu, delta = super().remaining
        return Residue(below(below(mu)), below(below(delta)))

    def guarantee(self) -> TradeOff:
        """Curve of the whole interaction: G_mu (x) f_{0,delta}, mu widened by the slack of the sum.

        Returns
        -------
        TradeOff
            A lower bound, whatever was spent: a rule may have stopped because of what it saw.
        """
        return Gaussian(self.mu * (1 + SLACK / 2 + 16 * UNIT)) @ TotalVariation(self.delta)


def _parts(curve: TradeOff) -> tuple[float, list[tuple[float, int]], list[TradeOff]]:
    """Split a product into the mu of its Gaussian factor, its leaks with their counts, and the rest, piece by piece where it is short."""
    factors = curve.factors if isinstance(curve, Tensor) else {curve: 1}
    mu = math.hypot(*(f.mu * math.sqrt(n) for f, n in factors.items() if isinstance(f, Gaussian))) * (
        1 + 4 * UNIT
    )
    leaks = [
        (float(f.mass_at_infinity.upper), n) for f, n in factors.items() if isinstance(f, TotalVariation)
    ]
    rest = [(f, n) for f, n in factors.items() if not isinstance(f, Gaussian | TotalVariation | Identity)]
    if sum(n for _, n in rest) <= _SHORT and all(math.isfinite(f.sup_loss) for f, _ in rest):
        return mu, leaks, [f for f, n in rest for _ in range(n)]
    return mu, leaks, [tensor(rest)]


def _unbounded(curve: TradeOff) -> str:
    return (
        f"{curve!r} has unbounded losses, and no finite mu with f >= G_mu is proved for it: give the filter a delta and a step_delta, "
        "the mass that such a step may give up"
    )
