"""The verifier: ``laws`` rebuilds laws, ``contour`` encloses their delta, and ``verifier`` compares."""

from tradeoff.proofs.verify.verifier import verify

__all__ = ["verify"]
