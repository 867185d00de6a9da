"""OpenDP: privacy measures in, privacy maps and profiles out, as plain Python functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tradeoff.conversions import from_renyi, from_zcdp
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import count, number
from tradeoff.errors import KindError, called, domain, shown
from tradeoff.families.approximate_dp import PureDP, TotalVariation, approximate_dp
from tradeoff.families.from_masses import Profile


def from_measurement(measurement: Any, d_in: Any) -> TradeOff:
    """Return the symmetric curve that an OpenDP measurement guarantees at an input distance.

    Parameters
    ----------
    measurement : a ``Measurement``: its ``output_measure`` and ``map(d_in)`` are read
    d_in : distance of neighbours, in its input metric

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> laplace = SimpleNamespace(output_measure="MaxDivergence", map=lambda d: d / 2)  # OpenDP's has both
    >>> from_measurement(laplace, 1)
    f_{0.5,0} (not exact)
    """
    if not (hasattr(measurement, "output_measure") and callable(getattr(measurement, "map", None))):
        raise KindError(f"measurement must have output_measure and map(d_in), got {shown(measurement)}")
    return from_measure(measurement.output_measure, called("map", measurement.map, d_in))


def from_measure(measure: Any, distance: Any) -> TradeOff:
    r"""Return the curve that a privacy measure of OpenDP guarantees.

    Approximate measures let both laws leave out events of probability :math:`\delta`, known to the adversary
    at worst: :math:`f \otimes f_{0,\delta}`. Releases amplified by one shared sample are not compositions of
    their measures: write ``subsample(f @ g, p)``.

    Parameters
    ----------
    measure
        A ``Measure`` or its name: ``"MaxDivergence"`` (epsilon), ``"Approximate(MaxDivergence)"``
        (epsilon, delta), ``"SmoothedMaxDivergence"`` (a privacy profile), ``"ZeroConcentratedDivergence"``
        (rho), ``"Approximate(ZeroConcentratedDivergence)"`` (rho, delta), ``"RenyiDivergence"`` (a function
        of the order).
    distance : the privacy parameter or pair of them, or the profile

    Examples
    --------
    >>> from_measure("MaxDivergence", 0.5)
    f_{0.5,0} (not exact)
    >>> from_measure("Approximate(MaxDivergence)", (0.5, 1e-6)).epsilon(1e-6)
    0.5
    """
    name = str(measure).replace("<", "(").replace(">", ")")
    if name not in _MEASURES:
        raise domain("measure", measure, f"one of {', '.join(_MEASURES)}")
    try:
        return limited(_MEASURES[name](distance), BOUND)
    except (TypeError, AttributeError) as error:
        raise domain("distance", distance, f"a distance of {name}", str(error)) from error


def privacy_map(
    guarantee: TradeOff | Callable[[Any], TradeOff], *, delta: float
) -> Callable[[Any], tuple[float, float]]:
    """Return a privacy map for ``make_user_measurement`` with the measure ``approximate(max_divergence())``.

    It is ``d_in -> (epsilon, delta)``, epsilon rounded up and at least 0.

    Parameters
    ----------
    guarantee
        A curve for one changed record, which is converted to groups of ``d_in``; or a function from ``d_in``
        to a curve. A curve of one order is replaced by its either-order envelope.
    delta : probability in [0, 1]

    Examples
    --------
    >>> import tradeoff as to
    >>> privacy_map(to.Laplace(0.5), delta=0.0)(2)
    (1.0, 0.0)
    """
    checked = number("delta", delta, 0, 1)
    if not callable(guarantee):  # as curves are
        raise KindError(f"guarantee must be a curve or a function from d_in to one, got {shown(guarantee)}")

    def bound_loss(d_in: Any) -> tuple[float, float]:
        if isinstance(guarantee, TradeOff):
            of_group = _both_orders(guarantee).group(count("d_in", d_in))
        else:
            of_group = called("guarantee", guarantee, d_in)
        return max(float(_both_orders(of_group).epsilon(checked)), 0.0), checked

    return bound_loss


def privacy_profile(curve: TradeOff) -> Callable[[float], float]:
    """Return the function delta(epsilon) for OpenDP's ``new_privacy_profile``: upper bounds, for both orders.

    Parameters
    ----------
    curve : a curve; one of one order is replaced by its either-order envelope

    Examples
    --------
    >>> import tradeoff as to
    >>> round(privacy_profile(to.Gaussian(1))(1.0), 6)
    0.126937
    """
    both = _both_orders(curve)
    return lambda epsilon: float(both.delta(number("epsilon", epsilon, 0)))


def _both_orders(curve: TradeOff) -> TradeOff:
    return operand(curve).symmetrise(assume="either-order")


_MEASURES: dict[str, Callable[[Any], TradeOff]] = {
    "MaxDivergence": PureDP,
    "Approximate(MaxDivergence)": lambda pair: approximate_dp(*pair),
    "SmoothedMaxDivergence": lambda profile: Profile.from_epsilon_delta(getattr(profile, "delta", profile)),
    "ZeroConcentratedDivergence": from_zcdp,
    "Approximate(ZeroConcentratedDivergence)": lambda pair: from_zcdp(pair[0]) @ TotalVariation(pair[1]),
    "RenyiDivergence": from_renyi,
}
