"""Grants survive ``kill -9`` of many processes (``--kills 300``), in a valid chain, within the budget."""

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


def spend_until_refused(path, log, seed, smallest):
    """Spend random steps until the smallest is refused; log each grant once it has returned."""
    rng, ledger = random.Random(seed), Ledger(path)
    file = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    while True:
        multiplier = smallest * rng.uniform(0.5, 1.0)
        try:
            entry = ledger.spend(Gaussian(noise_multiplier=multiplier))
        except BudgetExceeded:
            try:
                entry = ledger.spend(Gaussian(noise_multiplier=smallest))
            except BudgetExceeded:
                return
        os.write(file, json.dumps([entry.step, entry.hash]).encode() + b"\n")


def run(folder, *, processes=16, kills=300, seed=0):
    """Kill processes at random until the budget is spent, check the ledger and return the counts."""
    folder, fork, rng = Path(folder), multiprocessing.get_context("fork"), random.Random(seed)
    path, smallest, codes, started = folder / "budget.ledger", (24 * kills) ** 0.5, [], 0
    Ledger.create(path, GDPFilter(1))

    def start():
        nonlocal started
        started += 1
        arguments = path, folder / f"{started}.log", rng.random(), smallest
        worker = fork.Process(target=spend_until_refused, args=arguments)
        worker.start()
        return worker

    workers = [start() for _ in range(processes)]
    while codes.count(-signal.SIGKILL) < kills and 0 not in codes:
        time.sleep(rng.uniform(0, 0.03))
        i = rng.randrange(processes)
        workers[i].kill()  # nothing, if it has ended
        workers[i].join()
        codes.append(workers[i].exitcode)
        workers[i] = start()
    for worker in workers:
        worker.join()
        codes.append(worker.exitcode)
    assert set(codes) <= {0, -signal.SIGKILL}, codes

    ledger = Ledger(path)
    entries = ledger.entries()
    lines = [line for log in folder.glob("*.log") for line in log.read_bytes().split(b"\n")]
    noted = [json.loads(line) for line in lines if line.endswith(b"]")]
    assert all(entries[step].hash == digest for step, digest in noted)
    assert len({step for step, _ in noted}) == len(noted)
    spent = sum(1 / Fraction(entry.mechanism["noise_multiplier"]) ** 2 for entry in entries[1:])
    assert spent <= 1 + Fraction(1, 10**12)
    assert ledger.would_exceed(Gaussian(noise_multiplier=smallest))
    ledger.verify(head=entries[-1].hash)
    return {
        "grants": len(entries) - 1,
        "noted": len(noted),
        "spent": float(spent),
        "killed": codes.count(-signal.SIGKILL),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("processes", 16), ("kills", 300), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    with tempfile.TemporaryDirectory() as scratch:
        print(run(scratch, **vars(parser.parse_args())))  # noqa: T201 - a script
