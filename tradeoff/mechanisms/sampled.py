"""Sampled mechanisms: the law of how often a batch contains a record, and the curve that follows."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import DomainError
from tradeoff.families.identity import Identity
from tradeoff.families.total_variation import TotalVariation
from tradeoff.intervals.digits import precise
from tradeoff.intervals.functions import total
from tradeoff.mechanisms.base import Adjacency, Mechanism, Order, ratio
from tradeoff.operators.mixture import added, mixture
from tradeoff.operators.subsample import subsample

Scheme = Literal["poisson", "without-replacement", "with-replacement"]


class Sampled(Mechanism):
    """A mechanism on a secret batch of the records; ``Subsampled`` describes the fields of all its kinds."""

    sample_rate: float
    scheme: Scheme
    adjacency: Adjacency | None
    batch_size: int | None
    group_size: int

    @property
    def order(self) -> Order:
        return "tied" if self.adjacency == "add-remove" else "symmetric"

    @abstractmethod
    def _base(self) -> TradeOff:
        """Curve of one record that takes part for certain, under the adjacency stated."""

    def curve(self) -> TradeOff:
        """Curve of one release: a record absent under the null and present under the alternative.

        For replaced records it is symmetric.
        """
        return subsampled(self._base(), self._hits(), replaced=self.adjacency == "replace-one")

    def _hits(self) -> Hits:
        draws = self.batch_size or self.group_size
        return hits(draws, self.sample_rate if self.batch_size is None else ratio(self.sample_rate, draws))

    def __post_init__(self) -> None:
        """Check the fields, and set the default adjacency of the scheme."""
        super().__post_init__()
        if self.adjacency is None:
            object.__setattr__(self, "adjacency", natural(self.scheme))
        if conflict := self._conflict():
            raise DomainError(conflict)

    def _conflict(self) -> str | None:
        """Return the error of fields that contradict each other."""
        poisson, drawn = self.scheme == "poisson", self.scheme == "with-replacement"
        if not poisson and self.adjacency == "add-remove":
            return (
                f"adjacency must be 'replace-one' for scheme = {self.scheme!r}, as one record more changes "
                "the chances of all others, got 'add-remove'; set it, or sample with 'poisson'"
            )
        if drawn and self.batch_size is None:
            return "batch_size must be the number of draws for scheme = 'with-replacement', got None"
        if not drawn and self.batch_size is not None:
            return f"batch_size must be left out for scheme = {self.scheme!r}, got {self.batch_size}"
        if not poisson and self.group_size > 1:
            return (
                f"group_size must be 1 for scheme = {self.scheme!r}, got {self.group_size}; "
                "use guarantee().group(group_size)"
            )
        return None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name, without the defaults of the scheme."""
        plain = {"scheme": "poisson", "adjacency": natural(self.scheme), "group_size": 1}
        return {name: value for name, value in super().parameters().items() if value != plain.get(name)}


def natural(scheme: Scheme) -> Adjacency:
    """Return the default neighbours of a scheme."""
    return "add-remove" if scheme == "poisson" else "replace-one"


def subsampled(base: TradeOff, law: Hits, *, replaced: bool) -> TradeOff:
    """Return the curve of a mechanism whose batch contains a record, or a group, a random number of times.

    ``base`` is the symmetric curve f of a record that is there once, ``law`` that of the number of hits,
    w_j; if records are not ``replaced``, they are absent under the null hypothesis.

    With gamma = 1 - w_0 and M the mixture of the groups f_j, w_j/gamma: T(M_0, (1-gamma) M_0 + sum_j w_j M_j)
    is at least gamma M + (1-gamma) Id, as profiles are convex in both laws; so for added records. For
    replaced ones, at every eps' >= 0 and e^eps' = 1 + gamma (e^eps - 1), delta(eps') <= sum_(j>=1) w_j
    delta_j(eps) (Balle, Barthe, Gaboardi 2018, Theorem 10, for samples with replacement), which is the
    profile of C_gamma(M). For one record it is the curve of the base and nothing is lost.
    """
    weights = {j: w for j, w in law.weights.items() if j and w}
    if not weights:
        return Identity()
    hit, missed = total(weights.values()), law.weights.get(0, 0.0)
    single = set(law.weights) == {0, 1} and not law.beyond
    rate = law.weights[1] if single else min(1.0, float((hit / (hit + missed)).upper))
    if set(weights) != {1}:
        base = mixture(added((base.group(j), w / hit.upper) for j, w in weights.items()))
    curve = subsample(base, rate, scheme="without-replacement" if replaced else "poisson")
    return leaking(curve, law.beyond)


def leaking(curve: TradeOff, probability: float) -> TradeOff:
    """Return the curve of a mechanism that publishes everything with the probability."""
    return curve @ TotalVariation(probability) if probability else curve


LEFT_OUT = 1e-60
"""Probability below which more hits than are listed become a leak: far below every delta in use."""

MOST_HITS = 512
"""Most numbers of hits listed: the engines take time proportional to it."""

_RARE = 1e-30  # probability below which numbers of hits are grouped: far below every delta in use
_PRECISION = 170  # bits of the binomial law, fifty digits: its own rounding is negligible
_TILT = 2.0**-50  # relative step of weights from j to j + 1 hits: four times the rounding of both
_BITS, _LEAST_BITS = 200, 40  # bits of the first and the last term of a tail: 10^9 terms lose 30 of them


class Hits(NamedTuple):
    """Weights by number of hits, to be divided by their sum, and an upper bound on that of more hits."""

    weights: dict[int, float]
    beyond: float


@lru_cache(maxsize=256)
def hits(draws: int, chance: float) -> Hits:
    """Return the law of Bin(draws, chance), of at least one draw.

    ``DomainError`` if more than 512 numbers of hits are not negligible.

    Weights are tilted by a few units, so that after rounding too each ratio w_(j+1)/w_j is at least the true
    one: the law is stochastically larger, and more hits are never more private. Numbers of a probability
    below 1e-30 are counted as somewhat larger ones.

    >>> hits(2, 0.5).weights[0], hits(3, 1.0).weights
    (0.25, {3: 1.0})
    """
    if chance in (0.0, 1.0):
        return Hits({round(draws * chance): 1.0}, 0.0)
    if draws == 1:  # the chance itself, and at most the rest
        rest = 1 - chance if 1 - (1 - chance) >= chance else math.nextafter(1 - chance, 0)
        return Hits({0: rest, 1: chance}, 0.0)
    return _listed(draws, chance)


def _listed(draws: int, chance: float) -> Hits:
    mp = precise(_PRECISION)
    p, result = mp.mpf(chance), {}
    weight, odds = mp.exp(draws * mp.log1p(-p)), p / (1 - p)
    for j in range(min(draws, MOST_HITS) + 1):
        result[j] = float(weight * (1 + j * mp.mpf(_TILT)))
        ratio = odds * (draws - j) / (j + 1)
        if ratio <= 1 / 2 and weight <= LEFT_OUT:  # ratios fall: what follows is at most 2 ratio weight
            beyond = math.nextafter(float(2 * ratio * weight), math.inf) if ratio else 0.0
            return Hits(_coarse(result), beyond)
        weight *= ratio
    if draws > MOST_HITS:
        raise DomainError(
            f"{draws} draws of chance {chance:g} have more than {MOST_HITS} likely numbers of hits; "
            "give a smaller group, or a smaller rate"
        )
    return Hits(_coarse(result), 0.0)


def _coarse(weights: dict[int, float]) -> dict[int, float]:
    """Count rare numbers above all others as the largest of 2, of 4, of 8, ...: the law is larger still."""
    usual, step = max((j for j, w in weights.items() if w > _RARE), default=0), 2
    result = {j: w for j, w in weights.items() if j <= usual}
    while usual < max(weights):
        last = min(usual + step, max(weights))
        result[last] = float(total(weights[j] for j in range(usual + 1, last + 1)).upper)
        usual, step = last, 2 * step
    return result


class Capped(NamedTuple):
    """Odds that others fill a batch; rate of a record in a full one, rounded up; whether that is certain."""

    odds: float
    rate: float
    certain: bool | None = None


@lru_cache(maxsize=256)
def capped(records: int, chance: float, most: int) -> Capped:
    """Return how a Poisson sample of ``records`` treats one of them, if at most ``most`` are kept.

    With t = P(Bin(n-1, p) >= B): odds t/(1-t), good to a unit, and q = (B/n) P(Bin(n, p) > B)/t, the mean of
    p B/(r+1) over the number r >= B of others.

    >>> capped(3, 0.5, 2)
    Capped(odds=0.3333333333333333, rate=0.33333333333333337, certain=None)
    """
    p = Fraction(chance)
    full, free = _tail(records - 1, p, most), _tail(records - 1, 1 - p, records - most)
    if not full:
        return Capped(0.0, chance, certain=False)
    rate = _tail(records, p, most + 1) * most / (records * full)
    rate = min(chance, math.nextafter(float(rate), math.inf))
    return Capped(float(full / free), rate) if free else Capped(math.inf, rate, certain=True)


def _tail(n: int, p: Fraction, k: int) -> Any:
    """Return P(Bin(n, p) >= k) to some 40 digits, from the smaller of both tails."""
    if k <= 0 or k > n or p in (0, 1):
        return int(k <= (n if p else 0))
    return 1 - _sum(n, 1 - p, n - k + 1) if k <= n * p else _sum(n, p, k)


def _sum(n: int, p: Fraction, k: int) -> Any:
    """Return the sum of probabilities from k >= n p on, in integers: the ratios of terms decrease."""
    mp, odds, first = precise(_PRECISION), p / (1 - p), 1 << _BITS
    weight, result = first, 0
    for j in range(k, n + 1):
        result += weight
        weight = weight * (odds.numerator * (n - j)) // (odds.denominator * (j + 1))
        if not weight >> _LEAST_BITS:
            break
    yes, no = (mp.mpf(x.numerator) / x.denominator for x in (p, 1 - p))
    ways = mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)
    return mp.exp(ways + k * mp.log(yes) + (n - k) * mp.log(no)) * result / first
