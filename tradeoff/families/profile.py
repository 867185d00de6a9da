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
from tradeoff.errors import DomainError, called, domain
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.intervals.functions import exp
from tradeoff.intervals.polygon import ONE, Line, envelope, whole

_MIN_DELTA = 1e-30  # smallest delta of which chords are refined

# (epsilon, delta) guarantees, or all of them as a function.
Guarantees = Mapping[float, float] | Iterable[tuple[float, float]] | Callable[[float], float]


class Profile:
    """Curves given by their profiles: from dual to primal (Dong, Roth, Su 2022, Proposition 2.11).

    >>> Profile.from_epsilon_delta({1.0: 0.25})
    f_{1,0.25} (not exact)
    """

    @staticmethod
    def from_epsilon_delta(guarantees: Guarantees, epsilons: Iterable[float] | None = None) -> TradeOff:
        r"""Return the greatest symmetric curve implied by (epsilon, delta)-DP at all pairs.

        Parameters
        ----------
        guarantees
            ``{epsilon: delta}``, pairs ``(epsilon, delta)``, or a function delta(epsilon) of one float;
            epsilon in [0, 700] in nats and delta in [0, 1], valid in both orders. The curve holds if no value
            of the function is below the truth; its profile is at most the chords of the values in
            :math:`e^\varepsilon`.
        epsilons
            Losses at which to evaluate a function; default: up to 700, closer where chords err by more than a
            thousandth.

        Returns
        -------
        TradeOff
            The maximum over the pairs of
            :math:`\max\{0, 1 - \delta - e^\varepsilon \alpha, e^{-\varepsilon} (1 - \delta - \alpha)\}`
            (Dong, Roth, Su 2022, Proposition 2.11 and 2.12): ``approximate_dp(epsilon, delta)`` if one pair
            implies all others, else a ``PiecewiseLinear`` in fractions, lower by the rounding of
            :math:`e^\varepsilon` to a float. The order ``>=`` compares the exact pairs.

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
        pairs = [
            (number("epsilon", e, 0, 700), number("delta", d, 0, 1)) for e, d in _pairs(guarantees, epsilons)
        ]
        for e, d in pairs:
            if all(e <= other and d <= least for other, least in pairs):
                return limited(approximate_dp(e, d), BOUND)
        lines: list[Line] = []
        for e, d in pairs:
            slope, height = whole(float(exp(e).upper)), ONE - whole(d)
            lines += [(slope, ONE, height), (ONE, slope, height)]
        corners = [(Fraction(x, d), Fraction(y, d)) for x, y, d in envelope(lines)]
        curve = PiecewiseLinear(*zip(*corners, strict=True))
        curve.pairs = tuple((Fraction(e), Fraction(d)) for e, d in pairs)
        return limited(curve, BOUND)


def _pairs(guarantees: Any, epsilons: Iterable[float] | None) -> list[tuple[Any, Any]]:
    if epsilons is not None and not callable(guarantees):
        raise DomainError("epsilons are for a function delta(epsilon); pairs have their own")
    if callable(guarantees) and not isinstance(guarantees, type):
        evaluate = partial(called, "delta", guarantees)
        pairs = _sample(evaluate) if epsilons is None else [(e, evaluate(e)) for e in epsilons]
    elif isinstance(guarantees, Mapping):
        pairs = list(guarantees.items())
    else:
        pairs = list(guarantees) if np.iterable(guarantees) else [guarantees]
        if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
            allowed = "{epsilon: delta}, a list of pairs (epsilon, delta), or a function"
            raise domain("guarantees", guarantees, allowed)
    if not pairs:
        raise DomainError("no guarantee given: list at least one {epsilon: delta}")
    return [(e, d) for e, d in pairs]


def _sample(delta: Callable[[float], Any]) -> list[tuple[float, float]]:
    """Evaluate a function at more losses where its chords in e^eps err too much."""

    def evaluate(epsilon: float) -> float:
        return number(f"delta({epsilon:g})", delta(epsilon), 0, 1)

    losses = [0.0, *(2.0**k for k in range(-6, 10)), 700.0]
    values = {e: evaluate(e) for e in losses}
    cells = [(a, b) for a, b in pairwise(losses) if values[a] > _MIN_DELTA]
    for _ in range(16):  # halvings of a cell, from 256 to 0.004 nats
        halves: list[tuple[float, float]] = []
        for a, b in cells:
            middle = (a + b) / 2
            values[middle] = evaluate(middle)
            share = math.expm1(middle - a) / math.expm1(b - a)
            chord = values[a] + (values[b] - values[a]) * share
            # Relative error that a chord may leave, as that of whole curves.
            if chord > max((1 + 1e-3) * values[middle], _MIN_DELTA):
                halves += [(a, middle), (middle, b)]
        cells = halves
    return sorted(values.items())
