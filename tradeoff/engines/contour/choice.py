"""Which transform a law has."""

from __future__ import annotations

from tradeoff.engines.atomic import DiscreteGaussianLaw
from tradeoff.engines.contour.closed import Integer, Normal, TwoSided
from tradeoff.engines.contour.pieces import pieces
from tradeoff.engines.contour.transform import Points, Transform
from tradeoff.engines.density import GaussianLaw, LaplaceLaw
from tradeoff.engines.law import LossLaw, Reversed


def transform(law: LossLaw, c: float, digits: float) -> Transform | None:
    """Return the transform of a law at tilt c with quadrature errors about e^-digits, or None if its density is unknown."""
    same = law.base if isinstance(law, Reversed) else law  # the closed forms are of symmetric pairs
    if isinstance(same, GaussianLaw):
        return Normal(same.mu, c)
    if isinstance(same, LaplaceLaw):
        return TwoSided(same, c, digits)
    if isinstance(same, DiscreteGaussianLaw) and same.sigma >= 1:
        return Integer(same.sigma, same.shift, c)
    smooth = pieces(law)
    return None if smooth is None else Points(law, smooth, c, digits)
