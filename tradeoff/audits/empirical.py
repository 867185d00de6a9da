"""Curves from scores and from samples of the loss: estimates, bands at a confidence, tests of a claim.

The null hypothesis is P and the alternative Q. Of a test that rejects some of n null scores and misses (does
not reject) some of m alternative ones, a is the type I error, P(reject), and b the type II error, Q(miss); a
lies below ``largest_rate`` of the number rejected, and b below that of the number missed, at a confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, ndtri, rel_entr

from tradeoff import balls
from tradeoff.audits.refutation import (
    MIN_TAIL,
    Refutation,
    bound_tail,
    check_confidence,
    claimed,
    error_probability,
    joint_level,
    joint_p_value,
    largest_rate,
    spaced_counts,
    tabulate_limits,
)
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import Number, Numbers, count, flattened, number, reals, shaped
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.display import Displayed, TextTable, exactly
from tradeoff.errors import DomainError, domain
from tradeoff.intervals.bounds import Array, Bounds, Index
from tradeoff.intervals.functions import clip, exp, expm1, log, minimum, sum_rows, where
from tradeoff.intervals.polygon import ONE, below_chords, hull, lower_hull, whole
from tradeoff.intervals.roots import bracket_root, find_root
from tradeoff.limits.estimates import ApproximateCurve
from tradeoff.operators.tabulate import Tabulated


class Decisions(NamedTuple):
    """Tests by thresholds, with numbers of null scores that each rejects and alternative ones it misses."""

    thresholds: Array
    rejected: Index
    missed: Index


class Empirical(Displayed):
    r"""Bounds on f = T(P, Q) from independent scores under P and under Q.

    A score is any function of the output; larger favours the alternative :math:`Q`. Its tests "reject where
    the score is large" are among all tests, so :math:`f` lies at or below their errors, and the scores bound
    privacy loss from below, at the stated confidence and for any law of the scores: continuous, with ties,
    infinite. ``empirical`` is another name of the class.

    Parameters
    ----------
    null_scores : independent scores under :math:`P` (without the record), in any order, infinite ones allowed
    alternative_scores : independent scores under :math:`Q`; the numbers may differ
    confidence : probability in (0, 1) with which the bounds hold
    thresholds
        Scores at or above which the test rejects. If you fix them before seeing the data, the bounds are
        tighter; None: bounds hold for every threshold, also one that was chosen by the scores.

    Notes
    -----
    A test is set where it rejects :math:`k` of the :math:`n` null scores: at the :math:`(k + 1)`-th largest,
    :math:`x`. Its type I error :math:`a = P(X > x)` is at most the :math:`(k + 1)`-th smallest of :math:`n`
    uniform numbers in law, so :math:`p(a) = P(\mathrm{Bin}(n, a) \le k)` is a p-value; and as :math:`x` is
    independent of the other scores, given :math:`x` so is :math:`q(b) = P(\mathrm{Bin}(m, b) \le j)`, where
    :math:`j` of their :math:`m` are missed and :math:`b` is its type II error. So :math:`p(a)\,q(b) \le t`
    has probability :math:`t (1 - \log(t))` at most (Fisher's combination), and with :math:`K` tests, fixed by
    :math:`n` alone, no :math:`p(a)\,q(b)` is below the :math:`t` of :math:`(1 - \text{confidence})/K`: every
    :math:`(a, b)` lies in a region given by the counts, and :math:`f(a) \le b`. Regions are covered by
    rectangles: :math:`f` lies at or below one corner of each.

    Examples
    --------
    >>> import tradeoff as to
    >>> to.empirical([0, 1, 2, 3] * 50, [3, 4, 5, 6] * 50, confidence=0.9)
    Empirical: 200 null and 200 alternative scores, confidence 0.9
      ε(1e-05) ≥ 2.881
      ε(0.001) ≥ 2.880
      ε(0.1) ≥ 2.741
      μ ≥ 2.374
    >>> draws = np.random.default_rng(1)
    >>> audit = to.empirical(draws.normal(0, 1, 10_000), draws.normal(1, 1, 10_000))
    >>> 0.85 < audit.mu() < 1, audit.epsilon(0.01) < to.Gaussian(1).epsilon(0.01)
    (True, True)
    >>> bool(audit.refutes(to.Gaussian(0.5))), bool(audit.refutes(to.Gaussian(1)))
    (True, False)
    """

    def __init__(
        self,
        null_scores: Numbers,
        alternative_scores: Numbers,
        confidence: float = 0.95,
        *,
        thresholds: Numbers | None = None,
    ) -> None:
        at = None if thresholds is None else sort_numbers("thresholds", thresholds)
        null = sort_numbers("null_scores", null_scores)
        alternative = sort_numbers("alternative_scores", alternative_scores)
        n, m = self._sizes = len(null), len(alternative)
        if at is not None:  # scores at or above are rejected
            self._tests = Decisions(at, n - np.searchsorted(null, at), np.searchsorted(alternative, at))
        else:
            rejected = spaced_counts(n)
            above = null[n - 1 - rejected]  # only scores above are rejected: k of them, fewer with ties
            self._tests = Decisions(above, rejected, np.searchsorted(alternative, above, side="right"))
        self.null, self.alternative, self.thresholds = null, alternative, at
        self.confidence = check_confidence(confidence)
        self._described = f"{n} null and {m} alternative scores"
        self._exchanged: Callable[[], Empirical] = partial(
            Empirical, alternative, null, confidence, thresholds=at
        )

    def epsilon(self, delta: Number | Numbers) -> Any:
        r"""Return a lower bound on epsilon(delta), in nats, at the confidence for all delta at once.

        As for curves, it is negative where delta exceeds the bound on :math:`\delta(0)`.
        """
        flat, shape = flattened("delta", delta, 0.0, 1.0)
        alpha, beta = self._corners
        # (alpha, beta) proves e^epsilon >= (1 - delta - beta)/alpha. One corner of each test holds: min. All
        # tests hold: max.
        slopes = [np.max(np.min(((1 - Bounds.of(d) - beta) / alpha).lower, axis=1)) for d in flat]
        least = (1 - Bounds.of(flat)).lower  # of every curve
        return shaped(np.asarray(log(np.maximum(slopes, least)).lower), shape)

    def delta(self, epsilon: Number | Numbers) -> Any:
        """Return a lower bound on delta(epsilon), epsilon in nats, at the confidence for all at once."""
        flat, shape = flattened("epsilon", epsilon, -np.inf, np.inf)
        alpha, beta = self._corners
        # As in ``epsilon``: delta >= 1 - beta - e^epsilon alpha at one corner of each test.
        deltas = [np.max(np.min((1 - Bounds.of(beta) - exp(e) * alpha).lower, axis=1)) for e in flat]
        least = np.maximum((-expm1(flat)).lower, 0.0)  # of every curve
        return shaped(np.maximum(deltas, least), shape)

    def mu(self, failure: float = 0.0) -> float:
        """Return a lower bound on mu, at the confidence, of mu-GDP but for a probability ``failure``.

        The claim is f >= G_mu (x) f_{0,failure}: with s = 1 - failure, f(alpha) <= beta needs
        mu >= Phi^-1(1 - alpha/s) + Phi^-1(1 - beta/s).
        """
        s = 1 - Bounds.of(number("failure", failure, 0, 1, open_high=True))
        alpha, beta = (np.minimum((Bounds.of(side) / s).upper, 1.0) for side in self._corners)
        with np.errstate(invalid="ignore"):
            by_test = np.min(np.where(alpha < 1, -ndtri(alpha) - ndtri(beta), -np.inf), axis=1)
        best = int(np.argmax(by_test))  # every test bounds mu; floats choose the best
        if not by_test[best] > 0:
            return 0.0
        shifts = balls.normal_isf(balls.to_balls(alpha[best])) + balls.normal_isf(balls.to_balls(beta[best]))
        return max(0.0, float(np.min(balls.to_floats(shifts)[0])))

    @cached_property
    def upper(self) -> PiecewiseLinear:
        """Curve that f is at or below everywhere, with probability ``confidence``.

        Each error has a limit of its own; ``epsilon``, ``delta`` and ``mu``, which bound both errors
        together, are sharper.
        """
        alpha, beta = self._limits(error_probability(self.confidence))
        return _hull(alpha.upper, beta.upper)

    @cached_property
    def band(self) -> Tabulated:
        """Curves below and above the trade-off of the score's own tests, at the confidence.

        Only the upper one bounds :math:`f`: better tests than those of this score may exist.
        """
        alpha, beta = self._limits(error_probability(self.confidence) / 2)
        # A test between two neighbours rejects at least as many as one, and misses as many as the other.
        if self.thresholds is None:
            below = _hull(np.append(0.0, alpha.lower), np.append(beta.lower, 0.0))
        else:  # thresholds rise, and alpha falls
            below = _hull(np.append(alpha.lower, 0.0), np.append(0.0, beta.lower))
        return Tabulated(below, _hull(alpha.upper, beta.upper))

    @cached_property
    def estimate(self) -> ApproximateCurve:
        """Convex hull of the empirical errors of all thresholds, in exact fractions; not a bound."""
        n, m = self._sizes
        scores = np.sort(np.concatenate([self.null, self.alternative]), kind="stable")  # merges sorted runs
        at = scores[np.append(scores[1:] != scores[:-1], True)]
        accepted, missed = (np.searchsorted(each, at, side="right") for each in (self.null, self.alternative))
        x, y = np.append(n - accepted[::-1], n), np.append(missed[::-1], 0)
        near_hull = below_chords(x / n, y / m)  # which leaves few for the exact hull
        x, y = lower_hull(x[near_hull], y[near_hull])
        alpha, beta = ([Fraction(k, size) for k in side.tolist()] for side, size in ((x, n), (y, m)))
        return ApproximateCurve(
            PiecewiseLinear(alpha, beta),
            "empirical ROC",
            self._described,
            ("the scores order outcomes as their likelihood ratio does", "both numbers of scores grow"),
        )

    def refutes(self, claim: Any) -> Refutation:
        r"""Test whether f >= claim; the result is true where that is refuted at the confidence.

        A curve is tested for this order of the pair; of a plan or a mechanism the guarantee for both is.

        With :math:`p` and :math:`q` as in the class, while the claim :math:`g` holds :math:`q(b) \le q(g(a))`
        at each test, so :math:`t (1 - \log(t))` for the largest :math:`t = p(a)\,q(g(a))` over :math:`a` is a
        p-value. The least over the tests, times their number, is one for all: for any law of the scores, and
        for thresholds chosen after they were seen.
        """
        g, tests, (n, m) = claimed(claim), self._tests, self._sizes
        alphas, betas = g.lower.points[:2]  # where to look: nothing is proved by them

        def tails(alpha: Array) -> tuple[Array, Array]:
            """Return p(alpha), which falls with alpha, and about q(g(alpha)), which rises."""
            beta = np.interp(alpha, alphas, betas)
            return bound_tail(tests.rejected, n, alpha), bound_tail(tests.missed, m, beta)

        crossing = bracket_root(lambda x: np.subtract(*tails(expit(x))), np.zeros(len(tests.missed)))[1]
        level = np.maximum(*tails(expit(crossing)))
        chosen = np.argsort(level)[:2, None]  # the two tests that contradict the claim most, one a row
        # t is at least about level^2: p falls to less, in steps that add as much to t as a logarithm larger
        # by a 60th.
        levels = np.maximum(level[chosen] ** 2.1, MIN_TAIL) ** np.linspace(0.0, 1.0, 65)
        alpha = np.sort(largest_rate(tests.rejected[chosen], n, levels))
        p = bound_tail(tests.rejected[chosen], n, alpha)
        q = bound_tail(tests.missed[chosen], m, g.bounds(alpha).lower)
        # Between two alphas t is at most p at the first times q at the second; 1 bounds both at the ends.
        ends = np.ones((len(chosen), 1))
        t = (Bounds.of(np.hstack([ends, p])) * np.hstack([q, ends])).upper
        row = int(np.argmin(np.max(t, axis=1)))
        worst = int(np.argmax(t[row]))
        p_value = Bounds.of(joint_p_value(float(t[row, worst]))) * len(tests.missed)
        threshold = float(tests.thresholds[chosen[row, 0]]) if len(tests.thresholds) else None
        at = float(alpha[row, min(worst, 64)])
        return Refutation(g, min(float(p_value.upper), 1.0), self.confidence, at, threshold)

    @cached_property
    def _corners(self) -> tuple[Array, Array]:
        """Return the corners (alpha, beta) of rectangles, each of shape (tests, 32).

        With the confidence, for each test f(alpha) <= beta at one corner of its row at least: where p(a) lies
        between t^(k/32) and t^((k + 1)/32), q(b) is at least t^(1 - k/32).
        """
        (n, m), (_, rejected, missed) = self._sizes, self._tests
        t = joint_level(float((Bounds.of(error_probability(self.confidence)) / len(missed)).lower))
        levels = exp(log(t) * np.linspace(0.0, 1.0, 33)).lower  # they add as much as log t larger by a 32nd
        return largest_rate(rejected[:, None], n, levels[1:]), largest_rate(missed[:, None], m, levels[:0:-1])

    def _limits(self, error: float) -> tuple[Bounds[Array], Bounds[Array]]:
        """Bound a and b of every test: all upper limits but for probability ``error``, all lower ones alike.

        Each limit has an equal share of it. Lower ones are by the null scores accepted, alternative ones hit.
        """
        (n, m), (_, rejected, missed) = self._sizes, self._tests
        level = float((Bounds.of(error) / (2 * len(missed))).lower)
        # The threshold itself may be a null score: P(X <= x) is then bounded without it.
        accepted, hits = n - rejected - (self.thresholds is None), m - missed
        alpha, beta = (
            Bounds((1 - Bounds.of(largest_rate(opposite, size, level))).lower, largest_rate(k, size, level))
            for k, opposite, size in ((rejected, accepted, n), (missed, hits, m))
        )
        return alpha, beta

    def grid(self) -> TextTable:
        """Return the table that is printed, with a remedy if only the exchanged samples show a loss."""
        limits = {f"ε({delta:g})": self.epsilon(delta) for delta in (1e-5, 1e-3, 0.1)} | {"μ": self.mu()}
        head = f"{type(self).__name__}: {self._described}, confidence {exactly(self.confidence)}"
        remedy = "exchange null and alternative if larger scores favour the null"
        return tabulate_limits(head, limits, [], lambda: self._exchanged().mu(), remedy)


empirical = Empirical


class Counts(Empirical):
    """Bounds on f = T(P, Q) from how often one event happened, such as an attack's answer "member".

    The event is a test that was fixed before the runs were seen, with false positives under :math:`P` and
    true ones under :math:`Q`. ``from_counts`` is another name of the class.

    Parameters
    ----------
    null
        Pair (hits, trials) of independent runs under :math:`P`, without the record. Of a confusion matrix:
        (false positives, false positives + true negatives).
    alternative : pair (hits, trials) under :math:`Q`: (true positives, true positives + false negatives)
    confidence : probability in (0, 1) with which the bounds hold

    Examples
    --------
    >>> import tradeoff as to
    >>> audit = to.audits.from_counts(null=(40, 10_000_000), alternative=(900_000, 10_000_000))
    >>> audit
    Counts: 40 of 10000000 null and 900000 of 10000000 alternative, confidence 0.95
      ε(1e-05) ≥ 9.654
      ε(0.001) ≥ 9.643
      ε(0.1): nothing shown
      μ ≥ 3.045
    >>> bool(audit.refutes(to.Gaussian(3)))
    True
    """

    def __init__(self, null: tuple[int, int], alternative: tuple[int, int], confidence: float = 0.95) -> None:
        sides = {"null": null, "alternative": alternative}
        for name, pair in sides.items():
            if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
                raise domain(name, pair, "a pair (hits, trials)")
            trials = count(f"trials of {name}", pair[1], 1)
            sides[name] = count(f"hits of {name}", pair[0], 0, trials), trials
        counts = (rejected, n), (hits, m) = sides["null"], sides["alternative"]
        self.counts, self.confidence = counts, check_confidence(confidence)
        self.thresholds = np.empty(0)  # not None: the test was fixed, though its threshold is unknown
        self._sizes = n, m
        self._tests = Decisions(self.thresholds, np.array([rejected]), np.array([m - hits]))
        self._described = f"{rejected} of {n} null and {hits} of {m} alternative"
        self._exchanged = partial(Counts, (hits, m), (rejected, n), confidence)

    @cached_property
    def estimate(self) -> ApproximateCurve:
        """Hull of the empirical errors of the event, in exact fractions; not a bound."""
        (rejected, n), (hits, m) = self.counts
        shape = PiecewiseLinear.hull([Fraction(rejected, n)], [Fraction(m - hits, m)])
        return ApproximateCurve(shape, "one test", self._described, ("both numbers of trials grow",))


from_counts = Counts


def sort_numbers(name: str, values: Numbers) -> Array:
    """Return numbers, infinite ones allowed, in rising order, as an array that cannot be written to."""
    array = reals(name, values)
    if array.ndim != 1 or not len(array):
        raise domain(name, values, "one list of numbers", "give at least one number, in a flat list")
    if np.isnan(array).any():
        raise domain(f"{name}[{int(np.argmax(np.isnan(array)))}]", math.nan, "a number", "leave it out")
    array = np.sort(array)
    array.flags.writeable = False
    return array


def _hull(alpha: Array, beta: Array) -> PiecewiseLinear:
    """Return the lower hull of points, (0, 1) and (1, 0): a convex f at or below the points is below it."""
    points = [(whole(a), whole(b)) for a, b in zip(alpha.tolist(), beta.tolist(), strict=True)]
    result = PiecewiseLinear.of_wholes(*zip(*hull([*points, (0, ONE), (ONE, 0)]), strict=True))
    return limited(result, BOUND)


class LossSample:
    r"""Estimate of a curve, and bounds on delta, from draws of the privacy loss L = log dQ/dP.

    The bounds take the draws for exact. Draws that refute :math:`E_P[e^L] \le 1` or :math:`E_Q[e^{-L}] \le
    1`, as they do with the two arrays exchanged, are refused (draws in order with probability :math:`2 \cdot
    10^{-9}` at most). ``from_losses`` is another name of the class.

    Parameters
    ----------
    losses_under_p : independent draws under :math:`P`, in nats; one-dimensional, +inf cannot occur
    losses_under_q : independent draws under :math:`Q`, -inf cannot occur
    confidence : probability in (0, 1) with which ``delta`` holds at one loss

    Examples
    --------
    >>> import tradeoff as to
    >>> draws = np.random.default_rng(1).normal(size=10_000)
    >>> sample = to.audits.from_losses(draws - 0.5, draws + 0.5)  # of a Gaussian with mu = 1
    >>> to.Gaussian(1).delta(1.0) in sample.delta(1.0)
    True
    """

    def __init__(self, losses_under_p: Numbers, losses_under_q: Numbers, confidence: float = 0.95) -> None:
        self.under_p = sort_numbers("losses_under_p", losses_under_p)
        self.under_q = sort_numbers("losses_under_q", losses_under_q)
        self.confidence = check_confidence(confidence)
        for side, exponents, sign in (("p", self.under_p, ""), ("q", -self.under_q, "-")):
            if np.inf in exponents:
                allowed = "greater than -inf" if sign else "less than inf"
                remedy = f"L = log dQ/dP = {sign}inf has probability 0 under {side.upper()}"
                raise domain(f"losses_under_{side}", float(f"{sign}inf"), allowed, remedy)
            if _exceeds_one(exponents):
                mean = np.mean(np.exp(np.minimum(exponents, np.log(2))))
                raise DomainError(
                    f"losses_under_{side} must have a mean of e^{sign}L of at most 1, got {mean:.4g} "
                    f"for min(e^{sign}L, 2); swap losses_under_p and losses_under_q if they are exchanged, "
                    "and give L = log dQ/dP, not log dP/dQ"
                )
        self._sizes = f"{len(self.under_p)} losses under P and {len(self.under_q)} under Q"

    def __repr__(self) -> str:
        return f"LossSample: {self._sizes}, confidence {exactly(self.confidence)}"

    @cached_property
    def estimate(self) -> ApproximateCurve:
        """Hull of the empirical errors of all tests "reject where the loss is large"; not a bound."""
        result = empirical(self.under_p, self.under_q, self.confidence).estimate
        hypotheses = ("both numbers of losses grow",)
        return replace(result, name="sampled losses", source=self._sizes, hypotheses=hypotheses)

    def delta(self, epsilon: Number | Numbers) -> Bounds:
        r"""Bound delta(epsilon), epsilon in nats, on both sides; each entry alone holds at the confidence.

        :math:`\delta(\varepsilon) = E_Q (1 - e^{\varepsilon - L})_+` for :math:`\varepsilon > 0`, and
        :math:`1 - e^\varepsilon E_P \min(1, e^{L - \varepsilon})` below: means of numbers in :math:`[0, 1]`,
        bounded as in "Probability inequalities for sums of bounded random variables", Hoeffding 1963, Theorem
        1, in its entropy form: :math:`\exp(-n\,\mathrm{kl}(x, \mu))` for a mean :math:`x`.
        """
        flat, shape = flattened("epsilon", epsilon, -np.inf, np.inf)
        lower, upper = np.reshape([tuple(self._delta(each)) for each in flat.tolist()], (-1, 2)).T
        return Bounds(shaped(lower, shape), shaped(upper, shape))

    def _delta(self, epsilon: float) -> Bounds[float]:
        """Bound delta at one epsilon by the means of ``delta``."""
        if epsilon > 0:
            exponent = where(self.under_q == np.inf, -np.inf, epsilon - Bounds.of(self.under_q))
            return self._mean(clip(-expm1(exponent), 0.0, 1.0))
        exponent = where(self.under_p == -np.inf, -np.inf, Bounds.of(self.under_p) - epsilon)
        return clip(1 - exp(epsilon) * self._mean(exp(minimum(exponent, 0.0))), 0.0, 1.0)

    def _mean(self, sample: Bounds[Array]) -> Bounds[float]:
        """Bound the mean of a law on [0, 1] from n draws of it, half of the allowed error on each side.

        The true mean mu fails kl(sample mean, mu) < log(2/error)/n on one side with probability error/2.
        """
        n = len(sample.lower)
        mean = sum_rows(sample) / n
        divergence = float((log(2 / Bounds.of(error_probability(self.confidence))) / n).upper)
        most_of_rest = _largest_mean(float((1 - mean).upper), divergence)  # of 1 minus the draws
        lower = float((1 - Bounds.of(most_of_rest)).lower)
        return Bounds(lower, _largest_mean(float(mean.upper), divergence))


def _exceeds_one(exponents: Array) -> bool:
    """Refute E[e^X] <= 1 by independent draws of X, with an error of 1e-9 at most, as of six deviations.

    The mean over stakes s of prod_i (1 + s (e^x_i - 1)) has expectation 1 at most, so Markov's inequality
    holds for it ("Estimating means of bounded random variables by betting", Waudby-Smith, Ramdas 2024). At
    s = 1 it is the likelihood ratio of the draws under Q and under P.
    """
    stakes = np.geomspace(1e-3, 1.0, 7)  # from many small excesses of e^L over 1 to few large ones
    with np.errstate(over="ignore", divide="ignore"):
        excess = np.expm1(exponents)
        wealth = max(float(np.sum(np.log1p(stake * excess))) for stake in stakes)
    return wealth > math.log(len(stakes) / 1e-9)


def _largest_mean(mean: float, divergence: float) -> float:
    """Return the largest mu with kl(mean, mu) < divergence, rounded up: searched in floats, then verified.

    kl(x, mu) = x log(x/mu) + (1 - x) log((1 - x)/(1 - mu)).
    """
    x = min(max(mean, 0.0), 1.0)
    step = 1e-14  # width of the search: means are known to a millionth or worse
    mu = find_root(lambda mu: float(rel_entr(x, mu) + rel_entr(1 - x, 1 - mu)) - divergence, x, 1.0, step)
    y = 1 - Bounds.of(x)
    while mu < 1 and (x * log(Bounds.of(x) / mu) + y * log(y / (1 - Bounds.of(mu)))).lower < divergence:
        mu, step = mu + step, 2 * step
    return min(mu, 1.0)


from_losses = LossSample
