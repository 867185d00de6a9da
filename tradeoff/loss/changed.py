"""Laws that operators make of other laws: subsampled, reversed, mixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tradeoff.intervals.differences import position_slack
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.law import Atoms, Cells, LossLaw, Sketch

_LARGE = 600.0
"""Losses up to this one have an e^L that a float holds, and log1p(p expm1(L)) loses nothing."""


@dataclass(frozen=True, eq=False)
class Thinned(LossLaw):
    """Law of T(P, (1-p) P + p Q): the loss becomes log(1 - p + p e^L) under the same P."""

    base: LossLaw
    p: float
    p_minus: float = field(init=False, default=0.0)
    q_plus: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "q_plus", self.p * self.base.q_plus)
        object.__setattr__(self, "p_minus", self.base.p_minus if self.p == 1 else 0.0)

    def forward(self, loss: Array) -> Array:
        """Return log(1 - p + p e^loss) without cancellation on either side."""
        if self.p == 1:
            return loss
        near = np.log1p(np.maximum(self.p * np.expm1(np.minimum(loss, _LARGE)), -0.75))
        below = np.log((1 - self.p) + self.p * np.exp(np.minimum(loss, 0.0)))
        large = np.maximum(loss, _LARGE)
        above = large + np.log(self.p + (1 - self.p) * np.exp(-large))
        return np.where(loss > _LARGE, above, np.where(near < -1.0, below, near))  # log1p(-0.75) is below -1

    def _rounding(self, loss: Array, thinned: Array) -> Array:
        """Bound the rounding of ``forward``.

        log1p(x), x > -0.64 known to 3 units, errs by 3 x/((1 + x) log1p x) + 1 <= 7 units of itself, a logarithm below -1 by less;
        L + log(p + (1 - p) e^-L) by a unit of each term and two of 1, and |log(...)| <= L.
        """
        return 8 * UNIT * np.abs(thinned) + np.where(loss > _LARGE, 4 * UNIT * (1 + loss), 0.0)

    @property
    def _alone(self) -> bool:
        """Whether mass at -infinity becomes an atom at log(1 - p)."""
        return self.base.p_minus > 0 and self.p < 1

    def backward(self, loss: Array) -> Array:
        """Return the base loss whose thinned loss is ``loss``."""
        if self.p == 1:
            return loss
        with np.errstate(divide="ignore"):
            near = np.log1p(np.maximum(np.expm1(np.clip(loss, -1.0, _LARGE)) / self.p, -1.0))
            below = np.log(np.maximum(np.exp(np.minimum(loss, 0.0)) - (1 - self.p), 0.0) / self.p)
        large = np.maximum(loss, _LARGE)
        above = large + np.log1p(-(1 - self.p) * np.exp(-large)) - np.log(self.p)
        return np.where(loss > _LARGE, above, np.where(loss < -1.0, below, near))

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.forward(np.array(self.base.support))
        if self._alone:
            low = np.log1p(-self.p)
        return float(low), float(high)

    @property
    def range(self) -> tuple[float, float]:
        low, high = self.forward(np.array(self.base.range))
        return float(np.log1p(-self.p) if self._alone else low), float(high)

    @property
    def enclosure(self) -> tuple[float, float]:
        base = np.array(self.base.enclosure)
        base[0] = -np.inf if self._alone else base[0]
        ends = self.forward(base)
        off = self._rounding(base, ends)
        return float(ends[0] - off[0]), float(ends[1] + off[1])

    @cached_property
    def loss_error(self) -> Array:
        loss = self.base.atoms.loss
        error = self.base.loss_error + self._rounding(loss, self.forward(loss))  # a slope of at most 1
        return np.append(-8 * UNIT * np.log1p(-self.p), error) if self._alone else error

    @property
    def span(self) -> tuple[float, float]:
        low, high = self.forward(
            np.array(self.base.span)
        )  # the atom that the base's mass at -infinity leaves lies below it
        return float(low), float(high)

    @property
    def atoms(self) -> Atoms:
        inner = self.base.atoms
        loss, log_p, slack = self.forward(inner.loss), inner.log_p, inner.slack
        if self._alone:
            loss = np.append(np.log1p(-self.p), loss)
            log_p = np.append(np.log(self.base.p_minus), log_p)
            slack = np.append((4 - 2 * np.log(self.base.p_minus)) * UNIT, slack)
        return Atoms(loss, log_p, slack)

    @property
    def continuous(self) -> bool:
        return self.base.continuous

    @property
    def cut(self) -> bool:
        return self.base.cut

    def sketch(self) -> Sketch:
        loss, log_p = self.base.sketch()
        loss = self.forward(loss)
        if self._alone:
            loss, log_p = np.append(np.log1p(-self.p), loss), np.append(np.log(self.base.p_minus), log_p)
        return Sketch(loss, log_p)

    def _cells(self, edges: Array) -> Cells:
        (low, high), (base_low, base_high) = self.span, self.base.span
        inner = np.clip(self.backward(edges), base_low, base_high)
        inner = np.where(
            edges <= low, base_low, np.where(edges >= high, base_high, inner)
        )  # lose no sliver to rounding
        cells = self.base.cells(inner)
        # Q' - e^a' P = p (Q - e^a P), and e^-b' (e^b' P - Q') = p e^(b-b') (P - e^-b Q).
        b = inner[1:]
        ratio = self.p / (self.p + (1 - self.p) * np.exp(-b))
        # The base's edges are known to 6 units and 2 of themselves; thinned they move by the slope, at most p + |L'|, of that.
        error = UNIT * (6 + 2 * np.abs(inner)) * (np.abs(edges) + self.p)
        return Cells(
            self.p * cells.excess,
            ratio * cells.deficit,
            cells.slack + position_slack(edges, error) + 8 * UNIT,
        )

    def description(self) -> dict[str, Any]:
        return {"kind": "thinned", "p": self.p, "base": self.base.description()}


@dataclass(frozen=True, eq=False)
class Reversed(LossLaw):
    """Law of T(Q, P): the loss changes sign, P and Q change places."""

    base: LossLaw

    @property
    def p_minus(self) -> float:  # type: ignore[override]  # a derived value here, a constant in the base
        return self.base.q_plus

    @property
    def q_plus(self) -> float:  # type: ignore[override]  # as above
        return self.base.p_minus

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.base.support
        return -high, -low

    @property
    def range(self) -> tuple[float, float]:
        low, high = self.base.range
        return -high, -low

    @property
    def enclosure(self) -> tuple[float, float]:
        low, high = self.base.enclosure
        return -high, -low

    @property
    def span(self) -> tuple[float, float]:
        low, high = self.base.span
        return -high, -low

    @property
    def atoms(self) -> Atoms:
        loss, log_p, slack = self.base.atoms
        slack_q = slack + self.base.loss_error + (2 + np.abs(log_p) + np.abs(loss)) * UNIT
        return Atoms(-loss[::-1], (log_p + loss)[::-1], slack_q[::-1])

    @cached_property
    def loss_error(self) -> Array:
        return self.base.loss_error[::-1]

    @property
    def continuous(self) -> bool:
        return self.base.continuous

    @property
    def cut(self) -> bool:
        return self.base.cut

    def sketch(self) -> Sketch:
        loss, log_p = self.base.sketch()
        return Sketch(-loss[::-1], (log_p + loss)[::-1])

    def _cells(self, edges: Array) -> Cells:
        excess, deficit, slack = self.base.cells(-edges[::-1])
        return Cells(deficit[::-1], excess[::-1], slack[::-1])

    def description(self) -> dict[str, Any]:
        return {"kind": "reversed", "base": self.base.description()}


@dataclass(frozen=True, eq=False)
class Mixed(LossLaw):
    """Law of a mixture whose label is published: the average of the laws."""

    parts: Sequence[tuple[float, LossLaw]]

    @property
    def p_minus(self) -> float:  # type: ignore[override]  # a derived value here, a constant in the base
        return sum(w * law.p_minus for w, law in self.parts)

    @property
    def q_plus(self) -> float:  # type: ignore[override]  # as above
        return sum(w * law.q_plus for w, law in self.parts)

    @property
    def support(self) -> tuple[float, float]:
        return _widest([law.support for _, law in self.parts])

    @property
    def range(self) -> tuple[float, float]:
        return _widest([law.range for _, law in self.parts])

    @property
    def enclosure(self) -> tuple[float, float]:
        return _widest([law.enclosure for _, law in self.parts])

    @property
    def span(self) -> tuple[float, float]:
        return _widest([law.span for _, law in self.parts])

    @property
    def atoms(self) -> Atoms:
        every = [(law.atoms, np.log(w)) for w, law in self.parts]
        loss = np.concatenate([a.loss for a, _ in every])
        log_p = np.concatenate([a.log_p + log_w for a, log_w in every])
        slack = np.concatenate([a.slack for a, _ in every]) + 4 * UNIT
        order = np.argsort(loss, kind="stable")
        return Atoms(loss[order], log_p[order], slack[order])

    @cached_property
    def loss_error(self) -> Array:
        order = np.argsort(np.concatenate([law.atoms.loss for _, law in self.parts]), kind="stable")
        return np.concatenate([law.loss_error for _, law in self.parts])[order]

    @property
    def continuous(self) -> bool:
        return any(law.continuous for _, law in self.parts)

    @property
    def cut(self) -> bool:
        return any(law.cut for _, law in self.parts)

    def sketch(self) -> Sketch:
        points = [(law.sketch(), np.log(w)) for w, law in self.parts]
        loss = np.concatenate([s.loss for s, _ in points])
        log_p = np.concatenate([s.log_p + log_w for s, log_w in points])
        order = np.argsort(loss, kind="stable")
        return Sketch(loss[order], log_p[order])

    def _cells(self, edges: Array) -> Cells:
        excess, deficit, slack = (np.zeros(len(edges) - 1) for _ in range(3))
        for weight, law in self.parts:
            if law.continuous:
                cells = law.cells(edges)
                excess += weight * cells.excess
                deficit += weight * cells.deficit
                slack = np.maximum(slack, cells.slack)
        return Cells(excess, deficit, slack + (len(self.parts) + 2) * UNIT)

    def description(self) -> dict[str, Any]:
        return {"kind": "mixed", "parts": [[w, law.description()] for w, law in self.parts]}


def _widest(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return min(low for low, _ in ends), max(high for _, high in ends)
