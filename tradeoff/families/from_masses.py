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
from tradeoff.errors import DomainError, SizeError, shown

_MISSED = Fraction(1, 10**9)  # by how much masses in floats may miss 1: a million of them miss it by less
_LONGEST = 16_384  # bits of a common denominator: floats need at most 1074, and beyond it sums take minutes

Masses = Mapping[Any, Number] | Iterable[Number]  # masses in an order, or by outcome


def from_masses(p: Masses, q: Masses) -> PiecewiseLinear:
    """Trade-off function T(P, Q) of two laws on finitely many outcomes, in fractions.

    Parameters
    ----------
    p, q
        Masses of P and Q: two sequences of one length, or two mappings from outcomes to masses, where an
        outcome that is left out has none. Floats, integers or fractions, at least 0.

    Returns
    -------
    PiecewiseLinear
        Exact. A float is the fraction it is; where masses with floats add up to 1 only within 1e-9, the curve
        is that of the masses divided by their sum, so that rounding puts no mass at infinity. The order of
        two polygons raises ``Undecided`` where masses in floats are closer than their rounding.

    Raises
    ------
    DomainError
        If a mass is negative, infinite or NaN, masses do not add to 1, or p and q do not match.
    SizeError
        If there are more than 100 000 likelihood ratios, or fractions without a common denominator of
        reasonable length.

    Notes
    -----
    Outcomes of one likelihood ratio are one; rejecting by decreasing ratio q/p is optimal (Neyman, Pearson
    1933), and every vertex is such a test (Dong, Roth, Su 2022, Proposition 2.2).

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from_masses([F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)])
    PL[(0, 1), (1/4, 1/4), (1, 0)]
    >>> from_masses({"yes": 0.1, "no": 0.2, "?": 0.7}, {"yes": 0.7, "no": 0.2, "?": 0.1}).sup_loss < 2
    True
    """
    labels, pairs = _paired(p, q)
    of_p, of_q = zip(*pairs, strict=True) if pairs else ((), ())
    curve = _of_wholes(_wholes("p", labels, of_p), _wholes("q", labels, of_q))
    curve.is_rounded = not all(isinstance(mass, Rational) for mass in (*of_p, *of_q))
    return curve


def _paired(p: Any, q: Any) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """Return the outcomes, and the masses of both laws for each."""
    if isinstance(p, Mapping) and isinstance(q, Mapping):
        labels = list(dict.fromkeys((*p, *q)))
        return labels, [(p.get(label, 0), q.get(label, 0)) for label in labels]
    if isinstance(p, Mapping) or isinstance(q, Mapping):
        raise DomainError(
            "one of p and q is a mapping and one is not; give both by outcome, or both in order"
        )
    first, second = _listed("p", p), _listed("q", q)
    if len(first) != len(second):
        raise DomainError(f"p has {len(first)} masses and q has {len(second)}; give both for every outcome")
    return list(range(len(first))), list(zip(first, second, strict=True))


def _listed(name: str, masses: Any) -> list[Any]:
    if isinstance(masses, np.ndarray) and masses.ndim == 1 and not is_masked(masses):
        return list(masses.tolist())
    if isinstance(masses, str | bytes | np.ndarray) or is_masked(masses) or not np.iterable(masses):
        raise DomainError(
            f"{name} = {shown(masses)} is no list of masses, nor a mapping from outcomes to them"
        )
    return list(masses)


def _wholes(name: str, labels: list[Any], masses: Iterable[Any]) -> list[int]:
    """Return the masses as integers, multiples of what makes them add to 1."""
    given = list(masses)
    exact = (
        exact_number(f"{name}[{k!r}]", x, 0.0, math.inf, open_high=True)
        for k, x in zip(labels, given, strict=True)
    )
    parts = [mass.as_integer_ratio() for mass in exact]
    scale = 1
    for below in {below for _, below in parts}:
        scale = math.lcm(scale, below)
        if scale.bit_length() > _LONGEST:
            raise SizeError(
                f"the masses of {name} have no common denominator of at most {_LONGEST} binary digits; "
                "give floats, or fractions with one denominator"
            )
    result = [above * (scale // below) for above, below in parts]
    missed = abs(Fraction(sum(result), scale) - 1)
    if missed and (missed > _MISSED or all(isinstance(mass, Rational) for mass in given)):
        total = float(min(Fraction(sum(result), scale), Fraction(10**300)))
        raise DomainError(
            f"the masses of {name} add to {total!r}, not to 1; divide them by their sum if that is meant"
        )
    return result


def _of_wholes(p: list[int], q: list[int]) -> PiecewiseLinear:
    """Return the curve of masses that are multiples of one number for each law."""
    p, q = _by_ratio([(a, b) for a, b in zip(p, q, strict=True) if a or b])
    capped(len(p))
    hidden = sum(b for a, b in zip(p, q, strict=True) if a == 0)
    seen = [(a, b) for a, b in zip(p, q, strict=True) if a and b]
    of_p, of_q = sum(p), sum(q)
    alpha = [Fraction(a, of_p) for a in accumulate((a for a, _ in seen), initial=0)]
    beta = [Fraction(of_q - b, of_q) for b in accumulate((b for _, b in seen), initial=hidden)]
    x, y = (np.array(side, dtype=object) for side in (alpha, beta))
    return PiecewiseLinear.of_checked(x, y, is_rational=True)


def _by_ratio(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Sort outcomes by decreasing q/p, exactly, and make one of those that share it."""
    # By floats first, which leaves next to nothing to the exact sort.
    rough = sorted(pairs, key=lambda pair: pair[0] / (pair[0] + pair[1]))
    p: list[int] = []
    q: list[int] = []
    for a, b in sorted(rough, key=cmp_to_key(_larger)):
        if p and p[-1] * b == a * q[-1]:
            p[-1], q[-1] = p[-1] + a, q[-1] + b
        else:
            p.append(a)
            q.append(b)
    return p, q


def _larger(one: tuple[int, int], two: tuple[int, int]) -> int:
    """Compare p/q of two outcomes."""
    return one[0] * two[1] - two[0] * one[1]
