"""Search for broken promises at random.

    python -m tests.fuzz --seconds 60 --seed 1

Draws from every family, operator, order and engine, extremes among them; truth comes from balls where they
can give it, and answers are compared with each other. Each finding is printed as lines that can be pasted;
fails if there were any.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.fuzz.run import PREAMBLE, Search


def one(seed: int, seconds: float) -> Counter[str]:
    """Search in this process."""
    search = Search(seed)
    search.run(seconds)
    return search.counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and return 1 if any promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU time of each process")
    parser.add_argument("--seed", type=int, default=1, help="of the first process; others have the next")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--again", metavar="SEED:INDEX", help="draw again the composition a finding names")
    options = parser.parse_args(arguments)
    heading = f"# seed {options.seed}, {options.jobs} process(es), {options.seconds:g} s of CPU each"
    print(f"{heading}\n{PREAMBLE}\n", flush=True)  # noqa: T201 - a command
    if options.again:
        search = Search(options.seed)
        search.run(0)
        search.composition(options.again)
        counts = search.counts
    elif options.jobs == 1:
        counts = one(options.seed, options.seconds)
    else:
        with ProcessPoolExecutor(options.jobs) as pool:
            seeds = range(options.seed, options.seed + options.jobs)
            counts = sum(pool.map(one, seeds, [options.seconds] * options.jobs), Counter())
    for name, count in sorted(counts.items()):
        print(f"{count:8d} {name}")  # noqa: T201 - a command
    pace = counts["compositions"] * 3600 / max(counts["seconds of CPU"], 1)  # the last may outlast its time
    print(f"{pace:8.0f} compositions an hour of CPU")  # noqa: T201 - a command
    return int(any(name.startswith("FOUND") for name in counts))


if __name__ == "__main__":
    raise SystemExit(main())
