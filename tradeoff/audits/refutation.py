"""Bounds on rates from counts, and the test of a claimed guarantee by data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincc, betainccinv

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import number
from tradeoff.display import Displayed, TextTable, exactly
from tradeoff.intervals.bounds import Array, Bounds, Index, decimal
from tradeoff.intervals.functions import log
from tradeoff.intervals.roots import largest

# Relative error charged to SciPy's incomplete beta: 700 times the worst that balls show, to 1e7 trials.
SLACK = 1e-10

MIN_TAIL = 2.0**-1000  # no p-value needs a smaller tail, and below 2^-1022 floats lose their digits

check_confidence = partial(number, "confidence", low=0, high=1, open_low=True, open_high=True)


def error_probability(confidence: float) -> float:
    """Return the probability of error 1 - confidence, rounded down."""
    return float((1 - Bounds.of(confidence)).lower)


def bound_tail(count: ArrayLike, trials: int, rate: ArrayLike) -> Array:
    """Bound P(K <= count), K ~ Bin(trials, rate), from above: it is 1 - I_rate(count + 1, trials - count)."""
    inner = np.minimum(np.asarray(count, dtype=float), trials - 1)
    value = betaincc(inner + 1, trials - inner, np.asarray(rate, dtype=float))
    return np.where(np.asarray(count) >= trials, 1.0, np.clip(value * (1 + SLACK), MIN_TAIL, 1.0))


def largest_rate(count: ArrayLike, trials: int, level: ArrayLike) -> Array:
    """Return the largest rate at which P(at most ``count`` successes) >= ``level``, rounded up.

    The one-sided limit of Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the
    case of the binomial", 1934. The inverse is only a candidate: it is verified by the tail, and 1 otherwise.
    """
    level = np.asarray(level, dtype=float)
    inner = np.minimum(np.asarray(count, dtype=float), trials - 1)  # the formula is for count < trials
    # The inverse stops where the tail is within about 1e-9 of the level: it is given one below.
    rate = np.minimum(betainccinv(inner + 1, trials - inner, level * (1 - 1e-6)), 1.0)
    return np.where((np.asarray(count) < trials) & (bound_tail(inner, trials, rate) <= level), rate, 1.0)


def spaced_counts(trials: int) -> Index:
    """Return the numbers of rejected null scores at which tests are set, closest at both ends."""
    counts = [0]
    while counts[-1] < trials // 2:  # an eighth apart, which costs less than more tests would
        counts.append(counts[-1] + max(1, counts[-1] // 8))
    low = np.array(counts)
    low = low[low < trials]
    return np.unique(np.concatenate([low, trials - 1 - low]))


def joint_level(chance: float) -> float:
    """Return a t, rounded down, with P(p q <= t) <= chance for two p-values, one valid given the other."""
    return largest(lambda t: joint_p_value(t) <= chance, 0.0, chance)


def joint_p_value(product: float) -> float:
    """Return the p-value t (1 - log t) of the product of two, rounded up.

    "Statistical methods for research workers", Fisher 1932, for two p-values.
    """
    t = Bounds.of(max(product, MIN_TAIL))
    return min(float((t * (1 - log(t))).upper), 1.0)


@dataclass(frozen=True, repr=False)
class Refutation(Displayed):
    """Outcome of testing the claim f >= ``claim``; true where the data refute it.

    Parameters
    ----------
    claim : the curve that was tested
    p_value : while the claim holds, it is at most p with probability at most p, for any law of the data
    confidence : the claim is refuted where the p-value is at most 1 - confidence
    at : type I error at which the data contradict the claim most; None for counts
    threshold : score at or above which the deciding test rejects; None for counts
    assumptions : statements under which the p-value is valid

    Examples
    --------
    >>> import tradeoff as to
    >>> refutation = to.audits.one_run(correct=90, guesses=100, canaries=1000).refutes(to.PureDP(1.0))
    >>> bool(refutation), refutation.p_value < 1e-3
    (True, True)
    """

    claim: TradeOff
    p_value: float
    confidence: float
    at: float | None = None
    threshold: float | None = None
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        operand(self.claim)
        number("p_value", self.p_value, 0, 1)
        object.__setattr__(self, "confidence", check_confidence(self.confidence))

    def __bool__(self) -> bool:
        return bool(self.p_value <= error_probability(self.confidence))

    def grid(self) -> TextTable:
        given = {"type I error tested": self.at, "scores rejected above": self.threshold}
        where = [(name, f"{value:.4g}") for name, value in given.items() if value is not None]
        rows = [("p-value", decimal(self.p_value, ".4g", up=True)), *where]
        verdict = "refuted" if self else "not refuted"
        head = f"f >= {self.claim!r} is {verdict} at confidence {exactly(self.confidence)}"
        return TextTable(rows, head=head, notes=[f"assuming that {each}" for each in self.assumptions])


def tabulate_limits(
    head: str, limits: dict[str, float], notes: Iterable[str], exchanged: Callable[[], float], remedy: str
) -> TextTable:
    """Return the table of an audit; if it shows no loss, add the mu that exchanged data would show."""
    rows = [
        (f"  {name} ≥ {decimal(least, '.4g', up=False)}" if least > 0 else f"  {name}: nothing shown",)
        for name, least in limits.items()
    ]
    notes = list(notes)
    if not any(least > 0 for least in limits.values()):
        notes.append("no privacy loss is shown: any mechanism has these bounds")
        if (mu := exchanged()) > 0:
            notes.append(f"exchanged they show μ ≥ {decimal(mu, '.4g', up=False)}: {remedy}")
    return TextTable(rows, head=head, notes=notes)


def claimed(claim: Any) -> TradeOff:
    """Return a curve as it is; of any other object its ``guarantee``, or else ``curve``, for both orders."""
    stated: Any = claim
    if not isinstance(claim, TradeOff | type):
        stated = getattr(claim, "guarantee", None) or getattr(claim, "curve", claim)
    # ``operand`` raises for a claim that is neither. Those of plans and mechanisms are methods.
    curve = operand(stated if stated is claim or isinstance(stated, TradeOff) else stated())
    curve.require_numbers()
    return curve if stated is claim else curve.symmetrise(assume="either-order")
