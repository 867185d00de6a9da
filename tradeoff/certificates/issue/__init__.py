"""Answers with their proof: claims drawn from contours, lattices, exact sums or closed forms."""

from tradeoff.certificates.issue.certify import certify

__all__ = ["certify"]
