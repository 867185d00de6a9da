"""Where delta is so close to 1 that floats no longer tell: tests instead of lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from tradeoff.curves.contract import TradeOff
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.rounding import UNIT, Array, down, up

_ROUNDS, _MOST_CELLS, _CLOSE = 10, 1000, 1e-3
_SLACK = 1e-13


def by_tests(orders: Sequence[TradeOff], failure: float, known: Bounds) -> Bounds:
    """Improve bounds on the least mu with f >= G_mu (x) f_{0,failure} by beta at finitely many alphas.

    Both curves fall: between neighbours a < b, f >= f(b) and g <= g(a). Below the first alpha f >= 1 -
    failure >= g. From the alpha on where f <= alpha, the other order decides.
    """
    least, most = zip(*(_one_order(f, failure, known.lower) for f in orders), strict=True)
    return Bounds(min(max(known.lower, *least), known.upper), min(known.upper, max(most)))


def _one_order(f: TradeOff, failure: float, least: float) -> tuple[float, float]:
    alpha = ndtr(-np.linspace(37.0, 0.0, 297))
    beta = f.bounds(alpha)
    start = np.flatnonzero(beta.lower >= 1 - failure * (1 - 8 * UNIT))
    stop = np.flatnonzero(beta.upper <= alpha)
    first, last = start[-1] if len(start) else 0, stop[0] if len(stop) else len(alpha) - 1
    alpha = alpha[first : last + 1]
    for _ in range(_ROUNDS):
        beta = f.bounds(alpha)
        a = _quantile(alpha / (1 - failure))
        least = max(least, float(np.max(down(-a[1] - _quantile(beta.upper / (1 - failure))[1]))))
        mu = up(-a[0][:-1] - _quantile(beta.lower[1:] / (1 - failure))[0])
        open_ = np.flatnonzero(mu > least * (1 + _CLOSE))
        if len(open_) == 0 or len(alpha) > _MOST_CELLS or np.isinf(mu).any():
            break
        alpha = np.union1d(alpha, np.sqrt(alpha[open_]) * np.sqrt(alpha[open_ + 1]))
    return least, float(np.max(mu, initial=0.0)) if len(start) and len(stop) else np.inf


def _quantile(p: Array) -> Pair:
    """Bound Phi^-1 of rounded probabilities."""
    return ndtri(np.maximum(down(p), 0.0)) - _SLACK, ndtri(np.minimum(up(p), 1.0)) + _SLACK
