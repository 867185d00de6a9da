"""Curves of atoms: integer noise against its shifts, one record among shuffled answers, one step of many.

The engines answer for a ``CurveFromPLD`` from ``loss_distribution()``, the law of L under P; an ``AtomicLaw``
is one of listed losses with log P-masses.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtri

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MAX_LOSS, MOST, choice, count, number, real
from tradeoff.curves.product import CurveFromPLD, Tensor
from tradeoff.errors import domain
from tradeoff.families.approximate_dp import PureDP
from tradeoff.intervals.bounds import Array, Bounds, Pair
from tradeoff.intervals.functions import rational
from tradeoff.pld.allocated_laws import Groups, allocated_laws, grouped_law
from tradeoff.pld.allocation import STEEPEST, bound_epsilon, hockey_stick
from tradeoff.pld.discrete import (
    MAX_ATOMS,
    AtomicLaw,
    binomial_noise_law,
    discrete_gaussian_law,
    skellam_law,
    too_many,
)
from tradeoff.pld.law import PrivacyLossDistribution, bound_mass
from tradeoff.pld.shuffled import Randomizer, shuffled_law, shuffled_pair_law
from tradeoff.pld.transformed import ReversedPLD

# Most records shuffled: the atoms within some deviations of the counts of more do not fit in the list.
MOST_RECORDS = 10**9
NOISES = ("rappor", "laplace")  # randomisers by name, besides those of categories
MOST_STEPS = 10**7  # most steps of one allocation: sums lose a digit for every hundred times as many


class IntegerNoise(CurveFromPLD):
    """Symmetric log-concave integer noise against its shift, an integer >= 1."""

    noise: ClassVar[str]
    """Name of the noise in the notation."""
    size: ClassVar[str]
    """Name of the parameter besides the shift: a positive float, unless a class checks it by itself."""
    power: ClassVar[int] = 1
    """Power of the width of the noise that the parameter is: 2 for a variance."""
    make_law: ClassVar[Callable[[Any, int], AtomicLaw]]
    """Law of L by the parameter and the shift."""

    shift: int
    symmetric = True

    @property
    def loss_bounds(self) -> Bounds[float]:
        return Bounds(math.inf, math.inf)  # sup L, of noise on all integers

    def __post_init__(self) -> None:
        size = number(self.size, getattr(self, self.size), 0, open_low=True)
        shift = count("shift", self.shift, 1, MOST)
        # Shift over width is mu of normal noise, and sup L of Laplace noise.
        if not shift <= MAX_LOSS * size ** (1 / self.power):
            least = f"at least {(shift / MAX_LOSS) ** self.power:g} for a shift of {shift}"
            raise domain(self.size, size, least, "for no privacy use TotalVariation(1)")
        object.__setattr__(self, self.size, size)
        object.__setattr__(self, "shift", shift)

    def loss_distribution(self) -> AtomicLaw:
        return type(self).make_law(getattr(self, self.size), self.shift)

    @property
    def notation(self) -> str:
        size = getattr(self, self.size)
        shown = f"{size:.6g}" if isinstance(size, float) else str(size)
        return f"{self.noise}({shown}{f', shift {self.shift}' if self.shift > 1 else ''})"


class FinitelyMany(CurveFromPLD):
    """Curve of a law whose finitely many losses are listed, each with its error."""

    @property
    def loss_bounds(self) -> Bounds[float]:
        law: Any = self.loss_distribution()  # an AtomicLaw
        return Bounds(float(law.loss[-1] - law.atoms.error[-1]), law.ends.most)


@dataclass(frozen=True, repr=False, eq=False)
class DiscreteGaussianCurve(IntegerNoise):
    """Testing x against x + shift for x on the integers with pmf proportional to e^(-x^2/(2 sigma^2)).

    Of sigma above 4e4 the law has too many atoms to list. Countably many vertices: L = (2 s x - s^2)/(2
    sigma^2) (Canonne, Kamath, Steinke 2020).
    """

    sigma: float
    shift: int = 1
    noise, size, make_law = "N_Z", "sigma", discrete_gaussian_law


@dataclass(frozen=True, repr=False, eq=False)
class DiscreteLaplaceCurve(IntegerNoise):
    """Testing x against x + shift, x integer with pmf proportional to e^(-|x|/scale): shift + 1 ratios.

    At shift 1 the curve is exactly f_{1/scale,0}; shifts above some millions raise ``SizeError``.
    """

    scale: float
    shift: int = 1
    noise, size = "Lap_Z", "scale"

    @property
    def loss_bounds(self) -> Bounds[float]:
        return rational(self.shift) / self.scale

    def loss_distribution(self) -> AtomicLaw:
        if self.shift >= MAX_ATOMS:
            raise too_many(f"discrete Laplace noise shifted by {self.shift}", self.shift + 1.0)
        # P(x <= 0) = 1/(1 + r), P(x = j) = (1 - r)/(1 + r) r^j, P(x >= s) = r^s/(1 + r), r = e^(-1/scale).
        rate, s = 1 / self.scale, self.shift
        inner = np.arange(1, s)
        log_one_plus = np.log1p(np.exp(-rate))
        log_p = np.concatenate([[0.0], np.log(-np.expm1(-rate)) - inner * rate, [-s * rate]]) - log_one_plus
        return AtomicLaw(np.concatenate([[-s], 2.0 * inner - s, [s]]) * rate, log_p)


@dataclass(frozen=True, repr=False, eq=False)
class SkellamCurve(IntegerNoise):
    """Testing x against x + shift for x the difference of two Poisson counts.

    P(x = k) = e^-v I_|k|(v), v the variance, is log-concave, as the convolution of laws that are; of v above
    1e6 it has too many atoms to list.
    """

    variance: float
    shift: int = 1
    noise, size, power, make_law = "Skellam", "variance", 2, skellam_law


@dataclass(frozen=True, repr=False, eq=False)
class BinomialCurve(FinitelyMany, IntegerNoise):
    """Testing x against x + shift <= coins, x heads of fair coins; coins times shift at most 2^20."""

    coins: int
    shift: int = 1
    noise, size, make_law = "Bin", "coins", binomial_noise_law

    def __post_init__(self) -> None:
        object.__setattr__(self, "coins", count("coins", self.coins, 1, MOST))
        object.__setattr__(self, "shift", count("shift", self.shift, 1, self.coins))

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        return bound_mass(self.loss_distribution().mass_at_plus_infinity)


@dataclass(frozen=True, repr=False, eq=False)
class ShuffledCurve(FinitelyMany):
    """One changed record among at most 10^9 whose epsilon-DP answers are shuffled, epsilon in (0, 700].

    The pair of clones dominates, of finitely many atoms (Feldman, McMillan, Talwar, Hiding Among the Clones,
    2021), or of the privacy blanket of randomised response with so many ``categories``, of random subsets of
    them of one ``size``, or of the ``randomizer`` "rappor" or "laplace". Where atoms are too many they are
    gathered on the safe side: see ``tradeoff.pld.shuffled``.
    """

    epsilon_0: float
    records: int
    categories: int | None = None
    size: int = 1
    randomizer: str | None = None

    symmetric = True

    def __post_init__(self) -> None:
        checked = real("epsilon_0", self.epsilon_0, 0, 700, open_low=True)
        object.__setattr__(self, "epsilon_0", checked)
        object.__setattr__(self, "records", count("records", self.records, 1, MOST_RECORDS))
        if self.randomizer is not None:
            choice("randomizer", self.randomizer, NOISES)
            if self.categories is not None:
                allowed = f"left out for randomizer = {self.randomizer!r}"
                raise domain("categories", self.categories, allowed)
        if self.categories is not None:
            object.__setattr__(self, "categories", count("categories", self.categories, 2, MOST))
        elif self.size != 1:
            raise domain("size", self.size, "left out without categories")
        object.__setattr__(self, "size", count("size", self.size, 1, (self.categories or 2) - 1))

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        low, high = super().delta_bounds(epsilon, tol)
        alone = PureDP(self.epsilon_0).bounds.delta(epsilon).upper  # shuffling is post-processing
        return np.minimum(low, alone), np.minimum(high, alone)

    @property
    def _randomizer(self) -> Randomizer:
        return Randomizer(self.epsilon_0, self.categories, self.size, self.randomizer)

    def loss_distribution(self) -> AtomicLaw:
        return shuffled_law(self._randomizer, self.records)

    @property
    def notation(self) -> str:
        kind = f", {self.categories} categories" if self.categories else ""
        kind += f", size {self.size}" if self.size > 1 else ""
        kind += f", {self.randomizer}" if self.randomizer else ""
        return f"shuffled(f_{{{self.epsilon_0:.6g},0}}, {self.records}{kind})"


@dataclass(frozen=True, repr=False, eq=False)
class ShuffledPairCurve(ShuffledCurve):
    """Shuffled answers of records that are all alike, against those of one of them replaced.

    One order, all alike under the null hypothesis, or the other if ``reverse``. Any randomiser is represented
    by randomised response of two answers. Where atoms are too many they are merged, so that lower bounds on
    losses hold.
    """

    reverse: bool = False

    symmetric = False

    def inverse(self) -> Self:
        return replace(self, reverse=not self.reverse)

    def loss_distribution(self) -> AtomicLaw:
        return shuffled_pair_law(self._randomizer, self.records, reverse=self.reverse)

    @property
    def notation(self) -> str:
        order = ", record replaced first" if self.reverse else ""
        return f"pair of {super().notation}{order}"


class _OneOfSteps(TradeOff):
    """One random step of several, between two laws: the record absent under P, or Q if ``reverse``."""

    reverse: bool
    symmetric = False
    composed = True
    loss_bounds = Bounds(math.inf, math.inf)

    @abstractmethod
    def both_laws(self) -> tuple[AtomicLaw, AtomicLaw]:
        """Return laws of L for curves below and above, in the order with the record absent under P."""

    def laws(self) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution]:
        below, above = self.both_laws()
        return (ReversedPLD(below), ReversedPLD(above)) if self.reverse else (below, above)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        return Tensor({self: 1}).delta_bounds(epsilon, tol)

    def inverse(self) -> Self:
        return replace(self, reverse=not self.reverse)  # type: ignore[type-var]  # each kind is a dataclass


@dataclass(frozen=True, repr=False, eq=False)
class AllocatedCurve(_OneOfSteps):
    """T(N(0, I), mean over i of N(mu e_i, I)) of 2 to 10^7 steps and dimensions, mu in (0, 20].

    One order, the record absent under the null hypothesis, or the other if ``reverse``. Hockey-sticks are
    contour integrals, certified from both sides: see ``tradeoff.pld.allocation``. Products compose two laws
    of some hundred atoms, one on each side.
    """

    mu: float
    steps: int
    reverse: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", real("mu", self.mu, 0, STEEPEST, open_low=True))
        object.__setattr__(self, "steps", count("steps", self.steps, 2, MOST_STEPS))

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        # A few losses are contour integrals of their own; whole curves are those of the two laws.
        if len(epsilon) > 8:
            return super().delta_bounds(epsilon, tol)
        low, high = np.zeros(len(epsilon)), np.ones(len(epsilon))
        for k, x in enumerate(epsilon.tolist()):
            low[k], high[k] = hockey_stick(self.mu, self.steps, x, reverse=self.reverse)
        if (wide := high - low > 1e-3 * high).any():  # far out a line may bound little
            least, most = super().delta_bounds(epsilon[wide], None)
            low[wide], high[wide] = np.maximum(low[wide], least), np.minimum(high[wide], most)
        return low, high

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        pairs = [None if self.reverse else bound_epsilon(self.mu, self.steps, x) for x in delta.tolist()]
        low, high = np.array([pair or (np.nan, np.nan) for pair in pairs]).T
        if (rest := np.isnan(low)).any():
            low[rest], high[rest] = super().epsilon_bounds(delta[rest], tol)
        return low, high

    def estimate_losses(self, alpha: Array) -> list[tuple[Array, float]]:
        spread = math.sqrt(math.log1p(math.expm1(min(self.mu**2, 700.0)) / self.steps))  # of a lognormal Y
        return [(-spread * spread / 2 - spread * ndtri(alpha), spread)]

    def ceiling(self, epsilon: Array, level: Array) -> Array:
        if len(epsilon) > 8:
            return super().ceiling(epsilon, level)
        return np.array([hockey_stick(self.mu, self.steps, x, reverse=self.reverse)[1] for x in epsilon])

    def both_laws(self) -> tuple[AtomicLaw, AtomicLaw]:
        return allocated_laws(self.mu, self.steps)

    @property
    def notation(self) -> str:
        order = ", record present first" if self.reverse else ""
        return f"one of {self.steps} steps G_{{{self.mu:.6g}}}{order}"


@dataclass(frozen=True, repr=False, eq=False)
class CorrelatedCurve(_OneOfSteps):
    """T(N(0, I), mean over i of N(m_i, I)), bounded by Gram matrices above and below that of the m_i.

    Both are of steps in groups: (steps, size of a group, and the variances that all steps share, that a group
    shares, and that a step has alone). One order, the record absent under the null hypothesis, or the other
    if ``reverse``. Bounds are those of two laws of some thousand atoms: see ``tradeoff.pld.allocated_laws``.
    """

    above: Groups
    below: Groups
    reverse: bool = False

    def __post_init__(self) -> None:
        for name in ("above", "below"):
            steps, size, *parts = getattr(self, name)
            steps = count(f"{name}[0]", steps, 2, MOST_STEPS)
            checked = [real(f"{name}[{k}]", each, 0, 1.01 * STEEPEST**2) for k, each in enumerate(parts, 2)]
            groups = Groups(steps, count(f"{name}[1]", size, 1, steps), *checked)
            object.__setattr__(self, name, groups)

    def both_laws(self) -> tuple[AtomicLaw, AtomicLaw]:
        return grouped_law(self.above, merged=False), grouped_law(self.below, merged=True)

    @property
    def notation(self) -> str:
        order = ", record present first" if self.reverse else ""
        return f"one of {self.above.steps} correlated steps{order}"
