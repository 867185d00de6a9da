"""Batches that are more than a sample: capped, of records with several shifts, or of banded noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number
from tradeoff.errors import DomainError, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.gaussian_mixtures import GaussianMixtures
from tradeoff.mechanisms.base import (
    LOSS,
    NEIGHBOURS,
    NOISE,
    SHARE,
    Adjacency,
    Mechanism,
    Order,
    ratio,
    wholes,
)
from tradeoff.mechanisms.sampled import capped
from tradeoff.mechanisms.subsampled import SubsampledGaussian
from tradeoff.operators.mixture import added, mixture
from tradeoff.operators.subsample import subsample

# Most records: the tail of a binomial law takes a few standard deviations of additions, a million here.
MOST_RECORDS = 10**10


@dataclass(frozen=True, repr=False)
class TruncatedSubsampledGaussian(Mechanism):
    """Normal noise on a Poisson sample that is cut, at random, to at most so many records.

    Parameters
    ----------
    noise_multiplier
        Standard deviation over the largest l2-norm of what one record adds to the sum, in (0, inf].
    sample_rate
        Probability that a record enters the sample, in [0, 1].
    batch_size
        Most records of a batch, from 1; of a larger sample as many are kept, every such set alike.
    dataset_size
        Number of records, from 1: under ``"add-remove"`` of the larger of both data sets.
    adjacency
        ``"add-remove"`` or ``"replace-one"``.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Dominating. Let the others fill the batch with probability t = P(Bin(n-1, p) >= B). If not, the step is a
    plain sampled one. If they do, the batch without the record is a random set of B others, and with it one
    of them gives way with probability q = (B/n) P(Bin(n, p) > B)/t, which moves the sum by twice the norm at
    most: a sampled step of rate q and half the noise. So the curve is at least the mixture of both, with the
    event published: {f_p: 1-t, f_q(G_(2 mu)): t}, the record absent under the null hypothesis; C_q(G_(2 mu))
    where records are replaced. As in Ganesh 2025, whose accountant takes a Gaussian mixture for the second
    part, which is less private than this. Every run draws its sample, and those that are cut, anew.

    Examples
    --------
    >>> step = TruncatedSubsampledGaussian(1.0, sample_rate=0.01, batch_size=150, dataset_size=10_000)
    >>> free = SubsampledGaussian(1.0, 0.01)
    >>> 0 < step.guarantee().epsilon(1e-5) - free.guarantee().epsilon(1e-5) < 1e-3
    True
    """

    kind = "truncated-subsampled-gaussian"
    exact = False
    scheme = "poisson"
    sized = True

    noise_multiplier: float = field(metadata=NOISE)
    sample_rate: float = field(metadata=SHARE)
    batch_size: int = field(metadata=wholes(1, MOST_RECORDS))
    dataset_size: int = field(metadata=wholes(1, MOST_RECORDS))
    adjacency: Adjacency | None = field(default="add-remove", metadata=NEIGHBOURS)

    @property
    def order(self) -> Order:
        return "tied" if self.adjacency == "add-remove" else "symmetric"

    def curve(self) -> TradeOff:
        full = capped(self.dataset_size, self.sample_rate, self.batch_size)
        free = SubsampledGaussian(self.noise_multiplier, self.sample_rate, adjacency=self.adjacency).curve()
        replaced = self._moved(full.rate)
        if full.certain is not None:
            return replaced if full.certain else free
        often = full.odds > 1
        likely, other = (replaced, free) if often else (free, replaced)
        share = 1 / full.odds if often else full.odds
        # The share is known to a few units: what these leave open goes to a step below both others.
        least = max(4 * share * _UNSURE, _RARE)
        weights = [(likely, 1.0), (other, share * (1 - _UNSURE)), (self._moved(self.sample_rate), least)]
        every = math.fsum(weight for _, weight in weights)
        return mixture(added((curve, weight / every) for curve, weight in weights))

    def _moved(self, rate: float) -> TradeOff:
        twice, added = Gaussian(ratio(2.0, self.noise_multiplier)), self.adjacency == "add-remove"
        return subsample(twice, rate, scheme="poisson" if added else "without-replacement")


def _each(name: str, values: Any, checked: Callable[[str, Any], float | Fraction]) -> tuple[Any, ...]:
    if isinstance(values, str | bytes | AbstractSet | Mapping) or not np.iterable(values):
        raise DomainError(f"{name} = {shown(values)} is no list of numbers; give one")
    return tuple(checked(f"{name}[{i}]", value) for i, value in enumerate(values))


@dataclass(frozen=True, repr=False)
class MixtureOfGaussians(Mechanism):
    """Normal noise on a sum that a record moves by a random amount: T(N(0), sum_i p_i N(c_i)), or inverse.

    Parameters
    ----------
    sigma
        Standard deviation of the noise, in (0, inf], in the unit of the sum.
    sensitivities
        Norms c_i >= 0 of what the record adds, in the unit of the sum.
    probabilities
        How probable each is; they must add to 1 within 1e-12, and are divided by their sum.

    Raises
    ------
    DomainError
        If a parameter is out of range, or the lists differ in length.

    Notes
    -----
    Exact: one step of a matrix mechanism on sampled records, given the probabilities that its conditional
    composition theorem leaves (Choquette-Choo, Ganesh, Steinke, Thakurta 2023). For vectors of these norms
    the line is the worst (their Corollary 4.7): ``docs/gaussian-mixtures.md``. Where rounds share a secret,
    probabilities are those given earlier rounds, as that theorem bounds them: prior ones, composed over the
    rounds, report too little loss.

    Examples
    --------
    >>> MixtureOfGaussians(1.0, [0, 1], [0.5, 0.5]).curve().symmetric
    False
    """

    kind = "mixture-of-gaussians"
    adjacency = "add-remove"
    order = "tied"

    sigma: float = field(metadata=NOISE)
    sensitivities: tuple[float, ...] = field(metadata={"checked": partial(_each, checked=LOSS["checked"])})
    probabilities: tuple[float, ...] = field(
        metadata={"checked": partial(_each, checked=partial(number, low=0.0, high=1.0))}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.sensitivities) != len(self.probabilities):
            raise DomainError(
                f"sensitivities has {len(self.sensitivities)} entries and probabilities "
                f"{len(self.probabilities)}; give one probability for each sensitivity"
            )
        if abs(math.fsum(self.probabilities) - 1) > _UNNORMALISED:
            raise DomainError(
                f"probabilities = {shown(self.probabilities)} add to "
                f"{math.fsum(self.probabilities)!r}; give numbers that add to 1"
            )

    def curve(self) -> TradeOff:
        weights = {shift: Fraction(0) for shift in self.sensitivities}
        for shift, weight in zip(self.sensitivities, self.probabilities, strict=True):
            weights[shift] += Fraction(weight)
        return GaussianMixtures(null={0.0: 1.0}, alternative=weights, sigma=self.sigma)


@dataclass(frozen=True, repr=False)
class BandedFactorization(Mechanism):
    """Training with banded noise (BandMF) on cyclic Poisson samples: ceil(steps/bands) sampled steps.

    Parameters
    ----------
    noise_multiplier
        Standard deviation over the product of clipping norm and largest column norm of the strategy matrix,
        in (0, inf].
    sample_rate
        Probability that a record enters the batch of a round of its own group, in [0, 1].
    steps
        Number of rounds, from 1.
    bands
        Number b of bands of the strategy matrix, from 1: records are split in b groups beforehand, without
        looking at them, and the groups take turns.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Exact: a record meets rounds at least b apart, whose columns share no row: one sampled Gaussian step each
    (Choquette-Choo, Ganesh, McKenna et al. 2023, Theorem 4). ``curve()`` is the whole training, with the
    record absent under the null hypothesis. Groups may be public and kept; every round draws its sample anew,
    and a number of runs counts trainings, not epochs.

    Examples
    --------
    >>> BandedFactorization(1.0, 0.02, steps=1000, bands=8).curve()
    subsample(G_{1}, 0.02)^125 (one order)
    """

    kind = "banded-factorization"
    scheme = "poisson"
    adjacency = "add-remove"
    order = "tied"

    noise_multiplier: float = field(metadata=NOISE)
    sample_rate: float = field(metadata=SHARE)
    steps: int = field(metadata=wholes(1))
    bands: int = field(metadata=wholes(1))

    def curve(self) -> TradeOff:
        rounds = -(-self.steps // self.bands)
        return SubsampledGaussian(self.noise_multiplier, self.sample_rate).curve() ** rounds


_RARE = 1e-300  # least share of a mixture: what is rarer counts as so rare, and at its worst
_UNSURE = 2.0**-50  # relative error of a share, of a division and of rounding, with room to spare
_UNNORMALISED = 1e-12  # what the rounding of probabilities may leave of their sum less 1
