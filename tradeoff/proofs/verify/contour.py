"""delta of a product of laws: by a sum over all atoms, or by the inversion integral, every error a ball.

The integral is along a vertical line:

    psi(x) = delta(x) - Q(L = inf) for c > 1,    psi(x) = 1 - delta(x) for 0 < c < 1,

is (1/2 pi) int M(c + iy) e^(-(c - 1 + iy) x) kernel(c + iy) dy, with the kernel 1/(z (z - 1)), negated
for c < 1 (Zhu, Dong, Wang 2022). The trapezoid sum of distance ``step`` is sum_m e^((c-1) m A) psi(x + m A)
with A = 2 pi/step, never below psi, and its other terms are at most geometric series by Chernoff's bound

    psi(x) <= M(c') e^(-(c' - 1) x) kappa(c'),   kappa = (1 - 1/c')^(c' - 1)/c' for c' > 1, and 1 for c' <= 1.

Beyond the last frequency |M| is bounded on a shifted line of integration (``laws.Bell``). If that is not
small enough, as atoms or few rounds keep M from falling, a Gaussian of mu tau is added. It adds to delta
at most e^x tau e^(d/2) phi(d/tau) for each d = L - x (the time value of an option, whose vega this bounds),
which is a sum over the same nodes with tau^2 e^(tau^2/8) for the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache, cached_property, partial
from typing import NamedTuple

from flint import acb, acb_mat, arb, ctx

from tradeoff.errors import VerificationError
from tradeoff.proofs.certificate import Description
from tradeoff.proofs.verify.laws import (
    LIMITS,
    Atoms,
    Bell,
    Law,
    Nodes,
    Pair,
    Slab,
    dot,
    infinite_mass,
    maximum,
    read_law,
    require,
)


class Tilt(NamedTuple):
    """log M(c) of a product, and about the mean and variance of L under the tilted law."""

    log_m: arb
    mean: float
    variance: float


class Product:
    """A product of laws; its Gaussian factors are one, with ``square`` the square of its mu."""

    def __init__(self, factors: Sequence[Description], *, reverse: bool = False) -> None:
        self.square = arb(0)
        self.factors: list[tuple[Law, int]] = []
        for factor in factors:
            complete = factor.keys() == {"law", "count"}
            require("factor", complete, f"must be a law and a count, got {sorted(factor)}")
            n, law = factor["count"], read_law(factor["law"])
            valid = type(n) is int and 0 < n <= 10**12
            require("count", valid, f"must be an integer in [1, 10^12], got {n!r}")
            match law:
                case (Bell() as bell,) if list(map(len, bell.used())) == [1, 1]:
                    ((a,), (b,)) = bell.used()
                    self.square += n * (b - a) ** 2
                case _:
                    self.factors.append((tuple(part.swapped() for part in law) if reverse else law, n))
        self._tilts: dict[float, Tilt] = {}

    @cached_property
    def leak(self) -> arb:
        """Q(L = inf), 1 - prod (1 - mass)^n."""
        kept = arb(1)
        for parts, n in self.factors:
            kept *= (1 - infinite_mass(parts)) ** n
        return 1 - kept

    @cached_property
    def unlisted(self) -> arb:
        """From 0 to the mass of all atoms that are not listed, which a sum over the listed ones may miss."""
        each = (n * part.rest for law, n in self.factors for part in law if isinstance(part, Atoms))
        return arb(0).union(sum(each, arb(0)).upper())

    @cached_property
    def sup_loss(self) -> arb:
        """A bound on the finite losses."""
        each = [n * maximum(part.sup_loss() for part in parts) for parts, n in self.factors]
        return arb.pos_inf() if self.square > 0 else sum(each, arb(0))

    def tilt(self, c: float) -> Tilt:
        """Return the moments at c."""
        if c in self._tilts:
            return self._tilts[c]
        log_m = self.square * (arb(c) ** 2 - c) / 2
        mean, variance = float(self.square * (arb(c) - arb(1) / 2)), float(self.square)
        for parts, n in self.factors:
            bits = min(20 + n.bit_length(), LIMITS.bits)
            with ctx.workprec(3 * bits):
                weight, loss, error = gather_nodes(parts, arb(c), 0.0, bits)
            total = sum(weight, arb(0)).real
            log_m += n * (total + error * arb(0, 1)).log()
            centre = (dot(weight, loss).real / total).mid()
            mean += n * float(centre)
            variance += n * float(dot(weight, [(x - centre) * (x - centre) for x in loss]).real / total)
        self._tilts[c] = Tilt(log_m, mean, variance)
        return self._tilts[c]

    def tail(self, c: float, y: float) -> arb:
        """Bound log |M(c + iy')/M(c)| from above for all y' >= y; factors with no bound below 1 add 0."""
        result = -self.square * arb(y) ** 2 / 2
        for parts, n in self.factors:
            bits = 20 + n.bit_length()  # known to 2^-20 after n rounds, with digits for sums to lose
            with ctx.workprec(3 * bits):
                nodes = gather_nodes(parts, arb(c), 0.0, bits)
                least = sum(nodes.weight, arb(0)).real - nodes.error
                share = sum((part.bound(arb(c), y, bits) for part in parts), arb(0)) / least
            if share < 1:
                result += n * share.upper().log()
        return result

    def values(self, c: float, step: float, count: int, tau: arb, goal: float) -> list[acb]:
        """Return M(c + iky) for k = 0 ... count - 1 and y = step, times that of a Gaussian of mu tau.

        ``goal`` is the log of the error relative to M(c) that is allowed.
        """
        z = [acb(arb(c), arb(step) * k) for k in range(count)]
        gauss = (self.square + tau * tau) / 2
        result = [(gauss * (at * at - at)).exp() for at in z] if gauss > 0 else [acb(1)] * count
        for parts, n in self.factors:
            slabs = [part for part in parts if isinstance(part, Slab) and all(part.single)]
            bits = math.ceil(8 - goal / math.log(2)) + n.bit_length()
            rest = tuple(part for part in parts if part not in slabs)
            nodes = gather_nodes(rest, arb(c), step * count, bits)
            message = f"{len(nodes.loss)} nodes at {count} frequencies take too long"
            require("claim", len(nodes.loss) * count <= 2**25, message)  # phases: some seconds
            unknown = nodes.error * acb(arb(0, 1), arb(0, 1))
            each = [value + unknown for value in phased_sums(nodes, step, count)]
            for slab in slabs:
                each = [value + slab.transform(at) for value, at in zip(each, z, strict=True)]
            result = [a * b**n for a, b in zip(result, each, strict=True)]
        return result


def gather_nodes(parts: Law, c: arb, top: float, bits: int) -> Nodes:
    """Return the nodes of all parts."""
    result = [part.nodes(c, top, bits) for part in parts]
    weight, loss = [w for each in result for w in each.weight], [x for each in result for x in each.loss]
    return Nodes(weight, loss, sum((each.error for each in result), arb(0)))


def phased_sums(nodes: Nodes, step: float, count: int) -> list[acb]:
    """Return sum w e^(iky loss) for k = 0 ... count - 1 and y = step.

    One product of matrices: the phases within a row of frequencies, and those of the rows.
    """
    row = max(1, math.isqrt(count))
    rows, size = -(-count // row), len(nodes.loss)
    rotation = [(acb(0, step) * x).exp() for x in nodes.loss]
    within = [w * t**k for k in range(row) for w, t in zip(nodes.weight, rotation, strict=True)]
    between = [t ** (row * k) for k in range(rows) for t in rotation]
    total = acb_mat(row, size, within) * acb_mat(rows, size, between).transpose()
    return [total[k % row, k // row] for k in range(count)]


class AtomSum:
    """delta(x) = Q(L = inf) + sum (q - e^x p)_+ over the atoms of a product."""

    def __init__(self, product: Product) -> None:
        self.leak, self.unlisted, self.atoms = product.leak, product.unlisted, [(arb(1), arb(1))]
        require("factors", product.square == 0, "a density is not a sum of atoms")
        for parts, n in product.factors:
            each = [part.finite() for part in parts if isinstance(part, Atoms)]
            require("factors", len(each) == len(parts), "a density is not a sum of atoms")
            one = [pair for atoms in each for pair in atoms]
            count = (
                math.comb(n + len(one) - 1, n) if n == 1 or 0 < len(one) * n < LIMITS.atoms**2 else math.inf
            )
            require("factors", len(self.atoms) * count <= LIMITS.atoms, "too many atoms to add up")
            power = one if n == 1 else list(_multinomial(one, n))
            self.atoms = [(a * c, b * d) for a, b in self.atoms for c, d in power]

    def delta(self, x: float) -> arb:
        """Enclose delta(x)."""
        slope = arb(x).exp()
        total = sum(((q - slope * p).max(arb(0)) for p, q in self.atoms), arb(0))
        return self.leak + total + self.unlisted


def _multinomial(atoms: list[Pair], n: int) -> Iterator[Pair]:
    """Yield (n; k_1 ... k_m) p_1^k_1 ... p_m^k_m, and the same of Q, over all ways to share n."""
    (p, q), others = atoms[0], atoms[1:]
    if not others:
        yield p**n, q**n
        return
    for k in range(n + 1):
        a, b = math.comb(n, k) * p**k, math.comb(n, k) * q**k
        for c, d in _multinomial(others, n - k):
            yield a * c, b * d


class Contour:
    """A contour for psi near x; ``count`` is its number of nodes if a Gaussian is added."""

    error = -36.0  # log of the error that is allowed to each sum, relative to the integrand at its saddle
    # Tilts c - 1, or c/(1 - c) in the middle strip, are powers of two: so many a doubling, up to the last.
    per_doubling, last = 8, 350

    def __init__(self, product: Product, x: float, *, middle: bool, count: int) -> None:
        self.product, self.x, self.middle, self.tau = product, x, middle, 0.0
        self._choose_tilt()
        self.step = float((2 * arb.pi() / self.period).mid())
        # M at as many nodes as are needed; ``tail_ratio`` bounds |M/M(c)| past the last.
        goal = self.goal - max(0.0, math.log(self.c * abs(self.c - 1) * self.spread**2))
        frequencies, log = 64, product.tail(self.c, self.step * 63)
        while not log < goal and 2 * frequencies <= max(2**13, 2 * count):
            frequencies *= 2
            log = product.tail(self.c, self.step * (frequencies - 1))
        if not log < goal:
            frequencies = count
            self.tau = math.sqrt(-2 * self.goal) / self.step / (count - 1)
            log = -((arb(self.tau) * self.step * (count - 1)) ** 2) / 2
        self.tail_ratio = log.exp()
        self.values = product.values(self.c, self.step, frequencies, arb(self.tau), self.goal)

    def _tilt_at(self, k: int) -> float:
        """Return a tilt of the strip: a few hundred serve all losses, so that each is computed once."""
        t = k * math.log(2) / self.per_doubling
        return 1 / (1 + math.exp(-t)) if self.middle else 1 + math.exp(t)

    def _slope(self, c: float) -> tuple[float, float]:
        tilt = self.product.tilt(c)
        return tilt.mean - self.x - 1 / c - 1 / (c - 1), tilt.variance + 1 / c**2 + 1 / (c - 1) ** 2

    def _log_m(self, c: float) -> arb:
        """Return log M(c); at the ends of the strips an upper bound, 0."""
        if c in {0.0, 1.0}:
            return arb(0)
        return self.product.tilt(c).log_m + arb(self.tau) ** 2 * (arb(c) ** 2 - c) / 2

    def _choose_tilt(self) -> None:
        """Choose the tilt, from about the saddle point down, whose contour needs the fewest nodes.

        The saddle point is where K(c) - (c - 1) x - log |c (c - 1)| is least. K may rise steeply past it, and
        aliases there take a long period. A lower tilt has a larger integrand, e^cancelled times psi: relative
        to that errors must be smaller by as much.
        """

        def rises(k: int) -> bool:
            try:
                return self._slope(self._tilt_at(k))[0] > 0
            except VerificationError:  # a tilt too large for a quadrature
                return True

        saddle, high = (-self.last, self.last) if self.middle else (-self.last, 0)
        while not self.middle and high < 2 * self.last and not rises(high):
            saddle, high = high, high + self.per_doubling
        while high - saddle > 1:
            k = (saddle + high) // 2
            saddle, high = (saddle, k) if rises(k) else (k, high)
        log_psi, best, goal, chosen = arb.pos_inf(), math.inf, self.error, None
        lowest = saddle - (1 if self.middle else 2 * self.per_doubling + 1)
        for k in range(saddle, lowest, -self.per_doubling // 4):
            self.c = self._tilt_at(k)
            self.spread = math.sqrt(self._slope(self.c)[1])
            # The logarithm of the integral of a bell as high and wide as the integrand.
            size = self._log_m(self.c) - (self.c - 1) * arb(self.x)
            size -= arb(self.c * abs(self.c - 1) * self.spread * 2.6).log()
            log_psi = size if k == saddle else log_psi
            cancelled = max(float(size - log_psi), 0.0)
            if cancelled > 50:  # which takes 72 bits
                break
            period, left, right = self._period(k, log_psi)
            cost = period * math.sqrt(cancelled - goal) / self.spread  # about the number of nodes
            if cost > 1.3 * best:
                break
            if cost < best:
                best, chosen = cost, (self.c, self.spread, period, left, right, goal - cancelled)
        if chosen is None:
            raise VerificationError("claim: no tilt has a contour of finite length", "claim")
        self.c, self.spread, self.period, self.left, self.right, self.goal = chosen

    def _period(self, k: int, log_psi: arb) -> tuple[float, float, float]:
        """Return a period A with aliases negligible to psi, about e^log_psi, and the tilts that bound them.

        The first alias on one side of c is at most Chernoff's bound at a tilt c' there times e^(-|c' - c| A).
        ``bound`` adds the aliases whatever A is. c is the tilt of number k.
        """
        apart = (1, 2, 3, 4, 6, 8, 12, 16, 22, 32, 46, 64)
        below, above = ([self._tilt_at(k + way * step) for step in apart] for way in (-1, 1))
        points = [*below, 0.0 if self.middle else 1.0], [*above, 1.0] if self.middle else above
        period, log_bound = 8 * self.spread, cache(partial(self._chernoff, x=arb(self.x)))

        def least_alias(tilts: list[float]) -> tuple[arb, float]:
            """Return the least log of the tilts' bounds on an alias, and its tilt: logs fall, then rise."""
            best: tuple[arb, float] | None = None
            for c in tilts:
                try:
                    log = log_bound(c) - abs(c - self.c) * period
                except VerificationError:  # a tilt too large for a quadrature
                    break
                if best and float(log) > float(best[0]):
                    break
                best = log, c
            if best is None:
                raise VerificationError("claim: no tilt bounds the aliases", "claim")
            return best

        for _ in range(200):
            (left, a), (right, b) = map(least_alias, points)
            if left <= log_psi + self.error and right <= log_psi + self.error:
                break
            period *= 1.15
        return period, a, b

    def _chernoff(self, c: float, x: arb) -> arb:
        """Return the logarithm of Chernoff's bound at x."""
        log_kappa = (arb(c) - 1) * (1 - 1 / arb(c)).log() - arb(c).log() if c > 1 else arb(0)
        return self._log_m(c) - (arb(c) - 1) * x + log_kappa

    def bound(self, x: float) -> arb:
        """Enclose psi(x)."""
        loss, step, size = arb(x), arb(self.step), (-(arb(self.c) - 1) * arb(x)).exp()
        # Sums of terms times e^(-ikyx), by few multiplications, since each one widens a ball.
        rotation, row = acb(0, -loss * step).exp(), self._terms[0].nrows()
        left, right = (acb_mat(1, row, [rotation ** (k * pace) for k in range(row)]) for pace in (row, 1))
        total, bump = ((left * each * right.transpose())[0, 0] for each in self._terms)
        scale, last = size * step / arb.pi(), step * (len(self.values) - 1)
        # |z (z - 1)| >= y^2, and the sum over k > K of 1/(k step)^2 is less than 1/(K step^2).
        rest = size * self.values[0].real * self.tail_ratio / (arb.pi() * last)
        aliases = self._alias(self.left, loss) + self._alias(self.right, loss)
        low, high = scale * total.real - rest - aliases, scale * total.real + rest
        if self.tau:  # past the nodes the integral of e^(-tau^2 y^2/2) is less than itself over tau^2 y
            square = arb(self.tau) ** 2
            blur = square * (square / 8).exp() * (scale * bump.real + rest / square)
            low, high = (low, high + blur) if self.middle else (low - blur, high)
        chernoff = self._chernoff(self.c, loss).exp() if not self.middle else arb(1)
        low, high = low.lower().max(arb(0)), high.upper().min(chernoff.upper())
        return low.union(high)

    @cached_property
    def _terms(self) -> list[acb_mat]:
        """Two matrices, filled row by row: values times the kernel, and the values."""
        sign, values = -1 if self.middle else 1, [self.values[0] / 2, *self.values[1:]]
        z = [acb(arb(self.c), arb(self.step) * k) for k in range(len(values))]
        weighed = [value / (at * (at - 1)) * sign for value, at in zip(values, z, strict=True)]
        row = math.isqrt(len(values)) + 1
        padding = [acb(0)] * (row * row - len(values))
        return [acb_mat(row, row, [*each, *padding]) for each in (weighed, values)]

    def _alias(self, c: float, x: arb) -> arb:
        """Bound the sum of the aliases on one side, each at most e^-gap times the one before it."""
        gap = abs(arb(c) - arb(self.c)) * 2 * arb.pi() / arb(self.step)
        return (self._chernoff(c, x) - gap).exp() / -(-gap).expm1()
