"""Noise for a wanted (epsilon, delta): textbook formulas, and the exact Gaussian one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MAX_LOSS, MOST, count, number
from tradeoff.display import exactly, rounded
from tradeoff.errors import DomainError
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import log, sqrt, whole
from tradeoff.intervals.roots import bracket_root
from tradeoff.intervals.rounding import Array


@dataclass(frozen=True)
class Calibration:
    """Noise by a formula: ``scale`` is a standard deviation, or Laplace's scale, rounded up.

    Parameters
    ----------
    scale
        In the units of the query.
    epsilon, delta
        The guarantee it is for: a loss in nats, and a probability.
    name, source, hypotheses
        Name of the formula, its paper, and its conditions.
    guarantee
        Exact curve of the mechanism with this noise.

    Examples
    --------
    >>> import tradeoff as to
    >>> noise = to.baselines.exact_gaussian(1.0, 1e-5)
    >>> noise
    scale 3.7307 for (1, 1e-05)-DP by exact Gaussian calibration
    >>> noise.guarantee.delta(1.0) <= 1e-5
    True
    """

    scale: float
    epsilon: float
    delta: float
    name: str
    source: str
    guarantee: TradeOff
    hypotheses: tuple[str, ...] = ()

    def __repr__(self) -> str:
        target = f"({exactly(self.epsilon)}, {exactly(self.delta)})-DP"
        return f"scale {rounded(self.scale, 'upper', 5)} for {target} by {self.name}"


def classical_gaussian(epsilon: Any, delta: Any, *, sensitivity: Any = 1.0) -> Calibration:
    """Apply the classical formula sigma = sqrt(2 log(1.25/delta)) sensitivity/eps, for eps < 1 only.

    Parameters
    ----------
    epsilon
        Loss in nats, in (0, 1): the proof stops at 1, and so does this formula.
    delta
        Probability in (0, 1).
    sensitivity
        l2-sensitivity, above 0, in the units of the query.

    Raises
    ------
    DomainError
        If epsilon is not below 1; the exact calibration has no such limit.

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.classical_gaussian(0.5, 1e-5)
    scale 9.6897 for (0.5, 1e-05)-DP by classical Gaussian calibration
    """
    e, d, size = _positive(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    if e >= 1:
        raise DomainError(
            f"epsilon = {e:g} is outside (0, 1), where sqrt(2 log(1.25/delta)) sensitivity/eps is proved; "
            "use exact_gaussian"
        )
    sigma = (sqrt(2 * (log(1.25) - log(d))) * size / e).upper
    name, source = "classical Gaussian calibration", "Dwork, Roth 2014, Theorem A.1"
    return Calibration(sigma, e, d, name, source, Gaussian(_over(size, sigma)), ("epsilon < 1",))


def exact_gaussian(epsilon: Any, delta: Any, *, sensitivity: Any = 1.0) -> Calibration:
    """Find the least sigma with delta_{G_mu}(eps) <= delta, mu = sensitivity/sigma.

    Parameters
    ----------
    epsilon
        Loss in nats, at least 0.
    delta, sensitivity
        As in ``classical_gaussian``.

    Notes
    -----
    Balle, Wang 2018, Theorem 8, solved from the safe side for the upper bound on delta.

    Examples
    --------
    >>> exact_gaussian(0.9, 1e-5)
    scale 4.1067 for (0.9, 1e-05)-DP by exact Gaussian calibration
    """
    e = number("epsilon", epsilon, 0, open_high=True)
    d, size = _positive(delta=delta, sensitivity=sensitivity)

    def delta_at(sigma: Array) -> Array:
        return np.array([Gaussian(1 / max(each, 1 / MAX_LOSS)).delta(e) for each in sigma])

    _, sigma = bracket_root(delta_at, np.array([d]), farthest=1e300)
    mu, name = 1 / float(sigma[0]), "exact Gaussian calibration"
    return Calibration(_over(size, mu), e, d, name, "Balle, Wang 2018, Theorem 8", Gaussian(mu))


def laplace_basic(epsilon: Any, *, n: Any = 1, sensitivity: Any = 1.0) -> Calibration:
    """Apply basic composition to Laplace noise for n queries: scale n sensitivity/eps, and delta = 0.

    Parameters
    ----------
    epsilon
        Loss in nats of all queries together, positive.
    n
        Number of queries, at least 1.
    sensitivity
        l1-sensitivity of each, above 0, in the units of the query.

    Notes
    -----
    Dwork, Roth 2014, Theorems 3.6 and 3.16. ``guarantee`` is the exact curve of all n queries.

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.laplace_basic(1.0, n=10)
    scale 10 for (1, 0)-DP by Laplace noise, basic composition
    """
    (e, size), n = _positive(epsilon=epsilon, sensitivity=sensitivity), count("n", n, 1, MOST)
    scale = (whole(n) * size / e).upper
    name, source = "Laplace noise, basic composition", "Dwork, Roth 2014, Theorems 3.6 and 3.16"
    return Calibration(scale, e, 0.0, name, source, Laplace(_over(size, scale)) ** n)


def laplace_advanced(epsilon: Any, delta: Any, *, n: Any = 1, sensitivity: Any = 1.0) -> Calibration:
    """Apply advanced composition to Laplace noise for n queries: scale sensitivity sqrt(n/(2 rho)).

    Parameters
    ----------
    epsilon, n, sensitivity
        As in ``laplace_basic``.
    delta
        Probability in (0, 1).

    Notes
    -----
    Each query is sensitivity^2/(2 scale^2)-zCDP, their sum rho = eps^2/(4 log(1/delta) + 4 eps), and
    rho + 2 sqrt(rho log(1/delta)) <= eps (Bun, Steinke 2016, Propositions 1.3 and 1.4).

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.laplace_advanced(1.0, 1e-6, n=1000)
    scale 172.14 for (1, 1e-06)-DP by Laplace noise, advanced composition
    """
    e, size, d = _positive(epsilon=epsilon, sensitivity=sensitivity, delta=delta)
    n = count("n", n, 1, MOST)
    spread = sqrt(whole(n) / 2) * (2 * sqrt(e - log(d))) / e  # sqrt(n/(2 rho)), without forming eps^2
    scale = (size * spread).upper
    name, source = "Laplace noise, advanced composition", "Bun, Steinke 2016, Propositions 1.3 and 1.4"
    return Calibration(scale, e, d, name, source, Laplace(_over(size, scale)) ** n)


def _over(size: float, scale: float) -> float:
    """Return size/scale, rounded up; 0 where the scale is infinite."""
    return float((Bounds.of(size) / scale).upper) if scale < math.inf else 0.0


def _positive(**values: Any) -> list[float]:
    """Return positive numbers, and probabilities below 1."""
    return [
        number(name, value, 0, 1 if name == "delta" else math.inf, open_low=True, open_high=True)
        for name, value in values.items()
    ]
