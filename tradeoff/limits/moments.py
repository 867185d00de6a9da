"""Moments of one factor's loss that the limit theorems ask for: closed forms of the families, quadrature elsewhere."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tradeoff.core.bounds import Bounds
from tradeoff.core.curve import TradeOff
from tradeoff.engines.expectation import FiniteLaw, Function, above_line
from tradeoff.engines.law import LossLaw, Reversed
from tradeoff.errors import KindError, PrecisionError, SymbolError
from tradeoff.limits.closed_forms import closed_form
from tradeoff.numerics.rounding import UNIT


class Moments(NamedTuple):
    """Of L under P, given that it is finite and shifted so that e^L has mean one; the last three are estimates.

    ``kl`` = -E L, ``variance``, ``third`` = E|L - E L|^3, ``kappa3`` = E|L - shift|^3 with ``shift`` undone.
    """

    kl: Bounds
    variance: Bounds
    third: Bounds
    kappa3: Bounds
    shift: float
    cumulant3: float
    cumulant4: float


_LEAST_VARIANCE = 1e-190
NOTHING = Bounds(0.0, 0.0)
CONSTANT = Moments(NOTHING, NOTHING, NOTHING, NOTHING, 0.0, 0.0, 0.0)
"""Of a loss that is 0 wherever it is finite."""


def factors(curve: TradeOff) -> dict[TradeOff, int]:
    """Return the factors of a product with their powers, or the curve itself once."""
    if not isinstance(curve, TradeOff):
        raise KindError(f"{curve!r} is not a trade-off function; ask a mechanism for its .curve(), a plan for its .guarantee()")
    if curve.free_symbols:
        names = ", ".join(sorted(map(str, curve.free_symbols)))
        raise SymbolError(f"{curve!r} has free symbols {names}; substitute numbers first, with .subs({{...}})")
    return dict(getattr(curve, "factors", {curve: 1}))


def measurable(variance: Bounds) -> Bounds:
    """Return the variance of a sum, unless its third moments are below what floats hold."""
    if variance.upper > 0 and variance.lower < _LEAST_VARIANCE:
        raise PrecisionError(
            f"the losses have a variance between {variance.lower:.3g} and {variance.upper:.3g}, too small for floats", np.inf
        )
    return variance


@lru_cache(maxsize=1024)
def moments(factor: TradeOff, *, reverse: bool = False) -> tuple[Moments, Moments]:
    """Return moments of the laws of a curve below and of a curve above ``factor``; the same twice where its law is exact."""
    known = closed_form(factor)
    if factor.q_plus >= 1 or factor.p_minus >= 1:
        return CONSTANT, CONSTANT
    if known is not None:
        exact = Moments(*known)
        return exact, exact
    low, high = factor.laws()
    below = of_law(Reversed(low) if reverse else low)
    return below, below if high is low else of_law(Reversed(high) if reverse else high)


def of_law(law: LossLaw) -> Moments:
    """Enclose the moments of a law by quadrature."""
    finite = FiniteLaw(law)
    if not law.continuous and len(law.atoms.loss) == 1:  # a constant: its deviations are 0, not the rounding of a logarithm
        return CONSTANT._replace(shift=finite.shift, kappa3=Bounds(*(abs(finite.shift) ** 3 * (1 + sign * 8 * UNIT) for sign in (-1, 1))))
    finite.check()
    # As E e^L = 1, -E L = E[e^L - 1 - L]: positive terms, so that a small divergence keeps its digits.
    kl = Bounds(*finite.expectation(above_line, np.ones_like, lambda x: np.abs(np.expm1(np.minimum(x, 700.0)))))
    mean, doubt = -(kl.lower + kl.upper) / 2, (kl.upper - kl.lower) / 2 + UNIT * kl.upper
    square = Bounds(*finite.expectation(*_square(mean)))
    variance = Bounds(max(square.lower - doubt**2, 0.0), square.upper)
    cube = Bounds(*finite.expectation(*_cube(mean)))
    # Minkowski: a centre off by d moves the root of E|L - c|^3 by at most d.
    root_low, root_high = np.cbrt(cube.lower) * (1 - 4 * UNIT), np.cbrt(cube.upper) * (1 + 4 * UNIT)
    third = Bounds(float(max(root_low - doubt, 0.0) ** 3) * (1 - 8 * UNIT), float((root_high + doubt) ** 3) * (1 + 8 * UNIT))
    fourth = finite.estimate(lambda x: (x - mean) ** 4)
    return Moments(
        kl=kl,
        variance=variance,
        third=third,
        kappa3=Bounds(*finite.expectation(*_cube(finite.shift))),
        shift=finite.shift,
        cumulant3=finite.estimate(lambda x: (x - mean) ** 3),
        cumulant4=fourth - 3 * square.upper**2,
    )


def _square(centre: float) -> tuple[Function, Function, Function]:
    return lambda x: (x - centre) ** 2, lambda x: 2 + 2 * np.abs(x - centre), lambda x: 2 * np.abs(x - centre)


def _cube(centre: float) -> tuple[Function, Function, Function]:
    return (
        lambda x: np.abs(x - centre) ** 3,
        lambda x: 6 * np.abs(x - centre) + 3 * (x - centre) ** 2,
        lambda x: 3 * (x - centre) ** 2,
    )
