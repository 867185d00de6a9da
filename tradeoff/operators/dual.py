"""The privacy profile as an object, and conjugation both ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import Number, Numbers, reals
from tradeoff.errors import DomainError, shown
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import log
from tradeoff.intervals.rounding import Array


@dataclass(frozen=True)
class Dual:
    """Profile eps -> delta(eps) of a curve: an upper bound at every loss; ``dual()`` leads back.

    Examples
    --------
    >>> from tradeoff import Gaussian
    >>> d = Gaussian(1).dual()
    >>> round(d(1.0), 6), d.dual()
    (0.126937, G_{1})
    """

    curve: TradeOff

    @overload
    def __call__(self, epsilon: Number) -> float: ...
    @overload
    def __call__(self, epsilon: Numbers) -> Array: ...
    def __call__(self, epsilon: Number | Numbers) -> float | Array:
        """Return delta(epsilon), an upper bound."""
        return self.curve.delta(epsilon)

    @overload
    def bounds(self, epsilon: Number, *, tol: float | None = None) -> Bounds[float]: ...
    @overload
    def bounds(self, epsilon: Numbers, *, tol: float | None = None) -> Bounds[Array]: ...
    def bounds(self, epsilon: Number | Numbers, *, tol: float | None = None) -> Bounds:
        """Bound delta(epsilon) from both sides, epsilon in nats, any shape."""
        return self.curve.bounds.delta(epsilon, tol=tol)

    @overload
    def conjugate(self, y: Number) -> float: ...
    @overload
    def conjugate(self, y: Numbers) -> Array: ...
    def conjugate(self, y: Number | Numbers) -> float | Array:
        """Conjugate f*(y) = sup_x x y - f(x), from above: delta(log(-y)) - 1 for y < 0, else y."""
        at = reals("y", y)
        if np.isnan(at).any():
            raise DomainError(f"y must hold real slopes without NaN, got {shown(y)}")
        flat = at.ravel()
        value, below = np.maximum(flat, 0.0), flat < 0  # f >= 0 with f(1) = 0: the supremum sits at x = 1
        # delta(log s) - 1 rounded up, at a float below log s, as delta decreases.
        delta = self.curve.bounds.delta(log(-flat[below]).lower).upper
        value[below] = (Bounds.of(delta) - 1).upper
        return value.reshape(at.shape) if at.ndim else float(value[0])

    def dual(self) -> TradeOff:
        """Return the curve f(alpha) = sup_eps 1 - delta(eps) - e^eps alpha."""
        return self.curve
