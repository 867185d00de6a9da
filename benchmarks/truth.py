"""Write truth.json, the answers of the cases that tests/golden does not hold: ``python benchmarks/truth.py``.

Shares nothing with the library. With K(z) = log E_P e^{zL} and any c > 1,

    delta(eps) = (1 / 2 pi i) int_{Re z = c} e^{K(z) - (z - 1) eps} / (z (z - 1)) dz,

by the trapezoid rule on the line through the saddle; the other order has K(1 - z). Every value is computed
twice, on another line with other steps in both variables; the stored error is ten times their distance. It
refuses to write unless it reproduces the reference compositions to the error stated there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence

import numpy as np
from cases import TRUTH, Case, Factor, cases, reference, truth
from scipy.optimize import brentq, minimize_scalar

Complex = np.ndarray
Cumulant = Callable[[Complex], Complex]


def gaussian(z: Complex, factor: Factor, _fine: float) -> Complex:
    """L is N(-mu^2/2, mu^2)."""
    return z * (z - 1) / (2 * factor["sigma"] ** 2)


def laplace(z: Complex, factor: Factor, _fine: float) -> Complex:
    """L is +-e0 at the ends and uniform in exponent between."""
    e0 = factor["epsilon"]
    return np.log((z * np.exp((z - 1) * e0) + (z - 1) * np.exp(-z * e0)) / (2 * z - 1))


def pure_dp(z: Complex, factor: Factor, _fine: float) -> Complex:
    """L is e0 with P-mass 1 / (1 + e^e0), else -e0."""
    e0 = factor["epsilon"]
    return np.log((np.exp(z * e0) + np.exp(e0 - z * e0)) / (1 + math.exp(e0)))


def discrete_gaussian(z: Complex, factor: Factor, _fine: float) -> Complex:
    """L = s (2x - s) / (2 sigma^2) at the integers x."""
    sigma, shift = factor["sigma"], factor["sensitivity"]
    reach = math.ceil(12 * sigma + abs(shift) * (1 + np.abs(z.real).max()))
    x = np.arange(-reach, reach + 1)
    weight = np.exp(-((x / sigma) ** 2) / 2)
    loss = shift * (2 * x - shift) / (2 * sigma**2)
    return np.log(np.exp(np.multiply.outer(z, loss)) @ (weight / weight.sum()))


def subsampled_gaussian(z: Complex, factor: Factor, fine: float) -> Complex:
    """L = log(1 + p (e^{(2x - 1)/(2 sigma^2)} - 1)), x of N(0, sigma^2).

    E e^L = 1, so that K = log1p(E[e^{zL} - 1 - z (e^L - 1)]): nothing of order p cancels, and n K keeps its
    digits.
    """
    sigma, p = factor["sigma"], factor["sample_rate"]
    step = 0.1 * sigma / fine
    x = np.arange(-10 * sigma, 10 * sigma + max(float(z.real.max()), 1) + step, step).astype(z.real.dtype)
    growth = p * np.expm1((2 * x - 1) / (2 * sigma**2))
    log_weight = math.log(step / (sigma * math.sqrt(2 * math.pi))) - (x / sigma) ** 2 / 2
    weight, loss = np.exp(log_weight), np.log1p(growth)
    near = loss * max(z.real.max(), 1) < 300  # above, e^{zL} is a float only together with its weight
    excess = np.expm1(np.multiply.outer(z, loss[near])) @ weight[near] - z * (growth @ weight)
    far = np.exp(np.multiply.outer(z, loss[~near]) + log_weight[~near]).sum(axis=-1) - weight[~near].sum()
    return np.log1p(excess + far)


CUMULANT = {
    "gaussian": gaussian,
    "laplace": laplace,
    "pure_dp": pure_dp,
    "discrete_gaussian": discrete_gaussian,
    "poisson_subsampled_gaussian": subsampled_gaussian,
}


def cumulant(factors: Sequence[Factor], fine: float) -> Cumulant:
    """Return K of a composition; in long doubles where factors are few, as n carry n rounding errors."""
    kind = np.clongdouble if len(factors) < 10 else np.complex128
    return lambda z: sum(
        f["count"] * CUMULANT[f["mechanism"]](np.asarray(z, kind), f, fine) for f in factors
    ).astype(complex)


def line(k: Cumulant, delta: float) -> tuple[float, float]:
    """Return the abscissa that makes the Chernoff bound of epsilon least, and that bound."""

    def chernoff(u: float) -> float:
        c = 1 + math.exp(u)
        return (k(np.array([c]))[0].real - math.log(delta * c * (c - 1))) / (c - 1)

    best = minimize_scalar(chernoff, bounds=(-4, 4), method="bounded", options={"xatol": 1e-3})
    return 1 + math.exp(best.x), best.fun


def epsilon(k: Cumulant, delta: float, fine: float) -> float:
    """Solve delta(epsilon) = delta on one line; ``fine`` moves the line and shortens the step."""
    c, bound = line(k, delta)
    h = 1e-3 * min(1, c - 1)
    near = k(np.array([c - h, c, c + h])).real
    deviation = math.sqrt(max(near[0] - 2 * near[1] + near[2], 1e-300)) / h
    c -= (
        (fine - 1) / 4 / max(deviation, 1 / (c - 1))
    )  # off the saddle by part of its width: nothing cancels yet
    # Aliases sit a period apart: the near one is e^{-period (c-1)}, the far one outside the tilted law.
    step = 2 * math.pi / (fine * max(40 / (c - 1), 14 * deviation))
    size = 64
    while True:
        t = step * np.arange(size)
        values = k(c + 1j * t)
        if (values.real[-size // 8 :].max() < values.real[0] - 42) or size > 1 << 15:
            break
        size *= 2
    z = c + 1j * t
    scale = values.real[0]
    weight = np.exp(values - scale) / (z * (z - 1)) * np.where(t == 0, 0.5, 1) * step / math.pi

    def excess(eps: float) -> float:
        total = float(np.sum(weight * np.exp(-1j * t * eps)).real)
        return scale - (c - 1) * eps + math.log(total) - math.log(delta) if total > 0 else -1.0

    low = bound
    for _ in range(100):  # the Chernoff bound is above; delta falls by e^{-1/2} in a stride
        if excess(low) >= 0:
            break
        low -= 0.5 / (c - 1)
    return float(brentq(excess, low, low + 0.5 / (c - 1), xtol=1e-14, rtol=1e-15))


def allocation(factor: Factor, delta: float, fine: float) -> float:
    """Solve delta(eps) = delta for one of t steps, in the worse order.

    Without the record the t results are normal, and the ratio of probabilities is the mean Y of t
    independent R = exp(x/sigma - 1/(2 sigma^2)). The orders have delta = E(Y - K)+ = E(K - Y)+ + 1 - K and
    K E(1/K - Y)+ with K = e^eps. For k > 0, by Laplace's transform phi of R/t, on any line c > 0,

        E(k - Y)+ = (1 / 2 pi i) int_{Re z = c} e^{z k} phi(z)^t z^-2 dz.
    """
    t, step = factor["steps"], 0.1 / fine
    x = np.arange(-12, 12, step)
    ratio = np.exp(x / factor["sigma"] - 1 / (2 * factor["sigma"] ** 2)) / t
    weight = np.exp(-(x**2) / 2) * step / math.sqrt(2 * math.pi)

    def log_power(z: Complex) -> Complex:
        return t * np.log1p(np.expm1(-np.multiply.outer(z, ratio)) @ weight)

    def short(k: float) -> float:
        best = minimize_scalar(
            lambda u: math.exp(u) * k + log_power(np.array([math.exp(u)]))[0] - 2 * u,
            bounds=(-3, 8),
            method="bounded",
        )
        c = math.exp(best.x) * (1 + (fine - 1) / 8)
        h, total = c / (4 * fine), 0.0
        for start in range(0, 1 << 18, 1 << 10):
            z = c + 1j * h * np.arange(start, start + (1 << 10))
            values = np.exp(z * k + log_power(z) - 2 * np.log(z))
            total += float(values.real.sum()) - (values[0].real / 2 if start == 0 else 0)
            if abs(values[-1]) < 1e-18 * delta:
                break
        return total * h / math.pi

    def excess(eps: float) -> float:
        k = math.exp(eps)
        return max(short(k) + 1 - k, k * short(1 / k)) - delta

    return float(brentq(excess, 0, 3, xtol=1e-13))


def answer(case: Case, delta: float) -> tuple[float, float]:
    """Return the larger of the two orders, and how far it may be off."""
    result = []
    for fine in (1.4, 1.9):
        if case.kind == "allocation":
            result.append(allocation(case.factors[0], delta, fine))
            continue
        k = cumulant(case.factors, fine)
        value = epsilon(k, delta, fine)
        if (
            not case.symmetric and line(lambda z, k=k: k(1 - z), delta)[1] > value
        ):  # else "add" is below by its Chernoff bound
            value = max(value, epsilon(lambda z, k=k: k(1 - z), delta, fine))
        result.append(value)
    return result[1], 10 * abs(result[0] - result[1]) + 8 * math.ulp(result[1])


def check() -> None:
    """Compare with the reference compositions, whose values come from other code in 40 digits and more."""
    for case in reference():
        if case.id in ("L100", "RR1000", "DG20"):  # atoms on one lattice: the integrand never dies away
            continue
        for delta in case.at:
            known, (value, error) = truth(case, delta), answer(case, delta)
            if known and abs(value - known.value) > error + known.error:
                raise SystemExit(
                    f"{case.id} at delta = {delta}: {value!r} is not {known.value!r} "
                    f"within {error + known.error:.1e}"
                )


def main() -> None:
    """Write the file."""
    check()
    wanted = [case for case in cases() if case.kind != "beta" and case.group != "reference"]
    rows = {}
    for case in wanted:
        rows[case.id] = {str(delta): answer(case, delta) for delta in case.at}
        print(case.id, rows[case.id])
    body = ",\n".join(f" {json.dumps(name)}: {json.dumps(values)}" for name, values in rows.items())
    TRUTH.write_text(f"{{\n{body}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
