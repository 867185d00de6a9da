"""Laws of L rebuilt from their descriptions in extended precision; nothing here comes from the engines.

A law is a few parts: atoms, and the nodes of a quadrature over the base variable of a Gaussian or a Laplace density.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradeoff.certificates.description import Description
from tradeoff.certificates.verify.report import Log

Long = NDArray[np.longdouble]

REAL = np.longdouble
PI = REAL("3.14159265358979323846264338327950288")
EPS = REAL(2) ** -63
_REACH, _DIGITS = 11.0, 45.0
_RULE = 32


class Part(NamedTuple):
    """Losses and the logarithms of their P-masses; of a density also its logarithm and log |dL/dx| at the nodes."""

    log_p: Long
    loss: Long
    log_density: Long | None = None
    log_rise: Long | None = None


class Law(NamedTuple):
    """Parts and the masses P(L = -inf), Q(L = inf)."""

    parts: list[Part]
    p_minus: np.longdouble
    q_plus: np.longdouble


class Need(NamedTuple):
    """What a quadrature must serve: the largest |c|, the largest frequency; ``finer`` divides the spacing."""

    tilt: float
    frequency: float
    finer: float = 1.0


def law(what: Description, need: Need) -> Law:
    """Return the law of a description."""
    return _MAKE[what["kind"]](what, need)


def _gaussian(what: Description, need: Need) -> Law:
    """Trapezoid rule, analytic for |Im x| < pi/mu; a tilt by c or 1 - c moves its mass by at most that times mu."""
    mu = what["mu"]
    a = min(9.0, 2.8 / mu)
    h = np.pi / (need.frequency * mu + _DIGITS / a + a / 2) / need.finer
    reach = _REACH + mu * (need.tilt + 2)
    x = REAL(h) * np.arange(-np.ceil(reach / h), np.ceil(reach / h) + 1).astype(REAL)
    density = -x * x / 2 - np.log(2 * PI) / 2
    mu = REAL(mu)
    return Law(
        [Part(density + np.log(REAL(h)), mu * x - mu * mu / 2, density, np.full(len(x), np.log(mu)))],
        REAL(0),
        REAL(0),
    )


def _laplace(what: Description, need: Need) -> Law:
    """Atoms at both ends; between them L = 2x - epsilon with density e^-x/2, by Gauss-Legendre rules."""
    epsilon = REAL(what["epsilon"])
    panels = int(np.ceil(what["epsilon"] * need.finer * (need.frequency + 2 * need.tilt + 4) / 2.5))
    at, weight = _legendre()
    half = epsilon / (2 * panels)
    x = (half * (2 * np.arange(panels).astype(REAL)[:, None] + 1 + at)).ravel()
    density = -x - np.log(REAL(2))
    inner = Part(
        density + np.log(np.tile(weight, panels) * half),
        2 * x - epsilon,
        density,
        np.full(len(x), np.log(REAL(2))),
    )
    ends = Part(np.array([0, -epsilon]) - np.log(REAL(2)), np.array([-epsilon, epsilon]))
    return Law([inner, ends], REAL(0), REAL(0))


@cache
def _legendre() -> tuple[Long, Long]:
    """Return the rule in extended precision: Newton's method on the recurrence, from nodes in double."""
    x = np.polynomial.legendre.leggauss(_RULE)[0].astype(REAL)
    for _ in range(3):
        before, value = np.ones(_RULE, REAL), x
        for k in range(2, _RULE + 1):
            before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / REAL(k)
        slope = _RULE * (before - x * value) / (1 - x * x)
        x = x - value / slope
    return x, 2 / ((1 - x * x) * slope * slope)


def _response(what: Description, _need: Need) -> Law:
    epsilon = REAL(what["epsilon"])
    loss = np.array([-epsilon, epsilon])
    return Law([Part(-np.log1p(np.exp(loss)), loss)], REAL(0), REAL(0))


def _rounds(what: Description, need: Need) -> Law:
    """Write out rounds of randomised response."""
    (one,) = _response(what, need).parts
    loss, log_p = binomial(one.loss, one.log_p, what["rounds"])
    return Law([Part(log_p, loss)], REAL(0), REAL(0))


def binomial(loss: Long, log_p: Long, n: int) -> tuple[Long, Long]:
    """Return the atoms of n rounds of a law with two atoms, where the mass is not below e^-2000."""
    share = np.exp(log_p[1] - np.logaddexp(log_p[0], log_p[1]))
    middle, reach = float(n * share), 70 * np.sqrt(n) + 1200
    low, high = max(0, int(middle - reach)), min(n, int(middle + reach) + 1)
    k = np.arange(low, high + 1).astype(REAL)
    log_ways = _log_factorial(n) - np.array([_log_factorial(int(j)) for j in (low, n - low)]).sum()
    steps = np.log((n - k[:-1]) / (k[:-1] + 1))
    log_ways = log_ways + np.concatenate([np.zeros(1, REAL), np.cumsum(steps)])
    return (n - k) * loss[0] + k * loss[1], log_ways + (n - k) * log_p[0] + k * log_p[1]


def _log_factorial(n: int) -> np.longdouble:
    import mpmath

    with mpmath.workdps(40):
        return REAL(mpmath.nstr(mpmath.loggamma(n + 1), 30))


def _discrete_gaussian(what: Description, need: Need) -> Law:
    sigma, shift = REAL(what["sigma"]), what["shift"]
    reach = int(np.ceil(24 * what["sigma"] + shift * (need.tilt + 2)))
    x = np.arange(-reach, reach + 1).astype(REAL)
    bell = -((x / sigma) ** 2) / 2
    return Law(
        [Part(bell - np.log(np.sum(np.exp(bell))), (x - REAL(shift) / 2) * (shift / sigma**2))],
        REAL(0),
        REAL(0),
    )


def _atoms(what: Description, _need: Need) -> Law:
    part = Part(np.array(what["log_p"], REAL), np.array(what["loss"], REAL))
    return Law([part] if len(part.loss) else [], REAL(what["p_minus"]), REAL(what["q_plus"]))


def balanced(what: Description, log: Log) -> None:
    """Require of masses and losses written out that both orders have mass 1: sum p (e^loss - 1) = P(L = -inf) - Q(L = inf).

    Small losses are differences of masses, which the masses alone do not hold: a loss known to units of log p only, not of
    itself, shows here. Allowed are a few units of every number written.
    """
    for inner in [what["base"]] if "base" in what else [part for _, part in what.get("parts", ())]:
        balanced(inner, log)
    if what["kind"] != "atoms":
        return
    loss, log_p = np.array(what["loss"], REAL), np.array(what["log_p"], REAL)
    p, gain, lost = np.exp(log_p), np.expm1(loss), (REAL(what["p_minus"]), REAL(what["q_plus"]))
    size = np.sum(p * (np.abs(gain) * (16 + 4 * np.abs(log_p)) + 16 * np.abs(loss) * np.exp(loss)))
    log.close(
        "loss",
        np.sum(p * gain),
        lost[0] - lost[1],
        REAL(2.0**-53) * (size + 64 * (lost[0] + lost[1])) + REAL(1e-290),
    )


def _thinned(what: Description, need: Need) -> Law:
    inner, p = law(what["base"], need), REAL(what["p"])
    parts = [_thin(part, p) for part in inner.parts]
    if p == 1:
        return inner
    if inner.p_minus > 0:
        parts.append(Part(np.log(np.array([inner.p_minus])), np.log1p(-np.array([p]))))
    return Law(parts, REAL(0), p * inner.q_plus)


def _thin(part: Part, p: np.longdouble) -> Part:
    far = part.loss > 30
    near = np.log1p(p * np.expm1(np.where(far, 0, part.loss)))
    loss = np.where(far, part.loss + np.log(p + (1 - p) * np.exp(-np.where(far, part.loss, 30))), near)
    rise = None if part.log_rise is None else part.log_rise + np.log(p) + part.loss - loss
    return Part(part.log_p, loss, part.log_density, rise)


def _reversed(what: Description, need: Need) -> Law:
    inner = law(what["base"], need)
    parts = [
        Part(
            part.log_p + part.loss,
            -part.loss,
            None if part.log_density is None else part.log_density + part.loss,
            part.log_rise,
        )
        for part in inner.parts
    ]
    return Law(parts, inner.q_plus, inner.p_minus)


def _mixed(what: Description, need: Need) -> Law:
    parts, p_minus, q_plus = [], REAL(0), REAL(0)
    for weight, each in what["parts"]:
        w, inner = REAL(weight), law(each, need)
        p_minus, q_plus = p_minus + w * inner.p_minus, q_plus + w * inner.q_plus
        for part in inner.parts:
            density = None if part.log_density is None else part.log_density + np.log(w)
            parts.append(Part(part.log_p + np.log(w), part.loss, density, part.log_rise))
    return Law(parts, p_minus, q_plus)


_MAKE: dict[str, Callable[[Description, Need], Law]] = {
    "gaussian": _gaussian,
    "laplace": _laplace,
    "response": _response,
    "rounds": _rounds,
    "discrete gaussian": _discrete_gaussian,
    "atoms": _atoms,
    "thinned": _thinned,
    "reversed": _reversed,
    "mixed": _mixed,
}
