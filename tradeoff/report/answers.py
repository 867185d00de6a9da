"""Questions of a plan with two-sided answers, their certificates, and the paragraph for a paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tradeoff._version import __version__
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import NOT_EXACT, ONE_ORDER, limited
from tradeoff.curves.parameters import number
from tradeoff.curves.product import Tensor
from tradeoff.curves.query import explain_infinity
from tradeoff.display import Displayed, TextTable, exactly, plain, rounded
from tradeoff.errors import KindError, domain, shown
from tradeoff.intervals.bounds import Bounds
from tradeoff.mechanisms import Mechanism, Plan
from tradeoff.operators.pointwise import Maximum
from tradeoff.operators.symmetrise import Envelope
from tradeoff.sweeps import Table

if TYPE_CHECKING:
    from tradeoff.proofs import Certificate


PARAMETERS = {"epsilon": "delta", "delta": "epsilon", "beta": "alpha"}  # of each quantity
SYMBOLS = {"epsilon": "ε", "delta": "δ", "beta": "β", "alpha": "α"}
COLUMNS = ("question", "at least", "at most")


@dataclass(frozen=True)
class Answer:
    """Bounds on a quantity at one parameter value, ``lower <= truth <= upper``; an epsilon below 0 is 0."""

    argument: float
    lower: float
    upper: float


Line = tuple[str, str, Answer]  # a quantity, its parameter, and its bounds there


@dataclass(frozen=True, repr=False)
class Answers(Displayed):
    """Bounds on epsilon at each delta, delta at each epsilon, and beta at each alpha."""

    epsilon: tuple[Answer, ...] = ()
    delta: tuple[Answer, ...] = ()
    beta: tuple[Answer, ...] = ()
    assumptions: tuple[str, ...] = ()  # unproved statements on which the curve rests
    one_order: bool = False  # whether the curve is of one order of the neighbouring pair
    exact: bool = True  # whether both bounds are of the mechanism
    reasons: tuple[str, ...] = ()  # why an epsilon is infinite

    def __iter__(self) -> Iterator[Line]:
        for name, parameter in PARAMETERS.items():
            for answer in getattr(self, name):
                yield name, parameter, answer

    def grid(self) -> TextTable:
        notes = [ONE_ORDER] * self.one_order + [NOT_EXACT] * (not self.exact)
        notes += [*self.reasons, *(f"assumes: {each}" for each in self.assumptions)]
        return TextTable([row(*each) for each in self], COLUMNS, notes=notes)

    def as_json(self) -> dict[str, Any]:
        """Return plain data: floats, infinite ones as "inf" or "-inf", as JSON has none; remarks if any."""
        result: dict[str, Any] = {name: [] for name in PARAMETERS}
        for name, parameter, each in self:
            numbers = (parameter, each.argument), ("lower", each.lower), ("upper", each.upper)
            result[name].append({key: finite(value) for key, value in numbers})
        remarks = ((name, getattr(self, name)) for name in ("one_order", "assumptions", "reasons"))
        return result | {name: value for name, value in remarks if value} | {"exact": self.exact}


def row(name: str, parameter: str, answer: Answer, digits: int = 10) -> tuple[str, str, str]:
    """Return a question and its bounds as texts, rounded outward to ``digits`` digits."""
    bounds = rounded(answer.lower, "lower", digits), rounded(answer.upper, "upper", digits)
    return f"{name} at {parameter} = {exactly(answer.argument)}", *bounds


def csv(lines: Iterable[Line], answers: Answers) -> str:
    """Write lines as CSV with every digit, and the assumptions of the answers; infinity is inf."""
    remarks = "; ".join(map(plain, answers.assumptions)), answers.exact
    rows = ((name, parameter, a.argument, a.lower, a.upper, *remarks) for name, parameter, a in lines)
    return Table(("answered", "question", "at", "lower", "upper", "assumes", "exact"), tuple(rows)).to_csv()


def latex(lines: Iterable[Line], answers: Answers) -> str:
    """Write lines as a LaTeX table for booktabs, bounds rounded outward to 6 digits."""
    notes = [f"Assumes: {plain(each)}" for each in answers.assumptions] + [NOT_EXACT] * (not answers.exact)
    rows = [row(*each, digits=6) for each in lines]
    return TextTable(rows, ("", *COLUMNS[1:]), "", notes, "<>>").latex() + "\n"


def finite(value: Any) -> Any:
    """Return plain data for JSON, which has no infinity ("inf" or "-inf") and no NaN (null)."""
    if not isinstance(value, float):
        return value
    return None if math.isnan(value) else f"{value:g}" if math.isinf(value) else value


def answer_query(
    curve: TradeOff,
    *,
    delta: Sequence[float] = (),
    epsilon: Sequence[float] = (),
    alpha: Sequence[float] = (),
    tol: float | None = None,
    step: Callable[[str], Any] = lambda _: None,
) -> Answers:
    """Bound epsilon (clamped at 0) at each delta, delta at each epsilon and beta at each alpha."""
    queries: dict[str, tuple[Sequence[float], Callable[..., Bounds]]] = {
        "epsilon": (delta, curve.bounds.epsilon),
        "delta": (epsilon, curve.bounds.delta),
        "beta": (alpha, curve.bounds),
    }
    result: dict[str, Any] = {"assumptions": curve.assumptions, "one_order": not curve.symmetric}
    for name, (values, query) in queries.items():
        if len(values) == 0:
            continue
        step(f"{name} at {len(values)} {PARAMETERS[name]}{'s' if len(values) > 1 else ''}")
        bounds = query(np.asarray(values, dtype=float), tol=tol)
        floor = 0.0 if name == "epsilon" else -math.inf
        lower, upper = ((np.maximum(side, floor) + 0.0).tolist() for side in bounds)  # + 0.0: no -0.0
        result[name] = tuple(map(Answer, map(float, values), lower, upper))
    is_infinite = any(math.isinf(each.lower) for each in result.get("epsilon", ()))
    reasons = (explain_infinity(curve),) if is_infinite else ()
    return Answers(**result, exact=curve.exact, reasons=reasons)


def certify_curve(
    curve: TradeOff, tol: float | None, **queries: Sequence[float]
) -> Iterator[tuple[Line, Certificate]]:
    """Yield certified answers in the order of ``Answers``."""
    from tradeoff.proofs.certify import certify

    for name, parameter in PARAMETERS.items():
        for value in queries.get(parameter, ()):
            certificate = certify(curve, name, value, tol=tol)  # type: ignore[arg-type]  # one of three
            floor = 0.0 if name == "epsilon" else -math.inf
            bounds = max(certificate.lower, floor), max(certificate.upper, floor)
            yield (name, parameter, Answer(value, *bounds)), certificate


def join_certificates(certificates: Sequence[Certificate]) -> str:
    """Return one certificate as its JSON, several as a JSON list."""
    texts = [each.to_json() for each in certificates]
    return texts[0] if len(texts) == 1 else "[" + ",\n".join(texts) + "]"


def factors(curve: TradeOff) -> dict[TradeOff, int]:
    """Return the factors of a product, in one order of an envelope; a curve is its own factor."""
    product = composition(curve)
    return dict((product.operands[0] if isinstance(product, Envelope) else product).factors)


def composition(curve: TradeOff) -> TradeOff:
    """Return the product of max(product, curve of its zCDP), which some plans guarantee; others as is."""
    if isinstance(curve, Maximum) and isinstance(curve.operands[0], Tensor) and not curve.exact:
        return limited(curve.operands[0], curve.tightness)
    return curve


_SCHEMES = {
    "poisson": "every batch is an independent Poisson sample, not one of shuffled data",
    "without-replacement": "every batch is a uniformly random set of a fixed number of records",
    "with-replacement": "every batch is a fixed number of independent uniform draws of one record",
    "allocated": "every record takes part in a fixed number of steps, chosen uniformly at random",
    "balls-in-bins": "every record is put into one batch, uniformly at random, and stays there",
    "shuffled": "every record is randomised on its own, and the outputs are shuffled",
}


def with_inner(mechanism: Mechanism) -> Iterator[Mechanism]:
    """Yield a mechanism, the one that it runs, and so on."""
    inner: Mechanism | None = mechanism
    while inner is not None:
        yield inner
        inner = getattr(inner, "mechanism", None)


def describe_sampling(plan: Plan) -> list[str]:
    """Return a sentence on each scheme by which mechanisms of a plan draw records."""
    users: dict[str, set[str]] = {}
    for mechanism in plan.mechanisms:
        for inner in with_inner(mechanism):
            users.setdefault(getattr(inner, "scheme", None) or "", set()).add(type(inner).__name__)
    return [
        f"The guarantee requires of {' and '.join(sorted(users[scheme]))} that {words}, and that the choice "
        "stays secret."
        for scheme, words in _SCHEMES.items()
        if scheme in users
    ]


def statement(plan: Plan | Mechanism, *, delta: float, failure: float | None = None) -> str:
    r"""Return a paragraph that states the guarantee of a plan, for a paper, numbers rounded to the safe side.

    It covers the mechanisms, :math:`(\varepsilon, \delta)`, :math:`\mu`, membership attacks, and the limits
    of the guarantee.

    Parameters
    ----------
    plan : a plan, or a mechanism that runs once
    delta : probability in [0, 1] at which epsilon is stated
    failure : failure probability of the Gaussian guarantee, in [0, 1]; default: that of ``gdp``

    Examples
    --------
    >>> import tradeoff as to
    >>> print(to.statement(to.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60), delta=1e-5))
    ... # doctest: +NORMALIZE_WHITESPACE
    The release consists of 14,063 runs of SubsampledGaussian (noise_multiplier = 1.1, sample_rate =
    0.00426667). For data sets that differ by adding or removing one record, it is (2.382, 1e-05)-DP (the
    exact epsilon is at least 2.381) and 0.5926-GDP except with probability 1e-10. A membership attack with a
    false-positive rate of 1 % has a true-positive rate of at most 4.03 %, and the advantage of any attack
    (true-positive minus false-positive rate) is at most 0.2245. Numbers are certified bounds, computed with
    tradeoff 0.1.0. The guarantee requires of SubsampledGaussian that every batch is an independent Poisson
    sample, not one of shuffled data, and that the choice stays secret. It covers one record, not several of
    one person, and not the choice of hyperparameters on the same data.
    """
    if isinstance(plan, Mechanism):
        plan = Plan({plan: 1}, plan.adjacency or "add-remove")
    if not isinstance(plan, Plan):
        raise KindError(f"plan must be a Plan or a mechanism, got {shown(plan)}")
    delta = number("delta", delta, 0, 1)
    f = plan.guarantee()
    epsilon, power = f.bounds.epsilon(delta), 100 * (1 - Bounds.of(f(0.01)))
    if math.isinf(epsilon.upper):
        least = rounded(f.mass_at_plus_infinity, "upper", 4)
        raise domain("delta", delta, f"so large that epsilon is finite, above {least}")
    least = rounded(max(epsilon.lower, 0.0), "lower", 4)
    most, reduction = rounded(max(epsilon.upper, 0.0), "upper", 4), f.gdp(failure=failure)
    unless = f" except with probability {reduction.failure:g}" if reduction.failure else ""
    described = []
    for mechanism, n in plan.mechanisms.items():  # the neighbours have a sentence of their own
        values = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in mechanism.parameters().items()}
        given = ", ".join(f"{k} = {v}" for k, v in values.items() if k != "adjacency")
        described.append(f"{n:,} run{'s' * (n != 1)} of {type(mechanism).__name__} ({given})")
    listed = " and ".join(filter(None, [", ".join(described[:-1]), *described[-1:]])) or "nothing"
    change = "by adding or removing" if plan.adjacency == "add-remove" else "in the value of"
    groups = ([getattr(inner, "group_size", 1) for inner in with_inner(m)] for m in plan.mechanisms)
    size = min(map(max, groups), default=1)
    records, covered = "one record", "one record, not several of one person"
    if size > 1:
        records, covered = f"up to {size} records", f"{size} records of one person, not more"
    both = f" (the exact epsilon is at least {least})" if f.exact else ""
    sentences = [
        f"The release consists of {listed}.",
        f"For data sets that differ {change} {records}, it is ({most}, {delta:g})-DP{both}",
        f"and {rounded(reduction.mu, 'upper', 4)}-GDP{unless}.",
        "A membership attack with a false-positive rate of 1 % has a true-positive rate of at most",
        f"{rounded(power.upper, 'upper', 3)} %, and the advantage of any attack (true-positive minus",
        f"false-positive rate) is at most {rounded(f.delta(0.0), 'upper', 4)}.",
        f"Numbers are certified bounds, computed with tradeoff {__version__}.",
        *(f"They assume: {each}" for each in f.assumptions),
        *describe_sampling(plan),
    ]
    kinds = {mechanism.kind for mechanism in plan.mechanisms}
    if kinds & {"randomized-response", "rappor", "subset-selection"}:
        sentences.append("Of a local randomiser, a record is one answer, which is replaced.")
    choices = {"best-of-runs", "repeat-and-select"}
    if kinds & choices:
        sentences.append(
            "The number of runs is random as stated, and stays secret with all runs but the best."
        )
    if not kinds or kinds - choices:
        covered += ", and not the choice of hyperparameters on the same data"
    return " ".join([*sentences, f"It covers {covered}."])
