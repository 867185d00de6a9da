"""Flower: a privacy accountant with the protocol of its strategies (flwr 1.42 or later)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import count, number
from tradeoff.errors import DomainError, domain, needed
from tradeoff.mechanisms import Adjacency, Gaussian, Mechanism, Plan, SubsampledGaussian
from tradeoff.mechanisms.base import ratio
from tradeoff.mechanisms.subsampled import Scheme

# Neighbours and sampling by Flower's sampling method and neighbouring relation; it accepts no other pairs.
_MODELS: dict[tuple[str, str], tuple[Adjacency, Scheme | None]] = {
    ("poisson", "add-or-remove-one"): ("add-remove", "poisson"),
    ("without-replacement", "replace-one"): ("replace-one", "without-replacement"),
    ("no-amplification", "add-or-remove-one"): ("add-remove", None),
}

Event = tuple[float, int]  # noise multiplier and sample size of a release


class Accountant:
    """Client-level accountant for Flower's strategies, with certified answers.

    It has the protocol ``flwr.serverapp.PrivacyAccountant``: pass it as the ``accountant`` of
    ``DifferentialPrivacyServerSideFixedClipping`` and other strategies, which refuse the first round that
    would exceed ``max_epsilon``. Flower is needed by ``get_privacy_spent`` alone.

    Parameters
    ----------
    config
        A ``flwr.serverapp.PrivacyConfig``. The noise multiplier is relative to the clipping norm: where
        clients are replaced, which moves a sum by twice that norm, it counts half.

    Examples
    --------
    >>> from types import SimpleNamespace as Record  # in Flower: PrivacyConfig and GaussianPrivacyEvent
    >>> model = {"neighboring_relation": "add-or-remove-one", "sampling_method": "poisson"}
    >>> config = Record(target_delta=1e-5, population_size=10_000, max_epsilon=1.0, **model)
    >>> accountant = Accountant(config)
    >>> step = Record(noise_multiplier=1.0, sample_size=100, population_size=10_000)
    >>> accountant.compose(step, 100)
    >>> round(accountant.get_epsilon(1e-5), 6), accountant.would_exceed(step, count=300)
    (0.718036, True)
    """

    def __init__(self, config: Any) -> None:
        settings = _settings(config)
        model = settings["sampling_method"], settings["neighboring_relation"]
        if model not in _MODELS:
            known = " or ".join(f"{method} with {relation}" for method, relation in _MODELS)
            raise DomainError(f"config must be for {known}, got {' with '.join(map(str, model))}")
        self._config, (self._adjacency, self._scheme) = config, _MODELS[model]
        self._releases: Counter[Event] = Counter()

    config = property(lambda self: self._config, doc="The configuration.")
    num_releases = property(lambda self: sum(self._releases.values()), doc="Number of releases so far.")

    def compose(self, event: Any, count: int = 1) -> None:
        """Record ``count`` releases of a ``flwr.serverapp.GaussianPrivacyEvent``."""
        self._releases += self._read(event, count)

    @property
    def plan(self) -> Plan:
        """Plan of the releases so far, for all other questions."""
        return self._plan(self._releases)

    def guarantee(self) -> TradeOff:
        """Curve of all releases so far, for both orders of the neighbours."""
        return self.plan.guarantee()

    def get_epsilon(self, delta: float) -> float:
        """Return an upper bound on the least epsilon >= 0, in nats, at ``delta``."""
        return max(float(self.guarantee().epsilon(delta)), 0.0)

    def get_delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at ``epsilon`` >= 0, in nats."""
        return float(self.guarantee().delta(number("epsilon", epsilon, 0.0)))

    def get_privacy_spent(self, delta: float | None = None) -> Any:
        """Return a ``flwr.serverapp.PrivacySpent`` at ``delta``; default: the target delta."""
        flower = needed("flwr.serverapp", 'PrivacySpent needs Flower: pip install "flwr>=1.42"')
        at = self._config.target_delta if delta is None else delta
        return flower.PrivacySpent(self.get_epsilon(at), at, self.num_releases, "tradeoff")

    def would_exceed(self, event: Any, max_epsilon: float | None = None, count: int = 1) -> bool:
        """Return whether further releases could take epsilon at the target delta above a limit.

        The limit is ``max_epsilon``, by default that of the configuration. Nothing is recorded.
        """
        limit = self._config.max_epsilon if max_epsilon is None else max_epsilon
        if limit is None:
            raise DomainError("max_epsilon must be a number, got None; set it in the configuration, or here")
        limit = number("max_epsilon", limit, 0.0, open_low=True)
        after = self._plan(self._releases + self._read(event, count)).guarantee()
        return bool(after.epsilon(self._config.target_delta) > limit)

    def state_dict(self) -> dict[str, object]:
        """Return the configuration and the releases as plain data that JSON holds without loss."""
        releases = [[*event, n] for event, n in self._releases.items()]
        return {"backend": "tradeoff", "config": _settings(self._config), "releases": releases}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state of the same configuration; ``DomainError`` for another state."""
        try:
            for name, expected in (("backend", "tradeoff"), ("config", _settings(self._config))):
                if state[name] != expected:
                    raise domain(f"state[{name!r}]", state[name], repr(expected))
            releases: Counter[Event] = Counter()
            for sigma, size, n in state["releases"]:
                releases[_event(sigma, size, self._config.population_size)] += count("count", n, 1)
        except DomainError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise domain("state", state, "a result of state_dict()") from error
        self._releases = releases

    def _read(self, event: Any, times: Any) -> Counter[Event]:
        """Return a checked release of Flower, and how often it happens."""
        try:
            sigma, size, population = event.noise_multiplier, event.sample_size, event.population_size
        except AttributeError as error:
            raise domain("event", event, "a GaussianPrivacyEvent") from error
        if population != self._config.population_size:
            expected = f"{self._config.population_size}, as in the configuration"
            raise domain("population_size", population, expected)
        return Counter({_event(sigma, size, population): count("count", times, 1)})

    def _plan(self, releases: Counter[Event]) -> Plan:
        """Return the plan of releases, sampled as the configuration says."""
        mechanisms: Counter[Mechanism] = Counter()
        for (sigma, size), n in releases.items():
            if self._scheme is None:
                mechanisms[Gaussian(noise_multiplier=sigma)] += n
            else:
                rate = ratio(size, self._config.population_size)
                mechanisms[SubsampledGaussian(sigma, rate, self._scheme)] += n
        return Plan(mechanisms, self._adjacency)


def _event(sigma: Any, size: Any, population: int) -> Event:
    noise = number("noise_multiplier", sigma, 0.0, open_low=True, open_high=True)
    return noise, count("sample_size", size, 1, population)


def _settings(config: Any) -> dict[str, Any]:
    """Return a configuration as plain data, enumerations by their values."""
    names = ("target_delta", "population_size", "neighboring_relation", "sampling_method", "max_epsilon")
    try:
        values = {name: getattr(config, name) for name in names}
    except AttributeError as error:
        raise domain("config", config, "a PrivacyConfig of Flower", f"it has no {error.name}") from error
    return {name: getattr(value, "value", value) for name, value in values.items()}
