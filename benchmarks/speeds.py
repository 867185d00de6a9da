"""CPU seconds and widths of whole questions: of one checkout, or of two next to each other.

    python benchmarks/speeds.py OLD NEW > docs/speed.md          # every row, in some 15 minutes
    python benchmarks/speeds.py CHECKOUT --only rare,curves      # sections, or rows by part of their code

Each run of a row is a fork of a process in which other questions have loaded the engines, on one thread; as
the first touch of each page of memory costs a fork some 5 ms, it answers one other question first. Checkouts
alternate, and the least of up to three runs counts, in CPU time, as that disturbs least. The floor
is the time of NumPy's bare exponentials, sines, cosines and tangents of as many numbers as the last checkout
computes (code that uses them cannot be faster), and for arrays of a closed form that of its formula in SciPy.
Next to the list there are plans drawn at random. ``--peers`` reads what ``compare.py --results`` kept.
"""

from __future__ import annotations

import argparse
import compileall
import datetime as dt
import gc
import json
import math
import os
import platform
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent
EXPONENTIALS = ("exp", "sin", "cos", "tan")


class Row(NamedTuple):
    """A question: code, aims for seconds, floors and width, the formula of an array, and the case of a peer.

    Code before ``; `` is not measured.
    """

    code: str
    seconds: float = math.inf
    floors: float = math.inf
    width: float = math.inf
    formula: str = ""
    peer: str = ""


ROWS = r"""
# dpsgd: ε of DP-SGD. An order of the pair that a coarse bound shows to be lower is not computed in full.
eps(sgd(.004, 1.1, 14062), N)           | 1e-5 1e-10 1e-15 1e-30    | .01 s, 15 floors
eps(sgd(.0005, .5, 10**5), N)           | 1e-5 1e-10 1e-15 1e-30    | .01 s, 15 floors
eps(sgd(.5, 10, 100), N)                | 1e-5 1e-10 1e-15 1e-30    | .01 s, 15 floors
eps(sgd(.01, 1, 1000), N)               | 1e-3 1e-10 1e-30 1e-100   | .01 s, 15 floors | FAR N
eps(sgd(.01, 1, N))                     | 10 100 10**3 10**4 10**5 10**6 10**7 10**8 10**9 | .01 s, 15 floors
eps(sgd(.004, 1.1, 14062), np.geomspace(1e-9, .1, N)) | 10 300
eps(example('mixed.toml'), N)           | 1e-5 1e-12 1e-20          |  | MIX4 N
eps(sgd(.01, 1, 1000, 'replace-one', scheme='without-replacement'))
eps(plan({m.TruncatedSubsampledGaussian(1, .01, 140, 10**4): 1000}))
eps(sgd(.01, 1, 1000, 'replace-one'))
eps(sgd(.01, 1, 1000, group_size=4))
plan({m.Gaussian(noise_multiplier=3): 1}).epsilon(1e-5)            |  | .001 s
to.calibrate(lambda s: sgd(.01, s, N), {'epsilon': 1, 'delta': 1e-6}) | 10 1000
to.sweep(lambda n: sgd(.01, 1, n).epsilon(1e-5), {'n': [500 * k for k in range(1, 21)]}) |  | .5 s
grid(np.linspace(.001, .03, 10))        |                           | 2 s
grid(np.geomspace(1e-4, .03, 10))       |                           | 2 s
eps(example('census2020.toml'), 1e-10, tol=1e-8) |                  | 1 s
# rare: Few and rare steps. Lines are planned by saddle points alone, and rare losses damped on them.
eps(sgd(1e-5, 1, N), 1e-8)              | 10 100                    | .2 s, 1e-8 wide
eps(sgd(1e-5, 1, N), 1e-8)              | 10**3 10**4 10**5 10**6 10**7 10**8 10**9
eps(sgd(1e-5, 1, N), 1e-8, tol=1e-8)    | 10 100 1000 10**4 10**5
eps(sgd(1e-5, 1, 10**6), N)             | 1e-5 1e-10
eps(to.GaussianMixtures({0: 1}, {0: 1 - 2e-5, 1: 1e-5, 2: 1e-5}, sigma=1.3)**N, 1e-8) | 10 100 1000
eps(sgd(1e-5, 1, 10**6), N)             | 1e-15 1e-30               | 1 s, 1e-4 wide
eps(sgd(1e-5, 1, 10**6), tol=1e-8)
eps(sgd(1e-5, 1, 10**4), N)             | 1e-3 1e-5 1e-10
eps(sgd(1e-5, 1, 10**4), N)             | 1e-20 1e-30 1e-50 1e-75 1e-100 | 1 s, 1e-4 wide
eps(sgd(.001, 1.5, 100), 1e-8, tol=1e-8) |                          | .2 s
eps(sgd(.001, N, 1000), 2.5e-7)         | 2 3 6 12                  | 1 s, 1e-8 wide
eps(sgd(1 / 1500, .51, 100), 3e-5)      |                           | 1 s, 1e-8 wide
# curves: Whole curves, and μ. All α of a question share their lines; μ is searched in one loop.
sgd(.004, 1.1, 14062).bounds(alphas(N)) | 1 10 100 200 300          | .15 s, 4 floors
sgd(.0005, .5, 10**5).bounds(alphas(N)) | 200                       | .15 s, 4 floors
example('mixed.toml').bounds(alphas(N)) | 200                       | .15 s, 4 floors
sgd(.0019, .6, N).bounds(alphas(200))   | 5 46                      | 1 s, 1e-6 wide
sgd(.0019, .6, 46).bounds.delta(np.linspace(0, 5, 100)) |           | 1 s, 1e-6 wide
(to.Laplace(.1)**100).bounds(alphas(N)) | 1 10 100 200 300          | .15 s, 4 floors, 1e-6 wide
sgd(.004, 1.1, 14062).bounds(alphas(10**4)) |                       | 2 s
example('mixed.toml').lower
sgd(.004, 1.1, 14062).gdp(failure=1e-10) |                          | .05 s, 8 floors
sgd(.0005, .5, 10**5).gdp(failure=1e-10) |                          | .09 s, 8 floors
example('mixed.toml').gdp(failure=1e-10) |                          | .06 s, 8 floors
(to.Laplace(.1)**100).gdp(failure=1e-10) |                          | .28 s, 8 floors
sgd(.001, 1.5, 100).gdp(failure=1e-10)  |                           | .3 s, 8 floors
# laplace: Laplace and discrete noise. The transform of Laplace noise is a closed form.
eps(to.Laplace(N)**10)                  | .1 1                      | .02 s
eps(to.Laplace(.1)**100, N)             | 1e-5 1e-12 1e-20          |  | L100 N
eps(to.Laplace(.1)**100, N)             | 1e-30 1e-50 1e-100
eps(to.Laplace(.1)**N)                  | 10**3 10**4 10**5 10**6 10**7 10**8 10**9
eps(to.Laplace(.1)**100, tol=1e-8)      |                           | .2 s
eps(laplaces(N))                        | 1 3 10 30 300 1000
eps(laplaces(100))                      |                           | 1 s, 1e-8 wide
eps(discrete(N))                        | 1 3 10 30 100 300
eps(plan({m.DiscreteGaussian(2 * (N)**.5): N})) | 10 100 1000 10**4 10**5 10**6
eps(plan({m.DiscreteGaussian(2): 20}), N) | 1e-5 1e-12              |  | DG20 N
eps(plan({m.DiscreteLaplace(10): 20}))  |                           | .18 s
eps(to.PureDP(.01)**10**5, N)           | 1e-5 1e-10 1e-15 1e-30
eps(to.PureDP((N)**-.5)**(N))           | 10 100 1000 10**4 10**5 10**6 10**7 10**8 10**9
eps(to.PureDP(.1)**1000, N)             | 1e-5 1e-12                |  | RR1000 N
# cliffs: Allocation, distinct factors, nesting. One of t steps has an exact law; nested maxima are one.
eps(plan({m.RandomAllocation(1, N): 1})) | 2 10 10**5               | .15 s, 50 floors
eps(plan({m.RandomAllocation(1, int(N)): 1})) | 1e2 1e3 1e4         | .15 s, 50 floors | AN 1e-5
eps(plan({m.RandomAllocation(1, 1000): 10}))
eps(distinct(N))                        | 1 3 10 30 100 300 1000 3000
eps(distinct(50, 20))                   |                           | .066 s, 3 floors
eps(schedule(N))                        | 200 1000                  | .9 s, 3 floors   | KN 1e-5
f = warmed(schedule(1000)); eps(f, 1e-6) |                          | .02 s
eps(distinct(150, 1), 1e-9)             |                           | 1 s, 1e-6 wide
eps(nested(to.Gaussian(1.), N))         | 1 2 3 4                   | 1 s, 30 floors
eps(largest(N))                         | 1 2 3 4 5 6               | 1 s, 30 floors
eps(sgd(.01, 1, N).group(2))            | 100 1000                  | 1 s, 30 floors
eps(to.maximum(steps(.01, 1, 1000), to.Laplace(.1)**100), tol=1e-6) | | 1 s
to.subsample(steps(.01, 1, 100) @ to.Laplace(.1)**10, .1).bounds(.05, tol=1e-6) | | 1 s
eps(to.subsample(steps(.01, 1, 100) @ to.Laplace(.1)**10, .1)**2, tol=1e-6) | | 1 s
# users: Slow or wide in use. Vectors of discrete Gaussians have the law of their greatest profile.
eps(plan({m.DiscreteGaussianVector((10 / .03)**.5, 10, 10): N})) | 7 365 | 1 s, 1e-6 wide
plan({m.DiscreteGaussianVector((10 / .03)**.5, 10, 10): 7}).gdp(failure=1e-10) | | 1 s
eps(plan({m.Subsampled(m.ExponentialMechanism(N), .002): 100}), 2.5e-5) | 3.34 4.57 | 1 s, 1e-6 wide
p = binom.pmf(range(102), 101, .7); eps(plan({m.MixtureOfGaussians(50, range(102), p): 1})) | | 1 s, 1e-6 wide
eps(falling(N, .99))                    | 120 200                   | 1 s, 1e-6 wide
eps(sgd(.02, N, 1500))                  | .19 .2 .22                | 1 s, 1e-6 wide
u = np.linspace(0, 1, 300_001); to.PiecewiseLinear.hull(u, (1 - u)**2) | | 1 s
F, c = to.filters.PureDPFilter(10), to.PureDP(1e-4); [F.spend(c) for _ in range(10**4)] | | 1 s
command('compare', written(few))        |                           | 3 s
# arrays: Arrays of closed forms. Long arrays are evaluated in balls of floats.
a = alphas(N); to.Gaussian(1.)(a)       | 1000 10**5                | 10 floors | ndtr(ndtri(1-a)-1)
a = alphas(N); to.Laplace(1.)(a)        | 1000 10**5                | 10 floors | laplace(a)
a = alphas(N); to.PureDP(1.)(a)         | 1000 10**5     | 10 floors | np.maximum(1-np.e*a, (1-a)/np.e)
a = alphas(N); to.subsample(to.Gaussian(1.), .2)(a) | 1000 10**5 | 10 floors | .2*ndtr(ndtri(1-a)-1)+.8*(1-a)
a = alphas(N); to.PiecewiseLinear(*ends)(a) | 1000 10**5            | 10 floors | np.interp(a, *ends)
a = .3; to.Gaussian(1.)(a)              |                           | 20 floors, .001 s | ndtr(ndtri(1-a)-1)
e = np.linspace(0, 5, N); to.Gaussian(1.).delta(e) | 10**4 | 10 floors | ndtr(.5-e)-np.exp(e)*ndtr(-.5-e)
to.Gaussian(1.).epsilon(np.geomspace(1e-9, .1, N)) | 1 1000
# start: A fresh process and the command. Modules are loaded when first used.
run('-c', 'import tradeoff')
run('-c', 'import tradeoff as to;to.Gaussian(1.)(.05)') |          | .3 s
run('-c', 'import tradeoff as to;(to.subsample(to.Gaussian(1.), .01)**1000).epsilon(1e-5)') | | .35 s
run('-c', blas)
os.environ.pop('OPENBLAS_NUM_THREADS'); run('-c', blas)
command('--version')                    |                           | .2 s
command('compose', mixed)               |                           | .8 s
command('compare', mixed)               |                           | 2 s
command('report', mixed, '-o', 'x.html') |                          | 4 s
"""
"""Sections, and rows: code, values of N, aims, and a formula or the case of ``compare.py`` with its level."""

DRAWN = r"""
eps(sgd({q}, {s}, {n}), {d})                                        | .1 s, 1e-6 wide
eps(sgd({r}, {s}, {k}), {d})                                        | .2 s, 1e-6 wide
eps(distinct({k}, {n} // {k} + 1, {q}), {d})                        | 1 s, 1e-6 wide
eps(laplaces({k}, {k}), {d})                                        | 1 s, 1e-6 wide
eps(discrete({k}, {k}), {d})                                        | 1 s, 1e-6 wide
eps(falling({k}, .98), {d})                                         | 1 s, 1e-6 wide
plan({{m.SubsampledGaussian({s}, {q}): {n}, m.Laplace(scale=10): {k}}}).bounds(alphas(200)) | .3 s, 1e-6 wide
sgd({q}, {s}, {n}).gdp(failure=1e-10)                               | .3 s
eps(sgd({q}, {s}, {n}).group(2), {d})                               | 1 s
eps(nested(to.Gaussian(1 / {s}) @ to.Laplace({q}), 2), {d})         | 1 s
eps(plan({{m.RandomAllocation({s}, {n}): 1}}), {d})                 | .15 s, 1e-6 wide
eps(plan({{m.DiscreteGaussianVector(10 * {s}, 4, {k}): {k}}}), {d}) | 1 s, 1e-6 wide
sgd({q}, {s}, {k}).bounds(alphas(200))                              | 1 s, 1e-6 wide
sgd({q}, {s}, {k}).bounds.delta(np.linspace(0, 5, 100))             | 1 s, 1e-6 wide
"""
"""Kinds of questions drawn, and aims: q and r are rates, s is noise, n and k are numbers, d is δ."""

NAMES = "dpsgd,rare,curves,laplace,cliffs,users,arrays,start,drawn"
RANGES = {
    "q": (1e-4, 0.3),
    "r": (1e-6, 1e-3),
    "s": (0.6, 8),
    "d": (1e-10, 1e-4),
    "n": (50, 1e5),
    "k": (4, 120),
}

HELPERS = r"""
import os, subprocess, sys
import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom
m, mixed = to.mechanisms, str(EXAMPLES / "mixed.toml")
def eps(f, d=1e-5, **how): return f.bounds.epsilon(d, **how)
def plan(parts, adjacency="add-remove"): return to.Plan(parts, adjacency).guarantee()
def sgd(q, s, n, adjacency="add-remove", **how):
    return plan({m.SubsampledGaussian(s, q, adjacency=adjacency, **how): n}, adjacency)
def steps(q, s, n): return to.subsample(to.Gaussian(1 / s), q)**n
def distinct(k, n=2, q=.01): return plan({m.SubsampledGaussian(s, q): n for s in np.linspace(.8, 2, k)})
def laplaces(k, n=2): return plan({m.Laplace(scale=b): n for b in np.linspace(10, 20, k)})
def discrete(k, n=2): return plan({m.DiscreteGaussian(s): n for s in np.linspace(5, 20, k)})
def falling(k, by): return plan({m.SubsampledGaussian(1.3 * by**i, .01): 1 for i in range(k)})
def schedule(k):
    return plan({m.SubsampledGaussian(3**s, .02 * .25**s): 2000 // k for s in np.linspace(0, 1, k)})
def example(name): return to.spec.load(EXAMPLES / name).plan.guarantee()
def grid(rates): return [sgd(q, s, 1000).epsilon(1e-5) for s in np.linspace(.7, 2, 10) for q in rates]
def alphas(n): return np.linspace(0, 1, n + 2)[1:-1]
def nested(f, k): return f if k == 0 else to.subsample((g := nested(f, k - 1)) @ g, .5)
def largest(k):
    f = to.Gaussian(.5)
    for _ in range(k): f = to.maximum(f @ to.Laplace(.3), to.Gaussian(1.))
    return f
def warmed(f): f.bounds.epsilon(1e-5); return f
def run(*words): subprocess.run([sys.executable, *words], stdout=-3, stderr=-3, check=True)
def command(*words): run("-m", "tradeoff", *words)
def written(text): open("plan.toml", "w").write(text); return "plan.toml"
def laplace(a):
    return np.where(a < .5 / np.e, 1 - np.e * a, np.where(a < .5, 1 / (4 * np.e * a), (1 - a) / np.e))
ends = [0, .1, .4, 1], [1, .6, .2, 0]
few = "delta = [2.5e-7]\n[[mechanism]]\nkind = 'subsampled-gaussian'\n"
few += "noise_multiplier = 3\nsample_rate = 0.001\ncount = 1000"
blas = "import tradeoff as to, numpy as np; (to.Laplace(1/8)**64)(np.linspace(.001, .999, 100))"
"""
"""Names for the code of rows, which runs in every checkout."""

WARM = """
parts = sgd(.02, 1.3, 17), sgd(1e-4, 1.1, 12), laplaces(2), discrete(2), nested(to.Gaussian(.3), 1)**2
for f in (*parts, largest(1)): eps(f, 1e-4), f.bounds(np.array([.1, .2]))
eps(m.RandomAllocation(2, 3).curve(), 1e-3), sgd(.03, 1.2, 30).gdp(failure=1e-9), sgd(.03, 1.2, 9).group(2)
eps(plan({m.DiscreteGaussianVector(9, 2, 2): 2, m.DiscreteLaplace(9): 2}), 1e-4)
to.calibrate(lambda s: steps(.02, s, 999), {"epsilon": 1, "delta": 1e-4}), to.filters.PureDPFilter(1)
to.sweep(lambda n: float(n), {"n": [1, 2]}), example("mixed.toml")
for f in (to.PureDP(.3), to.Laplace(.3), to.Gaussian(.3)): f(np.array([.1, .2]))
"""
"""Questions that load the engines."""

FIRST = "eps(sgd(.03, 1.4, 777), 1e-6)"
"""Question that each fork answers before its row, with nothing in common with any row."""


def aimed(text: str) -> dict[str, float]:
    """Read aims, as in ``.1 s, 4 floors, 1e-6 wide``."""
    units = {"s": "seconds", "floors": "floors", "wide": "width"}
    pairs = (each.split() for each in text.split(",") if each.strip())
    return {units[unit]: float(number) for number, unit in pairs}


def sections(seed: int) -> dict[str, list[Row]]:
    """Return the rows under each heading; those at the end are drawn."""
    result: dict[str, list[Row]] = {}
    for line in ROWS.strip().splitlines():
        if line.startswith("# "):
            rows = result.setdefault(line[2:], [])
            continue
        code, sizes, aims, other = (*map(str.strip, re.split(r" \|(?= |$)", line)), "", "", "")[:4]
        for n in sizes.split() or [""]:
            case, _, at = other.replace("N", n).partition(" ")
            names = {"peer": f"{case} {float(at):g}"} if other[:1].isupper() else {"formula": other}
            rows.append(Row(code.replace("N", n) if n else code, **aimed(aims), **names))
    rng, rows = np.random.default_rng(seed), []
    for line in DRAWN.strip().splitlines():
        code, aims = line.split(" | ")
        for _ in range(3):
            draws = {k: float(f"{np.exp(rng.uniform(*np.log(ends))):.2g}") for k, ends in RANGES.items()}
            draws |= {name: int(draws[name]) for name in "nk"}
            rows.append(Row(code.strip().format(**draws), **aimed(aims)))
    return {**result, f"drawn: Drawn at random with seed {seed}. Three of each kind, log-uniformly.": rows}


def count(name: str, numbers: Counter[tuple[str, type]]) -> None:
    """Let a function of NumPy count the real and the complex numbers it computes."""
    function = getattr(np, name)

    def counting(x: Any, *args: Any, **kwargs: Any) -> Any:
        numbers[name, complex if np.iscomplexobj(x) else float] += int(np.size(x))
        return function(x, *args, **kwargs)

    setattr(np, name, counting)


def bare(name: str, kind: type) -> float:
    """Return the seconds in which a function of NumPy computes one number."""
    numbers, start = np.linspace(-1, 0, 1 << 14).astype(kind), time.process_time()
    for _ in range(20):
        getattr(np, name)(numbers)
    return (time.process_time() - start) / (20 << 14)


def spent() -> float:
    """Return the seconds of CPU of this process and of those it waited for."""
    each = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in each)


def timed(code: str, where: dict[str, Any], repeats: int) -> tuple[float, Any]:
    """Return the least seconds of code, and its value."""
    best, value = math.inf, None
    for _ in range(repeats):
        start = spent()
        value = eval(code, where)  # noqa: S307 - a row above
        best = min(best, spent() - start)
    return best, value


def answer(row: Row, where: dict[str, Any], *, floor: bool) -> dict[str, Any]:
    """Run a row once; return its seconds and width, or the seconds of its floor."""
    made, _, code = row.code.rpartition("; ")
    exec(made, where)  # noqa: S102 - a row above
    repeats = 5 if row.formula else 1
    if floor and row.formula:
        return {"seconds": timed(row.formula, where, repeats)[0]}
    if floor:
        numbers: Counter[tuple[str, type]] = Counter()
        costs = {(name, kind): bare(name, kind) for name in EXPONENTIALS for kind in (float, complex)}
        for name in EXPONENTIALS:
            count(name, numbers)
        timed(code, where, 1)
        return {"seconds": sum(costs[key] * n for key, n in numbers.items())}
    seconds, value = timed(code, where, repeats)
    if hasattr(value, "regret"):
        value = value.bounds  # of mu
    if type(value).__name__ != "Bounds":
        return {"seconds": seconds}
    return {"seconds": seconds, "width": float(np.max(np.subtract(value.upper, value.lower)))}


def serve(checkout: str, limit: int) -> None:
    """Load a checkout, then answer each row of stdin in a fork of its own."""
    sys.path.insert(0, checkout)
    os.environ["PYTHONPATH"] = checkout
    import tradeoff as to

    where: dict[str, Any] = {"to": to, "EXAMPLES": HERE.parent / "examples"}
    exec(HELPERS + WARM, where)  # noqa: S102 - the code above
    gc.freeze()  # a fork shares what is loaded
    for line in sys.stdin:
        fields, floor = json.loads(line)
        if child := os.fork():
            _, status = os.waitpid(child, 0)
            if status:
                stopped = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
                print(json.dumps({"failed": f"> {limit}" if stopped else "ended"}), flush=True)
            continue
        resource.setrlimit(resource.RLIMIT_CPU, (used := math.ceil(spent()) + limit, used + 1))
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            exec(FIRST, where)  # noqa: S102 - the code above
            try:
                result = answer(Row(*fields), where, floor=floor)
            except Exception as error:  # noqa: BLE001 - a refusal is an answer
                stopped = getattr(error, "returncode", 0) == -signal.SIGXCPU  # of a command
                result = {"failed": f"> {limit}" if stopped else type(error).__name__}
            os.chdir("/")
        print(json.dumps(result), flush=True)
        os._exit(0)


class Checkout:
    """A process that answers rows with one checkout."""

    def __init__(self, path: str, limit: int) -> None:
        compileall.compile_dir(f"{path}/tradeoff", quiet=2)  # as pip does when it installs
        line = [sys.executable, "-W", "ignore", __file__, "--serve", path, "--limit", str(limit)]
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(self, row: Row, *, floor: bool = False) -> dict[str, Any]:
        """Run a row once."""
        self.process.stdin.write(json.dumps([row, floor]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def measure(row: Row, checkouts: list[Checkout], runs: int) -> list[dict[str, Any]]:
    """Run a row in one checkout after the other, once if it takes half a second."""
    results = [each.answer(row) for each in checkouts]
    for _ in range(runs - 1):
        for best, each in zip(results, checkouts, strict=True):
            if best.get("seconds", math.inf) < 0.5:
                best["seconds"] = min(best["seconds"], each.answer(row)["seconds"])
    return results


def peers(path: Path | None) -> dict[str, str]:
    """Return the fastest bound of another library that holds to 0.01, for each case of ``compare.py``."""
    best: dict[str, tuple[float, str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path else []:
        result = json.loads(line)
        first, truth = result["answer"].get("first"), result["truth"]
        if not first or not truth or "upper" not in first or result["setting"].startswith("tradeoff"):
            continue
        error, case = first["upper"] - truth["value"], f"{result['case']} {float(result['at']):g}"
        if -truth["error"] <= error < 0.01 and first["seconds"] < best.get(case, (math.inf,))[0]:
            text = f"{result['setting'].split(',')[0]} {first['seconds']:.3f} s, {error:+.0e}"
            best[case] = first["seconds"], text
    return {case: text for case, (_, text) in best.items()}


def cells(row: Row, results: list[dict[str, Any]], floor: float, peer: str) -> list[str]:
    """Return the cells of a row, the last of which is what is missed."""
    old, new = results[0], results[-1]
    seconds, width = new.get("seconds", math.inf), new.get("width", 0.0 if "seconds" in new else math.inf)
    ratio = seconds / floor if floor > (1e-6 if row.formula else 1e-4) else math.inf
    aimed_at = min(row.seconds, row.floors) < math.inf
    met = seconds <= row.seconds < math.inf or ratio <= row.floors < math.inf
    before, width_before = old.get("seconds", math.inf), old.get("width", math.inf)
    marks = {
        "aim": aimed_at and not met,
        "width aimed at": width > row.width,
        "slower": seconds > max(1.2 * before, before + 5e-4),
        "wider": width > max(1.1 * width_before, 1e-10),
    }
    aims = ((row.seconds, "{:g} s"), (row.floors, "{:g} floors"), (row.width, "{:.0e} wide"))
    return [
        f"`{row.code}`",
        *(f"{each['seconds']:.4f}" if "seconds" in each else each["failed"] for each in results),
        *(f"{each['width']:.0e}" if "width" in each else "" for each in results),
        f"{ratio:.0f}" if ratio < math.inf else "",
        ", ".join(form.format(aim) for aim, form in aims if aim < math.inf),
        peer,
        ", ".join(mark for mark, marked in marks.items() if marked),
    ]


INTRODUCTION = """# Speed of whole questions

Output of `python benchmarks/speeds.py OLD NEW > docs/speed.md` on {date}: {cores} cores, load
{load:.1f} before the run, Python {python}, NumPy {numpy}, one thread. Every question is answered in a fork of
a process with loaded engines, which has answered one other question (the first touch of memory costs a fork
5 ms) and has cached nothing of this one, alternating between an old version and the present one.
Runs of a question: {runs}, or one if that takes half a second; the least time counts, in CPU seconds. After
{limit} s a run is stopped.

- **width**: the largest distance between the bounds.
- **floors**: the time over that of NumPy's bare exponentials, sines, cosines and tangents of as many numbers,
  or for arrays over that of the formula in SciPy.
- **aim**: an aim of seconds or floors is met if either is.
- **missed**: the aims that are not met; "slower" is by more than a fifth and half a millisecond, "wider" by
  more than a tenth and 1e-10.
- **peer**: the fastest other library whose bound holds and is within 0.01, and its error, from the
  [comparison of libraries](benchmarks.md).

`sgd(q, s, n)` are n steps of DP-SGD at rate q and noise s; `eps(f, delta)` computes both bounds of ε. The
script has the definitions of the others.
"""


def lines(given: argparse.Namespace, checkouts: list[Checkout]) -> Iterator[str]:
    """Yield the page."""
    known, missed, wanted = peers(given.peers), 0, given.only.split(",")
    names = ("old", "new")[-len(checkouts) :]
    heads = ["question", *(f"{each} s" for each in names), *(f"{each} width" for each in names)]
    heads += ["floors", "aim", "peer", "missed"]
    yield INTRODUCTION.format(
        date=dt.datetime.now(dt.UTC).date(),
        cores=os.cpu_count(),
        load=os.getloadavg()[0],
        python=platform.python_version(),
        numpy=np.__version__,
        **vars(given),
    )
    for heading, rows in sections(given.seed).items():
        name, title, how = re.fullmatch(r"(\w+): (.*?)\. (.*)", heading).groups()
        chosen = [row for row in rows if name in wanted or any(each in row.code for each in wanted)]
        if chosen:
            yield f"## {title}\n\n{how}\n\n| {' | '.join(heads)} |\n|{' --- |' * len(heads)}"
        for row in chosen:
            results = measure(row, checkouts, given.runs)
            floor = 0.0 if name == "start" else checkouts[-1].answer(row, floor=True).get("seconds", 0.0)
            texts = cells(row, results, floor, known.get(row.peer, ""))
            missed += bool(texts[-1])
            yield f"| {' | '.join(texts)} |"
        if chosen:
            yield ""
    yield f"Rows that miss an aim, or are slower or wider than before: {missed}."


def main() -> None:
    """Measure, print, and write the chosen rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="*", metavar="CHECKOUT")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=20, help="CPU seconds of one run (%(default)s)")
    parser.add_argument("--only", default=NAMES, help="sections and parts of code, by commas (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peers", type=Path, metavar="FILE", help="written by compare.py --results")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.limit)
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for line in lines(given, [Checkout(str(Path(each).resolve()), given.limit) for each in given.checkouts]):
        print(line, flush=True)


if __name__ == "__main__":
    main()
