import math
from fractions import Fraction as F  # noqa: N817 - masses are read more easily
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import log_uniform
from tests.truth.atoms import PureDP
from tests.truth.balls import ball, cumulative, digits
from tests.truth.claims import check
from tests.truth.continuous import Gaussian, Gaussians
from tests.truth.operators import Product
from tradeoff.accounting.engine import APART, _Answers
from tradeoff.accounting.lattice.convolve import ProfileTable, TiltedFactor, Window, _log_sum, compose
from tradeoff.accounting.lattice.engine import (
    Direction,
    LatticeEngine,
    TruncatedPLD,
    add_far_losses,
    choose_edge,
)
from tradeoff.accounting.lattice.place import Effort, _reach
from tradeoff.accounting.planner import Composition
from tradeoff.pld.discrete import AtomicLaw, discrete_gaussian_law
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.law import Cells, Ends, PlanningPoints, masses
from tradeoff.pld.transformed import ReversedPLD, SubsampledPLD

NEGLIGIBLE = mp.mpf("1e-305")


@pytest.mark.slow
@given(
    log_uniform(0.01, 12.0),
    st.integers(1, 10**6),
    st.floats(0, 30),
    log_uniform(1e-6, 0.1),
    st.sampled_from([2**12, 2**16, 2**20, 2**22]),
)
def test_table_of_gaussian_power_holds_truth_at_nodes(whole, n, z, share, most):
    """``whole`` = mu sqrt(n); z standard deviations into the tail.

    Lattice width a share of the standard deviation, as far as ``most`` points go.
    """
    mu = float(whole / np.sqrt(n))
    spec = Gaussians(((mu, n),))
    order, loss = LatticeEngine([GaussianLaw(mu)], [n], symmetric=True).forward, whole * z - whole**2 / 2
    table = order.at(
        float(order.snap_to_grid(np.array([max(0.0, loss)]), APART)[0]), Effort(share * whole, most)
    )
    size = len(table.above)
    some = np.unique(
        np.concatenate([np.arange(0, size, max(1, size // 40)), [0, 1, 2, size - 3, size - 2, size - 1]])
    )
    for k in some:
        assert table.upper[k] + NEGLIGIBLE >= digits(spec.delta(float(table.above[k])))
        assert max(table.lower[k], table.leak) - NEGLIGIBLE <= digits(spec.delta(float(table.below[k])))
    between = (table.above[some[:-1]] + table.above[some[1:]]) / 2
    lower, upper = table.bound(between)
    for epsilon, low, high in zip(between, lower, upper, strict=True):
        assert low - NEGLIGIBLE <= digits(spec.delta(float(epsilon))) <= high + NEGLIGIBLE


def answer(composition, question, at, tol=None):
    """Return the bounds of one answer."""
    (low,), (high,) = composition.answer(question, np.array([at]), tol)
    return to.Bounds(low, high)


@given(log_uniform(0.01, 12.0), st.integers(2, 50), st.floats(-4, 30), st.floats(-6, 30))
@example(3.0, 10, -1.0, 0.0)  # a loss between both means
@example(9.0, 4, -5.0, -4.0)
@example(59.987, 1389, 0.0, 28.938)  # exponentials that overflow, and a beta below all floats
@example(59.976, 533, 0.0, 33.286)
@example(59.786, 6, 0.0, 2.7405)
@example(59.311, 35, 0.0, 10.37)
def test_questions_to_a_gaussian_power(whole, n, z, w):
    mu = float(whole / np.sqrt(n))
    spec, curve = Gaussians(((mu, n),)), Composition([GaussianLaw(mu)], [n], symmetric=True)
    epsilon, alpha = float(whole * z + whole**2 / 2), float(cumulative(-ball(w)))
    lower, upper = answer(curve, "delta", epsilon)
    truth = digits(spec.delta(epsilon))
    assert lower <= truth <= upper + NEGLIGIBLE
    if 0 < alpha < 1:
        assert digits(spec.beta(alpha)) in answer(curve, "beta", alpha)
    if 1e-300 < float(truth) < 1:
        lower, upper = answer(curve, "epsilon", float(truth))
        assert lower - 1e-9 * (1 + abs(epsilon)) <= epsilon <= upper + 1e-9 * (1 + abs(epsilon))


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.03, 8.0, 54.66])
@pytest.mark.parametrize("n", [1, 20, 10**6])
@pytest.mark.parametrize("delta", [1e-300, 1e-30, 0.5, pytest.param(0.9999, marks=pytest.mark.slow)])
def test_epsilon_at_extremes_emits_no_warning(mu, n, delta):
    if mu * np.sqrt(n) > 200:
        pytest.skip("delta = 1 to all digits")
    lower, upper = answer(Composition([GaussianLaw(mu)], [n], symmetric=True), "epsilon", delta)
    spec = Gaussians(((mu, n),))
    assert lower == -np.inf or digits(spec.delta(float(lower))) >= delta
    assert upper == np.inf or digits(spec.delta(float(upper))) <= delta


def test_beta_with_peak_between_nodes_holds_truth():
    """beta near alpha = 1 of small losses on a coarse lattice: two lower bounds on delta cross between nodes.

    The truth, 4.2343896847e-07, is from convolutions with the rare large losses cut off: grids 4e-9 and 2e-9
    wide agree to 3e-11 of it.
    """
    rare = SubsampledPLD(discrete_gaussian_law(0.3947480864262402, 3), 4.387209262897283e-06)
    laws = [
        SubsampledPLD(rare, 0.08361273688025798),
        SubsampledPLD(GaussianLaw(0.010091388494355247), 0.007962437874756017),
        SubsampledPLD(discrete_gaussian_law(0.8566085491188444, 1), 8.336010604770457e-05),
    ]
    lower, upper = answer(LatticeEngine(laws, [4, 1, 17]), "beta", 0.9999995760033278)
    assert lower * (1 - 1e-9) <= 4.2343896847e-07 <= upper * (1 + 1e-9)


def test_reach_ends_where_tilted_masses_are_floats():
    """They ended at the first point of a sketch that is too steep: at 704 nats all upper bounds were 1."""
    sketch = PlanningPoints(np.array([0.0, 0.1, 0.24, 0.25]), np.array([0.0, -20.0, -670.0, -690.0]))
    low, high = _reach(sketch, 2816.0, 0.0, 2, -15.0, end=0.25, continuous=True)
    assert low == 0.0 < high - 0.24 <= 690 / 2816 - 0.24
    assert _reach(sketch, 2816.0, 0.0, 2, -15.0, end=0.25, continuous=False) == (0.0, 0.25)  # masses are logs


@pytest.mark.parametrize(
    ("known", "widths", "rooms"),
    [
        (None, [1e-3, 1e-4, 1e-2], [np.inf] * 3),  # refinement is wider
        *((1e-6, [1e-3], [100.0]), (1e-4, [1e-3, 1e-5], [100.0, 1.0])),  # a known width is out of reach
        (None, [1e-3, 1e-5], [100.0, 1.0]),
    ],
)
def test_answer_stops_where_refinement_gains_nothing(known, widths, rooms, monkeypatch):
    engine, calls = LatticeEngine([GaussianLaw(1.0)], [3]), []

    def delta(x, effort):
        calls.append(effort)
        half, room = widths[len(calls) - 1] / 2, rooms[len(calls) - 1]
        return _Answers(*(np.full(len(x), each) for each in (0.5 - half, 0.5 + half, room)))

    monkeypatch.setattr(engine, "_at", delta)
    low, high = engine.answer("delta", np.array([1.0]), 1e-9, None if known is None else np.array([known]))
    assert len(calls) == len(widths)
    assert high - low == pytest.approx(min(widths))


def test_finest_lattice_is_as_narrow_as_predicted():
    order = LatticeEngine([GaussianLaw(0.5)], [20]).forward
    coarse, fine = (order.at(3.0, Effort(width, 2**18)) for width in (1e-4, 1e-9))
    assert fine.refinement_factor == 1
    (low, high), (least, most) = (table.bound(np.array([3.0])) for table in (coarse, fine))
    assert coarse.refinement_factor > 1
    assert (high - low) / (most - least) < 4 * coarse.refinement_factor  # else it would be refused in vain


@pytest.mark.parametrize("loss", [0.5, 1.0, 2.0, -4.0])
def test_delta_of_single_loss_emits_no_warning(loss):
    law = AtomicLaw(np.array([loss]), np.array([-6.0]), mass_at_minus_infinity=0.9, mass_at_plus_infinity=0.1)
    truth = 0.1 + max(math.exp(loss - 6) - math.exp(0.1 - 6), 0.0)
    assert truth in answer(LatticeEngine([law], [1]), "delta", 0.1)


@pytest.mark.parametrize("sigma", [1e-5, 1e-3])
def test_table_left_of_window_holds_truth(sigma):
    # All but nothing of the sum is at two atoms, and a window may hold no more than the right one.
    law = AtomicLaw(np.array([-1.0, 1.0]), -np.logaddexp(0.0, np.array([-1.0, 1.0])))
    table = LatticeEngine([law, GaussianLaw(sigma)], [1, 1]).forward.at(1.0, Effort(1e-4, 2**16))
    x = np.array([-3.0, -0.2, 0.0, 0.3, 0.9, float(table.above[0]) - 1e-9, 1.0])
    low, high = table.bound(x)
    spec = Product(((PureDP(1.0), 1), (Gaussian(sigma), 1)))
    for at, below, above in zip(x.tolist(), low.tolist(), high.tolist(), strict=True):
        check(to.Bounds(below, above), spec.delta(at))
        assert not 0 <= at <= 0.9 or below > float(spec.delta(at)) * 0.95
        assert at < -0.5 or above < 0.8


@given(st.lists(st.tuples(st.integers(-5000, 5000), st.floats(-740, 0)), min_size=1), log_uniform(1e-3, 10.0))
def test_log_sum_of_underflowing_masses_errs_within_bounds(terms, t):
    index, log = map(np.array, zip(*terms, strict=True))
    vector = np.exp(log)
    result, size = _log_sum(vector, t * index)
    with mp.workdps(40):
        steps = (t * index).tolist()
        truth = mp.log(mp.fsum(v * mp.exp(k) for v, k in zip(vector.tolist(), steps, strict=True)))
        assert abs(result - truth) <= 20 * 2.0**-53 * size + 1e-12 or result > truth


@pytest.mark.parametrize("alpha", [0.05, 0.12589254, 0.3, 0.49])
def test_beta_next_to_corner_is_narrow(alpha):
    # A step of one in 7000 rounds a corner off: f - TV(g) <= f (x) g <= f.
    rare = ~to.subsample(to.Gaussian(0.12589254117941673), 0.000142873)
    low, high = (~to.PiecewiseLinear([F(0), F(4, 17), F(1)], [F(1), F(1, 2), F(0)]) @ ~rare).bounds(alpha)
    assert low <= 1 - alpha * 26 / 17 <= high + 7.3e-6 < low + 1.73e-5


@pytest.mark.parametrize(("mass", "n"), [(1e-170, 1), (1e-60, 3), (1e-250, 1), (1e-20, 20)])
def test_compose_error_is_relative_to_mass(mass, n):
    index, window = np.arange(8), Window(0, 64, (1.0, 1.0))
    whole, tiny = (
        compose([TiltedFactor(index, 0.0, n, 0.0, vector, vector, 0.0, 0.0)], [vector], 1.0, window).error
        for vector in (np.full(8, 1 / 8), np.full(8, mass / 8))
    )
    assert tiny >= whole * mass**n / 2
    assert mass**n > 1e-260 or tiny == math.inf


@pytest.mark.parametrize(
    ("sigma", "rate", "x", "truth"),
    [  # in balls: the delta of one step integrated over the outcomes of the other; all to the last digit
        *((1.0, 1e-5, 3e-4, "7.694974064336739052e-9"), (1.3, 2.6e-4, 9e-3, "7.486362749451184452e-10")),
        *((1.0, 1e-5, 3.0, "1.7644381940435076577e-50"), (0.6, 1e-3, 0.5, "7.310586103525399756e-7")),
        # The other order, whose losses end at -log(1 - rate), twice.
        (1.0, 1e-5, -1.5000075000500006e-05, "8.788953999185172302e-8"),
        (1.3, 2.6e-4, -0.000390050708789714, "3.2061029794212493746e-7"),
        (0.6, 1e-3, -0.0015007505003753001, "8.821635939339235943e-5"),
    ],
)
def test_delta_of_two_rare_steps_is_enclosed(sigma, rate, x, truth):
    step = to.subsample(to.Gaussian(1 / sigma), rate)
    low, high = ((~step if x < 0 else step) ** 2).bounds.delta(abs(x))
    assert low / (1 + mp.mpf(10) ** -15) <= mp.mpf(truth) <= high / (1 - mp.mpf(10) ** -15)
    assert high - low < (1e-4 if x < 0 else 1e-8) * float(truth)


def test_rare_steps_are_narrow_near_total_variation():
    low, high = ((~to.subsample(to.Gaussian(2.5), 1e-4)) ** 2).bounds.epsilon(2.021602611950879e-4)
    assert low - 1e-15 <= -6.5e-5 <= high + 1e-15 <= low + 1e-7  # as above, to 40 digits
    assert np.all((to.subsample(to.Gaussian(1.7), 0.0019) ** 5).bounds([0.002, 0.0068, 0.03]).width < 1e-6)


@pytest.mark.parametrize("n", [3, 33, 200])
def test_cut_losses_agree_with_the_whole_lattice(n, monkeypatch):
    law, x = SubsampledPLD(GaussianLaw(1.4), 3e-4), np.array([0.09, 0.1, 0.11])
    cut = Direction([law], [n], reverse=False).at(0.1, Effort(1e-5, 2**18))
    assert choose_edge([law], [n], Direction([law], [n], reverse=False).cumulant, 0.1) is not None
    monkeypatch.setattr("tradeoff.accounting.lattice.engine.choose_edge", lambda *_: None)
    whole = Direction([law], [n], reverse=False).at(0.1, Effort(1e-5, 2**18))
    (low, high), (least, most) = cut.bound(x), whole.bound(x)
    assert np.all((low <= most) & (least <= high) & (high - low < 1e-4 * high))


@pytest.mark.parametrize("law", [SubsampledPLD(GaussianLaw(1.0), 0.1), ReversedPLD(GaussianLaw(0.5))])
def test_cells_of_a_truncated_law_are_those_inside(law):
    edges = np.linspace(-0.3, 0.6, 10)
    ends, cut = np.array([-0.3, 0.45]), TruncatedPLD(law, 0.45)
    cells = cut.cells(edges)
    expected = masses(law.cells(ends), ends)
    for mine, whole in zip(masses(cells, edges), expected, strict=True):
        assert mine.sum() == pytest.approx(whole[0], rel=1e-10)
    np.testing.assert_array_equal(cells.excess[:7], law.cells(edges[:8]).excess)


class _Losses:
    """Atoms as a law that its cells alone describe."""

    def __init__(self, loss, p):
        self.loss, self.p, self.q, self.ends = loss, p, p * np.exp(loss), Ends(*loss[[0, 0, -1, -1]])

    def cells(self, edges):
        inside = (self.loss > edges[0]) & (self.loss < edges[1])
        p, q = self.p[inside].sum(), self.q[inside].sum()
        return Cells(*(np.array([x]) for x in (q - np.exp(edges[0]) * p, p - np.exp(-edges[1]) * q, 1e-15)))


@pytest.mark.parametrize("h", [0.25, 3.0])
def test_far_losses_count_those_below_the_first_node(h):
    """Half the mass is at -3.9, below the first node -1: with a loss of 4.1 it adds up to less than x."""
    x, edge, rare = 1.0, 4.0, (1 - math.exp(-3.9)) / 2 / math.expm1(4.1)
    law = _Losses(np.array([-3.9, 0.0, 4.1]), np.array([0.5, 0.5 - rare, rare]))
    assert law.q.sum() == pytest.approx(1, abs=1e-15)
    at = np.linspace(0.2, 3.0, 15)
    p, q = np.outer(law.p, law.p).ravel(), np.outer(law.q, law.q).ravel()
    gains = np.maximum(q - np.exp(at)[:, None] * p, 0)
    near = np.isin(np.arange(9), [0, 1, 3, 4])
    # What is left of the mass at -3.9, and the mass at 0 by its two nodes, as cells are spread.
    upwards = (0.5 - rare) * math.expm1(1.0) / math.expm1(h) if h == 3.0 else 0.5 - rare
    over = np.array([0.5 * math.exp(-2.9) + 0.5 - rare - upwards, upwards])
    factor = TiltedFactor(np.array([0, 1 if h == 3.0 else 4]), -1.0, 2, 0.0, over, over, 0.0, 0.0)
    table = ProfileTable(at, gains[:, near].sum(axis=1), at, gains[:, near].sum(axis=1))
    result = add_far_losses(table, [law], [factor], SimpleNamespace(h=h, theta=0.0), edge, x)
    truth = np.interp(result.above, at, gains.sum(axis=1))
    assert np.all((result.lower <= truth + 1e-12) & (truth <= result.upper + 1e-12))
