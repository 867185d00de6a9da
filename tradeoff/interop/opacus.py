"""Opacus: an accountant with its protocol, and histories of steps as plans."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from copy import deepcopy
from typing import Any

from tradeoff.curves.parameters import count, number
from tradeoff.errors import DomainError, domain, needed, shown
from tradeoff.mechanisms import ApproximateDP, Mechanism, Plan, SubsampledGaussian

# Noise multiplier, sample rate, number of consecutive steps, and batches of each if not one.
Step = tuple[float, float, int] | tuple[float, float, int, int]


def from_history(history: Iterable[Any]) -> Plan:
    r"""Return the plan of the steps in the history of an accountant of Opacus.

    They are DP-SGD on Poisson samples, for neighbours that add or remove a record, as in Opacus. A step
    without noise has no privacy. A record is in :math:`\mathrm{Bin}(k, \text{rate})` of :math:`k` batches,
    and moves their sum as a group of that size; Opacus assumes one hit at :math:`k` times the rate, which
    under-reports.

    Parameters
    ----------
    history
        An accountant of Opacus, or the ``PrivacyEngine`` that holds one; its ``history``, ``state_dict()`` or
        a checkpoint with that: triples (noise multiplier, sample rate, steps). A fourth number is the number
        of independent batches that one step accumulates.

    Examples
    --------
    >>> round(from_history([(1.1, 256 / 60000, 14062)]).guarantee().epsilon(1e-5), 6)
    2.381597
    """
    result: Counter[Mechanism] = Counter()
    for sigma, rate, n, *batches in _steps(history):
        noisy = SubsampledGaussian(sigma, rate, group_size=batches[0] if batches else 1) if sigma else None
        result[noisy or ApproximateDP(0.0, 1.0 if rate else 0.0)] += n
    return Plan(result)


def _steps(history: Any) -> list[Step]:
    """Return checked steps of a history, of an object that has one, or of a mapping (a state) with one."""
    for name in ("accountant", "privacy_accountant_state_dict", "history"):
        is_mapping = isinstance(history, Mapping)
        history = history.get(name, history) if is_mapping else getattr(history, name, history)
    if isinstance(history, Mapping):
        keys = "the key 'history', as in a state_dict, or 'privacy_accountant_state_dict', as in a checkpoint"
        raise DomainError(f"history must have {keys}, got the keys {shown(list(history))}")
    try:
        return [_step(*entry) for entry in history]
    except DomainError:
        raise
    except (TypeError, ValueError) as error:
        allowed = "a list of (noise_multiplier, sample_rate, steps)"
        remedy = "give accountant.history, accountant.state_dict() or a checkpoint, torch.load(path)"
        raise domain("history", history, allowed, remedy) from error


def _step(sigma: Any, rate: Any, steps: Any, batches: Any = 1) -> Step:
    """Return a checked entry of a history."""
    noise, share = number("noise_multiplier", sigma, 0), number("sample_rate", rate, 0, 1)
    checked = noise, share, count("steps", steps)
    return checked if (k := count("batches", batches, 1)) == 1 else (*checked, k)


class Accountant:
    """Accountant for Opacus' ``PrivacyEngine``, with certified answers.

    It has the protocol of ``opacus.accountants.IAccountant``, also without Opacus: after ``register()`` use
    ``PrivacyEngine(accountant="tradeoff")``; or set ``engine.accountant = Accountant()``.

    Examples
    --------
    >>> accountant = Accountant()
    >>> for _ in range(100):
    ...     accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    >>> len(accountant), round(accountant.get_epsilon(1e-5), 6)
    (1, 0.718036)
    """

    def __init__(self) -> None:
        self.history: list[Step] = []

    def step(self, *, noise_multiplier: float, sample_rate: float, batches: int = 1) -> None:
        """Record one optimisation step.

        Parameters
        ----------
        noise_multiplier, sample_rate : standard deviation over the clipping norm; probability of a record
        batches : number of independent batches that are added up before the noise
        """
        sigma, rate, n, *many = _step(noise_multiplier, sample_rate, 1, batches)
        if self.history and (*self.history[-1][:2], *self.history[-1][3:]) == (sigma, rate, *many):
            n += self.history.pop()[2]  # an entry counts equal steps
        self.history.append(_step(sigma, rate, n, *many))

    @property
    def plan(self) -> Plan:
        """Plan of the steps so far, for all other questions."""
        return from_history(self.history)

    def get_epsilon(self, delta: float, *, tol: float | None = None, **_: Any) -> float:
        """Return an upper bound on the least epsilon >= 0 with (epsilon, delta)-DP so far, in both orders.

        Parameters
        ----------
        delta : probability in [0, 1]
        tol : absolute width the bounds must reach
        **_ : options of other accountants, such as ``alphas`` or ``eps_error``, which are ignored
        """
        return max(self.plan.guarantee().epsilon(delta, tol=tol), 0.0)

    def __len__(self) -> int:
        """Return the number of entries of the history, as in Opacus."""
        return len(self.history)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(history={shown(self.history)})"

    @classmethod
    def mechanism(cls) -> str:
        """Return the name of the accountant in Opacus."""
        return "tradeoff"

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """Return a hook for ``DPOptimizer.attach_step_hook`` that records each step of the optimiser.

        The rate is that of one batch; accumulated batches are independent samples.
        """

        def hook(optimizer: Any) -> None:
            noise, batches = optimizer.noise_multiplier, optimizer.accumulated_iterations
            self.step(noise_multiplier=noise, sample_rate=sample_rate, batches=batches)

        return hook

    def state_dict(self, destination: MutableMapping[str, Any] | None = None) -> MutableMapping[str, Any]:
        """Return the history and the mechanism's name, into ``destination`` if one is given."""
        state: MutableMapping[str, Any] = OrderedDict() if destination is None else destination
        state["history"], state["mechanism"] = deepcopy(self.history), self.mechanism()
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Restore the history of a state; ``DomainError`` for that of another accountant."""
        if not isinstance(state_dict, Mapping) or not {"history", "mechanism"} <= state_dict.keys():
            raise domain("state_dict", state_dict, "a mapping with 'history' and 'mechanism'")
        if state_dict["mechanism"] != self.mechanism():
            remedy = "read its steps with from_history(state_dict['history'])"
            raise domain("state_dict['mechanism']", state_dict["mechanism"], "'tradeoff'", remedy)
        self.history = _steps(state_dict["history"])


def register() -> None:
    """Register ``Accountant`` for ``opacus.PrivacyEngine(accountant="tradeoff")``; repetition is harmless."""
    remedy = 'Opacus 1.6 or later must be installed: pip install "tradeoff[opacus]"'
    accountants, registry = (needed(f"opacus.accountants{name}", remedy) for name in ("", ".registry"))
    accountants.IAccountant.register(Accountant)
    registry.register_accountant("tradeoff", Accountant, force=True)
