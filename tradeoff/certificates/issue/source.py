"""How an answer is reduced to pointwise claims, and who makes them: contours, lattices, sums, formulas."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any, Literal

import mpmath
import numpy as np

from tradeoff.certificates.certificate import Claim, Quantity, Question
from tradeoff.certificates.conclusion import DIGITS, gain, implied
from tradeoff.composition import exact
from tradeoff.composition.conjugate import Kind
from tradeoff.composition.lattice.engine import Order
from tradeoff.composition.lattice.place import Effort, first_effort
from tradeoff.composition.planner import Composition
from tradeoff.curves.contract import TradeOff
from tradeoff.errors import PrecisionError
from tradeoff.intervals.rounding import UNIT
from tradeoff.limits.berry_esseen import BerryEsseen, berry_esseen
from tradeoff.loss.cumulant import Cumulant, epsilon_for_alpha, log_delta_for_epsilon

_ATTEMPTS = 8  # most times that samples are moved, spread or drawn closer
_SAME = 3  # times that a peak not yet fenced in is only moved to, before samples spread

# Losses sampled at most: e^600 and e^-600 are floats, and so are their products with masses.
_FARTHEST = 600.0

_GONE = -800.0  # logarithm of a delta that no float holds: e^-745 is the least one
_PACE = 1e-2  # between samples at first, over the spread of a loss or 1
LARGEST = 1e30  # losses beyond which balls of some hundred bits know no e^L, and no power of it

# Samples about a supremum, in paces: close where it is looked for, far enough to fence it in.
OFFSETS = np.array([-64.0, -16, -6, -3, -2, -1, 0, 1, 2, 3, 6, 16, 64])

_HALF = math.log(0.3)  # deltas below 0.3 come from the tail strip, whose relative accuracy they need
_FINER = 8.0  # how much finer the next lattice is: a width falls by about as much
_REFINEMENTS = 4  # most lattices drawn for one claim, 8^3 = 512 times finer in the end

# What masses are written to in each round: logarithms down to -30 in floats; fainter masses add little.
_WRITTEN = 64 * UNIT

# Bands of the central limit theorem, by the methods that ask for them.
BANDS: dict[str, Callable[[TradeOff], BerryEsseen]] = {"berry-esseen": berry_esseen}

# Shares of its width and of itself by which a claim is wider than a band, as thresholds that prove it are
# found to 1e-12, and of 1 + |epsilon|, where delta has moved by more than that.
_ROOM, _FOUND, _BESIDE = 1e-9, 1e-12, 1e-6


class Source(ABC):
    """One way to prove bounds on delta at given losses."""

    method: str
    engine: Any
    tol: float | None = None

    @property
    def cumulant(self) -> Cumulant:
        """The cumulant function of the product."""
        cumulant: Cumulant = self.engine.cumulant
        return cumulant

    def guess(self, question: Question, value: float) -> tuple[float, float]:
        """Return an answer; its claims are still to be proved."""
        low, high = self.engine.answer(question, np.array([value]), self.tol)
        return float(low[0]), float(high[0])

    @abstractmethod
    def points(self, at: Sequence[float], *, steep: bool = False) -> list[Claim]:
        """Claim bounds on delta at neighbouring losses; ``steep`` lets the other order speak below 0."""

    def claims(self, question: Question, value: float, tol: float) -> list[Claim]:
        """Return claims that imply an answer, as narrow as the engine's."""
        if question == "delta":
            return self.points([self._near(value)])
        return self._epsilon(value) if question == "epsilon" else self._beta(value, tol)

    def _near(self, value: float) -> float:
        """Return a loss that tells as much of delta: halved while no float holds the delta of that."""
        while value > _FARTHEST and log_delta_for_epsilon(self.cumulant, value / 2) < _GONE:
            value /= 2
        return value

    def _epsilon(self, value: float) -> list[Claim]:
        """Claim at both ends of the engine's answer, moved outwards where rounding undid the claim."""
        low, high = self.guess("epsilon", value)
        for attempt in range(_ATTEMPTS):
            ends = [end for end in (low, high) if math.isfinite(end)]
            claims = self.points(ends) if ends else []
            found = implied("epsilon", value, claims)
            if tuple(map(math.isfinite, found)) == (math.isfinite(low), math.isfinite(high)):
                return claims
            more = 2.0**attempt * max(
                abs(high - low) / 4 if len(ends) > 1 else 0.0,
                8 * UNIT * (1 + max(map(abs, ends), default=0.0)),
            )
            low, high = low - more, high + more
        raise PrecisionError(
            f"no claims enclose epsilon at delta = {value!r}; leave method out, or ask a wider tol", math.inf
        )

    def _beta(self, alpha: float, tol: float) -> list[Claim]:
        """Sample 1 - delta(log s) - s alpha about its supremum, closer until the bounds are narrow enough."""
        x, pace = epsilon_for_alpha(self.cumulant, alpha), _PACE * min(1.0, self.cumulant.spread)
        best: tuple[float, list[Claim]] = (math.inf, [])
        for attempt in range(_ATTEMPTS):
            claims = self.points(list(np.clip(x, -_FARTHEST, _FARTHEST) + pace * OFFSETS), steep=True)
            with mpmath.workdps(DIGITS):
                low, high = map(mpmath.mpf, implied("beta", alpha, claims))
                width = float((high - low) / max(min(high, 1 - alpha - low), mpmath.mpf("1e-320")))
                fenced = high < 1 - mpmath.mpf(alpha)
                x, peaked = _top(claims, alpha)
            best = min(best, (width, claims), key=lambda pair: pair[0])
            if width <= tol / 2:
                break
            if fenced:
                pace *= max(min(0.5, math.sqrt(tol / width) / 2), 1e-2)
            elif not peaked or attempt >= _SAME:  # a peak not fenced in is only off the middle of the samples
                pace *= 2.0
        return best[1]


def _top(claims: Sequence[Claim], alpha: float) -> tuple[float, bool]:
    """Return the top of the parabola through the best sample and its neighbours, and whether there is one."""
    gains = sorted((gain(claim, alpha) for claim in claims), key=itemgetter(0))
    at, value = [x for x, *_ in gains], [(mpmath.mpf(low) + mpmath.mpf(high)) / 2 for *_, low, high in gains]
    k = max(range(len(value)), key=value.__getitem__)
    if k in {0, len(at) - 1}:
        return at[k], False
    left, right = at[k - 1] - at[k], at[k + 1] - at[k]
    down, up = value[k - 1] - value[k], value[k + 1] - value[k]
    bend = right * down - left * up
    return (float(at[k] + (right**2 * down - left**2 * up) / (2 * bend)) if bend != 0 else at[k]), True


class Lines(Source):
    """Claims about one composition from its contours."""

    method = "contour"

    def __init__(self, composition: Composition, tol: float | None) -> None:
        self.engine = composition.contour
        self.tol = tol
        self.largest = max(abs(end) for law in composition.laws for end in law.support)

    def points(self, at: Sequence[float], *, steep: bool = False) -> list[Claim]:
        if self.largest > LARGEST:
            raise PrecisionError(
                f"losses of {self.largest:g} are above {LARGEST:g}, beyond which no contour is verified; "
                "leave method out",
                math.inf,
            )
        contour, x = self.engine, float(at[len(at) // 2])
        far = x >= 0 and log_delta_for_epsilon(self.cumulant, x) < _HALF
        other = steep and x < 0 and log_delta_for_epsilon(contour.backward.cumulant, -x) < _HALF
        kind: Kind = "delta" if far else "other" if other else "rest"
        lines, sign = (contour.backward, -1) if other else (contour.forward, 1)
        cost = contour.first("delta", self.tol)._replace(share=1.0)
        line = lines.enclose(kind, float(lines.anchors(kind, np.array([sign * x]))[0]), cost)
        if line is None:
            raise PrecisionError(f"no contour could be drawn at epsilon = {x!r}; leave method out", math.inf)
        quantity: Quantity = "1 - delta" if kind == "rest" else "delta"
        low, high = line.small(np.array(at, dtype=float))
        moved = [sign * float(each) for each in at]
        bounds = zip(moved, low.tolist(), np.minimum(high, 1.0).tolist(), strict=True)
        return [Claim(quantity, sign < 0, *each) for each in bounds]


class Lattices(Source):
    """Claims about one composition from its lattices."""

    method = "lattice"

    def __init__(self, composition: Composition, tol: float | None, goal: float) -> None:
        self.engine = composition.tables
        self.tol, self.goal = tol, goal

    def points(self, at: Sequence[float], *, steep: bool = False) -> list[Claim]:
        x = float(at[len(at) // 2])
        reverse = x < 0
        order = self.engine.backward if reverse else self.engine.forward
        if not order.representable:
            raise PrecisionError("the losses are too large for a lattice; leave method out", math.inf)
        sign = -1.0 if reverse else 1.0
        effort = first_effort(len(order.laws), self.tol)
        for _ in range(_REFINEMENTS):
            claims, final = self._drawn(order, [sign * float(each) for each in at], effort, reverse=reverse)
            if final or max((c.upper - c.lower) / c.upper for c in claims if c.upper > 0) <= self.goal:
                break
            effort = effort._replace(width=effort.width / _FINER)
        return claims

    def _drawn(
        self, order: Order, at: Sequence[float], effort: Effort, *, reverse: bool
    ) -> tuple[list[Claim], bool]:
        """Return claims from one lattice, and whether memory allows no finer one."""
        aim = order.anchors(np.array([abs(at[len(at) // 2])]))  # nearby claims are of one table
        table = order.at(float(aim[0]), effort)
        if table is None:
            raise PrecisionError("the losses lie too far apart for a lattice; leave method out", math.inf)
        low, high = table.delta(np.array(at))
        bounds = zip(at, low.tolist(), np.minimum(high, 1.0).tolist(), strict=True)
        return [Claim("delta", reverse, *each) for each in bounds], table.room <= 1


class Direct(Source):
    """Claims of what answers delta and beta at any point."""

    def points(self, at: Sequence[float], *, steep: bool = False) -> list[Claim]:
        return [self._claim("delta", float(x)) for x in at]

    def _beta(self, alpha: float, tol: float) -> list[Claim]:
        return [self._claim("beta", alpha)]

    def _claim(self, question: Literal["delta", "beta"], at: float) -> Claim:
        """Claim an answer to a float beyond either side: balls never prove that numbers are equal."""
        low, high = self.guess(question, at)
        low, high = max(np.nextafter(low, -1.0), 0.0), min(np.nextafter(high, 2.0), 1.0)
        return Claim(question, False, at, float(low), float(high))


class Adding(Direct):
    """Claims from all atoms of a product."""

    method = "exact"

    def __init__(self, sums: exact.ExactEngine, rounds: int) -> None:
        self.engine, self.rounds = sums, rounds

    def guess(self, question: Question, value: float) -> tuple[float, float]:
        low, high = super().guess(question, value)
        if question == "epsilon":
            return low, high
        off = _WRITTEN * self.rounds * (high if question == "delta" else self._moved(value, high))
        return max(low - off, 0.0), high + off

    def _moved(self, alpha: float, high: float) -> float:
        """Bound what beta moves by for each unit that all masses are off by.

        Those accepted under Q move it by a unit of themselves, and those rejected under P by a unit of alpha
        times the slope, which is at most f(alpha/2)/(alpha/2).
        """
        return high + 2 * super().guess("beta", alpha / 2)[1]


class Formulas(Direct):
    """Claims of what answers at once: the closed form of one curve."""

    def __init__(
        self, method: str, composition: Composition, beta: Any, profile: Any, top: float = 0.0
    ) -> None:
        self.method, self.composition, self.beta, self.profile = method, composition, beta, profile
        self.most = LARGEST if LARGEST < top < math.inf else math.inf

    @cached_property
    def cumulant(self) -> Cumulant:
        laws, counts = self.composition.laws, self.composition.counts
        return Cumulant([(law.sketch(), n) for law, n in zip(laws, counts, strict=True)])

    def points(self, at: Sequence[float], *, steep: bool = False) -> list[Claim]:
        if max(map(abs, at)) > self.most:
            raise PrecisionError(f"no losses above {LARGEST:g} are verified; leave method out", math.inf)
        return super().points(at)

    def guess(self, question: Question, value: float) -> tuple[float, float]:
        bounds = self.beta(value) if question == "beta" else getattr(self.profile, question)(value)
        return float(bounds.lower), float(bounds.upper)


class Limit(Formulas):
    """Claims of a band about one product, a little wider."""

    def __init__(self, curve: TradeOff, composition: Composition, method: str) -> None:
        band = BANDS[method](curve)
        super().__init__(method, composition, band.bounds, band)

    def guess(self, question: Question, value: float) -> tuple[float, float]:
        low, high = super().guess(question, value)
        if question == "epsilon":
            return low - _BESIDE * (1 + abs(low)), high + _BESIDE * (1 + abs(high))
        room = _ROOM * (high - low)
        return low * (1 - _FOUND) - room, high * (1 + _FOUND) + room
