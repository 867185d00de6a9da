"""Distribution functions, quantiles, cumulants, atoms and samples of L, against closed forms."""

import math

import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mp, mpf

import tradeoff as to
from tests.accounting.laws import gaussian, laplace, thinned
from tests.truth.balls import ball, cumulative, quantile
from tests.truth.claims import check
from tradeoff.errors import DomainError
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.law import masses
from tradeoff.pld.transformed import MixturePLD, ReversedPLD, SubsampledPLD


def normal_quantile(level):
    return float(quantile(ball(level)))


@pytest.mark.slow
@pytest.mark.parametrize("level", [1e-250, 1e-40, 1e-10, 0.3, 0.5])
def test_quantile_of_gaussian_holds_in_both_tails(level):
    """They ended twelve standard deviations from the mean, and at a level of 1 - 1e-12."""
    law, z = to.Gaussian(1).law, normal_quantile(level)
    far = -normal_quantile(1 - (1 - level)) - 0.5 if 1 - level < 1 else None
    for at, under, expected in ((level, "P", z - 0.5), (level, "Q", z + 0.5), (1 - level, "P", far)):
        if expected is not None:
            assert law.quantile(at, under=under) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("tail", [1e-7, 1e-9, 1e-14])
def test_quantile_of_rare_sampling_finds_rare_losses(tail):
    """Of a sampled Gaussian, L = log(1 - p + p e^(mu z - mu^2/2)) rises with z: a hundred deviations away."""
    mu, p = 5.0, 1e-6
    law, rest = to.subsample(to.Gaussian(mu), p).law, 1 - (1 - tail)
    z = -normal_quantile(rest)
    assert law.quantile(1 - tail) == pytest.approx(math.log1p(p * math.expm1(mu * z - mu**2 / 2)), rel=1e-6)


def test_atoms_and_masses_at_infinity_are_listed():
    law = to.approximate_dp(1, 0.1).law
    assert (law.quantile(0.05), law.quantile(0.95, under="Q")) == (-math.inf, math.inf)
    assert law.mass_at_infinity == law.mass_at_minus_infinity == 0.1
    loss, p, q = to.PureDP(1).law.atoms
    assert loss == pytest.approx([-1, 1])
    assert p == pytest.approx(q[::-1])
    assert q / p == pytest.approx(np.exp(loss))
    with pytest.raises(DomainError, match="of a product are not listed"):
        _ = (to.PureDP(1) ** 2 @ to.Gaussian(1)).law.atoms


@pytest.mark.parametrize("under", ["P", "Q"])
def test_sample_has_mean_and_variance_of_law(under):
    curve = to.PureDP(0.5) ** 3 @ to.Gaussian(0.7)
    law = curve.law
    drawn = law.sample(40_000, np.random.default_rng(1), under=under)
    sign = 1 if under == "Q" else -1
    mean = 3 * 0.5 * math.tanh(0.25) + 0.7**2 / 2  # KL of either, by symmetry
    variance = 3 * (0.25 - (0.5 * math.tanh(0.25)) ** 2) + 0.7**2
    assert law.mean(under) == pytest.approx(sign * mean, rel=1e-6)
    assert law.variance(under) == pytest.approx(variance, rel=1e-6)
    assert np.mean(drawn) == pytest.approx(sign * mean, abs=5 * math.sqrt(variance / len(drawn)))
    assert np.var(drawn) == pytest.approx(variance, rel=0.05)


def test_sample_contains_infinite_losses():
    law, nothing = to.approximate_dp(1, 0.25).law, to.TotalVariation(1.0).law
    for seed, under, value in ((2, "P", -np.inf), (3, "Q", np.inf)):
        drawn = law.sample(10_000, np.random.default_rng(seed), under=under)
        assert np.mean(drawn == value) == pytest.approx(0.25, abs=0.03)
    assert np.all(np.isneginf(nothing.sample(3, np.random.default_rng(4))))
    with pytest.raises(DomainError, match="no finite loss"):
        nothing.mean()


@pytest.mark.slow
def test_quantile_out_of_range_is_refused():
    for curve, level, under, message in (
        (to.Gaussian(1), 1e-300, "P", "below 1e-290"),
        (to.Gaussian(60) @ to.Laplace(1), 0.5, "Q", "above 690 nats"),
        (to.Gaussian(30) @ to.Laplace(1), 1e-100, "P", "too wide"),  # a mass that no chord resolves
    ):
        with pytest.raises(DomainError, match=message):
            curve.law.quantile(level, under=under)


def shifted(t):
    """P(L <= t) of G_9 and a response of loss .1, a mixture of two normal laws."""
    q = 1 / (1 + mp.exp(mpf("0.1")))
    below, above = (mp.ncdf((mpf(t) + sign * mpf("0.1") + mpf(81) / 2) / 9) for sign in (1, -1))
    return (1 - q) * below + q * above


@pytest.mark.parametrize("level", [0.1, 0.6, 0.9, 1e-10])
def test_quantile_and_cdf_of_product_below_zero_hold_truth(level):
    """There delta is near 1, and its slope has no digits: the other order has them."""
    law = (to.Gaussian(9.0) @ to.PureDP(0.1)).law
    result = law.quantile(level)
    with mp.workdps(40):
        assert shifted(result - 3e-3) <= mpf(level) * (1 + mpf("1e-3"))
        assert shifted(result + 3e-3) >= mpf(level) * (1 - mpf("1e-3"))
        for t in (result, -100.0, 5.0):
            check(law.cdf(t), shifted(t), 2e-3)


@pytest.mark.parametrize(
    ("mu", "t", "under", "share"),
    [
        # P(L <= t) has e^-t Q(L <= t) in it, of which floats hold one factor or none.
        *((300.0, -45000.0, "P", 0.05), (40.0, -800.0, "P", 0.05), (20.0, -650.0, "P", 0.05)),
        *((10.0, -380.0, "P", 0.05), (5.0, -180.0, "P", 0.05), (3.0, -100.0, "P", 0.05)),
        *((1.0, t, "P", 0.05) for t in (-37.0, -37.9, -38.2, -38.6, -42.0)),
        # Among subnormal masses a float is off by an absolute amount, which no share of a mass holds.
        *((0.1, -3.835, "P", 1.0), (0.1, -3.835, "Q", 1.0), (0.1, -3.825, "Q", 1.0)),
        (200.0, 12305.5, "Q", 1.0),
    ],
)
def test_cdf_of_gaussian_far_out_holds_truth(mu, t, under, share):
    result = to.Gaussian(mu).law.cdf(t, under=under)
    check(result, cumulative(ball(t) / ball(mu) + (1 if under == "P" else -1) * ball(mu) / 2))
    assert result.width <= share * result.upper + 1e-300
    assert mu != 1 or t > -37.5 or result.upper <= 1e-299


@pytest.mark.parametrize(("epsilon", "t"), [(1e4, -9999.99), (710.0, -709.99929), (1e4, -9000.0)])
def test_cdf_of_laplace_far_below_zero_holds_truth(epsilon, t):
    result = to.Laplace(epsilon).law.cdf(t)
    check(result, 1 - laplace(epsilon)[1].p_above(arb(t)))
    assert result.width <= 1e-3


def test_sample_of_density_is_spread():
    drawn = to.Gaussian(1).law.sample(100_000, np.random.default_rng(1))
    assert len(np.unique(drawn)) > 99_000
    for t, share in ((-0.5, 0.5), (-0.53, 0.488034), (-1.5, 0.158655)):
        assert np.mean(drawn <= t) == pytest.approx(share, abs=5e-3)
    atoms = to.Laplace(1).law.sample(100_000, np.random.default_rng(1))
    assert np.mean(atoms == -1) == pytest.approx(0.5, abs=0.01)
    assert np.mean(atoms == 1) == pytest.approx(math.exp(-1) / 2, abs=0.01)


def test_sample_of_wide_integer_noise_has_all_atoms():
    law = to.mechanisms.DiscreteGaussian(50).curve().law
    drawn = np.unique(law.sample(100_000, np.random.default_rng(1)))
    assert np.min(np.diff(drawn)) == pytest.approx(1 / 50**2)
    assert len(drawn) > 300


def laplace_below(t):
    """Return P(L <= t) of Lap_{1/2}^2: each loss is -1/2, 1/2, or 2 x - 1/2 of density e^-x/2."""
    with mp.workdps(40):
        t, e = mpf(t), mpf(1) / 2

        def tail(loss):
            """Return P(L > loss) of one factor."""
            return mpf(1) if loss < -e else mp.exp(-(loss + e) / 2) / 2 if loss < e else mpf(0)

        atoms = tail(t + e) / 2 + tail(t - e) * mp.exp(-e) / 2
        kinks = sorted({mpf(0), e, *(min(max((t + e + s * e) / 2, 0), e) for s in (-1, 1))})
        return 1 - atoms - mp.quad(lambda x: tail(t - 2 * x + e) * mp.exp(-x) / 2, kinks)


@pytest.mark.parametrize("t", [-1.0 + 1e-9, -0.5, 1e-9, -1e-9, 0.3, 1 - 1e-9, 1.0, 1.2])
def test_cdf_of_product_steps_at_atoms(t):
    """The masses at -1, 0 and 1, of 0.25, 0.3 and 0.09, are summed; the rest is known to 3e-3."""
    check((to.Laplace(0.5) ** 2).law.cdf(t), laplace_below(t), 0.0, 3e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("curve", "supremum"),
    [(to.Laplace(1 / 6) ** 6, 1.0), (to.PureDP(0.5) ** 4, 2.0), (to.approximate_dp(0.5, 1e-9) ** 4, 2.0)],
    ids=repr,
)
def test_quantile_ends_at_supremum(curve, supremum):
    assert curve.law.quantile(0.999, under="Q") == supremum
    assert curve.law.quantile(0.001) == -supremum
    assert curve.law.cdf(supremum) == to.Bounds(1.0, 1.0)
    assert curve.law.cdf(-supremum * (1 + 1e-9), under="Q") == to.Bounds(0.0, 0.0)


@pytest.mark.parametrize("k", [2, 5, 9])
def test_cdf_of_product_of_atoms_is_sum(k):
    """P(L <= t) of k rounds of response, enumerated in 40 digits; quantiles are its losses."""
    law = (to.PureDP(0.5) ** k @ to.PureDP(0.25)).law
    with mp.workdps(40):
        p = [1 / (1 + mp.exp(mpf(-e))) for e in (0.5, 0.25)]  # mass of the loss -e under P

        def mass(j, up):
            return mp.binomial(k, j) * (1 - p[0]) ** j * p[0] ** (k - j) * (1 - p[1] if up else p[1])

        atoms = sorted(
            ((2 * j - k) * 0.5 + (2 * up - 1) * 0.25, mass(j, up)) for j in range(k + 1) for up in (0, 1)
        )
        for n, (loss, _) in enumerate(atoms):
            below = mp.fsum(m for _, m in atoms[:n])
            for t, truth in ((loss - 1e-9, below), (loss + 1e-9, below + atoms[n][1])):
                low, high = law.cdf(t)
                assert low - mpf("1e-35") <= truth <= high + mpf("1e-35")
                assert high - low <= 1e-11
            assert law.quantile(float(below + atoms[n][1] / 2)) == pytest.approx(loss, abs=1e-12)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.7])
def test_cdf_next_to_atoms_holds_truth(p):
    law = to.subsample(to.PureDP(1), p).law
    with mp.workdps(40):
        atoms = [mp.log(1 - mp.mpf(p) + mp.mpf(p) * mp.exp(sign)) for sign in (-1, 1)]
        least = mp.exp(1) / (1 + mp.exp(1))
        for atom in atoms:
            at = float(atom)
            for t in (math.nextafter(at, -9), at, math.nextafter(at, 9), at - 1e-9, at + 1e-9):
                low, high = law.cdf(t)
                assert low <= (t >= atoms[0]) * least + (t >= atoms[1]) * (1 - least) <= high
        assert law.cdf(0.0).width < 1e-10


@pytest.mark.parametrize("mu", [1, 8, 12])
@pytest.mark.parametrize("steps", [-1, 0, 1, 7, 10**6])
def test_cdf_at_least_loss_holds_truth(mu, steps):
    """There is no mass below log(1/2)."""
    t = math.log(0.5) + steps * 2.0**-53
    f = to.subsample(to.Gaussian(mu), 0.5)
    with ctx.workprec(2000):  # 1 - 1e-285 is not 1
        above = thinned(gaussian(mu), 0.5)[1].p_above(arb(t))
        check(f.law.cdf(t), 1 - above)
        check((~f).law.cdf(-t, under="Q"), above)  # Q(-L <= ...) of the pair exchanged is P(L >= t)


UNITS = [-(10**9), -5000, -300, -64, -20, *range(-9, 1)]


def below(t, under):
    """Mass of L = 1/8 - log cosh(u/2) <= t, u = x - 1/2, of P = (N(0) + N(1))/2 against Q = N(1/2)."""
    reach = 2 * mp.acosh(mp.exp(max(mp.mpf(1) / 8 - t, 0)))
    ends = [reach] * 2 if under == "Q" else [reach + mp.mpf(1) / 2, reach - mp.mpf(1) / 2]
    return sum(mp.erfc(end / mp.sqrt(2)) / 2 for end in ends)


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(60):
        yield


def test_cdf_at_minimum_of_loss_holds_truth():
    """L = log cosh(x - 1) - 1/2, so that P(L <= t) = P(|x - 1| <= arcosh e^(t + 1/2))."""
    law = to.GaussianMixtures({1: 1}, {0: 0.5, 2: 0.5}, 1.0).law
    for steps in (0, 1, 64, 10**4):
        t = -0.5 + steps * 2.0**-54
        check(law.cdf(t), ((arb(t) + 0.5).exp().acosh() / arb(2).sqrt()).erf())


@pytest.mark.parametrize("units", UNITS)
def test_cdf_and_cells_next_to_maximum_of_loss_hold_truth(units):
    """Cells are those of losses moved by the error of their edges."""
    curve = to.GaussianMixtures({0: 0.5, 1: 0.5}, {0.5: 1})
    law, t = curve.loss_distribution(), 0.125 + units * np.spacing(0.0625)
    edges = np.array([-60.0, t, 60.0])
    cells, moved = law.cells(edges), float(law.edge_error(edges)[1])
    assert (moved > 1e-13) == (units > -20_000)
    for under, result in zip("PQ", masses(cells, edges), strict=True):
        check(curve.law.cdf(t, under=under), below(mp.mpf(t), under))
        least, most = (below(mp.mpf(t) + side * moved, under) for side in (-1, 1))
        slack = 2 * float(np.max(cells.slack))
        assert least * (1 - slack) <= result[0] <= most * (1 + slack)
        assert (1 - most) * (1 - slack) <= result[1] <= (1 - least) * (1 + slack)


def test_edge_error_of_transformed_laws_is_kept():
    law = to.GaussianMixtures({0: 0.5, 1: 0.5}, {0.5: 1}).loss_distribution()
    turn = np.array([0.125])
    assert law.edge_error(turn) > 1e-13
    assert np.max(law.edge_error(np.array([-1.0, 0.1, 0.2]))) < 1e-13
    assert ReversedPLD(law).edge_error(-turn) == law.edge_error(turn)
    assert SubsampledPLD(law, 0.25).edge_error(np.log1p(0.25 * np.expm1(turn))) >= 0.25 * law.edge_error(turn)
    assert MixturePLD([(0.5, law), (0.5, GaussianLaw(1.0))]).edge_error(turn) >= law.edge_error(turn)
