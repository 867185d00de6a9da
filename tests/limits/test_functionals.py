"""The four functionals against 30-digit integrals of -log|f'|, and the quadrature against the closed
forms."""

import math

import mpmath
import numpy as np
import pytest
from flint import acb, arb
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.truth.claims import check, overlap
from tradeoff.errors import NoClosedForm
from tradeoff.families.laplace import BoundedRange
from tradeoff.limits.moments import moments, of_law

FUNCTIONALS = (to.limits.kl, to.limits.kappa2, to.limits.kappa3, to.limits.kappa3bar)
mp = mpmath.MPContext()
mp.dps = 30


CASES = {  # integrals of powers of -log|f'|, in 30 digits
    to.Laplace(0.1): "0.00483741803595957369250750734 0.0096828442489697937684314142 "
    "0.00096431898701240561312019127 0.000964175315607018931001892549",
    to.Laplace(1.0): "0.36787944117144232159552377 0.792723352971346070426857379 "
    "0.766173460520153790756950643 0.699347654385468659426631847",
    to.Laplace(5.0): "4.00673794699908546709663605 18.9056687420128034606470953 "
    "88.8687463610925528997722447 12.621350318498725773503215",
    to.Gaussian(0.1): "0.00500000000000000055511151231 0.0100250000000000011157741397 "
    "0.00160175450240250141703210161 0.00159576912160573097750872736",
    to.Gaussian(1.0): "0.5 1.25 2.20654696957989023680860197 1.59576912160573071175978424",
    to.Gaussian(4.0): "8.0 80.0 896.69682583099128459512682 102.129223782766765552626191",
    to.PureDP(0.1): "0.00499583749578799777402634889 0.0100000000000000011102230246 "
    "0.00100000000000000016653345369 0.000999993770786545985847459744",
    to.PureDP(1.0): "0.462117157260009758502318484 1.0 1.0 0.954395429244608153388653092",
    to.PureDP(5.0): "4.9330714907571514444063802 25.0 125.0 6.55966335579407995761192088",
}


@pytest.mark.parametrize("curve", CASES, ids=repr)
def test_functionals_closed_forms_enclose_integrals(curve):
    for functional, digits in zip(FUNCTIONALS, CASES[curve].split(), strict=True):
        bounds, value = functional(curve), mp.mpf(digits)
        assert bounds.lower <= value * (1 + mp.mpf(10) ** -25)
        assert value <= bounds.upper * (1 + mp.mpf(10) ** -25)
        assert bounds.width <= 1e-14 * bounds.upper


@pytest.mark.parametrize("curve", CASES, ids=repr)
def test_of_law_encloses_closed_forms(curve):
    known, result = moments(curve)[0], of_law(curve.loss_distribution())
    scale = known.variance.upper
    for name in ("kl", "variance", "third", "kappa3", "cumulant3"):
        truth, bounds = getattr(known, name), getattr(result, name)
        assert overlap(bounds, truth)
        assert bounds.width <= 1e-5 * (scale**1.5 if name == "cumulant3" else truth.upper)
    assert result.cumulant4 == pytest.approx(known.cumulant4, rel=1e-5, abs=1e-5 * scale**2)


@pytest.mark.slow
@pytest.mark.parametrize(("p", "mu"), [(0.005, 1.25), (0.3, 0.5), (0.01, 5.0), (0.3, 8.0)])
@pytest.mark.parametrize("flipped", [False, True])
def test_functionals_subsampled_gaussian_enclose_integrals(p, mu, flipped):
    sign, m = -1 if flipped else 1, arb(mu)

    def ratio(z):
        return 1 + p * (m * z - m * m / 2).expm1()

    def mean(power):
        def integrand(z, analytic):
            weight = ratio(z) if flipped else 1
            return (sign * ratio(z).log(analytic=analytic)) ** power * weight * (-z * z / 2).exp()

        return acb.integral(integrand, -30, 30, rel_tol=arb("1e-12")).real / (2 * arb.pi()).sqrt()

    curve = to.subsample(to.Gaussian(mu), p)
    curve = ~curve if flipped else curve
    for functional, value in ((to.limits.kl, -mean(1)), (to.limits.kappa2, mean(2))):
        check(functional(curve), value, 1e-4)


def test_kl_tiny_divergence_keeps_digits():
    p = 1e-4
    q = 1 / (1 + mp.exp(mp.mpf(1e-3)))
    losses = [(q, mp.log1p(p * mp.expm1(mp.mpf(1e-3)))), (1 - q, mp.log1p(p * mp.expm1(-mp.mpf(1e-3))))]
    truth = -mp.fsum(mass * loss for mass, loss in losses)  # about 5e-15
    check(to.limits.kl(to.subsample(to.PureDP(1e-3), p)), truth, 1e-7)


@given(st.floats(1e-3, 3), st.floats(1e-3, 3), st.integers(1, 1000), st.integers(1, 1000))
@settings(max_examples=25)
def test_functionals_add_over_factors(e, mu, m, n):
    f, g = to.Laplace(e), to.Gaussian(mu)
    for functional in FUNCTIONALS:
        g_n = functional(g**n).upper  # G_mu^n is one Gaussian
        assert functional(f**m @ g**n).upper == pytest.approx(m * functional(f).upper + g_n, rel=1e-12)


@pytest.mark.parametrize(
    ("curve", "value"),
    [
        *((to.Identity(), 0), (to.subsample(to.PureDP(1.0), 0.0), 0), (to.TotalVariation(1e-6), math.inf)),
        *((to.approximate_dp(1.0, 1e-6), math.inf), (to.Gaussian(math.inf), math.inf)),
        (to.minimum(to.Gaussian(1.0), to.TotalVariation(0.1)), math.inf),
    ],
    ids=repr,
)
def test_functionals_without_loss_are_0_and_of_flat_ends_infinite(curve, value):
    for functional in FUNCTIONALS:
        low, high = functional(curve)
        assert (high if value == 0 else low) == value


def test_functionals_mass_of_q_alone_are_finite():
    curve = to.PiecewiseLinear([0, 1], [0.5, 0])  # |f'| = 1/2 throughout
    truth = math.log(2)
    for functional, value in zip(FUNCTIONALS, (truth, truth**2, truth**3, 0.0), strict=True):
        low, high = functional(curve)
        assert low <= value * (1 + 1e-15)
        assert value <= high <= value + 1e-12


@pytest.mark.parametrize(
    ("share", "epsilon"), [(1e-20, 500.0), (1e-60, 590.0), (1e-70, 650.0), (1e-105, 500.0), (1e-200, 300.0)]
)
def test_functionals_underflowing_masses_count(share, epsilon):
    """Masses under one law were lost where the other's were no floats: both bounds were off by up to half."""
    f = to.mixture({to.Gaussian(1e-150): 1 - share, BoundedRange(epsilon): share})
    w, e = mp.mpf(share), mp.mpf(epsilon)
    truth = w * (e * mp.coth(e / 2) - 2), w * (e**2 + 8 - 4 * e * mp.coth(e / 2))
    for functional, value in zip((to.limits.kl, to.limits.kappa2), truth, strict=True):
        for curve in (f, ~f):
            bounds = functional(curve)  # moments in balls: an absolute error
            assert bounds.lower <= value <= bounds.upper <= 3 * value + 5e-26


@pytest.mark.parametrize(("p", "epsilon"), [(1e-182, 1000.0), (1e-150, 900.0), (1e-40, 720.0)])
def test_functionals_rare_huge_losses_contain_truth(p, epsilon):
    mixed = to.mixture({to.Gaussian(1e-140): 1 - 1e-9, BoundedRange(epsilon): 1e-9})
    result = to.limits.kl(to.subsample(mixed, p))
    truth = mp.mpf(1e-9) * mp.mpf(p)  # -E log(1 - p + p e^L), and p e^L is nothing where P has mass
    assert result.lower <= truth <= result.upper <= 2.1e-8  # by quadrature, absolute


@pytest.mark.parametrize("e", [800.0, 1e4])
def test_moments_of_laplace_with_negligible_atom(e):
    """L + eps is 0 or twice an exponential variable, by even odds: moments 1, 4, 24 and 192."""
    result = moments(to.Laplace(e))[0]
    assert result.kl.lower <= mp.mpf(e) - 1 <= result.kl.upper
    assert result.variance.lower <= 3 <= result.variance.upper
    assert abs(result.cumulant3.mid) == pytest.approx(14, rel=1e-15)
    assert result.cumulant4 == pytest.approx(117 - 3 * 3**2, rel=1e-15)


def of_losses(mass, loss):
    """Sum the four functionals over finitely many losses."""
    kl = -float(mass @ loss)
    return [kl, float(mass @ loss**2), float(mass @ np.abs(loss) ** 3), float(mass @ np.abs(loss + kl) ** 3)]


def hold(curve, truth, width=4e-3):
    for functional, exact in zip(FUNCTIONALS, truth, strict=True):
        low, high = functional(curve)
        assert low * (1 - 1e-12) <= exact <= high * (1 + 1e-12), functional.__name__
        assert high - low <= width * exact, functional.__name__


@settings(max_examples=6)
@given(epsilon=st.floats(0.05, 2))
def test_kl_of_group_encloses_truth(epsilon):
    # 1 - f is steep up to the kink: three steps of it have losses 3, 1, -1 and -3 epsilon.
    kink = 1 / (1 + np.exp(epsilon))
    above = kink * np.exp(-epsilon * np.arange(3.0))[::-1]
    mass = np.diff(np.concatenate([[0.0], above, [1.0]]))
    low, high = to.limits.kl(to.PureDP(epsilon).group(3))
    exact, *_ = of_losses(mass, epsilon * np.array([3.0, 1.0, -1.0, -3.0]))
    assert low * (1 - 1e-12) <= exact <= high * (1 + 1e-12)
    assert high - low <= 4e-3 * exact


@settings(max_examples=12)
@given(epsilon=st.floats(0.1, 3), p=st.floats(0.01, 0.9))
def test_functionals_envelope_enclose_truth(epsilon, p):
    step = to.subsample(to.PureDP(epsilon), p)
    with mpmath.workdps(50):  # losses are logarithms of quotients next to 1
        high, low = (mpmath.log1p(p * mpmath.expm1(x)) for x in (epsilon, -epsilon))
        # Removing a record is the worse order for small alpha, adding for large: the hull has a middle piece.
        assert -low < high
        # The supporting lines of both orders: vertices of one at small alpha, of its mirror image at large.
        kink = 1 / (1 + mpmath.exp(epsilon))
        (a, b), (c, d) = (kink, 1 - mpmath.exp(high) * kink), (1 - mpmath.exp(high) * kink, kink)
        mass, other = (a, c - a, 1 - c), (1 - b, b - d, d)
        loss = [mpmath.log(q / p) for p, q in zip(mass, other, strict=True)]
        truth = of_losses(np.array(mass, dtype=float), np.array(loss, dtype=float))
    hold(step.symmetrise(assume="either-order"), truth)


WITHOUT_LAW = [
    to.minimum(to.Gaussian(1.0), to.PureDP(1.0)),
    to.PureDP(0.5).group(3),
    to.subsample(to.Gaussian(1.0), 0.1).symmetrise(assume="profile"),
    ~to.subsample(to.minimum(to.Gaussian(1.0), to.PureDP(1.0)), 0.2),
    to.mixture({to.minimum(to.Gaussian(1.0), to.PureDP(1.0)): 0.5, to.Gaussian(1.0): 0.5}),
]


@pytest.mark.parametrize("curve", WITHOUT_LAW, ids=repr)
def test_functionals_without_law_raise(curve):
    low, high = to.limits.kl(curve)
    assert 0 < low <= high
    for functional in FUNCTIONALS[1:]:
        with pytest.raises(NoClosedForm, match="needs the exact law"):
            functional(curve)


def test_kl_of_minimum_is_at_least_operand_and_adds():
    kl, (hull, group) = to.limits.kl, WITHOUT_LAW[:2]
    assert kl(hull).upper >= kl(to.Gaussian(1.0)).lower
    assert kl(to.minimum(to.Gaussian(1.0), to.Laplace(1.0))).lower >= 0.49
    assert kl(to.Laplace(1.0).group(2)).width < 1e-12  # Laplace is closed under groups
    assert list(kl(group**4 @ hull)) == pytest.approx(list(4 * kl(group) + kl(hull)), rel=1e-12)
