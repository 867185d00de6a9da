"""Shifts of one law: f = T(X, X + theta), in closed form, in analysis, or from the tails that SciPy knows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MOST, Number, count, number, real
from tradeoff.errors import DomainError
from tradeoff.families.densities import LinePair
from tradeoff.families.frozen import Arguments, Frozen, identify, looked_at, told
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.laplace import Laplace
from tradeoff.families.total_variation import TotalVariation
from tradeoff.intervals.bounds import Pair
from tradeoff.intervals.functions import rational
from tradeoff.intervals.rounding import TINY, UNIT, Array
from tradeoff.loss import log_concave
from tradeoff.loss.law import LossLaw
from tradeoff.loss.panels import Shape
from tradeoff.loss.pieces import law_of
from tradeoff.loss.shifted import ShiftLaw

_MAX_POWER = 100.0  # power of a generalised normal law up to which its density is known to stated accuracy
_LEAST = 1e-290  # least shift in scales, and its power in a density: losses of a smaller one have no digits
_MAX_SHIFT = 500.0  # scales of shift up to which e^loss of every law is a float

_MIRRORED = {"gumbel_r": "gumbel_l", "gumbel_l": "gumbel_r"}  # whose other order is the other's shift
_SYMMETRIC = {"logistic", "hypsecant", "gennorm"}  # analysed laws whose shifts are the same in both orders

# Laws with an analysed quadrature.
_SHAPES: dict[str, Callable[[float], Shape]] = {
    "logistic": log_concave.Logistic,
    "hypsecant": log_concave.HyperbolicSecant,
    "gumbel_r": log_concave.Gumbel,
    "gumbel_l": log_concave.GumbelLeft,
}

# Laws whose shifts have closed forms, by the shift over the scale.
_CLOSED: dict[str, Callable[[float], TradeOff]] = {
    "norm": Gaussian,
    "laplace": Laplace,
    "uniform": lambda share: TotalVariation(min(share, 1.0)),
}


class _Known(NamedTuple):
    """What is proved of a law: for which shapes, for which of them the two orders agree, where L turns."""

    holds: Callable[[Mapping[str, float]], bool] = lambda _: True
    symmetric: Callable[[Mapping[str, float]], bool] = lambda _: False
    turns: Callable[[Mapping[str, float], float], tuple[float, ...]] = lambda _, __: ()


def _of_t(law: Mapping[str, float], shift: float) -> tuple[float, ...]:
    """Return where (df + x^2)/(df + (x - shift)^2) is largest and least: x^2 - shift x = df."""
    scale = law["scale"]
    theta, df = shift / scale, law.get("df", 1.0)
    far = math.copysign(abs(theta) + math.hypot(theta, 2 * math.sqrt(df)), theta) / 2
    return tuple(sorted((scale * far, -scale * df / far)))  # the product of the roots is -df


# Laws of which SciPy's tails are taken: log-concave ones, and two that turn at known points.
_TAILS = {
    "expon": _Known(),
    "halfnorm": _Known(),
    "truncexpon": _Known(),
    "semicircular": _Known(symmetric=lambda _: True),
    "truncnorm": _Known(symmetric=lambda law: law["a"] == -law["b"]),
    "triang": _Known(symmetric=lambda law: law["c"] == 0.5),
    "gamma": _Known(lambda law: law["a"] >= 1),
    "beta": _Known(lambda law: min(law["a"], law["b"]) >= 1, lambda law: law["a"] == law["b"]),
    "cauchy": _Known(symmetric=lambda _: True, turns=_of_t),
    "t": _Known(symmetric=lambda _: True, turns=_of_t),
}

_WIDEST = 1e12  # distances of its quartiles by which a law may be shifted: floats there are 1e-4 of one apart

# Longest shift: where densities are not asked, beyond ``REACH``, even Student's turn by less than 1e-40.
_FARTHEST = 1e100

_FROM_0 = {"expon", "halfnorm", "gamma"}  # from 0, where floats are finest, and no tail is a difference

KNOWN = {*_CLOSED, *_SHAPES, *_TAILS, "gennorm"}  # laws whose shifts need nobody's word

# Laws with tails too heavy to be log-concave: nobody's word makes them so.
_HEAVY = {
    *("skewcauchy", "foldcauchy", "halfcauchy", "levy", "levy_l", "levy_stable"),
    *("pareto", "lomax", "lognorm", "nct", "burr", "burr12", "fisk"),
}


def LocationShift(  # noqa: N802 - written as the family it is a member of
    distribution: Any, shift: Number, *, assume_log_concave: bool = False
) -> TradeOff:
    """Curve of X against X + theta: f(alpha) = F(F^-1(1 - alpha) - theta) where X is log-concave.

    Parameters
    ----------
    distribution
        Frozen distribution of ``scipy.stats``, of any location and scale. norm, laplace and uniform are
        Gaussian, Laplace and TotalVariation, their parameter rounded up; logistic, hypsecant, gumbel_r,
        gumbel_l and gennorm with 1 <= beta <= 100 are proved; of expon, halfnorm, truncexpon, semicircular,
        truncnorm, triang, gamma with a >= 1, beta with a, b >= 1, t and cauchy SciPy's tails are taken, as
        ``assumptions`` of the curve say.
    shift
        Real number in the unit of the distribution, for proved laws of 1e-290 to 500 scales, for
        others up to 1e12 distances of its quartiles. A negative shift is the other order.
    assume_log_concave
        Take another continuous distribution, on the caller's word that its density is log-concave.

    Returns
    -------
    TradeOff
        The curve. It holds for every smaller shift in the same direction too (see Notes).

    Raises
    ------
    DomainError
        If of the law neither log-concavity is known nor where its likelihood ratio turns.

    Notes
    -----
    Where the density is log-concave the loss increases along the line, so that thresholds are optimal
    (Neyman-Pearson). For proved laws bounds are about 1e-12 apart, relative, in both tails of the profile.

    Smaller shifts lose less, for every density that rises up to a mode and falls after it, Student's among
    them: in delta(eps) = int (p(u) - e^eps p(u + s))_+ du, eps >= 0, the mode at 0, no integrand falls as
    s > 0 grows. Where u + s >= 0, p(u + s) falls; where u + s < 0, p(u + s) >= p(u), and the integrand is 0.
    The same holds for the mirror image, which is the other order.

    Examples
    --------
    >>> import scipy.stats as st
    >>> LocationShift(st.norm(scale=2), 1), LocationShift(st.uniform(0, 4), 1)
    (G_{0.5}, f_{0,0.25})
    >>> f = LocationShift(st.logistic(scale=2), 1)
    >>> f, round(f(0.25), 6), round(f.delta(0.25), 6)
    (logistic(scale=2) + 1, 0.645339, 0.03509)
    >>> LocationShift(st.cauchy(), 1)
    cauchy + 1 (assumes 1 thing: see .assumptions)
    """
    name, arguments = identify(distribution)
    moved = number("shift", shift, -math.inf, math.inf, open_low=True, open_high=True)
    values, exact = dict(arguments), Fraction(moved)
    if exact == 0:
        return Identity()
    closed = _CLOSED.get("laplace" if name == "gennorm" and values["beta"] == 1 else name)
    if closed is not None:
        return closed(float(rational(abs(exact) / Fraction(values["scale"])).upper))
    if name in _SHAPES or name == "gennorm":
        return LogConcaveShift(name, arguments, exact)
    return _by_tails(distribution, moved, allowed=assume_log_concave)


def _by_tails(distribution: Any, shift: float, *, allowed: bool) -> TradeOff:
    """Return the curve of a law of which SciPy's tails are taken."""
    p = Frozen(distribution).shifted(0.0)
    name = _moved(str(p), shift)
    if p.name == "semicircular":  # of which SciPy loses half of the digits next to the ends
        from scipy.stats import beta

        p = Frozen(beta(1.5, 1.5, scale=2 * dict(p.arguments)["scale"]))
    q, values = p.shifted(shift), dict(p.arguments)
    known = _TAILS.get(p.name)
    words: tuple[str, ...] = ()
    if known is None or not known.holds(values):
        _refuse(p, allowed=allowed)
        known, words = _Known(), (f"The density of {p} is log-concave.",)
    if not p.support[0] < p.support[1]:
        raise DomainError(f"{p} is no law: its support is {p.support}; give shapes in their range")
    turns, points = known.turns(values, shift), looked_at(p, q)
    width = float(np.subtract(*p.distribution.ppf([0.75, 0.25])))
    if not abs(shift) <= min(_WIDEST * width, _FARTHEST):
        far = f"{_WIDEST:g} times the distance {width:.6g} of the quartiles of {p}, or above {_FARTHEST:g}"
        raise DomainError(f"shift = {shift:g} is above {far}; TotalVariation(1) holds for any")
    found = law_of(p, q, points, (*p.support, *q.support), turns)
    off, ends = _off(p), np.isfinite(p.support)[:: 1 if shift > 0 else -1]
    # Of a shift below the spacing of floats at an end nothing is left of what it tells apart there.
    least = np.where(ends, TINY * (off > 0), 0.0)
    p_minus, q_plus = np.maximum((found.law.p_minus, found.law.q_plus), least).tolist()
    law = replace(found.law, bounded=bool(turns), p_minus=p_minus, q_plus=q_plus, off=off)
    symmetric = known.symmetric(values)
    key = ("shift", p.key, abs(shift) if symmetric else shift)
    words += (f"{p.trust[:-1]}{f'; next to ends, cdf and sf to {off:.1g}' if off else ''}.",)
    return LinePair(law, name, key, words, symmetric=symmetric)


def _off(law: Frozen) -> float:
    """Return what a cdf and an sf may err by next to an end of the support, however small they are there.

    (x - loc)/scale takes two roundings, which move a cdf by 2 |x| pdf(x) units; SciPy's differences lose a
    few units of 1, or what its cdf and sf together are away from 1. Twice each, and more.
    """
    ends = [abs(end) for end in law.support if np.isfinite(end)]
    if law.name in _FROM_0 or not ends:
        return 0.0
    apart, density = np.abs(law.cdf(law.points) + law.sf(law.points) - 1), np.exp(law.logpdf(law.points))
    return float(4 * UNIT * (4 + max(ends) * np.max(density)) + 8 * np.max(apart))


class LogConcaveShift(TradeOff):
    """Shift of a log-concave law with an analysed density: see ``LocationShift``."""

    def __init__(self, name: str, arguments: Arguments, shift: Fraction) -> None:
        self.name, self.arguments, self.shift = name, arguments, shift
        self.scale = dict(arguments)["scale"]
        theta = abs(shift) / Fraction(self.scale)
        self.theta = float(min(theta, Fraction(MOST)))  # rounded once, wherever the shift comes from
        self._exact_theta = self.theta == theta
        power = dict(arguments)["beta"] if name == "gennorm" else 1.0
        real("beta", power, 1, _MAX_POWER)
        reach = 4 * getattr(self._shape, "reach", _MAX_SHIFT)
        real("shift/scale", self.theta, _LEAST ** (1 / power), min(_MAX_SHIFT, reach))

    @cached_property
    def _shape(self) -> Shape:
        name = _MIRRORED.get(self.name, self.name) if self.shift < 0 else self.name
        if name == "gennorm":
            return log_concave.GeneralisedNormal(self.theta, dict(self.arguments)["beta"])
        return _SHAPES[name](self.theta)

    @cached_property
    def _law(self) -> ShiftLaw:
        return ShiftLaw(self._shape)

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        low, high = self._shape.beta(alpha)
        return np.where(alpha == 0, 1.0, low), high  # on the whole line Q has no mass where P has none

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        low, high = self._law.tail(epsilon)
        if not self._exact_theta:  # sup L, at most 2 theta, is rounded, and delta(eps) <= sup L - eps
            near = np.abs(epsilon - self._shape.sup_loss) <= 4 * UNIT * self.theta
            high = np.where(near, np.maximum(high, 8 * UNIT * self.theta), high)
        return low, high

    @property
    def symmetric(self) -> bool:
        return self.name in _SYMMETRIC

    @property
    def sup_loss(self) -> float:
        top = self._shape.sup_loss
        return float(top) if self._exact_theta else float(np.nextafter(top, np.inf))

    @property
    def least_sup_loss(self) -> float:
        top = self._shape.sup_loss
        return float(top) if self._exact_theta or np.isinf(top) else float(np.nextafter(top, -np.inf))

    def loss_law(self) -> LossLaw:
        return self._law

    def inverse(self) -> TradeOff:
        """Inverse T(Q, P): the shift to the other side."""
        return self if self.symmetric else self._turned

    @cached_property
    def _turned(self) -> TradeOff:
        """The other order, whose tails are summed once."""
        return LogConcaveShift(self.name, self.arguments, -self.shift)

    def group(self, k: int) -> TradeOff:
        """Guarantee for groups of ``k``: the curve of k times the shift.

        The optimal tests reject above a threshold, and 1 - f takes P(X > t) to P(X > t - shift).
        """
        times = count("k", k, 0, MOST)
        return LogConcaveShift(self.name, self.arguments, times * self.shift) if times else Identity()

    def _key(self) -> tuple[Any, ...]:
        # Location does not matter, nor the sign of the shift of a symmetric law.
        own = tuple((name, value) for name, value in self.arguments if name != "loc")
        return self.name, own, abs(self.shift) if self.symmetric else self.shift

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogConcaveShift) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def notation(self) -> str:
        return _moved(told(self.name, self.arguments), self.shift)


def _moved(law: str, shift: float | Fraction) -> str:
    return f"{law} {'-' if shift < 0 else '+'} {abs(float(shift)):.6g}"


def _refuse(law: Frozen, *, allowed: bool) -> None:
    if law.name in _HEAVY:
        raise DomainError(
            f"{law} is not log-concave, and where its likelihood ratio turns is not known here; "
            "to.from_scipy(X, X + shift) looks for it, and is the curve of that one pair"
        )
    if not allowed:
        raise DomainError(
            f"{law} is not known to be log-concave; known are, in their log-concave shapes, "
            f"{', '.join(sorted(KNOWN))}; "
            "if its density is, pass assume_log_concave=True"
        )
