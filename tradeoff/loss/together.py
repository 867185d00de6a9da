"""Thinned normal pairs of a product together: rows of arrays, one a factor, and the transform of them all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss import path
from tradeoff.loss.changed import Reversed, Thinned
from tradeoff.loss.components import Component, QuadratureNodes, Tail, Trapezoid
from tradeoff.loss.gaussian import NormalBase
from tradeoff.loss.law import LossLaw, Sketch
from tradeoff.loss.quadrature import FINER, FIRST, QuadratureTransform
from tradeoff.loss.thinning import Share
from tradeoff.loss.transform import AffineRatio, Transformed

_MOST, _FEW = 64, 8
"""Rows at most: arrays are long enough by then, and what is left of a product is looked at between groups;
fewer where no path spares quadratures of a hundred thousand nodes."""

_EXACT = 2**53
"""Counts up to this one are floats."""

_MANY, _MILD = 8, 4.0
"""Fewest factors of which sketches are thinned out, and the largest mu."""

_NOTHING = 1e5
"""Nodes that a row does not need weigh e^-1e5 of what they may: 0 in floats, whatever the tilt."""


def together(laws: Sequence[LossLaw], counts: Sequence[int]) -> tuple[list[Transformed], list[int]]:
    """Return the same product with alike laws in one, counted once."""
    alike: dict[tuple[Any, ...], list[tuple[Component, LossLaw, int]]] = {}
    factors: list[tuple[Transformed, int]] = []
    for law, n in zip(laws, counts, strict=True):
        part = _part(law) if n <= _EXACT else None
        if part is None:
            factors.append((law, n))
        else:
            alike.setdefault(_key(part), []).append((part, law, n))
    for key in sorted(alike):
        alike[key].sort(key=lambda row: row[0].base.scale)  # rows of one group are about as long then
        most = _FEW if _steep(alike[key][0][0]) else _MOST
        for start in range(0, len(alike[key]), most):
            some = alike[key][start : start + most]
            parts, each, powers = zip(*some, strict=True)
            factors += [(Rows(parts, powers), 1)] if len(some) > 1 else [(each[0], powers[0])]
    return [law for law, _ in factors], [n for _, n in factors]


def sketches(laws: Sequence[LossLaw], counts: Sequence[int]) -> list[tuple[Sketch, int]]:
    """Return the sketches of all factors; of many thinned normal pairs a third of the points tell as much.

    They are equidistant, a third of a deviation apart then, so that moments of mildly steep losses stay known
    to e^-15 of themselves.
    """
    found = [(law.sketch(), n) for law, n in zip(laws, counts, strict=True)]
    if len(laws) < _MANY:
        return found
    parts = [_part(law) for law in laws]
    return [
        (sketch if part is None or part.base.scale > _MILD else _third(sketch), n)
        for part, (sketch, n) in zip(parts, found, strict=True)
    ]


def _third(sketch: Sketch) -> Sketch:
    return Sketch(sketch.loss[::3], sketch.log_p[::3] + math.log(3))


def _part(law: LossLaw) -> Component | None:
    """Return the one component of a law that is nothing but thinned normal pairs."""
    inner = law
    while isinstance(inner, Thinned | Reversed):
        inner = inner.base
    parts = law.components() or []
    alone = len(parts) == 1 and not parts[0].pure and isinstance(parts[0].base, NormalBase)
    plain = alone and law.p_minus == 0 == law.lost and not len(law.atoms.loss)
    return parts[0] if plain and inner is not law and parts[0].base.scale > 0 else None


def _key(part: Component) -> tuple[Any, ...]:
    """Return what rows have in common: whole shares, which is greater, and the scale by a factor of 2."""
    kinds = [-1.0 if 0 < share.part < 1 else share.part for share in part.shares]
    return (*kinds, part.g > 0, part.units, part.k, _steep(part), math.frexp(part.base.scale)[1])


def _steep(part: Component) -> bool:
    """Whether there is no path beside the line."""
    return max(share.part for share in part.shares) > path.MOST


@dataclass(frozen=True, eq=False)
class Rows:
    """Components with multiplicities, alike but for their scale and shares."""

    parts: Sequence[Component]
    counts: Sequence[int]

    @property
    def bases(self) -> list[NormalBase]:
        """Their bases."""
        return [part.base for part in self.parts if isinstance(part.base, NormalBase)]

    @cached_property
    def column(self) -> Component:
        """The components as one whose numbers are columns."""
        scale, g = _columns([(part.base.scale, part.g) for part in self.parts])
        b, d = (_shares([part.shares[side] for part in self.parts]) for side in range(2))
        base: Any = NormalBase(scale)
        return replace(self.parts[0], base=base, g=g, b=b, d=d)

    def transform(self, c: float, digits: float) -> RowsTransform:
        """Return the transform of the product."""
        return RowsTransform(self, c, digits)


def _columns(rows: Sequence[Sequence[float]]) -> list[Any]:
    return [np.array(column, dtype=float)[:, None] for column in zip(*rows, strict=True)]


def _shares(shares: Sequence[Share]) -> Share:
    """Return one share where all are 0 or all are 1, else columns."""
    return shares[0] if shares[0].part in {0.0, 1.0} else Share(*_columns(shares))


class RowsTransform(QuadratureTransform):
    """The transform of a product of rows; ``log`` is the sum of n_i times theirs."""

    def __init__(self, rows: Rows, c: float, digits: float) -> None:
        self.c, self.rows, self.smooth, self.p_minus = c, rows, rows.parts, 0.0
        self.each = [digits + math.log(n) for n in rows.counts]
        self.powers = np.array(rows.counts, dtype=float)
        # The quadratures of every row serve frequencies by its own scale, and those of the widest row the
        # least: all go by that.
        self._paces = [min(part.base.scale, 1.0) / FIRST for part in rows.parts]
        self._pace, self._levels = max(self._paces), {}
        # A product and an exact sum: two roundings of all sizes.
        self.log_m, size = self._total(self._start.log_m)
        self.log_m_error = math.fsum(self.powers * self._start.log_m_error) * (1 + 1e-9) + 2 * UNIT * size

    @cached_property
    def mean(self) -> float:  # type: ignore[override]  # a derived value here, a constant in the base
        return self._total(self._level(0).mean)[0]

    @cached_property
    def mean_error(self) -> float:
        """Bound on the error of ``mean`` as the sum of all centres: two roundings of their sizes."""
        return 2 * UNIT * self._total(self._level(0).mean)[1]

    def _total(self, each: Array) -> tuple[float, float]:
        """Return the sum of n_i times ``each``, and that of its sizes."""
        terms = self.powers * each
        return math.fsum(terms), math.fsum(np.abs(terms)) * (1 + 1e-9)

    def _on_line(self, j: int) -> QuadratureNodes:
        each = zip(self.rows.parts, self.rows.bases, self._paces, self.each, strict=True)
        rules = [base.rule(part, self.c, FINER**j / pace, digits) for part, base, pace, digits in each]
        column: Any = self.rows.column
        return _padded(rules, lambda rule, at: column.base.points(column, self.c, rule, at))

    @cached_property
    def _beside(self) -> QuadratureNodes | None:
        each = zip(self.rows.parts, self.each, strict=True)
        rules = [path.rule(part, self.c, digits) for part, digits in each]
        known = [rule for rule in rules if rule is not None]
        if len(known) < len(rules):
            return None
        return _padded(known, lambda rule, at: path.points(self.rows.column, self.c, rule, at))

    @cached_property
    def _tails(self) -> list[list[Tail]]:
        first = self._level(0)
        each = zip(self.rows.parts, first.log_m.tolist(), first.log_m_error.tolist(), strict=True)
        return [[part.base.tail(part, self.c, log_m, error)] for part, log_m, error in each]

    @property
    def variance(self) -> float:
        # Deviations add up at most (Minkowski), those of the centres from ``mean`` too.
        deviation = math.fsum(self.powers * np.sqrt(self._level(0).variance)) + self.mean_error
        return deviation**2 * (1 + 1e-9)

    def ratio(self, y: Array, *, even: bool = False) -> AffineRatio:
        """Add up n_i log rho_i, less the phase of each centre.

        A product and a sum of all rows are 1 + len(rows) units of each term; the centres add up to ``mean``
        but for ``mean_error``.
        """
        log, error, ceiling = self._ratios(y, even=even)
        size = np.abs(np.where(np.isfinite(error), log, 0.0))
        units = (2 + len(self.powers)) * UNIT
        slip = self.powers @ (error + units * size) + y * self.mean_error
        whole = self.powers @ log.real + 1j * (self.powers @ log.imag)
        return AffineRatio(whole, slip, self.powers @ ceiling)

    def around(self, y: Array, radius: float) -> Array:
        return np.asarray(self.powers @ self._arounds(y, radius))

    def _whole(self, rows: Array) -> float:
        return math.fsum(self.powers * rows)


def _padded(
    rules: Sequence[Trapezoid], points: Callable[[Trapezoid, Array], tuple[QuadratureNodes, Any]]
) -> QuadratureNodes:
    """Return the nodes of all rules, as many in every row.

    Nodes that a row does not need stay, or are its last one again, with a weight that is 0 in floats.
    """
    rule = Trapezoid(*_columns(rules))
    place = rule.first + np.arange(int(np.max(rule.last - rule.first)) + 1.0)
    found, kept = points(rule, np.minimum(place, rule.last))
    kept = kept & (place <= rule.last)
    start = np.argmax(kept, axis=1)
    size = kept.shape[1] - np.argmax(kept[:, ::-1], axis=1) - start
    index = np.minimum(start[:, None] + np.arange(int(np.max(size))), kept.shape[1] - 1)
    kept = np.take_along_axis(kept, index, axis=1) & (np.arange(index.shape[1]) < size[:, None])

    def chosen(each: Any) -> Any:
        return np.take_along_axis(each, index, axis=1)

    faint = np.where(kept, 0.0, _NOTHING)
    loss, log_p, slack, error, quadrature = found
    return QuadratureNodes(chosen(loss), chosen(log_p) - faint, chosen(slack), chosen(error), quadrature)
