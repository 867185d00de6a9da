"""The smooth part of a law as components, in a form that every operator keeps.

A component has densities dP = k (1 - d + d e^l) phi and dQ = k (1 - b + b e^l) phi over a base phi with loss
l, and g = b - d. Thinning, reversal and mixture change b, d, their complements, g and k by products and
positive sums: nothing cancels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tradeoff.intervals.rounding import TINY, UNIT, Array
from tradeoff.loss.thinning import Share, thinned_loss, thinned_loss_error, thinned_slope

_STEEP = 30.0
"""Densities at base losses beyond this one are compared as logarithms: if they differ, it is by much."""

MARGIN = 0.25
"""The bounds of a quadrature hold for real parts within this of the tilt, for Cauchy's estimate."""

MAX_NODES = 400_000
"""Most points one law is turned into."""

ALL, NONE = Share(1.0, 0.0), Share(0.0, 1.0)


class QuadratureNodes(NamedTuple):
    """Losses (known to ``error``) with the logarithms of their P-mass (known to the relative ``slack``).

    ``quadrature`` bounds what is lost against the integrals, relative to them, at every frequency up to the
    one asked.
    """

    loss: Array
    log_p: Array
    slack: Array
    error: Array
    quadrature: float


class Logs(NamedTuple):
    """Logarithms of both densities over the base, and the loss L; absolute errors of ``p`` and of L."""

    p: Array
    q: Array
    loss: Array
    p_error: Array
    error: Array


class Base(ABC):
    """A density phi in x on an open interval or the line, where its loss l is affine, log phi a parabola.

    ``smoothness`` counts on both: an h of that form has at most six zeros.
    """

    scale: float
    """dl/dx > 0."""

    bend: float
    """Minus the second derivative of log phi, >= 0."""

    @abstractmethod
    def loss(self, x: Array) -> Array:
        """Return l(x)."""

    @abstractmethod
    def log_density(self, x: Array) -> Array:
        """Return log phi(x)."""

    @abstractmethod
    def fall(self, x: Array) -> Array:
        """Return minus the derivative of log phi."""

    @abstractmethod
    def grid(self, component: Component, c: float, size: int) -> Array:
        """Return equidistant points from where the tilted mass begins to where its density falls for good."""

    @abstractmethod
    def nodes(self, component: Component, c: float, y: float, digits: float) -> QuadratureNodes:
        """Return nodes for E e^((c' + iy') L), |c' - c| <= MARGIN, |y'| <= y, to about e^-digits, relative.

        Raises SizeError where they are too many.
        """


@dataclass(frozen=True)
class Component:
    """One smooth component; g, k and both shares are known to ``units`` of 2^-53, relative."""

    base: Base
    k: float = 1.0
    g: float = 1.0
    b: Share = ALL
    d: Share = NONE
    units: int = 0

    @property
    def pure(self) -> bool:
        """Whether L is plus or minus the base loss."""
        return abs(self.g) == 1

    def thinned(self, p: float) -> Component:
        """Return the component with Q replaced by (1 - p) P + p Q.

        A product, 1 - p and a sum are three units, 1 - p alone one.
        """
        rest = 1 - p
        b = Share(rest * self.d.part + p * self.b.part, rest * self.d.rest + p * self.b.rest)
        return replace(self, g=p * self.g, b=b, units=self.units + (1 if self.pure else 3))

    def reversed(self) -> Component:
        """Return the component with P and Q exchanged."""
        return replace(self, g=-self.g, b=self.d, d=self.b)

    def weighted(self, weight: float) -> Component:
        """Return the component as a part of a mixture."""
        return replace(self, k=weight * self.k, units=self.units + 1)

    def logs(self, base_loss: Array, error: Array) -> Logs:
        """Return log dP, log dQ (over k phi) and L at base losses known to ``error``.

        Where densities are within a half, L = log1p(x), x = g (e^l - 1)/dP: expm1 and a product make 9 units,
        another product and e^-log_p, log_p known to 24 units of itself, 9 + 24 |log_p|, beside those of g and
        d; that is times x/((1 + x) log1p x) <= 1 + |x|, and 8 of the logarithm; each of the three steps may
        round a subnormal number, by TINY, the first before e^-log_p. Elsewhere it is a difference of both
        logarithms.
        """
        log_p, log_q = thinned_loss(self.d, base_loss), thinned_loss(self.b, base_loss)
        under_p, under_q = thinned_slope(self.d, base_loss, log_p), thinned_slope(self.b, base_loss, log_q)
        p_error = thinned_loss_error(base_loss, log_p) + self.units * UNIT
        q_error = thinned_loss_error(base_loss, log_q) + self.units * UNIT
        small = base_loss < _STEEP
        lift = np.exp(np.where(small, np.minimum(-log_p, 700.0), 0.0))
        odds = self.g * np.expm1(np.minimum(base_loss, _STEEP)) * lift
        near = (np.abs(odds) < 0.5) & small
        loss = np.where(near, np.log1p(np.where(near, odds, 0.0)), log_q - log_p)
        known = 10 + 2 * self.units + np.where(log_p == 0, 0.0, 9 + 24 * np.abs(log_p))
        close = UNIT * (8 + known * (1 + np.abs(odds))) * np.abs(loss) + 4 * TINY * (1 + lift)
        apart = p_error + q_error + UNIT * np.abs(loss)
        moved = np.abs(under_q - under_p) * error  # |dL/dl|
        return Logs(log_p, log_q, loss, p_error + under_p * error, np.where(near, close, apart) + moved)


def exponents(share: Share, power: float) -> tuple[float, float]:
    """Return the range of power times the slope of log(1 - s + s e^l) over all losses."""
    if share.part == 0:
        return 0.0, 0.0
    return (power, power) if share.rest == 0 else (min(power, 0.0), max(power, 0.0))
