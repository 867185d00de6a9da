"""Weighted points of a law under a tilt: its atoms, and the nodes of a quadrature whose error is bounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tradeoff.composition.contour.pieces import Piece, exponents
from tradeoff.errors import SizeError
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.gaussian import GaussianLaw
from tradeoff.loss.laplace import LaplaceLaw
from tradeoff.loss.law import Atoms

MAX_NODES = 400_000
"""Most points one law is turned into."""

MARGIN = 0.25
"""The bounds hold for real parts within this of the tilt."""

LOG_SQRT_2PI = 0.9189385332046727
_ANGLE = 2.8
"""Least width of the strip, as an angle of e^l: short of pi, where 1 - p + p e^l may vanish."""

_RULE = 32
_LEGENDRE = np.polynomial.legendre.leggauss(_RULE)


class QuadratureNodes(NamedTuple):
    """Losses (known to ``error``) with the logarithms of their P-mass (known to the relative ``slack``).

    ``quadrature`` bounds what is lost against the integrals, relative to them, at every frequency up to the one asked.
    """

    loss: Array
    log_p: Array
    slack: Array
    error: Array
    quadrature: float


def of_atoms(atoms: Atoms, error: Array, c: float, *, cut: bool) -> QuadratureNodes:
    """Return the atoms, their losses known to ``error``; where a countable law was ``cut``, its ends must carry nothing under the tilt.

    A discrete Gaussian is cut at 40 sigma, sigma <= 4e4: while the tilt moves its centre by at most 30 sigma, masses beyond
    the ends fall by 1 - 2e-4 an atom, and add up to at most 1e5 times the last ones.
    """
    lost = 0.0
    if cut:
        log_w = atoms.log_p + c * atoms.loss
        lost = 1e5 * float(np.sum(np.exp(log_w[[0, -1]] - _log_sum(log_w))))
    return QuadratureNodes(atoms.loss, atoms.log_p, atoms.slack, error, lost)


def of_piece(piece: Piece, c: float, y: float, digits: float) -> QuadratureNodes:
    """Return nodes for E e^((c' + iy') L), |c' - c| <= MARGIN, |y'| <= y, with relative error about e^-digits."""
    return (
        _normal(piece, piece.base.mu, c, y, digits)
        if isinstance(piece.base, GaussianLaw)
        else _interval(piece, piece.base, c, y)
    )


def joined(parts: Sequence[QuadratureNodes]) -> QuadratureNodes:
    """Return all points together; errors relative to positive integrals do not add up beyond the largest."""
    loss, log_p, slack, error = (np.concatenate([part[k] for part in parts]) for k in range(4))
    return QuadratureNodes(loss, log_p, slack, error, max(part.quadrature for part in parts))


def _normal(piece: Piece, mu: float, c: float, y: float, digits: float) -> QuadratureNodes:
    """Trapezoid rule over the whole line.

    On Im x = a the modulus of phi grows by e^(a^2/2), that of e^(iyL) by at most e^(y mu a), since arg e^l = mu a bounds the
    difference of the two arguments; a negative power of 1 - p + p e^l grows by at most cos(mu a/2)^power. An integrand
    analytic in the strip then errs by 2/(e^(2 pi a/h) - 1) times its largest integral there (Trefethen, Weideman 2014,
    Theorem 5.1).
    """
    powers = (c - MARGIN, c + MARGIN)
    falling = max(0.0, -powers[0]) * (min(piece.b) > 0) + max(0.0, powers[1] - 1) * (min(piece.d) > 0)
    a = min(
        math.sqrt(2 * digits / (1 + falling * mu * mu / 4)), _ANGLE / mu
    )  # about the widest step: -log cos(u/2) is near u^2/8
    growth = a * a / 2 + y * mu * a - falling * np.log(np.cos(mu * a / 2))
    h = 2 * np.pi * a / (digits + growth)
    low, high = _reach(piece, powers)
    spare = np.sqrt(2 * digits) + 1.5
    first, last = np.floor((mu * low - spare) / h), np.ceil((mu * high + spare) / h)
    if last - first > MAX_NODES:
        raise SizeError(f"the quadrature of {piece.base!r} needs {last - first:.3g} nodes, above {MAX_NODES}")
    x = h * np.arange(first, last + 1)
    logs = piece.logs(mu * x - mu * mu / 2, 4 * UNIT * (np.abs(mu * x) + mu * mu))
    log_p = np.log(h * piece.k) - x * x / 2 - LOG_SQRT_2PI + logs.p
    slack = UNIT * (32 + 4 * x * x + 8 * np.abs(logs.p)) + 4 * UNIT * (np.abs(mu * x) + mu * mu)
    # Beyond the ends log-weights fall at least as fast as -(x - mu high)^2/2: each tail is at most its end's weight over h spare.
    weights = np.array([log_p + power * logs.loss for power in (*powers, c, 0.0)])
    weights -= np.max(weights, axis=1, keepdims=True)
    tails = 2 * float(np.max(np.exp(weights[:, [0, -1]]))) * (1 + 1 / (h * spare))
    kept = (
        np.max(weights, axis=0) > -digits - 20
    )  # the others, together, are below their number times e^-(digits + 20)
    lost = 3 * math.exp(-digits) + tails + len(x) * math.exp(-digits - 20)
    return QuadratureNodes(logs.loss[kept], log_p[kept], slack[kept], logs.error[kept], lost)


def _reach(piece: Piece, powers: tuple[float, float]) -> tuple[float, float]:
    """Return bounds on d log(tilted density over phi)/(mu dx), for all the powers and for P itself."""
    slopes = [0.0, 1.0]
    for power in powers:
        under_q, under_p = exponents(piece.b, power), exponents(piece.d, 1 - power)
        slopes += [under_q[0] + under_p[0], under_q[1] + under_p[1]]
    return min(slopes), max(slopes)


def _interval(piece: Piece, base: LaplaceLaw, c: float, y: float) -> QuadratureNodes:
    """Gauss-Legendre rule on panels of the open interval, whose density in l is e^(-(l + epsilon)/2)/4.

    Panels have half-width r with r (y + k) <= 5, k = 1 + |c| + |1 - c| a bound on the logarithmic derivative. On the Bernstein
    ellipse of parameter 4 an integrand grows by at most e^(4.2 * 5), and 32 nodes err by (64/15) 4^-64 of its maximum
    there, which is below e^-65 of the panel's own integral (Trefethen 2013, Theorem 19.3).
    """
    epsilon = base.epsilon
    rate = y + 1 + 2 * abs(c) + 2 * abs(1 - c) + 4 * MARGIN
    panels = int(np.ceil(epsilon * max(rate / 5, 2.0)))
    if panels * _RULE > MAX_NODES:
        raise SizeError(f"the quadrature of {base!r} needs {panels * _RULE:.3g} nodes, above {MAX_NODES}")
    r = epsilon / panels
    centre = -epsilon + r * (2 * np.arange(panels) + 1)
    at, weight = _LEGENDRE
    loss = (centre[:, None] + r * at).ravel()
    logs = piece.logs(loss, np.full(len(loss), 4 * UNIT * epsilon))
    log_p = np.log(np.tile(weight, panels) * (r * piece.k / 4)) - (loss + epsilon) / 2 + logs.p
    return QuadratureNodes(
        logs.loss, log_p, UNIT * (128 + 8 * epsilon + 8 * np.abs(logs.p)), logs.error, 1e-28
    )


def _log_sum(exponents: Array) -> float:
    peak = float(np.max(exponents))
    return peak + float(np.log(np.sum(np.exp(exponents - peak))))
