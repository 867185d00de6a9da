import math
from fractions import Fraction as F  # noqa: N817 - weights are read more easily

import mpmath as mp
import numpy as np
import pytest
from flint import acb, arb
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.accounting.laws import atomic
from tests.accounting.moments import Moment, nearest
from tests.strategies import log_uniform
from tests.truth.atoms import PureDP
from tests.truth.balls import digits
from tests.truth.built import built
from tests.truth.continuous import Gaussian, Laplace
from tests.truth.operators import Product, Subsampled
from tests.truth.operators import ReversedPLD as TruthReversed
from tradeoff.accounting.contour.engine import ContourEngine
from tradeoff.accounting.contour.line import Factors, stays_below
from tradeoff.accounting.engine import supremum
from tradeoff.accounting.saddles import Cumulant, Placement
from tradeoff.intervals.bounds import Bounds
from tradeoff.pld.components import few_bits
from tradeoff.pld.discrete import AtomicLaw, binomial_law, discrete_gaussian_law
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.law import Atoms
from tradeoff.pld.quadrature import QuadratureTransform, select_atoms
from tradeoff.pld.shifts import BoundedRangeLaw, LaplaceBatch, LaplaceLaw
from tradeoff.pld.transformed import MixturePLD, ReversedPLD, SubsampledPLD

NATS = 42.0
"""Accuracy of the quadratures: e^-42."""

rates = st.one_of(log_uniform(1e-8, 0.5), log_uniform(1e-9, 0.5).map(lambda p: 1 - p))
tilts = st.one_of(st.floats(0.01, 0.99), log_uniform(1e-6, 20.0).map(lambda u: 1 + u), log_uniform(1e-6, 0.5))
bases = st.one_of(
    log_uniform(1e-3, 6.0).map(GaussianLaw),
    log_uniform(1e-3, 6.0).map(LaplaceLaw),
    st.builds(binomial_law, log_uniform(1e-3, 6.0), st.integers(1, 3)),
    st.builds(discrete_gaussian_law, log_uniform(0.4, 3.0), st.integers(1, 2)),
    st.sampled_from(
        [atomic([-1.0, -0.2, 0.1], [0.3, 0.6, 0.1], 0.1)[0], atomic([-3.0, -0.5], [1e-9, 1.0], 0.0)[0]]
    ),
)
halves = st.sampled_from([0.25, 0.5, 2.0**-20])
changed = st.recursive(
    bases,
    lambda inner: st.one_of(
        st.builds(SubsampledPLD, inner, rates),
        st.builds(ReversedPLD, inner),
        st.builds(lambda a, b, w: MixturePLD([(w, a), (1 - w, b)]), inner, bases, halves),
    ),
    max_leaves=3,
)


def drawn(law, c):
    result = law.transform(c, NATS)
    assert result is not None
    return result


@pytest.mark.slow
@given(changed, tilts, st.lists(log_uniform(1e-3, 20.0), min_size=2, max_size=2), log_uniform(1e-3, 0.5))
@example(GaussianLaw(2.0), 3.5, [0.1, 4.0], 0.1)
@example(SubsampledPLD(binomial_law(3.0, 3), 0.99999), 0.04, [0.01, 2.9], 0.1)
@example(
    SubsampledPLD(SubsampledPLD(ReversedPLD(GaussianLaw(3.2)), 1.9e-8), 6.9e-5), 57.0, [0.002, 0.01], 0.1
)
@example(discrete_gaussian_law(1.876, 1), 32.07, [0.014, 9.0], 0.1)
@example(discrete_gaussian_law(1.0, 2), 0.7, [1.5, 3.0], 0.3)
@example(ReversedPLD(SubsampledPLD(LaplaceLaw(2.0), 1e-3)), 12.0, [0.3, 15.0], 0.2)
@example(SubsampledPLD(discrete_gaussian_law(20.0, 1), 0.1), 60.0, [0.05, 3.0], 0.1)
@example(ReversedPLD(SubsampledPLD(discrete_gaussian_law(8.0, 1), 0.1)), 0.3, [0.05, 3.0], 0.1)
def test_transform_holds_truth_within_errors(law, c, scaled, share):
    """``scaled``: frequencies in units of the tilted standard deviation."""
    result = drawn(law, c)
    y = np.minimum(np.sort(scaled) / np.sqrt(max(Cumulant([(law.sketch(), 1)])(c)[2], 1e-4)), 40.0)
    true = Moment(law, c, 2 * float(y[-1]))
    assert abs(true.log_m() - result.log_m) <= result.log_m_error
    if isinstance(result, QuadratureTransform):
        assert true.variance(result.mean) <= result.first.spreads[1].item() + 1e-25
    ratio, radius = result.ratio(y), share * float(y[0])
    near = result.around(y, radius)
    for k, at in enumerate(y):
        value = true.log_rho(at, result.mean)
        if not value.real >= -50:  # rho = 0 to the digits there are
            continue
        assert nearest(value, complex(ratio.log[k])) <= ratio.error[k]
        assert value.real <= ratio.ceiling[k]
        assert value.real <= result.far(float(at))
        for moved in (at - radius, at + radius):
            assert not true.log_rho(moved, result.mean).real > near[k] + 1e-15


def test_share_of_atoms_left_out_allows_for_unknown_masses():
    loss = np.linspace(-0.1, 0.1, 101)
    log_p, slack = np.full((2, 101), [[-20.0], [0.0]])
    log_p[50], slack[50] = 0.0, 0.99
    nodes = select_atoms(Atoms(loss, log_p, slack, np.zeros(101)), 0.5, 10.0, cut=False)
    gone = np.setdiff1d(loss, nodes.loss)
    assert len(gone) == 100
    # The mass at 0 may be as low as 0.01.
    tilted = np.exp(-20 + 0.5 * gone)
    assert np.sum(tilted) / (0.01 + np.sum(tilted)) <= nodes.quadrature


@pytest.mark.parametrize(
    "law",
    [
        *(LaplaceLaw(0.7), BoundedRangeLaw(0.7), BoundedRangeLaw(30.0), GaussianLaw(0.5)),
        *(discrete_gaussian_law(3.0, 2), ReversedPLD(LaplaceLaw(4.0))),
    ],
)
@pytest.mark.parametrize("c", [0.3, 1.5, 40.0])
def test_ratio_at_high_frequency_holds_truth(law, c):
    """Closed forms at y up to 1e6, where no quadrature reaches: Laplace and discrete Gaussian."""
    result, y = drawn(law, c), np.array([40.0, 1e3, 1e6])
    ratio = result.ratio(y)
    for k, at in enumerate(y):
        value = closed(law, c, at, result.mean)
        if value.real > -50:
            assert nearest(value, complex(ratio.log[k])) <= ratio.error[k]
            assert value.real <= ratio.ceiling[k]


@pytest.mark.parametrize("share", [0.8, 0.9, 0.97, 1.0])
def test_ratio_of_discrete_gaussian_halfway_between_frequencies_holds_truth(share):
    """Halfway, at ``share`` 1, two frequencies count alike."""
    law, c, y = discrete_gaussian_law(2.0, 1), 0.3, share * math.pi * 4
    result = drawn(law, c)
    ratio, near = result.ratio(np.array([y])), result.around(np.array([y]), 1e-3)
    value = closed(law, c, y, result.mean)
    assert nearest(value, complex(ratio.log[0])) <= ratio.error[0] <= (1e-4 if share < 0.9 else np.inf)
    assert value.real <= min(ratio.ceiling[0], near[0])


@given(
    st.lists(log_uniform(1e-3, 6.0), min_size=1, max_size=20),
    tilts,
    log_uniform(1e-3, 1e5),
    st.floats(0, 1),
    st.sampled_from([LaplaceLaw, BoundedRangeLaw]),
)
@example([0.1, 0.07], 0.5 + 2.0**-20, 1e-3, 0.0, LaplaceLaw)
@example([1e-3] * 17, 1 + 1e-6, 1e5, 0.5, LaplaceLaw)
@example([6.0, 0.1, 0.1], 300.0, 20.0, 1.0, LaplaceLaw)
@example([0.01], 1.5, 1e-3, 0.5, BoundedRangeLaw)
@example([1e-3], 0.5, 1e-3, 0.0, LaplaceLaw)
def test_transform_of_laplace_laws_holds_truth(epsilons, c, frequency, share, kind):
    """``share``: a radius in units of the longest period; errors of one law scale with its frequency."""
    laws = [kind(epsilon) for epsilon in epsilons]
    result = LaplaceBatch(laws).transform(c, NATS)
    y, radius = few_bits(frequency), share / max(epsilons)
    ratio = result.ratio(np.array([0.0, y]))
    near, far = result.around(np.array([y]), radius), result.far(y)
    value = sum(closed(law, c, y, 0.0) for law in laws)
    assert abs(sum(laplace_moment(law, arb(c)).log() for law in laws) - result.log_m) <= result.log_m_error
    assert abs(ratio.log[0]) <= ratio.error[0] < 1e-12
    if np.isfinite(ratio.error[1]):
        assert nearest(value, complex(ratio.log[1])) <= ratio.error[1]
        if len(laws) == 1 and y * epsilons[0] < 1:
            assert ratio.error[1] <= 1e-13 * y * epsilons[0] * (1 + epsilons[0])
    assert value.real <= min(ratio.ceiling[1], far)
    for moved in np.linspace(-radius, radius, 5) + y:
        assert sum(closed(law, c, moved, 0.0).real for law in laws) <= near[0]


@pytest.mark.parametrize(
    "law",
    [
        *(GaussianLaw(1e-6), LaplaceLaw(0.7), LaplaceLaw(1e-4), BoundedRangeLaw(0.7)),
        pytest.param(discrete_gaussian_law(3.0, 2), marks=pytest.mark.slow),
    ],
)
def test_around_at_high_frequency_bounds_period(law):
    """A period of the law is known to as many units as there are before y."""
    result, y = drawn(law, 1.5), 1e6 + np.linspace(0, 30, 7)
    for at, bound in zip(y.tolist(), result.around(y, 0.25), strict=True):
        for moved in (at - 0.25, at + 0.25):
            assert closed(law, 1.5, moved, result.mean).real <= bound + 1e-15


@pytest.mark.slow
@given(changed, tilts, log_uniform(1e-3, 1.0), st.integers(17, 300), st.integers(0, 99))
def test_ratio_of_equal_steps_holds_truth(law, c, step, size, start):
    result, y = drawn(law, c), step * np.arange(start, start + size, dtype=float)
    true = Moment(law, c, 2 * float(y[-1]))
    shared = result.ratio(y, even=True)
    for k in {0, 1, size // 2, size - 1}:
        value = true.log_rho(y[k], result.mean)
        if value.real > -50:
            assert not nearest(value, complex(shared.log[k])) > shared.error[k]  # at y = 0 both are 0
            assert not value.real > shared.ceiling[k]


@settings(max_examples=12)
@given(log_uniform(0.5, 3.0), log_uniform(1e-3, 0.5), st.integers(10**3, 10**5), st.booleans())
def test_stays_below_bounds_product_on_the_walk(mu, rate, n, flipped):
    law = SubsampledPLD(GaussianLaw(mu), rate)
    result = drawn(ReversedPLD(law) if flipped else law, 2.0)
    assert isinstance(result, QuadratureTransform)
    start = 6.0 / np.sqrt(n * result.first.spreads[1].item())
    reached = stays_below([result], [n], 12.0, start, np.inf, np.inf)
    if reached > start:
        y = np.geomspace(start, min(reached, 30 * start), 1000)
        for part in np.array_split(y, 20):
            assert np.all(n * result.ratio(part).log.real <= -12.0 * (1 - 1e-9))


@pytest.mark.parametrize(("mu", "rate", "c"), [(2.0, 1e-5, 70.3), (0.5, 1e-3, 300.0), (6.0, 1e-9, 25.0)])
@pytest.mark.parametrize("y", [10.0, 1e3, 1e4])
def test_line_rule_with_few_nodes_holds_all_mass(mu, rate, c, y):
    (piece,) = ReversedPLD(SubsampledPLD(GaussianLaw(mu), rate)).components() or []
    nodes = piece.base.nodes(piece, c, y, NATS)
    step = 2.0**-10
    x = step * np.arange(int((-c * mu - 40) / step), int((c * mu + 40) / step))
    ratio = np.logaddexp(np.log1p(-rate), math.log(rate) + mu * x - mu**2 / 2)
    whole = np.sum(np.exp((1 - c) * ratio - x * x / 2)) * step / math.sqrt(2 * math.pi)
    assert np.sum(np.exp(nodes.log_p + c * nodes.loss)) == pytest.approx(whole, rel=1e-11)


@given(log_uniform(0.01, 12.0), rates, rates, st.floats(-60, 60))
def test_component_logs_hold_truth(mu, rate, other, base):
    """Thinned, reversed, thinned: shares next to 0 and to 1 together."""
    inner = SubsampledPLD(GaussianLaw(mu), rate)
    back, twice = ReversedPLD(inner), SubsampledPLD(ReversedPLD(inner), other)
    for law in (inner, back, twice, SubsampledPLD(ReversedPLD(GaussianLaw(mu)), rate)):
        (piece,) = law.components() or []
        loss = piece.logs(np.array([base]), np.zeros(1))
        with mp.workdps(60):
            assert abs(loss_of(law, mp.mpf(base)) - mp.mpf(float(loss.loss[0]))) <= loss.error[0]


def loss_of(law, base):
    match law:
        case SubsampledPLD(base=inner, p=rate):
            return mp.log1p(mp.mpf(rate) * mp.expm1(loss_of(inner, base)))
        case ReversedPLD(base=inner):
            return -loss_of(inner, base)
    return base


def closed(law, c, y, mean):
    """Return log(rho e^(-iy mean)) from the formula of M."""
    plain = law.base if isinstance(law, ReversedPLD) else law
    if isinstance(plain, AtomicLaw):
        return Moment(plain, c, 0.0).log_rho(y, mean)
    z, c, turn = acb(c, y), arb(c), acb(0, -arb(y) * mean)
    if isinstance(plain, GaussianLaw):
        return arb(plain.mu) ** 2 / 2 * (z * z - z - c * (c - 1)) + turn
    assert isinstance(plain, LaplaceLaw)
    return (laplace_moment(plain, z) / laplace_moment(plain, c) * turn.exp()).log()


def laplace_moment(law, s):
    """Return E e^(sL) of a Laplace law, or of one without atoms."""
    e, k = arb(law.epsilon), s - 0.5
    share = (k * e).sinh() / k if k != 0 else e
    if isinstance(law, BoundedRangeLaw):
        return share / (2 * (e / 2).sinh())
    return (-e / 2).exp() * ((k * e).cosh() + share / 2)


sizes = log_uniform(0.05, 3.0)
sampled = st.builds(Subsampled, sizes.map(Gaussian), log_uniform(1e-3, 0.9))
cases = st.one_of(
    st.tuples(sizes.map(Gaussian), st.integers(1, 20)),
    st.tuples(sizes.map(PureDP), st.integers(1, 12)),
    st.tuples(st.one_of(sizes.map(Laplace), sampled, sampled.map(TruthReversed)), st.just(1)),
)
"""A description, and a count."""


@st.composite
def foolish(draw, size):
    """Any aim at all for a sum of that standard deviation: steps too large, tilts anywhere, smoothing."""
    tau = draw(st.sampled_from([0.0, 0.0, 1e-4, 1e-2, 0.3, 1.0]))
    if draw(st.booleans()):
        c = draw(st.floats(0.02, 0.98))
        left, right = draw(st.sampled_from([0.0, c / 2, 0.99 * c])), draw(st.sampled_from([1.0, (1 + c) / 2]))
    else:
        c = 1 + draw(log_uniform(0.01, 10.0 / size))
        left = draw(st.sampled_from([1.0, (1 + c) / 2]))
        right = c + draw(log_uniform(0.01, 20.0 / size))
    step = draw(log_uniform(0.03, 3.0)) / size
    return Placement(
        c, left, right, step, draw(log_uniform(1e-16, 1e-2)), draw(log_uniform(1e3, 1e5)), tau, size
    )


NEEDED = {
    "left": (1.0, Placement(2.5, 1.0, 6.0, 1.4, 1e-15, 1e6, 0.0, 1.0), 3.0),
    "right": (1.0, Placement(1.5, 1.0, 3.0, 1.5, 1e-15, 1e6, 0.0, 1.0), -1.0),
    "truncation": (0.02, Placement(2.0, 1.0, 30.0, 0.3, 1e-15, 10.0, 0.0, 0.02), 0.0),
    "smoothing": (1.0, Placement(2.0, 1.0, 6.0, 0.2, 1e-15, 1e6, 0.5, 1.0), 1.0),
}


@pytest.mark.slow
@settings(max_examples=300)
@given(cases, st.data())
def test_psi_for_any_placement_holds_truth(case, data):
    (spec, n), law = case, built(case[0]).laws()[0]
    size, truth = math.sqrt(n) * Cumulant([(law.sketch(), 1)])(0.5)[2] ** 0.5, Product(((spec, n),)).delta
    line = Factors([law], [n]).line(data.draw(foolish(size)))
    if line is None:
        return
    x = np.abs(line.mean + size * np.array([-2.0, 0.0, 1.5]))
    low, high = line.psi(x)
    for at, below, above in zip(x, low, high, strict=True):
        delta = digits(truth(float(at)))
        if line.place.c > 1 or delta < 1 - mp.mpf(10) ** -20:
            assert below <= (delta if line.place.c > 1 else 1 - delta) <= above


@pytest.mark.parametrize(("mu", "aim", "x"), NEEDED.values(), ids=NEEDED)
def test_psi_where_an_error_term_is_needed_holds_truth(mu, aim, x):
    (low,), (high,) = Factors([GaussianLaw(mu)], [1]).line(aim).psi(np.array([x]))
    assert low <= digits(Gaussian(mu).delta(x)) <= high


def test_line_of_many_rounds_errs_within_bounds():
    """1e9 rounds of a law known by points: nodes are within their errors, not within a millionth."""
    mu, n, aim = 1e-4, 10**9, Placement(3.0, 1.5, 8.0, 0.1, 1e-15, 1e6, 0.0, 3.0)
    line, off = Factors([ReversedPLD(ReversedPLD(GaussianLaw(mu)))], [n]).line(aim), np.empty(30)
    with mp.workdps(40):
        c, m = mp.mpf(line.place.c), n * mp.mpf(mu) ** 2 / 2
        for k in range(30):
            z = mp.mpc(c, line.place.step * k)
            true = mp.exp(m * (z * z - z - c * (c - 1)) - mp.mpc(0, z.imag * mp.mpf(line.mean)))
            off[k] = abs(true - mp.exp(mp.mpc(line.log[k])))
    assert np.all(off <= line.error[:30])
    assert np.any(off > 1e-6 * line.error[:30])


@given(st.permutations(range(3)))
def test_line_for_any_order_of_factors_agrees(order):
    """Randomised response revives at distant frequencies: what is left of the others there is a comb."""
    laws = [binomial_law(0.5, 1), SubsampledPLD(GaussianLaw(1.0), 1e-4), GaussianLaw(0.25)]
    counts, aim, psi = [300, 15000, 1], Placement(1.5, 1.1, 3.0, 0.002, 1e-13, 1e9, 0.0, 10.0), []
    for which in ([1, 2, 0], order):
        line = Factors([laws[i] for i in which], [counts[i] for i in which]).line(aim)
        psi.append([float(side[0]) for side in line.psi(np.array([line.mean]))])
    (low, high), (below, above) = psi
    assert low <= above
    assert below <= high


@pytest.mark.slow
@pytest.mark.parametrize(
    ("curve", "delta", "width"),
    [
        (to.subsample(to.mechanisms.ExponentialMechanism(4.57).curve(), 0.002) ** 100, 2.5e-5, 1e-7),
        (to.mechanisms.DiscreteGaussianVector(29, 4, 9).curve() ** 9, 5e-9, 1e-7),
    ],
    ids=["truncated", "atoms"],
)
def test_epsilon_of_products_that_decay_late_agrees_with_lattice(curve, delta, width):
    result = curve.bounds.epsilon(delta)
    other = curve.bounds.epsilon(delta, method="lattice")
    assert result.width <= width
    assert result.lower <= other.upper
    assert other.lower <= result.upper


@given(
    st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=1, max_size=5),
    st.lists(st.floats(0, 4), min_size=8, max_size=8, unique=True),
    st.lists(st.one_of(st.floats(0, 1e-3), st.floats(0, 1)), min_size=8, max_size=8),
)
def test_supremum_of_concave_function_holds_truth(lines, at, widths):
    """The least of some lines and a parabola, known at eight points, and its maximum on a fine grid."""
    width = np.array(widths)

    def value(s):
        return np.asarray(np.min([a + b * s for a, b in lines] + [1 - (s - 2) ** 2], axis=0))

    s = np.sort(at) + 0.01
    if np.min(np.diff(s)) < 1e-3:
        return
    sides = ((value(s) + sign * width)[None] for sign in (-1, 1))
    result = supremum(np.log(s)[None], Bounds(*sides))
    true = float(np.max(value(np.linspace(1e-9, 20, 200001))))
    if result.is_fenced[0]:
        assert result.low[0] <= true + 1e-12
        assert result.high[0] >= true - 1e-12


@pytest.mark.parametrize(
    ("mu", "rate", "n", "epsilon"),
    [(2.0, 1e-4, 10**5, 1.0), (2.0, 1e-5, 10**6, 0.2), (2.5, 1e-4, 10**4, 0.2)],
)
def test_answer_in_other_order_of_rare_steps_is_narrow(mu, rate, n, epsilon):
    law = ReversedPLD(SubsampledPLD(GaussianLaw(mu), rate))
    low, high = ContourEngine([law], [n]).answer("delta", np.array([epsilon]), 1e-8)
    assert 0 < high[0] - low[0] <= 1e-8 * high[0]


def test_epsilon_of_many_rounds_holds_mean_loss():
    """The logarithm of a line of 10^12 rounds may be off by many nats; bounds are off by no less."""
    shares = {F(0): 201427, F(1, 4): 106670, F(3, 4): 1, F(1): 403930, F(3, 2): 127181}
    other = {at: F(w, 839209) for at, w in shares.items()}
    n, divergence = 10**12, 0.018040028951094052774  # KL(Q || P) by quadrature in 30 digits
    result = (to.GaussianMixtures({F(0): F(1)}, other, 3.9071826124739375) ** n).bounds.epsilon(2e-8)
    # At delta = 2e-8 the loss is the mean and some 5.5 deviations of 0.19 sqrt(n), 6e-5 of the mean.
    assert result.lower / n <= divergence * (1 + 1e-4)
    assert result.upper / n >= divergence * (1 - 1e-6)
