"""Laws of L = log dQ/dP that operators make of other laws: subsampled, reversed, mixed, symmetrised.

A cell [a, b] of losses has the excess Q - e^a P and the deficit P - e^-b Q. With f_p = T(P, (1 - p) P + p Q)
for f = T(P, Q), the hull of min{f_p, f_p^-1}, f = f^-1, is C_p(f) of Dong, Roth, Su 2022, Theorem 4.2. That
its losses above 0 are those of f_p follows from

    delta_(f_p)(x) = sup_S p Q(S) - (e^x - 1 + p) P(S),
    delta_(f_p^-1)(x) = sup_S (1 - (1 - p) e^x) Q(S) - p e^x P(S),

the second after P and Q changed places, as they may in suprema over the tests of a symmetric pair. The first
is the second plus (1 - p)(e^x - 1)(Q(S) - P(S)), and for x >= 0 a test that makes the second positive has
Q(S) > P(S), since 1 - (1 - p) e^x <= p <= p e^x. So the profile of the hull, the larger of the two, is that
of f_p for x >= 0; the hull is symmetric, and the rest follows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from tradeoff.intervals.bounds import Array, Bounds
from tradeoff.intervals.functions import exp, total
from tradeoff.pld.components import (
    Component,
    SamplingRate,
    inverse_loss_error,
    inverse_subsampled_loss,
    subsampled_loss,
    subsampled_loss_error,
    subsampled_slope,
)
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.law import (
    FULL,
    Atoms,
    Cells,
    Ends,
    PlanningPoints,
    PrivacyLossDistribution,
    Transform,
    in_order,
    masses,
    weighted_mass,
)
from tradeoff.pld.units import TINY, UNIT, position_slack


def to_atomic(law: PrivacyLossDistribution) -> PrivacyLossDistribution:
    """Return a law with one atom at 0 for a continuous part next to 0, known to its distance.

    Between edges that are distinct floats it would have no mass at all. Other laws stay as they are.
    """
    near = 1e-290  # sums and cells of losses nearer to 0 than this have no digits
    if not law.continuous or max(abs(law.ends.low), abs(law.ends.high)) > near:
        return law
    far = np.abs(law.atoms.loss) > near
    loss, log_p, slack, loss_error = (each[far] for each in law.atoms)
    mass, position = np.exp(log_p), None
    # Exponentials cost 8 units, mass_at_minus_infinity is known to 16, and each difference costs one.
    error = float(np.sum(mass * (slack + 9 * UNIT))) + UNIT * (17 * law.mass_at_minus_infinity + len(mass))
    rest = max(1 - law.mass_at_minus_infinity - float(np.sum(mass)), error)
    if rest > 0:
        log_rest = math.log(rest)
        off = min(error / rest + UNIT * (8 + 2 * abs(log_rest)), 1.0)
        own = np.zeros(1), np.array([log_rest]), np.array([off])
        loss, log_p, slack = in_order([(loss, log_p, slack), own])
        position = float(np.max(loss_error, initial=near))
    ends = law.mass_at_minus_infinity, law.mass_at_plus_infinity
    return AtomicLaw(loss, log_p, *ends, slack, law.lost, position)


class TransformedPLD(PrivacyLossDistribution):
    """A law made of another one, ``base``: what a subclass does not define is that of the base."""

    def __init__(self, base: PrivacyLossDistribution) -> None:
        self.base, self.continuous, self.lost = base, base.continuous, base.lost
        self.mass_at_plus_infinity = base.mass_at_plus_infinity

    @property
    def ends(self) -> Ends:
        return self.base.ends

    def _cells(self, edges: Array) -> Cells:
        return self.base.cells(edges)


class SubsampledPLD(TransformedPLD):
    """Law of T(P, (1-p) P + p Q): the loss becomes log(1 - p + p e^L) under the same P."""

    def __init__(self, base: PrivacyLossDistribution, p: float) -> None:
        self.base, self.continuous, self.lost = base, base.continuous, base.lost
        self.p, self.share = p, SamplingRate(p, 1 - p)
        self.mass_at_minus_infinity = base.mass_at_minus_infinity if p == 1 else 0.0
        mass = p * base.mass_at_plus_infinity
        self.mass_at_plus_infinity = max(mass, TINY) if p > 0 and base.mass_at_plus_infinity > 0 else 0.0
        # Mass at -infinity becomes an atom at log(1 - p), below the ends. It is known to 16 units; a
        # logarithm costs 8 of itself.
        self._lowest, self._added = math.log1p(-p) if p < 1 else -math.inf, np.zeros((4, 0))
        if base.mass_at_minus_infinity > 0 and p < 1:
            log_mass = math.log(base.mass_at_minus_infinity)
            row = self._lowest, log_mass, (16 - 8 * log_mass) * UNIT, -8 * UNIT * self._lowest
            self._added = np.array(row)[:, None]

    @cached_property
    def ends(self) -> Ends:
        base = np.array(self.base.ends)
        base[0] = -np.inf if self._added.size else base[0]
        ends = subsampled_loss(self.share, base)
        ends[[0, 3]] += subsampled_loss_error(base[[0, 3]], ends[[0, 3]]) * np.array([-1.0, 1.0])
        return Ends(*ends.tolist())

    @cached_property
    def atoms(self) -> Atoms:
        loss, log_p, slack, error = self.base.atoms
        mapped = subsampled_loss(self.share, loss)
        error = error + subsampled_loss_error(loss, mapped)  # the slope is at most 1
        return Atoms(*map(np.append, self._added, (mapped, log_p, slack, error)))

    def sketch(self) -> PlanningPoints:
        loss, log_p = self.base.sketch()
        return PlanningPoints(*map(np.append, self._added[:2], (subsampled_loss(self.share, loss), log_p)))

    def components(self) -> list[Component] | None:
        if (parts := self.base.components()) is None:
            return None
        # Q becomes (1 - p) P + p Q: b becomes (1 - p) d + p b, and g is p g. A product, 1 - p and a sum are
        # three units; where b and d are 0 and 1, 1 - p alone is one.
        (p, rest), result = self.share, list[Component]()
        for part in parts:
            b = SamplingRate(rest * part.d.part + p * part.b.part, rest * part.d.rest + p * part.b.rest)
            units = part.units + (1 if abs(part.g) == 1 else 3)
            result.append(replace(part, g=p * part.g, b=b, units=units))
        return result

    def edge_error(self, edges: Array) -> Array:
        inner = np.clip(inverse_subsampled_loss(self.share, edges), *self.base.ends[1:3])
        off = inverse_loss_error(self.share, edges, inner) + super().edge_error(edges)
        return off + subsampled_slope(self.share, inner, edges) * self.base.edge_error(inner)

    def _cells(self, edges: Array) -> Cells:
        (_, low, high, _), (_, base_low, base_high, _) = self.ends, self.base.ends
        result = np.clip(inverse_subsampled_loss(self.share, edges), base_low, base_high)
        # No sliver is lost to rounding.
        inner = np.where(edges <= low, base_low, np.where(edges >= high, base_high, result))
        cells = self.base.cells(inner)
        # Q' - e^a' P = p (Q - e^a P), and e^-b' (e^b' P - Q') = p e^(b-b') (P - e^-b Q): an exponential, two
        # products, a sum, a quotient and the rounding of 1 - p, then a product, are 14 units.
        ratio = self.p / (self.p + (1 - self.p) * np.exp(np.minimum(-inner[1:], FULL)))
        moved = position_slack(edges, inverse_loss_error(self.share, edges, inner))
        return Cells(self.p * cells.excess, ratio * cells.deficit, cells.slack + moved + 16 * UNIT)


class DampedPLD(TransformedPLD):
    """A law of one normal component ``part`` less some mass; ``outside`` at +inf bounds Q's part of it.

    Its delta is below the law's, and with that mass at infinity above it. It has a transform and no cells.
    """

    def __init__(self, base: PrivacyLossDistribution, part: Component, outside: float) -> None:
        super().__init__(base)
        self.part, self.mass_at_plus_infinity = part, outside

    def sketch(self) -> PlanningPoints:
        loss, log_p = self.base.sketch()
        base, base_loss = self.part.base, inverse_subsampled_loss(self.part.b, loss)
        damping, _ = base.damping((base_loss + base.scale**2 / 2) / base.scale)  # l = scale x - scale^2/2
        return PlanningPoints(*(each[damping < FULL] for each in (loss, log_p - damping)))

    def components(self) -> list[Component]:
        return [self.part]

    def _cells(self, edges: Array) -> Cells:
        raise NotImplementedError  # those of the base are not damped


class ReversedPLD(TransformedPLD):
    """Law of T(Q, P): the loss changes sign, P and Q change places."""

    def __init__(self, base: PrivacyLossDistribution) -> None:
        super().__init__(base)
        self.symmetric, self.mass_at_minus_infinity = base.symmetric, base.mass_at_plus_infinity
        self.mass_at_plus_infinity = base.mass_at_minus_infinity

    @property
    def ends(self) -> Ends:
        return Ends(*(-end for end in reversed(self.base.ends)))

    @property
    def atoms(self) -> Atoms:
        loss, log_p, slack, error = self.base.atoms
        # e^L moves by the error of the loss; a sum costs a unit of its terms.
        slack_q = slack + error + (2 + np.abs(log_p) + np.abs(loss)) * UNIT
        return Atoms(-loss[::-1], (log_p + loss)[::-1], slack_q[::-1], error[::-1])

    def sketch(self) -> PlanningPoints:
        loss, log_p = self.base.sketch()
        return PlanningPoints(-loss[::-1], (log_p + loss)[::-1])

    def components(self) -> list[Component] | None:
        parts = self.base.components()
        return None if parts is None else [replace(part, g=-part.g, b=part.d, d=part.b) for part in parts]

    def transform(self, c: float, digits: float) -> Transform | None:
        return self.base.transform(c, digits) if self.symmetric else super().transform(c, digits)

    def edge_error(self, edges: Array) -> Array:
        return self.base.edge_error(-edges)

    def _cells(self, edges: Array) -> Cells:
        excess, deficit, slack = self.base.cells(-edges[::-1])
        return Cells(deficit[::-1], excess[::-1], slack[::-1])


class MixturePLD(PrivacyLossDistribution):
    """Law of a mixture whose label is published: the average of ``parts``, (weight, law)."""

    def __init__(self, parts: Sequence[tuple[float, PrivacyLossDistribution]]) -> None:
        self.parts = parts
        self.mass_at_minus_infinity = weighted_mass((w, law.mass_at_minus_infinity) for w, law in parts)
        self.mass_at_plus_infinity = weighted_mass((w, law.mass_at_plus_infinity) for w, law in parts)
        self.continuous = any(law.continuous for _, law in parts)
        self.lost = math.fsum(law.lost for _, law in parts)

    @cached_property
    def ends(self) -> Ends:
        least, low, high, most = zip(*(law.ends for _, law in self.parts), strict=True)
        return Ends(min(least), min(low), max(high), max(most))

    @cached_property
    def atoms(self) -> Atoms:
        rows = []
        for w, law in self.parts:
            (loss, log_p, slack, error), log_w = law.atoms, np.log(w)
            # The logarithm of a weight costs 8 units of itself and a sum one of its terms.
            rows.append((loss, log_p + log_w, slack + UNIT * (1 + 9 * abs(log_w) + np.abs(log_p)), error))
        return Atoms(*in_order(rows))

    def sketch(self) -> PlanningPoints:
        points = [(w, law.sketch()) for w, law in self.parts]
        return PlanningPoints(*in_order([(each.loss, each.log_p + np.log(w)) for w, each in points]))

    def components(self) -> list[Component] | None:
        result: list[Component] = []
        for w, law in self.parts:
            if (parts := law.components()) is None:
                return None
            result += [replace(part, k=w * part.k, units=part.units + 1) for part in parts]
        return result

    def edge_error(self, edges: Array) -> Array:
        each = [law.edge_error(edges) for _, law in self.parts if law.continuous]
        return np.asarray(super().edge_error(edges) + np.maximum.reduce([np.zeros_like(edges), *each]))

    def _cells(self, edges: Array) -> Cells:
        excess, deficit, slack = np.zeros((3, len(edges) - 1))
        for weight, law in self.parts:
            if law.continuous:
                cells = law.cells(edges)
                excess += weight * cells.excess
                deficit += weight * cells.deficit
                slack = np.maximum(slack, cells.slack)
        return Cells(excess, deficit, slack + (len(self.parts) + 2) * UNIT)  # a product each, and their sum


class PositivePart(TransformedPLD):
    """The part of a law where L > 0, infinite losses among it: not all of the mass.

    An atom whose loss may be 0 within its error is not in it.
    """

    @property
    def ends(self) -> Ends:
        return Ends(*(max(0.0, end) for end in self.base.ends))

    @property
    def atoms(self) -> Atoms:
        atoms = self.base.atoms
        return Atoms(*(each[atoms.loss > atoms.error] for each in atoms))

    def sketch(self) -> PlanningPoints:
        return self._sketch

    @cached_property
    def _sketch(self) -> PlanningPoints:
        """The cells between the points of the base's sketch, at the mean of e^L: their masses add up."""
        loss, log_p, *_ = self.atoms
        if self.continuous:
            ends = self.ends[1:3]
            edges = np.unique(np.clip(np.append(self.base.sketch().loss, ends), *ends))
            p, q = masses(self.cells(edges), edges)
            bounds = (p > 0) & (q > 0)
            log_cell = np.log(p[bounds])
            loss, log_p = np.append(np.log(q[bounds]) - log_cell, loss), np.append(log_cell, log_p)
        return PlanningPoints(*in_order([(loss, log_p)]))

    def components(self) -> list[Component] | None:
        if (parts := self.base.components()) is None:
            return None
        result = []
        for part in parts:
            half = part.base.positive_part()
            if half is None or (part.g < 0 and not part.base.half):
                return None
            if part.g > 0:  # else L > 0 where l < 0, of which a half has none
                result.append(replace(part, base=half))
        return result

    def edge_error(self, edges: Array) -> Array:
        return super().edge_error(edges) + self.base.edge_error(edges)


def folded(law: PrivacyLossDistribution, p: float, advantage: Bounds[float]) -> PrivacyLossDistribution:
    """Return the law of hull(min{f_p, f_p^-1}) for a symmetric f with this law, delta(0) in ``advantage``.

    With U = P(L > 0), Q(L > 0) = U + delta(0), and f_p leaves 1 - U - ((1 - p) U + p Q(L > 0)) for 0. As
    U + P(L = 0) + Q(L > 0) = 1 by symmetry, that is (1 - p) delta(0) + P(L = 0), where nothing cancels. Atoms
    that may be at 0 are at most ``moved`` away, in pairs m at e and m e^e at -e. Of f_p's m (1 - p + p e^e)
    lies below 0; to count m e^e instead is too much by less than expm1(moved) of the whole.
    """
    if advantage.upper == 0:
        return AtomicLaw(np.zeros(1), np.zeros(1))
    whole = to_atomic(law)
    if whole is not law:  # sampling brings losses nearer to 0
        return whole
    upper = SubsampledPLD(PositivePart(law), p)
    loss, log_p, slack, error = law.atoms
    here = np.abs(loss) <= error
    near = exp(log_p[here]) * (1 + Bounds(-slack[here], slack[here]))
    mass = total([(1 - Bounds.of(p)) * advantage, *map(Bounds, near.lower.tolist(), near.upper.tolist())])
    centre = AtomicLaw(np.zeros(0), np.zeros(0))
    if mass.upper > 0:
        moved = float(np.max(np.abs(loss[here]) + error[here], initial=0.0))
        middle = mass.lower / 2 + mass.upper / 2
        log_mass = math.log(middle)
        off = mass.width / middle + math.expm1(moved) + UNIT * (8 + 8 * abs(log_mass))  # a logarithm costs 8
        centre = AtomicLaw(np.zeros(1), np.array([log_mass]), slack=np.array([off]), position=moved)
    result = MixturePLD(((1.0, upper), (1.0, ReversedPLD(upper)), (1.0, centre)))
    result.symmetric = True
    return result
