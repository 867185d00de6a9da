"""Textbook composition by (epsilon, delta), concentrated and Renyi privacy, and textbook noise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.balls import exact_fraction, exp, precision, to_ball
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import MAX_LOSS, MOST, choice, count, epsilon_delta_pairs, number
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.display import exactly, rounded
from tradeoff.errors import DomainError, domain
from tradeoff.families.approximate_dp import TotalVariation, approximate_dp
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import expm1, log, log1p, rational, sqrt, total
from tradeoff.intervals.roots import bracket_root
from tradeoff.operators.symmetrise import Envelope

__all__ = [
    "Baseline",
    "Calibration",
    "advanced_composition",
    "basic_composition",
    "classical_gaussian",
    "exact_gaussian",
    "laplace_advanced",
    "laplace_basic",
    "optimal_composition",
    "renyi_route",
    "zcdp_route",
]


@dataclass(frozen=True)
class Baseline:
    r"""An (epsilon, delta) guarantee with the theorem it comes from; ``epsilon`` is an upper bound, in nats.

    Parameters
    ----------
    epsilon, delta : the guarantee: a loss in nats, and a probability
    name, source, hypotheses : name of the theorem, its paper, and its conditions
    one_order : whether :math:`\delta(\varepsilon)` is bounded in one order of the pair only

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.basic_composition(0.1, n=10)
    (1.00001, 0.0)-DP by basic composition
    """

    epsilon: float
    delta: float
    name: str
    source: str
    hypotheses: tuple[str, ...] = ()
    one_order: bool = False

    def guarantee(self) -> TradeOff:
        r"""Return a certified curve.

        It is :math:`f_{\varepsilon,\delta}`; of one order :math:`1 - \delta - e^\varepsilon \alpha` alone.
        """
        if self.epsilon > MAX_LOSS:
            return TotalVariation(1.0)  # no privacy
        both = limited(approximate_dp(self.epsilon, self.delta), BOUND)
        if not self.one_order or self.delta >= 1:
            return both
        height = (1 - Bounds.of(self.delta)).lower
        with precision(53):  # a fraction: e^-eps may be too small for a float
            foot = exact_fraction((exp(-to_ball(self.epsilon)) * height).lower()) or 0
        return limited(PiecewiseLinear([0, foot], [Fraction(height), 0]), BOUND)

    def __repr__(self) -> str:
        short = (float(f"{x:.6g}") for x in (self.epsilon, self.delta))
        epsilon, delta = (
            near if near == x else float(rounded(x, "upper", 6))
            for near, x in zip(short, (self.epsilon, self.delta), strict=True)
        )
        return f"({epsilon}, {delta})-DP by {self.name}"


Form = Literal["heterogeneous", "k-fold"]
Conversion = Literal["bun-steinke", "optimal"]

_ADAPTIVE = "parameters fixed in advance; mechanisms may be chosen adaptively"


def basic_composition(epsilon: ArrayLike, delta: ArrayLike = 0.0, *, n: Any = 1) -> Baseline:
    r"""Add up losses and failures: :math:`(\sum_j \varepsilon_j,\, \sum_j \delta_j)`.

    Parameters
    ----------
    epsilon, delta : losses in nats, from 0, and probabilities in [0, 1], one a mechanism; they broadcast
    n : how often the whole list is composed

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.basic_composition([0.5, 0.25], 1e-6)
    (0.75, 2e-06)-DP by basic composition
    """
    e, d = epsilon_delta_pairs(epsilon, delta)
    times = rational(count("n", n, 0, MOST))
    loss, failure = (times * total(e)).upper, min((times * total(d)).upper, 1.0)
    return Baseline(loss, failure, "basic composition", "Dwork, Roth 2014, Theorem 3.16", (_ADAPTIVE,))


def advanced_composition(
    epsilon: ArrayLike, delta: ArrayLike = 0.0, *, n: Any = 1, slack: Any, form: Form = "heterogeneous"
) -> Baseline:
    r"""Compose with a square root of the sum of squared losses, :math:`V = \sum_j \varepsilon_j^2`.

    Parameters
    ----------
    epsilon, delta, n : as in ``basic_composition``
    slack : probability :math:`\delta'` in (0, 1) paid for the square root
    form
        ``"heterogeneous"``: :math:`\varepsilon = V/2 + \sqrt{2 \log(1/\delta') V}` at
        :math:`\delta = \delta' + \sum_j \delta_j`. ``"k-fold"``: for k equal mechanisms, :math:`\varepsilon =
        \sqrt{2 k \log(1/\delta')} \, \varepsilon_0 + k \varepsilon_0 (e^{\varepsilon_0} - 1)`.

    Notes
    -----
    Heterogeneous: pure :math:`\varepsilon_j`-DP is :math:`\varepsilon_j^2/2`-zCDP (Bun, Steinke 2016), and
    the Gaussian tail of the loss. k-fold: Dwork, Rothblum, Vadhan 2010 (Dwork, Roth 2014, Theorem 3.20).
    Neither is below basic composition for few or lossy mechanisms.

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.advanced_composition(0.1, n=100, slack=1e-6)
    (5.75653, 1e-06)-DP by advanced composition
    >>> to.baselines.advanced_composition(0.1, n=100, slack=1e-6, form="k-fold")
    (6.30824, 1e-06)-DP by advanced composition, k-fold
    """
    e, d = epsilon_delta_pairs(epsilon, delta)
    times, paid = rational(count("n", n, 0, MOST)), _probability("slack", slack)
    choice("form", form, get_args(Form))
    failure = min((paid + times * total(d)).upper, 1.0)
    squares = times * total(map(Bounds, *(Bounds.of(e) ** 2)))
    root = sqrt(-2 * log(paid) * squares)
    if form == "heterogeneous":
        source = "Bun, Steinke 2016, with the sub-Gaussian tail of the loss"
        loss = (squares / 2 + root).upper
        return Baseline(loss, failure, "advanced composition", source, (_ADAPTIVE,))
    if len(e) and (e[0] != e).any():
        raise DomainError(
            f"epsilon must be one number for the k-fold form, got {epsilon!r}; use form='heterogeneous'"
        )
    drift = times * len(e) * (e[0] * expm1(e[0]) if len(e) else 0.0)
    name, source = "advanced composition, k-fold", "Dwork, Roth 2014, Theorem 3.20"
    return Baseline((root + drift).upper, failure, name, source, (_ADAPTIVE, "equal epsilon"))


def optimal_composition(epsilon: Any, delta: Any = 0.0, *, n: Any, at_delta: Any) -> Baseline:
    r"""Compose n equal (epsilon, delta)-DP mechanisms optimally: the least epsilon of all at ``at_delta``.

    Parameters
    ----------
    epsilon, delta : loss in nats and probability of one mechanism
    n : how many, an integer from 0
    at_delta
        Probability of the result, in (0, 1) and at least :math:`1 - (1 - \delta)^n`. In floats that formula
        may round to just below its value, where epsilon is infinite; give slightly more.

    Notes
    -----
    Kairouz, Oh, Viswanath 2015, Theorem 3.3:
    :math:`f_{\varepsilon,0}^{\otimes n} \otimes f_{0,\delta}^{\otimes n}`, whose dual is solved exactly. For
    unequal mechanisms the optimum is #P-hard (Murtagh, Vadhan 2016); compose the curves instead.

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.optimal_composition(0.1, n=100, at_delta=1e-6)
    (4.77457, 1e-06)-DP by optimal composition
    """
    n, target = count("n", n, 0, MOST), _probability("at_delta", at_delta)
    e, d = number("epsilon", epsilon, 0, open_high=True), number("delta", delta, 0, 1)
    result = (approximate_dp(e, d) ** n).epsilon(target)
    name, source = "optimal composition", "Kairouz, Oh, Viswanath 2015, Theorem 3.3"
    return Baseline(max(float(result), 0.0), target, name, source, (_ADAPTIVE, "equal epsilon and delta"))


# Orders tried by default: every one gives a valid epsilon, the least of them is reported.
ORDERS = (1.25, 1.5, 1.75, 2.0, 2.5, *map(float, (3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 128, 256)))

_CKS = "Canonne, Kamath, Steinke 2020, Proposition 12"
_positive = partial(number, low=0, open_low=True, open_high=True)
_probability = partial(_positive, high=1)


def zcdp_route(rho: Any, delta: Any, *, conversion: Conversion = "optimal") -> Baseline:
    r"""Convert rho-zCDP into (epsilon, delta)-DP.

    Parameters
    ----------
    rho
        Parameter, at least 0; sums compose. :math:`\mu`-GDP is :math:`\mu^2/2`-zCDP, :math:`\varepsilon`-DP
        is :math:`\varepsilon^2/2`-zCDP.
    delta : probability in (0, 1)
    conversion
        ``"bun-steinke"``: :math:`\varepsilon = \rho + 2 \sqrt{\rho \log(1/\delta)}`. ``"optimal"``: the
        least, over orders :math:`a > 1`, of
        :math:`a \rho + \log(1 - 1/a) + (\log(1/\delta) - \log\, a)/(a - 1)`.

    Notes
    -----
    Bun, Steinke 2016, Proposition 1.3; Canonne, Kamath, Steinke 2020, Proposition 12. Any order gives a valid
    epsilon, so the search need not be exact.

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.zcdp_route(0.5, 1e-5, conversion="bun-steinke")
    (5.29853, 1e-05)-DP by zCDP
    >>> to.baselines.zcdp_route(0.5, 1e-5)
    (4.72839, 1e-05)-DP by zCDP, optimal conversion
    """
    rho, target = number("rho", rho, 0, open_high=True), _probability("delta", delta)
    choice("conversion", conversion, get_args(Conversion))
    simple = (rho + 2 * sqrt(-rho * log(target))).upper
    if conversion == "bun-steinke" or rho == 0:
        return Baseline(simple, target, "zCDP", "Bun, Steinke 2016, Proposition 1.3", ("rho-zCDP",))
    from scipy.optimize import minimize_scalar

    # At a - 1 = sqrt(log(1/delta)/rho) the simple bound is met; the optimum is not far from it.
    start = 0.5 * (math.log(-math.log(target)) - math.log(rho))
    best = minimize_scalar(
        lambda u: converted(rho * (1 + Bounds.of(math.exp(u))), math.exp(u), target),
        bounds=(start - 6, start + 6),
        method="bounded",
    )
    least = min(simple, max(float(best.fun), 0.0))
    return Baseline(least, target, "zCDP, optimal conversion", _CKS, ("rho-zCDP",))


def renyi_route(curve: TradeOff, delta: Any, *, orders: Iterable[float] = ORDERS) -> Baseline:
    r"""Convert the Renyi divergences of a composition, added order by order, into (epsilon, delta)-DP.

    Parameters
    ----------
    curve
        A curve or product of either order, or the either-order envelope, whose larger divergence is taken.
        Divergences are upper bounds by quadrature of the loss, for subsampled factors too (the moments
        accountant without its lemma). The bound is on delta of T(P, Q): for a curve that is not symmetric
        ``guarantee()`` holds in that order alone.
    delta : probability in (0, 1)
    orders : orders :math:`a > 1`

    Notes
    -----
    Canonne, Kamath, Steinke 2020, Proposition 12:
    :math:`\varepsilon = D_a + \log(1 - 1/a) + (\log(1/\delta) - \log\, a)/(a - 1)`.

    Examples
    --------
    >>> import tradeoff as to
    >>> step = to.subsample(to.Gaussian(1 / 0.8), 0.005)
    >>> to.baselines.renyi_route(step**1000, 1e-6)
    (2.64401, 1e-06)-DP by Renyi route
    """
    target = _probability("delta", delta)
    listed = orders if np.iterable(orders) else ()
    checked = [number("order", a, 1, open_low=True, open_high=True) for a in listed]
    if not checked:
        raise domain("orders", orders, "a list of orders above 1")
    result = min(converted(renyi_divergence(curve, a), a - 1, target) for a in checked)
    hypotheses = ("divergences of fixed mechanisms add",)
    return Baseline(max(result, 0.0), target, "Renyi route", _CKS, hypotheses, one_order=not curve.symmetric)


def converted(divergence: Any, k: Any, delta: float) -> Any:
    """Return epsilon from D_a, k = a - 1, by ``_CKS``, rounded up; one for each entry of an array."""
    higher = log1p(k)
    return (divergence + log(k) - higher - (log(delta) + higher) / k).upper


def renyi_divergence(curve: TradeOff, order: float) -> float:
    """Bound D_a(Q || P), a > 1, from above in nats: the direction that delta of T(P, Q) follows.

    It is +inf where Q has mass that P does not have; for an envelope it is the larger of both orders.
    """
    if isinstance(curve, Envelope):
        return max(renyi_divergence(order_of, order) for order_of in curve.operands)
    operand(curve).require_numbers()
    return curve.inverse().bounds.renyi(order).upper


@dataclass(frozen=True)
class Calibration:
    """Noise by a formula: ``scale`` is a standard deviation, or Laplace's scale, rounded up.

    Parameters
    ----------
    scale : in the units of the query
    epsilon, delta : the guarantee it is for: a loss in nats, and a probability
    name, source, hypotheses : name of the formula, its paper, and its conditions
    curve : exact curve of the mechanism with this noise, also its ``guarantee()``

    Examples
    --------
    >>> import tradeoff as to
    >>> noise = to.baselines.exact_gaussian(1.0, 1e-5)
    >>> noise
    scale 3.7307 for (1, 1e-05)-DP by exact Gaussian calibration
    >>> noise.guarantee().delta(1.0) <= 1e-5
    True
    """

    scale: float
    epsilon: float
    delta: float
    name: str
    source: str
    curve: TradeOff
    hypotheses: tuple[str, ...] = ()

    def guarantee(self) -> TradeOff:
        """Return the curve, which is that of both orders."""
        return self.curve

    def __repr__(self) -> str:
        target = f"({exactly(self.epsilon)}, {exactly(self.delta)})-DP"
        return f"scale {rounded(self.scale, 'upper', 5)} for {target} by {self.name}"


def classical_gaussian(epsilon: Any, delta: Any, *, sensitivity: Any = 1.0) -> Calibration:
    r"""Apply the classical :math:`\sigma = \sqrt{2 \log(1.25/\delta)} \; \mathrm{sensitivity}/\varepsilon`.

    Parameters
    ----------
    epsilon : loss in nats, in (0, 1), where the formula is proved; ``exact_gaussian`` has no such limit
    delta : probability in (0, 1)
    sensitivity : l2-sensitivity, above 0, in the units of the query

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.classical_gaussian(0.5, 1e-5)
    scale 9.6897 for (0.5, 1e-05)-DP by classical Gaussian calibration
    """
    e, d = _positive("epsilon", epsilon), _probability("delta", delta)
    size = _positive("sensitivity", sensitivity)
    if e >= 1:
        remedy = "sqrt(2 log(1.25/delta)) sensitivity/eps is proved there alone; use exact_gaussian"
        raise domain("epsilon", e, "(0, 1)", remedy)
    sigma = (sqrt(2 * (log(1.25) - log(d))) * size / e).upper
    name, source = "classical Gaussian calibration", "Dwork, Roth 2014, Theorem A.1"
    return Calibration(sigma, e, d, name, source, Gaussian((Bounds.of(size) / sigma).upper), ("epsilon < 1",))


def exact_gaussian(epsilon: Any, delta: Any, *, sensitivity: Any = 1.0) -> Calibration:
    r"""Find the least :math:`\sigma` of a Gaussian mechanism for (epsilon, delta)-DP.

    Parameters
    ----------
    epsilon : loss in nats, at least 0
    delta, sensitivity : as in ``classical_gaussian``

    Notes
    -----
    :math:`\delta_{G_\mu}(\varepsilon) \le \delta` for :math:`\mu = \mathrm{sensitivity}/\sigma` (Balle, Wang
    2018, Theorem 8), solved from the safe side for the upper bound on delta.

    Examples
    --------
    >>> exact_gaussian(0.9, 1e-5)
    scale 4.1067 for (0.9, 1e-05)-DP by exact Gaussian calibration
    """
    e = number("epsilon", epsilon, 0, open_high=True)
    d, size = _probability("delta", delta), _positive("sensitivity", sensitivity)
    delta_at = np.vectorize(lambda sigma: Gaussian(1 / max(sigma, 1 / MAX_LOSS)).delta(e), otypes=[float])
    _, sigma = bracket_root(delta_at, np.array([d]), farthest=1e300)
    mu, name = 1 / float(sigma[0]), "exact Gaussian calibration"
    return Calibration((Bounds.of(size) / mu).upper, e, d, name, "Balle, Wang 2018, Theorem 8", Gaussian(mu))


def laplace_basic(epsilon: Any, *, n: Any = 1, sensitivity: Any = 1.0) -> Calibration:
    """Apply basic composition to Laplace noise for n queries: scale n sensitivity/epsilon, and delta = 0.

    Parameters
    ----------
    epsilon : loss in nats of all queries together, positive
    n : number of queries, at least 1
    sensitivity : l1-sensitivity of each, above 0, in the units of the query

    Notes
    -----
    Dwork, Roth 2014, Theorems 3.6 and 3.16. ``guarantee()`` is the exact curve of all n queries.

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.laplace_basic(1.0, n=10)
    scale 10 for (1, 0)-DP by Laplace noise, basic composition
    """
    e, size, n = _positive("epsilon", epsilon), _positive("sensitivity", sensitivity), count("n", n, 1, MOST)
    scale = (rational(n) * size / e).upper
    name, source = "Laplace noise, basic composition", "Dwork, Roth 2014, Theorems 3.6 and 3.16"
    return Calibration(scale, e, 0.0, name, source, Laplace((Bounds.of(size) / scale).upper) ** n)


def laplace_advanced(epsilon: Any, delta: Any, *, n: Any = 1, sensitivity: Any = 1.0) -> Calibration:
    r"""Apply advanced composition to Laplace noise for n queries: scale = sensitivity sqrt(n/(2 rho)).

    Parameters
    ----------
    epsilon, n, sensitivity : as in ``laplace_basic``
    delta : probability in (0, 1)

    Notes
    -----
    Each query is :math:`\mathrm{sensitivity}^2/(2 \, \mathrm{scale}^2)`-zCDP, their sum
    :math:`\rho = \varepsilon^2/(4 \log(1/\delta) + 4 \varepsilon)`, and
    :math:`\rho + 2 \sqrt{\rho \log(1/\delta)} \le \varepsilon` (Bun, Steinke 2016, Propositions 1.3 and 1.4).

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.laplace_advanced(1.0, 1e-6, n=1000)
    scale 172.14 for (1, 1e-06)-DP by Laplace noise, advanced composition
    """
    e, size, n = _positive("epsilon", epsilon), _positive("sensitivity", sensitivity), count("n", n, 1, MOST)
    d = _probability("delta", delta)
    spread = sqrt(rational(n) / 2) * (2 * sqrt(e - log(d))) / e  # sqrt(n/(2 rho)), without forming eps^2
    scale = (size * spread).upper
    name, source = "Laplace noise, advanced composition", "Bun, Steinke 2016, Propositions 1.3 and 1.4"
    return Calibration(scale, e, d, name, source, Laplace((Bounds.of(size) / scale).upper) ** n)
