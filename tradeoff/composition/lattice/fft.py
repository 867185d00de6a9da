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

    One butterfly stage costs at most 4 sqrt(2) + 1 units of rounding when the twiddles are correctly rounded, relative
    to the 2-norm of all outputs (Higham, Accuracy and Stability of Numerical Algorithms, Theorem 24.2) and, path by
    path, relative to the 1-norm of the input for each output.
    """
    return 8 * max(1.0, math.log2(size)) * UNIT


def two_norm(half: Array, size: int) -> float:
    """Return the 2-norm, by Parseval, of the vector whose half spectrum has these moduli."""
    twice = half[1:-1] if size % 2 == 0 else half[1:]
    once = half[[0, -1]] if size % 2 == 0 else half[:1]
    with np.errstate(over="ignore"):  # an infinite norm is a bound too
        total = 2 * float(np.sum(twice**2)) + float(np.sum(once**2))
    return float(math.sqrt(total / size))
