"""The least mu with f >= G_mu (x) f_{0,failure}, and the cost of reporting it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, NOT_EXACT, limited
from tradeoff.curves.parameters import exact_number, is_symbol, written
from tradeoff.display import Displayed, TextTable, exactly
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.total_variation import TotalVariation
from tradeoff.gdp.cells import (
    FAR,
    Side,
    bound_best_mu,
    bound_regret,
    extend_nodes,
    search_by_lines,
    search_by_tests,
    start_nodes,
)
from tradeoff.gdp.structure import (
    best_case,
    cap,
    end_of_lines,
    floor,
    operands_of,
    reason_for_infinite_mu,
    without_leak,
)
from tradeoff.intervals.bounds import Bounds, decimal
from tradeoff.intervals.functions import rational
from tradeoff.operators.assumed import assumed
from tradeoff.operators.pointwise import HullOfMinimum, Maximum
from tradeoff.operators.profile_samples import Nodes, end, orders

NOWHERE = float("nan")  # one object: equal to itself in a tuple
_MARGIN = 1e-11  # so that ``dominates`` can tell the reported curve from f where they touch
_SAME = 1 - 1e-12  # a floor so close to the cap is the cap
# Losses up to which lines are drawn without failure: farther out nodes take seconds, and mu is close to its
# bound by parts.
_FARTHEST = 100.0

_APART, _NEAR_ONE = 1.01, 1 - 1e-6  # beyond, 1 - delta has lost the digits that lines need


@dataclass(frozen=True, repr=False)
class Reduction(Displayed):
    """One Gaussian parameter for a whole curve, valid at every alpha but for an event of mass ``failure``.

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
        The alpha where the reported curve comes closest to f; NaN where mu follows from the structure of f.
    reason
        Why mu is infinite, if it is.

    Notes
    -----
    At failure = 0, mu is sup_alpha {Phi^-1(1 - alpha) - Phi^-1(f(alpha))} and ``mu_minus`` its infimum, which
    is 0 wherever losses are bounded. The regret is the least kappa with f(alpha + kappa) - kappa <= g(alpha)
    for all alpha, g = G_mu (x) f_{0,failure}, which is max over eps of (delta_g - delta_f)/(1 + e^eps): the
    largest gap in Bayes error over priors (Gomez et al. 2026).

    Examples
    --------
    >>> from tradeoff import PureDP
    >>> result = PureDP(1.0).gdp(failure=0)
    >>> round(result.mu, 6), round(result.tight_at, 6)
    (1.232035, 0.268941)
    """

    of: TradeOff
    failure: float
    bounds: Bounds[float]
    regret_bounds: Bounds[float] = field(default_factory=lambda: Bounds(0.0, 0.0))
    mu_minus: float = 0.0
    tight_at: float = NOWHERE
    reason: str | None = None

    @property
    def mu(self) -> float:
        """Certified mu: an upper bound on the least one."""
        return self.bounds.upper if is_symbol(self.bounds.upper) else float(self.bounds.upper)

    @property
    def regret(self) -> float:
        """Regret of reporting mu instead of the curve: an upper bound."""
        return float(self.regret_bounds.upper)

    @property
    def curve(self) -> TradeOff:
        """The curve reported, G_mu (x) f_{0,failure}: at or below f everywhere."""
        if not is_symbol(self.mu) and np.isinf(self.mu):
            return TotalVariation(1.0)
        result = assumed(Gaussian(self.mu) @ TotalVariation(self.failure), self.of.assumptions)
        return limited(result, self.of.tightness if result == self.of else BOUND)

    def grid(self) -> TextTable:
        least, most = self.bounds.lower, self.mu
        rows = [
            ("mu", written(most) if is_symbol(most) else decimal(most, ".10g", up=True)),
            ("no mu below", written(least) if is_symbol(least) else decimal(least, ".10g", up=False)),
            ("regret at most", decimal(self.regret, ".6g", up=True)),
            ("mu of the best case", decimal(self.mu_minus, ".6g", up=False)),
            ("tight at alpha", "-" if np.isnan(self.tight_at) else f"{self.tight_at:.6g}"),
        ]
        notes = ([self.reason] if self.reason else []) + [NOT_EXACT] * (not self.of.exact)
        return TextTable(rows, head=f"{self.of!r} >= G_mu ⊗ f_{{0,{exactly(self.failure)}}}", notes=notes)


def gdp(f: TradeOff, *, failure: float | None = None) -> Reduction:
    """Find the least mu with f >= G_mu (x) f_{0,failure}, certified for every alpha.

    Parameters
    ----------
    f
        Any curve; one order and its inverse have the same mu.
    failure
        Probability in [0, 1] that the Gaussian bound may leave out; default: 1e-10, and 0 for a Gaussian
        curve, whose regret is 0 then.

    Returns
    -------
    Reduction
        ``mu`` an upper bound, with its lower bound, regret, the best case and the place where it is tight.

    Raises
    ------
    PrecisionError
        If neither the profile down to ``failure`` nor the structure of the curve bounds mu; give a larger
        failure.

    Notes
    -----
    f >= g iff delta_f <= delta_g at every real eps. As g is symmetric, eps >= 0 for f and for f^-1 is enough;
    and from the eps on where delta_f <= failure nothing is left to check. In between, cells of eps are
    decided by convexity.
    """
    is_gaussian = isinstance(f, Gaussian) and (bool(f.free_symbols) or f.mu < np.inf)
    exact = _exact((0.0 if is_gaussian else 1e-10) if failure is None else failure)
    failure = float(rational(exact).upper)  # a larger failure needs no more mu
    if isinstance(f, Gaussian) and failure == 0 and not f.free_symbols and f.mu < np.inf:
        # No density of the normal law is above 0.4, and the weight 1/(1 + e^eps) is at most 1/2.
        regret = (Bounds.of(f.mu) - f.least) * 0.2 if f.least < f.mu else Bounds(0.0, 0.0)
        return Reduction(f, failure, Bounds(f.least, f.mu), Bounds(0.0, regret.upper), f.least)
    if f.free_symbols:
        from tradeoff.symbolic.forms import least_mu

        mu = least_mu(f)  # at failure = 0; a larger one needs no more
        return Reduction(f, failure, Bounds(mu if failure == 0 else 0.0, mu), Bounds(0.0, 1.0))
    return _complete(f, failure, least(f, exact))


class Least(NamedTuple):
    """Bounds on the least mu, the alpha that decides, the reason if it is infinite, and the nodes."""

    mu: Bounds[float]
    tight_at: float = NOWHERE
    reason: str | None = None
    nodes: Sequence[Nodes] = ()


def least(f: TradeOff, failure: float | Fraction) -> Least:
    """Bound the least mu with f >= G_mu (x) f_{0,failure}, as ``gdp`` does, without the regret."""
    exact = _exact(failure)
    failure = float(rational(exact).upper)
    why = reason_for_infinite_mu(f, failure)
    if why is not None:
        return Least(Bounds(np.inf, np.inf), reason=why)
    h, d = without_leak(f, exact, Fraction(failure))
    both, most = _checked(h, d.lower), cap(h)
    if not both:
        return Least(Bounds(0.0, 0.0), 0.5)
    if d.upper == 0 and floor(h) >= most * _SAME:
        return Least(Bounds(min(floor(h), most), most))
    result, ends = search_by_lines(both, d.lower, most), max(side.reach for side in both)
    if d.upper == 0 and ends == np.inf:
        enough = result.least
        ended = [replace(side, reach=min(side.reach, end_of_lines(side.curve, enough))) for side in both]
        if (farthest := max(side.reach for side in ended)) < _FARTHEST:
            both, ends, result = ended, farthest, search_by_lines(ended, 0.0, most)
            result = replace(result, most=max(result.most, enough))
    less = result.least
    if d.lower < d.upper:  # more failure needs no more
        fewer = _checked(h, d.upper)
        less = search_by_lines(fewer, d.upper, most).least if fewer else 0.0
    low = min(max(less, floor(h) if d.upper == 0 else 0.0), most)
    most = min(most, result.most * (1 + _MARGIN)) if ends < np.inf else most
    if most > _APART * low and d.lower == d.upper and h.bounds.delta(0.0).lower > _NEAR_ONE:
        low, most = search_by_tests([side.curve for side in both], d.lower, Bounds(low, most))
    close = result.most <= most * _APART and ends < np.inf
    tight = result.alpha * (1 - failure) / (1 - d.lower) if close else NOWHERE
    why = f"no finite mu can be certified at failure = {failure:.6g}; give a larger failure"
    return Least(Bounds(low, most), tight, None if most < np.inf else why, result.nodes)


def _exact(failure: Any) -> Fraction:
    """Return a checked probability as a fraction."""
    return exact_number("failure", failure, 0, 1)


def _checked(h: TradeOff, failure: float) -> list[Side]:
    """Return the orders to check from eps = 0 to where delta is at most ``failure``, if that is not at once.

    As g = G_mu (x) f_{0,failure} is convex, the hull of a minimum is above g iff each operand is. (The
    profile of an envelope follows from those of its two orders, so an envelope is one part.)
    """
    result: dict[TradeOff, Side] = {}
    for part in operands_of(h, HullOfMinimum):
        sides = [Side(order, end(order, failure), k == 1) for k, (order,) in enumerate(orders(part))]
        # delta(0), the total variation, is that of both orders.
        if failure < 1 and min(side.reach for side in sides) > 0:
            result |= {side.curve: side for side in sides}
    return list(result.values())


def _complete(f: TradeOff, failure: float, result: Least) -> Reduction:
    """Add the regret and the best case, from the nodes so far, or at the places of those of parts of f."""
    mu, tight, reason, searched = result
    level = min(max(f.mass_at_plus_infinity, f.mass_at_minus_infinity) + max(min(failure, 1e-9), 1e-15), 1.0)
    both = [(order, _far(order, level)) for (order,) in orders(f)]
    own = {nodes.curve: nodes for nodes in searched}
    places = np.concatenate([nodes.epsilon for nodes in searched] or [np.empty(0)])
    sides = [
        extend_nodes(own[order], far) if order in own else start_nodes(order, far).more(places)
        for order, far in both
    ]
    lower, upper, finer = zip(*(bound_regret(side, float(mu.upper), failure) for side in sides), strict=True)
    best = min(bound_best_mu(side, failure, float(mu.upper)) for side in _above(f, level, finer))
    most = min(max(upper), 1.0)
    if isinstance(f, Gaussian) and mu.upper < np.inf:
        # delta_g - delta_f <= failure + mu - mu_f times the largest normal density, over 1 + e^eps >= 2.
        most = min(most, (Bounds.of(failure / 2) + (Bounds.of(mu.upper) - f.least) * 0.2).upper)
    lost_at_most = Bounds(max(lower), most)
    return Reduction(f, failure, mu, lost_at_most, max(best, best_case(f)), tight, reason)


def _above(f: TradeOff, level: float, nodes: Sequence[Nodes]) -> Sequence[Nodes]:
    """Return nodes of the curves that a best case has to be above: of a maximum each operand.

    (f (x) f_{0,failure})(alpha) = (1 - failure) f(alpha/(1 - failure)), which is largest where f is.
    """
    parts = operands_of(f, Maximum)
    if len(parts) == 1:
        return nodes
    return [start_nodes(order, _far(order, level)) for part in parts for (order,) in orders(part)]


def _far(order: TradeOff, level: float) -> float:
    """Return a positive eps up to which the profile counts."""
    return min(end(order, level), FAR) or 1.0
