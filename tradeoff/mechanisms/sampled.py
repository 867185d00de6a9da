"""What all sampled mechanisms share: who enters a batch, which neighbours, and the curve that follows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, get_args

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import DomainError
from tradeoff.families.identity import Identity
from tradeoff.families.total_variation import TotalVariation
from tradeoff.intervals.functions import total
from tradeoff.mechanisms.base import Adjacency, Mechanism, Order, ratio, words
from tradeoff.mechanisms.hits import Hits, hits
from tradeoff.operators.mixture import added, mixture
from tradeoff.operators.subsample import subsample

# How a batch is drawn: a coin per record, a set of fixed size, or so many draws of one record each.
Scheme = Literal["poisson", "without-replacement", "with-replacement"]
SCHEMES = words(*get_args(Scheme))


class Sampled(Mechanism):
    """A mechanism on a secret batch of the records; ``Subsampled`` describes the fields of all its kinds."""

    sample_rate: float
    scheme: Scheme
    adjacency: Adjacency | None
    batch_size: int | None
    group_size: int

    @property
    def order(self) -> Order:
        """Adding and removing differ, and turn together; replacing has one curve."""
        return "tied" if self.adjacency == "add-remove" else "symmetric"

    @abstractmethod
    def _base(self) -> TradeOff:
        """Curve of one record that takes part for certain, under the adjacency stated."""

    def curve(self) -> TradeOff:
        """Curve of one release: a record absent under the null and present under the alternative.

        For replaced records it is symmetric.
        """
        return thinned(self._base(), self._hits(), replaced=self.adjacency == "replace-one")

    def _hits(self) -> Hits:
        draws = self.batch_size or self.group_size
        return hits(draws, self.sample_rate if self.batch_size is None else ratio(self.sample_rate, draws))

    def __post_init__(self) -> None:
        """Check the fields, and settle the adjacency."""
        super().__post_init__()
        if self.adjacency is None:
            object.__setattr__(self, "adjacency", natural(self.scheme))
        if conflict := self._conflict():
            raise DomainError(conflict)

    def _conflict(self) -> str | None:
        """Say which fields do not go together, and what to do."""
        poisson, drawn = self.scheme == "poisson", self.scheme == "with-replacement"
        scheme = f"scheme = {self.scheme!r}"
        if not poisson and self.adjacency == "add-remove":
            return (
                f"adjacency = 'add-remove' does not go with {scheme}, where one record more changes "
                "the chances of all others; set adjacency to 'replace-one', or sample with 'poisson'"
            )
        if drawn and self.batch_size is None:
            return f"batch_size is missing, and {scheme} draws so many records; give it"
        if not drawn and self.batch_size is not None:
            return f"batch_size = {self.batch_size} says nothing about {scheme}; leave it out"
        if not poisson and self.group_size > 1:
            return (
                f"group_size = {self.group_size} is for scheme = 'poisson'; "
                "for the others take curve().group(group_size)"
            )
        return None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name, without how records are sampled where that goes without saying."""
        plain = {"scheme": "poisson", "adjacency": natural(self.scheme), "group_size": 1}
        return {name: value for name, value in super().parameters().items() if value != plain.get(name)}


def natural(scheme: Scheme) -> Adjacency:
    """Return the neighbours for which a scheme is stated unless others are said."""
    return "add-remove" if scheme == "poisson" else "replace-one"


def thinned(base: TradeOff, found: Hits, *, replaced: bool) -> TradeOff:
    """Return the curve of a mechanism whose batch holds a record, or records of a group, so many times.

    ``base`` is the symmetric curve f of a record that is there once, ``found`` the law of the number of hits,
    w_j; where records are not ``replaced``, they are absent under the null hypothesis.

    With gamma = 1 - w_0 and M the mixture of the groups f_j, w_j/gamma: T(M_0, (1-gamma) M_0 + sum_j w_j M_j)
    is at least gamma M + (1-gamma) Id, as profiles are convex in both laws; so for added records. For
    replaced ones, at every eps' >= 0 and e^eps' = 1 + gamma (e^eps - 1), delta(eps') <= sum_(j>=1) w_j
    delta_j(eps) (Balle, Barthe, Gaboardi 2018, Theorem 10, for samples with replacement), which is the
    profile of C_gamma(M). For one record it is the curve of the base and nothing is lost.
    """
    weights = {j: w for j, w in found.weights.items() if j and w}
    if not weights:
        return Identity()
    rate, inner = _met(found), base
    if set(weights) != {1}:
        sure = total(weights.values()).upper
        inner = mixture(added((base.group(j), w / sure) for j, w in weights.items()))
    curve = subsample(inner, rate, scheme="without-replacement" if replaced else "poisson")
    return leaking(curve, found.beyond)


def _met(found: Hits) -> float:
    """Return the probability of any hit, rounded up."""
    if set(found.weights) == {0, 1} and not found.beyond:
        return found.weights[1]
    some = total(w for j, w in found.weights.items() if j)
    return min(1.0, float((some / (some + found.weights.get(0, 0.0))).upper))


def leaking(curve: TradeOff, probability: float) -> TradeOff:
    """Return the curve of a mechanism that is all public with the probability."""
    return curve @ TotalVariation(probability) if probability else curve
