"""Densities with closed forms: location pairs."""

from __future__ import annotations

from abc import abstractmethod
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


@dataclass(frozen=True)
class Shifted(Spec):
    """X against X + shift; theta is the shift over the scale."""

    shift: Number
    scale: Number = 1.0

    def theta(self) -> arb:
        """Return the shift in scales."""
        return ball(self.shift) / ball(self.scale)

    @abstractmethod
    def tails(self, s: arb) -> tuple[arb, arb]:
        """Return Q(L > log s) and P(L > log s)."""

    def stick(self, s: arb) -> arb:
        q, p = self.tails(s)
        return q - s * p


@dataclass(frozen=True)
class Logistic(Shifted):
    """With y = e^-x: P(X > x) = y/(1 + y), Q the same of z = e^theta y, q/p = e^theta ((1 + y)/(1 + z))^2."""

    def tails(self, s: arb) -> tuple[arb, arb]:
        theta, x = self.theta(), s.log()
        if x >= theta or x <= -theta:
            return (arb(x <= -theta),) * 2
        root = ((x - theta) / 2).exp()
        y = (1 - root) / (root * theta.exp() - 1)
        moved = theta.exp() * y
        return moved / (1 + moved), y / (1 + y)

    def curve(self, alpha: arb) -> arb:
        return (1 - alpha) / (1 - alpha + alpha * self.theta().exp())

    def losses(self) -> tuple[arb, arb]:
        return -self.theta(), self.theta()


@dataclass(frozen=True)
class Gumbel(Shifted):
    """With z = e^-x: P(X > x) = 1 - e^-z, Q the same of e^theta z, q/p = e^theta e^(-z (e^theta - 1))."""

    def tails(self, s: arb) -> tuple[arb, arb]:
        theta, x = self.theta(), s.log()
        z = arb(0) if x >= theta else (theta - x) / theta.expm1()
        return -(-z * theta.exp()).expm1(), -(-z).expm1()

    def curve(self, alpha: arb) -> arb:
        return (self.theta().exp() * (-alpha).log1p()).exp()

    def losses(self) -> tuple[arb, arb]:
        return arb.neg_inf(), self.theta()
