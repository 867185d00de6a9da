"""Limit theorems: estimates (CLT, Edgeworth), and bounds (Berry-Esseen)."""

from tradeoff.limits.berry_esseen import BerryEsseen, berry_esseen
from tradeoff.limits.estimates import ApproximateCurve, clt, dp_sgd_clt, edgeworth, epsilon_delta_clt
from tradeoff.limits.moments import kappa2, kappa3, kappa3bar, kl

__all__ = [
    "ApproximateCurve",
    "BerryEsseen",
    "berry_esseen",
    "clt",
    "dp_sgd_clt",
    "edgeworth",
    "epsilon_delta_clt",
    "kappa2",
    "kappa3",
    "kappa3bar",
    "kl",
]
