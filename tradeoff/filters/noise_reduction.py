"""Noise reduction: one answer refined until it is good enough, for the price of the last release.

A session refines the answer of one query. Its levels are variances t of Gaussian noise, falling, or the
epsilons of Laplace noise, rising. Delta is the sensitivity of the query, and W a Brownian motion.
"""
# ruff: noqa: A002 - the parameter is a filter

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise, repeat, takewhile
from operator import truediv
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.parameters import number, reals
from tradeoff.errors import DomainError, KindError, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.filters.base import ThreadSafe
from tradeoff.filters.budgets import ExPost, RhoFilter
from tradeoff.filters.gdp import GDPFilter, IndividualGDPFilter
from tradeoff.intervals.bounds import Array, Bounds
from tradeoff.intervals.functions import log, log1p, sqrt
from tradeoff.mechanisms.base import mechanism as immutable
from tradeoff.mechanisms.fields import Declared, real, stateful

Seed = np.random.Generator | int | None

_SCALES = 1e-9, 1e9  # range of sensitivities and of epsilons; variances are in that of their squares


class Charged(Protocol):
    """Object that grants a step or raises: a filter, or a ledger that keeps one on disk."""

    def spend(self, step: Any) -> Any: ...


@immutable
class Boundary(Declared, ABC):
    """A function psi(t) in nats with P(L(t) >= psi(t) for some t > 0) <= delta, for Brownian noise.

    L(t) = d^2/(2t) + (d/t) W_t is the loss of the release at variance t, for neighbours at distance d. It
    reaches psi(t) = Delta^2/(2t) + (Delta/t) u(t) only where W_t >= (Delta/d) u(t) + (Delta^2 - d^2)/(2d),
    which grows as d falls: the sensitivity Delta is the worst distance, at which W_t has to reach u(t), the
    curve of a subclass. Variances are in squared units of the query.
    """

    delta: float = real("Probability that the loss passes the boundary at any time.", "(0, 1)")

    def __call__(self, time: float, sensitivity: float = 1.0) -> float:
        """Return psi(t) = mu^2/2 + mu u(t)/sqrt(t), mu^2 = Delta^2/t, at a time t, in nats, rounded up."""
        squared_mu = _squared_mu(time, sensitivity)
        return float((squared_mu / 2 + sqrt(squared_mu) * self._height(Bounds.of(float(time)))).upper)

    @abstractmethod
    def _height(self, t: Bounds) -> Bounds:
        """Bound u(t)/sqrt(t)."""


@immutable
class LinearBoundary(Boundary):
    r"""The line u(t) = at + b, which W_t reaches with probability delta = e^(-2ab).

    :math:`\psi(t) = (\Delta/t)(\Delta/2 + b) + \Delta a`; that probability is exact for all :math:`t > 0`
    (Doob), and :math:`a = \sqrt{\log(1/\delta)/(2 t_*)}` minimises :math:`\psi(t_*)` (Whitehouse, Ramdas, Wu,
    Rogers 2022, Brownian noise reduction). With :math:`s = \sqrt{t/t_*}`, :math:`u(t)/\sqrt{t} =
    \sqrt{\log(1/\delta)/2}\,(s + 1/s)`.

    >>> psi = LinearBoundary(delta=1e-6, time=100.0)
    >>> round(psi(100.0), 4), round(psi(400.0), 4)
    (0.5307, 0.3298)
    """

    time: float = real("Variance :math:`t_*` at which the boundary is tightest.", "[1e-18, 1e18]")

    def _height(self, t: Bounds) -> Bounds:
        s = sqrt(t / self.time)
        return sqrt(-log(self.delta) / 2) * (s + 1 / s)


@immutable
class MixtureBoundary(Boundary):
    r"""Normal mixture of lines: u(t) = sqrt(2 (t + r) log(sqrt((t + r)/r)/delta)).

    :math:`\psi(t) = \Delta^2/(2t) + (\Delta/t) \sqrt{2 (t + r) \log(\sqrt{(t + r)/r}/\delta)}`, by Ville's
    inequality for :math:`e^{\lambda W_t - \lambda^2 t/2}` averaged over :math:`\lambda \sim N(0, 1/r)`
    (Robbins 1970). It stays tight over a much wider range of :math:`t` than a line.

    >>> psi = MixtureBoundary(delta=1e-6, r=100.0)
    >>> round(psi(100.0), 4), round(psi(400.0), 4)
    (0.7577, 0.3035)
    """

    r: float = real("Variance about which the boundary is tight.", "[1e-18, 1e18]")

    def _height(self, t: Bounds) -> Bounds:
        ratio = t / self.r
        return sqrt(2 * (1 + 1 / ratio) * (log1p(ratio) / 2 - log(self.delta)))


def _squared_mu(time: float, sensitivity: float, last: float = math.inf) -> Bounds:
    """Bound mu^2 = Delta^2/t of a release of variance t, which must be below the last one."""
    time, sensitivity = number("time", time, 1e-18, 1e18), number("sensitivity", sensitivity, *_SCALES)
    if not time < last:
        raise DomainError(f"time must be below the last time {last!r}, got {time!r}")
    return Bounds.of(sensitivity) ** 2 / time


@dataclass(frozen=True)
class Release:
    """One released value, and its cost.

    Parameters
    ----------
    value, level : a float or a read-only array, and the variance or epsilon it was drawn at
    spent : cost of this and all earlier values of the session together, ``Gaussian(mu)`` or ``ExPost``

    Examples
    --------
    >>> Release(value=101.3, level=4.0, spent=Gaussian(0.5))
    Release(value=101.3, level=4.0, spent=G_{0.5})
    """

    value: Any
    level: float
    spent: Any


class NoiseReduction(ThreadSafe, ABC):
    """Session that refines the answer of one query: every further value is paid before it is drawn.

    The public attributes of a session, its ``repr`` and its errors do not contain the true value. Two
    sessions that continue from the same noise would reveal it for a fraction of its cost: copies and pickles
    are refused, and so is refining in a forked child. Threads may share a session. Noise is drawn in floating
    point: for research and simulation.
    """

    _start: ClassVar[float] = math.inf  # level before the first release

    def __init__(
        self, value: ArrayLike, sensitivity: float = 1.0, *, filter: Charged | None = None, rng: Seed = None
    ) -> None:
        super().__init__()
        grants = hasattr(filter, "spend") and not isinstance(filter, type | IndividualGDPFilter)
        if not (filter is None or grants):  # an IndividualGDPFilter leaves out records, and refuses nothing
            raise KindError(f"filter must be a filter, a ledger or None, got {shown(filter)}")
        try:
            self._true = np.array(reals("value", value))
        except DomainError:  # its message contains the value
            raise DomainError("value must be an array of real numbers") from None
        if not np.all(np.abs(self._true) <= 1e300):  # NaN fails too
            raise DomainError("value must be within 1e300 of 0; clip it to a public range first")
        self._sensitivity = number("sensitivity", sensitivity, *_SCALES)
        try:
            self._rng = np.random.default_rng(rng)
        except (TypeError, ValueError) as error:
            raise DomainError(f"rng must be a numpy.random.Generator or a seed, got {shown(rng)}") from error
        self._filter, self._process = filter, os.getpid()
        self._noise: Array = np.zeros_like(self._true)  # of the last release
        self._releases: tuple[Release, ...] = ()

    @property
    def releases(self) -> tuple[Release, ...]:
        """All released values, the latest last."""
        return self._releases

    @property
    def spent(self) -> Any:
        """Cost of the session so far; None before the first release."""
        return self._releases[-1].spent if self._releases else None

    @abstractmethod
    def _price(self, level: float, last: float) -> tuple[Gaussian | ExPost, Gaussian | ExPost]:
        """Return the costs of the next level and of the session with it; raise if it cannot be the next."""

    @abstractmethod
    def _draw(self, level: float, last: float) -> Array:
        """Return the noise of the next level, given that of the last release."""

    def refine(self, level: float) -> Release:
        """Pay for the next level, then draw its value and return it with the cost so far.

        The level is the variance of the noise, below that of the last release, or epsilon, above it. If the
        filter raises ``BudgetExceeded``, nothing is paid and nothing drawn, and earlier releases stay valid.
        """
        if os.getpid() != self._process:  # before the lock, which another thread may own at the fork
            raise KindError(
                f"a {type(self).__name__} can refine only in the process that opened it, not in a fork, "
                "which would draw the same noise; open a session here, with its own budget and generator"
            )
        with self._lock:
            last = self._releases[-1].level if self._releases else self._start
            step, total = self._price(level, last)
            if self._filter is not None:
                self._filter.spend(step)
            noise = self._draw(float(level), last)
            drawn = np.array(self._true + noise)
            drawn.flags.writeable = False
            release = Release(drawn if drawn.ndim else float(drawn), float(level), total)
            self._noise, self._releases = noise, (*self._releases, release)
            return release

    def run(self, rule: Callable[[tuple[Release, ...]], object], levels: Iterable[float]) -> Release | None:
        """Refine level after level, and return the release at which a rule stopped; None if none did.

        The rule is a function of all releases so far, the latest last; a true result stops. One that reads
        the data instead is not covered by the cost of the session.
        """
        if not callable(rule):  # before a level is paid
            raise KindError(f"rule must be a function of the releases, got {shown(rule)}")
        return next((release for release in map(self.refine, levels) if rule(self._releases)), None)

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {len(self._releases)} releases, spent {self.spent}"


class BrownianMechanism(NoiseReduction):
    r"""Release f(x) + B_t at falling t, for the cost of the last release, mu = Delta/sqrt(t).

    In inverse time :math:`1/t` the releases are Gaussian mechanisms with independent increments, chosen
    adaptively: the step from :math:`t` to :math:`t'` is :math:`G_\mu` with
    :math:`\mu^2 = \Delta^2 (1/t' - 1/t)`, which telescopes (Whitehouse, Ramdas, Wu, Rogers 2022; as adaptive
    Gaussian composition, Smith and Thakurta 2022). :math:`B_{t'}` given :math:`B_t` is the Brownian bridge
    from :math:`B_0 = 0`.

    Parameters
    ----------
    value : true answer :math:`f(x)`, a number or an array
    sensitivity : l2-sensitivity :math:`\Delta` of the query, in [1e-9, 1e9]
    filter : filter or ledger that pays; without one the session only keeps count
    boundary : ``LinearBoundary`` or ``MixtureBoundary`` to pay ex post; without one: Gaussian steps
    rng : ``numpy.random.Generator`` or a seed

    Examples
    --------
    >>> session = BrownianMechanism(100.0, rng=1)
    >>> session.run(lambda seen: seen[-1].level <= 4, levels=[64.0, 16.0, 4.0, 1.0]).spent
    G_{0.5}
    >>> [release.level for release in session.releases]
    [64.0, 16.0, 4.0]
    """

    def __init__(
        self,
        value: ArrayLike,
        sensitivity: float = 1.0,
        *,
        filter: Charged | None = None,
        boundary: Boundary | None = None,
        rng: Seed = None,
    ) -> None:
        if not isinstance(boundary, Boundary | None):
            rule = "boundary must be a LinearBoundary, MixtureBoundary or None"
            raise KindError(f"{rule}, got {shown(boundary)}")
        self._boundary = boundary
        super().__init__(value, sensitivity, filter=filter, rng=rng)

    def _price(self, level: float, last: float) -> tuple[Gaussian | ExPost, Gaussian | ExPost]:
        squared_mu = _squared_mu(level, self._sensitivity, last)
        if self._boundary is None:  # a step of mu^2 = Delta^2 (1/t' - 1/t) to a session of Delta^2/t'
            share = 1.0 if math.isinf(last) else (last - Bounds.of(level)) / last
            return Gaussian(sqrt(squared_mu * share).upper), Gaussian(sqrt(squared_mu).upper)
        psi, delta = self._boundary(level, self._sensitivity), self._boundary.delta
        before = self.spent.epsilon if self._releases else 0.0
        psi = max(psi, before)  # at two times close together their roundings may change the order
        # The boundary holds at all times at once, so its delta is paid once.
        step = ExPost((Bounds.of(psi) - before).upper, 0.0 if self._releases else delta)
        return step, ExPost(psi, delta)

    def _draw(self, level: float, last: float) -> Array:
        """Return B_t' given B_t: normal with mean (t'/t) B_t and variance t' (1 - t'/t)."""
        normal, share = self._rng.standard_normal(self._true.shape), level / last
        return share * self._noise + math.sqrt(level * (1 - share)) * normal


class Doubling(NoiseReduction):
    r"""Draw fresh noise at each level: n releases f(x) + N(0, t_i) cost mu^2 = sum of Delta^2/t_i.

    With levels ``geometric(start, factor)`` the sum is up to :math:`1/(1 - 1/\text{factor})` times the last
    term, the cost of noise reduction; but a larger factor overshoots the level that was needed.

    Parameters
    ----------
    value, sensitivity, filter, rng : as for ``BrownianMechanism``

    Examples
    --------
    >>> session = Doubling(100.0, rng=1)
    >>> session.refine(4.0).spent, session.refine(1.0).spent
    (G_{0.5}, G_{1.11803})
    """

    def _price(self, level: float, last: float) -> tuple[Gaussian, Gaussian]:
        squared_mu = _squared_mu(level, self._sensitivity, last)
        before = Bounds.of(self.spent.mu) ** 2 if self._releases else 0.0
        return Gaussian(sqrt(squared_mu).upper), Gaussian(sqrt(squared_mu + before).upper)

    def _draw(self, level: float, last: float) -> Array:
        return math.sqrt(level) * self._rng.standard_normal(self._true.shape)


class LaplaceNoiseReduction(NoiseReduction):
    r"""Release f(x) + Z_j with Z_j ~ Lap(Delta/epsilon_j) at growing epsilon_j, for the cost of the last.

    Each noisier value is made from the finer one alone: it repeats it with probability
    :math:`(\varepsilon_j/\varepsilon_{j+1})^2`, else it adds fresh
    :math:`\mathrm{Lap}(\Delta/\varepsilon_j)`. So the finest release determines the loss, at most
    :math:`\varepsilon` in every case: pure ex-post privacy (Koufogiannis, Han, Pappas 2017; Ligett, Neel,
    Roth, Waggoner, Wu 2017).

    Parameters
    ----------
    value, rng : as for ``BrownianMechanism``
    epsilons : levels :math:`\varepsilon_1 < \cdots <\varepsilon_k` in [1e-9, 1e9]; some may be left out later
    sensitivity : l1-sensitivity :math:`\Delta` of the query, in [1e-9, 1e9]
    filter : ``ExPostFilter`` that pays, or a ledger of one; without it the session only keeps count

    Examples
    --------
    >>> session = LaplaceNoiseReduction(100.0, [0.1, 0.2, 0.4], rng=1)
    >>> session.refine(0.1).spent, session.refine(0.4).spent
    (ExPost(epsilon=0.1, delta=0.0), ExPost(epsilon=0.4, delta=0.0))
    """

    _start = 0.0

    def __init__(
        self,
        value: ArrayLike,
        epsilons: Iterable[float],
        sensitivity: float = 1.0,
        *,
        filter: Charged | None = None,
        rng: Seed = None,
    ) -> None:
        super().__init__(value, sensitivity, filter=filter, rng=rng)
        if not isinstance(epsilons, Iterable):
            raise DomainError(f"epsilons must be several numbers, got {shown(epsilons)}")
        levels = [number("epsilons", each, *_SCALES) for each in epsilons]
        if not levels or any(a >= b for a, b in pairwise(levels)):
            raise DomainError(f"epsilons must increase, got {levels}")
        scales = [float((Bounds.of(self._sensitivity) / level).upper) for level in levels]
        shape = self._true.shape
        noise = [self._rng.laplace(scale=scales[-1], size=shape)]  # the finest, then each noisier one from it
        for coarse, fine in zip(scales[-2::-1], scales[:0:-1], strict=True):
            repeats = self._rng.random(shape) < (fine / coarse) ** 2
            noise.append(noise[-1] + np.where(repeats, 0.0, self._rng.laplace(scale=coarse, size=shape)))
        self._noise_of = dict(zip(levels, noise[::-1], strict=True))

    def _price(self, level: float, last: float) -> tuple[ExPost, ExPost]:
        later = [each for each in self._noise_of if each > last]
        if level not in later:
            raise DomainError(f"epsilon must be one of the later levels {later}, got {shown(level)}")
        return ExPost((Bounds.of(float(level)) - last).upper), ExPost(level)

    def _draw(self, level: float, last: float) -> Array:
        return self._noise_of[level]


def geometric(start: float, factor: float) -> Iterator[float]:
    """Return levels start, start/factor, start/factor^2, ...: each costs ``factor`` times the last.

    Parameters
    ----------
    start, factor : first variance, in (0, inf), and ratio of neighbouring levels, in (1, inf)

    Examples
    --------
    >>> from itertools import islice
    >>> list(islice(geometric(64.0, 4), 4))
    [64.0, 16.0, 4.0, 1.0]
    """
    level = number("start", start, 0, open_low=True, open_high=True)
    ratio = number("factor", factor, 1, open_low=True, open_high=True)
    return takewhile(lambda each: each > 0, accumulate(repeat(ratio), truediv, initial=level))


class _Sessions:
    """A filter that opens sessions which pay from it."""

    def brownian(
        self: Charged, value: ArrayLike, sensitivity: float = 1.0, *, rng: Seed = None
    ) -> BrownianMechanism:
        """Open a ``BrownianMechanism`` that pays here: mu^2 = Delta^2/T by time T, or half that in rho."""
        return BrownianMechanism(value, sensitivity, filter=self, rng=rng)

    def doubling(self: Charged, value: ArrayLike, sensitivity: float = 1.0, *, rng: Seed = None) -> Doubling:
        """Open a ``Doubling`` session that pays here, for every level."""
        return Doubling(value, sensitivity, filter=self, rng=rng)


@stateful
class UnifiedFilter(_Sessions, GDPFilter):
    """Continue while sum mu_k^2 + sum Delta_j^2/T_j <= mu^2, over steps k and sessions j: it is mu-GDP.

    A session in inverse time is Gaussian composition with increments chosen adaptively, so sessions and
    steps, interleaved in any order, form one adaptive sequence for the GDP filter (Rogers, Samorodnitsky, Wu,
    Ramdas 2023, in their zCDP form).

    >>> from tradeoff import Gaussian
    >>> budget = UnifiedFilter(1.0)
    >>> first, second = budget.brownian(120.0, rng=1), budget.brownian(80.0, rng=2)
    >>> first.refine(16.0).spent, second.refine(4.0).spent, first.refine(2.0).spent
    (G_{0.25}, G_{0.5}, G_{0.707107})
    >>> budget.spend(Gaussian(0.5))
    >>> budget.would_exceed(Gaussian(0.001)), budget.guarantee()
    (True, G_{1} (not exact))
    """

    kind = "unified"


@stateful
class UnifiedZCDPFilter(_Sessions, RhoFilter):
    """Continue while sum rho_k + sum Delta_j^2/(2 T_j) <= rho, over steps k and sessions j: it is rho-zCDP.

    It takes steps that are zCDP without being GDP, such as the discrete Gaussian; where all steps are
    Gaussian, ``UnifiedFilter(sqrt(2 rho))`` grants the same ones and guarantees more.

    >>> from tradeoff.mechanisms import DiscreteGaussian
    >>> budget = UnifiedZCDPFilter(0.5)
    >>> budget.spend(DiscreteGaussian(sigma=2))
    >>> budget.brownian(80.0, rng=1).refine(4.0).spent
    G_{0.5}
    >>> round(budget.spent.rho, 12)
    0.25
    """

    kind = "unified-zcdp"
