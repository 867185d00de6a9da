"""A plan as plain data: the keys of a plan file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.mechanisms import Mechanism, Plan
from tradeoff.operators.symmetrise import Envelope
from tradeoff.report.answers import finite


def factors(curve: TradeOff) -> dict[TradeOff, int]:
    """Return the factors of a product, in one order of an envelope; a curve is its own factor."""
    return dict((curve.operands[0] if isinstance(curve, Envelope) else curve).factors)


def summary(title: str, plan: Plan) -> dict[str, Any]:
    """Return a plan under the keys its file has; infinity is the string ``"inf"``.

    Examples
    --------
    >>> from tradeoff.mechanisms import Gaussian
    >>> summary("one", Plan({Gaussian(2): 3}))["mechanism"]
    [{'kind': 'gaussian', 'noise_multiplier': 2.0, 'count': 3}]
    """
    mechanisms = [{"kind": each.kind, **parameters(each), "count": n} for each, n in plan.mechanisms.items()]
    return {"title": title, "adjacency": plan.adjacency, "mechanism": mechanisms}


def parameters(mechanism: Mechanism) -> dict[str, Any]:
    """Return the parameters of a mechanism by name."""
    return {name: _plain(value) for name, value in mechanism.parameters().items()}


def rows(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Yield the count, the kind and the parameters of each mechanism, as a table has them."""
    for each, n in plan.mechanisms.items():
        yield f"{n:,}", each.kind, ", ".join(f"{name} = {value}" for name, value in parameters(each).items())


def _plain(value: Any) -> Any:
    if isinstance(value, Mechanism):
        return {"kind": value.kind, **parameters(value)}
    if isinstance(value, TradeOff):
        return repr(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return finite(value) if isinstance(value, float) else value
