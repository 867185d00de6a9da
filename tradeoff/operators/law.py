"""The law of the privacy loss L = log dQ/dP, for study and sampling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args, overload

import numpy as np

from tradeoff.accounting import exact
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import Number, Numbers, choice, count, number, reals
from tradeoff.curves.product import law_pair
from tradeoff.errors import DomainError, KindError, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip, exp, expm1, maximum, meet, rational
from tradeoff.intervals.roots import largest
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.operators.order_exact import top
from tradeoff.pld.cumulant import Cumulant
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.law import PrivacyLossDistribution, masses
from tradeoff.pld.transformed import ReversedPLD

Under = Literal["P", "Q"]
_STEP = 1e-3  # step of difference quotients: a thousandth of a nat, so that last digits cost a trillionth

# Share of 1 + |t| beside t at which mass is looked up: a loss and the place where L has it are known to some
# units, but for places within some units of an end, or of a turn, of L.
_ASIDE = 2.0**-40

_ROUNDED = 1e-12  # share of a mass that sums, exponentials and masses at infinity may round away, generously
_BEYOND = 1e-300  # mass of tails that no cell holds, of what is no float, and of what these round by, at most
_FARTHEST = 690.0  # loss whose e^t is still a float
_MOST = 1e300  # loss, in nats, beyond which no quantile is looked for
_LEAST = 1e-290  # mass below which none is told from 0
_MOST_ATOMS = 2**16  # atoms of a product summed apart, at each loss
_MOST_DRAWN = 10**9  # samples drawn at once: 8 GB
_OTHER: dict[Under, Under] = {"P": "Q", "Q": "P"}


@dataclass(frozen=True)
class Law:
    """Law of L under P and under Q: distribution function, atoms, masses at infinity, cumulants, samples.

    Distribution functions come from bounds on the profile and hold the truth. Cumulants and samples are
    estimates for study: cumulants of losses about 1 are good to 1e-6, and less so as losses grow
    (``limits.kl`` and ``limits.kappa2`` have bounds); samples are spread evenly over cells some tenths of a
    standard deviation wide. All but the distribution functions of a curve known only between two others are
    the lower one's.

    Examples
    --------
    >>> from tradeoff import PureDP
    >>> law = PureDP(1.0).law
    >>> round(law.mean("Q"), 6), law.mass_at_infinity
    (0.462117, 0.0)
    """

    curve: TradeOff

    @cached_property
    def _pairs(self) -> list[tuple[PrivacyLossDistribution, PrivacyLossDistribution, int]]:
        factors = self.curve.factors
        return [law_pair(f, n) for f, n in factors.items()]

    @property
    def _factors(self) -> list[tuple[PrivacyLossDistribution, int]]:
        return [(low, n) for low, _, n in self._pairs]

    def _parts(self, under: Under) -> list[tuple[PrivacyLossDistribution, int]]:
        choice("under", under, get_args(Under))
        return [(ReversedPLD(law), n) for law, n in self._factors] if under == "Q" else self._factors

    @property
    def mass_at_infinity(self) -> float:
        """Return Q(L = +inf), rounded up."""
        return float(self.curve.mass_at_infinity.upper)

    @property
    def mass_at_minus_infinity(self) -> float:
        """Return P(L = -inf), rounded up."""
        return float(self.curve.inverse().mass_at_infinity.upper)

    @property
    def atoms(self) -> tuple[Array, Array, Array]:
        """Return losses, P- and Q-masses of the point masses; of a product, only if they are all there is."""
        alone = len(self._factors) == 1 and self._factors[0][1] == 1
        law = self._factors[0][0] if alone else self._single
        if law is None:
            raise DomainError("the atoms of a product are not listed; ask those of its factors")
        loss, log_p, _ = law.atoms
        return loss, np.exp(log_p), np.exp(log_p + loss)

    @overload
    def cdf(self, loss: Number, *, under: Under = "P") -> Bounds[float]: ...
    @overload
    def cdf(self, loss: Numbers, *, under: Under = "P") -> Bounds[Array]: ...
    def cdf(self, loss: Number | Numbers, *, under: Under = "P") -> Bounds:
        """Return P(L <= loss) or Q(L <= loss), bounded from both sides.

        The slope of the convex profile in s = e^eps is -P(L > eps): between those of chords on both sides.
        Known atoms of a product, those at its ends among them, are summed apart.
        """
        choice("under", under, get_args(Under))
        at = reals("loss", loss)
        if np.isnan(at).any():
            raise DomainError(f"loss = {shown(loss)} holds NaN; give losses in nats")
        low, high = np.zeros(at.shape), np.ones(at.shape)
        low[at == np.inf] = 1.0
        finite = np.isfinite(at)
        low[finite], high[finite] = self._cdf(at[finite], under)
        # No finite loss is above the supremum, or below that of the other order.
        above, below = finite & (at >= self.supremum), at < -self._turned.supremum
        low[above], high[above] = 1 - self.curve.mass_at_infinity if under == "Q" else (1.0, 1.0)
        below |= at == -np.inf
        low[below], high[below] = self._turned.curve.mass_at_infinity if under == "P" else (0.0, 0.0)
        return Bounds(low, high) if at.ndim else Bounds(float(low), float(high))

    def _cdf(self, at: Array, under: Under) -> tuple[Array, Array]:
        if (single := self._single) is not None:
            return _single_cdf(single, at, under)
        # Where e^t is no float: P(L > t) and Q(L <= -t) are at most e^-t.
        low = np.where((at >= _FARTHEST) & (under == "P"), 1 - UNIT, 0.0)  # the float below 1
        high = np.where((at <= -_FARTHEST) & (under == "Q"), 1e-290, 1.0)
        right, left = (at >= 0) & (at < _FARTHEST), (at < 0) & (at > -_FARTHEST)
        low[right], high[right] = 1 - self.mass_beyond(at[right], under)
        low[left], high[left] = self._turned.mass_beyond(-at[left], _OTHER[under])
        return low, high

    @cached_property
    def supremum(self) -> float:
        """An upper bound on the finite losses, the least float that is known to be one."""
        most = top(self.curve)[1]
        return float(rational(most).upper) if isinstance(most, Fraction) else most

    @cached_property
    def _turned(self) -> Law:
        return Law(self.curve.inverse())

    @cached_property
    def _single(self) -> PrivacyLossDistribution | None:
        """The law of a single round, or of a product of few atoms, that is known as such."""
        if any(low is not high for low, high, _ in self._pairs):
            return None
        if len(self._factors) == 1 and self._factors[0][1] == 1:
            return self._factors[0][0]
        return exact.product(*zip(*self._factors, strict=True)) if self._factors else None

    @cached_property
    def _atoms(self) -> AtomicLaw | None:
        """The atoms of a product, or those at its ends where all are too many."""
        if any(low is not high or len(low.atoms.loss) == 0 for low, high, _ in self._pairs):
            return None
        counts = [n for _, n in self._factors]
        for some in (slice(None), [0, -1], [-1]):
            laws = [_atomic(law, some) for law, _ in self._factors]
            if (result := exact.product(laws, counts)) is not None and len(result.loss) <= _MOST_ATOMS:
                return result
        return None

    def mass_beyond(self, at: Array, under: Under) -> Bounds[Array]:
        """Bound P(L > t) and P(L >= t), or those of Q, for t >= 0, where delta is no difference from 1.

        They are slopes of delta in s = e^eps, between those of chords a step to either side. Known atoms are
        not smeared by chords: their part of delta, sum_j p_j (e^l_j - s)^+, is subtracted first.
        """
        places = at - _STEP, at, at + _STEP
        profile = [self.curve.bounds.delta(x) for x in places]
        more = clip(_slope(at, profile), 0.0, 1.0)
        if (atoms := self._atoms) is not None:
            known = [_of_atoms(atoms, x) for x in places]
            rest = [delta - part for delta, (part, _) in zip(profile, known, strict=True)]
            more = meet(more, clip(_slope(at, rest) + known[1][1], 0.0, 1.0))
        # Q(L > t) = delta(t) + e^t P(L > t)
        return more if under == "P" else clip(profile[1] + exp(at) * more, 0.0, 1.0)

    def cumulants(self, *, under: Under = "P") -> tuple[float, float]:
        """Return mean and variance of the finite part of L, in nats: sums over the factors."""
        if self.curve.mass_at_minus_infinity >= 1 or self.curve.mass_at_plus_infinity >= 1:
            raise DomainError(f"{self.curve!r} has no finite loss, and so no mean")
        known = [n * f.mu * f.mu for f, n in self.curve.factors.items() if isinstance(f, Gaussian)]
        parts = zip(self.curve.factors, self._parts(under), strict=True)
        others = [(law.sketch(), n) for f, (law, n) in parts if not isinstance(f, Gaussian)]
        _, mean, variance = Cumulant(others)(0.0) if others else (0.0, 0.0, 0.0)
        mean, variance = mean - sum(known) / 2, variance + sum(known)
        if not (math.isfinite(mean) and math.isfinite(variance)):
            raise DomainError(f"the losses of {self.curve!r} have no mean and variance that floats hold")
        return (-mean if under == "Q" else mean), variance

    def mean(self, under: Under = "P") -> float:
        """Return the mean of the finite part of L, in nats."""
        return self.cumulants(under=under)[0]

    def variance(self, under: Under = "P") -> float:
        """Return the variance of the finite part of L, in nats squared."""
        return self.cumulants(under=under)[1]

    def quantile(self, level: float, *, under: Under = "P") -> float:
        """Return the loss, in nats, where the cdf crosses ``level`` in (0, 1); infinite where masses are."""
        choice("under", under, get_args(Under))
        level = number("level", level, 0, 1, open_low=True, open_high=True)
        if under == "P" and level <= self.curve.mass_at_minus_infinity:
            return -np.inf
        if under == "Q" and level > 1 - self.curve.mass_at_plus_infinity:
            return np.inf
        if level > 0.5:
            return self.left_above(1 - level, under=under)
        return -self._turned.left_above(level, under=_OTHER[under])

    def left_above(self, rest: float, *, under: Under = "P") -> float:
        """Return about the loss, in nats, above which the mass ``rest`` lies; small ones keep their digits.

        Of a product to 2e-3 nats, two steps of the chords that bound it, or for a mass a thousandth away;
        known atoms, and the supremum, to rounding.

        Raises
        ------
        DomainError
            If ``rest`` is not in (0, 1), below 1e-290 or told from no other mass, or the loss of a product is
            beyond 690 nats.
        """
        choice("under", under, get_args(Under))
        rest = number("rest", rest, 0, 1, open_low=True, open_high=True)
        end = _FARTHEST if self._single is None else _MOST

        def more(t: float) -> bool:
            low, high = self._above(t, under)
            return t <= -end or (t < end and low + high > 2 * rest)

        mean, variance = self.cumulants(under=under)
        reach = math.sqrt(variance) + 1e-9 * (1 + abs(mean))
        low, high = mean - reach, mean + reach
        # Rare losses lie any number of standard deviations away.
        while not more(low):
            low, high = low - 2 * (high - low), low
        while more(high):
            low, high = high, high + 2 * (high - low)
        result = largest(more, low, high)
        if rest < _LEAST or abs(result) + 2 * _STEP >= end or not self._told(result, rest, under):
            where = f"a mass of {rest!r} is below {_LEAST:g}, ends beyond {end:g} nats or is known too little"
            raise DomainError(f"{where}, and no quantile is told; ask a level nearer to 1/2")
        return self._snapped(result)

    def _snapped(self, found: float) -> float:
        """Return a known atom that is no farther than its error, and nothing above the supremum."""
        if (atoms := self._atoms) is not None:
            k = int(np.argmin(np.abs(atoms.loss - found)))
            if abs(atoms.loss[k] - found) <= 2 * atoms.loss_error[k]:
                found = float(atoms.loss[k])
        return min(found, self.supremum)

    def _told(self, found: float, rest: float, under: Under) -> bool:
        """Whether about the mass ``rest`` of a product is proved to end two steps around a loss."""
        if self._single is not None:
            return True
        before, after = (self._above(found + side * _STEP, under) for side in (-2, 2))
        return before[0] >= rest * (1 - _STEP) and after[1] <= rest * (1 + _STEP)

    def _above(self, t: float, under: Under) -> tuple[float, float]:
        """Bound the mass above a loss, small masses to their last digits where the loss is positive."""
        at = np.array([t])
        if t >= self.supremum:
            low, high = np.array([*self.curve.mass_at_infinity]).reshape(2, 1) * (under == "Q")
        elif (single := self._single) is not None:
            low, high = _single_cdf(ReversedPLD(single), -at, _OTHER[under])
        elif 0 <= t < _FARTHEST:
            low, high = self.mass_beyond(at, under)
        else:
            low, high = 1 - Bounds(*self._cdf(at, under))
        return float(low[0]), float(high[0])

    def sample(self, size: int, rng: np.random.Generator, *, under: Under = "P") -> Array:
        """Draw ``size`` losses, in nats, infinite ones included. Cost: size times the number of rounds."""
        size = count("size", size, 0, _MOST_DRAWN)
        if not isinstance(rng, np.random.Generator):
            raise KindError(f"rng = {shown(rng)} draws nothing; give numpy.random.default_rng()")
        total = np.zeros(size)
        sign = -1.0 if under == "Q" else 1.0
        for law, n in self._parts(under):
            sketch = law.sketch()
            weight = np.exp(sketch.log_p)
            finite = 1 - law.mass_at_minus_infinity
            if finite <= 0:
                return np.full(size, -sign * np.inf)
            cumulative = np.cumsum(weight) / np.sum(weight)
            start, end = _spread(sketch.loss, law.atoms.loss)
            for _ in range(n):
                drawn = np.searchsorted(cumulative, rng.random(size)).clip(0, len(weight) - 1)
                loss = start[drawn] + (end - start)[drawn] * rng.random(size)
                total += sign * np.where(rng.random(size) < finite, loss, -np.inf)
        return total


def _spread(loss: Array, atoms: Array) -> tuple[Array, Array]:
    """Return where cells around points start and end: half-way to the next ones, but for atoms."""
    middle = (loss[:-1] + loss[1:]) / 2
    start, end = np.append(loss[:1], middle), np.append(middle, loss[-1:])
    atom = np.isin(loss, atoms)
    return np.where(atom, loss, start), np.where(atom, loss, end)


def _slope(at: Array, profile: Sequence[Bounds[Array]]) -> Bounds[Array]:
    """Bound -d delta/d e^eps from below by the chord after a loss, from above by that before it."""
    before, here, after = profile
    t = Bounds.of(at)
    fall = (here - after) / expm1(Bounds.of(at + _STEP) - t)
    rise = (before - here) / -expm1(at - _STEP - t)
    return Bounds(fall.lower, rise.upper) / exp(at)


def _atomic(law: PrivacyLossDistribution, some: Any) -> AtomicLaw:
    """Return some atoms of a law as a law of their own."""
    index = np.unique(np.arange(len(law.atoms.loss))[some])
    loss, log_p, slack = (each[index] for each in law.atoms)
    return AtomicLaw(loss, log_p, slack=slack, position=float(np.max(law.loss_error[index])))


def _of_atoms(atoms: AtomicLaw, at: Array) -> tuple[Bounds[Array], Bounds[Array]]:
    """Bound sum_j p_j (e^l_j - e^t)^+ and the P-mass above t, at each loss t."""
    loss = Bounds(atoms.loss - atoms.loss_error, atoms.loss + atoms.loss_error)
    slack = atoms.atoms.slack
    weights = exp(atoms.log_p) * (1 + Bounds(-slack, slack))
    rounded = (len(slack) + 8) * UNIT  # of a sum of positive numbers, and one product

    def added(each: Bounds[Array]) -> Bounds[float]:
        return Bounds(float(np.sum(each.lower)) * (1 - rounded), float(np.sum(each.upper)) * (1 + rounded))

    rows = [
        [
            *(exp(t) * added(weights * expm1(maximum(loss - t, 0.0)))),
            *added(Bounds(weights.lower * (loss.lower > t), weights.upper * (loss.upper > t))),
        ]
        for t in at.tolist()
    ]
    low, high, least, most = np.array(rows).reshape(-1, 4).T
    return Bounds(low, high), Bounds(least, most)


def _single_cdf(law: PrivacyLossDistribution, at: Array, under: Under) -> tuple[Array, Array]:
    """Bound the mass up to each loss: from below what lies there for certain, from above what may."""
    sides = []
    for sign in (-1.0, 1.0):
        loss, log_p, atom_slack = law.atoms
        weight = np.exp(log_p + (loss if under == "Q" else 0.0)) * (1 + sign * (atom_slack + _ROUNDED))
        earliest = loss - sign * law.loss_error  # the truth of an atom lies between both
        atoms = np.array([np.sum(weight[earliest <= t]) for t in at])
        rest = np.array([_continuous(law, _beside(law, t, sign), sign, under) for t in at.tolist()])
        lowest = law.mass_at_minus_infinity * (1 + sign * _ROUNDED) if under == "P" else 0.0
        sides.append((lowest + atoms + rest) * (1 + sign * _ROUNDED))
    return np.maximum(sides[0] - _BEYOND, 0.0), np.minimum(sides[1] + law.lost + _BEYOND, 1.0)


def _beside(law: PrivacyLossDistribution, t: float, sign: float) -> float:
    """Return a loss beside t whose cut is beyond t for certain."""
    step = _ASIDE * (1 + abs(t))
    while law.continuous and float(law.edge_error(np.array([t + sign * step]))[0]) > step:
        step *= 2
    return t + sign * step


def _continuous(law: PrivacyLossDistribution, t: float, sign: float, under: Under) -> float:
    """Bound the mass up to t of a law's part without atoms, on one side."""
    if not law.continuous:
        return 0.0
    edges = np.array([-np.inf, t, np.inf])
    cells = law.cells(edges)
    p, q = masses(cells, edges)
    result = float((q if under == "Q" else p)[0] * (1 + sign * cells.slack[0]))
    if under == "Q" or t >= 0 or cells.excess[0] >= _LEAST:
        return result
    if sign > 0 and t > -_FARTHEST:  # what floats do not hold is little: there may be no mass at all
        return min(_far_below(law, t, sign), result + float((2 * _LEAST * exp(-t)).upper))
    return _far_below(law, t, sign)


def _far_below(law: PrivacyLossDistribution, t: float, sign: float) -> float:
    """Bound P(L <= t) on one side where no float holds Q(L <= t), a term of it times e^-t.

    D(t) = E_P (1 - e^(L - t))^+ = P(L <= t) - e^-t Q(L <= t) is convex in u = e^-t, with slope -Q(L <= t):
    between those of chords a step to either side.
    """
    step, here = max(_STEP, _ASIDE * abs(t)), _deficit(law, t, -1.0)
    if sign < 0:
        fall = (here - Bounds.of(_deficit(law, t - step, 1.0))) / expm1(Bounds.of(t) - (t - step))
        return max(float((fall + here).lower), here)
    rise = (_deficit(law, t + step, 1.0) - Bounds.of(here)) / -expm1(t - Bounds.of(t + step))
    return float((rise + _deficit(law, t, 1.0)).upper)


def _deficit(law: PrivacyLossDistribution, t: float, sign: float) -> float:
    """Bound E_P (1 - e^(L - t))^+ of the part without atoms on one side: the cell up to beside t."""
    cells = law.cells(np.array([-np.inf, _beside(law, t, sign), np.inf]))
    return float(cells.deficit[0] * (1 + sign * (cells.slack[0] + 4 * UNIT)))
