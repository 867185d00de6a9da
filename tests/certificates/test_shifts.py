"""Certificates of laws and their shifts, held against formulas in 50 digits."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mpmath
import pytest
import scipy.stats as st
from flint import arb, ctx

import tradeoff as to
from tradeoff.certificates import Certificate
from tradeoff.certificates.verify.direct import Sums
from tradeoff.certificates.verify.lattice import Lattice
from tradeoff.errors import VerificationError

MP = mpmath.MPContext()
MP.dps = 50

Function = Callable[[Any], Any]
Noise = tuple[Function, Function]
"""Log-density, and P(X > x)."""


NOISES: dict[str, tuple[Any, Noise]] = {
    "logistic": (st.logistic(), (lambda x: -x - 2 * MP.log1p(MP.exp(-x)), lambda x: 1 / (1 + MP.exp(x)))),
    "hypsecant": (
        st.hypsecant(),
        (lambda x: -MP.log(MP.cosh(x)), lambda x: 2 * MP.atan(MP.exp(-x)) / MP.pi),
    ),
    "gumbel_r": (
        st.gumbel_r(),
        (lambda x: -x - MP.exp(-x), lambda x: -MP.expm1(-MP.exp(-x))),
    ),
    "gumbel_l": (st.gumbel_l(), (lambda x: x - MP.exp(x), lambda x: MP.exp(-MP.exp(x)))),
}


def true_delta(noise: Noise, theta: Any, epsilon: float) -> Any:
    """Return P(X + theta > x) - e^epsilon P(X > x) where log p(x - theta)/p(x) = epsilon."""
    log_p, above = noise

    def lacks(x: Any) -> Any:
        return log_p(x - theta) - log_p(x) - epsilon

    low, high = MP.mpf(-300), MP.mpf(300)
    for _ in range(190):
        low, high = (low, (low + high) / 2) if lacks((low + high) / 2) > 0 else ((low + high) / 2, high)
    x = (low + high) / 2
    return above(x - theta) - MP.exp(epsilon) * above(x)


@functools.cache
def certified(name: str, epsilon: float, scale: float = 1.0) -> Certificate:
    return to.certify(
        to.LocationShift(NOISES[name][0].dist(*NOISES[name][0].args, scale=scale), 1.0), "delta", epsilon
    )


@pytest.mark.parametrize("epsilon", [-0.2, 0.0, 0.21])
@pytest.mark.parametrize("name", NOISES)
def test_one_round_holds_the_formula(name: str, epsilon: float) -> None:
    certificate = certified(name, epsilon, 3.0)
    report = to.verify(Certificate.from_json(certificate.to_json()))
    truth = true_delta(NOISES[name][1], MP.mpf(1) / 3, epsilon)  # the shift is taken exactly
    low, high = report.checks[:2]
    assert certificate.lower <= truth <= certificate.upper
    assert certificate.upper - certificate.lower <= 1e-10 * certificate.upper
    with ctx.workprec(160):
        assert Sums(certificate.factors).delta(epsilon).overlaps(arb(MP.nstr(truth, 45)) + arb(0, 1e-44))
    assert abs(low.recomputed - truth) <= 1e-15
    assert abs(high.recomputed - truth) <= 1e-15


@pytest.mark.parametrize(
    ("name", "question", "value"),
    [
        *((name, *asked) for name in NOISES for asked in (("epsilon", 1e-4), ("beta", 0.2))),
        ("logistic", "mu", 1e-3),
    ],
)
def test_every_question_is_certified_thinned_as_well(name: str, question: Any, value: float) -> None:
    curve = to.subsample(to.LocationShift(NOISES[name][0], -0.6), 0.3)
    certificate = to.certify(curve, question, value)
    to.verify(certificate)
    if question != "mu":
        low, high = curve.bounds(value) if question == "beta" else curve.bounds.epsilon(value)
        assert certificate.lower <= high
        assert low <= certificate.upper


@pytest.mark.parametrize("shift", [0.5, -0.5])
def test_rounds_of_gumbel_noise_hold_the_sum_of_exponentials(shift: float) -> None:
    """L = theta - (e^theta - 1) E, E exponential under P, and e^theta E so under Q."""
    n, x, theta = 2, 0.4, MP.mpf("0.5")
    most = (n * theta - (x if shift > 0 else -x)) / MP.expm1(theta)
    below = [MP.gammainc(n, 0, most * each, regularized=True) for each in (1, MP.exp(theta))]
    truth = below[1] - MP.exp(x) * below[0] if shift > 0 else 1 - below[0] - MP.exp(x) * (1 - below[1])
    certificate = to.certify(to.LocationShift(st.gumbel_r(), shift) ** n, "delta", x)
    assert certificate.method == "lattice"
    assert certificate.lower <= truth <= certificate.upper
    assert certificate.upper - certificate.lower <= 1e-4 * certificate.upper
    report = to.verify(certificate)
    assert report.checks[0].recomputed <= truth <= report.checks[1].recomputed


def test_a_lattice_is_as_close_where_the_mass_of_a_law_ends_on_a_step() -> None:
    """Two rounds of logistic noise, by E_Q delta(x - L): the error falls with the square of the step."""
    theta, x = MP.mpf("0.5"), 0.25
    grown = MP.expm1(theta)

    def gain(v: Any) -> Any:
        """Return e^L delta(x - L) of one round where P(X > .) = v, and L = theta - 2 log(1 + grown v)."""
        ratio = MP.exp(theta) / (1 + grown * v) ** 2
        y = x - MP.log(ratio)
        level = (MP.exp((theta - y) / 2) - 1) / grown
        return ratio * (MP.exp(theta) * level / (1 + grown * level) - MP.exp(y) * level)

    truth = MP.quad(gain, [0, MP.expm1(theta - x / 2) / grown])  # where x - L < theta
    factor = {"kind": "shift", "density": "logistic", "theta": "1/2"}
    with ctx.workprec(128):
        low, high = Lattice([{"law": factor, "count": 2}], 2**10, x, 0.01).delta(x)
    assert low <= arb(MP.nstr(truth, 15)) <= high
    assert float((high - low) / high) < 3e-5


SHIFT = certified("logistic", 0.21)


@pytest.mark.parametrize(
    "changed",
    [
        {"theta": "101/100"},
        {"theta": "0"},
        {"theta": "-1"},
        {"theta": "x"},
        {"density": "hypsecant"},
        {"density": "norm"},
        {"power": 3.0},
    ],
    ids=str,
)
def test_another_law_is_refused(changed: dict[str, Any]) -> None:
    (factor,) = SHIFT.factors
    law = {**factor["law"], **changed}
    with pytest.raises(VerificationError) as caught:
        to.verify(replace(SHIFT, factors=({**factor, "law": law},)).sealed())
    assert caught.value.term != "digest"
