"""Compositions of finite and lattice laws as exact sums: integer convolution at 1600 bits, then enumeration.

One group is one law to its n-th power on its own lattice; different groups need not share a lattice. Only
mpmath and integers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, product

import mpmath as mp

from tests.golden import oracle

BITS = 1600


def power(masses: Sequence[mp.mpf], n: int, bits: int = BITS) -> list[mp.mpf]:
    """n-fold convolution of probabilities, each to 2^-bits: polynomials packed into integers (Kronecker)."""
    with mp.workprec(bits + 64):
        base = [int(mp.nint(m * mp.mpf(2) ** bits)) for m in masses]
    result = base
    for bit in bin(n)[3:]:
        result = _times(result, result, bits)
        if bit == "1":
            result = _times(result, base, bits)
    with mp.workprec(bits):
        return [mp.mpf(m) / mp.mpf(2) ** bits for m in result]


def _times(a: Sequence[int], b: Sequence[int], bits: int) -> list[int]:
    width = (2 * bits + 64) // 8  # sums of products stay below 2^(2 bits + 16)

    def pack(x: Sequence[int]) -> int:
        return int.from_bytes(b"".join(m.to_bytes(width, "little") for m in x), "little")

    size = len(a) + len(b) - 1
    raw = (pack(a) * pack(b)).to_bytes(size * width, "little")
    return [int.from_bytes(raw[i * width : (i + 1) * width], "little") >> bits for i in range(size)]


@dataclass
class Group:
    """Atoms (loss, P-mass) in increasing loss, with tails of P and Q."""

    losses: list[mp.mpf]
    p: list[mp.mpf]

    def __post_init__(self) -> None:
        self.q = [p * mp.exp(loss) for loss, p in zip(self.losses, self.p, strict=True)]
        self.p_above = [*list(accumulate(reversed(self.p)))[::-1], mp.mpf(0)]
        self.q_above = [*list(accumulate(reversed(self.q)))[::-1], mp.mpf(0)]

    def delta(self, t: mp.mpf) -> mp.mpf:
        i = bisect_right(self.losses, t)
        return self.q_above[i] - mp.exp(t) * self.p_above[i]


def lattice(first: mp.mpf, step: mp.mpf, masses: Sequence[mp.mpf], n: int) -> Group:
    """n-th power of the law with masses at first + k step."""
    both = [(n * first + k * step, m) for k, m in enumerate(power(masses, n)) if m > 0]
    return Group([loss for loss, _ in both], [m for _, m in both])


def pure_dp(epsilon: mp.mpf, n: int) -> Group:
    return lattice(-epsilon, 2 * epsilon, [1 / (1 + mp.exp(-epsilon)), 1 / (1 + mp.exp(epsilon))], n)


def thinned_pure_dp(epsilon: mp.mpf, rate: mp.mpf, n: int) -> Group:
    low, high = mp.log1p(rate * mp.expm1(-epsilon)), mp.log1p(rate * mp.expm1(epsilon))
    return lattice(low, high - low, [1 / (1 + mp.exp(-epsilon)), 1 / (1 + mp.exp(epsilon))], n)


def response(odds: int, categories: int, n: int) -> Group:
    """k-ary randomised response with e^epsilon = odds."""
    total, step = mp.mpf(odds + categories - 1), mp.log(odds)
    return lattice(-step, step, [odds / total, (categories - 2) / total, 1 / total], n)


def discrete_laplace(scale: mp.mpf, shift: int, n: int) -> Group:
    """x against x + shift: losses (2 j - shift)/scale, j = 0..shift, on the lattice 2/scale."""
    r = mp.exp(-1 / scale)
    masses = [1 / (1 + r), *[(1 - r) / (1 + r) * r**j for j in range(1, shift)], r**shift / (1 + r)]
    return lattice(-shift / scale, 2 / scale, masses, n)


def discrete_gaussian(sigma: mp.mpf, shift: int, n: int) -> Group:
    """Losses shift (2x - shift)/(2 sigma^2); the sum of n is cut at 45 standard deviations of one."""
    reach = int(45 * sigma) + 2
    weights = [mp.exp(-(mp.mpf(x) ** 2) / (2 * sigma**2)) for x in range(-reach, reach + 1)]
    total = mp.fsum(weights)
    step = shift / sigma**2
    return lattice(-(reach + mp.mpf(shift) / 2) * step, step, [w / total for w in weights], n)


def atoms(groups: Sequence[Group], floor: mp.mpf) -> list[tuple[mp.mpf, mp.mpf]]:
    """All products; atoms with P- and Q-mass below ``floor`` are left out."""
    result = [(mp.mpf(0), mp.mpf(1))]
    for group in groups:
        pairs = list(zip(group.losses, group.p, strict=True))
        result = [(a + b, m * w) for (a, m), (b, w) in product(result, pairs)]
        result = [(a, m) for a, m in result if m > floor or m * mp.exp(a) > floor]
    return result


def delta(groups: Sequence[Group], t: mp.mpf, *, mu: mp.mpf | float = 0.0, floor: mp.mpf) -> mp.mpf:
    """delta at t of all groups, and of one Gaussian curve if mu > 0.

    Sum over atoms of Q-mass times delta of the rest.
    """
    if mu:
        return mp.fsum(m * mp.exp(a) * oracle.gaussian_delta(t - a, mu) for a, m in atoms(groups, floor))
    *others, last = sorted(groups, key=lambda g: len(g.p))
    return mp.fsum(m * mp.exp(a) * last.delta(t - a) for a, m in atoms(others, floor))
