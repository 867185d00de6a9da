"""Random descriptions of curves and points, the ends of the floats as likely as the middle."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import ctx

from tests.truth.atoms import (
    Atomic,
    DiscreteGaussian,
    DiscreteLaplace,
    Masses,
    PureDP,
    TooMany,
    TotalVariation,
)
from tests.truth.balls import PRECISIONS
from tests.truth.continuous import Gaussian, Gumbel, Laplace, Logistic
from tests.truth.line import Histograms, Normals, Powers, Restated
from tests.truth.mixtures import NormalMixtures
from tests.truth.operators import (
    FixedSize,
    Group,
    Maximum,
    Minimum,
    Mixture,
    Product,
    ReversedPLD,
    Subsampled,
)
from tests.truth.polygons import Hull, Polygon, of_weights
from tests.truth.spec import Spec

LOSSES = (
    *(1e-300, 1e-170, 1e-100, 1e-16, 1e-8, 5.0, 20.0, 37.0, 37.7, 50.0, 300.0, 700.0, 745.0, 2000.0),
    *(1e8, 1e100, 1e300),
)
RATES = (1e-300, 1e-100, 1e-16, 1e-9, 0.5, 1 - 1e-9, 1 - 2.0**-53, 1.0)
MASSES = (0.0, 1e-300, 1e-17, 1e-9, 0.3, 0.9, 1 - 1e-9, 1 - 2.0**-53, 1.0)
COUNTS = (10**4, 2**31, 2**53, 2**60, 2**63, 10**21)
POINTS = (0.0, 5e-324, 1e-300, 1e-17, 0.5, 1 - 1e-12, 1 - 2.0**-53, 1.0)
EPSILONS = (-math.inf, -745.0, -40.0, -1e-9, -0.0, 0.0, 5e-324, 1e-9, 40.0, 745.0, 1e300, math.inf)

EXTREME = 0.12
"""Share of parameters and points that come from the lists above."""


@dataclass
class Drawer:
    """Draws; everything follows from the seed."""

    random: random.Random

    def log_uniform(self, low: float, high: float) -> float:
        return math.exp(self.random.uniform(math.log(low), math.log(high)))

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def _of(self, extremes: tuple[float, ...], usual: float) -> float:
        return self.random.choice(extremes) if self.chance(EXTREME) else usual

    def loss(self) -> float:
        return self._of(LOSSES, self.log_uniform(1e-3, 8.0))

    def rate(self) -> float:
        small = self.log_uniform(1e-6, 0.99)
        return self._of(RATES, 1 - small if self.chance(0.25) else small)

    def mass(self) -> float:
        return self._of(MASSES, self.log_uniform(1e-12, 0.9))

    def count(self) -> int:
        if self.chance(0.04):
            return self.random.choice(COUNTS)
        return self.random.randint(1, 5) if self.chance(0.7) else round(self.log_uniform(6, 400))

    def polygon(self) -> Polygon:
        """Draw integer weights of at most four atoms, with masses at the infinities now and then.

        Half of them nearly flat.
        """
        size, top = self.random.randint(1, 4), self.random.choice([9, 30, 10**8])
        weights = [(self.random.randint(1, top), self.random.randint(1, top)) for _ in range(size)]
        if self.chance(0.2):  # losses close to 0
            weights = [(10**9 + p, 10**9 + q) for p, q in weights]
        plus, minus = ((self.random.randint(1, top) if self.chance(0.25) else 0) for _ in range(2))
        across, down = zip(*of_weights(weights, plus, minus), strict=True)
        if self.chance(0.5):
            return Polygon(across, down)
        return Polygon(tuple(map(float, across)), tuple(map(float, down)))

    def pair(self) -> Masses:
        """Draw masses of at most six outcomes, or of two, one as small as it may be; floats may miss 1."""
        if self.chance(0.2):
            p, q = self.mass(), self.mass()
            return Masses((p, 1 - p), (q, 1 - q))
        size, top = self.random.randint(1, 5), self.random.choice([3, 30, 10**8])
        sides = [[self.random.randint(0, top) for _ in range(size)] + [1] for _ in range(2)]
        for side in sides:
            self.random.shuffle(side)
        shares = [[Fraction(w, sum(side)) for w in side] for side in sides]
        return Masses(*map(self.numbers, shares))

    def numbers(self, fractions: list[Fraction]) -> tuple[Fraction, ...] | tuple[float, ...]:
        """Return them as they are, or rounded."""
        return tuple(fractions) if self.chance(0.5) else tuple(map(float, fractions))

    def normal_mixtures(self) -> NormalMixtures:
        """Draw two mixtures of at most four normal laws: any, ordered, or one with shifts one way."""
        step = Fraction(1, 4) if self.chance(0.5) else 0.3
        p, q = (self.random.sample(range(-6, 7), self.random.randint(1, 4)) for _ in range(2))
        shape = self.random.choices(["any", "ordered", "shifts"], weights=[1, 4, 4])[0]  # "any" is slow
        if shape == "ordered":
            p, q = [min(k, 0) for k in p], [max(k, 0) for k in q]
        if shape == "shifts":
            p, q = [0], [0, *map(abs, q)]
        sides = []
        for means in map(sorted, map(set, (p, q))):
            weights = [self.random.choice([1, self.random.randint(1, 10**6)]) for _ in means]
            shares = self.numbers([Fraction(w, sum(weights)) for w in weights])
            sides.append(tuple((k * step, w) for k, w in zip(means, shares, strict=True)))
        if self.chance(0.3):
            sides.reverse()
        return NormalMixtures(*sides, self._of((1e-3, 0.02, 1e3, 1e9), self.log_uniform(0.2, 20.0)))

    def shift(self) -> Gumbel | Logistic:
        """Draw a shift of a log-concave law."""
        theta = self._of((1e-290, 1e-100, 1e-16, 37.7, 300.0, 499.0), self.log_uniform(1e-3, 8.0))
        scale = self.random.choice([1.0, 1.0, 0.25, 3.0, self.log_uniform(0.1, 10.0)])
        return self.random.choice([Gumbel, Logistic])(theta * scale, scale)

    def hull(self) -> Hull:
        """Draw points, most of them better than guessing, some of them on an axis."""
        n = self.random.randint(1, 5)
        alpha, beta = ([Fraction(self.random.randint(0, 29), 30) for _ in range(n)] for _ in range(2))
        beta = [b * (1 - a) if self.chance(0.8) else b for a, b in zip(alpha, beta, strict=True)]
        return Hull(self.numbers(alpha), self.numbers(beta))

    def family(self) -> Spec:
        """Draw a description without operators."""
        if self.chance(0.12):
            return self.assumed()
        kinds: list[Callable[[], Spec]] = [
            *(lambda kind=kind: kind(self.loss()) for kind in (Gaussian, Laplace, PureDP)),
            lambda: TotalVariation(self.mass()),
            lambda: DiscreteLaplace(1 / self.loss(), self.random.randint(1, 5)),
            lambda: DiscreteGaussian(
                self._of((1e-300, 1e-160, 0.05, 0.3, 37.0), self.log_uniform(0.3, 12.0)),
                self.random.randint(1, 3),
            ),
            lambda: Product(((PureDP(self.loss()), 1), (TotalVariation(self.mass()), 1))),
            self.polygon,
        ]
        many = (self.pair, self.normal_mixtures, self.shift, self.hull)
        return self.random.choices([*kinds, *many], weights=[4] * 8 + [5] * 4)[0]()

    def assumed(self) -> Spec:
        """Draw a pair on the line, or a curve that is described to the library as by a user."""
        size, scale = self.log_uniform(1e-3, 20.0), self.other_scale()
        power = Fraction(self.random.choice([0.5, 1.5, 2.0, 5.0, scale]))
        known = (Gaussian(size), Laplace(size))
        way = self.random.choice(["scipy", "densities", "densities and breaks"])
        return self.random.choices(
            [
                lambda: Normals(self.random.choice([0.0, 1.0, self.log_uniform(1e-2, 10.0)]), scale),
                lambda: Powers(power, "beta", self.random.choice([0.0, 0.0, 1.0, 1e3, 1e6])),
                lambda: Powers(1 / Fraction(scale), "expon"),
                self.histograms,
                lambda: Restated(
                    self.random.choice((*known, PureDP(size), TotalVariation(self.mass()))), "formula"
                ),
                lambda: Restated(self.random.choice((*known, Logistic(size, 1.0))), way),
            ],
            weights=[1, 1, 1, 1, 1, 2],
        )[0]()

    def other_scale(self) -> float:
        """Draw a positive number that is not 1."""
        far = self.log_uniform(1.05, 20.0)
        return self.random.choice([0.5, 2.0, 0.99, 1.01, far, 1 / far])

    def histograms(self) -> Histograms:
        """Draw counts in at most five bins, some of them narrow."""
        size = self.random.randint(1, 5)
        narrow = (1.0, 0.3, 1e-6, 1e-12)
        widths = [self.random.choice((*narrow, self.log_uniform(1e-9, 10.0))) for _ in range(size)]
        edges = tuple(itertools.accumulate(widths, initial=self.random.choice([0.0, -1.0, 0.1])))
        p, q = ([self.random.randint(0, 9) for _ in widths] for _ in range(2))
        p[self.random.randrange(size)], q[self.random.randrange(size)] = 5, 7
        return Histograms(tuple(p), tuple(q), edges)

    def symmetric(self) -> Spec:
        """Draw a symmetric description."""
        simple = [kind(self.loss()) for kind in (Gaussian, Laplace, PureDP)]
        simple += [TotalVariation(self.mass()), Logistic(self.log_uniform(0.01, 8))]
        simple += [DiscreteLaplace(1 / self.loss(), self.random.randint(1, 4))]
        if self.chance(0.85):  # the hull of a product is slow
            return self.random.choice(simple)
        return Product(tuple((self.random.choice(simple), self.random.randint(1, 3)) for _ in range(2)))

    def description(self) -> Spec:
        """Draw a description; deep ones seldom, as each layer over a product costs whole curves of what is
        below."""
        return self.spec(self.random.choices([0, 1, 2, 3], weights=[30, 52, 15, 3])[0])

    def spec(self, depth: int) -> Spec:
        """Draw a family under at most ``depth`` operators."""
        if depth == 0 or self.chance(0.15):
            return self.family()
        kinds = {
            lambda: self.sampled(depth): 30,
            lambda: ReversedPLD(self.spec(depth - 1)): 20,
            lambda: self.product(depth): 25,
            lambda: FixedSize(self.symmetric(), self.rate()): 12,
            lambda: self.of_two(self.spec(depth - 1), self.family()): 17,
        }
        return self.random.choices(list(kinds), weights=list(kinds.values()))[0]()

    def sampled(self, depth: int) -> Spec:
        """Draw a sample, seldom of samples: in one order, and in turn."""
        spec: Spec = Subsampled(self.spec(depth - 1), self.rate())
        for _ in range(self.random.choice([0] * 40 + [1, 3, 6])):
            spec = Subsampled(ReversedPLD(spec) if self.chance(0.2) else spec, self.rate())
        return spec

    def product(self, depth: int) -> Spec:
        """Draw a product of at most three factors."""
        size = self.random.choice([1, 1, 2, 2, 3])
        return Product(tuple((self.spec(depth - 1), self.count()) for _ in range(size)))

    def of_two(self, first: Spec, second: Spec) -> Spec:
        """Draw a mixture, a minimum, a maximum, or a group of the second."""
        w = self.random.choice([0.25, 0.5, 2.0**-20, 2.0**-300])
        closed = isinstance(second, Gaussian | Laplace | PureDP | TotalVariation)
        return self.random.choices(
            [
                lambda: Mixture(((w, first), (1 - w, second))) if first != second else first,
                lambda: Minimum((first, second)),
                lambda: Maximum((first, second)),
                lambda: Group(second if closed else PureDP(self.loss()), self.random.randint(2, 4)),
            ],
            weights=[8, 3, 3, 3],
        )[0]()

    def near(self, x: float) -> float:
        """Return a float within some units of ``x``."""
        for _ in range(self.random.choice([0, 0, 1, 2, 5])):
            x = math.nextafter(x, self.random.choice([-math.inf, math.inf]))
        return x

    def kinks(self, spec: Spec) -> tuple[list[float], list[float]]:
        """Return alphas of vertices and losses of atoms, where the description has atoms."""
        try:
            law = spec.law if isinstance(spec, Atomic) else None
        except (TooMany, ArithmeticError, ValueError):
            return [], []
        if not law:
            return [], []
        k = self.random.randrange(len(law.sums) - 1)
        with ctx.workprec(PRECISIONS[0]):
            p, q = law.pairs[k]
            return [float(law.sums[k + 1][0].mid())], [float((q / p).log().mid())]

    def alpha(self, kinks: list[float]) -> float:
        small = self.log_uniform(1e-15, 0.5)
        usual = 1 - small if self.chance(0.3) else small
        if kinks and self.chance(0.4):
            usual = self.near(kinks[0])
        return min(max(self._of(POINTS, usual), 0.0), 1.0)

    def epsilon(self, losses: list[float]) -> float:
        usual = (
            self.random.uniform(-4, 8)
            if self.chance(0.6)
            else self.random.choice([-1, 1]) * self.log_uniform(1e-6, 100)
        )
        if losses and math.isfinite(losses[0]) and self.chance(0.3):
            usual = self.near(losses[0])
        return self._of(EPSILONS, usual)

    def delta(self, lost: float) -> float:
        usual = self.log_uniform(1e-9, 0.9) if self.chance(0.7) else self.log_uniform(1e-300, 1e-9)
        if lost > 0 and self.chance(0.3):
            usual = self.near(lost)
        return min(max(self._of(POINTS, usual), 0.0), 1.0)
