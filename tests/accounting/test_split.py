"""Sampled steps by the largest of their losses, against balls and closed forms."""

import math

import mpmath as mp
import numpy as np
import pytest
from flint import acb, arb, ctx

from tradeoff.accounting.contour.engine import ContourCache
from tradeoff.accounting.contour.split import Marks, split
from tradeoff.accounting.planner import Composition
from tradeoff.pld.batched import rarely_sampled
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.quadrature import QuadratureTransform
from tradeoff.pld.transformed import ReversedPLD, SubsampledPLD
from tradeoff.proofs.verify.contour import Contour, Product

WINDOWS = [(1.0, 1e-3, 4.0, 6.0), (2.4, 2e-4, 3.0, 5.5), (0.3, 0.1, -math.inf, 5.0), (1.4, 1e-4, 6.0, 46.4)]


def moment(mu, rate, window, z):
    """Return E e^(zL) (w(t; last) - w(t; first)) in balls: a trapezoid sum on Im t = 1/(2k).

    Its error is e^(-2 pi 400/(2k)) of the modulus in a strip of that half-width, at most e^-34.
    """
    first, last, k = window
    total, shift = acb(0), arb(1) / (2 * arb(k))
    for j in range(-4400, 400 * int(min(last, 12.0) + 3)):
        t = acb(arb(j) / 400, shift)
        loss = (1 - arb(rate) + arb(rate) * (arb(mu) * t - arb(mu) ** 2 / 2).exp()).log()
        weight = (-(k * (t - last)).exp()).exp()
        if first > -math.inf:
            weight -= (-(k * (t - first)).exp()).exp()
        total += weight * (z * loss - t * t / 2).exp()
    return total / 400 / (2 * arb.pi()).sqrt()


@pytest.mark.parametrize(("mu", "rate", "first", "last"), WINDOWS)
@pytest.mark.parametrize("c", [0.0, 2.5])
def test_transform_of_a_window_holds_truth(mu, rate, first, last, c):
    law = SubsampledPLD(GaussianLaw(mu), rate)
    part = rarely_sampled(law, 1)
    assert part is not None
    marks = Marks(law, part, 1)
    transform = QuadratureTransform(marks.window(first, last), c, 42.0)
    y = np.array([0.2, 3.0, 11.0]) / mu
    log, error, ceiling = transform.ratio(y)
    with ctx.workprec(160):
        window = first, last, marks.sharp
        whole = moment(mu, rate, window, acb(c))
        assert abs(whole.real.log() - arb(transform.log_m)) < transform.log_m_error + 1e-13
        for k in range(len(y)):
            ratio = moment(mu, rate, window, acb(c, y[k])) / whole * acb(0, -arb(y[k] * transform.mean)).exp()
            assert abs(acb(log[k].real, log[k].imag).exp() - ratio) < math.expm1(error[k]) + 1e-13
            assert abs(ratio).log() < ceiling[k] + 1e-13


@pytest.mark.parametrize(
    ("sigma", "rate", "count", "delta", "x"),
    [
        (0.713, 9.26e-5, 214, 1e-10, 0.41),  # few of many steps lose much
        (1.12, 0.237, 3, 3.9e-5, 2.097),
        (0.939, 0.0644, 26, 2.5e-8, 3.355),
        (0.812, 6.18e-5, 331_000, 3e-11, 0.4617),  # the bulk reaches x
        (0.67, 2.53e-5, 129_000, 3e-10, 0.538),
    ],
)
def test_split_holds_truth(sigma, rate, count, delta, x):
    """The verifier, which shares nothing with it, has its own contour."""
    cache = ContourCache([SubsampledPLD(GaussianLaw(1 / sigma), rate)], [count])
    enclosure = split(cache.laws[0], count, cache.cumulant, x, math.log(delta))
    law = {"kind": "thinned", "p": rate, "base": {"kind": "gaussian", "mu": 1 / sigma}}
    with ctx.workprec(384):
        contour = Contour(Product([{"law": law, "count": count}]), x, middle=False, count=2**13)
        for at in (0.97 * x, x, 1.02 * x):
            (low,), (high,) = enclosure.bound(np.array([at]))
            truth = contour.bound(at)
            assert low <= truth.upper()
            assert truth.lower() <= high
            assert at != x or high - low < 1e-7 * delta


@pytest.mark.parametrize("x", [0.0018, 0.03, 0.5])
def test_split_of_one_step_holds_truth(x):
    mu, rate = 2.26, 5.85e-4
    with mp.workdps(40):
        t = mp.log1p(mp.expm1(x) / mp.mpf(rate))
        a = t / mp.mpf(mu)
        truth = rate * (mp.ncdf(mp.mpf(mu) / 2 - a) - mp.exp(t) * mp.ncdf(-mp.mpf(mu) / 2 - a))
    cache = ContourCache([SubsampledPLD(GaussianLaw(mu), rate)], [1])
    enclosure = split(cache.laws[0], 1, cache.cumulant, x, float(mp.log(truth)))
    (low,), (high,) = enclosure.bound(np.array([x]))
    assert low <= truth <= high
    assert high - low < 1e-9 * truth


@pytest.mark.parametrize("backwards", [False, True])
def test_epsilon_below_all_losses_is_that_of_disjoint_laws(backwards):
    """Forwards no loss is below the answer; backwards none of mass above 1e-15 is."""
    law, delta = SubsampledPLD(GaussianLaw(0.4), 1e-5), 1e-3
    low, high = Composition([ReversedPLD(law) if backwards else law], [3]).answer(
        "epsilon", np.array([delta]), None
    )
    truth = math.log1p(-delta)
    assert low[0] <= truth <= high[0] < truth + 1e-14
