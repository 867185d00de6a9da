"""Compositions of every kind at delta from 1e-3 to 1e-100: the public functions against deep.json.

The truth must lie inside every bound, and the bounds must be tight: delta to 1e-3 of itself, beta to 1e-3 of
min(beta, 1 - alpha - beta), epsilon to 3e-4. deep.json was computed by bent contours in 45 digits, exact
sums, residues and closed forms (generate_deep.py); each row carries its own relative error, nothing else is
allowed for.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath as mp
import pytest

import tradeoff as to
from tradeoff.families.discrete import DiscreteGaussianCurve, DiscreteLaplaceCurve

CASES = {
    case["id"]: case for case in json.loads((Path(__file__).parent / "deep.json").read_text(encoding="utf-8"))
}

WIDTH_OF_DELTA, WIDTH_OF_BETA, WIDTH_OF_EPSILON = 1e-3, 1e-3, 3e-4

OUT_OF_REACH = {
    ("delta", "sgm p=.01 s=1 n=2", "~f"): "two nearly atomic rounds at delta = 1e-100",
    ("delta", "sgm p=1e-5 s=.6 n=1e5", "f"): "a few rare jumps: neither engine resolves delta below 1e-50",
    ("epsilon", "sgm p=1e-5 s=.6 n=1e5", "f"): "as above",
    ("beta", "sgm p=1e-5 s=100 n=1", "~f"): "1 - alpha - beta is below 1e-14, finer than floats near 1",
}
"""Questions that raise PrecisionError at these widths, and why; their bounds hold all the same."""


def answer(question: str, name: str, order: str, tol: float) -> float | None:
    """Return the tolerance to ask, or None where it is known not to be reached."""
    return None if (question, name, order) in OUT_OF_REACH else tol


def response(odds: int, categories: int) -> to.TradeOff:
    total = odds + categories - 1
    low, high = Fraction(1, total), Fraction(categories - 1, total)
    return to.PiecewiseLinear([Fraction(0), low, high, Fraction(1)], [Fraction(1), high, low, Fraction(0)])


MAKE: dict[str, Callable[[dict[str, Any]], to.TradeOff]] = {
    "gaussian": lambda f: to.Gaussian(1 / f["noise_multiplier"]),
    "subsampled_gaussian": lambda f: to.subsample(to.Gaussian(1 / f["noise_multiplier"]), f["sample_rate"]),
    "laplace": lambda f: to.Laplace(f["epsilon"]),
    "subsampled_laplace": lambda f: to.subsample(to.Laplace(f["epsilon"]), f["sample_rate"]),
    "pure_dp": lambda f: to.PureDP(f["epsilon"]),
    "subsampled_pure_dp": lambda f: to.subsample(to.PureDP(f["epsilon"]), f["sample_rate"]),
    "approximate_dp": lambda f: to.approximate_dp(f["epsilon"], f["delta"]),
    "total_variation": lambda f: to.TotalVariation(f["delta"]),
    "response": lambda f: response(f["odds"], f["categories"]),
    "discrete_gaussian": lambda f: DiscreteGaussianCurve(f["sigma"], f["shift"]),
    "discrete_laplace": lambda f: DiscreteLaplaceCurve(f["scale"], f["shift"]),
    "mixture": lambda f: to.mixture({MAKE[part["kind"]](part): w for w, part in f["parts"]}),
}


@functools.cache
def composed(name: str, order: str) -> to.TradeOff:
    curve: to.TradeOff = to.Identity()
    for factor in CASES[name]["factors"]:
        curve = curve @ MAKE[factor["kind"]](factor) ** factor["count"]
    return ~curve if order == "~f" else curve


def interval(value: str, relative_error: float) -> tuple[mp.mpf, mp.mpf]:
    """Return the values that the golden number allows."""
    with mp.workdps(40):
        truth = mp.mpf(value)
        return truth * (1 - mp.mpf(relative_error)), truth * (1 + mp.mpf(relative_error))


def outwards(low: mp.mpf, high: mp.mpf) -> tuple[float, float]:
    """Return floats around an interval."""
    return math.nextafter(float(low), 0.0), math.nextafter(float(high), 1.0)


SLOW = {
    *("sgm p=.1 s=2 n=20", "sgm p=.01 s=.5 n=100", "sgm p=.01 s=1 n=2", "sgm p=1e-5 s=.6 n=1e5"),
    *("sgm p=1e-3 s=.3 n=2", "five distinct sgm", "discrete Gaussians", "discrete Gaussians of two shifts"),
    *("pure .01, .01 sqrt 3 n=1000", "mixture of Gaussian and pure n=8"),
}
"""Seconds each at delta = 1e-100; other cases have factors of the same kinds."""


def rows(question: str) -> Iterator[Any]:
    for name, case in CASES.items():
        marks = [pytest.mark.slow] if name in SLOW and question == "delta" else []
        for order in ("f", "~f"):
            if case.get(order, {}).get(question):
                yield pytest.param(name, order, id=f"{name} {order}", marks=marks)


@pytest.mark.parametrize(("name", "order"), list(rows("delta")))
def test_delta(name: str, order: str) -> None:
    table = CASES[name][order]["delta"]
    lower, upper = composed(name, order).bounds.delta(
        [epsilon for epsilon, _, _ in table], tol=answer("delta", name, order, WIDTH_OF_DELTA)
    )
    for (epsilon, value, error), low, high in zip(table, lower, upper, strict=True):
        least, most = interval(value, error)
        assert mp.mpf(low) <= most, f"lower bound above the truth at epsilon = {epsilon}"
        assert mp.mpf(high) >= least, f"upper bound below the truth at epsilon = {epsilon}"
    wide = {
        e: float((high - low) / mp.mpf(value))
        for (e, value, _), low, high in zip(table, lower, upper, strict=True)
    }
    assert (max(wide.values()) <= WIDTH_OF_DELTA) == (("delta", name, order) not in OUT_OF_REACH), wide


@pytest.mark.parametrize(("name", "order"), list(rows("delta")))
def test_epsilon(name: str, order: str) -> None:
    """delta(epsilon) is between two floats, so epsilon is between the answers at them."""
    table = CASES[name][order]["delta"]
    around = [outwards(*interval(value, error)) for _, value, error in table]
    lower, upper = composed(name, order).bounds.epsilon(
        around, tol=answer("epsilon", name, order, WIDTH_OF_EPSILON)
    )
    for (epsilon, value, _), low, high in zip(table, lower, upper, strict=True):
        assert low[1] <= epsilon, f"lower bound above the truth at delta = {value}"
        assert high[0] >= epsilon, f"upper bound below the truth at delta = {value}"
    wide = {
        value: float(high[0] - low[0]) for (_, value, _), low, high in zip(table, lower, upper, strict=True)
    }
    assert (max(wide.values()) <= WIDTH_OF_EPSILON) == (("epsilon", name, order) not in OUT_OF_REACH), wide


@pytest.mark.parametrize(("name", "order"), list(rows("beta")))
def test_beta(name: str, order: str) -> None:
    table = CASES[name][order]["beta"]
    lower, upper = composed(name, order).bounds([alpha for alpha, _, _ in table])
    wide = {}
    for (alpha, value, error), low, high in zip(table, lower, upper, strict=True):
        least, most = interval(value, error)
        assert mp.mpf(low) <= most, f"lower bound above the truth at alpha = {alpha}"
        assert mp.mpf(high) >= least, f"upper bound below the truth at alpha = {alpha}"
        with mp.workdps(40):
            scale = min(mp.mpf(value), 1 - mp.mpf(alpha) - mp.mpf(value))
            # The nearest floats around a beta close to 1 may be further apart than that.
            spacing = 4 * math.ulp(float(value))
            wide[alpha] = float(max(mp.mpf(high) - mp.mpf(low) - spacing, 0) / scale) if scale > 0 else 0.0
    assert (max(wide.values()) <= WIDTH_OF_BETA) == (("beta", name, order) not in OUT_OF_REACH), wide
