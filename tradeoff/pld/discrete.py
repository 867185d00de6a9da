"""Laws of L made of point masses, as logarithms so that a million rounds do not underflow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import expit

from tradeoff.errors import NoClosedForm, SizeError
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.intervals.special import log_pmf
from tradeoff.pld.law import (
    Atoms,
    Cells,
    PlanningPoints,
    PrivacyLossDistribution,
    combine_masses_at_infinity,
    in_order,
)

MAX_ATOMS = 4_000_000  # most atoms of one law
LOST = 1e-300  # bound on the mass of atoms that are left out; e^-750 and less in truth


@dataclass(frozen=True, eq=False)
class AtomicLaw(PrivacyLossDistribution):
    """Finitely many losses, increasing; ``slack`` is relative, of masses, ``lost`` bounds the mass left out.

    ``position`` bounds the error of every loss; by default it is 8 units of the loss and 16 of the square of
    a unit: the cost of the logarithm of a ratio of masses that are differences of floats
    (``intervals.rounding.log_ratio``). ``fractions`` returns all masses under P and under Q, those at
    infinite losses too, where they are known, for certificates.
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
        return (float(self.loss[0]), float(self.loss[-1])) if len(self.loss) else (0.0, 0.0)

    @property
    def atoms(self) -> Atoms:
        # By default log_p is a logarithm of a few operations, to a unit of itself.
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
        (low, high), error = self.range, self.loss_error
        return low - float(error[0]), high + float(error[-1])

    def sketch(self) -> PlanningPoints:
        each = -(-len(self.loss) // 2**17)  # most points of a sketch, which only choices are made of
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
        most = 2**14  # most atoms of a description: about half a megabyte of JSON
        if len(self.loss) > most:
            raise NoClosedForm(
                f"{len(self.loss)} atoms are more than a certificate writes out ({most}); "
                "certify fewer at a time"
            )
        fractions = self.fractions() if self.fractions else None
        if fractions is not None:
            return {"kind": "masses"} | {k: list(map(str, v)) for k, v in zip("pq", fractions, strict=True)}
        ends = {name: getattr(self, name) for name in ("mass_at_minus_infinity", "mass_at_plus_infinity")}
        return {"kind": "atoms", "loss": self.loss.tolist(), "log_p": self.log_p.tolist(), **ends}


def leaking(law: AtomicLaw, delta: float, kept: float | None = None) -> AtomicLaw:
    """Return the law of f_{0,delta} (x) f: masses shrink by 1 - delta, the rest is at infinity.

    ``kept`` is log(1 - delta), to 8 units of itself, where it is known better than by delta: a delta known to
    4 units leaves 1 - delta known to 4 delta/(1 - delta), its logarithm to 2 more; a sum costs one.
    """
    low, high = (
        combine_masses_at_infinity([mass, delta], [1, 1])
        for mass in (law.mass_at_minus_infinity, law.mass_at_plus_infinity)
    )
    log_kept = math.log1p(-delta) if kept is None else kept
    off = 8 * delta * math.exp(-log_kept) if kept is None else 8 * abs(log_kept)
    log_p = law.log_p + log_kept
    slack = law.atoms.slack + UNIT * (8 + off + np.abs(log_p))
    return AtomicLaw(law.loss, log_p, low, high, slack, law.lost, law.position)


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


def too_many(name: str, count: float) -> SizeError:
    """Return the error of a law with ``count`` atoms, more than the cap."""
    return SizeError(
        f"{name} has {count:.3g} atoms, above the cap of {MAX_ATOMS}; "
        "bound it by a Gaussian or split the question"
    )


def binomial_law(epsilon: float, n: int) -> BinomialLaw:
    """Return n rounds of f_{epsilon,0}: losses (2k - n) epsilon, k ~ Bin(n, 1/(1 + e^epsilon)) (KOV)."""
    reach = 45 * math.sqrt(n) + 800  # Hoeffding: less than e^-4000 lies outside, under P and under Q
    low = max(0, int(n * expit(-epsilon) - reach))
    high = min(n, int(np.ceil(n * expit(epsilon) + reach)))
    if high - low >= MAX_ATOMS:
        raise too_many(f"the {n}-fold product of f_({epsilon:.6g},0)", high - low + 1.0)
    k = np.arange(low, high + 1, dtype=float)
    log_p, slack = log_pmf(k, n, epsilon)
    lost = 0.0 if (low, high) == (0, n) else LOST
    loss = (2 * k - n) * epsilon
    return BinomialLaw(loss, log_p, slack=slack, lost=lost, symmetric=True, epsilon=epsilon, n=n)


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
    """Return a law with one atom at 0 for a continuous part next to 0, known to its distance.

    Between edges that are distinct floats it would have no mass at all. Other laws stay as they are.
    """
    # Losses nearer to 0 are one atom there, as their sums and cells would have no digits; the mass of such a
    # law farther away is below all floats.
    near = 1e-290
    if not law.continuous:
        return law
    try:
        ends = law.span
    except SizeError:  # too large to be computed is not next to 0
        return law
    if max(map(abs, ends)) > near:
        return law
    far = np.abs(law.atoms.loss) > near
    loss, log_p, slack = (each[far] for each in law.atoms)
    mass, position = np.exp(log_p), None
    # Exponentials cost 8 units, mass_at_minus_infinity is known to 16, and each difference costs one.
    error = float(np.sum(mass * (slack + 9 * UNIT))) + UNIT * (17 * law.mass_at_minus_infinity + len(mass))
    rest = max(1 - law.mass_at_minus_infinity - float(np.sum(mass)), error)
    if rest > 0:
        log_rest = math.log(rest)
        off = min(error / rest + UNIT * (8 + 2 * abs(log_rest)), 1.0)
        own = np.zeros(1), np.array([log_rest]), np.array([off])
        loss, log_p, slack = in_order([(loss, log_p, slack), own])
        position = float(np.max(law.loss_error[far], initial=near))
    ends = law.mass_at_minus_infinity, law.mass_at_plus_infinity
    return AtomicLaw(loss, log_p, *ends, slack, law.lost, position)
