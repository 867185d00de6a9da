"""Audits in one training run: what guesses at which canaries were included say of the guarantee."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.special import expit, ndtr, ndtri

from tradeoff.audits.rates import sure
from tradeoff.audits.refutation import Refutation, allowance, both_orders, claimed
from tradeoff.curves.parameters import MOST, count, number
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.display import Displayed, TextTable, exactly
from tradeoff.intervals.binomial import log_pmf
from tradeoff.intervals.bounds import Bounds, decimal
from tradeoff.intervals.roots import find_root, largest
from tradeoff.intervals.rounding import UNIT, up

_MOST_GUESSES = 10**7  # guesses of which a p-value takes tens of milliseconds, and a bound seconds

# What is not summed of a binomial law, which no p-value needs, and half of log(2/1e-300), rounded up.
_RAREST, _FAR = 1e-300, 346.0

_STEEPEST = 512.0  # losses and shifts beyond are not searched: no number of guesses refutes them
_CLOSE = 1e-10  # width to which epsilon is searched, in nats
_HALVINGS = 40  # halvings for ten digits of a p-value of any size, and of mu
_LOSSES = 32  # losses of a claimed profile that are tested; the p-value changes little between them

# Below -37 Phi counts as 0; above, Phi(Phi^-1(x) - mu) misses by 40 (16 + 600 + 6 mu + 80) units or less.
_DEEPEST, _NORMAL = 37.0, 1e-10

_LARGEST_P = 0.87  # below the least sum for which Corollary 5.4 is known to fail, 7/8 (see p_value)

# Room for the few roundings of one step of a recursion among positive numbers.
_DOWN, _UP = 1 - 8 * UNIT, 1 + 8 * UNIT


@dataclass(frozen=True, repr=False)
class OneRun(Displayed):
    """Guesses at the coins that included canaries or left them out, and how many were right.

    Parameters
    ----------
    correct, guesses, canaries, delta, confidence
        As ``one_run`` takes them.

    Notes
    -----
    All three statements bound the same chance, that of at least ``correct`` right guesses; so each may be
    asked at every parameter, and the smallest p-value of a claim is one.
    """

    correct: int
    guesses: int
    canaries: int
    delta: float = 0.0
    confidence: float = 0.95

    def __post_init__(self) -> None:
        canaries = count("canaries", self.canaries, 1, MOST)
        guesses = count("guesses", self.guesses, 0, min(canaries, _MOST_GUESSES))
        for name, value in (
            ("canaries", canaries),
            ("guesses", guesses),
            ("correct", count("correct", self.correct, 0, guesses)),
            ("delta", number("delta", self.delta, 0, 1)),
            ("confidence", sure(self.confidence)),
        ):
            object.__setattr__(self, name, value)

    @cached_property
    def epsilon(self) -> float:
        """Return a lower bound on the epsilon >= 0 of (epsilon, delta)-DP, in nats, at the confidence."""
        error = allowance(self.confidence)
        if not self.delta < 1 or self.p_value(0.0) > error:
            return 0.0
        high = 1.0
        while high < _STEEPEST and self.p_value(high) <= error:
            high *= 2
        result = find_root(lambda e: math.log(self.p_value(e) / error), 0.0, high, _CLOSE)
        step = _CLOSE
        while result > 0 and self.p_value(result) > error:
            result, step = result - step, 2 * step
        return max(result, 0.0)

    @cached_property
    def mu(self) -> float:
        """Return a lower bound on every mu of mu-GDP, at the confidence."""
        error = allowance(self.confidence)

        def refuted(mu: float) -> bool:
            return self._impossible(partial(_gaussian, mu), error)

        if not refuted(0.0):
            return 0.0
        high = 1.0
        while high < _STEEPEST and refuted(high):
            high *= 2
        return largest(refuted, 0.0, high, _HALVINGS)

    def p_value(self, epsilon: float, delta: float | None = None) -> float:
        """Bound the chance of at least so many right guesses under (epsilon, delta)-DP from above.

        Parameters
        ----------
        epsilon
            Loss in nats, at least 0.
        delta
            Probability in [0, 1]; default: the audit's.

        Notes
        -----
        P(W >= v) + 2 m delta max_i P(v - i <= W < v)/i for W ~ Bin(guesses, 1/(1 + e^-epsilon)), v right
        guesses and m canaries: "Privacy auditing with one (1) training run", Steinke, Nasr, Jagielski 2023,
        Corollary 5.4 and the code of Appendix D in arXiv:2305.08846. Numbers of wrong guesses farther than w
        from their mean have probability 2 e^(-2 w^2/guesses) at most (Hoeffding): 1e-300, charged at once to
        P(W >= v) and to each P(v - i <= W < v).

        For delta > 0 the corollary is false where failure is rare, so a sum above 0.87 is replaced by 1.
        Counter-example for epsilon = 0 and three guesses at three canaries: let the guess that is wrong at
        every canary have probability 1/8 - 7 delta/8, and each of the other seven 1/8 + delta/8. Neighbouring
        inputs differ by delta in total variation, so the mechanism is (0, delta)-DP; at least one guess is
        right with probability 7/8 + 7 delta/8, and the sum is 7/8 + 6 delta/8. In linear programmes for the
        best guesser with at most 30 canaries no sum of 0.875 or less was too small; for more canaries this is
        not proved.
        """
        epsilon = number("epsilon", epsilon, 0)
        delta = self.delta if delta is None else number("delta", delta, 0, 1)
        if self.correct == 0 or epsilon > _STEEPEST:
            return 1.0
        mean, far = self.guesses * float(expit(-epsilon)), math.sqrt(_FAR * self.guesses) + 1
        first, last = max(math.ceil(mean - far), 0), min(math.floor(mean + far), self.guesses)
        wrong = np.arange(first, last + 1.0)
        log_p, error = log_pmf(wrong, self.guesses, epsilon)
        mass = up(np.exp(log_p) * (1 + error), 16)
        grows = 1 + 2 * (self.guesses + 4) * UNIT  # more than a rounding for each term of a sum
        rest = 0.0 if mass.size > self.guesses else _RAREST
        over = wrong - (self.guesses - self.correct)
        reached = float(np.sum(mass[over <= 0])) * grows
        spread = float(np.max(np.cumsum(mass[over > 0]) / over[over > 0], initial=0.0)) * grows
        extra = Bounds.of(delta) * (2.0 * self.canaries) * (Bounds.of(spread) + rest)
        p = float((extra + reached + rest).upper)
        return 1.0 if p > 1 or (delta > 0 and p > _LARGEST_P) else p

    def refutes(self, claim: Any) -> Refutation:
        """Test whether the claim is a guarantee for every canary, in both orders.

        Parameters
        ----------
        claim
            A curve, a plan or a mechanism; of a curve that is not symmetric the either-order envelope.

        Raises
        ------
        KindError
            If the claim is an estimate, or no curve at all.

        Notes
        -----
        The p-value is the least of ``p_value`` over the claim's privacy profile, and of the f-DP bound. With
        r_k = E[C; C >= k]/m and h_k = E[guesses - C; C >= k]/m for C right guesses, whether canary i is
        guessed right with k - 1 others right is as hard to tell as its coin: h_{k-1} >= f(1 - r_k) for
        every k, as f is symmetric and convex. Laws of C with P(C >= c) = tau that meet all of these leave
        least for fewer right guesses where all of tau lies at c and every other inequality is met just so
        ("Auditing f-differential privacy in one run", Mahloujifar, Melis, Chaudhuri 2024, their recursion).
        Where that takes more than probability 1, P(C >= c) < tau.
        """
        f = both_orders(claimed(claim))
        table = f.lower
        demand = _asked_by(table)
        # The largest x <= 690 known with no law for P(C >= correct) >= e^-x, if there is none for 1.
        known = self._impossible(demand, 1.0)
        x = largest(lambda x: self._impossible(demand, math.exp(-x)), 0.0, 690.0, _HALVINGS) if known else 0.0
        by_curve = math.exp(-x)
        return Refutation(f, min(by_curve, self._by_profile(table), 1.0), self.confidence)

    def grid(self) -> TextTable:
        known = {f"ε({exactly(self.delta)})": self.epsilon, "μ": self.mu}
        rows = [(f"  {name} ≥ {decimal(least, '.4g', up=False)}",) for name, least in known.items()]
        guesses = f"{self.correct} of {self.guesses} guesses right at {self.canaries} canaries"
        return TextTable(rows, head=f"OneRun: {guesses}, confidence {exactly(self.confidence)}")

    def _by_profile(self, table: PiecewiseLinear) -> float:
        top = min(float(table.epsilon(max(1e-12, min(2 * table.mass_at_plus_infinity, 1.0)))), _STEEPEST)
        losses = np.linspace(0.0, max(top, 0.0), _LOSSES)
        if 0 <= table.sup_loss < _STEEPEST:
            losses = np.append(losses, table.sup_loss)
        return min(
            self.p_value(e, d) for e, d in zip(losses.tolist(), table.delta(losses).tolist(), strict=True)
        )

    def _impossible(self, demand: Callable[[float], float], tau: float) -> bool:
        """Whether no law of right guesses has P(C >= correct) >= tau: what is needed below adds up to over 1.

        Sums that ask for more are rounded down, those that ask for less up: each mass stays below the one the
        inequality asks for, which is all that the argument needs.
        """
        m, right, wrong, total = self.canaries, self.correct * tau, (self.guesses - self.correct) * tau, tau
        right, wrong = right * _DOWN, wrong * _UP
        for j in range(self.correct - 1, -1, -1):
            mass = (demand(right / m * _DOWN) * m * _DOWN - wrong) / (self.guesses - j) * _DOWN
            if mass <= 0:
                break
            total = (total + mass) * _DOWN
            right, wrong = (right + j * mass) * _DOWN, (wrong + (self.guesses - j) * mass) * _UP
            if total > 1:
                return True
        return False


def _gaussian(mu: float, x: float) -> float:
    """Return f(1 - x) = Phi(Phi^-1(x) - mu) from below."""
    z = float(ndtri(x)) - mu
    return float(ndtr(z)) * (1 - _NORMAL) if z > -_DEEPEST else 0.0


def _asked_by(curve: PiecewiseLinear) -> Callable[[float], float]:
    """Return the function x -> f(1 - x) of a piecewise-linear curve, from below."""
    _, beta, rest, _ = curve.points
    # Above 1/2 a rest may be rounded: farther out the growing function is lower.
    xs = np.where(rest <= 0.5, rest, np.nextafter(rest, np.inf))[::-1].tolist()
    ys = beta[::-1].tolist()

    def at(x: float) -> float:
        k = bisect_right(xs, x)
        if k in {0, len(xs)}:
            return float(ys[max(k - 1, 0)]) * _DOWN
        (a, b), (c, d) = xs[k - 1 : k + 1], ys[k - 1 : k + 1]
        return float(c + (d - c) * ((x - a) / (b - a))) * _DOWN

    return at


def one_run(
    correct: int, guesses: int, canaries: int, *, delta: float = 0.0, confidence: float = 0.95
) -> OneRun:
    """Audit a mechanism by one run: each canary was included by a fair coin, and the coins were guessed.

    Parameters
    ----------
    correct
        Right guesses, a whole number from 0 to ``guesses``.
    guesses
        Guesses made, a number fixed beforehand: at the highest and lowest scores, say, and at no others.
    canaries
        Records each included or not by a fair coin of its own, guessed or not: from ``guesses``.
    delta
        The delta in [0, 1] at which epsilon is bounded.
    confidence
        Probability in (0, 1) with which the bounds hold.

    Returns
    -------
    OneRun
        With ``epsilon`` and ``mu``, lower bounds; ``p_value(epsilon)`` and ``refutes(claim)``.

    Raises
    ------
    DomainError
        Unless 0 <= correct <= guesses <= canaries, or if delta or the confidence is out of range.

    Examples
    --------
    >>> from tradeoff.audits import one_run
    >>> one_run(75, 100, 1000, delta=1e-4)
    OneRun: 75 of 100 guesses right at 1000 canaries, confidence 0.95
      ε(0.0001) ≥ 0.6729
      μ ≥ 0.2694
    """
    return OneRun(correct, guesses, canaries, delta, confidence)
