"""Normal tails, binomial log-probabilities and integrals over cells in NumPy, each with a stated error.

phi and Phi are the standard normal density and distribution function, R(x) = Phi(-x)/phi(x) is Mills' ratio.
A unit, or ulp, is 2^-53, relative; pairs of results are a lower and an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.polynomial import legendre
from scipy.special import erfcx, expit, factorial, ndtr, ndtri

from tradeoff.errors import SizeError
from tradeoff.intervals.bounds import Array, Bounds, make_bounds
from tradeoff.pld.units import TINY, UNIT, around, down, up

_LOG_2PI = math.log(2 * math.pi)  # to nearest
_FLUSHED = -37.0  # x below which Phi leaves the normal floats, and SciPy's answers 0


def _mills(x: Array) -> Array:
    """Return R(x) for x above about -37."""
    return 1.2533141373155003 * np.asarray(erfcx(x * math.sqrt(0.5)))  # sqrt(pi/2), to nearest


def mills(x: Bounds) -> Bounds:
    """Bound R(x), which falls; below 0 e^(x^2/2) errs by 2 x^2 units, and soon overflows."""
    right, left = np.maximum(x.upper, _FLUSHED), x.lower
    low, high = (40 + 4 * np.minimum(end, 0.0) ** 2 for end in (right, left))
    with np.errstate(over="ignore"):
        return make_bounds(down(_mills(right), low), up(_mills(left), high))


def shifted_tail(alpha: Array, mu: float) -> tuple[Array, Array]:
    """Bound Phi(Phi^-1(1 - alpha) - mu) for alpha in [0, 1]."""
    z = -np.asarray(ndtri(alpha))
    x = np.where(np.isfinite(z), z - mu, z)
    # d log Phi(x) <= (|x| + 1) dx for x < 0, and less above.
    with np.errstate(invalid="ignore"):
        ulps = 16 + (np.maximum(-x, 0) + 2) * (16 + 16 * np.abs(z) + 6 * mu + 2 * np.abs(x))
    low, high = around(_normal_cdf(x), np.where(np.isfinite(x), ulps, 16))
    return np.where(alpha == 0, 1 - 1e-15, np.maximum(low, 0.0)), np.maximum(high, TINY)


def _normal_cdf(x: Array) -> Array:
    """Return Phi(x), by phi(x) R(-x) where ``ndtr`` would flush it to 0."""
    result, small = np.asarray(ndtr(x)), np.asarray(x < _FLUSHED)
    if small.any():
        far = np.clip(x, -1e150, _FLUSHED)
        result = np.where(small, np.exp(-far * far / 2 - _LOG_2PI / 2) * _mills(-far), result)
    return result


def tail_above(x: Bounds) -> Bounds:
    """Bound Phi(-x), which falls; ``ndtr`` errs by some 2 x^2 units where exponents are that large."""
    low, high = (16 + 3 * np.abs(side) * (np.abs(side) + 2) for side in x)
    most = np.minimum(up(_normal_cdf(-x.lower), low) + TINY, 1.0)
    return make_bounds(np.maximum(down(_normal_cdf(-x.upper), high), 0.0), most)


def hockey_stick(epsilon: Array, mu: float) -> tuple[Array, Array]:
    """Bound delta(eps) = Phi(-a) - e^eps Phi(-b) of G_mu, a = eps/mu - mu/2, b = a + mu, for eps >= 0.

    As e^eps phi(b) = phi(a), it is phi(a) (R(a) - R(b)); for mu < 1 the difference is the integral of -R'(t)
    = 1 - t R(t) from a to b, whose integrand loses t^2 units where it is about 1/t^2.
    """
    with np.errstate(over="ignore"):
        ratio = np.minimum(epsilon / mu, 1e100)  # farther out delta is below all floats anyway
    a = ratio - mu / 2
    b = a + mu
    log_density = -a * a / 2 - _LOG_2PI / 2
    position = (np.abs(a) + 2) * 8 * (ratio + mu + 1)  # units of phi(a) from the rounding of a
    if mu < 1:
        nodes, weights = gauss_legendre(14)  # Mills' ratio over at most 1
        t = a[:, None] + mu * (nodes + 1) / 2
        mean = np.sum((1 - t * _mills(t)) * weights, axis=1)  # row by row, unlike a product
        value = np.exp(log_density) * mean * (mu / 2)
        ulps = 64 + position + 8 * (b + 2) ** 2
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            first = np.where(a > 0, np.exp(log_density) * _mills(np.maximum(a, 0)), ndtr(-a))
        second = np.exp(log_density) * _mills(b)
        value = first - second
        # Of the terms: the difference may be nothing but rounding.
        error = UNIT * (64 + position) * (first + second) + TINY
        return np.maximum(down(value - error), 0.0), np.maximum(up(value + error), TINY)
    low, high = around(value, ulps)
    return np.maximum(low, 0.0), np.maximum(high, TINY)


def _stirling_error(n: Array) -> Array:
    """Return log n! - log(sqrt(2 pi n) (n/e)^n) for n >= 1; Stirling's series from 16 on, the ratio below."""
    small = np.minimum(n, 16.0)
    stirling = np.sqrt(2 * np.pi * small) * (small / np.e) ** small
    exact = np.log(factorial(np.arange(17))[small.astype(int)] / stirling)
    m = np.maximum(n, 16.0)
    s = (1 / m) ** 2
    series = 1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - s * 691 / 360360))))
    return np.where(n < 16.0, exact, series / m)


def _deviance(x: Array, m: float) -> Array:
    """Return x log(x/m) + m - x for x >= 1, where x is close to m by a series in d = (x - m)/(x + m)."""
    d = (x - m) / (x + m)
    direct = x * np.log(x / m) + m - x
    near = np.abs(d) < 0.1
    d, tail = np.where(near, d, 0.0), np.zeros_like(d)
    square = d * d
    # (x - m)^2/(x + m) + 2 x (d^3/3 + d^5/5 + ...): Loader, Fast and Accurate Computation of Binomial
    # Probabilities.
    for j in range(9, 0, -1):
        tail = square * (tail + 1 / (2 * j + 1))
    return np.where(near, (x - m) * d + 2 * x * d * tail, direct)


def log_pmf(k: Array, n: int, epsilon: float) -> tuple[Array, Array]:
    """Return log P(K = k) for K ~ Bin(n, p), p = 1/(1 + e^epsilon), and a bound on the pmf's relative error.

    With S the ``_stirling_error``, D the ``_deviance`` and q = 1 - p, log P(K = k) is S(n) - S(k) - S(n - k)
    - D(k, np) - D(n - k, nq) + log(n/(2 pi k (n - k)))/2 for 0 < k < n (Loader). It errs by a few units of
    both deviances, and by the rounding of np and nq, by which D changes as |k - np|/(np).
    """
    k = np.asarray(k, dtype=float)
    p, q = float(expit(-epsilon)), float(expit(epsilon))
    inner = np.clip(k, 1, max(n - 1, 1))
    rest = np.maximum(n - inner, 1.0)
    # Floats lose digits of p from epsilon = 708 on, and p itself; those of its logarithm they hold.
    log_mean = math.log(n) - epsilon - math.log1p(math.exp(-epsilon))
    rare = log_mean <= math.log(1e-200)  # such a mean is negligible next to x, in x log(x/m) - x
    first = inner * (np.log(inner) - log_mean) - inner if rare else _deviance(inner, n * p)
    second = _deviance(rest, n * q)
    log_p = _stirling_error(np.array(float(max(n, 1)))) - _stirling_error(inner) - _stirling_error(rest)
    log_p = log_p - first - second + 0.5 * (math.log(n) - _LOG_2PI - np.log(inner) - np.log(rest))
    log_p = np.where(k == n, -n * np.logaddexp(0.0, epsilon), log_p)
    log_p = np.where(k == 0, -n * np.log1p(np.exp(-epsilon)), log_p)
    ulps = 48 + 8 * (first + second) + 6 * (np.abs(inner - n * p) + np.abs(rest - n * q))
    return log_p, (ulps + 4 * np.abs(log_p) * ((k == 0) | (k == n))) * UNIT


# ``(points, distances from the cell's start, distances to its stop) -> two integrands``, all (panels, nodes).
Integrand = Callable[[Array, Array, Array], tuple[Array, Array]]


@cache
def gauss_legendre(nodes: int) -> tuple[Array, Array]:
    """Return the Gauss-Legendre rule on [-1, 1] of up to 32 nodes, its weights to 64 units.

    The weight of a root x of P_n is 1/sum_(k < n) (k + 1/2) P_k(x)^2. Next to the ends of 32 nodes a float
    half a unit off x moves its logarithm by 2 x/(1 - x^2) = 714 times that, and NumPy's weight by 525 units.
    The distance of the float from the root, P_n(x)/P_n'(x), (1 - x^2) P_n' = n P_(n-1), errs by 1/40 unit
    there, P_n by 5 and P_n' by 228: 18 units of a weight.
    """
    x = legendre.leggauss(nodes)[0]
    p = legendre.legvander(x, nodes)
    offset = 2 * x * p[:, nodes] / (nodes * p[:, nodes - 1])
    return x, (1 + offset) / (p[:, :nodes] ** 2 @ (np.arange(nodes) + 0.5))


def applied(values: Array, weight: Array) -> Array:
    """Return sum_j values_ij weight_j of each row i, or for each row of weights: no row depends on others.

    With BLAS, behind ``@``, the order of a sum depends on how many rows there are; here on their layout only.
    """
    return np.asarray(np.einsum("ij,...j->i...", values, weight))


def integrate(
    integrand: Integrand,
    start: Array,
    stop: Array,
    rate: Array,
    within: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[Array, Array]:
    """Return integrals of two positive functions over each cell ``[start, stop]``, to 1e-15 of themselves.

    They depend on the point and its distances to both ends of the cell; ``rate`` bounds, over each cell, the
    logarithmic derivative of their analytic factors. Only points ``within`` an interval count. Panels have
    width * rate <= 1, so on the Bernstein ellipse rho = 8 (semi-axis about two widths) an integrand
    exp(-x^2/2 + c x) grows by at most e^6; twelve nodes err by (64/15) e^6 8^-24 of its maximum. For width *
    rate <= 1/16 the same ellipse has rho = 128 and five nodes do (Trefethen, Approximation Theory and
    Approximation Practice, Theorem 19.3).
    """
    result = np.zeros((2, len(start)))
    low, high = np.clip(start, *within), np.clip(stop, *within)
    span = (high - low) * rate
    for chosen, nodes, longest in (((span > 0) & (span <= 1 / 16), 5, 1 / 16), (~(span <= 1 / 16), 12, 1.0)):
        cells = np.flatnonzero(chosen)
        panels = np.maximum(1.0, np.ceil(span[cells] / longest))
        if not np.sum(panels) <= 2**21:  # 200 MiB of points
            raise SizeError(f"cells of a law take {np.sum(panels):.3g} panels to integrate, too many")
        if not len(cells):
            continue
        # Panels of equal length; distances are kept apart so that nothing cancels.
        pieces, (x, w) = panels.astype(np.int64), gauss_legendre(nodes)
        owner, heads = np.repeat(cells, pieces), np.cumsum(pieces) - pieces
        panel = ((high[cells] - low[cells]) / pieces).repeat(pieces)
        index = (np.arange(len(owner)) - heads.repeat(pieces))[:, None]
        rise = panel[:, None] * (index + (x + 1) / 2)
        fall = panel[:, None] * ((pieces.repeat(pieces)[:, None] - index - 1) + (1 - (x + 1) / 2))
        at, left, right = (part[owner][:, None] for part in (low, low - start, stop - high))
        values = integrand(at + rise, left + rise, right + fall)
        each = np.array([applied(value, w / 2) * panel for value in values])
        result[:, cells] = np.add.reduceat(each, heads, axis=1)
    return result[0], result[1]
