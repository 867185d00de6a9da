"""Exact polygons: of two discrete laws, and of finitely many (epsilon, delta) guarantees."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cmp_to_key, partial
from itertools import accumulate, pairwise
from numbers import Rational
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import Number, exact_number, is_masked, number
from tradeoff.curves.piecewise_linear import PiecewiseLinear, capped, largest_of
from tradeoff.errors import DomainError, SizeError, called, domain
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.intervals.functions import exp
from tradeoff.intervals.polygon import ONE, Line, lower_hull, whole

Masses = Mapping[Any, Number] | Iterable[Number]  # masses in an order, or by outcome


def from_masses(p: Masses, q: Masses) -> PiecewiseLinear:
    """Trade-off function T(P, Q) of two laws on finitely many outcomes, in fractions.

    Parameters
    ----------
    p, q
        Masses of P and Q: two sequences of one length, or two mappings from outcomes to masses or Series of
        pandas, where a missing outcome has mass 0. Floats, integers or fractions, at least 0.

    Returns
    -------
    PiecewiseLinear
        Exact. A float means its binary value; where masses with floats add up to 1 only within 1e-9, they are
        divided by their sum, so that rounding puts no mass at infinity. The order of two polygons raises
        ``Undecided`` where masses in floats are closer than their rounding.

    Raises
    ------
    DomainError
        If masses do not add to 1, or p and q do not match.
    SizeError
        If there are more than 100 000 likelihood ratios, or fractions without a common denominator of
        reasonable length.

    Notes
    -----
    Outcomes with one likelihood ratio are merged; rejecting by decreasing ratio :math:`q/p` is optimal
    (Neyman, Pearson 1933), and every vertex is such a test (Dong, Roth, Su 2022, Proposition 2.2).

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from_masses([F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)])
    PL[(0, 1), (1/4, 1/4), (1, 0)]
    >>> from_masses({"yes": 0.1, "no": 0.2, "?": 0.7}, {"yes": 0.7, "no": 0.2, "?": 0.1}).sup_loss < 2
    True
    """
    sides = [_by_outcome("p", p), _by_outcome("q", q)]
    is_mapping = [isinstance(side, Mapping) for side in sides]
    if any(is_mapping) and not all(is_mapping):
        raise DomainError(
            "one of p and q is a mapping and one is not; give both by outcome, or both in order"
        )
    if not any(is_mapping):
        if (n := len(sides[0])) != (m := len(sides[1])):
            raise DomainError(f"p has {n} masses and q has {m}; give both for every outcome")
        sides = [dict(enumerate(side)) for side in sides]
    labels = list(dict.fromkeys((*sides[0], *sides[1])))
    first, second = ([side.get(label, 0) for label in labels] for side in sides)
    counts = _to_integers("p", labels, first), _to_integers("q", labels, second)
    pairs = [pair for pair in zip(*counts, strict=True) if any(pair)]
    pairs.sort(key=lambda pair: pair[0] / sum(pair))  # in floats, so that the exact sort is short
    pairs.sort(key=cmp_to_key(_compare_ratios))  # by decreasing q/p
    total_p, total_q = (sum(side) for side in zip(*pairs, strict=True))
    finite = [(a, b) for a, b in pairs if a and b]
    start = sum(b for a, b in pairs if a == 0)
    alpha = np.array([*accumulate((a for a, _ in finite), initial=0)], dtype=object)
    beta = total_q - np.array([*accumulate((b for _, b in finite), initial=start)], dtype=object)
    x, y = lower_hull(alpha, beta)  # which merges outcomes of one ratio
    capped(len(x))
    x, y = x * Fraction(1, total_p), y * Fraction(1, total_q)
    curve = PiecewiseLinear.of_checked(x, y, is_rational=True)
    curve.is_rounded = not all(isinstance(mass, Rational) for mass in (*first, *second))
    return curve


def _by_outcome(name: str, masses: Any) -> Any:
    """Return a mapping, that of a Series of pandas from its labels, or a list."""
    if isinstance(masses, Mapping):
        return masses
    pandas = sys.modules.get("pandas")  # a Series needs it, and it is slow to import
    if pandas is not None and isinstance(masses, pandas.Series):
        if not masses.index.is_unique or masses.index.hasnans:
            raise domain(name, masses, "a Series whose labels differ", "add up the masses of each outcome")
        return masses.to_dict()
    is_row = isinstance(masses, np.ndarray) and masses.ndim == 1
    is_list = np.iterable(masses) and not isinstance(masses, str | bytes | np.ndarray)
    if is_masked(masses) or not (is_row or is_list):
        raise domain(name, masses, "a list of masses, or a mapping from outcomes to masses")
    return list(masses.tolist() if isinstance(masses, np.ndarray) else masses)


def _compare_ratios(one: tuple[int, int], two: tuple[int, int]) -> int:
    """Return a number with the sign of p1/q1 - p2/q2, of masses (p, q)."""
    return one[0] * two[1] - two[0] * one[1]


def _to_integers(name: str, labels: Iterable[Any], masses: list[Any]) -> list[int]:
    """Return the masses as integer multiples of one number, their common denominator's inverse."""
    exact = (
        exact_number(f"{name}[{k!r}]", x, 0.0, math.inf, open_high=True)
        for k, x in zip(labels, masses, strict=True)
    )
    ratios = [mass.as_integer_ratio() for mass in exact]
    scale = 1
    for denominator in {denominator for _, denominator in ratios}:
        scale = math.lcm(scale, denominator)
        if scale.bit_length() > 16_384:  # floats need at most 1074; with more, sums take minutes
            raise SizeError(
                f"the masses of {name} have no common denominator of at most 16384 binary digits; "
                "give floats, or fractions with one denominator"
            )
    result = [numerator * (scale // denominator) for numerator, denominator in ratios]
    total = Fraction(sum(result), scale)
    # Sums of up to a million masses in floats may differ from 1 by 1e-9.
    if total != 1 and (abs(total - 1) > 1e-9 or all(isinstance(mass, Rational) for mass in masses)):
        raise DomainError(
            f"the masses of {name} must add to 1, got {float(min(total, Fraction(10**300)))!r}; "
            "divide them by their sum if that is meant"
        )
    return result


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
        lines: list[Line] = []  # (a, b, c): a alpha + b beta = c, for each pair in both orders
        for e, d in pairs:
            slope, height = whole(float(exp(e).upper)), ONE - whole(d)
            lines += [(slope, ONE, height), (ONE, slope, height)]
        curve = largest_of(lines)
        curve.pairs = tuple((Fraction(e), Fraction(d)) for e, d in pairs)
        return limited(curve, BOUND)


def _pairs(guarantees: Any, epsilons: Iterable[float] | None) -> list[tuple[Any, Any]]:
    """List the guarantees, (epsilon, delta) each, as given and not yet checked."""
    if epsilons is not None and not callable(guarantees):
        raise DomainError("epsilons are for a function delta(epsilon); give zip(epsilons, deltas)")
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
    """Return (eps, delta(eps)), closer where chords in e^eps are too far above the function."""

    def evaluate(epsilon: float) -> float:
        return number(f"delta({epsilon:g})", delta(epsilon), 0, 1)

    losses, least = [0.0, *(2.0**k for k in range(-6, 10)), 700.0], 1e-30  # least delta refined
    values = {e: evaluate(e) for e in losses}
    cells = [(a, b) for a, b in pairwise(losses) if values[a] > least]
    for _ in range(16):  # halvings of a cell, from 256 to 0.004 nats
        halves: list[tuple[float, float]] = []
        for a, b in cells:
            middle = (a + b) / 2
            values[middle] = evaluate(middle)
            share = math.expm1(middle - a) / math.expm1(b - a)
            chord = values[a] + (values[b] - values[a]) * share
            # Relative error that a chord may leave, as that of whole curves.
            if chord > max((1 + 1e-3) * values[middle], least):
                halves += [(a, middle), (middle, b)]
        cells = halves
    return sorted(values.items())
