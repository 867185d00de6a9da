"""Pairs of laws on the line that are given by SciPy's functions, by densities or by formulas."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from tests.truth.atoms import Masses
from tests.truth.balls import ball, cumulative
from tests.truth.spec import Spec


@dataclass(frozen=True)
class Restated(Spec):
    """The curve of another description, which the library is given only in one ``way``."""

    base: Spec
    way: str

    def stick(self, s: arb) -> arb:
        return self.base.stick(s)

    def curve(self, alpha: arb) -> arb:
        return self.base.curve(alpha)

    def least(self, level: arb) -> arb:
        return self.base.least(level)

    def masses(self) -> tuple[arb, arb]:
        return self.base.masses()

    def losses(self) -> tuple[arb, arb]:
        return self.base.losses()


@dataclass(frozen=True)
class Histograms(Masses):
    """Counts in bins of any width."""

    edges: tuple[float, ...]


@dataclass(frozen=True)
class Normals(Spec):
    """N(0, 1) against N(m, s^2), s != 1: L(x) > log t outside of two points if s > 1, else between them."""

    mean: float
    scale: float

    def stick(self, s: arb) -> arb:
        m, scale = ball(self.mean), ball(self.scale)
        # L(x) - log t = a x^2 + b x + c
        a, b = (1 - scale**-2) / 2, m / scale**2
        c = -(m**2) / (2 * scale**2) - scale.log() - s.log()
        square = b**2 - 4 * a * c
        if square < 0:
            return 1 - s if a > 0 else arb(0)
        low, high = sorted(((-b - square.sqrt()) / (2 * a), (-b + square.sqrt()) / (2 * a)), key=float)
        q, p = (
            cumulative((high - at) / size) - cumulative((low - at) / size)
            for at, size in ((m, scale), (0, 1))
        )
        return 1 - q - s * (1 - p) if a > 0 else q - s * p

    def losses(self) -> tuple[arb, arb]:
        m, scale = ball(self.mean), ball(self.scale)
        turn = m**2 / (2 * (1 - scale**2)) - scale.log()  # where a x^2 + b x is extreme
        return (turn, arb.pos_inf()) if self.scale > 1 else (arb.neg_inf(), turn)


@dataclass(frozen=True)
class Powers(Spec):
    """The uniform law on (0, 1) against that of density a x^(a - 1), given as beta laws or as e^-X."""

    power: Fraction
    way: str
    loc: float = 0.0

    def stick(self, s: arb) -> arb:
        a = ball(self.power)
        x = (s / a) ** (1 / (a - 1))
        if not x < 1:
            x = arb(1) if x >= 1 else arb.nan()
        return (1 - x**a) - s * (1 - x) if a > 1 else x**a - s * x

    def losses(self) -> tuple[arb, arb]:
        top = ball(self.power).log()
        return (arb.neg_inf(), top) if self.power > 1 else (top, arb.pos_inf())
