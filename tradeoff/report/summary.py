"""A plan as plain data: the keys of a plan file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.mechanisms import Plan
from tradeoff.mechanisms.plan import plain
from tradeoff.operators.symmetrise import Envelope


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
    return {"title": title, **plain(plan)}


def rows(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Yield the number of runs, the kind and the parameters of each mechanism, as a table has them."""
    for each, n in plan.mechanisms.items():
        given = plain(each.parameters()).items()
        yield f"{n:,}", each.kind, ", ".join(f"{name} = {value}" for name, value in given)
