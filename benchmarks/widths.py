"""Widths and times of one checkout over all cases, and of two against each other.

    python benchmarks/widths.py CHECKOUT OUT.json           # measure, in some ten minutes
    python benchmarks/widths.py --compare OLD.json NEW.json   # print a table of ratios new/old

Each composition answers one kind of question in a process of its own, so that the first answer is a cold
one. Widths are in the unit of the question's tolerance, infinite where it was refused; times are seconds of
CPU, which a busy machine disturbs less than those of the clock.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cases import ALPHAS, cases

HERE = Path(__file__).parent

EPSILONS = (0.1, 1.0, 5.0)
"""Losses at which delta is computed: from the middle of the profile to its tail."""

TOL = 1e-6
"""A tolerance every engine has to work for; absolute for epsilon, relative for delta and beta."""

LIMIT = 60.0
"""Seconds after which a process is stopped."""

FINEST = 1e-12
"""Widths below this are rounding, and count as equal."""

WIDER, SLOWER = 2.0, 1.3
"""Ratios new/old that are marked."""

NOTICED = 0.05
"""Seconds by which answers must differ to be called slower: late imports and cold caches cost as much."""


@dataclass
class Row:
    """Answers to one kind of question about one composition; ``failed`` is the reason of a missing one."""

    case: str
    kind: str
    tol: float | None
    at: tuple[float, ...]
    widths: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    failed: str = ""

    @property
    def name(self) -> tuple[str, str, bool]:
        """What two runs are compared by."""
        return self.case, self.kind, self.tol is not None


def rows() -> Iterator[tuple[Row, tuple[dict[str, Any], ...]]]:
    """Return the questions, and their factors; with a tolerance not in the tables that grow without end."""
    for case in cases():
        if case.kind != "epsilon":  # the same compositions: all kinds are measured for each here
            continue
        yield Row(case.id, "epsilon", None, case.at), case.factors
        if case.group == "delta":
            continue
        for kind, at in (("delta", EPSILONS), ("beta", ALPHAS)):
            yield Row(case.id, kind, None, at), case.factors
        if case.group in {"reference", "workload"}:
            for kind, at in (("epsilon", case.at), ("delta", EPSILONS), ("beta", ALPHAS)):
                yield Row(case.id, kind, TOL, at), case.factors


def answer(checkout: str) -> None:
    """Read a question, answer it with the checkout, print width, seconds and refusal of each answer."""
    sys.path.insert(0, checkout)
    from peers.tradeoff import composed  # imports the checkout, whose path must come first

    question = json.load(sys.stdin)
    curve = None
    for at in question["at"]:
        width, failed, start = math.inf, "", time.process_time()
        try:
            curve = composed(question["factors"]) if curve is None else curve
            width = width_of(curve, question["kind"], at, question["tol"])
        except Exception as error:  # noqa: BLE001 - a refusal is an answer
            failed = f"{type(error).__name__}: {error}"
        print(json.dumps([width, time.process_time() - start, failed]), flush=True)


def width_of(curve: Any, kind: str, at: float, tol: float | None) -> float:
    """Return the width of one answer: relative for delta, and for beta to the nearer end."""
    answer = curve.bounds if kind == "beta" else getattr(curve.bounds, kind)
    lower, upper = answer(at, tol=tol)
    unit = {"epsilon": 1.0, "delta": upper, "beta": min(upper, 1 - at - lower)}[kind]
    return (upper - lower) / unit if upper > lower and unit > 0 else 0.0


def run_question(checkout: str, row: Row, factors: tuple[dict[str, Any], ...]) -> Row:
    """Run one question in its own process."""
    command = [sys.executable, "-W", "ignore", str(HERE / "widths.py"), "--answer", checkout]
    try:
        done = subprocess.run(
            command,
            input=json.dumps({**asdict(row), "factors": factors}).encode(),
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        lines = done.stdout
    except subprocess.TimeoutExpired as stopped:
        lines, row.failed = stopped.stdout or b"", f"more than {LIMIT:.0f} s"
    for line in lines.splitlines():
        width, seconds, failed = json.loads(line)
        row.failed = row.failed or failed.splitlines()[0][:160] if failed else row.failed
        row.widths.append(width)
        row.seconds.append(seconds)
    return row


def run(checkout: str, out: Path, only: str | None) -> None:
    """Answer everything, and keep all answers so far."""
    result: list[dict[str, Any]] = []
    for row, factors in rows():
        if only is None or row.case in only.split(","):
            result.append(asdict(run_question(checkout, row, factors)))
            out.write_text(json.dumps(result, indent=1), encoding="utf-8")
            print(*row.name, row.widths, row.seconds, row.failed, flush=True)


def compare(old: Path, new: Path) -> None:
    """Print a Markdown table of new/old, widths at their worst point, and mark what is out of bounds."""
    before, after = read(old), read(new)
    print("| case | question | tol | width | old s | new s | first | all | mark |")
    print("|---|---|---|--:|--:|--:|--:|--:|---|")
    for name, one in before.items():
        two = after.get(name)
        if two is None:
            continue
        wider = max((ratio(a, b, FINEST) for a, b in zip(one.widths, two.widths, strict=False)), default=1.0)
        first, every = (ratio(sum(one.seconds[:n]), sum(two.seconds[:n]), NOTICED) for n in (1, len(one.at)))
        marks = {
            "WIDER": wider > WIDER,
            "SLOWER": max(first, every) > SLOWER,
            "FEWER": len(two.widths) < len(one.widths),
            "more": len(two.widths) > len(one.widths),
        }
        mark = ", ".join(word for word, marked in marks.items() if marked)
        times = f"{sum(one.seconds):.2f} | {sum(two.seconds):.2f} | {first:.2f} | {every:.2f}"
        print(f"| {two.case} | {two.kind} | {two.tol or ''} | {wider:.2f} | {times} | {mark} |")


def ratio(old: float, new: float, least: float) -> float:
    """Return new/old; 1 where both are infinite or differ by less than ``least``."""
    if old == new or abs(new - old) < least:
        return 1.0
    return new / max(old, least)


def read(path: Path) -> dict[tuple[str, str, bool], Row]:
    """Read the rows of a run."""
    rows = (Row(**plain) for plain in json.loads(path.read_text(encoding="utf-8")))
    return {row.name: row for row in rows}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--compare", action="store_true", help="compare two runs instead of making one")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--cases", metavar="IDS", help="only these cases, by commas")
    parser.add_argument("paths", nargs="+", metavar="PATH", help="CHECKOUT OUT.json, or OLD.json NEW.json")
    options = parser.parse_args()
    if options.answer:
        answer(options.paths[0])
    elif options.compare:
        compare(*map(Path, options.paths))
    else:
        checkout, out = map(Path, options.paths)
        run(str(checkout.absolute()), out, options.cases)


if __name__ == "__main__":
    main()
