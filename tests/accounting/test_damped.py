import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx

import tradeoff as to
from tests.accounting.moments import verified
from tests.truth.claims import check
from tests.truth.continuous import Gaussians
from tests.truth.mixtures import NormalMixtures
from tests.truth.operators import Mixture
from tradeoff.accounting.contour.engine import ContourCache, ContourEngine
from tradeoff.accounting.contour.split import Marks, split
from tradeoff.accounting.planner import Composition
from tradeoff.pld.batched import damped_law, rarely_sampled
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.gaussian_mixtures import MixtureLaw
from tradeoff.pld.normal_mixtures import MixturePair
from tradeoff.pld.quadrature import QuadratureTransform
from tradeoff.pld.transformed import DampedPLD, ReversedPLD, SubsampledPLD

CASES = [(1.0, 1e-5, 30, 40.0), (0.25, 0.001, 1000, 50.0), (2.0, 3e-4, 5, 60.0), (0.1, 0.02, 10, 36.0)]


def moment_of_window(mu, rate, window, z):
    """Return E e^(zL) (w(t; last) - w(t; first)) in balls: a trapezoid sum on Im t = 1/(2k).

    Its error is e^(-2 pi 400/(2k)) of the modulus in a strip of that half-width, at most e^-34.
    """
    first, last, k = window
    total, shift = acb(0), arb(1) / (2 * arb(k))
    for j in range(-4400, 400 * int(min(last, 40.0) + 3)):
        t = acb(arb(j) / 400, shift)
        loss = (1 - arb(rate) + arb(rate) * (arb(mu) * t - arb(mu) ** 2 / 2).exp()).log()
        weight = (-(k * (t - last)).exp()).exp()
        if first > -math.inf:
            weight -= (-(k * (t - first)).exp()).exp()
        total += weight * (z * loss - t * t / 2).exp()
    return total / 400 / (2 * arb.pi()).sqrt()


def check_transform(transform, y, moment, tiny):
    """Check log M, ratios and their ceilings against moments in balls, known to ``tiny``."""
    log, error, ceiling = transform.ratio(y)
    with ctx.workprec(160):
        whole = moment(0.0)
        assert abs(whole.real.log() - arb(transform.log_m)) < transform.log_m_error + tiny
        for k, at in enumerate(y.tolist()):
            ratio = moment(at) / whole * acb(0, -arb(at) * arb(transform.mean)).exp()
            off = acb(log[k].real, log[k].imag).exp() / ratio - 1
            assert abs(off) < math.expm1(error[k]) + tiny
            assert abs(ratio).log() < ceiling[k] + tiny


@pytest.mark.parametrize(("mu", "rate", "count", "level"), CASES)
@pytest.mark.parametrize("c", [1.5, 60.0])
def test_damped_transform_holds_truth(mu, rate, count, level, c):
    law = damped_law(SubsampledPLD(GaussianLaw(mu), rate), count, level)
    assert isinstance(law, DampedPLD)
    y, base = np.array([0.3 / (mu * rate), 7.0 / (mu * rate)]), law.part.base
    transform, window = law.transform(c, 42.0 + math.log(count)), (-math.inf, base.last, base.sharp)
    check_transform(transform, y, lambda at: moment_of_window(mu, rate, window, acb(c, at)), 1e-19)


@pytest.mark.parametrize(("mu", "rate", "count", "level"), CASES)
def test_damped_law_mass_bounds_mass_removed(mu, rate, count, level):
    law = damped_law(SubsampledPLD(GaussianLaw(mu), rate), count, level)
    base, p = law.part.base, arb(rate)

    def lost(x, _):
        bells = [(-((x - mean) ** 2) / 2).exp() / (2 * arb.pi()).sqrt() for mean in (0, mu)]
        return ((1 - p) * bells[0] + p * bells[1]) * -(-(base.sharp * (x - base.last)).exp()).expm1()

    mass = acb.integral(lost, -10, base.last + 10, rel_tol=arb("1e-15"), abs_tol=arb("1e-40")).real
    assert 0 < mass <= law.mass_at_plus_infinity
    assert count * law.mass_at_plus_infinity <= 3 * math.exp(-level)


@pytest.mark.parametrize(
    ("sigma", "rate", "count", "delta", "width"),
    [
        (3.0, 0.001, 1000, 2.5e-7, 1e-10),
        (1.0, 1e-5, 30, 1e-8, 1e-10),
        (0.912, 1.56e-5, 159, 5.31e-5, 1e-10),
        (4.24, 9.5e-5, 187, 8.89e-12, 1e-10),
        (1.0, 0.01, 1000, 1e-5, 3e-12),  # where nothing is damped
        (1.0, 0.5, 2, 1e-5, 5e-12),  # few rounds, but no large loss is rare
        (10.3, 4.19e-5, 541_000, 5.76e-5, 5e-12),  # tilts beyond the planning points of a normal law
        (1.5, 0.001, 100, 1e-8, 5e-9),  # the line is rounding
        # Few or rare steps, by the largest of their losses: next to 0, among the losses of the bulk.
        (0.442, 0.000585, 2, 8e-4, 1e-8),
        *((0.421, 0.000235, 6, 1.65e-4, 1e-8), (0.45, 0.00405, 3, 2.35e-8, 1e-8)),
        *((0.74, 1.59e-5, 1210, 1.47e-12, 1e-8), (0.816, 1.31e-5, 11_300, 6.19e-10, 1e-8)),
        *((0.995, 9.93e-5, 5160, 1.73e-12, 1e-8), (1.0, 1e-5, 10, 1e-8, 1e-8), (1.0, 1e-5, 100, 1e-8, 1e-8)),
        (2.31, 1.47e-5, 4, 5.99e-4, 1e-8),  # below nearly all losses
        # Windows that underflow, and weights that overflow.
        *((1 / 3.23, 3.22e-7, 4, 1e-8, 1e-8), (1 / 3.8, 0.3787, 23, 1e-4, 1e-8)),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in (
                (3.61, 0.000287, 69_200, 2.91e-12, 1e-11),
                (0.627, 1.09e-4, 46, 7.36e-4, 1e-10),  # in the bulk, where lines of damped laws are too long
                (18.8, 1.31e-5, 5, 5.13e-5, 1e-8),  # below nearly all losses
            )
        ),
    ],
)
def test_epsilon_of_sampled_steps_is_narrow(sigma, rate, count, delta, width):
    curve = to.Plan({to.mechanisms.SubsampledGaussian(sigma, rate): count}).guarantee()
    low, high = curve.bounds.epsilon(delta)
    assert 0 <= high - low < width
    # A coarse lattice, another engine, cannot contradict it.
    below, above = curve.bounds.epsilon(delta, method="lattice")
    assert below <= high
    assert low <= above


@pytest.mark.parametrize(
    ("sigma", "rate", "count", "delta"),
    [
        *((0.812, 6.18e-5, 331_000, 2.9e-11), (1.08, 2.54e-4, 3010, 1.71e-12)),
        (1.07, 9.47e-5, 1140, 1.04e-10),
        pytest.param(0.67, 2.53e-5, 129_000, 3.05e-10, marks=pytest.mark.slow),
    ],
)
def test_epsilon_between_two_bells_is_narrow_and_holds_truth(sigma, rate, count, delta):
    """The sum is 1e-9 of its terms there."""
    plan = to.Plan({to.mechanisms.SubsampledGaussian(sigma, rate): count})
    low, high = plan.guarantee().bounds.epsilon(delta)
    assert 0 <= high - low < 1e-9
    bound = verified(SubsampledPLD(GaussianLaw(1 / sigma), rate), count, low, 512)
    with ctx.workprec(512):
        assert bound(low).upper() >= delta >= bound(high).lower()


def test_chernoff_bound_of_damped_law_holds_for_whole_law():
    """What damping takes off is in no ceiling: it is far more than delta there."""
    law, count, epsilon = SubsampledPLD(GaussianLaw(1.0), 0.01), 100, 6.0
    engine = ContourEngine([law], [count])
    assert engine.forward.damped(0) is not engine.forward
    ceiling = float(engine.forward.chernoff_bound(np.array([epsilon]))[0])
    low, _ = engine.answer("delta", np.array([epsilon]), None)
    assert low[0] <= ceiling
    assert engine.forward.mass_at_plus_infinity == engine.forward.leak.upper == 0


BINOMIAL = {k: math.comb(40, k) * Fraction(1, 50) ** k * Fraction(49, 50) ** (40 - k) for k in range(41)}


@pytest.mark.parametrize("backwards", [False, True])
def test_law_without_rare_means_encloses_profile_of_whole(backwards):
    whole = MixtureLaw(
        MixturePair.of({Fraction(0): Fraction(1)}, {Fraction(k): w for k, w in BINOMIAL.items()}, Fraction(3))
    )
    less = damped_law(ReversedPLD(whole) if backwards else whole, 20, 50.0)
    lost = less.mass_at_plus_infinity
    assert 0 < 20 * lost < math.exp(7 - 50)
    x = np.linspace(-0.5, 3.0, 8)
    low, high = (less.base if backwards else less).tail(x)
    spec = NormalMixtures(((0, 1),), tuple(BINOMIAL.items()), 3)
    for k, each in enumerate(x.tolist()):
        # Backwards the profile at -x is 1 - e^-x + e^-x delta(x), and lacks as much.
        most = lost * math.exp(each) if backwards else lost
        assert low[k] <= spec.delta(each) <= high[k] + most


@pytest.mark.parametrize("backwards", [pytest.param(False, marks=pytest.mark.slow), True])
def test_epsilon_of_rare_means_is_narrow_and_agrees_with_lattice(backwards):
    curve = to.GaussianMixtures({0: 1}, {0: 0.9, 1: 0.1 - 1e-15, 30: 1e-15}, sigma=2)
    curve = (curve.inverse() if backwards else curve) ** 10
    low, high = curve.bounds.epsilon(1e-6)
    assert 0 <= high - low < 1e-6
    below, above = curve.bounds.epsilon(1e-6, method="lattice")
    assert below <= high
    assert low <= above


def test_delta_of_mixtures_with_rare_parts_holds_binomial_sum():
    """As the part drawn is published, the product is the mixture over how often the rare one is."""
    share, epsilon = Fraction(1, 10**14), np.array([1.0, 8.0, 14.0, 40.0, 90.0])
    curve = to.mixture({to.Gaussian(0.5): 1 - share, to.Gaussian(12): share}) ** 20
    ways = [(math.comb(20, n) * share**n * (1 - share) ** (20 - n), n) for n in range(21)]
    spec = Mixture(tuple((weight, Gaussians(((12, n), (0.5, 20 - n)))) for weight, n in ways))
    result = curve.bounds.delta(epsilon)
    check(result, [*map(spec.delta, epsilon.tolist())])
    assert all(result.upper[k] <= spec.delta(x) * (1 + 1e-3) for k, x in enumerate(epsilon.tolist()))


def test_delta_of_reversed_mixtures_with_rare_parts_agrees_with_lattice():
    parts = {to.Gaussian(0.5): 1 - 1e-9, to.Gaussian(12): 1e-9}
    f = to.mixture({~to.subsample(g, 0.5): w for g, w in parts.items()}) ** 20
    contour, lattice = (f.bounds.delta([0.5, 1.0, 3.0], method=method) for method in ("contour", "lattice"))
    assert (contour.lower <= lattice.upper).all()
    assert (lattice.lower <= contour.upper).all()


WINDOWS = [
    *((1.0, 1e-3, 4.0, 6.0, 14.0), (2.4, 2e-4, 3.0, 5.5, 33.5), (0.3, 0.1, -math.inf, 5.0, 14.0)),
    *((1.4, 1e-4, 6.0, 46.4, 20.0), (1.0, 1e-5, 10.0, 12.0, 62.0)),
]


@pytest.mark.parametrize(("mu", "rate", "first", "last", "sharp"), WINDOWS)
@pytest.mark.parametrize("c", [0.0, 2.5])
@np.errstate(all="ignore")  # as ``split`` does: nodes that are left out have no logarithm
def test_transform_of_a_window_holds_truth(mu, rate, first, last, sharp, c):
    law = SubsampledPLD(GaussianLaw(mu), rate)
    part = rarely_sampled(law, 1)
    assert part is not None
    marks = Marks(law, part, 1, sharp)
    transform, window = QuadratureTransform(marks.window(first, last), c, 42.0), (first, last, sharp)
    y = np.array([0.2, 3.0, 11.0]) / mu
    check_transform(transform, y, lambda at: moment_of_window(mu, rate, window, acb(c, at)), 1e-13)


@pytest.mark.parametrize(
    ("sigma", "rate", "count", "delta", "x"),
    [
        pytest.param(0.713, 9.26e-5, 214, 1e-10, 0.41, marks=pytest.mark.slow),  # few of many steps lose much
        (1.12, 0.237, 3, 3.9e-5, 2.097),
        (0.939, 0.0644, 26, 2.5e-8, 3.355),
        (0.812, 6.18e-5, 331_000, 3e-11, 0.4617),  # the bulk reaches x
        pytest.param(0.67, 2.53e-5, 129_000, 3e-10, 0.538, marks=pytest.mark.slow),
        # Losses so large that softer marks would be felt there.
        pytest.param(1.0, 1e-5, 10**4, 1e-50, 3.607, marks=pytest.mark.slow),
        pytest.param(1.0, 1e-5, 10**6, 1e-30, 0.9335, marks=pytest.mark.slow),
    ],
)
def test_split_holds_truth(sigma, rate, count, delta, x):
    cache = ContourCache([SubsampledPLD(GaussianLaw(1 / sigma), rate)], [count])
    enclosure = split(cache.laws[0], count, cache.cumulant, x, math.log(delta))
    bound = verified(cache.laws[0], count, x, 384)
    with ctx.workprec(384):
        for at in (0.97 * x, x, 1.02 * x):
            ((low,), (high,)), truth = enclosure.bound(np.array([at])), bound(at)
            assert low <= truth.upper()
            assert truth.lower() <= high
            assert at != x or high - low < 1e-7 * delta


RARE = [(1.0, 1e-5, n, d) for n, d in ((10**4, 1e-20), (10**4, 1e-50), (10**6, 1e-15), (10**6, 1e-30))]


@pytest.mark.parametrize(("mu", "rate", "n", "delta"), [*RARE, (3.5, 0.0029, 2, 1e-5)])
def test_epsilon_of_rare_steps_at_small_delta_is_narrow(mu, rate, n, delta):
    low, high = (to.subsample(to.Gaussian(mu), rate) ** n).bounds.epsilon(delta)
    assert 0 <= high - low < 1e-8


@pytest.mark.parametrize(
    ("backwards", "rate", "n", "width"),
    [(False, 1e-5, 3, 1e-14), (True, 1e-5, 3, 1e-14), (False, 1e-12, 10**6, 1e-8), (True, 1e-9, 1000, 1e-7)],
)
def test_epsilon_below_all_losses_is_that_of_disjoint_laws(backwards, rate, n, width):
    """Forwards no loss is below the answer; backwards none of mass above 1e-15 is."""
    law, at = SubsampledPLD(GaussianLaw(0.4), rate), np.array([1e-3])
    low, high = Composition([ReversedPLD(law) if backwards else law], [n]).answer("epsilon", at, None)
    assert low[0] <= (truth := math.log1p(-1e-3)) <= high[0] < truth + width
