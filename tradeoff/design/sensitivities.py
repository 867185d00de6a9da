"""Estimates of how epsilon or delta changes with each parameter and count of a composition.

With z = c + iy on the line of a saddle point c, K = sum n_i K_i and K_i(z) = log E_P e^(z L_i), delta(eps) is

    Q(L = inf) + (1/2 pi) int e^(K(z) - (z - 1) eps)/(z (z - 1)) dy    (Zhu, Dong, Wang 2022),

so its derivatives are the same integral with one factor more: n_i dK_i/dtheta for a parameter, K_i for the
count n_i, and -(z - 1) for eps. Where delta stays, d eps = -(d delta/d theta)/(d delta/d eps). A transform of
a law gives M(c + iy)/M(c), M = e^K_i, over the finite losses.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from tradeoff.accounting.planner import Composition
from tradeoff.accounting.saddles import Placement
from tradeoff.curves.contract import Derived, TradeOff
from tradeoff.curves.parameters import number
from tradeoff.curves.product import Tensor, tensor
from tradeoff.errors import DomainError, PrecisionError, SizeError
from tradeoff.intervals.bounds import Array, Bounds, Complex
from tradeoff.operators.symmetrise import Envelope
from tradeoff.pld.law import PrivacyLossDistribution, Transform, log_finite_mass
from tradeoff.sweeps import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Relative step of differences of K_i. Transforms are known to about 1e-14 of themselves, a difference to
# 1e-9; its curvature adds STEP^2 D^2/6 if K_i goes as theta^D, below 1e-6 up to D = 160.
STEP = 2.0**-16

_SHORTEST = 2.0**-28  # that fits: transforms are known to 1e-14, a difference to 1e-14 * 2^32 = 4e-5


@dataclass(frozen=True, repr=False)
class Sensitivities(Table):
    """Estimated slopes of one answer, a row for every parameter and count.

    ``per 1%`` is the gain where the parameter, or the count, grows by one per cent.
    """

    estimated: bool = True

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the gains per cent as bars, the 20 largest, the first on top; return the axes drawn on."""
        from tradeoff.report.plot import module

        # a figure holds that many names
        rows = sorted(self.rows, key=lambda row: abs(row[4]))[-20:]
        if ax is None:
            size = (7.0, 1.0 + 0.2 * len(rows))
            ax = module("matplotlib.pyplot").subplots(figsize=size, layout="constrained")[1]
        ax.barh(range(len(rows)), [row[4] for row in rows], color="0.35", height=0.7)
        ax.set_yticks(range(len(rows)), [f"{factor}: {name}" for factor, name, *_ in rows])
        ax.axvline(0.0, color="black", linewidth=0.6)
        ax.set_xlabel(f"estimated {self.columns[3]} for 1% more")
        return ax


@dataclass(frozen=True, eq=False)
class Integral:
    """Terms of the integral of delta at ``loss``, at the nodes z = c + iy where they matter.

    ``terms`` add up to delta - Q(L = inf), or in the strip 0 < c < 1 (``middle``) to 1 - delta. ``logs`` are
    the K_i of one round of the ``laws``, ``kept`` is 1 - Q(L = inf), e^-``digits`` the accuracy of
    transforms.
    """

    loss: float
    z: Complex
    terms: Complex
    laws: Sequence[PrivacyLossDistribution]
    logs: Sequence[Complex]
    kept: float
    middle: bool
    digits: float

    @property
    def delta(self) -> float:
        value = float(np.sum(self.terms.real))
        return 1 - value if self.middle else value + 1 - self.kept

    def gain(self, change: float, *, of: str) -> float:
        """Return d epsilon, or d delta, where the integral and the mass at infinity gain ``change``."""
        if of == "epsilon":
            return -change / self._sum(1 - self.z)
        return -change if self.middle else change

    def counted(self, i: int) -> float:
        """Return the first-order change by one round more of the i-th factor."""
        return self._sum(self.logs[i], log_finite_mass([self.laws[i].mass_at_plus_infinity], [1]))

    def change(self, below: TradeOff, above: TradeOff) -> float:
        """Return the first-order change of the integral and Q(L = inf) if ``above`` replaces ``below``."""
        logs, kept, c = [], [], float(self.z[0].real)
        for curve in (below, above):
            rounds = [factor.laws()[0].single_rounds(n) for factor, n in curve.factors.items()]
            moments = [n * _log_moment(_transform(law, c, self.digits), self.z.imag) for law, n in rounds]
            logs.append(np.sum(moments, axis=0))
            masses = [law.mass_at_plus_infinity for law, _ in rounds]
            kept.append(log_finite_mass(masses, [n for _, n in rounds]))
        rise = logs[1] - logs[0]
        # Logarithms are determined up to multiples of 2 pi i, and neighbours differ by less.
        rise.imag = np.remainder(rise.imag + np.pi, 2 * np.pi) - np.pi
        if not (np.abs(rise) < 2 * np.pi).all():  # a transform is lost in its rounding
            raise SizeError("a small step of a parameter changes a transform by more than a factor")
        return self._sum(rise, kept[1] - kept[0])

    def _sum(self, factor: Complex, log_finite_mass: float = 0.0) -> float:
        """Return the integral with a factor, and the change of 1 - e^log_finite_mass: none in the middle."""
        return float(np.real(self.terms @ factor)) - (0.0 if self.middle else self.kept * log_finite_mass)


def integral(
    curve: TradeOff, *, epsilon: float | None = None, delta: float | None = None, accuracy: float = 1e-6
) -> Integral:
    """Return the integral of one order at a loss, or where it is ``delta``; or raise ``SizeError``.

    Where atoms keep the product from decaying a Gaussian factor is added that moves delta by ``accuracy``.
    """
    pairs = [factor.laws() for factor in curve.factors]
    whole = Composition([low for low, _ in pairs], list(curve.factors.values()))
    contour, lines = whole.contour, whole.contour.forward
    has_loss, unclosed = whole.mass_at_plus_infinity < 1, SizeError("no contour of the product closes")
    if not (has_loss and contour.possible and all(low is high for low, high in pairs)):
        raise unclosed
    # A factor added to a few rounds that are nearly atoms leaves millions of nodes.
    if whole.rounds <= 4 or next(whole.choices(None), (None, ""))[0] is not contour:
        accuracy = 0.0
    loss = float(contour.loss_at_delta(np.array([delta]))[0]) if epsilon is None else epsilon
    middle = not lines.rare(np.array([loss]))[0]
    place = lines.place("rest" if middle else "delta", loss, None)
    # quadratures err by e^-27, over all rounds: 1e-7 after a division by STEP, at worst
    digits = 27.0 + math.log(sum(lines.counts))
    if not place.drawable:
        raise unclosed
    z, logs, product = _nodes(lines.laws, lines.counts, place, accuracy, digits)
    kernel: Complex = (place.step / np.pi) * np.where(z.imag > 0, 1.0, 0.5) / (z * (z - 1))
    terms = np.exp(product - (z - 1) * loss) * (-kernel if middle else kernel)
    if delta is not None:
        goal, reach = (1 - delta if middle else delta - whole.mass_at_plus_infinity), place.scale

        def excess(moved: float) -> float:
            """Return how far the integral at loss + moved is above the one at ``delta``."""
            return float(np.real(terms @ np.exp((1 - z) * moved))) - goal

        if not excess(-reach) * excess(reach) < 0:  # the first loss was far off
            raise unclosed
        moved = float(brentq(excess, -reach, reach, xtol=1e-14 * reach))
        loss, terms = loss + moved, terms * np.exp((1 - z) * moved)
    return Integral(loss, z, terms, lines.laws, logs, 1 - whole.mass_at_plus_infinity, middle, digits)


def _transform(law: PrivacyLossDistribution, c: float, digits: float) -> Transform:
    result = law.transform(c, digits)
    if result is None:
        raise SizeError(f"a law of type {type(law).__name__} has no transform")
    return result


def _log_moment(transform: Transform, y: Array) -> Complex:
    """Return log M(c + iy), up to multiples of 2 pi i."""
    log = transform.ratio(y).log
    result: Complex = np.maximum(transform.log_m + log.real, -1e100) + 1j * (transform.mean * y + log.imag)
    return result


def _nodes(
    laws: Sequence[PrivacyLossDistribution],
    counts: Sequence[int],
    place: Placement,
    accuracy: float,
    digits: float,
) -> tuple[Complex, list[Complex], Complex]:
    """Return the nodes where the product matters, K_i and K there.

    ``SizeError`` if they, or those of a transform, are too many, or the product never decays.
    """
    c, step, size = place.c, place.step, 64  # number of nodes, which doubles until the product is small
    # The product is followed to e^-25: with the factor added, 1e-10 of the integral is left out.
    decayed = 25.0
    transforms = [_transform(law, c, digits) for law in laws]
    # At this frequency only atoms are left: if these do not decay, a Gaussian of variance tau^2 is added.
    remaining = -sum(n * t.far(1e100) for t, n in zip(transforms, counts, strict=True))
    tau = 0.0 if remaining > decayed else math.sqrt(2 * accuracy / abs(c * (c - 1)))
    logs = [np.zeros(0, complex)] * len(laws)
    # Logarithms, and terms of their sums: of a few seconds, or less where differences serve as well.
    most = 2**22, 2**28 if sum(counts) > 4 else 2**24
    while size * len(laws) <= most[0] and (tau or remaining > decayed):
        if size * sum(t.cost(step * size) for t in transforms) > most[1]:
            break
        y: Array = step * np.arange(size, dtype=float)
        z: Complex = (c + 1j * y).astype(complex)
        logs = [
            np.append(log, _log_moment(t, y[len(log) :])) for log, t in zip(logs, transforms, strict=True)
        ]
        product: Complex = (
            sum(n * log for n, log in zip(counts, logs, strict=True)) + tau**2 * z * (z - 1) / 2
        )
        live = product.real > product[0].real - decayed
        if (tau * y[-1]) ** 2 >= 2 * decayed * (tau > 0) and not live[-(size // 4) :].any():
            # Only relative to their mean do phases change slowly from node to node.
            phases = [t.mean * y for t in transforms]
            unwrapped = [m + np.unwrap(k.imag - m) for k, m in zip(logs, phases, strict=True)]
            logs = [(k.real + 1j * u).astype(complex) for k, u in zip(logs, unwrapped, strict=True)]
            return z[live], [log[live] for log in logs], product[live]
        size *= 2
    raise SizeError("the product needs too many nodes")


def sensitivities(
    curve: TradeOff, *, delta: float | None = None, epsilon: float | None = None
) -> Sensitivities:
    """Estimate the slopes of epsilon, or delta, in every parameter and count of a composition.

    Each has a row: estimates, usually to :math:`10^{-6}` of themselves, from the integral over a saddle-point
    line (Zhu, Dong, Wang 2022) differentiated under its sign; where none closes, from differences of
    certified answers, counts moving by one. A parameter less than a step from an end of its range moves by
    less, and its slope is known to :math:`10^{-3}`.

    Parameters
    ----------
    curve : any curve; for an envelope of both orders the one that loses more is differentiated
    delta, epsilon : give one: slopes of epsilon at a delta, in nats, or of delta at a loss

    Examples
    --------
    >>> import tradeoff as to
    >>> (to.Gaussian(0.5) @ to.Laplace(0.1) ** 100).sensitivities(delta=1e-5)
    factor     parameter  value  d epsilon      per 1%
    G_{0.5}    mu           0.5    2.40669   0.0120334
    G_{0.5}    count          1   0.601672  0.00601672
    Lap_{0.1}  epsilon      0.1    43.6061   0.0436061
    Lap_{0.1}  count        100  0.0227148   0.0227148
    """
    if (delta is None) == (epsilon is None):
        raise DomainError("sensitivities() takes exactly one of delta, epsilon")
    name = "epsilon" if delta is None else "delta"
    low, high = (-math.inf, math.inf) if delta is None else (0.0, 1.0)
    value = number(name, epsilon if delta is None else delta, low, high, open_low=True, open_high=True)
    curve.require_numbers()
    orders = curve.operands if isinstance(curve, Envelope) else (curve,)
    order = max(orders, key=lambda f: _answer(f, name, value).upper) if len(orders) > 1 else curve
    if name == "delta" and value <= order.mass_at_infinity.upper:
        least = f"Q(L = inf) = {order.mass_at_plus_infinity:.6g}"
        raise DomainError(f"delta must be above {least}, got {value!r}; give a larger delta")
    for parameter in chain.from_iterable(map(parameters, order.factors)):
        if parameter.value == 0:  # of which no share is a step
            raise parameter.stuck()
    of = "epsilon" if name == "delta" else "delta"
    try:
        slopes = [*_integral_slopes(order, integral(order, **{name: value}), of)]
    except SizeError:
        slopes = [*_differences(order, name, value)]
    rows = (
        (factor.notation if curve.symmetric else repr(factor), parameter, at, slope, at * slope / 100)
        for factor, parameter, at, slope in slopes
    )
    names = ("factor", "parameter", "value", f"d {of}", "per 1%")
    return Sensitivities(names, tuple(rows), notes=curve.caveats)


Slope = tuple[TradeOff, str, float, float]  # factor, parameter, value, slope


def _integral_slopes(order: TradeOff, at: Integral, of: str) -> Iterator[Slope]:
    """Yield the slopes of ``of``, epsilon or delta, by the integral with one factor more."""
    for i, (factor, n) in enumerate(order.factors.items()):
        for parameter in parameters(factor):
            # A step by which phases of M, y times losses, move by one.
            phase = float(np.max(at.z.imag)) * max(factor.sup_loss, factor.inverse().sup_loss)
            step = min(STEP, 1 / phase) if 0 < phase < math.inf else STEP
            if step < _SHORTEST:
                raise DomainError(
                    f"losses of {factor!r} are too large for the smoothing here; try another epsilon or delta"
                )
            below, above, apart = parameter.pair(step)
            slope = at.gain(n * at.change(below, above) / apart, of=of)
            yield factor, parameter.name, parameter.value, slope
        yield factor, "count", n, at.gain(at.counted(i), of=of)


def _differences(order: TradeOff, name: str, value: float) -> Iterator[Slope]:
    """Yield the slopes as central differences of certified answers, each the mean of its two bounds.

    ``name`` is the quantity given as ``value``, delta or epsilon; the answer is the other one.
    """
    here = _answer(order, name, value)
    # Over a relative step s, answers known to w of themselves give the slope up to about s^2 (curvature) and
    # w/s (their width). Both are small at s = w^(1/3).
    share = min(max((here.width / (abs(here.upper) or 1.0)) ** (1 / 3), 1e-4), 1e-2)

    def difference(below: TradeOff, above: TradeOff) -> float:
        low, high = _answer(below, name, value), _answer(above, name, value)
        if math.isinf(low.upper) or math.isinf(high.upper):
            problem = f"{name} must be above Q(L = inf) after a small step of each parameter, got {value!r}"
            raise DomainError(f"{problem}; give a larger delta")
        gain, unknown = (sum(high) - sum(low)) / 2, low.width + high.width
        # The bounds may leave open a hundredth of the difference, or, where it is almost 0, an amount of
        # 1e-4 share times the answer.
        if math.isinf(unknown) or not unknown <= max(1e-2 * abs(gain), 1e-4 * share * abs(here.upper)):
            change = f"a small step changes the answer by {gain:.3g} +- {unknown:.3g}"
            problem = f"the bounds are too wide for a derivative at {name} = {value!r}: {change}"
            raise PrecisionError(f"{problem}; try another epsilon or delta", unknown)
        return gain

    for factor, n in order.factors.items():
        rest = tensor((each, power) for each, power in order.factors.items() if each != factor)
        for parameter in parameters(factor):
            below, above, apart = parameter.pair(share)
            slope = difference(rest @ below**n, rest @ above**n) / apart
            yield factor, parameter.name, parameter.value, slope
        yield factor, "count", n, difference(rest @ factor ** (n - 1), rest @ factor ** (n + 1)) / 2


def _answer(curve: TradeOff, name: str, value: float) -> Bounds[float]:
    """Bound epsilon at a delta, or delta at an epsilon (``name`` and value), to 1e-7 of it if possible."""
    query = curve.bounds.epsilon if name == "delta" else curve.bounds.delta
    result = query(value)
    if result.width <= 1e-7 * abs(result.upper):
        return result
    # Of epsilon the width is in nats, of delta relative.
    tol = 1e-7 * (min(abs(result.upper), 1.0) if name == "delta" else 1.0)
    try:
        return query(value, tol=tol or 1e-7)
    except PrecisionError:
        return result


class Parameter(NamedTuple):
    """A number in a curve; ``moved(x)`` is the curve with x in its place."""

    name: str
    value: float
    moved: Callable[[float], TradeOff]

    def pair(self, share: float) -> tuple[TradeOff, TradeOff, float]:
        """Return curves a relative step below and above, less near an end of the range; and the distance."""

        def curves(step: float) -> tuple[TradeOff, TradeOff, float]:
            below, above = self.value * (1 - step), self.value * (1 + step)
            return self.moved(below), self.moved(above), above - below

        step = share
        while step >= _SHORTEST:
            with suppress(DomainError):
                result = curves(step)
                # A sixteenth of one that just fits: log(1 - delta) near 1 then curves by (1/16)^2/3 = 1e-3.
                return result if step == share else curves(step / 16)
            step /= 2
        raise self.stuck()

    def stuck(self) -> DomainError:
        problem = f"{self.name} must allow small relative changes up and down, got {self.value!r}"
        return DomainError(f"{problem}; give another value")

    def within(self, outer: Callable[[TradeOff], TradeOff]) -> Parameter:
        """Return the parameter as one of the curve that ``outer`` makes of its curve."""
        return self._replace(moved=lambda value: outer(self.moved(value)))


def parameters(curve: TradeOff) -> Iterator[Parameter]:
    """Yield the floats in build(*parts), a curve, and in those of its parts that are curves themselves."""
    build: Callable[..., TradeOff]
    if isinstance(curve, Tensor):
        parts, counts = zip(*curve.factors.items(), strict=True)
        names, build = [""] * len(parts), lambda *fresh: tensor(zip(fresh, counts, strict=True))
    elif isinstance(curve, Derived):
        parts, build = curve.arguments, curve.rebuild
        own = vars(curve).items()
        names = [next((name for name, value in own if value is part), "parameter") for part in parts]
    else:
        kind: Any = type(curve)
        build, given = kind, inspect.signature(kind).parameters
        names = list(given)
        parts = tuple(getattr(curve, f"{name}_0", getattr(curve, name, None)) for name in names)
        if any(part is None is not each.default for part, each in zip(parts, given.values(), strict=True)):
            return  # an argument is no attribute
    for at, (name, part) in enumerate(zip(names, parts, strict=True)):

        def put(fresh: Any, at: int = at) -> TradeOff:
            return build(*parts[:at], fresh, *parts[at + 1 :])

        if isinstance(part, TradeOff):
            for inner in parameters(part):
                yield inner.within(put)
        elif isinstance(part, float | Fraction):
            yield Parameter(name, float(part), put)
