"""Certified composition on a lattice: tilt, convolve by FFT, and bound delta from both sides.

With the tilt theta > 1, W(dL) = e^(theta L - K) P(dL), K = sum n_i log_scale_i, and
g(x) = e^(-(theta-1) x) (1 - e^-x)_+,   delta(eps) = e^(K - (theta-1) eps) E_W[g(L - eps)]:
rounding, aliasing and truncation enter relative to the tilted mass, so delta keeps its relative accuracy
however small it is. A factor is a discretised law on nodes offset + h index (`discretise`): its vector
``over`` of tilted masses gives upper bounds on delta, ``under`` lower ones. The window is the range of the
sum's index that is computed; the circular convolution adds what is outside as aliases.

The result is a table of certified points of the profile delta(epsilon), which answers every question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TypeVar

import numpy as np
from scipy import fft

from tradeoff.accounting.engine import Enclosure
from tradeoff.intervals.bounds import Array, Bounds, Complex, Index, Pair
from tradeoff.pld.law import combine_masses_at_infinity
from tradeoff.pld.units import SUBNORMAL, TINY, UNIT, fft_error


@dataclass(frozen=True, eq=False)
class ProfileTable(Enclosure):
    """Bounds on delta at increasing losses, of one order.

    ``upper`` at ``above``, ``lower`` at ``below``, convex in e^epsilon between; ``leak`` bounds delta from
    below at every loss.
    """

    above: Array
    upper: Array
    below: Array
    lower: Array

    def bound(self, x: Array) -> Bounds:
        """Bound delta(x): chords of upper bounds are above it, the polygon of lower ones below.

        Outside the table the last upper bound holds to its right. In s = e^epsilon delta is convex, and 1 at
        0: so left of two nodes it is above the chord of a lower bound and an upper one further right,
        prolonged, and below the chord from 1 to an upper bound.
        """
        epsilon = -x if self.kind == "other" else x
        upper = _chord(self.above, self.upper, epsilon, right=float(self.upper[-1]), left=1.0)
        lower = _chord(self.below, self.lower, epsilon, right=0.0, left=0.0)
        a, least, slope, b, most = self._chords_on_left
        before = np.where(epsilon < a, least - slope * np.expm1(np.minimum(epsilon - a, 0.0)), 0.0)
        after = np.where(epsilon < b, most - (1 - most) * np.expm1(np.minimum(epsilon - b, 0.0)), 1.0)
        lower, upper = np.maximum(lower, before), np.minimum(np.minimum(upper, after) * (1 + 16 * UNIT), 1.0)
        known = np.maximum(-np.expm1(np.minimum(epsilon, 0.0)) * (1 - 4 * UNIT), self.leak)
        return Bounds(np.minimum(np.maximum(lower * (1 - 16 * UNIT), known), upper), upper)

    @cached_property
    def _chords_on_left(self) -> tuple[float, float, float, float, float]:
        """Return what bounds delta left of two nodes from below and from above.

        That is the node of the greatest lower bound, this, and the steepest fall of a chord from there, -d/ds
        times the s of the node, over chords to upper bounds on its right, or 0 if none falls; and the node
        and upper bound where the steepest chord ends that begins at 1 where s = 0. Each slope is known to 8
        units and those of a width, which expm1 takes 1 + width times.
        """
        k = int(np.argmax(self.lower))
        a, lower = float(self.below[k]), float(self.lower[k])
        width = self.above - a
        widest = 30.0  # chord, in nats, that is prolonged to the left
        near = (width > 0) & (width < widest)
        with np.errstate(over="ignore"):  # of nothing known, far below 0
            slopes = (lower - self.upper[near]) / np.expm1(width[near]) * (1 - (16 + 4 * widest) * UNIT)
        k = int(np.argmax((1 - self.upper) * np.exp(-np.maximum(self.above, -700.0))))
        return a, lower, float(np.max(slopes, initial=0.0)), float(self.above[k]), float(self.upper[k])

    @cached_property
    def _monotone(self) -> Pair:
        """The least upper bound up to each node, and the greatest lower one from each node on."""
        return np.minimum.accumulate(self.upper), np.maximum.accumulate(self.lower[::-1])[::-1]

    def crossing(self, delta: Array, guess: Array) -> Array:
        """Return where the upper bounds cross a level, or the lower ones if those never fall so low."""
        if self.kind == "other":
            return guess
        falling, least = self._monotone
        k = np.searchsorted(-falling, -delta, side="left")  # the first node of an upper bound <= delta
        last = np.searchsorted(-least, -delta, side="left") - 1  # the last node of a lower bound > delta
        right = np.clip(k, 0, len(falling) - 1)
        inside = _cross(self.above, falling, np.maximum(right - 1, 0), delta)
        crossed = np.where(k == 0, self.above[0], inside)
        return np.where(k < len(falling), crossed, self.below[np.maximum(last, 0)])

    def peak(self, alpha: Array, guess: Array) -> Array:
        """Return nodes near which 1 - delta - s alpha is largest; at any node it is a bound."""
        del guess
        place = self.above[np.searchsorted(-self._switches, -alpha if self.kind == "delta" else alpha - 1)]
        return -place if self.kind == "other" else place

    @cached_property
    def _switches(self) -> Array:
        """Return the alphas, in falling order, at which the node of the largest 1 - delta - s alpha changes.

        Each is minus the slope of a chord in s = e^epsilon; in the other order it is 1 less where the chord
        meets s = 0.
        """
        at = np.clip(self.above, -700.0, 700.0)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            drop = -np.diff(self.upper) / np.expm1(np.diff(at))  # over a distance of s itself
            switches = self.upper[:-1] + drop if self.kind == "other" else drop * np.exp(-at[:-1])
        switches = np.nan_to_num(switches, nan=0.0)
        return np.maximum.accumulate(switches[::-1])[::-1]  # they may rise where bounds are trivial


def _chord(at: Array, value: Array, epsilon: Array, *, left: float, right: float) -> Array:
    """Interpolate linearly in e^epsilon, without forming it; the constants ``left`` and ``right`` outside."""
    inside = np.clip(epsilon, at[0], at[-1])
    k = np.clip(np.searchsorted(at, inside, side="right") - 1, 0, len(at) - 2)
    part, whole, rest = inside - at[k], at[k + 1] - at[k], at[k + 1] - inside
    # The weight of the right end is (e^part - 1)/(e^whole - 1), to a few units of 1 + rest.
    small = np.expm1(np.minimum(part, 30.0)) / np.expm1(np.clip(whole, 5e-324, 30.0))
    large = np.exp(-rest) * np.expm1(-part) / np.expm1(-np.maximum(whole, 1.0))
    weight = np.where(whole > 30.0, large, small)
    inner = value[k] + np.clip(weight, 0.0, 1.0) * (value[k + 1] - value[k])
    return np.where(epsilon < at[0], left, np.where(epsilon >= at[-1], right, inner))


def _cross(at: Array, value: Array, k: Index, level: Array) -> Array:
    """Return where the chord in e^x from node k to the next one meets ``level``."""
    following = np.minimum(k + 1, len(at) - 1)
    drop = value[k] - value[following]
    weight = np.clip((value[k] - level) / np.where(drop > 0, drop, 1.0), 0.0, 1.0)
    width = at[following] - at[k]
    with np.errstate(divide="ignore"):  # in a wide cell e^x = e^b w, counted from its right end
        far = np.maximum(at[following] + np.log(weight), at[k])
    near = at[k] + np.log1p(weight * np.expm1(np.minimum(width, 30.0)))
    return np.asarray(np.where(width > 30.0, far, near))


Values = TypeVar("Values", Array, Complex)


@dataclass(frozen=True, eq=False)
class TiltedFactor:
    """``count`` copies of a factor: ``over`` and ``under`` are masses at nodes offset + h index.

    They are P-masses times e^(theta node - log_scale); ``top`` is Q-mass of ``over`` at infinity, and nodes
    are known to ``shift`` (`DiscretisedLaw`).
    """

    index: Index
    offset: float
    count: int
    log_scale: float
    over: Array
    under: Array
    top: float
    shift: float


@dataclass(frozen=True)
class Window:
    """Indices [low, low + size) of the sum; ``chernoff`` are exponents t for the mass below and above it."""

    low: int
    size: int
    chernoff: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Sum:
    """Tilted masses of the sum on the window, the 2-norm of their errors, and bounds on the mass outside."""

    mass: Array
    error: float
    low_tail: float
    high_tail: float


def compose(factors: Sequence[TiltedFactor], vectors: Sequence[Array], h: float, window: Window) -> Sum:
    """Convolve the ``vectors`` of factors on the window by one inverse FFT of prod FFT(w_i)^n_i.

    A vector is ``over`` or ``under``; it is wound round the window, and so is the sum. Each transform F of a
    vector of sum s is known to E = unit s. So F^n is within |F|^n (e^(n E/|F|) - 1), and with the power's own
    rounding r within |F^n| (e^(n E/|F| + r) - 1), of the result, exponents in ``relative``; where that is
    large, within (|F| + E)^n (``rough``) + |F^n|. ``fft_error`` is rounded up by more than the roundings of
    this bound.
    """
    size, half = window.size, window.size // 2 + 1
    totals = [float(np.sum(vector)) for vector in vectors]
    if not all(0 < total < np.inf for total in totals):  # the bound on some factor is trivial
        return Sum(np.zeros(size), 0.0 if np.isfinite(totals).all() else np.inf, 0.0, 0.0)
    logs = [factor.count * math.log(total) for factor, total in zip(factors, totals, strict=True)]
    # A product of a mass above e^-600, and each part of it, rounds by more than 1e-276, which exceeds the
    # underflow at all its frequencies: that on the way to a power is 1e-46 of the total's power at most.
    if min(*logs, *accumulate(logs)) < -600.0:
        return Sum(np.zeros(size), np.inf, 0.0, 0.0)
    product, relative, rough = np.ones(half, dtype=complex), np.zeros(half), np.ones(half)
    centre = 0  # of the sum: vectors are moved by their mean index, so that they fold over less
    for factor, vector, total in zip(factors, vectors, totals, strict=True):
        middle = round(float(np.sum(factor.index * vector)) / total)
        centre += factor.count * middle
        place = factor.index - middle
        spectrum = fft.rfft(np.bincount(place % size, weights=vector, minlength=size).astype(float))
        folds = 1 + int(place[-1] - place[0]) // size  # masses added up where the vector is wound round
        error, modulus = (fft_error(size) + folds * UNIT) * total, np.abs(spectrum)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # overflow is tested below
            product *= _power(spectrum, factor.count)
            rounding = 4 * factor.count * UNIT  # of so many products, of 2 sqrt(2) units each
            relative += factor.count * error / modulus + rounding
            rough *= _power(modulus + error, factor.count) * np.exp(rounding)
    if not np.isfinite(product).all():  # the tilt is too steep for these counts
        return Sum(np.zeros(size), np.inf, 0.0, 0.0)
    modulus = np.abs(product)
    rough[np.isnan(rough)] = np.inf  # infinity times an underflow: nothing is known there
    with np.errstate(over="ignore", invalid="ignore"):
        bound = np.where(relative < 0.5, modulus * np.expm1(np.minimum(relative, 1.0)), rough + modulus)
    mass = np.maximum(fft.irfft(product, size), 0.0)  # as the truth: clipping only comes closer
    mass = np.roll(mass, (centre - window.low) % size)
    error = _two_norm(bound, size) + 2 * fft_error(size) * _two_norm(modulus, size)
    down, up = window.chernoff
    low_tail = _bound_tail(factors, vectors, h, -down, window.low)
    high_tail = _bound_tail(factors, vectors, h, up, window.low + size)
    return Sum(mass, error, low_tail, high_tail)


def _two_norm(half: Array, size: int) -> float:
    """Return the 2-norm, by Parseval, of the vector of even size whose half spectrum has these moduli.

    In units of the largest, to a power of two: squares of masses below e^-354 underflow.
    """
    peak = float(np.max(half))
    if not 0 < peak < np.inf:
        return peak
    unit = math.ldexp(0.5, math.frexp(peak)[1])
    half = half / unit
    total = 2 * float(np.sum(half[1:-1] ** 2)) + float(np.sum(half[[0, -1]] ** 2))
    return unit * math.sqrt(total / size)


def _power(base: Values, n: int) -> Values:
    """Return base^n, multiplied out by the digits of n: complex exponentials take thirty times as long.

    It rounds as n - 1 products do: 2k as k twice and one product, 2k + 1 as that and one more.
    """
    result = base.copy()
    for bit in f"{n:b}"[1:]:
        result *= result
        if bit == "1":
            result *= base
    return result


def _bound_tail(
    factors: Sequence[TiltedFactor], vectors: Sequence[Array], h: float, t: float, edge: int
) -> float:
    """Bound the tilted mass at sums of index >= ``edge`` (t > 0) or <= ``edge`` (t < 0) from above.

    It is at most E e^(t h (index - edge)) (Chernoff). The exponent is a sum of count * (peak + log moment)
    and of t h edge, each known to 2 units of the largest step for the steps, 2 for their distance from the
    peak, 8 of the logarithm, and one for each product and sum; a moment, a positive sum of exponentials, to
    64 units of itself and to underflow. 1e-6 covers second orders.
    """
    exponent = -t * h * edge
    size, rounds = abs(exponent), 0
    for factor, vector in zip(factors, vectors, strict=True):
        log_sum, terms = _log_sum(vector, np.asarray(t * h * factor.index))
        exponent += factor.count * log_sum
        size += factor.count * terms
        rounds += factor.count
    exponent += 1e-6 + UNIT * (64 * rounds + (16 + len(factors)) * size)
    return math.exp(exponent) if exponent < 700 else math.inf


def _log_sum(vector: Array, steps: Array) -> tuple[float, float]:
    """Return log sum vector e^steps, and the size of the numbers that it is made of, for its rounding.

    The largest step is taken out; or the largest term, of two units more for its logarithm, where the vector
    underflows that far from its heavy masses. Entries of 0 stay 0: they are far below a transform's error.
    """
    peak, size = float(np.max(steps)), float(np.max(np.abs(steps)))
    total = float(np.sum(vector * np.exp(steps - peak)))
    # A smaller sum of terms may have lost its largest ones to underflow.
    if total < 1e-290:
        log = np.log(vector[vector > 0])
        steps, size = steps[vector > 0] + log, size + float(np.max(np.abs(log)))
        peak = float(np.max(steps))
        total = float(np.sum(np.exp(steps - peak)))
    log_moment = math.log(total + len(vector) * TINY)
    return peak + log_moment, size + abs(log_moment)


def tabulate(
    factors: Sequence[TiltedFactor], h: float, theta: float, window: Window, mass_at_plus_infinity: float
) -> ProfileTable:
    """Return the table of bounds on delta at every node of the window, for a tilt theta > 1.

    ``mass_at_plus_infinity`` is the exact Q-mass at +infinity (rounded down) of the whole product.
    """
    nothing = 1e300  # minus this is a trivial lower bound that can still be interpolated
    over = compose(factors, [f.over for f in factors], h, window)
    under = compose(factors, [f.under for f in factors], h, window)
    offsets = [f.count * f.offset for f in factors]
    loss = math.fsum(offsets) + h * np.arange(window.low, window.low + window.size, dtype=float)
    least, most = _scale(factors, theta, loss)  # bounds on e^(K - (theta-1) loss)
    # |sum e_k g_k| <= ||e||_2 ||g||_2, and a sum over a lattice is at most integral/h + maximum: g is
    # unimodal, its maximum kappa, and the integral of its square 2/(a (a + 1) (a + 2)) with a = 2 theta - 2.
    kappa = np.exp((theta - 1) * np.log(theta - 1) - theta * np.log(theta))
    norm = np.sqrt(2 / ((2 * theta - 2) * (2 * theta - 1) * (2 * theta)) / h + kappa**2)
    # Relative rounding of the two recursions: a term d steps away carries d factors e^-x, known to 8 units
    # and 2 x each: 8 d + 2 min(reach, 750), as e^-750 leaves nothing. Powers add d/63 * 8, four levels
    # of 82 roundings a recursion and 20 for its coefficient 700.
    relative = UNIT * (9 * window.size + 2 * min(theta * h * window.size, 750.0) + 700)
    with np.errstate(over="ignore", invalid="ignore"):
        # The circular sum dominates the true one; aliases are at most kappa times the mass outside.
        upper = _sum_g(over.mass, h, theta) * (1 + relative) + over.error * norm + over.high_tail
        lower = _sum_g(under.mass, h, theta) * (1 - relative) - under.error * norm
        outside = kappa * (under.low_tail + under.high_tail)
        upper, lower = most * upper, least * lower - most * outside
    # A loss moves by the shifts of all factors, and by at most 4 units of the terms of its node.
    shift = math.fsum(f.count * f.shift for f in factors)
    shift += 8 * UNIT * (float(np.max(np.abs(loss))) + math.fsum(map(abs, offsets)))
    # To 16 units of itself.
    top = combine_masses_at_infinity([f.top for f in factors], [f.count for f in factors])
    # Losses above 1e16 nats may be known to no more than 100.
    with np.errstate(over="ignore", invalid="ignore"):
        upper = np.minimum(upper * np.exp(shift) + (top * (1 + 16 * UNIT) + SUBNORMAL), 1.0)
        lower = lower * np.exp(-np.sign(lower) * shift) + mass_at_plus_infinity - SUBNORMAL
    # Where the spectrum's error overflows the bounds are trivial.
    upper = np.nan_to_num(upper, nan=1.0, posinf=1.0)
    lower = np.nan_to_num(lower, nan=-nothing, posinf=-nothing, neginf=-nothing)
    return ProfileTable(loss + shift, upper, loss - shift, lower, leak=mass_at_plus_infinity)


def _scale(factors: Sequence[TiltedFactor], theta: float, loss: Array) -> tuple[Array, Array]:
    """Bound e^(K - (theta - 1) loss), K = sum n_i log_scale_i, from below and above at each loss.

    Units: one for each product that makes up K and one for their exact sum; of (theta - 1) loss one for each
    of two differences and the product, and two for the loss itself, whose sum of offsets and steps costs a
    unit of either; a node of a factor was rounded by one of its offset; and 64 for two exponentials and their
    sums.
    """
    scales = [f.count * f.log_scale for f in factors]
    log_scale, slope = math.fsum(scales), (theta - 1) * loss
    offsets = theta * math.fsum(abs(f.count * f.offset) for f in factors)
    size = math.fsum(map(abs, scales)) + abs(log_scale) + offsets
    error = 8 * UNIT * (8 + size + np.abs(slope))
    # Beyond 1e16 nats the exponent has no digits: its error is not small.
    least, most = (np.exp(np.minimum(each, 700.0)) for each in (log_scale - slope, log_scale - slope + error))
    return least * np.maximum(1 - error, 0.0), most


def _sum_g(mass: Array, h: float, theta: float) -> Array:
    """Return sum_j mass_j g((j - k) h) for every k, by two recursions of positive terms from the right."""
    slow, fast = np.exp(-(theta - 1) * h), np.exp(-theta * h)
    # heavy_k = sum_{j>=k} mass_j e^(-theta (j-k) h);  tail_k = slow tail_(k+1) + (slow - fast) heavy_(k+1)
    heavy = discounted(mass[::-1], fast)
    driven = np.append(0.0, slow * -np.expm1(-h) * heavy[:-1])
    return discounted(driven, slow)[::-1]


def discounted(x: Array, a: float) -> Array:
    """Return y_k = x_k + a y_(k-1) for x >= 0 and 0 <= a <= 1, by blocks of 64; cost grows with len(x).

    Each entry is a sum of positive terms: at most 64 roundings for the sum and 18 for two powers a level, of
    which there are log_64 len(x). A power for 64 steps on the next level errs by 8 units, so a
    term d steps back by d/63 * 8 more. Terms below the least float vanish.
    """
    steps = 64  # entries of a block: one small matrix product a level, four levels for a million entries
    if len(x) == 0:
        return np.zeros(0)
    padded = np.zeros(-(-len(x) // steps) * steps)
    padded[: len(x)] = x
    powers = a ** np.arange(steps + 1.0)
    lag = np.subtract.outer(np.arange(steps), np.arange(steps))
    within = padded.reshape(-1, steps) @ np.where(lag <= 0, powers[-lag], 0.0)
    if len(within) > 1:
        carried = discounted(within[:, -1], float(powers[-1]))
        within[1:] += np.multiply.outer(carried[:-1], powers[1:])
    result: Array = within.ravel()[: len(x)]
    return result
