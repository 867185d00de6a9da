"""The smooth part of a law of losses L = log dQ/dP as components, in a form that every operator keeps.

A *base* is a density phi with a loss l. A *component* has dP = k (1 - d + d e^l) phi, dQ = k (1 - b + b e^l)
phi, and g = b - d. Subsampling, reversal and mixture change b, d, their complements, g and k by products and
positive sums: nothing cancels. The *tilt* c weighs P by e^(cL), to w = P^(1-c) Q^c/M(c), M(c) = E_P e^(cL); E
e^((c + iy) L) at frequencies y >= 0 is integrated by *quadratures* over nodes x. With s the sampling rate, L'
= log(1 - s + s e^L) is the *subsampled* loss. Functions of NumPy are trusted to 8 units of 2^-53 (less than 4
ulps), sums, products and quotients to one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.errors import SizeError
from tradeoff.intervals.bounds import Array, Bounds, Complex
from tradeoff.intervals.functions import exp, expm1, log, log1p, meet
from tradeoff.pld.special import gauss_legendre
from tradeoff.pld.units import TINY, UNIT

LARGE = 600.0  # losses up to this one have an e^L that a float holds, and log1p(s expm1(L)) loses nothing


class SamplingRate(NamedTuple):
    """s = ``part`` in [0, 1] and 1 - s = ``rest``, each to full relative accuracy.

    Columns of them are for as many rows of losses: all 0, all 1 or all between.
    """

    part: float
    rest: float

    @property
    def slopes(self) -> tuple[float, float]:
        """Lower and upper bound on the slope of log(1 - s + s e^loss), over all losses."""
        return float(self.rest == 0), float(self.part > 0)


def subsampled_loss(rate: SamplingRate, loss: Array) -> Array:
    """Return log(1 - s + s e^loss), by the one of its three forms that does not cancel at each loss."""
    part, rest = rate
    if isinstance(part, float) and 0 in rate:  # a column holds neither 0 nor 1
        return loss if rest == 0 else np.zeros_like(loss)
    # log1p(-0.75) is below -1, where the second form takes over.
    near = np.log1p(np.maximum(part * np.expm1(np.minimum(loss, LARGE)), -0.75))
    below = np.log(rest + part * np.exp(np.minimum(loss, 0.0)))
    result = np.where(near < -1.0, below, near)
    if (loss > LARGE).any():
        large = np.maximum(loss, LARGE)
        result = np.where(loss > LARGE, large + np.log(part + rest * np.exp(-large)), result)
    return result


def subsampled_loss_error(loss: Array, subsampled: Array) -> Array:
    """Bound the rounding of ``subsampled_loss``, absolute, for each of its three forms.

    log1p(x), x > -0.64 known to 9 units, errs by 9 x/((1 + x) log1p x) + 8 <= 24 units of itself, and TINY
    where x is subnormal; a logarithm below -1 of a sum known to 10 units by 18; L + log(s + (1 - s) e^-L),
    the sum known to 11 units and its logarithm at most L, by 11 + 8 L and one of the result.
    """
    return 24 * UNIT * np.abs(subsampled) + np.where(loss > LARGE, UNIT * (11 + 8 * loss), 0.0) + TINY


def inverse_subsampled_loss(rate: SamplingRate, subsampled: Array) -> Array:
    """Return L with log(1 - s + s e^L) = ``subsampled`` L', by the inverses of its three forms.

    It is -inf where L' <= log(1 - s).
    """
    part, rest = rate
    if rest == 0:
        return subsampled
    with np.errstate(divide="ignore", over="ignore"):
        near = np.log1p(np.maximum(np.expm1(np.clip(subsampled, -1.0, LARGE)) / part, -1.0))
        below = np.log(np.maximum(np.exp(np.minimum(subsampled, 0.0)) - rest, 0.0) / part)
    large = np.maximum(subsampled, 1.0)
    above = large + np.log1p(-rest * np.exp(-large)) - np.log(part)
    return np.where((subsampled > LARGE) | (near == np.inf), above, np.where(subsampled < -1.0, below, near))


def inverse_loss_error(rate: SamplingRate, subsampled: Array, loss: Array) -> Array:
    """Bound how far ``inverse_subsampled_loss``'s result L, sampled again, lies from ``subsampled`` L'.

    In e^L' = 1 - s + s e^L: expm1(L')/s known to 9 units moves L' by 9 |1 - e^-L'| <= 16 |L'| of them for L'
    >= -1, and e^L' - (1 - s) known to 12 units of e^L' moves it by 12 <= 12 |L'|. The last logarithm errs by
    8 units of L, sums by 4 more, and L' moves by the slope 1 - (1 - s) e^-L' <= s + |L'| of that; TINY where
    all of it is subnormal.
    """
    size = np.abs(subsampled)
    return UNIT * (16 * size + 12 * np.abs(loss) * (size + rate.part)) + TINY


def subsampled_slope(rate: SamplingRate, loss: Array, subsampled: Array) -> Array:
    """Return s e^loss/(1 - s + s e^loss) = s e^(loss - subsampled), the derivative of ``subsampled_loss``."""
    most = -np.log(rate.part) if np.all(rate.part > 0) else 0.0  # as the slope is at most 1
    return rate.part * np.exp(np.minimum(loss - subsampled, most))


def bound_subsampled_loss(p: Bounds, loss: Bounds) -> Bounds:
    """Bound log(1 - p + p e^loss), by the three forms of ``subsampled_loss``: the bounds that all share."""
    rest = 1 - p
    near = log1p(p * expm1(loss))
    return meet(near, log(rest + p * exp(loss)), loss + log(p + rest * exp(-loss)))


def bound_inverse_subsampled_loss(p: Bounds, subsampled: Bounds) -> Bounds:
    """Bound log((e^subsampled - 1 + p)/p), or -inf, by the three forms of ``inverse_subsampled_loss``."""
    rest = 1 - p
    near, middle = log1p(expm1(subsampled) / p), log((exp(subsampled) - rest) / p)
    return meet(near, middle, subsampled + log1p(-rest * exp(-subsampled)) - log(p))


MARGIN = 0.25  # errors of a quadrature at c + iy are valid for tilts this near to c: for Cauchy's estimate
MAX_NODES = 400_000  # most points of a quadrature
RULE = 32  # Gauss-Legendre nodes a panel
TALLEST = 600.0  # densities in L above e^600 are cut there: their variation then bounds nothing, safely
SURE = 1e-9  # above the rounding of every logarithm here, a few hundred units, and of the sums over the grid

ALL, NONE = SamplingRate(1.0, 0.0), SamplingRate(0.0, 1.0)  # b and d of dQ = e^l phi and dP = phi


def few_bits(step: float) -> float:
    """Return a positive step rounded down to 24 bits, of which 2^29 multiples are exact floats."""
    part, exponent = math.frexp(step)
    return math.ldexp(math.floor(math.ldexp(part, 24)), exponent - 24)


def cosine_and_sine(phase: Array) -> tuple[Array, Array]:
    """Return cos and sin of a phase, e^(i phase) to 16 units, from t = tan(phase/2).

    NumPy may compute a tangent in a tenth of the time of a sine. Known to 8 units it is that of an angle off
    by 4 |sin phase|, half the phase; (1 - t^2)/(1 + t^2) and 2t/(1 + t^2) round by 6 and 4 units at most.
    """
    t = np.tan(phase / 2)
    square = t * t
    scale = 1 / (1 + square)
    return (1 - square) * scale, 2 * t * scale


class QuadratureNodes(NamedTuple):
    """Losses, known to ``error``, and ``log_p`` of their masses under P, which are known to 1 +- ``slack``.

    ``quadrature`` bounds the error of the integrals, relative to M(c), at every frequency up to that of the
    rule. For a product of laws all are (rows, nodes), a row for each factor.
    """

    loss: Array | Complex
    log_p: Array | Complex
    slack: Array
    error: Array
    quadrature: Any

    def only(self, kept: NDArray[np.bool_]) -> QuadratureNodes:
        """Return the nodes of a single row where ``kept`` is true."""
        loss, log_p, slack, error, quadrature = self
        return QuadratureNodes(loss[kept], log_p[kept], slack[kept], error[kept], quadrature.item())


class Logs(NamedTuple):
    """log dP/(k phi), log dQ/(k phi) and L = q - p at points, with the absolute errors of ``p`` and of L."""

    p: Array
    q: Array
    loss: Array
    p_error: Array
    error: Array


class Tail(NamedTuple):
    """For sets of losses: lower bounds on tilted masses, upper ones on variations of the density of L there.

    By parts |E e^(iyL) 1(set)| <= variation/y under the tilt, so rho(y) = M(c + iy)/M(c) has |rho(y)| <= 1 -
    mass + variation/y for any of them.
    """

    mass: Array
    variation: Array


class Base(ABC):
    """Density phi(x) on an open interval or the real line, and the loss l(x), |dl/dx| <= ``scale``.

    ``half`` tells whether it is the part of a symmetric pair where l > 0.
    """

    scale: float
    half: bool = False

    def positive_part(self) -> Base | None:
        """Return the base on l > 0, where l under e^l phi is distributed as -l under phi; None for others."""
        return None

    @abstractmethod
    def tail(self, component: Component, c: float, log_m: float, log_m_error: float) -> Tail:
        """Tabulate masses and variations of a component under the tilt c; log M(c) is ``log_m`` +- error."""

    @abstractmethod
    def nodes(self, component: Component, c: float, y: float | None, digits: float) -> QuadratureNodes | None:
        """Return nodes for E e^((c' + iy') L), |c' - c| <= MARGIN, |y'| <= y, to about e^-digits, relative.

        For y None they are complex, for all y' >= 0, with Im L >= 0: a path, or None if there is none. Raises
        SizeError where they are too many.
        """

    def damping(self, x: Array, a: float = 0.0) -> tuple[Any, Array]:
        """Return minus the log of a factor of phi(x + ia) that takes mass off, and its error in UNITs."""
        return np.zeros(1), np.zeros(1)


class AffineBase(Base):
    """Base with a loss l of slope ``scale`` > 0, and a log phi of second derivative -``bend`` <= 0."""

    bend: float

    @abstractmethod
    def at(self, x: Array) -> tuple[Array, Array, Array]:
        """Return l(x), log phi(x), and minus the derivative of log phi."""

    @abstractmethod
    def grid(self, component: Component, c: float, size: int) -> Array:
        """Return ``size`` equidistant x from where tilted mass begins to where its density falls for good."""

    def tail(self, component: Component, c: float, log_m: float, log_m_error: float) -> Tail:
        """Tabulate the sets of all L past each x of a grid that is fine enough to bound both.

        The density of L under the tilt, ``height`` = w dx/dL, has, in x, a logarithmic derivative h that is
        affine plus two multiples of logistic functions. In t = e^l, h'' is a polynomial of degree four over a
        positive function: four zeros, so h' has at most five and h six. For a normal base h falls from +inf
        to -inf, so that their number is not even: five stationary points of the density; where log phi is
        affine h' itself has one zero, hence h two. A cell without one contributes to the variation the
        difference of its ends, one with at most twice its maximum times e^(rate width) - 1 more: 10 in all.
        """
        size = 1000  # points of the table: cells in which a density grows by a few percent
        part, scale, x = component, self.scale, self.grid(component, c, size)
        loss, log_phi, fall = self.at(x)
        logs = part.logs(loss, np.zeros(size))
        log_w = log_phi + (1 - c) * logs.p + c * logs.q + math.log(part.k) - log_m
        # dx/dL = (1 - b + b e^l) (1 - d + d e^l)/(g e^l scale)
        log_height = log_w + log_m_error + logs.p + logs.q - loss - math.log(abs(part.g)) - math.log(scale)
        width = float(x[1] - x[0])
        slope_q, slope_p = subsampled_slope(part.b, loss, logs.q), subsampled_slope(part.d, loss, logs.p)
        rate = np.abs(scale * ((c + 1) * slope_q + (2 - c) * slope_p - 1) - fall)  # |h|
        # Bound on |h'|: a logistic function is nowhere steeper than 1/4.
        bend = self.bend + scale**2 * (abs(c + 1) + abs(2 - c)) / 4
        growth = (np.maximum(rate[1:], rate[:-1]) + bend * width) * width
        # A cell has at least the mass of its width times its larger end over e^growth; the slope of log w is
        # that of log height but for at most scale.
        log_least = np.maximum(log_w[1:], log_w[:-1]) - log_m_error - growth - scale * width
        log_height = np.minimum(log_height, TALLEST)
        height = np.exp(log_height)
        with np.errstate(divide="ignore"):  # no growth adds nothing
            log_more = np.where(growth > 30, growth, np.log(np.expm1(np.minimum(growth, 30))))
        wiggle = np.exp(np.minimum(np.maximum(log_height[1:], log_height[:-1]) + log_more, TALLEST))
        worst = np.append(np.maximum.accumulate(wiggle[::-1])[::-1], 0.0)
        each = np.array([np.exp(log_least) * width, np.abs(np.diff(height))])
        mass, varied = np.pad(np.cumsum(each[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))  # from each x on
        # The density jumps by ``height`` at x, and falls to 0 past the grid.
        return Tail(mass * (1 - SURE), (varied + height + height[-1] + 10 * worst) * (1 + SURE))


@dataclass(frozen=True)
class Component:
    """dP = k (1 - d + d e^l) phi, dQ = k (1 - b + b e^l) phi; all four are known to ``units`` of 2^-53."""

    base: Base
    k: float = 1.0
    g: float = 1.0
    b: SamplingRate = ALL
    d: SamplingRate = NONE
    units: int = 0

    def logs(self, base_loss: Array, error: Array) -> Logs:
        """Return log dP and log dQ over k phi, and L, at base losses l known to ``error``.

        Where dQ/dP is within a half of 1, L = log1p(x), x = g (e^l - 1)/dP: expm1 and a product make 9 units,
        another product and e^-log_p, log_p known to 24 units of itself, 9 + 24 |log_p|, besides those of g
        and d; that is times x/((1 + x) log1p x) <= 1 + |x|, and 8 of the logarithm; each of the three steps
        may round a subnormal number, by TINY, the first before e^-log_p. Elsewhere it is a difference of both
        logarithms. |dL/dl| is the product |g| e^l/(dP dQ): as a difference of two slopes it would be lost
        where g is tiny.
        """
        # Densities at larger base losses are compared as logarithms: if they differ, it is by much.
        steep = 30.0
        log_p, log_q = subsampled_loss(self.d, base_loss), subsampled_loss(self.b, base_loss)
        slope_p = subsampled_slope(self.d, base_loss, log_p)
        p_error = subsampled_loss_error(base_loss, log_p) + self.units * UNIT
        q_error = subsampled_loss_error(base_loss, log_q) + self.units * UNIT
        small = base_loss < steep
        lift = np.exp(np.where(small, np.minimum(-log_p, 700.0), 0.0))
        excess = self.g * np.expm1(np.minimum(base_loss, steep)) * lift  # dQ/dP - 1
        near = (np.abs(excess) < 0.5) & small
        excess = np.where(near, excess, 0.0)
        loss = np.where(near, np.log1p(excess), log_q - log_p)
        known = 10 + 2 * self.units + np.where(log_p == 0, 0.0, 9 + 24 * np.abs(log_p))
        near_error = UNIT * (8 + known * (1 + np.abs(excess))) * np.abs(loss) + 4 * TINY * (1 + lift)
        far_error = p_error + q_error + UNIT * np.abs(loss)
        with np.errstate(divide="ignore"):  # log 0 is -inf
            slope = np.exp(base_loss - log_p - log_q + np.log(np.abs(self.g)))
        moved = slope * error * (1 + SURE)
        loss_error = np.where(near, near_error, far_error) + moved
        return Logs(log_p, log_q, loss, p_error + slope_p * error, loss_error)


def log_sum(weights: Array) -> Array:
    """Return the logarithm of the sum of e^w of each row, as a column."""
    peak = np.max(weights, axis=-1, keepdims=True)
    return np.asarray(peak + np.log(np.sum(np.exp(weights - peak), axis=-1, keepdims=True)))


def tilted_slopes(
    q: tuple[float, float], p: tuple[float, float], powers: tuple[float, float]
) -> tuple[float, float]:
    """Return the range of the slopes (1 - c) t + c s of log(P^(1-c) Q^c), for c = 0 and between ``powers``.

    The slopes s of log Q and t of log P over phi have the ranges ``q`` and ``p``. A standard normal phi times
    e^(s x) is centred at s: around these slopes lie the masses of P and of its tilts, so nodes must.
    """
    each = [c * s + (1 - c) * t for c in (0.0, *powers) for s in q for t in p]
    return min(each), max(each)


def panel_rule(
    part: Component, c: float, y: float, ends: tuple[float, float], fall: float
) -> tuple[Array, Array]:
    """Return nodes x between two ends, and logs of weights times k, for E e^((c' + iy') L), |y'| <= y.

    c' is within MARGIN of c, and ``fall`` bounds the slope of log phi. Nodes are 32 Gauss-Legendre nodes on
    each of equal panels of half-width r, whose Bernstein ellipse of parameter 4 reaches 17/8 r along the line
    and 15/8 r across it. Where |Im l| < pi/2 there, the slopes in l of logarithms of densities lie in the
    disc about 1/2 that passes 0 and 1, so that the integrand has a logarithmic derivative of at most K = (|1
    - c| + |c| + 2 MARGIN + y) scale + ``fall``, here for y + MARGIN. It grows by at most e^(25/8 K r) from
    one point of the panel to another of the ellipse, and the rule errs by at most

        (64/15) 4^-64/(1 - 1/16) e^(25/8 K r)/2 < 1e-27    for K r <= 8

    of the integral of its modulus at y = 0 (Trefethen 2013, Theorem 19.3). Weights are known to 64 units.
    """
    scale, (start, stop) = part.base.scale, ends
    rate = (abs(1 - c) + abs(c) + 3 * MARGIN + y) * scale + fall
    # r is at most 8/K, 0.8/scale, so that |Im l| is at most 15/8 r scale = 1.5, and 1/2.
    panels = math.ceil((stop - start) / 2 * max(rate / 8, 1.25 * scale, 2.0))
    if panels * RULE > MAX_NODES:
        raise SizeError(f"the quadrature of {part.base!r} needs {panels * RULE:.3g} nodes, above {MAX_NODES}")
    r, (at, weight) = (stop - start) / 2 / panels, gauss_legendre(RULE)
    x = start + r * (2 * np.arange(panels)[:, None] + 1 + at)
    return x.ravel(), np.log(np.tile(weight, panels) * (r * part.k))
