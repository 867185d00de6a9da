"""OpenDP: privacy measures in, privacy maps and profiles out, as plain Python functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from tradeoff.conversions import from_renyi, from_zcdp
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import count, number, reals
from tradeoff.errors import DomainError, KindError, called, shown
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.families.profile import Profile
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation

# Losses at which a profile is asked: steps of 3 % cost at most as much of epsilon.
_EPSILONS = (0.0, *np.geomspace(1e-3, 100.0, 400).tolist())

# Least positive delta that is kept: below, the masses delta e^-epsilon would leave the floats.
_LEAST = 1e-100


def from_measurement(measurement: Any, d_in: Any) -> TradeOff:
    """Symmetric curve that an OpenDP measurement guarantees at an input distance, in both orders.

    Parameters
    ----------
    measurement
        A ``Measurement``: its ``output_measure`` and ``map(d_in)`` are read.
    d_in
        Distance of neighbours, in its input metric.
    """
    if not (hasattr(measurement, "output_measure") and callable(getattr(measurement, "map", None))):
        raise KindError(f"measurement = {shown(measurement)} has no output_measure and map(d_in)")
    return from_measure(measurement.output_measure, called("map", measurement.map, d_in))


def from_measure(measure: Any, distance: Any) -> TradeOff:
    """Curve that a privacy measure of OpenDP guarantees.

    Parameters
    ----------
    measure
        A ``Measure`` or its name: ``"MaxDivergence"`` (epsilon), ``"Approximate(MaxDivergence)"``
        (epsilon, delta), ``"SmoothedMaxDivergence"`` (a privacy profile), ``"ZeroConcentratedDivergence"``
        (rho), ``"Approximate(ZeroConcentratedDivergence)"`` (rho, delta), ``"RenyiDivergence"`` (a function
        of the order).
    distance
        The privacy parameter or pair of them, or the profile.

    Raises
    ------
    DomainError
        If the measure is another, or the distance is not of its kind.

    Notes
    -----
    Approximate measures let both laws leave out events of probability delta, known to the adversary at worst:
    f (x) f_{0,delta}. Releases amplified by one shared sample are no composition of their measures: say
    ``subsample(f @ g, p)``.

    Examples
    --------
    >>> from_measure("MaxDivergence", 0.5)
    f_{0.5,0} (not exact)
    >>> from_measure("Approximate(MaxDivergence)", (0.5, 1e-6)).epsilon(1e-6)
    0.5
    """
    name = str(measure).replace("<", "(").replace(">", ")")
    if name not in _MEASURES:
        raise DomainError(f"measure = {shown(measure)} is none of {', '.join(_MEASURES)}")
    try:
        return limited(_MEASURES[name](distance), BOUND)
    except (TypeError, AttributeError) as error:
        raise DomainError(f"{shown(distance)} is no distance of {name}: {error}") from error


def from_profile(profile: Any, epsilons: Iterable[float] = _EPSILONS) -> TradeOff:
    """Curve of a privacy profile known at points: a ``PrivacyProfile`` of OpenDP, or a function.

    It is the largest that these pairs imply, in exact fractions; between them a chord is lost.

    Parameters
    ----------
    profile
        Upper bounds on delta at epsilon >= 0, for both orders; it is taken at its word.
    epsilons
        Where to ask, in nats; default: 0, and 400 places from 0.001 to 100.

    Examples
    --------
    >>> import tradeoff as to
    >>> f = from_profile(to.Gaussian(1).delta)
    >>> round(f.epsilon(1e-5), 3), round(to.Gaussian(1).epsilon(1e-5), 3)
    (4.387, 4.377)
    """
    ask = profile.delta if hasattr(profile, "delta") else profile
    asked = reals("epsilons", [*epsilons] if np.iterable(epsilons) else epsilons).ravel().tolist()
    result = {e: number("delta", called("profile", ask, e), 0, 1) for e in asked}
    return Profile.from_epsilon_delta({e: d for e, d in result.items() if d == 0 or d >= _LEAST})


def privacy_map(
    guarantee: TradeOff | Callable[[Any], TradeOff], *, delta: float
) -> Callable[[Any], tuple[float, float]]:
    """Privacy map for ``make_user_measurement`` with the measure ``approximate(max_divergence())``.

    It is ``d_in -> (epsilon, delta)``, epsilon rounded up and at least 0.

    Parameters
    ----------
    guarantee
        A curve for one changed record, taken to groups of ``d_in``; or a function from ``d_in`` to a curve.
        Of a curve that is not symmetric the either-order envelope is taken.
    delta
        Probability in [0, 1] at which epsilon is asked.

    Examples
    --------
    >>> import tradeoff as to
    >>> privacy_map(to.Laplace(0.5), delta=0.0)(2)
    (1.0, 0.0)
    """
    asked = number("delta", delta, 0, 1)
    if isinstance(guarantee, TradeOff):
        of = _groups(_both(guarantee))
    elif callable(guarantee):
        of = partial(called, "guarantee", guarantee)
    else:
        raise KindError(f"guarantee = {shown(guarantee)} is no curve, and no function from d_in to one")
    return lambda d_in: (max(float(_both(of(d_in)).epsilon(asked)), 0.0), asked)


def privacy_profile(curve: TradeOff) -> Callable[[float], float]:
    """Return the function delta(epsilon) for OpenDP's ``new_privacy_profile``: upper bounds, for both orders.

    Parameters
    ----------
    curve
        A curve; of one order, its either-order envelope is taken.

    Examples
    --------
    >>> import tradeoff as to
    >>> round(privacy_profile(to.Gaussian(1))(1.0), 6)
    0.126937
    """
    both = _both(curve)
    return lambda epsilon: float(both.delta(number("epsilon", epsilon, 0)))


def _groups(curve: TradeOff) -> Callable[[Any], TradeOff]:
    return lambda d_in: curve.group(count("d_in", d_in))


def _both(curve: TradeOff) -> TradeOff:
    return operand(curve).symmetrise(assume="either-order")


def _approximate_zcdp(rho: float, delta: float) -> TradeOff:
    return from_zcdp(rho) @ TotalVariation(delta)


_MEASURES: dict[str, Callable[[Any], TradeOff]] = {
    "MaxDivergence": PureDP,
    "Approximate(MaxDivergence)": lambda pair: approximate_dp(*pair),
    "SmoothedMaxDivergence": from_profile,
    "ZeroConcentratedDivergence": from_zcdp,
    "Approximate(ZeroConcentratedDivergence)": lambda pair: _approximate_zcdp(*pair),
    "RenyiDivergence": from_renyi,
}
