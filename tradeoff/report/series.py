"""What is drawn, on paper and in pages alike: four views, and what a claim draws in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError, TradeOffError
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.rounding import Array
from tradeoff.operators.tabulate import Tabulated
from tradeoff.report.methods import Claim

Kind = Literal["tradeoff", "profile", "roc", "error"]
Scale = Literal["linear", "loglog"]
Side = Literal["lower", "upper", ""]

KINDS: tuple[Kind, ...] = ("tradeoff", "profile", "roc", "error")
SCALES: tuple[Scale, ...] = ("linear", "loglog")

_LEAST = 1e-6  # left end of logarithmic axes of type I errors: tests are sharper than any in use
_LEAST_DELTA = 1e-12  # lower end of profiles, past every delta in use
_POINTS = 257  # points of a line: it looks smooth in print
_FEW = 129  # points at which errors are asked: each costs a question to the exact curve
_MOST_CORNERS = 400  # corners of more are not seen
_DECADES = 5  # what is shown of errors below the largest one


@dataclass(frozen=True)
class View:
    """Axes, the points at which they ask, and the line of perfect privacy.

    ``grid`` holds type I errors, or losses in nats for profiles. ``power`` says that 1 - beta is drawn.
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
        """Whether both axes show probabilities, so that neither is drawn longer."""
        return self.kind in ("tradeoff", "roc")

    @property
    def chance(self) -> Array | None:
        """What holds where nothing is told, at the grid."""
        return (self.grid if self.power else 1 - self.grid) if self.square else None

    def pointwise(self, grid: Array) -> View:
        """Return the view asked at other points and at no others: bounds are sharper, and hold there only."""
        return replace(self, grid=grid, whole=False)


@dataclass(frozen=True)
class Series:
    """A line with its band, if it has one.

    ``side`` is the side of the truth on which the line is proved to be, "" for estimates; ``y`` is None where
    there is a band alone; ``unsafe`` is the part of a line of errors where more privacy is claimed than is.
    """

    name: str
    side: Side
    x: Array
    y: Array | None
    band: tuple[Array, Array] | None = None
    unsafe: Array | None = None


def view_of(kind: Kind, scale: Scale, claims: Sequence[Claim]) -> View:
    """Return a view that shows the claims: of profiles, up to the largest loss that matters."""
    if kind not in KINDS:
        raise DomainError(f"kind = {kind!r} is none of {', '.join(map(repr, KINDS))}")
    if scale not in SCALES:
        raise DomainError(f"scale = {scale!r} is none of {', '.join(map(repr, SCALES))}")
    log = scale == "loglog"
    if kind == "profile":
        end = max((each.reach for each in claims), default=1.0)
        ends = (1e-3 * min(each.reach for each in claims) if log else 0.0, end)
        losses = np.geomspace(*ends, _POINTS) if log else np.linspace(*ends, _POINTS)
        labels = "privacy loss ε (nats)", "δ(ε)", "δ"
        return View(kind, losses, *labels, ends, (_LEAST_DELTA, 1.5), "log" if log else "linear", "log")
    grid = _alphas(scale, _FEW if kind == "error" else _POINTS)
    left = _LEAST if log else 0.0
    across = "log" if log else "linear"
    if kind == "error":
        labels = "type I error α", "error of β", "|error|"
        return View(kind, grid, *labels, (left, 1.0), (0.0, 1.0), across, "log", whole=False)
    if kind == "tradeoff" and not log:
        return View(kind, grid, "type I error α", "type II error β", "β", (0.0, 1.0), (0.0, 1.0))
    labels = "type I error α", "power 1 − β", "1 − β"
    if kind == "roc":
        labels = "false positive rate α", "true positive rate 1 − β", "1 − β"
    top = 1.3 if log else 1.0
    return View(kind, grid, *labels, (left, 1.0), (left, top), across, across, power=True)


def drawn(view: View, claims: Sequence[Claim]) -> Iterator[Series]:
    """Return what each claim draws, the first one first; one that has no answer to the question raises."""
    if view.kind == "error":
        return _errors(view.grid, claims)
    draw = _profile if view.kind == "profile" else _beta
    return (draw(view, claim) for claim in claims)


def known(view: View, claims: Sequence[Claim]) -> Iterator[Series | None]:
    """Return what each claim draws, None for one that has no answer to the question."""
    for claim in claims:
        try:
            yield from drawn(view, [claim])
        except TradeOffError:
            yield None


def outline(claim: Claim) -> Claim:
    """Return the claim without its band: the line that holds, or the estimate."""
    return replace(claim, band=None, profile=None, whole=None)


def positive(values: Array) -> Array:
    """Leave out what a log axis cannot show."""
    return np.where(values > 0, values, np.nan)


def corners(*sides: Any) -> Array:
    """Return the alphas of the corners of piecewise-linear curves; many look like a smooth curve."""
    result = np.concatenate([side.alpha.astype(float) for side in sides])
    return np.unique(result) if len(result) <= _MOST_CORNERS else np.empty(0)


def below(curve: PiecewiseLinear, at: Array) -> tuple[Array, Array]:
    """Return the corners of a curve's lines at some type I errors, and of no others: chords lie above it."""
    apart = np.append(np.diff(curve.alpha.astype(float)) > 0, True)
    alpha, beta = curve.alpha.astype(float)[apart], curve.beta.astype(float)[apart]
    k = np.unique(np.clip(np.searchsorted(alpha, at, side="right") - 1, 0, len(alpha) - 2))
    slope = (beta[k + 1] - beta[k]) / (alpha[k + 1] - alpha[k])
    height = beta[k] - slope * alpha[k]
    first, last, bend = alpha[k[:-1] + 1], alpha[k[1:]], slope[:-1] - slope[1:]
    meet = np.divide(height[1:] - height[:-1], bend, out=first.copy(), where=bend != 0)
    meet = np.clip(meet, first, last)
    # Steep lines are rounded, and meet elsewhere in floats: the lower one of both holds there.
    y = np.minimum(height[:-1] + slope[:-1] * meet, height[1:] + slope[1:] * meet)
    inner = np.append(y, height[-1] + slope[-1] * alpha[-1])
    return np.concatenate([alpha[:1], meet, alpha[-1:]]), np.append(beta[k[0]], np.maximum(inner, 0.0))


def _beta(view: View, claim: Claim) -> Series:
    """Draw beta, or 1 - beta; the safe side is below beta. Whole curves hold between the points too."""
    x, band = view.grid, None
    if view.whole and claim.whole is not None:
        sides: Tabulated = claim.whole()
        result = corners(*sides)
        if len(result) == 0 and view.xscale == "linear":
            x, least = below(sides.lower, x)
        else:
            x = np.union1d(x, result[result >= x[0]])
            least = sides.lower.bounds(x).lower
        band = least, sides.upper.bounds(x).upper
    elif claim.band is not None:
        band = _both(claim.band(x))
    proved = claim.kind != "estimate"
    y = band[0] if proved and band is not None else claim.ask("beta", x)
    line = Series(claim.name, _side(claim, "lower"), x, y, band)
    return powered(view, line) if view.power else line


def powered(view: View, beta: Series) -> Series:
    """Return the line of 1 - beta for that of beta, rounded outward: it is on the other side of the truth."""
    power = 1 - np.asarray(beta.y)
    band = beta.band and _filled(view, 1 - beta.band[1], 1 - beta.band[0])
    if not beta.side:
        return replace(beta, y=power, band=band)
    return replace(beta, side="upper", y=np.nextafter(power, 2.0), band=band)


def _profile(view: View, claim: Claim) -> Series:
    """Draw delta; the safe side is above. The part of a short curve is asked as finely as a long one."""
    x = view.grid
    if view.whole:
        own = x / x[-1] * min(claim.reach, x[-1])
        x = np.union1d(own, np.linspace(own[-1], x[-1], 9))
    band = None if claim.profile is None else _both(claim.profile(x))
    proved = claim.kind != "estimate"
    y = band[1] if proved and band is not None else claim.ask("delta", x)
    return Series(claim.name, _side(claim, "upper"), x, y, band and _filled(view, *band))


def _filled(view: View, low: Array, high: Array) -> tuple[Array, Array]:
    """Return a band that reaches out of a log axis where it reaches down to 0."""
    least = 1e-3 * view.ylim[0] if view.yscale == "log" else -np.inf
    return np.maximum(low, least), np.maximum(high, least)


def _errors(alpha: Array, claims: Sequence[Claim]) -> Iterator[Series]:
    """Draw how far each beta is at least from the first claim's bounds, whose width is that claim's band."""
    first, *others = claims
    band = first.band
    low, high = _both(band(alpha)) if band is not None else (first.ask("beta", alpha),) * 2
    yield Series(first.name, "", alpha, None, (np.zeros_like(alpha), high - low))
    for claim in others:
        proved = None if claim.kind == "estimate" else claim.band
        beta = claim.ask("beta", alpha) if proved is None else _both(proved(alpha))[0]
        unsafe, safe = positive(beta - high), positive(low - beta)
        yield Series(claim.name, "", alpha, np.fmax(unsafe, safe), unsafe=unsafe)


def _both(bounds: Bounds) -> tuple[Array, Array]:
    return np.asarray(bounds.lower, dtype=float), np.asarray(bounds.upper, dtype=float)


def _side(claim: Claim, side: Side) -> Side:
    return "" if claim.kind == "estimate" else side


def _alphas(scale: Scale, n: int) -> Array:
    if scale == "loglog":
        few = n // 4
        return np.union1d(np.geomspace(_LEAST, 0.5, n - few), 1 - np.geomspace(0.5, _LEAST, few))
    # Closer together towards the ends, where curves turn.
    return (1 - np.cos(np.linspace(0.0, np.pi, n))) / 2


def span(found: Sequence[Series | None]) -> tuple[float, float]:
    """Return the ends of a log axis of errors: the power of ten above the largest, and some decades below."""
    largest = max(map(highest, found), default=0.0)
    top = 10.0 ** float(np.ceil(np.log10(largest))) if largest > 0 else 1.0
    return top * 10.0**-_DECADES, top


def led_by_exact(found: Sequence[Series | None]) -> bool:
    """Return whether the first item is more than an estimate, so that it is drawn black and solid."""
    first = found[0]
    return first is not None and (first.side != "" or first.band is not None)


def highest(each: Series | None) -> float:
    """Return the largest value of a line, 0 where there is none."""
    return 0.0 if each is None or each.y is None else float(np.nanmax(each.y, initial=0.0))
