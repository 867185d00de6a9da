"""Audits in one training run: a lower bound on privacy loss from guesses at which canaries were included.

Of m ``canaries``, each included by a fair coin, r coins are guessed (``guesses``), v or C rightly
(``correct``) and ``wrong`` wrongly; the others are skipped. f is the claim, a symmetric curve T(P, Q). A
p-value is an upper bound on the probability of so many right guesses, or more, while the claim holds.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from scipy.special import betainc, betaincinv, expit, logsumexp, ndtr, ndtri

from tradeoff import balls
from tradeoff.audits.refutation import (
    MIN_TAIL,
    SLACK,
    Refutation,
    bound_tail,
    check_confidence,
    claimed,
    error_probability,
    tabulate_limits,
)
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MOST, count, number
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.display import Displayed, TextTable, exactly
from tradeoff.errors import domain
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, log1p, rational, total
from tradeoff.intervals.roots import largest

_MOST_GUESSES = 10**7  # guesses of which a bound takes ten seconds
_BITS = 96  # of the balls: a tail of 1e7 guesses keeps 60

_STEEPEST = 512.0  # larger losses and shifts are not searched: no number of guesses refutes them
_HALVINGS = 40  # halvings for ten digits of a p-value of any size, of epsilon and of mu

_RANKS = 2048  # cells of the rank of the first canary without a guess: they add some 0.1 % to a p-value

# The assumption of ``assumptions="product"``; an observation may also depend on earlier ones.
PRODUCT = (
    "given the coins, the observations of canaries are independent, and each depends on its own coin alone"
)
# The assumption of ``sequential=True`` next to it.
ORDER = "canaries are taken in an order that does not depend on observations of those not yet taken"


@dataclass(frozen=True, repr=False)
class OneRun(Displayed):
    r"""Audit by one run: each canary was included, or left out, by a fair coin, and the coins were guessed.

    All statements bound the same chance, that of at least ``correct`` right guesses; so the smallest p-value
    of a claim, over all parameters, is one. ``one_run`` is another name of the class.

    Parameters
    ----------
    correct : right guesses, an integer from 0 to ``guesses``
    guesses
        Number of guesses, fixed beforehand, such as those at the highest and lowest scores; of those made so
        far if ``sequential``.
    canaries : number of records included by independent fair coins, at least ``guesses``
    delta : the :math:`\delta` in [0, 1] at which :math:`\varepsilon` is bounded
    confidence : probability in (0, 1) with which the bounds hold
    assumptions
        ``"product"``: given the coins, the observations of the canaries are independent, and each depends on
        its own coin alone, and perhaps on earlier observations. This is the case if every canary has its own
        step, coordinate or message, such as a gradient orthogonal to all others in white-box DP-SGD. The
        bounds are then the tightest possible, however the guesses are chosen. Default: no such assumption.
    sequential
        Whether coins are revealed guess by guess, and guessing may stop at any time, for example as soon as a
        claim is refuted: all bounds hold at all times at once. Without assumptions a guess may depend on the
        output and the coins revealed so far, and only claims of a finite loss are tested, as pure
        :math:`\varepsilon`-DP: ``mu`` is 0. With them ``canaries`` counts those taken so far, guessed or
        skipped; they are taken in an order that does not depend on observations of those not yet taken, as
        canaries of successive steps, or of training runs of their own, are.

    Examples
    --------
    >>> from tradeoff import PureDP
    >>> from tradeoff.audits import one_run
    >>> audit = one_run(75, 100, 1000, delta=1e-4)
    >>> round(audit.p_value(epsilon=1.0), 4)
    0.4006
    >>> audit
    OneRun: 75 of 100 guesses right at 1000 canaries, confidence 0.95
      ε(0.0001) ≥ 0.6729
      μ ≥ 0.2694
    >>> round(one_run(750, 1000, 1000).mu, 3), round(one_run(750, 1000, 1000, assumptions="product").mu, 3)
    (0.461, 1.204)
    >>> one_run(47, 50, 50, sequential=True).refutes(PureDP(1.0)).p_value < 0.01  # after 50 guesses of 1000
    True
    """

    correct: int
    guesses: int
    canaries: int
    delta: float = 0.0
    confidence: float = 0.95
    assumptions: Literal["product"] | None = None
    sequential: bool = False

    def __post_init__(self) -> None:
        canaries = count("canaries", self.canaries, 1, MOST)
        guesses = count("guesses", self.guesses, 0, min(canaries, _MOST_GUESSES))
        checked = {"canaries": canaries, "guesses": guesses, "delta": number("delta", self.delta, 0, 1)}
        checked |= {"correct": count("correct", self.correct, 0, guesses)}
        vars(self).update(checked, confidence=check_confidence(self.confidence))
        if self.assumptions not in {None, "product"}:
            raise domain("assumptions", self.assumptions, "'product' or None")
        if self.assumptions and canaries > _MOST_GUESSES:
            raise domain("canaries", canaries, f"at most {_MOST_GUESSES} with assumptions", "leave out some")
        if not isinstance(self.sequential, bool):
            raise domain("sequential", self.sequential, "True or False")
        if self.sequential and not self.assumptions and self.delta > 0:
            raise domain("delta", self.delta, "0 for sequential guesses without assumptions", "leave it out")

    @cached_property
    def epsilon(self) -> float:
        """Lower bound on the epsilon >= 0 of (epsilon, delta)-DP, in nats, at the confidence."""
        error = error_probability(self.confidence)
        return _largest(lambda epsilon: self.p_value(epsilon) <= error)

    @cached_property
    def mu(self) -> float:
        """Lower bound on every mu of mu-GDP, at the confidence."""
        error = error_probability(self.confidence)
        if self.sequential or self.assumptions:
            return _largest(lambda mu: self._curve_p_value(Gaussian(mu)) <= error)
        return _largest(lambda mu: self._is_impossible(partial(_gaussian, mu), error))

    def p_value(self, epsilon: float, delta: float | None = None) -> float:
        r"""Bound the chance of at least so many right guesses under (epsilon, delta)-DP from above.

        Parameters
        ----------
        epsilon : loss in nats, at least 0
        delta : probability in [0, 1]; default: the audit's

        Notes
        -----
        :math:`P(W \ge v) + 2 m \delta \max_i P(v - i \le W < v)/i` for :math:`r` guesses, :math:`v` right
        ones, :math:`m` canaries and :math:`W \sim \mathrm{Bin}(r, 1/(1 + e^{-\varepsilon}))`: "Privacy
        auditing with one (1) training run", Steinke, Nasr, Jagielski 2023, Corollary 5.4 and the code of
        Appendix D in arXiv:2305.08846.

        For :math:`\delta > 0` the corollary is false where failure is rare, so a sum above 0.87 is replaced
        by 1. Counter-example for :math:`\varepsilon = 0` and three guesses at three canaries: let the guess
        that is wrong at every canary have probability :math:`1/8 - 7\delta/8`, and each of the other seven
        :math:`1/8 + \delta/8`. Neighbouring inputs differ by :math:`\delta` in total variation, so the
        mechanism is :math:`(0, \delta)`-DP; at least one guess is right with probability
        :math:`7/8 + 7\delta/8`, and the sum is :math:`7/8 + 6\delta/8`. In linear programmes for the best
        guesser with at most 30 canaries no sum of 0.875 or less was too small; for more canaries this is not
        proved.
        """
        epsilon = number("epsilon", epsilon, 0)
        delta = self.delta if delta is None else number("delta", delta, 0, 1)
        if self.correct == 0 or epsilon > _STEEPEST:
            return 1.0
        if self.sequential or (self.assumptions and delta > 0):
            return self._curve_p_value(approximate_dp(epsilon, delta))
        wrong = self.guesses - self.correct
        p = float(bound_tail(wrong, self.guesses, (1 / (1 + exp(epsilon))).lower))
        if delta == 0:
            return p
        with balls.precision(_BITS):
            odds = balls.exp(balls.to_ball(-epsilon))
            mean_mass = _largest_mean_mass(self.guesses, self.correct, odds)
            p = balls.upper_float(p + 2 * self.canaries * balls.to_ball(delta) * mean_mass)
        return p if p <= 0.87 else 1.0  # below the least sum for which the corollary is known to fail, 7/8

    def _curve_p_value(self, f: TradeOff) -> float:
        """Bound the p-value of a symmetric claim from above, for sequential guesses or under assumptions."""
        return self._betting_p_value(f) if self.sequential else self._product_p_value(f)

    def _product_p_value(self, f: TradeOff) -> float:
        """Bound P(C >= correct) from above for a symmetric f, if each canary has observations of its own.

        Let the coins be fair, and given them let the observations y_i ~ P_i or Q_i be independent (or given
        the earlier ones too), with T(P_i, Q_i) >= f and T(Q_i, P_i) >= f. Let f = T(P, Q).

        1. By Blackwell's theorem y_i can be drawn from x_i ~ P or Q, by a kernel that may depend on earlier
           y. So every guess from y can be made from x: it is enough to bound guessers of x.
        2. Given x the coins are independent, and a guess at i is wrong with probability e_i at least, the
           smaller posterior of both values. So, given x, at most w of r guesses are wrong with at most the
           probability of that for independent events of the r smallest e_i, however r canaries are chosen.
        3. The e_i are independent draws of one law. Let V be the rank, in that law, of the (r + 1)-th
           smallest of the m, ties broken at random: V ~ Beta(r + 1, m - r). Given V = u the r smaller ones
           are independent with ranks below u, and so are their errors, of probability A(u)/u each, A(u)
           being the integral of the quantiles of e below u: the least error mass of a guesser with the
           probability u of a guess. That is a test on either side, which errs with a each, and guesses with
           probability (a + 1 - f(a))/2 each: A(u) = a where u = a + 1 - f(a) (Neyman, Pearson; f symmetric).

        Hence P(C >= correct) <= E P(Bin(r, A(V)/V) <= w), and the best guesser attains it: "Tight privacy
        audit in one run", Xiang, Wang, Xiao, Tian, Wang 2025 (arXiv:2509.08704), in the form of the code that
        they published, Theorem 2. A(u)/u grows with u, as a mean of quantiles, so the tail falls: on a cell
        of u it is at most that at the left end, and such a sum grows with the distribution function of V.
        """
        wrong, r, m = self.guesses - self.correct, self.guesses, self.canaries
        if self.correct == 0:
            return 1.0
        largest_a = max(float(((1 - Bounds.of(f.bounds.delta(0.0).upper)) / 2).lower), 0.0)  # A(1) = f(A(1))
        if r == m:  # every canary is guessed: V = 1
            return float(bound_tail(wrong, r, largest_a))
        # Cells of the rank u end at those of ``a``: any a will do, and floats choose them evenly for V.
        coarse = largest_a * np.append(0.0, np.geomspace(1e-300, 1.0, _RANKS))
        ranks = np.maximum.accumulate(coarse + 1 - f.bounds(coarse).lower)
        targets = betaincinv(r + 1, m - r, expit(np.linspace(-60.0, 60.0, _RANKS)))
        a = np.append(np.interp(targets, ranks, coarse), largest_a)
        u = np.minimum((a + (1 - Bounds.of(f.bounds(a).lower))).upper, 1.0)
        tails = bound_tail(wrong, r, (Bounds.of(a) / np.maximum(u, np.finfo(float).tiny)).lower)
        cdf = np.where(u < 1, betainc(r + 1, m - r, u) * (1 + SLACK), 1.0)  # of V, rounded up
        cdf = np.append(np.maximum.accumulate(np.minimum(cdf, 1.0)), 1.0)
        weights = (Bounds.of(cdf[1:]) - cdf[:-1]).upper
        # Below the first u the tail counts as 1.
        p = total([float(cdf[0]), *(Bounds.of(weights) * tails).upper.tolist()]).upper
        return min(float(p), 1.0)

    def _betting_p_value(self, f: TradeOff) -> float:
        r"""Bound 1/K from above, K the wealth of a gambler betting against a symmetric f; at any time.

        Given the past, let the next guess be right with probability r, wrong with w, and left out otherwise.

        1. Under (eps, 0)-DP a coin, given the output and all other coins, has odds of e^eps at most: so
           r <= e^eps w for guesses in view of the output and of coins seen before.
        2. With ``assumptions``, in an order as in ``ORDER``, the coin is fair given the past, and the
           observation that comes with it is of a pair with T(P, Q) >= f and T(Q, P) >= f. If the guesses 0
           and 1 have the probabilities P_0, P_1 and Q_0, Q_1, then r - e^eps w is the mean of
           Q_1 - e^eps P_1 and P_0 - e^eps Q_0: at most delta(eps), for every eps >= 0.

        So 1 + k (1[right] - e^eps 1[wrong] - delta)/(e^eps + delta), with k in [0, 1] and delta = 0 under 1,
        is not negative and has a mean of 1 at most. Products over the canaries are supermartingales, and so
        is K, their mean over k and eps: P(K >= 1/p at any time) <= p (Ville 1939). "Sequentially auditing
        differential privacy", Gonzalez, Dulce-Rubio, Ramdas, Ribero 2025 (arXiv:2509.07055), bets alike on
        samples. All of the stake under 1, half of it under 2, is on the eps at which f has the delta of the
        audit.

        A less private f has a larger eps there, and larger delta at the fixed eps, so that every factor, and
        K, is smaller: bounds may be bisected. For this a skip is charged as at eps = 0.
        """
        wrong, skipped = self.guesses - self.correct, self.canaries - self.guesses
        # Rows are the eps, fixed ones and last that of the audit's delta; columns are 25 fractions k.
        losses = np.arange(0.0, 8.0, 0.5) if self.assumptions else np.empty(0)
        share = np.exp(-losses / 2)
        stakes = np.append(share / np.sum(share) / 2, 0.5 if self.assumptions else 1.0)[:, None]
        last = max(float(f.epsilon(self.delta)), 0.0)
        delta = np.append(np.asarray(f.delta(losses), float), self.delta)[:, None]
        odds = exp(np.append(losses, last if last < _STEEPEST else math.inf)[:, None])
        odds_of_skip = exp(np.append(losses, 0.0)[:, None])
        k = Bounds.of(expit(np.linspace(-5.0, 7.0, 25)))
        # Logs of the factors: of a right guess, and of all wrong guesses and skips.
        log_right = log1p(k * (1 - Bounds.of(delta)) / (odds + delta))
        log_others = log1p(-k) * wrong + log1p(-k * delta / (odds_of_skip + delta)) * skipped
        log_wealth = (log_right * self.correct + log_others).lower
        log_mean = float(logsumexp(log_wealth, b=stakes / 25))
        return min(max(math.exp(-min(max(log_mean, 0.0), 700.0)) * (1 + 1e-9), MIN_TAIL), 1.0)

    def refutes(self, claim: Any) -> Refutation:
        r"""Test whether the claim is a guarantee for every canary, in both orders.

        It is a curve, of which the either-order envelope is tested, a plan or a mechanism.

        The p-value is the least of ``p_value`` over the claim's privacy profile, and of the f-DP bound. With
        :math:`r_k = E[C; C \ge k]/m` and :math:`h_k = E[G - C; C \ge k]/m` for :math:`C` right ones of
        :math:`G` guesses, whether canary :math:`i` is guessed right with :math:`k - 1` others right is as
        hard to predict as its coin: :math:`h_{k-1} \ge f(1 - r_k)` for every :math:`k`, as :math:`f` is
        symmetric and convex. Of the laws of :math:`C` with :math:`P(C \ge c) = \tau` that satisfy all these,
        the one with all of :math:`\tau` at :math:`c` and equality everywhere else needs the least mass below
        :math:`c` ("Auditing f-differential privacy in one run", Mahloujifar, Melis, Chaudhuri 2024, their
        recursion). If the masses needed add to more than 1, :math:`P(C \ge c) < \tau`.
        """
        f = claimed(claim).symmetrise(assume="either-order")
        if self.sequential or self.assumptions:
            # The p-value of a curve below f is at least that of f.
            p = self._curve_p_value(f if self.sequential else f.lower)
            return Refutation(f, p, self.confidence, assumptions=self._given)
        polygon = f.lower
        demand = _demand_of(polygon)
        # The largest x <= 690 at which P(C >= correct) >= e^-x is impossible; 0 if 1 is possible.
        x = 0.0
        if self._is_impossible(demand, 1.0):
            x = largest(lambda x: self._is_impossible(demand, math.exp(-x)), 0.0, 690.0, _HALVINGS)
        top = min(float(polygon.epsilon(max(1e-12, min(2 * polygon.mass_at_plus_infinity, 1.0)))), _STEEPEST)
        losses = np.linspace(0.0, max(top, 0.0), 32)  # the p-value changes little between them
        if 0 <= polygon.sup_loss < _STEEPEST:
            losses = np.append(losses, polygon.sup_loss)
        by_profile = min(map(self.p_value, losses.tolist(), polygon.delta(losses).tolist()))
        return Refutation(f, min(math.exp(-x), by_profile, 1.0), self.confidence)

    def grid(self) -> TextTable:
        guesses = f"{self.correct} of {self.guesses} guesses right at {self.canaries} canaries"
        head = f"OneRun: {guesses}, confidence {exactly(self.confidence)}"
        limits = {f"ε({exactly(self.delta)})": self.epsilon, "μ": self.mu}
        notes = [f"assuming that {each}" for each in self._given]
        notes += ["valid whenever guessing stops"] if self.sequential else []
        opposite = replace(self, correct=self.guesses - self.correct)
        remedy = "exchange right and wrong guesses if larger scores favour absence"
        return tabulate_limits(head, limits, notes, lambda: opposite.mu, remedy)

    @property
    def _given(self) -> tuple[str, ...]:
        """The assumptions in words."""
        return (PRODUCT, ORDER)[: 1 + self.sequential] if self.assumptions else ()

    def _is_impossible(self, demand: Callable[[float], float], tau: float) -> bool:
        """Return whether no law of C has P(C >= correct) >= tau: the masses needed exceed 1.

        With r_k and h_k as in ``refutes``, times m, and ``demand`` x -> f(1 - x), the mass P(C = j) follows
        from h_j = h_{j+1} + (guesses - j) P(C = j) = m demand(r_{j+1}/m), for j = correct - 1, ..., 0. All
        is rounded down: each mass is at most the one that the inequality needs.
        """
        with balls.precision(_BITS):
            total = balls.to_ball(tau)  # P(C > j)
            right, wrong = self.correct * total, (self.guesses - self.correct) * total  # r and h of j + 1
            for j in range(self.correct - 1, -1, -1):
                needed = balls.to_ball(demand(balls.lower_float(right / self.canaries))) * self.canaries
                mass = (needed - wrong) / (self.guesses - j)
                if not mass > 0:
                    break
                total, right, wrong = total + mass, right + j * mass, needed
                if total > 1:
                    return True
        return False


def _largest(refuted: Callable[[float], bool]) -> float:
    """Return the largest parameter that is refuted, rounded down; 0.0 if none is."""
    if not refuted(0.0):
        return 0.0
    high = 1.0
    while high < _STEEPEST and refuted(high):
        high *= 2
    return largest(refuted, 0.0, high, _HALVINGS)


def _largest_mean_mass(n: int, v: int, odds: Any) -> Any:
    """Return max over i >= 1 of P(v - i <= W < v)/i, W ~ Bin(n, 1/(1 + odds)): the mean of i masses below v.

    Masses are log-concave, so they rise and then fall with i, and so do their means.
    """
    failures = n - v + 1
    # P(W = v - 1) = n!/((v - 1)! failures!) odds^failures/(1 + odds)^n; for n = 1e7 balls lose some 30 bits.
    log_n, log_v, log_failures = (balls.to_ball(each).lgamma() for each in (n + 1, v, failures + 1))
    log_mass = log_n - log_v - log_failures + failures * balls.log(odds) - n * balls.log1p(odds)
    total = mass = balls.exp(log_mass)
    largest = balls.to_ball(0)
    for i in range(1, v):
        mass = mass * (v - i) / (failures + i) * odds  # P(W = v - 1 - i)
        if not mass * i > total:  # the mean of i masses may be the largest
            largest = balls.maximum(largest, total / i)
            if mass * i < total:
                return largest
        total += mass
    return balls.maximum(largest, total / v)


def _gaussian(mu: float, x: float) -> float:
    """Return f(1 - x) = Phi(Phi^-1(x) - mu), rounded down."""
    z = float(ndtri(x)) - mu  # Phi below -37 counts as 0; above, it has a relative error of 1e-10 or less
    return float(ndtr(z)) * (1 - 1e-10) if z > -37 else 0.0


def _demand_of(curve: PiecewiseLinear) -> Callable[[float], float]:
    """Return the function x -> f(1 - x) of a piecewise-linear curve, rounded down."""
    # The function grows: a larger x or a smaller y lowers it.
    pairs = zip(curve.alpha, curve.complements[0], strict=True)
    # Of alpha and its complement 1 - alpha the smaller one is exact.
    complements = [Fraction(rest) if rest <= 0.5 else 1 - Fraction(alpha) for alpha, rest in pairs]
    xs = [rational(each).upper for each in reversed(complements)]
    ys = [rational(Fraction(beta)).lower for beta in reversed(curve.beta)]

    def demand(x: float) -> float:
        k = bisect_right(xs, x)
        if k in {0, len(xs)}:
            return float(ys[max(k - 1, 0)])
        (x_1, x_2), (y_1, y_2) = (map(balls.to_ball, each[k - 1 : k + 1]) for each in (xs, ys))
        return balls.lower_float(y_1 + (y_2 - y_1) * ((x - x_1) / (x_2 - x_1)))

    return demand


one_run = OneRun
