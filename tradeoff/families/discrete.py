"""Integer noise: the discrete Gaussian and the discrete Laplace against their shifts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradeoff.curves.parameters import MOST, count, real
from tradeoff.curves.tensor import LawCurve
from tradeoff.intervals.functions import whole
from tradeoff.loss.discrete import AtomicLaw
from tradeoff.loss.discrete_gaussian import discrete_gaussian_law


@dataclass(frozen=True, repr=False, eq=True)
class DiscreteGaussianCurve(LawCurve):
    """Testing x against x + shift for x on the integers with pmf proportional to e^(-x^2/(2 sigma^2)).

    Parameters
    ----------
    sigma
        Scale in (0, 4e4]; above, the law has too many atoms to list.
    shift
        Integer shift >= 1.

    Notes
    -----
    Countably many vertices: L = (2 s x - s^2)/(2 sigma^2) (Canonne, Kamath, Steinke 2020).

    Examples
    --------
    >>> from tradeoff.families.discrete import DiscreteGaussianCurve
    >>> round((DiscreteGaussianCurve(2.0, 1) ** 20).epsilon(1e-5), 6)
    11.474643
    """

    sigma: float
    shift: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", real("sigma", self.sigma, 0, open_low=True))
        object.__setattr__(self, "shift", count("shift", self.shift, 1, MOST))

    @property
    def symmetric(self) -> bool:
        return True

    def loss_law(self) -> AtomicLaw:
        return discrete_gaussian_law(self.sigma, self.shift)

    def __repr__(self) -> str:
        return f"N_Z({self.sigma:.6g}{f', shift {self.shift}' if self.shift > 1 else ''})"


@dataclass(frozen=True, repr=False, eq=True)
class DiscreteLaplaceCurve(LawCurve):
    """Testing x against x + shift, x integer with pmf proportional to e^(-|x|/scale): shift + 1 ratios.

    Parameters
    ----------
    scale
        Scale in (0, inf).
    shift
        Integer shift >= 1; at 1 the curve is exactly f_{1/scale,0}.

    Examples
    --------
    >>> from tradeoff.families.discrete import DiscreteLaplaceCurve
    >>> round(DiscreteLaplaceCurve(2.0, 2).epsilon(0), 9)
    1.0
    """

    scale: float
    shift: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", real("scale", self.scale, 0, open_low=True, open_high=True))
        object.__setattr__(self, "shift", count("shift", self.shift, 1, MOST))

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def sup_loss(self) -> float:
        return float((whole(self.shift) / self.scale).upper)

    @property
    def least_sup_loss(self) -> float:
        return float((whole(self.shift) / self.scale).lower)

    def loss_law(self) -> AtomicLaw:
        # P(x <= 0) = 1/(1 + r), P(x = j) = (1 - r)/(1 + r) r^j, P(x >= s) = r^s/(1 + r), r = e^(-1/scale).
        rate, s = 1 / self.scale, self.shift
        inner = np.arange(1, s)
        log_one_plus = np.log1p(np.exp(-rate))
        log_p = np.concatenate([[0.0], np.log(-np.expm1(-rate)) - inner * rate, [-s * rate]]) - log_one_plus
        return AtomicLaw(np.concatenate([[-s], 2.0 * inner - s, [s]]) * rate, log_p)

    def __repr__(self) -> str:
        return f"Lap_Z({self.scale:.6g}{f', shift {self.shift}' if self.shift > 1 else ''})"
