"""Mechanisms on random batches: capped, banded, allocated, binned and shuffled."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, partial
from types import MappingProxyType

from tradeoff.balls import Balls, binomial_tail, lower_float, to_ball, upper_float
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, PAIR, limited
from tradeoff.curves.parameters import MAX_COUNT, MIN_PROBABILITY, count
from tradeoff.curves.product import tensor
from tradeoff.errors import DomainError, domain, shown
from tradeoff.families.approximate_dp import Identity
from tradeoff.families.discrete import (
    MOST_RECORDS,
    MOST_STEPS,
    NOISES,
    AllocatedCurve,
    ShuffledCurve,
    ShuffledPairCurve,
)
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.gaussian_mixtures import GaussianMixtures
from tradeoff.mechanisms.base import Adjacency, Mechanism, adjacency_field, loss, mechanism, root
from tradeoff.mechanisms.fields import (
    in_interval,
    integer,
    noise_field,
    one_of,
    parameter,
    rate_field,
    real,
    tuple_of,
)
from tradeoff.mechanisms.subsampled import SubsampledGaussian
from tradeoff.operators.pointwise import add_weights, mixture
from tradeoff.operators.subsample import subsample
from tradeoff.pld.allocation import STEEPEST

_MAX_CAPPED = 10**10  # records of a capped batch: its binomial tails take a tenth of a second


@mechanism
class TruncatedSubsampledGaussian(Mechanism):
    r"""Normal noise on a Poisson sample that is cut, at random, to a largest number of records.

    Dominating. Let the others fill the batch with probability :math:`t = P(\mathrm{Bin}(n-1, p) \ge B)`. If
    not, the step is a plain sampled one, :math:`f_p`. If they do, the batch without the record is a random
    set of :math:`B` others, and with it one of them gives way with probability
    :math:`q = (B/n)\,P(\mathrm{Bin}(n, p) > B)/t`, which moves the sum by twice the norm at most: a sampled
    step of rate :math:`q` and half the noise. So the curve is at least the mixture of both, with the event
    published: :math:`\{f_p: 1-t,\; f_q(G_{2\mu}): t\}`, the record absent under the null hypothesis;
    :math:`C_q(G_{2\mu})` where records are replaced. As in Ganesh 2025, whose accountant takes a Gaussian
    mixture for the second part, which is less private than this. Every run draws its sample, and the records
    that are cut, anew.

    >>> step = TruncatedSubsampledGaussian(1.0, sample_rate=0.01, batch_size=150, dataset_size=10_000)
    >>> free = SubsampledGaussian(1.0, 0.01)
    >>> 0 < step.guarantee().epsilon(1e-5) - free.guarantee().epsilon(1e-5) < 1e-3
    True
    """

    exact = False
    scheme = "poisson"
    sized = True
    noise_multiplier: float = noise_field()
    sample_rate: float = rate_field()
    batch_size: int = integer(
        "Most records of a batch; of a larger sample a uniform subset is kept.", high=_MAX_CAPPED
    )
    dataset_size: int = integer(
        'Number of records, under "add-remove" of the larger data set.', high=_MAX_CAPPED
    )
    adjacency: Adjacency | None = adjacency_field(default="add-remove")

    def curve(self) -> TradeOff:
        n, p, most = self.dataset_size, self.sample_rate, self.batch_size
        free = SubsampledGaussian(self.noise_multiplier, p, adjacency=self.adjacency).curve()
        if p == 0 or most >= n:
            return free
        full, not_full, rate = full_batch(n, p, most)
        if p == 1:
            return self._moved(rate)
        # The smaller probability lies in [low, high]. The weight high - low may belong to either step, and
        # goes to a curve below both: half the noise at the sample rate, which is at least ``rate``.
        (likely, _), (other, share) = sorted(
            [(free, not_full), (self._moved(rate), full)], key=lambda part: -float(part[1].mid())
        )
        low, high = lower_float(share), max(upper_float(share), MIN_PROBABILITY)
        weights = (1 - Fraction(high), Fraction(low), Fraction(high) - Fraction(low))
        return mixture(add_weights(zip((likely, other, self._moved(p)), weights, strict=True)))

    def _moved(self, rate: float) -> TradeOff:
        """Return the curve of a sampled step at half the noise: f_q(G_{2 mu}) or C_q(G_{2 mu})."""
        twice, added = Gaussian(loss(2.0, self.noise_multiplier)), self.adjacency == "add-remove"
        return subsample(twice, rate, scheme="poisson" if added else "without-replacement")


@lru_cache(maxsize=256)
def full_batch(records: int, chance: float, most: int) -> tuple[Balls, Balls, float]:
    """Return t = P(Bin(n-1, p) >= B) and 1 - t in balls, and (B/n) P(Bin(n, p) > B)/t, rounded up.

    The last is the mean of p B/(r+1) over the number r >= B of others: the rate of a record in a full batch.
    """
    p = to_ball(chance)
    full = binomial_tail(records - 1, p, most)
    rate = most * binomial_tail(records, p, most + 1) / (records * full)
    return full, binomial_tail(records - 1, 1 - p, records - most), min(chance, upper_float(rate))


@mechanism
class MixtureOfGaussians(Mechanism):
    """Normal noise on a sum that a record moves by a random amount: T(N(0), sum_i p_i N(c_i)), or inverse.

    Exact: one step of a matrix mechanism on sampled records, given the probabilities that its conditional
    composition theorem leaves (Choquette-Choo, Ganesh, Steinke, Thakurta 2023). For vectors of these norms
    the line is the worst (their Corollary 4.7): ``docs/gaussian-mixtures.md``. Where rounds share a secret,
    probabilities are those given earlier rounds, as that theorem bounds them: prior ones, composed over the
    rounds, report too little loss.

    >>> MixtureOfGaussians(1.0, [0, 1], [0.5, 0.5]).curve().symmetric
    False
    """

    adjacency = "add-remove"
    sigma: float = real("Standard deviation of the noise, in the unit of the sum.", "(0, inf]")
    sensitivities: tuple[float, ...] = parameter(
        "Norms :math:`c_i` of the contribution of the record, in the unit of the sum.",
        "list of float in [0, inf)",
        partial(tuple_of, check=in_interval("[0, inf)")),
    )
    probabilities: tuple[float, ...] = parameter(
        "Probability of each; they must add to 1 within 1e-12, and are divided by their sum.",
        "list of float in [0, 1]",
        partial(tuple_of, check=in_interval("[0, 1]")),
    )

    def _check(self) -> None:
        if len(self.sensitivities) != len(self.probabilities):
            lengths = f"{len(self.sensitivities)} and {len(self.probabilities)}"
            raise DomainError(f"sensitivities and probabilities must have one length, got {lengths}")
        total = math.fsum(self.probabilities)
        if abs(total - 1) > 1e-12:  # more than rounding
            raise DomainError(f"probabilities must add to 1, got {shown(self.probabilities)}, sum {total!r}")

    def curve(self) -> TradeOff:
        weights = {shift: Fraction(0) for shift in self.sensitivities}
        for shift, weight in zip(self.sensitivities, self.probabilities, strict=True):
            weights[shift] += Fraction(weight)
        return GaussianMixtures(null={0.0: 1.0}, alternative=weights, sigma=self.sigma)


@mechanism
class BandedFactorization(Mechanism):
    """Training with banded noise (BandMF) on cyclic Poisson samples: ceil(steps/bands) sampled steps.

    Exact: a record meets rounds at least :math:`b` apart, whose columns share no row: one sampled Gaussian
    step each (Choquette-Choo, Ganesh, McKenna et al. 2023, Theorem 4). ``curve()`` is the whole training,
    with the record absent under the null hypothesis. Groups may be public and kept; every round draws its
    sample anew, and a number of runs counts trainings, not epochs.

    >>> BandedFactorization(1.0, 0.02, steps=1000, bands=8).curve()
    subsample(G_{1}, 0.02)^125 (one order)
    """

    scheme = "poisson"
    adjacency = "add-remove"
    noise_multiplier: float = real(
        "Standard deviation over clipping norm times largest column norm of the strategy matrix.", "(0, inf]"
    )
    sample_rate: float = real(
        "Probability that a record enters the batch of a round of its own group.", "[0, 1]"
    )
    steps: int = integer("Number of rounds.")
    bands: int = integer(
        "Number :math:`b` of bands of the strategy matrix: records are split in :math:`b` groups "
        "beforehand, without looking at them, and each round samples from the next group."
    )

    def curve(self) -> TradeOff:
        rounds = -(-self.steps // self.bands)
        return SubsampledGaussian(self.noise_multiplier, self.sample_rate).curve() ** rounds


@mechanism
class ShuffledRandomizers(Mechanism):
    r"""Answers of local randomisers, one a record, of which only the shuffled list is seen.

    Dominating, for neighbours that replace a record. Of named randomisers, the same of all records, each
    other record joins the privacy blanket with the largest probability that a decomposition allows (Balle,
    Bell, Gascon, Nissim 2019; Su, Cheng, Wang 2025): randomised response with ``categories`` answers with
    :math:`k/(e^\varepsilon + k - 1)`; subsets of ``size`` of them with :math:`k/(d e^\varepsilon + k - d)`;
    Laplace noise of scale :math:`1/\varepsilon` on values in :math:`[0, 1]`, and RAPPOR of any number of
    hashes, with :math:`e^{-\varepsilon/2}`; RAPPOR is counted as of one hash, whose bits flip with
    probability :math:`1/(e^{\varepsilon/2} + 1)`, and for few bits it is a little less than possible. Other
    randomisers may be chosen in view of earlier answers: each other record is a clone with probability
    :math:`e^{-\varepsilon}`, of either kind alike (Feldman, McMillan, Talwar 2021). The rate
    :math:`2/(e^\varepsilon + 1)` of Feldman, McMillan, Talwar 2023 holds, by its erratum, for some
    randomisers only: it is that of two categories. ``pair()`` is a bound from the other side. Every run
    shuffles anew. Rounds that keep one permutation, as pseudonyms do, are one run of randomisers of the
    summed :math:`\varepsilon`.

    >>> ShuffledRandomizers(epsilon=1, records=10_000).guarantee().epsilon(1e-6) < 0.06
    True
    >>> ShuffledRandomizers(epsilon=1, records=10_000, categories=2).guarantee().epsilon(1e-6) < 0.046
    True
    >>> ShuffledRandomizers(1, 10_000, randomizer="laplace").guarantee().epsilon(1e-6) < 0.038
    True
    """

    exact = False
    scheme = "shuffled"
    adjacency = "replace-one"
    sized = True
    unshown = MappingProxyType({"size": 1})
    epsilon: float = real("Loss of each answer towards the shuffler, in nats.", "[0, 700]")
    records: int = integer("Number of answers.", high=MOST_RECORDS)
    categories: int | None = integer(
        "Number :math:`k` of answers of randomised response, or of subset selection, the same of all "
        "records; by default any randomiser.",
        2,
        default=None,
    )
    size: int = integer(
        "Size :math:`d` of the subset of the categories, below :math:`k`; 1 is randomised response.",
        default=1,
    )
    randomizer: str | None = one_of(
        "Noise of all records instead of categories; by default any randomiser.", *NOISES, default=None
    )

    def _check(self) -> None:
        self._build(ShuffledCurve, 1.0)  # checks that the fields fit

    def curve(self) -> TradeOff:
        return self._build(ShuffledCurve, self.epsilon) if self.epsilon else Identity()

    def pair(self, n: int = 1) -> TradeOff:
        r"""Return a lower bound: the curve of ``n`` runs on one pair of data sets, for both of its orders.

        All records are alike, or one of them is replaced. It is not a guarantee: no guarantee of the
        mechanism is above this curve, and the lower bounds on its :math:`\varepsilon` and :math:`\delta` hold
        for the mechanism, next to the upper bounds of ``guarantee(n)``. For unnamed randomisers it is that of
        two categories.

        >>> shuffled = ShuffledRandomizers(epsilon=1, records=1000, categories=2)
        >>> lower = shuffled.pair().bounds.epsilon(1e-6).lower
        >>> round(lower, 4), round(shuffled.guarantee().bounds.epsilon(1e-6).upper, 4)
        (0.1266, 0.1487)
        """
        one = self._build(ShuffledPairCurve, self.epsilon) if self.epsilon >= MIN_PROBABILITY else Identity()
        return (one ** count("n", n, 0, MAX_COUNT)).symmetrise(assume="either-order")

    def _build(self, kind: type[ShuffledCurve], epsilon: float) -> ShuffledCurve:
        return kind(epsilon, self.records, self.categories, self.size, self.randomizer)


@mechanism
class RandomAllocation(Mechanism):
    r"""Noisy sums in which each record takes part in a fixed number of steps, chosen at random.

    Exact for one participation, and for one in every step, for neighbours that add or remove a record;
    ``curve()`` is all steps together, the record absent under the null hypothesis. One participation is the
    pair :math:`N(0, I)`, mean over :math:`i` of :math:`N(\mu e_i, I)`, for steps chosen in view of earlier
    ones too, by certified contour integrals (Feldman, Shenfeld 2026 compute the same law); above
    :math:`\mu = 20` the step is public, which dominates. More are one in each of as many blocks, into which
    the steps are dealt at random: which steps make a block may be public, which dominates too (Feldman,
    Shenfeld 2025). Products compose two laws of some thousand atoms, one above and one below. The upper one
    leaves a mass of about :math:`10^{-62}` at infinity, so Rényi divergences of orders above 1 have no finite
    bound, and a ``RenyiFilter`` refuses the mechanism.

    Several epochs are several runs only if every epoch chooses the steps anew: use ``BallsInBins`` where a
    record keeps its step.

    >>> RandomAllocation(noise_multiplier=1, steps=100, participations=3).curve()
    one of 33 steps G_{1}^2 ⊗ one of 34 steps G_{1} (one order) (not exact)
    """

    scheme = "allocated"
    adjacency = "add-remove"
    noise_multiplier: float = noise_field()
    steps: int = integer("Number of steps, for example of one epoch.", high=MOST_STEPS)
    participations: int = integer(
        "Number of steps in which a record takes part, at most ``steps``.", high=MOST_STEPS, default=1
    )

    def _check(self) -> None:
        if self.participations > self.steps:
            raise domain("participations", self.participations, f"at most steps = {self.steps}")

    def curve(self) -> TradeOff:
        size, larger = divmod(self.steps, self.participations)
        mu = loss(1.0, self.noise_multiplier)
        counts = {size: self.participations - larger, size + 1: larger}
        product = tensor((_one_step_of(steps, mu), n) for steps, n in counts.items() if n)
        return limited(product, PAIR if self.participations in {1, self.steps} else BOUND)


@mechanism
class BallsInBins(Mechanism):
    r"""Training in epochs over fixed secret batches: each record draws one of the bins, once for all epochs.

    Exact, for neighbours that add or remove a record; ``curve()`` is the whole training, the record absent
    under the null hypothesis. It is one allocation to ``bins`` steps at the noise multiplier
    :math:`\sigma/\sqrt{\text{epochs}}`, rounded down. Proof: the vectors that a record in bin :math:`i` adds
    to the steps of that bin are, over all epochs, one vector of norm at most :math:`\sqrt{\text{epochs}}`,
    and those of different bins are orthogonal; so the pair is :math:`N(0, \sigma^2 I)`, mean over :math:`i`
    of :math:`N(\sqrt{\text{epochs}}\,e_i, \sigma^2 I)`, and the sum of the epochs' observations of a bin is
    its sufficient statistic. Steps may be chosen in view of earlier ones (Chua et al. 2025; Choquette-Choo,
    Ganesh, Haque, Steinke, Thakurta 2025).

    The bin is one secret for all epochs: ``RandomAllocation`` counted once for each epoch assumes a new draw
    in each, and reports too little loss. Several runs of this mechanism likewise compose only if each draws
    the bins anew.

    >>> training = BallsInBins(noise_multiplier=1, bins=100, epochs=5)
    >>> redrawn = RandomAllocation(noise_multiplier=1, steps=100)
    >>> round(training.guarantee().epsilon(1e-5), 2), round(redrawn.guarantee(5).epsilon(1e-5), 2)
    (6.88, 1.21)
    """

    scheme = "balls-in-bins"
    adjacency = "add-remove"
    noise_multiplier: float = noise_field()
    bins: int = integer("Number of batches, which are the steps of an epoch.", high=MOST_STEPS)
    epochs: int = integer("Number of passes over the batches.")

    def curve(self) -> TradeOff:
        return _one_step_of(self.bins, loss(root(Fraction(self.epochs)), self.noise_multiplier))


def _one_step_of(steps: int, mu: float) -> TradeOff:
    """Return the curve of one random step of several; at a large mu that of a known step, a bound."""
    if steps > 1 and 0 < mu <= STEEPEST:
        return AllocatedCurve(mu, steps)
    return limited(Gaussian(mu), BOUND if steps > 1 and mu > STEEPEST else PAIR)
