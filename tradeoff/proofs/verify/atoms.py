"""delta without an integral: a sum over all atoms of a product, next to at most one density."""

from __future__ import annotations

import math
from collections.abc import Iterator

from flint import arb, arb_poly

from tradeoff.proofs.verify.laws import Law, bell, binomial, infinite_mass
from tradeoff.proofs.verify.parts import MAX_ATOMS, Atoms, Bell, Comb, Pair, excess
from tradeoff.proofs.verify.product import Product
from tradeoff.proofs.verify.report import require

_MAX_SHIFTS = 2**10  # atoms next to a density, whose closed form is evaluated at each


class AtomSum:
    """delta(x) = Q(l = inf) + sum q_l delta'(x - l) over atoms l of a product, next to a law of delta'."""

    def __init__(self, product: Product) -> None:
        self.atoms, self.rest, self.leak = [(arb(1), arb(1))], arb(0), arb(0)
        laws: list[tuple[Law, int]] = [(bell(product.square.sqrt()), 1)] if product.square > 0 else []
        for parts, n in product.factors:
            if not all(isinstance(part, Atoms | Comb) for part in parts):
                laws.append((parts, n))
                continue
            power = self._power(parts, n)
            require("factors", len(self.atoms) * len(power) <= MAX_ATOMS, "too many atoms to add up")
            self.atoms = [(a * c, b * d) for a, b in self.atoms for c, d in power]
            self.leak = 1 - (1 - self.leak) * (1 - infinite_mass(parts)) ** n
        require("factors", sum(n for _, n in laws) <= 1, "rounds with a density have no closed form")
        self.law = laws[0][0] if laws else ()
        closed = all(
            not isinstance(part, Bell) or (len(part.means) == 2 and not isinstance(part, Comb))
            for part in self.law
        )
        require("factors", closed, "a density of several means has no closed form here")
        require("factors", not self.law or len(self.atoms) <= _MAX_SHIFTS, "too many atoms next to a density")

    def delta(self, x: float) -> arb:
        """Enclose delta(x)."""
        if not self.law:
            return self.leak + excess(self.atoms, arb(x).exp()) + self.rest
        found = self.leak + self.rest
        for a, b in self.atoms:

            def change(p: arb, q: arb, a: arb = a, b: arb = b) -> Pair:
                return a * p, b * q

            found += sum((part.changed(change).excess(arb(x)) for part in self.law), arb(0))
        return found

    def describe(self) -> str:
        """Return the method of proof in a sentence."""
        return (
            f"sum over {len(self.atoms)} atoms"
            if len(self.atoms) > 1 or not self.law
            else "closed form of one law"
        )

    def _power(self, parts: Law, n: int) -> list[Pair]:
        """Return all finite atoms of n rounds; ``rest`` bounds the mass of the others."""
        each = [part.listed() for part in parts if isinstance(part, Atoms | Comb)]
        atoms, rest = [pair for listed, _ in each for pair in listed], sum((left for _, left in each), arb(0))
        self.rest += arb(0).union(n * rest * (1 + rest) ** n)
        plain = all(sum(not w.is_zero() for w in side) == 1 for part in parts for side in (part.p, part.q))
        if n == 1:
            return atoms
        if plain and len(parts) == 1 and isinstance(parts[0], Comb):  # losses are multiples of one
            require("factors", len(atoms) * n <= MAX_ATOMS, "too many atoms to add up")
            powers = [arb_poly([pair[k] for pair in atoms]) ** n for k in (0, 1)]
            return list(zip(*(power.coeffs() for power in powers), strict=True))
        count = (
            math.comb(n + len(atoms) - 1, len(atoms) - 1) if 0 < len(atoms) * n < MAX_ATOMS**2 else math.inf
        )
        require("factors", count <= MAX_ATOMS, f"{n} rounds of {len(atoms)} atoms are too many to add up")
        return list(_multinomial(atoms, n))


def _multinomial(atoms: list[Pair], n: int) -> Iterator[Pair]:
    """Yield (n; k_1 ... k_m) p_1^k_1 ... p_m^k_m, and the same of Q, over all ways to share n."""
    if len(atoms) <= 2:
        sides = zip(*atoms, strict=True)
        yield from (
            [(p**n, q**n) for p, q in atoms]
            if len(atoms) == 1
            else zip(*(binomial(side, n) for side in sides), strict=True)
        )
        return
    (p, q), others = atoms[0], atoms[1:]
    for k in range(n + 1):
        a, b = math.comb(n, k) * p**k, math.comb(n, k) * q**k
        for c, d in _multinomial(others, n - k):
            yield a * c, b * d
