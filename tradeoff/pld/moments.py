"""Certified expectations of functions of L, and Renyi divergences: over cells with exact P-mass and Q-mass.

On a cell [a, b] the law of r = e^L has known mass and known mean, so the chord of a function of r has a known
expectation. With phi(L) = psi(r) the function itself differs from it by at most

    p (b' - a')^2/8 max |psi''| <= p (e^(b-a) - 1)^2/8 max |phi'' - phi'|,   a' = e^a, b' = e^b,

which falls with the square of the cell's width. Divergences are sums of positive terms, so that tiny ones
keep their digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradeoff.errors import PrecisionError, SizeError
from tradeoff.intervals.bounds import Bounds, make_bounds
from tradeoff.intervals.functions import above_line, clip, log1p, meet, raised, summed, total
from tradeoff.intervals.rounding import SUBNORMAL, UNIT, Array, around
from tradeoff.pld.components import MARGIN
from tradeoff.pld.law import ChangeOfVariable, PrivacyLossDistribution
from tradeoff.pld.quadrature import of_atoms
from tradeoff.pld.transformed import ReversedPLD

_CELLS = 2**15  # cells over the whole support: relative widths of about 1e-7
_LEFT_OUT = 1e-290  # above the mass outside a law's support or left out of its atoms, weighed with any loss
_FAINT = 1e-300  # masses below it lose digits to SUBNORMAL, which e^600 would lift to 1e-62
_CUT = 600.0  # losses between which cells are narrow, and e^L is a float with all its digits
_STEP, _STEPS = 20.0, 128  # width in nats of cells below, and the most of them
_OVER = 5.0  # nats by which cells are widened for a bound on mass
_LOGS = (
    2.0**14 * UNIT
)  # error of a mass as a log: 8 units of up to 745, sums with ends up to 600, an exponential

Function = Callable[[Array], Array]


class FiniteLaw:
    """Law of L under P given that L is finite, shifted by a constant so that e^L has mean one.

    Cells are narrow where mass weighed with e^(``tilt`` L) is large: a choice, no bound rests on it.
    """

    def __init__(self, law: PrivacyLossDistribution, tilt: float = 0.0, size: int = _CELLS) -> None:
        self.law, self.tilt, self.size = law, tilt, size
        p, q = law.mass_at_minus_infinity, law.mass_at_plus_infinity
        if max(p, q) >= 1:
            raise PrecisionError(
                "the moments of this law cannot be bounded: its finite losses have no mass in floats", np.inf
            )
        # Conditioning adds to every loss: masses cost 16 units, logarithms 8, |log(1 - p)| <= p/(1 - p).
        self.shift = float(np.log1p(-p) - np.log1p(-q))
        self._shift_error = 32 * UNIT * (p / (1 - p) + q / (1 - q))

    @cached_property
    def _cells(self) -> tuple[Array, Array, Bounds, Bounds, Array, Array]:
        """Ends of cells, logs of P-masses at each in a chord's expectation, slack, errors of ends."""
        change = self.law.change_of_variable()
        edges = _edges(change, self.tilt, self.size)
        excess, deficit, slack = change.base.cells(edges)
        a, b = edges[:-1], edges[1:]
        loss = change.forward(edges)
        x, y = loss[:-1], loss[1:]
        off = change.base.edge_error(edges)
        off = np.maximum(change.forward(edges + off) - loss, loss - change.forward(edges - off))
        off = np.maximum(off[:-1], off[1:])
        whole = -np.expm1(a - b)
        p, q = (
            Bounds(np.maximum(mass - SUBNORMAL, 0.0) / whole, (mass + SUBNORMAL) / whole)
            for mass in (deficit, excess)
        )  # under P at a, and under Q at b
        # Where e^-b lifts a faint mass under Q, at b is at most the mass that is not at a; so at a, under Q.
        p_rest = _rest(change.base, edges, p.lower * (1 - slack), (excess < _FAINT) & (b < 0))
        least, negligible = q.lower * (1 - slack), (deficit < _FAINT) & (a > 0)
        q_rest = _rest(ReversedPLD(change.base), -edges[::-1], least[::-1], negligible[::-1])[::-1]
        with np.errstate(divide="ignore"):  # no mass
            at_x = Bounds(np.log(p.lower), np.minimum(np.log(p.upper), np.log(q_rest) - a))
            at_y = Bounds(np.log(q.lower) - b, np.minimum(np.log(q.upper) - b, np.log(p_rest)))
        slack = slack + _LOGS
        if not change.reversed:
            return x, y, at_x, at_y, slack, off
        # Under Q every mass at an end is e^L times that under P, and the loss changes sign: a sampled loss is
        # known to 24 units of itself and, where large, 11 + 8 more.
        doubt = off + 40 * UNIT * (1 + np.abs(x) + np.abs(y) + np.abs(b))
        known = Bounds(-doubt, doubt)
        return -y, -x, at_y + y + known, at_x + x + known, slack, off

    def expectation(self, phi: Function, bend: Function, steep: Function) -> tuple[float, float]:
        """Enclose E phi(L) for phi >= 0, convex in L, that grows no faster than a power.

        ``bend`` bounds |phi'' - phi'| and ``steep`` bounds |phi'| at a loss; both are largest at an end of a
        cell.
        """
        loss, log_p, atom_slack = self.law.atoms
        low = high = 0.0
        if len(loss):
            x, mass = loss + self.shift, np.exp(log_p)
            with np.errstate(over="ignore", invalid="ignore"):
                value = phi(x)
                off = self._atoms_off()
                moved = np.maximum(steep(x - off), steep(x + off)) * off
                # Phi and mass cost 8 and more each.
                error = mass * (value * (atom_slack + 32 * UNIT) + moved)
                low, high = float(np.sum(mass * value - error)), float(np.sum(mass * value + error))
        if self.law.continuous:
            below, above = self._over_cells(phi, bend, steep)
            low, high = low + below, high + above
        if not math.isfinite(high):
            raise PrecisionError(
                "the moments of this law cannot be bounded: powers of its losses overflow floats", np.inf
            )
        return self._given_finite(low, high)

    def remainder(self, t: float) -> Bounds:
        """Enclose E(e^tL - 1 - t L): positive terms, so that a small divergence keeps its digits.

        Masses are logs: where e^tL is not a float its product with a mass may be one.
        """
        loss, log_p, atom_slack = self.law.atoms
        off, slack = self._atoms_off(), atom_slack + 32 * UNIT
        x = loss + self.shift + Bounds(-off, off)
        each = [summed(raised(Bounds.of(log_p), t * x) * (1 + Bounds(-slack, slack)))]
        if self.law.continuous:
            a, b, log_a, log_b, *_ = self._cells
            negligible = np.minimum(log_a.upper, log_b.upper) < math.log(_FAINT)
            far = negligible | (np.maximum(np.abs(a), np.abs(b)) > _CUT)
            inner = self._over_cells(
                lambda x: above_line(t * x),
                lambda x: abs(t) * (abs(t - 1) * np.exp(t * x) + 1),
                lambda x: abs(t) * np.abs(np.expm1(t * x)),
                ~far,
            )
            each += [Bounds(*inner), self._remainder_far(t, far)]
        return Bounds(*self._given_finite(*total(each)))

    def _atoms_off(self) -> Array:
        """Bound the errors of shifted losses of atoms."""
        loss = np.abs(self.law.atoms.loss)
        return 2 * self.law.loss_error + 4 * UNIT * (loss + abs(self.shift)) + self._shift_error

    def _cells_at(self, where: Any) -> tuple[Array, Array, Bounds, Bounds, Array, Array]:
        """Return some, shifted; ends and their neighbours are sampled losses, known to 35 units."""
        a, b, *logs, slack, off = self._cells
        off = off + 110 * UNIT * (np.maximum(np.abs(a), np.abs(b)) + abs(self.shift)) + self._shift_error
        log_a, log_b = (Bounds(log.lower[where], log.upper[where]) for log in logs)
        return (a + self.shift)[where], (b + self.shift)[where], log_a, log_b, slack[where], off[where]

    def _given_finite(self, low: float, high: float) -> tuple[float, float]:
        """Divide by the mass of finite losses: pairwise sums of positive terms, and the division."""
        rounding = 64 * UNIT + self._shift_error
        whole, left_out = 1 - self.law.mass_at_minus_infinity, self.law.continuous or self.law.lost > 0
        low, high = low / whole * (1 - rounding), high / whole * (1 + rounding)
        return max(low, 0.0), high + (_LEFT_OUT if left_out else 0.0)

    def _over_cells(
        self, phi: Function, bend: Function, steep: Function, where: Any = slice(None)
    ) -> tuple[float, float]:
        x, y, *logs, slack, off = self._cells_at(where)
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite bound is refused by the caller
            least, most = ((np.exp(at_a), np.exp(at_b)) for at_a, at_b in zip(*logs, strict=True))
            mass = most[0] + most[1]
            bow = mass * _bow(y - x + 2 * off) * np.maximum(bend(x), bend(y))
            bow = np.nan_to_num(bow, nan=np.inf, posinf=np.inf)
            top = mass * np.maximum(phi(x), phi(y))  # phi is convex: nothing in the cell is above its ends
            moved = mass * np.maximum(steep(x - off), steep(y + off)) * off
            below, above = (at_a * phi(x) + at_b * phi(y) for at_a, at_b in (least, most))
            low = np.maximum(below * (1 - slack) - bow * (1 + slack) - moved, 0.0)
            high = np.minimum(above + bow, top) * (1 + slack) + moved
        return float(np.sum(low)), float(np.sum(high))

    @np.errstate(over="ignore", divide="ignore")  # of error bounds that are not taken, and log 0
    def _remainder_far(self, t: float, where: Any) -> Bounds:
        """Do it for e^tx - 1 - t x, where e^x or masses are not floats.

        By Hoelder e^tL has at most P^(1-t) Q^t of a cell, which is above the rest of it where L >= 0.
        """
        a, b, log_a, log_b, slack, off = self._cells_at(where)
        x, y = (t * (end + Bounds(-off, off)) for end in (a, b))
        mass = np.logaddexp(log_a.upper, log_b.upper)
        chord = raised(log_a, x) + raised(log_b, y)
        most = np.maximum(*(raised(Bounds.of(mass), end).upper for end in (x, y)))
        if 0 < t < 1:
            q = np.logaddexp(log_a.upper + x.upper / t, log_b.upper + y.upper / t)
            most = np.where(x.lower >= 0, np.minimum(most, np.exp((1 - t) * mass + t * q)), most)
        width = b - a + 2 * off
        power = _bow(width) * np.exp(mass + np.maximum(x.upper, y.upper) + np.log(abs(t * (t - 1))))
        # L is between a and b, and so is its chord.
        line = np.minimum(_bow(width), width) * abs(t) * np.exp(mass)
        bow = (power + line) * (1 + slack)
        low = np.maximum(chord.lower * (1 - slack) - bow, 0.0)
        return summed(Bounds(low, np.minimum(chord.upper + bow, most) * (1 + slack)))

    def estimate(self, phi: Function) -> float:
        """Estimate E phi(L) by the chords, for any smooth phi: no bound."""
        loss, log_p, _ = self.law.atoms
        result = float(np.sum(np.exp(log_p) * phi(loss + self.shift)))
        if self.law.continuous:
            a, b, log_a, log_b, _, _ = self._cells
            at_a, at_b = np.exp(log_a.upper), np.exp(log_b.upper)
            result += float(np.sum(at_a * phi(a + self.shift) + at_b * phi(b + self.shift)))
        return result / (1 - self.law.mass_at_minus_infinity)

    def check(self) -> None:
        """Raise unless cells hold all mass: no float holds e^L beyond 700, and cells can be too narrow."""
        low, high = self.expectation(np.ones_like, np.zeros_like, np.zeros_like)
        if abs(low - 1) > 1e-6 or abs(high - 1) > 1e-6:
            raise PrecisionError(
                "the moments of this law cannot be bounded: its cells hold a mass between "
                f"{low:.6g} and {high:.6g} instead of 1, "
                "as some losses are too large for e^L in floats, or too near to each other",
                np.inf,
            )


def _rest(law: PrivacyLossDistribution, edges: Array, at_a: Array, where: NDArray[np.bool_]) -> Array:
    """Bound P-masses at the upper ends of some cells: the cell's mass that is not ``at_a``; inf elsewhere.

    E(1 - e^(L-c)) over [a, c] is at least 1 - e^(b-c) of the mass of [a, b], for any c > b.
    """
    result = np.full(len(where), np.inf)
    if not np.any(where):
        return result
    count = np.flatnonzero(where)[-1] + 1
    edges = edges[: count + 1]
    over = edges[1:] + (_OVER + np.spacing(np.abs(edges[1:])))  # beyond b, however large that is
    wider = np.append(np.minimum(over[:-1], edges[2:]), over[-1])
    mass = np.zeros(count)
    for first in range(min(2, count)):
        a, b, c = edges[:-1][first::2], edges[1:][first::2], wider[first::2]
        _, deficit, slack = law.cells(np.column_stack([a, c]).ravel())
        mass[first::2] = (deficit * (1 + slack) + SUBNORMAL)[::2] / -np.expm1(b - c)
    rest = mass * (1 + _LOGS) - (at_a * (1 - _LOGS))[:count]
    result[:count] = np.where(where[:count], np.maximum(rest, 0.0), np.inf)
    return result


def _bow(width: Array) -> Array:
    """Return (e^width - 1)^2/8, or e^600/8: times ``bend`` more than the error of a chord."""
    return np.asarray(np.expm1(np.minimum(width, 300.0)) ** 2 / 8)


def _edges(change: ChangeOfVariable, tilt: float, size: int) -> Array:
    """Cut the base's support so that cells add about the same error p (b - a)^2 (1 + |z|^3): choices only."""
    source, log_p = change.base.sketch()
    loss = change.forward(source)
    if change.reversed:
        loss, log_p = -loss, log_p + loss
    low, high = change.base.support
    exponent = log_p + tilt * loss
    weight = np.exp(exponent - np.max(exponent))
    whole = float(np.sum(weight))
    away = np.abs(loss - float(np.sum(weight * loss)) / whole)
    deviation = np.sqrt(float(np.sum(weight * away**2)) / whole) + 1e-300
    order = np.argsort(source, kind="stable")
    knots = np.unique(np.clip(np.concatenate([[low], source[order], [high]]), low, high))
    if len(knots) < 2:
        return np.array([low, max(high, np.nextafter(low, np.inf))])
    z = np.minimum(away, 1e3 * deviation) / deviation
    heavy = np.interp(knots, source[order], (weight * (1 + z**3))[order])
    share = np.cbrt(np.maximum(heavy[:-1], heavy[1:]) * np.diff(change.forward(knots)) ** 2)
    pieces = 1 + np.floor(size * share / max(float(np.sum(share)), 1e-300)).astype(np.int64)
    start = np.repeat(np.cumsum(pieces) - pieces, pieces)
    inside = (np.arange(int(np.sum(pieces))) - start) / np.repeat(pieces, pieces)
    cuts = np.repeat(knots[:-1], pieces) + inside * np.repeat(np.diff(knots), pieces)
    far = -np.linspace(-low, _CUT, 2 + min(_STEPS, int((-low - _CUT) / _STEP))) if low < -_CUT else [low]
    return np.unique(np.concatenate([far, cuts[np.abs(cuts) <= _CUT], [high]]))


_DIGITS = 100.0  # quadratures err by e^-100 of a moment, 1e-43: nothing to a divergence of 1e-30
_KNOWN = 16  # units to which a law knows its masses at infinity
_STEP = 2.0**-36  # distance of orders around 1 whose divergences enclose that of order 1: to 1e-11 of it
_COARSER, _MODEST = 8.0, 64.0  # divisor of an order whose quadrature is too large, and its largest result
_STEEPEST = (
    1e6  # slope of the loss from which no quadrature is tried: a normal law that far off has no privacy
)
_CELLS = 2**14  # cells of a law without densities: about 1e-5 of the divergence, in some 0.1 s

# Largest exponent taken, of laws with and without bounds, and a bound on the rest: mass outside a law's
# support weighs under e^-740 there and falls faster than the exponential rises.
_BOUNDED, _TAILED, _BEYOND = 690.0, 500.0, 1e-100

NOTHING_KNOWN = Bounds(0.0, math.inf)  # of a divergence


def divergence(law: PrivacyLossDistribution, order: float) -> Bounds:
    """Bound D_a(P || Q) = log E_P e^((1-a) L)/(a - 1), 0 < a < inf, in nats; D_1 is Kullback and Leibler's.

    With k = a - 1, A(x) = e^x - 1 - x >= 0 and the masses q at L = inf and p at -inf, E e^-kL - 1 over the
    finite losses is E[A(-k L) + k A(L)] + k q - a p, as E e^L = 1 - q and E 1 = 1 - p. For a < 1/2,
    D_a(P || Q) = a/(1 - a) D_{1-a}(Q || P) (van Erven, Harremoes 2014, Proposition 2). Divergences grow with
    the order (Theorem 3 there).
    """
    disjoint = not law.continuous and len(law.atoms.loss) == 0
    if disjoint or (order >= 1 and law.mass_at_minus_infinity > 0):
        return Bounds(math.inf, math.inf)
    if order < 0.5:
        return _mirrored(law, order)
    if order == 1:
        return Bounds(divergence(law, 1 - _STEP).lower, divergence(law, 1 + _STEP).upper)
    try:
        known = _by_cells(law, order) if law.components() is None else _by_points(law, order)
    except PrecisionError:
        known = NOTHING_KNOWN
    except SizeError:
        less = min(order / _COARSER, _MODEST)
        known = Bounds(divergence(law, less).lower if less > 1 else 0.0, math.inf)
    return clip(known, 0.0, math.inf)


def _mirrored(law: PrivacyLossDistribution, order: float) -> Bounds:
    """Do it for a < 1/2, in the other order; 1 - a lies between two floats."""
    rest, other = 1 - Bounds.of(order), ReversedPLD(law)
    result = Bounds(divergence(other, rest.lower).lower, divergence(other, rest.upper).upper)
    result = Bounds.of(order) / rest * result
    if order >= _STEP:
        return result
    # Where 1 - a is 1 to all digits the divergence of order 1 may be infinite.
    return Bounds(result.lower, min(result.upper, divergence(law, _STEP).upper))


@np.errstate(over="ignore")  # of error bounds that are not taken, and of moments too large for floats
def _by_points(law: PrivacyLossDistribution, order: float) -> Bounds:
    """Add over atoms and nodes of quadratures, x = -L under Q, which has mass e^x under P.

    Integrals of r^0, r^1 and r^a, r = e^x, each err by the quadrature relative to itself: nodes are laid out
    for exponents within 1/4 of c, and for 0; the error at an exponent between two of those is below the
    larger of both (Hoelder). Log-concave atoms may have been left out.
    """
    k, other = Bounds.of(order) - 1, ReversedPLD(law)
    c, smooth = max(order, 1 - MARGIN), other.components() or []
    if any(part.base.scale > _STEEPEST for part in smooth):
        raise SizeError("losses rise too steeply for a quadrature")
    each = [of_atoms(other.atoms, other.loss_error, z, cut=other.lost > 0) for z in (0.0, 1.0, order)]
    exact = each[0]._replace(quadrature=max(nodes.quadrature for nodes in each))
    points = [exact, *(part.base.nodes(part, c, 0.0, _DIGITS) for part in smooth)]
    sums, quadrature = [], 0.0
    for nodes in (each for each in points if len(each.loss)):
        x = nodes.loss + Bounds(-nodes.error, nodes.error)
        log_mass = x + nodes.log_p
        terms = raised(log_mass, k * x) + k * raised(log_mass, -x)
        sums.append(summed(terms * (1 + Bounds(-nodes.slack, nodes.slack))))
        quadrature = max(quadrature, nodes.quadrature)
    q, p = _mass(law.mass_at_plus_infinity), _mass(law.mass_at_minus_infinity)
    finite = total(sums)
    # Of M + a M^(1/a) + |k|, M = 1 + the sum: the error at r^1 is by Hoelder at most M^(1/a) of it.
    off = 2.02 * quadrature * (order + 1 + abs(finite.upper))
    excess = finite + Bounds(-off, off) + k * q - order * p
    result = log1p(excess) / k
    if excess.lower > -0.5 and excess.upper < 1:
        return result
    transform = other.transform(order, _DIGITS)
    if transform is None:
        return result
    moment = Bounds.of(transform.log_m) + Bounds(-transform.log_m_error, transform.log_m_error)
    return meet(result, moment / k)


def _mass(mass: float) -> Bounds:
    return clip(make_bounds(*around(mass, _KNOWN)), 0.0, 1.0) if mass else Bounds(0.0, 0.0)


def _by_cells(law: PrivacyLossDistribution, order: float) -> Bounds:
    """Do it by chords over cells, of the law given that L is finite and shifted so that E e^L = 1."""
    k = order - 1
    reach = max(-k * law.support[0], k * law.support[1])
    if reach > (_BOUNDED if law.range == law.support else _TAILED):
        raise SizeError(f"e^{reach:.3g} is larger than any float")
    finite = FiniteLaw(law, tilt=-k, size=_CELLS)
    finite.check()
    q, p, tail = _mass(law.mass_at_plus_infinity), _mass(law.mass_at_minus_infinity), Bounds(0.0, _BEYOND)
    excess = finite.remainder(-k) + tail + k * (finite.remainder(1.0) + tail)
    return (log1p(excess) + log1p(-p)) / k + log1p(-p) - log1p(-q)
