"""Printed digits that keep the promise of the numbers: a lower bound is cut down, an upper bound up."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Literal


def rounded(value: float, side: Literal["lower", "upper"], digits: int = 10) -> str:
    """Write a bound, any float but NaN, with so many significant digits, rounded away from the truth.

    Examples
    --------
    >>> rounded(2 / 3, "lower", 4), rounded(2 / 3, "upper", 4)
    ('0.6666', '0.6667')
    """
    if math.isinf(value) or value == 0:
        return f"{value:g}"
    direction = ROUND_FLOOR if side == "lower" else ROUND_CEILING
    number = Context(prec=digits, rounding=direction).create_decimal(Decimal(value))
    if abs(value) >= 1e-4:
        return f"{number:g}"
    mantissa, _, power = f"{number:e}".partition("e")
    return f"{mantissa}e{int(power):+03d}"


def exactly(value: float) -> str:
    """Write what was asked so that it reads back as the same float: the bounds beside it are for no other.

    Examples
    --------
    >>> exactly(1.0), exactly(1e-5), exactly(1.000004)
    ('1', '1e-05', '1.000004')
    """
    return repr(float(value)).removesuffix(".0")
