"""Series of figures, and their names in legends: parameters in the symbols of papers.

A *claim* (``Claim``) answers beta at alpha or delta at epsilon, maybe with bounds; a *view* is the axes of
one kind of plot, and a *series* the line, and the band between bounds, that it draws of a claim. Names are
texts of matplotlib: formulas are between dollars.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import Any, Literal, get_args

import numpy as np

from tradeoff.audits.refutation import claimed
from tradeoff.baselines import Baseline
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import assuming
from tradeoff.curves.parameters import choice
from tradeoff.curves.piecewise_linear import segments
from tradeoff.display import exactly, rounded, typeset_power
from tradeoff.families.gaussian import Gaussian
from tradeoff.gdp import Reduction
from tradeoff.intervals.bounds import Array, Bounds
from tradeoff.limits import ApproximateCurve, BerryEsseen
from tradeoff.mechanisms import Mechanism, Plan, SubsampledGaussian
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.tabulate import largest
from tradeoff.report.answers import factors
from tradeoff.report.methods import Between, Claim


def name_items(items: Sequence[Any]) -> list[str]:
    """Return a name for each item, different ones: by digits, as the item is printed, or by a number."""
    for digits in (2, 4, 6, 17):  # the fewest with which all names differ
        names = [_name(each, digits) for each in items]
        labels = [(name, getattr(each, "symmetric", True)) for name, each in zip(names, items, strict=True)]
        if len(set(labels)) == len(items):
            return names
    printed = [repr(each) for each in items]
    curves = [claimed(each) if isinstance(each, Plan | Mechanism) else each for each in items]
    for i, label in enumerate(labels):
        if any(other == label and curve != curves[i] for other, curve in zip(labels, curves, strict=True)):
            is_clear = printed.count(printed[i]) == 1 and len(printed[i]) <= 90
            names[i] = typeset(printed[i]) if is_clear else f"{names[i]} [{i + 1}]"
    return names


def _name(item: Any, digits: int) -> str:
    """Return the name of one item; ``digits`` are those of parameters that are long."""
    match item:
        case ApproximateCurve():
            return f"{item.name} (estimate)"
        case BerryEsseen() | Baseline() | Claim():
            return item.name
        case Reduction():
            return mu_name(item)
        case Plan() | Mechanism():
            runs = item.mechanisms if isinstance(item, Plan) else {item: 1}
            return _joined([(_mechanism(each, digits), n) for each, n in runs.items()])
        case TradeOff():
            return _curve(item, digits)
    return "between two curves" if isinstance(item, tuple | Bounds) else typeset(repr(item).split("\n")[0])


def _curve(curve: TradeOff, digits: int) -> str:
    """Return the normal form of a curve, of one with sampled Gaussian steps the names of its factors."""
    names, is_sampled = [], False
    for factor, n in factors(curve).items():
        match factor:
            case Subsampled(operands=(Gaussian(mu=mu),), p=p):
                names.append((_mechanism(SubsampledGaussian(1 / float(mu), float(p)), digits), n))
                is_sampled = True
            case _:
                names.append((typeset(f"{factor.notation}^{n}".removesuffix("^1")), 1))
    if not is_sampled:
        return typeset(curve.notation + assuming(curve.assumptions))
    return _joined(names, " ⊗ ") + assuming(curve.assumptions)


def _mechanism(mechanism: Mechanism, digits: int) -> str:
    """Return the kind in words and the parameters that are not defaults: "Discrete Laplace b = 2"."""
    kind = type(mechanism)
    words = "DP-SGD" if kind is SubsampledGaussian else re.sub("(?<=[a-z])(?=[A-Z])", " ", kind.__name__)
    defaults = {name: each.default for name, each in signature(kind).parameters.items()}
    given = {k: v for k, v in mechanism.parameters().items() if k != "adjacency" and v != defaults.get(k)}
    symbols = {"noise_multiplier": "σ", "sigma": "σ", "sample_rate": "q"}
    symbols |= {"scale": "b", "epsilon": "ε", "delta": "δ"}
    texts = (f"{symbols.get(k, k.replace('_', ' '))} = {_value(v, digits)}" for k, v in given.items())
    return f"{words} {', '.join(texts)}".strip()


def _value(value: Any, digits: int) -> str:
    """Return a parameter; a float has ``digits`` digits unless all of them take six characters at most."""
    if isinstance(value, Mechanism):
        return _mechanism(value, digits)
    if not isinstance(value, float):
        return typeset(value.notation if isinstance(value, TradeOff) else str(value))
    text = f"{value:.12g}"
    return number(float(text if len(text) <= 6 else f"{value:.{digits}g}"))


def _joined(parts: list[tuple[str, int]], sign: str = " and ") -> str:
    if len(parts) > 3:  # more do not fit into a legend
        return f"composition of {len(parts)} kinds of mechanisms"
    return sign.join(f"{name}, ×{n}" if n > 1 else name for name, n in parts) or "no mechanism"


def mu_name(reduction: Reduction) -> str:
    """Return the name of the Gaussian curve of a reduction."""
    return f"μ = {number(float(rounded(reduction.mu, 'upper', 4)))}, failure {number(reduction.failure)}"


def number(value: float) -> str:
    """Write a number with all its digits, a small one as a power of ten for matplotlib."""
    if value == 0 or abs(value) >= 1e-3:
        return exactly(value)
    power = typeset_power(np.format_float_scientific(value, trim="-"), r"\times")
    return f"${power}$"


def typeset(name: str) -> str:
    """Set G_{0.5} and Lap_{0.1}^50 in a curve's normal form as formulas, and cut a name after two lines."""
    if match := re.fullmatch(r"either-order envelope of \[(.*)\]", name):
        name = f"{match[1]}, either order"
    # 88 characters are two lines below a column
    short = textwrap.shorten(name, 88 + name.count("_{"), placeholder=" …")  # braces take no space

    def formula(match: re.Match[str]) -> str:
        """Return BASE_{INDEX}, BASE_{INDEX}^POWER, or a power of something else, as a formula."""
        base, index, power, alone = match.groups()
        exponent = f"^{{{power or alone}}}" if power or alone else ""
        return f"${exponent}$" if base is None else rf"$\mathrm{{{base}}}_{{{index}}}{exponent}$"

    return re.sub(r"([A-Za-z]+)_\{([^{}$\s]*)\}(?:\^(\d+))?|\^(\d+)", formula, short)


Kind = Literal["tradeoff", "profile", "roc", "error"]
Scale = Literal["linear", "loglog"]
Side = Literal["lower", "upper", ""]


@dataclass(frozen=True)
class View:
    """Axes, the points on them at which claims are evaluated, and the line of perfect privacy.

    ``grid`` holds type I errors, or losses in nats for profiles; ``symbol`` names the value drawn. With
    ``power``, that is 1 - beta. With ``whole``, lines are bounds between the points too.
    """

    kind: Kind
    grid: Array
    xlabel: str
    ylabel: str
    symbol: str
    xlim: tuple[float, float]
    ylim: tuple[float, float]
    xscale: str = "linear"
    yscale: str = "linear"
    power: bool = False
    whole: bool = True

    @property
    def square(self) -> bool:
        """Whether both axes are probabilities of errors."""
        return self.kind in ("tradeoff", "roc")

    @property
    def chance(self) -> Array | None:
        """The line of perfect privacy at the grid, beta = 1 - alpha, if the view shows it."""
        return (self.grid if self.power else 1 - self.grid) if self.square else None

    def pointwise(self, grid: Array) -> View:
        """Use other points: bounds are sharper, and hold there only."""
        return replace(self, grid=grid, whole=False)


@dataclass(frozen=True)
class Series:
    """A line with its band, if it has one.

    ``side`` is the side of the truth on which the line is proved to be, "" for estimates; ``y`` is None where
    there is a band alone; ``unsafe`` is the part of a line of errors where too much privacy is claimed.
    """

    name: str
    side: Side
    x: Array
    y: Array | None
    band: Bounds | None = None
    unsafe: Array | None = None

    @property
    def is_estimate(self) -> bool:
        return self.side == "" and self.band is None


def view_of(kind: Kind, scale: Scale, claims: Sequence[Claim]) -> View:
    """Return a view that shows the claims: of profiles, up to the largest loss that matters."""
    choice("kind", kind, get_args(Kind))
    choice("scale", scale, get_args(Scale))
    points = 257  # of a line, which then looks smooth in print
    first = 1e-6  # left end of logarithmic axes: no test in use has fewer false positives
    log = scale == "loglog"
    axis = "log" if log else "linear"
    if kind == "profile":
        end = max((each.reach for each in claims), default=1.0)
        ends = (1e-3 * min(each.reach for each in claims) if log else 0.0, end)
        losses = np.geomspace(*ends, points) if log else np.linspace(*ends, points)
        ylim = (1e-12, 1.5)  # from below every delta in use
        return View(kind, losses, "privacy loss ε (nats)", "δ(ε)", "δ", ends, ylim, axis, "log")
    n = 129 if kind == "error" else points  # each error is a question to the exact curve
    if log:
        grid = np.union1d(np.geomspace(first, 0.5, n - n // 4), 1 - np.geomspace(0.5, first, n // 4))
    else:  # closer together towards the ends, where curves bend
        grid = (1 - np.cos(np.linspace(0.0, np.pi, n))) / 2
    xlim = (first if log else 0.0, 1.0)
    if kind == "error":
        labels = "type I error α", "error of β", "|error|"
        return View(kind, grid, *labels, xlim, (0.0, 1.0), axis, "log", whole=False)
    if kind == "tradeoff" and not log:
        return View(kind, grid, "type I error α", "type II error β", "β", xlim, (0.0, 1.0))
    labels = "type I error α", "power 1 − β", "1 − β"
    if kind == "roc":
        labels = "false positive rate α", "true positive rate 1 − β", "1 − β"
    return View(kind, grid, *labels, xlim, (xlim[0], 1.3 if log else 1.0), axis, axis, power=True)


def make_series(view: View, claims: Sequence[Claim]) -> Iterator[Series]:
    """Yield the series of each claim; one that has no answer raises a ``TradeOffError``.

    In a view of errors they are the distances of each beta from the first claim's bounds [low, high], above
    which a claim is unsafe; the series of that claim is the width of its bounds, as a band.
    """
    if view.kind != "error":
        yield from map(partial(_profile if view.kind == "profile" else _beta, view), claims)
        return
    alpha, (first, *others) = view.grid, claims
    low, high = first.truth.bounds(alpha) if first.truth else (first.evaluate("beta", alpha),) * 2
    yield Series(first.name, "", alpha, None, Bounds(np.zeros_like(alpha), high - low))
    for claim in others:
        beta = claim.evaluate("beta", alpha)
        # A log axis shows positive values alone.
        unsafe, safe = (np.where(gap > 0, gap, np.nan) for gap in (beta - high, low - beta))
        marked = unsafe if np.isfinite(unsafe).any() else None
        yield Series(claim.name, "", alpha, np.fmax(unsafe, safe), unsafe=marked)


def _beta(view: View, claim: Claim) -> Series:
    """Return the line of beta, or 1 - beta; the safe side is below beta, and above 1 - beta."""
    x, beta, band = view.grid, None, None
    if view.whole and isinstance(claim.truth, Between):
        sides = claim.truth.tabulate()
        corners = np.unique(np.concatenate([side.alpha.astype(float) for side in sides]))
        if len(corners) <= 400:  # that can be seen
            x = np.union1d(x, corners[corners >= x[0]])
        elif view.xscale == "linear":  # the largest of the curve's lines near x: chords would lie above it
            near = np.unique(np.searchsorted(sides.lower.points[0][:-1], x, side="right") - 1)
            lines = segments(sides.lower)
            x, beta, *_ = largest([lines[k] for k in near], up=False).points
        band = Bounds(sides.lower.bounds(x).lower if beta is None else beta, sides.upper.bounds(x).upper)
    elif claim.truth is not None:
        band = claim.truth.bounds(x)
    is_safe = claim.kind != "estimate"
    beta = band.lower if is_safe and band is not None else claim.evaluate("beta", x)
    if not view.power:
        return Series(claim.name, "lower" if is_safe else "", x, beta, band)
    power = (1 - Bounds.of(beta)).upper if is_safe else 1 - beta
    band = band and _raise_zeros(view, 1 - band.upper, 1 - band.lower)
    return Series(claim.name, "upper" if is_safe else "", x, power, band)


def _profile(view: View, claim: Claim) -> Series:
    """Return the line of delta; the safe side is above. A short curve has as many points as a long one."""
    x = view.grid
    if view.whole:
        reached = x / x[-1] * min(claim.reach, x[-1])  # the losses at which delta is not negligible
        x = np.union1d(reached, np.linspace(reached[-1], x[-1], 9))
    band = claim.truth.delta(x) if claim.truth else None
    is_safe = claim.kind != "estimate"
    delta = band.upper if is_safe and band is not None else claim.evaluate("delta", x)
    return Series(claim.name, "upper" if is_safe else "", x, delta, band and _raise_zeros(view, *band))


def _raise_zeros(view: View, low: Array, high: Array) -> Bounds:
    """Return a band whose zeros are positive, but below the end of the axis, if that is logarithmic."""
    least = 1e-3 * view.ylim[0] if view.yscale == "log" else -np.inf
    return Bounds(np.maximum(low, least), np.maximum(high, least))


def limits(view: View, series: Sequence[Series]) -> tuple[float, float]:
    """Return the ends of the y axis: of errors the power of ten above the largest, and five decades below."""
    if view.kind != "error":
        return view.ylim
    lines = np.nan_to_num([each.y for each in series if each.y is not None])
    largest = float(np.max(lines, initial=0.0))
    top = 10.0 ** float(np.ceil(np.log10(largest))) if largest > 0 else 1.0
    return top * 10.0**-5, top
