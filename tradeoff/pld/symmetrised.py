"""The law of the hull of min{f_p, f_p^-1}, f = f^-1: f_p's above 0, its mirror image below, the rest at 0.

The hull is C_p(f) of Dong, Roth, Su 2022, Theorem 4.2. That its losses above 0 are those of f_p follows from

    delta_(f_p)(x) = sup_S p Q(S) - (e^x - 1 + p) P(S),
    delta_(f_p^-1)(x) = sup_S (1 - (1 - p) e^x) Q(S) - p e^x P(S),

the second after P and Q changed places, as they may in suprema over the tests of a symmetric pair. The first
is the second plus (1 - p)(e^x - 1)(Q(S) - P(S)), and for x >= 0 a test that makes the second positive has
Q(S) > P(S), since 1 - (1 - p) e^x <= p <= p e^x. So the profile of the hull, the larger of the two, is that
of f_p for x >= 0; the hull is symmetric, and the rest follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, total
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.pld.components import Component
from tradeoff.pld.discrete import AtomicLaw, to_atomic
from tradeoff.pld.law import Atoms, Cells, PlanningPoints, PrivacyLossDistribution, in_order, masses
from tradeoff.pld.transformed import Ends, MixturePLD, ReversedPLD, SubsampledPLD, TransformedPLD


class PositivePart(TransformedPLD):
    """The part of a law where L > 0, infinite losses among it: not all of the mass.

    An atom whose loss may be 0 within its error is not in it.
    """

    def __init__(self, base: PrivacyLossDistribution) -> None:
        self.base, self.mass_at_plus_infinity = base, base.mass_at_plus_infinity
        self.continuous, self.lost = base.continuous, base.lost

    def _ends(self, of: Callable[[PrivacyLossDistribution], Ends]) -> Ends:
        return 0.0, max(of(self.base)[1], 0.0)

    @property
    def atoms(self) -> Atoms:
        listed = self.base.atoms
        return Atoms(*(each[listed.loss > self.base.loss_error] for each in listed))

    @property
    def loss_error(self) -> Array:
        error = self.base.loss_error
        return error[self.base.atoms.loss > error]

    def sketch(self) -> PlanningPoints:
        return self._sketch

    @cached_property
    def _sketch(self) -> PlanningPoints:
        """The cells between the points of the base's sketch, at the mean of e^L: their masses add up."""
        loss, log_p, _ = self.atoms
        if self.continuous:
            edges = np.unique(np.clip(np.append(self.base.sketch().loss, self.span), *self.span))
            p, q = masses(self.cells(edges), edges)
            bounds = (p > 0) & (q > 0)
            log_cell = np.log(p[bounds])
            loss, log_p = np.append(np.log(q[bounds]) - log_cell, loss), np.append(log_cell, log_p)
        return PlanningPoints(*in_order([(loss, log_p)]))

    def components(self) -> list[Component] | None:
        parts = self.base.components()
        halves = [None] if parts is None else [part.positive_part() for part in parts]
        return None if None in halves else [part for half in halves for part in half or ()]

    def edge_error(self, edges: Array) -> Array:
        return super().edge_error(edges) + self.base.edge_error(edges)

    def _cells(self, edges: Array) -> Cells:
        return self.base.cells(edges)


class SymmetrisedPLD(MixturePLD):
    """The upper half of a law, its mirror image, and an atom of the rest at 0."""

    symmetric = True
    description = PrivacyLossDistribution.description


def folded(law: PrivacyLossDistribution, p: float, advantage: Bounds[float]) -> PrivacyLossDistribution:
    """Return the law of hull(min{f_p, f_p^-1}) for a symmetric f with this law, delta(0) in ``advantage``.

    With U = P(L > 0), Q(L > 0) = U + delta(0), and f_p leaves 1 - U - ((1 - p) U + p Q(L > 0)) for 0. As
    U + P(L = 0) + Q(L > 0) = 1 by symmetry, that is (1 - p) delta(0) + P(L = 0), where nothing cancels.
    """
    if advantage.upper == 0:
        return AtomicLaw(np.zeros(1), np.zeros(1))
    whole = to_atomic(law)
    if whole is not law:  # sampling brings losses nearer to 0
        return whole
    upper = SubsampledPLD(PositivePart(law), p)
    return SymmetrisedPLD(((1.0, upper), (1.0, ReversedPLD(upper)), (1.0, _centre(law, p, advantage))))


def _centre(law: PrivacyLossDistribution, p: float, advantage: Bounds[float]) -> AtomicLaw:
    """Return the atom at 0, with those of the law that may be at 0.

    They are at most ``moved`` away, in pairs m at e and m e^e at -e. Of f_p's m (1 - p + p e^e) lies below 0;
    to count m e^e instead is too much by less than expm1(moved) of the whole.
    """
    loss, log_p, slack = law.atoms
    here = np.abs(loss) <= law.loss_error
    near = exp(log_p[here]) * (1 + Bounds(-slack[here], slack[here]))
    mass = total([(1 - Bounds.of(p)) * advantage, *map(Bounds, near.lower.tolist(), near.upper.tolist())])
    if mass.upper == 0:
        return AtomicLaw(np.zeros(0), np.zeros(0))
    moved = float(np.max(np.abs(loss[here]) + law.loss_error[here], initial=0.0))
    middle = mass.lower / 2 + mass.upper / 2
    log_mass = math.log(middle)
    off = mass.width / middle + math.expm1(moved) + UNIT * (8 + 8 * abs(log_mass))  # a logarithm costs 8
    return AtomicLaw(np.zeros(1), np.array([log_mass]), slack=np.array([off]), position=moved)
