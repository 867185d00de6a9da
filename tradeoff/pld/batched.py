"""Sampled normal pairs of a product as rows of arrays, one a factor, and the transform of them all.

A *component* has dP = k (1 - d + d e^l) phi and dQ = k (1 - b + b e^l) phi, phi standard normal and l = mu x
- mu^2/2 of ``scale`` mu here; b and d are its shares, g = b - d. A *sketch* is a few points that represent a
law, for planning. ``counts`` are how often each law of a product occurs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tradeoff.pld.components import Component, SamplingRate, few_bits
from tradeoff.pld.gaussian import MOST, NormalBase, Trapezoid, WindowBase, line_points, path_points
from tradeoff.pld.gaussian_mixtures import MixtureLaw
from tradeoff.pld.law import PlanningPoints, PrivacyLossDistribution, Transformed, weighted_mass
from tradeoff.pld.quadrature import QuadratureTransform
from tradeoff.pld.shifts import LaplaceBatch, LaplaceLaw
from tradeoff.pld.transformed import DampedPLD, MixturePLD, ReversedPLD, SubsampledPLD
from tradeoff.pld.units import UNIT


def batch_factors(
    laws: Sequence[PrivacyLossDistribution], counts: Sequence[int]
) -> tuple[list[Transformed], list[int]]:
    """Return laws and counts of the same product, with alike laws as one factor, a ``Batch``, counted once.

    Laplace laws with one count are one ``LaplaceBatch``, with that count.
    """
    alike: dict[tuple[Any, ...], list[tuple[Component, PrivacyLossDistribution, int]]] = {}
    factors: list[tuple[Transformed, int]] = []
    laplace: dict[int, list[LaplaceLaw]] = {}
    for law, n in zip(laws, counts, strict=True):
        if isinstance(law, LaplaceLaw) and n < 1024:  # rounding is that of numbers of size 1, in every round
            laplace.setdefault(n, []).append(law)
            continue
        part = _sampled_normal(law) if n <= 2**53 else None  # counts up to this one are floats
        if part is None:
            factors.append((law, n))
            continue
        # Rows have in common which shares are 0 or 1, which is greater, and the scale by a factor of 2.
        kinds = [-1.0 if 0 < rate.part < 1 else rate.part for rate in (part.b, part.d)]
        # With a share above one half no path exists next to the line: see ``NormalBase.rule``.
        is_steep = max(part.b.part, part.d.part) > MOST
        key = is_steep, *kinds, part.g > 0, part.units, part.k, math.frexp(part.base.scale)[1]
        alike.setdefault(key, []).append((part, law, n))
    for key in sorted(alike):
        alike[key].sort(key=lambda row: row[0].base.scale)  # rows of one group are about as long then
        # Rows of a batch: arrays are long enough by then, and the engine skips whole factors that have
        # decayed; fewer where no path avoids quadratures of a hundred thousand nodes.
        rows = 8 if key[0] else 64
        for start in range(0, len(alike[key]), rows):
            parts, each, powers = zip(*alike[key][start : start + rows], strict=True)
            factors += [(Batch(parts, powers), 1)] if len(parts) > 1 else [(each[0], powers[0])]
    for n, same in laplace.items():
        groups = (same[start : start + 64] for start in range(0, len(same), 64))
        factors += [(LaplaceBatch(group) if len(group) > 1 else group[0], n) for group in groups]
    return [law for law, _ in factors], [n for _, n in factors]


def sketches(
    laws: Sequence[PrivacyLossDistribution], counts: Sequence[int]
) -> list[tuple[PlanningPoints, int]]:
    """Return the sketches of all laws with their counts; of sampled normal pairs every third or sixth point.

    They are equidistant, h = 0.32 or 0.63 deviations apart then, so that moments of mildly steep losses stay
    known to e^(a^2/2 - 2 pi a/h), relative, a = pi/mu: e^-15 or e^-18. Planning a thousand factors takes a
    third of the time.
    """
    result = [(law.sketch(), n) for law, n in zip(laws, counts, strict=True)]
    for k, part in enumerate(map(_sampled_normal, laws)):
        if part is not None and part.base.scale <= 4.0:  # largest mu of which sketches are thinned out
            (loss, log_p), n = result[k]
            # A sketch of few laws is for rare losses, too.
            step = 6 if part.base.scale <= 1.5 and len(laws) > 8 else 3
            result[k] = PlanningPoints(loss[::step], log_p[::step] + math.log(step)), n
    return result


def _sampled_normal(law: PrivacyLossDistribution) -> Component | None:
    """Return the component of a law that is a single sampled normal pair; None for others."""
    inner = law
    while isinstance(inner, SubsampledPLD | ReversedPLD):
        inner = inner.base
    parts = law.components() or []
    alone = len(parts) == 1 and abs(parts[0].g) < 1 and type(parts[0].base) is NormalBase
    plain = alone and law.mass_at_minus_infinity == 0 == law.lost and not len(inner.atoms.loss)
    return parts[0] if plain and inner is not law and parts[0].base.scale > 0 else None


def rarely_sampled(law: PrivacyLossDistribution, count: int) -> Component | None:
    """Return the component of a normal pair sampled with rate b <= 1/2 under Q (d = 0); None for others."""
    part = _sampled_normal(law)
    # Above 1e9 rounds none of them is rare, and rounding is all that counts.
    if part is None or part.k != 1 or part.g < 0 or part.d.part or part.b.part > MOST or count > 10**9:
        return None
    return part


def damped_law(law: PrivacyLossDistribution, count: int, level: float) -> PrivacyLossDistribution:
    """Return the law without its rarest losses or parts, if it is of a sampled normal pair or a mixture.

    In ``count`` rounds they have a mass of about e^-level, which changes no answer but makes M(c) = E_P
    e^(cL) huge for large c. The result's mass at +inf bounds the part that Q lacks.
    """
    inner = law.base if isinstance(law, ReversedPLD) else law
    if isinstance(inner, MixtureLaw):
        # 7 nats more may be left out of means that are rare anyway: answers lack 1e-6 of themselves at most.
        return _without_rare_means(law, inner, math.exp(7.0 - level) / (3 * count))
    if type(inner) is MixturePLD:
        parts = sorted(inner.parts, key=lambda part: part[0])
        gone = int(np.searchsorted(np.cumsum([w for w, _ in parts]), math.exp(-level) / count))
        if gone == 0:
            return law
        # Their mass is put at -inf under P, and at +inf under Q: that adds to delta, and by it at most.
        less, rest = MixturePLD(parts[gone:]), [(w, 1.0) for w, _ in parts[:gone]]
        less.mass_at_minus_infinity = weighted_mass([(1.0, less.mass_at_minus_infinity), *rest])
        less.mass_at_plus_infinity = weighted_mass([(1.0, less.mass_at_plus_infinity), *rest])
        return less if inner is law else ReversedPLD(less)
    part = rarely_sampled(law, count)
    if part is None:
        return law
    mu, level = part.base.scale, level + math.log(count)
    sharp = few_bits(math.sqrt(2 * level))
    last = few_bits(sharp / 2 + max(level / sharp, mu + (level + math.log(part.b.part)) / sharp))
    if mu > sharp:
        return law
    base = WindowBase(mu, last, sharp)
    return DampedPLD(law, replace(part, base=base), base.outside(part.b))


def _without_rare_means(
    law: PrivacyLossDistribution, base: MixtureLaw, most: float
) -> PrivacyLossDistribution:
    """Return the law of P* and Q* without rare means, if the rest spans half as much or less; else ``law``.

    ``law`` is that of ``base`` or of its other order; ``most`` bounds b and a below. P >= (1 - b) P*, and Q
    <= (1 - a) Q* + a rest of mass a. As they are in the order of likelihood ratios, delta is at least that of
    P* and Q*. A round at a time, delta of n rounds at s = e^x is at most that of Q* against P, and 1 - (1 -
    a)^n more; that one is at most that against P* at s' = s (1 - b)^n, which is above the one at s by (s -
    s') P*(S) at most, S where dQ* >= s' dP*: by (1 - b)^-n - 1. Together it is less than 1 - (1 - a - 2 b)^n
    more, as n (a + b) is below 1/4.
    """
    pair, p, q = base.pair.without_rare_means(most)
    if pair.spread > base.pair.spread / 2:
        return law
    inner = MixtureLaw(pair)
    result, a, b = (inner, q, p) if law is base else (ReversedPLD(inner), p, q)
    result.mass_at_plus_infinity = (a + 2 * b) * (1 + 8 * UNIT)
    return result


@dataclass(frozen=True, eq=False)
class Batch:
    """A product of components ``parts``, each ``counts`` times, alike but for scales and shares."""

    parts: Sequence[Component]
    counts: Sequence[int]

    def transform(self, c: float, digits: float) -> BatchedTransform:
        """Return the transform of the product."""
        return BatchedTransform(self, c, digits)


def _columns(rows: Sequence[Sequence[float]]) -> list[Any]:
    """Return the entries of rows as arrays (rows, 1), one for each place in a row."""
    return [np.array(column, dtype=float)[:, None] for column in zip(*rows, strict=True)]


class BatchedTransform(QuadratureTransform):
    """The transform of a batch; row i, to the power n_i, errs by e^-digits/n_i (``each`` its digits)."""

    def __init__(self, batch: Batch, c: float, digits: float) -> None:
        self.parts, self.each = batch.parts, [digits + math.log(n) for n in batch.counts]
        # The components as one whose numbers are columns.
        scale, g = _columns([(part.base.scale, part.g) for part in self.parts])
        shares = zip(*((part.b, part.d) for part in self.parts), strict=True)
        b, d = (each[0] if each[0].part in {0.0, 1.0} else SamplingRate(*_columns(each)) for each in shares)
        self.column = replace(self.parts[0], base=NormalBase(scale), g=g, b=b, d=d)
        super().__init__(None, c, digits, [[part] for part in batch.parts], batch.counts)

    def _points(self, j: int | None) -> Any:
        """Return the points of level j, (rows, nodes); for j None of a path, or None if a row has none."""
        limits = [None if j is None else self.finer**j / pace for pace in self._paces]
        each: Any = zip(self.parts, self.each, limits, strict=True)
        rules: list[Any] = [part.base.rule(part, self.c, digits, y) for part, digits, y in each]
        if None in rules:
            return None
        rule, points = Trapezoid(*_columns(rules)), path_points if j is None else line_points
        place = rule.first + np.arange(int(np.max(rule.last - rule.first)) + 1.0)
        result, kept = points(self.column, self.c, rule, np.minimum(place, rule.last))
        kept = kept & (place <= rule.last)
        # From the first to the last node that is kept, moved to the start of its row.
        start = np.argmax(kept, axis=1)
        size = kept.shape[1] - np.argmax(kept[:, ::-1], axis=1) - start
        index = np.minimum(start[:, None] + np.arange(int(np.max(size))), kept.shape[1] - 1)
        kept = np.take_along_axis(kept, index, axis=1) & (np.arange(index.shape[1]) < size[:, None])
        taken: Any = (np.take_along_axis(each, index, axis=1) for each in result[:4])
        loss, log_p, slack, error = taken
        log_p -= np.where(kept, 0.0, 1e5)  # padding has no mass in floats, whatever the tilt
        return result._replace(loss=loss, log_p=log_p, slack=slack, error=error)
