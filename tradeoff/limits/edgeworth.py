"""Edgeworth expansion of order two: a CLT corrected by skewness, kurtosis and the lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.intervals.polygon import lower_hull
from tradeoff.intervals.rounding import Array
from tradeoff.limits.approximate import ApproximateCurve
from tradeoff.limits.clt import attach_masses, clt
from tradeoff.limits.moments import Moments, factors, moments
from tradeoff.operators.symmetrise import Envelope


@dataclass(frozen=True)
class _Tuning:
    """Numbers of the expansion, none of which a bound rests on.

    ``reach`` and ``far`` are in standard deviations: Phi(-9) is 1e-19, and beyond 40 the normal density is 0
    in floats. Gaps miss a lattice by up to ``off_lattice`` of the widest, and its span is at least ``finest``
    of that. Spans of ``coarse`` deviations add more than a probability, which is clipped.
    """

    nodes: int = 8001
    reach: float = 9.0
    far: float = 40.0
    off_lattice: float = 1e-9
    finest: float = 1e-5
    coarse: float = 1e40
    max_atoms: int = 4096


_TUNING = _Tuning()


@dataclass(frozen=True)
class _Expansion:
    """Cumulants of the sum under one law."""

    mean: float
    variance: float
    third: float
    fourth: float

    def cdf(self, t: Array, span: float) -> tuple[Array, Array]:
        """Return P(S <= t) and P(S > t) by the expansion; on a lattice of this span, at its points.

        At the midpoint t + span/2 of two lattice points the sum's law is met by the expansion whose cumulants
        are those of the sum less those of the uniform law on an interval of length span (Kolassa and
        McCullagh 1990).
        """
        variance = max(self.variance - span**2 / 12, 1e-3 * self.variance)
        sd = math.sqrt(variance)
        skewness, kurtosis = self.third / variance / sd, self.fourth / variance / variance
        kurtosis += min(span / sd, _TUNING.coarse) ** 4 / 120
        x = np.clip((t + span / 2 - self.mean) / sd, -_TUNING.far, _TUNING.far)
        square = x * x
        # skewness/6 He_2 + kurtosis/24 He_3 + skewness^2/72 He_5
        hermite = skewness / 6 * (square - 1) + x * (
            kurtosis / 24 * (square - 3) + skewness**2 / 72 * (square**2 - 10 * square + 15)
        )
        correction = np.exp(-square / 2) / math.sqrt(2 * math.pi) * hermite
        return ndtr(x) - correction, ndtr(-x) + correction


def edgeworth(curve: TradeOff) -> ApproximateCurve:
    """Estimate a composition by alpha(t) = P(L > t) and beta(t) = Q(L <= t), each from four cumulants.

    Parameters
    ----------
    curve
        A product of many factors, of either order, or the either-order envelope of one. Where every loss lies
        on one lattice (randomised response, discrete noise) the expansion is corrected for it.

    Returns
    -------
    ApproximateCurve
        The points (alpha(t), beta(t)), clipped to probabilities and replaced by their convex hull; masses at
        infinity are split off and attached again. An approximation: not a bound on either side.

    Notes
    -----
    Wang, Gao, Zhang, Shen, Su 2022 (the Edgeworth accountant); its error has order n^(-3/2) where the CLT's
    has n^(-1/2).

    Examples
    --------
    >>> import tradeoff as to
    >>> f = to.PureDP(0.1) ** 1000
    >>> [round(estimate, 4) for estimate in (to.limits.edgeworth(f).epsilon(1e-5), f.epsilon(1e-5))]
    [17.7689, 17.7871]
    """
    if isinstance(curve, Envelope):
        return edgeworth(curve.operands[0]).envelope(curve)
    powers = factors(curve)
    null = [(moments(factor)[0], n) for factor, n in powers.items()]
    other = [(moments(factor, reverse=not factor.symmetric)[0], n) for factor, n in powers.items()]
    under_p, under_q = _expansion(null, -1), _expansion(other, +1)
    span, offset = lattice(powers)
    estimate = clt(curve).trusted()  # refuses losses too small for floats; right where there are none
    if under_p.variance > 0:
        t = _thresholds(under_p, under_q, span, offset)
        estimate = attach_masses(
            _curve(under_p.cdf(t, span)[1], under_q.cdf(t, span)[0]),
            curve.mass_at_minus_infinity,
            curve.mass_at_plus_infinity,
        )
    hypotheses = (
        "sum of many comparable factors",
        "finite fourth cumulants",
        "one lattice" if span else "no lattice",
    )
    name = "Edgeworth (lattice)" if span else "Edgeworth"
    return ApproximateCurve(estimate, name, "Wang, Gao, Zhang, Shen, Su 2022, order 2", hypotheses, curve)


def _expansion(law: list[tuple[Moments, int]], sign: int) -> _Expansion:
    """Add cumulants; of the other law they are moments of -L, so odd ones change sign."""
    mean, variance, third = (
        math.fsum(n * getattr(m, name).mid for m, n in law) for name in ("kl", "variance", "cumulant3")
    )
    return _Expansion(sign * mean, variance, -sign * third, math.fsum(n * m.cumulant4 for m, n in law))


def lattice(powers: dict[TradeOff, int]) -> tuple[float, float]:
    """Return (span, offset) if all finite losses of the product lie on offset + span k, else (0, 0)."""
    gaps, offset = [], 0.0
    for factor, n in powers.items():
        law = factor.laws()[0]
        atoms = law.atoms.loss
        if law.continuous or len(atoms) > _TUNING.max_atoms:
            return 0.0, 0.0
        shift = (
            float(np.log1p(-law.mass_at_minus_infinity) - np.log1p(-law.mass_at_plus_infinity))
            if max(law.mass_at_minus_infinity, law.mass_at_plus_infinity) < 1
            else 0.0
        )
        offset += n * (float(atoms[0]) + shift) if len(atoms) else 0.0
        gaps.extend(np.diff(atoms).tolist())
    span = _common(gaps)
    return span, offset if span else 0.0


def _common(gaps: list[float]) -> float:
    """Return the greatest common divisor of floats, 0 if they have none above the rounding."""
    widest = span = max(gaps, default=0.0)
    for gap in sorted(set(gaps)):
        rest = gap
        while rest > _TUNING.off_lattice * widest:
            span, rest = rest, span % rest
            rest = 0.0 if span - rest < _TUNING.off_lattice * widest else rest
        if span < _TUNING.finest * widest:
            return 0.0
    return span


def _thresholds(under_p: _Expansion, under_q: _Expansion, span: float, offset: float) -> Array:
    """Return thresholds over the bulk of both laws, on the lattice if there is one."""
    low = min(e.mean - _TUNING.reach * math.sqrt(e.variance) for e in (under_p, under_q))
    high = max(e.mean + _TUNING.reach * math.sqrt(e.variance) for e in (under_p, under_q))
    if not span:
        return np.linspace(low, high, _TUNING.nodes)
    first, last = math.floor((low - offset) / span), math.ceil((high - offset) / span)
    step = max(1, (last - first) // _TUNING.nodes)
    return offset + span * np.arange(first, last + 1, step, dtype=float)


def _curve(alpha: Array, beta: Array) -> PiecewiseLinear:
    """Make a trade-off function of an expansion: clip, sort and take the convex hull below."""
    a = np.concatenate([[0.0], np.clip(alpha, 0.0, 1.0)[::-1], [1.0]])
    b = np.concatenate([[1.0], np.clip(beta, 0.0, 1.0)[::-1], [0.0]])
    order = np.lexsort((-b, a))
    a, b = a[order], np.minimum.accumulate(np.minimum(b, 1 - a)[order])
    keep = np.append(np.diff(a) > 0, True)  # of points above one another the lowest
    return PiecewiseLinear(*(v.tolist() for v in lower_hull(a[keep], b[keep])))
