"""The transform rho(y) = M(c + iy)/M(c), M(z) = E_P e^(zL), of a law of losses L, with all its errors.

It is a sum over points: the law's atoms, and the nodes of a quadrature of each of its smooth components (a
density over a `components.Base`). A point has a loss L_j, known to ``error``, and a mass p_j under P, known
to 1 +- ``slack``. With w_j = p_j e^(c L_j)/M(c), m near sum_j w_j L_j, and d_j = L_j - m,

    u(y) = rho(y) e^(-iym) - 1 = sum_j w_j (e^(iy d_j) - 1):

errors scale with |u|, which matters when rho is raised to the power of a million rounds. c is the tilt, y >=
0 a frequency. A *level* is a set of points that serves frequencies up to a limit. On a *path*, next to the
real line, points are complex with Im d_j >= 0, so that one level serves all frequencies. A *row* is one
factor of a product of laws: arrays of points are (rows, points), and numbers of a row are columns (rows, 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from tradeoff.intervals.bounds import Array, Complex
from tradeoff.pld.components import MARGIN, Component, QuadratureNodes, Tail, cosine_and_sine, log_sum
from tradeoff.pld.law import Atoms, LogRatio, PrivacyLossDistribution, Transform, complex_log1p
from tradeoff.pld.units import UNIT

_BLOCK = 64  # points summed at once: a sum of the sums of blocks rounds less than one of all points


class QuadratureTransform(Transform):
    """The product of rho_i^n_i over ``rows`` i of components, ``powers`` n_i, by levels for a frequency.

    Here it has the one row of a law, in `pld.batched` many. Quadratures err by about e^-digits of M(c).
    """

    # Level j serves a component for frequencies up to first_limit finer^j/scale, scale >= |dL/dx|: making a
    # level costs as much as some fifty frequencies.
    first_limit, finer = 16.0, 4.0

    def __init__(
        self,
        law: PrivacyLossDistribution | None,
        c: float,
        digits: float,
        rows: Sequence[Sequence[Component]] = (),
        powers: Sequence[float] = (1.0,),
    ) -> None:
        self.mass_at_minus_infinity = 0.0
        if law is not None:
            self.atoms, self.is_cut, rows = law.atoms, law.lost > 0, [law.components() or []]
            self.mass_at_minus_infinity = law.mass_at_minus_infinity
        self.rows, self.powers, self.c, self.digits = rows, np.array(powers, dtype=float), c, digits
        # Level j serves frequencies up to finer^j/pace. Rows share their levels, so the pace of all is that
        # of the component with the largest scale.
        self._paces = [min(part.base.scale, 1.0) / self.first_limit for row in rows for part in row]
        self._pace = max(self._paces, default=1 / self.first_limit)
        self.first = level = Level(self._points(0), c, self.mass_at_minus_infinity, None)
        self._levels, is_product = {0: level}, len(rows) > 1 or powers[0] != 1
        # Log M is the sum of n_i log M_i, the mean that of n_i m_i. A product n_i m_i and the end of an exact
        # sum are a unit each; a single row with n = 1 has neither.
        self.log_m, self.mean = (math.fsum(self.powers * each[:, 0]) for each in (level.log_m, level.mean))
        rounding = 2 * UNIT * math.fsum(self.powers * np.abs(level.log_m[:, 0])) if is_product else 0.0
        errors = math.fsum(self.powers * level.log_m_error[:, 0])
        self.log_m_error = (errors + rounding) * (1 + 1e-9 * is_product)
        rounding = 2 * UNIT * math.fsum(self.powers * np.abs(level.mean[:, 0]))
        self.mean_error = rounding * (1 + 1e-9) if is_product else 0.0

    @cached_property
    def _path(self) -> Level | None:
        """The level that serves all frequencies, with M(c) of level 0; None where a component has no path."""
        points = self._points(None)
        return None if points is None else Level(points, self.c, self.mass_at_minus_infinity, self.first)

    def _points(self, j: int | None) -> Any:
        """Return the points of level j, atoms among them, as one row; for j None those of a path, or None.

        Quadratures err relative to positive parts, whose errors add to the largest at most.
        """
        y, parts = None if j is None else self.finer**j / self._pace, list[Any]()
        for part in self.rows[0]:
            if (nodes := part.base.nodes(part, self.c, y, self.digits)) is None:
                return None
            parts.append(nodes)
        if j is None and not parts:
            return None
        if len(self.atoms.loss):
            parts.append(select_atoms(self.atoms, self.c, self.digits, cut=self.is_cut))
        loss, log_p, slack, error = (np.concatenate([part[k] for part in parts])[None] for k in range(4))
        largest = np.array([[max(part.quadrature for part in parts)]])
        return QuadratureNodes(loss, log_p, slack, error, largest)

    def ratio(self, y: Array, *, even: bool = False) -> LogRatio:
        """Return the sum of n_i log(rho_i e^(-iy m_i)), for all rows i.

        A product and a sum of all rows are 1 + len(rows) units of each term; the n_i m_i add up to ``mean``
        but for ``mean_error``.
        """
        parts = [complex_log1p(*level.sums(y[here], even=even)) for level, here in self._by_level(y)]
        log, error, ceiling = (np.concatenate(each, axis=-1) for each in zip(*parts, strict=True))
        if len(self.rows) == 1 == self.powers[0]:
            return LogRatio(log[0], error[0], ceiling[0])
        size = np.abs(np.where(np.isfinite(error), log, 0.0))
        total = self.powers @ (error + (2 + len(self.rows)) * UNIT * size) + y * self.mean_error
        return LogRatio(self.powers @ log.real + 1j * (self.powers @ log.imag), total, self.powers @ ceiling)

    def around(self, y: Array, radius: float) -> Array:
        parts = [level.around(y[here], radius, self.first.spreads[1]) for level, here in self._by_level(y)]
        return np.asarray(self.powers @ np.concatenate(parts, axis=-1))

    def _by_level(self, y: Array) -> list[tuple[Level, slice]]:
        """Return levels, each with the slice of the increasing frequencies y that it serves.

        They are made once: 0 on the real line, and from 1 on the path, if there is one.
        """
        if not self._paces:  # atoms alone: level 0 serves all
            return [(self.first, slice(len(y)))]
        which = np.ceil(np.log2(np.maximum(y * self._pace, 1.0)) / math.log2(self.finer))
        which = np.minimum(which, math.inf if self._path is None else 1)
        cuts = [0, *(np.flatnonzero(which[1:] != which[:-1]) + 1).tolist(), len(y)]
        result = list[tuple[Level, slice]]()
        for start, stop in pairwise(cuts):
            if (j := int(which[start])) not in self._levels:
                mass = self.mass_at_minus_infinity
                self._levels[j] = self._path or Level(self._points(j), self.c, mass, self.first)
            result.append((self._levels[j], slice(start, stop)))
        return result

    @cached_property
    def _tails(self) -> list[list[Tail]]:
        """For each component of each row: tilted masses of sets, and variations of the density on them."""
        known = (each[:, 0].tolist() for each in (self.first.log_m, self.first.log_m_error))
        each = zip(self.rows, *known, strict=True)
        return [[part.base.tail(part, self.c, log_m, error) for part in row] for row, log_m, error in each]

    def far(self, y: float) -> float:
        # |rho| <= 1 - (mass - variation/y) of each component, for the best of its sets, and less on a path.
        bounds = [[np.max(tail.mass - tail.variation / y) for tail in row] for row in self._tails]
        decayed = np.sum(np.fmax(bounds, 0.0), axis=1)  # NaN bounds nothing
        rows = np.log1p(-np.minimum(decayed, 1 - UNIT))
        if self._path is not None:
            rows = np.minimum(rows, self._path.far(y))
        return math.fsum(self.powers * rows)

    def bound_from(self, y: float) -> float:
        return self.far(y) if self._path is None else math.fsum(self.powers * self._path.far(y))

    def cost(self, y: float) -> int:
        ((level, _),) = self._by_level(np.array([y]))
        return int(level.size.sum())


class Level:
    """Points of every row: w_j and d_j of the module, and sums over j that bound their errors, as columns.

    ``quadrature`` is the error of the integrals, relative to M(c). On a path (``complex``) masses take an
    exponential and ``cosine_and_sine``, 24 units more; e^(iyd) - 1 is known to 40 units of |yd|, and a sum of
    n complex products to sqrt(2) n: together below twice the errors of real ones.
    """

    log_m: Array
    log_m_error: Array

    chunk = 2**18  # sines and cosines computed at once: 2 MiB each, the size of a cache

    def __init__(
        self, nodes: QuadratureNodes, c: float, mass_at_minus_infinity: float, first: Level | None
    ) -> None:
        loss, log_p, slack, error, self.quadrature = nodes
        log_w = log_p + c * loss
        self.complex = np.iscomplexobj(loss)
        # Relative errors of the w_j but for M(c): the exponent is a product and two sums; exp costs 8.
        slack_w = slack + abs(c) * error + UNIT * (8 + 4 * np.abs(c * loss) + 4 * np.abs(log_p))
        slack_w += 24 * UNIT if self.complex else 0.0
        if self.complex and first is not None:
            self.log_m, self.log_m_error = first.log_m, first.log_m_error
        else:
            self.log_m, self.log_m_error = log_moment(nodes, c, mass_at_minus_infinity, log_w.real, slack_w)
        self.w = np.exp(log_w.real - self.log_m)
        if self.complex:
            cosine, sine = cosine_and_sine(log_w.imag)
            self.w = self.w * (cosine + 1j * sine)
        self.size = np.count_nonzero(self.w, axis=-1, keepdims=True)  # rows may be padded with 0
        self.moment_slack = self.log_m_error + 4 * UNIT * (1 + np.abs(self.log_m))  # of M(c), in every w_j
        self.mean: Array = _sum(self.w * loss) if first is None else first.mean
        self.d = loss - self.mean
        self.d_error = error + 4 * UNIT * np.abs(self.d)  # two differences: this one, and of the phase y d/2
        # Sums of |w|, |w d|, |w| d_error, |w| slack_w and |w d| slack_w over the points of a row.
        grow = 1 + 1e-9  # above the rounding of sums of up to MAX_ATOMS positive terms, 4e6 units
        mass = np.abs(self.w)
        distance = mass * np.abs(self.d)
        self.mass = _sum(mass) * grow if self.complex else 1 + self.moment_slack
        self.drift = _sum(mass * self.d_error) * grow
        self.distance = _sum(distance) * grow
        self.mass_error = _sum(mass * slack_w) * grow
        self.distance_error = _sum(distance * slack_w) * grow
        # The relative rounding of a sum over all points, block by block, of terms known to 20 units (Higham
        # 2002).
        blocks = -(-self.d.shape[-1] // _BLOCK)
        self.sum_slack = (np.minimum(self.size, _BLOCK) + blocks + 32) * (2 if self.complex else 1) * UNIT
        self._on_real_line = first if self.complex else None

    @cached_property
    def spreads(self) -> tuple[Array, Array]:
        """Upper bounds on M(c +- MARGIN) e^(-+ MARGIN m)/M(c), by which quadratures err more, and E_c d^2.

        The latter is one on |u''|, too. Of 4 E_c sinh(s d/2)^2 = E_c 2 (cosh(s d) - 1) = ``2 rise`` >= s^2
        E_c d^2 the integrand is analytic, so that it is known to its quadrature, as d^2 is not; E_c weighs
        with the w_j, and the best s counts.
        """
        # Margins tried for a variance, each a fourth of the one before: rare losses spoil the widest.
        s = MARGIN / 4.0 ** np.arange(5)[:, None, None]
        half = np.sinh(np.minimum(s * np.abs(self.d) / 2, 300.0))
        rise = 2 * _sum(self.w * half * half)
        grown = 2 * (_sum(self.w) + rise)
        spread = np.min((2 * rise + 2 * self.quadrature * grown) / s**2, axis=0)
        # The losses' own errors add to its root, the masses' are below 1e-6 where the bound is not trivial.
        scatter = np.sqrt(_sum(self.w * self.d_error * self.d_error))
        return grown[0], (np.sqrt(spread) + scatter) ** 2 * (1 + 1e-6 + 2 * self.mass_error)

    def sums(self, y: Array, *others: Any, even: bool) -> list[Any]:
        """Return u(y), its error, and sum_j v_j (e^(iy d_j) - 1) for ``others`` v; all are (rows, len(y)).

        Errors are those of summation, losses, masses, M(c) and the quadrature. The terms of u add up to at
        most ``size``, as |e^(i theta) - 1| <= min(2, |theta|).

        More than 16 equally spaced (``even``) y share their sines: e^(i(x + z)d) - 1 = (e^(ixd) - 1) e^(izd)
        + (e^(izd) - 1). y is cut into groups: x, its *head*, is the first y of its group, z = y - x one of
        the ``group`` steps that all groups have in common. A term costs a multiplication and no sine. A sum
        of complex products errs by at most sqrt(2) as much as one of real ones (and those of complex nodes
        are charged twice already), so that both sums err as 1.5 times one over |e^(ixd) - 1| and one over
        |e^(izd) - 1|. The phases err as those of y, to which x and z add up but for 3 units of it.
        """
        weights: tuple[Any, ...] = self.w, *others
        result = [np.empty((len(self.d), len(y)), complex) for _ in weights]
        half, drift, count = (self.d / 2)[:, None, :], self.drift, self.d.shape[-1]
        if even and len(y) > 16:
            group = min(256, 1 << len(y).bit_length() // 2)
            rise = _phase_rise((y[:group] - y[0])[:, None] * half)
            first = [_sum_in_blocks(rise, w)[:, :, None] for w in weights]
            # Small matrices: for complex products of 2^16 multiplications BLAS starts threads.
            rotation = (1 + rise).reshape(len(self.d), -1, min(group, 16), count)
            groups = max(1, min(self.chunk // self.d.size, 48))  # computed at once
            blocks = [slice(k, k + _BLOCK) for k in range(0, count, _BLOCK)]
            for start in range(0, len(y), groups * group):
                phases = _phase_rise(half.swapaxes(1, 2) * y[start : start + groups * group : group])
                for u, w, add in zip(result, weights, first, strict=True):
                    weighted = phases * w[:, :, None]
                    sums = sum(rotation[..., b] @ weighted[:, None, b] for b in blocks)
                    sums = sums.reshape(*rise.shape[:2], -1) + add  # (rows, z, heads)
                    flat = sums.swapaxes(1, 2).reshape(len(self.d), -1)
                    u[:, start : start + flat.shape[1]] = flat[:, : len(y) - start]
            heads = np.repeat(y[::group], group)[: len(y)]
            size = 1.5 * np.minimum(2 * self.mass, heads * self.distance)
            size += np.minimum(2 * self.mass, (y - heads) * self.distance)
            drift = drift + 4 * UNIT * self.distance
        else:
            step = max(1, self.chunk // self.d.size)
            for start in range(0, len(y), step):
                here = slice(start, start + step)
                rise = _phase_rise(y[here, None] * half)
                for u, w in zip(result, weights, strict=True):
                    u[:, here] = _sum_in_blocks(rise, w)
            size = np.minimum(2 * self.mass, y * self.distance)
        error = self.sum_slack * size + y * drift + np.minimum(2 * self.mass_error, y * self.distance_error)
        error = error + np.abs(result[0]) * self.moment_slack + 2.01 * self.quadrature
        return [result[0], error, *result[1:]]

    def around(self, y: Array, radius: float, variance: Array) -> Array:
        """Bound log |rho| from above within ``radius`` r of each y, ``variance`` >= |u''|, row by row.

        |1 + u(y + t)| <= |1 + u + t u'| + r^2/2 ``variance`` for |t| <= r, whose first term is convex in t:
        it is greatest at t = +-r. u' = sum_j i d_j w_j e^(iy d_j) is known to ``known`` + y ``drift``, for
        the errors of losses, masses, summation, M(c), and of the quadrature of L e^(zL) by Cauchy's estimate
        on a circle of radius MARGIN, which may reach that much above the frequencies served: e^(MARGIN mu a)
        < 2.1 as mu a <= 2.8, a the height of the strip of a normal density in which the integrand is
        analytic. The rest of 4 is for nodes left out (`gaussian.Trapezoid.left_out`). With equal steps its
        two sums are of terms up to 3 and 2 times those, and their phases err by up to 4 units more.
        """
        weighted = self.w * self.d
        known = self.drift + self.distance_error + (self.sum_slack + self.moment_slack) * self.distance
        known += 4 * self.quadrature / MARGIN * (self._on_real_line or self).spreads[0]
        drift = _sum(np.abs(weighted) * self.d_error) * (1 + 1e-9)
        is_even = len(y) > 16 and np.ptp(np.diff(y)) == 0
        if is_even:
            known = known + 5 * self.sum_slack * self.distance
            drift = drift + 4 * UNIT * _sum(np.abs(weighted * self.d))
        u, error, slope = self.sums(y, weighted, even=is_even)
        slope = radius * 1j * (_sum(weighted) + slope)
        error = error + radius * (known + y * drift) + radius**2 / 2 * variance
        return np.asarray(np.maximum(*complex_log1p(np.array([u + slope, u - slope]), error).ceiling))

    def far(self, y: float) -> Array:
        """Bound log |rho| from y on by the sum of |w_j| e^(-y Im d_j), on a path, row by row."""
        with np.errstate(under="ignore", over="ignore"):
            left = _sum(np.abs(self.w) * np.exp(-y * np.maximum(self.d.imag - self.d_error, 0.0)))
        off = self.mass_error + self.moment_slack * self.mass + self.quadrature
        return np.ravel(np.minimum(np.log(left * (1 + 1e-9) + off) + 1e-9, 0.0))


def _sum_in_blocks(values: Any, w: Any) -> Any:
    """Return sum_j w_j values_j, (rows, frequencies), of ``values`` (rows, frequencies, points), by blocks.

    Without BLAS, whose products of thin complex arrays start threads for a few numbers already.
    """
    full = values.shape[-1] - values.shape[-1] % _BLOCK
    blocks = values[..., :full].reshape(*values.shape[:-1], -1, _BLOCK)
    sums = np.einsum("rybk,rbk->ryb", blocks, w[:, :full].reshape(len(w), -1, _BLOCK))
    return np.sum(sums, axis=-1) + np.einsum("ryk,rk->ry", values[..., full:], w[:, full:])


# The sum over the points of every row, as a column.
_sum: Callable[[Any], Any] = partial(np.add.reduce, axis=-1, keepdims=True)


def _phase_rise(half: Any) -> Complex:
    """Return e^(2i half) - 1; of complex ones as e^(-2 Im) (e^(2i Re) - 1) + (e^(-2 Im) - 1).

    It is 2t (i - t)/(1 + t^2) for t = tan half, which NumPy may compute in a tenth of the time of a sine. t
    known to 8 units moves it by at most 8 units of itself, as an angle by half of sin(2 half); four roundings
    are added.
    """
    t = np.tan(half.real)
    sine = 2 * t / (1 + t * t)  # of 2 half
    rise: Complex = np.empty(half.shape, complex)
    rise.real, rise.imag = -t * sine, sine
    if np.iscomplexobj(half):
        fall = np.expm1(-2 * half.imag)
        rise = rise * (1 + fall) + fall
    return rise


def log_moment(
    nodes: QuadratureNodes, c: float | Array, mass_at_minus_infinity: float, log_w: Array, slack_w: Array
) -> tuple[Array, Array]:
    """Return log M(c) and its error as columns, from W_j = p_j e^(c L_j) = e^log_w, known to ``slack_w``.

    Two forms, of which that with the smaller error counts: ``plain`` is log sum_j W_j, and ``near`` is
    log1p(sum_j (W_j - p_j) - P(L = -inf)), as all p_j add up to 1 - P(L = -inf). Sums of positive terms lose
    at most their size in units, exp, expm1 and log 8 each. P(L = -inf) is known to 16 units.
    """
    large = 600.0  # masses up to e^600 are floats, and so are their sums
    peak, p = np.max(log_w, axis=-1, keepdims=True), np.exp(nodes.log_p)
    share = np.exp(log_w - peak)
    size = np.count_nonzero((share > 0) | (p != 0), axis=-1, keepdims=True)
    total = _sum(share)
    plain = peak + np.log(total)
    error = _sum(share * slack_w) / total
    error += UNIT * (size + 16 + 2 * np.abs(plain)) + nodes.quadrature
    tilt = c * nodes.loss
    small = np.abs(tilt) < 0.5
    fits = peak <= large
    w = np.exp(np.where(fits, log_w, -np.inf))
    gain = np.where(small, p * np.expm1(np.where(small, tilt, 0.0)), w - p)
    # The error of one term: the mass's own slack on e^x - 1, and the shift of the exponent on e^x < 1.65.
    shift = np.abs(c) * nodes.error + 4 * UNIT * np.abs(tilt)
    moved = np.where(small, 2 * p * shift, slack_w * (w + p))
    change = _sum(gain) - mass_at_minus_infinity
    off = _sum(np.abs(gain) * (nodes.slack + (size + 32) * UNIT) + moved) + 16 * UNIT * mass_at_minus_infinity
    off += nodes.quadrature * (1 + np.exp(np.minimum(plain, 1.1 * large)))
    known = fits & (change > -0.9)
    change = np.where(known, change, 0.0)
    off /= 1 + change
    near = np.log1p(change)
    known &= off < error
    near_error = off * 1.01 + 4 * UNIT * np.abs(near)  # 1.01 covers second orders
    return np.where(known, near, plain), np.where(known, near_error, error * 1.01)


@np.errstate(divide="ignore", over="ignore", invalid="ignore")  # of NaN or infinite sizes all atoms are kept
def select_atoms(atoms: Atoms, c: float, digits: float, *, cut: bool) -> QuadratureNodes:
    """Return the atoms as nodes, but for those that together carry e^-digits of M(c + t), |t| <= MARGIN.

    ``quadrature`` of the result bounds the share left out, of M(c + t) and of the mass under P. With W_j =
    p_j e^(c L_j), which add up to M(c), and m the tilted mean, M(c + t) >= M(c) e^(tm) by Jensen. So atoms
    left out have at most the share sum W_j e^(MARGIN |L_j - m|)/M(c), and of P's mass that at c = 0:
    ``log_gone`` is the larger. A mean known to ``wobble`` raises it by e^(MARGIN wobble): masses off by
    e^(+-off) move it by expm1(2 off) of distances, the sum of n terms by n units of sizes.

    ``cut`` laws lack atoms past their ends. They have at most 4e6 log-concave masses, of deviation up to 4e4
    atoms: t deviations from the tilted centre masses fall by t/4e4 an atom, so that those past an end add up
    to at most 1e5 times the last one; nearer to the centre that is more than all there is.
    """
    loss, log_p, slack, error = atoms
    if len(loss) <= _BLOCK and not cut:
        return QuadratureNodes(*atoms, 0.0)
    log_w = log_p + c * loss
    total = log_sum(log_w)
    lost = 1e5 * float(np.sum(np.exp(log_w[[0, -1]] - total))) if cut else 0.0
    # A mass and its exponent, and a sum of positive terms.
    off = slack + abs(c) * error + UNIT * (len(loss) + 8 + 4 * np.abs(c * loss) + 4 * np.abs(log_p))
    share = np.exp(log_w - total)
    mean = share @ loss
    least = log_sum(log_w + np.log1p(-np.minimum(off, 1.0)))
    wobble = share @ (np.expm1(2 * off) * np.abs(loss - mean) + error + 2 * off * np.abs(loss))
    least -= MARGIN * wobble * np.exp(total - least)
    log_gone = np.maximum(log_w + off + MARGIN * (np.abs(loss - mean) + error) - least, log_p + off)
    kept = ~(log_gone < -digits - math.log(len(loss)))
    lost += float(np.sum(np.exp(log_gone[~kept]))) * (1 + 1e-9)
    return QuadratureNodes(loss[kept], log_p[kept], slack[kept], error[kept], lost)
