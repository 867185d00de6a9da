"""Differential-privacy guarantees as mathematics: trade-off functions and their algebra, certified.

Names are listed in ``__init__.pyi``, and imported when first used, so that ``import tradeoff`` is fast.
"""

import lazy_loader

from tradeoff import _methods as _methods

_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

_ADVICE = {
    "compose": "compose curves with f @ g and f ** n, mechanisms with Plan({mechanism: count})",
    "dpsgd": "did you mean dp_sgd?",
    "DPSGD": "did you mean dp_sgd?",
}


def __getattr__(name: str) -> object:
    try:
        return _attribute(name)
    except AttributeError:
        # Importing a module asks for its name first: only names of classes may import the mechanisms.
        is_mechanism = name[:1].isupper() and hasattr(_attribute("mechanisms"), name)
        advice = f"use tradeoff.mechanisms.{name}" if is_mechanism else _ADVICE.get(name, "")
        text = f"module 'tradeoff' has no attribute {name!r}"
        raise AttributeError(f"{text}; {advice}" if advice else text) from None
