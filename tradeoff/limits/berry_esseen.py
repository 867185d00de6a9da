"""Berry-Esseen: a Gaussian curve with a proved error, on both sides of a composition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.core.bounds import Bounds
from tradeoff.core.curve import TradeOff
from tradeoff.core.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError
from tradeoff.families.gaussian import Gaussian
from tradeoff.limits.masses import lost
from tradeoff.limits.moments import NOTHING, Moments, factors, measurable, moments
from tradeoff.limits.normal_pair import NormalPair
from tradeoff.numerics.roots import straddle
from tradeoff.numerics.rounding import UNIT, Array
from tradeoff.operators.symmetrise import Envelope

Constants = Literal["sharp", "theorem"]

_INDEPENDENT = 0.56
_IDENTICAL = ((0.4690, 0.0), (0.3322, 0.429), (0.3031, 0.646))
"""Constants (a, b) of gamma <= a (rho + b)/sqrt(n), rho = E|X - E X|^3/sd^3, for identical summands (Shevtsova 2013)."""

_LINES = 2001


class Hypothesis(NamedTuple):
    """A condition of a theorem, and whether it holds here."""

    statement: str
    holds: bool


@dataclass(frozen=True, eq=False)
class BerryEsseen:
    """Enclosure of a composition by Gaussian curves with a proved error; every answer has two sides.

    Parameters
    ----------
    of
        The composition.
    pairs
        For each order of the pair that counts, what is known of a curve below and of a curve above it.
    constants
        Which constants were taken.
    hypotheses
        The theorem's conditions, checked.

    Examples
    --------
    >>> import tradeoff as to
    >>> f = to.Laplace(0.1) ** 400
    >>> band = to.limits.berry_esseen(f)
    >>> band
    Berry-Esseen band of Lap_{0.1}^400: mu = 1.96878, gamma = 0.0238161
    >>> band.lower(0.1) <= f(0.1) <= band.upper(0.1)
    True
    """

    of: TradeOff
    pairs: tuple[tuple[NormalPair, NormalPair], ...]
    constants: Constants
    hypotheses: tuple[Hypothesis, ...]
    name = "Berry-Esseen"

    @property
    def source(self) -> str:
        """Where the theorem and its constant stand."""
        symmetric = "Dong, Roth, Su 2022, Theorem 3.4" if self.of.symmetric else "the proof of Dong, Roth, Su 2022, Theorem 3.4, law by law"
        return symmetric if self.constants == "theorem" else f"{symmetric}; constants of Shevtsova 2013 for identical factors, else 2010"

    @property
    def gamma(self) -> float:
        """Return the error of the distribution functions: the band is this wide in alpha and in beta, to both sides."""
        return _gamma(self.pairs)

    @property
    def mu(self) -> float:
        """Return the Gaussian parameter: mean gap over the null's standard deviation, the larger of two orders."""
        return max(float(below.gap.upper / below.sd_p.lower) for below, _ in self.pairs)

    def lower(self, alpha: ArrayLike) -> Any:
        """Return a lower bound on f(alpha), for any alpha in [0, 1]: G_mu(alpha + gamma) - gamma where that is positive."""
        return self.bounds(alpha).lower

    def upper(self, alpha: ArrayLike) -> Any:
        """Return an upper bound on f(alpha), for any alpha in [0, 1]: G_mu(alpha - gamma) + gamma, or 1 - alpha."""
        return self.bounds(alpha).upper

    def bounds(self, alpha: ArrayLike) -> Bounds:
        """Bound f(alpha) for alpha in [0, 1]."""
        flat, shape = _array("alpha", alpha, 0.0, 1.0)
        high = np.min([above.upper(flat) for _, above in self.pairs], axis=0)
        # Of two orders only the hull of the lower bounds is below the envelope: the polygon of their lines.
        low = self.pairs[0][0].lower(flat) if len(self.pairs) == 1 else self.guarantee.bounds(flat).lower
        return _shaped(np.minimum(low, high), high, shape)

    def delta(self, epsilon: ArrayLike) -> Bounds:
        """Bound delta(epsilon), epsilon in nats: delta_{G_mu} + gamma (1 + e^epsilon) from above."""
        flat, shape = _array("epsilon", epsilon, -700.0, 700.0)
        return _shaped(*self._delta(flat), shape)

    def _delta(self, epsilon: Array) -> tuple[Array, Array]:
        low = np.max([above.delta(epsilon)[0] for _, above in self.pairs], axis=0)
        return low, np.max([below.delta(epsilon)[1] for below, _ in self.pairs], axis=0)

    def epsilon(self, delta: ArrayLike) -> Bounds:
        """Bound the least epsilon with delta(epsilon) <= delta, in nats; +inf from above where delta is near gamma or less."""
        flat, shape = _array("delta", delta, 0.0, 1.0)
        low, _ = straddle(lambda e: self._delta(np.clip(e, -700.0, 700.0))[0], flat)
        lower_curve = self.guarantee
        known = flat > lower_curve.q_plus * (1 + 8 * UNIT)
        high = np.full(len(flat), np.inf)
        high[known] = lower_curve.bounds.epsilon(flat[known]).upper
        return _shaped(np.minimum(low, high), high, shape)

    @cached_property
    def guarantee(self) -> PiecewiseLinear:
        """Return a certified curve below the composition, which may enter products: the supporting lines of delta's upper bound."""
        reach = 1 + max(below.gap.upper + 40 * max(below.sd_p.upper, below.sd_q.upper) for below, _ in self.pairs)
        epsilon = np.linspace(-min(reach, 600.0), min(reach, 600.0), _LINES)[::-1]
        delta = self._delta(epsilon)[1]
        return PiecewiseLinear.from_lines(np.exp(epsilon), 1 - delta - 16 * UNIT * (2 + np.abs(epsilon)))

    def __repr__(self) -> str:
        return f"Berry-Esseen band of {self.of!r}: mu = {self.mu:.6g}, gamma = {self.gamma:.6g}"


def berry_esseen(curve: TradeOff, *, constants: Constants = "sharp") -> BerryEsseen:
    """Enclose a composition between G_mu(alpha + gamma) - gamma and G_mu(alpha - gamma) + gamma: a theorem, for every n.

    Parameters
    ----------
    curve
        A product of curves, symmetric or not, or the either-order envelope of one. Masses at infinity are split off and
        attached again; a factor whose law is known between two others gives its lower bound by the one and its upper by
        the other.
    constants
        ``"theorem"``: 0.56 for all, as in Dong, Roth, Su 2022, Theorem 3.4 (the constant of Shevtsova 2010 for independent
        summands). ``"sharp"``: for identical factors min{0.4690 rho, 0.3322 (rho + 0.429), 0.3031 (rho + 0.646)}/sqrt(n)
        (Shevtsova 2013).

    Returns
    -------
    BerryEsseen
        ``lower(alpha)`` and ``upper(alpha)`` hold f on all of [0, 1]; ``delta`` and ``epsilon`` likewise have two sides.
        Where gamma >= 1/2, or at delta below gamma, they are true and say nothing.

    Raises
    ------
    PrecisionError
        If the losses are too small, or too large, for floats to hold their third moments.

    Notes
    -----
    For asymmetric curves each law has its own mean, variance and gamma: alpha(t) = P(sum L > t) and
    beta(t) = Q(sum L <= t) are each within gamma of their normal law.

    Examples
    --------
    >>> import tradeoff as to
    >>> f = to.PureDP(0.01) ** 10_000
    >>> band = to.limits.berry_esseen(f)
    >>> round(band.lower(0.1), 4), round(f(0.1), 4), round(band.upper(0.1), 4)
    (0.5961, 0.6109, 0.6259)
    """
    if constants not in {"sharp", "theorem"}:
        raise DomainError(f"constants = {constants!r} is not one of 'sharp', 'theorem'")
    orders = curve.operands if isinstance(curve, Envelope) else (curve,)
    pairs = tuple(_sides(order, constants) for order in orders)
    gamma = _gamma(pairs)
    hypotheses = (
        Hypothesis("the losses of the factors are independent", True),
        Hypothesis("every factor is symmetric (else each law has its own bound)", curve.symmetric and len(orders) == 1),
        Hypothesis("kappa3bar of the finite losses is finite", math.isfinite(gamma)),
        Hypothesis("gamma < 1/2 (else the bounds are trivial)", gamma < 1 / 2),
    )
    return BerryEsseen(curve, pairs, constants, hypotheses)


def _gamma(pairs: tuple[tuple[NormalPair, NormalPair], ...]) -> float:
    return max(max(pair.gamma_p, pair.gamma_q) for sides in pairs for pair in sides)


def _sides(curve: TradeOff, constants: Constants) -> tuple[NormalPair, NormalPair]:
    powers = factors(curve)
    below = _pair(powers, 0, constants)
    exact = all(moments(factor)[0] is moments(factor)[1] for factor in powers)
    return below, below if exact else _pair(powers, 1, constants)


def _pair(powers: dict[TradeOff, int], side: int, constants: Constants) -> NormalPair:
    """Return what is known of the product of the factors' lower laws (side 0) or upper ones (side 1)."""
    null = [(_roughness(factor, side), n) for factor, n in powers.items()]
    other = [(_roughness(factor, side, reverse=not factor.symmetric), n) for factor, n in powers.items()]
    kl = [_sum([(m.kl, n) for m, n in law]) for law in (null, other)]
    (sd_p, gamma_p), (sd_q, gamma_q) = (_spread(law, constants) for law in (null, other))
    p, q = (lost([(_mass(factor, side, end), n) for factor, n in powers.items()]) for end in ("p_minus", "q_plus"))
    return NormalPair(Bounds(kl[0].lower + kl[1].lower, (kl[0].upper + kl[1].upper) * (1 + UNIT)), sd_p, sd_q, gamma_p, gamma_q, p, q)


def _mass(factor: TradeOff, side: int, end: str) -> float:
    """Return the mass at infinity of the law that stands for the factor: one below it may leak where the factor does not."""
    below, above = moments(factor)
    return float(getattr(factor if below is above else factor.laws()[side], end))


def _roughness(factor: TradeOff, side: int, *, reverse: bool = False) -> Moments:
    """Return a factor's moments; G_mu is the product of m factors G_{mu/sqrt(m)}, whose third moments vanish as m grows."""
    found = moments(factor, reverse=reverse)[side]
    return found._replace(third=NOTHING) if isinstance(factor, Gaussian) else found


def _spread(law: list[tuple[Moments, int]], constants: Constants) -> tuple[Bounds, float]:
    """Return the standard deviation of a sum and the error gamma of its normal law."""
    moving = [(m, n) for m, n in law if m.variance.upper > 0]
    if not moving:
        return Bounds(1.0, 1.0), 0.0
    variance = _variance(moving)
    sd = Bounds(math.sqrt(variance.lower) * (1 - 4 * UNIT), math.sqrt(variance.upper) * (1 + 4 * UNIT))
    rough = [(m, n) for m, n in moving if m.third.upper > 0]
    third = _sum([(m.third, n) for m, n in rough]).upper
    gamma = _INDEPENDENT * third / variance.lower / sd.lower
    if constants == "sharp" and len(rough) == 1:  # a normal summand moves no distance between distribution functions apart
        own, n = _variance(rough).lower, rough[0][1]
        gamma = min(gamma, *(a * (third / own / math.sqrt(own) + b / math.sqrt(n)) for a, b in _IDENTICAL))
    return sd, gamma * (1 + 64 * UNIT)


def _variance(law: list[tuple[Moments, int]]) -> Bounds:
    return measurable(_sum([(m.variance, n) for m, n in law]))


def _sum(terms: list[tuple[Bounds, int]]) -> Bounds:
    low, high = (math.fsum(n * getattr(term, side) for term, n in terms) for side in ("lower", "upper"))
    return Bounds(low * (1 - 8 * UNIT), high * (1 + 8 * UNIT))


def _array(name: str, value: ArrayLike, low: float, high: float) -> tuple[Array, tuple[int, ...]]:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise DomainError(f"{name} = {value!r} is not an array of real numbers") from error
    if not np.all((array >= low) & (array <= high)):
        raise DomainError(f"{name} = {value!r} is outside [{low:g}, {high:g}]")
    return array.ravel(), array.shape


def _shaped(low: Array, high: Array, shape: tuple[int, ...]) -> Bounds:
    return Bounds(low.reshape(shape), high.reshape(shape)) if shape else Bounds(float(low[0]), float(high[0]))
