"""Noise on a secret sample of the records: one step of DP-SGD, and the same of any mechanism.

A hit is a record of the pair, or one draw of it, that enters the batch. f_p is p f + (1 - p) Id, f the curve
of the mechanism on a batch, and C_p(f) the hull of min{f_p, f_p^-1}.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Literal, get_args

from tradeoff.balls import binomial_tail, to_ball, upper_float
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, PAIR, limited
from tradeoff.curves.parameters import MIN_PROBABILITY
from tradeoff.errors import DomainError, domain
from tradeoff.families.approximate_dp import Identity, TotalVariation
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.gaussian_mixtures import GaussianMixtures
from tradeoff.families.laplace import Laplace
from tradeoff.mechanisms.base import (
    Adjacency,
    Mechanism,
    adjacency_field,
    loss,
    mechanism,
    mechanism_field,
    ratio,
)
from tradeoff.mechanisms.fields import integer, noise_field, one_of, rate_field, real
from tradeoff.operators.pointwise import add_weights, mixture
from tradeoff.operators.subsample import subsample

Scheme = Literal["poisson", "without-replacement", "with-replacement"]


class Sampled(Mechanism):
    """A mechanism on a secret batch of the records; ``Subsampled`` describes the fields of all its kinds."""

    sample_rate: float
    scheme: Scheme
    adjacency: Adjacency | None
    batch_size: int | None
    group_size: int

    @abstractmethod
    def _base(self) -> TradeOff:
        """Curve of one record that takes part for certain, under the adjacency stated."""

    def curve(self) -> TradeOff:
        """Curve of one release: a record absent under the null and present under the alternative.

        For replaced records it is symmetric. It is exact for one record in a Poisson sample.
        """
        # With f_j the group of j of the base, w_j the law of the number of hits, gamma = 1 - w_0 and M the
        # mixture of the f_j, w_j/gamma: T(M_0, (1-gamma) M_0 + sum_j w_j M_j) is at least gamma M + (1-gamma)
        # Id, as profiles are convex in both laws; so for added records. For replaced ones, at every eps' >= 0
        # and e^eps' = 1 + gamma (e^eps - 1), delta(eps') <= sum_(j>=1) w_j delta_j(eps) (Balle, Barthe,
        # Gaboardi 2018, Theorem 10, for samples with replacement), which is the profile of C_gamma(M). For
        # one record it is the curve of the base and nothing is lost.
        weights, excess = self._hits()
        base, total = self._base(), sum(weights.values(), Fraction(0))
        hit = total - weights.get(0, 0)
        if not hit:
            return Identity()
        is_poisson = self.adjacency == "add-remove"
        scheme: Literal["poisson", "without-replacement"] = "poisson" if is_poisson else "without-replacement"
        sample = partial(subsample, p=min(ratio(hit, total), 1.0), scheme=scheme)
        # The sample of a mixture is that of samples, as its profile is; its rare parts can be left out.
        curve = mixture(add_weights((sample(base.group(j)), w / hit) for j, w in weights.items() if j))
        return limited(leaking(curve, excess), PAIR if is_poisson and self.group_size == 1 else BOUND)

    def _hits(self) -> tuple[dict[int, Fraction], float]:
        """Law of the number of hits: of independent draws of a record, or of the records of a group."""
        draws = self.batch_size or self.group_size
        return hits(draws, self.sample_rate if self.batch_size is None else ratio(self.sample_rate, draws))

    def _check(self) -> None:
        if self.adjacency is None:
            object.__setattr__(self, "adjacency", self.unshown["adjacency"])
        drawn, sized = self.scheme == "with-replacement", self.batch_size is not None
        where = f"for scheme = {self.scheme!r}"
        if drawn is not sized:
            allowed = "the number of draws" if drawn else "left out"
            raise domain("batch_size", self.batch_size, f"{allowed} {where}")
        if self.scheme != "poisson" and self.adjacency == "add-remove":
            remedy = "one record more changes the chances of all others; set it, or sample with 'poisson'"
            raise domain("adjacency", self.adjacency, f"'replace-one' {where}", remedy)
        if self.scheme != "poisson" and self.group_size > 1:
            raise domain("group_size", self.group_size, f"1 {where}", "use guarantee().group(group_size)")

    @property
    def unshown(self) -> Mapping[str, Any]:
        adjacency = "add-remove" if self.scheme == "poisson" else "replace-one"
        return {"scheme": "poisson", "adjacency": adjacency, "group_size": 1}


def leaking(curve: TradeOff, probability: float) -> TradeOff:
    """Return the curve of a mechanism that publishes everything with a probability, 0 or 1e-300 at least."""
    return curve @ TotalVariation(max(probability, MIN_PROBABILITY)) if probability else curve


@lru_cache(maxsize=256)
def hits(draws: int, chance: float) -> tuple[dict[int, Fraction], float]:
    """Return the law of Bin(draws, chance), of at least one draw, or one that is stochastically larger.

    It is weights by number of hits, to be divided by their sum, and a bound on the probability of more hits.
    Its tails are those of the binomial law, rounded up to floats, and more hits are never more private.
    Numbers of hits above one that is exceeded with probability 1e-30 are counted in groups of 2, 4, 8, ... as
    the largest of each.
    """
    if chance == 1:
        return {draws: Fraction(1)}, 0.0
    weights: dict[int, Fraction] = {}
    p, number, step, tail = to_ball(chance), 0, 1, 1.0  # tail: P(hits > the number before)
    is_long = draws > 512 and upper_float(binomial_tail(draws, p, 513)) > 1e-30
    while not is_long and len(weights) <= 512:  # the engines take time proportional to it
        more = min(tail, upper_float(binomial_tail(draws, p, number + 1)))
        weights[number] = Fraction(tail) - Fraction(more)
        if number == draws or more <= 1e-60:  # the rest is left to a leak
            return {j: w for j, w in weights.items() if w}, more
        step = 1 if more > 1e-30 else 2 * step
        number, tail = min(number + step, draws), more
    raise DomainError(
        f"{draws} draws of chance {chance:g} have more than 512 likely numbers of hits; "
        "give a smaller group, or a smaller rate"
    )


scheme_field = partial(
    one_of,
    "A coin for each record, a set of fixed size, or independent draws of one record each.",
    *get_args(Scheme),
    default="poisson",
)
draws_field = partial(integer, 'Number of draws, for "with-replacement" only.', default=None)
group_field = partial(
    integer,
    "Number of records that are added, removed or replaced together, for Poisson samples only.",
    default=1,
)


@mechanism
class SubsampledGaussian(Sampled):
    r"""Normal noise on the sum of a secret batch, one step of DP-SGD: f_p = p G_mu + (1 - p) Id, or f_p^-1.

    Exact for Poisson samples, of vectors too, dominating for others, and for groups so large that hits of a
    probability below :math:`10^{-30}` are counted as more. Adding :math:`k` records is
    :math:`T(N(0), \sum_j \mathrm{Bin}(k, p)(j)\,N(j))`, with the records absent under the null hypothesis
    (Schuchardt et al. 2024, Theorem 3.8); replacing them puts :math:`N(-j)` for :math:`N(0)` at each
    :math:`j`. That vectors on one line are the worst is proved in ``docs/gaussian-mixtures.md``. Fixed sizes
    are bounded by :math:`C_p(G_{2\mu})`, :math:`\mu` the inverse of the noise multiplier (Dong, Roth, Su
    2022, Theorem 4.2) and its analogue for several hits. Every run draws its batch anew: steps that keep a
    batch, or read the records in one shuffled order, are not runs of it (``docs/sampled-mechanisms.md``).

    The noise multiplier is relative to the sensitivity under adding or removing a record: one stated relative
    to that under replacing it is to be doubled. ``Subsampled`` describes schemes and neighbours.

    >>> step = SubsampledGaussian(noise_multiplier=1.1, sample_rate=256 / 60000)
    >>> step.curve().symmetric
    False
    >>> SubsampledGaussian(2, 0.01, scheme="without-replacement").guarantee()
    either-order envelope of [subsample(G_{1}, 0.01)] (not exact)
    """

    noise_multiplier: float = noise_field()
    sample_rate: float = rate_field()
    scheme: Scheme = scheme_field()
    adjacency: Adjacency | None = adjacency_field(default=None)
    batch_size: int | None = draws_field()
    group_size: int = group_field()

    def curve(self) -> TradeOff:
        replaced = self.adjacency == "replace-one"
        if self.scheme != "poisson" or not (replaced or self.group_size > 1):
            return super().curve()
        weights, excess = self._hits()
        without = {-j: w for j, w in weights.items()} if replaced else {0: Fraction(1)}
        pair = GaussianMixtures(null=without, alternative=weights, sigma=self.noise_multiplier)
        # Numbers of hits too rare to be listed one by one are counted as larger ones.
        is_complete = len(weights) in {1, self.group_size + 1}
        return limited(leaking(pair, excess), PAIR if is_complete else BOUND)

    def _base(self) -> TradeOff:
        return Gaussian(loss(2.0 if self.adjacency == "replace-one" else 1.0, self.noise_multiplier))


@mechanism
class SubsampledLaplace(Sampled):
    """Laplace noise on the sum of a secret batch: f_p = p f + (1 - p) Id in one order, f_p^-1 in the other.

    Exact for one record added to or removed from Poisson samples, else dominating (Dong, Roth, Su 2022,
    Theorem 4.2): see ``Subsampled``. In ``curve()`` the record is absent under the null hypothesis. Every run
    draws its batch anew. Replacing a record moves the sum by up to twice the sensitivity, which is taken into
    account.

    >>> SubsampledLaplace(scale=2, sample_rate=0.1).order
    'tied'
    """

    scale: float = real("Scale of the noise, in the units of the query.", "(0, inf]")
    sample_rate: float = rate_field()
    sensitivity: float = real(
        "Largest l1-norm of the contribution of one record, in the units of the query.",
        "(0, inf)",
        default=1.0,
    )
    scheme: Scheme = scheme_field()
    adjacency: Adjacency | None = adjacency_field(default=None)
    batch_size: int | None = draws_field()
    group_size: int = group_field()

    def _check(self) -> None:
        super()._check()
        self._base()  # checks the loss

    def _base(self) -> TradeOff:
        moved = 2 if self.adjacency == "replace-one" else 1
        return Laplace(loss(moved * self.sensitivity, self.scale, "scale"))


@mechanism
class Subsampled(Sampled):
    """Any mechanism on a secret batch of the records, known by its curve alone.

    Dominating: the least private curve that the curve :math:`f` of the mechanism allows. Added records:
    :math:`f_p`, with the record absent under the null hypothesis. Replaced ones: :math:`C_p(f)` (Dong, Roth,
    Su 2022, Theorem 4.2). Several hits: the same of the mixture of the groups of :math:`f` (Balle, Barthe,
    Gaboardi 2018). Every run draws its batch anew: :math:`k` releases from one batch are one run, of a
    mechanism with the curve :math:`f^k`.

    The curve of the mechanism is for the neighbours stated here: with ``adjacency="replace-one"`` its
    parameters are relative to the sensitivity under replacing a record. With Poisson samples it must be valid
    for a record that is left out, too: no answer, for example of randomised response, may show whether it is
    there. For draws with replacement the sample rate is the expected number of draws of one record, batch
    size over size of the data set. With samples of fixed size one record more changes the chances of all
    others, so ``"add-remove"`` is for Poisson samples only, and their default.

    >>> from tradeoff.mechanisms import Gaussian, PureDP
    >>> round(Subsampled(PureDP(epsilon=1.0), 0.5).guarantee().epsilon(0), 6)
    0.620115
    >>> Subsampled(Gaussian(noise_multiplier=1), 0.01, "without-replacement").curve() == SubsampledGaussian(
    ...     2, 0.01, "without-replacement"
    ... ).curve()
    True
    """

    exact = False
    mechanism: Mechanism = mechanism_field("The mechanism on the batch.")
    sample_rate: float = rate_field()
    scheme: Scheme = scheme_field()
    adjacency: Adjacency | None = adjacency_field(default=None)
    batch_size: int | None = draws_field()
    group_size: int = group_field()

    def _check(self) -> None:
        super()._check()
        if self.mechanism.adjacency not in (None, self.adjacency):
            raise DomainError(
                f"mechanism must be for {self.adjacency} neighbours, as its sample, got {self.mechanism!r}"
            )
        if self.scheme == "poisson" and self.mechanism.sized:
            raise DomainError(
                f"mechanism must be valid for any number of records in a Poisson sample, got "
                f"{self.mechanism!r}; sample without replacement"
            )

    def _base(self) -> TradeOff:
        curve = self.mechanism.curve()
        return curve if self.mechanism.order == "tied" else curve.symmetrise(assume="either-order")
