"""Time-uniform boundaries on the Brownian mechanism's loss: what a release at any time may claim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from tradeoff.curves.parameters import number
from tradeoff.intervals.rounding import up


class Boundary(Protocol):
    """A function psi with P(L(t) >= psi(t) for some t > 0) <= delta, falling in t."""

    delta: float
    """Probability with which the loss may pass the boundary."""

    def __call__(self, time: float, sensitivity: float = 1.0) -> float:
        """Return psi(t) in nats, rounded up."""
        ...


@dataclass(frozen=True)
class LinearBoundary:
    """Stay below the line a t + b but for delta = e^(-2ab): psi(t) = (Delta/t)(Delta/2 + b) + Delta a.

    Parameters
    ----------
    delta
        Probability that the loss passes the boundary at any time, in (0, 1).
    time
        Variance t* at which the boundary is tightest, in [1e-300, 1e300], in squared units of the query.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    L(t) = d^2/(2t) + (d/t) W_t for neighbours at distance d; it reaches psi only where W_t >= t psi/d - d/2,
    which grows as d falls, so the sensitivity Delta is the worst distance. The crossing probability e^(-2ab)
    of a line is exact for all t > 0 (Doob); a = sqrt(ln(1/delta)/(2 t*)) minimises psi(t*) (Whitehouse,
    Ramdas, Wu, Rogers 2022, Brownian noise reduction). With mu = Delta/sqrt(t) and s = sqrt(t/t*): psi(t) =
    mu^2/2 + mu sqrt(ln(1/delta)/2) (s + 1/s), which is what is computed.

    Examples
    --------
    >>> psi = LinearBoundary(delta=1e-6, time=100.0)
    >>> round(psi(100.0), 4), round(psi(400.0), 4)
    (0.5307, 0.3298)
    """

    delta: float
    time: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", check_delta(self.delta))
        object.__setattr__(self, "time", check_time(self.time))

    def __call__(self, time: float, sensitivity: float = 1.0) -> float:
        s = math.sqrt(check_time(time)) / math.sqrt(self.time)
        mu = _shift(time, sensitivity)
        return _above(mu * mu / 2 + mu * math.sqrt(-math.log(self.delta) / 2) * (s + 1 / s))


@dataclass(frozen=True)
class MixtureBoundary:
    """A normal mixture of lines: psi(t) = Delta^2/(2t) + (Delta/t) sqrt(2 (t + r) ln(sqrt((t + r)/r)/delta)).

    Parameters
    ----------
    delta
        Probability that the loss passes the boundary at any time, in (0, 1).
    r
        Variance about which the boundary is tight, in [1e-300, 1e300], in squared units of the query; it
        stays tight over a much wider range than a line.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Ville's inequality for exp(lambda W_t - lambda^2 t/2) averaged over lambda ~ N(0, 1/r) (Robbins 1970).

    Examples
    --------
    >>> psi = MixtureBoundary(delta=1e-6, r=100.0)
    >>> round(psi(100.0), 4), round(psi(400.0), 4)
    (0.7577, 0.3035)
    """

    delta: float
    r: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", check_delta(self.delta))
        object.__setattr__(self, "r", check_time(self.r, "r"))

    def __call__(self, time: float, sensitivity: float = 1.0) -> float:
        time = check_time(time)  # single precision and decimals would be computed with as such
        u, mu = time / self.r, _shift(time, sensitivity)
        grown = math.log1p(u) if u < math.inf else math.log(time) - math.log(self.r)
        return _above(
            mu * mu / 2 + mu * math.sqrt(2 * (1 + self.r / time) * (grown / 2 - math.log(self.delta)))
        )


def check_sensitivity(value: float) -> float:
    """Return ``value`` if it is a sensitivity: a number in (0, inf), a fraction rounded up."""
    return number("sensitivity", value, 0.0, open_low=True, open_high=True)


def check_time(value: float, name: str = "time") -> float:
    """Return ``value`` if it is a variance whose root and ratios are floats: a number in [1e-300, 1e300]."""
    return number(name, value, 1e-300, 1e300)


def check_delta(value: float) -> float:
    """Return ``value`` if it is a probability in (0, 1), a fraction rounded down."""
    return number("delta", value, 0.0, 1.0, open_low=True, open_high=True)


def _shift(time: float, sensitivity: float) -> float:
    """Return mu = Delta/sqrt(t); psi grows with it, so what underflows is raised to 1e-300."""
    return max(check_sensitivity(sensitivity) / math.sqrt(time), 1e-300)


def _above(psi: float) -> float:
    """Round up: some fifteen operations, each within two units, fewer than 64 half units in all."""
    return float(up(psi, 64))
