"""The ways to account for a composition that a comparison sets side by side; each may decline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.tensor import Tensor
from tradeoff.errors import KindError, NoClosedForm
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.rounding import Array
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.symmetrise import Envelope

Kind = Literal["estimate", "bound", "curve"]
Answer = Callable[[Array], Any]


@dataclass(frozen=True)
class Claim:
    """What one method says of a curve.

    Parameters
    ----------
    name
        As printed.
    kind
        ``"estimate"``: on neither side of the truth; ``"bound"``: never under-reports if its hypotheses hold;
        ``"curve"``: one the caller gave, of which nothing is known.
    beta, delta, epsilon
        Type II error at alpha, delta at epsilon, epsilon at delta: functions of an array, or None.
    source
        Where the formula stands.
    band
        Bounds on beta, for methods that enclose the curve.
    """

    name: str
    kind: Kind
    beta: Answer | None = None
    delta: Answer | None = None
    epsilon: Answer | None = None
    source: str = ""
    band: Callable[[Array], Any] | None = None


Method = Callable[[TradeOff], Claim]
METHODS: dict[str, Method] = {}
"""Methods by name. A method that does not apply raises a ``TradeOffError`` that says why."""


def method(name: str) -> Callable[[Method], Method]:
    """Enter a method under a name."""

    def enter(function: Method) -> Method:
        METHODS[name] = function
        return function

    return enter


def factors(curve: TradeOff) -> dict[TradeOff, int]:
    """Return the factors of a product, in one order of an envelope; a curve is its own factor."""
    inner = curve.operands[0] if isinstance(curve, Envelope) else curve
    return dict(inner.factors) if isinstance(inner, Tensor) else {inner: 1}


def claim_of(name: str, thing: Any) -> Claim:
    """Return the claim of a curve, an approximate curve, a band of bounds, or a textbook guarantee."""
    if isinstance(thing, import_module("tradeoff.limits.band").Band):
        return _of_band(name, thing)
    given = thing if isinstance(thing, TradeOff) else getattr(thing, "guarantee", thing)
    if isinstance(given, TradeOff):
        return Claim(name, "curve", given, given.delta, given.epsilon, getattr(thing, "source", ""))
    if isinstance(given, import_module("tradeoff.limits").ApproximateCurve):
        return Claim(name, "estimate", given, given.delta, given.epsilon, given.source)
    raise KindError(
        f"{name} = {thing!r} answers nothing as a curve does; give a curve, mechanism.curve() "
        "or plan.guarantee()"
    )


def _of_band(name: str, band: Any) -> Claim:
    return Claim(
        name,
        "bound",
        band.lower,
        lambda e: band.delta(e).upper,
        lambda d: band.epsilon(d).upper,
        band.source,
        band.bounds,
    )


@method("clt")
def _clt(curve: TradeOff) -> Claim:
    return claim_of("CLT", import_module("tradeoff.limits").clt(curve))


@method("dp-sgd-clt")
def _dp_sgd_clt(curve: TradeOff) -> Claim:
    """Apply the closed formula for Poisson-sampled Gaussian steps of one kind."""
    match list(factors(curve).items()):
        case [(Subsampled(operands=(Gaussian(mu=mu),), p=rate), n)] if mu > 0:
            return claim_of("DP-SGD CLT", import_module("tradeoff.limits").dp_sgd_clt(rate, 1 / mu, n))
    raise NoClosedForm("the formula is for one kind of Poisson-sampled Gaussian step")


@method("edgeworth")
def _edgeworth(curve: TradeOff) -> Claim:
    return claim_of("Edgeworth", import_module("tradeoff.limits").edgeworth(curve))


@method("berry-esseen")
def _berry_esseen(curve: TradeOff) -> Claim:
    return _of_band("Berry-Esseen", import_module("tradeoff.limits").berry_esseen(curve))


@method("edgeworth-bounds")
def _edgeworth_bounds(curve: TradeOff) -> Claim:
    return _of_band("Edgeworth bounds", import_module("tradeoff.limits").edgeworth_bounds(curve))


@method("saddle-point")
def _saddle_point(curve: TradeOff) -> Claim:
    return _of_band("saddle-point", import_module("tradeoff.limits").saddle_point(curve))
