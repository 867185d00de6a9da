"""Laws of L described by their parameters: what a certificate says it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tradeoff.errors import NoClosedForm
from tradeoff.loss.changed import Mixed, Reversed, Thinned
from tradeoff.loss.discrete import AtomicLaw, BinomialLaw
from tradeoff.loss.discrete_gaussian import DiscreteGaussianLaw
from tradeoff.loss.gaussian import GaussianLaw
from tradeoff.loss.laplace import LaplaceLaw
from tradeoff.loss.law import LossLaw

Description = dict[str, Any]

MOST_ATOMS = 2**14
"""Most atoms written out in a certificate."""


def describe(laws: Sequence[LossLaw], counts: Sequence[int]) -> tuple[Description, ...]:
    """Return ``{"law", "count"}`` for every factor; rounds of randomised response are counted, not written out."""
    return tuple(
        {"law": {"kind": "response", "epsilon": law.epsilon}, "count": law.n * count}
        if isinstance(law, BinomialLaw)
        else {"law": _described(law), "count": count}
        for law, count in zip(laws, counts, strict=True)
    )


def _described(law: LossLaw) -> Description:
    if isinstance(law, AtomicLaw):
        return _atomic(law)
    if isinstance(law, Thinned):
        return {"kind": "thinned", "p": law.p, "base": _described(law.base)}
    if isinstance(law, Reversed):
        return {"kind": "reversed", "base": _described(law.base)}
    if isinstance(law, Mixed):
        return {"kind": "mixed", "parts": [[w, _described(part)] for w, part in law.parts]}
    if isinstance(law, GaussianLaw | LaplaceLaw):
        return (
            {"kind": "gaussian", "mu": law.mu}
            if isinstance(law, GaussianLaw)
            else {"kind": "laplace", "epsilon": law.epsilon}
        )
    raise NoClosedForm(
        f"a law of type {type(law).__name__} has no description by parameters; certify curve.lower or curve.upper instead"
    )


def _atomic(law: AtomicLaw) -> Description:
    if isinstance(law, DiscreteGaussianLaw):
        return {"kind": "discrete gaussian", "sigma": law.sigma, "shift": law.shift}
    if isinstance(law, BinomialLaw):
        return {"kind": "rounds", "epsilon": law.epsilon, "rounds": law.n}
    if len(law.loss) > MOST_ATOMS:
        raise NoClosedForm(
            f"{len(law.loss)} atoms are more than a certificate writes out ({MOST_ATOMS}); certify fewer at a time"
        )
    masses = {"p_minus": law.p_minus, "q_plus": law.q_plus}
    return {"kind": "atoms", "loss": law.loss.tolist(), "log_p": law.log_p.tolist(), **masses}
