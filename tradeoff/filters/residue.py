r"""The residue filter: the part of a budget G_mu that each step leaves, for curves of any shape.

A step f leaves the largest r' with f (x) G_r' >= G_r, where G_r was left before; it is charged r^2 - r'^2.
(x) composes, delta_f is the profile of f, L = log dQ/dP the loss, and RR(l) randomised response with the
losses l and -l. How it is proved:

A symmetric f with finite losses is a mixture of RR(l) with public labels l = |L|, of weights nu. With D(eps)
= delta of f (x) G_r', the order f (x) G_r' >= G_r means D <= delta_{G_r} for eps >= 0; for eps < 0 it follows
by symmetry.

Between two evaluated points D is bounded by its curvature. D(eps) = E delta_f(eps - Y) with Y normal
of variance r'^2, so (log D)'' = -1/r'^2 + Var/r'^4 >= -1/r'^2, with the variance of the posterior of Y; and
log delta_{G_r} is concave, as a convolution of log-concave functions is log-concave (Prekopa). So log D - log
delta_{G_r} exceeds its chord over a cell of width h by at most h^2/(8 r'^2); nor by more than h^2 (v + v^2)/8
with v = 1/delta_{G_r'} - 1 at the cell's end: D' = -R and D'' >= -R, R = e^eps P(L > eps), so -(log D)'' <=
R/D + (R/D)^2; and R/D <= (1 - D)/D, which grows with eps and is at most v, as D >= delta_{G_r'}.

Far out the densities decide. With e^{l/2} dP as reference they are even, and their log-ratio is at most -a
l^2/2 + b l + c, a = 1/r'^2 - 1/r^2, b = max loss/r'^2, c = (r^2 - r'^2)/8 + log(r/r'). Where that is negative
for good, D < delta_{G_r}.

Two cases need no search. With m the difference of those densities, J(eps) = e^{-eps/2} (D - delta_{G_r}) is
the integral of 2 sinh((l - eps)/2) m(l) over l > eps, or of its negative over l < eps, as m is orthogonal to
e^{l/2} and e^{-l/2}: both are probability laws under P and under Q. J'' = J/4 + m, so where m >= 0, J has no
positive inner maximum; and where m < 0 from a point on for good, J < 0. (V) If a >= V/r'^4, V a bound on
every tilted variance of L, the log-ratio is concave, so m has the signs
    (-, +, -), and J <= 0. Losses within [-eps, eps] have V <= eps^2 (Popoviciu).
(R) For one randomised response the log-ratio on l >= 0 is a constant plus log cosh(b l) - a l^2/2. Its slope
    b tanh(b l) - a l changes sign at most once, from + to -, so m has the signs (+, -) or (-, +, -) on l >=
    0. In the first case J <= max(J(0), 0). In the second J(0) <= 0 and J'(0) = 0 (J is even) make J fall
    until m is positive. So J(0) <= 0 suffices: total variation alone decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tradeoff import balls
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.product import tensor
from tradeoff.families.approximate_dp import Identity, PureDP, TotalVariation
from tradeoff.families.gaussian import Gaussian
from tradeoff.filters.base import SLACK, Filter, gdp_mu, loss_budget, pure_loss, square, widen, widen_mu
from tradeoff.intervals.bounds import Array, Bounds
from tradeoff.intervals.functions import (
    exp,
    expm1,
    log,
    log1p,
    maximum,
    minimum,
    rational,
    sqrt,
    sum_rows,
    total,
    where,
)
from tradeoff.intervals.polygon import lower_hull
from tradeoff.mechanisms.fields import optional_delta, parameter, stateful
from tradeoff.pld.special import mills


@dataclass(frozen=True)
class Tuning:
    """Effort of the search for r': it changes how tight the bounds are, not whether they hold."""

    factors: int = 200  # charged one after the other, some seconds' work; more count as one curve
    losses: int = 2000  # labels of a mixture: evaluating it at one point then takes some 0.1 ms
    resolution: float = 2e-3  # spacing of labels over sqrt(r): their variance grows by 4e-7 of r at most
    margin: float = 2e-7  # share of r given up so that the order is strict, and provable despite rounding
    min_residual: float = 1e-3  # share of r from which r' is searched: less takes all but 1e-6 of the budget
    min_loss: float = 1e-3  # largest loss, as a share of r, at which (V) overcharges by 5e-7 of r at most
    max_loss: float = 20.0  # largest loss for which r' is searched
    budgets: tuple[float, float] = (0.01, 50.0)  # of r; below, log profiles lose the digits of the margin
    work: int = 5_000_000  # pairs of a point and a label before a check gives up: some seconds' work
    pairs: int = 200_000  # of them in memory at once: 1.6 MB an array
    cells: int = 64  # of a check, at first
    attempts: int = 12  # repairs of r' that fails a check: two in practice


_TUNING = Tuning()


class Residue(NamedTuple):
    """The guarantee G_mu (x) f_{0,delta}: a Gaussian and a failure probability."""

    mu: float
    delta: float


@stateful
class ResidueFilter(Filter):
    r"""Grant a step f while some r' >= 0 has f (x) G_r' >= G_r; the largest such r' is the budget left.

    By induction over the steps left, whatever is chosen next keeps the rest at or above :math:`G_{r'}`, so
    the step and the rest are at or above :math:`f \otimes G_{r'} \ge G_r`; the product is monotone also when
    the rest depends on the answer. The same holds for :math:`G_r \otimes f_{0,\delta}`. The computed
    :math:`r'` is within :math:`10^{-6}` of the largest, on the safe side. The guarantee includes the slack of
    both sums. ``spent``, ``remaining`` and ``budget`` are pairs :math:`(\mu, \delta)`.

    >>> from tradeoff import filters, mechanisms
    >>> budget, answers = filters.ResidueFilter(1), mechanisms.RandomizedResponse(epsilon=0.2)
    >>> while not budget.would_exceed(answers):
    ...     budget.spend(answers)
    >>> budget.steps
    23
    """

    kind = "residue"
    amounts = Residue
    cost_name = "mu with f >= G_mu, nor a bound on the losses,"
    remedy = "give the filter a delta and a step_delta, the mass that such a step may give up"

    mu: float = parameter("Budget.", "float in [1e-9, 10000]", partial(loss_budget, low=1e-9))
    delta: float = optional_delta(
        r"Failure probability of the whole interaction: the guarantee is :math:`G_\mu \otimes f_{0,\delta}`."
    )
    step_delta: float = optional_delta(
        "Mass, at most ``delta``, that a step with unbounded losses may give up, to be charged less."
    )

    def _limits(self) -> tuple[float, ...]:
        number("step_delta", self.step_delta, 0, self.delta)
        return 1.0, float((-log1p(-self.delta)).lower)  # of charges/mu^2 and -log(1 - leak), which add

    @property
    def residual(self) -> float:
        """Return the r that is left, mu sqrt(1 - sum of charges/mu^2), rounded down; the slack adds to it."""
        return float((self.mu * sqrt(1 + SLACK - rational(self.totals[0]))).lower)

    def _cost(self, curve: TradeOff) -> tuple[float, float]:
        """Return the sums over the factors of charge/mu^2 and of -log(1 - leak), rounded up.

        Gaussian factors are charged mu_k^2 and failures their mass; the others, if few, one after the other,
        else as one curve. Where losses are unbounded and f >= G_mu costs less, that is the charge.
        """
        factors = curve.factors.items()
        shares = [rational(n) * square(float(f.mu), self.mu) for f, n in factors if isinstance(f, Gaussian)]
        lost = [
            rational(n) * -log1p(-f.mass_at_infinity) for f, n in factors if isinstance(f, TotalVariation)
        ]
        rest = [(f, n) for f, n in factors if not isinstance(f, Gaussian | TotalVariation | Identity)]
        few = sum(n for _, n in rest) <= _TUNING.factors and all(math.isfinite(f.sup_loss) for f, _ in rest)
        r = self.residual
        for piece in [f for f, n in rest for _ in range(n)] if few else [tensor(rest)]:
            f = bounded(piece, self.step_delta)
            taken, log_leak = charge(f, r), -log1p(-Bounds.of(f.leak)).upper
            if f.leak > 0:  # without a leak ``charge`` is at most the square of mu
                squared_mu = square(gdp_mu(piece))
                if squared_mu < taken or math.isinf(log_leak):
                    taken, log_leak = squared_mu, 0.0
            shares.append(Bounds.of(taken) / self.mu / self.mu)
            lost.append(Bounds.of(log_leak))
            r = sqrt(max(0.0, float((Bounds.of(r) * r - taken).lower))).lower
        return float(total(shares).upper), float(total(lost).upper)

    def _in_units(self, *amounts: Bounds) -> tuple[Bounds, ...]:
        squared_share, log_failure = amounts
        return self.mu * sqrt(squared_share), -expm1(-log_failure)

    @property
    def budget(self) -> Residue:
        return Residue(self.mu, self.delta)

    def _curve(self) -> TradeOff:
        # 1 - (1 - delta)^(1 + s) <= (1 + s) delta.
        return Gaussian(widen_mu(self.mu)) @ TotalVariation(min(widen(self.delta).upper, 1.0))


@dataclass(frozen=True)
class Responses:
    """Mixture of randomised responses: public label k of weight nu_k, then RR(loss_k); losses rise from 0."""

    loss: Array
    weight: Array

    def delta(self, epsilon: Array) -> Array:
        """Return the profile, sum of nu_k (e^l_k - e^eps)_+/(1 + e^l_k), rounded down, at epsilons >= 0."""
        gap = maximum(Bounds.of(self.loss) - epsilon[:, None], 0.0)
        terms = Bounds.of(self.weight) * -expm1(-gap) / (1 + exp(-self.loss))
        return np.asarray(np.maximum(sum_rows(terms).lower, 0.0))

    def log_delta(self, epsilon: Array, mu: float) -> Array:
        """Return log D of the mixture (x) G_mu, rounded up, at epsilon >= 0 of shape (n,).

        D(eps) = sum q_j delta_{G_mu}(eps - l_j) over the losses l_k and -l_k of Q-masses nu_k/(1 + e^-l_j).
        """
        loss = np.append(self.loss, -self.loss)
        log_q = log(np.append(self.weight, self.weight)) - log1p(exp(-loss))
        terms = (log_q + log_delta((Bounds.of(epsilon[:, None]) - loss).lower, mu)).upper
        most = np.max(terms, axis=1)
        return np.asarray((most + log(sum_rows(exp(Bounds.of(terms) - most[:, None])))).upper)


def log_delta(epsilon: ArrayLike, mu: float) -> Bounds:
    """Bound log delta_{G_mu}(eps), however small, eps of any sign.

    For eps >= 0 and a = eps/mu - mu/2 it is -a^2/2 - log sqrt(2 pi) + log(R(a) - R(a + mu)), R being the
    Mills ratio (1 - Phi)/phi; and delta(-eps) = 1 - e^-eps + e^-eps delta(eps).
    """
    x = np.abs(epsilon)
    a, log_sqrt_2pi = Bounds.of(x) / mu - mu / 2, balls.to_bounds((2 * balls.pi()).log() / 2)
    positive = minimum(log(mills(a) - mills(a + mu)) - a * a / 2 - log_sqrt_2pi, 0.0)
    negative = log(exp(positive - x) - expm1(-x))
    return where(np.less(epsilon, 0), negative, positive)


def responses(f: Bounded, r: float) -> Responses | None:
    """Return a mixture of RR(l) at or below ``f``, close to it for the budget G_r; None if none is proved.

    Its profile is linear in s = e^eps between kinks at its labels l, where the slope grows by nu/(1 + e^l),
    and the profile of f is convex in s. So it is enough that the mixture's profile is at or above that of f
    at the kinks: this is checked, and nothing before that check needs to be exact.
    """
    if isinstance(f.curve, PiecewiseLinear):  # its kinks, rounded up to reach the top
        loss = np.append(0.0, (atoms := f.curve.loss_distribution().loss)[atoms > 0] * (1 + 1e-12))
    else:
        size = int(min(_TUNING.losses, 2 + f.top / (_TUNING.resolution * math.sqrt(r))))
        loss = np.linspace(0.0, f.top, size)
    # The lower hull of upper bounds still bounds a convex function.
    s, goal = lower_hull(np.exp(loss), np.minimum.accumulate(f.at(loss)))
    goal = goal + 1e-11 * goal[0] * (s[-1] - s) / (s[-1] - 1)  # room for the roundings below
    slope = np.append(np.diff(goal) / np.diff(s), 0.0)
    weight = np.maximum(np.diff(slope), 0.0) * (1 + s[1:])
    total = max(1.0, float(np.sum(weight)) * (1 + 1e-12))
    # Weights of a sum above 1 are scaled down, and losses up by as much as makes good for it at eps = 0.
    stretch = 1 + 1e-12 + 4 * (total - 1) * math.sinh(f.top) / f.top
    missing = max(0.0, 1 - math.fsum(weight / total) + 1e-15)  # or more; it has the label 0
    mixture = Responses(np.append(0.0, np.log(s[1:]) * stretch), np.append(missing, weight / total))
    below = mixture.loss[-1] >= f.top and np.all(mixture.delta(mixture.loss) >= f.at(mixture.loss))
    return mixture if below else None


@dataclass(frozen=True)
class Bounded:
    """Symmetric curve g with losses of at most ``top``, such that ``curve`` >= g (x) f_{0,leak}."""

    curve: TradeOff
    top: float
    leak: float = 0.0

    def at(self, epsilon: Array) -> Array:
        """Bound the profile of g from above: (delta - leak)/(1 - leak) below ``top``, 0 from there on."""
        delta = (self.curve.bounds.delta(epsilon) - self.leak) / (1 - Bounds.of(self.leak))
        return np.where(epsilon < self.top, np.maximum(delta.upper, 0.0), 0.0)


def bounded(curve: TradeOff, leak: float) -> Bounded:
    """Return the envelope of both orders with at most ``leak`` of its mass left out; ``top`` may be inf.

    If its losses are bounded but for a mass at infinity, that mass is left out, and else ``leak``.
    """
    both = curve.symmetrise(assume="either-order")
    epsilon, delta = pure_loss(both)
    if math.isinf(epsilon):
        epsilon, delta = both.epsilon(leak) if leak > both.mass_at_plus_infinity else math.inf, leak
    return Bounded(both, max(0.0, epsilon), delta) if epsilon < math.inf else Bounded(curve, math.inf)


@lru_cache(maxsize=256)
def charge(f: Bounded, r: float) -> float:
    """Return r^2 - r'^2, rounded up, with r' within 1e-6 of the largest; above r^2 if none is proved."""
    least = by_variance(square(f.top), r) if r > 0 and f.top < math.inf else math.inf
    if f.top <= min(_TUNING.min_loss * r, 1.0) and least < math.inf:
        return least
    # f >= G_mu leaves r'^2 = r^2 - mu^2.
    least = min(least, square(gdp_mu(PureDP(f.top) if f.leak else f.curve)))
    if f.top <= _TUNING.max_loss and _TUNING.budgets[0] <= r <= _TUNING.budgets[1]:
        if isinstance(f.curve, PureDP):
            left = pure_residual(f.top, r)
        else:
            left = residual(mixture, r) if (mixture := responses(f, r)) else 0.0
        if left > 0:
            least = min(least, float(((Bounds.of(r) - left) * (Bounds.of(r) + left)).upper))
    return least


def by_variance(variance: float, r: float) -> float:
    """Return the charge of (V), 2V/(1 + sqrt(1 - 4V/r^2)); inf if r^2 < 4V.

    a >= V/r'^4, a = 1/r'^2 - 1/r^2, means x^2/r^2 - x + V <= 0 for x = r'^2, whose greater root is r^2 minus
    the charge.
    """
    discriminant = 1 - 4 * Bounds.of(variance) / r / r
    if discriminant.lower < 0:
        return math.inf
    return float((2 * Bounds.of(variance) / (1 + sqrt(discriminant))).upper)


def pure_residual(epsilon: float, r: float) -> float:
    """Return r' of f = f_{eps,0} by (R), rounded down; 0.0 if none is proved.

    J(0) <= 0 is tanh(eps/2) + 2 delta_{G_r'}(eps)/(1 + e^eps) <= delta_{G_r}(0) = 2 Phi(r/2) - 1.
    """
    share, tanh = 2 / (1 + exp(epsilon)), -expm1(-epsilon) / (1 + exp(-epsilon))
    constant = tanh - exp(log_delta(0.0, r))

    def excess(mu: float) -> float:
        """Return the left side less the right side, rounded up."""
        return float((constant + share * exp(log_delta(epsilon, mu))).upper)

    if not (root := _crossing(excess, r, 1e-15)):
        return 0.0
    # Where rounding hides that the condition holds, a smaller r' may show it.
    candidates = (root * (1 - m) for m in (1e-13, 1e-12, 1e-10, 1e-8, 1e-6))
    return next((mu for mu in candidates if excess(mu) < 0), 0.0)


def residual(f: Responses, r: float) -> float:
    """Return r' with f (x) G_r' >= G_r proved, within 1e-6 of the largest; 0.0 if none is.

    The necessary condition D(eps) <= delta_{G_r}(eps) is solved for r' at eps = ``at``, first at 0, then
    where the check of that r' fails.
    """
    at = 0.0
    for _ in range(_TUNING.attempts):
        goal, epsilon = float(log_delta(at, r).lower), np.array([at])
        root = _crossing(lambda mu: float(f.log_delta(epsilon, mu)[0]) - goal, r, 1e-12)  # noqa: B023 - called at once
        candidate = root * (1 - _TUNING.margin)
        if not 0 < candidate < r:
            return 0.0
        violated = _violation(f, candidate, r)
        if violated is None:
            return candidate
        if violated == at:  # the next r' would be the same
            break
        at = violated
    return 0.0


def _crossing(excess: Callable[[float], float], r: float, closeness: float) -> float:
    """Return a root of an increasing function in (min_residual r, r), known to ``closeness`` r; or 0.0.

    There is none where hardly anything of the budget r is left, or where rounding hides the cost of a step.
    """
    low = _TUNING.min_residual * r
    if not excess(low) < 0 < excess(r):
        return 0.0
    from scipy.optimize import brentq  # its import takes 0.15 s

    return float(brentq(excess, low, r, xtol=closeness * r, rtol=1e-14))


def _violation(f: Responses, mu: float, r: float) -> float | None:
    """Return None if D <= delta_{G_r} is proved everywhere, else the eps where it fails, or is closest to it.

    D is the profile of f (x) G_mu. Cells of eps are halved until the excess of log D - log delta_{G_r} over
    its chords, h^2/8 times the bend min(1/mu^2, v + v^2), is below the gap at their ends.
    """

    def bound_gaps(epsilon: Array) -> Array:
        """Bound log D - log delta_{G_r} from above."""
        chunks = np.array_split(epsilon, 1 + len(epsilon) * len(f.loss) // _TUNING.pairs)
        log_d = np.concatenate([f.log_delta(chunk, mu) for chunk in chunks])
        return np.asarray((log_d - log_delta(epsilon, r)).upper)

    edges = np.linspace(0.0, reach(float(f.loss[-1]), mu, r), _TUNING.cells + 1)
    work = 0
    gaps = bound_gaps(edges)
    while np.max(gaps) <= -1e-13 and work <= _TUNING.work:  # a smaller gap takes too many cells
        v = expm1(-log_delta(edges[1:], mu))
        bend = minimum(1 / Bounds.of(mu) ** 2, v * (1 + v))
        excess = (Bounds.of(edges[1:]) - edges[:-1]) ** 2 / 8 * bend
        open_ = np.flatnonzero((np.maximum(gaps[:-1], gaps[1:]) + excess).upper > 0)
        if len(open_) == 0:
            return None
        work += len(open_) * len(f.loss)
        middle = (edges[open_] + edges[open_ + 1]) / 2
        edges = np.insert(edges, open_ + 1, middle)
        gaps = np.insert(gaps, open_ + 1, bound_gaps(middle))
    return float(edges[np.argmax(gaps)])


def reach(loss: float, mu: float, r: float) -> float:
    """Return the greater root of -a l^2/2 + b l + c, with r' = mu, rounded up: above it D < delta_{G_r}."""
    m = Bounds.of(mu)
    difference = (r - m) * (r + m)  # of squares
    a = difference / (m * r) ** 2
    b = loss / m**2
    c = difference / 8 + log(r / m)
    return float(((b + sqrt(b * b + 2 * a * c)) / a).upper)
