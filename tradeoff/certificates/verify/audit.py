"""Verification: every claim proved again, every bound derived again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tradeoff.certificates.certificate import Certificate
from tradeoff.certificates.conclusion import follows
from tradeoff.certificates.description import Description, turned
from tradeoff.certificates.evidence import Evidence, Formula, Line, Sums
from tradeoff.certificates.verify.contour import CheckedLine
from tradeoff.certificates.verify.formula import CheckedFormula
from tradeoff.certificates.verify.lattice import CheckedLattice
from tradeoff.certificates.verify.laws import balanced
from tradeoff.certificates.verify.report import Log, Verification
from tradeoff.certificates.verify.sums import CheckedSums
from tradeoff.errors import DomainError, TradeOffError, VerificationError


def verify(certificate: Certificate) -> Verification:
    """Whether a certificate proves its bounds, found by other code from the parameters alone.

    Parameters
    ----------
    certificate
        What ``certify`` returned, or ``Certificate.from_json`` read.

    Returns
    -------
    Verification
        Every number checked, recorded and recomputed, and what was taken on trust.

    Raises
    ------
    VerificationError
        If a term is not what is found again, or a bound does not follow; ``term`` names it.

    Examples
    --------
    >>> import tradeoff as to
    >>> certificate = to.certify(to.Gaussian(1) @ to.Laplace(0.1) ** 50, "delta", 2.0)
    >>> [check.name for check in to.verify(certificate).checks][-2:]
    ['lower bound', 'upper bound']
    """
    if not isinstance(certificate, Certificate):
        raise DomainError(f"{certificate!r} is not a certificate; read one with Certificate.from_json")
    log = Log()
    log.trust(
        "the descriptions of the factors are those of the curve; "
        "elementary functions of NumPy in extended precision and of mpmath"
    )
    try:
        for factor in certificate.factors:
            balanced(factor["law"], log)
        _claims(certificate, log)
        follows(certificate, log)
    except TradeOffError:
        raise
    except (
        KeyError,
        IndexError,
        TypeError,
        ValueError,
        OverflowError,
        ZeroDivisionError,
        MemoryError,
    ) as error:
        raise VerificationError(f"the certificate is malformed: {error!r}", "form") from error
    return log.report()


def _claims(certificate: Certificate, log: Log) -> None:
    checked: dict[tuple[int, bool], Any] = {}
    for claim in certificate.claims:
        log.holds(
            "evidence",
            0 <= claim.evidence < len(certificate.evidence),
            f"there is none of number {claim.evidence!r}",
        )
        key = claim.evidence, claim.reverse
        if key not in checked:
            factors = turned(certificate.factors) if claim.reverse else list(certificate.factors)
            checked[key] = _checked(certificate.evidence[claim.evidence], factors, log)
        checked[key].claim(claim)


def _checked(evidence: Evidence, factors: Sequence[Description], log: Log) -> Any:
    if isinstance(evidence, Line):
        return CheckedLine(evidence, factors, log)
    if isinstance(evidence, Sums):
        return CheckedSums(evidence, factors, log)
    if isinstance(evidence, Formula):
        return CheckedFormula(evidence, factors, log)
    return CheckedLattice(evidence, factors, log)  # type: ignore[arg-type]  # the last of four
