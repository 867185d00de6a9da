"""The sum of a line once more, in balls, where nearly all of it cancels.

Where rare rounds lose much, the tilted law has two bells, and an answer may lie between them: the terms of
its sum are up to 1e9 times larger than the sum, and n rounds multiply the rounding of every transform by n.
So the same sum is added up in balls of 128 bits, with transforms from the nodes x_j = jh + ia of the rules of
`pld.gaussian`: of a sampled normal pair, the last factor where it is damped, but for a constant

    M(z) = sum_j e^(z L(x_j) - x_j^2/2) e^-e^(k (x_j - last)),    L(x) = log(1 + q (e^(mu x - mu^2/2) - 1)).

Balls hold all rounding. Nodes left out and the error of a rule, relative to M(c) at all frequencies, are
added to the radius of every M; aliases and the integral beyond the last node are bounded by the line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from tradeoff import balls
from tradeoff.accounting.contour.line import DIGITS, ContourLine
from tradeoff.balls import Balls, to_ball, to_balls, to_complex
from tradeoff.intervals.rounding import Array
from tradeoff.pld.gaussian import DampedNormalBase, GaussianLaw, damped_rule, path_points, path_rule
from tradeoff.pld.law import PrivacyLossDistribution
from tradeoff.pld.transformed import DampedPLD, SubsampledPLD
from tradeoff.pld.units import UNIT

_BITS = 128  # 1e9 rounds of a ball's radius, times cancellation, are far below the digits of an answer
_MOST = 1e7  # nodes of a line times those of a rule: less than a second


@dataclass(frozen=True, eq=False)
class ResummedLine(ContourLine):
    """A line with the first terms of its sum at x = 0 in balls, row by row, and the size of all others."""

    terms: Balls
    others: float

    def _at(self, x: Array) -> tuple[Array, Array]:
        """Return Re sum of terms e^(-ixy) and its error: the radius, and the bound beyond the last node.

        Four units of the sum are for the differences of the bounds that follow.
        """
        result, off = np.empty((2, 1, len(x)))
        rows, columns = self.terms.shape
        with balls.precision(_BITS):
            for k, each in enumerate(x.tolist()):
                pace = -to_ball(each) * self.step
                within, between = (
                    balls.exp(to_complex(0, pace * places * np.arange(size, dtype=object)))
                    for places, size in ((1, columns), (columns, rows))
                )
                inner = balls.matrix_product(self.terms, within[:, None])
                total = balls.matrix_product(between[None], inner)[0, 0].real
                result[0, k] = float(total.mid())
                off[0, k] = balls.upper_float(abs(total - to_ball(result[0, k])))
        return result, (off + self._truncation[0] + self.others) * (1 + 4 * UNIT) + 4 * UNIT * np.abs(result)


def resum(line: ContourLine, laws: Sequence[PrivacyLossDistribution], counts: Sequence[int]) -> ContourLine:
    """Return a line, c > 1, with its sum in balls; as it is where it is smoothed, long, or of other laws.

    Terms are left out whose sizes, the product's float and its error, add up to 1e-5 of the errors of all.
    """
    if line.smoothing_width:
        return line
    y = line.step * np.arange(len(line.log))
    size = (
        (np.exp(line.log.real) + line.error)
        * (line.step / np.pi)
        / np.hypot(line.c, y)
        / np.hypot(line.c - 1, y)
    )
    others = np.cumsum(size[::-1])[::-1] * (1 + 1e-9)
    enough = others <= 1e-5 * line.summed_error
    count = int(np.argmax(enough)) if enough.any() else len(y)
    with balls.precision(_BITS):
        terms = to_ball(line.step) / balls.pi()
        for law, n in zip(laws, counts, strict=True):
            ratios = _ratios(law, line.c, line.step, count, DIGITS + math.log(n))
            if ratios is None:
                return line
            terms = terms * ratios**n
        y = to_balls(np.arange(terms.size).reshape(terms.shape)) * line.step
        z = to_complex(to_ball(line.c), y)
        terms = terms / (z * (z - 1))
        terms[0, 0] /= 2
        terms.ravel()[count:] = 0 * terms[0, 0]
    known = {field.name: getattr(line, field.name) for field in fields(ContourLine)}
    return ResummedLine(**known, terms=terms, others=float(others[count]) if count < len(others) else 0.0)


def _ratios(law: PrivacyLossDistribution, c: float, step: float, count: int, digits: float) -> Balls | None:
    """Return M(c + iy)/M(c) at the first nodes of a line, filled up to a matrix; None for other laws."""
    inner = law.base if isinstance(law, DampedPLD) else law
    if not (isinstance(inner, SubsampledPLD) and isinstance(inner.base, GaussianLaw)):
        return None
    (part,) = law.components() or []
    base = part.base
    damped = isinstance(base, DampedNormalBase)
    rule = damped_rule(part, c, digits) if damped else path_rule(part, c, digits)
    if rule is None or (rule.last - rule.first) * count > _MOST:
        return None
    at = np.arange(rule.first, rule.last + 1.0)
    known, kept = path_points(part, c, rule, at)
    exact = inner.base.square
    mu = to_ball(inner.base.mu) if exact is None else balls.sqrt(to_ball(exact))
    x = to_complex(to_balls(at[kept]) * rule.h, to_ball(rule.a))
    loss = balls.log(1 + to_ball(inner.p) * (balls.exp(mu * x - mu * mu / 2) - 1))
    log_w = to_ball(c) * loss - x * x / 2
    if isinstance(base, DampedNormalBase):
        log_w = log_w - balls.exp(base.sharp * (x - to_ball(base.last)))
    columns = math.isqrt(count - 1) + 1
    pace = balls.exp(to_complex(0, to_ball(step)) * loss)
    within = _powers(pace, columns)
    between = _powers(within[-1] * pace, -(-count // columns)) * balls.exp(log_w)
    value = balls.matrix_product(between, within.T)
    # M(c) is at most the sum over 1 - lost.
    lost = float(np.max(known.quadrature)) * 1.01 * balls.upper_float(value[0, 0].real)
    around = balls.union(-lost, lost)
    return (value + to_complex(around, around)) / (value[0, 0].real + around)


def _powers(base: Balls, count: int) -> Balls:
    """Return the powers 0 ... count - 1 of complex balls, row by row."""
    rows = np.repeat(base[None], count, axis=0)
    rows[0] = base * 0 + 1
    return np.multiply.accumulate(rows, axis=0)
