"""The verifier: laws rebuilt from their descriptions, every claim proved again in ball arithmetic.

In: a certificate. Out: every number beside the one found here, and what was taken on trust. ``laws`` says
what the mechanisms are, in ``parts`` and ``shifts``; ``product`` what their transforms are; ``contour``,
``lattice``, ``direct`` and ``normal`` what follows for delta and beta; ``audit`` compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tradeoff.errors import MissingExtraError

if TYPE_CHECKING:
    from tradeoff.certificates.certificate import Certificate
    from tradeoff.certificates.verify.report import Verification

try:
    from tradeoff.certificates.verify.audit import verify
except ImportError as error:  # pragma: no cover - the tests have it
    if error.name != "flint":
        raise
    _reason = error

    def verify(certificate: Certificate) -> Verification:  # noqa: ARG001 - as the other
        """Say what is missing."""
        raise MissingExtraError("verify needs python-flint: pip install 'tradeoff[verify]'") from _reason


__all__ = ["verify"]
