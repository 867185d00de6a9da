"""Random products over all families: every engine's enclosure against every other one's, and against mpmath where that is cheap.

    python -m tests.fuzz --seconds 60 --seed 1

Prints each product that breaks a promise as an expression that makes it again; ends with counts, and fails if there were any.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import mpmath as mp
import numpy as np

from tests.golden import oracle
from tradeoff.engines.atomic import AtomicLaw, BinomialLaw, DiscreteGaussianLaw, binomial_law, discrete_gaussian_law
from tradeoff.engines.composition import Composition, Engine, Pair
from tradeoff.engines.density import GaussianLaw, LaplaceLaw
from tradeoff.engines.law import LossLaw, Mixed, Reversed, Thinned
from tradeoff.engines.saddle import Cumulant
from tradeoff.errors import TradeOffError
from tradeoff.numerics.rounding import Array

QUESTIONS = ("delta", "epsilon", "beta")
SLOW = 10.0
"""Seconds of CPU after which an answer without a tolerance counts as a hang."""

MOST_ATOMS = 3000
MOST_ROUNDS = 12

Truths = dict[str, Callable[[float], mp.mpf]]


@dataclass
class Product:
    """Laws with multiplicities, and how to write them down."""

    laws: list[LossLaw]
    counts: list[int]

    def __str__(self) -> str:
        return f"Composition([{', '.join(map(written, self.laws))}], {self.counts})"


@dataclass
class Drawer:
    """Random laws; extremes are as likely as the middle."""

    random: np.random.Generator

    def log_uniform(self, low: float, high: float) -> float:
        return float(np.exp(self.random.uniform(math.log(low), math.log(high))))

    def rate(self) -> float:
        near_one = self.random.random() < 0.25
        return 1 - self.log_uniform(1e-9, 0.5) if near_one else self.log_uniform(1e-8, 0.999)

    def atomic(self) -> LossLaw:
        size = int(self.random.integers(1, 6))
        loss = np.sort(self.random.uniform(-3, 3, size))
        weight = np.exp(self.random.uniform(-20, 0, size))
        p_minus = float(self.random.choice([0.0, 0.0, 1e-9, 0.1]))
        log_p = np.log(weight / np.sum(weight)) + math.log1p(-p_minus) - 1e-12
        loss -= max(float(np.log(np.sum(np.exp(loss + log_p)))), 0.0) + float(self.random.choice([1e-12, 1e-6, 0.3]))
        with mp.workdps(60):
            p = [mp.exp(mp.mpf(float(v))) for v in log_p]
            q = [mass * mp.exp(mp.mpf(float(x))) for mass, x in zip(p, loss, strict=True)]
            return AtomicLaw(loss, log_p, float(1 - mp.fsum(p)), float(1 - mp.fsum(q)))

    def simple(self) -> LossLaw:
        kind = int(self.random.integers(0, 5))
        if kind == 0:
            return GaussianLaw(self.log_uniform(1e-3, 10.0))
        if kind == 1:
            return LaplaceLaw(self.log_uniform(1e-3, 10.0))
        if kind == 2:
            return binomial_law(self.log_uniform(1e-3, 6.0), int(self.random.integers(1, 30)))
        if kind == 3:
            return discrete_gaussian_law(self.log_uniform(0.3, 8.0), int(self.random.integers(1, 4)))
        return self.atomic()

    def law(self) -> LossLaw:
        found = self.simple()
        for _ in range(int(self.random.integers(0, 3))):
            choice = self.random.random()
            if choice < 0.6:
                found = Thinned(found, self.rate())
            elif choice < 0.8:
                found = Reversed(found)
            else:
                weight = float(self.random.choice([0.25, 0.5, 2.0**-20]))
                found = Mixed([(weight, found), (1 - weight, self.simple())])
        return found

    def count(self) -> int:
        few = self.random.random() < 0.6
        return int(self.random.integers(1, 6)) if few else int(self.log_uniform(6, 3000))

    def product(self) -> Product:
        style = self.random.random()
        if style < 0.1:
            return Product([GaussianLaw(self.log_uniform(1e-3, 10.0)) for _ in range(2)], [self.count(), self.count()])
        if style < 0.2:
            return Product([LaplaceLaw(self.log_uniform(1e-2, 5.0))], [int(self.random.integers(1, MOST_ROUNDS + 1))])
        size = int(self.random.integers(1, 4))
        return Product([self.law() for _ in range(size)], [self.count() for _ in range(size)])

    def questions(self, product: Product) -> dict[str, Array]:
        """Return two of each: losses where a tilt of the sum lies, levels over many magnitudes."""
        cumulant = Cumulant([(law.sketch(), n) for law, n in zip(product.laws, product.counts, strict=True)])
        tilts = [self.random.uniform(-1, 2), 1 + self.log_uniform(1e-2, 20.0)]
        alpha = self.log_uniform(1e-12, 0.5)
        return {
            "delta": np.clip([cumulant(t)[1] for t in tilts], -300.0, 500.0),
            "epsilon": np.array([self.log_uniform(1e-100, 1e-3), self.log_uniform(1e-6, 0.9)]),
            "beta": np.array([alpha, 1 - self.log_uniform(1e-12, 0.5)]),
        }


def written(law: LossLaw) -> str:  # noqa: PLR0911 - one return a law
    """Return an expression for a law."""
    match law:
        case GaussianLaw(mu):
            return f"GaussianLaw({mu!r})"
        case LaplaceLaw(epsilon):
            return f"LaplaceLaw({epsilon!r})"
        case Thinned(base, p):
            return f"Thinned({written(base)}, {p!r})"
        case Reversed(base):
            return f"Reversed({written(base)})"
        case Mixed(parts):
            return f"Mixed([{', '.join(f'({w!r}, {written(part)})' for w, part in parts)}])"
        case BinomialLaw():
            return f"binomial_law({law.epsilon!r}, {law.n})"
        case DiscreteGaussianLaw():
            return f"discrete_gaussian_law({law.sigma!r}, {law.shift})"
        case AtomicLaw():
            return f"AtomicLaw(np.array({law.loss.tolist()}), np.array({law.log_p.tolist()}), {law.p_minus!r}, {law.q_plus!r})"
    return repr(law)


def points(law: LossLaw) -> tuple[oracle.Atoms, mp.mpf] | None:  # noqa: PLR0911 - one return a law
    """Return the atoms of a law and Q(L = inf) in 90 digits; None where it has a density."""
    match law:
        case BinomialLaw():
            return oracle.pure_dp_power(law.epsilon, law.n), mp.mpf(0)
        case DiscreteGaussianLaw():
            return oracle.discrete_gaussian(law.sigma, law.shift), mp.mpf(0)
        case AtomicLaw():
            pairs = [(mp.mpf(float(x)), mp.exp(mp.mpf(float(v)))) for x, v in zip(law.loss, law.log_p, strict=True)]
            return pairs, 1 - mp.fsum(p * mp.exp(x) for x, p in pairs)
        case Thinned(base, rate):
            return _thinned(points(base), mp.mpf(rate))
        case Reversed(base):
            inner = points(base)
            return None if inner is None else ([(-x, p * mp.exp(x)) for x, p in inner[0]], _lost(inner[0]))
        case Mixed(parts):
            each = [(mp.mpf(w), points(part)) for w, part in parts]
            known = [(w, inner) for w, inner in each if inner is not None]
            if len(known) < len(each):
                return None
            return [(x, w * p) for w, inner in known for x, p in inner[0]], mp.fsum(w * inner[1] for w, inner in known)
    return None


def _thinned(inner: tuple[oracle.Atoms, mp.mpf] | None, rate: mp.mpf) -> tuple[oracle.Atoms, mp.mpf] | None:
    if inner is None:
        return None
    pairs, q_plus = inner
    lost = [(mp.log1p(-rate), _lost(pairs))] if rate < 1 else []
    return [(mp.log1p(rate * mp.expm1(x)), p) for x, p in pairs] + lost, rate * q_plus


def _lost(pairs: oracle.Atoms) -> mp.mpf:
    """Return the P-mass that the atoms leave out."""
    rest = 1 - mp.fsum(p for _, p in pairs)
    return rest if rest > mp.mpf(10) ** -60 else mp.mpf(0)


def truths(product: Product) -> Truths:
    """Return what mpmath knows cheaply about the product."""
    laws, counts = product.laws, product.counts
    if all(isinstance(law, GaussianLaw) for law in laws):
        mu = mp.sqrt(mp.fsum(n * mp.mpf(law.mu) ** 2 for law, n in zip(laws, counts, strict=True) if isinstance(law, GaussianLaw)))
        return {"delta": lambda e: oracle.gaussian_delta(e, mu), "beta": lambda a: oracle.gaussian_beta(a, mu)}
    if len(laws) == 1 and isinstance(laws[0], LaplaceLaw) and counts[0] <= MOST_ROUNDS:
        epsilon, n = laws[0].epsilon, counts[0]
        return {"delta": lambda e: oracle.laplace_power_delta(e, epsilon, n) if e >= 0 else mp.nan}
    return _enumerated(laws, counts)


def _enumerated(laws: Sequence[LossLaw], counts: Sequence[int]) -> Truths:
    if (
        any(law.continuous for law in laws)
        or math.prod(float(len(law.atoms.loss)) ** min(n, 40) for law, n in zip(laws, counts, strict=True)) > MOST_ATOMS
    ):
        return {}
    with mp.workdps(90):
        known = [points(law) for law in laws]
        atoms = oracle.product_of_atoms([one[0] for one, n in zip(known, counts, strict=True) if one is not None for _ in range(n)])
        kept = mp.fprod((1 - one[1]) ** n for one, n in zip(known, counts, strict=True) if one is not None)
    q_plus = 1 - kept
    return {"delta": lambda e: oracle.delta_of_atoms(atoms, e, q_plus), "beta": lambda a: oracle.beta_of_atoms(atoms, a)}


def engines(composition: Composition) -> Iterator[tuple[str, Engine]]:
    if composition.sums is not None:
        yield "exact", composition.sums
    yield "lattice", composition.tables
    if composition.contour.possible:
        yield "contour", composition.contour
    yield "all", _Planner(composition)


@dataclass
class _Planner:
    """The planner itself, asked as an engine."""

    composition: Composition

    def delta(self, epsilon: Array, tol: float | None) -> Pair:
        return self.composition.delta(epsilon, tol)

    def epsilon(self, delta: Array, tol: float | None) -> Pair:
        return self.composition.epsilon(delta, tol)

    def beta(self, alpha: Array, tol: float | None) -> Pair:
        return self.composition.beta(alpha, tol)


@dataclass
class Fuzz:
    """The run: what was asked, and which promises were broken."""

    drawer: Drawer
    counts: Counter[str] = field(default_factory=Counter)
    broken: int = 0

    def run(self, seconds: float) -> None:
        end = time.process_time() + seconds
        while time.process_time() < end:
            product = self.drawer.product()
            self.counts["products"] += 1
            self.check(product, self.drawer.questions(product))

    def report(self, what: str, product: Product, detail: str) -> None:
        self.broken += 1
        self.counts[f"BROKEN {what}"] += 1
        print(f"{what}: {product}\n    {detail}", flush=True)  # noqa: T201 - a command

    def ask(self, product: Product, name: str, engine: Engine, question: str, at: Array) -> Pair | None:
        start = time.process_time()
        try:
            low, high = getattr(engine, question)(at.copy(), None)
        except TradeOffError:
            self.counts[f"{name} refuses"] += 1
            return None
        except Exception as error:  # noqa: BLE001 - whatever else escapes is what this looks for
            self.report(type(error).__name__, product, f"{name} {question}({at.tolist()}): {error}")
            return None
        if time.process_time() - start > SLOW:
            self.report("slow", product, f"{name} {question}({at.tolist()}) took {time.process_time() - start:.0f} s")
        if np.isnan(low).any() or np.isnan(high).any() or (low > high).any():
            self.report("no interval", product, f"{name} {question}({at.tolist()}): {low.tolist()} {high.tolist()}")
        self.counts[f"{name} answers"] += len(at)
        return low, high

    def check(self, product: Product, asked: dict[str, Array]) -> None:
        composition = Composition(product.laws, product.counts)
        known = truths(product)
        for question, at in asked.items():
            if question == "epsilon":
                at = at[at > 2 * composition.q_plus]  # noqa: PLW2901 - below, nothing finite is promised
            if len(at) == 0:
                continue
            answers = {name: self.ask(product, name, engine, question, at) for name, engine in engines(composition)}
            found = {name: pair for name, pair in answers.items() if pair is not None}
            self.compare(product, question, at, found)
            if question in known:
                self.hold(product, question, at, found, known[question])

    def compare(self, product: Product, question: str, at: Array, found: dict[str, Pair]) -> None:
        """Two intervals that hold the truth have a point in common."""
        for (name, (low, high)), (other, (below, above)) in combinations(found.items(), 2):
            self.counts["pairs"] += len(at)
            for k in np.flatnonzero((low > above) | (below > high)):
                detail = f"{question}({at[k]!r}): {name} [{low[k]!r}, {high[k]!r}], {other} [{below[k]!r}, {above[k]!r}]"
                self.report(f"disjoint {name}/{other}", product, detail)

    def hold(self, product: Product, question: str, at: Array, found: dict[str, Pair], truth: Callable[[float], mp.mpf]) -> None:
        """Every interval holds the number mpmath gives."""
        for k, x in enumerate(at):
            value = min(truth(float(x)), mp.mpf(1)) if question != "epsilon" else truth(float(x))  # drawn masses add to 1 but for rounding
            for name, (low, high) in found.items():
                self.counts["truths"] += 1
                if value < low[k] or value > high[k]:
                    detail = f"{question}({x!r}): {name} [{low[k]!r}, {high[k]!r}] misses {mp.nstr(value, 20)}"
                    self.report(f"missed by {name}", product, detail)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and return 1 if any promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    warnings.simplefilter("error")
    fuzz = Fuzz(Drawer(np.random.default_rng(options.seed)))
    fuzz.run(options.seconds)
    for name, count in sorted(fuzz.counts.items()):
        print(f"{count:8d} {name}")  # noqa: T201 - a command
    return 1 if fuzz.broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
