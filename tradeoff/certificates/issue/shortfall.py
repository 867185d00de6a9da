"""Claims that imply how far one curve falls short of another: about both, at the same losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from flint import ctx

from tradeoff.certificates.certificate import Certificate, Claim, Description, turned
from tradeoff.certificates.conclusion import balls, concluded
from tradeoff.certificates.issue.certify import about_of, sources_of
from tradeoff.certificates.issue.reduction import Asked, Points
from tradeoff.certificates.issue.source import Direct
from tradeoff.certificates.shortfall import BITS, Side, fallen, pairs, polygon
from tradeoff.certificates.verify.direct import Sums
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import NoClosedForm, VerificationError, shown
from tradeoff.intervals.rounding import Array
from tradeoff.operators.pointwise import HullOfMinimum, Maximum
from tradeoff.operators.profile_nodes import end
from tradeoff.operators.tabulate import STEEPEST, LineNodes

_FIRST = 17  # losses to begin with, a scale: a claim takes a millisecond to make, and ten to prove

# When it ends: at cells of 1e-9, where curves touch but for a rounding; or where hundreds are open.
_ROUNDS, _MOST = 28, 400

# Relative width that is enough: with as much more on either side, as claims are made wider, a thousandth.
_CLOSE = 2.5e-4

_NOTHING = 1e-15  # what delta is above its last value where no loss is looked at
_BEYOND = 1e-9  # how far beyond all losses nothing is claimed: delta is what is lost there

# How far beyond where delta_f is small enough it is claimed to be, for claims are wider than the truth.
_MORE = 1e-3

_COARSE = 1e-3  # how much wider than made claims of a lattice are: that of a verifier is coarse

# How much wider than made claims may be, of what they are from deciding: the wider, the faster proved.
_SHARES = 0.25, 2.0**-6, 2.0**-12

_BITS = 128  # of the balls from which claims are made: what a verifier begins with


def shortfall(f: TradeOff, g: TradeOff, tol: float | None, method: str | None) -> Certificate:
    """Certify how far f falls short of g, to a thousandth or the width ``tol``; to 0 where that is proved."""
    of = [about_of(f), about_of(g)]
    if any(each["kind"] != "product" for pair in pairs(*of) for each in pair):
        raise NoClosedForm(f"{shown(f)} or {shown(g)} is no law; compare its piecewise-linear bounds instead")
    mine, theirs = _leaves(f, HullOfMinimum), _leaves(g, Maximum)
    written = {each for each in (*mine, *theirs) if polygon(about_of(each)) is not None}
    # Of a polygon all is known; only to hold it against another polygon its lines are claimed.
    silent = written.difference(mine if written.intersection(theirs) else ())
    losses, far = zip(*_first(f, g, mine, theirs), strict=True)
    asked = [
        _Product(each, losses, tol, method) for each in dict.fromkeys([*mine, *theirs]) if each not in silent
    ]
    for _ in range(_ROUNDS):
        parts = [each.part() for each in asked]
        least, most, gaps = fallen(of, parts)
        enough = least + max(least * _CLOSE, (tol or 0.0) / 2)
        middles = {(gap.first + gap.last) / 2 for gap in gaps if gap.most > enough}
        fresh = [x for x in sorted(middles - asked[0].losses) if -far[1] <= x <= far[0]]
        if not fresh or len(fresh) > _MOST:
            break
        for each in asked:
            each.ask([x for x in fresh if x >= 0], [-x for x in fresh if x < 0])
    room = _room(of, parts, most)
    for share in _SHARES:
        wider = [each.part(room, share) for each in asked]
        low, high, _ = fallen(of, wider)
        if low >= least * (1 - _CLOSE) and high <= most * (1 + _CLOSE):
            least, most, parts = low, high, wider
            break
    names, rule = f"{f!r} against {g!r}", {"kind": "order", "of": of}
    made = Certificate(names, "shortfall", 0.0, least, most, "parts", (), (), rule=rule, parts=tuple(parts))
    return made.sealed()


def _room(of: Sequence[Description], parts: Sequence[Certificate], most: float) -> Callable[[Claim], float]:
    """Return how far from deciding the bound what claims say at a loss is: so much wider they may be."""
    found: dict[tuple[bool, float], float] = {}
    with balls(BITS) as ball:
        for one, two in pairs(*of):
            for order in (False, True):
                f, g = (Side(each, parts, order=order) for each in (one, two))
                for x in {*f.known, *g.known}:
                    if all(x in side.known or side.corners for side in (f, g)):
                        room = g.at(x)[0] - f.at(x)[1] + most * (1 + ball(x).exp())
                        found[order, x] = min(found.get((order, x), 1.0), max(float(room), 0.0))
    return lambda claim: found.get((claim.reverse, claim.at), 0.0)


def _leaves(curve: TradeOff, operator: type[HullOfMinimum | Maximum]) -> list[TradeOff]:
    """Return the curves of which it is the least or the largest."""
    if not isinstance(curve, operator):
        return [curve]
    return [leaf for each in curve.operands for leaf in _leaves(each, operator)]


Asking = tuple[Array, float]  # losses to begin with in one order, and how far out more are asked


def _first(
    f: TradeOff, g: TradeOff, mine: Sequence[TradeOff], theirs: Sequence[TradeOff]
) -> Iterator[Asking]:
    """Yield losses from 0 in both orders: those of whole curves, or as far as there is anything to see."""
    whole = [
        one
        for one, other, side in ((f, g, "lower"), (g, f, "upper"))
        if isinstance(other, PiecewiseLinear) and other == getattr(one, side)
    ]
    for order in (False, True):
        one, two = ([each.inverse() if order else each for each in side] for side in (mine, theirs))
        if whole:
            nodes = LineNodes.of(whole[0].inverse() if order else whole[0]).epsilon[1:]
            yield nodes, float(nodes[-1])
        else:
            yield _grid(one, two)


def _grid(mine: Sequence[TradeOff], theirs: Sequence[TradeOff]) -> Asking:
    """Return losses to where delta_f is what g loses at infinity, or both what they lose; and sup L."""
    lost = min(each.mass_at_infinity.lower for each in theirs)
    level = [each.mass_at_infinity.upper + _NOTHING for each in (*mine, *theirs)]
    ends = [min(end(f, lost), end(f, most)) for f, most in zip(mine, level, strict=False)]
    if any(f.mass_at_infinity.lower > lost for f in mine):
        ends += [end(g, most) for g, most in zip(theirs, level[len(mine) :], strict=True)]
    reach = min(max(ends) * (1 + _MORE), STEEPEST)
    scale = np.concatenate([np.linspace(0.0, 1.0, _FIRST), np.geomspace(1e-3, 1.0, _FIRST)])
    tops = [_beyond(f) for f in mine if f.sup_loss < STEEPEST and f.sup_loss <= end(f, lost)]
    return np.unique(np.append(reach * scale, tops)), reach


def _beyond(f: TradeOff) -> float:
    """Return a loss above all."""
    return (max(f.sup_loss, 0.0) + _BEYOND) * (1 + _BEYOND)


class _Product:
    """Claims about both orders of one product, by the first way that claims all."""

    def __init__(
        self, curve: TradeOff, losses: Sequence[Array], tol: float | None, method: str | None
    ) -> None:
        self.curve, self.factors = curve, tuple(about_of(curve)["of"])
        self.tops = [_beyond(each) for each in (curve, curve.inverse())]
        found: list[tuple[str, list[Asked]]] = []
        for name, sources in self._ways(tol, method):
            self.method = name
            self.sides = [Asked(source, _COARSE if name == "lattice" else 0.0) for source in sources]
            self.ask(*losses)
            found.append((name, self.sides))
            if len(self.claims) == sum(map(len, losses)):
                break
        if not any(sum(map(len, sides)) for _, sides in found):
            raise NoClosedForm(f"no engine certifies delta of {shown(curve)}; ask its bounds instead")
        self.method, self.sides = max(found, key=lambda way: sum(map(len, way[1])))

    def _ways(self, tol: float | None, method: str | None) -> Iterator[tuple[str, Sequence[Points]]]:
        """Yield what claims delta of either order: balls where they need no integral, as they are closest."""
        found = list[_Balls]()
        with suppress(VerificationError), ctx.workprec(_BITS):
            found = [_Balls(Sums(factors)) for factors in (self.factors, turned(self.factors))]
        name = "closed-form" if found and found[0].engine.size == 1 else "exact"
        if found and method in {None, name}:
            yield name, found
        both = (sources_of(each, tol, _COARSE, method) for each in (self.curve, self.curve.inverse()))
        for sources in zip(*both, strict=False):
            if not isinstance(sources[0], Direct):
                yield sources[0].method, sources

    def ask(self, *losses: Array | list[float]) -> None:
        """Claim delta at losses of either order; beyond all that there are, that it is a mass."""
        for side, top, each in zip(self.sides, self.tops, losses, strict=True):
            side.ask([x for x in each if x < top])
            side.claims += [Claim("delta", False, float(x), 0.0, 1.0) for x in each if x >= top]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What is claimed of both orders."""
        return *self.sides[0].claims, *(claim.turned for claim in self.sides[1].claims)

    @property
    def losses(self) -> set[float]:
        """Losses claimed, of either order."""
        return {-claim.at if claim.reverse else claim.at for claim in self.claims}

    def part(self, room: Callable[[Claim], float] = lambda _: 0.0, share: float = 0.0) -> Certificate:
        """Return a certificate of delta(0), with all claims, made wider."""
        claims = tuple(
            replace(claim, lower=max(claim.lower - more, 0.0), upper=min(claim.upper + more, 1.0))
            for claim, more in ((claim, share * room(claim)) for claim in self.claims)
        )
        bounds = concluded("delta", 0.0, claims)
        return Certificate(
            repr(self.curve), "delta", 0.0, *bounds, self.method, self.factors, claims
        ).sealed()


class _Balls:
    """Claims as near as floats are to what balls say."""

    def __init__(self, engine: Sums) -> None:
        self.engine = engine

    def points(self, at: Sequence[float]) -> list[Claim]:
        with ctx.workprec(_BITS):
            found = [self.engine.delta(x) for x in at]
            return [
                Claim("delta", False, x, _beside(max(ball.lower(), 0), -1), _beside(min(ball.upper(), 1), 1))
                for x, ball in zip(at, found, strict=True)
            ]


def _beside(number: Any, sign: int) -> float:
    """Return the float next to an exact number on one side."""
    near = float(number)
    return near if (near - number) * sign >= 0 else math.nextafter(near, sign * math.inf)
