"""Shifts of log-concave laws: f(alpha) = F(F^-1(1 - alpha) - theta)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import Number, real
from tradeoff.errors import DomainError, NoClosedForm, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.laplace import Laplace
from tradeoff.intervals.bounds import Pair
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss import log_concave
from tradeoff.loss.law import LossLaw
from tradeoff.loss.shifted import Shape, ShiftLaw
from tradeoff.loss.tails import AssumedLaw

_MAX_POWER = 100.0
"""Power of a generalised normal law up to which its density is known to stated accuracy."""

_MAX_SHIFT = 500.0
"""Scales of shift up to which e^loss of every law is a float."""

_MIRRORED = {"gumbel_r": "gumbel_l", "gumbel_l": "gumbel_r"}
"""Laws whose other order is the shift of another law."""

_SYMMETRIC = {"norm", "laplace", "logistic", "hypsecant", "gennorm"}
"""Laws whose shifts are the same in both orders."""

_SHAPES: dict[str, Callable[[float], Shape]] = {
    "logistic": log_concave.Logistic,
    "hypsecant": log_concave.HyperbolicSecant,
    "gumbel_r": log_concave.Gumbel,
    "gumbel_l": log_concave.GumbelLeft,
}
"""Laws with an analysed quadrature."""

_HEAVY = {
    *("t", "cauchy", "skewcauchy", "foldcauchy", "halfcauchy", "levy", "levy_l", "levy_stable"),
    *("pareto", "lomax", "lognorm", "nct", "burr", "burr12", "fisk"),
}
"""Laws with tails too heavy to be log-concave: nobody's word makes them so."""


class LocationShift(TradeOff):
    """Testing X against X + theta for a log-concave law of X: f(alpha) = F(F^-1(1 - alpha) - theta).

    Parameters
    ----------
    distribution
        Frozen distribution of ``scipy.stats``: norm, laplace, logistic, hypsecant, gumbel_r, gumbel_l, or
        gennorm with 1 <= beta <= 100; any location and scale.
    shift
        Real number in the unit of the distribution, at most 500 scales. A negative shift is the other order.
    assume_log_concave
        Take another continuous distribution on the whole line, on the caller's word that its density is
        log-concave and its cdf, sf and logpdf are accurate to 1e-12.

    Raises
    ------
    DomainError
        If the law is not known to be log-concave. For heavy tails, Student t or Cauchy, the likelihood ratio
        is not monotone, and a mechanism's guarantee is the hull of the infimum over all |shift| <= Delta, not
        this curve.

    Notes
    -----
    The loss increases along the line when the density is log-concave, so thresholds are optimal
    (Neyman-Pearson). Computed by quadrature of the density: bounds are about 1e-12 apart, relative, in both
    tails of the profile.

    Examples
    --------
    >>> import scipy.stats
    >>> from tradeoff import LocationShift
    >>> f = LocationShift(scipy.stats.logistic(scale=2), 1)
    >>> f, round(f(0.25), 6), round(f.delta(0.25), 6)
    (logistic(scale=2) + 1, 0.645339, 0.03509)
    """

    def __init__(self, distribution: Any, shift: Number, *, assume_log_concave: bool = False) -> None:
        self.distribution, self.name, self.arguments = distribution, *_identify(distribution)
        self.shift = real("shift", shift, -np.inf, np.inf, open_low=True, open_high=True)
        if isinstance(self.shift, float) is False:
            raise DomainError(f"shift = {shift!r} is symbolic; a shifted law of scipy.stats takes numbers")
        self.assumed = self.name not in _SYMMETRIC | set(_SHAPES)
        if self.assumed:
            _refuse(distribution, self.name, allowed=assume_log_concave)
        self.scale = dict(self.arguments)["scale"]
        self.theta = abs(self.shift) / self.scale
        self._exact_theta = Fraction(self.theta) * Fraction(self.scale) == Fraction(abs(self.shift))
        if self.name == "gennorm":
            real("beta", dict(self.arguments)["beta"], 1, _MAX_POWER)
        if self._known is None and not self.assumed:
            reach = 4 * getattr(self._shape, "reach", _MAX_SHIFT)
            real("shift/scale", self.theta, 0, min(_MAX_SHIFT, reach))

    @cached_property
    def _known(self) -> Callable[[float], TradeOff] | None:
        """Return the family with closed forms, if the curve is a member: the curve falls as theta grows."""
        if self.theta == 0:
            return lambda _: Identity()
        if self.name == "norm":
            return Gaussian
        if self.name == "laplace" or (self.name == "gennorm" and dict(self.arguments)["beta"] == 1):
            return Laplace
        return None

    @cached_property
    def _shape(self) -> Any:
        name = _MIRRORED.get(self.name, self.name) if self.shift < 0 else self.name
        if self.assumed:
            return AssumedLaw(self.distribution, self.shift)
        if name == "gennorm":
            return log_concave.GeneralisedNormal(self.theta, dict(self.arguments)["beta"])
        return _SHAPES[name](self.theta)

    @cached_property
    def _law(self) -> LossLaw:
        if self._known is not None:
            return self._known(self.theta).loss_law()
        return self._shape if self.assumed else ShiftLaw(self._shape)

    def _either(self, ask: Callable[[TradeOff], Pair]) -> Pair:
        """Ask the closed forms just above and just below a rounded theta."""
        assert self._known is not None  # noqa: S101 - for the type checker
        more, less = (
            (self.theta, self.theta)
            if self._exact_theta
            else (np.nextafter(self.theta, np.inf), np.nextafter(self.theta, 0))
        )
        (low, high), (other_low, other_high) = ask(self._known(float(more))), ask(self._known(float(less)))
        return np.minimum(low, other_low), np.maximum(high, other_high)

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        if self._known is not None:
            return self._either(lambda f: f.beta_bounds(alpha, tol))
        low, high = self._shape.beta(alpha)
        return np.where(alpha == 0, 1.0, low), high  # on the whole line Q has no mass where P has none

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        if self._known is not None:
            return self._either(lambda f: f.delta_bounds(epsilon, tol))
        low, high = self._law.tail(epsilon)  # type: ignore[attr-defined]  # both laws of shifts have it
        if not self._exact_theta:  # sup L, at most 2 theta, is rounded, and delta(eps) <= sup L - eps
            near = np.abs(epsilon - self._shape.sup_loss) <= 4 * UNIT * self.theta
            high = np.where(near, np.maximum(high, 8 * UNIT * self.theta), high)
        return low, high

    @property
    def symmetric(self) -> bool:
        return self.theta == 0 or self.name in _SYMMETRIC

    @property
    def sup_loss(self) -> float:
        if self._known is not None:
            return self._known(
                self.theta if self._exact_theta else float(np.nextafter(self.theta, np.inf))
            ).sup_loss
        top = self._shape.sup_loss
        return float(top) if self._exact_theta else float(np.nextafter(top, np.inf))

    def loss_law(self) -> LossLaw:
        return self._law

    def inverse(self) -> LocationShift:
        """Inverse T(Q, P): the shift to the other side."""
        return (
            self
            if self.symmetric
            else LocationShift(self.distribution, -self.shift, assume_log_concave=self.assumed)
        )

    def group(self, k: int) -> TradeOff:
        """Guarantee for groups of ``k``: the curve of k times the shift, for symmetric f."""
        if not self.symmetric:
            return super().group(k)
        return LocationShift(self.distribution, real("k", k, 0) * self.shift, assume_log_concave=self.assumed)

    def _key(self) -> tuple[Any, ...]:
        # Location does not matter, nor the sign of the shift of a symmetric law.
        own = tuple((name, value) for name, value in self.arguments if name != "loc")
        return self.name, own, self.theta * self.scale if self.symmetric else self.shift

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocationShift) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        plain = {"loc": 0.0, "scale": 1.0}
        shown = ", ".join(f"{name}={value:.6g}" for name, value in self.arguments if value != plain.get(name))
        sign = "-" if self.shift < 0 else "+"
        return f"{self.name}{f'({shown})' if shown else ''} {sign} {abs(self.shift):.6g}"


def _identify(distribution: Any) -> tuple[str, tuple[tuple[str, float], ...]]:
    """Return the name of a frozen SciPy distribution and its arguments, defaults included."""
    if not (hasattr(distribution, "dist") and hasattr(distribution, "logpdf")):
        raise DomainError(
            f"distribution = {shown(distribution)} is not a frozen continuous distribution of "
            "scipy.stats, such as norm(scale=2)"
        )
    generator = distribution.dist
    shapes = [name.strip() for name in (generator.shapes or "").split(",") if name.strip()]
    values = {"loc": 0.0, "scale": 1.0}
    values.update(zip([*shapes, "loc", "scale"], distribution.args, strict=False))
    values.update(distribution.kwds)
    try:
        found = {name: float(value) for name, value in values.items()}
    except TypeError as error:
        raise DomainError(f"{generator.name}: parameters must be single numbers, not arrays") from error
    if not (np.isfinite(found["loc"]) and 0 < found["scale"] < np.inf):
        given = f"loc = {found['loc']}, scale = {found['scale']}"
        raise DomainError(f"{generator.name}: {given} is outside the reals and (0, inf)")
    return generator.name, tuple(sorted(found.items()))


def _refuse(distribution: Any, name: str, *, allowed: bool) -> None:
    if name in _HEAVY:
        raise DomainError(
            f"{name} is not log-concave: its likelihood ratio is not monotone, so thresholds are not optimal "
            "tests, and a mechanism's guarantee is the hull of the infimum over all |shift| <= Delta, "
            "not the curve at Delta"
        )
    if not allowed:
        known = ", ".join(sorted(_SYMMETRIC | set(_SHAPES)))
        raise DomainError(
            f"{name} is not known to be log-concave; known are {known}; "
            "if its density is, pass assume_log_concave=True"
        )
    low, high = distribution.support()
    if np.isfinite(low) or np.isfinite(high):
        raise NoClosedForm(
            f"{name} has the support [{low:g}, {high:g}]; only densities on the whole line are shifted here"
        )
