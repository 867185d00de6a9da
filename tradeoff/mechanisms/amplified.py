"""Privacy by what others do: answers that are shuffled, and steps that are chosen at random."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.product import tensor
from tradeoff.errors import DomainError
from tradeoff.families.discrete import MOST_RECORDS, MOST_STEPS, AllocatedCurve, ShuffledCurve
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.mechanisms.base import NOISE, Mechanism, ratio, root, wholes, within
from tradeoff.pld.allocation import STEEPEST


@dataclass(frozen=True, repr=False)
class ShuffledRandomizers(Mechanism):
    """Answers of local randomisers, one a record, of which only the shuffled list is seen.

    Parameters
    ----------
    epsilon
        Each answer is epsilon-DP towards the shuffler: loss in nats, in [0, 700].
    records
        Number of answers, from 1 to 10^9.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Dominating, for neighbours that replace a record; the randomisers may be chosen in view of earlier
    answers. Each other record is a clone with probability e^-eps, of either kind alike (Feldman, McMillan,
    Talwar 2021). The rate 2/(e^eps + 1) of Feldman, McMillan, Talwar 2023 holds, by its erratum, for some
    randomisers only, and is not used. Every run shuffles anew. Rounds that keep one permutation, as
    pseudonyms do, are one run of randomisers of the summed epsilon.

    Examples
    --------
    >>> ShuffledRandomizers(epsilon=1, records=10_000).guarantee().epsilon(1e-6) < 0.06
    True
    """

    kind = "shuffled-randomizers"
    exact = False
    scheme = "shuffled"
    adjacency = "replace-one"
    sized = True

    epsilon: float = field(metadata=within(0, 700))
    records: int = field(metadata=wholes(1, MOST_RECORDS))

    def curve(self) -> TradeOff:
        return ShuffledCurve(self.epsilon, self.records) if self.epsilon else Identity()


@dataclass(frozen=True, repr=False)
class RandomAllocation(Mechanism):
    """Noisy sums in which each record takes part in a fixed number of steps, chosen at random.

    Parameters
    ----------
    noise_multiplier
        Standard deviation over the largest l2-norm of what one record adds to a sum, in (0, inf].
    steps
        Number of steps, from 1 to 10^6: of one epoch, say.
    participations
        In how many of them a record takes part, from 1 to ``steps``.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Dominating unless a record takes part in every step, for neighbours that add or remove a record;
    ``curve()`` is all steps together, the record absent under the null hypothesis. One participation is the
    pair N(0, I), mean over i of N(mu e_i, I), for steps chosen in view of earlier ones too, from below to
    1e-3 of epsilon (Feldman, Shenfeld 2026 compute the same law). More are one in each of as many blocks,
    into which the steps are dealt at random: which steps make a block may be public. The dominating law
    leaves a mass of about 1e-62 at infinity, so its Rényi divergences of orders above 1 are infinite where
    those of the mechanism are not, and a ``RenyiFilter`` refuses it.

    Several epochs are several runs only if every epoch chooses the steps anew. Where a record keeps its step
    in all epochs, the secret is drawn once and runs do not compose: use ``BallsInBins``.

    Examples
    --------
    >>> RandomAllocation(noise_multiplier=1, steps=100, participations=3).curve()
    one of 33 steps G_{1}^2 ⊗ one of 34 steps G_{1} (one order) (not exact)
    """

    kind = "random-allocation"
    scheme = "allocated"
    adjacency = "add-remove"
    order = "tied"

    noise_multiplier: float = field(metadata=NOISE)
    steps: int = field(metadata=wholes(1, MOST_STEPS))
    participations: int = field(default=1, metadata=wholes(1, MOST_STEPS))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.participations > self.steps:
            raise DomainError(
                f"participations = {self.participations} is above steps = {self.steps}; give at most so many"
            )

    @property
    def exact(self) -> bool:
        return self.participations == self.steps

    def curve(self) -> TradeOff:
        size, larger = divmod(self.steps, self.participations)
        mu = ratio(1.0, self.noise_multiplier)
        counts = {size: self.participations - larger, size + 1: larger}
        return tensor((_one_of(steps, mu), n) for steps, n in counts.items() if n)


@dataclass(frozen=True, repr=False)
class BallsInBins(Mechanism):
    """Training in epochs over fixed secret batches: each record draws one of the bins, once for all epochs.

    Parameters
    ----------
    noise_multiplier
        Standard deviation over the largest l2-norm of what one record adds to the sum of a step, in (0, inf].
    bins
        Number of batches, which are the steps of an epoch, from 1 to 10^6.
    epochs
        Number of passes over the batches, an integer from 1.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Dominating, for neighbours that add or remove a record; ``curve()`` is the whole training, the record
    absent under the null hypothesis. It is one allocation to ``bins`` steps at the noise multiplier
    sigma/sqrt(epochs), rounded down. Proof: the vectors that a record in bin i adds to the steps of that bin
    are, over all epochs, one vector of norm at most sqrt(epochs), and those of different bins are orthogonal;
    so the pair is N(0, sigma^2 I), mean over i of N(sqrt(epochs) e_i, sigma^2 I), and the sum of the epochs'
    observations of a bin is its sufficient statistic. Steps may be chosen in view of earlier ones (Chua et
    al. 2025; Choquette-Choo, Ganesh, Haque, Steinke, Thakurta 2025).

    The bin is one secret for all epochs: ``RandomAllocation`` counted once for each epoch claims a new draw
    in each, and reports too little loss. Several runs of this mechanism likewise compose only if each draws
    the bins anew.

    Examples
    --------
    >>> training = BallsInBins(noise_multiplier=1, bins=100, epochs=5)
    >>> redrawn = RandomAllocation(noise_multiplier=1, steps=100)
    >>> round(training.guarantee().epsilon(1e-5), 2), round(redrawn.guarantee(5).epsilon(1e-5), 2)
    (6.88, 1.21)
    """

    kind = "balls-in-bins"
    exact = False
    scheme = "allocated"
    adjacency = "add-remove"
    order = "tied"

    noise_multiplier: float = field(metadata=NOISE)
    bins: int = field(metadata=wholes(1, MOST_STEPS))
    epochs: int = field(metadata=wholes(1))

    def curve(self) -> TradeOff:
        return _one_of(self.bins, ratio(root(Fraction(self.epochs)), self.noise_multiplier))


def _one_of(steps: int, mu: float) -> TradeOff:
    """Return the curve of one step among so many; where it is hopeless, of a step that is known."""
    return AllocatedCurve(mu, steps) if steps > 1 and 0 < mu <= STEEPEST else Gaussian(mu)
