"""Pairs of Gaussian mixtures against thresholds in fifty digits, contours in balls and the peers' numbers."""

import copy
import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx

import tradeoff as to
from tests.truth.balls import ball
from tests.truth.claims import check
from tests.truth.mixtures import NormalMixtures
from tests.truth.operators import ReversedPLD
from tradeoff import GaussianMixtures
from tradeoff.accounting.saddles import Cumulant, epsilon_for_alpha
from tradeoff.errors import NoClosedForm, SizeError
from tradeoff.pld.normal_mixtures import MixturePair

RATE = Fraction(1, 100)
SHIFTED = {0: 0.5, 1: 0.3, 2: 0.15, 4: 0.05}
PAIRS = {
    "replace one": ({0: 0.99, -1: 0.01}, {0: 0.99, 1: 0.01}, 2.0),
    "add or remove": ({0: 1.0}, {0: 0.99, 1: 0.01}, 1.0),
    "rare": ({0: 1.0}, {0: 1 - 2.0**-40, 1: 2.0**-40}, 0.7),
    "much noise": ({0: 1.0}, {0: 0.5, 1: 0.25, 2: 0.25}, 100.0),
    "several shifts": ({0: 1.0}, SHIFTED, 2.0),
    "apart": ({0: 0.5, 1: 0.5}, {2: 0.5, 7: 0.5}, 0.6),
    "both kinds": ({-2: 0.01, -1: 0.19, 0: 0.8}, {0: 0.7, 1: 0.2, 3: 0.1}, 1.3),
    "falling": ({5: 1.0}, {5: 0.25, 4: 0.75}, 1.0),
}


def replace_one(q, sigma):
    return GaussianMixtures(null={0: 1 - q, -1: q}, alternative={0: 1 - q, 1: q}, sigma=sigma)


def binomial(k, q):
    return {j: math.comb(k, j) * q**j * (1 - q) ** (k - j) for j in range(k + 1)}


def exact(side):
    total = sum(map(Fraction, side.values()))
    return {Fraction(a): Fraction(w) / total for a, w in side.items()}


def described(null, alternative, sigma):
    return NormalMixtures(tuple(null.items()), tuple(alternative.items()), sigma)


@pytest.mark.parametrize("name", PAIRS)
def test_single_curve_contains_truth(name):
    spec, f = described(*PAIRS[name]), GaussianMixtures(*PAIRS[name])
    for one, curve in ((spec, f), (ReversedPLD(spec), ~f)):
        for x in (-6.0, -1.5, -0.4, 1e-4, 1.5, 6.0):
            check(curve.bounds.delta(x), one.delta(x), 1e-8, 1e-300)
        low, high = curve.bounds.epsilon(1e-3)
        assert high - low <= 1e-9
        assert not one.delta(low) < 1e-3  # delta falls
        assert not one.delta(high) > 1e-3
    check(f.bounds(0.3), spec.beta(0.3))


class Balls:
    """delta of a power by the trapezoid rule in balls, twice over: for x, and for the frequency."""

    def __init__(self, null, alternative, sigma, *, fine=0.05):
        p, q = exact(null), exact(alternative)
        means = [float(a) for a in {*p, *q}]
        s, h = Fraction(sigma), Fraction(fine) * Fraction(sigma)
        first, last = (
            int((end + side * 18 * float(sigma)) / float(h))
            for end, side in ((min(means), -1), (max(means), 1))
        )
        self.points = []
        for j in range(first, last + 1):
            density = [
                sum((ball(w) * (-(ball((j * h - a) / s) ** 2) / 2).exp() for a, w in side.items()), arb(0))
                for side in (p, q)
            ]
            mass = density[0] * ball(h / s) / (2 * arb.pi()).sqrt()
            self.points.append((mass, (density[1] / density[0]).log()))

    def delta(self, n, x, c, step, last):
        """Sum over y = k step up to ``last``."""
        loss = [each for _, each in self.points]
        weight = [acb(mass * (c * each).exp()) for (mass, _), each in zip(self.points, loss, strict=True)]
        turn = [acb(0, step * each).exp() for each in loss]
        total = acb(0)
        for k in range(int(last / step)):
            z = acb(c, k * step)
            moment = sum(weight, acb(0)) ** n
            total += moment * (-(z - 1) * x).exp() / (z * (z - 1)) * (0.5 if k == 0 else 1)
            weight = [w * r for w, r in zip(weight, turn, strict=True)]
        return total.real * step / arb.pi()


COMPOSED = [
    (PAIRS["replace one"], 2000, 1.0, 5.0, 0.125, 26),
    (({0: 1}, binomial(4, RATE), 1), 200, 2.0, 2.0, 0.125, 26),
    ((binomial(4, RATE), {0: 1}, 1), 200, 2.0, 4.0, 0.125, 26),
    (({0: 1}, SHIFTED, 2), 10, 4.0, 2.5, 0.03125, 8),
    (({0: 1}, {-1: 0.5, 1: 0.5}, 2), 40, 2.0, 2.0, 0.0625, 16),
]


@pytest.mark.parametrize(("pair", "n", "x", "c", "step", "last"), COMPOSED)
def test_delta_of_powers_contains_contour_in_balls(pair, n, x, c, step, last):
    balls = Balls(*pair, fine=0.125)
    truth = balls.delta(n, x, c, step, last)
    assert abs(balls.delta(n, x, c, 2 * step, last) / truth - 1) < 1e-7  # half the step squares its error
    check((GaussianMixtures(*pair) ** n).bounds.delta(x), float(truth.mid()), 1e-9)


def test_closed_forms():
    assert GaussianMixtures({1: 1}, {3: 1}, 4) == to.Gaussian(0.5)
    assert GaussianMixtures({3: 1}, {1: 1}, Fraction(4)) == to.Gaussian(0.5)
    apart = (GaussianMixtures({-0.3: 1}, {0.9: 1}, 0.29) @ to.Gaussian(1)).square
    assert apart == ((Fraction(0.9) + Fraction(0.3)) / Fraction(0.29)) ** 2 + 1  # mu is no float
    assert GaussianMixtures({0: 0.5, 1: 0.5}, {1: 1, 0: 1.0 - 1e-13} | {0: 0.5, 1: 0.5}) == to.Identity()
    assert GaussianMixtures({0: 1}, {1: 1, 2: 0}) == to.Gaussian(1)
    assert GaussianMixtures({0: 1}, {0: 0.5, 1: 0.5}, math.inf) == to.Identity()


def test_scalar_pair_dominates_vector_pairs():
    # the theorem of docs/gaussian-mixtures.md in two dimensions: means of norm at most 1, at any angle
    x, y = np.meshgrid(np.linspace(-9, 9, 601), np.linspace(-9, 9, 601))
    area, q, sigma = (x[0, 1] - x[0, 0]) ** 2, 0.3, 0.8

    def bell(u, v):
        return np.exp(-((x - u) ** 2 + (y - v) ** 2) / (2 * sigma**2)) / (2 * np.pi * sigma**2)

    worst = replace_one(q, sigma)
    for angle, short in ((0.0, 1.0), (1.0, 1.0), (2.0, 0.7), (3.0, 1.0)):
        one = (1 - q) * bell(0, 0) + q * bell(short, 0)
        two = (1 - q) * bell(0, 0) + q * bell(np.cos(angle), np.sin(angle))
        for loss in (-0.5, 0.0, 0.5, 1.5):
            assert np.sum(np.maximum(two - np.exp(loss) * one, 0)) * area <= worst.delta(loss) + 1e-6


def test_weights_of_extreme_size_are_accepted():
    f = GaussianMixtures({0: 1}, {0: 1, 3: 1e-300})
    assert f.delta(0.5) < 1e-300
    assert f.bounds.delta(0).upper == pytest.approx(1e-300 * math.erf(1.5 / math.sqrt(2)), rel=1e-9)
    assert GaussianMixtures({0: 1}, {0: 0.1 + 0.2, 1: 0.7}).delta(0) > 0  # they miss 1 by an ulp
    assert GaussianMixtures({0: 1}, {0: 0.9, 1: 0.1, 2: 0.0}) == GaussianMixtures({0: 1}, {0: 0.9, 1: 0.1})


def test_equality_and_inverse():
    f = GaussianMixtures({0: 1}, {0: 0.9, 1: 0.1}, 2)
    assert ~~f == f == copy.deepcopy(f)
    assert f != ~f
    assert replace_one(0.1, 1).inverse() == replace_one(0.1, 1)
    assert hash(f) == hash(GaussianMixtures({0: 1.0}, {1: 0.1, 0: 0.9}, 2.0))
    assert f >= to.TotalVariation(1)


@pytest.mark.slow
def test_certify_mixtures_verifies():
    f = GaussianMixtures({0: 1}, {0: 0.9, 1: 0.07, 2: 0.03}, 1.5)
    for curve, question, value in ((~f) ** 40, "epsilon", 1e-4), (f, "delta", 0.1):
        assert to.verify(to.certify(curve, question, value)).checks
    with pytest.raises(NoClosedForm, match="not monotone"):
        to.certify(GaussianMixtures({0: 1}, {-1: 0.5, 1: 0.5}) ** 9, "delta", 1.0)


@pytest.mark.parametrize(
    "pair",
    [
        ({0: 1}, {0: 0.2, 1: 0.6, 2: 0.2}, 1),
        ({-1: 0.5, 0: 0.5}, {0: 0.9, 1: 0.1}, 1),
        ({0: 1}, {-1: 0.5, 2: 0.5}, 1),
    ],
)
@pytest.mark.parametrize("c", [-1.5, 0.5, 2.5])
@pytest.mark.parametrize("rate", [1, 0.25])
def test_transform_bounds_far_frequencies(pair, c, rate):
    null, alternative, _ = pair
    rho, step, logs = (
        to.subsample(GaussianMixtures(*pair), rate).loss_distribution().transform(c, 45.0),
        1 / 64,
        [],
    )
    for k in range(-14 * 64, 14 * 64):
        p, q = (
            sum((arb(w) * (-(arb(k * step - m) ** 2) / 2).exp() for m, w in side.items()), arb(0))
            for side in (null, alternative)
        )
        logs.append((p.log(), ((1 - arb(rate)) * p + arb(rate) * q).log()))

    def moment(y):
        """Return M(c + iy) by the trapezoid rule, whose error is e^-50 for analytic integrands."""
        z = acb(c, y)
        return sum((((1 - z) * p + z * q).exp() for p, q in logs), acb(0)) * step / (2 * arb.pi()).sqrt()

    whole = moment(0).real
    for y in (3, 15, 60):
        true = arb((abs(moment(y)) / whole).log().upper())
        assert true <= rho.far(y) <= 0
        assert true <= rho.ratio(np.array([float(y)])).ceiling[0]
        assert true <= rho.around(np.array([y - 0.25]), 0.25)[0]
    rises = rate == 1 and min(alternative) >= max(null)
    assert rho.far(15.0) < (-0.1 if rises else -0.001)
    assert rho.far(1e4) < (-15 if rises else -0.5)
    assert rho.far(1e100) < (-20 if rises else -1)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1, 10**6)])
def test_slopes_of_alternating_means_contain_truth(scale):
    """Means of P and Q alternate: nearly all of L' = E_Q m - E_P m cancels."""
    means = [scale * k / 21 for k in range(21)]
    null, alternative = ({m: Fraction(1, len(means[a::2])) for m in means[a::2]} for a in (1, 0))
    pair, x = MixturePair.of(null, alternative, Fraction(1)), np.linspace(-4.9, 4.9, 15)
    slopes, parts = pair.slopes(x)
    with mpmath.workdps(50):
        at = [mpmath.mpf(m.numerator) / m.denominator for m in pair.at]
        for where, slope, part in zip(map(mpmath.mpf, x), slopes, parts, strict=True):
            bells = [mpmath.exp(m * where - m * m / 2) for m in at]
            p, q = (
                mpmath.fdot(zip(map(float, side), map(mpmath.fmul, bells, at), strict=True))
                / mpmath.fdot(zip(map(float, side), bells, strict=True))
                for side in (pair.p_weights, pair.q_weights)
            )
            assert abs(q - p - mpmath.mpf(slope)) <= 1e-9 * part


def test_beta_of_rare_means_is_narrow():
    """Tilts are about rare rounds alone there: quantiles guessed by them were 1000 deviations off."""
    side = {0: Fraction(16503, 16504), 0.25: Fraction(1, 33008), 1.5: Fraction(1, 33008)}
    f = GaussianMixtures({0: 1}, side, 1.2) ** 15
    assert f.bounds(0.1).width < 1e-7  # was 3e-4, in half a minute
    assert f.bounds(0.1, tol=1e-6).width < 1e-9
    law = GaussianMixtures({0: 1}, side, 1.2).loss_distribution()
    assert abs(epsilon_for_alpha(Cumulant([(law.sketch(), 15)]), np.array([0.1]))[0]) < 1e-3


@pytest.mark.parametrize("name", PAIRS)
def test_cells_contain_balls(name):
    law, spec = GaussianMixtures(*PAIRS[name]).loss_distribution(), described(*PAIRS[name])
    low, high = np.clip(law.support, -30.0, 30.0) * 0.99
    edges = low + (high - low) * np.array([0.0, 0.3, 0.3001, 0.5, 0.52, 0.520001, 0.8, 1.0])
    cells, off = law.cells(edges), law.edge_error(edges)
    assert np.max(off) <= 1e-13 * (1 + np.max(np.abs(edges)))
    with ctx.workprec(1300):
        losses = [arb(x).exp() for x in edges.tolist()]
        for k, ((q, p), (r, s)) in enumerate(pairwise(map(spec.tails, losses))):
            slack = cells.slack[k] + 4 * max(off[k], off[k + 1]) / (edges[k + 1] - edges[k])
            assert slack < 1e-6 or name == "rare"  # of losses next to 1e-12
            excess, deficit = (q - r) - losses[k] * (p - s), (p - s) - (q - r) / losses[k + 1]
            assert abs(cells.excess[k] - excess) <= slack * excess + 1e-35
            assert abs(cells.deficit[k] - deficit) <= slack * deficit + 1e-35


@pytest.mark.slow
def test_delta_of_cancelling_losses_raises():
    rare = Fraction(1, 10**6)
    f = GaussianMixtures({-1: 0.5, 1: 0.5}, {0: rare, 60: 1 - rare}, 1)
    with pytest.raises(SizeError, match="more than 200000 cells are needed"):
        f.delta(1.0)


@pytest.mark.parametrize("null", [{0: 0.45, 1: 0.1, 2: 0.45}, {0: 0.5, 2: 0.5}])
def test_epsilon_at_0_of_losses_that_fall_again_contains_their_supremum(null):
    """No loss reaches the greatest ratio of weights, at the middle mean; they end past planning points."""
    alternative, x = {0: 0.1, 1: 0.8, 2: 0.1}, np.linspace(-10, 12, 2201)
    q, p = (sum(w * np.exp(-((x - m) ** 2) / 2) for m, w in side.items()) for side in (alternative, null))
    largest = np.max(np.log(q / p))  # at 1, a point of the grid, by symmetry
    f = to.GaussianMixtures(null, alternative, 1.0)
    assert largest in f.bounds.epsilon(0.0)
    assert (f**4).bounds.epsilon(1e-11).width < 0.01


def test_epsilon_where_far_losses_are_no_floats_contains_truth():
    """Losses of the farthest mean go up to 9000, and e^L to infinity."""
    weights = {k: Fraction(1, 2 ** (k + 1)) for k in range(60)}
    weights[101] = 1 - sum(weights.values())
    low, high = GaussianMixtures({0: 1}, weights).bounds.epsilon(1e-5)
    lower, upper = map(described({0: 1}, weights, 1).delta, (high, low))  # delta falls
    assert [upper < 1e-5, lower > 1e-5] == [False, False]
    assert high - low < 1e-9 * high


def test_losses_above_700_nats_are_bounded():
    common = {0: 0.384176315626653, 0.25: 0.037012878932457714, 0.5: 0.22825618086800117}
    for top, sigma, delta in ((1.25, 0.02, 9.33e-8), (2.0, 0.03, 1e-7)):
        side = {**common, 0.75: 0.35055418885557105, top: 4.35717e-07}
        low, high = GaussianMixtures({0: 1}, side, sigma).bounds.epsilon(delta)
        assert 100 <= low <= high <= to.Gaussian(top / sigma).epsilon(delta) * (1 + 1e-12)
    f = to.subsample(to.Gaussian(40), 1e-7)
    assert (f @ to.Gaussian(1e-3)).bounds.delta(600.0).upper >= f.bounds.delta(600.0).lower
