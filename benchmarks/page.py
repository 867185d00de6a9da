"""Tables of a run, as Markdown."""

from __future__ import annotations

import datetime as dt
import math
import os
import platform
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cases import Case
from results import Result

CLAIMS = """# Benchmarks

How many answers each library gave, how many of the bounds it states lie on the wrong side of the truth,
and the worst of them. Every one is listed [below](#claims-broken).

"""

INTRODUCTION = """## How it was measured

Written by `python benchmarks/compare.py --environments DIR --write docs/benchmarks.md` on {date}:
{cores} cores, {memory:.0f} GiB of memory, load {load:.1f} before the run, Python {python}, one thread for
each library.

Every question runs in a process of its own with nothing cached, one after the other, within {timeout:.0f}
s of CPU time and {limit:.0f} GiB. A library that has used {budget:.0f} s on one table gets no more questions
there, nor does one for a larger size than one that was too large.
**Seconds** are CPU seconds of composing and answering once, after the import; **later** is a second answer
from the same object; **MiB** is the largest resident set of the process, interpreter and imports included.
**Error** is the answer minus the truth, for unordered neighbours (the larger of the orders remove and add);
the answer is the upper bound where a library states one, else its estimate, and for prv-accountant the
estimate between its bounds. **Width** is upper minus lower where both are stated. A bound that a library
states is *broken* if it lies on the wrong side of the truth by more than the truth is known to. riskcal and
gdpnum are taken to state a lower bound on β, as both describe their curve as that of a dominating pair;
opake is taken to state an upper bound on ε and a lower one on β, as it describes them as the smallest ε that
holds and the error of the best attack.
autodp's Fourier accountant is an estimate and states no bound; its δ(ε) is solved for ε by bisection here, as
its own search returned negative ε. The truth of the reference compositions comes from closed forms, exact
sums and 40-digit contour integrals, that of the others from `benchmarks/truth.py`; neither uses the library.
Second settings are finer ones, where a library has such a setting.
"""

HEADINGS = {
    "reference": "Reference compositions: ε at δ",
    "workload": "Workloads: ε at δ",
    "beta": "Reference compositions: β at α",
    "steps": "Number of steps n: subsampled Gaussians, σ = 1, sample rate 1/√n, δ = 1e-5",
    "distinct": "Number of distinct factors: subsampled Gaussians, 2000 steps in all, δ = 1e-5",
    "delta": "Range of δ: 1000 subsampled Gaussians, σ = 1, sample rate 0.01",
    "allocation": "Random allocation: each record in one random step, σ = 1, δ = 1e-5",
}
ACROSS = ("steps", "distinct", "delta", "allocation")
"""Tables with a row for each size and a column for each library."""

Batch = Iterable[Sequence[str]]


def table(head: Sequence[str], rows: Batch) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return (
        "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
        + "\n"
    )


def number(value: float | None, form: str) -> str:
    """Return a number, an infinity, or nothing."""
    if value is None:
        return ""
    return format(value, form) if math.isfinite(value) else "NaN" if math.isnan(value) else "∞"


def verdict(result: Result) -> str:
    """Return error, width and whether a claim is broken, in one cell."""
    if not result.first:
        return "–"
    width = f" ({number(result.width, '.0e')})" if result.width is not None else ""
    mark = " **broken**" if result.broken is not None else ""
    return (
        number(result.error, "+.1e") + width + mark
        if result.truth
        else number(result.first["value"], ".6g") + width
    )


def cost(result: Result) -> str:
    """Return seconds and memory in one cell."""
    return (
        f"{number(result.seconds, '.2f')} s, {number(result.peak, '.0f')} MiB"
        if result.first
        else result.reason
    )


def largest(values: Iterable[float | None]) -> float | None:
    """Return the largest of those there are."""
    return max((value for value in values if value is not None), default=None)


def by_case(case: Case, results: Sequence[Result]) -> str:
    """Return the table of one case: a row for each setting, a column for each argument."""
    of: dict[str, dict[float, Result]] = defaultdict(dict)
    for result in results:
        of[result.setting][result.at] = result
    name = "α" if case.kind == "beta" else "δ"
    rows = []
    for setting, outcome in of.items():
        answers = [outcome[at] for at in case.at if at in outcome]
        if not any(result.first for result in answers):
            rows.append([setting, answers[0].reason, *[""] * (len(case.at) + 2)])
            continue
        cells = [verdict(outcome[at]) if at in outcome else "" for at in case.at]
        seconds, later = (largest(getattr(r, column) for r in answers) for column in ("seconds", "later"))
        rows.append(
            [
                setting,
                *cells,
                number(seconds, ".2f"),
                number(later, ".2f"),
                number(largest(r.peak for r in answers), ".0f"),
            ]
        )
    head = ["", *(f"error (width) at {name} = {at:g}" for at in case.at), "seconds", "later", "MiB"]
    return f"### {case.id}: {case.description}\n\n{table(head, rows)}"


def across(group: str, chosen: Sequence[Case], results: Sequence[Result]) -> str:
    """Return the two tables of a scaling group: cost, then error."""
    settings = list(dict.fromkeys(result.setting for result in results))
    of = {(r.setting, r.case, r.at): r for r in results}
    places = [(case, at) for case in chosen if case.group == group for at in case.at]

    def cells(write: Callable[[Result], str]) -> Batch:
        for case, at in places:
            name = f"{at:g}" if group == "delta" else case.description
            outcome = [of.get((setting, case.id, at)) for setting in settings]
            if any(outcome):
                yield [name, *(write(result) if result else "" for result in outcome)]

    head = ["", *settings]
    return f"Time and memory:\n\n{table(head, cells(cost))}\nError (width):\n\n{table(head, cells(verdict))}"


def claims(results: Sequence[Result]) -> str:
    """Return how many bounds of each setting do not hold, and the worst of them."""
    rows = []
    for setting in dict.fromkeys(result.setting for result in results):
        answered = [r for r in results if r.setting == setting and r.first]
        wrong = [(r.broken, r) for r in answered if r.broken is not None]
        by, worst = max(wrong, key=lambda row: row[0], default=(None, None))
        place = f"{worst.case} at {worst.at:g}" if worst else ""
        rows.append([setting, str(len(answered)), str(len(wrong)), number(by, ".1e"), place])
    return CLAIMS + table(["", "answers", "claims broken", "worst by", "where"], rows)


def summary(results: Sequence[Result]) -> str:
    """Return one row for each setting."""
    rows = []
    for setting in dict.fromkeys(result.setting for result in results):
        mine = [r for r in results if r.setting == setting]
        answered = [r for r in mine if r.first]
        imported = next((r.answer["imported"] for r in mine if "imported" in r.answer), {})
        times = [r.seconds for r in answered]
        rows.append(
            [
                setting,
                imported.get("version", ""),
                f"{len(answered)} of {len(mine)}",
                str(sum(r.broken is not None for r in answered)),
                number(statistics.median(times) if times else None, ".3f"),
                number(largest(times), ".2f"),
                number(largest(r.later for r in answered), ".2f"),
                number(largest(r.peak for r in answered), ".0f"),
                number(imported.get("mebibytes"), ".0f"),
                number(imported.get("seconds"), ".2f"),
            ]
        )
    head = [
        "",
        "version",
        "answered",
        "claims broken",
        "median s",
        "largest s",
        "largest later s",
        "largest MiB",
        "MiB at import",
        "import s",
    ]
    return f"## Summary\n\n{table(head, rows)}"


def broken(results: Sequence[Result]) -> str:
    """Return every claim that does not hold."""
    rows = []
    for r in results:
        if r.broken is not None and r.truth:
            claimed = ", ".join(
                f"{side} {r.first[side]:.12g}" for side in ("lower", "upper") if side in r.first
            )
            rows.append(
                [r.setting, r.case, f"{r.at:g}", claimed, f"{r.truth.value:.12g}", number(r.broken, ".1e")]
            )
    body = table(["", "case", "at", "claimed", "truth", "by"], rows) if rows else "None.\n"
    return f"## Claims broken\n\n{body}"


def unanswered(results: Sequence[Result], missing: Mapping[str, str]) -> str:
    """Return what was not answered, and why."""
    why: dict[tuple[str, str], list[str]] = defaultdict(list)
    for r in results:
        if not r.first:
            why[r.setting, r.reason].append(f"{r.case} at {r.at:g}")
    rows = [[setting, reason, "; ".join(places)] for (setting, reason), places in why.items()]
    rows += [[name, f"not installed: {reason}", "all"] for name, reason in missing.items()]
    return "## Not answered\n\n" + (table(["", "reason", "questions"], rows) if rows else "None.\n")


def page(
    results: Sequence[Result], chosen: Sequence[Case], missing: Mapping[str, str], options: Mapping[str, Any]
) -> str:
    """Return the whole page."""
    head = INTRODUCTION.format(
        date=dt.datetime.now(tz=dt.UTC).date().isoformat(),
        cores=os.cpu_count(),
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30,
        python=platform.python_version(),
        load=options["load"],
        limit=options["memory"],
        **{name: options[name] for name in ("timeout", "budget")},
    )
    parts = [claims(results), head, summary(results)]
    for group, heading in HEADINGS.items():
        members = {case.id: case for case in chosen if case.group == group}
        inside = [r for r in results if r.case in members]
        if not inside:
            continue
        parts.append(f"## {heading}\n")
        if group in ACROSS:
            parts.append(across(group, chosen, inside))
        else:
            parts += [
                by_case(case, [r for r in inside if r.case == name])
                for name, case in members.items()
                if any(r.case == name for r in inside)
            ]
    return "\n".join([*parts, broken(results), unanswered(results, missing)])
