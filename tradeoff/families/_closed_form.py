"""Closed forms in balls: a family writes its formula, and every question is answered from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tradeoff import balls
from tradeoff.balls import PRECISION, Balls, precision, to_balls, to_bounds, to_floats
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import written
from tradeoff.intervals.bounds import Array, Bounds, Pair
from tradeoff.intervals.float_balls import FloatBalls

MANY = 256  # points from which on formulas are evaluated in floats, with their rounding, where they can be


class Formulas(NamedTuple):
    """Closed forms of a family, each in an argument and the exact parameters (``ClosedForm.theta_ball``).

    ``beta`` is f(alpha), 0 <= alpha <= 1, ``profile`` delta(x) for finite losses x of either sign, and
    ``loss`` its inverse for probabilities in (Q(L = inf), 1), None where it is not known. ``largest_loss``
    is the supremum of the finite losses, None where they are unbounded, and ``infinite_mass`` Q(L = inf).
    ``renyi`` is D_a(P || Q) in nats for orders a in (0, inf), from the functions of ``tradeoff.balls`` or of
    SymPy, the parameters and a.
    """

    beta: Callable[[Balls, Any], Balls]
    profile: Callable[[Balls, Any], Balls]
    loss: Callable[[Balls, Any], Balls] | None = None
    largest_loss: Callable[[Any], Balls] | None = lambda theta: theta
    infinite_mass: Callable[[Any], Balls] | None = None  # 0
    renyi: Callable[[Any, Any, Any], Any] | None = None


class ClosedForm(TradeOff):
    """Family with formulas for f and its profile, in arrays of balls (``tradeoff.balls``)."""

    symmetric = True

    formulas: Formulas

    parameter: ClassVar[str] = ""
    """Name of the parameter, which may be a symbol in most."""

    pattern: ClassVar[str]
    """Notation, with a place for the parameter."""

    elementary: ClassVar[bool] = False
    """Whether formulas are of arithmetic and functions of ``intervals.float_balls`` alone."""

    def theta_ball(self) -> Any:
        """Return the exact parameters of the formulas."""
        return to_balls(getattr(self, self.parameter))

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return self._enclose(self.formulas.beta, alpha, 0.0, 1.0)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        return self._enclose(self.formulas.profile, epsilon, 0.0, 1.0)

    def epsilon_bounds(self, delta: Array, tol: float | None) -> Pair:
        if self.formulas.loss is None:
            return super().epsilon_bounds(delta, tol)
        return self._enclose(self.formulas.loss, delta, -np.inf, np.inf)

    def _enclose(self, formula: Callable[[Balls, Any], Balls], at: Array, least: float, most: float) -> Pair:
        # Parameters have as many bits as their formula.
        return enclose(lambda x: formula(x, self.theta_ball()), at, least, most, floats=self.elementary)

    @property
    def free_symbols(self) -> frozenset[Any]:
        return frozenset(getattr(getattr(self, self.parameter, None), "free_symbols", ()))

    @property
    def notation(self) -> str:
        return self.pattern % written(getattr(self, self.parameter))

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        self.require_numbers()
        if (mass := self.formulas.infinite_mass) is None:
            return Bounds(0.0, 0.0)
        low, high = to_bounds(mass(self.theta_ball()))
        return Bounds(max(low, 0.0), min(high, 1.0))

    @property
    def loss_bounds(self) -> Bounds[float]:
        self.require_numbers()
        largest = self.formulas.largest_loss
        return Bounds(np.inf, np.inf) if largest is None else to_bounds(largest(self.theta_ball()))

    def renyi_bounds(self, order: float) -> Bounds:
        if (formula := self.formulas.renyi) is None:
            return super().renyi_bounds(order)
        return to_bounds(formula(balls, self.theta_ball(), to_balls(order)))


def enclose(
    formula: Callable[[Balls], Balls], at: Array, least: float, most: float, *, floats: bool = False
) -> Pair:
    """Bound a formula with values in [least, most], with more bits where cancellation left few.

    ``floats``: evaluate long arrays in floats first, and in balls where that is wider than 1e-13, relatively.
    """
    lower, upper, wide, bits = np.empty_like(at), np.empty_like(at), np.arange(len(at)), PRECISION
    if floats and len(at) > MANY:
        with np.errstate(all="ignore"):
            lower, upper = formula(FloatBalls.of(at)).ends()
        wide = np.flatnonzero(~(upper - lower <= 1e-13 * abs(lower)))
    while len(wide) and bits <= 3072:
        with precision(bits):
            low, high = to_floats(formula(to_balls(at[wide])))
        lower[wide], upper[wide] = np.fmax(low, least), np.fmin(high, most)
        with np.errstate(invalid="ignore"):  # of infinite ends
            width, size = upper[wide] - lower[wide], np.maximum(np.abs(lower[wide]), np.abs(upper[wide]))
        wide = wide[~(width <= 2.0**-50 * size)]
        bits *= 4
    return lower, upper
