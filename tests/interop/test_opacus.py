import copy
from types import SimpleNamespace

import pytest

import tradeoff as to
from tradeoff.errors import DomainError, MissingExtraError
from tradeoff.interop import opacus as interop
from tradeoff.mechanisms import SubsampledGaussian


def stepped(*steps):
    accountant = interop.Accountant()
    for sigma, rate, n in steps:
        for _ in range(n):
            accountant.step(noise_multiplier=sigma, sample_rate=rate)
    return accountant


def test_from_history_is_above_the_clt_of_opacus_and_below_its_renyi_bound():
    """Opacus 1.6 has 6.59 to 6.6 by the limit, 7.32911 by "rdp"; 50 digits give delta(6.6) = 1.6025e-5."""
    epsilon = interop.from_history([(1.5, 0.04, 2249)]).guarantee().bounds.epsilon(1e-5)
    assert epsilon.lower > 6.7670
    assert epsilon.upper < 6.7671
    # Its test_get_noise_multiplier_gdp pins 1.3232421875 for (8, 1e-5) and 2250 steps.
    assert interop.from_history([(1.3232421875, 0.04, 2250)]).guarantee().bounds.delta(8.0).lower > 1.688e-5
    guarantee = interop.from_history([(1.1, 256 / 60000, 14062)]).guarantee()
    assert guarantee.symmetric
    # 2.381596934: the contour of the order in which the record is present under the alternative.
    assert 2.381596 < guarantee.epsilon(1e-5) < 2.381598


def test_steps_extend_entries_states_load_equal_and_bad_ones_change_nothing(monkeypatch):
    accountant, other = stepped((1.0, 0.1, 3), (2.0, 0.2, 2)), interop.Accountant()
    state = accountant.state_dict()
    assert set(state) == {"history", "mechanism"}
    other.load_state_dict(copy.deepcopy(state))
    assert other.history == accountant.history
    accountant.step(noise_multiplier=2.0, sample_rate=0.2)
    assert state["history"] == other.history != accountant.history
    destination = {}
    assert accountant.state_dict(destination) is destination
    for step, epsilon in (
        ((), 0.0),
        ([(0.0, 0.5, 1)], float("inf")),
        ([(0.0, 0.0, 1)], 0.0),
        ([(1.0, 0.0, 7)], 0.0),
        ([(1.0, 1.0, 1)], to.Gaussian(1).epsilon(1e-5)),
    ):
        accountant = interop.Accountant()
        accountant.load_state_dict({"history": list(step), "mechanism": "tradeoff"})
        assert accountant.get_epsilon(1e-5) == epsilon
    accountant = stepped((1.0, 0.1, 3), (2.0, 0.1, 1), (1.0, 0.1, 1))
    assert repr(accountant) == "Accountant(history=[(1.0, 0.1, 3), (2.0, 0.1, 1), (1.0, 0.1, 1)])"
    assert len(accountant) == 3
    assert accountant.plan == to.Plan({SubsampledGaussian(1.0, 0.1): 4, SubsampledGaussian(2.0, 0.1): 1})
    monkeypatch.setitem(__import__("sys").modules, "opacus", None)
    monkeypatch.setitem(__import__("sys").modules, "opacus.accountants", None)
    with pytest.raises(MissingExtraError, match="pip install"):
        interop.register()
    accountant, steps = stepped((1.0, 0.1, 1)), [(-1.0, 0.1, 1), (1.0, 1.1, 1), (1.0, float("nan"), 1)]
    histories = [[(1.0, 0.1)], 3, *([step] for step in (*steps, (1.0, 0.1, 1.5), ("1", 0.1, 1)))]
    states = [{"history": each, "mechanism": "tradeoff"} for each in histories]
    for state in (None, {}, {"history": []}, {"history": [], "mechanism": "prv"}, *states):
        with pytest.raises(DomainError) as error:
            accountant.load_state_dict(state)
        assert "\n" not in str(error.value)
        assert accountant.history == [(1.0, 0.1, 1)]


def test_hook_counts_accumulated_batches_and_from_history_reads_a_state():
    class Optimizer:
        noise_multiplier = 1.0
        accumulated_iterations = 2

    accountant = interop.Accountant()
    for _ in range(3):
        accountant.get_optimizer_hook_fn(0.05)(Optimizer())
    accountant.step(noise_multiplier=1.0, sample_rate=0.05)
    assert accountant.history == [(1.0, 0.05, 3, 2), (1.0, 0.05, 1)]
    two, one = SubsampledGaussian(1.0, 0.05, group_size=2), SubsampledGaussian(1.0, 0.05)
    assert accountant.plan == to.Plan({two: 3, one: 1})
    again = interop.Accountant()
    again.load_state_dict(accountant.state_dict())
    assert again.plan == accountant.plan
    history = [(1.3, 0.1, 20), (1.1, 0.05, 3)]
    state = {"history": history, "mechanism": "rdp"}
    accountant = stepped(*history)
    engine = SimpleNamespace(accountant=accountant)
    for source in (state, accountant, engine, {"privacy_accountant_state_dict": state}):
        assert interop.from_history(source) == interop.from_history(history)
    for source, message in (
        ({"mechanism": "rdp"}, r"the key 'history'.*'privacy_accountant_state_dict'.*got the keys"),
        (SimpleNamespace(), r"give accountant\.history"),
    ):
        with pytest.raises(DomainError, match=message):
            interop.from_history(source)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Opacus and PyTorch warn about themselves
def test_accountant_in_an_epoch_of_training(tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: the extra [opacus] has it")
    opacus = pytest.importorskip("opacus", reason="Opacus is not installed: the extra [opacus] has it")
    interop.register()
    interop.register()
    torch.manual_seed(1)
    data = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    engine = opacus.PrivacyEngine(accountant="tradeoff")
    assert isinstance(engine.accountant, opacus.accountants.IAccountant)
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=optimizer,
        data_loader=torch.utils.data.DataLoader(data, batch_size=8),
        noise_multiplier=1.3,
        max_grad_norm=1.0,
    )
    for features, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(features), labels).backward()
        optimizer.step()
    assert engine.accountant.history == [(1.3, 0.125, 8)]

    prv = opacus.accountants.PRVAccountant()
    prv.history = list(engine.accountant.history)
    exact = to.Plan({SubsampledGaussian(1.3, 0.125): 8}).guarantee().bounds.epsilon(1e-5)
    assert engine.get_epsilon(1e-5) == exact.upper
    assert exact.upper < prv.get_epsilon(1e-5) < exact.upper + 0.02  # theirs adds its eps_error of 0.01
    assert interop.from_history(prv.state_dict()["history"]) == engine.accountant.plan

    search = opacus.accountants.utils.get_noise_multiplier
    sigma = search(target_epsilon=8, target_delta=1e-5, sample_rate=0.04, steps=2250, accountant="tradeoff")
    assert 1.33 < sigma < 1.36  # 1.3232421875 with "gdp", where epsilon is 8.22
    assert interop.from_history([(sigma, 0.04, 2250)]).guarantee().epsilon(1e-5) <= 8

    engine.save_checkpoint(path=tmp_path / "checkpoint.pt", module=model, optimizer=optimizer)
    saved = torch.load(tmp_path / "checkpoint.pt", weights_only=False)
    again = opacus.accountants.create_accountant("tradeoff")
    again.load_state_dict(saved["privacy_accountant_state_dict"])
    assert again.get_epsilon(1e-5) == exact.upper
