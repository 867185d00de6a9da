"""A privacy accountant with dp_accounting's interface; this module needs dp_accounting."""

from __future__ import annotations

from typing import Any

from dp_accounting import NeighboringRelation, PrivacyAccountant

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import TradeOffError, shown
from tradeoff.interop.dp_accounting import from_event


class Accountant(PrivacyAccountant):  # type: ignore[misc]  # dp_accounting has no types
    """Privacy accountant for code that takes a ``dp_accounting.PrivacyAccountant``.

    Parameters
    ----------
    neighboring_relation : a ``dp_accounting.NeighboringRelation``; see ``from_event``

    Examples
    --------
    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    >>> accountant = Accountant().compose(PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0)), 1000)
    >>> round(accountant.get_epsilon(1e-5), 4), round(accountant.get_delta(1.0), 6)
    (1.8282, 0.002612)
    """

    def __init__(self, neighboring_relation: Any = NeighboringRelation.ADD_OR_REMOVE_ONE) -> None:
        super().__init__(neighboring_relation)

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:  # noqa: FBT001 - its interface
        """Return an error for an event without a plan, else None: ``guarantee`` composes the ledger."""
        try:
            from_event(event, self.neighboring_relation)
        except TradeOffError as error:
            return self.CompositionErrorDetails(event, str(error))
        return None

    def guarantee(self) -> TradeOff:
        """Curve of all events so far, valid for both orders of the neighbours."""
        return from_event(self.ledger, self.neighboring_relation).guarantee()

    def get_epsilon(self, target_delta: float) -> float:
        """Return an upper bound on the least epsilon >= 0, in nats, at ``target_delta``."""
        return max(self.guarantee().epsilon(target_delta), 0.0)

    def get_delta(self, target_epsilon: float) -> float:
        """Return an upper bound on delta at ``target_epsilon``, in nats."""
        return self.guarantee().delta(target_epsilon)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.neighboring_relation.name}, ledger={shown(self.ledger)})"
