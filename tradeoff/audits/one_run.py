"""Audits in one training run: a lower bound on privacy loss from guesses at which canaries were included."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from tradeoff import balls
from tradeoff.audits.rates import check_confidence, error_probability
from tradeoff.audits.refutation import Refutation, both_orders, claimed
from tradeoff.curves.parameters import MOST, count, number
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.display import Displayed, TextTable, exactly
from tradeoff.intervals.bounds import decimal
from tradeoff.intervals.functions import rational
from tradeoff.intervals.roots import find_root, largest

_MOST_GUESSES = 10**7  # guesses of which a bound takes ten seconds
_BITS = 96  # of the balls: a tail of 1e7 guesses keeps 60
_NEGLIGIBLE = 2.0**-60  # share of a tail that is bounded by a geometric series

_STEEPEST = 512.0  # losses and shifts beyond are not searched: no number of guesses refutes them
_CLOSE = 1e-10  # width to which epsilon is searched, in nats
_HALVINGS = 40  # halvings for ten digits of a p-value of any size, and of mu
_LOSSES = 32  # losses of a claimed profile that are tested; the p-value changes little between them

# Below -37 Phi counts as 0; above, Phi(Phi^-1(x) - mu) has a relative error of 1e-10 or less.
_DEEPEST, _NORMAL = 37.0, 1e-10

_LARGEST_P = 0.87  # below the least sum for which Corollary 5.4 is known to fail, 7/8 (see p_value)


@dataclass(frozen=True, repr=False)
class OneRun(Displayed):
    """Guesses at the coins that included canaries or left them out, and how many were right.

    Parameters
    ----------
    correct, guesses, canaries, delta, confidence : as ``one_run`` takes them

    Notes
    -----
    All three statements bound the same chance, that of at least ``correct`` right guesses; so the smallest
    p-value of a claim, over all parameters, is one.
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
            ("confidence", check_confidence(self.confidence)),
        ):
            object.__setattr__(self, name, value)

    @cached_property
    def epsilon(self) -> float:
        """Lower bound on the epsilon >= 0 of (epsilon, delta)-DP, in nats, at the confidence."""
        error = error_probability(self.confidence)
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
        """Lower bound on every mu of mu-GDP, at the confidence."""
        error = error_probability(self.confidence)

        def refuted(mu: float) -> bool:
            return self._is_impossible(partial(_gaussian, mu), error)

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
        epsilon : loss in nats, at least 0
        delta : probability in [0, 1]; default: the audit's

        Notes
        -----
        P(W >= v) + 2 m delta max_i P(v - i <= W < v)/i for W ~ Bin(guesses, 1/(1 + e^-epsilon)), v right
        guesses and m canaries: "Privacy auditing with one (1) training run", Steinke, Nasr, Jagielski 2023,
        Corollary 5.4 and the code of Appendix D in arXiv:2305.08846.

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
        with balls.precision(_BITS):
            odds = balls.exp(balls.to_ball(-epsilon))
            p = _upper_tail(self.guesses, self.correct, odds)
            if delta > 0 and not p > _LARGEST_P:
                spread = _largest_mean_mass(self.guesses, self.correct, odds)
                p += 2 * self.canaries * balls.to_ball(delta) * spread
            result = balls.upper_float(p)
        return 1.0 if not result <= 1 or (delta > 0 and result > _LARGEST_P) else result

    def refutes(self, claim: Any) -> Refutation:
        """Test whether the claim is a guarantee for every canary, in both orders.

        Parameters
        ----------
        claim : a curve, a plan or a mechanism; of a curve that is not symmetric the either-order envelope

        Notes
        -----
        The p-value is the least of ``p_value`` over the claim's privacy profile, and of the f-DP bound. With
        r_k = E[C; C >= k]/m and h_k = E[guesses - C; C >= k]/m for C right guesses, whether canary i is
        guessed right with k - 1 others right is as hard to predict as its coin: h_{k-1} >= f(1 - r_k) for
        every k, as f is symmetric and convex. Of the laws of C with P(C >= c) = tau that satisfy all these,
        the one with all of tau at c and equality everywhere else needs the least mass below c
        ("Auditing f-differential privacy in one run", Mahloujifar, Melis, Chaudhuri 2024, their recursion).
        If the masses needed add to more than 1, P(C >= c) < tau.
        """
        f = both_orders(claimed(claim))
        table = f.lower
        demand = _demand_of(table)
        # The largest x <= 690 with no law for P(C >= correct) >= e^-x, if there is none for 1.
        possible = not self._is_impossible(demand, 1.0)
        x = 0.0
        if not possible:
            x = largest(lambda x: self._is_impossible(demand, math.exp(-x)), 0.0, 690.0, _HALVINGS)
        return Refutation(f, min(math.exp(-x), self._profile_p_value(table), 1.0), self.confidence)

    def grid(self) -> TextTable:
        limits = {f"ε({exactly(self.delta)})": self.epsilon, "μ": self.mu}
        rows = [(f"  {name} ≥ {decimal(least, '.4g', up=False)}",) for name, least in limits.items()]
        guesses = f"{self.correct} of {self.guesses} guesses right at {self.canaries} canaries"
        return TextTable(rows, head=f"OneRun: {guesses}, confidence {exactly(self.confidence)}")

    def _profile_p_value(self, table: PiecewiseLinear) -> float:
        top = min(float(table.epsilon(max(1e-12, min(2 * table.mass_at_plus_infinity, 1.0)))), _STEEPEST)
        losses = np.linspace(0.0, max(top, 0.0), _LOSSES)
        if 0 <= table.sup_loss < _STEEPEST:
            losses = np.append(losses, table.sup_loss)
        return min(map(self.p_value, losses.tolist(), table.delta(losses).tolist()))

    def _is_impossible(self, demand: Callable[[float], float], tau: float) -> bool:
        """Return whether no law of right guesses has P(C >= correct) >= tau: the masses needed exceed 1.

        ``demand`` is rounded down, and its argument too: each mass is at most the one that the inequality
        needs, which is enough for the argument.
        """
        with balls.precision(_BITS):
            total = balls.to_ball(tau)
            right, wrong = self.correct * total, (self.guesses - self.correct) * total
            for j in range(self.correct - 1, -1, -1):
                argument = balls.to_ball(demand(balls.lower_float(right / self.canaries))) * self.canaries
                mass = (argument - wrong) / (self.guesses - j)
                if not mass > 0:
                    break
                total, right, wrong = total + mass, right + j * mass, argument
                if total > 1:
                    return True
        return False


def _mass(n: int, k: int, odds: Any) -> Any:
    """Return P(W = k) for W ~ Bin(n, 1/(1 + odds)), with balls that lose some 30 bits for n = 1e7."""
    choices = (
        balls.to_ball(n + 1).lgamma() - balls.to_ball(k + 1).lgamma() - balls.to_ball(n - k + 1).lgamma()
    )
    return balls.exp(choices + (n - k) * balls.log(odds) - n * balls.log1p(odds))


def _upper_tail(n: int, v: int, odds: Any) -> Any:
    """Return P(W >= v) for W ~ Bin(n, 1/(1 + odds)), from the side on which masses fall."""
    if v > n:
        return balls.to_ball(0)
    if v * (1 + odds) < n:
        return 1 - _upper_tail(n, n - v + 1, 1 / odds)
    total = mass = _mass(n, v, odds)
    for k in range(v, n):
        mass = mass * (n - k) / (odds * (k + 1))
        total += mass
        if mass < total * _NEGLIGIBLE:
            ratio = (n - k) / (odds * (k + 1))  # of neighbouring masses; it falls
            if ratio < 1:
                return total + balls.union(0, mass * ratio / (1 - ratio))
    return total


def _largest_mean_mass(n: int, v: int, odds: Any) -> Any:
    """Return max over i >= 1 of P(v - i <= W < v)/i, the mean of the i masses below v.

    Masses are log-concave, so they rise and then fall with i, and so do their means.
    """
    total = mass = _mass(n, v - 1, odds)
    largest = balls.to_ball(0)
    for i in range(1, v):
        mass = mass * (v - i) / (n - v + 1 + i) * odds
        if not mass * i > total:  # the mean of i masses may be the largest
            largest = balls.maximum(largest, total / i)
            if mass * i < total:
                return largest
        total += mass
    return balls.maximum(largest, total / v)


def _gaussian(mu: float, x: float) -> float:
    """Return f(1 - x) = Phi(Phi^-1(x) - mu), rounded down."""
    z = float(ndtri(x)) - mu
    return float(ndtr(z)) * (1 - _NORMAL) if z > -_DEEPEST else 0.0


def _demand_of(curve: PiecewiseLinear) -> Callable[[float], float]:
    """Return the function x -> f(1 - x) of a piecewise-linear curve, rounded down."""
    # The function grows: a larger x or a smaller y lowers it.
    pairs = zip(curve.alpha, curve.complements[0], strict=True)
    # Below 1/2 the stored rest 1 - alpha is exact; above it, alpha is.
    rests = [Fraction(rest) if rest <= 0.5 else 1 - Fraction(alpha) for alpha, rest in pairs]
    xs = [rational(rest).upper for rest in reversed(rests)]
    ys = [rational(Fraction(beta)).lower for beta in reversed(curve.beta)]

    def demand(x: float) -> float:
        k = bisect_right(xs, x)
        if k in {0, len(xs)}:
            return float(ys[max(k - 1, 0)])
        (a, b), (c, d) = map(balls.to_ball, xs[k - 1 : k + 1]), map(balls.to_ball, ys[k - 1 : k + 1])
        return balls.lower_float(c + (d - c) * ((x - a) / (b - a)))

    return demand


def one_run(
    correct: int, guesses: int, canaries: int, *, delta: float = 0.0, confidence: float = 0.95
) -> OneRun:
    """Audit a mechanism by one run: each canary was included by a fair coin, and the coins were guessed.

    Parameters
    ----------
    correct : right guesses, an integer from 0 to ``guesses``
    guesses : guesses made, a number fixed beforehand: at the highest and lowest scores, say, and at no others
    canaries : records each included or not by a fair coin of its own, guessed or not: from ``guesses``
    delta : the delta in [0, 1] at which epsilon is bounded
    confidence : probability in (0, 1) with which the bounds hold

    Returns
    -------
    OneRun
        With ``epsilon`` and ``mu``, lower bounds; ``p_value(epsilon)`` and ``refutes(claim)``.

    Examples
    --------
    >>> from tradeoff.audits import one_run
    >>> one_run(75, 100, 1000, delta=1e-4)
    OneRun: 75 of 100 guesses right at 1000 canaries, confidence 0.95
      ε(0.0001) ≥ 0.6729
      μ ≥ 0.2694
    """
    return OneRun(correct, guesses, canaries, delta, confidence)
