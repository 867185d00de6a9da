"""Write deep.json: delta from 1e-3 to 1e-100, and beta, of compositions of every kind, by contours and exact
sums.

Run ``python -m tests.golden.generate_deep [case ...]`` from the root of the repository; without names every
case is computed (about ten minutes). The cases and questions are those in deep.json; the answers are computed
anew. Regenerate only to add cases or to correct an oracle, never because a test fails.

Each case lists its factors (floats mean their exact binary value; the Gaussian of noise_multiplier s has mu =
the float 1/s) and, for the curve as built ("f") and its inverse ("~f"), rows [epsilon, delta, relative error]
and [alpha, beta, relative error].
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import mpmath as mp

from tests.golden import contour_oracle as contour
from tests.golden import oracle
from tests.golden import sums_oracle as sums

TARGET = Path(__file__).parent / "deep.json"
ALPHAS = (1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1 - 1e-6)

Case = dict[str, Any]
Row = tuple[float, mp.mpf, float]


def moment(factor: Case) -> contour.Moment:
    kind, f = factor["kind"], factor
    if kind == "gaussian":
        return contour.Gaussian(1 / f["noise_multiplier"])
    if kind == "subsampled_gaussian":
        return contour.ThinnedGaussian(1 / f["noise_multiplier"], f["sample_rate"])
    if kind == "laplace":
        return contour.Laplace(f["epsilon"])
    if kind == "subsampled_laplace":
        return contour.ThinnedLaplace(f["epsilon"], f["sample_rate"])
    if kind == "mixture":
        return contour.Mixture([(w, moment(part)) for w, part in f["parts"]])
    one = group({**factor, "count": 1})
    return contour.Atoms(list(zip(one.losses, one.p, strict=True)))


def group(factor: Case) -> sums.Group:
    kind, f, n = factor["kind"], factor, factor["count"]
    if kind in {"pure_dp", "approximate_dp"}:
        return sums.pure_dp(mp.mpf(f["epsilon"]), n)
    if kind == "subsampled_pure_dp":
        return sums.thinned_pure_dp(mp.mpf(f["epsilon"]), mp.mpf(f["sample_rate"]), n)
    if kind == "discrete_gaussian":
        return sums.discrete_gaussian(mp.mpf(f["sigma"]), f["shift"], n)
    if kind == "discrete_laplace":
        return sums.discrete_laplace(mp.mpf(f["scale"]), f["shift"], n)
    return sums.response(f["odds"], f["categories"], n)


def survival(factors: Sequence[Case]) -> mp.mpf:
    """Return P(nothing is revealed outright), the product of 1 - delta_0."""
    masses = [(f["delta"], f["count"]) for f in factors if f["kind"] in {"approximate_dp", "total_variation"}]
    return mp.fprod((1 - mp.mpf(d)) ** n for d, n in masses)


class Truth:
    """delta and beta of the part without mass at infinity; t belongs to the curve as built."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.finite = [f for f in case["factors"] if f["kind"] != "total_variation"]
        self.factors = [(moment(f), f["count"]) for f in self.finite]

    def delta(self, t: float, *, reverse: bool) -> tuple[mp.mpf, float]:
        raise NotImplementedError

    def betas(self, alphas: Sequence[mp.mpf]) -> dict[str, list[tuple[mp.mpf, float]]]:
        return {}


class ByContour(Truth):
    def delta(self, t: float, *, reverse: bool) -> tuple[mp.mpf, float]:
        c = contour.abscissa(self.factors, t, reverse=reverse)
        for step in (0.05, 0.025, 0.0125):
            paths = contour.both_ways(self.factors, c, [t], step=step)
            value, error = contour.agreed(*(contour.delta(path, t, reverse=reverse) for path in paths))
            if error < 1e-11:
                break
        return value, error + contour.returning(self.factors, c)

    def betas(self, alphas: Sequence[mp.mpf]) -> dict[str, list[tuple[mp.mpf, float]]]:
        low, high = self.span()
        result: dict[str, list[list[mp.mpf]]] = {"f": [], "~f": []}
        for path in contour.both_ways(self.factors, 0.45, [low, high], step=0.04):
            one, two = (lambda t, p=path: contour.type_one(p, t)), (lambda t, p=path: contour.type_two(p, t))
            result["f"].append([two(contour.solve(one, a, low, high)) for a in alphas])
            if "~f" in self.case:
                # Q(L <= t) increases: search in -t.
                result["~f"].append(
                    [one(-contour.solve(lambda s, two=two: two(-s), a, -high, -low)) for a in alphas]
                )
        lost = contour.returning(self.factors, 0.45) / min(ALPHAS)
        pairs = {
            order: [contour.agreed(*pair) for pair in zip(*both, strict=True)]
            for order, both in result.items()
            if both
        }
        return {order: [(value, error + lost) for value, error in pairs[order]] for order in pairs}

    def span(self) -> tuple[float, float]:
        """Return t with P(L <= t) and P(L > t) surely below every level in question, by Chernoff.

        Likewise for Q.
        """
        ends = []
        for sign in (-1, 1):
            c = 1.0
            while True:
                k, slope, _ = contour.derivatives(self.factors, sign * c)
                if max(k - sign * c * slope, k - (sign * c - 1) * slope) < math.log(1e-13):
                    break
                c *= 1.3
            ends.append(slope)
        return ends[0], ends[1]


class BySums(Truth):
    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.mu = mp.mpf(0)
        gaussians = [f for f in self.finite if f["kind"] == "gaussian"]
        if gaussians:
            self.mu = mp.sqrt(mp.fsum(f["count"] * mp.mpf(1 / f["noise_multiplier"]) ** 2 for f in gaussians))
        self.groups = [group(f) for f in self.finite if f["kind"] != "gaussian"]

    def delta(self, t: float, *, reverse: bool) -> tuple[mp.mpf, float]:
        e = -t if reverse else t
        with mp.workdps(200):
            groups = (
                [sums.Group([-x for x in reversed(g.losses)], list(reversed(g.q))) for g in self.groups]
                if reverse
                else self.groups
            )
            return sums.delta(groups, mp.mpf(e), mu=self.mu, floor=mp.mpf(10) ** -160), 1e-40

    def betas(self, alphas: Sequence[mp.mpf]) -> dict[str, list[tuple[mp.mpf, float]]]:
        if self.mu:
            return {}
        with mp.workdps(120):
            table = sums.atoms(self.groups, mp.mpf(10) ** -70)
            result = {"f": table}
            if "~f" in self.case:
                result["~f"] = [(-a, m * mp.exp(a)) for a, m in table]
            return {
                order: [(oracle.beta_of_atoms(rows, a), 1e-30) for a in alphas]
                for order, rows in result.items()
            }


class ByResidues(Truth):
    """Laplace powers."""

    def delta(self, t: float, *, reverse: bool) -> tuple[mp.mpf, float]:
        (f,) = self.finite
        return oracle.laplace_power_delta(t, f["epsilon"], f["count"]), 1e-40


class ByConditioning(Truth):
    """Power of a mixture of a Gaussian and a pure-DP curve: binomially many of each."""

    def delta(self, t: float, *, reverse: bool) -> tuple[mp.mpf, float]:
        (f,) = self.finite
        n, ((w, normal), (v, pure)) = f["count"], f["parts"]
        mu, result = mp.mpf(1 / normal["noise_multiplier"]), mp.mpf(0)
        with mp.workdps(200):
            for k in range(n + 1):
                weight = mp.binomial(n, k) * mp.mpf(w) ** k * mp.mpf(v) ** (n - k)
                pairs = oracle.pure_dp_power(pure["epsilon"], n - k)
                if k == 0:
                    result += weight * oracle.delta_of_atoms(pairs, t)
                else:
                    result += weight * mp.fsum(
                        m * mp.exp(a) * oracle.gaussian_delta(t - a, mu * mp.sqrt(k)) for a, m in pairs
                    )
        return result, 1e-40


class ByOneStep(Truth):
    """One thinned Gaussian: closed form."""

    def delta(self, t: float, *, reverse: bool) -> tuple[mp.mpf, float]:
        (f,) = self.finite
        with mp.workdps(200):
            e, mu, p = (-t if reverse else t), 1 / f["noise_multiplier"], f["sample_rate"]
            return oracle.subsampled_gaussian_delta(
                mp.mpf(e), mu, p, order="add" if reverse else "remove"
            ), 1e-40

    def betas(self, alphas: Sequence[mp.mpf]) -> dict[str, list[tuple[mp.mpf, float]]]:
        """Return beta = p G_mu + (1-p)(1-alpha); its inverse by a root."""
        (f,) = self.finite
        mu, p = 1 / f["noise_multiplier"], mp.mpf(f["sample_rate"])

        def value(z: mp.mpf) -> mp.mpf:
            return p * oracle.normal_cdf(z - mp.mpf(mu)) + (1 - p) * oracle.normal_cdf(z)

        with mp.workdps(90):
            forward = [value(oracle.normal_tail_quantile(a)) for a in alphas]
            back = [oracle.root(lambda s: value(-s), mp.mpf(a), mp.mpf(-60), mp.mpf(60)) for a in alphas]
            return {"f": [(b, 1e-30) for b in forward], "~f": [(oracle.normal_cdf(s), 1e-30) for s in back]}


class ByQuadrature(Truth):
    """Two rounds of a thinned Gaussian.

    Delta is the mean of the closed form for one over the loss of the other, under Q.
    """

    def delta(self, t: float, *, reverse: bool) -> tuple[mp.mpf, float]:
        (f,) = self.finite
        mu, p, e = mp.mpf(1 / f["noise_multiplier"]), mp.mpf(f["sample_rate"]), mp.mpf(-t if reverse else t)
        order, sign = ("add", -1) if reverse else ("remove", 1)

        def integrand(x: mp.mpf) -> mp.mpf:
            loss = mp.log1p(p * mp.expm1(mu * x - mu * mu / 2))
            density = mp.npdf(x) if reverse else mp.npdf(x) * mp.exp(loss)
            return density * oracle.subsampled_gaussian_delta(e - sign * loss, mu, p, order=order)

        # The closed form has an essential singularity where e - loss meets the end of the support.
        ratio = (mp.exp(sign * e) / (1 - p) - 1 + p) / p
        corner = [mp.log(ratio) / mu + mu / 2] if ratio > 0 else []
        values = []
        for width in (mp.mpf(1), mp.mpf("0.7")):
            points = [k * width for k in range(int(-24 / width), int((24 + 24 * mu) / width))]
            points = sorted(points + [x for x in corner if points[0] < x < points[-1]])
            values.append(mp.fsum(mp.quad(integrand, pair, maxdegree=5) for pair in pairwise(points)))
        return contour.agreed(*values)


METHODS = {
    "quadrature": ByQuadrature,
    "contour": ByContour,
    "exact sums": BySums,
    "residues": ByResidues,
    "conditioning": ByConditioning,
    "closed form": ByOneStep,
}


def note(line: str) -> None:
    sys.stderr.write(line + "\n")


def row(at: float, value: mp.mpf, error: float) -> list[Any]:
    error = max(error, 1e-25)
    digits = max(6, min(25, int(-math.log10(error)) + 1))
    return [at, mp.nstr(value, digits, strip_zeros=False), float(f"{error:.0e}")]


def answer(case: Case) -> Case:
    truth, alive = METHODS[case["method"]](case), survival(case["factors"])
    result: Case = {name: case[name] for name in ("id", "method", "factors")}
    alphas = [a for a in ALPHAS if a < alive]
    needed = any(case[order]["beta"] for order in ("f", "~f") if order in case)
    betas = truth.betas([mp.mpf(a) / alive for a in alphas]) if needed else {}
    for order in ("f", "~f"):
        if order not in case:
            continue
        reverse, profile = order == "~f", []
        for epsilon, *_ in case[order]["delta"]:
            value, error = truth.delta(-epsilon if reverse else epsilon, reverse=reverse)
            profile.append(row(epsilon, 1 - alive + alive * value, error))
        known = {a for a, *_ in case[order]["beta"]}
        rows = zip(alphas, betas.get(order, []), strict=False)
        beta = [row(a, alive * b, error) for a, (b, error) in rows if a in known]
        result[order] = {"delta": profile, "beta": beta}
    return result


def rewrite(target: Path, answer: Callable[[Case], Case]) -> None:
    """Compute the cases named on the command line anew, or all of them."""
    mp.mp.dps = contour.DIGITS
    names, cases = sys.argv[1:], json.loads(target.read_text(encoding="utf-8"))
    for k, case in enumerate(cases):
        if not names or case["id"] in names:
            start = time.process_time()
            cases[k] = answer(case)
            note(f"{case['id']}: {time.process_time() - start:.1f} s")
            lines = ",\n".join(json.dumps(each) for each in cases)
            target.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    rewrite(TARGET, answer)
