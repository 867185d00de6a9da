"""The verifier's arithmetic: long double with the platform's unit, and as many digits as a claim needs."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

Long = NDArray[np.longdouble]
ComplexLong = NDArray[np.clongdouble]

REAL = np.longdouble
EPS = REAL(np.finfo(REAL).eps)
"""Distance from 1 to the next number: 2^-63 where the format has 64 bits, 2^-52 where it is a double."""

TINY = REAL(np.finfo(REAL).tiny)
"""Least normal number; its logarithm stands for that of nothing."""

LARGEST = np.log(REAL(np.finfo(REAL).max)) / 2
"""Exponents up to this one do not overflow, nor do products of two such exponentials."""

PI = REAL("3.14159265358979323846264338327950288")
UNIT = REAL(2) ** -53
"""Relative rounding of the doubles that a certificate records."""

DIGITS = 50
"""Digits of closed forms, beside those that a small answer needs."""


def log_sum(exponents: Long) -> Any:
    """Return log of the sum of exponentials."""
    peak = np.max(exponents)
    return peak + np.log(np.sum(np.exp(exponents - peak)))


def log_of(mass: Long) -> Long:
    """Return logarithms, of nothing minus infinity."""
    return np.where(mass > 0, np.log(np.maximum(mass, TINY)), -np.inf)


def digits(value: float) -> int:
    """Return how many digits resolve differences of numbers up to 1 as small as ``value``."""
    return DIGITS + (int(-np.log10(value)) + 1 if 0 < value < 1 else 0)


def to_real(number: Any) -> np.longdouble:
    """Return a number in extended precision."""
    return REAL(mpmath.nstr(number, 25) if isinstance(number, mpmath.mpf) else number)


def to_mpf(number: Any) -> Any:
    """Return a number in extended precision, exactly to its digits, as one of mpmath."""
    return mpmath.mpf(str(number))
