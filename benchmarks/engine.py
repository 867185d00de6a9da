"""Time and width of the eight reference compositions: ``python benchmarks/engine.py [tol]``.

One row a question: the bounds, how far apart they are, and seconds for both sides with nothing cached.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import tradeoff as to
from tradeoff.errors import PrecisionError
from tradeoff.families.discrete import DiscreteGaussianCurve

CASES = json.loads((Path(__file__).parents[1] / "tests" / "golden" / "composition.json").read_text(encoding="utf-8"))


def curve(factors: list[dict[str, Any]]) -> to.TradeOff:
    """Build the product of a case, in the order remove."""
    make = {
        "gaussian": lambda m: to.Gaussian(1 / m["sigma"]),
        "laplace": lambda m: to.Laplace(m["epsilon"]),
        "pure_dp": lambda m: to.PureDP(m["epsilon"]),
        "discrete_gaussian": lambda m: DiscreteGaussianCurve(m["sigma"], m["sensitivity"]),
        "poisson_subsampled_gaussian": lambda m: to.subsample(to.Gaussian(1 / m["sigma"]), m["sample_rate"]),
    }
    product = to.Identity()
    for factor in factors:
        product = product @ make[factor["mechanism"]](factor) ** factor["count"]
    return product


def main() -> None:
    """Print the table."""
    tol = float(sys.argv[1]) if len(sys.argv) > 1 else None
    print(f"{'case':8}{'order':10}{'delta':>8}{'lower':>14}{'upper':>14}{'width':>10}{'seconds':>9}")
    for case in CASES:
        orders = ["both"] if case["symmetric"] else ["remove", "add", "envelope"]
        for order in orders:
            for delta in (1e-5, 1e-12, 1e-20):
                f = curve(case["factors"])
                f = ~f if order == "add" else f.symmetrise(assume="either-order") if order == "envelope" else f
                start = time.perf_counter()
                try:
                    bounds = f.bounds.epsilon(delta, tol=tol)
                except PrecisionError as error:
                    print(f"{case['id']:8}{order:10}{delta:8.0e}  {error}")
                    continue
                seconds = time.perf_counter() - start
                print(f"{case['id']:8}{order:10}{delta:8.0e}{bounds.lower:14.8f}{bounds.upper:14.8f}{bounds.width:10.1e}{seconds:9.2f}")


if __name__ == "__main__":
    main()
