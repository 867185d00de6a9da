"""Questions of a plan file with two-sided answers, their certificates, and the plan as plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import NOT_EXACT, ONE_ORDER, limited
from tradeoff.curves.product import Tensor
from tradeoff.curves.query import explain_infinity
from tradeoff.display import Displayed, TextTable, exactly, plain, rounded
from tradeoff.errors import TradeOffError
from tradeoff.intervals.bounds import Bounds
from tradeoff.mechanisms import Plan
from tradeoff.mechanisms.plan import plain as plain_data
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
        """Yield (quantity, parameter, answer)."""
        for name, parameter in PARAMETERS.items():
            for answer in getattr(self, name):
                yield name, parameter, answer

    def grid(self) -> TextTable:
        notes = [ONE_ORDER] * self.one_order + [NOT_EXACT] * (not self.exact)
        notes += [*self.reasons, *(f"assumes: {each}" for each in self.assumptions)]
        return TextTable([row(*each) for each in self], COLUMNS, notes=notes)

    def as_json(self) -> dict[str, Any]:
        """Return plain data in which infinity is the string ``"inf"``, as JSON has none.

        Examples
        --------
        >>> Answers(epsilon=(Answer(0.0, 1.5, float("inf")),)).as_json()["epsilon"]
        [{'delta': 0.0, 'lower': 1.5, 'upper': 'inf'}]
        """
        result: dict[str, Any] = {name: [] for name in PARAMETERS}
        for name, parameter, answer in self:
            bounds = {"lower": finite(answer.lower), "upper": finite(answer.upper)}
            result[name].append({parameter: finite(answer.argument), **bounds})
        if self.one_order:
            result["one_order"] = True
        if self.assumptions:
            result["assumptions"] = list(self.assumptions)
        if self.reasons:
            result["reasons"] = list(self.reasons)
        return result | {"exact": self.exact}


def row(name: str, parameter: str, answer: Answer, digits: int = 10) -> tuple[str, str, str]:
    """Return a question and its bounds as texts, rounded outward to ``digits`` digits."""
    bounds = rounded(answer.lower, "lower", digits), rounded(answer.upper, "upper", digits)
    return f"{name} at {parameter} = {exactly(answer.argument)}", *bounds


def csv(lines: Iterable[Line], assumptions: Iterable[str], *, exact: bool = True) -> str:
    """Write answers as CSV with every digit; infinity is inf."""
    assumed = "; ".join(map(plain, assumptions))
    rows = ((name, parameter, a.argument, a.lower, a.upper, assumed, exact) for name, parameter, a in lines)
    return Table(("answered", "question", "at", "lower", "upper", "assumes", "exact"), tuple(rows)).to_csv()


def latex(lines: Iterable[Line], assumptions: Iterable[str], *, exact: bool = True) -> str:
    r"""Write answers as a LaTeX table for booktabs, bounds rounded outward to 6 digits.

    Examples
    --------
    >>> print(latex([("delta", "epsilon", Answer(1.0, 0.5, 0.75))], ["the noise is as stated"]), end="")
    % Assumes: the noise is as stated
    \begin{tabular}{lrr}
    \toprule
     & at least & at most \\
    \midrule
    $\delta$ at $\varepsilon = 1$ & 0.5 & 0.75 \\
    \bottomrule
    \end{tabular}
    """
    notes = [f"Assumes: {plain(each)}" for each in assumptions] + [NOT_EXACT] * (not exact)
    rows = [row(*each, digits=6) for each in lines]
    return TextTable(rows, ("", *COLUMNS[1:]), "", notes, "<>>").latex() + "\n"


def finite(value: float) -> float | str:
    """Return ``value``, or its name if it is infinite."""
    return f"{value:g}" if math.isinf(value) else value


def answer_query(
    curve: TradeOff,
    *,
    delta: Sequence[float] = (),
    epsilon: Sequence[float] = (),
    alpha: Sequence[float] = (),
    tol: float | None = None,
    step: Callable[[str], Any] = lambda _: None,
) -> Answers:
    """Bound epsilon at each delta, delta at each epsilon and beta at each alpha.

    Epsilon is clamped at 0 from below; ``step`` is called with a description before each kind of question.
    """
    queries: dict[str, tuple[Sequence[float], Callable[..., Bounds]]] = {
        "epsilon": (delta, curve.bounds.epsilon),
        "delta": (epsilon, curve.bounds.delta),
        "beta": (alpha, curve.bounds),
    }
    result: dict[str, Any] = {}
    for name, (values, query) in queries.items():
        if len(values) == 0:
            continue
        step(f"{name} at {len(values)} {PARAMETERS[name]}{'s' if len(values) > 1 else ''}")
        bounds = query(np.asarray(values, dtype=float), tol=tol)
        if not np.all(bounds.lower <= bounds.upper):  # NaN too, which must not pass for a small loss
            raise TradeOffError(f"there are no bounds at {list(values)}: {bounds}; please report this")
        floor = 0.0 if name == "epsilon" else -math.inf
        lower, upper = ((np.maximum(side, floor) + 0.0).tolist() for side in bounds)  # + 0.0: no -0.0
        result[name] = tuple(map(Answer, map(float, values), lower, upper))
    is_infinite = any(math.isinf(each.lower) for each in result.get("epsilon", ()))
    reasons = (explain_infinity(curve),) if is_infinite else ()
    return replace(
        Answers(**result),
        assumptions=curve.assumptions,
        one_order=not curve.symmetric,
        exact=curve.exact,
        reasons=reasons,
    )


def certify_plan(
    plan: Plan, tol: float | None, **queries: Sequence[float]
) -> Iterator[tuple[Line, Certificate]]:
    """Yield certified answers for every ordered pair of neighbours, in the order of ``Answers``."""
    from tradeoff.proofs.certify import certify

    curve = plan.guarantee()
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
    """Return the product inside a guarantee that is the greater of it and of what its zCDP implies."""
    if isinstance(curve, Maximum) and isinstance(curve.operands[0], Tensor) and not curve.exact:
        return limited(curve.operands[0], curve.tightness)
    return curve


def mechanism_rows(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Yield the number of runs, the kind and the parameters of each mechanism as texts."""
    for each, n in plan.mechanisms.items():
        parameters = plain_data(each.parameters()).items()
        yield f"{n:,}", each.kind, ", ".join(f"{name} = {value}" for name, value in parameters)
