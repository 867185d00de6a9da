"""Write census2020.toml: the 65 queries of the 2020 US Census persons file, from its budget table.

Each query is a set of counts with independent discrete Gaussian noise. Changing one record moves one cell up
and another down, so each query is two discrete Gaussian factors at shift 1 with 1/sigma^2 = rho * (share of
the level) * (share of the query). Neighbours differ by changing one record. The budget is that of the
published production configuration.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

RHO = Fraction(542, 339) ** 2  # 293764/114921

QUERIES = (
    "total",
    "cenrace",
    "hispanic",
    "votingage",
    "hhinstlevels",
    "hhgq",
    "hispanic x cenrace",
    "votingage x cenrace",
    "votingage x hispanic",
    "votingage x hispanic x cenrace",
    "detailed",
)

# Share of each level, and of each query within it, in the order above (the US total is published without
# noise).
BUDGET = {
    "US": ("104/4099", "- 52/4097 26/4097 26/4097 26/4097 26/4097 130/4097 130/4097 26/4097 26/241 189/241"),
    "State": (
        "1440/4099",
        "3773/4097 6/4097 6/4097 6/4097 6/4097 6/4097 12/4097 12/4097 6/4097 2/241 230/4097",
    ),
    "County": (
        "447/4099",
        "3126/4097 10/4097 10/4097 10/4097 10/4097 10/4097 28/4097 28/4097 10/4097 101/4097 754/4097",
    ),
    "Tract": (
        "687/4099",
        "1567/4102 4/2051 5/4102 5/4102 5/4102 5/4102 1933/4102 10/2051 5/4102 67/4102 241/2051",
    ),
    "Optimized Block Group": (
        "1256/4099",
        "1705/4099 3/4099 3/4099 3/4099 3/4099 3/4099 1055/4099 9/4099 3/4099 24/4099 1288/4099",
    ),
    "Block": (
        "165/4099",
        "5/4097 9/4097 5/4097 5/4097 5/4097 5/4097 21/4097 21/4097 5/4097 71/4097 3945/4097",
    ),
}

HEAD = """\
# Written by write_census2020.py from the published budget table; edit that, not this.
title = "2020 US Census, redistricting persons file: 65 queries, global rho = 293764/114921"
adjacency = "replace-one"
delta = [1e-10]
"""

ENTRY = """
[[mechanism]]  # {level}: {query}
kind = "discrete-gaussian"
sigma = {sigma!r}
count = 2
"""


def variances() -> dict[tuple[str, str], Fraction]:
    """Return sigma^2 of every query, exactly, by level and name."""
    result = {}
    for level, (share, row) in BUDGET.items():
        shares = {
            query: Fraction(entry) for query, entry in zip(QUERIES, row.split(), strict=True) if entry != "-"
        }
        if sum(shares.values()) != 1:
            raise ValueError(f"the query shares of {level} sum to {sum(shares.values())}, not to 1")
        result.update(
            {(level, query): 1 / (RHO * Fraction(share) * entry) for query, entry in shares.items()}
        )
    return result


def main() -> None:
    """Write the plan file."""
    entries = [
        ENTRY.format(level=level, query=query, sigma=math.sqrt(v))
        for (level, query), v in variances().items()
    ]
    Path(__file__).with_name("census2020.toml").write_text(HEAD + "".join(entries), encoding="utf-8")


if __name__ == "__main__":
    main()
