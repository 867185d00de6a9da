import math
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import exact_curves, log_uniform
from tradeoff.errors import DomainError, MissingExtraError, PlanError, TradeOffError
from tradeoff.interop import dp_accounting as interop
from tradeoff.mechanisms import (
    ApproximateDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    PureDP,
    RandomAllocation,
    SubsampledGaussian,
    SubsampledLaplace,
)

dp = pytest.importorskip("dp_accounting", reason="the extra [dp-accounting] is not installed")
e = dp.dp_event
PLD = dp.pld.privacy_loss_distribution
PMF = dp.pld.pld_pmf
ADD, REPLACE, ZERO = (getattr(dp.NeighboringRelation, name) for name in interop.RELATIONS)


def read(event, relation=ADD):
    """Return the plan of an event."""
    return interop.from_event(event, relation)


def sampled(inner, rate=0.1):
    return e.PoissonSampledDpEvent(rate, inner)


NOISE = e.GaussianDpEvent(2.0)
NESTED = e.ComposedDpEvent([e.GaussianDpEvent(5.0), e.LaplaceDpEvent(4.0), e.NoOpDpEvent()])
TEN = e.ComposedDpEvent([e.SelfComposedDpEvent(NESTED, 7), e.SelfComposedDpEvent(NESTED, 2), NESTED])


def event(name, *fields):
    """Return an event, or skip where this release of dp_accounting has none."""
    if not hasattr(e, name):
        pytest.skip(f"this dp_accounting has no {name}")
    return getattr(e, name)(*fields)


@pytest.mark.parametrize(
    ("given", "relation", "mechanisms"),
    [
        (e.NoOpDpEvent(), ADD, {}),
        (e.NonPrivateDpEvent(), ADD, {ApproximateDP(0, 1): 1}),
        (NOISE, ADD, {Gaussian(noise_multiplier=2.0): 1}),
        (NOISE, ZERO, {Gaussian(noise_multiplier=2.0): 1}),
        (NOISE, REPLACE, {Gaussian(noise_multiplier=1.0): 1}),
        (e.GaussianDpEvent(0.0), ADD, {ApproximateDP(0, 1): 1}),
        (e.GaussianDpEvent(math.inf), ADD, {Gaussian(noise_multiplier=math.inf): 1}),
        (e.LaplaceDpEvent(2.0), ADD, {Laplace(scale=2.0): 1}),
        (e.LaplaceDpEvent(2.0), REPLACE, {Laplace(scale=2.0, sensitivity=2.0): 1}),
        (e.DiscreteLaplaceDpEvent(0.5, 3), ADD, {DiscreteLaplace(2.0, 3): 1}),
        (e.DiscreteLaplaceDpEvent(0.0, 3), ADD, {ApproximateDP(0.0, 1.0): 1}),
        (e.DiscreteLaplaceDpEvent(0.0, 0), ADD, {}),
        (e.RandomizedResponseDpEvent(1.0, 4), REPLACE, {}),
        (e.RandomizedResponseDpEvent(0.3, 1), REPLACE, {}),
        (e.RandomizedResponseDpEvent(0.0, 4), REPLACE, {ApproximateDP(0, 1): 1}),
        (sampled(NOISE), ADD, {SubsampledGaussian(2.0, 0.1): 1}),
        (sampled(e.LaplaceDpEvent(2.0)), ZERO, {SubsampledLaplace(2.0, 0.1): 1}),
        (e.SelfComposedDpEvent(NOISE, 0), ADD, {}),
        (TEN, ADD, {Gaussian(noise_multiplier=5.0): 10, Laplace(scale=4.0): 10}),
        (e.SingleEpochTreeAggregationDpEvent(2.0, 1), ZERO, {Gaussian(noise_multiplier=2.0): 1}),
        (("EpsilonDeltaDpEvent", 1.0, 1e-6), ADD, {ApproximateDP(1.0, 1e-6): 1}),
        (("EpsilonDeltaDpEvent", math.inf, 0.0), ADD, {ApproximateDP(0, 1): 1}),
        (("DiscreteGaussianDpEvent", 3.0, 2.5, 1), ADD, {DiscreteGaussian(3.0, 2): 1}),
        (("DiscreteGaussianDpEvent", 3.0, 0.5, None), ADD, {}),
        (("ExponentialMechanismDpEvent", 0.5), ADD, {to.mechanisms.ExponentialMechanism(0.5): 1}),
        (("PermuteAndFlipDpEvent", 0.5), ADD, {to.mechanisms.PermuteAndFlip(0.5): 1}),
    ],
)
def test_from_event_returns_the_mechanism(given, relation, mechanisms):
    given = event(*given) if isinstance(given, tuple) else given
    assert read(given, relation).mechanisms == mechanisms
    assert read(given.to_named_tuple(), relation.name).mechanisms == mechanisms


def test_from_event_of_a_tree_counts_nodes_and_of_integers_the_worst_dimension():
    for steps, depth in ((2, 2), (3, 2), (7, 3), (8, 4), ([1, 8, 15], 4)):
        ((result, n),) = read(e.SingleEpochTreeAggregationDpEvent(2.0, steps), ZERO).mechanisms.items()
        assert n == 1
        assert result.noise_multiplier <= 2 / math.sqrt(depth) <= result.noise_multiplier * (1 + 1e-15)
    noise = (read(event("DiscreteGaussianDpEvent", 3.0, 2.0, d)).guarantee() for d in (1, None))
    line, any_number = (each.epsilon(1e-6) for each in noise)
    assert line <= any_number


@pytest.mark.parametrize("relation", [ADD, ZERO])
@pytest.mark.parametrize("own", [True, False], ids=["event of dp_accounting", "by name"])
def test_from_event_of_a_random_allocation(relation, own):
    """Releases after 0.6 have the event; its fields are read by name, in any release."""

    def allocated(inner, selected, steps):
        if own:
            return event("RandomAllocationDpEvent", inner, selected, steps)
        name, fields = "RandomAllocationDpEvent", {"num_selected": selected, "num_steps": steps}
        return SimpleNamespace(class_name=name, event=inner, **fields)

    step = e.GaussianDpEvent(2.0)
    cases = {(step, n, 100): {RandomAllocation(2.0, 100, n): 1} for n in (1, 3)}
    cases |= {(step, 0, 100): {}, (e.GaussianDpEvent(0.0), 1, 100): {ApproximateDP(0, 1): 1}}
    for fields, mechanisms in cases.items():
        assert read(allocated(*fields), relation).mechanisms == mechanisms
    sampled = read(e.PoissonSampledDpEvent(0.1, allocated(step, 1, 4)), relation)
    assert sampled.curve() == to.subsample(RandomAllocation(2.0, 4).curve(), 0.1)
    for wrong, where, message in (
        (allocated(e.LaplaceDpEvent(2.0), 1, 4), relation, "must contain one GaussianDpEvent"),
        (allocated(step, 5, 4), relation, "num_selected must be an integer from 0 to 4, got 5"),
        (allocated(step, 1, 4), REPLACE, "neighboring_relation must be ADD_OR_REMOVE_ONE or REPLACE_SPECIAL"),
    ):
        with pytest.raises(TradeOffError, match=message):
            read(wrong, where)


@pytest.mark.parametrize(
    ("given", "relation"),
    [
        (e.GaussianDpEvent(1.5), ADD),
        (e.GaussianDpEvent(1.5), REPLACE),
        (e.LaplaceDpEvent(2.0), ADD),
        (e.DiscreteLaplaceDpEvent(0.3, 2), ADD),
        (e.RandomizedResponseDpEvent(0.3, 4), REPLACE),
        (e.RandomizedResponseDpEvent(0.3, 4), ZERO),
        (sampled(e.GaussianDpEvent(1.0), 0.05), ADD),
        (sampled(e.GaussianDpEvent(1.0), 0.05), REPLACE),
        (e.SelfComposedDpEvent(sampled(e.LaplaceDpEvent(1.0), 0.05), 3), ZERO),
        pytest.param(
            e.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0, 2.0], [0.5, 0.3, 0.2]), ADD, marks=pytest.mark.slow
        ),
        (e.TruncatedSubsampledGaussianDpEvent(1000, 0.01, 15, 1.0), ADD),
    ],
    ids=lambda value: getattr(value, "name", type(value).__name__),
)
def test_from_event_agrees_with_the_accountant(given, relation):
    """Its distributions are pessimistic and its grid is 1e-3: it lies above ours by a step or two."""
    epsilon = read(given, relation).guarantee().bounds.epsilon(1e-4)
    accountant = dp.pld.PLDAccountant(relation, 1e-3)
    accountant.compose(given)
    theirs = accountant.get_epsilon(1e-4)
    truncated = isinstance(given, e.TruncatedSubsampledGaussianDpEvent)  # theirs is looser there
    assert epsilon.lower - 1e-9 <= theirs <= epsilon.upper + (0.1 if truncated else 2e-3)


def test_from_event_agrees_with_contours_closed_forms_and_pure_runs():
    """PLD-Accountant pins 19.0867528 for this; a contour integral in 22 digits gives 19.51387046."""
    step = e.SelfComposedDpEvent(sampled(NOISE, 0.01), 100_000)
    epsilon = read(step, REPLACE).guarantee().bounds.epsilon(1e-6)
    assert epsilon.lower <= 19.51387046139 + 1e-8
    assert epsilon.upper >= 19.51387046139 - 1e-8
    assert epsilon.width < 1e-6
    # The exact pair is a point against uniform on 3; the peer answers delta = 1.
    result = read(e.RandomizedResponseDpEvent(0.0, 3), ZERO).guarantee()
    assert result.bounds.delta(0.0).lower <= 2 / 3 <= result.delta(0.0) < 2 / 3 + 1e-14
    plan = read(e.RepeatAndSelectDpEvent(e.LaplaceDpEvent(10.0), 5.0, 1.0))
    assert plan.guarantee().epsilon(0.0) == pytest.approx(0.3)
    # Its own accountant has 0.8135 for the best of normal runs, by Rényi divergences; one run has 0.397.
    noisy = read(e.RepeatAndSelectDpEvent(e.GaussianDpEvent(10.0), 5.0, 1.0)).guarantee()
    assert noisy.epsilon(1e-6) == pytest.approx(0.5350637, abs=1e-7)


def test_from_event_of_samples_composes_inside_and_replaces_records():
    both = e.ComposedDpEvent([NOISE, e.GaussianDpEvent(4.0)])
    assert read(sampled(both)).curve() == to.subsample(to.Gaussian(0.5) @ to.Gaussian(0.25), 0.1)
    fixed = to.subsample(to.Gaussian(1), 0.1, scheme="without-replacement")
    assert read(e.SampledWithoutReplacementDpEvent(100, 10, NOISE), REPLACE).guarantee() == fixed
    drawn = read(e.SampledWithReplacementDpEvent(100, 10, NOISE), REPLACE).guarantee().epsilon(1e-5)
    assert fixed.epsilon(1e-5) < drawn < 5 * fixed.epsilon(1e-5)
    parts = e.ComposedDpEvent([e.SelfComposedDpEvent(e.ZCDpEvent(0.01), 10), e.ZCDpEvent(0.4)])
    added, whole = (read(each).guarantee().epsilon(1e-5) for each in (parts, e.ZCDpEvent(0.5)))
    assert added == pytest.approx(whole)  # rho adds before it is converted
    assert read(sampled(sampled(NOISE)), ZERO).mechanisms
    assert read(sampled(LOSS)).guarantee().epsilon(0) < 1


LOSS = SimpleNamespace(class_name="EpsilonDeltaDpEvent", epsilon=1.0, delta=0.0)
SHOWING = e.RandomizedResponseDpEvent(0.1, 2), LOSS, e.ComposedDpEvent([NOISE, LOSS]), sampled(LOSS)


@pytest.mark.parametrize(
    ("given", "relation", "message"),
    [
        (e.UnsupportedDpEvent(), ADD, "UnsupportedDpEvent"),
        (e.ComposedDpEvent([e.GaussianDpEvent(1.0), e.UnsupportedDpEvent()]), ADD, "UnsupportedDpEvent"),
        (3, ADD, "must be a DpEvent, got a int; use builder.build(), accountant.ledger"),
        (e.RandomizedResponseDpEvent(0.5, 3), ADD, "ADD_OR_REMOVE_ONE"),
        (e.SampledWithoutReplacementDpEvent(10, 2, e.GaussianDpEvent(1.0)), ADD, "ADD_OR_REMOVE_ONE"),
        (e.SingleEpochTreeAggregationDpEvent(1.0, 3), ADD, "ADD_OR_REMOVE_ONE"),
        (sampled(e.LaplaceDpEvent(1.0)), REPLACE, "REPLACE_ONE"),
        (e.GaussianDpEvent(1.0), "replace", "neighboring_relation must be one of ADD_OR_REMOVE_ONE"),
        (e.GaussianDpEvent(1.0), 2, "neighboring_relation must be one of ADD_OR_REMOVE_ONE"),
        (e.GaussianDpEvent(-1.0), ADD, "-1.0"),
        (e.GaussianDpEvent("1"), ADD, "'1'"),
        (e.SelfComposedDpEvent(e.GaussianDpEvent(1.0), 1.5), ADD, "1.5"),
        (sampled(e.GaussianDpEvent(1.0), 1.5), ADD, "1.5"),
        (e.RandomizedResponseDpEvent(0.5, 0), REPLACE, "0"),
        (e.DiscreteLaplaceDpEvent(-1.0, 1), ADD, "-1.0"),
        (e.SingleEpochTreeAggregationDpEvent(1.0, {1: 1000}), ZERO, "step_counts"),
        *((sampled(each), ZERO, "may show that a special record is there") for each in SHOWING),
        (sampled(e.TruncatedSubsampledGaussianDpEvent(10, 1.0, 1, 1.0)), ADD, "any number of records"),
    ],
)
def test_from_event_names_the_error(given, relation, message):
    with pytest.raises(TradeOffError) as error:
        interop.from_event(given, relation)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("curve", [to.Laplace(0.5), to.PureDP(1.0), ~to.subsample(to.PureDP(1.0), 0.1)])
@pytest.mark.parametrize("failure", [0.0, 1e-6])
def test_to_event_is_at_or_below_the_curve(curve, failure):
    try:
        result = interop.to_event(curve, failure=failure)
    except MissingExtraError:
        assert failure
        assert not hasattr(e, "EpsilonDeltaDpEvent")
        pytest.skip("this dp_accounting has no EpsilonDeltaDpEvent")
    back = interop.from_event(result).guarantee()
    alpha = np.array([0.0, 1e-9, 1e-3, 0.1, 0.5, 0.9, 1.0])
    for order in (curve, ~curve):
        assert (back(alpha) <= order.bounds(alpha).upper).all()


def test_to_event_and_to_pld_at_extremes_and_of_plans():
    assert interop.to_event(to.Identity(), failure=0) == e.NoOpDpEvent()
    assert interop.to_event(to.TotalVariation(0.5), failure=0) == e.NonPrivateDpEvent()
    assert interop.to_event(to.Gaussian(0.5), failure=0).noise_multiplier <= 2.0
    wrong = (to.Gaussian(1), 2, "failure"), (Gaussian(noise_multiplier=1.0), 0, "not a curve")
    for curve, failure, message in wrong:
        with pytest.raises(TradeOffError, match=message):
            interop.to_event(curve, failure=failure)
    for curve, epsilon in ((to.Identity(), 0), (to.TotalVariation(1), math.inf), (to.PureDP(800), math.inf)):
        assert interop.to_pld(curve, 0.5).get_epsilon_for_delta(1e-9) == pytest.approx(epsilon)
    steps = to.subsample(to.PureDP(1.0), 0.1) ** 20
    pld = interop.to_pld(steps, 1e-2)
    twice = pld.compose(pld)
    for order, pmf in ((steps, "_pmf_remove"), (~steps, "_pmf_add")):
        for epsilon in (0.0, 0.5, 1.0, 2.0):
            assert vars(pld)[pmf].get_delta_for_epsilon(epsilon) >= order.bounds.delta(epsilon).upper
            assert vars(twice)[pmf].get_delta_for_epsilon(epsilon) >= (order**2).bounds.delta(epsilon).lower
    # A leak of 1/10 and a loss above 690 nats: both are at infinity, and their sum is rounded up.
    leak = Fraction(1, 10)
    for far in (Fraction(k, 10**16) for k in range(1, 12)):
        curve = to.PiecewiseLinear([0, Fraction(1, 10**340), 1], [1 - leak, 1 - leak - far, 0])
        assert Fraction(interop.to_pld(curve)._pmf_remove._infinity_mass) >= leak + far


def delta_of(pmf, epsilon):
    """Return the value of a mass function at log of a fraction, from its floats in 50 digits."""
    state = vars(pmf.to_dense_pmf())
    with mpmath.workdps(50):
        s, total = mpmath.mpf(epsilon.numerator) / epsilon.denominator, mpmath.mpf(state["_infinity_mass"])
        for k, q in enumerate(state["_probs"].tolist()):
            loss = mpmath.mpf(state["_discretization"]) * (k + state["_lower_loss"])
            total += max(q * (1 - s * mpmath.exp(-loss)), 0) if q else 0
        return total


ratios = log_uniform(1e-3, 1e3).map(Fraction)


@settings(max_examples=40, deadline=None)
@given(exact_curves, st.sampled_from([0.5, 0.1, 0.03]), st.lists(ratios, min_size=1, max_size=4))
def test_to_pld_is_above_the_truth(curve, step, at):
    pld = interop.to_pld(curve, step)
    for order, pmf in ((curve, vars(pld)["_pmf_remove"]), (~curve, vars(pld)["_pmf_add"])):
        for s in at:
            truth = order.hockey_stick(s)
            result = delta_of(pmf, s)
            assert result >= mpmath.mpf(truth.numerator) / truth.denominator
            # An atom between two points may lie a step too high, and no farther.
            most = order.hockey_stick(s / Fraction(math.exp(step)))
            assert result <= (mpmath.mpf(most.numerator) / most.denominator) * (1 + 1e-11) + 1e-11


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(st.integers(-20, 20), log_uniform(1e-9, 1.0), min_size=1, max_size=8),
    st.sampled_from([0.0, 1e-6, 0.3]),
    st.lists(ratios.filter(lambda s: s >= 1), min_size=1, max_size=4),
)
def test_from_pld_has_the_profile_of_the_masses(masses, lost, at):
    """Losses k/4; the masses are scaled so that neither law has more than 1."""
    total = sum(q * max(1.0, math.exp(-k / 4)) for k, q in masses.items())
    kept = {k: q / total * (1 - lost) * (1 - 1e-12) for k, q in masses.items()}
    pmf = PMF.create_pmf(kept, 0.25, lost, True)
    result = interop.from_pld(PLD.PrivacyLossDistribution(pmf)).remove.rational()
    for s in at:
        truth, ours = delta_of(pmf, s), result.hockey_stick(s)
        with mpmath.workdps(40):
            assert mpmath.mpf(ours.numerator) / ours.denominator >= truth
        assert float(ours) <= float(truth) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(
    "curve", [to.PureDP(1.0), to.subsample(to.Laplace(1.0), 0.1), to.TotalVariation(0.25)]
)
def test_from_pld_of_to_pld_is_within_the_grid(curve):
    orders, alpha = interop.from_pld(interop.to_pld(curve, 1e-2)), np.linspace(0, 1, 21)
    result, both = orders.curve()(alpha), orders.guarantee()
    assert (result <= curve.bounds(alpha).upper).all()
    assert (result >= curve(alpha) - 1e-2).all()
    assert (result >= np.maximum(orders.remove(alpha), (~orders.add)(alpha)) - 1e-15).all()
    assert both.symmetric
    assert (both(alpha) <= np.minimum(curve.bounds(alpha).upper, (~curve).bounds(alpha).upper)).all()


def test_from_pld_reads_each_order_cuts_masses_and_refuses_all_but_upper_bounds():
    pld = PLD.from_gaussian_mechanism(1.0, value_discretization_interval=1e-2, sampling_prob=0.1)
    orders, truth = interop.from_pld(pld), to.subsample(to.Gaussian(1.0), 0.1)
    for result, order, pmf in ((orders.remove, truth, "_pmf_remove"), (orders.add, ~truth, "_pmf_add")):
        for epsilon in (0.0, 0.1, 0.5):
            theirs = vars(pld)[pmf].get_delta_for_epsilon(epsilon)
            assert result.delta(epsilon) == pytest.approx(theirs, rel=1e-9)
            # Their sum of floats is 8 units below the truth, 0.1 (2 Phi(1/2) - 1), at epsilon = 0.
            assert theirs * (1 + 1e-14) >= order.bounds.delta(epsilon).lower
    assert orders.remove.epsilon(1e-5) > orders.add.epsilon(1e-5)
    with pytest.raises(DomainError, match="optimistic"):
        interop.from_pld(PLD.from_laplace_mechanism(1.0, pessimistic_estimate=False))
    for wrong in (3, None, object(), e.NoOpDpEvent(), PMF.create_pmf({0: 1.0}, 0.1, 0.0, True)):
        with pytest.raises(DomainError, match="pld must be a PrivacyLossDistribution"):
            interop.from_pld(wrong)
    with pytest.raises(DomainError, match="must be probabilities"):
        interop.from_pld(PLD.PrivacyLossDistribution(PMF.create_pmf({0: math.nan}, 0.1, 0.0, True)))
    pmf = PMF.create_pmf({0: 1.0, 4: 0.5}, 0.25, 0.25, True)
    result = interop.from_pld(PLD.PrivacyLossDistribution(pmf)).remove
    assert result.delta(0.0) >= 0.25 + 0.5 * (1 - math.exp(-1))
    assert result(1.0) == 0.0


STEP = sampled(e.GaussianDpEvent(1.0), 0.01)


def test_accountant_composes_as_a_plan_does_calibrates_and_refuses_events():
    accountant = interop.Accountant()
    assert (accountant.get_epsilon(0.0), accountant.get_delta(0.0)) == (0.0, 0.0)
    accountant.compose(STEP, 1000).compose(dp.LaplaceDpEvent(20.0), 10)
    f = to.Plan({SubsampledGaussian(1, 0.01): 1000, Laplace(scale=20): 10}).guarantee()
    assert accountant.get_epsilon(1e-5) == f.epsilon(1e-5)
    assert accountant.get_delta(1.0) == f.delta(1.0)
    assert accountant.compose(STEP).get_epsilon(1e-5) > f.epsilon(1e-5)
    for relation, factor in ((REPLACE, 2), (ZERO, 1)):
        one = interop.Accountant(relation).compose(dp.GaussianDpEvent(4.0))
        assert one.guarantee() == to.Gaussian(factor / 4)
        assert repr(one) == f"Accountant({relation.name}, ledger=GaussianDpEvent(noise_multiplier=4.0))"
    ours = interop.Accountant().compose(STEP, 100).get_epsilon(1e-5)
    assert dp.pld.PLDAccountant().compose(STEP, 100).get_epsilon(1e-5) == pytest.approx(ours, rel=1e-3)

    def four(sigma):
        return dp.SelfComposedDpEvent(dp.GaussianDpEvent(sigma), 4)

    sigma = dp.calibrate_dp_mechanism(interop.Accountant, four, 1.0, 1e-5)
    assert to.Gaussian(2 / sigma).epsilon(1e-5) <= 1
    assert to.Gaussian(2.001 / sigma).epsilon(1e-5) > 1
    accountant = interop.Accountant()
    assert not accountant.supports(dp.UnsupportedDpEvent())
    with pytest.raises(dp.UnsupportedEventError, match="UnsupportedDpEvent"):
        accountant.compose(dp.UnsupportedDpEvent())


def test_from_event_reads_deep_nesting_a_builder_and_an_accountant():
    deep = NOISE
    for _ in range(5000):
        deep = e.SelfComposedDpEvent(deep, 1)
    assert read(deep).mechanisms == {Gaussian(noise_multiplier=2.0): 1}
    for _ in range(300):
        deep = sampled(deep, 0.5)
    with pytest.raises(PlanError, match="nest at most 50"):
        read(deep)
    builder, accountant = dp.DpEventBuilder(), dp.pld.PLDAccountant(REPLACE)
    builder.compose(NOISE, 3)
    accountant.compose(builder.build())
    assert read(builder) == read(builder.build())
    assert interop.from_event(accountant) == read(builder, REPLACE)  # its own relation


@pytest.mark.parametrize(
    ("curve", "step", "message"),
    [
        *((to.PureDP(1.0), step, "discretization") for step in (0.0, -1.0, math.nan, math.inf, "1", None)),
        (to.PureDP(1.0), 1e-9, "discretization must be at least"),
        (PureDP(1.0), 1e-3, "not a curve"),
    ],
)
def test_to_pld_refuses_other_steps_and_mechanisms(curve, step, message):
    with pytest.raises(TradeOffError if "curve" in message else DomainError, match=message):
        interop.to_pld(curve, step)
