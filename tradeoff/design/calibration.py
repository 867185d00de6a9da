"""Calibration: the number of a mechanism for which a target is just met, proved from both sides."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import MOST, count, number
from tradeoff.design.search import Search
from tradeoff.design.target import read_target
from tradeoff.display import Displayed, TextTable
from tradeoff.errors import DomainError, KindError, PrecisionError, called, shown
from tradeoff.intervals.bounds import Bounds

_FINEST = 1e-15  # of tolerances: steps of the proof are 0.4 of it, and floats up to 2.2e-16 apart


@dataclass(frozen=True, repr=False)
class Calibration(Displayed):
    """A number whose guarantee meets a target, and how near it is to the number where the target is crossed.

    Parameters
    ----------
    value
        The number: its guarantee is proved to meet the target.
    bounds
        From ``value`` to the nearest number found whose guarantee is proved not to meet the target, in order:
        the target is crossed between.
    achieved
        Bounds on the answer at ``value``; 1 for a target that is a curve, as the order holds. Where the usual
        answer is too wide to decide it was asked more narrowly, by ``tol`` of the question.
    evaluations
        How many numbers were tried.
    target
        The target in words.
    """

    value: float
    bounds: Bounds[float]
    achieved: Bounds[float]
    evaluations: int
    target: str

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        low, high = self.bounds
        return f"{self.value!r}: {self.target}, crossed in [{low!r}, {high!r}]"

    def grid(self) -> TextTable:
        both = {"crossed in": self.bounds, "answer there": self.achieved}
        bounds = [(name, f"[{low!r}, {high!r}]") for name, (low, high) in both.items()]
        return TextTable(
            [("value", repr(self.value)), *bounds, ("tried", str(self.evaluations))], head=self.target
        )


def calibrate(
    build: Callable[[Any], object],
    target: Mapping[str, Any],
    *,
    between: tuple[float, float] | None = None,
    integer: bool = False,
    tol: float = 1e-9,
) -> Calibration:
    """Find the number for which a guarantee just meets a target: noise, a sample rate, a count of steps.

    ``value`` is on the safe side, within ``bounds``. That the loss is monotone is not checked: without it,
    ``value`` still meets the target, and the target is still crossed within ``bounds``.

    Parameters
    ----------
    build
        Makes of a number a curve, a mechanism or a plan, whose loss rises, or falls, with the number; which
        of both is found out. Of a curve that is not symmetric both orders are asked.
    target
        ``{"epsilon", "delta"}`` (a loss in nats, a probability), ``{"mu", "failure"}`` (failure: 0 if left
        out), ``{"beta", "alpha"}`` (at least that type II error), ``{"advantage"}`` (of the best attack: the
        total variation distance), ``{"bayes_risk", "prior"}`` (at least that risk), or ``{"curve"}`` (at
        least that curve).
    between
        Two positive numbers of which one meets the target, integers from 0; if left out, they are found among
        those from 1e-12 to 1e12.
    integer
        Whether the number counts something: ``bounds`` then holds two neighbours, or those beside numbers
        that rounding leaves undecided, and ``value`` is the largest, or smallest, proved to meet the target.
    tol
        Width of ``bounds`` relative to their upper end, in (0, 1); more where the answers are known worse,
        or floats lie farther apart.

    Raises
    ------
    DomainError
        If the target is malformed, or no two numbers are found of which one meets it and one does not.
    KindError
        If ``build`` returns something without a guarantee, or ``integer`` is no truth value.

    Examples
    --------
    >>> import tradeoff as to
    >>> def training(sigma):
    ...     step = to.mechanisms.SubsampledGaussian(noise_multiplier=sigma, sample_rate=0.01)
    ...     return to.Plan({step: 1000})
    >>> noise = to.calibrate(training, {"epsilon": 1, "delta": 1e-6})
    >>> round(noise.value, 6), noise.achieved.upper <= 1, noise.bounds.width < 2e-9
    (1.562666, True, True)
    """
    if not callable(build) or isinstance(build, TradeOff):
        kind = "a curve" if callable(build) else "not callable"
        raise KindError(f"build = {shown(build)} is {kind}; give a function from a number to a curve")
    if not isinstance(integer, bool | np.bool_):
        raise KindError(f"integer = {shown(integer)} is neither True nor False")
    goal = read_target(target)
    tol = max(number("tol", tol, 0, 1, open_low=True, open_high=True), _FINEST)
    ends = None if between is None else _ends(between, integer=integer)
    width = [tol / 4]  # half a step of the proof, for a loss that is a power of the number

    def answer(x: float) -> Bounds[float]:
        """Bound the answer at a number as usual, and more narrowly where that decides nothing."""
        curve = _guarantee(build, int(x) if integer else x)
        result = goal.ask(curve, None)
        if goal.heeds and goal.met(result) is None:
            try:
                return goal.ask(curve, width[0])
            except PrecisionError:
                width[0] *= 8  # of the next such question: its number is farther from the crossing
        return result

    search = Search(goal, answer, tol, integer)
    met, unmet = search.run(ends)
    value = int(met.x) if integer else met.x
    low, high = sorted((value, int(unmet.x) if integer else unmet.x))
    asked = len(search.points) + len(search.walls)
    return Calibration(value, Bounds(low, high), goal.told(met.answer), asked, str(goal))


def _ends(between: Any, *, integer: bool) -> tuple[float, float]:
    """Return the two ends as floats, in order."""
    flat = isinstance(between, Sequence) or (isinstance(between, np.ndarray) and between.ndim == 1)
    if not flat or len(between) != 2:
        raise DomainError(f"between = {shown(between)} is no pair of numbers; give (low, high)")
    if integer:
        low, high = (float(count("between", end, 0, MOST)) for end in between)
    else:
        low, high = (number("between", end, 0, math.inf, open_low=True, open_high=True) for end in between)
    if not low < high:
        raise DomainError(f"between = {shown(between)} holds no numbers; give (low, high) with low < high")
    return low, high


def _guarantee(build: Callable[[Any], object], x: float) -> TradeOff:
    """Return the guarantee that ``build`` makes of a number, valid for both orders of a pair."""
    built = called("build", build, x)
    if isinstance(built, type):
        raise KindError(f"build({x!r}) is the class {built.__name__}; return one made of the number")
    for name in ("guarantee", "curve"):  # of plans and reports, of mechanisms, reductions and marginals
        result = getattr(built, name, None)
        built = result if isinstance(result, TradeOff) else result() if callable(result) else built
    try:
        return operand(built).symmetrise(assume="either-order")
    except KindError as error:
        raise KindError(f"{error}; build({x!r}) is to return a curve, a mechanism or a plan") from error
