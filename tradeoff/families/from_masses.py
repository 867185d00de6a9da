"""The curve of two discrete laws, exact: outcomes by decreasing likelihood ratio."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cmp_to_key
from itertools import accumulate
from numbers import Rational
from typing import Any

import numpy as np

from tradeoff.curves.parameters import Number, exact_number, is_masked
from tradeoff.curves.piecewise_linear import PiecewiseLinear, capped
from tradeoff.errors import DomainError, SizeError, domain

_TOLERANCE = Fraction(1, 10**9)  # by which sums of up to a million masses in floats may differ from 1
_MAX_BITS = 16_384  # of a common denominator: floats need at most 1074; with more, sums take minutes

Masses = Mapping[Any, Number] | Iterable[Number]  # masses in an order, or by outcome


def from_masses(p: Masses, q: Masses) -> PiecewiseLinear:
    """Trade-off function T(P, Q) of two laws on finitely many outcomes, in fractions.

    Parameters
    ----------
    p, q
        Masses of P and Q: two sequences of one length, or two mappings from outcomes to masses, where a
        missing outcome has mass 0. Floats, integers or fractions, at least 0.

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
    labels, first, second = _align(p, q)
    outcomes = _merge_ratios(_to_integers("p", labels, first), _to_integers("q", labels, second))
    capped(len(outcomes))
    total_p, total_q = (sum(side) for side in zip(*outcomes, strict=True))
    finite = [(a, b) for a, b in outcomes if a and b]
    start = sum(b for a, b in outcomes if a == 0)
    alpha = [Fraction(a, total_p) for a in accumulate((a for a, _ in finite), initial=0)]
    beta = [Fraction(total_q - b, total_q) for b in accumulate((b for _, b in finite), initial=start)]
    x, y = (np.array(side, dtype=object) for side in (alpha, beta))
    curve = PiecewiseLinear.of_checked(x, y, is_rational=True)
    curve.is_rounded = not all(isinstance(mass, Rational) for mass in (*first, *second))
    return curve


def _align(p: Any, q: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the outcomes, and the masses of both laws in their order."""
    if isinstance(p, Mapping) and isinstance(q, Mapping):
        labels = list(dict.fromkeys((*p, *q)))
        return labels, [p.get(label, 0) for label in labels], [q.get(label, 0) for label in labels]
    if isinstance(p, Mapping) or isinstance(q, Mapping):
        raise DomainError(
            "one of p and q is a mapping and one is not; give both by outcome, or both in order"
        )
    first, second = _to_list("p", p), _to_list("q", q)
    if len(first) != len(second):
        raise DomainError(f"p has {len(first)} masses and q has {len(second)}; give both for every outcome")
    return list(range(len(first))), first, second


def _to_list(name: str, masses: Any) -> list[Any]:
    is_row = isinstance(masses, np.ndarray) and masses.ndim == 1
    is_list = np.iterable(masses) and not isinstance(masses, str | bytes | np.ndarray)
    if is_masked(masses) or not (is_row or is_list):
        raise domain(name, masses, "a list of masses, or a mapping from outcomes to masses")
    return list(masses.tolist() if isinstance(masses, np.ndarray) else masses)


def _to_integers(name: str, labels: list[Any], masses: list[Any]) -> list[int]:
    """Return the masses as multiples of one number."""
    exact = (
        exact_number(f"{name}[{k!r}]", x, 0.0, math.inf, open_high=True)
        for k, x in zip(labels, masses, strict=True)
    )
    ratios = [mass.as_integer_ratio() for mass in exact]
    scale = 1
    for denominator in {denominator for _, denominator in ratios}:
        scale = math.lcm(scale, denominator)
        if scale.bit_length() > _MAX_BITS:
            raise SizeError(
                f"the masses of {name} have no common denominator of at most {_MAX_BITS} binary digits; "
                "give floats, or fractions with one denominator"
            )
    result = [numerator * (scale // denominator) for numerator, denominator in ratios]
    total = Fraction(sum(result), scale)
    if total != 1 and (abs(total - 1) > _TOLERANCE or all(isinstance(mass, Rational) for mass in masses)):
        raise DomainError(
            f"the masses of {name} must add to 1, got {float(min(total, Fraction(10**300)))!r}; "
            "divide them by their sum if that is meant"
        )
    return result


def _merge_ratios(p: list[int], q: list[int]) -> list[tuple[int, int]]:
    """Sort outcomes by decreasing q/p, exactly, and merge those of one ratio."""
    pairs = [(a, b) for a, b in zip(p, q, strict=True) if a or b]
    pairs.sort(key=lambda pair: pair[0] / (pair[0] + pair[1]))  # in floats, so that the exact sort is short
    merged: list[tuple[int, int]] = []
    for a, b in sorted(pairs, key=cmp_to_key(_compare_ratios)):
        is_equal = bool(merged) and _compare_ratios(merged[-1], (a, b)) == 0
        c, d = merged.pop() if is_equal else (0, 0)
        merged.append((a + c, b + d))
    return merged


def _compare_ratios(one: tuple[int, int], two: tuple[int, int]) -> int:
    return one[0] * two[1] - two[0] * one[1]
