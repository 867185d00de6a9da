"""Sixteen processes hammer one ledger while ``kill -9`` hits them at random:
``python tests/filters/ledger_under_fire.py --kills 300 --links 2``; with more links than one, they use it
under several names.

Every grant is written to a log of its own after ``spend`` returned. At the end the ledger must hold all of
them, in a chain that verifies, within the budget; and no process may have ended by anything but a refusal or
the kill.
"""

import argparse
import json
import multiprocessing
import os
import random
import signal
import tempfile
import time
from fractions import Fraction
from pathlib import Path

from tradeoff.errors import BudgetExceeded
from tradeoff.filters import GDPFilter, Ledger
from tradeoff.mechanisms import Gaussian

SLACK = Fraction(1, 10**12)


def hammer(path, log, seed, capacity):
    """Spend random steps until the smallest is refused; note each grant once it has returned."""
    rng = random.Random(seed)
    ledger = Ledger(path)
    handle = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    smallest = (2 * capacity) ** 0.5
    while True:
        multiplier = smallest * rng.uniform(0.5, 1.0)
        try:
            entry = ledger.spend(Gaussian(noise_multiplier=multiplier))
        except BudgetExceeded:
            try:
                entry = ledger.spend(Gaussian(noise_multiplier=smallest))
            except BudgetExceeded:
                return
        os.write(
            handle, json.dumps([entry.step, entry.hash, entry.mechanism["noise_multiplier"]]).encode() + b"\n"
        )


def fire(folder, *, processes=16, kills=300, seed=0, volley=8, links=1):
    """Run the fight and return what was seen."""
    folder, fork, capacity = Path(folder), multiprocessing.get_context("fork"), 12 * kills
    rng = random.Random(seed)
    path, codes, started, begun = folder / "budget.ledger", [], 0, time.perf_counter()
    Ledger.create(path, GDPFilter(1))
    names = [path, *(folder / f"link-{i}" for i in range(1, links))]
    for name in names[1:]:
        name.hardlink_to(path)

    def start():
        nonlocal started
        worker = fork.Process(
            target=hammer, args=(names[started % links], folder / f"{started}.log", rng.random(), capacity)
        )
        worker.start()
        started += 1
        return worker

    def noted():
        return sum(log.read_bytes().count(b"\n") for log in folder.glob("*.log"))

    workers = [start() for _ in range(processes)]
    while (
        left := kills - codes.count(-signal.SIGKILL)
    ) > 0 and 0 not in codes:  # 0: the budget ran out, so the fight is over
        goal = noted() + rng.randint(0, 4)  # strike while grants flow, however slow the machine
        while noted() < goal and all(worker.is_alive() for worker in workers):
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.03))
        hit = rng.sample(range(processes), min(rng.randint(1, volley), left))
        for i in hit:
            if workers[i].is_alive():
                os.kill(workers[i].pid, signal.SIGKILL)
        for i in hit:
            workers[i].join()
            codes.append(workers[i].exitcode)
            workers[i] = start()
    for worker in workers:
        worker.join()
        codes.append(worker.exitcode)
    seen = {
        "processes": started,
        "killed": codes.count(-signal.SIGKILL),
        "seconds": round(time.perf_counter() - begun, 1),
    }
    return {**judge(path, folder, codes, capacity), **seen, "links": links}


def judge(path, folder, codes, capacity):
    """Check the ledger against the logs; every failure raises."""
    ledger = Ledger(path)
    if not set(codes) <= {0, -signal.SIGKILL}:
        raise RuntimeError(f"a process ended with one of {sorted(set(codes))}")
    noted = [
        json.loads(line)
        for log in sorted(folder.glob("*.log"))
        for line in log.read_bytes().split(b"\n")
        if line.endswith(b"]")
    ]
    entries = ledger.entries()
    lost = [
        grant
        for grant in noted
        if grant != [grant[0], entries[grant[0]].hash, entries[grant[0]].mechanism["noise_multiplier"]]
    ]
    spent = sum(1 / Fraction(entry.mechanism["noise_multiplier"]) ** 2 for entry in entries[1:])
    if lost or len({step for step, _, _ in noted}) != len(noted):
        raise RuntimeError(f"grants were lost or doubled: {lost}")
    if spent > 1 + SLACK:
        raise RuntimeError(f"overspent: {float(spent)}")
    if not ledger.would_exceed(Gaussian(noise_multiplier=(2 * capacity) ** 0.5)):
        raise RuntimeError("the fight ended before the budget was exhausted")
    ledger.verify(head=entries[-1].hash)
    return {"grants": len(entries) - 1, "noted": len(noted), "spent": float(spent)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in (("processes", 16), ("kills", 300), ("seed", 0), ("volley", 8), ("links", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(fire(scratch, **vars(parser.parse_args()))))  # noqa: T201 - a script
