"""Moments of one factor's loss that the limit theorems ask for: closed forms of the families, quadrature elsewhere."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import KindError, PrecisionError, shown
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, log
from tradeoff.intervals.rounding import UNIT
from tradeoff.limits.closed_forms import closed_form
from tradeoff.loss.changed import Reversed
from tradeoff.loss.law import LossLaw
from tradeoff.loss.moments import FiniteLaw, Function, above_line


class Moments(NamedTuple):
    """Of L under P, given that it is finite and shifted so that e^L has mean one; ``cumulant4`` is an estimate.

    ``kl`` = -E L, ``variance``, ``third`` = E|L - E L|^3, ``kappa3`` = E|L - shift|^3 with ``shift`` undone,
    ``cumulant3`` = E(L - E L)^3, ``fourth`` = E(L - E L)^4.
    """

    kl: Bounds
    variance: Bounds
    third: Bounds
    kappa3: Bounds
    shift: float
    cumulant3: Bounds
    fourth: Bounds
    cumulant4: float


_LEAST_VARIANCE, _MOST_VARIANCE = 1e-190, 1e190
NOTHING = Bounds(0.0, 0.0)
CONSTANT = Moments(NOTHING, NOTHING, NOTHING, NOTHING, 0.0, NOTHING, NOTHING, 0.0)
"""Of a loss that is 0 wherever it is finite."""


def factors(curve: TradeOff) -> dict[TradeOff, int]:
    """Return the factors of a product with their powers, or the curve itself once."""
    if not isinstance(curve, TradeOff):
        raise KindError(
            f"{shown(curve)} is not a trade-off function; ask a mechanism for its .curve(), a plan for its .guarantee()"
        )
    curve.require_numbers()
    return dict(getattr(curve, "factors", {curve: 1}))


def measurable(variance: Bounds) -> Bounds:
    """Return the variance of a sum, unless its third moments are below, or above, what floats hold."""
    if variance.upper > 0 and variance.lower < _LEAST_VARIANCE:
        raise PrecisionError(
            f"the losses have a variance between {variance.lower:.3g} and {variance.upper:.3g}, too small for floats",
            np.inf,
        )
    if not variance.upper <= _MOST_VARIANCE:
        raise PrecisionError(
            f"the losses have a variance of {variance.upper:.3g}, too large for floats to hold their moments; "
            "there is no privacy to speak of",
            np.inf,
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
    if (
        not law.continuous and len(law.atoms.loss) == 1
    ):  # a constant: its deviations are 0, not the rounding of a logarithm
        return CONSTANT._replace(
            shift=finite.shift,
            kappa3=Bounds(*(abs(finite.shift) ** 3 * (1 + sign * 8 * UNIT) for sign in (-1, 1))),
        )
    finite.check()
    # As E e^L = 1, -E L = E[e^L - 1 - L]: positive terms, so that a small divergence keeps its digits.
    kl = Bounds(
        *finite.expectation(above_line, np.ones_like, lambda x: np.abs(np.expm1(np.minimum(x, 700.0))))
    )
    mean, doubt = -(kl.lower + kl.upper) / 2, (kl.upper - kl.lower) / 2 + UNIT * kl.upper
    square = Bounds(*finite.expectation(*_square(mean)))
    variance = Bounds(max(square.lower - doubt**2, 0.0), square.upper)
    cube = Bounds(*finite.expectation(*_power(mean, 3)))
    fourth = recentred(Bounds(*finite.expectation(*_power(mean, 4))), doubt, 4)
    return Moments(
        kl=kl,
        variance=variance,
        third=recentred(cube, doubt, 3),
        kappa3=Bounds(*finite.expectation(*_power(finite.shift, 3))),
        shift=finite.shift,
        cumulant3=_signed(cube, Bounds(*finite.expectation(*_power_below(mean))), square.upper, doubt),
        fourth=fourth,
        cumulant4=finite.estimate(lambda x: (x - mean) ** 4) - 3 * square.upper**2,
    )


def recentred(power: Bounds, doubt: float, order: int) -> Bounds:
    """Return E|L - E L|^r from E|L - c|^r: by Minkowski a centre off by d moves its r-th root by at most d."""
    root = exp(log(power) / order) + Bounds(-doubt, doubt)
    return Bounds(max(root.lower, 0.0), root.upper) ** order


def _signed(cube: Bounds, below: Bounds, square: float, doubt: float) -> Bounds:
    """Return E(L - E L)^3 = E|L - c|^3 - 2 E(c - L)_+^3 for c = E L; a centre off by d moves it by at most 3 d E(L - c)^2 + 2 d^3."""
    error = 3 * doubt * square + 2 * doubt**3 + 8 * UNIT * cube.upper
    return Bounds(cube.lower - 2 * below.upper - error, cube.upper - 2 * below.lower + error)


def _square(centre: float) -> tuple[Function, Function, Function]:
    return lambda x: (x - centre) ** 2, lambda x: 2 + 2 * np.abs(x - centre), lambda x: 2 * np.abs(x - centre)


def _power(centre: float, r: int) -> tuple[Function, Function, Function]:
    """Return |x - c|^r, a bound on |phi'' - phi'| and |phi'|."""
    return (
        lambda x: np.abs(x - centre) ** r,
        lambda x: r * (r - 1) * np.abs(x - centre) ** (r - 2) + r * np.abs(x - centre) ** (r - 1),
        lambda x: r * np.abs(x - centre) ** (r - 1),
    )


def _power_below(centre: float) -> tuple[Function, Function, Function]:
    """Return (c - x)_+^3, which is convex, with bounds as above."""
    return (
        lambda x: np.maximum(centre - x, 0.0) ** 3,
        lambda x: 6 * np.maximum(centre - x, 0.0) + 3 * np.maximum(centre - x, 0.0) ** 2,
        lambda x: 3 * np.maximum(centre - x, 0.0) ** 2,
    )
