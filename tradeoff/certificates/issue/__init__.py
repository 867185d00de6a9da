"""Answers with their proof: claims drawn from contours, lattices, exact sums or closed forms, with all their error terms."""

from tradeoff.certificates.issue.certify import certify

__all__ = ["certify"]
