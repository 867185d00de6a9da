"""Proofs of bounds on products of laws: certificates, and a verifier that imports no engine.

``certificate`` is the record. ``certify`` issues it once the verifier has proved it. ``verify`` proves it from
the record alone.
"""

from tradeoff.proofs.certificate import Certificate

__all__ = ["Certificate"]
