"""Converters from and to other libraries, which need not be installed to import this."""

from tradeoff.interop import dp_accounting, fdp, flower, opacus, opendp

__all__ = ["dp_accounting", "fdp", "flower", "opacus", "opendp"]
