import json
from dataclasses import dataclass
from inspect import getattr_static, signature
from types import SimpleNamespace

import pytest

import tradeoff as to
from tradeoff.errors import DomainError, MissingExtraError
from tradeoff.interop.flower import Accountant

POISSON = "poisson", "add-or-remove-one"
REPLACED = "without-replacement", "replace-one"
PLAIN = "no-amplification", "add-or-remove-one"


@dataclass(frozen=True)
class Config:
    """The fields of flwr 1.42."""

    target_delta: float
    population_size: int
    neighboring_relation: str
    sampling_method: str
    max_epsilon: float | None = None


@dataclass(frozen=True)
class Event:
    noise_multiplier: float
    sample_size: int
    population_size: int


def parameters(kind):
    """Return the parameters of each public method, None for a property."""
    public = {name: getattr_static(kind, name) for name in vars(kind) if not name.startswith("_")}
    return {
        name: None if isinstance(each, property) else (*signature(each).parameters,)[1:]
        for name, each in public.items()
    }


COPIED = {
    **dict.fromkeys(("config", "num_releases")),
    "compose": ("event", "count"),
    "get_epsilon": ("delta",),
    "get_delta": ("epsilon",),
    "get_privacy_spent": ("delta",),
    "would_exceed": ("event", "max_epsilon", "count"),
    "state_dict": (),
    "load_state_dict": ("state",),
}
"""Those of ``flwr.serverapp.PrivacyAccountant`` in flwr 1.42."""


@pytest.fixture(params=["copied", "flwr"])
def flower(request):
    if request.param == "copied":
        return SimpleNamespace(PrivacyConfig=Config, GaussianPrivacyEvent=Event, protocol=COPIED)
    module = pytest.importorskip("flwr.serverapp", reason="Flower is not installed: pip install 'flwr>=1.42'")
    module.protocol = parameters(module.PrivacyAccountant)
    return module


def accountant(flower, model=POISSON, most=None, records=1000):
    relation, method = model[1], model[0]
    if flower.PrivacyConfig is not Config:
        relation, method = flower.NeighboringRelation(relation), flower.SamplingMethod(method)
    return Accountant(flower.PrivacyConfig(1e-5, records, relation, method, most))


def test_accountant_has_the_protocol_and_loads_from_json_but_no_other_state(flower):
    assert flower.protocol.items() <= parameters(Accountant).items()
    result, other = accountant(flower), accountant(flower)
    result.compose(flower.GaussianPrivacyEvent(1.1, 10, 1000), 7)
    result.compose(flower.GaussianPrivacyEvent(0.9, 20, 1000))
    other.load_state_dict(json.loads(json.dumps(result.state_dict())))
    assert other.num_releases == 8
    assert other.guarantee() == result.guarantee()
    result = accountant(flower)
    releases = {"sample_size": [1.0, 2000, 1], "state must be": [1.0, 20], "noise_multiplier": [0.0, 20, 1]}
    wrong = {"'backend'": {"backend": "rdp"}, "'config'": {"config": {}}}
    for message, change in (wrong | {key: {"releases": [each]} for key, each in releases.items()}).items():
        with pytest.raises(DomainError, match=message):
            result.load_state_dict(result.state_dict() | change)


@pytest.mark.parametrize(
    ("model", "mechanism"),
    [
        (POISSON, to.mechanisms.SubsampledGaussian(1.5, 0.01)),
        (PLAIN, to.mechanisms.Gaussian(noise_multiplier=1.5)),
        (REPLACED, to.mechanisms.SubsampledGaussian(1.5, 0.01, scheme="without-replacement")),
    ],
)
def test_accountant_composes_as_a_plan_does(flower, model, mechanism):
    result = accountant(flower, model)
    result.compose(flower.GaussianPrivacyEvent(1.5, 10, 1000), 20)
    result.compose(flower.GaussianPrivacyEvent(1.5, 10, 1000))
    plan = to.Plan({mechanism: 21}, "replace-one" if model is REPLACED else "add-remove")
    assert (result.num_releases, result.plan) == (21, plan)
    assert result.get_epsilon(1e-5) == plan.guarantee().epsilon(1e-5)
    assert result.get_delta(0.5) == plan.guarantee().delta(0.5)


def test_would_exceed_records_nothing_and_bad_arguments_raise(flower):
    result, event = accountant(flower, most=1.0), flower.GaussianPrivacyEvent(1.0, 10, 1000)
    counts = [n for n in (1, 100, 500, 2000) if not result.would_exceed(event, count=n)]
    assert result.num_releases == 0
    result.compose(event, counts[-1])
    assert result.get_epsilon(1e-5) <= 1.0
    assert result.would_exceed(event, count=2000)
    assert not result.would_exceed(event, max_epsilon=20.0, count=2000)
    with pytest.raises(DomainError, match="max_epsilon must be a number"):
        accountant(flower).would_exceed(event)
    event = flower.GaussianPrivacyEvent
    compose, tied = accountant(flower).compose, Config(1e-5, 10, "replace-one", "poisson")
    for call, message in (
        (lambda: compose(3), "event must be a GaussianPrivacyEvent"),
        (lambda: compose(event(1.0, 10, 999)), "population_size must be 1000"),
        (lambda: compose(event(1.0, 10, 1000), 0), "count must be"),
        (lambda: Accountant(3), "it has no target_delta"),
        (lambda: Accountant(tied), "poisson with replace-one"),
    ):
        with pytest.raises(DomainError, match=message):
            call()


def test_privacy_spent_is_that_of_flower(flower):
    result = accountant(flower, PLAIN, most=3.0)
    result.compose(flower.GaussianPrivacyEvent(4.0, 10, 1000), 3)
    if flower.PrivacyConfig is Config:
        try:
            import flwr.serverapp  # noqa: F401 - where it is installed, the other parameter tests it
        except ImportError:
            with pytest.raises(MissingExtraError, match="Flower"):
                result.get_privacy_spent()
        return
    spent = result.get_privacy_spent()
    assert (spent.epsilon, spent.delta, spent.num_releases) == (result.get_epsilon(1e-5), 1e-5, 3)
    strategy = flower.strategy.DifferentialPrivacyServerSideFixedClipping(
        flower.strategy.FedAvg(), 4.0, 1.0, 10, accountant=result
    )
    assert strategy.privacy_spent() == spent
