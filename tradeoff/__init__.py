"""Compute differential-privacy guarantees with trade-off functions, with proven lower and upper bounds.

A trade-off function f gives, for each type I error alpha of a test whether one record was in the data, the
least type II error beta. Losses epsilon are in nats.

Start here:

* ``to.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60)``: the plan of a DP-SGD training run
* ``to.Plan({to.mechanisms.Laplace(scale=10): 50})``: any mechanisms with their counts; see ``to.mechanisms``
* ``f = plan.guarantee()``: one curve that holds for both orders of a pair of neighbours
* ``f.epsilon(1e-5)``, ``f.delta(1.0)``, ``f(0.01)``, ``f.gdp(failure=1e-10).mu``: conservative answers
* ``f.bounds.epsilon(1e-5)``: both bounds, with the exact value between them
* ``f @ g``, ``f ** 100``, ``f >= g``: compose and compare curves
* ``to.plot(f)``, ``to.compare(f, delta=[1e-5])``: a figure; a table next to limit theorems
* ``to.calibrate``, ``to.allocate``, ``to.sweep``: find noise, share a budget, try many parameters
* ``to.statement(plan, delta=1e-5)``: the paragraph for a paper

The tutorials (first steps, DP-SGD, audits) and all pages are in ``docs``, and run as written.

Examples
--------
>>> import tradeoff as to
>>> f = to.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60).guarantee()
>>> print(f"{f.epsilon(1e-5):.3f}")
2.382
"""

# Names are listed in __init__.pyi and imported when first used, so that ``import tradeoff`` is fast.
import lazy_loader

from tradeoff import _methods as _methods

_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

_ADVICE = {
    "compose": "compose curves with f @ g and f ** n, mechanisms with Plan({mechanism: count})",
    "epsilon": "use f.epsilon(delta) of a curve f",
    "delta": "use f.delta(epsilon) of a curve f",
    "from_event": "use tradeoff.interop.dp_accounting.from_event",
    "from_history": "use tradeoff.interop.opacus.from_history",
    "gaussian": "did you mean Gaussian(mu), or mechanisms.Gaussian(noise_multiplier=sigma)?",
    "dpsgd": "did you mean dp_sgd?",
    "DPSGD": "did you mean dp_sgd?",
}


def __getattr__(name: str) -> object:
    try:
        return _attribute(name)
    except AttributeError:
        # Importing a module looks its name up first: only names of classes may import the mechanisms.
        is_mechanism = name[:1].isupper() and hasattr(_attribute("mechanisms"), name)
        advice = f"use tradeoff.mechanisms.{name}" if is_mechanism else _ADVICE.get(name, "")
        text = f"module 'tradeoff' has no attribute {name!r}"
        raise AttributeError(f"{text}; {advice}" if advice else text) from None
