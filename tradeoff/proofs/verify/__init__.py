"""The verifier: laws are rebuilt from a certificate, and every bound is proved again in ball arithmetic.

It imports no engine and no curve. ``laws`` reads laws as ``parts``; ``product`` evaluates their transforms;
``atoms`` and ``contour`` enclose delta; ``verifier`` compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tradeoff.errors import MissingExtraError

if TYPE_CHECKING:
    from tradeoff.proofs.certificate import Certificate
    from tradeoff.proofs.verify.report import Verification

try:
    from tradeoff.proofs.verify.verifier import verify
except ImportError as error:  # pragma: no cover - the tests have it
    if error.name != "flint":
        raise
    _reason = error

    def verify(certificate: Certificate) -> Verification:  # noqa: ARG001 - as the other
        """Raise the error that names the extra."""
        raise MissingExtraError("verify needs python-flint: pip install 'tradeoff[verify]'") from _reason


__all__ = ["verify"]
