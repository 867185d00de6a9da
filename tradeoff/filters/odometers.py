"""Odometers: bounds on the loss of adaptive steps that hold at every time at once."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import reals
from tradeoff.errors import DomainError, shown
from tradeoff.filters.base import Step, StepRecord, zcdp
from tradeoff.intervals.bounds import Bounds, decimal
from tradeoff.intervals.functions import log, log1p, maximum, rational, sqrt
from tradeoff.mechanisms.fields import real, stateful


@stateful
class Odometer(StepRecord):
    r"""Running bound on the loss of adaptive steps: P(exists n: L_n > bound(V_n)) <= delta.

    :math:`L_n` is the sum of the losses :math:`\log(dQ/dP)` of the answers given, drawn under :math:`Q`, and
    :math:`V_n = 2\sum_k \rho_k` the clock: :math:`\mu_k^2` for a Gaussian step, at most
    :math:`\varepsilon_k^2` for a pure one.

    A :math:`\rho`-zCDP step has :math:`E e^{x L} \le e^{x (1 + x) \rho}` for every :math:`x > 0`, so
    :math:`e^{x (L_n - V_n/2) - x^2 V_n/2}` is a supermartingale from 1, and Ville's inequality bounds a
    mixture of these over :math:`x` (Whitehouse, Ramdas, Rogers, Wu 2023). The bound is on the loss itself,
    which is more than :math:`(\varepsilon, \delta)`-DP: keep the answers with it, as it may fail to survive
    post-processing. Threads may share an odometer.

    >>> from tradeoff import Gaussian, filters
    >>> odometer = filters.MixtureOdometer(1e-6, r=0.1)
    >>> odometer.spend(Gaussian(0.3))
    >>> odometer.clock < 0.0901, bool(odometer.bound([0.0, 0.1])[0] < odometer.epsilon)
    (True, True)
    """

    delta: float = real("Probability that the bound ever fails.", "(0, 1)")

    cost_name = "rho"
    remedy = "spend it in a filter with a delta"

    def _cost(self, step: TradeOff) -> tuple[float]:
        rho, delta = zcdp(step)
        return (math.inf if delta else 2 * rho,)

    def spend(self, step: Step) -> None:
        r"""Add a curve, mechanism or plan; no step is refused for its size.

        ``KindError`` is raised if no finite :math:`\rho` is proved for the step, or it is only approximately
        zCDP: with a failure probability of its own, the loss of a step has no bound.
        """
        with self._lock:
            self._record(step, *self._charge(step))

    @property
    def clock(self) -> float:
        """Return V = 2 sum rho_k, rounded up."""
        return float(rational(self.totals[0]).upper)

    @property
    def epsilon(self) -> float:
        """Return the bound on the loss so far, in nats, rounded up."""
        return float(self.bound(self.clock))

    def bound(self, clock: ArrayLike) -> Any:
        """Return V/2 and a margin, in nats, rounded up, for a clock time V >= 0 or an array of them."""
        v = reals("clock", clock)
        if not np.all((v >= 0) & (v < np.inf)):
            raise DomainError(f"clock must be in [0, inf), got {shown(clock)}")
        return (Bounds.of(v) / 2 + self._margin(Bounds.of(v))).upper

    @abstractmethod
    def _margin(self, v: Bounds) -> Bounds:
        """Bound the margin that L - V/2 stays within at every V at once."""

    def __repr__(self) -> str:
        loss = decimal(self.epsilon, ".6g", up=True)
        return f"{type(self).__name__}(delta={self.delta:g}): loss at most {loss} after {self.steps} steps"


@stateful
class FilterOdometer(Odometer):
    r"""Line through the bound of a filter at one clock time y.

    :math:`V/2 + V \sqrt{\log(1/\delta)/(2y)} + \sqrt{y \log(1/\delta)/2}`: with one :math:`x`,
    :math:`L - V/2 \ge a + bV` for some :math:`n` has probability at most :math:`e^{-2ab} = \delta`
    (Whitehouse, Ramdas, Rogers, Wu 2023).

    >>> from tradeoff import Gaussian, filters
    >>> odometer = filters.FilterOdometer(1e-6, at=1)
    >>> odometer.spend(Gaussian(0.2) ** 25)
    >>> round(odometer.epsilon, 4)
    5.7565
    """

    at: float = real(
        r"Clock time :math:`y` where it is tightest: there it is "
        r"the :math:`\varepsilon` of a filter with :math:`V = y`.",
        "[1e-9, 1e9]",
        kw_only=True,
    )

    def _margin(self, v: Bounds) -> Bounds:
        cost, y = -log(self.delta), self.at
        return v * sqrt(cost / (2 * y)) + sqrt(y * cost / 2)


@stateful
class MixtureOdometer(Odometer):
    r"""Normal mixture, good over orders of magnitude of the clock.

    :math:`V/2 + \sqrt{2 (V + r) \log(\sqrt{(V + r)/r}/\delta)}`: with :math:`x` half-normal of variance
    :math:`1/r`, the mixture is :math:`2 \sqrt{r/(V + r)}\,e^{S^2/(2(V + r))}\,\Phi(S/\sqrt{V + r})` with
    :math:`S = L - V/2`, and :math:`\Phi \ge 1/2` where :math:`S \ge 0` (Robbins 1970).

    >>> from tradeoff import Gaussian, filters
    >>> odometer = filters.MixtureOdometer(1e-6, r=0.1)
    >>> odometer.spend(Gaussian(0.2) ** 25)
    >>> round(odometer.epsilon, 4)
    6.2473
    """

    r: float = real("Clock time around which it is tightest, up to a factor.", "[1e-9, 1e9]", kw_only=True)

    def _margin(self, v: Bounds) -> Bounds:
        return sqrt(2 * (v + self.r) * (log1p(v / self.r) / 2 - log(self.delta)))


@stateful
class StitchedOdometer(Odometer):
    r"""Stitched lines, of iterated-logarithm growth.

    :math:`V/2 + 1.7 \sqrt{V (\log\log(2V/v_0) + 0.72 \log(5.2/\delta))}`: Howard, Ramdas, McAuliffe, Sekhon
    2021, Theorem 1 with :math:`\eta = 2`, :math:`s = 1.4`, constants rounded up: a union over epochs of
    lines, each below the boundary on its epoch. That of the first one rises, so before :math:`v_0` it is
    below its value there.

    >>> from tradeoff import Gaussian, filters
    >>> odometer = filters.StitchedOdometer(1e-6, start=0.1)
    >>> odometer.spend(Gaussian(0.2) ** 25)
    >>> round(odometer.epsilon, 4)
    6.4455
    """

    start: float = real(
        "Clock time :math:`v_0` from which it is stated; before, its margin at :math:`v_0` is used.",
        "[1e-9, 1e9]",
        kw_only=True,
    )

    def _margin(self, v: Bounds) -> Bounds:
        v = maximum(v, self.start)
        growth = log(log(2 * (v / self.start))) + 0.72 * (log(5.2) - log(self.delta))
        return 1.7 * sqrt(v * growth)
