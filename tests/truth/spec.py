"""What the oracle answers for: descriptions of trade-off functions, which share no code with the library.

A description gives its hockey stick h(s) = sup_alpha {1 - f(alpha) - s alpha}, so that delta(eps) = h(e^eps),
or f itself; convex duality gives the other (Dong, Roth, Su 2022, Proposition 2.12): f(alpha) = sup over s > 0
of 1 - h(s) - s alpha.
"""

from __future__ import annotations

from abc import ABC

from flint import arb

from tests.truth.balls import Number, ball, positive, refined
from tests.truth.search import crossing, geometric, greatest

STEEPEST = arb(2) ** 4000
"""Slopes between its reciprocal and itself are tried; e^eps of every float question is between."""


class Spec(ABC):  # noqa: B024 - either of two hooks is enough
    """Trade-off function f = T(P, Q), described; hooks work at the precision of the moment."""

    def stick(self, s: arb) -> arb:
        """Enclose E_Q[(1 - s e^-L)_+] for s > 0."""
        return positive(greatest(lambda a: 1 - self.whole(a) - s * a, arb(0), arb(1)))

    def curve(self, alpha: arb) -> arb:
        """Enclose f(alpha)."""
        return positive(greatest(lambda s: 1 - self.stick(s) - s * alpha, 1 / STEEPEST, STEEPEST, geometric))

    def whole(self, alpha: arb) -> arb:
        """Enclose f(alpha), with the limits at both ends."""
        if alpha == 0:
            return 1 - self.masses()[0]
        return arb(0) if alpha == 1 else self.curve(alpha)

    def least(self, level: arb) -> arb:
        """Enclose inf{eps : delta(eps) <= level} for Q(L = inf) < level < 1."""
        return crossing(lambda x: self.stick(x.exp()), level)

    def masses(self) -> tuple[arb, arb]:
        """Enclose Q(L = inf) and P(L = -inf)."""
        return arb(0), arb(0)

    def losses(self) -> tuple[arb, arb]:
        """Enclose the infimum and the supremum of the finite losses."""
        return arb.neg_inf(), arb.pos_inf()

    # Questions.

    @refined
    def delta(self, epsilon: Number) -> arb:
        """Enclose delta(eps)."""
        if ball(epsilon) == arb.pos_inf():
            return self.masses()[0]
        return arb(1) if ball(epsilon) == arb.neg_inf() else self.stick(ball(epsilon).exp())

    @refined
    def beta(self, alpha: Number) -> arb:
        """Enclose f(alpha), with the limits at both ends."""
        return self.whole(ball(alpha))

    @refined
    def epsilon(self, delta: Number) -> arb:
        """Enclose the least eps with delta(eps) <= delta: sup L at delta = Q(L = inf), inf below."""
        level, lost = ball(delta), self.masses()[0]
        if level >= 1:
            return arb.neg_inf()
        if level > lost:
            return self.least(level)
        return self.losses()[1] if level == lost else arb.pos_inf() if level < lost else arb.nan()

    @refined
    def sup_loss(self) -> arb:
        """Enclose sup L over the finite losses."""
        return self.losses()[1]

    @refined
    def mass_at_plus_infinity(self) -> arb:
        """Enclose Q(L = inf)."""
        return self.masses()[0]

    @refined
    def mass_at_minus_infinity(self) -> arb:
        """Enclose P(L = -inf)."""
        return self.masses()[1]
