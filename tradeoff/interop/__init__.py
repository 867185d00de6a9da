"""Ways in from the neighbouring libraries, and out to them; none of them is needed to import this."""

from tradeoff.interop import dp_accounting, fdp, opacus, opendp

__all__ = ["dp_accounting", "fdp", "opacus", "opendp"]
