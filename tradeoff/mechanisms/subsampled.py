"""Noise on a secret sample of the records: one step of DP-SGD, and the same of any mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import DomainError
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.gaussian_mixtures import GaussianMixtures
from tradeoff.families.laplace import Laplace
from tradeoff.mechanisms.base import (
    NEIGHBOURS,
    NOISE,
    SHARE,
    SIZE,
    Adjacency,
    Mechanism,
    inner,
    ratio,
    wholes,
)
from tradeoff.mechanisms.continuous import check_scale
from tradeoff.mechanisms.sampled import SCHEMES, Sampled, Scheme, leaking


@dataclass(frozen=True, repr=False)
class SubsampledGaussian(Sampled):
    """Normal noise on the sum of a secret batch, one step of DP-SGD: f_p = p G_mu + (1 - p) Id, or f_p^-1.

    Parameters
    ----------
    noise_multiplier
        Standard deviation over the largest l2-norm of what one record adds to the sum, in (0, inf]: relative
        to the sensitivity under adding or removing a record. Replacing one moves a sum twice as far, so that
        a multiplier stated relative to that is to be doubled here.
    sample_rate, scheme, adjacency, batch_size, group_size
        Who enters the batch, and which neighbours: as for ``Subsampled``.

    Raises
    ------
    DomainError
        If a parameter is out of range, or scheme and adjacency do not go together.

    Notes
    -----
    Exact for Poisson samples, of vectors too, dominating for others, and for groups so large that hits of a
    probability below 1e-30 are counted as more. Adding k records is T(N(0), sum_j Bin(k,
    p)(j) N(j)), with the records absent under the null hypothesis (Schuchardt et al. 2024, Theorem 3.8);
    replacing them puts N(-j) for N(0) at each j. That vectors on one line are the worst is proved in
    ``docs/gaussian-mixtures.md``. Fixed sizes are bounded by C_p(G_(2/noise_multiplier)) (Dong, Roth, Su
    2022, Theorem 4.2) and its analogue for several hits. Every run draws its batch anew: steps that keep a
    batch, or read the records in one shuffled order, are not runs of it (``docs/sampled-mechanisms.md``).

    Examples
    --------
    >>> step = SubsampledGaussian(noise_multiplier=1.1, sample_rate=256 / 60000)
    >>> step.curve().symmetric
    False
    >>> SubsampledGaussian(2, 0.01, scheme="without-replacement").guarantee()
    either-order envelope of [subsample(G_{1}, 0.01)] (not exact)
    """

    kind = "subsampled-gaussian"

    noise_multiplier: float = field(metadata=NOISE)
    sample_rate: float = field(metadata=SHARE)
    scheme: Scheme = field(default="poisson", metadata=SCHEMES)
    adjacency: Adjacency | None = field(default=None, metadata=NEIGHBOURS)
    batch_size: int | None = field(default=None, metadata=wholes(1))
    group_size: int = field(default=1, metadata=wholes(1))

    @property
    def exact(self) -> bool:
        # Numbers of hits too rare to be listed one by one are counted as larger ones.
        return self.scheme == "poisson" and len(self._hits().weights) in {1, self.group_size + 1}

    def curve(self) -> TradeOff:
        replaced = self.adjacency == "replace-one"
        if self.scheme != "poisson" or not (replaced or self.group_size > 1):
            return super().curve()
        result = self._hits()
        without = {-j: w for j, w in result.weights.items()} if replaced else {0: 1.0}
        pair = GaussianMixtures(null=without, alternative=result.weights, sigma=self.noise_multiplier)
        return leaking(pair, result.beyond)

    def _base(self) -> TradeOff:
        return Gaussian(ratio(2.0 if self.adjacency == "replace-one" else 1.0, self.noise_multiplier))


@dataclass(frozen=True, repr=False)
class SubsampledLaplace(Sampled):
    """Laplace noise on the sum of a secret batch: f_p = p f + (1 - p) Id in one order, f_p^-1 in the other.

    Parameters
    ----------
    scale
        Scale of the noise, in (0, inf], in the units of the query.
    sample_rate
        As for ``Subsampled``.
    sensitivity
        Largest l1-norm of what one record adds to the sum, in (0, inf), in the units of the query. Replacing
        a record moves the sum by up to twice as much, which is counted.
    scheme, adjacency, batch_size, group_size
        As for ``Subsampled``.

    Raises
    ------
    DomainError
        If a parameter is out of range, sensitivity/scale overflows, or scheme and adjacency do not go
        together.

    Notes
    -----
    Exact for one record added to or removed from Poisson samples, else dominating (Dong, Roth, Su 2022,
    Theorem 4.2): see ``Subsampled``. In ``curve()`` the record is absent under the null hypothesis. Every run
    draws its batch anew.

    Examples
    --------
    >>> SubsampledLaplace(scale=2, sample_rate=0.1).order
    'tied'
    """

    kind = "subsampled-laplace"

    scale: float = field(metadata=NOISE)
    sample_rate: float = field(metadata=SHARE)
    sensitivity: float = field(default=1.0, metadata=SIZE)
    scheme: Scheme = field(default="poisson", metadata=SCHEMES)
    adjacency: Adjacency | None = field(default=None, metadata=NEIGHBOURS)
    batch_size: int | None = field(default=None, metadata=wholes(1))
    group_size: int = field(default=1, metadata=wholes(1))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scale(self.scale, self.sensitivity)

    @property
    def exact(self) -> bool:
        return (self.scheme, self.adjacency, self.group_size) == ("poisson", "add-remove", 1)

    def _base(self) -> TradeOff:
        moved = 2 if self.adjacency == "replace-one" else 1
        return Laplace(moved * ratio(self.sensitivity, self.scale))


@dataclass(frozen=True, repr=False)
class Subsampled(Sampled):
    """Any mechanism on a secret batch of the records, known by its curve alone.

    Parameters
    ----------
    mechanism
        The mechanism on the batch. Its curve is for the neighbours stated here: the parameters of
        ``Subsampled(Gaussian(4), 0.01, adjacency="replace-one")`` are relative to the sensitivity under
        replacing a record. With Poisson samples it must hold for a record that is left out, too: no answer,
        of randomised response say, may show whether it is there.
    sample_rate
        Probability that a record enters the batch, in [0, 1]; for draws with replacement the expected number
        of times it does, batch size over size of the data set.
    scheme
        ``"poisson"``, a coin per record; ``"without-replacement"``, a set of fixed size;
        ``"with-replacement"``, draws of one record each.
    adjacency
        ``"add-remove"``, for Poisson samples only (with a fixed size, one record more changes the chances of
        all others) and their default, or ``"replace-one"``.
    batch_size
        Number of draws, for ``"with-replacement"`` only.
    group_size
        Number of records that are added, removed or replaced together, for Poisson samples only.

    Raises
    ------
    DomainError
        If a parameter is out of range, scheme and adjacency do not go together, or the mechanism is stated
        for one number of records and the samples are Poisson's.
    KindError
        If ``mechanism`` is not one of ``tradeoff.mechanisms``.

    Notes
    -----
    Dominating: the least private curve that the curve f of the mechanism allows. Added records: f_p, with the
    record absent under the null hypothesis. Replaced ones: C_p(f) (Dong, Roth, Su 2022, Theorem 4.2). Several
    hits: the same of the mixture of the groups of f (Balle, Barthe, Gaboardi 2018). Every run draws its batch
    anew: k releases from one batch are one run, of a mechanism with the curve f^k.

    Examples
    --------
    >>> from tradeoff.mechanisms import Gaussian, PureDP
    >>> round(Subsampled(PureDP(epsilon=1.0), 0.5).guarantee().epsilon(0), 6)
    0.620115
    >>> Subsampled(Gaussian(1), 0.01, "without-replacement").curve() == SubsampledGaussian(
    ...     2, 0.01, "without-replacement"
    ... ).curve()
    True
    """

    kind = "subsampled"
    exact = False

    mechanism: Mechanism = field(metadata={"checked": inner})
    sample_rate: float = field(metadata=SHARE)
    scheme: Scheme = field(default="poisson", metadata=SCHEMES)
    adjacency: Adjacency | None = field(default=None, metadata=NEIGHBOURS)
    batch_size: int | None = field(default=None, metadata=wholes(1))
    group_size: int = field(default=1, metadata=wholes(1))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mechanism.adjacency not in (None, self.adjacency):
            raise DomainError(
                f"mechanism = {self.mechanism!r} is stated for {self.mechanism.adjacency} neighbours, "
                f"and its sample for {self.adjacency}; give one that fits any"
            )
        if self.scheme == "poisson" and self.mechanism.sized:
            raise DomainError(
                f"mechanism = {self.mechanism!r} is stated for one number of records, and a Poisson sample "
                "has any; sample without replacement"
            )

    def _base(self) -> TradeOff:
        curve = self.mechanism.curve()
        return curve if self.mechanism.order == "tied" else curve.symmetrise(assume="either-order")
