"""Noise for a goal, by this library and its peers: time, evaluations, and what the noise costs in truth.

    python benchmarks/calibrations.py --environments DIR

Every question runs in a process of its own, as in ``compare.py``. The last column is epsilon at the noise
computed by ``truth.py``, which uses none of the libraries: above the goal the noise breaks the promise it was
chosen for. Timings are printed and never judged.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from cases import Case, Factor, subsampled
from compare import run_question
from libraries import DP_ACCOUNTING, OWN, PRV, RISKCAL, NotInstalledError, Setting
from page import number, table
from truth import answer

SETTINGS = (
    Setting(OWN, ""),
    Setting(DP_ACCOUNTING, "interval 1e-4", {"interval": 1e-4}),
    Setting(RISKCAL, "interval 1e-4", {"interval": 1e-4}),
    Setting(PRV, "eps_error 0.01", {"eps_error": 0.01}),
)


def goal(epsilon: float, delta: float, sample_rate: float, count: int) -> Case:
    """Return the question for the noise that ``count`` steps need."""
    factor: Factor = subsampled(0.0, sample_rate, count) | {"delta": delta}
    text = f"({epsilon:g}, {delta:g}), {count} steps at {sample_rate:.4g}"
    return Case(text, text, (factor,), "calibration", (epsilon,), "sigma")


GOALS = (goal(1, 1e-6, 0.01, 1000), goal(8, 1e-5, 0.04, 2000), goal(3, 1e-5, 256 / 60000, 14062))


def row(setting: Setting, case: Case, python: Path, timeout: float, memory: float) -> list[str]:
    """Compute one number and its cost."""
    result = run_question(python, setting, case, case.at[0], timeout, memory)
    first = result.get("first")
    if first is None:
        return [case.id, setting.name, result.get("failed", result.get("declined", "")), "", "", ""]
    (factor,) = case.factors
    noisy = Case("", "", (factor | {"sigma": first["value"]},), "calibration")
    truth, error = answer(noisy, factor["delta"])
    mark = " **broken**" if truth - error > case.at[0] else ""
    evaluations, seconds = f"{first['evaluations']:.0f}", number(first["seconds"], ".2f")
    return [case.id, setting.name, f"{first['value']:.9f}", evaluations, seconds, f"{truth:.9f}{mark}"]


def main() -> None:
    """Measure all settings and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--environments", type=Path, metavar="DIR", help="where each peer has its environment"
    )
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one question (%(default)s)")
    parser.add_argument("--memory", type=float, default=8, help="GiB of address space (%(default)s)")
    options = parser.parse_args()
    rows = []
    for setting in SETTINGS:
        try:
            python = setting.library.interpreter(options.environments)
        except NotInstalledError as reason:
            print(f"skipping {setting.name}: {reason}", flush=True)
            continue
        rows += [row(setting, case, python, options.timeout, options.memory) for case in GOALS]
    rows.sort(key=lambda cells: [case.id for case in GOALS].index(cells[0]))
    print(table(["goal", "", "σ", "evaluations", "seconds", "ε there, in truth"], rows))


if __name__ == "__main__":
    main()
