"""Densities with closed forms: the Gaussian and the Laplace location pairs."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb

from tests.truth.balls import Number, ball, cumulative, quantile
from tests.truth.spec import Spec


@dataclass(frozen=True)
class Gaussian(Spec):
    """G_mu: delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), f(alpha) = Phi(Phi^-1(1 - alpha) -
    mu)."""

    mu: Number

    def distance(self) -> arb:
        """Return mu."""
        return ball(self.mu)

    def stick(self, s: arb) -> arb:
        mu, x = self.distance(), s.log()
        return cumulative(mu / 2 - x / mu) - s * cumulative(-mu / 2 - x / mu)

    def curve(self, alpha: arb) -> arb:
        return cumulative(-quantile(alpha) - self.distance())


@dataclass(frozen=True)
class Gaussians(Gaussian):
    """Product of Gaussians: mu^2 = sum of n_i mu_i^2; the field holds the pairs (mu_i, n_i)."""

    mu: tuple[tuple[Number, int], ...]  # type: ignore[assignment]  # the same role

    def distance(self) -> arb:
        return sum((n * ball(mu) ** 2 for mu, n in self.mu), start=arb(0)).sqrt()


@dataclass(frozen=True)
class Laplace(Spec):
    """T(Lap(0, 1), Lap(eps, 1)): 1 - e^eps a below e^-eps/2, then e^-eps/(4 a) up to 1/2, then e^-eps (1 -
    a)."""

    epsilon_0: Number

    def stick(self, s: arb) -> arb:
        shift, x = ball(self.epsilon_0), s.log()
        if x >= shift:
            return arb(0)
        if x <= -shift:
            return 1 - s
        return 1 - ((x - shift) / 2).exp()

    def curve(self, alpha: arb) -> arb:
        tail = (-ball(self.epsilon_0)).exp()
        steep, middle, flat = 1 - alpha / tail, tail / (4 * alpha), tail * (1 - alpha)
        return flat if alpha > arb(0.5) else middle if alpha > tail / 2 else steep

    def losses(self) -> tuple[arb, arb]:
        shift = ball(self.epsilon_0)
        return -shift, shift
