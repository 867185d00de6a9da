"""Law of the loss L for shuffled local randomisers, by clones of the record in question.

n records send a randomised answer each, and one of them differs between P and Q; eps0 is the loss of a
randomiser. Of any randomiser, C ~ Bin(n-1, e^-eps0) others are clones, each of which shows either answer of
the record with probability 1/2. With m = C + 1 answers of either kind to be seen, a ~ Bin(m, 1/2) of the
first and y = |m - 2a|/m, the record is a randomised response with tau y = tanh(eps/2), tau = tanh(eps0/2): L
= +- 2 artanh(tau y), P(L = +-) = (1 -+ tau y)/2.

So the law is a mixture over y, published. Its profile grows with y and is convex in it, which leaves three
ways to make it small that never overstate privacy: m may be rounded down (an answer more is one clone less),
mass may move to a larger y, and mass may be spread to both sides of y.

Randomised response with k answers has a privacy blanket (Balle, Bell, Gascon, Nissim 2019; the best of all
decompositions: Su, Cheng, Wang 2025). Another record shows either answer of the record in question with
probability 1/D each, D = e^eps0 + k - 1, one of the k - 2 others with (k - 2)/D, and else its own true
answer, which is published. Of s answers of either kind, a of the first, and o of other kinds, none published,
(s, o) has the same probability in both laws, a ~ Bin(s, 1/2) in their mean, and with theta = e^eps0 - 1

    e^L = (s + o + theta (s - a))/(s + o + theta a) = (1 + tau z y)/(1 - tau z y), y = (s - 2a)/s,

z = (theta + 2)/(theta + 2 + 2 o/s), which is 1 for k = 2: there C ~ Bin(n-1, 2/D). It is safe to round s down
in y, as the mean of s signs averages that of fewer, to round s up and o down in z, and to spread o to both
sides, as z is convex in o.

Any randomiser that shows an outcome e^eps0 times as often where it agrees with the record has this form
(Balle, Bell, Gascon, Nissim 2019: ratios to the blanket are added up). The blanket has each outcome as often
as a record that does not agree with it: mass 1/D for those that agree with one record of the pair alone, for
either, b/D with both, c/D with neither, D = e^eps0 + 1 + b e^eps0 + c. An outcome that agrees with both is
e^eps0 times as likely under both, so it counts as e^eps0 answers of other kinds: o = c' + e^eps0 b', b' and
c' their numbers.

    randomised response of k answers           b = 0                  c = k - 2
    subset selection, d of k                   b = (d - 1)/(k - d)    c = (k - d - 1)/d
    basic RAPPOR, r = e^(eps0/2)               b = 1/r                c = r
    any with a blanket of mass 1/r             b = 0                  c = r - 1

Subsets: b and c are ratios of binomial coefficients of k - 2. RAPPOR: two bits are shown as they are with the
odds r to 1 each, the others have one law, for any number of bits. The blanket of mass 1/r is a little smaller
than the best one, as all bits set agree with every record.

RAPPOR of h hashes: with odds r = e^(eps0/2h), an answer is r^(2a - h') times as likely as it is for no bits,
a of the h' <= h bits of the record being shown, so the blanket has mass r^-h = e^(-eps0/2). Ratios to it lie
in [1, e^eps0] and have the mean of those of one hash, which are at an end; those of two records are
independent, or grow with common bits. So one hash is the least private, by the order below.

**Ratios inside.** A blanket of mass gamma and the ratios u, v of two densities to it lead to

    delta(t) = E (Z_1 + ... + Z_n)_+/n,   Z = u - t v with probability gamma, drawn from the blanket, else 0,

t = e^eps (Balle, Bell, Gascon, Nissim 2019), which grows with Z in convex order. So mass of u, or of v, may
be spread to 1 and e^eps0, of probability p = (1/gamma - 1)/theta; and expectations are submodular in u and v,
so largest where these are never both e^eps0 (p <= 1/2). That is the law of b = 0, 1/D = gamma p.

For Laplace noise the infimum of all densities is 1/r times that at 1/2. Let x <= 1/2 be a record: u falls
from e^(eps0 (1-x)) to e^(eps0 x) as y grows, and so does its ratio to that of a record closer to 1/2. These
have one mean, so they cross once, and 0 has the u largest in convex order; 1 has its mirror image. The
largest means over events of one probability are subadditive, and add up where u and -v both fall: no pair is
worse than 0 and 1, of (u, v) = (X, 1) or (1, X) alike, X <= e^eps0 with P(X >= x) = x^(-1/2) up to there.
With t = (1 + s)/(1 - s),

    2 delta/(1 + t) = E (|tanh(L/2)| - s)_+ = E (Z_1 + ... + Z_n)_+/n,   Z = +-(X - 1) - s (X + 1) or 0;

chords between values make the law, in units of theta. A value is that of a law on a lattice, doubled log2 n
times. Mass between two nodes goes to both, its mean kept; below the lattice to its start; above it to its
end, with the excess added up, as (x + y)_+ <= x_+ + y_+. A mass e off at x costs e x_+, and e times the mean
of the sum of the others, at most the sum of those of all sums that are joined. A product of transforms of
length N is off by 3 * 8 log2(N) units of the product of a 1-norm and a 2-norm
(``pld.units.fft_error``), and by sqrt(N) as much in sum. Where this exceeds the gain, the law of b = 0 is
used.

The pair of data sets behind lower bounds has n - 1 records alike, and one that is like them or not. Under
records alike each outcome agrees with the other one alone with probability 1/D, and with its own alone with
e^eps0/D, at ratios of e^eps0 and e^-eps0; all other outcomes have the ratio 1. With s outcomes of the first
two kinds, a ~ Bin(s, 1/(1 + e^eps0)) of the first, the likelihood ratio of the shuffled list is the mean

    e^L = 1 + (1 - e^-eps0) ((e^eps0 + 1) a - s)/n,    s ~ Bin(n, (e^eps0 + 1)/D),

a martingale in s, so s may be rounded down, and outcomes of nearly one L may be merged: both are
post-processing. Laplace noise at 1 or at 0, seen only as below 0, above 1 or between, has D = 2 e^eps0.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tradeoff.intervals.bounds import Array, Bounds, Index
from tradeoff.intervals.functions import exp, expm1, log, quotient
from tradeoff.pld.discrete import AtomicLaw, merged
from tradeoff.pld.law import in_order
from tradeoff.pld.special import log_pmf
from tradeoff.pld.units import UNIT

_REACH = 14.0  # standard deviations of C and of 2a that are listed: e^-98 lies outside, and is moved to y = 1
_LISTED = 4_000_000  # most pairs of C and a: a second or two
_SPREAD = 9  # least number of values of o (of b') that are kept, if there are more
_NODES = 8192  # most values of y: over 14 standard deviations they add 1e-6 of one to its variance
_SHARE = 2.0**-40  # more than the rounding of a share of a cell of y, which moves outwards


class Randomizer(NamedTuple):
    """A local randomiser: d of k categories, any of its loss (no categories), or a kind by its name."""

    epsilon: float  # eps0
    categories: int | None = None  # k
    size: int = 1  # d
    kind: str | None = None  # "rappor", or another of a blanket of mass 1/r, such as "laplace"

    @property
    def others(self) -> tuple[Bounds, Bounds]:
        """Bounds on b and c of the module."""
        if self.kind is not None:
            r = exp(self.epsilon / 2)
            return (1 / r, r) if self.kind == "rappor" else (Bounds(0.0, 0.0), expm1(self.epsilon / 2))
        k, d = self.categories or 2, self.size
        return quotient(d - 1, k - d), quotient(k - d - 1, d)


@lru_cache(maxsize=16)
def shuffled_law(randomizer: Randomizer, records: int) -> AtomicLaw:
    """Return the law for n = ``records`` shuffled answers, at most as private as they are, by a list of y."""
    # The least epsilon bounds smaller ones: below it products underflow.
    randomizer = randomizer._replace(epsilon=max(randomizer.epsilon, 1e-300))
    epsilon, both, neither = randomizer.epsilon, *randomizer.others
    if both.upper == neither.upper == 0:
        odds = log(expm1(epsilon) / (randomizer.categories or 1))  # C ~ Bin(n - 1, 1/(1 + e^odds))
        c, w, error, lost, outer = _clones(float(odds.upper), records - 1)
        w[-1] += outer
        starts = _class_starts(len(c), c[-1])
        parts = zip(c[starts] + 1, np.add.reduceat(w, starts), strict=True)
        listed = [*(_answers(m, share, error) for m, share in parts), _at_one(lost)]
    else:
        listed = _distances_of_many(epsilon, records - 1, both, neither)
    y, weight, slacks = map(np.concatenate, zip(*listed, strict=True))
    if len(y) <= _NODES:
        nodes, at = np.unique(y, return_inverse=True)
        weight, error = _added(at, weight, len(nodes)), UNIT * len(y)
    else:  # spread to both sides on a grid
        top = min(np.max(y[y < 1]) * (1 + 4 * UNIT), 1.0)
        nodes = np.unique(np.append(np.linspace(0.0, top, _NODES), 1.0))
        weight, error = _spread_to(nodes, y, weight, _SHARE)
    y, slack = nodes, np.full(len(nodes), np.max(slacks) + error)
    if randomizer.kind == "laplace":
        y, weight, slack = _laplace_answers(epsilon, records, y, weight)
    kept = weight > 0
    y, weight, slack = y[kept], weight[kept], slack[kept]
    # Near 1, 1 - tau = 2/(1 + e^eps0) and 1 - y keep the digits that tau y has lost.
    x, rest = math.tanh(epsilon / 2) * y, (2 / (1 + exp(epsilon))).lower
    below, above = (1 - y) + y * rest, 1 + x
    loss = np.where(x < 0.5, 2 * np.arctanh(np.minimum(x, 0.5)), np.log(above / below))
    rows = []
    for side, share in ((-loss, above), (loss, below)):
        log_p = np.log(weight) + np.log(share / 2)
        # With the weights a dozen roundings, and those of the logarithm.
        rows.append((side, log_p, slack + UNIT * (16 + 4 * np.abs(log_p))))
    loss, log_p, slack = in_order(rows)
    # A loss is good to a few units of itself, and so is the cell of y.
    return AtomicLaw(loss, log_p, slack=slack, position=32 * UNIT * epsilon)


Listed = tuple[Array, Array, Array]  # y, its probability and the relative error of that


def _distances_of_many(epsilon: float, others: int, both: Bounds, neither: Bounds) -> list[Listed]:
    """List y z of the module where outcomes agree with both records (b > 0) or with neither (c > 0).

    For each class of C others of either kind, and the record's own answer of either kind, neither or both.
    """
    # Masses of an answer of either kind, and of others, times D e^-eps0, which no loss makes too large.
    e, q = exp(epsilon), exp(-epsilon)
    gain, rare = -expm1(-epsilon), neither * q
    total, rest = 1 + q + both + rare, gain * (1 + both)
    odds = min((log((gain + both + rare) / 2) + epsilon).mid, 700.0)
    # Log-odds against other outcomes being of both kinds, and the rest of neither; fewer are less private.
    odds_of_parts = tuple(
        max(float((log(against / part) + epsilon).upper), -700.0) if part.lower else math.inf
        for against, part in ((rest + rare, both), (rest, neither))
    )
    c, w, error, *lost = _clones(odds, others)
    error += _odds_error(odds, c)
    lost.append(1e-290 if odds == 700 else 0.0)  # more than the mass of C > 0, rarer than floats hold
    starts, listed = _class_starts(len(c), c[-1] * _SPREAD**2), [_at_one(sum(lost), error)]
    stops = np.append(starts[1:], len(c)) - 1
    values = max(_SPREAD, int(_LISTED / (2 * _REACH * len(starts) * math.sqrt(c[-1] + 1))))
    # The law of o is computed for 128 numbers of other answers at most.
    step = 1 + int(c[-1] - c[0]) // 128 if both.upper else 1
    for first, last, weight in zip(c[starts], c[stops], np.add.reduceat(w, starts), strict=True):
        trials = (others - int(last)) // step * step  # of o, rounded down
        o, share, error_of_o, lost_of_o = _spread_others(odds_of_parts, e.lower, trials, values)
        listed.append(_at_one(lost_of_o * weight, error))
        for own, answers, mass in ((1, 0.0, 1 + q), (0, 1.0, rare), (0, e.lower, both)):
            if mass.upper == 0:
                continue
            chance = weight * (mass / total).mid
            if last + own == 0:
                listed.append((np.zeros(1), np.array([chance]), np.array([error + 64 * UNIT])))
                continue
            y, b, slack = _answers(max(first + own, 1.0), chance, error)
            z = ((e + 1) / (e + 1 + 2 * (o + answers) / (last + own))).upper
            product = np.minimum(np.nextafter(np.multiply.outer(z, y), 2.0), 1.0)
            product[:, -1] = 1.0  # all that are not listed
            sums = np.broadcast_to(slack + error_of_o + 64 * UNIT, product.shape)
            listed.append((product.ravel(), np.multiply.outer(share, b).ravel(), sums.ravel()))
    return listed


def _at_one(weight: float, slack: float = 0.0) -> Listed:
    """List y = 1, the least private, with this probability."""
    return np.ones(1), np.array([weight]), np.array([slack + 4 * UNIT])


def _clones(odds: float, others: int) -> tuple[Array, Array, float, float, float]:
    """Return C ~ Bin(others, 1/(1 + e^odds)), its P, the relative error of P, and P below and above."""
    mean = others * expit(-odds)
    reach = _REACH * np.sqrt(mean * expit(odds)) + _REACH
    low, high = max(0, int(mean - reach)), min(others, int(mean + reach) + 1)
    c = np.arange(low, high + 1, dtype=float)
    log_w, slack = log_pmf(c, others, odds) if others else (np.zeros(1), np.zeros(1))
    w = np.exp(log_w)
    lost = w[0] * _geometric(low * np.exp(odds) / (others - low + 1)) if low else 0.0
    above = w[-1] * _geometric((others - high) * np.exp(-odds) / (high + 1))
    error = np.max(slack) + UNIT * (len(c) + 8 + np.max(np.abs(log_w)))
    return c, w, float(error), float(lost), float(above)


def _odds_error(odds: float, c: Array) -> float:
    """Bound the relative error of P(C = c) by 32 units of the odds, as d log P(C = c)/d odds = E C - c."""
    return float(32 * UNIT * (1 + abs(odds)) * (c[-1] - c[0] + _REACH))


def _class_starts(size: int, highest: float) -> Index:
    """Return where classes of values of C start, so few that all of a ~ Bin(C, 1/2) is listed for each."""
    classes = min(512, 1 + int(_LISTED / (_REACH * np.sqrt(highest + 1) + 1)))
    return np.arange(0, size, -(-size // classes))


def _spread_counts(odds: float, trials: int, values: int) -> tuple[Array, Array, float, float]:
    """Return ``_clones``, spread to both sides on so few ``values``; the last one has all above it, too."""
    if odds > 700:  # rarer than floats hold
        return np.zeros(1), np.ones(1), 0.0, 0.0
    c, w, error, lost, above = _clones(odds, trials)
    w[-1] += above
    if len(c) <= values:
        return c, w, error, lost
    nodes = np.unique(np.round(_around_mean(c, w, values)))
    sums, off = _spread_to(nodes, c, w)
    return nodes, sums, error + off + 4 * UNIT, lost


def _around_mean(x: Array, weight: Array, size: int) -> Array:
    """Return ``size`` nodes from the least to the largest x, quadratically denser around the mean."""
    low, mean, high = np.min(x), np.sum(weight * x) / np.sum(weight), np.max(x)
    t = np.linspace(-1.0, 1.0, size)
    nodes = mean + np.where(t < 0, mean - low, high - mean) * t * np.abs(t)
    return np.concatenate([[low], nodes[1:-1], [high]])


@lru_cache(maxsize=8)
def _spread_others(
    odds: tuple[float, ...], weight: float, trials: int, values: int
) -> tuple[Array, Array, float, float]:
    """Return o = weight b' + c' spread to few values, as ``_spread_counts`` does.

    b' ~ Bin(trials, .) outcomes agree with both records, c' with neither, by the log-odds against. Given b',
    c' ~ Bin(trials - b', .): one b' more replaces a coin of c' by a weight of at least 1, and adds more to a
    convex function of o where o is larger. So its mean is convex in b', which may be spread first.
    """
    counts, shares, error, lost = _spread_counts(odds[0], trials, _SPREAD)
    parts = [_spread_counts(odds[1], trials - int(b), values) for b in counts]
    if len(parts) == 1:
        return parts[0]
    o = np.concatenate([b * weight * (1 - 4 * UNIT) + c for b, (c, *_) in zip(counts, parts, strict=True)])
    w = np.concatenate([share * w for share, (_, w, *_) in zip(shares, parts, strict=True)])
    nodes = np.unique(_around_mean(o, w, values))
    sums, off = _spread_to(nodes, o, w)
    _, _, errors, losses = zip(*parts, strict=True)
    return nodes, sums, error + max(errors) + off + 4 * UNIT, lost + max(losses)


def _spread_to(nodes: Array, x: Array, weight: Array, share_error: float = -_SHARE) -> tuple[Array, float]:
    """Spread each x to the nodes on both sides of it, and return the sums and their relative error.

    Their mean is a little less than that of x, or more for a positive ``share_error``.
    """
    if len(nodes) == 1:
        return np.array([np.sum(weight)]), UNIT * (len(x) + 4)
    cell = np.clip(np.searchsorted(nodes, x, side="right") - 1, 0, len(nodes) - 2)
    share = np.clip((x - nodes[cell]) / np.diff(nodes)[cell] + share_error, 0.0, 1.0)
    sums = _added(cell, weight * (1 - share), len(nodes)) + _added(cell + 1, weight * share, len(nodes))
    return sums, UNIT * (2 * int(np.max(np.bincount(cell))) + 4)


def _answers(m: float, weight: float, slack: float) -> tuple[Array, Array, Array]:
    """List y = |m - 2a|/m for a ~ Bin(m, 1/2), its probability times a weight; the rest at y = 1."""
    low, middle = max(0, int(m / 2 - _REACH / 2 * np.sqrt(m) - 1)), int(m // 2)
    a = np.arange(low, middle + 1, dtype=float)
    log_b, error = log_pmf(a, int(m), 0.0)
    b = np.where(2 * a == m, 1.0, 2.0) * np.exp(log_b) * weight
    far = b[0] * _geometric(low / (m - low + 1))
    y, b = np.append((m - 2 * a) / m, 1.0), np.append(b, far)
    return y, b, np.append(error, error[0]) + slack + UNIT * (8 + np.max(np.abs(log_b)))


def _geometric(ratio: float) -> float:
    """Bound the sum of all terms after one, over it: ratio/(1 - ratio), as ratios of neighbours fall."""
    return float(ratio / (1 - ratio) * (1 + 16 * UNIT))


def _added(at: Index, weight: Array, size: int) -> Array:
    """Return the sums of the weights at each index below ``size``."""
    return np.asarray(np.bincount(at, weight, size), dtype=float)


def _laplace_answers(epsilon: float, records: int, y: Array, weight: Array) -> Listed:
    """Return y of Laplace noise: E (y - s)_+ at nodes s is the lesser bound, its slope rises by masses."""
    tau, high = math.tanh(epsilon / 2), min(8 * math.sqrt(float(np.sum(weight * y * y))), 1.0)
    near = np.linspace(0.0, high, 129)[:-1]
    nodes = np.append(near, np.geomspace(high, 1.0, 64) if high < 1 else 1.0)
    nodes[-1] = 1.0
    excess = (1 + 1e-11) * (np.maximum(y - nodes[:, None], 0.0) @ weight)
    sticks = _laplace_sticks(epsilon, records, tau * near) / tau
    excess[:128] = np.minimum(excess[:128], (1 + 1e-11) * sticks + 1e-15)
    above = np.maximum(np.diff(np.diff(excess) / np.diff(nodes), append=0.0), 0.0) * (1 + 1e-12)
    result = np.append(max(1 - float(np.sum(above)), 0.0), above)
    return nodes, result, np.full(len(nodes), 1e-11)


def _laplace_sticks(epsilon: float, records: int, s: Array) -> Array:
    """Bound E (|tanh(L/2)| - s)_+ = E (Z_1 + ... + Z_n)_+/n of Laplace noise from above, see the module.

    ``base`` is the law of Z and v that of a sum of m of them, rows for s, on -half <= k < half in steps h,
    without the masses ``stay`` and ``still`` of all Z = 0; ``added`` is the mean excess above the lattice.
    """
    half, cells, rows = 1024, 512, len(s)
    # P(Z != 0) = 1/r is ``chance``, and u = X - 1 has the masses p at theta ``size``.
    theta, chance, k = math.expm1(epsilon), math.exp(-epsilon / 2), np.arange(cells + 1) / cells
    # X in cells from x to x e^4a has mean x e^2a there: both ends of all cells have the same shares.
    a = epsilon / 4 / cells
    cell = -math.expm1(-2 * a) * np.exp(-epsilon / 2 * k[:-1])
    p = np.append(cell * expit(2 * a), chance) + np.append(0.0, cell * expit(-2 * a))
    size, h = np.expm1(epsilon * k) / theta, 2.5 / half
    base = np.zeros((rows, 2 * half))  # without the mass at 0
    for sign in (1, -1):
        place = (sign * size - s[:, None] * (size + 2 / theta)) / h + half
        low = np.floor(place)
        for up, share in ((0, 1 - place + low), (1, place - low)):
            at = (low.astype(int) + up + 2 * half * np.arange(rows)[:, None]).ravel()
            base += _added(at, (share * (p * chance / 2)).ravel(), base.size).reshape(base.shape)
    x, deviation = np.maximum(np.arange(-half, half), 0), math.sqrt(chance * float(p @ size**2))
    v, still, stay, m, added = base, 1 - chance, 1 - chance, 1, np.zeros(rows)
    # Errors of masses, and of means of x_+; means of x_+ of the sums that were joined.
    start = np.array([2 * UNIT + chance * (1e-13 + 8 * UNIT * epsilon), chance * (1e-12 + 1e-14 * epsilon)])
    errors, others = start, np.zeros(rows)
    for digit in f"{records:b}"[1:]:
        for double in (True, False) if digit == "1" else (True,):
            other, rest = (v, still) if double else (base, stay)
            full = np.zeros((rows, 4 * half))
            full[:, half : 3 * half] = still * other + rest * v
            product = np.fft.rfft(v, 4 * half) * np.fft.rfft(other, 4 * half)
            full += np.maximum(np.fft.irfft(product, 4 * half), 0.0)
            norms = [float(np.max(np.linalg.norm(each, k, axis=1))) for each in (v, other) for k in (1, 2)]
            slip = 2.5e-12 * max(norms[::2]) * max(norms[1::2]) + 1e-14 * float(np.max(np.sum(full, axis=1)))
            others += h * ((v + other) @ x) + 2 * added
            errors = errors + (errors if double else start) + [slip + 8 * UNIT, 2 * half * h * slip]
            m, still, added = (2 * m, still**2, 2 * added) if double else (m + 1, still * stay, added)
            if min(2.0 * m, 12 * deviation * math.sqrt(m) + 3) > half * h:
                wide = np.zeros((rows, 4 * half))
                wide[:, half : 3 * half] = base
                v, base, h = _thinned(full), _thinned(wide), 2 * h
            else:
                v, outside = full[:, half : 3 * half].copy(), full[:, 3 * half :]
                v[:, 0] += np.sum(full[:, :half], axis=1)
                v[:, -1] += np.sum(outside, axis=1)
                added = added + h * (outside @ np.arange(1, half + 1))
    return np.asarray(theta / records * (h * (v @ x) + added + errors[0] * others + errors[1]))


def _thinned(lattice: Array) -> Array:
    """Return masses on every other node of a lattice; those between go to both sides by half."""
    result, moved = lattice[:, ::2].copy(), lattice[:, 1::2] / 2
    result += moved
    result[:, 1:] += moved[:, :-1]
    return result


@lru_cache(maxsize=16)
def shuffled_pair_law(randomizer: Randomizer, records: int, *, reverse: bool) -> AtomicLaw:
    """Return the law of the pair behind lower bounds, or a more private one that follows from it.

    All records are alike under P, or under Q if ``reverse``. Of s and a, e^L = ``ratio`` = 1 + ``change``.
    """
    epsilon, (both, neither) = randomizer.epsilon, randomizer.others
    e, q, drop = math.exp(epsilon), exp(-epsilon), -math.expm1(-epsilon)
    more = -expm1(-epsilon) if randomizer.kind == "laplace" else both + neither * q  # times e^-eps0
    odds = log(more / (1 + q)).mid
    starts, weights, error, left_out = np.array([float(records)]), np.ones(1), 0.0, more.upper > 0
    if odds > -600:  # below, fewer than n outcomes of the first two kinds are too rare to matter
        counts, masses, error, below, above = _clones(odds, records)
        masses[-1] += above
        error += _odds_error(odds, counts)
        at = _class_starts(len(counts), counts[-1])
        starts, weights, left_out = counts[at], np.add.reduceat(masses, at), below > 0
    parts = []
    for s, w in zip(starts, weights, strict=True):
        a, b, error_of_a, *tails = _clones(epsilon, int(s))
        left_out |= sum(tails) > 0
        change = drop * ((e + 1) * (a / records) - s / records)
        ratio = (1 - s / records) + e * (a / records) + (s - a) / records / e
        parts.append((change, ratio, w * b, np.full(len(a), error + error_of_a + 16 * UNIT)))
    change, ratio, p, slack = map(np.concatenate, zip(*parts, strict=True))
    kept = p > 0
    change, ratio, p, slack = (each[kept] for each in (change, ratio, p, slack))
    loss, most = _log_ratio(change, ratio), 1.0
    if len(loss) > _NODES and np.ptp(loss) > 0:  # merge outcomes of nearly one ratio
        cell = np.minimum((_NODES * ((loss - np.min(loss)) / np.ptp(loss))).astype(int), _NODES - 1)
        most = float(np.max(np.bincount(cell)))
        mass, *sums = (_added(cell, each, _NODES) for each in (p, p * change, p * ratio))
        p = mass[mass > 0]
        loss = _log_ratio(*(each[mass > 0] / p for each in sums))
        slack = np.full(len(p), np.max(slack) + UNIT * most)
    position, log_p = UNIT * (256 + 4 * most) * epsilon + 1e-300, np.log(p)
    slack += UNIT * (8 + 8 * np.abs(log_p))
    if reverse:
        loss, log_p, slack = -loss, log_p + loss, slack + position + UNIT * np.abs(loss)
    # By Bennett's inequality less than 4 e^-62 is left out, under either law: 14 deviations and 12 more.
    loss, log_p, slack = merged(loss, log_p, slack)
    is_cut = left_out or not kept.all()
    lost, outside = (1e-25, (-epsilon, epsilon)) if is_cut else (0.0, None)  # as of one randomiser
    return AtomicLaw(loss, log_p, slack=slack, lost=lost, position=position, outside=outside)


def _log_ratio(change: Array, ratio: Array) -> Array:
    """Return log ratio, ratio = 1 + change, by log1p(change) where that is small."""
    return np.where(np.abs(change) < 0.5, np.log1p(np.maximum(change, -0.5)), np.log(ratio))
