"""One noisy step of many, chosen at random for every record."""

from __future__ import annotations

from dataclasses import dataclass

from tradeoff.curves.parameters import count, real
from tradeoff.curves.tensor import LawCurve
from tradeoff.intervals.bounds import Bounds, held
from tradeoff.loss.allocation import STEEPEST, allocated_law
from tradeoff.loss.discrete import AtomicLaw

MOST_STEPS = 10**6  # most steps of one allocation: twenty halvings, a tenth of a second each


@dataclass(frozen=True, repr=False, eq=True)
class AllocatedCurve(LawCurve):
    """T(N(0, I), mean over i of N(mu e_i, I)) of 2 to 10^6 steps and dimensions, mu in (0, 20], from below.

    A dominating pair of finitely many atoms, good to 1e-3 of epsilon: see ``tradeoff.loss.allocation``. Its
    ``bounds`` hold that pair. One order, the record absent under the null hypothesis.

    >>> round(AllocatedCurve(1.0, 100).epsilon(1e-5), 2)
    0.62
    """

    mu: float
    steps: int

    symmetric = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", real("mu", self.mu, 0, STEEPEST, open_low=True, up=True))
        object.__setattr__(self, "steps", count("steps", self.steps, 2, MOST_STEPS))

    @property
    def q_plus(self) -> float:
        return self.loss_law().q_plus

    @property
    def p_minus(self) -> float:
        return self.loss_law().p_minus

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        mass = Bounds.of(self.q_plus)
        return held((mass * (1 - 2.0**-40)).lower, (mass * (1 + 2.0**-40)).upper)

    def loss_law(self) -> AtomicLaw:
        return allocated_law(self.mu, self.steps)

    def __repr__(self) -> str:
        return f"one of {self.steps} steps G_{{{self.mu:.6g}}} (one order)"
