"""Closed forms in balls: a family writes its formula, and every question is answered from it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ClassVar, NamedTuple, ParamSpec

import numpy as np

from tradeoff.balls import PRECISION, Balls, in_floats, precision, to_balls, to_bounds, to_floats
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import symbols_of, written
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.float_balls import FloatBalls
from tradeoff.intervals.rounding import Array

P = ParamSpec("P")

MANY = 256  # points from which on formulas are evaluated in floats, with their rounding, where they can be


class ClosedForm(TradeOff):
    """Family with formulas for f and its profile, in arrays of balls (``tradeoff.balls``).

    A subclass gives ``beta_balls`` and ``profile``, and ``loss`` where the profile has an inverse in closed
    form; where some losses are infinite ``infinite_mass``, and where all finite losses are bounded
    ``largest_loss``.
    """

    symmetric = True

    parameter: ClassVar[str] = ""
    """Name of the parameter that may be a symbol; none in most."""

    pattern: ClassVar[str]
    """Notation, with a place for the parameter."""

    elementary: ClassVar[bool] = False
    """Whether formulas are of those functions alone that ``balls.in_floats`` evaluates."""

    def beta_balls(self, alpha: Balls) -> Balls:
        """Return f(alpha), 0 <= alpha <= 1."""
        raise NotImplementedError

    def profile(self, x: Balls) -> Balls:
        """Return delta(x) for finite losses x of either sign."""
        raise NotImplementedError

    def loss(self, delta: Balls) -> Balls:
        """Return the epsilon with delta(epsilon) = delta, for probabilities in (Q(L = inf), 1)."""
        raise NotImplementedError

    def infinite_mass(self) -> Balls | None:
        """Return Q(L = inf) = 1 - f(0); None where it is 0."""
        return None

    def largest_loss(self) -> Balls | None:
        """Return the supremum of the finite losses; None where they are unbounded."""
        return None

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return enclose(self.beta_balls, alpha, 0.0, 1.0, floats=self.elementary)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        return enclose(self.profile, epsilon, 0.0, 1.0, floats=self.elementary)

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        if type(self).loss is ClosedForm.loss:
            return super().epsilon_bounds(delta, tol)
        return enclose(self.loss, delta, -np.inf, np.inf, floats=self.elementary)

    @property
    def free_symbols(self) -> frozenset[Any]:
        return symbols_of(getattr(self, self.parameter, None))

    @property
    def notation(self) -> str:
        return self.pattern % written(getattr(self, self.parameter))

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        self.require_numbers()
        if (mass := self.infinite_mass()) is None:
            return Bounds(0.0, 0.0)
        low, high = to_bounds(mass)
        return Bounds(max(low, 0.0), min(high, 1.0))

    @property
    def loss_bounds(self) -> Bounds[float]:
        self.require_numbers()
        largest = self.largest_loss()
        return Bounds(np.inf, np.inf) if largest is None else to_bounds(largest)


class Formulas(NamedTuple):
    """Closed forms of X against X + theta in an argument and theta > 0, X of scale 1.

    ``loss`` is the inverse of ``profile`` where it is known; ``is_bounded``: theta is the largest loss.
    """

    beta: Callable[[Balls, Balls], Balls]
    profile: Callable[[Balls, Balls], Balls]
    loss: Callable[[Balls, Balls], Balls] | None = None
    is_bounded: bool = True


class ShiftFamily(ClosedForm):
    """Family of shifts by theta, with formulas in theta alone."""

    formulas: Formulas

    @abstractmethod
    def theta_ball(self) -> Balls:
        """Return the exact theta."""

    def beta_balls(self, alpha: Balls) -> Balls:
        return self.formulas.beta(alpha, self.theta_ball())

    def profile(self, x: Balls) -> Balls:
        return self.formulas.profile(x, self.theta_ball())

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        if (loss := self.formulas.loss) is None:
            return super().epsilon_bounds(delta, tol)
        floats = self.elementary
        return enclose(lambda level: loss(level, self.theta_ball()), delta, -np.inf, np.inf, floats=floats)

    def largest_loss(self) -> Balls | None:
        return self.theta_ball() if self.formulas.is_bounded else None


def enclose(
    formula: Callable[[Balls], Balls], at: Array, least: float, most: float, *, floats: bool = False
) -> Pair:
    """Bound a formula with values in [least, most], with more bits where cancellation left few.

    ``floats``: evaluate long arrays in floats first, and in balls where that is wider than 1e-13, relatively.
    """
    lower, upper = np.full(len(at), least), np.full(len(at), most)
    wide, bits = np.arange(len(at)), PRECISION
    if floats and len(at) > MANY:
        with in_floats(), np.errstate(all="ignore"):
            low, high = formula(FloatBalls.of(at)).ends()
        lower, upper = np.fmax(low, least), np.fmin(high, most)
        wide = np.flatnonzero(~(upper - lower <= 1e-13 * np.minimum(np.abs(lower), np.abs(upper))))
    while len(wide) and bits <= 3072:
        with precision(bits):
            low, high = to_floats(formula(to_balls(at[wide])))
        lower[wide], upper[wide] = np.fmax(low, least), np.fmin(high, most)
        with np.errstate(invalid="ignore"):  # of infinite ends
            width, size = upper[wide] - lower[wide], np.maximum(np.abs(lower[wide]), np.abs(upper[wide]))
        wide = wide[~(width <= 2.0**-50 * size)]
        bits *= 4
    return lower, upper


def suggest_mechanism(call: str) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Return a decorator of a constructor whose error for unknown keywords names the mechanism meant."""

    def decorate(construct: Callable[P, None]) -> Callable[P, None]:
        names = signature(construct).parameters

        @wraps(construct)
        def checked(*args: P.args, **given: P.kwargs) -> None:
            for name in given.keys() - names:
                curve = type(args[0]).__name__
                raise TypeError(
                    f"the curve {curve} has no parameter {name!r}; for noise use tradeoff.mechanisms.{call}"
                )
            construct(*args, **given)

        return checked

    return decorate
