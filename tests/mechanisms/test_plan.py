import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass

import pytest

import tradeoff as to
from tradeoff import mechanisms as m
from tradeoff.errors import DomainError, KindError, PlanError

STEP = m.SubsampledGaussian(noise_multiplier=1, sample_rate=0.01)


@dataclass(frozen=True)
class Lopsided(m.Mechanism):
    """Noise that is not symmetric, with a sign that each release may turn."""

    kind = "lopsided"
    order = "free"

    def curve(self):
        return to.PiecewiseLinear([0, 0.3, 1], [0.9, 0.35, 0])


def test_nothing_composed_is_perfect_privacy():
    assert to.Plan({}).guarantee() == to.Identity()
    assert to.Plan({m.Laplace(scale=1): 0}).guarantee() == to.Identity()


def test_symmetric_plans_are_plain_products():
    plan = to.Plan({m.Gaussian(noise_multiplier=4): 16, m.Laplace(scale=10): 3})
    assert plan.guarantee() == to.Gaussian(1) @ to.Laplace(0.1) ** 3


def test_plans_are_values():
    one = to.Plan({m.Laplace(scale=1): 2, m.PureDP(epsilon=1): 3})
    other = to.Plan({m.PureDP(epsilon=1.0): 3, m.Laplace(scale=1.0): 2})
    assert one == other
    assert hash(one) == hash(other)
    assert one != to.Plan({m.Laplace(scale=1): 2, m.PureDP(epsilon=1): 3}, adjacency="replace-one")
    with pytest.raises(FrozenInstanceError):
        one.adjacency = "replace-one"
    with pytest.raises(TypeError):
        one.mechanisms[m.Laplace(scale=1)] = 5


def test_a_plan_does_not_follow_later_changes_of_its_argument():
    counts = {m.Laplace(scale=1): 2}
    plan = to.Plan(counts)
    counts[m.Laplace(scale=1)] = 200
    assert plan.mechanisms[m.Laplace(scale=1)] == 2


def test_tied_orders_are_composed_in_one_order_and_enveloped_once():
    plan = to.Plan({STEP: 1000})
    curve, guarantee = plan.curve(), plan.guarantee()
    assert not curve.symmetric
    assert guarantee.symmetric
    for delta, remove, add in (
        (1e-3, 1.16251231986216, 0.9731422674706792),
        (1e-5, 1.828236666516575, 1.4166619480361757),
    ):
        assert remove in curve.bounds.epsilon(delta)
        assert add in (~curve).bounds.epsilon(delta)
        assert remove in guarantee.bounds.epsilon(delta)


def test_the_guarantee_lies_below_both_orders():
    plan = to.Plan({m.SubsampledGaussian(noise_multiplier=0.7, sample_rate=0.2): 1})
    curve, guarantee = plan.curve(), plan.guarantee()
    for alpha in (0.001, 0.05, 0.3, 0.6):
        assert guarantee.bounds(alpha).lower <= min(curve.bounds(alpha).upper, (~curve).bounds(alpha).upper)


def test_free_orders_enter_as_their_own_envelope():
    # f (x) f^-1 occurs, and the envelope of f (x) f does not cover it.
    plan = to.Plan({Lopsided(): 2})
    envelope = Lopsided().curve().symmetrise(assume="either-order")
    assert plan.curve().symmetric
    assert plan.guarantee() == envelope**2
    mixed = Lopsided().curve() @ ~Lopsided().curve()
    for alpha in (0.05, 0.2, 0.5):
        assert plan.guarantee()(alpha) <= mixed.bounds(alpha).upper


@pytest.mark.parametrize("n", [-1, 2.5, "3", True, None])
def test_counts_are_whole_numbers_from_0(n):
    with pytest.raises(DomainError, match=r"count of Laplace"):
        to.Plan({m.Laplace(scale=1): n})


def test_a_sampled_mechanism_refuses_other_neighbours():
    with pytest.raises(PlanError, match=r"stated for add-remove neighbours, and the plan for replace-one"):
        to.Plan({STEP: 1, m.Laplace(scale=1): 1}, adjacency="replace-one")


def test_unknown_neighbours():
    with pytest.raises(
        PlanError, match=r"adjacency must be one of 'add-remove', 'replace-one', got 'bounded'"
    ):
        to.Plan({}, adjacency="bounded")


@pytest.mark.parametrize(
    ("curve", "advice"),
    [
        (to.Gaussian(0.5), r"write tradeoff\.mechanisms\.Gaussian\(noise_multiplier=2\)"),
        (to.Laplace(0.1), r"write tradeoff\.mechanisms\.Laplace\(scale=10\)"),
        (to.PureDP(0.3), r"write tradeoff\.mechanisms\.PureDP\(epsilon=0\.3\)"),
        (to.Gaussian(1) @ to.Laplace(1), r"compose curves with @"),
    ],
)
def test_a_curve_where_a_mechanism_is_wanted(curve, advice):
    with pytest.raises(KindError, match=advice):
        to.Plan({curve: 3})


@pytest.mark.parametrize("key", ["laplace", 3, m.Laplace])
def test_anything_else_where_a_mechanism_is_wanted(key):
    with pytest.raises(KindError, match=r"must be one of tradeoff\.mechanisms"):
        to.Plan({key: 3})


def test_a_list_where_a_mapping_is_wanted():
    with pytest.raises(KindError, match=r"mapping"):
        to.Plan([m.Laplace(scale=1)])


def test_plans_are_joined_where_their_neighbours_agree():
    step, noise = m.SubsampledGaussian(noise_multiplier=1, sample_rate=0.1), m.Laplace(scale=3)
    assert to.Plan({step: 3}) @ to.Plan({noise: 1, step: 2}) == to.Plan({step: 5, noise: 1})
    with pytest.raises(PlanError, match="must have one adjacency"):
        to.Plan({noise: 1}) @ to.Plan({noise: 1}, adjacency="replace-one")
    with pytest.raises(KindError, match="must be a Plan"):
        to.Plan({noise: 1}) @ noise.curve()


@pytest.mark.parametrize(
    "described",
    [m.Laplace(scale=1), STEP, to.Plan({}), to.Plan({STEP: 1})],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("name", ["epsilon", "delta", "gdp", "bounds", "group", "law"])
def test_attribute_of_a_curve_names_the_guarantee(described, name):
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'; use \.guarantee\(\)\.{name}$"):
        getattr(described, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'foo'$"):
        described.foo  # noqa: B018 - the access is what is tested
    assert copy.deepcopy(described) == pickle.loads(pickle.dumps(described)) == described


@pytest.mark.parametrize("n", [14062.5, 1e13, 10**13, -1], ids=["half", "float", "integer", "negative"])
def test_bad_counts_are_short_sentences(n):
    with pytest.raises(DomainError, match="the count of Gaussian") as error:
        to.Plan({m.Gaussian(1.0): n})
    assert str(error.value).endswith(f" must be an integer from 0 to {10**12}, got {n}")
