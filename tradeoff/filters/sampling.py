"""Exact sampling: discrete Gaussian and Laplace noise from fair bits and rationals, no float in between."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from fractions import Fraction
from numbers import Rational

import numpy as np

from tradeoff.curves.parameters import count, exact_number
from tradeoff.errors import DomainError, KindError, shown
from tradeoff.mechanisms.noise import DiscreteGaussian, DiscreteLaplace

_Bits = Callable[[int], bytes]  # draws so many bytes


def exact_release(
    value: int, mechanism: DiscreteGaussian | DiscreteLaplace, rng: np.random.Generator | None = None
) -> int:
    """Add the noise of a discrete mechanism to a count, with exactly the distribution its curve assumes.

    Parameters
    ----------
    value : true count, an integer
    mechanism
        ``mechanisms.DiscreteGaussian`` or ``mechanisms.DiscreteLaplace``; its float parameter is taken as its
        exact binary value.
    rng
        ``numpy.random.Generator`` for results that can be repeated. Default: the operating system's secure
        source, which a release needs.

    Examples
    --------
    >>> from tradeoff.mechanisms import DiscreteGaussian
    >>> noisy = exact_release(120, DiscreteGaussian(sigma=2))
    >>> isinstance(noisy, int)
    True
    """
    true = int(count("value", value, -(10**300)))
    match mechanism:
        case DiscreteGaussian(sigma=sigma):
            return true + discrete_gaussian(Fraction(sigma) ** 2, rng)
        case DiscreteLaplace(scale=scale):
            return true + discrete_laplace(Fraction(scale), rng)
    raise KindError(f"mechanism must be a DiscreteGaussian or a DiscreteLaplace, got {shown(mechanism)}")


def discrete_gaussian(variance: Rational | float, rng: np.random.Generator | None = None) -> int:
    r"""Draw an integer with probability proportional to e^(-x^2/(2 sigma^2)), exactly.

    Discrete Laplace proposals of scale :math:`t = \lfloor\sigma\rfloor + 1`, kept with probability
    :math:`\exp(-(\lvert y\rvert - \sigma^2/t)^2/(2\sigma^2))`: a few on average (Canonne, Kamath, Steinke
    2020, Algorithm 3). The time taken depends on the draw.

    Parameters
    ----------
    variance
        :math:`\sigma^2`, a positive rational; a float means its binary value (square one as a ``Fraction``).
    rng : as for ``exact_release``

    Examples
    --------
    >>> isinstance(discrete_gaussian(4), int)
    True
    """
    bits = _source(rng)
    square = exact_number("variance", variance, 0, math.inf, open_low=True, open_high=True)
    p, q = square.numerator, square.denominator
    t = math.isqrt(p // q) + 1
    while True:
        y = _laplace(t, 1, bits)
        if _heads_exp((abs(y) * t * q - p) ** 2, 2 * p * q * t * t, bits):
            return y


def discrete_laplace(scale: Rational | float, rng: np.random.Generator | None = None) -> int:
    """Draw an integer with probability proportional to e^(-|x|/scale), exactly.

    Canonne, Kamath, Steinke 2020, Algorithm 2.

    Parameters
    ----------
    scale : positive rational; a float means its binary value
    rng : as for ``exact_release``

    Examples
    --------
    >>> isinstance(discrete_laplace(4), int)
    True
    """
    ratio = exact_number("scale", scale, 0, math.inf, open_low=True, open_high=True)
    return _laplace(ratio.numerator, ratio.denominator, _source(rng))


def _laplace(t: int, s: int, bits: _Bits) -> int:
    """Draw u + t v, geometric with rate 1/t, divide by s (scale = t/s), give it a sign; -0 is drawn again.

    u < t has a probability proportional to e^(-u/t), and v one proportional to e^-v.
    """
    while True:
        u = _below(t, bits)
        if not _heads_exp(u, t, bits):
            continue
        v = 0
        while _heads_exp(1, 1, bits):
            v += 1
        size = (u + t * v) // s
        negative = _below(2, bits)
        if size or not negative:
            return -size if negative else size


def _heads_exp(a: int, b: int, bits: _Bits) -> bool:
    """Return True with probability e^(-a/b): a factor for each unit, one for the rest (their Algorithm 1).

    For an exponent of at most 1: toss coins of bias a/(b k), k = 1, 2, ..., until tails; then is k - 1 even?
    """
    while a > 0:
        part, k = min(a, b), 1
        while _below(b * k, bits) < part:
            k += 1
        if k % 2 == 0:
            return False
        a -= part
    return True


def _below(n: int, bits: _Bits) -> int:
    """Draw an integer below ``n`` uniformly: fair bits, drawn again when they are too large."""
    size = (n - 1).bit_length()
    while True:
        drawn = int.from_bytes(bits((size + 7) // 8), "big") >> (-size % 8)
        if drawn < n:
            return drawn


def _source(rng: np.random.Generator | None) -> _Bits:
    """Return the function that draws a number of random bytes."""
    if rng is None:
        return secrets.token_bytes
    if not isinstance(rng, np.random.Generator):
        raise DomainError(
            f"rng must be a numpy.random.Generator, got {shown(rng)}; omit it for the secure source of the "
            "operating system"
        )
    return rng.bytes
