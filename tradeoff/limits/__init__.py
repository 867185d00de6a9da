"""Limit theorems: estimates (CLT, Edgeworth), and bounds (Berry-Esseen, Edgeworth, saddle point)."""

from tradeoff.limits.approximate import ApproximateCurve
from tradeoff.limits.berry_esseen import BerryEsseen, berry_esseen
from tradeoff.limits.clt import clt, dp_sgd_clt, epsilon_delta_clt
from tradeoff.limits.edgeworth import edgeworth
from tradeoff.limits.edgeworth_bounds import EdgeworthBounds, edgeworth_bounds
from tradeoff.limits.functionals import kappa2, kappa3, kappa3bar, kl
from tradeoff.limits.saddle_point import SaddlePoint, saddle_point

__all__ = [
    "ApproximateCurve",
    "BerryEsseen",
    "EdgeworthBounds",
    "SaddlePoint",
    "berry_esseen",
    "clt",
    "dp_sgd_clt",
    "edgeworth",
    "edgeworth_bounds",
    "epsilon_delta_clt",
    "kappa2",
    "kappa3",
    "kappa3bar",
    "kl",
    "saddle_point",
]
