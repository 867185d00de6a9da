"""The sums Re sum_(k < N) v_k e^(2 pi i k t/M) of one line at many t, from an FFT of length M, 2 N or more.

Poisson's summation of bells e^(-b d^2), whose Fourier transform is sqrt(pi/b) e^(-pi^2 z^2/b), has

    e^(2 pi i z t) = sum_j e^(-b (t - j)^2) a(z) e^(2 pi i z j) - R,   a(z) = sqrt(b/pi) e^(pi^2 z^2/b),
    R = sum_(m != 0) e^(-pi^2 (m^2 + 2 m z)/b) e^(2 pi i (z + m) t),

over integers j and m. With z = k/M the sum is that of the bells next to t, each times G_j = Re sum v_k a(k/M)
e^(2 pi i k j/M), an FFT. Errors are units (2^-53) of A = sum |v_k| e^(pi^2 z^2/b), and |G_j| <= sqrt(b/pi) A:

- R: at most 2.01 sum |v_k| e^(-pi^2 (1 - 2z)/b) for z <= 1/2, which is counted apart;
- bells left out, with |t - j| >= 16 and b = 1/7: 2.1 e^(-256/7), 3 units;
- a(z), of an exponent up to 17.3 known to 5 units: 110; the errors of the v_k are the caller's;
- the FFT: ``fft_error``; all bells at t add up to at most 1.001 sqrt(pi/b), and so do these errors;
- a bell e^-u, u known to 6 units of itself and to 1: 12 units of all; a sum of 32 products: 33 units.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tradeoff.intervals.bounds import Array, Complex
from tradeoff.pld.units import UNIT, fft_error

_NEAR = np.arange(-15.0, 17.0)  # the j next to t, less the last one up to t


class Grid(NamedTuple):
    """``values`` G_j of j = -15 ... M + 15, a row for each sum; its ``period`` M and ``error``."""

    values: Array
    period: int
    error: Array


def make_grid(v: Complex) -> Grid:
    """Return the grid of sums whose v_k are the rows of ``v``: the shortest with an error of 1e-12 or 8 N."""
    from scipy import fft  # loaded where a long line is summed

    size, steep = np.abs(v), 7 * math.pi**2
    period = 1 << (2 * v.shape[1] - 1).bit_length()
    while True:
        z = np.arange(v.shape[1]) / period
        growth = np.exp(steep * z * z)
        error = 2.02 * np.sum(size * np.exp(steep * (2 * z - 1)), axis=1)
        error += (fft_error(period) + 160 * UNIT) * (1 + 1e-9) * np.sum(size * growth, axis=1)
        if period >= 8 * v.shape[1] or np.all(error <= 1e-12 * np.sum(size, axis=1)):
            break
        period *= 2
    spectrum = v * growth
    spectrum[:, 1:] /= 2  # an FFT with real results adds the conjugates
    values = fft.irfft(spectrum * math.sqrt(1 / (7 * math.pi)), period, norm="forward")
    every = np.arange(_NEAR[0], period + _NEAR[-1], dtype=int)
    return Grid(np.take(values, every, axis=1, mode="wrap"), period, error)


def sum_on_grid(grid: Grid, t: Array) -> Array:
    """Return each sum at each t, (sums, len(t)): none depends on the other t."""
    result, each = np.empty((len(grid.values), len(t))), 256  # computed at once: they stay in a cache
    for first in range(0, len(t), each):
        some = slice(first, first + each)
        whole = np.floor(t[some])
        bells = np.exp(-(((t[some] - whole)[:, None] - _NEAR) ** 2) / 7)
        near = np.mod(whole, grid.period).astype(int)[:, None] + np.arange(len(_NEAR))
        for total, values in zip(result, grid.values, strict=True):
            total[some] = np.add.reduce(bells * values[near], axis=1)
    return result
