"""Moments of one factor's privacy loss L under P, in nats, and the functionals of the central limit theorem.

Closed forms are in balls; other laws by quadrature. All are bounds from both sides, but for ``cumulant4``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tradeoff import balls
from tradeoff.balls import Balls, to_ball, to_bounds
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.errors import NoClosedForm, PrecisionError, shown
from tradeoff.families.approximate_dp import Identity, PureDP, TotalVariation
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, log, log1p, maximum, rational, total
from tradeoff.pld.law import PrivacyLossDistribution, bound_mass
from tradeoff.pld.moments import FiniteLaw, Function
from tradeoff.pld.transformed import ReversedPLD


def kl(curve: TradeOff) -> Bounds:
    r"""Bound kl(f), in nats; of a product, the sum over its factors.

    It is :math:`-\int_0^1 \log \lvert f'(x) \rvert \, dx = \mathrm{KL}(P \,\Vert\, Q)`.

    Parameters
    ----------
    curve : a curve, or a product

    Returns
    -------
    Bounds
        Both sides, equal up to rounding in closed form; +inf where :math:`f' = 0` on an interval. Of a curve
        without an exact law, such as a maximum, the Renyi divergence of order 1.

    Notes
    -----
    Dong, Roth, Su 2022, Section 3.2.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kl(to.Gaussian(1) @ to.PureDP(1)).upper, 6)
    0.962117
    """
    return _summed(curve, "kl", lambda m: m.kl + m.shift)


def kappa2(curve: TradeOff) -> Bounds:
    r"""Bound kappa_2(f), in squared nats; of a product, the sum over its factors.

    It is :math:`\int_0^1 \log^2 \lvert f'(x) \rvert \, dx = \mathbb{E}_P L^2`. Limit theorems need the sum,
    to which that of the product adds products of two factors' means. ``NoClosedForm`` if a factor has no
    exact law.

    Parameters
    ----------
    curve : a curve, or a product

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kappa2(to.PureDP(0.5) ** 8).upper, 12)
    2.0
    """
    return _summed(curve, "kappa2", lambda m: m.variance + (m.kl + m.shift) ** 2)


def kappa3(curve: TradeOff) -> Bounds:
    r"""Bound kappa_3(f); of a product, the sum, as ``kappa2``.

    It is :math:`\int_0^1 {\lvert\log \lvert f'(x)\rvert\rvert}^3 \, dx = \mathbb{E}_P {\lvert L\rvert}^3`.

    Parameters
    ----------
    curve : a curve, or a product

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kappa3(to.PureDP(0.5) ** 8).upper, 12)
    1.0
    """
    return _summed(curve, "kappa3", lambda m: m.kappa3)


def kappa3bar(curve: TradeOff) -> Bounds:
    r"""Bound kappa-bar_3(f); of a product, the sum, as ``kappa2``.

    It is :math:`\int_0^1 {\lvert \log \lvert f'(x) \rvert + \mathrm{kl}(f) \rvert}^3 \, dx
    = \mathbb{E}_P {\lvert L - \mathbb{E}_P L \rvert}^3`.

    Parameters
    ----------
    curve : a curve, or a product

    Examples
    --------
    >>> import tradeoff as to
    >>> round(to.limits.kappa3bar(to.Gaussian(1.0)).upper, 6)
    1.595769
    """
    return _summed(curve, "kappa3bar", lambda m: m.third)


def _summed(curve: TradeOff, field: str, exact: Callable[[Moments], Bounds]) -> Bounds:
    """Sum a functional, ``exact`` of the moments of a factor with an exact law, over all factors."""
    if isinstance(curve, TradeOff) and curve.free_symbols:
        from tradeoff.symbolic.forms import summed

        formula = summed(curve, field)
        return Bounds(formula, formula)

    def of_one(factor: TradeOff) -> Bounds:
        apart = factor.inverse().mass_at_infinity
        if apart.lower > 0:  # P has mass at L = -inf, however little: f' = 0 on an interval
            return Bounds(math.inf, math.inf)
        below, above = moments(factor)
        if below is above:
            result = exact(below)
        elif field == "kl":
            result = factor.bounds.renyi(1.0)
        else:
            raise NoClosedForm(f"{field} needs the exact law of {shown(factor)}; take kl, or its operands")
        return Bounds(result.lower, math.inf) if apart.upper > 0 else result

    return total(rational(n) * of_one(factor) for factor, n in factors(curve).items())


class Moments(NamedTuple):
    """Of L under P, given that it is finite and plus a ``shift`` for which e^L has mean one.

    ``kl`` = -E L, ``variance``, ``third`` = E|L - E L|^3, ``kappa3`` = E|L - shift|^3, the shift undone,
    ``cumulant3`` = E(L - E L)^3; ``cumulant4`` is an estimate.
    """

    kl: Bounds
    variance: Bounds
    third: Bounds
    kappa3: Bounds
    shift: Bounds
    cumulant3: Bounds
    cumulant4: float


NOTHING = Bounds(0.0, 0.0)
# Of a loss that is 0 wherever it is finite.
CONSTANT = Moments(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, 0.0)


def factors(curve: TradeOff) -> dict[TradeOff, int]:
    """Return the factors of a product with their powers, or the curve itself once."""
    operand(curve).require_numbers()
    return dict(curve.factors)


def check_variance(variance: Bounds) -> Bounds:
    """Return the variance of a sum; ``PrecisionError`` if its power to 3/2 is outside the range of floats."""
    if not (variance.upper == 0 or 1e-190 <= variance.lower <= variance.upper <= 1e190):
        sides = f"between {variance.lower:.3g} and {variance.upper:.3g}, too small for floats or too large"
        raise PrecisionError(f"the losses have a variance {sides}; use the curve's own bounds", np.inf)
    return variance


@lru_cache(maxsize=1024)
def moments(factor: TradeOff, *, reverse: bool = False) -> tuple[Moments, Moments]:
    """Return moments of a curve below ``factor`` and of one above; the same object twice if its law is exact.

    ``reverse``: of T(Q, P), the other order of the pair.
    """
    # Where only one rounds to 1, the finite losses still differ.
    if min(factor.mass_at_plus_infinity, factor.mass_at_minus_infinity) >= 1:
        return CONSTANT, CONSTANT
    exact = closed_form(factor)
    if exact is not None:
        return exact, exact
    low, high = factor.laws()
    if reverse and low is high and len({*map(id, factor.inverse().laws())}) == 1:
        return moments(factor.inverse())  # cached for the other order
    below = of_law(ReversedPLD(low) if reverse else low)
    return below, below if high is low else of_law(ReversedPLD(high) if reverse else high)


def closed_form(curve: TradeOff) -> Moments | None:
    """Return the moments of a symmetric family, or None.

    Formulas return kl, variance, third, kappa3, cumulant3 and E(L - E L)^4.
    """
    formula: Callable[[Balls], tuple[Balls, ...]]
    match curve:
        case Identity() | TotalVariation():  # the finite loss of f_{0,delta} is 0, as that of Id
            return CONSTANT
        case PureDP():
            parameter, formula = curve.epsilon_0, _of_pure_dp
        case Gaussian() if np.isfinite(curve.mu):
            parameter, formula = curve.weight, lambda square: _of_gaussian(balls.sqrt(square))
        case Laplace():
            parameter, formula = curve.theta, _of_laplace
        case _:
            return None
    # Differences of fourth order cancel about this many bits.
    with balls.precision(balls.PRECISION + 8 * int(abs(math.log2(float(parameter) or 1.0)))):
        *five, fourth = formula(to_ball(parameter))
        kl, variance, third, kappa3, cumulant3 = map(to_bounds, five)
        cumulant4 = float((fourth - 3 * five[1] ** 2).mid())
        return Moments(kl, variance, third, kappa3, NOTHING, cumulant3, cumulant4)


def _of_pure_dp(e: Balls) -> tuple[Balls, ...]:
    """L = -eps with probability (1 + t)/2, else eps; t = tanh(eps/2)."""
    t, spread = balls.function("tanh")(e / 2), balls.function("sech")(e / 2) ** 2  # 1 - t^2
    # Those of a Bernoulli law of mean (1 - t)/2, times (2 eps)^r; E|L - E L|^3 = eps^3 (1 - t^2) (1 + t^2).
    return (
        e * t,
        e**2 * spread,
        e**3 * spread * (1 + t**2),
        e**3,
        (2 * e) ** 3 * spread * t / 4,
        (2 * e) ** 4 * spread / 4 * (1 - 3 * spread / 4),
    )


def _of_gaussian(mu: Balls) -> tuple[Balls, ...]:
    """L is normal with mean -mu^2/2 and variance mu^2."""
    a, root = mu / 2, balls.sqrt(to_ball(2))
    density = balls.exp(-(a**2) / 2) / (root * balls.sqrt(balls.pi()))
    absolute = (a**3 + 3 * a) * balls.function("erf")(a / root) + 2 * (a**2 + 2) * density  # E|Z - a|^3
    third = 2 * root / balls.sqrt(balls.pi())  # E|Z|^3
    return mu**2 / 2, mu**2, mu**3 * third, mu**3 * absolute, to_ball(0), 3 * mu**4


def _of_laplace(e: Balls) -> tuple[Balls, ...]:
    """L = 2 x - eps for x in (0, eps) with density e^-x/2; atoms 1/2 at -eps and e^-eps/2 at eps."""
    fall = balls.exp(-e)
    kl = e - 1 + fall

    def integral(r: int, centre: Balls, lower: Balls, upper: Balls) -> Balls:
        """Integrate (L - centre)^r: 2^(r-1) (x - x0)^r e^-x over [lower, upper], x0 = (centre + eps)/2."""

        def primitive(x: Balls) -> Balls:
            away, result = x - (centre + e) / 2, to_ball(1)
            for k in range(r - 1, -1, -1):  # sum of r!/k! away^k
                result = result * away + math.perm(r, r - k)
            return -balls.exp(-x) * result

        return 2 ** (r - 1) * (primitive(upper) - primitive(lower))

    def central(r: int) -> Balls:
        """Return E (L - E L)^r."""
        return integral(r, -kl, to_ball(0), e) + ((kl - e) ** r + fall * (kl + e) ** r) / 2

    def absolute(centre: Balls) -> Balls:
        """Return E|L - centre|^3."""
        x0 = (centre + e) / 2
        atoms = ((centre + e) ** 3 + fall * (e - centre) ** 3) / 2
        return integral(3, centre, x0, e) - integral(3, centre, to_ball(0), x0) + atoms

    return kl, central(2), absolute(-kl), absolute(to_ball(0)), central(3), central(4)


def of_law(law: PrivacyLossDistribution) -> Moments:
    """Enclose the moments of a law by quadrature."""
    finite = FiniteLaw(law)
    # Conditioning adds log((1 - mass_at_minus_infinity)/(1 - mass_at_plus_infinity)) to every loss.
    shift = log1p(-bound_mass(law.mass_at_minus_infinity)) - log1p(-bound_mass(law.mass_at_plus_infinity))
    # A constant: no deviations, not the rounding of a logarithm.
    if not law.continuous and len(law.atoms.loss) == 1:
        return CONSTANT._replace(shift=shift, kappa3=maximum(shift, -shift) ** 3)
    finite.check()
    # As E e^L = 1, -E L = E[e^L - 1 - L]: positive terms, so that a small divergence keeps its digits.
    kl = finite.remainder(1.0)
    centre = -(kl.lower + kl.upper) / 2
    off = -kl - centre  # E L - c, c the centre about which moments are measured
    doubt = max(off.upper, -off.lower)

    def expected(distance: Function, r: int) -> Bounds:
        """Bound E phi for phi = |x - c|^r or (c - x)_+^r, with a bound on |phi'' - phi'| and with |phi'|."""
        low, high = finite.expectation(
            lambda x: distance(x) ** r,
            lambda x: r * (r - 1) * distance(x) ** (r - 2) + r * distance(x) ** (r - 1),
            lambda x: r * distance(x) ** (r - 1),
        )
        return Bounds(low, high)

    square, cube = (expected(lambda x: np.abs(x - centre), r) for r in (2, 3))
    below = expected(lambda x: np.maximum(centre - x, 0.0), 3)
    variance = square - off**2
    return Moments(
        kl=kl,
        variance=Bounds(max(variance.lower, 0.0), variance.upper),
        # A centre off by d moves the cube root of E|L - c|^3 by at most d (Minkowski).
        third=maximum(exp(log(cube) / 3) + Bounds(-doubt, doubt), 0.0) ** 3,
        kappa3=expected(lambda x: np.abs(x - finite.shift), 3),
        shift=shift,
        # E(L - c)^3 = E|L - c|^3 - 2 E(c - L)_+^3; about c + d = E L it is less 3 d E(L - c)^2 - 2 d^3.
        cumulant3=cube - 2 * below - 3 * off * square + 2 * off**3,
        cumulant4=finite.estimate(lambda x: (x - centre) ** 4) - 3 * square.upper**2,
    )
