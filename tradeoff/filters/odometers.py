"""Odometers: bounds on the privacy loss so far that hold at every time at once, without a budget."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.parameters import reals
from tradeoff.errors import DomainError, KindError, shown
from tradeoff.filters.base import Step, StepRecord, Sum, add_up, curve_of, zcdp
from tradeoff.intervals.bounds import Bounds, decimal
from tradeoff.intervals.functions import log, log1p, maximum, sqrt, total
from tradeoff.intervals.rounding import Array
from tradeoff.mechanisms.base import real_range, stateful


@stateful
class Odometer(StepRecord, ABC):
    """Running bound on the loss of adaptive steps: P(exists n: L_n > bound(V_n)) <= delta.

    L_n is the sum of the losses log dQ/dP of the answers given, drawn under Q, and V_n = 2 sum rho_k the
    clock: mu_k^2 for a Gaussian step, at most eps_k^2 for a pure one.

    A rho-zCDP step has E e^{x L} <= e^{x (1 + x) rho} for every x > 0, so e^{x (L_n - V_n/2) - x^2 V_n/2} is
    a supermartingale from 1, and Ville's inequality bounds a mixture of these over x (Whitehouse, Ramdas,
    Rogers, Wu 2023). The bound is on the loss itself, which is more than (epsilon, delta)-DP: keep the
    answers with it, as it may fail to survive post-processing. Threads may share an odometer.

    >>> from tradeoff import Gaussian, filters
    >>> odometer = filters.MixtureOdometer(1e-6, r=0.1)
    >>> odometer.spend(Gaussian(0.3))
    >>> odometer.clock < 0.0901, bool(odometer.bound([0.0, 0.1])[0] < odometer.epsilon)
    (True, True)
    """

    delta: float = real_range("Probability that the bound ever fails.", "(0, 1)")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._clock: Sum = (0.0, 0.0)

    def spend(self, step: Step) -> None:
        """Add a curve, mechanism or plan; no step is refused for its size.

        ``KindError`` is raised if no finite rho is proved for the step, or it is only approximately zCDP:
        with a failure probability of its own, the loss of a step has no bound.
        """
        curve = curve_of(step)
        rho, delta = zcdp(curve)
        if delta > 0 or not rho < 1e300:
            raise KindError(
                f"an odometer takes rho-zCDP steps, and no finite rho is proved for {shown(step)}; "
                "spend it in a filter with a delta"
            )
        with self._lock:
            self._record(step, curve)
            self._clock = add_up(self._clock, 2 * rho)

    @property
    def clock(self) -> float:
        """Return V = 2 sum rho_k, rounded up."""
        return float(total(self._clock).upper)

    @property
    def epsilon(self) -> float:
        """Return the bound on the loss so far, in nats, rounded up."""
        return float(self.bound(self.clock))

    def bound(self, clock: ArrayLike) -> Array:
        """Return V/2 and a margin, in nats, rounded up, for an array of clock times V >= 0."""
        v = reals("clock", clock)
        if not np.all((v >= 0) & (v < np.inf)):
            raise DomainError(f"clock must be in [0, inf), got {shown(clock)}")
        return np.asarray((Bounds.of(v) / 2 + self._margin(Bounds.of(v))).upper)

    @abstractmethod
    def _margin(self, v: Bounds) -> Bounds:
        """Bound the margin that L - V/2 stays within at every V at once."""

    def __repr__(self) -> str:
        loss = decimal(self.epsilon, ".6g", up=True)
        return f"{type(self).__name__}(delta={self.delta:g}): loss at most {loss} after {self.steps} steps"


@stateful
class FilterOdometer(Odometer):
    """Line through the filter's bound at one time: V/2 + V sqrt(log(1/delta)/(2y)) + sqrt(y log(1/delta)/2).

    One x: L - V/2 >= a + bV for some n has probability at most e^{-2ab} = delta (Whitehouse, Ramdas, Rogers,
    Wu 2023).

    >>> from tradeoff import Gaussian, filters
    >>> odometer = filters.FilterOdometer(1e-6, at=1)
    >>> odometer.spend(Gaussian(0.2) ** 25)
    >>> round(odometer.epsilon, 4)
    5.7565
    """

    at: float = real_range(
        "Clock time y where it is tightest: there it is the epsilon of a filter with V = y.",
        "[1e-9, 1e9]",
        kw_only=True,
    )

    def _margin(self, v: Bounds) -> Bounds:
        cost, y = -log(self.delta), self.at
        return v * sqrt(cost / (2 * y)) + sqrt(y * cost / 2)


@stateful
class MixtureOdometer(Odometer):
    """Normal mixture, good over orders of magnitude: V/2 + sqrt(2 (V + r) log(sqrt((V + r)/r)/delta)).

    x half-normal of variance 1/r: the mixture is 2 sqrt(r/(V + r)) e^{S^2/(2(V + r))} Phi(S/sqrt(V + r)) with
    S = L - V/2, and Phi >= 1/2 where S >= 0 (Robbins 1970).

    >>> from tradeoff import Gaussian, filters
    >>> odometer = filters.MixtureOdometer(1e-6, r=0.1)
    >>> odometer.spend(Gaussian(0.2) ** 25)
    >>> round(odometer.epsilon, 4)
    6.2473
    """

    r: float = real_range(
        "Clock time around which it is tightest, up to a factor.", "[1e-9, 1e9]", kw_only=True
    )

    def _margin(self, v: Bounds) -> Bounds:
        return sqrt(2 * (v + self.r) * (log1p(v / self.r) / 2 - log(self.delta)))


@stateful
class StitchedOdometer(Odometer):
    """Stitched lines, of iterated-logarithm growth: V/2 + 1.7 sqrt(V (log log(2V/v0) + 0.72 log(5.2/delta))).

    Howard, Ramdas, McAuliffe, Sekhon 2021, Theorem 1 with eta = 2, s = 1.4, constants rounded up: a union
    over epochs of lines, each below the boundary on its epoch. That of the first one rises, so before v0 it
    is below its value there.

    >>> from tradeoff import Gaussian, filters
    >>> odometer = filters.StitchedOdometer(1e-6, start=0.1)
    >>> odometer.spend(Gaussian(0.2) ** 25)
    >>> round(odometer.epsilon, 4)
    6.4455
    """

    start: float = real_range(
        "Clock time v0 from which it is stated; before, its margin at v0 is used.",
        "[1e-9, 1e9]",
        kw_only=True,
    )

    def _margin(self, v: Bounds) -> Bounds:
        v = maximum(v, self.start)
        growth = log(log(2 * (v / self.start))) + 0.72 * (log(5.2) - log(self.delta))
        return 1.7 * sqrt(v * growth)
