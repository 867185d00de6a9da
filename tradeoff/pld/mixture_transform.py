"""The transform of two mixtures whose loss increases, and its decay: by a path beside the line.

The integral of p^(1-z) q^z, z = c + iy, is moved to Im x = a, 0 < a < pi/s, s the spread of the means. Over
phi, the terms of p and of q have arguments within s a of each other there, so that |p| and |q| are e^(a^2/2)
times at most, and at least cos(s a/2) of, what they are on the line. L has an imaginary part in (0, pi), as

    Im(q conj p) = sum_(i<j) (p_i q_j - p_j q_i) e^(u_i + u_j) sin((m_j - m_i) a)

is positive; with sin((m_j - m_i) a) >= (m_j - m_i) sin(s a)/s it is at least sin(s a)/s L' |p q|. So

    |M(c + iy)| <= e^(a^2/2) cos(s a/2)^-falling int w e^(-y L' sin(s a)/s) dx,   w = p^(1-c) q^c,

which decreases in y: as fast as w where L' is below 1/y, while integration by parts gives no more than 1/y.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from tradeoff.intervals.rounding import Array
from tradeoff.pld.components import scaled
from tradeoff.pld.law import PrivacyLossDistribution
from tradeoff.pld.normal_mixtures import MixturePair
from tradeoff.pld.quadrature import QuadratureTransform

# Distances of paths from the line, over pi/s: the first decays most, and the last grows least.
_SHARES = (0.5, 0.3, 0.1)

_HIGHEST = 1.5  # most of such a distance: beyond, e^(a^2/2) grows faster than all decays
_BEYOND = 9.0  # standard deviations beyond the steepest tilt where w is a tail of e^-40

# Cells of an upper sum in which w and L' vary by e^(1/16) or so; and the most, which makes it rougher.
_FINE, _MOST_CELLS = 64, 40_000

_FAINT = 1e-25  # tilted masses of cells below it count as if L' were 0 there
_SURE = 1e-9  # more than the rounding of slopes, logarithms and sums of spreads up to ``WIDEST``: 1e6 units
WIDEST = 100.0  # spread of means up to which the path is taken


class MixtureTransform(QuadratureTransform):
    """The quadrature of a pair of mixtures, and what bounds it beyond a frequency."""

    def __init__(self, law: PrivacyLossDistribution, pair: MixturePair, c: float, digits: float) -> None:
        super().__init__(law, c, digits)
        self.pair = pair

    def far(self, y: float) -> float:
        rate, mass = self._cells
        with np.errstate(divide="ignore", under="ignore", invalid="ignore"):  # NaN is not below 0
            sums = [(growth, np.sum(mass * np.exp(-y * turn * rate))) for growth, turn in self._paths]
            return min(0.0, *(float(np.log(result)) + growth + _SURE for growth, result in sums))

    @cached_property
    def _paths(self) -> list[tuple[float, float]]:
        """Return, of some distances from the line, log of what w grows by, and Im L over L' from below."""
        s, (p, q) = self.pair.spread, self._ends
        falling = max(0.0, -self.c) * (q[0] < q[1]) + max(0.0, self.c - 1) * (p[0] < p[1])
        distances = [min(share * math.pi / s, _HIGHEST) for share in _SHARES]
        return [
            (a * a / 2 - falling * math.log(math.cos(s * a / 2)), math.sin(s * a) / s * (1 - _SURE))
            for a in distances
        ]

    @property
    def _ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return self.pair.ends(self.pair.p_weights), self.pair.ends(self.pair.q_weights)

    @cached_property
    def _cells(self) -> tuple[Array, Array]:
        """Return dL/dx from below and the tilted mass from above, of cells; at the end 0, and all other mass.

        (log w)' is a mean of p less x, and c L'; L' varies by e^(2 s t) over t at most. Beyond the last point
        (log w)' is below -9 and falls as -x: what lies there is below w/9.
        """
        s, x = self.pair.spread, self._grid()
        width = float(x[1] - x[0]) * (1 + _SURE)
        known, slope = self.pair.logs(x), self.pair.slopes(x)[0]
        off = known.p_error + abs(self.c) * known.error + self.log_m_error + _SURE
        w = np.exp(known.log_p + self.c * known.loss - self.log_m + off)
        away = np.maximum(np.abs(x - self.pair.means[0]), np.abs(x - self.pair.means[-1]))
        steep = away + abs(self.c) * slope * math.exp(2 * s * width) * (1 + _SURE)
        with np.errstate(over="ignore", invalid="ignore"):  # of tilts so steep that nothing is said
            rise = np.exp(np.maximum(steep[1:], steep[:-1]) * width / 2)
            mass = width * np.maximum(w[1:], w[:-1]) * rise
        rate = np.minimum(slope[1:], slope[:-1]) * math.exp(-s * width) * (1 - _SURE)
        bounds = mass > _FAINT
        rest = np.sum(mass[~bounds]) + (w[0] + w[-1]) / _BEYOND
        return np.append(rate[bounds], 0.0), np.append(mass[bounds], rest) * (1 + _SURE)

    def _grid(self) -> Array:
        """Return equal steps over all slopes of log(w/phi), which are means of p and q, tilted."""
        p, q = self._ends
        by_p, by_q = scaled(1 - self.c, p), scaled(self.c, q)
        low, high = by_p[0] + by_q[0] - _BEYOND, by_p[1] + by_q[1] + _BEYOND
        cells = min(int((high - low) * _FINE * (1 + self.pair.spread)), _MOST_CELLS)
        return np.linspace(low, high, cells + 1)
