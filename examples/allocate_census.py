"""How much accuracy the published guarantee of the 2020 US Census buys, where it is computed exactly.

python examples/allocate_census.py                     # 130 queries of the redistricting persons file
"""

from __future__ import annotations

from pathlib import Path

import tradeoff as to

GUARANTEE = {"epsilon": 17.14, "delta": 1e-10}
"""What the published budget is stated to give."""


def main() -> None:
    """Allocate the published guarantee anew, to the importance that the published variances reveal."""
    plan = to.spec.load(Path(__file__).with_name("census2020.toml")).plan
    # Under zCDP the least sum of w sigma^2 has equal w sigma^4: these weights make 2020's choice the best.
    parts = [to.Part(m, n, m.sigma**-4) for m, n in plan.mechanisms.items()]
    allocation = to.allocate(parts, GUARANTEE)
    spent = plan.guarantee().bounds.epsilon(GUARANTEE["delta"])
    variances = [(s / m.sigma) ** 2 for s, m in zip(allocation.scales, plan.mechanisms, strict=True)]
    print(
        f"published noise: epsilon <= {spent.upper:.4f}; allocated anew: <= {allocation.achieved.upper:.4f}"
    )
    print(f"variances fall by {1 - max(variances):.2%} to {1 - min(variances):.2%}")
    print(allocation)


if __name__ == "__main__":
    main()
