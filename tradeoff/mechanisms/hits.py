"""How often a sample meets a record, or a group of records: the binomial law, rounded towards more."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from tradeoff.errors import DomainError
from tradeoff.intervals.digits import precise
from tradeoff.intervals.functions import total

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
    p, found = mp.mpf(chance), {}
    weight, odds = mp.exp(draws * mp.log1p(-p)), p / (1 - p)
    for j in range(min(draws, MOST_HITS) + 1):
        found[j] = float(weight * (1 + j * mp.mpf(_TILT)))
        ratio = odds * (draws - j) / (j + 1)
        if ratio <= 1 / 2 and weight <= LEFT_OUT:  # ratios fall: what follows is at most 2 ratio weight
            beyond = math.nextafter(float(2 * ratio * weight), math.inf) if ratio else 0.0
            return Hits(_coarse(found), beyond)
        weight *= ratio
    if draws > MOST_HITS:
        raise DomainError(
            f"{draws} draws of chance {chance:g} hit in more than {MOST_HITS} ways that matter; "
            "give a smaller group, or a smaller rate"
        )
    return Hits(_coarse(found), 0.0)


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
    weight, found = first, 0
    for j in range(k, n + 1):
        found += weight
        weight = weight * (odds.numerator * (n - j)) // (odds.denominator * (j + 1))
        if not weight >> _LEAST_BITS:
            break
    yes, no = (mp.mpf(x.numerator) / x.denominator for x in (p, 1 - p))
    ways = mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)
    return mp.exp(ways + k * mp.log(yes) + (n - k) * mp.log(no)) * found / first
