"""Laws of L made of point masses, held as logarithms so that a million rounds do not underflow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import expit

from tradeoff.errors import NoClosedForm, SizeError, counted
from tradeoff.intervals.binomial import log_pmf
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.pld.law import (
    Atoms,
    Cells,
    PlanningPoints,
    PrivacyLossDistribution,
    combine_masses_at_infinity,
    in_order,
)

MAX_ATOMS = 4_000_000  # most atoms one law may hold
MOST_DESCRIBED = 2**14  # most atoms a description writes out: about half a megabyte of JSON
_SKETCHED = 2**17  # most points of a sketch, which only choices are made of
LOST = 1e-300  # bound on the mass of atoms that are left out; e^-750 and less in truth

# Losses nearer to 0 are one atom there, as their sums and cells would have no digits; what such a law has
# farther away is below all floats.
_NEAR = 1e-290


@dataclass(frozen=True, eq=False)
class AtomicLaw(PrivacyLossDistribution):
    """Finitely many losses, increasing; ``slack`` is relative, of masses, ``lost`` bounds what is left out.

    ``position`` bounds the error of every loss; unless said, it is 8 units of the loss and 16 of the square
    of a unit, which is what a logarithm of a ratio costs whose masses are differences of floats
    (``intervals.differences.log_ratio``). ``fractions`` gives all masses under P and under Q, those at
    infinite losses too, where they are known; only certificates ask.
    """

    loss: Array
    log_p: Array
    mass_at_minus_infinity: float = 0.0
    mass_at_plus_infinity: float = 0.0
    slack: Array | None = None
    lost: float = 0.0
    position: float | None = None
    fractions: Callable[[], tuple[tuple[Fraction, ...], ...] | None] | None = None
    symmetric: bool = False

    continuous = False

    @property
    def support(self) -> tuple[float, float]:
        if len(self.loss) == 0:
            return 0.0, 0.0
        return float(self.loss[0]), float(self.loss[-1])

    @property
    def atoms(self) -> Atoms:
        # Unless said, log_p is a logarithm of a few operations, to a unit of itself.
        slack = (8 + 2 * np.abs(self.log_p)) * UNIT if self.slack is None else self.slack
        return Atoms(self.loss, self.log_p, slack)

    @property
    def loss_error(self) -> Array:
        if self.position is None:
            return UNIT * (8 * np.abs(self.loss) + 16 * UNIT)
        return np.full(len(self.loss), self.position)

    @property
    def enclosure(self) -> tuple[float, float]:
        if len(self.loss) == 0:
            return 0.0, 0.0
        low, high = self.range
        error = self.loss_error
        return low - float(error[0]), high + float(error[-1])

    def sketch(self) -> PlanningPoints:
        each = -(-len(self.loss) // _SKETCHED)
        if each <= 1:
            return PlanningPoints(self.loss, self.log_p)
        starts = np.arange(0, len(self.loss), each)
        log_p = np.logaddexp.reduceat(self.log_p, starts)
        share = np.exp(self.log_p - np.repeat(log_p, np.diff(np.append(starts, len(self.loss)))))
        return PlanningPoints(np.add.reduceat(share * self.loss, starts), log_p)

    def _cells(self, edges: Array) -> Cells:
        zero = np.zeros(len(edges) - 1)
        return Cells(zero, zero, zero)

    def description(self) -> dict[str, Any]:
        if len(self.loss) > MOST_DESCRIBED:
            raise NoClosedForm(
                f"{len(self.loss)} atoms are more than a certificate writes out ({MOST_DESCRIBED}); "
                "certify fewer at a time"
            )
        fractions = self.fractions() if self.fractions else None
        if fractions is not None:
            return {"kind": "masses"} | {k: list(map(str, v)) for k, v in zip("pq", fractions, strict=True)}
        ends = {
            "mass_at_minus_infinity": self.mass_at_minus_infinity,
            "mass_at_plus_infinity": self.mass_at_plus_infinity,
        }
        return {"kind": "atoms", "loss": self.loss.tolist(), "log_p": self.log_p.tolist(), **ends}


def leaking(law: AtomicLaw, delta: float, kept: float | None = None) -> AtomicLaw:
    """Return the law of f_{0,delta} (x) f: masses shrink by 1 - delta, and what they lose lies at infinity.

    ``kept`` is log(1 - delta), to 8 units of itself, where it is known better than by delta: a delta known to
    4 units leaves 1 - delta known to 4 delta/(1 - delta), its logarithm to 2 more; a sum costs one.
    """
    mass_at_minus_infinity, mass_at_plus_infinity = (
        combine_masses_at_infinity([mass, delta], [1, 1])
        for mass in (law.mass_at_minus_infinity, law.mass_at_plus_infinity)
    )
    log_finite_mass = math.log1p(-delta) if kept is None else kept
    off = 8 * delta * math.exp(-log_finite_mass) if kept is None else 8 * abs(log_finite_mass)
    slack = law.atoms.slack + UNIT * (8 + off + np.abs(law.log_p + log_finite_mass))
    return AtomicLaw(
        law.loss,
        law.log_p + log_finite_mass,
        mass_at_minus_infinity,
        mass_at_plus_infinity,
        slack,
        law.lost,
        law.position,
    )


@dataclass(frozen=True, eq=False)
class BinomialLaw(AtomicLaw):
    """n rounds of f_{epsilon,0}, written out."""

    epsilon: float = 0.0
    n: int = 1

    def single_rounds(self, count: int) -> tuple[PrivacyLossDistribution, int]:
        return (self, count) if self.n == 1 else (binomial_law(self.epsilon, 1), count * self.n)

    @property
    def range(self) -> tuple[float, float]:
        return -self.n * self.epsilon, self.n * self.epsilon  # also where the ends were left out

    def described(self, count: int) -> dict[str, Any]:
        return {"law": {"kind": "response", "epsilon": self.epsilon}, "count": self.n * count}


def too_many(what: str, count: float) -> SizeError:
    """Return the error that a law of so many atoms raises."""
    return SizeError(
        f"{what} has {count:.3g} atoms, above the cap of {MAX_ATOMS}; "
        "bound it by a Gaussian or split the question"
    )


def binomial_law(epsilon: float, n: int) -> BinomialLaw:
    """Return n rounds of f_{epsilon,0}: losses (2k - n) epsilon, k ~ Bin(n, 1/(1 + e^epsilon)) (KOV)."""
    if n > MAX_ATOMS**2:  # below there are at least 45 sqrt(n) atoms
        raise too_many(
            f"the {counted(n)}-fold product of f_({epsilon:.6g},0)", 45 * math.sqrt(min(n, 2**1000))
        )
    reach = 45 * math.sqrt(n) + 800  # Hoeffding: less than e^-4000 lies beyond, under P and under Q
    low = max(0, int(n * expit(-epsilon) - reach))
    high = min(n, int(np.ceil(n * expit(epsilon) + reach)))
    if high - low >= MAX_ATOMS:
        raise too_many(f"the {counted(n)}-fold product of f_({epsilon:.6g},0)", high - low + 1.0)
    k = np.arange(low, high + 1, dtype=float)
    log_p, slack = log_pmf(k, n, epsilon)
    lost = 0.0 if (low, high) == (0, n) else LOST
    return BinomialLaw(
        (2 * k - n) * epsilon, log_p, slack=slack, lost=lost, symmetric=True, epsilon=epsilon, n=n
    )


def merged(loss: Array, log_p: Array, slack: Array) -> Atoms:
    """Sort atoms and add the masses of equal losses."""
    loss, log_p, slack = in_order([(loss, log_p, slack)])
    starts = np.flatnonzero(np.append(True, np.diff(loss) > 0))
    top = np.maximum.reduceat(log_p, starts)
    share = np.exp((log_p - np.repeat(top, np.diff(np.append(starts, len(loss))))).astype(np.longdouble))
    mass = np.add.reduceat(share, starts)
    total = top + np.log(mass).astype(float)
    off = (np.add.reduceat(share * slack, starts) / mass).astype(float)
    return Atoms(loss[starts], total, off + UNIT * (8 + 2 * np.abs(total)))


def to_atomic(law: PrivacyLossDistribution) -> PrivacyLossDistribution:
    """Return a law whose continuous part lies next to 0 with one atom there in its place, known to that.

    Between edges that floats tell apart it would have no mass at all. Other laws stay as they are.
    """
    if not law.continuous:
        return law
    try:
        ends = law.span
    except SizeError:  # too large to be looked at is not next to 0
        return law
    if max(map(abs, ends)) > _NEAR:
        return law
    far = np.abs(law.atoms.loss) > _NEAR
    loss, log_p, slack = (each[far] for each in law.atoms)
    bounds = np.exp(log_p)
    # Exponentials cost 8 units, mass_at_minus_infinity is known to 16, and each difference costs one.
    error = float(np.sum(bounds * (slack + 9 * UNIT))) + UNIT * (
        17 * law.mass_at_minus_infinity + len(bounds)
    )
    mass = max(1 - law.mass_at_minus_infinity - float(np.sum(bounds)), error)
    if mass == 0:
        return AtomicLaw(loss, log_p, law.mass_at_minus_infinity, law.mass_at_plus_infinity, slack, law.lost)
    log_mass = math.log(mass)
    off = min(error / mass + UNIT * (8 + 2 * abs(log_mass)), 1.0)
    own = np.zeros(1), np.array([log_mass]), np.array([off])
    loss, log_p, slack = in_order([(loss, log_p, slack), own])
    position = float(np.max(law.loss_error[far], initial=_NEAR))
    return AtomicLaw(
        loss, log_p, law.mass_at_minus_infinity, law.mass_at_plus_infinity, slack, law.lost, position
    )
