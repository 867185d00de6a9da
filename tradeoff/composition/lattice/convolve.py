"""Certified composition on a lattice: tilt, convolve by FFT, and bound delta from both sides.

With W(dL) = e^(theta L - K) P(dL) and g(x) = e^(-(theta-1) x) (1 - e^-x)_+,
delta(eps) = e^(K - (theta-1) eps) E_W[g(L - eps)]. Rounding, aliasing and truncation enter relative to the tilted
mass, so delta keeps its relative accuracy however small it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tradeoff.composition.lattice import fft
from tradeoff.composition.lattice.recursion import discounted
from tradeoff.composition.lattice.table import ProfileTable
from tradeoff.intervals.rounding import TINY, UNIT, Array, Index

_NOTHING = 1e300
"""Minus this is a lower bound that says nothing and can still be interpolated."""

_FEW = 16
"""Powers up to this one are multiplied out."""


@dataclass(frozen=True, eq=False)
class TiltedFactor:
    """One factor on ``offset + h index``: tilted masses of both sides, e^log_scale taken out, ``count`` copies."""

    index: Index
    offset: float
    over: Array
    under: Array
    count: int
    top: float
    shift: float
    log_scale: float


@dataclass(frozen=True)
class Window:
    """Losses [low, low + h size) of the sum; ``chernoff`` are the exponents used to bound what lies outside."""

    low: int
    size: int
    chernoff: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Sum:
    """TiltedFactor law of the sum on the window, and its 2-norm error."""

    mass: Array
    error: float
    low_tail: float
    high_tail: float


def compose(factors: Sequence[TiltedFactor], vectors: Sequence[Array], h: float, window: Window) -> Sum:
    """Convolve by one inverse FFT of sum n_i log FFT(w_i); cost N log N a distinct factor, independent of counts."""
    size, unit = window.size, fft.error(window.size)
    product = np.ones(size // 2 + 1, dtype=complex)
    relative, rough = np.zeros(size // 2 + 1), np.ones(size // 2 + 1)
    centre = 0
    for factor, vector in zip(factors, vectors, strict=True):
        total = float(np.sum(vector))
        if not 0 < total < np.inf:  # nothing, or too much, is known of this factor
            return Sum(np.zeros(size), 0.0 if total <= 0 else np.inf, 0.0, 0.0)
        middle = round(float(np.sum(factor.index * vector)) / total)
        centre += factor.count * middle
        wrapped = np.bincount((factor.index - middle) % size, weights=vector, minlength=size).astype(float)
        spectrum = fft.transform(wrapped)
        modulus = np.abs(spectrum)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what overflows is seen below
            power, condition = _power(spectrum, modulus, factor.count)
            product *= power
            rough *= _power(modulus + unit * total, modulus, factor.count)[0].real
            relative += factor.count * (unit * total / modulus + 4 * UNIT * condition)
    if not np.isfinite(product).all():  # the tilt is too steep for these counts
        return Sum(np.zeros(size), np.inf, 0.0, 0.0)
    modulus = np.abs(product)
    rough[np.isnan(rough)] = np.inf  # infinity times an underflow: nothing is known there
    with np.errstate(over="ignore", invalid="ignore"):
        bound = np.where(relative < 0.5, modulus * np.expm1(np.minimum(relative, 1.0)), rough + modulus)
    mass = np.maximum(
        fft.restore(product, size), 0.0
    )  # the truth is not negative: clipping only comes closer
    mass = np.roll(mass, (centre - window.low) % size)
    error = fft.two_norm(bound, size) + unit * fft.two_norm(modulus, size) * 2
    down, up = window.chernoff
    low_tail = _chernoff(factors, vectors, h, -down, window.low)
    high_tail = _chernoff(factors, vectors, h, up, window.low + size)
    return Sum(mass, error, low_tail, high_tail)


def _power(base: Any, modulus: Array, n: int) -> tuple[Any, Any]:
    """Return base^n and its rounding in units of 4 n UNIT: products for few rounds, one exponential for many."""
    if n <= _FEW:
        result = np.ones_like(base)
        for bit in f"{n:b}":
            result = result * result * base if bit == "1" else result * result
        return result, 2.0
    with np.errstate(divide="ignore"):
        logarithm = np.where(modulus > 0, np.log(base), -2000.0)
    return np.exp(np.minimum(n * logarithm.real, 700.0) + 1j * (n * logarithm.imag)), 1 + np.abs(logarithm)


def _chernoff(
    factors: Sequence[TiltedFactor], vectors: Sequence[Array], h: float, t: float, edge: int
) -> float:
    """Bound the tilted mass beyond ``edge`` (above it for t > 0, below for t < 0) by E e^(t h (index - edge)).

    A step t h index is known to 2 units of itself, which e^step turns into its relative error, a positive sum and its logarithm
    to 64 units of 1; the exponent then is a sum of as many terms as there are factors, which are large beside it.
    """
    exponent = -t * h * edge
    size, rounds = abs(exponent), 0
    for factor, vector in zip(factors, vectors, strict=True):
        steps = t * h * factor.index
        peak = float(np.max(steps))
        moment = float(np.sum(vector * np.exp(steps - peak)))
        if not moment > 0:
            return 0.0
        exponent += factor.count * (peak + np.log(moment))
        size += factor.count * (float(np.max(np.abs(steps))) + abs(np.log(moment)))
        rounds += factor.count
    exponent += 1e-6 + UNIT * (64 * rounds + (8 + len(factors)) * size)
    return float(np.exp(min(exponent, 700.0))) if not np.isnan(exponent) else np.inf


def profile(
    factors: Sequence[TiltedFactor], h: float, theta: float, window: Window, q_plus: float
) -> ProfileTable:
    """Answer with bounds on delta at every node of the window, for a tilt theta > 1.

    ``q_plus`` is the exact Q-mass at +infinity (rounded down) of the whole product.
    """
    over = compose(factors, [f.over for f in factors], h, window)
    under = compose(factors, [f.under for f in factors], h, window)
    offset = float(sum(f.count * f.offset for f in factors))
    loss = offset + h * (window.low + np.arange(window.size))
    # |sum e_k g_k| <= ||e||_2 ||g||_2, and a sum over a lattice is at most integral/h + maximum (g is unimodal).
    kappa = np.exp((theta - 1) * np.log(theta - 1) - theta * np.log(theta))
    square = 2 / ((2 * theta - 2) * (2 * theta - 1) * (2 * theta))
    norm = np.sqrt(square / h + kappa**2)
    exact = (
        8 * window.size + 1000
    ) * UNIT  # two recursions of positive terms, each factor rounded once a step
    log_scale = sum(f.count * f.log_scale for f in factors)
    exponent = log_scale - (theta - 1) * loss
    scale_error = (
        4
        * UNIT
        * (4 + sum(f.count * abs(f.log_scale) for f in factors) + np.abs((theta - 1) * loss) + abs(log_scale))
    )
    scale = np.exp(np.minimum(exponent, 700.0))
    top = -np.expm1(sum(f.count * np.log1p(-min(f.top, 1 - 1e-16)) for f in factors))
    with np.errstate(over="ignore", invalid="ignore"):
        upper = (
            scale
            * (1 + scale_error)
            * (_tail(over.mass, h, theta) * (1 + exact) + over.error * norm + over.high_tail)
        )
        lower = (
            scale
            * np.maximum(1 - scale_error, 0)
            * (_tail(under.mass, h, theta) * (1 - exact) - under.error * norm)
        )
        lower -= scale * (1 + scale_error) * kappa * (under.low_tail + under.high_tail)
    shift = sum(f.count * f.shift for f in factors) + 8 * UNIT * (
        np.max(np.abs(loss)) + sum(f.count * abs(f.offset) for f in factors)
    )
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # losses beyond 1e16 nats may be known to no more than a hundred
        upper = np.minimum(upper * np.exp(shift) + (top * (1 + 16 * UNIT) + TINY), 1.0)
        lower = lower * np.exp(-np.sign(lower) * shift) + q_plus
    # Where the spectrum's error overflows nothing is known; the trivial bounds say so.
    upper, lower = (
        np.nan_to_num(upper, nan=1.0, posinf=1.0),
        np.nan_to_num(lower, nan=-_NOTHING, posinf=-_NOTHING, neginf=-_NOTHING),
    )
    return ProfileTable(loss + shift, upper, loss - shift, lower, q_plus)


def _tail(mass: Array, h: float, theta: float) -> Array:
    """Return sum_j mass_j g((j - k) h) for every k, by two recursions of positive terms from the right."""
    slow, fast = np.exp(-(theta - 1) * h), np.exp(-theta * h)
    # heavy_k = sum_{j>=k} mass_j e^(-theta (j-k) h);  tail_k = slow tail_(k+1) + (slow - fast) heavy_(k+1)
    heavy = discounted(mass[::-1], fast)
    driven = np.append(0.0, slow * -np.expm1(-h) * heavy[:-1])
    return discounted(driven, slow)[::-1]
