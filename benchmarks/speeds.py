"""Seconds of whole tasks, of one checkout or of several side by side, over what their exponentials cost.

    python benchmarks/speeds.py CHECKOUT [CHECKOUT ...] [--runs 3] [--only TASK,TASK] [--write FILE]

Every run of a task is a process of its own, in which a question beforehand has loaded the engines, on one
thread; checkouts alternate. Seconds are medians of CPU time, which a busy machine disturbs less than those
of the clock. The floor is the time of NumPy's bare exponentials, sines and cosines of as many numbers as the
last checkout computes: code that uses them cannot be faster.
"""

from __future__ import annotations

import argparse
import compileall
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent

LIMIT = 120.0
"""Seconds after which a process is stopped."""

EXPONENTIALS = ("exp", "sin", "cos")
"""What a floor counts: exponentials, and the sines and cosines that are complex ones."""

LEAST = 5e-4
"""Seconds of a floor below which a ratio to it is noise."""


class Task(NamedTuple):
    """What is done, the seconds aimed at, and code: of what is made beforehand, and of what is measured."""

    title: str
    aim: float
    made: str
    measured: str


TASKS = {
    "curve": Task("first β after the import", 0.25, "None", "to.Gaussian(1.0)(0.05)"),
    "dpsgd": Task("ε, 1000 steps of DP-SGD", 0.005, "steps(.01, 1, 1000)", "f.bounds.epsilon(1e-5)"),
    "distinct200": Task("ε, 200 distinct factors", 0.3, "schedule(200)", "f.bounds.epsilon(1e-5)"),
    "distinct1000": Task("ε, 1000 distinct factors", 1.5, "schedule(1000)", "f.bounds.epsilon(1e-5)"),
    "later": Task(
        "a later ε, 1000 distinct factors", 0.02, "warmed(schedule(1000))", "f.bounds.epsilon(1e-6)"
    ),
    "census": Task(
        "ε, Census persons, tol 1e-8",
        1.0,
        "plan('census2020.toml').guarantee()",
        "f.bounds.epsilon(1e-10, tol=1e-8)",
    ),
    "laplace": Task(
        "ε, Laplace(0.1)^100, tol 1e-8", 0.2, "to.Laplace(.1)**100", "f.bounds.epsilon(1e-5, tol=1e-8)"
    ),
    "rare": Task(
        "ε, 100 rare steps, tol 1e-8", 0.2, "steps(.001, 1.5, 100)", "f.bounds.epsilon(1e-8, tol=1e-8)"
    ),
    "betas": Task(
        "β at 129 α, envelope of 10⁵ steps",
        0.5,
        "envelope(steps(1e-4, .5, 10**5))",
        "f.bounds(np.linspace(0, 1, 129))",
    ),
    "mu": Task("μ, 1000 steps of DP-SGD", 0.3, "steps(.01, 1, 1000)", "f.gdp(failure=1e-10)"),
    "mu_order": Task(
        "μ, 1000 steps of DP-SGD, either order",
        0.3,
        "envelope(steps(.01, 1, 1000))",
        "f.gdp(failure=1e-10)",
    ),
    "mu_rare": Task(
        "μ, 100 rare steps, either order", 0.3, "envelope(steps(.001, 1.5, 100))", "f.gdp(failure=1e-10)"
    ),
    "mu_laplace": Task("μ, Laplace(0.1)^100", 0.3, "to.Laplace(.1)**100", "f.gdp(failure=1e-10)"),
    "group": Task(
        "ε, group of two of an envelope",
        1.0,
        "envelope(steps(.01, 1, 1000)).group(2)",
        "f.bounds.epsilon(1e-5)",
    ),
    "maximum": Task(
        "ε, maximum of products, tol 1e-6",
        1.0,
        "to.maximum(steps(.01, 1, 1000), to.Laplace(.1)**100)",
        "f.bounds.epsilon(1e-5, tol=1e-6)",
    ),
    "sampled": Task(
        "β, sampled product, tol 1e-6",
        1.0,
        "to.subsample(steps(.01, 1, 100) @ to.Laplace(.1)**10, .1)",
        "f.bounds(.05, tol=1e-6)",
    ),
    "squared": Task(
        "ε, sampled product squared, tol 1e-6",
        1.0,
        "to.subsample(steps(.01, 1, 100) @ to.Laplace(.1)**10, .1)**2",
        "f.bounds.epsilon(1e-5, tol=1e-6)",
    ),
    "grid": Task(
        "ε, 100 plans of 1000 steps, both orders",
        2.0,
        "[envelope(steps(p, s, 1000)) for s in np.linspace(.7, 2, 10) for p in np.linspace(.001, .03, 10)]",
        "[each.epsilon(1e-5) for each in f]",
    ),
    "counts": Task(
        "ε, 20 numbers of steps in a sweep",
        0.5,
        "lambda n: envelope(steps(.01, 1, n)).epsilon(1e-5)",
        "to.sweep(f, {'n': [500 * (k + 1) for k in range(20)]})",
    ),
    "calibrate": Task(
        "σ for ε = 1 at δ = 1e-6, 1000 steps",
        1.0,
        "lambda s: steps(.01, s, 1000)",
        "to.calibrate(f, {'epsilon': 1, 'delta': 1e-6})",
    ),
    "version": Task("tradeoff --version", 0.2, "None", "command('--version')"),
    "compose": Task(
        "tradeoff compose mixed.toml", 0.8, "str(EXAMPLES / 'mixed.toml')", "command('compose', f)"
    ),
    "compare": Task(
        "tradeoff compare mixed.toml", 2.0, "str(EXAMPLES / 'mixed.toml')", "command('compare', f)"
    ),
    "report": Task(
        "tradeoff report mixed.toml",
        4.0,
        "str(EXAMPLES / 'mixed.toml')",
        "command('report', f, '-o', 'report.html')",
    ),
}

COLD = {"curve", "version", "compose", "compare", "report"}
"""Tasks that are measured with nothing loaded."""

HELPERS = """
import subprocess, sys
import numpy as np
def steps(rate, sigma, count): return to.subsample(to.Gaussian(1 / sigma), rate) ** count
def envelope(curve): return curve.symmetrise(assume="either-order")
def plan(name): return to.spec.load(EXAMPLES / name).plan
def warmed(curve): curve.bounds.epsilon(1e-5); return curve
def command(*words): subprocess.run([sys.executable, "-m", "tradeoff", *words], stdout=-3, check=True)
def schedule(distinct):
    shares, product = [k / (distinct - 1) for k in range(distinct)], to.Identity()
    for s in shares: product = product @ steps(.02 * .25**s, 3**s, 2000 // distinct)
    return product
"""
"""What code of tasks calls: the settings of ``schedule`` are those of the distinct cases of ``cases.py``."""

WARM = "(steps(.02, 1, 10).epsilon(1e-4), (to.Gaussian(.3) @ to.PureDP(.2)).epsilon(1e-3))"
"""Loads the engines."""


class Counting:
    """A function of NumPy, which counts the numbers it computes."""

    def __init__(self, name: str) -> None:
        self.function, self.real, self.complex = getattr(np, name), 0, 0

    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        if np.iscomplexobj(x):
            self.complex += int(np.size(x))
        else:
            self.real += int(np.size(x))
        return self.function(x, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)

    def bare(self) -> float:
        """Return the seconds of as many numbers and nothing else."""
        numbers = np.linspace(-1.0, 0.0, 1 << 14)
        start = time.process_time()
        for values, count in ((numbers, self.real), (1j * numbers, self.complex)):
            for _ in range(count // len(numbers)):
                self.function(values)
        return time.process_time() - start


def answer(checkout: str, name: str, *, floor: bool) -> None:
    """Run a task once; print its seconds, or those of its exponentials alone."""
    sys.path.insert(0, checkout)
    os.environ["PYTHONPATH"] = checkout
    import tradeoff as to

    where: dict[str, Any] = {"to": to, "EXAMPLES": HERE.parent / "examples"}
    exec(HELPERS, where)  # noqa: S102 - the code above
    if name not in COLD:
        eval(WARM, where)  # noqa: S307 - the code above
    where["f"] = eval(TASKS[name].made, where)  # noqa: S307 - the code above
    counting = [Counting(each) for each in EXPONENTIALS] if floor else []
    for each, function in zip(EXPONENTIALS, counting, strict=False):
        setattr(np, each, function)
    start = spent()
    eval(TASKS[name].measured, where)  # noqa: S307 - the code above
    seconds = spent() - start
    print(json.dumps(sum(each.bare() for each in counting) if floor else seconds))


def spent() -> float:
    """Return the seconds of CPU of this process and of those it waited for."""
    each = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in each)


def run(checkout: str, name: str, *flags: str) -> float:
    """Run a task in its own process; infinite where it fails or takes too long."""
    line = [sys.executable, "-W", "ignore", str(HERE / "speeds.py"), "--answer", checkout, name, *flags]
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(line, capture_output=True, timeout=LIMIT, check=True, cwd=folder)
        except subprocess.SubprocessError:
            return math.inf
    return float(json.loads(done.stdout.splitlines()[-1]))


def lines(checkouts: list[str], names: list[str], runs: int) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    heads = ["task", *(f"{Path(each).name} s" for each in checkouts), "aim s", "floor s", "over the floor"]
    yield f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}"
    for name in names:
        title, aim, *_ = TASKS[name]
        taken = [[run(each, name) for each in checkouts] for _ in range(runs)]
        medians = [statistics.median(column) for column in zip(*taken, strict=True)]
        floor = 0.0 if name in COLD else run(checkouts[-1], name, "--floor")
        over = [f"{floor:.3f}", f"{medians[-1] / floor:.0f}"] if LEAST < floor < math.inf else ["", ""]
        yield f"| {' | '.join([title, *(f'{each:.3f}' for each in medians), f'{aim:g}', *over])} |"


def main() -> None:
    """Measure, print, and write the chosen tasks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", nargs="*", metavar="CHECKOUT")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default=",".join(TASKS))
    parser.add_argument("--write", type=Path)
    parser.add_argument("--answer", nargs=2)
    parser.add_argument("--floor", action="store_true")
    given = parser.parse_args()
    if given.answer:
        answer(*given.answer, floor=given.floor)
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    result, checkouts = [], [str(Path(each).resolve()) for each in given.checkouts]
    for each in checkouts:
        compileall.compile_dir(f"{each}/tradeoff", quiet=2)  # as pip does when it installs
    for line in lines(checkouts, given.only.split(","), given.runs):
        print(line, flush=True)
        result.append(line)
    if given.write:
        given.write.write_text("\n".join(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
