"""Laws of the privacy loss in ball arithmetic: parts (atoms, normal densities, Laplace overlaps) and readers.

A law is a tuple of parts. P and Q of a part are sums of the same positive terms e_j of an outcome x,

    P = sum_j p_j e_j(x),  Q = sum_j q_j e_j(x),  p_j, q_j >= 0,  L = log Q/P,  M(z) = int P e^(zL):

indicators of atoms (``Atoms``), e^(m x - m^2/2) against a normal law (``Bell``), and 1, e^(2x - epsilon)
against e^-x/2 on (0, epsilon) (``Slab``). Subsampling, reversal and mixture change the coefficients alone.
M is needed on a line z = c + iy, y >= 0, as a sum over nodes, with integrals by quadrature. Numbers are balls
that contain the exact ones; ``bits`` are binary digits that they are to have, relative to M(c).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from itertools import combinations, pairwise
from typing import Any, NamedTuple, Self

from flint import acb, arb, ctx, fmpq

from tradeoff.display import Displayed, TextTable
from tradeoff.errors import VerificationError
from tradeoff.proofs.certificate import Description


@dataclass(frozen=True)
class Check:
    """The relation "quantity ``side`` recorded", and an enclosure [lower, upper] of the quantity.

    ``side`` is ``<=``, ``>=`` or ``>``; ``name`` is the quantity as text.
    """

    name: str
    lower: float
    upper: float
    side: str
    recorded: float

    @property
    def proved(self) -> bool:
        """Whether the enclosure proves the relation; of NaN it proves nothing."""
        low, high, at = self.lower, self.upper, self.recorded
        return {"<=": high <= at, ">=": low >= at, ">": low > at}[self.side]

    @property
    def refuted(self) -> bool:
        """Whether the enclosure proves the opposite."""
        low, high, at = self.lower, self.upper, self.recorded
        return {"<=": low > at, ">=": high < at, ">": high <= at}[self.side]

    def __str__(self) -> str:
        verdict = "is refuted" if self.refuted else "is not proved"
        enclosure = f"the verifier encloses it in [{self.lower!r}, {self.upper!r}]"
        return f"{self.name} {self.side} {self.recorded!r} {verdict}: {enclosure}"


@dataclass(frozen=True, repr=False)
class Verification(Displayed):
    """Report of a certificate that holds: the claim, all comparisons, and the assumptions that none tests."""

    claim: str
    checks: tuple[Check, ...]
    trusted: tuple[str, ...]

    def grid(self) -> TextTable:
        rows = [(c.name, f"[{c.lower!r}, {c.upper!r}]", c.side, repr(c.recorded)) for c in self.checks]
        notes = [f"trusted: {text}" for text in self.trusted]
        return TextTable(rows, ("quantity", "enclosure", "", "recorded"), self.claim, notes, sides="<><>")


def require(term: str, condition: Any, message: str) -> None:
    """Raise a ``VerificationError`` unless the condition on an entry of the certificate, ``term``, holds."""
    if not bool(condition):
        raise VerificationError(f"{term}: {message}", term)


def outward(ball: arb) -> tuple[float, float]:
    """Return the largest float at or below a ball, and the smallest at or above it."""
    low, high = float(ball.lower()), float(ball.upper())
    low = low if low <= ball.lower() else math.nextafter(low, -math.inf)
    return low, high if high >= ball.upper() else math.nextafter(high, math.inf)


Pair = tuple[arb, arb]  # numbers of P and of Q


@dataclass(frozen=True)
class Limits:
    """Effort of the verifier: it changes how tight the enclosures are, not whether they hold."""

    bits: int = 40  # of M(c) and its derivatives, which place a contour and bound its aliases
    nodes: int = 2**14  # of one quadrature: half a second; an eighth of it at these bits
    atoms: int = 2**16  # of a law or a product: a second
    nesting: int = 16  # laws inside laws
    rule: int = 40  # most nodes of a Gauss-Legendre panel


LIMITS = Limits()


class Nodes(NamedTuple):
    """M(c + iy) = sum w e^(iy loss) +- ``error`` for 0 <= y <= top, which ``Part.nodes`` is given.

    Weights and losses are complex where a line of integration is shifted. ``Bell`` ignores top: its nodes
    serve all y >= 0 if top > 0, and y = 0 alone if top = 0.
    """

    weight: list[Any]
    loss: list[Any]
    error: arb

    def bound(self, y: float) -> arb:
        """Bound |M(c + iy')| for all y' >= y, if Im loss >= 0: |e^(iy' loss)| <= e^(-y Im loss)."""
        pairs = zip(self.weight, self.loss, strict=True)
        return sum((abs(w) * (-y * x.imag).exp() for w, x in pairs), arb(0)) + self.error


def _check_size(count: int, bits: int) -> None:
    """Refuse a quadrature of too many nodes."""
    most = LIMITS.nodes if bits > LIMITS.bits else LIMITS.nodes // 8
    require("laws", count < most, f"a law needs {count} nodes, more than {most}")


def log_sum(weights: Sequence[arb], logs: Sequence[Any]) -> Any:
    """Return log sum_j w_j e^(log_j) as log_k + log sum_j w_j e^(log_j - log_k), k the first with w_k > 0.

    It is continuous in Im x while no term on the right rotates by pi.
    """
    first: Any = None
    total = arb(0)
    for w, log in zip(weights, logs, strict=True):
        if w.is_zero():
            continue
        first = log if first is None else first
        total += w if log is first else (log - first).exp() * w
    return first + total.log()


@dataclass(frozen=True)
class Part(ABC):
    """A part of a law by its coefficients p_j and q_j."""

    p: tuple[arb, ...]
    q: tuple[arb, ...]

    def mapped(self, scale: arb, from_p: arb, from_q: arb) -> Self:
        """Return the part with scale P for P, and from_p P + from_q Q for Q."""
        q = tuple(from_p * a + from_q * b for a, b in zip(self.p, self.q, strict=True))
        return replace(self, p=tuple(scale * a for a in self.p), q=q)

    def swapped(self) -> Self:
        return replace(self, p=self.q, q=self.p)

    @abstractmethod
    def sup_loss(self) -> arb:
        """Bound the finite losses from above."""

    @abstractmethod
    def nodes(self, c: arb, top: float, bits: int) -> Nodes:
        """Return nodes of M(c + iy) for 0 <= y <= top, to about 2^-bits of M(c)."""

    def bound(self, c: arb, y: float, bits: int) -> arb:
        """Bound |M(c + iy')| from above for all y' >= y: by M(c), as L is real and so |e^(iy'L)| = 1."""
        nodes = self.nodes(c, 0.0, bits)
        m: arb = abs(sum(nodes.weight, arb(0))) + nodes.error
        return m


@dataclass(frozen=True)
class Atoms(Part):
    """Atoms of masses p_j and q_j; where one is 0, L is infinite. ``rest`` bounds the mass not listed."""

    rest: arb = field(default_factory=arb)

    def finite(self) -> list[Pair]:
        """Return the atoms of finite losses."""
        return [(a, b) for a, b in zip(self.p, self.q, strict=True) if not (a.is_zero() or b.is_zero())]

    def sup_loss(self) -> arb:
        return reduce(arb.max, ((b / a).log() for a, b in self.finite()), arb.neg_inf())

    def nodes(self, c: arb, top: float, bits: int) -> Nodes:
        loss = [(b / a).log() for a, b in self.finite()]
        weight = [a * (c * at).exp() for (a, _), at in zip(self.finite(), loss, strict=True)]
        return Nodes(weight, loss, arb(0))


@dataclass(frozen=True)
class Density(Part):
    """Terms e_j that multiply a base density of a real x."""

    @abstractmethod
    def logs(self, x: Any) -> tuple[list[Any], Any]:
        """Return log e_j of all terms, and the log of the base density, at a complex point or a ball."""

    def tilted(self, x: Any, c: arb) -> tuple[Any, Any]:
        """Return log(P e^(cL)) = log base + (1 - c) log P + c log Q, and L, at a point or a ball."""
        logs, base = self.logs(x)
        log_p, log_q = log_sum(self.p, logs), log_sum(self.q, logs)
        return base + (1 - c) * log_p + c * log_q, log_q - log_p


@dataclass(frozen=True)
class Bell(Density):
    """Terms e^(m x - m^2/2) against e^(-x^2/2)/(2 pi)^(1/2): normal laws of variance 1, their means m rising.

    q_j/p_j rises with the mean, and L with x (``rising``), or both fall. So on the line Im x = b (-b where L
    falls), with b times the spread of the means at most pi, the imaginary part of L is not negative:
    |e^(iyL)| is at most 1 there for all y >= 0. Integrals may be taken along such a shifted line (Cauchy).
    """

    means: tuple[arb, ...]
    rising: bool = True
    # Results of ``shifted`` by c, bits and shift.
    cache: dict[tuple[float, int, float], Nodes] = field(default_factory=dict, init=False, compare=False)

    def logs(self, x: Any) -> tuple[list[Any], Any]:
        return [m * x - m * m / 2 for m in self.means], -x * x / 2

    def swapped(self) -> Self:
        return replace(super().swapped(), rising=not self.rising)

    def sup_loss(self) -> arb:
        end = -1 if self.rising else 0  # far out the outermost mean outweighs the others
        p, q = self.p[end], self.q[end]
        return arb.pos_inf() if p.is_zero() or q.is_zero() else (q / p).log()

    def used(self) -> list[list[arb]]:
        """Return the means of the terms of P, and those of Q."""
        return [
            [m for w, m in zip(side, self.means, strict=True) if not w.is_zero()] for side in (self.p, self.q)
        ]

    def _growth(self, c: arb, b: float) -> float:
        """Bound the log of |P e^(cL)| on |Im x| <= b over its value at Re x, rounded up.

        The normal density grows by e^(b^2/2). The terms of P lie in a sector of the angle b times the spread
        of their means, so that |P| is between cos(b spread/2) P(Re x) and P(Re x), and so is |Q|: this counts
        where P^(1 - c) Q^c has a negative power.
        """
        powers = max(float(c) - 1, 0.0), max(-float(c), 0.0)
        sides = zip(powers, self.used(), strict=True)
        log_growth = b * b / 2 - sum(k * math.log(math.cos(b * float(m[-1] - m[0]) / 2)) for k, m in sides)
        return log_growth * (1 + 1e-9) + 1e-9

    def shifts(self, bits: int) -> list[float]:
        """Return shifts of the line of integration to try, from the largest down."""
        # The first has the longest ``_step``, as errors grow by e^(2 shift^2), or is less: times the spread
        # of the means it stays below pi/2, where no logarithm meets its cut.
        most = min(
            math.sqrt(bits * math.log(2) / 2),
            0.45 * math.pi / max(float(self.means[-1] - self.means[0]), 1e-300),
        )
        return [most / 2**k for k in range(10)]

    def _step(self, c: arb, bits: int, shift: float, half: float) -> float:
        """Return the spacing h with an error of e^(growth - 2 pi half/h) below 2^-bits: see ``shifted``."""
        return 2 * math.pi * half / (bits * math.log(2) + 1 + self._growth(c, shift + half))

    def nodes(self, c: arb, top: float, bits: int) -> Nodes:
        """Return the fewest nodes of ``shifted``, those with the longest step; on the real line for y = 0."""
        lines = [(a, a) if top > 0 else (0.0, 2 * a) for a in self.shifts(bits)]
        return self.shifted(c, bits, *max(lines, key=lambda line: self._step(c, bits, *line)))

    def shifted(self, c: arb, bits: int, shift: float, half: float) -> Nodes:
        """Return the trapezoid rule at x = kh + i shift (-i where L falls), which serves all y >= 0.

        ``half`` is half the width of a strip about this line: the shift, so that the strip is between Im x =
        0 and twice the shift; or for y = 0 and no shift any, as M(c) needs no |e^(iyL)| <= 1 in the strip.
        The integrand is analytic there. So the rule of the spacing h errs by 2/(e^(2 pi half/h) - 1) of a
        bound on its integral along lines in the strip (Trefethen, Weideman 2014, Theorem 5.1), at most
        e^growth M(c). Beyond the last nodes lies at most a geometric series of the ratio e^rate: the
        derivative of the log of the tilted density at x is -x and a number between ``low`` and ``high``, as
        P'/P lies between the means of P, and Q'/Q between those of Q.
        """
        h, strip_growth = arb(self._step(c, bits, shift, half)), arb(self._growth(c, shift + half)).exp()
        relative = 2 * strip_growth / (2 * arb.pi() * half / h).expm1()
        ends = [(power * m[0], power * m[-1]) for power, m in zip((1 - c, c), self.used(), strict=True)]
        low, high = (sum((pick(a, b) for a, b in ends), arb(0)) for pick in (arb.min, arb.max))
        growth = self._growth(c, shift)
        # Deviations after which a normal density, grown, has fallen by 2^-(bits + 8), and one for the sum.
        reach = math.sqrt(2 * (math.log(2) * (bits + 8) + growth)) + 1
        first = math.floor((float(low) - reach) / float(h))
        last = math.ceil((float(high) + reach) / float(h))
        _check_size(last - first, bits)
        edges = (first, (first * h - low) * h), (last, (high - last * h) * h)
        decays = relative < 1 and all(rate < 0 for _, rate in edges)
        require("laws", decays, "a quadrature misses its law")
        error, scale = arb(0), h / (2 * arb.pi()).sqrt()
        # |integrand| at an edge, past which nodes weigh at most e^rate times the one before.
        for k, rate in edges:
            error += scale * (self.tilted(k * h, c)[0].real + growth + rate).exp() / -rate.expm1()
        side = shift if self.rising else -shift
        line = (acb(k * h, side) if side else k * h for k in range(first, last + 1))
        points = [self.tilted(x, c) for x in line]
        nodes = [(scale * log.exp(), loss) for log, loss in points]
        # The sum M_h is within relative M of M = M(c), so that M <= M_h/(1 - relative).
        most_m = abs(sum((w for w, _ in nodes), arb(0))) + error
        error += most_m * relative / (1 - relative)
        least = most_m * arb(2) ** (-bits - 20)  # nodes of less weight are left out, and charged
        error += sum((abs(w) for w, _ in nodes if abs(w) < least), arb(0))
        weight, loss = zip(*(node for node in nodes if not abs(node[0]) < least), strict=True)
        return Nodes(list(weight), list(loss), error.upper())

    def bound(self, c: arb, y: float, bits: int) -> arb:
        """Bound |M(c + iy')| for all y' >= y along the shifted line on which that is about least."""

        def sample(shift: float, bits: int) -> Nodes:
            key = float(c), bits, shift
            self.cache[key] = self.cache.get(key) or self.shifted(c, bits, shift, shift)
            return self.cache[key]

        best, shifts = arb.pos_inf(), list[float]()  # the best last
        for shift in self.shifts(bits):
            try:
                nodes = sample(shift, 6)  # few nodes are enough to compare lines
            except VerificationError:  # a shift too small for a quadrature
                break
            estimate = nodes.bound(y) - nodes.error
            if estimate > best:  # it falls and then rises with the shift
                break
            best = estimate
            shifts.append(shift)
        m = super().bound(c, y, bits)
        for shift in reversed(shifts):
            with suppress(VerificationError):
                return m.min(sample(shift, bits).bound(y))
        return m


@dataclass(frozen=True)
class Slab(Density):
    """Terms 1 and e^(2x - epsilon) against e^-x/2 on (0, epsilon): where two Laplace laws overlap."""

    epsilon: arb

    def logs(self, x: Any) -> tuple[list[Any], Any]:
        return [x * 0, 2 * x - self.epsilon], -x - arb(2).log()

    def sup_loss(self) -> arb:
        losses: list[arb] = [self.tilted(x, arb(0))[1].real for x in (arb(0), self.epsilon)]
        return losses[0].max(losses[1])  # L is monotone in x

    @property
    def single(self) -> tuple[bool, bool]:
        """Whether P, and whether Q, has one term alone."""
        p, q = (sum(not w.is_zero() for w in side) == 1 for side in (self.p, self.q))
        return p, q

    def transform(self, z: acb) -> acb:
        """Return M(z) in closed form where P = p_i e_i and Q = q_j e_j are single terms.

        With x = epsilon (1 + u)/2 it is p_i^(1-z) q_j^z (epsilon/2) e^(-epsilon/2) int e^(tu) du/2 over (-1,
        1), t = epsilon (z (j - i) + i - 1/2), and the integral is sinh(t)/t = sinc(it).
        """
        i, j = (next(j for j, w in enumerate(side) if not w.is_zero()) for side in (self.p, self.q))
        log_p, log_ratio = self.p[i].log(), self.q[j].log() - self.p[i].log()
        log = log_p - self.epsilon / 2 + (self.epsilon / 2).log()
        t = (z * (j - i) + (i - arb(1) / 2)) * self.epsilon
        return (log + log_ratio * z).exp() * (t * acb(0, 1)).sinc()

    def _log_slope(self, x: arb) -> arb:
        """Return log |dL/dx|, dL/dx = Q'/Q - P'/P = 2 (q_1 p_0 - q_0 p_1) e_0 e_1/(P Q)."""
        logs, change = self.logs(x)[0], abs(self.q[1] * self.p[0] - self.q[0] * self.p[1]) * 2
        log_p, log_q = log_sum(self.p, logs).real, log_sum(self.q, logs).real
        slope: arb = change.log() + sum(logs, arb(0)) - log_p - log_q
        return slope

    def nodes(self, c: arb, top: float, bits: int) -> Nodes:
        """Return the nodes of N-point Gauss-Legendre rules on panels of half-width h.

        The integrand f is analytic inside the ellipse about a panel with semi-axes h (r +- 1/r)/2, where |f|
        <= M. Its Chebyshev coefficients are at most 2 M r^-k, and the rule of T_k, k even from 2N on, errs by
        at most 2 + 2/(k^2 - 1): together by h (64/15) M r^-2N/(1 - r^-2). A box of P that contains real
        points, where P > 0, and not 0 does not meet the cut of the logarithm.
        """
        steepest = max(float(self._log_slope(x).exp()) for x in (arb(0), self.epsilon))
        # On a panel phases rotate by 12 at most, and x moves by 0.4: the ball of e^(2x) on its ellipse has a
        # positive real part.
        panels = math.ceil(float(self.epsilon) * max(steepest * (top + abs(float(c))) / 12, 1 / 0.4))
        # r^-2N is 2^-bits of M, which is at most some 2^24 times the integrand inside the panel.
        rule = min(LIMITS.rule, math.ceil((bits + 24) / math.log2(9)))
        _check_size(panels * rule, bits)
        half, r = self.epsilon / (2 * panels), arb(3)
        weight, loss, error, unit = [], [], arb(0), half * arb(0, 1)  # [-h, h]
        for k in range(panels):
            middle = half * (2 * k + 1)
            for node, node_weight in legendre(rule, ctx.prec):
                log, node_loss = self.tilted(middle + half * node, c)
                weight.append(log.real.exp() * node_weight * half)
                loss.append(node_loss.real)
            box = acb(middle + unit * (r + 1 / r) / 2, unit * (r - 1 / r) / 2)  # around the ellipse
            log, box_loss = self.tilted(box, c)
            most = (log.real.upper() + top * box_loss.imag.abs_upper()).exp()
            error += half * most * arb(64) / 15 * r ** (-2 * rule) / (1 - r**-2)
        return Nodes(weight, loss, error)

    def bound(self, c: arb, y: float, bits: int) -> arb:
        """Bound |M(c + iy')| for y' >= y by V/y, V the variation of the density g = P e^(cL)/|dL/dx| of L.

        Where P or Q is a single term, log g is a linear function of x and multiples of logarithms of sums of
        two exponentials: convex or concave. So g falls and rises, or rises and falls, and varies by four
        times its supremum at most, jumps at the ends included.
        """
        m = super().bound(c, y, bits)
        if not any(self.single) or y == 0:
            return m
        cells = 64
        half, most = self.epsilon / (2 * cells), arb(0)
        for k in range(cells):  # the supremum of g over balls that cover (0, epsilon)
            x = half * (2 * k + 1) + half * arb(0, 1)
            most = most.max((self.tilted(x, c)[0].real - self._log_slope(x)).exp().upper())
        return m.min(4 * most / y) if most.is_finite() else m


@cache
def legendre(rule: int, prec: int) -> list[tuple[arb, arb]]:
    """Return the nodes and weights of the Gauss-Legendre rule on (-1, 1), in the precision of the context."""
    del prec  # part of the key of the cache
    return [arb.legendre_p_root(rule, k, weight=True) for k in range(rule)]


Law = tuple[Part, ...]


def read_law(description: Description, depth: int = 0) -> Law:
    """Return the law of a description, in the precision of the context; no key may be left unread."""
    kind = description["kind"]
    readers: dict[str, Callable[..., Law]] = {
        "gaussian": _gaussian,
        "gaussian mixtures": _mixtures,
        "laplace": _laplace,
        "response": _response,
        "discrete gaussian": _discrete_gaussian,
        "atoms": _atoms,
        "masses": _masses,
        "thinned": _thinned,
        "reversed": lambda base: tuple(part.swapped() for part in base),
        "mixed": _mixed,
    }
    require("law", kind in readers, f"kind must be one of {', '.join(readers)}, got {kind!r}")
    require("law", depth < LIMITS.nesting, f"laws must be nested at most {LIMITS.nesting} deep")
    numbers = {name: value for name, value in description.items() if name != "kind"}
    if "base" in numbers:
        numbers["base"] = read_law(numbers["base"], depth + 1)
    if "parts" in numbers:
        numbers["parts"] = [(weight, read_law(law, depth + 1)) for weight, law in numbers["parts"]]
    return readers[kind](**numbers)


def _thinned(p: float, base: Law) -> Law:
    """Return P against (1 - p) P + p Q: the base is sampled at the rate p."""
    rate = real(p, "p", 0.0)
    require("p", rate <= 1, f"must be in (0, 1], got {p!r}")
    return tuple(part.mapped(arb(1), 1 - rate, rate) for part in base)


def _mixed(parts: list[tuple[float, Law]]) -> Law:
    """Return the law with a public label of these weights, which are divided by their sum."""
    weights = [real(weight, "parts", 0.0) for weight, _ in parts]
    off, most = float(abs(sum(weights, arb(0)) - 1)), len(weights) * 2.0**-50  # roundings of floats
    require("parts", off <= most, f"weights must add to 1, and miss it by {off!r}")
    weighted = zip(_normalise(weights), parts, strict=True)
    return tuple(part.mapped(w, w * 0, w) for w, (_, law) in weighted for part in law)


def infinite_mass(parts: Law) -> arb:
    """Return Q(L = inf), the Q-mass of atoms without P-mass."""
    pairs = [pair for part in parts if isinstance(part, Atoms) for pair in zip(part.p, part.q, strict=True)]
    return sum((q for p, q in pairs if p.is_zero()), arb(0))


def real(number: Any, name: str, low: float = -math.inf) -> arb:
    """Return a finite number above ``low``."""
    finite = type(number) in {int, float} and math.isfinite(number) and number > low
    require(name, finite, f"must be a finite number above {low:g}, got {number!r}")
    return arb(number)


def _fraction(text: str) -> fmpq:
    """Read a numerator and a denominator; powers of ten could be integers of any size."""
    return fmpq(*map(int, text.split("/")))


def _gaussian(mu: float | None = None, square: str | None = None) -> Law:
    """Return N(0, 1) against N(mu, 1), by mu or by mu^2 as a fraction."""
    require("mu", (mu is None) != (square is None), "must be given once, or its square")
    root = real(mu, "mu", 0.0) if square is None else arb(_fraction(square)).sqrt()
    require("square", root > 0, f"must be positive, got {square!r}")
    return (Bell((arb(1), arb(0)), (arb(0), arb(1)), (arb(0), root)),)


def _mixtures(means: list[str], p: list[str], q: list[str]) -> Law:
    """Return sum_j p_j N(m_j, 1) against sum_j q_j N(m_j, 1), fractions, with q_j/p_j rising."""
    m, p_weights, q_weights = (list(map(_fraction, each)) for each in (means, p, q))
    require("means", all(a < b for a, b in pairwise(m)) and len(m) > 1, "must increase")
    for name, side in (("p", p_weights), ("q", q_weights)):
        require(name, min(side) >= 0 and sum(side) == 1 and len(side) == len(m), "must be weights of sum 1")
    pairs = combinations(zip(p_weights, q_weights, strict=True), 2)
    rises = all(p_i * q_j >= q_i * p_j for (p_i, q_i), (p_j, q_j) in pairs)
    require("means", rises, "the ratio of the weights must increase")
    return (Bell(tuple(map(arb, p_weights)), tuple(map(arb, q_weights)), tuple(map(arb, m))),)


def _laplace(epsilon: float) -> Law:
    """Return Lap(0, 1) against Lap(epsilon, 1): outside (0, epsilon) L is -epsilon or epsilon, two atoms."""
    e = real(epsilon, "epsilon", 0.0)
    small = (-e).exp() / 2
    return Atoms((arb(1) / 2, small), (small, arb(1) / 2)), Slab((arb(1), arb(0)), (arb(0), arb(1)), e)


def _response(epsilon: float) -> Law:
    """Return the masses (a, b) against (b, a), b = e^-epsilon a and a + b = 1: randomised response."""
    ratio = (-real(epsilon, "epsilon", 0.0)).exp()
    large = 1 / (1 + ratio)
    return (Atoms((large, ratio * large), (ratio * large, large)),)


def _discrete_gaussian(sigma: float, shift: int) -> Law:
    """Return integer noise of masses e^(-k^2/(2 sigma^2))/total at k against that at k - shift."""
    s = real(sigma, "sigma", 0.0)
    require("shift", type(shift) is int and shift > 0, f"must be a positive integer, got {shift!r}")
    reach = math.ceil(sigma * math.sqrt(1.4 * ctx.prec)) + 1  # mass outside it is below 2^-prec
    is_small = reach + shift < LIMITS.atoms // 2
    require("sigma", is_small, f"integer noise of {2 * reach} atoms is more than {LIMITS.atoms}")
    terms = [(-((arb(k) / s) ** 2) / 2).exp() for k in range(reach + shift + 1)]
    # Past ``reach`` each term is at most ``ratio`` times the one before.
    ratio = (-reach / s**2).exp()
    rest = arb(0).union(2 * terms[reach] * ratio / (1 - ratio))
    total = terms[0] + 2 * sum(terms[1 : reach + 1], arb(0)) + rest
    masses = [terms[abs(k)] / total for k in range(-reach - shift, reach + shift + 1)]
    return (Atoms(tuple(masses[shift:]), tuple(masses[:-shift]), (rest / total).upper()),)


def _atoms(
    loss: list[float], log_p: list[float], mass_at_minus_infinity: float, mass_at_plus_infinity: float
) -> Law:
    """Return atoms by log_p and the loss, whose masses are divided by their sums under P and under Q."""
    minus, plus = (real(m, "mass_at_infinity") for m in (mass_at_minus_infinity, mass_at_plus_infinity))
    require("mass_at_infinity", min(minus, plus) >= 0, "masses at infinity must not be negative")
    logs = [real(each, "log_p") for each in log_p]
    p = [minus, arb(0), *(each.exp() for each in logs)]
    q = [arb(0), plus, *((a + real(b, "loss")).exp() for a, b in zip(logs, loss, strict=True))]
    for name, side in (("log_p", p), ("loss", q)):
        off = float(abs(sum(side, arb(0)) - 1).upper())
        require(name, off <= 2.0**-20, f"masses must add to 1, and miss it by {off!r}")
    return (Atoms(_normalise(p), _normalise(q)),)


def _masses(p: list[str], q: list[str]) -> Law:
    p_masses, q_masses = (list(map(_fraction, masses)) for masses in (p, q))
    for name, side in (("p", p_masses), ("q", q_masses)):
        require(name, min(side) >= 0 and sum(side) == 1 and len(p) == len(q), "must be masses of sum 1")
    return (Atoms(tuple(map(arb, p_masses)), tuple(map(arb, q_masses))),)


def _normalise(masses: Sequence[arb]) -> tuple[arb, ...]:
    total = sum(masses, arb(0))
    return tuple(mass / total for mass in masses)
