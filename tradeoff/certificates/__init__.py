"""Certificates: answers with their proof, and a verifier that shares no code with the engines."""

from tradeoff.certificates.audit import verify
from tradeoff.certificates.certificate import Certificate, Claim
from tradeoff.certificates.issue import certify
from tradeoff.certificates.report import Check, Verification

__all__ = ["Certificate", "Check", "Claim", "Verification", "certify", "verify"]
