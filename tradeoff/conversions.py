"""Conversion of Renyi divergences into a curve: every test is a pair of Bernoulli laws.

These are of x = 1 - beta and y = alpha; a place is a log-odds of y, at which one order, the best, decides.
Bounds of all orders at once, as of concentrated privacy, also have a curve in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import MAX_LOSS, Number, choice, number, written
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError, called, shown
from tradeoff.families.approximate_dp import Identity, PureDP, TotalVariation
from tradeoff.intervals.bounds import Array, Bounds, Pair
from tradeoff.intervals.functions import clip, exp, expm1, log, log1p, meet, sqrt, where
from tradeoff.operators.pointwise import maximum
from tradeoff.operators.tabulate import largest, to_lines

__all__ = ["from_renyi", "from_zcdp"]


@dataclass(frozen=True, repr=False, eq=False)
class ZeroConcentrated(TradeOff):
    """Curve f(alpha) = 1 - exp(-(sqrt(log(1/alpha) - xi) - sqrt(rho))_+^2), or its inverse.

    D_a(Q || P) <= xi + rho a gives x^a alpha^(1-a) <= e^((a-1)(xi + rho a)) for x = 1 - f(alpha), and the
    least x over all a > 1 is at a = sqrt((log(1/alpha) - xi)/rho). So delta(eps) is the least over a of
    Canonne, Kamath, Steinke 2020, Proposition 12, and at the best a it is e^(-rho (a-1)^2)/a.
    """

    rho: float
    xi: float = 0.0
    flipped: bool = False

    symmetric = False

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        if self.flipped:
            root = sqrt(self.rho) + sqrt(-log1p(-Bounds.of(alpha)))
            return tuple(clip(exp(-self.xi - root * root), 0.0, 1.0))
        # sqrt(u) - sqrt(rho) is (u - rho)/(sqrt(u) + sqrt(rho)).
        rest = clip(-log(Bounds.of(np.maximum(alpha, 5e-324))) - self.xi - self.rho, 0.0, math.inf)
        root = rest / (sqrt(rest + self.rho) + sqrt(self.rho)) if self.rho else sqrt(rest)
        low, high = clip(-expm1(-(root * root)), 0.0, 1.0)
        return np.where(alpha == 0, 1.0, low), np.where(alpha == 0, 1.0, high)

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        """Bound delta from above by the Renyi divergence of one order a, from below by one type I error y.

        With k = a - 1, log delta <= k (xi + rho a - eps) + k log(k/a) - log(a). For every y,
        delta >= x - e^eps y with x = 1 - f(y); at y = e^(-xi - rho a^2), x = e^(-rho k^2). The inverse curve
        has the profile 1 - e^eps (1 - delta(-eps)).
        """
        at = np.clip(epsilon, -1e200, 700.0 if self.flipped else 1e200)  # of the inverse e^eps is a float
        signed = -at if self.flipped else at
        # The order solves log(k/(k + 1)) + rho (2 k + 1) = eps - xi, whose left side increases: by bisection,
        # in an interval in which squares are floats; the error of an order counts by its square.
        low, high = np.full(signed.shape, -700.0), np.full(signed.shape, 330.0)
        for _ in range(50):
            middle = (low + high) / 2
            rises = self.rho * (2 * np.exp(middle) + 1) - np.log1p(np.exp(-middle)) < signed - self.xi
            low, high = np.where(rises, middle, low), np.where(rises, high, middle)
        k = Bounds.of(np.exp(low))
        loss = signed - self.xi - Bounds.of(self.rho) * (2 * k + 1)
        log_above, log_x = -k * (loss + k * self.rho + log1p(1 / k)) - log1p(k), -(k * k * self.rho)
        if self.flipped:
            above = 1 + exp(at) * expm1(log_above)
            below = -expm1(log_x + loss - signed) + exp(at) * expm1(log_x)
        else:
            above, below = exp(log_above), exp(log_x) * -expm1(loss)
        low = np.maximum(np.where(epsilon > at, 0.0, below.lower), self.mass_at_infinity.lower)
        return low, np.clip(above.upper, low, 1.0)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        return -expm1(-Bounds.of(self.xi) - self.rho) if self.flipped else Bounds(0.0, 0.0)

    @property
    def loss_bounds(self) -> Bounds[float]:
        return Bounds.of(math.inf if self.rho else -self.xi if self.flipped else self.xi)

    def inverse(self) -> TradeOff:
        return ZeroConcentrated(self.rho, self.xi, not self.flipped)

    def __repr__(self) -> str:
        name = f"zCDP_{{{written(self.rho)},{written(self.xi)}}}"
        return f"{'~' if self.flipped else ''}{name} (one order)"


Assumption = Literal["both-orders", "one-order"]

# Log-odds of the type I errors where lines touch, from 1e-300 to all but 1e-13, as the curve of one order may
# be steep at either end: 0.025 apart where curves bend, where chords are 6e-6 below.
_PLACES = np.concatenate(
    [
        *(-np.geomspace(690.0, 60.0, 40), np.arange(-59.75, -30, 0.25), np.arange(-30, -8, 0.1)),
        *(np.arange(-8, 7, 0.025), np.arange(7, 31, 0.25)),
    ]
)

# Orders at which a function is evaluated, and, with 1, from which the best of rho-zCDP is chosen.
_ORDERS = 1 + np.geomspace(1e-3, 1e5, 49)

_FINE = 1e-11  # accuracy of log w (``_ends``) at the end of a region, where a line touches


def from_zcdp(rho: Number, xi: Number = 0.0) -> TradeOff:
    r"""Bound mechanisms with :math:`D_a \le \xi + \rho a` for all :math:`a > 1`, in both orders, from below.

    Parameters
    ----------
    rho : parameter of zero-concentrated differential privacy, in [0, 1e6]
    xi : constant part, in [0, 1e6]; 0 for :math:`\rho`-zCDP

    Returns
    -------
    TradeOff
        A symmetric lower bound. Add :math:`\rho` and :math:`\xi` of several mechanisms first, and convert
        once.

    Notes
    -----
    The pointwise maximum of two curves. One is that of ``from_renyi`` (Zhu, Dong, Wang 2022; Riess et al.
    2026), the best order chosen at each of some 2000 type I errors, and chords between them. The other takes
    the best order at every type I error, with the weaker inequality of Canonne, Kamath, Steinke 2020,
    Proposition 12: it is the greater one where losses are large. :math:`\rho = \mu^2/2` does not imply
    :math:`\mu`-GDP.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.conversions.from_zcdp(0.5)(0.1), 3), round(to.Gaussian(1)(0.1), 3)
    (0.516, 0.611)
    """
    # A filter may exceed its limit of 1e6 by a hair.
    return _from_zcdp(number("rho", rho, 0, 1.001e6), number("xi", xi, 0, 1.001e6))


@lru_cache(maxsize=64)
def _from_zcdp(rho: float, xi: float) -> TradeOff:
    """Return ``from_zcdp``: equal parameters share one curve."""

    def bound(orders: Array) -> Array:
        return np.asarray((xi + Bounds.of(orders) * rho).upper)

    if rho == xi == 0:
        return Identity()
    orders, apart = np.append(1.0, _ORDERS)[:, None], math.log((_ORDERS[1] - 1) / (_ORDERS[0] - 1))
    best = _tightest(orders, bound(orders), 2e-5)
    for closeness in (1.0, 0.25):  # shares of the distance to the neighbours
        near = 1 + (best[0] - 1) * np.exp(closeness * apart * np.linspace(-1.0, 1.0, 9))[:, None]
        best = _tightest(near, bound(near))
    one = ZeroConcentrated(rho or 0, xi or 0)  # sensitivities do not move integers
    return limited(maximum(_curve(best, assume="both-orders"), one, ~one), BOUND)


def from_renyi(
    divergences: Mapping[float, float] | Callable[[float], float], *, assume: Assumption = "both-orders"
) -> TradeOff:
    r"""Bound from below every curve with these Renyi divergences.

    Parameters
    ----------
    divergences
        Upper bounds in nats by order, from 1 (Kullback-Leibler) to inf (the largest loss), such as
        ``{2: 0.1, 8: 0.5}``; or a function of the order, evaluated at 49 orders from 1.001 to 100001.
        An infinite bound is ignored.
    assume
        ``"both-orders"``: they bound :math:`D_a(P \,\Vert\, Q)` and :math:`D_a(Q \,\Vert\, P)`, for every
        pair of neighbours. ``"one-order"``: :math:`D_a(P \,\Vert\, Q)` alone, as ``f.renyi(a)`` bounds it for
        a curve :math:`f = T(P, Q)`.

    Returns
    -------
    TradeOff
        A lower bound, symmetric if both orders are bounded: a polygon, or ``PureDP`` if only the largest loss
        is given.

    Notes
    -----
    A test with errors alpha and beta sends (Q, P) to Bernoulli laws of :math:`x = 1 - \beta` and
    :math:`y = \alpha`, whose divergences are no larger. So, of an order :math:`t > 1` and its bound d,
    :math:`x^t y^{1-t} + (1-x)^t (1-y)^{1-t} \le e^{(t-1) d}`, a convex region; and all of them together are
    the optimal conversion (Zhu, Dong, Wang 2022; Riess et al. 2026; of one order Asoodeh, Liao, Calmon,
    Kosut, Sankar 2020). Its curve is the largest of lines that are proved one by one: as
    :math:`x^t y^{1-t} \ge t r^{t-1} x - (t-1) r^t y` for every :math:`r > 0`, the region lies below a line
    for every :math:`r = e^u` and :math:`r' = e^{-v}` in the place of :math:`x/y` and :math:`(1-x)/(1-y)`.

    Examples
    --------
    >>> import tradeoff as to
    >>> step = to.Gaussian(0.5)
    >>> f = to.conversions.from_renyi({a: step.renyi(a) for a in (1.5, 2, 3, 5, 9, 17)})
    >>> f <= step, round(f.delta(1.0), 5), round(step.delta(1.0), 5)
    (True, 0.01722, 0.00683)
    """
    choice("assume", assume, get_args(Assumption))
    if callable(divergences):
        divergences = {a: called("divergences", divergences, a) for a in _ORDERS.tolist()}
    if not isinstance(divergences, Mapping) or not divergences:
        raise DomainError(
            f"divergences = {shown(divergences)} must be a mapping of orders to bounds, such as {{2: 0.1}}"
        )
    pairs = [(number("order", a, 1), number("divergence", d, 0)) for a, d in divergences.items()]
    given = {a: d for a, d in pairs if d < math.inf}
    if not given:
        return TotalVariation(1.0)
    if 0 in given.values():  # then P = Q
        return Identity()
    pure, finite = given.pop(math.inf, math.inf), sorted(given.items())
    if not finite and assume == "both-orders":  # the largest loss
        return limited(PureDP(pure), BOUND) if pure <= MAX_LOSS else TotalVariation(1.0)
    if not finite:
        return _curve(None, assume=assume, pure=pure)
    orders, bounds = (np.array(side)[:, None] for side in zip(*finite, strict=True))
    return _curve(_tightest(orders, bounds), assume=assume, pure=pure)


def _tightest(orders: Array, bounds: Array, accuracy: float = _FINE) -> tuple[Array, Array]:
    """Return for each place the order, of a column of them, whose region ends first, and its bound."""
    ends = _ends(orders, bounds, accuracy)
    first = np.argmin(ends, axis=0)[None]
    order, bound = (np.take_along_axis(np.broadcast_to(x, ends.shape), first, 0)[0] for x in (orders, bounds))
    return order, bound


def _ends(orders: Array, bounds: Array, accuracy: float) -> Array:
    """Return log w for each order and place, w the log-odds ratio of x to y at which D_order meets its bound.

    Lines are only chosen by it, so that floats do.
    """

    def gap(log_w: Array, order: Array, bound: Array, place: Array) -> Array:
        """Return D_a of the Bernoulli laws x and y over its bound, less 1; y has log-odds ``place``."""
        k, (u, v) = order - 1, _ratios(np.exp(log_w), place)
        log_x, log_rest = u - np.logaddexp(0.0, -place), -v - np.logaddexp(0.0, place)
        x, rest = np.exp(log_x), np.exp(log_rest)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            small = np.log1p(np.maximum(x * np.expm1(k * u) + rest * np.expm1(-k * v), -0.5))
            large = np.logaddexp(log_x + k * u, log_rest - k * v)
            of_order = np.where(k * u < 0.5, small, large) / k
        return np.asarray(np.minimum(np.where(k == 0, x * u - rest * v, of_order) / bound, 1e6) - 1)

    from scipy.optimize.elementwise import find_root  # its import takes 0.1 s

    arguments = tuple(np.broadcast_arrays(orders, bounds, _PLACES))
    low, high = (np.full(arguments[0].shape, math.log(end)) for end in (1e-150, 1400.0))
    root = find_root(gap, (low, high), args=arguments, tolerances={"xatol": accuracy})
    return np.where(root.success, root.bracket[0], np.where(gap(high, *arguments) <= 0, high, low))


def _ratios(w: Array, place: Array) -> tuple[Array, Array]:
    """Return u = log(x/y) and v = log((1-y)/(1-x)) of the log-odds ratio w: v = log(1 - y + y e^w)."""
    log_y, log_rest = -np.logaddexp(0.0, -place), -np.logaddexp(0.0, place)
    near = np.log1p(np.expm1(np.minimum(w, 1.0)) * np.exp(log_y))
    v = np.where(w < 1, near, np.logaddexp(log_rest, log_y + w))
    return np.maximum(w - v, 0.0), np.maximum(v, 0.0)


def _curve(
    best: tuple[Array, Array] | None, *, assume: Assumption, pure: float = math.inf
) -> PiecewiseLinear:
    """Return the largest of the lines of the ``best`` orders and bounds, and of the largest loss ``pure``."""
    slope, delta = _slopes(*best) if best else np.zeros((2, 0))
    if pure < 700:  # of which floats hold the exponential
        slope, delta = np.append(slope, exp(pure).upper), np.append(delta, 0.0)
    bounded = (slope < math.inf) & (delta < 1)
    lines = to_lines(slope[bounded], delta[bounded])
    # Lines of D_a(Q || P) are steep where alpha is small; those of D_a(P || Q) are their mirror images.
    mirrored = [(b, a, c) for a, b, c in lines]
    every = mirrored if assume == "one-order" else lines + mirrored
    return limited(largest(every, up=False), BOUND)


def _slopes(orders: Array, bounds: Array) -> tuple[Array, Array]:
    """Bound s and delta of the line x <= delta + s y that each of ``_PLACES`` proves by its order and bound.

    The region of an order t and a bound d (``from_renyi``) ends there in a point with x/y = r = e^u and
    (1-x)/(1-y) = r' = e^-v. Its two tangents added are, with k = t - 1,
    t (r^k - r'^k) x <= e^(k d) - r'^k (t - k r') + k (r^t - r'^t) y. So with e = (r'/r)^k - 1 and g = r' - 1,
    delta = [e^(k (d - u)) - (1 + e) (1 - k g)]/(-t e) and s = k r ((r'/r)^t - 1)/(t e); for t = 1 they are
    (d + v + g)/(u + v) and (r - r')/(u + v).
    """
    u, v = _ratios(np.exp(_ends(orders[None], bounds[None], _FINE)[0]), _PLACES)
    k, both = Bounds.of(orders) - 1, Bounds.of(u) + v
    e, g = expm1(-k * both), expm1(-v)
    near = expm1(k * (bounds - Bounds.of(u))) - e + k * g * (1 + e)  # keeps digits near 1
    delta = meet(near, exp(k * (bounds - Bounds.of(u))) - exp(-k * both) * (1 - k * g)) / (-(k + 1) * e)
    slope = k * exp(u) * expm1(-(k + 1) * both) / ((k + 1) * e)
    is_one = orders == 1
    slope = where(is_one, (exp(u) - exp(-v)) / both, slope)
    return slope.upper, where(is_one, (bounds + v + g) / both, delta).upper
