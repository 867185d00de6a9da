"""Measure what is trusted: the worst error against balls of each function that NumPy, SciPy and C lend.

    python -m tests.truth.trusted --seconds 60 --seed 1

Each row of ``TRUSTED`` names a function, where it is used, what is charged for it and by whom. Arguments are
even, of every size and close to special points, and the worst of them climb. The table in
docs/error-model.md keeps the worst of all runs; fails if more was seen than is charged.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from flint import acb, arb, ctx
from numpy.typing import NDArray
from scipy import fft, special

from tests.truth.balls import cumulative, quantile, refined

UNIT, TINY, HUGE = 2.0**-53, 5e-324, 1.7e308
PAGE = Path(__file__).parents[2] / "docs" / "error-model.md"
HEAD = f"| function | over | units charged | by | worst seen | margin | at |\n{'| --- ' * 7}|\n"
"""Of the table, and where it is in the page."""

KEPT = 40
"""Arguments that climb."""

Arguments = NDArray[np.float64]
"""A row an argument, a column a question."""


@dataclass(frozen=True)
class Trusted:
    """A function, its truth, its arguments, and the error that the code charges."""

    name: str
    computed: Callable[..., Any]
    truth: Callable[..., Any]
    over: Sequence[tuple[float, float]]
    """Range of each argument."""
    units: float | Callable[..., Any]
    """Charged at an argument, in units of 2^-53 of ``of``; a least float is charged everywhere."""
    by: str
    charged: str = ""
    """Units in words, where they are not a number of the value."""
    of: Callable[..., Any] = lambda v, *_: abs(v)
    near: Sequence[float] = ()
    """Special points."""

    def draw(self, random: np.random.Generator, size: int) -> Arguments:
        """Draw arguments: even, of every size, and close to ends and special points."""
        return np.array([self._column(random, size, *ends) for ends in self.over])

    @np.errstate(over="ignore")
    def _column(self, random: np.random.Generator, size: int, low: float, high: float) -> Arguments:
        even = low + random.random(size) * min(high - low, HUGE)
        sizes = random.uniform(math.log(max(low, min(1e-300, high))), math.log(max(-low, high)), size)
        sign = np.where((random.random(size) < 0.5) & (low < 0), -1.0, 1.0)
        centre = random.choice([low, high, *self.near], size)
        step = random.normal(size=size) * 2.0 ** -random.integers(2, 53, size)
        near = centre + np.maximum(abs(centre), 1e-3) * step
        return np.clip(np.choose(random.choice(3, size), [even, sign * np.exp(sizes), near]), low, high)

    @np.errstate(over="ignore")
    def moved(self, x: Arguments, random: np.random.Generator) -> Arguments:
        """Return arguments next to those given, by anything from a unit to a tenth."""
        low, high = np.array(self.over).T[:, :, None]
        step = random.normal(size=x.shape) * 10.0 ** random.uniform(-16, -1, x.shape)
        return np.clip(x * (1 + step), low, high)

    @np.errstate(over="ignore")
    def shares(self, x: Arguments) -> Arguments:
        """Return errors over what is charged, the worse one of an array's and a scalar's answer."""
        columns, together = x.T.tolist(), np.asarray(self.computed(*x)).tolist()
        alone = [np.asarray(self.computed(*column)).item() for column in columns]
        result = zip(columns, zip(together, alone, strict=True), strict=True)
        return np.array([max(self._share(column, each) for each in both) for column, both in result])

    def _share(self, x: Sequence[float], value: Any) -> float:
        with ctx.workprec(200):
            truth = refined(self.truth)(*map(arb, x))
            off = abs((acb if isinstance(truth, acb) else arb)(value) - truth) - TINY
            charge = arb(self.charge(x) * UNIT * self.of(truth, *x))
            return 0.0 if off <= 0 else float((off / charge).upper())  # NaN passes no comparison

    def charge(self, x: Sequence[float]) -> float:
        """Return the units that are charged at one argument."""
        return float(self.units(*x)) if callable(self.units) else self.units

    def climb(self, random: np.random.Generator, seconds: float, start: Arguments) -> tuple[float, Any]:
        """Return the worst share of the charge in some seconds of CPU, and its argument."""
        x = np.hstack([start, self.draw(random, 500)])
        share, stop = self.shares(x), time.process_time() + seconds
        while time.process_time() < stop:
            best = np.argsort(-share)[:KEPT]
            fresh = np.hstack([self.moved(x[:, best], random), self.draw(random, KEPT)])
            x, share = np.hstack([x[:, best], fresh]), np.append(share[best], self.shares(fresh))
        return float(share.max()), x[:, np.argmax(share)].tolist()

    def row(self, share: float, x: Sequence[float]) -> str:
        """Return the row of the table."""
        units, over = self.charge(x), ", ".join(f"{low:.4g} … {high:.4g}" for low, high in self.over)
        return (
            f"| {self.name} | {over} | {self.charged or f'{self.units:g}'} | {self.by} "
            f"| {share * units:.3g} of {units:.4g} | {1 / share:.3g} | `{x!r}` |\n"
        )


def floats(function: Callable[..., float]) -> Callable[..., Any]:
    """Let a function of floats take arrays."""
    return np.vectorize(function, otypes=[float])


def mills(x: arb) -> arb:
    """Enclose Phi(-x)/phi(x)."""
    return (arb.pi() / 2).sqrt() * (x * x / 2).exp() * (x / arb(2).sqrt()).erfc()


def tail_quantile(y: arb) -> arb:
    """Enclose the z with Phi(z) = e^-y."""
    root = arb(2).sqrt()
    return -root * (2 * (-y).exp()).erfcinv() if y > arb(0.5) else root * (-2 * (-y).expm1()).erfcinv()


def spike(log_size: float, at: float, place: float) -> tuple[int, int, int]:
    """Return a size, a place in the vector and one in its half spectrum."""
    size = 2 ** int(log_size)
    return size, int(at * (size - 1)), int(place * (size // 2))


@np.vectorize
def transformed(*drawn: float) -> complex:
    size, j, k = spike(*drawn)
    return complex(fft.rfft(np.arange(size) == j)[k])


@floats
def restored(*drawn: float) -> float:
    size, j, k = spike(*drawn)
    return float(fft.irfft(np.where(np.arange(size // 2 + 1) == k, 1 + 0j, 0), size)[j] * size)


def turn(*drawn: arb) -> acb:
    """Enclose e^(-2 pi i jk/N)."""
    size, j, k = spike(*map(float, drawn))
    angle = arb(-2 * (j * k % size)) / size
    return acb(angle.cos_pi(), angle.sin_pi())


def flipped(*drawn: arb) -> arb:
    """Enclose what one entry of the half spectrum, and its mirror image, restore."""
    size, _, k = spike(*map(float, drawn))
    return turn(*drawn).real * (1 if k in {0, size // 2} else 2)


def one(*_: Any) -> int:
    """Units are of 1."""
    return 1


def beside_one(value: Any, *_: Any) -> Any:
    """Units are of 1 and the value."""
    return 1 + abs(value)


def beside_all(_: Any, *x: float) -> float:
    """Units are of 1 and the arguments."""
    return 1 + max(map(abs, x))


def binomial(log_trials: float, share: float, deviations: float) -> tuple[float, float, float]:
    """Return a + 1, b + 1 and a rate near a/(a + b) of a count a among a + b trials."""
    trials = int(10**log_trials)
    count = int(share * (trials - 1))
    mean = (count + 1) / (trials + 1)
    rate = mean + deviations * math.sqrt(mean * (1 - mean) / trials)
    return count + 1.0, float(trials - count), min(max(rate, 1e-9), 1 - 1e-9)


def binomial_tail(*drawn: arb) -> arb:
    a, b, rate = map(arb, binomial(*map(float, drawn)))
    return (1 - rate).beta_lower(b, a, regularized=1)


def log_sum(*terms: arb) -> arb:
    """Enclose the logarithm of a sum of exponentials."""
    top = max(terms, key=float)
    return top + sum(((term - top).exp() for term in terms), arb(0)).log()


def near_tail(t: float) -> float:
    """Units of Mills' ratio R: where 1 - t R(t) is integrated, 64 and 8 (t + 2)^2 of it."""
    return 8 + 64 / (2 + t * t) if t > 0 else 40 + 4 * t * t


def below(x: float) -> float:
    """Units of Phi."""
    return 16 + 3 * max(-x, 0.0) * (max(-x, 0.0) + 2)


def longer(x: Any) -> Any:
    return np.exp(np.asarray(x, np.longdouble)).astype(float)


POSITIVE, EXPONENTS, PHASES = [(TINY, HUGE)], [(-745.0, 709.7)], [(-1e9, 1e9)]
BOX, SIZES = [(-2.0, 2.0), (-2.0, 2.0)], [(6.0, 20.99), (0.0, 1.0), (0.0, 1.0)]
BOUNDS, NORMAL, QUANTILE = "intervals/functions.py", "pld/special.py", "gdp/cells.py `_QUANTILE_ERROR`"
ELEMENTARY = "intervals/functions.py `function_error`"
PHASE, LOG, FFT = (
    "accounting/contour/line.py `_sums`",
    "pld/law.py `complex_log1p`",
    "pld/units.py `fft_error`",
)
ATOMS = "accounting/exact.py"

# fmt: off
TRUSTED = [
    *(
        Trusted(f"{lender.__name__}.{name}", lend(getattr(lender, name)), getattr(arb, name),
                over, 8, by, near=near)
        for lender, lend, by in ((np, partial, ELEMENTARY), (math, floats, "every call"))
        for name, over, near in (
            ("exp", EXPONENTS, (0.0, -708.4)), ("expm1", EXPONENTS, (0.0,)),
            ("log", POSITIVE, (1.0,)), ("log1p", [(-1 + UNIT, HUGE)], (0.0,)),
        )
        if lender is np or name != "log1p"
    ),
    Trusted("math.log1p", floats(math.log1p), arb.log1p, [(-1 + UNIT, HUGE)], 2,
            "pld/law.py `log_finite_mass`", near=(0.0,)),
    Trusted("numpy.exp, extended", longer, arb.exp, EXPONENTS, 8, f"{ATOMS} `_slacks`"),
    Trusted("numpy.sqrt", np.sqrt, arb.sqrt, POSITIVE, 1, f"{BOUNDS} `sqrt`"),
    Trusted("numpy.sin", np.sin, arb.sin, PHASES, 8, PHASE, "8 of min(1, abs(x))",
            lambda _, x: min(1, abs(x)), (math.pi,)),
    Trusted("numpy.cos", np.cos, arb.cos, PHASES, 8, PHASE, "8 of 1", one, (math.pi / 2,)),
    Trusted("numpy.tan", np.tan, arb.tan, PHASES, 8, "pld/quadrature.py `_phase_rise`", near=(math.pi / 2,)),
    Trusted("numpy.exp, complex", lambda x, y: np.exp(x + 1j * y), lambda x, y: acb(x, y).exp(),
            [(-700.0, 700.0), *PHASES], 16, PHASE),
    Trusted("numpy.log, complex", lambda x, y: np.log(x + 1j * y), lambda x, y: acb(x, y).log(),
            BOX, 6, PHASE, near=(0.0, 1.0, math.sqrt(0.5))),
    Trusted("numpy.abs, complex", lambda x, y: np.abs(x + 1j * y), lambda x, y: (x * x + y * y).sqrt(),
            BOX, 4, LOG),
    Trusted("numpy.arctan2", np.arctan2, arb.atan2, [(-2.0, 2.0), (-1.0, 2.0)], 12, LOG, near=(0.0,)),
    Trusted("numpy.logaddexp(0, x)", lambda x: np.logaddexp(0.0, x), lambda x: x.exp().log1p(),
            [(-700.0, 700.0)], 3, "pld/special.py `log_pmf`"),
    Trusted("numpy.logaddexp", np.logaddexp, log_sum, [(-700.0, 700.0)] * 2, 4,
            "pld/normal_mixtures.py `_crossed`", "4 of 1 and the arguments", beside_all),
    Trusted("numpy.sinh", np.sinh, arb.sinh, [(0.0, 300.0)],
            1e-6 / UNIT, "pld/quadrature.py `variance`", "1e-6"),
    Trusted("numpy.arctanh", np.arctanh, arb.atanh, [(0.0, 0.5)], 16, "pld/shuffled.py `shuffled_law`"),
    Trusted("math.tanh", floats(math.tanh), arb.tanh, [(0.0, 400.0)], 10, "pld/shuffled.py `shuffled_law`"),
    Trusted("ndtr", special.ndtr, cumulative, [(-37.0, 10.0)], below, f"{NORMAL} `tail_above`",
            "16, below 0 also 3 abs(x) (abs(x) + 2)", near=(-22.7, -11.4)),
    Trusted("erfcx as Mills' ratio", lambda t: 1.2533141373155003 * special.erfcx(t * math.sqrt(0.5)), mills,
            [(-37.0, 3e5)], near_tail, f"{NORMAL} `hockey_stick`, `mills`",
            "8 + 64/(2 + t²), below 0 40 + 4 t²", near=(1.0, 5.0, 37.0)),
    Trusted("ndtri", special.ndtri, quantile, [(TINY, 1 - UNIT)], 63, QUANTILE,
            "63 of 1 + abs(z)", beside_one, (0.5, 0.1353, 0.8647)),
    Trusted("ndtri_exp(-y)", lambda y: special.ndtri_exp(-y), tail_quantile, [(1e-300, 1.5e3)],
            63, QUANTILE, "63 of 1 + abs(z)", beside_one),
    Trusted("gammaln", special.gammaln, arb.lgamma, [(0.01, 2.0**20)], 8, f"{ATOMS} `_power`",
            "8 of 1 + abs(value)", beside_one, (1.0, 2.0)),
    Trusted("betaincc", lambda *x: special.betaincc(*np.vectorize(binomial)(*x)), binomial_tail,
            [(0.0, 7.0), (0.0, 1.0), (-8.0, 8.0)], 1e-10 / UNIT, "audits/refutation.py `SLACK`", "1e-10"),
    Trusted("expit", special.expit, lambda x: 1 / (1 + (-x).exp()), [(-700.0, 700.0)],
            5, "pld/special.py `log_pmf`"),
    Trusted("fft.rfft", transformed, turn, SIZES, lambda k, *_: 8 * int(k), FFT, "8 log2 N of the 1-norm",
            one),
    Trusted("fft.irfft", restored, flipped, SIZES, lambda k, *_: 8 * int(k), FFT, "8 log2 N of the 1-norm",
            lambda *_: 2),
]
# fmt: on
"""All that the engine borrows, with the tightest charge of those that hold it to one."""


def recorded() -> dict[str, Arguments]:
    """Return the worst argument of each function on the page, as one column."""
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \|(?:[^|]*\|){5} `\[(.*)\]` \|$", page, re.MULTILINE)
    return {name: np.array([[float(each)] for each in at.split(", ")]) for name, at in rows}


def main() -> int:
    """Climb, keep what is worse than the page has it, and return 1 if any charge is exceeded."""
    parser = argparse.ArgumentParser(prog="python -m tests.truth.trusted", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU time in all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random, known = np.random.default_rng(options.seed), recorded()
    rows, most = "", 0.0
    for each in TRUSTED:
        start = known.get(each.name, each.draw(random, 1))
        share, at = each.climb(random, options.seconds / len(TRUSTED), start)
        rows, most = rows + each.row(share, at), max(most, share)
        print(each.row(share, at), end="", flush=True)  # noqa: T201 - a command
    before, _, after = PAGE.read_text(encoding="utf-8").partition(HEAD)
    PAGE.write_text(before + HEAD + rows + re.sub(r"\A(\|.*\n)*", "", after), encoding="utf-8")
    return int(most > 1)


if __name__ == "__main__":
    raise SystemExit(main())
