"""Run this library and its peers on the same questions: time, peak memory, error, width, broken claims.

    python benchmarks/compare.py --environments DIR --write docs/benchmarks.md    # everything, 20 minutes
    python benchmarks/compare.py --only tradeoff --cases SG1,MIX4                 # this library alone

Every question runs in a process of its own, cold, with limits of CPU time and memory, one after the other.
Each peer has an environment under DIR, made on first use; one that cannot be installed is skipped, and the
reason printed. Timings are printed and never judged.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import page
from cases import Case, cases, truth
from libraries import HERE, SETTINGS, Library, NotInstalledError, Setting, quiet
from results import Result


@dataclass
class Run:
    """Limits of a run, what is already known not to be worth asking, and the results so far."""

    environments: Path | None
    timeout: float
    budget: float
    memory: float
    deadline: float
    results: list[Result] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    _spent: dict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    _closed: dict[tuple[str, str], str] = field(default_factory=dict)

    def pythons(self, settings: list[Setting]) -> dict[Library, Path]:
        """Make the environments; keep the reason where that fails."""
        result = {}
        for library in dict.fromkeys(setting.library for setting in settings):
            try:
                result[library] = library.interpreter(self.environments)
            except NotInstalledError as reason:
                self.missing[library.name] = str(reason)
                print(f"skipping {library.name}: {reason}", flush=True)
        return result

    def reason_to_pass(self, setting: Setting, case: Case) -> str | None:
        """Return why a question is skipped: the answer is known, or would take time that others need."""
        if time.monotonic() > self.deadline:
            return "skipped: the run was out of time"
        if self._spent[setting.name, case.group] > self.budget:
            return f"skipped: {self.budget:.0f} s spent on this table"
        return self._closed.get((setting.name, case.id)) or self._closed.get((setting.name, case.group))

    def answer(self, setting: Setting, case: Case, at: float, python: Path) -> Result:
        """Answer one question, and record when further ones would be pointless."""
        reason = self.reason_to_pass(setting, case)
        known = truth(case, at)
        if reason:
            return Result(setting.name, case.id, at, known, {"failed": reason})
        start = spent()
        answer = run_question(python, setting, case, at, self.timeout, self.memory)
        self._spent[setting.name, case.group] += spent() - start
        result = Result(setting.name, case.id, at, known, answer)
        if "declined" in answer:
            self._closed[setting.name, case.id] = answer["declined"]
        elif result.exhausted:
            # Another delta, or a larger size of the same table, would only take longer.
            place = case.group if case.group in {"steps", "distinct", "allocation"} else case.id
            self._closed[setting.name, place] = f"skipped: {result.reason} before"
        return result


def spent() -> float:
    """Return the CPU seconds of the questions so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_question(
    python: Path, setting: Setting, case: Case, at: float, timeout: float, memory: float
) -> dict[str, Any]:
    """Run one question in its own process and return the lines of its answer as one dictionary."""
    question = {
        "factors": case.factors,
        "kind": case.kind,
        "at": at,
        "setting": setting.arguments,
        "memory": int(memory * 2**30),
        "timeout": math.ceil(timeout),
    }
    command = [str(python), "-P", str(HERE / "peers" / "harness.py"), str(setting.library.adapter)]
    answer: dict[str, Any] = {}
    try:
        done = subprocess.run(
            command,
            input=json.dumps(question).encode(),
            capture_output=True,
            timeout=20 * timeout,  # on the clock, for a process that waits
            env=quiet(),
            check=False,
        )
        lines = done.stdout
        if done.returncode == -signal.SIGXCPU:
            answer["failed"] = f"more than {timeout:.0f} s"
        elif done.returncode:
            answer["failed"] = f"ended with status {done.returncode}"
    except subprocess.TimeoutExpired as stopped:
        lines = stopped.stdout or b""
        answer["failed"] = f"more than {timeout:.0f} s"
    for line in lines.splitlines():
        answer |= json.loads(line)
    if "first" in answer:  # stopped during the second answer
        answer.pop("failed", None)
    return answer


def questions(settings: list[Setting], chosen: list[Case]) -> Iterator[tuple[Setting, Case, float]]:
    """Go table by table, and in a table from large delta to small.

    A budget that ends has given every case its first answers.
    """
    for group in dict.fromkeys(case.group for case in chosen):
        for setting in settings:
            if group in page.ACROSS and not setting.scaling:
                continue
            members = [case for case in chosen if case.group == group and case.kind in setting.kinds]
            rounds = zip_longest(*(case.at for case in members))
            yield from (
                (setting, case, at)
                for places in rounds
                for case, at in zip(members, places, strict=True)
                if at is not None
            )


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--environments",
        type=Path,
        metavar="DIR",
        help="where each peer has its environment; without it peers are skipped",
    )
    parser.add_argument("--only", metavar="NAMES", help="libraries, by commas")
    parser.add_argument(
        "--cases",
        metavar="IDS",
        help="cases or tables, by commas (reference, workload, beta, steps, distinct, delta, allocation)",
    )
    parser.add_argument("--at", metavar="VALUES", help="only these delta or alpha, by commas")
    parser.add_argument(
        "--timeout",
        type=float,
        default=40,
        help="CPU seconds for one question, its import included (%(default)s)",
    )
    parser.add_argument(
        "--budget", type=float, default=45, help="CPU seconds for one setting in one table (%(default)s)"
    )
    parser.add_argument(
        "--memory", type=float, default=8, help="GiB of address space for one question (%(default)s)"
    )
    parser.add_argument(
        "--minutes", type=float, default=17.5, help="no question is begun after this (%(default)s)"
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the tables as Markdown")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep the raw answers as JSON lines")
    return parser.parse_args()


def picked(text: str | None, *names: str) -> bool:
    """Return whether one of the names is in a list by commas, or no list is given."""
    return text is None or bool(set(names) & set(text.split(",")))


def main() -> None:
    """Run, print, write."""
    options = arguments()
    settings = [setting for setting in SETTINGS if picked(options.only, setting.library.name)]
    chosen = [case for case in cases() if picked(options.cases, case.id, case.group)]
    if not settings or not chosen:
        sys.exit("nothing to run: --only takes names of libraries, --cases takes case ids or tables")
    run = Run(
        options.environments,
        options.timeout,
        options.budget,
        options.memory,
        time.monotonic() + 60 * options.minutes,
    )
    pythons = run.pythons(settings)
    load = os.getloadavg()[0]
    run.deadline = time.monotonic() + 60 * options.minutes  # environments are made once, and not timed
    for setting, case, at in questions(settings, chosen):
        if setting.library not in pythons or (options.at and at not in map(float, options.at.split(","))):
            continue
        result = run.answer(setting, case, at, pythons[setting.library])
        run.results.append(result)
        print(result, flush=True)
        if options.results:
            options.results.write_text(
                "".join(json.dumps(r.plain()) + "\n" for r in run.results), encoding="utf-8"
            )
    text = page.page(run.results, chosen, run.missing, vars(options) | {"load": load})
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
