"""Truncated noise: a law conditioned on [-cut, cut], tested against its shift."""

from __future__ import annotations

from dataclasses import dataclass

from tradeoff.balls import Balls, choose, exp, expm1, maximum, minimum, normal_sf, to_balls
from tradeoff.curves.parameters import MAX_SCALE, MIN_SCALE, number
from tradeoff.families._closed_form import ClosedForm
from tradeoff.families.gaussian import gaussian_beta, gaussian_profile
from tradeoff.families.laplace import laplace_beta, laplace_profile


@dataclass(frozen=True, repr=False)
class Truncated(ClosedForm):
    """Testing X against X + shift in (0, 2 cut], X normal or Laplace, both given |X| <= cut.

    Scale (the deviation of a normal law), shift and cut are positive, in one unit. The loss still increases
    along the line, so thresholds stay optimal. With g the curve without truncation, s the mass of each tail
    that is cut off and k = 1 - 2 s the rest, the errors of a threshold are affine in those without it:
    f(alpha) = (g(k alpha + s) - s)_+/k, and hence delta(x) = (delta_g(x) + s (e^x - 1))/k up to the loss at
    the end of the support; from there on it is the mass at infinity.

    >>> f = Truncated(1.0, 1.0, 5.0, normal=False)
    >>> round(f.delta(1.0), 6), round(f(0.1), 6)
    (0.005828, 0.722344)
    """

    scale: float
    shift: float
    cut: float
    normal: bool

    def __post_init__(self) -> None:
        for name, most in (("scale", MAX_SCALE), ("cut", MAX_SCALE), ("shift", 2 * self.cut)):
            object.__setattr__(self, name, number(name, getattr(self, name), MIN_SCALE, most))

    def _tail(self, x: Balls) -> Balls:
        """Return the probability, without truncation, of more than x."""
        z = x / self.scale
        return normal_sf(z) if self.normal else choose(z, 1 - exp(z) / 2, exp(-z) / 2)

    def _masses(self) -> tuple[Balls, Balls]:
        """Return the mass of a tail that is cut off, and the mass inside."""
        cut_off = self._tail(to_balls(self.cut))
        return cut_off, 1 - 2 * cut_off

    def beta_balls(self, alpha: Balls) -> Balls:
        cut_off, left = self._masses()
        base, ratio = (gaussian_beta if self.normal else laplace_beta), to_balls(self.shift) / self.scale
        return minimum(maximum(base(left * alpha + cut_off, ratio) - cut_off, 0) / left, 1 - alpha)

    def profile(self, x: Balls) -> Balls:
        cut_off, left = self._masses()
        base, ratio = (
            (gaussian_profile if self.normal else laplace_profile),
            to_balls(self.shift) / self.scale,
        )
        inner = (base(x, ratio) + cut_off * expm1(x)) / left
        end, lost = self.largest_loss(), self.infinite_mass()
        return choose(x + end, exp(x) * lost - expm1(x), choose(x - end, inner, lost + 0 * x))

    def infinite_mass(self) -> Balls:
        cut_off, left = self._masses()
        return (self._tail(to_balls(self.cut) - self.shift) - cut_off) / left

    def largest_loss(self) -> Balls:
        """Return the loss at the end of the common support."""
        cut, shift = to_balls(self.cut), to_balls(self.shift)
        if self.normal:
            return (2 * cut - shift) * shift / to_balls(self.scale) ** 2 / 2
        return minimum(2 * cut - shift, shift) / self.scale

    @property
    def notation(self) -> str:
        name = "N" if self.normal else "Lap"
        return f"{name}({self.scale:.6g}) on [-{self.cut:.6g}, {self.cut:.6g}] + {self.shift:.6g}"
