"""Certified expectations of functions of the loss L under P, and Renyi divergences, over cells of losses.

On a cell [a, b] the law of r = e^L has known mass and known mean, so the chord of a function of r has a known
expectation. With phi(L) = psi(r) the function itself differs from it by at most

    p (b' - a')^2/8 max |psi''| <= p (e^(b-a) - 1)^2/8 max |phi'' - phi'|,   a' = e^a, b' = e^b,

which falls with the square of the cell's width. Divergences are sums of positive terms, so that tiny ones
keep their digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from itertools import pairwise

import numpy as np

from tradeoff.errors import PrecisionError, SizeError
from tradeoff.intervals.bounds import Array, Bounds, make_bounds
from tradeoff.intervals.functions import clip, exp, log1p, meet, total, where
from tradeoff.pld.components import MARGIN, subsampled_loss
from tradeoff.pld.law import Atoms, PrivacyLossDistribution, bound_mass
from tradeoff.pld.quadrature import select_atoms
from tradeoff.pld.transformed import ReversedPLD, SubsampledPLD
from tradeoff.pld.units import SUBNORMAL, TINY, UNIT, down, up

Function = Callable[[Array], Array]

NOTHING_KNOWN = Bounds(0.0, math.inf)  # of a divergence


def above_line(x: Array) -> Array:
    """Return e^x - 1 - x, near zero by its series, to 64 units.

    Up to 1/2 a series of terms of a few units each, whose alternating sum is at least 0.8 of the largest;
    elsewhere expm1 errs by 8 units, and is less than 5 times the difference that is left of it.
    """
    small = np.clip(x, -0.5, 0.5)
    term, series = small**2 / 2, np.zeros_like(x)
    for k in range(3, 18):
        series = series + term
        term = term * small / k
    return np.where(np.abs(x) <= 0.5, series, np.expm1(np.minimum(x, 700.0)) - x)  # e^700 is a float


@np.errstate(over="ignore")
def raised(log_mass: Bounds, x: Bounds) -> Bounds:
    """Bound e^log_mass (e^x - 1 - x): above 1, where e^x may be no float, by e^(log_mass + x).

    ``above_line`` falls up to 0 and rises from there, so that its extremes lie at the ends, or at 0.
    """
    ends = [above_line(np.minimum(side, 1.0)) for side in x]
    least = np.where((x.lower <= 0) & (x.upper >= 0), 0.0, np.minimum(*ends))
    # TINY for squares below the normal floats.
    near = make_bounds(np.maximum(down(least, 64) - 4 * TINY, 0.0), up(np.maximum(*ends), 64) + 4 * TINY)
    mass = exp(log_mass)
    result = where(np.asarray(x.upper) > 1, exp(log_mass + x) - mass * (1 + x), mass * near)
    return make_bounds(np.maximum(result.lower, 0.0), result.upper)


class FiniteLaw:
    """Law under P of x = L + ``shift`` given that L is finite, shifted so that e^x has mean one.

    ``base`` is the law whose cells are used: L is ``forward`` of its loss, or minus that where ``swapped``,
    when P and Q change places. Cells are narrow where mass weighed with e^(``tilt`` L) is large: a choice, no
    bound rests on it. By default (``size``) there are 2^15, relative widths of about 1e-7. Losses of the base
    past +-``cut`` count by bounds from above alone.
    """

    cut = 600.0
    """Losses between which cells are narrow, and e^L is a float with all its digits."""

    base: PrivacyLossDistribution
    forward: Function

    def __init__(self, law: PrivacyLossDistribution, tilt: float = 0.0, size: int = 2**15) -> None:
        self.law, self.tilt, self.size = law, tilt, size
        # As e^L' is affine in e^L where L' is a sampled loss, chords of a function of e^L' are chords in e^L,
        # between the same masses under P: cells are those of the base, as sampled losses crowd at log(1 - p).
        self.base, self.swapped, self.forward = law, False, np.asarray
        while isinstance(self.base, ReversedPLD):
            self.base, self.swapped = self.base.base, not self.swapped
        if isinstance(self.base, SubsampledPLD):
            self.forward, self.base = partial(subsampled_loss, self.base.share), self.base.base
        p, q = law.mass_at_minus_infinity, law.mass_at_plus_infinity
        if max(p, q) >= 1:
            raise PrecisionError(
                "the moments of this law cannot be bounded: its finite losses have no mass in floats", np.inf
            )
        # Given finite losses, of P-mass 1 - p and Q-mass 1 - q, e^L has the mean (1 - q)/(1 - p): masses cost
        # 16 units, logarithms 8, |log(1 - p)| <= p/(1 - p).
        self.shift = float(np.log1p(-p) - np.log1p(-q))
        self._shift_error = 32 * UNIT * (p / (1 - p) + q / (1 - q))

    @cached_property
    def _cells(self) -> tuple[Array, Array, Bounds, Bounds, Array, Array]:
        """Ends x and y of cells, bounds on the P-masses of chords at x and y, their slack, errors of ends.

        A chord has E phi of the cell as mass_x phi(x) + mass_y phi(y), with the cell's P- and Q-mass.
        """
        edges, forward = self._edges(), self.forward
        excess, deficit, slack = self.base.cells(edges)
        a, b = edges[:-1], edges[1:]
        loss, off = forward(edges), self.base.edge_error(edges)
        off = np.maximum(forward(edges + off) - loss, loss - forward(edges - off))
        # Sampled losses are known to 35 units of themselves, both those of edges and those ``off`` from them.
        off = np.maximum(off[:-1], off[1:]) + self._shift_error
        off += 110 * UNIT * (np.maximum(np.abs(loss[:-1]), np.abs(loss[1:])) + abs(self.shift))
        ends, fall = (deficit, excess), -np.expm1(a - b)
        p, q = (Bounds(np.maximum(mass - SUBNORMAL, 0.0), mass + SUBNORMAL) / fall for mass in ends)
        at_x, at_y = p, q * np.exp(-b)  # under P at a, and under Q at b
        x, y = loss[:-1], loss[1:]
        slack = slack + 2.0**12 * UNIT  # exponentials of up to 1200, and products
        if self.swapped:
            # Under Q every mass at an end is e^L times that under P, and the loss changes sign: a sampled
            # loss is known to 24 units of itself.
            x, y, at_x, at_y = -y, -x, at_y * np.exp(y), at_x * np.exp(x)
            slack = slack + 2 * off
        return x + self.shift, y + self.shift, at_x, at_y, slack, off

    def _edges(self) -> Array:
        """Choose edges of cells of the base that add about the same error p (b - a)^2 (1 + |z|^3).

        z is the distance from the tilted mean in tilted deviations: moments weigh far losses more.
        """
        source, log_p = self.base.sketch()
        loss = self.forward(source)
        if self.swapped:
            loss, log_p = -loss, log_p + loss
        low, high = np.clip(self.base.support, -self.cut, self.cut).tolist()
        exponent = log_p + self.tilt * loss
        weight = np.exp(exponent - np.max(exponent))
        whole = float(np.sum(weight))
        away = np.abs(loss - float(np.sum(weight * loss)) / whole)
        deviation = np.sqrt(float(np.sum(weight * away**2)) / whole) + 1e-300
        order = np.argsort(source, kind="stable")
        knots = np.unique(np.clip([low, *source, high], low, high))
        if len(knots) < 2:
            return np.array([low, max(high, np.nextafter(low, np.inf))])
        z = np.minimum(away, 1e3 * deviation) / deviation
        heavy = np.interp(knots, source[order], (weight * (1 + z**3))[order])
        share = np.cbrt(np.maximum(heavy[:-1], heavy[1:]) * np.diff(self.forward(knots)) ** 2)
        cells = np.append(0.0, np.cumsum(1 + self.size * share / max(float(np.sum(share)), 1e-300)))
        return np.unique(np.append(np.interp(np.arange(cells[-1]), cells, knots), high))

    @cached_property
    def _tails(self) -> tuple[Array, Array, Array]:
        """Logs of upper bounds on P-masses of intervals past +-cut, and their inner and outer ends, shifted.

        The deficit P - e^-c Q of L <= c is at least 1 - e^(b - c) of the P-mass of L <= b, c = b + ``widen``,
        as is the excess Q - e^a P above of the Q-mass. The P-mass of L >= a is at most e^-a times its Q-mass.
        """
        rows, widen, (low, high) = [], 5.0, self.base.support
        for side, end in ((-1.0, low), (1.0, high)):
            reach = max(side * end - self.cut, 0.0)
            ends = side * np.linspace(self.cut, self.cut + reach, min(math.ceil(reach / 20), 128) + 1)
            for inner, outer in pairwise(ends.tolist()):
                edges = np.sort([end, np.clip(inner - side * widen, low, high)])
                excess, deficit, slack = self.base.cells(edges)
                mass = float((deficit if side < 0 else excess)[0] * (1 + slack[0])) + SUBNORMAL
                log_p = math.log(mass) - math.log(-math.expm1(-widen)) - (inner if side > 0 else 0.0)
                rows.append((log_p + 1e-9, *self.forward(np.array([inner, outer]))))
        log_mass, x, y = np.array(rows).reshape(-1, 3).T
        if self.swapped:  # P is the base's Q
            log_mass, x, y = log_mass + x, -x, -y
        return log_mass, x + self.shift, y + self.shift

    @np.errstate(over="ignore", invalid="ignore")  # an infinite bound is refused
    def expectation(self, phi: Function, curvature: Function, slope: Function) -> tuple[float, float]:
        """Return bounds (lower, upper) on E phi(x) for phi >= 0, convex, that grows no faster than a power.

        ``curvature`` is at least |phi'' - phi'| and ``slope`` at least |phi'|; on a cell each is largest at
        an end.
        """
        x, log_p, slack, off = self._atoms
        mass, value = np.exp(log_p), phi(x)
        error = mass * (value * slack + np.maximum(slope(x - off), slope(x + off)) * off)
        low, high = float(np.sum(mass * value - error)), float(np.sum(mass * value + error))
        if self.law.continuous:
            below, above = self._over_cells(phi, curvature, slope)
            log_mass, inner, outer = self._tails
            far = np.exp(log_mass) * np.maximum(phi(inner), phi(outer))
            low, high = low + below, high + above + float(np.sum(far)) * (1 + 1e-9)
        if not math.isfinite(high - low):
            raise PrecisionError(
                "the moments of this law cannot be bounded: powers of its losses overflow floats", np.inf
            )
        return self._given_finite(low, high)

    def remainder(self, t: float) -> Bounds:
        """Bound E(e^(tx) - 1 - tx), of positive terms, so that a small divergence keeps its digits."""
        x, log_p, slack, off = self._atoms
        each = [total(raised(Bounds.of(log_p), t * (x + Bounds(-off, off))) * (1 + Bounds(-slack, slack)))]
        if self.law.continuous:
            inside = self._over_cells(
                lambda x: above_line(t * x),
                lambda x: abs(t) * (abs(t - 1) * np.exp(t * x) + 1),
                lambda x: abs(t) * np.abs(np.expm1(t * x)),
            )
            # A tail adds at most E e^(tx) + |t outer| P: e^(t outer) P, or for 0 <= t <= 1 P^(1-t) Q^t
            # (Hoelder), where above Q is at most e^inner times the bound on P, which was made so.
            log_mass, inner, outer = self._tails
            top = np.where((inner > 0) & (0 <= t <= 1), t * inner, t * outer)
            with np.errstate(over="ignore"):
                far = np.exp(log_mass + np.maximum(top, 0.0)) + np.exp(log_mass) * np.abs(t * outer)
            each += [Bounds(*inside), Bounds(0.0, float(np.sum(far)) * (1 + 1e-9))]
        return Bounds(*self._given_finite(*total(each)))

    @cached_property
    def _atoms(self) -> Atoms:
        """Atoms x, to 2 errors, a sum and the shift; slacks hold 32 units of masses and functions of x."""
        loss, log_p, slack, error = self.law.atoms
        off = 2 * error + 4 * UNIT * (np.abs(loss) + abs(self.shift)) + self._shift_error
        return Atoms(loss + self.shift, log_p, slack + 32 * UNIT, off)

    def _given_finite(self, low: float, high: float) -> tuple[float, float]:
        """Divide by the mass of finite losses: pairwise sums of positive terms, and the division."""
        rounding = 64 * UNIT + self._shift_error
        whole, left_out = 1 - self.law.mass_at_minus_infinity, self.law.continuous or self.law.lost > 0
        low, high = low / whole * (1 - rounding), high / whole * (1 + rounding)
        # Above the mass outside a law's support or left out of its atoms, weighed with any loss.
        return max(low, 0.0), high + (1e-290 if left_out else 0.0)

    def _over_cells(self, phi: Function, curvature: Function, slope: Function) -> tuple[float, float]:
        """Return (lower, upper) bounds on E phi(x) over the cells: chords less or plus ``bow`` and errors."""
        x, y, at_x, at_y, slack, off = self._cells
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite bound is refused by the caller
            mass = at_x.upper + at_y.upper
            bow = mass * np.expm1(y - x + 2 * off) ** 2 / 8 * np.maximum(curvature(x), curvature(y))
            bow = np.nan_to_num(bow, nan=np.inf, posinf=np.inf)
            top = mass * np.maximum(phi(x), phi(y))  # phi is convex: nothing in the cell is above its ends
            moved = mass * np.maximum(slope(x - off), slope(y + off)) * off
            below, above = (p * phi(x) + q * phi(y) for p, q in zip(at_x, at_y, strict=True))
            low = np.maximum(below * (1 - slack) - bow * (1 + slack) - moved, 0.0)
            high = np.minimum(above + bow, top) * (1 + slack) + moved
        return float(np.sum(low)), float(np.sum(high))

    def estimate(self, phi: Function) -> float:
        """Estimate E phi(x) by the chords, for any smooth phi: no bound."""
        result = float(np.sum(np.exp(self._atoms.log_p) * phi(self._atoms.loss)))
        if self.law.continuous:
            x, y, at_x, at_y, *_ = self._cells
            result += float(np.sum(at_x.upper * phi(x) + at_y.upper * phi(y)))
        return result / (1 - self.law.mass_at_minus_infinity)

    def check(self) -> None:
        """Raise unless cells hold all mass: no float holds e^L above L = 700, and cells can be too narrow."""
        low, high = self.expectation(np.ones_like, np.zeros_like, np.zeros_like)
        if max(abs(low - 1), abs(high - 1)) > 1e-6:
            raise PrecisionError(
                "the moments of this law cannot be bounded: its cells hold a mass between "
                f"{low:.6g} and {high:.6g} instead of 1, "
                "as some losses are too large for e^L in floats, or too near to each other",
                np.inf,
            )


def divergence(law: PrivacyLossDistribution, order: float) -> Bounds:
    """Bound D_a(P || Q) = log E_P e^((1-a) L)/(a - 1) in nats, a = ``order`` > 0; a = 1 is Kullback-Leibler.

    With k = a - 1, A(x) = e^x - 1 - x >= 0 and the masses q at L = inf and p at -inf, E e^-kL - 1 over the
    finite losses is E[A(-k L) + k A(L)] + k q - a p, as E e^L = 1 - q and E 1 = 1 - p. For a < 1/2,
    D_a(P || Q) = a/(1 - a) D_{1-a}(Q || P) (van Erven, Harremoes 2014, Proposition 2). Divergences grow with
    the order (Theorem 3 there).
    """
    step = 2.0**-36  # distance of orders around 1 whose divergences enclose that of order 1: to 1e-11 of it
    disjoint = not law.continuous and len(law.atoms.loss) == 0
    if disjoint or (order >= 1 and law.mass_at_minus_infinity > 0):
        return Bounds(math.inf, math.inf)
    if order < 0.5:
        # 1 - a lies between two floats; where it is 1 the divergence of order 1 may be infinite.
        rest, other = 1 - Bounds.of(order), ReversedPLD(law)
        result = Bounds(divergence(other, rest.lower).lower, divergence(other, rest.upper).upper)
        result = Bounds.of(order) / rest * result
        most = result.upper if order >= step else divergence(law, step).upper
        return Bounds(result.lower, min(result.upper, most))
    if order == 1:
        return Bounds(divergence(law, 1 - step).lower, divergence(law, 1 + step).upper)
    try:
        known = _by_cells(law, order) if law.components() is None else _by_points(law, order)
    except PrecisionError:
        known = NOTHING_KNOWN
    except SizeError:  # an order whose quadrature is too large
        less = min(order / 8, 64.0)
        known = Bounds(divergence(law, less).lower if less > 1 else 0.0, math.inf)
    return clip(known, 0.0, math.inf)


@np.errstate(over="ignore")  # of error bounds that are not taken, and of moments too large for floats
def _by_points(law: PrivacyLossDistribution, order: float) -> Bounds:
    """Bound D_a by a sum over atoms and nodes, as losses x = -L under Q: P has e^x of their mass.

    Integrals of r^0, r^1 and r^a, r = e^x, each err by the quadrature relative to itself: nodes are for
    exponents within 1/4 of c, and for 0; an error between two of those is below the larger of both (Hoelder).
    Log-concave atoms may have been left out.
    """
    digits = 100.0  # quadratures err by e^-100 of a moment, 1e-43: nothing to a divergence of 1e-30
    k, other = Bounds.of(order) - 1, ReversedPLD(law)
    c, smooth = max(order, 1 - MARGIN), other.components() or []
    if any(part.base.scale > 1e6 for part in smooth):  # a normal law that far off has no privacy
        raise SizeError("losses rise too steeply for a quadrature")
    each = [select_atoms(other.atoms, z, math.inf, cut=other.lost > 0) for z in (0.0, 1.0, order)]
    exact = each[0]._replace(quadrature=max(nodes.quadrature for nodes in each))
    points = [exact, *(part.base.nodes(part, c, 0.0, digits) for part in smooth)]
    sums, quadrature = [], 0.0
    for nodes in (each for each in points if each is not None and len(each.loss)):
        x = nodes.loss + Bounds(-nodes.error, nodes.error)
        log_mass = x + nodes.log_p
        terms = raised(log_mass, k * x) + k * raised(log_mass, -x)
        sums.append(total(terms * (1 + Bounds(-nodes.slack, nodes.slack))))
        quadrature = max(quadrature, nodes.quadrature)
    q, p = bound_mass(law.mass_at_plus_infinity), bound_mass(law.mass_at_minus_infinity)
    finite = total(sums)
    # Of M + a M^(1/a) + |k|, M = 1 + the sum: the error at r^1 is by Hoelder at most M^(1/a) of it.
    off = 2.02 * quadrature * (order + 1 + abs(finite.upper))
    excess = finite + Bounds(-off, off) + k * q - order * p
    result = log1p(excess) / k
    is_large = not (excess.lower > -0.5 and excess.upper < 1)
    if is_large and (transform := other.transform(order, digits)):
        moment = Bounds.of(transform.log_m) + Bounds(-transform.log_m_error, transform.log_m_error)
        result = meet(result, moment / k)
    return result


def _by_cells(law: PrivacyLossDistribution, order: float) -> Bounds:
    """Bound D_a by chords over cells, for laws without components, to about 1e-5 of it.

    With k = a - 1, L' = L + log((1 - p)/(1 - q)) of ``FiniteLaw``, E e^L' = 1, and R(t) = E(e^tL' - 1 - tL'),

        k D_a = log(1 + R(-k) + k R(1)) + log(1 - p) + k log((1 - p)/(1 - q)).

    Mass outside the support weighs under e^-740 and falls faster than e^-kL', at most e^500 there, rises:
    less than 1e-100 in each R.
    """
    k = order - 1
    reach = max(-k * law.support[0], k * law.support[1])
    if reach > 500.0:
        raise SizeError(f"e^{reach:.3g} is larger than any float")
    finite = FiniteLaw(law, tilt=-k, size=2**14)
    finite.check()
    q, p = bound_mass(law.mass_at_plus_infinity), bound_mass(law.mass_at_minus_infinity)
    tail = Bounds(0.0, 1e-100)
    excess = finite.remainder(-k) + tail + k * (finite.remainder(1.0) + tail)
    return (log1p(excess) + log1p(-p)) / k + log1p(-p) - log1p(-q)
