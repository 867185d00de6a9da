"""Limit theorems without an error bound: central limit theorems and the Edgeworth expansion.

L is the privacy loss log dQ/dP; its moments are those of its finite part, shifted as a pair of probability
laws has it. Masses at infinity, p = P(L = -inf) and q = Q(L = inf), are split off and attached again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import matmul
from typing import Any, Literal, NoReturn, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from tradeoff.accounting.lattice.place import common_spacing
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import (
    MAX_LOSS,
    MOST,
    Number,
    Numbers,
    choice,
    count,
    epsilon_delta_pairs,
    is_symbol,
    real,
)
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import KindError
from tradeoff.families.approximate_dp import Identity, TotalVariation
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Array, Bounds
from tradeoff.limits.moments import Moments, check_variance, factors, moments
from tradeoff.operators.symmetrise import Envelope
from tradeoff.symbolic.forms import convert_number


@dataclass(frozen=True)
class ApproximateCurve:
    r"""Estimate of a trade-off function, on neither side of the truth.

    It has ``curve(alpha)``, ``delta(epsilon)`` and ``epsilon(delta)`` only. Products, powers, orders,
    symmetrisation and filters raise ``KindError``, a ``TypeError``: an estimate guarantees nothing.

    Parameters
    ----------
    shape : the trade-off function used as the estimate
    name : name of the method
    source : paper and number of the theorem
    hypotheses : limits under which the estimate becomes exact
    of : the curve that is approximated, if there is one
    mu : the estimate's Gaussian parameter, if its shape is a :math:`G_\mu` up to masses at infinity

    Examples
    --------
    >>> import tradeoff as to
    >>> estimate = to.limits.clt(to.Laplace(0.1) ** 400)
    >>> estimate
    ≈ G_{1.96878} by CLT
    >>> estimate @ to.Gaussian(1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tradeoff.errors.KindError: ...
    """

    shape: TradeOff
    name: str
    source: str
    hypotheses: tuple[str, ...] = ()
    of: TradeOff | None = None
    mu: float | None = None

    def __call__(self, alpha: Number | Numbers) -> Any:
        """Estimate f(alpha) for alpha in [0, 1]: neither a lower nor an upper bound."""
        return self.shape(alpha)

    def delta(self, epsilon: Number | Numbers) -> Any:
        """Estimate delta(epsilon), epsilon in nats."""
        return self.shape.delta(epsilon)

    def epsilon(self, delta: Number | Numbers) -> Any:
        """Estimate epsilon(delta), in nats."""
        return self.shape.epsilon(delta)

    @property
    def symmetric(self) -> bool:
        """Whether the estimate is the same for both orders of the pair."""
        return self.shape.symmetric

    def trusted(self) -> TradeOff:
        """Return the estimate as an ordinary curve; the caller vouches for its error."""
        return limited(self.shape, BOUND, self.of.assumptions if self.of else ())

    def _refuse(self, *_: object) -> NoReturn:
        raise KindError(
            f"the {self.name}'s curve is an estimate that can under-report privacy loss, so it enters no "
            "product, order or filter; use the exact curve for the certified number (its delta, epsilon and "
            "bounds), or take .trusted() at your own risk"
        )

    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __ge__ = __le__ = __gt__ = __lt__ = __invert__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        # Other methods of curves and mechanisms get the same explanation.
        if not name.startswith("_") and (name in {"curve", "gdp"} or hasattr(TradeOff, name)):
            self._refuse()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"≈ {self.shape!r} by {self.name}"


Scheme = Literal["poisson", "without-replacement", "fixed-size"]


def clt(curve: TradeOff) -> ApproximateCurve:
    r"""Gaussian estimate of a composition, often under-reporting.

    It is :math:`G_\mu` with :math:`\mu = (\mathbb{E}_Q L - \mathbb{E}_P L)/\operatorname{sd}_P(L)`.

    Parameters
    ----------
    curve
        A product of many factors. For a symmetric one
        :math:`\mu = 2 \sum \mathrm{kl}/\sqrt{\sum \kappa_2 - \sum \mathrm{kl}^2}`. For one order of an
        asymmetric curve the standard deviation is that of its own null P, so ``clt(f)`` and ``clt(~f)``
        differ; of an either-order envelope it is the larger mu of the two orders.

    Returns
    -------
    ApproximateCurve
        :math:`G_\mu`, with masses at infinity split off first and attached again.

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
        larger = max(map(clt, curve.operands), key=lambda estimate: estimate.mu or 0.0)
        return replace(larger, shape=larger.shape.symmetrise(assume="either-order"), of=curve)
    if isinstance(curve, TradeOff) and curve.free_symbols:
        from tradeoff.symbolic.forms import clt_mu

        mu = clt_mu(curve)
        lost = (factor**n for factor, n in curve.factors.items() if isinstance(factor, TotalVariation))
        shape = reduce(matmul, lost, _gaussian(mu))
    else:
        gap = low = high = 0.0
        for factor, n in factors(curve).items():
            null = moments(factor)[0]
            alternative = null if factor.symmetric else moments(factor, reverse=True)[0]
            gap += n * (null.kl.upper + alternative.kl.upper)
            low, high = low + n * null.variance.lower, high + n * null.variance.upper
        variance = check_variance(Bounds(low, high)).upper
        mu = gap / math.sqrt(variance) if variance > 0 else 0.0
        shape = attach_masses(_gaussian(mu), curve)
    hypotheses = ("sum kl -> K", "max kl -> 0", "sum kappa2 -> s^2", "sum kappa3 -> 0")
    return ApproximateCurve(shape, "CLT", "Dong, Roth, Su 2022, Theorem 3.5", hypotheses, curve, mu)


def epsilon_delta_clt(epsilon: ArrayLike, delta: ArrayLike = 0.0, *, n: Any = 1) -> ApproximateCurve:
    r"""Estimate a composition of (epsilon, delta)-DP mechanisms.

    It is :math:`G_\mu \otimes f_{0,1 - e^{-\sum \delta_i}}` with :math:`\mu^2 = \sum_i \varepsilon_i^2`.

    Parameters
    ----------
    epsilon, delta
        Losses in nats, at least 0, and probabilities in [0, 1], one for each mechanism; they broadcast.
    n : how often the whole list is composed

    Notes
    -----
    Dong, Roth, Su 2022, Theorem 3.6. For :math:`f_{\mu/\sqrt{n},0}^{\otimes n}` its error is of order
    :math:`1/n` (Theorem 3.7).

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
        e, d = epsilon_delta_pairs(epsilon, delta)
        mu = math.sqrt(n) * math.hypot(*e.tolist())
        lost = -math.expm1(-n * math.fsum(d.tolist()))
    shape, source = _gaussian(mu) @ TotalVariation(lost), "Dong, Roth, Su 2022, Theorem 3.6"
    hypotheses = ("sum epsilon^2 -> mu^2", "max epsilon -> 0", "sum delta -> delta", "max delta -> 0")
    return ApproximateCurve(shape, "(epsilon, delta) CLT", source, hypotheses, None, mu)


def dp_sgd_clt(
    sample_rate: Any, noise_multiplier: Any, steps: Any, *, scheme: Scheme = "poisson"
) -> ApproximateCurve:
    r"""Gaussian estimate of DP-SGD.

    With :math:`c = p \sqrt{T}`, :math:`\mu = c \sqrt{e^{1/\sigma^2} - 1}` for Poisson sampling, and for
    samples of fixed size
    :math:`\mu = \sqrt{2} \, c \sqrt{e^{1/\sigma^2} \Phi(3/(2 \sigma)) + 3 \Phi(-1/(2 \sigma)) - 2}`.

    Parameters
    ----------
    sample_rate : p in [0, 1]: the expected share of records in a step
    noise_multiplier
        :math:`\sigma > 0`: standard deviation of the noise over the clipping norm's sensitivity.
    steps : T, an integer from 0
    scheme
        ``"poisson"`` (Bu, Dong, Long, Su 2020) or ``"without-replacement"``, replace-one neighbours (Dong,
        Roth, Su 2022, Corollary 5.4 of Theorem 5.3); ``"fixed-size"`` is the same.

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
    p = real("sample_rate", sample_rate, 0, 1)
    sigma = real("noise_multiplier", noise_multiplier, 0, open_low=True)
    choice("scheme", scheme, get_args(Scheme))
    if scheme == "fixed-size":  # the name of DP-SGD's papers
        scheme = "without-replacement"
    steps = steps if is_symbol(steps) else count("steps", steps, 0, MOST)

    def mu_in(lib: Any, p: Any, sigma: Any) -> Any:
        """Return mu as a number of mpmath, or a formula of SymPy."""
        c, growth = p * lib.sqrt(steps), lib.exp(1 / sigma**2)
        if scheme == "poisson":
            return c * lib.sqrt(growth - 1)
        above, below = (lib.erfc(x / sigma / lib.sqrt(8)) / 2 for x in (-3, 1))
        return c * lib.sqrt(2 * (growth * above + 3 * below - 2))

    mu: Any = 0.0
    if any(map(is_symbol, (p, sigma, steps))):
        import sympy

        mu = mu_in(sympy, convert_number(p), convert_number(sigma))
    elif p * steps > 0:  # else nothing is released, though the other factor may be infinite
        import mpmath

        with mpmath.workdps(60):  # differences lose the square of sigma
            mu = float(mu_in(mpmath, mpmath.mpf(p), mpmath.mpf(sigma)))
    source = "Bu, Dong, Long, Su 2020" if scheme == "poisson" else "Dong, Roth, Su 2022, Corollary 5.4"
    hypotheses = ("sample_rate sqrt(steps) -> c", "steps -> inf")
    return ApproximateCurve(_gaussian(mu), f"DP-SGD CLT, {scheme}", source, hypotheses, None, mu)


def _gaussian(mu: Any) -> TradeOff:
    """Return G_mu; outside the working range an estimate claims no privacy."""
    if is_symbol(mu):
        return Gaussian(mu)
    return Gaussian(mu if mu <= MAX_LOSS else math.inf) if mu > 0 else Identity()


def attach_masses(finite: TradeOff, curve: TradeOff) -> TradeOff:
    """Return (1 - q) f(alpha/(1 - p)): f = ``finite``, p and q masses of ``curve`` at -inf and +inf."""
    p, q = curve.mass_at_minus_infinity, curve.mass_at_plus_infinity
    if p == q:
        return finite @ TotalVariation(q)
    if max(p, q) >= 1:
        return TotalVariation(1.0)
    return finite @ PiecewiseLinear([0.0, 1 - p], [1 - q, 0.0])


def _expanded(cumulants: Sequence[float], t: Array, span: float, sign: int) -> Array:
    """Estimate P(S <= t), or P(S > t) for a sign of -1, of a sum S with these four ``cumulants``, unclipped.

    For a ``span`` above 0, that of a lattice on which S lies, t must be points of it.

    At the midpoint t + span/2 of two lattice points the sum's law is met by the expansion whose cumulants are
    those of the sum less those of the uniform law on an interval of length span, Sheppard's correction
    (Kolassa, McCullagh 1990).
    """
    mean, variance, third, fourth = cumulants
    variance = max(variance - span**2 / 12, 1e-3 * variance)  # above 0, however wide the span
    sd = math.sqrt(variance)
    skewness, kurtosis = third / variance / sd, fourth / variance / variance
    kurtosis += min(span / sd, 1e40) ** 4 / 120  # wider spans add more than a probability, which is clipped
    x = np.clip((t + span / 2 - mean) / sd, -40.0, 40.0)  # farther out the density is 0 in floats
    # Edgeworth: Phi(x) - phi(x) (skewness/6 He_2 + kurtosis/24 He_3 + skewness^2/72 He_5)(x)
    hermite = np.polynomial.hermite_e.hermeval(x, [0, 0, skewness / 6, kurtosis / 24, 0, skewness**2 / 72])
    return np.asarray(ndtr(sign * x) - sign * np.exp(-(x * x) / 2) / math.sqrt(2 * math.pi) * hermite)


def edgeworth(curve: TradeOff) -> ApproximateCurve:
    r"""Estimate a composition by two expansions, each from four cumulants.

    They are of :math:`\alpha(t) = P(L > t)` and :math:`\beta(t) = Q(L \le t)`.

    Parameters
    ----------
    curve
        A product of many factors, of either order, or the either-order envelope of one. Where every loss lies
        on one lattice (randomised response, discrete noise) the expansion is corrected for it.

    Returns
    -------
    ApproximateCurve
        The points :math:`(\alpha(t), \beta(t))`, clipped to probabilities and replaced by their convex hull;
        masses at infinity are split off and attached again. An approximation: not a bound on either side.

    Notes
    -----
    Wang, Gao, Zhang, Shen, Su 2022 (the Edgeworth accountant); its error has order :math:`n^{-3/2}` where the
    CLT's has :math:`n^{-1/2}`.

    Examples
    --------
    >>> import tradeoff as to
    >>> f = to.PureDP(0.1) ** 1000
    >>> [round(estimate, 4) for estimate in (to.limits.edgeworth(f).epsilon(1e-5), f.epsilon(1e-5))]
    [17.7689, 17.7871]
    """
    if isinstance(curve, Envelope):
        one = edgeworth(curve.operands[0])
        return replace(one, shape=one.shape.symmetrise(assume="either-order"), of=curve)
    powers = factors(curve)
    null = [(moments(factor)[0], n) for factor, n in powers.items()]
    other = [(moments(factor, reverse=not factor.symmetric)[0], n) for factor, n in powers.items()]

    def sum_cumulants(law: list[tuple[Moments, int]], sign: int) -> tuple[float, float, float, float]:
        """Return the first four cumulants of L under P (``sign`` -1), or under Q (+1) from those of -L."""
        names = "kl", "variance", "cumulant3"
        mean, variance, third = (math.fsum(n * getattr(m, name).mid for m, n in law) for name in names)
        return sign * mean, variance, -sign * third, math.fsum(n * m.cumulant4 for m, n in law)

    both = under_p, under_q = sum_cumulants(null, -1), sum_cumulants(other, +1)
    span, offset = lattice(powers)
    estimate = clt(curve).trusted()  # refuses losses too small for floats; right where there are none
    if under_p[1] > 0:
        # Thresholds over the bulk of both laws: Phi(-9) is 1e-19.
        low = min(mean - 9 * math.sqrt(variance) for mean, variance, *_ in both)
        high = max(mean + 9 * math.sqrt(variance) for mean, variance, *_ in both)
        t = np.linspace(low, high, 8001)
        if span:
            first, last = math.floor((low - offset) / span), math.ceil((high - offset) / span)
            t = offset + span * np.arange(first, last + 1, max(1, (last - first) // 8001), dtype=float)
        alpha, beta = _expanded(under_p, t, span, -1), _expanded(under_q, t, span, 1)
        finite = PiecewiseLinear.hull(np.clip(alpha, 0.0, 1.0), np.clip(beta, 0.0, 1.0))
        estimate = attach_masses(finite, curve)
    name, on_lattice = ("Edgeworth (lattice)", "one lattice") if span else ("Edgeworth", "no lattice")
    hypotheses = ("sum of many comparable factors", "finite fourth cumulants", on_lattice)
    return ApproximateCurve(estimate, name, "Wang, Gao, Zhang, Shen, Su 2022, order 2", hypotheses, curve)


def lattice(powers: dict[TradeOff, int]) -> tuple[float, float]:
    """Return (span, offset) if all finite losses of the product lie on offset + span k, else (0, 0)."""
    gaps, offset = [0.0], 0.0
    for factor, n in powers.items():
        law = factor.laws()[0]
        atoms = law.atoms.loss
        if law.continuous or len(atoms) > 4096:
            return 0.0, 0.0
        p, q = law.mass_at_minus_infinity, law.mass_at_plus_infinity
        shift = float(np.log1p(-p) - np.log1p(-q)) if max(p, q) < 1 else 0.0
        offset += n * (float(atoms[0]) + shift) if len(atoms) else 0.0
        gaps.extend(np.diff(atoms).tolist())
    span = common_spacing(np.array(gaps), 1e-5 * max(gaps))
    return (span, offset) if span else (0.0, 0.0)
