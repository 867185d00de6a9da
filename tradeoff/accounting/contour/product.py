"""The product of all transforms on a line: its values at the nodes, and where the nodes may end.

Beyond the last node a walk shows how small prod |rho_i|^n_i stays, and ends where tails take over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from tradeoff.accounting.contour.line import DEEP, DIGITS, PIECE, ContourLine, chernoff
from tradeoff.accounting.contour.place import BYTES, Placement
from tradeoff.accounting.options import NODE_TERMS, query_options
from tradeoff.errors import MissingExtraError, SizeError
from tradeoff.intervals.rounding import UNIT, Array, Complex, few_bits
from tradeoff.pld.law import LogRatio, Transform, Transformed

# Without smoothing, products whose atoms leave more than e^-20 for ever are not followed farther.
_FAINT = 20.0

_RAREST = 800.0  # nothing a float holds is below e^-800
_BLOCK = 64  # nodes of the first block; each further one doubles what there is

# In blocks of more than 2048 nodes, those where the product is below e^-120 are left alone; a factor is asked
# about single frequencies where fewer than an eighth are left.
_MANY, _SILENT, _SPARSE = 2048, 120.0, 8

_EXACT = 2**53  # counts up to this one are floats; others are rounded before they multiply
_SHARED = 64  # fewest factors worth sharing among jobs

# Steps of a walk; they double where they succeed, so that four hundred lead past any frequency that matters.
_WALK = 400

_CHEAP = 6  # steps before the best bound is asked beyond them: by then most walks have ended
_AHEAD = 8  # discs cleared at once: NumPy's overhead is that of so many

# Steps, over the start, below which the walk has met a place where the product stands up again.
_FINEST = 1e-4


def evaluate_line(laws: Sequence[Transformed], counts: Sequence[int], place: Placement) -> ContourLine | None:
    """Return the line, or None where some density is unknown or a quadrature too large."""
    place = place._replace(step=few_bits(place.step))  # aliases are those of nodes equally apart
    try:
        each = [law.transform(place.c, DIGITS + math.log(n)) for law, n in zip(laws, counts, strict=True)]
        transforms = [t for t in each if t is not None]
        if len(transforms) < len(laws):
            return None
        log, error, cut = _decayed(transforms, counts, place)
        left, right = (chernoff(laws, counts, c) for c in (place.left, place.right))
    except SizeError:  # a quadrature grew beyond its cap: the product decays too late
        return None
    smoothing = place.tau**2 * (place.c**2 - place.c) / 2
    scale = [n * t.log_m for n, t in zip(counts, transforms, strict=True)]
    means = [n * t.mean for n, t in zip(counts, transforms, strict=True)]
    # A count is a float up to 2^53 and rounded beyond; its product and an exact sum are a rounding each.
    rounded = UNIT * (2 if max(counts) <= _EXACT else 4)
    return ContourLine(
        c=place.c,
        log_m=math.fsum(scale) + smoothing,
        log_m_error=math.fsum(n * t.log_m_error for n, t in zip(counts, transforms, strict=True))
        + rounded * _size(scale)
        + 4 * UNIT * _size([*scale, smoothing]),
        mean=math.fsum(means) + place.tau**2 * (place.c - 0.5),
        mean_error=rounded * _size(means) + 4 * UNIT * place.tau**2 * max(place.c, 0.5),
        step=place.step,
        log=log,
        error=error,
        cut=cut,
        left=left,
        right=right,
        tau=place.tau,
        scale=place.scale,
    )


def _size(terms: Sequence[float]) -> float:
    return math.fsum(map(abs, terms))


def _decayed(
    transforms: Sequence[Transform], counts: Sequence[int], place: Placement
) -> tuple[Complex, Array, float]:
    """Return log of the product at the nodes, absolute errors, and a bound on it beyond the last node.

    The nodes go on until what is left out is below ``place.goal``; where the cost allowed is spent before,
    the bounds are wider.
    """
    lasting = -far(transforms, counts, 1e100, _RAREST, cheap=True)  # what atoms leave for ever
    if lasting < _RAREST:
        lasting = -far(transforms, counts, 1e100, _RAREST)
    stop, gone = _ends(place, lasting)
    jobs = query_options().jobs
    sums = _sums if jobs == 1 or len(transforms) < _SHARED else partial(_shared, jobs)
    log, error, size, spent = [], [], 0, 0.0
    while True:
        end = max(2 * size, _BLOCK)
        if end * place.step > stop:
            end = max(math.ceil(stop / place.step) + 1, size + 1)
        block: Array = place.step * np.arange(size, end, dtype=float)
        values, off, ceiling = _product(*sums(transforms, counts, block))
        smooth = (place.tau * block) ** 2 / 2
        log.append(values - smooth)
        # Three roundings of a square, and twice that of its node, move both; the exponential and the products
        # are of the line's own 32 units.
        moved = 6 * UNIT * smooth * (off + np.exp(values.real))
        error.append((off + moved) * np.exp(-smooth) * (1 + 16 * UNIT))
        size, last = size + len(block), float(block[-1])
        spent += len(block) * _cost(transforms, last)
        level = -math.fsum(map(math.log, (place.goal, math.pi, last)))  # the product may underflow
        if (
            last < stop
            and lasting > level
            and ceiling[-1] < -1.1 * level
            and stays_below(transforms, counts, level, last, gone, place.most) == math.inf
        ):
            cut = math.exp(-level - (place.tau * last) ** 2 / 2)  # up to where tau takes over
        elif (
            last >= stop
            or (lasting < _FAINT and not place.tau)
            or size >= query_options().most(BYTES)
            or spent + 2 * len(block) * _cost(transforms, 2 * (last + place.step)) > place.most
        ):
            cut = math.exp(far(transforms, counts, last) - (place.tau * last) ** 2 / 2)
        else:
            continue
        return np.concatenate(log), np.concatenate(error), cut * (1 + 1e-9)


def _ends(place: Placement, lasting: float) -> tuple[float, float]:
    """Return the frequencies where nodes end at last, and where a Gaussian leaves nothing.

    Beyond y = depth/tau a product of e^-lasting leaves tau e^(-lasting - depth^2/2) and less.
    """
    if not place.tau:
        return math.inf, math.inf
    depth = math.sqrt(2 * max(math.log(place.tau / place.goal) - lasting, 2.0))
    return min(depth, DEEP) / place.tau, DEEP / place.tau


def _cost(transforms: Sequence[Transform], y: float) -> float:
    """Return the terms of the product at y: infinitely many where a quadrature grows beyond its cap."""
    try:
        return max(NODE_TERMS, sum(t.cost(y) for t in transforms))
    except SizeError:
        return math.inf


def _product(log: Complex, slip: Array, ceiling: Array) -> LogRatio:
    """Return the log of the product, its absolute error and its ceiling, from sums of logarithms."""
    gone = ceiling <= -_SILENT
    # The truth is in the unit disc: moving there brings the value no farther from it.
    log.real = np.minimum(log.real, 0.0)
    log.real[gone] = -np.inf
    size = np.exp(np.minimum(log.real, 0.0))
    near = (slip < 0.5) & ~gone
    error = np.where(near, size * np.expm1(np.where(near, slip, 0.0)), np.exp(ceiling) + size)
    return LogRatio(log, error, ceiling)


def _sums(
    transforms: Sequence[Transform], counts: Sequence[int], y: Array, terms: int | None = None
) -> LogRatio:
    """Sum logarithms, their errors and ceilings; later factors skip frequencies where nothing is left.

    A count and its product cost two units of a term, and each of the ``terms`` summed in all one of all
    sizes.
    """
    if len(y) > PIECE:
        parts = [_sums(transforms, counts, y[k : k + PIECE], terms) for k in range(0, len(y), PIECE)]
        return LogRatio(*map(np.concatenate, zip(*parts, strict=True)))
    log, slip, ceiling = np.zeros(len(y), complex), np.zeros(len(y)), np.zeros(len(y))
    alive, units = np.arange(len(y)), (2 + (terms or len(transforms))) * UNIT
    for factor, n in zip(transforms, counts, strict=True):
        ratio = (
            factor.ratio(y[alive]) if len(alive) < len(y) / _SPARSE else factor.ratio(y, even=True).at(alive)
        )
        size = np.abs(np.where(np.isfinite(ratio.error), ratio.log, 0.0))
        log[alive] += n * ratio.log.real + 1j * (n * ratio.log.imag)  # n times a complex -inf would be NaN
        slip[alive] += n * (ratio.error + units * size)
        ceiling[alive] += n * ratio.ceiling
        if len(y) > _MANY:
            alive = alive[ceiling[alive] > -_SILENT]
            if not len(alive):
                break
    return LogRatio(log, slip, ceiling)


def _shared(jobs: int | None, transforms: Sequence[Transform], counts: Sequence[int], y: Array) -> LogRatio:
    """Do it in jobs: sums of parts, whose order does not matter to the bounds."""
    try:
        import joblib
    except ImportError as error:
        raise MissingExtraError(
            'n_jobs other than 1 needs joblib: pip install "tradeoff[parallel]"'
        ) from error
    each = _SHARED // 2
    starts = range(0, len(transforms), each)
    parts = [(transforms[i : i + each], counts[i : i + each], y, len(transforms)) for i in starts]
    done: list[LogRatio] = joblib.Parallel(n_jobs=jobs)(joblib.delayed(_sums)(*part) for part in parts)
    return LogRatio(*(sum(column) for column in zip(*done, strict=True)))


def stays_below(
    transforms: Sequence[Transform],
    counts: Sequence[int],
    level: float,
    start: float,
    stop: float,
    max_terms: float,
) -> float:
    """Return the frequency up to which sum n_i log|rho_i(y)| < -level from ``start`` on; inf where for good.

    One evaluation at y bounds every |rho_i| on [y - s, y + s], and clears it where the bounds' sum n_i log is
    below -level. Any subset of the factors gives a bound, since no term is positive. Beyond ``stop`` nothing
    need be shown; after ``max_terms`` terms the walk gives up where it is.
    """
    try:
        chosen = _strongest(transforms, counts, start, 3 * level)
        few, powers = [transforms[i] for i in chosen], np.array([counts[i] for i in chosen], dtype=float)
        at, step, spent, failed = start, start / 16, 0.0, False
        for k in range(_WALK):
            if at >= stop or far(few, powers, at, level, cheap=k < _CHEAP) < -level:
                return np.inf
            # Each point is the middle of an interval, which it clears to both sides.
            middle: Array = at + step * np.arange(1, 2 * _AHEAD, 2, dtype=float)
            cleared = powers @ np.array([t.around(middle, step * (1 + 1e-9)) for t in few]) < -level
            run = _AHEAD if cleared.all() else int(np.argmin(cleared))
            at += 2 * step * run
            grown = run == _AHEAD and not failed  # just halved, it would fail again
            failed = run <= _AHEAD // 2
            step *= 2.0 if grown else 0.5 if failed else 1.0
            spent += _AHEAD * sum(t.cost(at) for t in few)
            if step < _FINEST * start or spent > max_terms:
                break
    except SizeError:  # a quadrature grew too large before the walk ended
        return start
    return at


def far(
    transforms: Sequence[Transform],
    powers: Iterable[float],
    y: float,
    enough: float = math.inf,
    *,
    cheap: bool = False,
) -> float:
    """Bound sum n_i log|rho_i| at y and beyond by as many factors as bring it below -enough."""
    left = 0.0
    for t, n in zip(transforms, powers, strict=True):
        left += float(n * (t.beyond(y) if cheap else t.far(y)))
        if left < -enough:
            break
    return left


def _strongest(transforms: Sequence[Transform], counts: Sequence[int], y: float, enough: float) -> list[int]:
    """Return the factors that do most at y, as many as are needed to do ``enough``."""
    if len(transforms) == 1:
        return [0]
    at = np.array([y])
    strength = [-n * float(t.ratio(at).ceiling[0]) for t, n in zip(transforms, counts, strict=True)]
    order = np.argsort(strength)[::-1]
    reached = np.cumsum(np.array(strength)[order])
    return [int(i) for i in order[: int(np.searchsorted(reached, enough)) + 1]]
