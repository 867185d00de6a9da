"""Laws of the privacy loss in ball arithmetic: parts (atoms, normal densities, Laplace overlaps) and readers.

P and Q of a part are sums of the same positive terms,

    P = sum_j p_j e_j(x),  Q = sum_j q_j e_j(x),  p_j, q_j >= 0,  L = log Q/P,  M(z) = int P e^(zL):

indicators of atoms, e^(m x - m^2/2) against a normal law, and 1, e^(2x - epsilon) against e^-x/2 on
(0, epsilon). Subsampling, reversal and mixture change the coefficients alone.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from itertools import combinations, pairwise, starmap
from typing import Any, NamedTuple, Self

from flint import acb, arb, ctx, fmpq

from tradeoff.display import Displayed, TextTable
from tradeoff.errors import VerificationError
from tradeoff.proofs.certificate import Description

_RELATIONS = {
    "<=": (operator.le, operator.gt),
    ">=": (operator.ge, operator.lt),
    ">": (operator.gt, operator.le),
}


@dataclass(frozen=True)
class Check:
    """An enclosure of a quantity, rounded outward, a side (``<=``, ``>=``, ``>``), and the recorded value."""

    name: str
    lower: float
    upper: float
    side: str
    recorded: float

    @property
    def proved(self) -> bool:
        """Whether the enclosure proves the relation."""
        return all(_RELATIONS[self.side][0](end, self.recorded) for end in (self.lower, self.upper))

    @property
    def refuted(self) -> bool:
        """Whether the enclosure proves the opposite."""
        return all(_RELATIONS[self.side][1](end, self.recorded) for end in (self.lower, self.upper))

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
    """Raise a ``VerificationError`` unless the condition holds."""
    if not bool(condition):
        raise VerificationError(f"{term}: {message}", term)


def outward(ball: arb) -> tuple[float, float]:
    """Return floats on both sides of a ball."""
    low, high = float(ball.lower()), float(ball.upper())
    low = low if low <= ball.lower() else math.nextafter(low, -math.inf)
    return low, high if high >= ball.upper() else math.nextafter(high, math.inf)


Pair = tuple[arb, arb]  # numbers of P and of Q


@dataclass(frozen=True)
class Limits:
    """Effort of the verifier: it changes how tight the enclosures are, not whether they hold."""

    bits: int = 40  # of the moments that place a contour and bound its aliases
    nodes: int = 2**14  # of one quadrature: half a second; an eighth of it for moments
    atoms: int = 2**16  # of a law or a product: a second
    nesting: int = 16  # laws inside laws
    rule: int = 40  # nodes of a Gauss-Legendre panel


LIMITS = Limits()


class Nodes(NamedTuple):
    """M(c + iy) = sum w e^(iy loss), to an absolute error, for 0 <= y <= ``top``."""

    weight: list[Any]
    loss: list[Any]
    error: arb

    def bound(self, y: float) -> arb:
        """Bound |M(c + iy')| for all y' >= y, from losses whose imaginary parts are not negative."""
        pairs = zip(self.weight, self.loss, strict=True)
        return sum((abs(w) * (-y * x.imag).exp() for w, x in pairs), arb(0)) + self.error


def _check_size(count: int, bits: int) -> None:
    most = LIMITS.nodes if bits > LIMITS.bits else LIMITS.nodes // 8
    require("laws", count < most, f"a law needs {count} nodes, more than {most}")


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Return the sum of products."""
    return sum(starmap(operator.mul, zip(a, b, strict=True)), arb(0))


def maximum(numbers: Iterable[arb]) -> arb:
    """Return the maximum of some numbers."""
    return reduce(arb.max, numbers)


def log_sum(weights: Sequence[arb], logs: Sequence[Any]) -> Any:
    """Return log of a sum of weights times exponentials, of which the first rotates least."""
    terms = [(w, log) for w, log in zip(weights, logs, strict=True) if not w.is_zero()]
    w, first = terms[0]
    return first + sum(((log - first).exp() * v for v, log in terms[1:]), acb(w) * 1).log()


@dataclass(frozen=True)
class Part(ABC):
    """A part of a law by its coefficients."""

    p: tuple[arb, ...]
    q: tuple[arb, ...]

    def mapped(self, p: arb, kept: arb, q: arb) -> Self:
        """Return the part with p P for P, and kept P + q Q for Q."""
        both = zip(self.p, self.q, strict=True)
        return replace(self, p=tuple(p * a for a in self.p), q=tuple(kept * a + q * b for a, b in both))

    def swapped(self) -> Self:
        """Return the other order."""
        return replace(self, p=self.q, q=self.p)

    @abstractmethod
    def sup_loss(self) -> arb:
        """Bound the finite losses from above."""

    @abstractmethod
    def nodes(self, c: arb, top: float, bits: int) -> Nodes:
        """Return M(c + iy) for 0 <= y <= top, to about 2^-bits of M(c)."""

    def bound(self, c: arb, y: float, bits: int) -> arb:
        """Bound |M(c + iy')| from above for all y' >= y: by M(c), as L is real and so |e^(iy'L)| = 1."""
        nodes = self.nodes(c, 0.0, bits)
        total: arb = abs(sum(nodes.weight, arb(0))) + nodes.error
        return total


@dataclass(frozen=True)
class Atoms(Part):
    """Atoms; of those at infinity one coefficient is 0. ``rest`` bounds the mass that is not listed."""

    rest: arb = field(default_factory=arb)

    def finite(self) -> list[Pair]:
        """Return the atoms of finite losses."""
        return [(a, b) for a, b in zip(self.p, self.q, strict=True) if not (a.is_zero() or b.is_zero())]

    def sup_loss(self) -> arb:
        return maximum([(b / a).log() for a, b in self.finite()] or [arb.neg_inf()])

    def nodes(self, c: arb, top: float, bits: int) -> Nodes:
        loss = [(b / a).log() for a, b in self.finite()]
        weight = [a * (c * at).exp() for (a, _), at in zip(self.finite(), loss, strict=True)]
        return Nodes(weight, loss, arb(0))


@dataclass(frozen=True)
class Density(Part):
    """A density along a line with terms e_j."""

    @abstractmethod
    def logs(self, x: Any) -> tuple[list[Any], Any]:
        """Return the logarithms of all terms, and of the density that they multiply."""

    def tilted(self, x: Any, c: arb) -> tuple[Any, Any]:
        """Return log of the density times e^(cL), and L, at a point or a ball."""
        logs, base = self.logs(x)
        log_p, log_q = log_sum(self.p, logs), log_sum(self.q, logs)
        return base + (1 - c) * log_p + c * log_q, log_q - log_p


@dataclass(frozen=True)
class Bell(Density):
    """Terms e^(m x - m^2/2) against e^(-x^2/2)/(2 pi)^(1/2): normal laws about the means m, which rise.

    q_j/p_j rises with the mean, or falls. So on Im x = b, b times the spread of the means at most pi, the
    imaginary part of L is not negative on one side of the line: e^(iyL) is at most 1 there, for all y >= 0.
    """

    means: tuple[arb, ...]
    rising: bool = True
    """Whether L rises along x."""
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
        """Bound, on |Im x| <= b, the log of the integrand over that on the real line, without e^(iyL).

        The normal density grows by e^(b^2/2). The terms of P lie in a sector of the angle b times their
        spread, so that |P| is between cos(b spread/2) P(Re x) and P(Re x), as with Q.
        """
        sides = zip((max(float(c) - 1, 0.0), max(-float(c), 0.0)), self.used(), strict=True)
        grown = b * b / 2 - sum(k * math.log(math.cos(b * float(m[-1] - m[0]) / 2)) for k, m in sides)
        return grown * (1 + 1e-9) + 1e-9

    def shifts(self, bits: int) -> list[float]:
        """Return shifts of the line of integration to try, from the largest down."""
        # The first has the longest ``_step``, as errors grow by e^(2 shift^2), or is less: times the spread
        # of the means it stays below pi/2, where no logarithm meets its cut.
        most = min(
            math.sqrt(bits * math.log(2) / 2),
            0.45 * math.pi / max(float(self.means[-1] - self.means[0]), 1e-300),
        )
        return [most / 2**k for k in range(10)]

    def _step(self, c: arb, bits: int, shift: float) -> float:
        return 2 * math.pi * shift / (bits * math.log(2) + 1 + self._growth(c, 2 * shift))

    def nodes(self, c: arb, top: float, bits: int) -> Nodes:
        return self.shifted(c, bits, max(self.shifts(bits), key=lambda a: self._step(c, bits, a)))

    def shifted(self, c: arb, bits: int, shift: float) -> Nodes:
        """Return the trapezoid rule along Im x = shift, which serves all y >= 0.

        The integrand is analytic between Im x = 0 and twice the shift. So the rule of the spacing h errs by
        2/(e^(2 pi shift/h) - 1) of a bound on its integral there (Trefethen, Weideman 2014, Theorem 5.1).
        Beyond the last nodes lies at most a geometric series: the derivative of the log of the tilted density
        at x is -x and a number between ``low`` and ``high``, as P'/P lies between the means of P, and Q'/Q
        between those of Q.
        """
        h, grown = arb(self._step(c, bits, shift)), arb(self._growth(c, 2 * shift)).exp()
        relative = 2 * grown / (2 * arb.pi() * shift / h).expm1()
        ends = [(power * m[0], power * m[-1]) for power, m in zip((1 - c, c), self.used(), strict=True)]
        low, high = (sum((pick(a, b) for a, b in ends), arb(0)) for pick in (arb.min, arb.max))
        growth = self._growth(c, shift)
        reach = math.sqrt(2 * (math.log(2) * (bits + 8) + growth)) + 1
        first = math.floor((float(low) - reach) / float(h))
        last = math.ceil((float(high) + reach) / float(h))
        _check_size(last - first, bits)
        edges = (first, (first * h - low) * h), (last, (high - last * h) * h)
        require("laws", relative < 1 and all(r < 0 for _, r in edges), "a quadrature misses its law")
        error, scale = arb(0), h / (2 * arb.pi()).sqrt()
        for k, r in edges:
            error += scale * (self.tilted(k * h, c)[0].real + growth + r).exp() / -r.expm1()
        side = shift if self.rising else -shift
        points = [self.tilted(acb(k * h, side), c) for k in range(first, last + 1)]
        nodes = [(scale * log.exp(), loss) for log, loss in points]
        real = abs(sum((w for w, _ in nodes), arb(0))) + error
        error += real * relative / (1 - relative)
        least = real * arb(2) ** (-bits - 20)
        error += sum((abs(w) for w, _ in nodes if abs(w) < least), arb(0))
        weight, loss = zip(*(node for node in nodes if not abs(node[0]) < least), strict=True)
        return Nodes(list(weight), list(loss), error.upper())

    def bound(self, c: arb, y: float, bits: int) -> arb:
        """Bound |M(c + iy')| for y' >= y along the line on which that is least."""
        best, last = super().bound(c, y, bits), arb.pos_inf()
        for shift in self.shifts(bits):
            key = float(c), bits, shift
            try:
                self.cache[key] = self.cache.get(key) or self.shifted(c, bits, shift)
            except VerificationError:  # a shift too small for a quadrature
                break
            bound = self.cache[key].bound(y)
            if bound > last:  # it falls and then rises with the shift
                break
            best, last = best.min(bound), bound
        return best


@dataclass(frozen=True)
class Slab(Density):
    """Terms 1 and e^(2x - epsilon) against e^-x/2 on (0, epsilon): where two Laplace laws overlap."""

    epsilon: arb

    def logs(self, x: Any) -> tuple[list[Any], Any]:
        return [x * 0, 2 * x - self.epsilon], -x - arb(2).log()

    def sup_loss(self) -> arb:
        return maximum(self.tilted(x, arb(0))[1].real for x in (arb(0), self.epsilon))

    @property
    def single(self) -> tuple[bool, bool]:
        """Whether P, and whether Q, has one term alone."""
        p, q = (sum(not w.is_zero() for w in side) == 1 for side in (self.p, self.q))
        return p, q

    def transform(self, z: acb) -> acb:
        """Return M(z) where P and Q are single: int e^(tu) du/2 over (-1, 1), x = epsilon (1 + u)/2."""
        k, n = (next(j for j, w in enumerate(side) if not w.is_zero()) for side in (self.p, self.q))
        log_p, log_ratio = self.p[k].log(), self.q[n].log() - self.p[k].log()
        log = log_p - self.epsilon / 2 + (self.epsilon / 2).log()
        rate = (z * (n - k) + (k - arb(1) / 2)) * self.epsilon
        return (log + log_ratio * z).exp() * (rate * acb(0, 1)).sinc()

    def _log_slope(self, x: arb) -> arb:
        """Return log |dL/dx|."""
        logs, change = self.logs(x)[0], abs(self.q[1] * self.p[0] - self.q[0] * self.p[1]) * 2
        log_p, log_q = log_sum(self.p, logs).real, log_sum(self.q, logs).real
        slope: arb = change.log() + sum(logs, arb(0)) - log_p - log_q
        return slope

    def nodes(self, c: arb, top: float, bits: int) -> Nodes:
        """Return nodes of panels of half-width h, each with error h (64/15) M r^-2N/(1 - r^-2), N nodes each.

        For f = sum a_k T_k, |a_k| <= 2 M r^-k, and even T_k from k = 2N on err by at most 2 + 2/(k^2 - 1).
        A box of P that holds real points, where P > 0, and not 0 does not meet the cut of the logarithm.
        """
        e = float(self.epsilon)
        steep = max(float(self._log_slope(x).exp()) for x in (arb(0), self.epsilon))
        # On a panel phases rotate by 12 at most, and x moves by 0.4: the ball of e^(2x) on its ellipse has a
        # positive real part.
        panels = math.ceil(e * max(steep * (top + abs(float(c))) / 12, 1 / 0.4))
        _check_size(panels * LIMITS.rule, bits)
        half, r = self.epsilon / (2 * panels), arb(3)
        weight, loss, error, width = [], [], arb(0), half * arb(0, 1)
        for k in range(panels):
            middle = half * (2 * k + 1)
            for at, share in legendre(ctx.prec):
                log, there = self.tilted(middle + half * at, c)
                weight.append(log.real.exp() * share * half)
                loss.append(there.real)
            around = acb(middle + width * (r + 1 / r) / 2, width * (r - 1 / r) / 2)
            log, there = self.tilted(around, c)
            size = (log.real.upper() + top * there.imag.abs_upper()).exp()
            error += half * size * arb(64) / 15 * r ** (-2 * LIMITS.rule) / (1 - r**-2)
        return Nodes(weight, loss, error)

    def bound(self, c: arb, y: float, bits: int) -> arb:
        """Bound |M(c + iy')| for y' >= y by the variation of the density of L, over y.

        Where P or Q is a single term, its logarithm is a linear function of x and multiples of logarithms of
        sums of two exponentials: convex or concave. So the density falls and rises, or rises and falls, and
        varies by four times its supremum at most, jumps at the ends included.
        """
        mass = super().bound(c, y, bits)
        if not any(self.single) or y == 0:
            return mass
        cells = 64
        half, most = self.epsilon / (2 * cells), arb(0)
        for k in range(cells):
            x = half * (2 * k + 1) + half * arb(0, 1)
            most = most.max((self.tilted(x, c)[0].real - self._log_slope(x)).exp().upper())
        return mass.min(4 * most / y) if most.is_finite() else mass


@cache
def legendre(prec: int) -> list[tuple[arb, arb]]:
    """Return a Gauss-Legendre rule on (-1, 1)."""
    del prec  # of the context
    return [arb.legendre_p_root(LIMITS.rule, k, weight=True) for k in range(LIMITS.rule)]


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
    r = real(p, "p", 0.0)
    require("p", r <= 1, f"must be in (0, 1], got {p!r}")
    return tuple(part.mapped(arb(1), 1 - r, r) for part in base)


def _mixed(parts: list[tuple[float, Law]]) -> Law:
    weights = [real(weight, "parts", 0.0) for weight, _ in parts]
    off, most = float(abs(sum(weights, arb(0)) - 1)), len(weights) * 2.0**-50
    require("parts", off <= most, f"weights must add to 1, and miss it by {off!r}")
    shares = zip(_shares(weights), parts, strict=True)
    return tuple(part.mapped(w, w * 0, w) for w, (_, law) in shares for part in law)


def infinite_mass(parts: Law) -> arb:
    """Return Q(L = inf)."""
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
    require("mu", (mu is None) != (square is None), "must be given once, or its square")
    root = real(mu, "mu", 0.0) if square is None else arb(_fraction(square)).sqrt()
    require("square", root > 0, f"must be positive, got {square!r}")
    return (Bell((arb(1), arb(0)), (arb(0), arb(1)), (arb(0), root)),)


def _mixtures(means: list[str], p: list[str], q: list[str]) -> Law:
    at, first, second = (list(map(_fraction, each)) for each in (means, p, q))
    require("means", all(a < b for a, b in pairwise(at)) and len(at) > 1, "must increase")
    for name, side in (("p", first), ("q", second)):
        require(name, min(side) >= 0 and sum(side) == 1 and len(side) == len(at), "must be weights of sum 1")
    pairs = combinations(zip(first, second, strict=True), 2)
    require(
        "means", all(d * a >= b * c for (a, b), (c, d) in pairs), "the ratio of the weights must increase"
    )
    a, b, m = (tuple(map(arb, each)) for each in (first, second, at))
    return (Bell(a, b, m),)


def _laplace(epsilon: float) -> Law:
    e = real(epsilon, "epsilon", 0.0)
    far = (-e).exp() / 2
    return Atoms((arb(1) / 2, far), (far, arb(1) / 2)), Slab((arb(1), arb(0)), (arb(0), arb(1)), e)


def _response(epsilon: float) -> Law:
    far = (-real(epsilon, "epsilon", 0.0)).exp()
    near = 1 / (1 + far)
    return (Atoms((near, far * near), (far * near, near)),)


def _discrete_gaussian(sigma: float, shift: int) -> Law:
    s = real(sigma, "sigma", 0.0)
    require("shift", type(shift) is int and shift > 0, f"must be a positive integer, got {shift!r}")
    reach = math.ceil(sigma * math.sqrt(1.4 * ctx.prec)) + 1  # deviations outside which 2^-prec lies
    few = reach + shift < LIMITS.atoms // 2
    require("sigma", few, f"integer noise of {2 * reach} atoms is more than {LIMITS.atoms}")
    terms = [(-((arb(k) / s) ** 2) / 2).exp() for k in range(reach + shift + 1)]
    ratio = (-reach / s**2).exp()
    rest = arb(0).union(2 * terms[reach] * ratio / (1 - ratio))
    total = terms[0] + 2 * sum(terms[1 : reach + 1], arb(0)) + rest
    each = [terms[abs(k)] / total for k in range(-reach - shift, reach + shift + 1)]
    return (Atoms(tuple(each[shift:]), tuple(each[:-shift]), (rest / total).upper()),)


def _atoms(
    loss: list[float], log_p: list[float], mass_at_minus_infinity: float, mass_at_plus_infinity: float
) -> Law:
    """Return atoms by log_p and the loss, whose masses are divided by their sums under P and under Q."""
    infinite = [real(mass, "mass_at_infinity") for mass in (mass_at_minus_infinity, mass_at_plus_infinity)]
    require("mass_at_infinity", min(infinite) >= 0, "masses at infinity must not be negative")
    log = [real(each, "log_p") for each in log_p]
    p = [infinite[0], arb(0), *(each.exp() for each in log)]
    q = [arb(0), infinite[1], *((a + real(b, "loss")).exp() for a, b in zip(log, loss, strict=True))]
    for name, side in (("log_p", p), ("loss", q)):
        off = float(abs(sum(side, arb(0)) - 1).upper())
        require(name, off <= 2.0**-20, f"masses must add to 1, and miss it by {off!r}")
    return (Atoms(_shares(p), _shares(q)),)


def _masses(p: list[str], q: list[str]) -> Law:
    first, second = (list(map(_fraction, masses)) for masses in (p, q))
    for name, side in (("p", first), ("q", second)):
        require(name, min(side) >= 0 and sum(side) == 1 and len(p) == len(q), "must be masses of sum 1")
    return (Atoms(tuple(map(arb, first)), tuple(map(arb, second))),)


def _shares(masses: Sequence[arb]) -> tuple[arb, ...]:
    total = sum(masses, arb(0))
    return tuple(mass / total for mass in masses)
