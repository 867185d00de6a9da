"""The law of the privacy loss L = log dQ/dP, for study and sampling.

A ``PrivacyLossDistribution`` is L under P of one factor. Its ``atoms`` are point masses, its ``sketch``
points that represent all finite losses. ``cells(edges)`` are the excess Q - e^a P and the deficit P - e^-b Q
of the part without atoms in each cell [a, b], to a relative ``slack``, of a law whose losses are at most
``edge_error`` off. ``under`` names the law, P or Q, of which a probability is meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args, overload

import numpy as np

from tradeoff.accounting import exact
from tradeoff.accounting.saddles import Cumulant
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import Number, Numbers, choice, count, number, reals_between
from tradeoff.curves.product import law_pair
from tradeoff.errors import DomainError, KindError, shown
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Array, Bounds
from tradeoff.intervals.functions import clip, exp, expm1, maximum, meet, rational, total
from tradeoff.intervals.roots import bracket_root
from tradeoff.operators.order import largest_loss
from tradeoff.pld.discrete import AtomicLaw
from tradeoff.pld.law import PrivacyLossDistribution
from tradeoff.pld.transformed import ReversedPLD

Under = Literal["P", "Q"]
_STEP = 1e-3  # nats between which slopes are measured: last digits of delta then cost a trillionth
_NEIGHBOUR = 2.0**-40  # distance, relative to 1 + |t|, from t to an edge certainly on one side of it
_MIN_MASS = 1e-290  # mass below which floats have too few digits to compare
_FARTHEST = 690.0  # loss whose e^t is still a float


@dataclass(frozen=True)
class Law:
    """Law of L under P and under Q: distribution function, atoms, masses at infinity, cumulants, samples.

    Distribution functions come from bounds on the profile and hold the truth. Cumulants and samples are
    estimates for study: cumulants of losses about 1 are good to 1e-6, and less so as losses grow
    (``limits.kl`` and ``limits.kappa2`` have bounds); samples are spread evenly over cells some tenths of a
    standard deviation wide. For a curve known only between two others, all but ``cdf`` describes the lower
    one.

    >>> from tradeoff import PureDP
    >>> law = PureDP(1.0).law
    >>> round(law.mean("Q"), 6), law.mass_at_infinity
    (0.462117, 0.0)
    """

    curve: TradeOff

    @cached_property
    def _pairs(self) -> list[tuple[PrivacyLossDistribution, PrivacyLossDistribution, int]]:
        """Laws of each factor, of curves below and above it, the same if it is exact; and its power."""
        return [law_pair(f, n) for f, n in self.curve.factors.items()]

    def _parts(self, under: Under) -> list[tuple[PrivacyLossDistribution, int]]:
        """Laws with powers: of L under P, or of -L under Q, which is the loss of the reversed pair."""
        choice("under", under, get_args(Under))
        return [(ReversedPLD(law) if under == "Q" else law, n) for law, _, n in self._pairs]

    @cached_property
    def _inverse(self) -> Law:
        """Law of -L, with P and Q exchanged."""
        return Law(self.curve.inverse())

    @property
    def mass_at_infinity(self) -> float:
        """Return Q(L = +inf), rounded up."""
        return float(self.curve.mass_at_infinity.upper)

    @property
    def mass_at_minus_infinity(self) -> float:
        """Return P(L = -inf), rounded up."""
        return self._inverse.mass_at_infinity

    @cached_property
    def supremum(self) -> float:
        """Return the least float that is known to bound the finite losses."""
        most = largest_loss(self.curve)[1]
        return float(rational(most).upper) if isinstance(most, Fraction) else most

    @property
    def atoms(self) -> tuple[Array, Array, Array]:
        """Return losses, P- and Q-masses of the point masses; for a product, only if all mass is in atoms."""
        (first, _, n), *others = self._pairs
        law = self._exact_law if others or n > 1 else first
        if law is None:
            raise DomainError("the atoms of a product are not listed; use those of its factors")
        loss, log_p, *_ = law.atoms
        return loss, np.exp(log_p), np.exp(log_p + loss)

    @cached_property
    def _exact_law(self) -> PrivacyLossDistribution | None:
        """The law of one factor, or of a product of few atoms; None for others, and if not exact."""
        if any(low is not high for low, high, _ in self._pairs):
            return None
        laws, _, times = zip(*self._pairs, strict=True)
        return laws[0] if times == (1,) else exact.product(laws, times)

    @cached_property
    def _atoms(self) -> AtomicLaw | None:
        """The products of atoms alone, if they are not too many, with the continuous part left out."""
        if any(low is not high or len(low.atoms.loss) == 0 for low, high, _ in self._pairs):
            return None
        laws = [
            AtomicLaw(*law.atoms[:2], slack=law.atoms.slack, position=float(np.max(law.atoms.error)))
            for law, *_ in self._pairs
        ]
        result = exact.product(laws, [n for *_, n in self._pairs])
        return result if result is not None and len(result.loss) <= 2**16 else None  # summed at each loss

    @overload
    def cdf(self, loss: Number, *, under: Under = "P") -> Bounds[float]: ...
    @overload
    def cdf(self, loss: Numbers, *, under: Under = "P") -> Bounds[Array]: ...
    def cdf(self, loss: Number | Numbers, *, under: Under = "P") -> Bounds:
        r"""Return P(L <= loss) or Q(L <= loss), bounded on both sides.

        The slope of the convex profile in :math:`s = e^\varepsilon` is :math:`-P(L > \varepsilon)`, which
        lies between those of chords on both sides. Atoms of a product, unless they are very many, are summed
        separately.
        """
        choice("under", under, get_args(Under))
        at = reals_between("loss", loss, -np.inf, np.inf)
        low, high = np.zeros(at.shape), np.ones(at.shape)
        low[at == np.inf] = 1.0
        finite = np.isfinite(at)
        if (exact_law := self._exact_law) is not None:
            low[finite], high[finite] = _bound_cdf(exact_law, at[finite], under)
        else:  # where e^t is not a float: P(L > t) and Q(L <= -t) are at most e^-t
            low[finite & (at >= _FARTHEST) & (under == "P")] = (1 - exp(-_FARTHEST)).lower
            high[finite & (at <= -_FARTHEST) & (under == "Q")] = exp(-_FARTHEST).upper
            right, left = (at >= 0) & (at < _FARTHEST), (at < 0) & (at > -_FARTHEST)
            low[right], high[right] = 1 - self.tail(at[right], under)
            low[left], high[left] = self._inverse.tail(-at[left], "Q" if under == "P" else "P")
        # No finite loss is above the supremum, or below that of the other order.
        above, below = finite & (at >= self.supremum), at < -self._inverse.supremum
        low[above], high[above] = 1 - self.curve.mass_at_infinity if under == "Q" else (1.0, 1.0)
        below |= at == -np.inf
        low[below], high[below] = self._inverse.curve.mass_at_infinity if under == "P" else (0.0, 0.0)
        return Bounds(low, high) if at.ndim else Bounds(float(low), float(high))

    def tail(self, at: Array, under: Under) -> Bounds[Array]:
        r"""Bound P(L > t) and P(L >= t), or those of Q, for t >= 0, where delta is not a difference from 1.

        They are slopes of delta in :math:`s = e^\varepsilon`, between those of chords a step to either side.
        Chords smear atoms, so the part of known ones in delta, :math:`\sum_j p_j (e^{l_j} - s)_+`, is
        subtracted first.
        """
        places = at - _STEP, at, at + _STEP
        profile = [self.curve.bounds.delta(x) for x in places]
        tail = clip(_slope(at, profile), 0.0, 1.0)
        if (atoms := self._atoms) is not None:
            of_atoms = [_atoms_above(atoms, x) for x in places]  # (part of delta, P-mass) at each place
            rest = [delta - part for delta, (part, _) in zip(profile, of_atoms, strict=True)]
            tail = meet(tail, clip(_slope(at, rest) + of_atoms[1][1], 0.0, 1.0))
        # Q(L > t) = delta(t) + e^t P(L > t)
        return tail if under == "P" else clip(profile[1] + exp(at) * tail, 0.0, 1.0)

    def cumulants(self, *, under: Under = "P") -> tuple[float, float]:
        """Estimate mean (nats) and variance (nats squared) of finite losses: sums over the factors."""
        if self.curve.mass_at_minus_infinity >= 1 or self.curve.mass_at_plus_infinity >= 1:
            raise DomainError(f"{self.curve!r} has no finite loss, and so no mean")
        # L of G_mu is N(-mu^2/2, mu^2) under P.
        gaussian = sum(n * f.mu * f.mu for f, n in self.curve.factors.items() if isinstance(f, Gaussian))
        parts = zip(self.curve.factors, self._parts(under), strict=True)
        others = [(law.sketch(), n) for f, (law, n) in parts if not isinstance(f, Gaussian)]
        _, mean, variance = Cumulant(others)(0.0) if others else (0.0, 0.0, 0.0)
        mean, variance = mean - gaussian / 2, variance + gaussian
        return (-mean if under == "Q" else mean), variance  # parts under Q have the law of -L

    def mean(self, under: Under = "P") -> float:
        """Return the mean of the finite part of L, in nats."""
        return self.cumulants(under=under)[0]

    def variance(self, under: Under = "P") -> float:
        """Return the variance of the finite part of L, in nats squared."""
        return self.cumulants(under=under)[1]

    def quantile(self, level: float, *, under: Under = "P") -> float:
        """Return about the loss where the cdf crosses ``level`` in (0, 1); infinite where masses are.

        For a product to 2e-3 nats, two steps of the chords that bound it, or for a mass a thousandth away;
        known atoms, and the ends of the law, to rounding.

        Raises
        ------
        DomainError
            If the level is within 1e-290 of an end, its bounds are too wide, or the loss of a product is
            above 690 nats.
        """
        choice("under", under, get_args(Under))
        level = number("level", level, 0, 1, open_low=True, open_high=True)
        if under == "P" and level <= self.curve.mass_at_minus_infinity:
            return -np.inf
        if under == "Q" and level > 1 - self.curve.mass_at_plus_infinity:
            return np.inf
        # Small masses keep their digits: the mass above is that of the other order below.
        if level > 0.5:
            return -self._inverse.crossing(1 - level, "Q" if under == "P" else "P")
        return self.crossing(level, under)

    def crossing(self, mass: float, under: Under) -> float:
        """Return about the loss, in nats, where the cdf crosses a mass of at most 1/2."""
        end = _FARTHEST if self._exact_law is None else 1e300

        def reciprocal(t: Array) -> Array:
            """Return the reciprocal of the cdf, which falls from inf at -``end`` to 0 at ``end``."""
            with np.errstate(divide="ignore"):
                each = 2 / np.add(*self.cdf(t, under=under))
            return np.where(t <= -end, np.inf, np.where(t >= end, 0.0, each))

        result = float(bracket_root(reciprocal, np.array([1 / mass]), farthest=end)[0][0])
        resolved = mass >= _MIN_MASS and abs(result) + 2 * _STEP < end
        if resolved and self._exact_law is None:  # the mass must begin within two steps
            before, after = (self.cdf(result + side * _STEP, under=under) for side in (-1, 2))
            resolved = before.upper <= mass * (1 + _STEP) and after.lower >= mass * (1 - _STEP)
        if not resolved:
            reasons = f"it is below {_MIN_MASS:g}, above {end:g} nats, or its bounds are too wide"
            raise DomainError(f"no quantile of a mass of {mass!r}: {reasons}; choose a level nearer to 1/2")
        if (atoms := self._atoms) is not None:  # the loss of an atom this close is meant
            k = int(np.argmin(np.abs(atoms.loss - result)))
            if abs(atoms.loss[k] - result) <= 2 * atoms.atoms.error[k]:
                result = float(atoms.loss[k])
        return max(result, -self._inverse.supremum)

    def sample(self, size: int, rng: np.random.Generator, *, under: Under = "P") -> Array:
        """Draw ``size`` losses, in nats, infinite ones included. Cost: size times the number of rounds."""
        size = count("size", size, 0, 10**9)  # 8 GB
        if not isinstance(rng, np.random.Generator):
            raise KindError(
                f"rng must be a generator of NumPy, got {shown(rng)}; give numpy.random.default_rng()"
            )
        result = np.zeros(size)
        sign = -1.0 if under == "Q" else 1.0
        for law, n in self._parts(under):
            sketch = law.sketch() if law.continuous else law.atoms
            weight = np.exp(sketch.log_p)
            finite = 1 - law.mass_at_minus_infinity
            if finite <= 0:
                return np.full(size, -sign * np.inf)
            cumulative = np.cumsum(weight) / np.sum(weight)
            # A point stands for the cell that reaches half-way to the next ones, and an atom for itself.
            middle, is_atom = (sketch.loss[:-1] + sketch.loss[1:]) / 2, np.isin(sketch.loss, law.atoms.loss)
            start = np.where(is_atom, sketch.loss, np.append(sketch.loss[:1], middle))
            width = np.where(is_atom, 0.0, np.append(middle, sketch.loss[-1:]) - start)
            for _ in range(n):
                drawn = np.searchsorted(cumulative, rng.random(size)).clip(0, len(weight) - 1)
                loss = start[drawn] + width[drawn] * rng.random(size)
                result += sign * np.where(rng.random(size) < finite, loss, -np.inf)
        return result


def _slope(at: Array, profile: list[Bounds[Array]]) -> Bounds[Array]:
    """Bound -d delta/d e^eps, which falls, by chords of delta (``profile``) a step before, at and after."""
    before, here, after = profile
    t = Bounds.of(at)
    low = (here - after) / expm1(Bounds.of(at + _STEP) - t)
    high = (before - here) / -expm1(at - _STEP - t)
    return Bounds(low.lower, high.upper) / exp(at)


def _atoms_above(atoms: AtomicLaw, at: Array) -> tuple[Bounds[Array], Bounds[Array]]:
    """Bound sum_j p_j (e^l_j - e^t)^+, the atoms' part of delta(t), and their P-mass above t, at each t."""
    *_, slack, error = atoms.atoms
    loss = Bounds(atoms.loss - error, atoms.loss + error)
    weights = exp(atoms.log_p) * (1 + Bounds(-slack, slack))
    rows = []
    for t in at.tolist():  # mass certainly above t, and all that may be
        mass = total(Bounds(weights.lower * (loss.lower > t), weights.upper * (loss.upper >= t)))
        rows.append([*(exp(t) * total(weights * expm1(maximum(loss - t, 0.0)))), *maximum(mass, 0.0)])
    low, high, least, most = np.array(rows).reshape(-1, 4).T
    return Bounds(low, high), Bounds(least, most)


def _bound_cdf(law: PrivacyLossDistribution, at: Array, under: Under) -> tuple[Array, Array]:
    """Return lower and upper bounds on the cdf at each t: the mass certainly up to t, and all that may be."""
    loss, log_p, slack, error = law.atoms
    weight = np.exp(log_p + (loss if under == "Q" else 0.0))
    lowest = law.mass_at_minus_infinity if under == "P" else 0.0
    sides = []
    for sign in (-1.0, 1.0):  # lower, upper
        earliest = loss - sign * error  # the largest, or the least, loss that an atom may have
        atoms = [lowest + np.sum((weight * (1 + sign * slack))[earliest <= t]) for t in at]
        rest = [_continuous_cdf(law, t, sign, under) for t in at.tolist()] if law.continuous else 0.0
        # A relative error of 2e-12 is granted to sums, exponentials and masses at infinity.
        sides.append((np.array(atoms) + rest) * (1 + sign * 2e-12))
    outside = 1e-300  # bounds the mass of tails outside all cells, and its roundings
    return np.maximum(sides[0] - outside, 0.0), np.minimum(sides[1] + law.lost + outside, 1.0)


def _continuous_cdf(law: PrivacyLossDistribution, t: float, sign: float, under: Under) -> float:
    """Bound the mass of the part without atoms up to t: from below if ``sign`` is -1, from above if it is 1.

    Q(L <= t) is the excess of the cell (-inf, t], and P(L <= t) = deficit + e^-t excess, where the deficit is
    E_P (1 - e^(L - t))^+. Where the excess is no float: the deficit is convex in u = e^-t with the slope
    -excess. So u excess lies between (deficit - other)/expm1(t - other t) of neighbours t on both sides.
    """
    excess, deficit, at = _cell_below(law, t, sign)
    if under == "Q":
        mass = excess
    elif t >= 0 or excess.lower >= _MIN_MASS:
        mass = deficit + excess * exp(-at)
    else:
        step = max(_STEP, 4 * _NEIGHBOUR * (1 + abs(t)))  # several times as far as an edge is from its t
        (_, before, earlier), (_, after, later) = (_cell_below(law, t + x, sign) for x in (-step, step))
        fall, rise = (deficit - before) / expm1(at - earlier), (deficit - after) / expm1(at - later)
        # Losses that are e off move each deficit by e times its slope, and the chord by that over the step.
        blur = 4 * float(np.max(law.edge_error(t + step * np.array([-1.0, 0.0, 1.0])))) / step
        slope = Bounds(max(fall.lower * (1 - blur), 0.0), max(rise.upper * (1 + blur), 0.0))
        mass = deficit + meet(slope, Bounds(0.0, (maximum(excess, _MIN_MASS) * exp(-at)).upper))
    return float(mass.upper if sign > 0 else mass.lower)


def _cell_below(law: PrivacyLossDistribution, t: float, sign: float) -> tuple[Bounds, Bounds, Bounds]:
    """Bound Q(L <= b) and E_P (1 - e^(L - b))^+ without atoms; return b, too.

    It is certainly below t for ``sign`` -1, above for 1, also for losses that are ``edge_error`` off.
    """
    step = _NEIGHBOUR * (1 + abs(t))
    while float(law.edge_error(np.array([t + sign * step]))[0]) > step:
        step *= 2
    edge = t + sign * step
    excess, deficit, slack = (float(each[0]) for each in law.cells(np.array([-np.inf, edge, np.inf])))
    spread = 1 + Bounds(-slack, slack)
    return excess * spread, deficit * spread, Bounds.of(edge)
