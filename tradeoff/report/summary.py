"""A plan as plain data: the keys of a plan file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import limited
from tradeoff.curves.product import Tensor
from tradeoff.mechanisms import Plan
from tradeoff.mechanisms.plan import plain
from tradeoff.operators.pointwise import Maximum
from tradeoff.operators.symmetrise import Envelope


def factors(curve: TradeOff) -> dict[TradeOff, int]:
    """Return the factors of a product, in one order of an envelope; a curve is its own factor."""
    product = composition(curve)
    return dict((product.operands[0] if isinstance(product, Envelope) else product).factors)


def composition(curve: TradeOff) -> TradeOff:
    """Return the product, of a guarantee that is the greater of it and of what its zCDP leaves."""
    if isinstance(curve, Maximum) and isinstance(curve.operands[0], Tensor) and not curve.exact:
        return limited(curve.operands[0], curve.tightness)
    return curve


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
