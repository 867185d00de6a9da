"""Read and write privacy loss distributions of dp_accounting.

Such a distribution is a probability mass function of the loss L = log Q/P under Q, on a grid of losses, for
either order of the pair, with a mass at infinity. P-masses are those under Q times e^-L.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tradeoff.balls import log_quotient, to_ball, to_balls, to_bounds, upper_float
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import number
from tradeoff.curves.piecewise_linear import PiecewiseLinear, pointwise, segments
from tradeoff.errors import DomainError, domain, needed
from tradeoff.intervals.bounds import Bounds, make_bounds
from tradeoff.intervals.functions import clip, exp, expm1, rational
from tradeoff.intervals.functions import maximum as maximum_of
from tradeoff.intervals.polygon import ONE, hull, round_corners, whole
from tradeoff.operators.tabulate import largest


class Orders(NamedTuple):
    """The two orders of a privacy loss distribution, each read separately.

    A pessimistic distribution is discretised in each order, so that the curve of one is not quite the
    inverse of the other's, and both are at or below the truth.

    Parameters
    ----------
    remove : :math:`T(P, Q)` with the record absent under :math:`P`, at or below the truth
    add : the same with the record present under :math:`P`

    Examples
    --------
    >>> orders = Orders(PiecewiseLinear([0, 1], [0.5, 0]), PiecewiseLinear([0, 1], [1, 0]))
    >>> orders.guarantee().delta(0.0) < 1e-15
    True
    """

    remove: PiecewiseLinear
    add: PiecewiseLinear

    def curve(self) -> PiecewiseLinear:
        """Return the curve of the order "remove" from both: max of ``remove`` and ``~add``, rounded down."""
        lines = [*segments(self.remove), *((b, a, c) for a, b, c in segments(self.add))]
        return limited(largest(lines, up=False), BOUND)

    def guarantee(self) -> PiecewiseLinear:
        """Return the curve for every ordered pair: the either-order envelope of ``curve()``."""
        curve = self.curve()
        return limited(pointwise(curve, curve.inverse(), largest=False), BOUND)


def from_pld(pld: Any) -> Orders:
    r"""Read a ``PrivacyLossDistribution`` of dp_accounting, as exactly as floats hold it.

    Each order has a profile at or above that of its probability mass function at every
    :math:`\varepsilon \ge 0`: the masses are unchanged, :math:`e^{-\text{loss}}` is rounded down, and the
    mass missing to 1 is one more atom. If masses add to more than 1, the last ones are cut, which matters
    only at the most negative epsilons. ``.curve()`` joins both orders, ``.guarantee()`` is valid for every
    pair.

    Parameters
    ----------
    pld : a pessimistic distribution; an optimistic one is refused, as it is not a bound

    Examples
    --------
    >>> from dp_accounting.pld import privacy_loss_distribution as pld
    >>> round(from_pld(pld.from_laplace_mechanism(1.0)).guarantee().epsilon(0.1), 2)
    0.79
    """
    try:
        state = getattr(pld, "__dict__", {})
        remove, add = state["_pmf_remove"], state["_pmf_add"]
        return Orders(_curve(remove), _curve(add))
    except KeyError as error:
        known = "a PrivacyLossDistribution of dp_accounting 0.4 to 0.6"
        remedy = f"it has no {error}; read events, builders and accountants with from_event"
        raise domain("pld", pld, known, remedy) from error


def _curve(pmf: Any) -> PiecewiseLinear:
    """Return the curve of a mass function of Q-masses q at losses l: vertices from the largest loss on.

    alpha, beta and masses are integers in units of 2^-1074, in which every float is exact; 1 is ``ONE``. A
    loss runs the P-mass q e^-l, rounded down, to the right and falls by q.
    """
    state = vars(pmf)
    if not state["_pessimistic_estimate"]:
        raise DomainError("pld must be a pessimistic estimate, got an optimistic one, below the truth")
    if "_loss_probs" in state:
        sparse = state["_loss_probs"]
        places, masses = (np.array(list(side), dtype=float) for side in (sparse.keys(), sparse.values()))
    else:
        masses = np.asarray(state["_probs"], dtype=float)
        places = state["_lower_loss"] + np.arange(len(masses), dtype=float)
    if not (np.isfinite(masses).all() and 0 <= state["_infinity_mass"] <= 1):
        raise DomainError("masses of pld must be probabilities; compose it anew")
    order = np.argsort(-places)
    order = order[masses[order] > 0]  # convolutions may leave negative ones
    q = masses[order]
    p = (q * exp(-(places[order] * Bounds.of(float(state["_discretization"]))))).lower
    alpha, beta = 0, ONE - whole(float(state["_infinity_mass"]))
    points = [(alpha, max(beta, 0))]
    for each_p, each_q in zip(np.minimum(p, 2.0).tolist(), q.tolist(), strict=True):
        run, fall = whole(each_p), whole(each_q)
        if fall > beta:  # more than 1 in all: the segment ends where it crosses 0
            run, fall = run * max(beta, 0) // fall, max(beta, 0)
        if alpha + run > ONE or fall == 0:
            break
        alpha, beta = alpha + run, beta - fall
        points.append((alpha, beta))
    vertices = hull([*points, (0, ONE), (ONE, 0)])
    convex = round_corners(((x, y, ONE) for x, y in vertices), up=False)
    return limited(PiecewiseLinear.of_wholes(*zip(*hull(convex), strict=True)), BOUND)


def to_pld(curve: TradeOff, discretization: float = 1e-3) -> Any:
    """Write a ``PrivacyLossDistribution`` of dp_accounting with a profile at or above the curve's.

    It is pessimistic, with one mass function for each order, or one for both if the curve is symmetric.

    Parameters
    ----------
    curve : :math:`T(P, Q)`, the record absent under :math:`P`, as ``plan.curve()``; "add" is its inverse
    discretization : step of the grid of losses, in nats; ``DomainError`` if it is too fine for the curve

    Notes
    -----
    ``curve.lower`` is a pair with finitely many losses. Each atom :math:`(p, q)` between two points of the
    grid is split into one at either point that keeps both masses: its :math:`q - s p` at every :math:`s` on
    the grid stays, and between them becomes the chord, above the convex truth; this is connect-the-dots of
    Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022, Algorithm 1, without differences of the profile. Masses
    are rounded up, and may add to :math:`1 + 10^{-12}`. Compose here before exporting: dp_accounting adds its
    own rounding errors.

    Examples
    --------
    >>> from tradeoff import PureDP
    >>> bool(to_pld(PureDP(1.0)).get_delta_for_epsilon(0.5) >= PureDP(1.0).delta(0.5))
    True
    """
    f, step = operand(curve), number("discretization", discretization, 0, 100, open_low=True)
    remedy = "dp_accounting must be installed for its distributions: pip install dp-accounting"
    names = ("pld_pmf", "privacy_loss_distribution")
    pmf, pld = (needed(f"dp_accounting.pld.{name}", remedy) for name in names)
    result = [_masses(g.lower, step) for g in ([f] if f.symmetric else [f, f.inverse()])]
    return pld.PrivacyLossDistribution(*(pmf.create_pmf(masses, step, far, True) for masses, far in result))


def _masses(g: PiecewiseLinear, step: float) -> tuple[dict[int, float], float]:
    """Return Q-masses by place on the grid, the loss over ``step``, and that at infinity, all rounded up."""
    most, far_loss = 2**22, 690.0  # points of 32 MB, and a loss with e^l among the floats
    # The P- and Q-masses of the segments with Q-mass, and their losses.
    pairs = [(c - a, b - d) for (a, b), (c, d) in pairwise(g.vertices) if b > d]
    rows = [(rational(p), rational(q), to_bounds(log_quotient(q, p))) for p, q in pairs]
    sides = np.array([[tuple(each) for each in row] for row in rows]).reshape(-1, 3, 2)
    p, q, loss = (Bounds(*sides[:, k].T) for k in range(3))
    far = loss.upper > far_loss  # such segments count as infinite
    infinite = upper_float(sum(to_balls(q.upper[far])) + to_ball(g.mass_at_infinity.upper))
    p, q, loss = (make_bounds(side.lower[~far], side.upper[~far]) for side in (p, q, loss))
    places = clip(loss, -far_loss, far_loss) / step
    high = np.ceil(places.upper)
    low = np.where(loss.lower < -far_loss, high, np.floor(places.lower))  # below -far_loss all goes up
    points = np.max(high, initial=0.0) - np.min(low, initial=0.0) + 1
    if points > most:
        least = f"at least {step * points / most:.2g}"
        raise domain("discretization", step, least, f"the grid would have {points:.3g} points")
    # An atom between the points l and m of the grid has Q-masses a at l and b at m, rounded up: a + b = q and
    # a e^-l + b e^-m = p. If both are one point, at or above its loss, it gets everything.
    left, right = low * Bounds.of(step), high * Bounds.of(step)
    width = maximum_of(right - left, step / 2)  # positive, also where both are one point
    below, above = (p * exp(right) - q) / expm1(width), (q - p * exp(left)) / -expm1(-width)
    a, b = (np.clip(share.upper, 0.0, q.upper) for share in (below, above))
    split = np.concatenate([np.where(low < high, a, 0.0), np.where(low < high, b, q.upper)])
    shares: dict[int, list[float]] = {}
    for place, share in zip((*low, *high), split, strict=True):
        if share:
            shares.setdefault(int(place), []).append(share)
    # The factor is for sums of floats in dp_accounting.
    masses = {place: math.fsum(each) * (1 + 1e-12) for place, each in sorted(shares.items())}
    return masses or {0: 0.0}, min(infinite, 1.0)
