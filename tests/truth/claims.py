"""Claims of the library against balls: refuted only where the whole ball lies outside."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from typing import Any

import numpy as np
from flint import arb, ctx

import tradeoff as to
from tests.truth.balls import PRECISIONS, ball
from tests.truth.spec import Spec


def refuted(claim: Iterable[float], truth: Any) -> str | None:
    """Return the error of the claim about a ball or an exact number, None if it is consistent."""
    lower, upper = map(float, claim)
    if isnan(lower) or isnan(upper):
        return f"[{lower!r}, {upper!r}] is not an interval"
    with ctx.workprec(PRECISIONS[-1]):
        low, high = (ball(lower), ball(upper)) if isinstance(truth, arb) else (lower, upper)
        if lower > upper:
            return f"[{lower!r}, {upper!r}] is crossed"
        if truth > high:
            return f"upper {upper!r} < truth {truth!s}"
        if truth < low:
            return f"lower {lower!r} > truth {truth!s}"
    return None


def check(claim: to.Bounds, truth: Any, relative: float | None = None, absolute: float = 0.0) -> None:
    """Assert that bounds may hold the truth (a ball, a number, or one for each entry), and are as narrow."""
    truths = truth if isinstance(truth, Iterable) else [truth]
    sides = (np.ravel(side).tolist() for side in claim)
    for low, high, each in zip(*sides, truths, strict=True):
        wrong = refuted((low, high), each)
        assert wrong is None, wrong
        assert relative is None or high - low <= relative * abs(each) + absolute, (low, high, each)


def overlap(one: to.Bounds, two: to.Bounds, off: float = 0.0) -> bool:
    """Whether bounds for one number share a point, at every entry, up to ``off`` of either."""
    return bool(np.all((one.lower <= two.upper + off) & (two.lower <= one.upper + off)))


ROUNDED = (64 * 2.0**-53, 8 * 2.0**-53)
"""Relative and absolute: what the library charges where it rounds a supremum of losses, so two of its bounds
differ by no more."""


def check_range(curve: to.TradeOff, spec: Spec | None = None) -> None:
    """Assert that both orders' ``sup_loss`` cover the range of the law that the engines compose, and the
    truth if it is known.

    The supremum cuts epsilon off and sets delta beyond it to Q(L = inf), so that it may never lie below a
    loss of the law.
    """
    for order in (curve, ~curve):
        top = law_top(order)
        if top is None:
            continue
        assert not np.isnan(top)
        least = top - ROUNDED[0] * abs(top) - ROUNDED[1] if np.isfinite(top) else top
        assert order.sup_loss >= least, f"sup L = {order.sup_loss!r} is below the law's {top!r}: {order!r}"
    if spec is not None:
        assert not spec.sup_loss() > ball(float(curve.sup_loss)), (
            f"sup L = {curve.sup_loss!r} is below {spec.sup_loss().str(20)}"
        )
        assert not spec.sup_loss() < ball(float(curve.loss_bounds.lower)), (
            f"sup L >= {curve.loss_bounds.lower!r} is above {spec.sup_loss().str(20)}"
        )


def law_top(curve: to.TradeOff) -> float | None:
    """Return the largest finite loss of the law that engines compose.

    None where whole curves replace the law.
    """
    if isinstance(curve, to.Tensor):
        tops = [(law_top(factor), n) for factor, n in curve.factors.items()]
        return None if any(top is None for top, _ in tops) else sum(n * top for top, n in tops if top)
    if any(isinstance(one, to.Tensor) for one in getattr(curve, "operands", ())):
        return None
    below, above = curve.laws()
    return below.support[1] if below is above else None


def answers(spec: Spec, curve: to.TradeOff, question: str, at: float, **how: object) -> str | None:
    """Ask curve and oracle the same question; return what is wrong with the answer."""
    return refuted(answer_query(curve, question, at, **how), getattr(spec, question)(at))


def answer_query(curve: to.TradeOff, question: str, at: object, **how: object) -> to.Bounds:
    """Ask one of the three questions."""
    ask = curve.bounds if question == "beta" else getattr(curve.bounds, question)
    result: to.Bounds = ask(at, **how)
    return result
