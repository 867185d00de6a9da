"""``tradeoff ledger``: a budget on disk that several processes share."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from tradeoff.cli.questions import Json
from tradeoff.display import plain, rounded
from tradeoff.errors import DomainError, domain

if TYPE_CHECKING:
    from tradeoff.filters import Entry, Filter, Ledger

Held = Annotated[Path, Parameter(help="A ledger.")]
New = Annotated[Path, Parameter(help="File to make; it must not exist.")]

app = App(name="ledger", help_format="markdown", help="A shared privacy budget that no crash can cheat.")


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
    rounds: int | None = None,
) -> None:
    """Make a ledger: give --mu, or --rho, or --epsilon with --delta or --order or alone, or rounds of DP-SGD.

    Parameters
    ----------
    mu
        Budget of Gaussian differential privacy: squares of mu add up.
    rho
        Budget of zero-concentrated differential privacy: rho adds up.
    epsilon
        Loss of the whole in nats: with --delta through zCDP, alone by adding up pure losses; with --order
        the Renyi divergence of that order, which knows sampling.
    delta
        Failure probability of the whole.
    order
        Order of a Renyi divergence, above 1.
    noise_multiplier
        Of DP-SGD, composed exactly: its rounds are spent with --kind subsampled-gaussian.
    sample_rate
        Of DP-SGD: the chance of a record to be in a round.
    rounds
        Of DP-SGD.
    """
    from tradeoff.filters import Ledger

    given = {"mu": mu, "rho": rho, "epsilon": epsilon, "delta": delta, "order": order}
    given |= {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, "rounds": rounds}
    budget = _filter({name: value for name, value in given.items() if value is not None})
    ledger = Ledger.create(file, budget)
    _say(f"{file}: {_told(ledger.entries()[0])}")


def _filter(given: dict[str, float]) -> Filter:
    from tradeoff import filters

    kinds: dict[tuple[str, ...], Callable[..., Filter]] = {
        ("mu",): filters.GDPFilter,
        ("rho",): filters.RhoFilter,
        ("epsilon",): filters.PureDPFilter,
        ("epsilon", "delta"): filters.ZCDPFilter,
        ("order", "epsilon"): filters.RenyiFilter,
        ("noise_multiplier", "sample_rate", "rounds"): filters.SampledFilter,
    }
    for names, kind in kinds.items():
        if given.keys() == set(names):
            return kind(*(given[name] for name in names))
    raise DomainError(
        "a ledger has one budget: give --mu, or --rho, or --epsilon, or --epsilon and --delta, "
        "or --epsilon and --order, or --noise-multiplier, --sample-rate and --rounds"
    )


@app.command
def spend(
    file: Held,
    *,
    kind: str,
    count: int = 1,
    adjacency: str = "add-remove",
    head: str | None = None,
    **parameters: float,
) -> None:
    """Grant a mechanism and record it, or refuse it, record nothing, and end with code 2.

    Parameters
    ----------
    kind
        Kind of mechanism, as in plan files.
    count
        How often it runs, as one step; from 1.
    adjacency
        Neighbours, as in plan files: add-remove or replace-one.
    head
        The head that the ledger must have; another one is refused.
    parameters
        Numbers of the kind, as in plan files: --noise-multiplier 10.
    """
    from tradeoff.mechanisms import Plan
    from tradeoff.spec.plan_file import read_mechanism

    ledger = _ledger(file)
    if count == 0:
        raise domain("count", count, "an integer from 1")
    keys = {name.replace("-", "_"): value for name, value in parameters.items()}
    mechanism = read_mechanism("spend", {"kind": kind, **keys})
    plan = Plan({mechanism: count}, adjacency)  # type: ignore[arg-type]  # checked there
    entry = ledger.spend(mechanism if count == 1 else plan, head=head)
    _say(f"{file}: {_told(entry)}")


@app.command
def status(file: Held, *, as_json: Json = False) -> None:
    """Print what was spent and what is left.

    Parameters
    ----------
    as_json
        Print it as JSON.
    """
    entry = _ledger(file).last
    if as_json:
        told = {"file": str(file), "filter": entry.state["kind"], "steps": entry.step}
        told |= {**entry.totals, "time": entry.time, "head": entry.hash}
        _say(json.dumps(told, allow_nan=False))
    else:
        _say(f"{file}: {_told(entry)}")


@app.command
def verify(file: Held, *, head: str | None = None) -> None:
    """Check every entry and the chain of hashes.

    Parameters
    ----------
    head
        A head known from before: a file put back to an earlier state is found only with it.
    """
    found = _ledger(file).verify(head)
    _say(f"{file}: every entry is as it was written\nhead {found}")


@app.command
def export(
    file: Held, *, form: Annotated[Literal["json", "csv"], Parameter(name="--format")] = "json"
) -> None:
    """Print all entries as JSON or CSV.

    Parameters
    ----------
    form
        json or csv.
    """
    ledger = _ledger(file)
    if form == "csv":
        ledger.to_csv(sys.stdout)
    else:
        ledger.to_json(sys.stdout)
        sys.stdout.write("\n")
    sys.stdout.flush()


@app.command
def backup(file: Held, copy: New) -> None:
    """Write a copy, with every entry checked, while others go on spending.

    It is a second budget: never spend from both.
    """
    _say(f"{copy}: a copy of {file}\nhead {_ledger(file).backup(copy)}")


@app.command
def convert(file: Path, new: New) -> None:
    """Write a ledger of the first format, an SQLite file, anew.

    The same entries, checked, with the same head.

    Parameters
    ----------
    file
        A ledger of the first format, with the files -wal and -shm beside it.
    """
    from tradeoff.filters import Ledger

    _say(f"{new}: {_told(Ledger.convert(file, new).last)}")


def _ledger(file: Path) -> Ledger:
    """Return the ledger in a file; where there is none, say which command makes one."""
    from tradeoff.filters import Ledger

    try:
        file.stat()
    except FileNotFoundError:
        missing = f"{file}: cannot be read: no such file; tradeoff ledger init makes a new ledger"
        raise DomainError(missing) from None
    except OSError:
        pass  # the ledger itself says why it cannot be read
    return Ledger(file)


def _told(entry: Entry) -> str:
    """Write an entry for a reader: spent rounded up, remaining rounded down."""
    budget, spent, remaining = (_written(entry.totals[name], side) for name, side in _SIDES.items())
    where = f"step {entry.step}: spent {spent}, remaining {remaining}"
    return f"{entry.state['kind']} budget {budget}\n{where}\nhead {entry.hash}"


# The safe side of each number, to which it is rounded when printed.
_SIDES: dict[str, Literal["lower", "upper"]] = {"budget": "lower", "spent": "upper", "remaining": "lower"}


def _written(value: Any, side: Literal["lower", "upper"]) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name} = {_written(each, side)}" for name, each in value.items()) + ")"
    if isinstance(value, list):
        return "(" + ", ".join(_written(each, side) for each in value) + ")"
    return rounded(value, side) if isinstance(value, float) else str(value)


def _say(text: str) -> None:
    print(*map(plain, text.split("\n")), sep="\n", flush=True)
