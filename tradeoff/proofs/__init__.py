"""Certificates of bounds on products of laws, and a verifier that imports no engine and no curve."""

from tradeoff.proofs.certificate import Certificate

__all__ = ["Certificate"]
