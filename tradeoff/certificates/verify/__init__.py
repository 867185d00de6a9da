"""The verifier: laws rebuilt from their descriptions, claims proved again in extended precision or 50 digits.

In: a certificate. Out: every number checked beside the same number found here, and what was taken on trust.
Nothing is imported from the rooms that answered; import-linter holds that.
"""

from tradeoff.certificates.verify.audit import verify

__all__ = ["verify"]
