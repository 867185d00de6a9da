"""The Blackwell order: theory first, then corners and ends, then bounds; undecided rather than guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number
from tradeoff.errors import Undecided
from tradeoff.families.total_variation import TotalVariation
from tradeoff.operators.order_exact import both_orders, by_corners, lost, top
from tradeoff.operators.order_rules import known
from tradeoff.operators.pointwise import HullOfMinimum, Maximum
from tradeoff.operators.profile_samples import Nodes, chords, end, orders, under
from tradeoff.operators.symmetrise import Envelope

_ROUNDS = 24  # halvings of open cells, to 1e-8 of the reach: where curves end together, more only cost more
_MOST_NODES = 4000  # nodes after which a verdict is given up: a second or so for closed forms
_FIRST = 17  # nodes a scale to begin with: a composed curve takes milliseconds each; open cells are halved
_PATIENCE = 96  # nodes after which what cannot be proved is looked at no longer for a refutation
_SHARP = 1e-8  # relative width to which delta is asked again where the usual one decides nothing
_FARTHEST = 1e6  # largest epsilon looked at where delta_f is known to end beyond it
_LOOK = 60.0  # and where no end is known, for a refutation: e^-60 is below any delta of practice


def at_least(f: TradeOff, g: TradeOff) -> bool:
    """Whether f >= g: f is at least as private at every alpha, or (Blackwell) g is f with more revealed.

    Decided by theory where it can be, by finitely many questions against f_{eps,delta} and other polygons,
    and elsewhere by bounds on both profiles (Dong, Roth, Su 2022, Theorem 2.10 and Proposition 2.12).
    ``Undecided`` if the curves are closer than their bounds somewhere, ``at`` an epsilon; ``SymbolError`` if
    a parameter is still a symbol, and theory alone does not decide.

    >>> from tradeoff import Gaussian, PureDP, approximate_dp
    >>> Gaussian(1) >= approximate_dp(1, 0.2), Gaussian(1) >= approximate_dp(1, 0.1)
    (True, False)
    >>> PureDP(0.5) ** 4 >= PureDP(2)
    True
    """
    for decide in (known, _with_numbers, by_corners, _by_parts, _by_ends):
        verdict = decide(f, g)
        if verdict is not None:
            return verdict
    return _every(_one_order, orders(f, g))


def _with_numbers(f: TradeOff, g: TradeOff) -> None:
    """Let curves whose parameters are still symbols say so: only theory compares formulas."""
    f.require_numbers()
    g.require_numbers()


def _by_parts(f: TradeOff, g: TradeOff) -> bool | None:
    """Take the least or greatest of curves apart; an envelope is above a symmetric curve iff its base is."""
    if isinstance(f, HullOfMinimum):
        parts = f.operands[:1] if isinstance(f, Envelope) and g.symmetric else f.operands
        return _every(at_least, [(part, g) for part in parts])
    return _every(at_least, [(f, part) for part in g.operands]) if isinstance(g, Maximum) else None


def _every(decide: Callable[[TradeOff, TradeOff], bool], pairs: Iterable[tuple[TradeOff, ...]]) -> bool:
    """Decide whether all pairs are in order; one refuted pair is enough, whatever is undecided before it."""
    doubt = None
    for f, g in pairs:
        try:
            if not decide(f, g):
                return False
        except Undecided as error:
            doubt = doubt or error
    if doubt is not None:
        raise doubt
    return True


def _by_ends(f: TradeOff, g: TradeOff) -> bool | None:
    """Refute: f >= g needs Q(L = inf) and sup L of f at most those of g, and the same under the inverse."""
    for one, two in orders(f, g):
        mine, theirs = lost(one), lost(two)
        if mine[0] > theirs[1] or (mine[0] >= theirs[1] and top(one)[0] > top(two)[1]):
            return False
    return None


def dominates(f: TradeOff, g: TradeOff, *, failure: float) -> bool:
    """Whether f >= g (x) f_{0,failure}: f is as private as g but for an event of probability ``failure``.

    Decidable where f >= g is not, because delta may differ by ``failure`` everywhere; ``Undecided`` if the
    truth lies within the width of the bounds.
    """
    _with_numbers(f, g)
    if number("failure", failure, 0, 1) == 0 or known(f, g):
        return at_least(f, g)
    goal = g @ TotalVariation(failure)
    if any(lost(one)[0] > lost(goal)[1] for one in both_orders(f)):
        return False
    return at_least(f, goal)


def _one_order(f: TradeOff, goal: TradeOff) -> bool:
    """Decide delta_f <= delta_goal for eps >= 0, cell by cell: chords above f, a polygon below goal."""
    level = max(goal.mass_at_infinity.lower, 0.0)
    tail = end(f, level)
    # Where no eps is known from which on delta_f is small enough, nothing is proved; a look may refute.
    reach = min(tail, _FARTHEST) if tail < np.inf else _LOOK
    scales = np.linspace(0.0, 1.0, _FIRST), np.geomspace(1.0, 1e-5, _FIRST)
    grid = np.unique(reach * np.concatenate(scales))
    # At sup L an engine refines a delta of 0 for its second in vain; the rest often refutes at once.
    look = grid[grid < min(f.sup_loss, goal.sup_loss)]
    if len(look) and (f.bounds.delta(look).lower > goal.bounds.delta(look).upper).any():
        return False
    mine, theirs = Nodes.of(f, grid), Nodes.of(goal, grid)
    for _ in range(_ROUNDS):
        stuck = np.flatnonzero((mine.upper > theirs.lower) & (mine.lower <= theirs.upper))
        mine = mine.sharper(stuck, _SHARP) if len(stuck) else mine
        if (mine.lower > theirs.upper).any():
            return False
        t, value = under(theirs)
        above = chords(mine, mine.upper, t) > value if len(mine.epsilon) > 1 else np.empty((1, 0), dtype=bool)
        open_ = np.flatnonzero(np.any(above, axis=0))
        # From ``tail`` on delta_f <= level is proved; asked among other nodes, it may be a little wider.
        if len(open_) == 0 and (tail <= reach or mine.upper[-1] <= level):
            return True
        stuck = np.flatnonzero(mine.upper > theirs.lower)
        most = _PATIENCE if len(stuck) or tail == np.inf else _MOST_NODES
        if len(open_) == 0 or len(mine.epsilon) > most:
            break
        middles = mine.middle(open_)
        mine, theirs = mine.more(middles), theirs.more(middles)
    at = float(mine.epsilon[stuck[0] if len(stuck) else open_[0] if len(open_) else -1])
    where = f"the curves are closer than their bounds near epsilon = {at:.6g}"
    raise Undecided(f"{where}; ask dominates(g, failure=...)", at)
