"""The verifier: laws are rebuilt from a certificate, and every bound is proved again in ball arithmetic.

It imports no engine and no curve. ``laws`` reads laws as ``parts``; ``product`` evaluates their transforms,
or adds up their atoms; ``contour`` encloses delta; ``verifier`` compares.
"""

from tradeoff.proofs.verify.verifier import verify

__all__ = ["verify"]
