"""The Blackwell order: structure first, then tails, then bounds; undecided rather than guessed."""

from __future__ import annotations

import numpy as np

from tradeoff.core.curve import TradeOff
from tradeoff.core.dispatch import announces
from tradeoff.core.parameters import real
from tradeoff.core.piecewise_linear import PiecewiseLinear
from tradeoff.core.tensor import Factors, Tensor, tensor
from tradeoff.errors import Undecided
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.laplace import Laplace
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation
from tradeoff.operators.cells import Nodes, chords, end, orders, under

_PARAMETER: dict[type[TradeOff], str] = {Gaussian: "mu", Laplace: "epsilon_0", PureDP: "epsilon_0", TotalVariation: "lost"}

_ROUNDS, _MOST_NODES, _FARTHEST = 40, 4000, 1e6


@announces("at_least")
def at_least(f: TradeOff, g: TradeOff) -> bool:
    """Whether f >= g: f is at least as private at every alpha.

    Raises
    ------
    Undecided
        If the curves are closer than their bounds somewhere; ``at`` is the epsilon.
    """
    known = _by_structure(f, g)
    if known is None:
        known = _by_tails(f, g)
    return _by_bounds(f, g) if known is None else known


def _by_structure(f: TradeOff, g: TradeOff) -> bool | None:
    if f == g or isinstance(f, Identity) or g == TotalVariation(1):
        return True
    if type(f) is type(g) and type(f) in _PARAMETER:
        name = _PARAMETER[type(f)]
        return bool(getattr(f, name) <= getattr(g, name))
    if isinstance(f, PureDP | Laplace) and isinstance(g, PureDP) and f.epsilon_0 <= g.epsilon_0:
        return True
    if isinstance(f, PiecewiseLinear) and isinstance(g, PiecewiseLinear) and f.exact and g.exact:
        return all(f.at(a) >= g.at(a) for a in (*f.alpha, *g.alpha))
    return _factors(f, g)


def _factors(f: TradeOff, g: TradeOff) -> bool | None:
    """Cancel common factors: f (x) h >= g (x) h when f >= g, and any f >= f (x) h."""
    mine, theirs = (dict(curve.factors) if isinstance(curve, Tensor) else {curve: 1} for curve in (f, g))
    common = {factor: min(n, theirs[factor]) for factor, n in mine.items() if factor in theirs}
    if not common and not (isinstance(f, Tensor) and isinstance(g, Tensor)):
        return None
    rest_f, rest_g = (tensor((factor, n - common.get(factor, 0)) for factor, n in side.items()) for side in (mine, theirs))
    if rest_f == Identity():
        return True
    known = _by_structure(rest_f, rest_g) if common else _one_by_one(mine, theirs)
    # A common factor can make curves comparable that are not by themselves; only those of one family it leaves apart.
    return known if known or type(rest_f) in _PARAMETER else None


def _one_by_one(mine: Factors, theirs: Factors) -> bool | None:
    """Factor by factor: each of f's has one of g's, of the same power, that is no more private."""
    if len(mine) != len(theirs) or sorted(mine.values()) != sorted(theirs.values()):
        return None
    pairs = zip(sorted(mine.items(), key=_rank), sorted(theirs.items(), key=_rank), strict=True)
    return True if all(n == m and _by_structure(a, b) for (a, n), (b, m) in pairs) else None


def _rank(item: tuple[TradeOff, int]) -> tuple[int, str, str]:
    return item[1], type(item[0]).__name__, repr(item[0])


def _by_tails(f: TradeOff, g: TradeOff) -> bool | None:
    """Refute: f >= g needs Q(L = inf) and sup L of f at most those of g, and the same under the inverse."""
    for one, two in ((f, g), (f.inverse(), g.inverse())):
        mine, theirs = one.mass_at_infinity, two.mass_at_infinity
        if mine.lower > theirs.upper:
            return False
        if mine.upper == theirs.upper == 0 and one.least_sup_loss > two.sup_loss:
            return False
    return None


def _by_bounds(f: TradeOff, g: TradeOff) -> bool:
    """F >= g if delta_f <= delta_g at every epsilon; refuted by one point, proved cell by cell by monotonicity."""
    reach = min(max(f.sup_loss, g.sup_loss, 1.0), 60.0)
    back = min(max(f.inverse().sup_loss, g.inverse().sup_loss, 1.0), 60.0)
    bounded = _ends(f, g, -back, reach)
    # Without bounded losses the tails can refute but never prove: a coarse look is all that helps.
    grid = np.linspace(-back, reach, 401) if bounded else np.linspace(-min(back, 8.0), min(reach, 8.0), 65)
    mine, theirs = f.bounds.delta(grid), g.bounds.delta(grid)
    worse = np.flatnonzero(mine.lower > theirs.upper)
    if len(worse):
        return False
    for _ in range(8 if bounded else 0):
        # delta decreases: on [a, b], delta_f <= upper_f(a) and delta_g >= lower_g(b).
        left, right = grid[:-1], grid[1:]
        open_ = np.flatnonzero(mine.upper[:-1] > theirs.lower[1:])
        if len(open_) == 0:
            return True
        if len(grid) > 20_000:
            break
        grid = np.unique(np.concatenate([grid, (left[open_] + right[open_]) / 2]))
        mine, theirs = f.bounds.delta(grid), g.bounds.delta(grid)
        if (mine.lower > theirs.upper).any():
            return False
    at = float(grid[int(np.argmax(mine.upper - theirs.lower))])
    raise Undecided(f"the curves are closer than their bounds near epsilon = {at:.6g}; ask f.dominates(g, failure=...)", at)


def _ends(f: TradeOff, g: TradeOff, low: float, high: float) -> bool:
    """Beyond both losses' reach the profiles are the exact masses, ordered by the tails."""
    return f.sup_loss <= high and g.sup_loss <= high and -f.inverse().sup_loss >= low and -g.inverse().sup_loss >= low


@announces("dominates")
def dominates(f: TradeOff, g: TradeOff, *, failure: float) -> bool:
    """Whether f >= g (x) f_{0,failure}: f is as private as g but for an event of probability ``failure``.

    Decidable where f >= g is not, because delta may differ by ``failure`` everywhere.

    Raises
    ------
    Undecided
        If the truth lies within the width of the bounds.
    """
    failure = real("failure", failure, 0, 1)
    if failure == 0:
        return at_least(f, g)
    goal = g @ TotalVariation(failure)
    if _by_structure(f, g) or _by_structure(f, goal):
        return True
    return all(_one_order(mine, theirs) for mine, theirs in orders(f, goal))


def _one_order(f: TradeOff, goal: TradeOff) -> bool:
    """Decide delta_f <= delta_goal for eps >= 0: chords of f's upper bounds against goal's lower polygon, cell by cell."""
    level = max(goal.mass_at_infinity.lower, 0.0)
    tail = end(f, level)
    reach = min(tail, _FARTHEST)
    grid = np.unique(np.concatenate([np.linspace(0.0, reach, 257), reach * np.geomspace(1.0, 1e-5, 65)]))
    mine, theirs = Nodes.of(f, grid), Nodes.of(goal, grid)
    for _ in range(_ROUNDS):
        if (mine.lower > theirs.upper).any():
            return False
        t, value = under(theirs)
        closed = np.all(chords(mine, mine.upper, t) <= value, axis=0) if len(mine.epsilon) > 1 else np.empty(0, dtype=bool)
        open_ = np.flatnonzero(~closed)
        # From ``tail`` on delta_f <= level is proved already; asked again among other nodes, it may be wider in the last digits.
        if len(open_) == 0 and (tail <= reach or mine.upper[-1] <= level):
            return True
        stuck = np.flatnonzero(mine.upper > theirs.lower)
        if len(stuck) or len(open_) == 0 or len(mine.epsilon) > _MOST_NODES:
            break
        middles = mine.middle(open_)
        mine, theirs = mine.more(middles), theirs.more(middles)
    at = float(mine.epsilon[stuck[0] if len(stuck) else open_[0] if len(open_) else -1])
    raise Undecided(f"the profiles are closer than their bounds near epsilon = {at:.6g}", at)
