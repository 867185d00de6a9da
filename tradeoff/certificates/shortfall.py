"""How far f falls short of g: the least kappa with f(alpha) >= g(alpha + kappa) - kappa, in balls.

The lines below the right side are those below g, 1 - d - s alpha, with d + kappa (1 + s) for d. So

    kappa = sup over s = e^x of (delta_f - delta_g)_+ / (1 + s),

and f >= g iff it is 0; where f is reported for g it is the regret (Gomez et al. 2026). What holds of f and g
at -x holds of f^-1 and g^-1 at x. From above:

cells:  from x = 0 on, in both orders. Between neighbouring losses delta_f(log s) lies below its chord, and
        delta_g, convex and falling, above the chord of any two losses to the left, prolonged, above that of
        any two to the right, and so above each mean of two such lines. What delta_f is above a line, over
        1 + s, is monotone in s: greatest at an end. Beyond the last loss delta_g is at least what is lost.
edges:  where g is a polygon, each claim is a line 1 - u - s alpha below f, and one for each edge is enough:
        at both its ends (a, b), b - 1 + u + s a <= kappa (1 + s); or a mean of two. One about f^-1 has the
        errors exchanged.

From below: by what is claimed at one loss. The least of curves falls as short as the worst of them, and what
is short of the largest of curves is so of one: delta_f - kappa (1 + s) is convex, and so below the hull of
all delta_g where it is below each.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from flint import arb, fmpq

from tradeoff.certificates.certificate import Certificate, Description, turned
from tradeoff.certificates.conclusion import balls, known_of
from tradeoff.certificates.verify.product import Product
from tradeoff.certificates.verify.report import require

BITS = 2048  # of the balls: e^-700 and a float's digits of what is as small
_TRIED = 4  # claims on either side of an edge that are tried for it
Ends = tuple[Any, Any]  # bounds on delta, or a corner: balls


class Gap(NamedTuple):
    """Losses between which kappa is bounded, those of an edge alike, and by what."""

    first: float
    last: float
    most: float


def fallen(of: Sequence[Description], parts: Sequence[Certificate]) -> tuple[float, float, list[Gap]]:
    """Return bounds on kappa, rounded outwards, and what the upper one is the largest of."""
    gaps, least = list[Gap](), 0.0
    with balls(BITS):
        for one, two in pairs(*of):
            f, g = ([Side(each, parts, order=order) for order in (False, True)] for each in (one, two))
            if g[0].corners:
                gaps += _edges(f, g[0].corners)
            for k in (0, 1):
                gaps += () if g[0].corners else _cells(f[k], g[k], g[1 - k], -1 if k else 1)
                least = max([least, *_reached(f[k], g[k])])
    return least, max(gap.most for gap in gaps), gaps


def pairs(f: Description, g: Description) -> Iterator[tuple[Description, Description]]:
    """Yield curves to compare: of the least of curves each, and of the largest."""
    if f["kind"] == "minimum":
        for each in f["of"]:
            yield from pairs(each, g)
    elif g["kind"] == "maximum":
        for each in g["of"]:
            yield from pairs(f, each)
    else:
        yield f, g


def polygon(about: Description) -> Description | None:
    """Return the law of a curve that is written out by its corners."""
    factor: Description = about["of"][0] if len(about["of"]) == 1 else {"count": 0}
    return factor["law"] if factor["count"] == 1 and factor["law"]["kind"] == "masses" else None


class Side:
    """What is known of one order of a product at losses from 0: at those claimed, of a polygon at all."""

    def __init__(self, about: Description, parts: Sequence[Certificate], *, order: bool) -> None:
        require("rule", about["kind"] == "product", f"{about['kind']!r} is not compared")
        product = Product(turned(about["of"]) if order else about["of"], -1.0)
        self.lost, top, law = product.lost(), product.top(), polygon(about)
        corners = list(_corners(law)) if law else []
        self.corners = [(b, a) for a, b in reversed(corners)] if order else corners
        self.slopes = [(b - d) / (c - a) for (a, b), (c, d) in pairwise(self.corners)]
        self.known: dict[float, Ends] = {}
        for x, low, high in known_of([c for p in parts if p.about == about for c in p.claims], reverse=order):
            least, most = self.known.get(x, (self.lost, self.lost if x >= top else high))
            self.known[x] = least.max(low), most.min(high)

    def at(self, x: float) -> Ends:
        """Return bounds on delta."""
        return self.known[x] if x in self.known else (self.most(_exp(x)),) * 2

    def most(self, s: Any) -> Any:
        """Return delta(log s) of a polygon: the most that corners give, one between slopes on either side."""
        first = bisect_left(self.slopes, True, key=lambda slope: not slope > s)
        last = bisect_left(self.slopes, True, key=lambda slope: bool(slope < s))
        value, *others = (1 - b - s * a for a, b in self.corners[first : last + 1])
        for other in others:
            value = value.max(other)
        return value

    def turns(self, s: Any, t: Any) -> list[Ends]:
        """Return where delta(log s) of a polygon turns between two places, and what it is there."""
        first = bisect_left(self.slopes, True, key=lambda slope: not slope >= t)
        last = bisect_left(self.slopes, True, key=lambda slope: bool(slope <= s))
        found = zip(self.slopes[first:last], self.corners[first:last], strict=True)
        return [(slope, 1 - b - slope * a) for slope, (a, b) in found][::-1]


def _exp(x: float) -> Any:
    return arb(x).exp()


def _corners(law: Description) -> Iterator[Ends]:
    """Yield the corners of a polygon, from alpha = 0 to the first with beta = 0."""
    masses = list(zip(map(Fraction, law["p"]), map(Fraction, law["q"]), strict=True))
    masses.sort(key=lambda pair: (pair[0] > 0, -pair[1] / pair[0] if pair[0] else 0))
    found = [(Fraction(0), Fraction(1))]
    for p, q in masses:
        alpha, beta = found.pop() if p == 0 else found[-1]
        if beta > 0 or p == 0:
            found.append((alpha + p, beta - q))
    for alpha, beta in found:
        yield arb(fmpq(*alpha.as_integer_ratio())), arb(fmpq(*beta.as_integer_ratio()))


def _cells(f: Side, g: Side, other: Side, sign: int) -> Iterator[Gap]:
    """Yield bounds between losses from 0, and beyond; ``other`` is the other order of g."""
    losses = sorted(x for x in g.known if f.corners or x in f.known)
    if not losses or losses[0] > 0:
        yield Gap(-math.inf, math.inf, 1.0)
        return
    s, high, theirs = [_exp(x) for x in losses], [f.at(x)[1] for x in losses], [g.known[x] for x in losses]
    ends = [(t, u) for t, (_, u) in zip(s, theirs, strict=True)]
    # delta(log s) = 1 - s (1 - delta_{g^-1}(-log s)), and is 1 at s = 0
    below = [(1 / _exp(x), 1 - (1 - other.known[x][1]) / _exp(x)) for x in sorted(other.known)[:3] if x > 0]
    yield _gap(losses[-1], math.inf, (high[-1] - g.lost) / (1 + s[-1]), sign)
    for k in range(len(losses) - 1):
        (a, _), (b, _) = theirs[k : k + 2]
        fall = _largest([(a - u) / (s[k] - t) for t, u in (*_near(ends, k, -1), *below, (0, 1))])
        rise = _largest([_exp(-math.inf), *((b - u) / (t - s[k + 1]) for t, u in _near(ends, k + 1, 1))])
        places = [(s[k], high[k]), *f.turns(*s[k : k + 2]), (s[k + 1], high[k + 1])]
        one = [(u - a - fall * (t - s[k])) / (1 + t) for t, u in places]
        two = [(u - b - rise * (s[k + 1] - t)) / (1 + t) for t, u in places]
        for pieces in zip(pairwise(one), pairwise(two), strict=True):
            yield _gap(losses[k], losses[k + 1], _mean(*pieces), sign)


def _near(ends: Sequence[Ends], k: int, way: int) -> Iterator[Ends]:
    """Yield those 1, 2, 4 ... away: near ones follow the curve, far ones forgive what bounds lack."""
    step = 1
    while 0 <= k + way * step < len(ends):
        yield ends[k + way * step]
        step *= 2


def _largest(values: Sequence[Any]) -> Any:
    """Return one of the largest of balls."""
    return max(values, key=lambda value: value.lower())


def _mean(one: Ends, two: Ends) -> Any:
    """Bound the lesser of two that are known at both ends by a mean of them: any share is right."""
    meet = (two[1] - two[0]) / (one[0] - two[0] - one[1] + two[1])
    shares = [0.0, 1.0, *([float(meet)] if 0 < meet < 1 else [])]
    ends = [[b + share * (a - b) for a, b in zip(one, two, strict=True)] for share in shares]
    return min((a.max(b) for a, b in ends), key=lambda value: value.upper())


def _edges(f: Sequence[Side], corners: Sequence[Ends]) -> Iterator[Gap]:
    """Yield the least that a few claims ask for each edge."""
    lines = [(-x if k else x, _exp(x), u, k) for k in (0, 1) for x, (_, u) in f[k].known.items()]
    lines.sort(key=lambda line: line[0])
    for one, two in pairwise(corners):
        x = float(((one[1] - two[1]) / (two[0] - one[0])).log())
        k = bisect_left(lines, x, key=lambda line: line[0])
        asked = [(_exp(0.0), _exp(0.0))]
        for _, s, u, swap in lines[max(k - _TRIED, 0) : k + _TRIED]:
            ends = [(corner[swap], corner[1 - swap]) for corner in (one, two)]
            asked.append(tuple((b - 1 + u + s * a) / (1 + s) for a, b in ends))
        found = [_mean(*each) for each in pairwise([*asked, asked[0]])]
        yield _gap(x, x, min(found, key=lambda value: value.upper()), 1)


def _gap(first: float, last: float, most: Any, sign: int) -> Gap:
    """Return a bound as a float, at most 1, as is one that is no number."""
    bound, near = most.upper(), float(most.upper())
    above = 0.0 if bound <= 0 else math.nextafter(near, math.inf) if near < 1 else 1.0
    return Gap(first, last, above) if sign > 0 else Gap(-last, -first, above)


def _reached(f: Side, g: Side) -> Iterator[float]:
    """Yield what kappa is at least, at losses where both are known, rounded down."""
    for x in {**f.known, **(g.known if f.corners else {})}:
        if g.corners or x in g.known:
            low = ((f.at(x)[0] - g.at(x)[1]) / (1 + _exp(x))).lower()
            yield math.nextafter(float(low), -math.inf) if low > 0 else 0.0
