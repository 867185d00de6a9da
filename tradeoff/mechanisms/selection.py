"""Randomised answers, private choices, and the best of a random number of runs.

``curve()`` is one release; exact if a pair of neighbours has it, dominating if it is only below those of all.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tradeoff import balls
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import MAX_LOSS, count, number
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError, domain
from tradeoff.families.approximate_dp import Identity, approximate_dp
from tradeoff.families.approximate_dp import PureDP as PureDPCurve
from tradeoff.families.from_masses import Profile
from tradeoff.families.laplace import BoundedRange
from tradeoff.intervals.bounds import Array, Bounds
from tradeoff.intervals.functions import exp, expm1, log, log1p, maximum, minimum, rational, sum_rows
from tradeoff.intervals.roots import bracket_sides
from tradeoff.mechanisms.base import LOSS, Adjacency, Mechanism, mechanism, mechanism_field, ratio
from tradeoff.mechanisms.fields import integer, one_of, real
from tradeoff.operators.symmetrise import symmetrise

ANSWER_LOSS = "[0, 700]"  # losses with e^eps and e^-eps among the floats


@mechanism
class RandomizedResponse(Mechanism):
    r"""Answer truthfully with probability e^eps/(e^eps + k - 1), else with one of k - 1 others, uniformly.

    Exact, for replaced answers: one more record is one more answer, which shows. With
    :math:`D = e^\varepsilon + k - 1` the curve has the vertices :math:`(0, 1)`, :math:`(1/D, (k-1)/D)`,
    :math:`((k-1)/D, 1/D)`, :math:`(1, 0)`: above :math:`f_{\varepsilon,0}` for :math:`k > 2`, where they are
    rounded to floats below (some :math:`10^{-16}` in :math:`\beta`), and equal to it for :math:`k = 2`
    (Kairouz, Oh, Viswanath 2015).

    >>> RandomizedResponse(epsilon=0.3).curve()
    f_{0.3,0}
    >>> RandomizedResponse(flip=0.25).curve()
    f_{1.09861,0}
    >>> many = RandomizedResponse(epsilon=1, categories=10).curve()
    >>> many.delta(0) < PureDP(epsilon=1).guarantee().delta(0)
    True
    """

    epsilon: float | None = real(
        "Log ratio of the true answer to any other, in nats.", ANSWER_LOSS, default=None
    )
    categories: int = integer("Number :math:`k` of possible answers.", 2, default=2)
    flip: float | None = real(
        r"Probability :math:`(k - 1)/(e^\varepsilon + k - 1)` of an answer that is not true, at most "
        r":math:`(k - 1)/k`, instead of ``epsilon``.",
        "(0, 1)",
        default=None,
    )

    def _check(self) -> None:
        if (self.epsilon is None) is (self.flip is None):
            raise DomainError("give either epsilon or flip")
        most = 1 - 1 / self.categories
        if self.flip is not None and not self.flip * self.categories <= self.categories - 1:
            raise domain("flip", self.flip, f"in (0, {most:g}]", "above it the other answers are more likely")
        self.curve()

    def curve(self) -> TradeOff:
        loss, others = self.epsilon, self.categories - 1
        if loss is None:
            flip = balls.to_ball(self.flip)
            loss = number("epsilon", balls.upper_float(abs(balls.log(others * (1 - flip) / flip))), 0, 700)
        if loss == 0:
            return Identity()
        if self.categories == 2:
            return PureDPCurve(loss)
        total = balls.exp(balls.to_ball(loss)) + others
        return three_losses(loss, 1 / total, others / total)


@mechanism
class PureDP(Mechanism):
    """Any mechanism of which only epsilon-DP is known: f_{eps,0}, the least private curve it may have.

    Dominating (Dong, Roth, Su 2022, Proposition 2.5).

    >>> PureDP(epsilon=0.3).curve()
    f_{0.3,0} (not exact)
    """

    exact = False
    epsilon: float = real("Loss in nats, for every ordered pair of neighbours.", LOSS)

    def curve(self) -> TradeOff:
        return PureDPCurve(self.epsilon)


@mechanism
class ApproximateDP(Mechanism):
    """Any mechanism known to be (epsilon, delta)-DP only: f_{eps,delta}, the least private curve it may have.

    Dominating (Dong, Roth, Su 2022, Proposition 2.5).

    >>> ApproximateDP(epsilon=1, delta=0.25).guarantee().delta(1.0) >= 0.25
    True
    """

    exact = False
    epsilon: float = real("Loss in nats, for every ordered pair of neighbours.", LOSS)
    delta: float = real("Probability of failure.", "[0, 1]")

    def _check(self) -> None:
        if 0 < self.epsilon <= 1e-3 and self.delta > 0.1:
            remedy = "are epsilon and delta swapped? if not, give an epsilon above 1e-3"
            raise domain("delta", self.delta, "at most 0.1 for 0 < epsilon <= 1e-3", remedy)

    def curve(self) -> TradeOff:
        return approximate_dp(self.epsilon, self.delta)


@mechanism
class SubsetSelection(Mechanism):
    r"""A random subset of all answers, e^eps times as likely if it contains the true one.

    Exact: the corners of the curve are

    .. math::

       \left(\frac{d(k - d)}{(k - 1) D},\; \frac{d(d - 1) e^\varepsilon + (k - 1)(k - d)}{(k - 1)
       D}\right)

    and its mirror image, :math:`D = d e^\varepsilon + k - d`, from the shares of subsets that contain one
    answer and not the other (the mechanism: Wang et al. 2016; Ye, Barg 2018). Size 1 is randomised response.

    >>> SubsetSelection(epsilon=1, categories=10, size=3).curve()
    PL[(0, 1), (0.153966, 0.581477), (0.581477, 0.153966), (1, 0)]
    """

    epsilon: float = real("Loss in nats.", ANSWER_LOSS)
    categories: int = integer("Number :math:`k` of possible answers.", 2)
    size: int = integer(
        r"Size :math:`d` of the subset, below :math:`k`; the optimum is near :math:`k/(e^\varepsilon + 1)`."
    )

    def _check(self) -> None:
        count("size", self.size, 1, self.categories - 1)

    def curve(self) -> TradeOff:
        k, d, r = self.categories, self.size, balls.exp(balls.to_ball(-self.epsilon))
        total = (d + (k - d) * r) * (k - 1)  # D (k - 1) e^-eps, which no loss makes too large
        return three_losses(
            self.epsilon, d * (k - d) * r / total, (d * (d - 1) + (k - 1) * (k - d) * r) / total
        )


@mechanism
class Rappor(Mechanism):
    r"""A record as a vector of bits, each flipped independently: RAPPOR; with one hash, unary encoding.

    Exact: :math:`f_{\varepsilon/2h,0}^{2h}`, for the permanent answers (Erlingsson, Pihur, Korolova 2014,
    Theorem 1, where :math:`e^{\varepsilon/2h} = (1 - f/2)/(f/2)`); answers that are drawn from these again
    are post-processing.

    >>> Rappor(epsilon=2).curve() == PureDP(1).curve() ** 2
    True
    """

    epsilon: float = real("Loss of the whole answer in nats.", ANSWER_LOSS)
    hashes: int = integer(
        "Number :math:`h` of bits a record sets; two records differ in at most :math:`2h` bits, each kept "
        r"with the odds :math:`e^{\varepsilon/2h}` to 1.",
        default=1,
    )

    def curve(self) -> TradeOff:
        return PureDPCurve(ratio(self.epsilon, 2 * self.hashes)) ** (2 * self.hashes)


@mechanism
class Staircase(Mechanism):
    r"""Staircase noise on a query: density falling by e^eps a step, steps as wide as the sensitivity.

    Exact (Geng, Viswanath 2016; the steps in units of the sensitivity): shifts up to the sensitivity lose
    :math:`-\varepsilon`, 0 or :math:`\varepsilon`, so that a curve is known by its total variation,
    :math:`P(\lvert x\rvert < \text{shift}/2)`, which grows with the shift. With :math:`r = e^{-\varepsilon}`
    and :math:`D = \gamma + r (1 - \gamma)` the corner is :math:`(r (\gamma + (1/2 - \gamma) r)/D, r/2D)` for
    :math:`\gamma \le 1/2`, else :math:`(r/2D, (\gamma - 1/2 + r (1 - \gamma))/D)`. It is
    :math:`f_{\varepsilon,0}` at :math:`\gamma = 1/2` alone.

    >>> Staircase(epsilon=1).guarantee().delta(0) < PureDP(1).guarantee().delta(0)
    True
    """

    epsilon: float = real("Loss in nats: the log ratio of neighbouring steps.", ANSWER_LOSS)
    gamma: float | None = real(
        "Share of a step by which the top one is wider to either side; by default "
        r":math:`1/(1 + e^{\varepsilon/2})`, which has the least mean size.",
        "[0, 1]",
        default=None,
    )

    def curve(self) -> TradeOff:
        if self.gamma == 0.5:
            return PureDPCurve(self.epsilon)
        loss = balls.to_ball(self.epsilon)
        r = balls.exp(-loss)
        gamma = 1 / (1 + balls.exp(loss / 2)) if self.gamma is None else balls.to_ball(self.gamma)
        least = gamma + r * (1 - gamma)
        p, rest = (gamma + (0.5 - gamma) * r) / least * r, r / 2 / least
        if self.gamma is not None and self.gamma > 0.5:
            p, rest = rest, (gamma - 0.5 + r * (1 - gamma)) / least
        return three_losses(self.epsilon, p, rest)


def three_losses(epsilon: float, p: balls.Balls, rest: balls.Balls) -> TradeOff:
    """Return the symmetric curve with the losses -eps, 0 and eps, its vertices rounded to floats below it.

    ``p`` is the mass under P of the greatest loss, ``rest`` the mass under Q of the others.
    """
    if epsilon < 1e-9:  # vertices near 1/2 round such a loss away: f_{eps,0} is lower
        return PureDPCurve(epsilon) if epsilon else Identity()
    low, high = sorted((balls.lower_float(p), balls.lower_float(rest)))
    return PiecewiseLinear([0.0, low, high, 1.0], [1.0, high, low, 0.0])


@mechanism
class ExponentialMechanism(PureDP):
    r"""Choice with probability proportional to e^(eps u/(2 Delta)), u the utility, Delta its sensitivity.

    Dominating, and the best bound on one choice: the losses of a pair of neighbours lie in
    :math:`[t - \varepsilon, t]` for some :math:`t` in :math:`[0, \varepsilon]`, a bounded range (Durfee,
    Rogers 2019), and the curve is the hull of the minimum over :math:`t` (``BoundedRange``). As it is below
    the curve of every :math:`t`, products of it hold also where each :math:`t` is chosen in view of earlier
    answers. Below 1e-12 and above 700 nats it is :math:`f_{\varepsilon,0}`, which is lower. Where utilities
    can only rise, or only fall, the weights :math:`e^{\varepsilon u/\Delta}` have the same loss.

    >>> round((ExponentialMechanism(epsilon=0.1).curve() ** 100).epsilon(1e-6), 4)
    2.6118
    >>> round((PureDP(0.1).curve() ** 100).epsilon(1e-6), 4)
    4.7746
    """

    def curve(self) -> TradeOff:
        if self.epsilon == 0:
            return Identity()
        # Losses outside are negligible, or their e^eps is not a float.
        return BoundedRange(self.epsilon) if 1e-12 <= self.epsilon <= 700 else super().curve()


@mechanism
class ReportNoisyMax(PureDP):
    r"""Index of the largest utility after independent noise on each, of scale 2 Delta/eps.

    Dominating. Gumbel noise is the exponential mechanism, and has its curve (Durfee, Rogers 2019).
    Exponential noise is permute-and-flip (Ding et al. 2021), and of it and of Laplace noise (Dwork, Roth
    2014, Claim 3.9) only pure DP is proved. Where utilities can only rise, or only fall, the scale
    :math:`\Delta/\varepsilon` has the same loss.

    >>> ReportNoisyMax(epsilon=1, noise="laplace").curve()
    f_{1,0} (not exact)
    """

    noise: str = one_of("Law of the noise.", "gumbel", "laplace", "exponential", default="gumbel")

    def curve(self) -> TradeOff:
        return ExponentialMechanism(self.epsilon).curve() if self.noise == "gumbel" else super().curve()


@mechanism
class PermuteAndFlip(PureDP):
    r"""Candidates in random order, each taken with probability e^(eps (u - max u)/(2 Delta)).

    Dominating: pure DP only (McKenna, Sheldon 2020). If two candidates exchange their utilities, the losses
    are :math:`\pm\log(2 e^{\varepsilon/2} - 1)`, a range above :math:`\varepsilon`: the curve of the
    exponential mechanism would not be safe.

    >>> PermuteAndFlip(epsilon=1).curve()
    f_{1,0} (not exact)
    """


@mechanism
class AboveThreshold(PureDP):
    r"""Index of the first query above a noisy threshold: the sparse vector technique up to its first stop.

    Dominating: pure DP, however many queries lie below the threshold (Dwork, Roth 2014, Theorem 3.23; of the
    variants in print several are not private, Lyu, Su, Li 2017). The noise is :math:`2\Delta/\varepsilon` on
    the threshold and :math:`4\Delta/\varepsilon` on every query. Count it once for every stop, after which
    the noise on the threshold is drawn anew.

    >>> AboveThreshold(epsilon=0.5).curve()
    f_{0.5,0} (not exact)
    """


@mechanism
class RepeatAndSelect(PureDP):
    r"""Best of a random number of runs of one eps-DP mechanism, as in the private choice of hyperparameters.

    Dominating: :math:`f_{(2 + \eta)\varepsilon, 0}` (Papernot, Steinke 2022, Corollary 3; Liu, Talwar 2019
    for :math:`\eta = 1`). With :math:`x` the probability of a run at most as good as :math:`y`, the outcome
    :math:`y` has density :math:`x' (1 - (1 - \gamma) x)^{-1 - \eta}` up to a constant, and either factor
    changes by at most :math:`e^\varepsilon` between neighbours, once and :math:`1 + \eta` times. The mean
    number of runs does not matter.

    >>> RepeatAndSelect(epsilon=0.1, shape=1).curve()
    f_{0.3,0} (not exact)
    """

    epsilon: float = real("Loss of one run in nats.", LOSS)
    shape: float = real(
        r"Shape :math:`\eta` of the truncated negative binomial law of the number of runs: 0 logarithmic, "
        "1 geometric.",
        "(-1, inf)",
        default=1.0,
    )

    def _check(self) -> None:
        self.curve()

    def curve(self) -> TradeOff:
        loss = rational((2 + Fraction(self.shape)) * Fraction(self.epsilon)).upper
        return PureDPCurve(number("(2 + shape) epsilon", loss, 0, MAX_LOSS))


@mechanism
class BestOfRuns(Mechanism):
    r"""Best of a random number of runs of one mechanism, as in the private choice of hyperparameters.

    Dominating. Let :math:`g(u) = \varphi'(1 - u)/m`, :math:`\varphi` the generating function of the number of
    runs and :math:`m` its mean: :math:`(1 + c u)^{-1 - \eta}` for a truncated negative binomial number,
    :math:`c = 1/\gamma - 1`; :math:`e^{-m u}` for a Poisson one; :math:`(1 - m u/n)^{n - 1}` for a binomial
    one of :math:`n` trials. Ties are broken by an independent uniform number, which loses nothing. One run
    has laws :math:`P` and :math:`Q`, and :math:`P(u)`, :math:`Q(u)` is the probability of a better run than
    :math:`y`; the best of all has at :math:`y` the density :math:`m g(P(u))\,dP`, or :math:`m g(Q(u))\,dQ`.
    As :math:`g` falls, and the curve :math:`f` of one run has :math:`P(u) \le 1 - f(Q(u))`, its
    :math:`\delta(\varepsilon)` is at most

    .. math::

       m\,E_Q\left[(g(a) - e^{\varepsilon - L} g(1 - f(a)))_+\right], \quad L = \log\frac{dQ}{dP},
       \quad a = Q(u),

    and for any dependence of :math:`a` and :math:`L` at most :math:`m\,E_Q \psi(e^{\varepsilon - L})`,
    :math:`\psi(w) = \sup_a (g(a) - w g(1 - f(a)))_+`. This is convex and falls to 0 at the largest ratio
    :math:`W` of :math:`g(a)` to :math:`g(1 - f(a))`; chords between knots :math:`w_k` are above it, and make
    it :math:`\sum_k v_k (w_k - w)_+` with :math:`v_k \ge 0`, whose expectation is that of hockey sticks:

    .. math::

       \delta(\varepsilon) \le m \sum_k v_k w_k \delta_f(\varepsilon - \log(w_k)).

    The one chord from :math:`\psi(0) = 1` to :math:`W` leaves :math:`m\,\delta_f(\varepsilon - \log(W))`, the
    bound of Koskela, Redberg, Wang 2024; and as :math:`(x - y)_+ \le x^t y^{1-t}` for :math:`t > 1`,
    :math:`\psi(w) \le w^{1-t} \sup_a g(a)^t g(1 - f(a))^{1-t}` leads to those by Renyi divergences of
    Papernot, Steinke 2022. No run at all has the same probability in both laws, and adds nothing for
    :math:`\varepsilon \ge 0`; :math:`f` is the envelope of both orders, so that both are bounded.

    >>> from tradeoff.mechanisms import Gaussian
    >>> round(BestOfRuns(Gaussian(noise_multiplier=4), mean=10).guarantee().epsilon(1e-6), 1)
    1.6
    """

    exact = False
    mechanism: Mechanism = mechanism_field(
        "One run, with hyperparameters and samples drawn anew; its results have a total order."
    )
    mean: float = real(
        "Expected number of runs, at least 1 unless it is a Poisson or binomial number, which may be 0.",
        "(0, 1e12]",
    )
    shape: float = real(
        r"Shape :math:`\eta` of the truncated negative binomial law of the number of runs: 0 logarithmic, "
        "1 geometric; inf for a Poisson number.",
        "(-1, inf]",
        default=1.0,
    )
    trials: int | None = integer(
        "Number of trials of a binomial number of runs, above ``mean``, instead of ``shape``.", default=None
    )

    def _check(self) -> None:
        if self.trials is not None:
            number("mean", self.mean, 0, self.trials, open_high=True)
            if self.shape != 1:
                raise domain("shape", self.shape, "left out with trials")
        elif self.shape < math.inf:
            number("mean", self.mean, 1, 1e12)

    order = "symmetric"

    @property
    def adjacency(self) -> Adjacency | None:
        return self.mechanism.adjacency

    @property
    def sized(self) -> bool:
        return self.mechanism.sized

    def curve(self) -> TradeOff:
        run = symmetrise(self.mechanism.curve(), assume="either-order")
        f: TradeOff = run.lower if run.composed else run  # hundreds of losses are evaluated
        if f.delta(0.0) == 0:
            return Identity()
        leak = f.mass_at_infinity.upper
        end = float(np.clip(f.epsilon(min(max(1e-40, 2 * leak), 1.0)), 1e-9, 700.0))  # floats hold e^700
        knots, weights, rest = self._chords(f, end)

        def bound_delta(losses: Array) -> Array:
            """Bound the sum of the docstring from above; delta_f falls, so its losses are rounded down."""
            sticks = Bounds.of(f.delta((Bounds.of(losses[:, None]) - log(knots)).lower))
            return np.asarray(minimum(sum_rows(sticks * weights) + rest, 1.0).upper)

        # From ``far`` on the sum is constant, and about ``last`` it is negligible, or before.
        last, far = (min((x + math.log(knots[-1])) * (1 + 1e-12), 700.0) for x in (end, f.sup_loss))
        losses = np.linspace(0.0, last, 65)
        is_small = bound_delta(losses) <= 2 * max(1e-30, rest, self.mean * leak)
        losses = np.append(np.linspace(0.0, np.min(losses[is_small], initial=last), 257), far)
        curve = Profile.from_epsilon_delta(zip(losses, bound_delta(losses), strict=True))
        return limited(curve, BOUND, f.assumptions)

    def _chords(self, f: TradeOff, end: float) -> tuple[Array, Array, float]:
        """Return knots w_k, m v_k w_k rounded up, and m times the largest g of the cells left out.

        Lines d + s a above 1 - f(a), of s = e^eps for eps from ``end`` to -``end``, and 1, are used on cells
        of a between their crossings, in which log g falls by 1/50 at most. There g(a)/g(d + s a), a power of
        a ratio of linear functions or of its limit, is monotone: at most its value r at an end of the cell,
        and g(a) - w g(1 - f(a)) is at most g at the start times 1 - w/r. Cells where g is below e^-92, or r
        above e^600, add no more than their g.
        """
        losses = np.linspace(end, -end, 1025)
        s, d = np.append(exp(losses).upper, 0.0), np.append(f.delta(losses), 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            crossings = np.clip(np.nan_to_num(np.diff(d) / -np.diff(s)), 0.0, 1.0)
        crossings, grid = np.maximum.accumulate(crossings), np.append(0.0, np.geomspace(1e-20, 1.0, 2000))
        levels = np.interp(np.arange(0.0, 92.0, 0.02), -self._log_g(Bounds.of(grid)).lower, grid)
        edges = np.unique(np.concatenate([[0.0, 1.0], crossings, levels]))
        line = np.searchsorted(crossings, edges[:-1], side="right")  # the lowest in each cell
        log_g = [self._log_g(Bounds.of(a)) for a in (edges[:-1], edges[1:])]
        log_ratios = [
            (log_of_a - self._log_g(d[line] + Bounds.of(a) * s[line])).upper
            for log_of_a, a in zip(log_g, (edges[:-1], edges[1:]), strict=True)
        ]
        log_r, log_start = np.nan_to_num(np.maximum(*log_ratios), nan=np.inf), log_g[0].upper
        used = (log_r < 600) & (log_start > -92)
        rest = float((exp(np.max(log_start[~used], initial=-np.inf)) * self.mean).upper)
        if not used.any():
            return np.ones(1), np.zeros(1), rest
        log_start, log_r = log_start[used], log_r[used]
        # Knots: where cells with g above a level end to count, evenly, and close to the last, where psi is 0.
        last = np.max(log_r)
        ends = [np.max(log_r[log_start >= -x], initial=0.0) for x in np.geomspace(0.03, 92, 40)]
        log_w = np.concatenate([ends, np.arange(0.0, last, 0.5), last - np.geomspace(0.02, 8, 8)])
        log_w = np.unique(np.round(log_w[log_w < last - 1e-5], 5))  # closer knots have slopes of noise
        w = np.concatenate([[0.0], np.exp(log_w), [exp(last).upper]])
        inner = [np.max((exp(log_start) * (1 - x * exp(-log_r))).upper, initial=0.0) for x in w[1:-1]]
        psi = np.array([1.0, *inner])  # upper bounds at all knots but the last
        v = np.maximum(np.diff(np.append(np.diff([*psi, 0.0]) / np.diff(w), 0.0)), 0.0)
        # v is the rise of slopes at a knot. The sum of rounded terms is scaled to at least psi at every knot.
        sums = sum_rows(maximum(Bounds.of(w[1:]) - w[:-1, None], 0.0) * v).lower
        factor = Bounds.of(np.max((Bounds.of(psi) / sums).upper[psi > 0])) * self.mean
        return w[1:], (factor * v * w[1:]).upper, rest

    def _log_g(self, u: Bounds) -> Bounds:
        """Bound log g(u), of the three laws in the docstring of the class."""
        if self.trials is not None:
            return (self.trials - 1) * log1p(-(Bounds.of(self.mean) / self.trials) * u)
        if math.isinf(self.shape):
            return -self.mean * u
        return -(1 + Bounds.of(self.shape)) * log1p(expm1(_log_gamma(self.mean, self.shape)) * u)


@lru_cache(maxsize=64)
def _log_gamma(mean: float, shape: float) -> Bounds:
    """Bound t = log(1/gamma) with mean eta (e^t - 1)/(1 - e^(-eta t)), which grows with t."""
    if mean == 1:
        return Bounds.of(0.0)

    def mean_runs(log_t: Array) -> Bounds:
        t = np.exp(np.minimum(log_t, 6.0))  # e^t is a float, above all means
        return expm1(t) / t if shape == 0 else shape * expm1(t) / -expm1(-shape * Bounds.of(t))

    low, high = bracket_sides(lambda log_t: -mean_runs(log_t), np.array([-mean]))
    if math.isinf(high[0]):
        raise DomainError(
            f"mean = {mean!r} with shape = {shape!r} is out of range; give a smaller mean, or a larger shape"
        )
    return Bounds(float(np.exp(low[0])), float(np.exp(high[0])))
