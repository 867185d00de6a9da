"""Laws of L rebuilt from their descriptions in extended precision; nothing here comes from the engines.

A law is its atoms, and the nodes of quadratures over the base variables of Gaussian and Laplace densities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import mpmath
import numpy as np

from tradeoff.certificates.description import Description
from tradeoff.certificates.verify import mixtures
from tradeoff.certificates.verify.arithmetic import DIGITS, EPS, PI, REAL, UNIT, Long, to_mpf, to_real
from tradeoff.certificates.verify.report import Log
from tradeoff.errors import VerificationError

_REACH = 11.0
"""Standard deviations beyond which a normal law has less than 1e-27 of its mass."""

_DIGITS = 45.0
"""Accuracy of quadratures, in nats: e^-45 is below the unit of extended precision."""

_FARTHEST = 40.0
"""Scales of a discrete Gaussian that are written out: beyond is less than e^-800, which is no double."""

_RULE = 32
"""Nodes of a Gauss-Legendre panel; with half a period of the integrand each errs below e^-45."""

_FAINT = 2000.0
"""Atoms of a binomial law beyond which e^-2000 of its mass lies are left out."""

MOST = 2**23
"""Most atoms of a law: a gibibyte."""


class Atoms(NamedTuple):
    """Point masses under P and Q, known to relative ``off_p`` and ``off_q``, at losses known to ``shift``."""

    loss: Long
    log_p: Long
    log_q: Long
    off_p: Long
    off_q: Long
    shift: Long


class Nodes(NamedTuple):
    """Nodes of a quadrature, with the logarithms of the density and of |dL/dx| beside."""

    loss: Long
    log_p: Long
    log_density: Long
    log_rise: Long


class Law(NamedTuple):
    """Atoms, densities and the masses P(L = -inf), Q(L = inf)."""

    atoms: Atoms
    nodes: list[Nodes]
    p_minus: np.longdouble
    q_plus: np.longdouble


class Need(NamedTuple):
    """What a quadrature must serve: the largest |c|, the largest frequency; ``finer`` divides the spacing."""

    tilt: float = 1.0
    frequency: float = 0.0
    finer: float = 1.0


def law(what: Description, need: Need = Need()) -> Law:  # noqa: B008 - a constant
    """Return the law of a description."""
    return _MAKE[what["kind"]](what, need)


def rounded(log: Long, unit: np.longdouble = EPS) -> Long:
    """Bound the relative error of masses whose logarithms were rounded to ``unit`` a few times."""
    return unit * (8 + 4 * np.abs(log))


def atoms(loss: Long, log_p: Long, log_q: Long, unit: np.longdouble = EPS) -> Atoms:
    """Return atoms whose numbers are known to a few ``unit``."""
    return Atoms(loss, log_p, log_q, rounded(log_p, unit), rounded(log_q, unit), 8 * unit * np.abs(loss))


def no_atoms() -> Atoms:
    """Return none."""
    return Atoms(*np.zeros((6, 0), REAL))


def joined(parts: Sequence[Atoms]) -> Atoms:
    """Return the atoms of all parts together."""
    return Atoms(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _listed(loss: Long, log_p: Long, log_q: Long) -> Law:
    return Law(atoms(loss, log_p, log_q), [], REAL(0), REAL(0))


def _gaussian(what: Description, need: Need) -> Law:
    """Trapezoid rule, analytic for |Im x| < pi/mu; a tilt by c or 1 - c moves its mass by that times mu."""
    mu = what["mu"]
    a = min(9.0, 2.8 / mu)
    h = np.pi / (need.frequency * mu + _DIGITS / a + a / 2) / need.finer
    reach = _REACH + mu * (need.tilt + 2)
    x = REAL(h) * np.arange(-np.ceil(reach / h), np.ceil(reach / h) + 1).astype(REAL)
    density = -x * x / 2 - np.log(2 * PI) / 2
    mu = REAL(mu)
    loss, rise = mu * x - mu * mu / 2, np.full(len(x), np.log(mu))
    return Law(no_atoms(), [Nodes(loss, density + np.log(REAL(h)), density, rise)], REAL(0), REAL(0))


def _mixtures(what: Description, need: Need) -> Law:
    """Trapezoid rule, analytic where terms turn by less than pi from each other, |Im x| < pi/spread."""
    spread = mixtures.spread(what)
    a = min(9.0, 2.8 / spread)
    h = np.pi / (need.frequency * spread + (_DIGITS + 2 * need.tilt) / a + a / 2) / need.finer
    reach = _REACH + spread * (need.tilt + 2)
    x = REAL(h) * np.arange(-np.ceil(reach / h), np.ceil(reach / h) + 1).astype(REAL)
    loss, density, rise = mixtures.values(what, x)
    return Law(no_atoms(), [Nodes(loss, density + np.log(REAL(h)), density, rise)], REAL(0), REAL(0))


def _laplace(what: Description, need: Need) -> Law:
    """Atoms at both ends; between them L = 2x - epsilon with density e^-x/2, by Gauss-Legendre rules."""
    epsilon = REAL(what["epsilon"])
    panels = int(np.ceil(what["epsilon"] * need.finer * (need.frequency + 2 * need.tilt + 4) / 2.5))
    at, weight = _legendre()
    half = epsilon / (2 * panels)
    x = (half * (2 * np.arange(panels).astype(REAL)[:, None] + 1 + at)).ravel()
    density = -x - np.log(REAL(2))
    log_p = density + np.log(np.tile(weight, panels) * half)
    inner = Nodes(2 * x - epsilon, log_p, density, np.full(len(x), np.log(REAL(2))))
    far, near = np.array([REAL(0), -epsilon]) - np.log(REAL(2)), np.array([-epsilon, epsilon])
    return Law(atoms(near, far, far[::-1]), [inner], REAL(0), REAL(0))


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
    return _listed(loss, -np.logaddexp(REAL(0), loss), -np.logaddexp(REAL(0), -loss))


def _rounds(what: Description, need: Need) -> Law:
    """Write out rounds of randomised response."""
    return Law(power_of_two(_response(what, need).atoms, what["rounds"]), [], REAL(0), REAL(0))


def power_of_two(one: Atoms, n: int) -> Atoms:
    """Return the atoms of n rounds of a law with two, but for e^-2000 of the mass of P and of Q."""
    ends = [_bulk(log, n) for log in (one.log_p, one.log_q)]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    if high - low >= MOST:
        raise VerificationError(f"atoms: {n} rounds have more than {MOST} atoms that matter", "atoms")
    log_p, off_p = _binomial(one.log_p, n, low, high)
    log_q, off_q = _binomial(one.log_q, n, low, high)
    k = np.arange(low, high + 1).astype(REAL)
    loss, shift = (n - k) * one.loss[0] + k * one.loss[1], (n - k) * one.shift[0] + k * one.shift[1]
    off_p, off_q = (
        each + (n - k) * off[0] + k * off[1] for each, off in ((off_p, one.off_p), (off_q, one.off_q))
    )
    return Atoms(loss, log_p, log_q, off_p, off_q, shift)


def _binomial(log: Long, n: int, low: int, high: int) -> tuple[Long, Long]:
    """Return logarithms of binomial masses and their errors, by steps outwards from the largest.

    That one is found in 50 digits; d steps whose sum is S, all of one sign, round by d S/2 units, the steps
    themselves by 4 S.
    """
    k = np.arange(low, high).astype(REAL)
    steps = np.log((n - k) / (k + 1)) + (log[1] - log[0])
    top = int(np.searchsorted(-steps, 0))
    with mpmath.workdps(DIGITS):
        ways = mpmath.loggamma(n + 1) - mpmath.loggamma(low + top + 1) - mpmath.loggamma(n - low - top + 1)
        peak = to_real(ways + (n - low - top) * to_mpf(log[0]) + (low + top) * to_mpf(log[1]))
    left, right = np.cumsum(-steps[:top][::-1])[::-1], np.cumsum(steps[top:])
    fall = np.concatenate([left, np.zeros(1, REAL), right])
    away = np.abs(np.arange(high - low + 1) - top)
    return peak + fall, EPS * (away + 8) * np.abs(fall) + rounded(peak + fall)


def _bulk(log: Long, n: int) -> tuple[int, int]:
    """Return between which k all but e^-2000 of a binomial law lies, by Bernstein's inequality."""
    share = float(np.exp(log[1] - np.logaddexp(log[0], log[1])))
    reach = math.sqrt(2 * _FAINT * n * share * (1 - share)) + 2 * _FAINT / 3 + 1
    return max(0, int(n * share - reach)), min(n, int(n * share + reach) + 1)


def _discrete_gaussian(what: Description, need: Need) -> Law:
    sigma, shift = REAL(what["sigma"]), what["shift"]
    reach = int(np.ceil(_FARTHEST * what["sigma"] + shift * (need.tilt + 2)))
    x = np.arange(-reach, reach + shift + 1).astype(REAL)
    bell, moved = -((x / sigma) ** 2) / 2, -(((x - shift) / sigma) ** 2) / 2
    total = np.log(np.sum(np.exp(bell[: len(x) - shift])))
    return _listed((x - REAL(shift) / 2) * (shift / sigma**2), bell - total, moved - total)


def _written(what: Description, _need: Need) -> Law:
    """Masses and losses as a certificate lists them, rounded to doubles."""
    loss, log_p = np.array(what["loss"], REAL), np.array(what["log_p"], REAL)
    listed = atoms(loss, log_p, log_p + loss, UNIT)
    listed = listed._replace(off_q=listed.off_p + listed.shift)
    return Law(listed, [], REAL(what["p_minus"]), REAL(what["q_plus"]))


def balanced(what: Description, log: Log) -> None:
    """Require that both orders have mass 1: sum p (e^loss - 1) = P(L = -inf) - Q(L = inf).

    Small losses are differences of masses, which the masses alone do not hold: a loss known to units of log p
    only, not of itself, shows here. Allowed are a few units of every number written.
    """
    for inner in [what["base"]] if "base" in what else [part for _, part in what.get("parts", ())]:
        balanced(inner, log)
    if what["kind"] != "atoms":
        return
    listed, _, p_minus, q_plus = law(what)
    p, q, loss = np.exp(listed.log_p), np.exp(listed.log_q), np.abs(listed.loss)
    difference = np.where(loss < 1, p * np.expm1(np.clip(listed.loss, -1, 1)), q - p)
    size = np.sum(np.abs(difference) * (16 + 4 * np.abs(listed.log_p)) + 16 * loss * q)
    allowed = UNIT * (size + 64 * (p_minus + q_plus)) + REAL(1e-290)
    log.close("loss", np.sum(difference), p_minus - q_plus, allowed)


def _thinned(what: Description, need: Need) -> Law:
    inner, p = law(what["base"], need), REAL(what["p"])
    if p == 1:
        return inner
    listed = inner.atoms
    loss = thin(listed.loss, p)
    log_q = np.logaddexp(np.log1p(-p) + listed.log_p, np.log(p) + listed.log_q)
    slope = np.exp(np.minimum(np.log(p) + listed.loss - loss, 0))
    share = np.exp(np.minimum(np.log(p) + listed.log_q - log_q, 0))
    off_q = share * listed.off_q + (1 - share) * listed.off_p + rounded(log_q)
    shift = slope * listed.shift + 16 * EPS * np.abs(loss)
    kept = [Atoms(loss, listed.log_p, log_q, listed.off_p, off_q, shift)]
    if inner.p_minus > 0:
        mass = np.log(np.array([inner.p_minus]))
        away = np.log1p(-np.array([p]))
        kept.append(atoms(away, mass, mass + away, UNIT))
    nodes = [
        Nodes(at, node.log_p, node.log_density, node.log_rise + np.log(p) + node.loss - at)
        for node in inner.nodes
        for at in [thin(node.loss, p)]
    ]
    return Law(joined(kept), nodes, REAL(0), p * inner.q_plus)


def thin(loss: Long, p: np.longdouble) -> Long:
    """Return log(1 - p + p e^loss)."""
    far = loss > 30  # there nothing cancels, and e^loss may overflow
    near = np.log1p(p * np.expm1(np.where(far, 0, loss)))
    large = np.where(far, loss, 30)
    return np.where(far, large + np.log(p + (1 - p) * np.exp(-large)), near)


def _reversed(what: Description, need: Need) -> Law:
    inner = law(what["base"], need)
    loss, log_p, log_q, off_p, off_q, shift = inner.atoms
    nodes = [
        Nodes(-node.loss, node.log_p + node.loss, node.log_density + node.loss, node.log_rise)
        for node in inner.nodes
    ]
    return Law(Atoms(-loss, log_q, log_p, off_q, off_p, shift), nodes, inner.q_plus, inner.p_minus)


def _mixed(what: Description, need: Need) -> Law:
    listed, nodes, p_minus, q_plus = [no_atoms()], [], REAL(0), REAL(0)
    for weight, each in what["parts"]:
        w, inner = REAL(weight), law(each, need)
        more = np.log(w)
        loss, log_p, log_q, off_p, off_q, shift = inner.atoms
        logs = log_p + more, log_q + more
        listed.append(Atoms(loss, *logs, off_p + rounded(logs[0]), off_q + rounded(logs[1]), shift))
        nodes += [
            Nodes(node.loss, node.log_p + more, node.log_density + more, node.log_rise)
            for node in inner.nodes
        ]
        p_minus, q_plus = p_minus + w * inner.p_minus, q_plus + w * inner.q_plus
    return Law(joined(listed), nodes, p_minus, q_plus)


_MAKE: dict[str, Callable[[Description, Need], Law]] = {
    "gaussian": _gaussian,
    "gaussian mixtures": _mixtures,
    "laplace": _laplace,
    "response": _response,
    "rounds": _rounds,
    "discrete gaussian": _discrete_gaussian,
    "atoms": _written,
    "thinned": _thinned,
    "reversed": _reversed,
    "mixed": _mixed,
}
