"""What sampled mechanisms share: who enters a batch, how often it meets a record, the curve that follows."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import DomainError
from tradeoff.families.identity import Identity
from tradeoff.families.total_variation import TotalVariation
from tradeoff.intervals.digits import precise
from tradeoff.intervals.functions import total
from tradeoff.mechanisms.base import Adjacency, Mechanism, Order, ratio, words
from tradeoff.operators.mixture import added, mixture
from tradeoff.operators.subsample import subsample

# How a batch is drawn: a coin per record, a set of fixed size, or so many draws of one record each.
Scheme = Literal["poisson", "without-replacement", "with-replacement"]
SCHEMES = words(*get_args(Scheme))


class Sampled(Mechanism):
    """A mechanism on a secret batch of the records; ``Subsampled`` describes the fields of all its kinds."""

    sample_rate: float
    scheme: Scheme
    adjacency: Adjacency | None
    batch_size: int | None
    group_size: int

    @property
    def order(self) -> Order:
        """Adding and removing differ, and turn together; replacing has one curve."""
        return "tied" if self.adjacency == "add-remove" else "symmetric"

    @abstractmethod
    def _base(self) -> TradeOff:
        """Curve of one record that takes part for certain, under the adjacency stated."""

    def curve(self) -> TradeOff:
        """Curve of one release: a record absent under the null and present under the alternative.

        For replaced records it is symmetric.
        """
        return thinned(self._base(), self._hits(), replaced=self.adjacency == "replace-one")

    def _hits(self) -> Hits:
        draws = self.batch_size or self.group_size
        return hits(draws, self.sample_rate if self.batch_size is None else ratio(self.sample_rate, draws))

    def __post_init__(self) -> None:
        """Check the fields, and settle the adjacency."""
        super().__post_init__()
        if self.adjacency is None:
            object.__setattr__(self, "adjacency", natural(self.scheme))
        if conflict := self._conflict():
            raise DomainError(conflict)

    def _conflict(self) -> str | None:
        """Say which fields do not go together, and what to do."""
        poisson, drawn = self.scheme == "poisson", self.scheme == "with-replacement"
        scheme = f"scheme = {self.scheme!r}"
        if not poisson and self.adjacency == "add-remove":
            return (
                f"adjacency = 'add-remove' does not go with {scheme}, where one record more changes "
                "the chances of all others; set adjacency to 'replace-one', or sample with 'poisson'"
            )
        if drawn and self.batch_size is None:
            return f"batch_size is missing, and {scheme} draws so many records; give it"
        if not drawn and self.batch_size is not None:
            return f"batch_size = {self.batch_size} says nothing about {scheme}; leave it out"
        if not poisson and self.group_size > 1:
            return (
                f"group_size = {self.group_size} is for scheme = 'poisson'; "
                "for the others use guarantee().group(group_size)"
            )
        return None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name, without how records are sampled where that goes without saying."""
        plain = {"scheme": "poisson", "adjacency": natural(self.scheme), "group_size": 1}
        return {name: value for name, value in super().parameters().items() if value != plain.get(name)}


def natural(scheme: Scheme) -> Adjacency:
    """Return the neighbours for which a scheme is stated unless others are said."""
    return "add-remove" if scheme == "poisson" else "replace-one"


def thinned(base: TradeOff, found: Hits, *, replaced: bool) -> TradeOff:
    """Return the curve of a mechanism whose batch holds a record, or records of a group, so many times.

    ``base`` is the symmetric curve f of a record that is there once, ``found`` the law of the number of hits,
    w_j; where records are not ``replaced``, they are absent under the null hypothesis.

    With gamma = 1 - w_0 and M the mixture of the groups f_j, w_j/gamma: T(M_0, (1-gamma) M_0 + sum_j w_j M_j)
    is at least gamma M + (1-gamma) Id, as profiles are convex in both laws; so for added records. For
    replaced ones, at every eps' >= 0 and e^eps' = 1 + gamma (e^eps - 1), delta(eps') <= sum_(j>=1) w_j
    delta_j(eps) (Balle, Barthe, Gaboardi 2018, Theorem 10, for samples with replacement), which is the
    profile of C_gamma(M). For one record it is the curve of the base and nothing is lost.
    """
    weights = {j: w for j, w in found.weights.items() if j and w}
    if not weights:
        return Identity()
    rate, inner = _met(found), base
    if set(weights) != {1}:
        sure = total(weights.values()).upper
        inner = mixture(added((base.group(j), w / sure) for j, w in weights.items()))
    curve = subsample(inner, rate, scheme="without-replacement" if replaced else "poisson")
    return leaking(curve, found.beyond)


def _met(found: Hits) -> float:
    """Return the probability of any hit, rounded up."""
    if set(found.weights) == {0, 1} and not found.beyond:
        return found.weights[1]
    some = total(w for j, w in found.weights.items() if j)
    return min(1.0, float((some / (some + found.weights.get(0, 0.0))).upper))


def leaking(curve: TradeOff, probability: float) -> TradeOff:
    """Return the curve of a mechanism that is all public with the probability."""
    return curve @ TotalVariation(probability) if probability else curve


# Probability below which more hits than are listed are left to a leak: far below every delta in use.
LEFT_OUT = 1e-60

_RARE = 1e-30  # probability below which numbers of hits are listed coarsely: no delta in use tells them apart

# Most numbers of hits listed: each is a component of the law, and the engines take them one by one.
MOST_HITS = 512

# Bits of the binomial law, fifty digits: beside the units below, its own rounding is nothing.
_PRECISION = 170

# Relative step of weights from j to j + 1 hits: four times what the rounding of both may take away.
_TILT = 2.0**-50

# Bits of the first term of a tail, and of the last that counts: 10^9 terms lose 30 of them.
_BITS, _LEAST_BITS = 200, 40


class Hits(NamedTuple):
    """Weights by number of hits, to be divided by their sum, and an upper bound on the probability beyond."""

    weights: dict[int, float]
    beyond: float


@lru_cache(maxsize=256)
def hits(draws: int, chance: float) -> Hits:
    """Return the law of Bin(draws, chance), of at least one draw.

    ``DomainError`` says where more numbers of hits than 512 have a probability worth listing.

    Weights are tilted by a few units, so that after rounding too each ratio w_(j+1)/w_j is at least the true
    one: the law is stochastically larger, and more hits are never more private. Numbers of a probability
    below 1e-30 are counted as somewhat larger ones.

    >>> hits(2, 0.5).weights[0], hits(3, 1.0).weights
    (0.25, {3: 1.0})
    """
    if chance in (0.0, 1.0):
        return Hits({round(draws * chance): 1.0}, 0.0)
    if draws == 1:  # the chance as it was given, and no more beside it than remains
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
            f"{draws} draws of chance {chance:g} hit in more than {MOST_HITS} ways that matter; "
            "give a smaller group, or a smaller rate"
        )
    return Hits(_coarse(result), 0.0)


def _coarse(found: dict[int, float]) -> dict[int, float]:
    """Count rare numbers above all others as the greatest of 2, of 4, of 8, ...: the law is larger still."""
    usual, step = max((j for j, w in found.items() if w > _RARE), default=0), 2
    kept = {j: w for j, w in found.items() if j <= usual}
    while usual < max(found):
        last = min(usual + step, max(found))
        kept[last] = float(total(found[j] for j in range(usual + 1, last + 1)).upper)
        usual, step = last, 2 * step
    return kept


class Capped(NamedTuple):
    """Odds that others fill a batch; the rate of a record in it if they do, rounded up; if it is certain."""

    odds: float
    rate: float
    certain: bool | None = None


@lru_cache(maxsize=256)
def capped(records: int, chance: float, most: int) -> Capped:
    """Return what a Poisson sample of ``records`` does to one of them, if at most ``most`` are kept.

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
    """Return P(Bin(n, p) >= k) to some 40 digits, by the side of the mean that is small."""
    if k <= 0 or k > n or p in (0, 1):
        return int(k <= (n if p else 0))
    return 1 - _sum(n, 1 - p, n - k + 1) if k <= n * p else _sum(n, p, k)


def _sum(n: int, p: Fraction, k: int) -> Any:
    """Return the sum of probabilities from k >= n p on: ratios fall, and integers keep bits enough."""
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
