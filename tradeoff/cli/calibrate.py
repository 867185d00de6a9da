"""``tradeoff calibrate``: the number of a plan file that just meets a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tradeoff.atomic_write import atomic_write
from tradeoff.cli.questions import Flag, Source, composed, read_source
from tradeoff.cli.terminal import progress
from tradeoff.display import plain
from tradeoff.errors import DomainError
from tradeoff.report.saving import check_target

if TYPE_CHECKING:
    from tradeoff.curves.contract import TradeOff


_TARGETS = (("epsilon", "delta"), ("mu",), ("mu", "failure"), ("alpha", "beta"), ("advantage",))
_TOLD = ("--epsilon with --delta", "--mu (with --failure)", "--beta with --alpha", "--advantage")


def calibrate(
    plan: Source,
    *,
    vary: str,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    failure: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    advantage: float | None = None,
    tol: float = 1e-9,
    write: Flag = False,
) -> None:
    """Find the number of a plan that just meets a target, and print the plan with it.

    The target is --epsilon with --delta, --mu (with --failure), --beta with --alpha, or --advantage; it is
    met for every ordered pair of neighbours. The guarantee reached follows the plan as comments.

    Parameters
    ----------
    vary
        The number to find, as mechanism[2].noise_multiplier: the tables are counted from 1, as they stand.
    epsilon
        Most privacy loss, in nats; with --delta.
    delta
        Probability at which that loss holds.
    mu
        Most mu of a Gaussian bound on the whole curve.
    failure
        Probability that mu may leave out; default: 0.
    alpha
        Type I error; with --beta.
    beta
        Least type II error there.
    advantage
        Most advantage of an attack, its true less its false positive rate.
    tol
        Relative width within which the number is found.
    write
        Put the number into the file instead of printing the plan; everything else there stays.
    """
    from tradeoff.design.calibration import calibrate as calibrated
    from tradeoff.spec import loads
    from tradeoff.spec.plan_file import find_number, replace_number

    given = {"epsilon": epsilon, "delta": delta, "mu": mu, "failure": failure}
    given |= {"alpha": alpha, "beta": beta, "advantage": advantage}
    target = {name: value for name, value in given.items() if value is not None}
    if write and str(plan) == "-":
        raise DomainError("--write needs a plan file, got stdin")
    if write:
        check_target(plan, (plan.suffix.lower(),))
    content = read_source(plan)
    loads(content, name="stdin" if str(plan) == "-" else str(plan), folder=plan.parent)  # checks it
    if tuple(target) not in _TARGETS:
        flags = ", ".join(f"--{name}" for name in target) or "nothing"
        raise DomainError(f"the target is {flags}; give one of {', '.join(_TOLD)}")
    replace_number(content, vary, 1)  # checks the place

    def guarantee(value: float) -> TradeOff:
        return composed(loads(replace_number(content, vary, value), folder=plan.parent).plan)

    *_, is_integer = find_number(content, vary)
    with progress() as step:
        step(f"calibrating {plain(vary)}")
        result = calibrated(guarantee, target, integer=is_integer, tol=tol)
    text = replace_number(content, vary, result.value)
    if write:
        atomic_write(plan, text)
    else:
        print(text.rstrip("\r\n"))
    low, high = result.achieved
    print(f"# {vary} = {result.value!r}: {result.target}, reached in [{low!r}, {high!r}]")
    print(f"# the target is crossed between {result.bounds.lower!r} and {result.bounds.upper!r}")
