"""Piecewise-linear curves: finite tests, exact in fractions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tradeoff.core.bounds import Pair
from tradeoff.core.curve import TradeOff, rounded_down
from tradeoff.core.parameters import count
from tradeoff.engines.atomic import AtomicLaw
from tradeoff.errors import CurveError, SizeError, domain
from tradeoff.numerics.differences import log_ratio
from tradeoff.numerics.hull import lower_hull
from tradeoff.numerics.polygon import ONE, floats
from tradeoff.numerics.rounding import UNIT, Array

MAX_VERTICES = 100_000
"""Most vertices an exact operation may make."""

_LARGEST_GROUP = 32
_STEEPEST = 690.0

_FORGIVEN = 1e-12
"""Violation of convexity or of f <= 1 - alpha that rounding explains: it is repaired downwards, the safe side."""


class PiecewiseLinear(TradeOff):
    """Trade-off function of a pair with finitely many likelihood ratios, given by its vertices.

    Parameters
    ----------
    alpha, beta
        Vertices, alpha increasing from 0; the last has beta = 0. Floats, or ``fractions.Fraction`` (and integers)
        for exact arithmetic: then products, inverse, hulls, groups and ``hockey_stick`` are exact.

    Raises
    ------
    CurveError
        Naming the property violated and the place: shape, range, order, monotonicity, convexity, f <= 1 - alpha.

    Notes
    -----
    Vertices in canonical form: only true corners, sorted. A segment from (a, b) to (a', b') is an atom with
    P-mass a' - a and Q-mass b - b' (Dong, Roth, Su 2022, Proposition 2.2).

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> f = PiecewiseLinear([0, F(1, 3), 1], [1, F(1, 3), 0])
    >>> f.hockey_stick(1)
    Fraction(1, 3)
    >>> (f @ f).hockey_stick(1)
    Fraction(1, 3)
    """

    def __init__(self, alpha: Iterable[Any], beta: Iterable[Any]) -> None:
        alpha, beta = list(alpha), list(beta)
        exact = any(isinstance(v, Fraction) for v in (*alpha, *beta)) and all(isinstance(v, Fraction | int) for v in (*alpha, *beta))
        self.exact = exact
        a, b = (_entries(v, name, exact=exact) for v, name in ((alpha, "alpha"), (beta, "beta")))
        self.alpha, self.beta = _canonical(*_checked(a, b, exact=exact))

    @classmethod
    def from_lines(cls, slopes: Any, intercepts: Any) -> PiecewiseLinear:
        """Return max_k (intercept_k - slope_k alpha)_+, the curve with these supporting lines; slopes decreasing, positive."""
        # The upper envelope of lines is the lower hull of their dual points (s, -c); the line 0 is one of them.
        s, c = np.append(slopes, 0.0), np.append(intercepts, 0.0)
        order = np.argsort(s, kind="stable")
        s, minus_c = lower_hull(s[order], -c[order])
        s, c = s[::-1], -minus_c[::-1]
        corner = (c[:-1] - c[1:]) / (s[:-1] - s[1:])
        height = np.append((c[1:] - s[1:] * corner)[:-1], 0.0)
        keep = (corner > 0) & (corner < 1)
        top = np.max(c)
        alphas, betas = np.append(0.0, corner[keep]), np.append(top, np.minimum(height, 1 - corner)[keep])
        if betas[-1] > 0:
            alphas, betas = np.append(alphas, 1.0), np.append(betas, 0.0)
        return cls(alphas.tolist(), np.maximum(betas, 0.0).tolist())

    @classmethod
    def of_wholes(cls, alpha: Sequence[int], beta: Sequence[int]) -> PiecewiseLinear:
        """Return the curve with these convex vertices, multiples of 2^-1074: floats that keep 1 - alpha and 1 - beta apart."""
        rests = floats([ONE - a for a in alpha]), floats([ONE - b for b in beta])
        return cls._of(floats(alpha), floats(beta), rests, exact=False)

    @classmethod
    def _of(cls, alpha: Any, beta: Any, rests: tuple[Any, Any], *, exact: bool) -> PiecewiseLinear:
        """Return a curve whose vertices have been checked before."""
        curve = cls.__new__(cls)
        curve.exact, curve.alpha, curve.beta, curve.complements = exact, alpha, beta, rests
        return curve

    @property
    def symmetric(self) -> bool:
        return self.inverse() == self

    @property
    def q_plus(self) -> float:
        return float(self.complements[1][0])

    @property
    def p_minus(self) -> float:
        return float(self.complements[0][-1])

    @property
    def sup_loss(self) -> float:
        p, q = self.atoms()
        if len(p) == 0:
            return 0.0
        ratio = float(q[0]) / float(p[0])
        return float(np.log(ratio)) * (1 + 8 * UNIT) + 4 * UNIT * (ratio != 1) if q[0] > 0 else -np.inf

    @property
    def least_sup_loss(self) -> float:
        return rounded_down(self.sup_loss)

    @classmethod
    def _remembered(cls) -> set[str]:
        return super()._remembered() - {"complements"}  # set by hand where vertices came with them

    @cached_property
    def complements(self) -> tuple[Any, Any]:
        """Return 1 - alpha and 1 - beta: of each pair that adds to 1 the smaller number is the vertex, the other its complement."""
        return 1 - self.alpha, 1 - self.beta

    @cached_property
    def _points(self) -> tuple[Array, Array, Array, Array]:
        return (*(v.astype(float) for v in (self.alpha, self.beta)), *(v.astype(float) for v in self.complements))

    def _beta(self, alpha: Array, tol: float | None) -> Pair:
        x, y, rest, power = self._points
        far = alpha > 0.5  # there 1 - alpha is exact, and vertices are told apart by it
        k = np.where(far, np.searchsorted(-rest, alpha - 1, side="right"), np.searchsorted(x, alpha, side="right")) - 1
        k = np.clip(k, 0, len(x) - 1)
        far &= (x[k] <= 0.25) | (1 - rest[k] == x[k])  # the start of the segment is exact there too, or a unit of its length off
        value = np.where(far, np.interp(1 - alpha, rest[::-1], y[::-1], left=0.0), np.interp(alpha, x, y))
        # y0 + (y1 - y0) t loses units of the end it starts from: of the larger one, or of less than the value where it
        # starts from the right. A vertex that floats hold loses nothing.
        error = 16 * UNIT * np.where(far, value, np.where(1 - alpha > rest[-1], y[k], 0.0))
        held = ((x <= 0.5) | (1 - x == rest)) & ((y <= 0.5) | (1 - y == power)) & (not self.exact)
        corner = np.isin(alpha, x[held])
        return np.where(corner, value, np.maximum(value - error, 0.0)), np.where(corner, value, value + error)

    def _delta(self, epsilon: Array, tol: float | None) -> Pair:
        bounds = np.array([self._gain(e) for e in np.minimum(epsilon, _STEEPEST)]).T
        # Beyond, delta lies between Q(L = inf) and what it was.
        low = np.where(epsilon > _STEEPEST, self.q_plus * (1 - 8 * UNIT), bounds[0])
        return np.maximum(low, 0.0), np.maximum(bounds[1], 0.0)

    def _gain(self, epsilon: float) -> tuple[float, float]:
        """Bound the largest 1 - y - s x = 1 - s + s (1 - x) - y, s = e^eps: in each half by the terms that are small there."""
        x, y, rest, power = self._points
        s, fold, units = np.exp(epsilon), np.expm1(epsilon), 8 + 4 * abs(epsilon)
        left = x <= 0.5
        gain = np.where(left, power - s * x, s * rest - y - fold)
        error = UNIT * np.where(left, 8 * power + units * s * x, units * s * rest + 8 * y + 8 * abs(fold))
        return float(np.max(gain - error)), float(np.max(gain + error))

    def hockey_stick(self, ratio: Any) -> Any:
        """Hockey-stick divergence sup_alpha 1 - f(alpha) - ratio alpha = delta(log ratio); exact in fractions.

        Parameters
        ----------
        ratio
            Number >= 0; a ``Fraction`` or integer keeps the answer exact for an exact curve.

        Returns
        -------
        Fraction or float
            The exact value for exact vertices and ratio, else the float value.
        """
        if not ratio >= 0:
            raise domain("ratio", ratio, "[0, inf)")
        return max(1 - b - ratio * a for a, b in zip(self.alpha.tolist(), self.beta.tolist(), strict=True))

    def inverse(self) -> PiecewiseLinear:
        rest, power = self.complements
        return self._of(self.beta[::-1], self.alpha[::-1], (power[::-1], rest[::-1]), exact=self.exact)

    def floats(self) -> PiecewiseLinear:
        """Return the same curve in floats (vertices rounded; violations below 1e-12 repaired downwards)."""
        return PiecewiseLinear(*(v.tolist() for v in self._points[:2])) if self.exact else self

    def atoms(self) -> tuple[Any, Any]:
        """Return the P- and Q-masses of the segments, by decreasing likelihood ratio; differences of the numbers that are small."""
        (x, y), (rest, power) = (self.alpha, self.beta), self.complements
        p = np.where(x[:-1] >= 0.5, -np.diff(rest), np.diff(x))
        return p, np.where(y[1:] >= 0.5, np.diff(power), -np.diff(y))

    def loss_law(self) -> AtomicLaw:
        p, q = (mass.astype(float) for mass in self.atoms())
        keep = q > 0
        (x, y), (rest, power) = (self.alpha, self.beta), self.complements
        of_p, of_q = x[:-1] >= 0.5, y[1:] >= 0.5  # the ends of which ``atoms`` takes the differences
        p_ends = np.where(of_p, rest[:-1], x[1:])[keep], np.where(of_p, rest[1:], x[:-1])[keep]
        q_ends = np.where(of_q, power[1:], y[:-1])[keep], np.where(of_q, power[:-1], y[1:])[keep]
        loss, log_p = log_ratio(p_ends, q_ends), np.log(p[keep])
        return AtomicLaw(loss[::-1], log_p[::-1], self.p_minus + float(np.sum(p[~keep])), self.q_plus)

    def group(self, k: int) -> TradeOff:
        """Guarantee for groups of k, 1 - (1 - f)^(o k), exact in fractions while k is at most 32."""
        if not (self.symmetric and self.exact and count("k", k) <= _LARGEST_GROUP):
            return super().group(k)
        result = PiecewiseLinear([0, Fraction(1)], [Fraction(1), 0])
        for _ in range(k):
            result = result._after(self)
        return result

    def _after(self, f: PiecewiseLinear) -> PiecewiseLinear:
        """Return g with 1 - g = (1 - self) o (1 - f): corners of f, and preimages of the corners of self."""
        preimages = [f._preimage(1 - a) for a in self.alpha]
        alpha = np.unique(np.array([*f.alpha, *(a for a in preimages if a is not None)], dtype=self.alpha.dtype))
        beta = [self.at(1 - f.at(a)) for a in alpha]
        _capped(len(alpha))
        return PiecewiseLinear(alpha.tolist(), beta)

    def at(self, alpha: Any) -> Any:
        """Return f(alpha) in the curve's own arithmetic, by linear interpolation."""
        k = int(np.searchsorted(self.alpha, alpha, side="right"))
        if k == len(self.alpha):
            return self.beta[-1]
        a0, a1, b0, b1 = self.alpha[k - 1], self.alpha[k], self.beta[k - 1], self.beta[k]
        return b0 + (b1 - b0) * (alpha - a0) / (a1 - a0)

    def _preimage(self, beta: Any) -> Any | None:
        """Return the alpha with f(alpha) = beta where f still falls, or None."""
        if not self.beta[-1] <= beta <= self.beta[0] or len(self.alpha) == 1:
            return None
        k = int(np.argmax(self.beta <= beta))
        if k == 0:
            return self.alpha[0]
        a0, a1, b0, b1 = self.alpha[k - 1], self.alpha[k], self.beta[k - 1], self.beta[k]
        return a0 + (a1 - a0) * (b0 - beta) / (b0 - b1)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PiecewiseLinear)
            and self.exact == other.exact
            and len(self.alpha) == len(other.alpha)
            and bool(np.all(self.alpha == other.alpha) and np.all(self.beta == other.beta))
            and all(bool(np.all(mine == theirs)) for mine, theirs in zip(self.complements, other.complements, strict=True))
        )

    def __hash__(self) -> int:
        return hash((self.exact, tuple(self.alpha.tolist()), tuple(self.beta.tolist())))

    def __repr__(self) -> str:
        pairs = [f"({a}, {b})" if self.exact else f"({a:.6g}, {b:.6g})" for a, b in zip(self.alpha, self.beta, strict=True)]
        shown = pairs if len(pairs) <= 6 else [*pairs[:3], f"... {len(pairs) - 5} more ...", *pairs[-2:]]
        return f"PL[{', '.join(shown)}]{'' if self.symmetric else ' (one order)'}"


def _capped(size: int) -> None:
    if size > MAX_VERTICES:
        raise SizeError(f"an exact curve of {size} vertices is above the cap of {MAX_VERTICES}; use .floats(), which the engine composes")


def _entries(values: list[Any], name: str, *, exact: bool) -> Any:
    if exact:
        return np.array([Fraction(v) for v in values], dtype=object)
    try:
        array = np.array([float(v) for v in values])
    except (TypeError, ValueError) as error:
        raise CurveError(f"{name} holds something that is not a number: {values!r}") from error
    if np.isnan(array).any():
        raise CurveError(f"{name}[{int(np.argmax(np.isnan(array)))}] is NaN")
    return array


def _checked(alpha: Any, beta: Any, *, exact: bool) -> tuple[Any, Any]:
    """Check every property of a trade-off function; say which fails and where."""
    if len(alpha) != len(beta) or len(alpha) == 0:
        raise CurveError(f"alpha and beta need the same positive length, not {len(alpha)} and {len(beta)}")
    slack: Any = 0 if exact else _FORGIVEN
    _refuse((alpha < 0) | (alpha > 1), lambda k: f"alpha[{k}] = {alpha[k]} is outside [0, 1]")
    _refuse((beta < 0) | (beta > 1), lambda k: f"beta[{k}] = {beta[k]} is outside [0, 1]")
    _refuse(alpha[:1] != 0, lambda _: f"alpha[0] = {alpha[0]} must be 0: give f(0) as the first vertex")
    last = f"the last vertex ({alpha[-1]}, {beta[-1]}) must have beta = 0, as f(1) = 0 for every trade-off function"
    _refuse(beta[-1:] != 0, lambda _: last)
    _refuse(np.diff(alpha) < 0, lambda k: f"alpha is not sorted: alpha[{k + 1}] = {alpha[k + 1]} < alpha[{k}] = {alpha[k]}")
    _refuse(np.diff(beta) > slack, lambda k: f"beta increases from vertex {k} to {k + 1}: {beta[k]} to {beta[k + 1]}")
    _refuse(beta > 1 - alpha + slack, lambda k: f"f(alpha) <= 1 - alpha fails at vertex {k}: ({alpha[k]}, {beta[k]})")
    hull = lower_hull(alpha, np.minimum(beta, 1 - alpha))
    repeated = np.append(np.diff(alpha) == 0, False)  # the upper end of a vertical start is no vertex of the curve
    above = (beta - _interpolate(alpha, *hull) > slack) & ~repeated
    _refuse(above, lambda k: f"not convex at vertex {k}: ({alpha[k]}, {beta[k]}) lies above the chord of its neighbours")
    return hull


def _refuse(wrong: Any, message: Callable[[int], str]) -> None:
    """Raise at the first place where ``wrong`` holds."""
    places = np.flatnonzero(wrong)
    if len(places):
        raise CurveError(message(int(places[0])))


def _interpolate(at: Any, x: Any, y: Any) -> Any:
    """Interpolate linearly in the arithmetic of the arguments; constant outside."""
    if len(x) == 1:
        return y[0] + 0 * at
    k = np.clip(np.searchsorted(x, at, side="right"), 1, len(x) - 1)
    value = y[k - 1] + (y[k] - y[k - 1]) * (at - x[k - 1]) / (x[k] - x[k - 1])
    return np.where(at > x[-1], y[-1], value)


def _canonical(alpha: Any, beta: Any) -> tuple[Any, Any]:
    """Drop what follows the first zero."""
    stop = int(np.argmax(beta == 0)) + 1
    return alpha[:stop], beta[:stop]


def product(f: PiecewiseLinear, g: PiecewiseLinear) -> PiecewiseLinear:
    """Tensor product of two piecewise-linear curves: all products of atoms, by decreasing ratio; exact in fractions."""
    _capped((len(f.alpha) - 1) * (len(g.alpha) - 1) + 1)
    (p, q), (r, s) = f.atoms(), g.atoms()
    mass_p, mass_q = np.multiply.outer(p, r).ravel(), np.multiply.outer(q, s).ravel()
    order = sorted(range(len(mass_p)), key=lambda k: mass_q[k] / mass_p[k], reverse=True)
    start = f.beta[0] * g.beta[0]
    alpha, beta = np.append(0 * start, np.cumsum(mass_p[order])), start - np.append(0 * start, np.cumsum(mass_q[order]))
    return PiecewiseLinear(alpha.tolist(), beta.tolist())


def exact_product(factors: Sequence[tuple[PiecewiseLinear, int]], work: float) -> PiecewiseLinear | None:
    """Return the product of powers in fractions, or None where it takes more than ``work`` products of numbers of 150 bits."""
    result = PiecewiseLinear([0, Fraction(1)], [Fraction(1), 0])
    for f in (f for f, n in factors for _ in range(n)):
        bits = max(v.denominator.bit_length() for v in (*result.alpha, *result.beta))
        work -= (len(result.alpha) - 1) * (len(f.alpha) - 1) * (1 + bits / 150)
        if work < 0:
            return None
        result = product(result, f)
    return result


def pointwise(f: PiecewiseLinear, g: PiecewiseLinear, *, largest: bool) -> PiecewiseLinear:
    """Return max{f, g}, or the convex hull of min{f, g}; corners of both and their crossings; exact in fractions."""
    exact = f.exact and g.exact
    one, two = (f, g) if exact else (f.floats(), g.floats())
    alpha = np.unique(np.concatenate([one.alpha, two.alpha]))
    first, second = (np.array([curve.at(a) for a in alpha], dtype=alpha.dtype) for curve in (one, two))
    gap = first - second
    k = np.flatnonzero(gap[:-1] * gap[1:] < 0)
    crossing = alpha[k] + (alpha[k + 1] - alpha[k]) * gap[k] / (gap[k] - gap[k + 1])
    alpha = np.unique(np.concatenate([alpha, crossing]))
    first, second = (np.array([curve.at(a) for a in alpha], dtype=alpha.dtype) for curve in (one, two))
    if largest:
        return PiecewiseLinear(alpha.tolist(), np.maximum(first, second).tolist())
    return PiecewiseLinear(*(v.tolist() for v in lower_hull(alpha, np.minimum(first, second))))
