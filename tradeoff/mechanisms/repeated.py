"""The best of a random number of runs of any mechanism, by its Renyi divergences in both orders."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tradeoff.conversions.renyi import from_renyi
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number
from tradeoff.errors import DomainError
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, expm1, log, log1p
from tradeoff.intervals.roots import bracket_root
from tradeoff.intervals.rounding import Array
from tradeoff.mechanisms.base import Adjacency, Mechanism, inner, within
from tradeoff.operators.order import both_orders

# Orders of the divergences: a factor of 1.4 apart.
_ORDERS = (*(1 + np.geomspace(0.02, 1e4, 40)).tolist(), math.inf)

_MOST_RUNS = 1e12  # greatest mean number of runs


@dataclass(frozen=True)
class BestOfRuns(Mechanism):
    """Best of a random number of runs of one mechanism, as in the private choice of hyperparameters.

    Parameters
    ----------
    mechanism
        One run, hyperparameters and samples drawn anew in it, with a result that has a place in a total
        order.
    mean
        Expected number of runs, in [1, 1e12]; for Poisson numbers, of which 0 is one, in (0, 1e12].
    shape
        Shape eta > -1 of the truncated negative binomial law of the number of runs: 0 logarithmic, 1
        geometric; inf for Poisson numbers.

    Raises
    ------
    DomainError
        If a parameter is out of range.
    KindError
        If ``mechanism`` is not one of ``tradeoff.mechanisms``.

    Notes
    -----
    Dominating, with the optimal conversion of Renyi bounds d' by order, from those of one run, d, the larger
    of both orders of neighbours. Of a truncated negative binomial number with mean m and parameter gamma, for
    every order b,

        d'(a) = d(a) + (1 + eta) ((1 - 1/b) d(b) + log(1/gamma)/b) + log(m)/(a - 1)

    (Papernot, Steinke 2022, Theorem 2), and of a Poisson number, with e^eps = a/(a - 1),

        d'(a) = d(a) + m delta(eps) + log(m)/(a - 1)

    (the same, Theorem 6), here with e^-m for the outcome of no run under the logarithm: e^((a - 1) d') =
    e^-m + m e^((a - 1) (d + m delta)).

    Examples
    --------
    >>> from tradeoff.mechanisms import Gaussian
    >>> round(BestOfRuns(Gaussian(10), mean=5).guarantee().epsilon(1e-6), 3)
    0.814
    """

    kind = "best-of-runs"
    exact = False

    mechanism: Mechanism = field(metadata={"checked": inner})
    mean: float
    shape: float = field(default=1.0, metadata=within(-1, open_low=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        least = 0 if self.shape == math.inf else 1
        mean = number("mean", self.mean, least, _MOST_RUNS, open_low=not least)
        object.__setattr__(self, "mean", mean)

    @property
    def adjacency(self) -> Adjacency | None:
        return self.mechanism.adjacency

    @property
    def sized(self) -> bool:
        return self.mechanism.sized

    def curve(self) -> TradeOff:
        curve = self.mechanism.curve()
        both = both_orders(curve)
        single = {a: max(f.renyi(a) for f in both) for a in _ORDERS}
        many = _poisson(both, single, self.mean) if self.shape == math.inf else self._truncated(single)
        return from_renyi({a: max(float(bound.upper), 0.0) for a, bound in many.items()})

    def _truncated(self, single: Mapping[float, float]) -> dict[float, Bounds]:
        log_gamma = _log_gamma(self.mean, self.shape)
        # The order 1 counts log(1/gamma) alone.
        other = min([log_gamma, *(float(_chosen(a, d, log_gamma).upper) for a, d in single.items())])
        chosen = (1 + Bounds.of(self.shape)) * other + 0.0
        return {a: d + chosen + _shared(log(self.mean), a) for a, d in single.items()}


def _chosen(order: float, divergence: float, log_gamma: float) -> Bounds:
    """Bound (1 - 1/b) d(b) + log(1/gamma)/b."""
    if math.isinf(order):
        return Bounds.of(divergence)
    part = Bounds.of(1.0) / order
    return (1 - part) * divergence + part * log_gamma


def _shared(value: Bounds, order: float) -> Bounds:
    return Bounds.of(0.0) if math.isinf(order) else value / (Bounds.of(order) - 1)


def _poisson(both: Sequence[TradeOff], single: Mapping[float, float], mean: float) -> dict[float, Bounds]:
    result = {}
    for a, d in single.items():
        epsilon = 0.0 if math.isinf(a) else max(float(log1p(1 / (Bounds.of(a) - 1)).lower), 0.0)
        run = d + Bounds.of(mean) * max(f.bounds.delta(epsilon).upper for f in both)
        none = 0.0 if math.isinf(a) else exp(-mean - log(mean) - (Bounds.of(a) - 1) * run)
        result[a] = run + _shared(log(mean) + log1p(none), a)
    return result


def _log_gamma(mean: float, shape: float) -> float:
    """Bound log(1/gamma) from above, t, where the mean eta (e^t - 1)/(1 - e^(-eta t)) is surely as large."""
    if mean == 1:
        return 0.0

    def least(place: Array) -> Array:
        t = np.exp(np.minimum(place, 6.0))
        runs = expm1(t) / t if shape == 0 else shape * expm1(t) / -expm1(-shape * Bounds.of(t))
        return np.asarray(runs.lower)

    above = float(bracket_root(lambda place: -least(place), np.array([-mean]))[1][0])
    if math.isinf(above):
        raise DomainError(
            f"mean = {mean!r} with shape = {shape!r} is out of range; give a smaller mean, or a larger shape"
        )
    return float(np.exp(above))
