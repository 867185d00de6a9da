"""A curve from finitely many (epsilon, delta) guarantees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import number
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError, called, shown
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.intervals.functions import exp
from tradeoff.intervals.polygon import ONE, Line, envelope, whole

_WIDTH = 1e-3  # share of delta that a chord may leave, as whole curves do
_NOTHING = 1e-30  # delta below which no chord is cut: nobody reports it, and floats know little of it
_ROUNDS = 16  # halvings of a cell, from 256 to 0.004 nats

# (epsilon, delta) guarantees, or all of them as a function.
Guarantees = Mapping[float, float] | Iterable[tuple[float, float]] | Callable[[float], float]


class Profile:
    """Curves given by their profiles: from dual to primal (Dong, Roth, Su 2022, Proposition 2.11)."""

    @staticmethod
    def from_epsilon_delta(guarantees: Guarantees, epsilons: Iterable[float] | None = None) -> TradeOff:
        """Return the greatest symmetric curve implied by (eps, delta)-DP at all pairs: max of f_{eps,delta}.

        Parameters
        ----------
        guarantees
            ``{epsilon: delta}``, pairs ``(epsilon, delta)``, or a function delta(epsilon) of one float;
            epsilon >= 0 in nats and delta in [0, 1], valid in both orders. Of a function only values are
            used, so that the curve holds if none of them is below the truth; the profile of the curve is
            their chords in e^eps, or less.
        epsilons
            Losses at which a function is asked; default: up to 700, closer where its chords leave a
            thousandth of it.

        Returns
        -------
        TradeOff
            max over the pairs of max{0, 1 - delta - e^eps alpha, e^-eps (1 - delta - alpha)} (Dong, Roth, Su
            2022, Proposition 2.11 and 2.12): ``approximate_dp(epsilon, delta)`` if one pair implies all
            others, else a ``PiecewiseLinear`` in fractions, which is lower by the rounding of e^eps to a
            float. The order ``>=`` compares with (epsilon, delta)-DP by the pairs, which are not rounded.

        Raises
        ------
        DomainError
            If nothing is given, or a pair is outside its range.

        Examples
        --------
        >>> from tradeoff import Gaussian, Profile
        >>> f = Profile.from_epsilon_delta({0.5: 0.01, 1.0: 1e-5})
        >>> round(f.epsilon(1e-5), 12), f == Profile.from_epsilon_delta([(1.0, 1e-5), (0.5, 0.01)])
        (1.0, True)
        >>> g = Profile.from_epsilon_delta(Gaussian(1).delta, epsilons=[0, 1, 2, 3, 4, 5])
        >>> 1 <= g.delta(2.0) / Gaussian(1).delta(2.0) < 1.000001
        True
        """
        pairs = _pairs(guarantees, epsilons)
        epsilon = [number("epsilon", e, 0, 700) for e, _ in pairs]
        delta = [number("delta", d, 0, 1) for _, d in pairs]
        given = list(zip(epsilon, delta, strict=True))
        for k, (e, d) in enumerate(given):
            if all(e <= other and d <= least for other, least in given):
                return limited(approximate_dp(*pairs[k]), BOUND)
        lines: list[Line] = []
        for e, d in given:
            slope, kept = whole(float(exp(e).upper)), ONE - whole(d)
            lines += [(slope, ONE, kept), (ONE, slope, kept)]
        corners = [(Fraction(x, d), Fraction(y, d)) for x, y, d in envelope(lines)]
        curve = PiecewiseLinear(*zip(*corners, strict=True))
        curve.pairs = tuple((Fraction(e), Fraction(d)) for e, d in given)
        return limited(curve, BOUND)


def _pairs(guarantees: Any, epsilons: Iterable[float] | None) -> list[tuple[Any, Any]]:
    """Return what was given as pairs."""
    if epsilons is not None and not callable(guarantees):
        raise DomainError("epsilons are for a function delta(epsilon); pairs have their own")
    if callable(guarantees) and not isinstance(guarantees, type):
        ask = partial(called, "delta", guarantees)
        result = _sampled(guarantees) if epsilons is None else [(e, ask(e)) for e in epsilons]
    elif isinstance(guarantees, Mapping):
        result = list(guarantees.items())
    else:
        result = list(guarantees) if np.iterable(guarantees) else [guarantees]
        if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in result):
            raise DomainError(
                f"guarantees = {shown(guarantees)} are no pairs; write {{epsilon: delta}} or "
                "[(epsilon, delta)], or a function"
            )
    if not result:
        raise DomainError("no guarantee given: list at least one {epsilon: delta}")
    return [(e, d) for e, d in result]


def _sampled(delta: Callable[[float], Any]) -> list[tuple[float, float]]:
    """Ask a function where its chords in e^eps would leave too much of it."""

    def ask(epsilon: float) -> float:
        return number(f"delta({epsilon:g})", called("delta", delta, epsilon), 0, 1)

    at = [0.0, *(2.0**k for k in range(-6, 10)), 700.0]
    known = {e: ask(e) for e in at}
    cells = [(a, b) for a, b in pairwise(at) if known[a] > _NOTHING]
    for _ in range(_ROUNDS):
        fresh: list[tuple[float, float]] = []
        for a, b in cells:
            middle = (a + b) / 2
            known[middle] = ask(middle)
            share = math.expm1(middle - a) / math.expm1(b - a)
            chord = known[a] + (known[b] - known[a]) * share
            if chord > max((1 + _WIDTH) * known[middle], _NOTHING):
                fresh += [(a, middle), (middle, b)]
        cells = fresh
    return sorted(known.items())
