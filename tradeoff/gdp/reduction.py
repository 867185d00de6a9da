"""The least mu with f >= G_mu (x) f_{0,failure}, and what is given up by reporting it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tradeoff.core.bounds import Bounds
from tradeoff.core.curve import TradeOff
from tradeoff.core.dispatch import announces
from tradeoff.core.parameters import real
from tradeoff.engines.atomic import AtomicLaw
from tradeoff.errors import NoClosedForm
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.total_variation import TotalVariation
from tradeoff.gdp.profile import Mask, cell_mu, gaps, goal, needed, stays_above
from tradeoff.gdp.structure import cap, lost, without_leak
from tradeoff.gdp.trials import by_tests
from tradeoff.numerics.rounding import UNIT, Array
from tradeoff.operators.cells import Nodes, end, orders

_ROUNDS, _MOST_NODES, _CLOSE = 8, 500, 1e-9
_REGRET_CLOSE = 1e-6
_MARGIN = 1e-11  # so that ``dominates`` can tell the reported curve from f where they touch
_APART, _NEAR_ONE = 1.01, 1 - 1e-6  # beyond, 1 - delta has lost the digits that lines need
_WIDE = 40.0  # e^-40 is below every answer that a float resolves beside 1


@dataclass(frozen=True)
class Reduction:
    """One Gaussian parameter for a whole curve, valid for every alpha but for an event of probability ``failure``.

    Parameters
    ----------
    of
        The curve f that was reduced.
    failure
        Probability of the event left out, in [0, 1].
    bounds
        Bounds on the least mu with f >= G_mu (x) f_{0,failure}.
    regret_bounds
        Bounds on the regret of reporting the upper bound, in [0, 1].
    mu_minus
        Best case: f (x) f_{0,failure} <= G_{mu_minus}, certified on every alpha.
    tight_at
        The alpha where mu is decided: there the reported curve comes closest to touching f; NaN where mu comes from the
        way the curve was built.
    reason
        Why mu is infinite, if it is.

    Notes
    -----
    At failure = 0, mu is sup_alpha {Phi^-1(1 - alpha) - Phi^-1(f(alpha))} and ``mu_minus`` its infimum, which is 0
    wherever losses are bounded. The regret is the least kappa with f(alpha + kappa) - kappa <= g(alpha) for all alpha,
    g = G_mu (x) f_{0,failure}, which is max over eps of (delta_g - delta_f)/(1 + e^eps): the largest gap in Bayes error
    over priors (Gomez, Kulynych, Kaissis 2026).

    Examples
    --------
    >>> from tradeoff import PureDP
    >>> found = PureDP(1.0).gdp(failure=0)
    >>> round(found.mu, 6), round(found.tight_at, 6)
    (1.232035, 0.268941)
    """

    of: TradeOff
    failure: float
    bounds: Bounds
    regret_bounds: Bounds = field(default_factory=lambda: Bounds(0.0, 0.0))
    mu_minus: float = 0.0
    tight_at: float = float("nan")
    reason: str | None = None

    @property
    def mu(self) -> float:
        """Certified mu: an upper bound on the least one."""
        return float(self.bounds.upper)

    @property
    def regret(self) -> float:
        """Regret of reporting mu instead of the curve: an upper bound."""
        return float(self.regret_bounds.upper)

    @property
    def curve(self) -> TradeOff:
        """The curve reported, G_mu (x) f_{0,failure}: at or below f everywhere."""
        return TotalVariation(1.0) if np.isinf(self.mu) else Gaussian(self.mu) @ TotalVariation(self.failure)


@announces("gdp")
def gdp(f: TradeOff, *, failure: float = 1e-10) -> Reduction:
    """Least mu with f >= G_mu (x) f_{0,failure}, certified for every alpha.

    Parameters
    ----------
    f
        Any curve; one order and its inverse have the same mu.
    failure
        Probability in [0, 1] that the Gaussian bound may leave out.

    Returns
    -------
    Reduction
        ``mu`` an upper bound, with its lower bound, regret, the best case and the place where it is tight.

    Raises
    ------
    PrecisionError
        If the profile is not known down to ``failure`` and the way the curve was built says nothing: ask a larger one.

    Notes
    -----
    f >= g iff delta_f <= delta_g at every real eps. As g is symmetric, eps >= 0 for f and for f^-1 is enough; and from
    the eps on where delta_f <= failure nothing is left to check. In between, cells of eps are decided by convexity.
    """
    failure = real("failure", failure, 0, 1)
    f.bounds.delta(0.0)  # a curve with free symbols says so here
    why = lost(f, failure)
    if why is not None:
        return _finished(f, failure, Bounds(np.inf, np.inf), np.nan, why)
    h, d = without_leak(f, failure)
    both = [order for (order,) in orders(h)]
    reach, most = max(end(order, d) for order in both), cap(h)
    if d == 1 or reach <= 0:
        return _finished(f, failure, Bounds(0.0, 0.0), 0.5, None)
    sides = [_side(order, d, reach, flipped=k == 1) for k, order in enumerate(both)]
    least = min(max(side.least for side in sides), most)
    most = min(most, max(side.mu for side in sides) * (1 + _MARGIN)) if reach < np.inf else most
    if most > _APART * least and h.bounds.delta(0.0).lower > _NEAR_ONE:
        least, most = by_tests(both, d, Bounds(least, most))
    worst = max(sides, key=lambda side: side.mu)
    tight = worst.alpha * (1 - failure) / (1 - d) if worst.mu <= most * _APART and reach < np.inf else np.nan
    reason = None if most < np.inf else f"no finite mu can be certified at failure = {failure:.6g}; ask a larger one"
    return _finished(f, failure, Bounds(least, most), tight, reason, [side.nodes for side in sides] if h is f else [])


@dataclass(frozen=True)
class _Side:
    """What one order needs, and where."""

    mu: float
    least: float
    alpha: float
    nodes: Nodes


def _start(order: TradeOff, reach: float) -> Nodes:
    """Return nodes from 0 to ``reach``, closer together towards 0, and at the kinks of the profile."""
    spread = [np.geomspace(reach * 1e-4, reach, 16), np.linspace(0.0, reach, 33), _kinks(order)]
    nodes = np.unique(np.concatenate(spread))
    top = order.sup_loss  # no node a rounding below it: there delta is not yet known to be 0
    nodes = np.where(np.abs(nodes - top) < 1e-12 * top, top, nodes) if top < np.inf else nodes
    return Nodes.of(order, np.unique(nodes[nodes <= max(reach, min(top, reach * (1 + 1e-12)))]))


def _kinks(order: TradeOff) -> Array:
    """Return the losses of a law of few atoms, where its profile bends."""
    try:
        law = order.loss_law()
    except NoClosedForm:
        return np.empty(0)
    if not isinstance(law, AtomicLaw) or len(law.loss) > _MOST_NODES // 2:
        return np.empty(0)
    return np.asarray(law.loss[law.loss > 0])


def _side(order: TradeOff, failure: float, reach: float, *, flipped: bool) -> _Side:
    """Refine the cells that need more than any node does."""
    nodes, before = _start(order, reach if reach < np.inf else _WIDE), np.inf
    for _ in range(_ROUNDS):
        lines = cell_mu(nodes, failure)
        fresh = lines.inner(nodes, needed(nodes.epsilon, nodes.upper, failure) * (1 + _CLOSE))
        now = float(np.max(lines.mu))
        if len(fresh) == 0 or np.isinf(reach) or len(nodes.epsilon) > _MOST_NODES or before - now < _CLOSE * now:
            break
        nodes, before = nodes.more(fresh), now
    k = int(np.argmax(lines.mu))
    alpha = 1 - lines.c[k] if flipped else np.exp(lines.log_alpha[k])
    return _Side(float(lines.mu[k]), needed(nodes.epsilon, nodes.lower, failure), float(alpha), nodes)


def _finished(f: TradeOff, failure: float, mu: Bounds, tight: float, reason: str | None, known: Sequence[Nodes] = ()) -> Reduction:
    """Add the regret and the best case, from the nodes already asked where there are any."""
    level = min(max(f.q_plus, f.p_minus) + max(min(failure, 1e-9), 1e-15), 1.0)
    far = min(max(end(order, level) for (order,) in orders(f)), _WIDE) or 1.0
    sides = [_reaching(nodes, far) for nodes in known] or [_start(order, far) for (order,) in orders(f)]
    lower, upper, finer = zip(*(_regret(side, float(mu.upper), failure) for side in sides), strict=True)
    best = min(_best(side, failure, float(mu.upper)) for side in finer)
    return Reduction(f, failure, mu, Bounds(max(lower), min(max(upper), 1.0)), best, tight, reason)


def _reaching(nodes: Nodes, far: float) -> Nodes:
    """Return the nodes with a few more from their end to ``far``."""
    last = float(nodes.epsilon[-1])
    return nodes.more(np.linspace(last, far, 9)[1:]) if far > last else nodes


def _regret(nodes: Nodes, mu: float, failure: float) -> tuple[float, float, Nodes]:
    """Bound the regret in one order, to a thousandth of it or a millionth; with the nodes that took."""
    for _ in range(_ROUNDS):
        least, most = gaps(nodes, mu, failure)
        open_ = np.flatnonzero(most > least + max(_REGRET_CLOSE, 1e-3 * least))
        if len(open_) == 0 or len(nodes.epsilon) > _MOST_NODES:
            break
        nodes = nodes.more(nodes.middle(open_))
    # From the last node on delta_g only falls, and delta_f stays above Q(L = inf).
    last = nodes.epsilon[-1:]
    tail = float(goal(mu, failure, last)[1][0] - nodes.curve.q_plus * (1 - 8 * UNIT)) / (1 + np.exp(min(last[0], 700.0))) * (1 + 8 * UNIT)
    return least, max(float(np.max(most)), float(tail)), nodes


def _best(nodes: Nodes, failure: float, most: float) -> float:
    """Return the largest mu two rounds of nodes find with delta_{G_mu} <= failure + (1 - failure) delta_f on every cell and beyond."""
    for _ in range(2):
        low, high = 0.0, most if np.isfinite(most) else 40.0
        for _ in range(24):
            middle = (low + high) / 2
            low, high = (middle, high) if _below(nodes, middle, failure).all() else (low, middle)
        open_ = np.flatnonzero(~_below(nodes, low * (1 + 1e-4) + 1e-12, failure)[:-1])
        if len(open_) == 0:
            break
        nodes = nodes.more(nodes.middle(open_))
    return low


def _below(nodes: Nodes, mu: float, failure: float) -> Mask:
    """Whether G_mu is above f (x) f_{0,failure} on each cell, and beyond the last."""
    tail = Gaussian(mu).bounds.delta(nodes.epsilon[-1]).upper <= max(failure, nodes.curve.q_plus)
    return np.append(stays_above(nodes, mu, failure), bool(tail))
