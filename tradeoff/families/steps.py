"""Laws on the line whose densities are steps, the uniform one and histograms: their pairs are exact."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.families.frozen import Frozen
from tradeoff.families.masses import from_masses


class Steps(NamedTuple):
    """Masses that are spread evenly between consecutive edges."""

    edges: Sequence[Fraction]
    masses: Sequence[Fraction]

    @classmethod
    def of(cls, law: Frozen) -> Steps | None:
        """Return the steps of a law that has no other density, divided by their sum; None of another law."""
        if law.name == "uniform":
            return cls(law.edges, (Fraction(1),))
        if law.bins is None:
            return None
        heights, spread = law.bins
        widths = (high - low for low, high in pairwise(law.edges))
        masses = [Fraction(h) * (width if spread else 1) for h, width in zip(heights, widths, strict=True)]
        total = sum(masses)
        return cls(law.edges, [mass / total for mass in masses])

    def between(self, cuts: Sequence[Fraction]) -> list[Fraction]:
        """Return the masses between consecutive cuts, the edges among them."""
        found = []
        for low, high in pairwise(cuts):
            k = bisect_right(self.edges, low) - 1
            inside = 0 <= k < len(self.masses)
            share = (high - low) / (self.edges[k + 1] - self.edges[k]) if inside else Fraction(0)
            found.append(self.masses[k] * share if inside else share)
        return found


def stepwise(p: Frozen, q: Frozen) -> PiecewiseLinear | None:
    """Return T(P, Q) in fractions if both densities are steps."""
    first, second = Steps.of(p), Steps.of(q)
    if first is None or second is None:
        return None
    cuts = sorted({*first.edges, *second.edges})
    return from_masses(first.between(cuts), second.between(cuts))
