"""Laplace noise, the logistic curve of bounded range, and truncated noise.

``Formulas`` are f(alpha), delta(x) and epsilon(delta) in arrays of balls, numbers with bounds on their error;
``choose(gap, a, b)`` is a where gap < 0, else b.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from tradeoff import balls
from tradeoff.balls import Balls, choose, exp, expm1, log, log1p, maximum, minimum, sqrt, to_balls
from tradeoff.curves import parameters
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MAX_LOSS, Number, Parameter, Value, count, is_symbol, number, real
from tradeoff.errors import advise_keywords
from tradeoff.families._closed_form import ClosedForm, Formulas
from tradeoff.families.approximate_dp import Identity
from tradeoff.families.gaussian import gaussian_beta, gaussian_profile
from tradeoff.pld.shifts import BoundedRangeLaw, LaplaceLaw


def laplace_beta(alpha: Balls, shift: Balls) -> Balls:
    """Return 1 - e^shift alpha up to e^-shift/2, e^-shift/(4 alpha) up to 1/2, then e^-shift (1 - alpha)."""
    ratio = exp(shift) * alpha
    return choose(
        alpha - 0.5, choose(ratio - 0.5, 1 - ratio, 0.25 / maximum(ratio, 0.25)), exp(-shift) * (1 - alpha)
    )


def laplace_profile(x: Balls, shift: Balls) -> Balls:
    """Return 1 - e^((x - shift)/2) for |x| <= shift."""
    return maximum(maximum(-expm1((x - shift) / 2), 0), -expm1(x))


def laplace_renyi(functions: Any, e: Any, a: Any) -> Any:
    """Return D_a(P || Q) of Laplace noise (Mironov 2017, Proposition 6), and its limits at 1 and 1/2."""
    exp, log = functions.exp, functions.log
    if a == 1:
        return e - 1 + exp(-e)
    if 2 * a == 1:
        return e - 2 * log(1 + e / 2)
    return log((a * exp((a - 1) * e) + (a - 1) * exp(-a * e)) / (2 * a - 1)) / (a - 1)


@dataclass(frozen=True, repr=False, eq=False)
class Laplace(ClosedForm):
    r"""Curve of a test of Lap(0, 1) against Lap(epsilon, 1): Laplace noise, epsilon = sensitivity/scale.

    :math:`f(\alpha)` is :math:`1 - e^\varepsilon \alpha` below :math:`e^{-\varepsilon}/2`,
    :math:`e^{-\varepsilon}/(4 \alpha)` up to 1/2, and :math:`e^{-\varepsilon} (1 - \alpha)` above.

    Parameters
    ----------
    epsilon
        Shift over scale, in nats, in [0, 1e4], or a SymPy expression.

    Notes
    -----
    The limit of k-fold groups of :math:`f_{\varepsilon/k,0}` (Dong, Roth, Su 2022, Proposition 2.15).

    Examples
    --------
    >>> from tradeoff import Laplace
    >>> Laplace(1.0).epsilon(0)
    1.0
    """

    epsilon_0: Value
    parameter = "epsilon_0"
    pattern = "Lap_{%s}"
    shift: Fraction | None = field(default=None, init=False)
    """Exact epsilon of a group where it is not a float; ``epsilon_0`` is rounded up."""

    @advise_keywords(lambda _: "for noise use tradeoff.mechanisms.Laplace(scale=...)", "the curve Laplace")
    def __init__(self, epsilon: Parameter) -> None:
        object.__setattr__(self, "epsilon_0", real("epsilon", epsilon, 0, MAX_LOSS))

    @classmethod
    def from_shift(cls, shift: Fraction) -> Laplace:
        """Return the curve of an exact epsilon >= 0."""
        curve = cls(balls.upper_float(to_balls(shift)))
        if Fraction(curve.epsilon_0) != shift:
            object.__setattr__(curve, "shift", shift)
        return curve

    @property
    def theta(self) -> Fraction:
        """Exact epsilon."""
        return Fraction(self.epsilon_0) if self.shift is None else self.shift

    elementary = True
    formulas = Formulas(
        laplace_beta,
        laplace_profile,
        lambda delta, shift: maximum(log(1 - delta), shift + 2 * log(1 - delta)),
        renyi=laplace_renyi,
    )

    def theta_ball(self) -> Balls:
        return to_balls(self.theta)

    def loss_distribution(self) -> LaplaceLaw:
        return LaplaceLaw(self.epsilon_0)

    def group(self, k: Any) -> TradeOff:
        # The limit of f_{eps/m,0}^(o km) is closed under groups.
        if is_symbol(k) or self.free_symbols:
            return Laplace(k * self.epsilon_0)
        k = count("k", k)
        return self.from_shift(k * self.theta) if k else Identity()


def logistic_profile(x: Balls, shift: Balls) -> Balls:
    """Return (1 - e^((x - shift)/2))^2/(1 - e^-shift) for |x| <= shift."""
    inside = expm1((x - shift) / 2) ** 2 / -expm1(-shift)
    return choose(x - shift, maximum(choose(x + shift, 0 * x, inside), -expm1(x)), 0 * x)


def logistic_loss(delta: Balls, shift: Balls) -> Balls:
    """Return the inverse of ``logistic_profile`` for probabilities in (0, 1)."""
    most = -expm1(-shift)  # delta(-shift)
    return choose(delta - most, shift + 2 * log1p(-sqrt(delta * most)), log1p(-delta))


@dataclass(frozen=True, repr=False, eq=False)
class BoundedRange(ClosedForm):
    """Curve (1 - alpha)/(1 + (e^eps - 1) alpha), that of the logistic law and its shift by eps > 0, in nats.

    Losses in [t - eps, t], 0 <= t <= eps, leave at least the generalised randomised response f_t with the
    losses t and t - eps alone, as its two lines are the tangents of slopes -e^t and -e^(t - eps) at either
    end (Dong, Durfee, Rogers 2020). Its corner is alpha = (u - r)/(1 - r), beta = (r/u - r)/(1 - r),
    u = e^-t, r = e^-eps. Over all t the corners make up the curve above, which is convex, and so the hull of
    the minimum.
    """

    epsilon_0: float
    parameter = "epsilon_0"
    pattern = "BR_{%s}"

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon_0", number("epsilon", epsilon, 0, MAX_LOSS, open_low=True))

    elementary = True
    formulas = Formulas(
        lambda alpha, shift: (1 - alpha) / (1 + expm1(shift) * alpha), logistic_profile, logistic_loss
    )

    def loss_distribution(self) -> BoundedRangeLaw:
        return BoundedRangeLaw(self.epsilon_0)


@dataclass(frozen=True, repr=False, eq=False)
class Truncated(ClosedForm):
    """Testing X against X + shift in (0, 2 cut], X normal or Laplace, both given |X| <= cut.

    Scale (the deviation of a normal law), shift and cut are positive, in one unit. The loss still increases
    along the line, so thresholds stay optimal. With g the curve without truncation, s the mass of each tail
    that is cut off and k = 1 - 2 s the rest, the errors of a threshold are affine in those without it:
    f(alpha) = (g(k alpha + s) - s)_+/k, and hence delta(x) = (delta_g(x) + s (e^x - 1))/k up to the loss at
    the end of the support; from there on it is the mass at infinity.
    """

    scale: float
    shift: float
    cut: float
    normal: bool

    def __post_init__(self) -> None:
        least, most = parameters.MIN_SCALE, parameters.MAX_SCALE
        for name, top in (("scale", most), ("cut", most), ("shift", 2 * self.cut)):
            object.__setattr__(self, name, number(name, getattr(self, name), least, top))

    formulas = Formulas(
        lambda alpha, t: minimum(
            maximum(t.beta(t.left * alpha + t.cut_off, t.ratio) - t.cut_off, 0) / t.left, 1 - alpha
        ),
        lambda x, t: choose(
            x + t.end,
            exp(x) * t.lost - expm1(x),
            choose(x - t.end, (t.profile(x, t.ratio) + t.cut_off * expm1(x)) / t.left, t.lost + 0 * x),
        ),
        largest_loss=lambda t: t.end,
        infinite_mass=lambda t: t.lost,
    )

    def theta_ball(self) -> SimpleNamespace:
        """Return g, delta_g, shift/scale, the loss at the end of the support, s, k (``left``), Q(L = inf)."""
        scale, shift, cut = map(to_balls, (self.scale, self.shift, self.cut))
        near, far = (cut - shift) / scale, cut / scale  # Q(L = inf) k is the mass between
        if self.normal:
            mass, cut_off, end = balls.normal_sf(near), balls.normal_sf(far), (near + far) * shift / scale / 2
        else:
            mass, cut_off = choose(near, 1 - exp(near) / 2, exp(-near) / 2), exp(-far) / 2
            end = minimum(near + far, shift / scale)
        left = 1 - 2 * cut_off
        return SimpleNamespace(
            beta=gaussian_beta if self.normal else laplace_beta,
            profile=gaussian_profile if self.normal else laplace_profile,
            ratio=shift / scale,
            end=end,
            cut_off=cut_off,
            left=left,
            lost=(mass - cut_off) / left,
        )

    @property
    def notation(self) -> str:
        name = "N" if self.normal else "Lap"
        return f"{name}({self.scale:.6g}) on [-{self.cut:.6g}, {self.cut:.6g}] + {self.shift:.6g}"
