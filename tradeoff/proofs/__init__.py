"""Proofs: bounds on products of laws as certificates, and a verifier that shares no code with the engines.

``certificate`` is the record; ``certify`` issues it, once the verifier has proved it; ``verify`` proves it from
the record alone.
"""

from tradeoff.proofs.certificate import Certificate

__all__ = ["Certificate"]
