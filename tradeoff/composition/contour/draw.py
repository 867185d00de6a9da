"""Drawing a line: transforms of all factors, their product at the nodes, and where the nodes may end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tradeoff.composition.budget import NODE_TERMS
from tradeoff.composition.contour import chernoff
from tradeoff.composition.contour.line import DEEP, ContourLine
from tradeoff.composition.contour.tail import far, stays_below
from tradeoff.composition.options import query_options
from tradeoff.errors import MissingExtraError, SizeError
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.transform import Complex, Transform, Transformed

BYTES = 256
"""Working memory a node of a line takes while it is drawn and asked."""

_FAINT = 20.0
"""Without smoothing, products whose atoms leave more than e^-20 for ever are not followed farther."""

_RAREST = 800.0
"""Nothing a float holds is below e^-800."""

_BLOCK = 64
"""Nodes of the first block; each further one doubles what there is."""

_MANY, _SILENT, _SPARSE = 2048, 120.0, 8
"""In blocks of more than 2048 nodes, those where the product is below e^-120 are left alone;
a factor is asked about single frequencies where fewer than an eighth are left."""
_EXACT = 2**53
"""Counts up to this one are floats; others are rounded before they multiply."""

_SHARED = 64
"""Fewest factors worth sharing among jobs."""


class Placement(NamedTuple):
    """Where to draw a line: c, two Chernoff points beside it, step, what may be left out, and the cost.

    ``scale`` is the spread of the integrand about the saddle: so far from the aim e^(1/2) of the accuracy is
    lost. ``blur`` tau^2 is about what a Gaussian of mu = tau moves psi by, relative.
    """

    c: float
    left: float
    right: float
    step: float
    goal: float
    most: float
    tau: float
    scale: float
    blur: float = 1.0

    @property
    def drawable(self) -> bool:
        """Whether floats hold the aim: out of all proportion tilts meet, periods and goals overflow."""
        return (
            0 < self.goal < math.inf
            and 0 < self.step < math.inf
            and self.left < self.c < self.right
            and self.scale < math.inf
        )


def draw(laws: Sequence[Transformed], counts: Sequence[int], aim: Placement) -> ContourLine | None:
    """Return the line, or None where some density is unknown or a quadrature too large."""
    found = [law.transform(aim.c, chernoff.DIGITS + math.log(n)) for law, n in zip(laws, counts, strict=True)]
    transforms = [t for t in found if t is not None]
    if len(transforms) < len(laws):
        return None
    try:
        product = _decayed(transforms, counts, aim)
    except SizeError:  # a quadrature grew beyond its cap: the product decays too late
        return None
    log, error, cut = product
    # What aliases is the product with the Gaussian added.
    sides = [chernoff.at(laws, counts, c).smoothed(aim.tau) for c in (aim.left, aim.right)]
    smoothing = aim.tau**2 * (aim.c**2 - aim.c) / 2
    scale = [n * t.log_m for n, t in zip(counts, transforms, strict=True)]
    # A count is a float up to 2^53 and rounded beyond; its product and an exact sum are a rounding each.
    rounded = UNIT * (2 if max(counts) <= _EXACT else 4)
    means = [n * t.mean for n, t in zip(counts, transforms, strict=True)]
    return ContourLine(
        c=aim.c,
        log_m=math.fsum(scale) + smoothing,
        log_m_error=math.fsum(n * t.log_m_error for n, t in zip(counts, transforms, strict=True))
        + rounded * _size(scale)
        + 4 * UNIT * _size([*scale, smoothing]),
        mean=math.fsum(means) + aim.tau**2 * (aim.c - 0.5),
        mean_error=rounded * _size(means) + 4 * UNIT * aim.tau**2 * max(aim.c, 0.5),
        step=aim.step,
        log=log,
        error=error,
        cut=cut,
        left=sides[0],
        right=sides[1],
        tau=aim.tau,
        scale=aim.scale,
    )


def _size(terms: Sequence[float]) -> float:
    return math.fsum(map(abs, terms))


def _decayed(
    transforms: Sequence[Transform], counts: Sequence[int], aim: Placement
) -> tuple[Complex, Array, float]:
    """Return log of the product at the nodes, absolute errors, and a bound on it beyond the last node.

    The nodes go on until what is left out is below ``aim.goal``; where the cost allowed is spent before, the
    bounds are wider.
    """
    lasting = -far(transforms, counts, 1e100, _RAREST, cheap=True)  # what atoms leave for ever
    if lasting < _RAREST:
        lasting = -far(transforms, counts, 1e100, _RAREST)
    stop, gone = _ends(aim, lasting)
    log, error, size, spent = [], [], 0, 0.0
    while True:
        end = max(2 * size, _BLOCK)
        if end * aim.step > stop:
            end = max(math.ceil(stop / aim.step) + 1, size + 1)
        block: Array = aim.step * np.arange(size, end, dtype=float)
        values, off, ceiling = _product(transforms, counts, block)
        smooth = (aim.tau * block) ** 2 / 2
        log.append(values - smooth)
        # Three roundings of a square move both; the exponential and the products are of the line's own 32
        # units.
        moved = 4 * UNIT * smooth * (off + np.exp(values.real))
        error.append((off + moved) * np.exp(-smooth) * (1 + 16 * UNIT))
        size, last = size + len(block), float(block[-1])
        spent += len(block) * _cost(transforms, last)
        price = len(block) * _cost(transforms, 2 * (last + aim.step))
        level = -math.fsum(map(math.log, (aim.goal, math.pi, last)))  # the product may underflow
        if (
            last < stop
            and lasting > level
            and ceiling[-1] < -1.1 * level
            and stays_below(transforms, counts, level, last, gone, aim.most) == math.inf
        ):
            # The walk ends where tau takes over.
            cut = max(math.exp(-level), math.exp(-(DEEP**2) / 2) if aim.tau else 0.0)
        elif (
            last >= stop
            or (lasting < _FAINT and not aim.tau)
            or size >= query_options().most(BYTES)
            or spent + 2 * price > aim.most
        ):
            cut = math.exp(far(transforms, counts, last) - (aim.tau * last) ** 2 / 2)
        else:
            continue
        return np.concatenate(log), np.concatenate(error), cut * (1 + 1e-9)


def _ends(aim: Placement, lasting: float) -> tuple[float, float]:
    """Return the frequencies where nodes end at last, and where a Gaussian leaves nothing.

    Beyond y = depth/tau a product of e^-lasting leaves tau e^(-lasting - depth^2/2) and less.
    """
    if not aim.tau:
        return math.inf, math.inf
    depth = math.sqrt(2 * max(math.log(aim.tau / aim.goal) - lasting, 2.0))
    return min(depth, DEEP) / aim.tau, DEEP / aim.tau


def _cost(transforms: Sequence[Transform], y: float) -> float:
    """Return the terms of the product at y: infinitely many where a quadrature grows beyond its cap."""
    try:
        return max(NODE_TERMS, sum(t.cost(y) for t in transforms))
    except SizeError:
        return math.inf


def _product(
    transforms: Sequence[Transform], counts: Sequence[int], y: Array
) -> tuple[Complex, Array, Array]:
    """Return sum n log rho, the absolute error of the product and the sum of ceilings."""
    jobs = query_options().jobs
    if jobs == 1 or len(transforms) < _SHARED:
        log, slip, ceiling = _logs(transforms, counts, y, len(transforms))
    else:
        log, slip, ceiling = _shared(transforms, counts, y, jobs)
    gone = ceiling <= -_SILENT
    # The truth is in the unit disc: moving there brings the value no farther from it.
    log.real = np.minimum(log.real, 0.0)
    log.real[gone] = -np.inf
    size = np.exp(np.minimum(log.real, 0.0))
    near = (slip < 0.5) & ~gone
    error = np.where(near, size * np.expm1(np.where(near, slip, 0.0)), np.exp(ceiling) + size)
    return log, error, ceiling


def _logs(
    transforms: Sequence[Transform], counts: Sequence[int], y: Array, terms: int
) -> tuple[Complex, Array, Array]:
    """Sum logarithms, their errors and ceilings; later factors skip frequencies where nothing is left.

    A count and its product cost two units of a term, and each of the ``terms`` summed in all one of all
    sizes.
    """
    log, slip, ceiling = np.zeros(len(y), complex), np.zeros(len(y)), np.zeros(len(y))
    alive = np.arange(len(y))
    for factor, n in zip(transforms, counts, strict=True):
        ratio = (
            factor.ratio(y[alive]) if len(alive) < len(y) / _SPARSE else factor.ratio(y, even=True).at(alive)
        )
        size = np.abs(np.where(np.isfinite(ratio.error), ratio.log, 0.0))
        log[alive] += n * ratio.log.real + 1j * (n * ratio.log.imag)  # n times a complex -inf would be NaN
        slip[alive] += n * (ratio.error + (2 + terms) * UNIT * size)
        ceiling[alive] += n * ratio.ceiling
        if len(y) > _MANY:
            alive = alive[ceiling[alive] > -_SILENT]
            if not len(alive):
                break
    return log, slip, ceiling


def _shared(
    transforms: Sequence[Transform], counts: Sequence[int], y: Array, jobs: int | None
) -> tuple[Complex, Array, Array]:
    """Do it in jobs: sums of parts, whose order does not matter to the bounds."""
    try:
        import joblib
    except ImportError as error:
        raise MissingExtraError(
            'n_jobs other than 1 needs joblib: pip install "tradeoff[parallel]"'
        ) from error
    pieces = range(0, len(transforms), _SHARED // 2)
    work = (
        joblib.delayed(_logs)(
            transforms[i : i + _SHARED // 2], counts[i : i + _SHARED // 2], y, len(transforms)
        )
        for i in pieces
    )
    done: list[Any] = joblib.Parallel(n_jobs=jobs)(work)
    log, slip, ceiling = (sum(column) for column in zip(*done, strict=True))
    return log, slip, ceiling
