"""Proofs of bounds on products of laws: certificates, and a verifier that imports no engine.

``certify`` issues a ``Certificate`` that the verifier has proved; ``verify`` proves it from the record.
"""

from tradeoff.proofs.certificate import Certificate

__all__ = ["Certificate"]
