"""The privacy loss distribution: the law of L = log dQ/dP in nats, which every engine composes.

A cell [a, b] of losses enters through two numbers without cancellation,

    excess  = Q(cell) - e^a  P(cell)   (0 when all its mass sits at a),
    deficit = P(cell) - e^-b Q(cell)   (0 when all its mass sits at b).

With them every operator (`pld.transformed`) is one line: subsampling multiplies ``excess`` by p, reversal
swaps the two, a mixture averages them. All masses are computed to a stated relative ``slack``. The *tilt* c
weighs P by e^(cL): E_c is the mean under it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np

from tradeoff import balls
from tradeoff.intervals.bounds import Array, Bounds, Complex
from tradeoff.intervals.functions import clip
from tradeoff.pld.components import Component
from tradeoff.pld.units import TINY, UNIT, position_slack

FULL = 700.0  # exponents are cut at +-this: a mass of e^-700 is negligible, and e^700 more than any mass


class Cells(NamedTuple):
    """Excess and deficit >= 0 of consecutive cells, each within a factor 1 +- slack of the truth.

    The truth is that of losses an ``edge_error`` away from their own.
    """

    excess: Array
    deficit: Array
    slack: Array


class Ends(NamedTuple):
    """Bounds on all finite losses, ``least`` and ``most``, and ends of those of the continuous part.

    The ends ``low`` and ``high`` leave out tails whose mass is below all floats.
    """

    least: float
    low: float
    high: float
    most: float


class Atoms(NamedTuple):
    """Point masses at increasing losses, known to ``error``, with log P-masses, known to 1 +- ``slack``."""

    loss: Array
    log_p: Array
    slack: Array
    error: Array


class PlanningPoints(NamedTuple):
    """Representative points of the law under P: for planning only, never used in a bound."""

    loss: Array
    log_p: Array


NO_ATOMS = Atoms(*np.zeros((4, 0)))


class LogRatio(NamedTuple):
    """log(rho(y) e^(-iym)), rho(y) = M(c + iy)/M(c), with its ``error``, and ``ceiling`` >= log |rho(y)|."""

    log: Complex
    error: Array
    ceiling: Array


class Transform(ABC):
    """rho(y) = M(c + iy)/M(c) of a law at c, M(z) = E_P e^(zL): its tilted characteristic function.

    ``log_m`` is log M(c) to ``log_m_error``, ``mean`` a centre m near E_c L. M is taken over the finite
    losses; they are in nats, and so is 1/y. Errors are absolute, and the truth is inside.
    """

    log_m: float
    log_m_error: float
    mean: float

    @abstractmethod
    def ratio(self, y: Array, *, even: bool = False) -> LogRatio:
        """Return log(rho e^(-iym)) at increasing y >= 0, equally spaced if ``even``."""

    @abstractmethod
    def around(self, y: Array, radius: float) -> Array:
        """Bound log |rho| from above within ``radius`` of each y."""

    @abstractmethod
    def far(self, y: float) -> float:
        """Bound log |rho(y')| from above for all y' >= y."""

    def bound_from(self, y: float) -> float:
        """Return a bound like ``far`` that may be looser, but costs less."""
        return self.far(y)

    def cost(self, y: float) -> int:
        """Return the number of terms of one frequency near y."""
        return 1


class Transformed(Protocol):
    """A law, or a product of laws, that has a transform."""

    def transform(self, c: float, digits: float) -> Transform | None:
        """Return M(c + iy)/M(c), known to about e^-digits, or None."""


def complex_log1p(u: Complex, error: Array) -> LogRatio:
    """Return log(1 + u), u known to ``error``, with no loss for small u.

    Within |u| < 1/2 the modulus comes from |1 + u|^2 - 1 = Re u (2 + Re u) + (Im u)^2, known to 8 units
    of |u|: at most 16 after the root and the logarithm, which adds 12 of its own. Elsewhere 1 + u, its
    modulus, logarithm and angle are of size 1 and lose less, or where 1 + u is larger 32 units of the
    logarithm more. A number known to ``off`` has a logarithm and an angle known to off/(modulus - off).
    ``ceiling`` is cut at 0, so it is no bound where |1 + u| may exceed 1.
    """
    rho = 1 + u
    near = np.abs(u) < 0.5
    modulus = np.abs(rho)
    real, imag = u.real, u.imag
    off = error + 32 * UNIT * np.minimum(np.abs(u), 1.0)
    known = modulus > 2 * off
    with np.errstate(divide="ignore"):
        inner = np.log1p(np.where(near, real * (2 + real) + imag * imag, 0.0)) / 2
        log_modulus = np.where(near, inner, np.log(modulus))
        ceiling = np.where(near, log_modulus + 2 * off, np.log(modulus + off) * (1 - 8 * UNIT))
    slip = np.where(known, off / np.where(known, modulus - off, 1.0), np.inf)
    log = np.where(known, log_modulus, -np.inf) + 1j * np.arctan2(imag, rho.real)
    return LogRatio(log, slip + np.where(near, 0.0, 32 * UNIT * np.abs(log)), np.minimum(ceiling, 0.0))


def masses(cells: Cells, edges: Array) -> tuple[Array, Array]:
    """Return p = (deficit + e^-b excess)/(1 - e^(a-b)) and q = excess + e^a p, the P- and Q-mass of cells."""
    a, b = edges[:-1], edges[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        lifted = np.exp(np.minimum(-b, FULL)) * cells.excess
        p = (cells.deficit + lifted) / -np.expm1(np.maximum(a - b, -FULL))
    p = np.where(b > a, p, 0.0)
    return p, cells.excess + np.exp(np.minimum(a, FULL)) * p


def weighted_mass(shares: Iterable[tuple[float, float]]) -> float:
    """Return sum w m of (w, m), weights and masses at infinity, rounded once; at least TINY if it is not 0.

    As the weights add to 1 at most, errors of the masses do not add: each nesting costs TINY.
    """
    exact = sum((Fraction(w) * Fraction(m) for w, m in shares if w > 0 and m > 0), Fraction(0))
    return max(float(exact), TINY) if exact else 0.0


def combine_masses_at_infinity(each: Sequence[float], counts: Sequence[int]) -> float:
    """Return 1 - prod (1 - q_i)^n_i, rounded once, so that errors of masses do not add as products nest."""
    if any(q >= 1 for q in each):
        return 1.0
    return float(balls.middle(-balls.expm1(_log_finite_mass(each, counts)))) if any(each) else 0.0


def log_finite_mass(each: Sequence[float], counts: Sequence[int]) -> float:
    """Return log prod (1 - q_i)^n_i, all q_i < 1, rounded once: 1 - q may round to 1 or to 0."""
    return float(balls.middle(_log_finite_mass(each, counts)))


def _log_finite_mass(each: Sequence[float], counts: Sequence[int]) -> balls.Balls:
    """Return log prod (1 - q_i)^n_i as a ball: no digits cancel, since all terms have one sign."""
    terms = (n * balls.log1p(balls.to_ball(-q)) for q, n in zip(each, counts, strict=True) if q > 0)
    return sum(terms, balls.to_ball(0))


def bound_mass(mass: float) -> Bounds[float]:
    """Bound a mass at infinity of a law, known to 16 units of itself."""
    return clip(Bounds.of(mass) * Bounds(1 - 16 * UNIT, 1 + 16 * UNIT), 0.0, 1.0)


def in_order(rows: Sequence[tuple[Array, ...]]) -> list[Array]:
    """Return the columns of all rows, each as one array, sorted by the first column."""
    columns = [np.concatenate(column) for column in zip(*rows, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return [column[order] for column in columns]


class PrivacyLossDistribution(ABC):
    """Law of the finite losses L under P; Q is e^L dP, and there are masses at -inf (P) and +inf (Q).

    A new law is one class. It must give ``ends``, ``sketch`` and ``_cells``, and those of the following that
    are not the default: ``atoms``, masses at infinity, and ``continuous`` where it has nothing but atoms.
    With that the lattice answers every question. ``components`` or ``transform`` open it to the contour; laws
    made of it by subsampling, reversal and mixing follow (`pld.transformed`).

    Attributes
    ----------
    mass_at_minus_infinity, mass_at_plus_infinity
        P(L = -inf) and Q(L = +inf), each within 16 units of 2^-53, relative, and TINY for each law that
        it is made of inside another; 0 only where they are.
    lost
        Bound, under P and under Q, on the mass of log-concave atoms that were left out at the ends.
    symmetric
        Whether -L under Q has the law of L under P.
    continuous
        Whether there is any mass outside the atoms.
    damping
        Whether the transform falls as a Gaussian does on every line, and so that of every product with it.

    Notes
    -----
    Losses are in nats. Errors have two sides: the truth lies within ``1 +- slack`` of a mass, and
    within its ``error`` of the loss of an atom. Only ``sketch`` may be an estimate: engines place their
    grids and lines by it, and no bound rests on it.
    """

    mass_at_minus_infinity: float = 0.0
    mass_at_plus_infinity: float = 0.0
    lost: float = 0.0
    symmetric: bool = False
    continuous: bool = True
    damping: bool = False

    @property
    @abstractmethod
    def ends(self) -> Ends:
        """Ends of the losses, which operators map."""

    @property
    def atoms(self) -> Atoms:
        """Point masses of the finite part."""
        return NO_ATOMS

    @property
    def support(self) -> tuple[float, float]:
        """Least and greatest finite loss, as far as floats hold its mass: of ``ends`` and the atoms."""
        (_, low, high, _), loss = self.ends, self.atoms.loss
        if not len(loss):
            return low, high
        first, last = float(loss[0]), float(loss[-1])
        return (min(low, first), max(high, last)) if self.continuous else (first, last)

    @abstractmethod
    def sketch(self) -> PlanningPoints:
        """Return points that represent the law under P, atoms among them, for planning only."""

    def components(self) -> list[Component] | None:
        """Return the smooth components of the continuous part, or None where it has no closed form."""
        return None if self.continuous else []

    def transform(self, c: float, digits: float) -> Transform | None:
        """Return M(c + iy)/M(c), M(z) = E_P e^(zL) over the finite losses, c neither 0 nor 1.

        Unless a law has a closed form, it is a quadrature of the components, which may err by about e^-digits
        of M(c), or None where there are no components. The transform bounds every error of its own.
        """
        from tradeoff.pld.quadrature import QuadratureTransform

        return None if self.components() is None else QuadratureTransform(self, c, digits)

    def profile(self, loss: Bounds[Array]) -> Bounds[Array] | None:
        """Bound delta at losses known by bounds, in a fraction of a microsecond each; by default None."""
        return None

    def single_rounds(self, count: int) -> tuple[PrivacyLossDistribution, int]:
        """Return a law and a count with the same product, the law as simple as can be."""
        return self, count

    @property
    def next_to_ends(self) -> tuple[float, float]:
        """Distances from both ends within which an edge counts as that end."""
        # Share of an end within which edges count as the end: 2^13 units, four times the error of
        # losses next to an end. No cell is cut whose width is not known to a quarter.
        near = 2.0**-40
        _, low, high, _ = self.ends
        return near * abs(low), near * abs(high)

    def edge_error(self, edges: Array) -> Array:
        """Bound how far from ``edges`` losses are that ``cells`` counts on the wrong side of them.

        Losses between an edge and an end next to it count as outside the edge, and the end is known to less
        than that. Edges count as next to an end twice as far out as they are moved.
        """
        sides = [
            np.where(np.abs(edges - end) <= 2 * near, 2 * near, 0.0)
            for end, near in zip(self.ends[1:3], self.next_to_ends, strict=True)
        ]
        return np.maximum(*sides) + self._rounding(edges)

    def _rounding(self, edges: Array) -> Array:
        """Bound how far off edges are where ``_cells`` cuts; it cuts there exactly by default."""
        return np.zeros_like(edges)

    def cells(self, edges: Array) -> Cells:
        """Return excess and deficit of the continuous part between ``edges``, which may be infinite.

        They are those of a law whose losses lie within the largest ``edge_error`` of the true ones, while
        each cell keeps its mass under P or under Q. A cell [a, b] that is measured to an end at distance s
        from b has losses a + t at a + t (1 +- s/(b - a)).
        """
        (_, low, high, _), (near_low, near_high) = self.ends, self.next_to_ends
        clipped = np.where(edges <= low + near_low, low, np.where(edges >= high - near_high, high, edges))
        inner = self._cells(clipped)
        if np.array_equal(clipped, edges):
            return inner
        inside = np.where((edges > low) & (edges < high), np.abs(edges - clipped), 0.0)
        # Outside the support nothing is added but the reference moves: Q - e^a P = (Q - e^a' P) + (e^a' -
        # e^a) P. Masses cost less than 32 units, and so do the exponentials.
        p, q = masses(inner, clipped)
        below = _moved(p, clipped[:-1], clipped[:-1] - edges[:-1])
        above = _moved(q, -clipped[1:], edges[1:] - clipped[1:])
        slack = inner.slack + 64 * UNIT + position_slack(edges, inside)
        return Cells(inner.excess + below, inner.deficit + above, slack)

    @abstractmethod
    def _cells(self, edges: Array) -> Cells:
        """Return ``cells`` for increasing edges between ``ends``, some of which may be equal."""


def _moved(mass: Array, loss: Array, by: Array) -> Array:
    """Return e^loss mass (1 - e^-by), 0 where ``by`` <= 0; e^loss as a square, since it may be no float."""
    root = np.exp(np.clip(loss / 2, -FULL, FULL))
    return np.where(by > 0, mass * root * root * -np.expm1(-np.clip(by, 0.0, FULL)), 0.0)
