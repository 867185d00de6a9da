"""dp_accounting, and libraries with its events (jax_privacy, tensorflow_privacy): events and PLDs."""

from tradeoff.interop.dp_accounting.events import from_event, to_event
from tradeoff.interop.dp_accounting.pld import Orders, from_pld, to_pld

__all__ = ["Orders", "from_event", "from_pld", "to_event", "to_pld"]
