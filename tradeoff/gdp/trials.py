"""Where delta is so close to 1 that floats no longer tell: tests instead of lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from tradeoff.curves.contract import TradeOff
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip
from tradeoff.intervals.rounding import Array, Index

_ROUNDS = 10  # rounds of halving open cells, which are a tenth of a deviation wide at first
_MOST_CELLS = 1000  # cells after which what is known is reported: a second for closed forms
_CLOSE = 1e-3  # relative width of mu where 1 - delta has lost the digits that lines need

# Error charged to Phi^-1: below 38 in size, where ``ndtri`` errs by less than 2e-15 of it.
_SLACK = Bounds(-1e-13, 1e-13)


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
    start = np.flatnonzero(beta.lower >= (1 - Bounds.of(failure)).upper)
    stop = np.flatnonzero(beta.upper <= alpha)
    first, last = start[-1] if len(start) else 0, stop[0] if len(stop) else len(alpha) - 1
    kept, alpha, beta = 1 - Bounds.of(failure), *_some(alpha, beta, np.arange(first, last + 1))
    for _ in range(_ROUNDS):
        z = -_quantile(alpha / kept)
        least = max(least, float(np.max((z - _quantile(beta.upper / kept)).lower)))
        mu = (z.upper[:-1] - _quantile(beta.lower[1:] / kept)).upper
        open_ = np.flatnonzero(mu > least * (1 + _CLOSE))
        if len(open_) == 0 or len(alpha) > _MOST_CELLS or np.isinf(mu).any():
            break
        alpha, beta = _more(f, alpha, beta, np.sqrt(alpha[open_]) * np.sqrt(alpha[open_ + 1]))
    return least, float(np.max(mu, initial=0.0)) if len(start) and len(stop) else np.inf


def _more(f: TradeOff, alpha: Array, beta: Bounds[Array], fresh: Array) -> tuple[Array, Bounds[Array]]:
    """Ask at more alphas, and only there."""
    new = f.bounds(fresh)
    every = Bounds(np.append(beta.lower, new.lower), np.append(beta.upper, new.upper))
    return _some(np.append(alpha, fresh), every, np.unique(np.append(alpha, fresh), return_index=True)[1])


def _some(alpha: Array, beta: Bounds[Array], which: Index) -> tuple[Array, Bounds[Array]]:
    return alpha[which], Bounds(beta.lower[which], beta.upper[which])


def _quantile(p: Bounds[Array]) -> Bounds[Array]:
    """Bound Phi^-1 of probabilities."""
    return Bounds(*map(ndtri, clip(p, 0.0, 1.0))) + _SLACK
