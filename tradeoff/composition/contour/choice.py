"""Which transform a law has."""

from __future__ import annotations

from tradeoff.composition.contour.closed_forms import (
    DiscreteGaussianTransform,
    GaussianTransform,
    LaplaceTransform,
)
from tradeoff.composition.contour.pieces import pieces
from tradeoff.composition.contour.transform import QuadratureTransform, Transform
from tradeoff.loss.changed import Reversed
from tradeoff.loss.discrete import DiscreteGaussianLaw
from tradeoff.loss.gaussian import GaussianLaw
from tradeoff.loss.laplace import LaplaceLaw
from tradeoff.loss.law import LossLaw


def transform(law: LossLaw, c: float, digits: float) -> Transform | None:
    """Return the transform of a law at tilt c with quadrature errors about e^-digits, or None if its density is unknown."""
    same = law.base if isinstance(law, Reversed) else law  # the closed forms are of symmetric pairs
    if isinstance(same, GaussianLaw):
        return GaussianTransform(same.mu, c)
    if isinstance(same, LaplaceLaw):
        return LaplaceTransform(same, c, digits)
    if isinstance(same, DiscreteGaussianLaw) and same.sigma >= 1:
        return DiscreteGaussianTransform(same.sigma, same.shift, c)
    smooth = pieces(law)
    return None if smooth is None else QuadratureTransform(law, smooth, c, digits)
