"""Real FFT of non-negative vectors with a bound on its rounding error."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from tradeoff.intervals.rounding import UNIT, Array

Spectrum = NDArray[np.complex128]


def transform(x: Array) -> Spectrum:
    """Return the half spectrum of a real vector whose length is a power of two."""
    return np.asarray(fft.rfft(x))


def restore(spectrum: Spectrum, size: int) -> Array:
    """Return the real vector of a half spectrum."""
    return np.asarray(fft.irfft(spectrum, size))


def error(size: int) -> float:
    """Return the error of one transform, relative to the 1-norm of its input, for every output.

    Stage by stage as in Higham, Accuracy and Stability of Numerical Algorithms, Theorem 24.2: relative to the
    2-norm of all outputs, and for each output path by path relative to the 1-norm of the input. SciPy
    multiplies two table entries for a twiddle, each known to 2.4 units (1.6 for its angle of at most pi/4,
    0.8 for sine and cosine), so it errs by 2 * 2.4 + 2 sqrt(2) < 8 units and its product with a number by 2
    sqrt(2) more. A stage of radix 4 is one such product and two additions, each sqrt(2) units: 13.7, or 6.9 a
    factor of 2. A length that is no power of 4 takes one stage of radix 2, 12.3. For N >= 32 that is at most
    7.9 log2 N in all.
    """
    return 8 * max(1.0, math.log2(size)) * UNIT


def two_norm(half: Array, size: int) -> float:
    """Return the 2-norm, by Parseval, of the vector whose half spectrum has these moduli."""
    twice = half[1:-1] if size % 2 == 0 else half[1:]
    once = half[[0, -1]] if size % 2 == 0 else half[:1]
    with np.errstate(over="ignore"):  # an infinite norm is a bound too
        total = 2 * float(np.sum(twice**2)) + float(np.sum(once**2))
    return float(math.sqrt(total / size))
