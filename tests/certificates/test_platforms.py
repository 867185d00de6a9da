"""Where long double is a double the verifier knows less and says so; it never accepts what is wrong."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import tradeoff as to
from tradeoff.families.discrete import DiscreteGaussianCurve

VERIFY = """
import sys, pathlib, warnings, numpy as np
warnings.simplefilter("error")
np.longdouble, np.clongdouble = np.float64, np.complex128
import tradeoff as to
from tradeoff.certificates import Certificate
from tradeoff.certificates.verify.arithmetic import EPS
assert EPS == 2.0**-52
for path in sys.argv[1:]:
    try:
        to.verify(Certificate.from_json(pathlib.Path(path).read_text()))
    except to.errors.VerificationError as error:
        print("refused", error.term, "long double" in str(error))
    else:
        print("holds")
"""


def test_a_double_as_long_double_accepts_or_says_why_not(tmp_path: Path) -> None:
    thinned = to.subsample(to.Gaussian(1.0), 0.3)
    asked = [
        (to.Gaussian(0.8), "delta", 0.5, None),
        (thinned, "beta", 0.2, None),
        (DiscreteGaussianCurve(0.357, 3), "beta", 1e-3, None),
        (to.PureDP(0.1) ** 100, "beta", 0.1, "exact"),
        (thinned**2, "delta", 0.3, "lattice"),
        (thinned**1000, "epsilon", 1e-5, "contour"),
    ]
    right = [to.certify(f, question, at, method=method) for f, question, at, method in asked]  # type: ignore[arg-type]  # listed
    wrong = [replace(one, upper=one.lower - 1e-3 * abs(one.lower)) for one in right]
    paths = []
    for k, one in enumerate([*right, *wrong]):
        paths.append(tmp_path / f"{k}.json")
        paths[-1].write_text(one.to_json(), encoding="utf-8")
    run = [sys.executable, "-c", VERIFY, *map(str, paths)]
    found = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()  # noqa: S603
    assert all(line == "holds" or line.endswith("True") for line in found[: len(right)]), found
    assert found[:4] == ["holds"] * 4
    assert all(line.startswith("refused") for line in found[len(right) :]), found
