"""Laws that operators make of other laws: subsampled, reversed, mixed; questions go to the law inside."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from tradeoff.intervals.differences import position_slack
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.components import Component
from tradeoff.loss.law import Atoms, Cells, LossLaw, Sketch, View, averaged
from tradeoff.loss.thinning import (
    Share,
    base_loss,
    base_loss_error,
    thinned_loss,
    thinned_loss_error,
    thinned_slope,
)
from tradeoff.loss.transform import Transform

_LARGEST = 700.0
"""e^700 is a float, and masses at losses below -700 are none."""


@dataclass(frozen=True, eq=False)
class Thinned(LossLaw):
    """Law of T(P, (1-p) P + p Q): the loss becomes log(1 - p + p e^L) under the same P."""

    base: LossLaw
    p: float
    p_minus: float = field(init=False, default=0.0)
    q_plus: float = field(init=False)
    lost: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "q_plus", averaged([(self.p, self.base.q_plus)]))
        object.__setattr__(self, "p_minus", self.base.p_minus if self.p == 1 else 0.0)
        object.__setattr__(self, "lost", self.base.lost)

    @property
    def share(self) -> Share:
        """The rate and its complement."""
        return Share.of(self.p)

    def forward(self, loss: Array) -> Array:
        """Return log(1 - p + p e^loss)."""
        return thinned_loss(self.share, loss)

    @property
    def _alone(self) -> bool:
        """Whether mass at -infinity becomes an atom at log(1 - p)."""
        return self.base.p_minus > 0 and self.p < 1

    @property
    def _lowest(self) -> float:
        """Loss of that atom."""
        return math.log1p(-self.p)

    def _ends(self, ends: tuple[float, float]) -> tuple[float, float]:
        low, high = self.forward(np.array(ends))
        return float(low), float(high)

    @property
    def support(self) -> tuple[float, float]:
        low, high = self._ends(self.base.support)
        return self._lowest if self._alone else low, high

    @property
    def range(self) -> tuple[float, float]:
        low, high = self._ends(self.base.range)
        return self._lowest if self._alone else low, high

    @property
    def span(self) -> tuple[float, float]:
        return self._ends(self.base.span)  # the atom that the base's mass at -infinity leaves lies below it

    @property
    def enclosure(self) -> tuple[float, float]:
        base = np.array(self.base.enclosure)
        base[0] = -np.inf if self._alone else base[0]
        ends = self.forward(base)
        off = thinned_loss_error(base, ends)
        return float(ends[0] - off[0]), float(ends[1] + off[1])

    @cached_property
    def loss_error(self) -> Array:
        loss = self.base.atoms.loss
        error = self.base.loss_error + thinned_loss_error(loss, self.forward(loss))  # a slope of at most 1
        return np.append(-8 * UNIT * self._lowest, error) if self._alone else error

    @property
    def atoms(self) -> Atoms:
        inner = self.base.atoms
        loss, log_p, slack = self.forward(inner.loss), inner.log_p, inner.slack
        if self._alone:
            log_mass = np.log(self.base.p_minus)  # of a mass known to 16 units; a logarithm costs 8 of itself
            loss, log_p = np.append(self._lowest, loss), np.append(log_mass, log_p)
            slack = np.append((16 - 8 * log_mass) * UNIT, slack)
        return Atoms(loss, log_p, slack)

    @property
    def continuous(self) -> bool:
        return self.base.continuous

    def sketch(self) -> Sketch:
        loss, log_p = self.base.sketch()
        loss = self.forward(loss)
        if self._alone:
            loss, log_p = np.append(self._lowest, loss), np.append(np.log(self.base.p_minus), log_p)
        return Sketch(loss, log_p)

    def components(self) -> list[Component] | None:
        return _each(self.base, lambda part: part.thinned(self.p))

    def view(self) -> View:
        return View(self.base, self.forward, turned=False)

    def edge_error(self, edges: Array) -> Array:
        inner = np.clip(base_loss(self.share, edges), *self.base.span)
        off = base_loss_error(self.share, edges, inner) + super().edge_error(edges)
        return off + thinned_slope(self.share, inner, edges) * self.base.edge_error(inner)

    def _cells(self, edges: Array) -> Cells:
        (low, high), (base_low, base_high) = self.span, self.base.span
        found = np.clip(base_loss(self.share, edges), base_low, base_high)
        # Lose no sliver to rounding.
        inner = np.where(edges <= low, base_low, np.where(edges >= high, base_high, found))
        cells = self.base.cells(inner)
        # Q' - e^a' P = p (Q - e^a P), and e^-b' (e^b' P - Q') = p e^(b-b') (P - e^-b Q): an exponential, two
        # products, a sum, a quotient and the rounding of 1 - p, then a product, are 14 units.
        ratio = self.p / (self.p + (1 - self.p) * np.exp(np.minimum(-inner[1:], _LARGEST)))
        moved = position_slack(edges, base_loss_error(self.share, edges, inner))
        return Cells(self.p * cells.excess, ratio * cells.deficit, cells.slack + moved + 16 * UNIT)

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
    def lost(self) -> float:  # type: ignore[override]  # as above
        return self.base.lost

    @property
    def symmetric(self) -> bool:  # type: ignore[override]  # as above
        return self.base.symmetric

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
        # e^L moves by the error of the loss; a sum costs a unit of its terms.
        slack_q = slack + self.base.loss_error + (2 + np.abs(log_p) + np.abs(loss)) * UNIT
        return Atoms(-loss[::-1], (log_p + loss)[::-1], slack_q[::-1])

    @cached_property
    def loss_error(self) -> Array:
        return self.base.loss_error[::-1]

    @property
    def continuous(self) -> bool:
        return self.base.continuous

    def sketch(self) -> Sketch:
        loss, log_p = self.base.sketch()
        return Sketch(-loss[::-1], (log_p + loss)[::-1])

    def components(self) -> list[Component] | None:
        return _each(self.base, Component.reversed)

    @property
    def has_transform(self) -> bool:
        return self.base.has_transform if self.symmetric else super().has_transform

    def transform(self, c: float, digits: float) -> Transform | None:
        return self.base.transform(c, digits) if self.symmetric else super().transform(c, digits)

    def single_rounds(self, count: int) -> tuple[LossLaw, int]:
        law, n = self.base.single_rounds(count)
        return (self, count) if law is self.base else (Reversed(law), n)

    def view(self) -> View:
        base, forward, turned = self.base.view()
        return View(base, forward, turned=not turned)

    def edge_error(self, edges: Array) -> Array:
        return self.base.edge_error(-edges)

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
        return averaged((w, law.p_minus) for w, law in self.parts)

    @property
    def q_plus(self) -> float:  # type: ignore[override]  # as above
        return averaged((w, law.q_plus) for w, law in self.parts)

    @property
    def lost(self) -> float:  # type: ignore[override]  # as above
        return math.fsum(law.lost for _, law in self.parts)

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
        # The logarithm of a weight costs 8 units of itself and a sum one of its terms.
        added = [a.slack + UNIT * (1 + 9 * abs(log_w) + np.abs(a.log_p)) for a, log_w in every]
        slack = np.concatenate(added)
        order = np.argsort(loss, kind="stable")
        return Atoms(loss[order], log_p[order], slack[order])

    @cached_property
    def loss_error(self) -> Array:
        order = np.argsort(np.concatenate([law.atoms.loss for _, law in self.parts]), kind="stable")
        return np.concatenate([law.loss_error for _, law in self.parts])[order]

    @property
    def continuous(self) -> bool:
        return any(law.continuous for _, law in self.parts)

    def sketch(self) -> Sketch:
        points = [(law.sketch(), np.log(w)) for w, law in self.parts]
        loss = np.concatenate([s.loss for s, _ in points])
        log_p = np.concatenate([s.log_p + log_w for s, log_w in points])
        order = np.argsort(loss, kind="stable")
        return Sketch(loss[order], log_p[order])

    def components(self) -> list[Component] | None:
        each = [_each(law, partial(Component.weighted, weight=w)) for w, law in self.parts]
        known = [parts for parts in each if parts is not None]
        return [part for parts in known for part in parts] if len(known) == len(each) else None

    def edge_error(self, edges: Array) -> Array:
        each = [law.edge_error(edges) for _, law in self.parts if law.continuous]
        return np.asarray(super().edge_error(edges) + np.maximum.reduce([np.zeros_like(edges), *each]))

    def _cells(self, edges: Array) -> Cells:
        excess, deficit, slack = (np.zeros(len(edges) - 1) for _ in range(3))
        for weight, law in self.parts:
            if law.continuous:
                cells = law.cells(edges)
                excess += weight * cells.excess
                deficit += weight * cells.deficit
                slack = np.maximum(slack, cells.slack)
        return Cells(excess, deficit, slack + (len(self.parts) + 2) * UNIT)  # a product each, and their sum

    def description(self) -> dict[str, Any]:
        return {"kind": "mixed", "parts": [[w, law.description()] for w, law in self.parts]}


def _widest(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return min(low for low, _ in ends), max(high for _, high in ends)


def _each(law: LossLaw, change: Callable[[Component], Component]) -> list[Component] | None:
    inner = law.components()
    return None if inner is None else [change(part) for part in inner]
