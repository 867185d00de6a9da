"""A product of laws: M(c + iy) at tilts and frequencies, and delta by a sum over all atoms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from flint import acb, acb_mat, arb

from tradeoff.proofs.certificate import Description
from tradeoff.proofs.verify.laws import Law, gaussian_square, infinite_mass, read_law
from tradeoff.proofs.verify.parts import COARSE, MAX_ATOMS, Atoms, Nodes, Pair, Slab, dot, maximum
from tradeoff.proofs.verify.report import require

_WORK = 2**25  # most phases of one factor, nodes times frequencies: some seconds


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
            if (square := gaussian_square(factor["law"])) is not None:
                self.square += n * square
            else:
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
            weight, loss, error = gather_nodes(parts, arb(c), 0.0, COARSE)
            total = sum(weight, arb(0)).real
            log_m += n * (total + error * arb(0, 1)).log()
            centre = (dot(weight, loss).real / total).mid()
            mean += n * float(centre)
            variance += n * float(dot(weight, [(x - centre) * (x - centre) for x in loss]).real / total)
        self._tilts[c] = Tilt(log_m, mean, variance)
        return self._tilts[c]

    def tail(self, c: float, y: float) -> arb:
        """Bound log |M(c + iy')/M(c)| for all y' >= y."""
        result = -self.square * arb(y) ** 2 / 2
        for parts, n in self.factors:
            bits = 20 + n.bit_length()
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
            require("claim", len(nodes.loss) * count <= _WORK, message)
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
    turn = [(acb(0, step) * x).exp() for x in nodes.loss]
    within = [w * t**k for k in range(row) for w, t in zip(nodes.weight, turn, strict=True)]
    between = [t ** (row * k) for k in range(rows) for t in turn]
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
            count = math.comb(n + len(one) - 1, n) if n == 1 or 0 < len(one) * n < MAX_ATOMS**2 else math.inf
            require("factors", len(self.atoms) * count <= MAX_ATOMS, "too many atoms to add up")
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
