"""Operators where their formulas cancel, end or overflow, and where what they are given is no curve."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import vertices
from tradeoff.errors import DomainError, KindError, SymbolError

DIGITS = 180
EXACT = mp.mpf(10) ** -40


def laplace_profile(theta: float, loss: mp.mpf) -> mp.mpf:
    """Profile of Laplace noise by its formula: 1 - e^((eps - theta)/2) between -theta and theta."""
    if loss >= theta:
        return mp.mpf(0)
    return 1 - mp.exp(loss) if loss <= -theta else 1 - mp.exp((loss - theta) / 2)


def thinned_profile(theta: float, p: float, loss: mp.mpf) -> mp.mpf:
    """Profile of p f + (1 - p) Id for Laplace noise."""
    rate = mp.mpf(p)
    ratio = (mp.exp(loss) - 1 + rate) / rate
    return rate * laplace_profile(theta, mp.log(ratio)) if ratio > 0 else 1 - mp.exp(loss)


def other_order(theta: float, p: float, loss: mp.mpf) -> mp.mpf:
    """Profile of the inverse."""
    return 1 - mp.exp(loss) * (1 - thinned_profile(theta, p, -loss))


RATES = st.one_of(st.floats(-300, -0.1).map(lambda x: 10**x), st.floats(-15, -0.5).map(lambda x: 1 - 10**x))
SHIFTS = st.floats(0.05, 45)


@given(theta=SHIFTS, p=RATES, at=st.floats(-1, 1))
def test_subsampled_profiles_hold_the_truth_at_any_rate(theta: float, p: float, at: float) -> None:
    f = to.subsample(to.Laplace(theta), p)
    losses = [at * theta, at * p, at * abs(float(np.log1p(-p)))]
    with mp.workdps(DIGITS):
        for curve, truth in ((f, thinned_profile), (~f, other_order)):
            low, high = curve.bounds.delta(losses)
            for loss, a, b in zip(losses, low, high, strict=True):
                exact = truth(theta, p, mp.mpf(loss))
                assert (
                    mp.mpf(a) * (1 - EXACT) - mp.mpf(10) ** -100
                    <= exact
                    <= mp.mpf(b) * (1 + EXACT) + mp.mpf(10) ** -100
                )


@given(theta=SHIFTS, p=RATES)
def test_no_subsampled_loss_is_above_the_largest(theta: float, p: float) -> None:
    f = to.subsample(to.Laplace(theta), p)
    with mp.workdps(DIGITS):
        for curve, truth in ((f, thinned_profile), (~f, other_order)):
            assert truth(theta, p, mp.mpf(curve.epsilon(0.0))) < mp.mpf(10) ** -100


@pytest.mark.slow
@given(
    theta=SHIFTS, p=RATES, delta=st.one_of(st.floats(1e-12, 0.9), st.floats(-14, -1).map(lambda x: 1 - 10**x))
)
def test_subsampled_epsilon_holds_the_truth_at_any_rate(theta: float, p: float, delta: float) -> None:
    f = to.subsample(to.Laplace(theta), p)
    with mp.workdps(DIGITS):
        for curve, truth in ((f, thinned_profile), (~f, other_order)):
            assert truth(theta, p, mp.mpf(curve.epsilon(delta))) <= mp.mpf(delta) * (1 + EXACT)


def test_other_order_near_rate_one_keeps_its_largest_loss() -> None:
    # 1 - p + p e^-theta was once formed as 1 + p (e^-theta - 1): 24.842067 where 24.842173 is true.
    p, theta = 0.9999999999999983, 24.842173007081975
    with mp.workdps(40):
        truth = -mp.log(1 - mp.mpf(p) + mp.mpf(p) * mp.exp(-mp.mpf(theta)))
    assert (~to.subsample(to.Laplace(theta), p)).epsilon(0.0) == pytest.approx(float(truth), rel=1e-12)


def test_profile_hypothesis_keeps_the_mass_at_infinity() -> None:
    f = to.subsample(to.approximate_dp(1.0, 0.1), 0.5)  # Q(L = inf) = 0.05, P(L = -inf) = 0
    g = f.symmetrise(assume="profile")
    assert g.delta(np.inf) >= 0.05
    assert g.epsilon(0.01) == np.inf
    assert g(0.0) <= 0.95


def test_profile_hypothesis_knows_its_largest_loss() -> None:
    g = to.subsample(to.PureDP(1.0), 0.5).symmetrise(assume="profile")
    low, high = g.bounds.epsilon(0.0)
    assert low - 1e-12 <= np.log1p(0.5 * np.expm1(1.0)) <= high


def test_groups_of_groups_are_limited_together() -> None:
    with pytest.raises(DomainError, match="100000000"):
        to.maximum(to.PureDP(0.01), to.Gaussian(0.01)).group(10_000).group(10_000)


def test_curves_below_the_failure_at_once_are_dominated() -> None:
    assert to.PureDP(1e-12).dominates(to.Gaussian(1.0), failure=1e-10)


def test_an_end_that_is_proved_alone_stays_proved_among_other_nodes() -> None:
    """The engine's bound at the last node is wider by a rounding after other questions, profiles apart."""
    f = to.subsample(to.Gaussian(1.0), 0.01) ** 1000
    assert f.gdp(failure=1e-6).mu < 0.5
    assert f.dominates(to.Gaussian(1.0), failure=1e-6)


@pytest.mark.parametrize("under", ["P", "Q"])
@pytest.mark.parametrize(
    "curve",
    [
        to.Gaussian(1.0),
        to.approximate_dp(1.0, 0.1),
        to.Laplace(0.5) ** 3,
        to.TotalVariation(1.0),
        to.PureDP(0.5).group(3),
        to.Identity(),
    ],
    ids=repr,
)
def test_distribution_functions_anywhere(curve: to.TradeOff, under: str) -> None:
    law = curve.law
    low, high = law.cdf([-np.inf, -1000.0, -0.3, 0.0, 0.3, 1000.0, np.inf], under=under)
    assert np.all(low <= high)
    assert low[-1] == high[-1] == 1
    assert low[0] <= (curve.mass_at_minus_infinity if under == "P" else 0.0) <= high[0]
    assert law.cdf(np.zeros((2, 3)), under=under).lower.shape == (2, 3)
    assert law.cdf([], under=under).upper.shape == (0,)
    with pytest.raises(DomainError, match="NaN"):
        law.cdf([0.0, np.nan], under=under)


@pytest.mark.slow
def test_distribution_function_between_two_curves_holds_the_truth() -> None:
    # 1 - f is steep up to the kink: three steps of it have losses 1.5, 0.5, -0.5 and -1.5.
    law, kink = to.PureDP(0.5).group(3).law, 1 / (1 + np.exp(0.5))
    low, high = law.cdf([-1.0, 0.0, 1.0])
    truth = 1 - kink * np.exp([0.0, -0.5, -1.0])
    assert np.all((low <= truth) & (truth <= high))
    assert np.all(high - low < 0.02)


def test_quantiles_and_samples_at_infinite_losses() -> None:
    law = to.approximate_dp(1.0, 0.1).law
    assert law.quantile(0.05) == -np.inf
    assert law.quantile(0.95, under="Q") == np.inf
    assert np.all(to.TotalVariation(1.0).law.sample(3, np.random.default_rng(0)) == -np.inf)
    with pytest.raises(DomainError, match="no finite loss"):
        to.TotalVariation(1.0).law.mean()


def test_conjugate_at_the_ends() -> None:
    dual = to.approximate_dp(1.0, 0.1).dual()
    assert list(dual.conjugate([-np.inf, 0.0, 2.0, np.inf])) == pytest.approx([-0.9, 0.0, 2.0, np.inf])
    assert dual.conjugate(np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(DomainError, match="NaN"):
        dual.conjugate([0.0, np.nan])


NO_CURVES = [to.mechanisms.Laplace(scale=1.0), to.limits.clt(to.Gaussian(1.0)), None, 0.5]


@pytest.mark.parametrize("thing", NO_CURVES, ids=repr)
def test_operators_take_curves_only(thing: object) -> None:
    g = to.Gaussian(1.0)
    for operator in (
        lambda: to.maximum(g, thing),
        lambda: to.minimum(g, thing),
        lambda: to.distance(g, thing),
        lambda: to.distance(thing, g),
        lambda: to.subsample(thing, 0.1),
        lambda: to.mixture({thing: 0.5, g: 0.5}),
        lambda: to.mixture({thing: 1.0}),
    ):
        with pytest.raises(KindError):
            operator()


@pytest.mark.parametrize(
    ("make", "remedy"),
    [
        (
            lambda: to.mechanisms.Laplace(scale=1.0),
            r"is a mechanism,.*write Laplace\(\.\.\.\)\.guarantee\(\)",
        ),
        (lambda: to.Laplace(1.0).gdp(), r"is a Reduction,.*write Reduction\(\.\.\.\)\.curve$"),
        (
            lambda: to.mechanisms.Plan({to.mechanisms.Laplace(scale=1.0): 2}),
            r"is a Plan,.*write Plan\(\.\.\.\)\.guarantee\(\)",
        ),
        (
            lambda: to.limits.berry_esseen(to.Laplace(0.1) ** 400),
            r"is a BerryEsseen,.*write BerryEsseen\(\.\.\.\)\.guarantee$",
        ),
        (lambda: to.limits.clt(to.Laplace(0.1) ** 400), "estimate"),
        (lambda: 0.5, r"0\.5 is not a trade-off function"),
    ],
    ids=["mechanism", "reduction", "plan", "limit", "estimate", "number"],
)
def test_what_leads_to_a_curve_is_told_how(make: Callable[[], object], remedy: str) -> None:
    thing = make()
    for operator in (
        lambda: to.Gaussian(1.0) @ thing,
        lambda: to.Gaussian(1.0) >= thing,
        lambda: to.subsample(thing, 0.1),
    ):
        with pytest.raises(KindError, match=remedy):
            operator()


def test_mixtures_ask_for_a_mapping_of_numbers() -> None:
    with pytest.raises(KindError, match="mapping"):
        to.mixture([(to.Gaussian(1.0), 1.0)])
    with pytest.raises(SymbolError):
        to.mixture({to.Gaussian(1.0): sympy.Symbol("w")})


def test_weights_short_of_one_are_not_lost() -> None:
    f = to.mixture({to.PureDP(1.0): 0.5 - 4e-13, to.PureDP(2.0): 0.5 - 4e-13})
    assert f.delta(-800.0) == 1


def test_equal_curves_are_at_distance_zero() -> None:
    assert to.Gaussian(1.0).distance(to.Gaussian(1.0)).upper == 0


def test_sampling_rates_of_other_kinds() -> None:
    exact = to.PiecewiseLinear([0, 1], [1, 0])
    assert to.subsample(to.Gaussian(1.0), np.float32(0.25)) == to.subsample(to.Gaussian(1.0), 0.25)
    assert to.subsample(exact, np.float32(0.25))(0.5) == pytest.approx(0.5)
    assert to.subsample(to.Gaussian(1.0), sympy.Symbol("p", positive=True)).free_symbols


@pytest.mark.slow
@pytest.mark.parametrize("n", [312, 10**6, 10**9])
def test_great_powers_of_exact_curves_stay_symbolic(n: int) -> None:
    f = to.PiecewiseLinear([0, Fraction(1, 4), 1], [1, Fraction(1, 4), 0]) ** n
    assert 0 <= f(0.1) <= 1e-60
    assert f.delta(0.5) == pytest.approx(1)


@given(vertices(most=3), st.integers(1, 4), st.floats(0.0, 1.0))
def test_groups_of_float_curves_hold_the_exact_ones(
    points: tuple[list[Fraction], list[Fraction]], k: int, alpha: float
) -> None:
    exact = to.maximum(f := to.PiecewiseLinear(*points), f.inverse())
    near = exact.floats()  # of other vertices than the exact one, where floats do not hold them
    result = near.group(k).bounds(alpha)
    assert result.lower <= near.rational().group(k).at(Fraction(alpha)) <= result.upper


@pytest.mark.slow
def test_whole_curves_answer_for_groups_and_maxima_of_compositions() -> None:
    """delta from whole curves, against beta at many alphas: f falls, so each cell is known from its ends."""
    f, alpha = to.Laplace(0.5) ** 3 @ to.Gaussian(0.5), np.linspace(0.0, 0.3, 61)
    for g in (f.group(2), to.maximum(f, to.Gaussian(1.3))):
        result, beta = g.bounds.delta(1.0), g.bounds(alpha)
        assert result.upper >= np.max(1 - beta.upper - np.e * alpha)
        assert result.lower <= np.max(1 - beta.lower[1:] - np.e * alpha[:-1])
        assert result.width < 1e-2 * result.upper


def test_operators_on_products_compose() -> None:
    """By whole curves, which hold a product that has a closed form; exactly where the product only leaks."""
    known, by_curves = (
        to.subsample(base, 0.1) ** 20
        for base in (
            to.Gaussian(1.0),
            to.Gaussian(0.6) @ (to.Gaussian(0.4) @ to.Gaussian(0.48**0.5) @ to.Laplace(1e-9)),
        )
    )
    for question, at in (("delta", 0.5), ("epsilon", 1e-3), ("__call__", 0.1)):
        narrow, wide = getattr(known.bounds, question)(at), getattr(by_curves.bounds, question)(at)
        assert wide.lower <= narrow.upper
        assert narrow.lower <= wide.upper + 1e-8  # the Laplace factor loses that much
        assert wide.width < 1e-2
    leaking = to.subsample(to.approximate_dp(0.1, 1e-3), 0.1) ** 5
    lost = 1 - (1 - 1e-4) ** 5
    assert leaking.mass_at_plus_infinity == pytest.approx(lost)
    assert leaking.bounds.delta(0.06).width < 1e-12
    assert leaking.delta(1.0) == pytest.approx(lost)


RATES = st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=30)


@given(RATES)
def test_many_samples_of_samples_keep_the_exact_rate(rates: list[float]) -> None:
    curve, rate = to.TotalVariation(0.5), Fraction(1)
    for p in rates:
        curve, rate = to.subsample(curve, p), rate * Fraction(p)
    for low, high in (curve.bounds.delta(1.0), curve.mass_at_infinity):
        assert Fraction(low) <= rate / 2 <= Fraction(high)
    assert curve.bounds(0.0).lower <= 1 - rate / 2 <= curve.bounds(0.0).upper


def test_the_order_of_rates_does_not_matter() -> None:
    def nested(*rates: float) -> to.TradeOff:
        curve: to.TradeOff = to.PureDP(1.0)
        for p in rates:
            curve = to.subsample(curve, p)
        return curve

    first, second = nested(0.9, 0.8, 0.7, 0.12, 0.81, 0.47), nested(0.9, 0.8, 0.7, 0.47, 0.81, 0.12)
    assert first >= second
    assert second >= first
    apart, other = first.bounds.epsilon(1e-5), nested(0.9, 0.8, 0.7, 0.12 * 0.81 * 0.47).bounds.epsilon(1e-5)
    assert apart.lower <= other.upper
    assert other.lower <= apart.upper
    many = (first**20).bounds.delta(0.5)
    assert (nested(0.023) ** 20).bounds.delta(0.5).lower < many.upper < (nested(0.02303) ** 20).delta(0.5)


def test_orders_that_alternate_take_no_longer() -> None:
    curve: to.TradeOff = to.PureDP(1.0)
    for _ in range(14):
        curve = ~to.subsample(curve, 0.9)
    result = curve.bounds.delta(0.1)
    assert 0 < result.lower <= result.upper <= result.lower * (1 + 1e-9)
