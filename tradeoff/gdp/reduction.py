"""The least mu with f >= g = G_mu (x) f_{0,failure}, and the cost of reporting it.

(x) composes; delta_f(eps) is the profile of f, and f_{0,d} leaks, that is, reveals all with probability d.
Nodes are losses eps with bounds on delta_f, of either order of f (`cells`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from tradeoff import balls
from tradeoff.curves.contract import Derived, TradeOff
from tradeoff.curves.hooks import BOUND, NOT_EXACT, PAIR, limited
from tradeoff.curves.parameters import exact_number, is_symbol, written
from tradeoff.curves.product import Tensor, tensor
from tradeoff.display import Displayed, TextTable, exactly
from tradeoff.families.approximate_dp import Identity, TotalVariation
from tradeoff.families.gaussian import Gaussian
from tradeoff.gdp import cells
from tradeoff.gdp.cells import FAR, Side, bound_regret, needed_by_nodes, search_by_lines
from tradeoff.intervals.bounds import Bounds, decimal
from tradeoff.intervals.functions import clip, log, maximum, rational, sqrt, total
from tradeoff.operators.order import infinite_mass
from tradeoff.operators.pointwise import HullOfMinimum, Maximum, Mixture
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.tabulate import Nodes, both_orders, tail_end
from tradeoff.operators.unary import Group, Inverse

DEFAULT_FAILURE = 1e-10  # of curves that are not Gaussian: many of them have no useful mu without one
NOWHERE = float("nan")  # no alpha; one object, so that it is equal to itself in a tuple
_FARTHEST = 100.0  # nats up to which lines are drawn without failure: farther out nodes take seconds


@dataclass(frozen=True, repr=False)
class Reduction(Displayed):
    r"""One Gaussian parameter for a whole curve, valid at every alpha but for an event of mass ``failure``.

    Parameters
    ----------
    of
        The curve f that was reduced.
    failure
        Probability of the event left out, in [0, 1].
    bounds
        Bounds on the least :math:`\mu` with :math:`f \ge G_\mu \otimes f_{0,\mathrm{failure}}`.
    regret_bounds
        Bounds on the regret of reporting the upper bound, in [0, 1].
    mu_minus
        Best case: :math:`f \otimes f_{0,\mathrm{failure}} \le G_{\mu_-}`, certified on every alpha.
    tight_at
        The alpha where the reported curve comes closest to f; NaN where mu follows from the structure of f.
    reason
        Why mu is infinite, if it is.

    Notes
    -----
    At failure 0, :math:`\mu` is :math:`\sup_\alpha \Phi^{-1}(1 - \alpha) - \Phi^{-1}(f(\alpha))` and
    ``mu_minus`` its infimum, which is 0 wherever losses are bounded. The regret is the least :math:`\kappa`
    with :math:`f(\alpha + \kappa) - \kappa \le g(\alpha)` for all :math:`\alpha`,
    :math:`g = G_\mu \otimes f_{0,\mathrm{failure}}`, which is
    :math:`\max_\varepsilon (\delta_g(\varepsilon) - \delta_f(\varepsilon))/(1 + e^\varepsilon)`: the largest
    gap in Bayes error over priors (Gomez et al. 2026).

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
        """Certified mu, an upper bound on the least one."""
        return self.bounds.upper if is_symbol(self.bounds.upper) else float(self.bounds.upper)

    @property
    def regret(self) -> float:
        """Regret of reporting mu instead of the curve, an upper bound."""
        return float(self.regret_bounds.upper)

    @property
    def curve(self) -> TradeOff:
        r"""The curve reported, at or below f everywhere.

        .. math::

           G_\mu \otimes f_{0,\mathrm{failure}}
        """
        if not is_symbol(self.mu) and np.isinf(self.mu):
            return TotalVariation(1.0)
        # A bound on f, unless it is f itself, which may be exact.
        result = limited(Gaussian(self.mu) @ TotalVariation(self.failure), PAIR, self.of.assumptions)
        return limited(result, self.of.tightness if result == self.of else BOUND)

    def grid(self) -> TextTable:
        def text(value: Any, spec: str, *, up: bool) -> str:
            return written(value) if is_symbol(value) else decimal(value, spec, up=up)

        rows = [
            ("mu", text(self.mu, ".10g", up=True)),
            ("least mu, at least", text(self.bounds.lower, ".10g", up=False)),
            ("gap to f (regret), at most", decimal(self.regret, ".6g", up=True)),
            ("mu of a Gaussian above f", text(self.mu_minus, ".6g", up=False)),
            ("closest to f at alpha", "-" if np.isnan(self.tight_at) else f"{self.tight_at:.6g}"),
        ]
        notes = ([self.reason] if self.reason else []) + [NOT_EXACT] * (not self.of.exact)
        return TextTable(rows, head=f"{self.of!r} >= G_mu ⊗ f_{{0,{exactly(self.failure)}}}", notes=notes)


def gdp(f: TradeOff, *, failure: float | None = None) -> Reduction:
    """Find the least mu with f >= G_mu (x) f_{0,failure} = g, certified for every alpha.

    f >= g iff delta_f <= delta_g at every real eps. As g is symmetric, eps >= 0 for f and for f^-1 is enough;
    and from the eps on where delta_f <= failure nothing is left to check. In between, cells of eps are
    decided by convexity.
    """
    exact = _read_failure(f, failure)
    failure = float(rational(exact).upper)  # a larger failure needs no more mu
    if isinstance(f, Gaussian) and failure == 0 and not f.free_symbols and f.mu < np.inf:
        # f.least and f.mu are floats around its mu. No density of the normal law is above 0.4, and the weight
        # 1/(1 + e^eps) is at most 1/2.
        regret = (Bounds.of(f.mu) - f.least) * 0.2 if f.least < f.mu else Bounds(0.0, 0.0)
        return Reduction(f, failure, Bounds(f.least, f.mu), Bounds(0.0, regret.upper), f.least)
    if f.free_symbols:
        from tradeoff.symbolic.forms import least_mu

        mu = least_mu(f)  # at failure = 0; a larger one needs no more
        if isinstance(f, Gaussian) and failure == 0:  # reported as it is
            return Reduction(f, failure, Bounds(mu, mu), mu_minus=mu)
        return Reduction(f, failure, Bounds(mu if failure == 0 else 0.0, mu), Bounds(0.0, 1.0))
    mu, tight, reason, searched = least(f, exact)
    # The regret and the best case, from nodes at the eps of those searched, which may be of parts of f.
    level = min(max(f.mass_at_plus_infinity, f.mass_at_minus_infinity) + max(min(failure, 1e-9), 1e-15), 1.0)
    places, known = [nodes.epsilon for nodes in searched], {nodes.curve: nodes for nodes in searched}
    sides = []
    for order in both_orders(f):
        start = cells.start_places(order, min(tail_end(order, level), FAR) or 1.0)
        nodes = known[order] if order in known else Nodes.of(order, np.empty(0))
        sides.append(nodes.with_nodes(np.concatenate([start, *places])))
    lower, upper, finer = zip(*(bound_regret(side, float(mu.upper), failure) for side in sides), strict=True)
    best = min(cells.bound_best_mu(side, failure, float(mu.upper)) for side in finer)
    most = min(max(upper), 1.0)
    if isinstance(f, Gaussian) and mu.upper < np.inf:
        # delta_g - delta_f <= failure + max(mu - mu_f, 0) times the largest normal density, over at least 2:
        # at large eps a lesser mu makes no difference.
        most = min(most, (Bounds.of(failure / 2) + maximum(Bounds.of(mu.upper) - f.least, 0.0) * 0.2).upper)
    # Without failure f <= G_mu of the Gaussian factors of a product, as f (x) h <= f.
    above = _root_of_squares(
        (Bounds.of(g.least), n) for g, n in f.factors.items() if isinstance(g, Gaussian)
    ).lower
    return Reduction(f, failure, mu, Bounds(max(lower), most), max(best, above), tight, reason)


def _read_failure(f: TradeOff, failure: float | Fraction | None) -> Any:
    """Return the failure, exactly, checked; None is 0 for a Gaussian curve, which needs none, else 1e-10."""
    is_gaussian = isinstance(f, Gaussian) and (bool(f.free_symbols) or f.mu < np.inf)
    default = 0.0 if is_gaussian else DEFAULT_FAILURE
    return exact_number("failure", default if failure is None else failure, 0, 1)


class Least(NamedTuple):
    """Bounds on the least mu, the alpha that decides, the reason if it is infinite, and the nodes."""

    mu: Bounds[float]
    tight_at: float = NOWHERE
    reason: str | None = None
    nodes: Sequence[Nodes] = ()


def least(f: TradeOff, failure: float | Fraction | None) -> Least:
    """Bound the least mu with f >= G_mu (x) f_{0,failure}, as ``gdp`` does, without the regret."""
    exact = _read_failure(f, failure)
    failure = float(rational(exact).upper)
    for order, where in ((f, "f(0)"), (f.inverse(), "f^-1(0)")):
        if (mass := order.mass_at_infinity.lower) > failure:
            curve = f"G_mu ⊗ f_{{0,{failure:.6g}}}"
            why = f"{where} = 1 - {mass:.6g}, and {curve} starts at 1 - {failure:.6g} for every finite mu"
            return Least(Bounds(np.inf, np.inf), reason=why)
    h, d = without_leak(f, exact, Fraction(failure))
    sides, most = _sides_to_check(h, d.lower), bound_by_parts(h).upper
    low = max(bound_by_parts(order).lower for order in both_orders(h)) if d.upper == 0 else 0.0
    if not sides:
        return Least(Bounds(0.0, 0.0), 0.5)
    if low >= most * (1 - 1e-12):
        return Least(Bounds(min(low, most), most))
    enough, tight, nodes = search_by_lines(sides, d.lower, most)
    ends, needed = max(side.reach for side in sides) < np.inf, needed_by_nodes(nodes, d.upper)
    if d.upper == 0 and not ends:  # delta_f of large eps is bounded by densities
        ended = [each._replace(reach=min(each.reach, end_of_lines(each.curve, needed))) for each in sides]
        if max(side.reach for side in ended) < _FARTHEST:
            enough, tight, nodes = search_by_lines(ended, 0.0, most)
            ends, enough, needed = True, max(enough, needed), max(needed, needed_by_nodes(nodes, 0.0))
    low = min(max(low, needed), most)
    # With a margin, so that ``dominates`` is decided where the reported curve and f touch.
    most = min(most, enough * (1 + 1e-11)) if ends else most
    # Where delta(0) is nearly 1, 1 - delta has lost the digits that lines need.
    if most > 1.01 * low and d.lower == d.upper and h.bounds.delta(0.0).lower > 1 - 1e-6:
        low, most = cells.search_by_tests([side.curve for side in sides], d.lower, Bounds(low, most))
    tight = tight * (1 - failure) / (1 - d.lower) if ends and enough <= 1.01 * most else NOWHERE
    why = f"no finite mu can be certified at failure = {failure:.6g}; give a larger failure"
    return Least(Bounds(low, most), tight, None if most < np.inf else why, nodes)


def _sides_to_check(h: TradeOff, failure: float) -> list[Side]:
    """Return the orders to check from eps = 0 to the reach, where delta <= failure, if that is not at once.

    As g = G_mu (x) f_{0,failure} is convex, the hull of a minimum is above g iff each operand is. (The
    profile of an envelope follows from those of its two orders, so an envelope is one part.)
    """
    result: dict[TradeOff, Side] = {}
    for part in h.operands if type(h) is HullOfMinimum else (h,):
        sides = [Side(order, tail_end(order, failure), k == 1) for k, order in enumerate(both_orders(part))]
        # delta(0), the total variation, is that of both orders.
        if failure < 1 and min(side.reach for side in sides) > 0:
            result |= {side.curve: side for side in sides}
    return list(result.values())


def bound_by_parts(f: TradeOff) -> Bounds[float]:
    """Bound the least mu with f >= G_mu, which needs no failure, by the parts of f: 0 and inf if unknown.

    Products add mu^2, groups of k multiply mu by k (Dong, Roth, Su 2022, Corollary 3.3 and Theorem 2.14);
    subsampling, inverses, mixtures and envelopes of curves above G_mu are above G_mu, and a maximum is if an
    operand is. Where losses stay within [-eps, eps], f >= f_{eps,0} >= G_mu with
    mu = -2 Phi^-1(1/(1 + e^eps)).

    Large losses need mu, however rare they are: let P >= v P' and Q >= w Q' on some event, 0 < v, w <= 1,
    where T(P', Q') = G_m. Then 1 - f(alpha) >= w (1 - G_m(alpha)), which as alpha tends to 0 is more than
    1 - G_mu(alpha) for every mu < m. Subsampling keeps such an event, products multiply them.
    """
    low, most = 0.0, math.inf
    parts = [bound_by_parts(operand) for operand in f.operands] if isinstance(f, Derived) else []
    match f:
        case Gaussian():
            low, most = f.least, float(f.mu)
        case Identity():
            most = 0.0
        case Tensor():
            low, most = _root_of_squares((bound_by_parts(factor), n) for factor, n in f.factors.items())
        case Inverse() | Subsampled() | Mixture() | HullOfMinimum():
            most = max(part.upper for part in parts)
            # Losses of an inverse are those of the other order; those of a flipped one end at -log(1 - p).
            if not isinstance(f, Inverse) and not getattr(f, "flipped", False):
                low = max(part.lower for part in parts)
        case Maximum():
            most = min(part.upper for part in parts)
        case Group() if f.operands[0].symmetric:
            most = float((rational(f.k) * parts[0].upper).upper)
    both = f, f.inverse()
    reach = max(*(one.sup_loss for one in both), 0.0)
    if reach < math.inf and all(one.mass_at_infinity.upper == 0 for one in both):
        most = min(most, 2 * balls.upper_float(balls.normal_isf(1 / (1 + balls.exp(balls.to_balls(reach))))))
    return Bounds(low, most)


def end_of_lines(f: TradeOff, mu: float) -> float:
    """Return an eps from which on delta_f is below that of G_mu and all larger mu, or inf if none is known.

    Let f = G_nu (x) h, nu < mu, where losses X of h are at most b. With phi the density of a normal loss,
    that of f under Q is E phi_nu(l - X), at most phi_nu(l - b) where l >= b + nu^2/2. The log-ratio of that
    to phi_mu(l) is -a l^2/2 + (b/nu^2) l + c, a = 1/nu^2 - 1/mu^2, c = (mu^2 - nu^2)/8 + log(mu/nu)
    - b/2 - b^2/(2 nu^2): from its greater root on the densities decide, and delta_f is the smaller.
    """
    normal = {g: n for g, n in f.factors.items() if isinstance(g, Gaussian) and g.mu < math.inf}
    others = [(h, n) for h, n in f.factors.items() if h not in normal]
    if not normal or any(h.mass_at_infinity.upper > 0 or h.sup_loss == math.inf for h, _ in others):
        return math.inf
    square = rational(sum((n * g.weight for g, n in normal.items()), Fraction(0)))  # nu^2
    m = Bounds.of(mu)
    b = total([Bounds(0.0, 0.0), *(rational(n) * h.sup_loss for h, n in others)])
    a, slope = 1 / square - 1 / m**2, b / square
    if not a.lower > 0:
        return math.inf
    c = (m**2 - square) / 8 + log(m) - log(square) / 2 - b / 2 - b * slope / 2
    root = (slope + sqrt(maximum(slope**2 + 2 * a * c, 0.0))) / a
    return float(maximum(root, b + square / 2).upper)


def _root_of_squares(parts: Iterable[tuple[Bounds[float], int]]) -> Bounds[float]:
    """Bound the root of the sum of n x^2."""
    return sqrt(total(n * x**2 for x, n in parts))


def without_leak(f: TradeOff, failure: Fraction, most: Fraction) -> tuple[TradeOff, Bounds[float]]:
    """Return (h, d), d bounds, with f >= G_mu (x) f_{0,failure} iff h >= G_mu (x) f_{0,d}, f = h (x) f_{0,q}.

    Both sides have a factor f_{0,q}, which only scales the axes: (1 - q)(1 - d) = 1 - failure. ``d`` goes up
    to that of ``most``, the rounded ``failure``, which needs no more mu.
    """
    factors = f.factors
    leaks = {factor: n for factor, n in factors.items() if factor.leak is not None}
    low, high = (Fraction(side) for side in infinite_mass(tensor(leaks.items())))
    if not leaks or high > failure or high >= 1:
        return f, Bounds(max(rational(failure).lower, 0.0), min(rational(most).upper, 1.0))
    rest = tensor((factor, n) for factor, n in factors.items() if factor.leak is None)
    ends = rational((failure - high) / (1 - high)).lower, rational((most - low) / (1 - low)).upper
    return rest, clip(Bounds(*ends), 0.0, 1.0)
