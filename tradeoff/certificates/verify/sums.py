"""Claims of exact sums, added up again from the descriptions of the laws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tradeoff.certificates.certificate import Claim, ulps
from tradeoff.certificates.description import Description
from tradeoff.certificates.evidence import Sums
from tradeoff.certificates.verify.arithmetic import REAL
from tradeoff.certificates.verify.atoms import Listed, product, ways
from tradeoff.certificates.verify.laws import law
from tradeoff.certificates.verify.moments import lost
from tradeoff.certificates.verify.report import Log

_SEEN = -650.0
"""Atoms below this logarithm of their mass may be missing: no double holds their part of an answer."""


class CheckedSums:
    """All atoms of the product, made by repeated squaring or by binomial coefficients."""

    def __init__(self, sums: Sums, factors: Sequence[Description], log: Log) -> None:
        self.log = log
        log.holds("slack", 0 <= sums.slack < 1e-2, f"{sums.slack!r} is outside [0, 0.01)")
        whole = not any(law(factor["law"]).nodes for factor in factors)
        log.holds("factors", whole, "a law with a density has no exact sums")
        made = product(factors, log)
        self.listed = Listed(made, lost(factors, "p_minus"), lost(factors, "q_plus"))
        own = np.sum(np.exp(made.log_p) * (made.off_p + self.listed.own))
        log.close("mass", 1.0, np.sum(np.exp(made.log_p)) + self.listed.p_minus, 4 * sums.slack + own)
        seen = np.unique(np.round(made.loss[made.log_p > _SEEN].astype(float), 9))
        log.above("atoms", sums.atoms, len(seen))
        log.below("atoms", sums.atoms, ways(factors))

    def claim(self, claim: Claim) -> None:
        """Verify the bounds of one claim."""
        self.log.close("ulps", claim.terms["ulps"], ulps(claim.lower, claim.upper), 0.0)
        bounds = self.listed.beta if claim.quantity == "beta" else self.listed.delta
        self.log.encloses(claim, *bounds(REAL(claim.at)))
