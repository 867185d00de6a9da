"""Central limit theorems: a composition of many small losses is nearly Gaussian."""

from __future__ import annotations

import math
from functools import reduce
from operator import matmul
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MAX_LOSS, MOST, choice, count, is_symbol, losses, real
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.product import tensor
from tradeoff.errors import PrecisionError
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.total_variation import TotalVariation
from tradeoff.intervals.bounds import Bounds
from tradeoff.limits.approximate import ApproximateCurve
from tradeoff.limits.moments import check_variance, factors, moments
from tradeoff.operators.symmetrise import Envelope
from tradeoff.symbolic.evaluate import convert_number

Scheme = Literal["poisson", "fixed-size"]

# Name, source and hypotheses.
_THEOREM = (
    "CLT",
    "Dong, Roth, Su 2022, Theorem 3.5",
    ("sum kl -> K", "max kl -> 0", "sum kappa2 -> s^2", "sum kappa3 -> 0"),
)


def clt(curve: TradeOff) -> ApproximateCurve:
    """Gaussian estimate G_mu of a composition, mu = (E_Q L - E_P L)/sd_P(L), often under-reporting.

    Parameters
    ----------
    curve
        A product of many factors. For a symmetric one mu = 2 sum kl/sqrt(sum kappa2 - sum kl^2). For one
        order of an asymmetric curve the standard deviation is that of its own null P, so ``clt(f)`` and
        ``clt(~f)`` differ; of an either-order envelope it is the larger mu of the two orders.

    Returns
    -------
    ApproximateCurve
        G_mu, with masses at infinity split off first and attached again.

    Raises
    ------
    NoClosedForm
        If the curve has free symbols, and no closed moments.
    PrecisionError
        If the losses are too small, or too large, for floats to hold their moments.

    Notes
    -----
    Dong, Roth, Su 2022, Theorem 3.5. Where a curve's law is only enclosed by two others, the lower one is
    used.

    Examples
    --------
    >>> import tradeoff as to
    >>> f = to.PureDP(0.1) ** 1000
    >>> round(to.limits.clt(f).epsilon(1e-5), 4), round(f.epsilon(1e-5), 4)
    (17.8663, 17.7871)
    """
    if isinstance(curve, Envelope):
        return max(
            (clt(order) for order in curve.operands), key=lambda estimate: estimate.mu or 0.0
        ).envelope(curve)
    if isinstance(curve, TradeOff) and curve.free_symbols:
        from tradeoff.symbolic.forms import clt_mu

        mu = clt_mu(curve)
        lost = (factor**n for factor, n in curve.factors.items() if isinstance(factor, TotalVariation))
        return ApproximateCurve(reduce(matmul, lost, _gaussian(mu)), *_THEOREM, curve, mu)
    gap = low = high = 0.0
    for factor, n in factors(curve).items():
        null = moments(factor)[0]
        alternative = null if factor.symmetric else moments(factor, reverse=True)[0]
        gap += n * (null.kl.upper + alternative.kl.upper)
        low, high = low + n * null.variance.lower, high + n * null.variance.upper
    variance = check_variance(Bounds(low, high)).upper
    if math.isinf(gap):
        raise PrecisionError(
            f"the losses of {curve!r} are too large: floats do not hold their moments", np.inf
        )
    mu = gap / math.sqrt(variance) if variance > 0 else 0.0
    leaks = tensor((factor, n) for factor, n in factors(curve).items() if factor.leak is not None)
    rest = tensor((factor, n) for factor, n in factors(curve).items() if factor.leak is None)
    finite = attach_masses(_gaussian(mu), rest.mass_at_minus_infinity, rest.mass_at_plus_infinity)
    return ApproximateCurve(finite @ leaks, *_THEOREM, curve, mu)


def epsilon_delta_clt(epsilon: ArrayLike, delta: ArrayLike = 0.0, *, n: Any = 1) -> ApproximateCurve:
    """Estimate a composition of (eps_i, delta_i)-DP by G_mu (x) f_{0,1-e^-sum delta}, mu^2 = sum eps_i^2.

    Parameters
    ----------
    epsilon, delta
        Losses in nats, at least 0, and probabilities in [0, 1], one for each mechanism; they broadcast.
    n
        How often the whole list is composed.

    Notes
    -----
    Dong, Roth, Su 2022, Theorem 3.6. For f_{mu/sqrt(n),0}^n its error is of order 1/n (Theorem 3.7).

    Examples
    --------
    >>> import tradeoff as to
    >>> to.limits.epsilon_delta_clt(0.1, 1e-6, n=100)
    ≈ G_{1} ⊗ f_{0,9.9995e-05} by (epsilon, delta) CLT
    """
    n = n if is_symbol(n) else count("n", n, 1, MOST)
    if any(map(is_symbol, (epsilon, delta, n))):
        import sympy

        epsilon, delta = real("epsilon", epsilon, 0, open_high=True), real("delta", delta, 0, 1)
        mu, lost = sympy.sqrt(n) * epsilon, 1 - sympy.exp(-n * convert_number(delta))
    else:
        e, d = losses(epsilon, delta)
        mu = math.sqrt(n) * math.hypot(*e.tolist())
        lost = -math.expm1(-n * math.fsum(d.tolist()))
    return ApproximateCurve(
        _gaussian(mu) @ TotalVariation(lost),
        "(epsilon, delta) CLT",
        "Dong, Roth, Su 2022, Theorem 3.6",
        ("sum epsilon^2 -> mu^2", "max epsilon -> 0", "sum delta -> delta", "max delta -> 0"),
        None,
        mu,
    )


def dp_sgd_clt(
    sample_rate: Any, noise_multiplier: Any, steps: Any, *, scheme: Scheme = "poisson"
) -> ApproximateCurve:
    """Gaussian estimate of DP-SGD: with c = p sqrt(T), mu = c sqrt(e^(1/sigma^2) - 1) for Poisson sampling.

    For samples of fixed size, mu = sqrt(2) c sqrt(e^(1/sigma^2) Phi(3/(2 sigma)) + 3 Phi(-1/(2 sigma)) - 2).

    Parameters
    ----------
    sample_rate
        p in [0, 1]: the expected share of records in a step.
    noise_multiplier
        sigma > 0: standard deviation of the noise over the clipping norm's sensitivity.
    steps
        T, an integer from 0.
    scheme
        ``"poisson"`` (Bu, Dong, Long, Su 2020) or ``"fixed-size"``, replace-one neighbours (Dong, Roth, Su
        2022, Corollary 5.4 of Theorem 5.3).

    Notes
    -----
    It under-reports, and badly so at small delta and small rates; the second example shows the certified
    number.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.dp_sgd_clt(0.005, 0.8, 1000).epsilon(1e-6), 4)
    1.3245
    >>> step = to.subsample(to.Gaussian(1 / 0.8), 0.005)
    >>> round(max((step**1000).epsilon(1e-6), (~(step**1000)).epsilon(1e-6)), 3)
    2.004
    """
    p, sigma = (
        real("sample_rate", sample_rate, 0, 1),
        real("noise_multiplier", noise_multiplier, 0, open_low=True),
    )
    choice("scheme", scheme, get_args(Scheme))
    steps = steps if is_symbol(steps) else count("steps", steps, 0, MOST)
    mu: Any
    if any(map(is_symbol, (p, sigma, steps))):
        import sympy

        mu = _dp_sgd_mu(sympy, convert_number(p), convert_number(sigma), steps, scheme)
    elif p * steps == 0:  # nothing is released, though the other factor may be infinite
        mu = 0.0
    else:
        import mpmath

        with mpmath.workdps(60):  # differences lose the square of sigma
            mu = float(_dp_sgd_mu(mpmath, mpmath.mpf(p), mpmath.mpf(sigma), steps, scheme))
    source = "Bu, Dong, Long, Su 2020" if scheme == "poisson" else "Dong, Roth, Su 2022, Corollary 5.4"
    hypotheses = ("sample_rate sqrt(steps) -> c", "steps -> inf")
    return ApproximateCurve(_gaussian(mu), f"DP-SGD CLT, {scheme}", source, hypotheses, None, mu)


def _dp_sgd_mu(lib: Any, p: Any, sigma: Any, steps: Any, scheme: Scheme) -> Any:
    """Return mu as a number of mpmath, or a formula of SymPy."""

    def cdf(x: Any) -> Any:
        return lib.erfc(-x / lib.sqrt(2)) / 2

    c, growth = p * lib.sqrt(steps), lib.exp(1 / sigma**2)
    if scheme == "poisson":
        return c * lib.sqrt(growth - 1)
    return c * lib.sqrt(2 * (growth * cdf(3 / (2 * sigma)) + 3 * cdf(-1 / (2 * sigma)) - 2))


def _gaussian(mu: Any) -> TradeOff:
    """Return G_mu; outside the working range an estimate claims no privacy."""
    if is_symbol(mu):
        return Gaussian(mu)
    return Gaussian(mu if mu <= MAX_LOSS else math.inf) if mu > 0 else Identity()


def attach_masses(finite: TradeOff, mass_at_minus_infinity: float, mass_at_plus_infinity: float) -> TradeOff:
    """Return (1 - q) f(alpha/(1 - p)): f with masses p at -inf under P and q at +inf under Q."""
    p, q = mass_at_minus_infinity, mass_at_plus_infinity
    if p == q:
        return finite @ TotalVariation(q)
    if max(p, q) >= 1:
        return TotalVariation(1.0)
    return finite @ PiecewiseLinear([0.0, 1 - p], [1 - q, 0.0])
