"""Certificates: answers with their proof, and a verifier that shares no code with what it checks.

``certificate`` is the record and says which laws it speaks of, ``conclusion`` joins claims to bounds.
``issue`` draws claims from the engines; ``verify`` derives them again and imports nothing that answers
questions.
"""

from tradeoff.certificates.certificate import Certificate, Claim
from tradeoff.certificates.verify.report import Check, Verification

__all__ = ["Certificate", "Check", "Claim", "Verification"]
