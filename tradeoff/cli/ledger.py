"""``tradeoff ledger``: a budget on disk that several processes share."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from tradeoff.cli.terminal import Integer, Json, flag_of
from tradeoff.display import exactly, plain, rounded
from tradeoff.errors import DomainError, TradeOffError

if TYPE_CHECKING:
    from tradeoff.curves.contract import TradeOff
    from tradeoff.filters import Entry, Filter, Ledger

File = Annotated[Path, Parameter(help="A ledger.")]
New = Annotated[Path, Parameter(help="File to create; it must not exist.")]

app = App(
    name="ledger", help_format="markdown", help="A privacy budget in a file that several processes share."
)


@app.command
def init(
    file: New,
    *,
    mu: float | None = None,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    order: float | None = None,
    noise_multiplier: float | None = None,
    sample_rate: float | None = None,
    rounds: Integer | None = None,
) -> None:
    """Create a ledger with one budget: --mu, --rho, --epsilon (with --delta or --order), or rounds of DP-SGD.

    Args:
        mu: Budget of Gaussian differential privacy: squares of mu add up.
        rho: Budget of zero-concentrated differential privacy: rho adds up.
        epsilon: Total loss in nats: with --delta through zCDP, alone as a sum of pure losses; with --order
            the Renyi divergence of that order, which benefits from sampling.
        delta: Total failure probability.
        order: Order of a Renyi divergence, above 1.
        noise_multiplier: Of DP-SGD, composed exactly: its rounds are spent with --kind subsampled-gaussian.
        sample_rate: Of DP-SGD: the probability of a record to be in a round.
        rounds: Number of rounds of DP-SGD.
    """
    from tradeoff import filters

    kinds: dict[tuple[str, ...], Callable[..., Filter]] = {
        ("mu",): filters.GDPFilter,
        ("rho",): filters.RhoFilter,
        ("epsilon",): filters.PureDPFilter,
        ("epsilon", "delta"): filters.ZCDPFilter,
        ("order", "epsilon"): filters.RenyiFilter,
        ("noise_multiplier", "sample_rate", "rounds"): filters.SampledFilter,
    }
    values = {"mu": mu, "rho": rho, "epsilon": epsilon, "delta": delta, "order": order}
    values |= {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, "rounds": rounds}
    given = {name: value for name, value in values.items() if value is not None}
    for names, kind in kinds.items():
        if given.keys() == set(names):
            ledger = filters.Ledger.create(file, kind(*(given[name] for name in names)))
            _print(f"{file}: {_describe(ledger.entries()[0])}")
            return
    *budgets, typed = (" with ".join(map(flag_of, names)) for names in (*kinds, given))
    raise DomainError(f"the budget must be one of {', '.join(budgets)}, got {typed or 'no flag'}")


@app.command
def spend(
    file: File,
    *,
    kind: str,
    count: Integer = 1,
    adjacency: str = "add-remove",
    head: str | None = None,
    **parameters: float,
) -> None:
    """Record a mechanism if the budget allows it, or refuse it with exit code 2.

    Args:
        kind: Kind of mechanism, as in plan files.
        count: Number of runs, as one step; from 1.
        adjacency: Neighbours, as in plan files: add-remove or replace-one.
        head: The head that the ledger must have.
        parameters: Parameters of the kind, as in plan files: --noise-multiplier 10.
    """
    from tradeoff.mechanisms import Plan
    from tradeoff.spec.plan_file import MECHANISMS, read_mechanism

    ledger = _ledger(file)
    if count < 1:
        raise DomainError(f"count must be at least 1, got {count}")
    keys: dict[str, Any] = {name.replace("-", "_"): value for name, value in parameters.items()}
    if adjacency != "add-remove" and kind in MECHANISMS and "adjacency" in MECHANISMS[kind].parameters:
        keys["adjacency"] = adjacency
    try:
        mechanism = read_mechanism("spend", {"kind": kind, **keys})
    except TradeOffError as error:  # about a key "spend.KEY ...", and others in its remedy: flags here
        key, _, rest = str(error).removeprefix("spend.").partition(" ")
        flags = re.sub(r"(?<=[:,] )[a-z]\w*(?=[,;]|$)|(?<=mean )\w+(?=\?)", lambda m: flag_of(m[0]), rest)
        raise DomainError(f"{flag_of(key)} {rest if key == 'kind' else flags}") from error
    plan = Plan({mechanism: count}, adjacency)  # type: ignore[arg-type]  # checked there
    entry = ledger.spend(mechanism if count == 1 else plan, head=head)
    _print(f"{file}: {_describe(entry, mechanism.curve())}")


@app.command
def status(file: File, *, as_json: Json = False) -> None:
    """Print the promise, and the spent and the remaining budget.

    Args:
        as_json: Print it as JSON.
    """
    entry = _ledger(file).last
    if as_json:
        summary = {"file": str(file), "filter": entry.state["kind"], "steps": entry.step}
        summary |= {**entry.totals, "time": entry.time, "head": entry.hash}
        _print(json.dumps(summary, allow_nan=False))
    else:
        _print(f"{file}: {_describe(entry)}")


@app.command
def steps(file: File) -> None:
    """Print a line for each granted step, with the budget spent after it."""
    from tradeoff.display import TextTable
    from tradeoff.filters.base import Filter, format_amount

    columns = ("step", "time", "mechanism", "spent in all")
    rows = []
    for entry in _ledger(file).entries()[1:]:
        spent = format_amount(Filter.from_state(entry.state).spent, up=True)
        rows.append((str(entry.step), entry.time[:19], entry.name, spent))
    _print(TextTable(rows, columns, sides="><<<").text())


@app.command
def verify(file: File, *, head: str | None = None) -> None:
    """Check every entry and the chain of hashes.

    Args:
        head: An earlier head: only with it can a file that was restored to an older state be detected.
    """
    head_now = _ledger(file).verify(head)
    _print(f"{file}: every entry is as it was written\nhead {head_now}")


@app.command
def export(
    file: File, *, form: Annotated[Literal["json", "csv"], Parameter(name="--format")] = "json"
) -> None:
    """Print all entries as JSON or CSV.

    Args:
        form: json or csv.
    """
    ledger = _ledger(file)
    sys.stdout.write(ledger.to_csv() if form == "csv" else ledger.to_json() + "\n")
    sys.stdout.flush()


@app.command
def backup(file: File, copy: New) -> None:
    """Write a checked copy while other processes spend.

    It is a separate budget: never spend from both.
    """
    _print(f"{copy}: a copy of {file}\nhead {_ledger(file).backup(copy)}")


def _ledger(file: Path) -> Ledger:
    """Open a ledger, with an error that names the command."""
    from tradeoff.filters import Ledger

    if not file.exists():
        raise DomainError(f"{file}: no such file; create a ledger with tradeoff ledger init")
    return Ledger(file)


def _describe(entry: Entry, curve: TradeOff | None = None) -> str:
    """Describe the filter of an entry in four lines, with a note if its step is a curve that is sampled."""
    from tradeoff.filters import Filter, ZCDPFilter
    from tradeoff.filters.base import SLACK, format_amount
    from tradeoff.intervals.bounds import Bounds

    filter_ = Filter.from_state(entry.state)
    budget, remaining = (format_amount(each, up=False) for each in (filter_.budget, filter_.remaining))
    spent = format_amount(filter_.spent, up=True)
    values = {name: exactly(value) for name, value in filter_.parameters().items()}
    given = ", ".join(f"{name} = {value}" for name, value in values.items())
    share, promise = "", f"{filter_.guarantee()!r}"
    notions = {"gdp": "{mu}-GDP", "pure-dp": "{epsilon}-DP", "renyi": "({order}, {epsilon})-RDP"}
    notions |= {"rho-zcdp": "{rho}-zCDP"} if values.get("delta") == "0" else {}
    if notion := notions.get(filter_.kind):
        promise = f"{notion.format(**values)}, within a factor of 1 + {SLACK:g}"
    if isinstance(filter_, ZCDPFilter):  # whose spent rho has no meaning next to its epsilon
        promise = "({epsilon}, {delta})-DP".format(**values)
        spent_rho, rho = filter_.spent[0], filter_.budget[0]
        percent = (100 * Bounds.of(spent_rho) / rho).upper if rho else 0.0
        share = f", {rounded(percent, 'upper', 3)} % of its rho spent"
    promise += "".join(f"; assumes: {each}" for each in filter_.assumptions)
    return "\n".join(
        [
            f"{filter_.kind} filter of {given}; budget {budget}",
            f"step {entry.step}: spent {spent}, remaining {remaining}{filter_.note_sampling(curve)}",
            f"promise for all steps, later ones included{share}: {promise}",
            f"head {entry.hash}",
        ]
    )


def _print(text: str) -> None:
    print(*map(plain, text.split("\n")), sep="\n", flush=True)
