"""dp_accounting, and all that speaks its events (jax_privacy, tensorflow_privacy): events and PLDs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tradeoff.errors import needed
from tradeoff.interop.dp_accounting.events import from_event, to_event
from tradeoff.interop.dp_accounting.pld import Orders, from_pld, to_pld

__all__ = ["Accountant", "Orders", "from_event", "from_pld", "to_event", "to_pld"]

if TYPE_CHECKING:
    from tradeoff.interop.dp_accounting.accountant import Accountant


def __getattr__(name: str) -> Any:
    """Import ``Accountant`` when it is first used, as its base class is dp_accounting's."""
    if name != "Accountant":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    needed("dp_accounting", "an Accountant is a dp_accounting.PrivacyAccountant: pip install dp-accounting")
    from tradeoff.interop.dp_accounting.accountant import Accountant

    return Accountant
