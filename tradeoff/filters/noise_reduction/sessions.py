"""Sessions: normal noise of falling variance, Brownian or drawn afresh, and a chain of Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.curves.parameters import number, reals
from tradeoff.errors import DomainError, KindError, domain, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.filters.expost import ExPost
from tradeoff.filters.noise_reduction.base import Charged, NoiseReduction, Noisy, Seed
from tradeoff.filters.noise_reduction.boundaries import Boundary, check_sensitivity, check_time
from tradeoff.intervals.rounding import Array
from tradeoff.mechanisms.base import ratio

_NOTHING = np.empty(0)  # what a generator of noisy values yields before the first level is sent
_LARGEST = 1e300  # values up to which noise added to them is a float

Drawn = Callable[[Array, np.random.Generator], Noisy]  # what yields the noisy values of a true one


class _Normal(NoiseReduction):
    """Session whose levels are falling variances, the times of the Brownian mechanism."""

    __slots__ = ("_sensitivity",)

    def __init__(
        self, value: ArrayLike, sensitivity: float, charged: Charged | None, rng: Seed, drawn: Drawn
    ) -> None:
        true = _query(value)
        self._sensitivity = check_sensitivity(sensitivity)
        super().__init__(drawn(true, _generator(rng)), charged, scalar=true.ndim == 0)

    def _falling(self, level: float) -> float:
        """Return the time asked for, which is below the last one."""
        time = check_time(level)
        last = self.releases[-1].level if self.releases else math.inf
        if time >= last:
            raise DomainError(f"time = {time!r} is not below the last time {last!r}: noise only falls")
        return time

    def _weight(self, time: float) -> Fraction:
        """Return mu^2 = Delta^2/t of one release."""
        return Fraction(self._sensitivity) ** 2 / Fraction(time)


class BrownianMechanism(_Normal):
    """Walk a Brownian motion back towards f(x).

    All releases f(x) + B_t together are worth the last, mu = Delta/sqrt(t).

    Parameters
    ----------
    value
        The true answer f(x), a number or an array; it is not handed out again.
    sensitivity
        l2-sensitivity Delta of the query, in (0, inf).
    filter
        What pays: a filter or a ledger with a ``spend``. Without one the session only keeps count.
    boundary
        ``LinearBoundary`` or ``MixtureBoundary``: pay ex post, psi(t) with its delta. Without one: pay
        Gaussian steps.
    rng
        ``numpy.random.Generator`` or a seed.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Read in inverse time 1/t the releases are Gaussian mechanisms with independent increments, chosen
    adaptively: the step from t to t' is G_mu with mu^2 = Delta^2 (1/t' - 1/t), which telescopes (Whitehouse,
    Ramdas, Wu, Rogers 2022; as adaptive Gaussian composition, Smith and Thakurta 2022). Noise is drawn in
    floating point: for research and simulation.

    Examples
    --------
    >>> session = BrownianMechanism(100.0, rng=1)
    >>> session.run(lambda seen: seen[-1].level <= 4, levels=[64.0, 16.0, 4.0, 1.0]).spent
    G_{0.5}
    >>> [release.level for release in session.releases]
    [64.0, 16.0, 4.0]
    """

    __slots__ = ("_boundary",)

    def __init__(
        self,
        value: ArrayLike,
        sensitivity: float = 1.0,
        *,
        filter: Charged | None = None,  # noqa: A002 - the name of the thing
        boundary: Boundary | None = None,
        rng: Seed = None,
    ) -> None:
        if boundary is not None and not (callable(boundary) and hasattr(boundary, "delta")):
            raise KindError(
                f"boundary = {boundary!r} is none; give LinearBoundary(delta, time), MixtureBoundary(delta, "
                "r), or None"
            )
        self._boundary = boundary
        super().__init__(value, sensitivity, filter, rng, _walk_back)

    def _price(self, level: float) -> tuple[Gaussian | ExPost, Gaussian | ExPost]:
        time = self._falling(level)
        return self._gaussian(time) if self._boundary is None else self._ex_post(time, self._boundary)

    def _gaussian(self, time: float) -> tuple[Gaussian, Gaussian]:
        """Price Delta^2 (1/t' - 1/t), in exact arithmetic: no rounding piles up over many refinements."""
        before = self._weight(self.releases[-1].level) if self.releases else 0
        return _gaussian_of(self._weight(time) - before), _gaussian_of(self._weight(time))

    def _ex_post(self, time: float, boundary: Boundary) -> tuple[ExPost, ExPost]:
        """Price psi(t') - psi(t); the boundary holds at all times at once, so its delta is paid once."""
        psi, delta = boundary(time, self._sensitivity), boundary.delta
        if not self.releases:
            return ExPost(psi, delta), ExPost(psi, delta)
        before = self.releases[-1].spent.epsilon
        total = ExPost(max(psi, before), delta)  # two times beside each other may round the other way
        return ExPost(_no_less(Fraction(total.epsilon) - Fraction(before)), 0.0), total


class Doubling(_Normal):
    """Ask again with less, independent noise: n releases f(x) + N(0, t_i) cost mu^2 = sum of Delta^2/t_i.

    Parameters
    ----------
    value, sensitivity, filter, rng
        As for ``BrownianMechanism``.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    With levels ``geometric(start, factor)`` the sum is up to 1/(1 - 1/factor) times the last term, which is
    all that noise reduction pays: 3.41 for factor sqrt(2), 2 for 2, 1.33 for 4; but a larger factor
    overshoots the level that was needed. Noise is drawn in floating point: for research and simulation.

    Examples
    --------
    >>> session = Doubling(100.0, rng=1)
    >>> session.refine(4.0).spent, session.refine(1.0).spent
    (G_{0.5}, G_{1.11803})
    """

    __slots__ = ()

    def __init__(
        self,
        value: ArrayLike,
        sensitivity: float = 1.0,
        *,
        filter: Charged | None = None,  # noqa: A002 - the name of the thing
        rng: Seed = None,
    ) -> None:
        super().__init__(value, sensitivity, filter, rng, _afresh)

    def _price(self, level: float) -> tuple[Gaussian, Gaussian]:
        weight = self._weight(self._falling(level))
        paid = Fraction(self.releases[-1].spent.mu) ** 2 if self.releases else Fraction(0)
        return _gaussian_of(weight), _gaussian_of(paid + weight)


def _walk_back(true: Array, rng: np.random.Generator) -> Noisy:
    """Yield true + B_t for each t sent: B_t' given B_t is the Brownian bridge from B_0 = 0."""
    time = yield _NOTHING
    noise = math.sqrt(time) * rng.standard_normal(true.shape)
    while True:
        new = yield true + noise
        noise = new / time * noise + math.sqrt(new * (1 - new / time)) * rng.standard_normal(true.shape)
        time = new


def _afresh(true: Array, rng: np.random.Generator) -> Noisy:
    time = yield _NOTHING
    while True:
        time = yield true + math.sqrt(time) * rng.standard_normal(true.shape)


class LaplaceNoiseReduction(NoiseReduction):
    """Release f(x) + Z_j with Z_j ~ Lap(Delta/epsilon_j) at growing epsilon_j.

    All of them together are worth the last.

    Parameters
    ----------
    value
        The true answer f(x), a number or an array; it is not handed out again.
    epsilons
        Levels epsilon_1 < ... < epsilon_k in (0, inf), fixed before the first release. Some may be skipped
        later.
    sensitivity
        l1-sensitivity Delta of the query, in (0, inf).
    filter
        What pays: an ``ExPostFilter`` or a ledger of one. Without it the session only keeps count.
    rng
        ``numpy.random.Generator`` or a seed.

    Raises
    ------
    DomainError
        If a parameter is out of range or the levels do not rise.

    Notes
    -----
    Each noisier value is made from the finer one alone: it repeats it with probability
    (epsilon_j/epsilon_{j+1})^2, else it adds fresh Lap(Delta/epsilon_j). So the finest release determines the
    loss, at most epsilon in every case: pure ex-post privacy (Koufogiannis, Han, Pappas 2017; Ligett, Neel,
    Roth, Waggoner, Wu 2017). Noise is drawn in floating point: for research and simulation.

    Examples
    --------
    >>> session = LaplaceNoiseReduction(100.0, [0.1, 0.2, 0.4], rng=1)
    >>> session.refine(0.1).spent, session.refine(0.4).spent
    (ExPost(epsilon=0.1, delta=0.0), ExPost(epsilon=0.4, delta=0.0))
    """

    __slots__ = ("_epsilons",)

    def __init__(
        self,
        value: ArrayLike,
        epsilons: Iterable[float],
        sensitivity: float = 1.0,
        *,
        filter: Charged | None = None,  # noqa: A002 - the name of the thing
        rng: Seed = None,
    ) -> None:
        true, distance = _query(value), check_sensitivity(sensitivity)
        self._epsilons = _rising(epsilons)
        scales = [
            number("sensitivity/epsilon", ratio(distance, epsilon), 1e-300, 1e300)
            for epsilon in self._epsilons
        ]
        chain = dict(zip(self._epsilons, _chain(scales, true.shape, _generator(rng)), strict=True))
        super().__init__(_refined(true, chain), filter, scalar=true.ndim == 0)

    def _price(self, level: float) -> tuple[ExPost, ExPost]:
        epsilon = number("epsilon", level, 0.0, open_low=True, open_high=True)
        last = self.releases[-1].level if self.releases else 0.0
        if epsilon not in self._epsilons or epsilon <= last:
            allowed = [each for each in self._epsilons if each > last]
            raise DomainError(f"epsilon = {epsilon!r} is none of the levels still to come, {allowed}")
        return ExPost(_no_less(Fraction(epsilon) - Fraction(last)), 0.0), ExPost(epsilon, 0.0)


def _rising(epsilons: Iterable[float]) -> tuple[float, ...]:
    try:
        levels = list(epsilons)
    except TypeError as error:
        remedy = f"give a list of them, such as [{shown(epsilons)}]"
        raise domain("epsilons", epsilons, "the rising levels in (0, inf)", remedy) from error
    found = tuple(
        number(f"epsilons[{i}]", each, 0.0, open_low=True, open_high=True) for i, each in enumerate(levels)
    )
    if not found or any(a >= b for a, b in pairwise(found)):
        raise DomainError(
            f"epsilons = {found} do not rise; give at least one level, each above the one before"
        )
    return found


def _chain(scales: list[float], shape: tuple[int, ...], rng: np.random.Generator) -> list[Array]:
    """Draw the finest noise, then each noisier one from it."""
    noise = [rng.laplace(scale=scales[-1], size=shape)]
    for coarse, fine in zip(scales[-2::-1], scales[:0:-1], strict=True):
        kept = rng.random(shape) < (fine / coarse) ** 2
        noise.append(noise[-1] + np.where(kept, 0.0, rng.laplace(scale=coarse, size=shape)))
    return noise[::-1]


def _refined(true: Array, chain: dict[float, Array]) -> Noisy:
    epsilon = yield _NOTHING
    while True:
        epsilon = yield true + chain[epsilon]


def _query(value: ArrayLike) -> Array:
    """Return the true value as an array of its own; it must be finite."""
    try:
        found = np.array(reals("value", value))
    except DomainError:  # which would tell the value
        remedy = "drop masks and dates, write text and truth values as numbers"
        raise DomainError(f"the value of the query is not an array of real numbers; {remedy}") from None
    if not np.all(np.abs(found) <= _LARGEST):  # NaN lands here too
        raise DomainError(
            f"the value of the query is not made of numbers within {_LARGEST:g} of 0; clip it to a public "
            "range first"
        )
    return found


def _generator(rng: Seed) -> np.random.Generator:
    """Return a NumPy generator: the one given, or one made from a seed, or a fresh one."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise DomainError(
            f"rng = {shown(rng)} is neither a numpy.random.Generator nor a seed (a whole number from 0)"
        ) from error


def _gaussian_of(weight: Fraction) -> Gaussian:
    """Return G_mu with mu^2 at least ``weight``: the root in whole numbers, with 64 bits to spare, and up."""
    square = weight.numerator * weight.denominator << 128
    root = math.isqrt(square)
    return Gaussian(_no_less(Fraction(root + (root * root < square), weight.denominator << 64)))


def _no_less(value: Fraction) -> float:
    """Return the least float at or above ``value``."""
    try:
        found = float(value)
    except OverflowError:
        raise DomainError(
            "the level costs more than a float can hold; refine less, or measure the query in other units"
        ) from None
    return found if Fraction(found) >= value else math.nextafter(found, math.inf)
