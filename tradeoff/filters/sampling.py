"""Exact sampling: discrete Gaussian and Laplace noise from fair bits and rationals, no float in between."""

from __future__ import annotations

import math
import operator
import secrets
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from numbers import Rational

import numpy as np

from tradeoff.curves.parameters import exact_number
from tradeoff.errors import DomainError, KindError, domain
from tradeoff.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace

_Bits = Callable[[int], bytes]


def exact_release(
    value: int, mechanism: DiscreteGaussian | DiscreteLaplace, rng: np.random.Generator | None = None
) -> int:
    """Add the noise of a discrete mechanism to a count, exactly: its law is the one the curve is about.

    Parameters
    ----------
    value
        The true count, a whole number.
    mechanism
        ``mechanisms.DiscreteGaussian`` or ``mechanisms.DiscreteLaplace``; its float parameter is taken as the
        rational it is.
    rng
        ``numpy.random.Generator`` for results that can be repeated. Default: the operating system's secure
        source, which is what a release wants.

    Raises
    ------
    KindError
        If the mechanism is another.
    DomainError
        If ``value`` is no whole number.

    Examples
    --------
    >>> from tradeoff.mechanisms import DiscreteGaussian
    >>> noisy = exact_release(120, DiscreteGaussian(sigma=2))
    >>> isinstance(noisy, int)
    True
    """
    true = _whole(value)
    match mechanism:
        case DiscreteGaussian(sigma=sigma):
            return true + discrete_gaussian(Fraction(sigma) ** 2, rng)
        case DiscreteLaplace(scale=scale):
            return true + discrete_laplace(Fraction(scale), rng)
    raise KindError(
        f"{mechanism!r} has no exact sampler; mechanisms.DiscreteGaussian and mechanisms.DiscreteLaplace have"
    )


def discrete_gaussian(variance: Rational | float, rng: np.random.Generator | None = None) -> int:
    """Draw an integer with probability proportional to e^(-x^2/(2 sigma^2)), exactly.

    Parameters
    ----------
    variance
        sigma^2, a positive rational; a float is taken as the rational it is. (Square a float sigma as a
        ``Fraction``.)
    rng
        As for ``exact_release``.

    Raises
    ------
    DomainError
        If ``variance`` is no positive rational.

    Notes
    -----
    Discrete Laplace proposals of scale t = floor(sigma) + 1, kept with probability exp(-(|y| -
    sigma^2/t)^2/(2 sigma^2)): a few on average (Canonne, Kamath, Steinke 2020, Algorithm 3). The time taken
    depends on the draw.

    Examples
    --------
    >>> import numpy as np
    >>> first, again = (np.random.default_rng(1) for _ in range(2))
    >>> discrete_gaussian(4, first) == discrete_gaussian(4, again)
    True
    """
    square, bits = _positive("variance", variance), _source(rng)
    p, q = square.numerator, square.denominator
    t = math.isqrt(p // q) + 1
    while True:
        y = _laplace(t, 1, bits)
        if _heads_exp((abs(y) * t * q - p) ** 2, 2 * p * q * t * t, bits):
            return y


def discrete_laplace(scale: Rational | float, rng: np.random.Generator | None = None) -> int:
    """Draw an integer with probability proportional to e^(-|x|/scale), exactly.

    Parameters
    ----------
    scale
        A positive rational; a float is taken as the rational it is.
    rng
        As for ``exact_release``.

    Raises
    ------
    DomainError
        If ``scale`` is no positive rational.

    Notes
    -----
    Canonne, Kamath, Steinke 2020, Algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> first, again = (np.random.default_rng(1) for _ in range(2))
    >>> discrete_laplace(4, first) == discrete_laplace(4, again)
    True
    """
    found = _positive("scale", scale)
    return _laplace(found.numerator, found.denominator, _source(rng))


def _laplace(t: int, s: int, bits: _Bits) -> int:
    """Draw u + t v, geometric with rate 1/t, divide by s (scale = t/s), give it a sign; -0 is drawn again."""
    while True:
        u = _below(t, bits)
        if not _heads_exp(u, t, bits):
            continue
        size = (u + t * _successes(bits)) // s
        negative = _below(2, bits)
        if size or not negative:
            return -size if negative else size


def _successes(bits: _Bits) -> int:
    """Return how often e^-1 comes up in a row."""
    n = 0
    while _heads_exp_unit(1, 1, bits):
        n += 1
    return n


def _heads_exp(a: int, b: int, bits: _Bits) -> bool:
    """Be true with probability e^(-a/b): a coin for each whole unit, one for the rest (their Algorithm 1)."""
    whole, rest = divmod(a, b)
    return all(_heads_exp_unit(1, 1, bits) for _ in range(whole)) and _heads_exp_unit(rest, b, bits)


def _heads_exp_unit(a: int, b: int, bits: _Bits) -> bool:
    """Be true with probability e^(-a/b), a <= b: the first k with no heads at a/(b k) is odd."""
    k = 1
    while _below(b * k, bits) < a:
        k += 1
    return k % 2 == 1


def _below(n: int, bits: _Bits) -> int:
    """Draw a whole number below ``n``, each alike: fair bits, drawn again when they are too many."""
    size = (n - 1).bit_length()
    while True:
        found = int.from_bytes(bits((size + 7) // 8), "big") >> (-size % 8)
        if found < n:
            return found


def _source(rng: np.random.Generator | None) -> _Bits:
    if rng is None:
        return secrets.token_bytes
    if not isinstance(rng, np.random.Generator):
        raise DomainError(
            f"rng = {rng!r} is no numpy.random.Generator; "
            "leave it out for the secure source of the operating system"
        )
    return rng.bytes


def _whole(value: object) -> int:
    with suppress(TypeError):
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]  # what is no integer raises
    raise domain("value", value, "the whole numbers", "exact noise is added to counts")


def _positive(name: str, value: Rational | float) -> Fraction:
    return exact_number(name, value, 0, math.inf, open_low=True, open_high=True)
