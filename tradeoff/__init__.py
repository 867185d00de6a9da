"""Differential-privacy guarantees as mathematics: trade-off functions and their algebra, certified.

Names are listed in ``__init__.pyi``, and imported when first used, so that ``import tradeoff`` is fast.
"""

import lazy_loader

from tradeoff import _methods as _methods

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
