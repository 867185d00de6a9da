"""What to ask of operands, so that their answers imply that of an operator.

A supremum needs a place where it is nearly reached: for beta a slope, for delta a level. Both are looked for
with numbers of the engines; being off by h costs h^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from tradeoff.certificates.certificate import Certificate, Description, Question
from tradeoff.curves.contract import TradeOff
from tradeoff.errors import NoClosedForm, PrecisionError
from tradeoff.intervals.rounding import UNIT
from tradeoff.operators.group import Group
from tradeoff.operators.mixture import Mixture
from tradeoff.operators.pointwise import HullOfMinimum, Maximum
from tradeoff.operators.subsample import Subsampled

Ask = Callable[[TradeOff, Question, float], Certificate]  # certify an answer, which is kept
_STEPS = np.arange(-2.0, 3.0)  # places of a descent, in paces about the best so far
_MOST_STEPS, _CLOSE = 80, 1e-6  # when a descent ends: at a pace that costs its square, or itself about a kink
_NOISE = 1e-5  # widths of what a descent compares
_FARTHEST = 600.0  # losses looked at: e^600 and e^-600 are floats
_SMALLEST = 1e-300  # levels asked are in (0, 1)
_TOP = float(logit(_SMALLEST))  # the level looked at that is smallest, as its log-odds
_APART = 1e-5  # losses between which a level is taken as a difference quotient of delta

# Most neighbours of a group of what has a law, each a line and two levels; of operators a sixteenth.
_NEIGHBOURS = 64

_ATTEMPTS = 12  # times that an end of an epsilon is moved outwards, by what delta lacks there over its slope
_CLOSER = 1e-5  # width of an epsilon that is certified


class Parts:
    """An operator, and how its answers are asked: ``ask`` is set by who asks."""

    ask: Ask
    kind: str
    changes_laws = False
    """Whether laws of its operands give it one."""
    plain: tuple[Question, ...] = ()
    """What is asked of it by the same question to each operand."""

    def __init__(self, curve: Any) -> None:
        self.curve = curve
        self.operands: tuple[TradeOff, ...] = curve.operands
        self.parameters: Description = {}

    def asked(self, question: Question, value: float) -> None:
        """Ask what implies an answer."""
        if question not in self.plain:
            getattr(self, question)(value)
            return
        for f in self.operands:
            self.ask(f, question, value)

    def mu(self, failure: float) -> None:
        raise NoClosedForm(f"mu at failure = {failure!r} is certified of no {self.kind}; ask gdp() instead")

    def epsilon(self, delta: float) -> None:
        """Ask delta at both ends of the engine's answer, moved outwards until they enclose it."""
        for end, sign in zip(self.ends(delta), (-1.0, 1.0), strict=True):
            self._enclosed(delta, end, sign)

    def _enclosed(self, delta: float, x: float, sign: float) -> None:
        """Ask delta beside an end until it is proved to be one, below (-1) or above (1)."""
        for k in range(_ATTEMPTS if math.isfinite(x) else 0):
            found = self.ask(self.curve, "delta", x)
            lacks = found.upper - delta if sign > 0 else delta - found.lower
            if lacks < 0 or (lacks == 0 and sign > 0):
                break
            steep, size = max(_ratio(x) * sum(levels_at(self.curve, x)) / 2, _SMALLEST), 1 + abs(x)
            x += sign * max(min(2 * lacks / steep, size), 2.0**k * 8 * UNIT * size)

    def ends(self, delta: float) -> tuple[float, float]:
        """Return epsilon(delta), about."""
        try:
            found = self.curve.bounds.epsilon(delta, tol=_CLOSER)
        except PrecisionError:
            found = self.curve.bounds.epsilon(delta)
        return float(found.lower), float(found.upper)


class OfMinimum(Parts):
    """The hull of the least."""

    kind = "minimum"
    plain = ("delta", "epsilon", "mu")

    def beta(self, alpha: float) -> None:
        """Ask for the line that touches at alpha, and for the tests that it touches."""
        x = slope_at(self.curve, alpha)
        line = 1 - max(self.ask(f, "delta", x).upper for f in self.operands) - math.exp(x) * alpha
        least = min(self.operands, key=lambda f: f.bounds(alpha).upper)
        if self.ask(least, "beta", alpha).upper > line * (1 + _APART):
            for f in self.operands:
                for level in levels_at(f, x):
                    self.ask(f, "beta", level)


class OfMaximum(Parts):
    """The largest."""

    kind = "maximum"
    plain = ("beta",)

    def delta(self, x: float) -> None:
        """Ask for the test that does best at e^x, and for the lines through it."""
        if abs(x) > _FARTHEST:  # where any line says as much
            self.ask(self.operands[0], "delta", x)
            return
        least = min(self.operands, key=lambda f: f.bounds.delta(x).upper)
        alpha = levels_at(least, x)[0]
        if least.bounds(alpha).upper < self.curve.bounds(alpha).lower:  # another is better there
            alpha = level_at(self.curve, x, [level for f in self.operands for level in levels_at(f, x)])
        best = 1 - max(self.ask(f, "beta", alpha).upper for f in self.operands) - math.exp(x) * alpha
        if self.ask(least, "delta", x).upper > best * (1 + _APART):
            for f in self.operands:
                self.ask(f, "delta", slope_at(f, alpha))


class OfMixture(Parts):
    """One of several, which is named."""

    kind = "mixture"
    changes_laws = True
    plain = ("delta",)

    def __init__(self, curve: Any) -> None:
        super().__init__(curve)
        self.parameters = {"weights": list(curve.weights)}

    def ends(self, delta: float) -> tuple[float, float]:
        """Solve the sum, between the epsilons of its terms."""
        each = [float(f.epsilon(delta)) for f in self.operands]
        low, high = max(min(each), -_FARTHEST), min(max(each), _FARTHEST)

        def misses(x: float) -> float:
            return float(_about(self.curve.bounds.delta, x)) - delta

        if not misses(low) > 0 > misses(high):
            return super().ends(delta)
        root = brentq(misses, low, high, xtol=_CLOSER)
        return root, root

    def beta(self, alpha: float) -> None:
        """Ask for the line that touches at alpha, and for tests of that slope whose levels make alpha."""
        x = slope_at(self.curve, alpha)
        self.asked("delta", x)
        (least, most), weights = np.transpose([levels_at(f, x) for f in self.operands]), self.curve.weights
        room = float(np.dot(weights, most - least))
        share = min(max((alpha - float(np.dot(weights, least))) / room, 0.0), 1.0) if room > 0 else 0.0
        levels = least + share * (most - least)
        # What is left of alpha, and of a rounding, is in proportion.
        levels *= alpha / float(np.dot(weights, levels)) * (1 - 64 * UNIT)
        for f, level in zip(self.operands, np.clip(levels, _SMALLEST, 1 - UNIT), strict=True):
            self.ask(f, "beta", float(level))


class OfGroup(Parts):
    """k neighbours."""

    kind = "group"

    def __init__(self, curve: Any) -> None:
        super().__init__(curve)
        self.parameters = {"k": int(curve.k)}

    def asked(self, question: Question, value: float) -> None:
        f, k = self.operands[0], self.curve.k
        most = _NEIGHBOURS if parts_of(f) is None else _NEIGHBOURS // 16
        if k > most:
            raise NoClosedForm(
                f"a group of k = {k} takes minutes to certify, above {most}; "
                "certify curve.lower and curve.upper instead"
            )
        super().asked(question, value)

    def beta(self, alpha: float) -> None:
        """Ask f along the way of a type I error, at both ends of what is known of it."""
        f, most, least = self.operands[0], alpha, alpha
        for _ in range(self.curve.k):
            if 0 < most < 1:
                most = math.nextafter(1 - self.ask(f, "beta", most).lower, 2.0)
            if 0 < least < 1:
                least = math.nextafter(1 - self.ask(f, "beta", least).upper, 0.0)

    def delta(self, x: float) -> None:
        """Ask for the lines of f on the way of a type I error whose slopes make e^x, and for that test."""
        f, k = self.operands[0], self.curve.k
        if abs(x) > _FARTHEST:  # where nothing is certified but that delta is a mass
            return
        middle = float(logit(levels_at(f, x / k)[0]))

        def lacks(t: float) -> float:
            return math.fsum(self._slopes(t, x / k)) - x

        low, high = middle, middle
        while lacks(high) > 0 and high < -_TOP:
            high += max(1.0, high - middle)
        while lacks(low) < 0 and low > _TOP:
            low -= max(1.0, middle - low)
        t = brentq(lacks, low, high, xtol=_CLOSE) if lacks(low) > 0 > lacks(high) else middle
        # At a corner of f any slope between its lines will do: those on either side are mixed.
        slopes, flat = (np.array(self._slopes(t + off, x / k)) for off in (-2 * _CLOSE, 2 * _CLOSE))
        fall = math.fsum(slopes - flat)
        share = min(max((math.fsum(slopes) - x) / fall, 0.0), 1.0) if fall > 0 else 0.0
        slopes += share * (flat - slopes)
        slopes += (x - math.fsum(slopes)) / k
        slopes -= 4 * UNIT * (1 + np.abs(slopes).max()) * np.arange(1, k + 1)  # each a line of its own
        for each in slopes:
            self.ask(f, "delta", float(each))
        self.beta(float(np.clip(expit(t), _SMALLEST, 1 - UNIT)))

    def _slopes(self, t: float, start: float) -> list[float]:
        """Return the slopes of f on the way of a type I error, each on its line."""
        f, level, found = self.operands[0], float(expit(t)), list[float]()
        for _ in range(self.curve.k):
            found.append(slope_at(f, level, start))
            level = min(float(_about(f.bounds.delta, found[-1])) + math.exp(found[-1]) * level, 1.0)
        return found


class OfSubsampled(Parts):
    """Poisson subsampling of what is no single law, or at a rate that is no float."""

    def __init__(self, curve: Any) -> None:
        super().__init__(curve)
        self.changes_laws = isinstance(curve.p, float)  # not where two laws are about one rate
        self.parameters = {"p": curve.p if self.changes_laws else str(curve.p)}
        self.kind = "thinned"
        if curve.flipped:
            self.kind, self.operands = "turned", (self.operands[0].inverse(),)

    def delta(self, x: float) -> None:
        """Ask for delta at either float beside the loss of the base."""
        p, sign = self.curve.rate.upper, -1.0 if self.curve.flipped else 1.0
        inner = (math.expm1(min(sign * x, _FARTHEST)) + p) / p
        if 0 < inner < math.inf:
            y = sign * math.log(inner)
            off = 16 * UNIT * (1 + abs(y) + 1 / (p * inner))
            for at in (y - off, y + off):
                self.ask(self.operands[0], "delta", at)

    def beta(self, alpha: float) -> None:
        if not self.curve.flipped:
            self.ask(self.operands[0], "beta", alpha)
            return
        g, p = self.operands[0], float(self.curve.rate.upper)

        def missed(u: float, to: float) -> float:
            return p * u + (1 - p) * (1 - float(g.bounds(u).mid)) - to

        def at(to: float) -> Certificate | None:
            if not missed(_SMALLEST, to) < 0 < missed(1.0, to):
                return None
            return self.ask(g, "beta", brentq(missed, _SMALLEST, 1.0, args=(to,), xtol=_SMALLEST))

        if (middle := at(alpha)) is not None:
            width = max(2 * (middle.upper - middle.lower), 64 * UNIT * alpha)
            at(alpha - width), at(alpha + width)


def parts_of(curve: TradeOff) -> Parts | None:
    """Return how a curve is asked by parts, if its answers follow from those of operands."""
    return next((way(curve) for operator, way in _WAYS.items() if isinstance(curve, operator)), None)


_WAYS: dict[type[TradeOff], type[Parts]] = {
    HullOfMinimum: OfMinimum,
    Maximum: OfMaximum,
    Mixture: OfMixture,
    Group: OfGroup,
    Subsampled: OfSubsampled,
}


def slope_at(curve: TradeOff, alpha: float, start: float | None = None) -> float:
    """Return the loss x at which delta(x) + e^x alpha is least, about."""

    def value(x: Any) -> Any:
        return _about(curve.bounds.delta, x) + np.exp(x) * alpha

    begun = float(curve.epsilon(alpha)) if start is None else start
    return _descended(value, min(max(begun, -_FARTHEST), _FARTHEST))


def level_at(curve: TradeOff, x: float, starts: Sequence[float]) -> float:
    """Return the level alpha at which f(alpha) + e^x alpha is least, about, from the best start."""

    def value(t: Any) -> Any:
        alpha = np.clip(expit(t), _SMALLEST, 1 - UNIT)
        return _about(curve.bounds, alpha) + np.exp(x) * alpha

    begun = logit(np.array(starts))
    best = float(begun[np.argmin(value(begun))])
    return float(np.clip(expit(_descended(value, best)), _SMALLEST, 1 - UNIT))


def _ratio(x: float) -> float:
    """Return e^x, or that of the farthest loss looked at."""
    return math.exp(min(max(x, -_FARTHEST), _FARTHEST))


def _about(asked: Any, at: Any) -> Any:
    """Return upper bounds that are close, or as close as can be had."""
    try:
        return asked(at, tol=_NOISE).upper
    except PrecisionError:
        return asked(at).upper


def _descended(value: Callable[[Any], Any], at: float) -> float:
    """Return where a function that falls and rises is least."""
    pace = 0.5
    for _ in range(_MOST_STEPS):
        places = np.clip(at + pace * _STEPS, -_FARTHEST, _FARTHEST)
        heights = value(places)
        k = int(np.flatnonzero(heights == heights.min())[-1])  # far on the left all are alike
        at, pace = float(places[k]), pace * (2.0 if k in {0, len(places) - 1} else 0.25)
        if pace < _CLOSE:
            break
    return at


def levels_at(f: TradeOff, x: float) -> tuple[float, float]:
    """Return about where f has slope -e^x: between which levels, where it has a line there."""
    off = np.array([_APART, 0.0, -_APART])
    slopes = np.diff(f.bounds.delta(x + off).upper) / -np.diff(np.expm1(off)) / _ratio(x)
    least, most = np.clip(slopes, _SMALLEST, 1 - UNIT)
    return float(min(least, most)), float(max(least, most))
