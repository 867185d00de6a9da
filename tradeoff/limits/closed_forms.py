"""Moments of the loss in closed form, evaluated in as many digits as their differences cancel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.laplace import Laplace
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation
from tradeoff.intervals.bounds import Bounds

_FAR = 1e3  # where a normal density, below 10^-217000, has no digit left beside any that are asked for


class Moments(NamedTuple):
    """Of L under P, given that it is finite and shifted so that e^L has mean one.

    ``kl`` = -E L, ``variance``, ``third`` = E|L - E L|^3, ``kappa3`` = E|L - shift|^3 with ``shift`` undone,
    ``cumulant3`` = E(L - E L)^3; ``cumulant4`` is an estimate.
    """

    kl: Bounds
    variance: Bounds
    third: Bounds
    kappa3: Bounds
    shift: Bounds
    cumulant3: Bounds
    cumulant4: float


NOTHING = Bounds(0.0, 0.0)
# Of a loss that is 0 wherever it is finite.
CONSTANT = Moments(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, 0.0)


def closed_form(curve: TradeOff) -> Moments | None:
    """Return the moments of a symmetric family, or None."""
    match curve:
        case Identity() | TotalVariation():  # the finite loss of f_{0,delta} is 0, as that of Id
            return CONSTANT
        case PureDP():
            return _of_pure_dp(curve)
        case Gaussian() if np.isfinite(curve.mu):
            return _of_gaussian(curve)
        case Laplace():
            return _of_laplace(curve)
    return None


def _of_pure_dp(curve: PureDP) -> Moments:
    """L = -eps with probability (1 + t)/2, else eps; t = tanh(eps/2)."""
    mp, e = _digits(curve.epsilon_0)
    t = mp.tanh(e / 2)
    spread = mp.sech(e / 2) ** 2  # 1 - t^2, without its cancellation
    # Those of a Bernoulli law of mean (1 - t)/2, times (2 eps)^r; E|L - E L|^3 = eps^3 (1 - t^2) (1 + t^2).
    return _enclosed(
        e * t,
        e**2 * spread,
        e**3 * spread * (1 + t**2),
        e**3,
        (2 * e) ** 3 * spread * t / 4,
        (2 * e) ** 4 * spread / 4 * (1 - 0.75 * spread),
    )


def _of_gaussian(curve: Gaussian) -> Moments:
    """L is normal with mean -mu^2/2 and variance mu^2."""
    mp, mu = _digits(curve.mu)
    if curve.square is not None:
        mu = mp.sqrt(mp.mpf(curve.square.numerator) / curve.square.denominator)
    a = mu / 2
    density = mp.npdf(a) if a < _FAR else mp.mpf(0)
    absolute = (a**3 + 3 * a) * mp.erf(a / mp.sqrt(2)) + 2 * (a**2 + 2) * density
    return _enclosed(mu**2 / 2, mu**2, mu**3 * mp.sqrt(8 / mp.pi), mu**3 * absolute, 0.0, 3 * mu**4)


def _of_laplace(curve: Laplace) -> Moments:
    """L = 2 x - eps for x in (0, eps) with density e^-x/2; atoms 1/2 at -eps and e^-eps/2 at eps."""
    mp, e = _digits(curve.epsilon_0)
    if curve.shift is not None:
        e = mp.mpf(curve.shift.numerator) / curve.shift.denominator
    kl = e - 1 + mp.exp(-e)

    def power(r: int, centre: Any, lower: Any, upper: Any) -> Any:
        """Return int 2^(r-1) (x - x0)^r e^-x over [lower, upper], x0 = (centre + eps)/2."""
        x0 = (centre + e) / 2

        def primitive(x: Any) -> Any:
            return -mp.exp(-x) * sum(mp.factorial(r) / mp.factorial(k) * (x - x0) ** k for k in range(r + 1))

        return 2 ** (r - 1) * (primitive(upper) - primitive(lower))

    def central(r: int) -> Any:
        return power(r, -kl, 0, e) + ((kl - e) ** r + mp.exp(-e) * (kl + e) ** r) / 2

    def absolute(centre: Any) -> Any:
        x0 = (centre + e) / 2
        atoms = ((centre + e) ** 3 + mp.exp(-e) * (e - centre) ** 3) / 2
        return power(3, centre, x0, e) - power(3, centre, 0, x0) + atoms

    return _enclosed(kl, central(2), absolute(-kl), absolute(mp.mpf(0)), central(3), central(4))


def _digits(parameter: float) -> tuple[Any, Any]:
    """Return the parameter with a context in which its differences of fourth order keep 30 digits."""
    import mpmath

    mp = mpmath.MPContext()
    mp.dps = 60 + int(6 * abs(np.log10(parameter or 1.0)))
    return mp, mp.mpf(float(parameter))


def _enclosed(kl: Any, variance: Any, third: Any, kappa3: Any, cumulant3: Any, fourth: Any) -> Moments:
    a, b, c, d, e = map(_around, (kl, variance, third, kappa3, cumulant3))
    return Moments(a, b, c, d, NOTHING, e, float(fourth - 3 * variance**2))


def _around(value: Any) -> Bounds:
    """Enclose a number known to 30 digits by neighbouring floats."""
    middle = float(value)
    below, above = (float(np.nextafter(middle, side)) for side in (-np.inf, np.inf))
    return Bounds(middle if value >= middle else below, middle if value <= middle else above)
