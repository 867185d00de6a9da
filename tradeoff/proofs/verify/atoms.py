"""delta by a sum over all atoms of a product."""

from __future__ import annotations

import math
from collections.abc import Iterator

from flint import arb

from tradeoff.proofs.verify.parts import MAX_ATOMS, Atoms, Pair
from tradeoff.proofs.verify.product import Product
from tradeoff.proofs.verify.report import require


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
