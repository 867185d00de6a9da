"""The verifier: laws are rebuilt from a certificate, and every bound is proved again in ball arithmetic.

It imports no engine and no curve. ``laws`` reads laws as parts; ``contour`` adds up their atoms, or evaluates
their transforms and encloses delta; ``verifier`` compares.
"""

from tradeoff.proofs.verify.verifier import verify

__all__ = ["verify"]
