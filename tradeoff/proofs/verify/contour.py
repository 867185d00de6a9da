"""delta(x) of a product of laws in ball arithmetic: by a sum over all atoms, or by the inversion integral.

Numbers are balls (``arb``, ``acb``) that contain the exact ones; x is in nats. L = log Q/P is the privacy
loss of the product, M(z) = E_P[e^(zL); L finite], K(c) = log M(c), and the tilted law at c has the density
e^(cL)/M(c) against P. The integral is along the contour Re z = c, at frequencies y = Im z:

    psi(x) = delta(x) - Q(L = inf) for c > 1,    psi(x) = 1 - delta(x) for 0 < c < 1 (the *middle* strip),

is (1/2 pi) int M(c + iy) e^(-(c - 1 + iy) x) kernel(c + iy) dy, with the kernel 1/(z (z - 1)), negated
for c < 1 (Zhu, Dong, Wang 2022). Its trapezoid sum of spacing ``step`` is sum_m e^((c-1) m A) psi(x + m A)
over all integers m, A = 2 pi/step being its period. So it is never below psi, and its *aliases*, the terms
m < 0 and m > 0, are at most geometric series by Chernoff's bound at a tilt c' below c, and at one above:

    psi(x) <= M(c') e^(-(c' - 1) x) kappa(c'),   kappa = (1 - 1/c')^(c' - 1)/c' for c' > 1, and 1 for c' <= 1.

Past the last frequency |M| is bounded on a shifted line of integration (``laws.Bell``). If that is not
small enough, as atoms or few rounds keep M from falling, a Gaussian of mu = tau is added. It adds to delta
at most E[e^x tau e^(d/2) phi(d/tau)], d = L - x (the time value of an option, whose vega this bounds),
which is a sum over the same nodes with tau^2 e^(tau^2/8) for the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial, reduce
from operator import mul
from typing import NamedTuple

from flint import acb, acb_mat, arb, ctx

from tradeoff.errors import VerificationError
from tradeoff.proofs.certificate import Description
from tradeoff.proofs.verify import laws


class Tilt(NamedTuple):
    """log M(c) of a product, and about K'(c) and K''(c), the mean and variance of L under the tilted law."""

    log_m: arb
    mean: float
    variance: float


class Product:
    """A product of laws, each a tuple of parts (atoms or a density) to the power of a count.

    Its Gaussian factors are one of mu^2 = ``square`` and K(c) = mu^2 (c^2 - c)/2; ``factors`` are the others.
    With ``reverse``, Q against P.
    """

    def __init__(self, factors: Sequence[Description], *, reverse: bool = False) -> None:
        self.square = arb(0)
        self.factors: list[tuple[laws.Law, int]] = []
        for factor in factors:
            complete = factor.keys() == {"law", "count"}
            laws.require("factor", complete, f"must be a law and a count, got {sorted(factor)}")
            n, law = factor["count"], laws.read_law(factor["law"])
            valid = type(n) is int and 0 < n <= 10**12
            laws.require("count", valid, f"must be an integer in [1, 10^12], got {n!r}")
            match law:
                case (laws.Bell() as bell,) if list(map(len, bell.used())) == [1, 1]:
                    ((p_mean,), (q_mean,)) = bell.used()  # one normal law each, both of variance 1
                    self.square += n * (q_mean - p_mean) ** 2
                case _:
                    self.factors.append((tuple(part.swapped() for part in law) if reverse else law, n))
        self._tilts: dict[float, Tilt] = {}

    @cached_property
    def mass_at_infinity(self) -> arb:
        """Q(L = inf) = 1 - prod (1 - mass)^n."""
        return 1 - math.prod(
            ((1 - laws.infinite_mass(parts)) ** n for parts, n in self.factors), start=arb(1)
        )

    @cached_property
    def unlisted(self) -> arb:
        """From 0 to the mass of all atoms that are not listed, which a sum over the listed ones may miss."""
        masses = (n * part.rest for law, n in self.factors for part in law if isinstance(part, laws.Atoms))
        return arb(0).union(sum(masses, arb(0)).upper())

    @cached_property
    def sup_loss(self) -> arb:
        """Upper bound on the finite losses."""
        losses = [n * reduce(arb.max, (part.sup_loss() for part in parts)) for parts, n in self.factors]
        return arb.pos_inf() if self.square > 0 else sum(losses, arb(0))

    def tilt(self, c: float) -> Tilt:
        """Return K(c) = sum of n log M_j(c) over the factors, and about K'(c) and K''(c), each c once."""
        if c in self._tilts:
            return self._tilts[c]
        log_m = self.square * (arb(c) ** 2 - c) / 2
        mean, variance = float(self.square * (arb(c) - arb(1) / 2)), float(self.square)
        for parts, n in self.factors:
            bits = min(20 + n.bit_length(), laws.LIMITS.bits)  # of one round, so that n of them keep some 20
            with ctx.workprec(3 * bits):
                weight, loss, error = gather_nodes(parts, arb(c), 0.0, bits)
            m_of_one = sum(weight, arb(0)).real
            log_m += n * (m_of_one + error * arb(0, 1)).log()  # arb(0, 1) is [-1, 1]
            centre = (sum(map(mul, weight, loss), arb(0)).real / m_of_one).mid()
            mean += n * float(centre)
            squares = ((x - centre) * (x - centre) for x in loss)
            variance += n * float(sum(map(mul, weight, squares), arb(0)).real / m_of_one)
        return self._tilts.setdefault(c, Tilt(log_m, mean, variance))

    def log_chernoff(self, c: float, x: arb) -> arb:
        """Return the log of Chernoff's bound on psi(x), M(c) e^(-(c - 1) x) kappa(c); M(0) and M(1) <= 1."""
        log_kappa = (arb(c) - 1) * (1 - 1 / arb(c)).log() - arb(c).log() if c > 1 else arb(0)
        log_m = arb(0) if c in {0.0, 1.0} else self.tilt(c).log_m
        return log_m - (arb(c) - 1) * x + log_kappa

    def rough(self, x: float, *, middle: bool) -> arb:
        """Enclose psi(x) without an integral: by Chernoff's bound at some tilts and, for c > 1, by losses.

        Outcomes of loss L > x add q (1 - e^(x - L)) to psi: at most 1 - e^(x - sup L), at least one atom's.
        """
        least, most = arb(0), arb(1)
        for t in (2.0**k for k in range(-6, 11)):
            with suppress(VerificationError):  # a tilt too large for a quadrature; and NaN is not the least
                most = min(most, self.log_chernoff(t / (1 + t) if middle else 1 + t, arb(x)).exp().upper())
        if not middle:
            most = most.min((1 - (arb(x) - self.sup_loss).exp()).upper().max(arb(0)))
            p, q = arb(1), arb(int(self.square == 0))
            for parts, n in self.factors:
                atoms = [pair for part in parts if isinstance(part, laws.Atoms) for pair in part.finite()]
                of_p, of_q = max(atoms, key=lambda pair: float(pair[1] / pair[0]), default=(arb(0), arb(0)))
                p, q = p * of_p**n, q * of_q**n
            least = (q - arb(x).exp() * p).lower().max(arb(0))
        return least.union(most)

    def log_decay(self, c: float, y: float) -> arb:
        """Bound log |M(c + iy')/M(c)| from above for all y' >= y; factors with no bound below 1 add 0."""
        result = -self.square * arb(y) ** 2 / 2
        for parts, n in self.factors:
            bits = max(21, 8 + n.bit_length())  # known to 2^-8 after n rounds, with digits for sums to lose
            with ctx.workprec(3 * bits):
                nodes = gather_nodes(parts, arb(c), 0.0, bits)
                least_m = sum(nodes.weight, arb(0)).real - nodes.error
                decay = sum((part.bound(arb(c), y, bits) for part in parts), arb(0)) / least_m
            if decay < 1:
                result += n * decay.upper().log()
        return result

    def values(self, c: float, step: float, count: int, tau: arb, goal: float) -> list[acb]:
        """Return M(c + ik step) e^(tau^2 (z^2 - z)/2), z = c + ik step, for k = 0 ... count - 1.

        ``goal`` is the log of the error relative to M(c) that is allowed.
        """
        points = [acb(arb(c), arb(step) * k) for k in range(count)]
        half_square = (self.square + tau * tau) / 2
        result = [(half_square * (z * z - z)).exp() for z in points]
        for parts, n in self.factors:
            # Transforms of these are closed forms.
            slabs = [part for part in parts if isinstance(part, laws.Slab) and all(part.single)]
            bits = math.ceil(8 - goal / math.log(2)) + n.bit_length()  # 8 more for the sums to lose
            others = tuple(part for part in parts if part not in slabs)
            nodes = gather_nodes(others, arb(c), step * count, bits)
            message = f"{len(nodes.loss)} nodes at {count} frequencies take too long"
            laws.require("claim", len(nodes.loss) * count <= 2**25, message)  # phases: some seconds
            error = nodes.error * acb(arb(0, 1), arb(0, 1))  # a square about 0
            of_one = [value + error for value in phased_sums(nodes, step, count)]
            for slab in slabs:
                of_one = [value + slab.transform(z) for value, z in zip(of_one, points, strict=True)]
            result = [product * one**n for product, one in zip(result, of_one, strict=True)]
        return result


def gather_nodes(parts: laws.Law, c: arb, top: float, bits: int) -> laws.Nodes:
    """Return the nodes of all parts as one sum: M(c + iy) = sum w e^(iy loss) +- error for 0 <= y <= top."""
    each_part = [part.nodes(c, top, bits) for part in parts]
    weight = [each for nodes in each_part for each in nodes.weight]
    loss = [each for nodes in each_part for each in nodes.loss]
    return laws.Nodes(weight, loss, sum((nodes.error for nodes in each_part), arb(0)))


def phased_sums(nodes: laws.Nodes, step: float, count: int) -> list[acb]:
    """Return sum w e^(ik step loss), without the error of the nodes, for k = 0 ... count - 1.

    With k = j row + i, 0 <= i < row, it is entry (i, j) of one product of matrices with a column for each
    node: (w e^(i step loss)) of shape (row, nodes), and (e^(i row j step loss)) of shape (rows, nodes).
    """
    row = max(1, math.isqrt(count))
    rows, size = -(-count // row), len(nodes.loss)
    rotation = [(acb(0, step) * x).exp() for x in nodes.loss]
    within = [w * t**k for k in range(row) for w, t in zip(nodes.weight, rotation, strict=True)]
    between = [t ** (row * k) for k in range(rows) for t in rotation]
    total = acb_mat(row, size, within) * acb_mat(rows, size, between).transpose()
    return [total[k % row, k // row] for k in range(count)]


class AtomSum:
    """delta(x) = Q(L = inf) + sum (q - e^x p)_+ over ``atoms``, the finite ones of a product as pairs (p, q).

    ``VerificationError`` if a factor has a density, or the atoms are more than ``LIMITS.atoms``.
    """

    def __init__(self, product: Product) -> None:
        self.constant = product.mass_at_infinity + product.unlisted  # of all deltas
        self.atoms = [(arb(1), arb(1))]
        laws.require("factors", product.square == 0, "a density is not a sum of atoms")
        for parts, n in product.factors:
            finite = [part.finite() for part in parts if isinstance(part, laws.Atoms)]
            laws.require("factors", len(finite) == len(parts), "a density is not a sum of atoms")
            of_one = [pair for pairs in finite for pair in pairs]
            # ``math.comb`` of large numbers is slow, and ``_multinomial`` needs an atom.
            is_small = n == 1 or 0 < len(of_one) * n < laws.LIMITS.atoms**2
            count = math.comb(n + len(of_one) - 1, n) if is_small else math.inf
            laws.require("factors", len(self.atoms) * count <= laws.LIMITS.atoms, "too many atoms to add up")
            power = of_one if n == 1 else list(_multinomial(of_one, n))
            self.atoms = [(p * p_n, q * q_n) for p, q in self.atoms for p_n, q_n in power]

    def delta(self, x: float) -> arb:
        slope = arb(x).exp()
        return sum(((q - slope * p).max(arb(0)) for p, q in self.atoms), self.constant)


def _multinomial(atoms: list[laws.Pair], n: int) -> Iterator[laws.Pair]:
    """Yield the atoms of the n-th power: n!/(k_1! ... k_m!) p_1^k_1 ... p_m^k_m, and the same of Q.

    One atom for each k_1 + ... + k_m = n: of k_1 = k, and of the (n - k)-th power of the other atoms.
    """
    (p, q), others = atoms[0], atoms[1:]
    if not others:
        yield p**n, q**n
        return
    for k in range(n + 1):
        p_k, q_k = math.comb(n, k) * p**k, math.comb(n, k) * q**k
        for p_others, q_others in _multinomial(others, n - k):
            yield p_k * p_others, q_k * q_others


class Contour:
    """A contour Re z = ``c`` for psi(x) and its neighbours, in the middle strip or right of 1.

    ``step`` is the spacing of its frequencies, ``values`` are M(c + ik step) at them, k = 0, 1, ..., and
    ``tail_ratio`` bounds |M/M(c)| past the last. ``left`` and ``right`` are tilts that bound the aliases on
    either side. ``spread`` is about the standard deviation of L under the integrand. ``tau`` is 0 unless a
    Gaussian is added; it is then within M, and ``count`` is the number of frequencies.
    """

    log_error = -36.0  # of each sum of ``bound``, relative to psi
    # Tilts c - 1, or c/(1 - c) in the middle strip, are 2^(k/8) for integers k, at least at -350.
    per_doubling, last = 8, 350

    def __init__(self, product: Product, x: float, *, middle: bool, count: int) -> None:
        self.product, self.x, self.middle, self.tau = product, x, middle, 0.0
        self.c, self.spread, period, self.left, self.right, log_error = self._choose_tilt()
        self.step = float((2 * arb.pi() / period).mid())
        # ``rest`` of ``bound`` over psi: tail_ratio c |c - 1| spread/y, and the last frequency y > 1/spread.
        goal = log_error - max(0.0, math.log(self.c * abs(self.c - 1) * self.spread**2))
        frequencies, log_ratio = 64, product.log_decay(self.c, self.step * 63)
        while not log_ratio < goal and 2 * frequencies <= max(2**13, 2 * count):
            frequencies *= 2
            log_ratio = product.log_decay(self.c, self.step * (frequencies - 1))
        if not log_ratio < goal:  # M does not fall: the Gaussian does, to e^log_error at the last frequency
            frequencies = count
            self.tau = math.sqrt(-2 * log_error) / self.step / (count - 1)
            log_ratio = -((arb(self.tau) * self.step * (count - 1)) ** 2) / 2
        self.tail_ratio = log_ratio.exp()
        self.values = product.values(self.c, self.step, frequencies, arb(self.tau), log_error)

    def _tilt_at(self, k: int) -> float:
        """Return tilt number k of the strip: a few hundred serve all x, so that each is computed once."""
        t = k * math.log(2) / self.per_doubling
        return 1 / (1 + math.exp(-t)) if self.middle else 1 + math.exp(t)

    def _derivatives(self, c: float) -> tuple[float, float]:
        """Return about the first and second derivative of K(c) - (c - 1) x - log |c (c - 1)|."""
        tilt = self.product.tilt(c)
        return tilt.mean - self.x - 1 / c - 1 / (c - 1), tilt.variance + 1 / c**2 + 1 / (c - 1) ** 2

    def _choose_tilt(self) -> tuple[float, float, float, float, float, float]:
        """Return c, spread, period A, the tilts left and right, and the log of the error relative to M(c).

        Of the tilts from about the saddle point down it is the one whose contour needs the fewest nodes. The
        saddle point is where K(c) - (c - 1) x - log |c (c - 1)| is least. K may rise steeply past it, and
        aliases there take a long period. A lower tilt has a larger integrand, e^cancelled times psi: relative
        to that errors must be smaller by as much.
        """

        def rises(k: int) -> bool:
            try:
                return self._derivatives(self._tilt_at(k))[0] > 0
            except VerificationError:  # a tilt too large for a quadrature
                return True

        saddle, high = -self.last, self.last if self.middle else 0
        while not self.middle and high < 2 * self.last and not rises(high):
            saddle, high = high, high + self.per_doubling
        while high - saddle > 1:  # the least value lies between the tilts of these numbers
            k = (saddle + high) // 2
            saddle, high = (saddle, k) if rises(k) else (k, high)
        log_psi, least_cost, chosen = arb.pos_inf(), math.inf, None
        lowest = saddle - (1 if self.middle else 2 * self.per_doubling + 1)
        for k in range(saddle, lowest, -self.per_doubling // 4):
            c = self._tilt_at(k)
            spread = math.sqrt(self._derivatives(c)[1])
            # The log of (1/2 pi) int of a bell as high and wide as the integrand; 2.6 is some sqrt(2 pi).
            log_integral = self.product.tilt(c).log_m - (c - 1) * arb(self.x)
            log_integral -= arb(c * abs(c - 1) * spread * 2.6).log()
            log_psi = log_integral if k == saddle else log_psi
            cancelled = max(float(log_integral - log_psi), 0.0)
            if cancelled > 50:  # which takes 72 bits
                break
            period, left, right = self._find_period(k, spread, log_psi)
            cost = period * math.sqrt(cancelled - self.log_error) / spread  # about the number of nodes
            if cost > 1.3 * least_cost:  # it falls and then rises, not always smoothly
                break
            if cost < least_cost:
                least_cost, chosen = cost, (c, spread, period, left, right, self.log_error - cancelled)
        if chosen is None:
            raise VerificationError("claim: no tilt has a contour of finite length", "claim")
        return chosen

    def _find_period(self, k: int, spread: float, log_psi: arb) -> tuple[float, float, float]:
        """Return a period A with aliases negligible to psi, about e^log_psi, and the tilts that bound them.

        c is the tilt of number k. The first alias on one side of it is at most Chernoff's bound at a tilt c'
        there times e^(-|c' - c| A). ``bound`` adds the aliases whatever A is.
        """
        contour_c, distances = self._tilt_at(k), (1, 2, 3, 4, 6, 8, 12, 16, 22, 32, 46, 64)
        below, above = ([self._tilt_at(k + sign * n) for n in distances] for sign in (-1, 1))
        sides = [*below, 0.0 if self.middle else 1.0], [*above, 1.0] if self.middle else above
        period, log_bound = 8 * spread, cache(partial(self._chernoff, x=arb(self.x)))

        def least_alias(tilts: list[float]) -> tuple[arb, float]:
            """Return the least log of the tilts' bounds on an alias, and its tilt: logs fall, then rise."""
            best: tuple[arb, float] | None = None
            for c in tilts:
                try:
                    log = log_bound(c) - abs(c - contour_c) * period
                except VerificationError:  # a tilt too large for a quadrature
                    break
                if best and float(log) > float(best[0]):
                    break
                best = log, c
            if best is None:
                raise VerificationError("claim: no tilt bounds the aliases", "claim")
            return best

        for _ in range(200):
            (log_left, left), (log_right, right) = map(least_alias, sides)
            if log_left <= log_psi + self.log_error and log_right <= log_psi + self.log_error:
                break
            period *= 1.15
        return period, left, right

    def _chernoff(self, c: float, x: arb) -> arb:
        """Return ``log_chernoff`` with the Gaussian."""
        return self.product.log_chernoff(c, x) + arb(self.tau) ** 2 * (arb(c) ** 2 - c) / 2

    def bound(self, x: float) -> arb:
        """Enclose psi(x): (step/pi) e^(-(c - 1) x) Re sum_k e^(-ik step x) term_k, and all errors.

        The sum over negative frequencies is the conjugate of that over positive ones.
        """
        loss, step, tilted = arb(x), arb(self.step), (-(arb(self.c) - 1) * arb(x)).exp()
        # Sums of terms times e^(-ik step x), by few multiplications, since each one widens a ball.
        rotation, row = acb(0, -loss * step).exp(), self._terms[0].nrows()
        left, right = (acb_mat(1, row, [rotation ** (k * pace) for k in range(row)]) for pace in (row, 1))
        with_kernel, without = ((left * each * right.transpose())[0, 0].real for each in self._terms)
        scale, last = tilted * step / arb.pi(), step * (len(self.values) - 1)
        # |z (z - 1)| >= y^2, and the sum over k > K of 1/(k step)^2 is less than 1/(K step^2).
        rest = tilted * self.values[0].real * self.tail_ratio / (arb.pi() * last)
        aliases = self._bound_aliases(self.left, loss) + self._bound_aliases(self.right, loss)
        low, high = scale * with_kernel - rest - aliases, scale * with_kernel + rest
        if self.tau:  # past the nodes the integral of e^(-tau^2 y^2/2) is less than itself over tau^2 y
            square = arb(self.tau) ** 2
            blur = square * (square / 8).exp() * (scale * without + rest / square)
            # The Gaussian raises delta, and lowers 1 - delta.
            low, high = (low, high + blur) if self.middle else (low - blur, high)
        most = arb(1) if self.middle else self._chernoff(self.c, loss).exp()
        return low.lower().max(arb(0)).union(high.upper().min(most.upper()))

    @cached_property
    def _terms(self) -> list[acb_mat]:
        """Two square matrices, filled row by row: values times the kernel, and the values; the first halved.

        The frequency 0 is its own conjugate, so that half of it counts.
        """
        sign, values = -1 if self.middle else 1, [self.values[0] / 2, *self.values[1:]]
        points = [acb(arb(self.c), arb(self.step) * k) for k in range(len(values))]
        with_kernel = [value / (z * (z - 1)) * sign for value, z in zip(values, points, strict=True)]
        row = math.isqrt(len(values)) + 1
        padding = [acb(0)] * (row * row - len(values))
        return [acb_mat(row, row, [*each, *padding]) for each in (with_kernel, values)]

    def _bound_aliases(self, c: float, x: arb) -> arb:
        """Bound the sum of the aliases on the side of the tilt c, each at most e^-gap times the last one."""
        gap = abs(arb(c) - arb(self.c)) * 2 * arb.pi() / arb(self.step)
        return (self._chernoff(c, x) - gap).exp() / -(-gap).expm1()
