"""Where two Laplace laws overlap: a density on an interval, a rule for its transform and a closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from flint import acb, arb, ctx

from tradeoff.certificates.verify.balls import Pair, greatest
from tradeoff.certificates.verify.parts import MOST, Density, Nodes
from tradeoff.certificates.verify.report import require

RULE = 40  # nodes of a Gauss-Legendre panel, which errs by about r^-80, r = 6 that of its ellipse
_PANEL = 2.5  # how far a phase turns on a panel, about

# Exponents below which a slab is as good as level, and above which 1/sinh^2 is none.
_LEVEL, _STEEP = 1e-3, 300.0


@dataclass(frozen=True)
class Slab(Density):
    """Terms 1 and e^(2x - epsilon) against e^-x/2 on (0, epsilon): where two Laplace laws overlap."""

    epsilon: arb

    def logs(self, x: Any) -> Any:
        return [x * 0, 2 * x - self.epsilon], -x - arb(2).log()

    def slopes(self) -> Sequence[arb]:
        return arb(0), arb(2)

    def root(self, gain: list[arb]) -> arb:
        t = ((-gain[0] / gain[1]).log() + self.epsilon) / 2
        return t.max(arb(0)).min(self.epsilon)

    def beyond(self, t: arb | None, side: int) -> list[arb]:
        low, high = arb(0) if t is None or side < 0 else t, self.epsilon if t is None or side > 0 else t
        width = high - low
        return [-((-low).exp() * (-width).expm1()) / 2, (low - self.epsilon).exp() * width.expm1() / 2]

    def bulk(self, c: arb, bits: int) -> tuple[float, float]:
        return 0.0, float(self.epsilon)

    def top(self) -> arb:
        return greatest([self.tilted(x, arb(0))[1] for x in (arb(0), self.epsilon)])

    @property
    def plain(self) -> bool:
        """Whether P and Q are single terms, and the transform has a closed form."""
        return all(sum(not w.is_zero() for w in side) == 1 for side in (self.p, self.q))

    @cached_property
    def _terms(self) -> tuple[int, int, arb, arb]:
        """The terms that P and Q of a plain slab have, and the logarithms of P and of Q/P without them."""
        k, n = (next(j for j, w in enumerate(side) if not w.is_zero()) for side in (self.p, self.q))
        log_p = self.p[k].log()
        return k, n, log_p - self.epsilon / 2 + (self.epsilon / 2).log(), self.q[n].log() - log_p

    def transform(self, z: acb) -> acb:
        """Return M(z) of a plain slab: half the integral of e^(tu) over (-1, 1), at x = epsilon (1 + u)/2."""
        _, _, log, turn = self._terms
        value: acb = (log + turn * z).exp() * (self._rate(z) * acb(0, 1)).sinc()
        return value

    def _rate(self, z: Any) -> Any:
        """Return t."""
        k, n, _, _ = self._terms
        return (z * (n - k) + (k - arb(1) / 2)) * self.epsilon

    def moments(self, c: arb) -> Pair:
        """Return mean and variance of L under the tilted law of a plain slab, about: those of u, scaled."""
        (k, n, _, turn), t = self._terms, float(self._rate(c))
        steep = abs(t) > _LEVEL
        mean = 1 / math.tanh(t) - 1 / t if steep else t / 3
        variance = 1 / t**2 - (1 / math.sinh(t) ** 2 if abs(t) < _STEEP else 0.0) if steep else 1 / 3
        scale = (n - k) * self.epsilon
        return turn + scale * mean, scale**2 * variance

    def nodes(self, c: arb, top: float, bits: int) -> Nodes:
        """Gauss-Legendre panels, analytic in ellipses: (64/15) M r^-2N/(1 - r^-2), half a width of it.

        For f = sum a_k T_k, |a_k| <= 2 M r^-k, and even T_k from k = 2N on err by at most 2 + 2/(k^2 - 1).
        A box of P that holds real points, where P > 0, and not 0 does not meet the cut of the logarithm.
        """
        e = float(self.epsilon)
        panels = math.ceil(e * (top + 2 * max(abs(float(c)), abs(1 - float(c))) + 4) / _PANEL)
        require("laws", panels * RULE < MOST, f"a law needs {panels} panels, too many")
        half, r = self.epsilon / (2 * panels), arb(6)
        weight, loss, error, width = [], [], arb(0), half * arb(0, 1)
        for k in range(panels):
            middle = half * (2 * k + 1)
            for at, share in legendre(ctx.prec):
                log, there = self.tilted(middle + half * at, c)
                weight.append(log.exp() * share * half)
                loss.append(there)
            around = acb(middle + width * (r + 1 / r) / 2, width * (r - 1 / r) / 2)
            log, there = self.tilted(around, c)
            size = (log.real.upper() + top * there.imag.abs_upper()).exp()
            error += half * size * arb(64) / 15 * r ** (-2 * RULE) / (1 - r**-2)
        return Nodes(weight, loss, error)


@cache
def legendre(prec: int) -> list[tuple[arb, arb]]:
    """Return a Gauss-Legendre rule on (-1, 1)."""
    del prec  # of the context
    return [arb.legendre_p_root(RULE, k, weight=True) for k in range(RULE)]
